// The two words of an event with ACL_EVENT_IPC, or of a notify: of this process, for others to see, or of
// another process, which offers them. Whoever needs the words, a queued task too, holds a reference; once the
// last one here has gone, the words are the owner's to use again.
//
//   event    first: who issued the latest record, and how many there are; second: how many are done
//   notify   first: the flag; second: the importer that is about to set it, or 0
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>

#include "base/error.h"
#include "runtime/foreign_offer.h"
#include "runtime/offers.h"

namespace belay::rt {

class SharedWords {
 public:
  static std::shared_ptr<SharedWords> Own();
  static std::shared_ptr<SharedWords> Import(const OfferName& name, OfferKind kind);
  SharedWords() = default;
  SharedWords(const SharedWords&) = delete;
  SharedWords& operator=(const SharedWords&) = delete;
  ~SharedWords();

  // Whether another process may use them.
  bool shared() const { return shared_.load(); }
  const std::atomic<bool>& from_outside() const { return shared_; }
  bool ours() const { return foreign_.record.kind == OfferKind::kNone; }
  std::atomic<uint64_t>& first() const { return words_->first; }
  std::atomic<uint64_t>& second() const { return words_->second; }

  // Of words of this process: offers them, once; says to whom; ends that.
  OfferName Offer(OfferKind kind, bool anybody);
  bool Allow(std::span<const int32_t> pids);
  void Withdraw();

  // This process, and others that use the words: the owner is 0.
  uint32_t member() const { return ours() ? 0 : foreign_.member(); }
  bool MemberEnded(uint32_t member) const;
  // Whether all who had imported these words of this process were killed.
  bool LostImporters() const { return ours() && LostImporter() != 0; }
  // What a wait for something that this member was to do fails with.
  Error EndedError(uint32_t member, const char* what) const;
  // Stands for whoever had imported the words.
  static constexpr uint32_t kImporters = ~0u - 1;
  // The next to import them counts. When others have them still, `one` that was told about has not.
  void AcceptLoss(bool one) { Offers::Get().AcceptLoss(offer_, one); }

 private:
  int32_t LostImporter() const;
  WordPair* words_ = nullptr;
  ForeignOffer foreign_;
  std::mutex lock_;  // of the rest
  OfferName offer_;
  std::atomic<bool> shared_{false};  // once it is, offer_ stays as it is
};

// Numbers of records, with who issued the latest.
struct SharedIssue {
  static constexpr int kCountBits = 40;
  uint32_t member;
  uint64_t count;
  explicit SharedIssue(uint64_t word)
      : member(static_cast<uint32_t>(word >> kCountBits)), count(word & ((uint64_t{1} << kCountBits) - 1)) {}
  static uint64_t Word(uint32_t member, uint64_t count) { return uint64_t{member} << kCountBits | count; }
};

// Looks, seldom, whether the process that a wait depends on is still there.
class PeerWatch {
 public:
  static constexpr int64_t kEveryNs = 5'000'000;
  static constexpr uint32_t kWhoeverSets = ~0u;  // a notify: its owner, or the importer that said it would

  PeerWatch(std::shared_ptr<SharedWords> words, uint32_t member)
      : words_(std::move(words)), member_(member) {}
  bool Ended(int64_t now_ns);
  Error Failure();  // after Ended
  // See Poll: words of a notify that only this process has are not looked at for nothing.
  const std::atomic<bool>* from_outside() const {
    return member_ == kWhoeverSets ? &words_->from_outside() : nullptr;
  }

 private:
  static constexpr uint32_t kNobody = ~0u;
  uint32_t Look() const;

  const std::shared_ptr<SharedWords> words_;
  const uint32_t member_;
  std::atomic<uint32_t> ended_{kNobody};  // as last seen; who has ended is looked for each time
  std::atomic<int64_t> next_look_ns_{0};
};

}  // namespace belay::rt
