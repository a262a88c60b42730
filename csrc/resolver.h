// From positions to windows, in time that does not depend on the length of the run (A5; C1.8, C1.10, C3.7).
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "blend.h"
#include "permutation.h"

namespace fivepoint {

struct Skip {
  std::int64_t at, count;
};

struct PhaseSpec {
  std::int64_t length, grid;
  Rule rule;
  std::vector<std::int64_t> weights;  // by source, zeros included
};

struct SourceSpec {
  std::uint64_t key;                 // word(name), A1
  std::vector<std::int64_t> tokens;  // of each corpus, in the order of the union
};

// What stands at a position. `corpus` is the number of the corpus within its source, `first` its first token there.
struct Sample {
  std::int64_t position;
  std::int32_t phase, source, corpus;
  std::int64_t draw, epoch, offset, window, first;
};

class Resolver {
 public:
  // Skips ascend strictly by `at`. Throws std::invalid_argument for what no plan holds (spec/formats.md, F3), and for a weighed source
  // without windows.
  Resolver(std::uint64_t seed, std::vector<SourceSpec> sources, const std::vector<PhaseSpec>& phases, const std::vector<Skip>& skips);

  std::int64_t length() const { return length_; }
  const std::vector<SourceSpec>& sources() const { return sources_; }
  std::int64_t grid(std::int32_t phase) const { return phases_[static_cast<std::size_t>(phase)].grid; }

  // The permutation of each source in the epoch that was last asked for: neighbours mostly share it. One for each thread that resolves.
  class Scratch {
    friend class Resolver;
    struct Epoch {
      std::int64_t number = -1, windows = 0;
      Permutation permutation;
    };
    std::vector<Epoch> epochs_;
  };

  // Throws std::out_of_range unless positions first to first + count lie in the run.
  void expect_in_run(std::int64_t first, std::int64_t count) const;

  // The samples at positions first to first + count; throws std::out_of_range outside the run.
  void resolve(std::int64_t first, std::int64_t count, Sample* samples, Scratch& scratch) const;

 private:
  struct Phase {
    std::int64_t start, length, grid;
    std::shared_ptr<const Blend> blend;
    std::vector<std::int64_t> at, passed;  // skips: where, and how many were passed over before and with each; passed[0] = 0
    std::vector<std::int64_t> base;        // draws of each source before the phase
    std::vector<std::vector<std::int64_t>> windows;  // of each source: windows before each corpus, and their sum
    std::vector<Permutation::Sides> sides;           // of each source
  };

  void resolve_in(std::int32_t number, std::int64_t first, std::int64_t count, Sample* samples, Scratch& scratch) const;

  std::uint64_t seed_;
  std::vector<SourceSpec> sources_;
  std::vector<Phase> phases_;
  std::int64_t length_ = 0;
};

}  // namespace fivepoint
