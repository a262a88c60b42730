// The bodies with a grid around them: a row per y, two tokens a thread, and again where the grid is smaller than the batch.
#include "bodies.h"

using namespace fivepoint::device;

namespace {

template <typename Body>
__device__ __forceinline__ void each_two(std::int64_t rows, std::int64_t seq_len, Body body) {
  const std::int64_t step = 2 * static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t row = blockIdx.y; row < rows; row += gridDim.y) {
#pragma unroll 1 // a number of rounds would have to be divided for
    for (std::int64_t t = 2 * (static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x); t < seq_len; t += step) body(row, t);
  }
}

}  // namespace

// `staged` holds `rows` rows of `row_bytes` bytes; inputs and targets are [rows, seq_len].
extern "C" __global__ void fivepoint_widen(const unsigned char* __restrict__ staged, std::int64_t row_bytes, std::int64_t rows,
                                           std::int64_t seq_len, std::int64_t* __restrict__ inputs, std::int64_t* __restrict__ targets) {
  each_two(rows, seq_len, [=](std::int64_t row, std::int64_t t) {
    widen_two(staged + row * row_bytes, row_bytes, seq_len, t, inputs + row * seq_len, targets + row * seq_len);
  });
}

// What is null is not wanted; all are [rows, seq_len].
extern "C" __global__ void fivepoint_bound(const std::int32_t* __restrict__ cu_seqlens, const std::int64_t* __restrict__ documents,
                                           std::int64_t runs, std::int64_t rows, std::int64_t seq_len,
                                           std::int64_t* __restrict__ document_ids, std::int64_t* __restrict__ position_ids,
                                           bool* __restrict__ loss_mask) {
  each_two(rows, seq_len, [=](std::int64_t row, std::int64_t t) {
    bound_two({cu_seqlens, documents, runs}, row * seq_len, seq_len, t, {document_ids, position_ids, loss_mask});
  });
}
