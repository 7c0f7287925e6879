// Matrix products: Mm, BatchMatMul and Matmul are one kernel. Operands in a type or a layout that
// the backend does not take are first converted into the workspace; products are f32 (or bf16 where
// the processor has it) with f32 accumulation.
#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "ops/kernels.h"
#include "ops/loop_nest.h"
#include "ops/matmul/gemm.h"
#include "ops/matmul/gemv.h"
#include "ops/matmul/general_product.h"
#include "ops/matmul/matrix_view.h"
#include "ops/matmul/panels.h"
#include "ops/matmul/tiny_loops.h"
#include "ops/pipeline.h"
#include "tensor/codes.h"

namespace belay::ops {
namespace {

constexpr int64_t kFloat = sizeof(float);

// How the backend sees a matrix: packed rows, or packed columns (transposed).
struct Layout {
  bool usable;
  bool transposed;
  int64_t ld;
};

Layout LayoutOf(const MatrixView& v) {
  bool rows_packed = (v.column_stride == 1 || v.columns == 1) && (v.row_stride >= v.columns || v.rows == 1);
  if (rows_packed) return {true, false, v.rows == 1 ? v.columns : v.row_stride};
  bool columns_packed = (v.row_stride == 1 || v.rows == 1) && (v.column_stride >= v.rows || v.columns == 1);
  if (columns_packed) return {true, true, v.columns == 1 ? v.rows : v.column_stride};
  return {false, false, v.columns};
}

// One operand: where the backend finds it, and how it gets there.
struct Side {
  int binding;
  Layout layout;
  int64_t offset;                           // bytes from the binding, or into the workspace
  int64_t batch_strides[tensor::kMaxRank];  // bytes, innermost first; 0 where it repeats
  bool converted;                           // lies in the workspace
  LoopNest nest;                            // for the conversion: result, source
  Lane lane;

  char* Base(const Frame& frame) const { return (converted ? frame.workspace : frame.at[binding]) + offset; }
};

struct MatmulBody {
  Side a, b, c;
  int64_t m, n, k;
  int batch_rank;
  int64_t batch_sizes[tensor::kMaxRank];  // innermost first
  int64_t batches;
  int64_t row_parts, column_parts;
  int64_t in_size, out_size;
  int64_t b_size;        // of an element of b
  PanelFunction panels;  // null: b is as `in` says
  PanelType narrow;      // what panels take of b
  GemmType in, out;
  const GemmBackend* backend;
  int64_t grain;  // parts that are worth a core
  TinyLoop tiny;  // null: not tiny
  TinyProduct tiny_shape;

  void operator()(const Frame& frame) const {
    if (a.converted) LoadSide(a, frame);
    if (b.converted) LoadSide(b, frame);
    char *pa = a.Base(frame), *pb = b.Base(frame), *pc = c.Base(frame);
    int64_t parts = batches * row_parts * column_parts;
    if (tiny != nullptr) {
      ParallelFor(batches, grain, [&](int64_t begin, int64_t end) { RunTiny(begin, end, pa, pb, pc); });
      if (c.converted) StoreResult(frame);
      return;
    }
    ParallelFor(parts, grain, [&](int64_t begin, int64_t end) {
      for (int64_t part = begin; part < end; ++part) RunPart(part, pa, pb, pc);
    });
    if (c.converted) StoreResult(frame);
  }

  static void LoadSide(const Side& side, const Frame& frame) {
    char* base[2] = {side.Base(frame), frame.at[side.binding] + side.nest.offset(1)};
    side.nest.WalkAll(
        base,
        [&side](char** at, int64_t n) {
          for (int64_t i = 0; i < n; i += kBlock) {
            int64_t count = std::min(kBlock, n - i);
            char* to = at[0] + i * kFloat;
            const void* block = side.lane.Load(to, at[1] + i * side.nest.step(1), count);
            if (block != to) std::memcpy(to, block, static_cast<size_t>(count * kFloat));
          }
        },
        [] {});
  }

  void StoreResult(const Frame& frame) const {
    char* base[2] = {frame.at[c.binding] + c.nest.offset(0), c.Base(frame)};
    c.nest.WalkAll(
        base,
        [this](char** at, int64_t n) {
          alignas(64) float gathered[kBlock];
          for (int64_t i = 0; i < n; i += kBlock) {
            int64_t count = std::min(kBlock, n - i);
            const char* from = at[1] + i * c.nest.step(1);
            if (c.nest.step(1) != kFloat) {
              tensor::Gather(gathered, from, c.nest.step(1), count, kFloat);
              from = reinterpret_cast<const char*>(gathered);
            }
            c.lane.Store(at[0] + i * c.nest.step(0), from, count, false);
          }
        },
        [] {});
  }

  // One row times a matrix, which goes by once: our own loops are as fast, and sum every column in one order.
  static bool IsVector(const Gemm& g) {
    return g.m == 1 && g.in == GemmType::kF32 && g.out == GemmType::kF32 && (!g.a.transposed || g.a.ld == 1);
  }

  static void RunVector(const Gemm& g) {
    const auto *a = static_cast<const float*>(g.a.data), *b = static_cast<const float*>(g.b.data);
    auto* c = static_cast<float*>(g.c);
    if (g.b.transposed) return BestGemv()(b, g.b.ld, a, g.k, g.n, c);
    BestTransposedGemv()(b, g.b.ld, a, g.n, g.k, c);
  }

  void RunPanels(const Gemm& g) const {
    const auto* weights = static_cast<const char*>(g.b.data);
    panels({.m = g.m,
            .n = g.n,
            .k = g.k,
            .a = g.a.data,
            .lda = g.a.ld,
            .b = {weights, g.b.ld * b_size, PanelMatrix::kTile, g.b.transposed, narrow},
            .c = g.c,
            .ldc = g.ldc,
            .a_floats = true});
  }

  // Batches of tiny products: one after the other, without a division for each.
  void RunTiny(int64_t begin, int64_t end, const char* pa, const char* pb, char* pc) const {
    int64_t index[tensor::kMaxRank];
    for (int64_t d = 0, rest = begin; d < batch_rank; ++d) {
      index[d] = rest % batch_sizes[d];
      rest /= batch_sizes[d];
      pa += index[d] * a.batch_strides[d], pb += index[d] * b.batch_strides[d];
      pc += index[d] * c.batch_strides[d];
    }
    for (int64_t batch = begin; batch < end; ++batch) {
      tiny(tiny_shape, reinterpret_cast<const float*>(pa), reinterpret_cast<const float*>(pb),
           reinterpret_cast<float*>(pc));
      for (int d = 0; d < batch_rank; ++d) {
        pa += a.batch_strides[d], pb += b.batch_strides[d], pc += c.batch_strides[d];
        if (++index[d] < batch_sizes[d]) break;
        index[d] = 0;
        pa -= batch_sizes[d] * a.batch_strides[d], pb -= batch_sizes[d] * b.batch_strides[d];
        pc -= batch_sizes[d] * c.batch_strides[d];
      }
    }
  }

  // One block of the result of one batch.
  void RunPart(int64_t part, const char* pa, const char* pb, char* pc) const {
    int64_t column_part = part % column_parts;
    int64_t row_part = part / column_parts % row_parts;
    int64_t batch = part / column_parts / row_parts;
    for (int d = 0; d < batch_rank; ++d) {
      int64_t index = batch % batch_sizes[d];
      batch /= batch_sizes[d];
      pa += index * a.batch_strides[d];
      pb += index * b.batch_strides[d];
      pc += index * c.batch_strides[d];
    }
    int64_t row0 = m * row_part / row_parts, row1 = m * (row_part + 1) / row_parts;
    int64_t col0 = n * column_part / column_parts, col1 = n * (column_part + 1) / column_parts;
    pa += row0 * (a.layout.transposed ? 1 : a.layout.ld) * in_size;
    pb += col0 * (b.layout.transposed ? b.layout.ld : 1) * b_size;
    pc += (row0 * c.layout.ld + col0) * out_size;
    Gemm gemm{row1 - row0,
              col1 - col0,
              k,
              {pa, a.layout.ld, a.layout.transposed},
              {pb, b.layout.ld, b.layout.transposed},
              pc,
              c.layout.ld,
              in,
              out};
    if (panels != nullptr) return RunPanels(gemm);
    if (IsVector(gemm)) return RunVector(gemm);
    if (!backend->run(gemm)) {
      Fail(tensor::kRuntimeFailure, "matmul-backend", "{} refused a product of {} x {} x {}", backend->name,
           gemm.m, gemm.k, gemm.n);
    }
  }
};

// A packed stand-in for `view` in the workspace with the same batches, in the order of
// `transposed`.
Tensor Packed(const Tensor& t, const MatrixView& view, bool transposed) {
  Tensor packed;
  packed.dtype = DType::kF32;
  packed.shape = t.shape;
  packed.strides = PackedStrides(t.shape);
  if (transposed && t.shape.rank() >= 2) {
    packed.strides.back(0) = view.rows;
    packed.strides.back(1) = 1;
  }
  return packed;
}

// What is being put together: the body, and where the workspace's next free byte is.
struct Builder {
  MatmulBody body;
  int64_t workspace = 0;

  int64_t Reserve(int64_t elements) {
    int64_t at = workspace;
    workspace += WorkspacePart(elements * kFloat);
    return at;
  }

  void SetBatches(Side& side, const MatrixView& view, int64_t size) {
    for (int d = 0; d < body.batch_rank; ++d) {
      bool repeats = d >= view.batch.rank() || view.batch.back(d) == 1;
      side.batch_strides[d] = repeats ? 0 : view.batch_strides.back(d) * size;
    }
  }

  void SetInput(Side& side, const Operand& operand, VectorIs vector, DType rounded, bool convert) {
    const Tensor& t = *operand.tensor;
    MatrixView view = ViewOf(t, vector);
    side.binding = operand.binding;
    side.layout = LayoutOf(view);
    side.converted = convert || !side.layout.usable;
    if (!side.converted) {
      const auto size = static_cast<int64_t>(BytesOf(t.dtype));
      side.offset = t.offset * size;
      return SetBatches(side, view, size);
    }
    Tensor packed = Packed(t, view, side.layout.transposed);
    side.nest = LoopNest(t.shape, {Operand{&packed}, operand});
    side.lane = Lane(t.dtype, rounded, side.nest.step(1));
    side.offset = Reserve(t.count());
    MatrixView in_workspace = ViewOf(packed, vector);
    side.layout = LayoutOf(in_workspace);
    SetBatches(side, in_workspace, kFloat);
  }

  void SetResult(const Operand& out, bool row_missing, bool column_missing, bool convert) {
    Side& side = body.c;
    const Tensor& t = *out.tensor;
    MatrixView view = ResultView(t, row_missing, column_missing);
    side.binding = out.binding;
    side.layout = LayoutOf(view);
    side.converted = convert || !side.layout.usable || side.layout.transposed;
    if (!side.converted) {
      side.offset = t.offset * body.out_size;
      return SetBatches(side, view, body.out_size);
    }
    Tensor packed = Packed(t, view, false);
    side.nest = LoopNest(t.shape, {out, Operand{&packed}});
    side.lane = Lane(t.dtype, DType::kF32, side.nest.step(0));
    side.offset = Reserve(t.count());
    MatrixView in_workspace = ResultView(packed, row_missing, column_missing);
    side.layout = LayoutOf(in_workspace);
    SetBatches(side, in_workspace, kFloat);
  }

  // Batches of a over one matrix b are one taller product.
  void FoldBatches() {
    while (body.batch_rank > 0 && body.b.batch_strides[0] == 0 && !body.a.layout.transposed &&
           body.a.batch_strides[0] == body.m * body.a.layout.ld * body.in_size &&
           body.c.batch_strides[0] == body.m * body.c.layout.ld * body.out_size) {
      body.m *= body.batch_sizes[0];
      body.batches /= body.batch_sizes[0];
      --body.batch_rank;
      for (int d = 0; d < body.batch_rank; ++d) {
        body.batch_sizes[d] = body.batch_sizes[d + 1];
        for (Side* side : {&body.a, &body.b, &body.c}) {
          side->batch_strides[d] = side->batch_strides[d + 1];
        }
      }
    }
  }

  // Parts of equal work for as many cores as it is worth.
  void Split() {
    constexpr double kWorthACore = 2e6;        // about 10 us
    constexpr double kVectorWorthACore = 2e5;  // its speed is that of the memory
    constexpr int64_t kLeast = 32;             // rows or columns of a part
    const double work = 2.0 * static_cast<double>(body.m) * static_cast<double>(body.n) *
                        static_cast<double>(body.k) * static_cast<double>(body.batches);
    const double worth = std::max(1.0, work / (body.m == 1 ? kVectorWorthACore : kWorthACore));
    const int width = ParallelWidth();
    const auto cores = static_cast<int64_t>(std::min<double>(width, worth));
    body.row_parts = body.column_parts = 1;
    body.grain = cores == width && cores > 1 ? 1 : (body.batches + cores - 1) / cores;
    if (body.batches >= cores) return;
    const int64_t parts = (cores + body.batches - 1) / body.batches;
    if (body.m >= body.n) {
      body.row_parts = std::clamp<int64_t>(body.m / kLeast, 1, parts);
    } else {
      body.column_parts = std::clamp<int64_t>(body.n / kLeast, 1, parts);
    }
  }
};

// Takes the loops of tiny products where the whole is some. Vectors have loops of their own.
void ChooseTiny(MatmulBody& body) {
  const Layout &a = body.a.layout, &b = body.b.layout;
  body.tiny_shape = {body.m,
                     body.n,
                     body.k,
                     a.transposed ? 1 : a.ld,
                     a.transposed ? a.ld : 1,
                     b.transposed ? 1 : b.ld,
                     b.transposed ? b.ld : 1,
                     body.c.layout.ld};
  const bool floats = body.in == GemmType::kF32 && body.out == GemmType::kF32 && body.panels == nullptr;
  const bool whole = body.row_parts * body.column_parts == 1 && (body.m > 1 || body.batches > 1);
  body.tiny = floats && whole && body.tiny_shape.IsTiny() ? BestTinyLoop() : nullptr;
}

bool IsBFloat16(const Operand& operand, VectorIs vector) {
  return operand.dtype() == DType::kBF16 && LayoutOf(ViewOf(*operand.tensor, vector)).usable;
}

// Where the backend takes floats, panels are made of shorter ones as they lie: nothing as large as the matrix
// is written. Not of what its conversion would round, nor where the backend adds in pieces.
void ChoosePanels(MatmulBody& body, const MatrixView& a, const Operand& mat2, DType rounded) {
  constexpr int64_t kLeast = 4096, kDeep = 16 * 1024;
  body.b_size = body.in_size, body.panels = nullptr;
  const bool is_short = mat2.dtype() == DType::kBF16 || mat2.dtype() == DType::kF16;
  const bool exact = rounded == mat2.dtype() || rounded == DType::kF32;
  if (body.in != GemmType::kF32 || !is_short || !exact || LayoutOf(a).transposed) return;
  if (!LayoutOf(ViewOf(*mat2.tensor, VectorIs::kColumn)).usable || body.n < 8) return;
  if (body.k * body.n < kLeast || body.k > kDeep) return;
  body.panels = FloatPanels256(), body.b_size = body.panels == nullptr ? body.b_size : 2;
  body.narrow = mat2.dtype() == DType::kBF16 ? PanelType::kBFloat16 : PanelType::kFloat16;
}

void CheckMathType(int64_t type) {
  constexpr int64_t kUseHf32 = 3;
  if (type < 0 || type > kUseHf32) {
    Fail(tensor::kInvalidArgument, "op-cube-math-type", "cubeMathType is {}; it is 0, 1, 2 or 3", type);
  }
}

}  // namespace

namespace kernels {

void Matmul(Plan& plan, DType compute, const Operand& self, const Operand& mat2, int64_t math_type,
            const Operand& out) {
  constexpr int64_t kUseFp16 = 2;
  CheckMathType(math_type);
  if (IsGeneralProduct(self.dtype()) || IsGeneralProduct(mat2.dtype()))
    return PlanGeneralProduct(plan, {{}, self, mat2, out, nullptr, nullptr});
  if (out.tensor->empty()) return;
  MatrixView view_a = ViewOf(*self.tensor, VectorIs::kRow);
  if (view_a.columns == 0) {
    int64_t zero = 0;
    return Fill(plan, compute, Scalar(&zero, DType::kI64), out);
  }
  bool row_missing = self.tensor->shape.rank() == 1;
  bool column_missing = mat2.tensor->shape.rank() == 1;
  MatrixView view_c = ResultView(*out.tensor, row_missing, column_missing);
  Builder builder;
  MatmulBody& body = builder.body;
  body.backend = &BestGemm();
  body.m = view_c.rows, body.n = view_c.columns, body.k = view_a.columns;
  body.batch_rank = view_c.batch.rank();
  body.batches = CountOf(view_c.batch);
  for (int d = 0; d < body.batch_rank; ++d) body.batch_sizes[d] = view_c.batch.back(d);

  Layout layout_c = LayoutOf(view_c);
  bool bf16 = body.backend->bf16 && IsBFloat16(self, VectorIs::kRow) && IsBFloat16(mat2, VectorIs::kColumn) &&
              layout_c.usable && !layout_c.transposed;
  body.in = bf16 ? GemmType::kBF16 : GemmType::kF32;
  body.out = bf16 && out.dtype() == DType::kBF16 ? GemmType::kBF16 : GemmType::kF32;
  body.in_size = bf16 ? 2 : kFloat;
  body.out_size = body.out == GemmType::kBF16 ? 2 : kFloat;
  // f32 inputs are first rounded to f16 when the caller says so, and inputs of two types to their
  // common one.
  DType rounded = compute == DType::kF32 && math_type == kUseFp16 ? DType::kF16 : compute;
  auto must_convert = [&](const Operand& x) {
    return !bf16 && (x.dtype() != DType::kF32 || rounded != DType::kF32);
  };
  builder.SetInput(body.a, self, VectorIs::kRow, rounded, must_convert(self));
  ChoosePanels(body, view_a, mat2, rounded);
  builder.SetInput(body.b, mat2, VectorIs::kColumn, rounded, body.panels == nullptr && must_convert(mat2));
  builder.SetResult(out, row_missing, column_missing, !bf16 && out.dtype() != DType::kF32);
  plan.SetProducts(out.tensor->count() * body.k);
  builder.FoldBatches();
  builder.Split();
  ChooseTiny(body);
  plan.SetWorkspace(static_cast<uint64_t>(builder.workspace));
  plan.SetCost(1000 + static_cast<uint64_t>(body.m * body.n) / 8 * static_cast<uint64_t>(body.k) / 8);
  plan.SetBody(body);
}

}  // namespace kernels
}  // namespace belay::ops
