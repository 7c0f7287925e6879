"""abi/link_all.c: names every exported function, so that a missing one is a link error."""
from __future__ import annotations

from model import Spec

_TOP = '''/* Generated from spec/ by gen/. Do not edit. */
#include <stdio.h>

'''


def emit(spec: Spec) -> dict[str, str]:
    exported = [f for f in spec.functions if f.exported]
    rows = ''.join(f'    {{"{f.name}", (function_t)&{f.name}}},\n' for f in exported)
    text = _TOP + ''.join(f'#include "{h.path}"\n' for h in spec.headers)
    text += ('\ntypedef void (*function_t)(void);\n\n'
             f'static const struct {{ const char *name; function_t function; }} all[] = {{\n{rows}}};\n\n'
             'int main(void) {\n'
             '  for (size_t i = 0; i < sizeof all / sizeof all[0]; ++i)\n'
             '    if (!all[i].function) return printf("%s is missing\\n", all[i].name), 1;\n'
             '  printf("%zu functions\\n", sizeof all / sizeof all[0]);\n'
             '  return 0;\n}\n')
    return {'abi/link_all.c': text}
