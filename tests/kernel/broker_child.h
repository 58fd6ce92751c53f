// A whole broker on the production environment, in a process of its own, with a table of system calls that
// fail on order.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "posix/faulty_system_calls.h"

namespace booblik::kernel {

inline constexpr const char* kTopic = "t";
inline constexpr std::int64_t kSegmentBytes = 1024;

struct Faults {
  std::vector<env::Fault> from_the_start;
  std::vector<env::Fault> when_serving;  // ordered when the port is bound, before anybody is accepted
};

class BrokerChild {
 public:
  BrokerChild(const std::string& data_directory, const Faults& faults);
  BrokerChild(const BrokerChild&) = delete;
  BrokerChild& operator=(const BrokerChild&) = delete;
  ~BrokerChild();  // kills what is left

  // The port once it serves; nothing when it ended before.
  [[nodiscard]] std::optional<std::uint16_t> wait_until_serving();

  void terminate();

  struct End {
    bool in_time = false;
    int exit_code = -1;
    int signal = 0;         // that ended it
    std::string complaint;  // what it wrote to standard error
  };
  [[nodiscard]] End wait(std::chrono::seconds limit);

  // How many places of the code have made the call so far, in all of the child's life.
  [[nodiscard]] std::size_t places(env::Call call) const {
    return (*places_)[static_cast<std::size_t>(call)];
  }

 private:
  env::PlacesSeen* places_;  // in memory that the child shares
  pid_t process_ = 0;
  int port_pipe_ = -1;
  int error_pipe_ = -1;
};

}  // namespace booblik::kernel
