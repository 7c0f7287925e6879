"""The operators of graphs (spec/graph): the table that the graph engine reads.

  graph/translations.h    the functions that turn a node into plans, one an operator
  graph/op_table.cc       names, inputs, attributes and outputs of every operator
  graph/onnx/plain_imports.cc   the operators of ONNX that are one of these under another name
"""
from __future__ import annotations

from graph_model import GraphOp
from ops_model import KINDS

_TOP = '// Generated from spec/graph by gen/. Do not edit.\n'
_KINDS = {'int': 'Int', 'float': 'Float', 'bool': 'Bool', 'string': 'String', 'type': 'Type', 'ints': 'Ints',
          'floats': 'Floats', 'strings': 'Strings', 'tensor': 'Tensor', 'graph': 'Graph'}


def ports(op: GraphOp, what: str, rows) -> str:
    if not rows:
        return ''
    items = ', '.join(f'{{"{p.name}", PortKind::k{p.kind.capitalize()}, {str(p.any_float).lower()}}}' for p in rows)
    return f'constexpr PortSchema k{op.type}{what}[] = {{{items}}};\n'


def attributes(op: GraphOp) -> str:
    if not op.attributes:
        return ''
    items = ''.join(f'    {{"{a.name}", AttributeKind::k{_KINDS[a.kind]}, {str(a.required).lower()}, "{a.fallback}", AttributeUse::k{a.use.capitalize()}}},\n'
                    for a in op.attributes)
    return f'constexpr AttributeSchema k{op.type}Attributes[] = {{\n{items}}};\n'


# How a parameter of spec/ops is given.
_ARGUMENTS = {'operand': 'Tensor', 'scalar': 'Scalar', 'ints': 'Ints', 'integer': 'Int', 'real': 'Double',
              'boolean': 'Bool', 'dtype': 'DType'}


def quoted(word: str) -> str:
    return f'"{word}"'


def door(op: GraphOp) -> str:
    if op.door is None:
        return ''
    rows, words = '', ''
    for at, (param, source) in enumerate(zip(op.door.op.params, op.door.sources)):
        kind, of = _ARGUMENTS[KINDS[param.kind][2]], ''
        if source.words:
            of = f', k{op.type}Words{at}'
            words += f'constexpr std::string_view k{op.type}Words{at}[] = {{{", ".join(map(quoted, source.words))}}};\n'
        rows += f'    {{Way::k{source.way.capitalize()}, ops::ArgKind::k{kind}, {source.index}, {source.number!r}{of}}},\n'
    return (words + f'constexpr Source k{op.type}Sources[] = {{\n{rows}}};\n'
            f'constexpr Door k{op.type}Door{{ops::forms::ge::{op.type}, k{op.type}Sources, ops::forms::ge::{op.type}Results}};\n')


def traits(op: GraphOp) -> str:
    return ' | '.join(f'kTrait{t.capitalize()}' for t in op.traits) or '0'


def onnx_attributes(at: int, op: GraphOp, name) -> str:
    if not name.attributes:
        return ''
    rows = ''.join(f'    {{"{a.name}", {{"{a.attribute.name}", AttributeKind::k{_KINDS[a.attribute.kind]}, false, '
                   f'"{a.fallback}", AttributeUse::kRead}}}},\n' for a in name.attributes)
    return f'constexpr PlainAttribute k{op.type}{at}[] = {{\n{rows}}};\n'


def plain_imports(operators: list[GraphOp]) -> str:
    tables, rows = '', ''
    for op in operators:
        for at, name in enumerate(op.onnx):
            tables += onnx_attributes(at, op, name)
            attributes = f'k{op.type}{at}' if name.attributes else '{}'
            rows += f'    {{"{name.name}", "{op.type}", {attributes}, "{name.domain}"}},\n'
    return (_TOP + '#include "graph/onnx/plain_import.h"\n\nnamespace belay::graph::onnx {\nnamespace {\n\n'
            + tables + '\nconstexpr PlainImport kPlain[] = {\n' + rows + '};\n\n}  // namespace\n\n'
            'std::span<const PlainImport> PlainImports() { return kPlain; }\n\n}  // namespace belay::graph::onnx\n')


def entry(op: GraphOp) -> str:
    name = lambda what, rows: f'k{op.type}{what}' if rows else '{}'  # noqa: E731
    translate = f'translate::{op.translate}' if op.translate else 'nullptr'
    return (f'    {{"{op.type}", {name("Inputs", op.inputs)}, {name("Outputs", op.outputs)}, '
            f'{name("Attributes", op.attributes)}, {translate}, '
            f'{traits(op)}, {f"&k{op.type}Door" if op.door else "nullptr"}}},\n')


def emit(operators: list[GraphOp]) -> dict[str, str]:
    functions = sorted({op.translate for op in operators if op.translate})
    header = (_TOP + '#pragma once\n\nnamespace belay::graph {\nclass Translation;\n}\n\n'
              'namespace belay::graph::translate {\n\n'
              + ''.join(f'void {name}(Translation& node);\n' for name in functions)
              + '\n}  // namespace belay::graph::translate\n')
    table = (_TOP + '#include "graph/door.h"\n#include "graph/op_schema.h"\n#include "graph/translations.h"\n#include "ops/forms.h"\n\n'
             'namespace belay::graph {\nnamespace {\n\n'
             + ''.join(ports(op, 'Inputs', op.inputs) + ports(op, 'Outputs', op.outputs) + attributes(op) + door(op)
                       for op in operators)
             + '\nconstexpr OpSchema kOps[] = {\n' + ''.join(map(entry, operators)) + '};\n\n}  // namespace\n\n'
             'std::span<const OpSchema> AllOps() { return kOps; }\n\n}  // namespace belay::graph\n')
    return {'graph/translations.h': header, 'graph/op_table.cc': table,
            'graph/onnx/plain_imports.cc': plain_imports(operators)}
