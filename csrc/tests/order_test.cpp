// Permutation, blend and resolver: the printed values of spec/algorithms.md, and properties over many sizes.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <stdexcept>
#include <vector>

#include "../blend.h"
#include "../permutation.h"
#include "../resolver.h"

namespace fivepoint {
namespace {

Permutation permutation(std::uint64_t n) { return Permutation(Permutation::Sides(n), absorb(12345, {7, 3})); }

TEST_CASE("mixing gives the printed values") {
  CHECK(mix64(1) == 0x5692161D100B05E5u);
  CHECK(absorb(12345, {7, 3}) == 0x18C4CDA5D7FAD75Du);
}

TEST_CASE("a permutation gives the printed values") {
  const std::vector<std::pair<std::uint64_t, std::vector<std::uint64_t>>> printed = {
      {5, {3, 1, 2, 4, 0}}, {1000, {586, 661, 820, 519, 47}}, {1'000'000'000, {663734589, 487902421, 222842992, 996753701, 714506690}}};
  for (const auto& [n, values] : printed) {
    for (std::uint64_t x = 0; x < 5; ++x) CHECK(permutation(n)(x) == values[x]);
  }
}

TEST_CASE("a permutation is a bijection, and its inverse undoes it") {
  for (const std::uint64_t n : {1u, 2u, 3u, 15u, 16u, 17u, 255u, 256u, 257u, 4095u, 4096u, 4097u}) {
    std::vector<bool> seen(n, false);
    for (std::uint64_t x = 0; x < n; ++x) {
      const std::uint64_t y = permutation(n)(x);
      REQUIRE(y < n);
      CHECK_FALSE(seen[y]);
      seen[y] = true;
      CHECK(permutation(n).inverse(y) == x);
    }
  }
  for (const std::uint64_t n : {Permutation::kLargest, Permutation::kLargest - 1, std::uint64_t{1} << 32}) {
    for (const std::uint64_t x : {std::uint64_t{0}, n / 2, n - 1}) CHECK(permutation(n).inverse(permutation(n)(x)) == x);
  }
}

TEST_CASE("a blend gives the printed periods") {
  const std::vector<std::int64_t> weights = {12, 3, 2, 2, 1};
  const std::vector<std::pair<Rule, std::vector<int>>> printed = {
      {Rule::kEarliestDeadline, {0, 0, 1, 0, 2, 0, 0, 3, 0, 1, 0, 0, 4, 0, 2, 0, 0, 3, 0, 1}},
      {Rule::kFurthestBehind, {0, 1, 0, 0, 2, 0, 3, 0, 4, 0, 1, 0, 0, 0, 2, 0, 3, 0, 1, 0}}};
  for (const auto& [rule, sources] : printed) {
    const Blend blend(weights, rule);
    for (std::int64_t q = 0; q < 60; ++q) {
      const Blend::Draw draw = blend(q);
      CHECK(draw.source == sources[static_cast<std::size_t>(q % 20)]);
      CHECK(blend.position(draw.source, draw.number) == q);
      CHECK(blend.counts(q)[static_cast<std::size_t>(draw.source)] == draw.number);
    }
  }
}

TEST_CASE("a blend of many sources and extreme weights stays within its bound") {
  for (const auto& weights : std::vector<std::vector<std::int64_t>>{{1, 1'000'000}, {999'999, 1, 1}, std::vector<std::int64_t>(500, 3)}) {
    const Blend blend(weights, Rule::kEarliestDeadline);
    const std::int64_t total = blend.period(), m = static_cast<std::int64_t>(weights.size());
    std::vector<std::int64_t> counts(weights.size(), 0);
    for (std::int64_t t = 1; t <= std::min<std::int64_t>(total, 20'000); ++t) {
      ++counts[static_cast<std::size_t>(blend(t - 1).source)];
      for (std::size_t i = 0; i < std::min<std::size_t>(weights.size(), 5); ++i) {
        const std::int64_t off = counts[i] * total - blend.weights()[i] * t;
        CHECK(std::abs(off) * (2 * m - 2) <= total * (2 * m - 3));
      }
    }
  }
  CHECK_THROWS_AS(Blend({0, 0}, Rule::kEarliestDeadline), std::invalid_argument);
  CHECK_THROWS_AS(Blend({1, -1}, Rule::kEarliestDeadline), std::invalid_argument);
}

constexpr std::int64_t kHuge = std::numeric_limits<std::int64_t>::max();

TEST_CASE("weights that no plan holds are refused, and draws beyond every position are not served") {
  const auto refused = [](const std::vector<std::int64_t>& weights) {
    for (const Rule rule : {Rule::kEarliestDeadline, Rule::kFurthestBehind}) {
      CHECK_THROWS_AS(Blend(weights, rule, 4), std::invalid_argument);
    }
  };
  refused({});
  refused({kHuge, kHuge - 1});
  refused({std::int64_t{1} << 40, 1});
  const Blend blend({3, 1}, Rule::kEarliestDeadline);
  CHECK(blend.position(1, kHuge) == -1);
  CHECK(blend.position(1, kHuge / 4 - 1) > 0);
  CHECK(Blend({3, 1}, Rule::kEarliestDeadline, 2).position(0, 2) == -1);
}

TEST_CASE("parameters that no plan holds are refused") {
  const std::vector<SourceSpec> sources = {{1, {41}}, {2, {33, 9}}};
  const PhaseSpec sound{20, 4, Rule::kEarliestDeadline, {2, 1}};
  const auto refused = [](const std::vector<SourceSpec>& found, const std::vector<PhaseSpec>& phases, const std::vector<Skip>& skips) {
    CHECK_THROWS_AS(Resolver(7, found, phases, skips), std::invalid_argument);
  };
  for (const std::int64_t length : {std::int64_t{-1}, kHuge}) refused(sources, {sound, {length, 4, sound.rule, {2, 1}}}, {});
  for (const std::int64_t grid : {std::int64_t{0}, std::int64_t{-4}}) refused(sources, {{20, grid, sound.rule, {2, 1}}}, {});
  for (const auto& weights : std::vector<std::vector<std::int64_t>>{{1}, {1, 1, 1}, {kHuge, kHuge}}) {
    refused(sources, {{20, 4, sound.rule, weights}}, {});
  }
  refused({{1, {4}}, {2, {33}}}, {sound}, {});
  refused({{1, {-1}}, {2, {33}}}, {sound}, {});
  refused({{1, {kHuge, kHuge}}, {2, {33}}}, {{20, 1, sound.rule, {2, 1}}}, {});
  for (const Skip skip : {Skip{-1, 1}, Skip{20, 1}, Skip{3, 0}, Skip{3, -1}, Skip{3, kHuge}}) refused(sources, {sound}, {skip});
  refused(sources, {sound}, {{3, 1}, {3, 1}});
  refused(sources, {sound}, {{3, 1}, {2, 1}});
  const Resolver resolver(7, sources, {sound}, {{3, 1}});
  Resolver::Scratch scratch;
  Sample sample;
  for (const std::int64_t first : {std::int64_t{-1}, std::int64_t{20}, kHuge}) {
    CHECK_THROWS_AS(resolver.resolve(first, 1, &sample, scratch), std::out_of_range);
  }
  CHECK_THROWS_AS(resolver.resolve(1, -1, &sample, scratch), std::out_of_range);
  CHECK_THROWS_AS(Resolver(7, sources, {}, {}).resolve(0, 1, &sample, scratch), std::out_of_range);
  Resolver(7, sources, {}, {}).resolve(0, 0, &sample, scratch);  // a run without a phase
}

TEST_CASE("an epoch holds every window once, through phases and skips, however it is asked for") {
  const std::vector<SourceSpec> sources = {{11, {41, 0, 21}}, {22, {33}}};
  const std::vector<PhaseSpec> phases = {{20, 4, Rule::kEarliestDeadline, {2, 1}}, {25, 4, Rule::kFurthestBehind, {1, 0}}};
  const Resolver resolver(7, sources, phases, {{3, 2}, {21, 1}});
  REQUIRE(resolver.length() == 45);
  std::vector<Sample> all(45), piece(45);
  Resolver::Scratch scratch;
  resolver.resolve(0, 45, all.data(), scratch);
  std::vector<std::int64_t> draws(2, -1);
  for (const Sample& sample : all) {
    CHECK(sample.draw > draws[static_cast<std::size_t>(sample.source)]);
    draws[static_cast<std::size_t>(sample.source)] = sample.draw;
    const std::int64_t n = sample.source == 0 ? 15 : 8;
    CHECK(sample.epoch * n + sample.offset == sample.draw);
    CHECK((sample.corpus == 0 ? sample.window < 10 : sample.corpus == (sample.source == 0 ? 2 : 0)));
  }
  for (std::int64_t first = 0; first < 45; ++first) {
    for (std::int64_t count = 1; first + count <= 45; count += 7) {
      resolver.resolve(first, count, piece.data(), scratch);
      for (std::int64_t k = 0; k < count; ++k) {
        CHECK(piece[static_cast<std::size_t>(k)].window == all[static_cast<std::size_t>(first + k)].window);
        CHECK(piece[static_cast<std::size_t>(k)].draw == all[static_cast<std::size_t>(first + k)].draw);
      }
    }
  }
}

}  // namespace
}  // namespace fivepoint
