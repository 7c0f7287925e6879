#include "ops/layout/transposed.h"

#include <algorithm>
#include <cstring>

#include "base/parallel.h"
#include "ops/layout/channel_loops.h"
#include "ops/layout/float_transpose.h"
#include "ops/layout/square.h"

namespace belay::ops {
namespace {

struct Dim {
  int64_t size, out, in;  // steps in bytes
};

// The dimensions by the result's memory, innermost first, merged where both sides allow it.
struct Nest {
  Dim dims[tensor::kMaxRank];
  int rank = 0;

  Nest(const Tensor& out, const Tensor& in) {
    auto bytes = static_cast<int64_t>(BytesOf(out.dtype));
    for (int i = out.shape.rank() - 1; i >= 0; --i) {
      if (out.shape[i] != 1) dims[rank++] = {out.shape[i], out.strides[i] * bytes, in.strides[i] * bytes};
    }
    std::stable_sort(dims, dims + rank, [](const Dim& a, const Dim& b) { return a.out < b.out; });
    int last = 0;
    for (int i = 1; i < rank; ++i) {
      Dim& inner = dims[last];
      if (dims[i].out == inner.out * inner.size && dims[i].in == inner.in * inner.size) {
        inner.size *= dims[i].size;
      } else {
        dims[++last] = dims[i];
      }
    }
    if (rank > 0) rank = last + 1;
  }
};

template <class T>
void Block(char* dst, int64_t dst_row, const char* src, int64_t src_row, int64_t rows, int64_t columns) {
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < columns; ++c) {
      std::memcpy(dst + r * dst_row + c * static_cast<int64_t>(sizeof(T)),
                  src + c * src_row + r * static_cast<int64_t>(sizeof(T)), sizeof(T));
    }
  }
}

// dst[r][c] = src[c][r]. The last squares may begin before those in front of them end.
template <class T>
void Tiles(char* dst, int64_t dst_row, const char* src, int64_t src_row, int64_t rows, int64_t columns) {
  constexpr int64_t kSide = Square<T>::kSide;
  constexpr auto kBytes = static_cast<int64_t>(sizeof(T));
  constexpr int64_t kLine = std::max(kSide, 64 / kBytes);  // whole lines of the cache on both sides
  if (rows < kSide || columns < kSide) return Block<T>(dst, dst_row, src, src_row, rows, columns);
  for (int64_t c0 = 0; c0 < columns; c0 += kLine) {
    for (int64_t r0 = 0; r0 < rows; r0 += kSide) {
      const int64_t r = std::min(r0, rows - kSide);
      for (int64_t c1 = c0; c1 < std::min(c0 + kLine, columns); c1 += kSide) {
        const int64_t c = std::min(c1, columns - kSide);
        Square<T>::Turn(src + c * src_row + r * kBytes, src_row, dst + r * dst_row + c * kBytes, dst_row);
      }
    }
  }
}

struct TransposedBody {
  using Kernel = void (*)(char*, int64_t, const char*, int64_t, int64_t, int64_t);

  Dim column, row;  // along the result's memory, along the source's
  Dim outer[tensor::kMaxRank];
  int rank = 0;
  int64_t outer_count = 1;
  int64_t strips;  // of kStrip rows, the last one of what is left
  int64_t offsets[2];
  int bindings[2];
  Kernel kernel;

  static constexpr int64_t kStrip = 64;
  static constexpr int64_t kGrain = 64 * 1024;  // elements

  void operator()(const Frame& frame) const {
    char* out = frame.at[bindings[0]] + offsets[0];
    const char* in = frame.at[bindings[1]] + offsets[1];
    int64_t grain = std::max<int64_t>(1, kGrain / (column.size * std::min(kStrip, row.size)));
    ParallelFor(outer_count * strips, grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) Strip(out, in, i / strips, i % strips * kStrip);
    });
  }

  void Strip(char* out, const char* in, int64_t place, int64_t first) const {
    for (int d = 0; d < rank; ++d) {
      int64_t i = place % outer[d].size;
      place /= outer[d].size;
      out += i * outer[d].out;
      in += i * outer[d].in;
    }
    const bool is_last = first == (strips - 1) * kStrip;
    kernel(out + first * row.out, row.out, in + first * row.in, column.in,
           is_last ? row.size - first : kStrip, column.size);
  }
};

// Where nothing lies between the elements.
struct WholeBody {
  int64_t batch, rows, columns;
  int64_t offsets[2];
  int bindings[2];

  void operator()(const Frame& frame) const {
    TransposeFloats(reinterpret_cast<const float*>(frame.at[bindings[1]] + offsets[1]),
                    reinterpret_cast<float*>(frame.at[bindings[0]] + offsets[0]), batch, rows, columns);
  }
};

// Pixels of a few small elements.
struct ChannelsBody {
  ChannelLoop loop;
  bool joins;
  int64_t batch, pixels, channels, bytes;
  int64_t offsets[2];
  int bindings[2];

  void operator()(const Frame& frame) const {
    constexpr int64_t kPiece = 4096;
    const int64_t pieces = (pixels + kPiece - 1) / kPiece;
    char* to = frame.at[bindings[0]] + offsets[0];
    const char* from = frame.at[bindings[1]] + offsets[1];
    ParallelFor(batch * pieces, 16, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t image = i / pieces * pixels * channels, first = i % pieces * kPiece;
        const int64_t in_planes = (image + first) * bytes, in_pixels = (image + first * channels) * bytes;
        loop(from + (joins ? in_planes : in_pixels), to + (joins ? in_pixels : in_planes),
             std::min(kPiece, pixels - first), pixels);
      }
    });
  }
};

// The dimensions are those of [batch][rows][columns] with the last two exchanged. False: they are not.
bool PlanWhole(Plan& plan, const Nest& nest, const Operand& src, const Operand& out) {
  const auto bytes = static_cast<int64_t>(BytesOf(out.dtype()));
  if (nest.rank < 2 || nest.rank > 3) return false;
  const Dim &row = nest.dims[0], &column = nest.dims[1];
  const Dim batch = nest.rank == 3 ? nest.dims[2] : Dim{1, 0, 0};
  const int64_t image = row.size * column.size * bytes;
  if (row.out != bytes || column.in != bytes || row.in != column.size * bytes ||
      column.out != row.size * bytes)
    return false;
  if (batch.size != 1 && (batch.out != image || batch.in != image)) return false;
  const int64_t offsets[2] = {out.tensor->offset * bytes, src.tensor->offset * bytes};
  const bool joins = row.size <= column.size;
  const int64_t few = std::min(row.size, column.size), many = std::max(row.size, column.size);
  const ChannelLoops loops = BestChannelLoops(bytes, few);
  plan.SetCost(20 + static_cast<uint64_t>(out.tensor->count()) / 4);
  if (const ChannelLoop loop = joins ? loops.join : loops.separate; loop != nullptr) {
    plan.SetBody(ChannelsBody{
        loop, joins, batch.size, many, few, bytes, {offsets[0], offsets[1]}, {out.binding, src.binding}});
    return true;
  }
  if (bytes != sizeof(float)) return false;
  plan.SetBody(
      WholeBody{batch.size, row.size, column.size, {offsets[0], offsets[1]}, {out.binding, src.binding}});
  return true;
}

TransposedBody::Kernel KernelFor(int64_t bytes) {
  switch (bytes) {
    case 1:
      return &Tiles<uint8_t>;
    case 2:
      return &Tiles<uint16_t>;
    case 4:
      return &Tiles<uint32_t>;
    case 8:
      return &Tiles<uint64_t>;
    default:
      return nullptr;
  }
}

}  // namespace

bool PlanTransposed(Plan& plan, const Operand& src, const Operand& out) {
  constexpr int64_t kSmallest = 256, kShortest = 4;
  const Tensor& to = *out.tensor;
  const Tensor& from = *src.tensor;
  if (to.dtype != from.dtype || to.shape != from.shape || to.count() < kSmallest) return false;
  auto bytes = static_cast<int64_t>(BytesOf(to.dtype));
  Nest nest(to, from);
  if (PlanWhole(plan, nest, src, out)) return true;
  const Dim& column = nest.dims[0];
  if (column.out != bytes || column.in == bytes || column.size < kShortest) return false;
  int row = 1;
  while (row < nest.rank && nest.dims[row].in != bytes) ++row;
  TransposedBody body;
  body.kernel = KernelFor(bytes);
  if (row >= nest.rank || nest.dims[row].size < kShortest || body.kernel == nullptr) return false;
  body.column = column;
  body.row = nest.dims[row];
  for (int d = 1; d < nest.rank; ++d) {
    if (d == row) continue;
    body.outer[body.rank++] = nest.dims[d];
    body.outer_count *= nest.dims[d].size;
  }
  body.strips = std::max<int64_t>(1, body.row.size / TransposedBody::kStrip);
  body.offsets[0] = to.offset * bytes;
  body.offsets[1] = from.offset * bytes;
  body.bindings[0] = out.binding;
  body.bindings[1] = src.binding;
  plan.SetCost(20 + static_cast<uint64_t>(to.count()) / 2);
  plan.SetBody(body);
  return true;
}

}  // namespace belay::ops
