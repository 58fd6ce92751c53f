#include "fake_broker.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/crc32c.h"
#include "client/frame_buffer.h"
#include "wire/response.h"

namespace booblik::client {
namespace {

bool send_all(env::Connection& connection, Bytes bytes) {
  while (!bytes.empty()) {
    const auto sent = connection.send({&bytes, 1}, Deadline::never());
    if (!sent) {
      return false;
    }
    bytes = bytes.subspan(*sent);
  }
  return true;
}

}  // namespace

std::vector<std::byte> error_frame(std::int32_t correlation_id, wire::WireError error) {
  std::vector<std::byte> frame(wire::kErrorResponseBytes);
  wire::put_error_response(frame.data(), correlation_id, error);
  return frame;
}

void FakeBroker::Partition::append(Bytes payload) {
  const std::size_t at = log.size();
  positions.push_back(at);
  log.resize(at + 8);
  store_big_endian(log.data() + at, static_cast<std::int32_t>(payload.size()));
  store_big_endian(log.data() + at + 4, crc32c(payload));
  log.insert(log.end(), payload.begin(), payload.end());
}

FakeBroker::FakeBroker(Roles roles, std::string host)
    : roles_(roles), host_(std::move(host)), changed_(roles.scheduler), fibers_(roles.scheduler) {
  start();
}

FakeBroker::~FakeBroker() {
  stop();
}

void FakeBroker::start() {
  stopping_ = false;
  listener_ = *roles_.network.listen(host_, port_);
  port_ = listener_->port();
  fibers_.add();
  roles_.scheduler.spawn("fake broker", [this] {
    while (auto connection = listener_->accept(Deadline::never())) {
      ++connections;
      connections_.push_back(std::move(*connection));
      fibers_.add();
      roles_.scheduler.spawn("fake session", [this, stream = connections_.back()]() mutable {
        serve(*stream);
        std::erase(connections_, stream);
        stream.reset();
        fibers_.done();
      });
    }
    fibers_.done();
  });
}

void FakeBroker::stop() {
  if (stopping_) {
    return;
  }
  stopping_ = true;
  listener_->close();
  for (const auto& connection : connections_) {
    connection->abort();
  }
  changed_.notify_all();
  (void)fibers_.wait(Deadline::never());
  connections_.clear();
  listener_.reset();
}

FakeBroker::Partition& FakeBroker::add(const std::string& topic, std::int32_t partition) {
  return topics_[topic][partition];
}

void FakeBroker::serve(env::Connection& connection) {
  FrameBuffer received;
  while (true) {
    while (received.first().status == wire::FrameStatus::complete) {
      if (!handle(connection, received.first().frame)) {
        return;
      }
      received.drop_first();
    }
    const auto count = connection.receive(received.space(), Deadline::never());
    if (!count || *count == 0) {
      return;
    }
    received.filled(*count);
  }
}

// False: the connection is over.
bool FakeBroker::handle(env::Connection& connection, Bytes frame) {
  const auto request = wire::decode_request(frame);
  BOOBLIK_CHECK(request.has_value(), "a client sends sound requests");
  const int number = requests++;
  if (fault) {
    if (const auto wrong = fault(*request, number)) {
      send_all(connection, wrong->bytes);
      if (wrong->then == Fault::Then::reset) {
        connection.abort();
      }
      while (wrong->then == Fault::Then::hang && !stopping_) {
        changed_.wait(Deadline::never());
      }
      return wrong->then == Fault::Then::go_on;
    }
  }
  const auto bytes = std::visit(
      [this, &request](const auto& body) { return answer(request->correlation_id, body); }, request->body);
  return send_all(connection, bytes);
}

FakeBroker::Partition* FakeBroker::find(std::string_view topic, PartitionId partition) {
  const auto found = topics_.find(std::string(topic));
  if (found == topics_.end() || !found->second.contains(partition.value())) {
    return nullptr;
  }
  return &found->second.at(partition.value());
}

std::vector<std::byte> FakeBroker::answer(std::int32_t id, const wire::ProduceRequest& request) {
  ++produces;
  Partition* partition = find(request.topic, request.partition);
  const bool silent = request.acks == wire::AckPolicy::none;
  if (partition == nullptr) {
    return silent ? std::vector<std::byte>() : error_frame(id, wire::WireError::unknown_topic_or_partition);
  }
  const Offset base = partition->end();
  for (const Bytes payload : request.records) {
    partition->append(payload);
  }
  changed_.notify_all();
  if (silent) {
    return {};
  }
  std::vector<std::byte> frame(wire::kProduceResponseBytes);
  wire::put_produce_response(frame.data(), id, base, partition->end());
  return frame;
}

std::vector<std::byte> FakeBroker::answer(std::int32_t id, const wire::FetchRequest& request) {
  Partition* partition = find(request.topic, request.partition);
  if (partition == nullptr) {
    return error_frame(id, wire::WireError::unknown_topic_or_partition);
  }
  if (request.offset < partition->log_start || request.offset > partition->end()) {
    return error_frame(id, wire::WireError::offset_out_of_range);
  }
  const Deadline deadline(roles_.clock.now() + request.max_wait);
  while (request.offset == partition->end() && !stopping_ && request.max_wait.count() > 0 &&
         changed_.wait(deadline) == env::Wake::unparked) {
  }
  Bytes payload;
  if (request.offset < partition->end()) {
    const auto index = static_cast<std::size_t>(request.offset - partition->log_start);
    payload = Bytes(partition->log).subspan(partition->positions[index]);
    payload = payload.first(std::min(payload.size(), static_cast<std::size_t>(request.max_bytes)));
  }
  std::vector<std::byte> frame(wire::kFetchResponseHeaderBytes);
  wire::put_fetch_response_header(frame.data(), id, partition->end(),
                                  static_cast<std::int32_t>(payload.size()));
  frame.insert(frame.end(), payload.begin(), payload.end());
  return frame;
}

std::vector<std::byte> FakeBroker::answer(std::int32_t id, const wire::MetadataRequest& request) {
  std::map<std::string, const std::map<std::int32_t, Partition>*> asked;
  bool unknown = false;
  request.for_each_name([&](std::string_view name) {
    const auto found = topics_.find(std::string(name));
    unknown |= found == topics_.end();
    if (!unknown) {
      asked[found->first] = &found->second;
    }
    return true;
  });
  if (unknown) {
    return error_frame(id, wire::WireError::unknown_topic_or_partition);
  }
  if (request.topic_count == 0) {
    for (const auto& [name, partitions] : topics_) {
      asked[name] = &partitions;
    }
  }
  std::vector<std::byte> body;
  for (const auto& [name, partitions] : asked) {
    wire::append_metadata_topic(body, name, static_cast<std::int32_t>(partitions->size()));
    for (const auto& [number, partition] : *partitions) {
      wire::append_metadata_partition(body, PartitionId(number), partition.log_start, partition.end());
    }
  }
  std::vector<std::byte> frame;
  wire::append_metadata_header(frame, id, static_cast<std::int32_t>(body.size() + 4),
                               static_cast<std::int32_t>(asked.size()));
  frame.insert(frame.end(), body.begin(), body.end());
  return frame;
}

}  // namespace booblik::client
