#include "ops/index/indices.h"

#include "base/error.h"
#include "tensor/views.h"

namespace belay::ops {

int64_t CheckedPlace(int64_t index, int64_t size) {
  if (index >= 0 ? index < size : index >= -size) [[likely]] {
    return index < 0 ? index + size : index;
  }
  Fail(kIndexFault, "op-index-range", "index {} is beyond a dimension of {} elements", index, size);
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

Tensor PackedPlaces(const Shape& shape) { return PackedOf(DType::kI64, shape); }

}  // namespace belay::ops
