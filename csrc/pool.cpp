#include "pool.h"

#include <new>

namespace fivepoint {

namespace {

constexpr std::align_val_t kAligned{MemoryPool::kAlignment};

}  // namespace

MemoryPool::~MemoryPool() {
  for (auto& [bytes, blocks] : free_) {
    for (void* block : blocks) ::operator delete(block, kAligned);
  }
}

void* MemoryPool::take(std::size_t bytes) {
  {
    const std::lock_guard<std::mutex> guard(lock_);
    std::vector<void*>& blocks = free_[bytes];
    if (!blocks.empty()) {
      void* block = blocks.back();
      blocks.pop_back();
      kept_ -= bytes;
      return block;
    }
  }
  return ::operator new(bytes, kAligned);
}

void MemoryPool::give(void* block, std::size_t bytes) {
  {
    const std::lock_guard<std::mutex> guard(lock_);
    if (kept_ + bytes <= most_) {
      free_[bytes].push_back(block);
      kept_ += bytes;
      return;
    }
  }
  ::operator delete(block, kAligned);
}

}  // namespace fivepoint
