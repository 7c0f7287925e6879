// A notify: a flag that one stream sets and another waits for and clears.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <span>

#include "base/handle_table.h"
#include "runtime/context.h"
#include "runtime/offers.h"
#include "runtime/stream.h"

namespace belay::rt {

class Notify {
 public:
  Notify(Device& device, uint32_t id, std::atomic<uint64_t>* flag, bool ours)
      : device_(device), id_(id), flag_(flag), ours_(ours) {}
  ~Notify();

  // Throws 207009 at the device's limit.
  static Notify& Create(Device& device);
  // One that another process offers.
  static Notify& Import(Device& device, const OfferName& name);
  // Drops the handle; the notify goes when no queued task needs it.
  static void Destroy(Notify& notify);

  uint32_t id() const { return id_; }
  Device& device() const { return device_; }

  // When the stream gets there: sets the flag; waits for it (at most `limit_ns`, 0: for ever) and clears
  // it. One stream waits for a notify at a time.
  void Record(Stream& stream);
  void WaitAndReset(Stream& stream, int64_t limit_ns);
  void Clear() { flag_->store(0, std::memory_order_release); }
  void Set() { flag_->store(1, std::memory_order_release); }

  // For other processes: offers it once, then says to whom. Throw for one that another process offers, and
  // for one that was not offered yet.
  OfferName Offer(bool anybody);
  void Allow(std::span<const int32_t> pids);

  void Ref() { refs_.fetch_add(1, std::memory_order_relaxed); }
  void Unref();

 private:
  static Notify& Make(Device& device, std::atomic<uint64_t>* flag, bool ours);

  Device& device_;
  const uint32_t id_;
  std::atomic<uint64_t>* const flag_;  // where other processes may see it, too
  const bool ours_;
  std::mutex lock_;
  OfferName offer_;
  std::atomic<uint32_t> refs_{1};
};

using NotifyTable = HandleTable<Notify, HandleKind::kNotify, 1u << 20>;
extern NotifyTable g_notifies;

}  // namespace belay::rt
