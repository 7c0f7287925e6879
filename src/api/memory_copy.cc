// Copies and fills, at once and on streams. The addresses decide what a copy is, whatever its kind
// says; everything is checked before anything is done.
#include <vector>

#include "api/codes.h"
#include "api/device_range.h"
#include "api/handlers.h"
#include "api/wait.h"
#include "base/codes.h"
#include "base/error.h"
#include "runtime/capture.h"
#include "runtime/context.h"
#include "runtime/copy_task.h"
#include "runtime/device_writes.h"
#include "runtime/engine.h"
#include "runtime/memory.h"
#include "runtime/poll.h"
#include "runtime/settings.h"

namespace belay::api {
namespace {

constexpr size_t kMostRowsOnStream = 5 * 1024 * 1024;

// What the two ends of a copy (or the one of a fill) mean for how it is done.
struct Ends {
  bool host_to_host = false;
  bool pageable = false;  // touches host memory that is not pinned: the call waits for the task
};

[[gnu::cold, gnu::noinline]] void CheckPeers(const rt::MemoryRange& dst, const rt::MemoryRange& src) {
  uint64_t dst_peers = rt::DeviceAt(dst.device).peers.load(std::memory_order_relaxed);
  uint64_t src_peers = rt::DeviceAt(src.device).peers.load(std::memory_order_relaxed);
  if ((dst_peers >> src.device & 1) != 0 || (src_peers >> dst.device & 1) != 0) return;
  Fail(kBadArgument, "copy-peer-access",
       "a copy from device {} to device {} needs peer access; with one of them set, call "
       "aclrtDeviceEnablePeerAccess for the other first",
       src.device, dst.device);
}

Ends EndsOf(const rt::MemoryRange& dst, const rt::MemoryRange& src) {
  using enum rt::MemoryKind;
  if (dst.device != src.device && dst.kind == kDevice && src.kind == kDevice) CheckPeers(dst, src);
  return {.host_to_host = dst.kind != kDevice && src.kind != kDevice,
          .pageable = dst.kind == kHost || src.kind == kHost};
}

void CheckCount(size_t count, size_t max, const char* max_name) {
  if (count == 0)
    Fail(kBadArgument, "copy-size-zero", "count is 0; leave the call out when there is nothing to do");
  if (count > max) {
    Fail(kBadArgument, "copy-beyond-max",
         "count is {} and {} is {}: the destination is smaller than what goes there", count, max_name, max);
  }
}

Ends CheckCopy(const void* dst, size_t dest_max, const void* src, size_t count) {
  CheckCount(count, dest_max, "destMax");
  rt::MemoryRange to = rt::CheckRange(dst, count, "dst");
  rt::MemoryRange from = rt::CheckRange(src, count, "src");
  return EndsOf(to, from);
}

Ends CheckFill(const void* dst, size_t max, size_t count) {
  CheckCount(count, max, "maxCount");
  return {.pageable = rt::CheckRange(dst, count, "devPtr").kind == rt::MemoryKind::kHost};
}

// The bytes from the first row to the end of the last one.
size_t CheckedExtent(size_t pitch, size_t width, size_t height, const char* name) {
  if (width > pitch) {
    Fail(kBadArgument, "copy-pitch", "width is {} and {} is {}: rows would overlap", width, name, pitch);
  }
  size_t extent = 0;
  if (__builtin_mul_overflow(pitch, height - 1, &extent) || __builtin_add_overflow(extent, width, &extent)) {
    Fail(kBadArgument, "copy-pitch", "{} rows of {} {} bytes do not fit in any memory", height, name, pitch);
  }
  return extent;
}

Ends CheckCopy2d(const rt::Copy2dTask& t) {
  if (t.width == 0 || t.height == 0) {
    Fail(kBadArgument, "copy-size-zero",
         "width is {} and height is {}; leave the call out when there is nothing to do", t.width, t.height);
  }
  size_t to = CheckedExtent(t.dst_pitch, t.width, t.height, "dpitch");
  size_t from = CheckedExtent(t.src_pitch, t.width, t.height, "spitch");
  return EndsOf(rt::CheckRange(t.dst, to, "dst"), rt::CheckRange(t.src, from, "src"));
}

// Memory that is not pinned may be gone when the stream gets to the task, so the call waits until
// it has: an unsafe call while a capture is under way.
[[gnu::cold, gnu::noinline]] void SubmitAndWait(rt::Stream& stream, rt::Task&& task, const char* call) {
  RefuseInCallback(call);
  rt::CheckCaptureAllows(call);
  uint64_t position = stream.Submit(std::move(task));
  if (position != 0) rt::TheEngine().WaitFor(stream, position, -1);
}

template <class Body>
void SubmitTo(rt::Stream& stream, const Body& body, size_t bytes, Ends ends, const char* call) {
  if (ends.pageable) [[unlikely]] {
    SubmitAndWait(stream, rt::MakeTask(body, rt::CopyCost(bytes)), call);
  } else {
    stream.Submit(rt::MakeTask(body, rt::CopyCost(bytes)));
  }
}

// On a card this copy is accepted and its task fails (when the program runs on the device itself,
// every copy is one within the device).
bool Refused(Ends ends) { return ends.host_to_host && !rt::CurrentSettings().device_mode; }

void SubmitCopy(rt::Stream& stream, const rt::CopyTask& task, Ends ends, const char* call) {
  if (ends.host_to_host && Refused(ends)) [[unlikely]] {
    stream.Submit(rt::MakeTask(rt::HostToHostTask{task.dst, task.src, task.bytes}));
  } else {
    SubmitTo(stream, task, task.bytes, ends, call);
  }
}

// Does at once what the body says.
template <class Body>
void DoNow(const Body& body) {
  if (rt::Observers::any()) [[unlikely]] {
    const rt::Task task = rt::MakeTask(body);
    rt::Observers::Tell([&](rt::Observer& o) { o.HostDoes(task); });
  }
  rt::DeviceWrites writes;
  body.Run();
}

}  // namespace

void aclrtMemcpy(void* dst, size_t destMax, const void* src, size_t count, aclrtMemcpyKind) {
  CheckCopy(dst, destMax, src, count);
  rt::CheckCaptureAllows("aclrtMemcpy");
  DoNow(rt::CopyTask{dst, src, count});
}

void aclrtMemcpyAsync(void* dst, size_t destMax, const void* src, size_t count, aclrtMemcpyKind,
                      rt::Stream& stream) {
  Ends ends = CheckCopy(dst, destMax, src, count);
  SubmitCopy(stream, {dst, src, count}, ends, "aclrtMemcpyAsync with memory that is not pinned");
}

void aclrtMemcpyAsyncWithCondition(void* dst, size_t destMax, const void* src, size_t count,
                                   aclrtMemcpyKind kind, rt::Stream& stream) {
  api::aclrtMemcpyAsync(dst, destMax, src, count, kind, stream);
}

void aclrtMemcpy2d(void* dst, size_t dpitch, const void* src, size_t spitch, size_t width, size_t height,
                   aclrtMemcpyKind) {
  rt::Copy2dTask task{dst, dpitch, src, spitch, width, height};
  CheckCopy2d(task);
  rt::CheckCaptureAllows("aclrtMemcpy2d");
  DoNow(task);
}

void aclrtMemcpy2dAsync(void* dst, size_t dpitch, const void* src, size_t spitch, size_t width, size_t height,
                        aclrtMemcpyKind, rt::Stream& stream) {
  if (height > kMostRowsOnStream) {
    Fail(kBadArgument, "copy-rows", "height is {}; a stream copies at most {} rows in one call", height,
         kMostRowsOnStream);
  }
  rt::Copy2dTask task{dst, dpitch, src, spitch, width, height};
  Ends ends = CheckCopy2d(task);
  if (Refused(ends)) {
    stream.Submit(rt::MakeTask(rt::HostToHostTask{dst, src, width * height}));
  } else {
    SubmitTo(stream, task, width * height, ends, "aclrtMemcpy2dAsync with memory that is not pinned");
  }
}

void aclrtMemset(void* devPtr, size_t maxCount, int32_t value, size_t count) {
  CheckFill(devPtr, maxCount, count);
  rt::CheckCaptureAllows("aclrtMemset");
  DoNow(rt::FillTask{devPtr, count, value});
}

void aclrtMemsetAsync(void* devPtr, size_t maxCount, int32_t value, size_t count, rt::Stream& stream) {
  Ends ends = CheckFill(devPtr, maxCount, count);
  SubmitTo(stream, rt::FillTask{devPtr, count, value}, count, ends,
           "aclrtMemsetAsync on memory that is not pinned");
}

// --- batches

namespace {

// The arguments of a batch, as the program gave them.
struct Batch {
  void** dsts;
  size_t* dest_maxs;
  void** srcs;
  size_t* sizes;
  size_t count;
  aclrtMemcpyBatchAttr* attrs;
  size_t* attr_starts;
  size_t attr_count;

  void CheckShape() const;
  Ends CheckOne(size_t i, const aclrtMemcpyBatchAttr& attr) const;
  std::vector<Ends> Check(size_t* fail_index) const;
};

void Batch::CheckShape() const {
  if (count == 0) Fail(kBadArgument, "copy-batch", "numBatches is 0; there is nothing to do");
  if (attr_count == 0 || attr_count > count) {
    Fail(kBadArgument, "copy-batch", "numAttrs is {}; it is between 1 and numBatches, {}", attr_count, count);
  }
  for (size_t i = 0; i < attr_count; ++i) {
    bool rising = i == 0 ? attr_starts[0] == 0 : attr_starts[i] > attr_starts[i - 1];
    if (!rising || attr_starts[i] >= count) {
      Fail(kBadArgument, "copy-batch",
           "attrsIndexes[{}] is {}; they start with 0, rise, and stay below numBatches, {}", i,
           attr_starts[i], count);
    }
  }
}

void CheckLocation(const aclrtMemLocation& location, const rt::MemoryRange& range, size_t i,
                   const char* end) {
  bool device = range.kind == rt::MemoryKind::kDevice;
  bool wants_device = location.type == ACL_MEM_LOCATION_TYPE_DEVICE;
  if (device == wants_device && (!device || static_cast<int>(location.id) == range.device)) return;
  Fail(kBadArgument, "copy-batch-location",
       "copy {}: its attribute says that {} is on {} {}, but it is on {} {}", i, end,
       wants_device ? "device" : "host", location.id, device ? "device" : "host", device ? range.device : 0);
}

Ends Batch::CheckOne(size_t i, const aclrtMemcpyBatchAttr& attr) const {
  CheckCount(sizes[i], dest_maxs[i], "destMaxs[i]");
  rt::MemoryRange to = rt::CheckRange(dsts[i], sizes[i], "dsts[i]");
  rt::MemoryRange from = rt::CheckRange(srcs[i], sizes[i], "srcs[i]");
  CheckLocation(attr.dstLoc, to, i, "the destination");
  CheckLocation(attr.srcLoc, from, i, "the source");
  return EndsOf(to, from);
}

std::vector<Ends> Batch::Check(size_t* fail_index) const {
  *fail_index = SIZE_MAX;
  CheckShape();
  std::vector<Ends> ends(count);
  for (size_t i = 0, attr = 0; i < count; ++i) {
    if (attr + 1 < attr_count && attr_starts[attr + 1] == i) ++attr;
    *fail_index = i;
    ends[i] = CheckOne(i, attrs[attr]);
  }
  *fail_index = SIZE_MAX;
  return ends;
}

}  // namespace

void aclrtMemcpyBatch(void** dsts, size_t* destMaxs, void** srcs, size_t* sizes, size_t numBatches,
                      aclrtMemcpyBatchAttr* attrs, size_t* attrsIndexes, size_t numAttrs, size_t* failIndex) {
  Batch batch{dsts, destMaxs, srcs, sizes, numBatches, attrs, attrsIndexes, numAttrs};
  batch.Check(failIndex);
  rt::CheckCaptureAllows("aclrtMemcpyBatch");
  for (size_t i = 0; i < numBatches; ++i) DoNow(rt::CopyTask{dsts[i], srcs[i], sizes[i]});
}

void aclrtMemcpyBatchAsync(void** dsts, size_t* destMaxs, void** srcs, size_t* sizes, size_t numBatches,
                           aclrtMemcpyBatchAttr* attrs, size_t* attrsIndexes, size_t numAttrs,
                           size_t* failIndex, rt::Stream& stream) {
  Batch batch{dsts, destMaxs, srcs, sizes, numBatches, attrs, attrsIndexes, numAttrs};
  std::vector<Ends> ends = batch.Check(failIndex);
  for (size_t i = 0; i < numBatches; ++i) {
    if (!Refused(ends[i])) continue;
    *failIndex = i;
    Fail(kNotSupported, "copy-host-to-host",
         "copy {} of the batch is between two host addresses; use aclrtMemcpyBatch", i);
  }
  for (size_t i = 0; i < numBatches; ++i) {
    SubmitCopy(stream, {dsts[i], srcs[i], sizes[i]}, ends[i],
               "aclrtMemcpyBatchAsync with memory that is not pinned");
  }
}

// --- values and hints

namespace {
void CheckValueAddress(const void* p) {
  rt::MemoryRange range = rt::CheckRange(p, sizeof(uint64_t), "devAddr");
  if (range.kind != rt::MemoryKind::kDevice) {
    Fail(kBadArgument, "memory-not-of-device", "devAddr is {}; device memory is wanted",
         rt::DescribeAddress(p));
  }
  if (reinterpret_cast<uintptr_t>(p) % sizeof(uint64_t) != 0) {
    Fail(kBadArgument, "value-unaligned", "devAddr is {}; a value lies at a multiple of 8 bytes", p);
  }
}
}  // namespace

void aclrtValueWrite(void* devAddr, uint64_t value, uint32_t flag, rt::Stream& stream) {
  if (flag != 0) Fail(kBadArgument, "flags-reserved", "flag is {}; it is reserved and must be 0", flag);
  CheckValueAddress(devAddr);
  stream.Submit(rt::MakeTask(rt::ValueWriteTask{devAddr, value}, rt::CopyCost(8)));
}

void aclrtValueWait(void* devAddr, uint64_t value, uint32_t flag, rt::Stream& stream) {
  if (flag > ACL_STREAM_WAIT_VALUE_NOR) {
    Fail(kBadArgument, "value-wait-flag",
         "flag is {}; 0 waits for at least, 1 for equal, 2 for a common bit, 3 for a bit in neither", flag);
  }
  CheckValueAddress(devAddr);
  auto* address = static_cast<const uint64_t*>(rt::View(devAddr, sizeof(uint64_t)));
  rt::TheEngine().NeedWatch();
  stream.Submit(rt::MakeTask(rt::PollTask{address, value, static_cast<rt::PollTest>(flag)}));
}

void aclrtCmoAsync(void* src, size_t size, aclrtCmoType cmoType, rt::Stream& stream) {
  if (cmoType != ACL_RT_CMO_TYPE_PREFETCH) {
    bool known = static_cast<int>(cmoType) > 0 && static_cast<int>(cmoType) <= ACL_RT_CMO_TYPE_FLUSH;
    Fail(known ? kNotSupported : kBadArgument, "cmo-type",
         "cmoType is {}; only ACL_RT_CMO_TYPE_PREFETCH is supported", static_cast<int>(cmoType));
  }
  if (size == 0) Fail(kBadArgument, "memory-size-zero", "size is 0");
  CheckOnDeviceOf(stream, src, size, "src");
  stream.Submit(rt::MakeTask(rt::PrefetchTask{src, size}, 20));
}

}  // namespace belay::api
