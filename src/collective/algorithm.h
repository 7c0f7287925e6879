// What programs ask for of the algorithms between machines, by HCCL_ALGO or hcclAlgo:
// "level0:NA;level1:ring" for all operations, or "allreduce=level0:NA;level1:ring/alltoall=level1:pairwise".
// There is one way here, each machine sends to each directly, and the order of a reduction is fixed: so what
// is asked for is read, and said not to be there.
#pragma once

#include <string>
#include <string_view>

namespace belay::coll {

// "ring for all operations", "ring for allreduce, NHR for broadcast"; empty: none is asked for. Throws
// HCCL_E_PARA for what cannot be read; `setting` is what has that text.
std::string AlgorithmsIn(std::string_view text, const char* setting);
std::string AlgorithmsOfEnvironment();

// Once in a process for the same algorithms, on standard error.
void SayThatNotHere(const std::string& algorithms);

}  // namespace belay::coll
