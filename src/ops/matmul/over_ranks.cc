// Products of matrices that are summed over the ranks of a group, or of what the ranks have gathered. The
// kernel is the product; what goes between the ranks is queued before it or after it (ops/exchange.h).
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <utility>

#include "base/error.h"
#include "ops/kernels.h"
#include "ops/matmul/linear.h"
#include "ops/rules.h"
#include "tensor/codes.h"
#include "tensor/dims.h"
#include "tensor/views.h"

namespace belay::ops {
namespace {

using tensor::kInvalidArgument;

void CheckWay(int64_t comm_turn, int64_t stream_mode) {
  if (comm_turn != 0)
    Fail(kInvalidArgument, "op-exchange-option", "commTurn is {}; the pages take 0 only", comm_turn);
  if (stream_mode != 1)
    Fail(kInvalidArgument, "op-exchange-option", "streamMode is {}; the pages take 1 only", stream_mode);
}

void CheckSum(const char* reduce_op) {
  if (std::strcmp(reduce_op, "sum") == 0) return;
  Fail(kInvalidArgument, "op-exchange-option", "reduceOp is \"{}\"; the pages take \"sum\" only", reduce_op);
}

void CheckSameTypes(const Operand& first, std::initializer_list<const Operand*> others) {
  for (const Operand* other : others) {
    if (!other->present() || other->dtype() == first.dtype()) continue;
    Fail(kInvalidArgument, "op-product-types", "{} is {} and {} is {}; they have one type", first.name,
         NameOf(first.dtype()), other->name, NameOf(other->dtype()));
  }
}

// Other ranks read it, or it is written from theirs, element after element.
void CheckPacked(const Operand& x) {
  if (tensor::IsPacked(x.tensor->shape, x.tensor->strides)) return;
  Fail(kInvalidArgument, "op-exchange-packed",
       "{} has strides; what goes between ranks lies element after element, so copy it first", x.name);
}

void CheckRanks(const Operand& x, int least, int most) {
  const int rank = x.shape().rank();
  if (rank >= least && rank <= most) return;
  Fail(kInvalidArgument, "op-matrix-shape", "{} has shape {}; it has {} dimensions{}", x.name,
       x.shape().ToString(), least, most > least ? fmt::format(" to {}", most) : "");
}

Exchange::Place PlaceOf(const Operand& x) { return {x.binding, tensor::OffsetOf(*x.tensor)}; }

int64_t BytesIn(const Tensor& packed) {
  return packed.count() * static_cast<int64_t>(tensor::BytesOf(packed.dtype));
}

struct Terms {
  Operand x1, x2, bias, x3, out;
};

// out = x1 x x2 + bias + x3, added up in f32.
void PlanProduct(Plan& plan, const Terms& t) {
  if (t.bias.present() && (t.bias.shape().rank() != 1 || t.bias.shape()[0] != t.x2.shape().back(0))) {
    Fail(kInvalidArgument, "op-matrix-shape", "{} has shape {}; it has one number for each of the {} columns",
         t.bias.name, t.bias.shape().ToString(), t.x2.shape().back(0));
  }
  const Shape shape = rules::AnyMatrix(t.x1, t.x2);
  if (shape != t.out.shape()) {
    Fail(kInvalidArgument, "op-out-shape", "{} has shape {}, but the product has {}", t.out.name,
         t.out.shape().ToString(), shape.ToString());
  }
  if (t.x3.present() && IsSameView(t.x3, t.out)) plan.MayLieOn(t.x3.binding);
  if (!t.bias.present() && !t.x3.present())
    return kernels::Matmul(plan, rules::MatrixType(t.x1, t.x2, t.out), t.x1, t.x2, 0, t.out);
  PlanAddProduct(plan, {.self = t.bias, .mat1 = t.x1, .mat2 = t.x2, .out = t.out, .more = t.x3});
}

// A product one of whose tensors lies in the workspace of the whole.
struct InWorkspaceBody {
  std::shared_ptr<PlanRef> product;
  int from[4];       // for each binding of the product one of the whole; -1: the workspace's begin
  int64_t inner_at;  // the product's own workspace

  void operator()(const Frame& frame) const {
    char* addresses[4];
    for (int i = 0; i < 4; ++i) addresses[i] = from[i] < 0 ? frame.workspace : frame.at[from[i]];
    (*product)->Run({addresses, frame.workspace + inner_at});
  }
};

// `t` has no x3. The operand whose binding is -1 lies in the workspace, with so many bytes.
void PlanInWorkspace(Plan& plan, Terms t, int64_t bytes) {
  auto product = std::make_shared<PlanRef>(NewPlan("product"));
  InWorkspaceBody body{.product = product, .from = {}, .inner_at = WorkspacePart(bytes)};
  int bound = 0;
  for (auto [operand, access] : {std::pair(&t.x1, Access::kRead),
                                 {&t.x2, Access::kRead},
                                 {&t.bias, Access::kRead},
                                 {&t.out, Access::kWrite}}) {
    if (!operand->present()) continue;
    body.from[bound] = operand->binding;
    operand->binding = (*product)->Bind(operand->tensor, access, operand->name, bound, 0);
    ++bound;
  }
  while (bound < 4) body.from[bound] = body.from[0], ++bound;
  PlanProduct(**product, t);
  plan.SetWorkspace(static_cast<uint64_t>(body.inner_at) + (*product)->workspace_bytes());
  plan.SetCost((*product)->cost());
  if ((*product)->has_work()) plan.SetBody(body);
}

void PlanAllReduce(Plan& plan, const Terms& t, const char* group) {
  CheckRanks(t.x1, 2, 3);
  CheckRanks(t.x2, 2, 2);
  CheckSameTypes(t.x1, {&t.x2, &t.bias, &t.x3, &t.out});
  CheckPacked(t.out);
  PlanProduct(plan, t);
  const Exchange::Place place = PlaceOf(t.out);
  plan.SetExchange({.group = group,
                    .kind = Exchange::Kind::kAllReduce,
                    .from = place,
                    .to = place,
                    .count = static_cast<uint64_t>(t.out.tensor->count()),
                    .type = t.out.dtype()});
}

}  // namespace

namespace kernels {

void MatmulAllReduce(Plan& plan, DType, const Operand& x1, const Operand& x2, const Operand& bias,
                     const char* group, const char* reduce_op, int64_t comm_turn, int64_t stream_mode,
                     const Operand& output) {
  CheckSum(reduce_op);
  CheckWay(comm_turn, stream_mode);
  PlanAllReduce(plan, {x1, x2, bias, {}, output}, group);
}

void MatmulAllReduce(Plan& plan, DType, const MatmulAllReduceArguments& a) {
  CheckSum(a.reduce_op);
  CheckWay(a.comm_turn, a.stream_mode);
  PlanAllReduce(plan, {a.x1, a.x2, a.bias, a.x3, a.output}, a.group);
}

void MatmulReduceScatter(Plan& plan, DType, const Operand& x1, const Operand& x2, const Operand& bias,
                         const char* group, const char* reduce_op, int64_t comm_turn, int64_t stream_mode,
                         const Operand& output) {
  CheckSum(reduce_op);
  CheckWay(comm_turn, stream_mode);
  for (const Operand* x : {&x1, &x2, &output}) CheckRanks(*x, 2, 2);
  CheckSameTypes(x1, {&x2, &bias, &output});
  CheckPacked(output);
  Tensor whole = tensor::PackedOf(x1.dtype(), rules::AnyMatrix(x1, x2));
  if (output.shape()[1] != whole.shape[1]) {
    Fail(kInvalidArgument, "op-out-shape", "{} has shape {}, but rows of the product have {} elements",
         output.name, output.shape().ToString(), whole.shape[1]);
  }
  PlanInWorkspace(plan, {x1, x2, bias, {}, Operand{&whole, nullptr, -1, "the product"}}, BytesIn(whole));
  plan.SetExchange({.group = group,
                    .kind = Exchange::Kind::kReduceScatter,
                    .from = {},
                    .to = PlaceOf(output),
                    .count = static_cast<uint64_t>(output.tensor->count()),
                    .type = output.dtype(),
                    .part = output.shape()[0],
                    .whole = whole.shape[0],
                    .part_name = output.name,
                    .whole_name = x1.name});
}

void AllGatherMatmul(Plan& plan, DType, const AllGatherMatmulArguments& a) {
  if (a.gather_index != 0)
    Fail(kInvalidArgument, "op-exchange-option", "gatherIndex is {}; the pages take 0 only", a.gather_index);
  CheckWay(a.comm_turn, a.stream_mode);
  for (const Operand* x : {&a.x1, &a.x2, &a.output}) CheckRanks(*x, 2, 2);
  CheckSameTypes(a.x1, {&a.x2, &a.bias, &a.gather_out, &a.output});
  CheckPacked(a.x1);
  Tensor whole = tensor::PackedOf(a.x1.dtype(), Shape{a.output.shape()[0], a.x1.shape()[1]});
  // torch-npu gives a tensor without elements where the program does not want it.
  const bool kept = a.gather_out.present() && (!a.gather_out.tensor->empty() || whole.empty());
  if (kept) {
    CheckPacked(a.gather_out);
    if (a.gather_out.shape() != whole.shape) {
      Fail(kInvalidArgument, "op-out-shape", "{} has shape {}, but what is gathered for {} rows has {}",
           a.gather_out.name, a.gather_out.shape().ToString(), a.output.shape()[0], whole.shape.ToString());
    }
  }
  const Operand gathered = kept ? a.gather_out : Operand{&whole, nullptr, -1, "what is gathered"};
  PlanInWorkspace(plan, {gathered, a.x2, a.bias, {}, a.output}, kept ? 0 : BytesIn(whole));
  plan.SetExchange({.group = a.group,
                    .kind = Exchange::Kind::kAllGather,
                    .first = true,
                    .from = PlaceOf(a.x1),
                    .to = kept ? PlaceOf(a.gather_out) : Exchange::Place{},
                    .count = static_cast<uint64_t>(a.x1.tensor->count()),
                    .type = a.x1.dtype(),
                    .part = a.x1.shape()[0],
                    .whole = a.output.shape()[0],
                    .part_name = a.x1.name,
                    .whole_name = a.output.name});
}

}  // namespace kernels
}  // namespace belay::ops
