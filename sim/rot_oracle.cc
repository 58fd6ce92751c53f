#include "sim/rot_oracle.h"

#include <fmt/format.h>

#include <algorithm>

#include "log/segment.h"

namespace booblik::sim {

std::string directory_of(const Workload& workload, std::size_t partition) {
  return fmt::format("/data/{}-{}", workload.topic_of(partition), workload.id_of(partition).value());
}

std::vector<SegmentOnDisk> segments_on_disk(const Workload& workload, std::size_t partition) {
  std::vector<SegmentOnDisk> segments;
  const auto entries = workload.machine.disk.files().list(directory_of(workload, partition));
  for (const env::DirectoryEntry& entry : entries ? *entries : std::vector<env::DirectoryEntry>()) {
    if (const log::FileName name = log::parse_file_name(entry.name); name.kind == log::FileKind::segment) {
      segments.push_back({name.base.value(), entry.size});
    }
  }
  return segments;
}

std::vector<std::int64_t> segment_bases(const Workload& workload, std::size_t partition) {
  std::vector<std::int64_t> bases;
  for (const SegmentOnDisk& segment : segments_on_disk(workload, partition)) {
    bases.push_back(segment.base);
  }
  return bases;
}

std::string segment_path(const Workload& workload, std::size_t partition, std::int64_t base) {
  return directory_of(workload, partition) + "/" + log::segment_file_name(Offset(base));
}

// The names of segments sort like their bases. A file that rotted may be gone since; what it held is then
// missing from the one in front of it.
Model::AskRot make_rot_oracle(const Workload& workload) {
  return [&workload](std::size_t partition, std::int64_t offset) {
    if (offset < 0) {
      return Rot::none;
    }
    const auto meddled = workload.meddled_from.find(partition);
    if (meddled != workload.meddled_from.end() && offset >= meddled->second) {
      return Rot::misplaced;
    }
    const std::string directory = directory_of(workload, partition);
    const std::string last = log::segment_file_name(Offset(offset));
    std::string first = log::segment_file_name(Offset());
    FileSystem& files = workload.machine.disk.files();
    if (const auto number = files.directory(directory)) {
      const DirectoryImage::Names& names = files.inode(*number).directory.names();
      auto name = names.upper_bound(last);
      while (name != names.begin()) {
        if ((--name)->first.ends_with(".log")) {
          first = name->first;
          break;
        }
      }
    }
    Rot worst = Rot::none;
    const auto& rotted = workload.machine.disk.rotted();
    const auto end = rotted.upper_bound(directory + "/" + last);
    for (auto path = rotted.lower_bound(directory + "/" + first); path != end; ++path) {
      worst = path->first.ends_with(".log") ? std::max(worst, path->second) : worst;
    }
    return worst;
  };
}

}  // namespace booblik::sim
