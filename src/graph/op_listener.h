// Who wants to know when the operators of a model run.
#pragma once

#include <cstdint>
#include <string>

namespace belay::graph {

class OpListener {
 public:
  virtual ~OpListener() = default;
  // An operator has run, by the clock of NowNs. Several may at the same time. What is
  // thrown is the operator's failure.
  virtual void Ran(const std::string& name, const std::string& type, int64_t begin_ns, int64_t end_ns) = 0;
};

}  // namespace belay::graph
