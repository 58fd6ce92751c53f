#include "env/posix/thread.h"

#include <pthread.h>

#include <csignal>
#include <system_error>
#include <utility>

namespace booblik::env {

Result<std::thread> start_thread(std::move_only_function<void()> body) {
  // A thread inherits the mask of the one that starts it.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  Result<std::thread> thread;
  try {
    thread = std::thread(std::move(body));
  } catch (const std::system_error& error) {
    thread = fail(ErrorCode::io, std::string("no thread could be started: ") + error.what());
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return thread;
}

}  // namespace booblik::env
