// What the tests of collectives share: groups of ranks in this process, and what each call should give.
#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "collective/board.h"
#include "collective/carrier.h"
#include "collective/operations.h"
#include "runtime/ring_support.h"
#include "tensor/convert.h"

namespace belay::coll::testing {

using tensor::DType;

// Ranks of one process; as if each were a process; or as if half of them were on another machine.
enum class Where { kTogether, kApart, kOnTwoHosts };
constexpr Where kAnywhere[] = {Where::kTogether, Where::kApart, Where::kOnTwoHosts};

inline std::vector<uint32_t> OnTwoHosts(uint32_t ranks) {
  std::vector<uint32_t> of;
  for (uint32_t r = 0; r < ranks; ++r) of.push_back(r * 2 / ranks);
  return of;
}

// Ranks over one piece of memory, or one of each host; `apart`: as if each were a process.
class Group {
 public:
  Group(uint32_t ranks, size_t staging, Where where, std::string name = "g")
      : Group(where == Where::kOnTwoHosts ? OnTwoHosts(ranks) : std::vector<uint32_t>(ranks), staging,
              where == Where::kApart, std::move(name)) {}
  Group(uint32_t ranks, size_t staging, bool apart, std::string name = "g")
      : Group(ranks, staging, apart ? Where::kApart : Where::kTogether, std::move(name)) {}
  // On several hosts: of[rank] is where.
  Group(const std::vector<uint32_t>& of, size_t staging, bool apart, std::string name = "g",
        WayKind way = WayKind::kDirect, bool by_rank = false) {
    Hosts hosts;
    hosts.of = of;
    hosts.kind = way;
    hosts.by_rank = by_rank;
    for (uint32_t r = 0; r < of.size(); ++r) {
      if (of[r] == hosts.count()) hosts.leaders.push_back(r);
    }
    bytes_ = Board::Bytes(hosts.ranks(), staging) + Outbox::Bytes(hosts);
    boards_.resize(hosts.ranks());
    std::vector<std::vector<Descriptor>> sockets = Sockets(hosts);
    for (uint32_t host = 0; host < hosts.count(); ++host) {
      hosts.own = host;
      CarrierPlan plan;
      plan.shared = {NewMemory(), bytes_, staging};
      if (hosts.count() > 1) plan.hosts = std::make_shared<const Hosts>(hosts);
      plan.name = name;
      for (uint32_t r = 0; r < hosts.ranks(); ++r) {
        if (of[r] != host) continue;
        boards_[r] = std::make_unique<Board>(plan.shared.memory, r, hosts.ranks(), staging, name, plan.hosts);
        if (apart) boards_[r]->PretendApart();
      }
      if (hosts.count() == 1) break;
      carriers_.push_back(std::make_shared<Carrier>(std::move(plan), std::move(sockets[host])));
      boards_[hosts.leaders[host]]->SetCourier(carriers_.back());
    }
  }
  ~Group() {
    for (const auto& carrier : carriers_) carrier->End();
    boards_.clear();
    carriers_.clear();
    for (std::byte* memory : memories_) munmap(memory, bytes_);
  }
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;
  Board& operator[](uint32_t rank) { return *boards_[rank]; }
  Carrier& carrier(uint32_t host) { return *carriers_[host]; }
  void EndCarrier(uint32_t host) { carriers_[host]->End(); }
  uint32_t ranks() const { return static_cast<uint32_t>(boards_.size()); }
  // By which it reduces; null: in the order of the ranks.
  const Placement* placement() const { return boards_[0]->placement(); }

 private:
  // From each host to each.
  static std::vector<std::vector<Descriptor>> Sockets(const Hosts& hosts) {
    std::vector<std::vector<Descriptor>> sockets(hosts.count());
    for (auto& all : sockets) all.resize(hosts.count());
    for (uint32_t a = 0; a < hosts.count(); ++a) {
      for (uint32_t b = a + 1; b < hosts.count(); ++b) {
        if (!hosts.way().AreNeighbours(a, b)) continue;
        int pair[2] = {-1, -1};
        EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair), 0);
        sockets[a][b] = Descriptor(pair[0]);
        sockets[b][a] = Descriptor(pair[1]);
      }
    }
    return sockets;
  }
  std::byte* NewMemory() {
    void* memory =
        mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    EXPECT_NE(memory, MAP_FAILED);
    return memories_.emplace_back(static_cast<std::byte*>(memory));
  }

  size_t bytes_ = 0;
  std::vector<std::byte*> memories_;
  std::vector<std::unique_ptr<Board>> boards_;
  std::vector<std::shared_ptr<Carrier>> carriers_;
};

using Bytes = std::vector<std::byte>;

// Small numbers, so that products stay finite and every type holds them; not the same for any two ranks.
// Those of floats differ so much in size that a sum of them depends on its order.
inline Bytes Numbers(DType type, uint64_t count, uint64_t seed) {
  std::vector<float> values(count);
  for (uint64_t i = 0; i < count; ++i) {
    uint64_t x = (seed * 0x9E3779B97F4A7C15u) ^ ((i + 1) * 0xD6E8FEB86659FD93u);
    x ^= x >> 29;
    x *= 0xBF58476D1CE4E5B9u;
    values[i] = static_cast<float>(static_cast<int>((x >> 40) % 31)) * 0.25f;
    if (!tensor::IsFloat(type)) {
      values[i] *= 4;
    } else {
      const int sizes = type == DType::kF16 ? 20 : 26;
      values[i] = std::ldexp(values[i] / static_cast<float>(1 + (x >> 20) % 7),
                             static_cast<int>((x >> 10) % static_cast<uint64_t>(sizes)) - sizes / 2 - 2);
    }
  }
  Bytes bytes(count * tensor::BytesOf(type));
  if (type == DType::kC128) {
    for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(seed * 31 + i * 7);
    return bytes;
  }
  tensor::Convert(type, bytes.data(), DType::kF32, values.data(), static_cast<int64_t>(count));
  return bytes;
}

// The plain reference: one element after the other, one rank after the other.
template <class T>
void FoldPlain(Reduction op, Bytes& to, const std::vector<Bytes>& from) {
  if (to.empty()) return;
  std::memcpy(to.data(), from[0].data(), to.size());
  for (size_t q = 1; q < from.size(); ++q) {
    for (size_t i = 0; i < to.size(); i += sizeof(T)) {
      T a, b;
      std::memcpy(&a, &to[i], sizeof a);
      std::memcpy(&b, &from[q][i], sizeof b);
      T c = op == Reduction::kSum    ? static_cast<T>(a + b)
            : op == Reduction::kProd ? static_cast<T>(a * b)
            : op == Reduction::kMax  ? std::max(a, b)
                                     : std::min(a, b);
      std::memcpy(&to[i], &c, sizeof c);
    }
  }
}

// Of a type that has arithmetic of its own.
inline Bytes FoldedAs(DType type, Reduction op, const std::vector<Bytes>& from) {
  Bytes to(from[0].size());
  switch (type) {
    case DType::kF32:
      FoldPlain<float>(op, to, from);
      break;
    case DType::kF64:
      FoldPlain<double>(op, to, from);
      break;
    case DType::kI8:
      FoldPlain<int8_t>(op, to, from);
      break;
    case DType::kI16:
      FoldPlain<int16_t>(op, to, from);
      break;
    case DType::kI32:
      FoldPlain<int32_t>(op, to, from);
      break;
    case DType::kI64:
      FoldPlain<int64_t>(op, to, from);
      break;
    case DType::kU8:
      FoldPlain<uint8_t>(op, to, from);
      break;
    case DType::kU16:
      FoldPlain<uint16_t>(op, to, from);
      break;
    case DType::kU32:
      FoldPlain<uint32_t>(op, to, from);
      break;
    default:
      FoldPlain<uint64_t>(op, to, from);
      break;
  }
  return to;
}

inline Bytes Converted(DType to, DType from, const Bytes& bytes) {
  const size_t count = bytes.size() / tensor::BytesOf(from);
  Bytes made(count * tensor::BytesOf(to));
  tensor::Convert(to, made.data(), from, bytes.data(), static_cast<int64_t>(count));
  return made;
}

// What all ranks have, in their order, or host by host.
inline Bytes Folded(DType type, Reduction op, const std::vector<Bytes>& from,
                    const Placement* placement = nullptr) {
  const DType wide = type == DType::kF16 || type == DType::kBF16 ? DType::kF32 : type;
  std::vector<Bytes> parts;
  for (const Bytes& one : from) parts.push_back(wide == type ? one : Converted(wide, type, one));
  if (placement != nullptr) {
    std::vector<Bytes> of_hosts;
    for (uint32_t host = 0; host < placement->hosts(); ++host) {
      std::vector<Bytes> here;
      for (const uint32_t rank : placement->RanksOn(host)) here.push_back(parts[rank]);
      of_hosts.push_back(FoldedAs(wide, op, here));
    }
    parts = std::move(of_hosts);
  }
  const Bytes folded = FoldedAs(wide, op, parts);
  return wide == type ? folded : Converted(type, wide, folded);
}

inline Bytes Cut(const Bytes& from, uint64_t offset, uint64_t count, size_t element) {
  auto begin = from.begin() + static_cast<ptrdiff_t>(offset * element);
  return Bytes(begin, begin + static_cast<ptrdiff_t>(count * element));
}

// One collective of all ranks: what each gives, and what each should have afterwards.
struct Case {
  Operation call;                // of every rank, but for what is its own
  std::vector<Operation> calls;  // of each
  std::vector<Bytes> given, expected;
  std::vector<Bytes> results;
  bool in_place = false;
};

// How much from each rank to each, for the calls that have several counts.
inline uint64_t Uneven(uint64_t count, uint32_t from, uint32_t to) {
  return (count * (1 + (from * 3 + to * 5) % 4)) / 2;
}

// `placement`: by which reductions go; null: in the order of the ranks.
Case MakeCase(Kind kind, DType type, Reduction op, uint64_t count, uint32_t ranks, uint32_t root,
              bool in_place, uint64_t seed, const Placement* placement = nullptr);

}  // namespace belay::coll::testing
