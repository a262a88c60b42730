// Rows of a plan: read as they lie on disk, widened for the model. Shared by all threads; nothing in it changes.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "batch.h"
#include "corpus.h"
#include "resolver.h"

namespace fivepoint {

// Rows in memory, in the source's dtype, with what is known of them. `data` belongs to whoever made it.
struct Rows {
  char* data = nullptr;
  std::vector<Sample> samples;
  std::vector<std::vector<DocumentRun>> documents;  // empty where nobody asked for boundaries

  void resize(std::size_t count, bool with_documents) {
    samples.resize(count);
    documents.resize(with_documents ? count : 0);
  }
};

class Reader {
 public:
  // `corpora` by source and corpus, those of the resolver; all phases have this seq_len. Throws std::invalid_argument for others, and for
  // rows that no memory holds.
  Reader(std::shared_ptr<const Resolver> resolver, std::vector<std::vector<std::shared_ptr<const Corpus>>> corpora, std::int64_t seq_len,
         bool with_documents);

  // Bytes from one row of Rows::data to the next; the last is how many bytes a token has, for whoever sees nothing but the row.
  std::int64_t row_bytes() const { return row_bytes_; }
  std::int64_t seq_len() const { return seq_len_; }
  bool with_documents() const { return with_documents_; }

  // Reads the samples at positions first to first + count into the rows from number `row` on; throws ReadError, which names the position.
  void read(std::int64_t first, std::int64_t count, Rows& rows, std::int64_t row, Resolver::Scratch& scratch) const;

  // Reads the tokens of rows whose samples are known.
  void load(Rows& rows, std::int64_t row, std::int64_t count) const;

  // Writes what is wanted of rows begin to begin + count as rows `at` and on of a batch of `of` rows.
  void widen(const Rows& rows, std::int64_t begin, std::int64_t count, const BatchMemory& batch, std::int64_t at, std::int64_t of) const;

 private:
  void expect_place(const Sample& sample) const;
  const Corpus& corpus(const Sample& sample) const {
    return *corpora_[static_cast<std::size_t>(sample.source)][static_cast<std::size_t>(sample.corpus)];
  }

  std::shared_ptr<const Resolver> resolver_;
  std::vector<std::vector<std::shared_ptr<const Corpus>>> corpora_;
  std::int64_t seq_len_, row_bytes_;
  bool with_documents_;
};

}  // namespace fivepoint
