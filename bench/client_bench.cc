// One producer thread or one consumer thread through libbooblik's public headers: what a program can expect.
//
//   client_bench produce HOST:PORT TOPIC SECONDS [written|forced|none]
//   client_bench consume HOST:PORT TOPIC SECONDS
//
// Prints records/s. `produce` sends records of 128 B for so long, then closes: the time until the last
// acknowledgement counts, and anything but an acknowledgement is an error. `consume` reads the partition
// again and again from its beginning, with all checksums verified, and looks at each record.
#include <booblik/booblik.h>

#include <chrono>
#include <cstdlib>
#include <iostream>
#include <string>
#include <string_view>

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kRecordBytes = 128;

int fail(const booblik::Failure& failure) {
  std::cerr << name_of(failure.kind) << ": " << failure.message << "\n";
  return 1;
}

int report(std::int64_t records, Clock::time_point began) {
  const double seconds = std::chrono::duration<double>(Clock::now() - began).count();
  std::cout << static_cast<std::int64_t>(static_cast<double>(records) / seconds) << "\n";
  return 0;
}

int produce(const booblik::Client& client, const std::string& topic, std::chrono::seconds time,
            booblik::Acks acks) {
  booblik::ProducerOptions options;
  options.topic = topic;
  options.acks = acks;
  auto producer = booblik::Producer::open(client, options);
  if (!producer) {
    return fail(producer.error());
  }
  const std::string value(kRecordBytes, 'x');
  const auto began = Clock::now();
  std::int64_t records = 0;
  while (Clock::now() - began < time) {
    for (int i = 0; i < 1'000; ++i) {  // the clock is not what is measured
      if (auto ticket = producer->send(value); !ticket) {
        return fail(ticket.error());
      }
    }
    records += 1'000;
  }
  if (auto closed = producer->close(); !closed) {
    return fail(closed.error());
  }
  return report(records, began);
}

int consume(const booblik::Client& client, const std::string& topic, std::chrono::seconds time) {
  booblik::ConsumerOptions options;
  options.topic = topic;
  auto consumer = booblik::Consumer::open(client, options);
  if (!consumer) {
    return fail(consumer.error());
  }
  const auto began = Clock::now();
  std::int64_t records = 0;
  std::size_t bytes = 0;
  while (Clock::now() - began < time) {
    const auto batch = consumer->poll();
    if (!batch) {
      return fail(batch.error());
    }
    if (batch->empty()) {
      const auto topics = client.topics({topic});  // retention may have moved the beginning
      if (!topics) {
        return fail(topics.error());
      }
      consumer->seek(topics->front().partitions.front().start_offset);
    }
    for (const booblik::Record& record : *batch) {
      bytes += record.value.size();
    }
    records += static_cast<std::int64_t>(batch->size());
  }
  if (records == 0 || bytes != static_cast<std::size_t>(records) * kRecordBytes) {
    std::cerr << "there are no records of " << kRecordBytes << " B: produce some first\n";
    return 1;
  }
  return report(records, began);
}

}  // namespace

int main(int count, char** arguments) {
  const std::string_view what = count > 1 ? arguments[1] : "";
  if (count < 5 || (what != "produce" && what != "consume")) {
    std::cerr << "usage: client_bench produce|consume HOST:PORT TOPIC SECONDS [written|forced|none]\n";
    return 2;
  }
  booblik::ClientOptions options;
  options.broker = arguments[2];
  const auto client = booblik::Client::open(options);
  if (!client) {
    return fail(client.error());
  }
  const std::chrono::seconds time(std::atoi(arguments[4]));
  if (what == "consume") {
    return consume(*client, arguments[3], time);
  }
  const std::string_view acks = count > 5 ? arguments[5] : "written";
  return produce(*client, arguments[3], time,
                 acks == "none"     ? booblik::Acks::none
                 : acks == "forced" ? booblik::Acks::forced
                                    : booblik::Acks::written);
}
