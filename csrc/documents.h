// The documents of a shard, by the index that says at which token each begins (spec/formats.md, F1; D0.5, D0.9).
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

#include "files.h"

namespace fivepoint {

// From token `offset` of a row on, tokens lie in document `number` of the corpus.
struct DocumentRun {
  std::int64_t offset, number;
};

// The index stays on disk: in memory one start in 512 is kept, 16 bytes a thousand documents. It is read, not mapped: a mapped file that is
// cut short would end the process.
class DocumentIndex {
 public:
  static constexpr std::int64_t kStartBytes = 8;

  // The file has `header` bytes before its first number; `first` is the corpus's number of the shard's first document.
  DocumentIndex(const Files& files, std::size_t file, std::int64_t header, std::int64_t documents, std::int64_t tokens, std::int64_t first)
      : files_(files), file_(file), header_(header), documents_(documents), tokens_(tokens), first_(first) {}

  // Appends the runs of tokens begin to begin + count of the shard, which lie from `row` on in their row. Throws ReadError, the first time
  // also for any start of the shard that is out of order.
  void append(std::int64_t begin, std::int64_t count, std::int64_t row, std::vector<DocumentRun>& runs) const;

 private:
  class Page;

  void know() const;
  void expect(bool sound, std::int64_t document, std::int64_t start) const;

  const Files& files_;
  std::size_t file_;
  std::int64_t header_, documents_, tokens_, first_;

  mutable std::mutex lock_;  // one thread reads the index through, the others wait
  mutable std::atomic<bool> known_{false};
  mutable std::vector<std::int64_t> sparse_;  // the first start of each page
};

}  // namespace fivepoint
