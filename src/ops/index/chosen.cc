// Elements that are not zero, and those that a mask chooses: how many there are is known once they are
// counted.
#include <algorithm>
#include <cstring>
#include <memory>

#include "base/error.h"
#include "ops/kernels.h"
#include "ops/layout/checks.h"
#include "ops/layout/moves.h"
#include "ops/through.h"
#include "tensor/codes.h"
#include "tensor/views.h"

namespace belay::ops::kernels {
namespace {

using Told = std::shared_ptr<tensor::ToldShape>;

// How many are not 0, eight at a time: the highest bit of each byte says whether any of its bits is set.
int64_t CountOf(const uint8_t* truths, int64_t n) {
  int64_t count = 0, i = 0;
  for (; i + 8 <= n; i += 8) {
    uint64_t eight;
    std::memcpy(&eight, truths + i, 8);
    const uint64_t lower = 0x7f7f7f7f7f7f7f7f, set = (((eight & lower) + lower) | eight) & ~lower;
    count += static_cast<int64_t>((set >> 7) * 0x0101010101010101 >> 56);
  }
  return count + (n - i) - std::count(truths + i, truths + n, 0);
}

constexpr int64_t kTogether = 512;

// Which of n truths hold, in order; what is written last may be beyond them. Eight that do not hold are
// passed over at once; else nothing is decided, for nobody foresees what holds.
int64_t Chosen(const uint8_t* truths, int64_t n, int64_t* places) {
  int64_t found = 0, i = 0;
  const auto look = [&] {
    places[found] = i;
    found += truths[i++] != 0 ? 1 : 0;
  };
  while (i + 8 <= n) {
    uint64_t eight;
    std::memcpy(&eight, truths + i, 8);
    if (eight == 0) {
      i += 8;
      continue;
    }
    for (int k = 0; k < 8; ++k) look();
  }
  while (i < n) look();
  return found;
}

// visit(begin, places, found) for pieces of the truths: those that hold lie so far behind the piece's begin.
template <class Visit>
void ForChosen(const uint8_t* truths, int64_t n, const Visit& visit) {
  int64_t places[kTogether];
  for (int64_t begin = 0; begin < n; begin += kTogether) {
    const int64_t found = Chosen(truths + begin, std::min(kTogether, n - begin), places);
    visit(begin, places, found);
  }
}

// The coordinates of elements in row-major order.
class Coordinates {
 public:
  explicit Coordinates(const Shape& shape) : shape_(shape), row_(shape.back(0)) {}

  // To an element that does not lie before the last one.
  void MoveTo(int64_t element) {
    constexpr int64_t kFewRows = 4;  // more are passed by divisions
    if (element - begin_ >= kFewRows * row_) {
      begin_ = element - element % row_;
      int64_t rest = element / row_;
      for (int d = shape_.rank() - 2; d >= 0; rest /= shape_[d--]) at_[d] = rest % shape_[d];
    }
    for (; element - begin_ >= row_; begin_ += row_) NextRow();
    at_[shape_.rank() - 1] = element - begin_;
  }
  int64_t operator[](int64_t d) const { return at_[d]; }

 private:
  void NextRow() {
    for (int d = shape_.rank() - 2; ++at_[d] == shape_[d]; --d) at_[d] = 0;
  }

  const Shape& shape_;
  int64_t row_, begin_ = 0;
  int64_t at_[tensor::kMaxRank] = {};
};

struct PlacesBody {
  int truths, out;
  int64_t out_at;
  Shape shape;
  bool columns;  // a place is a column, else a row
  Told told;

  void operator()(const Frame& frame) const {
    const auto* from = reinterpret_cast<const uint8_t*>(frame.at[truths]);
    auto* to = reinterpret_cast<int64_t*>(frame.at[out] + out_at);
    const int64_t n = tensor::CountOf(shape), rank = shape.rank();
    const int64_t found = rank == 1 ? Positions(from, n, to) : CountOf(from, n);
    if (rank > 1) columns ? Coordinated(from, n, to, 1, found) : Coordinated(from, n, to, rank, 1);
    told->Tell(columns ? Shape{rank, found} : Shape{found, rank});
  }

  static int64_t Positions(const uint8_t* from, int64_t n, int64_t* to) {
    int64_t next = 0;
    ForChosen(from, n, [&](int64_t begin, const int64_t* places, int64_t found) {
      for (int64_t k = 0; k < found; ++k) to[next + k] = begin + places[k];
      next += found;
    });
    return next;
  }

  // Coordinate d of place i at i * along + d * across.
  void Coordinated(const uint8_t* from, int64_t n, int64_t* to, int64_t along, int64_t across) const {
    Coordinates at(shape);
    ForChosen(from, n, [&](int64_t begin, const int64_t* places, int64_t found) {
      for (int64_t k = 0; k < found; ++k, to += along) {
        at.MoveTo(begin + places[k]);
        for (int64_t d = 0; d < shape.rank(); ++d) to[d * across] = at[d];
      }
    });
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
    ForChosen(from, count, [&](int64_t begin, int64_t* places, int64_t found) {
      for (int64_t k = 0; k < found; ++k) places[k] *= bytes;
      PickRow(to, bytes, frame.at[values] + begin * bytes, places, found, bytes);
      to += found * bytes;
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
