// Memory of batches, handed out again once nobody holds it: fresh pages cost more than the tokens that are written into them.
#pragma once

#include <cstddef>
#include <deque>
#include <mutex>

namespace fivepoint {

class MemoryPool {
 public:
  static constexpr std::size_t kAlignment = 64;

  // Keeps at most so many bytes that nobody holds.
  explicit MemoryPool(std::size_t most) : most_(most) {}
  ~MemoryPool();
  MemoryPool(const MemoryPool&) = delete;
  MemoryPool& operator=(const MemoryPool&) = delete;

  // Returns a block of `bytes` bytes of any content; throws std::bad_alloc.
  void* take(std::size_t bytes);
  // Gives a block back that `take(bytes)` returned.
  void give(void* memory, std::size_t bytes) noexcept;

 private:
  struct Block {
    void* memory;
    std::size_t bytes;
  };

  std::size_t most_, kept_ = 0;
  std::mutex lock_;
  std::deque<Block> free_;  // the latest last
};

}  // namespace fivepoint
