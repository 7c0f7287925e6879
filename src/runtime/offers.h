// What a process offers to other processes: memory, events and notifies.
//
// A process that offers something has one memory file for it (offer_file.h), with a table of its offers and a
// region of 64-bit words that events and notifies count in. Another process finds the file, and the files
// that hold offered memory, among the open files of the owner (/proc), so the kernel decides who may. The
// list of processes that an offer is meant for is kept beside it and obeyed by the one that imports.
//
// Who imports holds a lock on the offer for as long as it uses it. Places of the table, words and memory that
// were offered are used again once nobody has that lock: a process that is killed loses it.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "runtime/offer_file.h"

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
  // Ends an offer: nobody imports it from now on. False when there is none. Then, once:
  bool Withdraw(const OfferName& name);
  // Gives up its number. TryRelease: false, and nothing is changed, while others have it imported. Release:
  // that comes by itself later, and `words` with it.
  bool TryRelease(const OfferName& name);
  void Release(const OfferName& name, WordPair* words = nullptr);

  // Zero.
  WordPair* TakeWords();
  void ReturnWords(WordPair* words);  // that were not offered
  uint64_t OffsetOf(const WordPair* words) const;
  // Whether these are words of this process, not of the one that it was forked from.
  bool Owns(const WordPair* words) const;

  // Whether a process that imports from this one has ended, and its number or 0.
  bool MemberEnded(uint32_t member) const;
  int32_t ProcessOf(uint32_t member) const;
  // Whether nobody has the offer imported, though some did who never gave it back: the last of them, else 0.
  // AcceptLoss: whoever imports it next counts; when others have it still, `one` that ended no longer does.
  int32_t LostImporter(const OfferName& name) const;
  void AcceptLoss(const OfferName& name, bool one);
  // Whether it is this process's own file.
  bool IsOwnFile(uint64_t device, uint64_t inode);

 private:
  struct Lingering {
    uint32_t index;
    WordPair* words;
  };
  void Start();  // under lock_, as the next
  void Sweep(size_t most);
  void Reuse(const Lingering& gone);

  std::mutex lock_;
  int file_ = -1;
  uint64_t file_device_ = 0;
  uint64_t file_inode_ = 0;
  OfferFile* base_ = nullptr;
  // These have room for all that is in use, so that what ends needs no memory.
  std::vector<uint32_t> free_;
  uint32_t used_ = 0;
  size_t words_used_ = 0;
  std::vector<WordPair*> free_words_;
  std::vector<Lingering> lingering_;  // withdrawn, and still imported when last looked at
  size_t next_look_ = 0;              // among them
};

// "belay-<pid>-<index>-<nonce>", at most 64 characters. Throws 107017 for text that is no such key.
std::string KeyOf(const OfferName& name);
OfferName NameOf(const std::string& key);
// The same in a number, without a part of the nonce.
uint64_t NumberOf(const OfferName& name);
OfferName NameOf(uint64_t number);

}  // namespace belay::rt
