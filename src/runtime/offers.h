// What a process offers to other processes: memory, events and notifies.
//
// A process that offers something has one memory file for it, with a table of its offers and a region of
// 64-bit words that events and notifies count in. Another process finds the file, and the files that hold
// offered memory, among the open files of the owner (/proc), so the kernel decides who may. The list of
// processes that an offer is meant for is kept beside it and obeyed by the one that imports.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <vector>

namespace belay::rt {

enum class OfferKind : uint32_t { kNone, kPhysicalMemory, kBlock, kEvent, kNotify };

// Names an offer on this machine for as long as it stands.
struct OfferName {
  int32_t pid = 0;
  uint32_t index = 0;
  uint64_t nonce = 0;
  bool operator==(const OfferName&) const = default;
};

struct OfferRecord {
  OfferKind kind = OfferKind::kNone;
  int32_t file = -1;     // of the owner, where the memory is; words: not used
  int32_t device = 0;    // counted among all devices, visible or not
  bool anybody = false;  // the list of processes does not matter
  uint64_t offset = 0;   // in that file; words: in the owner's file of offers
  uint64_t bytes = 0;
};

// The offers of this process.
class Offers {
 public:
  static Offers& Get();

  OfferName Add(const OfferRecord& record);
  // False when there is no such offer of this process.
  bool Allow(const OfferName& name, std::span<const int32_t> pids);
  bool Withdraw(const OfferName& name);

  // `count` neighbouring words, zero. Words that were offered are not used again: others may hold them.
  std::atomic<uint64_t>* TakeWords(size_t count);
  void ReturnWords(std::atomic<uint64_t>* words, size_t count, bool offered);
  uint64_t OffsetOf(const std::atomic<uint64_t>* words) const;

 private:
  void Start();  // under lock_

  std::mutex lock_;
  int file_ = -1;
  std::byte* base_ = nullptr;
  std::vector<uint32_t> free_;
  uint32_t used_ = 0;
  size_t words_used_ = 0;
  std::vector<std::pair<std::atomic<uint64_t>*, size_t>> free_words_;
};

// An offer of another process, opened in this one. Throws: no such process or offer, an offer of another
// kind, one that this process is not meant for, one of this process itself.
struct ForeignOffer {
  OfferRecord record;
  int file = -1;                           // memory: a file of this process, which the caller closes
  std::atomic<uint64_t>* words = nullptr;  // events and notifies: mapped for good
};
ForeignOffer OpenOffer(const OfferName& name, OfferKind kind);

// "belay-<pid>-<index>-<nonce>", at most 64 characters. Throws 107017 for text that is no such key.
std::string KeyOf(const OfferName& name);
OfferName NameOf(const std::string& key);
// The same in a number, without a part of the nonce.
uint64_t NumberOf(const OfferName& name);
OfferName NameOf(uint64_t number);

}  // namespace belay::rt
