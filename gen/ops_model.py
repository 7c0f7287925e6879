"""Reads spec/ops/*.yaml: operators, and the functions through which programs call them."""
from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from pathlib import Path

import graph_model
import read
from graph_model import Door, GraphOp, Source

# kind of a parameter -> (its C type, what a rule or kernel gets, how Args gives it)
KINDS = {
    'tensor': ('const aclTensor *', 'const Operand&', 'operand'),
    'operand': ('const aclTensor *', 'const Operand&', 'operand'),
    'out': ('const aclTensor *', 'const Operand&', 'operand'),  # written, beside the one called `out`
    'tensors': ('const aclTensorList *', 'const OperandList&', 'operands'),
    'outs': ('const aclTensorList *', 'const OperandList&', 'operands'),
    'scalar': ('const aclScalar *', 'const Scalar&', 'scalar'),
    'scalars': ('const aclScalarList *', 'std::span<const Scalar>', 'scalars'),
    'ints': ('const aclIntArray *', 'std::span<const int64_t>', 'ints'),
    'bools': ('const aclBoolArray *', 'std::span<const uint8_t>', 'bools'),
    'int': ('int64_t', 'int64_t', 'integer'),
    'int8': ('int8_t', 'int64_t', 'integer'),
    'uint': ('uint64_t', 'int64_t', 'integer'),
    'int32': ('int', 'int64_t', 'integer'),
    'float': ('float', 'double', 'real'),
    'double': ('double', 'double', 'real'),
    'bool': ('bool', 'bool', 'boolean'),
    'dtype': ('aclDataType', 'DType', 'dtype'),
    'string': ('const char *', 'const char*', 'string'),
}
_ROW_KEYS = {'op', 'brief', 'page', 'header', 'shape', 'dtype', 'types', 'forms', 'kernel', 'errors', 'weight', 'tiles', 'images', 'ge',
             'results', 'in_part', 'whole', 'some', 'first', 'max_workspace', 'prefix'}
_CALL = re.compile(r'^(\w+)\((.*)\)$')
_RESULT = re.compile(r'^(\w+\(.*?\))\s+(\w+|\w+\(.*\))$')


_WORDS = re.compile(r'(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])')


def snake_case(name: str) -> str:
    """`actualSeqQLen` as `actual_seq_q_len`."""
    return _WORDS.sub('_', name).lower()


@dataclass(frozen=True)
class OpParam:
    name: str
    kind: str
    types: tuple[str, ...] = ()
    optional: bool = False
    is_weight: bool = False
    reads_tiles: bool = False
    is_image: bool = False
    part: str = 'kUnknown'

    @property
    def field(self) -> str:
        """Its name in the struct that a kernel of many parameters takes: `pseShiftOptional` is `pse_shift`."""
        return snake_case(self.name.removesuffix('Optional'))

    @property
    def is_out(self) -> bool:
        return self.name == 'out' or self.kind in ('out', 'outs')


@dataclass(frozen=True)
class FormParam:
    """An argument of a function: which parameters of the operator it is, and how C declares it."""
    indices: tuple[int, ...]
    kind: str
    name: str
    is_out: bool
    optional: bool = False

    @property
    def ctype(self) -> str:
        ctype = KINDS[self.kind][0]
        return ctype.removeprefix('const ') if self.is_out else ctype


@dataclass(frozen=True)
class Form:
    name: str  # without the prefix
    params: tuple[FormParam, ...]
    prefix: str = 'aclnn'

    @property
    def symbol(self) -> str:
        return self.prefix + self.name


@dataclass
class Operator:
    name: str
    params: list[OpParam]
    family: str
    header: str
    brief: str = ''
    page: str = ''
    shape: str = ''
    dtype: str = ''
    kernel: str = ''
    forms: list[Form] = field(default_factory=list)
    doors: list[GraphOp] = field(default_factory=list)
    results: dict[str, tuple[str, str]] = field(default_factory=dict)
    errors: dict[int, str] = field(default_factory=dict)
    in_part: str = ''
    max_workspace: bool = False  # each form has a function for the workspace of the largest call

    @property
    def out(self) -> int:
        return next((i for i, p in enumerate(self.params) if p.name == 'out' and p.kind != 'outs'), -1)

    def index(self, name: str) -> int:
        for i, param in enumerate(self.params):
            if param.name == name:
                return i
        raise read.SpecError(f'{self.name}: no parameter is called {name}')


def split_call(text: str) -> tuple[str, list[str]]:
    """`Name(a, b: kind)` as the name and the texts between the commas."""
    match = _CALL.match(' '.join(text.split()))
    if not match:
        raise read.SpecError(f'cannot read "{text}"')
    return match[1], [a.strip() for a in match[2].split(',') if a.strip()]


def split_param(text: str) -> tuple[str, str]:
    name, _, kind = (part.strip() for part in text.partition(':'))
    if kind and kind not in KINDS:
        raise read.SpecError(f'"{text}": no kind of parameter is called {kind}')
    return name, kind


def split_optional(name: str) -> tuple[str, bool]:
    """`bias?` as the name and whether the argument may be null."""
    return name.removesuffix('?'), name.endswith('?')


def read_form(op: Operator, text: str) -> Form:
    name, args = split_call(text)
    params = []
    for arg in args:
        who, kind = split_param(arg)
        names = who.split('=')
        indices = tuple(op.index(n) for n in names)
        kind = kind or op.params[indices[0]].kind
        is_out = any(op.params[i].is_out for i in indices)
        # A tensor that is written in place has that in its name.
        in_place = is_out and (len(names) > 1 or name.startswith('Inplace'))
        cname = ('self' if names[0] == 'out' else names[0]) + 'Ref' if in_place else names[0]
        optional = op.params[indices[0]].optional
        if any(op.params[i].optional != optional for i in indices):
            raise read.SpecError(f'{op.name}, form {name}: {who} is optional for one parameter and not for another')
        params.append(FormParam(indices, kind, cname, is_out, optional))
    return Form(name, tuple(params))


def literal(op: Operator, param: OpParam, text: str) -> Source:
    """A number that a door gives for a parameter."""
    try:
        value = {'true': 1.0, 'false': 0.0}[text] if KINDS[param.kind][2] == 'boolean' else float(text)
    except (KeyError, ValueError):
        raise read.SpecError(f'{op.name}.{param.name}: "{text}" is no port, attribute or number') from None
    whole = KINDS[param.kind][2] != 'real' and text.lstrip('-').isdigit()
    return Source('whole' if whole else 'real', 0, value)


def word_of(op: Operator, param: OpParam, door: GraphOp, given: dict) -> Source:
    """`{reduction: [none, mean, sum]}`: the place of the attribute's word."""
    (name, words), = given.items()
    at = next((i for i, a in enumerate(door.attributes) if a.name == name and a.kind == 'string'), None)
    if at is None or KINDS[param.kind][2] != 'integer':
        raise read.SpecError(f'{op.name}.{param.name}: words are those of an attribute, and stand for whole numbers')
    return Source('word', at, words=tuple(words))


def read_result(op: str, name: str, text: str) -> tuple[str, str]:
    """`Same(x) OfSelf(x)` or `Same(x) f32`"""
    match = _RESULT.match(' '.join(str(text).split()))
    if not match:
        raise read.SpecError(f'{op}.{name}: a result is a rule of its shape, and one of its type or the type')
    return match[1], match[2]


def results_of(op: Operator, door: GraphOp, ports: dict[str, str]) -> tuple[tuple[str, str], ...]:
    """Of each output of the node, what tells its shape and type."""
    rules = ({'out': (op.shape, op.dtype)} if op.shape and op.dtype else {}) | op.results
    outputs = [ports[port.name] for port in door.outputs]
    if set(outputs) - set(rules) or set(outputs) != {p.name for p in op.params if p.is_out}:
        raise read.SpecError(f'{op.name}: a door needs all results, and the rules of their shapes and types')
    return tuple(rules[name] for name in outputs)


def source_of(op: Operator, param: OpParam, door: GraphOp, ports: dict[str, str], given: dict) -> Source:
    """Where a parameter of the operator comes from in a node."""
    for way, rows in (('input', door.inputs), ('output', door.outputs)):
        for at, port in enumerate(rows):
            if ports[port.name] == param.name:
                return Source(way, at)
    what = given.get(param.name, param.name)
    if isinstance(what, dict):
        return word_of(op, param, door, what)
    text = str(what)
    text = text.lower() if text in ('True', 'False') else text
    for way, rows in (('attribute', door.attributes), ('input', door.inputs)):
        for at, what in enumerate(rows):
            if what.name != text:
                continue
            if way == 'attribute' and what.kind == 'float' and KINDS[param.kind][2] in ('integer', 'boolean'):
                raise read.SpecError(f'{op.name}.{param.name} is whole; attribute {text} is not')
            return Source(way, at)
    return literal(op, param, text)


def read_door(op: Operator, row: dict | str, of_file: dict, sets: dict) -> GraphOp:
    """`Erf(x=self) -> y=out`: what the node's ports are called, and which parameters they are."""
    row = {'op': row} if isinstance(row, str) else dict(row)
    ports = {}

    def named(match: re.Match) -> str:
        name, mark, param = match.groups()
        ports[name] = param
        return name + mark

    row['op'] = re.sub(r'(\w+)([?~]?)=(\w+)', named, row['op'])
    given, types = row.pop('args', {}), row.pop('types', None)
    family = row.pop('family', of_file.get('family', op.family))
    door = graph_model.read_op({'traits': of_file.get('traits', ())} | row | {'translate': 'RunDoor'}, family)
    unknown = {p for p in ports.values() if p != '_'} - {p.name for p in op.params}
    missing = {p.name for p in (*door.inputs, *door.outputs)} - set(ports)
    if unknown or missing or set(given) - {p.name for p in op.params}:
        raise read.SpecError(f'{op.name}, door {door.type}: what is {", ".join(sorted(unknown | missing | set(given)))}?')
    sources = tuple(source_of(op, p, door, ports, given) for p in op.params)
    door.door = Door(op, sources, tuple(sets[types]) if types else (), results_of(op, door, ports))
    return door


def part_of(row: dict, param: str) -> str:
    """How much of a tensor the kernel touches for certain, where that may be less than all."""
    if param in row.get('whole', '').split():
        return 'kWhole'
    if param in row.get('first', '').split():
        return 'kFirst'
    return 'kSome' if param in row.get('some', '').split() else 'kUnknown'


def read_operator(row: dict, family: str, content: dict) -> Operator:
    sets, ge = content['types'], content.get('ge', {})
    unknown = set(row) - _ROW_KEYS
    if unknown:
        raise read.SpecError(f'{row.get("op")}: unknown key {", ".join(sorted(unknown))}')
    name, texts = split_call(row['op'])
    types = row.get('types', {})
    types = types if isinstance(types, dict) else {'*': types}
    params = []
    for text in texts:
        who, kind = split_param(text)
        who, optional = split_optional(who)
        kind = kind or 'tensor'
        typed = KINDS[kind][2] in ('operand', 'operands', 'scalar', 'scalars')
        chosen = types.get(who, types.get('*'))
        params.append(OpParam(who, kind, tuple(sets[chosen]) if typed and chosen else (), optional,
                              who == row.get('weight'), who in row.get('tiles', '').split(),
                              who in row.get('images', '').split(), part_of(row, who)))
    op = Operator(name, params, family, f'aclnnop/{row.get("header")}.h', row.get('brief', ''),
                  str(row.get('page', '')), row.get('shape', ''), row.get('dtype', ''),
                  row.get('kernel', name), errors=row.get('errors', {}),
                  results={n: read_result(name, n, t) for n, t in row.get('results', {}).items()},
                  in_part=row.get('in_part', content.get('in_part', '')), max_workspace=row.get('max_workspace', False))
    if op.in_part not in ('', 'reads', 'all'):
        raise read.SpecError(f'{op.name}: in_part is reads or all, not {op.in_part}')
    named = f'{row.get("whole", "")} {row.get("some", "")}'.split()
    if unknown := set(named) - {param.name for param in params}:
        raise read.SpecError(f'{op.name}: whole and some name no parameters {sorted(unknown)}')
    if named and not op.in_part:
        raise read.SpecError(f'{op.name}: whole and some go with in_part')
    op.forms = [replace(read_form(op, text), prefix=row.get('prefix', 'aclnn')) for text in row.get('forms', [])]
    op.doors = [read_door(op, door, ge, sets) for door in row.get('ge', [])]
    return op


def read_operators(root: Path) -> list[Operator]:
    operators = []
    for path in sorted((root / 'ops').glob('*.yaml')):
        content = read.load(path)
        operators += [read_operator(r, path.stem, content) for r in content['ops']]
    return operators
