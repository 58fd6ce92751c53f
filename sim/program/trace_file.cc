#include "sim/program/trace_file.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>

#include "base/check.h"
#include "sim/program/json_trace.h"
#include "sim/program/text_trace.h"

namespace booblik::sim {
namespace {

std::FILE* open_file(const std::string& path) {
  if (path == "-") {
    return stdout;
  }
  std::FILE* const file = std::fopen(path.c_str(), "w");
  BOOBLIK_CHECK(file != nullptr, "a trace file that could be opened before can be opened again");
  return file;
}

}  // namespace

TraceFile::TraceFile(const std::string& path) : file_(open_file(path)), is_own_(path != "-") {
  // Line by line, so that the trace of a run that ends the process is there up to its end.
  std::setvbuf(file_, nullptr, _IOLBF, 1 << 16);
  WriteText write = [file = file_](std::string_view text) { std::fwrite(text.data(), 1, text.size(), file); };
  if (path.ends_with(".json")) {
    sink_ = std::make_unique<JsonTrace>(std::move(write));
  } else {
    sink_ = std::make_unique<TextTrace>(std::move(write));
  }
}

Result<void> check_trace_file(const std::string& path) {
  if (path == "-") {
    return {};
  }
  std::FILE* const file = std::fopen(path.c_str(), "w");
  if (file == nullptr) {
    return fail(ErrorCode::invalid, fmt::format("--trace {}: {}", path, std::strerror(errno)));
  }
  std::fclose(file);
  return {};
}

TraceFile::~TraceFile() {
  sink_.reset();
  std::fflush(file_);
  if (is_own_) {
    std::fclose(file_);
  }
}

}  // namespace booblik::sim
