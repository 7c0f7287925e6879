"""tools/limits.h: what does not work of functions that are exported, for belay doctor."""
from __future__ import annotations

import json

from model import Spec

_TOP = '''// Generated from spec/ by gen/. Do not edit.
#pragma once

#include <initializer_list>

namespace belay::tool {

struct Limit {
  const char* function;
  bool works;        // in part; else every call fails
  const char* note;  // what does not
};

inline constexpr std::initializer_list<Limit> kLimits = {
'''

_END = '''};

}  // namespace belay::tool
'''


def emit(spec: Spec) -> dict[str, str]:
    rows = ''.join(f'    {{"{f.name}", {"true" if f.status == "partial" else "false"}, {json.dumps(f.note)}}},\n'
                   for f in spec.functions if f.exported and f.status != 'done')
    return {'tools/limits.h': _TOP + rows + _END}
