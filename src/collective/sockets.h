// Sockets of the meeting point: one for processes of this machine, which can hand over files, and one of the
// internet, by which other machines come.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/descriptor.h"
#include "collective/root_info.h"

namespace belay::coll {

// The name of the local socket of a meeting point. It lives in the abstract namespace: no file, nothing is
// left.
std::string LocalNameOf(const Id& root);
// Throw HCCL_E_SYSCALL. ListenLocal gives none when the name is taken.
Descriptor ListenLocal(const std::string& name);
Descriptor ConnectLocal(const std::string& name);  // none: nobody listens, the reason is in errno

// On the addresses that HCCL_IF_IP or HCCL_SOCKET_IFNAME name, else on loopback only; on the ports of
// Ports(). Throws HCCL_E_PARA for settings that fit no interface, HCCL_E_NETWORK when all ports are taken.
Descriptor ListenTcp(Address* address, uint16_t* port);
// The same where no setting names one: on this address.
Descriptor ListenTcpElse(const Address& otherwise, Address* address, uint16_t* port);
// There, or HCCL_E_NETWORK.
Descriptor ListenTcpAt(const Address& address, uint16_t port);
// Of this end of a connection.
Address OwnAddress(const Descriptor& tcp);
// What is small goes at once, and a machine that has died is noticed within a quarter of a minute.
void TuneTcp(const Descriptor& tcp) noexcept;
Descriptor ConnectTcp(const Address& address, uint16_t port,
                      int64_t deadline_ns);  // none: the reason is in errno

// Who is at the other end of a local socket.
struct PeerProcess {
  int32_t process = 0;
  uint32_t user = UINT32_MAX;
};
PeerProcess ProcessAt(const Descriptor& local);
// Of the same user, or of the system's.
bool IsOurs(const PeerProcess& peer);

// All of it, with at most two files; at once, or not at all (false): messages are short.
bool Send(const Descriptor& socket, std::span<const std::byte> bytes,
          std::span<const int> files = {}) noexcept;

// What is there now. `files` take those that came along.
enum class Received { kBytes, kNothing, kEnd };
Received Receive(const Descriptor& socket, std::span<std::byte> to, size_t* bytes,
                 std::span<Descriptor> files = {}) noexcept;

// Until there is something to receive, or the time has come; false then.
bool AwaitReadable(const Descriptor& socket, int64_t deadline_ns) noexcept;

// Becomes readable when the process ends. None where the system does not give one.
Descriptor WatchProcess(int32_t process) noexcept;

}  // namespace belay::coll
