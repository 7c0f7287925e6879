// A tensor in ordinary memory together with its contents: a constant of a graph, a value that was
// worked out while compiling, or what the interpreter computes with. Packed, row-major.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tensor/dims.h"
#include "tensor/dtype.h"

namespace belay::graph {

using tensor::DType;
using tensor::Shape;

class HostTensor {
 public:
  enum class Fill : uint8_t { kZeros, kNothing };
  // Throws Error when the size is beyond reason.
  HostTensor(DType dtype, const Shape& shape, Fill fill = Fill::kZeros);
  // Somebody else's bytes, which `owner` keeps alive.
  HostTensor(DType dtype, const Shape& shape, const void* data, std::shared_ptr<const void> owner);
  // The bytes of another one, which is kept alive.
  HostTensor(DType dtype, const Shape& shape, const std::shared_ptr<const HostTensor>& source)
      : HostTensor(dtype, shape, source->data_, OwnerOf(source)) {}
  // A sequence of tensors, which only the interpreter knows: a value of no type and no elements.
  using Members = std::vector<std::shared_ptr<const HostTensor>>;
  explicit HostTensor(Members members);
  HostTensor(const HostTensor&) = delete;  // its bytes may lie in it
  HostTensor& operator=(const HostTensor&) = delete;

  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  int64_t count() const { return tensor::CountOf(shape_); }
  size_t bytes() const;
  const std::byte* data() const { return data_; }
  std::byte* mutable_data() { return const_cast<std::byte*>(data_); }
  template <class T>
  const T* as() const {
    return reinterpret_cast<const T*>(data_);
  }
  template <class T>
  T* as() {
    return reinterpret_cast<T*>(const_cast<std::byte*>(data_));
  }

  // Null for what is no sequence.
  const Members* members() const { return members_.get(); }

  // The elements converted, in order.
  std::vector<int64_t> Ints() const;
  std::vector<double> Reals() const;

 private:
  // Never a chain of them, which would be as long as a loop.
  static std::shared_ptr<const void> OwnerOf(const std::shared_ptr<const HostTensor>& source) {
    return source->owner_ != nullptr ? source->owner_ : source;
  }

  static constexpr size_t kFewBytes = 32, kSlack = 64;  // behind the elements, readable zeros

  DType dtype_;
  Shape shape_;
  const std::byte* data_;
  alignas(16) std::byte few_[kFewBytes + kSlack];  // those of a small tensor: loops of models make many
  std::shared_ptr<const void> owner_;
  std::shared_ptr<const Members> members_;
};

using Constant = std::shared_ptr<const HostTensor>;

Constant IntsConstant(std::span<const int64_t> values);          // i64 [n]
Constant IntConstant(int64_t value, DType dtype = DType::kI64);  // a scalar
Constant RealConstant(double value, DType dtype = DType::kF32);  // a scalar

// Bytes of a packed tensor. Types of less than a byte are packed too.
size_t PackedBytes(DType dtype, int64_t count);

Shape WithoutDim(const Shape& shape, int dim);

}  // namespace belay::graph
