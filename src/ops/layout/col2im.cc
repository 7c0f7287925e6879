#include "ops/layout/col2im.h"

#include <algorithm>

#include "ops/layout/checks.h"
#include "ops/scratch.h"
#include "tensor/convert.h"

namespace belay::ops {
namespace {

struct ColumnsBody {
  std::vector<PatchAxis> axes;
  std::vector<int64_t> places;  // of block * patches: an element of the image, or -1
  int64_t image_size, columns;
  PieceScratch<double> images;  // an image in f64, as a large kernel adds very many to one; its columns
  int64_t offsets[2];
  DType type;
  int bindings[2];

  template <class T>
  void Add(DType compute, const Frame& frame, char* out, const char* in) const {
    auto bytes = static_cast<int64_t>(BytesOf(type));
    images.For(frame, [&](int64_t begin, int64_t end, double* image) {
      auto* column = reinterpret_cast<T*>(image + image_size);
      for (int64_t i = begin; i < end; ++i) {
        std::fill_n(image, image_size, 0.0);
        tensor::Convert(compute, column, type, in + i * columns * bytes, columns);
        for (int64_t k = 0; k < columns; ++k) {
          int64_t place = places[static_cast<size_t>(k)];
          if (place >= 0) image[place] += static_cast<double>(column[k]);
        }
        tensor::Convert(type, out + i * image_size * bytes, DType::kF64, image, image_size);
      }
    });
  }

  void operator()(const Frame& frame) const {
    char* out = frame.at[bindings[0]] + offsets[0];
    const char* in = frame.at[bindings[1]] + offsets[1];
    if (type == DType::kF64) {
      Add<double>(DType::kF64, frame, out, in);
    } else {
      Add<float>(DType::kF32, frame, out, in);
    }
  }
};

// Where element `place` of (block..., patch...) lies in the image.
int64_t PlaceOf(const std::vector<PatchAxis>& axes, int64_t block, int64_t patch) {
  int64_t place = 0, scale = 1;
  for (size_t d = axes.size(); d-- > 0;) {
    const PatchAxis& axis = axes[d];
    int64_t at = patch % axis.patches * axis.stride + block % axis.block * axis.dilation - axis.pad_before;
    patch /= axis.patches;
    block /= axis.block;
    if (at < 0 || at >= axis.image) return -1;
    place += at * scale;
    scale *= axis.image;
  }
  return place;
}

}  // namespace

void PlanColumnsToImage(Plan& plan, const Operand& self, const Operand& out,
                        const std::vector<PatchAxis>& axes) {
  CheckNumeric(out);
  if (out.tensor->empty()) return;
  ColumnsBody body;
  body.axes = axes;
  int64_t blocks = 1, patches = 1;
  body.image_size = 1;
  for (const PatchAxis& axis : axes) {
    blocks *= axis.block;
    patches *= axis.patches;
    body.image_size *= axis.image;
  }
  for (int64_t b = 0; b < blocks; ++b) {
    for (int64_t p = 0; p < patches; ++p) body.places.push_back(PlaceOf(axes, b, p));
  }
  body.columns = blocks * patches;
  body.type = out.dtype();
  body.images = {plan, out.tensor->count() / body.image_size, 1,
                 body.image_size + (body.type == DType::kF64 ? body.columns : (body.columns + 1) / 2)};
  auto bytes = static_cast<int64_t>(BytesOf(body.type));
  body.offsets[0] = out.tensor->offset * bytes;
  body.offsets[1] = self.tensor->offset * bytes;
  body.bindings[0] = out.binding;
  body.bindings[1] = self.binding;
  plan.SetCost(100 + static_cast<uint64_t>(self.tensor->count()));
  plan.SetBody(body);
}

}  // namespace belay::ops
