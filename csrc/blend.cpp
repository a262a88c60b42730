#include "blend.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>
#include <queue>
#include <stdexcept>
#include <string>
#include <tuple>

namespace fivepoint {

namespace {

// For many sources W * D * c passes 2^63.
using Wide = __int128;

}  // namespace

std::int64_t sum_of_weights(const std::vector<std::int64_t>& weights) {
  std::int64_t sum = 0;
  for (const std::int64_t weight : weights) {
    if (weight < 0) throw std::invalid_argument("expected non-negative weights, found " + std::to_string(weight));
    if (weight > Blend::kLargestSum - sum) {
      throw std::invalid_argument("expected weights that sum to at most " + std::to_string(Blend::kLargestSum) + ", found more");
    }
    sum += weight;
  }
  if (sum == 0) throw std::invalid_argument("expected a positive weight, found none");
  return sum;
}

Blend::Blend(std::vector<std::int64_t> weights, Rule rule, std::int64_t limit) : weights_(std::move(weights)), limit_(limit) {
  period_ = sum_of_weights(weights_);
  std::int64_t divisor = 0;
  for (const std::int64_t weight : weights_) divisor = std::gcd(divisor, weight);
  for (std::int64_t& weight : weights_) weight /= divisor;
  period_ /= divisor;
  const std::int64_t entries = limit < 0 ? period_ : std::min(period_, limit);
  source_.reserve(static_cast<std::size_t>(entries));
  if (rule == Rule::kEarliestDeadline) {
    serve_by_deadline(entries);
  } else {
    serve_furthest_behind(entries);
  }

  std::vector<std::int32_t> drawn(weights_.size(), 0);
  count_.reserve(source_.size());
  for (const std::int32_t source : source_) count_.push_back(drawn[static_cast<std::size_t>(source)]++);
  first_.assign(weights_.size() + 1, 0);
  std::partial_sum(drawn.begin(), drawn.end(), first_.begin() + 1, [](std::int64_t sum, std::int32_t count) { return sum + count; });
  order_.resize(source_.size());
  for (std::size_t r = 0; r < source_.size(); ++r) {
    order_[static_cast<std::size_t>(first_[static_cast<std::size_t>(source_[r])] + count_[r])] = static_cast<std::int32_t>(r);
  }
}

void Blend::serve_by_deadline(std::int64_t entries) {
  std::vector<std::int32_t> active;
  for (std::size_t i = 0; i < weights_.size(); ++i) {
    if (weights_[i] > 0) active.push_back(static_cast<std::int32_t>(i));
  }
  if (active.size() == 1) {
    source_.assign(static_cast<std::size_t>(entries), active[0]);
    return;
  }
  const Wide total = period_, slack = 2 * static_cast<Wide>(active.size()) - 2;
  const auto release = [&](std::int32_t i, std::int64_t draw) {
    const Wide divisor = slack * weights_[static_cast<std::size_t>(i)];
    return static_cast<std::int64_t>((total * (1 + slack * draw) + divisor - 1) / divisor);
  };
  const auto deadline = [&](std::int32_t i, std::int64_t draw) {
    return static_cast<std::int64_t>(total * (slack * draw + slack - 1) / (slack * weights_[static_cast<std::size_t>(i)]));
  };
  // Ties go to the earlier source, which pairs compare by.
  using Due = std::pair<std::int64_t, std::int32_t>;
  std::priority_queue<Due, std::vector<Due>, std::greater<>> waiting, eligible;
  std::vector<std::int64_t> draws(weights_.size(), 0);
  for (const std::int32_t i : active) waiting.emplace(release(i, 0), i);
  for (std::int64_t q = 0; q < entries; ++q) {
    while (!waiting.empty() && waiting.top().first <= q + 1) {
      const std::int32_t i = waiting.top().second;
      waiting.pop();
      eligible.emplace(deadline(i, draws[static_cast<std::size_t>(i)]), i);
    }
    const std::int32_t i = eligible.top().second;
    eligible.pop();
    source_.push_back(i);
    waiting.emplace(release(i, ++draws[static_cast<std::size_t>(i)]), i);
  }
}

void Blend::serve_furthest_behind(std::int64_t entries) {
  std::vector<std::int64_t> behind(weights_.size(), 0);
  for (std::int64_t q = 0; q < entries; ++q) {
    for (std::size_t i = 0; i < weights_.size(); ++i) behind[i] += weights_[i];
    // max_element gives the first of equal ones.
    const auto most = std::max_element(behind.begin(), behind.end());
    source_.push_back(static_cast<std::int32_t>(most - behind.begin()));
    *most -= period_;
  }
}

std::int64_t Blend::position(std::int32_t source, std::int64_t draw) const {
  if (draw < 0 || source < 0 || static_cast<std::size_t>(source) >= weights_.size()) return -1;
  const auto i = static_cast<std::size_t>(source);
  if (weights_[i] == 0) return -1;
  const std::int64_t cycle = draw / weights_[i], k = draw % weights_[i];
  if (k >= first_[i + 1] - first_[i] || cycle > std::numeric_limits<std::int64_t>::max() / period_ - 1) return -1;
  const std::int64_t q = cycle * period_ + order_[static_cast<std::size_t>(first_[i] + k)];
  return limit_ >= 0 && q >= limit_ ? -1 : q;
}

std::vector<std::int64_t> Blend::counts(std::int64_t q) const {
  const std::int64_t cycles = q / period_, r = q % period_;
  std::vector<std::int64_t> found(weights_.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    const auto begin = order_.begin() + first_[i], end = order_.begin() + first_[i + 1];
    found[i] = cycles * weights_[i] + (std::lower_bound(begin, end, r) - begin);
  }
  return found;
}

}  // namespace fivepoint
