// Normalisations by given statistics, or by neighbouring channels.
#include <algorithm>
#include <cmath>

#include "ops/half_rows.h"
#include "ops/loop_nest.h"
#include "ops/norm/norm_loops.h"
#include "ops/norm/normalise.h"
#include "ops/pipeline.h"

namespace belay::ops {
namespace {

// One number from an operand of one dimension, as T.
struct Numbers {
  int binding = -1;
  DType type = DType::kUndefined;
  int64_t offset = 0, step = 0;  // bytes

  Numbers() = default;
  explicit Numbers(const Operand& operand) {
    if (!operand.present()) return;
    const Tensor& t = *operand.tensor;
    binding = operand.binding;
    type = t.dtype;
    offset = t.offset * static_cast<int64_t>(BytesOf(type));
    step = (t.shape.rank() == 0 ? 0 : t.strides[0]) * static_cast<int64_t>(BytesOf(type));
  }
  double At(const Frame& frame, int64_t i, double missing) const {
    if (binding < 0) return missing;
    const char* at = frame.at[binding] + offset + i * step;
    if (type == DType::kF32) return static_cast<double>(*reinterpret_cast<const float*>(at));
    double value;
    Convert(DType::kF64, &value, type, at, 1);
    return value;
  }
};

template <class T>
struct ChannelBody {
  LoopNest slice;    // out, x of one channel
  LoopNest members;  // out, x: where all channels of one start, if there are tables
  Lane out, in;
  int64_t channels, out_step, in_step;  // bytes between channels
  Numbers weight, bias, mean, variance;
  bool inverse;
  double epsilon;
  int bindings[2];
  const NormLoops<T>* loops;
  // In the workspace, where channels follow each other in memory, `row` elements each: a factor, a summand
  // and what is taken off before for each channel, or for each element of very short ones. -1: none.
  int64_t tables_at = -1, row = 1, copies = 1;

  void operator()(const Frame& frame) const {
    if (tables_at >= 0) {
      const bool far = MakeTables(frame);
      return copies < row ? ByChannels(frame) : ByElements(frame, far);
    }
    int64_t grain = std::max<int64_t>(1, LoopNest::kGrain / std::max<int64_t>(slice.count(), 1));
    ParallelFor(channels, grain, [&](int64_t begin, int64_t end) {
      for (int64_t c = begin; c < end; ++c) Channel(frame, c);
    });
  }

  // Where all channels of a member of the batch follow each other in memory, each of a few elements, a table
  // has a factor for each of these: a long row instead of many short ones.
  void TakeTables(Plan& plan, Tensor x, Tensor out, int channel) {
    constexpr int64_t kVeryShort = 8, kShort = 512, kLongest = 32 * 1024;
    int64_t inner = 1;
    for (int d = x.shape.rank() - 1; d >= channel; --d) {
      if (x.shape[d] != 1 && (x.strides[d] != inner || out.strides[d] != inner)) return;
      if (d > channel) inner *= x.shape[d];
      x.shape[d] = out.shape[d] = 1;
    }
    if (channels < 2 || inner > kShort) return;
    row = inner, copies = row < kVeryShort && channels * row <= kLongest ? row : 1;
    members = LoopNest(x.shape, {Operand{&out}, Operand{&x}});
    tables_at = plan.AddWorkspace(3 * channels * copies * static_cast<int64_t>(sizeof(T)));
  }

  struct Change {
    double factor, middle, base_line;
    // Where the two would take each other's digits away the mean goes first.
    bool far() const {
      constexpr double kFar = 8;
      return std::abs(middle * factor) > kFar * std::max(1.0, std::abs(base_line));
    }
    // What is added where `near` was taken off before.
    double ShiftBehind(double near) const { return base_line - (middle - near) * factor; }
  };

  Change ChangeOf(const Frame& frame, int64_t c) const {
    const double spread = variance.At(frame, c, 1), scaled = weight.At(frame, c, 1);
    return {inverse ? scaled * spread : scaled / std::sqrt(spread + epsilon), mean.At(frame, c, 0),
            bias.At(frame, c, 0)};
  }

  T* Tables(const Frame& frame) const { return reinterpret_cast<T*>(frame.workspace + tables_at); }

  // True: there are channels whose mean goes first, so `middles` are needed.
  bool MakeTables(const Frame& frame) const {
    const int64_t all = channels * copies;
    T *factors = Tables(frame), *shifts = factors + all, *middles = shifts + all;
    bool far = false;
    for (int64_t c = 0; c < channels; ++c, factors += copies, shifts += copies, middles += copies) {
      const Change change = ChangeOf(frame, c);
      far |= change.far();
      const T near = change.far() ? static_cast<T>(change.middle) : T{0};
      std::fill_n(factors, copies, static_cast<T>(change.factor));
      std::fill_n(shifts, copies, static_cast<T>(change.ShiftBehind(static_cast<double>(near))));
      std::fill_n(middles, copies, near);
    }
    return far;
  }

  // Some channels of one member at a time.
  void ByChannels(const Frame& frame) const {
    const T *factors = Tables(frame), *shifts = factors + channels, *middles = shifts + channels;
    const int64_t grain = std::max<int64_t>(1, LoopNest::kGrain / row);
    ParallelFor(members.count() * channels, grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin, n; i < end; i += n) {
        const int64_t member = i / channels, first = i % channels;
        n = std::min(end - i, channels - first);
        char* base[2] = {frame.at[bindings[0]] + members.offset(0),
                         frame.at[bindings[1]] + members.offset(1)};
        members.Walk(base, member, member + 1, [&](char** at, int64_t) {
          loops->change_rows(reinterpret_cast<T*>(at[0]) + first * row,
                             reinterpret_cast<const T*>(at[1]) + first * row, middles + first,
                             factors + first, shifts + first, n, row);
        });
      }
    });
  }

  // A member at a time.
  void ByElements(const Frame& frame, bool far) const {
    const int64_t all = channels * copies;
    const T *factors = Tables(frame), *shifts = factors + all, *middles = shifts + all;
    ParallelFor(members.count(), std::max<int64_t>(1, LoopNest::kGrain / all),
                [&](int64_t begin, int64_t end) {
                  char* base[2] = {frame.at[bindings[0]] + members.offset(0),
                                   frame.at[bindings[1]] + members.offset(1)};
                  members.Walk(base, begin, end, [&](char** at, int64_t n) {
                    for (int64_t i = 0; i < n; ++i) {
                      T* y = reinterpret_cast<T*>(at[0] + i * members.step(0));
                      const T* x = reinterpret_cast<const T*>(at[1] + i * members.step(1));
                      far ? loops->change(y, x, middles, factors, shifts, all)
                          : loops->apply(y, x, factors, shifts, T{0}, T{1}, all);
                    }
                  });
                });
  }

  void Channel(const Frame& frame, int64_t c) const {
    const Change change = ChangeOf(frame, c);
    const bool far = change.far();
    const T near = far ? static_cast<T>(change.middle) : T{0}, scale = static_cast<T>(change.factor),
            shift = static_cast<T>(change.ShiftBehind(static_cast<double>(near)));
    char* base[2] = {frame.at[bindings[0]] + slice.offset(0) + c * out_step,
                     frame.at[bindings[1]] + slice.offset(1) + c * in_step};
    slice.Walk(base, 0, slice.count(), [&](char** at, int64_t n) {
      alignas(64) T x[kBlock], y[kBlock];
      for (int64_t i = 0; i < n; i += kBlock) {
        int64_t m = std::min(kBlock, n - i);
        char* dst = at[0] + i * slice.step(0);
        T* to = out.direct() ? reinterpret_cast<T*>(dst) : y;
        const auto* from = static_cast<const T*>(in.Load(x, at[1] + i * slice.step(1), m));
        if (far) {
          loops->apply(to, from, nullptr, nullptr, near, scale, m);
          loops->scale(to, to, T{1}, shift, m);
        } else {
          loops->scale(to, from, scale, shift, m);
        }
        if (to == y) out.Store(dst, y, m, false);
      }
    });
  }
};

template <class T>
void PlanChannelsAs(Plan& plan, double epsilon, DType compute, const ChannelOperands& o, int channel) {
  Tensor x = *o.x.tensor, out = *o.out.tensor;
  ChannelBody<T> body;
  body.channels = x.shape[channel];
  body.in_step = x.strides[channel] * static_cast<int64_t>(BytesOf(x.dtype));
  body.out_step = out.strides[channel] * static_cast<int64_t>(BytesOf(out.dtype));
  if (x.dtype == compute && out.dtype == compute && BytesOf(compute) == sizeof(T))
    body.TakeTables(plan, x, out, channel);
  x.shape[channel] = out.shape[channel] = 1;
  body.slice = LoopNest(x.shape, {Operand{&out}, Operand{&x}});
  body.out = Lane(out.dtype, compute, body.slice.step(0));
  body.in = Lane(x.dtype, compute, body.slice.step(1));
  body.weight = Numbers(o.weight);
  body.bias = Numbers(o.bias);
  body.mean = Numbers(o.mean);
  body.variance = Numbers(o.variance);
  body.inverse = o.inverse;
  body.epsilon = epsilon;
  body.bindings[0] = o.out.binding;
  body.bindings[1] = o.x.binding;
  body.loops = &BestNormLoops<T>();
  plan.SetCost(50 + static_cast<uint64_t>(o.x.tensor->count()) / 4);
  plan.SetBody(body);
}

// Pixels of two bytes a channel, one behind the other.
bool PlanPixelsOfHalves(Plan& plan, double epsilon, const ChannelOperands& o, int channel) {
  const Operand beside[] = {o.weight, o.bias, o.mean, o.variance};
  const auto is_row = [](const Operand& operand) {
    return !operand.present() || (ComputeType(operand.dtype()) == DType::kF32 &&
                                  IsPacked(operand.shape(), operand.tensor->strides));
  };
  if (channel + 1 != o.x.shape().rank() || !AreHalfRows(*o.x.tensor, *o.out.tensor) ||
      !std::all_of(std::begin(beside), std::end(beside), is_row))
    return false;
  constexpr int64_t kTogether = 32 * 1024;  // each block makes the tables of the channels anew
  PlanHalfRows(plan, {o.x, o.out, beside, o.x.shape()[channel], kTogether},
               [&](Plan& part, const Operand& x, std::span<const Operand> floats, const Operand& out, auto) {
                 PlanChannelsAs<float>(part, epsilon, DType::kF32,
                                       {x, out, floats[0], floats[1], floats[2], floats[3], o.inverse}, 1);
               });
  return true;
}

// All in f32, or in f64 for f64; a block of positions at a time.
template <class T>
struct ResponseBody {
  LocalResponse how;
  int64_t batch, channels, positions;
  DType type;
  int bindings[2];
  const NormLoops<T>* loops;

  void operator()(const Frame& frame) const {
    Lane lane(type, type, static_cast<int64_t>(BytesOf(type)));
    int64_t blocks = (positions + kBlock - 1) / kBlock;
    ParallelFor(batch * blocks, 1, [&](int64_t begin, int64_t end) {
      for (int64_t k = begin; k < end; ++k) {
        int64_t at = k % blocks * kBlock;
        Block(frame, lane, k / blocks * channels * positions + at, std::min(kBlock, positions - at));
      }
    });
  }

  void Block(const Frame& frame, const Lane& lane, int64_t first, int64_t n) const {
    alignas(64) T sums[kBlock], buffer[kBlock], y[kBlock];
    auto address = [&](int binding, int64_t c) {
      return frame.at[bindings[binding]] + (first + c * positions) * lane.step();
    };
    for (int64_t c = 0; c < channels; ++c) {
      std::fill(sums, sums + n, T{0});
      int64_t low = std::max<int64_t>(0, c - (how.size - 1) / 2),
              high = std::min(channels - 1, c + how.size / 2);
      for (int64_t k = low; k <= high; ++k) {
        loops->add_squares(sums, static_cast<const T*>(lane.Load(buffer, address(1, k), n)), n);
      }
      const auto* x = static_cast<const T*>(lane.Load(buffer, address(1, c), n));
      T share = static_cast<T>(how.alpha / static_cast<double>(how.size));
      for (int64_t i = 0; i < n; ++i) {
        y[i] = x[i] / std::pow(static_cast<T>(how.bias) + share * sums[i], static_cast<T>(how.beta));
      }
      lane.Store(address(0, c), y, n, false);
    }
  }
};

template <class T>
void PlanResponse(Plan& plan, const LocalResponse& how, const Operand& x, const Operand& out) {
  const Shape& shape = x.tensor->shape;
  ResponseBody<T> body{how,
                       shape[0],
                       shape[1],
                       x.tensor->count() / (shape[0] * shape[1]),
                       x.dtype(),
                       {out.binding, x.binding},
                       &BestNormLoops<T>()};
  plan.SetCost(50 + static_cast<uint64_t>(x.tensor->count() * how.size));
  plan.SetBody(body);
}

}  // namespace

void PlanChannelNorm(Plan& plan, double epsilon, DType compute, const ChannelOperands& operands,
                     int channel) {
  if (operands.out.tensor->empty() || PlanPixelsOfHalves(plan, epsilon, operands, channel)) return;
  if (ComputeType(compute) == DType::kF64)
    return PlanChannelsAs<double>(plan, epsilon, compute, operands, channel);
  PlanChannelsAs<float>(plan, epsilon, compute, operands, channel);
}

void PlanLocalResponse(Plan& plan, const LocalResponse& how, const Operand& x, const Operand& out) {
  if (out.tensor->empty()) return;
  ComputeType(x.dtype()) == DType::kF64 ? PlanResponse<double>(plan, how, x, out)
                                        : PlanResponse<float>(plan, how, x, out);
}

}  // namespace belay::ops
