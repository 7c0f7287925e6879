// oneDNN lies in a library of its own beside this one (libbelay_dnnl.so), loaded with the first
// operator that needs it: oneDNN and its OpenMP run-time cost process start otherwise.
#pragma once

namespace belay::ops {

// A function of that library; null where the library is missing, which is said once.
void* OneDnnSymbol(const char* name);

}  // namespace belay::ops
