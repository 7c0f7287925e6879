// Tensors, scalars, arrays and lists: what a program makes before it calls an operator.
#include <algorithm>
#include <vector>

#include "aclnn/acl_meta.h"
#include "api/convert.h"
#include "api/handlers.h"
#include "base/error.h"
#include "base/error_about.h"
#include "runtime/memory.h"
#include "runtime/observer.h"
#include "tensor/codes.h"
#include "tensor/objects.h"

namespace belay::api {
namespace {

using tensor::kInvalidArgument;
using tensor::TensorSpec;

// What a program gets and gives is the handle, never the object's address.
template <class C, class Table, class... Args>
C* Create(Table& table, Args&&... args) {
  HandleBits bits = table.Create(std::forward<Args>(args)...);
  if (bits == 0) Fail(kInvalidArgument, "object-limit", "too many objects of this kind are alive");
  return reinterpret_cast<C*>(bits);
}

// Null is fine: programs destroy optional arguments that they never made.
template <class Table>
void Destroy(Table& table, const void* handle) {
  const HandleBits bits = BitsOf(handle);
  if (bits == 0 || table.Destroy(bits)) return;
  const bool was_one = KindOf(bits) == static_cast<uint8_t>(decltype(KindIn(table))::value);
  FailAbout(was_one ? handle : nullptr, kInvalidArgument, "object-stale",
            "{} is not alive: destroyed already, or not of this kind", handle);
}

template <class Table, class C>
std::vector<HandleBits> Members(const Table& table, const C* const* value, uint64_t size) {
  if (value == nullptr && size != 0) Fail(tensor::kNullArgument, "null-argument", "value is null");
  std::vector<HandleBits> items;
  for (uint64_t i = 0; i < size; ++i) {
    auto bits = reinterpret_cast<HandleBits>(value[i]);
    if (table.Find(bits) == nullptr) {
      Fail(kInvalidArgument, "op-list-member", "value[{}] is not alive, or not of this kind", i);
    }
    items.push_back(bits);
  }
  return items;
}

template <class T>
const T* CheckedArray(const T* value, uint64_t size) {
  constexpr uint64_t kMost = uint64_t{1} << 32;
  if (value == nullptr && size != 0) Fail(tensor::kNullArgument, "null-argument", "value is null");
  if (size > kMost) Fail(kInvalidArgument, "array-too-large", "size is {}", size);
  if (size != 0) rt::CheckRange(value, size * sizeof(T), "value");
  rt::HostReads(value, size * sizeof(T));
  return value;
}

// The caller frees the array, with delete[].
void GiveOut(const int64_t* values, size_t count, int64_t** out, uint64_t* out_count) {
  auto* copy = new int64_t[count];
  std::copy_n(values, count, copy);
  *out = copy;
  *out_count = count;
}

// As its last execution has left it.
tensor::Tensor Settled(const tensor::Tensor& tensor) {
  tensor::Tensor settled = tensor;
  settled.Settle();
  return settled;
}

TensorSpec SpecOf(const int64_t* dims, uint64_t rank, aclDataType dtype, const int64_t* strides,
                  int64_t offset, aclFormat format, const int64_t* storage, uint64_t storage_rank,
                  void* data) {
  // A number that does not fit in a byte must not become one that does.
  auto number = static_cast<int>(dtype);
  auto type = number < 0 || number > 127 ? tensor::DType::kUndefined : static_cast<tensor::DType>(number);
  return {dims,    rank,         type, strides, offset, static_cast<tensor::Format>(format),
          storage, storage_rank, data};
}

}  // namespace

aclTensor* aclCreateTensor(const int64_t* viewDims, uint64_t viewDimsNum, aclDataType dataType,
                           const int64_t* stride, int64_t offset, aclFormat format,
                           const int64_t* storageDims, uint64_t storageDimsNum, void* tensorData) {
  return Create<aclTensor>(tensor::g_tensors,
                           MakeTensor(SpecOf(viewDims, viewDimsNum, dataType, stride, offset, format,
                                             storageDims, storageDimsNum, tensorData)));
}

void aclInitTensor(tensor::Tensor& tensor, const int64_t* viewDims, uint64_t viewDimsNum,
                   aclDataType dataType, const int64_t* stride, int64_t offset, aclFormat format,
                   const int64_t* storageDims, uint64_t storageDimsNum, void* tensorDataAddr) {
  tensor = MakeTensor(SpecOf(viewDims, viewDimsNum, dataType, stride, offset, format, storageDims,
                             storageDimsNum, tensorDataAddr));
}

void aclDestroyTensor(const aclTensor* tensor) { Destroy(tensor::g_tensors, tensor); }

void aclGetViewShape(const tensor::Tensor& tensor, int64_t** viewDims, uint64_t* viewDimsNum) {
  const tensor::Shape shape = Settled(tensor).shape;
  GiveOut(shape.data(), static_cast<size_t>(shape.rank()), viewDims, viewDimsNum);
}
void aclGetViewStrides(const tensor::Tensor& tensor, int64_t** stridesValue, uint64_t* stridesNum) {
  const tensor::Strides strides = Settled(tensor).strides;
  GiveOut(strides.data(), static_cast<size_t>(strides.rank()), stridesValue, stridesNum);
}
void aclGetStorageShape(const tensor::Tensor& tensor, int64_t** storageDims, uint64_t* storageDimsNum) {
  GiveOut(tensor.storage.data(), tensor.storage.size(), storageDims, storageDimsNum);
}
void aclGetViewOffset(const tensor::Tensor& tensor, int64_t* offset) { *offset = tensor.offset; }
void aclGetFormat(const tensor::Tensor& tensor, aclFormat* format) {
  *format = static_cast<aclFormat>(tensor.format);
}
void aclGetDataType(const tensor::Tensor& tensor, aclDataType* dataType) {
  *dataType = static_cast<aclDataType>(tensor.dtype);
}

void aclSetRawTensorAddr(tensor::Tensor& tensor, void* addr) {
  if (reinterpret_cast<uintptr_t>(addr) % 32 != 0) {
    Fail(kInvalidArgument, "executor-alignment", "the address {} is not a multiple of 32", addr);
  }
  tensor.data = addr;
}
void aclGetRawTensorAddr(const tensor::Tensor& tensor, void** addr) { *addr = tensor.data; }

aclScalar* aclCreateScalar(void* value, aclDataType dataType) {
  if (value != nullptr) rt::CheckRange(value, 1, "value");
  rt::HostReads(value, 1);
  return Create<aclScalar>(tensor::g_scalars, value, static_cast<tensor::DType>(dataType));
}
void aclDestroyScalar(const aclScalar* scalar) { Destroy(tensor::g_scalars, scalar); }

aclIntArray* aclCreateIntArray(const int64_t* value, uint64_t size) {
  return Create<aclIntArray>(tensor::g_int_arrays, CheckedArray(value, size), size);
}
void aclDestroyIntArray(const aclIntArray* array) { Destroy(tensor::g_int_arrays, array); }
void aclGetIntArraySize(const tensor::IntArray& array, uint64_t* size) { *size = array.items.size(); }

aclFloatArray* aclCreateFloatArray(const float* value, uint64_t size) {
  return Create<aclFloatArray>(tensor::g_float_arrays, CheckedArray(value, size), size);
}
void aclDestroyFloatArray(const aclFloatArray* array) { Destroy(tensor::g_float_arrays, array); }
void aclGetFloatArraySize(const tensor::FloatArray& array, uint64_t* size) { *size = array.items.size(); }

aclBoolArray* aclCreateBoolArray(const bool* value, uint64_t size) {
  return Create<aclBoolArray>(tensor::g_bool_arrays, CheckedArray(value, size), size);
}
void aclDestroyBoolArray(const aclBoolArray* array) { Destroy(tensor::g_bool_arrays, array); }
void aclGetBoolArraySize(const tensor::BoolArray& array, uint64_t* size) { *size = array.items.size(); }

aclTensorList* aclCreateTensorList(const aclTensor* const* value, uint64_t size) {
  return Create<aclTensorList>(tensor::g_tensor_lists, Members(tensor::g_tensors, value, size));
}
void aclDestroyTensorList(const aclTensorList* array) { Destroy(tensor::g_tensor_lists, array); }
void aclGetTensorListSize(const tensor::TensorList& tensorList, uint64_t* size) {
  *size = tensorList.items.size();
}

aclScalarList* aclCreateScalarList(const aclScalar* const* value, uint64_t size) {
  return Create<aclScalarList>(tensor::g_scalar_lists, Members(tensor::g_scalars, value, size));
}
void aclDestroyScalarList(const aclScalarList* array) { Destroy(tensor::g_scalar_lists, array); }
void aclGetScalarListSize(const tensor::ScalarList& scalarList, uint64_t* size) {
  *size = scalarList.items.size();
}

}  // namespace belay::api
