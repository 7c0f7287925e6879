"""Reads spec/graph/*.yaml: the operators of graphs."""
from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

import read

_KINDS = {'int', 'float', 'bool', 'string', 'type', 'ints', 'floats', 'strings', 'tensor', 'graph'}
# How a translation uses an attribute; without a word it reads it.
_USES = {'only', 'hint'}
_ROW_KEYS = {'op', 'brief', 'attrs', 'translate', 'random'}
_ROW = re.compile(r'^(\w+)\((.*?)\)\s*->\s*(.*)$')


@dataclass(frozen=True)
class Port:
    name: str
    kind: str  # required, optional, dynamic
    any_float: bool = False


@dataclass(frozen=True)
class GraphAttribute:
    name: str
    kind: str
    required: bool
    fallback: str
    use: str = 'read'


@dataclass
class GraphOp:
    """One operator type; `translate` is empty for those that the engine itself handles."""
    type: str
    family: str
    inputs: list[Port]
    outputs: list[Port]
    brief: str = ''
    translate: str = ''
    random: bool = False  # draws others at each execution
    attributes: list[GraphAttribute] = field(default_factory=list)


def read_port(text: str) -> Port:
    if text.endswith('...'):
        return Port(text[:-3], 'dynamic')
    if text.endswith('~'):
        return Port(text[:-1], 'required', any_float=True)
    return Port(text.removesuffix('?'), 'optional' if text.endswith('?') else 'required')


def read_ports(text: str) -> list[Port]:
    return [read_port(part.strip()) for part in text.split(',') if part.strip()]


def read_attribute(op: str, name: str, text: str) -> GraphAttribute:
    kind, given, fallback = (part.strip() for part in str(text).partition('='))
    use, _, plain = kind.partition(' ')
    if use in _USES:
        kind = plain.strip()
    if kind not in _KINDS:
        raise read.SpecError(f'{op}.{name}: no kind of attribute is called "{kind}"')
    if use == 'only' and not given:
        raise read.SpecError(f'{op}.{name}: the only value is missing')
    return GraphAttribute(name, kind, not given, fallback, use if use in _USES else 'read')


def read_op(row: dict, family: str) -> GraphOp:
    unknown = set(row) - _ROW_KEYS
    match = _ROW.match(' '.join(row['op'].split()))
    if unknown or not match:
        raise read.SpecError(f'spec/graph: cannot read the row {row.get("op")} {unknown or ""}')
    op = GraphOp(match[1], family, read_ports(match[2]), read_ports(match[3]), row.get('brief', ''))
    translate = row.get('translate', op.type)
    op.translate = '' if translate is False else translate
    op.attributes = [read_attribute(op.type, n, t) for n, t in row.get('attrs', {}).items()]
    op.random = row.get('random', False)
    if op.random and not {'seed', 'seed2'} <= {a.name for a in op.attributes}:
        raise read.SpecError(f'{op.type}: what draws random numbers has the attributes seed and seed2')
    return op


def read_graph_ops(root: Path) -> list[GraphOp]:
    operators = []
    for path in sorted((root / 'graph').glob('*.yaml')):
        operators += [read_op(row, path.stem) for row in read.load(path)['ops']]
    names = [op.type for op in operators]
    for name in names:
        if names.count(name) > 1:
            raise read.SpecError(f'spec/graph: {name} is there twice')
    return operators
