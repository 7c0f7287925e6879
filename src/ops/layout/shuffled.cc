#include "ops/layout/shuffled.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/parallel.h"
#include "ops/layout/shuffled_block.h"
#include "tensor/convert.h"

namespace belay::ops {
namespace {

struct ShuffledBody {
  std::vector<MovedAxis> outer;
  // Along the last of the outer axes: the first, those between, the last.
  std::vector<ShuffledBlock> blocks;
  std::vector<char> fill;          // as large as the largest block
  int64_t rows = 1, last_row = 1;  // blocks in all, and along the last of the outer axes
  int64_t before = 0;              // bytes that the first of a row begins earlier
  MovedBytes bytes;

  void operator()(const Frame& frame) const {
    char* out = frame.at[bytes.out_binding] + bytes.out_offset;
    const char* in = frame.at[bytes.in_binding] + bytes.in_offset;
    const int64_t grain = std::max<int64_t>(1, 256 * 1024 / blocks.front().bytes());
    ParallelFor(rows, grain, [&](int64_t begin, int64_t end) {
      AxesCursor at(outer, begin);
      for (int64_t row = begin; row < end; ++row, at.Advance()) {
        const int64_t i = row % last_row;
        const size_t which =
            i + 1 == last_row ? blocks.size() : static_cast<size_t>(std::min<int64_t>(i, 1)) + 1;
        const ShuffledBlock& block = blocks[std::min(which, blocks.size()) - 1];
        char* to = out + before + at.out() - (i == 0 ? before : 0);
        if (at.filled()) {
          std::memcpy(to, fill.data(), static_cast<size_t>(block.bytes()));
        } else {
          block.Run(to, in + at.in());
        }
        if (bytes.truths) tensor::Convert(DType::kBool, to, DType::kBool, to, block.bytes());
      }
    });
  }
};

// The innermost axes that a block takes, and where its elements come from.
struct BlockSources {
  std::vector<int64_t> at = {0};  // bytes, ShuffledBlock::kNone

  // Places [begin, end) of an axis around what is there.
  BlockSources Around(const MovedAxis& axis, int64_t begin, int64_t end, int64_t from = 0) const {
    BlockSources all{{}};
    all.at.reserve(at.size() * static_cast<size_t>(end - begin));
    for (int64_t i = begin; i < end; ++i) {
      for (int64_t source : at) {
        const bool none = !axis.HasSource(i) || source == ShuffledBlock::kNone;
        all.at.push_back(none ? ShuffledBlock::kNone : axis.Source(i) - from + source);
      }
    }
    return all;
  }
};

// Where an axis goes by even steps for longest.
struct EvenPart {
  int64_t begin = 0, end = 0;

  explicit EvenPart(const MovedAxis& axis) {
    if (axis.even()) {
      end = axis.size;
      return;
    }
    for (int64_t i = 0, next; i < axis.size; i = next) {
      next = i + 1;
      if (!axis.HasSource(i)) continue;
      while (next < axis.size && axis.HasSource(next) && GoesOn(axis, i, next)) ++next;
      if (next - i > end - begin) begin = i, end = next;
    }
  }

 private:
  static bool GoesOn(const MovedAxis& axis, int64_t first, int64_t next) {
    return axis.Source(next) - axis.Source(next - 1) == axis.Source(first + 1) - axis.Source(first);
  }
};

// How far the innermost axes are one block.
struct BlockPlan {
  std::vector<MovedAxis> outer;
  BlockSources sources;
  int64_t bytes;   // of the block
  int64_t target;  // what it should have, about

  BlockPlan(const MovedAxes& moved, int64_t element) : outer(moved.axes), bytes(element) {
    int64_t all = element;
    for (const MovedAxis& axis : outer) all *= axis.size;
    // To find out how a block is put together takes a while, which all of them are worth.
    constexpr int64_t kLeast = 64, kMost = 1024;
    target = std::clamp(all / 16, kLeast, kMost);
    while (HasNext() && bytes * outer.back().size <= 2 * target) {
      sources = sources.Around(outer.back(), 0, outer.back().size);
      bytes *= outer.back().size;
      outer.pop_back();
    }
  }

  bool HasNext() const { return !outer.empty() && outer.back().step == bytes; }
};

// Cuts the axis around the block into pieces of so many places, as far as it goes by even steps; the first
// and the last also have what lies before and behind. False: too little of it does.
bool CutIntoPieces(ShuffledBody& body, BlockPlan& plan) {
  if (!plan.HasNext()) return false;
  const MovedAxis axis = plan.outer.back();
  const EvenPart even(axis);
  const int64_t places = even.end - even.begin, pieces = places * plan.bytes / plan.target;
  if (pieces < 2) return false;
  const int64_t length = places / pieces;
  if (length < 2 || even.begin > length || axis.size - even.end > length) return false;
  const auto add = [&](int64_t begin, int64_t end, int64_t place) {
    const BlockSources sources = plan.sources.Around(axis, begin, end, axis.Source(place));
    body.blocks.emplace_back(sources.at, body.bytes.element, body.bytes.fill);
  };
  const int64_t second = even.begin + length, last = even.begin + (pieces - 1) * length;
  add(0, second, even.begin);
  const bool alike = places == axis.size && places % length == 0;
  if (!alike && pieces > 2) add(second, second + length, second);
  if (!alike) add(last, axis.size, last);
  MovedAxis cut{alike ? places / length : pieces,
                length * axis.step,
                axis.Source(second) - axis.Source(even.begin),
                {}};
  body.before = even.begin * axis.step;
  body.bytes.in_offset += axis.Source(even.begin);
  plan.outer.back() = std::move(cut);
  return true;
}

}  // namespace

// What a byte of the result takes where runs of neighbours or elements are moved on their own, row by row. In
// cycles, roughly, as measured.
double CostOfMoves(const MovedAxes& moved, int64_t element) {
  constexpr double kRow = 20, kRun = 12, kElement = 1.2, kOddElement = 20, kByte = 1.0 / 24;
  auto axis = moved.axes.rbegin();
  const auto is_row = [&] { return axis->even() && axis->step == element && axis->in_step == element; };
  for (; is_row() && axis + 1 != moved.axes.rend(); ++axis) element *= axis->size;
  const auto size = static_cast<double>(axis->size), bytes = size * static_cast<double>(element);
  const bool odd = element > 16 || !std::has_single_bit(static_cast<uint64_t>(element));
  const bool vectors =
      axis->even() ? is_row() || (!odd && axis->in_step == 2 * element) : TimesOf(*axis, element) == 2;
  double runs = 1;
  for (int64_t i = 2; i < axis->size && !axis->even() && !vectors; ++i)
    runs += axis->Source(i) - axis->Source(i - 1) != axis->Source(i - 1) - axis->Source(i - 2);
  double cost = size * (odd ? kOddElement : kElement);
  if (vectors || !axis->even()) cost = std::min(cost, runs * kRun + bytes * kByte);
  cost += kRow;
  const bool repeated = axis + 1 != moved.axes.rend() && axis[1].Source(0) == axis[1].Source(1);
  if (repeated) cost /= 2;  // a row that is a copy of the one before
  return cost / bytes;
}

double CostOfShuffles(const ShuffledBlock& block) {
  constexpr double kBlock = 20;
  return (2 * static_cast<double>(block.steps()) + 1) / kShuffled +
         kBlock / static_cast<double>(block.bytes());
}

bool PlanShuffled(Plan& plan, const MovedAxes& moved, const MovedBytes& bytes) {
  if (moved.axes.empty() || BestShuffleLoop() == nullptr) return false;
  const MovedAxis& inner = moved.axes.back();
  constexpr int64_t kLongRow = 512;  // bytes that lie side by side on both sides
  if (inner.step != bytes.element) return false;
  if (inner.in_step == bytes.element && inner.size * bytes.element >= kLongRow) return false;
  ShuffledBody body;
  body.bytes = bytes;
  body.bytes.in_offset += moved.first;
  BlockPlan blocks(moved, bytes.element);
  if (!CutIntoPieces(body, blocks)) body.blocks.emplace_back(blocks.sources.at, bytes.element, bytes.fill);
  const ShuffledBlock& block = body.blocks[body.blocks.size() / 2];
  const bool ready =
      std::all_of(body.blocks.begin(), body.blocks.end(), [](const ShuffledBlock& b) { return b.ready(); });
  if (!ready || CostOfMoves(moved, bytes.element) <= CostOfShuffles(block)) return false;
  int64_t most = 0;
  for (const ShuffledBlock& block : body.blocks) most = std::max(most, block.bytes());
  body.fill.resize(static_cast<size_t>(most));
  for (int64_t i = 0; bytes.fill != nullptr && i < most; ++i)
    body.fill[static_cast<size_t>(i)] = bytes.fill[i % bytes.element];
  body.outer = std::move(blocks.outer);
  for (const MovedAxis& axis : body.outer) body.rows *= axis.size;
  if (!body.outer.empty()) body.last_row = body.outer.back().size;
  plan.SetCost(50 + static_cast<uint64_t>(body.rows * most) / 16);
  plan.SetBody(std::move(body));
  return true;
}

bool PlanShuffledCopy(Plan& plan, const Operand& src, const Operand& out) {
  constexpr int64_t kSmallest = 256;  // elements
  const Tensor &from = *src.tensor, &to = *out.tensor;
  if (from.dtype != to.dtype || from.shape != to.shape || to.count() < kSmallest) return false;
  const auto bytes = static_cast<int64_t>(BytesOf(to.dtype));
  MovedAxes axes;
  for (int d = 0; d < to.shape.rank(); ++d)
    axes.AddEven(to.shape[d], to.strides[d] * bytes, from.strides[d] * bytes);
  // Larger blocks that repeat are better copied from where they stand already.
  constexpr int64_t kLargeBlock = 32;  // bytes
  const auto repeats =
      std::find_if(axes.axes.rbegin(), axes.axes.rend(), [](const auto& a) { return a.in_step == 0; });
  if (repeats != axes.axes.rend() && repeats->step >= kLargeBlock) return false;
  return PlanShuffled(plan, axes,
                      {bytes, to.offset * bytes, from.offset * bytes, out.binding, src.binding, nullptr,
                       to.dtype == DType::kBool});
}

}  // namespace belay::ops
