#include "env/posix/directory_listing.h"

#include <dirent.h>
#include <fcntl.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>

#include "env/posix/descriptor.h"
#include "env/posix/system_error.h"

namespace booblik::env {
namespace {

Result<Descriptor> open_directory(SystemCalls& system, const std::string& path) {
  const std::int64_t opened =
      uninterrupted([&] { return system.open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0); });
  if (opened < 0) {
    return fail_system("open directory", path, opened);
  }
  return Descriptor(system, static_cast<int>(opened));
}

void append_names(Bytes block, std::vector<std::string>& names) {
  while (block.size() > offsetof(dirent64, d_name)) {
    std::uint16_t length = 0;
    std::memcpy(&length, block.data() + offsetof(dirent64, d_reclen), sizeof length);
    std::string name(reinterpret_cast<const char*>(block.data()) + offsetof(dirent64, d_name));
    if (name != "." && name != "..") {
      names.push_back(std::move(name));
    }
    block = block.subspan(std::min<std::size_t>(length, block.size()));
  }
}

Result<std::vector<std::string>> read_names(SystemCalls& system, int directory, const std::string& path) {
  std::vector<std::string> names;
  alignas(dirent64) std::array<std::byte, 16 * 1024> block;
  for (;;) {
    const std::int64_t bytes = uninterrupted([&] { return system.getdents(directory, block); });
    if (bytes < 0) {
      return fail_system("list directory", path, bytes);
    }
    if (bytes == 0) {
      return names;
    }
    append_names(Bytes(block).first(static_cast<std::size_t>(bytes)), names);
  }
}

}  // namespace

Result<std::vector<std::string>> list_names(SystemCalls& system, const std::string& path) {
  const auto directory = open_directory(system, path);
  if (!directory) {
    return std::unexpected(directory.error());
  }
  return read_names(system, directory->get(), path);
}

Result<std::vector<DirectoryEntry>> list_directory(SystemCalls& system, const std::string& path) {
  const auto directory = open_directory(system, path);
  if (!directory) {
    return std::unexpected(directory.error());
  }
  auto names = read_names(system, directory->get(), path);
  if (!names) {
    return std::unexpected(names.error());
  }
  std::sort(names->begin(), names->end());
  std::vector<DirectoryEntry> entries;
  entries.reserve(names->size());
  for (std::string& name : *names) {
    struct stat status{};
    const std::int64_t result = system.fstatat(directory->get(), name.c_str(), &status);
    if (result == -ENOENT) {
      continue;
    }
    if (result < 0) {
      return fail_system("look at", path + "/" + name, result);
    }
    DirectoryEntry entry{std::move(name), S_ISDIR(status.st_mode), S_ISREG(status.st_mode), 0};
    entry.size = entry.is_regular ? status.st_size : 0;
    entries.push_back(std::move(entry));
  }
  return entries;
}

}  // namespace booblik::env
