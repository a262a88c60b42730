#include "resolver.h"

#include <algorithm>
#include <map>
#include <stdexcept>
#include <tuple>
#include <utility>

namespace fivepoint {

namespace {

// Positions resolved side by side: the rounds of one permutation wait for each other, those of eight do not.
constexpr std::int64_t kBlock = 8;

}  // namespace

Resolver::Resolver(std::uint64_t seed, std::vector<SourceSpec> sources, const std::vector<PhaseSpec>& phases,
                   const std::vector<Skip>& skips)
    : seed_(seed), sources_(std::move(sources)) {
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
    std::int64_t period = 0;
    for (const std::int64_t weight : spec.weights) period += weight;
    // Phases of one period or more share the table of equal weights, however long they are.
    const std::int64_t limit = taken < period ? taken : -1;
    auto& blend = blends[{spec.weights, spec.rule, limit}];
    if (!blend) blend = std::make_shared<Blend>(spec.weights, spec.rule, limit);
    phase.blend = blend;
    for (std::size_t i = 0; i < sources_.size(); ++i) {
      std::vector<std::int64_t> before{0};
      for (const std::int64_t tokens : sources_[i].tokens) before.push_back(before.back() + std::max<std::int64_t>(0, tokens - 1) / spec.grid);
      if (spec.weights[i] > 0 && before.back() < 1) throw std::invalid_argument("expected a window in each weighed source");
      phase.sides.emplace_back(static_cast<std::uint64_t>(std::max<std::int64_t>(1, before.back())));
      phase.windows.push_back(std::move(before));
    }
    const std::vector<std::int64_t> counts = blend->counts(taken);
    for (std::size_t i = 0; i < cursors.size(); ++i) cursors[i] += counts[i];
    length_ += spec.length;
    phases_.push_back(std::move(phase));
  }
}

void Resolver::resolve(std::int64_t first, std::int64_t count, Sample* samples, Scratch& scratch) const {
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
  for (std::int64_t k = 0; k < count; ++k) places[k] = permutations[k](places[k]);
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
