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
