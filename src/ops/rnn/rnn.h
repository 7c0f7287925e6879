// Recurrent networks as plans: RNN, GRU and LSTM as ONNX defines them. All tensors are f32 and packed,
// but sequence_lens, which is i32, and weights that are bytes.
#pragma once

#include <string_view>
#include <vector>

#include "ops/schema.h"

namespace belay::ops {

enum class RnnCell { kPlain, kGru, kLstm };

// A function that a gate goes through, with its parameters.
struct RnnFunction {
  float (*apply)(float x, float alpha, float beta);
  float alpha, beta;
};

// By ONNX's name, in any case of letters, with its default parameters; `apply` is null when there is none.
RnnFunction FindRnnFunction(std::string_view name);

// What weights of bytes mean: a scale and a zero point for each direction, or for each column of each. They
// are [directions, inputs or hidden, gates * hidden] then, the other way round than those of f32.
struct RnnBytes {
  Operand scale, zero;  // absent: the weights are f32
  bool is_signed = true, by_column = false;
};

struct RnnArgs {
  RnnCell cell;
  Operand x, w, r, bias, lengths, first_h, first_c, peepholes;  // from bias on they may be absent
  Operand y, last_h, last_c;                                    // each may be absent
  RnnBytes w_bytes, r_bytes;                                    // LSTM: both or none
  int64_t steps, batch, inputs, hidden, directions;
  bool batch_first = false;            // of x, y and the states
  bool reverse = false;                // the only direction runs backwards
  bool reset_after = false;            // GRU: the reset gate acts behind the product
  bool coupled_forget = false;         // LSTM: the forget gate is what the input gate leaves
  float clip = 0;                      // 0: none
  std::vector<RnnFunction> functions;  // for each direction: one, two (GRU) or three (LSTM)
};

void PlanRnn(Plan& plan, const RnnArgs& args);

}  // namespace belay::ops
