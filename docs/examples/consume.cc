// consume HOST:PORT TOPIC PARTITION FILE: prints what has come since the last run, and keeps in FILE how far
// it got.
#include <booblik/booblik.h>

#include <cstdlib>
#include <iostream>

namespace {

int fail(const booblik::Failure& failure) {
  std::cerr << name_of(failure.kind) << ": " << failure.message << "\n";
  return 1;
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 5) {
    std::cerr << "usage: consume HOST:PORT TOPIC PARTITION FILE\n";
    return 2;
  }
  booblik::ClientOptions client_options;
  client_options.broker = arguments[1];
  auto client = booblik::Client::open(client_options);
  if (!client) {
    return fail(client.error());
  }
  auto store = booblik::FilePositionStore::open(*client, arguments[4]);
  if (!store) {
    return fail(store.error());
  }

  booblik::ConsumerOptions options;
  options.topic = arguments[2];
  options.partition = std::atoi(arguments[3]);
  const auto stored = (*store)->load(options.topic, options.partition);
  if (!stored) {
    return fail(stored.error());  // unknown is not "none": starting over would repeat everything
  }
  if (*stored) {
    options.start_at = booblik::StartAt::offset;
    options.start_number = **stored;
  }
  auto consumer = booblik::Consumer::open(*client, options);
  if (!consumer) {
    return fail(consumer.error());
  }

  while (true) {
    const auto batch = consumer->replay();  // follow() would wait for more
    if (!batch) {
      return fail(batch.error());
    }
    if (batch->empty()) {
      return 0;
    }
    for (const booblik::Record& record : *batch) {
      std::cout << record.offset << " " << record.value << "\n";
    }
    std::cout.flush();
    // Only now, when the records are done: after a crash they come again.
    if (auto saved = (*store)->save({{options.topic, options.partition, batch->next_offset()}}); !saved) {
      return fail(saved.error());
    }
  }
}
