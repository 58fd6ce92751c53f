// What a broker does with received bytes: cut frames off, decode each. A request that was taken has to be the
// frame: encoded again, it is the same bytes.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <variant>
#include <vector>

#include "base/check.h"
#include "frame_mutator.h"
#include "wire/request.h"
#include "wire/request_encoder.h"
#include "wire/topic_name.h"

namespace booblik::wire {
namespace {

std::vector<std::byte> encode(std::int32_t id, const ProduceRequest& request) {
  std::vector<Bytes> payloads;
  std::size_t largest = 0;
  for (const Bytes payload : request.records) {
    BOOBLIK_CHECK(!payload.empty(), "no empty record is taken");
    payloads.push_back(payload);
    largest = std::max(largest, payload.size());
  }
  BOOBLIK_CHECK(payloads.size() == static_cast<std::size_t>(request.records.count()),
                "all records are there");
  BOOBLIK_CHECK(largest == static_cast<std::size_t>(request.records.largest_payload()),
                "the largest is known");
  std::vector<std::byte> out;
  encode_produce(out, id, request.topic, request.partition, request.acks, payloads);
  return out;
}

std::vector<std::byte> encode(std::int32_t id, const FetchRequest& request) {
  std::vector<std::byte> out;
  encode_fetch(out, id, request.topic, request.partition, request.offset, request.max_bytes, request.max_wait,
               request.min_bytes);
  return out;
}

std::vector<std::byte> encode(std::int32_t id, const MetadataRequest& request) {
  std::vector<std::string_view> names;
  request.for_each_name([&names](std::string_view name) {
    names.push_back(name);
    return true;
  });
  BOOBLIK_CHECK(names.size() == static_cast<std::size_t>(request.topic_count), "all names are there");
  std::vector<std::byte> out;
  encode_metadata(out, id, names);
  return out;
}

// The two fields in which decoding is allowed to lose something: a clamped wait, and v2 without a wait is v1
// again.
bool is_canonical(Bytes frame, const Request& request) {
  const auto* fetch = std::get_if<FetchRequest>(&request.body);
  if (fetch == nullptr || load_big_endian<std::int16_t>(frame.data() + 2) == 1) {
    return true;
  }
  const bool waits = fetch->max_wait.count() > 0 || fetch->min_bytes > 0;
  return waits && fetch->max_wait.count() < kMaxFetchWaitMillis;
}

void check_frame(Bytes frame) {
  const auto decoded = decode_request(frame);
  if (!decoded) {
    const Refusal& refusal = decoded.error();
    BOOBLIK_CHECK(std::strlen(refusal.reason) > 0, "a refusal has a reason");
    BOOBLIK_CHECK(refusal.error != WireError::none, "a refusal is an error");
    const bool has_id = frame.size() >= kRequestHeaderBytes;
    const auto id = has_id ? load_big_endian<std::int32_t>(frame.data() + 4) : 0;
    BOOBLIK_CHECK(refusal.correlation_id == id, "a refusal answers its request");
    return;
  }
  const auto encoded = std::visit(
      [&decoded](const auto& body) { return encode(decoded->correlation_id, body); }, decoded->body);
  if (is_canonical(frame, *decoded)) {
    BOOBLIK_CHECK(std::ranges::equal(Bytes(encoded).subspan(kFrameLengthBytes), frame),
                  "what is taken is what was sent");
  }
}

}  // namespace
}  // namespace booblik::wire

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned int seed);

std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                    unsigned int seed) {
  return booblik::fuzz::mutate_requests(data, size, max_size, seed, 0);
}

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace booblik;
  Bytes received = std::as_bytes(std::span(data, size));
  while (true) {
    const wire::FrameView view = wire::peek_frame(received);
    if (view.status != wire::FrameStatus::complete) {
      return 0;
    }
    wire::check_frame(view.frame);
    received = received.subspan(wire::kFrameLengthBytes + view.frame.size());
  }
}
