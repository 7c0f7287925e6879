// What programs ask for of the algorithms between machines, by HCCL_ALGO or hcclAlgo:
// "level0:NA;level1:ring" for all operations, or "allreduce=level0:NA;level1:ring/alltoall=level1:pairwise".
// They name a way (way.h), of which a communicator has one; results do not depend on it.
#pragma once

#include <string>
#include <string_view>

#include "collective/way.h"

namespace belay::coll {

struct Algorithms {
  WayKind way = WayKind::kUnsaid;  // of the first that names one
  // "AHC for all operations", "ring for allreduce, NHR for broadcast": those that name none, or another.
  std::string not_there;
};

// Throws HCCL_E_PARA for what cannot be read; `setting` is what has that text.
Algorithms AlgorithmsIn(std::string_view text, const char* setting);
Algorithms AlgorithmsOfEnvironment();

// Once in a process for the same algorithms, on standard error.
void SayThatNotHere(const Algorithms& algorithms);

}  // namespace belay::coll
