#include "api/system_options.h"

#include <map>
#include <mutex>
#include <utility>

#include "base/codes.h"
#include "base/error.h"
#include "base/fork.h"

namespace belay::api {
namespace {

constexpr int kOptions = 3;

struct SystemOptions {
  std::mutex lock;
  std::map<std::pair<HandleBits, int>, int64_t> values;
};
SystemOptions& AllOptions() { return PerProcess<SystemOptions>::Get(); }

void CheckOption(int option) {
  if (option >= 0 && option < kOptions) return;
  Fail(codes::kRtParamInvalid, "system-option", "opt = {} does not exist; options are 0 to {}", option,
       kOptions - 1);
}

}  // namespace

void SetSystemOption(HandleBits owner, int option, int64_t value) {
  CheckOption(option);
  if (value != 0 && value != 1) {
    Fail(codes::kRtParamInvalid, "system-option", "value = {} of option {}; use 0 (off) or 1 (on)", value,
         option);
  }
  std::lock_guard guard(AllOptions().lock);
  AllOptions().values[{owner, option}] = value;
}

int64_t GetSystemOption(HandleBits owner, int option) {
  CheckOption(option);
  std::lock_guard guard(AllOptions().lock);
  auto it = AllOptions().values.find({owner, option});
  if (it != AllOptions().values.end()) return it->second;
  if (owner == 0) return 0;
  Fail(codes::kRtSysparamoptNotSet, "system-option-unset", "option {} was not set in this context", option);
}

}  // namespace belay::api
