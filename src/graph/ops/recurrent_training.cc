// Recurrent networks of one layer and direction that keep what their gradients need, and the gradients.
#include <array>
#include <string>
#include <vector>

#include "graph/ops/bind.h"
#include "graph/translation.h"
#include "graph/translations.h"
#include "ops/rnn/gru_training.h"
#include "ops/rnn/lstm_training.h"

namespace belay::graph::translate {
namespace {

using ops::Operand;

void RequireOneType(const Translation& node, std::initializer_list<int> inputs) {
  const DType type = node.dtype(0);
  if (type != DType::kF32 && type != DType::kF16 && type != DType::kBF16)
    node.Refuse(std::string(NameOf(type)) + " is not computed");
  for (int i : inputs) {
    if (node.has(i) && node.dtype(i) != type) {
      node.Refuse("its inputs are of one type; input " + std::to_string(i) + " is " + NameOf(node.dtype(i)));
    }
  }
}

// An input that only a number stands for is not there.
void RefuseGiven(const Translation& node, std::initializer_list<int> inputs, const char* what) {
  for (int i : inputs) {
    if (node.has(i) && node.shape(i).rank() != 0) node.Refuse(std::string(what) + " is not supported");
  }
}

void CheckCell(const Translation& node) {
  const double keep = node.Float("keep_prob");
  if (keep != 1 && keep != -1) node.Refuse("keep_prob is 1: nothing is dropped");
  const int64_t depth = node.Int("cell_depth");
  if (depth != 0 && depth != 1) node.Refuse("cell_depth is 1: there is one layer");
}

// [n, states], whether a leading 1 stands before them or not; zeros where there is none.
Tensor FirstState(Translation& node, int input, int64_t n, int64_t states) {
  if (node.has(input)) {
    if (node.in(input).count() != n * states) {
      node.Refuse("input " + std::to_string(input) + " is a state for each sequence");
    }
    return Translation::Reshaped(node.in(input), {n, states});
  }
  const Tensor zeros = node.Temporary(node.dtype(0), {n, states});
  node.Run(ops::forms::InplaceZero, {Arg(&zeros)});
  return zeros;
}

// Where the gates i, f, j and o stand.
std::array<int, 4> GatesOf(const Translation& node) {
  const std::string order = node.String("gate_order");
  if (order == "ifjo" || order == "ifco") return {0, 1, 2, 3};
  if (order != "ijfo") node.Refuse("gate_order is ijfo, ifjo or ifco, not " + order);
  return {0, 2, 1, 3};
}

bool UpdateFirst(const Translation& node) {
  const std::string order = node.String("gate_order");
  if (order != "rzh" && order != "zrh") node.Refuse("gate_order is rzh or zrh, not " + order);
  return order == "zrh";
}

struct LstmSizes {
  int64_t steps, n, in, states;
};

LstmSizes LstmSizesOf(const Translation& node) {
  const Shape &x = node.shape(0), &w = node.shape(1), &b = node.shape(2);
  if (x.rank() != 3 || w.rank() != 2 || b.rank() != 1 || b[0] % 4 != 0 || w[1] != b[0] ||
      w[0] != x[2] + b[0] / 4) {
    node.Refuse("x is [steps, sequences, features], w [features + states, 4 * states] and b [4 * states]");
  }
  return {x[0], x[1], x[2], b[0] / 4};
}

// Weights as an LSTM of several layers has them: turned. The parts of w [in + states, 4 * states], or the
// matrices [in, 4 * states] and [states, 4 * states].
std::array<Tensor, 2> PartsOf(const Tensor& w, const LstmSizes& s) {
  const int64_t width = 4 * s.states;
  return {Translation::View(w, {width, s.in}, {1, width}),
          Translation::View(w, {width, s.states}, {1, width}, s.in * width)};
}
std::array<Tensor, 2> PartsOf(const Tensor& w_x, const Tensor& w_h, const LstmSizes& s) {
  const int64_t width = 4 * s.states;
  return {Translation::View(w_x, {width, s.in}, {1, width}),
          Translation::View(w_h, {width, s.states}, {1, width})};
}

// Whether the last step comes first.
bool IsReversed(const Translation& node) {
  const std::string direction = node.String("direction");
  if (direction == "REDIRECTIONAL") return true;
  if (direction != "UNIDIRECTIONAL")
    node.Refuse("direction is UNIDIRECTIONAL or REDIRECTIONAL, not " + direction);
  return false;
}

// The steps that sequences have: [steps, sequences, states], 0 where one has not, the same for all its
// states. A number stands for none.
Tensor StepMaskOf(const Translation& node, int input, const LstmSizes& s) {
  if (!node.has(input) || node.shape(input).rank() == 0) return {};
  const Tensor mask = node.in(input);
  if (mask.shape != Shape{s.steps, s.n, s.states})
    node.Refuse("seq_length is a mask [steps, sequences, states], not " + mask.shape.ToString());
  return Translation::View(mask, {s.steps, s.n}, {s.n * s.states, s.states});
}

// What holds of one layer and direction.
Tensor Stacked(const Tensor& state) {
  return Translation::Reshaped(state, {1, state.shape[0], state.shape[1]});
}

// Tensors that the operands of a plan point to.
struct LstmTensors {
  Tensor x;
  std::array<Tensor, 2> w;
  Tensor b;  // undefined: none
  Tensor h0, c0;
  Tensor mask;  // undefined: all have all steps
  bool reversed;

  LstmTensors(Translation& node, const LstmSizes& s, const std::array<Tensor, 2>& weights, const Tensor& bias,
              int first_h, int seq_length)
      : x(Translation::Reshaped(node.in(0), {s.steps, s.n, s.in})),
        w(weights),
        b(bias),
        h0(Stacked(FirstState(node, first_h, s.n, s.states))),
        c0(Stacked(FirstState(node, first_h + 1, s.n, s.states))),
        mask(StepMaskOf(node, seq_length, s)),
        reversed(IsReversed(node)) {}

  ops::LstmArgs Bind(ops::Plan& plan, const std::array<int, 4>& gates) const {
    const bool biased = IsKnown(b.dtype);
    ops::LstmArgs args{.input = ReadFrom(plan, x, "x"),
                       .params = {ReadFrom(plan, w[0], "w"), ReadFrom(plan, w[1], "w")},
                       .h0 = ReadFrom(plan, h0, "init_h"),
                       .c0 = ReadFrom(plan, c0, "init_c"),
                       .layers = 1,
                       .biased = biased,
                       .bidirectional = false,
                       .batch_first = false,
                       .one_bias = biased,
                       .gates = gates,
                       .reversed = reversed};
    if (IsKnown(mask.dtype)) args.mask = ReadFrom(plan, mask, "seq_length");
    if (biased) args.params.push_back(ReadFrom(plan, b, "b"));
    return args;
  }
};

// Results y, output_h, output_c, i, j, f, o, tanhc at all steps.
void TrainLstm(Translation& node, const char* name, const LstmSizes& s, const LstmTensors& tensors) {
  const std::array<int, 4> gates = GatesOf(node);
  std::vector<Tensor> out;
  for (int i = 0; i < node.output_count(); ++i)
    out.push_back(node.Out(i, node.dtype(0), {s.steps, s.n, s.states}));
  node.Step(name, [&](ops::Plan& plan) {
    const ops::LstmArgs args = tensors.Bind(plan, gates);
    const Operand y = WrittenTo(plan, out[0], "y");
    ops::LstmKept kept;
    ops::OperandList* const lists[] = {&kept.h, &kept.c, &kept.i, &kept.j, &kept.f, &kept.o, &kept.tanhc};
    for (size_t i = 1; i < out.size(); ++i) *lists[i - 1] = {WrittenTo(plan, out[i], "a gate or state")};
    ops::PlanLstmTraining(plan, args, kept, y, {}, {});
  });
}

// What there is at all steps; a leading 1 may be left out.
Tensor AtSteps(const Translation& node, int input, const LstmSizes& s) {
  const int64_t count = node.in(input).count(), rows = s.in == 0 ? 0 : node.in(0).count() / s.in;
  if (rows == 0) node.Refuse("x has no elements; this gradient needs some");
  if (count % rows != 0 || count / rows != s.states)
    node.Refuse("input " + std::to_string(input) + " is a state for each step and sequence");
  return Translation::Reshaped(node.in(input), {s.steps, s.n, s.states});
}

// Results of a gradient.
struct LstmSlopes {
  std::array<Tensor, 2> w;
  Tensor b, x, h, c;
};

// The inputs from `first` on: init_h, init_c, h, c, dy, dh, dc, i, j, f, o, tanhc.
void DeriveLstm(Translation& node, const char* name, int first, const LstmSizes& s,
                const LstmTensors& tensors, const LstmSlopes& to) {
  const std::array<int, 4> gates = GatesOf(node);
  const Tensor given_h = Stacked(FirstState(node, first + 5, s.n, s.states)),
               given_c = Stacked(FirstState(node, first + 6, s.n, s.states));
  const Tensor to_x = Translation::Reshaped(to.x, {s.steps, s.n, s.in}),
               to_h = Translation::Reshaped(to.h, {1, s.n, s.states}),
               to_c = Translation::Reshaped(to.c, {1, s.n, s.states}), dy = AtSteps(node, first + 4, s);
  constexpr int kKept[] = {7, 8, 9, 10, 2, 3, 11};  // i, j, f, o, h, c, tanhc
  std::array<Tensor, 7> kept;
  for (size_t i = 0; i < kept.size(); ++i) kept[i] = AtSteps(node, first + kKept[i], s);
  node.Step(name, [&](ops::Plan& plan) {
    const ops::LstmArgs args = tensors.Bind(plan, gates);
    std::array<ops::OperandList, 7> lists;
    for (size_t i = 0; i < kept.size(); ++i) lists[i] = {ReadFrom(plan, kept[i], "a gate or state")};
    const ops::LstmKept all{lists[0], lists[1], lists[2], lists[3], lists[4], lists[5], lists[6]};
    const ops::LstmGradients gradients{
        .dy = ReadFrom(plan, dy, "dy"),
        .dh = ReadFrom(plan, given_h, "dh"),
        .dc = ReadFrom(plan, given_c, "dc"),
        .dx = WrittenTo(plan, to_x, "dx"),
        .dh_prev = WrittenTo(plan, to_h, "dh_prev"),
        .dc_prev = WrittenTo(plan, to_c, "dc_prev"),
        .params = {WrittenTo(plan, to.w[0], "dw"), WrittenTo(plan, to.w[1], "dw"),
                   WrittenTo(plan, to.b, "db")}};
    ops::PlanLstmGradient(plan, args, all, gradients);
  });
}

}  // namespace

void DynamicRNN(Translation& node) {
  CheckCell(node);
  RequireOneType(node, {1, 2, 4, 5});
  RefuseGiven(node, {6, 7, 8}, "a peephole");
  RefuseGiven(node, {9}, "a mask of cells");
  const LstmSizes s = LstmSizesOf(node);
  TrainLstm(node, "DynamicRNN", s, {node, s, PartsOf(node.in(1), s), node.in(2), 4, 3});
}

// Inputs: x, w, b, y, init_h, init_c, h, c, dy, dh, dc, i, j, f, o, tanhc.
void DynamicRNNGrad(Translation& node) {
  CheckCell(node);
  const auto cell = node.node().attributes.find("cell_type");
  const auto* name = cell == node.node().attributes.end() ? nullptr : std::get_if<std::string>(&cell->second);
  if (name != nullptr && *name != "LSTM") node.Refuse("cell_type is LSTM, not " + *name);
  RequireOneType(node, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15});
  RefuseGiven(node, {17}, "a mask of cells");
  RefuseGiven(node, {18, 19, 20}, "a peephole");
  const LstmSizes s = LstmSizesOf(node);
  const DType type = node.dtype(0);
  const Tensor dw = node.Out(0, type, node.shape(1));
  const Tensor db = node.Out(1, type, node.shape(2)), dx = node.Out(2, type, node.shape(0)),
               dh = node.Out(3, type, node.shape(4)), dc = node.Out(4, type, node.shape(5));
  DeriveLstm(node, "DynamicRNNGrad", 4, s, {node, s, PartsOf(node.in(1), s), node.in(2), 4, 16},
             {PartsOf(dw, s), db, dx, dh, dc});
}

namespace {

// Of weights that stand apart, inputs 1 and 2. torch-npu leaves out the one step of x.
LstmSizes ApartSizesOf(const Translation& node) {
  const Shape &w = node.shape(1), &u = node.shape(2);
  Shape x = node.shape(0);
  if (x.rank() == 2) x = {1, x[0], x[1]};
  if (x.rank() != 3 || w.rank() != 2 || u.rank() != 2 || w[0] != x[2] || w[1] % 4 != 0 || u[0] != w[1] / 4 ||
      u[1] != w[1])
    node.Refuse(
        "x is [steps, sequences, features] and the weights [features, 4 * states] and [states, 4 * states]");
  return {x[0], x[1], x[2], u[0]};
}

}  // namespace

// Inputs: x, weight_input, weight_hidden, b, seq_length, init_h, init_c.
void DynamicRNNV2(Translation& node) {
  CheckCell(node);
  RequireOneType(node, {1, 2, 3, 5, 6});
  RefuseGiven(node, {7, 8, 9}, "a peephole");
  RefuseGiven(node, {10}, "a mask of cells");
  const LstmSizes s = ApartSizesOf(node);
  TrainLstm(node, "DynamicRNNV2", s,
            {node, s, PartsOf(node.in(1), node.in(2), s), node.has(3) ? node.in(3) : Tensor(), 5, 4});
}

// Inputs: x, w_x, w_h, y, init_h, init_c, h, c, dy, dh, dc, i, j, f, o, tanhc.
void DynamicRNNV2Grad(Translation& node) {
  CheckCell(node);
  RequireOneType(node, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15});
  RefuseGiven(node, {20}, "a mask of cells");
  RefuseGiven(node, {17, 18, 19}, "a peephole");
  const LstmSizes s = ApartSizesOf(node);
  const DType type = node.dtype(0);
  const Tensor dw = node.Out(0, type, node.shape(1)), du = node.Out(1, type, node.shape(2)),
               db = node.Out(2, type, {4 * s.states}), dx = node.Out(3, type, node.shape(0)),
               dh = node.Out(4, type, node.shape(4)), dc = node.Out(5, type, node.shape(5));
  const Tensor zeros = node.Temporary(type, db.shape);  // a gradient depends on no bias
  node.Run(ops::forms::InplaceZero, {Arg(&zeros)});
  DeriveLstm(node, "DynamicRNNV2Grad", 4, s, {node, s, PartsOf(node.in(1), node.in(2), s), zeros, 4, 16},
             {PartsOf(dw, du, s), db, dx, dh, dc});
}

namespace {

// The inputs x, weight_input, weight_hidden and, from `bias` on, both biases.
ops::GruArgs BindGru(const Translation& node, ops::Plan& plan, int bias, const Tensor& h0) {
  ops::GruArgs args{.x = ReadFrom(plan, node.in(0), "x"),
                    .w_input = ReadFrom(plan, node.in(1), "weight_input"),
                    .w_hidden = ReadFrom(plan, node.in(2), "weight_hidden"),
                    .b_input = {},
                    .b_hidden = {},
                    .h0 = ReadFrom(plan, h0, "init_h"),
                    .update_first = UpdateFirst(node)};
  if (bias > 0 && node.has(bias)) args.b_input = ReadFrom(plan, node.in(bias), "bias_input");
  if (bias > 0 && node.has(bias + 1)) args.b_hidden = ReadFrom(plan, node.in(bias + 1), "bias_hidden");
  return args;
}

// The number of states, where the shapes are those of a GRU.
int64_t GruStates(const Translation& node) {
  const Shape &x = node.shape(0), &w = node.shape(2);
  if (x.rank() != 3 || w.rank() != 2 || w[1] != 3 * w[0]) {
    node.Refuse("x is [steps, sequences, features] and weight_hidden [states, 3 * states]");
  }
  return w[0];
}

}  // namespace

void DynamicGRUV2(Translation& node) {
  CheckCell(node);
  RequireOneType(node, {1, 2, 3, 4, 6});
  if (node.has(5)) node.Refuse("seq_length is not supported");
  const int64_t states = GruStates(node), steps = node.shape(0)[0], n = node.shape(0)[1];
  std::vector<Tensor> out;
  const Shape each{steps, n, states};
  for (int i = 0; i < 6; ++i) {
    out.push_back(i < node.output_count() ? node.Out(i, node.dtype(0), each)
                                          : node.Temporary(node.dtype(0), each));
  }
  const Tensor h0 = FirstState(node, 6, n, states);
  node.Step("DynamicGRUV2", [&](ops::Plan& plan) {
    const ops::GruArgs args = BindGru(node, plan, 3, h0);
    const auto to = [&](size_t i, const char* name) { return WrittenTo(plan, out[i], name); };
    const Operand y = to(0, "y"), h = to(1, "output_h");
    ops::PlanGruTraining(plan, args, {to(2, "update"), to(3, "reset"), to(4, "new"), to(5, "hidden_new"), h},
                         y);
  });
}

// Inputs: x, weight_input, weight_hidden, y, init_h, h, dy, dh, update, reset, new, hidden_new.
void DynamicGRUV2Grad(Translation& node) {
  CheckCell(node);
  RequireOneType(node, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
  RefuseGiven(node, {12, 13}, "a mask of sequences");
  const int64_t states = GruStates(node), n = node.shape(0)[1];
  const DType type = node.dtype(0);
  const Tensor dw_input = node.Out(0, type, node.shape(1)), dw_hidden = node.Out(1, type, node.shape(2)),
               db_input = node.Out(2, type, {3 * states}), db_hidden = node.Out(3, type, {3 * states}),
               dx = node.Out(4, type, node.shape(0)), dh_prev = node.Out(5, type, node.shape(4));
  const Tensor h0 = FirstState(node, 4, n, states), dh = FirstState(node, 7, n, states);
  const Tensor to_h = Translation::Reshaped(dh_prev, {n, states});
  node.Step("DynamicGRUV2Grad", [&](ops::Plan& plan) {
    const auto kept = [&](int i, const char* name) { return ReadFrom(plan, node.in(i), name); };
    const ops::GruArgs args = BindGru(node, plan, 0, h0);
    const ops::GruKept all{kept(8, "update"), kept(9, "reset"), kept(10, "new"), kept(11, "hidden_new"),
                           kept(5, "h")};
    ops::PlanGruGradient(plan, args, all,
                         {.dy = kept(6, "dy"),
                          .dh = ReadFrom(plan, dh, "dh"),
                          .w_input = WrittenTo(plan, dw_input, "dw_input"),
                          .w_hidden = WrittenTo(plan, dw_hidden, "dw_hidden"),
                          .b_input = WrittenTo(plan, db_input, "db_input"),
                          .b_hidden = WrittenTo(plan, db_hidden, "db_hidden"),
                          .x = WrittenTo(plan, dx, "dx"),
                          .h0 = WrittenTo(plan, to_h, "dh_prev")});
  });
}

}  // namespace belay::graph::translate
