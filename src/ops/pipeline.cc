#include "ops/pipeline.h"

#include <algorithm>
#include <cstring>
#if defined(__x86_64__)
#include <emmintrin.h>
#endif

namespace belay::ops {

using tensor::Convert;
using tensor::Gather;
using tensor::Scatter;

namespace {

template <class T>
void RepeatAs(void* dst, const void* src, int64_t n) {
  T value;
  std::memcpy(&value, src, sizeof(T));
  std::fill_n(static_cast<T*>(dst), n, value);
}

// Of a compute type.
void Repeat(void* dst, const void* src, int64_t n, size_t bytes) {
  bytes == 4 ? RepeatAs<uint32_t>(dst, src, n) : RepeatAs<uint64_t>(dst, src, n);
}

}  // namespace

Lane::Lane(DType memory, DType promoted, int64_t step)
    : memory_(memory), promoted_(promoted), compute_(ComputeType(promoted)), step_(step) {
  packed_ = step == static_cast<int64_t>(BytesOf(memory));
  two_steps_ = memory != promoted && promoted != compute_;
  direct_ = packed_ && memory == compute_ && !two_steps_;
}

const void* Lane::LoadSlow(void* buffer, const char* src, int64_t n) const {
  alignas(64) char gathered[kBlock * 16];
  alignas(64) char rounded[kBlock * 8];
  const void* from = src;
  const size_t bytes = BytesOf(memory_);
  if (!packed_ && memory_ == compute_ && !two_steps_) {
    step_ == 0 ? Repeat(buffer, src, n, bytes) : Gather(buffer, src, step_, n, bytes);
    return buffer;
  }
  if (!packed_) {
    Gather(gathered, src, step_, n, bytes);
    from = gathered;
  }
  if (two_steps_) {
    Convert(promoted_, rounded, memory_, from, n);
    Convert(compute_, buffer, promoted_, rounded, n);
  } else {
    Convert(compute_, buffer, memory_, from, n);
  }
  return buffer;
}

void Lane::Store(char* dst, const void* packed, int64_t n, bool stream) const {
  alignas(64) char rounded[kBlock * 8];
  alignas(64) char narrowed[kBlock * 16];
  size_t size = BytesOf(memory_);
  const void* from = packed;
  DType from_type = compute_;
  if (two_steps_) {
    Convert(promoted_, rounded, compute_, packed, n);
    from = rounded;
    from_type = promoted_;
  }
  if (packed_ && !stream) {
    Convert(memory_, dst, from_type, from, n);
    return;
  }
  if (memory_ != from_type || memory_ == DType::kBool) {
    Convert(memory_, narrowed, from_type, from, n);
    from = narrowed;
  }
  if (packed_) {
    StreamCopy(dst, from, static_cast<size_t>(n) * size);
  } else {
    Scatter(dst, step_, from, n, size);
  }
}

void StreamCopy(void* dst, const void* src, size_t bytes) {
#if defined(__x86_64__)
  auto* to = static_cast<char*>(dst);
  const auto* from = static_cast<const char*>(src);
  size_t head = (64 - reinterpret_cast<uintptr_t>(to) % 64) % 64;
  if (head > bytes) head = bytes;
  std::memcpy(to, from, head);
  size_t i = head;
  for (; i + 64 <= bytes; i += 64) {
    for (size_t k = 0; k < 64; k += 16) {
      __m128i v = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i + k));
      _mm_stream_si128(reinterpret_cast<__m128i*>(to + i + k), v);
    }
  }
  std::memcpy(to + i, from + i, bytes - i);
#else
  std::memcpy(dst, src, bytes);
#endif
}

void StreamFence() {
#if defined(__x86_64__)
  _mm_sfence();
#endif
}

}  // namespace belay::ops
