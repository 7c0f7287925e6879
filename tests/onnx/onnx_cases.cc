// onnx_cases [-c] FOLDER...: each folder holds model.onnx and test_data_set_0/{input,output}_N.pb, as ONNX's
// backend tests write them. Runs the model by the interpreter (-c: compiled) and compares, with their
// tolerances.
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <map>
#include <string>

#include "base/error.h"
#include "graph/interpreter.h"
#include "graph/onnx/importer.h"
#include "graph/onnx/read_model.h"
#include "graph/passes/passes.h"
#include "graph/run_program.h"
#include "graph/specialise.h"

namespace {

namespace fs = std::filesystem;
using namespace belay::graph;  // NOLINT: a small program

std::vector<Constant> ReadAll(const fs::path& folder, const std::string& what) {
  std::vector<Constant> tensors;
  for (int i = 0;; ++i) {
    fs::path file = folder / "test_data_set_0" / (what + "_" + std::to_string(i) + ".pb");
    if (!fs::exists(file)) return tensors;
    tensors.push_back(onnx::ReadTensor(onnx::ReadFile(file.string())));
  }
}

bool Close(double got, double want, double relative) {
  if (std::isnan(want)) return std::isnan(got);
  if (std::isinf(want)) return got == want;
  return std::abs(got - want) <= 1e-7 + relative * std::abs(want);
}

// Empty: they agree.
std::string Difference(const HostTensor& got, const HostTensor& want) {
  if (got.dtype() != want.dtype())
    return std::string("type ") + NameOf(got.dtype()) + ", wanted " + NameOf(want.dtype());
  if (got.shape() != want.shape())
    return "shape " + got.shape().ToString() + ", wanted " + want.shape().ToString();
  bool is_float = IsFloat(want.dtype());
  if (!is_float) {
    return std::memcmp(got.data(), want.data(), want.bytes()) == 0 ? "" : "other values";
  }
  double relative = want.dtype() == DType::kF16 ? 5e-3 : want.dtype() == DType::kBF16 ? 2e-2 : 1e-3;
  auto a = got.Reals(), b = want.Reals();
  for (size_t i = 0; i < a.size(); ++i) {
    if (!Close(a[i], b[i], relative)) {
      return "element " + std::to_string(i) + " is " + std::to_string(a[i]) + ", wanted " +
             std::to_string(b[i]);
    }
  }
  return "";
}

std::vector<Constant> RunCompiled(const Graph& graph, const std::vector<Constant>& inputs) {
  std::vector<ValueType> types;
  for (const Constant& input : inputs) types.push_back({input->dtype(), Format::kND, true, input->shape()});
  Specialised specialised = Specialise(graph, types);
  if (!specialised.dynamic_at.empty()) return Evaluate(specialised.graph, inputs);
  Optimise(specialised.graph);
  return RunProgram(specialised.graph, inputs);
}

bool g_compile = false;

std::string RunCase(const fs::path& folder) try {
  Graph graph = onnx::Import(onnx::ReadModelFile((folder / "model.onnx").string()), folder.string());
  std::vector<Constant> inputs = ReadAll(folder, "input");
  std::vector<Constant> outputs = g_compile ? RunCompiled(graph, inputs) : Evaluate(graph, inputs);
  std::vector<Constant> wanted = ReadAll(folder, "output");
  if (outputs.size() != wanted.size()) return "another number of outputs";
  for (size_t i = 0; i < wanted.size(); ++i) {
    std::string difference = Difference(*outputs[i], *wanted[i]);
    if (!difference.empty()) return "output " + std::to_string(i) + ": " + difference;
  }
  return "";
} catch (const belay::Error& error) {
  return error.sentence();
} catch (const std::exception& error) {
  return error.what();
}

}  // namespace

int main(int count, char** arguments) {
  int passed = 0, failed = 0;
  g_compile = count > 1 && std::strcmp(arguments[1], "-c") == 0;
  for (int i = g_compile ? 2 : 1; i < count; ++i) {
    std::string difference = RunCase(arguments[i]);
    ++(difference.empty() ? passed : failed);
    if (!difference.empty()) {
      std::printf("%s: %s\n", fs::path(arguments[i]).filename().c_str(), difference.c_str());
      std::fflush(stdout);
    }
  }
  std::printf("%d passed, %d failed\n", passed, failed);
  return failed == 0 ? 0 : 1;
}
