"""api/names.h: from numbers back to the names and meanings that people know."""
from __future__ import annotations

from model import Enum, Spec

_TOP = '''// Generated from spec/ by gen/. Do not edit.
#pragma once

'''


def quoted(text: str) -> str:
    return '"' + text.replace('\\', '\\\\').replace('"', '\\"') + '"'


def error_switch(spec: Spec, function: str, text_of) -> str:
    cases, done = '', set()
    for error in spec.errors:
        if error.code not in done:
            done.add(error.code)
            cases += f'    case {error.code}: return {quoted(text_of(error))};\n'
    return (f'inline const char* {function}(int code) {{\n  switch (code) {{\n{cases}'
            '    default: return nullptr;\n  }\n}\n\n')


def enum_switch(enum: Enum) -> str:
    cases, done = '', set()
    for name, value in enum.values.items():
        number = int(value, 0)
        if number not in done:
            done.add(number)
            cases += f'    case {name}: return "{name}";\n'
    return (f'inline const char* EnumName({enum.name} value) {{\n  switch (value) {{\n{cases}'
            '    default: return nullptr;\n  }\n}\n\n')


def emit(spec: Spec) -> dict[str, str]:
    includes = ''.join(f'#include "{h.path}"\n' for h in spec.headers)
    text = _TOP + includes + '\nnamespace belay::api {\n\n'
    text += '// Each gives null for a number that the documentation does not name.\n'
    text += error_switch(spec, 'ErrorName', lambda e: e.name)
    text += error_switch(spec, 'ErrorMeaning', lambda e: e.brief or e.name)
    text += ''.join(enum_switch(e) for e in spec.enums)
    return {'api/names.h': text + '}  // namespace belay::api\n'}
