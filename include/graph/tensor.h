// Shapes, descriptions of tensors, and tensors with their contents.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ascend_string.h"
#include "ge_error_codes.h"
#include "types.h"

namespace ge {

class ShapeImpl;
class TensorDescImpl;
class TensorImpl;

// The sizes of a tensor. -1 stands for a size that is not known, and a single -2 for an unknown number of
// sizes. Copies share their sizes.
class __attribute__((visibility("default"))) Shape {
 public:
  Shape();
  ~Shape() = default;
  explicit Shape(const std::vector<int64_t>& dims);

  size_t GetDimNum() const;
  // 0 when there is no such dimension.
  int64_t GetDim(size_t idx) const;
  // GRAPH_FAILED when there is no such dimension.
  graphStatus SetDim(size_t idx, int64_t value);
  std::vector<int64_t> GetDims() const;
  // The number of elements. -1: a size is not known. 0: a size is zero, there is no dimension at all, or
  // the number is beyond an int64_t.
  int64_t GetShapeSize() const;

 private:
  std::shared_ptr<ShapeImpl> impl_;
};

// What is known of a tensor without its contents. Copies are independent of each other.
class __attribute__((visibility("default"))) TensorDesc {
 public:
  TensorDesc();
  ~TensorDesc() = default;
  explicit TensorDesc(Shape shape, Format format = FORMAT_ND, DataType dt = DT_FLOAT);
  TensorDesc(const TensorDesc& desc);
  TensorDesc(TensorDesc&& desc);
  TensorDesc& operator=(const TensorDesc& desc);
  TensorDesc& operator=(TensorDesc&& desc);

  // Sets shape, format and type at once.
  void Update(const Shape& shape, Format format = FORMAT_ND, DataType dt = DT_FLOAT);
  Shape GetShape() const;
  void SetShape(const Shape& shape);
  // Says that not even the number of dimensions is known.
  graphStatus SetUnknownDimNumShape();

  // Least and greatest size of each dimension; the greatest may be -1. Of an input: the model refuses others.
  graphStatus SetShapeRange(const std::vector<std::pair<int64_t, int64_t>>& range);
  graphStatus GetShapeRange(std::vector<std::pair<int64_t, int64_t>>& range) const;

  Format GetFormat() const;
  void SetFormat(Format format);
  // Shape and format as the framework gave them.
  Shape GetOriginShape() const;
  void SetOriginShape(const Shape& origin_shape);
  Format GetOriginFormat() const;
  void SetOriginFormat(Format origin_format);

  DataType GetDataType() const;
  void SetDataType(DataType dt);

  std::string GetName() const;
  graphStatus GetName(AscendString& name);
  graphStatus GetName(AscendString& name) const;
  void SetName(const std::string& name);
  void SetName(const char_t* name);

  // Bytes, where the program says so.
  void SetSize(int64_t size);
  int64_t GetSize() const;

  int64_t GetRealDimCnt() const;
  void SetRealDimCnt(const int64_t real_dim_cnt);

  void SetPlacement(Placement placement);
  Placement GetPlacement() const;

  // Contents that are known while the graph is built.
  void SetConstData(std::unique_ptr<uint8_t[]> const_data_buffer, const size_t& const_data_len);
  bool GetConstData(uint8_t** const_data_buffer, size_t& const_data_len) const;

  void SetExpandDimsRule(const AscendString& expand_dims_rule);
  graphStatus GetExpandDimsRule(AscendString& expand_dims_rule) const;

 private:
  friend class TensorImpl;
  std::shared_ptr<TensorDescImpl> impl;
};

// A description together with bytes. Copies share both; Clone makes an independent one.
class __attribute__((visibility("default"))) Tensor {
 public:
  using DeleteFunc = std::function<void(uint8_t*)>;

  Tensor();
  ~Tensor() = default;
  explicit Tensor(const TensorDesc& tensor_desc);
  Tensor(const TensorDesc& tensor_desc, const std::vector<uint8_t>& data);
  Tensor(const TensorDesc& tensor_desc, const uint8_t* data, size_t size);
  Tensor(TensorDesc&& tensor_desc, std::vector<uint8_t>&& data);

  TensorDesc GetTensorDesc() const;
  graphStatus SetTensorDesc(const TensorDesc& tensor_desc);

  // Null for a tensor without bytes.
  const uint8_t* GetData() const;
  uint8_t* GetData();
  size_t GetSize() const;
  // Gives the bytes away; the tensor has none afterwards.
  std::unique_ptr<uint8_t[], Tensor::DeleteFunc> ResetData();

  // These copy.
  graphStatus SetData(std::vector<uint8_t>&& data);
  graphStatus SetData(const std::vector<uint8_t>& data);
  graphStatus SetData(const uint8_t* data, size_t size);
  graphStatus SetData(const std::string& data);
  graphStatus SetData(const char_t* data);
  graphStatus SetData(const std::vector<std::string>& data);
  graphStatus SetData(const std::vector<AscendString>& datas);
  // This takes the bytes over without a copy; deleter_func is called when no tensor needs them any more.
  graphStatus SetData(uint8_t* data, size_t size, const Tensor::DeleteFunc& deleter_func);
  // The same for a tensor that had other bytes before.
  graphStatus ResetData(uint8_t* data, size_t size, const Tensor::DeleteFunc& deleter_func);

  // GRAPH_FAILED when the bytes are fewer or more than shape and type say.
  graphStatus IsValid();
  Tensor Clone() const;

  // Parts of the description, without a copy of it.
  graphStatus SetDataType(const DataType& dtype);
  DataType GetDataType() const;
  graphStatus SetFormat(const Format& format);
  Format GetFormat() const;
  graphStatus SetPlacement(const Placement& placement);
  Placement GetPlacement() const;
  graphStatus SetOriginFormat(const Format& format);
  Format GetOriginFormat() const;
  graphStatus SetShapeDimNum(const size_t dim_num);
  size_t GetShapeDimNum() const;
  graphStatus SetShapeDim(const size_t idx, const int64_t dim_value);
  int64_t GetShapeDim(const size_t idx) const;
  graphStatus SetOriginShapeDimNum(const size_t dim_num);
  size_t GetOriginShapeDimNum() const;
  graphStatus SetOriginShapeDim(const size_t idx, const int64_t dim_value);
  int64_t GetOriginShapeDim(const size_t idx) const;

 private:
  std::shared_ptr<TensorImpl> impl;
};

}  // namespace ge
