// Sums, means and largest elements of bags of embeddings.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>

#include "base/error.h"
#include "ops/index/indices.h"
#include "ops/kernels.h"
#include "ops/layout/checks.h"
#include "ops/packed_floats.h"
#include "ops/scratch.h"
#include "tensor/codes.h"
#include "tensor/views.h"

namespace belay::ops {
namespace {

enum class Bag : uint8_t { kSum, kMean, kMax };

// Numbers of a result of INT32 or INT64, packed as i64 until all are there.
class Numbers {
 public:
  Numbers() = default;
  Numbers(const Operand& operand, Plan& plan) : binding_(operand.binding), type_(operand.dtype()) {
    values_ = {plan, operand.tensor->count()};
    narrow_ = {plan, type_ == DType::kI64 ? 0 : operand.tensor->count()};
    if (count() != 0) copy_ = StridedCopy(*operand.tensor, tensor::PackedOf(type_, operand.shape()));
  }

  int64_t count() const { return values_.count(); }
  int64_t* At(const Frame& frame) const { return values_.At(frame); }
  void Finish(const Frame& frame) const {
    if (count() == 0) return;
    const int64_t* from = values_.At(frame);
    if (type_ == DType::kI64) return copy_.Run(frame.at[binding_], reinterpret_cast<const char*>(from));
    int32_t* to = narrow_.At(frame);
    for (int64_t i = 0; i < count(); ++i) to[i] = static_cast<int32_t>(from[i]);
    copy_.Run(frame.at[binding_], reinterpret_cast<const char*>(to));
  }

 private:
  int binding_ = -1;
  DType type_ = DType::kI64;
  Scratch<int64_t> values_;
  Scratch<int32_t> narrow_;
  StridedCopy copy_;
};

struct EmbeddingBagBody {
  PackedFloats weight, factors, out;
  Indices indices, offsets;
  int index_binding, offset_binding;
  Numbers bag_of, sizes, largest;
  int64_t rows, width, bags, count, padding;
  Bag how;

  void operator()(const Frame& frame) const {
    const std::span<int64_t> row = indices.Places(frame, index_binding, rows),
                             begin = offsets.Read(frame, offset_binding);
    CheckOffsets(begin);
    const float *from = weight.Load(frame), *factor = factors.Load(frame);
    float* to = out.Begin(frame);
    int64_t *bag = bag_of.At(frame), *size = sizes.At(frame), *where = largest.At(frame);
    std::fill_n(where, largest.count(), int64_t{0});
    for (int64_t b = 0; b < bags; ++b) {
      const int64_t first = begin[static_cast<size_t>(b)];
      const int64_t last =
          b + 1 < static_cast<int64_t>(begin.size()) ? begin[static_cast<size_t>(b + 1)] : count;
      if (bag_of.count() != 0) std::fill(bag + first, bag + last, b);
      size[b] = Fill(row.subspan(static_cast<size_t>(first), static_cast<size_t>(last - first)), from,
                     factor == nullptr ? nullptr : factor + first, to + b * width,
                     how == Bag::kMax ? where + b * width : nullptr);
    }
    out.Finish(frame);
    for (const Numbers* result : {&bag_of, &sizes, &largest}) result->Finish(frame);
  }

  void CheckOffsets(std::span<const int64_t> begin) const {
    const bool ordered = std::is_sorted(begin.begin(), begin.end());
    if (ordered && (begin.empty() || (begin.front() == 0 && begin.back() <= count))) return;
    Fail(kIndexFault, "op-embedding-bag-offsets", "offsets begin with 0, do not fall and are at most {}",
         count);
  }

  // The number of elements that count.
  int64_t Fill(std::span<const int64_t> places, const float* from, const float* factor, float* to,
               int64_t* where) const {
    int64_t counted = 0;
    std::fill_n(to, width, 0.0f);
    for (size_t i = 0; i < places.size(); ++i) {
      const int64_t place = places[i];
      if (place == padding) continue;
      const float* row = from + place * width;
      const float scale = factor == nullptr ? 1 : factor[i];
      for (int64_t k = 0; k < width; ++k) {
        if (how != Bag::kMax) {
          to[k] += scale * row[k];
        } else if (counted == 0 || row[k] > to[k]) {
          to[k] = row[k], where[k] = place;
        }
      }
      ++counted;
    }
    for (int64_t k = 0; how == Bag::kMean && counted > 0 && k < width; ++k)
      to[k] /= static_cast<float>(counted);
    return counted;
  }
};

Bag BagOf(int64_t mode, bool scaled) {
  if (mode < 0 || mode > 2 || (scaled && mode != 0)) {
    Fail(tensor::kInvalidArgument, "op-embedding-bag",
         "mode is {}; it is 0 (sum), 1 (mean) or 2 (max), and 0 where perSampleWeights is given", mode);
  }
  return static_cast<Bag>(mode);
}

void CheckBags(const Operand& weight, const Operand& indices, const Operand& offsets, bool last) {
  if (weight.shape().rank() != 2 || indices.shape().rank() != 1 || offsets.shape().rank() != 1 ||
      (last && offsets.tensor->empty())) {
    Fail(
        tensor::kInvalidArgument, "op-embedding-bag",
        "{} has the shape {}, {} {} and {} {}; they are [rows, width], a vector and a vector, which is not empty with "
        "includeLastOffset",
        weight.name, weight.shape().ToString(), indices.name, indices.shape().ToString(), offsets.name,
        offsets.shape().ToString());
  }
}

}  // namespace

namespace kernels {

void EmbeddingBag(Plan& plan, DType, const EmbeddingBagArguments& a) {
  CheckBags(a.weight, a.indices, a.offsets, a.include_last_offset);
  EmbeddingBagBody body{};
  body.how = BagOf(a.mode, a.per_sample_weights.present());
  body.rows = a.weight.shape()[0], body.width = a.weight.shape()[1];
  body.count = a.indices.shape()[0], body.bags = a.offsets.shape()[0] - (a.include_last_offset ? 1 : 0);
  body.padding = a.padding_idx;
  if (a.per_sample_weights.present()) CheckShape(a.per_sample_weights, a.indices.shape());
  CheckShape(a.output, {body.bags, body.width});
  if (!a.offset2bag.tensor->empty()) CheckShape(a.offset2bag, a.indices.shape());
  CheckShape(a.bag_size, {body.bags});
  if (body.how == Bag::kMax) {
    CheckShape(a.max_indices, a.output.shape());
  } else if (!a.max_indices.tensor->empty()) {
    CheckShape(a.max_indices, {body.bags});
  }
  body.weight = PackedFloats(a.weight, Flow::kIn, plan);
  body.factors = PackedFloats(a.per_sample_weights, Flow::kIn, plan);
  body.out = PackedFloats(a.output, Flow::kOut, plan);
  body.indices = Indices(plan, *a.indices.tensor), body.offsets = Indices(plan, *a.offsets.tensor);
  body.index_binding = a.indices.binding, body.offset_binding = a.offsets.binding;
  body.bag_of = Numbers(a.offset2bag, plan), body.sizes = Numbers(a.bag_size, plan);
  body.largest = Numbers(a.max_indices, plan);
  plan.SetCost(200 + static_cast<uint64_t>(body.count * body.width));
  plan.SetBody(body);
}

}  // namespace kernels
}  // namespace belay::ops
