#include "runtime/offers.h"

#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "base/codes.h"
#include "base/error.h"
#include "base/fork.h"
#include "base/quiet_write.h"
#include "base/room.h"
#include "base/system_limit.h"
#include "runtime/codes.h"

namespace belay::rt {
namespace {

// A number for an offer: 22 bits of process, 15 of index, 27 of nonce.
constexpr int kIndexBits = 15;
constexpr int kNonceBits = 27;

uint64_t RandomNonce() {
  uint64_t nonce = 0;
  if (getrandom(&nonce, sizeof nonce, 0) != sizeof nonce)
    nonce = reinterpret_cast<uintptr_t>(&nonce) ^ 0x9e3779b9;
  nonce &= (uint64_t{1} << kNonceBits) - 1;
  return nonce == 0 ? 1 : nonce;
}

}  // namespace

Offers& Offers::Get() { return PerProcess<Offers>::Get(); }

void Offers::Start() {
  if (base_ != nullptr) return;
  int file = memfd_create(kOfferFileName, MFD_CLOEXEC);
  void* base = MAP_FAILED;
  struct stat about {};
  if (file >= 0 && SizeToMap(file, sizeof(OfferFile)) && fstat(file, &about) == 0) {
    base = mmap(nullptr, sizeof(OfferFile), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file, 0);
  }
  if (base == MAP_FAILED) {
    int why = errno;
    if (file >= 0) close(file);
    Fail(CodeOfRefusal(why), "share-system", "making a memory file to share failed ({})",
         ExplainRefusal(why));
  }
  // A forked child offers in a file of its own.
  madvise(base, sizeof(OfferFile), MADV_DONTFORK);
  file_ = file;
  file_device_ = about.st_dev;
  file_inode_ = about.st_ino;
  base_ = static_cast<OfferFile*>(base);
  LockByte(file, ByteOfMember(0), false);
}

// --- offers

OfferName Offers::Add(const OfferRecord& record) {
  std::lock_guard guard(lock_);
  Start();
  if (free_.empty() && used_ == kMaxOffers) Sweep(lingering_.size());
  if (free_.empty() && used_ == kMaxOffers) {
    Fail(
        kOutOfMemory, "share-limit",
        "the process offers {} things to others, as many as it can; {} of them were withdrawn, but those who "
        "imported them hold on to them",
        kMaxOffers, lingering_.size());
  }
  uint32_t index = used_;
  if (free_.empty()) {
    MakeRoomFor(free_, used_ + 1);
    MakeRoomFor(lingering_, used_ + 1);
    ++used_;
  } else {
    index = free_.back();
    free_.pop_back();
  }
  OfferEntry& entry = base_->entries[index];
  entry.kind = static_cast<uint32_t>(record.kind);
  entry.file = record.file;
  entry.device = record.device;
  entry.anybody = record.anybody;
  entry.offset = record.offset;
  entry.bytes = record.bytes;
  entry.pid_count.store(0, std::memory_order_relaxed);
  entry.importers.store(0, std::memory_order_relaxed);
  uint64_t nonce = RandomNonce();
  entry.nonce.store(nonce, std::memory_order_release);
  return {getpid(), index, nonce};
}

bool Offers::Allow(const OfferName& name, std::span<const int32_t> pids) {
  std::lock_guard guard(lock_);
  if (name.pid != getpid() || name.index >= used_) return false;
  OfferEntry& entry = base_->entries[name.index];
  if (entry.nonce.load(std::memory_order_relaxed) != name.nonce) return false;
  uint32_t count = entry.pid_count.load(std::memory_order_relaxed);
  if (pids.size() > kMaxOfferPids - count) {
    Fail(kBadArgument, "share-pids", "{} processes are named, {} were before; an offer can name {}",
         pids.size(), count, kMaxOfferPids);
  }
  for (int32_t pid : pids) entry.pids[count++] = pid;
  entry.pid_count.store(count, std::memory_order_release);
  return true;
}

bool Offers::Withdraw(const OfferName& name) {
  std::lock_guard guard(lock_);
  if (name.pid != getpid() || name.index >= used_) return false;
  uint64_t nonce = name.nonce;
  return base_->entries[name.index].nonce.compare_exchange_strong(nonce, 0);
}

bool Offers::TryRelease(const OfferName& name) {
  std::lock_guard guard(lock_);
  if (LockedByAnother(file_, ByteOfOffer(name.index))) return false;
  free_.push_back(name.index);
  return true;
}

void Offers::Release(const OfferName& name, WordPair* words) {
  constexpr size_t kOthersAtATime = 3;
  std::lock_guard guard(lock_);
  const Lingering gone{name.index, words};
  if (LockedByAnother(file_, ByteOfOffer(gone.index))) {
    lingering_.push_back(gone);
  } else {
    Reuse(gone);
  }
  Sweep(kOthersAtATime);
}

// Looks at `most` of those that linger, and at others next time.
void Offers::Sweep(size_t most) {
  for (size_t left = std::min(most, lingering_.size()); left != 0; --left) {
    if (next_look_ >= lingering_.size()) next_look_ = 0;
    if (LockedByAnother(file_, ByteOfOffer(lingering_[next_look_].index))) {
      ++next_look_;
    } else {
      Reuse(lingering_[next_look_]);
      lingering_[next_look_] = lingering_.back();
      lingering_.pop_back();
    }
  }
}

void Offers::Reuse(const Lingering& gone) {
  free_.push_back(gone.index);
  if (gone.words != nullptr) free_words_.push_back(gone.words);
}

// --- words

WordPair* Offers::TakeWords() {
  std::lock_guard guard(lock_);
  Start();
  if (free_words_.empty() && words_used_ == kMaxSharedWords) Sweep(lingering_.size());
  if (free_words_.empty()) {
    if (words_used_ == kMaxSharedWords) {
      Fail(kOutOfMemory, "share-limit",
           "the process has {} events and notifies that can be shared, as many as it can; {} of them were "
           "destroyed, but those who imported them hold on to them",
           kMaxSharedWords, lingering_.size());
    }
    MakeRoomFor(free_words_, words_used_ + 1);
    return &base_->words[words_used_++];
  }
  WordPair* words = free_words_.back();
  free_words_.pop_back();
  words->first.store(0, std::memory_order_relaxed);
  words->second.store(0, std::memory_order_relaxed);
  return words;
}

void Offers::ReturnWords(WordPair* words) {
  std::lock_guard guard(lock_);
  free_words_.push_back(words);
}

uint64_t Offers::OffsetOf(const WordPair* words) const {
  return static_cast<uint64_t>(reinterpret_cast<const std::byte*>(words) -
                               reinterpret_cast<const std::byte*>(base_));
}

bool Offers::Owns(const WordPair* words) const {
  return base_ != nullptr && words >= base_->words && words < base_->words + kMaxSharedWords;
}

// --- processes

bool Offers::MemberEnded(uint32_t member) const {
  return member != 0 && !LockedByAnother(file_, ByteOfMember(member));
}

int32_t Offers::ProcessOf(uint32_t member) const {
  uint64_t name = base_->names[member % std::size(base_->names)].load(std::memory_order_relaxed);
  return name >> 32 == member ? static_cast<int32_t>(name) : 0;
}

int32_t Offers::LostImporter(const OfferName& name) const {
  const OfferEntry& entry = base_->entries[name.index];
  uint32_t importers = entry.importers.load(std::memory_order_acquire);
  if (importers == 0 || LockedByAnother(file_, ByteOfOffer(name.index))) return 0;
  // The lock is taken before the count and given back after it.
  if (entry.importers.load(std::memory_order_acquire) != importers) return 0;
  return entry.last_importer.load(std::memory_order_relaxed);
}

void Offers::AcceptLoss(const OfferName& name, bool one) {
  OfferEntry& entry = base_->entries[name.index];
  if (one) CountOut(entry);
  uint32_t lost = entry.importers.load(std::memory_order_relaxed);
  if (!LockedByAnother(file_, ByteOfOffer(name.index))) entry.importers.compare_exchange_strong(lost, 0);
}

bool Offers::IsOwnFile(uint64_t device, uint64_t inode) {
  std::lock_guard guard(lock_);
  return file_ >= 0 && file_device_ == device && file_inode_ == inode;
}

// --- names

std::string KeyOf(const OfferName& name) {
  return fmt::format("belay-{}-{}-{:x}", name.pid, name.index, name.nonce);
}

OfferName NameOf(const std::string& key) {
  OfferName name;
  char end = 0;
  unsigned long long nonce = 0;
  if (std::sscanf(key.c_str(), "belay-%d-%u-%llx%c", &name.pid, &name.index, &nonce, &end) != 3 ||
      name.pid <= 0) {
    Fail(kNoSuchOffer, "share-key", "'{}' is not a key that an export gave", key.substr(0, 64));
  }
  name.nonce = nonce;
  return name;
}

uint64_t NumberOf(const OfferName& name) {
  return static_cast<uint64_t>(name.pid) << (kIndexBits + kNonceBits) | uint64_t{name.index} << kNonceBits |
         name.nonce;
}

OfferName NameOf(uint64_t number) {
  OfferName name;
  name.pid = static_cast<int32_t>(number >> (kIndexBits + kNonceBits));
  name.index = static_cast<uint32_t>(number >> kNonceBits) & (kMaxOffers - 1);
  name.nonce = number & ((uint64_t{1} << kNonceBits) - 1);
  if (name.pid <= 0 || name.nonce == 0) {
    Fail(kNoSuchOffer, "share-key", "{:#x} is not a handle that an export gave", number);
  }
  return name;
}

}  // namespace belay::rt
