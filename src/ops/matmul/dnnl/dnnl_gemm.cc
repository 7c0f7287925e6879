// libbelay_dnnl.so: oneDNN behind a few functions. It computes on the calling thread only: Belay
// splits large products over its own workers. (libgomp would make a team of threads for each of
// them, burn their time after every call, and hang in a forked child.)
#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <new>
#include <oneapi/dnnl/dnnl.hpp>
#include <tuple>

#include "ops/matmul/dnnl/single_threaded.h"
#include "ops/matmul/gemm.h"
#include "ops/matmul/integer.h"

namespace {

using belay::ops::Done;
using belay::ops::Gemm;
using belay::ops::GemmMatrix;
using belay::ops::GemmType;
using belay::ops::IntegerGemm;
using belay::ops::SingleThreaded;
using dnnl::memory;

memory::data_type TypeOf(GemmType type) {
  return type == GemmType::kF32 ? memory::data_type::f32 : memory::data_type::bf16;
}

memory::desc Describe(int64_t rows, int64_t columns, GemmType type, int64_t ld, bool transposed) {
  memory::dims strides = transposed ? memory::dims{1, ld} : memory::dims{ld, 1};
  return memory::desc({rows, columns}, TypeOf(type), strides);
}

dnnl::matmul::primitive_desc DescribeGemm(const Gemm& g, const dnnl::engine& engine) {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  dnnl::matmul::desc desc(Describe(g.m, g.k, g.in, g.a.ld, g.a.transposed),
                          Describe(g.k, g.n, g.in, g.b.ld, g.b.transposed),
                          Describe(g.m, g.n, g.out, g.ldc, false));
  return dnnl::matmul::primitive_desc(desc, attributes, engine);
}

// What one thread keeps: its stream, and the primitives that it used last.
struct PerThread {
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};
  struct Ready {
    dnnl::matmul primitive;
    memory::desc a, b, c, scratch;
    std::unique_ptr<memory> scratchpad;
  };
  using Key = std::tuple<int64_t, int64_t, int64_t, int64_t, bool, int64_t, bool, int64_t, int, int>;
  std::map<Key, Ready> ready;

  Ready& Find(const Gemm& g) {
    constexpr size_t kMost = 256;
    Key key{g.m,
            g.n,
            g.k,
            g.a.ld,
            g.a.transposed,
            g.b.ld,
            g.b.transposed,
            g.ldc,
            static_cast<int>(g.in),
            static_cast<int>(g.out)};
    auto found = ready.find(key);
    if (found != ready.end()) return found->second;
    if (ready.size() >= kMost) ready.clear();
    belay::ops::RequireRoom();
    auto pd = DescribeGemm(g, engine);
    Ready made{dnnl::matmul(pd), pd.src_desc(),        pd.weights_desc(),
               pd.dst_desc(),    pd.scratchpad_desc(), nullptr};
    made.scratchpad = std::make_unique<memory>(made.scratch, engine);
    return ready.emplace(key, std::move(made)).first->second;
  }
};

PerThread& ThisThread() { return belay::ops::OfThisThread<PerThread>(); }

// The first product of a form makes the kernels for it: others where a matrix lies transposed or with an
// awkward distance of rows, and where there are few rows, columns or terms.
class Forms {
 public:
  static uint32_t Of(int64_t m, int64_t n, int64_t k, const GemmMatrix& a, const GemmMatrix& b) {
    constexpr int64_t kAwkward = 1024;
    uint32_t form =
        a.transposed * 8u + b.transposed * 4u + (a.ld % kAwkward == 0) * 2u + (b.ld % kAwkward == 0);
    for (int64_t count : {m, n, k}) form = form << kBits | Size(count);
    return form;
  }
  bool Knows(uint32_t form) const {
    return (known_[form / 64].load(std::memory_order_relaxed) >> form % 64 & 1) != 0;
  }
  void Add(uint32_t form) { known_[form / 64].fetch_or(uint64_t{1} << form % 64, std::memory_order_relaxed); }

 private:
  static constexpr int kBits = 4;
  // Few as they are, more by doublings.
  static uint32_t Size(int64_t count) {
    const auto size = static_cast<uint64_t>(count);
    return size < 5 ? static_cast<uint32_t>(size)
                    : std::min<uint32_t>(std::bit_width(size) + 2, (1u << kBits) - 1);
  }
  std::array<std::atomic<uint64_t>, (size_t{16} << 3 * kBits) / 64> known_{};
};

template <class Product>
bool RunWithKernels(Forms& made, uint32_t form, const Product& product) {
  if (made.Knows(form)) [[likely]]
    return Done(product());
  belay::ops::RequireRoomForFirst();
  const bool done = Done(product());
  made.Add(form);
  return done;
}

bool RunAsItLies(const Gemm& g, float kept) {
  static constinit Forms made;
  return RunWithKernels(made, Forms::Of(g.m, g.n, g.k, g.a, g.b), [&] {
    return dnnl_sgemm(g.a.transposed ? 'T' : 'N', g.b.transposed ? 'T' : 'N', g.m, g.n, g.k, 1.0f,
                      static_cast<const float*>(g.a.data), g.a.ld, static_cast<const float*>(g.b.data),
                      g.b.ld, kept, static_cast<float*>(g.c), g.ldc);
  });
}

// Where a matrix has few rows or columns oneDNN reads both as they lie, down their columns. Rows that lie a
// large power of two apart meet in the same lines of the cache then, which halves its speed; blocks of them
// are copied first, with another distance.
class BlockedProduct {
 public:
  static bool Pays(const Gemm& g) {
    constexpr double kReadAsTheyLie = 0.0038;  // oneDNN's own limit
    constexpr int64_t kLeast = 64;
    if (std::min({g.m, g.n, g.k}) < kLeast) return false;
    const double few = 1.0 / static_cast<double>(g.m) + 1.0 / static_cast<double>(g.n);
    return few >= kReadAsTheyLie && (CopiesA(g) || CopiesB(g));
  }

  bool Run(const Gemm& g) {
    const bool copies_a = CopiesA(g), copies_b = CopiesB(g);
    const bool long_rows = copies_b && g.n > kBlock;
    const int64_t high = copies_a ? kBlock : g.m, wide = copies_b ? (long_rows ? kWide : kBlock) : g.n,
                  deep = long_rows ? kFlat : kBlock;
    for (int64_t k = 0; k < g.k; k += deep) {
      const int64_t depth = std::min(deep, g.k - k);
      for (int64_t j = 0; j < g.n; j += wide) {
        const int64_t n = std::min(wide, g.n - j);
        const GemmMatrix b =
            copies_b ? Copied(g.b, k, j, depth, n, wide + kBeside, b_) : PartOf(g.b, g.in, k, j);
        for (int64_t i = 0; i < g.m; i += high) {
          const int64_t m = std::min(high, g.m - i);
          const GemmMatrix a =
              copies_a ? Copied(g.a, k, i, depth, m, kBlock + kBeside, a_) : PartOf(g.a, g.in, i, k);
          float* c = static_cast<float*>(g.c) + i * g.ldc + j;
          if (!RunAsItLies({m, n, depth, a, b, c, g.ldc, g.in, g.out}, k == 0 ? 0.0f : 1.0f)) return false;
        }
      }
    }
    return true;
  }

 private:
  // Long rows are read on as long as they go, and so fewer of them.
  static constexpr int64_t kBlock = 256, kWide = 1024, kFlat = 128, kBeside = 16;

  static bool IsAwkward(const GemmMatrix& matrix) {
    constexpr int64_t kMeet = 256, kLeast = 512;  // elements
    return matrix.ld >= kLeast && matrix.ld % kMeet == 0;
  }
  static bool CopiesA(const Gemm& g) { return g.a.transposed && g.m >= kBlock && IsAwkward(g.a); }
  static bool CopiesB(const Gemm& g) { return !g.b.transposed && IsAwkward(g.b); }

  // The elements that lie at [line, line + lines) x [at, at + n).
  static GemmMatrix Copied(const GemmMatrix& matrix, int64_t line, int64_t at, int64_t lines, int64_t n,
                           int64_t apart, float* to) {
    const float* from = static_cast<const float*>(matrix.data) + line * matrix.ld + at;
    for (int64_t i = 0; i < lines; ++i)
      std::memcpy(to + i * apart, from + i * matrix.ld, static_cast<size_t>(n) * sizeof(float));
    return {to, apart, matrix.transposed};
  }

  float a_[kBlock * (kBlock + kBeside)], b_[kFlat * (kWide + kBeside)];
  static_assert(sizeof(b_) >= sizeof(a_));
};

bool RunF32(const Gemm& g) {
  if (BlockedProduct::Pays(g)) return belay::ops::OfThisThread<BlockedProduct>().Run(g);
  return RunAsItLies(g, 0.0f);
}

bool RunPrimitive(const Gemm& g) {
  PerThread& mine = ThisThread();
  PerThread::Ready& ready = mine.Find(g);
  memory a(ready.a, mine.engine, const_cast<void*>(g.a.data));
  memory b(ready.b, mine.engine, const_cast<void*>(g.b.data));
  memory c(ready.c, mine.engine, g.c);
  ready.primitive.execute(mine.stream, {{DNNL_ARG_SRC, a},
                                        {DNNL_ARG_WEIGHTS, b},
                                        {DNNL_ARG_DST, c},
                                        {DNNL_ARG_SCRATCHPAD, *ready.scratchpad}});
  return true;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) bool belay_dnnl_gemm(const Gemm& gemm) {
  SingleThreaded scope;
  try {
    return gemm.in == GemmType::kF32 && gemm.out == GemmType::kF32 ? RunF32(gemm) : RunPrimitive(gemm);
  } catch (const dnnl::error& error) {
    return Done(error.status);
  }
}

extern "C" __attribute__((visibility("default"))) bool belay_dnnl_integer_gemm(const IntegerGemm& g) {
  SingleThreaded scope;
  static constinit Forms made;
  return RunWithKernels(made, Forms::Of(g.m, g.n, g.k, {nullptr, g.lda, false}, {nullptr, g.ldb, false}),
                        [&] {
                          const int32_t nothing = 0;  // is added to every sum
                          return dnnl_gemm_u8s8s32('N', 'N', 'F', g.m, g.n, g.k, 1.0f, g.a, g.lda, g.a_zero,
                                                   g.b, g.ldb, g.b_zero, 0.0f, g.c, g.ldc, &nothing);
                        });
}

extern "C" __attribute__((visibility("default"))) bool belay_dnnl_has_bf16() {
  SingleThreaded scope;
  belay::ops::RequireRoomForFirst();
  try {
    dnnl::engine engine(dnnl::engine::kind::cpu, 0);
    Gemm probe{
        16, 16, 16, {nullptr, 16, false}, {nullptr, 16, false}, nullptr, 16, GemmType::kBF16, GemmType::kF32};
    auto pd = DescribeGemm(probe, engine);
    // Its reference implementation takes every type but is slower than converting to f32.
    return std::strstr(pd.impl_info_str(), "ref") == nullptr;
  } catch (const dnnl::error&) {
    return false;
  }
}
