// Keys and values written to the pages of a cache, and read back.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "base/error.h"
#include "base/parallel.h"
#include "ops/experts/experts.h"
#include "ops/experts/rows.h"
#include "ops/index/indices.h"
#include "ops/kernels.h"
#include "ops/layout/checks.h"
#include "ops/layout/moves.h"
#include "tensor/codes.h"
#include "tensor/views.h"

namespace belay::ops {
namespace {

// A cache [pages, rows, heads, size], or in tiles [pages, heads * size / tile, rows, tile].
struct Cache {
  int binding = -1;
  int64_t at = 0, page = 0, row = 0, outer = 0, inner = 0;  // steps in bytes
  int64_t pages = 0, rows = 0, outers = 0, inners = 0, bytes = 0;

  Cache() = default;
  Cache(const Operand& o, bool tiles) : binding(o.binding), at(tensor::OffsetOf(*o.tensor)) {
    const Tensor& t = *o.tensor;
    const int of_row = tiles ? 2 : 1, of_outer = tiles ? 1 : 2;
    pages = t.shape[0], rows = t.shape[of_row], outers = t.shape[of_outer], inners = t.shape[3];
    page = tensor::StepOf(t, 0), row = tensor::StepOf(t, of_row), outer = tensor::StepOf(t, of_outer);
    inner = tensor::StepOf(t, 3), bytes = static_cast<int64_t>(tensor::BytesOf(t.dtype));
  }

  // Moves elements [first, first + inners) of a row, for each first, between the cache and packed parts of
  // tokens.
  template <class Move>
  void Each(const Frame& frame, int64_t slot, const Move& move) const {
    char* to = frame.at[binding] + at + slot / rows * page + slot % rows * row;
    for (int64_t i = 0; i < outers; ++i) move(to + i * outer, i * inners);
  }
};

// Tokens [tokens, heads, size]: where an element of one lies.
struct Tokens {
  int binding = -1;
  int64_t at = 0, token = 0, head = 0, step = 0, size = 1, count = 0;

  Tokens() = default;
  explicit Tokens(const Operand& o) : binding(o.binding), at(tensor::OffsetOf(*o.tensor)) {
    const Tensor& t = *o.tensor;
    const int rank = t.shape.rank();
    count = t.shape[0], size = t.shape[rank - 1];
    token = tensor::StepOf(t, 0), step = tensor::StepOf(t, rank - 1);
    head = rank == 3 ? tensor::StepOf(t, 1) : 0;
  }
  char* Of(const Frame& frame, int64_t i, int64_t element) const {
    return frame.at[binding] + at + i * token + element / size * head + element % size * step;
  }
};

// One of key and value, and its cache.
struct Side {
  Tokens tokens;
  Cache cache;
  bool present() const { return tokens.binding >= 0; }

  // From the token to the slot, or back. Heads and tiles end where they want.
  void Move(const Frame& frame, int64_t token, int64_t slot, bool back) const {
    cache.Each(frame, slot, [&](char* to, int64_t first) {
      for (int64_t done = 0; done < cache.inners;) {
        const int64_t element = first + done;
        const int64_t n = std::min(cache.inners - done, tokens.size - element % tokens.size);
        char* in_token = tokens.Of(frame, token, element);
        char* in_cache = to + done * cache.inner;
        if (back) {
          MoveRow(in_token, tokens.step, in_cache, cache.inner, n, cache.bytes);
        } else {
          MoveRow(in_cache, cache.inner, in_token, tokens.step, n, cache.bytes);
        }
        done += n;
      }
    });
  }
  void Clear(const Frame& frame, int64_t token) const {
    static constexpr char kZeros[16] = {};
    for (int64_t i = 0; i < width(); i += tokens.size)
      MoveRow(tokens.Of(frame, token, i), tokens.step, kZeros, 0, tokens.size, cache.bytes);
  }
  int64_t width() const { return cache.outers * cache.inners; }
};

struct ScatterBody {
  Side sides[2];
  Indices slots;
  int slots_at;

  void operator()(const Frame& frame) const {
    const std::span<const int64_t> slot = slots.Read(frame, slots_at);
    const Cache& cache = sides[0].cache;
    for (const int64_t at : slot) {
      if (at < cache.pages * cache.rows) continue;
      Fail(kIndexFault, "op-index-range", "index {} is beyond a dimension of {} elements", at,
           cache.pages * cache.rows);
    }
    // A slot that is named twice keeps the last, as if one core did all.
    for (const Side& side : sides) {
      if (!side.present()) continue;
      for (size_t i = 0; i < slot.size(); ++i) {
        if (slot[i] >= 0) side.Move(frame, static_cast<int64_t>(i), slot[i], false);
      }
    }
  }
};

struct GatherBody {
  Side sides[2];
  Indices table, lengths, offsets;
  int table_at, lengths_at, offsets_at;
  int64_t width;  // of the table
  bool sums;

  void operator()(const Frame& frame) const {
    const std::span<const int64_t> pages = table.Read(frame, table_at),
                                   length = lengths.Read(frame, lengths_at);
    std::span<const int64_t> offset;
    if (offsets_at >= 0) offset = offsets.Read(frame, offsets_at);
    const int64_t rows = sides[0].cache.rows, sequences = table.count() / std::max<int64_t>(width, 1);
    for (int64_t s = 0, token = 0; s < sequences; ++s) {
      const auto at = static_cast<size_t>(s);
      const int64_t begin = sums ? std::max<int64_t>(length[at], 0) : 0;
      const int64_t n = length[sums ? at + 1 : at] < begin ? -1 : length[sums ? at + 1 : at] - begin;
      if (n < 0 || n > sides[0].tokens.count - token) {
        Fail(kIndexFault, "pages-lengths", "sequence {} has {} tokens, and the result room for {} more", s, n,
             sides[0].tokens.count - token);
      }
      const int64_t first_page = offset.empty() ? 0 : std::max<int64_t>(offset[at], 0) / rows;
      for (int64_t i = 0; i < n; ++i, ++token) {
        const int64_t column = first_page + i / rows;
        const int64_t page = column < width ? pages[static_cast<size_t>(s * width + column)] : -1;
        for (const Side& side : sides) {
          if (page < 0 || page >= side.cache.pages) {
            side.Clear(frame, token);  // what has no page is 0
          } else {
            side.Move(frame, token, page * rows + i % rows, true);
          }
        }
      }
    }
  }
};

// Null counts as Norm.
bool IsTiled(const Plan& plan, const char* mode) {
  const std::string_view name = mode == nullptr ? "" : mode;
  if (name.empty() || name == "Norm") return false;
  if (name == "PA_NZ") return true;
  RefuseExperts(plan, "cacheMode is none of Norm and PA_NZ");
}

Side SideOf(const Plan& plan, const Operand& tokens, const Operand& cache, bool tiles) {
  CheckExpertRank(plan, tokens, 2, 3);
  CheckExpertRank(plan, cache, 4, 4);
  CheckSameType(tokens, cache);
  Side side{Tokens(tokens), Cache(cache, tiles)};
  const int64_t width =
      tokens.tensor->shape.rank() == 3 ? tokens.shape()[1] * tokens.shape()[2] : tokens.shape()[1];
  if (width != side.width() ||
      (!tiles && tokens.shape().rank() == 3 && tokens.shape()[2] != cache.shape()[3])) {
    Fail(tensor::kInvalidArgument, "experts-shape",
         "{}: {} has shape {}, whose rows do not fit those of {} {}", plan.function(), tokens.name,
         tokens.shape().ToString(), cache.name, cache.shape().ToString());
  }
  return side;
}

}  // namespace

namespace kernels {

void ScatterPaKvCache(Plan& plan, DType, const ScatterPaKvCacheArguments& args) {
  for (const Operand* o : {&args.compress_lens, &args.compress_seq_offset, &args.seq_lens}) {
    if (o->present())
      RefuseExperts(plan, "compressLens, compressSeqOffset and seqLens are not there yet; pass null");
  }
  const std::string_view mode = args.scatter_mode == nullptr ? "" : args.scatter_mode;
  if (!mode.empty() && mode != "None")
    RefuseExperts(plan, "scatterMode is not None; others are not there yet");
  if (std::any_of(args.strides.begin(), args.strides.end(), [](int64_t s) { return s != 1; }) ||
      std::any_of(args.offsets.begin(), args.offsets.end(), [](int64_t o) { return o != 0; })) {
    RefuseExperts(plan, "strides other than 1 and offsets other than 0 are not there yet");
  }
  if (args.value.present() != args.value_cache_out.present())
    RefuseExperts(plan, "one of value and valueCache is null");
  const bool tiles = IsTiled(plan, args.cache_mode);
  ScatterBody body{{SideOf(plan, args.key, args.key_cache_out, tiles), {}}, {}, args.slot_mapping.binding};
  if (args.value.present()) {
    body.sides[1] = SideOf(plan, args.value, args.value_cache_out, tiles);
    const Cache &a = body.sides[0].cache, &b = body.sides[1].cache;
    if (a.pages != b.pages || a.rows != b.rows || args.value.shape()[0] != args.key.shape()[0])
      RefuseExperts(plan, "key and value have other numbers of tokens, or their caches of pages");
  }
  CheckExpertShape(plan, args.slot_mapping, {args.key.shape()[0]});
  if (args.key.tensor->empty()) return;
  body.slots = Indices(plan, *args.slot_mapping.tensor);
  plan.SetCost(500 + static_cast<uint64_t>(args.key.tensor->count()) / 2);
  plan.SetBody(body);
}

void GatherPaKvCache(Plan& plan, DType, const GatherPaKvCacheArguments& a) {
  const bool tiles = IsTiled(plan, a.cache_mode);
  GatherBody body{};
  body.sides[0] = SideOf(plan, a.key_out, a.key_cache, tiles);
  body.sides[1] = SideOf(plan, a.value_out, a.value_cache, tiles);
  if (body.sides[0].cache.rows == 0) RefuseExperts(plan, "the pages of keyCache have no rows");
  if (body.sides[0].cache.rows != body.sides[1].cache.rows || a.key_out.shape()[0] != a.value_out.shape()[0])
    RefuseExperts(plan, "key and value have other numbers of tokens, or their caches of rows");
  CheckExpertRank(plan, a.block_tables, 2, 2);
  const int64_t sequences = a.block_tables.shape()[0];
  CheckExpertShape(plan, a.seq_lens, {sequences + (a.is_seq_lens_cumsum ? 1 : 0)});
  if (a.seq_offset.present()) CheckExpertShape(plan, a.seq_offset, {sequences});
  if (a.key_out.tensor->empty() || a.block_tables.tensor->empty()) return;
  body.table = Indices(plan, *a.block_tables.tensor), body.table_at = a.block_tables.binding;
  body.lengths = Indices(plan, *a.seq_lens.tensor), body.lengths_at = a.seq_lens.binding;
  body.offsets_at = -1;
  if (a.seq_offset.present())
    body.offsets = Indices(plan, *a.seq_offset.tensor), body.offsets_at = a.seq_offset.binding;
  body.width = a.block_tables.shape()[1], body.sums = a.is_seq_lens_cumsum;
  plan.SetCost(500 + static_cast<uint64_t>(a.key_out.tensor->count()) / 2);
  plan.SetBody(body);
}

}  // namespace kernels
}  // namespace belay::ops
