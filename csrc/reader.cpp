#include "reader.h"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "boundaries.h"
#include "widen.h"

namespace fivepoint {

namespace {

constexpr std::int64_t kCacheLine = 64, kLongest = std::int64_t{1} << 40;

}  // namespace

Reader::Reader(std::shared_ptr<const Resolver> resolver, std::vector<std::vector<std::shared_ptr<const Corpus>>> corpora,
               std::int64_t seq_len, bool with_documents)
    : resolver_(std::move(resolver)), corpora_(std::move(corpora)), seq_len_(seq_len), with_documents_(with_documents) {
  if (seq_len < 1 || seq_len > kLongest) throw std::invalid_argument("expected rows of 1 to 2^40 tokens, found " + std::to_string(seq_len));
  const auto expect = [](bool same) {
    if (!same) throw std::invalid_argument("expected the corpora of the resolver's sources, of as many tokens, found others");
  };
  const std::vector<SourceSpec>& sources = resolver_->sources();
  expect(corpora_.size() == sources.size());
  int item_size = 2;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    expect(corpora_[i].size() == sources[i].tokens.size());
    for (std::size_t k = 0; k < corpora_[i].size(); ++k) {
      expect(corpora_[i][k] && corpora_[i][k]->tokens() == sources[i].tokens[k]);
      item_size = std::max(item_size, corpora_[i][k]->item_size());
    }
  }
  row_bytes_ = ((seq_len + 1) * item_size + 1 + kCacheLine - 1) / kCacheLine * kCacheLine;
}

void Reader::expect_place(const Sample& sample) const {
  const auto source = static_cast<std::size_t>(sample.source), number = static_cast<std::size_t>(sample.corpus);
  if (source >= corpora_.size() || number >= corpora_[source].size()) {
    throw ReadError("expected a corpus of the plan, found number " + std::to_string(sample.corpus) + " of source " +
                    std::to_string(sample.source));
  }
}

void Reader::read(std::int64_t first, std::int64_t count, Rows& rows, std::int64_t row, Resolver::Scratch& scratch) const {
  resolver_->resolve(first, count, &rows.samples[static_cast<std::size_t>(row)], scratch);
  load(rows, row, count);
}

void Reader::load(Rows& rows, std::int64_t row, std::int64_t count) const {
  for (std::int64_t k = 0; k < count; ++k) {
    const auto number = static_cast<std::size_t>(row + k);
    const Sample& sample = rows.samples[number];
    try {
      expect_place(sample);
      char* const tokens = rows.data + (row + k) * row_bytes_;
      corpus(sample).read(sample.first, seq_len_ + 1, tokens);
      tokens[row_bytes_ - 1] = static_cast<char>(corpus(sample).item_size());
      if (with_documents_) corpus(sample).documents(sample.first, seq_len_ + 1, rows.documents[number]);
    } catch (const ReadError& reason) {
      throw ReadError(reason.what() + (" (the sample at position " + std::to_string(sample.position) + ")"));
    }
  }
}

void Reader::widen(const Rows& rows, std::int64_t begin, std::int64_t count, const BatchMemory& batch, std::int64_t at,
                   std::int64_t of) const {
  const auto seq_len = static_cast<std::size_t>(seq_len_);
  const bool stream = 2 * static_cast<std::size_t>(of) * seq_len * sizeof(std::int64_t) >= kStreamFrom;
  for (std::int64_t row = 0; row < count; ++row) {
    const auto number = static_cast<std::size_t>(begin + row);
    const Sample& sample = rows.samples[number];
    const char* tokens = rows.data + (begin + row) * row_bytes_;
    const std::size_t to = static_cast<std::size_t>(at + row) * seq_len;
    if (!batch.inputs) {
      // A device widens them.
    } else if (corpus(sample).item_size() == 2) {
      widen_row(reinterpret_cast<const std::uint16_t*>(tokens), seq_len, batch.inputs + to, batch.targets + to, stream);
    } else {
      widen_row(reinterpret_cast<const std::uint32_t*>(tokens), seq_len, batch.inputs + to, batch.targets + to, stream);
    }
    batch.positions[at + row] = sample.position;
    batch.sources[at + row] = sample.source;
    batch.windows[at + row] = sample.window;
    if (with_documents_) write_boundaries(rows.documents[number], at + row, seq_len_, batch);
  }
  if (batch.cu_seqlens && at + count == of) batch.cu_seqlens->push_back(static_cast<std::int32_t>(of * seq_len_));
  if (stream) finish_stream();
}

}  // namespace fivepoint
