// booblik-sim: runs seeds, and replays one.
#include "sim/program/arguments.h"
#include "sim/program/campaign.h"
#include "sim/program/shrink.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__clang__)
// A finding of a sanitizer ends the run, as a failed check does, and is told with its seed.
extern "C" const char* __asan_default_options();
extern "C" const char* __ubsan_default_options();
extern "C" const char* __asan_default_options() {
  return "exitcode=1";
}
extern "C" const char* __ubsan_default_options() {
  return "halt_on_error=1:print_stacktrace=1";
}
#endif

int main(int argc, char** argv) {
  const auto arguments = booblik::sim::parse_arguments(argc, argv);
  if (!arguments) {
    return arguments.error();
  }
  if (arguments->shrink) {
    return booblik::sim::Shrinker(*arguments).run();
  }
  return booblik::sim::Campaign(*arguments).run();
}
