#include "belay_graph/measure.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <random>
#include <span>

#include "graph/host_tensor.h"
#include "runtime/process.h"

namespace belay::graph_tool {
namespace {

using Clock = std::chrono::steady_clock;

struct Free {
  void operator()(char* p) const { std::free(p); }
};
using Memory = std::unique_ptr<char, Free>;

Memory Allocate(size_t bytes) {
  constexpr size_t kAlignment = 4096;
  size_t rounded = (std::max<size_t>(bytes, 1) + kAlignment - 1) / kAlignment * kAlignment;
  auto* p = static_cast<char*>(std::aligned_alloc(kAlignment, rounded));
  if (p == nullptr) throw std::bad_alloc();
  std::fill_n(p, rounded, 0);
  return Memory(p);
}

void FillInput(const graph::ModelPort& port, char* at) {
  if (port.type.dtype != graph::DType::kF32) return;
  std::minstd_rand random(1);
  std::uniform_real_distribution<float> number(0, 1);
  for (float& x : std::span(reinterpret_cast<float*>(at), port.bytes / sizeof(float))) x = number(random);
}

double Median(std::vector<double>& values) {
  auto middle = values.begin() + static_cast<ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

Workers::Workers() { rt::Start(-1); }
Workers::~Workers() { rt::Stop(); }

std::vector<double> MeasureKernels(const graph::Program& program, int runs, Told told) {
  std::vector<Memory> memory;
  memory.push_back(Allocate(program.work_bytes()));
  std::vector<char*> bases = {memory.back().get(), nullptr};  // constants have addresses
  for (const auto* ports : {&program.inputs(), &program.outputs()}) {
    for (const graph::ModelPort& port : *ports) {
      memory.push_back(Allocate(port.bytes));
      if (ports == &program.inputs()) FillInput(port, memory.back().get());
      bases.push_back(memory.back().get());
    }
  }
  constexpr int kWarmUps = 2;
  std::vector<std::vector<double>> times(program.kernels().size());
  for (int run = 0; run < runs + kWarmUps; ++run) {
    for (size_t k = 0; k < times.size(); ++k) {
      auto begin = Clock::now();
      graph::Program::Run(program.kernels()[k], bases.data());
      double time = std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
      if (run >= kWarmUps) times[k].push_back(time);
    }
  }
  std::vector<double> each;
  for (std::vector<double>& values : times)
    each.push_back(told == Told::kLeast ? *std::min_element(values.begin(), values.end()) : Median(values));
  return each;
}

}  // namespace belay::graph_tool
