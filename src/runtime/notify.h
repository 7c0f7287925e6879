// A notify: a flag that one stream sets and another waits for and clears.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>

#include "base/handle_table.h"
#include "base/ref_count.h"
#include "runtime/context.h"
#include "runtime/engine.h"
#include "runtime/shared_words.h"
#include "runtime/stream.h"

namespace belay::rt {

class Notify {
 public:
  static constexpr bool kPersistent = true;

  // Called by the handle table.
  void Open(Device& device, uint32_t id, std::shared_ptr<SharedWords> words);
  void Close();

  // Throws 207009 at the device's limit. A handle: the device's reset on another thread may end it at once.
  static HandleBits Create(Device& device);
  // One that another process offers.
  static HandleBits Import(Device& device, const OfferName& name);
  // Drops the handle; the notify goes when no queued task needs it.
  static void Destroy(Notify& notify);
  // Those that nobody destroyed before the device was given back.
  static void DestroyAllOf(const Device& device);
  // In a forked child: they are the parent's.
  static void AbandonAllInChild();

  uint32_t id() const { return id_; }
  Device& device() const { return *device_; }

  // When the stream gets there: sets the flag; waits for it (at most `limit_ns`, 0: for ever) and clears
  // it. One stream waits for a notify at a time.
  void Record(Stream& stream);
  void WaitAndReset(Stream& stream, int64_t limit_ns);
  const void* word() const { return &words_->first(); }  // what is set
  void Reset();                                          // at once, whatever streams do
  void Clear() { words_->first().store(0, std::memory_order_release); }
  void Set() {
    words_->first().store(1, std::memory_order_seq_cst);
    TheEngine().Wrote(&words_->first());
  }

  // Tells other processes that this one is about to set it (one of theirs: the owner is known to be needed).
  // False when nobody needs to be told. Each promise is kept once.
  bool Promise();
  void KeepPromise();

  // For other processes: offers it once, then says to whom. Throw for one that another process offers, and
  // for one that was not offered yet.
  OfferName Offer(bool anybody);
  void Allow(std::span<const int32_t> pids);

  void Ref() { refs_.Add(); }
  bool TryRef() { return refs_.TryAdd(); }
  void Unref();

 private:
  static HandleBits Make(Device& device, std::shared_ptr<SharedWords> words);

  Device* device_ = nullptr;
  uint32_t id_ = 0;
  std::shared_ptr<SharedWords> words_;
  std::shared_ptr<PeerWatch> watch_;
  std::mutex lock_;
  uint32_t promises_ = 0;  // under lock_
  RefCount refs_;
};

using NotifyTable = HandleTable<Notify, HandleKind::kNotify, 1u << 20>;
extern NotifyTable g_notifies;

}  // namespace belay::rt
