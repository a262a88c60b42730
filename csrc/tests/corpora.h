// A corpus of serial numbers in a temporary folder, for the tests below.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "../corpus.h"

namespace fivepoint {

class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "fivepoint-XXXXXX").string();
    path_ = mkdtemp(name.data());
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string file(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

template <typename Number>
void write_numbers(const std::string& path, const std::vector<Number>& numbers, const std::string& before = "") {
  std::ofstream file(path, std::ios::binary);
  file << before;
  file.write(reinterpret_cast<const char*>(numbers.data()), static_cast<std::streamsize>(numbers.size() * sizeof(Number)));
}

// Writes shards of documents of these lengths, ids from `first` on.
template <typename Token>
std::vector<ShardSpec> write_shards(const Folder& folder, const std::string& name, const std::vector<std::vector<std::int64_t>>& shards,
                                    std::int64_t first) {
  std::vector<ShardSpec> specs;
  for (const auto& lengths : shards) {
    std::vector<Token> tokens;
    std::vector<std::int64_t> starts;
    for (const std::int64_t length : lengths) {
      starts.push_back(static_cast<std::int64_t>(tokens.size()));
      for (std::int64_t t = 0; t < length; ++t) tokens.push_back(static_cast<Token>(first++));
    }
    const std::string path = folder.file(name + std::to_string(specs.size()));
    write_numbers(path + ".bin", tokens);
    write_numbers(path + ".idx", starts, std::string(16, 'h'));
    specs.push_back({path + ".bin", static_cast<std::int64_t>(tokens.size()), path + ".idx", static_cast<std::int64_t>(starts.size()), 16});
  }
  return specs;
}

}  // namespace fivepoint
