#include "ops/layout/moves.h"

#include <cstring>

#include "base/copy_memory.h"
#include "tensor/convert.h"
#include "tensor/views.h"

namespace belay::ops {
namespace {

// Any number of bytes, when it is not known while compiling.
struct AnyBytes {
  int64_t bytes;
  int64_t size() const { return bytes; }
};
template <int64_t kBytes>
struct SomeBytes {
  static constexpr int64_t size() { return kBytes; }
};

template <class Element>
void Move(char* dst, const char* src, Element element) {
  std::memcpy(dst, src, static_cast<size_t>(element.size()));
}

// move(element) with the size as a constant where that makes a loop of moves fast.
template <class MoveAll>
void WithSize(int64_t bytes, MoveAll&& move) {
  switch (bytes) {
    case 1:
      return move(SomeBytes<1>());
    case 2:
      return move(SomeBytes<2>());
    case 4:
      return move(SomeBytes<4>());
    case 8:
      return move(SomeBytes<8>());
    case 12:
      return move(SomeBytes<12>());
    case 16:
      return move(SomeBytes<16>());
    case 24:
      return move(SomeBytes<24>());
    case 32:
      return move(SomeBytes<32>());
    case 64:
      return move(SomeBytes<64>());
    default:
      return move(AnyBytes{bytes});
  }
}

}  // namespace

void MoveRow(char* dst, int64_t dst_step, const char* src, int64_t src_step, int64_t n, int64_t bytes) {
  if (dst_step == bytes && src_step == bytes) {
    CopyMemory(dst, src, static_cast<size_t>(n * bytes));
    return;
  }
  if (dst_step == bytes && src_step == 0 && (bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8)) {
    return tensor::Gather(dst, src, 0, n, static_cast<size_t>(bytes));
  }
  WithSize(bytes, [=](auto element) {
    if (dst_step == element.size() && src_step == 2 * element.size()) {  // as vectors
      for (int64_t i = 0; i < n; ++i) Move(dst + i * element.size(), src + 2 * i * element.size(), element);
      return;
    }
    if (dst_step == element.size()) {
      for (int64_t i = 0; i < n; ++i) Move(dst + i * element.size(), src + i * src_step, element);
      return;
    }
    for (int64_t i = 0; i < n; ++i) Move(dst + i * dst_step, src + i * src_step, element);
  });
}

void PickRow(char* dst, int64_t dst_step, const char* src, const int64_t* offsets, int64_t n, int64_t bytes,
             const char* fill) {
  WithSize(bytes, [=](auto element) {
    if (fill == nullptr) {
      for (int64_t i = 0; i < n; ++i) Move(dst + i * dst_step, src + offsets[i], element);
      return;
    }
    for (int64_t i = 0; i < n; ++i)
      Move(dst + i * dst_step, offsets[i] < 0 ? fill : src + offsets[i], element);
  });
}

void KeepRow(char* dst, const char* src, const uint8_t* condition, int64_t kept, int64_t bytes) {
  WithSize(bytes, [=](auto element) {
    const int64_t size = element.size();
    // Whether one is kept nobody foresees: each is written where the next belongs that is.
    for (int64_t i = 0, k = 0; k < kept; ++i) {
      Move(dst + k * size, src + i * size, element);
      k += condition[i] != 0;
    }
  });
}

void RepeatRow(char* dst, const char* src, int64_t n, int64_t times, int64_t bytes) {
  WithSize(bytes, [=](auto element) {
    const int64_t size = element.size();
    if (times == 2) {  // as vectors
      for (int64_t i = 0; i < n; ++i) {
        Move(dst + 2 * i * size, src + i * size, element);
        Move(dst + (2 * i + 1) * size, src + i * size, element);
      }
      return;
    }
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t k = 0; k < times; ++k) Move(dst + (i * times + k) * size, src + i * size, element);
    }
  });
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

std::vector<int64_t> OffsetsOf(const tensor::Tensor& t, int first, int end) {
  tensor::Tensor part = tensor::DimsOf(t, first, end);
  return OffsetsOf(part.shape, part.strides, static_cast<int64_t>(BytesOf(t.dtype)));
}

}  // namespace belay::ops
