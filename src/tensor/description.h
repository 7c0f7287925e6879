// The objects behind aclDataBuffer* and aclTensorDesc*: what models and single operators are given
// instead of an aclTensor.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/handle_table.h"
#include "tensor/dtype.h"
#include "tensor/format.h"

namespace belay::tensor {

// An address and a size; the memory belongs to the caller.
struct DataBuffer {
  void* data;
  size_t bytes;
};

inline constexpr int64_t kUnknownDim = -1;
inline constexpr int64_t kUnknownRank = -2;

using Range = std::array<int64_t, 2>;  // smallest and largest value; largest -1: no limit

struct TensorDesc {
  DType dtype = DType::kUndefined;
  Format format = Format::kUndefined;
  std::vector<int64_t> dims;  // -1: not known yet; a single -2: not even the rank is known
  Format storage_format = Format::kUndefined;
  std::vector<int64_t> storage_dims;
  Format origin_format = Format::kUndefined;
  std::vector<int64_t> origin_dims;
  std::vector<Range> dim_ranges;
  std::vector<Range> value_ranges;
  std::string name;
  std::string dynamic_input;
  int placement = 0;  // aclMemType
  bool is_constant = false;
  std::vector<std::byte> constant;

  // The elements lie in the tiles of a card, or are said to.
  bool tiled() const { return format == Format::kFractalNZ || storage_format == Format::kFractalNZ; }
  bool rank_is_known() const { return dims.size() != 1 || dims[0] != kUnknownRank; }
  // Elements, 0 while a dimension is unknown or when the number does not fit.
  uint64_t count() const;
  uint64_t bytes() const;
  // Throws Error 100000 when there is no such dimension.
  int64_t dim(uint64_t index) const;
  Range dim_range(uint64_t index) const;
};

// Copies `rank` dimensions; throws Error 100000 for what is neither a size nor a mark for "unknown".
std::vector<int64_t> CheckedDims(const int64_t* dims, int64_t rank);

extern HandleTable<DataBuffer, HandleKind::kDataBuffer> g_data_buffers;
extern HandleTable<TensorDesc, HandleKind::kTensorDesc> g_tensor_descs;

}  // namespace belay::tensor
