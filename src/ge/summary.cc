#include "ge/summary.h"

#include "ge/tensor_impl.h"

namespace ge {

CompiledGraphSummaryPtr SummaryData::Of(belay::graph::Model& model) {
  CompiledGraphSummaryPtr summary(new CompiledGraphSummary);
  summary->data_ = std::make_shared<SummaryData>();
  SummaryData& data = *summary->data_;
  auto instance = model.MainInstance();
  data.is_static = instance != nullptr && !instance->dynamic();
  if (!data.is_static) return summary;
  data.constant_bytes = instance->weight_bytes();
  data.work_bytes = instance->work_bytes();
  for (const auto& port : instance->outputs()) {
    TensorDesc desc = DescOf(port.type);
    data.shapes.push_back(desc.GetShape());
    data.dtypes.push_back(desc.GetDataType());
  }
  return summary;
}

class FeatureMemory::FeatureMemoryData {
 public:
  static FeatureMemoryPtr Of(size_t bytes) {
    FeatureMemoryPtr memory(new FeatureMemory);
    memory->data_ = std::make_shared<FeatureMemoryData>();
    memory->data_->bytes = bytes;
    return memory;
  }
  size_t bytes = 0;
};

FeatureMemory::~FeatureMemory() = default;
MemoryType FeatureMemory::GetType() const { return MemoryType::MEMORY_TYPE_DEFAULT; }
size_t FeatureMemory::GetSize() const { return data_->bytes; }
bool FeatureMemory::IsFixed() const { return false; }

CompiledGraphSummary::~CompiledGraphSummary() = default;
std::vector<FeatureMemoryPtr> CompiledGraphSummary::GetAllFeatureMemoryTypeSize() const {
  if (!data_->is_static) return {};
  return {FeatureMemory::FeatureMemoryData::Of(data_->work_bytes)};
}

namespace {

template <class T>
Status Give(bool known, const T& value, T& to) {
  if (!known) return FAILED;
  to = value;
  return SUCCESS;
}

}  // namespace

bool CompiledGraphSummary::IsStatic() const { return data_->is_static; }
Status CompiledGraphSummary::GetConstMemorySize(size_t& size) const {
  return Give(data_->is_static, data_->constant_bytes, size);
}
Status CompiledGraphSummary::GetFeatureMemorySize(size_t& size) const {
  return Give(data_->is_static, data_->work_bytes, size);
}
Status CompiledGraphSummary::GetFixedFeatureMemorySize(size_t& size) const {
  return Give(data_->is_static, size_t{0}, size);
}
Status CompiledGraphSummary::GetRefreshableFeatureMemorySize(size_t& size) const {
  return Give(data_->is_static, data_->work_bytes, size);
}
Status CompiledGraphSummary::GetFeatureMemoryBaseRefreshable(bool& v) const {
  return Give(data_->is_static, true, v);
}
Status CompiledGraphSummary::GetStreamNum(size_t& num) const {
  return Give(data_->is_static, size_t{1}, num);
}
Status CompiledGraphSummary::GetEventNum(size_t& num) const { return Give(data_->is_static, size_t{0}, num); }
Status CompiledGraphSummary::GetOutputShapes(std::vector<Shape>& shapes) const {
  return Give(data_->is_static, data_->shapes, shapes);
}
Status CompiledGraphSummary::GetOutputDtypes(std::vector<DataType>& dtypes) const {
  return Give(data_->is_static, data_->dtypes, dtypes);
}
Status CompiledGraphSummary::GetIOIndexesWithSameAddr(
    std::vector<std::pair<uint32_t, uint32_t>>& io_indexes) const {
  return Give(data_->is_static, {}, io_indexes);
}

}  // namespace ge
