// The loss of connectionist temporal classification, and its gradient.
#include <algorithm>
#include <vector>

#include "graph/translation.h"
#include "graph/translations.h"
#include "ops/forms.h"

namespace belay::graph::translate {
namespace {

constexpr int64_t kStates = 8;  // the states of a step are a multiple of so many

// What both take alike: the inputs from `first` on are log_probs, targets and both lengths.
struct SequenceLoss {
  int64_t n, classes, blank, longest;
  std::vector<int64_t> input_lengths, label_lengths;

  SequenceLoss(Translation& node, int first) {
    const Shape& shape = node.shape(first);
    if (shape.rank() < 2 || shape.rank() > 3 || node.in(first).count() == 0)
      node.Refuse("log_probs is [steps, sequences, classes] or [steps, classes], and not empty");
    n = shape.rank() == 3 ? shape[1] : 1, classes = shape.back(0);
    const int64_t said = node.Int("blank");
    if (said < 0) node.Refuse("blank is not below 0");
    blank = said % classes, longest = said / classes;
    input_lengths = node.ints(first + 2), label_lengths = node.ints(first + 3);
    for (const int64_t length : label_lengths) longest = std::max(longest, length);
    if (longest > node.in(first + 1).count()) node.Refuse("a target has more labels than there are");
  }

  // [sequences, steps, states]
  Shape AlphaShape(int64_t steps) const {
    return {n, steps, (2 * longest + 1 + kStates - 1) / kStates * kStates};
  }
};

tensor::IntArray LengthArray(const std::vector<int64_t>& values) { return {values.data(), values.size()}; }

}  // namespace

void CTCLossV2(Translation& node) {
  const SequenceLoss loss(node, 0);
  const Tensor &log_probs = node.in(0), &targets = node.in(1);
  const Shape alphas = loss.AlphaShape(log_probs.shape[0]);
  const Tensor likelihood = node.Out(0, log_probs.dtype, {loss.n});
  const Tensor alpha = node.output_count() > 1 ? node.Out(1, log_probs.dtype, alphas)
                                               : node.Temporary(log_probs.dtype, alphas);
  const tensor::IntArray inputs = LengthArray(loss.input_lengths), labels = LengthArray(loss.label_lengths);
  node.Run(ops::forms::CtcLoss, {Arg(&log_probs), Arg(&targets), Arg(&inputs), Arg(&labels), Arg(loss.blank),
                                 Arg(node.Bool("zero_infinity")), Arg(&likelihood), Arg(&alpha)});
}

void CTCLossV2Grad(Translation& node) {
  const SequenceLoss loss(node, 1);
  const Tensor& log_probs = node.in(1);
  const Tensor grad = node.Out(0, log_probs.dtype, log_probs.shape);
  const tensor::IntArray inputs = LengthArray(loss.input_lengths), labels = LengthArray(loss.label_lengths);
  node.Run(ops::forms::CtcLossBackward,
           {Arg(&node.in(0)), Arg(&log_probs), Arg(&node.in(2)), Arg(&inputs), Arg(&labels), Arg(&node.in(5)),
            Arg(&node.in(6)), Arg(loss.blank), Arg(node.Bool("zero_infinity")), Arg(&grad)});
}

}  // namespace belay::graph::translate
