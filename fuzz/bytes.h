// What the targets here read out of the bytes that libFuzzer gives them, and how they say that a property does not hold.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace fivepoint {

// Ends the program, as an error of a sanitizer does, unless what every input must have is so.
inline void require(bool holds, const char* property) {
  if (holds) return;
  std::fprintf(stderr, "expected that %s\n", property);
  std::abort();
}

class Bytes {
 public:
  Bytes(const std::uint8_t* data, std::size_t size) : at_(data), end_(data + size) {}

  // A byte is a number below 255, and 255 begins one of eight bytes: mostly what a plan could hold, at times what none does. After the
  // end come zeros.
  std::int64_t number() {
    if (at_ == end_) return 0;
    if (*at_ != 255) return *at_++;
    ++at_;
    const std::vector<char> eight = take(8);
    std::int64_t found = 0;
    if (!eight.empty()) std::memcpy(&found, eight.data(), eight.size());
    return found;
  }

  // A number from 0 to most.
  std::int64_t up_to(std::int64_t most) { return static_cast<std::int64_t>(static_cast<std::uint64_t>(number()) % (most + 1)); }

  std::vector<std::int64_t> numbers(std::int64_t count) {
    std::vector<std::int64_t> found;
    for (std::int64_t i = 0; i < count; ++i) found.push_back(number());
    return found;
  }

  // The next `most` bytes, or as many as there are.
  std::vector<char> take(std::size_t most) {
    const std::size_t size = std::min(most, static_cast<std::size_t>(end_ - at_));
    const std::vector<char> found(at_, at_ + size);
    at_ += size;
    return found;
  }

 private:
  const std::uint8_t *at_, *end_;
};

}  // namespace fivepoint
