// Stands in for the CUDA driver, under its name: the calls that device/cuda.cpp makes, over the simulated device, whose memory is the host's.
//
// Work runs late: when somebody waits for it, or by chance. A call is refused, with the driver's own code, where the context is not
// current, where a copy comes from memory that is not pinned or goes to memory that is not the device's, where a launch does not fit the
// kernel that was loaded, and where a test asks for it.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <mutex>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "simulated.h"

namespace {

using fivepoint::Device;
using fivepoint::Simulated;

constexpr int kInvalidValue = 1, kInvalidImage = 200, kInvalidContext = 201, kNoBinary = 209, kInvalidHandle = 400, kNotFound = 500, kNotReady = 600,
              kUnsupported = 900;
constexpr std::uint64_t kKernels = 0x1000;
constexpr int kRelaxed = 2;

struct Extent {
  std::uint64_t begin, end;
};

struct State {
  std::mutex lock;
  Simulated device{1};
  std::vector<Extent> pinned, memory;
  std::vector<std::string> kernels;              // by number
  std::map<std::string, std::size_t> parameters;  // of each, all of 8 bytes
  std::set<std::uint64_t> events;
  std::vector<std::string> calls;
  std::map<std::string, int> counts;
  std::set<std::string> failing;
  int failing_from = 0, failing_to = 0, failure = 0;
  bool capturing = false, hanging = false;
  int refused = 0;  // calls that would have ended a capture
  int contexts = 0, copies = 0;  // retained, and streams
};

State& state() {
  static State* const only = new State;  // never gone: a loader may end with the process
  return *only;
}

thread_local int current = 0, capture_mode = 0;

// Counts a call, and returns the code that a test wants of it.
int called(const char* name, bool needs_context = true) {
  State& all = state();
  all.calls.emplace_back(name);
  const int number = ++all.counts[name];
  if (all.failing.count(name) && number >= all.failing_from && number < all.failing_to) return all.failure;
  if (needs_context && current == 0) return kInvalidContext;
  // While a stream is captured, a thread that has not said otherwise may not touch the device.
  if (needs_context && all.capturing && capture_mode != kRelaxed) {
    ++all.refused;
    return kUnsupported;
  }
  while (!all.hanging && all.device.random() % 3 == 0 && all.device.step()) {
  }
  return 0;
}

bool inside(const std::vector<Extent>& extents, std::uint64_t begin, std::uint64_t bytes) {
  return std::any_of(extents.begin(), extents.end(), [&](const Extent& each) { return each.begin <= begin && begin + bytes <= each.end; });
}

bool inside_or_none(std::uint64_t begin, std::uint64_t bytes) { return !begin || inside(state().memory, begin, bytes); }

}  // namespace

#define ENTER_WHERE(needs_context)                       \
  const std::lock_guard<std::mutex> guard(state().lock); \
  if (const int code = called(__func__, needs_context)) return code
#define ENTER() ENTER_WHERE(true)
#define ENTER_ANYWHERE() ENTER_WHERE(false)

#pragma GCC visibility push(default)
extern "C" {

int cuInit(unsigned) {
  ENTER_ANYWHERE();
  return 0;
}

int cuGetErrorName(int code, const char** name) {
  ENTER_ANYWHERE();
  *name = code == 700 ? "CUDA_ERROR_ILLEGAL_ADDRESS" : code == kInvalidContext ? "CUDA_ERROR_INVALID_CONTEXT" : "CUDA_ERROR_OF_A_TEST";
  return 0;
}

int cuGetErrorString(int code, const char** text) {
  ENTER_ANYWHERE();
  *text = code == 700 ? "an illegal memory access was encountered" : "what a test asked for";
  return 0;
}

int cuDeviceGet(int* device, int number) {
  ENTER_ANYWHERE();
  *device = number;
  return number == 0 ? 0 : 101;
}

int cuDevicePrimaryCtxRetain(void** context, int) {
  ENTER_ANYWHERE();
  ++state().contexts;
  *context = &state();
  return 0;
}

int cuDevicePrimaryCtxRelease_v2(int) {
  ENTER_ANYWHERE();
  --state().contexts;
  return 0;
}

int cuCtxPushCurrent_v2(void* context) {
  ENTER_ANYWHERE();
  if (context != &state()) return kInvalidContext;
  ++current;
  return 0;
}

int cuCtxPopCurrent_v2(void** context) {
  ENTER_ANYWHERE();
  if (!current) return kInvalidContext;
  *context = &state();
  --current;
  return 0;
}

int cuThreadExchangeStreamCaptureMode(int* mode) {
  ENTER_ANYWHERE();
  std::swap(*mode, capture_mode);
  return 0;
}

int cuModuleLoadData(void** module, const void* image) {
  ENTER();
  const char* const text = static_cast<const char*>(image);
  if (text[0] != '.') return kNoBinary;  // machine code, of which there is none for this device
  const std::string ptx(text);
  if (ptx.find(".version") == std::string::npos) return kInvalidImage;
  const std::regex entry(R"(\.entry (\w+)\(([^)]*)\))"), parameter(R"(\.param \.u64 \w+)");
  for (auto each = std::sregex_iterator(ptx.begin(), ptx.end(), entry); each != std::sregex_iterator(); ++each) {
    const std::string given = (*each)[2];
    const auto wide = static_cast<std::size_t>(std::distance(std::sregex_iterator(given.begin(), given.end(), parameter), std::sregex_iterator()));
    if (wide != static_cast<std::size_t>(std::count(given.begin(), given.end(), ',')) + 1) return kInvalidImage;
    state().kernels.push_back((*each)[1]);
    state().parameters[(*each)[1]] = wide;
  }
  *module = &state();
  return 0;
}

int cuModuleUnload(void* module) {
  ENTER();
  return module == &state() ? 0 : kInvalidHandle;
}

int cuModuleGetFunction(void** function, void* module, const char* name) {
  ENTER();
  const auto& kernels = state().kernels;
  const auto found = std::find(kernels.begin(), kernels.end(), name);
  if (module != &state() || found == kernels.end()) return kNotFound;
  *function = reinterpret_cast<void*>(kKernels + static_cast<std::uint64_t>(found - kernels.begin()));
  return 0;
}

int cuStreamCreate(void** stream, unsigned flags) {
  ENTER();
  if (flags != 1) return kInvalidValue;  // one that waits for the legacy stream would wait for the trainer
  ++state().copies;
  *stream = reinterpret_cast<void*>(Simulated::kCopies);
  return 0;
}

int cuStreamDestroy_v2(void*) {
  ENTER();
  --state().copies;
  return 0;
}

int cuStreamIsCapturing(void*, int* status) {
  ENTER();
  *status = state().capturing ? 1 : 0;
  return 0;
}

int cuEventCreate(void** event, unsigned) {
  ENTER();
  const Device::Event made = state().device.make_event();
  state().events.insert(made);
  *event = reinterpret_cast<void*>(made);
  return 0;
}

int cuEventDestroy_v2(void* event) {
  ENTER();
  return state().events.erase(reinterpret_cast<std::uint64_t>(event)) ? 0 : kInvalidHandle;
}

int cuEventRecord(void* event, void* stream) {
  ENTER();
  if (!state().events.count(reinterpret_cast<std::uint64_t>(event))) return kInvalidHandle;
  state().device.record(reinterpret_cast<Device::Event>(event), reinterpret_cast<Device::Stream>(stream));
  return 0;
}

int cuStreamWaitEvent(void* stream, void* event, unsigned flags) {
  ENTER();
  if (!state().events.count(reinterpret_cast<std::uint64_t>(event)) || flags) return kInvalidHandle;
  state().device.wait(reinterpret_cast<Device::Stream>(stream), reinterpret_cast<Device::Event>(event));
  return 0;
}

int cuEventQuery(void* event) {
  ENTER();
  if (!state().events.count(reinterpret_cast<std::uint64_t>(event))) return kInvalidHandle;
  return state().device.is_done(reinterpret_cast<Device::Event>(event)) ? 0 : kNotReady;
}

int cuMemcpyHtoDAsync_v2(std::uint64_t to, const void* from, std::size_t bytes, void* stream) {
  ENTER();
  if (!inside(state().pinned, reinterpret_cast<std::uint64_t>(from), bytes) || !inside(state().memory, to, bytes)) return kInvalidValue;
  if (reinterpret_cast<Device::Stream>(stream) != Simulated::kCopies || !state().copies) return kInvalidHandle;
  state().device.copy(to, from, bytes);
  return 0;
}

int cuLaunchKernel(void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y, unsigned block_z,
                   unsigned shared, void* stream, void** arguments, void** extra) {
  ENTER();
  const std::uint64_t number = reinterpret_cast<std::uint64_t>(function) - kKernels;
  if (number >= state().kernels.size()) return kInvalidHandle;
  const std::string& name = state().kernels[number];
  std::vector<std::uint64_t> given(state().parameters[name]);
  for (std::size_t i = 0; i < given.size(); ++i) std::memcpy(&given[i], arguments[i], 8);
  if (!grid_x || !grid_y || grid_y > 65'535 || grid_z != 1 || !block_x || block_x > 1024 || block_y != 1 || block_z != 1 || shared || extra) {
    return kInvalidValue;
  }
  const auto to = reinterpret_cast<Device::Stream>(stream);
  const auto count = [&](std::size_t i) { return static_cast<std::int64_t>(given.at(i)); };
  if (name == "fivepoint_widen" && given.size() == 6) {
    const std::uint64_t bytes = given[2] * given[3] * 8;
    if (count(1) < 1 || count(2) < 1 || count(3) < 1 || given[0] % 16 || given[1] % 16 || !inside(state().memory, given[0], given[1] * given[2]) ||
        !inside(state().memory, given[4], bytes) || !inside(state().memory, given[5], bytes)) {
      return kInvalidValue;
    }
    state().device.widen({given[0], count(1), count(2), count(3), given[4], given[5]}, to);
    return 0;
  }
  if (name == "fivepoint_bound" && given.size() == 8) {
    const std::uint64_t tokens = given[3] * given[4];
    if (count(2) < 1 || count(3) < 1 || count(4) < 1 || !inside(state().memory, given[0], (given[2] + 1) * 4) ||
        !inside(state().memory, given[1], given[2] * 8) || !inside_or_none(given[5], tokens * 8) || !inside_or_none(given[6], tokens * 8) ||
        !inside_or_none(given[7], tokens)) {
      return kInvalidValue;
    }
    state().device.bound({given[0], given[1], count(2), count(3), count(4), given[5], given[6], given[7]}, to);
    return 0;
  }
  return kInvalidHandle;
}

// What tests ask of it.

void fake_cuda_pinned(std::uint64_t begin, std::uint64_t bytes) {
  const std::lock_guard<std::mutex> guard(state().lock);
  state().pinned.push_back({begin, begin + bytes});
}

void fake_cuda_memory(std::uint64_t begin, std::uint64_t bytes) {
  const std::lock_guard<std::mutex> guard(state().lock);
  state().memory.push_back({begin, begin + bytes});
}

std::uint64_t fake_cuda_stream(std::uint64_t number) { return Simulated::kCopies + 1 + number; }

// What the trainer does when it looks at a tensor.
void fake_cuda_synchronize() {
  const std::lock_guard<std::mutex> guard(state().lock);
  while (state().device.step()) {
  }
}

// From now on so many calls of one name fail, after others that do not; and those of a second name at once, if one is given.
void fake_cuda_fail(const char* call, int others, int fail, int code, const char* second) {
  const std::lock_guard<std::mutex> guard(state().lock);
  state().failing = {call};
  if (second) {
    state().failing.insert(second);
    state().counts[second] = state().counts[call] + others;
  }
  state().failing_from = state().counts[call] + others + 1;
  state().failing_to = state().failing_from + fail;
  state().failure = code;
}

void fake_cuda_capture(int on) {
  const std::lock_guard<std::mutex> guard(state().lock);
  state().capturing = on != 0;
}

// From now on nothing that is enqueued runs.
void fake_cuda_hang(int on) {
  const std::lock_guard<std::mutex> guard(state().lock);
  state().hanging = on != 0;
}

int fake_cuda_refused() { return state().refused; }

// A line for each call, and for what nothing ordered.
const char* fake_cuda_calls() {
  static std::string lines;
  const std::lock_guard<std::mutex> guard(state().lock);
  lines.clear();
  for (const std::string& each : state().calls) lines += each + "\n";
  for (const std::string& each : state().device.races) lines += "race: " + each + "\n";
  state().calls.clear();
  return lines.c_str();
}

// Events, streams and contexts that are held, and the calling thread's.
int fake_cuda_held() {
  const std::lock_guard<std::mutex> guard(state().lock);
  return static_cast<int>(state().events.size()) + state().copies + state().contexts + current;
}

int fake_cuda_capture_mode() { return capture_mode; }
}
