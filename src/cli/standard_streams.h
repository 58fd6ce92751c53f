// The process's own input and output as a command of it uses them: in large blocks, without stopping the
// other fibers while a terminal or a pipe has nothing to give.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "base/bytes.h"
#include "base/result.h"
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

// Gathers text and writes it in large blocks.
class StandardOutput {
 public:
  // Append to it, then call one of the two below.
  [[nodiscard]] std::string& text() { return text_; }

  // False when the reader has gone (its end of the pipe is closed): there is no use in going on. Blocks.
  [[nodiscard]] Result<bool> flush();
  // As flush once a block is full; otherwise true.
  [[nodiscard]] Result<bool> flush_if_full();

 private:
  std::string text_;
};

}  // namespace booblik::cli
