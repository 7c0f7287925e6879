"""The operators of graphs that are those of aclnn under another name: the cases of the functions, as single operators."""
from __future__ import annotations

import ctypes
import os
from pathlib import Path

import numpy as np

import binding
import cases
import forms
from values import DTYPES, ND, Random, Scalar, Tensor, from_memory, to_memory

import ops_model

TRIES = 200  # draws for one case: few have the types and numbers that a node may have
_SETTERS = {'float': ('Float', ctypes.c_float), 'int': ('Int', ctypes.c_int64), 'bool': ('Bool', ctypes.c_uint8),
            'type': ('DataType', ctypes.c_int), 'string': ('String', ctypes.c_char_p), 'ints': ('ListInt', None)}


_SCALE, _ALPHA, _VALUE = 1.0507009873554805, 1.6732632423543772, 2.5


def with_diagonal(matrix: np.ndarray, value: float) -> np.ndarray:
    filled = np.array(matrix)
    np.fill_diagonal(filled, value)
    return filled


# Nodes of which no function of aclnn has a case: of what they are, with the attributes' defaults, or these.
ATTRIBUTES = {'FillDiagonal': [('fill_value', 'float', _VALUE)]}
FORMULAS = {
    'Sub': lambda a, b: a - b,
    'LogAddExp': np.logaddexp,
    'FillDiagonal': lambda x: with_diagonal(x, _VALUE),
    'Softplus': lambda x: np.log1p(np.exp(x)),
    'HardSigmoid': lambda x: np.clip(x / 6 + 0.5, 0, 1),
    'Selu': lambda x: _SCALE * np.where(x > 0, x, _ALPHA * np.expm1(x)),
    'Shrink': lambda x: np.where(np.abs(x) > 0.5, x, 0),
    'Relu6': lambda x: np.clip(x, 0, 6),
    'SquaredDifference': lambda a, b: (a - b) ** 2,
    'TruncateDiv': lambda a, b: np.trunc(a / b),
    'LeftShift': lambda a, b: a << b,
    'RightShift': lambda a, b: a >> b,
    'Square': lambda x: x * x,
    'Softsign': lambda x: x / (1 + np.abs(x)),
    'IsNan': np.isnan,
    'IsInf': np.isinf,
}


class SingleOperators:
    """aclopCompileAndExecute on a device."""

    def __init__(self, device: binding.Device):
        self._device = device
        lib64 = Path(os.environ['BELAY_LIB64'])
        self._acl = ctypes.CDLL(str(lib64 / 'libascendcl.so'))
        self._compiler = ctypes.CDLL(str(lib64 / 'libacl_op_compiler.so'))
        for name in ('aclCreateTensorDesc', 'aclCreateDataBuffer', 'aclopCreateAttr'):
            getattr(self._acl, name).restype = ctypes.c_void_p

    def run(self, kind: str, inputs: list[Tensor | None], outs: list[Tensor], attributes: list) -> list[np.ndarray]:
        """The results; raises RuntimeError with the message where the call is refused."""
        tensors = [self._bind(t) for t in (*inputs, *outs)]
        attr = ctypes.c_void_p(self._acl.aclopCreateAttr())
        for name, how, value in attributes:
            setter, ctype = _SETTERS[how]
            call = getattr(self._acl, f'aclopSetAttr{setter}')
            if how == 'ints':
                call(attr, name.encode(), ctypes.c_int(len(value)), (ctypes.c_int64 * len(value))(*value))
            else:
                call(attr, name.encode(), ctype(value))
        descs, buffers = ([ctypes.c_void_p(t[i]) for t in tensors] for i in (0, 1))
        given = [(count, (ctypes.c_void_p * count)(*descs[at:at + count]), (ctypes.c_void_p * count)(*buffers[at:at + count]))
                 for at, count in ((0, len(inputs)), (len(inputs), len(outs)))]
        code = self._compiler.aclopCompileAndExecute(kind.encode(), *given[0], *given[1], attr, 0, 0, None,
                                                     self._device.stream)
        code = code or self._acl.aclrtSynchronizeStream(self._device.stream)
        results = [self._read(out, address) for out, (_, _, address) in zip(outs, tensors[len(inputs):])]
        self._acl.aclopDestroyAttr(attr)
        for desc, buffer, address in tensors:
            self._acl.aclDestroyTensorDesc(ctypes.c_void_p(desc))
            self._acl.aclDestroyDataBuffer(ctypes.c_void_p(buffer))
            self._device.free(address)
        if code != binding.OK:
            raise RuntimeError(f'{code}: {self._device.message()}')
        return results

    def _read(self, out: Tensor, address: int) -> np.ndarray:
        memory = np.empty(max(int(np.prod(out.shape, dtype=np.int64)), 1), DTYPES[out.dtype].numpy)
        self._device.copy(memory.ctypes.data, address, memory.nbytes, binding.DEVICE_TO_HOST)
        count = int(np.prod(out.shape, dtype=np.int64))
        return from_memory(memory[:count].reshape(out.shape), out.dtype)

    def _bind(self, tensor: Tensor) -> tuple[int, int, int]:
        """The description, the buffer, and its memory."""
        count = max(int(np.prod(tensor.shape, dtype=np.int64)), 1)
        size = count * np.dtype(DTYPES[tensor.dtype].numpy).itemsize
        address = self._device.malloc(size)
        if tensor.data is not None:
            memory = np.ascontiguousarray(to_memory(tensor.data, tensor.dtype))
            self._device.copy(address, memory.ctypes.data, memory.nbytes, binding.HOST_TO_DEVICE)
        dims = (ctypes.c_int64 * max(len(tensor.shape), 1))(*tensor.shape)
        desc = self._acl.aclCreateTensorDesc(DTYPES[tensor.dtype].code, len(tensor.shape), dims, ND)
        return desc, self._acl.aclCreateDataBuffer(ctypes.c_void_p(address), ctypes.c_size_t(size)), address


def form_of(op, door, tables: dict):
    """A function through which every parameter of the operator is given as the node gives it, and its row."""
    for form in op.forms:
        row = tables.get(form.name)
        if not row or [len(p.indices) for p in form.params] != [1] * len(op.params):
            continue
        tensors = {p.indices[0] for p in form.params if p.kind in ('tensor', 'operand', 'out')}
        ports = {i for i, s in enumerate(door.door.sources) if s.way in ('input', 'output')}
        if tensors == {i for i in ports if op.params[i].kind != 'ints'}:
            return form, row
    return None, None


def natural(rule: str, arguments: dict) -> str | None:
    """The type that a result has by itself; None where the operands' types differ."""
    if not rule.endswith(')'):
        return rule
    rule, names = ops_model.split_call(rule)
    if rule == 'OfSelf':
        return arguments[names[0]].dtype
    if rule in ('CommonOrSingle', 'PlaceOf'):
        types = {arguments[name].dtype for name in names}
        if rule == 'PlaceOf':
            return 'i64' if 'i64' in types else 'i32'
        return types.pop() if len(types) == 1 else 'f32'
    if rule == 'Wanted':
        return arguments['dtype']
    if rule == 'Truth':
        return 'bool'
    types = {a.dtype for n, a in arguments.items() if isinstance(a, Tensor) and n not in ('out', 'condition')}
    return types.pop() if len(types) == 1 else None


def node_of(op, door, arguments: dict):
    """The node's inputs and attributes for these arguments; None where no node has them."""
    inputs, attributes = [None] * len(door.inputs), []
    for param, source in zip(op.params, door.door.sources):
        value = arguments[param.name]
        if source.way == 'input' and isinstance(value, list):
            inputs[source.index] = Tensor('i64', (len(value),), np.array(value, np.int64))
        elif source.way == 'input':
            if value is None and param.optional:
                continue
            allowed = door.door.types or param.types
            if not isinstance(value, Tensor) or value.dtype not in allowed:
                return None
            inputs[source.index] = value
        elif source.way == 'word':
            attribute = door.attributes[source.index]
            attributes.append((attribute.name, attribute.kind, source.words[value].encode()))
        elif source.way == 'attribute':
            attribute = door.attributes[source.index]
            plain = value.value if isinstance(value, Scalar) else DTYPES[value].code if isinstance(value, str) else value
            attributes.append((attribute.name, attribute.kind, plain))
        elif source.way != 'output':
            given = value.value if isinstance(value, Scalar) else value
            if isinstance(value, Tensor) or given is None or float(given) != source.number:
                return None
    same = {t.dtype for t in inputs if t is not None and t.dtype != 'bool'}
    needed = [i for i, port in zip(inputs, door.inputs) if port.kind != 'optional' or i is not None]
    fits = len(same) <= 1 or op.results  # these say which types differ
    return (needed, attributes) if fits and None not in needed else None


def draw(op, door, form, row, known, rng):
    for _ in range(TRIES):
        case = row.make(Random(rng, empty=0), known[form.name])
        arguments = {op.params[p.indices[0]].name: a for p, a in zip(form.params, case.arguments, strict=True)}
        results = sorted((s.index, p.name) for p, s in zip(op.params, door.door.sources) if s.way == 'output')
        names = [name for _, name in results]
        outs = [arguments[name] for name in names]
        node = node_of(op, door, arguments)
        if node and all(out and out.dtype == natural(rule, arguments) for out, (_, rule) in zip(outs, door.door.results)):
            place = {op.params[p.indices[0]].name: i for i, p in enumerate(form.params)}
            return *node, outs, [case.wants[place[name]] for name in names]
    return None


def draw_formula(op, door, rng):
    """A case of FORMULAS: floats and what is none, or for shifts whole numbers."""
    r = Random(rng, empty=0)
    shape = r.full(2, 2) if door.type == 'FillDiagonal' else r.shape(low=1)
    if 'f32' in op.params[0].types:
        inputs = [r.tensor('f32', shape, -9, 9) for _ in door.inputs]
        if op.dtype.startswith('Truth'):
            inputs[0].data = np.where(rng.random(shape) < 0.3, rng.choice([np.nan, np.inf, -np.inf], shape), inputs[0].data)
    else:
        inputs = [r.tensor('i32', shape, 0, 900), r.tensor('i32', r.part(shape), 0, 12)]
    with np.errstate(all='ignore'):
        data = [t.data.astype(np.float64) if t.dtype == 'f32' else t.data for t in inputs]
        value = np.asarray(FORMULAS[door.type](*data))
    dtype = 'bool' if op.dtype.startswith('Truth') else inputs[0].dtype
    return inputs, ATTRIBUTES.get(door.type, []), [Tensor(dtype, value.shape)], [cases.Want(value)]


def check(device: binding.Device, tables: dict, generator, times: int) -> tuple[list[str], int, list[str]]:
    """Failures, how many nodes ran, and the doors for which no case was found."""
    single, known = SingleOperators(device), forms.read_forms()
    failures, ran, without = [], 0, []
    for op in ops_model.read_operators(Path(os.environ['BELAY_SPEC'])):
        for door in op.doors:
            form, row = form_of(op, door, tables)
            for number in range(times):
                rng = generator(door.type, number)
                drawn = draw(op, door, form, row, known, rng) if row else None
                if drawn is None and door.type in FORMULAS:
                    drawn = draw_formula(op, door, rng)
                if drawn is None:
                    without.append(door.type)
                    break
                inputs, attributes, outs, wants = drawn
                ran += 1
                try:
                    for got, want, out in zip(single.run(door.type, inputs, outs, attributes), wants, outs):
                        want = want if isinstance(want, cases.Want) else cases.Want(np.asarray(want))
                        cases.compare(got, want, out.dtype)
                except (cases.Failure, RuntimeError, AssertionError) as failure:
                    shapes = [f'{t.dtype}{list(t.shape)}' for t in inputs]
                    failures.append(f'{door.type}({", ".join(shapes)}, {attributes}) -> {[o.dtype for o in outs]}: {failure}')
    return failures, ran, without
