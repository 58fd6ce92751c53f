// The file behind --trace.
#pragma once

#include <cstdio>
#include <memory>
#include <string>

#include "base/result.h"
#include "sim/trace.h"

namespace booblik::sim {

class TraceFile {
 public:
  // "-" is standard output; a path that ends in ".json" gets the format of trace viewers, any other one text.
  // check_trace_file has found the path good.
  explicit TraceFile(const std::string& path);
  TraceFile(const TraceFile&) = delete;
  TraceFile& operator=(const TraceFile&) = delete;
  ~TraceFile();

  [[nodiscard]] TraceSink& sink() { return *sink_; }

 private:
  std::FILE* file_;
  bool is_own_;
  std::unique_ptr<TraceSink> sink_;
};

// Makes the file, empty, or says why that cannot be.
[[nodiscard]] Result<void> check_trace_file(const std::string& path);

}  // namespace booblik::sim
