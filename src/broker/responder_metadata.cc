// METADATA is written topic by topic into the sender's small buffer, however many topics there are.
#include <cstring>
#include <vector>

#include "broker/responder.h"
#include "wire/response.h"

namespace booblik::broker {
namespace {

std::int64_t topic_bytes(const Topic& topic) {
  return wire::kMetadataTopicBytes + static_cast<std::int64_t>(topic.name.size()) +
         wire::kMetadataPartitionBytes * static_cast<std::int64_t>(topic.partitions.size());
}

bool put(AnswerSender& sender, const std::vector<std::byte>& bytes) {
  if (!sender.make_room(bytes.size())) {
    return false;
  }
  std::memcpy(sender.room(), bytes.data(), bytes.size());
  sender.put(bytes.size());
  return true;
}

}  // namespace

Responder::Next Responder::answer(MetadataAnswer& answer) {
  ++context_.metrics.metadata_requests;
  std::vector<const Topic*> every;
  if (answer.all_topics) {
    for (const Topic& topic : context_.topics.all()) {
      every.push_back(&topic);
    }
  }
  const std::vector<const Topic*>& topics = answer.all_topics ? every : answer.topics;
  std::int64_t body_bytes = wire::kMetadataFixedBytes;
  for (const Topic* topic : topics) {
    body_bytes += topic_bytes(*topic);
  }
  std::vector<std::byte> header;
  wire::append_metadata_header(header, answer.correlation_id, static_cast<std::int32_t>(body_bytes),
                               static_cast<std::int32_t>(topics.size()));
  if (!put(sender_, header)) {
    return Next::end;
  }
  for (const Topic* topic : topics) {
    if (put_topic(*topic) == Next::end) {
      return Next::end;
    }
  }
  return Next::go_on;
}

Responder::Next Responder::put_topic(const Topic& topic) {
  std::vector<std::byte> piece;
  wire::append_metadata_topic(piece, topic.name, static_cast<std::int32_t>(topic.partitions.size()));
  for (const Partition& partition : topic.partitions) {
    wire::append_metadata_partition(piece, partition.log.id().partition, partition.log.start_offset(),
                                    partition.log.end_offset());
    if (piece.size() + static_cast<std::size_t>(wire::kMetadataPartitionBytes) > AnswerSender::kRoomBytes) {
      if (!put(sender_, piece)) {
        return Next::end;
      }
      piece.clear();
    }
  }
  return put(sender_, piece) ? Next::go_on : Next::end;
}

}  // namespace booblik::broker
