#include "runtime/offers.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/fork.h"
#include "base/quiet_write.h"

namespace belay::rt {
namespace {

constexpr int kBadArgument = 100000;
constexpr int kNoSuchOffer = 107017;
constexpr int kOutOfMemory = 207001;
constexpr int kSharingFailed = 507022;

constexpr char kFileName[] = "belay-offers";
constexpr uint32_t kMaxOffers = 1u << 15;
constexpr size_t kWordBytes = size_t{1} << 20;
constexpr size_t kPage = 4096;
// A number for an offer: 22 bits of process, 15 of index, 27 of nonce.
constexpr int kIndexBits = 15;
constexpr int kNonceBits = 27;

struct Entry {
  std::atomic<uint64_t> nonce;  // 0: no offer
  uint32_t kind;
  int32_t file;
  int32_t device;
  uint32_t anybody;
  uint64_t offset;
  uint64_t bytes;
  std::atomic<uint32_t> pid_count;
  int32_t pids[116];
};
static_assert(sizeof(Entry) == 512);
constexpr uint32_t kMaxPids = sizeof(Entry::pids) / sizeof(int32_t);
constexpr size_t kEntryBytes = kMaxOffers * sizeof(Entry);

uint64_t RandomNonce() {
  uint64_t nonce = 0;
  if (getrandom(&nonce, sizeof nonce, 0) != sizeof nonce)
    nonce = reinterpret_cast<uintptr_t>(&nonce) ^ 0x9e3779b9;
  nonce &= (uint64_t{1} << kNonceBits) - 1;
  return nonce == 0 ? 1 : nonce;
}

[[noreturn]] void FailSystem(const char* what) {
  Fail(kSharingFailed, "share-system", "{} failed (errno {}: {})", what, errno, std::strerror(errno));
}

}  // namespace

// --- the owner's side

Offers& Offers::Get() { return PerProcess<Offers>::Get(); }

void Offers::Start() {
  if (base_ != nullptr) return;
  int file = memfd_create(kFileName, MFD_CLOEXEC);
  void* base = MAP_FAILED;
  if (file >= 0 && SizeQuietly(file, kEntryBytes + kWordBytes)) {
    base =
        mmap(nullptr, kEntryBytes + kWordBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file, 0);
  }
  if (base == MAP_FAILED) {
    if (file >= 0) close(file);
    FailSystem("making a memory file to share");
  }
  file_ = file;
  base_ = static_cast<std::byte*>(base);
}

OfferName Offers::Add(const OfferRecord& record) {
  std::lock_guard guard(lock_);
  Start();
  if (free_.empty() && used_ == kMaxOffers) {
    Fail(kOutOfMemory, "share-limit", "the process offers {} things to others, as many as it can",
         kMaxOffers);
  }
  uint32_t index = used_;
  if (free_.empty()) {
    ++used_;
  } else {
    index = free_.back();
    free_.pop_back();
  }
  auto& entry = reinterpret_cast<Entry*>(base_)[index];
  entry.kind = static_cast<uint32_t>(record.kind);
  entry.file = record.file;
  entry.device = record.device;
  entry.anybody = record.anybody;
  entry.offset = record.offset;
  entry.bytes = record.bytes;
  entry.pid_count.store(0, std::memory_order_relaxed);
  uint64_t nonce = RandomNonce();
  entry.nonce.store(nonce, std::memory_order_release);
  return {getpid(), index, nonce};
}

bool Offers::Allow(const OfferName& name, std::span<const int32_t> pids) {
  std::lock_guard guard(lock_);
  if (name.pid != getpid() || name.index >= used_) return false;
  auto& entry = reinterpret_cast<Entry*>(base_)[name.index];
  if (entry.nonce.load(std::memory_order_relaxed) != name.nonce) return false;
  uint32_t count = entry.pid_count.load(std::memory_order_relaxed);
  if (pids.size() > kMaxPids - count) {
    Fail(kBadArgument, "share-pids", "{} processes are named, {} were before; an offer can name {}",
         pids.size(), count, kMaxPids);
  }
  for (int32_t pid : pids) entry.pids[count++] = pid;
  entry.pid_count.store(count, std::memory_order_release);
  return true;
}

bool Offers::Withdraw(const OfferName& name) {
  std::lock_guard guard(lock_);
  if (name.pid != getpid() || name.index >= used_) return false;
  auto& entry = reinterpret_cast<Entry*>(base_)[name.index];
  uint64_t nonce = name.nonce;
  if (!entry.nonce.compare_exchange_strong(nonce, 0)) return false;
  free_.push_back(name.index);
  return true;
}

std::atomic<uint64_t>* Offers::TakeWords(size_t count) {
  std::lock_guard guard(lock_);
  Start();
  auto kept =
      std::find_if(free_words_.begin(), free_words_.end(), [&](const auto& f) { return f.second == count; });
  if (kept != free_words_.end()) {
    std::atomic<uint64_t>* words = kept->first;
    *kept = free_words_.back();
    free_words_.pop_back();
    for (size_t i = 0; i < count; ++i) words[i].store(0, std::memory_order_relaxed);
    return words;
  }
  if (words_used_ + count > kWordBytes / sizeof(uint64_t)) {
    Fail(kOutOfMemory, "share-limit", "the process has shared as many events and notifies as it can");
  }
  auto* words = reinterpret_cast<std::atomic<uint64_t>*>(base_ + kEntryBytes) + words_used_;
  words_used_ += count;
  return words;
}

void Offers::ReturnWords(std::atomic<uint64_t>* words, size_t count, bool offered) {
  if (offered) return;
  std::lock_guard guard(lock_);
  free_words_.emplace_back(words, count);
}

uint64_t Offers::OffsetOf(const std::atomic<uint64_t>* words) const {
  return static_cast<uint64_t>(reinterpret_cast<const std::byte*>(words) - base_);
}

// --- the importer's side

namespace {

class File {
 public:
  explicit File(int fd = -1) : fd_(fd) {}
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() { Reset(-1); }
  void Reset(int fd) {
    if (fd_ >= 0) close(fd_);
    fd_ = fd;
  }
  int fd() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

int OpenFileOf(int pid, const char* number) {
  return open(fmt::format("/proc/{}/fd/{}", pid, number).c_str(), O_RDWR | O_CLOEXEC);
}

// Whether this is the file of offers that holds the entry; the owner may have inherited another's.
bool ReadEntry(int file, const OfferName& name, Entry* entry) {
  auto at = static_cast<off_t>(name.index * sizeof(Entry));
  return pread(file, static_cast<void*>(entry), sizeof *entry, at) == sizeof *entry &&
         entry->nonce.load(std::memory_order_relaxed) == name.nonce;
}

bool FindEntry(const OfferName& name, File* file, Entry* entry) {
  std::unique_ptr<DIR, int (*)(DIR*)> folder(opendir(fmt::format("/proc/{}/fd", name.pid).c_str()),
                                             &closedir);
  if (folder == nullptr) {
    if (errno == EACCES) {
      Fail(kSharingFailed, "share-forbidden",
           "the system does not let this process see the files of process {}; both must belong to one user",
           name.pid);
    }
    return false;
  }
  std::string wanted = fmt::format("/memfd:{}", kFileName);
  while (dirent* found = readdir(folder.get())) {
    char target[64];
    ssize_t length = readlinkat(dirfd(folder.get()), found->d_name, target, sizeof target);
    if (length < 0 || !std::string_view(target, static_cast<size_t>(length)).starts_with(wanted)) continue;
    file->Reset(OpenFileOf(name.pid, found->d_name));
    if (file->fd() >= 0 && ReadEntry(file->fd(), name, entry)) return true;
  }
  return false;
}

void CheckMeantForUs(const OfferName& name, const Entry& entry) {
  if (entry.anybody != 0) return;
  uint32_t count = std::min(entry.pid_count.load(std::memory_order_acquire), kMaxPids);
  if (std::find(entry.pids, entry.pids + count, getpid()) != entry.pids + count) return;
  Fail(
      kBadArgument, "share-not-allowed",
      "process {} did not name this process ({}) among those that may import; it names them after the export "
      "(aclrtIpcMemSetImportPid and its like), or exports with the flag that asks for no list",
      name.pid, getpid());
}

std::atomic<uint64_t>* MapWords(int file, uint64_t offset) {
  uint64_t page = offset / kPage * kPage;
  void* base = mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_SHARED, file, static_cast<off_t>(page));
  if (base == MAP_FAILED) FailSystem("mapping what another process shares");
  return reinterpret_cast<std::atomic<uint64_t>*>(static_cast<std::byte*>(base) + (offset - page));
}

}  // namespace

ForeignOffer OpenOffer(const OfferName& name, OfferKind kind) {
  if (name.pid == getpid()) {
    Fail(kBadArgument, "share-own", "this process exported it itself; only other processes import it");
  }
  File file;
  Entry entry{};
  if (!FindEntry(name, &file, &entry) || entry.kind != static_cast<uint32_t>(kind)) {
    Fail(
        kNoSuchOffer, "share-gone",
        "process {} offers no such thing: it ended, withdrew it, or never did; import before the exporter closes",
        name.pid);
  }
  CheckMeantForUs(name, entry);
  ForeignOffer offer;
  offer.record = {kind, entry.file, entry.device, entry.anybody != 0, entry.offset, entry.bytes};
  if (kind == OfferKind::kEvent || kind == OfferKind::kNotify) {
    offer.words = MapWords(file.fd(), entry.offset);
    return offer;
  }
  offer.file = OpenFileOf(name.pid, std::to_string(entry.file).c_str());
  if (offer.file < 0) FailSystem("opening the memory of another process");
  return offer;
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
