// Model files: any bytes, and any description of a graph behind checksums that are right.
// With: base tensor runtime ops graph
#include "base/error.h"
#include "base/json.h"
#include "base/memory_limit.h"
#include "fuzz.h"
#include "graph/model.h"
#include "graph/om/text.h"
#include "graph/program.h"
#include "graph/single_op_model.h"
#include "graph/specialise.h"

namespace {

using namespace belay::graph;  // NOLINT: a small program

void Use(const ModelFile& file) {
  Describe(file);
  if (file.options.count(kSingleOpOption) != 0) SingleOpOf(file);
  std::vector<ValueType> types;
  for (int input : file.graph.inputs) {
    const Node& node = file.graph.nodes[static_cast<size_t>(input)];
    if (!node.types.empty()) types.push_back(node.types[0]);
  }
  Specialised specialised = Specialise(file.graph, types);
  if (specialised.dynamic_at.empty()) Program program(specialised.graph);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  belay::SetMemoryLimit(1 << 20);
  alignas(64) static std::byte constants[4096];
  try {
    ReadModelCopy(data, size);
  } catch (const belay::Error&) {
  }
  try {
    const char* text = reinterpret_cast<const char*>(data);
    Use(om::Reader(constants, nullptr).Read(belay::Json::Parse({text, size})));
  } catch (const belay::Error& error) {
    FUZZ_REQUIRE(error.code() != 0 && !error.sentence().empty());
  } catch (const belay::JsonError&) {
  }
  return 0;
}
