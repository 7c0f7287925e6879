// aclrtReduceAsync: what lies in one range of device memory folded into what lies in another one.
#include <cstddef>
#include <cstdint>

#include "api/codes.h"
#include "api/device_range.h"
#include "api/handlers.h"
#include "base/error.h"
#include "base/parallel.h"
#include "collective/reduce.h"
#include "runtime/context.h"
#include "runtime/copy_task.h"
#include "runtime/memory.h"
#include "tensor/dtype.h"

namespace belay::api {
namespace {

using tensor::DType;

constexpr tensor::TypeSet kReducedTypes(DType::kI8, DType::kI16, DType::kI32, DType::kF16, DType::kF32,
                                        DType::kBF16);

struct ReduceTask {
  static constexpr const char* kName = "reduce";
  static constexpr int64_t kAPiece = 1 << 14;  // elements
  void* dst;
  const void* src;
  size_t bytes;
  DType type;
  coll::Reduction op;

  void Run() const {
    auto* to = static_cast<std::byte*>(rt::View(dst, bytes));
    const auto* from = static_cast<const std::byte*>(rt::View(src, bytes));
    const size_t size = tensor::BytesOf(type);
    ParallelFor(static_cast<int64_t>(bytes / size), kAPiece, [&](int64_t begin, int64_t end) {
      const size_t at = static_cast<size_t>(begin) * size;
      std::byte* const out = to + at;
      const coll::Operand operands[] = {{out, type}, {from + at, type}};
      coll::ReduceInto(type, op, &out, 1, operands, 2, static_cast<size_t>(end - begin));
    });
  }
  void Ranges(rt::RangeVisitor& visit) const {
    visit.Reads(src, bytes);
    visit.Reads(dst, bytes);
    visit.Writes(dst, bytes);
  }
  void Describe(std::string& out) const {
    out = fmt::format("reduce of {} bytes of {} from {} to {}", bytes, tensor::NameOf(type), src, dst);
  }
};

coll::Reduction ReductionOf(aclrtReduceKind kind) {
  switch (kind) {
    case ACL_RT_MEMCPY_SDMA_AUTOMATIC_SUM:
      return coll::Reduction::kSum;
    case ACL_RT_MEMCPY_SDMA_AUTOMATIC_MAX:
      return coll::Reduction::kMax;
    case ACL_RT_MEMCPY_SDMA_AUTOMATIC_MIN:
      return coll::Reduction::kMin;
    case ACL_RT_MEMCPY_SDMA_AUTOMATIC_EQUAL:
      Fail(kNotSupported, "reduce-kind",
           "kind is ACL_RT_MEMCPY_SDMA_AUTOMATIC_EQUAL, which is not supported");
  }
  Fail(kBadArgument, "reduce-kind", "kind is {}; there are sum (10), maximum (11) and minimum (12)",
       static_cast<int>(kind));
}

DType TypeOf(aclDataType type) {
  const auto known = static_cast<DType>(type);
  if (tensor::IsKnown(known) && kReducedTypes.Has(known)) return known;
  Fail(tensor::IsKnown(known) ? kNotSupported : kBadArgument, "reduce-type",
       "type is {} ({}); ACL_INT8, ACL_INT16, ACL_INT32, ACL_FLOAT16, ACL_FLOAT or ACL_BF16 is wanted",
       tensor::NameOf(known), static_cast<int>(type));
}

}  // namespace

void aclrtReduceAsync(void* dst, const void* src, uint64_t count, aclrtReduceKind kind, aclDataType type,
                      rt::Stream& stream, void* reserve) {
  const coll::Reduction op = ReductionOf(kind);
  const DType of = TypeOf(type);
  if (reserve != nullptr) Fail(kBadArgument, "reduce-reserve", "reserve is {}; it must be NULL", reserve);
  if (count == 0) Fail(kBadArgument, "memory-size-zero", "count is 0");
  if (count % tensor::BytesOf(of) != 0) {
    Fail(kBadArgument, "reduce-count", "count is {} bytes, which is no multiple of an element's {} ({})",
         count, tensor::BytesOf(of), tensor::NameOf(of));
  }
  CheckOnDeviceOf(stream, dst, count, "dst");
  CheckOnDeviceOf(stream, src, count, "src");
  const auto* to = static_cast<const std::byte*>(dst);
  const auto* from = static_cast<const std::byte*>(src);
  if (to != from && to < from + count && from < to + count) {
    Fail(kBadArgument, "reduce-overlap",
         "dst ({}) and src ({}) overlap in part: what is added would depend on the order; use {} bytes each",
         dst, src, count);
  }
  stream.Submit(rt::MakeTask(ReduceTask{dst, src, count, of, op}, rt::CopyCost(3 * count)));
}

}  // namespace belay::api
