#include "collective/root_info.h"

#include <arpa/inet.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "base/error.h"
#include "base/hcclresult_codes.h"
#include "base/system_limit.h"
#include "base/whole_file.h"

namespace belay::coll {
namespace {

constexpr char kInfoMagic[8] = {'B', 'E', 'L', 'A', 'Y', 'H', 'C', 'L'};
constexpr uint32_t kInfoVersion = 1;

// As it lies at the beginning of the 4108 bytes, which may be anywhere.
struct Layout {
  char magic[8];
  uint32_t version;
  uint32_t address_count;
  Id check;  // digest of all bytes, these being zero
  Id id;
  Secret secret;
  Id host;
  int32_t process;
  uint16_t port;
  uint16_t zero;
  struct {
    uint8_t is_v6;
    uint8_t bytes[16];
  } addresses[kMostAddresses];
};
static_assert(sizeof(Layout) <= kRootInfoBytes && std::is_trivially_copyable_v<Layout>);

Id CheckOf(Layout layout) {
  layout.check = {};
  return Digest({reinterpret_cast<const char*>(&layout), sizeof layout});
}

std::string LinkTarget(const char* path) {
  char target[64];
  ssize_t length = readlink(path, target, sizeof target);
  return length < 0 ? std::string() : std::string(target, static_cast<size_t>(length));
}

}  // namespace

std::string TextOf(const Address& address) {
  char text[INET6_ADDRSTRLEN] = "";
  inet_ntop(address.is_v6 ? AF_INET6 : AF_INET, address.bytes.data(), text, sizeof text);
  return text;
}

bool ParseAddress(const std::string& text, Address* address) {
  *address = {};
  if (inet_pton(AF_INET, text.c_str(), address->bytes.data()) == 1) return true;
  address->is_v6 = inet_pton(AF_INET6, text.c_str(), address->bytes.data()) == 1;
  return address->is_v6;
}

void Write(const RootInfo& root, std::span<std::byte, kRootInfoBytes> to) {
  Layout layout;
  std::memset(&layout, 0, sizeof layout);
  std::memcpy(layout.magic, kInfoMagic, sizeof kInfoMagic);
  layout.version = kInfoVersion;
  layout.id = root.id;
  layout.secret = root.secret;
  layout.host = root.host;
  layout.process = root.process;
  layout.port = root.port;
  layout.address_count = static_cast<uint32_t>(std::min(root.addresses.size(), kMostAddresses));
  for (uint32_t i = 0; i < layout.address_count; ++i) {
    layout.addresses[i].is_v6 = root.addresses[i].is_v6;
    std::memcpy(layout.addresses[i].bytes, root.addresses[i].bytes.data(), 16);
  }
  layout.check = CheckOf(layout);
  std::fill(to.begin(), to.end(), std::byte{0});
  std::memcpy(to.data(), &layout, sizeof layout);
}

RootInfo ReadRootInfo(std::span<const std::byte, kRootInfoBytes> from) {
  Layout layout;
  std::memcpy(&layout, from.data(), sizeof layout);
  if (std::memcmp(layout.magic, kInfoMagic, sizeof kInfoMagic) != 0) {
    Fail(codes::kHcclEPara, "root-info",
         "rootInfo is not what HcclGetRootInfo wrote; bring its {} bytes from the root rank to all others",
         kRootInfoBytes);
  }
  if (layout.version != kInfoVersion) {
    Fail(codes::kHcclEPara, "root-info",
         "rootInfo was made by another version of Belay (its form is {}, this one's {})", layout.version,
         kInfoVersion);
  }
  if (layout.check != CheckOf(layout) || layout.address_count > kMostAddresses) {
    Fail(codes::kHcclEPara, "root-info",
         "rootInfo was changed on its way: its checksum does not fit; send all {} bytes, as bytes",
         kRootInfoBytes);
  }
  RootInfo root;
  root.id = layout.id;
  root.secret = layout.secret;
  root.host = layout.host;
  root.process = layout.process;
  root.port = layout.port;
  for (uint32_t i = 0; i < layout.address_count; ++i) {
    Address address;
    address.is_v6 = layout.addresses[i].is_v6 != 0;
    std::memcpy(address.bytes.data(), layout.addresses[i].bytes, 16);
    root.addresses.push_back(address);
  }
  return root;
}

Id ThisHost() {
  std::string text = ReadWholeFile("/proc/sys/kernel/random/boot_id", 4096).value_or("");
  for (const char* of : {"/proc/self/ns/net", "/proc/self/ns/pid"}) text += LinkTarget(of) + '\n';
  if (const char* name = std::getenv("BELAY_COLLECTIVE_HOST"); name != nullptr) text += name;
  return Digest(text);
}

void FillWithRandom(std::span<uint8_t> bytes) {
  if (getrandom(bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size())) return;
  Fail(codes::kHcclESyscall, "collective-system", "the system gave no random numbers ({})",
       ExplainRefusal(errno));
}

// FNV-1a, twice, from different beginnings; the second goes over the text backwards.
Id Digest(std::string_view text) {
  constexpr uint64_t kPrime = 0x100000001b3;
  uint64_t forwards = 0xcbf29ce484222325, backwards = 0x9ae16a3b2f90404f;
  for (size_t i = 0; i < text.size(); ++i) {
    forwards = (forwards ^ static_cast<uint8_t>(text[i])) * kPrime;
    backwards = (backwards ^ static_cast<uint8_t>(text[text.size() - 1 - i])) * kPrime;
  }
  Id id;
  std::memcpy(id.data(), &forwards, 8);
  std::memcpy(id.data() + 8, &backwards, 8);
  return id;
}

std::string Hex(std::span<const uint8_t> bytes) {
  std::string text;
  for (uint8_t byte : bytes) text += fmt::format("{:02x}", byte);
  return text;
}

}  // namespace belay::coll
