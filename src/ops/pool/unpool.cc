#include "ops/pool/unpool.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/error.h"
#include "ops/layout/moves.h"
#include "ops/layout/strided_copy.h"
#include "ops/scratch.h"
#include "tensor/codes.h"
#include "tensor/views.h"

namespace belay::ops {
namespace {

struct UnpoolBody {
  int x, places, out;
  Shape natural, shape;
  tensor::Strides strides;
  int64_t count;
  size_t element;

  void operator()(const Frame& frame) const {
    char* to = frame.at[out];
    std::memset(to, 0, static_cast<size_t>(CountOf(shape)) * element);
    const auto* at = reinterpret_cast<const int64_t*>(frame.at[places]);
    if (natural != shape) return Cut(frame, to, at);
    switch (element) {
      case 1:
        return Whole<uint8_t>(frame, to, at);
      case 2:
        return Whole<uint16_t>(frame, to, at);
      case 4:
        return Whole<uint32_t>(frame, to, at);
      default:
        return element == 8 ? Whole<uint64_t>(frame, to, at) : Cut(frame, to, at);
    }
  }

  // The places are those of the result.
  template <class T>
  void Whole(const Frame& frame, char* to, const int64_t* at) const {
    const auto* from = reinterpret_cast<const T*>(frame.at[x]);
    auto* result = reinterpret_cast<T*>(to);
    const auto limit = static_cast<uint64_t>(CountOf(shape));
    for (int64_t i = 0; i < count; ++i) {
      if (static_cast<uint64_t>(at[i]) < limit) result[at[i]] = from[i];
    }
  }

  void Cut(const Frame& frame, char* to, const int64_t* at) const {
    const int64_t limit = CountOf(natural);
    for (int64_t i = 0; i < count; ++i) {
      if (at[i] < 0 || at[i] >= limit) continue;
      int64_t rest = at[i], place = 0;
      bool inside = true;
      for (int d = natural.rank() - 1; d >= 0; --d) {
        const int64_t index = rest % natural[d];
        rest /= natural[d];
        inside = inside && index < shape[d];
        place += index * strides[d];
      }
      if (!inside) continue;
      std::memcpy(to + static_cast<size_t>(place) * element, frame.at[x] + static_cast<size_t>(i) * element,
                  element);
    }
  }
};

// A plane at a time: its places become one kind of integer first. Backwards, elements come from where they
// went.
struct PlanesBody {
  enum { kMany, kFew, kPlaces, kOperands };

  std::vector<int64_t> planes[kOperands];  // where those of each operand begin, from its storage
  int bindings[kOperands];
  std::vector<int64_t> many, few;  // where the elements of a plane lie in it
  StridedCopy load_places;
  PieceScratch<int64_t> memory;
  size_t element;
  bool back;

  void operator()(const Frame& frame) const {
    memory.For(frame, [&](int64_t begin, int64_t end, int64_t* places) {
      for (int64_t i = begin; i < end; ++i) Plane(frame, static_cast<size_t>(i), places);
    });
  }

  char* At(const Frame& frame, int k, size_t i) const { return frame.at[bindings[k]] + planes[k][i]; }

  void Plane(const Frame& frame, size_t i, int64_t* places) const {
    char* wide = At(frame, kMany, i);
    char* narrow = At(frame, kFew, i);
    if (!back) {
      for (const int64_t at : many) std::memset(wide + at, 0, element);
    }
    if (few.empty()) return;
    load_places.RunHere(reinterpret_cast<char*>(places), At(frame, kPlaces, i));
    for (size_t k = 0; k < few.size(); ++k) {
      if (places[k] < 0 || places[k] >= static_cast<int64_t>(many.size())) {
        Fail(tensor::kRuntimeFailure, "index-range", "place {} is none of a plane of {} elements", places[k],
             many.size());
      }
      char *there = wide + many[static_cast<size_t>(places[k])], *here = narrow + few[k];
      std::memcpy(back ? here : there, back ? there : here, element);
    }
  }
};

void PlanPlanes(Plan& plan, const Operand& many, const Operand& few, const Operand& places, int spatial,
                bool back) {
  PlanesBody body;
  const Operand* operands[PlanesBody::kOperands] = {&many, &few, &places};
  const int rank = many.shape().rank(), outer = rank - spatial;
  for (int k = 0; k < PlanesBody::kOperands; ++k) {
    const Tensor& t = *operands[k]->tensor;
    body.bindings[k] = operands[k]->binding;
    body.planes[k] = OffsetsOf(t, 0, outer);
    for (int64_t& at : body.planes[k]) at += tensor::OffsetOf(t);
  }
  body.many = OffsetsOf(*many.tensor, outer, rank), body.few = OffsetsOf(*few.tensor, outer, rank);
  const Tensor plane = tensor::DimsOf(*places.tensor, outer, rank);
  body.load_places = StridedCopy(tensor::PackedOf(DType::kI64, plane.shape), plane);
  body.element = BytesOf(many.dtype()), body.back = back;
  const auto each = static_cast<int64_t>(body.many.size() + body.few.size());
  body.memory = {plan, static_cast<int64_t>(body.planes[0].size()),
                 std::max<int64_t>(1, 16 * 1024 / (each + 1)), static_cast<int64_t>(body.few.size())};
  plan.SetCost(100 + static_cast<uint64_t>(many.tensor->count() + few.tensor->count()));
  plan.SetBody(body);
}

}  // namespace

void PlanUnpoolPlanes(Plan& plan, const Operand& x, const Operand& places, int spatial, const Operand& out) {
  if (!out.tensor->empty()) PlanPlanes(plan, out, x, places, spatial, false);
}

void PlanPickPlaces(Plan& plan, const Operand& x, const Operand& places, int spatial, const Operand& out) {
  if (!out.tensor->empty()) PlanPlanes(plan, x, out, places, spatial, true);
}

void PlanUnpool(Plan& plan, const Operand& x, const Operand& places, const Shape& natural,
                const Operand& out) {
  if (out.tensor->empty()) return;
  plan.SetCost(100 + static_cast<uint64_t>(out.tensor->count()));
  plan.SetBody(UnpoolBody{x.binding, places.binding, out.binding, natural, out.shape(),
                          PackedStrides(out.shape()), x.tensor->count(), BytesOf(x.dtype())});
}

}  // namespace belay::ops
