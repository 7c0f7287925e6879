"""The operators of graphs (spec/graph): the table that the graph engine reads.

  graph/translations.h    the functions that turn a node into plans, one an operator
  graph/op_table.cc       names, inputs, attributes and outputs of every operator
"""
from __future__ import annotations

from graph_model import GraphOp

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


def entry(op: GraphOp) -> str:
    name = lambda what, rows: f'k{op.type}{what}' if rows else '{}'  # noqa: E731
    translate = f'translate::{op.translate}' if op.translate else 'nullptr'
    return (f'    {{"{op.type}", {name("Inputs", op.inputs)}, {name("Outputs", op.outputs)}, '
            f'{name("Attributes", op.attributes)}, {translate}, {str(op.random).lower()}}},\n')


def emit(operators: list[GraphOp]) -> dict[str, str]:
    functions = sorted({op.translate for op in operators if op.translate})
    header = (_TOP + '#pragma once\n\nnamespace belay::graph {\nclass Translation;\n}\n\n'
              'namespace belay::graph::translate {\n\n'
              + ''.join(f'void {name}(Translation& node);\n' for name in functions)
              + '\n}  // namespace belay::graph::translate\n')
    table = (_TOP + '#include "graph/op_schema.h"\n#include "graph/translations.h"\n\n'
             'namespace belay::graph {\nnamespace {\n\n'
             + ''.join(ports(op, 'Inputs', op.inputs) + ports(op, 'Outputs', op.outputs) + attributes(op)
                       for op in operators)
             + '\nconstexpr OpSchema kOps[] = {\n' + ''.join(map(entry, operators)) + '};\n\n}  // namespace\n\n'
             'std::span<const OpSchema> AllOps() { return kOps; }\n\n}  // namespace belay::graph\n')
    return {'graph/translations.h': header, 'graph/op_table.cc': table}
