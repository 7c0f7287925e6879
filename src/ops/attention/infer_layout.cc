#include "ops/attention/infer_layout.h"

#include <algorithm>

#include "base/error.h"
#include "ops/attention/flash.h"
#include "tensor/codes.h"
#include "tensor/views.h"

namespace belay::ops {
namespace {

enum class Order { kBSH, kBSND, kBNSD, kTND, kNTD, kNBSD };

struct Named {
  std::string_view name;
  Order in, out;
};

constexpr Named kLayouts[] = {
    {"BSH", Order::kBSH, Order::kBSH},        {"BSND", Order::kBSND, Order::kBSND},
    {"BNSD", Order::kBNSD, Order::kBNSD},     {"TND", Order::kTND, Order::kTND},
    {"NTD", Order::kNTD, Order::kNTD},        {"BNSD_BSND", Order::kBNSD, Order::kBSND},
    {"BSH_BNSD", Order::kBSH, Order::kBNSD},  {"BSND_BNSD", Order::kBSND, Order::kBNSD},
    {"NTD_TND", Order::kNTD, Order::kTND},    {"TND_NTD", Order::kTND, Order::kNTD},
    {"BSH_NBSD", Order::kBSH, Order::kNBSD},  {"BSND_NBSD", Order::kBSND, Order::kNBSD},
    {"BNSD_NBSD", Order::kBNSD, Order::kNBSD}};

bool IsPacked(Order order) { return order == Order::kTND || order == Order::kNTD; }

// A tensor by its layout.
struct Laid {
  int64_t batches, heads, rows, size;
  InferPlace place;
};

Laid LaidOut(const Plan& plan, const Operand& o, Order order, int64_t heads) {
  const Tensor& t = *o.tensor;
  const int rank = order == Order::kBSH || IsPacked(order) ? 3 : 4;
  if (t.shape.rank() != rank) {
    Fail(tensor::kInvalidArgument, "infer-attention-shape",
         "{}: {} has shape {}; with this inputLayout it has {} dimensions", plan.function(), o.name,
         t.shape.ToString(), rank);
  }
  Laid l{1, heads, 0, 0, {o.binding, t.dtype, tensor::OffsetOf(t)}};
  const auto step = [&](int d) { return tensor::StepOf(t, d); };
  const auto take = [&](int batch, int head, int row, int size) {
    if (batch >= 0) l.batches = t.shape[batch], l.place.batch = step(batch);
    if (head >= 0) l.heads = t.shape[head], l.place.head = step(head);
    l.rows = t.shape[row], l.place.row = step(row), l.size = t.shape[size], l.place.step = step(size);
  };
  switch (order) {
    case Order::kBSH:
      take(0, -1, 1, 2);
      if (l.size % heads != 0) RefuseInfer(plan, "the last size is no multiple of the number of heads");
      l.size /= heads, l.place.head = l.size * l.place.step;
      break;
    case Order::kBSND:
      take(0, 2, 1, 3);
      break;
    case Order::kBNSD:
      take(0, 1, 2, 3);
      break;
    case Order::kTND:
      take(-1, 1, 0, 2);
      break;
    case Order::kNTD:
      take(-1, 0, 1, 2);
      break;
    case Order::kNBSD:
      take(1, 0, 2, 3);
      break;
  }
  if (l.heads != heads) {
    Fail(tensor::kInvalidArgument, "infer-attention-shape",
         "{}: {} has shape {}, whose heads are not the {} of numHeads or numKeyValueHeads", plan.function(),
         o.name, t.shape.ToString(), heads);
  }
  l.place.size = l.size;
  return l;
}

class Reader {
 public:
  Reader(const Plan& plan, const InferArgs& args) : plan_(plan), a_(args) {}

  InferShape Read() {
    const Named* named = std::find_if(std::begin(kLayouts), std::end(kLayouts),
                                      [this](const Named& n) { return n.name == a_.layout; });
    if (named == std::end(kLayouts)) RefuseInfer(plan_, "inputLayout is none of those that there are");
    if (a_.heads < 1) RefuseInfer(plan_, "numHeads is not above 0");
    shape_.key_heads = a_.key_heads == 0 ? a_.heads : a_.key_heads;
    if (shape_.key_heads < 1 || a_.heads % shape_.key_heads != 0)
      RefuseInfer(plan_, "numHeads is no multiple of numKeyValueHeads");
    order_ = named->in;
    shape_.packed = IsPacked(order_);
    const Laid query = LaidOut(plan_, a_.query, order_, a_.heads);
    if (query.size < 1) RefuseInfer(plan_, "heads of query have no numbers");
    TakeKeys(query);
    TakeOut(query, named->out);
    TakeRope(query);
    TakeSequences(query);
    return shape_;
  }

 private:
  void TakeKeys(const Laid& query) {
    paged_ = IsGiven(a_.pages);
    const Laid key = paged_ ? InPages(a_.key) : LaidOut(plan_, a_.key, order_, shape_.key_heads);
    const Laid value = paged_ ? InPages(a_.value) : LaidOut(plan_, a_.value, order_, shape_.key_heads);
    CheckTypes();
    if (key.size != query.size) RefuseInfer(plan_, "query and key have other sizes of a head");
    if (key.batches != value.batches || key.rows != value.rows)
      RefuseInfer(plan_, "key and value have other numbers of rows");
    if (!paged_ && !shape_.packed && key.batches != query.batches)
      RefuseInfer(plan_, "query and key have other numbers of batches");
    key_rows_ = key.rows;
    shape_.query = query.place, shape_.key = key.place, shape_.value = value.place;
    if (!paged_) return;
    shape_.page_rows = key.rows, shape_.page_count = key.batches;
    if (a_.pages.shape().rank() != 2) RefuseInfer(plan_, "blockTable has not two dimensions");
    if (a_.page_rows != 0 && a_.page_rows != key.rows)
      RefuseInfer(plan_, "blockSize is not the number of rows of a page of key");
  }

  // Keys and values are of the type of query, or of INT8 with a scale.
  void CheckTypes() const {
    const DType wanted = a_.query.dtype();
    const auto check = [&](const Operand& o, bool fits) {
      if (fits) return;
      Fail(
          tensor::kInvalidArgument, "infer-attention-types",
          "{}: {} is {}, but query is {}: key and value have its type or are both INT8, the result has its type",
          plan_.function(), o.name, NameOf(o.dtype()), NameOf(wanted));
    };
    check(a_.key, a_.key.dtype() == wanted || a_.key.dtype() == DType::kI8);
    check(a_.value, a_.value.dtype() == a_.key.dtype());
    check(a_.out, a_.out.dtype() == wanted);
    if (a_.query_rope.present()) check(a_.query_rope, a_.query_rope.dtype() == wanted);
    if (a_.key_rope.present()) check(a_.key_rope, a_.key_rope.dtype() == wanted);
  }

  // [pages, rows, heads * size], [pages, heads, rows, size] or, in tiles, [pages, heads, size / tile, rows,
  // tile].
  Laid InPages(const Operand& o) const {
    const int rank = o.shape().rank();
    if (rank == 5) return InTiles(o);
    return LaidOut(plan_, o, rank == 3 ? Order::kBSH : Order::kBNSD, shape_.key_heads);
  }

  Laid InTiles(const Operand& o) const {
    const Tensor& t = *o.tensor;
    const auto bytes = static_cast<int64_t>(tensor::BytesOf(t.dtype));
    if (t.shape[1] != shape_.key_heads || t.shape[4] * bytes != 32)
      RefuseInferShape(plan_, o, {t.shape[0], shape_.key_heads, t.shape[2], t.shape[3], 32 / bytes});
    Laid l{t.shape[0],
           shape_.key_heads,
           t.shape[3],
           t.shape[2] * t.shape[4],
           {o.binding, t.dtype, tensor::OffsetOf(t)}};
    const auto step = [&](int d) { return tensor::StepOf(t, d); };
    l.place.batch = step(0), l.place.head = step(1), l.place.row = step(3), l.place.step = step(4);
    l.place.size = l.size, l.place.tile = t.shape[4], l.place.tile_step = step(2);
    return l;
  }

  void TakeOut(const Laid& query, Order order) {
    const Laid out = LaidOut(plan_, a_.out, order, a_.heads);
    if (out.batches != query.batches || out.rows != query.rows || out.size != shape_.value.size)
      RefuseInfer(plan_, "query, value and attentionOut do not fit together");
    shape_.out = out.place;
  }

  void TakeRope(const Laid& query) {
    if (a_.query_rope.present() != a_.key_rope.present())
      RefuseInfer(plan_, "one of queryRope and keyRope is given without the other");
    if (!a_.query_rope.present()) return;
    const Laid rope = LaidOut(plan_, a_.query_rope, order_, a_.heads);
    const Laid key = paged_ ? InPages(a_.key_rope) : LaidOut(plan_, a_.key_rope, order_, shape_.key_heads);
    if (rope.batches != query.batches || rope.rows != query.rows || key.rows != key_rows_ ||
        rope.size != key.size)
      RefuseInfer(plan_, "queryRope and keyRope do not fit query and key");
    if (paged_ && key.batches != shape_.page_count) RefuseInfer(plan_, "keyRope has other pages than key");
    shape_.query_rope = rope.place, shape_.key_rope = key.place;
  }

  void TakeSequences(const Laid& query) {
    shape_.batches = query.batches, shape_.rows = query.rows;
    if (shape_.packed) return TakePacked(query);
    if (paged_ && a_.pages.shape()[0] < query.batches)
      RefuseInfer(plan_, "blockTable has fewer rows than there are batches");
    const int64_t room = paged_ ? a_.pages.shape()[1] * shape_.page_rows : key_rows_;
    if (paged_ && a_.key_lengths.empty()) RefuseInfer(plan_, "pages need actualSeqLengthsKv");
    for (int64_t b = 0; b < query.batches; ++b) {
      const int64_t rows = Length(a_.lengths, b, query.rows, "actualSeqLengths");
      const int64_t columns = Length(a_.key_lengths, b, room, "actualSeqLengthsKv");
      shape_.sequences.push_back({b, 0, rows, b, 0, columns});
    }
  }

  // One number for all, or one for each.
  int64_t Length(std::span<const int64_t> lengths, int64_t b, int64_t most, const char* name) const {
    if (lengths.empty()) return most;
    if (lengths.size() > 1 && lengths.size() <= static_cast<size_t>(b)) {
      Fail(tensor::kInvalidArgument, "infer-attention-lengths",
           "{}: {} has {} numbers, fewer than there are batches", plan_.function(), name, lengths.size());
    }
    const int64_t length = lengths[lengths.size() == 1 ? 0 : static_cast<size_t>(b)];
    if (length >= 0 && length <= most) return length;
    Fail(tensor::kInvalidArgument, "infer-attention-lengths", "{}: {} has {} for batch {}; there are {} rows",
         plan_.function(), name, length, b, most);
  }

  // Running sums of the lengths; those of pages are lengths.
  void TakePacked(const Laid& query) {
    if (a_.lengths.empty() || a_.key_lengths.size() != a_.lengths.size())
      RefuseInfer(plan_,
                  "packed sequences need actualSeqLengths and actualSeqLengthsKv, with a number for each");
    const auto count = static_cast<int64_t>(a_.lengths.size());
    if (paged_ && a_.pages.shape()[0] < count)
      RefuseInfer(plan_, "blockTable has fewer rows than there are sequences");
    int64_t first = 0, key_first = 0, longest = 0;
    for (int64_t b = 0; b < count; ++b) {
      const int64_t end = a_.lengths[static_cast<size_t>(b)],
                    key_end = a_.key_lengths[static_cast<size_t>(b)];
      const int64_t columns = paged_ ? key_end : key_end - key_first;
      const int64_t room = paged_ ? a_.pages.shape()[1] * shape_.page_rows : key_rows_ - key_first;
      if (end < first || end > query.rows || columns < 0 || columns > room)
        RefuseInfer(
            plan_,
            "actualSeqLengths and actualSeqLengthsKv are running sums (of pages: lengths) within the tensors");
      shape_.sequences.push_back({0, first, end - first, paged_ ? b : 0, paged_ ? 0 : key_first, columns});
      longest = std::max(longest, end - first);
      first = end, key_first = key_end;
    }
    shape_.rows = longest;
    if (first < query.rows) {  // rows of nobody see nothing
      shape_.sequences.push_back({0, first, query.rows - first, 0, 0, 0});
      shape_.rows = std::max(longest, query.rows - first);
    }
  }

  const Plan& plan_;
  const InferArgs& a_;
  InferShape shape_;
  Order order_ = Order::kBSH;
  int64_t key_rows_ = 0;
  bool paged_ = false;
};

}  // namespace

int64_t InferShape::MostColumns() const {
  int64_t most = 0;
  for (const InferSequence& s : sequences) most = std::max(most, s.columns);
  return most;
}

InferShape ReadInferLayout(const Plan& plan, const InferArgs& args) { return Reader(plan, args).Read(); }

void RefuseInfer(const Plan& plan, std::string_view sentence) {
  Fail(tensor::kInvalidArgument, "infer-attention", "{}: {}", plan.function(), sentence);
}

void RefuseInferShape(const Plan& plan, const Operand& operand, const Shape& wanted) {
  Fail(tensor::kInvalidArgument, "infer-attention-shape",
       "{}: {} has shape {}; with these arguments it is {}", plan.function(), operand.name,
       operand.shape().ToString(), wanted.ToString());
}

}  // namespace belay::ops
