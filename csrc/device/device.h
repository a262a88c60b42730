// What it takes to send rows to a device: its addresses, streams and events, and two kernels (kernels.cu).
#pragma once

#include <cstddef>
#include <cstdint>

#include "../errors.h"

namespace fivepoint {

class Device {
 public:
  using Address = std::uint64_t;
  using Stream = std::uintptr_t;
  using Event = std::uintptr_t;

  // The arguments of a kernel, in its order.
  struct Widen {
    Address staged;
    std::int64_t row_bytes, rows, seq_len;
    Address inputs, targets;
  };
  struct Bound {
    Address cu_seqlens, documents;
    std::int64_t runs, rows, seq_len;
    Address document_ids, position_ids, loss_mask;
  };

  // While it lives, the calling thread may use the device.
  class Use {
   public:
    explicit Use(Device& device) : device_(device), before_(device.enter()) {}
    ~Use() { device_.leave(before_); }
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;

   private:
    Device& device_;
    int before_;
  };

  virtual ~Device() = default;

  virtual Event make_event() = 0;
  virtual void drop_event(Event event) noexcept = 0;

  // The stream that copies run on, a stream of their own.
  virtual Stream copies() const = 0;

  // All of these only enqueue, and throw DeviceError; `from` is pinned memory.
  virtual void copy(Address to, const void* from, std::size_t bytes) = 0;
  virtual void record(Event event, Stream stream) = 0;
  virtual void wait(Stream stream, Event event) = 0;  // for what was recorded last, by what is enqueued from now on
  virtual void widen(const Widen& arguments, Stream stream) = 0;
  virtual void bound(const Bound& arguments, Stream stream) = 0;

  // Whether the stream is being captured to a graph: what is done on it then happens at each replay, and not now.
  virtual bool is_captured(Stream stream) = 0;

  // Whether what was recorded last is done, and all before it on its stream; true where nothing was recorded. Does not wait.
  virtual bool is_done(Event event) = 0;

 private:
  // How the calling thread used the device before, which leave() restores.
  virtual int enter() = 0;
  virtual void leave(int before) noexcept = 0;
};

}  // namespace fivepoint
