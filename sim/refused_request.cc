#include "sim/refused_request.h"

#include <array>
#include <string>
#include <string_view>

#include "sim/random_stream.h"
#include "wire/request_encoder.h"

namespace booblik::sim {
namespace {

// Larger than any segment that is ever configured (plan.cc).
constexpr std::int64_t kTooLargeBytes = 40'000;
constexpr std::int64_t kFarBehindTheEnd = 1'000'000'000;
constexpr PartitionId kNoPartition{77};

class Maker {
 public:
  Maker(Workload& workload, env::Random& random, std::uint64_t connection, Question& question)
      : workload_(workload), random_(random), connection_(connection), question_(question) {}

  // One whole frame.
  std::vector<std::byte> make() {
    using Make = void (Maker::*)();
    constexpr std::array<Make, 10> kMakes{
        &Maker::unknown_partition, &Maker::unknown_topic, &Maker::unknown_fetch, &Maker::unknown_metadata,
        &Maker::too_large,         &Maker::empty_record,  &Maker::bytes_left,    &Maker::no_such_version,
        &Maker::bad_min_bytes,     &Maker::out_of_range};
    (this->*kMakes.at(random_.below(kMakes.size())))();
    return std::move(frame_);
  }

 private:
  void expect(Question::Kind kind, wire::WireError error) {
    question_.kind = kind;
    question_.refusal = error;
  }

  // Payloads of records that must never be seen.
  void produce(std::string_view topic, PartitionId partition, const std::vector<std::int64_t>& sizes,
               wire::WireError error) {
    expect(Question::Kind::produce, error);
    question_.acks = static_cast<wire::AckPolicy>(random_.below(3));
    question_.records = static_cast<std::int64_t>(sizes.size());
    question_.first = workload_.model.send_batch(question_.partition, connection_, sizes);
    workload_.model.refuse(question_.first, question_.records);
    std::vector<std::vector<std::byte>> payloads;
    for (std::size_t index = 0; index < sizes.size(); ++index) {
      payloads.emplace_back(static_cast<std::size_t>(sizes[index]));
      Model::fill_payload(question_.first + index, payloads.back());
    }
    const std::vector<Bytes> views(payloads.begin(), payloads.end());
    wire::encode_produce(frame_, question_.correlation_id, topic, partition, question_.acks, views);
  }

  void produce_here(const std::vector<std::int64_t>& sizes, wire::WireError error) {
    produce(topic(), id(), sizes, error);
  }

  void fetch(PartitionId partition, std::int64_t offset, std::chrono::milliseconds wait,
             wire::WireError error) {
    expect(Question::Kind::fetch, error);
    question_.offset = offset;
    wire::encode_fetch(frame_, question_.correlation_id, topic(), partition, Offset(offset), 1000, wait, 1);
  }

  void unknown_partition() {
    // The first that does not exist, too.
    const auto first = PartitionId(static_cast<std::int32_t>(workload_.plan.partitions));
    produce(topic(), random_.one_in(2) ? first : kNoPartition, {kPayloadBytesMin},
            wire::WireError::unknown_topic_or_partition);
  }
  void unknown_topic() {
    produce("nowhere", id(), {kPayloadBytesMin}, wire::WireError::unknown_topic_or_partition);
  }
  void unknown_fetch() {
    fetch(kNoPartition, 0, std::chrono::seconds(5), wire::WireError::unknown_topic_or_partition);
  }
  void unknown_metadata() {
    expect(Question::Kind::metadata, wire::WireError::unknown_topic_or_partition);
    const std::string known = topic();
    const std::array<std::string_view, 3> names{known, "nowhere", known};
    wire::encode_metadata(frame_, question_.correlation_id, names);
  }
  void too_large() {
    produce_here({kPayloadBytesMin, kTooLargeBytes, kPayloadBytesMin}, wire::WireError::record_too_large);
  }
  // The size of the last record becomes 0, and its payload goes.
  void empty_record() {
    produce_here({kPayloadBytesMin, kPayloadBytesMin}, wire::WireError::corrupt_request);
    frame_.resize(frame_.size() - static_cast<std::size_t>(kPayloadBytesMin));
    store_big_endian(frame_.data() + frame_.size() - sizeof(std::int32_t), std::int32_t{0});
    mend_length();
  }
  void bytes_left() {
    if (random_.one_in(2)) {
      produce_here({kPayloadBytesMin}, wire::WireError::corrupt_request);
    } else {
      fetch(id(), 0, std::chrono::milliseconds(0), wire::WireError::corrupt_request);
    }
    frame_.resize(frame_.size() + 1 + random_.below(8));
    mend_length();
  }
  void no_such_version() {
    fetch(id(), 0, std::chrono::milliseconds(0), wire::WireError::unsupported_version);
    store_big_endian(frame_.data() + 6, static_cast<std::int16_t>(3 + random_.below(100)));
  }
  // The last field of a FETCH v2 is minBytes.
  void bad_min_bytes() {
    fetch(id(), 0, std::chrono::seconds(5), wire::WireError::corrupt_request);
    store_big_endian(frame_.data() + frame_.size() - sizeof(std::int32_t), std::int32_t{1001});
  }
  void out_of_range() {
    fetch(id(), workload_.model.known_end(question_.partition) + kFarBehindTheEnd, std::chrono::seconds(5),
          wire::WireError::offset_out_of_range);
  }

  void mend_length() {
    store_big_endian(frame_.data(), static_cast<std::int32_t>(frame_.size() - sizeof(std::int32_t)));
  }
  [[nodiscard]] std::string topic() const { return workload_.topic_of(question_.partition); }
  [[nodiscard]] PartitionId id() const { return workload_.id_of(question_.partition); }

  Workload& workload_;
  env::Random& random_;
  std::uint64_t connection_;
  Question& question_;
  std::vector<std::byte> frame_;
};

}  // namespace

void add_refused_request(Workload& workload, env::Random& random, std::uint64_t connection,
                         Question& question, std::vector<std::byte>& bytes) {
  workload.world.probes().hit("sim.client.broke_a_rule");
  const std::vector<std::byte> frame = Maker(workload, random, connection, question).make();
  bytes.insert(bytes.end(), frame.begin(), frame.end());
}

}  // namespace booblik::sim
