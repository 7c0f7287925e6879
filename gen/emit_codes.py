"""base/codes.h: the error codes by name, for the core, which knows nothing of the headers that programs include.

Codes that are the values of an enum (HcclResult) have a header of their own, base/<enum>_codes.h in small letters.
"""
from __future__ import annotations

from model import Spec

_TOP = '''// Generated from spec/errors.yaml by gen/. Do not edit.
#pragma once

namespace belay::codes {

'''
_END = '\n}  // namespace belay::codes\n'
_PREFIXES = ('ACL_ERROR_', 'ACLNN_ERR_', 'ACL_')


def constant(name: str) -> str:
    """ACL_ERROR_RT_PARAM_INVALID as kRtParamInvalid, ACLNN_ERR_PARAM_INVALID as kAclnnParamInvalid."""
    plain = next(name.removeprefix(p) for p in (*_PREFIXES, '') if name.startswith(p))
    words = (['Aclnn'] if name.startswith('ACLNN_') else []) + plain.split('_')
    return 'k' + ''.join(word.capitalize() for word in words)


def emit(spec: Spec) -> dict[str, str]:
    known = {}
    for error in (e for e in spec.errors if not e.enum):
        known.setdefault(error.code, error.name)
    lines = ''.join(f'inline constexpr int {constant(name)} = {code};\n' for code, name in known.items() if code)
    lines += '\n// Met in programs, and named here: no page does.\n'
    lines += ''.join(f'inline constexpr int {constant(seen.name)} = {seen.code};\n' for seen in spec.seen_errors)
    files = {'base/codes.h': _TOP + lines + _END}
    for enum in dict.fromkeys(e.enum for e in spec.errors if e.enum):
        lines = ''.join(f'inline constexpr int {constant(e.name)} = {e.code};\n'
                        for e in spec.errors if e.enum == enum and e.code)
        files[f'base/{enum.lower()}_codes.h'] = _TOP + lines + _END
    return files
