// What a program says of itself to tools (mstx). Observers are told; where there are none, nothing is kept
// but the names of domains and where pools begin.
#include <algorithm>
#include <cctype>
#include <cstring>
#include <mutex>
#include <set>
#include <string>
#include <string_view>

#include "api/convert.h"
#include "api/handlers.h"
#include "api/prof_marks.h"
#include "base/clock.h"
#include "base/codes.h"
#include "base/error.h"
#include "mstx/ms_tools_ext.h"
#include "runtime/observer.h"
#include "runtime/stream.h"

namespace belay::api {
namespace {

constexpr size_t kLongestMessage = 255;
constexpr size_t kLongestDomain = 1023;
constexpr std::string_view kDefaultDomain = "default";

struct ToldTools {
  std::mutex lock;
  std::set<std::string> domains;  // all that ever were: a handle is the address of its name
  std::set<const void*> live;     // of these
  std::set<const void*> pools;    // by their first bytes
};

// Stays: a child of fork has the handles of its parent.
ToldTools& TheTools() {
  static auto* const tools = new ToldTools;
  return *tools;
}

void CheckDomain(mstxDomainHandle_t domain) {
  if (domain == nullptr) return;
  ToldTools& tools = TheTools();
  std::lock_guard guard(tools.lock);
  if (tools.live.contains(domain)) return;
  Fail(codes::kInvalidParam, "mstx-domain",
       "domain = {}; take what mstxDomainCreateA has returned and mstxDomainDestroy has not ended",
       static_cast<const void*>(domain));
}

// Of a domain that was checked: its name stays.
std::string DomainOf(mstxDomainHandle_t domain) {
  return domain == nullptr ? std::string(kDefaultDomain) : *reinterpret_cast<const std::string*>(domain);
}

void CheckMessage(const char* message) {
  if (strnlen(message, kLongestMessage + 1) <= kLongestMessage) return;
  Fail(codes::kInvalidParam, "mstx-message", "the message has more than {} bytes; it is not marked",
       kLongestMessage);
}

rt::Stream* StreamOf(aclrtStream stream) {
  return stream == nullptr ? nullptr : &StreamArg(stream, "stream");
}

const mstxMemVirtualRangeDesc_t* RangesOf(const void* description, size_t count) {
  const auto* ranges = static_cast<const mstxMemVirtualRangeDesc_t*>(description);
  const bool good = ranges != nullptr && std::all_of(ranges, ranges + count, [](const auto& range) {
                      return range.ptr != nullptr && range.size != 0;
                    });
  if (!good) {
    Fail(codes::kInvalidParam, "mstx-range",
         "a range of memory is null or has no bytes; describe each by a mstxMemVirtualRangeDesc_t");
  }
  return ranges;
}

rt::PoolRange RangeOf(const mstxMemVirtualRangeDesc_t& range) {
  return {reinterpret_cast<uintptr_t>(range.ptr), range.size};
}

}  // namespace

mstxDomainHandle_t mstxDomainCreateA(const char* name) {
  const std::string_view text(name, strnlen(name, kLongestDomain + 1));
  const auto may_be = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; };
  if (text.empty() || text.size() > kLongestDomain || !std::all_of(text.begin(), text.end(), may_be)) {
    Fail(codes::kInvalidParam, "mstx-domain", "\"{}\" is no name of a domain: 1 to {} digits, letters and _",
         text, kLongestDomain);
  }
  ToldTools& tools = TheTools();
  std::lock_guard guard(tools.lock);
  const std::string* kept = &*tools.domains.emplace(text).first;
  tools.live.insert(kept);
  return reinterpret_cast<mstxDomainHandle_t>(const_cast<std::string*>(kept));
}

void mstxDomainDestroy(mstxDomainHandle_t domain) {
  CheckDomain(domain);
  ToldTools& tools = TheTools();
  std::lock_guard guard(tools.lock);
  tools.live.erase(domain);
}

void mstxMarkA(const char* message, aclrtStream stream) { mstxDomainMarkA(nullptr, message, stream); }

void mstxDomainMarkA(mstxDomainHandle_t domain, const char* message, aclrtStream stream) {
  CheckMessage(message);
  CheckDomain(domain);
  if (!rt::Observers::any()) return;
  rt::Stream* const on = StreamOf(stream);
  TellMark(rt::MarkKind::kMoment, 0, {message, NowNs(), DomainOf(domain)});
  if (on != nullptr) MarkStream(*on, message);
}

mstxRangeId mstxRangeStartA(const char* message, aclrtStream stream) {
  return mstxDomainRangeStartA(nullptr, message, stream);
}

mstxRangeId mstxDomainRangeStartA(mstxDomainHandle_t domain, const char* message, aclrtStream stream) {
  CheckMessage(message);
  CheckDomain(domain);
  constexpr mstxRangeId kUnseen = ~uint64_t{0};
  if (!rt::Observers::any()) return kUnseen;
  rt::Stream* const on = StreamOf(stream);
  const uint32_t range = BeginRange({message, NowNs(), DomainOf(domain), on == nullptr ? 0 : BitsOf(stream)});
  if (on != nullptr) MarkStream(*on, std::string(message) + " begins");
  return range;
}

// One that nobody saw begin has no end.
void mstxRangeEnd(mstxRangeId id) {
  if (id <= UINT32_MAX) EndRange(static_cast<uint32_t>(id));
}

void mstxDomainRangeEnd(mstxDomainHandle_t /*domain*/, mstxRangeId id) { mstxRangeEnd(id); }

// Which kind of pool and of memory is not looked at: there is one of each, and torch_npu leaves both open.
mstxMemHeapHandle_t mstxMemHeapRegister(mstxDomainHandle_t /*domain*/, const mstxMemHeapDesc_t* desc) {
  const mstxMemVirtualRangeDesc_t& range = *RangesOf(desc->typeSpecificDesc, 1);
  {
    ToldTools& tools = TheTools();
    std::lock_guard guard(tools.lock);
    tools.pools.insert(range.ptr);
  }
  rt::Observers::Tell([&](rt::Observer& o) { o.PoolBegan(RangeOf(range)); });
  return reinterpret_cast<mstxMemHeapHandle_t>(const_cast<void*>(range.ptr));
}

void mstxMemHeapUnregister(mstxDomainHandle_t /*domain*/, mstxMemHeapHandle_t heap) {
  {
    ToldTools& tools = TheTools();
    std::lock_guard guard(tools.lock);
    tools.pools.erase(heap);
  }
  rt::Observers::Tell([&](rt::Observer& o) { o.PoolEnded(reinterpret_cast<uintptr_t>(heap)); });
}

// Whose handles nobody has asked for leaves the pool open as well, and the place of the handles.
void mstxMemRegionsRegister(mstxDomainHandle_t /*domain*/, const mstxMemRegionsRegisterBatch_t* desc) {
  const mstxMemVirtualRangeDesc_t* ranges = RangesOf(desc->regionDescArray, desc->regionCount);
  bool of_pool = false;
  {
    ToldTools& tools = TheTools();
    std::lock_guard guard(tools.lock);
    of_pool = tools.pools.contains(desc->heap);
  }
  for (size_t i = 0; i < desc->regionCount; ++i) {
    rt::Observers::Tell([&](rt::Observer& o) { o.RegionBegan(RangeOf(ranges[i])); });
    if (of_pool && desc->regionHandleArrayOut != nullptr) {
      desc->regionHandleArrayOut[i] =
          reinterpret_cast<mstxMemRegionHandle_t>(const_cast<void*>(ranges[i].ptr));
    }
  }
}

void mstxMemRegionsUnregister(mstxDomainHandle_t /*domain*/, const mstxMemRegionsUnregisterBatch_t* desc) {
  for (size_t i = 0; i < desc->refCount; ++i) {
    const auto base = reinterpret_cast<uintptr_t>(desc->refArray[i].pointer);  // a handle is the same
    rt::Observers::Tell([&](rt::Observer& o) { o.RegionEnded(base); });
  }
}

}  // namespace belay::api
