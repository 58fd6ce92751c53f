// What the broker does when a system call fails: a row for each entry of SystemCalls. docs/kernel-faults.md
// shows the same table to people, and a test holds the two, and the header, together.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "posix/faulty_system_calls.h"

namespace booblik::kernel {

// The worst that a fault may lead to; everything above it in this list is allowed as well.
enum class Worst {
  served,   // every request is answered
  closed,   // some connections are closed; whoever comes again is served
  refused,  // PRODUCE closes its connection for as long as the fault lasts, or until a restart; FETCH and
            // METADATA are answered
  cut,      // every connection is closed for as long as the fault lasts
  waiting,  // nobody is accepted for as long as the fault lasts; the kernel's backlog keeps those who come
  stopped,  // the process ends by itself with exit code 1 and a sentence on standard error
};

[[nodiscard]] std::string_view to_string(Worst worst);

struct Row {
  env::Call call;
  std::string_view name;  // as in the header
  std::vector<int>
      errnos;  // what the kernel can answer for the arguments that are used; empty: it cannot fail
  Worst at_start = Worst::stopped;  // failing while the broker starts
  Worst once = Worst::served;       // failing once while it serves
  Worst always = Worst::served;     // failing from some moment on while it serves
  Worst stop = Worst::served;       // when told to stop under a fault that lasts: `stopped` is exit code 1
  std::string_view why;             // for people
  bool reached = true;              // the broker makes the call at all
};

[[nodiscard]] std::span<const Row> rows();

}  // namespace booblik::kernel
