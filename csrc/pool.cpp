#include "pool.h"

#include <algorithm>
#include <iterator>
#include <new>

namespace fivepoint {

namespace {

constexpr std::align_val_t kAligned{MemoryPool::kAlignment};

}  // namespace

MemoryPool::~MemoryPool() {
  for (const Block& block : free_) ::operator delete(block.memory, kAligned);
}

void* MemoryPool::take(std::size_t bytes) {
  {
    const std::lock_guard<std::mutex> guard(lock_);
    const auto found = std::find_if(free_.rbegin(), free_.rend(), [&](const Block& block) { return block.bytes == bytes; });
    if (found != free_.rend()) {
      void* const memory = found->memory;
      free_.erase(std::next(found).base());
      kept_ -= bytes;
      return memory;
    }
  }
  return ::operator new(bytes, kAligned);
}

void MemoryPool::give(void* memory, std::size_t bytes) noexcept {
  const std::lock_guard<std::mutex> guard(lock_);
  try {
    free_.push_back({memory, bytes});
    kept_ += bytes;
  } catch (const std::bad_alloc&) {
    ::operator delete(memory, kAligned);
  }
  // The oldest go first, so that sizes which nobody asks for any more do not stay.
  auto last = free_.begin();
  for (; kept_ > most_; ++last) {
    ::operator delete(last->memory, kAligned);
    kept_ -= last->bytes;
  }
  free_.erase(free_.begin(), last);
}

}  // namespace fivepoint
