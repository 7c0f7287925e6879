#include "ops/index/picked_row.h"

#include <cstring>

namespace belay::ops {
namespace {

// kPacked: the places of a row are elements that follow each other, and all indices name such of one row.
template <class Index, int64_t kBytes, bool kPacked>
bool PickedRow(char* to, const char* from, const char* named, int64_t n, const NamedRow& row) {
  const auto size = static_cast<uint64_t>(row.size);
  const int64_t across = kPacked ? kBytes : row.across, along = kPacked ? 0 : row.along;
#pragma GCC unroll 4
  for (int64_t k = 0; k < n; ++k) {
    Index given;
    std::memcpy(&given, named + k * static_cast<int64_t>(sizeof given), sizeof given);
    const int64_t index = given;
    const uint64_t place = static_cast<uint64_t>(index) + (size & static_cast<uint64_t>(index >> 63));
    if (place >= size) return false;
    std::memcpy(to + k * kBytes, from + static_cast<int64_t>(place) * across, kBytes);
    from += along;
  }
  return true;
}

template <class Index, int64_t kBytes>
PickLoop PickOf(const NamedRow& row) {
  return row.across == kBytes && row.along == 0 ? &PickedRow<Index, kBytes, true>
                                                : &PickedRow<Index, kBytes, false>;
}

template <class Index>
PickLoop PickFor(int64_t bytes, const NamedRow& row) {
  switch (bytes) {
    case 1:
      return PickOf<Index, 1>(row);
    case 2:
      return PickOf<Index, 2>(row);
    case 4:
      return PickOf<Index, 4>(row);
    case 8:
      return PickOf<Index, 8>(row);
    default:
      return nullptr;
  }
}

}  // namespace

PickLoop PickLoopFor(DType index, int64_t bytes, const NamedRow& row) {
  if (index == DType::kI64) return PickFor<int64_t>(bytes, row);
  return index == DType::kI32 ? PickFor<int32_t>(bytes, row) : nullptr;
}

}  // namespace belay::ops
