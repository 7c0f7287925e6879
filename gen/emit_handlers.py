"""api/handlers.h: what hand-written handlers must look like. src/api/<subject>.cc defines them."""
from __future__ import annotations

from collections import defaultdict

from model import Function, Spec
from prototype import Param

_TOP = '''// Generated from spec/ by gen/. Do not edit.
//
// One handler a function, with its name. Handles have become objects, required pointers are not null;
// a handler does the rest or throws belay::Error.
#pragma once

#include <cstdarg>

'''



def param_type(spec: Spec, function: Function, param: Param) -> str:
    """The C++ declaration of a handler's parameter."""
    handle = spec.handle_of(function, param)
    if handle is None:
        return param.decl
    const = 'const ' if handle.is_struct and param.type.startswith('const ') else ''
    by = '*' if param.name in function.optional else '&'
    return f'{const}{handle.cls}{by} {param.name}'


def declaration(spec: Spec, function: Function) -> str:
    params = [param_type(spec, function, p) for p in function.proto.params]
    if function.proto.variadic:
        params.append('va_list arguments')
    ret = function.proto.ret if function.returns_value else 'void'
    space = '' if ret.endswith('*') else ' '
    return f'{ret}{space}{function.name}({", ".join(params)});'


def forward_declarations(spec: Spec) -> str:
    rooms = defaultdict(list)
    for handle in spec.handles:
        if handle.cls:
            room, cls = handle.cls.split('::')
            rooms[room].append(cls)
    text = ''
    for room, classes in rooms.items():
        text += f'namespace belay::{room} {{\n' + ''.join(f'class {c};\n' for c in classes)
        text += f'}}  // namespace belay::{room}\n\n'
    return text


def emit(spec: Spec) -> dict[str, str]:
    includes = ''.join(f'#include "{h.path}"\n' for h in spec.headers)
    text = _TOP + includes + '\n' + forward_declarations(spec) + 'namespace belay::api {\n'
    for subject in spec.subjects():
        wanted = [f for f in spec.of_subject(subject) if not f.same_as and not f.form]
        if wanted:
            text += f'\n// {subject}\n' + ''.join(declaration(spec, f) + '\n' for f in wanted)
    return {'api/handlers.h': text + '\n}  // namespace belay::api\n'}
