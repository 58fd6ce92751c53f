// The conformance kit's command line (conformance/README.md) on libbooblik's public headers alone.
#include <booblik/booblik.h>

#include <charconv>
#include <cstdlib>
#include <iostream>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace {

using booblik::BrokerError;
using booblik::Failure;
using booblik::FailureKind;

constexpr int kCarriedOut = 0;
constexpr int kNotCarriedOut = 1;
constexpr int kUsage = 2;

int usage(std::string_view what) {
  std::cerr << "booblik-conformance-cpp: " << what
            << "\nverbs: capabilities | metadata T | produce T P ACK HEX[,HEX...] | produce-keyed T KEYHEX "
               "PAYLOADHEX | fetch T P OFFSET MAXBYTES\n";
  return kUsage;
}

template <class Number>
std::optional<Number> parse_number(std::string_view text) {
  Number number{};
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && stop == end && !text.empty() ? std::optional(number) : std::nullopt;
}

std::optional<std::string> parse_hex(std::string_view text) {
  std::string bytes;
  for (std::size_t at = 0; at < text.size(); at += 2) {
    unsigned value = 0;
    const char* begin = text.data() + at;
    const std::string_view pair = text.substr(at, 2);
    const auto [stop, error] = std::from_chars(begin, begin + pair.size(), value, 16);
    if (pair.size() != 2 || error != std::errc() || stop != begin + 2) {
      return std::nullopt;
    }
    bytes.push_back(static_cast<char>(static_cast<unsigned char>(value)));
  }
  return bytes;
}

std::string to_hex(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const char byte : bytes) {
    const auto value = static_cast<unsigned char>(byte);
    text.push_back(kDigits[value >> 4U]);
    text.push_back(kDigits[value & 15U]);
  }
  return text;
}

// A refusal is a result; so is what the library refuses as the broker would have.
int report(const Failure& failure) {
  if (failure.kind == FailureKind::refused) {
    std::cout << "error=" << name_of(failure.broker_error) << "\n";
    return kCarriedOut;
  }
  if (failure.kind == FailureKind::invalid) {
    std::cout << "error=" << name_of(BrokerError::corrupt_request) << "\n";
    return kCarriedOut;
  }
  std::cerr << "booblik-conformance-cpp: " << failure.message << "\n";
  return kNotCarriedOut;
}

booblik::Outcome<booblik::Connection> connect() {
  booblik::ClientOptions options;
  if (const char* broker = std::getenv("BOOBLIK_BROKER")) {
    options.broker = broker;
  }
  long timeout_ms = 10'000;
  if (const char* text = std::getenv("BOOBLIK_TIMEOUT_MS")) {
    timeout_ms = parse_number<long>(text).value_or(timeout_ms);
  }
  options.connect_timeout = std::chrono::milliseconds(timeout_ms);
  options.request_timeout = std::chrono::milliseconds(timeout_ms);
  auto client = booblik::Client::open(options);
  if (!client) {
    Failure failure = client.error();
    failure.kind = FailureKind::unreachable;  // a wrong address is no refusal
    return failure;
  }
  return booblik::Connection::open(*client);
}

int metadata(booblik::Connection& connection, const std::string& topic) {
  const auto topics = connection.metadata({topic});
  if (!topics) {
    return report(topics.error());
  }
  if (topics->size() != 1 || topics->front().name != topic) {
    std::cerr << "booblik-conformance-cpp: the answer is about another topic\n";
    return kNotCarriedOut;
  }
  std::cout << "name=" << topic << "\n";
  for (const booblik::PartitionInfo& partition : topics->front().partitions) {
    std::cout << "partition=" << partition.partition << "\nlogStartOffset=" << partition.start_offset
              << "\nhighWatermark=" << partition.end_offset << "\n";
  }
  return kCarriedOut;
}

int produce(booblik::Connection& connection, const booblik::ProduceRequest& request) {
  const auto answer = connection.produce(request);
  if (!answer) {
    return report(answer.error());
  }
  if (request.acks != booblik::Acks::none) {
    std::cout << "baseOffset=" << answer->base_offset << "\nlogEndOffset=" << answer->log_end_offset << "\n";
    return kCarriedOut;
  }
  // Its answer can only come behind the request that nobody answers.
  const auto fence = connection.metadata();
  return fence || fence.error().kind == FailureKind::refused ? kCarriedOut : report(fence.error());
}

int produce_keyed(booblik::Connection& connection, const std::string& topic, std::string_view key,
                  std::string_view payload) {
  const auto topics = connection.metadata({topic});
  if (!topics) {
    return report(topics.error());
  }
  if (topics->size() != 1 || topics->front().name != topic || topics->front().partitions.empty()) {
    std::cerr << "booblik-conformance-cpp: the answer is about another topic\n";
    return kNotCarriedOut;
  }
  booblik::ProduceRequest request;
  request.topic = topic;
  request.partition =
      booblik::partition_for_key(key, static_cast<std::int32_t>(topics->front().partitions.size()));
  request.records = {payload};
  const auto answer = connection.produce(request);
  if (!answer) {
    return report(answer.error());
  }
  std::cout << "partition=" << request.partition << "\nbaseOffset=" << answer->base_offset
            << "\nlogEndOffset=" << answer->log_end_offset << "\n";
  return kCarriedOut;
}

int fetch(booblik::Connection& connection, const booblik::FetchRequest& request) {
  const auto answer = connection.fetch(request);
  if (!answer) {
    return report(answer.error());
  }
  if (answer->corrupt) {
    std::cout << "error=CORRUPT_RECORD\n";
    return kCarriedOut;
  }
  std::cout << "highWatermark=" << answer->high_watermark << "\n";
  for (const std::string& record : answer->records) {
    std::cout << "record=" << to_hex(record) << "\n";
  }
  if (answer->records.empty() && !answer->payload.empty()) {
    const bool known = answer->tail_record_bytes > 0;
    std::cout << "recordExceedsMaxBytes=" << (known ? std::to_string(answer->tail_record_bytes) : "unknown")
              << "\n";
  }
  return kCarriedOut;
}

int run_produce(const std::vector<std::string>& words) {
  const auto partition = parse_number<std::int32_t>(words[2]);
  const auto acks = parse_number<std::int8_t>(words[3]);
  if (!partition || !acks) {
    return usage("P and ACK are numbers");
  }
  std::vector<std::string> payloads;
  std::string_view rest = words[4];
  for (bool more = true; more;) {
    const std::size_t comma = rest.find(',');
    more = comma != std::string_view::npos;
    auto payload = parse_hex(rest.substr(0, comma));
    if (!payload) {
      return usage("a record is not hex");
    }
    payloads.push_back(std::move(*payload));
    rest = more ? rest.substr(comma + 1) : rest;
  }
  auto connection = connect();
  if (!connection) {
    return report(connection.error());
  }
  booblik::ProduceRequest request;
  request.topic = words[1];
  request.partition = *partition;
  request.acks = static_cast<booblik::Acks>(*acks);
  request.records.assign(payloads.begin(), payloads.end());
  return produce(*connection, request);
}

int run_produce_keyed(const std::vector<std::string>& words) {
  const auto key = parse_hex(words[2]);
  const auto payload = parse_hex(words[3]);
  if (!key || !payload) {
    return usage("the key and the payload are hex");
  }
  if (payload->empty()) {
    std::cout << "error=" << name_of(BrokerError::corrupt_request) << "\n";
    return kCarriedOut;
  }
  auto connection = connect();
  return connection ? produce_keyed(*connection, words[1], *key, *payload) : report(connection.error());
}

int run_fetch(const std::vector<std::string>& words) {
  const auto partition = parse_number<std::int32_t>(words[2]);
  const auto offset = parse_number<std::int64_t>(words[3]);
  const auto max_bytes = parse_number<std::int32_t>(words[4]);
  if (!partition || !offset || !max_bytes) {
    return usage("P, OFFSET and MAXBYTES are numbers");
  }
  auto connection = connect();
  if (!connection) {
    return report(connection.error());
  }
  booblik::FetchRequest request;
  request.topic = words[1];
  request.partition = *partition;
  request.offset = *offset;
  request.max_bytes = *max_bytes;
  return fetch(*connection, request);
}

}  // namespace

int main(int count, char** arguments) {
  const std::vector<std::string> words(arguments + 1, arguments + count);
  const std::string verb = words.empty() ? "" : words.front();
  if (verb == "capabilities" && words.size() == 1) {
    std::cout << "roles=admin,producer,keyed-producer,consumer\n";
    return kCarriedOut;
  }
  if (verb == "metadata" && words.size() == 2) {
    auto connection = connect();
    return connection ? metadata(*connection, words[1]) : report(connection.error());
  }
  if (verb == "produce" && words.size() == 5) {
    return run_produce(words);
  }
  if (verb == "produce-keyed" && words.size() == 4) {
    return run_produce_keyed(words);
  }
  if (verb == "fetch" && words.size() == 5) {
    return run_fetch(words);
  }
  return usage(verb.empty() ? "a verb is missing" : "there is no '" + verb + "' with so many arguments");
}
