// How the sanitizers run in every target; what stands in ASAN_OPTIONS beats it.

extern "C" const char* __asan_default_options();

// A stack trace for each allocation and new shadow stacks for each fiber would take half of the time.
const char* __asan_default_options() {
  return "malloc_context_size=2:quarantine_size_mb=16:detect_stack_use_after_return=0";
}
