#include "corpus.h"

#include <algorithm>
#include <limits>
#include <type_traits>

#include "expect.h"
#include "widen.h"

namespace fivepoint {

Corpus::Corpus(std::shared_ptr<Files> files, int item_size, std::int64_t vocab_size, const std::vector<ShardSpec>& shards)
    : files_(std::move(files)), item_size_(item_size), vocab_size_(vocab_size) {
  expect(item_size == 2 || item_size == 4, "tokens of 2 or 4 bytes", item_size);
  expect(vocab_size >= 1, "a vocabulary of one id or more", vocab_size);
  std::int64_t documents = 0;
  for (const ShardSpec& spec : shards) {
    expect(spec.tokens >= 0 && spec.tokens <= kMost - tokens(), "shards of 0 tokens or more, 2^48 in all at most", spec.tokens);
    const bool few = spec.documents <= kMost - documents;
    expect(few && spec.documents >= (spec.tokens > 0), "a document, and 2^48 in all at most", spec.documents);
    expect(spec.index_header >= 0 && spec.index_header <= kMost, "a header of 0 to 2^48 bytes", spec.index_header);
    const std::size_t tokens = files_->add(spec.tokens_path, spec.tokens * item_size);
    const std::size_t index = files_->add(spec.index_path, spec.index_header + DocumentIndex::kStartBytes * spec.documents);
    shards_.push_back({tokens, spec.tokens,
                       std::make_unique<const DocumentIndex>(*files_, index, spec.index_header, spec.documents, spec.tokens, documents)});
    first_token_.push_back(first_token_.back() + spec.tokens);
    documents += spec.documents;
  }
}

std::size_t Corpus::shard_of(std::int64_t token) const {
  return static_cast<std::size_t>(std::upper_bound(first_token_.begin(), first_token_.end() - 1, token) - first_token_.begin() - 1);
}

void Corpus::expect_inside(std::int64_t first, std::int64_t count) const {
  if (first >= 0 && count >= 0 && first <= tokens() && count <= tokens() - first) return;
  throw ReadError("expected tokens from 0 to " + std::to_string(tokens()) + " of a corpus, found " + std::to_string(count) + " from " +
                  std::to_string(first) + " on");
}

void Corpus::read(std::int64_t first, std::int64_t count, void* to) const {
  expect_inside(first, count);
  auto* out = static_cast<char*>(to);
  for (std::size_t number = shard_of(first); count > 0; ++number) {
    const Shard& shard = shards_[number];
    const std::int64_t begin = first - first_token_[number], here = std::min(count, shard.tokens - begin);
    files_->read(shard.tokens_file, out, here * item_size_, begin * item_size_, "tokens");
    expect_in_vocabulary(shard, begin, here, out);
    out += here * item_size_;
    first += here;
    count -= here;
  }
}

void Corpus::expect_in_vocabulary(const Shard& shard, std::int64_t begin, std::int64_t count, const void* tokens) const {
  const auto expect = [&](const auto* ids) {
    using Token = std::decay_t<decltype(*ids)>;
    const auto last = std::min<std::int64_t>(vocab_size_ - 1, std::numeric_limits<Token>::max());
    if (!any_above(ids, static_cast<std::size_t>(count), static_cast<Token>(last))) return;
    const auto* wrong = std::find_if(ids, ids + count, [&](auto id) { return static_cast<std::int64_t>(id) >= vocab_size_; });
    throw ReadError(files_->path(shard.tokens_file) + ": expected ids below the vocabulary's size " + std::to_string(vocab_size_) +
                    ", found " + std::to_string(*wrong) + " at byte " + std::to_string((begin + (wrong - ids)) * item_size_) +
                    "; run `fivepoint verify` and restore the corpus");
  };
  if (item_size_ == 2) {
    expect(static_cast<const std::uint16_t*>(tokens));
  } else {
    expect(static_cast<const std::uint32_t*>(tokens));
  }
}

void Corpus::documents(std::int64_t first, std::int64_t count, std::vector<DocumentRun>& runs) const {
  expect_inside(first, count);
  runs.clear();
  std::int64_t row = 0;
  for (std::size_t number = shard_of(first); row < count; ++number) {
    const Shard& shard = shards_[number];
    const std::int64_t begin = first + row - first_token_[number], here = std::min(count - row, shard.tokens - begin);
    if (here > 0) shard.index->append(begin, here, row, runs);
    row += here;
  }
}

}  // namespace fivepoint
