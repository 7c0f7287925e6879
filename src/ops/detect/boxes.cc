#include "ops/detect/boxes.h"

#include <algorithm>
#include <cmath>

#include "ops/packed_doubles.h"

namespace belay::ops {
namespace {

struct CentredBox {
  double x, y, width, height;

  // Of corners; `more`: how far the last pixel reaches beyond its place.
  static CentredBox Of(const double* box, double more) {
    return {(box[0] + box[2]) * 0.5, (box[1] + box[3]) * 0.5, box[2] - box[0] + more, box[3] - box[1] + more};
  }
};

// Not beyond the ends, and NaN stays NaN.
double Within(double x, double low, double high) { return x < low ? low : x > high ? high : x; }

constexpr double kPixel = 1;

void DecodeBox(const BoxDecodeArgs& args, const double* roi, const double* delta, double* out) {
  const CentredBox box = CentredBox::Of(roi, kPixel);
  Four d;
  for (size_t k = 0; k < d.size(); ++k) d[k] = delta[k] * args.deviations[k] + args.means[k];
  const double width = box.width * std::exp(Within(d[2], -args.most, args.most)),
               height = box.height * std::exp(Within(d[3], -args.most, args.most));
  const double x = box.x + box.width * d[0], y = box.y + box.height * d[1];
  out[0] = x - width * 0.5 + 0.5, out[1] = y - height * 0.5 + 0.5;
  out[2] = x + width * 0.5 - 0.5, out[3] = y + height * 0.5 - 0.5;
  for (int k = 0; k < 4; ++k) {
    const double size = k % 2 == 0 ? args.width : args.height;
    if (size > 0) out[k] = Within(out[k], 0, size - 1);
  }
}

}  // namespace

void PlanBoxEncode(Plan& plan, const Operand& anchors, const Operand& truths, const Four& means,
                   const Four& deviations, const Operand& out) {
  const int64_t n = anchors.shape()[0];
  PlanDoubles(plan, {&anchors, &truths}, {&out}, static_cast<uint64_t>(n) * 80,
              [=](const double* const* in, double* const* to) {
                for (int64_t i = 0; i < n; ++i) {
                  const CentredBox box = CentredBox::Of(in[0] + i * 4, kPixel),
                                   truth = CentredBox::Of(in[1] + i * 4, kPixel);
                  const Four delta{(truth.x - box.x) / box.width, (truth.y - box.y) / box.height,
                                   std::log(truth.width / box.width), std::log(truth.height / box.height)};
                  for (size_t k = 0; k < delta.size(); ++k)
                    to[0][i * 4 + static_cast<int64_t>(k)] = (delta[k] - means[k]) / deviations[k];
                }
              });
}

void PlanBoxDecode(Plan& plan, const BoxDecodeArgs& args) {
  const int64_t n = args.rois.shape()[0];
  PlanDoubles(plan, {&args.rois, &args.deltas}, {&args.out}, static_cast<uint64_t>(n) * 80,
              [=](const double* const* in, double* const* to) {
                for (int64_t i = 0; i < n; ++i) DecodeBox(args, in[0] + i * 4, in[1] + i * 4, to[0] + i * 4);
              });
}

void PlanYoloEncode(Plan& plan, const Operand& anchors, const Operand& truths, const Operand& strides,
                    const Operand& out) {
  constexpr double kLeast = 1e-6;
  const int64_t n = anchors.shape()[0];
  PlanDoubles(plan, {&anchors, &truths, &strides}, {&out}, static_cast<uint64_t>(n) * 80,
              [=](const double* const* in, double* const* to) {
                for (int64_t i = 0; i < n; ++i) {
                  const CentredBox box = CentredBox::Of(in[0] + i * 4, 0),
                                   truth = CentredBox::Of(in[1] + i * 4, 0);
                  const double stride = in[2][i];
                  double* result = to[0] + i * 4;
                  result[0] = Within((truth.x - box.x) / stride + 0.5, kLeast, 1 - kLeast);
                  result[1] = Within((truth.y - box.y) / stride + 0.5, kLeast, 1 - kLeast);
                  result[2] = std::log(std::max(kLeast, truth.width / box.width));
                  result[3] = std::log(std::max(kLeast, truth.height / box.height));
                }
              });
}

void PlanAnchorFlags(Plan& plan, const Operand& boxes, const ResponseArgs& args, const Operand& out) {
  const int64_t n = boxes.shape()[0], cells = args.height * args.width;
  PlanDoubles(plan, {&boxes}, {&out}, static_cast<uint64_t>(n * 20 + cells * args.anchors),
              [=](const double* const* in, double* const* to) {
                std::fill_n(to[0], cells * args.anchors, 0.0);
                for (int64_t i = 0; i < n; ++i) {
                  const CentredBox box = CentredBox::Of(in[0] + i * 4, 0);
                  const double cell = std::floor(box.y / args.stride_y) * static_cast<double>(args.width) +
                                      std::floor(box.x / args.stride_x);
                  if (!(cell >= 0 && cell < static_cast<double>(cells))) continue;
                  std::fill_n(to[0] + static_cast<int64_t>(cell) * args.anchors, args.anchors, 1.0);
                }
              });
}

void PlanGridAssign(Plan& plan, const GridAssignArgs& a) {
  const int64_t n = a.out.tensor->count(), most = a.overlaps.shape()[0];
  const auto work = [n, most, positive = a.positive, least = a.least, all = a.all](const double* const* in,
                                                                                   double* const* to) {
    enum { kAssigned, kOverlaps, kFlags, kMost, kMostAt, kMostOfTruth, kMostOfTruthAt, kTruths };
    const auto flagged = [&](int64_t i) { return in[kFlags][i] != 0; };
    for (int64_t i = 0; i < n; ++i)
      to[0][i] = in[kMost][i] > positive && flagged(i) ? in[kMostAt][i] + 1 : in[kAssigned][i];
    for (int64_t t = 0; t < most && static_cast<double>(t) < in[kTruths][0]; ++t) {
      const double best = in[kMostOfTruth][t], at = in[kMostOfTruthAt][t];
      if (!(best > least)) continue;
      for (int64_t i = 0; i < n; ++i) {
        const bool is_best = all ? in[kOverlaps][t * n + i] == best : static_cast<double>(i) == at;
        if (is_best && flagged(i)) to[0][i] = static_cast<double>(t + 1);
      }
    }
  };
  PlanDoubles(plan,
              {&a.assigned, &a.overlaps, &a.flags, &a.most, &a.most_at, &a.most_of_truth, &a.most_of_truth_at,
               &a.truths},
              {&a.out}, static_cast<uint64_t>(a.overlaps.tensor->count()) * 2, work);
}

}  // namespace belay::ops
