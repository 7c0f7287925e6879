#include "collective/root.h"

#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <exception>
#include <optional>
#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "base/hcclresult_codes.h"
#include "base/quiet_write.h"
#include "base/system_limit.h"
#include "collective/board.h"
#include "collective/carrier.h"
#include "collective/sockets.h"

namespace belay::coll {
namespace {

constexpr int64_t kHelloNs = int64_t{10} * 1'000'000'000;  // for the hello of whoever connects
constexpr size_t kMostUnknown = 256;
constexpr Id kWorld{};

std::string ListOf(const std::vector<uint32_t>& ranks) {
  constexpr size_t kMostNamed = 16;
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (size_t i = 0; i < std::min(ranks.size(), kMostNamed); ++i)
    text += fmt::format("{}{}", i == 0 ? "" : ", ", ranks[i]);
  if (ranks.size() > kMostNamed) text += fmt::format(" and {} more", ranks.size() - kMostNamed);
  return text;
}

std::vector<uint32_t> Listed(const Claim& claim) {
  std::vector<uint32_t> ranks;
  for (uint32_t rank = 0; rank < kMostRanks; ++rank) {
    if (claim.Lists(rank)) ranks.push_back(rank);
  }
  return ranks;
}

// A file of memory for a board; none with the reason in errno.
Descriptor MakeMemory(size_t bytes) {
  Descriptor file(memfd_create("belay-collective", MFD_CLOEXEC));
  if (file && !SizeToMap(file.get(), bytes)) return {};
  return file;
}

}  // namespace

RootInfo Root::Start(std::shared_ptr<Root>* started) {
  RootInfo info;
  FillWithRandom(info.id);
  FillWithRandom(info.secret);
  info.host = ThisHost();
  info.process = getpid();
  Descriptor local = ListenLocal(LocalNameOf(info.id));
  Address address;
  Descriptor tcp = ListenTcp(&address, &info.port);
  info.addresses.push_back(address);
  auto root = std::make_shared<Root>(info, std::move(local), std::move(tcp));
  Watch::Get().Add(root);
  if (started != nullptr) *started = std::move(root);
  return info;
}

bool Root::StartAt(const RootInfo& known) {
  Descriptor local = ListenLocal(LocalNameOf(known.id));
  if (!local) return false;
  Descriptor tcp;
  if (!known.addresses.empty()) tcp = ListenTcpAt(known.addresses[0], known.port);
  Watch::Get().Add(std::make_shared<Root>(known, std::move(local), std::move(tcp)));
  return true;
}

Root::Root(const RootInfo& info, Descriptor local, Descriptor tcp)
    : info_(info), host_(info.host), local_(std::move(local)), tcp_(std::move(tcp)) {}

Root::~Root() = default;

void Root::Ask(Files* to) {
  to->push_back({HasRoom(true) ? local_.get() : -1, POLLIN, 0});
  to->push_back({HasRoom(false) ? tcp_.get() : -1, POLLIN, 0});  // poll passes over what is none
  for (const Guest& guest : guests_) {
    to->push_back({guest.socket.get(), POLLIN, 0});
    to->push_back({guest.process_end.get(), POLLIN, 0});
  }
}

bool Root::Look(std::span<const pollfd> came) {
  try {
    return LookAtAll(came);
  } catch (const std::bad_alloc&) {
    // What had begun has no memory to end, and nobody shall wait for it: all see their connections close.
    guests_.clear();
    groups_.clear();
    return false;
  }
}

bool Root::LookAtAll(std::span<const pollfd> came) {
  size_t at = 2;
  for (Guest& guest : guests_) {
    const bool spoke = came[at].revents != 0;
    const bool ended = came[at + 1].revents != 0;
    at += 2;
    if (spoke && !guest.gone) Hear(guest);  // first: it may have taken its leave
    if (ended && !guest.gone) Part(guest, EventKind::kEnded);
  }
  if (came[0].revents != 0) Accept(local_, true);
  if (came[1].revents != 0) Accept(tcp_, false);
  CheckTime();
  Sweep();
  return !used_ || !guests_.empty() || stays_until_ns_ != 0;
}

int64_t Root::deadline_ns() const {
  int64_t deadline = stays_until_ns_ == 0 ? INT64_MAX : stays_until_ns_;
  for (const Group& group : groups_) {
    if (!group.formed) deadline = std::min(deadline, group.deadline_ns);
  }
  for (const Guest& guest : guests_) {
    if (guest.group == nullptr) deadline = std::min(deadline, guest.since_ns + kHelloNs);
  }
  return deadline;
}

// Where many come at once the rest of them waits with the system.
bool Root::HasRoom(bool is_local) const {
  const auto unknown = std::count_if(guests_.begin(), guests_.end(), [is_local](const Guest& guest) {
    return guest.group == nullptr && guest.is_local == is_local;
  });
  return static_cast<size_t>(unknown) < kMostUnknown;
}

void Root::Accept(const Descriptor& listener, bool is_local) {
  while (HasRoom(is_local)) {
    Descriptor socket(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket) return;
    Guest& guest = guests_.emplace_back();
    guest.socket = std::move(socket);
    guest.is_local = is_local;
    if (!is_local) TuneTcp(guest.socket);
    guest.since_ns = NowNs();
  }
}

void Root::Hear(Guest& guest) {
  std::array<std::byte, 4096> bytes;
  size_t count = 0;
  switch (Receive(guest.socket, bytes, &count)) {
    case Received::kNothing:
      return;
    case Received::kEnd:
      return Part(guest, EventKind::kEnded);
    case Received::kBytes:
      break;
  }
  try {
    guest.inbox.Append(std::span(bytes).first(count));
    while (!guest.gone) {
      std::optional<Inbox::Message> message = guest.inbox.Take();
      if (!message) return;
      Obey(guest, *message);
    }
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception&) {  // no message of ours
    Part(guest, EventKind::kEnded);
  }
}

void Root::Obey(Guest& guest, const Inbox::Message& message) {
  if (guest.group == nullptr) {
    if (message.kind == MessageKind::kHello) return Admit(guest, DecodeHello(message.body));
    return Part(guest, EventKind::kEnded);
  }
  Part(guest, message.kind == MessageKind::kLeave ? EventKind::kLeft : EventKind::kEnded);
}

// Whether whoever says this hello is one of us at all. Strangers get no answer.
bool Root::MayCome(Guest& guest, const Hello& hello) {
  guest.process = hello.process;
  if (SameSecret(hello.secret, info_.secret) && guest.is_local) {
    const PeerProcess peer = ProcessAt(guest.socket);
    guest.process = peer.process;
    if (IsOurs(peer)) return true;
  } else if (SameSecret(hello.secret, info_.secret)) {
    return true;
  }
  guest.gone = true;
  return false;
}

void Root::Admit(Guest& guest, const Hello& hello) {
  if (!MayCome(guest, hello)) return;
  guest.rank = hello.rank;
  guest.device = hello.device;
  guest.claim = hello.claim;
  Group* group = GroupFor(guest, hello);
  if (group == nullptr) return;
  guest.host = guest.is_local ? host_ : hello.host;
  guest.place = hello.place;
  guest.way = static_cast<uint32_t>(hello.way) < kWayKinds ? hello.way : WayKind::kUnsaid;
  guest.by_rank = hello.by_rank;
  if (!guest.is_local && hello.host == host_) {
    std::string sentence = fmt::format(
        "rank {} (process {}) runs on the machine of the process of the root info ({}), but came over the network; "
        "was its root info changed, or BELAY_COLLECTIVE_HOST meanwhile?",
        hello.rank, hello.process, info_.process);
    Refuse(guest, codes::kHcclEPara, sentence);
    return RefuseAll(*group, codes::kHcclEPara, sentence);
  }
  if (Guest* other = group->members[hello.rank]; other != nullptr) {
    std::string sentence =
        fmt::format("rank {} came twice: from process {} and from process {}; each has one number",
                    hello.rank, other->process, guest.process);
    Refuse(guest, codes::kHcclEPara, sentence);
    return RefuseAll(*group, codes::kHcclEPara, sentence);
  }
  guest.group = group;
  guest.inbox.SetMost(0);  // of a leave
  guest.process_end =
      guest.process == getpid() || !guest.is_local ? Descriptor() : WatchProcess(guest.process);
  group->members[hello.rank] = &guest;
  if (ClaimsOtherwise(guest, *group)) return;
  const int64_t now = NowNs();
  const int64_t deadline = now + std::clamp<int64_t>(hello.timeout_ns, 0, int64_t{1} << 60);
  if (group->first_ns == 0) group->first_ns = now;
  if (group->deadline_ns == 0 || deadline < group->deadline_ns) {
    group->deadline_ns = deadline;
    group->patience_ns = hello.timeout_ns;
  }
  group->staging_bytes =
      std::min(group->staging_bytes == 0 ? hello.staging_bytes : group->staging_bytes, hello.staging_bytes);
  if (std::count(group->members.begin(), group->members.end(), nullptr) == 0) Form(*group);
}

// The group that meets under this key; null when the guest was refused.
Root::Group* Root::GroupFor(Guest& guest, const Hello& hello) {
  if (hello.ranks == 0 || hello.ranks > kMostRanks || hello.rank >= hello.ranks) {
    Refuse(
        guest, codes::kHcclEPara,
        fmt::format("rank {} of {}: ranks go from 0 to the number of ranks less one, and {} at most may meet",
                    hello.rank, hello.ranks, kMostRanks));
    return nullptr;
  }
  for (Group& group : groups_) {
    if (group.formed || group.key != hello.group) continue;
    if (group.ranks == hello.ranks) return &group;
    std::string sentence = fmt::format(
        "rank {} (process {}) says that there are {} ranks, those before it said {}; say the same on all",
        hello.rank, guest.process, hello.ranks, group.ranks);
    Refuse(guest, codes::kHcclEPara, sentence);
    RefuseAll(group, codes::kHcclEPara, sentence);
    return nullptr;
  }
  if (hello.group == kWorld && failure_.has_value()) {
    Refuse(guest, failure_->code, failure_->sentence);
    return nullptr;
  }
  if (hello.group == kWorld && used_) {
    Refuse(guest, codes::kHcclEPara,
           "the ranks of this root info have met already; one root info serves for one communicator, "
           "get another by HcclGetRootInfo");
    return nullptr;
  }
  if (HasFailedBefore(guest, hello)) return nullptr;
  std::list<Group> made(1);
  made.front().key = hello.group;
  made.front().ranks = hello.ranks;
  made.front().members.resize(hello.ranks);
  groups_.splice(groups_.end(), made);
  used_ = used_ || hello.group == kWorld;
  return &groups_.back();
}

// Two ranks that name each other for the same part, but not the same ranks, wait for each other for ever.
// Then nobody of either list meets.
bool Root::ClaimsOtherwise(const Guest& guest, Group& group) {
  if (group.key == kWorld) return false;
  for (Group& other : groups_) {
    if (other.formed || &other == &group) continue;
    const auto against = std::find_if(other.members.begin(), other.members.end(), [&](const Guest* member) {
      return member != nullptr && member->claim.part == guest.claim.part &&
             member->claim.Lists(guest.claim.rank) && guest.claim.Lists(member->claim.rank);
    });
    if (against == other.members.end()) continue;
    const Guest& one = **against;
    const std::string sentence = fmt::format(
        "rank {} of the communicator (process {}) makes this part of it with rankIds of {}, rank {} (process {}) "
        "with those of {}{}; say the same on all of its ranks",
        one.claim.rank, one.process, ListOf(Listed(one.claim)), guest.claim.rank, guest.process,
        ListOf(Listed(guest.claim)), one.claim.listed == guest.claim.listed ? ", in another order" : "");
    const uint64_t told[] = {one.claim.rank, guest.claim.rank};
    const Refused why{codes::kHcclEPara, sentence};
    KeepForTheLate(other, one.claim, why, told);
    KeepForTheLate(group, guest.claim, why, told);
    RefuseAll(other, why.code, sentence);
    RefuseAll(group, why.code, sentence);
    return true;
  }
  return false;
}

bool Root::HasFailedBefore(Guest& guest, const Hello& hello) {
  const auto failed = std::find_if(failed_parts_.begin(), failed_parts_.end(), [&](const FailedPart& part) {
    return part.key == hello.group && part.to_come.Lists(hello.claim.rank);
  });
  if (failed == failed_parts_.end()) return false;
  Refuse(guest, failed->why.code, failed->why.sentence);
  failed->to_come.Strike(hello.claim.rank);
  return true;
}

void Root::KeepForTheLate(const Group& group, const Claim& of_all, const Refused& why,
                          std::span<const uint64_t> told) {
  FailedPart part{group.key, of_all, why, NowNs() + std::max(group.patience_ns, kHelloNs)};
  for (const Guest* member : group.members) {
    if (member != nullptr) part.to_come.Strike(member->claim.rank);
  }
  for (const uint64_t rank : told) part.to_come.Strike(rank);
  if (!Listed(part.to_come).empty()) failed_parts_.push_back(std::move(part));
}

void Root::Form(Group& group) {
  group.formed = true;
  const bool elsewhere = std::any_of(group.members.begin(), group.members.end(),
                                     [](const Guest* member) { return !member->is_local; });
  if (group.key == kWorld && !elsewhere) tcp_.Close();  // parts of the group meet here, too
  Welcome(group);
}

// Hosts by their lowest ranks, but the meeting point's first: of two hosts the later one's carrier goes to
// the earlier one's, and who could come here can so go on to wherever this listens.
Welcomed Root::WhoAreThere(const Group& group) const {
  Welcomed who;
  std::vector<Id> hosts;
  for (const bool local : {true, false}) {
    for (const Guest* member : group.members) {
      if (member->is_local != local || std::find(hosts.begin(), hosts.end(), member->host) != hosts.end())
        continue;
      hosts.push_back(member->host);
      who.hosts.push_back({member->rank, member->place});
    }
  }
  for (const Guest* member : group.members) {
    const auto host = std::find(hosts.begin(), hosts.end(), member->host) - hosts.begin();
    who.peers.push_back({member->process, member->device, static_cast<uint32_t>(host)});
  }
  return who;
}

// For the carrier of this host, if there is one: where those of the others come, which is where their ranks
// came.
Descriptor Root::ListenFor(const Group& group, Welcomed* who) const {
  WelcomeHost& first = who->hosts[0];
  if (who->hosts.size() < 2 || !group.members[first.leader]->is_local) return {};
  return ListenForCarriers(info_.addresses.at(0), &first.place);
}

void Root::Welcome(Group& group) {
  coll::Welcome welcome{Board::Bytes(group.ranks, group.staging_bytes), group.staging_bytes, group.ranks,
                        group.ranks};
  Welcomed who = WhoAreThere(group);
  welcome.hosts = static_cast<uint32_t>(who.hosts.size());
  welcome.way = group.members[0]->way;
  welcome.by_rank = group.members[0]->by_rank;
  for (const Guest* member : group.members) {
    if (member->is_local && member->process == getpid()) welcome.root = std::min(welcome.root, member->rank);
  }
  Descriptor listener;
  try {
    listener = ListenFor(group, &who);
  } catch (const Error& error) {
    return RefuseAll(group, error.code(), std::string(error.sentence()));
  }
  Descriptor memory = MakeMemory(welcome.board_bytes);
  if (!memory) {
    return RefuseAll(group, codes::kHcclEMemory,
                     fmt::format("the system gave no {} bytes of shared memory for {} ranks ({})",
                                 welcome.board_bytes, group.ranks, ExplainRefusal(errno)));
  }
  const int files[] = {memory.get(), listener.get()};
  std::vector<Guest*> lost;
  for (Guest* member : group.members) {
    welcome.own_host = who.peers[member->rank].host;
    const bool carries = listener && member->rank == who.hosts[0].leader;
    const std::span<const int> given(files, member->is_local ? (carries ? 2 : 1) : 0);
    if (!Send(member->socket, Encode(welcome, who), given)) lost.push_back(member);
  }
  for (Guest* member : lost) Lose(*member);
}

// A guest leaves its group, or nobody knew it.
void Root::Part(Guest& guest, EventKind how) {
  guest.gone = true;
  Group* group = std::exchange(guest.group, nullptr);
  if (group == nullptr) return;
  group->members[guest.rank] = nullptr;
  if (!group->formed) {
    return RefuseAll(*group, codes::kHcclERemote,
                     fmt::format("rank {} (process {}) ended, or gave up, while the ranks met", guest.rank,
                                 guest.process));
  }
  const Bytes message = Encode(Event{how, guest.rank});
  std::vector<Guest*> lost;
  for (Guest* member : group->members) {
    if (member != nullptr && !Send(member->socket, message)) lost.push_back(member);
  }
  for (Guest* member : lost) {
    Lose(*member);
  }
}

// Nothing can be sent to it any more. It may have taken its leave before, which is no end of its process.
void Root::Lose(Guest& guest) {
  if (!guest.gone) Hear(guest);
  if (!guest.gone) Part(guest, EventKind::kEnded);
}

void Root::Refuse(Guest& guest, int code, const std::string& sentence) {
  Send(guest.socket, Encode(Refused{code, sentence}));
  guest.gone = true;
}

// The group will not meet.
void Root::RefuseAll(Group& group, int code, const std::string& sentence) {
  group.formed = true;
  if (group.key == kWorld && !failure_.has_value()) {
    failure_ = Refused{code, sentence};
    stays_until_ns_ = NowNs() + std::max(group.patience_ns, kHelloNs);
  }
  for (Guest*& member : group.members) {
    if (member == nullptr) continue;
    Refuse(*member, code, sentence);
    member->group = nullptr;
    member = nullptr;
  }
}

std::string Root::Missing(const Group& group) const {
  std::vector<uint32_t> missing;
  std::string here;
  for (uint32_t rank = 0; rank < group.ranks; ++rank) {
    const Guest* member = group.members[rank];
    if (member == nullptr) {
      missing.push_back(rank);
    } else if (here.size() < 200) {
      here += fmt::format("{}{} (process {})", here.empty() ? "" : ", ", rank, member->process);
    }
  }
  return fmt::format("{} of {} did not come within {} s (HCCL_CONNECT_TIMEOUT); here are {}", ListOf(missing),
                     group.ranks, group.patience_ns / 1'000'000'000, here);
}

void Root::CheckTime() {
  const int64_t now = NowNs();
  if (stays_until_ns_ <= now) stays_until_ns_ = 0;
  std::erase_if(failed_parts_, [now](const FailedPart& part) { return part.until_ns <= now; });
  for (Group& group : groups_) {
    if (!group.formed && group.deadline_ns <= now) RefuseAll(group, codes::kHcclETimeout, Missing(group));
  }
  for (Guest& guest : guests_) {
    if (guest.group == nullptr && guest.since_ns + kHelloNs <= now) guest.gone = true;
  }
}

void Root::Sweep() {
  guests_.remove_if([](const Guest& guest) { return guest.gone; });
  groups_.remove_if([](const Group& group) {
    return group.formed && std::count(group.members.begin(), group.members.end(), nullptr) == group.ranks;
  });
}

}  // namespace belay::coll
