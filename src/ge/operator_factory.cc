#include "graph/operator_factory.h"

#include "graph/op_schema.h"

namespace ge {

Operator OperatorFactory::CreateOperator(const char_t* const operator_name,
                                         const char_t* const operator_type) {
  return operator_name != nullptr && IsExistOp(operator_type) ? Operator(operator_name, operator_type)
                                                              : Operator();
}
graphStatus OperatorFactory::GetOpsTypeList(std::vector<AscendString>& all_ops) {
  all_ops.clear();
  for (const auto& op : belay::graph::AllOps()) all_ops.emplace_back(op.type);
  return GRAPH_SUCCESS;
}
bool OperatorFactory::IsExistOp(const char_t* const operator_type) {
  return operator_type != nullptr && belay::graph::FindOp(operator_type) != nullptr;
}

}  // namespace ge
