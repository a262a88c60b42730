// Steps read ahead: a pool of threads brings the rows of the next steps into slots, in the source's dtype; the consumer widens them.
//
// A slot is free, then filling (wanted, its rows being read), then ready row by row, and free again when it is no longer wanted.
#pragma once

#include <sys/types.h>

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "reader.h"

namespace fivepoint {

// Memory of a slot; whoever made it keeps it until the Prefetch is gone.
struct SlotMemory {
  void* data;
  std::size_t bytes;
};

struct Range {
  std::int64_t first, count;
};

class Prefetch {
 public:
  Prefetch(std::shared_ptr<const Reader> reader, const std::vector<SlotMemory>& slots, int threads);
  ~Prefetch();
  Prefetch(const Prefetch&) = delete;
  Prefetch& operator=(const Prefetch&) = delete;

  // Names the positions that will be asked for, soonest first, at most as many ranges as there are slots; others are forgotten.
  void want(const std::vector<Range>& ranges);

  // Waits, at most so long, until rows of one wanted range are there or cannot be read. What no thread has begun, or failed, is read
  // here.
  bool wait(Range rows, int milliseconds);

  // Widens rows that are there; throws ReadError where one of the range they are of could not be read.
  void take(Range rows, const BatchMemory& batch);

  // Ends the threads; what is asked afterwards throws MisuseError.
  void close();

  std::int64_t rows_read() const;

 private:
  struct Slot {
    std::size_t bytes = 0;
    Rows rows;
    Range range{0, 0};
    std::int64_t claimed = 0, in_flight = 0;
    std::vector<char> there;  // by row
    std::optional<std::string> error;

    bool unclaimed() const { return claimed < range.count; }
    bool holds(Range some) const;
  };
  struct State;

  static void work(State& state);
  static void read_on(State& state, std::unique_lock<std::mutex>& guard, Slot& slot, Resolver::Scratch& scratch);
  static void begin(State& state, std::unique_lock<std::mutex>& guard, Slot& slot, Range range);
  Slot* slot_with(Range rows) const;
  void expect_usable() const;

  std::unique_ptr<State> state_;
};

}  // namespace fivepoint
