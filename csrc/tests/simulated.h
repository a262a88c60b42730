// A device in virtual time, which finds what nothing orders: every host thread and every stream has a vector clock, and two uses of the same
// memory of which one writes must be ordered by them, whatever the time at which they happened to run.
//
// What is enqueued runs when the test's schedule says so, and reads memory then, not when it was enqueued.
#pragma once

#include <algorithm>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "../device/bodies.h"
#include "../device/device.h"

namespace fivepoint {

class Clock {
 public:
  void tick(std::size_t who) { at(who)++; }
  void join(const Clock& other) {
    for (std::size_t i = 0; i < other.times_.size(); ++i) at(i) = std::max(at(i), other.times_[i]);
  }
  std::uint64_t of(std::size_t who) const { return who < times_.size() ? times_[who] : 0; }

 private:
  std::uint64_t& at(std::size_t who) {
    if (times_.size() <= who) times_.resize(who + 1);
    return times_[who];
  }
  std::vector<std::uint64_t> times_;
};

class Simulated : public Device {
 public:
  static constexpr std::size_t kThreads = 8;  // host threads 0 to 7, then the streams
  static constexpr Stream kCopies = kThreads;

  explicit Simulated(std::uint64_t seed) : random(seed) { clocks_.resize(kThreads + 4); }

  // The host thread that calls from now on, and the lock that it takes or gives.
  void run_as(std::size_t thread) { thread_ = thread; }
  void lock() { clocks_[thread_].join(lock_); }
  void unlock() {
    clocks_[thread_].tick(thread_);
    lock_.join(clocks_[thread_]);
  }

  // The calling thread uses memory of the host.
  void use_on_host(const void* memory, std::size_t bytes, bool writes, const char* what) {
    clocks_[thread_].tick(thread_);
    use(thread_, memory, bytes, writes, what);
  }

  // Work of the consumer on a stream.
  void enqueue(Stream stream, const void* memory, std::size_t bytes, bool writes, const char* what, std::function<void()> run) {
    order(stream);
    use(stream, memory, bytes, writes, what);
    queues_[stream].push_back({std::move(run), 0, 0, 0});
  }

  // Runs the head of one stream; false where all wait or are empty.
  bool step() {
    std::vector<Stream> able;
    for (const auto& [stream, queue] : queues_) {
      if (!queue.empty() && (!queue.front().waits_for || done_[queue.front().waits_for] >= queue.front().number)) able.push_back(stream);
    }
    if (able.empty()) return false;
    std::deque<Work>& queue = queues_[able[random() % able.size()]];
    const Work work = std::move(queue.front());
    queue.pop_front();
    if (work.run) work.run();
    if (work.records) done_[work.records] = std::max(done_[work.records], work.number);
    return true;
  }

  Event make_event() override {
    recorded_.emplace_back();
    return recorded_.size();
  }
  void drop_event(Event) noexcept override {}
  Stream copies() const override { return kCopies; }
  bool is_captured(Stream) override { return false; }

  void copy(Address to, const void* from, std::size_t bytes) override {
    order(kCopies);
    use(kCopies, from, bytes, false, "the copy");
    use(kCopies, at<void>(to), bytes, true, "the copy");
    queues_[kCopies].push_back({[=] { std::memcpy(at<void>(to), from, bytes); }, 0, 0, 0});
  }

  void record(Event event, Stream stream) override {
    order(stream);
    recorded_[event - 1].clock = clocks_[stream];
    queues_[stream].push_back({nullptr, 0, event, ++recorded_[event - 1].number});
  }

  void wait(Stream stream, Event event) override {
    order(stream);
    clocks_[stream].join(recorded_[event - 1].clock);
    queues_[stream].push_back({nullptr, event, 0, recorded_[event - 1].number});
  }

  bool is_done(Event event) override {
    if (done_[event] < recorded_[event - 1].number) return false;
    clocks_[thread_].join(recorded_[event - 1].clock);
    return true;
  }

  void widen(const Widen& of, Stream stream) override {
    order(stream);
    const auto tokens = static_cast<std::size_t>(of.rows * of.seq_len);
    use(stream, at<void>(of.staged), static_cast<std::size_t>(of.rows * of.row_bytes), false, "the kernel");
    use(stream, at<void>(of.inputs), tokens * 8, true, "the kernel");
    use(stream, at<void>(of.targets), tokens * 8, true, "the kernel");
    queues_[stream].push_back({[=] {
                                 for (std::int64_t row = 0; row < of.rows; ++row) {
                                   const std::int64_t first = row * of.seq_len;
                                   for (std::int64_t t = 0; t < of.seq_len; t += 2) {
                                     device::widen_two(at<unsigned char>(of.staged) + row * of.row_bytes, of.row_bytes, of.seq_len, t,
                                                       at<std::int64_t>(of.inputs) + first, at<std::int64_t>(of.targets) + first);
                                   }
                                 }
                               },
                               0, 0, 0});
  }

  void bound(const Bound& of, Stream stream) override {
    order(stream);
    const auto tokens = static_cast<std::size_t>(of.rows * of.seq_len), runs = static_cast<std::size_t>(of.runs);
    use(stream, at<void>(of.cu_seqlens), (runs + 1) * 4, false, "the kernel");
    use(stream, at<void>(of.documents), runs * 8, false, "the kernel");
    if (of.document_ids) use(stream, at<void>(of.document_ids), tokens * 8, true, "the kernel");
    if (of.position_ids) use(stream, at<void>(of.position_ids), tokens * 8, true, "the kernel");
    if (of.loss_mask) use(stream, at<void>(of.loss_mask), tokens, true, "the kernel");
    queues_[stream].push_back({[=] {
                                 const device::Runs given{at<std::int32_t>(of.cu_seqlens), at<std::int64_t>(of.documents), of.runs};
                                 const device::BoundaryMemory to{at<std::int64_t>(of.document_ids), at<std::int64_t>(of.position_ids),
                                                                 at<bool>(of.loss_mask)};
                                 for (std::int64_t row = 0; row < of.rows; ++row) {
                                   for (std::int64_t t = 0; t < of.seq_len; t += 2) device::bound_two(given, row * of.seq_len, of.seq_len, t, to);
                                 }
                               },
                               0, 0, 0});
  }

  std::mt19937_64 random;
  std::vector<std::string> races;

 private:
  struct Work {
    std::function<void()> run;
    Event waits_for, records;
    std::uint64_t number;
  };
  struct Recorded {
    Clock clock;
    std::uint64_t number = 0;
  };
  struct Use {
    const char *begin, *end;
    bool writes;
    std::size_t who;
    std::uint64_t when;
    const char* what;
  };

  template <typename T>
  static T* at(Address address) {
    return reinterpret_cast<T*>(static_cast<std::uintptr_t>(address));
  }

  int enter() override { return 0; }
  void leave(int) noexcept override {}

  // What is enqueued comes after all that the calling thread did, and after what the stream was given before.
  void order(Stream stream) {
    clocks_[stream].join(clocks_[thread_]);
    clocks_[stream].tick(stream);
    clocks_[thread_].tick(thread_);
  }

  void use(std::size_t who, const void* memory, std::size_t bytes, bool writes, const char* what) {
    const char* const begin = static_cast<const char*>(memory);
    const char* const end = begin + bytes;
    const Clock& now = clocks_[who];
    std::vector<Use> kept;
    for (const Use& other : uses_) {
      const bool same = other.begin < end && begin < other.end;
      const bool before = other.when <= now.of(other.who);
      if (same && !before && (writes || other.writes)) {
        races.push_back(std::string(what) + (writes ? " writes" : " reads") + " what " + other.what + (other.writes ? " writes" : " reads"));
      }
      // Whoever comes after this write comes after what was before it.
      if (!(same && before && writes && begin <= other.begin && other.end <= end)) kept.push_back(other);
    }
    kept.push_back({begin, end, writes, who, now.of(who), what});
    uses_ = std::move(kept);
  }

  std::size_t thread_ = 0;
  std::vector<Clock> clocks_;
  Clock lock_;
  std::map<Stream, std::deque<Work>> queues_;
  std::vector<Recorded> recorded_;
  std::map<Event, std::uint64_t> done_;
  std::vector<Use> uses_;
};

}  // namespace fivepoint
