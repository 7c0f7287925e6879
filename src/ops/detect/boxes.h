// Boxes of detection networks, as plans: how far they overlap, how far they are from others, and which of
// them to keep. Operands may have any type of floats and any layout; all is computed in f64.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "ops/schema.h"

namespace belay::ops {

// The part that both boxes have of what either has; the same less the share of the box around both that
// neither has; less the squared distance of the centres by the diagonal; less also how far the ratios of the
// sides are apart.
enum class OverlapKind : uint8_t { kIou, kGiou, kDiou, kCiou };

struct OverlapRule {
  OverlapKind kind = OverlapKind::kIou;
  bool centred = false;         // boxes are a centre with a width and a height, else two corners
  bool of_others = false;       // the common part by the other box alone (kIou)
  double more = 0;              // added to each width and height (kIou)
  bool common_has_more = true;  // also to those of the common part
};

struct OverlapArgs {
  OverlapRule rule;
  bool columns = false;        // boxes are [4, n], else [n, 4]
  bool each = false;           // box i with other i, else every one with every one
  bool boxes_outside = false;  // the result is [n, m], else [m, n]
  Operand boxes, others, out;
  Operand angles = {};  // kCiou: how far apart the angles of the diagonals are; may be absent
};
void PlanOverlaps(Plan& plan, const OverlapArgs& args);

// grad [n]: of box i and other i, boxes [4, n].
struct OverlapGradientArgs {
  OverlapRule rule;
  Operand grad, boxes, others, grad_boxes, grad_others;
};
void PlanOverlapGradient(Plan& plan, const OverlapGradientArgs& args);

// Boxes [n, 4] that are corners of pixels, each with the last that it has; what a network learns for each,
// and back.
using Four = std::array<double, 4>;
void PlanBoxEncode(Plan& plan, const Operand& anchors, const Operand& truths, const Four& means,
                   const Four& deviations, const Operand& out);
struct BoxDecodeArgs {
  Operand rois = {}, deltas = {}, out = {};
  Four means = {}, deviations = {};
  double height = 0, width = 0;  // of the image that boxes end in; 0: none
  double most = 0;               // of the logarithms of sizes
};
void PlanBoxDecode(Plan& plan, const BoxDecodeArgs& args);
// Boxes [n, 4] and the stride of each.
void PlanYoloEncode(Plan& plan, const Operand& anchors, const Operand& truths, const Operand& strides,
                    const Operand& out);

struct ResponseArgs {
  int64_t height, width, anchors;
  double stride_x, stride_y;
};
// out [height * width * anchors]: 1 for each anchor of a cell in which the centre of a box lies.
void PlanAnchorFlags(Plan& plan, const Operand& boxes, const ResponseArgs& args, const Operand& out);

struct GridAssignArgs {
  Operand assigned, overlaps, flags, most, most_at, most_of_truth, most_of_truth_at, truths, out;
  double positive, least;
  bool all;
};
void PlanGridAssign(Plan& plan, const GridAssignArgs& args);

// Boxes that are turned by an angle in degrees: [batch, 5, n].
struct TurnedRule {
  bool corners = false;  // before they are turned, else a centre with a width and a height
  bool shares = false;   // of what either has, else the area
};
void PlanTurnedOverlaps(Plan& plan, const Operand& boxes, const Operand& others, const TurnedRule& rule,
                        const Operand& out);
void PlanTurnedEncode(Plan& plan, const Operand& anchors, const Operand& truths, const Operand& out);
void PlanTurnedDecode(Plan& plan, const Operand& anchors, const Operand& deltas, const Operand& out);

// The places of those to keep, the best first: none that has more than `overlap` in common with a better one.
struct TurnedChoice {
  double overlap, least_score;
  int64_t most;  // negative: no bound
  bool corners;  // and the angle turns the other way
};
std::vector<int64_t> ChooseTurned(const std::vector<double>& boxes, const std::vector<double>& scores,
                                  const TurnedChoice& choice);

// scored [n, 5 or more], the best first: mask 1 for those to keep, places 0, 1, 2, ...
void PlanBoxMask(Plan& plan, const Operand& scored, double overlap, const Operand& kept,
                 const Operand& places, const Operand& mask);

struct ClassChoice {
  double least_score, overlap;
  int64_t most_of_class, most;
};
// boxes [batch, n, 1 or classes, 4] and scores [batch, n, classes]: the best of all classes, and zeros.
void PlanClassBoxes(Plan& plan, const Operand& boxes, const Operand& scores, const ClassChoice& choice,
                    const std::array<Operand, 4>& out);

}  // namespace belay::ops
