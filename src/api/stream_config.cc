// Sets of options that streams are made from (aclrtCreateStreamV2).
#include <algorithm>
#include <cstring>
#include <memory>
#include <mutex>
#include <vector>

#include "api/handlers.h"
#include "base/codes.h"
#include "base/error.h"
#include "base/fork.h"

namespace belay::api {
namespace {

// A set is a struct that programs can see, so its address is what they hold; these are the live ones.
struct Configs {
  std::mutex lock;
  std::vector<std::unique_ptr<aclrtStreamConfigHandle>> live;

  auto Find(const aclrtStreamConfigHandle* handle) {
    auto it = std::find_if(live.begin(), live.end(), [&](const auto& c) { return c.get() == handle; });
    if (it != live.end()) return it;
    Fail(codes::kRtInvalidHandle, "stream-config",
         "{} is no set of stream options: it was destroyed, or never was one",
         static_cast<const void*>(handle));
  }
};
Configs& LiveConfigs() { return PerProcess<Configs>::Get(); }

template <class T>
void SetOption(T* option, const char* name, const void* value, size_t bytes) {
  if (bytes != sizeof(T)) {
    Fail(codes::kRtParamInvalid, "stream-config-size", "valueSize = {}; {} takes {} bytes", bytes, name,
         sizeof(T));
  }
  std::memcpy(option, value, sizeof(T));
}

}  // namespace

aclrtStreamConfigHandle* aclrtCreateStreamConfigHandle() {
  auto config = std::make_unique<aclrtStreamConfigHandle>();
  std::lock_guard guard(LiveConfigs().lock);
  return LiveConfigs().live.emplace_back(std::move(config)).get();
}

void aclrtSetStreamConfigOpt(aclrtStreamConfigHandle* handle, aclrtStreamConfigAttr attr,
                             const void* attrValue, size_t valueSize) {
  std::lock_guard guard(LiveConfigs().lock);
  aclrtStreamConfigHandle& config = **LiveConfigs().Find(handle);
  switch (attr) {
    case ACL_RT_STREAM_WORK_ADDR_PTR:
      return SetOption(&config.workptr, "ACL_RT_STREAM_WORK_ADDR_PTR", attrValue, valueSize);
    case ACL_RT_STREAM_WORK_SIZE:
      return SetOption(&config.workSize, "ACL_RT_STREAM_WORK_SIZE", attrValue, valueSize);
    case ACL_RT_STREAM_FLAG:
      return SetOption(&config.flag, "ACL_RT_STREAM_FLAG", attrValue, valueSize);
    case ACL_RT_STREAM_PRIORITY:
      return SetOption(&config.priority, "ACL_RT_STREAM_PRIORITY", attrValue, valueSize);
  }
  Fail(codes::kRtParamInvalid, "stream-config-option", "attr = {} is no option of a stream",
       static_cast<int>(attr));
}

void aclrtCreateStreamV2(aclrtStream* stream, const aclrtStreamConfigHandle* handle) {
  aclrtStreamConfigHandle config;
  {
    std::lock_guard guard(LiveConfigs().lock);
    config = **LiveConfigs().Find(handle);
  }
  aclrtCreateStreamWithConfig(stream, config.priority, static_cast<uint32_t>(config.flag));
}

void aclrtDestroyStreamConfigHandle(aclrtStreamConfigHandle* handle) {
  std::lock_guard guard(LiveConfigs().lock);
  LiveConfigs().live.erase(LiveConfigs().Find(handle));
}

}  // namespace belay::api
