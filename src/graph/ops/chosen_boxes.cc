// Which boxes to keep of those that overlap.
#include <algorithm>

#include "graph/ops/window.h"
#include "graph/translation.h"
#include "graph/translations.h"
#include "ops/detect/boxes.h"
#include "ops/sort/nms.h"

namespace belay::graph::translate {
namespace {

using ops::Operand;

// Many, but so few that they can be counted in INT32.
constexpr int64_t kMostBoxes = 1 << 24;

Constant WholeNumbers(const std::vector<int64_t>& numbers, const Shape& shape) {
  auto value = std::make_shared<HostTensor>(DType::kI32, shape);
  std::transform(numbers.begin(), numbers.end(), value->as<int32_t>(),
                 [](int64_t number) { return static_cast<int32_t>(number); });
  return value;
}

double OneNumber(const Translation& node, int i) {
  if (node.in(i).count() != 1)
    node.Refuse("input '" + std::string(node.schema().inputs[static_cast<size_t>(i)].name) +
                "' is one number");
  return node.value(i).Reals()[0];
}

}  // namespace

void NMSWithMask(Translation& node) {
  const Shape& shape = node.shape(0);
  if (!IsFloat(node.dtype(0)) || shape.rank() != 2 || shape[1] < 5)
    node.Refuse("box_scores has two dimensions: rows of two corners and a score");
  const Tensor kept = node.Out(0, node.dtype(0), {shape[0], 5}),
               places = node.Out(1, DType::kI32, {shape[0]}), mask = node.Out(2, DType::kU8, {shape[0]});
  node.Step("NMSWithMask", [&](ops::Plan& plan) {
    Binder bind(plan);
    const Operand scored = bind.Read(node.in(0), "box_scores"), boxes = bind.Write(kept, "selected_boxes"),
                  at = bind.Write(places, "selected_idx");
    ops::PlanBoxMask(plan, scored, node.Float("iou_threshold"), boxes, at, bind.Write(mask, "selected_mask"));
  });
}

void NonMaxSuppressionV4(Translation& node) {
  const Shape &boxes = node.shape(0), &scores = node.shape(1);
  if (boxes.rank() != 2 || boxes[1] != 4 || scores.rank() != 1 || scores[0] != boxes[0] ||
      !IsFloat(node.dtype(0)) || !IsFloat(node.dtype(1)))
    node.Refuse("boxes are [n, 4] and scores [n], of floats");
  const double most = OneNumber(node, 2);
  if (!(most >= 0 && most <= static_cast<double>(kMostBoxes))) node.Refuse("max_output_size is out of range");
  ops::BoxChoice choice;
  choice.most = static_cast<int64_t>(most), choice.overlap = OneNumber(node, 3);
  choice.has_least_score = true, choice.least_score = OneNumber(node, 4);
  std::vector<int64_t> places;
  for (const auto& found :
       ops::ChooseBoxes(node.value(0).Reals(), node.value(1).Reals(), 1, 1, boxes[0], choice))
    places.push_back(found[2]);
  const auto count = static_cast<int64_t>(places.size());
  places.resize(static_cast<size_t>(choice.most));
  node.OutValue(0, WholeNumbers(places, {choice.most}));
  node.OutValue(1, WholeNumbers({count}, {}));
}

void BatchMultiClassNonMaxSuppression(Translation& node) {
  const Shape &boxes = node.shape(0), &scores = node.shape(1);
  if (node.has(2) || node.has(3)) node.Refuse("clip_window and num_valid_boxes are not read by this version");
  if (boxes.rank() != 4 || scores.rank() != 3 || boxes[3] != 4 || scores[0] != boxes[0] ||
      scores[1] != boxes[1] || (boxes[2] != 1 && boxes[2] != scores[2]) || !IsFloat(node.dtype(0)) ||
      !IsFloat(node.dtype(1)))
    node.Refuse("boxes are [batch, n, 1 or classes, 4] and scores [batch, n, classes], of floats");
  const ops::ClassChoice choice{node.Float("score_threshold"), node.Float("iou_threshold"),
                                node.Int("max_size_per_class"), node.Int("max_total_size")};
  if (choice.most_of_class < 0 || choice.most < 0 || choice.most > kMostBoxes)
    node.Refuse("max_size_per_class and max_total_size are out of range");
  const int64_t batches = boxes[0];
  const Tensor out[] = {node.Out(0, node.dtype(0), {batches, choice.most, 4}),
                        node.Out(1, node.dtype(0), {batches, choice.most}),
                        node.Out(2, node.dtype(0), {batches, choice.most}),
                        node.Out(3, DType::kI32, {batches})};
  node.Step("BatchMultiClassNonMaxSuppression", [&](ops::Plan& plan) {
    Binder bind(plan);
    const Operand from = bind.Read(node.in(0), "boxes"), scored = bind.Read(node.in(1), "scores");
    const std::array<Operand, 4> results{
        bind.Write(out[0], "nmsed_boxes"), bind.Write(out[1], "nmsed_scores"),
        bind.Write(out[2], "nmsed_classes"), bind.Write(out[3], "nmsed_num")};
    ops::PlanClassBoxes(plan, from, scored, choice, results);
  });
}

void RotatedNMS(Translation& node) {
  const Shape &boxes = node.shape(0), &scores = node.shape(1);
  const int64_t mode = node.Int("mode");
  if (boxes.rank() != 2 || boxes[1] != 5 || scores.rank() != 1 || scores[0] != boxes[0] ||
      node.dtype(0) != DType::kF32 || !IsFloat(node.dtype(1)))
    node.Refuse("boxes are [n, 5], of FLOAT, and scores [n]");
  if (node.in(2).count() != 1) node.Refuse("all boxes have one label");
  if (mode != 0 && mode != 1) node.Refuse("mode is 0 or 1");
  const std::vector<double> numbers = node.value(0).Reals();
  const std::vector<int64_t> chosen = ops::ChooseTurned(numbers, node.value(1).Reals(),
                                                        {.overlap = node.Float("iou_threshold"),
                                                         .least_score = node.Float("score_threshold"),
                                                         .most = node.Int("max_output_size"),
                                                         .corners = mode == 1});
  const auto count = static_cast<int64_t>(chosen.size());
  auto kept = std::make_shared<HostTensor>(DType::kF32, Shape{count, 5});
  float* to = kept->as<float>();
  for (const int64_t i : chosen) {
    to = std::transform(numbers.begin() + i * 5, numbers.begin() + i * 5 + 5, to,
                        [](double number) { return static_cast<float>(number); });
  }
  node.OutValue(0, kept);
  node.OutValue(1, WholeNumbers(chosen, {count}));
}

}  // namespace belay::graph::translate
