// Compiling a graph into a model that aclmdlLoadFromFile and aclmdlLoadFromMem load.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "../graph/ascend_string.h"
#include "../graph/ge_error_codes.h"
#include "../graph/graph.h"
#include "../graph/tensor.h"

namespace ge {

// A compiled model in memory.
struct ModelBufferData {
  std::shared_ptr<uint8_t> data = nullptr;
  uint64_t length;
};

// A graph of a bundle, and how it is compiled.
struct GraphWithOptions {
  ge::Graph graph;
  std::map<AscendString, AscendString> build_options;
};

enum aclgrphAttrType {
  ATTR_TYPE_KEEP_DTYPE = 0,
  ATTR_TYPE_WEIGHT_COMPRESS = 1
};

#define BELAY_GE_API __attribute__((visibility("default")))

// Sets options for all builds of the process. GRAPH_PARAM_INVALID: an option is unknown or its value is
// wrong; aclGetRecentErrMsg says which.
BELAY_GE_API graphStatus aclgrphBuildInitialize(std::map<std::string, std::string> global_options);
BELAY_GE_API graphStatus aclgrphBuildInitialize(std::map<AscendString, AscendString>& global_options);
// Forgets them. May be called at any time.
BELAY_GE_API void aclgrphBuildFinalize();

// Compiles a graph. The options of the process hold too, and these win.
BELAY_GE_API graphStatus aclgrphBuildModel(const ge::Graph& graph, const std::map<std::string, std::string>& build_options,
                                           ModelBufferData& model);
BELAY_GE_API graphStatus aclgrphBuildModel(const ge::Graph& graph, const std::map<AscendString, AscendString>& build_options,
                                           ModelBufferData& model);
// Several graphs in one model are not supported: exactly one may be given.
BELAY_GE_API graphStatus aclgrphBuildModel(const std::vector<ge::Graph>& graphs,
                                           const std::map<std::string, std::string>& build_options, ModelBufferData& model);
BELAY_GE_API graphStatus aclgrphBuildModel(const std::vector<ge::Graph>& graphs,
                                           const std::map<AscendString, AscendString>& build_options, ModelBufferData& model);

// Writes the model to "<output_file>.om".
BELAY_GE_API graphStatus aclgrphSaveModel(const std::string& output_file, const ModelBufferData& model);
BELAY_GE_API graphStatus aclgrphSaveModel(const char_t* output_file, const ModelBufferData& model);

// Compiles several graphs into a bundle, for aclmdlBundleLoadFromMem and aclmdlBundleLoadFromFile. The models share
// no variables.
BELAY_GE_API graphStatus aclgrphBundleBuildModel(const std::vector<ge::GraphWithOptions>& graph_with_options,
                                                 ModelBufferData& model);
// Writes the bundle to "<output_file>.om".
BELAY_GE_API graphStatus aclgrphBundleSaveModel(const char_t* output_file, const ModelBufferData& model);

// The version of this interface.
BELAY_GE_API graphStatus aclgrphGetIRVersion(int32_t* major_version, int32_t* minor_version, int32_t* patch_version);
// Writes the graph as readable text to the file, whose name has `len` bytes.
BELAY_GE_API graphStatus aclgrphDumpGraph(const ge::Graph& graph, const char_t* file, const size_t len);
// Marks the operators that the file names, each on a line of its own or behind a semicolon. ATTR_TYPE_KEEP_DTYPE: they
// compute in their own type whatever the precision mode of the build allows. ATTR_TYPE_WEIGHT_COMPRESS: weights are
// not compressed here, so nothing changes.
BELAY_GE_API graphStatus aclgrphSetOpAttr(Graph& graph, aclgrphAttrType attr_type, const char_t* cfg_path);
// A graph of one operator, with an input for each of `inputs`.
BELAY_GE_API graphStatus aclgrphGenerateForOp(const AscendString& op_type, const std::vector<TensorDesc>& inputs,
                                              const std::vector<TensorDesc>& outputs, Graph& graph);

#undef BELAY_GE_API

}  // namespace ge
