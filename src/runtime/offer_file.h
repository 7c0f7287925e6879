// The memory file in which a process offers things to others, and the locks by which the system tells who of
// them is there.
//
// Locks are the system's record locks: they belong to a process, a fork does not inherit them, and they go
// with it however it ends. Closing any descriptor of a file gives up all that the process has locked there:
// a process opens its own file of offers once, and that of another at most once at a time.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace belay::rt {

inline constexpr char kOfferFileName[] = "belay-offers-2";
inline constexpr uint32_t kMaxOffers = 1u << 15;
inline constexpr size_t kMaxSharedWords = size_t{1} << 17;  // pairs

struct OfferEntry {
  std::atomic<uint64_t> nonce;  // 0: no offer
  uint32_t kind;
  int32_t file;
  int32_t device;
  uint32_t anybody;
  uint64_t offset;
  uint64_t bytes;
  std::atomic<uint32_t> pid_count;
  std::atomic<uint32_t>
      importers;  // processes that have not given it back: more than hold it when some were killed
  std::atomic<int32_t> last_importer;  // for messages
  int32_t pids[114];
};
static_assert(sizeof(OfferEntry) == 512);
inline constexpr uint32_t kMaxOfferPids = sizeof(OfferEntry::pids) / sizeof(int32_t);

// Two numbers that the processes which share an event or a notify count in.
struct WordPair {
  std::atomic<uint64_t> first;
  std::atomic<uint64_t> second;
};

struct OfferFile {
  OfferEntry entries[kMaxOffers];
  WordPair words[kMaxSharedWords];
  // The processes that use the file are numbered: the owner is 0. Numbers come again after 2^24.
  std::atomic<uint32_t> members;
  std::atomic<uint64_t> names[1024];  // member << 32 | process, at member % 1024: for messages
};
inline constexpr uint32_t kMaxMembers = 1u << 24;

// Bytes to lock; there need not be data there. An offer is locked for reading by each process that has
// imported it, a member for writing by the process that is it.
inline off_t ByteOfOffer(uint32_t index) { return off_t{1} + index; }
inline off_t ByteOfMember(uint32_t member) { return (off_t{1} << 32) + member; }

// One importer fewer. Not below none: the owner may have begun anew since.
void CountOut(OfferEntry& entry);

// The code of a call that sharing needs and that the system refused: for memory, or for another reason.
int CodeOfRefusal(int error);

// False when another process holds a lock against it. Throws when the system has no lock to give.
bool LockByte(int file, off_t at, bool shared);
void UnlockByte(int file, off_t at);
bool LockedByAnother(int file, off_t at) noexcept;

}  // namespace belay::rt
