// Messages between ranks, and root infos: any bytes give those or an error.
// With: base src/collective/wire.cc src/collective/root_info.cc
#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <span>
#include <vector>

#include "base/error.h"
#include "collective/root_info.h"
#include "collective/wire.h"
#include "fuzz.h"

namespace {

using namespace belay::coll;

void Decode(const Inbox::Message& message) {
  Welcomed who;
  switch (message.kind) {
    case MessageKind::kHello:
      DecodeHello(message.body);
      break;
    case MessageKind::kWelcome:
      FUZZ_REQUIRE(DecodeWelcome(message.body, &who).ranks == who.peers.size());
      for (const WelcomePeer& peer : who.peers) FUZZ_REQUIRE(peer.host < who.hosts.size());
      break;
    case MessageKind::kRefused:
      FUZZ_REQUIRE(DecodeRefused(message.body).sentence.size() < message.body.size());
      break;
    case MessageKind::kEvent:
      DecodeEvent(message.body);
      break;
    case MessageKind::kLink:
      DecodeLinkHello(message.body);
      break;
    default:
      break;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  // In pieces whose length the first byte says.
  const size_t piece = std::max<size_t>(1, data[0]);
  const auto bytes = std::as_bytes(std::span(data, size)).subspan(1);
  try {
    Inbox inbox(kMostBodyBytes);
    for (size_t at = 0; at < bytes.size(); at += piece) {
      inbox.Append(bytes.subspan(at, std::min(piece, bytes.size() - at)));
      while (std::optional<Inbox::Message> message = inbox.Take()) {
        FUZZ_REQUIRE(message->body.size() <= kMostBodyBytes);
        Decode(*message);
      }
    }
  } catch (const belay::Error& error) {
    FUZZ_REQUIRE(error.code() == 13);
  }
  std::array<std::byte, kRootInfoBytes> root{};
  std::copy_n(bytes.begin(), std::min(bytes.size(), root.size()), root.begin());
  try {
    FUZZ_REQUIRE(ReadRootInfo(root).addresses.size() <= kMostAddresses);
  } catch (const belay::Error& error) {
    FUZZ_REQUIRE(error.code() == 1);
  }
  return 0;
}
