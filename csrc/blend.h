// Which source serves a position of a phase: two rules over integer weights, periodic, looked up in constant time (A4; C1.1, C1.2).
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace fivepoint {

enum class Rule { kEarliestDeadline, kFurthestBehind };

// Returns the sum of weights; throws std::invalid_argument for those that no plan holds.
std::int64_t sum_of_weights(const std::vector<std::int64_t>& weights);

class Blend {
 public:
  // What the weights of a plan sum to at most (spec/formats.md, F3).
  static constexpr std::int64_t kLargestSum = std::int64_t{1} << 22;

  // Weights are non-negative, one is positive; they are divided by their gcd. `limit` is how many positions are asked for, -1 for any:
  // a phase shorter than a period needs no more of the table. Throws std::invalid_argument for other weights.
  Blend(std::vector<std::int64_t> weights, Rule rule, std::int64_t limit = -1);

  struct Draw {
    std::int32_t source;
    std::int64_t number;
  };

  // q from 0, below the limit.
  Draw operator()(std::int64_t q) const {
    const std::int64_t cycle = q / period_, r = q % period_;
    const std::int32_t source = source_[static_cast<std::size_t>(r)];
    return {source, cycle * weights_[static_cast<std::size_t>(source)] + count_[static_cast<std::size_t>(r)]};
  }

  // The local position of a draw; -1 where it is not served.
  std::int64_t position(std::int32_t source, std::int64_t draw) const;

  // How often each source was drawn in the first q positions.
  std::vector<std::int64_t> counts(std::int64_t q) const;

  std::int64_t period() const { return period_; }
  std::int64_t limit() const { return limit_; }
  const std::vector<std::int64_t>& weights() const { return weights_; }

 private:
  void serve_by_deadline(std::int64_t entries);
  void serve_furthest_behind(std::int64_t entries);

  std::vector<std::int64_t> weights_;
  std::int64_t period_ = 0, limit_ = -1;
  std::vector<std::int32_t> source_, count_;  // by position in the period
  std::vector<std::int32_t> order_;           // positions in the period, source by source, ascending
  std::vector<std::int64_t> first_;           // where each source begins in order_
};

}  // namespace fivepoint
