#include "layers/trace/sessions.h"

#include <cstdio>
#include <memory>
#include <utility>

#include "layers/trace/late_calls.h"
#include "layers/trace/profile.h"

namespace belay::trace {

Sessions* Sessions::OfProcess() {
  static auto* const sessions = new Sessions;
  return sessions;
}

std::string Sessions::Begin(const std::string& folder) {
  auto profile = std::make_shared<Profile>(folder);
  profile->Collect({});
  if (std::string why = profile->why_not(); !why.empty()) return why;
  Profiles::SetSession(std::move(profile));
  return "";
}

void Sessions::Collect(const std::map<int, uint32_t>& devices) {
  uint32_t what = 0;
  for (const auto& [device, its] : devices) what |= its;
  const bool calls = (what & (rt::kCollectCalls | rt::kCollectOperands)) != 0;
  if ((calls || sees_calls_) && !SeeCalls(calls)) {
    std::fprintf(stderr,
                 "belay trace: calls are not in the tables: libbelay_calls.so is not beside the layer\n");
  }
  sees_calls_ = calls;
  Profiles::Each([&](Profile& profile, bool session) {
    if (session) profile.Collect(devices);
  });
}

void Sessions::End() {
  Profiles::Each([](Profile& profile, bool session) {
    if (session) profile.Finish();
  });
  Profiles::SetSession(nullptr);
}

}  // namespace belay::trace
