// What ranks and the meeting point tell each other: a header of 12 bytes, and a body whose length it says.
//
//   rank to root    kHello, first of all; kLeave when the communicator is destroyed
//   root to rank    kWelcome once all are there (with the file of the shared memory), or kRefused; later
//   kEvent
//   host to host    kLink, then parcels (carrier.h)
//
// Nothing is believed before the hello has shown the secret, and nothing is allocated by what a message says.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "collective/root_info.h"
#include "collective/way.h"

namespace belay::coll {

constexpr uint32_t kMostRanks = 1024;  // of a group

enum class MessageKind : uint16_t { kHello = 1, kWelcome, kRefused, kEvent, kLeave, kLink };

// What a rank that came from another machine has ready, should it be the one that carries for its own.
struct Place {
  int32_t file = -1;  // of its process: the memory that the ranks there share
  uint16_t port = 0;  // where it waits for carriers of other hosts
  uint16_t is_v6 = 0;
  std::array<uint8_t, 16> address{};
};

// Of a part: what tells that two ranks mean the same one, although their lists of its ranks differ.
struct Claim {
  Id part{};                                       // which one it is to be
  uint64_t rank = 0;                               // of the whole group: who comes
  std::array<uint64_t, kMostRanks / 64> listed{};  // a bit for each rank of the whole that its list has

  void List(uint64_t rank_of_whole) { listed[rank_of_whole / 64] |= uint64_t{1} << rank_of_whole % 64; }
  void Strike(uint64_t rank_of_whole) { listed[rank_of_whole / 64] &= ~(uint64_t{1} << rank_of_whole % 64); }
  bool Lists(uint64_t rank_of_whole) const {
    return rank_of_whole < kMostRanks && (listed[rank_of_whole / 64] >> rank_of_whole % 64 & 1) != 0;
  }
};

struct Hello {
  Secret secret{};
  Id group{};  // all zero: that of the root info; else of a part of its ranks
  Id host{};
  Claim claim;
  uint32_t rank = 0;
  uint32_t ranks = 0;
  int32_t process = 0;
  int32_t device = 0;
  uint64_t staging_bytes = 0;
  int64_t timeout_ns = 0;
  Place place;
  WayKind way = WayKind::kUnsaid;  // that is asked for between hosts
  uint32_t by_rank = 0;            // 1: reductions go in the order of the ranks, wherever these are
};

struct Welcome {
  uint64_t board_bytes = 0;
  uint64_t staging_bytes = 0;
  uint32_t ranks = 0;
  uint32_t root = 0;  // the rank whose process is the meeting point; `ranks`: none
  uint32_t hosts = 0;
  uint32_t own_host = 0;           // of who is welcomed
  WayKind way = WayKind::kUnsaid;  // that rank 0 has asked for
  uint32_t by_rank = 0;            // the same
};
struct WelcomePeer {
  int32_t process = 0;
  int32_t device = 0;
  uint32_t host = 0;
};
struct WelcomeHost {
  uint32_t leader = 0;  // the rank that carries for it
  Place place;
};
struct Welcomed {
  std::vector<WelcomePeer> peers;
  std::vector<WelcomeHost> hosts;
};

struct Refused {
  int32_t code = 0;
  std::string sentence;
};

enum class EventKind : uint32_t { kEnded = 1, kLeft = 2 };
struct Event {
  EventKind kind = EventKind::kEnded;
  uint32_t rank = 0;
};

// Of who carries for a host to the one of another that listens.
struct LinkHello {
  Secret secret{};
  Id group{};
  uint32_t host = 0;
  uint32_t engine = 0;  // its number
};

// Between hosts, after that: what is to be done at the same place there.
enum class FrameKind : uint32_t { kBytes = 1, kWord, kLeft, kFailed, kAddress, kLast };
struct Frame {
  FrameKind kind = FrameKind::kBytes;
  uint32_t bytes = 0;  // that follow; kLeft: the rank; kAddress: of the engine's, before all others
  uint64_t at = 0;     // kFailed: who
  uint64_t value = 0;  // kFailed: how
};
constexpr size_t kMostFailure = 1024;  // bytes of the sentence that follows a kFailed
constexpr size_t kMostAddress = 64 << 10;

using Bytes = std::vector<std::byte>;
Bytes Encode(const Hello& hello);
Bytes Encode(const Welcome& welcome, const Welcomed& who);
Bytes Encode(const LinkHello& hello);
Bytes Encode(const Refused& refused);
Bytes Encode(const Event& event);
Bytes EncodeLeave();

// What came over a connection, until a whole message is there.
class Inbox {
 public:
  struct Message {
    MessageKind kind;
    Bytes body;
  };
  // `most`: bytes of a body; whoever has not said hello may send that and no more.
  explicit Inbox(size_t most) : most_(most) {}
  void SetMost(size_t most) { most_ = most; }
  void Append(std::span<const std::byte> bytes) { bytes_.insert(bytes_.end(), bytes.begin(), bytes.end()); }
  // Throws HCCL_E_TCP_TRANSFER for what is no message.
  std::optional<Message> Take();
  // How much may come before the next message is whole, and no more than what belongs to it.
  size_t Missing() const;

 private:
  size_t most_;
  Bytes bytes_;
};
constexpr size_t kHelloBytes = sizeof(Hello);
constexpr size_t kMostBodyBytes = sizeof(Welcome) + kMostRanks * (sizeof(WelcomePeer) + sizeof(WelcomeHost));
constexpr size_t kLinkHelloBytes = 12 + sizeof(LinkHello);  // with the header

// Each throws HCCL_E_TCP_TRANSFER for a body that is none of this kind.
Hello DecodeHello(std::span<const std::byte> body);
Welcome DecodeWelcome(std::span<const std::byte> body, Welcomed* who);
LinkHello DecodeLinkHello(std::span<const std::byte> body);
Refused DecodeRefused(std::span<const std::byte> body);
Event DecodeEvent(std::span<const std::byte> body);

// Takes the same time whatever differs.
bool SameSecret(const Secret& a, const Secret& b);

}  // namespace belay::coll
