// A disk that fails while something reads and mends what is on it: an input chooses which operations, and
// how.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "input_reader.h"
#include "memory_disk.h"

namespace booblik::fuzz {

class DiskFaults {
 public:
  using Operation = log::MemoryDisk::Operation;
  using Verdict = log::MemoryDisk::Verdict;

  explicit DiskFaults(InputReader& input) {
    faults_.resize(1 + input.below(3));
    for (Fault& fault : faults_) {
      fault.operation = kOperations[input.below(kOperations.size())];
      fault.number = input.byte();
      fault.kind = static_cast<Kind>(input.below(4));
      fault.lasts = input.below(4) == 0;
      cuts_ = cuts_ || fault.kind == Kind::shorter;
    }
  }

  // For as long as both live, or until the disk is told otherwise.
  void arm(log::MemoryDisk& disk) {
    disk.intercept = [this, &disk](Operation operation, const std::string& path) {
      return ask(disk, operation, path);
    };
  }

  // Whether files may have lost their ends to somebody else.
  [[nodiscard]] bool cuts() const { return cuts_; }

 private:
  enum class Kind : std::uint8_t { io, no_space, too_many_files, shorter };

  struct Fault {
    Operation operation = Operation::read;
    std::int64_t number = 0;  // which operation of this kind, from 0
    Kind kind = Kind::io;
    bool lasts = false;  // all later ones of this kind, too
  };

  static constexpr std::array kOperations = {
      Operation::open,          Operation::create, Operation::create_directory,
      Operation::list,          Operation::read,   Operation::size,
      Operation::write,         Operation::sync,   Operation::truncate,
      Operation::rename,        Operation::remove, Operation::lock,
      Operation::sync_directory};

  Verdict ask(log::MemoryDisk& disk, Operation operation, const std::string& path) {
    const std::int64_t number = asked_[operation]++;
    for (const Fault& fault : faults_) {
      const bool hit = fault.lasts ? number >= fault.number : number == fault.number;
      if (fault.operation != operation || !hit) {
        continue;
      }
      if (fault.kind == Kind::shorter) {
        if (disk.exists(path)) {
          disk.content(path).resize(disk.content(path).size() / 2);
        }
        return {};
      }
      static constexpr std::array kCodes = {ErrorCode::io, ErrorCode::no_space, ErrorCode::too_many_files};
      return {kCodes[static_cast<std::size_t>(fault.kind)], 3};
    }
    return {};
  }

  std::vector<Fault> faults_;
  std::map<Operation, std::int64_t> asked_;
  bool cuts_ = false;
};

}  // namespace booblik::fuzz
