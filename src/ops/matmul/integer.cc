#include "ops/matmul/integer.h"

#include <algorithm>
#include <vector>

#include "base/parallel.h"
#include "ops/matmul/onednn_library.h"
#include "ops/matmul/panels.h"

namespace belay::ops {
namespace {

// Null: there is none, or the processor would not sum exactly.
IntegerGemmFunction Library() {
  static const IntegerGemmFunction library =
      SumsBytesExactly() ? reinterpret_cast<IntegerGemmFunction>(OneDnnSymbol("belay_dnnl_integer_gemm"))
                         : nullptr;
  return library;
}

// Sums of a few products in long rows: the library takes longer to bring the rows into its order than they
// do.
bool AreShortSums(const IntegerGemm& g) {
  constexpr int64_t kFew = 16, kLong = 64;
  return g.k <= (g.m < 4 ? kFew / 2 : kFew) && g.n >= std::max(2 * g.m, kLong);
}

bool RunBestOfBytes(const IntegerGemm& g) {
  if (g.b_zero == 0 && g.k != 0 && BestBytePanels() != nullptr && !AreShortSums(g)) {
    BestBytePanels()(
        {g.m,
         g.n,
         g.k,
         g.a,
         g.lda,
         {reinterpret_cast<const char*>(g.b), g.ldb, PanelMatrix::kTile, false, PanelType::kBytes},
         g.c,
         g.ldc,
         g.a_zero});
    return true;
  }
  return Library() == nullptr || AreShortSums(g) ? PlainIntegerGemm(g) : Library()(g);
}

void RunGemm(const IntegerGemm& gemm) {
  if (!BestIntegerGemm()(gemm)) PlainIntegerGemm(gemm);
}

struct IntegerBody {
  int a, b, a_zero, b_zero, out;
  int64_t m, n, k;
  bool a_signed, b_signed, zero_by_column;

  void operator()(const Frame& frame) const {
    const auto* x = reinterpret_cast<const uint8_t*>(frame.at[a]);
    const auto* y = reinterpret_cast<const uint8_t*>(frame.at[b]);
    auto* room = reinterpret_cast<uint8_t*>(frame.workspace);
    if (a_signed) {
      MoveBytes(x, m * k, room);
      x = room, room += m * k;
    }
    if (!b_signed) {
      MoveBytes(y, k * n, room);
      y = room;
    }
    auto zero = [&](int binding) {
      return binding < 0 ? uint8_t{0} : *reinterpret_cast<const uint8_t*>(frame.at[binding]);
    };
    const uint8_t zero_a = a_signed ? Moved(zero(a_zero)) : zero(a_zero);
    const uint8_t shift = b_signed ? 0 : 0x80;  // of the bytes of b
    const auto zero_b = static_cast<int8_t>((zero_by_column ? 0 : zero(b_zero)) ^ shift);
    auto* sums = reinterpret_cast<int32_t*>(frame.at[out]);
    IntegerGemm whole{m, n, k, x, k, zero_a, reinterpret_cast<const int8_t*>(y), n, zero_b, sums, n};
    Split(whole);
    if (zero_by_column) SubtractZeros(frame, whole);
  }

  static IntegerGemm Rows(IntegerGemm part, int64_t begin, int64_t end) {
    part.m = end - begin, part.a += begin * part.lda, part.c += begin * part.ldc;
    return part;
  }

  // By rows, or by columns where there are few rows.
  void Split(const IntegerGemm& whole) const {
    constexpr int64_t kPiece = 256 * 1024;  // products that are worth another core
    const bool by_rows = m >= 32;
    const int64_t each = std::max<int64_t>(1, by_rows ? n * k : m * k);
    ParallelFor(by_rows ? m : n, std::max<int64_t>(16, kPiece / each), [&](int64_t begin, int64_t end) {
      IntegerGemm part = whole;
      if (by_rows) {
        part = Rows(whole, begin, end);
      } else {
        part.n = end - begin, part.b += begin, part.c += begin;
      }
      RunGemm(part);
    });
  }

  void SubtractZeros(const Frame& frame, const IntegerGemm& whole) const {
    const auto* zeros = reinterpret_cast<const uint8_t*>(frame.at[b_zero]);
    constexpr int64_t kPiece = 256 * 1024;  // elements that are worth another core
    ParallelFor(m, std::max<int64_t>(1, kPiece / (n + k)), [&](int64_t begin, int64_t end) {
      SubtractColumnZeros(Rows(whole, begin, end), zeros, b_signed);
    });
  }
};

}  // namespace

bool SumsBytesExactly() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx512vnni");
#else
  return false;
#endif
}

IntegerGemmFunction BestIntegerGemm() { return &RunBestOfBytes; }

void PlanIntegerProduct(Plan& plan, const IntegerProductArgs& args) {
  if (args.out.tensor->empty()) return;
  IntegerBody body{};
  body.a = args.a.binding, body.b = args.b.binding, body.out = args.out.binding;
  body.a_zero = args.a_zero.present() ? args.a_zero.binding : -1;
  body.b_zero = args.b_zero.present() ? args.b_zero.binding : -1;
  body.k = args.b.shape()[0], body.n = args.b.shape()[1];
  body.m = args.out.tensor->count() / body.n;
  body.a_signed = args.a.dtype() == DType::kI8, body.b_signed = args.b.dtype() == DType::kI8;
  body.zero_by_column = args.b_zero.present() && args.b_zero.tensor->count() > 1;
  plan.SetWorkspace(
      static_cast<uint64_t>((body.a_signed ? body.m * body.k : 0) + (body.b_signed ? 0 : body.k * body.n)));
  plan.SetProducts(body.m * body.n * body.k);
  plan.SetCost(500 + static_cast<uint64_t>(body.m * body.n * body.k) / 100);
  plan.SetBody(body);
}

}  // namespace belay::ops
