// Files, corpora, boundaries, widening, and the threads that read ahead.
#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <limits>
#include <memory>
#include <random>
#include <thread>

#include "../pool.h"
#include "../prefetch.h"
#include "../widen.h"
#include "corpora.h"
#include "owned.h"

namespace fivepoint {
namespace {

template <typename Token>
void check_widening() {
  std::mt19937_64 random(1);
  for (std::size_t seq_len = 1; seq_len < 70; ++seq_len) {
    for (std::size_t shift = 0; shift < 4; ++shift) {
      std::vector<Token> tokens(seq_len + 1 + shift);
      for (Token& token : tokens) token = static_cast<Token>(random());
      // Exactly as large as needed, so that a sanitizer sees one store too many.
      std::vector<std::int64_t> inputs(seq_len + shift), targets(seq_len + shift);
      for (const bool stream : {false, true}) {
        widen_row(tokens.data() + shift, seq_len, inputs.data() + shift, targets.data() + shift, stream);
        finish_stream();
        for (std::size_t t = 0; t < seq_len; ++t) {
          REQUIRE(inputs[shift + t] == static_cast<std::int64_t>(tokens[shift + t]));
          REQUIRE(targets[shift + t] == static_cast<std::int64_t>(tokens[shift + t + 1]));
        }
      }
      const Token largest = *std::max_element(tokens.begin(), tokens.end());
      CHECK(!any_above(tokens.data(), tokens.size(), largest));
      CHECK(any_above(tokens.data(), tokens.size(), static_cast<Token>(largest - 1)));
    }
  }
}

TEST_CASE("rows of any length and alignment are widened") {
  check_widening<std::uint16_t>();
  check_widening<std::uint32_t>();
}

TEST_CASE("files are read by position, and none is taken for another") {
  const Folder folder;
  Files files(2);
  std::vector<std::size_t> numbers;
  for (int i = 0; i < 5; ++i) {
    const std::string path = folder.file("f" + std::to_string(i));
    write_numbers(path, std::vector<std::uint16_t>(10, static_cast<std::uint16_t>(i)));
    numbers.push_back(files.add(path, 20));
  }
  CHECK_THROWS_WITH_AS(files.add(folder.file("f0"), 22), doctest::Contains("cut short"), ReadError);
  CHECK_THROWS_WITH_AS(files.add(folder.file("f0"), 18), doctest::Contains("longer than it was"), ReadError);
  CHECK_THROWS_WITH_AS(files.add(folder.file("none"), 18), doctest::Contains("cannot open"), ReadError);
  for (int round = 0; round < 3; ++round) {
    for (std::uint16_t i = 0; i < 5; ++i) {
      std::uint16_t found[3];
      files.read(numbers[i], found, 6, 4, "tokens");
      CHECK(found[2] == i);
    }
  }
  std::uint16_t found[9];
  CHECK_THROWS_WITH_AS(files.read(numbers[0], found, 6, 18, "tokens"), doctest::Contains("expected 6 bytes of tokens at byte 18, found 2"),
                       ReadError);
  std::filesystem::copy_file(folder.file("f1"), folder.file("copy"));
  std::filesystem::rename(folder.file("copy"), folder.file("f2"));
  files.read(numbers[3], found, 2, 0, "tokens");  // the hand has moved on from f2
  files.read(numbers[4], found, 2, 0, "tokens");
  CHECK_THROWS_WITH_AS(files.read(numbers[2], found, 2, 0, "tokens"), doctest::Contains("found another"), ReadError);
}

TEST_CASE("documents of a row are those of the index, empty ones and shards' borders included") {
  const Folder folder;
  const std::vector<std::vector<std::int64_t>> shards = {{0, 3, 0, 0, 5}, {4}, std::vector<std::int64_t>(2000, 1), {0, 7, 0}};
  auto files = std::make_shared<Files>(8);
  const Corpus corpus(files, 4, 1 << 20, write_shards<std::uint32_t>(folder, "c", shards, 0));
  std::vector<std::int64_t> document;
  std::int64_t number = 0;
  for (const auto& lengths : shards) {
    for (const std::int64_t length : lengths) {
      document.insert(document.end(), static_cast<std::size_t>(length), number);
      ++number;
    }
  }
  REQUIRE(corpus.tokens() == static_cast<std::int64_t>(document.size()));
  std::vector<DocumentRun> runs;
  for (std::int64_t first = 0; first < corpus.tokens(); first += 1 + first / 40) {
    for (const std::int64_t count : {std::int64_t{1}, std::int64_t{9}, std::int64_t{600}}) {
      const std::int64_t here = std::min(count, corpus.tokens() - first);
      corpus.documents(first, here, runs);
      std::vector<std::int64_t> found;
      for (std::size_t k = 0; k < runs.size(); ++k) {
        const std::int64_t end = k + 1 < runs.size() ? runs[k + 1].offset : here;
        REQUIRE(runs[k].offset < end);
        found.insert(found.end(), static_cast<std::size_t>(end - runs[k].offset), runs[k].number);
      }
      CHECK(found == std::vector<std::int64_t>(document.begin() + first, document.begin() + first + here));
    }
  }
  std::vector<std::uint32_t> tokens(12);
  corpus.read(5, 12, tokens.data());
  for (std::uint32_t t = 0; t < 12; ++t) CHECK(tokens[t] == 5 + t);
  CHECK_THROWS_AS(corpus.read(corpus.tokens() - 3, 4, tokens.data()), ReadError);
  CHECK_THROWS_AS(corpus.read(-1, 4, tokens.data()), ReadError);
  const Corpus small(files, 4, 9, write_shards<std::uint32_t>(folder, "v", {{20}}, 0));
  CHECK_THROWS_WITH_AS(small.read(4, 12, tokens.data()), doctest::Contains("vocabulary's size 9, found 9 at byte 36"), ReadError);
}

constexpr std::int64_t kHuge = std::numeric_limits<std::int64_t>::max();

TEST_CASE("sizes that no file has are refused, and places that no corpus has") {
  const Folder folder;
  const ShardSpec sound = write_shards<std::uint16_t>(folder, "c", {{3, 5}}, 0)[0];
  auto files = std::make_shared<Files>(4);
  const auto refused = [&](const ShardSpec& shard, int item_size = 2, std::int64_t vocab_size = 9) {
    CHECK_THROWS_AS(Corpus(files, item_size, vocab_size, {sound, shard}), std::invalid_argument);
  };
  for (const std::int64_t wrong : {std::int64_t{-1}, kHuge, kHuge / 2 + 9}) {
    refused({sound.tokens_path, wrong, sound.index_path, sound.documents, sound.index_header});
    refused({sound.tokens_path, sound.tokens, sound.index_path, wrong, sound.index_header});
    refused({sound.tokens_path, sound.tokens, sound.index_path, sound.documents, wrong});
  }
  refused({sound.tokens_path, sound.tokens, sound.index_path, 0, sound.index_header});
  for (const int item_size : {0, 3, -2}) refused(sound, item_size);
  for (const std::int64_t vocab_size : {0, -1}) refused(sound, 2, vocab_size);
  CHECK_THROWS_AS(Files(0), std::invalid_argument);
  const Corpus corpus(files, 2, 9, {sound});
  std::uint16_t tokens[9];
  std::vector<DocumentRun> runs;
  for (const Range place : {Range{-1, 2}, Range{kHuge, 2}, Range{7, 2}, Range{0, -1}, Range{0, kHuge}}) {
    CHECK_THROWS_AS(corpus.read(place.first, place.count, tokens), ReadError);
    CHECK_THROWS_AS(corpus.documents(place.first, place.count, runs), ReadError);
  }
}

TEST_CASE("a reader has the corpora of its resolver, and rows that memory can hold") {
  const Folder folder;
  auto files = std::make_shared<Files>(4);
  using Corpora = std::vector<std::vector<std::shared_ptr<const Corpus>>>;
  auto corpus = std::make_shared<const Corpus>(files, 2, 99, write_shards<std::uint16_t>(folder, "c", {{30}}, 0));
  auto resolver = std::make_shared<const Resolver>(7, std::vector<SourceSpec>{{1, {30}}},
                                                   std::vector<PhaseSpec>{{9, 4, Rule::kEarliestDeadline, {1}}}, std::vector<Skip>{});
  const auto other = std::make_shared<const Resolver>(7, std::vector<SourceSpec>{{1, {31}}}, std::vector<PhaseSpec>{}, std::vector<Skip>{});
  for (const Corpora& corpora : {Corpora{}, Corpora{{}}, Corpora{{corpus}, {corpus}}, Corpora{{corpus, corpus}}, Corpora{{nullptr}}}) {
    CHECK_THROWS_AS(Reader(resolver, corpora, 4, true), std::invalid_argument);
  }
  CHECK_THROWS_AS(Reader(other, {{corpus}}, 4, true), std::invalid_argument);
  for (const std::int64_t seq_len : {std::int64_t{0}, std::int64_t{-4}, kHuge, kHuge / 2}) {
    CHECK_THROWS_AS(Reader(resolver, {{corpus}}, seq_len, true), std::invalid_argument);
  }
  const Reader reader(resolver, {{corpus}}, 4, true);
  std::vector<char> data(static_cast<std::size_t>(reader.row_bytes()));
  Rows rows;
  rows.data = data.data();
  rows.resize(1, true);
  for (const auto& [source, number] : std::vector<std::pair<std::int32_t, std::int32_t>>{{1, 0}, {0, 1}, {-1, 0}, {0, -1}}) {
    rows.samples[0] = {};
    rows.samples[0].source = source;
    rows.samples[0].corpus = number;
    CHECK_THROWS_AS(reader.load(rows, 0, 1), ReadError);
  }
}

// A plan of two sources, one of two bytes and one of four, and a reader of it.
class Run {
 public:
  static constexpr std::int64_t kSeqLen = 8, kLength = 400;

  Run() {
    auto files = std::make_shared<Files>(3);
    const std::vector<std::vector<std::int64_t>> shards = {{100, 0, 30}, {55, 70}, {200}};
    auto two = std::make_shared<Corpus>(files, 2, 1 << 16, write_shards<std::uint16_t>(folder_, "two", shards, 1000));
    auto four = std::make_shared<Corpus>(files, 4, 1 << 20, write_shards<std::uint32_t>(folder_, "four", shards, 100'000));
    resolver = std::make_shared<Resolver>(3, std::vector<SourceSpec>{{1, {two->tokens()}}, {2, {four->tokens()}}},
                                          std::vector<PhaseSpec>{{kLength, kSeqLen, Rule::kEarliestDeadline, {1, 2}}}, std::vector<Skip>{});
    reader = std::make_shared<Reader>(resolver, std::vector<std::vector<std::shared_ptr<const Corpus>>>{{two}, {four}}, kSeqLen, true);
  }

  std::unique_ptr<Prefetch> prefetch(std::size_t slots, std::int64_t rows, int threads) {
    memory_.assign(slots, std::vector<char>(static_cast<std::size_t>(rows * reader->row_bytes())));
    std::vector<SlotMemory> given;
    for (auto& each : memory_) given.push_back({each.data(), each.size()});
    return std::make_unique<Prefetch>(reader, given, threads);
  }

  void check_batch(Prefetch& prefetch, Range rows) const {
    const auto count = static_cast<std::size_t>(rows.count);
    OwnedBatch batch(count, kSeqLen);
    while (!prefetch.take(rows, batch.memory(), 50)) {
    }
    std::vector<Sample> samples(count);
    Resolver::Scratch scratch;
    resolver->resolve(rows.first, rows.count, samples.data(), scratch);
    for (std::size_t row = 0; row < count; ++row) {
      const std::int64_t base = samples[row].source == 0 ? 1000 : 100'000;
      REQUIRE(batch.positions[row] == rows.first + static_cast<std::int64_t>(row));
      REQUIRE(batch.sources[row] == samples[row].source);
      REQUIRE(batch.windows[row] == samples[row].window);
      for (std::size_t t = 0; t < kSeqLen; ++t) {
        REQUIRE(batch.inputs[row * kSeqLen + t] == base + samples[row].first + static_cast<std::int64_t>(t));
        REQUIRE(batch.targets[row * kSeqLen + t] == batch.inputs[row * kSeqLen + t] + 1);
      }
    }
    CHECK(batch.cu_seqlens.front() == 0);
    CHECK(batch.cu_seqlens.back() == static_cast<std::int32_t>(batch.inputs.size()));
    CHECK(batch.documents.size() + 1 == batch.cu_seqlens.size());
  }

  std::string file(const std::string& name) const { return folder_.file(name); }

  std::shared_ptr<const Resolver> resolver;
  std::shared_ptr<const Reader> reader;

 private:
  Folder folder_;
  std::vector<std::vector<char>> memory_;
};

// A file that is gone until it is put back.
class Away {
 public:
  explicit Away(std::string path) : path_(std::move(path)) { std::filesystem::rename(path_, path_ + ".away"); }
  void back() const { std::filesystem::rename(path_ + ".away", path_); }

 private:
  std::string path_;
};

TEST_CASE("what is wanted is read ahead and served in order") {
  Run run;
  for (const int threads : {1, 3, 8}) {
    const auto prefetch = run.prefetch(3, 20, threads);
    for (std::int64_t first = 0; first + 60 <= Run::kLength; first += 20) {
      prefetch->want({{first, 20}, {first + 20, 20}, {first + 40, 20}});
      for (std::int64_t part = 0; part < 20; part += 5) {
        run.check_batch(*prefetch, {first + part, 5});
      }
    }
    CHECK(prefetch->rows_read() >= Run::kLength - 60);
  }
}

TEST_CASE("rows that no thread reads are read by whoever waits for them, and what failed is tried anew") {
  Run run;
  const auto prefetch = run.prefetch(2, 20, 0);
  prefetch->want({{0, 20}, {20, 20}});
  const Away away(run.file("two0.bin"));
  for (int attempt = 0; attempt < 2; ++attempt) {
    CHECK_THROWS_WITH_AS(run.check_batch(*prefetch, {0, 20}), doctest::Contains("cannot open"), ReadError);
  }
  away.back();
  for (std::int64_t first = 0; first < 40; first += 10) {
    run.check_batch(*prefetch, {first, 10});
  }
}

TEST_CASE("wants may change while rows are being read") {
  Run run;
  std::mt19937 random(5);
  const auto prefetch = run.prefetch(3, 30, 4);
  for (int round = 0; round < 300; ++round) {
    const std::int64_t first = static_cast<std::int64_t>(random() % 300), count = 1 + static_cast<std::int64_t>(random() % 30);
    std::vector<Range> ranges;
    for (std::int64_t k = 0, at = first; k < 3 && at + count <= Run::kLength; ++k, at += count) ranges.push_back({at, count});
    prefetch->want(ranges);
    if (round % 3 == 0 && !ranges.empty()) {
      run.check_batch(*prefetch, ranges[0]);
    }
  }
}

TEST_CASE("closing ends the threads while rows are being read, and what is asked afterwards is refused") {
  Run run;
  for (int round = 0; round < 30; ++round) {
    const auto prefetch = run.prefetch(2, 200, 6);
    prefetch->want({{0, 200}, {200, 200}});
    if (round % 2) prefetch->close(0);
    prefetch->close(0);
    CHECK_THROWS_AS(prefetch->want({{0, 1}}), MisuseError);
    CHECK_THROWS_AS(run.check_batch(*prefetch, {0, 1}), MisuseError);
  }
}

TEST_CASE("another thread may close what one waits for") {
  Run run;
  const auto prefetch = run.prefetch(1, 400, 1);
  prefetch->want({{0, 400}});
  std::atomic<bool> refused{false};
  std::thread waiting([&] {
    try {
      while (true) {
        run.check_batch(*prefetch, {0, 400});
        prefetch->want({{0, 399}});
        prefetch->want({{0, 400}});
      }
    } catch (const MisuseError&) {
      refused = true;
    }
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  prefetch->close(0);
  waiting.join();
  CHECK(refused);
}

TEST_CASE("several threads may ask at once, for what fails too") {
  Run run;
  const auto prefetch = run.prefetch(2, 40, 2);
  prefetch->want({{0, 40}, {40, 40}});
  const Away away(run.file("two0.bin"));
  std::atomic<bool> back{false};
  std::atomic<int> failed{0};
  std::vector<std::thread> consumers;
  for (int consumer = 0; consumer < 3; ++consumer) {
    consumers.emplace_back([&, consumer] {
      for (std::int64_t part = 0; !back || part < 40; part = part < 40 ? part + 8 : 0) {
        try {
          if (part < 40) run.check_batch(*prefetch, {part, 8});
          if (consumer == 0) prefetch->want({{0, 40}, {40 + part, 40 - part % 16}});
        } catch (const ReadError&) {
          ++failed;
        }
      }
    });
  }
  while (failed < 20) std::this_thread::yield();
  away.back();
  back = true;
  for (std::thread& consumer : consumers) consumer.join();
  prefetch->want({{0, 40}});
  run.check_batch(*prefetch, {0, 40});
}

TEST_CASE("whoever waits for rows begins no others") {
  Run run;
  const auto prefetch = run.prefetch(1, 40, 0);
  prefetch->want({{0, 40}});
  run.check_batch(*prefetch, {0, 1});
  CHECK(prefetch->rows_read() < 40);
  const std::int64_t read = prefetch->rows_read();
  run.check_batch(*prefetch, {0, 1});
  CHECK(prefetch->rows_read() == read);
}

TEST_CASE("a document index whose starts are out of order anywhere is refused") {
  const Folder folder;
  auto files = std::make_shared<Files>(8);
  const std::vector<ShardSpec> shards = write_shards<std::uint32_t>(folder, "c", {std::vector<std::int64_t>(2000, 3)}, 0);
  std::vector<std::int64_t> starts;
  for (std::int64_t document = 0; document < 2000; ++document) starts.push_back(3 * document);
  for (const std::size_t wrong : {0, 1, 511, 512, 1700, 1999}) {
    for (const std::int64_t start : {std::int64_t{-1}, std::int64_t{2}, std::int64_t{5997}, std::int64_t{6001}, kHuge}) {
      std::vector<std::int64_t> damaged = starts;
      damaged[wrong] = start;
      if (std::is_sorted(damaged.begin(), damaged.end()) && damaged.front() == 0 && damaged.back() <= 6000) continue;
      write_numbers(shards[0].index_path, damaged, std::string(16, 'h'));
      const Corpus corpus(files, 4, 1 << 20, shards);
      std::vector<DocumentRun> runs;
      for (const std::int64_t first : {0, 900, 5000}) {
        CHECK_THROWS_WITH_AS(corpus.documents(first, 9, runs), doctest::Contains("document starts that ascend"), ReadError);
      }
    }
  }
}

TEST_CASE("memory is used again, and sizes that nobody asks for any more do not stay") {
  MemoryPool pool(1000);
  void* const first = pool.take(400);
  pool.give(first, 400);
  CHECK(pool.take(400) == first);
  pool.give(first, 400);
  pool.give(pool.take(300), 300);
  void* const latest = pool.take(500);
  pool.give(latest, 500);  // 1,200 bytes: the oldest goes
  CHECK(pool.take(500) == latest);
  pool.give(latest, 500);
  pool.give(pool.take(2000), 2000);  // more than is kept at all
}

TEST_CASE("what was not wanted, or has no room, is refused") {
  Run run;
  const auto prefetch = run.prefetch(2, 10, 2);
  prefetch->want({{0, 10}});
  CHECK_THROWS_AS(run.check_batch(*prefetch, {5, 10}), MisuseError);
  CHECK_THROWS_AS(prefetch->want({{0, 11}}), MisuseError);
  CHECK_THROWS_AS(prefetch->want({{0, 10}, {10, 10}, {20, 10}}), MisuseError);
  for (const Range rows : {Range{0, -1}, Range{-1, 1}, Range{0, kHuge}, Range{kHuge, 1}}) {
    CHECK_THROWS_AS(prefetch->want({rows}), MisuseError);
    CHECK_THROWS_AS(prefetch->take(rows, BatchMemory{}, 1), MisuseError);
  }
}

}  // namespace
}  // namespace fivepoint
