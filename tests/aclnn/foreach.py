"""Functions over lists of tensors, and steps of optimisers."""
from __future__ import annotations

import math

import numpy as np

from cases import Case, Table, Want
from reduce import wide
from values import DTYPES, Random, Scalar, Tensor, given

TABLE = Table('foreach')

UNARY = {'Sqrt': np.sqrt, 'Exp': np.exp, 'Log': np.log, 'Abs': np.abs, 'Neg': np.negative, 'Reciprocal': lambda x: 1 / x,
         'Sigmoid': lambda x: 1 / (1 + np.exp(-x)), 'Tanh': np.tanh, 'Sin': np.sin, 'Cos': np.cos, 'Sign': np.sign,
         'Copy': lambda x: x, 'Tan': np.tan, 'Asin': np.arcsin, 'Acos': np.arccos, 'Atan': np.arctan, 'Sinh': np.sinh,
         'Cosh': np.cosh, 'Erf': np.vectorize(math.erf, otypes='d'), 'Erfc': np.vectorize(math.erfc, otypes='d'),
         'Expm1': np.expm1, 'Log2': np.log2, 'Log10': np.log10, 'Log1p': np.log1p}
# Where they are defined, and well conditioned.
DOMAINS = {**dict.fromkeys(['Sqrt', 'Log', 'Reciprocal', 'Log2', 'Log10', 'Log1p'], (0.5, 4)),
           **dict.fromkeys(['Asin', 'Acos', 'Tan'], (-0.9, 0.9))}
BINARY = {'Add': np.add, 'Sub': np.subtract, 'Mul': np.multiply, 'Div': np.divide, 'Maximum': np.maximum,
          'Minimum': np.minimum}


def shapes(r: Random) -> list[tuple[int, ...]]:
    if r.chance(0.1):  # one that many cores share, and more bindings than are compared each with each
        return [(r.int(1, 9),)] * 20 + [(3, r.int(40000, 70000))]
    if r.chance(0.2):  # one tensor may lie where another one's result goes
        return [r.shape()] * r.int(2, 4)
    return [r.shape() for _ in range(r.int(1, 5))]


def drawn(r: Random, dtype: str, sizes, low: float = -4, high: float = 4) -> list[Tensor]:
    return [r.tensor(dtype, shape, low, high) for shape in sizes]


def outs(dtype: str, sizes) -> list[Tensor]:
    return [Tensor(dtype, shape) for shape in sizes]


def scalar_for(r: Random, dtype: str, low: int = 1) -> Scalar:
    if DTYPES[dtype].eps == 0:
        return Scalar(float(r.int(low, 5)), r.pick(['f32', 'f64', 'i64']))
    return Scalar(r.int(low * 2, 9) / 4, r.pick(['f32', 'f64']))


def wanted(values, dtype: str, scale=1.0, loose=1.0) -> list:
    if DTYPES[dtype].eps == 0:
        return [np.asarray(v).astype(DTYPES[dtype].logical) for v in values]
    return [Want(v, scale, loose=loose) for v in values]


@TABLE.case(' '.join(f'Foreach{name}' for name in UNARY))
def unary(r: Random, form) -> Case:
    dtype, sizes = r.pick(form.types['x']), shapes(r)
    name = form.name.removeprefix('Foreach')
    x = drawn(r, dtype, sizes, *DOMAINS.get(name, (-4, 4)))
    values = [t.data if name == 'Copy' else UNARY[name](wide(t.data)) for t in x]
    return Case([x, outs(dtype, sizes)], {1: values if name == 'Copy' else wanted(values, dtype, loose=2)})


@TABLE.case(' '.join(f'Foreach{name}ScalarV2' for name in BINARY))
def with_scalar(r: Random, form) -> Case:
    dtype, sizes = r.pick(form.types['x']), shapes(r)
    x, scalar = drawn(r, dtype, sizes), scalar_for(r, dtype)
    of = BINARY[form.name.removeprefix('Foreach').removesuffix('ScalarV2')]
    return Case([x, scalar, outs(dtype, sizes)], {2: wanted([of(wide(t.data), scalar.value) for t in x], dtype)})


def factor_for(r: Random, dtype: str, low: int = 1) -> Tensor:
    """A number in a tensor of one element, of the lists' type or FLOAT."""
    kind = r.pick([dtype, 'f32']) if DTYPES[dtype].eps else dtype
    value = r.int(low * 2, 9) / 4 if DTYPES[dtype].eps else r.int(low, 5)
    return given(np.full(r.pick([(), (1,), (1, 1)]), value), kind)


@TABLE.case(' '.join(f'Foreach{name}Scalar' for name in [*BINARY, 'Pow']))
def with_factor(r: Random, form) -> Case:
    dtype, sizes = r.pick(form.types['x']), shapes(r)
    name = form.name.removeprefix('Foreach').removesuffix('Scalar')
    x = drawn(r, dtype, sizes, *((0 if DTYPES[dtype].eps == 0 else 0.5, 4) if name == 'Pow' else (-4, 4)))
    factor, of = factor_for(r, dtype), {**BINARY, 'Pow': np.power}[name]
    values = [of(wide(t.data), wide(factor.data).reshape(())) for t in x]
    return Case([x, factor, outs(dtype, sizes)], {2: wanted(values, dtype, 100.0 if name == 'Pow' else 1.0)})


@TABLE.case('ForeachAddList ForeachSubList')
def scaled_by_factor(r: Random, form) -> Case:
    dtype, sizes = r.pick(form.types['x1']), shapes(r)
    x, y, alpha = drawn(r, dtype, sizes), drawn(r, dtype, sizes), factor_for(r, dtype, -2)
    sign = 1 if 'Add' in form.name else -1
    values = [wide(a.data) + sign * wide(alpha.data).reshape(()) * wide(b.data) for a, b in zip(x, y)]
    return Case([x, y, alpha, outs(dtype, sizes)], {3: wanted(values, dtype, 16.0)})


@TABLE.case('ForeachAddcmulScalar ForeachAddcdivScalar')
def fused_by_factor(r: Random, form) -> Case:
    dtype, sizes = r.pick(form.types['x1']), shapes(r)
    x, y, z, factor = drawn(r, dtype, sizes), drawn(r, dtype, sizes), drawn(r, dtype, sizes, 1, 4), factor_for(r, dtype, -2)
    of = np.multiply if 'mul' in form.name else np.divide
    values = [wide(a.data) + wide(factor.data).reshape(()) * of(wide(b.data), wide(c.data)) for a, b, c in zip(x, y, z)]
    return Case([x, y, z, factor, outs(dtype, sizes)], {4: wanted(values, dtype, 40.0)})


@TABLE.case(' '.join(f'Foreach{name}ScalarList' for name in BINARY))
def with_scalars(r: Random, form) -> Case:
    dtype, sizes = r.pick(form.types['x']), shapes(r)
    x = drawn(r, dtype, sizes)
    scalars = [scalar_for(r, dtype) for _ in x]
    of = BINARY[form.name.removeprefix('Foreach').removesuffix('ScalarList')]
    values = [of(wide(t.data), s.value) for t, s in zip(x, scalars)]
    return Case([x, scalars, outs(dtype, sizes)], {2: wanted(values, dtype)})


@TABLE.case('ForeachMulList ForeachDivList ForeachMaximumList ForeachMinimumList')
def lists(r: Random, form) -> Case:
    dtype, sizes = r.pick(form.types['x1']), shapes(r)
    x, y = drawn(r, dtype, sizes), drawn(r, dtype, sizes, 1, 4)
    of = BINARY[form.name.removeprefix('Foreach').removesuffix('List')]
    values = [of(wide(a.data), wide(b.data)) for a, b in zip(x, y)]
    return Case([x, y, outs(dtype, sizes)], {2: wanted(values, dtype)})


@TABLE.case('ForeachPowScalarV2 ForeachPowScalarList ForeachPowList ForeachPowScalarAndTensor')
def powers(r: Random, form) -> Case:
    dtype, sizes = r.pick(form.types['x1' if form.name == 'ForeachPowList' else 'x']), shapes(r)
    low = 0 if DTYPES[dtype].eps == 0 else 0.5  # whole numbers to powers that are none below 0
    bases = drawn(r, dtype, sizes, low, 4)
    if form.name == 'ForeachPowList':
        x, y = bases, drawn(r, dtype, sizes, 0, 3)
        pairs = [(wide(a.data), wide(b.data)) for a, b in zip(x, y)]
    elif form.name == 'ForeachPowScalarAndTensor':
        x, y = scalar_for(r, dtype), drawn(r, dtype, sizes, 0, 3)
        pairs = [(x.value, wide(b.data)) for b in y]
    else:
        x, y = bases, [scalar_for(r, dtype) for _ in sizes]
        y = y[0] if form.name == 'ForeachPowScalarV2' else y
        pairs = [(wide(a.data), (y if isinstance(y, Scalar) else y[i]).value) for i, a in enumerate(x)]
    return Case([x, y, outs(dtype, sizes)], {2: wanted([np.power(a, b) for a, b in pairs], dtype, 100.0)})


@TABLE.case('ForeachAddListV2 ForeachSubListV2')
def scaled(r: Random, form) -> Case:
    dtype, sizes = r.pick(form.types['x1']), shapes(r)
    x, y, alpha = drawn(r, dtype, sizes), drawn(r, dtype, sizes), scalar_for(r, dtype, -2)
    sign = 1 if 'Add' in form.name else -1
    values = [wide(a.data) + sign * alpha.value * wide(b.data) for a, b in zip(x, y)]
    return Case([x, y, alpha, outs(dtype, sizes)], {3: wanted(values, dtype, 16.0)})


@TABLE.case('ForeachAddcmulScalarV2 ForeachAddcdivScalarV2')
def fused(r: Random, form) -> Case:
    dtype, sizes = r.pick(form.types['x1']), shapes(r)
    x, y, z, scalar = drawn(r, dtype, sizes), drawn(r, dtype, sizes), drawn(r, dtype, sizes, 1, 4), scalar_for(r, dtype, -2)
    of = np.multiply if 'mul' in form.name else np.divide
    values = [wide(a.data) + scalar.value * of(wide(b.data), wide(c.data)) for a, b, c in zip(x, y, z)]
    return Case([x, y, z, scalar, outs(dtype, sizes)], {4: wanted(values, dtype, 40.0)})


@TABLE.case('ForeachAddcmulScalarList ForeachAddcdivScalarList')
def fused_of_tensor(r: Random, form) -> Case:
    dtype, sizes = r.pick(form.types['x1']), shapes(r)
    x, y, z = drawn(r, dtype, sizes), drawn(r, dtype, sizes), drawn(r, dtype, sizes, 1, 4)
    scalars = r.tensor(r.pick([dtype, 'f32']), (len(sizes),), -2, 2)
    of = np.multiply if 'mul' in form.name else np.divide
    values = [wide(a.data) + s * of(wide(b.data), wide(c.data)) for a, b, c, s in zip(x, y, z, wide(scalars.data))]
    return Case([x, y, z, scalars, outs(dtype, sizes)], {4: wanted(values, dtype, 40.0)})


@TABLE.case('ForeachRoundOffNumberV2')
def rounded(r: Random, form) -> Case:
    dtype, sizes = r.pick(form.types['x']), shapes(r)
    x = [given(np.rint(r.array(dtype, s) * 2) / 2, dtype) if r.chance(0.3) else r.tensor(dtype, s) for s in sizes]
    mode = r.pick([1, 2, 3, 5, 7])
    of = {1: np.rint, 2: np.floor, 3: np.ceil, 5: np.trunc, 7: lambda a: a - np.trunc(a)}[mode]
    values = [of(wide(t.data)) for t in x]
    return Case([x, Scalar(mode, r.pick(form.types['roundMode'])), outs(dtype, sizes)], {2: wanted(values, dtype, 0.1)})


@TABLE.case('ForeachLerpScalar ForeachLerpList')
def lerp(r: Random, form) -> Case:
    dtype, sizes = r.pick(form.types['x1']), shapes(r)
    x, y = drawn(r, dtype, sizes), drawn(r, dtype, sizes)
    weight = Scalar(r.int(0, 10) / 10, 'f64') if form.name == 'ForeachLerpScalar' else drawn(r, dtype, sizes, 0, 1)
    by = [weight.value] * len(x) if isinstance(weight, Scalar) else [wide(w.data) for w in weight]
    values = [wide(a.data) + w * (wide(b.data) - wide(a.data)) for a, b, w in zip(x, y, by)]
    return Case([x, y, weight, outs(dtype, sizes)], {3: wanted(values, dtype, 8.0)})


@TABLE.case('ForeachZeroInplace')
def zero(r: Random, form) -> Case:
    dtype, sizes = r.pick(form.types['out']), shapes(r)
    return Case([drawn(r, dtype, sizes)], {0: [np.zeros(s, DTYPES[dtype].logical) for s in sizes]})


@TABLE.case('ForeachNorm')
def norm(r: Random, form) -> Case:
    dtype, sizes, p = r.pick(form.types['x']), shapes(r), r.pick([1.0, 2.0, np.inf])
    x = drawn(r, dtype, sizes)
    values = []
    for t in x:
        size = np.abs(wide(t.data))
        values.append(np.max(size, initial=0) if p == np.inf else np.sum(size ** p) ** (1 / p))
    limit = np.finfo(np.float16).max if dtype == 'f16' else np.inf
    values = [np.inf if v > limit else v for v in values]
    results = [r.pick([(), (1,)]) for _ in x]
    return Case([x, Scalar(p, r.pick(['f32', 'f64'])), outs(dtype, results)],
                {2: [Want(np.reshape(v, s), 1.0) for v, s in zip(values, results)]})


@TABLE.case('ForeachNonFiniteCheckAndUnscale')
def unscale(r: Random, form) -> Case:
    dtype, sizes = r.pick(form.types['scaledGrads']), shapes(r)
    x, scale, before = drawn(r, dtype, sizes), Scalar(r.pick([0.5, 0.125, 3.0]), 'f32'), r.pick([0.0, 0.0, 1.0])
    bad, after = r.pick([None, np.inf, -np.inf, np.nan]), before
    for t in x:
        if bad is not None and t.data.size and r.chance(0.5):
            t.data = t.data.copy()
            t.data.reshape(-1)[r.int(0, t.data.size - 1)] = bad
            after = 1.0
    shape = r.pick([(), (1,)])
    with np.errstate(all='ignore'):
        values = [wide(t.data) * scale.value for t in x]
    return Case([x, given(np.full(shape, before), 'f32'), given(np.full(shape, scale.value), 'f32')],
                {0: [Want(v, 0.1) for v in values], 1: np.full(shape, after, np.float32)})


@TABLE.case('ApplyAdamW')
def adam_w_of_tensors(r: Random, form) -> Case:
    dtype, shape = r.pick(form.types['var']), r.shape()
    amsgrad, maximize, steps = r.chance(), r.chance(), r.int(0, 20)
    var, m, grad = [r.tensor(dtype, shape, -1, 1) for _ in range(3)]
    v, largest = r.tensor(dtype, shape, 0.1, 1), r.tensor(dtype, shape, 0.1, 1) if amsgrad else None
    numbers = [given(np.full(r.pick([(), (1,)]), n), dtype) for n in
               (0.9 ** steps, 0.75 ** steps, 0.125, 0.0625, 0.875, 0.75, 0.001)]
    power1, power2, rate, decay, beta1, beta2, eps = [float(n.data.reshape(-1)[0]) for n in numbers]
    g = -wide(grad.data) if maximize else wide(grad.data)
    mean, square = beta1 * wide(m.data) + (1 - beta1) * g, beta2 * wide(v.data) + (1 - beta2) * g * g
    top = np.maximum(wide(largest.data), square) if amsgrad else square
    root = np.sqrt(top / (1 - power2 * beta2)) + eps
    value = wide(var.data) * (1 - rate * decay) - rate * mean / (1 - power1 * beta1) / root
    wants = {0: Want(value, 10.0), 1: Want(mean, 1.0), 2: Want(square, 1.0)}
    if amsgrad:
        wants[11] = Want(top, 1.0)
    return Case([var, m, v, *numbers, grad, largest, amsgrad, maximize], wants)


@TABLE.case('ApplyAdamWV2')
def adam_w(r: Random, form) -> Case:
    dtype, shape = r.pick(form.types['var']), r.shape()
    amsgrad, maximize, steps = r.chance(), r.chance(), r.int(0, 20)
    var, m, grad = [r.tensor(dtype, shape, -1, 1) for _ in range(3)]
    v, largest = r.tensor(dtype, shape, 0.1, 1), r.tensor(dtype, shape, 0.1, 1) if amsgrad else None
    rate, beta1, beta2, decay, eps = [float(np.float32(n)) for n in (0.1, 0.9, 0.99, 0.01, 1e-6)]
    g = -wide(grad.data) if maximize else wide(grad.data)
    mean, square = beta1 * wide(m.data) + (1 - beta1) * g, beta2 * wide(v.data) + (1 - beta2) * g * g
    top = np.maximum(wide(largest.data), square) if amsgrad else square
    root = np.sqrt(top / (1 - beta2 ** (steps + 1))) + eps
    value = wide(var.data) * (1 - rate * decay) - rate * mean / (1 - beta1 ** (steps + 1)) / root
    wants = {0: Want(value, 10.0), 1: Want(mean, 1.0), 2: Want(square, 1.0)}
    if amsgrad:
        wants[3] = Want(top, 1.0)
    step = given(np.full(r.pick([(), (1,)]), steps), r.pick(form.types['step']))
    return Case([var, m, v, largest, grad, step, rate, beta1, beta2, decay, eps, amsgrad, maximize], wants)


@TABLE.case('AmpUpdateScale')
def update_scale(r: Random, form) -> Case:
    scale, steps, found = r.pick([1.0, 1024.0, 3e38]), r.int(0, 4), r.pick([0.0, 0.0, 1.0])
    interval, shape = r.int(1, 5), r.pick([(), (1,)])
    grows = not found and steps + 1 == interval
    value = scale * (0.5 if found else 2 if grows and scale < 1e38 else 1)
    count = 0 if found or grows else steps + 1
    x, tracker, inf = [given(np.full(shape, v), t) for v, t in ((scale, 'f32'), (steps, 'i32'), (found, 'f32'))]
    return Case([x, tracker, inf, 2.0, 0.5, interval, Tensor('f32', shape), Tensor('i32', shape)],
                {6: np.full(shape, value, np.float32), 7: np.full(shape, count, np.int32)})
