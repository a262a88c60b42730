// The way of rows to a device. A slot of pinned memory has one of its size there; rows are copied from the one to the other as they come,
// in the source's dtype, and widened from there to where the consumer wants them.
//
//   host fills slot -> copies: slot to device, `copied` -> consumer's stream: widen, `drained` -> copies may overwrite, the host refill
//
// Three waits order it all: the host for `copied` before it fills a slot again, the copies for `drained` before they overwrite what the
// kernels read, the consumer's stream for `copied` before they read. What the kernels write belongs to the consumer's stream alone.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
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

  // Fillings of a slot are counted. Its memory on the host may be written again once the copies of the last one are done; they are recorded
  // apart from those of the one that is under way, which may be waiting for the consumer.
  bool is_copied(std::size_t slot, std::int64_t filling);

  // Sends rows begin to begin + count of a slot; `first` where nothing of this filling was sent before. One thread at a time for a slot.
  void send(std::size_t slot, std::int64_t filling, const char* memory, std::int64_t begin, std::int64_t count, bool first);

  // Widens rows that were sent, on the consumer's stream.
  void take(std::size_t slot, std::int64_t filling, std::int64_t begin, std::int64_t count, const DeviceBatch& to, Device::Stream stream);

  // Whether the device uses none of the memory any more.
  bool is_idle() noexcept;

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
    std::array<OwnEvent, 2> copied;  // of the fillings of even and of odd number
    OwnEvent drained;
  };

  static const OwnEvent& copied(const Slot& slot, std::int64_t filling) { return slot.copied[static_cast<std::size_t>(filling % 2)]; }

  std::shared_ptr<Device> device_;
  std::vector<Slot> slots_;
  std::int64_t row_bytes_, seq_len_;
  std::mutex taking_;  // guards what is recorded as drained
};

}  // namespace fivepoint
