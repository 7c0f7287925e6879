#include "ops/half_rows.h"

#include <algorithm>
#include <array>
#include <memory>
#include <vector>

#include "ops/pipeline.h"
#include "ops/scratch.h"
#include "tensor/convert.h"
#include "tensor/views.h"

namespace belay::ops {
namespace {

constexpr int kMostBeside = 4, kMostTold = 2;
using Places = std::array<char*, 2 + kMostBeside + kMostTold>;

struct SharedFloats {
  int binding = -1;  // -1: it is absent
  int64_t offset = 0;
  DType type = DType::kUndefined;
  Scratch<float> wide;

  const float* Widened(const Frame& frame) const {
    tensor::Convert(DType::kF32, wide.At(frame), type, frame.at[binding] + offset, wide.count());
    return wide.At(frame);
  }
};

// Where one of those that are told goes.
struct ToldNumbers {
  int binding = -1;
  int64_t offset = 0;
  DType type = DType::kUndefined;
};

// The kernel for so many rows; it binds x, what is beside, the result, and what is told.
PlanRef PlanFloats(const Plan& whole, const HalfRows& half, const PlanFloatRows& kernel, int64_t rows) {
  PlanRef plan = NewPlan(whole.function());
  const auto bound = [&](const Tensor& tensor, Access access, const char* name) {
    return Operand{&tensor, nullptr, plan->Bind(&tensor, access, name, plan->binding_count(), 0), name};
  };
  const Tensor block = tensor::PackedOf(DType::kF32, {rows, half.row});
  std::array<Tensor, kMostBeside> tensors;
  std::array<Operand, kMostBeside> beside;
  const Operand x = bound(block, Access::kRead, half.x.name);
  for (size_t i = 0; i < half.beside.size(); ++i) {
    if (!half.beside[i].present()) continue;
    tensors[i] = tensor::PackedOf(DType::kF32, half.beside[i].shape());
    beside[i] = bound(tensors[i], Access::kRead, half.beside[i].name);
  }
  const Operand out = bound(block, Access::kWrite, half.out.name);
  const Tensor numbers = tensor::PackedOf(DType::kF32, {rows});
  std::array<Operand, kMostTold> told;
  for (size_t i = 0; i < half.told.size(); ++i) {
    if (half.told[i].present()) told[i] = bound(numbers, Access::kWrite, half.told[i].name);
  }
  kernel(*plan, x, {beside.data(), half.beside.size()}, out, {told.data(), half.told.size()});
  return plan;
}

struct FloatPlans {
  PlanRef whole;              // of `together` rows
  std::vector<PlanRef> rest;  // of those that are left, where there are such
};

struct HalfRowsBody {
  std::shared_ptr<const FloatPlans> plans;
  std::array<SharedFloats, kMostBeside> beside;
  std::array<ToldNumbers, kMostTold> told;
  DType type = DType::kUndefined;
  int x = -1, out = -1;
  int64_t x_offset = 0, out_offset = 0;  // bytes
  int64_t rows = 0, row = 1, together = 1;
  bool in_place = false;
  PieceScratch<float> blocks;  // x, the result, what is told, and the kernel's workspace

  int64_t block_floats() const { return WorkspacePart(together * row * 4) / 4; }
  int64_t told_floats() const { return WorkspacePart(together * 4) / 4; }
  int64_t workspace_at() const { return 2 * block_floats() + kMostTold * told_floats(); }

  void operator()(const Frame& frame) const {
    Places at;
    size_t bound = 1;
    for (const SharedFloats& shared : beside) {
      if (shared.binding >= 0)
        at[bound++] = reinterpret_cast<char*>(const_cast<float*>(shared.Widened(frame)));
    }
    blocks.For(frame, [&](int64_t begin, int64_t end, float* buffer) {
      Places own = at;
      own[0] = reinterpret_cast<char*>(buffer);
      own[bound] = in_place ? own[0] : reinterpret_cast<char*>(buffer + block_floats());
      size_t next = bound;
      for (size_t i = 0; i < told.size(); ++i) {
        if (told[i].binding >= 0) own[++next] = reinterpret_cast<char*>(NumbersOf(buffer, i));
      }
      for (int64_t b = begin; b < end; ++b) Block(frame, b, own.data(), own[bound], buffer);
    });
  }

  float* NumbersOf(float* buffer, size_t i) const {
    return buffer + 2 * block_floats() + static_cast<int64_t>(i) * told_floats();
  }

  void Block(const Frame& frame, int64_t block, char* const* at, const char* made, float* buffer) const {
    const int64_t first = block * together, count = std::min(together, rows - first);
    const int64_t bytes = first * row * 2;
    tensor::Convert(DType::kF32, at[0], type, frame.at[x] + x_offset + bytes, count * row);
    const PlanRef& plan = count == together ? plans->whole : plans->rest[0];
    plan->Run({at, reinterpret_cast<char*>(buffer + workspace_at())});
    tensor::Convert(type, frame.at[out] + out_offset + bytes, DType::kF32, made, count * row);
    for (size_t i = 0; i < told.size(); ++i) {
      if (told[i].binding < 0) continue;
      const int64_t at_row = told[i].offset + first * static_cast<int64_t>(BytesOf(told[i].type));
      tensor::Convert(told[i].type, frame.at[told[i].binding] + at_row, DType::kF32, NumbersOf(buffer, i),
                      count);
    }
  }
};

int64_t BytesBefore(const Tensor& t) { return t.offset * static_cast<int64_t>(BytesOf(t.dtype)); }

}  // namespace

bool AreHalfRows(const Tensor& x, const Tensor& out) {
  return IsHalf(x.dtype) && out.dtype == x.dtype && !x.empty() && x.count() == out.count() &&
         IsPacked(x.shape, x.strides) && IsPacked(out.shape, out.strides);
}

void PlanHalfRows(Plan& plan, const HalfRows& half, const PlanFloatRows& kernel) {
  constexpr int64_t kGrain = 128 * 1024;  // elements
  HalfRowsBody body;
  body.type = half.x.dtype();
  body.x = half.x.binding, body.out = half.out.binding;
  body.x_offset = BytesBefore(*half.x.tensor), body.out_offset = BytesBefore(*half.out.tensor);
  body.row = half.row, body.rows = half.x.tensor->count() / half.row;
  body.together = std::clamp<int64_t>(half.together / half.row, 1, body.rows);
  const int64_t left = body.rows % body.together;
  const auto plans =
      std::make_shared<FloatPlans>(FloatPlans{PlanFloats(plan, half, kernel, body.together), {}});
  uint64_t most = plans->whole->workspace_bytes();
  if (left != 0) {
    plans->rest.push_back(PlanFloats(plan, half, kernel, left));
    most = std::max(most, plans->rest[0]->workspace_bytes());
  }
  body.plans = plans;
  for (size_t i = 0; i < half.told.size(); ++i) {
    const Operand& told = half.told[i];
    if (told.present()) body.told[i] = {told.binding, BytesBefore(*told.tensor), told.dtype()};
  }
  body.in_place = plans->whole->may_lie_on(0) && (left == 0 || plans->rest[0]->may_lie_on(0));
  for (size_t i = 0; i < half.beside.size(); ++i) {
    const Operand& beside = half.beside[i];
    if (!beside.present()) continue;
    body.beside[i] = {
        beside.binding, BytesBefore(*beside.tensor), beside.dtype(), {plan, beside.tensor->count()}};
  }
  const int64_t block = body.together * body.row;
  body.blocks = {plan, (body.rows + body.together - 1) / body.together, std::max<int64_t>(1, kGrain / block),
                 body.workspace_at() + static_cast<int64_t>(most / 4)};
  plan.SetCost(50 + static_cast<uint64_t>(half.x.tensor->count()));
  plan.SetBody(body);
}

}  // namespace belay::ops
