// Plain TCP: the bytes go over the socket on which the carriers have met.
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <new>

#include "collective/transport.h"

namespace belay::coll {
namespace {

#if defined(__SANITIZE_THREAD__)
// ThreadSanitizer takes what is sent as read after the call, when the other side may have answered long ago.
// So it is told itself what a message orders.
std::atomic<int> g_messages;
ssize_t SendOrdered(int socket, const msghdr& message) {
  g_messages.fetch_add(1, std::memory_order_release);
  return syscall(SYS_sendmsg, socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}
ssize_t ReceiveOrdered(int socket, msghdr* message) {
  const ssize_t count = recvmsg(socket, message, MSG_DONTWAIT);
  g_messages.load(std::memory_order_acquire);
  return count;
}
#else
ssize_t SendOrdered(int socket, const msghdr& message) {
  return sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}
ssize_t ReceiveOrdered(int socket, msghdr* message) { return recvmsg(socket, message, MSG_DONTWAIT); }
#endif

msghdr MessageOf(const iovec* parts, size_t count) {
  msghdr message{};
  message.msg_iov = const_cast<iovec*>(parts);
  message.msg_iovlen = count;
  return message;
}

class Tcp final : public Transport {
 public:
  explicit Tcp(int socket) : socket_(socket) {}

  std::span<const std::byte> address() const noexcept override { return {}; }
  bool Connect(std::span<const std::byte>, std::string*) noexcept override { return true; }

  Result Send(const iovec* parts, size_t count, size_t* bytes) noexcept override {
    const msghdr message = MessageOf(parts, count);
    return ResultOf(SendOrdered(socket_, message), bytes);
  }
  Result Receive(const iovec* parts, size_t count, size_t* bytes) noexcept override {
    msghdr message = MessageOf(parts, count);
    const ssize_t came = ReceiveOrdered(socket_, &message);
    return came == 0 ? Result::kEnd : ResultOf(came, bytes);
  }

  int descriptor() const noexcept override { return socket_; }
  void Arm() noexcept override {}
  void AwaitRoom() noexcept override {
    pollfd wait{socket_, POLLOUT, 0};
    poll(&wait, 1, -1);
  }

  void EndSending() noexcept override { shutdown(socket_, SHUT_WR); }
  // By the system of the other side, or there is nobody any more to take it.
  bool AllWasTaken() noexcept override {
    int bytes = 0;
    tcp_info info{};
    socklen_t length = sizeof info;
    if (ioctl(socket_, SIOCOUTQ, &bytes) != 0 || bytes == 0) return true;
    return getsockopt(socket_, IPPROTO_TCP, TCP_INFO, &info, &length) == 0 && info.tcpi_state == TCP_CLOSE;
  }

 private:
  static Result ResultOf(ssize_t count, size_t* bytes) {
    *bytes = count < 0 ? 0 : static_cast<size_t>(count);
    if (count >= 0 || errno == EINTR) return Result::kSome;
    return errno == EAGAIN || errno == EWOULDBLOCK ? Result::kNothing : Result::kEnd;
  }

  const int socket_;
};

class TheTcpEngine final : public Engine {
 public:
  const char* name() const noexcept override { return "tcp"; }
  uint32_t number() const noexcept override { return 0; }
  std::unique_ptr<Transport> Open(int socket, std::string*) const noexcept override {
    return std::unique_ptr<Transport>(new (std::nothrow) Tcp(socket));
  }
};
constinit const TheTcpEngine g_tcp;

}  // namespace

const Engine& TcpEngine() noexcept { return g_tcp; }

}  // namespace belay::coll
