#include "ops/conv/channels_last.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

#include "ops/layout/float_transpose.h"
#include "ops/layout/moves.h"

namespace belay::ops {
PackedOperand::PackedOperand(const Operand& operand, DType type, bool channels_last, bool loading)
    : binding(operand.binding),
      conversion(operand, PackedLike(operand.shape(), type, channels_last), loading) {}

PackedOperand::PackedOperand(Plan& plan, const Operand& operand, DType type, bool channels_last, bool loading)
    : PackedOperand(operand, type, channels_last, loading) {
  if (conversion.needed()) workspace = plan.AddWorkspace(conversion.bytes());
}

std::shared_ptr<char[]> PackedConstant(const Operand& operand, const void* elements, DType type) {
  const Conversion conversion(operand, PackedLike(operand.shape(), type, false), true);
  auto bytes = AlignedBytes(conversion.bytes());
  const char* from = static_cast<const char*>(elements) + conversion.offset();
  if (conversion.needed()) {
    conversion.Load(from, bytes.get());
  } else {
    std::memcpy(bytes.get(), from, static_cast<size_t>(conversion.bytes()));
  }
  return bytes;
}

std::shared_ptr<char[]> AlignedBytes(int64_t bytes) {
  constexpr int64_t kLine = 64;
  const int64_t whole = (std::max<int64_t>(bytes, 1) + kLine - 1) / kLine * kLine;
  auto* memory = static_cast<char*>(std::aligned_alloc(kLine, static_cast<size_t>(whole)));
  if (memory == nullptr) throw std::bad_alloc();
  return std::shared_ptr<char[]>(memory, std::free);
}

tensor::Strides ChannelsLastStrides(const Shape& shape) {
  tensor::Strides strides = PackedStrides(shape);
  int64_t step = shape[1];
  for (int d = shape.rank() - 1; d >= 2; --d) {
    strides[d] = step;
    step *= shape[d];
  }
  strides[1] = 1;
  return strides;
}

Tensor PackedLike(const Shape& shape, DType dtype, bool channels_last) {
  Tensor packed;
  packed.dtype = dtype;
  packed.shape = shape;
  packed.strides = channels_last ? ChannelsLastStrides(shape) : PackedStrides(shape);
  packed.storage_count = packed.count();
  return packed;
}

bool SameLayout(const Shape& shape, const tensor::Strides& a, const tensor::Strides& b) {
  for (int d = 0; d < shape.rank(); ++d) {
    if (shape[d] != 1 && a[d] != b[d]) return false;
  }
  return true;
}

Conversion::Conversion(const Operand& operand, const Tensor& packed, bool loading) {
  const Tensor& t = *operand.tensor;
  auto size = static_cast<int64_t>(BytesOf(packed.dtype));
  bytes_ = packed.count() * size;
  offset_ = t.offset * static_cast<int64_t>(BytesOf(t.dtype));
  needed_ = t.dtype != packed.dtype || !SameLayout(t.shape, t.strides, packed.strides);
  if (!needed_) return;
  element_ = size;
  moves_ = t.dtype == packed.dtype && ComputeType(t.dtype) != t.dtype;
  FindPlainTranspose(operand, packed);
  Tensor origin = t;
  origin.offset = 0;
  if (loading) {
    nest_ = LoopNest(t.shape, {Operand{&packed}, Operand{&origin}});
    lane_ = Lane(t.dtype, packed.dtype, nest_.step(1));
  } else {
    nest_ = LoopNest(t.shape, {Operand{&origin}, Operand{&packed}});
    lane_ = Lane(t.dtype, packed.dtype, nest_.step(0));
  }
}

// [n, k] (and dimensions of 1) whose columns are packed: how most models have the weights of their products.
static bool IsTurnedMatrix(const Tensor& t) {
  return t.shape.rank() >= 2 && t.strides[0] == 1 && t.strides[1] == t.shape[0] &&
         t.count() == t.shape[0] * t.shape[1];
}

bool Conversion::KeepsHalves(const Tensor& t, DType type) {
  return t.dtype == type && BytesOf(type) == 2 &&
         (IsPacked(t.shape, t.strides) || SameLayout(t.shape, t.strides, ChannelsLastStrides(t.shape)));
}

void Conversion::FindPlainTranspose(const Operand& operand, const Tensor& packed) {
  const Tensor& t = *operand.tensor;
  memory_ = t.dtype;
  const bool by_floats = ComputeType(t.dtype) == DType::kF32 && packed.dtype == DType::kF32;
  if ((!by_floats && !KeepsHalves(t, packed.dtype)) || t.empty()) return;
  if (IsTurnedMatrix(t) && IsPacked(t.shape, packed.strides)) {
    batch_ = 1, channels_ = t.shape[1], pixels_ = t.shape[0];
    return;
  }
  if (t.shape.rank() < 3 || !IsPacked(t.shape, t.strides)) return;
  if (!SameLayout(t.shape, packed.strides, ChannelsLastStrides(t.shape))) return;
  const int64_t pixels = t.count() / (t.shape[0] * t.shape[1]);
  if (pixels == 1 || t.shape[1] == 1) return;  // only its type changes
  batch_ = t.shape[0], channels_ = t.shape[1], pixels_ = pixels, images_ = true;
}

void Conversion::LoadImages(const char* operand, char* packed, int64_t first, int64_t count) const {
  operand += first * channels_ * pixels_ * static_cast<int64_t>(BytesOf(memory_));
  if (element_ == 2) return TransposeHalves(operand, packed, count, channels_, pixels_);
  LoadTransposed(memory_, operand, reinterpret_cast<float*>(packed), count, channels_, pixels_);
}

void Conversion::StoreImages(char* operand, const char* packed, int64_t first, int64_t count) const {
  operand += first * channels_ * pixels_ * static_cast<int64_t>(BytesOf(memory_));
  if (element_ == 2) return TransposeHalves(packed, operand, count, pixels_, channels_);
  StoreTransposed(memory_, reinterpret_cast<const float*>(packed), operand, count, pixels_, channels_);
}

void Conversion::Load(const char* operand, char* packed) const {
  if (batch_ > 0) return LoadImages(operand, packed, 0, batch_);
  char* base[2] = {packed, const_cast<char*>(operand)};
  if (moves_) return Move(base);
  nest_.WalkAll(
      base,
      [this](char** at, int64_t n) {
        for (int64_t i = 0; i < n; i += kBlock) {
          const int64_t count = std::min(kBlock, n - i);
          char* to = at[0] + i * element_;
          const void* block = lane_.Load(to, at[1] + i * nest_.step(1), count);
          if (block != to) std::memcpy(to, block, static_cast<size_t>(count * element_));
        }
      },
      [] {});
}

void Conversion::Move(char* const* base) const {
  nest_.WalkAll(
      base,
      [this](char** at, int64_t n) { MoveRow(at[0], nest_.step(0), at[1], nest_.step(1), n, element_); },
      [] {});
}

void Conversion::Store(char* operand, const char* packed) const {
  if (batch_ > 0) return StoreImages(operand, packed, 0, batch_);
  char* base[2] = {operand, const_cast<char*>(packed)};
  if (moves_) return Move(base);
  nest_.WalkAll(
      base,
      [this](char** at, int64_t n) {
        alignas(64) char gathered[kBlock * 8];
        for (int64_t i = 0; i < n; i += kBlock) {
          const int64_t count = std::min(kBlock, n - i);
          const char* from = at[1] + i * nest_.step(1);
          if (nest_.step(1) != element_) {
            tensor::Gather(gathered, from, nest_.step(1), count, static_cast<size_t>(element_));
            from = gathered;
          }
          lane_.Store(at[0] + i * nest_.step(0), from, count, false);
        }
      },
      [] {});
}

}  // namespace belay::ops
