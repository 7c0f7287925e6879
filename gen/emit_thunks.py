"""thunks/<library>.c and .map: the libraries that programs link, which only call into the core."""
from __future__ import annotations

from model import Function, Library, Spec

_TOP = '''/* Generated from spec/ by gen/. Do not edit. */
#include "api/entries.h"

#define BELAY_EXPORT __attribute__((visibility("default")))

'''


def thunk(function: Function) -> str:
    proto = function.proto
    args = ', '.join(p.name for p in proto.params)
    head = f'BELAY_EXPORT {proto.declaration()}'
    if not proto.variadic:
        keyword = '' if proto.ret == 'void' else 'return '
        return f'{head} {{ {keyword}belay_{function.name}({args}); }}\n'
    result = '' if proto.ret == 'void' else f'{proto.ret} result = '
    after = '' if proto.ret == 'void' else '  return result;\n'
    return (f'{head} {{\n  va_list arguments;\n  va_start(arguments, {proto.params[-1].name});\n'
            f'  {result}belay_{function.name}({args}, arguments);\n  va_end(arguments);\n{after}}}\n')


def version_script(functions: list[Function]) -> str:
    """Without a version node: a program linked here must start where the names have no version."""
    names = ''.join(f'    {f.name};\n' for f in sorted(functions, key=lambda f: f.name))
    return '{\n' + (f'  global:\n{names}' if names else '') + '  local:\n    *;\n};\n'


def library_files(spec: Spec, library: Library) -> dict[str, str]:
    functions = [f for f in spec.functions if library.name in (f.lib, f.also) and f.exported]
    stem = library.name.removesuffix('.so')
    source = _TOP + ''.join(thunk(f) for f in functions)
    return {f'thunks/{stem}.c': source, f'thunks/{stem}.map': version_script(functions)}


def emit(spec: Spec) -> dict[str, str]:
    files = {}
    for library in spec.libraries:
        files |= library_files(spec, library)
    return files
