"""abi/calls.h: every exported function, callable with bad arguments.

tests/abi/bad_input.c and tests/abi/random_input.c drive it: an argument is a number, whatever it stands for, and a
letter for each parameter tells what that is.
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
typedef struct { int parameter, code; } NullCase;  /* a code of 0 ends the list */

enum {
  OBJECT = 'o',   /* a handle that the entry turns into an object */
  HANDLE = 'h',   /* one that it passes on */
  MEMORY = 'm',   /* void * */
  TEXT = 't',
  POINTER = 'p',  /* to an array, or to a place for a result */
  BARE = 'b',     /* to what holds pointers to data */
  FUNCTION = 'f',
  NUMBER = 'n',
  STRUCT = 's'    /* by value, all zero */
};

typedef struct {
  const char *name;
  const char *kinds;  /* of the parameters */
  intptr_t (*call)(const uintptr_t *values);
  bool gives_status;
  bool works;
  bool needs_init;
  int not_running;    /* what it answers before aclInit */
  int bad_handle;
  const NullCase *null_cases;
} Call;
'''


def pointer_kind(spec: Spec, param: Param) -> str:
    pointed = param.type.removeprefix('const ') if param.suffix else param.type.removeprefix('const ')[:-1].rstrip()
    base = pointed.split('*')[0].strip()
    is_bare = pointed.endswith(('*', '*const')) and base != 'void' and all(h.name != base for h in spec.handles)
    holds_pointers = any(f.type.endswith('*') for s in spec.structs if s.name == base for f in s.fields)
    if is_bare or holds_pointers:
        return 'b'
    return {'void *': 'm', 'const void *': 'm', 'const char *': 't'}.get(param.type + param.suffix, 'p')


def kind(spec: Spec, function: Function, param: Param) -> str:
    if spec.handle_of(function, param):
        return 'o'
    if any(handle.matches(param) for handle in spec.handles):
        return 'h'
    if any(callback.proto.name == param.type for callback in spec.callbacks):
        return 'f'
    if param.is_pointer:
        return pointer_kind(spec, param)
    return 's' if any(struct.name == param.type for struct in spec.structs) else 'n'


def value(letter: str, index: int, param: Param) -> str:
    if letter == 's':
        return f'({param.type}){{0}}'
    return f'(void *)v[{index}]' if param.is_pointer else f'({param.type})v[{index}]'


def call(function: Function, kinds: str) -> str:
    values = ', '.join(value(k, i, p) for i, (k, p) in enumerate(zip(kinds, function.proto.params)))
    body = (f'{function.name}({values});\n  return 0;' if function.proto.ret == 'void'
            else f'return (intptr_t){function.name}({values});')
    return f'static intptr_t call_{function.name}(const uintptr_t *v) {{\n  (void)v;\n  {body}\n}}\n'


def row(spec: Spec, function: Function, kinds: str) -> str:
    names = [p.name for p in function.proto.params]
    cases = ''.join(f'{{{names.index(p.name)}, {code}}}, ' for p, code in spec.null_checks(function))
    flags = ', '.join('true' if flag else 'false'
                      for flag in (not function.returns_value, function.works, function.needs_init))
    codes = (f'{function.family.other or "ACL_ERROR_UNINITIALIZE"}, '
             f'{function.family.argument or "ACL_ERROR_RT_INVALID_HANDLE"}')
    return (f'  {{"{function.name}", "{kinds}", call_{function.name}, {flags}, {codes},\n'
            f'   (const NullCase[]){{{cases}{{0, 0}}}}}},\n')


def emit(spec: Spec) -> dict[str, str]:
    functions = [(f, ''.join(kind(spec, f, p) for p in f.proto.params)) for f in spec.functions if f.exported]
    text = _TOP + ''.join(f'#include "{h.path}"\n' for h in spec.headers) + _TYPES + '\n'
    text += ''.join(call(f, kinds) for f, kinds in functions)
    rows = ''.join(row(spec, f, kinds) for f, kinds in functions)
    end = '  {0, 0, 0, false, false, false, 0, 0, 0},\n};\n'
    return {'abi/calls.h': text + '\nstatic const Call calls[] = {\n' + rows + end}
