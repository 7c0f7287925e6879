#include "runtime/foreign_offer.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <list>
#include <map>
#include <memory>
#include <string_view>

#include "base/codes.h"
#include "base/error.h"
#include "base/fork.h"
#include "base/system_limit.h"
#include "runtime/codes.h"

namespace belay::rt {

// The file of offers of another process, while this one has imported something from there.
struct ForeignFile {
  int fd = -1;
  int32_t opener = 0;   // the process that opened it: a forked child leaves it alone
  uint64_t device = 0;  // these two tell files apart
  uint64_t inode = 0;
  OfferFile* base = nullptr;
  uint32_t member = 0;                 // this process
  std::map<uint32_t, uint32_t> holds;  // offers that are in use here, and how often
};

namespace {

constexpr int kSharingFailed = codes::kRtIpcError;

[[noreturn]] void FailSystem(const char* what) {
  const int why = errno;
  Fail(CodeOfRefusal(why), "share-system", "{} failed ({})", what, ExplainRefusal(why));
}

[[noreturn]] void FailGone(const OfferName& name) {
  Fail(
      kNoSuchOffer, "share-gone",
      "process {} offers no such thing: it ended, withdrew it, or never did; import before the exporter closes",
      name.pid);
}

int OpenFileOf(int pid, const char* number) {
  return open(fmt::format("/proc/{}/fd/{}", pid, number).c_str(), O_RDWR | O_CLOEXEC);
}

class Files {
 public:
  static Files& Get() { return PerProcess<Files>::Get(); }

  std::mutex& lock() { return lock_; }
  ForeignFile& Find(const OfferName& name);
  void CloseUnused(ForeignFile* file);
  static void Join(ForeignFile& file);

 private:
  ForeignFile* Known(uint64_t device, uint64_t inode);
  ForeignFile* Open(int folder, const char* number);

  std::mutex lock_;
  std::list<ForeignFile> files_;
};

ForeignFile* Files::Known(uint64_t device, uint64_t inode) {
  auto it = std::find_if(files_.begin(), files_.end(),
                         [&](const ForeignFile& f) { return f.device == device && f.inode == inode; });
  return it == files_.end() ? nullptr : &*it;
}

bool HasEntry(const ForeignFile& file, const OfferName& name) {
  return name.index < kMaxOffers && name.nonce != 0 &&
         file.base->entries[name.index].nonce.load(std::memory_order_acquire) == name.nonce;
}

// The file of offers that holds the entry; its process may have inherited or imported others. A file that is
// open already is not opened again: closing it would give up its locks.
ForeignFile& Files::Find(const OfferName& name) {
  std::unique_ptr<DIR, int (*)(DIR*)> folder(opendir(fmt::format("/proc/{}/fd", name.pid).c_str()),
                                             &closedir);
  if (folder == nullptr) {
    if (errno == EACCES) {
      Fail(kSharingFailed, "share-forbidden",
           "the system does not let this process see the files of process {}; both must belong to one user",
           name.pid);
    }
    if (errno == EMFILE || errno == ENFILE || errno == ENOMEM)
      FailSystem("looking at another process's files");
    FailGone(name);
  }
  std::string wanted = fmt::format("/memfd:{} ", kOfferFileName);
  while (dirent* found = readdir(folder.get())) {
    char target[64];
    ssize_t length = readlinkat(dirfd(folder.get()), found->d_name, target, sizeof target);
    if (length < 0 || !std::string_view(target, static_cast<size_t>(length)).starts_with(wanted)) continue;
    ForeignFile* file = Open(dirfd(folder.get()), found->d_name);
    if (file == nullptr) continue;
    if (HasEntry(*file, name)) return *file;
    CloseUnused(file);
  }
  FailGone(name);
}

// Null when the process has closed it, it is no file of offers, or this process's own.
ForeignFile* Files::Open(int folder, const char* number) {
  // A descriptor that only names the file: closing it leaves the locks alone.
  int at = openat(folder, number, O_PATH | O_CLOEXEC);
  if (at < 0 && (errno == EMFILE || errno == ENFILE)) FailSystem("opening what another process shares");
  if (at < 0) return nullptr;
  struct stat about {};
  bool fits = fstat(at, &about) == 0 && about.st_size >= static_cast<off_t>(sizeof(OfferFile)) &&
              !Offers::Get().IsOwnFile(about.st_dev, about.st_ino);
  ForeignFile* known = fits ? Known(about.st_dev, about.st_ino) : nullptr;
  int fd = -1;
  int why = 0;
  if (fits && known == nullptr) {
    fd = open(fmt::format("/proc/self/fd/{}", at).c_str(), O_RDWR | O_CLOEXEC);
    why = errno;
  }
  close(at);
  if (!fits || known != nullptr) return known;
  errno = why;
  if (fd < 0) FailSystem("opening what another process shares");
  void* base = mmap(nullptr, sizeof(OfferFile), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
  if (base == MAP_FAILED) {
    why = errno;
    close(fd);
    errno = why;
    FailSystem("mapping what another process shares");
  }
  madvise(base, sizeof(OfferFile), MADV_DONTFORK);
  files_.push_back({fd, getpid(), about.st_dev, about.st_ino, static_cast<OfferFile*>(base), 0, {}});
  return &files_.back();
}

// Takes a number that no living process has.
void Files::Join(ForeignFile& file) {
  while (file.member == 0) {
    uint32_t member = file.base->members.fetch_add(1, std::memory_order_relaxed) % kMaxMembers;
    if (member != 0 && LockByte(file.fd, ByteOfMember(member), false)) file.member = member;
  }
  auto& name = file.base->names[file.member % std::size(file.base->names)];
  name.store(uint64_t{file.member} << 32 | static_cast<uint32_t>(getpid()), std::memory_order_relaxed);
}

void Files::CloseUnused(ForeignFile* file) {
  if (!file->holds.empty()) return;
  munmap(file->base, sizeof(OfferFile));
  close(file->fd);
  files_.remove_if([&](const ForeignFile& f) { return &f == file; });
}

void CheckMeantForUs(const OfferName& name, const OfferEntry& entry) {
  if (entry.anybody != 0) return;
  uint32_t count = std::min(entry.pid_count.load(std::memory_order_acquire), kMaxOfferPids);
  if (std::find(entry.pids, entry.pids + count, getpid()) != entry.pids + count) return;
  Fail(
      kBadArgument, "share-not-allowed",
      "process {} did not name this process ({}) among those that may import; it names them after the export "
      "(aclrtIpcMemSetImportPid and its like), or exports with the flag that asks for no list",
      name.pid, getpid());
}

// Under Files::lock: locks the entry, so that the owner keeps it as it is.
void Take(ForeignFile& file, const OfferName& name, OfferKind kind) {
  const OfferEntry& entry = file.base->entries[name.index];
  if (entry.kind != static_cast<uint32_t>(kind)) FailGone(name);
  CheckMeantForUs(name, entry);
  if (file.member == 0) Files::Join(file);
  if (!file.holds.contains(name.index)) {
    LockByte(file.fd, ByteOfOffer(name.index), true);
    OfferEntry& shared = file.base->entries[name.index];
    shared.last_importer.store(getpid(), std::memory_order_relaxed);
    shared.importers.fetch_add(1, std::memory_order_release);
  }
  ++file.holds[name.index];
}

int OpenMemory(const ForeignFile& file, const OfferName& name, int number) {
  int memory = OpenFileOf(name.pid, std::to_string(number).c_str());
  int why = errno;
  if (!HasEntry(file, name)) {  // the number may be another file's by now
    if (memory >= 0) close(memory);
    FailGone(name);
  }
  errno = why;
  if (memory < 0) FailSystem("opening the memory of another process");
  return memory;
}

}  // namespace

ForeignOffer OpenOffer(const OfferName& name, OfferKind kind) {
  if (name.pid == getpid()) {
    Fail(kBadArgument, "share-own", "this process exported it itself; only other processes import it");
  }
  ForeignOffer offer;  // goes after the lock, which giving it back takes
  Files& files = Files::Get();
  std::lock_guard guard(files.lock());
  ForeignFile& file = files.Find(name);
  try {
    Take(file, name, kind);
  } catch (...) {
    files.CloseUnused(&file);
    throw;
  }
  offer.file_ = &file;
  offer.name = name;
  const OfferEntry& entry = file.base->entries[name.index];
  offer.record = {kind, entry.file, entry.device, entry.anybody != 0, entry.offset, entry.bytes};
  if (!HasEntry(file, name)) FailGone(name);  // withdrawn before it was locked
  if (kind == OfferKind::kPhysicalMemory || kind == OfferKind::kBlock) {
    offer.memory_ = OpenMemory(file, name, entry.file);
  } else if (entry.offset % sizeof(WordPair) != 0 || entry.offset > sizeof(OfferFile) - sizeof(WordPair)) {
    FailGone(name);
  }
  return offer;
}

ForeignOffer::~ForeignOffer() {
  if (memory_ >= 0) close(memory_);
  if (file_ == nullptr || file_->opener != getpid()) return;
  Files& files = Files::Get();
  std::lock_guard guard(files.lock());
  auto hold = file_->holds.find(name.index);
  if (--hold->second == 0) {
    CountOut(file_->base->entries[name.index]);
    UnlockByte(file_->fd, ByteOfOffer(name.index));
    file_->holds.erase(hold);
  }
  files.CloseUnused(file_);
}

WordPair* ForeignOffer::words() const {
  return reinterpret_cast<WordPair*>(reinterpret_cast<std::byte*>(file_->base) + record.offset);
}

uint32_t ForeignOffer::member() const { return file_->member; }

bool ForeignOffer::MemberEnded(uint32_t member) const {
  return member != file_->member && !LockedByAnother(file_->fd, ByteOfMember(member));
}

int32_t ForeignOffer::ProcessOf(uint32_t member) const {
  if (member == 0) return name.pid;
  uint64_t of = file_->base->names[member % std::size(file_->base->names)].load(std::memory_order_relaxed);
  return of >> 32 == member ? static_cast<int32_t>(of) : 0;
}

}  // namespace belay::rt
