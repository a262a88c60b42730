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
    slots_.push_back({memory, OwnEvent(device_), OwnEvent(device_), false, std::nullopt});
    device_->record(slots_.back().drained, consumer);
  }
}

bool Stage::is_copied(std::size_t slot) {
  const Device::Use use(*device_);
  catch_up(slots_[slot]);
  return device_->is_done(slots_[slot].copied);
}

void Stage::send(std::size_t slot, const char* memory, std::int64_t begin, std::int64_t count, bool first) {
  const Device::Use use(*device_);
  Slot& to = slots_[slot];
  // Later pieces need not wait for the kernels that read earlier ones of the same filling.
  if (first) device_->wait(device_->copies(), to.drained);
  const std::int64_t at = begin * row_bytes_;
  to.unrecorded = true;
  device_->copy(to.memory + static_cast<Device::Address>(at), memory + at, static_cast<std::size_t>(count * row_bytes_));
  record_copied(to);
}

void Stage::take(std::size_t slot, std::int64_t begin, std::int64_t count, const DeviceBatch& to, Device::Stream stream) {
  const Device::Use use(*device_);
  Slot& from = slots_[slot];
  device_->wait(stream, from.copied);
  const Device::Address rows = from.memory + static_cast<Device::Address>(begin * row_bytes_);
  const std::lock_guard<std::mutex> guard(draining_);
  if (from.undrained && *from.undrained != stream) record_drained(from, *from.undrained);
  from.undrained = stream;
  device_->widen({rows, row_bytes_, count, seq_len_, to.inputs, to.targets}, stream);
  if (to.document_ids || to.position_ids || to.loss_mask) {
    device_->bound({to.cu_seqlens, to.documents, to.runs, count, seq_len_, to.document_ids, to.position_ids, to.loss_mask}, stream);
  }
  record_drained(from, stream);
}

bool Stage::is_idle() {
  const Device::Use use(*device_);
  for (Slot& slot : slots_) {
    catch_up(slot);
    if (!device_->is_done(slot.copied) || !device_->is_done(slot.drained)) return false;
  }
  return true;
}

void Stage::record_copied(Slot& slot) {
  device_->record(slot.copied, device_->copies());
  slot.unrecorded = false;
}

void Stage::record_drained(Slot& slot, Device::Stream stream) {
  // A consumer may have taken other rows of the slot on another stream: what is recorded now stands for all of them.
  device_->wait(stream, slot.drained);
  device_->record(slot.drained, stream);
  slot.undrained.reset();
}

// Records what a call that failed left unrecorded.
void Stage::catch_up(Slot& slot) {
  if (slot.unrecorded) record_copied(slot);
  const std::lock_guard<std::mutex> guard(draining_);
  if (slot.undrained) record_drained(slot, *slot.undrained);
}

}  // namespace fivepoint
