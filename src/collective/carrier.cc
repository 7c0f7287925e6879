#include "collective/carrier.h"

#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <optional>
#include <span>
#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "base/fork.h"
#include "base/hcclresult_codes.h"
#include "base/system_limit.h"
#include "base/thread.h"
#include "collective/bootstrap.h"
#include "collective/sockets.h"

namespace belay::coll {
namespace {

constexpr size_t kMostAtOnce = 64;  // parcels of one system call
constexpr size_t kBufferBytes = 8 << 10;
constexpr int64_t kConnectNs = int64_t{3} * 1'000'000'000;  // between looks whether it is still wanted
constexpr int64_t kHelloNs = int64_t{5} * 1'000'000'000;
constexpr int64_t kEndNs = int64_t{5} * 1'000'000'000;

int MillisecondsTo(int64_t deadline_ns) {
  return static_cast<int>(std::clamp<int64_t>((deadline_ns - NowNs()) / 1'000'000 + 1, 0, 1 << 30));
}

#if defined(__SANITIZE_THREAD__)
// ThreadSanitizer takes what is sent as read after the call, when the other side may have answered long ago.
// So it is told itself what a message orders.
std::atomic<int> g_messages;
ssize_t SendOrdered(const Descriptor& socket, const msghdr& message) {
  g_messages.fetch_add(1, std::memory_order_release);
  return syscall(SYS_sendmsg, socket.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}
void CameOrdered() { g_messages.load(std::memory_order_acquire); }
#else
ssize_t SendOrdered(const Descriptor& socket, const msghdr& message) {
  return sendmsg(socket.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}
void CameOrdered() {}
#endif

// All of it, waiting where the other side does not take it.
bool SendAll(const Descriptor& socket, iovec* parts, size_t count) {
  msghdr message{};
  while (count > 0) {
    message.msg_iov = parts;
    message.msg_iovlen = count;
    ssize_t sent = SendOrdered(socket, message);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && errno != EAGAIN && errno != EWOULDBLOCK) return false;
    if (sent < 0) {
      pollfd wait{socket.get(), POLLOUT, 0};
      poll(&wait, 1, -1);
      continue;
    }
    for (; count > 0 && static_cast<size_t>(sent) >= parts->iov_len; ++parts, --count)
      sent -= static_cast<ssize_t>(parts->iov_len);
    if (count == 0) break;
    parts->iov_base = static_cast<std::byte*>(parts->iov_base) + sent;
    parts->iov_len -= static_cast<size_t>(sent);
  }
  return true;
}

// By the system of the other side, or there is nobody any more to take it.
bool AllWasTaken(const Descriptor& socket) {
  int bytes = 0;
  tcp_info info{};
  socklen_t length = sizeof info;
  if (!socket || ioctl(socket.get(), SIOCOUTQ, &bytes) != 0 || bytes == 0) return true;
  return getsockopt(socket.get(), IPPROTO_TCP, TCP_INFO, &info, &length) == 0 && info.tcpi_state == TCP_CLOSE;
}

// Those of this process; a forked child has none.
struct Carriers {
  std::mutex lock;
  std::list<Carrier> all;
};
Carriers& All() { return PerProcess<Carriers>::Get(); }

}  // namespace

struct Carrier::Link {
  uint32_t host = 0;
  Descriptor socket;                  // written before the first thread of the link starts
  std::atomic<bool> has_sent{false};  // all
};

// What comes over a connection; small pieces without a system call for each.
struct Carrier::Reader {
  const Descriptor& socket;
  std::array<std::byte, kBufferBytes> buffer;
  size_t begin = 0, end = 0;
  bool over = false;  // nothing comes any more

  explicit Reader(const Descriptor& from) : socket(from) {}

  // False when there is no more.
  bool Read(std::byte* to, size_t bytes) {
    while (bytes > 0) {
      if (begin < end) {
        const size_t part = std::min(bytes, end - begin);
        std::memcpy(to, &buffer[begin], part);
        begin += part;
        to += part;
        bytes -= part;
        continue;
      }
      const bool straight = bytes >= buffer.size();
      size_t count = 0;
      if (!Some(straight ? std::span(to, bytes) : std::span(buffer), &count, INT64_MAX)) return false;
      begin = 0;
      end = straight ? 0 : count;
      if (straight) to += count, bytes -= count;
    }
    return true;
  }

  // Or the time has come.
  bool Some(std::span<std::byte> to, size_t* count, int64_t deadline_ns) {
    for (;;) {
      switch (coll::Receive(socket, to, count)) {
        case Received::kBytes:
          CameOrdered();
          return true;
        case Received::kEnd:
          over = true;
          return false;
        case Received::kNothing:
          break;
      }
      if (NowNs() >= deadline_ns) return false;
      pollfd wait{socket.get(), POLLIN, 0};
      poll(&wait, 1, deadline_ns == INT64_MAX ? -1 : MillisecondsTo(deadline_ns));
    }
  }
};

// --- threads

Carrier::Carrier(CarrierPlan plan, std::vector<Descriptor> connected)
    : plan_(std::move(plan)),
      hosts_(*plan_.hosts),
      board_(plan_.shared.memory, hosts_.ranks(), hosts_.ranks(), plan_.shared.staging_bytes_per_rank,
             plan_.name, plan_.hosts) {
  const bool meets = connected.empty();
  for (uint32_t host = 0; host < hosts_.count(); ++host) {
    Link& link = links_.emplace_back();
    link.host = host;
    if (!meets) link.socket = std::move(connected[host]);
  }
  try {
    for (Link& link : links_) {
      if (link.host == hosts_.own) link.has_sent = true;
      if (meets ? link.host < hosts_.own : link.host != hosts_.own) Run(&Carrier::Meet, &link);
    }
    if (meets && hosts_.own + 1 < hosts_.count()) Run(&Carrier::AcceptAll, nullptr);
  } catch (...) {
    End();
    throw;
  }
}

Carrier::~Carrier() {
  End();
  if (plan_.owned) munmap(plan_.shared.memory, plan_.shared.bytes);
}

void Carrier::End() noexcept {
  stop_.store(true);
  if (plan_.listener) shutdown(plan_.listener.get(), SHUT_RDWR);
  for (;;) {
    pthread_t thread;
    {
      std::lock_guard guard(lock_);  // a thread that meets others starts more
      for (Link& link : links_) {
        if (link.socket) shutdown(link.socket.get(), SHUT_RDWR);
        board_.outbox().Ring(link.host);
      }
      if (jobs_.empty()) return;
      thread = jobs_.front().thread;
    }
    pthread_join(thread, nullptr);
    std::lock_guard guard(lock_);
    jobs_.pop_front();
  }
}

void Carrier::Run(void (Carrier::*what)(Link*), Link* link) {
  std::lock_guard guard(lock_);
  Job& job = jobs_.emplace_back(Job{this, what, link, {}});
  running_.fetch_add(1);
  if (StartThread(&job.thread, "belay-carry", &Carrier::Main, &job)) return;
  running_.fetch_sub(1);
  jobs_.pop_back();
  Fail(codes::kHcclESyscall, "collective-system", "the system started no thread that carries between hosts");
}

void* Carrier::Main(void* job) {
  const Job& mine = *static_cast<const Job*>(job);
  Carrier& carrier = *mine.carrier;
  try {
    (carrier.*mine.what)(mine.link);
  } catch (const std::exception& error) {
    const uint32_t host = mine.link == nullptr ? carrier.hosts_.own : mine.link->host;
    carrier.board_.MarkFailed(carrier.hosts_.leaders[host], FailureKind::kOther, error.what());
  }
  carrier.running_.fetch_sub(1, std::memory_order_release);
  return nullptr;
}

bool Carrier::Flush(int64_t deadline_ns) noexcept {
  for (;;) {
    bool done = true;
    {
      std::lock_guard guard(lock_);
      for (const Link& link : links_) done &= link.has_sent && AllWasTaken(link.socket);
    }
    if (done || NowNs() >= deadline_ns) return done;
    poll(nullptr, 0, 1);
  }
}

// --- how carriers meet

Descriptor ListenForCarriers(const Address& otherwise, Place* place) {
  Address address;
  Descriptor made = ListenTcpElse(otherwise, &address, &place->port);
  place->is_v6 = address.is_v6 ? 1 : 0;
  place->address = address.bytes;
  return made;
}

void Carrier::FailLink(uint32_t host, const std::string& why) {
  if (stop_ || board_.failed() || AllLeft(host)) return;
  const uint32_t leader = hosts_.leaders[host];
  board_.MarkFailed(
      leader, FailureKind::kPeerEnded,
      fmt::format("rank {} of communicator \"{}\", on another machine, {}", leader, plan_.name, why));
}

// Who comes has to show the secret before anything else is looked at.
bool Carrier::Accept(Descriptor socket) {
  std::array<std::byte, kLinkHelloBytes> bytes;
  Reader reader(socket);
  const int64_t deadline = NowNs() + kHelloNs;
  for (size_t done = 0, count = 0; done < bytes.size(); done += count) {  // and nothing of what follows
    if (!reader.Some(std::span(bytes).subspan(done), &count, deadline)) return false;
  }
  Inbox inbox(sizeof(LinkHello));
  inbox.Append(bytes);
  std::optional<Inbox::Message> message;
  LinkHello hello;
  try {
    message = inbox.Take();
    if (!message || message->kind != MessageKind::kLink) return false;
    hello = DecodeLinkHello(message->body);
  } catch (const Error&) {
    return false;
  }
  if (!SameSecret(hello.secret, plan_.secret) || hello.group != plan_.group) return false;
  if (hello.host <= hosts_.own || hello.host >= hosts_.count()) return false;
  Link& link = *std::next(links_.begin(), hello.host);
  {
    std::lock_guard guard(lock_);
    if (link.socket || stop_) return false;
    link.socket = std::move(socket);
  }
  Run(&Carrier::Meet, &link);
  return true;
}

void Carrier::AcceptAll(Link*) {
  uint32_t missing = hosts_.count() - hosts_.own - 1;
  while (missing > 0 && !stop_ && !board_.failed() && NowNs() < plan_.deadline_ns) {
    pollfd wait{plan_.listener.get(), POLLIN, 0};
    poll(&wait, 1, std::min(100, MillisecondsTo(plan_.deadline_ns)));
    Descriptor socket(accept4(plan_.listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (socket && Accept(std::move(socket))) --missing;
  }
  for (uint32_t host = hosts_.own + 1; host < hosts_.count(); ++host) {
    Link& link = *std::next(links_.begin(), host);
    if (link.socket) continue;
    link.has_sent = true;
    FailLink(host, "did not connect to this one within HCCL_CONNECT_TIMEOUT");
  }
}

Descriptor Carrier::Connect(uint32_t host) {
  const Place& place = plan_.places[host].place;
  const Address address{place.is_v6 != 0, place.address};
  Descriptor socket;
  while (!socket && !stop_ && NowNs() < plan_.deadline_ns) {
    socket = ConnectTcp(address, place.port, std::min(plan_.deadline_ns, NowNs() + kConnectNs));
    if (!socket && errno != ETIMEDOUT) break;
  }
  const LinkHello hello{plan_.secret, plan_.group, hosts_.own, 0};
  if (socket && coll::Send(socket, Encode(hello))) return socket;
  FailLink(host,
           fmt::format("cannot be reached at {} port {} ({}); HCCL_IF_IP and HCCL_SOCKET_IFNAME say there "
                       "where it listens",
                       TextOf(address), place.port, ExplainRefusal(errno)));
  return {};
}

// Both directions have a thread each, so that neither holds up the other.
void Carrier::Meet(Link* link) {
  if (!link->socket) {
    Descriptor made = Connect(link->host);
    std::lock_guard guard(lock_);
    link->socket = std::move(made);
  }
  if (!link->socket || stop_) {
    link->has_sent = true;
    return;
  }
  TuneTcp(link->socket);
  Run(&Carrier::Send, link);
  Receive(link);
}

bool Carrier::AllLeft(uint32_t host) const {
  for (uint32_t rank = 0; rank < hosts_.ranks(); ++rank) {
    if (hosts_.of[rank] == host && !board_.SaidGoodbye(rank)) return false;
  }
  return true;
}

// --- there

// False when the connection has ended.
bool Carrier::SendSome(Link* link, bool* any) {
  std::array<Frame, kMostAtOnce> frames;
  std::array<iovec, 2 * kMostAtOnce> parts;
  size_t count = 0, used = 0;
  for (uint32_t rank = 0; rank < hosts_.ranks() && count < kMostAtOnce; ++rank) {
    Parcel parcel;
    while (hosts_.of[rank] == hosts_.own && count < kMostAtOnce &&
           board_.outbox().Take(rank, link->host, &parcel)) {
      Frame& frame = frames[count++];
      frame = {static_cast<FrameKind>(static_cast<uint32_t>(parcel.kind) + 1), parcel.bytes, parcel.at,
               parcel.value};
      parts[used++] = {&frame, sizeof frame};
      if (parcel.kind == ParcelKind::kBytes) parts[used++] = {board_.Bytes(parcel.at), parcel.bytes};
    }
  }
  *any = count > 0;
  return SendAll(link->socket, parts.data(), used);
}

void Carrier::SendFailure(Link* link) {
  const Error error = board_.Failure();
  const std::string sentence = error.sentence().substr(0, kMostFailure);
  Frame frame{FrameKind::kFailed, static_cast<uint32_t>(sentence.size()), board_.failed_rank(),
              static_cast<uint64_t>(board_.failure_kind())};
  std::array<iovec, 2> parts{{{&frame, sizeof frame}, {const_cast<char*>(sentence.data()), sentence.size()}}};
  SendAll(link->socket, parts.data(), parts.size());
}

void Carrier::Send(Link* link) {
  for (;;) {
    const uint32_t rings = board_.outbox().Rings(link->host);
    // Goodbyes come last in their lanes.
    const bool last = stop_ || board_.failed() || AllLeft(hosts_.own);
    bool any = false;
    if (!SendSome(link, &any)) break;
    if (any) continue;
    if (board_.failed()) SendFailure(link);
    if (last) break;
    board_.outbox().Sleep(link->host, rings);
  }
  shutdown(link->socket.get(), SHUT_WR);
  link->has_sent = true;
}

// --- and back

bool Carrier::Apply(const Frame& frame, Link* link, Reader* reader) {
  switch (frame.kind) {
    case FrameKind::kBytes:
      return board_.IsOf(link->host, frame.at, frame.bytes) &&
             reader->Read(board_.Bytes(frame.at), frame.bytes);
    case FrameKind::kWord:
      if (frame.at % sizeof(uint64_t) != 0 || !board_.IsOf(link->host, frame.at, sizeof(uint64_t)))
        return false;
      board_.Came(frame.at, frame.value);
      return true;
    case FrameKind::kLeft:
      if (frame.bytes >= hosts_.ranks() || hosts_.of[frame.bytes] != link->host) return false;
      board_.CameLeft(frame.bytes);
      return true;
    case FrameKind::kFailed: {
      std::array<std::byte, kMostFailure> text;
      if (frame.bytes > text.size() || frame.at > hosts_.ranks() || !reader->Read(text.data(), frame.bytes))
        return false;
      const auto kind = std::min<uint64_t>(frame.value, static_cast<uint64_t>(FailureKind::kOther));
      board_.MarkFailed(static_cast<uint32_t>(frame.at), static_cast<FailureKind>(kind),
                        {reinterpret_cast<const char*>(text.data()), frame.bytes});
      return true;
    }
  }
  return false;
}

void Carrier::Receive(Link* link) {
  Reader reader(link->socket);
  Frame frame;
  while (reader.Read(reinterpret_cast<std::byte*>(&frame), sizeof frame)) {
    if (Apply(frame, link, &reader)) continue;
    if (reader.over) break;
    FailLink(link->host,
             fmt::format("sent what does not fit the group ({}, {} bytes at {}); do all use the same "
                         "version of Belay?",
                         static_cast<uint32_t>(frame.kind), frame.bytes, frame.at));
    shutdown(link->socket.get(), SHUT_RDWR);
    return;
  }
  FailLink(link->host, "ended without destroying its communicator, or the connection to it broke");
}

// --- of this process

void Carrier::Start(Membership& membership, const std::string& name) {
  CarrierPlan plan;
  plan.shared = membership.board;
  plan.shared.memory = MapBoard(membership.memory, membership.board.bytes);
  plan.owned = true;
  plan.hosts = membership.hosts;
  plan.name = name;
  plan.places = membership.places;
  plan.secret = membership.root.secret;
  plan.group = membership.group;
  plan.deadline_ns = membership.deadline_ns;
  plan.listener = std::move(membership.listener);
  plan.memory = std::move(membership.memory);
  std::lock_guard guard(All().lock);
  All().all.remove_if([](const Carrier& carrier) { return carrier.ended(); });
  All().all.emplace_back(std::move(plan));
}

void Carrier::EndAll() noexcept {
  std::lock_guard guard(All().lock);
  const int64_t deadline = NowNs() + kEndNs;
  for (Carrier& carrier : All().all) carrier.Flush(deadline);
  All().all.clear();
}

}  // namespace belay::coll
