// Blocks of tokens, which may overlap, summed to one by weights of their places.
#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/parallel.h"
#include "ops/attention/nsa.h"
#include "ops/experts/experts.h"
#include "ops/experts/rows.h"
#include "ops/index/indices.h"
#include "ops/kernels.h"
#include "ops/layout/checks.h"

namespace belay::ops {
namespace {

struct CompressArgs {
  const Operand &input, &weight;
  std::span<const int64_t> ends;  // running sums of the lengths of the sequences
  int64_t block, stride, ends_kind;
  const char* layout;
  const Operand& blocks;  // [blocks, heads, size]
};

// The first token of each block. A sequence has as many as fit into it.
std::vector<int64_t> BlockStarts(const Plan& plan, const CompressArgs& a) {
  if (std::string_view(a.layout) != "TND" || a.ends_kind != 0)
    RefuseExperts(plan, "layout is TND, and actualSeqLen holds running sums (its type is 0)");
  if (a.block < 1 || a.stride < 1) RefuseExperts(plan, "compressBlockSize and compressStride are above 0");
  CheckExpertRank(plan, a.input, 3, 3);
  const Shape& s = a.input.shape();
  CheckExpertShape(plan, a.weight, {a.block, s[1]});
  CheckSameType(a.input, a.weight);
  CheckSameType(a.input, a.blocks);
  int64_t first = 0, count = 0;
  for (const int64_t end : a.ends) {
    if (end < first || end > s[0]) RefuseExperts(plan, "actualSeqLen falls, or goes beyond the tokens");
    if (end - first >= a.block) count += (end - first - a.block) / a.stride + 1;
    first = end;
  }
  if (first != s[0]) RefuseExperts(plan, "actualSeqLen does not end with all tokens");
  CheckExpertShape(plan, a.blocks, {count, s[1], s[2]});
  std::vector<int64_t> starts;
  if (a.input.tensor->empty()) return starts;
  first = 0;
  for (const int64_t end : a.ends) {
    for (int64_t at = first; end - at >= a.block; at += a.stride) starts.push_back(at);
    first = end;
  }
  return starts;
}

// A place within a head's numbers.
struct Stretch {
  int64_t at, n;
};

// body(stretch) for pieces of a row that a buffer holds.
template <class Body>
void EachStretch(int64_t width, const Body& body) {
  for (int64_t at = 0; at < width; at += kBlock) body(Stretch{at, std::min(kBlock, width - at)});
}

void AddScaled(float* to, const float* from, float by, int64_t n) {
  for (int64_t i = 0; i < n; ++i) to[i] += from[i] * by;
}

struct CompressBody {
  Rows input, weight, out;
  std::vector<int64_t> starts;
  int64_t heads;

  void operator()(const Frame& frame) const {
    const int64_t block = weight.count();
    ParallelFor(out.count(), RowGrain(out.width() * block), [&](int64_t begin, int64_t end) {
      alignas(64) float sum[kBlock], buffer[kBlock];
      for (int64_t row = begin; row < end; ++row) {
        const int64_t first = starts[static_cast<size_t>(row / heads)], head = row % heads;
        EachStretch(out.width(), [&](const Stretch& s) {
          std::fill_n(sum, s.n, 0.0f);
          for (int64_t w = 0; w < block; ++w)
            AddScaled(sum, input.Load(frame, (first + w) * heads + head, s.at, s.n, buffer),
                      weight.At(frame, w, head), s.n);
          out.Store(frame, row, s.at, s.n, sum);
        });
      }
    });
  }
};

struct CompressGradientBody {
  Rows dy, input, weight, dx, dw;
  std::vector<int64_t> starts;
  int64_t heads, block;

  void operator()(const Frame& frame) const {
    ParallelFor(dx.count(), RowGrain(dx.width() * 4), [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) Input(frame, row);
    });
    const auto count = static_cast<int64_t>(starts.size());
    ParallelFor(block * heads, RowGrain(input.width() * count), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) Weight(frame, i / heads, i % heads);
    });
  }

  // The blocks that hold the token.
  void Input(const Frame& frame, int64_t row) const {
    const int64_t token = row / heads, head = row % heads;
    const auto from = std::lower_bound(starts.begin(), starts.end(), token - block + 1);
    alignas(64) float sum[kBlock], buffer[kBlock];
    EachStretch(dx.width(), [&](const Stretch& s) {
      std::fill_n(sum, s.n, 0.0f);
      for (auto start = from; start != starts.end() && *start <= token; ++start)
        AddScaled(sum, dy.Load(frame, (start - starts.begin()) * heads + head, s.at, s.n, buffer),
                  weight.At(frame, token - *start, head), s.n);
      dx.Store(frame, row, s.at, s.n, sum);
    });
  }

  void Weight(const Frame& frame, int64_t place, int64_t head) const {
    alignas(64) float left[kBlock], right[kBlock];
    double sum = 0;
    for (size_t c = 0; c < starts.size(); ++c) {
      const int64_t token = starts[c] + place;
      EachStretch(input.width(), [&](const Stretch& s) {
        const float* a = dy.Load(frame, static_cast<int64_t>(c) * heads + head, s.at, s.n, left);
        const float* b = input.Load(frame, token * heads + head, s.at, s.n, right);
        for (int64_t i = 0; i < s.n; ++i) sum += static_cast<double>(a[i]) * static_cast<double>(b[i]);
      });
    }
    dw.Set(frame, place, head, static_cast<float>(sum));
  }
};

// The last block of the tokens of each sequence that end with one, read from pages.
struct CompressCacheBody {
  Rows input, weight, out;
  Indices slots, table;
  int slots_at, table_at;
  std::vector<int64_t> lengths;
  int64_t heads, block, stride, page_rows, pages, pages_each;

  void operator()(const Frame& frame) const {
    const std::span<const int64_t> slot = slots.Read(frame, slots_at), page = table.Read(frame, table_at);
    for (size_t i = 0; i < lengths.size(); ++i) {
      if (lengths[i] < block || (lengths[i] - block) % stride != 0) continue;
      Block(frame, lengths[i] - block, page.subspan(i * static_cast<size_t>(pages_each)),
            PlaceWithin(slot[i], out.count() / heads));
    }
  }

  void Block(const Frame& frame, int64_t first, std::span<const int64_t> page, int64_t slot) const {
    ParallelFor(heads, RowGrain(out.width() * block), [&](int64_t begin, int64_t end) {
      alignas(64) float sum[kBlock], buffer[kBlock];
      for (int64_t head = begin; head < end; ++head) {
        EachStretch(out.width(), [&](const Stretch& s) {
          std::fill_n(sum, s.n, 0.0f);
          for (int64_t w = 0; w < block; ++w) {
            const int64_t at = RowInPages(page, first + w, page_rows, pages);
            AddScaled(sum, input.Load(frame, at * heads + head, s.at, s.n, buffer), weight.At(frame, w, head),
                      s.n);
          }
          out.Store(frame, slot * heads + head, s.at, s.n, sum);
        });
      }
    });
  }
};

}  // namespace

namespace kernels {

void NsaCompress(Plan& plan, DType, const Operand& input, const Operand& weight,
                 std::span<const int64_t> ends, const char* layout, int64_t block, int64_t stride,
                 int64_t ends_kind, const Operand& out) {
  CompressBody body{Rows(input), Rows(weight), Rows(out), {}, 0};
  body.starts = BlockStarts(plan, {input, weight, ends, block, stride, ends_kind, layout, out});
  body.heads = input.shape()[1];
  if (out.tensor->empty()) return;
  plan.SetCost(200 + static_cast<uint64_t>(out.tensor->count() * block) / 4);
  plan.SetBody(body);
}

void NsaCompressGrad(Plan& plan, DType, const NsaCompressGradArguments& a) {
  CompressGradientBody body{.dy = Rows(a.output_grad),
                            .input = Rows(a.input),
                            .weight = Rows(a.weight),
                            .dx = Rows(a.input_grad),
                            .dw = Rows(a.weight_grad),
                            .starts = {},
                            .heads = a.input.shape()[1],
                            .block = a.compress_block_size};
  body.starts = BlockStarts(plan, {.input = a.input,
                                   .weight = a.weight,
                                   .ends = a.act_seq_len,
                                   .block = a.compress_block_size,
                                   .stride = a.compress_stride,
                                   .ends_kind = a.act_seq_len_type,
                                   .layout = a.layout,
                                   .blocks = a.output_grad});
  CheckExpertShape(plan, a.input_grad, a.input.shape());
  CheckExpertShape(plan, a.weight_grad, a.weight.shape());
  CheckSameType(a.input, a.input_grad);
  CheckSameType(a.input, a.weight_grad);
  if (a.input_grad.tensor->empty() && a.weight_grad.tensor->empty()) return;
  plan.SetCost(200 + static_cast<uint64_t>(a.output_grad.tensor->count() * a.compress_block_size) / 2);
  plan.SetBody(body);
}

void NsaCompressWithCache(Plan& plan, DType, const NsaCompressWithCacheArguments& a) {
  if (std::string_view(a.layout) != "TND" || a.act_seq_len_type != 1)
    RefuseExperts(plan, "layout is TND, and actSeqLen holds lengths (its type is 1)");
  if (a.compress_block_size < 1 || a.compress_stride < 1)
    RefuseExperts(plan, "compressBlockSize and compressStride are above 0");
  CheckExpertRank(plan, a.input, 4, 4);
  const Shape& s = a.input.shape();
  if (s[1] != a.page_block_size || s[1] < 1)
    RefuseExperts(plan, "pageBlockSize is not the tokens of a page of input");
  CheckExpertShape(plan, a.weight, {a.compress_block_size, s[2]});
  CheckExpertRank(plan, a.output_cache, 3, 3);
  CheckExpertShape(plan, a.output_cache, {a.output_cache.shape()[0], s[2], s[3]});
  for (const Operand* o : {&a.weight, &a.output_cache}) CheckSameType(a.input, *o);
  const auto count = static_cast<int64_t>(a.act_seq_len.size());
  CheckExpertShape(plan, a.slot_mapping, {count});
  if (!a.block_table.present()) RefuseExperts(plan, "tokens lie in pages: blockTable is not null");
  CheckExpertRank(plan, a.block_table, 2, 2);
  const int64_t each = a.block_table.shape()[1];
  CheckExpertShape(plan, a.block_table, {count, each});
  for (const int64_t n : a.act_seq_len) {
    if (n < 0 || n > each * s[1])
      RefuseExperts(plan, "a length in actSeqLen is below 0 or beyond the pages of its sequence");
  }
  if (count == 0 || a.output_cache.tensor->empty()) return;
  plan.SetCost(200 + static_cast<uint64_t>(count * s[2] * s[3] * a.compress_block_size) / 4);
  plan.SetBody(CompressCacheBody{.input = Rows(a.input),
                                 .weight = Rows(a.weight),
                                 .out = Rows(a.output_cache),
                                 .slots = Indices(plan, *a.slot_mapping.tensor),
                                 .table = Indices(plan, *a.block_table.tensor),
                                 .slots_at = a.slot_mapping.binding,
                                 .table_at = a.block_table.binding,
                                 .lengths = {a.act_seq_len.begin(), a.act_seq_len.end()},
                                 .heads = s[2],
                                 .block = a.compress_block_size,
                                 .stride = a.compress_stride,
                                 .page_rows = s[1],
                                 .pages = s[0],
                                 .pages_each = each});
}

}  // namespace kernels
}  // namespace belay::ops
