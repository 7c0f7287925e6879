// One attention of parts over different keys, each with the logarithm of the sum of its exponentials.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/error.h"
#include "base/parallel.h"
#include "ops/experts/experts.h"
#include "ops/experts/rows.h"
#include "ops/kernels.h"
#include "ops/layout/checks.h"

namespace belay::ops {
namespace {

constexpr int64_t kMostParts = 16, kLeastWidth = 8, kMostWidth = 512;

struct MergeBody {
  struct Part {
    Rows lse, out;
  };
  std::vector<Part> parts;
  Rows out, lse;

  void operator()(const Frame& frame) const {
    ParallelFor(out.count(), RowGrain(out.width()), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) Row(frame, i);
    });
  }

  void Row(const Frame& frame, int64_t i) const {
    float levels[kMostParts], most = -std::numeric_limits<float>::infinity();
    for (size_t k = 0; k < parts.size(); ++k) {
      levels[k] = parts[k].lse.At(frame, i, 0);
      most = std::max(most, levels[k]);
    }
    double sum = 0;
    for (size_t k = 0; k < parts.size(); ++k) sum += std::exp(static_cast<double>(levels[k] - most));
    const double level = static_cast<double>(most) + std::log(sum);
    alignas(64) float merged[kMostWidth] = {}, buffer[kMostWidth];
    for (size_t k = 0; k < parts.size(); ++k) {
      const auto share = static_cast<float>(std::exp(static_cast<double>(levels[k]) - level));
      const float* row = parts[k].out.Load(frame, i, buffer);
      for (int64_t d = 0; d < out.width(); ++d) merged[d] += row[d] * share;
    }
    out.Store(frame, i, merged);
    if (lse.present()) lse.Set(frame, i, 0, static_cast<float>(level));
  }
};

}  // namespace

namespace kernels {

void AttentionUpdate(Plan& plan, DType, const OperandList& lse, const OperandList& localOut,
                     int64_t updateType, const Operand& out, const Operand& lseOut) {
  const auto count = static_cast<int64_t>(lse.size());
  if (count < 1 || count > kMostParts || localOut.size() != lse.size())
    RefuseExperts(plan, "lse and localOut are lists of one length, between 1 and 16");
  if (updateType != 0 && updateType != 1) RefuseExperts(plan, "updateType is 0, or 1 for lseOut as well");
  CheckExpertRank(plan, out, 2, 2);
  const int64_t rows = out.shape()[0], width = out.shape()[1];
  if (width < kLeastWidth || width > kMostWidth || width % kLeastWidth != 0)
    RefuseExperts(plan, "rows of localOut have 8 to 512 elements, a multiple of 8");
  MergeBody body{{}, Rows(out), {}};
  for (size_t k = 0; k < lse.size(); ++k) {
    CheckExpertShape(plan, lse[k], {rows});
    CheckExpertShape(plan, localOut[k], {rows, width});
    CheckSameType(localOut[k], out);
    body.parts.push_back({Rows(lse[k], true), Rows(localOut[k])});
  }
  if (updateType == 1) {
    if (!lseOut.present()) RefuseExperts(plan, "updateType is 1, but lseOut is null");
    CheckExpertShape(plan, lseOut, {rows});
    body.lse = Rows(lseOut, true);
  }
  if (rows == 0) return;
  plan.SetCost(100 + static_cast<uint64_t>(out.tensor->count() * count) / 2);
  plan.SetBody(std::move(body));
}

}  // namespace kernels
}  // namespace belay::ops
