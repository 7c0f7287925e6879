#include "ops/layout/moves.h"

#include <cstring>

namespace belay::ops {
namespace {

template <class T>
T At(const char* from) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  return value;
}

template <class T>
void Put(char* to, T value) {
  std::memcpy(to, &value, sizeof(T));
}

template <class T>
void MoveAs(char* dst, int64_t dst_step, const char* src, int64_t src_step, int64_t n) {
  if (dst_step == sizeof(T)) {
    for (int64_t i = 0; i < n; ++i) Put(dst + i * sizeof(T), At<T>(src + i * src_step));
    return;
  }
  for (int64_t i = 0; i < n; ++i) Put(dst + i * dst_step, At<T>(src + i * src_step));
}

template <class T>
void PickAs(char* dst, int64_t dst_step, const char* src, const int64_t* offsets, int64_t n) {
  for (int64_t i = 0; i < n; ++i) Put(dst + i * dst_step, At<T>(src + offsets[i]));
}

}  // namespace

void MoveRow(char* dst, int64_t dst_step, const char* src, int64_t src_step, int64_t n, int64_t bytes) {
  if (dst_step == bytes && src_step == bytes) {
    std::memcpy(dst, src, static_cast<size_t>(n * bytes));
    return;
  }
  switch (bytes) {
    case 1:
      return MoveAs<uint8_t>(dst, dst_step, src, src_step, n);
    case 2:
      return MoveAs<uint16_t>(dst, dst_step, src, src_step, n);
    case 4:
      return MoveAs<uint32_t>(dst, dst_step, src, src_step, n);
    case 8:
      return MoveAs<uint64_t>(dst, dst_step, src, src_step, n);
    default:
      for (int64_t i = 0; i < n; ++i) {
        std::memcpy(dst + i * dst_step, src + i * src_step, static_cast<size_t>(bytes));
      }
  }
}

void PickRow(char* dst, int64_t dst_step, const char* src, const int64_t* offsets, int64_t n, int64_t bytes) {
  switch (bytes) {
    case 1:
      return PickAs<uint8_t>(dst, dst_step, src, offsets, n);
    case 2:
      return PickAs<uint16_t>(dst, dst_step, src, offsets, n);
    case 4:
      return PickAs<uint32_t>(dst, dst_step, src, offsets, n);
    case 8:
      return PickAs<uint64_t>(dst, dst_step, src, offsets, n);
    default:
      for (int64_t i = 0; i < n; ++i) {
        std::memcpy(dst + i * dst_step, src + offsets[i], static_cast<size_t>(bytes));
      }
  }
}

std::vector<int64_t> OffsetsOf(const tensor::Shape& shape, const tensor::Strides& strides, int64_t bytes) {
  std::vector<int64_t> offsets = {0};
  for (int d = 0; d < shape.rank(); ++d) {
    std::vector<int64_t> inner;
    inner.reserve(offsets.size() * static_cast<size_t>(shape[d]));
    for (int64_t offset : offsets) {
      for (int64_t i = 0; i < shape[d]; ++i) inner.push_back(offset + i * strides[d] * bytes);
    }
    offsets = std::move(inner);
  }
  return offsets;
}

}  // namespace belay::ops
