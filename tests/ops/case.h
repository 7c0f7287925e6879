// A case as text, one a line:
//
//   Add f32[2,3] f16[3].t 2:f32 >f32[2,3] ~1e-3      the arguments of aclnnAdd in the order of the
//   call Add f32[2] f32[3] 1:f32 >f32[3] !161002          refused by the first stage with this code
//
//   f32[2,3]    tensor     `>` in front: it is written. Layouts: .t columns packed, .s steps,
//                          .b the last dimension repeats one element, .o offset, .d storageDims are
//                          the view's dims (else the flat count)
//   2.5:f32     scalar     {0,-1}: array of integers   :f16: data type   3: integer or bool   null
//   ~1e-3       largest difference from the expected value, relative above 1; 0 without it
//   #           comment
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tensor/objects.h"

namespace belay::cases {

using tensor::DType;

enum class Kind { kTensor, kScalar, kInts, kDType, kNumber, kNull };

struct Argument {
  Kind kind = Kind::kNumber;
  bool written = false;
  tensor::Tensor tensor;  // without data
  bool flat_storage = true;
  DType dtype = DType::kUndefined;  // of a scalar; or the value
  double number = 0;
  std::vector<int64_t> ints;
};

struct Case {
  std::string text;
  std::string function;  // without "aclnn"
  std::vector<Argument> arguments;
  double tolerance = 0;
  int code = 0;
};

// Throws std::runtime_error that quotes what it cannot read.
Case ParseCase(const std::string& line);
// The cases of a file.
std::vector<Case> ReadCases(const std::string& path);

}  // namespace belay::cases
