#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <numeric>
#include <vector>

#include "base/error.h"
#include "base/simd_targets.h"
#include "ops/forms.h"
#include "ops/layout/eye.h"
#include "ops/layout/float_transpose.h"
#include "ops/layout/moves.h"
#include "ops/layout/reverse_sequence.h"
#include "ops/reference/reference.h"
#include "ops/testing/in_pieces.h"
#include "ops/testing/sample.h"
#include "tensor/convert.h"

namespace belay::ops {
namespace {

using reference::ForEach;
using reference::Get;
using tensor::IntArray;
using testing::Floats;
using testing::Layout;
using testing::Sample;

const std::vector<DType> kTypes = {DType::kF32, DType::kF16, DType::kI8, DType::kI64};
const std::vector<Layout> kLayouts = {Layout::kPacked, Layout::kTransposed, Layout::kStepped,
                                      Layout::kOffset};

IntArray Ints(std::initializer_list<int64_t> values) { return {values.begin(), values.size()}; }

void Call(const Form& form, std::vector<Arg> args) { testing::RunPlan(*WithoutHandle(MakePlan(form, args))); }

// The index in the input for one of the output; none: zero.
using Source = std::function<std::optional<Shape>(const Shape&)>;

// Runs `call` for all types and layouts and compares with what `source` says.
void Check(const Shape& in_shape, const Shape& out_shape, const Source& source,
           const std::function<void(const Tensor&, const Tensor&)>& call) {
  std::mt19937 rng(7);
  for (DType type : kTypes) {
    for (Layout in_layout : kLayouts) {
      for (Layout out_layout : kLayouts) {
        Sample in(type, in_shape, in_layout), out(type, out_shape, out_layout);
        in.Randomise(rng);
        out.Randomise(rng);
        call(in.tensor, out.tensor);
        int wrong = 0;
        ForEach(out_shape, [&](const Shape& i) {
          std::optional<Shape> from = source(i);
          wrong += Get(out.tensor, i) != (from ? Get(in.tensor, *from) : 0);
        });
        ASSERT_EQ(wrong, 0) << NameOf(type) << " layouts " << int(in_layout) << " " << int(out_layout);
      }
    }
  }
}

TEST(Layout, PermutesEveryWay) {
  std::vector<int64_t> order = {0, 1, 2};
  Shape shape{19, 33, 21};
  do {
    Shape out;
    for (int64_t d : order) out.push_back(shape[static_cast<int>(d)]);
    IntArray dims(order.data(), order.size());
    Check(
        shape, out,
        [&](const Shape& i) {
          Shape from = i;
          for (int d = 0; d < 3; ++d) from[static_cast<int>(order[static_cast<size_t>(d)])] = i[d];
          return std::optional(from);
        },
        [&](const Tensor& in, const Tensor& result) {
          Call(forms::Permute, {Arg(&in), Arg(&dims), Arg(&result)});
        });
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST(Layout, CopiesTransposedViewsOfOddSizes) {
  std::mt19937 rng(3);
  for (int64_t rows : {1, 3, 15, 16, 17, 70, 200}) {
    for (int64_t columns : {4, 16, 31, 129}) {
      Sample in(DType::kF32, {2, rows, columns}, Layout::kTransposed), out(DType::kF32, {2, rows, columns});
      in.Randomise(rng);
      Call(forms::InplaceCopy, {Arg(&out.tensor), Arg(&in.tensor)});
      EXPECT_EQ(testing::Distance(out.tensor, in.tensor), 0) << rows << " x " << columns;
    }
  }
}

TEST(Layout, SeparatesManyPixels) {
  const testing::InPieces pieces;
  constexpr int64_t kPixels = 70000, kChannels = 3;
  Sample in(DType::kU8, {kPixels, kChannels}), planes(DType::kU8, {kChannels, kPixels});
  auto* from = static_cast<uint8_t*>(in.tensor.data);
  auto* to = static_cast<uint8_t*>(planes.tensor.data);
  for (int64_t i = 0; i < kPixels * kChannels; ++i) from[i] = static_cast<uint8_t>(i % 251);
  Tensor turned = in.tensor;
  turned.shape = planes.tensor.shape, turned.strides = Shape{1, kChannels};
  Call(forms::InplaceCopy, {Arg(&planes.tensor), Arg(&turned)});
  for (int64_t i = 0; i < kPixels * kChannels; ++i)
    ASSERT_EQ(to[i % kChannels * kPixels + i / kChannels], from[i]) << i;
  std::vector<uint8_t> kept(from, from + kPixels * kChannels);
  std::fill_n(from, kPixels * kChannels, uint8_t{0});
  Call(forms::InplaceCopy, {Arg(&turned), Arg(&planes.tensor)});
  EXPECT_TRUE(std::equal(kept.begin(), kept.end(), from));
}

// In squares, and by pixels where there are few channels.
TEST(Layout, TransposesElementsOfEverySize) {
  const testing::InPieces pieces;
  std::mt19937 rng(5);
  for (DType type : {DType::kU8, DType::kI8, DType::kF16, DType::kF32, DType::kF64, DType::kC64}) {
    for (auto [rows, columns] : {std::pair<int64_t, int64_t>{3, 70},
                                 {70, 3},
                                 {2, 131},
                                 {130, 4},
                                 {1, 300},
                                 {65, 66},
                                 {70, 17},
                                 {5, 100}}) {
      Sample in(type, {3, rows, columns}, Layout::kTransposed), out(type, {3, rows, columns});
      in.Randomise(rng);
      Call(forms::InplaceCopy, {Arg(&out.tensor), Arg(&in.tensor)});
      EXPECT_EQ(testing::Distance(out.tensor, in.tensor), 0) << NameOf(type) << rows << " x " << columns;
    }
  }
}

TEST(Layout, Slices) {
  for (auto [start, end, step] : {std::tuple{1, 9, 1}, {0, 100, 3}, {-7, -1, 2}, {5, 2, 1}}) {
    int64_t first = start < 0 ? start + 9 : start, last = std::min(end < 0 ? end + 9 : end, 9);
    int64_t count = std::max<int64_t>(0, (last - first + step - 1) / step);
    Check(
        {4, 9, 5}, {4, count, 5},
        [&](const Shape& i) {
          return Shape{i[0], first + i[1] * step, i[2]};
        },
        [&](const Tensor& in, const Tensor& out) {
          Call(forms::Slice, {Arg(&in), Arg(int64_t{1}), Arg(int64_t{start}), Arg(int64_t{end}),
                              Arg(int64_t{step}), Arg(&out)});
        });
  }
}

TEST(Layout, RollsAndFlips) {
  IntArray shifts = Ints({2, -3}), dims = Ints({0, -1}), both = Ints({0, 2});
  Check(
      {5, 3, 7}, {5, 3, 7},
      [](const Shape& i) {
        return Shape{(i[0] + 3) % 5, i[1], (i[2] + 3) % 7};
      },
      [&](const Tensor& in, const Tensor& out) {
        Call(forms::Roll, {Arg(&in), Arg(&shifts), Arg(&dims), Arg(&out)});
      });
  Check(
      {5, 3, 7}, {5, 3, 7},
      [](const Shape& i) {
        return Shape{4 - i[0], i[1], 6 - i[2]};
      },
      [&](const Tensor& in, const Tensor& out) {
        Call(forms::Flip, {Arg(&in), Arg(&both), Arg(&out)});
      });
}

TEST(Layout, RollsAsOneRow) {
  Sample in(DType::kI32, {2, 3}), out(DType::kI32, {2, 3});
  for (int i = 0; i < 6; ++i) static_cast<int32_t*>(in.tensor.data)[i] = i;
  IntArray shifts = Ints({2}), dims = Ints({});
  Call(forms::Roll, {Arg(&in.tensor), Arg(&shifts), Arg(&dims), Arg(&out.tensor)});
  for (int i = 0; i < 6; ++i) EXPECT_EQ(static_cast<int32_t*>(out.tensor.data)[i], (i + 4) % 6);
}

TEST(Layout, RollsAScalar) {
  Sample in(DType::kI32, {}), out(DType::kI32, {});
  *static_cast<int32_t*>(in.tensor.data) = 7;
  IntArray shifts = Ints({3}), dims = Ints({-1});
  Call(forms::Roll, {Arg(&in.tensor), Arg(&shifts), Arg(&dims), Arg(&out.tensor)});
  EXPECT_EQ(*static_cast<int32_t*>(out.tensor.data), 7);
}

TEST(Layout, Repeats) {
  IntArray repeats = Ints({2, 1, 3});
  Check(
      {4, 5}, {2, 4, 15},
      [](const Shape& i) {
        return Shape{i[1], i[2] % 5};
      },
      [&](const Tensor& in, const Tensor& out) {
        Call(forms::Repeat, {Arg(&in), Arg(&repeats), Arg(&out)});
      });
  Check(
      {4, 5}, {4, 10},
      [](const Shape& i) {
        return Shape{i[0], i[1] / 2};
      },
      [&](const Tensor& in, const Tensor& out) {
        Call(forms::RepeatInterleaveIntWithDim,
             {Arg(&in), Arg(int64_t{2}), Arg(int64_t{1}), Arg(int64_t{10}), Arg(&out)});
      });
}

TEST(Layout, PadsWithZerosAndCuts) {
  IntArray pad = Ints({2, -1, 0, 0, 1, 3});
  float zero = 0;
  Scalar value(&zero, DType::kF32);
  Check(
      {3, 4, 6}, {7, 4, 7},
      [](const Shape& i) -> std::optional<Shape> {
        Shape from{i[0] - 1, i[1], i[2] - 2};
        if (from[0] < 0 || from[0] >= 3 || from[2] < 0) return std::nullopt;
        return from;
      },
      [&](const Tensor& in, const Tensor& out) {
        Call(forms::ConstantPadNd, {Arg(&in), Arg(&pad), Arg(&value), Arg(&out)});
      });
}

TEST(Layout, PadsWhatIsEmptyAndLiesNowhere) {
  Sample in(DType::kF32, {12, 0}), out(DType::kF32, {12, 2});
  in.tensor.data = nullptr;
  IntArray pad = Ints({0, 2});
  float one = 1;
  Scalar value(&one, DType::kF32);
  Call(forms::ConstantPadNd, {Arg(&in.tensor), Arg(&pad), Arg(&value), Arg(&out.tensor)});
  EXPECT_EQ(std::count(Floats(out), Floats(out) + 24, 1.0F), 24);
}

TEST(Layout, PadsByReflectionAndReplication) {
  IntArray pad = Ints({2, 3, 1, 0});
  auto mirrored = [](int64_t i, int64_t n) { return i < 0 ? -i : i >= n ? 2 * n - 2 - i : i; };
  auto nearest = [](int64_t i, int64_t n) { return std::clamp<int64_t>(i, 0, n - 1); };
  Check(
      {2, 4, 5}, {2, 5, 10},
      [&](const Shape& i) {
        return Shape{i[0], mirrored(i[1] - 1, 4), mirrored(i[2] - 2, 5)};
      },
      [&](const Tensor& in, const Tensor& out) {
        Call(forms::ReflectionPad2d, {Arg(&in), Arg(&pad), Arg(&out)});
      });
  Check(
      {2, 4, 5}, {2, 5, 10},
      [&](const Shape& i) {
        return Shape{i[0], nearest(i[1] - 1, 4), nearest(i[2] - 2, 5)};
      },
      [&](const Tensor& in, const Tensor& out) {
        Call(forms::ReplicationPad2d, {Arg(&in), Arg(&pad), Arg(&out)});
      });
}

TEST(Layout, RefusesToReflectTooFar) {
  Sample in(DType::kF32, {2, 3}), out(DType::kF32, {2, 6});
  IntArray pad = Ints({3, 0});
  EXPECT_THROW(Call(forms::ReflectionPad1d, {Arg(&in.tensor), Arg(&pad), Arg(&out.tensor)}), Error);
}

TEST(Layout, KeepsTriangles) {
  for (int64_t diagonal : {-100, -2, 0, 3, 100}) {
    auto kept = [&](bool upper) {
      return [=](const Shape& i) -> std::optional<Shape> {
        bool keep = upper ? i[2] >= i[1] + diagonal : i[2] <= i[1] + diagonal;
        return keep ? std::optional(i) : std::nullopt;
      };
    };
    // Matrices of each size, and tall ones of whose rows most stay or go as a whole.
    for (const Shape& shape :
         {Shape{2, 5, 7}, Shape{1, 6, 300}, Shape{60, 9, 3}, Shape{1, 1500, 3}, Shape{1, 4200, 1}}) {
      for (bool upper : {false, true}) {
        Check(shape, shape, kept(upper), [&](const Tensor& in, const Tensor& out) {
          Call(upper ? forms::Triu : forms::Tril, {Arg(&in), Arg(diagonal), Arg(&out)});
        });
      }
    }
  }
}

TEST(Layout, ReversesTheBeginningOfSequences) {
  const std::vector<std::pair<int, int>> dims = {
      {0, 1}, {1, 0}, {1, 2}, {2, 1}, {2, 0}};  // of time, of members
  const Shape shapes[] = {{6, 5, 7}, {300, 4, 3}, {3, 4, 280}, {4, 3, 5, 3, 2}};
  for (size_t k = 0; k < 4 * dims.size(); ++k) {
    const auto [seq, batch] = dims[k / 4];
    const Shape& shape = shapes[k % 4];
    Sample lengths(DType::kI32, {shape[batch]});
    for (int64_t b = 0; b < shape[batch]; ++b) reference::Set(lengths.tensor, {b}, b * 2 % (shape[seq] + 1));
    const auto source = [&](const Shape& i) -> std::optional<Shape> {
      const auto length = static_cast<int64_t>(Get(lengths.tensor, {i[batch]}));
      Shape from = i;
      if (i[seq] < length) from[seq] = length - 1 - i[seq];
      return from;
    };
    Check(shape, shape, source, [&](const Tensor& in, const Tensor& out) {
      PlanRef plan = testing::NewPlan();
      const Operand x{&in, nullptr, plan->Bind(&in, Access::kRead, "x", 0, 0), "x"};
      const Operand y{&out, nullptr, plan->Bind(&out, Access::kWrite, "y", 1, 0), "y"};
      PlanReverseSequence(*plan, x, lengths.BoundTo(*plan, Access::kRead, "lengths"), y, seq, batch);
      testing::RunPlan(*plan);
    });
    reference::Set(lengths.tensor, {1}, shape[seq] + 1);
    Sample x(DType::kF32, shape), y(DType::kF32, shape);
    PlanRef plan = testing::NewPlan();
    const Operand in = x.BoundTo(*plan, Access::kRead, "x"), out = y.BoundTo(*plan, Access::kWrite, "y");
    PlanReverseSequence(*plan, in, lengths.BoundTo(*plan, Access::kRead, "lengths"), out, seq, batch);
    EXPECT_THROW(testing::RunPlan(*plan), Error);
  }
}

// A list whose members are samples; its handles die with it.
struct List {
  explicit List(std::initializer_list<const Tensor*> tensors) {
    for (const Tensor* tensor : tensors) list.items.push_back(tensor::g_tensors.Create(*tensor));
  }
  tensor::TensorList list;
};

TEST(Layout, JoinsAndSplits) {
  std::mt19937 rng(1);
  Sample a(DType::kF32, {3, 2}), b(DType::kF16, {3, 4}, Layout::kTransposed), joined(DType::kF32, {3, 6});
  a.Randomise(rng);
  b.Randomise(rng);
  List parts({&a.tensor, &b.tensor});
  Call(forms::Cat, {Arg(&parts.list), Arg(int64_t{1}), Arg(&joined.tensor)});
  Sample c(DType::kF32, {3, 2}), d(DType::kF32, {3, 4}, Layout::kStepped);
  List pieces({&c.tensor, &d.tensor});
  IntArray sizes = Ints({2, 4});
  Call(forms::SplitWithSize, {Arg(&joined.tensor), Arg(&sizes), Arg(int64_t{-1}), Arg(&pieces.list)});
  EXPECT_EQ(testing::Distance(c.tensor, a.tensor), 0);
  EXPECT_EQ(testing::Distance(d.tensor, b.tensor), 0);
}

// Rows that are packed, and many, are moved piece by piece.
TEST(Layout, JoinsAndSplitsManyRows) {
  std::mt19937 rng(2);
  for (const DType type : {DType::kU8, DType::kF16, DType::kF32, DType::kF64}) {
    for (const int64_t rows : {20, 3000}) {
      Sample a(type, {rows, 1, 2}), b(type, {rows, 3, 2}), none(type, {rows, 0, 2}),
          joined(type, {rows, 4, 2});
      a.Randomise(rng);
      b.Randomise(rng);
      List parts({&a.tensor, &none.tensor, &b.tensor});
      Call(forms::Cat, {Arg(&parts.list), Arg(int64_t{1}), Arg(&joined.tensor)});
      ForEach({rows, 4, 2}, [&](const Shape& i) {
        const reference::Real want =
            i[1] == 0 ? Get(a.tensor, {i[0], 0, i[2]}) : Get(b.tensor, {i[0], i[1] - 1, i[2]});
        ASSERT_EQ(Get(joined.tensor, i), want) << NameOf(type);
      });
      Sample c(type, {rows, 1, 2}), d(type, {rows, 0, 2}), e(type, {rows, 3, 2});
      List pieces({&c.tensor, &d.tensor, &e.tensor});
      IntArray sizes = Ints({1, 0, 3});
      Call(forms::SplitWithSize, {Arg(&joined.tensor), Arg(&sizes), Arg(int64_t{1}), Arg(&pieces.list)});
      EXPECT_EQ(testing::Distance(c.tensor, a.tensor), 0);
      EXPECT_EQ(testing::Distance(e.tensor, b.tensor), 0);
    }
  }
}

TEST(Layout, Stacks) {
  std::mt19937 rng(1);
  Sample a(DType::kI32, {3, 2}), b(DType::kI32, {3, 2}, Layout::kTransposed), out(DType::kI32, {3, 2, 2});
  a.Randomise(rng);
  b.Randomise(rng);
  List parts({&a.tensor, &b.tensor});
  Call(forms::Stack, {Arg(&parts.list), Arg(int64_t{1}), Arg(&out.tensor)});
  ForEach({3, 2}, [&](const Shape& i) {
    EXPECT_EQ(Get(out.tensor, {i[0], 0, i[1]}), Get(a.tensor, i));
    EXPECT_EQ(Get(out.tensor, {i[0], 1, i[1]}), Get(b.tensor, i));
  });
}

TEST(Layout, MakesRangesAndIdentities) {
  float start = 1.5f, step = -0.25f;
  Scalar first(&start, DType::kF32), by(&step, DType::kF32);
  Sample range(DType::kF16, {1000}), eye(DType::kI8, {3, 5}, Layout::kTransposed), line(DType::kF64, {5});
  Call(forms::Arange, {Arg(&first), Arg(&first), Arg(&by), Arg(&range.tensor)});
  for (int64_t i = 0; i < 1000; ++i) EXPECT_EQ(Get(range.tensor, {i}), 1.5L - 0.25L * i);
  Call(forms::Eye, {Arg(int64_t{3}), Arg(int64_t{5}), Arg(&eye.tensor)});
  ForEach({3, 5}, [&](const Shape& i) { EXPECT_EQ(Get(eye.tensor, i), i[0] == i[1] ? 1 : 0); });
  for (int64_t diagonal : {-3, -1, 2, 9}) {
    Sample of(DType::kF32, {4, 6});
    PlanRef plan = testing::NewPlan();
    DiagonalOnes(*plan, 4, 6, diagonal, of.BoundTo(*plan, Access::kWrite, "out"));
    testing::RunPlan(*plan);
    ForEach({4, 6}, [&](const Shape& i) { EXPECT_EQ(Get(of.tensor, i), i[1] == i[0] + diagonal ? 1 : 0); });
  }
  int64_t end = 3;
  Scalar last(&end, DType::kI64);
  Call(forms::Linspace, {Arg(&first), Arg(&last), Arg(int64_t{5}), Arg(&line.tensor)});
  for (int64_t i = 0; i < 5; ++i) EXPECT_EQ(Get(line.tensor, {i}), 1.5L + 0.375L * i);
}

// Elements of any size, from one place and from places next to each other or apart; what is behind stays.
TEST(Moves, RowsOfElementsOfEverySize) {
  for (int64_t bytes = 1; bytes <= 20; ++bytes) {
    for (const int64_t apart : {int64_t{0}, bytes, bytes + 3, 2 * bytes}) {
      for (const int64_t n : {0, 1, 2, 7, 40}) {
        std::vector<char> from(2000), to(static_cast<size_t>(n * bytes) + 32, '*');
        for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<char>(i * 7);
        MoveRow(to.data(), bytes, from.data(), apart, n, bytes);
        for (int64_t i = 0; i < n * bytes; ++i) {
          ASSERT_EQ(to[static_cast<size_t>(i)], from[static_cast<size_t>(i / bytes * apart + i % bytes)])
              << bytes << " " << apart << " " << n;
        }
        for (auto i = static_cast<size_t>(n * bytes); i < to.size(); ++i)
          ASSERT_EQ(to[i], '*') << bytes << " " << apart;
      }
    }
  }
}

TEST(Layout, TransposesOfEverySize) {
  std::vector<std::array<int64_t, 3>> sizes{{1, 1, 1},    {2, 3, 40},   {2, 3, 2100}, {1, 2100, 3},
                                            {2, 4, 1025}, {1, 77, 2},   {1, 16, 16},  {1, 33, 50},
                                            {3, 70, 5},   {1, 200, 130}};
  for (int64_t rows : {5, 8, 15, 16, 17, 31, 49}) {
    for (int64_t columns : {6, 7, 15, 16, 19, 48, 63}) sizes.push_back({2, rows, columns});
  }
  for (size_t i = 0; i < 3 * sizes.size(); ++i) {
    simd::SetLevel(static_cast<int>(i % 3));
    const auto [batch, rows, columns] = sizes[i / 3];
    std::vector<float> from(static_cast<size_t>(batch * rows * columns)), to(from.size(), -1.0f);
    std::iota(from.begin(), from.end(), 0.0f);
    TransposeFloats(from.data(), to.data(), batch, rows, columns);
    for (int64_t n = 0; n < batch; ++n) {
      for (int64_t r = 0; r < rows; ++r) {
        for (int64_t c = 0; c < columns; ++c) {
          ASSERT_EQ(to[static_cast<size_t>((n * columns + c) * rows + r)],
                    from[static_cast<size_t>((n * rows + r) * columns + c)])
              << batch << " of " << rows << " rows, " << columns << " columns";
        }
      }
    }
  }
  simd::SetLevel(9);
}

// [batch][rows][columns] and back, by way of floats and as they are.
TEST(Layout, HalvesAreTurnedOnTheirWay) {
  const int64_t sizes[][3] = {{2, 3, 300},  {1, 300, 2}, {3, 33, 17}, {2, 40, 49},
                              {1, 64, 130}, {2, 7, 8},   {1, 9, 129}, {1, 32, 32}};
  for (int level = 0; level < 3; ++level) {
    simd::SetLevel(level);
    for (const auto& [batch, rows, columns] : sizes) {
      for (DType type : {DType::kF16, DType::kBF16}) {
        const auto count = static_cast<size_t>(batch * rows * columns);
        std::vector<uint16_t> halves(count), back(count), kept(count);
        std::vector<float> floats(count), turned(count);
        for (size_t i = 0; i < count; ++i) floats[i] = static_cast<float>(i % 251);  // which both types hold
        tensor::Convert(type, halves.data(), DType::kF32, floats.data(), batch * rows * columns);
        const auto* from = reinterpret_cast<const char*>(halves.data());
        LoadTransposed(type, from, turned.data(), batch, rows, columns);
        TransposeHalves(from, reinterpret_cast<char*>(kept.data()), batch, rows, columns);
        for (int64_t n = 0, i = 0; n < batch; ++n) {
          for (int64_t r = 0; r < rows; ++r) {
            for (int64_t c = 0; c < columns; ++c, ++i) {
              const auto to = static_cast<size_t>((n * columns + c) * rows + r), at = static_cast<size_t>(i);
              ASSERT_EQ(turned[to], floats[at]) << rows << " rows, " << columns << " columns";
              ASSERT_EQ(kept[to], halves[at]) << rows << " rows, " << columns << " columns";
            }
          }
        }
        StoreTransposed(type, turned.data(), reinterpret_cast<char*>(back.data()), batch, columns, rows);
        ASSERT_EQ(back, halves) << rows << " rows, " << columns << " columns";
      }
    }
  }
  simd::SetLevel(9);
}

TEST(Moves, PicksElementsOfEverySize) {
  for (int64_t bytes = 1; bytes <= 300; bytes += bytes < 40 ? 1 : 13) {
    const std::vector<int64_t> offsets = {3, 0, 1700, 3 + bytes, 64, 65};
    std::vector<char> from(3000), to(offsets.size() * static_cast<size_t>(bytes + 2), '*');
    for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<char>(i * 7 + i / 256);
    PickRow(to.data(), bytes + 2, from.data(), offsets.data(), std::ssize(offsets), bytes);
    for (size_t i = 0; i < offsets.size(); ++i) {
      const char* at = to.data() + i * static_cast<size_t>(bytes + 2);
      ASSERT_TRUE(std::equal(at, at + bytes, from.data() + offsets[i])) << bytes << " bytes, element " << i;
      ASSERT_TRUE(at[bytes] == '*' && at[bytes + 1] == '*') << bytes;
    }
  }
}

}  // namespace
}  // namespace belay::ops
