// The value of an attribute, whatever its type.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "ascend_string.h"
#include "ge_error_codes.h"

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

  std::shared_ptr<AttrValueImpl> impl;

 private:
  graphStatus GetValue(STR& val) const;
  graphStatus GetValue(INT& val) const;
  graphStatus GetValue(FLOAT& val) const;
};

}  // namespace ge
