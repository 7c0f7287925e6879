"""include/: the C headers that programs compile against. Generated and committed, for they are read."""
from __future__ import annotations

import textwrap

from model import Enum, ErrorCode, Function, Header, Spec, Struct

_WIDTH = 100


def comment(paragraphs: list[str]) -> str:
    """A doc comment, one paragraph a list item."""
    lines = [line for p in paragraphs if p
             for line in textwrap.wrap(p, _WIDTH - 3, break_long_words=False, break_on_hyphens=False)]
    if not lines:
        return ''
    if len(lines) == 1 and len(lines[0]) + 7 <= _WIDTH:
        return f'/** {lines[0]} */\n'
    return '/**\n' + ''.join(f' * {line}\n' for line in lines) + ' */\n'


def wrapped(head: str, items: list[str], tail: str) -> str:
    """`head(items)tail` on one line, or the items wrapped behind the parenthesis."""
    line = f'{head}({", ".join(items)}){tail}'
    if len(line) <= _WIDTH:
        return line
    body = textwrap.wrap(', '.join(items) + f'){tail}', _WIDTH - 4, break_long_words=False)
    return f'{head}(\n' + '\n'.join('    ' + b for b in body)


def limits(function: Function) -> str:
    """What is missing, as docs/status.md has it."""
    if function.status == 'partial':
        return f'In part: {function.note}.'
    if function.works:
        return ''
    why = f' ({function.note})' if function.note else ''
    code = function.fallback or '0' if function.returns_value else function.family.absent
    return f'Not implemented{why}: returns {code}.'


def usually_needs_init(functions: list[Function]) -> bool:
    return sum(f.needs_init for f in functions) * 2 >= len(functions)


def init_note(function: Function, usual: bool) -> str:
    """For the functions that differ from most of their header."""
    if function.needs_init == usual:
        return ''
    return 'Needs aclInit.' if function.needs_init else 'Needs no aclInit.'


def function_text(function: Function, needs_init: bool) -> str:
    proto = function.proto
    errors = '; '.join(f'{code}: {text}' for code, text in sorted(function.errors.items()))
    brief = ' '.join(filter(None, [function.brief, init_note(function, needs_init)]))
    doc = comment([brief, limits(function), f'Errors: {errors}.' if errors else '',
                   f'Page: {function.page}' if function.page else ''])
    space = '' if proto.ret.endswith('*') else ' '
    items = [p.decl for p in proto.params] + (['...'] if proto.variadic else [])
    return doc + wrapped(f'{proto.ret}{space}{proto.name}', items or ['void'], ';') + '\n\n'


def enum_text(enum: Enum) -> str:
    values = ''.join(f'    {name} = {value},\n' for name, value in enum.values.items())
    return comment([enum.brief]) + f'typedef enum {{\n{values.rstrip(chr(10)).rstrip(",")}\n}} {enum.name};\n\n'


def struct_text(struct: Struct) -> str:
    fields = ''.join(f'    {f.decl};\n' for f in struct.fields)
    keyword = 'union' if struct.is_union else 'struct'
    return f'typedef {keyword} {struct.name} {{\n{fields}}} {struct.name};\n\n'


def error_text(error: ErrorCode) -> str:
    """An object, not a macro, so that C++ programs may have the same name in a namespace."""
    line = f'static const int {error.name} = {error.code};'
    if not error.brief:
        return line + '\n'
    note = f'/* {error.brief} */'
    return f'{line} {note}\n' if len(line) + len(note) < _WIDTH else f'{note}\n{line}\n'


def error_enum_text(name: str, errors: list[ErrorCode]) -> str:
    values = ''.join(f'    {e.name} = {e.code}{"," if e is not errors[-1] else ""} /* {e.brief} */\n' for e in errors)
    return f'typedef enum {{\n{values}}} {name};\n\n'


def types_text(spec: Spec, path: str) -> str:
    text = ''
    for group in (c for c in spec.constants if c.header == path):
        text += f'/* {group.group} */\n'
        text += ''.join(f'#define {n} {v}\n' for n, v in group.values.items()) + '\n'
    for alias in (a for a in spec.aliases if a.header == path):
        text += comment([alias.brief]) + f'typedef {alias.type} {alias.name};\n\n'
    codes = [error_text(e) for e in spec.errors if e.header == path and not e.enum]
    text += ''.join(codes) + ('\n' if codes else '')
    for name in dict.fromkeys(e.enum for e in spec.errors if e.header == path and e.enum):
        text += error_enum_text(name, [e for e in spec.errors if e.enum == name])
    text += ''.join(enum_text(e) for e in spec.enums if e.header == path)
    handles = [h for h in spec.handles if h.header == path]
    for handle in handles:
        target = f'struct {handle.tag} ' if handle.is_struct else 'void *'
        text += f'typedef {target}{handle.name};\n'
    text += '\n' if handles else ''
    for callback in (c for c in spec.callbacks if c.header == path):
        proto = callback.proto
        text += f'typedef {proto.ret} (*{proto.name})({proto.args()});\n\n'
    return text + ''.join(struct_text(s) for s in spec.structs if s.header == path)


def guard_of(path: str) -> str:
    return 'BELAY_' + ''.join(c.upper() if c.isalnum() else '_' for c in path) + '_'


def shared_errors(functions: list[Function]) -> str:
    """What functions whose entry is written from spec/api/ return before their handler runs."""
    plain = [f for f in functions if f.works and not f.returns_value]
    if not plain:
        return ''
    if plain[0].family.other:
        family = plain[0].family
        return (f'Errors that are not said with each function: {family.null} for a null pointer or handle where none may '
                f'be; {family.argument} for a handle whose object is not alive, or no longer, and for a setting that '
                f'cannot be used; {family.memory} when memory is short; {family.other} before aclInit, after '
                'aclFinalize, and for what the runtime refuses. aclGetRecentErrMsg tells more.')
    nulls = ' or '.join(str(code) for code in sorted({f.family.null for f in plain}))
    init = ('100001 before aclInit and after aclFinalize' if usually_needs_init(functions) else
            '100001 without aclInit, where it is needed')
    text = (f'Errors that are not said with each function: {init}; {nulls} for a null pointer or handle where none '
            'may be; 107017 for a handle whose object is not alive, or no longer; 200000 when host memory is short.')
    if any(p.type == 'aclrtStream' for f in plain for p in f.proto.params):
        text += (' With a stream: 107002 when the thread has no context, 107003 when the stream is of another one, '
                 '107033 when a capture of it was spoiled, and the code of the failure that stopped it.')
        if any(f.family.name != 'aclnn' for f in plain):  # the second stage of an operator never waits
            text += (' Functions that wait: 100000 in a callback, 107022 when the tasks were dropped meanwhile, and '
                     'the code of a task that failed.')
    if any(f.returns_value for f in functions):
        text += ' A function that returns a value gives 0 or NULL then, if its comment says nothing else.'
    return text


def header_text(spec: Spec, header: Header) -> str:
    functions = [f for f in spec.functions if f.header == header.path]
    guard = guard_of(header.path)
    text = comment([header.brief + '. Belay implements this interface on the CPU. A function follows the page of its name in the '
                    'public API reference; "Page:" gives that page\'s number where it is known.',
                    shared_errors(functions), 'Generated from spec/ by gen/generate.py; edit there.'])
    text += f'#ifndef {guard}\n#define {guard}\n\n'
    text += '#include <stdbool.h>\n#include <stddef.h>\n#include <stdint.h>\n\n'
    text += ''.join(f'#include "{i}"\n' for i in header.includes) + '\n'
    text += '#ifdef __cplusplus\nextern "C" {\n#endif\n\n' + types_text(spec, header.path)
    text += ''.join(function_text(f, usually_needs_init(functions)) for f in functions)
    text += '#ifdef __cplusplus\n}\n' + ''.join(f'\n#include "{i}"\n' for i in header.cpp_includes)
    return text + f'#endif\n\n#endif  /* {guard} */\n'


def emit(spec: Spec) -> dict[str, str]:
    return {header.path: header_text(spec, header) for header in spec.headers}
