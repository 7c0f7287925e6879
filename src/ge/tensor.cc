#include "graph/tensor.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "base/error.h"
#include "ge/codes.h"
#include "ge/tensor_impl.h"
#include "tensor/format.h"

namespace ge {
namespace {

using belay::Fail;

bool Product(const std::vector<int64_t>& dims, int64_t* product) {
  *product = 1;
  return std::none_of(dims.begin(), dims.end(),
                      [&](int64_t dim) { return __builtin_mul_overflow(*product, dim, product); });
}

}  // namespace

// --- shapes

Shape::Shape() : impl_(std::make_shared<ShapeImpl>()) {}
Shape::Shape(const std::vector<int64_t>& dims) : impl_(std::make_shared<ShapeImpl>(ShapeImpl{dims})) {}

size_t Shape::GetDimNum() const { return impl_->dims.size(); }
int64_t Shape::GetDim(size_t idx) const { return idx < impl_->dims.size() ? impl_->dims[idx] : 0; }
graphStatus Shape::SetDim(size_t idx, int64_t value) {
  if (idx >= impl_->dims.size()) return GRAPH_FAILED;
  impl_->dims[idx] = value;
  return GRAPH_SUCCESS;
}
std::vector<int64_t> Shape::GetDims() const { return impl_->dims; }

int64_t Shape::GetShapeSize() const {
  const std::vector<int64_t>& dims = impl_->dims;
  if (dims.empty()) return 0;
  if (std::any_of(dims.begin(), dims.end(), [](int64_t dim) { return dim < 0; })) return -1;
  int64_t product = 0;
  return Product(dims, &product) ? product : 0;
}

// --- descriptions

TensorDesc::TensorDesc() : impl(std::make_shared<TensorDescImpl>()) {}
TensorDesc::TensorDesc(Shape shape, Format format, DataType dt) : TensorDesc() { Update(shape, format, dt); }
TensorDesc::TensorDesc(const TensorDesc& desc) : impl(std::make_shared<TensorDescImpl>(*desc.impl)) {}
// What is moved from stays usable.
TensorDesc::TensorDesc(TensorDesc&& desc) : TensorDesc() { impl.swap(desc.impl); }
TensorDesc& TensorDesc::operator=(const TensorDesc& desc) {
  if (this != &desc) *impl = *desc.impl;
  return *this;
}
TensorDesc& TensorDesc::operator=(TensorDesc&& desc) {
  impl.swap(desc.impl);
  return *this;
}

void TensorDesc::Update(const Shape& shape, Format format, DataType dt) {
  impl->dims = shape.GetDims();
  impl->format = format;
  impl->dtype = dt;
}
Shape TensorDesc::GetShape() const { return Shape(impl->dims); }
void TensorDesc::SetShape(const Shape& shape) { impl->dims = shape.GetDims(); }
graphStatus TensorDesc::SetUnknownDimNumShape() {
  impl->dims = {-2};
  return GRAPH_SUCCESS;
}
graphStatus TensorDesc::SetShapeRange(const std::vector<std::pair<int64_t, int64_t>>& range) {
  impl->range = range;
  return GRAPH_SUCCESS;
}
graphStatus TensorDesc::GetShapeRange(std::vector<std::pair<int64_t, int64_t>>& range) const {
  range = impl->range;
  return GRAPH_SUCCESS;
}
Format TensorDesc::GetFormat() const { return impl->format; }
void TensorDesc::SetFormat(Format format) { impl->format = format; }
Shape TensorDesc::GetOriginShape() const { return Shape(impl->origin_dims); }
void TensorDesc::SetOriginShape(const Shape& origin_shape) { impl->origin_dims = origin_shape.GetDims(); }
Format TensorDesc::GetOriginFormat() const { return impl->origin_format; }
void TensorDesc::SetOriginFormat(Format origin_format) { impl->origin_format = origin_format; }
DataType TensorDesc::GetDataType() const { return impl->dtype; }
void TensorDesc::SetDataType(DataType dt) { impl->dtype = dt; }

graphStatus TensorDesc::GetName(AscendString& name) {
  return static_cast<const TensorDesc*>(this)->GetName(name);
}
graphStatus TensorDesc::GetName(AscendString& name) const {
  name = AscendString(impl->name.c_str());
  return GRAPH_SUCCESS;
}
void TensorDesc::SetName(const char_t* name) { impl->name = name == nullptr ? "" : name; }
void TensorDesc::SetSize(int64_t size) { impl->size = size; }
int64_t TensorDesc::GetSize() const { return impl->size; }
int64_t TensorDesc::GetRealDimCnt() const { return impl->real_dims; }
void TensorDesc::SetRealDimCnt(const int64_t real_dim_cnt) { impl->real_dims = real_dim_cnt; }
void TensorDesc::SetPlacement(Placement placement) { impl->placement = placement; }
Placement TensorDesc::GetPlacement() const { return impl->placement; }

void TensorDesc::SetConstData(std::unique_ptr<uint8_t[]> const_data_buffer, const size_t& const_data_len) {
  impl->constant = std::move(const_data_buffer);
  impl->constant_bytes = const_data_len;
}
bool TensorDesc::GetConstData(uint8_t** const_data_buffer, size_t& const_data_len) const {
  if (impl->constant == nullptr) return false;
  *const_data_buffer = impl->constant.get();
  const_data_len = impl->constant_bytes;
  return true;
}
void TensorDesc::SetExpandDimsRule(const AscendString& rule) { impl->expand_dims_rule = rule.GetString(); }
graphStatus TensorDesc::GetExpandDimsRule(AscendString& rule) const {
  rule = AscendString(impl->expand_dims_rule.c_str());
  return GRAPH_SUCCESS;
}

// --- tensors

class TensorImpl {
 public:
  TensorDesc desc;
  std::shared_ptr<uint8_t> data;
  size_t size = 0;

  TensorDescImpl& description() { return *desc.impl; }

  graphStatus Copy(const void* from, size_t bytes) {
    auto owned = std::make_shared<std::vector<uint8_t>>(bytes);
    if (bytes != 0) std::memcpy(owned->data(), from, bytes);
    return Own(std::move(owned));
  }
  graphStatus Own(std::shared_ptr<std::vector<uint8_t>> bytes) {
    size = bytes->size();
    uint8_t* at = bytes->data();
    data = std::shared_ptr<uint8_t>(std::move(bytes), at);
    return GRAPH_SUCCESS;
  }
  graphStatus Adopt(uint8_t* from, size_t bytes, const Tensor::DeleteFunc& deleter) {
    // An empty function means that the caller keeps the bytes.
    data = std::shared_ptr<uint8_t>(from, [deleter](uint8_t* bytes_to_free) {
      if (deleter) deleter(bytes_to_free);
    });
    size = bytes;
    return GRAPH_SUCCESS;
  }
};

Tensor::Tensor() : impl(std::make_shared<TensorImpl>()) {}
Tensor::Tensor(const TensorDesc& tensor_desc) : Tensor() { impl->desc = tensor_desc; }
Tensor::Tensor(const TensorDesc& tensor_desc, const std::vector<uint8_t>& data) : Tensor(tensor_desc) {
  SetData(data);
}
Tensor::Tensor(const TensorDesc& tensor_desc, const uint8_t* data, size_t size) : Tensor(tensor_desc) {
  SetData(data, size);
}
Tensor::Tensor(TensorDesc&& tensor_desc, std::vector<uint8_t>&& data) : Tensor() {
  impl->desc = std::move(tensor_desc);
  SetData(std::move(data));
}

TensorDesc Tensor::GetTensorDesc() const { return impl->desc; }
graphStatus Tensor::SetTensorDesc(const TensorDesc& tensor_desc) {
  impl->desc = tensor_desc;
  return GRAPH_SUCCESS;
}
const uint8_t* Tensor::GetData() const { return impl->data.get(); }
uint8_t* Tensor::GetData() { return impl->data.get(); }
size_t Tensor::GetSize() const { return impl->size; }

std::unique_ptr<uint8_t[], Tensor::DeleteFunc> Tensor::ResetData() {
  std::shared_ptr<uint8_t> given = std::move(impl->data);
  impl->data = nullptr;
  impl->size = 0;
  uint8_t* at = given.get();
  return {at, [given](uint8_t*) mutable { given = nullptr; }};
}

graphStatus Tensor::SetData(std::vector<uint8_t>&& data) {
  return impl->Own(std::make_shared<std::vector<uint8_t>>(std::move(data)));
}
graphStatus Tensor::SetData(const std::vector<uint8_t>& data) { return impl->Copy(data.data(), data.size()); }
graphStatus Tensor::SetData(const uint8_t* data, size_t size) {
  return data == nullptr && size != 0 ? GRAPH_PARAM_INVALID : impl->Copy(data, size);
}
graphStatus Tensor::SetData(const char_t* data) {
  return data == nullptr ? GRAPH_PARAM_INVALID : impl->Copy(data, std::strlen(data) + 1);
}
// Address and length of each text in a row, then the texts, each with a zero behind it.
graphStatus Tensor::SetData(const std::vector<AscendString>& datas) {
  size_t at = datas.size() * 2 * sizeof(uint64_t), bytes = at;
  for (const AscendString& text : datas) bytes += text.GetLength() + 1;
  std::vector<uint8_t> packed(bytes);
  for (size_t i = 0; i < datas.size(); ++i) {
    uint64_t head[2] = {at, datas[i].GetLength()};
    std::memcpy(packed.data() + i * sizeof head, head, sizeof head);
    std::memcpy(packed.data() + at, datas[i].GetString(), datas[i].GetLength() + 1);
    at += datas[i].GetLength() + 1;
  }
  return SetData(std::move(packed));
}
graphStatus Tensor::SetData(uint8_t* data, size_t size, const DeleteFunc& deleter_func) {
  return data == nullptr && size != 0 ? GRAPH_PARAM_INVALID : impl->Adopt(data, size, deleter_func);
}
graphStatus Tensor::ResetData(uint8_t* data, size_t size, const DeleteFunc& deleter_func) {
  return SetData(data, size, deleter_func);
}

graphStatus Tensor::IsValid() {
  const TensorDescImpl& desc = impl->description();
  if (desc.dtype == DT_STRING) return GRAPH_SUCCESS;
  int64_t count = 0;
  if (!Product(desc.dims, &count) || count < 0) return GRAPH_FAILED;
  return GetSizeInBytes(count, desc.dtype) == static_cast<int64_t>(impl->size) ? GRAPH_SUCCESS : GRAPH_FAILED;
}

Tensor Tensor::Clone() const {
  Tensor copy(impl->desc);
  if (impl->data != nullptr) copy.impl->Copy(impl->data.get(), impl->size);
  return copy;
}

// --- parts of a tensor's description

graphStatus Tensor::SetDataType(const DataType& dtype) {
  impl->desc.SetDataType(dtype);
  return GRAPH_SUCCESS;
}
DataType Tensor::GetDataType() const { return impl->desc.GetDataType(); }
graphStatus Tensor::SetFormat(const Format& format) {
  impl->desc.SetFormat(format);
  return GRAPH_SUCCESS;
}
Format Tensor::GetFormat() const { return impl->desc.GetFormat(); }
graphStatus Tensor::SetPlacement(const Placement& placement) {
  impl->desc.SetPlacement(placement);
  return GRAPH_SUCCESS;
}
Placement Tensor::GetPlacement() const { return impl->desc.GetPlacement(); }
graphStatus Tensor::SetOriginFormat(const Format& format) {
  impl->desc.SetOriginFormat(format);
  return GRAPH_SUCCESS;
}
Format Tensor::GetOriginFormat() const { return impl->desc.GetOriginFormat(); }

namespace {

graphStatus SetAt(std::vector<int64_t>& dims, size_t idx, int64_t value) {
  if (idx >= dims.size()) return GRAPH_FAILED;
  dims[idx] = value;
  return GRAPH_SUCCESS;
}
int64_t At(const std::vector<int64_t>& dims, size_t idx) { return idx < dims.size() ? dims[idx] : 0; }

}  // namespace

graphStatus Tensor::SetShapeDimNum(const size_t dim_num) {
  impl->description().dims.resize(dim_num);
  return GRAPH_SUCCESS;
}
size_t Tensor::GetShapeDimNum() const { return impl->description().dims.size(); }
graphStatus Tensor::SetShapeDim(const size_t idx, const int64_t dim_value) {
  return SetAt(impl->description().dims, idx, dim_value);
}
int64_t Tensor::GetShapeDim(const size_t idx) const { return At(impl->description().dims, idx); }
graphStatus Tensor::SetOriginShapeDimNum(const size_t dim_num) {
  impl->description().origin_dims.resize(dim_num);
  return GRAPH_SUCCESS;
}
size_t Tensor::GetOriginShapeDimNum() const { return impl->description().origin_dims.size(); }
graphStatus Tensor::SetOriginShapeDim(const size_t idx, const int64_t dim_value) {
  return SetAt(impl->description().origin_dims, idx, dim_value);
}
int64_t Tensor::GetOriginShapeDim(const size_t idx) const { return At(impl->description().origin_dims, idx); }

}  // namespace ge
