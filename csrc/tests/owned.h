// A batch with its memory, exactly as large as it must be, so that a sanitizer sees one store too many.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "../batch.h"

namespace fivepoint {

struct OwnedBatch {
  OwnedBatch(std::size_t rows, std::size_t seq_len)
      : inputs(rows * seq_len), targets(inputs), positions(rows), sources(rows), windows(rows), document_ids(inputs), position_ids(inputs),
        loss_mask(new bool[rows * seq_len]) {}

  BatchMemory memory() {
    return {inputs.data(),       targets.data(),   positions.data(), sources.data(), windows.data(), document_ids.data(),
            position_ids.data(), loss_mask.get(), &cu_seqlens,      &documents};
  }

  std::vector<std::int64_t> inputs, targets, positions, sources, windows, document_ids, position_ids;
  std::unique_ptr<bool[]> loss_mask;
  std::vector<std::int32_t> cu_seqlens;
  std::vector<std::int64_t> documents;
};

}  // namespace fivepoint
