"""Operators that nobody chose: `drawn_cases` draws kinds, types, shapes and attributes at random, as models of one node.

Each draw has a generator of its own, made of the seed, the round, the class and the turn, so a seed gives the same cases under
the same names, however many rounds there are. A name tells all that was drawn. Drawn is only what onnxruntime runs.
"""
from __future__ import annotations

import math

import numpy as np
from onnx import helper

import drawn_bodies
import drawn_layers as layers
import drawn_rare
import drawn_types
from cases import BOOL, F16, F32, F64, I8, I32, I64, U8
from dice import Draw


def reduce(d):
    kind = d.pick('Sum', 'Sum', 'Max', 'Max', 'Min', 'Mean', 'Mean', 'Prod', 'L1', 'L2', 'SumSquare', 'LogSumExp')
    shape = d.shape()
    axes = sorted({d.number(0, len(shape)) for _ in range(d.number(1, len(shape) + 1))})
    x = d.data(shape, d.pick(F32, F32, F32, I32, I64) if kind in ('Sum', 'Max', 'Min') else F32)
    if kind == 'Prod':
        x = (1 + 0.01 * x).astype(F32)
    d.case(f'Reduce{kind}', [x, axes], constants=[1], keepdims=d.pick(0, 1), tolerance=1e-2)


def along(d):
    """One axis: places, shares and norms."""
    kind = d.pick('ArgMax', 'ArgMin', 'Softmax', 'LogSoftmax', 'Hardmax', 'LpNormalization')
    shape = d.shape()
    options = {'p': 2, 'tolerance': 1e-3} if kind == 'LpNormalization' else {}
    d.case(kind, [d.normal(*shape)], axis=d.number(0, len(shape)), **options)


def running_sum(d):
    shape = d.shape()
    axis = np.int64(d.number(0, len(shape)))
    d.case('CumSum', [d.normal(*shape), axis], constants=[1], tolerance=1e-2, exclusive=d.pick(0, 1), reverse=d.pick(0, 1))


def top(d):
    shape = d.shape()
    axis = d.number(0, len(shape))
    k = min(shape[axis], d.pick(1, 3, 10, 100))
    d.case('TopK', [d.normal(*shape), [k]], constants=[1], axis=axis, outputs=2, largest=d.pick(0, 1))


def norm_of_layers(d):
    kind = d.pick('LayerNormalization', 'RMSNormalization')
    shape = d.shape(d.number(2, 5))
    axis = d.number(1, len(shape))
    bias = [d.normal(*shape[axis:])] if kind == 'LayerNormalization' and d.chance(0.7) else []
    d.case(kind, [d.normal(*shape), d.normal(*shape[axis:]), *bias], constants=[1, 2], axis=axis, tolerance=1e-3,
           opset=23 if kind == 'RMSNormalization' else 18)


def norm_of_channels(d):
    kind = d.pick('InstanceNormalization', 'BatchNormalization', 'GroupNormalization')
    shape = list(d.shape(d.number(3, 6)))
    options = {'tolerance': 1e-2}
    if kind == 'GroupNormalization':
        groups = d.pick(1, 2, 4)
        shape[1] = math.ceil(shape[1] / groups) * groups
        options |= {'num_groups': groups, 'opset': 21}
    weights = [np.abs(d.normal(shape[1])) for _ in range(4 if kind == 'BatchNormalization' else 2)]
    d.case(kind, [d.normal(*shape), *weights], constants=[1, 2, 3, 4], **options)


def norm_of_images(d):
    x = d.normal(*d.shape(4))
    if d.chance(0.5):
        d.case('LRN', [x], size=d.pick(3, 5))
    else:
        d.case('MeanVarianceNormalization', [x], axes=d.pick([0, 2, 3], [2, 3], [1, 2, 3]), tolerance=1e-2)


FLOATS = (F32, F32, F32, F32, F64, F16)
FUNCTIONS = {
    **dict.fromkeys(('Sin', 'Cos', 'Tan', 'Atan', 'Sinh', 'Cosh', 'Asinh', 'Erf', 'Softplus', 'Softsign', 'Elu', 'Selu', 'Celu',
                     'HardSwish', 'HardSigmoid', 'Mish', 'LeakyRelu', 'ThresholdedRelu', 'Floor', 'Ceil', 'Round', 'Reciprocal',
                     'IsNaN', 'IsInf', 'Shrink', 'Identity'), (F32,)),
    **dict.fromkeys(('Exp', 'Tanh', 'Sigmoid', 'Log', 'Sqrt'), FLOATS),
    **dict.fromkeys(('Abs', 'Neg'), (*FLOATS, I32, I64, I8)),
    'Relu': (*FLOATS, I32, I8),
    'Sign': (F32, I32, I64, I8),
    'Not': (BOOL,),
}


def function(d):
    kind = d.pick(*FUNCTIONS)
    dtype = d.pick(*FUNCTIONS[kind])
    x = d.data(d.shape(), dtype)
    if kind in ('Log', 'Sqrt'):
        x = np.abs(x) + dtype(0.01)
    d.case(kind, [x], tolerance=2e-2 if dtype == F16 else 1e-4)


def clip(d):
    dtype = d.pick(F32, F32, I32, I64, I8)
    d.case('Clip', [d.data(d.shape(), dtype), dtype(-1), dtype(1)], constants=[1, 2])


def cast(d):
    kinds = (F32, F64, F16, I8, U8, I32, I64, BOOL)
    x, to = d.data(d.shape(), d.pick(*kinds)), d.pick(*kinds)
    if x.dtype.kind == 'f' and to == U8:  # what a negative one becomes is not said
        x = np.abs(x)
    d.case('Cast', [x], note=f'to {to.__name__}', to=helper.np_dtype_to_tensor_dtype(np.dtype(to)))


def two_shapes(d):
    """A shape, and two that broadcast to it, the second perhaps of a lower rank."""
    shape = d.shape()
    first, second = d.narrowed(shape, 0.25), d.narrowed(shape, 0.35)
    return shape, first, second[d.number(0, len(shape)):] if d.chance(0.35) else second


NUMBERS = (F32, F32, F32, F32, I32, I64)
PAIRS = {
    **dict.fromkeys(('Add', 'Sub', 'Mul', 'Div'), (F32, F32, F32, I32, I64, F16)),
    **dict.fromkeys(('Max', 'Min', 'Mod', 'Equal', 'Less', 'Greater', 'GreaterOrEqual'), NUMBERS),
    **dict.fromkeys(('And', 'Or', 'Xor'), (BOOL,)),
    'BitwiseAnd': (I32, I64, U8),
    'Pow': (F32,),
}


def pair(d):
    kind = d.pick(*PAIRS)
    dtype = d.pick(*PAIRS[kind])
    _, first, second = two_shapes(d)
    x, y = d.data(first, dtype), d.data(second, dtype)
    if kind in ('Div', 'Mod'):
        y = np.abs(y) + dtype(1)
    if kind == 'Pow':
        x = np.abs(x) + F32(0.1)
    options = {'fmod': 1} if kind == 'Mod' and dtype == F32 else {}
    d.case(kind, [x, y], tolerance=2e-2 if dtype == F16 else 1e-3, **options)


def several(d):
    kind = d.pick('Where', 'Where', 'PRelu', 'Sum')
    shape, first, second = two_shapes(d)
    if kind == 'Where':
        dtype = d.pick(*NUMBERS)
        d.case(kind, [d.bits(*d.narrowed(shape, 0.3)), d.data(first, dtype), d.data(second, dtype)])
    elif kind == 'PRelu':
        d.case(kind, [d.normal(*shape), d.normal(*second)])
    else:
        d.case(kind, [d.normal(*first), d.normal(*second), d.normal(*shape)])


MOVED = (F32, F32, F32, I64, U8, F16, BOOL)


def transpose(d):
    shape = d.shape(d.number(2, 7))
    d.case('Transpose', [d.data(shape, d.pick(*MOVED))], perm=d.rng.permutation(len(shape)).tolist())


def concat(d):
    dtype, shape = d.pick(*MOVED), d.shape()
    axis = d.number(0, len(shape))
    lengths = [max(1, int(shape[axis] * d.rng.uniform(0.1, 1))) for _ in range(d.pick(2, 3, 5, 9))]
    d.case('Concat', [d.data((*shape[:axis], n, *shape[axis + 1:]), dtype) for n in lengths], axis=axis)


def split(d):
    shape = d.shape()
    axis = d.number(0, len(shape))
    fitting = [n for n in (2, 3, 5) if math.ceil(shape[axis] / n) * (n - 1) < shape[axis]]  # the last part has something left
    parts = d.pick(*fitting) if fitting else 1
    d.case('Split', [d.data(shape, d.pick(*MOVED))], axis=axis, outputs=parts, num_outputs=parts)


def cut(d):
    """One or two axes from the first to the last third, forward in steps or backward."""
    shape = d.shape()
    axes = sorted({d.number(0, len(shape)) for _ in range(2)})
    starts, ends, steps = [], [], []
    for axis in axes:
        step = d.pick(1, 1, 2, 3, -1)
        begin = int(shape[axis] * d.rng.uniform(0, 0.3))
        end = max(begin + 1, int(shape[axis] * d.rng.uniform(0.6, 1)))
        before = begin - 1 if begin else -shape[axis] - 1  # an end of -1 would be the last element
        starts.append(begin if step > 0 else end - 1)
        ends.append(end if step > 0 else before)
        steps.append(step)
    d.case('Slice', [d.data(shape, d.pick(*MOVED)), starts, ends, axes, steps], constants=[1, 2, 3, 4])


def pad(d):
    shape = d.shape()
    pads = [min(d.number(0, 4), n - 1) if d.chance(0.6) else 0 for n in shape * 2]
    x = d.data(shape, d.pick(F32, F32, F32, I64, U8))
    d.case('Pad', [x, pads], constants=[1], mode=d.pick('constant', 'constant', 'reflect', 'edge', 'wrap'), opset=19)


def repeat(d):
    if d.chance(0.5):
        shape = d.shape(low=10, high=15)
        d.case('Tile', [d.data(shape, d.pick(*MOVED)), [d.pick(1, 1, 2, 3) for _ in shape]], constants=[1])
    else:
        shape = d.shape()
        d.case('Expand', [d.data(d.narrowed(shape, 0.5), d.pick(*MOVED)), list(shape)], constants=[1])


def blocks(d):
    batch, size, channels, side = d.pick(1, 2), d.pick(2, 3, 4), d.pick(1, 3, 8, 16), d.pick(8, 20, 48)
    if d.chance(0.5):
        d.case('DepthToSpace', [d.normal(batch, channels * size * size, side, side)], blocksize=size, mode=d.pick('DCR', 'CRD'))
    else:
        d.case('SpaceToDepth', [d.normal(batch, channels, side * size, side * size)], blocksize=size)


def columns_to_image(d):
    kernel, side, channels, stride = d.pick(2, 3), d.pick(10, 24, 40), d.pick(4, 16), d.pick(1, 2)
    windows = ((side - kernel) // stride + 1) ** 2
    x = d.normal(1, channels * kernel * kernel, windows)
    d.case('Col2Im', [x, [side, side], [kernel, kernel]], constants=[1, 2], strides=[stride, stride])


def reversed_rows(d):
    shape = d.shape(3)
    d.case('ReverseSequence', [d.normal(*shape), d.ints(1, shape[0] + 1, shape[1])], time_axis=0, batch_axis=1)


def triangle(d):
    x = d.data(d.shape(d.pick(2, 3, 4)), d.pick(F32, F32, I64, BOOL))
    d.case('Trilu', [x, np.int64(d.number(-3, 4))], constants=[1], upper=d.pick(0, 1))


def ones(d):
    if d.chance(0.5):
        d.case('EyeLike', [d.normal(*d.shape(2))])
        return
    depth = d.pick(5, 32, 100)
    places = d.ints(0, depth, *d.shape(d.pick(1, 2, 3), low=8, high=13))
    d.case('OneHot', [places, np.int64(depth), np.array([0, 1], F32)], constants=[1, 2], axis=d.pick(-1, 0, 1))


GATHERED = (F32, F32, I64, F16, U8)


def gather(d):
    shape = d.shape(d.number(2, 5), low=10, high=16)
    axis = d.number(0, len(shape))
    places = d.ints(0, shape[axis], *d.shape(d.pick(1, 2), low=3, high=9), dtype=d.pick(I64, I32))
    d.case('Gather', [d.data(shape, d.pick(*GATHERED)), places], axis=axis)


def gather_elements(d):
    shape = d.shape(d.number(2, 5))
    axis = d.number(0, len(shape))
    d.case('GatherElements', [d.data(shape, d.pick(*GATHERED)), d.ints(0, shape[axis], *shape)], axis=axis)


def gather_blocks(d):
    shape = d.shape(d.number(2, 5))
    depth = d.number(1, len(shape) + 1)
    count = min(50000, 2 ** 17 // math.prod(shape[depth:])) + 1
    d.case('GatherND', [d.normal(*shape), np.stack([d.ints(0, n, count) for n in shape[:depth]], -1)])


def scatter_elements(d):
    """Each element to a place of its own, so that the order does not matter."""
    shape = d.shape(d.number(2, 5))
    axis = d.number(0, len(shape))
    inputs = [d.normal(*shape), np.argsort(d.normal(*shape), axis), d.normal(*shape)]
    d.case('ScatterElements', inputs, axis=axis, reduction=d.pick('none', 'add', 'max', 'mul'), tolerance=1e-3)


def scatter_blocks(d):
    shape = d.shape(d.number(2, 5))
    depth = d.number(1, len(shape))
    total = math.prod(shape[:depth])
    flat = d.rng.permutation(total)[:max(1, total // 2)]
    places = np.stack(np.unravel_index(flat, shape[:depth]), -1).astype(I64)
    inputs = [d.normal(*shape), places, d.normal(len(flat), *shape[depth:])]
    d.case('ScatterND', inputs, reduction=d.pick('none', 'add', 'max'), tolerance=1e-3)


def choose(d):
    kind = d.pick('Compress', 'NonZero', 'Where')
    shape = d.shape(d.number(2, 5))
    if kind == 'Compress':
        axis = d.number(0, len(shape))
        d.case(kind, [d.normal(*shape), d.bits(shape[axis])], axis=axis)
    elif kind == 'NonZero':
        share = d.pick(0.05, 0.5)
        d.case(kind, [d.bits(*shape, share=share)], note=f'of {share:g}')
    else:
        d.case(kind, [d.bits(*shape), d.normal(*shape), F32(0)], constants=[2])


def unique(d):
    values = d.pick(10, 1000, 100000)
    d.case('Unique', [d.ints(0, values, d.power(8, 16))], note=f'below {values}', outputs=d.pick(1, 4), sorted=1)


# Turns of a class in a round, and what draws them, each as likely as it stands here.
CLASSES = {
    'reduce': (4, (reduce,)),
    'along': (3, (along, along, along, running_sum, top)),
    'norm': (3, (norm_of_layers, norm_of_channels, norm_of_images)),
    'unary': (3, (*[function] * 8, cast, clip)),
    'binary': (4, (pair, pair, pair, several)),
    'move': (5, (transpose, transpose, cut, cut, pad, pad, repeat, repeat, ones, ones, blocks, blocks, concat, split,
                 columns_to_image, reversed_rows, triangle)),
    'gather': (3, (gather, gather, choose, choose, gather_elements, gather_blocks, scatter_elements, scatter_blocks, unique)),
    'image': (3, (*[layers.resize] * 4, layers.regions, layers.regions, layers.sample, layers.affine_grid, layers.suppression)),
    'pool': (3, (layers.pool, layers.pool, layers.pool_of_all)),
    'product': (3, (layers.product, layers.product, layers.product_of_batches, layers.product_of_batches,
                    layers.product_of_bytes, layers.product_of_bytes, layers.gemm, layers.einsum)),
    'conv': (5, (layers.conv, layers.conv, layers.conv_in_groups, layers.conv_in_groups, layers.conv_of_bytes,
                 layers.conv_transposed)),
    'other': (2, (layers.recurrent, layers.recurrent, layers.quantised, layers.quantised, layers.transform, layers.deformed,
                  layers.determinant, layers.shift, layers.numbers)),
    **drawn_types.CLASSES,
    **drawn_rare.CLASSES,
    **drawn_bodies.CLASSES,
}


def drawn_cases(seed, rounds):
    """One case after another, none of them twice."""
    seen = set()
    for number in range(rounds):
        for at, (group, (turns, draws)) in enumerate(CLASSES.items()):
            for turn in range(turns):
                d = Draw(group, seed, number, at, turn)
                d.pick(*draws)(d)
                case, = d.cases
                if case.name not in seen:
                    seen.add(case.name)
                    yield case
