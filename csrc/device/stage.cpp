#include "stage.h"

namespace fivepoint {

Stage::Stage(std::shared_ptr<Device> device, const std::vector<Device::Address>& slots, std::int64_t row_bytes, std::int64_t seq_len)
    : device_(std::move(device)), row_bytes_(row_bytes), seq_len_(seq_len) {
  const Device::Use use(*device_);
  slots_.reserve(slots.size());
  for (const Device::Address memory : slots) {
    slots_.push_back({memory, 0, 0});
    slots_.back().copied = device_->make_event();
    slots_.back().drained = device_->make_event();
  }
}

Stage::~Stage() {
  drain();
  try {
    const Device::Use use(*device_);
    for (const Slot& slot : slots_) {
      device_->drop_event(slot.copied);
      device_->drop_event(slot.drained);
    }
  } catch (const DeviceError&) {
    // The device is gone, and its events with it.
  }
}

void Stage::before_fill(std::size_t slot) {
  const Device::Use use(*device_);
  device_->synchronize(slots_[slot].copied);
}

void Stage::send(std::size_t slot, const char* memory, std::int64_t begin, std::int64_t count, bool first) {
  const Device::Use use(*device_);
  const Slot& to = slots_[slot];
  // Later pieces need not wait for the kernels that read earlier ones of the same filling.
  if (first) device_->wait(device_->copies(), to.drained);
  const std::int64_t at = begin * row_bytes_;
  device_->copy(to.memory + static_cast<Device::Address>(at), memory + at, static_cast<std::size_t>(count * row_bytes_));
  device_->record(to.copied, device_->copies());
}

void Stage::take(std::size_t slot, std::int64_t begin, std::int64_t count, const DeviceBatch& to, Device::Stream stream) {
  const Device::Use use(*device_);
  if (device_->is_captured(stream)) {
    throw MisuseError("expected the next batch to be taken outside of a CUDA graph, found its stream being captured; "
                      "take it before, and copy it into the graph's own inputs");
  }
  const Slot& from = slots_[slot];
  device_->wait(stream, from.copied);
  const Device::Address rows = from.memory + static_cast<Device::Address>(begin * row_bytes_);
  device_->widen({rows, row_bytes_, count, seq_len_, to.inputs, to.targets}, stream);
  if (to.document_ids || to.position_ids || to.loss_mask) {
    device_->bound({to.cu_seqlens, to.documents, to.runs, count, seq_len_, to.document_ids, to.position_ids, to.loss_mask}, stream);
  }
  // A consumer may have taken other rows of the slot on another stream: what is recorded now stands for all of them.
  device_->wait(stream, from.drained);
  device_->record(from.drained, stream);
}

void Stage::drain() noexcept {
  try {
    const Device::Use use(*device_);
    for (const Slot& slot : slots_) {
      device_->synchronize(slot.copied);
      device_->synchronize(slot.drained);
    }
  } catch (const DeviceError&) {
    // A device that failed uses nothing any more.
  }
}

}  // namespace fivepoint
