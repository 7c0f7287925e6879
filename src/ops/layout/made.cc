// Tensors that are made from a rule (ranges, identity matrices), and triangles of others.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/copy_memory.h"
#include "base/error.h"
#include "base/parallel.h"
#include "ops/kernels.h"
#include "ops/layout/checks.h"
#include "ops/layout/eye.h"
#include "ops/layout/moves.h"
#include "ops/loop_nest.h"
#include "ops/pipeline.h"
#include "ops/sequence.h"
#include "tensor/codes.h"
#include "tensor/views.h"

namespace belay::ops {
namespace {

using tensor::kInvalidArgument;

// What stands at each place of a vector: start + i * step; whole numbers wrap.
template <class T>
struct Steps {
  T start, step;

  T At(int64_t i) const {
    using W = std::conditional_t<std::is_same_v<T, double>, double, uint64_t>;
    return static_cast<T>(static_cast<W>(start) + static_cast<W>(i) * static_cast<W>(step));
  }
};

// Even steps between two ends, counted from the nearer one so that both are exact: whole results are cut off,
// so that the last bit decides.
struct EvenSteps {
  double start, end, step;
  int64_t count, half;

  EvenSteps(double first, double last, int64_t n)
      : start(first),
        end(last),
        step(n > 1 ? (last - first) / static_cast<double>(n - 1) : 0.0),
        count(n),
        half(n > 1 ? n / 2 : n) {}
  double At(int64_t i) const {
    return i < half ? start + static_cast<double>(i) * step : end - static_cast<double>(count - 1 - i) * step;
  }
};

template <class Rule>
struct RangeBodyOf {
  Rule rule;
  int64_t count, out_step, offset;
  DType type;
  int binding;

  void operator()(const Frame& frame) const {
    using T = decltype(rule.At(0));
    char* out = frame.at[binding] + offset;
    alignas(64) T values[kBlock];
    alignas(64) char converted[kBlock * 8];
    auto bytes = static_cast<int64_t>(BytesOf(type));
    DType from = std::is_same_v<T, double> ? DType::kF64 : DType::kI64;
    for (int64_t i = 0; i < count; i += kBlock) {
      int64_t n = std::min(kBlock, count - i);
      for (int64_t k = 0; k < n; ++k) values[k] = rule.At(i + k);
      tensor::Convert(type, converted, from, values, n);
      MoveRow(out + i * out_step, out_step, converted, bytes, n, bytes);
    }
  }
};

template <class Rule>
void PlanRange(Plan& plan, const Rule& rule, const Operand& out) {
  const Tensor& to = *out.tensor;
  if (to.empty()) return;
  auto bytes = static_cast<int64_t>(BytesOf(to.dtype));
  int64_t out_step = to.shape.rank() == 0 ? bytes : to.strides.back(0) * bytes;
  plan.SetCost(20 + static_cast<uint64_t>(to.count()));
  plan.SetBody(RangeBodyOf<Rule>{rule, to.count(), out_step, to.offset * bytes, to.dtype, out.binding});
}

struct PowersBody {
  EvenSteps powers;
  double base;
  int64_t out_step, offset;
  DType type;
  int binding;

  void operator()(const Frame& frame) const {
    for (int64_t i = 0; i < powers.count; ++i) {
      const double value = std::pow(base, powers.At(i));
      tensor::Convert(type, frame.at[binding] + offset + i * out_step, DType::kF64, &value, 1);
    }
  }
};

bool Whole(const Scalar& scalar) { return !IsFloat(scalar.dtype()); }

// Dimensions of 1 before the vector's are allowed: ggml's tensors have four.
void CheckVector(const Operand& out) {
  const Shape& shape = out.tensor->shape;
  if (shape.rank() <= 1 || shape.back(0) == out.tensor->count()) return;
  Fail(kInvalidArgument, "op-out-shape", "{} has shape {}, but the result is a vector", out.name,
       out.tensor->shape.ToString());
}

void PlanSteps(Plan& plan, const Scalar& start, const Scalar& step, const Operand& out) {
  CheckVector(out);
  if (step.ToDouble() == 0) Fail(kInvalidArgument, "op-step", "step is 0");
  if (Whole(start) && Whole(step)) return PlanRange(plan, Steps<int64_t>{start.ToInt(), step.ToInt()}, out);
  PlanRange(plan, Steps<double>{start.ToDouble(), step.ToDouble()}, out);
}

// n elements of `bytes` bytes become zero.
void ClearRow(char* out, int64_t step, int64_t n, int64_t bytes) {
  if (n <= 0) return;
  if (step == bytes) {
    std::memset(out, 0, static_cast<size_t>(n * bytes));
    return;
  }
  for (int64_t i = 0; i < n; ++i) std::memset(out + i * step, 0, static_cast<size_t>(bytes));
}

// Keeps the elements of one side of a diagonal and clears the rest.
struct TriangleBody {
  std::vector<int64_t> out_rows, in_rows;  // byte offsets
  int64_t height, width, diagonal;
  int64_t out_step, in_step, bytes;
  bool upper, packed;
  int bindings[2];

  void operator()(const Frame& frame) const {
    ParallelFor(static_cast<int64_t>(out_rows.size()), std::max<int64_t>(1, 128 * 1024 / width),
                [&](int64_t begin, int64_t end) {
                  for (int64_t i = begin; i < end;) {
                    auto at = static_cast<size_t>(i);
                    i += Rows(frame.at[bindings[0]] + out_rows[at], frame.at[bindings[1]] + in_rows[at],
                              i % height, std::min(end - i, height - i % height));
                  }
                });
  }

  // Some of `most` rows of a matrix, one at least; returns how many. Where both sides are packed, those that
  // stay or go as a whole are one.
  int64_t Rows(char* out, const char* in, int64_t row, int64_t most) const {
    const int64_t edge = Edge(row), cleared = upper ? edge : width - edge;
    if (!packed || (edge != 0 && edge != width)) {
      Row(out, in, row);
      return 1;
    }
    const int64_t rows = edge == 0 ? std::min(most, 1 - row - FirstEdge()) : most;
    const auto all = static_cast<size_t>(rows * width * bytes);
    if (cleared != 0) {
      std::memset(out, 0, all);
    } else if (out != in) {
      CopyMemory(out, in, all);
    }
    return rows;
  }

  // Where the diagonal goes through a row: upper triangles begin there, others end.
  int64_t FirstEdge() const { return diagonal + (upper ? 0 : 1); }
  int64_t Edge(int64_t row) const { return std::clamp<int64_t>(row + FirstEdge(), 0, width); }

  void Row(char* out, const char* in, int64_t row) const {
    const int64_t edge = Edge(row);
    int64_t kept = upper ? edge : 0, kept_end = upper ? width : edge;
    if (out != in || out_step != in_step) {
      MoveRow(out + kept * out_step, out_step, in + kept * in_step, in_step, kept_end - kept, bytes);
    }
    Clear(out, 0, kept);
    Clear(out, kept_end, width);
  }

  void Clear(char* out, int64_t begin, int64_t end) const {
    ClearRow(out + begin * out_step, out_step, end - begin, bytes);
  }
};

// The same for packed matrices of short rows: the bits of `mask`, which is of some whole matrices, are those
// that stay.
struct SmallTrianglesBody {
  std::vector<char> mask;
  int64_t size, out_offset, in_offset;  // in bytes
  int bindings[2];

  void operator()(const Frame& frame) const {
    char* out = frame.at[bindings[0]] + out_offset;
    const char* in = frame.at[bindings[1]] + in_offset;
    const auto period = static_cast<int64_t>(mask.size());
    ParallelFor((size + period - 1) / period, std::max<int64_t>(1, 512 * 1024 / period),
                [&](int64_t begin, int64_t end) {
                  for (int64_t at = begin * period; at < std::min(end * period, size); at += period) {
                    Keep(out + at, in + at, mask.data(), std::min(period, size - at));
                  }
                });
  }

  static void Keep(char* out, const char* in, const char* mask, int64_t n) {
    int64_t i = 0;
    for (uint64_t bits, kept; i + 8 <= n; i += 8) {
      std::memcpy(&bits, in + i, 8);
      std::memcpy(&kept, mask + i, 8);
      bits &= kept;
      std::memcpy(out + i, &bits, 8);
    }
    for (; i < n; ++i) out[i] = static_cast<char>(in[i] & mask[i]);
  }
};

constexpr int64_t kShortRow = 256;       // bytes of a row above which moving rows is as fast as the mask
constexpr int64_t kLongestMask = 16384;  // bytes: stays in the first cache
constexpr int64_t kMask = 4096;

// Whole matrices of ones and zeros, of kMask bytes or more.
std::vector<char> TriangleMask(int64_t height, int64_t width, int64_t diagonal, int64_t bytes, bool upper) {
  const int64_t matrix = height * width;
  std::vector<char> mask;
  mask.reserve(static_cast<size_t>(kMask + matrix * bytes));
  while (static_cast<int64_t>(mask.size()) < kMask) {
    for (int64_t i = 0; i < matrix; ++i) {
      const int64_t over = i % width - i / width - diagonal;
      mask.insert(mask.end(), static_cast<size_t>(bytes), (upper ? over >= 0 : over <= 0) ? '\xff' : '\0');
    }
  }
  return mask;
}

std::vector<int64_t> RowOffsets(const Tensor& t) {
  auto bytes = static_cast<int64_t>(BytesOf(t.dtype));
  Shape rows = Shape::Of(t.shape.data(), t.shape.rank() - 1);
  std::vector<int64_t> offsets = OffsetsOf(rows, t.strides, bytes);
  for (int64_t& offset : offsets) offset += t.offset * bytes;
  return offsets;
}

// The rows of a matrix follow each other.
bool HasRowsInOrder(const Tensor& t) {
  return t.strides.back(0) == 1 && t.strides.back(1) == t.shape.back(0);
}

void PlanTriangle(Plan& plan, const Operand& self, int64_t diagonal, bool upper, const Operand& out) {
  CheckSameType(self, out);
  CheckShape(out, self.tensor->shape);
  const Tensor& from = *self.tensor;
  const Tensor& to = *out.tensor;
  if (to.shape.rank() < 2) {
    Fail(kInvalidArgument, "op-triangle", "{} has shape {}; a triangle needs two dimensions", self.name,
         to.shape.ToString());
  }
  if (to.empty()) return;
  auto bytes = static_cast<int64_t>(BytesOf(to.dtype));
  int64_t height = to.shape.back(1), width = to.shape.back(0);
  diagonal = std::clamp(diagonal, -height - 1, width + 1);
  plan.SetCost(20 + static_cast<uint64_t>(to.count()) / 2);
  if (width * bytes < kShortRow && height * width * bytes <= kLongestMask &&
      tensor::IsPacked(from.shape, from.strides) && tensor::IsPacked(to.shape, to.strides)) {
    return plan.SetBody(SmallTrianglesBody{TriangleMask(height, width, diagonal, bytes, upper),
                                           to.count() * bytes,
                                           tensor::OffsetOf(to),
                                           tensor::OffsetOf(from),
                                           {out.binding, self.binding}});
  }
  plan.SetBody(TriangleBody{RowOffsets(to),
                            RowOffsets(from),
                            height,
                            width,
                            diagonal,
                            to.strides.back(0) * bytes,
                            from.strides.back(0) * bytes,
                            bytes,
                            upper,
                            HasRowsInOrder(from) && HasRowsInOrder(to),
                            {out.binding, self.binding}});
}

// Zeros, then ones: a long row of zeros is one fill.
struct EyeBody {
  int64_t offset, height, width, diagonal;
  int64_t row_step, step, bytes;
  unsigned char one[16];
  int binding;

  void operator()(const Frame& frame) const {
    char* out = frame.at[binding] + offset;
    if (step == bytes && row_step == width * bytes) {
      ClearRow(out, step, height * width, bytes);
    } else {
      for (int64_t i = 0; i < height; ++i) ClearRow(out + i * row_step, step, width, bytes);
    }
    const int64_t end = std::min(height, width - diagonal);
    for (int64_t i = std::max<int64_t>(0, -diagonal); i < end; ++i) {
      std::memcpy(out + i * row_step + (i + diagonal) * step, one, static_cast<size_t>(bytes));
    }
  }
};

}  // namespace

namespace kernels {

void Arange(Plan& plan, DType, const Scalar& start, const Scalar& end, const Scalar& step,
            const Operand& out) {
  if ((end.ToDouble() - start.ToDouble()) * step.ToDouble() < 0) {
    Fail(kInvalidArgument, "op-step", "step is {}, which leads from start, {}, away from end, {}",
         step.ToDouble(), start.ToDouble(), end.ToDouble());
  }
  PlanSteps(plan, start, step, out);
}

void Linspace(Plan& plan, DType, const Scalar& start, const Scalar& end, int64_t steps, const Operand& out) {
  CheckVector(out);
  CheckLength("out", out.tensor->count(), steps);
  const auto range = [&](Plan& part, double first, double last, const Operand& to) {
    PlanRange(part, EvenSteps(first, last, steps), to);
  };
  if (out.dtype() != DType::kC64) return range(plan, start.ToDouble(), end.ToDouble(), out);
  Sequence parts(plan);
  for (int i = 0; i < 2; ++i) {
    const Tensor to = tensor::PartsOf(*out.tensor, i);
    const auto of = [&](const Scalar& scalar) { return i == 0 ? scalar.ToDouble() : scalar.Imaginary(); };
    parts.Add([&](Plan& part) { range(part, of(start), of(end), {&to, nullptr, out.binding, out.name}); });
  }
  parts.Finish();
}

void LogSpace(Plan& plan, DType, const Scalar& start, const Scalar& end, int64_t steps, double base,
              const Operand& out) {
  CheckVector(out);
  CheckLength("out", out.tensor->count(), steps);
  if (out.tensor->empty()) return;
  const Tensor& to = *out.tensor;
  plan.SetCost(20 + static_cast<uint64_t>(to.count()) * 20);
  plan.SetBody(PowersBody{EvenSteps(start.ToDouble(), end.ToDouble(), steps), base,
                          to.shape.rank() == 0 ? 0 : tensor::StepOf(to, to.shape.rank() - 1),
                          tensor::OffsetOf(to), to.dtype, out.binding});
}

void Tril(Plan& plan, DType, const Operand& self, int64_t diagonal, const Operand& out) {
  PlanTriangle(plan, self, diagonal, false, out);
}

void Triu(Plan& plan, DType, const Operand& self, int64_t diagonal, const Operand& out) {
  PlanTriangle(plan, self, diagonal, true, out);
}

void Eye(Plan& plan, DType, int64_t n, int64_t m, const Operand& out) { DiagonalOnes(plan, n, m, 0, out); }

}  // namespace kernels

void DiagonalOnes(Plan& plan, int64_t height, int64_t width, int64_t diagonal, const Operand& out) {
  CheckShape(out, {height, width});
  if (out.dtype() != DType::kC64) CheckNumeric(out);
  const Tensor& to = *out.tensor;
  if (to.empty()) return;
  auto bytes = static_cast<int64_t>(BytesOf(to.dtype));
  diagonal = std::clamp(diagonal, -height, width);
  EyeBody body{to.offset * bytes,     height, width, diagonal,   to.strides[0] * bytes,
               to.strides[1] * bytes, bytes,  {},    out.binding};
  int64_t one = 1;
  tensor::Convert(to.dtype, body.one, DType::kI64, &one, 1);
  plan.SetCost(20 + static_cast<uint64_t>(to.count()));
  plan.SetBody(body);
}

}  // namespace belay::ops
