// Formats of models that Belay does not read.
#include "base/error.h"
#include "ge/codes.h"
#include "ge/guard.h"
#include "parser/caffe_parser.h"
#include "parser/tensorflow_parser.h"

namespace ge {
namespace {

graphStatus RefusedFormat(const belay::graph_interface::Function& function, const char* format) {
  return belay::graph_interface::Guarded(function, [&] {
    belay::Fail(belay::graph_interface::kNotSupported, "ge-model-format",
                "models of {} are not supported; convert the model to ONNX and use aclgrphParseONNX", format);
  });
}

}  // namespace

graphStatus aclgrphParseTensorFlow(const char*, Graph&) {
  return RefusedFormat("aclgrphParseTensorFlow", "TensorFlow");
}
graphStatus aclgrphParseTensorFlow(const char*, const std::map<AscendString, AscendString>&, Graph&) {
  return RefusedFormat("aclgrphParseTensorFlow", "TensorFlow");
}
graphStatus aclgrphParseCaffe(const char*, const char*, Graph&) {
  return RefusedFormat("aclgrphParseCaffe", "Caffe");
}
graphStatus aclgrphParseCaffe(const char*, const char*, const std::map<AscendString, AscendString>&, Graph&) {
  return RefusedFormat("aclgrphParseCaffe", "Caffe");
}

}  // namespace ge
