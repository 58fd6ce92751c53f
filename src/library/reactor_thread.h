// The library's thread: a production environment whose fibers do the work of user threads. The only door from
// them to it.
//
// What runs on the reactor refers to its bridge by plain references, so a bridge waits for all of it before
// it goes; only then may the last reference to the thread be dropped.
#pragma once

#include <functional>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>

#include "base/result.h"
#include "client/roles.h"
#include "env/disk.h"

namespace booblik::library {

class ReactorThread {
 public:
  // Errors: too_many_files, io (no thread).
  [[nodiscard]] static Result<std::shared_ptr<ReactorThread>> start();

  ReactorThread(const ReactorThread&) = delete;
  ReactorThread& operator=(const ReactorThread&) = delete;
  // Returns when every fiber has ended and the thread with them; on the thread itself, at once: it then ends
  // by itself.
  ~ReactorThread();

  // Runs `step` on the reactor's own stack, in the order of the posts; it must not park. From any thread.
  // Wakes the thread only when it sleeps.
  void post(std::move_only_function<void()> step);

  // Runs `body` as a fiber. From any thread.
  void spawn(std::string name, std::move_only_function<void()> body);

  // Runs `body` as a fiber and returns what it returns; the calling thread, which is not this one, waits.
  template <class Body>
  std::invoke_result_t<Body&> call(std::string name, Body&& body) {
    using Value = std::invoke_result_t<Body&>;
    std::promise<Value> promise;
    std::future<Value> value = promise.get_future();
    // The promise moves to the fiber: here it could go while the fiber is still inside set_value.
    spawn(std::move(name), [promise = std::move(promise), &body]() mutable {
      if constexpr (std::is_void_v<Value>) {
        body();
        promise.set_value();
      } else {
        promise.set_value(body());
      }
    });
    return value.get();
  }

  // Parks the calling fiber until every step that was posted before has run.
  void run_posted();

  // Whether the caller runs on this thread (in a callback): it must not wait for it then.
  [[nodiscard]] bool is_current() const { return std::this_thread::get_id() == thread_.get_id(); }

  // For fibers of this thread.
  [[nodiscard]] client::Roles roles() const;
  [[nodiscard]] env::Disk& disk() const;

 private:
  class Loop;  // belongs to the thread

  explicit ReactorThread(Loop* loop) : loop_(loop) {}

  Loop* loop_;
  std::thread thread_;
};

}  // namespace booblik::library
