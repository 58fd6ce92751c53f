#include "cli/process_input.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string_view>
#include <system_error>

namespace booblik::cli {
namespace {

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

std::unexpected<Error> fail_read(const std::string& path, int error) {
  const ErrorCode code = error == ENOENT ? ErrorCode::not_found : ErrorCode::io;
  return fail(code, fmt::format("cannot read {}: {}", path, std::generic_category().message(error)));
}

}  // namespace

std::vector<std::pair<std::string, std::string>> environment_variables() {
  std::vector<std::pair<std::string, std::string>> variables;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::size_t equals = text.find('=');
    if (equals != std::string_view::npos) {
      variables.emplace_back(text.substr(0, equals), text.substr(equals + 1));
    }
  }
  std::ranges::sort(variables);
  return variables;
}

Result<std::string> read_file(const std::string& path, std::size_t bytes_max) {
  const std::unique_ptr<std::FILE, CloseFile> file(std::fopen(path.c_str(), "re"));
  if (file == nullptr) {
    return fail_read(path, errno);
  }
  std::string text(bytes_max + 1, '\0');
  const std::size_t bytes = std::fread(text.data(), 1, text.size(), file.get());
  if (std::ferror(file.get()) != 0) {
    return fail_read(path, errno);
  }
  if (bytes > bytes_max) {
    return fail(ErrorCode::invalid, fmt::format("{} is longer than {} bytes", path, bytes_max));
  }
  text.resize(bytes);
  return text;
}

Result<void> check_writable_directory(const std::string& directory) {
  const std::filesystem::path path(directory);
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path, error);
  const bool exists = std::filesystem::exists(status);
  if (exists && !std::filesystem::is_directory(status)) {
    return fail(ErrorCode::invalid,
                fmt::format("{} is no directory; choose another data directory (--data-dir)", directory));
  }
  const std::filesystem::path parent = path.parent_path();
  const std::string place = exists ? directory : parent.empty() ? "." : parent.string();
  if (::access(place.c_str(), W_OK | X_OK) != 0 && errno != ENOENT) {
    return fail(ErrorCode::invalid, fmt::format("user {} cannot write in {}: {}; give it the right to, or "
                                                "choose another data directory (--data-dir)",
                                                ::geteuid(), place, std::generic_category().message(errno)));
  }
  return {};
}

}  // namespace booblik::cli
