#include "workload.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>

#include "base/crc32c.h"
#include "broker_child.h"
#include "wire/request_encoder.h"
#include "wire/response.h"

namespace booblik::kernel {
namespace {

constexpr int kRecordsPerBatch = 3;
constexpr std::int32_t kPartitions = 2;

Reply reply_of_errno() {
  return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINPROGRESS ? Reply::nothing : Reply::closed;
}

}  // namespace

bool Client::connect() {
  if (socket_ >= 0) {
    return true;
  }
  socket_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const auto micros = std::chrono::duration_cast<std::chrono::microseconds>(patience_).count();
  const timeval limit{micros / 1'000'000, micros % 1'000'000};
  ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  ::setsockopt(socket_, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port_);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    close();
    return false;
  }
  return true;
}

void Client::close() {
  if (socket_ >= 0) {
    ::close(socket_);
    socket_ = -1;
  }
}

Reply Client::send(const std::vector<std::byte>& request) {
  if (!connect()) {
    return Reply::closed;
  }
  for (std::size_t done = 0; done < request.size();) {
    const auto sent = ::send(socket_, request.data() + done, request.size() - done, MSG_NOSIGNAL);
    if (sent < 0) {
      return reply_of_errno();
    }
    done += static_cast<std::size_t>(sent);
  }
  return Reply::answered;
}

Reply Client::receive() {
  frame_.clear();
  std::size_t wanted = wire::kFrameLengthBytes;
  while (frame_.size() < wanted) {
    const std::size_t before = frame_.size();
    frame_.resize(wanted);
    const auto got = ::recv(socket_, frame_.data() + before, wanted - before, 0);
    if (got <= 0) {
      return got == 0 ? Reply::closed : reply_of_errno();
    }
    frame_.resize(before + static_cast<std::size_t>(got));
    if (frame_.size() == wanted && wanted == wire::kFrameLengthBytes) {
      const auto length = load_big_endian<std::int32_t>(frame_.data());
      EXPECT_TRUE(length >= wire::kResponseHeaderBytes && length <= wire::kMaxFrameBytes) << length;
      wanted += static_cast<std::size_t>(length);
    }
  }
  frame_.erase(frame_.begin(), frame_.begin() + wire::kFrameLengthBytes);
  return Reply::answered;
}

Reply Client::exchange(const std::vector<std::byte>& request, bool is_answered) {
  Reply reply = send(request);
  if (reply == Reply::answered && is_answered) {
    reply = receive();
  }
  if (reply != Reply::answered) {
    close();
    return reply;
  }
  if (is_answered) {
    const auto header = wire::decode_response_header(frame_);
    EXPECT_TRUE(header && header->correlation_id == next_id_);
    error_ = header ? header->error : wire::WireError::corrupt_request;
    // Retention may be faster than a reader.
    EXPECT_TRUE(error_ == wire::WireError::none || error_ == wire::WireError::offset_out_of_range)
        << static_cast<int>(error_);
  }
  return reply;
}

Reply Client::produce(std::int32_t partition, wire::AckPolicy acks) {
  std::vector<std::string> texts;
  std::vector<Bytes> payloads;
  for (int record = 0; record < kRecordsPerBatch; ++record) {
    texts.push_back(std::to_string(++next_id_) + std::string(250, '.'));
  }
  for (const std::string& text : texts) {
    payloads.push_back(as_bytes(text));
  }
  std::vector<std::byte> request;
  wire::encode_produce(request, next_id_, kTopic, PartitionId(partition), acks, payloads);
  const bool is_answered = acks != wire::AckPolicy::none;
  const Reply reply = exchange(request, is_answered);
  if (reply == Reply::answered && is_answered) {
    const auto answer = wire::decode_produce_response(frame_);
    EXPECT_TRUE(answer) << answer.error().reason;
    for (int record = 0; answer && record < kRecordsPerBatch; ++record) {
      const std::int64_t offset = answer->base_offset.value() + record;
      const bool is_new =
          promises_.acked.emplace(std::pair(partition, offset), texts[static_cast<std::size_t>(record)])
              .second;
      EXPECT_TRUE(is_new) << "offset " << offset << " was given away before";
    }
  }
  return reply;
}

Reply Client::fetch(std::int32_t partition) {
  if (!starts_.contains(partition)) {
    return metadata();
  }
  std::vector<std::byte> request;
  wire::encode_fetch(request, ++next_id_, kTopic, PartitionId(partition), Offset(ends_.at(partition)),
                     100'000, std::chrono::milliseconds(0), 0);
  const Reply reply = exchange(request, true);
  if (reply == Reply::answered) {
    const auto answer = wire::decode_fetch_response(frame_);
    EXPECT_TRUE(answer && answer->high_watermark >= Offset(ends_.at(partition)));
  }
  return reply;
}

Reply Client::metadata() {
  std::vector<std::byte> request;
  wire::encode_metadata(request, ++next_id_, {});
  const Reply reply = exchange(request, true);
  if (reply == Reply::answered) {
    const auto topics = wire::decode_metadata_response(frame_);
    EXPECT_TRUE(topics && topics->size() == 1 && topics->front().partitions.size() == kPartitions);
    for (const wire::PartitionMetadata& partition : topics->front().partitions) {
      starts_[partition.partition.value()] = partition.log_start.value();
      ends_[partition.partition.value()] = partition.high_watermark.value();
    }
  }
  return reply;
}

Reply Client::read_all(std::int32_t partition, std::map<std::int64_t, std::string>& into) {
  std::int64_t offset = starts_.at(partition);
  while (offset < ends_.at(partition)) {
    std::vector<std::byte> request;
    wire::encode_fetch(request, ++next_id_, kTopic, PartitionId(partition), Offset(offset), 1 << 20,
                       std::chrono::milliseconds(0), 0);
    if (const Reply reply = exchange(request, true); reply != Reply::answered) {
      return reply;
    }
    if (error_ == wire::WireError::offset_out_of_range) {
      into.clear();
      const Reply reply = metadata();
      EXPECT_GT(starts_.at(partition), offset);
      offset = starts_.at(partition);
      if (reply != Reply::answered || ::testing::Test::HasFailure()) {
        return reply;
      }
      continue;
    }
    Bytes rest = wire::decode_fetch_response(frame_)->payload;
    if (rest.empty()) {
      ADD_FAILURE() << "nothing is at offset " << offset;
      return Reply::nothing;
    }
    while (!rest.empty()) {
      const auto size = static_cast<std::size_t>(load_big_endian<std::int32_t>(rest.data()));
      const Bytes payload = rest.subspan(wire::kRecordHeaderBytes, size);
      EXPECT_EQ(crc32c(payload), load_big_endian<std::uint32_t>(rest.data() + 4)) << offset;
      into[offset++] = std::string(as_text(payload));
      rest = rest.subspan(wire::kRecordHeaderBytes + size);
    }
  }
  return Reply::answered;
}

Worst use_broker(std::uint16_t port, std::chrono::milliseconds patience, Promises& promises) {
  Client client(port, patience, promises);
  bool was_closed = false;
  const auto note = [&was_closed](Reply reply) {
    was_closed = was_closed || reply == Reply::closed;
    return reply != Reply::nothing;
  };
  for (int round = 0; round < 3; ++round) {
    for (std::int32_t partition = 0; partition < kPartitions; ++partition) {
      for (const auto acks : {wire::AckPolicy::forced, wire::AckPolicy::none, wire::AckPolicy::written}) {
        if (!note(client.produce(partition, acks))) {
          return Worst::waiting;
        }
      }
      if (!note(client.metadata()) || !note(client.fetch(partition))) {
        return Worst::waiting;
      }
    }
  }
  // Once each on a new connection.
  client.close();
  bool produces = true;
  bool fetches = true;
  for (std::int32_t partition = 0; partition < kPartitions; ++partition) {
    const Reply produced = client.produce(partition, wire::AckPolicy::forced);
    const Reply listed = client.metadata();
    const Reply fetched = client.fetch(partition);
    if (!note(produced) || !note(listed) || !note(fetched)) {
      return Worst::waiting;
    }
    produces = produces && produced == Reply::answered;
    fetches = fetches && listed == Reply::answered && fetched == Reply::answered;
  }
  return !fetches ? Worst::cut : !produces ? Worst::refused : was_closed ? Worst::closed : Worst::served;
}

void expect_kept(std::uint16_t port, const Promises& promises) {
  Promises ignored;
  Client client(port, std::chrono::seconds(30), ignored);
  ASSERT_EQ(client.metadata(), Reply::answered);
  for (std::int32_t partition = 0; partition < kPartitions; ++partition) {
    std::map<std::int64_t, std::string> stored;
    ASSERT_EQ(client.read_all(partition, stored), Reply::answered);
    for (const auto& [place, text] : promises.acked) {
      const auto& [number, offset] = place;
      if (number != partition || offset < client.log_start(partition)) {
        continue;
      }
      const auto found = stored.find(offset);
      ASSERT_TRUE(found != stored.end())
          << "partition " << partition << ": the acknowledged record at " << offset
          << " is gone, the log ends at " << client.log_end(partition);
      ASSERT_EQ(found->second, text) << "partition " << partition << ", offset " << offset;
    }
  }
}

}  // namespace booblik::kernel
