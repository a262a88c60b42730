#include "cuda.h"

#include <dlfcn.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <mutex>
#include <vector>

// The kernels: PTX, which the driver compiles for its GPU, and machine code for the commonest, where nvcc was there when this was built.
#define FIVEPOINT_EMBED(name, path)                                                                                 \
  asm(".pushsection .rodata, \"a\"\n.balign 64\n.hidden " #name "\n.globl " #name "\n" #name ":\n.incbin \"" path "\"\n" \
      ".byte 0\n.popsection\n");                                                                                    \
  extern "C" const char name[]

FIVEPOINT_EMBED(fivepoint_kernels_ptx, FIVEPOINT_PTX);
#if defined(FIVEPOINT_FATBIN)
FIVEPOINT_EMBED(fivepoint_kernels_fatbin, FIVEPOINT_FATBIN);
#endif

namespace fivepoint {

namespace {

// What cuda.h declares, as far as it is called here. These forms are part of the driver's binary interface and do not change: a changed
// function gets a name of its own (_v2).
using CuResult = int;
using CuDevice = int;
using CuContext = struct CuContextOf*;
using CuModule = struct CuModuleOf*;
using CuFunction = struct CuFunctionOf*;
using CuStream = struct CuStreamOf*;
using CuEvent = struct CuEventOf*;

constexpr CuResult kSuccess = 0, kNotReady = 600;
// No image for this GPU, or none that the driver can compile: CUDA_ERROR_INVALID_IMAGE, NO_BINARY_FOR_GPU, INVALID_PTX,
// JIT_COMPILER_NOT_FOUND, UNSUPPORTED_PTX_VERSION and JIT_COMPILATION_DISABLED.
constexpr std::array<CuResult, 6> kNoKernel{200, 209, 218, 221, 222, 223};
constexpr unsigned kNonBlocking = 1;    // CU_STREAM_NON_BLOCKING: does not wait for the legacy default stream
constexpr unsigned kDisableTiming = 2;  // CU_EVENT_DISABLE_TIMING
constexpr int kRelaxed = 2;             // CU_STREAM_CAPTURE_MODE_RELAXED

// Threads of a block, rows of a grid, and pairs of tokens that a thread takes at most before the grid grows.
constexpr unsigned kBlock = 256, kMostRows = 65'535, kPairs = 4;

#define FIVEPOINT_CUDA_CALLS(X)                                                                                                  \
  X(cuInit, CuResult(unsigned))                                                                                                  \
  X(cuGetErrorName, CuResult(CuResult, const char**))                                                                            \
  X(cuGetErrorString, CuResult(CuResult, const char**))                                                                          \
  X(cuDeviceGet, CuResult(CuDevice*, int))                                                                                       \
  X(cuDevicePrimaryCtxRetain, CuResult(CuContext*, CuDevice))                                                                    \
  X(cuDevicePrimaryCtxRelease_v2, CuResult(CuDevice))                                                                            \
  X(cuCtxPushCurrent_v2, CuResult(CuContext))                                                                                    \
  X(cuCtxPopCurrent_v2, CuResult(CuContext*))                                                                                    \
  X(cuThreadExchangeStreamCaptureMode, CuResult(int*))                                                                           \
  X(cuModuleLoadData, CuResult(CuModule*, const void*))                                                                          \
  X(cuModuleUnload, CuResult(CuModule))                                                                                          \
  X(cuModuleGetFunction, CuResult(CuFunction*, CuModule, const char*))                                                           \
  X(cuStreamCreate, CuResult(CuStream*, unsigned))                                                                               \
  X(cuStreamDestroy_v2, CuResult(CuStream))                                                                                      \
  X(cuStreamWaitEvent, CuResult(CuStream, CuEvent, unsigned))                                                                    \
  X(cuStreamIsCapturing, CuResult(CuStream, int*))                                                                               \
  X(cuEventCreate, CuResult(CuEvent*, unsigned))                                                                                 \
  X(cuEventDestroy_v2, CuResult(CuEvent))                                                                                        \
  X(cuEventRecord, CuResult(CuEvent, CuStream))                                                                                  \
  X(cuEventQuery, CuResult(CuEvent))                                                                                             \
  X(cuMemcpyHtoDAsync_v2, CuResult(std::uint64_t, const void*, std::size_t, CuStream))                                           \
  X(cuLaunchKernel, CuResult(CuFunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CuStream, void**, void**))

struct Driver {
#define FIVEPOINT_MEMBER(name, ...) std::add_pointer_t<__VA_ARGS__> name = nullptr;
  FIVEPOINT_CUDA_CALLS(FIVEPOINT_MEMBER)
#undef FIVEPOINT_MEMBER

  Driver() {
    // Never closed: threads of the driver may outlive whoever uses it.
    void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library) throw DeviceError(std::string("expected a CUDA driver, found none: ") + dlerror());
#define FIVEPOINT_LOAD(name, ...)                                                  \
  name = reinterpret_cast<std::add_pointer_t<__VA_ARGS__>>(dlsym(library, #name)); \
  if (!name) throw DeviceError("expected a CUDA driver with " #name ", found an older one; CUDA 11 or later has it");
    FIVEPOINT_CUDA_CALLS(FIVEPOINT_LOAD)
#undef FIVEPOINT_LOAD
    expect_opened(cuInit(0), "cuInit");
  }

  std::string said(CuResult code, const char* call) const {
    const char *name = nullptr, *text = nullptr;
    cuGetErrorName(code, &name);
    cuGetErrorString(code, &text);
    return std::string(call) + " gave " + std::to_string(code) + " (" + (name ? name : "no known code") + "): " + (text ? text : "");
  }

  void expect_opened(CuResult code, const char* call) const {
    if (code == kSuccess) return;
    throw DeviceError("expected a CUDA device that the driver can open, found that " + said(code, call) +
                      "; look at nvidia-smi, or take device='cpu'");
  }

  void check(CuResult code, const char* call) const {
    if (code != kSuccess) throw DeviceError("expected the GPU to go on, found that " + said(code, call));
  }
};

// Found once, and why not each time that it is asked for.
const Driver& driver() {
  static const Driver found;
  return found;
}

#define FIVEPOINT_CHECKED(call, ...) driver_.check(driver_.call(__VA_ARGS__), #call)

class Cuda final : public Device {
 public:
  explicit Cuda(int number) : driver_(driver()) {
    driver_.expect_opened(driver_.cuDeviceGet(&device_, number), "cuDeviceGet");
    driver_.expect_opened(driver_.cuDevicePrimaryCtxRetain(&context_, device_), "cuDevicePrimaryCtxRetain");
    try {
      const Use use(*this);
      load_kernels();
      FIVEPOINT_CHECKED(cuStreamCreate, &copies_, kNonBlocking);
    } catch (...) {
      release();
      throw;
    }
  }

  ~Cuda() override { release(); }

  Event make_event() override {
    CuEvent event = nullptr;
    FIVEPOINT_CHECKED(cuEventCreate, &event, kDisableTiming);
    return reinterpret_cast<Event>(event);
  }

  void drop_event(Event event) noexcept override { driver_.cuEventDestroy_v2(as<CuEvent>(event)); }

  Stream copies() const override { return reinterpret_cast<Stream>(copies_); }

  void copy(Address to, const void* from, std::size_t bytes) override { FIVEPOINT_CHECKED(cuMemcpyHtoDAsync_v2, to, from, bytes, copies_); }

  void record(Event event, Stream stream) override { FIVEPOINT_CHECKED(cuEventRecord, as<CuEvent>(event), as<CuStream>(stream)); }

  void wait(Stream stream, Event event) override { FIVEPOINT_CHECKED(cuStreamWaitEvent, as<CuStream>(stream), as<CuEvent>(event), 0); }

  bool is_done(Event event) override {
    const CuResult code = driver_.cuEventQuery(as<CuEvent>(event));
    if (code != kNotReady) driver_.check(code, "cuEventQuery");
    return code == kSuccess;
  }

  bool is_captured(Stream stream) override {
    int status = 0;
    FIVEPOINT_CHECKED(cuStreamIsCapturing, as<CuStream>(stream), &status);
    return status != 0;
  }

  void widen(const Widen& of, Stream stream) override {
    Widen given = of;
    launch(widen_, of.rows, of.seq_len, stream,
           {&given.staged, &given.row_bytes, &given.rows, &given.seq_len, &given.inputs, &given.targets});
  }

  void bound(const Bound& of, Stream stream) override {
    Bound given = of;
    launch(bound_, of.rows, of.seq_len, stream,
           {&given.cu_seqlens, &given.documents, &given.runs, &given.rows, &given.seq_len, &given.document_ids, &given.position_ids,
            &given.loss_mask});
  }

 private:
  template <typename Handle>
  static Handle as(std::uintptr_t value) {
    return reinterpret_cast<Handle>(value);
  }

  int enter() override {
    FIVEPOINT_CHECKED(cuCtxPushCurrent_v2, context_);
    // What is done here is no part of a graph that another thread may be capturing, and does not end the capture.
    int mode = kRelaxed;
    const CuResult code = driver_.cuThreadExchangeStreamCaptureMode(&mode);
    if (code != kSuccess) {
      pop();
      driver_.check(code, "cuThreadExchangeStreamCaptureMode");
    }
    return mode;
  }

  void leave(int before) noexcept override {
    driver_.cuThreadExchangeStreamCaptureMode(&before);
    pop();
  }

  void pop() const noexcept {
    CuContext popped = nullptr;
    driver_.cuCtxPopCurrent_v2(&popped);
  }

  void load_kernels() {
    CuResult code = kSuccess;
#if defined(FIVEPOINT_FATBIN)
    // A driver older than the nvcc that made it may not read it, and a GPU may be of none of its kinds.
    code = driver_.cuModuleLoadData(&module_, fivepoint_kernels_fatbin);
    if (code != kSuccess)
#endif
      code = driver_.cuModuleLoadData(&module_, fivepoint_kernels_ptx);
    if (code != kSuccess) {
      const std::string what = "expected kernels that the driver takes for this GPU, found that " + driver_.said(code, "cuModuleLoadData");
      if (std::find(kNoKernel.begin(), kNoKernel.end(), code) != kNoKernel.end()) throw NoKernelError(what);
      throw DeviceError(what);
    }
    FIVEPOINT_CHECKED(cuModuleGetFunction, &widen_, module_, "fivepoint_widen");
    FIVEPOINT_CHECKED(cuModuleGetFunction, &bound_, module_, "fivepoint_bound");
  }

  void launch(CuFunction kernel, std::int64_t rows, std::int64_t seq_len, Stream stream, std::initializer_list<void*> arguments) const {
    if (rows == 0 || seq_len == 0) return;
    const std::int64_t pairs = (seq_len + 1) / 2, of_a_block = std::int64_t{kBlock} * kPairs;
    const auto wide = static_cast<unsigned>(std::min<std::int64_t>((pairs + of_a_block - 1) / of_a_block, 1 << 20));
    const auto high = static_cast<unsigned>(std::min<std::int64_t>(rows, kMostRows));
    FIVEPOINT_CHECKED(cuLaunchKernel, kernel, wide, high, 1, kBlock, 1, 1, 0, as<CuStream>(stream),
                      const_cast<void**>(arguments.begin()), nullptr);
  }

  // Also where the process, and with it the driver, is about to end: what fails then is gone anyway. A fork has none of it.
  void release() noexcept {
    if (process_ != getpid()) return;
    try {
      const Use use(*this);
      if (copies_) driver_.cuStreamDestroy_v2(copies_);
      if (module_) driver_.cuModuleUnload(module_);
    } catch (const DeviceError&) {
    }
    driver_.cuDevicePrimaryCtxRelease_v2(device_);
  }

  const Driver& driver_;
  const pid_t process_ = getpid();
  CuDevice device_ = 0;
  CuContext context_ = nullptr;
  CuModule module_ = nullptr;
  CuFunction widen_ = nullptr, bound_ = nullptr;
  CuStream copies_ = nullptr;
};

}  // namespace

std::shared_ptr<Device> open_cuda(int number) { return std::make_shared<Cuda>(number); }

}  // namespace fivepoint
