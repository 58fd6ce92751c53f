// A whole consumer whose broker sends the input, in pieces: whatever comes, every call returns, records are
// numbered in order, and the first byte only chooses the size of the pieces and what is called.
#include <cstdint>
#include <memory>

#include "../tests/client/virtual_world.h"
#include "base/check.h"
#include "client/consumer.h"
#include "frame_mutator.h"

namespace booblik::client {
namespace {

// Sends the input to whoever connects, and ends the stream.
void serve(env::Listener& listener, Bytes input) {
  const auto connection = listener.accept(Deadline::never());
  while (!input.empty()) {
    const auto sent = (*connection)->send({&input, 1}, Deadline::never());
    if (!sent) {
      return;
    }
    input = input.subspan(*sent);
  }
}

void consume(VirtualWorld& world, std::uint16_t port, bool follow) {
  ConsumerOptions options;
  options.broker = {"virtual", port};
  options.topic = "t";
  options.max_bytes = 1000;
  options.reconnect.enabled = false;  // the input is one connection
  const auto consumer = Consumer::open(world.roles, options);
  if (!consumer) {
    return;
  }
  for (int call = 0; call < 20; ++call) {
    const Offset before = (*consumer)->position();
    const auto batch = follow ? (*consumer)->follow(Deadline::immediately()) : (*consumer)->replay();
    if (!batch) {
      BOOBLIK_CHECK((*consumer)->position() == before, "a failure leaves the position where it was");
      continue;
    }
    Offset expected = before;
    for (const Record& record : batch->records) {
      BOOBLIK_CHECK(record.offset == expected, "records come in order");
      expected += 1;
    }
    BOOBLIK_CHECK(batch->next == expected && (*consumer)->position() == expected,
                  "the position follows the records");
  }
}

}  // namespace
}  // namespace booblik::client

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned int seed);

std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                    unsigned int seed) {
  return booblik::fuzz::mutate_answers(data, size, max_size, seed, 1);
}

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace booblik;
  if (size == 0) {
    return 0;
  }
  static env::StackPool stacks{env::StackPool::Options{}};
  client::VirtualWorld world(stacks);
  world.network.limits.piece_bytes = 1U + (data[0] >> 1U);
  const bool follow = (data[0] & 1U) != 0;
  const bool finished = world.scheduler.run([&] {
    const auto listener = world.network.listen("virtual", 0);
    world.scheduler.spawn("broker",
                          [&] { client::serve(**listener, std::as_bytes(std::span(data + 1, size - 1))); });
    client::consume(world, (*listener)->port(), follow);
  });
  BOOBLIK_CHECK(finished, "a consumer never waits for what cannot come");
  return 0;
}
