#include "cli/bench/fetch_load.h"

#include <fmt/format.h>

#include <array>
#include <memory>
#include <optional>
#include <vector>

#include "base/crc32c.h"
#include "env/sync.h"
#include "wire/request_encoder.h"
#include "wire/response.h"

namespace booblik::cli {
namespace {

class Reader {
 public:
  Reader(env::Environment& environment, const FetchLoad& load, std::int64_t number)
      : environment_(environment),
        load_(load),
        partition_(static_cast<std::int32_t>(number % load.partitions)) {}

  Result<void> connect() {
    auto connected = environment_.network.connect(
        load_.host, load_.port, Deadline(environment_.clock.now() + std::chrono::seconds(5)));
    if (!connected) {
      return std::unexpected(connected.error());
    }
    connection_ = std::move(*connected);
    return {};
  }

  Result<void> read_until(Instant end) {
    while (environment_.clock.now() < end) {
      auto taken = fetch();
      if (!taken) {
        return taken;
      }
    }
    return {};
  }

  [[nodiscard]] const FetchReport& counts() const { return counts_; }

 private:
  // Where the log starts now: retention may have moved it.
  Result<void> rewind() {
    std::vector<std::byte> request;
    const std::array<std::string_view, 1> topics{load_.topic};
    wire::encode_metadata(request, correlation_id_, topics);
    if (auto got = exchange(request); !got) {
      return got;
    }
    const auto answer = wire::decode_metadata_response(frame_);
    const auto partition = static_cast<std::size_t>(partition_.value());
    if (!answer || answer->size() != 1 || answer->front().partitions.size() <= partition) {
      return fail(ErrorCode::invalid,
                  fmt::format("the broker has no partition {} of {}", partition, load_.topic));
    }
    next_ = answer->front().partitions[partition].log_start;
    return {};
  }

  Result<void> fetch() {
    if (!next_) {
      return rewind();
    }
    std::vector<std::byte> request;
    wire::encode_fetch(request, correlation_id_, load_.topic, partition_, *next_, load_.max_bytes,
                       std::chrono::milliseconds(0), 0);
    if (auto got = exchange(request); !got) {
      return got;
    }
    return take_answer();
  }

  // Sends one request and receives its whole answer into `frame_`; an error code is an error.
  Result<void> exchange(Bytes request) {
    const Deadline deadline(environment_.clock.now() + std::chrono::seconds(10));
    while (!request.empty()) {
      const std::array<Bytes, 1> parts{request};
      const auto sent = connection_->send(parts, deadline);
      if (!sent) {
        return std::unexpected(sent.error());
      }
      request = request.subspan(*sent);
    }
    std::array<std::byte, wire::kFrameLengthBytes> length{};
    if (auto got = receive_all(length, deadline); !got) {
      return got;
    }
    const auto frame_bytes = load_big_endian<std::int32_t>(length.data());
    if (frame_bytes <= 0 || frame_bytes > wire::kMaxFrameBytes) {
      return fail(ErrorCode::invalid, fmt::format("the broker announced a frame of {} bytes", frame_bytes));
    }
    frame_.resize(static_cast<std::size_t>(frame_bytes));
    if (auto got = receive_all(frame_, deadline); !got) {
      return got;
    }
    const auto header = wire::decode_response_header(frame_);
    if (!header || header->correlation_id != correlation_id_) {
      return fail(ErrorCode::invalid, header ? "an answer came out of order" : header.error().reason);
    }
    ++correlation_id_;
    if (header->error != wire::WireError::none) {
      return fail(ErrorCode::invalid,
                  fmt::format("the broker answered with error code {}", static_cast<int>(header->error)));
    }
    return {};
  }

  Result<void> receive_all(MutableBytes to, Deadline deadline) {
    while (!to.empty()) {
      const auto received = connection_->receive(to, deadline);
      if (!received) {
        return std::unexpected(received.error());
      }
      if (*received == 0) {
        return fail(ErrorCode::reset, "the broker closed the connection");
      }
      to = to.subspan(*received);
    }
    return {};
  }

  Result<void> take_answer() {
    const auto answer = wire::decode_fetch_response(frame_);
    if (!answer) {
      return fail(ErrorCode::invalid, answer.error().reason);
    }
    ++counts_.requests;
    counts_.bytes += static_cast<std::int64_t>(answer->payload.size());
    return count_records(answer->payload);
  }

  Result<void> count_records(Bytes payload) {
    if (payload.empty()) {
      next_.reset();  // the end of the log: start again
    }
    ByteReader reader(payload);
    while (const auto size = reader.read<std::int32_t>()) {
      const auto crc = reader.read<std::uint32_t>();
      const auto record =
          crc && *size > 0 ? reader.read_bytes(static_cast<std::size_t>(*size)) : std::nullopt;
      if (!record) {
        break;
      }
      if (load_.verify && crc32c(*record) != *crc) {
        return fail(ErrorCode::damaged, fmt::format("offset {} has a wrong checksum", next_->value()));
      }
      *next_ += 1;
      ++counts_.records;
    }
    return {};
  }

  env::Environment& environment_;
  const FetchLoad& load_;
  const PartitionId partition_;
  std::unique_ptr<env::Connection> connection_;
  std::vector<std::byte> frame_;
  std::optional<Offset> next_;  // none: at the start of the log
  std::int32_t correlation_id_ = 0;
  FetchReport counts_;
};

}  // namespace

Result<FetchReport> run_fetch_load(env::Environment& environment, const FetchLoad& load) {
  std::vector<std::unique_ptr<Reader>> readers;
  for (std::int64_t number = 0; number < load.connections; ++number) {
    readers.push_back(std::make_unique<Reader>(environment, load, number));
    if (const auto connected = readers.back()->connect(); !connected) {
      return std::unexpected(connected.error());
    }
  }
  const Instant begin = environment.clock.now();
  std::optional<Error> error;
  env::WaitGroup group(environment.scheduler);
  for (const auto& reader : readers) {
    group.add();
    environment.scheduler.spawn("load reader", [&, end = begin + load.duration] {
      if (const auto read = reader->read_until(end); !read) {
        error = read.error();
      }
      group.done();
    });
  }
  std::ignore = group.wait(Deadline::never());
  if (error) {
    return std::unexpected(*error);
  }
  FetchReport report;
  report.elapsed = environment.clock.now() - begin;
  for (const auto& reader : readers) {
    report.requests += reader->counts().requests;
    report.records += reader->counts().records;
    report.bytes += reader->counts().bytes;
  }
  return report;
}

}  // namespace booblik::cli
