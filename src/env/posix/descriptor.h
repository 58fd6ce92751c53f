// An open file descriptor and its owner.
#pragma once

#include <utility>

#include "env/posix/system_calls.h"

namespace booblik::env {

class Descriptor {
 public:
  Descriptor() = default;
  Descriptor(SystemCalls& system, int number) : system_(&system), number_(number) {}
  Descriptor(Descriptor&& other) noexcept
      : system_(other.system_), number_(std::exchange(other.number_, kNone)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    if (this != &other) {
      reset();
      system_ = other.system_;
      number_ = std::exchange(other.number_, kNone);
    }
    return *this;
  }
  ~Descriptor() { reset(); }

  [[nodiscard]] int get() const { return number_; }
  [[nodiscard]] bool open() const { return number_ != kNone; }

  // Closes it now. Errors are not looked at: whoever needs bytes on disk has synced them, and after EINTR
  // Linux has closed the number all the same.
  void reset() {
    if (open()) {
      system_->close(std::exchange(number_, kNone));
    }
  }

 private:
  static constexpr int kNone = -1;

  SystemCalls* system_ = nullptr;
  int number_ = kNone;
};

}  // namespace booblik::env
