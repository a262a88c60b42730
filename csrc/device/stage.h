// The way of rows to a device. A slot of pinned memory has one of its size there; rows are copied from the one to the other as they come,
// in the source's dtype, and widened from there to where the consumer wants them.
//
//   host fills slot -> copies: slot to device, `copied` -> consumer's stream: widen, `drained` -> copies may overwrite, the host refill
//
// Three waits order it all: the host for `copied` before it fills a slot again, the copies for `drained` before they overwrite what the
// kernels read, the consumer's stream for `copied` before they read. What the kernels write belongs to the consumer's stream alone.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "device.h"

namespace fivepoint {

// Where the consumer wants the tokens of a batch of b rows, and what is known of its documents (bodies.h: Runs); 0 is not wanted.
struct DeviceBatch {
  Device::Address inputs, targets;                        // int64 [b, seq_len]
  Device::Address document_ids, position_ids, loss_mask;  // int64 [b, seq_len], and bool
  Device::Address cu_seqlens, documents;
  std::int64_t runs;
};

class Stage {
 public:
  // A slot's memory on the device, and the layout of a row in it; the memory was given out in the order of the consumer's stream, on which
  // whoever had it before may not be done with it.
  Stage(std::shared_ptr<Device> device, const std::vector<Device::Address>& slots, std::int64_t row_bytes, std::int64_t seq_len,
        Device::Stream consumer);
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;

  // Whether all copies of a slot are done, so that its memory on the host may be written again.
  bool is_copied(std::size_t slot);

  // Sends rows begin to begin + count of a slot; `first` where nothing of this filling was sent before. One thread at a time for a slot.
  void send(std::size_t slot, const char* memory, std::int64_t begin, std::int64_t count, bool first);

  // Widens rows that were sent, on the consumer's stream.
  void take(std::size_t slot, std::int64_t begin, std::int64_t count, const DeviceBatch& to, Device::Stream stream);

  // Whether the device uses none of the memory any more.
  bool is_idle();

 private:
  class OwnEvent {
   public:
    explicit OwnEvent(std::shared_ptr<Device> device);
    ~OwnEvent();
    OwnEvent(OwnEvent&&) = default;
    OwnEvent& operator=(OwnEvent&&) = delete;

    operator Device::Event() const { return event_; }

   private:
    std::shared_ptr<Device> device_;
    Device::Event event_;
  };

  struct Slot {
    Device::Address memory;
    OwnEvent copied, drained;
    // Where a call failed: work may be under way that no event stands for yet.
    bool unrecorded = false;
    std::optional<Device::Stream> undrained;
  };

  void record_copied(Slot& slot);
  void record_drained(Slot& slot, Device::Stream stream);
  void catch_up(Slot& slot);

  std::shared_ptr<Device> device_;
  std::vector<Slot> slots_;
  std::int64_t row_bytes_, seq_len_;
  std::mutex draining_;  // guards what is recorded as drained
};

}  // namespace fivepoint
