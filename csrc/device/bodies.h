// What one thread of a kernel does, on the device as on the host: kernels.cu puts a grid around it, and nothing else.
//
// A thread takes two neighbouring tokens of a row, so that neighbouring threads store 16 bytes next to each other. A row is known by the
// grid: nothing is divided.
#pragma once

#include <cstdint>

#if defined(__CUDACC__)
#define FIVEPOINT_BODY __host__ __device__ __forceinline__
#else
#define FIVEPOINT_BODY inline
#endif

namespace fivepoint::device {

template <typename Token>
struct alignas(2 * sizeof(Token)) TokenPair {
  Token first, second;
};

struct alignas(16) Int64Pair {
  std::int64_t first, second;
};

FIVEPOINT_BODY void store_two(std::int64_t* to, std::int64_t first, std::int64_t second) {
  // Every other row of an odd length begins between two multiples of 16 bytes.
  if (reinterpret_cast<std::uintptr_t>(to) % sizeof(Int64Pair) == 0) {
#if defined(__CUDA_ARCH__)
    // As an instruction: of an assignment the compiler makes two stores where the branches look alike to it.
    __stwb(reinterpret_cast<longlong2*>(to), make_longlong2(first, second));
#else
    *reinterpret_cast<Int64Pair*>(to) = {first, second};
#endif
  } else {
    to[0] = first;
    to[1] = second;
  }
}

// Token t, which is even, and the one behind it, of a row of seq_len + 1 tokens: inputs and targets, int64 [seq_len] (D0.2, D0.4).
template <typename Token>
FIVEPOINT_BODY void widen_two(const Token* row, std::int64_t seq_len, std::int64_t t, std::int64_t* inputs, std::int64_t* targets) {
  const TokenPair<Token> two = *reinterpret_cast<const TokenPair<Token>*>(row + t);
  if (t + 1 < seq_len) {
    store_two(inputs + t, two.first, two.second);
    store_two(targets + t, two.second, row[t + 2]);
  } else {
    inputs[t] = two.first;
    targets[t] = two.second;
  }
}

// The same of a row as Reader lays it out: `row_bytes` long, its last byte the bytes of a token.
FIVEPOINT_BODY void widen_two(const unsigned char* row, std::int64_t row_bytes, std::int64_t seq_len, std::int64_t t, std::int64_t* inputs,
                              std::int64_t* targets) {
  if (row[row_bytes - 1] == sizeof(std::uint16_t)) {
    widen_two(reinterpret_cast<const std::uint16_t*>(row), seq_len, t, inputs, targets);
  } else {
    widen_two(reinterpret_cast<const std::uint32_t*>(row), seq_len, t, inputs, targets);
  }
}

// The runs of tokens of one document in one row, over the rows of a batch laid end to end.
struct Runs {
  const std::int32_t* first;      // [count + 1]: cu_seqlens
  const std::int64_t* documents;  // [count]: the document's number, or its complement where the run's last target lies in another
  std::int64_t count;
};

// What is null is not wanted.
struct BoundaryMemory {
  std::int64_t *document_ids, *position_ids;
  bool* loss_mask;
};

// The last run that begins at or before a token.
FIVEPOINT_BODY std::int64_t run_of(const Runs& runs, std::int64_t token) {
  std::int64_t low = 0, high = runs.count;
  while (high - low > 1) {
    const std::int64_t middle = low + ((high - low) >> 1);
    if (runs.first[middle] <= token) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return low;
}

struct Boundary {
  std::int64_t document_id, position_id;
  bool loss;
};

FIVEPOINT_BODY Boundary boundary_of(const Runs& runs, std::int64_t run, std::int64_t token) {
  const std::int64_t document = runs.documents[run];
  const bool parts = document < 0;
  return {parts ? ~document : document, token - runs.first[run], !(parts && token + 1 == runs.first[run + 1])};
}

// Token t, which is even, and the one behind it, of a row whose first token is number `begin` of the batch (D0.6, D0.7).
FIVEPOINT_BODY void bound_two(const Runs& runs, std::int64_t begin, std::int64_t seq_len, std::int64_t t, const BoundaryMemory& to) {
  const std::int64_t token = begin + t, run = run_of(runs, token);
  const Boundary one = boundary_of(runs, run, token);
  if (t + 1 < seq_len) {
    const Boundary other = boundary_of(runs, run + (runs.first[run + 1] == token + 1), token + 1);
    if (to.document_ids) store_two(to.document_ids + token, one.document_id, other.document_id);
    if (to.position_ids) store_two(to.position_ids + token, one.position_id, other.position_id);
    if (to.loss_mask) to.loss_mask[token + 1] = other.loss;
  } else {
    if (to.document_ids) to.document_ids[token] = one.document_id;
    if (to.position_ids) to.position_ids[token] = one.position_id;
  }
  if (to.loss_mask) to.loss_mask[token] = one.loss;
}

}  // namespace fivepoint::device
