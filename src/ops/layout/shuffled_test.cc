#include "ops/layout/shuffled.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>

#include "ops/layout/shuffled_block.h"
#include "ops/reference/reference.h"
#include "ops/testing/in_pieces.h"
#include "ops/testing/sample.h"
#include "ops/testing/simd_levels.h"

namespace belay::ops {
namespace {

using testing::Sample;

class ShuffledBlocks : public testing::SimdLevels {};

// Elements of every size, each from anywhere in a source of which nothing beside may be read, or from
// nowhere.
TEST_P(ShuffledBlocks, HoldWhatTheirSourcesSay) {
  std::mt19937 rng(3);
  const auto below = [&](int64_t n) { return static_cast<int64_t>(rng() % static_cast<uint64_t>(n)); };
  int ready = 0;
  for (int64_t element = 1; element <= 20; ++element) {
    for (int turn = 0; turn < 40; ++turn) {
      const int64_t count = 1 + below(60), places = 1 + below(30), share = below(3);
      std::vector<char> source(static_cast<size_t>(places * element)), fill(static_cast<size_t>(element));
      for (char& byte : source) byte = static_cast<char>(rng());
      for (char& byte : fill) byte = static_cast<char>(rng());
      std::vector<int64_t> from;
      while (std::ssize(from) < count) {
        const int64_t place = below(places), run = 1 + below(4);  // neighbours now and then
        for (int64_t i = place; i < std::min(place + run, places) && std::ssize(from) < count; ++i)
          from.push_back(share != 0 && below(5) < share ? ShuffledBlock::kNone : i * element);
      }
      const ShuffledBlock block(from, element, fill.data());
      if (!block.ready()) continue;
      ++ready;
      std::vector<char> result(static_cast<size_t>(block.bytes()));
      block.Run(result.data(), source.data());
      for (int64_t i = 0; i < count; ++i) {
        const int64_t at = from[static_cast<size_t>(i)];
        const char* wanted = at == ShuffledBlock::kNone ? fill.data() : source.data() + at;
        ASSERT_EQ(std::memcmp(result.data() + i * element, wanted, static_cast<size_t>(element)), 0)
            << element << " bytes, turn " << turn << ", element " << i;
      }
    }
  }
  EXPECT_TRUE(ready > 400 || BestShuffleLoop() == nullptr);
}

INSTANTIATE_TEST_SUITE_P(Levels, ShuffledBlocks, ::testing::Range(0, 3));

// A map of every kind: as it is, in steps, backward, padded, tiled, repeated, at random.
AxisMap DrawnMap(std::mt19937& rng, int64_t size) {
  const auto below = [&](int64_t n) { return static_cast<int64_t>(rng() % static_cast<uint64_t>(n)); };
  switch (below(7)) {
    case 0:
      return IdentityMap(size);
    case 1: {
      const int64_t step = 1 + below(3), start = below(std::min(step, size));
      return SteppedMap(start, step, (size - start + step - 1) / step);
    }
    case 2:
      return SteppedMap(size - 1, -1, size);
    case 3:
      return PaddedMap(size, below(3), below(3), below(2) == 0 ? PadMode::kConstant : PadMode::kEdge);
    case 4:
      return TiledMap(size, 1 + below(3));
    case 5: {
      AxisMap map;
      for (int64_t i = 0; i < 2 * size; ++i) map.push_back(i / 2);
      return map;
    }
    default: {
      AxisMap map;
      for (int64_t i = 0; i < size; ++i) map.push_back(below(size + 1) - 1);  // some from nowhere
      return map;
    }
  }
}

// Runs a plan and tells how many elements are not as the maps say.
int WrongElements(const Sample& in, const Sample& out, const std::vector<AxisMap>& maps, int64_t fill) {
  int wrong = 0;
  reference::ForEach(out.tensor.shape, [&](const tensor::Shape& i) {
    tensor::Shape from = i;
    bool none = false;
    for (int d = 0; d < i.rank(); ++d) {
      from[d] = maps[static_cast<size_t>(d)][static_cast<size_t>(i[d])];
      none |= from[d] == kNoSource;
    }
    wrong += reference::Get(out.tensor, i) != (none ? fill : reference::Get(in.tensor, from));
  });
  return wrong;
}

TEST(Shuffled, RearrangesAsItsMapsSay) {
  const testing::InPieces pieces;
  std::mt19937 rng(11);
  const DType types[] = {DType::kI8, DType::kI16, DType::kI32, DType::kI64};
  for (int turn = 0; turn < 240; ++turn) {
    const DType type = types[turn % 4];
    const int rank = 1 + static_cast<int>(rng() % 4);
    tensor::Shape shape, result;
    std::vector<AxisMap> maps;
    for (int d = 0; d < rank; ++d) {
      const bool large = rng() % 3 == 0;
      shape.push_back(1 + static_cast<int64_t>(rng() % (large && rank < 4 ? 150 : 9)));
      maps.push_back(DrawnMap(rng, shape[d]));
      result.push_back(std::ssize(maps.back()));
    }
    Sample in(type, shape), out(type, result);
    in.Randomise(rng);
    const int64_t fill = 5;  // its first bytes are a five of every type
    PlanRef plan = testing::NewPlan();
    PlanRearranged(*plan, in.BoundTo(*plan, Access::kRead, "x"), out.BoundTo(*plan, Access::kWrite, "y"),
                   maps, &fill);
    testing::RunPlan(*plan);
    ASSERT_EQ(WrongElements(in, out, maps, fill), 0)
        << NameOf(type) << " " << shape.ToString() << " to " << result.ToString() << ", turn " << turn;
  }
}

// Whatever stands for true, 1 stands for it then.
TEST(Shuffled, CopiesTruths) {
  std::mt19937 rng(13);
  Sample in(DType::kBool, {5, 40, 3, 28}), out(DType::kBool, {40, 3, 5, 28});
  for (int64_t i = 0; i < in.tensor.count(); ++i) static_cast<uint8_t*>(in.tensor.data)[i] = rng() % 3;
  tensor::Tensor turned = in.tensor;
  const int order[] = {1, 2, 0, 3};
  for (int d = 0; d < 4; ++d)
    turned.shape[d] = out.tensor.shape[d], turned.strides[d] = in.tensor.strides[order[d]];
  PlanRef plan = testing::NewPlan();
  Operand from = in.BoundTo(*plan, Access::kRead, "x");
  from.tensor = &turned;
  ASSERT_TRUE(BestShuffleLoop() == nullptr ||
              PlanShuffledCopy(*plan, from, out.BoundTo(*plan, Access::kWrite, "y")));
  if (BestShuffleLoop() == nullptr) return;
  testing::RunPlan(*plan);
  int wrong = 0;
  reference::ForEach(out.tensor.shape, [&](const tensor::Shape& i) {
    const int64_t at = ((i[2] * 40 + i[0]) * 3 + i[1]) * 28 + i[3];
    const int64_t place = ((i[0] * 3 + i[1]) * 5 + i[2]) * 28 + i[3];
    const uint8_t found = static_cast<const uint8_t*>(out.tensor.data)[place];
    wrong += found != (static_cast<const uint8_t*>(in.tensor.data)[at] != 0 ? 1 : 0);
  });
  EXPECT_EQ(wrong, 0);
}

// Pieces of a long dimension around a few elements, with what pads it before and behind.
TEST(Shuffled, CutsLongDimensionsIntoPieces) {
  const testing::InPieces pieces;
  std::mt19937 rng(12);
  for (const int64_t length : {100, 331, 1000, 2777}) {
    for (const int64_t inner : {2, 3, 5}) {
      for (int turn = 0; turn < 8; ++turn) {
        const PadMode mode = turn % 2 == 0 ? PadMode::kConstant : PadMode::kReflect;
        const std::vector<AxisMap> maps = {
            PaddedMap(3, turn % 3, 1, PadMode::kEdge),
            turn < 4 ? PaddedMap(length, turn, 3, mode) : SteppedMap(length - 1, -turn / 4, length - 7),
            PaddedMap(inner, 1, turn % 2, mode)};
        Sample in(DType::kI16, {3, length, inner});
        tensor::Shape result;
        for (const AxisMap& map : maps) result.push_back(std::ssize(map));
        Sample out(DType::kI16, result);
        in.Randomise(rng);
        PlanRef plan = testing::NewPlan();
        PlanRearranged(*plan, in.BoundTo(*plan, Access::kRead, "x"), out.BoundTo(*plan, Access::kWrite, "y"),
                       maps, nullptr);
        testing::RunPlan(*plan);
        ASSERT_EQ(WrongElements(in, out, maps, 0), 0) << length << " x " << inner << ", turn " << turn;
      }
    }
  }
}

}  // namespace
}  // namespace belay::ops
