// One corpus on disk: runs of its tokens, and the documents that they lie in (spec/formats.md, F1; D0.4, D0.5).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "documents.h"
#include "files.h"

namespace fivepoint {

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "shards and indexes are little-endian, and read as they lie");
static_assert(sizeof(std::size_t) == 8, "batches and files may be larger than 32 bits count");

struct ShardSpec {
  std::string tokens_path;
  std::int64_t tokens;
  std::string index_path;
  std::int64_t documents, index_header;  // bytes of the index before its first number
};

class Corpus {
 public:
  // `item_size` is 2 for uint16, 4 for uint32. Throws std::invalid_argument for sizes that no manifest holds (spec/formats.md, F1),
  // ReadError for files that are missing or of another size.
  Corpus(std::shared_ptr<Files> files, int item_size, std::int64_t vocab_size, const std::vector<ShardSpec>& shards);

  int item_size() const { return item_size_; }
  std::int64_t tokens() const { return first_token_.back(); }

  // Reads tokens first to first + count, as they lie on disk, and holds them to the vocabulary; throws ReadError.
  void read(std::int64_t first, std::int64_t count, void* to) const;

  // Replaces `runs` by those of tokens first to first + count; throws ReadError.
  void documents(std::int64_t first, std::int64_t count, std::vector<DocumentRun>& runs) const;

 private:
  struct Shard {
    std::size_t tokens_file;
    std::int64_t tokens;
    std::unique_ptr<const DocumentIndex> index;
  };

  void expect_inside(std::int64_t first, std::int64_t count) const;
  std::size_t shard_of(std::int64_t token) const;
  void expect_in_vocabulary(const Shard& shard, std::int64_t begin, std::int64_t count, const void* tokens) const;

  std::shared_ptr<Files> files_;
  int item_size_;
  std::int64_t vocab_size_;
  std::vector<Shard> shards_;
  std::vector<std::int64_t> first_token_{0};
};

}  // namespace fivepoint
