#include "boundaries.h"

#include <algorithm>

namespace fivepoint {

void write_boundaries(const std::vector<DocumentRun>& runs, std::int64_t row, std::int64_t seq_len, const BatchMemory& batch) {
  const std::int64_t at = row * seq_len;
  for (std::size_t k = 0; k < runs.size() && runs[k].offset < seq_len; ++k) {
    // The run of the last target alone, at offset seq_len, is left out: it only says where the loss stops.
    const std::int64_t begin = runs[k].offset;
    const std::int64_t next = k + 1 < runs.size() ? runs[k + 1].offset : seq_len + 1, end = std::min(next, seq_len);
    if (batch.document_ids) std::fill(batch.document_ids + at + begin, batch.document_ids + at + end, runs[k].number);
    if (batch.position_ids) {
      for (std::int64_t t = begin; t < end; ++t) batch.position_ids[at + t] = t - begin;
    }
    if (batch.loss_mask) {
      std::fill(batch.loss_mask + at + begin, batch.loss_mask + at + end, true);
      if (next <= seq_len) batch.loss_mask[at + next - 1] = false;
    }
    if (batch.documents) batch.documents->push_back(next <= seq_len ? ~runs[k].number : runs[k].number);
    if (batch.cu_seqlens) batch.cu_seqlens->push_back(static_cast<std::int32_t>(at + begin));
  }
}

}  // namespace fivepoint
