#include "ops/packed_doubles.h"

#include <array>
#include <utility>

#include "ops/layout/strided_copy.h"
#include "ops/scratch.h"
#include "tensor/views.h"

namespace belay::ops {
namespace {

class PackedDoubles {
 public:
  PackedDoubles(Plan& plan, const Operand& operand, bool written)
      : binding_(operand.binding), written_(written), at_(tensor::OffsetOf(*operand.tensor)) {
    const Tensor &lies = *operand.tensor, packed = tensor::PackedOf(DType::kF64, lies.shape);
    here_ = lies.dtype == DType::kF64 && tensor::IsPacked(lies.shape, lies.strides);
    if (here_ || lies.empty()) return;
    room_ = {plan, lies.count()};
    copy_ = written ? StridedCopy(lies, packed) : StridedCopy(packed, lies);
  }

  // What is read is there from now on.
  double* Begin(const Frame& frame) const {
    if (here_) return reinterpret_cast<double*>(frame.at[binding_] + at_);
    double* numbers = room_.At(frame);
    if (!written_ && room_.count() != 0) copy_.Run(reinterpret_cast<char*>(numbers), frame.at[binding_]);
    return numbers;
  }
  // What has been written goes where it belongs.
  void Finish(const Frame& frame) const {
    if (here_ || room_.count() == 0) return;
    copy_.Run(frame.at[binding_], reinterpret_cast<const char*>(room_.At(frame)));
  }

 private:
  int binding_;
  bool written_, here_ = false;
  int64_t at_;  // bytes
  StridedCopy copy_;
  Scratch<double> room_;
};

struct DoublesBody {
  static constexpr size_t kMost = 8;
  std::vector<PackedDoubles> in, out;
  DoubleWork work;

  void operator()(const Frame& frame) const {
    std::array<const double*, kMost> from;
    std::array<double*, kMost> to;
    for (size_t i = 0; i < in.size(); ++i) from[i] = in[i].Begin(frame);
    for (size_t i = 0; i < out.size(); ++i) to[i] = out[i].Begin(frame);
    work(from.data(), to.data());
    for (const PackedDoubles& result : out) result.Finish(frame);
  }
};

}  // namespace

void PlanDoubles(Plan& plan, const std::vector<const Operand*>& in, const std::vector<const Operand*>& out,
                 uint64_t cost, DoubleWork work) {
  DoublesBody body;
  bool empty = true;
  for (const Operand* operand : in) body.in.emplace_back(plan, *operand, false);
  for (const Operand* operand : out) {
    empty = empty && operand->tensor->empty();
    body.out.emplace_back(plan, *operand, true);
  }
  if (empty) return;
  body.work = std::move(work);
  plan.SetCost(500 + cost);
  plan.SetBody(body);
}

}  // namespace belay::ops
