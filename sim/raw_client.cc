#include "sim/raw_client.h"

#include <array>
#include <utility>

#include "wire/protocol.h"
#include "wire/request.h"

namespace booblik::sim {

Result<void> RawClient::connect(Deadline deadline) {
  received_.clear();
  taken_ = 0;
  auto connection = environment_.network.connect("127.0.0.1", port_, deadline);
  if (!connection) {
    return std::unexpected(std::move(connection.error()));
  }
  connection_ = std::move(*connection);
  return {};
}

Result<void> RawClient::send(Bytes bytes, Deadline deadline) {
  while (!bytes.empty()) {
    auto sent = connection_->send(std::span(&bytes, 1), deadline);
    if (!sent) {
      return std::unexpected(std::move(sent.error()));
    }
    bytes = bytes.subspan(*sent);
  }
  return {};
}

Result<Bytes> RawClient::receive_frame(Deadline deadline) {
  received_.erase(received_.begin(),
                  received_.begin() + static_cast<std::ptrdiff_t>(std::exchange(taken_, 0)));
  while (true) {
    const wire::FrameView view = wire::peek_frame(received_);
    if (view.status == wire::FrameStatus::bad_length) {
      return fail(ErrorCode::damaged, "the broker sent a frame of an impossible length");
    }
    if (view.status == wire::FrameStatus::complete) {
      taken_ = wire::kFrameLengthBytes + view.frame.size();
      return view.frame;
    }
    std::array<std::byte, 4096> buffer;
    auto count = connection_->receive(buffer, deadline);
    if (!count) {
      return std::unexpected(std::move(count.error()));
    }
    if (*count == 0) {
      return fail(ErrorCode::closed, "the broker closed the connection");
    }
    received_.insert(received_.end(), buffer.begin(), buffer.begin() + static_cast<std::ptrdiff_t>(*count));
  }
}

}  // namespace booblik::sim
