#include "collective/sockets.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/hcclresult_codes.h"
#include "base/system_limit.h"
#include "collective/environment.h"

namespace belay::coll {
namespace {

constexpr int kBacklog = 1024;

[[noreturn]] void FailSystem(const char* what) {
  Fail(codes::kHcclESyscall, "collective-system", "{} failed ({})", what, ExplainRefusal(errno));
}

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t length = 0;
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
};

SocketAddress LocalAddress(const std::string& name) {
  SocketAddress made;
  auto* local = reinterpret_cast<sockaddr_un*>(&made.storage);
  local->sun_family = AF_UNIX;
  size_t length = std::min(name.size(), sizeof local->sun_path - 1);
  std::memcpy(local->sun_path + 1, name.data(), length);  // the zero before it makes it abstract
  made.length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + length);
  return made;
}

SocketAddress TcpAddress(const Address& address, uint16_t port) {
  SocketAddress made;
  if (address.is_v6) {
    auto* v6 = reinterpret_cast<sockaddr_in6*>(&made.storage);
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons(port);
    std::memcpy(&v6->sin6_addr, address.bytes.data(), 16);
    made.length = sizeof *v6;
  } else {
    auto* v4 = reinterpret_cast<sockaddr_in*>(&made.storage);
    v4->sin_family = AF_INET;
    v4->sin_port = htons(port);
    std::memcpy(&v4->sin_addr, address.bytes.data(), 4);
    made.length = sizeof *v4;
  }
  return made;
}

Descriptor MakeSocket(int family) {
  return Descriptor(socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

bool ReadInterface(const sockaddr* from, Address* address) {
  if (from == nullptr) return false;
  *address = {};
  address->is_v6 = from->sa_family == AF_INET6;
  if (from->sa_family == AF_INET) {
    std::memcpy(address->bytes.data(), &reinterpret_cast<const sockaddr_in*>(from)->sin_addr, 4);
  } else if (address->is_v6) {
    std::memcpy(address->bytes.data(), &reinterpret_cast<const sockaddr_in6*>(from)->sin6_addr, 16);
  } else {
    return false;
  }
  return true;
}

// The first by name of the interfaces that are meant.
Address AddressOfInterface(const std::string& wanted, bool v6) {
  ifaddrs* all = nullptr;
  if (getifaddrs(&all) != 0) FailSystem("looking at the network interfaces");
  std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owner(all, &freeifaddrs);
  std::map<std::string, Address> found;
  for (const ifaddrs* i = all; i != nullptr; i = i->ifa_next) {
    Address address;
    if ((i->ifa_flags & IFF_UP) == 0 || !ReadInterface(i->ifa_addr, &address) || address.is_v6 != v6)
      continue;
    if (IsMeant(wanted, i->ifa_name)) found.emplace(i->ifa_name, address);
  }
  if (found.empty()) {
    Fail(codes::kHcclEPara, "collective-setting",
         "HCCL_SOCKET_IFNAME = '{}' names no interface that is up and has an address of the family {}",
         wanted, v6 ? "AF_INET6" : "AF_INET");
  }
  return found.begin()->second;
}

std::string Variable(const char* name) {
  const char* text = std::getenv(name);
  return text == nullptr ? "" : text;
}

Address WhereToListen(const Address& otherwise) {
  Address address;
  if (const std::string text = Variable("HCCL_IF_IP"); !text.empty()) {
    if (ParseAddress(text, &address)) return address;
    Fail(codes::kHcclEPara, "collective-setting",
         "HCCL_IF_IP = '{}' is no address; write one such as 192.168.0.1, or unset it", text);
  }
  const std::string family = Variable("HCCL_SOCKET_FAMILY");
  if (!family.empty() && family != "AF_INET" && family != "AF_INET6") {
    Fail(codes::kHcclEPara, "collective-setting",
         "HCCL_SOCKET_FAMILY = '{}' cannot be used; set it to AF_INET or AF_INET6, or unset it", family);
  }
  if (const std::string wanted = Variable("HCCL_SOCKET_IFNAME"); !wanted.empty())
    return AddressOfInterface(wanted, family == "AF_INET6");
  return otherwise;
}

bool Listen(const Descriptor& socket, const SocketAddress& at) {
  return bind(socket.get(), at.get(), at.length) == 0 && listen(socket.get(), kBacklog) == 0;
}

Descriptor TryListen(const Address& address, uint16_t port) {
  Descriptor made = MakeSocket(address.is_v6 ? AF_INET6 : AF_INET);
  if (!made) FailSystem("making a socket");
  const int on = 1;  // what was there before may have ended just now
  if (port != 0) setsockopt(made.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (Listen(made, TcpAddress(address, port))) return made;
  if (errno != EADDRINUSE && errno != EACCES) {
    Fail(
        codes::kHcclENetwork, "collective-listen",
        "listening on {} failed ({}); let HCCL_IF_IP, or the host_ip of a rank table, be an address of this machine",
        TextOf(address), ExplainRefusal(errno));
  }
  return {};
}

uint16_t PortOf(const Descriptor& socket) {
  sockaddr_storage at{};
  socklen_t length = sizeof at;
  if (getsockname(socket.get(), reinterpret_cast<sockaddr*>(&at), &length) != 0) return 0;
  return ntohs(at.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6*>(&at)->sin6_port
                                        : reinterpret_cast<sockaddr_in*>(&at)->sin_port);
}

bool Await(int file, short events, int64_t deadline_ns) noexcept {
  for (;;) {
    const int64_t left = deadline_ns - NowNs();
    if (left <= 0) return false;
    pollfd watched{file, events, 0};
    if (poll(&watched, 1, static_cast<int>(std::min<int64_t>(left / 1'000'000 + 1, INT32_MAX))) > 0)
      return true;
  }
}

}  // namespace

std::string LocalNameOf(const Id& root) { return "belay-hccl-" + Hex(root); }

Descriptor ListenLocal(const std::string& name) {
  Descriptor made = MakeSocket(AF_UNIX);
  if (!made) FailSystem("making a socket");
  if (Listen(made, LocalAddress(name))) return made;
  if (errno == EADDRINUSE) return {};
  FailSystem("listening on a local socket");
}

Descriptor ConnectLocal(const std::string& name) {
  Descriptor made = MakeSocket(AF_UNIX);
  if (!made) FailSystem("making a socket");
  const SocketAddress at = LocalAddress(name);
  if (connect(made.get(), at.get(), at.length) == 0) return made;
  return {};
}

Descriptor ListenTcp(Address* address, uint16_t* port) {
  Address loopback;
  ParseAddress("127.0.0.1", &loopback);
  return ListenTcpElse(loopback, address, port);
}

Descriptor ListenTcpElse(const Address& otherwise, Address* address, uint16_t* port) {
  *address = WhereToListen(otherwise);
  PortRanges ranges = Ports();
  if (ranges.empty()) ranges = {{0, 0}};
  for (const auto& range : ranges) {
    for (uint32_t wanted = range.first; wanted <= range.second; ++wanted) {
      Descriptor made = TryListen(*address, static_cast<uint16_t>(wanted));
      if (!made) continue;
      *port = PortOf(made);
      return made;
    }
  }
  Fail(
      codes::kHcclENetwork, "collective-listen",
      "all ports of HCCL_HOST_SOCKET_PORT_RANGE or HCCL_IF_BASE_PORT are taken on {}; name others, or unset both",
      TextOf(*address));
}

Descriptor ConnectTcp(const Address& address, uint16_t port, int64_t deadline_ns) {
  Descriptor made = MakeSocket(address.is_v6 ? AF_INET6 : AF_INET);
  if (!made) FailSystem("making a socket");
  const SocketAddress at = TcpAddress(address, port);
  if (connect(made.get(), at.get(), at.length) == 0) return made;
  if (errno != EINPROGRESS) return {};
  int error = 0;
  socklen_t length = sizeof error;
  if (!Await(made.get(), POLLOUT, deadline_ns)) {
    errno = ETIMEDOUT;
    return {};
  }
  if (getsockopt(made.get(), SOL_SOCKET, SO_ERROR, &error, &length) != 0) return {};
  errno = error;
  return error == 0 ? std::move(made) : Descriptor();
}

Descriptor ListenTcpAt(const Address& address, uint16_t port) {
  Descriptor made = TryListen(address, port);
  if (made) return made;
  Fail(
      codes::kHcclENetwork, "collective-listen",
      "port {} of {} is taken, where the ranks of other servers come; set another HCCL_IF_BASE_PORT on all ranks",
      port, TextOf(address));
}

Address OwnAddress(const Descriptor& tcp) {
  sockaddr_storage at{};
  socklen_t length = sizeof at;
  Address address;
  if (getsockname(tcp.get(), reinterpret_cast<sockaddr*>(&at), &length) != 0) FailSystem("getsockname");
  ReadInterface(reinterpret_cast<const sockaddr*>(&at), &address);
  return address;
}

void TuneTcp(const Descriptor& tcp) noexcept {
  const auto set = [&](int level, int name, int value) {
    setsockopt(tcp.get(), level, name, &value, sizeof value);
  };
  set(IPPROTO_TCP, TCP_NODELAY, 1);
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, 5);
  set(IPPROTO_TCP, TCP_KEEPINTVL, 2);
  set(IPPROTO_TCP, TCP_KEEPCNT, 5);
}

PeerProcess ProcessAt(const Descriptor& local) {
  ucred who{};
  socklen_t length = sizeof who;
  if (getsockopt(local.get(), SOL_SOCKET, SO_PEERCRED, &who, &length) != 0) return {};
  return {who.pid, who.uid};
}

bool IsOurs(const PeerProcess& peer) { return peer.user == geteuid() || peer.user == 0; }

bool Send(const Descriptor& socket, std::span<const std::byte> bytes, std::span<const int> files) noexcept {
  alignas(cmsghdr) char control[CMSG_SPACE(2 * sizeof(int))] = {};
  iovec part{const_cast<std::byte*>(bytes.data()), bytes.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (!files.empty()) {
    message.msg_control = control;
    message.msg_controllen = CMSG_SPACE(files.size_bytes());
    cmsghdr* head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(files.size_bytes());
    std::memcpy(CMSG_DATA(head), files.data(), files.size_bytes());
  }
  ssize_t sent;
  do {
    sent = sendmsg(socket.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
  } while (sent < 0 && errno == EINTR);
  return sent == static_cast<ssize_t>(bytes.size());
}

Received Receive(const Descriptor& socket, std::span<std::byte> to, size_t* bytes,
                 std::span<Descriptor> files) noexcept {
  alignas(cmsghdr) char control[CMSG_SPACE(4 * sizeof(int))] = {};
  iovec part{to.data(), to.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  ssize_t got;
  do {
    got = recvmsg(socket.get(), &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  } while (got < 0 && errno == EINTR);
  if (got < 0) return errno == EAGAIN || errno == EWOULDBLOCK ? Received::kNothing : Received::kEnd;
  for (cmsghdr* head = CMSG_FIRSTHDR(&message); head != nullptr; head = CMSG_NXTHDR(&message, head)) {
    if (head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS) continue;
    for (size_t at = CMSG_LEN(0); at + sizeof(int) <= head->cmsg_len; at += sizeof(int)) {
      int number = -1;
      std::memcpy(&number, reinterpret_cast<char*>(head) + at, sizeof number);
      Descriptor came(number);
      const auto free = std::find_if(files.begin(), files.end(), [](const Descriptor& f) { return !f; });
      if (free != files.end()) *free = std::move(came);  // those that nobody asked for are closed
    }
  }
  *bytes = static_cast<size_t>(got);
  return got == 0 ? Received::kEnd : Received::kBytes;
}

bool AwaitReadable(const Descriptor& socket, int64_t deadline_ns) noexcept {
  return Await(socket.get(), POLLIN, deadline_ns);
}

Descriptor WatchProcess(int32_t process) noexcept {
#ifdef SYS_pidfd_open
  return Descriptor(static_cast<int>(syscall(SYS_pidfd_open, process, 0)));
#else
  return Descriptor(static_cast<int>(syscall(434, process, 0)));  // of all architectures
#endif
}

}  // namespace belay::coll
