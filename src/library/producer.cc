#include <booblik/producer.h>

#include <utility>

#include "library/producer_bridge.h"

namespace booblik {

using library::ProducerBridge;
using Choice = ProducerBridge::Choice;

std::string_view name_of(Delivered state) noexcept {
  switch (state) {
    case Delivered::acknowledged:
      return "acknowledged";
    case Delivered::handed_over:
      return "handed_over";
    case Delivered::refused:
      return "refused";
    case Delivered::unknown:
      return "unknown";
    case Delivered::not_sent:
      return "not_sent";
  }
  return "unknown";
}

namespace {

// Ends the bridge on the reactor, and waits for it unless it is the reactor that asks.
void dispose(std::unique_ptr<ProducerBridge> bridge) {
  if (bridge == nullptr) {
    return;
  }
  library::ReactorThread& thread = bridge->thread();
  if (thread.is_current()) {
    thread.spawn("end producer", [bridge = std::move(bridge)] { bridge->end(); });
  } else {
    thread.call("end producer", [&] { bridge->end(); });
  }
}

std::future<Receipt> future_of(ProducerBridge& bridge, const ProducerBridge::Target& target,
                               std::string_view value) {
  auto promise = std::make_shared<std::promise<Receipt>>();
  OnReceipt on_receipt = [promise](const Receipt& receipt) { promise->set_value(receipt); };
  const auto ticket = bridge.send(target, value, on_receipt, true);
  if (!ticket) {
    Receipt receipt;
    receipt.failure = ticket.error();
    promise->set_value(receipt);
  }
  return promise->get_future();
}

Failure moved_from() {
  return library::failure(FailureKind::closed, "the producer was moved away");
}

}  // namespace

Outcome<Producer> Producer::open(const Client& client, ProducerOptions options) {
  auto bridge = ProducerBridge::open(library::ClientState::of(client), std::move(options));
  if (!bridge) {
    return bridge.error();
  }
  return Producer(std::move(*bridge));
}

Producer::Producer(std::unique_ptr<ProducerBridge> bridge) : bridge_(std::move(bridge)) {}

Producer::Producer(Producer&& other) noexcept = default;

Producer& Producer::operator=(Producer&& other) noexcept {
  if (this != &other) {
    dispose(std::exchange(bridge_, std::move(other.bridge_)));
  }
  return *this;
}

Producer::~Producer() {
  dispose(std::move(bridge_));
}

std::int32_t Producer::partition_count() const noexcept {
  return bridge_->partition_count();
}

Outcome<Ticket> Producer::send(std::string_view value, OnReceipt on_receipt) {
  return bridge_->send({}, value, on_receipt, true);
}

Outcome<Ticket> Producer::send_keyed(std::string_view key, std::string_view value, OnReceipt on_receipt) {
  return bridge_->send({Choice::key, key, 0}, value, on_receipt, true);
}

Outcome<Ticket> Producer::send_to(std::int32_t partition, std::string_view value, OnReceipt on_receipt) {
  return bridge_->send({Choice::partition, {}, partition}, value, on_receipt, true);
}

Outcome<Ticket> Producer::try_send(std::string_view value, OnReceipt on_receipt) {
  return bridge_->send({}, value, on_receipt, false);
}

Outcome<Ticket> Producer::try_send_keyed(std::string_view key, std::string_view value, OnReceipt on_receipt) {
  return bridge_->send({Choice::key, key, 0}, value, on_receipt, false);
}

Outcome<Ticket> Producer::try_send_to(std::int32_t partition, std::string_view value, OnReceipt on_receipt) {
  return bridge_->send({Choice::partition, {}, partition}, value, on_receipt, false);
}

std::future<Receipt> Producer::send_future(std::string_view value) {
  return future_of(*bridge_, {}, value);
}

std::future<Receipt> Producer::send_keyed_future(std::string_view key, std::string_view value) {
  return future_of(*bridge_, {Choice::key, key, 0}, value);
}

std::future<Receipt> Producer::send_to_future(std::int32_t partition, std::string_view value) {
  return future_of(*bridge_, {Choice::partition, {}, partition}, value);
}

Outcome<void> Producer::flush() {
  return bridge_ == nullptr ? Outcome<void>(moved_from()) : bridge_->flush();
}

Outcome<void> Producer::close() {
  return bridge_ == nullptr ? Outcome<void>(moved_from()) : bridge_->close();
}

}  // namespace booblik
