"""api/entries.h and entries/<subject>.cc: the functions of libbelay_core.so that the thunks call.

An entry checks for null, turns handles into objects and calls the handler inside the guard.
"""
from __future__ import annotations

from model import Function, Spec
from prototype import Prototype

_HEADER_TOP = '''/* Generated from spec/ by gen/. Do not edit.
 *
 * The way into libbelay_core.so: an entry for each exported function, called by the thunk of that name.
 */
#pragma once

#include <stdarg.h>

'''

_SOURCE_TOP = '''// Generated from spec/ by gen/. Do not edit.
#include "api/entries.h"

#include "api/call.h"
#include "api/convert.h"
#include "api/functions.h"
#include "api/handlers.h"
#include "api/refuse.h"

namespace belay {
namespace {
using api::Fn;
}  // namespace

'''


def entry_declaration(proto: Prototype, unused: bool = False) -> str:
    """An entry cannot take `...` from its thunk, so it takes the list."""
    decls = [p.decl for p in proto.params] + (['va_list arguments'] if proto.variadic else [])
    args = ', '.join(('[[maybe_unused]] ' if unused else '') + d for d in decls) or 'void'
    space = '' if proto.ret.endswith('*') else ' '
    return f'BELAY_CORE_API {proto.ret}{space}belay_{proto.name}({args})'


def argument(spec: Spec, function: Function, param) -> str:
    handle = spec.handle_of(function, param)
    if handle is None:
        return param.name
    if param.name in function.optional:
        return f'api::Optional<{handle.cls}>({param.name}, "{param.name}")'
    if spec.may_be_null(function, param):
        return f'api::StreamArg({param.name}, "{param.name}")'
    return f'api::Need<{handle.cls}>({param.name}, "{param.name}")'


def fallback(function: Function) -> str:
    ret = function.proto.ret
    if function.fallback:
        return f'static_cast<{ret}>({function.fallback})'
    return f'static_cast<{ret}>({"nullptr" if ret.endswith("*") else "0"})'


def body(spec: Spec, function: Function) -> str:
    """What runs inside the guard."""
    if not function.works:
        return f'    api::RefuseAbsent(Fn::{function.name});\n'
    checks = ''.join(
        f'    if ({p.name} == nullptr) [[unlikely]] api::RefuseNull("{p.name}", {code});\n'
        for p, code in spec.null_checks(function))
    args = [argument(spec, function, p) for p in function.proto.params]
    if function.proto.variadic:
        args.append('arguments')
    keyword = 'return ' if function.returns_value and function.proto.ret != 'void' else ''
    return f'{checks}    {keyword}api::{function.handler}({", ".join(args)});\n'


def entry(spec: Spec, function: Function) -> str:
    proto = function.proto
    if not function.returns_value and function.family.other:
        run = f'return static_cast<{proto.ret}>(api::Run(Fn::{function.name}, [&]'
    elif not function.returns_value:
        run = f'return api::Run(Fn::{function.name}, [&]'
    elif proto.ret == 'void':
        run = f'static_cast<void>(api::Run(Fn::{function.name}, [&]'
    else:
        value = fallback(function)
        run = f'return api::RunValue(Fn::{function.name}, {value}, [&]() -> {proto.ret}'
    close = '));' if run.startswith(('static_cast', 'return static_cast')) else ');'
    return (f'{entry_declaration(proto, not function.works)} {{\n'
            f'  {run} {{\n{body(spec, function)}  }}{close}\n}}\n\n')


def emit(spec: Spec) -> dict[str, str]:
    includes = ''.join(f'#include "{h.path}"\n' for h in spec.headers)
    exported = [f for f in spec.functions if f.exported]
    header = (_HEADER_TOP + includes
              + '\n#define BELAY_CORE_API __attribute__((visibility("default")))\n\n'
              + '#ifdef __cplusplus\nextern "C" {\n#endif\n'
              + ''.join(entry_declaration(f.proto) + ';\n' for f in exported)
              + '#ifdef __cplusplus\n}\n#endif\n')
    files = {'api/entries.h': header}
    for subject in spec.subjects():
        entries = ''.join(entry(spec, f) for f in spec.of_subject(subject)
                          if f.exported and not f.form)
        if entries:
            files[f'entries/{subject}.cc'] = (
                _SOURCE_TOP + 'extern "C" {\n\n' + entries
                + '}  // extern "C"\n\n}  // namespace belay\n')
    return files
