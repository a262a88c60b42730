#include "files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <system_error>

namespace fivepoint {

namespace {

// Why a file cannot be opened or read, and what to do about it.
std::string reason(int code) {
  const std::string text = std::generic_category().message(code);
  switch (code) {
    case EMFILE:
    case ENFILE:
      return text + "; raise the limit (`ulimit -n`), or close what else holds files";
    case EACCES:
    case EPERM:
      return text + "; let this user read it";
    case EIO:
      return text + "; look after the disk, and restore the file from a copy";
    default:
      return text + "; restore it, or run `fivepoint verify`";
  }
}

std::string number(std::int64_t value) { return std::to_string(value); }

bool operator==(const timespec& one, const timespec& other) { return one.tv_sec == other.tv_sec && one.tv_nsec == other.tv_nsec; }

// Whoever put a pipe in a shard's place does not hold up the reader.
constexpr int kReading = O_RDONLY | O_CLOEXEC | O_NONBLOCK;

// Held by all Files of the process.
std::atomic<std::size_t> held_in_all{0};

}  // namespace

Descriptor::~Descriptor() {
  if (number_ >= 0) close(number_);
}

Files::Files(std::size_t most) : most_(most) {
  if (most == 0) throw std::invalid_argument("expected room for one open file or more, found none");
}

Files::~Files() { held_in_all -= held_.size(); }

std::size_t Files::add(std::string path, std::int64_t bytes) {
  struct stat found;
  if (stat(path.c_str(), &found) != 0) {
    const int code = errno;
    throw ReadError("cannot open " + path + ": " + reason(code));
  }
  if (found.st_size != bytes) {
    throw ReadError(path + ": expected " + number(bytes) + " bytes, found " + number(found.st_size) + "; the file is " +
                    (found.st_size < bytes ? "cut short" : "longer than it was") + ", restore it from a copy");
  }
  files_.push_back({std::move(path), bytes, found.st_dev, found.st_ino, found.st_mtim, nullptr, false});
  return files_.size() - 1;
}

void Files::read(std::size_t number_of_file, void* to, std::int64_t bytes, std::int64_t at, const char* what) const {
  const std::shared_ptr<const Descriptor> file = descriptor(number_of_file);
  auto* out = static_cast<char*>(to);
  std::int64_t done = 0;
  while (done < bytes) {
    const ssize_t got = pread(file->number(), out + done, static_cast<std::size_t>(bytes - done), at + done);
    if (got > 0) {
      done += got;
    } else if (got == 0) {
      throw ReadError(path(number_of_file) + ": expected " + number(bytes) + " bytes of " + what + " at byte " + number(at) + ", found " +
                      number(done) + "; the file changed since it was opened, restore it");
    } else if (const int code = errno; code != EINTR) {
      throw ReadError("cannot read " + number(bytes) + " bytes of " + what + " at byte " + number(at) + " of " + path(number_of_file) + ": " +
                      reason(code));
    }
  }
}

std::shared_ptr<const Descriptor> Files::descriptor(std::size_t number_of_file) const {
  {
    const std::lock_guard<std::mutex> guard(lock_);
    File& file = files_[number_of_file];
    file.used = true;
    if (file.open) return file.open;
  }
  const auto descriptor = opened(files_[number_of_file]);
  const std::lock_guard<std::mutex> guard(lock_);
  File& file = files_[number_of_file];
  if (file.open) return file.open;  // another thread was sooner
  if (held_in_all < most_) {
    held_.push_back(number_of_file);
    ++held_in_all;
  } else if (held_.empty()) {
    return descriptor;  // the others hold them all: read once, and closed
  } else {
    pass_used();
    files_[held_[hand_]].open.reset();  // whoever reads from it keeps it open until done
    held_[hand_] = number_of_file;
    hand_ = (hand_ + 1) % held_.size();
  }
  file.open = descriptor;
  return descriptor;
}

std::shared_ptr<const Descriptor> Files::opened(const File& file) const {
  int number = open(file.path.c_str(), kReading);
  // The process may have filled its table with other files since it was counted how many there is room for.
  while (number < 0 && (errno == EMFILE || errno == ENFILE) && close_one()) number = open(file.path.c_str(), kReading);
  int code = number < 0 ? errno : 0;
  const auto descriptor = std::make_shared<const Descriptor>(number);
  struct stat found;
  if (!code && fstat(number, &found) != 0) code = errno;
  if (code) throw ReadError("cannot open " + file.path + ": " + reason(code));
  if (found.st_dev != file.device || found.st_ino != file.inode || found.st_size != file.bytes || !(found.st_mtim == file.changed)) {
    throw ReadError(file.path + ": expected the file that stood there when the loader was opened, found another; restore it");
  }
  // Windows lie anywhere: what the system would read ahead is of no use (C5.5). A file system without advice reads all the same.
  (void)posix_fadvise(number, 0, 0, POSIX_FADV_RANDOM);
  return descriptor;
}

// Closes one file that was not used lately; false where none is held.
bool Files::close_one() const {
  const std::lock_guard<std::mutex> guard(lock_);
  if (held_.empty()) return false;
  pass_used();
  files_[held_[hand_]].open.reset();
  --held_in_all;
  held_.erase(held_.begin() + static_cast<std::ptrdiff_t>(hand_));
  hand_ = held_.empty() ? 0 : hand_ % held_.size();
  return true;
}

// Moves the hand to a file that was not used since it last came by.
void Files::pass_used() const {
  while (files_[held_[hand_]].used) {
    files_[held_[hand_]].used = false;
    hand_ = (hand_ + 1) % held_.size();
  }
}

}  // namespace fivepoint
