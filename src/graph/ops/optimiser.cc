// Steps of optimisers, whose results are the tensors that they move.
#include "graph/ops/pointwise.h"
#include "graph/translation.h"
#include "graph/translations.h"
#include "ops/forms.h"
#include "ops/kernels.h"

namespace belay::graph::translate {
namespace {

// Result i, which is input i before the step.
Tensor Moved(Translation& node, int i) {
  const Tensor& before = node.in(i);
  const Tensor after = node.Out(i, before.dtype, before.shape);
  node.Copy(before, after);
  return after;
}

}  // namespace

void ApplyAdamD(Translation& node) {
  const Tensor var = Moved(node, 0), m = Moved(node, 1), v = Moved(node, 2);
  node.Step("ApplyAdam", [&](ops::Plan& plan) {
    const auto read = [&](int i, const char* name) { return Read(plan, node.in(i), name); };
    const Operand x = ReadWrite(plan, var, "var"), mean = ReadWrite(plan, m, "m"),
                  square = ReadWrite(plan, v, "v");
    ops::kernels::ApplyAdam(plan, var.dtype,
                            {.var = x,
                             .m = mean,
                             .v = square,
                             .beta1_power = read(3, "beta1_power"),
                             .beta2_power = read(4, "beta2_power"),
                             .lr = read(5, "lr"),
                             .beta1 = read(6, "beta1"),
                             .beta2 = read(7, "beta2"),
                             .epsilon = read(8, "epsilon"),
                             .grad = read(9, "grad"),
                             .use_nesterov = node.Bool("use_nesterov"),
                             .var_out = x,
                             .m_out = mean,
                             .v_out = square});
  });
}

void ApplyAdamW(Translation& node) {
  const bool amsgrad = node.Bool("amsgrad");
  if (amsgrad && !node.has(11)) node.Refuse("with amsgrad max_grad_norm is needed");
  const Tensor var = Moved(node, 0), m = Moved(node, 1), v = Moved(node, 2);
  Tensor largest;
  if (amsgrad) {
    largest = node.Temporary(node.dtype(11), node.shape(11));
    node.Copy(node.in(11), largest);
  }
  const Tensor* none = nullptr;
  node.Run(ops::forms::ApplyAdamW,
           {Arg(&var), Arg(&m), Arg(&v), Arg(&node.in(3)), Arg(&node.in(4)), Arg(&node.in(5)),
            Arg(&node.in(6)), Arg(&node.in(7)), Arg(&node.in(8)), Arg(&node.in(9)), Arg(&node.in(10)),
            Arg(amsgrad ? &largest : none), Arg(amsgrad), Arg(node.Bool("maximize"))});
}

}  // namespace belay::graph::translate
