// The bytes by which ranks find each other (HcclRootInfo): where the meeting point is, and the secret that
// whoever comes there has to show.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace belay::coll {

constexpr size_t kRootInfoBytes = 4108;
constexpr size_t kMostAddresses = 16;

using Id = std::array<uint8_t, 16>;
using Secret = std::array<uint8_t, 32>;

// Of the internet, version 4 (the first four bytes) or 6.
struct Address {
  bool is_v6 = false;
  std::array<uint8_t, 16> bytes{};
  bool operator==(const Address&) const = default;
};
std::string TextOf(const Address& address);
bool ParseAddress(const std::string& text, Address* address);

struct RootInfo {
  Id id{};  // of the meeting point: no other has it
  Secret secret{};
  Id host{};  // of the machine, see ThisHost
  int32_t process = 0;
  uint16_t port = 0;
  std::vector<Address> addresses;
  bool operator==(const RootInfo&) const = default;
};

void Write(const RootInfo& root, std::span<std::byte, kRootInfoBytes> to);
// Throws HCCL_E_PARA for what Write did not make, or what changed on the way.
RootInfo ReadRootInfo(std::span<const std::byte, kRootInfoBytes> from);

// Processes that give the same share memory, sockets and process numbers: the same start of the same machine,
// in the same namespaces. BELAY_COLLECTIVE_HOST (any text) makes several of one machine, to try that.
Id ThisHost();
// Bytes that nobody can guess. Throws HCCL_E_SYSCALL.
void FillWithRandom(std::span<uint8_t> bytes);
// 128 bits of a text: equal texts give equal ones, others most likely do not.
Id Digest(std::string_view text);
std::string Hex(std::span<const uint8_t> bytes);

}  // namespace belay::coll
