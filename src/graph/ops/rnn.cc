// Recurrent networks.
#include "ops/rnn/rnn.h"

#include "graph/ops/window.h"
#include "graph/translation.h"
#include "graph/translations.h"

namespace belay::graph::translate {
namespace {

using ops::RnnCell;

// The functions of all directions, with the parameters that the node gives them.
std::vector<ops::RnnFunction> FunctionsOf(const Translation& node, int64_t directions,
                                          std::initializer_list<const char*> usual) {
  auto names = std::get<std::vector<std::string>>(
      AttributeOf(node.node(), {"activations", AttributeKind::kStrings, false, "", AttributeUse::kRead}));
  for (int64_t d = 0; names.size() < usual.size() * static_cast<size_t>(directions); ++d)
    names.insert(names.end(), usual.begin(), usual.end());
  std::vector<double> alpha = node.Floats("activation_alpha"), beta = node.Floats("activation_beta");
  size_t next_alpha = 0, next_beta = 0;
  std::vector<ops::RnnFunction> functions;
  for (const std::string& name : names) {
    ops::RnnFunction function = ops::FindRnnFunction(name);
    if (function.apply == nullptr) node.Refuse("there is no activation '" + name + "'");
    // Parameters stand in the order of the functions that have them.
    if (function.alpha != 0 && next_alpha < alpha.size())
      function.alpha = static_cast<float>(alpha[next_alpha++]);
    bool has_beta = function.beta != 0 || name == "Affine";
    if (has_beta && next_beta < beta.size()) function.beta = static_cast<float>(beta[next_beta++]);
    functions.push_back(function);
  }
  return functions;
}

ops::RnnArgs ArgsOf(const Translation& node, RnnCell cell, std::initializer_list<const char*> functions,
                    int hidden_axis = 2) {
  const Shape &x = node.shape(0), &r = node.shape(2);
  if (x.rank() != 3 || r.rank() != 3) node.Refuse("x and r have three dimensions");
  std::string direction = node.String("direction");
  ops::RnnArgs args{};
  args.cell = cell;
  args.batch_first = node.Int("layout") == 1;
  args.steps = x[args.batch_first ? 1 : 0], args.batch = x[args.batch_first ? 0 : 1], args.inputs = x[2];
  args.hidden = r[hidden_axis];
  args.directions = direction == "bidirectional" ? 2 : 1;
  args.reverse = direction == "reverse";
  args.clip = static_cast<float>(node.Float("clip"));
  args.functions = FunctionsOf(node, args.directions, functions);
  if (node.Int("hidden_size") != 0 && node.Int("hidden_size") != args.hidden)
    node.Refuse("hidden_size is not that of r");
  return args;
}

constexpr int kByteScales = 8;  // the inputs from here on: scale and zero point of w, those of r
bool HasBytes(const Translation& node) { return node.node().type == "DynamicQuantizeLSTM"; }
bool StaysAsItIs(const Translation& node, int input) {
  return HasBytes(node) && (input == 1 || input == 2 || input == kByteScales + 1 || input == kByteScales + 3);
}

// Inputs and outputs by their numbers; the kernel computes with f32.
struct Ends {
  std::vector<Tensor> in, out;
};

Ends EndsOf(Translation& node, const ops::RnnArgs& a, int inputs) {
  Ends ends;
  for (int i = 0; i < inputs; ++i) {
    if (!node.has(i)) {
      ends.in.emplace_back();
    } else if (StaysAsItIs(node, i)) {
      ends.in.push_back(node.Packed(node.in(i)));
    } else {
      ends.in.push_back(node.Cast(node.in(i), i == 4 ? DType::kI32 : DType::kF32));
    }
  }
  Shape y = a.batch_first ? Shape{a.batch, a.steps, a.directions, a.hidden}
                          : Shape{a.steps, a.directions, a.batch, a.hidden};
  Shape state =
      a.batch_first ? Shape{a.batch, a.directions, a.hidden} : Shape{a.directions, a.batch, a.hidden};
  for (int i = 0; i < node.output_count(); ++i) {
    const Shape& shape = i == 0 ? y : state;
    Tensor out = node.Out(i, node.dtype(0), shape);
    ends.out.push_back(out.dtype == DType::kF32 ? out : node.Temporary(DType::kF32, shape));
  }
  return ends;
}

void AddRnn(Translation& node, const char* name, ops::RnnArgs args, int inputs) {
  Ends ends = EndsOf(node, args, inputs);
  node.Step(name, [&](ops::Plan& plan) {
    Binder bind(plan);
    ops::Operand* in[] = {&args.x,
                          &args.w,
                          &args.r,
                          &args.bias,
                          &args.lengths,
                          &args.first_h,
                          &args.first_c,
                          &args.peepholes,
                          &args.w_bytes.scale,
                          &args.w_bytes.zero,
                          &args.r_bytes.scale,
                          &args.r_bytes.zero};
    static constexpr const char* kNames[] = {"x",         "w",         "r", "b",       "sequence_lens",
                                             "initial_h", "initial_c", "p", "w_scale", "w_zero",
                                             "r_scale",   "r_zero"};
    for (int i = 0; i < inputs; ++i) {
      if (node.has(i)) *in[i] = bind.Read(ends.in[static_cast<size_t>(i)], kNames[i]);
    }
    ops::Operand* out[] = {&args.y, &args.last_h, &args.last_c};
    for (int i = 0; i < node.output_count(); ++i) *out[i] = bind.Write(ends.out[static_cast<size_t>(i)], "y");
    ops::PlanRnn(plan, args);
  });
  if (node.dtype(0) == DType::kF32) return;
  for (int i = 0; i < node.output_count(); ++i) {
    node.Copy(ends.out[static_cast<size_t>(i)],
              node.Out(i, node.dtype(0), ends.out[static_cast<size_t>(i)].shape));
  }
}

}  // namespace

void RNN(Translation& node) { AddRnn(node, "RNN", ArgsOf(node, RnnCell::kPlain, {"Tanh"}), 6); }

void GRU(Translation& node) {
  ops::RnnArgs args = ArgsOf(node, RnnCell::kGru, {"Sigmoid", "Tanh"});
  args.reset_after = node.Int("linear_before_reset") != 0;
  AddRnn(node, "GRU", args, 6);
}

void LSTM(Translation& node) {
  ops::RnnArgs args = ArgsOf(node, RnnCell::kLstm, {"Sigmoid", "Tanh", "Tanh"});
  args.coupled_forget = node.Int("input_forget") != 0;
  AddRnn(node, "LSTM", args, 8);
}

namespace {

// One number for each direction, or one for each of its columns.
ops::RnnBytes BytesOf(const Translation& node, const ops::RnnArgs& args, int weights, int scale) {
  const int64_t columns = 4 * args.hidden;
  DType type = node.dtype(weights);
  if (type != DType::kI8 && type != DType::kU8)
    node.Refuse(std::string("weights of ") + NameOf(type) + " are not bytes");
  if (!node.has(scale) || !node.has(scale + 1)) node.Refuse("the weights need a scale and a zero point");
  const int64_t scales = node.in(scale).count(), zeros = node.in(scale + 1).count();
  const bool by_column = scales == args.directions * columns && zeros == scales;
  if (!by_column && (scales != args.directions || zeros != scales)) {
    node.Refuse("there is one scale and one zero point for each direction, or for each of its columns");
  }
  return {{}, {}, type == DType::kI8, by_column};
}

}  // namespace

void DynamicQuantizeLSTM(Translation& node) {
  ops::RnnArgs args = ArgsOf(node, RnnCell::kLstm, {"Sigmoid", "Tanh", "Tanh"}, 1);
  args.coupled_forget = node.Int("input_forget") != 0;
  args.w_bytes = BytesOf(node, args, 1, kByteScales);
  args.r_bytes = BytesOf(node, args, 2, kByteScales + 2);
  AddRnn(node, "DynamicQuantizeLSTM", args, 12);
}

}  // namespace belay::graph::translate
