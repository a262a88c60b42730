// The order of a run from any parameters: what is not refused by an exception has an inverse, sums up, and stays within its bounds.
#include "../csrc/blend.h"
#include "../csrc/permutation.h"
#include "../csrc/resolver.h"
#include "bytes.h"

#include <numeric>
#include <stdexcept>

namespace fivepoint {
namespace {

// A table of a million entries takes a second, and has no branch that a small one lacks.
constexpr std::int64_t kLongestTable = 1 << 12;

bool is_quick(const PhaseSpec& phase) {
  std::int64_t entries = 0;
  for (const std::int64_t weight : phase.weights) {
    if (weight < 0 || weight > Blend::kLargestSum) return true;  // refused at once
    entries += weight;
  }
  return entries <= kLongestTable || entries > Blend::kLargestSum;
}

void permute(Bytes& bytes) {
  const std::uint64_t n = 1 + static_cast<std::uint64_t>(bytes.number()) % Permutation::kLargest;
  const Permutation permutation(Permutation::Sides(n), static_cast<std::uint64_t>(bytes.number()));
  for (const std::uint64_t x : {std::uint64_t{0}, n / 2, n - 1, static_cast<std::uint64_t>(bytes.number()) % n}) {
    require(permutation(x) < n, "a permutation stays below n");
    require(permutation.inverse(permutation(x)) == x, "the inverse of a permutation undoes it");
  }
}

void blend(const PhaseSpec& phase, Bytes& bytes) {
  const std::int64_t limit = bytes.up_to(1) ? -1 : phase.length;
  const Blend found(phase.weights, phase.rule, limit);
  for (std::int64_t q : {std::int64_t{0}, std::int64_t{1}, found.period() - 1, found.period(), bytes.number()}) {
    if (q < 0 || (limit >= 0 && q >= limit)) continue;
    const Blend::Draw draw = found(q);
    require(found.weights()[static_cast<std::size_t>(draw.source)] > 0, "what is drawn has a weight");
    require(q > INT64_MAX / 2 || found.position(draw.source, draw.number) == q, "the position of a draw is where it was drawn");
    const auto counts = found.counts(q);
    require(std::accumulate(counts.begin(), counts.end(), std::int64_t{0}) == q, "draws sum up to the positions");
    require(counts[static_cast<std::size_t>(draw.source)] == draw.number, "a draw's number counts those before it");
  }
  const auto source = static_cast<std::int32_t>(bytes.number());
  const std::int64_t number = bytes.number(), q = found.position(source, number);
  if (q >= 0) require(found(q).source == source && found(q).number == number, "what is drawn at the position of a draw is that draw");
}

void resolve(std::uint64_t seed, const std::vector<SourceSpec>& sources, const std::vector<PhaseSpec>& phases,
             const std::vector<Skip>& skips, Bytes& bytes) {
  const Resolver resolver(seed, sources, phases, skips);
  Resolver::Scratch scratch;
  std::vector<Sample> samples(64);
  std::vector<std::int64_t> drawn(sources.size(), -1);
  for (const std::int64_t from : {std::int64_t{0}, resolver.length() - 64, bytes.number()}) {
    if (from < 0 || from > resolver.length()) continue;
    const std::int64_t count = std::min<std::int64_t>(64, resolver.length() - from);
    resolver.resolve(from, count, samples.data(), scratch);
    std::fill(drawn.begin(), drawn.end(), -1);
    for (std::int64_t k = 0; k < count; ++k) {
      const Sample& sample = samples[static_cast<std::size_t>(k)];
      const auto source = static_cast<std::size_t>(sample.source);
      const PhaseSpec& phase = phases[static_cast<std::size_t>(sample.phase)];
      require(phase.weights[source] > 0, "what is served has a weight");
      require(sample.draw > drawn[source], "the draws of a source ascend");
      drawn[source] = sample.draw;
      const std::vector<std::int64_t>& tokens = sources[source].tokens;
      require(sample.first >= 0 && sample.first + phase.grid < tokens[static_cast<std::size_t>(sample.corpus)],
              "a window and its last target lie in the corpus");
      std::int64_t windows = 0;
      for (const std::int64_t each : tokens) windows += std::max<std::int64_t>(0, each - 1) / phase.grid;
      require(sample.epoch * windows + sample.offset == sample.draw && sample.offset < windows, "a draw is an offset of its epoch");
      const std::uint64_t state = absorb(seed, {sources[source].key, static_cast<std::uint64_t>(sample.epoch)});
      const Permutation permutation(Permutation::Sides(static_cast<std::uint64_t>(windows)), state);
      require(permutation.inverse(static_cast<std::uint64_t>(sample.window)) == static_cast<std::uint64_t>(sample.offset),
              "a window leads back to its offset");
    }
  }
  const std::int64_t first = bytes.number(), count = bytes.up_to(64);
  try {
    resolver.resolve(first, count, samples.data(), scratch);
    require(first >= 0 && first <= resolver.length() - count, "positions outside the run are refused");
  } catch (const std::out_of_range&) {
  }
}

// Runs a part of the order that may refuse what it is given.
template <typename Part>
void attempt(Part part) {
  try {
    part();
  } catch (const std::invalid_argument&) {
  }
}

}  // namespace
}  // namespace fivepoint

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace fivepoint;
  Bytes bytes(data, size);
  const auto seed = static_cast<std::uint64_t>(bytes.number());
  std::vector<SourceSpec> sources(static_cast<std::size_t>(bytes.up_to(4)));
  for (SourceSpec& each : sources) {
    each.key = static_cast<std::uint64_t>(bytes.number());
    each.tokens = bytes.numbers(bytes.up_to(3));
  }
  std::vector<PhaseSpec> phases(static_cast<std::size_t>(bytes.up_to(4)));
  for (PhaseSpec& each : phases) {
    each.length = bytes.number();
    each.grid = bytes.number();
    each.rule = bytes.up_to(1) ? Rule::kFurthestBehind : Rule::kEarliestDeadline;
    each.weights = bytes.numbers(bytes.up_to(4));
    if (!is_quick(each)) return 0;
  }
  std::vector<Skip> skips(static_cast<std::size_t>(bytes.up_to(4)));
  for (Skip& each : skips) {
    each.at = bytes.number();
    each.count = bytes.number();
  }
  permute(bytes);
  for (const PhaseSpec& phase : phases) attempt([&] { blend(phase, bytes); });
  attempt([&] { resolve(seed, sources, phases, skips, bytes); });
  return 0;
}
