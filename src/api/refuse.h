// What every generated entry may have to say before a handler runs.
#pragma once

#include "api/functions.h"
#include "base/error.h"

namespace belay::api {

[[noreturn, gnu::cold]] inline void RefuseNull(const char* argument, int code) {
  Fail(code, "null-argument", "{} is null; pass a valid pointer or handle", argument);
}

[[noreturn, gnu::cold]] inline void RefuseAbsent(Fn fn) {
  Fail(InfoOf(fn).absent_code, "not-implemented",
       "{} is not implemented in this version of Belay; docs/status.md lists what is", InfoOf(fn).name);
}

}  // namespace belay::api
