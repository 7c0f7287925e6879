// What the axes of a tensor mean, with aclFormat's numbers. ND and the named base formats are plain
// strided layouts; the others keep their elements in an order of their own.
#pragma once

#include <cstdint>

namespace belay::tensor {

enum class Format : int32_t {
  kUndefined = -1,
  kNCHW = 0,
  kNHWC = 1,
  kND = 2,
  kNC1HWC0 = 3,
  kFractalZ = 4,
  kNC1HWC0C04 = 12,
  kHWCN = 16,
  kNDHWC = 27,
  kFractalNZ = 29,
  kNCDHW = 30,
  kNDC1HWC0 = 32,
  kFractalZ3D = 33,
  kNC = 35,
  kNCL = 47,
};

// The name, or null for a number that is no format.
const char* NameOf(Format format);
// Elements lie where shape, strides and offset say.
bool IsPlain(Format format);

}  // namespace belay::tensor
