// What the environment says of communicators. It is read anew for each, as programs set it while they run.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace belay::coll {

// All throw HCCL_E_PARA, naming the variable, for a value that cannot be used.
int64_t ConnectTimeoutNs();  // HCCL_CONNECT_TIMEOUT, 120 s
int64_t ExecTimeoutNs();     // HCCL_EXEC_TIMEOUT, 1836 s; 0: for ever
uint64_t BufferBytes();      // HCCL_BUFFSIZE, 200 MB
int Deterministic();         // HCCL_DETERMINISTIC: 0, 1, or 2 for strict

// "60000-60015,61000" as first and last ports.
using PortRanges = std::vector<std::pair<uint16_t, uint16_t>>;
PortRanges ParsePorts(const std::string& text, const char* variable);
// HCCL_HOST_SOCKET_PORT_RANGE, else 16 ports from HCCL_IF_BASE_PORT on. Empty: any.
PortRanges Ports();

// HCCL_SOCKET_IFNAME: whether an interface is meant. "eth" stands for all that begin so, "=eth0" for this
// one,
// "^" before either for all others; commas between several.
bool IsMeant(const std::string& wanted, const std::string& interface);

}  // namespace belay::coll
