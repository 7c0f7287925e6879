// Products of many pairs of matrices in one call: groups of rows, or of what is summed over, that a list of
// numbers on the device divides. The sizes are known when it runs, so each core takes blocks of the results
// as they come.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "base/error.h"
#include "base/parallel.h"
#include "ops/conv/activation.h"
#include "ops/experts/experts.h"
#include "ops/experts/group_factors.h"
#include "ops/experts/grouped_panels.h"
#include "ops/experts/matrix_block.h"
#include "ops/experts/rows.h"
#include "ops/index/indices.h"
#include "ops/kernels.h"
#include "ops/matmul/panels.h"
#include "ops/matmul/tiles.h"
#include "ops/scratch.h"
#include "ops/tiled.h"
#include "tensor/codes.h"

namespace belay::ops {
namespace {

// Of matrices that lie ready the backend reads long rows; others are brought into such blocks.
constexpr int64_t kBlockRows = 256, kBlockColumns = 256, kReadyColumns = 1024;
// So many products of two INT8 are summed exactly as floats: 2^10 * 2^7 * 2^7 is 2^24.
constexpr int64_t kExactDepth = 1024;

enum class Split { kNone, kRows, kDepth };
struct Product {
  MatrixPlace a, b, c;
  Rows bias;
  int64_t bias_row = 0;
  NibblePlace nibbles = {};  // b, where its elements have four bits
  GroupFactors factors = {};
  PanelPlace panels = {};  // b, where panels are made of it
};

// A block of the result of a group.
struct Piece {
  int64_t m, n, depth;
  int64_t a_row, c_row, column, from;  // where it begins; `from`: of what is summed over
};

// A group while the task runs.
struct Group {
  int64_t product, begin, count;  // of the rows, or of what is summed over
  int64_t first_part;
};

int64_t BlocksOf(int64_t count, int64_t block) { return (count + block - 1) / block; }

struct GroupedBody {
  std::shared_ptr<const std::vector<Product>> products;
  std::vector<int64_t> known;  // numbers of the groups, where tensors or the caller's array tell
  Indices list;
  int list_at = -1;
  ListType list_type = kEnds;
  Split split = Split::kNone;
  bool shares_a = false, shares_c = false;  // one tensor for all groups
  bool adds = false;                        // to what the result holds
  Quantised quantised = Quantised::kNo;
  Activation activation;
  Scratch<Group> groups;
  PieceScratch<float> room;
  int64_t a_room = 0, b_room = 0, block_columns = kBlockColumns;

  void operator()(const Frame& frame) const {
    Group* found = groups.At(frame);
    const int64_t count = Groups(frame, found);
    int64_t parts = 0;
    for (int64_t i = 0; i < count; ++i) {
      found[i].first_part = parts;
      parts += RowBlocks(found[i]) * ColumnBlocks(found[i]);
    }
    room.For(frame, [&](int64_t begin, int64_t end, float* mine) {
      for (int64_t part = begin; part < std::min(end, parts); ++part) {
        const Group* group = std::upper_bound(found, found + count, part,
                                              [](int64_t p, const Group& g) { return p < g.first_part; });
        RunPart(frame, group[-1], part - group[-1].first_part, mine);
      }
    });
  }

  const Product& Of(const Group& g) const { return (*products)[static_cast<size_t>(g.product)]; }
  int64_t RowsOf(const Group& g) const { return split == Split::kRows ? g.count : Of(g).a.rows; }
  int64_t RowBlocks(const Group& g) const { return BlocksOf(RowsOf(g), kBlockRows); }
  int64_t ColumnBlocks(const Group& g) const { return BlocksOf(Of(g).b.columns, block_columns); }

  // The groups by the list, and by what is known of them.
  int64_t Groups(const Frame& frame, Group* found) const {
    const auto count = static_cast<int64_t>(products->size());
    if (list_at < 0) {
      int64_t begin = 0;
      for (int64_t i = 0; i < count; ++i) {
        const int64_t n = split == Split::kNone ? 0 : known[static_cast<size_t>(i)];
        found[i] = {i, begin, n, 0};
        begin += n;
      }
      return count;
    }
    const std::span<const int64_t> numbers = list.Read(frame, list_at);
    const int64_t total = Total(), each = list_type == kPairs ? 2 : 1;
    int64_t begin = 0;
    for (int64_t i = 0; i < count; ++i) {
      const int64_t number = numbers[static_cast<size_t>(i * each + each - 1)];
      const int64_t before = list_type == kEnds ? begin : 0;
      const int64_t n = number < before ? -1 : number - before;
      const int64_t product = list_type == kPairs ? numbers[static_cast<size_t>(i * 2)] : i;
      if (n < 0 || n > total - begin || product < 0 || product >= count ||
          (!known.empty() && n != known[static_cast<size_t>(i)])) {
        Fail(kIndexFault, "experts-groups",
             "groupList gives group {} {} of {} rows, of which {} were taken before; it must fit the tensors",
             i, n, total, begin);
      }
      found[i] = {product, begin, n, 0};
      begin += n;
    }
    return count;
  }

  // What the groups divide.
  int64_t Total() const {
    if (!known.empty()) {
      int64_t sum = 0;
      for (int64_t n : known) sum += n;
      return sum;
    }
    const Product& p = products->front();
    return split == Split::kDepth ? p.a.columns : p.a.rows;
  }

  void RunPart(const Frame& frame, const Group& g, int64_t part, float* mine) const {
    const Product& p = Of(g);
    const int64_t blocks = ColumnBlocks(g), r = part / blocks * kBlockRows, c = part % blocks * block_columns;
    const Piece piece{std::min(kBlockRows, RowsOf(g) - r),
                      std::min(block_columns, p.b.columns - c),
                      split == Split::kDepth ? g.count : p.a.columns,
                      r + (split == Split::kRows && shares_a ? g.begin : 0),
                      r + (split == Split::kRows && shares_c ? g.begin : 0),
                      c,
                      split == Split::kDepth && shares_a ? g.begin : 0};
    if (quantised == Quantised::kBytes) return RunBytes(frame, p, piece, mine);
    if (p.panels.present()) return RunPanels(frame, p, piece, mine);
    const int64_t m = piece.m, n = piece.n;
    const bool direct = p.c.TakesProducts() && !adds;
    auto* to = direct ? reinterpret_cast<float*>(p.c.Of(frame, piece.c_row, c)) : mine + a_room + b_room;
    const int64_t ld = direct ? (m == 1 ? n : p.c.row / MatrixPlace::kFloat) : n;
    MultiplyFloats({m, n, piece.depth, p.a.Block(frame, piece.a_row, m, piece.from, piece.depth, mine),
                    WeightBlock(frame, p, piece, mine + a_room), to, ld, GemmType::kF32, GemmType::kF32});
    for (int64_t i = 0; i < m; ++i) Finish(frame, p, to + i * ld, piece.c_row + i, c, n, direct);
  }

  GemmMatrix WeightBlock(const Frame& frame, const Product& p, const Piece& piece, float* buffer) const {
    if (quantised == Quantised::kNo)
      return p.b.Block(frame, piece.from, piece.depth, piece.column, piece.n, buffer);
    const GemmMatrix block = p.nibbles.binding >= 0
                                 ? p.nibbles.Block(frame, 0, piece.depth, piece.column, piece.n, buffer)
                                 : p.b.Block(frame, 0, piece.depth, piece.column, piece.n, buffer);
    p.factors.Spread(frame, 0, piece.column, piece.depth, piece.n, block);
    return block;
  }

  // Floats, by panels of BFLOAT16 or of small integers.
  void RunPanels(const Frame& frame, const Product& p, const Piece& piece, float* mine) const {
    float* to = mine + a_room + b_room;
    const PanelPart part = PartOf(p, piece);
    if (quantised == Quantised::kWeights) {
      part.MultiplyScaled(frame, mine, mine + a_room, to);
    } else {
      part.MultiplyFloats(frame, mine, to);
    }
    for (int64_t i = 0; i < piece.m; ++i)
      Finish(frame, p, to + i * piece.n, piece.c_row + i, piece.column, piece.n, false);
  }

  static PanelPart PartOf(const Product& p, const Piece& piece) {
    return {p.a, p.panels, p.factors, piece.m, piece.n, piece.depth, piece.a_row, piece.from, piece.column};
  }

  // INT8 times INT8: so many rows at once as floats sum exactly.
  void RunBytes(const Frame& frame, const Product& p, const Piece& piece, float* mine) const {
    const int64_t m = piece.m, n = piece.n;
    float* part = mine + a_room + b_room;
    auto* sums = reinterpret_cast<int32_t*>(part + kBlockRows * kBlockColumns);
    std::fill_n(sums, m * n, 0);
    if (p.panels.present() && piece.depth != 0) PartOf(p, piece).SumBytes(frame, mine, sums);
    for (int64_t k = p.panels.present() ? piece.depth : 0; k < piece.depth; k += kExactDepth) {
      const int64_t depth = std::min(kExactDepth, piece.depth - k);
      MultiplyFloats({m, n, depth, p.a.Block(frame, piece.a_row, m, k, depth, mine),
                      p.b.Block(frame, k, depth, piece.column, n, mine + a_room), part, n, GemmType::kF32,
                      GemmType::kF32});
      for (int64_t i = 0; i < m * n; ++i) {
        const auto more = static_cast<uint32_t>(static_cast<int32_t>(part[i]));
        sums[i] = static_cast<int32_t>(static_cast<uint32_t>(sums[i]) + more);
      }
    }
    for (int64_t i = 0; i < m; ++i)
      FinishBytes(frame, p, sums + i * n, piece.a_row + i, piece.c_row + i, piece.column, n);
  }

  void FinishBytes(const Frame& frame, const Product& p, int32_t* sums, int64_t token, int64_t r, int64_t c,
                   int64_t n) const {
    p.factors.Add(frame, c, n, sums);
    char* to = p.c.Of(frame, r, c);
    if (p.c.type == DType::kI32) {
      for (int64_t i = 0; i < n; ++i) std::memcpy(to + i * p.c.column, sums + i, sizeof(int32_t));
      return;
    }
    alignas(64) float values[kBlockColumns], block[kBlockColumns];
    p.factors.Scale(frame, sums, token, c, n, p.c.type == DType::kI8, values);
    if (p.bias.present()) {
      const float* bias = p.bias.Load(frame, p.bias_row, c, n, block);
      for (int64_t i = 0; i < n; ++i) values[i] += bias[i];
    }
    Activated(values, n);
    Lane(p.c.type, DType::kF32, p.c.column).Store(to, values, n, false);
  }

  void Activated(float* values, int64_t n) const {
    if (activation.kind == ActivationKind::kNone) return;
    for (int64_t i = 0; i < n; ++i)
      values[i] = static_cast<float>(Activate(activation, static_cast<double>(values[i])));
  }

  // What comes after the product of a row.
  void Finish(const Frame& frame, const Product& p, float* row, int64_t r, int64_t c, int64_t n,
              bool direct) const {
    alignas(64) float block[kReadyColumns];
    if (p.bias.present()) {
      const float* bias = p.bias.Load(frame, p.bias_row, c, n, block);
      for (int64_t i = 0; i < n; ++i) row[i] += bias[i];
    }
    Activated(row, n);
    if (direct) return;
    char* to = p.c.Of(frame, r, c);
    const Lane lane(p.c.type, DType::kF32, p.c.column);
    if (adds) {
      const auto* was = static_cast<const float*>(lane.Load(block, to, n));
      for (int64_t i = 0; i < n; ++i) row[i] += was[i];
    }
    lane.Store(to, row, n, false);
  }
};

// Blocks of the results at most, where a group has all of the shared rows or each some.
int64_t MostParts(const GroupedBody& body, const std::vector<Product>& products, int64_t shared_rows) {
  int64_t parts = 1 + shared_rows / kBlockRows * BlocksOf(products.front().b.columns, body.block_columns);
  for (const Product& p : products) {
    const int64_t rows = body.split == Split::kRows && body.shares_a ? 0 : p.a.rows;
    parts += (rows / kBlockRows + 1) * BlocksOf(p.b.columns, body.block_columns);
  }
  return parts;
}

// Room for blocks of a and b, and what is returned: beside them, in floats.
int64_t BesideRoom(GroupedBody* body, const Product& p, int64_t depth, bool ready_a, bool ready_b,
                   bool ready_c) {
  constexpr int64_t kBlock2 = kBlockRows * kBlockColumns;
  const bool bytes = body->quantised == Quantised::kBytes, weights = body->quantised == Quantised::kWeights;
  if (p.panels.present()) {
    const int64_t each = bytes ? 1 : weights ? 4 : 2;  // bytes of what an element of a becomes, at most
    body->a_room = (kBlockRows * depth * each + MatrixPlace::kFloat - 1) / MatrixPlace::kFloat;
    body->b_room = weights ? kBlockRows * (depth / std::max<int64_t>(p.factors.depth, 1)) : 0;
    return (bytes ? 2 : 1) * kBlock2;
  }
  const int64_t lines = bytes ? std::min(depth, kExactDepth) : depth;
  body->a_room = ready_a ? 0 : kBlockRows * lines, body->b_room = ready_b ? 0 : kBlockColumns * lines;
  return (bytes ? 2 : ready_c ? 0 : 1) * kBlock2;
}

// Where the products are and how many rows each may have at most is known before.
void PlanGroups(Plan& plan, GroupedBody body, std::vector<Product> products, int64_t shared_rows) {
  int64_t depth = 1;
  double work = 0;
  bool ready_a = true, ready_b = true, ready_c = !body.adds;
  for (const Product& p : products) {
    const int64_t rows = body.split == Split::kRows && body.shares_a ? 0 : p.a.rows;
    depth = std::max(depth, p.a.columns);
    ready_a = ready_a && p.a.LiesReady(), ready_b = ready_b && p.b.LiesReady();
    ready_c = ready_c && p.c.TakesProducts();
    work += static_cast<double>(rows) * static_cast<double>(p.b.columns) * static_cast<double>(p.a.columns);
  }
  const Product& p = products.front();
  if (shared_rows > 0) {
    work += static_cast<double>(shared_rows) * static_cast<double>(p.b.columns) * static_cast<double>(depth);
  }
  if (body.split == Split::kDepth && body.shares_a) work /= static_cast<double>(products.size());
  if (ready_b && ready_c && body.quantised == Quantised::kNo) body.block_columns = kReadyColumns;
  int64_t parts = MostParts(body, products, shared_rows);
  // Cores would wait for the last; how many of them there are changes no sum.
  constexpr int64_t kFewParts = 16;
  if (parts < kFewParts) {
    body.block_columns = kBlockColumns;
    parts = MostParts(body, products, shared_rows);
  }
  constexpr double kWorthACore = 1e6;
  const auto grain =
      std::max<int64_t>(1, static_cast<int64_t>(kWorthACore * static_cast<double>(parts) / (work + 1)));
  const int64_t beside = BesideRoom(&body, p, depth, ready_a, ready_b, ready_c);
  body.groups = Scratch<Group>(plan, static_cast<int64_t>(products.size()));
  body.room = PieceScratch<float>(plan, parts, std::min(grain, parts), body.a_room + body.b_room + beside);
  body.products = std::make_shared<const std::vector<Product>>(std::move(products));
  plan.SetCost(2000 + static_cast<uint64_t>(work / 32));
  plan.SetBody(body);
}

struct GroupedArgs {
  const OperandList &x, &weight, &bias, &out;
  const Operand* list;  // on the device, or none
  std::span<const int64_t> ends;
  int64_t split_item, type, list_type, activation;
  const OperandList *scale = nullptr, *weight_scale = nullptr, *weight_shift = nullptr, *token = nullptr;
};

bool HasTensors(const OperandList& list) {
  return std::any_of(list.begin(), list.end(), [](const Operand& o) { return !o.tensor->empty(); });
}

void RefuseGiven(const Plan& plan, std::initializer_list<const OperandList*> lists) {
  for (const OperandList* list : lists) {
    if (!HasTensors(*list)) continue;
    Fail(tensor::kInvalidArgument, "experts-quantised",
         "{}: {} is given, which these products do not have here; pass null", plan.function(),
         list->front().name);
  }
}

int64_t Outer(const Operand& o) {
  int64_t count = 1;
  for (int d = 0; d < o.shape().rank() - 2; ++d) count *= o.shape()[d];
  return count;
}

Activation ActivationOf(const Plan& plan, int64_t type) {
  switch (type) {
    case 0:
      return {};
    case 1:
      return {ActivationKind::kRelu};
    case 2:
      return {ActivationKind::kGeluTanh};
    case 4:
      return {ActivationKind::kSwish, 1.702f};
    case 5:
      return {ActivationKind::kSwish, 1.0f};
    default:
      RefuseExperts(plan,
                    "actType is none of 0 (none), 1 (relu), 2 (gelu by tanh), 4 (fast gelu) and 5 (silu)");
  }
}

[[noreturn]] void RefuseShapes(const Plan& plan, size_t group, const Operand& x, const Operand& weight,
                               const Operand& out) {
  Fail(tensor::kInvalidArgument, "experts-shape",
       "{}: group {}: x {}, weight {} and the result {} do not fit together", plan.function(), group,
       x.shape().ToString(), weight.shape().ToString(), out.shape().ToString());
}

class Grouping {
 public:
  Grouping(Plan& plan, const GroupedArgs& args) : plan_(plan), a_(args) {}

  void Make() {
    CheckArguments();
    body_.activation = ActivationOf(plan_, a_.activation);
    if (body_.split == Split::kNone) {
      for (size_t i = 0; i < count_; ++i) AddAlone(i);
    } else {
      for (size_t i = 0; i < count_; ++i) AddGroup(i);
      TakeLists();
    }
    if (products_.empty()) return;
    TakePanels();
    const bool shared = body_.split == Split::kRows && body_.shares_a;
    PlanGroups(plan_, std::move(body_), std::move(products_), shared ? a_.x[0].shape()[0] : 0);
  }

 private:
  void CheckArguments() {
    if (a_.x.empty() || a_.weight.empty() || a_.out.empty())
      RefuseExperts(plan_, "x, weight or the result is an empty list");
    if (a_.type != -1 && a_.type != 0 && a_.type != 2)
      RefuseExperts(plan_, "groupType is none of -1 (none), 0 (rows of x) and 2 (columns of x)");
    if (a_.split_item < 0 || a_.split_item > 3) RefuseExperts(plan_, "splitItem is from 0 to 3");
    if (a_.list_type < kEnds || a_.list_type > kPairs) RefuseExperts(plan_, "groupListType is from 0 to 2");
    body_.split = a_.type == -1 ? Split::kNone : a_.type == 0 ? Split::kRows : Split::kDepth;
    const bool one_weight = a_.weight.size() == 1 && a_.weight[0].shape().rank() == 3;
    if (a_.type == 2) {
      const bool one = a_.out.size() == 1 && a_.out[0].shape().rank() == 3;
      count_ = one ? static_cast<size_t>(a_.out[0].shape()[0]) : a_.out.size();
    } else {
      count_ = one_weight ? static_cast<size_t>(a_.weight[0].shape()[0]) : a_.weight.size();
    }
    body_.shares_a = body_.split != Split::kNone && a_.x.size() == 1;
    body_.shares_c = a_.type == 0 && a_.out.size() == 1;
    if (a_.split_item >= 2 && a_.out.size() != 1) RefuseExperts(plan_, "splitItem 2 and 3 have one result");
    if (!body_.shares_a && a_.x.size() != count_)
      RefuseExperts(plan_, "x has another number of tensors than there are groups");
    if (a_.out.size() != 1 && a_.out.size() != count_)
      RefuseExperts(plan_, "the result has another number of tensors than there are groups");
    if (a_.type == 2 && (a_.weight.size() == 1) != body_.shares_a)
      RefuseExperts(plan_, "groupType 2 takes one x and one weight, or as many as there are groups");
    for (const Operand& o : a_.x) CheckType(o, a_.x[0]);
    for (const Operand& o : a_.weight) CheckType(o, a_.weight[0]);
    for (const Operand& o : a_.out) CheckType(o, a_.out[0]);
    CheckBias(one_weight);
    CheckQuantised();
  }

  void CheckType(const Operand& o, const Operand& first) {
    if (o.dtype() == first.dtype()) return;
    Fail(tensor::kInvalidArgument, "experts-types", "{}: {} is {}, but the first {} is {}", plan_.function(),
         o.name, NameOf(o.dtype()), first.name, NameOf(first.dtype()));
  }

  static bool Given(const OperandList* list) { return list != nullptr && HasTensors(*list); }

  void CheckQuantised() {
    const DType x = a_.x[0].dtype(), weight = a_.weight[0].dtype(), out = a_.out[0].dtype();
    const bool small = weight == DType::kI8 || weight == DType::kI4 || weight == DType::kI32;
    if (x == DType::kI8 && weight == DType::kI8) {
      body_.quantised = Quantised::kBytes;
      CheckBytes(out);
    } else if (x != DType::kI8 && small) {
      body_.quantised = Quantised::kWeights;
      CheckWeights(x, out);
    } else if (x != weight) {
      RefuseExperts(plan_,
                    "x and weight are of one type, or x of FLOAT16 or BFLOAT16 and weight of INT8 or INT4");
    } else {
      CheckFloats(out);
    }
    if (body_.quantised != Quantised::kNo && a_.type == 2)
      RefuseExperts(plan_, "groupType 2 has no quantised products");
  }

  void CheckFloats(DType out) {
    if (Given(a_.scale) || Given(a_.weight_scale) || Given(a_.weight_shift) || Given(a_.token))
      RefuseExperts(plan_, "scales or offsets are given, but x and weight are floats; pass null");
    if (out == DType::kI8 || out == DType::kI32) RefuseExperts(plan_, "results of floats are floats");
    if (has_bias_ && a_.bias[0].dtype() == DType::kI32)
      RefuseExperts(plan_, "the bias of floats is of floats");
  }

  void CheckBytes(DType out) {
    if (Given(a_.weight_scale) || Given(a_.weight_shift))
      RefuseExperts(plan_,
                    "antiquantScale and antiquantOffset are for weights of small integers and x of floats");
    const bool sums = out == DType::kI32, bytes = out == DType::kI8;
    if (sums || bytes) {
      if (Given(a_.token)) RefuseExperts(plan_, "results of INT8 and INT32 have no perTokenScale");
      if (has_bias_ && a_.bias[0].dtype() != DType::kI32)
        RefuseExperts(plan_, "results of INT8 and INT32 have a bias of INT32");
    }
    if (sums != !Given(a_.scale))
      RefuseExperts(plan_, "products of INT8 have a scale, but those whose results are of INT32");
    if (out == DType::kF32) RefuseExperts(plan_, "products of INT8 are of FLOAT16, BFLOAT16, INT8 or INT32");
    if (sums) return CheckNoActivation();
    const DType scale = (*a_.scale)[0].dtype();
    for (const Operand& o : *a_.scale) CheckType(o, (*a_.scale)[0]);
    if (bytes != (scale == DType::kU64 || scale == DType::kI64))
      RefuseExperts(plan_,
                    "the scale is packed, as UINT64 or INT64, where results are of INT8, and only there");
    if (!Given(a_.token)) CheckNoActivation();
  }

  void CheckNoActivation() {
    if (a_.activation != 0)
      RefuseExperts(plan_, "quantised products have an activation only with perTokenScale; actType is 0");
  }

  void CheckWeights(DType x, DType out) {
    if (x == DType::kF32) RefuseExperts(plan_, "x of FLOAT has weights of FLOAT");
    if (out != x) RefuseExperts(plan_, "the results have the type of x");
    if (Given(a_.scale) || Given(a_.token)) RefuseExperts(plan_, "scale and perTokenScale are for x of INT8");
    if (!Given(a_.weight_scale))
      RefuseExperts(plan_, "antiquantScale is null, but weight is of small integers");
    for (const OperandList* list : {a_.weight_scale, a_.weight_shift}) {
      if (!Given(list)) continue;
      for (const Operand& o : *list) CheckType(o, a_.x[0]);
    }
    if (has_bias_ && a_.bias[0].dtype() == DType::kI32)
      RefuseExperts(plan_, "the bias of floats is of floats");
    CheckNoActivation();
  }

  void CheckBias(bool one_weight) {
    has_bias_ = HasTensors(a_.bias);
    if (!has_bias_) return;
    if (a_.type == 2) RefuseExperts(plan_, "groupType 2 has no bias");
    if (a_.bias.size() != (one_weight ? 1 : count_))
      RefuseExperts(plan_, "bias has another number of tensors than weight");
  }

  const Operand& X(size_t i) const { return a_.x[a_.x.size() == 1 ? 0 : i]; }
  const Operand& Weight(size_t i) const { return a_.weight[a_.weight.size() == 1 ? 0 : i]; }
  const Operand& Out(size_t i) const { return a_.out[a_.out.size() == 1 ? 0 : i]; }

  // The group's matrix of a tensor that may hold those of all.
  static MatrixPlace In(const Operand& o, size_t i) {
    return {o, o.shape().rank() == 3 ? static_cast<int64_t>(i) : 0};
  }

  void CheckRanks(size_t i, int most_x, int weight, int out) {
    const int x_rank = X(i).shape().rank();
    if (x_rank >= 2 && x_rank <= most_x && Weight(i).shape().rank() == weight && Out(i).shape().rank() == out)
      return;
    RefuseShapes(plan_, i, X(i), Weight(i), Out(i));
  }

  void TakeBias(size_t i, Product* p) {
    if (!has_bias_) return;
    const bool one = a_.bias.size() == 1;
    const Operand& bias = a_.bias[one ? 0 : i];
    p->bias = Rows(bias);
    p->bias_row = one && count_ > 1 ? static_cast<int64_t>(i) : 0;
    if (p->bias.width() == p->b.columns && p->bias.count() == (one ? static_cast<int64_t>(count_) : 1)) {
      if (bias.dtype() == DType::kI32) p->factors.bias = WholeRow(bias, p->bias_row), p->bias = {};
      return;
    }
    Fail(tensor::kInvalidArgument, "experts-shape",
         "{}: {} has shape {}, which is not one number for each of {} columns", plan_.function(), bias.name,
         bias.shape().ToString(), p->b.columns);
  }

  // The weights of a group: places of elements, or of four bits.
  MatrixPlace TakeWeight(const Operand& weight, int64_t index, NibblePlace* nibbles) {
    const bool four_bits = weight.dtype() == DType::kI4 || weight.dtype() == DType::kI32;
    if (!four_bits) return {weight, index};
    *nibbles = NibblePlace(weight, index);
    if (nibbles->binding < 0)
      RefuseExperts(plan_, "a weight of INT32 holds eight numbers each along a dimension without gaps");
    MatrixPlace place;
    place.binding = weight.binding, place.type = DType::kI4;
    place.rows = nibbles->rows, place.columns = nibbles->columns;
    return place;
  }

  // Panels are made of all weights, or of none.
  void TakePanels() {
    bool all = body_.split != Split::kDepth;
    for (const Operand& weight : a_.weight) all = all && PanelsMultiply(a_.x[0].dtype(), weight);
    for (const Product& p : products_) {
      const bool weights = body_.quantised == Quantised::kWeights;
      const bool whole = !weights || p.factors.depth == p.b.rows || p.factors.depth % p.panels.each() == 0;
      all = all && p.panels.rows == p.b.rows && p.panels.columns == p.b.columns && whole;
    }
    if (all) return;
    for (Product& p : products_) p.panels = {};
    if (LiesInTiles(*a_.weight[0].tensor)) RefuseExperts(plan_, "weights in tiles do not fit their scales");
  }

  // One number for each column, [n] or [groups, n]; `down`: or for each of so many groups of rows.
  Rows FactorsOf(const OperandList& list, size_t i, int64_t n, bool down, int64_t* each) {
    const bool one = a_.weight.size() == 1 && count_ > 1;
    const Operand& o = list[list.size() == 1 ? 0 : i];
    const Shape& shape = o.shape();
    const int rank = shape.rank();
    const bool single = a_.weight.size() == 1 && a_.weight[0].shape().rank() == 3;
    const int least = single ? 2 : 1;
    const bool fits = list.size() == a_.weight.size() && (rank == least || (down && rank == least + 1)) &&
                      shape.back(0) == n && (!single || shape[0] == static_cast<int64_t>(count_));
    *each = fits && rank == least + 1 ? shape.back(1) : 1;
    if (fits && *each > 0) return Rows(o);
    Fail(tensor::kInvalidArgument, "experts-shape",
         "{}: {} has shape {}, which is not one number for each of {} columns{}", plan_.function(), o.name,
         shape.ToString(), n, one ? " of each group" : "");
  }

  void TakeFactors(size_t i, Product* p) {
    const bool single = a_.weight.size() == 1 && a_.weight[0].shape().rank() == 3;
    GroupFactors& f = p->factors;
    const int64_t n = p->b.columns, index = single ? static_cast<int64_t>(i) : 0;
    int64_t each = 1;
    if (body_.quantised == Quantised::kWeights) {
      f.weight_scale = FactorsOf(*a_.weight_scale, i, n, true, &each);
      if (p->b.rows % each != 0)
        RefuseExperts(plan_, "antiquantScale does not divide the rows of weight evenly");
      f.depth = std::max<int64_t>(p->b.rows / each, 1), f.row = index * each;
      int64_t other = each;
      if (Given(a_.weight_shift)) f.weight_shift = FactorsOf(*a_.weight_shift, i, n, true, &other);
      if (other != each || (each != 1 && p->nibbles.binding < 0))
        RefuseExperts(
            plan_,
            "antiquantScale and antiquantOffset are of one shape, and of groups of rows for INT4 only");
    } else if (Given(a_.scale)) {
      const Operand& scale = (*a_.scale)[a_.scale->size() == 1 ? 0 : i];
      f.scale = FactorsOf(*a_.scale, i, n, false, &each), f.row = index;
      if (a_.out[0].dtype() == DType::kI8) f.packed = WholeRow(scale, index);
    }
    TakeTokens(i, p);
  }

  void TakeTokens(size_t i, Product* p) {
    if (!Given(a_.token)) return;
    const Operand& o = (*a_.token)[a_.token->size() == 1 ? 0 : i];
    if (a_.token->size() != a_.x.size() || X(i).shape().rank() != 2 || o.shape() != Shape{X(i).shape()[0]}) {
      Fail(tensor::kInvalidArgument, "experts-shape",
           "{}: {} has shape {}, which is not one number for each row of x {}", plan_.function(), o.name,
           o.shape().ToString(), X(i).shape().ToString());
    }
    p->factors.token = Rows(o, true);
  }

  // A product of its own: x may have more dimensions, each of whose matrices is multiplied.
  void AddAlone(size_t i) {
    CheckRanks(i, 6, 2, X(i).shape().rank());
    NibblePlace nibbles;
    const MatrixPlace weight = TakeWeight(Weight(i), 0, &nibbles);
    Shape wanted = X(i).shape();
    wanted.back(0) = weight.columns;
    if (Out(i).shape() != wanted || X(i).shape().back(0) != weight.rows || a_.out.size() != count_)
      RefuseShapes(plan_, i, X(i), Weight(i), Out(i));
    if (Out(i).tensor->empty()) return;
    for (int64_t k = 0; k < Outer(X(i)); ++k) {
      Product p{{X(i), k}, {}, {Out(i), k}, {}, 0};
      p.b = TakeWeight(Weight(i), 0, &p.nibbles);
      p.panels = PanelPlace(Weight(i), 0);
      TakeBias(i, &p);
      TakeFactors(i, &p);
      products_.push_back(p);
    }
  }

  void AddGroup(size_t i) {
    const bool depth = body_.split == Split::kDepth;
    const int weight = !depth && a_.weight.size() == 1 && a_.weight[0].shape().rank() == 3 ? 3 : 2;
    CheckRanks(i, 2, weight, depth && a_.out.size() == 1 && a_.out[0].shape().rank() == 3 ? 3 : 2);
    Product p{In(X(i), i), {}, In(Out(i), i), {}, 0};
    const int64_t index = Weight(i).shape().rank() == 3 ? static_cast<int64_t>(i) : 0;
    p.b = TakeWeight(Weight(i), index, &p.nibbles);
    p.panels = PanelPlace(Weight(i), index);
    const bool rows_fit = depth || body_.shares_c || body_.shares_a || p.c.rows == p.a.rows;
    if (p.a.columns != p.b.rows || p.b.columns != p.c.columns || !rows_fit || (depth && p.c.rows != p.a.rows))
      RefuseShapes(plan_, i, X(i), Weight(i), Out(i));
    TakeBias(i, &p);
    TakeFactors(i, &p);
    products_.push_back(p);
  }

  // How large the groups are: by the tensors, by the caller's array, or by the list on the device.
  void TakeLists() {
    const bool depth = body_.split == Split::kDepth;
    if (!body_.shares_a) {
      for (const Product& p : products_) body_.known.push_back(depth ? p.a.columns : p.a.rows);
    } else if (!depth && !body_.shares_c) {
      for (const Product& p : products_) body_.known.push_back(p.c.rows);
    }
    TakeEnds();
    const int64_t total = depth ? a_.x[0].shape()[1] : a_.x[0].shape()[0];
    int64_t sum = 0;
    for (int64_t n : body_.known) sum += n;
    if (body_.shares_a && !body_.known.empty() && sum > total)
      RefuseExperts(plan_, "the groups have more rows than x");
    if (body_.shares_c && !body_.shares_a && a_.out[0].shape()[0] != sum)
      RefuseExperts(plan_, "the result has another number of rows than the tensors of x together");
    if (body_.shares_c && body_.shares_a && a_.out[0].shape()[0] != total)
      RefuseExperts(plan_, "the result has another number of rows than x");
    if (a_.list == nullptr || !a_.list->present()) {
      if (body_.known.empty()) RefuseExperts(plan_, "groupList is null, but x is one tensor for all groups");
      return;
    }
    const auto count = static_cast<int64_t>(count_);
    CheckExpertShape(plan_, *a_.list, a_.list_type == kPairs ? Shape{count, 2} : Shape{count});
    if (a_.list_type == kPairs && (!body_.shares_a || depth || !body_.shares_c))
      RefuseExperts(plan_, "groupListType 2 takes one x and one result, and groupType 0");
    body_.list = Indices(plan_, *a_.list->tensor), body_.list_at = a_.list->binding;
    body_.list_type = static_cast<ListType>(a_.list_type);
  }

  void TakeEnds() {
    if (a_.ends.empty()) return;
    if (a_.ends.size() != count_) RefuseExperts(plan_, "groupList has another length than there are groups");
    std::vector<int64_t> counts;
    int64_t begin = 0;
    for (int64_t end : a_.ends) {
      if (end < begin) RefuseExperts(plan_, "groupList holds running sums, which never fall");
      counts.push_back(end - begin);
      begin = end;
    }
    if (!body_.known.empty() && body_.known != counts)
      RefuseExperts(plan_, "groupList does not tell the sizes of the tensors");
    body_.known = counts;
  }

  Plan& plan_;
  const GroupedArgs& a_;
  GroupedBody body_;
  std::vector<Product> products_;
  size_t count_ = 0;
  bool has_bias_ = false;
};

// Whether panels will be made of weights in tiles: also of small ones whose scales are of whole columns.
template <class Arguments>
bool PanelsTake(const Arguments& a) {
  if (a.x.empty()) return false;
  const auto takes = [&](const Operand& weight) { return PanelsMultiply(a.x[0].dtype(), weight); };
  const bool one = a.weight.size() == 1 && a.weight[0].shape().rank() == 3;
  const auto of_columns = [&](const Operand& scale) { return scale.shape().rank() == (one ? 2 : 1); };
  return std::all_of(a.weight.begin(), a.weight.end(), takes) &&
         (a.x[0].dtype() == DType::kI8 || !HasTensors(a.antiquant_scale) ||
          std::all_of(a.antiquant_scale.begin(), a.antiquant_scale.end(), of_columns));
}

// The later versions, which share the names of what they take. The weights may have been brought out of
// tiles.
template <class Arguments>
void PlanGrouped(Plan& plan, const Arguments& a, const OperandList& weight) {
  RefuseGiven(plan, {&a.offset, &a.activation_input, &a.activation_quant_scale, &a.activation_quant_offset,
                     &a.activation_feature_out, &a.dyn_quant_scale_out});
  if (a.group_type == -1 && a.group_list.present())
    RefuseExperts(plan, "groupList is given, but groupType is -1");
  const GroupedArgs args{.x = a.x,
                         .weight = weight,
                         .bias = a.bias,
                         .out = a.results,
                         .list = &a.group_list,
                         .ends = {},
                         .split_item = a.split_item,
                         .type = a.group_type,
                         .list_type = a.group_list_type,
                         .activation = a.act_type,
                         .scale = &a.scale,
                         .weight_scale = &a.antiquant_scale,
                         .weight_shift = &a.antiquant_offset,
                         .token = &a.per_token_scale};
  Grouping(plan, args).Make();
}

}  // namespace

namespace kernels {

void GroupedMatmul(Plan& plan, DType, const GroupedMatmulArguments& a) {
  RefuseGiven(plan, {&a.scale, &a.offset, &a.antiquant_scale, &a.antiquant_offset});
  const int64_t type =
      a.group_list.empty() && a.x.size() == a.weight.size() && a.y.size() == a.x.size() ? -1 : 0;
  const GroupedArgs args{.x = a.x,
                         .weight = a.weight,
                         .bias = a.bias,
                         .out = a.y,
                         .list = nullptr,
                         .ends = a.group_list,
                         .split_item = a.split_item,
                         .type = type,
                         .list_type = kEnds,
                         .activation = 0};
  Grouping(plan, args).Make();
}

void GroupedMatmulV5(Plan& plan, DType, const GroupedMatmulV5Arguments& a) { PlanGrouped(plan, a, a.weight); }

void GroupedMatmulWeightNz(Plan& plan, DType, const GroupedMatmulWeightNzArguments& a) {
  if (a.quant_group_size != 0)
    RefuseExperts(plan, "quantGroupSize is not 0: scales of groups of what is summed over are not there");
  if (a.group_type == 2) RefuseExperts(plan, "groupType 2 has no weights in tiles");
  Untiled untiled(plan);
  const OperandList plain = PanelsTake(a) ? a.weight : untiled.Plain(a.weight);
  PlanGrouped(untiled.inner(), a, plain);
  untiled.Finish();
}

void GroupedMatmulV4(Plan& plan, DType, const GroupedMatmulV4Arguments& a) { PlanGrouped(plan, a, a.weight); }

void GroupedMatmulAdd(Plan& plan, DType, const Operand& x, const Operand& weight, const Operand& groupList,
                      const Operand& y, bool transposeX, bool transposeWeight, int64_t groupType,
                      const Operand&) {
  if (!transposeX || transposeWeight || groupType != 2)
    RefuseExperts(
        plan, "transposeX is true, transposeWeight false and groupType 2: other numbers are not there yet");
  CheckExpertRank(plan, x, 2, 2);
  CheckExpertRank(plan, weight, 2, 2);
  CheckExpertRank(plan, groupList, 1, 1);
  const int64_t count = groupList.shape()[0], depth = x.shape()[0], m = x.shape()[1], n = weight.shape()[1];
  if (weight.shape()[0] != depth) RefuseExperts(plan, "x and weight have other numbers of rows");
  if (y.shape().rank() == 2 && y.shape() != Shape{count * m, n}) CheckExpertShape(plan, y, {count * m, n});
  if (y.shape().rank() != 2) CheckExpertShape(plan, y, {count, m, n});
  if (y.tensor->empty()) return;
  GroupedBody body;
  body.split = Split::kDepth, body.shares_a = true, body.adds = true;
  body.list = Indices(plan, *groupList.tensor), body.list_at = groupList.binding;
  std::vector<Product> products;
  for (int64_t i = 0; i < count; ++i) {
    Product p{{x, 0}, {weight, 0}, {y, y.shape().rank() == 3 ? i : 0}, {}, 0};
    std::swap(p.a.rows, p.a.columns), std::swap(p.a.row, p.a.column);
    if (y.shape().rank() == 2) p.c.at += i * m * p.c.row, p.c.rows = m;
    products.push_back(p);
  }
  PlanGroups(plan, std::move(body), std::move(products), 0);
}

}  // namespace kernels
}  // namespace belay::ops
