// Convolutions of bytes that stay planes: the left factor is the weights as they lie, the rows of the right
// one are what each tap sees of a plane from some lines of the result.
#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "ops/conv/channels_last.h"
#include "ops/conv/conv_parts.h"
#include "ops/conv/integer_conv.h"
#include "ops/matmul/integer.h"
#include "ops/scratch.h"

namespace belay::ops {
namespace {

int64_t PixelsIn(const int64_t* sizes) { return sizes[0] * sizes[1] * sizes[2]; }

// Bytes for the left factor, which has no sign, or for the right one, which has: others are moved.
const uint8_t* WithSign(bool is, bool wanted, const uint8_t* bytes, int64_t count, uint8_t* room) {
  if (is == wanted) return bytes;
  MoveBytes(bytes, count, room);
  return room;
}

struct IntegerPlanesBody : IntegerOperands {
  IntegerPlanesBody(const IntegerConvArgs& args, const ConvGeometry& geometry)
      : IntegerOperands(args), g(geometry) {}

  ConvGeometry g;
  int64_t lines = 1;                            // of the result that are worked on together
  std::shared_ptr<const char[]> constant = {};  // weights; null: they are read
  Scratch<uint8_t> moved = {}, weights = {};
  PieceScratch<uint8_t> rows = {};  // the right factor, and behind it the sums of its columns
  IntegerGemmFunction multiply = BestIntegerGemm();

  int64_t depth() const { return g.in_channels / g.groups * PixelsIn(g.kernel); }
  int64_t all_lines() const { return g.out[0] * g.out[1]; }
  int64_t blocks() const { return (all_lines() + lines - 1) / lines; }
  // The planes of the input are the right factor already.
  bool are_planes() const {
    for (int d = 0; d < 3; ++d) {
      if (g.kernel[d] != 1 || g.stride[d] != 1 || g.before[d] != 0 || g.in[d] != g.out[d]) return false;
    }
    return true;
  }
  int64_t room() const {
    const int64_t sums = zero_by_channel ? lines * g.out[2] * static_cast<int64_t>(sizeof(int32_t)) : 0;
    return SumsAt() + sums;
  }
  int64_t SumsAt() const { return are_planes() ? 0 : WorkspacePart(depth() * lines * g.out[2]); }

  void operator()(const Frame& frame) const {
    const uint8_t* x = WithSign(x_signed, true, Bytes(frame, input), g.batch * g.in_channels * PixelsIn(g.in),
                                moved.At(frame));
    const auto* w = reinterpret_cast<const uint8_t*>(constant.get());
    if (w == nullptr)
      w = WithSign(w_signed, false, Bytes(frame, weight), g.out_channels * depth(), weights.At(frame));
    rows.For(frame, [&](int64_t begin, int64_t end, uint8_t* memory) {
      for (int64_t i = begin; i < end; ++i) Block(frame, i, x, w, memory);
    });
  }

 private:
  static const uint8_t* Bytes(const Frame& frame, int binding) {
    return reinterpret_cast<const uint8_t*>(frame.at[binding]);
  }
  static uint8_t Zero(const Frame& frame, int binding, bool is_signed, bool wanted) {
    const uint8_t zero = binding < 0 ? uint8_t{0} : *Bytes(frame, binding);
    return is_signed == wanted ? zero : Moved(zero);
  }

  // Some lines of one image and group.
  void Block(const Frame& frame, int64_t i, const uint8_t* x, const uint8_t* w, uint8_t* memory) const {
    const int64_t image = i / blocks() / g.groups, group = i / blocks() % g.groups,
                  first = i % blocks() * lines, count = std::min(lines, all_lines() - first),
                  channels = g.in_channels / g.groups, per_group = g.out_channels / g.groups,
                  plane = PixelsIn(g.out);
    const uint8_t* planes = x + (image * g.in_channels + group * channels) * PixelsIn(g.in);
    IntegerGemm product{};
    product.m = per_group, product.n = count * g.out[2], product.k = depth();
    product.a = w + group * per_group * depth(), product.lda = depth();
    product.a_zero = zero_by_channel ? (w_signed ? 0x80 : 0) : Zero(frame, w_zero, w_signed, false);
    const uint8_t zero = Zero(frame, x_zero, x_signed, true);
    product.b_zero = static_cast<int8_t>(zero);
    product.c = reinterpret_cast<int32_t*>(frame.at[out]) +
                (image * g.out_channels + group * per_group) * plane + first * g.out[2];
    product.ldc = plane;
    if (are_planes()) {
      product.b = reinterpret_cast<const int8_t*>(planes + first * g.out[2]), product.ldb = plane;
    } else {
      Gather(planes, zero, first, count, memory);
      product.b = reinterpret_cast<const int8_t*>(memory), product.ldb = product.n;
    }
    if (!multiply(product)) PlainIntegerGemm(product);
    if (zero_by_channel)
      SubtractZeros(product, Bytes(frame, w_zero) + group * per_group,
                    reinterpret_cast<int32_t*>(memory + SumsAt()));
  }

  void Gather(const uint8_t* planes, uint8_t zero, int64_t first, int64_t count, uint8_t* to) const {
    for (int64_t c = 0; c < g.in_channels / g.groups; ++c, planes += PixelsIn(g.in)) {
      for (int64_t tap = 0; tap < PixelsIn(g.kernel); ++tap) {
        const int64_t along = tap % g.kernel[2] * g.dilation[2] - g.before[2],
                      down = tap / g.kernel[2] % g.kernel[1] * g.dilation[1] - g.before[1],
                      behind = tap / g.kernel[2] / g.kernel[1] * g.dilation[0] - g.before[0];
        for (int64_t line = first; line < first + count; ++line, to += g.out[2]) {
          const int64_t z = line / g.out[1] * g.stride[0] + behind, y = line % g.out[1] * g.stride[1] + down;
          const bool inside = z >= 0 && z < g.in[0] && y >= 0 && y < g.in[1];
          Line(inside ? planes + (z * g.in[1] + y) * g.in[2] : nullptr, zero, along, to);
        }
      }
    }
  }

  // What one tap sees of a line; null: nothing.
  void Line(const uint8_t* from, uint8_t zero, int64_t along, uint8_t* to) const {
    const int64_t n = g.out[2], step = g.stride[2];
    const int64_t begin = along >= 0 ? 0 : std::min(n, (-along + step - 1) / step);
    int64_t end = along >= g.in[2] ? begin : std::clamp((g.in[2] - along + step - 1) / step, begin, n);
    if (from == nullptr) end = begin;
    std::memset(to, zero, static_cast<size_t>(begin));
    std::memset(to + end, zero, static_cast<size_t>(n - end));
    if (begin == end) return;
    from += along;
    if (step == 1) {
      std::memcpy(to + begin, from + begin, static_cast<size_t>(end - begin));
    } else if (step == 2) {
      EveryOther(from + 2 * begin, end - begin, to + begin);
    } else {
      for (int64_t i = begin; i < end; ++i) to[i] = from[i * step];
    }
  }

  // The compiler knows the step, and makes vectors of it.
  static void EveryOther(const uint8_t* __restrict__ from, int64_t n, uint8_t* __restrict__ to) {
    for (int64_t i = 0; i < n; ++i) to[i] = from[2 * i];
  }

  // The sums of the columns times the zero point of each row of the weights.
  void SubtractZeros(const IntegerGemm& product, const uint8_t* zeros, int32_t* sums) const {
    std::fill_n(sums, product.n, 0);
    for (int64_t k = 0; k < product.k; ++k) {
      for (int64_t j = 0; j < product.n; ++j) sums[j] += product.b[k * product.ldb + j] - product.b_zero;
    }
    for (int64_t o = 0; o < product.m; ++o) {
      const int32_t zero = w_signed ? static_cast<int8_t>(zeros[o]) : zeros[o];
      for (int64_t j = 0; j < product.n; ++j) product.c[o * product.ldc + j] -= zero * sums[j];
    }
  }
};

}  // namespace

bool PaysAsIntegerPlanes(int64_t products, int64_t line) {
  constexpr int64_t kFewProducts = 256, kLongLine = 12, kVeryFewProducts = 32, kLine = 4;
  return (products <= kFewProducts && line >= kLongLine) || (products <= kVeryFewProducts && line >= kLine);
}

void PlanIntegerPlanes(Plan& plan, const IntegerConvArgs& args) {
  const ConvArgs& conv = args.conv;
  const ConvGeometry g = CheckedGeometry(conv);
  if (conv.out.tensor->empty()) return;
  constexpr int64_t kBytes = 128 * 1024;
  IntegerPlanesBody body(args, g);
  body.lines =
      std::clamp<int64_t>(kBytes / std::max<int64_t>(body.depth() * g.out[2], 1), 1, body.all_lines());
  if (!body.x_signed) body.moved = {plan, conv.input.tensor->count()};
  const int64_t count = conv.weight.tensor->count();
  if (conv.constant_weight == nullptr) {
    body.weights = {plan, count};
  } else {
    auto bytes = AlignedBytes(count);
    auto* to = reinterpret_cast<uint8_t*>(bytes.get());
    const auto* from = static_cast<const uint8_t*>(conv.constant_weight);
    if (WithSign(body.w_signed, false, from, count, to) == from)
      std::memcpy(to, from, static_cast<size_t>(count));
    body.constant = bytes;
  }
  const int64_t products = body.lines * g.out[2] * body.depth() * (g.out_channels / g.groups);
  body.rows = {plan, g.batch * g.groups * body.blocks(), IntegerGrain(products), body.room()};
  plan.SetProducts(ConvProducts(g));
  plan.SetCost(1000 + static_cast<uint64_t>(ConvFlops(g) / 300));
  plan.SetBody(body);
}

}  // namespace belay::ops
