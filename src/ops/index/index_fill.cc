// Filling what a list of the host names.
#include "base/error.h"
#include "ops/index/indices.h"
#include "ops/kernels.h"
#include "ops/layout/checks.h"
#include "ops/layout/strided_copy.h"
#include "ops/rules.h"
#include "tensor/codes.h"

namespace belay::ops {
namespace {

struct IndexFillBody {
  StridedCopy start;
  bool in_place;
  std::vector<int64_t> places;  // byte offsets
  StridedCopy fill;             // of one slice
  unsigned char value[16];
  int64_t offset;
  int bindings[2];

  void operator()(const Frame& frame) const {
    if (!in_place) start.Run(frame.at[bindings[0]], frame.at[bindings[1]]);
    for (int64_t place : places) {
      fill.RunHere(frame.at[bindings[0]] + offset + place, reinterpret_cast<const char*>(value));
    }
  }
};

}  // namespace

namespace kernels {

void IndexFill(Plan& plan, DType, const Operand& self, int64_t dim, std::span<const int64_t> index,
               const Scalar& value, const Operand& out) {
  int axis = rules::WrapDim(self, dim);
  CheckSameType(self, out);
  CheckShape(out, self.tensor->shape);
  Tensor to = *out.tensor, from = *self.tensor;
  if (to.shape.rank() == 0) to.shape = to.strides = from.shape = from.strides = {1};  // as its only element
  if (!tensor::CanConvert(to.dtype, value.dtype()) && to.dtype != DType::kC64) {
    Fail(tensor::kInvalidArgument, "op-promote", "value ({}) and {} ({}) have no common type",
         NameOf(value.dtype()), out.name, NameOf(to.dtype));
  }
  if (to.empty()) return;
  IndexFillBody body;
  body.in_place = self.binding == out.binding;
  if (!body.in_place) body.start = StridedCopy(to, from);
  auto bytes = static_cast<int64_t>(BytesOf(to.dtype));
  for (int64_t i : index) {
    if (i < -to.shape[axis] || i >= to.shape[axis]) {
      Fail(tensor::kInvalidArgument, "op-index-range", "index {} is beyond a dimension of {} elements", i,
           to.shape[axis]);
    }
    body.places.push_back((i < 0 ? i + to.shape[axis] : i) * to.strides[axis] * bytes);
  }
  Tensor slice = to, one;
  slice.shape[axis] = 1;
  one.dtype = to.dtype;
  body.fill = StridedCopy(slice, one);
  tensor::Convert(to.dtype, body.value, value.dtype(), value.data(), 1);
  body.offset = to.offset * bytes;
  body.bindings[0] = out.binding;
  body.bindings[1] = self.binding;
  plan.SetCost(100 + static_cast<uint64_t>(to.count()));
  plan.SetBody(body);
}

}  // namespace kernels
}  // namespace belay::ops
