"""api/functions.h: the number of each function, and what the call guard must know of it."""
from __future__ import annotations

from model import Spec

_TOP = '''// Generated from spec/ by gen/. Do not edit.
#pragma once

#include <cstddef>
#include <cstdint>

namespace belay::api {

enum class Fn : uint16_t {
'''

_MIDDLE = '''  kCount,
};

struct FunctionInfo {
  const char* name;
  const char* page;     // of the documentation; empty where none was found
  int absent_code;      // what the function answers while it does not work yet
  int null_code;        // what it answers to a null argument
  bool needs_init;      // refused before aclInit and after aclFinalize
  // In place of the runtime's codes: of arguments and handles, of memory, and others; 0: as they are.
  int argument_code, memory_code, other_code;
};

inline constexpr FunctionInfo kFunctions[] = {
'''

_END = '''};

constexpr const FunctionInfo& InfoOf(Fn fn) { return kFunctions[static_cast<size_t>(fn)]; }

}  // namespace belay::api
'''


def emit(spec: Spec) -> dict[str, str]:
    numbers = ''.join(f'  {f.name},\n' for f in spec.functions)
    rows = ''.join(
        f'    {{"{f.name}", "{f.page}", {f.family.absent}, {f.family.null}, '
        f'{"true" if f.needs_init else "false"}, '
        f'{f.family.argument}, {f.family.memory}, {f.family.other}}},\n' for f in spec.functions)
    return {'api/functions.h': _TOP + numbers + _MIDDLE + rows + _END}
