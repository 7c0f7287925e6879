#include "collective/link.h"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/error.h"
#include "base/hcclresult_codes.h"
#include "base/system_limit.h"
#include "collective/board.h"

namespace belay::coll {
namespace {

constexpr int64_t kTickNs = 1'000'000;

#if defined(__SANITIZE_THREAD__)
// ThreadSanitizer takes what is sent as read after the call, when the other side may have answered long ago.
// So it is told itself what a message orders.
std::atomic<int> g_messages;
ssize_t SendOrdered(const Descriptor& socket, const msghdr& message) {
  g_messages.fetch_add(1, std::memory_order_release);
  return syscall(SYS_sendmsg, socket.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}
ssize_t ReceiveOrdered(const Descriptor& socket, msghdr* message) {
  const ssize_t count = recvmsg(socket.get(), message, MSG_DONTWAIT);
  g_messages.load(std::memory_order_acquire);
  return count;
}
#else
ssize_t SendOrdered(const Descriptor& socket, const msghdr& message) {
  return sendmsg(socket.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}
ssize_t ReceiveOrdered(const Descriptor& socket, msghdr* message) {
  return recvmsg(socket.get(), message, MSG_DONTWAIT);
}
#endif

// What there is of the parts goes, as far as the connection takes it: `begin` becomes the first that has not
// gone.
Outgoing::Result SendParts(const Descriptor& socket, iovec* parts, size_t* begin, size_t end, bool* any) {
  while (*begin < end) {
    msghdr message{};
    message.msg_iov = parts + *begin;
    message.msg_iovlen = end - *begin;
    ssize_t sent = SendOrdered(socket, message);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0)
      return errno == EAGAIN || errno == EWOULDBLOCK ? Outgoing::Result::kBlocked : Outgoing::Result::kBroken;
    *any = true;
    for (; *begin < end && static_cast<size_t>(sent) >= parts[*begin].iov_len; ++*begin)
      sent -= static_cast<ssize_t>(parts[*begin].iov_len);
    if (*begin == end) break;
    parts[*begin].iov_base = static_cast<std::byte*>(parts[*begin].iov_base) + sent;
    parts[*begin].iov_len -= static_cast<size_t>(sent);
  }
  return Outgoing::Result::kAll;
}

}  // namespace

// --- there

bool Outgoing::Fill(Board& board, const Hosts& hosts, uint32_t host) {
  size_t count = 0;
  begin_ = end_ = 0;
  for (uint32_t rank = 0; rank < hosts.ranks() && count < kMostAtOnce; ++rank) {
    Parcel parcel;
    while (hosts.of[rank] == hosts.own && count < kMostAtOnce && board.outbox().Take(rank, host, &parcel)) {
      Frame& frame = frames_[count++];
      frame = {static_cast<FrameKind>(static_cast<uint32_t>(parcel.kind) + 1), parcel.bytes, parcel.at,
               parcel.value};
      parts_[end_++] = {&frame, sizeof frame};
      if (parcel.kind == ParcelKind::kBytes) parts_[end_++] = {board.Bytes(parcel.at), parcel.bytes};
    }
  }
  return count > 0;
}

Outgoing::Result Outgoing::Send(Board& board, const Hosts& hosts, uint32_t host, const Descriptor& socket,
                                bool* any) {
  while (begin_ < end_ || Fill(board, hosts, host)) {
    const Result result = SendParts(socket, parts_.data(), &begin_, end_, any);
    if (result != Result::kAll) return result;
  }
  return Result::kAll;
}

bool SendFrame(const Descriptor& socket, Frame frame, std::string_view text) {
  std::array<iovec, 2> parts{{{&frame, sizeof frame}, {const_cast<char*>(text.data()), text.size()}}};
  size_t begin = 0;
  for (bool any = false;;) {
    const Outgoing::Result result = SendParts(socket, parts.data(), &begin, parts.size(), &any);
    if (result != Outgoing::Result::kBlocked) return result == Outgoing::Result::kAll;
    pollfd wait{socket.get(), POLLOUT, 0};
    poll(&wait, 1, -1);
  }
}

// --- and back

// Of frame_, whose header has been taken from the buffer.
Incoming::Applied Incoming::Apply(Board& board, const Hosts& hosts, uint32_t host) {
  switch (frame_.kind) {
    case FrameKind::kBytes: {
      if (!board.IsOf(host, frame_.at, frame_.bytes)) return Applied::kNo;
      const size_t here = std::min<size_t>(frame_.bytes, end_ - begin_);
      std::memcpy(board.Bytes(frame_.at), &buffer_[begin_], here);
      begin_ += here;
      to_ = board.Bytes(frame_.at) + here;
      left_ = frame_.bytes - here;
      return Applied::kYes;
    }
    case FrameKind::kWord:
      if (frame_.at % sizeof(uint64_t) != 0 || !board.IsOf(host, frame_.at, sizeof(uint64_t)))
        return Applied::kNo;
      board.Came(frame_.at, frame_.value);
      return Applied::kYes;
    case FrameKind::kLeft:
      if (frame_.bytes >= hosts.ranks() || hosts.of[frame_.bytes] != host) return Applied::kNo;
      board.CameLeft(frame_.bytes);
      return Applied::kYes;
    case FrameKind::kFailed: {
      if (frame_.bytes > kMostFailure || frame_.at > hosts.ranks()) return Applied::kNo;
      if (end_ - begin_ < frame_.bytes) return Applied::kPart;
      const auto kind = std::min<uint64_t>(frame_.value, static_cast<uint64_t>(FailureKind::kOther));
      board.MarkFailed(static_cast<uint32_t>(frame_.at), static_cast<FailureKind>(kind),
                       {reinterpret_cast<const char*>(buffer_.data() + begin_), frame_.bytes});
      begin_ += frame_.bytes;
      return Applied::kYes;
    }
  }
  return Applied::kNo;
}

bool Incoming::TakeAll(Board& board, const Hosts& hosts, uint32_t host) {
  while (left_ == 0 && end_ - begin_ >= sizeof frame_) {
    std::memcpy(&frame_, &buffer_[begin_], sizeof frame_);
    begin_ += sizeof frame_;
    const Applied applied = Apply(board, hosts, host);
    if (applied == Applied::kNo) return false;
    if (applied == Applied::kYes) continue;
    begin_ -= sizeof frame_;
    break;
  }
  std::memmove(buffer_.data(), &buffer_[begin_], end_ - begin_);  // less than a frame and its text
  end_ -= begin_;
  begin_ = 0;
  return true;
}

Incoming::Result Incoming::Receive(Board& board, const Hosts& hosts, uint32_t host,
                                   const Descriptor& socket) {
  std::array<iovec, 2> parts{{{to_, left_}, {&buffer_[end_], buffer_.size() - end_}}};
  msghdr message{};
  message.msg_iov = left_ > 0 ? &parts[0] : &parts[1];
  message.msg_iovlen = left_ > 0 ? 2 : 1;
  ssize_t came = ReceiveOrdered(socket, &message);
  if (came < 0 && errno == EINTR) return Result::kSome;
  if (came < 0) return errno == EAGAIN || errno == EWOULDBLOCK ? Result::kNothing : Result::kEnd;
  if (came == 0) return Result::kEnd;
  const size_t straight = std::min(left_, static_cast<size_t>(came));
  to_ += straight;
  left_ -= straight;
  end_ += static_cast<size_t>(came) - straight;
  return TakeAll(board, hosts, host) ? Result::kSome : Result::kStrange;
}

// --- waiting

void Link::PrepareToWait() {
  waits = Descriptor(epoll_create1(EPOLL_CLOEXEC));
  timer = Descriptor(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
  epoll_event socket_event{EPOLLIN, {.u32 = 0}}, timer_event{EPOLLIN, {.u32 = 1}};
  if (waits && timer && epoll_ctl(waits.get(), EPOLL_CTL_ADD, socket.get(), &socket_event) == 0 &&
      epoll_ctl(waits.get(), EPOLL_CTL_ADD, timer.get(), &timer_event) == 0)
    return;
  Fail(codes::kHcclESyscall, "collective-system", "the system gave nothing to wait for other hosts with ({})",
       ExplainRefusal(errno));
}

void Link::Arm() {
  armed = true;
  epoll_event event{EPOLLIN, {.u32 = 0}};
  epoll_ctl(waits.get(), EPOLL_CTL_MOD, socket.get(), &event);
}

// The end of the whole connection is told all the same.
void Link::Disarm() {
  armed = false;
  epoll_event event{0, {.u32 = 0}};
  epoll_ctl(waits.get(), EPOLL_CTL_MOD, socket.get(), &event);
}

void Link::SetTimer() {
  const itimerspec once{{0, 0}, {0, kTickNs}};
  timerfd_settime(timer.get(), 0, &once, nullptr);
}

bool Link::AwaitTimer() {
  std::array<epoll_event, 2> events;
  const int count = epoll_wait(waits.get(), events.data(), events.size(), -1);
  uint64_t ticks = 0;
  for (int i = 0; i < count; ++i) {
    if (events[static_cast<size_t>(i)].data.u32 == 1)
      return read(timer.get(), &ticks, sizeof ticks) == sizeof ticks;
  }
  return false;
}

}  // namespace belay::coll
