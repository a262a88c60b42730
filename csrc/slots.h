// The life of the slots that steps are read into, without the threads, the lock and the clock, which Prefetch has.
//
// A slot is free, then filling (wanted, its rows being read), then there row by row, with a device also sent to it, and free again when it is
// no longer wanted; with a device it is filled again once all was copied that was sent of it.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <vector>

#include "device/stage.h"
#include "reader.h"

namespace fivepoint {

// Memory of a slot, and where it goes on a device; whoever made it keeps it until the slots are gone.
struct SlotMemory {
  void* data;
  std::size_t bytes;
  Device::Address device = 0;
};

struct Range {
  std::int64_t first, count;
};

class Slots {
 public:
  struct Slot {
    std::size_t number = 0, bytes = 0;
    Rows rows;
    Range range{0, 0};
    std::int64_t claimed = 0, sent = 0;
    bool sending = false, tried = false;  // some of it is being sent; or was, or could not be
    bool copying = false;                  // what was sent of an earlier filling may still be read by the device
    std::int64_t in_use = 0;               // by whoever reads into it, sends it, or takes from it
    std::vector<char> there;  // by row
    std::exception_ptr error;

    bool unclaimed() const { return claimed < range.count && !error; }
    bool may_be_claimed() const { return unclaimed() && !copying; }
  };

  // Rows of a slot that somebody reads.
  struct Claim {
    Slot* slot;
    std::int64_t begin, end;
  };

  // Rows of a slot that somebody sends.
  struct Piece {
    Slot* slot;
    std::int64_t begin, end;
  };

  // Rows of `row_bytes`; `device` is null where rows stay on the host.
  Slots(const std::vector<SlotMemory>& memory, std::int64_t row_bytes, bool with_documents, std::shared_ptr<Stage> device);

  // Names the positions that will be asked for, soonest first; others are not claimed any more. Returns false, to be called again, while
  // a slot that is needed is still in use. Throws MisuseError for more, or for more rows, than there is room for.
  bool want(const std::vector<Range>& ranges);
  void want_nothing() { wanted_.clear(); }

  // The soonest slot with rows that nobody has begun to read, or null; and the soonest that is not filled because the device still copies it.
  Slot* open() const;
  Slot* held_up() const;

  // Whether there is either.
  bool unclaimed() const;

  // Whether a slot's copies are done, asked without the lock; and what then becomes of it, with the lock.
  bool is_copied(const Slot& slot) const { return device_->is_copied(slot.number); }
  void copied(Slot& slot) { slot.copying = false; }
  void failed(Slot& slot, std::exception_ptr error);

  Claim claim(Slot& slot, std::int64_t most);

  // Ends a claim: its rows are there, or cannot be read.
  void done(const Claim& claim, std::exception_ptr error);

  // What is there of a slot and follows what was sent, where it is wanted on a device and nobody is sending.
  std::optional<Piece> next_piece(Slot& slot);

  // Sends it, without the lock.
  void send(const Piece& piece) const;

  // Ends a piece: it is sent, or cannot be.
  void sent(const Piece& piece, std::exception_ptr error);

  // The slot of rows of one wanted range; throws MisuseError.
  Slot& with(Range rows) const;

  // Whether rows of a slot are where the consumer takes them from.
  bool ready(const Slot& slot, Range rows) const;

  // Begins a slot again that failed; false, to be called again, while it is still in use.
  bool begin_again(Slot& slot);

  bool busy() const;
  std::int64_t rows_read() const { return rows_read_; }
  Stage* device() const { return device_.get(); }

 private:
  void begin(Slot& slot, Range range);

  std::vector<Slot> slots_;
  std::vector<Slot*> wanted_;  // soonest first
  std::int64_t row_bytes_, rows_read_ = 0;
  bool with_documents_;
  std::shared_ptr<Stage> device_;
};

}  // namespace fivepoint
