// As products of matrices of bytes: the rows are what the taps see from each position of the result.
#include "ops/conv/integer_conv.h"

#include <algorithm>
#include <limits>
#include <memory>

#include "ops/conv/channels_last.h"
#include "ops/conv/conv_parts.h"
#include "ops/conv/seen_rows.h"
#include "ops/matmul/integer.h"
#include "ops/scratch.h"

namespace belay::ops {
namespace {

// The weights as the right factor: [kernel...][in / group][out] from [out][in / group][kernel...]. Unsigned
// ones are moved.
void PackWeights(const ConvGeometry& g, bool is_signed, const uint8_t* from, uint8_t* to) {
  const int64_t channels = g.in_channels / g.groups, taps = g.kernel[0] * g.kernel[1] * g.kernel[2];
  for (int64_t tap = 0; tap < taps; ++tap) {
    for (int64_t i = 0; i < channels; ++i) {
      for (int64_t o = 0; o < g.out_channels; ++o) to[o] = from[(o * channels + i) * taps + tap];
      if (!is_signed) MoveBytes(to, g.out_channels, to);
      to += g.out_channels;
    }
  }
}

struct IntegerConvBody : IntegerOperands {
  IntegerConvBody(const IntegerConvArgs& args, const ConvGeometry& geometry)
      : IntegerOperands(args), g(geometry), seen(geometry) {}

  ConvGeometry g;
  SeenRows seen;
  int64_t together = 0;                    // rows
  std::shared_ptr<const char[]> constant;  // null: the weights are packed at each run
  Scratch<uint8_t> moved, weights;         // the input where it is signed, and those weights
  PieceScratch<uint8_t> rows;
  IntegerGemmFunction multiply = BestIntegerGemm();

  void operator()(const Frame& frame) const {
    const auto* x = reinterpret_cast<const uint8_t*>(frame.at[input]);
    if (x_signed) {
      MoveBytes(x, moved.count(), moved.At(frame));
      x = moved.At(frame);
    }
    const auto* packed = reinterpret_cast<const uint8_t*>(constant.get());
    if (packed == nullptr) {
      PackWeights(g, w_signed, reinterpret_cast<const uint8_t*>(frame.at[weight]), weights.At(frame));
      packed = weights.At(frame);
    }
    rows.For(frame, [&](int64_t begin, int64_t end, uint8_t* memory) {
      for (int64_t i = begin * together; i < std::min(end * together, seen.positions()); i += together) {
        for (int64_t group = 0; group < g.groups; ++group)
          Block(frame, ProductOf(frame, x, packed, i, group, memory), group);
      }
    });
  }

 private:
  static uint8_t Zero(const Frame& frame, int binding) {
    return binding < 0 ? uint8_t{0} : *reinterpret_cast<const uint8_t*>(frame.at[binding]);
  }

  // Of the rows from `first` on.
  IntegerGemm ProductOf(const Frame& frame, const uint8_t* x, const uint8_t* packed, int64_t first,
                        int64_t group, uint8_t* memory) const {
    const uint8_t zero = x_signed ? Moved(Zero(frame, x_zero)) : Zero(frame, x_zero),
                  shift = w_signed ? 0 : 0x80;
    const int64_t columns = g.out_channels / g.groups, channels = g.in_channels / g.groups;
    IntegerGemm product{};
    product.m = std::min(together, seen.positions() - first), product.n = columns, product.k = seen.width();
    product.a_zero = zero;
    product.b = reinterpret_cast<const int8_t*>(packed) + group * columns, product.ldb = g.out_channels;
    product.b_zero = static_cast<int8_t>((zero_by_channel ? 0 : Zero(frame, w_zero)) ^ shift);
    product.c = reinterpret_cast<int32_t*>(frame.at[out]) + first * g.out_channels + group * columns;
    product.ldc = g.out_channels;
    if (seen.are_pixels()) {
      product.a = x + first * g.in_channels + group * channels, product.lda = g.in_channels;
      return product;
    }
    product.a = memory, product.lda = seen.width();
    for (int64_t i = 0; i < product.m; ++i) {
      seen.Gather(reinterpret_cast<const char*>(x), 1, zero, first + i, group,
                  reinterpret_cast<char*>(memory + i * seen.width()));
    }
    return product;
  }

  void Block(const Frame& frame, const IntegerGemm& product, int64_t group) const {
    if (!multiply(product)) PlainIntegerGemm(product);
    if (!zero_by_channel) return;
    SubtractColumnZeros(product, reinterpret_cast<const uint8_t*>(frame.at[w_zero]) + group * product.n,
                        w_signed);
  }
};

}  // namespace

IntegerOperands::IntegerOperands(const IntegerConvArgs& args)
    : input(args.conv.input.binding),
      weight(args.conv.weight.binding),
      x_zero(args.x_zero.present() ? args.x_zero.binding : -1),
      w_zero(args.w_zero.present() ? args.w_zero.binding : -1),
      out(args.conv.out.binding),
      x_signed(args.conv.input.dtype() == DType::kI8),
      w_signed(args.conv.weight.dtype() == DType::kI8),
      zero_by_channel(args.w_zero.present() && args.w_zero.tensor->count() > 1) {}

int64_t IntegerGrain(int64_t products) {
  constexpr int64_t kSmall = 256 * 1024;
  return std::max<int64_t>(1, kSmall / std::max<int64_t>(products, 1));
}

bool FitsIntegerConv(int64_t products) {
  return products <= std::numeric_limits<int32_t>::max() / (255 * 255);
}

void PlanIntegerConv(Plan& plan, const IntegerConvArgs& args) {
  const ConvArgs& conv = args.conv;
  const ConvGeometry g = Flattened(CheckedGeometry(conv));
  if (conv.out.tensor->empty()) return;
  constexpr int64_t kBytes = 256 * 1024;
  IntegerConvBody body(args, g);
  const int64_t row = std::max<int64_t>(body.seen.width(), 1);  // where there are no channels, too
  body.together = std::clamp<int64_t>(kBytes / row, 16, 256);
  if (body.x_signed) body.moved = {plan, conv.input.tensor->count()};
  if (conv.constant_weight != nullptr) {
    auto packed = AlignedBytes(conv.weight.tensor->count());
    PackWeights(g, body.w_signed, static_cast<const uint8_t*>(conv.constant_weight),
                reinterpret_cast<uint8_t*>(packed.get()));
    body.constant = packed;
  } else {
    body.weights = {plan, conv.weight.tensor->count()};
  }
  const int64_t blocks = (body.seen.positions() + body.together - 1) / body.together,
                products = body.together * row * (g.out_channels / g.groups) * g.groups;
  body.rows = {plan, blocks, IntegerGrain(products), body.seen.are_pixels() ? 0 : body.together * row};
  plan.SetProducts(ConvProducts(g));
  plan.SetCost(1000 + static_cast<uint64_t>(ConvFlops(g) / 300));
  plan.SetBody(body);
}

}  // namespace belay::ops
