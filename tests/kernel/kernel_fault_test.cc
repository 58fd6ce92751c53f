// Every system call of the production environment fails, in each place that makes it, with every errno that
// it can have, once and for good, while a whole broker starts or serves: it answers, closes, or stops, as
// docs/kernel-faults.md says; it never crashes or hangs, and what it has acknowledged is there afterwards.
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

#include "broker_child.h"
#include "fault_table.h"
#include "posix/posix_world.h"
#include "workload.h"

namespace booblik::kernel {
namespace {

constexpr std::chrono::milliseconds kPatience(20'000);
constexpr std::chrono::milliseconds kShortPatience(400);  // where nobody is expected to answer
constexpr std::chrono::seconds kEnds(30);

enum class When { once_at_start, always_from_start, once_serving, later_once_serving, always_serving };

struct Case {
  const Row* row;
  int error;
  When when;
  std::size_t place = 0;  // of the code; 0: all of them
};

std::string name_of(const ::testing::TestParamInfo<Case>& info) {
  static constexpr const char* kWhen[] = {"OnceAtStart", "AlwaysFromStart", "OnceServing", "LaterOnceServing",
                                          "AlwaysServing"};
  return std::string(info.param.row->name) + "_" + strerrorname_np(info.param.error) + "_" +
         kWhen[static_cast<int>(info.param.when)];
}

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const Row& row : rows()) {
    for (const int error : row.reached ? row.errnos : std::vector<int>()) {
      for (const When when : {When::once_at_start, When::always_from_start, When::once_serving,
                              When::later_once_serving, When::always_serving}) {
        all.push_back({&row, error, when});
      }
    }
  }
  return all;
}

std::string read_file(const std::filesystem::path& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

// A data directory with records in several segments and a torn tail, and what was promised about it.
class Template {
 public:
  Template() {
    BrokerChild broker(data(), {});
    const auto port = broker.wait_until_serving();
    EXPECT_TRUE(port);
    Client client(*port, kPatience, promises);
    for (int round = 0; round < 4; ++round) {
      EXPECT_EQ(client.produce(round % 2, wire::AckPolicy::forced), Reply::answered);
    }
    client.close();
    broker.terminate();
    EXPECT_EQ(broker.wait(kEnds).exit_code, 0);
    for (const Row& row : rows()) {
      places.push_back(broker.places(row.call));
    }
    std::filesystem::path newest;
    for (const auto& entry : std::filesystem::directory_iterator(data() + "/t-0")) {
      newest = entry.path().extension() == ".log" ? std::max(newest, entry.path()) : newest;
    }
    std::ofstream(newest, std::ios::app | std::ios::binary).write("\0\0\1", 3);
  }

  [[nodiscard]] std::string data() const { return directory_.path() + "/data"; }

  Promises promises;
  std::vector<std::size_t> places;  // of the code that make each call when nothing fails

 private:
  env::ScratchDirectory directory_;
};

class KernelFaultTest : public ::testing::TestWithParam<Case> {
 protected:
  static void SetUpTestSuite() { template_ = std::make_unique<Template>(); }
  static void TearDownTestSuite() { template_.reset(); }

  // Returns how many places of the code made the call that fails.
  static std::size_t run(const Case& current);

  static std::unique_ptr<Template> template_;
};

std::unique_ptr<Template> KernelFaultTest::template_;

Faults faults_of(const Case& current) {
  env::Fault fault{.call = current.row->call, .result = -current.error, .place = current.place};
  // A call that is interrupted for ever would be made for ever.
  fault.every = current.error == EINTR ? 2 : 1;
  switch (current.when) {
    case When::once_at_start:
    case When::once_serving:
      fault.times = 1;
      break;
    case When::later_once_serving:
      fault.times = 1;
      fault.skip = 5;
      break;
    default:
      break;
  }
  Faults faults;
  const bool at_start = current.when == When::once_at_start || current.when == When::always_from_start;
  (at_start ? faults.from_the_start : faults.when_serving).push_back(fault);
  return faults;
}

Worst allowed(const Case& current) {
  const bool lasts = current.when == When::always_from_start || current.when == When::always_serving;
  return lasts ? current.row->always : current.row->once;
}

// No signal, and a sentence if it is not 0.
void expect_end(const BrokerChild::End& end, bool may_fail) {
  EXPECT_TRUE(end.in_time) << "it does not end: " << end.complaint;
  EXPECT_EQ(end.signal, 0) << end.complaint;
  EXPECT_TRUE(!end.in_time || end.exit_code == 0 || (end.exit_code == 1 && may_fail))
      << "exit code " << end.exit_code << ": " << end.complaint;
  EXPECT_TRUE(end.exit_code == 0 || !end.complaint.empty()) << "it ended without a word";
}

std::size_t KernelFaultTest::run(const Case& current) {
  const env::ScratchDirectory directory;
  const std::string data = directory.path() + "/data";
  std::filesystem::copy(template_->data(), data, std::filesystem::copy_options::recursive);
  Promises promises = template_->promises;
  std::size_t places = 0;
  {
    BrokerChild broker(data, faults_of(current));
    const auto port = broker.wait_until_serving();
    const bool at_start = current.when == When::once_at_start || current.when == When::always_from_start;
    if (!port) {
      EXPECT_TRUE(at_start && current.row->at_start == Worst::stopped) << "it does not start";
      expect_end(broker.wait(kEnds), true);
    } else {
      const bool may_wait = allowed(current) == Worst::waiting;
      const Worst seen = use_broker(*port, may_wait ? kShortPatience : kPatience, promises);
      EXPECT_LE(seen, allowed(current))
          << "it was " << to_string(seen) << ", at worst it is " << to_string(allowed(current));
      broker.terminate();
      expect_end(broker.wait(kEnds), current.row->stop == Worst::stopped);
    }
    places = broker.places(current.row->call);
  }
  BrokerChild healthy(data, {});
  const auto port = healthy.wait_until_serving();
  EXPECT_TRUE(port) << "it does not start after the fault is gone";
  if (!port) {
    return places;
  }
  expect_kept(*port, promises);
  Promises after = promises;
  EXPECT_EQ(Client(*port, kPatience, after).produce(0, wire::AckPolicy::forced), Reply::answered);
  healthy.terminate();
  expect_end(healthy.wait(kEnds), false);
  return places;
}

// In every place that makes the call, and then in each place behind the first by itself.
TEST_P(KernelFaultTest, AnswersClosesOrStops) {
  Case current = GetParam();
  const auto call = static_cast<std::size_t>(current.row->call);
  std::size_t places = std::max(run(current), template_->places[call]);
  if (current.when == When::later_once_serving) {
    return;
  }
  for (current.place = 2; current.place <= places; ++current.place) {
    SCOPED_TRACE("place " + std::to_string(current.place));
    places = std::max(places, run(current));
  }
}

INSTANTIATE_TEST_SUITE_P(EveryCall, KernelFaultTest, ::testing::ValuesIn(cases()), name_of);

std::vector<std::string> matches(const std::string& text, const std::string& pattern) {
  const std::regex wanted(pattern);
  std::vector<std::string> found;
  for (std::sregex_iterator at(text.begin(), text.end(), wanted); at != std::sregex_iterator(); ++at) {
    found.push_back((*at)[1]);
  }
  return found;
}

TEST(KernelFaultTable, HasARowForEveryEntryOfTheTableOfCalls) {
  const auto entries = matches(read_file(SYSTEM_CALLS_HEADER), R"(virtual Value (\w+)\()");
  std::vector<std::string> names;
  for (const Row& row : rows()) {
    names.emplace_back(row.name);
    EXPECT_FALSE(row.why.empty()) << row.name;
  }
  EXPECT_EQ(names, entries)
      << "tests/kernel/fault_table.cc has the entries of system_calls.h, in their order";
  ASSERT_EQ(names.size(), static_cast<std::size_t>(env::Call::count_));
  for (std::size_t index = 0; index < names.size(); ++index) {
    EXPECT_EQ(static_cast<std::size_t>(rows()[index].call), index) << names[index];
  }
}

std::string describe(const Row& row) {
  std::string errnos;
  for (const int error : row.errnos) {
    errnos += std::string(errnos.empty() ? "" : ", ") + strerrorname_np(error);
  }
  std::ostringstream line;
  line << "| `" << row.name << "` | " << errnos << " | ";
  if (row.errnos.empty() || !row.reached) {
    line << "- | - | - | ";
  } else {
    line << to_string(row.at_start) << " | " << to_string(row.once) << " | " << to_string(row.always)
         << " | ";
  }
  line << row.why << " |";
  return line.str();
}

TEST(KernelFaultTable, IsTheOneOfTheDocumentation) {
  const std::string page = read_file(KERNEL_FAULTS_PAGE);
  for (const Row& row : rows()) {
    EXPECT_NE(page.find(describe(row)), std::string::npos) << "docs/kernel-faults.md lacks this line:\n"
                                                           << describe(row);
  }
}

}  // namespace
}  // namespace booblik::kernel
