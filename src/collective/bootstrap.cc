#include "collective/bootstrap.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "base/hcclresult_codes.h"
#include "base/quiet_write.h"
#include "base/system_limit.h"
#include "collective/board.h"
#include "collective/carrier.h"
#include "collective/sockets.h"
#include "runtime/memory_sharing.h"
#include "runtime/process.h"

namespace belay::coll {
namespace {

// The meeting point says who is missing when the time is over; this long it is given to do so.
constexpr int64_t kGraceNs = int64_t{2} * 1'000'000'000;
constexpr int64_t kLookNs = int64_t{50} * 1'000'000;  // between looks whether aclFinalize was called

[[noreturn]] void FailGone(const RootInfo& root) {
  Fail(
      codes::kHcclETcpConnect, "root-gone",
      "nobody is at the meeting point of this root info: its process ({}) has ended, or the ranks have met already; "
      "get another by HcclGetRootInfo, in a process that stays",
      root.process);
}

}  // namespace

std::byte* MapBoard(const Descriptor& file, size_t bytes) {
  void* at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file.get(), 0);
  if (at == MAP_FAILED) {
    Fail(codes::kHcclEMemory, "collective-memory", "the system mapped no {} bytes that the ranks share ({})",
         bytes, ExplainRefusal(errno));
  }
  madvise(at, bytes, MADV_DONTFORK);
  return static_cast<std::byte*>(at);
}

Membership::~Membership() {
  if (board.memory != nullptr) munmap(board.memory, board.bytes);
}

Joining::Joining(const Meeting& meeting)
    : meeting_(meeting),
      deadline_ns_(NowNs() + meeting.timeout_ns),
      host_(meeting.host == Id{} ? ThisHost() : meeting.host),
      root_is_elsewhere_(meeting.root.host != host_),
      line_(Connect()) {
  Hello hello;
  hello.secret = meeting.root.secret;
  hello.group = meeting.group;
  hello.claim = meeting.claim;
  hello.host = host_;
  hello.rank = meeting.rank;
  hello.ranks = meeting.ranks;
  hello.process = getpid();
  hello.device = rt::NumberAmongAll(meeting.device);
  hello.staging_bytes = meeting.staging_bytes;
  hello.timeout_ns = meeting.timeout_ns;
  hello.way = meeting.way;
  hello.by_rank = meeting.by_rank ? 1 : 0;
  if (root_is_elsewhere_) PrepareToCarry(&hello.place);
  if (!Send(line_, Encode(hello))) FailGone(meeting.root);
}

// It may be the one that carries for its machine: nobody knows before all have come.
void Joining::PrepareToCarry(Place* place) {
  TuneTcp(line_);
  memory_ = Descriptor(memfd_create("belay-collective", MFD_CLOEXEC));
  if (!memory_) {
    Fail(codes::kHcclEMemory, "collective-memory", "the system gave no file of shared memory ({})",
         ExplainRefusal(errno));
  }
  listener_ = ListenForCarriers(OwnAddress(line_), place);
  place->file = memory_.get();
}

void Joining::CheckStillRunning() const {
  if (rt::Running()) return;
  Fail(codes::kHcclERuntime, "join-ended", "aclFinalize was called while rank {} waited for the others",
       meeting_.rank);
}

// With a rank table, rank 0 may be late.
void Joining::AwaitRoot() const {
  if (NowNs() >= deadline_ns_) {
    Fail(
        codes::kHcclETimeout, "root-late",
        "rank 0 did not come within {} s (HCCL_CONNECT_TIMEOUT); rank {} waited for it to open the meeting point of "
        "the rank table",
        meeting_.timeout_ns / 1'000'000'000, meeting_.rank);
  }
  CheckStillRunning();
  poll(nullptr, 0, 5);  // what is not there cannot be waited for
}

Descriptor Joining::ConnectElsewhere() const {
  const RootInfo& root = meeting_.root;
  for (;;) {
    for (const Address& address : root.addresses) {
      if (Descriptor made = ConnectTcp(address, root.port, deadline_ns_)) return made;
    }
    if (meeting_.root_comes_later && errno == ECONNREFUSED) {
      AwaitRoot();
      continue;
    }
    Fail(
        codes::kHcclETcpConnect, "root-unreachable",
        "no connection to the meeting point, which is on another machine, or in another network or process namespace: "
        "{} port {} ({}); HCCL_IF_IP and HCCL_SOCKET_IFNAME say there where it listens",
        root.addresses.empty() ? "no address" : TextOf(root.addresses[0]), root.port, ExplainRefusal(errno));
  }
}

Descriptor Joining::Connect() {
  const RootInfo& root = meeting_.root;
  if (root_is_elsewhere_) return ConnectElsewhere();
  for (;;) {
    Descriptor made = ConnectLocal(LocalNameOf(root.id));
    if (made && IsOurs(ProcessAt(made))) return made;
    if (made) errno = ECONNREFUSED;  // somebody else has taken the name
    if (errno != EAGAIN && !meeting_.root_comes_later) FailGone(root);
    AwaitRoot();
  }
}

// The next one from the meeting point.
Inbox::Message Joining::AwaitMessage(std::span<Descriptor> came) {
  Inbox inbox(kMostBodyBytes);
  const int32_t root = root_is_elsewhere_ ? 0 : meeting_.root.process;
  const Descriptor root_end = root == getpid() || root == 0 ? Descriptor() : WatchProcess(root);
  for (;;) {
    if (std::optional<Inbox::Message> message = inbox.Take()) return std::move(*message);
    std::array<std::byte, 4096> bytes;
    size_t count = 0;
    // What follows is for the communicator: another rank may have left already.
    const auto room = std::span(bytes).first(std::min(bytes.size(), inbox.Missing()));
    const Received received = Receive(line_, room, &count, came);
    if (received == Received::kBytes) {
      inbox.Append(std::span(bytes).first(count));
      continue;
    }
    std::array<pollfd, 2> files{{{line_.get(), POLLIN, 0}, {root_end.get(), POLLIN, 0}}};
    const bool ended =
        received == Received::kEnd || (poll(&files[1], 1, 0) > 0 && !AwaitReadable(line_, NowNs() + kLookNs));
    if (ended) {
      Fail(codes::kHcclERemote, "root-ended",
           "the process of the root info ({}) ended, or closed the connection, while the ranks met",
           meeting_.root.process);
    }
    if (NowNs() >= deadline_ns_ + kGraceNs) {
      Fail(codes::kHcclETimeout, "root-silent",
           "the process of the root info ({}) said nothing for {} s (HCCL_CONNECT_TIMEOUT); is it stopped?",
           meeting_.root.process, meeting_.timeout_ns / 1'000'000'000);
    }
    CheckStillRunning();
    poll(files.data(), files.size(), static_cast<int>(kLookNs / 1'000'000));
  }
}

std::unique_ptr<Membership> Joining::Finish() {
  std::array<Descriptor, 2> files;
  Inbox::Message message = AwaitMessage(files);
  if (message.kind == MessageKind::kRefused) {
    Refused refused = DecodeRefused(message.body);
    Fail(refused.code, "ranks-did-not-meet", "{}", refused.sentence);
  }
  return Enter(message, files);
}

namespace {

[[noreturn]] void FailUnfit(uint32_t ranks) {
  Fail(codes::kHcclETcpTransfer, "collective-wire",
       "what the meeting point sent does not fit a group of {} ranks; do all use the same version of Belay?",
       ranks);
}

bool HasBytes(const Descriptor& file, uint64_t bytes) {
  struct stat about {};
  return file && fstat(file.get(), &about) == 0 && static_cast<uint64_t>(about.st_size) >= bytes;
}

}  // namespace

std::unique_ptr<Membership> Joining::Enter(const Inbox::Message& message, std::span<Descriptor> files) {
  Welcomed who;
  const Welcome welcome =
      message.kind == MessageKind::kWelcome ? DecodeWelcome(message.body, &who) : Welcome{};
  if (welcome.ranks != meeting_.ranks || welcome.staging_bytes > meeting_.staging_bytes ||
      welcome.board_bytes != Board::Bytes(welcome.ranks, welcome.staging_bytes))
    FailUnfit(meeting_.ranks);
  auto made = std::make_unique<Membership>();
  made->root = meeting_.root;
  made->rank = meeting_.rank;
  made->root_rank = welcome.root;
  made->host = host_;
  made->root_is_here = !root_is_elsewhere_;
  made->whole = meeting_.whole;
  for (const WelcomePeer& peer : who.peers) made->peers.push_back({peer.process, peer.device});
  uint64_t bytes = welcome.board_bytes;
  Descriptor file = std::move(files[0]);
  if (welcome.hosts > 1 || root_is_elsewhere_) {
    EnterSeveral(welcome, std::move(who), files, made.get());
    if (welcome.hosts > 1) bytes += Outbox::Bytes(*made->hosts);
    if (!file) file = OpenMemory(*made);
    if (!HasBytes(file, bytes) && !SizeToMap(file.get(), bytes)) {
      Fail(codes::kHcclEMemory, "collective-memory", "the system gave no {} bytes of shared memory ({})",
           bytes, ExplainRefusal(errno));
    }
  }
  if (!HasBytes(file, bytes)) FailUnfit(meeting_.ranks);
  made->board = {MapBoard(file, bytes), bytes, welcome.staging_bytes};
  made->line = std::move(line_);
  if (made->hosts != nullptr && made->hosts->leaders[made->hosts->own] == made->rank)
    made->memory = std::move(file);
  if (welcome.hosts == 1) made->hosts.reset();  // all on this one, without the meeting point
  return made;
}

void Joining::EnterSeveral(const Welcome& welcome, Welcomed who, std::span<Descriptor> files,
                           Membership* made) {
  auto hosts = std::make_shared<Hosts>();
  hosts->own = welcome.own_host;
  for (const WelcomePeer& peer : who.peers) hosts->of.push_back(peer.host);
  for (const WelcomeHost& host : who.hosts) hosts->leaders.push_back(host.leader);
  hosts->kind = Way::Among(welcome.way, hosts->count());
  hosts->by_rank = welcome.by_rank != 0;
  if (hosts->of[meeting_.rank] != hosts->own) FailUnfit(meeting_.ranks);
  made->hosts = std::move(hosts);
  made->places = std::move(who.hosts);
  made->group = meeting_.group;
  made->timeout_ns = meeting_.timeout_ns;
  if (made->hosts->leaders[made->hosts->own] == meeting_.rank)
    made->listener = root_is_elsewhere_ ? std::move(listener_) : std::move(files[1]);
}

// On a machine without the meeting point: the leader's own, which the others open where they see its files.
Descriptor Joining::OpenMemory(const Membership& made) {
  const uint32_t own = made.hosts->own, leader = made.hosts->leaders[own];
  if (leader == meeting_.rank) return std::move(memory_);  // the others know its number
  const std::string path =
      fmt::format("/proc/{}/fd/{}", made.peers[leader].process, made.places[own].place.file);
  Descriptor file(open(path.c_str(), O_RDWR | O_CLOEXEC));
  if (file) return file;
  Fail(
      codes::kHcclERemote, "collective-memory-of-leader",
      "the memory of rank {} cannot be opened ({}, {}); the ranks of one machine are processes of one user, and "
      "stay until all have come",
      leader, path, ExplainRefusal(errno));
}

}  // namespace belay::coll
