// Data types, half precision, data buffers and tensor descriptions.
#include <cstddef>
#include <utility>

#include "api/handlers.h"
#include "base/codes.h"
#include "base/error.h"
#include "runtime/memory.h"
#include "runtime/observer.h"
#include "tensor/description.h"
#include "tensor/half.h"

namespace belay::api {
namespace {

using tensor::CheckedDims;
using tensor::DataBuffer;
using tensor::DType;
using tensor::Format;
using tensor::TensorDesc;

Format FormatOf(aclFormat format) { return static_cast<Format>(format); }

std::vector<tensor::Range> CheckedRanges(size_t count, int64_t ranges[][2]) {
  std::vector<tensor::Range> result(count);
  for (size_t i = 0; i < count; ++i) {
    result[i] = {ranges[i][0], ranges[i][1]};
    if (result[i][1] != -1 && result[i][0] > result[i][1]) {
      Fail(codes::kInvalidParam, "description-range", "range {} is [{}, {}]: its end is before its start", i,
           result[i][0], result[i][1]);
    }
  }
  return result;
}

}  // namespace

size_t aclDataTypeSize(aclDataType dataType) { return tensor::BytesOf(static_cast<DType>(dataType)); }

float aclFloat16ToFloat(aclFloat16 value) { return ToFloat(tensor::Half{value}); }

aclFloat16 aclFloatToFloat16(float value) { return tensor::ToHalf(value).bits; }

aclDataBuffer* aclCreateDataBuffer(void* data, size_t size) {
  return AsNewHandle<aclDataBuffer*>(tensor::g_data_buffers.Create(data, size));
}

void aclDestroyDataBuffer(const DataBuffer& dataBuffer) {
  const HandleBits handle = tensor::g_data_buffers.HandleOf(&dataBuffer);
  tensor::g_data_buffers.Destroy(handle);
  if (rt::Observers::any()) rt::TellDestroyed(handle);
}

void aclUpdateDataBuffer(DataBuffer& dataBuffer, void* data, size_t size) { dataBuffer = {data, size}; }

void* aclGetDataBufferAddr(const DataBuffer& dataBuffer) { return dataBuffer.data; }

uint32_t aclGetDataBufferSize(const DataBuffer& dataBuffer) {
  return static_cast<uint32_t>(dataBuffer.bytes);
}

size_t aclGetDataBufferSizeV2(const DataBuffer& dataBuffer) { return dataBuffer.bytes; }

aclTensorDesc* aclCreateTensorDesc(aclDataType dataType, int numDims, const int64_t* dims, aclFormat format) {
  TensorDesc desc;
  desc.dtype = static_cast<DType>(dataType);
  desc.format = desc.storage_format = desc.origin_format = FormatOf(format);
  desc.dims = desc.storage_dims = desc.origin_dims = CheckedDims(dims, numDims);
  return AsNewHandle<aclTensorDesc*>(tensor::g_tensor_descs.Create(std::move(desc)));
}

void aclDestroyTensorDesc(const TensorDesc& desc) {
  const HandleBits handle = tensor::g_tensor_descs.HandleOf(&desc);
  tensor::g_tensor_descs.Destroy(handle);
  if (rt::Observers::any()) rt::TellDestroyed(handle);
}

void aclSetTensorShapeRange(TensorDesc& desc, size_t dimsCount,
                            int64_t dimsRange[][ACL_TENSOR_SHAPE_RANGE_NUM]) {
  if (desc.rank_is_known() && dimsCount != desc.dims.size()) {
    Fail(codes::kInvalidParam, "description-range", "{} ranges for {} dimensions", dimsCount,
         desc.dims.size());
  }
  desc.dim_ranges = CheckedRanges(dimsCount, dimsRange);
}

void aclSetTensorValueRange(TensorDesc& desc, size_t valueCount,
                            int64_t valueRange[][ACL_TENSOR_VALUE_RANGE_NUM]) {
  desc.value_ranges = CheckedRanges(valueCount, valueRange);
}

aclDataType aclGetTensorDescType(const TensorDesc& desc) { return static_cast<aclDataType>(desc.dtype); }

aclFormat aclGetTensorDescFormat(const TensorDesc& desc) { return static_cast<aclFormat>(desc.format); }

size_t aclGetTensorDescSize(const TensorDesc& desc) { return desc.bytes(); }

size_t aclGetTensorDescElementCount(const TensorDesc& desc) { return desc.count(); }

size_t aclGetTensorDescNumDims(const TensorDesc& desc) {
  return desc.rank_is_known() ? desc.dims.size() : ACL_UNKNOWN_RANK;
}

int64_t aclGetTensorDescDim(const TensorDesc& desc, size_t index) { return desc.dim(index); }

void aclGetTensorDescDimV2(const TensorDesc& desc, size_t index, int64_t* dimSize) {
  *dimSize = desc.dim(index);
}

void aclGetTensorDescDimRange(const TensorDesc& desc, size_t index, size_t dimRangeNum, int64_t* dimRange) {
  if (dimRangeNum < 2) {
    Fail(codes::kInvalidParam, "description-range", "a range is two numbers; there is room for {}",
         dimRangeNum);
  }
  tensor::Range range = desc.dim_range(index);
  dimRange[0] = range[0];
  dimRange[1] = range[1];
}

void aclSetTensorDescName(TensorDesc& desc, const char* name) { desc.name = name == nullptr ? "" : name; }

const char* aclGetTensorDescName(TensorDesc& desc) { return desc.name.c_str(); }

void aclSetTensorFormat(TensorDesc& desc, aclFormat format) { desc.storage_format = FormatOf(format); }

void aclSetTensorShape(TensorDesc& desc, int numDims, const int64_t* dims) {
  desc.storage_dims = CheckedDims(dims, numDims);
}

void aclSetTensorOriginFormat(TensorDesc& desc, aclFormat format) { desc.origin_format = FormatOf(format); }

void aclSetTensorOriginShape(TensorDesc& desc, int numDims, const int64_t* dims) {
  desc.origin_dims = CheckedDims(dims, numDims);
}

void aclSetTensorPlaceMent(TensorDesc& desc, aclMemType memType) { desc.placement = memType; }

void aclSetTensorDynamicInput(TensorDesc& desc, const char* dynamicInputName) {
  desc.dynamic_input = dynamicInputName;
}

void aclSetTensorConst(TensorDesc& desc, void* dataBuffer, size_t length) {
  if (dataBuffer == nullptr && length != 0) {
    Fail(codes::kInvalidParam, "description-constant", "dataBuffer is null, but length is {}", length);
  }
  if (length != 0) rt::CheckRange(dataBuffer, length, "dataBuffer");
  auto* bytes = static_cast<const std::byte*>(dataBuffer);
  desc.constant.assign(bytes, bytes + length);
  desc.is_constant = true;
}

// Nothing sets an address: descriptions of this interface go with data buffers.
void* aclGetTensorDescAddress(const TensorDesc&) { return nullptr; }

aclTensorDesc* aclGetTensorDescByIndex(TensorDesc& desc, size_t index) {
  if (index != 0) {
    Fail(codes::kInvalidParam, "description-index", "description {} was asked for; this is a single one",
         index);
  }
  return reinterpret_cast<aclTensorDesc*>(tensor::g_tensor_descs.HandleOf(&desc));
}

}  // namespace belay::api
