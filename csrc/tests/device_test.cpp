// What a device does, on the host: the kernels' bodies, and the order of all that runs at once, in virtual time.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>
#include <new>
#include <optional>
#include <random>

#include "../boundaries.h"
#include "../slots.h"
#include "simulated.h"

namespace fivepoint {
namespace {

template <typename Token>
void check_bodies() {
  std::mt19937_64 random(1);
  for (std::int64_t seq_len = 1; seq_len < 40; ++seq_len) {
    const std::int64_t row_bytes = (seq_len + 1) * static_cast<std::int64_t>(sizeof(Token)) + 1;
    // Exactly as large as needed, so that a sanitizer sees one byte too many.
    std::unique_ptr<unsigned char[]> row(new (std::align_val_t(16)) unsigned char[static_cast<std::size_t>(row_bytes)]);
    auto* const tokens = reinterpret_cast<Token*>(row.get());
    for (std::int64_t t = 0; t <= seq_len; ++t) tokens[t] = static_cast<Token>(random());
    row[static_cast<std::size_t>(row_bytes - 1)] = sizeof(Token);
    for (const std::size_t shift : {0, 1}) {
      std::vector<std::int64_t> inputs(static_cast<std::size_t>(seq_len) + shift), targets(inputs.size());
      for (std::int64_t t = 0; t < seq_len; t += 2) {
        device::widen_two(row.get(), row_bytes, seq_len, t, inputs.data() + shift, targets.data() + shift);
      }
      for (std::int64_t t = 0; t < seq_len; ++t) {
        REQUIRE(inputs[shift + static_cast<std::size_t>(t)] == static_cast<std::int64_t>(tokens[t]));
        REQUIRE(targets[shift + static_cast<std::size_t>(t)] == static_cast<std::int64_t>(tokens[t + 1]));
      }
    }
    ::operator delete[](row.release(), std::align_val_t(16));
  }
}

TEST_CASE("the kernels' bodies widen rows of any length") {
  check_bodies<std::uint16_t>();
  check_bodies<std::uint32_t>();
}

TEST_CASE("the kernels' bodies bound documents as the host does") {
  std::mt19937_64 random(2);
  for (int round = 0; round < 300; ++round) {
    const auto rows = static_cast<std::int64_t>(1 + random() % 4), seq_len = static_cast<std::int64_t>(1 + random() % 30);
    const auto tokens = static_cast<std::size_t>(rows * seq_len);
    std::vector<std::int64_t> document_ids(tokens), position_ids(tokens), documents;
    std::unique_ptr<bool[]> loss_mask(new bool[tokens]);
    std::vector<std::int32_t> cu_seqlens;
    BatchMemory wanted{};
    wanted.document_ids = document_ids.data();
    wanted.position_ids = position_ids.data();
    wanted.loss_mask = loss_mask.get();
    wanted.cu_seqlens = &cu_seqlens;
    wanted.documents = &documents;
    for (std::int64_t row = 0; row < rows; ++row) {
      std::vector<DocumentRun> runs{{0, static_cast<std::int64_t>(random() % 5)}};
      for (std::int64_t t = 1; t <= seq_len; ++t) {
        if (random() % 4 == 0) runs.push_back({t, runs.back().number + 1 + static_cast<std::int64_t>(random() % 2)});
      }
      write_boundaries(runs, row, seq_len, wanted);
    }
    cu_seqlens.push_back(static_cast<std::int32_t>(tokens));
    const device::Runs runs{cu_seqlens.data(), documents.data(), static_cast<std::int64_t>(documents.size())};
    std::vector<std::int64_t> found_documents(tokens), found_positions(tokens);
    std::unique_ptr<bool[]> found_loss(new bool[tokens]);
    for (std::int64_t row = 0; row < rows; ++row) {
      for (std::int64_t t = 0; t < seq_len; t += 2) {
        device::bound_two(runs, row * seq_len, seq_len, t, {found_documents.data(), found_positions.data(), found_loss.get()});
        device::bound_two(runs, row * seq_len, seq_len, t, {nullptr, nullptr, nullptr});
      }
    }
    REQUIRE(found_documents == document_ids);
    REQUIRE(found_positions == position_ids);
    REQUIRE(std::equal(found_loss.get(), found_loss.get() + tokens, loss_mask.get()));
  }
}

// The device with one thing done wrong.
class Wrong : public Simulated {
 public:
  enum Fault {
    kNone,
    kHostDoesNotWaitForCopied,
    kOneFillerDoesNotWaitForCopied,
    kCopiesDoNotWaitForDrained,
    kConsumerDoesNotWaitForCopied,
    kCopiedIsRecordedBeforeTheCopy,
    kDrainedIsRecordedBeforeTheKernel,
    kNobodyTakesTheLock,
    kAStreamForgetsTheOther,
    kNothingIsDrainedAtTheEnd,
    kThePreviousOwnerIsForgotten,
    kFaults,
  };
  // What each does, in the words of whoever finds it.
  static constexpr std::array<const char*, kFaults> kFound{
      "",
      "the filler writes what the copy reads",
      "the filler writes what the copy reads",
      "the copy writes what the kernel reads",
      "the kernel reads what the copy writes",
      "the kernel reads what the copy writes",
      "the copy writes what the kernel reads",
      "the copy reads what the filler writes",
      "the copy writes what the kernel reads",
      "the next owner writes what the kernel reads",
      "the copy writes what the previous owner writes",
  };

  Wrong(std::uint64_t seed, Fault fault) : Simulated(seed), fault_(fault) {}

  // Events come in pairs, copied and drained, in the order of the slots, whose memory ascends.
  static bool is_copied(Event event) { return event % 2 == 1; }
  std::size_t slot_of(Address address) const {
    return static_cast<std::size_t>(std::upper_bound(staged.begin(), staged.end(), address) - staged.begin()) - 1;
  }

  bool is_done(Event event) override {
    if (fault_ == kHostDoesNotWaitForCopied && is_copied(event) && !ending) return true;
    if (fault_ == kOneFillerDoesNotWaitForCopied && is_copied(event) && thread == 2) return true;
    if (fault_ == kNothingIsDrainedAtTheEnd && ending) return true;
    fail("query");
    return Simulated::is_done(event);
  }
  // Calls fail now and then, before they have done anything.
  void fail(const char* call) {
    if (fault_ == kNone && !opening && !ending && random() % 50 == 0) throw DeviceError(call);
  }
  void wait(Stream stream, Event event) override {
    fail("wait");
    if (fault_ == kCopiesDoNotWaitForDrained && stream == kCopies) return;
    if (fault_ == kConsumerDoesNotWaitForCopied && stream != kCopies && is_copied(event)) return;
    if (fault_ == kAStreamForgetsTheOther && stream != kCopies && !is_copied(event)) return;
    Simulated::wait(stream, event);
  }
  void copy(Address to, const void* from, std::size_t bytes) override {
    fail("copy");
    if (fault_ == kCopiedIsRecordedBeforeTheCopy) {
      Simulated::record(2 * slot_of(to) + 1, kCopies);
    }
    Simulated::copy(to, from, bytes);
  }
  void record(Event event, Stream stream) override {
    fail("record");
    if (fault_ == kCopiedIsRecordedBeforeTheCopy && is_copied(event)) return;
    if (fault_ == kDrainedIsRecordedBeforeTheKernel && !is_copied(event) && !opening) return;
    if (fault_ == kThePreviousOwnerIsForgotten && opening) return;
    Simulated::record(event, stream);
  }
  void widen(const Widen& of, Stream stream) override {
    fail("widen");
    if (fault_ == kDrainedIsRecordedBeforeTheKernel) {
      Simulated::record(2 * slot_of(of.staged) + 2, stream);
    }
    Simulated::widen(of, stream);
  }
  void take_lock() {
    if (fault_ != kNobodyTakesTheLock) lock();
  }
  void give_lock() {
    if (fault_ != kNobodyTakesTheLock) unlock();
  }
  void run_thread(std::size_t number) {
    thread = number;
    run_as(number);
  }

  std::vector<Address> staged;
  std::size_t thread = 0;
  bool opening = true, ending = false;

 private:
  Fault fault_;
};

// A run of some steps, by threads that fill, a consumer, and what it does on its streams; each goes on when the seed says so.
class VirtualRun {
 public:
  static constexpr std::int64_t kSeqLen = 3, kRowBytes = 64, kRows = 6, kMicroBatch = 2, kSteps = 60;
  static constexpr std::size_t kSlots = 3, kFillers = 3;

  VirtualRun(std::uint64_t seed, Wrong::Fault fault) : device_(std::make_shared<Wrong>(seed, fault)) {
    host_.assign(kSlots * kRows * kRowBytes, 0);
    there_ = host_;
    std::vector<SlotMemory> memory;
    for (std::size_t slot = 0; slot < kSlots; ++slot) {
      device_->staged.push_back(reinterpret_cast<Device::Address>(there_.data() + slot * kRows * kRowBytes));
      memory.push_back({host_.data() + slot * kRows * kRowBytes, kRows * kRowBytes, device_->staged.back()});
    }
    // The memory was somebody else's, who let it go when what was to write it was enqueued.
    constexpr Device::Stream consumer = Simulated::kCopies + 1;
    device_->enqueue(consumer, there_.data(), there_.size(), true, "the previous owner", [this] { there_.assign(there_.size(), 1); });
    stage_ = std::make_shared<Stage>(device_, device_->staged, kRowBytes, kSeqLen, consumer);
    device_->opening = false;
    slots_ = std::make_unique<Slots>(memory, kRowBytes, false, stage_);
  }

  // Returns what nothing ordered, and counts batches with wrong tokens.
  const std::vector<std::string>& run() {
    while (first_ < kSteps * kRows) {
      switch (const std::size_t who = device_->random() % (kFillers + 3); who) {
        case 0:
          consume();
          break;
        case kFillers + 1:
        case kFillers + 2:
          device_->step();
          break;
        default:
          device_->run_thread(who);
          fill(fillers_[who - 1]);
      }
    }
    // Whatever had been claimed ends, as threads do, and the memory goes back to whoever gave it.
    for (std::size_t who = 1; who <= kFillers; ++who) {
      device_->run_thread(who);
      while (fillers_[who - 1].claim.slot || fillers_[who - 1].piece || fillers_[who - 1].held_up) fill(fillers_[who - 1]);
    }
    device_->run_thread(0);
    device_->take_lock();
    device_->ending = true;
    while (!stage_->is_idle()) device_->step();
    device_->use_on_host(host_.data(), host_.size(), true, "the next owner");
    device_->use_on_host(there_.data(), there_.size(), true, "the next owner");
    while (device_->step()) {
    }
    return device_->races;
  }

  int wrong = 0;
  int batches = 0;

 private:
  struct Filler {
    Slots::Claim claim{nullptr, 0, 0};
    std::int64_t next = 0;              // the row to write
    std::optional<Slots::Piece> piece;  // that it is about to send
    Slots::Slot* held_up = nullptr;     // that it is about to ask the device about
  };

  template <typename Work>
  static std::exception_ptr failure(const Work& work) {
    try {
      work();
    } catch (const DeviceError&) {
      return std::current_exception();
    }
    return nullptr;
  }

  static std::uint16_t token(std::int64_t position, std::int64_t t) { return static_cast<std::uint16_t>(position * 11 + t); }

  void fill(Filler& filler) {
    if (filler.piece) {
      // As whoever read it goes on to what came meanwhile.
      const std::exception_ptr error = failure([&] { slots_->send(*filler.piece); });
      device_->take_lock();
      slots_->sent(*filler.piece, error);
      filler.piece = slots_->next_piece(*filler.piece->slot);
      device_->give_lock();
    } else if (filler.held_up) {
      bool done = false;
      const std::exception_ptr error = failure([&] { done = slots_->is_copied(*filler.held_up); });
      device_->take_lock();
      if (done) slots_->copied(*filler.held_up);
      if (error) slots_->failed(*filler.held_up, error);
      device_->give_lock();
      filler.held_up = nullptr;
      looking_ = false;
    } else if (!filler.claim.slot) {
      device_->take_lock();
      if (Slots::Slot* const slot = slots_->open()) {
        filler.claim = slots_->claim(*slot, static_cast<std::int64_t>(1 + device_->random() % 3));
        filler.next = filler.claim.begin;
      } else if (!looking_) {
        filler.held_up = slots_->held_up();
        looking_ = filler.held_up != nullptr;
      }
      device_->give_lock();
    } else if (filler.next < filler.claim.end) {
      Slots::Slot& slot = *filler.claim.slot;
      char* const row = slot.rows.data + filler.next * kRowBytes;
      device_->use_on_host(row, kRowBytes, true, "the filler");
      for (std::int64_t t = 0; t <= kSeqLen; ++t) reinterpret_cast<std::uint16_t*>(row)[t] = token(slot.range.first + filler.next, t);
      row[kRowBytes - 1] = 2;
      ++filler.next;
    } else {
      device_->take_lock();
      const bool fails = device_->random() % 40 == 0;
      slots_->done(filler.claim, fails ? std::make_exception_ptr(ReadError("a disk")) : nullptr);
      filler.piece = slots_->next_piece(*filler.claim.slot);
      device_->give_lock();
      filler.claim.slot = nullptr;
    }
  }

  void consume() {
    device_->run_thread(0);
    device_->take_lock();
    const Range rows{first_ + taken_, kMicroBatch};
    if (!wanted_) {
      std::vector<Range> ranges;
      for (std::size_t ahead = 0; ahead < kSlots; ++ahead) ranges.push_back({first_ + static_cast<std::int64_t>(ahead) * kRows, kRows});
      wanted_ = slots_->want(ranges);
    } else if (Slots::Slot& slot = slots_->with(rows); slot.error) {
      slots_->begin_again(slot);
    } else if (slots_->ready(slot, rows)) {
      device_->give_lock();
      return take(slot, rows);
    }
    device_->give_lock();
  }

  void take(const Slots::Slot& slot, Range rows) {
    // As a trainer whose streams change, each with outputs of its own.
    const std::size_t lane = device_->random() % 2;
    const Device::Stream stream = Simulated::kCopies + 1 + lane;
    const auto batch = [&](std::vector<std::int64_t>& memory) { return reinterpret_cast<Device::Address>(memory.data()); };
    Outputs& to = outputs_[lane];
    const DeviceBatch wanted{batch(to.inputs), batch(to.targets), 0, 0, 0, 0, 0, 0};
    // What failed is asked for again.
    if (failure([&] { stage_->take(slot.number, rows.first - slot.range.first, rows.count, wanted, stream); })) return;
    device_->enqueue(stream, to.inputs.data(), to.inputs.size() * 8, false, "the trainer", [this, &to, rows] {
      ++batches;
      for (std::int64_t row = 0; row < rows.count; ++row) {
        for (std::int64_t t = 0; t < kSeqLen; ++t) {
          const auto at = static_cast<std::size_t>(row * kSeqLen + t);
          wrong += to.inputs[at] != token(rows.first + row, t) || to.targets[at] != token(rows.first + row, t + 1);
        }
      }
    });
    taken_ += rows.count;
    if (taken_ == kRows) {
      // A step is done; now and then the loader goes back, as after load_state_dict.
      first_ = first_ >= kRows && device_->random() % 12 == 0 ? first_ - kRows : first_ + kRows;
      taken_ = 0;
      wanted_ = false;
    }
  }

  struct Outputs {
    std::vector<std::int64_t> inputs = std::vector<std::int64_t>(kMicroBatch * kSeqLen), targets = inputs;
  };

  std::shared_ptr<Wrong> device_;
  std::vector<char> host_, there_;
  std::shared_ptr<Stage> stage_;
  std::unique_ptr<Slots> slots_;
  Filler fillers_[kFillers];
  Outputs outputs_[2];
  std::int64_t first_ = 0, taken_ = 0;
  bool wanted_ = false, looking_ = false;
};

TEST_CASE("nothing that runs at once uses the same memory unordered") {
  const char* const seeds = std::getenv("FIVEPOINT_SEEDS");
  for (std::uint64_t seed = 0; seed < (seeds ? std::strtoull(seeds, nullptr, 10) : 200); ++seed) {
    CAPTURE(seed);
    VirtualRun run(seed, Wrong::kNone);
    const std::vector<std::string>& races = run.run();
    REQUIRE_MESSAGE(races.empty(), races.front());
    REQUIRE(run.wrong == 0);
    REQUIRE(run.batches >= VirtualRun::kSteps * VirtualRun::kRows / VirtualRun::kMicroBatch);
  }
}

TEST_CASE("whatever is not ordered is found, for every seed") {
  for (int fault = Wrong::kNone + 1; fault < Wrong::kFaults; ++fault) {
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
      CAPTURE(fault);
      CAPTURE(seed);
      VirtualRun run(seed, static_cast<Wrong::Fault>(fault));
      const std::vector<std::string>& found = run.run();
      REQUIRE(std::find(found.begin(), found.end(), Wrong::kFound.at(static_cast<std::size_t>(fault))) != found.end());
    }
  }
}

TEST_CASE("what is read into a slot waits for the copies of what it held, and not for the consumer") {
  constexpr Device::Stream trainer = Simulated::kCopies + 1;
  const auto device = std::make_shared<Simulated>(1);
  std::vector<char> host(4 * 64), there(host.size());
  std::vector<std::int64_t> inputs(4 * 3), targets(inputs);
  const auto address = [](auto& memory) { return reinterpret_cast<Device::Address>(memory.data()); };
  const auto stage = std::make_shared<Stage>(device, std::vector<Device::Address>{address(there)}, 64, 3, trainer);
  Slots slots({{host.data(), host.size(), address(there)}}, 64, false, stage);
  const auto read = [&](const Slots::Claim& claim) {
    slots.done(claim, nullptr);
    const std::optional<Slots::Piece> piece = slots.next_piece(*claim.slot);
    REQUIRE(piece);
    slots.send(*piece);
    slots.sent(*piece, nullptr);
  };
  REQUIRE(slots.want({{0, 4}}));
  read(slots.claim(*slots.open(), 4));
  stage->take(0, 0, 4, {address(inputs), address(targets), 0, 0, 0, 0, 0, 0}, trainer);
  REQUIRE(slots.want({{4, 4}}));
  CHECK(!slots.open());  // nothing was copied yet
  device->enqueue(trainer, inputs.data(), inputs.size() * 8, false, "the trainer", [] { FAIL("nobody waits for the trainer"); });
  while (!slots.is_copied(*slots.held_up())) REQUIRE(device->step());
  slots.copied(*slots.held_up());
  CHECK(!slots.held_up());
  const Slots::Claim first = slots.claim(*slots.open(), 2);
  read(first);
  // Its copy waits for the trainer's kernels; what is read beside it does not.
  REQUIRE(slots.open() == first.slot);
  read(slots.claim(*slots.open(), 2));
  CHECK(!stage->is_idle());
}

}  // namespace
}  // namespace fivepoint
