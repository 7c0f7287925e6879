// Sizes of the graph interface's classes that programs have compiled in (LP64). A change here breaks them.
#include <cstddef>

#include "ge/ge_api.h"
#include "ge/ge_ir_build.h"
#include "graph/graph.h"

static_assert(sizeof(ge::AscendString) == 16, "");
static_assert(sizeof(ge::Graph) == 16, "");
static_assert(sizeof(ge::Shape) == 16, "");
static_assert(sizeof(ge::TensorDesc) == 16, "");
static_assert(sizeof(ge::Tensor) == 16, "");
static_assert(sizeof(ge::GNode) == 16, "");
static_assert(sizeof(ge::AttrValue) == 16, "");
static_assert(sizeof(ge::Operator) == 24, "");
static_assert(sizeof(ge::Session) == 8, "");
static_assert(sizeof(ge::CompiledGraphSummary) == 16, "");
static_assert(sizeof(ge::FeatureMemory) == 16, "");
static_assert(sizeof(ge::ModelBufferData) == 24, "");
static_assert(offsetof(ge::ModelBufferData, length) == 16, "");
static_assert(sizeof(ge::MemBlock) == 40, "");
static_assert(sizeof(ge::Allocator) == 8, "");
static_assert(sizeof(ge::DataType) == 4 && sizeof(ge::Format) == 4 && sizeof(ge::Placement) == 4, "");
