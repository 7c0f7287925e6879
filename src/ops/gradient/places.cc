// Gradients of what chose elements by their places in a plane: each goes where its element came from.
#include <algorithm>
#include <vector>

#include "base/error.h"
#include "ops/kernels.h"
#include "ops/layout/checks.h"
#include "ops/layout/moves.h"
#include "ops/layout/strided_copy.h"
#include "ops/scratch.h"
#include "tensor/codes.h"
#include "tensor/views.h"

namespace belay::ops {
namespace {

struct PlacesBody {
  // The planes of out, of the gradient and of the places, and how one of each is copied.
  std::vector<int64_t> planes[3];
  int64_t offsets[3];
  int bindings[3];
  StridedCopy store, load, load_places;
  PieceScratch<char> memory;

  void operator()(const Frame& frame) const {
    memory.For(frame, [&](int64_t begin, int64_t end, char* room) {
      for (int64_t i = begin; i < end; ++i) Plane(frame, static_cast<size_t>(i), room);
    });
  }

  char* At(const Frame& frame, int k, size_t i) const {
    return frame.at[bindings[k]] + offsets[k] + planes[k][i];
  }

  void Plane(const Frame& frame, size_t i, char* room) const {
    auto* places = reinterpret_cast<int64_t*>(room);
    auto* sums = reinterpret_cast<float*>(places + load.count());
    float* gradient = sums + store.count();
    load.RunHere(reinterpret_cast<char*>(gradient), At(frame, 1, i));
    load_places.RunHere(room, At(frame, 2, i));
    std::fill_n(sums, store.count(), 0.0f);
    for (int64_t k = 0; k < load.count(); ++k) {
      if (places[k] < 0 || places[k] >= store.count()) {
        Fail(tensor::kRuntimeFailure, "index-range", "place {} is none of a plane of {} elements", places[k],
             store.count());
      }
      sums[places[k]] += gradient[k];
    }
    store.RunHere(At(frame, 0, i), reinterpret_cast<const char*>(sums));
  }
};

void PlacesBackward(Plan& plan, const Operand& gradient, const Operand& self, const Operand& indices,
                    int spatial, const Operand& out) {
  CheckShape(out, self.shape());
  CheckShape(indices, gradient.shape());
  CheckSameType(gradient, self);
  CheckSameType(self, out);
  const int rank = self.shape().rank(), outer = rank - spatial;
  bool fits = rank == gradient.shape().rank() && (outer == 1 || outer == 2);
  for (int d = 0; d < outer && fits; ++d) fits = self.shape()[d] == gradient.shape()[d];
  if (!fits) {
    Fail(tensor::kInvalidArgument, "pool-shape",
         "{} {} and {} {} have one or two equal dimensions and {} others", gradient.name,
         gradient.shape().ToString(), self.name, self.shape().ToString(), spatial);
  }
  if (out.tensor->empty()) return;
  PlacesBody body;
  const Operand* operands[3] = {&out, &gradient, &indices};
  Tensor planes[3];
  for (int k = 0; k < 3; ++k) {
    const Tensor& t = *operands[k]->tensor;
    body.bindings[k] = operands[k]->binding;
    body.offsets[k] = tensor::OffsetOf(t);
    body.planes[k] = OffsetsOf(t, 0, outer);
    planes[k] = tensor::DimsOf(t, outer, rank);
  }
  body.store = StridedCopy(planes[0], tensor::PackedOf(DType::kF32, planes[0].shape));
  body.load = StridedCopy(tensor::PackedOf(DType::kF32, planes[1].shape), planes[1]);
  body.load_places = StridedCopy(tensor::PackedOf(DType::kI64, planes[2].shape), planes[2]);
  const int64_t each = body.load.count() * 12 + body.store.count() * 4;
  body.memory = {plan, static_cast<int64_t>(body.planes[0].size()),
                 std::max<int64_t>(1, 16 * 1024 / (each + 1)), each};
  plan.SetCost(100 + static_cast<uint64_t>(out.tensor->count() + gradient.tensor->count()) * 2);
  plan.SetBody(body);
}

}  // namespace

namespace kernels {

void MaxPool3dWithArgmaxBackward(Plan& plan, DType, const MaxPool3dWithArgmaxBackwardArguments& a) {
  PlacesBackward(plan, a.grad_output, a.self, a.indices, 3, a.out);
}

void AdaptiveMaxPool2dBackward(Plan& plan, DType, const Operand& gradient, const Operand& self,
                               const Operand& indices, const Operand& out) {
  PlacesBackward(plan, gradient, self, indices, 2, out);
}

void MaxPool2dWithIndicesBackward(Plan& plan, DType, const MaxPool2dWithIndicesBackwardArguments& a) {
  PlacesBackward(plan, a.grad_output, a.self, a.indices, 2, a.grad_input);
}

void AdaptiveMaxPool3dBackward(Plan& plan, DType, const Operand& gradient, const Operand& self,
                               const Operand& indices, const Operand& out) {
  PlacesBackward(plan, gradient, self, indices, 3, out);
}

}  // namespace kernels
}  // namespace belay::ops
