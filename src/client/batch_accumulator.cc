#include "client/batch_accumulator.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace booblik::client {
namespace {

// Spare batches keep their memory; more than a window's worth would only be hoarded.
constexpr std::size_t kSpareBatchesMax = 64;

}  // namespace

BatchAccumulator::BatchAccumulator(const env::Clock& clock, std::string topic, std::int32_t partition_count,
                                   wire::AckPolicy acks, Limits limits)
    : clock_(clock), topic_(std::move(topic)), acks_(acks), limits_(limits) {
  BOOBLIK_CHECK(partition_count > 0 && limits.records > 0, "a batch has a partition and room for a record");
  slots_.resize(static_cast<std::size_t>(partition_count));
  const wire::ProduceFrame frame(topic_, PartitionId(0), acks_);
  payload_bytes_max_ = std::min(frame.payload_bytes_max(), std::size_t{wire::kMaxRecordPayloadBytes});
}

Ticket BatchAccumulator::add(PartitionId partition, Bytes payload) {
  const auto index = static_cast<std::size_t>(partition.value());
  BOOBLIK_CHECK(partition.value() >= 0 && index < slots_.size(), "the partition exists");
  Slot& slot = slots_[index];
  if (slot.batch != nullptr && (!slot.batch->frame.fits(payload.size()) ||
                                slot.batch->frame.size() + payload.size() > limits_.frame_bytes)) {
    seal(index);
  }
  if (slot.batch == nullptr) {
    open(index);
  }
  wire::ProduceFrame& frame = slot.batch->frame;
  const Ticket ticket{slot.batch->number, frame.count()};
  const std::size_t before = frame.size();
  frame.add(payload);
  buffered_bytes_ += frame.size() - before;
  if (frame.size() >= limits_.frame_bytes || frame.count() >= limits_.records) {
    seal(index);
  }
  return ticket;
}

void BatchAccumulator::open(std::size_t partition) {
  Slot& slot = slots_[partition];
  const PartitionId id(static_cast<std::int32_t>(partition));
  if (spare_.empty()) {
    slot.batch = std::make_unique<Batch>(Batch{0, id, wire::ProduceFrame(topic_, id, acks_)});
  } else {
    slot.batch = std::move(spare_.back());
    spare_.pop_back();
    slot.batch->partition = id;
    slot.batch->frame.clear(id);
  }
  slot.batch->number = next_number_++;
  slot.opened = clock_.now();
  slot.place = open_order_.insert(open_order_.end(), partition);
  buffered_bytes_ += slot.batch->frame.size();
}

void BatchAccumulator::seal(std::size_t partition) {
  Slot& slot = slots_[partition];
  open_order_.erase(slot.place);
  sealed_.push_back(std::move(slot.batch));
  ++sealed_count_;
}

void BatchAccumulator::seal_opened_until(Instant instant) {
  while (!open_order_.empty() && slots_[open_order_.front()].opened <= instant) {
    seal(open_order_.front());
  }
}

void BatchAccumulator::seal_all() {
  while (!open_order_.empty()) {
    seal(open_order_.front());
  }
}

std::optional<Instant> BatchAccumulator::oldest_opened() const {
  return open_order_.empty() ? std::nullopt : std::optional(slots_[open_order_.front()].opened);
}

std::unique_ptr<Batch> BatchAccumulator::take_sealed() {
  if (sealed_.empty()) {
    return nullptr;
  }
  std::unique_ptr<Batch> batch = std::move(sealed_.front());
  sealed_.pop_front();
  buffered_bytes_ -= batch->frame.size();
  return batch;
}

void BatchAccumulator::put_back(std::unique_ptr<Batch> batch) {
  buffered_bytes_ += batch->frame.size();
  sealed_.push_front(std::move(batch));
}

void BatchAccumulator::recycle(std::unique_ptr<Batch> batch) {
  if (spare_.size() < kSpareBatchesMax) {
    spare_.push_back(std::move(batch));
  }
}

}  // namespace booblik::client
