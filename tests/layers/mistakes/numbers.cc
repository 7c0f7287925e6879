// Operators that make a NaN of numbers, told with --nan.
#include <limits>

#include "aclnnop/aclnn_div.h"
#include "aclnnop/aclnn_fill_scalar.h"
#include "aclnnop/aclnn_log.h"
#include "mistakes.h"

using namespace mistakes;

namespace {

constexpr int64_t kElements = 16;

void SetOne(void* block, float value, int64_t at = 0) {
  OK(aclrtMemcpy(static_cast<float*>(block) + at, sizeof value, &value, sizeof value,
                 ACL_MEMCPY_HOST_TO_DEVICE));
}

// out = log(self)
void Logarithm(const View& self, const View& out, aclrtStream stream) {
  aclTensor* tensors[] = {Tensor(self), Tensor(out)};
  uint64_t bytes = 0;
  aclOpExecutor* executor = nullptr;
  OK(aclnnLogGetWorkspaceSize(tensors[0], tensors[1], &bytes, &executor));
  OK(aclnnLog(nullptr, 0, executor, stream));
  for (aclTensor* tensor : tensors) aclDestroyTensor(tensor);
}

// self = self / other
void Divide(const View& self, const View& other, aclrtStream stream) {
  aclTensor* tensors[] = {Tensor(self), Tensor(other)};
  uint64_t bytes = 0;
  aclOpExecutor* executor = nullptr;
  OK(aclnnInplaceDivGetWorkspaceSize(tensors[0], tensors[1], &bytes, &executor));
  OK(aclnnInplaceDiv(nullptr, 0, executor, stream));
  for (aclTensor* tensor : tensors) aclDestroyTensor(tensor);
}

// As programs mark what is not there.
void FillWithNaN(const View& self, aclrtStream stream) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  aclTensor* tensor = Tensor(self);
  aclScalar* value = aclCreateScalar(const_cast<float*>(&nan), ACL_FLOAT);
  uint64_t bytes = 0;
  aclOpExecutor* executor = nullptr;
  OK(aclnnInplaceFillScalarGetWorkspaceSize(tensor, value, &bytes, &executor));
  OK(aclnnInplaceFillScalar(nullptr, 0, executor, stream));
  aclDestroyTensor(tensor);
  aclDestroyScalar(value);
}

}  // namespace

// What comes of it later is not told of, too.
MISTAKE(ALogarithmOfWhatIsNegative, "first-nan") {
  if (!mended) SetOne(x, -1, 5);
  FillWithNaN(Vector(y), a);
  Logarithm(Vector(x, kElements), Vector(y, kElements), a);  // [1]
  Sum(Vector(y, kElements), Vector(z, kElements), Vector(z, kElements), a);
}

// A NaN that comes with the data is no operator's, nor is one that lies where nothing is read.
MISTAKE(ZeroByZeroInAModel, "first-nan") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  SetOne(x, nan);
  SetOne(y, nan, kElements);
  Sum(Vector(x, kElements), Vector(z, kElements), Vector(x, kElements), a);
  Begin(a);
  Divide(Vector(y, kElements), Vector(z, kElements), a);  // [1]
  aclmdlRI model = Finish(a);
  Wait(a);
  if (!mended) {
    SetOne(y, 0, 3);
    SetOne(z, 0, 3);
  }
  Launch(model, a);
  Replay(model, a);
}

// Infinities alone are meant more often than not. The difference of two, in every other column.
MISTAKE(InfinitiesAreAdded, "first-nan") {
  const float infinity = std::numeric_limits<float>::infinity();
  const View columns{y, {4, 4}, {8, 1}, 2};
  SetOne(x, infinity);
  SetOne(y, mended ? infinity : -infinity, 2);
  SetOne(y, std::numeric_limits<float>::quiet_NaN(), 6);  // between the rows
  Sum(Vector(x, kElements), Vector(z, kElements), Vector(x, kElements), a);
  Sum({x, {4, 4}, {4, 1}}, columns, columns, a);  // [1]
}
