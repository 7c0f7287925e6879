#include "tensor/description.h"

#include "base/codes.h"
#include "base/error.h"
#include "base/fork.h"

namespace belay::tensor {

constinit HandleTable<DataBuffer, HandleKind::kDataBuffer> g_data_buffers;
constinit HandleTable<TensorDesc, HandleKind::kTensorDesc> g_tensor_descs;

namespace {
[[maybe_unused]] const bool g_description_at_fork = UnlockInChild<g_data_buffers, g_tensor_descs>();
}  // namespace

uint64_t TensorDesc::count() const {
  uint64_t count = 1;
  for (int64_t dim : dims) {
    if (dim < 0 || __builtin_mul_overflow(count, static_cast<uint64_t>(dim), &count)) return 0;
  }
  return count;
}

uint64_t TensorDesc::bytes() const {
  uint64_t bits = 0;
  if (__builtin_mul_overflow(count(), uint64_t{InfoOf(dtype).bits}, &bits)) return 0;
  return (bits + 7) / 8;
}

int64_t TensorDesc::dim(uint64_t index) const {
  if (!rank_is_known()) {
    Fail(codes::kInvalidParam, "description-rank",
         "the description does not know its rank, so it has no dimension {}", index);
  }
  if (index >= dims.size()) {
    Fail(codes::kInvalidParam, "description-rank", "dimension {} was asked for; the description has {}",
         index, dims.size());
  }
  return dims[index];
}

Range TensorDesc::dim_range(uint64_t index) const {
  int64_t size = dim(index);
  if (index < dim_ranges.size()) return dim_ranges[index];
  return size == kUnknownDim ? Range{0, -1} : Range{size, size};
}

std::vector<int64_t> CheckedDims(const int64_t* dims, int64_t rank) {
  constexpr int64_t kMostDims = 128;  // as many as aclmdlIODims has room for
  if (rank < 0 || rank > kMostDims) {
    Fail(codes::kInvalidParam, "description-dims", "the number of dimensions is {}; 0 to {} are possible",
         rank, kMostDims);
  }
  if (rank > 0 && dims == nullptr) {
    Fail(codes::kInvalidParam, "description-dims", "dims is null, but there are {} dimensions", rank);
  }
  std::vector<int64_t> result(dims, dims + rank);
  for (int64_t i = 0; i < rank; ++i) {
    bool no_rank = rank == 1 && result[i] == kUnknownRank;
    if (result[i] < kUnknownDim && !no_rank) {
      Fail(codes::kInvalidParam, "description-dims",
           "dimension {} is {}; a size, -1 for unknown, or a single -2 for an unknown rank is wanted", i,
           result[i]);
    }
  }
  return result;
}

}  // namespace belay::tensor
