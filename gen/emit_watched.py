"""calls/watched.c: what libbelay_calls.so puts between the thunks and the core, and what it says of each function.

A letter for each parameter tells how a reader of the call sees it (`letter`).
"""
from __future__ import annotations

from emit_names import quoted
from model import STATUS_TYPES, Function, Spec
from prototype import Param

_TOP = '''/* Generated from spec/ by gen/. Do not edit. */
#include "api/entries.h"

#include "layers/calls/calls.h"

'''

_SIGNED = {'int', 'int8_t', 'int16_t', 'int32_t', 'int64_t', *STATUS_TYPES}
_UNSIGNED = {'size_t', 'uint8_t', 'uint16_t', 'uint32_t', 'uint64_t', 'aclFloat16'}
_OBJECTS = {'aclTensor': 't', 'aclTensorList': 'l', 'aclScalar': 'c', 'aclIntArray': 'n'}
_WRITTEN = {'aclTensor': 'o', 'aclTensorList': 'q'}
_RESULTS = {'uint32_t': 'W', 'uint64_t': 'Q', 'size_t': 'Q', 'float': 'F'}


def _plain(ctype: str) -> str:
    return ctype.removesuffix('const').strip().removeprefix('const ').strip()


def _number(spec: Spec, ctype: str) -> str | None:
    """The letter of a type that fits a register; None: it is a struct."""
    if ctype in ('float', 'double'):
        return 'd'
    if ctype == 'bool':
        return 'b'
    if ctype in _SIGNED:
        return 'i'
    if ctype in _UNSIGNED:
        return 'u'
    for place, enum in enumerate(spec.enums):
        if enum.name == ctype:
            return f'e{place}'
    return None


def _pointer(spec: Spec, pointed: str) -> str:
    if pointed in _OBJECTS:
        return _OBJECTS[pointed]
    if pointed in _RESULTS:
        return _RESULTS[pointed]
    if pointed.endswith('*') or any(h.name == pointed and not h.is_struct for h in spec.handles):
        return 'P'
    number = _number(spec, pointed)
    return number.replace('e', 'E') if number and number.startswith('e') else 'p'


def letter(spec: Spec, param: Param) -> str:
    """s text, d double, b bool, i and u integers, e an enum of that place, t l c n objects, o q those that are written, p an address, x a struct;
    of the addresses of results: P another address, W and Q numbers of 4 and 8 bytes, F a float, E an enum."""
    ctype = _plain(param.type)
    if param.suffix:
        return 'p'
    if param.type == 'const char *':
        return 's'
    if ctype.endswith('*'):
        pointed = ctype[:-1].strip()
        if not param.type.startswith('const ') and pointed in _WRITTEN:
            return _WRITTEN[pointed]
        is_input = param.type.startswith('const ') and pointed not in _OBJECTS
        return 'p' if is_input else _pointer(spec, pointed)
    number = _number(spec, ctype)
    if number:
        return number
    return 'x' if any(s.name == ctype for s in spec.structs) else 'p'


def value(name: str, kind: str) -> str:
    if kind == 'x':
        return '0'
    if kind == 'd':
        return f'belay_bits({name})'
    return f'(uint64_t){name}' if kind[0] in 'biue' else f'(uint64_t)(uintptr_t){name}'


def wrapper(spec: Spec, place: int, function: Function) -> str:
    proto = function.proto
    entry = f'belay_{proto.name}'
    names = ', '.join(p.name for p in proto.params)
    values = ', '.join(value(p.name, letter(spec, p)) for p in proto.params) or '0'
    gives = proto.ret != 'void'
    result = value('belay_result', letter(spec, Param(proto.ret, 'result'))) if gives else '0'
    return (f'BELAY_CORE_API {proto.declaration(entry)} {{\n'
            f'  const uint64_t belay_values[] = {{{values}}};\n'
            f'  const BelayCallHook *const belay_hook = belay_begin_call({place}, belay_values);\n'
            f'  {f"{proto.ret} belay_result = " if gives else ""}'
            f'((__typeof__(&{entry}))belay_real_call({place}))({names});\n'
            f'  if (belay_hook) belay_end_call(belay_hook, {place}, {result}, belay_values);\n'
            f'{"  return belay_result;" if gives else ""}\n}}\n')


def row(spec: Spec, function: Function) -> str:
    proto = function.proto
    params = ','.join(f'{p.name}:{letter(spec, p)}' for p in proto.params)
    result = 'r' if proto.ret in STATUS_TYPES else 'v' if proto.ret == 'void' else letter(
        spec, Param(proto.ret, 'result'))
    return f'  {{"{proto.name}", "{result}", "{params}"}},\n'


def enums(spec: Spec) -> str:
    text = ''
    for enum in spec.enums:
        values = {int(v, 0): name for name, v in reversed(enum.values.items())}
        rows = ', '.join(f'{{{number}, "{name}"}}' for number, name in values.items())
        text += f'static const BelayName k{enum.name}[] = {{{rows}, {{0, 0}}}};\n'
    return text + 'static const BelayName *const kEnums[] = {' + ', '.join(f'k{e.name}' for e in spec.enums) + '};\n\n'


def errors(spec: Spec) -> str:
    names: dict[int, str] = {}
    for error in spec.errors:
        names.setdefault(error.code, error.name)
    rows = ''.join(f'  {{{code}, {quoted(name)}}},\n' for code, name in names.items())
    return f'static const BelayName kErrors[] = {{\n{rows}  {{0, 0}}}};\n\n'


def emit(spec: Spec) -> dict[str, str]:
    functions = [f for f in spec.functions if f.exported and not f.proto.variadic]
    text = _TOP + ''.join(wrapper(spec, i, f) for i, f in enumerate(functions))
    text += enums(spec) + errors(spec)
    text += f'static const BelayCall kCalls[] = {{\n{"".join(row(spec, f) for f in functions)}}};\n\n'
    text += f'void *belay_real_calls[{len(functions)}];\n'
    text += (f'const BelayCalls belay_calls = {{{len(functions)}, kCalls, kEnums, kErrors}};\n')
    return {'calls/watched.c': text}
