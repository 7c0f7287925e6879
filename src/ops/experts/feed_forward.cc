// Two products with a function between them, of all rows or of those of each expert. A block of rows goes
// through both before the next, so that what is between them is never there as a whole.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "ops/conv/activation.h"
#include "ops/experts/experts.h"
#include "ops/experts/group_factors.h"
#include "ops/experts/matrix_block.h"
#include "ops/experts/rows.h"
#include "ops/kernels.h"
#include "ops/quant/small_numbers.h"
#include "ops/scratch.h"
#include "tensor/codes.h"

namespace belay::ops {
namespace {

constexpr int64_t kLayerRows = 128, kLayerColumns = 256;
// So many products of two INT8 are summed exactly as floats: 2^10 * 2^7 * 2^7 is 2^24.
constexpr int64_t kExactDepthOfLayer = 1024;
constexpr float kLargestHalf = 65504;
constexpr int64_t kMostInner = 65535, kMostFedExperts = 256;

// One product of one expert.
struct Layer {
  MatrixPlace weight;
  Rows bias;
  int64_t row = 0;  // of the bias
  GroupFactors factors;
};

struct Expert {
  int64_t first, count;  // rows
  Layer layers[2];
};

// A block of rows on its way. The room for weights and the sums is one for both products.
struct LayerRoom {
  float *in, *between, *weights, *products;
  int32_t* sums;
};

struct FeedBody {
  Rows x, out, scale, shift;  // scale, shift: what is between becomes INT8 by them
  std::shared_ptr<const std::vector<Expert>> experts;
  std::vector<std::pair<int64_t, int64_t>> blocks;  // an expert, and the first row
  PieceScratch<float> room;
  Quantised quantised = Quantised::kNo;
  bool in_half = false;  // all that leads from the first sums to INT8 is FLOAT16
  Activation activation;
  int64_t inner = 0;

  static int64_t RoomFor(int64_t width, int64_t inner) {
    return kLayerRows * (width + inner + 2 * kLayerColumns) + kLayerColumns * std::max(width, inner);
  }
  LayerRoom Divide(float* at) const {
    float *between = at + kLayerRows * x.width(), *weights = between + kLayerRows * inner,
          *products = weights + kLayerColumns * std::max(x.width(), inner);
    return {at, between, weights, products,
            reinterpret_cast<int32_t*>(products + kLayerRows * kLayerColumns)};
  }

  void operator()(const Frame& frame) const {
    room.For(frame, [&](int64_t begin, int64_t end, float* mine) {
      for (int64_t i = begin; i < end; ++i) {
        const auto [expert, row] = blocks[static_cast<size_t>(i)];
        Block(frame, expert, row, Divide(mine));
      }
    });
  }

  void Block(const Frame& frame, int64_t index, int64_t row, const LayerRoom& r) const {
    const Expert& expert = (*experts)[static_cast<size_t>(index)];
    const int64_t m = std::min(kLayerRows, expert.first + expert.count - row), width = x.width();
    for (int64_t i = 0; i < m; ++i) {
      const float* from = x.Load(frame, row + i, r.in + i * width);
      if (from != r.in + i * width) std::copy_n(from, width, r.in + i * width);
    }
    Through(frame, expert.layers[0], {r.in, width, false}, m, r,
            [&](float* values, int64_t i, int64_t c, int64_t n) {
              if (in_half) Halve(values, n);
              for (int64_t k = 0; k < n; ++k)
                values[k] = static_cast<float>(Activate(activation, static_cast<double>(values[k])));
              if (in_half) Halve(values, n);
              if (quantised == Quantised::kBytes) ToBytes(frame, index, c, n, values);
              std::copy_n(values, n, r.between + i * inner + c);
            });
    Through(frame, expert.layers[1], {r.between, inner, false}, m, r,
            [&](float* values, int64_t i, int64_t c, int64_t n) { out.Store(frame, row + i, c, n, values); });
  }

  void ToBytes(const Frame& frame, int64_t expert, int64_t c, int64_t n, float* values) const {
    alignas(64) float buffer[kLayerColumns];
    const bool each = scale.width() > 1;
    if (each) {
      const float* by = scale.Load(frame, expert, c, n, buffer);
      if (by != buffer) std::copy_n(by, n, buffer);
    } else {
      std::fill_n(buffer, n, scale.At(frame, expert, 0));
    }
    float plus = shift.At(frame, expert, 0);
    if (in_half) Halve(buffer, n), Halve(&plus, 1);
    for (int64_t k = 0; k < n; ++k) values[k] *= buffer[k];
    if (in_half) Halve(values, n);
    for (int64_t k = 0; k < n; ++k) values[k] += plus;
    if (in_half) Halve(values, n);
    for (int64_t k = 0; k < n; ++k) values[k] = RoundedToByte(values[k]);
  }

  // What is larger than FLOAT16 has becomes its largest: INT8 ends long before, and infinities make NaN.
  static void Halve(float* values, int64_t n) {
    for (int64_t k = 0; k < n; ++k) values[k] = std::clamp(values[k], -kLargestHalf, kLargestHalf);
    RoundToHalf(values, n);
  }

  // take(values, row, column, n) gets each finished piece of a row.
  template <class Take>
  void Through(const Frame& frame, const Layer& layer, const GemmMatrix& a, int64_t m, const LayerRoom& r,
               const Take& take) const {
    const int64_t depth = layer.weight.rows, columns = layer.weight.columns;
    for (int64_t c = 0; c < columns; c += kLayerColumns) {
      const int64_t n = std::min(kLayerColumns, columns - c);
      if (quantised == Quantised::kBytes) {
        Sums(frame, layer, a, m, c, n, r);
      } else {
        const GemmMatrix b = layer.weight.Block(frame, 0, depth, c, n, r.weights);
        if (quantised == Quantised::kWeights) layer.factors.Spread(frame, 0, c, depth, n, b);
        Product({m, n, depth, a, b, r.products, n, GemmType::kF32, GemmType::kF32});
      }
      for (int64_t i = 0; i < m; ++i) {
        float* values = r.products + i * n;
        if (quantised == Quantised::kBytes) {
          layer.factors.Add(frame, c, n, r.sums + i * n);
          layer.factors.Scale(frame, r.sums + i * n, 0, c, n, false, values);
        } else if (layer.bias.present()) {
          alignas(64) float buffer[kLayerColumns];
          const float* bias = layer.bias.Load(frame, layer.row, c, n, buffer);
          for (int64_t k = 0; k < n; ++k) values[k] += bias[k];
        }
        take(values, i, c, n);
      }
    }
  }

  // INT8 times INT8: so much of the depth at once as floats sum exactly.
  void Sums(const Frame& frame, const Layer& layer, const GemmMatrix& a, int64_t m, int64_t c, int64_t n,
            const LayerRoom& r) const {
    std::fill_n(r.sums, m * n, 0);
    for (int64_t k = 0; k < layer.weight.rows; k += kExactDepthOfLayer) {
      const int64_t depth = std::min(kExactDepthOfLayer, layer.weight.rows - k);
      Product({m,
               n,
               depth,
               {static_cast<const float*>(a.data) + k, a.ld, false},
               layer.weight.Block(frame, k, depth, c, n, r.weights),
               r.products,
               n,
               GemmType::kF32,
               GemmType::kF32});
      for (int64_t i = 0; i < m * n; ++i) {
        const auto more = static_cast<uint32_t>(static_cast<int32_t>(r.products[i]));
        r.sums[i] = static_cast<int32_t>(static_cast<uint32_t>(r.sums[i]) + more);
      }
    }
  }

  static void Product(const Gemm& g) {
    if (BestGemm().run(g)) return;
    Fail(tensor::kRuntimeFailure, "matmul-backend", "{} refused a product of {} x {} x {}", BestGemm().name,
         g.m, g.k, g.n);
  }
};

struct LayerArgs {
  const Operand &weight, &bias, &scale, &weight_scale, &weight_shift;
};

struct FeedArgs {
  const Operand& x;
  LayerArgs layers[2];
  std::span<const int64_t> tokens;
  const Operand &scale, &shift;
  std::string_view activation;
  bool ends;
  const Operand& out;
};

class Feed {
 public:
  Feed(Plan& plan, const FeedArgs& a) : plan_(plan), a_(a) {}

  void Make() {
    CheckExpertRank(plan_, a_.x, 2, 8);
    TakeActivation();
    TakeKind();
    const int rank = a_.tokens.empty() ? 2 : 3;
    for (const LayerArgs& l : a_.layers) CheckExpertRank(plan_, l.weight, rank, rank);
    const Shape &one = a_.layers[0].weight.shape(), &two = a_.layers[1].weight.shape();
    count_ = rank == 3 ? one[0] : 1;
    body_.inner = one.back(0);
    CheckExpertShape(plan_, a_.layers[0].weight, Weighted(a_.x.shape().back(0), body_.inner));
    CheckExpertShape(plan_, a_.layers[1].weight, Weighted(body_.inner, two.back(0)));
    Shape wanted = a_.x.shape();
    wanted.back(0) = two.back(0);
    CheckExpertShape(plan_, a_.out, wanted);
    if (std::min(one.back(1), body_.inner) < 1 || std::max(one.back(1), body_.inner) > kMostInner)
      RefuseExperts(plan_, "the weights have 1 to 65535 rows");
    for (const LayerArgs& l : a_.layers) CheckLayer(l);
    TakeScales();
    if (a_.out.tensor->empty()) return;
    body_.x = Rows(a_.x), body_.out = Rows(a_.out);
    TakeExperts();
    const auto blocks = static_cast<int64_t>(body_.blocks.size());
    body_.room = {plan_, blocks, 1, FeedBody::RoomFor(body_.x.width(), body_.inner)};
    const double work =
        static_cast<double>(a_.x.tensor->count() + a_.out.tensor->count()) * static_cast<double>(body_.inner);
    plan_.SetCost(2000 + static_cast<uint64_t>(work / 32));
    plan_.SetBody(body_);
  }

 private:
  void TakeActivation() {
    const std::string_view name = a_.activation;
    if (name == "relu") {
      body_.activation = {ActivationKind::kRelu};
    } else if (name == "gelu") {
      body_.activation = {ActivationKind::kGelu};
    } else if (name == "fastgelu") {
      body_.activation = {ActivationKind::kSwish, 1.702f};
    } else if (name == "silu") {
      body_.activation = {ActivationKind::kSwish, 1.0f};
    } else {
      RefuseExperts(plan_,
                    "activation is relu, gelu, fastgelu or silu; geglu, swiglu and reglu are not there yet");
    }
  }

  void TakeKind() {
    const DType x = a_.x.dtype(), weight = a_.layers[0].weight.dtype();
    const bool bytes = x == DType::kI8 && weight == DType::kI8,
               weights = x != DType::kI8 && weight == DType::kI8;
    body_.quantised = bytes ? Quantised::kBytes : weights ? Quantised::kWeights : Quantised::kNo;
    if (!bytes && !weights && x != weight)
      RefuseExperts(plan_, "x and the weights are of one type, or the weights of INT8");
    if (a_.layers[1].weight.dtype() != weight) RefuseExperts(plan_, "the weights are not of one type");
    if (bytes != (a_.scale.present() || a_.shift.present()))
      RefuseExperts(plan_, "scale and offset are for x of INT8, and only there");
    if (!bytes && a_.out.dtype() != x) RefuseExperts(plan_, "the result has the type of x");
    if (bytes && a_.out.dtype() == DType::kI8) RefuseExperts(plan_, "the result is of floats");
  }

  void CheckLayer(const LayerArgs& l) const {
    const bool bytes = body_.quantised == Quantised::kBytes;
    if (bytes != l.scale.present()) RefuseExperts(plan_, "deqScale1 and 2 are for x of INT8, and only there");
    if ((body_.quantised == Quantised::kWeights) != l.weight_scale.present())
      RefuseExperts(plan_, "antiquantScale1 and 2 are for weights of INT8 and x of floats, and only there");
    if (l.weight_shift.present() && !l.weight_scale.present())
      RefuseExperts(plan_, "antiquantOffset is given without antiquantScale");
    if (l.bias.present() && bytes != (l.bias.dtype() == DType::kI32))
      RefuseExperts(plan_, "the bias is of INT32 for x of INT8, and of floats for others");
    const int64_t n = l.weight.shape().back(0);
    const Shape columns = a_.tokens.empty() ? Shape{n} : Shape{count_, n};
    for (const Operand* o : {&l.bias, &l.scale, &l.weight_scale, &l.weight_shift})
      if (o->present()) CheckExpertShape(plan_, *o, columns);
  }

  Shape Weighted(int64_t rows, int64_t columns) const {
    return a_.tokens.empty() ? Shape{rows, columns} : Shape{count_, rows, columns};
  }

  // One number for each expert, or for each of its columns.
  void TakeScales() {
    if (body_.quantised != Quantised::kBytes) return;
    const DType dequantised = a_.layers[0].scale.dtype();
    body_.in_half =
        a_.out.dtype() == DType::kF16 && (dequantised == DType::kI64 || dequantised == DType::kU64);
    if (!a_.scale.present() || !a_.shift.present()) RefuseExperts(plan_, "x of INT8 needs scale and offset");
    CheckExpertShape(plan_, a_.shift, {count_});
    body_.shift = Rows(a_.shift, true);
    const bool one = a_.scale.shape() == Shape{count_};
    if (!one)
      CheckExpertShape(plan_, a_.scale, a_.tokens.empty() ? Shape{body_.inner} : Shape{count_, body_.inner});
    body_.scale = Rows(a_.scale, one);
  }

  void TakeExperts() {
    if (static_cast<int64_t>(a_.tokens.size()) > kMostFedExperts ||
        (!a_.tokens.empty() && static_cast<int64_t>(a_.tokens.size()) != count_))
      RefuseExperts(plan_, "expertTokens has a number for each of at most 256 experts");
    auto experts = std::make_shared<std::vector<Expert>>();
    const int64_t rows = body_.x.count();
    int64_t first = 0;
    for (int64_t i = 0; i < count_; ++i) {
      int64_t count = a_.tokens.empty() ? rows : a_.tokens[static_cast<size_t>(i)];
      if (a_.ends && !a_.tokens.empty()) count -= first;
      if (count < 0 || count > rows - first)
        RefuseExperts(plan_, "expertTokens falls, or has more rows than x");
      experts->push_back({first, count, {LayerOf(a_.layers[0], i), LayerOf(a_.layers[1], i)}});
      for (int64_t at = 0; at < count; at += kLayerRows) body_.blocks.push_back({i, first + at});
      first += count;
    }
    if (first != rows) RefuseExperts(plan_, "expertTokens does not add up to the rows of x");
    body_.experts = experts;
  }

  static Layer LayerOf(const LayerArgs& a, int64_t i) {
    Layer layer;
    layer.weight = MatrixPlace(a.weight, i);
    layer.row = i;
    GroupFactors& f = layer.factors;
    f.row = i, f.depth = std::max<int64_t>(layer.weight.rows, 1);
    if (a.bias.present() && a.bias.dtype() == DType::kI32) f.bias = WholeRow(a.bias, i);
    if (a.bias.present() && a.bias.dtype() != DType::kI32) layer.bias = Rows(a.bias);
    f.in_half = a.weight_scale.present() && a.weight_scale.dtype() == DType::kF16;
    f.weight_scale = Rows(a.weight_scale), f.weight_shift = Rows(a.weight_shift);
    if (!a.scale.present()) return layer;
    const bool packed = a.scale.dtype() == DType::kI64 || a.scale.dtype() == DType::kU64;
    if (packed) f.packed = WholeRow(a.scale, i);
    if (!packed) f.scale = Rows(a.scale);
    return layer;
  }

  Plan& plan_;
  const FeedArgs& a_;
  FeedBody body_;
  int64_t count_ = 1;
};

}  // namespace

namespace kernels {

void FFNV2(Plan& plan, DType, const FFNV2Arguments& a) {
  const FeedArgs args{.x = a.x,
                      .layers = {{a.weight1, a.bias1, a.deq_scale1, a.antiquant_scale1, a.antiquant_offset1},
                                 {a.weight2, a.bias2, a.deq_scale2, a.antiquant_scale2, a.antiquant_offset2}},
                      .tokens = a.expert_tokens,
                      .scale = a.scale,
                      .shift = a.offset,
                      .activation = a.activation,
                      .ends = a.tokens_index_flag,
                      .out = a.y};
  Feed(plan, args).Make();
}

}  // namespace kernels
}  // namespace belay::ops
