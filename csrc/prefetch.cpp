#include "prefetch.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <optional>
#include <thread>

namespace fivepoint {

namespace {

using Clock = std::chrono::steady_clock;

// How much reading a thread takes on at a time, and how many times of it count as lately.
constexpr double kChunkSeconds = 100e-6, kLeastSeconds = 1e-9, kAverageOver = 8;

// To sleep and be woken takes longer than to read a row that the system has in memory: so long one looks out before sleeping.
constexpr std::chrono::microseconds kSpin{50};

// Between looks at whether a device is done, at first and at most: what is waited for is steps ahead, and each look costs calls of its driver.
constexpr std::chrono::microseconds kSoonest{50}, kLatest{1000};

// How long a device is waited for when all is to go; what it still uses then is never given back.
constexpr int kLastMilliseconds = 10'000;

}  // namespace

struct Prefetch::State {
  State(std::shared_ptr<const Reader> reading, const std::vector<SlotMemory>& given, std::shared_ptr<Stage> device, std::shared_ptr<void> held)
      : memory(std::move(held)), reader(std::move(reading)), slots(given, reader->row_bytes(), reader->with_documents(), std::move(device)) {}

  std::shared_ptr<void> memory;
  std::shared_ptr<const Reader> reader;
  pid_t process = getpid();

  std::mutex lock;  // guards all below; reads and widening run outside it
  std::condition_variable work, rows;  // something to read; something there, or a slot out of use
  Slots slots;
  bool closed = false;
  bool spinning = false;  // a thread is about to see what is new, and need not be woken
  bool looking = false;   // a thread looks at whether the device is done
  bool lost = false;      // the device failed: nobody knows what it still uses
  double row_seconds = 1e-3;  // what reading a row takes, lately
  std::atomic<std::uint64_t> news{0};  // counts what came to be wanted or there; written under the lock, looked at without

  std::mutex ending;  // one call of close at a time
  std::vector<std::thread> threads;

  // While it lives, a slot stays what it is, and the lock is free.
  class Using {
   public:
    Using(State& state, std::unique_lock<std::mutex>& guard, Slots::Slot& slot) : state_(state), guard_(guard), slot_(slot) {
      ++slot_.in_use;
      guard_.unlock();
    }
    ~Using() {
      guard_.lock();
      --slot_.in_use;
      state_.rows.notify_all();
    }
    Using(const Using&) = delete;
    Using& operator=(const Using&) = delete;

   private:
    State& state_;
    std::unique_lock<std::mutex>& guard_;
    Slots::Slot& slot_;
  };

  // Something is there, or cannot be.
  void tell() {
    ++news;
    rows.notify_all();
  }

  void wake_a_thread() {
    if (!spinning) work.notify_one();
  }

  // Looks out, without the lock, until there are news or time is up; says whether there are.
  bool spin(std::unique_lock<std::mutex>& guard) {
    const std::uint64_t seen = news.load();
    guard.unlock();
    const auto until = Clock::now() + kSpin;
    while (news.load(std::memory_order_relaxed) == seen && Clock::now() < until) std::this_thread::yield();
    guard.lock();
    return news.load() != seen;
  }
};

Prefetch::Prefetch(std::shared_ptr<const Reader> reader, const std::vector<SlotMemory>& slots, int threads, std::shared_ptr<Device> device,
                   Device::Stream consumer, std::shared_ptr<void> memory) {
  std::shared_ptr<Stage> stage;
  if (device) {
    std::vector<Device::Address> there;
    for (const SlotMemory& slot : slots) there.push_back(slot.device);
    stage = std::make_shared<Stage>(std::move(device), there, reader->row_bytes(), reader->seq_len(), consumer);
  }
  state_ = std::make_unique<State>(std::move(reader), slots, std::move(stage), std::move(memory));
  try {
    for (int i = 0; i < threads; ++i) state_->threads.emplace_back([state = state_.get()] { work(*state); });
  } catch (...) {
    close(0);
    throw;
  }
}

Prefetch::~Prefetch() {
  // A fork has no threads, and locks as they stood: nothing here may be touched, or ended, again.
  if (state_->process != getpid() || !close(kLastMilliseconds) || state_->lost) (void)state_.release();
}

bool Prefetch::close(int milliseconds) {
  if (state_->process != getpid()) return true;
  const auto until = Clock::now() + std::chrono::milliseconds(milliseconds);
  {
    const std::lock_guard<std::mutex> guard(state_->lock);
    state_->closed = true;
    state_->slots.want_nothing();
    ++state_->news;
  }
  state_->work.notify_all();
  state_->rows.notify_all();
  const std::lock_guard<std::mutex> alone(state_->ending);
  for (std::thread& thread : state_->threads) thread.join();
  state_->threads.clear();
  // Another thread of the consumer may read what it waits for, or take it.
  std::unique_lock<std::mutex> guard(state_->lock);
  if (!state_->rows.wait_until(guard, until, [&] { return !state_->slots.busy(); })) return false;
  Stage* const device = state_->slots.device();
  if (!device || state_->lost) return true;
  guard.unlock();
  try {
    for (auto pause = kSoonest; !device->is_idle(); pause = std::min(2 * pause, kLatest)) {
      if (Clock::now() >= until) return false;
      std::this_thread::sleep_for(pause);
    }
  } catch (const DeviceError&) {
    guard.lock();
    state_->lost = true;
  }
  return true;
}

void Prefetch::expect_usable() const {
  if (state_->process != getpid()) {
    throw MisuseError("expected a loader that was opened in this process, found one from before a fork; open it anew here");
  }
}

void Prefetch::expect_open() const {
  if (state_->closed) throw MisuseError("expected an open loader, found one that was closed");
}

void Prefetch::want(const std::vector<Range>& ranges) {
  expect_usable();
  State& state = *state_;
  std::unique_lock<std::mutex> guard(state.lock);
  expect_open();
  while (!state.slots.want(ranges)) {
    state.rows.wait(guard);
    expect_open();
  }
  ++state.news;
  // One is woken, and wakes the next where there is more to do than it takes.
  if (state.slots.unclaimed()) state.wake_a_thread();
}

void Prefetch::work(State& state) {
  Resolver::Scratch scratch;
  auto pause = kSoonest;
  std::unique_lock<std::mutex> guard(state.lock);
  while (!state.closed) {
    if (Slots::Slot* slot = state.slots.open()) {
      read_on(state, guard, *slot, scratch);
      pause = kSoonest;
      continue;
    }
    if (Slots::Slot* slot = state.looking ? nullptr : state.slots.held_up()) {
      look(state, guard, *slot, pause);
      continue;
    }
    if (!state.spinning) {
      state.spinning = true;
      const bool news = state.spin(guard);
      state.spinning = false;
      if (news) continue;
    }
    state.work.wait(guard, [&] { return state.closed || state.slots.open() || (!state.looking && state.slots.held_up()); });
  }
}

void Prefetch::read_on(State& state, std::unique_lock<std::mutex>& guard, Slots::Slot& slot, Resolver::Scratch& scratch) {
  // A disk wants many requests at once; what the system has in memory is sooner read by one thread than by several that are woken.
  const auto most = std::max<std::int64_t>(1, static_cast<std::int64_t>(kChunkSeconds / std::max(state.row_seconds, kLeastSeconds)));
  const Slots::Claim claim = state.slots.claim(slot, most);
  if (state.slots.unclaimed()) state.wake_a_thread();
  guard.unlock();
  const auto begun = Clock::now();
  std::exception_ptr error;
  try {
    state.reader->read(slot.range.first + claim.begin, claim.end - claim.begin, slot.rows, claim.begin, scratch);
  } catch (const std::exception&) {
    error = std::current_exception();
  }
  const std::chrono::duration<double> took = Clock::now() - begun;
  guard.lock();
  state.row_seconds += (took.count() / static_cast<double>(claim.end - claim.begin) - state.row_seconds) / kAverageOver;
  state.slots.done(claim, std::move(error));
  state.tell();
  send_on(state, guard, slot);
}

// Looks, for all threads, whether the device is done with a slot that is to be filled.
void Prefetch::look(State& state, std::unique_lock<std::mutex>& guard, Slots::Slot& slot, std::chrono::microseconds& pause) {
  state.looking = true;
  guard.unlock();
  bool done = false;
  std::exception_ptr error;
  try {
    done = state.slots.is_copied(slot);
    if (!done) std::this_thread::sleep_for(pause);
    pause = done ? kSoonest : std::min(2 * pause, kLatest);
  } catch (const std::exception&) {
    error = std::current_exception();
  }
  guard.lock();
  state.looking = false;
  if (done) state.slots.copied(slot);
  if (error) state.slots.failed(slot, error);
  if (done || error) state.tell();
}

// What other threads bring meanwhile goes in one piece.
void Prefetch::send_on(State& state, std::unique_lock<std::mutex>& guard, Slots::Slot& slot) {
  while (const std::optional<Slots::Piece> piece = state.slots.next_piece(slot)) {
    guard.unlock();
    std::exception_ptr error;
    try {
      state.slots.send(*piece);
    } catch (const std::exception&) {
      error = std::current_exception();
    }
    guard.lock();
    state.slots.sent(*piece, std::move(error));
    state.tell();
  }
}

bool Prefetch::take(Range rows, const BatchMemory& batch, int milliseconds) {
  expect_usable();
  State& state = *state_;
  const auto until = Clock::now() + std::chrono::milliseconds(milliseconds);
  Resolver::Scratch scratch;
  std::unique_lock<std::mutex> guard(state.lock);
  for (bool asked = false;;) {
    expect_open();
    Slots::Slot& slot = state.slots.with(rows);
    if (slot.error && asked) std::rethrow_exception(slot.error);
    if (slot.error) {
      // What failed before anybody asked for it may be well by now.
      if (state.slots.begin_again(slot)) {
        asked = true;
        ++state.news;
        state.wake_a_thread();
      } else if (Clock::now() >= until) {
        return false;
      } else {
        state.rows.wait_until(guard, until);
      }
      continue;
    }
    asked = true;
    if (state.slots.ready(slot, rows)) {
      const State::Using use(state, guard, slot);
      state.reader->widen(slot.rows, rows.first - slot.range.first, rows.count, batch, 0, rows.count);
      return true;
    }
    if (Clock::now() >= until) return false;
    // Not what comes behind these rows: it could keep them waiting.
    if (slot.may_be_claimed() && slot.range.first + slot.claimed < rows.first + rows.count) {
      read_on(state, guard, slot, scratch);
    } else if (!state.spin(guard)) {
      state.rows.wait_until(guard, until);
    }
  }
}

void Prefetch::take(Range rows, const DeviceBatch& batch, Device::Stream stream) {
  expect_usable();
  State& state = *state_;
  std::unique_lock<std::mutex> guard(state.lock);
  expect_open();
  Slots::Slot& slot = state.slots.with(rows);
  Stage* const device = state.slots.device();
  if (!device || !state.slots.ready(slot, rows)) throw MisuseError("expected rows that were taken, of a loader on a device");
  const State::Using use(state, guard, slot);
  device->take(slot.number, rows.first - slot.range.first, rows.count, batch, stream);
}

std::int64_t Prefetch::rows_read() const {
  expect_usable();
  const std::lock_guard<std::mutex> guard(state_->lock);
  return state_->slots.rows_read();
}

}  // namespace fivepoint
