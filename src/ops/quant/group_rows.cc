// Rows quantised by the scales of their groups, and what a GELU makes of rows.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/error.h"
#include "ops/elementwise/unlisted.h"
#include "ops/experts/experts.h"
#include "ops/experts/rows.h"
#include "ops/index/indices.h"
#include "ops/kernels.h"
#include "ops/layout/checks.h"
#include "ops/quant/small_out.h"
#include "ops/scratch.h"
#include "ops/through.h"
#include "tensor/codes.h"
#include "tensor/views.h"

namespace belay::ops {
namespace {

struct GroupRowsBody {
  Rows x, scale, shift;
  SmallOut y;
  Indices groups;
  int groups_at;
  PieceScratch<float> room;

  void operator()(const Frame& frame) const {
    const std::span<const int64_t> ends = groups.Read(frame, groups_at);
    CheckEnds(ends);
    const float plus = shift.present() ? shift.At(frame, 0, 0) : 0;
    room.For(frame, [&](int64_t begin, int64_t end, float* mine) {
      for (int64_t row = begin; row < end; ++row) Row(frame, row, ends, plus, mine);
    });
  }

  void CheckEnds(std::span<const int64_t> ends) const {
    int64_t last = 0;
    for (size_t i = 0; i < ends.size(); ++i) {
      if (ends[i] < last || ends[i] > x.count()) {
        Fail(kIndexFault, "experts-groups",
             "groupIndex ends group {} at row {}, and the one before at {}; they never "
             "decrease, up to the {} rows of x",
             i, ends[i], last, x.count());
      }
      last = ends[i];
    }
    if (last != x.count())
      Fail(kIndexFault, "experts-groups",
           "groupIndex ends at row {}; the last group ends at row {}, the number of rows of x", last,
           x.count());
  }

  void Row(const Frame& frame, int64_t row, std::span<const int64_t> ends, float plus, float* values) const {
    const int64_t n = x.width(), group = std::upper_bound(ends.begin(), ends.end(), row) - ends.begin();
    const float *from = x.Load(frame, row, values), *by = scale.Load(frame, group, values + n);
    for (int64_t i = 0; i < n; ++i)
      values[i] = std::clamp(std::nearbyint(from[i] * by[i] + plus), y.least(), y.most());
    y.Store(frame, row, values, n);
  }
};

}  // namespace

namespace kernels {

void GroupQuant(Plan& plan, DType, const Operand& x, const Operand& scale, const Operand& groupIndex,
                const Operand& offsetOptional, int64_t dstType, const Operand& y) {
  CheckSmallType(plan, dstType, y);
  CheckExpertRank(plan, x, 2, 2);
  CheckExpertRank(plan, scale, 2, 2);
  const int64_t groups = scale.shape()[0];
  CheckExpertShape(plan, scale, {groups, x.shape()[1]});
  CheckExpertShape(plan, groupIndex, {groups});
  if (groups == 0) RefuseExperts(plan, "scale has no rows: there is at least one group");
  if (offsetOptional.present()) {
    CheckOne(offsetOptional);
    if (offsetOptional.dtype() != scale.dtype()) RefuseExperts(plan, "scale and offset have one type");
  }
  GroupRowsBody body{Rows(x), Rows(scale), Rows(offsetOptional, true), SmallOut(plan, y, x.shape()), {},
                     -1,      {}};
  if (x.tensor->empty()) return;
  body.groups = Indices(plan, *groupIndex.tensor), body.groups_at = groupIndex.binding;
  body.room = {plan, body.x.count(), RowGrain(body.x.width()), 2 * body.x.width()};
  plan.SetCost(500 + static_cast<uint64_t>(x.tensor->count()) * 2);
  plan.SetBody(body);
}

namespace {

bool IsDynamic(const Plan& plan, const char* name) {
  const std::string_view mode = name == nullptr ? "" : name;
  if (mode != "dynamic" && mode != "static") RefuseExperts(plan, "quantMode is neither dynamic nor static");
  return mode == "dynamic";
}

bool WithTanh(const Plan& plan, const char* name) {
  const std::string_view how = name == nullptr ? "none" : name;
  if (how != "tanh" && how != "none") RefuseExperts(plan, "approximate is neither none nor tanh");
  return how == "tanh";
}

}  // namespace

void GeluQuant(Plan& plan, DType, const GeluQuantArguments& a) {
  const bool dynamic = IsDynamic(plan, a.quant_mode), tanh = WithTanh(plan, a.approximate);
  const std::string_view rounding = a.round_mode == nullptr ? "rint" : a.round_mode;
  if (rounding != "rint") RefuseExperts(plan, "roundMode is not rint, the only one that there is for INT8");
  if (static_cast<int32_t>(a.dst_type) != static_cast<int32_t>(DType::kI8))
    RefuseExperts(plan, "dstType is not INT8 (2): 8-bit floats are not there yet");
  const Operand& needed = dynamic ? a.out_scale : a.input_scale;
  if (!needed.present())
    Fail(tensor::kNullArgument, "op-masked-result", "{} is null; this quantMode needs it", needed.name);
  CheckExpertRank(plan, a.self, 1, 8);
  std::vector<const Operand*> among = {&a.self};
  const size_t scale_at = among.size();
  if (a.input_scale.present()) among.push_back(&a.input_scale);
  const size_t other_at = among.size();  // the step is a result of the second step
  const Operand& other = dynamic ? a.out_scale : a.input_offset;
  if (other.present()) among.push_back(&other);
  PlanThrough(
      plan, tensor::PackedOf(DType::kF32, a.self.shape()), among, a.y_out,
      [&](Plan& part, const auto& in, const Operand& made) {
        GeluV2(part, DType::kF32, in[0], tanh ? 1 : 0, made);
      },
      [&](Plan& part, const auto& in, const Operand& made, const Operand& to) {
        const Operand by = a.input_scale.present() ? in[scale_at] : Operand{};
        const Operand rest = other.present() ? in[other_at] : Operand{};
        if (dynamic) return DynamicQuant(part, DType::kF32, made, by, to, rest);
        AscendQuant(part, DType::kF32, made, by, rest, false, "round", static_cast<int64_t>(DType::kI8), to);
      });
}

}  // namespace kernels
}  // namespace belay::ops
