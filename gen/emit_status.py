"""docs/status.md: what works, function by function and operator by operator. No totals over all files: they would conflict in
every merge; `generate.py --count` prints them."""
from __future__ import annotations

from collections import Counter

from graph_model import GraphOp
from model import STATUSES, Function, Spec

_TOP = '''# Status of every function

Generated from `spec/` by `gen/generate.py --headers include`; do not edit.

- **done**: works as documented, held by a conformance test.
- **partial**: works; the note says what does not.
- **absent**: fails with the documented "not supported" code and names itself in
  `aclGetRecentErrMsg`. A name marked *not exported* is missing from the library until it works, because
  the programs that want it look it up at run time and have a fallback.
'''


def row(function: Function) -> str:
    note = function.note or ('' if function.exported else 'not exported')
    return f'| {function.name} | {function.status} | {function.page} | {note} |\n'


def counts(functions: list[Function]) -> str:
    counter = Counter(f.status for f in functions)
    return ', '.join(f'{counter[s]} {s}' for s in STATUSES)


def missing(spec: Spec) -> str:
    """What real programs link and nobody can link here yet; a line a name, so that merges are easy."""
    known = {f.name for f in spec.functions}
    text = '\n# Names without a row\n\nA program that links one of these does not start yet.\n'
    for program, names in spec.linked.items():
        lacking = sorted(names - known)
        text += f'\n## {program}: {len(lacking)} of {len(names)} names\n'
        text += '\n' + ''.join(f'- {name}\n' for name in lacking) if lacking else ''
    return text


def graph_interface(spec: Spec) -> str:
    text = '\n# The graph interface\n\nWhat is documented and missing in namespace `ge`:\n\n'
    return text + ''.join(f'- {names}: {why}\n' for names, why in spec.graph_absent)


def operator_row(op: GraphOp) -> str:
    only = [f'`{a.name}` is {a.fallback or "empty"} only' for a in op.attributes if a.use == 'only']
    onnx = ', '.join(f'{n.domain}.{n.name}'.lstrip('.') for n in op.onnx)
    same = f'aclnn{op.door.op.forms[0].name}' if op.door and op.door.op.forms else ''
    return f'| {op.type} | {"partial" if only else "done"} | {same} | {onnx} | {"; ".join(only)} |\n'


def operators_of_graphs(operators: list[GraphOp]) -> str:
    text = ('\n# Operators of graphs\n\nThe same function of aclnn, and the operator of ONNX, stand beside those that are '
            'one of them under another name;\nothers are imported and computed too, by several.\n')
    for family in sorted({op.family for op in operators}):
        mine = sorted((op for op in operators if op.family == family), key=lambda op: op.type)
        text += f'\n## {family}: {len(mine)}\n\n| operator | status | aclnn | ONNX | note |\n|---|---|---|---|---|\n'
        text += ''.join(map(operator_row, mine))
    return text


def emit(spec: Spec, operators: list[GraphOp]) -> dict[str, str]:
    text = _TOP
    for subject in spec.subjects():
        functions = spec.of_subject(subject)
        text += f'\n## {subject}: {counts(functions)}\n\n'
        text += '| function | status | page | note |\n|---|---|---|---|\n'
        text += ''.join(row(f) for f in functions)
    return {'status.md': text + operators_of_graphs(operators) + graph_interface(spec) + missing(spec)}
