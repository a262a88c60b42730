// Shards of any bytes, with sizes that fit them or not: their tokens and documents, or an exception that says what is wrong.
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <memory>
#include <stdexcept>
#include <string>

#include "../csrc/prefetch.h"
#include "../csrc/reader.h"
#include "../csrc/tests/owned.h"
#include "bytes.h"

namespace fivepoint {
namespace {

// A file in memory, which every input fills anew.
class MemoryFile {
 public:
  MemoryFile() : number_(memfd_create("shard", 0)) { require(number_ >= 0, "there is memory for a file"); }
  std::string fill(const std::vector<char>& content) const {
    const auto size = static_cast<ssize_t>(content.size());
    require(ftruncate(number_, size) == 0 && pwrite(number_, content.data(), content.size(), 0) == size, "the file takes its content");
    return "/proc/self/fd/" + std::to_string(number_);
  }

 private:
  int number_;
};

// The answer by the plainest way: every token with its document, where the index is sound.
struct Whole {
  std::vector<std::int64_t> tokens, documents;
  std::vector<char> sound;  // by token
};

template <typename Number>
std::vector<std::int64_t> numbers_in(const std::vector<char>& bytes, std::size_t from = 0) {
  std::vector<std::int64_t> found;
  for (std::size_t at = from; at + sizeof(Number) <= bytes.size(); at += sizeof(Number)) {
    Number number;
    std::memcpy(&number, bytes.data() + at, sizeof number);
    found.push_back(static_cast<std::int64_t>(number));
  }
  return found;
}

void append(Whole& whole, const std::vector<std::int64_t>& tokens, const std::vector<std::int64_t>& starts, std::int64_t first_document) {
  const bool sound = !starts.empty() && starts.front() == 0 && std::is_sorted(starts.begin(), starts.end()) &&
                starts.back() <= static_cast<std::int64_t>(tokens.size());
  for (std::size_t t = 0; t < tokens.size(); ++t) {
    whole.tokens.push_back(tokens[t]);
    whole.sound.push_back(sound);
    const auto after = std::upper_bound(starts.begin(), starts.end(), static_cast<std::int64_t>(t));
    whole.documents.push_back(first_document + (after - starts.begin()) - 1);
  }
}

void check(const Whole& whole, const OwnedBatch& batch, const std::vector<Sample>& samples, std::int64_t vocab_size, std::size_t seq_len) {
  std::vector<std::int32_t> bounds;
  for (std::size_t row = 0; row < samples.size(); ++row) {
    const auto first = static_cast<std::size_t>(samples[row].first);
    require(batch.positions[row] == samples[row].position && batch.windows[row] == samples[row].window && batch.sources[row] == 0,
            "a row says where it comes from");
    std::int64_t begun = 0;
    for (std::size_t t = 0; t < seq_len; ++t) {
      const std::size_t at = row * seq_len + t;
      require(batch.inputs[at] == whole.tokens[first + t] && batch.targets[at] == whole.tokens[first + t + 1], "tokens are the shards'");
      require(batch.targets[at] < vocab_size, "ids lie below the vocabulary's size");
      require(whole.sound[first + t] && whole.sound[first + t + 1], "an index that is out of order is refused");
      if (t == 0 || whole.documents[first + t] != whole.documents[first + t - 1]) {
        begun = static_cast<std::int64_t>(t);
        bounds.push_back(static_cast<std::int32_t>(at));
      }
      require(batch.document_ids[at] == whole.documents[first + t], "document ids are the index's");
      require(batch.position_ids[at] == static_cast<std::int64_t>(t) - begun, "positions count from the start of a document");
      require(batch.loss_mask[at] == (whole.documents[first + t] == whole.documents[first + t + 1]), "the loss stops where a document does");
    }
  }
  bounds.push_back(static_cast<std::int32_t>(samples.size() * seq_len));
  require(batch.cu_seqlens == bounds, "cu_seqlens bound the documents of every row");
}

// Reads rows of the run ahead, as a loader does; false where they could not be had.
bool take(const std::shared_ptr<const Reader>& reader, Range rows, OwnedBatch& batch) {
  std::vector<char> slot(static_cast<std::size_t>(reader->row_bytes() * 8));
  Prefetch prefetch(reader, {{slot.data(), slot.size()}}, 1);
  try {
    prefetch.want({rows});
    while (!prefetch.take(rows, batch.memory(), 1000)) {
    }
    return true;
  } catch (const MisuseError&) {
  } catch (const ReadError&) {
  } catch (const std::out_of_range&) {  // positions past the run's end
  }
  return false;
}

void read(Bytes& bytes) {
  static const std::array<MemoryFile, 4> files;
  const std::int64_t item_size = std::array<std::int64_t, 4>{2, 4, 4, bytes.number()}[static_cast<std::size_t>(bytes.up_to(3))];
  const std::int64_t vocab_size = bytes.number(), seq_len = bytes.number(), length = bytes.number();
  Range rows{bytes.number(), bytes.number()};
  const auto shards = static_cast<std::size_t>(1 + bytes.up_to(1));
  std::vector<ShardSpec> specs;
  Whole whole;
  std::int64_t documents = 0;
  for (std::size_t shard = 0; shard < shards; ++shard) {
    const std::vector<std::int64_t> wrong = bytes.numbers(3);  // by how much the sizes are
    const auto header = static_cast<std::size_t>(bytes.up_to(16));
    const std::vector<char> tokens = bytes.take(static_cast<std::size_t>(bytes.up_to(254)));
    const std::vector<char> index = bytes.take(header + 8 * static_cast<std::size_t>(bytes.up_to(32)));
    const std::vector<std::int64_t> ids = item_size == 2 ? numbers_in<std::uint16_t>(tokens) : numbers_in<std::uint32_t>(tokens);
    const std::vector<std::int64_t> starts = numbers_in<std::int64_t>(index, std::min(header, index.size()));
    const auto sum = [](std::size_t size, std::int64_t more) { return static_cast<std::int64_t>(size + static_cast<std::uint64_t>(more)); };
    specs.push_back({files[2 * shard].fill(tokens), sum(ids.size(), wrong[0]), files[2 * shard + 1].fill(index), sum(starts.size(), wrong[1]),
                     sum(header, wrong[2])});
    append(whole, ids, starts, documents);
    documents += static_cast<std::int64_t>(starts.size());
  }
  const auto corpus = std::make_shared<const Corpus>(std::make_shared<Files>(1), static_cast<int>(item_size), vocab_size, specs);
  const auto resolver = std::make_shared<const Resolver>(7, std::vector<SourceSpec>{{1, {corpus->tokens()}}},
                                                         std::vector<PhaseSpec>{{length, seq_len, Rule::kEarliestDeadline, {1}}},
                                                         std::vector<Skip>{});
  const auto reader = std::make_shared<const Reader>(resolver, std::vector<std::vector<std::shared_ptr<const Corpus>>>{{corpus}}, seq_len, true);
  if (rows.count < 1 || rows.count > 8) rows.count = 3;  // batches of absurd sizes are refused by memory alone
  const auto count = static_cast<std::size_t>(rows.count), width = static_cast<std::size_t>(seq_len);
  OwnedBatch batch(count, width);
  if (!take(reader, rows, batch)) return;
  std::vector<Sample> samples(count);
  Resolver::Scratch scratch;
  resolver->resolve(rows.first, rows.count, samples.data(), scratch);
  check(whole, batch, samples, vocab_size, width);
}

}  // namespace
}  // namespace fivepoint

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fivepoint::Bytes bytes(data, size);
  try {
    fivepoint::read(bytes);
  } catch (const std::invalid_argument&) {
  } catch (const fivepoint::ReadError&) {
  }
  return 0;
}
