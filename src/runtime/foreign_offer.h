// An offer of another process, imported by this one: open for as long as the object lives, which its owner
// notices by a lock (offer_file.h). The file of offers of each process is open and mapped once, until the
// last import from it goes.
#pragma once

#include <cstdint>
#include <utility>

#include "runtime/offers.h"

namespace belay::rt {

struct ForeignFile;

class ForeignOffer {
 public:
  ForeignOffer() = default;
  ForeignOffer(ForeignOffer&& o) noexcept
      : record(o.record),
        name(o.name),
        file_(std::exchange(o.file_, nullptr)),
        memory_(std::exchange(o.memory_, -1)) {}
  ForeignOffer& operator=(ForeignOffer&& o) noexcept {
    std::swap(record, o.record);
    std::swap(name, o.name);
    std::swap(file_, o.file_);
    std::swap(memory_, o.memory_);
    return *this;
  }
  ~ForeignOffer();

  OfferRecord record;
  OfferName name;

  // Memory: a file of this process that shows it, which the caller closes.
  int TakeMemory() { return std::exchange(memory_, -1); }
  // Events and notifies.
  WordPair* words() const;
  // This process among those that use the words.
  uint32_t member() const;
  bool MemberEnded(uint32_t member) const;
  int32_t ProcessOf(uint32_t member) const;

 private:
  friend ForeignOffer OpenOffer(const OfferName& name, OfferKind kind);
  ForeignFile* file_ = nullptr;
  int memory_ = -1;
};

// Throws: no such process or offer, an offer of another kind, one that this process is not meant for, one of
// this process itself.
ForeignOffer OpenOffer(const OfferName& name, OfferKind kind);

}  // namespace belay::rt
