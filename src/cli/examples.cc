#include "cli/examples.h"

#include <fmt/format.h>

#include <cstdio>

namespace booblik::cli {
namespace {

// Blocks of a comment and the lines under it, which a test runs as they are, in this order, in an empty
// folder.
constexpr const char* kExamples =
    R"(# Each block runs as it is against a broker with the topic `default`: booblik serve

# Write two records, one from each line
printf 'hello\nworld\n' | booblik produce default

# Write a file as one record, and know that it survives the power
printf 'a note\nof two lines\n' > note.txt
booblik produce default --input whole --file note.txt --acks forced

# Keep the order of each customer: records of one key go to one partition
printf 'alice:paid\nbob:left\nalice:left\n' | booblik produce default --key-delimiter :

# Read everything that is there now
booblik consume default --exit-at-end

# Read the last two records of each partition, and where they lie
booblik consume default --offset -2 --exit-at-end --format '%t-%p @ %o: %s\n'

# Read two records as JSON lines
booblik consume default --count 2 --json

# Go on where the last run stopped: the second run prints only what is new
booblik consume default --exit-at-end --position-store positions.txt > first.txt
echo 'something new' | booblik produce default
booblik consume default --exit-at-end --position-store positions.txt

# Write what was read, in hex, so that it may hold any byte
booblik consume default --exit-at-end --format '%x\n' | booblik produce default

# See what there is, and how fast it grows
booblik topics --rates 1

# Ask whether the broker answers
booblik health --timeout-ms 1000

# Complete commands and options with the tab key
booblik completion bash > booblik.bash
)";

}  // namespace

void add_examples(Commands& commands) {
  commands.add({.name = "examples",
                .summary = "Print things to do, as lines of shell that run",
                .examples = "  booblik examples\n"},
               [] {
                 fmt::print("{}", kExamples);
                 return ExitCode::ok;
               });
}

}  // namespace booblik::cli
