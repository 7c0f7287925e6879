// Connectionist temporal classification: the loss of all alignments of labels with steps, and its gradient.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/parallel.h"
#include "ops/index/indices.h"
#include "ops/kernels.h"
#include "ops/layout/checks.h"
#include "ops/packed_floats.h"
#include "ops/scratch.h"
#include "tensor/codes.h"

namespace belay::ops {
namespace {

constexpr double kNever = -std::numeric_limits<double>::infinity();

double LogSum(double a, double b) {
  const double most = std::max(a, b);
  return most == kNever ? kNever : most + std::log(std::exp(a - most) + std::exp(b - most));
}

struct CtcSizes {
  int64_t steps, n, classes, blank, longest;  // longest: of the targets
  std::vector<int64_t> input_lengths, target_lengths, target_begins;

  int64_t states() const { return 2 * longest + 1; }
};

// One sequence: blanks around the labels are its states.
struct Alignment {
  const CtcSizes& s;
  int64_t n;
  const double* log_probs;
  const int64_t* labels;

  int64_t length() const { return s.input_lengths[static_cast<size_t>(n)]; }
  int64_t states() const { return 2 * s.target_lengths[static_cast<size_t>(n)] + 1; }
  int64_t Class(int64_t state) const { return state % 2 == 0 ? s.blank : labels[state / 2]; }
  double LogOf(int64_t t, int64_t state) const { return log_probs[(t * s.n + n) * s.classes + Class(state)]; }
  // A state may follow the one two before it, where these are different labels.
  bool Skips(int64_t state) const {
    return state % 2 == 1 && state > 1 && labels[state / 2] != labels[state / 2 - 1];
  }

  // Of all ways to be in each state after each step, [steps, s.states()].
  void Forward(double* alpha) const {
    std::fill_n(alpha, s.steps * s.states(), kNever);
    for (int64_t t = 0; t < length(); ++t) {
      double* row = alpha + t * s.states();
      for (int64_t k = 0; k < states(); ++k) {
        double before = t == 0 && k < 2 ? 0 : kNever;
        if (t > 0) {
          const double* past = row - s.states();
          before = LogSum(past[k], k > 0 ? past[k - 1] : kNever);
          if (Skips(k)) before = LogSum(before, past[k - 2]);
        }
        row[k] = before + LogOf(t, k);
      }
    }
  }

  double Loss(const double* alpha) const {
    if (length() == 0) return states() == 1 ? 0 : -kNever;
    const double* row = alpha + (length() - 1) * s.states();
    return -LogSum(row[states() - 1], states() > 1 ? row[states() - 2] : kNever);
  }

  // The gradient by the logarithms of the probabilities, as by what a softmax has made them of; `beta` [2,
  // states].
  void Backward(const double* alpha, double loss, double given, double* beta, double* sums,
                double* out) const {
    std::fill_n(beta, 2 * s.states(), kNever);
    for (int64_t t = length(); t-- > 0;) {
      double *row = beta + t % 2 * s.states(), *next = beta + (t + 1) % 2 * s.states();
      for (int64_t k = 0; k < states(); ++k) {
        double after = t + 1 == length() && k + 2 >= states() ? 0 : kNever;
        if (t + 1 < length()) {
          after = LogSum(next[k], k + 1 < states() ? next[k + 1] : kNever);
          if (k + 2 < states() && Skips(k + 2)) after = LogSum(after, next[k + 2]);
        }
        row[k] = after + LogOf(t, k);
      }
      std::fill_n(sums, s.classes, kNever);
      for (int64_t k = 0; k < states(); ++k) {
        double& sum = sums[Class(k)];
        sum = LogSum(sum, alpha[t * s.states() + k] + row[k]);
      }
      const int64_t place = (t * s.n + n) * s.classes;
      for (int64_t c = 0; c < s.classes; ++c) {
        const double log = log_probs[place + c];
        out[place + c] = (std::exp(log) - std::exp(sums[c] + loss - log)) * given;
      }
    }
  }
};

struct CtcBody {
  std::shared_ptr<const CtcSizes> sizes;
  PackedNumbers<double> log_probs, given;  // given: of the gradient
  Indices targets;
  int target_binding;
  bool zero_infinity;
  PackedNumbers<double> loss, alpha, gradient;  // what there is: the first two, or the last
  int64_t wide;                                 // of alpha's last dimension
  Scratch<double> alphas, betas, sums;

  void operator()(const Frame& frame) const {
    const CtcSizes& s = *sizes;
    const double *logs = log_probs.Load(frame), *factors = given.Load(frame);
    const std::span<int64_t> labels = targets.Places(frame, target_binding, s.classes);
    double *losses = loss.Begin(frame), *kept = alpha.Begin(frame), *slopes = gradient.Begin(frame);
    if (slopes != nullptr) std::fill_n(slopes, s.steps * s.n * s.classes, 0.0);
    const int64_t each = s.steps * s.states();
    ParallelFor(s.n, 1, [&](int64_t begin, int64_t end) {
      for (int64_t n = begin; n < end; ++n) {
        const Alignment one{s, n, logs, labels.data() + s.target_begins[static_cast<size_t>(n)]};
        double* all = alphas.At(frame) + n * each;
        one.Forward(all);
        const double found = one.Loss(all);
        const bool ignored = zero_infinity && std::isinf(found);
        if (losses != nullptr) losses[n] = ignored ? 0 : found;
        if (kept != nullptr) Keep(all, kept + n * s.steps * wide);
        if (slopes != nullptr && !ignored) {
          one.Backward(all, found, factors[n], betas.At(frame) + n * 2 * s.states(),
                       sums.At(frame) + n * s.classes, slopes);
        }
      }
    });
    for (const PackedNumbers<double>* result : {&loss, &alpha, &gradient}) result->Finish(frame);
  }

  void Keep(const double* all, double* to) const {
    const int64_t states = sizes->states();
    for (int64_t t = 0; t < sizes->steps; ++t) {
      std::fill_n(to + t * wide, wide, kNever);
      std::copy_n(all + t * states, states, to + t * wide);
    }
  }
};

[[noreturn]] void FailCtc(const char* sentence) { Fail(tensor::kInvalidArgument, "op-ctc", "{}", sentence); }

// Where each sequence's labels begin: in a row of their own, or one after the other.
CtcSizes SizesOf(const Operand& log_probs, const Operand& targets, std::span<const int64_t> inputs,
                 std::span<const int64_t> lengths, int64_t blank) {
  const Shape &shape = log_probs.shape(), &labels = targets.shape();
  if (shape.rank() < 2 || shape.rank() > 3 || log_probs.tensor->empty()) {
    FailCtc("logProbs is [steps, sequences, classes] or [steps, classes], and not empty");
  }
  CtcSizes s{shape[0], shape.rank() == 3 ? shape[1] : 1, shape.back(0), blank, 0, {}, {}, {}};
  if (blank < 0 || blank >= s.classes) FailCtc("blank is one of the classes");
  CheckLength("inputLengths", static_cast<int64_t>(inputs.size()), s.n);
  CheckLength("targetLengths", static_cast<int64_t>(lengths.size()), s.n);
  if (labels.rank() < 1 || labels.rank() > 2 || (labels.rank() == 2 && labels[0] != s.n)) {
    FailCtc("targets is [sequences, labels], or the labels of all sequences one after the other");
  }
  int64_t at = 0;
  for (size_t n = 0; n < lengths.size(); ++n) {
    if (inputs[n] < 0 || inputs[n] > s.steps) FailCtc("inputLengths are at most the number of steps");
    if (lengths[n] < 0 || (labels.rank() == 2 && lengths[n] > labels[1])) {
      FailCtc("targetLengths are at most the number of labels");
    }
    s.target_begins.push_back(labels.rank() == 2 ? static_cast<int64_t>(n) * labels[1] : at);
    at += lengths[n];
    s.longest = std::max(s.longest, lengths[n]);
  }
  if (labels.rank() == 1 && at > labels[0]) FailCtc("targetLengths are at most the number of labels");
  s.input_lengths.assign(inputs.begin(), inputs.end());
  s.target_lengths.assign(lengths.begin(), lengths.end());
  return s;
}

std::shared_ptr<CtcBody> BodyOf(Plan& plan, CtcSizes sizes, const Operand& log_probs, const Operand& targets,
                                bool zero_infinity) {
  auto body = std::make_shared<CtcBody>();
  const int64_t each = sizes.steps * sizes.states();
  body->alphas = {plan, sizes.n * each};
  body->log_probs = PackedNumbers<double>(log_probs, Flow::kIn, plan);
  body->targets = Indices(plan, *targets.tensor), body->target_binding = targets.binding;
  body->zero_infinity = zero_infinity;
  plan.SetCost(1000 + static_cast<uint64_t>(sizes.n * each) * 40);
  body->sizes = std::make_shared<const CtcSizes>(std::move(sizes));
  return body;
}

void SetBody(Plan& plan, std::shared_ptr<const CtcBody> body) {
  plan.SetBody([body = std::move(body)](const Frame& frame) { (*body)(frame); });
}

void CheckAlpha(const Operand& alpha, const CtcSizes& s) {
  const Shape& shape = alpha.shape();
  if (shape.rank() != 3 || shape[0] != s.n || shape[1] != s.steps || shape[2] < s.states()) {
    FailCtc("logAlpha is [sequences, steps, twice the longest target and 1, or more]");
  }
}

}  // namespace

namespace kernels {

void CtcLoss(Plan& plan, DType, const Operand& logProbs, const Operand& targets,
             std::span<const int64_t> inputLengths, std::span<const int64_t> targetLengths, int64_t blank,
             bool zeroInfinity, const Operand& negLogLikelihood, const Operand& logAlpha) {
  CtcSizes sizes = SizesOf(logProbs, targets, inputLengths, targetLengths, blank);
  CheckElements(negLogLikelihood, sizes.n);
  CheckAlpha(logAlpha, sizes);
  for (const Operand* result : {&negLogLikelihood, &logAlpha}) CheckSameType(*result, logProbs);
  const std::shared_ptr<CtcBody> body = BodyOf(plan, std::move(sizes), logProbs, targets, zeroInfinity);
  body->loss = PackedNumbers<double>(negLogLikelihood, Flow::kOut, plan);
  body->alpha = PackedNumbers<double>(logAlpha, Flow::kOut, plan), body->wide = logAlpha.shape()[2];
  SetBody(plan, body);
}

void CtcLossBackward(Plan& plan, DType, const CtcLossBackwardArguments& a) {
  CtcSizes sizes = SizesOf(a.log_probs, a.targets, a.input_lengths, a.target_lengths, a.blank);
  CheckElements(a.grad_out, sizes.n);
  CheckElements(a.neg_log_likelihood, sizes.n);
  CheckAlpha(a.log_alpha, sizes);
  CheckShape(a.out, a.log_probs.shape());
  for (const Operand* each : {&a.grad_out, &a.neg_log_likelihood, &a.log_alpha, &a.out}) {
    CheckSameType(*each, a.log_probs);
  }
  const int64_t states = sizes.states(), classes = sizes.classes, count = sizes.n;
  const std::shared_ptr<CtcBody> body =
      BodyOf(plan, std::move(sizes), a.log_probs, a.targets, a.zero_infinity);
  body->given = PackedNumbers<double>(a.grad_out, Flow::kIn, plan);
  body->gradient = PackedNumbers<double>(a.out, Flow::kOut, plan);
  body->betas = {plan, count * 2 * states}, body->sums = {plan, count * classes};
  SetBody(plan, body);
}

}  // namespace kernels
}  // namespace belay::ops
