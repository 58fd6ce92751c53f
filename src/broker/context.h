// What all connections of one reactor share. Everything is borrowed and outlives them.
#pragma once

#include "broker/answers.h"
#include "broker/limited_log.h"
#include "broker/metrics.h"
#include "broker/options.h"
#include "broker/receive_memory.h"
#include "broker/topics.h"
#include "env/clock.h"
#include "env/probe.h"
#include "env/scheduler.h"

namespace booblik::broker {

struct Context {
  env::Scheduler& scheduler;
  env::Clock& clock;
  env::Probe& probe;
  const Options& options;
  Topics& topics;
  ReceiveMemory& receive_memory;
  AnswerBudget& answer_budget;
  Metrics& metrics;
  LimitedLog& log;

  [[nodiscard]] Deadline after(Duration duration) const { return Deadline(clock.now() + duration); }
};

}  // namespace booblik::broker
