// The importer of ONNX models: any bytes give a graph or an error that is explained.
// With: base tensor runtime ops graph
#include "base/error.h"
#include "base/memory_limit.h"
#include "fuzz.h"
#include "graph/build_model.h"
#include "graph/onnx/importer.h"
#include "graph/onnx/read_model.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  belay::SetMemoryLimit(1 << 20);
  try {
    auto model = belay::graph::onnx::ReadModel({reinterpret_cast<const char*>(data), size});
    belay::graph::Graph graph = belay::graph::onnx::Import(model, "");
    belay::graph::BuildModel(graph, {});
  } catch (const belay::Error& error) {
    FUZZ_REQUIRE(error.code() != 0 && !error.sentence().empty());
    FUZZ_REQUIRE(std::string(error.id()) !=
                 "onnx-reader");  // the reader is not there: nothing would be tested
  }
  return 0;
}
