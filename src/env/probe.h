// Lets a simulator count that rare paths really run. In production it does nothing.
#pragma once

#include <string_view>

namespace booblik::env {

class Probe {
 public:
  virtual ~Probe() = default;

  // The path called `name` ran. Never on a path that runs once per record.
  virtual void hit(std::string_view name) = 0;
};

}  // namespace booblik::env
