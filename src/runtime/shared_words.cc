#include "runtime/shared_words.h"

#include "base/codes.h"

#include <fmt/format.h>

namespace belay::rt {
namespace {
constexpr int kPeerEnded = codes::kRtIpcError;
}

std::shared_ptr<SharedWords> SharedWords::Own() {
  auto made = std::make_shared<SharedWords>();
  made->words_ = Offers::Get().TakeWords();
  return made;
}

std::shared_ptr<SharedWords> SharedWords::Import(const OfferName& name, OfferKind kind) {
  auto made = std::make_shared<SharedWords>();
  made->foreign_ = OpenOffer(name, kind);
  made->words_ = made->foreign_.words();
  made->shared_.store(true);
  return made;
}

SharedWords::~SharedWords() {
  if (words_ == nullptr || !ours() || !Offers::Get().Owns(words_)) return;
  if (offer_.nonce == 0) {
    Offers::Get().ReturnWords(words_);
  } else {
    Withdraw();
    Offers::Get().Release(offer_, words_);
  }
}

OfferName SharedWords::Offer(OfferKind kind, bool anybody) {
  std::lock_guard guard(lock_);
  if (offer_.nonce == 0) {
    offer_ = Offers::Get().Add({kind, -1, 0, anybody, Offers::Get().OffsetOf(words_), sizeof(WordPair)});
    shared_.store(true);
  }
  return offer_;
}

bool SharedWords::Allow(std::span<const int32_t> pids) {
  std::lock_guard guard(lock_);
  return offer_.nonce != 0 && Offers::Get().Allow(offer_, pids);
}

void SharedWords::Withdraw() {
  std::lock_guard guard(lock_);
  if (offer_.nonce != 0) Offers::Get().Withdraw(offer_);
}

bool SharedWords::MemberEnded(uint32_t member) const {
  return ours() ? Offers::Get().MemberEnded(member) : foreign_.MemberEnded(member);
}

int32_t SharedWords::LostImporter() const { return shared() ? Offers::Get().LostImporter(offer_) : 0; }

Error SharedWords::EndedError(uint32_t member, const char* what) const {
  int32_t process = member == kImporters ? LostImporter()
                    : ours()             ? Offers::Get().ProcessOf(member)
                                         : foreign_.ProcessOf(member);
  std::string who = process != 0 ? fmt::format("process {}", process) : "a process that imported it";
  return Error(kPeerEnded, "share-peer-ended",
               fmt::format("{} has ended before {}; the other processes cannot go on from here", who, what));
}

// --- waits

bool PeerWatch::Ended(int64_t now_ns) {
  if (!words_->shared()) return false;
  bool soon = ended_.load(std::memory_order_relaxed) == kNobody &&
              now_ns < next_look_ns_.load(std::memory_order_relaxed);
  if (soon) return false;
  next_look_ns_.store(now_ns + kEveryNs, std::memory_order_relaxed);
  uint32_t ended = Look();
  ended_.store(ended, std::memory_order_relaxed);
  return ended != kNobody;
}

uint32_t PeerWatch::Look() const {
  if (member_ != kWhoeverSets) return words_->MemberEnded(member_) ? member_ : kNobody;
  if (words_->MemberEnded(0)) return 0;
  const uint64_t promise = words_->second().load(std::memory_order_acquire);
  const auto setter = static_cast<uint32_t>(promise);
  // While nobody has the words imported, who promised has ended too, though its member may just have been
  // there: one end is told as one.
  const bool lost = words_->LostImporters();
  if (setter != 0 && (lost || words_->MemberEnded(setter)) && words_->second().load() == promise)
    return setter;
  return lost ? SharedWords::kImporters : kNobody;
}

Error PeerWatch::Failure() {
  uint32_t ended = ended_.load(std::memory_order_relaxed);
  if (member_ != kWhoeverSets)
    return words_->EndedError(ended, "it reached the event record that the stream waits for");
  // Its promise is off: others may still set the notify for a later wait.
  Error failure = words_->EndedError(ended, "it set the notify that the stream waits for");
  uint64_t promise = ended;
  bool told = ended != 0 && words_->second().compare_exchange_strong(promise, 0, std::memory_order_relaxed);
  if (words_->ours()) words_->AcceptLoss(told);
  return failure;
}

}  // namespace belay::rt
