#include "ops/packed_floats.h"

namespace belay::ops {
namespace {

void CopyElements(char* to, int64_t to_step, const char* from, int64_t from_step, int64_t n) {
  for (int64_t i = 0; i < n; ++i) to[i * to_step] = from[i * from_step];
}

}  // namespace

template <class T>
PackedNumbers<T>::PackedNumbers(const Operand& operand, Flow flow, Plan& plan, bool channels_last) {
  if (!operand.present()) return;
  binding_ = operand.binding;
  const Tensor packed =
      PackedLike(operand.shape(), sizeof(T) == sizeof(float) ? DType::kF32 : DType::kF64, channels_last);
  in_ = Conversion(operand, packed, true);
  if (flow != Flow::kIn) out_ = Conversion(operand, packed, false);
  read_ = flow != Flow::kOut;
  needed_ = in_.needed();
  if (needed_) at_ = plan.AddWorkspace(in_.bytes());
}

template <class T>
const T* PackedNumbers<T>::Load(const Frame& frame) const {
  if (!present()) return nullptr;
  if (!needed_) return reinterpret_cast<const T*>(Given(frame));
  in_.Load(Given(frame), Packed(frame));
  return reinterpret_cast<const T*>(Packed(frame));
}

template <class T>
T* PackedNumbers<T>::Begin(const Frame& frame) const {
  if (!present()) return nullptr;
  if (!needed_) return reinterpret_cast<T*>(Given(frame));
  if (read_) in_.Load(Given(frame), Packed(frame));
  return reinterpret_cast<T*>(Packed(frame));
}

template <class T>
void PackedNumbers<T>::Finish(const Frame& frame) const {
  if (present() && needed_) out_.Store(Given(frame), Packed(frame));
}

template class PackedNumbers<float>;
template class PackedNumbers<double>;

PackedBytes::PackedBytes(const Operand& operand, Plan& plan) : binding_(operand.binding) {
  const Tensor packed = PackedLike(operand.shape(), operand.dtype(), false);
  nest_ = LoopNest(operand.shape(), {operand, Operand{&packed}});
  needed_ = !IsPacked(operand.shape(), operand.tensor->strides);
  if (needed_) at_ = plan.AddWorkspace(packed.count());
}

const uint8_t* PackedBytes::Load(const Frame& frame) const {
  if (!needed_) return Begin(frame);
  char* base[] = {frame.at[binding_] + nest_.offset(0), frame.workspace + at_};
  nest_.WalkAll(
      base, [this](char** at, int64_t n) { CopyElements(at[1], nest_.step(1), at[0], nest_.step(0), n); },
      [] {});
  return Begin(frame);
}

uint8_t* PackedBytes::Begin(const Frame& frame) const {
  return reinterpret_cast<uint8_t*>(needed_ ? frame.workspace + at_ : frame.at[binding_] + nest_.offset(0));
}

void PackedBytes::Finish(const Frame& frame) const {
  if (!needed_) return;
  char* base[] = {frame.at[binding_] + nest_.offset(0), frame.workspace + at_};
  nest_.WalkAll(
      base, [this](char** at, int64_t n) { CopyElements(at[0], nest_.step(0), at[1], nest_.step(1), n); },
      [] {});
}

}  // namespace belay::ops
