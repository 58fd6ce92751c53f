// A child process that sends lines to its parent. A run that ends the process (a failed check, a signal, a
// sanitizer) ends the child, and the parent goes on.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace booblik::sim {

class Child {
 public:
  using SendLine = std::function<void(std::string_view)>;  // without a line end
  using Body = std::function<void(const SendLine&)>;

  // Forks; the child runs `body` and exits, with its exit handlers (and so with the leak check of a sanitizer
  // build). It dies with its parent. Standard output and error are shared.
  [[nodiscard]] static Result<Child> start(const Body& body);

  Child(Child&& other) noexcept;
  Child& operator=(Child&&) = delete;
  // Kills and reaps it, if it still is there.
  ~Child();

  // Readable when there is something to take.
  [[nodiscard]] int descriptor() const { return descriptor_; }

  // Adds the lines that have come. False at the end of the child. Waits when there is nothing yet.
  [[nodiscard]] bool take_lines(std::vector<std::string>& lines);

  // Whether there is something to take, or the end, within so much real time.
  [[nodiscard]] bool speaks_within(double seconds) const;

  // After the end: how it ended, empty when in good order, otherwise like "signal 6 (Aborted)".
  [[nodiscard]] std::string reap();
  void kill() const;

 private:
  Child(pid_t process, int descriptor) : process_(process), descriptor_(descriptor) {}

  pid_t process_;
  int descriptor_;
  std::string unfinished_;  // line
};

}  // namespace booblik::sim
