// fivepoint.fastpath._C: what Python sees of the native loader. Memory comes from Python, as addresses; the GIL is released around work.
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <array>
#include <exception>
#include <string>
#include <system_error>

#include "blend.h"
#include "device/cuda.h"
#include "permutation.h"
#include "pool.h"
#include "prefetch.h"
#include "reader.h"
#include "resolver.h"

namespace py = pybind11;

namespace fivepoint {
namespace {

// While it lives, other threads of Python run. A thread that comes back when the interpreter ends is unwound from here by Python before
// 3.14; through the destructor of py::gil_scoped_release, which lets nothing through, that would end the process with an error.
class WithoutGil {
 public:
  WithoutGil() : state_(PyEval_SaveThread()) {}
  ~WithoutGil() noexcept(false) { PyEval_RestoreThread(state_); }
  WithoutGil(const WithoutGil&) = delete;
  WithoutGil& operator=(const WithoutGil&) = delete;

 private:
  PyThreadState* state_;
};

using Released = py::call_guard<WithoutGil>;

constexpr std::int64_t kBlockBytes = 128 << 10;

template <typename T>
T* at(std::uintptr_t address) {
  return reinterpret_cast<T*>(address);
}

Rule rule_named(const std::string& name) {
  if (name == "earliest-deadline") return Rule::kEarliestDeadline;
  if (name == "furthest-behind") return Rule::kFurthestBehind;
  throw std::invalid_argument("expected a blend rule, found " + name);
}

std::uint64_t expect_below(std::uint64_t value, std::uint64_t n) {
  if (value >= n) throw std::out_of_range("expected an item below " + std::to_string(n) + ", found " + std::to_string(value));
  return value;
}

std::unique_ptr<Permutation> make_permutation(std::uint64_t n, std::uint64_t seed, const std::vector<std::uint64_t>& words) {
  if (n < 1 || n > Permutation::kLargest) throw std::out_of_range("expected 1 to 2^48 items, found " + std::to_string(n));
  return std::make_unique<Permutation>(Permutation::Sides(n), absorb(seed, words));
}

using SourceTuple = std::pair<std::uint64_t, std::vector<std::int64_t>>;
using PhaseTuple = std::tuple<std::int64_t, std::int64_t, std::string, std::vector<std::int64_t>>;
using SkipTuple = std::pair<std::int64_t, std::int64_t>;

std::shared_ptr<Resolver> make_resolver(std::uint64_t seed, const std::vector<SourceTuple>& sources,
                                        const std::vector<PhaseTuple>& phases, const std::vector<SkipTuple>& skips) {
  std::vector<SourceSpec> source_specs;
  for (const auto& [key, tokens] : sources) source_specs.push_back({key, tokens});
  std::vector<PhaseSpec> phase_specs;
  for (const auto& [length, grid, rule, weights] : phases) phase_specs.push_back({length, grid, rule_named(rule), weights});
  std::vector<Skip> skip_list;
  for (const auto& [where, count] : skips) skip_list.push_back({where, count});
  return std::make_shared<Resolver>(seed, std::move(source_specs), phase_specs, skip_list);
}

// int64 [count, 8]: phase, source, corpus, draw, epoch, offset, window, first token
py::array_t<std::int64_t> resolve(const Resolver& resolver, std::int64_t first, std::int64_t count) {
  resolver.expect_in_run(first, count);
  std::vector<Sample> samples(static_cast<std::size_t>(count));
  {
    const WithoutGil released;
    Resolver::Scratch scratch;
    resolver.resolve(first, count, samples.data(), scratch);
  }
  py::array_t<std::int64_t> found({count, std::int64_t{8}});
  std::int64_t* to = found.mutable_data();
  for (const Sample& each : samples) {
    for (const std::int64_t value :
         {std::int64_t{each.phase}, std::int64_t{each.source}, std::int64_t{each.corpus}, each.draw, each.epoch, each.offset, each.window,
          each.first}) {
      *to++ = value;
    }
  }
  return found;
}

// int64 or bool, of any content. Whoever drops the last view of it gives the memory back, whatever became of the pool's owner.
py::array pooled(std::shared_ptr<MemoryPool> pool, const std::vector<py::ssize_t>& shape, bool is_bool) {
  struct Block {
    std::shared_ptr<MemoryPool> pool;
    void* data;
    std::size_t bytes;
  };
  std::size_t bytes = is_bool ? sizeof(bool) : sizeof(std::int64_t);
  for (const py::ssize_t size : shape) bytes *= static_cast<std::size_t>(size);
  auto block = std::make_unique<Block>(Block{pool, nullptr, std::max<std::size_t>(1, bytes)});
  block->data = pool->take(block->bytes);
  void* data = block->data;
  const py::capsule owner(block.release(), [](void* held) {
    const std::unique_ptr<Block> back(static_cast<Block*>(held));
    back->pool->give(back->data, back->bytes);
  });
  return py::array(is_bool ? py::dtype::of<bool>() : py::dtype::of<std::int64_t>(), shape, data, owner);
}

struct Memory {
  std::uintptr_t inputs, targets, positions, sources, windows, document_ids, position_ids, loss_mask;
  bool cu_seqlens;
  std::vector<std::int32_t> bounds;
  std::vector<std::int64_t> documents;

  BatchMemory batch() {
    bounds.clear();
    documents.clear();
    return {at<std::int64_t>(inputs),       at<std::int64_t>(targets),     at<std::int64_t>(positions),
            at<std::int64_t>(sources),      at<std::int64_t>(windows),     at<std::int64_t>(document_ids),
            at<std::int64_t>(position_ids), at<bool>(loss_mask),           cu_seqlens ? &bounds : nullptr,
            cu_seqlens ? &documents : nullptr};
  }
};

// Reads `count` rows by `read(rows, first, how many)` in this thread, and writes them as a batch: a few at a time, so that what was read
// is still in the cache when it is widened.
template <typename Read>
void read_here(const Reader& reader, std::size_t count, Memory& memory, Read read) {
  const WithoutGil released;
  const BatchMemory batch = memory.batch();
  const auto of = static_cast<std::int64_t>(count);
  const std::int64_t block = std::clamp<std::int64_t>(kBlockBytes / reader.row_bytes(), 1, std::max<std::int64_t>(1, of));
  std::vector<char> data(static_cast<std::size_t>(block * reader.row_bytes()));
  Rows rows;
  rows.data = data.data();
  rows.resize(static_cast<std::size_t>(block), reader.with_documents());
  for (std::int64_t at = 0; at < of; at += block) {
    const std::int64_t here = std::min(block, of - at);
    read(rows, at, here);
    reader.widen(rows, 0, here, batch, at, of);
  }
}

void read_positions(const Reader& reader, const std::vector<std::int64_t>& positions, Memory& memory) {
  Resolver::Scratch scratch;
  read_here(reader, positions.size(), memory, [&](Rows& rows, std::int64_t at, std::int64_t count) {
    for (std::int64_t row = 0; row < count; ++row) reader.read(positions[static_cast<std::size_t>(at + row)], 1, rows, row, scratch);
  });
}

using Place = std::tuple<std::int32_t, std::int32_t, std::int64_t>;  // source, corpus, first token

void read_places(const Reader& reader, const std::vector<Place>& places, Memory& memory) {
  read_here(reader, places.size(), memory, [&](Rows& rows, std::int64_t at, std::int64_t count) {
    for (std::int64_t row = 0; row < count; ++row) {
      Sample& sample = rows.samples[static_cast<std::size_t>(row)];
      sample.position = at + row;
      std::tie(sample.source, sample.corpus, sample.first) = places[static_cast<std::size_t>(at + row)];
    }
    reader.load(rows, 0, count);
  });
}

// Readers and loaders refuse in the exceptions that the face has anyway.
void translate(std::exception_ptr thrown) {
  const auto raise = [](const char* kind, const std::exception& reason) {
    py::set_error(py::module_::import("fivepoint.errors").attr(kind), reason.what());
  };
  try {
    if (thrown) std::rethrow_exception(thrown);
  } catch (const ReadError& reason) {
    raise("CorpusError", reason);
  } catch (const MisuseError& reason) {
    raise("UsageError", reason);
  } catch (const NoKernelError& reason) {
    raise("NoKernelError", reason);
  } catch (const DeviceError& reason) {
    raise("DeviceError", reason);
  } catch (const std::system_error& reason) {  // of threads alone
    raise("UsageError", MisuseError(std::string("expected to start the threads that read, found that the system has none left: ") +
                                    reason.what() + "; ask for fewer, or raise the limit of threads (`ulimit -u`) or of memory"));
  }
}

bool is_finalizing() {
#if PY_VERSION_HEX >= 0x030D0000
  return Py_IsFinalizing();
#else
  return _Py_IsFinalizing();
#endif
}

// Holds an object, and lets it go in whatever thread.
std::shared_ptr<void> held(const py::object& object) {
  return {new py::object(object), [](void* memory) {
            if (is_finalizing()) return;  // all of it goes with the process
            const py::gil_scoped_acquire gil;
            delete static_cast<py::object*>(memory);
          }};
}

}  // namespace
}  // namespace fivepoint

PYBIND11_MODULE(_C, m) {
  using namespace fivepoint;
  using Pairs = std::vector<std::pair<std::int64_t, std::int64_t>>;

  m.doc() = "The native part of the loader; fivepoint.fastpath is its face.";
  py::register_local_exception_translator(&translate);

  py::class_<Permutation>(m, "Permutation")
      .def(py::init(&make_permutation), py::arg("n"), py::arg("seed"), py::arg("words"))
      .def("__call__", [](const Permutation& self, std::uint64_t x) { return self(expect_below(x, self.size())); })
      .def("inverse", [](const Permutation& self, std::uint64_t y) { return self.inverse(expect_below(y, self.size())); });

  py::class_<Blend>(m, "Blend")
      .def(py::init([](std::vector<std::int64_t> weights, const std::string& rule, std::int64_t limit) {
             return std::make_unique<Blend>(std::move(weights), rule_named(rule), limit);
           }),
           py::arg("weights"), py::arg("rule"), py::arg("limit") = -1, Released())
      .def("__call__",
           [](const Blend& self, std::int64_t q) {
             if (q < 0 || (self.limit() >= 0 && q >= self.limit())) throw std::out_of_range("expected a local position of the phase");
             const Blend::Draw draw = self(q);
             return std::make_pair(draw.source, draw.number);
           })
      .def("position", &Blend::position)
      .def("counts", [](const Blend& self, std::int64_t q) {
        if (q < 0) throw std::out_of_range("expected a local position from 0 on");
        return self.counts(q);
      });

  py::class_<Resolver, std::shared_ptr<Resolver>>(m, "Resolver")
      .def(py::init(&make_resolver), py::arg("seed"), py::arg("sources"), py::arg("phases"), py::arg("skips"), Released())
      .def_property_readonly("length", &Resolver::length)
      .def("resolve", &resolve, py::arg("first"), py::arg("count"));

  py::class_<Files, std::shared_ptr<Files>>(m, "Files").def(py::init<std::size_t>(), py::arg("most"));

  py::class_<Corpus, std::shared_ptr<Corpus>>(m, "Corpus")
      .def(py::init([](std::shared_ptr<Files> files, int item_size, std::int64_t vocab_size,
                       const std::vector<std::tuple<std::string, std::int64_t, std::string, std::int64_t, std::int64_t>>& shards) {
             std::vector<ShardSpec> specs;
             for (const auto& [path, tokens, index, documents, header] : shards) specs.push_back({path, tokens, index, documents, header});
             return std::make_shared<Corpus>(std::move(files), item_size, vocab_size, specs);
           }),
           py::arg("files"), py::arg("item_size"), py::arg("vocab_size"), py::arg("shards"), Released());

  py::class_<MemoryPool, std::shared_ptr<MemoryPool>>(m, "MemoryPool")
      .def(py::init<std::size_t>(), py::arg("most"))
      .def("take", &pooled, py::arg("shape"), py::arg("is_bool") = false);

  py::class_<Memory>(m, "Memory")
      .def(py::init([](const std::array<std::uintptr_t, 8>& to, bool cu_seqlens) {
             return Memory{to[0], to[1], to[2], to[3], to[4], to[5], to[6], to[7], cu_seqlens, {}, {}};
           }),
           py::arg("addresses"), py::arg("cu_seqlens"))
      .def_property_readonly("bounds", [](const Memory& self) {
        return py::array_t<std::int32_t>(static_cast<py::ssize_t>(self.bounds.size()), self.bounds.data());
      })
      .def_property_readonly("documents", [](const Memory& self) {
        return py::array_t<std::int64_t>(static_cast<py::ssize_t>(self.documents.size()), self.documents.data());
      });

  py::class_<Reader, std::shared_ptr<Reader>>(m, "Reader")
      .def(py::init([](std::shared_ptr<Resolver> resolver, const std::vector<std::vector<std::shared_ptr<Corpus>>>& corpora,
                       std::int64_t seq_len, bool with_documents) {
             std::vector<std::vector<std::shared_ptr<const Corpus>>> shared;
             for (const auto& source : corpora) shared.emplace_back(source.begin(), source.end());
             return std::make_shared<Reader>(std::move(resolver), std::move(shared), seq_len, with_documents);
           }),
           py::arg("resolver"), py::arg("corpora"), py::arg("seq_len"), py::arg("with_documents"))
      .def_property_readonly("row_bytes", &Reader::row_bytes)
      .def("read", &read_positions, py::arg("positions"), py::arg("memory"))
      .def("read_places", &read_places, py::arg("places"), py::arg("memory"));

  py::class_<Device, std::shared_ptr<Device>>(m, "Device", py::release_gil_before_calling_cpp_dtor())
      .def(
          "is_captured",
          [](Device& self, Device::Stream stream) {
            const Device::Use use(self);
            return self.is_captured(stream);
          },
          py::arg("stream"), Released());
  m.def("open_cuda", &open_cuda, py::arg("number"), Released());

  py::class_<DeviceBatch>(m, "DeviceBatch")
      .def(py::init([](const std::array<Device::Address, 7>& to, std::int64_t runs) {
             return DeviceBatch{to[0], to[1], to[2], to[3], to[4], to[5], to[6], runs};
           }),
           py::arg("addresses"), py::arg("runs"));

  // Its threads are waited for when it goes, and what they write into goes after it.
  py::class_<Prefetch>(m, "Prefetch", py::release_gil_before_calling_cpp_dtor())
      .def(py::init([](std::shared_ptr<Reader> reader, const std::vector<std::tuple<std::uintptr_t, std::size_t, Device::Address>>& slots,
                       int threads, std::shared_ptr<Device> device, Device::Stream consumer, const py::object& memory) {
             std::vector<SlotMemory> given;
             for (const auto& [address, bytes, there] : slots) given.push_back({at<void>(address), bytes, there});
             return std::make_unique<Prefetch>(std::move(reader), given, threads, std::move(device), consumer, held(memory));
           }),
           py::arg("reader"), py::arg("slots"), py::arg("threads"), py::arg("device"), py::arg("consumer"), py::arg("memory"))
      .def(
          "want",
          [](Prefetch& self, const Pairs& ranges) {
            std::vector<Range> wanted;
            for (const auto& [first, count] : ranges) wanted.push_back({first, count});
            self.want(wanted);
          },
          py::arg("ranges"), Released())
      .def(
          "take",
          [](Prefetch& self, std::int64_t first, std::int64_t count, Memory& memory, int milliseconds) {
            return self.take({first, count}, memory.batch(), milliseconds);
          },
          py::arg("first"), py::arg("count"), py::arg("memory"), py::arg("milliseconds"), Released())
      .def(
          "widen",
          [](Prefetch& self, std::int64_t first, std::int64_t count, const DeviceBatch& batch, Device::Stream stream) {
            self.take({first, count}, batch, stream);
          },
          py::arg("first"), py::arg("count"), py::arg("batch"), py::arg("stream"), Released())
      .def("close", &Prefetch::close, py::arg("milliseconds"), Released())
      .def_property_readonly("rows_read", &Prefetch::rows_read);
}
