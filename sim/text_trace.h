// A trace as lines of text on standard output, one an event, in virtual time.
#pragma once

#include "sim/trace.h"

namespace booblik::sim {

class TextTrace final : public TraceSink {
 public:
  void write(const TraceEvent& event) override;
};

}  // namespace booblik::sim
