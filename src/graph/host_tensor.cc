#include "graph/host_tensor.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "base/error.h"
#include "base/memory_limit.h"
#include "graph/codes.h"
#include "tensor/convert.h"

namespace belay::graph {
namespace {

constexpr size_t kAlignment = 64;

std::shared_ptr<void> Allocate(size_t bytes, HostTensor::Fill fill) {
  size_t rounded = (bytes + kAlignment - 1) / kAlignment * kAlignment + kAlignment;
  void* memory = bytes > MemoryLimit() ? nullptr : std::aligned_alloc(kAlignment, rounded);
  if (memory == nullptr) {
    Fail(kMemoryExhausted, "graph-memory", "a tensor of {} bytes does not fit in memory", bytes);
  }
  const size_t from = fill == HostTensor::Fill::kZeros ? 0 : bytes;
  std::memset(static_cast<std::byte*>(memory) + from, 0, rounded - from);
  return {memory, &std::free};
}

template <class T>
std::vector<T> Converted(const HostTensor& tensor, DType to) {
  std::vector<T> values(static_cast<size_t>(tensor.count()));
  if (!tensor::CanConvert(to, tensor.dtype())) {
    Fail(kGraphInvalid, "graph-constant-type", "{} values cannot be used as numbers here",
         NameOf(tensor.dtype()));
  }
  tensor::Convert(to, values.data(), tensor.dtype(), tensor.data(), tensor.count());
  return values;
}

}  // namespace

size_t PackedBytes(DType dtype, int64_t count) {
  return (static_cast<size_t>(count) * tensor::InfoOf(dtype).bits + 7) / 8;
}

HostTensor::HostTensor(DType dtype, const Shape& shape, Fill fill) : dtype_(dtype), shape_(shape) {
  if (std::any_of(shape.begin(), shape.end(), [](int64_t size) { return size < 0; })) {
    Fail(kShapeInvalid, "graph-shape-open",
         "a tensor of shape {} cannot hold elements: each of its sizes must be known", shape.ToString());
  }
  if (bytes() <= kFewBytes) {
    std::memset(few_, 0, sizeof few_);
    data_ = few_;
    return;
  }
  auto memory = Allocate(bytes(), fill);
  data_ = static_cast<const std::byte*>(memory.get());
  owner_ = std::move(memory);
}

HostTensor::HostTensor(DType dtype, const Shape& shape, const void* data, std::shared_ptr<const void> owner)
    : dtype_(dtype), shape_(shape), data_(static_cast<const std::byte*>(data)), owner_(std::move(owner)) {}

HostTensor::HostTensor(Members members)
    : dtype_(DType::kUndefined),
      shape_{0},
      data_(nullptr),
      members_(std::make_shared<const Members>(std::move(members))) {}

size_t HostTensor::bytes() const { return PackedBytes(dtype_, count()); }

std::vector<int64_t> HostTensor::Ints() const { return Converted<int64_t>(*this, DType::kI64); }
std::vector<double> HostTensor::Reals() const { return Converted<double>(*this, DType::kF64); }

Constant IntsConstant(std::span<const int64_t> values) {
  auto tensor = std::make_shared<HostTensor>(DType::kI64, Shape{static_cast<int64_t>(values.size())});
  std::copy(values.begin(), values.end(), tensor->as<int64_t>());
  return tensor;
}

Constant IntConstant(int64_t value, DType dtype) {
  auto tensor = std::make_shared<HostTensor>(dtype, Shape{});
  tensor::Convert(dtype, tensor->mutable_data(), DType::kI64, &value, 1);
  return tensor;
}

Constant RealConstant(double value, DType dtype) {
  auto tensor = std::make_shared<HostTensor>(dtype, Shape{});
  tensor::Convert(dtype, tensor->mutable_data(), DType::kF64, &value, 1);
  return tensor;
}

Shape WithoutDim(const Shape& shape, int dim) {
  Shape rest;
  for (int d = 0; d < shape.rank(); ++d) {
    if (d != dim) rest.push_back(shape[d]);
  }
  return rest;
}

}  // namespace belay::graph
