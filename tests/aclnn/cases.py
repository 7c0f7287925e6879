"""Cases: the table of functions, one call, and the comparison of what came with what was expected."""
from __future__ import annotations

import ctypes
import math
from dataclasses import dataclass, field, replace

import numpy as np

import binding
from values import DTYPES, NDHWC, NHWC, Bound, Layout, Scalar, Tensor, choose_layout, exact, packed


@dataclass
class Want:
    """What an output must hold; `scale` is the size of the terms that it was computed from."""
    value: np.ndarray
    scale: float | np.ndarray = 0.1
    computed: str = ''  # the type of the computation, where it is coarser than the output's
    loose: float = 1  # how many roundings the kernel may make
    other: np.ndarray | None = None  # whole numbers that will do as well: what was rounded lay between two
    told: bool = False  # the execution tells that the result has this shape; it lies at the front of its memory


@dataclass
class Case:
    """Arguments in the order of the C call, and the expectation by the position of each output."""
    arguments: list
    wants: dict[int, Want | np.ndarray]


@dataclass
class Row:
    name: str
    make: object  # (Random, Form) -> Case
    errors: frozenset = frozenset()  # documented errors that this function cannot have
    broadcasts: bool = False  # operands that do not broadcast are an error


@dataclass
class Table:
    family: str
    rows: dict[str, Row] = field(default_factory=dict)

    def add(self, names: str, make, without: str = '', **more):
        for name in names.split():
            assert name not in self.rows, name
            self.rows[name] = Row(name, make, frozenset(without.split()), **more)

    def case(self, names: str, without: str = '', **more):
        """Decorates the function that makes the cases of these functions."""
        def add(make):
            self.add(names, make, without, **more)
            return make
        return add


class Failure(Exception):
    pass


class Call:
    """The arguments of one call as handles, and their end."""

    def __init__(self, device: binding.Device, name: str, case: Case, rng, plain: bool = False):
        self.device, self.case, self.rng, self.plain = device, case, rng, plain
        self.tensors: dict[int, Bound] = {}
        self.lists: dict[int, list[Bound]] = {}
        self.handles: list[tuple[str, int]] = []
        signature = device.signatures[name]
        self.values = [self.convert(i, a, v) for i, (a, v) in
                       enumerate(zip(signature, case.arguments, strict=True))]

    def convert(self, place: int, argument: binding.Argument, value):
        if value is None or not argument.handle:
            return DTYPES[value].code if argument.type == 'aclDataType' else value
        if isinstance(value, Tensor):
            self.tensors[place] = self.bind(value, place)
            return self.tensors[place].handle
        if isinstance(value, Scalar):
            memory = np.array([value.value]).astype(DTYPES[value.dtype].numpy)
            return self.keep('Scalar', ctypes.c_void_p(memory.ctypes.data), DTYPES[value.dtype].code)
        if argument.type == 'aclScalarList':
            members = [self.device.create('Scalar', ctypes.c_void_p(m.ctypes.data), DTYPES[s.dtype].code)
                       for s in value for m in [np.array([s.value]).astype(DTYPES[s.dtype].numpy)]]
            handles = (ctypes.c_void_p * len(members))(*members)  # the list owns them
            return self.keep('ScalarList', handles, ctypes.c_uint64(len(members)))
        if argument.type == 'aclTensorList':
            bound = self.lists[place] = [self.bind(t, place) for t in value]
            handles = (ctypes.c_void_p * len(bound))(*[b.handle for b in bound])
            return self.keep('TensorList', handles, ctypes.c_uint64(len(bound)))
        items = {'aclIntArray': ctypes.c_int64, 'aclFloatArray': ctypes.c_float,
                 'aclBoolArray': ctypes.c_bool}[argument.type] * len(value)
        return self.keep(argument.type[3:], items(*value), ctypes.c_uint64(len(value)))

    def bind(self, tensor: Tensor, place: int) -> Bound:
        layout = Layout(packed(tensor.shape), 0, math.prod(tensor.shape))
        want = self.case.wants.get(place)
        if not self.plain and not tensor.dense and not (isinstance(want, Want) and want.told):
            written = tensor.data is None or place in self.case.wants
            layout = choose_layout(self.rng, tensor, written)
        return Bound(self.device, tensor, layout)

    def keep(self, kind: str, *arguments) -> int:
        self.handles.append((kind, self.device.create(kind, *arguments)))
        return self.handles[-1][1]

    def bound(self, place: int) -> list[Bound]:
        return self.lists[place] if place in self.lists else [self.tensors[place]]

    def destroy(self):
        for kind, handle in self.handles:
            self.device.destroy(kind, handle)
        for bound in self.tensors.values():
            bound.destroy()
        for bounds in self.lists.values():  # a list owns its tensors
            for bound in bounds:
                bound.destroy(with_handle=False)


def with_channels_last(case: Case, form) -> Case:
    """The same with its images as [n, h, w, c] or [n, d, h, w, c], which their format says."""
    arguments, wants = list(case.arguments), dict(case.wants)
    for place, (name, value) in enumerate(zip(form.arguments, case.arguments)):
        if name == 'inputSize' and form.name == 'UpsampleNearest2dBackward':  # its page has the sizes in this order, too
            arguments[place] = [value[0], *value[2:], value[1]]
        if name not in form.images or value is None or len(value.shape) not in (4, 5):
            continue
        shape = (value.shape[0], *value.shape[2:], value.shape[1])
        data = None if value.data is None else np.moveaxis(value.data, 1, -1)
        arguments[place] = replace(value, shape=shape, data=data, format=NHWC if len(shape) == 4 else NDHWC)
        if isinstance(want := wants.get(place), Want):
            scale = np.moveaxis(want.scale, 1, -1) if np.ndim(want.scale) else want.scale
            wants[place] = replace(want, value=np.moveaxis(want.value, 1, -1), scale=scale)
        elif want is not None:
            wants[place] = np.moveaxis(want, 1, -1)
    return Case(arguments, wants)


def compare(got: np.ndarray, want: Want, dtype: str):
    value = np.asarray(want.value)
    if got.shape != value.shape:
        raise AssertionError(f'the table expects the shape {value.shape} for {got.shape}')
    kinds = [DTYPES[dtype]] + ([DTYPES[want.computed]] if want.computed else [])
    with np.errstate(all='ignore'):
        if kinds[0].eps == 0:
            wrong = got != exact(value, dtype)
            if want.other is not None:
                wrong &= got != exact(want.other, dtype)
        else:
            eps = max(k.eps for k in kinds) * want.loose
            stored = exact(value, dtype)
            near = np.abs(got.astype(np.complex128) - value) <= eps * (np.abs(value) + want.scale)
            wrong = ~(near | (got == stored) | (np.isnan(got) & np.isnan(value)))
            # At the end of a type's range the next value is infinite.
            wrong &= ~(np.isinf(got) & (np.abs(value) > np.finfo(np.float16).max * 0.99) & (dtype == 'f16'))
    if wrong.any():
        where = tuple(int(i) for i in np.argwhere(wrong)[0])
        raise Failure(f'{int(wrong.sum())} of {wrong.size} elements differ; at {list(where)}: '
                      f'{got[where]!r}, expected {value[where]!r}')


def describe(name: str, case: Case, call: Call | None) -> str:
    def one(place, value):
        if isinstance(value, Tensor):
            bound = call and call.tensors.get(place)
            place_in = f' strides {bound.layout.strides}+{bound.layout.offset}' if bound else ''
            return f'{value.dtype}{list(value.shape)}{place_in}'
        if isinstance(value, Scalar):
            return f'{value.value}:{value.dtype}'
        if isinstance(value, list) and value and isinstance(value[0], Tensor):
            return '{' + ', '.join(one(-1, v) for v in value) + '}'
        return str(value)
    return f'aclnn{name}(' + ', '.join(one(i, v) for i, v in enumerate(case.arguments)) + ')'


def check(device: binding.Device, name: str, case: Case, rng):
    """One call with this case: no error, the expected values, and nothing else written."""
    call = Call(device, name, case, rng)
    try:
        code, size, executor = device.plan(name, call.values)
        if code != binding.OK:
            raise Failure(f'stage one gives {code}: {device.message()}')
        device.execute(name, size, executor)
        if device.message() is not None:
            raise Failure('an error message is left behind')
        for place in range(len(case.arguments)):
            if place not in call.tensors and place not in call.lists:
                continue
            for i, bound in enumerate(call.bound(place)):
                check_tensor(device, bound, case, place, i, device.signatures[name][place].name)
    except (Failure, RuntimeError, AssertionError) as failure:
        raise Failure(f'{describe(name, case, call)}\n    {failure}') from None
    finally:
        call.destroy()


def as_told(device: binding.Device, bound: Bound, got: np.ndarray, want: Want) -> np.ndarray:
    """A result of the shape that its execution has told."""
    if not want.told:
        return got
    shape = np.shape(want.value)
    if device.view_shape(bound.handle) != shape:
        raise Failure(f'aclGetViewShape says {device.view_shape(bound.handle)}, expected {shape}')
    return got.ravel()[:np.size(want.value)].reshape(shape)


def check_tensor(device: binding.Device, bound: Bound, case: Case, place: int, item: int, name: str):
    got, intact = bound.read()
    if not intact:
        raise Failure(f'{name}: memory around the tensor was written')
    if place in case.wants:
        want = case.wants[place]
        want = want[item] if isinstance(want, list) else want
        want = want if isinstance(want, Want) else Want(np.asarray(want))
        try:
            compare(as_told(device, bound, got, want), want, bound.tensor.dtype)
        except Failure as failure:
            raise Failure(f'{name}: {failure}') from None
    elif bound.tensor.data is not None and not np.array_equal(
            got, bound.tensor.data, equal_nan=bound.tensor.dtype[0] in 'fbc' and bound.tensor.dtype != 'bool'):
        raise Failure(f'{name}: an input was written')
