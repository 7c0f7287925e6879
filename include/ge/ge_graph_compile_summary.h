// What is known of a graph after it was compiled.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "../graph/tensor.h"
#include "../graph/types.h"
#include "ge_error_codes.h"
#include "ge_feature_memory.h"

namespace ge {

class SummaryData;

class __attribute__((visibility("default"))) CompiledGraphSummary {
 public:
  ~CompiledGraphSummary();
  CompiledGraphSummary(const CompiledGraphSummary&) = delete;
  CompiledGraphSummary& operator=(const CompiledGraphSummary&) = delete;

  // All sizes were known when it was compiled. The functions below that need them fail otherwise.
  bool IsStatic() const;
  // Bytes of constants, and of what lies between operators.
  Status GetConstMemorySize(size_t& size) const;
  Status GetFeatureMemorySize(size_t& size) const;
  // The parts of the latter whose address is fixed after loading, and may change.
  Status GetFixedFeatureMemorySize(size_t& size) const;
  Status GetRefreshableFeatureMemorySize(size_t& size) const;
  // Whether UpdateGraphFeatureMemoryBase may be called again after the graph has run.
  Status GetFeatureMemoryBaseRefreshable(bool& v) const;
  Status GetStreamNum(size_t& num) const;
  Status GetEventNum(size_t& num) const;
  Status GetOutputShapes(std::vector<ge::Shape>& shapes) const;
  Status GetOutputDtypes(std::vector<ge::DataType>& dtypes) const;
  // The memory between operators, by type.
  std::vector<FeatureMemoryPtr> GetAllFeatureMemoryTypeSize() const;
  // Inputs and outputs that must be the same memory.
  Status GetIOIndexesWithSameAddr(std::vector<std::pair<uint32_t, uint32_t>>& io_indexes) const;

 private:
  friend class SummaryData;
  CompiledGraphSummary() = default;
  std::shared_ptr<SummaryData> data_;
};

using CompiledGraphSummaryPtr = std::shared_ptr<CompiledGraphSummary>;

}  // namespace ge
