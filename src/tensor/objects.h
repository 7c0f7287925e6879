// The objects behind aclTensor*, aclScalar*, the arrays and the lists. Each copies what it is given;
// only the address of a tensor's data belongs to the caller. What a program holds is a handle.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/handle_table.h"
#include "tensor/convert.h"
#include "tensor/dims.h"
#include "tensor/dtype.h"
#include "tensor/format.h"
#include "tensor/told_shape.h"

namespace belay::tensor {

// A strided view of a storage. Element i lies at data + (offset + sum i[k] * strides[k]) * size.
struct Tensor {
  DType dtype = DType::kUndefined;
  Format format = Format::kND;
  Shape shape;
  Strides strides;  // in elements, never negative
  int64_t offset = 0;
  int64_t storage_count = 0;  // elements of the storage: the product of its dims
  void* data = nullptr;
  std::vector<int64_t> storage;     // may have another rank than the view, and more than eight dims
  std::shared_ptr<ToldShape> told;  // null: the shape is what the program said

  int64_t count() const { return CountOf(shape); }
  bool empty() const { return count() == 0; }
  // Takes the shape that an execution has told, packed.
  void Settle();
  std::string ToString() const;  // "ACL_FLOAT [2, 3]"
};

// A tensor as a program describes it, before any of it is known to be sensible.
struct TensorSpec {
  const int64_t* dims;
  uint64_t rank;
  DType dtype;
  const int64_t* strides;  // null: packed
  int64_t offset;
  Format format;
  const int64_t* storage;  // null with rank 0: as large as the view needs
  uint64_t storage_rank;
  void* data;
};

// Throws Error 161001 or 161002 that names the field and the value.
Tensor MakeTensor(const TensorSpec& spec);

class Scalar {
 public:
  Scalar(const void* value, DType dtype);

  DType dtype() const { return dtype_; }
  const void* data() const { return bytes_; }
  double ToDouble() const { return As<double>(DType::kF64); }  // of a complex one the real part
  double Imaginary() const;
  int64_t ToInt() const { return As<int64_t>(DType::kI64); }
  // A whole number, whatever the type that carries it.
  bool IsWhole() const;
  std::string ToString() const;  // "2.5 (ACL_FLOAT)"

 private:
  template <class T>
  T As(DType type) const {
    T value{};
    if (CanConvert(type, dtype_) || IsComplex(dtype_)) Convert(type, &value, dtype_, bytes_, 1);
    return value;
  }
  alignas(16) unsigned char bytes_[16] = {};
  DType dtype_;
};

template <class T>
struct Array {
  Array(const T* values, uint64_t size) : items(values, values + size) {}
  std::vector<T> items;
};
struct IntArray : Array<int64_t> {
  using Array::Array;
};
struct FloatArray : Array<float> {
  using Array::Array;
};
struct BoolArray : Array<uint8_t> {
  BoolArray(const bool* values, uint64_t size) : Array(reinterpret_cast<const uint8_t*>(values), size) {}
};

// Lists own their members: destroying the list destroys them.
struct TensorList {
  std::vector<HandleBits> items;
  ~TensorList();
};
struct ScalarList {
  std::vector<HandleBits> items;
  ~ScalarList();
};

using TensorTable = HandleTable<Tensor, HandleKind::kTensor>;
using ScalarTable = HandleTable<Scalar, HandleKind::kScalar>;
using IntArrayTable = HandleTable<IntArray, HandleKind::kIntArray>;
using FloatArrayTable = HandleTable<FloatArray, HandleKind::kFloatArray>;
using BoolArrayTable = HandleTable<BoolArray, HandleKind::kBoolArray>;
using TensorListTable = HandleTable<TensorList, HandleKind::kTensorList>;
using ScalarListTable = HandleTable<ScalarList, HandleKind::kScalarList>;

extern TensorTable g_tensors;
extern ScalarTable g_scalars;
extern IntArrayTable g_int_arrays;
extern FloatArrayTable g_float_arrays;
extern BoolArrayTable g_bool_arrays;
extern TensorListTable g_tensor_lists;
extern ScalarListTable g_scalar_lists;

}  // namespace belay::tensor
