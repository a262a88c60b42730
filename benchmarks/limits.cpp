// What the machine gives a reader that does nothing else: threads that pread, in turn, a list of places. Called by benchmarks/fastpath.py.
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

// Reads `bytes` bytes at each of `count` places of a file; returns how many were read whole.
extern "C" std::int64_t read_places(int file, const std::int64_t* places, std::int64_t count, std::int64_t bytes, int threads) {
  std::atomic<std::int64_t> next{0}, whole{0};
  const auto work = [&] {
    std::vector<char> to(static_cast<std::size_t>(bytes));
    for (std::int64_t k = next++; k < count; k = next++) whole += pread(file, to.data(), to.size(), places[k]) == bytes;
  };
  if (threads == 1) {
    work();
  } else {
    std::vector<std::thread> pool;
    for (int i = 0; i < threads; ++i) pool.emplace_back(work);
    for (std::thread& each : pool) each.join();
  }
  return whole;
}
