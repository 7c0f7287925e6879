// What libbelay_link_ucx.so gives: UCX as an engine. Its settings (UCX_*) are the user's; without them TCP is
// used on that network only on which the carriers met.
#include <ifaddrs.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <new>
#include <string>
#include <system_error>

#include "collective/ucx/ucx_link.h"

namespace belay::coll {
namespace {

bool SameAddress(const sockaddr& one, const sockaddr& two) {
  if (one.sa_family != two.sa_family) return false;
  if (one.sa_family == AF_INET) {
    return reinterpret_cast<const sockaddr_in&>(one).sin_addr.s_addr ==
           reinterpret_cast<const sockaddr_in&>(two).sin_addr.s_addr;
  }
  return one.sa_family == AF_INET6 &&
         std::memcmp(&reinterpret_cast<const sockaddr_in6&>(one).sin6_addr,
                     &reinterpret_cast<const sockaddr_in6&>(two).sin6_addr, sizeof(in6_addr)) == 0;
}

// The interface that the socket goes over; empty when that is not known.
std::string InterfaceOf(int socket) {
  sockaddr_storage own{};
  socklen_t length = sizeof own;
  ifaddrs* all = nullptr;
  std::string used;
  if (getsockname(socket, reinterpret_cast<sockaddr*>(&own), &length) != 0 || getifaddrs(&all) != 0)
    return "";
  for (const ifaddrs* each = all; each != nullptr; each = each->ifa_next) {
    if (each->ifa_addr != nullptr && SameAddress(*each->ifa_addr, reinterpret_cast<const sockaddr&>(own)))
      used = each->ifa_name;
  }
  freeifaddrs(all);
  return used;
}

// ",mlx5_0:1": the ports of devices for RDMA.
std::string PortsForRdma() {
  std::string ports;
  std::error_code none;
  for (const auto& device : std::filesystem::directory_iterator("/sys/class/infiniband", none)) {
    for (const auto& port : std::filesystem::directory_iterator(device.path() / "ports", none))
      ports += "," + device.path().filename().string() + ":" + port.path().filename().string();
  }
  return ports;
}

// So that UCX does not listen for TCP where the carriers have not met.
std::string DevicesFor(int socket) {
  const std::string interface = InterfaceOf(socket);
  return interface.empty() ? "" : interface + PortsForRdma();
}

// Links of the process that are open. UCX has a thread then, which a forked child lacks.
struct Open {
  std::mutex lock;
  pid_t process = 0;
  int links = 0;
};
Open g_open;

// False in a child that was forked while links were open.
bool CountLink() {
  if (g_open.links > 0 && g_open.process != getpid()) return false;  // nor may its lock be free
  std::lock_guard guard(g_open.lock);
  g_open.process = getpid();
  ++g_open.links;
  return true;
}

class UcxEngine final : public Engine {
 public:
  const char* name() const noexcept override { return "ucx"; }
  uint32_t number() const noexcept override { return 1; }
  std::unique_ptr<Transport> Open(int socket, std::string* why) const noexcept override try {
    if (!CountLink()) {
      *why = "UCX was at work in the process that forked this one, and would have no thread here";
      return nullptr;
    }
    auto link = std::make_unique<UcxLink>(socket);
    if (!link->Open(why)) link.reset();
    return link;
  } catch (const std::exception&) {  // no memory
    return nullptr;
  }
};
constinit const UcxEngine g_engine;

}  // namespace

void UcxLink::Uncount() {
  std::lock_guard guard(g_open.lock);
  --g_open.links;
}

bool UcxLink::OpenContext(std::string* why) {
  ucp_config_t* config = nullptr;
  ucs_status_t status = ucp_config_read(nullptr, nullptr, &config);
  if (status == UCS_OK && std::getenv("UCX_NET_DEVICES") == nullptr) {
    const std::string devices = DevicesFor(socket_);
    if (!devices.empty()) status = ucp_config_modify(config, "NET_DEVICES", devices.c_str());
  }
  ucp_params_t parameters{};
  parameters.field_mask = UCP_PARAM_FIELD_FEATURES | UCP_PARAM_FIELD_ESTIMATED_NUM_EPS;
  parameters.features = UCP_FEATURE_STREAM | UCP_FEATURE_WAKEUP;
  parameters.estimated_num_eps = 1;
  if (status == UCS_OK) status = ucp_init(&parameters, config, &context_);
  if (config != nullptr) ucp_config_release(config);
  if (status != UCS_OK) *why = std::string("UCX could not be set up: ") + ucs_status_string(status);
  return status == UCS_OK;
}

}  // namespace belay::coll

extern "C" __attribute__((visibility("default"))) const belay::coll::Engine* belay_link_engine() {
  return &belay::coll::g_engine;
}
