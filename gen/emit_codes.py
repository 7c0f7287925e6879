"""base/codes.h: the error codes by name, for the core, which knows nothing of the headers that programs include."""
from __future__ import annotations

from model import Spec

_TOP = '''// Generated from spec/errors.yaml by gen/. Do not edit.
#pragma once

namespace belay::codes {

'''
_PREFIXES = ('ACL_ERROR_', 'ACLNN_ERR_', 'ACL_')


def constant(name: str) -> str:
    """ACL_ERROR_RT_PARAM_INVALID as kRtParamInvalid, ACLNN_ERR_PARAM_INVALID as kAclnnParamInvalid."""
    plain = next(name.removeprefix(p) for p in (*_PREFIXES, '') if name.startswith(p))
    words = (['Aclnn'] if name.startswith('ACLNN_') else []) + plain.split('_')
    return 'k' + ''.join(word.capitalize() for word in words)


def emit(spec: Spec) -> dict[str, str]:
    known = {}
    for error in spec.errors:
        known.setdefault(error.code, error.name)
    lines = ''.join(f'inline constexpr int {constant(name)} = {code};\n' for code, name in known.items() if code)
    lines += '\n// Met in programs, and named here: no page does.\n'
    lines += ''.join(f'inline constexpr int {constant(seen.name)} = {seen.code};\n' for seen in spec.seen_errors)
    return {'base/codes.h': _TOP + lines + '\n}  // namespace belay::codes\n'}
