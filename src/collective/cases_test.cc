#include <algorithm>

#include "collective/testing.h"

namespace belay::coll::testing {
namespace {

// Where the parts of ranks begin when one follows the other, with a gap.
std::vector<uint64_t> OffsetsOf(const std::vector<uint64_t>& counts, uint64_t gap) {
  std::vector<uint64_t> offsets;
  uint64_t at = 0;
  for (uint64_t count : counts) {
    offsets.push_back(at);
    at += count + gap;
  }
  return offsets;
}

uint64_t EndOf(const std::vector<uint64_t>& counts, const std::vector<uint64_t>& offsets) {
  uint64_t end = 0;
  for (size_t i = 0; i < counts.size(); ++i) end = std::max(end, counts[i] + offsets[i]);
  return end;
}

void Put(Bytes& to, uint64_t offset, const Bytes& part, size_t element) {
  if (!part.empty()) std::memcpy(to.data() + offset * element, part.data(), part.size());
}

struct Maker {
  Case c;
  Kind kind;
  DType type;
  uint64_t count;
  uint32_t ranks, root;
  uint64_t seed;
  size_t element;
  const Placement* placement;

  void Counts(Operation& o, uint32_t r) const {
    const bool sends = kind == Kind::kReduceScatterV || kind == Kind::kAllToAllV || kind == Kind::kAllToAllVC;
    const bool receives = kind == Kind::kAllGatherV || kind == Kind::kAllToAllV || kind == Kind::kAllToAllVC;
    if (kind == Kind::kAllToAllVC) {
      std::vector<uint64_t> matrix;
      for (uint32_t a = 0; a < ranks; ++a) {
        for (uint32_t b = 0; b < ranks; ++b) matrix.push_back(Uneven(count, a, b));
      }
      FromMatrix(o, matrix.data(), r, ranks);
      return;
    }
    for (uint32_t q = 0; q < ranks; ++q) {
      if (sends) o.send_counts.push_back(Uneven(count, kind == Kind::kReduceScatterV ? 0 : r, q));
      if (receives) o.receive_counts.push_back(Uneven(count, q, kind == Kind::kAllGatherV ? 0 : r));
    }
    o.send_offsets = OffsetsOf(o.send_counts, 3 + r);  // each rank has its own
    o.receive_offsets = OffsetsOf(o.receive_counts, 2);
    if (kind == Kind::kAllGatherV) o.count = o.receive_counts[r];
    if (kind == Kind::kReduceScatterV) o.count = o.send_counts[r];
  }
  uint64_t SendCount(const Operation& o) const {
    if (!o.send_counts.empty()) return EndOf(o.send_counts, o.send_offsets);
    bool all = kind == Kind::kReduceScatter || kind == Kind::kScatter || kind == Kind::kAllToAll;
    return all ? o.count * ranks : kind == Kind::kBarrier ? 0 : o.count;
  }
  uint64_t ReceiveCount(const Operation& o) const {
    if (!o.receive_counts.empty()) return EndOf(o.receive_counts, o.receive_offsets);
    bool all = kind == Kind::kAllGather || kind == Kind::kAllToAll;
    return all ? o.count * ranks : kind == Kind::kBarrier ? 0 : o.count;
  }
  Bytes Sent(uint32_t from, uint32_t to) const {
    const Operation& o = c.calls[from];
    if (!o.send_counts.empty()) return Cut(c.given[from], o.send_offsets[to], o.send_counts[to], element);
    return Cut(c.given[from], to * o.count, o.count, element);
  }

  void Expect(uint32_t r) {
    const Operation& o = c.calls[r];
    Bytes& to = c.expected[r];
    switch (kind) {
      case Kind::kReduce:
        if (r != root) return;
        [[fallthrough]];
      case Kind::kAllReduce:
        to = Folded(type, o.op, c.given, placement);
        return;
      case Kind::kBroadcast:
        to = c.given[root];
        return;
      case Kind::kScatter:
        to = Sent(root, r);
        return;
      case Kind::kReduceScatter:
      case Kind::kReduceScatterV: {
        std::vector<Bytes> parts;
        for (uint32_t q = 0; q < ranks; ++q) parts.push_back(Sent(q, r));
        to = Folded(type, o.op, parts, placement);
        return;
      }
      case Kind::kBarrier:
        return;
      default:
        break;
    }
    const bool gather = kind == Kind::kAllGather || kind == Kind::kAllGatherV;
    for (uint32_t q = 0; q < ranks; ++q) {
      uint64_t offset = o.receive_offsets.empty() ? q * o.count : o.receive_offsets[q];
      Put(to, offset, gather ? c.given[q] : Sent(q, r), element);
    }
  }

  // Buffers: apart, or the one in the other where the call documents it.
  void Place(uint32_t r, bool in_place) {
    Operation& o = c.calls[r];
    Bytes& result = c.results[r];
    o.receive = result.data();
    o.send = c.given[r].data();
    if (kind == Kind::kBroadcast) {
      if (r == root) result = c.given[r];
      o.send = o.receive = result.data();
      return;
    }
    if (!in_place) return;
    switch (kind) {
      case Kind::kAllReduce:
      case Kind::kReduce:
      case Kind::kAllToAll:
        Put(result, 0, c.given[r], element);
        o.send = o.receive;
        break;
      case Kind::kAllGather:
        Put(result, r * o.count, c.given[r], element);
        o.send = result.data() + r * o.count * element;
        break;
      case Kind::kAllGatherV:
        Put(result, o.receive_offsets[r], c.given[r], element);
        o.send = result.data() + o.receive_offsets[r] * element;
        break;
      case Kind::kReduceScatter:
        o.receive = c.given[r].data() + r * o.count * element;
        break;
      case Kind::kScatter:
        if (r == root) o.receive = c.given[r].data() + r * o.count * element;
        break;
      default:
        break;
    }
  }
};

}  // namespace

Case MakeCase(Kind kind, DType type, Reduction op, uint64_t count, uint32_t ranks, uint32_t root,
              bool in_place, uint64_t seed, const Placement* placement) {
  Maker m{{}, kind, type, count, ranks, root, seed, tensor::BytesOf(type), placement};
  for (uint32_t r = 0; r < ranks; ++r) {
    Operation o;
    o.kind = kind;
    o.type = type;
    o.op = op;
    o.root = root;
    o.count = count;
    m.Counts(o, r);
    m.c.given.push_back(Numbers(type, m.SendCount(o), seed * 64 + r));
    m.c.results.emplace_back(m.ReceiveCount(o) * m.element);
    m.c.calls.push_back(o);
  }
  m.c.in_place = in_place;
  m.c.expected = m.c.results;
  for (uint32_t r = 0; r < ranks; ++r) m.Expect(r);
  for (uint32_t r = 0; r < ranks; ++r) m.Place(r, in_place);
  return std::move(m.c);
}

}  // namespace belay::coll::testing
