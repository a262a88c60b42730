// Answers questions from standard input, a line each, so that golden vectors can be held to a build for another machine, under an emulator.
//
//   permutation SEED [WORDS] N [X]                               y of each x, and x again by the inverse
//   blend RULE [WEIGHTS] [Q]                                     source and draw of each q
//   resolve SEED S {KEY [TOKENS]} P {LENGTH GRID RULE [WEIGHTS]} [AT COUNT AT COUNT ...] [POSITIONS]
//                                                                phase, source, corpus, draw, epoch, offset, window, first of each
//   boundaries ITEM VOCAB SEQ_LEN S {"PATH" TOKENS "INDEX" DOCUMENTS HEADER} [FIRST TOKENS]
//                                                                inputs, targets, document ids, position ids, loss mask; cu_seqlens
//
// [LIST] is its length and its numbers. What is refused is answered by "refused".
#include <cstdint>
#include <iomanip>
#include <iostream>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "../permutation.h"
#include "../reader.h"
#include "../resolver.h"
#include "owned.h"

namespace fivepoint {
namespace {

template <typename T>
T next(std::istream& line) {
  T found{};
  if (!(line >> found)) throw std::invalid_argument("expected more on the line");
  return found;
}

template <typename T>
std::vector<T> list(std::istream& line) {
  std::vector<T> found(next<std::size_t>(line));
  for (T& each : found) each = next<T>(line);
  return found;
}

std::string quoted(std::istream& line) {
  std::string found;
  line >> std::quoted(found);
  return found;
}

Rule rule(std::istream& line) { return next<std::string>(line) == "furthest-behind" ? Rule::kFurthestBehind : Rule::kEarliestDeadline; }

template <typename T>
void print(const std::vector<T>& numbers) {
  for (const T each : numbers) std::cout << static_cast<std::int64_t>(each) << ' ';
}

void permutation(std::istream& line) {
  const auto seed = next<std::uint64_t>(line);
  const auto words = list<std::uint64_t>(line);
  const Permutation found(Permutation::Sides(next<std::uint64_t>(line)), absorb(seed, words));
  for (const std::uint64_t x : list<std::uint64_t>(line)) std::cout << found(x) << ' ' << found.inverse(found(x)) << ' ';
}

void blend(std::istream& line) {
  const Rule by = rule(line);
  const Blend found(list<std::int64_t>(line), by);
  for (const std::int64_t q : list<std::int64_t>(line)) std::cout << found(q).source << ' ' << found(q).number << ' ';
}

void resolve(std::istream& line) {
  const auto seed = next<std::uint64_t>(line);
  std::vector<SourceSpec> sources(next<std::size_t>(line));
  for (SourceSpec& each : sources) {
    each.key = next<std::uint64_t>(line);
    each.tokens = list<std::int64_t>(line);
  }
  std::vector<PhaseSpec> phases(next<std::size_t>(line));
  for (PhaseSpec& each : phases) {
    each.length = next<std::int64_t>(line);
    each.grid = next<std::int64_t>(line);
    each.rule = rule(line);
    each.weights = list<std::int64_t>(line);
  }
  const auto pairs = list<std::int64_t>(line);
  std::vector<Skip> skips;
  for (std::size_t i = 0; i < pairs.size(); i += 2) skips.push_back({pairs[i], pairs[i + 1]});
  const Resolver resolver(seed, sources, phases, skips);
  Resolver::Scratch scratch;
  for (const std::int64_t position : list<std::int64_t>(line)) {
    Sample at;
    resolver.resolve(position, 1, &at, scratch);
    print<std::int64_t>({at.phase, at.source, at.corpus, at.draw, at.epoch, at.offset, at.window, at.first});
  }
}

void boundaries(std::istream& line) {
  const auto item_size = next<int>(line);
  const auto vocab_size = next<std::int64_t>(line), seq_len = next<std::int64_t>(line);
  std::vector<ShardSpec> shards(next<std::size_t>(line));
  for (ShardSpec& each : shards) {
    each.tokens_path = quoted(line);
    each.tokens = next<std::int64_t>(line);
    each.index_path = quoted(line);
    each.documents = next<std::int64_t>(line);
    each.index_header = next<std::int64_t>(line);
  }
  const auto corpus = std::make_shared<const Corpus>(std::make_shared<Files>(16), item_size, vocab_size, shards);
  const auto resolver = std::make_shared<const Resolver>(0, std::vector<SourceSpec>{{0, {corpus->tokens()}}}, std::vector<PhaseSpec>{},
                                                         std::vector<Skip>{});
  const Reader reader(resolver, {{corpus}}, seq_len, true);
  const auto firsts = list<std::int64_t>(line);
  const std::size_t rows = firsts.size(), tokens = rows * static_cast<std::size_t>(seq_len);
  std::vector<char> data(rows * static_cast<std::size_t>(reader.row_bytes()));
  Rows read;
  read.data = data.data();
  read.resize(rows, true);
  for (std::size_t row = 0; row < rows; ++row) {
    read.samples[row] = {};
    read.samples[row].first = firsts[row];
  }
  const auto count = static_cast<std::int64_t>(rows);
  reader.load(read, 0, count);
  OwnedBatch batch(rows, static_cast<std::size_t>(seq_len));
  reader.widen(read, 0, count, batch.memory(), 0, count);
  const std::vector<std::int64_t> mask(batch.loss_mask.get(), batch.loss_mask.get() + batch.inputs.size());
  for (const auto& numbers : {batch.inputs, batch.targets, batch.document_ids, batch.position_ids, mask}) print(numbers);
  print(batch.cu_seqlens);
}

void answer(const std::string& text) {
  std::istringstream line(text);
  const auto kind = next<std::string>(line);
  if (kind == "permutation") return permutation(line);
  if (kind == "blend") return blend(line);
  if (kind == "resolve") return resolve(line);
  if (kind == "boundaries") return boundaries(line);
  throw std::invalid_argument("expected a question");
}

}  // namespace
}  // namespace fivepoint

int main() {
  for (std::string line; std::getline(std::cin, line);) {
    try {
      fivepoint::answer(line);
    } catch (const std::exception&) {
      std::cout << "refused";
    }
    std::cout << std::endl;
  }
}
