// What latent attention does before it attends: queries that keys in the latent space can be compared with,
// and the rows of the caches.
#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "ops/attention/flash.h"
#include "ops/attention/latent_cache.h"
#include "ops/attention/mla_rows.h"
#include "ops/experts/experts.h"
#include "ops/experts/rows.h"
#include "ops/kernels.h"
#include "ops/layout/checks.h"
#include "ops/steps.h"
#include "tensor/codes.h"
#include "tensor/views.h"

namespace belay::ops {
namespace {

enum WeightMode : int64_t { kNoBytes = 0, kUpBytes = 1, kAllBytes = 2 };
enum MlaCacheMode : int64_t { kPlainCaches = 0, kOneScale = 1, kScaleOfColumns = 2 };

struct MlaArgs {
  Operand x, down, up, absorb, down_latent, gamma, gamma_latent, sin, cos, kv_cache, kr_cache, index;
  Operand scale_x, scale_down, scale_up, scale_latent, scale_ckv, scale_ckr, smooth;
  Operand query, rope, query_scale;
  double epsilon, epsilon_latent;
  const char* cache_mode;
  // What the third version has.
  Operand lengths = {}, norm = {}, norm_scale = {};
  int64_t weights = kNoBytes, caches = kPlainCaches;
  double query_by = 1, latent_by = 1;
  bool third = false;
};

// Of both versions.
template <class Arguments>
MlaArgs TakeMla(const Arguments& a) {
  return {.x = a.token_x,
          .down = a.weight_dq,
          .up = a.weight_uq_qr,
          .absorb = a.weight_uk,
          .down_latent = a.weight_dkv_kr,
          .gamma = a.rmsnorm_gamma_cq,
          .gamma_latent = a.rmsnorm_gamma_ckv,
          .sin = a.rope_sin,
          .cos = a.rope_cos,
          .kv_cache = a.kv_cache_out,
          .kr_cache = a.kr_cache_out,
          .index = a.cache_index,
          .scale_x = a.dequant_scale_x,
          .scale_down = a.dequant_scale_w_dq,
          .scale_up = a.dequant_scale_w_uq_qr,
          .scale_latent = a.dequant_scale_w_dkv_kr,
          .scale_ckv = a.quant_scale_ckv,
          .scale_ckr = a.quant_scale_ckr,
          .smooth = a.smooth_scales_cq,
          .query = a.query_out,
          .rope = a.query_rope_out,
          .query_scale = a.dequant_scale_q_nope_out,
          .epsilon = a.rmsnorm_epsilon_cq,
          .epsilon_latent = a.rmsnorm_epsilon_ckv,
          .cache_mode = a.cache_mode};
}

struct MlaSizes {
  Shape lead;  // [tokens] or [batch, tokens]
  int64_t tokens, deep, low, heads, depth, latent, turned;
  Shape With(std::initializer_list<int64_t> last) const {
    int64_t dims[tensor::kMaxRank];
    std::copy(lead.begin(), lead.end(), dims);
    std::copy(last.begin(), last.end(), dims + lead.rank());
    return Shape::Of(dims, lead.rank() + static_cast<int>(last.size()));
  }
};

MlaSizes SizesOf(const Plan& plan, const MlaArgs& a) {
  CheckExpertRank(plan, a.x, 2, 3);
  CheckExpertRank(plan, a.absorb, 3, 3);
  for (const Operand* o : {&a.down, &a.up, &a.down_latent}) CheckExpertRank(plan, *o, 2, 2);
  const Shape x = a.x.shape(), absorb = a.absorb.shape();
  MlaSizes s;
  s.lead = Shape::Of(x.data(), x.rank() - 1);
  s.tokens = 1;
  for (const int64_t size : s.lead) s.tokens *= size;
  s.deep = x.back(0), s.low = a.down.shape()[1];
  s.heads = absorb[0], s.depth = absorb[1], s.latent = absorb[2];
  s.turned = a.down_latent.shape()[1] - s.latent;
  if (std::min({s.deep, s.low, s.heads, s.depth, s.latent}) < 1 || s.turned < 2 || s.turned % 2 != 0)
    RefuseExperts(plan, "weightDkvKr has the columns of weightUk and an even number of others; no size is 0");
  return s;
}

void CheckMlaShapes(const Plan& plan, const MlaArgs& a, const MlaSizes& s) {
  CheckExpertShape(plan, a.down, {s.deep, s.low});
  CheckExpertShape(plan, a.up, {s.low, s.heads * (s.depth + s.turned)});
  CheckExpertShape(plan, a.down_latent, {s.deep, s.latent + s.turned});
  CheckExpertShape(plan, a.gamma, {s.low});
  CheckExpertShape(plan, a.gamma_latent, {s.latent});
  for (const Operand* o : {&a.sin, &a.cos}) CheckExpertShape(plan, *o, s.With({s.turned}));
  CheckExpertShape(plan, a.query, s.With({s.heads, s.latent}));
  CheckExpertShape(plan, a.rope, s.With({s.heads, s.turned}));
  if (a.norm.present()) CheckExpertShape(plan, a.norm, s.With({s.low}));
}

void CheckMlaType(const Plan& plan, const Operand& o, bool bytes) {
  const DType wanted = bytes ? DType::kI8 : DType::kBF16;
  if (o.dtype() == wanted) return;
  Fail(tensor::kInvalidArgument, "op-same-type", "{}: {} is {}; with what is quantised here it is {}",
       plan.function(), o.name, NameOf(o.dtype()), NameOf(wanted));
}

void CheckMlaTypes(const Plan& plan, const MlaArgs& a) {
  for (const Operand* o : {&a.x, &a.down, &a.down_latent}) CheckMlaType(plan, *o, a.weights == kAllBytes);
  CheckMlaType(plan, a.up, a.weights != kNoBytes);
  CheckMlaType(plan, a.kv_cache, a.caches != kPlainCaches);
  CheckMlaType(plan, a.kr_cache, a.caches == kScaleOfColumns);
  CheckMlaType(plan, a.query, a.caches == kOneScale);
  if (a.norm.present()) CheckMlaType(plan, a.norm, a.weights != kNoBytes);
}

// There where it is needed, and nowhere else.
void CheckMlaScale(const Plan& plan, const Operand& scale, bool needed, const Shape& shape) {
  if (IsGiven(scale) != needed) {
    Fail(tensor::kInvalidArgument, "experts-argument", "{}: {} is {}; with what is quantised here it {}",
         plan.function(), scale.name, needed ? "missing" : "given", needed ? "is given" : "is null");
  }
  if (needed) CheckExpertShape(plan, scale, shape);
}

void CheckMlaScales(const Plan& plan, const MlaArgs& a, const MlaSizes& s) {
  const bool all = a.weights == kAllBytes, one = a.caches == kOneScale;
  CheckMlaScale(plan, a.scale_x, all && s.tokens > 0, {s.tokens, 1});
  CheckMlaScale(plan, a.scale_down, all, {1, s.low});
  CheckMlaScale(plan, a.scale_latent, all, {1, s.latent + s.turned});
  CheckMlaScale(plan, a.scale_up, a.weights != kNoBytes, {1, s.heads * (s.depth + s.turned)});
  CheckMlaScale(plan, a.scale_ckv, a.caches != kPlainCaches, one && a.third ? Shape{1} : Shape{1, s.latent});
  CheckMlaScale(plan, a.scale_ckr, a.caches == kScaleOfColumns, {1, s.turned});
  CheckMlaScale(plan, a.smooth, a.weights != kNoBytes && IsGiven(a.smooth), {1, s.low});
  if (one || a.third) {
    CheckMlaScale(plan, a.query_scale, one && s.tokens > 0, {s.tokens, s.heads, 1});
  } else if (IsGiven(a.query_scale)) {
    CheckExpertShape(plan, a.query_scale, {1});  // it is left as it is
  }
  const bool norm = a.norm.present() && a.weights != kNoBytes && s.tokens > 0;
  CheckMlaScale(plan, a.norm_scale, norm, {s.tokens, 1});
}

struct MlaCaches {
  MlaSlots::Place place;
  bool tiles;
};

MlaCaches CachesOf(const Plan& plan, const MlaArgs& a) {
  using Place = MlaSlots::Place;
  const std::string_view name = a.cache_mode == nullptr ? "PA_BSND" : a.cache_mode;
  if (name == "PA_BSND") return {Place::kRow, false};
  if (name == "PA_NZ") return {Place::kRow, true};
  if (!a.third) RefuseExperts(plan, "cacheMode is neither PA_BSND nor PA_NZ");
  if (name == "PA_BLK_BSND") return {Place::kPage, false};
  if (name == "PA_BLK_NZ") return {Place::kPage, true};
  if (name == (a.x.shape().rank() == 3 ? "BSND" : "TND")) return {Place::kToken, false};
  RefuseExperts(plan,
                "cacheMode is none of PA_BSND, PA_NZ, PA_BLK_BSND and PA_BLK_NZ, nor BSND for tokenX [batch, "
                "tokens, size], nor TND for [tokens, size]");
}

void CheckMlaCaches(const Plan& plan, const MlaArgs& a, const MlaSizes& s, MlaCaches mode) {
  const bool tokens = mode.place == MlaSlots::Place::kToken;
  if (!tokens) CheckExpertRank(plan, a.kv_cache, 4, 4);
  const Shape pages = a.kv_cache.shape();
  for (const auto& [cache, width] : {std::pair{&a.kv_cache, s.latent}, {&a.kr_cache, s.turned}}) {
    CheckExpertShape(plan, *cache, tokens ? s.With({1, width}) : Shape{pages[0], pages[1], 1, width});
    if (mode.tiles && width % LatentCache::TileOf(cache->dtype()) != 0)
      RefuseExperts(plan, "the rows of a cache in tiles are whole tiles of 32 bytes");
  }
}

void CheckMlaIndex(const Plan& plan, const MlaArgs& a, const MlaSizes& s, MlaCaches mode) {
  const bool by_page = mode.place == MlaSlots::Place::kPage, sums = by_page && s.lead.rank() == 1;
  if (mode.place == MlaSlots::Place::kToken) {
    if (IsGiven(a.index))
      RefuseExperts(plan, "cacheIndex is given, which caches of rows of tokens do not have");
  } else if (!a.index.present()) {
    RefuseExperts(plan, "cacheIndex is missing: it says which rows of the pages are written");
  } else if (!by_page) {
    CheckExpertShape(plan, a.index, s.lead);
  } else if (sums) {
    CheckExpertRank(plan, a.index, 1, 1);
  } else if (const int64_t rows = a.kv_cache.shape()[1]; rows > 0) {
    CheckExpertShape(plan, a.index, {s.lead[0], (s.lead[1] + rows - 1) / rows});
  }
  if (IsGiven(a.lengths) != sums && s.tokens > 0)
    RefuseExperts(plan, "actualSeqLen is for tokenX [tokens, size] with cacheMode PA_BLK_BSND or PA_BLK_NZ");
  if (sums) CheckExpertRank(plan, a.lengths, 1, 1);
}

// The tokens as rows of one matrix.
Operand TokensOf(Steps& steps, const MlaArgs& a, const MlaSizes& s) {
  const Tensor& x = *a.x.tensor;
  if (x.shape.rank() == 2) return a.x;
  Tensor rows = tensor::PackedOf(x.dtype, {s.tokens, s.deep});
  if (x.shape[0] == 1 || x.shape[1] == 1 || x.strides[0] == x.strides[1] * x.shape[1]) {
    rows.strides.back(1) = x.shape[1] == 1 ? x.strides[0] : x.strides[1];
    rows.strides.back(0) = x.strides[2], rows.offset = x.offset, rows.storage = x.storage;
    return steps.View(a.x, rows);
  }
  const Operand packed = steps.Between(a.x.name, x.dtype, x.shape);
  steps.Add([&](Plan& step) { kernels::Copy(step, x.dtype, a.x, packed); });
  return steps.View(packed, rows);
}

// A column [rows, 1] as a list.
Operand ListOf(Steps& steps, const Operand& column) {
  return steps.View(column, tensor::WithoutDim(*column.tensor, 1));
}

// Bytes where `row_scale` is there, else BFLOAT16.
void AddMlaProduct(Steps& steps, const Operand& x, const Operand& weight, const Operand& row_scale,
                   const Operand& scale, const Operand& out) {
  steps.Add([&](Plan& step) {
    if (!row_scale.present()) return kernels::MatmulWeightNz(step, DType::kBF16, x, weight, 0, out);
    kernels::QuantMatmulWeightNz(step, DType::kF32,
                                 {.x1 = x,
                                  .x2 = weight,
                                  .x1_scale = row_scale,
                                  .x2_scale = scale,
                                  .transpose_x1 = false,
                                  .transpose_x2 = false,
                                  .group_size = 0,
                                  .out = out});
  });
}

// The tokens as queries of all heads, in both parts: [tokens, heads, depth + turned].
Operand AddQueries(Steps& steps, const MlaArgs& a, const MlaSizes& s, const Operand& x,
                   const Operand& scale) {
  const bool bytes = a.weights != kNoBytes;
  const Operand down = steps.Between("down", scale.present() ? DType::kF32 : DType::kBF16, {s.tokens, s.low});
  AddMlaProduct(steps, x, a.down, scale, a.scale_down, down);
  const Operand c = steps.Between("c", bytes ? DType::kI8 : DType::kBF16, {s.tokens, s.low});
  const Operand each = bytes ? steps.Between("scale of c", DType::kF32, {s.tokens}) : Operand{};
  steps.Add([&](Plan& step) {
    MlaNormBody body{.down = Rows(down),
                     .gamma = Rows(a.gamma),
                     .smooth = IsGiven(a.smooth) ? Rows(a.smooth) : Rows(),
                     .c = Rows(c),
                     .step = Rows(each, true),
                     .c_out = Rows(a.norm),
                     .step_out = IsGiven(a.norm_scale) ? Rows(a.norm_scale) : Rows(),
                     .epsilon = a.epsilon,
                     .by = static_cast<float>(a.query_by),
                     .quantised = bytes,
                     .room = {step, s.tokens, RowGrain(s.low), 3 * s.low}};
    step.SetCost(500 + static_cast<uint64_t>(s.tokens * s.low));
    step.SetBody(body);
  });
  const Operand up = steps.Between("queries", bytes ? DType::kF32 : DType::kBF16,
                                   {s.tokens, s.heads * (s.depth + s.turned)});
  AddMlaProduct(steps, c, a.up, each, a.scale_up, up);
  return up;
}

// Part [tokens, heads, n] of the queries, from column `first` of each head on.
Tensor PartOfHeads(const Operand& up, const MlaSizes& s, int64_t first, int64_t n) {
  Tensor part = *up.tensor;
  const int64_t each = s.depth + s.turned;
  part.shape = {s.tokens, s.heads, n}, part.strides = {s.heads * each, each, 1};
  part.offset = first;
  return part;
}

Tensor HeadsFirst(Tensor part) {
  std::swap(part.shape[0], part.shape[1]);
  std::swap(part.strides[0], part.strides[1]);
  return part;
}

void AddHeads(Steps& steps, const MlaArgs& a, const MlaSizes& s, const Operand& up) {
  const Operand query = steps.Between("query", DType::kBF16, {s.tokens, s.heads, s.latent});
  const Operand plain = steps.View(up, HeadsFirst(PartOfHeads(up, s, 0, s.depth)));
  const Operand absorbed = steps.View(query, HeadsFirst(*query.tensor));
  steps.Add([&](Plan& step) { kernels::Matmul(step, DType::kBF16, plain, a.absorb, 0, absorbed); });
  const Operand turning = steps.View(up, PartOfHeads(up, s, s.depth, s.turned));
  steps.Add([&](Plan& step) {
    const bool quantised = a.caches == kOneScale;
    MlaQueryBody body{.query = Rows(query),
                      .turning = Rows(turning),
                      .cos = Rows(a.cos),
                      .sin = Rows(a.sin),
                      .query_out = Rows(a.query),
                      .rope_out = Rows(a.rope),
                      .step_out = quantised ? Rows(a.query_scale) : Rows(),
                      .latent_by = quantised ? Rows(a.scale_ckv, a.third) : Rows(),
                      .heads = s.heads,
                      .quantised = quantised,
                      .room = {step, s.tokens * s.heads, RowGrain(s.latent), s.latent + 4 * s.turned}};
    step.SetCost(500 + static_cast<uint64_t>(s.tokens * s.heads * (s.latent + s.turned)));
    step.SetBody(body);
  });
}

// What the latent cache is multiplied by for bytes: one number, or one for each column.
Rows LatentFactors(Steps& steps, const MlaArgs& a) {
  if (a.caches == kPlainCaches) return {};
  if (a.caches == kScaleOfColumns || a.third) return Rows(a.scale_ckv);
  Tensor first = *a.scale_ckv.tensor;
  first.shape = {1, 1};
  return Rows(steps.View(a.scale_ckv, first));
}

void AddLatent(Steps& steps, const MlaArgs& a, const MlaSizes& s, MlaCaches mode, const Operand& x,
               const Operand& scale) {
  if (a.kv_cache.tensor->empty()) return;
  const Operand latent = steps.Between("latent", DType::kF32, {s.tokens, s.latent + s.turned});
  AddMlaProduct(steps, x, a.down_latent, scale, a.scale_latent, latent);
  steps.Add([&](Plan& step) {
    const bool tokens = mode.place == MlaSlots::Place::kToken;
    const int of_row = tokens && s.lead.rank() == 1 ? 0 : 1;
    MlaCacheBody body;
    body.latent = Rows(latent), body.gamma = Rows(a.gamma_latent), body.cos = Rows(a.cos),
    body.sin = Rows(a.sin);
    body.latent_by = LatentFactors(steps, a);
    body.key_by = a.caches == kScaleOfColumns ? Rows(a.scale_ckr) : Rows();
    body.latents = LatentCache(a.kv_cache, of_row, mode.tiles);
    body.keys = LatentCache(a.kr_cache, of_row, mode.tiles);
    body.epsilon = a.epsilon_latent, body.by = static_cast<float>(a.latent_by);
    body.slots.place = mode.place, body.slots.tokens = s.tokens, body.slots.each = s.lead.back(0);
    if (!tokens) body.slots.index = Indices(step, *a.index.tensor), body.slots.index_at = a.index.binding;
    if (IsGiven(a.lengths))
      body.slots.ends = Indices(step, *a.lengths.tensor), body.slots.ends_at = a.lengths.binding;
    body.places = Scratch<int64_t>(step, s.tokens);
    body.room = Scratch<float>(step, 2 * (s.latent + s.turned) + std::max(s.latent, 2 * s.turned));
    step.SetCost(500 + static_cast<uint64_t>(s.tokens * (s.latent + s.turned)));
    step.SetBody(body);
  });
}

void PlanMla(Plan& plan, const MlaArgs& a) {
  const MlaSizes s = SizesOf(plan, a);
  CheckMlaShapes(plan, a, s);
  CheckMlaTypes(plan, a);
  CheckMlaScales(plan, a, s);
  const MlaCaches mode = CachesOf(plan, a);
  CheckMlaCaches(plan, a, s, mode);
  CheckMlaIndex(plan, a, s, mode);
  if (s.tokens == 0) return;
  Steps steps(plan);
  const Operand x = TokensOf(steps, a, s);
  const Operand scale = a.weights == kAllBytes ? ListOf(steps, a.scale_x) : Operand{};
  AddHeads(steps, a, s, AddQueries(steps, a, s, x, scale));
  AddLatent(steps, a, s, mode, x, scale);
  steps.Finish();
}

// What the third version is told it is to do, as far as it can.
void CheckMlaModes(const Plan& plan, const kernels::MlaPrologV3WeightNzArguments& a) {
  if (a.kv_cache_quant_mode == 3 || a.ckvkr_repo_mode != 0 || a.quant_scale_repo_mode != 0)
    RefuseExperts(
        plan,
        "kvCacheQuantMode 3 (scales of tokens and groups), ckvkrRepoMode and quantScaleRepoMode are not there "
        "yet");
  if (IsGiven(a.k_nope_clip_alpha))
    RefuseExperts(plan, "kNopeClipAlpha is given, which belongs to kvCacheQuantMode 3");
  constexpr int64_t kModes[][3] = {{0, 0, 0}, {1, 0, 0}, {1, 2, 0}, {2, 0, 0}, {2, 1, 1}};
  for (const auto& [weights, caches, query] : kModes) {
    if (a.weight_quant_mode == weights && a.kv_cache_quant_mode == caches && a.query_quant_mode == query)
      return;
  }
  RefuseExperts(
      plan,
      "weightQuantMode, kvCacheQuantMode and queryQuantMode are none of 0 0 0, 1 0 0, 1 2 0, 2 0 0 and 2 1 1; 8-bit "
      "floats (weightQuantMode 3 to 5) are not there");
}

}  // namespace

namespace kernels {

void MlaPrologV2WeightNz(Plan& plan, DType, const MlaPrologV2WeightNzArguments& a) {
  MlaArgs args = TakeMla(a);
  args.weights = args.x.dtype() == DType::kI8    ? kAllBytes
                 : args.up.dtype() == DType::kI8 ? kUpBytes
                                                 : kNoBytes;
  if (args.kv_cache.dtype() == DType::kI8) {
    if (args.weights == kNoBytes) RefuseExperts(plan, "caches of INT8 are for weights of INT8");
    args.caches = args.weights == kAllBytes ? kOneScale : kScaleOfColumns;
  }
  PlanMla(plan, args);
}

void MlaPrologV3WeightNz(Plan& plan, DType, const MlaPrologV3WeightNzArguments& a) {
  CheckMlaModes(plan, a);
  MlaArgs args = TakeMla(a);
  args.lengths = a.actual_seq_len, args.norm = a.query_norm_out, args.norm_scale = a.dequant_scale_q_norm_out;
  args.weights = a.weight_quant_mode, args.caches = a.kv_cache_quant_mode;
  args.query_by = a.qc_qr_scale, args.latent_by = a.kc_scale, args.third = true;
  PlanMla(plan, args);
}

}  // namespace kernels
}  // namespace belay::ops
