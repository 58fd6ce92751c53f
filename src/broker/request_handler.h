// What a complete frame makes happen: a PRODUCE is staged at its partition's writer at once, everything else
// is carried out when its answer's turn comes.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "broker/session_state.h"
#include "wire/request.h"

namespace booblik::broker {

class RequestHandler {
 public:
  explicit RequestHandler(SessionState& state) : state_(state), context_(state.context) {}

  // Takes one frame (without its length field); the bytes stay unchanged until it returns. False: the
  // connection is closing, and the request was not taken. Parks for back-pressure.
  [[nodiscard]] bool handle(Bytes frame);

 private:
  bool produce(std::int32_t correlation_id, const wire::ProduceRequest& request);
  void fetch(std::int32_t correlation_id, const wire::FetchRequest& request);
  void metadata(std::int32_t correlation_id, const wire::MetadataRequest& request);
  void refuse_produce(std::int32_t correlation_id, const wire::ProduceRequest& request, wire::WireError error,
                      const char* reason);
  void refuse(std::int32_t correlation_id, wire::WireError error);
  void note_silent_refusal(const char* reason);
  void push(Answer answer);
  // Of this connection's last PRODUCE to `partition`; null before the first.
  std::shared_ptr<const log::GroupFate>& last_fate(const Partition& partition);

  SessionState& state_;
  Context& context_;
  // One entry for each partition that this connection has produced to.
  std::vector<std::pair<const Partition*, std::shared_ptr<const log::GroupFate>>> last_fates_;
};

}  // namespace booblik::broker
