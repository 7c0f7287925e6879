#include "graph/types.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "ge/codes.h"
#include "ge/tensor_impl.h"

namespace ge {

using belay::graph::Constant;
using belay::graph::DType;
using belay::graph::HostTensor;
using belay::graph::ValueType;

int64_t GetSizeInBytes(int64_t element_count, DataType data_type) {
  int64_t bits = belay::tensor::InfoOf(DTypeOf(data_type)).bits, total = 0;
  if (element_count < 0 || bits == 0 || data_type == DT_STRING) return -1;
  if (__builtin_mul_overflow(element_count, bits, &total)) return -1;
  return total / 8 + (total % 8 != 0);
}

const char_t* GetFormatName(Format format) {
  // clang-format off
  static constexpr const char* kNames[] = {
      "NCHW", "NHWC", "ND", "NC1HWC0", "FRACTAL_Z", "NC1C0HWPAD", "NHWC1C0", "FSR_NCHW", "FRACTAL_DECONV", "C1HWNC0",
      "FRACTAL_DECONV_TRANSPOSE", "FRACTAL_DECONV_SP_STRIDE_TRANS", "NC1HWC0_C04", "FRACTAL_Z_C04", "CHWN",
      "FRACTAL_DECONV_SP_STRIDE8_TRANS", "HWCN", "NC1KHKWHWC0", "BN_WEIGHT", "FILTER_HWCK", "HASHTABLE_LOOKUP_LOOKUPS",
      "HASHTABLE_LOOKUP_KEYS", "HASHTABLE_LOOKUP_VALUE", "HASHTABLE_LOOKUP_OUTPUT", "HASHTABLE_LOOKUP_HITS", "C1HWNCoC0",
      "MD", "NDHWC", "FRACTAL_ZZ", "FRACTAL_NZ", "NCDHW", "DHWCN", "NDC1HWC0", "FRACTAL_Z_3D", "CN", "NC", "DHWNC",
      "FRACTAL_Z_3D_TRANSPOSE", "FRACTAL_ZN_LSTM", "FRACTAL_Z_G", "RESERVED", "ALL", "NULL", "ND_RNN_BIAS",
      "FRACTAL_ZN_RNN", "NYUV", "NYUV_A", "NCL", "FRACTAL_Z_WINO", "C1HWC0"};
  // clang-format on
  auto number = static_cast<size_t>(format);
  return number < std::size(kNames) ? kNames[number] : "RESERVED";
}

DType DTypeOf(DataType dtype) {
  auto known = static_cast<DType>(dtype);
  return dtype == DT_UNDEFINED || !belay::tensor::IsKnown(known) ? DType::kUndefined : known;
}
DataType DataTypeOf(DType dtype) {
  return dtype == DType::kUndefined ? DT_UNDEFINED : static_cast<DataType>(dtype);
}

ValueType ValueTypeOf(const TensorDesc& desc) {
  std::vector<int64_t> dims = desc.GetShape().GetDims();
  ValueType type;
  type.dtype = DTypeOf(desc.GetDataType());
  type.format = static_cast<belay::graph::Format>(desc.GetFormat());
  type.rank_known =
      dims.size() <= belay::tensor::kMaxRank && std::find(dims.begin(), dims.end(), -2) == dims.end();
  if (type.rank_known) type.shape = belay::tensor::Shape::Of(dims.data(), static_cast<int>(dims.size()));
  return type;
}

TensorDesc DescOf(const ValueType& type) {
  std::vector<int64_t> dims(type.shape.begin(), type.shape.end());
  if (!type.rank_known) dims = {-2};
  return TensorDesc(Shape(dims), static_cast<Format>(type.format), DataTypeOf(type.dtype));
}

Constant ConstantOf(const Tensor& tensor, const std::string& where) {
  ValueType type = ValueTypeOf(tensor.GetTensorDesc());
  if (!type.concrete()) {
    belay::Fail(belay::graph_interface::kBadArgument, "ge-constant-type",
                "{}: a constant must have a known type and shape, not {}", where, type.ToString());
  }
  int64_t wanted = GetSizeInBytes(belay::tensor::CountOf(type.shape), tensor.GetDataType());
  if (wanted != static_cast<int64_t>(tensor.GetSize())) {
    belay::Fail(belay::graph_interface::kBadArgument, "ge-constant-size",
                "{}: a constant of type {} has {} bytes, but {} were given", where, type.ToString(), wanted,
                tensor.GetSize());
  }
  // The tensor shares its bytes with the graph, as its copies do.
  auto owner = std::make_shared<Tensor>(tensor);
  return std::make_shared<HostTensor>(type.dtype, type.shape, owner->GetData(), owner);
}

Tensor TensorOf(const Constant& constant) {
  Tensor tensor(DescOf({constant->dtype(), belay::graph::Format::kND, true, constant->shape()}));
  auto* data = reinterpret_cast<uint8_t*>(const_cast<std::byte*>(constant->data()));
  tensor.SetData(data, constant->bytes(), [constant](uint8_t*) {});
  return tensor;
}

}  // namespace ge
