#include "ops/index/indices.h"

#include "base/error.h"
#include "ops/index/place_loops.h"
#include "tensor/views.h"

namespace belay::ops {

namespace {

[[noreturn, gnu::cold]] void FailPlace(int64_t index, int64_t size) {
  Fail(kIndexFault, "op-index-range", "index {} is beyond a dimension of {} elements", index, size);
}

}  // namespace

int64_t CheckedPlace(int64_t index, int64_t size) {
  if (index >= 0 ? index < size : index >= -size) [[likely]] {
    return index < 0 ? index + size : index;
  }
  FailPlace(index, size);
}

Indices::Indices(Plan& plan, const Tensor& tensor)
    : copy_(PackedPlaces(tensor.shape), tensor), values_(plan, copy_.count()) {}

std::span<int64_t> Indices::Read(const Frame& frame, int binding) const {
  const std::span<int64_t> values(values_.At(frame), static_cast<size_t>(count()));
  copy_.Run(reinterpret_cast<char*>(values.data()), frame.at[binding]);
  return values;
}

std::span<int64_t> Indices::Places(const Frame& frame, int binding, int64_t size) const {
  const std::span<int64_t> values = Read(frame, binding);
  bool beyond = false;  // looked at behind the loop, which has no branches then
  for (const int64_t value : values) beyond |= value >= size || value < -size;
  if (beyond) {
    for (const int64_t value : values) CheckedPlace(value, size);
  }
  for (int64_t& value : values) value += value < 0 ? size : 0;
  return values;
}

NamedBlocks::NamedBlocks(Plan& plan, const Operand& index, const Tensor& named, int first)
    : copy_(PackedPlaces(index.shape()), *index.tensor),
      in_place_(copy_.packed_bytes() > 0),
      binding_(index.binding),
      offset_(OffsetOf(*index.tensor)) {
  const auto depth = static_cast<int>(index.shape().back(0));
  for (int d = first; d < first + depth; ++d) {
    sizes_.push_back(named.shape[d]);
    steps_.push_back(named.strides[d] * static_cast<int64_t>(BytesOf(named.dtype)));
  }
  rows_ = copy_.count() / depth;
  values_ = Scratch<int64_t>(plan, in_place_ ? rows_ : copy_.count());
}

std::span<const int64_t> NamedBlocks::Offsets(const Frame& frame) const {
  int64_t* offsets = values_.At(frame);
  const int64_t* given = offsets;
  if (in_place_) {
    given = reinterpret_cast<const int64_t*>(frame.at[binding_] + offset_);
  } else {
    copy_.Run(reinterpret_cast<char*>(offsets), frame.at[binding_]);
  }
  const auto depth = static_cast<int64_t>(sizes_.size());
  if (!BestRowPlaceLoop()(given, rows_, depth, sizes_.data(), steps_.data(), offsets)) {
    if (!in_place_) copy_.Run(reinterpret_cast<char*>(offsets), frame.at[binding_]);
    FailBeyond(given);
  }
  return {offsets, static_cast<size_t>(rows_)};
}

void NamedBlocks::FailBeyond(const int64_t* given) const {
  for (int64_t i = 0; i < rows_ * static_cast<int64_t>(sizes_.size()); ++i)
    CheckedPlace(given[i], sizes_[static_cast<size_t>(i) % sizes_.size()]);
  FailPlace(sizes_[0], sizes_[0]);  // what was wrong has changed meanwhile
}

Tensor PackedPlaces(const Shape& shape) { return PackedOf(DType::kI64, shape); }

}  // namespace belay::ops
