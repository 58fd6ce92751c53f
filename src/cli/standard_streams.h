// The process's own input and output as a command of it uses them: in large blocks, without stopping the
// other fibers while a terminal or a pipe has nothing to give.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/result.h"
#include "env/clock.h"
#include "env/posix/descriptor.h"
#include "env/posix/reactor.h"
#include "env/sync.h"

namespace booblik::cli {

class InputFile final : private env::ReadinessHandler {
 public:
  // Standard input stays open; a file is opened here. `not_found` or `io` name the path.
  static std::unique_ptr<InputFile> standard_input(env::Reactor& reactor);
  static Result<std::unique_ptr<InputFile>> open(env::Reactor& reactor, env::SystemCalls& system,
                                                 const std::string& path);

  InputFile(env::Reactor& reactor, int descriptor, env::Descriptor owned);
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;
  ~InputFile() override;

  // How much there is to read, if that is known: of a regular file.
  [[nodiscard]] std::optional<std::int64_t> size() const;

  // At least one byte; 0 at the end, or after stop. May park.
  Result<std::size_t> read(MutableBytes buffer);

  // Ends the input here: a waiting read returns 0, and so does every later one.
  void stop();

 private:
  void on_ready(std::uint32_t epoll_events) override;

  env::Reactor& reactor_;
  int descriptor_;
  env::Descriptor owned_;  // none: not ours to close
  env::WatchId watch_;     // none: a regular file, which never has to be waited for
  env::Event readable_;
  bool stopped_ = false;
};

// Gathers text and writes it in large blocks. A reader that takes nothing stops the fiber that writes, and no
// other; several fibers may append and flush, and no text of one call is cut by another's.
class StandardOutput final : private env::ReadinessHandler {
 public:
  StandardOutput(env::Reactor& reactor, env::SystemCalls& system, const env::Clock& clock);
  StandardOutput(const StandardOutput&) = delete;
  StandardOutput& operator=(const StandardOutput&) = delete;
  ~StandardOutput() override;

  // Append to it, then flush: soon, once it is full.
  [[nodiscard]] std::string& text() { return text_; }
  [[nodiscard]] bool is_full() const;

  // Writes what had been appended when it was called. False when the reader has gone (its end of the pipe is
  // closed) or was waited for long enough after hurry(): there is no use in going on, and what is left is
  // lost. Parks.
  [[nodiscard]] Result<bool> flush();

  // From now on the reader has one second to take what is left. Does not park.
  void hurry();

 private:
  void on_ready(std::uint32_t epoll_events) override;
  [[nodiscard]] Result<bool> write_all(std::string_view rest);
  [[nodiscard]] bool wait_writable();

  env::Reactor& reactor_;
  const env::Clock& clock_;
  env::Descriptor own_;  // of a pipe, opened once more so that it need not block; otherwise none
  int descriptor_;
  env::WatchId watch_;  // none: a regular file or a device, which never has to be waited for
  env::Event writable_;
  env::Event turn_;
  std::string text_;
  std::string writing_;
  bool flushing_ = false;
  bool gone_ = false;
  Deadline until_ = Deadline::never();
};

}  // namespace booblik::cli
