#include "resolver.h"

#include <algorithm>
#include <map>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>

#include "expect.h"

namespace fivepoint {

namespace {

constexpr std::int64_t kBlock = Permutation::kAtOnce;
static_assert(kMost <= static_cast<std::int64_t>(Permutation::kLargest));

// Holds the run to what F3 says of every plan; what is left to the loop over phases is what a phase alone can tell.
void expect_plan(const std::vector<SourceSpec>& sources, const std::vector<PhaseSpec>& phases, const std::vector<Skip>& skips) {
  std::int64_t length = 0, before = -1;
  for (const PhaseSpec& phase : phases) {
    expect(phase.length >= 0 && phase.length <= kMost - length, "phases of 0 samples or more, 2^48 in all at most", phase.length);
    expect(phase.grid >= 1, "a grid of one token or more", phase.grid);
    expect(phase.weights.size() == sources.size(), "a weight of each source in each phase",
           static_cast<std::int64_t>(phase.weights.size()));
    length += phase.length;
  }
  std::int64_t passed = length;
  for (const Skip& skip : skips) {
    expect(skip.at > before && skip.at < length, "skips at strictly ascending positions of the run", skip.at);
    expect(skip.count >= 1 && skip.count <= kMost - passed, "skips of one sample or more, 2^48 with the run at most", skip.count);
    before = skip.at;
    passed += skip.count;
  }
}

// Windows before each corpus of a source, and their sum.
std::vector<std::int64_t> windows_of(const SourceSpec& source, std::int64_t grid) {
  std::vector<std::int64_t> before{0};
  for (const std::int64_t tokens : source.tokens) {
    expect(tokens >= 0, "corpora of 0 tokens or more", tokens);
    const std::int64_t windows = std::max<std::int64_t>(0, tokens - 1) / grid;
    expect(windows <= kMost - before.back(), "at most 2^48 windows in a source, and a corpus of fewer", windows);
    before.push_back(before.back() + windows);
  }
  return before;
}

}  // namespace

Resolver::Resolver(std::uint64_t seed, std::vector<SourceSpec> sources, const std::vector<PhaseSpec>& phases,
                   const std::vector<Skip>& skips)
    : seed_(seed), sources_(std::move(sources)) {
  expect_plan(sources_, phases, skips);
  std::map<std::tuple<std::vector<std::int64_t>, Rule, std::int64_t>, std::shared_ptr<const Blend>> blends;
  std::vector<std::int64_t> cursors(sources_.size(), 0);
  auto skip = skips.begin();
  for (const PhaseSpec& spec : phases) {
    Phase phase{length_, spec.length, spec.grid, nullptr, {}, {0}, cursors, {}, {}};
    for (; skip != skips.end() && skip->at < length_ + spec.length; ++skip) {
      phase.at.push_back(skip->at);
      phase.passed.push_back(phase.passed.back() + skip->count);
    }
    const std::int64_t taken = spec.length + phase.passed.back();
    // Phases of one period or more share the table of equal weights, however long they are.
    const std::int64_t limit = taken < sum_of_weights(spec.weights) ? taken : -1;
    auto& blend = blends[{spec.weights, spec.rule, limit}];
    if (!blend) blend = std::make_shared<Blend>(spec.weights, spec.rule, limit);
    phase.blend = blend;
    for (std::size_t i = 0; i < sources_.size(); ++i) {
      std::vector<std::int64_t> before = windows_of(sources_[i], spec.grid);
      expect(spec.weights[i] == 0 || before.back() > 0, "a window in each weighed source", before.back());
      phase.sides.emplace_back(static_cast<std::uint64_t>(std::max<std::int64_t>(1, before.back())));
      phase.windows.push_back(std::move(before));
    }
    const std::vector<std::int64_t> counts = blend->counts(taken);
    for (std::size_t i = 0; i < cursors.size(); ++i) cursors[i] += counts[i];
    length_ += spec.length;
    phases_.push_back(std::move(phase));
  }
}

void Resolver::expect_in_run(std::int64_t first, std::int64_t count) const {
  if (first >= 0 && count >= 0 && first <= length_ && count <= length_ - first) return;
  throw std::out_of_range("expected positions of the run, from 0 to " + std::to_string(length_) + ", found " + std::to_string(count) +
                          " from " + std::to_string(first) + " on");
}

void Resolver::resolve(std::int64_t first, std::int64_t count, Sample* samples, Scratch& scratch) const {
  expect_in_run(first, count);
  if (count == 0) return;
  scratch.epochs_.resize(sources_.size());
  auto phase = std::upper_bound(phases_.begin(), phases_.end(), first, [](std::int64_t p, const Phase& each) { return p < each.start; }) - 1;
  while (count > 0) {
    const std::int64_t here = std::min(count, phase->start + phase->length - first);
    const auto number = static_cast<std::int32_t>(phase - phases_.begin());
    for (std::int64_t done = 0; done < here; done += kBlock) {
      resolve_in(number, first + done, std::min(kBlock, here - done), samples + done, scratch);
    }
    first += here;
    count -= here;
    samples += here;
    ++phase;
  }
}

void Resolver::resolve_in(std::int32_t number, std::int64_t first, std::int64_t count, Sample* samples, Scratch& scratch) const {
  const Phase& phase = phases_[static_cast<std::size_t>(number)];
  Permutation permutations[kBlock];
  std::uint64_t places[kBlock];
  for (std::int64_t k = 0; k < count; ++k) {
    const std::int64_t position = first + k;
    const auto skips = static_cast<std::size_t>(std::upper_bound(phase.at.begin(), phase.at.end(), position) - phase.at.begin());
    const Blend::Draw draw = (*phase.blend)(position - phase.start + phase.passed[skips]);
    const auto source = static_cast<std::size_t>(draw.source);
    const std::int64_t n = phase.windows[source].back(), taken = phase.base[source] + draw.number;
    samples[k] = {position, number, draw.source, 0, taken, taken / n, taken % n, 0, 0};
    Scratch::Epoch& epoch = scratch.epochs_[source];
    if (epoch.number != samples[k].epoch || epoch.windows != n) {
      const std::uint64_t state = absorb(seed_, {sources_[source].key, static_cast<std::uint64_t>(samples[k].epoch)});
      epoch = {samples[k].epoch, n, Permutation(phase.sides[source], state)};
    }
    permutations[k] = epoch.permutation;
    places[k] = static_cast<std::uint64_t>(samples[k].offset);
  }
  Permutation::permute(permutations, places, static_cast<int>(count));
  for (std::int64_t k = 0; k < count; ++k) {
    const std::vector<std::int64_t>& before = phase.windows[static_cast<std::size_t>(samples[k].source)];
    const auto window = static_cast<std::int64_t>(places[k]);
    // Of several corpora that begin at one window all but the last are empty.
    const auto corpus = std::upper_bound(before.begin(), before.end() - 1, window) - before.begin() - 1;
    samples[k].corpus = static_cast<std::int32_t>(corpus);
    samples[k].window = window;
    samples[k].first = (window - before[static_cast<std::size_t>(corpus)]) * phase.grid;
  }
}

}  // namespace fivepoint
