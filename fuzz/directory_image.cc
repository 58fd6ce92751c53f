#include "directory_image.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "base/crc32c.h"
#include "log/checkpoint.h"
#include "log/index_file.h"
#include "log/record.h"
#include "log/segment.h"

namespace booblik::fuzz {
namespace {

constexpr std::size_t kFilesMax = 24;
constexpr std::size_t kPiecesMax = 32;
constexpr std::size_t kLargePiecesMax = 1;         // of a whole directory: they take long
constexpr std::size_t kLargeRecordBytes = 70'000;  // more than recovery reads at once to look for a record

// Bytes from here on choose what would cost too much, or hide too much, if it were common.
constexpr std::uint8_t kRare = 0xF8;

using Content = log::MemoryDisk::Content;

void put_big_endian(Content& out, std::integral auto value) {
  const std::size_t at = out.size();
  out.resize(at + sizeof value);
  store_big_endian(out.data() + at, value);
}

// Never past the last number that there is.
Offset ahead(Offset from, std::int64_t count) {
  return Offset(from.value() + std::min(count, std::numeric_limits<std::int64_t>::max() - from.value()));
}

class DirectoryImage {
 public:
  DirectoryImage(InputReader& input, log::MemoryDisk& disk, const std::string& path)
      : input_(input), disk_(disk), path_(path) {}

  void make() {
    for (std::size_t file = 0; file < kFilesMax && !input_.empty(); ++file) {
      const std::size_t kind = input_.below(16);
      const auto partition = static_cast<std::int32_t>(input_.below(kPartitions));
      if (kind < 7) {
        put_segment(partition, next_base(partition));
      } else if (kind < 10) {
        put_index(partition);
      } else if (kind < 13) {
        put_checkpoint();
      } else {
        put_odd_file(partition);
      }
    }
  }

 private:
  struct Written {
    std::vector<log::IndexEntry> entries;  // of every record
    std::int64_t records = 0;
    std::int64_t bytes = 0;  // up to the end of the last good record
    std::int64_t file_bytes = 0;
  };

  [[nodiscard]] std::string directory_of(std::int32_t partition) const {
    return path_ + "/" + kTopic + "-" + std::to_string(partition);
  }

  // Where the partition goes on, mostly; or somewhere else.
  std::int64_t next_base(std::int32_t partition) {
    static constexpr std::array<std::int64_t, 6> kOdd = {0,
                                                         1,
                                                         std::int64_t{1} << 32U,
                                                         std::int64_t{1} << 40U,
                                                         std::numeric_limits<std::int64_t>::max() - 1,
                                                         std::numeric_limits<std::int64_t>::max()};
    const std::size_t choice = input_.below(16);
    if (choice < 10) {
      return ends_[partition];
    }
    if (choice < 14) {
      const std::int64_t end = std::min(ends_[partition], log::kOffsetMax.value());
      return std::max<std::int64_t>(0, end + static_cast<std::int8_t>(input_.byte()));
    }
    return kOdd[input_.below(kOdd.size())];
  }

  void add_record(Content& out, Written& written, std::int64_t base, std::size_t size) {
    Content payload(size == 0 ? 1 : size, static_cast<std::byte>(written.records + 1));
    const std::uint32_t crc = crc32c(payload);
    const auto position = static_cast<std::int64_t>(out.size());
    if (base <= std::numeric_limits<std::int64_t>::max() - written.records) {
      written.entries.push_back({Offset(base + written.records), Position(position), crc});
    }
    put_big_endian(out, static_cast<std::int32_t>(payload.size()));
    put_big_endian(out, crc);
    out.insert(out.end(), payload.begin(), payload.end());
    ++written.records;
    written.bytes = static_cast<std::int64_t>(out.size());
  }

  void add_piece(Content& out, Written& written, std::int64_t base) {
    const std::uint8_t choice = input_.byte();
    if (choice >= kRare && large_pieces_ < kLargePiecesMax) {
      ++large_pieces_;
      add_large_piece(out, written, base, choice);
      return;
    }
    switch (choice % 8) {
      case 0:
      case 1:
      case 2:
        for (std::size_t count = 1 + input_.below(8), size = input_.below(64); count > 0; --count) {
          add_record(out, written, base, size);
        }
        break;
      case 3:
        out.resize(out.size() + input_.byte());
        break;
      case 4: {
        const Bytes raw = input_.take(input_.byte());
        out.insert(out.end(), raw.begin(), raw.end());
        break;
      }
      case 5:  // a record whose checksum is wrong
        add_record(out, written, base, input_.below(64));
        out.back() ^= std::byte{0x40};
        break;
      case 6:  // a header alone, with any size
        put_big_endian(out, input_.number<std::int32_t>());
        put_big_endian(out, input_.number<std::uint32_t>());
        break;
      default:  // one byte of what is there
        if (!out.empty()) {
          out[input_.number<std::uint16_t>() % out.size()] ^= static_cast<std::byte>(input_.byte());
        }
    }
  }

  // What only shows in a lot of bytes: more than are read at once, or more damage than is told apart.
  void add_large_piece(Content& out, Written& written, std::int64_t base, std::uint8_t choice) {
    if (choice % 2 == 0) {
      for (std::size_t count = 1 + input_.below(2); count > 0; --count) {
        add_record(out, written, base, kLargeRecordBytes);
      }
      return;
    }
    for (std::size_t count = log::kDamagedRangesMax - 8 + input_.below(16); count > 0; --count) {
      add_record(out, written, base, 1);
      out.back() ^= std::byte{0x40};
      add_record(out, written, base, 1);
    }
  }

  void put_segment(std::int32_t partition, std::int64_t base) {
    Content out;
    Written written;
    for (std::size_t pieces = input_.below(kPiecesMax); pieces > 0 && !input_.empty(); --pieces) {
      add_piece(out, written, base);
    }
    written.file_bytes = static_cast<std::int64_t>(out.size());
    disk_.put(directory_of(partition) + "/" + log::segment_file_name(Offset(base)), std::move(out));
    bases_[partition] = base;
    ends_[partition] =
        base <= std::numeric_limits<std::int64_t>::max() - written.records ? base + written.records : base;
    written_[partition] = std::move(written);
  }

  // Of the segment that was put last; from the truth in as many places as the input says.
  void put_index(std::int32_t partition) {
    const Written& written = written_[partition];
    const std::int64_t base = input_.below(8) == 0 ? next_base(partition) : bases_[partition];
    Content out = log::encode_index_header(Offset(base));
    log::SegmentIndex index(Offset(base), kIndexInterval);
    const std::size_t lie = input_.below(32);
    for (std::size_t i = 0; i < written.entries.size(); ++i) {
      log::IndexEntry entry = written.entries[i];
      if (i == lie) {
        entry.position += static_cast<std::int8_t>(input_.byte());
        entry.crc ^= input_.byte();
      }
      if (entry.position >= Position(0) && entry.offset >= Offset(base) && index.ascends(entry)) {
        index.add(entry);
      }
    }
    log::append_entries(out, index, 0, index.size());
    if (input_.below(2) == 0) {
      log::append_summary(out, summary(written, base, static_cast<std::int64_t>(index.size())));
    }
    const std::uint8_t behind = input_.byte();
    if (behind >= kRare) {
      out.resize(out.size() + 200'000);  // more than can be about such a segment
    } else if (behind % 4 == 0) {
      const Bytes raw = input_.take(input_.byte());
      out.insert(out.end(), raw.begin(), raw.end());
    }
    if (input_.below(4) == 0) {
      out.resize(out.size() - std::min<std::size_t>(out.size(), input_.byte()));
    }
    disk_.put(directory_of(partition) + "/" + log::index_file_name(Offset(base)), std::move(out));
  }

  log::SegmentSummary summary(const Written& written, std::int64_t base, std::int64_t entries) {
    log::SegmentSummary summary;
    summary.base = Offset(base);
    summary.end = Offset(base);
    if (base <= std::numeric_limits<std::int64_t>::max() - written.records) {
      summary.end += written.records;
    }
    summary.bytes = written.bytes;
    summary.file_bytes = written.file_bytes;
    summary.entries = entries;
    for (std::int64_t* number : {&summary.bytes, &summary.file_bytes, &summary.entries}) {
      if (input_.below(8) == 0) {
        *number += static_cast<std::int8_t>(input_.byte());
      }
    }
    if (input_.below(8) == 0) {
      summary.end = Offset(input_.number<std::int64_t>());
    }
    for (std::size_t count = input_.below(8) == 0 ? input_.below(4) : 0; count > 0; --count) {
      const Offset from = ahead(summary.base, input_.byte());
      const Offset to = ahead(from, static_cast<std::int64_t>(input_.below(8)));
      const Position position(input_.byte());
      summary.damage.push_back({from, to, position, position + std::int64_t{input_.byte()}});
    }
    return summary;
  }

  void put_checkpoint() {
    if (input_.below(4) == 0) {
      const Bytes raw = input_.take(input_.byte());
      disk_.put(path_ + "/checkpoint", Content(raw.begin(), raw.end()));
      return;
    }
    std::vector<log::PartitionCheckpoint> entries;
    for (std::int32_t partition = 0; partition < kPartitions; ++partition) {
      const std::uint8_t which = input_.byte();
      if (which >= kRare) {  // of a topic that is not configured any more
        entries.push_back({{"other", PartitionId(partition)}, Offset(1), Offset(0), Position(9), {}, {}});
      }
      if (which % 8 == 0) {
        continue;
      }
      const Written& written = written_[partition];
      log::PartitionCheckpoint entry{{kTopic, PartitionId(partition)},
                                     Offset(ends_[partition]),
                                     Offset(bases_[partition]),
                                     Position(written.bytes),
                                     WallTime(0),
                                     WallTime(0)};
      if (!written.entries.empty() && input_.below(2) == 0) {
        const log::IndexEntry& known = written.entries[input_.byte() % written.entries.size()];
        entry.offset = known.offset;
        entry.position = known.position;
      }
      if (input_.below(8) == 0) {
        entry.offset = Offset(input_.number<std::int64_t>());
      }
      if (input_.below(8) == 0) {
        entry.segment_base = Offset(input_.number<std::int64_t>());
      }
      if (input_.below(8) == 0) {
        entry.position = Position(input_.number<std::int64_t>());
      }
      entries.push_back(entry);
    }
    disk_.put(path_ + "/checkpoint", log::encode_checkpoints(entries));
  }

  void put_odd_file(std::int32_t partition) {
    static constexpr std::array<const char*, 10> kNames = {"checkpoint.new",
                                                           "lock",
                                                           "t-00/x",
                                                           "t-5",
                                                           "99999999999999999999.log",
                                                           "00000000000000000001.LOG",
                                                           "1.log",
                                                           "00000000000000000000.index",
                                                           "other-0/x",
                                                           ""};
    const std::string place = input_.below(2) == 0 ? path_ : directory_of(partition);
    const std::uint8_t choice = input_.byte();
    if (choice >= kRare) {
      put_odd_directory(choice);
      return;
    }
    std::string name = kNames[choice % kNames.size()];
    if (name.empty()) {
      for (const std::byte byte : input_.take(1 + input_.below(24))) {
        name += byte == std::byte{'/'} || byte == std::byte{0} ? '_' : static_cast<char>(byte);
      }
      if (name.empty() || name == "." || name == "..") {
        return;
      }
    }
    const Bytes raw = input_.take(input_.byte());
    disk_.put(place + "/" + name, Content(raw.begin(), raw.end()));
  }

  // Names of which none, or too many, can be a partition's.
  void put_odd_directory(std::uint8_t choice) {
    static constexpr std::array<const char*, 7> kNames = {"t-2",  "plain", "-0",           "t-x",
                                                          "t--1", "t-",    "t-99999999999"};
    if (choice - kRare < static_cast<int>(kNames.size())) {
      disk_.put(path_ + "/" + kNames[choice - kRare] + "/x", {});
      return;
    }
    for (const char* name : {"a-0", "b-0", "c-0", "d-0", "e-0", "f-0"}) {
      disk_.put(path_ + "/" + name + "/x", {});
    }
  }

  InputReader& input_;
  log::MemoryDisk& disk_;
  const std::string& path_;
  std::size_t large_pieces_ = 0;
  std::map<std::int32_t, std::int64_t> bases_;
  std::map<std::int32_t, std::int64_t> ends_;
  std::map<std::int32_t, Written> written_;
};

}  // namespace

void put_directory(InputReader& input, log::MemoryDisk& disk, const std::string& path) {
  DirectoryImage(input, disk, path).make();
}

}  // namespace booblik::fuzz
