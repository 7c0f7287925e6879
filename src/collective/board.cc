#include "collective/board.h"

#include <sched.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <utility>

#include "base/clock.h"
#include "base/codes.h"
#include "base/copy_memory.h"
#include "base/fork.h"
#include "base/futex.h"
#include "base/thread.h"
#include "runtime/engine.h"
#include "runtime/shared_cores.h"

namespace belay::coll {
namespace {

// Tells this process from every other one, also where process numbers mean different things to two of them.
struct ProcessNumber {
  uint64_t value = 0;
  ProcessNumber() {
    if (getrandom(&value, sizeof value, 0) != sizeof value) value = static_cast<uint64_t>(NowNs());
    value |= 1;
  }
};
uint64_t ThisProcess() { return PerProcess<ProcessNumber>::Get().value; }

constexpr size_t kHeavyBytes = size_t{16} << 10;

constexpr size_t RoundUp(size_t bytes) { return (bytes + 63) / 64 * 64; }

size_t HalfBytes(uint32_t ranks, size_t staging) {
  return RoundUp(std::max(staging / 2, size_t{256} * (ranks + 1)));
}
size_t AnnouncementBytes(uint32_t ranks) {
  return sizeof(Announcement) + RoundUp(size_t{3} * ranks * sizeof(uint64_t));
}
// Pages of channels that nobody uses are never touched.
size_t ChunkBytes(uint32_t ranks) {
  if (ranks <= 16) return size_t{128} << 10;
  return ranks <= 64 ? size_t{32} << 10 : size_t{8} << 10;
}

// Ranks that share the cores of this machine.
uint32_t RanksHere(const Hosts* hosts, uint32_t ranks) {
  return hosts == nullptr ? ranks : hosts->RanksOn(hosts->own);
}

// None where reductions go in the order of the ranks anyway.
std::unique_ptr<const Placement> PlacementOf(const Hosts* hosts) {
  if (hosts == nullptr || hosts->by_rank) return nullptr;
  auto placement = std::make_unique<const Placement>(hosts->of);
  return placement->IsOneEach() ? nullptr : std::move(placement);
}

int Cores() {
  cpu_set_t set;
  return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

// A card finds neither of the first two: there time is up.
Error ErrorOf(FailureKind kind, std::string sentence) {
  switch (kind) {
    case FailureKind::kMismatch:
      return Error(codes::kRtFftsPlusTimeout, "collective-mismatch", std::move(sentence));
    case FailureKind::kTimeout:
      return Error(codes::kRtFftsPlusTimeout, "collective-timeout", std::move(sentence));
    case FailureKind::kPeerEnded:
      return Error(codes::kRtIpcError, "collective-peer-ended", std::move(sentence));
    case FailureKind::kDropped:
      return Error(codes::kRtIpcError, "collective-dropped", std::move(sentence));
    default:
      return Error(codes::kRtIpcError, "collective-failed", std::move(sentence));
  }
}

}  // namespace

size_t Board::Bytes(uint32_t ranks, size_t staging_bytes_per_rank) {
  size_t pairs = size_t{ranks} * ranks;
  return sizeof(Header) + ranks * (sizeof(Bell) + sizeof(Counters) + 2 * AnnouncementBytes(ranks)) +
         pairs * (sizeof(Channel) + 2 * ChunkBytes(ranks)) +
         2 * ranks * HalfBytes(ranks, staging_bytes_per_rank) + 4096;
}

constinit std::atomic<uint64_t> Board::boards_{0};

Board::Board(std::byte* memory, uint32_t rank, uint32_t ranks, size_t staging_bytes_per_rank,
             std::string name, std::shared_ptr<const Hosts> hosts)
    : memory_(memory),
      rank_(rank),
      ranks_(ranks),
      name_(std::move(name)),
      hosts_(std::move(hosts)),
      placement_(PlacementOf(hosts_.get())),
      process_(ThisProcess()),
      announcement_bytes_(AnnouncementBytes(ranks)),
      half_bytes_(HalfBytes(ranks, staging_bytes_per_rank)),
      chunk_bytes_(ChunkBytes(ranks)),
      opener_(getpid()),
      crowded_(static_cast<int>(RanksHere(hosts_.get(), ranks)) > Cores()),
      turns_(new Turns[size_t{2} * ranks]),
      left_(new std::atomic<bool>[ranks]()) {
  std::byte* at = memory + sizeof(Header);
  auto take = [&](size_t bytes) { return std::exchange(at, at + bytes); };
  bells_ = reinterpret_cast<Bell*>(take(ranks * sizeof(Bell)));
  counters_ = reinterpret_cast<Counters*>(take(ranks * sizeof(Counters)));
  announcements_ = take(2 * ranks * announcement_bytes_);
  channels_ = reinterpret_cast<Channel*>(take(size_t{ranks} * ranks * sizeof(Channel)));
  at = memory + (static_cast<size_t>(at - memory) + 4095) / 4096 * 4096;
  staging_ = take(2 * ranks * half_bytes_);
  channel_staging_ = at;
  if (hosts_ != nullptr) {
    outbox_ = std::make_unique<Outbox>(memory + Bytes(ranks, staging_bytes_per_rank), *hosts_);
    unpushed_to_.reset(new std::atomic<bool>[hosts_->count()]());
  }
  if (rank == ranks) return;
  bell(rank).key.store(reinterpret_cast<uintptr_t>(key()), std::memory_order_relaxed);
  bell(rank).process.store(process_, std::memory_order_release);
}

void Board::PretendApart() {
  process_ += 2 * (rank_ + 1);
  bell(rank_).process.store(process_, std::memory_order_release);
}

Board::~Board() {
  if (opener_ != getpid()) return;  // a forked child
  if (shares_) rt::EndToShareCores();
  if (!listens_) return;
  stop_.store(true, std::memory_order_release);
  bell(rank_).rings.fetch_add(1, std::memory_order_release);
  FutexWakeShared(bell(rank_).rings);
  pthread_join(listener_, nullptr);
}

Announcement& Board::announcement(uint32_t rank, uint64_t number) const {
  return *reinterpret_cast<Announcement*>(announcements_ +
                                          (size_t{rank} * 2 + number % 2) * announcement_bytes_);
}

uint64_t* Board::counts(uint32_t rank, uint64_t number) const {
  return reinterpret_cast<uint64_t*>(&announcement(rank, number) + 1);
}

bool Board::IsHere(uint32_t rank) const {
  return bell(rank).process.load(std::memory_order_acquire) == process_;
}

bool Board::AllAreHere() const {
  for (uint32_t r = 0; r < ranks_; ++r) {
    if (!IsHere(r)) return false;
  }
  return true;
}

bool Board::ReadsPeers() const {
  if (hosts_ != nullptr || !reads_peers_.load(std::memory_order_relaxed)) return false;
  bool others = false;
  for (uint32_t r = 0; r < ranks_; ++r) {
    const uint64_t process = bell(r).process.load(std::memory_order_acquire);
    if (process == 0) return false;  // has not come yet
    others |= process != process_;
  }
  return others;
}

// Nobody waits for the lock: it is held for as long as a copy takes.
bool Board::ReadMessage(const rt::FilePlace& place, std::byte* to, size_t bytes) {
  const std::unique_lock guard(messages_lock_, std::try_to_lock);
  if (!guard) return false;
  messages_memory_.BeginCall();
  const std::byte* from = messages_memory_.Find(place, bytes);
  if (from == nullptr) {
    SetReadsPeers(false);  // nor will it next time
    return false;
  }
  CopyMemory(to, from, bytes);
  CountInPlace();
  return true;
}

void Board::EndTurn(Turns& turns, uint64_t number) {
  turns.ended.store(number, std::memory_order_seq_cst);
  if (turns.last.load(std::memory_order_seq_cst) != number) rt::TheEngine().Wrote(key());
}

// --- who waits for whom

// In one order with the look of BeginPark's caller at what it waits for.
void Board::Publish(std::atomic<uint64_t>& word, uint64_t value, uint32_t to) {
  word.store(value, std::memory_order_seq_cst);
  Tell(to);
  PutWord(word, value, to);
}

void Board::PublishToAll(std::atomic<uint64_t>& word, uint64_t value) {
  word.store(value, std::memory_order_seq_cst);
  for (uint32_t r = 0; r < ranks_; ++r) Tell(r);
  PutWord(word, value, ranks_);
}

void Board::PublishHere(std::atomic<uint64_t>& word, uint64_t value) {
  word.store(value, std::memory_order_seq_cst);
  TellAllHere();
}

void Board::Tell(uint32_t rank) {
  if (bell(rank).parked.load(std::memory_order_seq_cst) != 0) [[unlikely]]
    Ring(rank);
}

void Board::Ring(uint32_t rank) {
  Bell& to = bell(rank);
  if (IsHere(rank)) {
    rt::TheEngine().Wrote(reinterpret_cast<const void*>(to.key.load(std::memory_order_relaxed)));
  } else {
    to.rings.fetch_add(1, std::memory_order_release);
    FutexWakeShared(to.rings);
  }
}

void Board::BeginPark() {
  bell(rank_).parked.fetch_add(1, std::memory_order_seq_cst);
  if (!listens_.load(std::memory_order_acquire) && !AllAreHere()) Listen();
}

void Board::ShareCores() {
  if (!shares_.exchange(true)) rt::BeginToShareCores();
}

void Board::Listen() {
  std::lock_guard guard(lock_);
  if (listens_ || silent_) return;
  if (crowded_) ShareCores();
  if (StartThread(&listener_, "belay-coll", &Board::Listener, this)) {
    listens_.store(true, std::memory_order_release);
  } else {
    silent_.store(true);
  }
}

void* Board::Listener(void* self) {
  auto& board = *static_cast<Board*>(self);
  Bell& own = board.bell(board.rank_);
  for (;;) {
    uint32_t rings = own.rings.load(std::memory_order_acquire);  // before the look at what they announce
    if (board.stop_.load(std::memory_order_acquire)) return nullptr;
    rt::TheEngine().Wrote(board.key());
    FutexWaitShared(own.rings, rings);
  }
}

// --- failure

void Board::MarkFailed(uint32_t who, FailureKind kind, std::string_view why) noexcept {
  uint32_t none = 0;
  Header& shared = header();
  if (!shared.failed.compare_exchange_strong(none, Header::kClaimed)) return;
  shared.who.store(who);
  shared.kind.store(static_cast<uint32_t>(kind));
  size_t length = std::min(why.size(), sizeof shared.sentence - 1);
  if (length != 0) std::memcpy(shared.sentence, why.data(), length);
  shared.failed.store(Header::kComplete);
  for (uint32_t r = 0; r < ranks_; ++r) Tell(r);
  RingHosts();
}

void Board::MarkLeft(uint32_t rank) noexcept {
  left_[rank].store(true);
  anybody_left_.store(true);
  Tell(rank_);
}

void Board::SayGoodbye() noexcept {
  if (SaidGoodbye(rank_)) return;
  // First: once all ranks here have left, who carries sends what there is and no more.
  if (hosts_ != nullptr) Put({ParcelKind::kLeft, rank_, 0, 0}, ranks_);
  bell(rank_).left.store(1, std::memory_order_seq_cst);
  RingHosts();
}

uint32_t Board::failed_rank() const { return header().who.load(); }

Error Board::Failure() const {
  const Header& shared = header();
  // Who was killed while writing the sentence leaves it unfinished.
  int64_t patience = NowNs() + 200'000'000;
  while (shared.failed.load(std::memory_order_acquire) == Header::kClaimed && NowNs() < patience)
    sched_yield();
  if (shared.failed.load(std::memory_order_acquire) != Header::kComplete) {
    return ErrorOf(
        FailureKind::kOther,
        fmt::format("the ranks of communicator \"{}\" cannot go on: a rank ended while it told why", name_));
  }
  auto kind = static_cast<FailureKind>(shared.kind.load());
  std::string sentence(shared.sentence, strnlen(shared.sentence, sizeof shared.sentence));
  if (sentence.empty()) {
    sentence = shared.who < ranks_
                   ? fmt::format("rank {} of communicator \"{}\" has {}", shared.who.load(), name_,
                                 kind == FailureKind::kDropped ? "dropped a call" : "ended")
                   : fmt::format("communicator \"{}\" has failed", name_);
  }
  return ErrorOf(kind, std::move(sentence));
}

// --- other hosts

// A worker that spins without work would take a core from who carries.
void Board::SetCourier(std::shared_ptr<Courier> courier) {
  courier_ = std::move(courier);
  ShareCores();
}

void Board::PutFor(uint32_t host, const Parcel& parcel) noexcept {
  while (!outbox_->Put(rank_, host, parcel)) {  // more than can be under way is not put
    if (failed()) return;
    if (courier_ != nullptr) {
      courier_->Push(host);
    } else {
      outbox_->Ring(host);
    }
    sched_yield();
  }
}

void Board::Put(const Parcel& parcel, uint32_t to) noexcept {
  std::lock_guard guard(puts_);
  hosts_->way().ForEachNext(hosts_->own, hosts_->own, HostFor(to), [&](uint32_t next) {
    PutFor(next, parcel);
    unpushed_to_[next].store(true, std::memory_order_relaxed);
  });
}

void Board::RingHosts() noexcept {
  for (uint32_t host = 0; hosts_ != nullptr && host < hosts_->count(); ++host) outbox_->Ring(host);
}

// Who is there waits for it: much of it goes at once, so that both work, and little with what comes next.
void Board::Hurry(uint32_t to) noexcept {
  unpushed_.store(true, std::memory_order_release);
  if (courier_ != nullptr && heavy_.load(std::memory_order_relaxed) < kHeavyBytes) return;
  if (courier_ != nullptr) {
    Flush();
    return;
  }
  hosts_->way().ForEachNext(hosts_->own, hosts_->own, HostFor(to),
                            [&](uint32_t next) { outbox_->Ring(next); });
}

void Board::Flush() noexcept {
  if (courier_ == nullptr || !unpushed_.exchange(false, std::memory_order_acq_rel)) return;
  heavy_.store(0, std::memory_order_relaxed);
  for (uint32_t host = 0; host < hosts_->count(); ++host) {
    if (unpushed_to_[host].exchange(false, std::memory_order_relaxed)) courier_->Push(host);
  }
}

void Board::Share(const void* at, size_t bytes, uint32_t to) {
  if (hosts_ == nullptr || bytes == 0 || (to < ranks_ && !IsElsewhere(to))) return;
  const auto offset = static_cast<uint64_t>(static_cast<const std::byte*>(at) - memory_);
  Put({ParcelKind::kBytes, static_cast<uint32_t>(bytes), offset, HostFor(to)}, to);
  heavy_.fetch_add(bytes, std::memory_order_relaxed);
  bytes_shared_.fetch_add(to < ranks_ ? bytes : bytes * (hosts_->count() - 1), std::memory_order_relaxed);
}

void Board::ShareWord(const std::atomic<uint64_t>& word, uint64_t value, uint32_t to) {
  if (hosts_ == nullptr || (to < ranks_ && !IsElsewhere(to))) return;
  const auto offset = static_cast<uint64_t>(reinterpret_cast<const std::byte*>(&word) - memory_);
  Put({ParcelKind::kWord, HostFor(to), offset, value}, to);
}

void Board::PutWord(const std::atomic<uint64_t>& word, uint64_t value, uint32_t to) noexcept {
  if (hosts_ == nullptr || (to < ranks_ && !IsElsewhere(to))) return;
  ShareWord(word, value, to);
  Hurry(to);
}

void Board::TellAllHere() {
  for (uint32_t r = 0; r < ranks_; ++r) {
    if (!IsElsewhere(r)) Tell(r);
  }
}

void Board::Came(uint64_t word, uint64_t value) {
  reinterpret_cast<std::atomic<uint64_t>*>(memory_ + word)->store(value, std::memory_order_seq_cst);
  TellAllHere();
}

void Board::CameLeft(uint32_t rank) noexcept {
  bell(rank).left.store(1, std::memory_order_seq_cst);
  header().left_elsewhere.store(1, std::memory_order_seq_cst);
  TellAllHere();
  if (hosts_->kind != WayKind::kDirect) RingHosts();  // nothing may follow there
}

// Set here and looked at there, by each of the two, so that one of them sees the other's.
void Board::HeardLeft(uint32_t rank) noexcept {
  bell(rank).heard.store(1, std::memory_order_seq_cst);
  if (hosts_->kind != WayKind::kDirect) return;
  if (outbox_->link(hosts_->of[rank]) == Outbox::LinkState::kNone) CameLeft(rank);
}

void Board::EndLink(uint32_t host) noexcept {
  outbox_->SetLink(host, Outbox::LinkState::kNone);
  for (uint32_t rank = 0; rank < ranks_; ++rank) {
    if (hosts_->of[rank] == host && bell(rank).heard.load(std::memory_order_seq_cst) != 0) CameLeft(rank);
  }
}

// The rank that writes these bytes; ranks(): they are in no one piece.
uint32_t Board::OwnerOf(uint64_t at, uint64_t bytes) const {
  struct Piece {
    const void* begin;
    bool of_pairs;
    size_t size;
  };
  const Piece kinds[] = {{counters_, false, sizeof(Counters)},
                         {announcements_, false, 2 * announcement_bytes_},
                         {staging_, false, 2 * half_bytes_},
                         {channel_staging_, true, 2 * chunk_bytes_},
                         {channels_, true, sizeof(Channel)}};
  for (const Piece& kind : kinds) {
    const auto begin = static_cast<uint64_t>(static_cast<const std::byte*>(kind.begin) - memory_);
    const size_t pieces = kind.of_pairs ? size_t{ranks_} * ranks_ : ranks_;
    if (at < begin || at - begin >= pieces * kind.size) continue;
    const uint64_t number = (at - begin) / kind.size;
    const uint64_t from = (at - begin) % kind.size;
    if (bytes > kind.size - from) return ranks_;
    if (!kind.of_pairs) return static_cast<uint32_t>(number);
    const bool receivers = kind.begin == channels_ && from >= offsetof(Channel, receiver) &&
                           from + bytes <= offsetof(Channel, payload);
    if (kind.begin == channels_ && !receivers && from < offsetof(Channel, payload) &&
        from + bytes > offsetof(Channel, receiver))
      return ranks_;
    return static_cast<uint32_t>(receivers ? number % ranks_ : number / ranks_);
  }
  return ranks_;
}

uint32_t Board::HostOf(uint64_t at, uint64_t bytes) const {
  const uint32_t owner = OwnerOf(at, bytes);
  return owner < ranks_ ? hosts_->of[owner] : hosts_->count();
}

}  // namespace belay::coll
