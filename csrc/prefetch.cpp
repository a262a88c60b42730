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
constexpr double kChunkSeconds = 100e-6, kLately = 8;

// To sleep and be woken takes longer than to read a row that the system has in memory: so long one looks out before sleeping.
constexpr std::chrono::microseconds kLookOut{50};

}  // namespace

struct Prefetch::State {
  State(std::shared_ptr<const Reader> reading, const std::vector<SlotMemory>& memory, std::shared_ptr<Stage> device)
      : reader(std::move(reading)), slots(memory, reader->row_bytes(), reader->with_documents(), std::move(device)) {}

  std::shared_ptr<const Reader> reader;
  pid_t process = getpid();

  std::mutex lock;  // guards all below; reads and widening run outside it
  std::condition_variable work, rows;
  Slots slots;
  bool closed = false;
  bool looking_out = false;  // a thread is about to see what is new, and need not be woken
  double row_seconds = 1e-3;  // what reading a row takes, lately
  std::atomic<std::uint64_t> news{0};  // counts what came to be wanted or there; written under the lock, looked at without

  std::mutex consumer;  // one call of want, take or close at a time
  std::vector<std::thread> threads;

  void wake_a_thread() {
    if (!looking_out) work.notify_one();
  }

  // Looks out, without the lock, until there are news or time is up; says whether there are.
  bool look_out(std::unique_lock<std::mutex>& guard) {
    const std::uint64_t seen = news.load();
    guard.unlock();
    const auto until = Clock::now() + kLookOut;
    while (news.load(std::memory_order_relaxed) == seen && Clock::now() < until) std::this_thread::yield();
    guard.lock();
    return news.load() != seen;
  }
};

Prefetch::Prefetch(std::shared_ptr<const Reader> reader, const std::vector<SlotMemory>& slots, int threads,
                   std::shared_ptr<Device> device) {
  std::shared_ptr<Stage> stage;
  if (device) {
    std::vector<Device::Address> there;
    for (const SlotMemory& slot : slots) there.push_back(slot.device);
    stage = std::make_shared<Stage>(std::move(device), there, reader->row_bytes(), reader->seq_len());
  }
  state_ = std::make_unique<State>(std::move(reader), slots, std::move(stage));
  try {
    for (int i = 0; i < threads; ++i) state_->threads.emplace_back([state = state_.get()] { work(*state); });
  } catch (...) {
    close();
    throw;
  }
}

Prefetch::~Prefetch() {
  if (state_->process != getpid()) {
    // A fork has no threads, and locks as they stood: nothing here may be touched, or ended, again.
    (void)state_.release();
    return;
  }
  close();
}

void Prefetch::close() {
  if (state_->process != getpid()) return;
  const std::lock_guard<std::mutex> alone(state_->consumer);
  {
    const std::lock_guard<std::mutex> guard(state_->lock);
    state_->closed = true;
    state_->slots.want_nothing();
    ++state_->news;
  }
  state_->work.notify_all();
  state_->rows.notify_all();
  for (std::thread& thread : state_->threads) thread.join();
  state_->threads.clear();
  // Another thread of the consumer may read what it waits for.
  std::unique_lock<std::mutex> guard(state_->lock);
  state_->rows.wait(guard, [&] { return !state_->slots.busy(); });
  if (Stage* const device = state_->slots.device()) device->drain();
}

void Prefetch::expect_usable() const {
  if (state_->process != getpid()) {
    throw MisuseError("expected a loader that was opened in this process, found one from before a fork; open it anew here");
  }
}

void Prefetch::want(const std::vector<Range>& ranges) {
  expect_usable();
  State& state = *state_;
  const std::lock_guard<std::mutex> alone(state.consumer);
  std::unique_lock<std::mutex> guard(state.lock);
  if (state.closed) throw MisuseError("expected an open loader, found one that was closed");
  while (!state.slots.want(ranges)) state.rows.wait(guard);
  ++state.news;
  // One is woken, and wakes the next where there is more to do than it takes.
  if (state.slots.open()) state.wake_a_thread();
}

void Prefetch::work(State& state) {
  Resolver::Scratch scratch;
  std::unique_lock<std::mutex> guard(state.lock);
  while (!state.closed) {
    if (Slots::Slot* slot = state.slots.open()) {
      read_on(state, guard, *slot, scratch);
      continue;
    }
    if (!state.looking_out) {
      state.looking_out = true;
      const bool news = state.look_out(guard);
      state.looking_out = false;
      if (news) continue;
    }
    state.work.wait(guard, [&] { return state.closed || state.slots.open(); });
  }
}

void Prefetch::read_on(State& state, std::unique_lock<std::mutex>& guard, Slots::Slot& slot, Resolver::Scratch& scratch) {
  // A disk wants many requests at once; what the system has in memory is sooner read by one thread than by several that are woken.
  const auto most = std::max<std::int64_t>(1, static_cast<std::int64_t>(kChunkSeconds / state.row_seconds));
  const Slots::Claim claim = state.slots.claim(slot, most);
  if (state.slots.open()) state.wake_a_thread();
  guard.unlock();
  auto begun = Clock::now();
  std::exception_ptr error;
  try {
    state.slots.before_fill(claim);
    begun = Clock::now();
    state.reader->read(slot.range.first + claim.begin, claim.end - claim.begin, slot.rows, claim.begin, scratch);
  } catch (const std::exception&) {
    error = std::current_exception();
  }
  const std::chrono::duration<double> took = Clock::now() - begun;
  guard.lock();
  state.row_seconds += (took.count() / static_cast<double>(claim.end - claim.begin) - state.row_seconds) / kLately;
  state.slots.done(claim, std::move(error));
  ++state.news;
  state.rows.notify_all();
}

bool Prefetch::wait(Range rows, int milliseconds) {
  expect_usable();
  State& state = *state_;
  const auto until = Clock::now() + std::chrono::milliseconds(milliseconds);
  Resolver::Scratch scratch;
  std::unique_lock<std::mutex> guard(state.lock);
  for (bool first = true;; first = false) {
    if (state.closed) throw MisuseError("expected an open loader, found one that was closed");
    Slots::Slot& slot = state.slots.with(rows);
    // What failed before anybody asked for it may be well by now.
    if (first && slot.error) {
      while (!state.slots.begin_again(slot)) state.rows.wait(guard);
      continue;
    }
    if (slot.error || state.slots.ready(slot, rows)) return true;
    if (Clock::now() >= until) return false;
    if (slot.unclaimed()) {
      read_on(state, guard, slot, scratch);
    } else if (!state.look_out(guard)) {
      state.rows.wait_until(guard, until);
    }
  }
}

const Slots::Slot& Prefetch::taken(Range rows) const {
  const std::lock_guard<std::mutex> guard(state_->lock);
  if (state_->closed) throw MisuseError("expected an open loader, found one that was closed");
  const Slots::Slot& slot = state_->slots.with(rows);
  if (slot.error) std::rethrow_exception(slot.error);
  if (!state_->slots.ready(slot, rows)) throw MisuseError("expected rows that were waited for");
  return slot;
}

void Prefetch::take(Range rows, const BatchMemory& batch) {
  expect_usable();
  const std::lock_guard<std::mutex> alone(state_->consumer);
  const Slots::Slot& slot = taken(rows);
  state_->reader->widen(slot.rows, rows.first - slot.range.first, rows.count, batch, 0, rows.count);
}

void Prefetch::take(Range rows, const DeviceBatch& batch, Device::Stream stream) {
  expect_usable();
  const std::lock_guard<std::mutex> alone(state_->consumer);
  const Slots::Slot& slot = taken(rows);
  if (!state_->slots.device()) throw MisuseError("expected a loader on a device, found one on the host");
  state_->slots.device()->take(slot.number, rows.first - slot.range.first, rows.count, batch, stream);
}

std::int64_t Prefetch::rows_read() const {
  expect_usable();
  const std::lock_guard<std::mutex> guard(state_->lock);
  return state_->slots.rows_read();
}

}  // namespace fivepoint
