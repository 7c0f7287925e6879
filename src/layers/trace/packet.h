// One packet of a Perfetto trace, encoded by hand: of the format's messages these few are needed.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace belay::trace {

// The fields of Perfetto's public messages that are written here.
namespace fields {
inline constexpr uint32_t kTimestamp = 8, kSequence = 10, kTrackEvent = 11, kInterned = 12,
                          kSequenceFlags = 13, kNothing = 15, kTrackDescriptor = 60;
inline constexpr uint32_t kEventType = 9, kEventName = 10, kEventTrack = 11, kEventValue = 30,
                          kEventFlows = 47, kEventLastFlows = 48;
inline constexpr uint32_t kTrackId = 1, kTrackName = 2, kTrackProcess = 3, kTrackThread = 4, kTrackParent = 5,
                          kTrackCounter = 8;
inline constexpr uint32_t kProcessId = 1, kProcessName = 6, kThreadProcess = 1, kThreadId = 2,
                          kThreadName = 5, kCounterUnit = 3;
inline constexpr uint32_t kInternedNames = 2, kNameId = 1, kNameText = 2;
}  // namespace fields

enum class EventType : uint64_t { kBegin = 1, kEnd = 2, kInstant = 3, kCounter = 4 };

// The first four bytes of a packet that has so many behind them, and the first word of one that says nothing
// and is `bytes` long in all.
constexpr uint64_t HeaderWord(size_t payload) {
  constexpr uint64_t kPacket = 1 << 3 | 2;
  return kPacket | (0x80 | (payload & 0x7f)) << 8 | (0x80 | (payload >> 7 & 0x7f)) << 16 |
         payload >> 14 << 24;
}
constexpr uint64_t FillerWord(size_t bytes) {
  constexpr uint64_t kNothing = fields::kNothing << 3 | 2;
  return HeaderWord(bytes - 4) | ((HeaderWord(bytes - 8) & ~uint64_t{0xff}) | kNothing) << 32;
}

// A number's lowest 56 bits as packets have them: seven in each byte, which says that more follow.
[[gnu::always_inline]] inline uint64_t Spread(uint64_t value) {
  value &= (uint64_t{1} << 56) - 1;
  value = (value & 0x000000000fffffff) | (value & 0x00fffffff0000000) << 4;
  value = (value & 0x00003fff00003fff) | (value & 0x0fffc0000fffc000) << 2;
  value = (value & 0x007f007f007f007f) | (value & 0x3f803f803f803f80) << 1;
  return value | 0x8080808080808080;
}

// Bytes that go to their place word by word, but for the first word, which comes last. All is inline, so that
// of a packet whose fields have their places nothing is left but the words.
class WordWriter {
 public:
  explicit WordWriter(char* at) : at_(at) {}
  // The value has no more bytes than that.
  [[gnu::always_inline]] void Add(uint64_t value, unsigned bytes) {
    word_ |= value << 8 * used_;
    used_ += bytes;
    if (used_ < 8) return;
    if (words_ == 0) {
      first_ = word_;
    } else {
      std::memcpy(at_ + 8 * words_, &word_, sizeof word_);
    }
    ++words_;
    used_ -= 8;
    word_ = used_ == 0 ? 0 : value >> 8 * (bytes - used_);
  }
  // In so many bytes; ten at most.
  [[gnu::always_inline]] void Padded(uint64_t value, unsigned bytes) {
    if (bytes < 8) {
      const uint64_t more = (uint64_t{1} << 8 * (bytes - 1)) - 1;  // the bytes that others follow
      return Add(Spread(value) & (more | uint64_t{0x7f} << 8 * (bytes - 1)), bytes);
    }
    if (bytes == 8) return Add(Spread(value) & ~(uint64_t{0x80} << 56), 8);
    Add(Spread(value), 8);
    if (bytes == 9) return Add(value >> 56 & 0x7f, 1);
    Add((value >> 56 & 0x7f) | 0x80 | value >> 63 << 8, 2);
  }
  // A last field, up to the end of a word.
  [[gnu::always_inline]] void End(uint32_t field, uint64_t value, unsigned least) {
    Add(field << 3, 1);
    Padded(value, used_ + least <= 8 ? 8 - used_ : 16 - used_);
  }
  uint64_t first() const { return first_; }

 private:
  char* const at_;
  size_t words_ = 0;
  unsigned used_ = 0;  // of the word
  uint64_t word_ = 0, first_ = 0;
};

class Packet {
 public:
  static constexpr size_t kRoom = 2048;
  static constexpr size_t kMostText = 400;

  void Number(uint32_t field, uint64_t value) {
    Varint(field << 3);
    Varint(value);
  }
  void Fixed(uint32_t field, uint64_t value) {
    Varint(field << 3 | 1);
    std::memcpy(bytes_ + size_, &value, sizeof value);
    size_ += sizeof value;
  }
  void Text(uint32_t field, std::string_view text) {
    text = text.substr(0, kMostText);
    Varint(field << 3 | 2);
    Varint(text.size());
    std::memcpy(bytes_ + size_, text.data(), text.size());
    size_ += text.size();
  }
  // A message within: what is written until Close. Its length takes two bytes.
  size_t Open(uint32_t field) {
    Varint(field << 3 | 2);
    size_ += 2;
    return size_;
  }
  void Close(size_t opened) {
    const size_t length = size_ - opened;
    bytes_[opened - 2] = static_cast<char>(0x80 | (length & 0x7f));
    bytes_[opened - 1] = static_cast<char>(length >> 7);
  }
  // A number in exactly so many bytes: what readers take it for is the same.
  void Padded(uint32_t field, uint64_t value, size_t bytes) {
    Varint(field << 3);
    for (; bytes > 1; --bytes, value >>= 7) bytes_[size_++] = static_cast<char>(0x80 | (value & 0x7f));
    bytes_[size_++] = static_cast<char>(value & 0x7f);
  }
  static size_t BytesOf(uint64_t value) {
    size_t bytes = 1;
    while (value >>= 7) ++bytes;
    return bytes;
  }

  const char* data() const { return bytes_; }
  size_t size() const { return size_; }

 private:
  void Varint(uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_[size_++] = static_cast<char>(0x80 | (value & 0x7f));
    bytes_[size_++] = static_cast<char>(value);
  }

  size_t size_ = 0;
  char bytes_[kRoom];
};

}  // namespace belay::trace
