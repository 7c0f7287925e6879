#include "ops/attention/infer.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <string_view>
#include <utility>

#include "base/cache_line.h"
#include "base/error.h"
#include "base/parallel.h"
#include "ops/attention/flash.h"
#include "ops/attention/infer_bytes.h"
#include "ops/attention/infer_layout.h"
#include "ops/index/indices.h"
#include "ops/matmul/gemm.h"
#include "ops/scratch.h"
#include "tensor/codes.h"
#include "tensor/views.h"

namespace belay::ops {
namespace {

constexpr int64_t kRows = 64, kColumns = 256;  // of a block of scores, about

// Asks for a line that will be read, which comes to the second cache: lines at steps of a power of two share
// few places in the first. g++ drops calls of functions that only ask by the builtin.
void AskFor(const char* p) {
#if defined(__x86_64__)
  asm volatile("prefetcht1 %0" : : "m"(*p));
#elif defined(__aarch64__)
  asm volatile("prfm pldl2keep, %0" : : "Q"(*p));
#else
  __builtin_prefetch(p, 0, 2);
#endif
}

// Arrays of one core.
struct InferRoom {
  float *query, *key, *value, *scores, *sum, *part, *most, *total, *key_by, *value_by;
};

// Rows of a query, for all heads that share a key: what one core takes.
struct Unit {
  const InferSequence* sequence;
  int64_t key_head, row, rows;
};

struct InferBody {
  InferPlace query, query_rope, key, key_rope, value, out;
  InferBytes key_bytes, value_bytes;
  InferField shift, forbidden, sums, sink;
  Indices pages;
  int pages_at = -1;
  int64_t page_rows = 0, page_count = 0, table_width = 0;
  std::shared_ptr<const std::vector<InferSequence>> sequences;
  std::shared_ptr<const std::vector<int64_t>> first_unit;  // of each sequence, and the end
  InferBand band;
  int64_t members = 1, key_heads = 1, block_rows = 1, most_rows = 0;
  bool packed = false;  // sequences follow each other
  float scale = 1;
  PieceScratch<float> room;

  int64_t width() const { return query.size + query_rope.size; }
  int64_t block() const { return members * block_rows; }
  int64_t RoomSize() const {
    return (block() + kColumns) * width() + kColumns * value.size +
           block() * (kColumns + 2 * value.size + 2) + key_bytes.room() + value_bytes.room();
  }
  InferRoom RoomAt(float* mine) const {
    InferRoom r{};
    r.query = mine, r.key = r.query + block() * width(), r.value = r.key + kColumns * width();
    r.scores = r.value + kColumns * value.size, r.sum = r.scores + block() * kColumns;
    r.part = r.sum + block() * value.size, r.most = r.part + block() * value.size, r.total = r.most + block();
    r.key_by = r.total + block(), r.value_by = r.key_by + key_bytes.room();
    return r;
  }

  void operator()(const Frame& frame) const {
    std::span<const int64_t> table;
    if (pages_at >= 0) table = pages.Read(frame, pages_at);
    room.For(frame, [&](int64_t begin, int64_t end, float* mine) {
      const InferRoom r = RoomAt(mine);
      for (int64_t unit = begin; unit < end; ++unit) Run(frame, UnitAt(unit), table, r);
    });
  }

  Unit UnitAt(int64_t unit) const {
    const auto after = std::upper_bound(first_unit->begin(), first_unit->end(), unit);
    const auto index = static_cast<size_t>(after - first_unit->begin() - 1);
    const InferSequence& s = (*sequences)[index];
    unit -= (*first_unit)[index];
    const int64_t row = unit / key_heads * block_rows;
    return {&s, unit % key_heads, row, std::min(block_rows, RowsOf(s) - row)};
  }

  // Rows beyond the length of a sequence that has a batch of its own are there too, and see nothing.
  int64_t RowsOf(const InferSequence& s) const { return packed ? s.rows : most_rows; }

  void Run(const Frame& frame, const Unit& u, std::span<const int64_t> table, const InferRoom& r) const {
    const InferSequence& s = *u.sequence;
    const int64_t count = u.rows * members;
    for (int64_t i = 0; i < count; ++i) Begin(frame, u, i, r);
    key_bytes.TakeHead(frame, u.key_head, r.key_by);
    value_bytes.TakeHead(frame, u.key_head, r.value_by);
    const int64_t last = u.row + u.rows - 1;
    const bool blind = u.row >= s.rows;
    for (int64_t c = 0; c < s.columns && !blind; c += kColumns) {
      const int64_t n = std::min(kColumns, s.columns - c);
      if (band.Begin(s, u.row) >= c + n || band.End(s, std::min(last, s.rows - 1)) <= c) continue;
      LoadColumns(frame, s, u.key_head, c, n, table, r);
      Flash::Multiply({count,
                       n,
                       width(),
                       {r.query, width(), false},
                       {r.key, width(), true},
                       r.scores,
                       n,
                       GemmType::kF32,
                       GemmType::kF32});
      for (int64_t i = 0; i < count; ++i) Weigh(frame, u, i, c, n, r);
      Flash::Multiply({count,
                       value.size,
                       n,
                       {r.scores, n, false},
                       {r.value, value.size, false},
                       r.part,
                       value.size,
                       GemmType::kF32,
                       GemmType::kF32});
      for (int64_t i = 0; i < count * value.size; ++i) r.sum[i] += r.part[i];
    }
    for (int64_t i = 0; i < count; ++i) Finish(frame, u, i, r);
  }

  int64_t HeadOf(const Unit& u, int64_t i) const { return u.key_head * members + i / u.rows; }
  static int64_t RowOf(const Unit& u, int64_t i) { return u.row + i % u.rows; }

  void Begin(const Frame& frame, const Unit& u, int64_t i, const InferRoom& r) const {
    const InferSequence& s = *u.sequence;
    const int64_t head = HeadOf(u, i), row = s.first + RowOf(u, i);
    float* to = r.query + i * width();
    query.Load(query.Of(frame, s.batch, head, row), to);
    if (query_rope.present()) query_rope.Load(query_rope.Of(frame, s.batch, head, row), to + query.size);
    r.most[i] = kNothing, r.total[i] = 0;
    if (sink.present()) r.most[i] = sink.One(sink.Of(frame, 0, head, 0, 0)), r.total[i] = 1;
    std::fill_n(r.sum + i * value.size, value.size, 0.0f);
  }

  void LoadColumns(const Frame& frame, const InferSequence& s, int64_t head, int64_t c, int64_t n,
                   std::span<const int64_t> table, const InferRoom& r) const {
    constexpr int64_t kAhead = 16;
    for (int64_t i = 0; i < std::min(kAhead, n); ++i) Fetch(frame, RowAt(s, head, c + i, table));
    for (int64_t i = 0; i < n; ++i) {
      if (i + kAhead < n) Fetch(frame, RowAt(s, head, c + i + kAhead, table));
      const InferRow place = RowAt(s, head, c + i, table);
      float* to = r.key + i * width();
      Load(frame, key, key_bytes, place, r.key_by, to);
      if (key_rope.present())
        key_rope.Load(key_rope.Of(frame, place.page, head, place.page_row), to + key.size);
      Load(frame, value, value_bytes, place, r.value_by, r.value + i * value.size);
    }
  }

  InferRow RowAt(const InferSequence& s, int64_t head, int64_t column, std::span<const int64_t> table) const {
    if (pages_at < 0) return {head, s.key_batch, column, s.key_batch, s.key_first + column};
    const int64_t row = s.key_first + column;
    const int64_t page = table[static_cast<size_t>(s.key_batch * table_width + row / page_rows)];
    if (page < 0 || page >= page_count)
      Fail(kIndexFault, "op-index-range", "index {} is beyond a dimension of {} elements", page, page_count);
    return {head, s.key_batch, column, page, row % page_rows};
  }

  // Rows of a head lie far apart, where the processor does not look ahead by itself.
  void Fetch(const Frame& frame, const InferRow& row) const {
    for (const InferPlace* place : {&key, &value})
      place->Fetch(place->Of(frame, row.page, row.head, row.page_row));
  }

  static void Load(const Frame& frame, const InferPlace& from, const InferBytes& bytes, const InferRow& row,
                   const float* by, float* to) {
    const char* at = from.Of(frame, row.page, row.head, row.page_row);
    bytes.present() ? bytes.Load(frame, from, at, row, by, to) : from.Load(at, to);
  }

  // Scores of a row become powers relative to the largest so far; what was summed before follows.
  void Weigh(const Frame& frame, const Unit& u, int64_t i, int64_t c, int64_t n, const InferRoom& r) const {
    const InferSequence& s = *u.sequence;
    const int64_t row = RowOf(u, i), head = HeadOf(u, i);
    float* scores = r.scores + i * n;
    const int64_t begin = std::clamp<int64_t>(band.Begin(s, row) - c, 0, n);
    const int64_t end = row < s.rows ? std::clamp<int64_t>(band.End(s, row) - c, begin, n) : begin;
    std::fill(scores, scores + begin, kNothing);
    std::fill(scores + end, scores + n, kNothing);
    for (int64_t k = begin; k < end; ++k) scores[k] *= scale;
    if (shift.present()) Add(shift.Of(frame, s.batch, head, row, c + begin), end - begin, scores + begin);
    if (forbidden.present()) {
      const char* mask = forbidden.Of(frame, s.batch, 0, row, c);
      for (int64_t k = begin; k < end; ++k) {
        if (mask[k * forbidden.step[3]] != 0) scores[k] = kNothing;
      }
    }
    float most = r.most[i];
    for (int64_t k = begin; k < end; ++k) most = std::max(most, scores[k]);
    if (most == kNothing) {
      std::fill_n(scores, n, 0.0f);
      return;
    }
    const float factor = std::exp(r.most[i] - most);
    double total = 0;
    for (int64_t k = 0; k < n; ++k) total += static_cast<double>(scores[k] = std::exp(scores[k] - most));
    r.total[i] = r.total[i] * factor + static_cast<float>(total), r.most[i] = most;
    if (factor == 1) return;
    for (int64_t k = 0; k < value.size; ++k) r.sum[i * value.size + k] *= factor;
  }

  void Add(const char* from, int64_t n, float* to) const {
    alignas(64) float block[kColumns];
    const auto* added =
        static_cast<const float*>(Lane(shift.type, DType::kF32, shift.step[3]).Load(block, from, n));
    for (int64_t k = 0; k < n; ++k) to[k] += added[k];
  }

  void Finish(const Frame& frame, const Unit& u, int64_t i, const InferRoom& r) const {
    const InferSequence& s = *u.sequence;
    const int64_t head = HeadOf(u, i), row = s.first + RowOf(u, i);
    float* from = r.sum + i * value.size;
    const bool blind = r.total[i] == 0 || RowOf(u, i) >= s.rows;
    for (int64_t k = 0; k < value.size; ++k) from[k] = blind ? 0 : from[k] / r.total[i];
    char* to = out.Of(frame, s.batch, head, row);
    const Lane lane(out.type, DType::kF32, out.step);
    for (int64_t k = 0; k < value.size; k += kBlock)
      lane.Store(to + k * out.step, from + k, std::min(kBlock, value.size - k), false);
    if (!sums.present()) return;
    const float sum = blind ? kNothing : r.most[i] + std::log(r.total[i]);
    std::memcpy(const_cast<char*>(sums.Of(frame, s.batch, head, row, 0)), &sum, sizeof(sum));
  }
};

InferField FieldOf(const Operand& o) { return {o.binding, tensor::OffsetOf(*o.tensor), {}, o.dtype()}; }

// A tensor whose last dimensions are rows and columns; those before are batch and head where they are not 1.
InferField MatrixField(const Operand& o, bool with_heads) {
  InferField f = FieldOf(o);
  const Tensor& t = *o.tensor;
  const int rank = t.shape.rank();
  f.step[3] = tensor::StepOf(t, rank - 1), f.step[2] = tensor::StepOf(t, rank - 2);
  if (rank >= 3 && t.shape[0] > 1) f.step[0] = tensor::StepOf(t, 0);
  if (rank == 4 && with_heads && t.shape[1] > 1) f.step[1] = tensor::StepOf(t, 1);
  return f;
}

class Maker {
 public:
  Maker(Plan& plan, const InferArgs& args) : plan_(plan), a_(args), shape_(ReadInferLayout(plan, args)) {}

  void Make() {
    if (a_.out.tensor->empty()) return;
    body_.query = shape_.query, body_.query_rope = shape_.query_rope, body_.key = shape_.key;
    body_.key_rope = shape_.key_rope, body_.value = shape_.value, body_.out = shape_.out;
    body_.members = a_.heads / shape_.key_heads, body_.key_heads = shape_.key_heads;
    body_.packed = shape_.packed, body_.most_rows = shape_.rows, body_.scale = static_cast<float>(a_.scale);
    body_.key_bytes = InferBytes::OfKey(plan_, a_, shape_);
    body_.value_bytes = InferBytes::OfValue(plan_, a_, shape_);
    TakePages();
    TakeSparse();
    TakeFields();
    TakeUnits();
  }

 private:
  void Refuse(std::string_view what) const { RefuseInfer(plan_, what); }

  void TakePages() {
    if (!IsGiven(a_.pages)) return;
    body_.pages = Indices(plan_, *a_.pages.tensor), body_.pages_at = a_.pages.binding;
    body_.page_rows = shape_.page_rows, body_.page_count = shape_.page_count;
    body_.table_width = a_.pages.shape()[1];
  }

  // A query of one row sees all, unless a whole mask says otherwise; so do rows without a mask in mode 0.
  void TakeSparse() {
    one_row_ = !shape_.packed && shape_.rows == 1 && !shape_.query_rope.present();
    whole_mask_ = IsGiven(a_.forbidden) && a_.sparse <= 1;
    if (a_.sparse < 0 || a_.sparse > 4) Refuse("sparseMode is none of 0 to 4");
    if (a_.sparse == 1 && !whole_mask_) Refuse("sparseMode 1 needs attenMask");
    if (one_row_) return;
    constexpr int64_t kAll = int64_t{1} << 40;
    if (a_.sparse == 0 && whole_mask_) body_.band = {true, false, a_.before, a_.after};
    if (a_.sparse == 2) body_.band = {true, false, kAll, 0};
    if (a_.sparse == 3) body_.band = {true, true, kAll, 0};
    if (a_.sparse == 4) body_.band = {true, true, a_.before, a_.after};
  }

  void TakeFields() {
    if (whole_mask_) TakeMask();
    if (IsGiven(a_.shift)) {
      const Shape s = a_.shift.shape();
      const bool fits = !shape_.packed && s.rank() == 4 && (s[0] == 1 || s[0] == shape_.batches) &&
                        s[1] == a_.heads && s[2] >= shape_.rows && s[3] >= shape_.MostColumns();
      if (!fits)
        RefuseInferShape(plan_, a_.shift, {shape_.batches, a_.heads, shape_.rows, shape_.MostColumns()});
      body_.shift = MatrixField(a_.shift, true);
    }
    if (IsGiven(a_.sink)) {
      if (a_.sink.shape() != Shape{a_.heads}) RefuseInferShape(plan_, a_.sink, {a_.heads});
      body_.sink = FieldOf(a_.sink), body_.sink.step[1] = tensor::StepOf(*a_.sink.tensor, 0);
    }
    if (!a_.with_sums) return;
    if (!a_.sums.present()) Refuse("softmaxLseFlag is true, but softmaxLse is null");
    const int64_t total = a_.query.tensor->count() / (a_.heads * shape_.query.size);
    const Shape wanted =
        shape_.packed ? Shape{total, a_.heads, 1} : Shape{shape_.batches, a_.heads, shape_.rows, 1};
    if (a_.sums.shape() != wanted) RefuseInferShape(plan_, a_.sums, wanted);
    body_.sums = FieldOf(a_.sums);
    const Tensor& t = *a_.sums.tensor;
    body_.sums.step[0] = shape_.packed ? 0 : tensor::StepOf(t, 0);
    body_.sums.step[1] = tensor::StepOf(t, 1), body_.sums.step[2] = tensor::StepOf(t, shape_.packed ? 0 : 2);
  }

  void TakeMask() {
    const Shape s = a_.forbidden.shape();
    const int64_t columns = shape_.MostColumns();
    if (one_row_ && s.rank() == 2 && s[0] == shape_.batches && s[1] >= columns) {
      body_.forbidden = FieldOf(a_.forbidden);
      body_.forbidden.step[0] = tensor::StepOf(*a_.forbidden.tensor, 0);
      body_.forbidden.step[3] = tensor::StepOf(*a_.forbidden.tensor, 1);
      return;
    }
    const bool leading = (s.rank() < 3 || s[0] == 1 || s[0] == shape_.batches) && (s.rank() < 4 || s[1] == 1);
    const bool fits = !shape_.packed && s.rank() >= 2 && s.rank() <= 4 && leading &&
                      s.back(1) >= shape_.rows && s.back(0) >= columns;
    if (!fits) RefuseInferShape(plan_, a_.forbidden, {shape_.batches, 1, shape_.rows, columns});
    body_.forbidden = MatrixField(a_.forbidden, false);
  }

  void TakeUnits() {
    body_.block_rows = std::max<int64_t>(1, kRows / body_.members);
    auto first = std::make_shared<std::vector<int64_t>>();
    int64_t units = 0;
    double work = 0;
    for (const InferSequence& s : shape_.sequences) {
      first->push_back(units);
      const int64_t rows = body_.RowsOf(s);
      units += (rows + body_.block_rows - 1) / body_.block_rows * body_.key_heads;
      work += static_cast<double>(rows * a_.heads) * static_cast<double>(s.columns);
    }
    first->push_back(units);
    body_.first_unit = first;
    body_.sequences = std::make_shared<const std::vector<InferSequence>>(shape_.sequences);
    work *= static_cast<double>(body_.width() + body_.value.size);
    constexpr double kWorthACore = 5e5;
    const double each = work / static_cast<double>(std::max<int64_t>(units, 1)) + 1;
    const auto grain =
        std::clamp<int64_t>(static_cast<int64_t>(kWorthACore / each), 1, std::max<int64_t>(units, 1));
    body_.room = PieceScratch<float>(plan_, units, grain, body_.RoomSize());
    plan_.SetCost(1000 + static_cast<uint64_t>(work / 16));
    if (units > 0) plan_.SetBody(body_);
  }

  Plan& plan_;
  const InferArgs& a_;
  InferShape shape_;
  InferBody body_;
  bool one_row_ = false, whole_mask_ = false;
};

}  // namespace

void InferPlace::Load(const char* from, float* to) const {
  const Lane lane(type, DType::kF32, step);
  EachPart(from, [&](const char* part, int64_t first, int64_t n) {
    const void* loaded = lane.Load(to + first, part, n);
    if (loaded != to + first) std::memcpy(to + first, loaded, static_cast<size_t>(n) * sizeof(float));
  });
}

void InferPlace::Fetch(const char* from) const {
  const int64_t count = tile == 0 ? size : tile, bytes = count * step;
  for (int64_t begin = 0; begin < size; begin += count, from += tile_step) {
    for (int64_t i = 0; i < bytes; i += static_cast<int64_t>(kCacheLine)) AskFor(from + i);
  }
}

float InferField::One(const char* from) const {
  float one;
  return *static_cast<const float*>(Lane(type, DType::kF32, 0).Load(&one, from, 1));
}

int64_t InferBand::Begin(const InferSequence& s, int64_t row) const {
  if (!limited) return 0;
  return std::clamp<int64_t>(row + (from_end ? s.columns - s.rows : 0) - before, 0, s.columns);
}

int64_t InferBand::End(const InferSequence& s, int64_t row) const {
  if (!limited) return s.columns;
  return std::clamp<int64_t>(row + (from_end ? s.columns - s.rows : 0) + after + 1, 0, s.columns);
}

void PlanInferAttention(Plan& plan, const InferArgs& args) { Maker(plan, args).Make(); }

}  // namespace belay::ops
