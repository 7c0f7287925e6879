"""Draws of ordinary operators in all their types, ranks to 7, older forms and rarer attributes (drawn.py)."""
from __future__ import annotations

import math

import numpy as np
from onnx import helper

from cases import BOOL, F16, F32, F64, I8, I32, I64, U8

I16, U16, U32, U64 = np.int16, np.uint16, np.uint32, np.uint64
FLOATS, SIGNED, UNSIGNED = (F32, F64, F16), (I8, I16, I32, I64), (U8, U16, U32, U64)
NUMBERS = (*FLOATS, *SIGNED, *UNSIGNED)
TYPES = (*NUMBERS, BOOL)
REDUCED = (*FLOATS, I32, I64)


def wide(d, low=10, high=17):
    """A shape of up to seven dimensions."""
    return d.shape(d.number(1, 8), low, high)


def loose(dtype):
    return 2e-2 if dtype == F16 else 1e-4


# What onnxruntime computes on processors.
ONE = {
    **dict.fromkeys(('Floor', 'Ceil', 'Round', 'Sqrt', 'Reciprocal', 'Exp', 'Log', 'Sin', 'Cos', 'Tanh', 'Sigmoid', 'Dropout',
                     'IsNaN', 'IsInf', 'Softmax', 'LogSoftmax'), FLOATS),
    **dict.fromkeys(('Tan', 'Asin', 'Acos', 'Atan', 'Sinh', 'Cosh', 'Asinh', 'Acosh', 'Atanh', 'Erf', 'Softsign', 'Softplus', 'Mish',
                     'Elu', 'Selu', 'HardSigmoid', 'HardSwish', 'LeakyRelu', 'ThresholdedRelu', 'Gelu'), (F32, F16)),
    **dict.fromkeys(('Sign', 'Abs'), NUMBERS), 'Shrink': (*FLOATS, I8, I16, I32, U8, U16, U32),
    **dict.fromkeys(('Identity', 'Flatten'), TYPES),
    'Neg': (*FLOATS, *SIGNED), 'BitwiseNot': (*SIGNED, *UNSIGNED), 'Not': (BOOL,), 'Celu': (F32,), 'Relu': (*FLOATS, I8, I32),
}


def settings_of(d, kind):
    """Attributes that a function has, drawn; half of the time none."""
    if d.chance(0.5):
        return {}
    slope = d.pick(0.1, 0.75, 2.0)
    return {'Elu': {'alpha': slope}, 'Celu': {'alpha': slope}, 'LeakyRelu': {'alpha': slope}, 'ThresholdedRelu': {'alpha': slope},
            'Selu': {'alpha': slope, 'gamma': 1.5}, 'HardSigmoid': {'alpha': 0.3, 'beta': slope},
            'Shrink': {'lambd': 1.0, 'bias': slope}, 'Gelu': {'approximate': 'tanh'},
            'IsInf': {'detect_negative': 0}}.get(kind, {})


def function(d):
    kind = d.pick(*ONE)
    dtype = d.pick(*ONE[kind])
    x = d.data(wide(d), dtype)
    if kind in ('Log', 'Sqrt', 'Acosh'):
        x = np.abs(x) + dtype(1.01 if kind == 'Acosh' else 0.01)
    elif kind in ('Asin', 'Acos', 'Atanh'):
        x = np.clip(x / 4, -1, 1) * dtype(0.95)
    elif kind in ('IsNaN', 'IsInf'):
        x[d.bits(*x.shape, share=0.1)], x[d.bits(*x.shape, share=0.1)], x[d.bits(*x.shape, share=0.1)] = np.inf, -np.inf, np.nan
    elif kind in ('Softmax', 'LogSoftmax'):
        opset = d.pick(11, 13)
        d.case(kind, [x], axis=d.number(-x.ndim if opset > 11 else 0, x.ndim), opset=opset, tolerance=loose(dtype))
        return
    d.case(kind, [x], opset=20 if kind == 'Gelu' or kind == 'IsInf' else 18, tolerance=loose(dtype), **settings_of(d, kind))


TWO = {
    **dict.fromkeys(('Add', 'Sub', 'Mul', 'Div', 'Mod', 'Less', 'Greater', 'LessOrEqual', 'GreaterOrEqual'), NUMBERS),
    **dict.fromkeys(('BitwiseAnd', 'BitwiseOr', 'BitwiseXor'), (*SIGNED, *UNSIGNED)),
    **dict.fromkeys(('And', 'Or', 'Xor'), (BOOL,)),
    'Equal': TYPES, 'Pow': REDUCED, 'BitShift': UNSIGNED,
}


def operands(d, dtype, share=0.3):
    shape = wide(d)
    first, second = d.narrowed(shape, share), d.narrowed(shape, share)
    cut = d.number(0, len(shape)) if d.chance(0.3) else 0
    pair = [d.data(first, dtype), d.data(second[cut:], dtype)]
    return pair[::-1] if d.chance(0.5) else pair


def pair(d):
    kind = d.pick(*TWO)
    dtype = d.pick(*TWO[kind])
    x, y = operands(d, dtype)
    options = {}
    if kind in ('Div', 'Mod'):
        y[y == 0] = 3
        if dtype in FLOATS:
            y = np.sign(y) * (np.abs(y) + dtype(1))
    if kind == 'Mod':
        options['fmod'] = 1 if dtype in FLOATS else d.pick(0, 1)
    elif kind == 'BitShift':
        y %= dtype(8)
        options['direction'] = d.pick('LEFT', 'RIGHT')
    elif kind == 'Pow':
        other = d.pick(*REDUCED[:2], I32, I64) if dtype != F16 else F16
        x, y = (np.abs(x) + dtype(1) if dtype in FLOATS else x % 5), np.abs(y % 4).astype(other)
    d.case(kind, [x, y], tolerance=max(loose(dtype), 1e-3), **options)


def several(d):
    """As many operands as one likes, of shapes that broadcast."""
    kind = d.pick('Max', 'Min', 'Mean', 'Sum')
    dtype = d.pick(*{'Mean': (F32,), 'Sum': (F32, F64)}.get(kind, (*FLOATS, I8, I32, I64, U8, U32, U64)))
    shape = wide(d)
    d.case(kind, [d.data(d.narrowed(shape, 0.3), dtype) for _ in range(d.number(1, 6))])


def where(d):
    dtype = d.pick(F32, F64, I32, I64, U8)
    x, y = operands(d, dtype)
    shape = np.broadcast_shapes(x.shape, y.shape)
    condition = d.bits(*d.narrowed(shape, 0.4))
    d.case('Where', [condition[0] if d.chance(0.3) else condition, x, y])


def clip(d):
    dtype = d.pick(F32, F64, I8, I32, I64, U8, U32, U64)
    limits = d.pick([None, dtype(40)], [dtype(1), None], [dtype(1), dtype(2)], [None, None])
    d.case('Clip', [d.data(wide(d), dtype), *limits], constants=d.pick([1, 2], []))


def cast(d):
    source, to = d.pick(*TYPES), d.pick(*TYPES)
    x = d.data(wide(d), source)
    if source in FLOATS and to in UNSIGNED:  # what a negative one becomes is not said
        x = np.abs(x)
    if d.chance(0.3):
        d.case('CastLike', [x, d.data((1,), to)])
    else:
        d.case('Cast', [x], note=f'to {to.__name__}', to=helper.np_dtype_to_tensor_dtype(np.dtype(to)))


def reduce(d):
    kind = d.pick('Sum', 'Max', 'Min', 'Mean', 'Prod', 'L1', 'L2', 'SumSquare', 'LogSum', 'LogSumExp')
    dtype = d.pick(*((*REDUCED, I8, U8) if kind in ('Max', 'Min') else REDUCED))
    if kind in ('Mean', 'L2', 'LogSum', 'LogSumExp') and dtype in (I32, I64):
        dtype = F64
    shape = wide(d)
    x = d.data(shape, dtype)
    if kind in ('LogSum', 'Prod'):
        x = np.abs(x) * dtype(0.01) + dtype(1) if dtype in FLOATS else np.sign(x)
    options = {'keepdims': d.pick(0, 1), 'tolerance': 2e-2}
    axes = sorted({d.number(0, len(shape)) for _ in range(d.number(1, len(shape) + 1))})
    axes = [a - len(shape) if d.chance(0.3) else a for a in axes]
    form = d.pick('older', 'newer', 'newer', 'all', 'none')
    if form == 'older' and dtype not in (I8, U8):
        d.case(f'Reduce{kind}', [x], axes=axes, opset=11, **options)
    elif form in ('older', 'newer'):
        d.case(f'Reduce{kind}', [x, axes], constants=[1], **options)
    elif form == 'all':
        d.case(f'Reduce{kind}', [x], **options)
    elif kind in ('LogSum', 'SumSquare', 'L1', 'L2', 'LogSumExp'):  # whether these have an effect then is not said alike
        d.case(f'Reduce{kind}', [x], opset=13, **options)
    else:
        d.case(f'Reduce{kind}', [x], noop_with_empty_axes=1, **options)


def places(d):
    """Extremes among few values, so that many are equal."""
    dtype = d.pick(*FLOATS, I8, I32, I64, U8)
    shape = wide(d)
    x = (d.data(shape, dtype) % 8).astype(dtype)
    d.case(d.pick('ArgMax', 'ArgMin'), [np.floor(x).astype(dtype)], axis=d.number(-len(shape), len(shape)), keepdims=d.pick(0, 1),
           select_last_index=d.pick(0, 1), opset=13)


def top(d):
    dtype = d.pick(F32, F64, I32, I64, F16)
    shape = wide(d)
    x = np.floor(d.data(shape, dtype) % dtype(d.pick(8, 90))).astype(dtype)
    axis = d.number(-len(shape), len(shape))
    k = max(1, int(shape[axis] * d.pick(0.05, 0.3, 1)))
    d.case('TopK', [x, [k]], constants=[1], axis=axis, outputs=2, largest=d.pick(0, 1))


def running_sum(d):
    shape, dtype = wide(d), d.pick(F32, F64, I32, I64)
    axis = d.pick(I32, I64)(d.number(-len(shape), len(shape)))
    d.case('CumSum', [d.data(shape, dtype), axis], constants=[1], tolerance=1e-2, exclusive=d.pick(0, 1), reverse=d.pick(0, 1))


def transpose(d):
    shape = d.shape(d.number(2, 9), 10, 17)
    d.case('Transpose', [d.data(shape, d.pick(*TYPES))], perm=d.rng.permutation(len(shape)).tolist())


def concat(d):
    dtype, shape = d.pick(*TYPES), wide(d)
    axis = d.number(-len(shape), len(shape))
    at = axis % len(shape)
    lengths = [d.number(1, shape[at] + 2) for _ in range(d.number(1, 7))]
    d.case('Concat', [d.data((*shape[:at], n, *shape[at + 1:]), dtype) for n in lengths], axis=axis)


def split(d):
    dtype, shape = d.pick(*TYPES), wide(d)
    axis = d.number(-len(shape), len(shape))
    places_of = sorted(d.number(1, shape[axis] + 1) for _ in range(d.number(0, 4)))
    sizes = [n for n in np.diff([0, *places_of, shape[axis]]).tolist() if n]
    x = d.data(shape, dtype)
    if d.chance(0.3):
        d.case('Split', [x], axis=axis, outputs=len(sizes), split=sizes, opset=11)
    else:
        d.case('Split', [x, sizes], constants=[1], axis=axis, outputs=len(sizes))


def cut(d):
    """Places from behind, ends far outside and steps backward."""
    dtype, shape = d.pick(*TYPES), wide(d)
    axes = sorted({d.number(0, len(shape)) for _ in range(d.number(1, 4))})
    starts, ends, steps = [], [], []
    for axis in axes:
        n = shape[axis]
        step = d.pick(1, 1, 2, 3, -1, -2)
        begin, end = sorted((d.number(0, n), d.number(0, n) + 1))
        begin, end = (begin, max(end, begin + 1)) if step > 0 else (max(end - 1, begin), begin - 1)
        starts.append(begin - n if d.chance(0.3) else begin)
        ends.append((2 ** 31 if step > 0 else -2 ** 31) if d.chance(0.2) or end < 0 else end)
        steps.append(step)
    if all(step == 1 for step in steps) and d.chance(0.5):
        d.case('Slice', [d.data(shape, dtype)], starts=starts, ends=ends, axes=axes, opset=9)
    else:
        axes = [a - len(shape) if d.chance(0.3) else a for a in axes]
        d.case('Slice', [d.data(shape, dtype), starts, ends, axes, steps], constants=d.pick([1, 2, 3, 4], [1, 2, 3, 4], []))


def pad(d):
    dtype = d.pick(F32, F64, F16, I8, U8, I32, I64, U32, U64, BOOL)
    shape = wide(d)
    axes = sorted({d.number(0, len(shape)) for _ in range(d.number(1, len(shape) + 1))})
    mode = d.pick('constant', 'constant', 'reflect', 'edge', 'wrap')
    low = -1 if mode == 'constant' else 0
    pads = [max(low, min(d.number(low, 5), shape[a] - 1)) if shape[a] > 2 else 0 for a in axes * 2]
    value = [dtype(1)] if mode == 'constant' and d.chance(0.6) else [None]
    inputs = [d.data(shape, dtype), pads, *value]
    if d.chance(0.5):
        inputs[1] = np.zeros(2 * len(shape), I64)
        inputs[1][[*axes, *(a + len(shape) for a in axes)]] = pads
        d.case('Pad', inputs, constants=[1, 2], mode=mode, opset=19)
    else:
        d.case('Pad', [*inputs, axes], constants=[1, 2, 3], mode=mode, opset=19)


def repeat(d):
    dtype = d.pick(F32, F64, F16, I8, U8, I32, I64, U32, U64, BOOL)
    if d.chance(0.5):
        shape = wide(d, high=14)
        d.case('Tile', [d.data(shape, dtype), [d.pick(1, 1, 2, 3) for _ in shape]], constants=[1])
        return
    shape = wide(d)
    x = d.data(d.narrowed(shape, 0.5), dtype)
    cut_at = d.number(0, len(shape)) if d.chance(0.3) else 0
    asked = [1 if x.shape[i] == n and d.chance(0.2) else n for i, n in enumerate(shape)]  # a one keeps what is there
    d.case('Expand', [x, asked[cut_at:] if all(n == m for n, m in zip(x.shape, shape[:cut_at])) else asked], constants=[1])


def triangle(d):
    shape = d.shape(d.number(2, 6), 10, 17)
    reach = max(shape[-2:]) + 2
    d.case('Trilu', [d.data(shape, d.pick(F32, F64, F16, I32, I64, BOOL)), np.int64(d.number(-reach, reach))], constants=[1],
           upper=d.pick(0, 1))


def ones(d):
    if d.chance(0.4):
        dtype = d.pick(F32, F64, I32, I64)
        d.case('EyeLike', [d.data(d.shape(2, 8, 16), dtype)], k=d.number(-9, 10))
        return
    depth, shape = d.pick(5, 32, 100), d.shape(d.number(1, 5), 6, 11)
    indices, values = d.pick((I64, F32), (I64, I64), (F32, I64))
    rows = d.ints(-depth - 3, depth + 3, *shape).astype(indices)
    d.case('OneHot', [rows, np.int64(depth), np.array([-2, 3], values)], constants=[1, 2], axis=d.number(-len(shape) - 1, len(shape) + 1))


def from_behind(d, size, *shape, dtype=I64):
    """Places along an axis, some counted from its end."""
    return d.ints(-size if d.chance(0.5) else 0, size, *shape, dtype=dtype)


def gather(d):
    shape, dtype = wide(d), d.pick(*TYPES)
    axis = d.number(-len(shape), len(shape))
    rows = from_behind(d, shape[axis], *d.shape(d.number(1, 3), 0, 6), dtype=d.pick(I64, I32))
    d.case('Gather', [d.data(shape, dtype), rows if d.chance(0.8) else rows.flat[0]], axis=axis, constants=d.pick([], [1]))


def gather_elements(d):
    shape, dtype = wide(d), d.pick(*TYPES)
    axis = d.number(-len(shape), len(shape))
    rows = tuple(max(1, int(n * d.rng.uniform(0.4, 1))) for n in shape)
    d.case('GatherElements', [d.data(shape, dtype), from_behind(d, shape[axis], *rows, dtype=d.pick(I64, I32))], axis=axis)


def gather_blocks(d):
    shape, dtype = d.shape(d.number(2, 8), 10, 17), d.pick(*TYPES)
    batch = d.number(0, len(shape) - 1) if d.chance(0.5) else 0
    depth = d.number(1, len(shape) - batch + 1)
    middle = d.shape(d.number(1, 3), 0, 7)
    rows = np.stack([from_behind(d, n, *shape[:batch], *middle) for n in shape[batch:batch + depth]], -1)
    while rows[..., 0].size * math.prod(shape[batch + depth:]) > 1 << 19:
        rows = rows[(slice(None),) * batch + (slice(0, rows.shape[batch] // 2),)]
    d.case('GatherND', [d.data(shape, dtype), rows], batch_dims=batch)


def scatter_elements(d):
    """Several to one place where that is no question of order."""
    shape, reduction = wide(d), d.pick('none', 'add', 'mul', 'max', 'min')
    dtype = d.pick(*TYPES) if reduction == 'none' else d.pick(F32, F64, I32, I64)
    axis = d.number(-len(shape), len(shape))
    rows = tuple(max(1, int(n * d.rng.uniform(0.4, 1))) for n in shape)
    where_to = np.argsort(d.rng.random(rows), axis) if reduction in ('none', 'mul') else from_behind(d, rows[axis], *rows)
    where_to = where_to.astype(d.pick(I64, I32))
    d.case('ScatterElements', [d.data(shape, dtype), where_to, d.data(rows, dtype)], axis=axis, reduction=reduction, tolerance=1e-3)


def scatter_blocks(d):
    shape, reduction = d.shape(d.number(1, 7), 10, 17), d.pick('none', 'add', 'mul', 'max', 'min')
    dtype = d.pick(*TYPES) if reduction == 'none' else d.pick(F32, F64, I32, I64)
    depth = d.number(1, len(shape) + 1)
    total = math.prod(shape[:depth])
    count = max(1, total // 2)
    flat = d.rng.permutation(total)[:count] if reduction in ('none', 'mul') else d.rng.integers(0, total, count)
    rows = np.stack(np.unravel_index(flat, shape[:depth]), -1).astype(I64)
    if d.chance(0.3):
        rows -= np.array(shape[:depth])
    d.case('ScatterND', [d.data(shape, dtype), rows, d.data((count, *shape[depth:]), dtype)], reduction=reduction, tolerance=1e-3)


def choose(d):
    shape = wide(d)
    if d.chance(0.4):
        x = d.data(shape, d.pick(*TYPES))
        if d.chance(0.5):
            d.case('Compress', [x, d.bits(x.size if d.chance(0.5) else x.size // 2 + 1)])
        else:
            axis = d.number(-len(shape), len(shape))
            d.case('Compress', [x, d.bits(shape[axis])], axis=axis)
    else:
        x = d.data(shape, d.pick(F32, U8, I32, I64, BOOL))
        d.case('NonZero', [(x * d.bits(*shape, share=0.3)).astype(x.dtype)])


def unique(d):
    """Of numbers, or of slices along an axis."""
    dtype = d.pick(F32, F64, I8, I64)
    options = {'outputs': d.pick(1, 2, 4), 'sorted': d.pick(0, 1), 'opset': 11}
    if d.chance(0.5):
        shape = d.shape(d.number(1, 4), 5, 14)
        d.case('Unique', [np.floor(d.data(shape, dtype) % 90).astype(dtype)], **options)
        return
    shape = d.shape(d.number(2, 4), 5, 11)
    axis = d.number(-len(shape), len(shape))
    x = np.take(d.data(shape, dtype), d.ints(0, max(1, shape[axis] // 2), shape[axis]), axis)
    d.case('Unique', [x], axis=axis, **options)


def reversed_rows(d):
    shape = d.shape(d.number(2, 5), 10, 17)
    batch = d.pick(0, 1)
    lengths = d.ints(0, shape[1 - batch] + 1, shape[batch])
    d.case('ReverseSequence', [d.data(shape, d.pick(F32, F64, F16, I64, U8, BOOL)), lengths], time_axis=1 - batch, batch_axis=batch)


def reshape(d):
    shape, dtype = d.shape(d.number(2, 7), 10, 17), d.pick(*TYPES)
    x = d.data(shape, dtype)
    kind = d.pick('Reshape', 'Squeeze', 'Unsqueeze', 'Flatten', 'Size', 'Shape')
    if kind == 'Reshape':
        d.case(kind, [x, d.pick([0, -1], [-1], [0, 0, -1] if len(shape) > 2 else [1, -1])], constants=[1])
    elif kind == 'Squeeze':
        x = np.expand_dims(x, d.number(0, x.ndim))
        axes = [i for i, n in enumerate(x.shape) if n == 1]
        d.case(kind, [x, axes] if d.chance(0.6) else [x], constants=[1])
    elif kind == 'Unsqueeze':
        d.case(kind, [x, d.pick([0], [-1], [0, -1], [1, 2])], constants=[1])
    elif kind == 'Flatten':
        d.case(kind, [x], axis=d.number(-x.ndim, x.ndim + 1))
    else:
        d.case(kind, [x], opset=15, **({'start': d.number(-x.ndim, x.ndim)} if kind == 'Shape' else {}))


def numbers(d):
    dtype = d.pick(F32, F64, I32, I64)
    n, step = d.power(1, 14), d.pick(1, -1, 3, -2)
    first = d.number(-50, 50)
    d.case('Range', [dtype(first), dtype(first + n * step), dtype(step)], constants=d.pick([0, 1, 2], []))


def crop_or_pad(d):
    shape = d.shape(d.number(1, 5), 8, 15)
    axes = sorted({d.number(0, len(shape)) for _ in range(d.number(1, len(shape) + 1))})
    asked = [max(1, int(shape[a] * d.rng.uniform(0.3, 2))) for a in axes]
    d.case('CenterCropPad', [d.data(shape, d.pick(F32, I64, U8)), asked], constants=[1], axes=axes)


CLASSES = {
    'types': (8, (function, function, pair, pair, pair, several, where, clip, cast, cast)),
    'folds': (4, (reduce, reduce, places, top, running_sum)),
    'moves': (8, (transpose, concat, split, cut, cut, pad, pad, repeat, triangle, ones, reversed_rows, reshape, numbers,
                  crop_or_pad)),
    'places': (5, (gather, gather_elements, gather_blocks, scatter_elements, scatter_blocks, choose, unique)),
}
