// The shuffle of an epoch: a keyed bijection on [0, n) that is computed, forwards and backwards, and never stored (A2; C3.3).
#pragma once

#include <array>
#include <cstdint>

#include "mixing.h"

namespace fivepoint {

class Permutation {
 public:
  static constexpr int kRounds = 8;
  static constexpr std::uint64_t kMinimumSide = 16;
  static constexpr std::uint64_t kLargest = std::uint64_t{1} << 48;

  // What depends on n alone. n from 1 to kLargest.
  struct Sides {
    explicit Sides(std::uint64_t n = 1) : size(n), columns(side(root(n))), rows(side((n + columns - 1) / columns)) {}
    std::uint64_t size, columns, rows;
  };

  Permutation() = default;

  // `state` is absorb(seed, key words).
  Permutation(const Sides& sides, std::uint64_t state) : n_(sides.size), columns_(sides.columns), rows_(sides.rows) {
    for (int r = 0; r < kRounds; ++r) keys_[r] = mix64(state + static_cast<std::uint64_t>(r + 1) * kGolden);
  }

  std::uint64_t size() const { return n_; }

  // x below n. The rectangle is larger than n, so that one pass may land outside: it walks on along its cycle.
  std::uint64_t operator()(std::uint64_t x) const {
    if (n_ == 1) return 0;
    do pass(this, &x, 1);
    while (x >= n_);
    return x;
  }

  std::uint64_t inverse(std::uint64_t y) const {
    if (n_ == 1) return 0;
    do {
      std::uint64_t right = y / columns_, left = y % columns_;
      for (int r = kRounds - 1; r >= 0; --r) {
        const std::uint64_t width = r % 2 ? rows_ : columns_;
        const std::uint64_t moved = right + width - round(r, left, width);
        right = left;
        left = moved >= width ? moved - width : moved;
      }
      y = columns_ * right + left;
    } while (y >= n_);
    return y;
  }

  static constexpr int kAtOnce = 16;

  // Replaces places[k] by permutations[k](places[k]), for up to kAtOnce of them.
  static void permute(const Permutation* permutations, std::uint64_t* places, int count) {
    pass(permutations, places, count);
    for (int k = 0; k < count; ++k) {
      if (permutations[k].n_ == 1) {
        places[k] = 0;
      } else if (places[k] >= permutations[k].n_) {
        places[k] = permutations[k](places[k]);
      }
    }
  }

 private:
  // Goes through the rounds of several side by side: those of one wait for each other.
  static void pass(const Permutation* permutations, std::uint64_t* places, int count) {
    std::uint64_t left[kAtOnce], right[kAtOnce];
    for (int k = 0; k < count; ++k) {
      right[k] = places[k] / permutations[k].columns_;
      left[k] = places[k] % permutations[k].columns_;
    }
    for (int r = 0; r < kRounds; ++r) {
      for (int k = 0; k < count; ++k) {
        const Permutation& one = permutations[k];
        const std::uint64_t width = r % 2 ? one.rows_ : one.columns_;
        const std::uint64_t moved = left[k] + one.round(r, right[k], width);
        left[k] = right[k];
        right[k] = moved >= width ? moved - width : moved;
      }
    }
    for (int k = 0; k < count; ++k) places[k] = permutations[k].columns_ * right[k] + left[k];
  }

  std::uint64_t round(int r, std::uint64_t value, std::uint64_t width) const {
    // Both factors fit 32 bits: sides stay below 2^25.
    return ((mix64(keys_[r] ^ value) >> 32) * width) >> 32;
  }

  static std::uint64_t side(std::uint64_t least) {
    const std::uint64_t found = least < kMinimumSide ? kMinimumSide : least;
    return found + found % 2;
  }

  // The smallest s with s * s >= n, for n up to 2^48, without a float.
  static std::uint64_t root(std::uint64_t n) {
    std::uint64_t low = 0, high = std::uint64_t{1} << 24;
    while (low < high) {
      const std::uint64_t middle = (low + high) / 2;
      if (middle * middle >= n) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    return low;
  }

  std::uint64_t n_ = 1, columns_ = kMinimumSide, rows_ = kMinimumSide;
  std::array<std::uint64_t, kRounds> keys_{};
};

}  // namespace fivepoint
