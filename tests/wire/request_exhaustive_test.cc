// Valid frames with each byte replaced, cut at each byte and lengthened: an answer with the right correlation
// id, and a request is taken only when all its rules hold. Each input sits in a block of exactly its size, so
// that a sanitizer sees a read beyond it.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "hex.h"
#include "wire/request.h"
#include "wire/topic_name.h"

namespace booblik::wire {
namespace {

const std::vector<std::string>& valid_frames() {
  static const std::vector<std::string> frames{
      "0001 0001 01020304  0003 746F70 00000005 00 00000001 00000001 61",
      "0001 0001 01020304  0001 74     00000005 01 00000003 00000001 61 00000002 6263 00000001 64",
      "0001 0001 01020304  0002 D18F   00000000 02 00000001 00000004 00000000",
      "0002 0001 01020304  0001 74     00000001 0000000000000009 00001000",
      "0002 0002 01020304  0001 74     00000001 0000000000000009 00001000 000003E8 00000001",
      "0003 0001 01020304  00000000",
      "0003 0001 01020304  00000002 0001 61 0004 D0B0D0B1",
  };
  return frames;
}

// The contract again, written as slowly and plainly as possible.
class Reference {
 public:
  explicit Reference(const std::vector<std::byte>& frame) : frame_(frame) {}

  std::optional<Refusal> refusal() {
    if (frame_.size() < 8) {
      return Refusal{.correlation_id = 0};
    }
    const std::int64_t api = take(2);
    const std::int64_t version = take(2);
    Refusal refusal{.correlation_id = static_cast<std::int32_t>(take(4))};
    const bool known = (api == 1 && version == 1) || (api == 2 && (version == 1 || version == 2)) ||
                       (api == 3 && version == 1);
    if (!known) {
      refusal.error = WireError::unsupported_version;
      return refusal;
    }
    const bool sound = (api == 1   ? produce()
                        : api == 2 ? fetch(version == 2)
                                   : metadata()) &&
                       at_ == frame_.size();
    refusal.answered = !silenced_;
    return sound ? std::nullopt : std::optional(refusal);
  }

 private:
  // -1 stands for "not there"; every field that is read this way is refused when it is negative.
  std::int64_t take(std::size_t width) {
    if (frame_.size() - at_ < width) {
      return -1;
    }
    std::uint64_t value = static_cast<std::uint8_t>(frame_[at_]) >= 0x80 ? ~std::uint64_t{0} : 0;
    for (std::size_t i = 0; i < width; ++i) {
      value = (value << 8U) | static_cast<std::uint8_t>(frame_[at_++]);
    }
    return static_cast<std::int64_t>(value);
  }

  bool skip(std::int64_t count) {
    if (count < 0 || static_cast<std::int64_t>(frame_.size() - at_) < count) {
      return false;
    }
    at_ += static_cast<std::size_t>(count);
    return true;
  }

  bool topic() {
    if (frame_.size() - at_ < 2) {
      return false;
    }
    const std::int64_t length = take(2) & 0xFFFF;
    const std::size_t start = at_;
    return skip(length) &&
           is_valid_topic_name(as_text(Bytes(frame_).subspan(start, static_cast<std::size_t>(length))));
  }

  bool produce() {
    if (!topic() || take(4) < 0) {
      return false;
    }
    const std::int64_t acks = take(1);
    if (acks < 0 || acks > 2) {
      return false;
    }
    silenced_ = acks == 0;
    const std::int64_t count = take(4);
    if (count <= 0) {
      return false;
    }
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t size = take(4);
      if (size <= 0 || !skip(size)) {
        return false;
      }
    }
    return true;
  }

  bool fetch(bool waits) {
    if (!topic() || take(4) < 0 || take(8) < 0) {
      return false;
    }
    const std::int64_t max_bytes = take(4);
    if (max_bytes <= 0) {
      return false;
    }
    if (!waits) {
      return true;
    }
    if (take(4) < 0) {
      return false;
    }
    const std::int64_t min_bytes = take(4);
    return min_bytes >= 0 && min_bytes <= max_bytes;
  }

  bool metadata() {
    const std::int64_t count = take(4);
    for (std::int64_t i = 0; i < count; ++i) {
      if (!topic()) {
        return false;
      }
    }
    return count >= 0;
  }

  const std::vector<std::byte>& frame_;
  std::size_t at_ = 0;
  bool silenced_ = false;
};

void check(const std::vector<std::byte>& frame) {
  const auto exact = std::make_unique<std::byte[]>(frame.size());
  std::copy(frame.begin(), frame.end(), exact.get());
  const auto decoded = decode_request(Bytes(exact.get(), frame.size()));
  const auto refusal = Reference(frame).refusal();
  ASSERT_EQ(decoded.has_value(), !refusal.has_value()) << to_hex(frame);
  if (!decoded) {
    EXPECT_EQ(decoded.error().correlation_id, refusal->correlation_id) << to_hex(frame);
    EXPECT_EQ(decoded.error().error, refusal->error) << to_hex(frame);
    EXPECT_EQ(decoded.error().answered, refusal->answered) << to_hex(frame);
    EXPECT_STRNE(decoded.error().reason, "") << to_hex(frame);
    return;
  }
  if (const auto* produce = std::get_if<ProduceRequest>(&decoded->body)) {
    std::size_t bytes = 0;
    std::int32_t count = 0;
    for (const Bytes payload : produce->records) {
      bytes += payload.size() + 4;
      ++count;
    }
    EXPECT_EQ(bytes, produce->records.encoded().size());
    EXPECT_EQ(count, produce->records.count());
  }
}

void for_each_frame(const std::function<void(const std::vector<std::byte>&)>& visit) {
  for (const std::string& hex : valid_frames()) {
    visit(from_hex(hex));
  }
}

TEST(RequestExhaustive, TheFramesThemselvesAreValid) {
  for_each_frame([](const auto& frame) {
    EXPECT_TRUE(decode_request(frame).has_value()) << to_hex(frame);
    check(frame);
  });
}

TEST(RequestExhaustive, EveryByteReplacedByEveryValue) {
  for_each_frame([](const auto& frame) {
    for (std::size_t i = 0; i < frame.size(); ++i) {
      for (int value = 0; value < 256; ++value) {
        auto changed = frame;
        changed[i] = static_cast<std::byte>(value);
        check(changed);
      }
    }
  });
}

TEST(RequestExhaustive, TwoBytesReplacedByExtremes) {
  static constexpr std::byte kExtremes[] = {std::byte{0}, std::byte{1}, std::byte{0x7F}, std::byte{0x80},
                                            std::byte{0xFF}};
  for_each_frame([](const auto& frame) {
    for (std::size_t i = 0; i < frame.size(); ++i) {
      for (std::size_t j = i + 1; j < frame.size(); ++j) {
        for (const std::byte first : kExtremes) {
          for (const std::byte second : kExtremes) {
            auto changed = frame;
            changed[i] = first;
            changed[j] = second;
            check(changed);
          }
        }
      }
    }
  });
}

TEST(RequestExhaustive, EveryTruncationIsRefused) {
  for_each_frame([](const auto& frame) {
    for (std::size_t size = 1; size < frame.size(); ++size) {
      const std::vector<std::byte> cut(frame.begin(), frame.begin() + static_cast<std::ptrdiff_t>(size));
      EXPECT_FALSE(decode_request(cut).has_value()) << to_hex(cut);
      check(cut);
    }
  });
}

TEST(RequestExhaustive, TrailingBytesAreRefused) {
  for_each_frame([](const auto& frame) {
    for (const std::byte filler : {std::byte{0}, std::byte{1}, std::byte{0xFF}}) {
      auto longer = frame;
      for (int extra = 1; extra <= 16; ++extra) {
        longer.push_back(filler);
        EXPECT_FALSE(decode_request(longer).has_value()) << to_hex(longer);
        check(longer);
      }
    }
  });
}

}  // namespace
}  // namespace booblik::wire
