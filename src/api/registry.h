// Objects that a program holds by handles which it does not see inside, where there are few of them and a
// lock is no matter. Numbers are never used again, so a stale handle leads nowhere.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "base/codes.h"
#include "base/handle_table.h"

namespace belay::api {

// Kinds of handles, beside those of HandleKind.
enum class RegistryKind : uint8_t {
  kProfConfig = 0x51,
  kStamp = 0x52,
  kStepInfo = 0x53,
  kSubscribeConfig = 0x54
};

template <class T, RegistryKind kKind>
class Registry {
 public:
  HandleBits Add(T object) {
    auto owned = std::make_shared<T>(std::move(object));
    std::lock_guard guard(lock_);
    const HandleBits handle = uint64_t{static_cast<uint8_t>(kKind)} << 56 | ++last_;
    objects_.emplace(handle, std::move(owned));
    return handle;
  }
  // Null: there is none. It lives on while it is held.
  std::shared_ptr<T> Find(HandleBits handle) {
    std::lock_guard guard(lock_);
    const auto found = objects_.find(handle);
    return found == objects_.end() ? nullptr : found->second;
  }
  bool Remove(HandleBits handle) {
    std::lock_guard guard(lock_);
    return objects_.erase(handle) == 1;
  }

 private:
  std::mutex lock_;
  uint64_t last_ = 0;
  std::map<HandleBits, std::shared_ptr<T>> objects_;
};

}  // namespace belay::api
