#include "prefetch.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <limits>
#include <stdexcept>

namespace fivepoint {

namespace {

using Clock = std::chrono::steady_clock;

// How much reading a thread takes on at a time, and how many times of it count as lately.
constexpr double kChunkSeconds = 100e-6, kLately = 8;

// To sleep and be woken takes longer than to read a row that the system has in memory: so long one looks out before sleeping.
constexpr std::chrono::microseconds kLookOut{50};

}  // namespace

struct Prefetch::State {
  std::shared_ptr<const Reader> reader;
  pid_t process = getpid();

  std::mutex lock;  // guards all below; reads and widening run outside it
  std::condition_variable work, rows;
  std::vector<Slot> slots;
  std::vector<Slot*> wanted;  // soonest first
  bool closed = false;
  bool looking_out = false;  // a thread is about to see what is new, and need not be woken
  std::int64_t rows_read = 0;
  double row_seconds = 1e-3;  // what reading a row takes, lately
  std::atomic<std::uint64_t> news{0};  // counts what came to be wanted or there; written under the lock, looked at without

  std::mutex consumer;  // one call of want, take or close at a time
  std::vector<std::thread> threads;

  // The soonest slot with rows that nobody has begun to read.
  Slot* open() const {
    const auto found = std::find_if(wanted.begin(), wanted.end(), [](const Slot* slot) { return slot->unclaimed() && !slot->error; });
    return found == wanted.end() ? nullptr : *found;
  }

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

Prefetch::Prefetch(std::shared_ptr<const Reader> reader, const std::vector<SlotMemory>& slots, int threads)
    : state_(std::make_unique<State>()) {
  state_->reader = std::move(reader);
  state_->slots.resize(slots.size());
  for (std::size_t i = 0; i < slots.size(); ++i) {
    state_->slots[i].rows.data = static_cast<char*>(slots[i].data);
    state_->slots[i].bytes = slots[i].bytes;
  }
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
    state_->wanted.clear();
    ++state_->news;
  }
  state_->work.notify_all();
  state_->rows.notify_all();
  for (std::thread& thread : state_->threads) thread.join();
  state_->threads.clear();
  // Another thread of the consumer may read what it waits for.
  std::unique_lock<std::mutex> guard(state_->lock);
  for (const Slot& slot : state_->slots) state_->rows.wait(guard, [&] { return slot.in_flight == 0; });
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
  std::vector<Slot*> wanted;
  std::vector<Range> missing;
  for (const Range range : ranges) {
    if (range.first < 0 || range.count < 0 || range.first > std::numeric_limits<std::int64_t>::max() - range.count) {
      throw MisuseError("expected positions from 0 on, found " + std::to_string(range.count) + " from " + std::to_string(range.first));
    }
    const auto held = std::find_if(state.wanted.begin(), state.wanted.end(), [&](const Slot* slot) {
      return slot->range.first == range.first && slot->range.count == range.count && !slot->error;
    });
    if (held != state.wanted.end()) {
      wanted.push_back(*held);
    } else {
      wanted.push_back(nullptr);
      missing.push_back(range);
    }
  }
  auto next = missing.begin();
  for (Slot*& place : wanted) {
    if (place) continue;
    const auto unused = std::find_if(state.slots.begin(), state.slots.end(), [&](const Slot& slot) {
      return std::find(wanted.begin(), wanted.end(), &slot) == wanted.end();
    });
    const auto room = [&](const Slot& slot) { return static_cast<std::int64_t>(slot.bytes) / state.reader->row_bytes(); };
    if (unused == state.slots.end() || next->count > room(*unused)) {
      throw MisuseError("expected a slot with room for " + std::to_string(next->count) + " rows, found none");
    }
    Slot& slot = *unused;
    // Nobody claims more of it; what was claimed is soon there.
    state.wanted.erase(std::remove(state.wanted.begin(), state.wanted.end(), &slot), state.wanted.end());
    begin(state, guard, slot, *next++);
    place = &slot;
  }
  state.wanted = std::move(wanted);
  ++state.news;
  // One is woken, and wakes the next where there is more to do than it takes.
  if (state.open()) state.wake_a_thread();
}

void Prefetch::begin(State& state, std::unique_lock<std::mutex>& guard, Slot& slot, Range range) {
  state.rows.wait(guard, [&] { return slot.in_flight == 0; });
  const auto rows = static_cast<std::size_t>(range.count);
  slot.range = range;
  slot.claimed = 0;
  slot.there.assign(rows, 0);
  slot.rows.resize(rows, state.reader->with_documents());
  slot.error.reset();
}

void Prefetch::work(State& state) {
  Resolver::Scratch scratch;
  std::unique_lock<std::mutex> guard(state.lock);
  while (!state.closed) {
    if (Slot* slot = state.open()) {
      read_on(state, guard, *slot, scratch);
      continue;
    }
    if (!state.looking_out) {
      state.looking_out = true;
      const bool news = state.look_out(guard);
      state.looking_out = false;
      if (news) continue;
    }
    state.work.wait(guard, [&] { return state.closed || state.open(); });
  }
}

void Prefetch::read_on(State& state, std::unique_lock<std::mutex>& guard, Slot& slot, Resolver::Scratch& scratch) {
  // A disk wants many requests at once; what the system has in memory is sooner read by one thread than by several that are woken.
  const auto chunk = std::max<std::int64_t>(1, static_cast<std::int64_t>(kChunkSeconds / state.row_seconds));
  const std::int64_t begin = slot.claimed, end = std::min(slot.range.count, begin + chunk);
  slot.claimed = end;
  ++slot.in_flight;
  if (state.open()) state.wake_a_thread();
  guard.unlock();
  const auto begun = Clock::now();
  std::optional<std::string> error;
  try {
    state.reader->read(slot.range.first + begin, end - begin, slot.rows, begin, scratch);
  } catch (const std::exception& reason) {
    error = reason.what();
  }
  const std::chrono::duration<double> took = Clock::now() - begun;
  guard.lock();
  --slot.in_flight;
  state.row_seconds += (took.count() / static_cast<double>(end - begin) - state.row_seconds) / kLately;
  if (error) {
    if (!slot.error) slot.error = std::move(error);
  } else {
    std::fill(slot.there.begin() + begin, slot.there.begin() + end, 1);
    state.rows_read += end - begin;
  }
  ++state.news;
  state.rows.notify_all();
}

Prefetch::Slot* Prefetch::slot_with(Range rows) const {
  for (Slot* slot : state_->wanted) {
    if (rows.first < slot->range.first || rows.count < 0) continue;
    if (rows.count <= slot->range.count - (rows.first - slot->range.first)) return slot;
  }
  throw MisuseError("expected rows of a wanted range, found positions from " + std::to_string(rows.first) + " on");
}

bool Prefetch::Slot::holds(Range some) const {
  const auto begin = there.begin() + (some.first - range.first);
  return std::find(begin, begin + some.count, 0) == begin + some.count;
}

bool Prefetch::wait(Range rows, int milliseconds) {
  expect_usable();
  State& state = *state_;
  const auto until = Clock::now() + std::chrono::milliseconds(milliseconds);
  Resolver::Scratch scratch;
  std::unique_lock<std::mutex> guard(state.lock);
  for (bool first = true;; first = false) {
    if (state.closed) throw MisuseError("expected an open loader, found one that was closed");
    Slot& slot = *slot_with(rows);
    // What failed before anybody asked for it may be well by now.
    if (first && slot.error) {
      begin(state, guard, slot, slot.range);
      continue;
    }
    if (slot.error || slot.holds(rows)) return true;
    if (Clock::now() >= until) return false;
    if (slot.unclaimed()) {
      read_on(state, guard, slot, scratch);
    } else if (!state.look_out(guard)) {
      state.rows.wait_until(guard, until);
    }
  }
}

void Prefetch::take(Range rows, const BatchMemory& batch) {
  expect_usable();
  const std::lock_guard<std::mutex> alone(state_->consumer);
  std::unique_lock<std::mutex> guard(state_->lock);
  if (state_->closed) throw MisuseError("expected an open loader, found one that was closed");
  Slot* slot = slot_with(rows);
  if (slot->error) throw ReadError(*slot->error);
  if (!slot->holds(rows)) throw MisuseError("expected rows that were waited for");
  guard.unlock();
  state_->reader->widen(slot->rows, rows.first - slot->range.first, rows.count, batch, 0, rows.count);
}

std::int64_t Prefetch::rows_read() const {
  expect_usable();
  const std::lock_guard<std::mutex> guard(state_->lock);
  return state_->rows_read;
}

}  // namespace fivepoint
