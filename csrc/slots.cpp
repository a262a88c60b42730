#include "slots.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

namespace fivepoint {

Slots::Slots(const std::vector<SlotMemory>& memory, std::int64_t row_bytes, bool with_documents, std::shared_ptr<Stage> device)
    : slots_(memory.size()), row_bytes_(row_bytes), with_documents_(with_documents), device_(std::move(device)) {
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    slots_[i].number = i;
    slots_[i].rows.data = static_cast<char*>(memory[i].data);
    slots_[i].bytes = memory[i].bytes;
  }
}

bool Slots::want(const std::vector<Range>& ranges) {
  std::vector<Slot*> wanted, held;
  for (const Range range : ranges) {
    if (range.first < 0 || range.count < 0 || range.first > std::numeric_limits<std::int64_t>::max() - range.count) {
      throw MisuseError("expected positions from 0 on, found " + std::to_string(range.count) + " from " + std::to_string(range.first));
    }
    const auto found = std::find_if(wanted_.begin(), wanted_.end(), [&](const Slot* slot) {
      return slot->range.first == range.first && slot->range.count == range.count;
    });
    wanted.push_back(found == wanted_.end() ? nullptr : *found);
    if (wanted.back()) held.push_back(wanted.back());
  }
  // The others, those first that nobody uses.
  std::vector<Slot*> spare;
  for (Slot& slot : slots_) {
    if (std::find(held.begin(), held.end(), &slot) == held.end()) spare.push_back(&slot);
  }
  std::stable_partition(spare.begin(), spare.end(), [](const Slot* slot) { return slot->in_use == 0; });
  auto next = spare.begin();
  std::vector<std::pair<Slot*, Range>> begun;
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    if (wanted[i] && !wanted[i]->error) continue;
    if (!wanted[i]) {
      if (next == spare.end() || ranges[i].count > static_cast<std::int64_t>((*next)->bytes) / row_bytes_) {
        throw MisuseError("expected a slot with room for " + std::to_string(ranges[i].count) + " rows, found none");
      }
      wanted[i] = *next++;
    }
    begun.emplace_back(wanted[i], ranges[i]);
  }
  if (std::any_of(begun.begin(), begun.end(), [](const auto& each) { return each.first->in_use != 0; })) {
    // Nobody claims more of what is spare; what was claimed is soon there.
    wanted_ = std::move(held);
    return false;
  }
  for (const auto& [slot, range] : begun) begin(*slot, range);
  wanted_ = std::move(wanted);
  return true;
}

void Slots::begin(Slot& slot, Range range) {
  const auto rows = static_cast<std::size_t>(range.count);
  slot.range = range;
  slot.claimed = slot.sent = 0;
  slot.copying = slot.copying || slot.tried;
  slot.tried = false;
  slot.there.assign(rows, 0);
  slot.rows.resize(rows, with_documents_);
  slot.error = nullptr;
}

Slots::Slot* Slots::open() const {
  const auto found = std::find_if(wanted_.begin(), wanted_.end(), [](const Slot* slot) { return slot->may_be_claimed(); });
  return found == wanted_.end() ? nullptr : *found;
}

Slots::Slot* Slots::held_up() const {
  const auto found = std::find_if(wanted_.begin(), wanted_.end(), [](const Slot* slot) { return slot->unclaimed() && slot->copying; });
  return found == wanted_.end() ? nullptr : *found;
}

bool Slots::unclaimed() const {
  return std::any_of(wanted_.begin(), wanted_.end(), [](const Slot* slot) { return slot->unclaimed(); });
}

Slots::Claim Slots::claim(Slot& slot, std::int64_t most) {
  const std::int64_t begin = slot.claimed;
  slot.claimed = std::min(slot.range.count, begin + most);
  ++slot.in_use;
  return {&slot, begin, slot.claimed};
}

void Slots::failed(Slot& slot, std::exception_ptr error) {
  if (!slot.error) slot.error = std::move(error);
}

void Slots::done(const Claim& claim, std::exception_ptr error) {
  Slot& slot = *claim.slot;
  --slot.in_use;
  if (error) return failed(slot, std::move(error));
  std::fill(slot.there.begin() + claim.begin, slot.there.begin() + claim.end, 1);
  rows_read_ += claim.end - claim.begin;
}

std::optional<Slots::Piece> Slots::next_piece(Slot& slot) {
  if (!device_ || slot.sending || slot.error || std::find(wanted_.begin(), wanted_.end(), &slot) == wanted_.end()) return std::nullopt;
  const auto end = std::find(slot.there.begin() + slot.sent, slot.there.end(), 0) - slot.there.begin();
  if (end == slot.sent) return std::nullopt;
  slot.sending = slot.tried = true;
  ++slot.in_use;
  return Piece{&slot, slot.sent, end};
}

void Slots::send(const Piece& piece) const {
  device_->send(piece.slot->number, piece.slot->rows.data, piece.begin, piece.end - piece.begin, piece.begin == 0);
}

void Slots::sent(const Piece& piece, std::exception_ptr error) {
  Slot& slot = *piece.slot;
  slot.sending = false;
  --slot.in_use;
  if (error) return failed(slot, std::move(error));
  slot.sent = piece.end;
}

Slots::Slot& Slots::with(Range rows) const {
  for (Slot* slot : wanted_) {
    if (rows.first < slot->range.first || rows.count < 0) continue;
    if (rows.count <= slot->range.count - (rows.first - slot->range.first)) return *slot;
  }
  throw MisuseError("expected rows of a wanted range, found positions from " + std::to_string(rows.first) + " on");
}

bool Slots::ready(const Slot& slot, Range rows) const {
  const std::int64_t begin = rows.first - slot.range.first, end = begin + rows.count;
  if (device_) return end <= slot.sent;
  return std::find(slot.there.begin() + begin, slot.there.begin() + end, 0) == slot.there.begin() + end;
}

bool Slots::begin_again(Slot& slot) {
  if (slot.in_use) return false;
  begin(slot, slot.range);
  return true;
}

bool Slots::busy() const {
  return std::any_of(slots_.begin(), slots_.end(), [](const Slot& slot) { return slot.in_use != 0; });
}

}  // namespace fivepoint
