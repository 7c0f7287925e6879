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

constexpr int kMostBeside = 4;

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

// The kernel for so many rows; it binds x, what is beside, and the result.
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
  kernel(*plan, x, {beside.data(), half.beside.size()}, bound(block, Access::kWrite, half.out.name));
  return plan;
}

struct FloatPlans {
  PlanRef whole;              // of `together` rows
  std::vector<PlanRef> rest;  // of those that are left, where there are such
};

struct HalfRowsBody {
  std::shared_ptr<const FloatPlans> plans;
  std::array<SharedFloats, kMostBeside> beside;
  DType type = DType::kUndefined;
  int x = -1, out = -1;
  int64_t x_offset = 0, out_offset = 0;  // bytes
  int64_t rows = 0, row = 1, together = 1;
  bool in_place = false;
  PieceScratch<float> blocks;  // x, the result, and the kernel's workspace

  int64_t block_floats() const { return WorkspacePart(together * row * 4) / 4; }

  void operator()(const Frame& frame) const {
    std::array<char*, kMostBeside + 2> at;
    size_t bound = 1;
    for (const SharedFloats& shared : beside) {
      if (shared.binding >= 0)
        at[bound++] = reinterpret_cast<char*>(const_cast<float*>(shared.Widened(frame)));
    }
    blocks.For(frame, [&](int64_t begin, int64_t end, float* buffer) {
      std::array<char*, kMostBeside + 2> own = at;
      own[0] = reinterpret_cast<char*>(buffer);
      own[bound] = in_place ? own[0] : reinterpret_cast<char*>(buffer + block_floats());
      for (int64_t b = begin; b < end; ++b)
        Block(frame, b, own.data(), own[bound], reinterpret_cast<char*>(buffer + 2 * block_floats()));
    });
  }

  void Block(const Frame& frame, int64_t block, char* const* at, const char* made, char* workspace) const {
    const int64_t first = block * together, count = std::min(together, rows - first);
    const int64_t bytes = first * row * 2;
    tensor::Convert(DType::kF32, at[0], type, frame.at[x] + x_offset + bytes, count * row);
    const PlanRef& plan = count == together ? plans->whole : plans->rest[0];
    plan->Run({at, workspace});
    tensor::Convert(type, frame.at[out] + out_offset + bytes, DType::kF32, made, count * row);
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
  body.in_place = plans->whole->may_lie_on(0) && (left == 0 || plans->rest[0]->may_lie_on(0));
  for (size_t i = 0; i < half.beside.size(); ++i) {
    const Operand& beside = half.beside[i];
    if (!beside.present()) continue;
    body.beside[i] = {
        beside.binding, BytesBefore(*beside.tensor), beside.dtype(), {plan, beside.tensor->count()}};
  }
  const int64_t block = body.together * body.row;
  body.blocks = {plan, (body.rows + body.together - 1) / body.together, std::max<int64_t>(1, kGrain / block),
                 2 * body.block_floats() + static_cast<int64_t>(most / 4)};
  plan.SetCost(50 + static_cast<uint64_t>(half.x.tensor->count()));
  plan.SetBody(body);
}

}  // namespace belay::ops
