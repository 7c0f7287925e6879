// One kind of memory that a compiled graph needs.
#pragma once

#include <cstddef>
#include <memory>

#include "ge_api_types.h"

namespace ge {

class __attribute__((visibility("default"))) FeatureMemory {
 public:
  class FeatureMemoryData;
  ~FeatureMemory();
  FeatureMemory(const FeatureMemory&) = delete;
  FeatureMemory& operator=(const FeatureMemory&) = delete;

  MemoryType GetType() const;
  size_t GetSize() const;
  // Whether its address must stay after the graph was loaded.
  bool IsFixed() const;

 private:
  friend class FeatureMemoryData;
  FeatureMemory() = default;
  std::shared_ptr<FeatureMemoryData> data_;
};

using FeatureMemoryPtr = std::shared_ptr<FeatureMemory>;

}  // namespace ge
