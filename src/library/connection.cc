#include <booblik/connection.h>

#include <fmt/format.h>

#include <future>
#include <utility>

#include "client/partitioner.h"
#include "client/record_splitter.h"
#include "library/pipeline.h"
#include "wire/request_encoder.h"
#include "wire/response.h"
#include "wire/topic_name.h"

namespace booblik {

using library::failure;
using library::Pipeline;

namespace {

Outcome<void> check(std::string_view topic, std::int32_t partition) {
  if (const auto valid = wire::check_topic_name(topic); !valid) {
    return failure(FailureKind::invalid, valid.error().message);
  }
  if (partition < 0) {
    return failure(FailureKind::invalid, "partitions are numbered from 0");
  }
  return {};
}

Outcome<void> check(const ProduceRequest& request) {
  if (auto valid = check(request.topic, request.partition); !valid) {
    return valid;
  }
  if (request.acks < Acks::none || request.acks > Acks::forced) {
    return failure(FailureKind::invalid, "acks is none, written or forced");
  }
  if (request.records.empty()) {
    return failure(FailureKind::invalid, "a request has at least one record");
  }
  wire::ProduceFrame empty(request.topic, PartitionId(request.partition), wire::AckPolicy::none);
  std::size_t bytes = empty.size() - wire::kFrameLengthBytes;
  for (const std::string_view record : request.records) {
    if (record.empty()) {
      return failure(FailureKind::invalid, "a record must not be empty");
    }
    bytes += sizeof(std::int32_t) + record.size();
    if (bytes > wire::kMaxFrameBytes) {
      return failure(FailureKind::invalid, "the records do not fit one request of 8388608 bytes");
    }
  }
  return {};
}

Outcome<void> check(const FetchRequest& request) {
  if (auto valid = check(request.topic, request.partition); !valid) {
    return valid;
  }
  if (request.offset < 0 || request.max_bytes < 1) {
    return failure(FailureKind::invalid, "an offset is at least 0, max_bytes at least 1");
  }
  if (request.min_bytes < 0 || request.min_bytes > request.max_bytes) {
    return failure(FailureKind::invalid, "min_bytes is 0 to max_bytes");
  }
  if (request.max_wait < request.max_wait.zero() ||
      request.max_wait > std::chrono::milliseconds(wire::kMaxFetchWaitMillis)) {
    return failure(FailureKind::invalid, "max_wait is 0 to 60 s");
  }
  return {};
}

// What is wrong with an answer before its body is looked at.
std::optional<Failure> failure_of(const Pipeline::Answer& answer, std::string_view what) {
  if (answer.failure) {
    return answer.failure;
  }
  if (answer.error != wire::WireError::none) {
    return library::to_public(client::refused(what, answer.error).error());
  }
  return std::nullopt;
}

Failure bad_answer(std::string_view what, const char* reason) {
  Failure result = failure(FailureKind::bad_answer, fmt::format("{}: {}", what, reason));
  result.maybe_done = true;
  return result;
}

Outcome<ProduceAnswer> read_produce(const Pipeline::Answer& answer, bool answered, std::size_t records) {
  if (auto failure = failure_of(answer, "PRODUCE")) {
    return *failure;
  }
  if (!answered) {
    return ProduceAnswer{};
  }
  const auto decoded = wire::decode_produce_response(answer.frame);
  if (!decoded) {
    return bad_answer("PRODUCE", decoded.error().reason);
  }
  if (decoded->base_offset < Offset(0) ||
      decoded->log_end_offset - decoded->base_offset < static_cast<std::int64_t>(records)) {
    return bad_answer("PRODUCE", "the offsets have no room for the records");
  }
  return ProduceAnswer{decoded->base_offset.value(), decoded->log_end_offset.value()};
}

Outcome<FetchAnswer> read_fetch(const Pipeline::Answer& answer, std::int64_t offset, std::int32_t max_bytes) {
  if (auto failure = failure_of(answer, "FETCH")) {
    return *failure;
  }
  const auto decoded = wire::decode_fetch_response(answer.frame);
  if (!decoded) {
    return bad_answer("FETCH", decoded.error().reason);
  }
  if (decoded->payload.size() > static_cast<std::size_t>(max_bytes)) {
    return bad_answer("FETCH", "more bytes came than were asked for");
  }
  if (decoded->payload.empty() && decoded->high_watermark > Offset(offset)) {
    return bad_answer("FETCH", "nothing came although there are records");
  }
  FetchAnswer result;
  result.high_watermark = decoded->high_watermark.value();
  result.payload = as_text(decoded->payload);
  std::vector<client::Record> records;
  const client::SplitEnd end = client::split_records(decoded->payload, Offset(offset), records);
  if (decoded->high_watermark < end.next) {
    return bad_answer("FETCH", "there are records behind the high watermark");
  }
  for (const client::Record& record : records) {
    result.records.emplace_back(as_text(record.value));
  }
  result.tail_record_bytes = end.tail_record_bytes.value_or(0);
  result.corrupt = end.corrupt != nullptr;
  return result;
}

void dispose(std::unique_ptr<Pipeline> pipeline) {
  if (pipeline == nullptr) {
    return;
  }
  library::ReactorThread& thread = pipeline->thread();
  if (thread.is_current()) {
    thread.spawn("end connection", [pipeline = std::move(pipeline)] { pipeline->end(); });
  } else {
    thread.call("end connection", [&] { pipeline->end(); });
  }
}

// Waits for the answer of a call that takes a callback.
template <class T, class Start>
Outcome<T> wait_for(const Pipeline& pipeline, const char* what, Start&& start) {
  if (pipeline.thread().is_current()) {
    return library::called_from_callback(what);
  }
  auto promise = std::make_shared<std::promise<Outcome<T>>>();
  auto answer = promise->get_future();
  start([promise](Outcome<T> outcome) { promise->set_value(std::move(outcome)); });
  return answer.get();
}

}  // namespace

Outcome<Connection> Connection::open(const Client& client) {
  auto pipeline = Pipeline::open(library::ClientState::of(client));
  if (!pipeline) {
    return pipeline.error();
  }
  return Connection(std::move(*pipeline));
}

Connection::Connection(std::unique_ptr<Pipeline> pipeline) : pipeline_(std::move(pipeline)) {}

Connection::Connection(Connection&& other) noexcept = default;

Connection& Connection::operator=(Connection&& other) noexcept {
  if (this != &other) {
    dispose(std::exchange(pipeline_, std::move(other.pipeline_)));
  }
  return *this;
}

Connection::~Connection() {
  dispose(std::move(pipeline_));
}

void Connection::produce(const ProduceRequest& request, std::function<void(Outcome<ProduceAnswer>)> done) {
  if (auto valid = check(request); !valid) {
    done(valid.error());
    return;
  }
  std::vector<Bytes> payloads;
  payloads.reserve(request.records.size());
  for (const std::string_view record : request.records) {
    payloads.push_back(as_bytes(record));
  }
  std::vector<std::byte> frame;
  wire::encode_produce(frame, 0, request.topic, PartitionId(request.partition),
                       static_cast<wire::AckPolicy>(request.acks), payloads);
  const bool answered = request.acks != Acks::none;
  pipeline_->submit(std::move(frame), answered, Duration(0),
                    [done = std::move(done), answered, records = payloads.size()](
                        const Pipeline::Answer& answer) { done(read_produce(answer, answered, records)); });
}

void Connection::fetch(const FetchRequest& request, std::function<void(Outcome<FetchAnswer>)> done) {
  if (auto valid = check(request); !valid) {
    done(valid.error());
    return;
  }
  std::vector<std::byte> frame;
  wire::encode_fetch(frame, 0, request.topic, PartitionId(request.partition), Offset(request.offset),
                     request.max_bytes, request.max_wait, request.min_bytes);
  pipeline_->submit(std::move(frame), true, request.max_wait,
                    [done = std::move(done), offset = request.offset, max_bytes = request.max_bytes](
                        const Pipeline::Answer& answer) { done(read_fetch(answer, offset, max_bytes)); });
}

Outcome<ProduceAnswer> Connection::produce(const ProduceRequest& request) {
  return wait_for<ProduceAnswer>(*pipeline_, "produce",
                                 [&](auto done) { produce(request, std::move(done)); });
}

Outcome<FetchAnswer> Connection::fetch(const FetchRequest& request) {
  return wait_for<FetchAnswer>(*pipeline_, "fetch", [&](auto done) { fetch(request, std::move(done)); });
}

Outcome<std::vector<TopicInfo>> Connection::metadata(const std::vector<std::string>& names) {
  const std::vector<std::string_view> topics(names.begin(), names.end());
  std::size_t bytes = wire::kRequestHeaderBytes + sizeof(std::int32_t);
  for (const std::string_view topic : topics) {
    if (auto valid = check(topic, 0); !valid) {
      return valid.error();
    }
    bytes += sizeof(std::uint16_t) + topic.size();
  }
  if (bytes > wire::kMaxFrameBytes) {
    return failure(FailureKind::invalid, "the topic names do not fit one request");
  }
  return wait_for<std::vector<TopicInfo>>(*pipeline_, "metadata", [&](auto done) {
    std::vector<std::byte> frame;
    wire::encode_metadata(frame, 0, topics);
    pipeline_->submit(std::move(frame), true, Duration(0),
                      [done = std::move(done)](const Pipeline::Answer& answer) {
                        if (auto failure = failure_of(answer, "METADATA")) {
                          done(*failure);
                          return;
                        }
                        const auto decoded = wire::decode_metadata_response(answer.frame);
                        if (!decoded) {
                          done(bad_answer("METADATA", decoded.error().reason));
                          return;
                        }
                        done(library::to_public(*decoded));
                      });
  });
}

std::int32_t partition_for_key(std::string_view key, std::int32_t partition_count) noexcept {
  return partition_count > 0 ? client::partition_for_key(as_bytes(key), partition_count).value() : -1;
}

}  // namespace booblik
