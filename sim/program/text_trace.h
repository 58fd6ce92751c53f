// A trace as lines of text, one an event, in virtual time.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "sim/trace.h"

namespace booblik::sim {

using WriteText = std::move_only_function<void(std::string_view)>;

class TextTrace final : public TraceSink {
 public:
  explicit TextTrace(WriteText write) : write_(std::move(write)) {}

  void write(const TraceEvent& event) override;

 private:
  WriteText write_;
};

}  // namespace booblik::sim
