"""Functions that arrange elements anew, and tensors made from a rule."""
from __future__ import annotations

import numpy as np

from cases import Case, Table, Want
from values import DTYPES, Random, Scalar, Tensor, given

TABLE = Table('layout')


def source(r: Random, form, low: int = 1, high: int = 5, filled: bool = False, name: str = 'self') -> Tensor:
    return r.tensor(r.pick(form.types[name]), r.full(low, high) if filled else r.shape(low, high))


def moved(x: Tensor, value: np.ndarray, *arguments, kind: str = '') -> Case:
    return Case([x, *arguments, Tensor(kind or x.dtype, value.shape)], {1 + len(arguments): value})


@TABLE.case('Permute')
def permute(r: Random, form) -> Case:
    x = source(r, form)
    dims = [int(d) - (len(x.shape) if r.chance(0.3) else 0) for d in r.rng.permutation(len(x.shape))]
    return moved(x, np.transpose(x.data, dims), dims)


@TABLE.case('Slice')
def slice_of(r: Random, form) -> Case:
    x = source(r, form, filled=True)
    dim = r.dim(len(x.shape))
    size = x.shape[dim]
    start, step = r.int(-size, size - 1), r.pick([1, 2, 3, 2**63 - 1])
    end = r.pick([size, 2**62, r.int(start % size, size)])
    cut = (*[slice(None)] * (dim % len(x.shape)), slice(start, end, step))
    return moved(x, x.data[cut], dim, start, end, step)


@TABLE.case('Roll')
def roll(r: Random, form) -> Case:
    x = source(r, form, name='x')
    dims = r.dims(len(x.shape))
    shifts = [r.int(-7, 7) for _ in dims or [0]]
    value = np.roll(x.data, shifts, dims) if dims else np.roll(x.data, shifts[0])
    return moved(x, value, shifts, dims)


@TABLE.case('Flip')
def flip(r: Random, form) -> Case:
    x = source(r, form)
    dims = r.dims(len(x.shape))
    return moved(x, np.flip(x.data, dims) if dims else x.data, dims)


@TABLE.case('Repeat')
def repeat(r: Random, form) -> Case:
    x = source(r, form, 0, 3)
    repeats = [r.int(0 if r.chance(0.1) else 1, 3) for _ in range(len(x.shape) + r.int(0, 1))]
    return moved(x, np.tile(x.data, repeats), repeats)


@TABLE.case('RepeatInterleaveIntWithDim')
def repeat_interleave(r: Random, form) -> Case:
    x = source(r, form, 1, 4)
    dim, times = r.dim(len(x.shape)), r.int(1, 4)
    value = np.repeat(x.data, times, axis=dim)
    return moved(x, value, times, dim, value.shape[dim])


@TABLE.case('RepeatInterleaveInt')
def repeat_each(r: Random, form) -> Case:
    x = source(r, form, 0, 4)
    times = r.int(0, 3)
    value = np.repeat(x.data.reshape(-1), times)
    return moved(x, value, times, value.size)


@TABLE.case('RepeatInterleaveWithDim RepeatInterleave')
def repeat_by_tensor(r: Random, form) -> Case:
    x = source(r, form, 1, 4)
    flat = form.name == 'RepeatInterleave'
    dim = r.dim(len(x.shape))
    slices = x.data.size if flat else x.shape[dim]
    one = slices == 1 or r.chance(0.2)
    times = r.rng.integers(0, 4, r.pick([(), (1,)]) if one else (slices,))
    value = np.repeat(x.data.reshape(-1) if flat else x.data, times.reshape(-1), axis=0 if flat else dim)
    repeats = given(times, r.pick(form.types['repeats']))
    if flat:
        return moved(x, value, repeats, value.size)
    return moved(x, value, repeats, dim, value.shape[dim])


@TABLE.case('RepeatInterleaveTensor')
def repeated_places(r: Random, form) -> Case:
    times = r.rng.integers(0, 4, r.size(0, 9))
    value = np.repeat(np.arange(times.size), times)
    return moved(given(times, r.pick(form.types['repeats'])), value, value.size, kind=r.pick(form.types['out']))


@TABLE.case('ConstantPadNd')
def constant_pad(r: Random, form) -> Case:
    x = source(r, form, 1, 4, filled=True)
    count, number, kind = r.int(1, len(x.shape)), 1, 'f32' if x.dtype != 'bool' else 'bool'
    if x.dtype[0] == 'c' and r.chance():
        number, kind = 2 - 3j, r.pick(['c64', 'c128'])
    pads = [(r.int(-1 if n > 2 else 0, 3), r.int(-1 if n > 2 else 0, 3)) for n in x.shape[::-1][:count]]
    value = x.data
    for axis, (before, after) in zip(range(-1, -count - 1, -1), pads):
        cut = slice(max(-before, 0), value.shape[axis] - max(-after, 0))
        value = np.moveaxis(np.moveaxis(value, axis, 0)[cut], 0, axis)
        widths = [(0, 0)] * value.ndim
        widths[axis] = (max(before, 0), max(after, 0))
        value = np.pad(value, widths, constant_values=number)
    return moved(x, value, [p for pair in pads for p in pair], Scalar(number, kind))


@TABLE.case(' '.join(f'{kind}Pad{n}d' for kind in ('Reflection', 'Replication') for n in (1, 2, 3)))
def border_pad(r: Random, form) -> Case:
    spatial, reflects = int(form.name[-2]), form.name.startswith('Reflection')
    shape = tuple(r.int(1, 3) for _ in range(r.int(1, 2))) + tuple(r.size(2, 5) for _ in range(spatial))
    x = r.tensor(r.pick(form.types['self']), shape)
    pads = [(r.int(0, n - 1 if reflects else 4), r.int(0, n - 1 if reflects else 4)) for n in shape[::-1][:spatial]]
    widths = [(0, 0)] * (len(shape) - spatial) + pads[::-1]
    value = np.pad(x.data, widths, 'reflect' if reflects else 'edge')
    return moved(x, value, [p for pair in pads for p in pair])


@TABLE.case('Cat')
def cat(r: Random, form) -> Case:
    dtype, shape = r.pick(form.types['tensors']), list(r.full(1, 4))
    dim, parts = r.dim(len(shape)), []
    for _ in range(r.int(1, 4)):
        shape[dim] = r.int(0, 4)
        narrower = [t for t in ('i8', 'i16', dtype) if dtype in ('f32', 'f64', 'i32', 'i64')] or [dtype]
        parts.append(r.tensor(r.pick(narrower), shape))
    value = np.concatenate([p.data.astype(DTYPES[dtype].logical) for p in parts], axis=dim)
    return Case([parts, dim, Tensor(dtype, value.shape)], {2: value})


@TABLE.case('Stack')
def stack(r: Random, form) -> Case:
    dtype, shape = r.pick(form.types['tensors']), r.shape(0, 4)
    parts = [r.tensor(dtype, shape) for _ in range(r.int(1, 4))]
    dim = r.int(-len(shape) - 1, len(shape))
    value = np.stack([p.data for p in parts], axis=dim)
    return Case([parts, dim, Tensor(dtype, value.shape)], {2: value})


@TABLE.case('SplitWithSize')
def split(r: Random, form) -> Case:
    sizes, shape = [r.int(1, 4) for _ in range(r.int(1, 4))], list(r.full(1, 4))
    dim = r.dim(len(shape))
    shape[dim] = sum(sizes)
    x = r.tensor(r.pick(form.types['self']), shape)
    pieces = np.split(x.data, np.cumsum(sizes)[:-1], axis=dim)
    return Case([x, sizes, dim, [Tensor(x.dtype, p.shape) for p in pieces]], {3: pieces})


@TABLE.case('Arange Range', without='shape')
def arange(r: Random, form) -> Case:
    dtype = r.pick([t for t in form.types['out'] if t != 'bool'])
    start, step, count = r.int(0, 9), r.pick([1, 2, 3]), r.int(1, 12)
    if DTYPES[dtype].is_float:
        start, step = start / 2, step / 4
    last = start + step * (count - 1)
    end = last if form.name == 'Range' else last + step
    scalars = [Scalar(v, 'f32' if DTYPES[dtype].is_float else 'i64') for v in (start, end, step)]
    shape = r.pick([(count,), (count,), (1, 1, 1, count)])  # ggml's tensors have four dimensions
    return Case([*scalars, Tensor(dtype, shape)], {3: (start + step * np.arange(count)).reshape(shape)})


@TABLE.case('Linspace')
def linspace(r: Random, form) -> Case:
    dtype = r.pick(form.types['out'])
    start, end, steps, kind = r.int(-9, 9), r.int(-9, 9), r.int(1, 12), 'f32'
    if not DTYPES[dtype].is_float and dtype != 'c64':  # counted from both ends: the last is whole to the last bit
        start, end, steps = 0, r.int(1, 9), r.pick([50, 99, 104])
        at, step = np.arange(steps), end / (steps - 1)
        value = np.where(at < steps // 2, step * at, end - step * (steps - 1 - at))
        value = value != 0 if dtype == 'bool' else np.trunc(value)
        return Case([Scalar(start, kind), Scalar(end, kind), steps, Tensor(dtype, (steps,))], {3: value})
    if dtype == 'c64':
        start, end, kind = start + 1j * r.int(-9, 9), end + 1j * r.int(-9, 9), r.pick(['c64', 'c128'])
    value = np.linspace(start, end, steps)
    return Case([Scalar(start, kind), Scalar(end, kind), steps, Tensor(dtype, (steps,))], {3: Want(value, 9.0)})


@TABLE.case('Eye')
def eye(r: Random, form) -> Case:
    n, m = r.int(1, 6), r.int(1, 6)
    return Case([n, m, Tensor(r.pick(form.types['out']), (n, m))], {2: np.eye(n, m)})


@TABLE.case('Tril InplaceTril Triu InplaceTriu')
def triangle(r: Random, form) -> Case:
    x, diagonal = source(r, form, 2), r.int(-3, 3)
    value = (np.tril if 'Tril' in form.name else np.triu)(x.data, diagonal)
    return Case([x, diagonal], {0: value}) if form.in_place else moved(x, value, diagonal)


@TABLE.case('Im2col')
def im2col(r: Random, form) -> Case:
    dtype, batch, channels = r.pick(form.types['self']), r.int(1, 2), r.int(1, 3)
    kernel, dilation, stride = [[r.int(1, 3), r.int(1, 3)] for _ in range(3)]
    padding = [r.int(0, 2), r.int(0, 2)]
    size = [r.size(d * (k - 1) + 1, 9) for k, d in zip(kernel, dilation)]
    x = r.tensor(dtype, (batch, channels, *size)[r.int(0, 1) if batch == 1 else 0:])
    images = np.pad(x.data.reshape(batch, channels, *size), [(0, 0), (0, 0)] + [(p, p) for p in padding])
    places = []
    for y, z in np.ndindex(*kernel):
        cut = images[:, :, y * dilation[0]:, z * dilation[1]:]
        ends = [n + 2 * p - d * (k - 1) for n, p, d, k in zip(size, padding, dilation, kernel)]
        places.append(cut[:, :, :ends[0]:stride[0], :ends[1]:stride[1]].reshape(batch, channels, -1))
    value = np.stack(places, 2).reshape(batch, channels * len(places), -1)
    return moved(x, value if len(x.shape) == 4 else value[0], kernel, dilation, padding, stride)


@TABLE.case('ConfusionTranspose')
def confusion_transpose(r: Random, form) -> Case:
    dtype, shape, first = r.pick(form.types['self']), r.full(1, 4), r.chance()
    x, count = r.tensor(dtype, shape), int(np.prod(shape))
    divisor = r.pick([n for n in range(1, count + 1) if count % n == 0])
    other = r.pick([[count], [divisor, count // divisor], [1, divisor, count // divisor], list(shape)])
    order = r.rng.permutation(len(shape) if first else len(other)).tolist()
    value = x.data.transpose(order).reshape(other) if first else x.data.reshape(other).transpose(order)
    return Case([x, order, other, first, Tensor(dtype, value.shape)], {4: value})


@TABLE.case('LogSpace')
def log_space(r: Random, form) -> Case:
    dtype, steps, base = r.pick(form.types['out']), r.int(0, 12), r.pick([2.0, 10.0, 0.5])
    start, end, kind = r.int(-3, 3), r.int(-3, 3), r.pick(['f32', 'i64'])
    if not DTYPES[dtype].is_float:  # whole results, so that nothing depends on the last digit
        start, end, base = 0, r.pick([0, max(steps - 1, 0) % 7]), 2.0
        steps = end + 1
    value = base ** np.linspace(start, end, steps)
    value = value != 0 if dtype == 'bool' else value
    return Case([Scalar(start, kind), Scalar(end, kind), steps, base, Tensor(dtype, (steps,))], {4: Want(value, 0.1, loose=8)})


@TABLE.case('ChannelShuffle')
def dealt_channels(r: Random, form) -> Case:
    groups, each = r.int(1, 4), r.int(1, 3)
    x = r.tensor(r.pick(form.types['self']), (r.int(1, 3), groups * each, *r.full(1, 6, 3)))
    value = x.data.reshape(x.shape[0], groups, each, -1).swapaxes(1, 2).reshape(x.shape)
    return moved(x, value, groups)


@TABLE.case('UnfoldGrad')
def put_back_slices(r: Random, form) -> Case:
    dtype, shape = r.pick(form.types['gradOut']), r.full(0, 5, 6)
    dim = r.dim(len(shape))
    size = shape[dim] if shape else 1
    length, step = r.int(1, size), r.int(1, 4)
    starts = range(0, size - length + 1, step)
    cut = [len(starts) if d == dim % len(shape) else n for d, n in enumerate(shape)]
    grad = r.tensor(dtype, (*cut, length))
    data, value = grad.data.astype(np.float64), np.zeros(shape or (1,))
    rows = np.moveaxis(value, dim, 0)
    parts = np.moveaxis(data, dim % len(shape), 0) if shape else data[None]
    for start, part in zip(starts, parts):
        for k in range(length):
            rows[start + k] += part[..., k]
    return Case([grad, list(shape), dim, length, step, Tensor(dtype, shape)], {5: value.reshape(shape)})


@TABLE.case('Im2colBackward')
def col2im(r: Random, form) -> Case:
    dtype, batch, channels = r.pick(form.types['self']), r.int(1, 2), r.int(1, 3)
    kernel, dilation, stride = [[r.int(1, 3), r.int(1, 3)] for _ in range(3)]
    padding = [r.int(0, 2), r.int(0, 2)]
    size = [r.size(d * (k - 1) + 1, 9) for k, d in zip(kernel, dilation)]
    counts = [(n + 2 * p - d * (k - 1) - 1) // s + 1 for n, p, d, k, s in zip(size, padding, dilation, kernel, stride)]
    columns = r.tensor(dtype, (batch, channels * kernel[0] * kernel[1], counts[0] * counts[1])[r.int(0, 1) if batch == 1 else 0:])
    parts = columns.data.astype(np.float64).reshape(batch, channels, *kernel, *counts)
    images = np.zeros((batch, channels, *[n + 2 * p for n, p in zip(size, padding)]))
    for y, z in np.ndindex(*kernel):
        ends = [start * d + (c - 1) * s + 1 for start, d, c, s in zip((y, z), dilation, counts, stride)]
        images[:, :, y * dilation[0]:ends[0]:stride[0], z * dilation[1]:ends[1]:stride[1]] += parts[:, :, y, z]
    value = images[:, :, padding[0]:padding[0] + size[0], padding[1]:padding[1] + size[1]]
    value = value if len(columns.shape) == 3 else value[0]
    return Case([columns, size, kernel, dilation, padding, stride, Tensor(dtype, value.shape)], {6: value})


@TABLE.case('RepeatInterleaveGrad')
def repeat_gradient(r: Random, form) -> Case:
    shape, dtype = r.full(1, 4), r.pick(form.types['grad'])
    dim = r.dim(len(shape))
    slices = shape[dim]
    times = r.rng.integers(0, 4, 1 if r.chance(0.2) else slices)
    each = np.broadcast_to(times, slices)
    grad = r.tensor(dtype, tuple(int(each.sum()) if d == dim % len(shape) else n for d, n in enumerate(shape)))
    parts = np.split(grad.data.astype(np.float64), np.cumsum(each)[:-1], dim)
    value, size = [np.stack([f(p).sum(dim) for p in parts], dim) for f in (np.asarray, np.abs)]
    times = times.reshape(()) if times.size == 1 and r.chance() else times
    return Case([grad, given(times, r.pick(form.types['repeats'])), dim, Tensor(dtype, shape)], {3: Want(value, size + 0.1)})


@TABLE.case('ChunkCat')
def chunk_cat(r: Random, form) -> Case:
    own, dtype = r.pick(form.types['tensors']), r.pick(form.types['out'])
    axis, count, parts, columns = r.int(0, 2), r.int(1, 4), [], []
    lead = tuple(r.int(1, 3) for _ in range(axis))
    for _ in range(r.int(1, 4)):
        x = r.tensor(own, (*lead, r.int(0 if parts else 1, 6), *[r.int(1, 3) for _ in range(r.int(0, 2))]))
        each = -(-x.shape[axis] // count)
        whole = np.zeros((*lead, each * count, *x.shape[axis + 1:]))
        whole[(*[slice(None)] * axis, slice(x.shape[axis]))] = x.data
        columns.append(whole.reshape(*lead, count, -1) if whole.size else np.zeros((*lead, count, 0)))
        parts.append(x)
    value = np.concatenate(columns, -1)
    dim = axis - (len(parts[0].shape) if r.chance() else 0)
    return Case([parts, dim, count, Tensor(dtype, value.shape)], {3: Want(value, 0.0)})


@TABLE.case('TransformBiasRescaleQkv')
def rescaled_heads(r: Random, form) -> Case:
    batch, tokens, heads, size = [r.int(1, 4) for _ in range(4)]
    x = r.tensor(r.pick(form.types['qkv']), (batch, tokens, 3 * heads * size))
    bias = r.tensor(x.dtype, x.shape[2:])
    parts = (x.data.astype(np.float64) + bias.data).reshape(batch, tokens, 3, heads, size).transpose(2, 0, 3, 1, 4)
    outs = [Tensor(x.dtype, parts.shape[1:]) for _ in range(3)]
    return Case([x, bias, heads, *outs], {3: Want(parts[0] / np.sqrt(size), 4.0), 4: Want(parts[1], 4.0), 5: Want(parts[2], 4.0)})
@TABLE.case('SignBitsPack')
def pack_signs(r: Random, form) -> Case:
    size = r.int(1, 4)
    count = size * r.int(0, 5) * 8 - (r.int(0, 7) if size == 1 else 0)
    x = r.tensor(r.pick(form.types['self']), (max(count, 0),), -2, 2)
    x.data = np.where(r.rng.random(x.shape) < 0.2, np.array(r.pick([0.0, -0.0]), x.data.dtype), x.data)
    value = np.packbits(~(x.data < 0), bitorder='little').reshape(size, -1)
    return moved(x, value, size, kind='u8')


@TABLE.case('SignBitsUnpack')
def unpack_signs(r: Random, form) -> Case:
    size, dtype = r.int(1, 4), r.pick(form.types['out'])
    x = r.tensor('u8', (size * r.int(0, 6),), 0, 255)
    value = np.unpackbits(x.data, bitorder='little').reshape(size, -1 if x.data.size else 0) * 2.0 - 1
    return moved(x, value, size, dtype, kind=dtype)
