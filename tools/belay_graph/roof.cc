#include "belay_graph/roof.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/parallel.h"
#include "base/whole_file.h"
#include "belay/cpu_features.h"
#include "belay_graph/measure.h"
#include "graph/program.h"
#include "graph/specialise.h"

namespace belay::graph_tool {
namespace {

using graph::DType;
using graph::Graph;
using graph::Node;
using graph::ValueType;

constexpr int kVersionOfRoof = 1;  // another way of measuring is another number

ValueType Floats(const tensor::Shape& shape) { return {DType::kF32, graph::Format::kND, true, shape}; }

// Seconds of the fastest of some runs of one node.
double SecondsOf(const std::string& type, const tensor::Shape& shape, int inputs, int runs) {
  Graph graph;
  std::vector<ValueType> types(static_cast<size_t>(inputs), Floats(shape));
  Node node{.name = "node", .type = type, .types = {Floats(shape)}};
  for (int i = 0; i < inputs; ++i)
    node.inputs.push_back({graph.AddInput(fmt::format("x{}", i), Floats(shape)), 0});
  const int n = graph.Add(std::move(node));
  graph.outputs = {{{n, 0}, "y", Floats(shape)}};
  const graph::Program program(graph::Specialise(graph, types).graph);
  double microseconds = 0;
  for (double time : MeasureKernels(program, runs, Told::kLeast)) microseconds += time;
  return std::max(microseconds, 1e-3) * 1e-6;
}

std::string Machine() {
  return fmt::format("{}, {} workers, {}", tool::CpuModel(), ParallelWidth(), kVersionOfRoof);
}

}  // namespace

double Roof::RateFor(uint64_t bytes) const {
  for (const auto& [size, rate] : rates) {
    if (bytes <= size) return rate;
  }
  return rates.empty() ? 0 : rates.back().second;
}

double Roof::SecondsFor(double operations, uint64_t bytes) const {
  const double rate = RateFor(bytes);
  return std::max(flops > 0 ? operations / flops : 0, rate > 0 ? static_cast<double>(bytes) / rate : 0);
}

std::string RoofPath() {
  const char *cache = std::getenv("XDG_CACHE_HOME"), *home = std::getenv("HOME");
  if (cache != nullptr && cache[0] == '/') return std::string(cache) + "/belay/roof.json";
  return home != nullptr && home[0] == '/' ? std::string(home) + "/.cache/belay/roof.json" : "";
}

Roof MeasureRoof() {
  constexpr int64_t kSide = 768;
  Roof roof;
  roof.flops = 2.0 * kSide * kSide * kSide / SecondsOf("MatMul", {kSide, kSide}, 2, 15);
  constexpr uint64_t kSizes[] = {64 << 10, 512 << 10, 8 << 20, 64 << 20};  // of a near cache to memory
  for (const uint64_t bytes : kSizes) {
    const auto count = static_cast<int64_t>(bytes / 2 / sizeof(float));
    const int runs = bytes > (1 << 20) ? 5 : 201;
    roof.rates.emplace_back(bytes, static_cast<double>(bytes) / SecondsOf("Neg", {count}, 1, runs));
  }
  return roof;
}

std::optional<Roof> ReadRoof(const std::string& path, const std::string& machine) {
  constexpr size_t kMost = 1 << 16;
  const std::optional<std::string> text = ReadWholeFile(path, kMost);
  if (!text) return std::nullopt;
  const auto kept = nlohmann::json::parse(*text, nullptr, false);
  if (!kept.is_object()) return std::nullopt;
  try {
    if (kept.at("machine") != machine) return std::nullopt;
    Roof roof{kept.at("flops"), kept.at("rates")};
    if (roof.flops > 0 && !roof.rates.empty()) return roof;
  } catch (const nlohmann::json::exception&) {  // not what was written: measured again
  }
  return std::nullopt;
}

bool WriteRoof(const std::string& path, const std::string& machine, const Roof& roof) {
  std::error_code failed;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), failed);
  if (failed) return false;
  const nlohmann::ordered_json kept = {{"machine", machine}, {"flops", roof.flops}, {"rates", roof.rates}};
  return !WriteWholeFile(path, kept.dump(1) + "\n");
}

Roof RoofOfThisMachine(const std::string& path) {
  const std::string machine = Machine();
  if (!path.empty()) {
    if (const std::optional<Roof> kept = ReadRoof(path, machine)) return *kept;
  }
  const Roof roof = MeasureRoof();
  if (!path.empty()) WriteRoof(path, machine, roof);
  return roof;
}

}  // namespace belay::graph_tool
