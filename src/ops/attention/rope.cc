// Rotary position embeddings as inference calls them: in place, of neighbours put apart, and by a table of
// angles.
#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/parallel.h"
#include "ops/experts/experts.h"
#include "ops/experts/rows.h"
#include "ops/index/indices.h"
#include "ops/kernels.h"
#include "ops/layout/checks.h"
#include "ops/scratch.h"
#include "ops/sequence.h"

namespace belay::ops {
namespace {

enum RotaryMode : int64_t { kHalves = 0, kNeighbours = 1, kQuarters = 2, kApart = 3 };

// Both are turned where they lie, one after the other.
void PlanBoth(Plan& plan, DType type, const Operand& query, const Operand& key, const Operand& cos,
              const Operand& sin, int64_t layout, RotaryMode mode) {
  if (layout < 1 || layout > 4)
    RefuseExperts(plan, "layout is none of 1 (BSND), 2 (SBND), 3 (BNSD) and 4 (TND)");
  const int rank = layout == 4 ? 3 : 4;
  for (const Operand* o : {&query, &key, &cos, &sin}) CheckExpertRank(plan, *o, rank, rank);
  Sequence both(plan);
  for (const Operand* o : {&query, &key}) {
    both.Add([&](Plan& part) { kernels::RotaryPositionEmbedding(part, type, *o, cos, sin, mode, *o); });
  }
  both.Finish();
}

// The angles of tokens are rows of a table: cosines, then sines.
struct TableBody {
  Rows table, query, key, query_out, key_out;
  Indices positions;
  PieceScratch<float> room;
  int binding;
  int64_t tokens, kinds, size;   // kinds of positions of a token, elements of a head
  std::vector<int64_t> kind_of;  // which kind the angle comes from
  bool halves;

  void operator()(const Frame& frame) const {
    const std::span<const int64_t> at = positions.Places(frame, binding, table.count());
    room.For(frame, [&](int64_t begin, int64_t end, float* mine) {
      for (int64_t token = begin; token < end; ++token) Token(frame, at, token, mine);
    });
  }

  void Token(const Frame& frame, std::span<const int64_t> at, int64_t token, float* mine) const {
    const int64_t angles = table.width() / 2;
    float *cos = mine, *sin = cos + angles, *row = sin + angles;
    for (int64_t i = 0; i < angles; ++i) {
      const int64_t place = at[static_cast<size_t>(kind_of[static_cast<size_t>(i)] * tokens + token)];
      cos[i] = table.At(frame, place, i), sin[i] = table.At(frame, place, angles + i);
    }
    for (auto [from, to] : {std::pair{&query, &query_out}, {&key, &key_out}}) {
      const float* x = from->Load(frame, token, row);
      float* turned = row + from->width();
      std::copy_n(x, from->width(), turned);
      for (int64_t head = 0; head + size <= from->width(); head += size)
        Turn(x + head, cos, sin, angles, turned + head);
      to->Store(frame, token, turned);
    }
  }

  void Turn(const float* x, const float* cos, const float* sin, int64_t angles, float* to) const {
    const int64_t step = halves ? 1 : 2, apart = halves ? angles : 1;
    for (int64_t i = 0; i < angles; ++i) {
      const int64_t a = i * step, b = a + apart;
      to[a] = x[a] * cos[i] - x[b] * sin[i];
      to[b] = x[b] * cos[i] + x[a] * sin[i];
    }
  }
};

// Angle i comes from the section that it falls into.
std::vector<int64_t> KindsOf(const Plan& plan, std::span<const int64_t> sections, int64_t kinds,
                             int64_t angles) {
  std::vector<int64_t> kind(static_cast<size_t>(angles), 0);
  const bool none = std::all_of(sections.begin(), sections.end(), [](int64_t n) { return n == 0; });
  if (none && kinds > 1) RefuseExperts(plan, "positions has two dimensions, but mropeSection none");
  if (none) return kind;
  if (static_cast<int64_t>(sections.size()) != kinds)
    RefuseExperts(plan, "mropeSection has another number of sections than positions has rows");
  int64_t at = 0;
  for (size_t s = 0; s < sections.size(); ++s) {
    if (sections[s] < 0 || sections[s] > angles - at)
      RefuseExperts(plan, "mropeSection does not add up to the angles");
    std::fill_n(kind.begin() + at, sections[s], static_cast<int64_t>(s));
    at += sections[s];
  }
  if (at != angles) RefuseExperts(plan, "mropeSection does not add up to the angles");
  return kind;
}

// Every third angle is one of the second or the third kind, as far as their sections reach.
std::vector<int64_t> KindsByTurns(const Plan& plan, std::span<const int64_t> sections, int64_t kinds,
                                  int64_t angles) {
  std::vector<int64_t> kind = KindsOf(plan, sections, kinds, angles);
  if (kinds == 1) return kind;
  if (kinds != 3 || sections[1] != sections[2])
    RefuseExperts(plan, "cacheMode 1 takes three sections, of which the last two are equal");
  std::fill(kind.begin(), kind.end(), int64_t{0});
  for (int64_t i = 0; i < std::min(angles, 3 * sections[1]); ++i) kind[static_cast<size_t>(i)] = i % 3;
  return kind;
}

struct TableArgs {
  const Operand &positions, &query, &key, &table;
  std::span<const int64_t> sections;
  int64_t size;
  bool halves;
  int64_t mode;  // 0: the sections follow each other, 1: by turns
  const Operand &query_out, &key_out;
};

template <class Arguments>
TableArgs TakeTable(const Arguments& a, int64_t mode) {
  return {.positions = a.positions,
          .query = a.query_in,
          .key = a.key_in,
          .table = a.cos_sin_cache,
          .sections = a.mrope_section,
          .size = a.head_size,
          .halves = a.is_neox_style,
          .mode = mode,
          .query_out = a.query_out,
          .key_out = a.key_out};
}

void CheckTable(const Plan& plan, const TableArgs& a) {
  CheckExpertRank(plan, a.positions, 1, 2);
  for (const Operand* o : {&a.query, &a.key, &a.table}) CheckExpertRank(plan, *o, 2, 2);
  CheckExpertShape(plan, a.query_out, a.query.shape());
  CheckExpertShape(plan, a.key_out, a.key.shape());
  for (const Operand* o : {&a.key, &a.table, &a.query_out, &a.key_out}) CheckSameType(a.query, *o);
  const int64_t tokens = a.positions.shape().back(0), turned = a.table.shape()[1];
  if (a.positions.shape()[0] == 0 && tokens > 0) RefuseExperts(plan, "positions has no kinds of positions");
  if (a.query.shape()[0] != tokens || a.key.shape()[0] != tokens)
    RefuseExperts(plan, "query and key have another number of tokens than positions");
  if (a.size < 1 || a.query.shape()[1] % a.size != 0 || a.key.shape()[1] % a.size != 0)
    RefuseExperts(plan, "the sizes of query and key are no multiples of headSize");
  if (turned % 2 != 0 || turned > a.size)
    RefuseExperts(plan, "the rows of cosSinCache are not cosines and sines of at most a head");
  if (a.mode != 0 && a.mode != 1) RefuseExperts(plan, "cacheMode is 0 (one after another) or 1 (by turns)");
}

void PlanAngles(Plan& plan, const TableArgs& a) {
  CheckTable(plan, a);
  const Shape p = a.positions.shape();
  const int64_t tokens = p.back(0), kinds = p.rank() == 2 ? p[0] : 1, turned = a.table.shape()[1];
  const auto kinds_of = a.mode == 0 ? KindsOf : KindsByTurns;
  TableBody body{Rows(a.table),   Rows(a.query), Rows(a.key), Rows(a.query_out),
                 Rows(a.key_out), Indices(),     {},          a.positions.binding,
                 tokens,          kinds,         a.size,      kinds_of(plan, a.sections, kinds, turned / 2),
                 a.halves};
  if (tokens == 0) return;
  body.positions = Indices(plan, *a.positions.tensor);
  const int64_t widest = std::max(a.query.shape()[1], a.key.shape()[1]);
  body.room = {plan, tokens, RowGrain(widest), turned + 2 * widest};
  plan.SetCost(500 + static_cast<uint64_t>(a.query.tensor->count() + a.key.tensor->count()) * 2);
  plan.SetBody(body);
}

}  // namespace

namespace kernels {

void ApplyRotaryPosEmb(Plan& plan, DType type, const Operand& query, const Operand& key, const Operand& cos,
                       const Operand& sin, int64_t layout, const Operand&, const Operand&) {
  PlanBoth(plan, type, query, key, cos, sin, layout, kHalves);
}

void ApplyRotaryPosEmbV2(Plan& plan, DType type, const Operand& query, const Operand& key, const Operand& cos,
                         const Operand& sin, int64_t layout, const char* rotaryMode, const Operand&,
                         const Operand&) {
  const std::string_view mode = rotaryMode == nullptr ? "half" : rotaryMode;
  if (mode != "half" && mode != "interleave" && mode != "quarter")
    RefuseExperts(plan, "rotaryMode is none of half, interleave and quarter");
  const RotaryMode turns = mode == "half" ? kHalves : mode == "quarter" ? kQuarters : kNeighbours;
  PlanBoth(plan, type, query, key, cos, sin, layout, turns);
}

void InterleaveRope(Plan& plan, DType type, const Operand& x, const Operand& cos, const Operand& sin,
                    const Operand& out) {
  CheckExpertRank(plan, x, 4, 4);
  CheckExpertShape(plan, out, x.shape());
  RotaryPositionEmbedding(plan, type, x, cos, sin, kApart, out);
}

void RopeWithSinCosCache(Plan& plan, DType, const RopeWithSinCosCacheArguments& a) {
  PlanAngles(plan, TakeTable(a, 0));
}

void RopeWithSinCosCacheV2(Plan& plan, DType, const RopeWithSinCosCacheV2Arguments& a) {
  PlanAngles(plan, TakeTable(a, a.cache_mode));
}

}  // namespace kernels
}  // namespace belay::ops
