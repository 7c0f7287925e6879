#include "collective/communicator.h"

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <utility>

#include "base/codes.h"
#include "base/fork.h"
#include "base/hcclresult_codes.h"
#include "collective/algorithm.h"
#include "collective/board.h"
#include "collective/bootstrap.h"
#include "collective/call.h"
#include "collective/carrier.h"
#include "collective/group.h"
#include "collective/line.h"
#include "collective/operations.h"
#include "collective/watch.h"
#include "collective/wire.h"
#include "runtime/context.h"
#include "runtime/memory.h"
#include "runtime/stream.h"

namespace belay::coll {

constinit CommunicatorTable g_communicators;

namespace {

[[maybe_unused]] const bool g_forgotten_in_child = AtForkInChild(&Communicator::AbandonAllInChild);

// A program that ends without destroying its communicators is no accident for the others.
void LeaveAllAtExit() {
  g_communicators.ForEach([](Communicator& communicator) { communicator.LeaveAtExit(); });
  Carrier::EndAll();
}

}  // namespace

Communicator::Communicator() = default;
Communicator::~Communicator() = default;

void Communicator::Open(std::unique_ptr<Membership> membership, CommunicatorConfig config, int device) {
  static const bool leaves = std::atexit(&LeaveAllAtExit) == 0;
  (void)leaves;
  membership_ = std::move(membership);
  config_ = std::move(config);
  device_ = device;
  rank_ = membership_->rank;
  peers_ = membership_->peers;
  const SharedBoard& shared = membership_->board;
  board_ = std::make_unique<Board>(shared.memory, rank_, ranks(), shared.staging_bytes_per_rank, config_.name,
                                   membership_->hosts);
  board_->SetWaitLimit(config_.exec_timeout_ns);
  under_way_.store(0);
  failed_.store(false);
  failure_.reset();
  destroyed_ = false;
  refs_.Start();
  const uint32_t root = membership_->root_rank;
  int32_t root_process = root < ranks() ? peers_[root].process : membership_->root.process;
  if (!membership_->root_is_here) root_process = 0;
  line_ = std::make_shared<Line>(*this, std::move(membership_->line), root_process);
  Watch::Get().Add(line_);
  const Hosts* hosts = membership_->hosts.get();
  if (hosts != nullptr && hosts->leaders[hosts->own] == rank_)
    board_->SetCourier(Carrier::Start(*membership_, config_.name));
}

void Communicator::Close() {
  board_.reset();
  membership_.reset();
}

Communicator& Communicator::Create(std::unique_ptr<Membership> membership, CommunicatorConfig config,
                                   int device) {
  if (membership->hosts != nullptr && membership->rank == 0 && !config.algorithms.not_there.empty())
    SayThatNotHere(config.algorithms);
  HandleBits handle = g_communicators.Create(std::move(membership), std::move(config), device);
  if (handle == 0) {
    belay::Fail(codes::kHcclEMemory, "communicator-limit",
                "this process has 65536 communicators, as many as it can; destroy some with HcclCommDestroy");
  }
  return *g_communicators.Find(handle);
}

// One may be destroyed meanwhile, and its place taken by another: what is held is looked at again.
Communicator* Communicator::Find(const std::function<bool(const Communicator&)>& is_it, size_t* how_many) {
  Communicator* found = nullptr;
  *how_many = 0;
  g_communicators.ForEach([&](Communicator& each) {
    const HandleBits handle = g_communicators.HandleOf(&each);
    if (!each.TryRef()) return;
    if (g_communicators.Find(handle) == &each && is_it(each) && ++*how_many == 1) {
      found = &each;
    } else {
      each.Unref();
    }
  });
  if (*how_many > 1) std::exchange(found, nullptr)->Unref();
  return found;
}

Communicator* Communicator::FindNamed(std::string_view name, int device, size_t* how_many) {
  return Find([&](const Communicator& each) { return each.device() == device && each.name() == name; },
              how_many);
}

HandleBits Communicator::whole() const { return membership_->whole; }

bool Communicator::HasPart(std::string_view name) const {
  const HandleBits own = g_communicators.HandleOf(this);
  size_t how_many = 0;
  Communicator* found =
      Find([&](const Communicator& each) { return each.whole() == own && each.name() == name; }, &how_many);
  if (found != nullptr) found->Unref();
  return how_many != 0;
}

// --- failure

void Communicator::Fail(uint32_t who, Error error) noexcept {
  {
    std::lock_guard guard(lock_);
    if (failure_.has_value()) return;
    failure_.emplace(std::move(error));
    failed_.store(true, std::memory_order_release);
  }
  board_->MarkFailed(who, FailureKind::kPeerEnded, failure_->sentence());
}

Error Communicator::failure() const {
  std::lock_guard guard(lock_);
  return *failure_;
}

void Communicator::ThrowIfFailed() const {
  if (failed()) throw failure();
  if (!board_->failed()) return;
  const Error error = board_->Failure();
  throw Error(codes::kHcclERemote, error.id(), error.sentence());
}

int Communicator::async_error() const noexcept {
  return failed() || board_->failed() ? codes::kHcclERemote : 0;
}

void Communicator::Heard(const Event& event) {
  if (event.rank >= ranks()) return;
  if (event.kind == EventKind::kLeft && board_->IsElsewhere(event.rank)) return board_->HeardLeft(event.rank);
  // Its process may have ended before anybody could pass on that it had left.
  if (event.kind == EventKind::kLeft || board_->SaidGoodbye(event.rank)) {
    board_->MarkLeft(event.rank);
    return;
  }
  Fail(event.rank,
       Error(codes::kHcclERemote, "rank-ended",
             fmt::format("rank {} of communicator {} (process {}) ended without destroying its communicator",
                         event.rank, name(), peers_[event.rank].process)));
}

// The process with the meeting point. When its rank has left before, that is how things end. Nobody tells any
// more who else had left.
void Communicator::RootEnded() {
  for (uint32_t rank = 0; rank < ranks(); ++rank) {
    if (rank != rank_ && board_->SaidGoodbye(rank)) board_->MarkLeft(rank);
  }
  const uint32_t root = membership_->root_rank;
  // Who carries for another host sees the end of the process that carries there.
  if (root < ranks() && root != rank_ && !board_->IsElsewhere(root) && !left(root))
    Heard({EventKind::kEnded, root});
}

bool Communicator::left(uint32_t rank) const { return board_->left(rank); }

void Communicator::RefuseWithout(uint32_t rank) const {
  if (!left(rank)) return;
  ThrowIfFailed();  // that may be why it left
  belay::Fail(
      codes::kHcclERemote, "rank-left",
      "rank {} has destroyed its communicator {}, or its process has ended; operations that need it come "
      "before that",
      rank, name());
}

void Communicator::RefuseWithoutAll() const {
  for (uint32_t rank = 0; rank < ranks(); ++rank) RefuseWithout(rank);
}

// --- operations and the end

void Communicator::Begin() {
  std::lock_guard guard(lock_);
  if (destroyed_) {
    belay::Fail(codes::kRtInvalidHandle, "communicator-destroyed",
                "communicator {} was destroyed; what was captured with it cannot run any more", name());
  }
  under_way_.fetch_add(1, std::memory_order_acq_rel);
}

void Communicator::Unref() {
  if (refs_.Drop()) g_communicators.Recycle(this);
}

void Communicator::Destroy(Communicator& communicator) {
  if (rt::Observers::any()) rt::TellDestroyed(g_communicators.HandleOf(&communicator));
  {
    std::lock_guard guard(communicator.lock_);
    if (communicator.under_way() != 0 && communicator.async_error() == 0) {
      belay::Fail(
          codes::kHcclEAgain, "communicator-busy",
          "{} operations of communicator {} are under way; synchronise their streams first, or try again",
          communicator.under_way(), communicator.name());
    }
    if (g_communicators.Retire(g_communicators.HandleOf(&communicator)) == nullptr) return;
    communicator.destroyed_ = true;
  }
  communicator.line_->Leave();
  communicator.Unref();
}

void Communicator::LeaveAtExit() noexcept { line_->LeaveAtExit(); }
void Communicator::SayGoodbye() noexcept { board_->SayGoodbye(); }

void Communicator::DestroyAll() noexcept {
  g_communicators.ForEach([](Communicator& communicator) {
    if (g_communicators.Retire(g_communicators.HandleOf(&communicator)) == nullptr) return;
    communicator.line_->Leave();
    communicator.Unref();
  });
  Carrier::EndAll();
  Watch::Get().End();
}

void Communicator::AbandonAllInChild() { g_communicators.AbandonInChild(); }

// --- its operations

namespace {

// What a task holds of its communicator.
class Use final : public Hooks {
 public:
  explicit Use(Communicator& communicator)
      : communicator_(communicator), handle_(g_communicators.HandleOf(&communicator)) {
    communicator_.Ref();
  }
  ~Use() override { communicator_.Unref(); }
  void Begin() override { communicator_.Begin(); }
  void End() noexcept override { communicator_.End(); }
  HandleBits communicator() const override { return handle_; }

 private:
  Communicator& communicator_;
  const HandleBits handle_;  // which may lead nowhere by now
};

// A rank works on its own device, as do its streams.
void CheckDevice(const Communicator& communicator, const rt::Stream& stream) {
  const int device = stream.context().device().id();
  if (device == communicator.device()) return;
  Fail(
      codes::kHcclEPara, "collective-device",
      "stream is of device {}, but rank {} of communicator \"{}\" is on device {}; give a stream of that device",
      device, communicator.rank(), communicator.name(), communicator.device());
}

// Throws unless the buffers are device memory with room for what the call says. It is found out here, since
// the other ranks wait for a call that has been queued.
void CheckMemory(const Operation& o, uint32_t rank, uint32_t ranks) {
  const auto check = [](const void* buffer, uint64_t bytes, const char* argument) {
    if (bytes != 0) rt::CheckDeviceRange(buffer, bytes, argument);
  };
  const bool has_one = o.kind == Kind::kBroadcast || o.kind == Kind::kBatch;
  const char* const send = has_one ? "buf" : "sendBuf";
  const char* const receive = has_one ? "buf" : "recvBuf";
  for (const Message& m : o.messages) check(m.buffer, BytesOf(m), m.sends ? send : receive);
  const Extents extents = ExtentsOf(o, rank, ranks);
  check(o.send, extents.send, send);
  check(o.receive, extents.receive, receive);
}

}  // namespace

void Submit(Communicator& communicator, rt::Stream& stream, const Operation& operation) {
  communicator.ThrowIfFailed();
  CheckDevice(communicator, stream);
  CheckMemory(operation, communicator.rank(), communicator.ranks());
  if (KeepForGroup(communicator, stream, operation)) return;
  Submit(communicator.board(), std::make_shared<Use>(communicator), stream, operation);
}

}  // namespace belay::coll
