// Operators by the name of their type.
#pragma once

#include <string>
#include <vector>

#include "ascend_string.h"
#include "operator.h"

namespace ge {

class __attribute__((visibility("default"))) OperatorFactory {
 public:
  // An empty operator when there is no such type.
  static Operator CreateOperator(const std::string& operator_name, const std::string& operator_type);
  static Operator CreateOperator(const char_t* const operator_name, const char_t* const operator_type);
  static graphStatus GetOpsTypeList(std::vector<std::string>& all_ops);
  static graphStatus GetOpsTypeList(std::vector<AscendString>& all_ops);
  static bool IsExistOp(const std::string& operator_type);
  static bool IsExistOp(const char_t* const operator_type);
};

}  // namespace ge
