// Products of many pairs of matrices in one call: groups of rows, or of what is summed over, that a list of
// numbers on the device divides. The sizes are known when it runs, so each core takes blocks of the results
// as they come.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/parallel.h"
#include "ops/conv/activation.h"
#include "ops/experts/experts.h"
#include "ops/experts/matrix_block.h"
#include "ops/experts/rows.h"
#include "ops/index/indices.h"
#include "ops/kernels.h"
#include "ops/matmul/gemv.h"
#include "ops/matmul/tiles.h"
#include "ops/scratch.h"
#include "tensor/codes.h"

namespace belay::ops {
namespace {

constexpr int64_t kBlockRows = 256, kBlockColumns = 256;

enum class Split { kNone, kRows, kDepth };
enum ListType : int64_t { kEnds, kLengths, kPairs };

struct Product {
  MatrixPlace a, b, c;
  Rows bias;
  int64_t bias_row = 0;
};

// A group while the task runs.
struct Group {
  int64_t product, begin, count;  // of the rows, or of what is summed over
  int64_t first_part;
};

void Multiply(const Gemm& g) {
  if (g.k == 0) {
    for (int64_t i = 0; i < g.m; ++i) std::fill_n(static_cast<float*>(g.c) + i * g.ldc, g.n, 0.0f);
    return;
  }
  if (g.m == 1 && (!g.a.transposed || g.a.ld == 1)) {  // one row times what goes by once
    const auto *a = static_cast<const float*>(g.a.data), *b = static_cast<const float*>(g.b.data);
    auto* c = static_cast<float*>(g.c);
    if (g.b.transposed) return BestGemv()(b, g.b.ld, a, g.k, g.n, c);
    return BestTransposedGemv()(b, g.b.ld, a, g.n, g.k, c);
  }
  if (BestGemm().run(g)) return;
  Fail(tensor::kRuntimeFailure, "matmul-backend", "{} refused a product of {} x {} x {}", BestGemm().name,
       g.m, g.k, g.n);
}

struct GroupedBody {
  std::shared_ptr<const std::vector<Product>> products;
  std::vector<int64_t> known;  // numbers of the groups, where tensors or the caller's array tell
  Indices list;
  int list_at = -1;
  ListType list_type = kEnds;
  Split split = Split::kNone;
  bool shares_a = false, shares_c = false;  // one tensor for all groups
  bool adds = false;                        // to what the result holds
  Activation activation;
  Scratch<Group> groups;
  PieceScratch<float> room;
  int64_t a_room = 0, b_room = 0;

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
  int64_t RowBlocks(const Group& g) const { return (RowsOf(g) + kBlockRows - 1) / kBlockRows; }
  int64_t ColumnBlocks(const Group& g) const { return (Of(g).b.columns + kBlockColumns - 1) / kBlockColumns; }

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
      const int64_t n = list_type == kEnds ? number - begin : number;
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
    const int64_t blocks = ColumnBlocks(g), r = part / blocks * kBlockRows, c = part % blocks * kBlockColumns;
    const int64_t m = std::min(kBlockRows, RowsOf(g) - r), n = std::min(kBlockColumns, p.b.columns - c);
    const int64_t depth = split == Split::kDepth ? g.count : p.a.columns;
    const int64_t a_row = r + (split == Split::kRows && shares_a ? g.begin : 0);
    const int64_t c_row = r + (split == Split::kRows && shares_c ? g.begin : 0);
    const int64_t from = split == Split::kDepth && shares_a ? g.begin : 0;
    const bool direct = p.c.TakesProducts() && !adds;
    auto* to = direct ? reinterpret_cast<float*>(p.c.Of(frame, c_row, c)) : mine + a_room + b_room;
    const int64_t ld = direct ? (m == 1 ? n : p.c.row / MatrixPlace::kFloat) : n;
    Multiply({m, n, depth, p.a.Block(frame, a_row, m, from, depth, mine),
              p.b.Block(frame, from, depth, c, n, mine + a_room), to, ld, GemmType::kF32, GemmType::kF32});
    for (int64_t i = 0; i < m; ++i) Finish(frame, p, to + i * ld, c_row + i, c, n, direct);
  }

  // What comes after the product of a row.
  void Finish(const Frame& frame, const Product& p, float* row, int64_t r, int64_t c, int64_t n,
              bool direct) const {
    alignas(64) float block[kBlockColumns];
    if (p.bias.present()) {
      const float* bias = p.bias.Load(frame, p.bias_row, c, n, block);
      for (int64_t i = 0; i < n; ++i) row[i] += bias[i];
    }
    if (activation.kind != ActivationKind::kNone) {
      for (int64_t i = 0; i < n; ++i)
        row[i] = static_cast<float>(Activate(activation, static_cast<double>(row[i])));
    }
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

// Where the products are and how many rows each may have at most is known before.
void PlanGroups(Plan& plan, GroupedBody body, std::vector<Product> products, int64_t shared_rows) {
  int64_t parts = 1, depth = 1;
  double work = 0;
  bool ready_a = true, ready_b = true, ready_c = !body.adds;
  for (const Product& p : products) {
    const int64_t rows = body.split == Split::kRows && body.shares_a ? 0 : p.a.rows;
    parts += (rows / kBlockRows + 1) * ((p.b.columns + kBlockColumns - 1) / kBlockColumns);
    depth = std::max(depth, p.a.columns);
    ready_a = ready_a && p.a.LiesReady(), ready_b = ready_b && p.b.LiesReady();
    ready_c = ready_c && p.c.TakesProducts();
    work += static_cast<double>(rows) * static_cast<double>(p.b.columns) * static_cast<double>(p.a.columns);
  }
  const Product& p = products.front();
  if (shared_rows > 0) {
    parts += shared_rows / kBlockRows * ((p.b.columns + kBlockColumns - 1) / kBlockColumns);
    work += static_cast<double>(shared_rows) * static_cast<double>(p.b.columns) * static_cast<double>(depth);
  }
  if (body.split == Split::kDepth && body.shares_a) work /= static_cast<double>(products.size());
  constexpr double kWorthACore = 1e6;
  const auto grain =
      std::max<int64_t>(1, static_cast<int64_t>(kWorthACore * static_cast<double>(parts) / (work + 1)));
  body.a_room = ready_a ? 0 : kBlockRows * depth, body.b_room = ready_b ? 0 : kBlockColumns * depth;
  body.groups = Scratch<Group>(plan, static_cast<int64_t>(products.size()));
  body.room = PieceScratch<float>(plan, parts, std::min(grain, parts),
                                  body.a_room + body.b_room + (ready_c ? 0 : kBlockRows * kBlockColumns));
  body.products = std::make_shared<const std::vector<Product>>(std::move(products));
  plan.SetCost(2000 + static_cast<uint64_t>(work / 32));
  plan.SetBody(body);
}

struct GroupedArgs {
  const OperandList &x, &weight, &bias, &out;
  const Operand* list;  // on the device, or none
  std::span<const int64_t> ends;
  int64_t split_item, type, list_type, activation;
};

bool HasTensors(const OperandList& list) {
  return std::any_of(list.begin(), list.end(), [](const Operand& o) { return !o.tensor->empty(); });
}

void RefuseGiven(const Plan& plan, std::initializer_list<const OperandList*> lists) {
  for (const OperandList* list : lists) {
    if (!HasTensors(*list)) continue;
    Fail(tensor::kInvalidArgument, "experts-quantised",
         "{}: {} is given, but quantised products of groups are not there yet; pass null", plan.function(),
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
    for (const Operand& o : a_.x) CheckType(o);
    for (const Operand& o : a_.weight) CheckType(o);
    CheckBias(one_weight);
  }

  void CheckType(const Operand& o) {
    if (o.dtype() == a_.x[0].dtype()) return;
    Fail(tensor::kInvalidArgument, "experts-types", "{}: {} is {}, but the first x is {}", plan_.function(),
         o.name, NameOf(o.dtype()), NameOf(a_.x[0].dtype()));
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
    if (p->bias.width() == p->b.columns && p->bias.count() == (one ? static_cast<int64_t>(count_) : 1))
      return;
    Fail(tensor::kInvalidArgument, "experts-shape",
         "{}: {} has shape {}, which is not one number for each of {} columns", plan_.function(), bias.name,
         bias.shape().ToString(), p->b.columns);
  }

  // A product of its own: x may have more dimensions, each of whose matrices is multiplied.
  void AddAlone(size_t i) {
    CheckRanks(i, 6, 2, X(i).shape().rank());
    Shape wanted = X(i).shape();
    wanted.back(0) = Weight(i).shape()[1];
    if (Out(i).shape() != wanted || X(i).shape().back(0) != Weight(i).shape()[0] || a_.out.size() != count_)
      RefuseShapes(plan_, i, X(i), Weight(i), Out(i));
    if (Out(i).tensor->empty()) return;
    for (int64_t k = 0; k < Outer(X(i)); ++k) {
      Product p{{X(i), k}, {Weight(i), 0}, {Out(i), k}, {}, 0};
      TakeBias(i, &p);
      products_.push_back(p);
    }
  }

  void AddGroup(size_t i) {
    const bool depth = body_.split == Split::kDepth;
    const int weight = !depth && a_.weight.size() == 1 && a_.weight[0].shape().rank() == 3 ? 3 : 2;
    CheckRanks(i, 2, weight, depth && a_.out.size() == 1 && a_.out[0].shape().rank() == 3 ? 3 : 2);
    Product p{In(X(i), i), In(Weight(i), i), In(Out(i), i), {}, 0};
    const bool rows_fit = depth || body_.shares_c || body_.shares_a || p.c.rows == p.a.rows;
    if (p.a.columns != p.b.rows || p.b.columns != p.c.columns || !rows_fit || (depth && p.c.rows != p.a.rows))
      RefuseShapes(plan_, i, X(i), Weight(i), Out(i));
    TakeBias(i, &p);
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

}  // namespace

namespace kernels {

void GroupedMatmul(Plan& plan, DType, const OperandList& x, const OperandList& weight,
                   const OperandList& biasOptional, const OperandList& scaleOptional,
                   const OperandList& offsetOptional, const OperandList& antiquantScaleOptional,
                   const OperandList& antiquantOffsetOptional, std::span<const int64_t> groupListOptional,
                   int64_t splitItem, const OperandList& y) {
  RefuseGiven(plan, {&scaleOptional, &offsetOptional, &antiquantScaleOptional, &antiquantOffsetOptional});
  const int64_t type =
      groupListOptional.empty() && x.size() == weight.size() && y.size() == x.size() ? -1 : 0;
  const GroupedArgs args{x, weight, biasOptional, y, nullptr, groupListOptional, splitItem, type, kEnds, 0};
  Grouping(plan, args).Make();
}

void GroupedMatmulV5(Plan& plan, DType, const OperandList& x, const OperandList& weight,
                     const OperandList& biasOptional, const OperandList& scaleOptional,
                     const OperandList& offsetOptional, const OperandList& antiquantScaleOptional,
                     const OperandList& antiquantOffsetOptional, const OperandList& perTokenScaleOptional,
                     const Operand& groupListOptional, const OperandList& activationInputOptional,
                     const OperandList& activationQuantScaleOptional,
                     const OperandList& activationQuantOffsetOptional, int64_t splitItem, int64_t groupType,
                     int64_t groupListType, int64_t actType, std::span<const int64_t>,
                     const OperandList& results, const OperandList& activationFeatureOutOptional,
                     const OperandList& dynQuantScaleOutOptional) {
  RefuseGiven(plan,
              {&scaleOptional, &offsetOptional, &antiquantScaleOptional, &antiquantOffsetOptional,
               &perTokenScaleOptional, &activationInputOptional, &activationQuantScaleOptional,
               &activationQuantOffsetOptional, &activationFeatureOutOptional, &dynQuantScaleOutOptional});
  if (groupType == -1 && groupListOptional.present())
    RefuseExperts(plan, "groupList is given, but groupType is -1");
  const GroupedArgs args{x,  weight,    biasOptional, results,       &groupListOptional,
                         {}, splitItem, groupType,    groupListType, actType};
  Grouping(plan, args).Make();
}

void GroupedMatmulWeightNz(Plan& plan, DType type, const OperandList& x, const OperandList& weight,
                           const OperandList& biasOptional, const OperandList& scaleOptional,
                           const OperandList& offsetOptional, const OperandList& antiquantScaleOptional,
                           const OperandList& antiquantOffsetOptional,
                           const OperandList& perTokenScaleOptional, const Operand& groupListOptional,
                           const OperandList& activationInputOptional,
                           const OperandList& activationQuantScaleOptional,
                           const OperandList& activationQuantOffsetOptional, int64_t splitItem,
                           int64_t groupType, int64_t groupListType, int64_t actType,
                           std::span<const int64_t> tuningConfigOptional, int64_t quantGroupSize,
                           const OperandList& results, const OperandList& activationFeatureOutOptional,
                           const OperandList& dynQuantScaleOutOptional) {
  if (quantGroupSize != 0)
    RefuseExperts(plan, "quantGroupSize is not 0: scales of groups of what is summed over are not there");
  if (groupType == 2) RefuseExperts(plan, "groupType 2 has no weights in tiles");
  Untiled untiled(plan);
  const OperandList plain = untiled.Plain(weight);
  GroupedMatmulV5(untiled.inner(), type, x, plain, biasOptional, scaleOptional, offsetOptional,
                  antiquantScaleOptional, antiquantOffsetOptional, perTokenScaleOptional, groupListOptional,
                  activationInputOptional, activationQuantScaleOptional, activationQuantOffsetOptional,
                  splitItem, groupType, groupListType, actType, tuningConfigOptional, results,
                  activationFeatureOutOptional, dynQuantScaleOutOptional);
  untiled.Finish();
}

void GroupedMatmulV4(Plan& plan, DType type, const OperandList& x, const OperandList& weight,
                     const OperandList& biasOptional, const OperandList& scaleOptional,
                     const OperandList& offsetOptional, const OperandList& antiquantScaleOptional,
                     const OperandList& antiquantOffsetOptional, const OperandList& perTokenScaleOptional,
                     const Operand& groupListOptional, const OperandList& activationInputOptional,
                     const OperandList& activationQuantScaleOptional,
                     const OperandList& activationQuantOffsetOptional, int64_t splitItem, int64_t groupType,
                     int64_t groupListType, int64_t actType, const OperandList& results,
                     const OperandList& activationFeatureOutOptional,
                     const OperandList& dynQuantScaleOutOptional) {
  GroupedMatmulV5(plan, type, x, weight, biasOptional, scaleOptional, offsetOptional, antiquantScaleOptional,
                  antiquantOffsetOptional, perTokenScaleOptional, groupListOptional, activationInputOptional,
                  activationQuantScaleOptional, activationQuantOffsetOptional, splitItem, groupType,
                  groupListType, actType, {}, results, activationFeatureOutOptional,
                  dynQuantScaleOutOptional);
}

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
