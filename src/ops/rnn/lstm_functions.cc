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

LstmArgs ArgsOf(const Operand& input, const OperandList& params, const OperandList& hx, bool biased,
                int64_t layers, bool bidirectional, bool batch_first) {
  CheckLength("hx", static_cast<int64_t>(hx.size()), 2);
  return {input, params, hx[0], hx[1], layers, biased, bidirectional, batch_first};
}

// What is not kept where nothing trains has no elements of its own: the client passes numbers.
OperandList WhenTrained(const OperandList& list, bool train) {
  const bool given =
      std::any_of(list.begin(), list.end(), [](const Operand& o) { return o.shape().rank() != 0; });
  return train || given ? list : OperandList{};
}

}  // namespace

void Lstm(Plan& plan, DType, const Operand& input, const OperandList& params, const OperandList& hx,
          const Operand& batchSizes, bool hasBiases, int64_t numLayers, double dropout, bool train,
          bool bidirectional, bool batchFirst, const Operand& output, const Operand& hOut,
          const Operand& cOut, const OperandList& i, const OperandList& j, const OperandList& f,
          const OperandList& o, const OperandList& h, const OperandList& c, const OperandList& tanhc) {
  CheckNoDropout(numLayers, dropout, train);
  LstmArgs args = ArgsOf(input, params, hx, hasBiases, numLayers, bidirectional, batchFirst);
  args.batch_sizes = batchSizes;
  PlanLstmTraining(
      plan, args,
      {WhenTrained(i, train), WhenTrained(j, train), WhenTrained(f, train), WhenTrained(o, train),
       WhenTrained(h, train), WhenTrained(c, train), WhenTrained(tanhc, train)},
      output, hOut, cOut);
}

void LstmBackward(Plan& plan, DType, const Operand& input, const OperandList& hx, const OperandList& params,
                  const Operand& dy, const Operand& dh, const Operand& dc, const OperandList& i,
                  const OperandList& j, const OperandList& f, const OperandList& o, const OperandList& h,
                  const OperandList& c, const OperandList& tanhc, const Operand& batchSizes, bool hasBiases,
                  int64_t numLayers, double dropout, bool train, bool bidirectional, bool batchFirst,
                  std::span<const uint8_t>, const Operand& dx, const Operand& dhPrev, const Operand& dcPrev,
                  const OperandList& dparams) {
  CheckNoDropout(numLayers, dropout, train);
  LstmArgs args = ArgsOf(input, params, hx, hasBiases, numLayers, bidirectional, batchFirst);
  args.batch_sizes = batchSizes;
  PlanLstmGradient(plan, args, {i, j, f, o, h, c, tanhc}, {dy, dh, dc, dx, dhPrev, dcPrev, dparams});
}

}  // namespace belay::ops::kernels
