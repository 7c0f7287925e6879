#include <algorithm>
#include <vector>

#include "ops/matmul/gemm.h"
#include "ops/matmul/onednn_library.h"
#include "tensor/convert.h"

namespace belay::ops {
namespace {

using tensor::DType;

const GemmBackend& Backend() {
  static const GemmBackend backend = [] {
    auto run = reinterpret_cast<GemmFunction>(OneDnnSymbol("belay_dnnl_gemm"));
    auto bf16 = reinterpret_cast<bool (*)()>(OneDnnSymbol("belay_dnnl_has_bf16"));
    return run == nullptr || bf16 == nullptr ? PlainGemm() : GemmBackend{run, bf16(), "oneDNN"};
  }();
  return backend;
}

// A backend adds up in f32 and in an order of its own. So many products that this would show are added in
// pieces, whose sums are added in f64; a tile of the result at a time.
class DeepGemm {
 public:
  static constexpr int64_t kDeep = 64 * 1024;

  explicit DeepGemm(const Gemm& gemm)
      : g_(gemm), wide_(std::min(g_.n, kTile)), high_(std::clamp<int64_t>(kTile / wide_, 1, g_.m)) {
    sums_.resize(static_cast<size_t>(high_ * wide_));
    totals_.resize(sums_.size());
  }

  bool Run() {
    for (int64_t i = 0; i < g_.m; i += high_) {
      for (int64_t j = 0; j < g_.n; j += wide_) {
        if (!Tile(i, std::min(high_, g_.m - i), j, std::min(wide_, g_.n - j))) return false;
      }
    }
    return true;
  }

 private:
  static constexpr int64_t kTile = 512 * 512, kPiece = 16 * 1024;

  bool Tile(int64_t i, int64_t m, int64_t j, int64_t n) {
    const auto count = static_cast<size_t>(m * n);
    std::fill_n(totals_.begin(), count, 0.0);
    for (int64_t k = 0; k < g_.k; k += kPiece) {
      const Gemm piece{m,
                       n,
                       std::min(kPiece, g_.k - k),
                       PartOf(g_.a, g_.in, i, k),
                       PartOf(g_.b, g_.in, k, j),
                       sums_.data(),
                       n,
                       g_.in,
                       GemmType::kF32};
      if (!Backend().run(piece)) return false;
      for (size_t e = 0; e < count; ++e) totals_[e] += static_cast<double>(sums_[e]);
    }
    const DType type = g_.out == GemmType::kF32 ? DType::kF32 : DType::kBF16;
    const auto size = static_cast<int64_t>(tensor::BytesOf(type));
    for (int64_t r = 0; r < m; ++r) {
      tensor::Convert(type, static_cast<char*>(g_.c) + ((i + r) * g_.ldc + j) * size, DType::kF64,
                      totals_.data() + r * n, n);
    }
    return true;
  }

  const Gemm& g_;
  const int64_t wide_, high_;
  std::vector<float> sums_;
  std::vector<double> totals_;
};

bool RunBest(const Gemm& gemm) {
  if (gemm.k <= DeepGemm::kDeep || gemm.m == 0 || gemm.n == 0) [[likely]]
    return Backend().run(gemm);
  return DeepGemm(gemm).Run();
}

}  // namespace

const GemmBackend& BestGemm() {
  static const GemmBackend best{&RunBest, Backend().bf16, Backend().name};
  return best;
}

}  // namespace belay::ops
