#include "collective/link.h"

#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "base/hcclresult_codes.h"
#include "base/system_limit.h"
#include "collective/board.h"

namespace belay::coll {
namespace {

constexpr int64_t kTickNs = 1'000'000;

// The kinds of parcels are the first ones of frames, in the same order.
constexpr FrameKind FrameOf(ParcelKind kind) {
  return static_cast<FrameKind>(static_cast<uint32_t>(kind) + static_cast<uint32_t>(FrameKind::kBytes));
}
constexpr ParcelKind ParcelOf(FrameKind kind) {
  return static_cast<ParcelKind>(static_cast<uint32_t>(kind) - static_cast<uint32_t>(FrameKind::kBytes));
}
static_assert(FrameOf(ParcelKind::kBytes) == FrameKind::kBytes &&
              FrameOf(ParcelKind::kWord) == FrameKind::kWord &&
              FrameOf(ParcelKind::kLeft) == FrameKind::kLeft &&
              ParcelOf(FrameKind::kLeft) == ParcelKind::kLeft);

// What there is of the parts goes, as far as the connection takes it: `begin` becomes the first that has not
// gone.
Outgoing::Result SendParts(Transport& over, iovec* parts, size_t* begin, size_t end, bool* any) {
  while (*begin < end) {
    size_t sent = 0;
    const Transport::Result result = over.Send(parts + *begin, end - *begin, &sent);
    if (result == Transport::Result::kNothing) return Outgoing::Result::kBlocked;
    if (result == Transport::Result::kEnd) return Outgoing::Result::kBroken;
    *any |= sent > 0;
    for (; *begin < end && sent >= parts[*begin].iov_len; ++*begin) sent -= parts[*begin].iov_len;
    if (*begin == end) break;
    parts[*begin].iov_base = static_cast<std::byte*>(parts[*begin].iov_base) + sent;
    parts[*begin].iov_len -= sent;
  }
  return Outgoing::Result::kAll;
}

}  // namespace

// --- there

void Outgoing::Add(Board& board, size_t number, const Parcel& parcel) {
  Frame& frame = frames_[number];
  frame = {FrameOf(parcel.kind), parcel.bytes, parcel.at, parcel.value};
  parts_[end_++] = {&frame, sizeof frame};
  if (parcel.kind == ParcelKind::kBytes) parts_[end_++] = {board.Bytes(parcel.at), parcel.bytes};
}

bool Outgoing::Fill(Board& board, const Hosts& hosts, Passes& passes, uint32_t host) {
  size_t count = 0;
  Parcel parcel;
  begin_ = end_ = 0;
  for (uint32_t rank = 0; rank < hosts.ranks() && count < kMostAtOnce; ++rank) {
    while (hosts.of[rank] == hosts.own && count < kMostAtOnce && board.outbox().Take(rank, host, &parcel))
      Add(board, count++, parcel);
  }
  while (count < kMostAtOnce && passes.Take(host, &parcel)) Add(board, count++, parcel);
  return count > 0;
}

Outgoing::Result Outgoing::Send(Board& board, const Hosts& hosts, Passes& passes, uint32_t host,
                                Transport& over, bool* any) {
  while (begin_ < end_ || Fill(board, hosts, passes, host)) {
    const Result result = SendParts(over, parts_.data(), &begin_, end_, any);
    if (result != Result::kAll) return result;
  }
  return Result::kAll;
}

bool Outgoing::Put(const Frame& frame, std::string text) {
  if (begin_ < end_) return false;
  frames_[0] = frame;
  text_ = std::move(text);
  parts_[0] = {frames_.data(), sizeof frame};
  parts_[1] = {text_.data(), text_.size()};
  begin_ = 0;
  end_ = text_.empty() ? 1 : 2;
  return true;
}

// --- and back

// Whether it belongs where it came: a host has one way to each other.
bool Incoming::MayCome(const Hosts& hosts, uint32_t by, uint32_t from, uint64_t to) const {
  return from < hosts.count() && from != hosts.own && to <= hosts.count() &&
         hosts.way().Before(from, hosts.own) == by &&
         hosts.way().IsOn(from, hosts.own, static_cast<uint32_t>(to));
}

void Incoming::HandOn(const Hosts& hosts, Passes& passes) const {
  if (!passes.any()) return;
  const Parcel parcel{ParcelOf(frame_.kind), frame_.bytes, frame_.at, frame_.value};
  hosts.way().ForEachNext(from_, hosts.own, for_, [&](uint32_t next) { passes.Put(next, parcel); });
}

// What is there of a frame's bytes. Those for other hosts lie here until they have gone on: they are of no
// rank here, and stay as they are until the last who gets them has told so.
void Incoming::TakeBytes(Board& board) {
  const size_t here = std::min<size_t>(frame_.bytes, end_ - begin_);
  std::memcpy(board.Bytes(frame_.at), &buffer_[begin_], here);
  begin_ += here;
  to_ = board.Bytes(frame_.at) + here;
  left_ = frame_.bytes - here;
}

Incoming::Applied Incoming::ApplyLeft(Board& board, const Hosts& hosts, Passes& passes, uint32_t host) {
  const uint32_t rank = frame_.bytes;
  if (rank >= hosts.ranks() || !MayCome(hosts, host, hosts.of[rank], hosts.count())) return Applied::kNo;
  from_ = hosts.of[rank];
  for_ = hosts.count();
  HandOn(hosts, passes);
  board.CameLeft(rank);
  return Applied::kYes;
}

Incoming::Applied Incoming::ApplyFailed(Board& board, const Hosts& hosts) {
  if (frame_.bytes > kMostFailure || frame_.at > hosts.ranks()) return Applied::kNo;
  if (end_ - begin_ < frame_.bytes) return Applied::kPart;
  const auto kind = std::min<uint64_t>(frame_.value, static_cast<uint64_t>(FailureKind::kOther));
  board.MarkFailed(static_cast<uint32_t>(frame_.at), static_cast<FailureKind>(kind),
                   {reinterpret_cast<const char*>(buffer_.data() + begin_), frame_.bytes});
  begin_ += frame_.bytes;
  return Applied::kYes;
}

// Of frame_, whose header has been taken from the buffer.
Incoming::Applied Incoming::Apply(Board& board, const Hosts& hosts, Passes& passes, uint32_t host) {
  switch (frame_.kind) {
    case FrameKind::kBytes:
      from_ = board.HostOf(frame_.at, frame_.bytes);
      if (!MayCome(hosts, host, from_, frame_.value)) return Applied::kNo;
      for_ = static_cast<uint32_t>(frame_.value);
      TakeBytes(board);
      if (left_ == 0) HandOn(hosts, passes);
      return Applied::kYes;
    case FrameKind::kWord:
      from_ = board.HostOf(frame_.at, sizeof(uint64_t));
      if (frame_.at % sizeof(uint64_t) != 0 || !MayCome(hosts, host, from_, frame_.bytes))
        return Applied::kNo;
      for_ = frame_.bytes;
      HandOn(hosts, passes);
      if (for_ == hosts.own || for_ == hosts.count()) board.Came(frame_.at, frame_.value);
      return Applied::kYes;
    case FrameKind::kLeft:
      return ApplyLeft(board, hosts, passes, host);
    case FrameKind::kFailed:
      return ApplyFailed(board, hosts);
    case FrameKind::kLast:
      has_ended_ = true;
      return Applied::kYes;
    case FrameKind::kAddress:  // comes before, or not at all
      return Applied::kNo;
  }
  return Applied::kNo;
}

bool Incoming::TakeAll(Board& board, const Hosts& hosts, Passes& passes, uint32_t host) {
  while (left_ == 0 && end_ - begin_ >= sizeof frame_) {
    std::memcpy(&frame_, &buffer_[begin_], sizeof frame_);
    begin_ += sizeof frame_;
    const Applied applied = Apply(board, hosts, passes, host);
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

Incoming::Result Incoming::Receive(Board& board, const Hosts& hosts, Passes& passes, uint32_t host,
                                   Transport& over) {
  std::array<iovec, 2> parts{{{to_, left_}, {&buffer_[end_], buffer_.size() - end_}}};
  const size_t first = left_ > 0 ? 0 : 1;
  size_t came = 0;
  const Transport::Result result = over.Receive(&parts[first], parts.size() - first, &came);
  if (result != Transport::Result::kSome)
    return result == Transport::Result::kNothing ? Result::kNothing : Result::kEnd;
  const size_t straight = std::min(left_, came);
  to_ += straight;
  left_ -= straight;
  if (straight > 0 && left_ == 0) HandOn(hosts, passes);
  end_ += came - straight;
  return TakeAll(board, hosts, passes, host) ? Result::kSome : Result::kStrange;
}

// --- waiting

void Link::PrepareToWait() {
  waits = Descriptor(epoll_create1(EPOLL_CLOEXEC));
  timer = Descriptor(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
  epoll_event socket_event{EPOLLIN, {.u32 = 0}}, timer_event{EPOLLIN, {.u32 = 1}};
  if (waits && timer && epoll_ctl(waits.get(), EPOLL_CTL_ADD, transport->descriptor(), &socket_event) == 0 &&
      epoll_ctl(waits.get(), EPOLL_CTL_ADD, timer.get(), &timer_event) == 0)
    return;
  Fail(codes::kHcclESyscall, "collective-system", "the system gave nothing to wait for other hosts with ({})",
       ExplainRefusal(errno));
}

void Link::Arm() {
  armed = true;
  epoll_event event{EPOLLIN, {.u32 = 0}};
  epoll_ctl(waits.get(), EPOLL_CTL_MOD, transport->descriptor(), &event);
  transport->Arm();
}

// The end of the whole connection is told all the same.
void Link::Disarm() {
  armed = false;
  epoll_event event{0, {.u32 = 0}};
  epoll_ctl(waits.get(), EPOLL_CTL_MOD, transport->descriptor(), &event);
}

void Link::SetTimer() {
  const itimerspec once{{0, 0}, {0, kTickNs}};
  timerfd_settime(timer.get(), 0, &once, nullptr);
}

bool Link::AwaitTimer() {
  transport->Arm();
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
