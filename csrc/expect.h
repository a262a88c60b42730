// How the native part refuses sizes that no plan and no manifest holds, before it reckons with them.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

namespace fivepoint {

// Positions, windows, tokens, documents: no sum of them, and no number of bytes, passes 2^63.
inline constexpr std::int64_t kMost = std::int64_t{1} << 48;

inline void expect(bool sound, const char* expected, std::int64_t found) {
  if (!sound) throw std::invalid_argument(std::string("expected ") + expected + ", found " + std::to_string(found));
}

}  // namespace fivepoint
