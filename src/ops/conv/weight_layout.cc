#include "ops/conv/weight_layout.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <span>
#include <vector>

#include "base/error.h"
#include "ops/conv/channels_last.h"
#include "ops/conv/winograd.h"
#include "tensor/codes.h"

namespace belay::ops {
namespace {

constexpr int64_t kMostElements = int64_t{1} << 40, kMostBlock = 1024;

[[noreturn, gnu::cold]] void FailText(std::string_view text) {
  Fail(tensor::kInvalidArgument, "conv-weight-layout", "'{}' is no layout of weights", text);
}

// Reads "word=1,2,3 " away from the front of the text.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : whole_(text), rest_(text) {}

  void Word(std::string_view word) {
    if (!rest_.starts_with(word)) FailText(whole_);
    rest_.remove_prefix(word.size());
  }
  int64_t Number() {
    int64_t value = 0;
    auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    if (error != std::errc() || value < 0 || value > kMostElements) FailText(whole_);
    rest_.remove_prefix(static_cast<size_t>(end - rest_.data()));
    return value;
  }
  void Numbers(std::string_view word, int64_t* to) {
    Word(word);
    for (int i = 0; i < WeightLayout::kRank; ++i) {
      if (i > 0) Word(",");
      to[i] = Number();
    }
  }
  bool empty() const { return rest_.empty(); }

 private:
  std::string_view whole_, rest_;
};

// Whole blocks, one behind the other: no element lies outside. Kernels rely on it.
bool HoldsTogether(const WeightLayout& layout) {
  int64_t count = 1, last[WeightLayout::kRank];
  for (int d = 0; d < WeightLayout::kRank; ++d) {
    int64_t block = 1;
    for (int b = 0; b < layout.block_count; ++b) {
      if (layout.block_dims[b] == d) block *= layout.block_sizes[b];
    }
    if (layout.sizes[d] == 0 || (layout.laid(d) + block - 1) / block * block != layout.padded[d])
      return false;
    if (count > kMostElements / layout.padded[d]) return false;
    count *= layout.padded[d];
    last[d] = layout.padded[d] - 1;
  }
  if (layout.mixed && (layout.sizes[4] != 3 || layout.sizes[5] != 3)) return false;
  return layout.OffsetOf(last) == count - 1;
}

float WidenedAt(const char* data, int64_t offset) {
  return std::bit_cast<float>(static_cast<uint32_t>(reinterpret_cast<const uint16_t*>(data)[offset]) << 16);
}

// Where all elements lie, in the order of the dimensions. Each of these adds its part to the offset, whatever
// the others are: so the last ones together are a row, whose offsets are the same from its first element on.
class WeightRows {
 public:
  explicit WeightRows(const WeightLayout& layout) : layout_(layout) {
    constexpr int64_t kLongRow = 4096;
    while (outer_ > 0 && static_cast<int64_t>(row_.size()) * layout.laid(outer_ - 1) <= kLongRow)
      Prepend(--outer_);
  }

  // The offsets of a row's elements.
  std::span<const int64_t> row() const { return row_; }
  int64_t count() const {
    auto count = static_cast<int64_t>(row_.size());
    for (int d = 0; d < outer_; ++d) count *= layout_.laid(d);
    return count;
  }

  // each(offset) for the first element of each row.
  template <class Each>
  void ForEach(const Each& each) const {
    int64_t index[WeightLayout::kRank] = {};
    for (int d = outer_; d >= 0;) {
      each(layout_.OffsetOf(index));
      for (d = outer_ - 1; d >= 0 && ++index[d] == layout_.laid(d); --d) index[d] = 0;
    }
  }

 private:
  void Prepend(int d) {
    std::vector<int64_t> longer;
    longer.reserve(row_.size() * static_cast<size_t>(layout_.laid(d)));
    int64_t index[WeightLayout::kRank] = {};
    for (; index[d] < layout_.laid(d); ++index[d]) {
      const int64_t part = layout_.OffsetOf(index);
      for (int64_t offset : row_) longer.push_back(part + offset);
    }
    row_ = std::move(longer);
  }

  const WeightLayout& layout_;
  int outer_ = WeightLayout::kRank;  // dimensions of which each index has a row, or rows, of its own
  std::vector<int64_t> row_{0};
};

}  // namespace

int64_t WeightLayout::count() const {
  int64_t count = 1;
  for (int64_t size : padded) count *= size;
  return count;
}

int64_t WeightLayout::OffsetOf(const int64_t* index) const {
  int64_t at[kRank], offset = 0, step = 1;
  std::copy_n(index, kRank, at);
  for (int b = block_count - 1; b >= 0; --b) {
    int64_t& place = at[block_dims[b]];
    offset += place % block_sizes[b] * step;
    place /= block_sizes[b];
    step *= block_sizes[b];
  }
  for (int d = 0; d < kRank; ++d) offset += at[d] * strides[d];
  return offset;
}

bool operator==(const WeightLayout& a, const WeightLayout& b) {
  return a.bf16 == b.bf16 && a.mixed == b.mixed && std::ranges::equal(a.sizes, b.sizes) &&
         std::ranges::equal(a.padded, b.padded) && std::ranges::equal(a.strides, b.strides) &&
         a.block_count == b.block_count &&
         std::equal(a.block_dims, a.block_dims + a.block_count, b.block_dims) &&
         std::equal(a.block_sizes, a.block_sizes + a.block_count, b.block_sizes);
}

std::string TextOf(const WeightLayout& layout) {
  std::string text = fmt::format("{}{} sizes={} padded={} strides={}", layout.bf16 ? "bf16" : "f32",
                                 layout.mixed ? " mixed" : "", fmt::join(layout.sizes, ","),
                                 fmt::join(layout.padded, ","), fmt::join(layout.strides, ","));
  for (int b = 0; b < layout.block_count; ++b) {
    text += fmt::format(" {}x{}", layout.block_dims[b], layout.block_sizes[b]);
  }
  return text;
}

WeightLayout ParseWeightLayout(std::string_view text) {
  WeightLayout layout{};
  Scanner scan(text);
  layout.bf16 = text.starts_with("bf16");
  scan.Word(layout.bf16 ? "bf16" : "f32");
  layout.mixed = text.starts_with("f32 mixed");
  if (layout.mixed) scan.Word(" mixed");
  scan.Numbers(" sizes=", layout.sizes);
  scan.Numbers(" padded=", layout.padded);
  scan.Numbers(" strides=", layout.strides);
  while (!scan.empty()) {
    if (layout.block_count == WeightLayout::kMostBlocks) FailText(text);
    scan.Word(" ");
    layout.block_dims[layout.block_count] =
        static_cast<int32_t>(std::min<int64_t>(scan.Number(), WeightLayout::kRank));
    scan.Word("x");
    layout.block_sizes[layout.block_count] = scan.Number();
    if (layout.block_dims[layout.block_count] == WeightLayout::kRank ||
        layout.block_sizes[layout.block_count] == 0 || layout.block_sizes[layout.block_count] > kMostBlock) {
      FailText(text);
    }
    ++layout.block_count;
  }
  if (!HoldsTogether(layout)) FailText(text);
  return layout;
}

WeightLayout PlainWeightLayout(const int64_t* sizes) {
  WeightLayout layout{};
  int64_t step = 1;
  for (int d = WeightLayout::kRank - 1; d >= 0; --d) {
    layout.sizes[d] = layout.padded[d] = sizes[d];
    layout.strides[d] = step;
    step *= sizes[d];
  }
  return layout;
}

namespace {

std::shared_ptr<char[]> Floats(int64_t count) {
  return AlignedBytes(count * static_cast<int64_t>(sizeof(float)));
}

std::shared_ptr<const char[]> Unmixed(const char* mixed, int64_t kernels) {
  auto bytes = Floats(9 * kernels);
  for (int64_t i = 0; i < kernels; ++i) {
    UnmixKernel(reinterpret_cast<const float*>(mixed) + 16 * i,
                reinterpret_cast<float*>(bytes.get()) + 9 * i);
  }
  return bytes;
}

}  // namespace

void LayOut(const float* plain, const WeightLayout& layout, float* to) {
  std::fill_n(to, layout.count(), 0.0f);
  const WeightRows rows(layout);
  rows.ForEach([&](int64_t begin) {
    for (int64_t offset : rows.row()) to[begin + offset] = *plain++;
  });
}

std::shared_ptr<const char[]> Unpacked(const PackedWeights& weights) {
  const WeightLayout layout = ParseWeightLayout(weights.layout);
  if (layout.bytes() > weights.bytes) FailText(weights.layout);
  if (layout == PlainWeightLayout(layout.sizes)) return weights.data;
  const WeightRows rows(layout);
  const int64_t count = rows.count();
  auto bytes = Floats(count);
  auto* to = reinterpret_cast<float*>(bytes.get());
  rows.ForEach([&](int64_t begin) {
    if (layout.bf16) {
      for (int64_t offset : rows.row()) *to++ = WidenedAt(weights.data.get(), begin + offset);
    } else {
      const float* from = reinterpret_cast<const float*>(weights.data.get()) + begin;
      for (int64_t offset : rows.row()) *to++ = from[offset];
    }
  });
  if (layout.mixed) return Unmixed(bytes.get(), count / 16);
  return bytes;
}

}  // namespace belay::ops
