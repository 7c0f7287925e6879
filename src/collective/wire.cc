#include "collective/wire.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "base/error.h"
#include "base/hcclresult_codes.h"

namespace belay::coll {
namespace {

constexpr uint32_t kMagic = 0x63796c42;  // "Blyc"
constexpr uint16_t kVersion = 4;         // also that of what lies in tests/fuzz/corpus/collective_wire
constexpr size_t kMostText = 4096;

struct MessageHeader {
  uint32_t magic;
  MessageKind kind;
  uint16_t version;
  uint32_t bytes;
};
static_assert(sizeof(MessageHeader) == 12);
static_assert(std::has_unique_object_representations_v<Hello>);  // no holes, which would tell of our memory
static_assert(std::has_unique_object_representations_v<Welcome>);
static_assert(std::has_unique_object_representations_v<Event>);
static_assert(std::has_unique_object_representations_v<WelcomeHost>);
static_assert(std::has_unique_object_representations_v<LinkHello>);
static_assert(std::has_unique_object_representations_v<Frame>);

[[noreturn]] void Refuse(const char* what) {
  Fail(codes::kHcclETcpTransfer, "collective-wire",
       "{} came over a connection between ranks; is it Belay of the same version that talks there?", what);
}

template <class T>
void Append(Bytes* bytes, const T& value) {
  const auto* from = reinterpret_cast<const std::byte*>(&value);
  bytes->insert(bytes->end(), from, from + sizeof value);
}

Bytes BeginMessage(MessageKind kind, size_t body) {
  Bytes bytes;
  bytes.reserve(sizeof(MessageHeader) + body);
  Append(&bytes, MessageHeader{kMagic, kind, kVersion, static_cast<uint32_t>(body)});
  return bytes;
}

template <class T>
T Exactly(std::span<const std::byte> body, const char* what) {
  T value;
  if (body.size() != sizeof value) Refuse(what);
  std::memcpy(&value, body.data(), sizeof value);
  return value;
}

}  // namespace

Bytes Encode(const Hello& hello) {
  Bytes bytes = BeginMessage(MessageKind::kHello, sizeof hello);
  Append(&bytes, hello);
  return bytes;
}

Bytes Encode(const Welcome& welcome, const Welcomed& who) {
  const size_t peers = who.peers.size() * sizeof(WelcomePeer), hosts = who.hosts.size() * sizeof(WelcomeHost);
  Bytes bytes = BeginMessage(MessageKind::kWelcome, sizeof welcome + peers + hosts);
  Append(&bytes, welcome);
  for (const WelcomePeer& peer : who.peers) Append(&bytes, peer);
  for (const WelcomeHost& host : who.hosts) Append(&bytes, host);
  return bytes;
}

Bytes Encode(const LinkHello& hello) {
  Bytes bytes = BeginMessage(MessageKind::kLink, sizeof hello);
  Append(&bytes, hello);
  return bytes;
}

Bytes Encode(const Refused& refused) {
  const size_t text = std::min(refused.sentence.size(), kMostText);
  Bytes bytes = BeginMessage(MessageKind::kRefused, sizeof refused.code + text);
  Append(&bytes, refused.code);
  const auto* from = reinterpret_cast<const std::byte*>(refused.sentence.data());
  bytes.insert(bytes.end(), from, from + text);
  return bytes;
}

Bytes Encode(const Event& event) {
  Bytes bytes = BeginMessage(MessageKind::kEvent, sizeof event);
  Append(&bytes, event);
  return bytes;
}

Bytes EncodeLeave() { return BeginMessage(MessageKind::kLeave, 0); }

std::optional<Inbox::Message> Inbox::Take() {
  MessageHeader header;
  if (bytes_.size() < sizeof header) return std::nullopt;
  std::memcpy(&header, bytes_.data(), sizeof header);
  if (header.magic != kMagic || header.version != kVersion) Refuse("something else than a message");
  if (header.bytes > most_) Refuse("a message longer than any");
  const size_t whole = sizeof header + header.bytes;
  if (bytes_.size() < whole) return std::nullopt;
  Message message{header.kind, Bytes(bytes_.begin() + sizeof header, bytes_.begin() + whole)};
  bytes_.erase(bytes_.begin(), bytes_.begin() + whole);
  return message;
}

size_t Inbox::Missing() const {
  MessageHeader header;
  if (bytes_.size() < sizeof header) return sizeof header - bytes_.size();
  std::memcpy(&header, bytes_.data(), sizeof header);
  const size_t whole = sizeof header + header.bytes;
  return whole - std::min(whole, bytes_.size());
}

Hello DecodeHello(std::span<const std::byte> body) { return Exactly<Hello>(body, "a hello of another form"); }

Welcome DecodeWelcome(std::span<const std::byte> body, Welcomed* who) {
  Welcome welcome;
  if (body.size() < sizeof welcome) Refuse("half a welcome");
  std::memcpy(&welcome, body.data(), sizeof welcome);
  body = body.subspan(sizeof welcome);
  const bool fits = welcome.ranks != 0 && welcome.ranks <= kMostRanks && welcome.hosts != 0 &&
                    welcome.hosts <= welcome.ranks && welcome.own_host < welcome.hosts &&
                    static_cast<uint32_t>(welcome.way) < kWayKinds;
  const size_t peers = welcome.ranks * sizeof(WelcomePeer);
  if (!fits || body.size() != peers + welcome.hosts * sizeof(WelcomeHost))
    Refuse("a welcome to a group of another size");
  who->peers.resize(welcome.ranks);
  std::memcpy(who->peers.data(), body.data(), peers);
  who->hosts.resize(welcome.hosts);
  std::memcpy(who->hosts.data(), body.data() + peers, body.size() - peers);
  for (const WelcomePeer& peer : who->peers) {
    if (peer.host >= welcome.hosts) Refuse("a welcome with a rank on no host");
  }
  for (uint32_t host = 0; host < welcome.hosts; ++host) {
    const uint32_t leader = who->hosts[host].leader;
    if (leader >= welcome.ranks || who->peers[leader].host != host) Refuse("a welcome with a host of nobody");
  }
  return welcome;
}

LinkHello DecodeLinkHello(std::span<const std::byte> body) {
  return Exactly<LinkHello>(body, "a hello of another form");
}

Refused DecodeRefused(std::span<const std::byte> body) {
  Refused refused;
  if (body.size() < sizeof refused.code) Refuse("half a refusal");
  std::memcpy(&refused.code, body.data(), sizeof refused.code);
  body = body.subspan(sizeof refused.code);
  refused.sentence.assign(reinterpret_cast<const char*>(body.data()), body.size());
  return refused;
}

Event DecodeEvent(std::span<const std::byte> body) {
  Event event = Exactly<Event>(body, "an event of another form");
  if (event.kind != EventKind::kEnded && event.kind != EventKind::kLeft) Refuse("an event of no kind");
  return event;
}

bool SameSecret(const Secret& a, const Secret& b) {
  unsigned difference = 0;
  for (size_t i = 0; i < a.size(); ++i) difference |= static_cast<unsigned>(a[i] ^ b[i]);
  return difference == 0;
}

}  // namespace belay::coll
