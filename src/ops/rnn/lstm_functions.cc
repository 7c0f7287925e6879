// The functions of the C interface that train LSTMs.
#include <algorithm>

#include "base/error.h"
#include "ops/kernels.h"
#include "ops/layout/checks.h"
#include "ops/rnn/lstm_training.h"
#include "tensor/codes.h"

namespace belay::ops::kernels {
namespace {

void CheckNoDropout(int64_t layers, double dropout, bool train) {
  if (train && dropout != 0 && layers > 1) {
    Fail(tensor::kInvalidArgument, "op-lstm-dropout",
         "dropout is {}; between layers it is not supported by this version: the function takes no seed",
         dropout);
  }
}

template <class Arguments>
LstmArgs TakeLstm(const Arguments& a) {
  CheckNoDropout(a.num_layers, a.dropout, a.train);
  CheckLength("hx", static_cast<int64_t>(a.hx.size()), 2);
  return {.input = a.input,
          .params = a.params,
          .h0 = a.hx[0],
          .c0 = a.hx[1],
          .layers = a.num_layers,
          .biased = a.has_biases,
          .bidirectional = a.bidirectional,
          .batch_first = a.batch_first,
          .batch_sizes = a.batch_sizes};
}

// What is not kept where nothing trains has no elements of its own: the client passes numbers.
OperandList WhenTrained(const OperandList& list, bool train) {
  const bool given =
      std::any_of(list.begin(), list.end(), [](const Operand& o) { return o.shape().rank() != 0; });
  return train || given ? list : OperandList{};
}

}  // namespace

void Lstm(Plan& plan, DType, const LstmArguments& a) {
  PlanLstmTraining(plan, TakeLstm(a),
                   {.i = WhenTrained(a.i_out, a.train),
                    .j = WhenTrained(a.j_out, a.train),
                    .f = WhenTrained(a.f_out, a.train),
                    .o = WhenTrained(a.o_out, a.train),
                    .h = WhenTrained(a.h_list_out, a.train),
                    .c = WhenTrained(a.c_list_out, a.train),
                    .tanhc = WhenTrained(a.tanhc_out, a.train)},
                   a.output, a.h_out, a.c_out);
}

void LstmBackward(Plan& plan, DType, const LstmBackwardArguments& a) {
  PlanLstmGradient(plan, TakeLstm(a),
                   {.i = a.i, .j = a.j, .f = a.f, .o = a.o, .h = a.h, .c = a.c, .tanhc = a.tanhc},
                   {.dy = a.dy,
                    .dh = a.dh,
                    .dc = a.dc,
                    .dx = a.dx_out,
                    .dh_prev = a.dh_prev_out,
                    .dc_prev = a.dc_prev_out,
                    .params = a.dparams_out});
}

}  // namespace belay::ops::kernels
