// The products with the inputs of all steps are one product of matrices, done first; then the steps
// follow one another. Neither the two directions nor the sequences of a batch depend on each other: they
// share the cores, each with all that it needs made by itself, since what another core has written is far
// away.
#include "ops/rnn/rnn.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include "base/error.h"
#include "base/parallel.h"
#include "ops/conv/winograd_loops.h"
#include "ops/layout/float_transpose.h"
#include "ops/matmul/gemm.h"
#include "ops/matmul/gemv.h"
#include "ops/matmul/integer.h"
#include "ops/rnn/byte_weights.h"
#include "ops/rnn/gate_loops.h"
#include "tensor/codes.h"

namespace belay::ops {
namespace {

int64_t GatesOf(RnnCell cell) { return cell == RnnCell::kLstm ? 4 : cell == RnnCell::kGru ? 3 : 1; }

// c = a x b^T (b is [n, k]).
void MultiplyInto(const float* a, int64_t m, int64_t k, const float* b, int64_t n, float* c, int64_t ldc) {
  constexpr int64_t kFewRows = 2;
  if (m <= kFewRows) {
    for (int64_t i = 0; i < m; ++i) BestGemv()(b, k, a + i * k, k, n, c + i * ldc);
    return;
  }
  Gemm gemm{m, n, k, {a, k, false}, {b, k, true}, c, ldc, GemmType::kF32, GemmType::kF32};
  if (!BestGemm().run(gemm)) PlainGemm().run(gemm);
}

// The addresses of one run; null where an operand is absent.
struct RnnMemory {
  const float *x, *w, *r, *bias, *first_h, *first_c, *peepholes;
  const int32_t* lengths;
  float *y, *last_h, *last_c;
  const float *w_scale, *r_scale;  // of bytes
  const uint8_t *w_zero, *r_zero;
};

// One direction of one run, of sequences [first, last) of the batch. Where a sequence is named by b, it is
// counted from the first.
class RnnDirection {
 public:
  RnnDirection(const RnnArgs& args, const RnnMemory& memory, int64_t direction, int64_t first, int64_t last,
               float* scratch)
      : a_(args),
        m_(memory),
        d_(direction),
        first_(first),
        batch_(last - first),
        gates_(GatesOf(args.cell)),
        width_(gates_ * args.hidden),
        columns_(args) {
    from_x_ = scratch;
    from_h_ = from_x_ + a_.steps * batch_ * width_;
    h_ = from_h_ + batch_ * columns_.step;
    c_ = h_ + batch_ * a_.hidden;
    reset_ = c_ + batch_ * a_.hidden;
    turned_ = reset_ + batch_ * a_.hidden;
    picked_ = turned_ + columns_.turned * a_.hidden;
    bytes_ = reinterpret_cast<uint8_t*>(picked_);
    functions_ = a_.functions.data() + d_ * static_cast<int64_t>(a_.functions.size()) / a_.directions;
    usual_ = IsUsual(a_, m_, functions_);
  }

  // Of so many sequences.
  static int64_t ScratchFloats(const RnnArgs& a, int64_t batch) {
    constexpr int64_t kLine = 16;
    const int64_t width = GatesOf(a.cell) * a.hidden;
    const Columns columns(a);
    const int64_t floats =
        a.steps * batch * width + batch * columns.step + 3 * batch * a.hidden + columns.turned * a.hidden +
        (PicksInputs(a, batch) ? a.steps * batch * a.inputs : 0) + (ScratchBytes(a) + 3) / 4;
    return (floats + kLine - 1) / kLine * kLine;
  }

  // How many parts a direction is cut into.
  static int64_t Parts(const RnnArgs& a) {
    constexpr int64_t kWorthCutting = 2'000'000;  // about 40 us
    const int64_t products = a.steps * a.batch * GatesOf(a.cell) * a.hidden * (a.hidden + a.inputs);
    if (HasBytes(a) || products < kWorthCutting) return 1;  // bytes are rounded by the whole batch
    return std::clamp<int64_t>((ParallelWidth() + a.directions - 1) / a.directions, 1, a.batch);
  }

  void Run() {
    const bool reverse = a_.reverse || d_ == 1;
    if (HasBytes(a_)) {
      SetBytes();
      MultiplyBytes(m_.x, a_.steps * a_.batch, w_bytes_, bytes_, from_x_);
    } else {
      MultiplyInto(Inputs(), a_.steps * batch_, a_.inputs, m_.w + d_ * width_ * a_.inputs, width_, from_x_,
                   width_);
    }
    if (TurnsWeights(a_)) TurnWeights();
    LoadState(m_.first_h, h_);
    LoadState(m_.first_c, c_);
    for (int64_t t = 0; t < a_.steps; ++t) Step(t, reverse);
    StoreState(h_, m_.last_h);
    StoreState(c_, m_.last_c);
  }

 private:
  // Whether the inputs of so many sequences do not lie together.
  static bool PicksInputs(const RnnArgs& a, int64_t batch) { return batch < a.batch && !a.batch_first; }

  // Of these sequences, one row behind the other.
  const float* Inputs() const {
    if (!PicksInputs(a_, batch_)) return m_.x + first_ * a_.steps * a_.inputs;
    const int64_t row = batch_ * a_.inputs;
    for (int64_t t = 0; t < a_.steps; ++t)
      std::copy_n(m_.x + (t * a_.batch + first_) * a_.inputs, row, picked_ + t * row);
    return picked_;
  }

  // The last gate needs what the reset one leaves of the state: it is multiplied by itself.
  static bool IsLate(const RnnArgs& a) { return a.cell == RnnCell::kGru && !a.reset_after; }

  // Where the weights of the states are laid anew for all steps.
  static bool TurnsWeights(const RnnArgs& a) {
    constexpr int64_t kManySteps = 4;
    return !HasBytes(a) && a.steps >= kManySteps && (SumsRows(a) || HasPanels(a));
  }

  // Rows of few weights are summed faster side by side than each along itself.
  static bool SumsRows(const RnnArgs& a) {
    constexpr int64_t kFewRows = 2, kShort = 128;
    return a.batch <= kFewRows && a.hidden <= kShort;
  }

  // Panels of columns, which a product of matrices would make at each step.
  static bool HasPanels(const RnnArgs& a) {
    constexpr int64_t kFewRows = 2, kManyRows = 256;
    return a.batch > kFewRows && a.batch <= kManyRows;
  }

  // The columns of the states' products that are made together, those of a late gate behind them; in panels
  // there are more of them.
  struct Columns {
    int64_t first, last, step, turned;  // step: from one sequence's to the next's; turned: of the weights

    explicit Columns(const RnnArgs& a) {
      const int64_t width = GatesOf(a.cell) * a.hidden;
      last = IsLate(a) ? a.hidden : 0, first = width - last;
      step = width, turned = TurnsWeights(a) ? width : 0;
      if (turned == 0 || SumsRows(a)) return;
      first = Whole(first), last = Whole(last);
      step = std::max(first, width - (IsLate(a) ? a.hidden : 0) + last), turned = first + last;
    }

    static int64_t Whole(int64_t columns) { return (columns + kSmallPanel - 1) / kSmallPanel * kSmallPanel; }
  };

  void TurnWeights() {
    const float* r = m_.r + d_ * width_ * a_.hidden;
    if (SumsRows(a_)) return TransposeFloats(r, turned_, 1, width_, a_.hidden);
    const int64_t late = IsLate(a_) ? a_.hidden : 0;
    TurnPanels(r, width_ - late, columns_.first, turned_);
    TurnPanels(r + (width_ - late) * a_.hidden, late, columns_.last, turned_ + columns_.first * a_.hidden);
  }

  // Of so many rows, and of zeros behind them.
  void TurnPanels(const float* r, int64_t rows, int64_t columns, float* to) const {
    const int64_t panel = PanelOf(columns), whole = rows / panel, left = rows - whole * panel;
    if (whole > 0) TransposeFloats(r, to, whole, panel, a_.hidden);
    if (whole * panel == columns) return;
    r += whole * panel * a_.hidden, to += whole * panel * a_.hidden;
    for (int64_t k = 0; k < a_.hidden; ++k, to += panel) {
      for (int64_t i = 0; i < panel; ++i) to[i] = i < left ? r[i * a_.hidden + k] : 0.0f;
    }
  }

  static bool HasBytes(const RnnArgs& a) { return a.w_bytes.scale.binding >= 0; }

  // For what is rounded to bytes, and for weights that are moved to the other sign.
  static int64_t ScratchBytes(const RnnArgs& a) {
    if (!HasBytes(a)) return 0;
    const int64_t width = GatesOf(a.cell) * a.hidden;
    return a.batch * std::max(a.steps * a.inputs, a.hidden) + (a.w_bytes.is_signed ? 0 : a.inputs * width) +
           (a.r_bytes.is_signed ? 0 : a.hidden * width);
  }

  // The weights of this direction.
  void SetBytes() {
    uint8_t* room = bytes_ + a_.batch * std::max(a_.steps * a_.inputs, a_.hidden);
    auto set = [&](const RnnBytes& given, const float* all, const float* scale, const uint8_t* zero,
                   int64_t k) {
      const auto* values = reinterpret_cast<const uint8_t*>(all) + d_ * k * width_;
      const int64_t scales = given.by_column ? width_ : 1;
      uint8_t first = zero == nullptr ? 0 : zero[d_ * scales];  // those of the columns are the same
      if (!given.is_signed) {
        MoveBytes(values, k * width_, room);
        values = room, room += k * width_;
        first = Moved(first);
      }
      return ByteWeights{reinterpret_cast<const int8_t*>(values),
                         static_cast<int8_t>(first),
                         scale + d_ * scales,
                         given.by_column,
                         k,
                         width_};
    };
    w_bytes_ = set(a_.w_bytes, m_.w, m_.w_scale, m_.w_zero, a_.inputs);
    r_bytes_ = set(a_.r_bytes, m_.r, m_.r_scale, m_.r_zero, a_.hidden);
  }

  // Where a state of the batch lies in [directions, batch, hidden] or [batch, directions, hidden].
  int64_t StateAt(int64_t b) const {
    return (a_.batch_first ? (first_ + b) * a_.directions + d_ : d_ * a_.batch + first_ + b) * a_.hidden;
  }
  void LoadState(const float* from, float* to) const {
    for (int64_t b = 0; b < batch_; ++b) {
      float* row = to + b * a_.hidden;
      if (from == nullptr) {
        std::fill(row, row + a_.hidden, 0.0f);
      } else {
        std::copy_n(from + StateAt(b), a_.hidden, row);
      }
    }
  }
  void StoreState(const float* from, float* to) const {
    for (int64_t b = 0; to != nullptr && b < batch_; ++b)
      std::copy_n(from + b * a_.hidden, a_.hidden, to + StateAt(b));
  }

  int64_t Length(int64_t b) const { return m_.lengths == nullptr ? a_.steps : m_.lengths[first_ + b]; }

  void Step(int64_t t, bool reverse) {
    if (HasBytes(a_)) {
      MultiplyBytes(h_, a_.batch, r_bytes_, bytes_, from_h_);
      return Rows(t, reverse);
    }
    const int64_t early = IsLate(a_) ? 2 * a_.hidden : width_;
    MultiplyStates(h_, 0, early);
    if (IsLate(a_)) {
      for (int64_t b = 0; b < batch_; ++b) {
        if (t < Length(b)) ResetRow(b, Position(b, t, reverse));
      }
      MultiplyStates(reset_, early, a_.hidden);
    }
    Rows(t, reverse);
  }

  // Some of the columns, of which there are `count`.
  void MultiplyStates(const float* states, int64_t first, int64_t count) const {
    float* to = from_h_ + first;
    if (!TurnsWeights(a_)) {
      MultiplyInto(states, batch_, a_.hidden, m_.r + (d_ * width_ + first) * a_.hidden, count, to,
                   columns_.step);
    } else if (SumsRows(a_)) {
      for (int64_t b = 0; b < batch_; ++b)
        BestTransposedGemvOfNear()(turned_ + first, width_, states + b * a_.hidden, count, a_.hidden,
                                   to + b * columns_.step);
    } else {
      const float* panels = turned_ + (first == 0 ? 0 : columns_.first * a_.hidden);
      multiply_panels_(states, panels, batch_, a_.hidden, first == 0 ? columns_.first : columns_.last, to,
                       columns_.step);
    }
  }

  void Rows(int64_t t, bool reverse) {
    for (int64_t b = 0; b < batch_; ++b) {
      const bool runs = t < Length(b);
      const int64_t at = runs ? Position(b, t, reverse) : t;
      if (runs) Row(b, at);
      if (m_.y != nullptr) WriteY(b, at, runs);
    }
  }

  int64_t Position(int64_t b, int64_t t, bool reverse) const { return reverse ? Length(b) - 1 - t : t; }

  void WriteY(int64_t b, int64_t t, bool runs) const {
    const int64_t row = a_.batch_first ? ((first_ + b) * a_.steps + t) * a_.directions + d_
                                       : (t * a_.directions + d_) * a_.batch + first_ + b;
    float* to = m_.y + row * a_.hidden;
    if (runs) {
      std::copy_n(h_ + b * a_.hidden, a_.hidden, to);
    } else {
      std::fill(to, to + a_.hidden, 0.0f);
    }
  }

  const float* FromX(int64_t b, int64_t t) const {
    return from_x_ + (a_.batch_first ? b * a_.steps + t : t * batch_ + b) * width_;
  }
  // The bias of a gate, of the inputs' product or the states'.
  float Bias(bool recurrent, int64_t gate, int64_t i) const {
    return m_.bias == nullptr ? 0 : m_.bias[(d_ * 2 + (recurrent ? 1 : 0)) * width_ + gate * a_.hidden + i];
  }
  float Apply(int function, float x) const {
    const RnnFunction& f = functions_[function];
    return f.apply(a_.clip > 0 ? std::clamp(x, -a_.clip, a_.clip) : x, f.alpha, f.beta);
  }

  // Both products and both biases of a gate.
  float Sum(const float* x, const float* h, int64_t gate, int64_t i) const {
    const int64_t at = gate * a_.hidden + i;
    return x[at] + h[at] + Bias(false, gate, i) + Bias(true, gate, i);
  }

  static bool CutsToZero(const RnnFunction& function) {
    static const auto relu = FindRnnFunction("relu").apply;
    return function.apply == relu;
  }

  // Whether the gates go through sigmoid and tanh and nothing else (a plain cell's through tanh or relu).
  static bool IsUsual(const RnnArgs& a, const RnnMemory& m, const RnnFunction* functions) {
    static const auto sigmoid = FindRnnFunction("sigmoid").apply, tanh = FindRnnFunction("tanh").apply;
    if (a.clip > 0 || a.coupled_forget || m.peepholes != nullptr) return false;
    if (a.cell == RnnCell::kPlain) return functions[0].apply == tanh || CutsToZero(functions[0]);
    return functions[0].apply == sigmoid && functions[1].apply == tanh &&
           (a.cell == RnnCell::kGru || functions[2].apply == tanh);
  }

  GateSums Sums(int64_t b, int64_t t) const {
    const float* bias = m_.bias == nullptr ? nullptr : m_.bias + d_ * 2 * width_;
    return {FromX(b, t), from_h_ + b * columns_.step, bias, bias == nullptr ? nullptr : bias + width_};
  }

  void UsualRow(int64_t b, int64_t t) {
    float* state = h_ + b * a_.hidden;
    if (a_.cell == RnnCell::kPlain)
      return BestGateLoops().plain(Sums(b, t), a_.hidden, CutsToZero(functions_[0]), state);
    if (a_.cell == RnnCell::kGru) return BestGateLoops().gru(Sums(b, t), a_.hidden, a_.reset_after, state);
    BestGateLoops().lstm(Sums(b, t), a_.hidden, c_ + b * a_.hidden, state);
  }

  void Row(int64_t b, int64_t t) {
    if (usual_) return UsualRow(b, t);
    const float *x = FromX(b, t), *h = from_h_ + b * columns_.step;
    if (a_.cell == RnnCell::kLstm) return LstmRow(b, x, h);
    if (a_.cell == RnnCell::kGru) return GruRow(b, x, h);
    for (int64_t i = 0; i < a_.hidden; ++i) h_[b * a_.hidden + i] = Apply(0, Sum(x, h, 0, i));
  }

  void LstmRow(int64_t b, const float* x, const float* h) {
    const float* p = m_.peepholes == nullptr ? nullptr : m_.peepholes + d_ * 3 * a_.hidden;
    for (int64_t i = 0; i < a_.hidden; ++i) {
      float& c = c_[b * a_.hidden + i];
      const float in = Apply(0, Sum(x, h, 0, i) + (p == nullptr ? 0 : p[i] * c));
      const float kept = p == nullptr ? 0 : p[2 * a_.hidden + i] * c;
      const float forget = a_.coupled_forget ? 1 - in : Apply(0, Sum(x, h, 2, i) + kept);
      c = forget * c + in * Apply(1, Sum(x, h, 3, i));
      const float out = Apply(0, Sum(x, h, 1, i) + (p == nullptr ? 0 : p[a_.hidden + i] * c));
      const RnnFunction& f = functions_[2];
      h_[b * a_.hidden + i] = out * f.apply(c, f.alpha, f.beta);
    }
  }

  void ResetRow(int64_t b, int64_t t) {
    if (usual_)
      return BestGateLoops().reset(Sums(b, t), a_.hidden, h_ + b * a_.hidden, reset_ + b * a_.hidden);
    const float *x = FromX(b, t), *h = from_h_ + b * columns_.step;
    for (int64_t i = 0; i < a_.hidden; ++i)
      reset_[b * a_.hidden + i] = Apply(0, Sum(x, h, 1, i)) * h_[b * a_.hidden + i];
  }

  void GruRow(int64_t b, const float* x, const float* h) {
    const int64_t last = 2 * a_.hidden;
    for (int64_t i = 0; i < a_.hidden; ++i) {
      const float update = Apply(0, Sum(x, h, 0, i));
      float seen = h[last + i] + Bias(true, 2, i);
      if (a_.reset_after) seen *= Apply(0, Sum(x, h, 1, i));
      const float fresh = Apply(1, x[last + i] + Bias(false, 2, i) + seen);
      float& state = h_[b * a_.hidden + i];
      state = (1 - update) * fresh + update * state;
    }
  }

  const RnnArgs& a_;
  const RnnMemory& m_;
  const int64_t d_, first_, batch_, gates_, width_;
  const Columns columns_;
  const RnnFunction* functions_;
  bool usual_;
  decltype(WinogradLoops::multiply) multiply_panels_ = BestWinogradLoops().multiply;
  float *from_x_, *from_h_, *h_, *c_, *reset_, *turned_, *picked_;
  uint8_t* bytes_;
  ByteWeights w_bytes_{}, r_bytes_{};
};

struct RnnBody {
  std::shared_ptr<const RnnArgs> args;
  int64_t parts;           // of each direction
  int64_t scratch_floats;  // of one

  void operator()(const Frame& frame) const {
    const RnnArgs& a = *args;
    auto at = [&](const Operand& operand) {
      return operand.binding < 0 ? nullptr : reinterpret_cast<float*>(frame.at[operand.binding]);
    };
    const RnnMemory memory{at(a.x),
                           at(a.w),
                           at(a.r),
                           at(a.bias),
                           at(a.first_h),
                           at(a.first_c),
                           at(a.peepholes),
                           reinterpret_cast<const int32_t*>(at(a.lengths)),
                           at(a.y),
                           at(a.last_h),
                           at(a.last_c),
                           at(a.w_bytes.scale),
                           at(a.r_bytes.scale),
                           reinterpret_cast<const uint8_t*>(at(a.w_bytes.zero)),
                           reinterpret_cast<const uint8_t*>(at(a.r_bytes.zero))};
    ParallelFor(a.directions * parts, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t part = i % parts, first = a.batch * part / parts, last = a.batch * (part + 1) / parts;
        float* scratch = reinterpret_cast<float*>(frame.workspace) + i * scratch_floats;
        RnnDirection(a, memory, i / parts, first, last, scratch).Run();
      }
    });
  }
};

void CheckSize(const Operand& operand, int64_t count) {
  if (operand.binding < 0 || operand.tensor->count() == count) return;
  Fail(tensor::kInvalidArgument, "rnn-shape", "{} has the shape {}, which is not {} elements", operand.name,
       operand.shape().ToString(), count);
}

}  // namespace

void PlanRnn(Plan& plan, const RnnArgs& args) {
  const int64_t width = GatesOf(args.cell) * args.hidden, d = args.directions;
  CheckSize(args.x, args.steps * args.batch * args.inputs);
  CheckSize(args.w, d * width * args.inputs);
  CheckSize(args.r, d * width * args.hidden);
  CheckSize(args.bias, d * 2 * width);
  CheckSize(args.lengths, args.batch);
  for (const Operand* state : {&args.first_h, &args.first_c}) CheckSize(*state, d * args.batch * args.hidden);
  CheckSize(args.peepholes, d * 3 * args.hidden);
  auto kept = std::make_shared<RnnArgs>(args);
  // The tensors belong to the caller; only bindings and sizes are used from here on.
  for (Operand* operand :
       {&kept->x, &kept->w, &kept->r, &kept->bias, &kept->lengths, &kept->first_h, &kept->first_c,
        &kept->peepholes, &kept->y, &kept->last_h, &kept->last_c, &kept->w_bytes.scale, &kept->w_bytes.zero,
        &kept->r_bytes.scale, &kept->r_bytes.zero}) {
    operand->tensor = nullptr;
  }
  const int64_t parts = RnnDirection::Parts(args),
                floats = RnnDirection::ScratchFloats(args, (args.batch + parts - 1) / parts);
  plan.SetWorkspace(static_cast<uint64_t>(d * parts * floats) * sizeof(float));
  const int64_t products = d * args.steps * args.batch * width * (args.inputs + args.hidden);
  plan.SetCost(1000 + static_cast<uint64_t>(products) / 40);
  plan.SetProducts(products);
  plan.SetBody(RnnBody{kept, parts, floats});
}

}  // namespace belay::ops
