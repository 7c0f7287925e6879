#include "tensor/objects.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/error.h"
#include "base/fork.h"
#include "tensor/codes.h"

namespace belay::tensor {

constinit TensorTable g_tensors;
constinit ScalarTable g_scalars;
constinit IntArrayTable g_int_arrays;
constinit FloatArrayTable g_float_arrays;
constinit BoolArrayTable g_bool_arrays;
constinit TensorListTable g_tensor_lists;
constinit ScalarListTable g_scalar_lists;

namespace {
[[maybe_unused]] const bool g_objects_at_fork =
    UnlockInChild<g_tensors, g_scalars, g_int_arrays, g_float_arrays, g_bool_arrays, g_tensor_lists,
                  g_scalar_lists>();
}  // namespace

namespace {

void CheckNotNegative(const char* field, const int64_t* values, uint64_t count) {
  if (values == nullptr && count != 0) {
    Fail(kNullArgument, "tensor-null-dims", "{} is null, but it should hold {} numbers", field, count);
  }
  for (uint64_t i = 0; i < count; ++i) {
    if (values[i] < 0) {
      Fail(kInvalidArgument, "tensor-negative", "{}[{}] is {}; it must not be negative", field, i, values[i]);
    }
  }
}

Shape CheckedShape(const TensorSpec& spec) {
  if (spec.rank > kMaxRank) {
    Fail(kInvalidArgument, "tensor-rank", "viewDimsNum is {}; a tensor has at most {} dimensions", spec.rank,
         kMaxRank);
  }
  CheckNotNegative("viewDims", spec.dims, spec.rank);
  if (!CheckedCount({spec.dims, spec.rank})) {
    Fail(kInvalidArgument, "tensor-too-large", "the product of viewDims {} does not fit in 63 bits",
         Dims::Of(spec.dims, static_cast<int>(spec.rank)).ToString());
  }
  return Shape::Of(spec.dims, static_cast<int>(spec.rank));
}

Strides CheckedStrides(const TensorSpec& spec, const Shape& shape) {
  if (spec.strides == nullptr) return PackedStrides(shape);
  CheckNotNegative("stride", spec.strides, spec.rank);
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max() / 128;  // the bits of the largest elements
  for (uint64_t i = 0; i < spec.rank; ++i) {
    if (spec.strides[i] <= kMost) continue;
    Fail(kInvalidArgument, "tensor-too-large", "stride[{}] is {}, which no memory has", i, spec.strides[i]);
  }
  return Strides::Of(spec.strides, shape.rank());
}

int64_t CheckedStorage(const TensorSpec& spec, const Shape& shape) {
  constexpr uint64_t kMaxStorageRank = 64;
  if (spec.storage_rank > kMaxStorageRank) {
    Fail(kInvalidArgument, "tensor-storage-rank", "storageDimsNum is {}; at most {} are possible",
         spec.storage_rank, kMaxStorageRank);
  }
  // ggml computes a size below 0 for a view without elements.
  if (CountOf(shape) == 0) return 0;
  CheckNotNegative("storageDims", spec.storage, spec.storage_rank);
  std::optional<int64_t> count = CheckedCount({spec.storage, spec.storage_rank});
  int64_t bits;
  if (!count || __builtin_mul_overflow(*count, int64_t{InfoOf(spec.dtype).bits}, &bits)) {
    Fail(kInvalidArgument, "tensor-too-large", "the storage of {} does not fit in 63 bits",
         NameOf(spec.dtype));
  }
  return *count;
}

// The storage must hold every element of the view. Programs may count it from the view's first element (ggml
// does): what is really there is checked when the tensor is used.
void CheckBounds(Tensor& tensor) {
  std::optional<int64_t> extent = ExtentOf(tensor.shape, tensor.strides);
  if (extent == 0) return;
  int64_t end;
  if (!extent || __builtin_add_overflow(*extent, tensor.offset, &end)) {
    Fail(kInvalidArgument, "tensor-too-large", "the view {} with strides {} and offset {} overflows",
         tensor.shape.ToString(), tensor.strides.ToString(), tensor.offset);
  }
  int64_t bits;
  if (__builtin_mul_overflow(end, int64_t{InfoOf(tensor.dtype).bits}, &bits)) {
    Fail(kInvalidArgument, "tensor-too-large", "the view {} with offset {} does not fit in 63 bits",
         tensor.shape.ToString(), tensor.offset);
  }
  if (*extent > tensor.storage_count) {
    Fail(kInvalidArgument, "tensor-out-of-storage",
         "the view {} with strides {} spans {} elements, but storageDims hold only {}",
         tensor.shape.ToString(), tensor.strides.ToString(), *extent, tensor.storage_count);
  }
  tensor.storage_count = std::max(tensor.storage_count, end);
}

}  // namespace

Tensor MakeTensor(const TensorSpec& spec) {
  if (!IsKnown(spec.dtype)) {
    Fail(kInvalidArgument, "tensor-dtype", "dataType {} is not an aclDataType of a tensor",
         static_cast<int>(spec.dtype));
  }
  if (NameOf(spec.format) == nullptr) {
    Fail(kInvalidArgument, "tensor-format", "format {} is not an aclFormat", static_cast<int>(spec.format));
  }
  if (spec.offset < 0) {
    Fail(kInvalidArgument, "tensor-negative", "offset is {}; it must not be negative", spec.offset);
  }
  Tensor tensor;
  tensor.dtype = spec.dtype;
  tensor.format = spec.format;
  tensor.shape = CheckedShape(spec);
  tensor.strides = CheckedStrides(spec, tensor.shape);
  tensor.offset = spec.offset;
  tensor.data = spec.data;
  tensor.storage_count = CheckedStorage(spec, tensor.shape);
  if (spec.storage != nullptr) {
    tensor.storage.assign(spec.storage, spec.storage + spec.storage_rank);
  } else if (std::optional<int64_t> extent = ExtentOf(tensor.shape, tensor.strides)) {
    if (__builtin_add_overflow(*extent, tensor.offset, &tensor.storage_count)) {
      tensor.storage_count = 0;
    }
    tensor.storage.assign(1, tensor.storage_count);
  }
  CheckBounds(tensor);
  return tensor;
}

void Tensor::Settle() {
  const std::optional<Shape> last = told == nullptr ? std::nullopt : told->told();
  if (!last) return;
  shape = *last;
  strides = PackedStrides(shape);
}

std::string Tensor::ToString() const { return fmt::format("{} {}", NameOf(dtype), shape.ToString()); }

Scalar::Scalar(const void* value, DType dtype) : dtype_(dtype) {
  if (value == nullptr) Fail(kNullArgument, "scalar-null", "value is null");
  if (BytesOf(dtype) == 0 || dtype == DType::kString) {
    Fail(kInvalidArgument, "scalar-dtype", "a scalar cannot hold {} ({})", NameOf(dtype),
         static_cast<int>(dtype));
  }
  std::memcpy(bytes_, value, BytesOf(dtype));
}

double Scalar::Imaginary() const {
  if (!IsComplex(dtype_)) return 0;
  double parts[2];
  Convert(DType::kC128, parts, dtype_, bytes_, 1);
  return parts[1];
}

bool Scalar::IsWhole() const {
  if (!IsFloat(dtype_)) return !IsComplex(dtype_);
  double value = ToDouble();
  return std::isfinite(value) && std::trunc(value) == value;
}

std::string Scalar::ToString() const {
  if (IsFloat(dtype_)) return fmt::format("{} ({})", ToDouble(), NameOf(dtype_));
  if (IsComplex(dtype_)) return fmt::format("{} + {}i ({})", ToDouble(), Imaginary(), NameOf(dtype_));
  return fmt::format("{} ({})", ToInt(), NameOf(dtype_));
}

TensorList::~TensorList() {
  for (HandleBits item : items) g_tensors.Destroy(item);
}
ScalarList::~ScalarList() {
  for (HandleBits item : items) g_scalars.Destroy(item);
}

}  // namespace belay::tensor
