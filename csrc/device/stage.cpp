#include "stage.h"

namespace fivepoint {

Stage::OwnEvent::OwnEvent(std::shared_ptr<Device> device) : device_(std::move(device)) {
  const Device::Use use(*device_);
  event_ = device_->make_event();
}

Stage::OwnEvent::~OwnEvent() {
  if (!device_) return;  // moved from
  try {
    const Device::Use use(*device_);
    device_->drop_event(event_);
  } catch (const DeviceError&) {
    // The device is gone, and its events with it.
  }
}

Stage::Stage(std::shared_ptr<Device> device, const std::vector<Device::Address>& slots, std::int64_t row_bytes, std::int64_t seq_len,
             Device::Stream consumer)
    : device_(std::move(device)), row_bytes_(row_bytes), seq_len_(seq_len) {
  const Device::Use use(*device_);
  slots_.reserve(slots.size());
  for (const Device::Address memory : slots) {
    slots_.push_back({memory, {OwnEvent(device_), OwnEvent(device_)}, OwnEvent(device_)});
    device_->record(slots_.back().drained, consumer);
  }
}

bool Stage::is_copied(std::size_t slot, std::int64_t filling) {
  const Device::Use use(*device_);
  return device_->is_done(copied(slots_[slot], filling));
}

void Stage::send(std::size_t slot, std::int64_t filling, const char* memory, std::int64_t begin, std::int64_t count, bool first) {
  const Device::Use use(*device_);
  const Slot& to = slots_[slot];
  const std::int64_t at = begin * row_bytes_;
  try {
    // Later pieces need not wait for the kernels that read earlier ones of the same filling.
    if (first) device_->wait(device_->copies(), to.drained);
    device_->copy(to.memory + static_cast<Device::Address>(at), memory + at, static_cast<std::size_t>(count * row_bytes_));
    device_->record(copied(to, filling), device_->copies());
  } catch (const DeviceError&) {
    device_->finish(device_->copies());  // what no event stands for must not be under way when the slot is filled again
    throw;
  }
}

void Stage::take(std::size_t slot, std::int64_t filling, std::int64_t begin, std::int64_t count, const DeviceBatch& to, Device::Stream stream) {
  const Device::Use use(*device_);
  const Slot& from = slots_[slot];
  const std::lock_guard<std::mutex> guard(taking_);
  device_->wait(stream, copied(from, filling));
  const Device::Address rows = from.memory + static_cast<Device::Address>(begin * row_bytes_);
  try {
    device_->widen({rows, row_bytes_, count, seq_len_, to.inputs, to.targets}, stream);
    if (to.document_ids || to.position_ids || to.loss_mask) {
      device_->bound({to.cu_seqlens, to.documents, to.runs, count, seq_len_, to.document_ids, to.position_ids, to.loss_mask}, stream);
    }
    // A consumer may have taken other rows of the slot on another stream: what is recorded now stands for all of them.
    device_->wait(stream, from.drained);
    device_->record(from.drained, stream);
  } catch (const DeviceError&) {
    device_->finish(stream);  // as above
    throw;
  }
}

bool Stage::is_idle() noexcept {
  try {
    const Device::Use use(*device_);
    for (const Slot& slot : slots_) {
      for (const OwnEvent& event : slot.copied) {
        if (!device_->is_done(event)) return false;
      }
      if (!device_->is_done(slot.drained)) return false;
    }
  } catch (const DeviceError&) {
    // A device that failed uses nothing any more.
  }
  return true;
}

}  // namespace fivepoint
