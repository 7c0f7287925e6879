// The displaced taps of a convolution, of which its product is made next.
#include "graph/ops/window.h"
#include "graph/translation.h"
#include "graph/translations.h"
#include "ops/detect/detect.h"

namespace belay::graph::translate {
namespace {

using ops::Operand;

struct GivenTaps {
  int64_t groups = 1;
  ops::TapWindow window = {};
};

int64_t NumberAt(const Translation& node, const char* attribute, size_t count, size_t i, int64_t least) {
  constexpr int64_t kFar = int64_t{1} << 31;
  const std::vector<int64_t> list = node.Ints(attribute);
  if (list.size() != count) node.Refuse(std::string(attribute) + " is " + std::to_string(count) + " numbers");
  if (list[i] < least || list[i] > kFar)
    node.Refuse(std::string(attribute) + " has a number that is too small or large");
  return list[i];
}

// x and offsets as they must be, for what the attributes say.
GivenTaps TapsOf(const Translation& node, int x, int offsets) {
  GivenTaps taps;
  const Shape &image = node.shape(x), &moved = node.shape(offsets);
  taps.groups = node.Int("deformable_groups");
  for (size_t d = 0; d < 2; ++d) {
    taps.window.kernel[d] = NumberAt(node, "ksize", 2, d, 1);
    taps.window.strides[d] = NumberAt(node, "strides", 4, d + 1, 1);
    taps.window.dilations[d] = NumberAt(node, "dilations", 4, d + 1, 1);
    taps.window.before[d] = NumberAt(node, "pads", 4, d * 2, 0);
  }
  constexpr int64_t kMost = 1 << 16;
  const int64_t* kernel = taps.window.kernel;
  if (kernel[0] > kMost || kernel[1] > kMost || taps.groups < 1 || taps.groups > kMost)
    node.Refuse("kernels and groups are small");
  if (image.rank() != 4 || moved.rank() != 4 || moved[0] != image[0] || image[3] % taps.groups != 0 ||
      moved[3] != 3 * taps.groups * kernel[0] * kernel[1])
    node.Refuse(
        "x is [n, h, w, c], and offsets [n, h', w', 3 * groups * kernel]; groups divide the channels");
  if (!IsFloat(node.dtype(x)) || !IsFloat(node.dtype(offsets))) node.Refuse("inputs are floats");
  if (CountOf(image) == 0 || CountOf(moved) == 0) node.Refuse("inputs have elements");
  return taps;
}

Shape TakenShape(const Shape& image, const Shape& moved, const GivenTaps& taps) {
  return {image[0], moved[1] * taps.window.kernel[0], moved[2] * taps.window.kernel[1], image[3]};
}

}  // namespace

void DeformableOffsets(Translation& node) {
  const GivenTaps taps = TapsOf(node, 0, 1);
  const Tensor out = node.Out(0, node.dtype(0), TakenShape(node.shape(0), node.shape(1), taps));
  node.Step("DeformableOffsets", [&](ops::Plan& plan) {
    Binder bind(plan);
    const Operand x = bind.Read(node.in(0), "x"), offsets = bind.Read(node.in(1), "offsets");
    ops::PlanTaps(plan, x, offsets, taps.groups, taps.window, bind.Write(out, "y"));
  });
}

void DeformableOffsetsGrad(Translation& node) {
  const GivenTaps taps = TapsOf(node, 1, 2);
  const Shape taken = TakenShape(node.shape(1), node.shape(2), taps);
  if (node.shape(0) != taken || !IsFloat(node.dtype(0)))
    node.Refuse("grad has floats of the shape " + taken.ToString());
  const Tensor grad_x = node.Out(0, node.dtype(1), node.shape(1)),
               grad_offsets = node.Out(1, node.dtype(2), node.shape(2));
  node.Step("DeformableOffsetsGrad", [&](ops::Plan& plan) {
    Binder bind(plan);
    ops::TapsGradientArgs args{.grad = bind.Read(node.in(0), "grad"),
                               .x = bind.Read(node.in(1), "x"),
                               .offsets = bind.Read(node.in(2), "offsets"),
                               .grad_x = bind.Write(grad_x, "grad_x"),
                               .grad_offsets = bind.Write(grad_offsets, "grad_offsets"),
                               .groups = taps.groups,
                               .window = taps.window};
    ops::PlanTapsGradient(plan, args);
  });
}

}  // namespace belay::graph::translate
