// For tests: a program on the calling thread, in ordinary memory.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "graph/program.h"

namespace belay::graph {

inline std::vector<Constant> RunProgram(const Graph& graph, const std::vector<Constant>& inputs) {
  Program program(graph);
  HostTensor work(DType::kU8, Shape{static_cast<int64_t>(program.work_bytes())});
  std::vector<char*> bases{reinterpret_cast<char*>(work.mutable_data()), nullptr};
  for (const Constant& input : inputs)
    bases.push_back(reinterpret_cast<char*>(const_cast<std::byte*>(input->data())));
  std::vector<Constant> outputs;
  for (const ModelPort& port : program.outputs()) {
    auto output = std::make_shared<HostTensor>(port.type.dtype, port.type.shape);
    bases.push_back(reinterpret_cast<char*>(output->mutable_data()));
    outputs.push_back(std::move(output));
  }
  for (const Kernel& kernel : program.kernels()) Program::Run(kernel, bases.data());
  return outputs;
}

}  // namespace belay::graph
