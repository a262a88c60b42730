// Where documents begin inside a row, from the runs that the document index gives (A8; D0.5 to D0.9).
#pragma once

#include <cstdint>
#include <vector>

#include "batch.h"
#include "documents.h"

namespace fivepoint {

// Writes the boundaries of row number `row` of a batch; `runs` are those of its seq_len + 1 tokens.
void write_boundaries(const std::vector<DocumentRun>& runs, std::int64_t row, std::int64_t seq_len, const BatchMemory& batch);

}  // namespace fivepoint
