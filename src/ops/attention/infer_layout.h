// How the tensors of attention for inference lie, by the name of their layout, the lengths and the pages.
#pragma once

#include <string_view>
#include <vector>

#include "ops/attention/infer.h"

namespace belay::ops {

struct InferShape {
  InferPlace query, query_rope, key, key_rope, value, out;
  std::vector<InferSequence> sequences;
  int64_t batches = 0, rows = 0;  // rows of the longest query
  int64_t key_heads = 0, page_rows = 0, page_count = 0;
  bool packed = false;  // sequences follow each other in one tensor

  int64_t MostColumns() const;
};

// Throws Error 161002 for what does not fit.
InferShape ReadInferLayout(const Plan& plan, const InferArgs& args);

[[noreturn]] void RefuseInfer(const Plan& plan, std::string_view sentence);
[[noreturn]] void RefuseInferShape(const Plan& plan, const Operand& operand, const Shape& wanted);

}  // namespace belay::ops
