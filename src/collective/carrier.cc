#include "collective/carrier.h"

#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <iterator>
#include <new>
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

constexpr size_t kMostSleptOn = 64;                         // hosts
constexpr int64_t kConnectNs = int64_t{3} * 1'000'000'000;  // between looks whether it is still wanted
constexpr int64_t kGreetingNs = int64_t{5} * 1'000'000'000;
constexpr int64_t kEndNs = int64_t{5} * 1'000'000'000;
constexpr int64_t kAwaitNs = int64_t{50} * 1'000'000;  // between such looks of who waits for the other side
constexpr std::array kAnswer{std::byte{1}};            // to the earlier of two hosts

int MillisecondsTo(int64_t deadline_ns) {
  return static_cast<int>(std::clamp<int64_t>((deadline_ns - NowNs()) / 1'000'000 + 1, 0, 1 << 30));
}

// Those of this process; a forked child has none.
struct Carriers {
  std::mutex lock;
  std::list<std::shared_ptr<Carrier>> all;
};
Carriers& All() { return PerProcess<Carriers>::Get(); }

}  // namespace

// All of it, or the time has come, or there is no more.
static bool ReceiveAll(const Descriptor& socket, std::span<std::byte> to, int64_t deadline_ns) {
  for (size_t count = 0; !to.empty();) {
    const Received received = Receive(socket, to, &count);
    if (received == Received::kEnd) return false;
    if (received == Received::kBytes) {
      to = to.subspan(count);
    } else if (NowNs() >= deadline_ns) {
      return false;
    } else {
      pollfd wait{socket.get(), POLLIN, 0};
      poll(&wait, 1, MillisecondsTo(deadline_ns));
    }
  }
  return true;
}

// --- threads

Carrier::Carrier(CarrierPlan plan, std::vector<Descriptor> connected)
    : plan_(std::move(plan)),
      hosts_(*plan_.hosts),
      board_(plan_.shared.memory, hosts_.ranks(), hosts_.ranks(), plan_.shared.staging_bytes_per_rank,
             plan_.name, plan_.hosts),
      maker_(getpid()),
      lingers_(hosts_.RanksOn(hosts_.own) == 1),
      hands_on_(hosts_.kind != WayKind::kDirect),
      passes_(hosts_) {
  const bool meets = connected.empty();
  for (uint32_t host = 0; host < hosts_.count(); ++host) {
    Link& link = links_.emplace_back();
    link.host = host;
    if (meets || !connected[host]) continue;
    link.begun = true;
    link.socket = std::move(connected[host]);
  }
  try {
    for (Link& link : links_) {
      if (link.host == hosts_.own) link.has_sent = true;
      if (link.begun) Run(&Carrier::Meet, &link);
    }
    if (meets) Run(&Carrier::AcceptAll, nullptr);
    if (meets) Run(&Carrier::MeetWanted, nullptr);
  } catch (...) {
    End();
    throw;
  }
}

Carrier::~Carrier() {
  if (maker_ != getpid()) return;  // a forked child, which has neither its threads nor the memory
  End();
  for (Link& link : links_) link.transport.reset();  // which may still write to the board
  if (plan_.owned) munmap(plan_.shared.memory, plan_.shared.bytes);
}

void Carrier::End() noexcept {
  stop_.store(true);
  came_.notify_all();
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
      for (const Link& link : links_)
        done &=
            !link.begun || (link.has_sent && (link.transport == nullptr || link.transport->AllWasTaken()));
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
  if (stop_ || board_.failed() || AllLeftOver(host, hosts_.own)) return;
  const uint32_t leader = hosts_.leaders[host];
  board_.MarkFailed(
      leader, FailureKind::kPeerEnded,
      fmt::format("rank {} of communicator \"{}\", on another machine, {}", leader, plan_.name, why));
}

// Ranks here may still want a host without a connection, or be wanted by one.
bool Carrier::MayBeWanted() const {
  if (stop_ || (!hands_on_ && AllLeft(hosts_.own))) return false;
  return !board_.failed() || !board_.SaidGoodbye(hosts_.leaders[hosts_.own]);
}

// True when all have been met. Who waits for ranks here that have failed is told so when it comes. Hosts that
// hand on for others are met at once, by the later one.
bool Carrier::MeetAllWanted() {
  bool all = true;
  for (Link& link : links_) {
    if (link.host == hosts_.own || !hosts_.way().AreNeighbours(hosts_.own, link.host)) continue;
    {
      std::lock_guard guard(lock_);
      all &= bool(link.socket);
      if (link.begun || board_.failed()) continue;
      if (hands_on_ ? link.host > hosts_.own : !board_.outbox().Wants(link.host)) continue;
      link.begun = true;
    }
    Run(link.host < hosts_.own ? &Carrier::Reach : &Carrier::Invite, &link);
  }
  return all;
}

void Carrier::MeetWanted(Link*) {
  for (;;) {
    const uint32_t rings = board_.outbox().Rings(hosts_.own);
    if (!MayBeWanted() || MeetAllWanted()) break;
    board_.outbox().Sleep(hosts_.own, rings);
  }
  std::lock_guard guard(lock_);
  closed_ = true;
  shutdown(plan_.listener.get(), SHUT_RDWR);
}

void Carrier::AcceptAll(Link*) {
  for (;;) {
    pollfd wait{plan_.listener.get(), POLLIN, 0};
    poll(&wait, 1, -1);
    {
      std::lock_guard guard(lock_);
      if (closed_ || stop_) return;
    }
    Descriptor socket(accept4(plan_.listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket) poll(nullptr, 0, 1);  // there may be no descriptor left
    if (socket) Accept(std::move(socket));
  }
}

// Who comes has to show the secret before anything else is looked at.
void Carrier::Accept(Descriptor socket) {
  std::array<std::byte, kLinkHelloBytes> bytes;
  if (!ReceiveAll(socket, bytes, NowNs() + kGreetingNs)) return;  // and nothing of what follows
  Inbox inbox(sizeof(LinkHello));
  inbox.Append(bytes);
  std::optional<Inbox::Message> message;
  LinkHello hello;
  try {
    message = inbox.Take();
    if (!message || message->kind != MessageKind::kLink) return;
    hello = DecodeLinkHello(message->body);
  } catch (const Error&) {
    return;
  }
  if (!SameSecret(hello.secret, plan_.secret) || hello.group != plan_.group) return;
  if (hello.host != hosts_.own && hello.host < hosts_.count()) Welcome(hello, std::move(socket));
}

void Carrier::Welcome(const LinkHello& hello, Descriptor socket) {
  Link& link = *std::next(links_.begin(), hello.host);
  const bool invites = hello.host < hosts_.own;
  {
    std::lock_guard guard(lock_);
    if (link.socket || stop_ || (invites && link.begun)) return;
    link.begun = true;
    link.socket = std::move(socket);
  }
  came_.notify_all();
  if (invites) coll::Send(link.socket, kAnswer);
  if (hello.engine == plan_.engine->number()) return Run(&Carrier::Meet, &link);
  link.has_sent = true;
  Refuse(
      &link,
      fmt::format("rank {} and rank {} of communicator \"{}\" go between machines by different "
                  "engines, of which one is {}: BELAY_COLLECTIVE_ENGINE has to be the same for both",
                  hosts_.leaders[hosts_.own], hosts_.leaders[hello.host], plan_.name, plan_.engine->name()));
}

// None with the reason in errno.
Descriptor Carrier::Connect(uint32_t host, int64_t deadline_ns) {
  const Place& place = plan_.places[host].place;
  const Address address{place.is_v6 != 0, place.address};
  Descriptor socket;
  while (!socket && !stop_ && !board_.failed() && NowNs() < deadline_ns) {
    socket = ConnectTcp(address, place.port, std::min(deadline_ns, NowNs() + kConnectNs));
    if (!socket && errno != ETIMEDOUT) break;
  }
  const LinkHello hello{plan_.secret, plan_.group, hosts_.own, plan_.engine->number()};
  if (!socket) return socket;
  Link& link = *std::next(links_.begin(), host);
  {
    std::lock_guard guard(lock_);  // the other may have come meanwhile
    if (!link.socket) board_.outbox().SetLink(host, Outbox::LinkState::kBegins);
  }
  if (!coll::Send(socket, Encode(hello))) {
    socket.Close();
    std::lock_guard guard(lock_);
    if (!link.socket) board_.EndLink(host);
  }
  return socket;
}

std::string Carrier::CannotReach(uint32_t host, int error) const {
  const Place& place = plan_.places[host].place;
  return fmt::format(
      "cannot be reached at {} port {} ({}); HCCL_IF_IP and HCCL_SOCKET_IFNAME say there where it listens",
      TextOf({place.is_v6 != 0, place.address}), place.port, ExplainRefusal(error));
}

// The later host of the two.
void Carrier::Reach(Link* link) {
  Descriptor made = Connect(link->host, NowNs() + plan_.timeout_ns);
  if (!made) {
    FailLink(link->host, CannotReach(link->host, errno));
    link->has_sent = true;
    return;
  }
  {
    std::lock_guard guard(lock_);
    link->socket = std::move(made);
  }
  Meet(link);
}

bool Carrier::AwaitAnswer(const Descriptor& socket, int64_t deadline_ns) const {
  std::array<std::byte, kAnswer.size()> answer;
  size_t count = 0;
  while (!stop_ && !board_.failed() && NowNs() < deadline_ns) {
    if (AwaitReadable(socket, NowNs() + kAwaitNs))
      return coll::Receive(socket, answer, &count) == Received::kBytes && answer == kAnswer;
  }
  return false;
}

// The earlier one. Where it gets no answer the other comes, or cannot be reached from here but can reach
// this.
void Carrier::Invite(Link* link) {
  const int64_t deadline_ns = NowNs() + plan_.timeout_ns;
  Descriptor made = Connect(link->host, deadline_ns);
  const int error = errno;
  const bool answers = made && AwaitAnswer(made, deadline_ns);
  std::unique_lock guard(lock_);
  if (answers && !link->socket) {
    link->socket = std::move(made);
    guard.unlock();
    return Meet(link);
  }
  if (!link->socket) board_.EndLink(link->host);
  while (!link->socket && !stop_ && !board_.failed() && NowNs() < deadline_ns)
    came_.wait_for(guard, std::chrono::nanoseconds(kAwaitNs));
  if (link->socket) return;
  guard.unlock();
  FailLink(link->host, made ? "did not answer within HCCL_CONNECT_TIMEOUT" : CannotReach(link->host, error));
  link->has_sent = true;
}

// Here and there.
void Carrier::Refuse(Link* link, const std::string& sentence) {
  const uint32_t rank = hosts_.leaders[link->host];
  if (!stop_) board_.MarkFailed(rank, FailureKind::kOther, sentence);
  const auto bytes = static_cast<uint32_t>(std::min(sentence.size(), kMostFailure));
  const Frame frame{FrameKind::kFailed, bytes, hosts_.leaders[hosts_.own],
                    static_cast<uint64_t>(FailureKind::kOther)};
  if (coll::Send(link->socket, std::as_bytes(std::span(&frame, 1))))
    coll::Send(link->socket, std::as_bytes(std::span(sentence)).first(bytes));
  shutdown(link->socket.get(), SHUT_WR);
}

// What engines tell each other over the socket, before anything else goes over it.
bool Carrier::Exchange(Link* link, Transport* transport) {
  const std::span<const std::byte> own = transport->address();
  if (own.empty()) return true;
  Frame frame{FrameKind::kAddress, static_cast<uint32_t>(own.size()), 0, 0};
  if (coll::Send(link->socket, std::as_bytes(std::span(&frame, 1)))) coll::Send(link->socket, own);
  // Whoever did not take that may have said why.
  const int64_t deadline_ns = NowNs() + plan_.timeout_ns;
  bool got = ReceiveAll(link->socket, std::as_writable_bytes(std::span(&frame, 1)), deadline_ns);
  const size_t most = frame.kind == FrameKind::kFailed ? kMostFailure : kMostAddress;
  std::vector<std::byte> other(got ? std::min<size_t>(frame.bytes, most) : 0);
  got = got && ReceiveAll(link->socket, other, deadline_ns);
  std::string why = "the address of the other side did not come";
  if (got && frame.kind == FrameKind::kFailed && frame.at <= hosts_.ranks()) {
    board_.MarkFailed(static_cast<uint32_t>(frame.at), FailureKind::kOther,
                      {reinterpret_cast<const char*>(other.data()), other.size()});
    return false;
  }
  if (got && frame.kind == FrameKind::kAddress && frame.bytes == other.size() &&
      transport->Connect(other, &why))
    return true;
  if (!stop_ && !board_.failed()) {
    Refuse(link,
           fmt::format("rank {} of communicator \"{}\", on another machine, cannot be reached by {} ({})",
                       hosts_.leaders[link->host], plan_.name, plan_.engine->name(), why));
  }
  return false;
}

// The transport of a link, when its socket is there.
bool Carrier::Open(Link* link) {
  std::string why = "there is no memory";
  std::unique_ptr<Transport> made = plan_.engine->Open(link->socket.get(), &why);
  if (made == nullptr) {
    Refuse(link, fmt::format("rank {} of communicator \"{}\" cannot go between machines: {}",
                             hosts_.leaders[hosts_.own], plan_.name, why));
    return false;
  }
  if (!Exchange(link, made.get())) return false;
  std::lock_guard guard(lock_);
  link->transport = std::move(made);
  return true;
}

// Both directions have a thread each, so that neither holds up the other.
void Carrier::Meet(Link* link) {
  TuneTcp(link->socket);
  board_.outbox().Ring(hosts_.own);  // one less to be met
  if (stop_ || !Open(link)) {
    board_.EndLink(link->host);
    link->has_sent = true;
    return;
  }
  link->PrepareToWait();
  link->ready.store(true, std::memory_order_release);
  board_.outbox().SetLink(link->host, Outbox::LinkState::kLinked);
  Run(&Carrier::Send, link);
  Receive(link);
}

// Of those whose messages to `to` come there by `by`.
bool Carrier::AllLeftOver(uint32_t by, uint32_t to) const {
  if (!AllLeft(by)) return false;
  for (uint32_t host = 0; hands_on_ && host < hosts_.count(); ++host) {
    if (host != to && hosts_.way().Before(host, to) == by && !AllLeft(host)) return false;
  }
  return true;
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
  std::lock_guard guard(link->send_lock);
  const Outgoing::Result result = link->out.Send(board_, hosts_, passes_, link->host, *link->transport, any);
  link->unsent.store(result == Outgoing::Result::kBlocked, std::memory_order_seq_cst);
  return result != Outgoing::Result::kBroken;
}

// After what a rank may have begun to send.
void Carrier::SendFailure(Link* link) {
  const Error error = board_.Failure();
  const std::string sentence = error.sentence().substr(0, kMostFailure);
  const Frame frame{FrameKind::kFailed, static_cast<uint32_t>(sentence.size()), board_.failed_rank(),
                    static_cast<uint64_t>(board_.failure_kind())};
  SendLast(link, frame, sentence);
}

void Carrier::SendLast(Link* link, const Frame& frame, const std::string& text) {
  for (bool put = false, any = false;;) {
    {
      std::lock_guard guard(link->send_lock);
      if (!put) put = link->out.Put(frame, text);
    }
    if (!SendSome(link, &any)) return;
    if (link->unsent.load(std::memory_order_seq_cst)) {
      link->transport->AwaitRoom();
    } else if (put) {
      return;
    }
  }
}

void Carrier::Send(Link* link) {
  for (;;) {
    const uint32_t rings = board_.outbox().Rings(link->host);
    // Goodbyes come last in their lanes.
    const bool last = stop_ || board_.failed() || AllLeftOver(hosts_.own, link->host);
    bool any = false;
    if (!SendSome(link, &any)) break;
    if (link->unsent.load(std::memory_order_seq_cst)) {
      AwaitRoom(link, rings);
      continue;
    }
    if (any) continue;
    if (board_.failed()) {
      SendFailure(link);
    } else if (last && !stop_) {
      SendLast(link, {FrameKind::kLast, 0, 0, 0}, {});
    }
    if (last) break;
    board_.outbox().Sleep(link->host, rings);
  }
  std::lock_guard guard(link->send_lock);
  link->transport->EndSending();
  link->closed = true;
  link->has_sent = true;
}

// A rank that looks sends on, and rings when it no longer looks.
void Carrier::AwaitRoom(Link* link, uint32_t rings) {
  if (lookers_.load(std::memory_order_seq_cst) > 0 && !stop_ && !board_.failed()) {
    board_.outbox().Sleep(link->host, rings);
    return;
  }
  link->transport->AwaitRoom();
}

// --- and back

void Carrier::SendPasses() noexcept {
  for (uint32_t host = 0; hands_on_ && host < hosts_.count(); ++host) {
    if (passes_.Has(host)) Push(host);
  }
}

// Under its lock. False when there is nothing, or nothing any more.
bool Carrier::ReceiveSome(Link* link) {
  switch (link->in.Receive(board_, hosts_, passes_, link->host, *link->transport)) {
    case Incoming::Result::kSome:
      SendPasses();
      return true;
    case Incoming::Result::kNothing:
      return false;
    case Incoming::Result::kEnd:
      if (link->in.has_ended()) break;
      if (!hands_on_) board_.EndLink(link->host);
      FailLink(link->host, "ended without destroying its communicator, or the connection to it broke");
      break;
    case Incoming::Result::kStrange: {
      const Frame& frame = link->in.strange();
      FailLink(link->host,
               fmt::format("sent what does not fit the group ({}, {} bytes at {}); do all use the same "
                           "version of Belay?",
                           static_cast<uint32_t>(frame.kind), frame.bytes, frame.at));
      shutdown(link->socket.get(), SHUT_RDWR);
      break;
    }
  }
  link->over = true;
  return false;
}

// As long as no rank does.
void Carrier::Receive(Link* link) {
  for (;;) {
    {
      std::lock_guard guard(link->receive_lock);
      while (!link->over && ReceiveSome(link) && lookers_.load(std::memory_order_relaxed) == 0) {
      }
      if (link->over) return;
    }
    if (link->AwaitTimer()) Tick(link);
  }
}

// --- by a rank of this process

void Carrier::Tick(Link* link) {
  std::lock_guard guard(look_lock_);
  if (link->armed) return;
  if (lookers_ == 0 && link->seen == looks_) {
    link->Arm();
  } else {
    link->seen = looks_;
    link->SetTimer();
  }
}

void Carrier::BeginLooking() noexcept {
  std::lock_guard guard(look_lock_);
  ++looks_;
  if (lookers_++ > 0) return;
  for (Link& link : links_) {
    if (!link.ready.load(std::memory_order_acquire) || !link.armed) continue;
    link.Disarm();
    link.seen = looks_;
    if (lingers_) link.SetTimer();
  }
}

void Carrier::EndLooking(bool somebody_waits) noexcept {
  {
    std::lock_guard guard(look_lock_);
    if (--lookers_ > 0) return;
    for (Link& link : links_) {
      if (link.ready.load(std::memory_order_acquire) && !link.armed && (somebody_waits || !lingers_))
        link.Arm();
    }
  }
  for (const Link& link : links_) {
    if (link.unsent.load(std::memory_order_seq_cst)) board_.outbox().Ring(link.host);
  }
}

bool Carrier::Push(uint32_t host) noexcept {
  Link& link = *std::next(links_.begin(), host);
  bool any = false;
  std::unique_lock guard(link.send_lock, std::defer_lock);
  if (link.ready.load(std::memory_order_acquire) && guard.try_lock() && !link.closed) {
    const Outgoing::Result result = link.out.Send(board_, hosts_, passes_, host, *link.transport, &any);
    link.unsent.store(result == Outgoing::Result::kBlocked, std::memory_order_seq_cst);
    if (result == Outgoing::Result::kAll) return any;
    if (result == Outgoing::Result::kBlocked && lookers_.load(std::memory_order_seq_cst) > 0) return any;
  }
  board_.outbox().Ring(host);
  return any;
}

bool Carrier::Look() noexcept {
  bool any = false;
  for (Link& link : links_) {
    if (!link.ready.load(std::memory_order_acquire)) continue;
    if (std::unique_lock guard(link.receive_lock, std::try_to_lock); guard && !link.over) {
      try {
        any |= ReceiveSome(&link);
      } catch (const std::bad_alloc&) {  // for words
        link.over = true;
        board_.MarkFailed(hosts_.leaders[link.host], FailureKind::kOther);
      }
      if (link.over) Wake(&link);
    }
    if (link.unsent.load(std::memory_order_relaxed)) any |= Push(link.host);
  }
  return any;
}

bool Carrier::Sleep(int64_t ns) noexcept {
  std::array<pollfd, kMostSleptOn> sockets;
  if (!lingers_) return false;
  size_t count = 0;
  for (const Link& link : links_) {
    if (!link.ready.load(std::memory_order_acquire)) continue;
    if (count == sockets.size()) return false;
    const bool unsent = link.unsent.load(std::memory_order_relaxed);
    link.transport->Arm();
    sockets[count++] = {link.transport->descriptor(),
                        static_cast<int16_t>(unsent ? POLLIN | POLLOUT : POLLIN), 0};
  }
  const timespec time{0, ns};
  ppoll(sockets.data(), count, &time, nullptr);
  return true;
}

// Its receiver, to end.
void Carrier::Wake(Link* link) {
  std::lock_guard guard(look_lock_);
  link->Arm();
}

// --- of this process

std::shared_ptr<Carrier> Carrier::Start(Membership& membership, const std::string& name) {
  CarrierPlan plan;
  plan.shared = membership.board;
  plan.shared.memory = MapBoard(membership.memory, membership.board.bytes);
  plan.owned = true;
  plan.hosts = membership.hosts;
  plan.name = name;
  plan.places = membership.places;
  plan.secret = membership.root.secret;
  plan.group = membership.group;
  plan.timeout_ns = membership.timeout_ns;
  plan.listener = std::move(membership.listener);
  plan.memory = std::move(membership.memory);
  plan.engine = &EngineOfEnvironment();
  std::lock_guard guard(All().lock);
  All().all.remove_if([](const auto& carrier) { return carrier->ended(); });
  return All().all.emplace_back(std::make_shared<Carrier>(std::move(plan)));
}

void Carrier::EndAll() noexcept {
  std::lock_guard guard(All().lock);
  const int64_t deadline = NowNs() + kEndNs;
  for (const auto& carrier : All().all) {
    carrier->Flush(deadline);
    carrier->End();  // a board may still hold it
  }
  All().all.clear();
}

}  // namespace belay::coll
