// Steps read ahead: a pool of threads brings the rows of the next steps into slots, in the source's dtype; the consumer widens them, or a
// device does.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "slots.h"

namespace fivepoint {

class Prefetch {
 public:
  // With a device each slot has memory there, too.
  Prefetch(std::shared_ptr<const Reader> reader, const std::vector<SlotMemory>& slots, int threads,
           std::shared_ptr<Device> device = nullptr);
  ~Prefetch();
  Prefetch(const Prefetch&) = delete;
  Prefetch& operator=(const Prefetch&) = delete;

  // Names the positions that will be asked for, soonest first, at most as many ranges as there are slots; others are forgotten.
  void want(const std::vector<Range>& ranges);

  // Waits, at most so long, until rows of one wanted range are there, or sent to the device, or cannot be read. What no thread has begun,
  // or failed, is read here.
  bool wait(Range rows, int milliseconds);

  // Writes what is known of rows that are there, and widens them where inputs are wanted; rethrows what kept one of the range they are of
  // from being read.
  void take(Range rows, const BatchMemory& batch);

  // Widens rows that are there on the device, on the consumer's stream.
  void take(Range rows, const DeviceBatch& batch, Device::Stream stream);

  // Ends the threads; what is asked afterwards throws MisuseError.
  void close();

  std::int64_t rows_read() const;

 private:
  struct State;

  static void work(State& state);
  static void read_on(State& state, std::unique_lock<std::mutex>& guard, Slots::Slot& slot, Resolver::Scratch& scratch);
  const Slots::Slot& taken(Range rows) const;
  void expect_usable() const;

  std::unique_ptr<State> state_;
};

}  // namespace fivepoint
