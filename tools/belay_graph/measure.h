// How long each kernel of a program takes.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/program.h"

namespace belay::graph_tool {

// While one lives kernels are made for all workers, and shared by them.
class Workers {
 public:
  Workers();
  ~Workers();
  Workers(const Workers&) = delete;
};

enum class Told : uint8_t { kMedian, kLeast };

// Microseconds of each kernel: the median of some runs, or the least, one kernel after another, each with all
// workers. Inputs are random numbers between 0 and 1, integers are 0.
std::vector<double> MeasureKernels(const graph::Program& program, int runs, Told told = Told::kMedian);

}  // namespace belay::graph_tool
