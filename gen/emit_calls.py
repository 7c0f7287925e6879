"""abi/calls.h: every working function that returns a status, callable with bad arguments.

tests/abi/bad_input.c drives it: each call has a mask of parameters to pass as null and a value to pass
for each handle; all other pointers point to scratch memory and all numbers are zero.
"""
from __future__ import annotations

from model import Function, Spec
from prototype import Param

_TOP = '''/* Generated from spec/ by gen/. Do not edit. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

'''

_TYPES = '''
typedef struct { unsigned mask; int code; } NullCase;

typedef struct {
  const char *name;
  int (*call)(unsigned nulls, uintptr_t handle);
  bool needs_init;
  bool takes_handle;  /* one that the entry turns into an object */
  const NullCase *null_cases;
} Call;

extern unsigned char scratch[];
'''


def value(spec: Spec, function: Function, index: int, param: Param) -> str:
    pointer = f'(nulls & {1 << index}u ? 0 : (uintptr_t)scratch)'
    if spec.handle_of(function, param):
        return f'(void *)(nulls & {1 << index}u ? 0 : handle)'
    if param.is_pointer:
        return f'(void *){pointer}'
    if spec.is_nullable_type(param):
        return f'({param.type}){pointer}'
    return f'({param.type}){{0}}'


def call(spec: Spec, function: Function) -> str:
    values = ', '.join(value(spec, function, i, p) for i, p in enumerate(function.proto.params))
    return (f'static int call_{function.name}(unsigned nulls, uintptr_t handle) {{\n'
            '  (void)nulls;\n  (void)handle;\n'
            f'  return {function.name}({values});\n}}\n')


def row(spec: Spec, function: Function) -> str:
    names = [p.name for p in function.proto.params]
    cases = ''.join(f'{{{1 << names.index(p.name)}u, {code}}}, '
                    for p, code in spec.null_checks(function)) if not function.custom_entry else ''
    handle = any(spec.handle_of(function, p) for p in function.proto.params)
    flags = ', '.join('true' if flag else 'false'
                      for flag in (function.needs_init, handle and not function.custom_entry))
    return (f'  {{"{function.name}", call_{function.name}, {flags},\n'
            f'   (const NullCase[]){{{cases}{{0, 0}}}}}},\n')


def emit(spec: Spec) -> dict[str, str]:
    functions = [f for f in spec.functions if f.works and not f.returns_value]
    text = _TOP + ''.join(f'#include "{h.path}"\n' for h in spec.headers) + _TYPES + '\n'
    text += ''.join(call(spec, f) for f in functions)
    rows = ''.join(row(spec, f) for f in functions)
    end = '  {0, 0, false, false, 0},\n};\n'
    return {'abi/calls.h': text + '\nstatic const Call calls[] = {\n' + rows + end}
