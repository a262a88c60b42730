#include "documents.h"

#include <algorithm>
#include <string>

namespace fivepoint {

namespace {

constexpr std::int64_t kOfAPage = 512, kPagesAtOnce = 256;

}  // namespace

// One page of the index, read when it is first asked for.
class DocumentIndex::Page {
 public:
  explicit Page(const DocumentIndex& index) : index_(index) {}

  std::int64_t operator[](std::int64_t document) {
    if (document < from_ || document >= from_ + kOfAPage) {
      from_ = document / kOfAPage * kOfAPage;
      const std::int64_t many = std::min(kOfAPage, index_.documents_ - from_);
      index_.files_.read(index_.file_, starts_, many * kStartBytes, index_.header_ + from_ * kStartBytes, "document starts");
    }
    return starts_[document - from_];
  }

 private:
  const DocumentIndex& index_;
  std::int64_t from_ = -kOfAPage;
  std::int64_t starts_[kOfAPage];
};

void DocumentIndex::expect(bool sound, std::int64_t document, std::int64_t start) const {
  if (sound) return;
  throw ReadError(files_.path(file_) + ": expected document starts that ascend from 0 to at most " + std::to_string(tokens_) + ", found " +
                  std::to_string(start) + " for document " + std::to_string(document) + "; run `fivepoint verify` and restore it");
}

void DocumentIndex::know() const {
  if (known_.load(std::memory_order_acquire)) return;
  const std::lock_guard<std::mutex> guard(lock_);
  if (known_.load(std::memory_order_relaxed)) return;
  // A search finds its way through starts in any order: whether they ascend only the whole index shows.
  std::vector<std::int64_t> sparse, starts(static_cast<std::size_t>(std::min(documents_, kOfAPage * kPagesAtOnce)));
  std::int64_t last = 0;
  for (std::int64_t from = 0; from < documents_; from += static_cast<std::int64_t>(starts.size())) {
    const std::int64_t many = std::min(static_cast<std::int64_t>(starts.size()), documents_ - from);
    files_.read(file_, starts.data(), many * kStartBytes, header_ + from * kStartBytes, "document starts");
    for (std::int64_t k = 0; k < many; ++k) {
      const std::int64_t start = starts[static_cast<std::size_t>(k)];
      expect(start >= last && start <= tokens_ && (from + k > 0 || start == 0), from + k, start);
      if ((from + k) % kOfAPage == 0) sparse.push_back(start);
      last = start;
    }
  }
  sparse_ = std::move(sparse);
  known_.store(true, std::memory_order_release);
}

void DocumentIndex::append(std::int64_t begin, std::int64_t count, std::int64_t row, std::vector<DocumentRun>& runs) const {
  know();
  // The last document that starts at or before `begin` is in [low, high).
  const auto page = std::upper_bound(sparse_.begin(), sparse_.end(), begin) - sparse_.begin() - 1;
  std::int64_t low = page * kOfAPage, high = std::min(low + kOfAPage, documents_);
  Page starts(*this);
  while (high - low > 1) {
    const std::int64_t middle = low + (high - low) / 2;
    (starts[middle] <= begin ? low : high) = middle;
  }
  runs.push_back({row, first_ + low});
  for (std::int64_t document = high, last = begin; document < documents_ && starts[document] < begin + count; ++document) {
    // The file may have changed since it was read through.
    expect(starts[document] > begin && starts[document] >= last, document, starts[document]);
    last = starts[document];
    const DocumentRun run{row + last - begin, first_ + document};
    // Of several documents that start at one token all but the last are empty (D0.9).
    if (runs.back().offset == run.offset) {
      runs.back() = run;
    } else {
      runs.push_back(run);
    }
  }
}

}  // namespace fivepoint
