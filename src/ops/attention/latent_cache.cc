#include "ops/attention/latent_cache.h"

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
#include "ops/matmul/tiles.h"
#include "ops/scratch.h"
#include "tensor/codes.h"
#include "tensor/views.h"

namespace belay::ops {

LatentCache::LatentCache(const Operand& cache, int of_row, bool tiles)
    : binding_(cache.binding), at_(tensor::OffsetOf(*cache.tensor)) {
  const Tensor& t = *cache.tensor;
  const int last = t.shape.rank() - 1;
  pages_ = t.shape[0], width_ = t.shape[last];
  page_ = tensor::StepOf(t, 0), step_ = tensor::StepOf(t, last);
  if (of_row > 0) rows_ = t.shape[of_row], row_ = tensor::StepOf(t, of_row);
  tile_ = tiles ? TileOf(t.dtype) : 0;
  lane_ = Lane(t.dtype, DType::kF32, step_);
}

int64_t LatentCache::TileOf(DType type) { return kTileBytes / static_cast<int64_t>(BytesOf(type)); }

void LatentCache::Store(const Frame& frame, int64_t slot, const float* values) const {
  char* to = frame.at[binding_] + at_ + slot / rows_ * page_;
  const int64_t line = slot % rows_, piece = tile_ != 0 ? tile_ : kBlock;
  for (int64_t i = 0; i < width_; i += piece) {
    const int64_t element = tile_ != 0 ? i * rows_ + line * tile_ : line * width_ + i;  // of the page
    char* place = to + element / width_ * row_ + element % width_ * step_;
    lane_.Store(place, values + i, std::min(piece, width_ - i), false);
  }
}

void NormaliseLatent(const float* x, const float* factors, int64_t n, double epsilon, float* to) {
  double squares = 0;
  for (int64_t j = 0; j < n; ++j) squares += static_cast<double>(x[j]) * static_cast<double>(x[j]);
  const auto by = static_cast<float>(1 / std::sqrt(squares / static_cast<double>(n) + epsilon));
  for (int64_t j = 0; j < n; ++j) to[j] = x[j] * by * factors[j];
}

void TurnApart(const float* x, const float* cosines, const float* sines, int64_t n, float* to) {
  const int64_t half = n / 2;
  for (int64_t j = 0; j < half; ++j) {
    const float even = x[2 * j], odd = x[2 * j + 1];
    to[j] = even * cosines[j] - odd * sines[j];
    to[half + j] = odd * cosines[half + j] + even * sines[half + j];
  }
}

void FailSlot(int64_t slot, int64_t slots) {
  Fail(kIndexFault, "op-index-range", "index {} is beyond a dimension of {} elements", slot, slots);
}

namespace {

enum class Place : uint8_t { kBatch, kRow, kPage };  // what an index counts in

struct CacheMode {
  Place place;
  bool tiles;

  int of_row() const { return place == Place::kBatch ? 2 : 1; }
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
    const int64_t c = latents.width(), r = keys.width();
    float *row = room.At(frame), *latent = row + c + r, *key = latent + c, *by = key + r;
    // A slot that is named twice keeps the last, as if one core did all.
    for (int64_t i = 0; i < kv.count(); ++i) {
      const float* x = kv.Load(frame, i, row);
      NormaliseLatent(x, gamma.Load(frame, 0, by), c, epsilon, latent);
      const float* cosines = cos.Load(frame, i, by);
      TurnApart(x + c, cosines, sin.Load(frame, i, by + r), r, key);
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
    const int64_t batch = i / tokens, token = i % tokens, rows = keys.rows();
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
    const int64_t begin = place == Place::kBatch ? i / tokens * keys.rows() : 0;
    const int64_t room_for = place == Place::kBatch ? keys.rows() : keys.slots();
    if (slot < 0 || slot - begin < room_for) return;
    FailSlot(slot - begin, room_for);
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
  if (mode.tiles && width % LatentCache::TileOf(cache.dtype()) != 0)
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
  const int64_t rows = a.keys.shape()[mode.of_row()];
  if (a.keys.shape()[0] != a.latents.shape()[0] || rows != a.latents.shape()[mode.of_row()] || rows == 0)
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
  body.keys = LatentCache(a.k_cache_out, mode.of_row(), mode.tiles);
  body.latents = LatentCache(a.ckv_cache_out, mode.of_row(), mode.tiles);
  if (a.is_output_kv) {
    if (!a.k_rope_out.present() || !a.c_kv_out.present())
      RefuseExperts(plan, "isOutputKv has no kRopeOut or cKvOut");
    const Shape& shape = a.kv.shape();
    CheckExpertShape(plan, a.k_rope_out, {shape[0], 1, shape[2], body.keys.width()});
    CheckExpertShape(plan, a.c_kv_out, {shape[0], 1, shape[2], body.latents.width()});
    CheckSameType(a.kv, a.k_rope_out);
    CheckSameType(a.kv, a.c_kv_out);
    body.key_out = Rows(a.k_rope_out), body.latent_out = Rows(a.c_kv_out);
  }
  if (a.kv.tensor->empty()) return;
  body.index = Indices(plan, *a.index.tensor), body.index_at = a.index.binding;
  body.place = mode.place, body.tokens = a.kv.shape()[2], body.epsilon = a.epsilon;
  const int64_t wide = std::max(body.latents.width(), 2 * body.keys.width());
  body.room = Scratch<float>(plan, 2 * (body.latents.width() + body.keys.width()) + wide);
  plan.SetCost(500 + static_cast<uint64_t>(a.kv.tensor->count()) / 2);
  plan.SetBody(body);
}

}  // namespace kernels
}  // namespace belay::ops
