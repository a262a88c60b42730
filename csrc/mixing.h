// The mixing function and the keys made from it (spec/algorithms.md, A1). All arithmetic is modulo 2^64.
#pragma once

#include <cstdint>
#include <initializer_list>

namespace fivepoint {

inline constexpr std::uint64_t kGolden = 0x9E3779B97F4A7C15u;

inline constexpr std::uint64_t mix64(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

template <typename Words>
constexpr std::uint64_t absorb(std::uint64_t seed, const Words& words) {
  std::uint64_t state = mix64(seed + kGolden);
  for (const std::uint64_t word : words) state = mix64((state ^ word) + kGolden);
  return state;
}

inline constexpr std::uint64_t absorb(std::uint64_t seed, std::initializer_list<std::uint64_t> words) {
  return absorb<std::initializer_list<std::uint64_t>>(seed, words);
}

}  // namespace fivepoint
