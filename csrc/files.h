// Shards on disk, read by position: opened when first needed, held as long as descriptors last, and never another file than at the start.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "errors.h"

namespace fivepoint {

// An open file; the descriptor is closed with it.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor();
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int number() const { return number_; }

 private:
  int number_;
};

class Files {
 public:
  // At most `most` descriptors are held, with those of the process's other Files; throws std::invalid_argument for none at all.
  explicit Files(std::size_t most);
  ~Files();
  Files(const Files&) = delete;
  Files& operator=(const Files&) = delete;

  // Adds a file of `bytes` bytes and returns its number; all are added before one is read. What stands under the path now is what every later read must find: throws
  // ReadError where that is nothing, or of another size.
  std::size_t add(std::string path, std::int64_t bytes);

  // Reads `bytes` bytes at `at` of a file; throws ReadError where fewer are there. `what` says what they are, for the message.
  void read(std::size_t number, void* to, std::int64_t bytes, std::int64_t at, const char* what) const;

  const std::string& path(std::size_t number) const { return files_[number].path; }

 private:
  struct File {
    std::string path;
    std::int64_t bytes;
    dev_t device;
    ino_t inode;
    timespec changed;  // a file that is written anew may get the number of the one that was removed
    std::shared_ptr<const Descriptor> open;
    bool used;
  };

  std::shared_ptr<const Descriptor> descriptor(std::size_t number) const;
  std::shared_ptr<const Descriptor> opened(const File& file) const;
  bool close_one() const;
  void pass_used() const;

  std::size_t most_;
  // The lock guards descriptors alone; reads run outside it.
  mutable std::mutex lock_;
  mutable std::vector<File> files_;
  mutable std::vector<std::size_t> held_;  // in a ring; `hand_` is that of the clock algorithm
  mutable std::size_t hand_ = 0;
};

}  // namespace fivepoint
