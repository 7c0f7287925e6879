// The value of an attribute, whatever its type.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "ascend_string.h"
#include "ge_error_codes.h"
#include "tensor.h"
#include "types.h"

namespace ge {

class AttrValueImpl;

class __attribute__((visibility("default"))) AttrValue {
 public:
  using INT = int64_t;
  using FLOAT = float32_t;
  using STR = std::string;

  AttrValue();
  ~AttrValue() = default;

  // The value as a T, converted to the type of `val`; GRAPH_FAILED when it is of another type.
  template <typename T, typename DT>
  graphStatus GetValue(DT& val) const {
    T value{};
    const graphStatus status = GetValue(value);
    if (status == GRAPH_SUCCESS) val = DT(value);
    return status;
  }
  template <typename T, typename DT>
  static T CreateFrom(DT&& val) {
    return val;
  }
  graphStatus GetValue(AscendString& val);

  // The same without templates, for every type that attributes have.
  graphStatus SetAttrValue(const int64_t& attr_value) const;
  graphStatus SetAttrValue(const float32_t& attr_value) const;
  graphStatus SetAttrValue(const AscendString& attr_value) const;
  graphStatus SetAttrValue(const bool& attr_value) const;
  graphStatus SetAttrValue(const Tensor& attr_value) const;
  graphStatus SetAttrValue(const std::vector<int64_t>& attr_value) const;
  graphStatus SetAttrValue(const std::vector<float32_t>& attr_value) const;
  graphStatus SetAttrValue(const std::vector<AscendString>& attr_values) const;
  graphStatus SetAttrValue(const std::vector<bool>& attr_value) const;
  graphStatus SetAttrValue(const std::vector<Tensor>& attr_value) const;
  graphStatus SetAttrValue(const std::vector<std::vector<int64_t>>& attr_value) const;
  graphStatus SetAttrValue(const std::vector<ge::DataType>& attr_value) const;
  graphStatus SetAttrValue(const ge::DataType& attr_value) const;
  graphStatus GetAttrValue(int64_t& attr_value) const;
  graphStatus GetAttrValue(float32_t& attr_value) const;
  graphStatus GetAttrValue(AscendString& attr_value) const;
  graphStatus GetAttrValue(bool& attr_value) const;
  graphStatus GetAttrValue(Tensor& attr_value) const;
  graphStatus GetAttrValue(std::vector<int64_t>& attr_value) const;
  graphStatus GetAttrValue(std::vector<float32_t>& attr_value) const;
  graphStatus GetAttrValue(std::vector<AscendString>& attr_values) const;
  graphStatus GetAttrValue(std::vector<bool>& attr_value) const;
  graphStatus GetAttrValue(std::vector<Tensor>& attr_value) const;
  graphStatus GetAttrValue(std::vector<std::vector<int64_t>>& attr_value) const;
  graphStatus GetAttrValue(std::vector<ge::DataType>& attr_value) const;
  graphStatus GetAttrValue(ge::DataType& attr_value) const;

  std::shared_ptr<AttrValueImpl> impl;

 private:
  graphStatus GetValue(STR& val) const;
  graphStatus GetValue(INT& val) const;
  graphStatus GetValue(FLOAT& val) const;
};

}  // namespace ge
