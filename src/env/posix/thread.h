// Threads of this environment.
#pragma once

#include <functional>
#include <thread>

#include "base/result.h"

namespace booblik::env {

// Starts a thread on which no signal is ever handled: those are for the reactor, or for the program that we
// are a part of. Error: io, when the system has no more threads.
[[nodiscard]] Result<std::thread> start_thread(std::move_only_function<void()> body);

}  // namespace booblik::env
