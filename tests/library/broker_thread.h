// A fake broker on a thread of its own, for clients on others.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <booblik/client.h>

#include "fake_broker.h"
#include "library/reactor_thread.h"

namespace booblik::library {

class BrokerThread {
 public:
  using Fault = client::FakeBroker::Fault;

  // Topic "t" with so many partitions.
  explicit BrokerThread(int partitions = 1) : thread_(*ReactorThread::start()) {
    thread_->call("start broker", [&] {
      broker_ = std::make_unique<client::FakeBroker>(thread_->roles(), "127.0.0.1");
      for (int partition = 0; partition < partitions; ++partition) {
        broker_->add("t", partition);
      }
    });
  }
  ~BrokerThread() { stop(); }
  BrokerThread(const BrokerThread&) = delete;
  BrokerThread& operator=(const BrokerThread&) = delete;

  // Breaks all connections and listens no more.
  void stop() {
    if (broker_ != nullptr) {
      thread_->call("stop broker", [&] { broker_.reset(); });
    }
  }

  [[nodiscard]] std::string address() const { return broker_->address().to_string(); }

  // `fault` runs on the broker's thread.
  void set_fault(std::function<std::optional<Fault>(const wire::Request&, int)> fault) {
    thread_->call("set fault", [&] { broker_->fault = std::move(fault); });
  }
  // From now on PRODUCE requests are treated like that.
  void set_produce_fault(Fault::Then then) {
    set_fault([then](const wire::Request& request, int) -> std::optional<Fault> {
      if (!std::holds_alternative<wire::ProduceRequest>(request.body)) {
        return std::nullopt;
      }
      return Fault{{}, then};
    });
  }

  // The records of a partition, in order.
  [[nodiscard]] std::vector<std::string> records(int partition = 0) {
    return thread_->call("read log", [&] {
      const client::FakeBroker::Partition& log = broker_->at("t", partition);
      std::vector<std::string> result;
      for (const std::size_t at : log.positions) {
        const auto size = load_big_endian<std::int32_t>(log.log.data() + at);
        result.emplace_back(as_text({log.log.data() + at + 8, static_cast<std::size_t>(size)}));
      }
      return result;
    });
  }

  void append(const std::string& value, int partition = 0) {
    thread_->call("append", [&] {
      broker_->at("t", partition).append(as_bytes(value));
      broker_->appended();
    });
  }

  // On the broker's thread.
  template <class Body>
  void with(Body&& body) {
    thread_->call("with broker", [&] { body(*broker_); });
  }

  [[nodiscard]] int requests() {
    return thread_->call("count requests", [&] { return broker_->requests; });
  }

 private:
  std::shared_ptr<ReactorThread> thread_;
  std::unique_ptr<client::FakeBroker> broker_;
};

// The first loss is the end, unless a test is about coming back.
[[nodiscard]] inline Client open_client(const BrokerThread& broker,
                                        std::chrono::milliseconds request_timeout = std::chrono::seconds(30),
                                        bool reconnect = false) {
  ClientOptions options;
  options.broker = broker.address();
  options.request_timeout = request_timeout;
  options.reconnect.enabled = reconnect;
  options.reconnect.pause_first = std::chrono::milliseconds(1);
  return *Client::open(options);
}

}  // namespace booblik::library
