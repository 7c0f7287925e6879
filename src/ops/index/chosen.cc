// Elements that are not zero, and those that a mask chooses: how many there are is known once they are
// counted.
#include <cstring>
#include <memory>
#include <numeric>

#include "base/error.h"
#include "ops/kernels.h"
#include "ops/layout/checks.h"
#include "ops/through.h"
#include "tensor/codes.h"
#include "tensor/views.h"

namespace belay::ops::kernels {
namespace {

using Told = std::shared_ptr<tensor::ToldShape>;

int64_t CountOf(const uint8_t* truths, int64_t n) { return std::accumulate(truths, truths + n, int64_t{0}); }

// visit(i) for each that holds; eight that do not are passed over at once.
template <class Visit>
void ForChosen(const uint8_t* truths, int64_t n, const Visit& visit) {
  for (int64_t i = 0; i < n;) {
    uint64_t eight;
    if (i + 8 <= n && (std::memcpy(&eight, truths + i, 8), eight == 0)) {
      i += 8;
      continue;
    }
    if (truths[i] != 0) visit(i);
    ++i;
  }
}

struct PlacesBody {
  int truths, out;
  int64_t out_at;
  Shape shape;
  bool columns;  // a place is a column, else a row
  Told told;

  void operator()(const Frame& frame) const {
    const auto* from = reinterpret_cast<const uint8_t*>(frame.at[truths]);
    auto* to = reinterpret_cast<int64_t*>(frame.at[out] + out_at);
    const int64_t n = tensor::CountOf(shape), found = CountOf(from, n), rank = shape.rank();
    int64_t next = 0;
    ForChosen(from, n, [&](int64_t i) {
      for (int d = static_cast<int>(rank) - 1; d >= 0; i /= shape[d--])
        to[columns ? d * found + next : next * rank + d] = i % shape[d];
      ++next;
    });
    told->Tell(columns ? Shape{rank, found} : Shape{found, rank});
  }
};

struct SelectBody {
  int truths, values, out;
  int64_t out_at, count, bytes;
  Told told;

  void operator()(const Frame& frame) const {
    const auto* from = reinterpret_cast<const uint8_t*>(frame.at[truths]);
    char* to = frame.at[out] + out_at;
    const char* first = to;
    ForChosen(from, count, [&](int64_t i) {
      std::memcpy(to, frame.at[values] + i * bytes, static_cast<size_t>(bytes));
      to += bytes;
    });
    told->Tell(Shape{(to - first) / bytes});
  }
};

void CheckPacked(const Operand& out) {
  if (tensor::IsPacked(out.shape(), out.tensor->strides)) return;
  Fail(tensor::kInvalidArgument, "op-packed-out",
       "{} is not contiguous; its shape changes with what is found", out.name);
}

void PlanPlaces(Plan& plan, const Operand& self, bool columns, const Operand& out) {
  const int64_t n = self.tensor->count(), rank = self.shape().rank();
  // torch_npu gives what has no dimensions a result without rows.
  if (rank != 0 || !out.tensor->empty()) CheckShape(out, columns ? Shape{rank, n} : Shape{n, rank});
  CheckPacked(out);
  const Told told = plan.TellsShapeOf(out.binding);
  PlanThrough(
      plan, tensor::PackedOf(DType::kBool, self.shape()), {&self}, out,
      [&](Plan& part, const auto& in, const Operand& truths) { Copy(part, DType::kBool, in[0], truths); },
      [&](Plan& part, const auto&, const Operand& truths, const Operand& to) {
        part.SetCost(100 + static_cast<uint64_t>(n) * 2);
        part.SetBody(
            PlacesBody{truths.binding, to.binding, OffsetOf(*to.tensor), self.shape(), columns, told});
      });
}

}  // namespace

void Nonzero(Plan& plan, DType, const Operand& self, const Operand& out) {
  PlanPlaces(plan, self, false, out);
}

void NonzeroV2(Plan& plan, DType, const Operand& self, const Operand& out) {
  PlanPlaces(plan, self, true, out);
}

void MaskedSelect(Plan& plan, DType, const Operand& self, const Operand& mask, const Operand& out) {
  const std::optional<Shape> shape = BroadcastShapes(self.shape(), mask.shape());
  if (!shape) {
    Fail(tensor::kInvalidArgument, "op-broadcast",
         "{} and {} have the shapes {} and {}, which do not broadcast", self.name, mask.name,
         self.shape().ToString(), mask.shape().ToString());
  }
  const int64_t n = tensor::CountOf(*shape);
  CheckSameType(self, out);
  CheckShape(out, Shape{n});
  CheckPacked(out);
  const Told told = plan.TellsShapeOf(out.binding);
  PlanThrough(
      plan, tensor::PackedOf(DType::kBool, *shape), {&self, &mask}, out,
      [&](Plan& part, const auto& in, const Operand& truths) { Copy(part, DType::kBool, in[1], truths); },
      [&](Plan& part, const auto& in, const Operand& truths, const Operand& to) {
        PlanThrough(
            part, tensor::PackedOf(self.dtype(), *shape), {&in[0], &truths}, to,
            [&](Plan& copy, const auto& from, const Operand& values) {
              Copy(copy, self.dtype(), from[0], values);
            },
            [&](Plan& select, const auto& from, const Operand& values, const Operand& end) {
              select.SetCost(100 + static_cast<uint64_t>(n) * 2);
              select.SetBody(SelectBody{from[1].binding, values.binding, end.binding, OffsetOf(*end.tensor),
                                        n, static_cast<int64_t>(BytesOf(self.dtype())), told});
            });
      });
}

}  // namespace belay::ops::kernels
