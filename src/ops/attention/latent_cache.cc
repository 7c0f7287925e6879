// Latent attention: what is kept of a token is its normalised latent part and its turned key, each in a cache
// of its own.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/error.h"
#include "ops/experts/experts.h"
#include "ops/experts/rows.h"
#include "ops/index/indices.h"
#include "ops/kernels.h"
#include "ops/layout/checks.h"
#include "ops/scratch.h"
#include "tensor/codes.h"
#include "tensor/views.h"

namespace belay::ops {
namespace {

constexpr int64_t kTile = 16;  // elements of two bytes

enum class Place : uint8_t { kBatch, kRow, kPage };  // what an index counts in

struct CacheMode {
  Place place;
  bool tiles;
};

// Rows of a cache [batch, 1, rows, width] or [pages, rows, 1, width]; in tiles the elements of a page are
// those of [width / 16, rows, 16].
struct LatentCache {
  int binding = -1;
  int64_t at = 0, page = 0, row = 0, step = 0;  // bytes
  int64_t pages = 0, rows = 0, width = 0;
  bool tiles = false;
  Lane lane;

  LatentCache() = default;
  LatentCache(const Operand& o, CacheMode mode) : binding(o.binding), at(tensor::OffsetOf(*o.tensor)) {
    const Tensor& t = *o.tensor;
    const int of_row = mode.place == Place::kBatch ? 2 : 1;
    pages = t.shape[0], rows = t.shape[of_row], width = t.shape[3];
    page = tensor::StepOf(t, 0), row = tensor::StepOf(t, of_row), step = tensor::StepOf(t, 3);
    tiles = mode.tiles;
    lane = Lane(t.dtype, DType::kF32, step);
  }
  void Store(const Frame& frame, int64_t slot, const float* values) const {
    char* to = frame.at[binding] + at + slot / rows * page;
    const int64_t line = slot % rows, piece = tiles ? kTile : kBlock;
    for (int64_t i = 0; i < width; i += piece) {
      const int64_t element = tiles ? i * rows + line * kTile : line * width + i;  // of the page
      char* place = to + element / width * row + element % width * step;
      lane.Store(place, values + i, std::min(piece, width - i), false);
    }
  }
};

struct LatentBody {
  Rows kv, gamma, cos, sin, key_out, latent_out;
  LatentCache keys, latents;
  Indices index;
  int index_at = -1;
  Place place = Place::kBatch;
  int64_t tokens = 0;  // of a batch
  double epsilon = 0;
  Scratch<float> room;

  void operator()(const Frame& frame) const {
    const std::span<const int64_t> places = index.Read(frame, index_at);
    for (int64_t i = 0; i < kv.count(); ++i) CheckSlot(places, i);
    const int64_t c = latents.width, r = keys.width;
    float *row = room.At(frame), *latent = row + c + r, *key = latent + c, *by = key + r;
    // A slot that is named twice keeps the last, as if one core did all.
    for (int64_t i = 0; i < kv.count(); ++i) {
      const float* x = kv.Load(frame, i, row);
      Normalise(x, gamma.Load(frame, 0, by), latent);
      const float* cosines = cos.Load(frame, i, by);
      Turn(x + c, cosines, sin.Load(frame, i, by + r), key);
      if (const int64_t slot = SlotOf(places, i); slot >= 0) {
        keys.Store(frame, slot, key);
        latents.Store(frame, slot, latent);
      }
      if (key_out.present()) key_out.Store(frame, i, key);
      if (latent_out.present()) latent_out.Store(frame, i, latent);
    }
  }

  // Negative: the token is left out.
  int64_t SlotOf(std::span<const int64_t> places, int64_t i) const {
    const int64_t batch = i / tokens, token = i % tokens, rows = keys.rows;
    if (place != Place::kPage) {
      const int64_t at = places[static_cast<size_t>(i)];
      return at < 0 || place == Place::kRow ? at : batch * rows + at;
    }
    const int64_t pages = (tokens + rows - 1) / rows;
    const int64_t first = places[static_cast<size_t>(batch * pages + token / rows)];
    return first < 0 ? -1 : first + token % rows;
  }

  void CheckSlot(std::span<const int64_t> places, int64_t i) const {
    const int64_t slot = SlotOf(places, i);
    const int64_t begin = place == Place::kBatch ? i / tokens * keys.rows : 0;
    const int64_t room_for = place == Place::kBatch ? keys.rows : keys.pages * keys.rows;
    if (slot < 0 || slot - begin < room_for) return;
    Fail(kIndexFault, "op-index-range", "index {} is beyond a dimension of {} elements", slot - begin,
         room_for);
  }

  void Normalise(const float* x, const float* factors, float* to) const {
    double squares = 0;
    for (int64_t j = 0; j < latents.width; ++j)
      squares += static_cast<double>(x[j]) * static_cast<double>(x[j]);
    const double root = std::sqrt(squares / static_cast<double>(latents.width) + epsilon);
    const auto by = static_cast<float>(1 / root);
    for (int64_t j = 0; j < latents.width; ++j) to[j] = x[j] * by * factors[j];
  }

  // The even elements come before the odd ones, then halves are turned.
  void Turn(const float* x, const float* cosines, const float* sines, float* to) const {
    const int64_t half = keys.width / 2;
    for (int64_t j = 0; j < half; ++j) {
      const float even = x[2 * j], odd = x[2 * j + 1];
      to[j] = even * cosines[j] - odd * sines[j];
      to[half + j] = odd * cosines[half + j] + even * sines[half + j];
    }
  }
};

// Null counts as Norm.
CacheMode ModeOf(const Plan& plan, const char* text) {
  const std::string_view name = text == nullptr ? "" : text;
  if (name.empty() || name == "Norm") return {Place::kBatch, false};
  if (name == "PA" || name == "PA_BNSD") return {Place::kRow, false};
  if (name == "PA_NZ") return {Place::kRow, true};
  if (name == "PA_BLK_BNSD") return {Place::kPage, false};
  if (name == "PA_BLK_NZ") return {Place::kPage, true};
  RefuseExperts(plan, "cacheMode is none of Norm, PA, PA_BNSD, PA_NZ, PA_BLK_BNSD and PA_BLK_NZ");
}

struct LatentArgs {
  const Operand &kv, &gamma, &cos, &sin, &index, &keys, &latents;
};

void CheckCache(const Plan& plan, const Operand& cache, const LatentArgs& a, CacheMode mode, int64_t width) {
  CheckExpertRank(plan, cache, 4, 4);
  CheckSameType(a.kv, cache);
  const Shape& shape = cache.shape();
  const int of_one = mode.place == Place::kBatch ? 1 : 2;
  const bool batches = mode.place != Place::kBatch || shape[0] == a.kv.shape()[0];
  if (shape[of_one] != 1 || shape[3] != width || !batches) {
    Fail(tensor::kInvalidArgument, "experts-shape",
         "{}: {} has shape {}; with cacheMode Norm it is [batch, 1, rows, {}], else [pages, rows, 1, {}]",
         plan.function(), cache.name, shape.ToString(), width, width);
  }
  if (mode.tiles && width % kTile != 0)
    RefuseExperts(plan, "the rows of a cache in tiles are whole tiles of 16 elements");
}

void CheckLatent(const Plan& plan, const LatentArgs& a, CacheMode mode) {
  CheckExpertRank(plan, a.kv, 4, 4);
  CheckExpertRank(plan, a.gamma, 1, 1);
  CheckExpertRank(plan, a.cos, 4, 4);
  const Shape& kv = a.kv.shape();
  const int64_t c = a.gamma.shape()[0], r = kv[3] - c;
  if (kv[1] != 1 || c <= 0 || r <= 0 || r % 2 != 0)
    RefuseExperts(plan, "kv is [batch, 1, tokens, c + r], of which gamma has c, and r is even");
  for (const Operand* o : {&a.cos, &a.sin}) {
    CheckExpertShape(plan, *o, {kv[0], 1, kv[2], r});
    CheckSameType(a.kv, *o);
  }
  CheckSameType(a.kv, a.gamma);
  CheckCache(plan, a.keys, a, mode, r);
  CheckCache(plan, a.latents, a, mode, c);
  const int of_row = mode.place == Place::kBatch ? 2 : 1;
  const int64_t rows = a.keys.shape()[of_row];
  if (a.keys.shape()[0] != a.latents.shape()[0] || rows != a.latents.shape()[of_row] || rows == 0)
    RefuseExperts(plan, "kCache and ckvCache have other numbers of pages or rows, or none");
  const int64_t pages = (kv[2] + rows - 1) / rows;
  CheckExpertShape(plan, a.index,
                   mode.place == Place::kBatch ? Shape{kv[0], kv[2]}
                                               : Shape{kv[0] * (mode.place == Place::kRow ? kv[2] : pages)});
}

}  // namespace

namespace kernels {

void KvRmsNormRopeCache(Plan& plan, DType, const KvRmsNormRopeCacheArguments& a) {
  for (const Operand* o : {&a.k_rope_scale, &a.ckv_scale, &a.k_rope_offset, &a.ckv_offset}) {
    if (o->present() && !o->tensor->empty())
      RefuseExperts(plan, "scales and offsets are given, but caches of INT8 are not there yet; pass null");
  }
  const CacheMode mode = ModeOf(plan, a.cache_mode);
  const LatentArgs args{a.kv, a.gamma, a.cos, a.sin, a.index, a.k_cache_out, a.ckv_cache_out};
  CheckLatent(plan, args, mode);
  if (a.is_output_kv && mode.place == Place::kBatch)
    RefuseExperts(plan, "isOutputKv is for caches of pages; with cacheMode Norm it is false");
  LatentBody body;
  body.kv = Rows(a.kv), body.gamma = Rows(a.gamma), body.cos = Rows(a.cos), body.sin = Rows(a.sin);
  body.keys = LatentCache(a.k_cache_out, mode), body.latents = LatentCache(a.ckv_cache_out, mode);
  if (a.is_output_kv) {
    if (!a.k_rope_out.present() || !a.c_kv_out.present())
      RefuseExperts(plan, "isOutputKv has no kRopeOut or cKvOut");
    const Shape& shape = a.kv.shape();
    CheckExpertShape(plan, a.k_rope_out, {shape[0], 1, shape[2], body.keys.width});
    CheckExpertShape(plan, a.c_kv_out, {shape[0], 1, shape[2], body.latents.width});
    CheckSameType(a.kv, a.k_rope_out);
    CheckSameType(a.kv, a.c_kv_out);
    body.key_out = Rows(a.k_rope_out), body.latent_out = Rows(a.c_kv_out);
  }
  if (a.kv.tensor->empty()) return;
  body.index = Indices(plan, *a.index.tensor), body.index_at = a.index.binding;
  body.place = mode.place, body.tokens = a.kv.shape()[2], body.epsilon = a.epsilon;
  const int64_t wide = std::max(body.latents.width, 2 * body.keys.width);
  body.room = Scratch<float>(plan, 2 * (body.latents.width + body.keys.width) + wide);
  plan.SetCost(500 + static_cast<uint64_t>(a.kv.tensor->count()) / 2);
  plan.SetBody(body);
}

}  // namespace kernels
}  // namespace belay::ops
