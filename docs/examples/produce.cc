// produce HOST:PORT TOPIC RECORD...: writes each argument as a record and says where it lies.
#include <booblik/booblik.h>

#include <future>
#include <iostream>
#include <vector>

int main(int count, char** arguments) {
  if (count < 3) {
    std::cerr << "usage: produce HOST:PORT TOPIC RECORD...\n";
    return 2;
  }
  booblik::ClientOptions client_options;
  client_options.broker = arguments[1];
  auto client = booblik::Client::open(client_options);
  if (!client) {
    std::cerr << client.error().message << "\n";
    return 1;
  }

  booblik::ProducerOptions options;
  options.topic = arguments[2];
  options.acks = booblik::Acks::forced;  // an acknowledged record survives a power cut
  auto producer = booblik::Producer::open(*client, options);
  if (!producer) {
    std::cerr << producer.error().message << "\n";
    return 1;
  }

  std::vector<std::future<booblik::Receipt>> receipts;
  for (int i = 3; i < count; ++i) {
    receipts.push_back(producer->send_future(arguments[i]));
  }
  if (auto closed = producer->close(); !closed) {
    std::cerr << closed.error().message << "\n";  // which records, the receipts say
  }

  bool all = true;
  for (auto& future : receipts) {
    const booblik::Receipt receipt = future.get();
    all = all && static_cast<bool>(receipt);
    if (receipt) {
      std::cout << "partition " << receipt.partition << ", offset " << receipt.offset << "\n";
    } else {
      std::cout << name_of(receipt.state) << ": " << receipt.failure.message << "\n";
    }
  }
  return all ? 0 : 1;
}
