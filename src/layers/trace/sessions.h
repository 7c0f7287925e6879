// Profiles that a program steers by aclprof*: each from the first device that is started to the last that is
// stopped.
#pragma once

#include <map>
#include <string>

#include "runtime/profiler.h"

namespace belay::trace {

class Sessions final : public rt::Profiler {
 public:
  // It stays.
  static Sessions* OfProcess();

  std::string Begin(const std::string& folder) override;
  void Collect(const std::map<int, uint32_t>& devices) override;
  void End() override;

 private:
  bool sees_calls_ = false;
};

}  // namespace belay::trace
