// Steps read ahead: a pool of threads brings the rows of the next steps into slots, in the source's dtype; the consumer widens them, or a
// device does.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "slots.h"

namespace fivepoint {

class Prefetch {
 public:
  // With a device each slot has memory there, too, given out in the order of the consumer's stream. What holds all this memory is let go
  // when nothing uses it any more.
  Prefetch(std::shared_ptr<const Reader> reader, const std::vector<SlotMemory>& slots, int threads,
           std::shared_ptr<Device> device = nullptr, Device::Stream consumer = 0, std::shared_ptr<void> memory = nullptr);
  ~Prefetch();
  Prefetch(const Prefetch&) = delete;
  Prefetch& operator=(const Prefetch&) = delete;

  // Names the positions that will be asked for, soonest first, at most as many ranges as there are slots; others are forgotten.
  void want(const std::vector<Range>& ranges);

  // Waits until rows of one wanted range are there, or sent to the device; then writes what is known of them, and widens them where inputs
  // are wanted. False, and nothing is written, where they are not there in that time and the one read that it may have begun. What no
  // thread has begun, or failed before it was asked for, is read here. Rethrows what kept one of the range from being read.
  bool take(Range rows, const BatchMemory& batch, int milliseconds);

  // Widens rows that were taken on the device, on the consumer's stream.
  void take(Range rows, const DeviceBatch& batch, Device::Stream stream);

  // Ends the threads, once what they read is there; what is asked afterwards throws MisuseError. False, to be called again, where after that
  // time another thread is still taking a batch, or the device still uses the memory: it may wait for work of the consumer that never ends.
  bool close(int milliseconds);

  std::int64_t rows_read() const;

 private:
  struct State;

  static void work(State& state);
  static void read_on(State& state, std::unique_lock<std::mutex>& guard, Slots::Slot& slot, Resolver::Scratch& scratch);
  static void send_on(State& state, std::unique_lock<std::mutex>& guard, Slots::Slot& slot);
  static void look(State& state, std::unique_lock<std::mutex>& guard, Slots::Slot& slot, std::chrono::microseconds& pause);
  void expect_usable() const;
  void expect_open() const;

  std::unique_ptr<State> state_;
};

}  // namespace fivepoint
