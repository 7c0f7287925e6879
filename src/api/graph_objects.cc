// Where the handles of models, their data and operators are looked up.
#include "api/convert.h"
#include "graph/aipp/parameters.h"
#include "graph/model.h"
#include "graph/single_op.h"

namespace belay::api {

graph::Dataset* ObjectTraits<graph::Dataset>::Find(HandleBits h) { return graph::g_datasets.Find(h); }
graph::ModelDescription* ObjectTraits<graph::ModelDescription>::Find(HandleBits h) {
  return graph::g_model_descriptions.Find(h);
}
graph::ModelConfig* ObjectTraits<graph::ModelConfig>::Find(HandleBits h) {
  return graph::g_model_configs.Find(h);
}
graph::ExecConfig* ObjectTraits<graph::ExecConfig>::Find(HandleBits h) {
  return graph::g_exec_configs.Find(h);
}
graph::OpAttributes* ObjectTraits<graph::OpAttributes>::Find(HandleBits h) {
  return graph::g_op_attributes.Find(h);
}
graph::AippParameters* ObjectTraits<graph::AippParameters>::Find(HandleBits h) {
  return graph::g_aipp_parameters.Find(h);
}
graph::OpHandle* ObjectTraits<graph::OpHandle>::Find(HandleBits h) { return graph::g_op_handles.Find(h); }

}  // namespace belay::api
