// Where the consumer wants a batch of b rows; what is null is not wanted.
#pragma once

#include <cstdint>
#include <vector>

namespace fivepoint {

struct BatchMemory {
  std::int64_t *inputs, *targets;               // [b, seq_len], both or neither
  std::int64_t *positions, *sources, *windows;  // [b]
  std::int64_t *document_ids, *position_ids;    // [b, seq_len]
  bool* loss_mask;                              // [b, seq_len]
  std::vector<std::int32_t>* cu_seqlens;
  std::vector<std::int64_t>* documents;  // of each run that cu_seqlens bounds, as the kernels want them (device/bodies.h: Runs)
};

}  // namespace fivepoint
