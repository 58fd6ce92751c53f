// A value that a place has for as long as a scope lasts, also when the scope is left because its fiber is
// unwound.
#pragma once

#include <string_view>

#include "base/check.h"

namespace booblik {

// `place` has to be empty, T{}, which `expectation` says in words, and is so again at the end. It is
// borrowed.
template <class T>
class HeldValue {
 public:
  HeldValue(T& place, T value, std::string_view expectation) : place_(place) {
    BOOBLIK_CHECK(place_ == T{}, expectation);
    place_ = value;
  }
  HeldValue(const HeldValue&) = delete;
  HeldValue& operator=(const HeldValue&) = delete;
  ~HeldValue() { place_ = T{}; }

 private:
  T& place_;
};

}  // namespace booblik
