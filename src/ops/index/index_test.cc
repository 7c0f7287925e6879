#include <gtest/gtest.h>

#include "base/error.h"
#include "ops/forms.h"
#include "ops/index/scatter.h"
#include "ops/reference/reference.h"
#include "ops/testing/in_pieces.h"
#include "ops/testing/sample.h"

namespace belay::ops {
namespace {

using reference::ForEach;
using reference::Get;
using reference::Set;
using testing::Layout;
using testing::Sample;

constexpr Layout kLayouts[] = {Layout::kPacked, Layout::kTransposed, Layout::kStepped, Layout::kOffset};
constexpr DType kTypes[] = {DType::kF32, DType::kBF16, DType::kI8, DType::kF64};

void Call(const Form& form, std::vector<Arg> args) { testing::RunPlan(*WithoutHandle(MakePlan(form, args))); }

// Places in a dimension, some of them counted from its end.
Sample Places(DType type, const Shape& shape, int64_t size, std::mt19937& rng,
              Layout layout = Layout::kPacked) {
  Sample places(type, shape, layout);
  std::uniform_int_distribution<int64_t> pick(-size, size - 1);
  ForEach(shape, [&](const Shape& i) { Set(places.tensor, i, static_cast<reference::Real>(pick(rng))); });
  return places;
}

int64_t PlaceAt(const Sample& places, const Shape& i, int64_t size) {
  auto place = static_cast<int64_t>(Get(places.tensor, i));
  return place < 0 ? place + size : place;
}

TEST(Index, GathersSlices) {
  std::mt19937 rng(2);
  for (DType type : kTypes) {
    for (Layout layout : kLayouts) {
      Sample in(type, {4, 6, 5}, layout), out(type, {4, 2, 3, 5}, layout);
      in.Randomise(rng);
      Sample index = Places(DType::kI32, {2, 3}, 6, rng, layout);
      Call(forms::GatherV2, {Arg(&in.tensor), Arg(int64_t{1}), Arg(&index.tensor), Arg(&out.tensor)});
      ForEach(out.tensor.shape, [&](const Shape& i) {
        ASSERT_EQ(Get(out.tensor, i), Get(in.tensor, {i[0], PlaceAt(index, {i[1], i[2]}, 6), i[3]}));
      });
    }
  }
}

// One place of each dimension, single elements of the last, and both from parts of larger tensors.
TEST(Index, GathersOnePlaceAndSingleElements) {
  std::mt19937 rng(3);
  for (DType type : {DType::kF32, DType::kI8, DType::kBF16, DType::kF64}) {
    for (Layout layout : kLayouts) {
      Sample in(type, {4, 6, 5}, layout);
      in.Randomise(rng);
      for (const Shape& places : {Shape{}, Shape{1}, Shape{1, 1}, Shape{7}, Shape{3, 2}}) {
        for (int dim = 0; dim < 3; ++dim) {
          Sample index = Places(DType::kI64, places, in.tensor.shape[dim], rng);
          Shape shape;
          for (int d = 0; d < dim; ++d) shape.push_back(in.tensor.shape[d]);
          for (int d = 0; d < places.rank(); ++d) shape.push_back(places[d]);
          for (int d = dim + 1; d < 3; ++d) shape.push_back(in.tensor.shape[d]);
          Sample out(type, shape, layout);
          Call(forms::GatherV2, {Arg(&in.tensor), Arg(int64_t{dim}), Arg(&index.tensor), Arg(&out.tensor)});
          ForEach(shape, [&](const Shape& i) {
            Shape named, from;
            for (int d = 0; d < places.rank(); ++d) named.push_back(i[dim + d]);
            for (int d = 0; d < dim; ++d) from.push_back(i[d]);
            from.push_back(PlaceAt(index, named, in.tensor.shape[dim]));
            for (int d = dim + places.rank(); d < i.rank(); ++d) from.push_back(i[d]);
            ASSERT_EQ(Get(out.tensor, i), Get(in.tensor, from));
          });
        }
      }
    }
  }
}

TEST(Index, GathersBatchByBatch) {
  std::mt19937 rng(2);
  Sample in(DType::kF32, {3, 2, 7, 4}), out(DType::kF32, {3, 2, 5, 4});
  in.Randomise(rng);
  Sample index = Places(DType::kI64, {3, 5}, 7, rng);
  Call(forms::GatherV3, {Arg(&in.tensor), Arg(int64_t{2}), Arg(&index.tensor), Arg(int64_t{1}),
                         Arg(int64_t{0}), Arg(&out.tensor)});
  ForEach(out.tensor.shape, [&](const Shape& i) {
    ASSERT_EQ(Get(out.tensor, i), Get(in.tensor, {i[0], i[1], PlaceAt(index, {i[0], i[2]}, 7), i[3]}));
  });
}

TEST(Index, AnIndexBeyondTheEndIsAnErrorOfTheTask) {
  Sample in(DType::kF32, {4, 2}), out(DType::kF32, {3, 2}), index(DType::kI64, {3});
  for (int64_t bad : {4, -5, 1000000000}) {
    Set(index.tensor, {1}, static_cast<reference::Real>(bad));
    EXPECT_THROW(Call(forms::Embedding, {Arg(&in.tensor), Arg(&index.tensor), Arg(&out.tensor)}), Error);
    EXPECT_THROW(Call(forms::InplaceIndexCopy,
                      {Arg(&in.tensor), Arg(int64_t{0}), Arg(&index.tensor), Arg(&out.tensor)}),
                 Error);
  }
}

TEST(Index, AnElementBeyondTheEndIsAnErrorOfTheTask) {
  Sample in(DType::kF32, {2, 5}), out(DType::kF32, {2, 700}), index(DType::kI64, {2, 700});
  for (int64_t bad : {5, -6, 1000000000}) {
    Set(index.tensor, {1, 600}, static_cast<reference::Real>(bad));
    EXPECT_THROW(
        Call(forms::Gather, {Arg(&in.tensor), Arg(int64_t{1}), Arg(&index.tensor), Arg(&out.tensor)}), Error);
  }
}

TEST(Index, GathersElements) {
  std::mt19937 rng(2);
  for (Layout layout : kLayouts) {
    for (int dim = 0; dim < 3; ++dim) {
      Sample in(DType::kF16, {4, 6, 5}, layout), out(DType::kF16, {3, 4, 5}, layout);
      in.Randomise(rng);
      Sample index = Places(DType::kI64, {3, 4, 5}, in.tensor.shape[dim], rng, layout);
      Call(forms::Gather, {Arg(&in.tensor), Arg(int64_t{dim}), Arg(&index.tensor), Arg(&out.tensor)});
      ForEach(out.tensor.shape, [&](const Shape& i) {
        Shape from = i;
        from[dim] = PlaceAt(index, i, in.tensor.shape[dim]);
        ASSERT_EQ(Get(out.tensor, i), Get(in.tensor, from));
      });
    }
  }
}

TEST(Index, GathersElementsOfManyShortRows) {
  const testing::InPieces pieces;
  std::mt19937 rng(3);
  for (const Shape& shape : {Shape{3000, 2}, Shape{40, 7, 3}, Shape{5, 200, 64}, Shape{2, 3, 65}}) {
    for (int dim = 0; dim < shape.rank(); ++dim) {
      for (DType type : {DType::kF32, DType::kI64}) {
        Sample in(type, shape), out(type, shape);
        in.Randomise(rng, 1000);
        Sample index = Places(DType::kI64, shape, shape[dim], rng, Layout::kPacked);
        Call(forms::Gather, {Arg(&in.tensor), Arg(int64_t{dim}), Arg(&index.tensor), Arg(&out.tensor)});
        int64_t wrong = 0;
        ForEach(shape, [&](const Shape& i) {
          Shape from = i;
          from[dim] = PlaceAt(index, i, shape[dim]);
          wrong += Get(out.tensor, i) != Get(in.tensor, from);
        });
        EXPECT_EQ(wrong, 0) << shape.ToString() << " dim " << dim;
      }
    }
  }
}

reference::Real Combined(Combination how, reference::Real a, reference::Real b) {
  switch (how) {
    case Combination::kAdd:
      return a + b;
    case Combination::kMultiply:
      return a * b;
    case Combination::kMax:
      return std::max(a, b);
    case Combination::kMin:
      return std::min(a, b);
    default:
      return b;
  }
}

constexpr Combination kCombinations[] = {Combination::kReplace, Combination::kAdd, Combination::kMultiply,
                                         Combination::kMax, Combination::kMin};

TEST(Index, ScattersElementsInOrder) {
  std::mt19937 rng(4);
  for (Combination how : kCombinations) {
    for (DType type :
         {DType::kF32, DType::kI32, DType::kF64, DType::kI64, DType::kI16, DType::kU8, DType::kF16}) {
      Sample in(type, {4, 6}, Layout::kTransposed), source(type, {4, 3}), out(type, {4, 6}, Layout::kStepped);
      in.Randomise(rng, 3);
      source.Randomise(rng, 3);
      Sample index = Places(DType::kI32, {4, 3}, 6, rng);
      PlanRef plan = testing::NewPlan();
      Operand self = in.BoundTo(*plan, Access::kRead, "self"),
              places = index.BoundTo(*plan, Access::kRead, "index");
      Operand from = source.BoundTo(*plan, Access::kRead, "src");
      PlanScatterElements(*plan, self, 1, places, from, how, out.BoundTo(*plan, Access::kWrite, "out"));
      testing::RunPlan(*plan);
      Sample want(type, {4, 6});
      reference::Copy(in.tensor, want.tensor);
      ForEach({4, 3}, [&](const Shape& i) {
        Shape to{i[0], PlaceAt(index, i, 6)};
        Set(want.tensor, to, Combined(how, Get(want.tensor, to), Get(source.tensor, i)));
      });
      EXPECT_EQ(testing::Distance(out.tensor, want.tensor), 0) << NameOf(type) << " " << int(how);
    }
  }
}

// One after the other they would stay at 256 and at 2048.
TEST(Index, HalvesOfOnePlaceAreRoundedOnce) {
  for (DType type : {DType::kBF16, DType::kF16}) {
    const int64_t rows = type == DType::kBF16 ? 600 : 3000, width = 9;
    Sample source(type, {rows, width}), place(DType::kI64, {rows}), places(DType::kI64, {rows, width}),
        named(DType::kI64, {rows, 1});
    ForEach(source.tensor.shape, [&](const Shape& i) {
      Set(source.tensor, i, 1);
      for (Sample* index : {&places, &named}) {
        if (i[1] < index->tensor.shape[1]) Set(index->tensor, i, i[0] % 100 == 0 ? 1 : 2);
      }
      Set(place.tensor, {i[0]}, i[0] % 100 == 0 ? 1 : 2);
    });
    for (Layout layout : {Layout::kPacked, Layout::kTransposed}) {
      for (int way = 0; way < 3; ++way) {
        Sample in(type, {4, width}, layout), out(type, {4, width}, layout);
        PlanRef plan = testing::NewPlan();
        Operand self = in.BoundTo(*plan, Access::kRead, "self"),
                index = (way == 0   ? place
                         : way == 1 ? places
                                    : named)
                            .BoundTo(*plan, Access::kRead, "index"),
                from = source.BoundTo(*plan, Access::kRead, "source"),
                to = out.BoundTo(*plan, Access::kWrite, "out");
        if (way == 0) PlanScatterRows(*plan, self, 0, index, from, Combination::kAdd, 1, to);
        if (way == 1) PlanScatterElements(*plan, self, 0, index, from, Combination::kAdd, to);
        if (way == 2) PlanScatterNd(*plan, self, index, from, Combination::kAdd, to);
        testing::RunPlan(*plan);
        ForEach(out.tensor.shape, [&](const Shape& i) {
          const int64_t first = rows / 100, wanted[] = {0, first, rows - first, 0};
          Sample want(type, {1});
          Set(want.tensor, {0}, static_cast<reference::Real>(wanted[i[0]]));
          ASSERT_EQ(Get(out.tensor, i), Get(want.tensor, {0})) << NameOf(type) << " " << way << i.ToString();
        });
      }
    }
  }
}

TEST(Index, ScattersBlocks) {
  std::mt19937 rng(4);
  Sample in(DType::kF32, {4, 6, 3}), updates(DType::kF32, {5, 3}, Layout::kStepped),
      out(DType::kF32, {4, 6, 3});
  in.Randomise(rng);
  updates.Randomise(rng);
  Sample index = Places(DType::kI64, {5, 2}, 4, rng);
  Call(forms::ScatterNd, {Arg(&in.tensor), Arg(&index.tensor), Arg(&updates.tensor), Arg(&out.tensor)});
  for (int64_t i = 0; i < 5; ++i) {
    for (int64_t k = 0; k < 3; ++k) {
      Set(in.tensor, {PlaceAt(index, {i, 0}, 4), PlaceAt(index, {i, 1}, 6), k}, Get(updates.tensor, {i, k}));
    }
  }
  EXPECT_EQ(testing::Distance(out.tensor, in.tensor), 0);
}

// Rows of as many indices as there are dimensions named, of one element each behind them or of many.
struct Named {
  static constexpr int64_t kRows = 40;
  Shape shape, names, rows;

  Named(int depth, int64_t width) : shape(Shape::Filled(depth, 3)), names{kRows, depth}, rows{kRows} {
    shape[0] = 5;
    if (width > 0) shape.push_back(width), rows.push_back(width);
  }

  Sample Indices(DType type, Layout layout, std::mt19937& rng) const {
    Sample places(type, names, layout);
    ForEach(names, [&](const Shape& i) {
      std::uniform_int_distribution<int64_t> pick(-shape[static_cast<int>(i[1])],
                                                  shape[static_cast<int>(i[1])] - 1);
      Set(places.tensor, i, static_cast<reference::Real>(pick(rng)));
    });
    return places;
  }

  // Where element i of the rows belongs.
  Shape At(const Sample& index, const Shape& i) const {
    Shape at;
    for (int k = 0; k < static_cast<int>(names[1]); ++k) at.push_back(PlaceAt(index, {i[0], k}, shape[k]));
    if (i.rank() > 1) at.push_back(i[1]);
    return at;
  }
};

TEST(Index, GathersAndScattersWhatRowsName) {
  std::mt19937 rng(4);
  for (int depth : {1, 2, 3, 4, 5}) {
    for (int64_t width : {0, 1, 2, 7, 16, 37}) {
      for (Layout layout : {Layout::kPacked, Layout::kStepped, Layout::kOffset}) {
        const Named named(depth, width);
        const DType types[] = {DType::kF32, DType::kF64, DType::kI32, DType::kI64};
        const DType type = types[(depth + width + (layout == Layout::kOffset ? 1 : 0)) % 4];
        Sample in(type, named.shape, layout), rows(type, named.rows, layout);
        in.Randomise(rng, 3);
        Sample index = named.Indices(width % 2 == 0 ? DType::kI64 : DType::kI32, layout, rng);
        Call(forms::GatherNd, {Arg(&in.tensor), Arg(&index.tensor), Arg(true), Arg(&rows.tensor)});
        ForEach(named.rows, [&](const Shape& i) {
          ASSERT_EQ(Get(rows.tensor, i), Get(in.tensor, named.At(index, i))) << depth << " " << width;
        });
        rows.Randomise(rng, 3);
        for (Combination how : kCombinations) {
          Sample out(type, named.shape, layout), want(type, named.shape);
          PlanRef plan = testing::NewPlan();
          Operand self = in.BoundTo(*plan, Access::kRead, "self"),
                  places = index.BoundTo(*plan, Access::kRead, "index"),
                  from = rows.BoundTo(*plan, Access::kRead, "updates");
          PlanScatterNd(*plan, self, places, from, how, out.BoundTo(*plan, Access::kWrite, "out"));
          testing::RunPlan(*plan);
          reference::Copy(in.tensor, want.tensor);
          ForEach(named.rows, [&](const Shape& i) {
            const Shape at = named.At(index, i);
            Set(want.tensor, at, Combined(how, Get(want.tensor, at), Get(rows.tensor, i)));
          });
          ASSERT_LE(testing::Distance(out.tensor, want.tensor), 1e-5)
              << depth << " " << width << " " << int(how);
        }
      }
    }
  }
}

TEST(Index, RowsThatNameNothingChangeNothing) {
  std::mt19937 rng(4);
  for (Layout layout : {Layout::kPacked, Layout::kStepped}) {
    for (int wrong : {3, -4}) {
      const Named named(2, 4);
      Sample out(DType::kF32, named.shape), rows(DType::kF32, named.rows), before(DType::kF32, named.shape);
      out.Randomise(rng);
      reference::Copy(out.tensor, before.tensor);
      Sample index = named.Indices(DType::kI64, layout, rng);
      Set(index.tensor, {Named::kRows - 1, 1}, wrong);
      EXPECT_THROW(
          Call(forms::ScatterNd, {Arg(&out.tensor), Arg(&index.tensor), Arg(&rows.tensor), Arg(&out.tensor)}),
          Error);
      EXPECT_THROW(
          Call(forms::GatherNd, {Arg(&out.tensor), Arg(&index.tensor), Arg(true), Arg(&rows.tensor)}), Error);
      EXPECT_EQ(testing::Distance(out.tensor, before.tensor), 0);
    }
  }
}

TEST(Index, FillsAScalar) {
  Sample self(DType::kF32, {}), out(DType::kF32, {});
  float two = 2;
  Scalar value(&two, DType::kF32);
  int64_t list[] = {-1};
  tensor::IntArray places(list, 1);
  Call(forms::IndexFillTensor,
       {Arg(&self.tensor), Arg(int64_t{0}), Arg(&places), Arg(&value), Arg(&out.tensor)});
  EXPECT_EQ(Get(out.tensor, {}), 2);
}

TEST(Index, CopiesAddsAndFillsRows) {
  std::mt19937 rng(6);
  for (Layout layout : kLayouts) {
    Sample self(DType::kF32, {5, 4}, layout), source(DType::kF32, {5, 2}, layout),
        out(DType::kF32, {5, 4}, layout);
    self.Randomise(rng);
    source.Randomise(rng);
    Sample index(DType::kI64, {2});
    Set(index.tensor, {0}, 3);
    Set(index.tensor, {1}, -3);
    float two = 2;
    Scalar alpha(&two, DType::kF32);
    Call(forms::IndexAdd, {Arg(&self.tensor), Arg(int64_t{1}), Arg(&index.tensor), Arg(&source.tensor),
                           Arg(&alpha), Arg(&out.tensor)});
    Sample filled = self.Copied(), copied = self.Copied();
    int64_t list[] = {3, -3};
    tensor::IntArray places(list, 2);
    Call(forms::InplaceIndexFillTensor, {Arg(&filled.tensor), Arg(int64_t{1}), Arg(&places), Arg(&alpha)});
    Call(forms::InplaceIndexCopy,
         {Arg(&copied.tensor), Arg(int64_t{1}), Arg(&index.tensor), Arg(&source.tensor)});
    ForEach({5, 4}, [&](const Shape& i) {
      int64_t from = i[1] == 3 ? 0 : i[1] == 1 ? 1 : -1;
      auto before = Get(self.tensor, i), moved = from < 0 ? 0 : Get(source.tensor, {i[0], from});
      EXPECT_EQ(Get(out.tensor, i), before + 2 * moved);
      EXPECT_EQ(Get(filled.tensor, i), from < 0 ? before : 2);
      EXPECT_EQ(Get(copied.tensor, i), from < 0 ? before : moved);
    });
  }
}

TEST(Index, OneHotLeavesOutWhatIsBeyond) {
  Sample index(DType::kI32, {3}), on(DType::kF16, {}), off(DType::kF16, {1}), out(DType::kF16, {4, 3});
  for (int i = 0; i < 3; ++i)
    static_cast<int32_t*>(index.tensor.data)[i] = std::array{-1, 2, 9}[static_cast<size_t>(i)];
  Set(on.tensor, {}, 5);
  Set(off.tensor, {0}, -1);
  Call(forms::OneHot, {Arg(&index.tensor), Arg(int64_t{4}), Arg(&on.tensor), Arg(&off.tensor),
                       Arg(int64_t{0}), Arg(&out.tensor)});
  ForEach({4, 3}, [&](const Shape& i) {
    bool hot = (i[1] == 0 && i[0] == 3) || (i[1] == 1 && i[0] == 2);
    EXPECT_EQ(Get(out.tensor, i), hot ? 5 : -1);
  });
}

// Results that are filled at once, and long runs that are filled one by one.
TEST(Index, OneHotOfEverySizeAndAxis) {
  std::mt19937 rng(51);
  for (DType type : {DType::kI8, DType::kF16, DType::kF32, DType::kI64}) {
    for (int64_t depth : {3, 200}) {
      for (int64_t axis : {0, 1, 2}) {
        Shape shape = {5, 7};
        Sample index(DType::kI64, shape), on(type, {}), off(type, {});
        for (int64_t i = 0; i < 35; ++i)
          static_cast<int64_t*>(index.tensor.data)[i] = static_cast<int64_t>(rng() % 8) - 4;
        Set(on.tensor, {}, 5), Set(off.tensor, {}, 2);
        Shape whole;
        for (int64_t d = 0; d < 3; ++d)
          whole.push_back(d == axis ? depth : shape[static_cast<int>(d - (d > axis))]);
        Sample out(type, whole);
        Call(forms::OneHot, {Arg(&index.tensor), Arg(depth), Arg(&on.tensor), Arg(&off.tensor), Arg(axis),
                             Arg(&out.tensor)});
        ForEach(whole, [&](const Shape& i) {
          Shape at;
          for (int d = 0; d < 3; ++d) {
            if (d != axis) at.push_back(i[d]);
          }
          const auto place = static_cast<int64_t>(Get(index.tensor, at));
          const bool hot = i[static_cast<int>(axis)] == (place < 0 ? place + depth : place);
          ASSERT_EQ(Get(out.tensor, i), hot ? 5 : 2) << NameOf(type) << " " << depth << " " << axis;
        });
      }
    }
  }
}

}  // namespace
}  // namespace belay::ops
