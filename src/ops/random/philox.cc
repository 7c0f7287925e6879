#include "ops/random/philox.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/parallel.h"
#include "ops/pipeline.h"
#include "tensor/views.h"

namespace belay::ops {
namespace {

constexpr int kRounds = 10;

// Bits of a fraction that the type holds without rounding up to 1.
int FractionBits(DType type) {
  switch (type) {
    case DType::kF16:
      return 11;
    case DType::kBF16:
      return 8;
    case DType::kF64:
      return 53;
    default:
      return 24;
  }
}

struct PhiloxBody {
  Philox source;
  Distribution distribution;
  DType type;
  int64_t count, offset;
  int out;

  void Fractions(uint64_t block, double* to) const {
    const Philox::Words words = source[block];
    const int bits = FractionBits(type);
    if (type == DType::kF64) {
      for (size_t i = 0; i < 2; ++i) {
        const uint64_t both = uint64_t{words[2 * i + 1]} << 32 | words[2 * i];
        to[i] = std::ldexp(static_cast<double>(both >> (64 - bits)), -bits);
      }
      return;
    }
    for (size_t i = 0; i < 4; ++i) to[i] = std::ldexp(static_cast<double>(words[i] >> (32 - bits)), -bits);
  }

  // Two normal numbers from two fractions (Box and Muller).
  static void MakeNormal(double* pair) {
    const double length = std::sqrt(-2 * std::log(1 - pair[0])), angle = 2 * std::numbers::pi * pair[1];
    pair[0] = length * std::cos(angle);
    pair[1] = length * std::sin(angle);
  }

  void operator()(const Frame& frame) const {
    const int64_t width = type == DType::kF64 ? 2 : 4;
    const auto bytes = static_cast<int64_t>(BytesOf(type));
    char* to = frame.at[out] + offset;
    ParallelFor((count + width - 1) / width, 16 * 1024, [&](int64_t begin, int64_t end) {
      for (int64_t block = begin; block < end; ++block) {
        double values[4];
        Fractions(static_cast<uint64_t>(block), values);
        for (int64_t i = 0; distribution == Distribution::kNormal && i < width; i += 2)
          MakeNormal(values + i);
        const int64_t n = std::min(width, count - block * width);
        tensor::Convert(type, to + block * width * bytes, DType::kF64, values, n);
      }
    });
  }
};

}  // namespace

Philox::Words Philox::operator[](uint64_t block) const {
  const uint64_t low = low_ + block, high = high_ + (low < block ? 1 : 0);
  Words x = {static_cast<uint32_t>(low), static_cast<uint32_t>(low >> 32), static_cast<uint32_t>(high),
             static_cast<uint32_t>(high >> 32)};
  auto k0 = static_cast<uint32_t>(key_), k1 = static_cast<uint32_t>(key_ >> 32);
  for (int round = 0; round < kRounds; ++round) {
    const uint64_t a = uint64_t{0xD2511F53} * x[0], b = uint64_t{0xCD9E8D57} * x[2];
    x = {static_cast<uint32_t>(b >> 32) ^ x[1] ^ k0, static_cast<uint32_t>(b),
         static_cast<uint32_t>(a >> 32) ^ x[3] ^ k1, static_cast<uint32_t>(a)};
    k0 += 0x9E3779B9;
    k1 += 0xBB67AE85;
  }
  return x;
}

double Philox::Uniform(uint64_t i) const {
  const Words words = (*this)[i / 2];
  const uint64_t both = uint64_t{words[i % 2 * 2 + 1]} << 32 | words[i % 2 * 2];
  return std::ldexp(static_cast<double>(both >> 11), -53);
}

void PlanPhilox(Plan& plan, Distribution distribution, const Philox& source, const Operand& out) {
  if (out.tensor->empty()) return;
  plan.SetCost(100 + static_cast<uint64_t>(out.tensor->count()) * 10);
  plan.SetBody(
      PhiloxBody{source, distribution, out.dtype(), out.tensor->count(), OffsetOf(*out.tensor), out.binding});
}

}  // namespace belay::ops
