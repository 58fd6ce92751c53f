#include "sim/program/determinism.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "sim/program/text_trace.h"
#include "sim/run.h"

namespace booblik::sim {
namespace {

constexpr std::size_t kLinesBefore = 5;
constexpr std::size_t kLinesAfter = 3;

std::vector<std::string> traced_lines(env::StackPool& stacks, std::uint64_t seed, const Plan& plan) {
  std::vector<std::string> lines;
  TextTrace trace([&lines](std::string_view line) { lines.emplace_back(line); });
  static_cast<void>(run_plan(stacks, seed, plan, {.sink = &trace}));
  return lines;
}

std::string show(const std::vector<std::string>& lines, std::size_t from, std::size_t end,
                 std::string_view prefix) {
  std::string text;
  for (std::size_t index = from; index < std::min(end, lines.size()); ++index) {
    text += fmt::format("{} {}", prefix, lines[index]);
  }
  return text;
}

// The first line that was written when so many events had been seen.
std::size_t line_of_event(const std::vector<std::string>& lines, std::uint64_t event) {
  const auto number = [](const std::string& line) {
    const std::size_t at = line.find('#');
    return at == std::string::npos ? 0 : std::strtoull(line.c_str() + at + 1, nullptr, 10);
  };
  const auto found =
      std::ranges::find_if(lines, [&](const std::string& line) { return number(line) >= event; });
  return static_cast<std::size_t>(found - lines.begin());
}

}  // namespace

std::optional<std::uint64_t> first_difference(const FingerprintHistory& one,
                                              const FingerprintHistory& other) {
  const auto [here, there] = std::ranges::mismatch(one, other);
  if (here == one.end() && there == other.end()) {
    return std::nullopt;
  }
  return static_cast<std::uint64_t>(here - one.begin()) + 1;
}

std::string explain_difference(env::StackPool& stacks, std::uint64_t seed, const Plan& plan,
                               std::uint64_t event) {
  const std::vector<std::string> one = traced_lines(stacks, seed, plan);
  const std::vector<std::string> other = traced_lines(stacks, seed, plan);
  const auto parted = std::ranges::mismatch(one, other);
  if (parted.in1 == one.end() && parted.in2 == other.end()) {
    const std::size_t at = line_of_event(one, event);
    return "two more runs, with traces, agree; around that event they say:\n" +
           show(one, at - std::min(at, kLinesBefore), at + kLinesAfter, " ");
  }
  const auto at = static_cast<std::size_t>(parted.in1 - one.begin());
  return fmt::format("two more runs, with traces, part in line {}:\n", at + 1) +
         show(one, at - std::min(at, kLinesBefore), at, " ") + show(one, at, at + kLinesAfter, "-") +
         show(other, at, at + kLinesAfter, "+");
}

}  // namespace booblik::sim
