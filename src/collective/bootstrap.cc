#include "collective/bootstrap.h"

#include <poll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <span>
#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "base/hcclresult_codes.h"
#include "base/system_limit.h"
#include "collective/board.h"
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

std::byte* Map(int file, size_t bytes) {
  void* at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file, 0);
  if (at == MAP_FAILED) {
    Fail(codes::kHcclEMemory, "collective-memory", "the system mapped no {} bytes that the ranks share ({})",
         bytes, ExplainRefusal(errno));
  }
  madvise(at, bytes, MADV_DONTFORK);
  return static_cast<std::byte*>(at);
}

}  // namespace

Membership::~Membership() {
  if (board.memory != nullptr) munmap(board.memory, board.bytes);
}

Joining::Joining(const Meeting& meeting)
    : meeting_(meeting), deadline_ns_(NowNs() + meeting.timeout_ns), line_(Connect()) {
  Hello hello;
  hello.secret = meeting.root.secret;
  hello.group = meeting.group;
  hello.host = ThisHost();
  hello.rank = meeting.rank;
  hello.ranks = meeting.ranks;
  hello.process = getpid();
  hello.device = rt::NumberAmongAll(meeting.device);
  hello.staging_bytes = meeting.staging_bytes;
  hello.timeout_ns = meeting.timeout_ns;
  if (!Send(line_, Encode(hello))) FailGone(meeting.root);
}

void Joining::CheckStillRunning() const {
  if (rt::Running()) return;
  Fail(codes::kHcclERuntime, "join-ended", "aclFinalize was called while rank {} waited for the others",
       meeting_.rank);
}

Descriptor Joining::Connect() {
  const RootInfo& root = meeting_.root;
  if (root.host != ThisHost()) {
    for (const Address& address : root.addresses) {
      if (Descriptor made = ConnectTcp(address, root.port, deadline_ns_)) return made;
    }
    Fail(
        codes::kHcclETcpConnect, "root-unreachable",
        "no connection to the meeting point, which is on another machine, or in another network or process namespace: "
        "{} port {} ({}); HCCL_IF_IP and HCCL_SOCKET_IFNAME say there where it listens",
        root.addresses.empty() ? "no address" : TextOf(root.addresses[0]), root.port, ExplainRefusal(errno));
  }
  for (;;) {
    Descriptor made = ConnectLocal(LocalNameOf(root.id));
    if (made && IsOurs(ProcessAt(made))) return made;
    if (made) errno = ECONNREFUSED;  // somebody else has taken the name
    if (errno != EAGAIN && !meeting_.root_comes_later) FailGone(root);
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
}

// The next one from the meeting point.
Inbox::Message Joining::AwaitMessage(Descriptor* file) {
  Inbox inbox(kMostBodyBytes);
  const Descriptor root_end = meeting_.root.process == getpid() || meeting_.root.process == 0
                                  ? Descriptor()
                                  : WatchProcess(meeting_.root.process);
  for (;;) {
    if (std::optional<Inbox::Message> message = inbox.Take()) return std::move(*message);
    std::array<std::byte, 4096> bytes;
    size_t count = 0;
    const Received received = Receive(line_, bytes, &count, file);
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
  Descriptor file;
  Inbox::Message message = AwaitMessage(&file);
  if (message.kind == MessageKind::kRefused) {
    Refused refused = DecodeRefused(message.body);
    Fail(refused.code, "ranks-did-not-meet", "{}", refused.sentence);
  }
  return Enter(message, file);
}

std::unique_ptr<Membership> Joining::Enter(const Inbox::Message& message, const Descriptor& file) {
  std::vector<WelcomePeer> peers;
  const Welcome welcome =
      message.kind == MessageKind::kWelcome ? DecodeWelcome(message.body, &peers) : Welcome{};
  struct stat about {};
  const bool fits =
      welcome.ranks == meeting_.ranks && file && welcome.staging_bytes <= meeting_.staging_bytes &&
      welcome.board_bytes == Board::Bytes(welcome.ranks, welcome.staging_bytes) &&
      fstat(file.get(), &about) == 0 && static_cast<uint64_t>(about.st_size) >= welcome.board_bytes;
  if (!fits) {
    Fail(
        codes::kHcclETcpTransfer, "collective-wire",
        "what the meeting point sent does not fit a group of {} ranks; do all use the same version of Belay?",
        meeting_.ranks);
  }
  auto made = std::make_unique<Membership>();
  made->root = meeting_.root;
  made->rank = meeting_.rank;
  made->root_rank = welcome.root;
  for (const WelcomePeer& peer : peers) made->peers.push_back({peer.process, peer.device});
  made->board = {Map(file.get(), welcome.board_bytes), welcome.board_bytes, welcome.staging_bytes};
  made->line = std::move(line_);
  return made;
}

}  // namespace belay::coll
