// Preloaded before a process: pread as a disk might answer it. SHIM_DELAY_MS delays each call, SHIM_SHORT gives at most so many bytes,
// SHIM_EIO_AFTER fails calls from that number on, SHIM_EINTR interrupts every second call. Only files whose names end in .bin are touched.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

static atomic_long calls;

static long setting(const char *name) {
  const char *text = getenv(name);
  return text ? atol(text) : 0;
}

static int is_tokens(int file) {
  char link[64], path[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  const ssize_t size = readlink(link, path, sizeof path);
  return size > 4 && memcmp(path + size - 4, ".bin", 4) == 0;
}

static ssize_t answer(const char *name, int file, void *to, size_t bytes, off_t at) {
  ssize_t (*real)(int, void *, size_t, off_t) = (ssize_t(*)(int, void *, size_t, off_t))dlsym(RTLD_NEXT, name);
  if (!is_tokens(file)) return real(file, to, bytes, at);
  const long call = atomic_fetch_add(&calls, 1);
  if (setting("SHIM_DELAY_MS")) usleep((useconds_t)setting("SHIM_DELAY_MS") * 1000);
  if (setting("SHIM_EINTR") && call % 2) {
    errno = EINTR;
    return -1;
  }
  if (getenv("SHIM_EIO_AFTER") && call >= setting("SHIM_EIO_AFTER")) {
    errno = EIO;
    return -1;
  }
  const size_t most = (size_t)setting("SHIM_SHORT");
  return real(file, to, most && bytes > most ? most : bytes, at);
}

ssize_t pread(int file, void *to, size_t bytes, off_t at) { return answer("pread", file, to, bytes, at); }
ssize_t pread64(int file, void *to, size_t bytes, off_t at) { return answer("pread64", file, to, bytes, at); }
