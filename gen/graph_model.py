"""Reads spec/graph/*.yaml: the operators of graphs."""
from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

import read

_KINDS = {'int', 'float', 'bool', 'string', 'type', 'ints', 'floats', 'strings', 'tensor', 'graph'}
# How a translation uses an attribute; without a word it reads it.
_USES = {'only', 'hint'}
# What holds of an operator's results, for passes.
TRAITS = ('pointwise', 'random')
_ROW_KEYS = {'op', 'brief', 'attrs', 'translate', 'traits', 'onnx'}
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


@dataclass(frozen=True)
class Source:
    """Where a parameter of an operator of spec/ops comes from in a node."""
    way: str  # input, output, attribute, word, whole, real
    index: int = 0
    number: float = 0
    words: tuple[str, ...] = ()  # of an attribute, in the order of the numbers that they stand for


@dataclass(frozen=True)
class Door:
    """The operator of spec/ops that a node is, and its arguments in the order of that row."""
    op: object
    sources: tuple[Source, ...]
    types: tuple[str, ...] = ()  # of the inputs, where fewer than the row has
    results: tuple[tuple[str, str], ...] = ()  # of each output, the rule of its shape, and that of its type or the type


@dataclass(frozen=True)
class OnnxAttribute:
    """An attribute of the ONNX namesake: the node's, under ONNX's name and with ONNX's default."""
    name: str
    attribute: GraphAttribute
    fallback: str


@dataclass(frozen=True)
class OnnxName:
    name: str
    domain: str
    attributes: tuple[OnnxAttribute, ...]


@dataclass
class GraphOp:
    """One operator type; `translate` is empty for those that the engine itself handles."""
    type: str
    family: str
    inputs: list[Port]
    outputs: list[Port]
    brief: str = ''
    translate: str = ''
    attributes: list[GraphAttribute] = field(default_factory=list)
    traits: tuple[str, ...] = ()
    onnx: list[OnnxName] = field(default_factory=list)
    door: Door | None = None


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


def read_onnx_attribute(op: GraphOp, name: str, text: str) -> OnnxAttribute:
    """`alpha: negative_slope = 0.01`"""
    attribute, given, fallback = (part.strip() for part in str(text).partition('='))
    found = [a for a in op.attributes if a.name == attribute]
    if not found or not given:
        raise read.SpecError(f'{op.type}: its ONNX attribute {name} needs one of the operator\'s and a default')
    return OnnxAttribute(name, found[0], fallback)


def read_onnx(op: GraphOp, text: str, attributes: dict) -> OnnxName:
    """`Relu` or `com.microsoft.Gelu`"""
    domain, _, name = text.rpartition('.')
    return OnnxName(name, domain, tuple(read_onnx_attribute(op, n, t) for n, t in (attributes or {}).items()))


def read_op(row: dict, family: str) -> GraphOp:
    unknown = set(row) - _ROW_KEYS
    match = _ROW.match(' '.join(row['op'].split()))
    if unknown or not match:
        raise read.SpecError(f'spec/graph: cannot read the row {row.get("op")} {unknown or ""}')
    op = GraphOp(match[1], family, read_ports(match[2]), read_ports(match[3]), row.get('brief', ''))
    translate = row.get('translate', op.type)
    op.translate = '' if translate is False else translate
    op.attributes = [read_attribute(op.type, n, t) for n, t in row.get('attrs', {}).items()]
    op.traits = tuple(row.get('traits', ()))
    if set(op.traits) - set(TRAITS):
        raise read.SpecError(f'{op.type}: no trait is called {set(op.traits) - set(TRAITS)}')
    onnx = row.get('onnx', {})
    onnx = {onnx: {}} if isinstance(onnx, str) else onnx
    op.onnx = [read_onnx(op, text, attributes) for text, attributes in onnx.items()]
    if 'random' in op.traits and not {'seed', 'seed2'} <= {a.name for a in op.attributes}:
        raise read.SpecError(f'{op.type}: what draws random numbers has the attributes seed and seed2')
    return op


def read_graph_ops(root: Path, doors: list[GraphOp] = ()) -> list[GraphOp]:
    """The rows of spec/graph, and the doors of those of spec/ops."""
    operators = list(doors)
    for path in sorted((root / 'graph').glob('*.yaml')):
        operators += [read_op(row, path.stem) for row in read.load(path)['ops']]
    names = [op.type for op in operators]
    for name in names:
        if names.count(name) > 1:
            raise read.SpecError(f'spec/graph: {name} is there twice')
    return operators
