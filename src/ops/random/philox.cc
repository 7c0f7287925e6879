#include "ops/random/philox.h"

#include <cmath>

namespace belay::ops {

std::array<uint32_t, 2 * Philox::kRounds> Philox::Keys() const {
  std::array<uint32_t, 2 * kRounds> keys;
  auto k0 = static_cast<uint32_t>(key_), k1 = static_cast<uint32_t>(key_ >> 32);
  for (size_t round = 0; round < kRounds; ++round, k0 += 0x9E3779B9, k1 += 0xBB67AE85)
    keys[2 * round] = k0, keys[2 * round + 1] = k1;
  return keys;
}

Philox::Words Philox::operator[](uint64_t block) const {
  const uint64_t low = low_ + block, high = high_ + (low < block ? 1 : 0);
  Words x = {static_cast<uint32_t>(low), static_cast<uint32_t>(low >> 32), static_cast<uint32_t>(high),
             static_cast<uint32_t>(high >> 32)};
  const std::array<uint32_t, 2 * kRounds> keys = Keys();
  for (size_t round = 0; round < kRounds; ++round) {
    const uint64_t a = uint64_t{kFactors[0]} * x[0], b = uint64_t{kFactors[1]} * x[2];
    x = {static_cast<uint32_t>(b >> 32) ^ x[1] ^ keys[2 * round], static_cast<uint32_t>(b),
         static_cast<uint32_t>(a >> 32) ^ x[3] ^ keys[2 * round + 1], static_cast<uint32_t>(a)};
  }
  return x;
}

double Philox::Uniform(uint64_t i) const {
  const Words words = (*this)[i / 2];
  const uint64_t both = uint64_t{words[i % 2 * 2 + 1]} << 32 | words[i % 2 * 2];
  return std::ldexp(static_cast<double>(both >> 11), -53);
}

}  // namespace belay::ops
