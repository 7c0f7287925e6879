// The patches that a kernel sees, moved as they are.
#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <vector>

#include "base/error.h"
#include "base/parallel.h"
#include "ops/kernels.h"
#include "ops/layout/checks.h"
#include "ops/layout/col2im.h"
#include "tensor/codes.h"
#include "tensor/views.h"

namespace belay::ops {
namespace {

struct SeenAxis {
  int64_t image, kernel, dilation, padding, stride, patches;
};

struct Im2colBody {
  SeenAxis y, x;
  int64_t images, channels;
  int64_t in_steps[4], out_steps[3];  // bytes: image, channel, row, column; image, row, column
  int64_t in_offset, out_offset;
  int in, out;
  size_t bytes;

  void operator()(const Frame& frame) const {
    const int64_t rows = channels * y.kernel * x.kernel;
    const int64_t grain = std::max<int64_t>(1, 65536 / (y.patches * x.patches));
    ParallelFor(images * rows, grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) Row(frame, i / rows, i % rows);
    });
  }

  // What one place of the kernel sees in one channel of one image.
  void Row(const Frame& frame, int64_t image, int64_t row) const {
    const int64_t channel = row / x.kernel / y.kernel, ky = row / x.kernel % y.kernel, kx = row % x.kernel;
    const char* from = frame.at[in] + in_offset + image * in_steps[0] + channel * in_steps[1];
    char* to = frame.at[out] + out_offset + image * out_steps[0] + row * out_steps[1];
    for (int64_t py = 0; py < y.patches; ++py) {
      const int64_t iy = py * y.stride - y.padding + ky * y.dilation;
      for (int64_t px = 0; px < x.patches; ++px, to += out_steps[2]) {
        const int64_t ix = px * x.stride - x.padding + kx * x.dilation;
        if (iy < 0 || iy >= y.image || ix < 0 || ix >= x.image) {
          std::memset(to, 0, bytes);
        } else {
          std::memcpy(to, from + iy * in_steps[2] + ix * in_steps[3], bytes);
        }
      }
    }
  }
};

SeenAxis SeenAxisOf(int64_t image, size_t i, std::span<const int64_t> kernel,
                    std::span<const int64_t> dilation, std::span<const int64_t> padding,
                    std::span<const int64_t> stride) {
  SeenAxis axis{image, kernel[i], dilation[i], padding[i], stride[i], 0};
  if (axis.kernel < 1 || axis.dilation < 1 || axis.padding < 0 || axis.stride < 1) {
    Fail(
        tensor::kInvalidArgument, "im2col-window",
        "kernelSize, dilation, padding and stride of dimension {} are {}, {}, {}, {}; padding may be 0, the others at "
        "least 1",
        i, axis.kernel, axis.dilation, axis.padding, axis.stride);
  }
  constexpr int64_t kMost = int64_t{1} << 28;  // so that products of two of these numbers fit
  if (std::max({image, axis.kernel, axis.dilation, axis.padding, axis.stride}) > kMost) {
    Fail(tensor::kInvalidArgument, "im2col-window", "a number of dimension {} is above {}", i, kMost);
  }
  const int64_t room = image + 2 * axis.padding - axis.dilation * (axis.kernel - 1) - 1;
  if (room < 0) {
    Fail(tensor::kInvalidArgument, "im2col-window",
         "the kernel is larger than the padded image in dimension {}", i);
  }
  axis.patches = room / axis.stride + 1;
  return axis;
}

void CheckWindow(std::span<const int64_t> kernel, std::span<const int64_t> dilation,
                 std::span<const int64_t> padding, std::span<const int64_t> stride) {
  CheckLength("kernelSize", static_cast<int64_t>(kernel.size()), 2);
  CheckLength("dilation", static_cast<int64_t>(dilation.size()), 2);
  CheckLength("padding", static_cast<int64_t>(padding.size()), 2);
  CheckLength("stride", static_cast<int64_t>(stride.size()), 2);
}

}  // namespace

namespace kernels {

void Im2col(Plan& plan, DType, const Operand& self, std::span<const int64_t> kernel,
            std::span<const int64_t> dilation, std::span<const int64_t> padding,
            std::span<const int64_t> stride, const Operand& out) {
  const Tensor &image = *self.tensor, &columns = *out.tensor;
  const int rank = image.shape.rank();
  if (rank != 3 && rank != 4) {
    Fail(tensor::kInvalidArgument, "im2col-rank", "self has {} dimensions; images have 3, or 4 with a batch",
         rank);
  }
  CheckWindow(kernel, dilation, padding, stride);
  CheckSameType(self, out);
  Im2colBody body{};
  body.y = SeenAxisOf(image.shape.back(1), 0, kernel, dilation, padding, stride);
  body.x = SeenAxisOf(image.shape.back(0), 1, kernel, dilation, padding, stride);
  body.channels = image.shape.back(2);
  body.images = rank == 4 ? image.shape[0] : 1;
  const std::optional<int64_t> rows =
      tensor::CheckedCount(std::array{body.channels, body.y.kernel, body.x.kernel});
  if (!rows)
    Fail(tensor::kInvalidArgument, "im2col-window", "the patches of {} channels are too large",
         body.channels);
  Shape wanted{*rows, body.y.patches * body.x.patches};
  if (rank == 4) wanted = Shape{body.images, wanted[0], wanted[1]};
  CheckShape(out, wanted);
  if (columns.empty()) return;
  for (int i = 4 - rank; i < 4; ++i) body.in_steps[i] = StepOf(image, i - (4 - rank));
  for (int i = 4 - rank; i < 3; ++i) body.out_steps[i] = StepOf(columns, i - (4 - rank));
  body.in_offset = OffsetOf(image), body.out_offset = OffsetOf(columns);
  body.in = self.binding, body.out = out.binding;
  body.bytes = BytesOf(self.dtype());
  plan.SetCost(100 + static_cast<uint64_t>(columns.count()) * 2);
  plan.SetBody(body);
}

void Im2colBackward(Plan& plan, DType, const Operand& self, std::span<const int64_t> size,
                    std::span<const int64_t> kernel, std::span<const int64_t> dilation,
                    std::span<const int64_t> padding, std::span<const int64_t> stride, const Operand& out) {
  CheckLength("outputSize", static_cast<int64_t>(size.size()), 2);
  CheckWindow(kernel, dilation, padding, stride);
  CheckSameType(self, out);
  std::vector<PatchAxis> axes;
  for (size_t i = 0; i < 2; ++i) {
    const SeenAxis axis = SeenAxisOf(size[i], i, kernel, dilation, padding, stride);
    axes.push_back({axis.image, axis.kernel, axis.dilation, axis.stride, axis.padding, axis.patches});
  }
  const Shape& columns = self.tensor->shape;
  const int rank = columns.rank();
  const int64_t places = kernel[0] * kernel[1], patches = axes[0].patches * axes[1].patches;
  if ((rank != 2 && rank != 3) || columns.back(1) % places != 0 || columns.back(0) != patches) {
    Fail(tensor::kInvalidArgument, "im2col-columns",
         "{} has shape {}; it has a multiple of {} rows and {} columns, and perhaps a batch before them",
         self.name, columns.ToString(), places, patches);
  }
  Shape wanted{columns.back(1) / places, size[0], size[1]};
  if (rank == 3) wanted = Shape{columns[0], wanted[0], wanted[1], wanted[2]};
  CheckShape(out, wanted);
  PlanColumnsToImage(plan, self, out, axes);
}

}  // namespace kernels
}  // namespace belay::ops
