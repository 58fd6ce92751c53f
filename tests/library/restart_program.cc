// restart_program HOST:PORT: one thread produces numbered records to t-0, another follows, until standard
// input ends. Then every record has one outcome, and what was acknowledged was consumed at its offset: exit 0
// and the counts, else 1 and a sentence. It says "connected again" whenever the producer has, and "written"
// when it has written something since, so that a script can kill and restart the broker meanwhile.
#include <booblik/booblik.h>

#include <atomic>
#include <iostream>
#include <map>
#include <mutex>
#include <string>
#include <thread>

namespace {

class Outcomes {
 public:
  booblik::OnReceipt of(std::int64_t number) {
    return [this, number](const booblik::Receipt& receipt) {
      const std::lock_guard lock(mutex_);
      twice_ = twice_ || !receipts_.emplace(number, receipt).second;
    };
  }

  // Empty: all is well.
  std::string check(std::int64_t accepted, const std::map<std::int64_t, std::string>& consumed) {
    const std::lock_guard lock(mutex_);
    if (twice_ || receipts_.size() != static_cast<std::size_t>(accepted)) {
      return "a record has no outcome, or two";
    }
    for (const auto& [number, receipt] : receipts_) {
      ++counts_[receipt.state];
      if (receipt.state == booblik::Delivered::acknowledged) {
        const auto found = consumed.find(receipt.offset);
        if (found == consumed.end() || found->second != std::to_string(number)) {
          return "record " + std::to_string(number) + " was acknowledged but not consumed at its offset";
        }
      }
    }
    return {};
  }

  void print() const {
    for (const auto& [state, count] : counts_) {
      std::cout << name_of(state) << "=" << count << std::endl;
    }
  }

 private:
  std::mutex mutex_;
  std::map<std::int64_t, booblik::Receipt> receipts_;
  std::map<booblik::Delivered, std::int64_t> counts_;
  bool twice_ = false;
};

int fail(const std::string& message) {
  std::cout << message << std::endl;
  return 1;
}

booblik::ProducerOptions producer_options(std::atomic<bool>& announce) {
  booblik::ProducerOptions options;
  options.topic = "t";
  options.on_connection = [&announce](const booblik::ConnectionEvent& event) {
    if (event.state == booblik::ConnectionState::connected) {
      std::cout << "connected again\n" << std::flush;
      announce = true;
    }
  };
  return options;
}

}  // namespace

int main(int, char** arguments) {
  booblik::ClientOptions client_options;
  client_options.broker = arguments[1];
  const auto client = booblik::Client::open(client_options);
  booblik::ConsumerOptions consumer_options;
  consumer_options.topic = "t";
  auto consumer = booblik::Consumer::open(*client, consumer_options);
  std::atomic<bool> announce = true;
  auto producer = booblik::Producer::open(*client, producer_options(announce));
  if (!consumer || !producer) {
    return fail("no broker");
  }
  std::atomic<bool> ended = false;
  Outcomes outcomes;
  std::int64_t accepted = 0;
  std::thread writer([&] {
    while (!ended) {
      for (int i = 0; i < 10; ++i) {
        accepted += producer->send(std::to_string(accepted), outcomes.of(accepted)) ? 1 : 0;
      }
      // What was lost is in the outcomes.
      if (producer->flush() && announce.exchange(false)) {
        std::cout << "written\n" << std::flush;
      }
    }
    (void)producer->close();
  });
  std::map<std::int64_t, std::string> consumed;
  std::string failure;
  std::atomic<bool> written = false;
  std::thread reader([&] {
    while (failure.empty()) {
      const bool last = written;
      // An empty follow may mean that the broker is away; poll waits for it, so then it means the end.
      const auto batch = last ? consumer->poll() : consumer->follow(std::chrono::milliseconds(50));
      if (!batch) {
        failure = batch.error().message;
        break;
      }
      for (const booblik::Record& record : *batch) {
        consumed.emplace(record.offset, std::string(record.value));
      }
      if (last && batch->empty()) {
        break;
      }
    }
  });
  std::string line;
  while (std::getline(std::cin, line)) {
  }
  ended = true;
  writer.join();
  written = true;
  reader.join();
  if (failure.empty()) {
    failure = outcomes.check(accepted, consumed);
  }
  outcomes.print();
  return failure.empty() ? 0 : fail(failure);
}
