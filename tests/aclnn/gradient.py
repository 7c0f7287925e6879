"""Gradients of functions, from that of their results."""
from __future__ import annotations

import numpy as np

from cases import Case, Table, Want
from linear import convolve, convolve_back
from normal import halves, soften
from pixel import max_pool_of, image, pool_parameters
from reduce import wide
from values import DTYPES, NCDHW, NCHW, NCL, Random, Scalar, Tensor, given

TABLE = Table('gradient')


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def erf(x: np.ndarray) -> np.ndarray:
    from math import erf as one
    return np.vectorize(one, otypes=[np.float64])(x) if x.size else x


@TABLE.case('SiluBackward')
def silu(r: Random, form) -> Case:
    dtype, shape = r.pick(form.types['self']), r.shape()
    grad, x = r.tensor(dtype, shape), r.tensor(dtype, shape, -8, 8)
    gate = sigmoid(wide(x.data))
    value = wide(grad.data) * (gate + wide(x.data) * gate * (1 - gate))
    return Case([grad, x, Tensor(dtype, shape)], {2: Want(value, 1.0)})


@TABLE.case('GeluBackward', broadcasts=True)
def gelu(r: Random, form) -> Case:
    dtype, shape = r.pick(form.types['self']), r.shape()
    grad, x = r.tensor(dtype, r.part(shape)), r.tensor(dtype, shape, -6, 6)
    a = wide(x.data)
    slope = 0.5 * (1 + erf(a / np.sqrt(2))) + a * np.exp(-a * a / 2) / np.sqrt(2 * np.pi)
    return Case([grad, x, Tensor(dtype, shape)], {2: Want(wide(grad.data) * slope, 2.0)})


@TABLE.case('ThresholdBackward', broadcasts=True)
def threshold(r: Random, form) -> Case:
    dtype, shape = r.pick(form.types['self']), r.shape()
    grad, x = r.tensor(dtype, r.part(shape)), r.tensor(dtype, shape)
    limit = Scalar(r.int(-3, 6) / 2, 'f32')
    value = np.where(wide(x.data) > limit.value, wide(grad.data), 0)
    return Case([grad, x, limit, Tensor(dtype, shape)], {3: value.astype(DTYPES[dtype].logical)})


@TABLE.case('SoftmaxBackward LogSoftmaxBackward')
def softmax(r: Random, form) -> Case:
    dtype, shape = r.pick(form.types['gradOutput']), r.shape(1) or (1,)
    dim = r.dim(len(shape))
    grad = r.tensor(dtype, shape)
    logits = wide(r.array('f32', shape))
    soft = soften(logits, dim) if 0 not in shape else logits
    logarithm = form.name == 'LogSoftmaxBackward'
    output = given(np.log(soft) if logarithm else soft, dtype)
    g, y = wide(grad.data), wide(output.data)
    if logarithm:
        value = g - np.exp(y) * np.sum(g, axis=dim, keepdims=True)
    else:
        value = y * (g - np.sum(g * y, axis=dim, keepdims=True))
    size = np.sum(np.abs(g), axis=dim, keepdims=True)
    return Case([grad, output, dim, Tensor(dtype, shape)], {3: Want(value, 1 + size, loose=2)})


def classes_of(r: Random, form, rows: int, classes: int) -> tuple[Tensor, int]:
    dtype = r.pick(form.types['target'])
    ignored = r.pick([-100, 0, 1])
    chosen = r.rng.integers(0, classes, rows)
    chosen[0] = (ignored + 1) % classes if ignored >= 0 else chosen[0]  # one that counts
    return given(chosen, dtype), ignored


def share_of(weight: np.ndarray, chosen: np.ndarray, ignored: int) -> np.ndarray:
    return np.where(chosen == ignored, 0, weight[chosen])


@TABLE.case('NLLLoss')
def nll(r: Random, form) -> Case:
    rows, classes, dtype = r.size(1, 40), r.size(2, 30), r.pick(form.types['self'])
    x, weight = r.tensor(dtype, (rows, classes)), r.tensor(dtype, (classes,), 0.5, 2)
    target, ignored = classes_of(r, form, rows, classes)
    chosen, reduction = target.data.astype(np.int64), r.int(0, 2)
    share = share_of(wide(weight.data), chosen, ignored)
    each = -share * wide(x.data)[np.arange(rows), chosen]
    value = [each, np.sum(each) / max(np.sum(share), 1e-9), np.sum(each)][reduction]
    out = Tensor(dtype, (rows,) if reduction == 0 else ())
    size = [8.0, 8.0, 8.0 * rows][reduction]
    return Case([x, target, weight, reduction, ignored, out, Tensor(dtype, ())],
                {5: Want(np.asarray(value), size), 6: Want(np.asarray(np.sum(share)), float(rows))})


@TABLE.case('NLLLossBackward')
def nll_backward(r: Random, form) -> Case:
    rows, classes, dtype = r.size(1, 40), r.size(2, 30), r.pick(form.types['self'])
    x, weight = r.tensor(dtype, (rows, classes)), r.tensor(dtype, (classes,), 0.5, 2)
    target, ignored = classes_of(r, form, rows, classes)
    chosen, reduction = target.data.astype(np.int64), r.int(0, 2)
    grad, total = r.tensor(dtype, (rows,) if reduction == 0 else ()), r.tensor(dtype, (), 1, 9)
    share = share_of(wide(weight.data), chosen, ignored) * wide(grad.data)
    value = np.zeros((rows, classes))
    value[np.arange(rows), chosen] = -share / (wide(total.data) if reduction == 1 else 1)
    return Case([grad, x, target, weight, reduction, ignored, total, Tensor(dtype, (rows, classes))],
                {7: Want(value, 8.0)})


@TABLE.case('EmbeddingDenseBackward')
def embedding(r: Random, form) -> Case:
    dtype, leading, width = r.pick(form.types['grad']), r.full(1, 3), r.int(1, 9)
    table = r.size(2, 12)
    chosen = r.rng.integers(0, table if r.chance(0.8) else 2, leading)
    kind = r.pick(form.types['indices'])
    indices = given(chosen % 2 if kind == 'bool' else chosen, kind)
    grad = r.tensor(dtype, (*leading, width))
    padding, by_frequency = r.pick([0, 1, 2 ** 64 - 1]), r.chance()
    places = indices.data.astype(np.int64).reshape(-1)
    value, counts = np.zeros((table, width)), np.bincount(places, minlength=table)
    np.add.at(value, places, wide(grad.data).reshape(-1, width))
    value /= np.maximum(counts, 1)[:, None] if by_frequency else 1
    if padding < table:
        value[padding] = 0
    return Case([grad, indices, table, padding, by_frequency, Tensor(dtype, (table, width))],
                {5: Want(value, 4.0 * max(counts.max(), 1))})


def mask_of(r: Random) -> list[bool]:
    return [r.chance(0.8) for _ in range(3)]


def masked(case: Case, first: int, mask: list[bool], r: Random) -> Case:
    """Without the results that the mask does not ask for: they may be null, and are not written."""
    for i, wanted in enumerate(mask):
        if not wanted:
            case.wants.pop(first + i, None)
            case.arguments[first + i] = None
    return case


def norm_gradient(g, x, mean, rstd, weight, where):
    """That of x, and what the gradients of weight and bias add up."""
    flat = (x - mean) * rstd
    scaled = g * weight
    common, slope = [np.mean(v, axis=where, keepdims=True) for v in (scaled, scaled * flat)]
    return rstd * (scaled - common - flat * slope), g * flat, rstd * (np.abs(scaled) + np.abs(common) + np.abs(flat * slope))


def statistics(x, where, dtype, shape):
    mean, rstd = [given(v.reshape(shape), dtype) for v in
                  (np.mean(x, axis=where, keepdims=True), 1 / np.sqrt(np.var(x, axis=where, keepdims=True) + 1e-3))]
    keep = np.mean(x, axis=where, keepdims=True).shape
    return mean, rstd, wide(mean.data).reshape(keep), wide(rstd.data).reshape(keep)


@TABLE.case('LayerNormBackward')
def layer_norm(r: Random, form) -> Case:
    dtype, shape = r.pick(form.types['input']), r.full(1, 4) if r.chance(0.8) else (r.int(100, 300), r.int(60, 90))
    count = r.int(1, len(shape))
    inner, where = shape[-count:], tuple(range(-count, 0))
    grad, x = r.tensor(dtype, shape), r.tensor(dtype, shape)
    mean, rstd, m, s = statistics(wide(x.data), where, r.pick([dtype, 'f32']), [*shape[:-count], *[1] * count])
    weight = r.tensor(dtype, inner) if r.chance(0.7) else None
    value, slope, size = norm_gradient(wide(grad.data), wide(x.data), m, s, wide(weight.data) if weight else 1, where)
    lead, mask = tuple(range(len(shape) - count)), mask_of(r)
    slope_size = np.sum(np.abs(slope), axis=lead)
    outs = [Tensor(dtype, shape), Tensor(dtype, inner), Tensor(dtype, inner)]
    wants = {8: Want(value, size, loose=4), 9: Want(np.sum(slope, axis=lead), slope_size + 1, loose=4),
             10: Want(np.sum(wide(grad.data), axis=lead), slope_size + 4)}
    return masked(Case([grad, x, list(inner), mean, rstd, weight, None, mask, *outs], wants), 8, mask, r)


@TABLE.case('RmsNormGrad')
def rms_norm(r: Random, form) -> Case:
    dtype, shape = r.pick(form.types['x']), r.full(1, 4)
    count = r.int(1, len(shape))
    inner, where, lead = shape[-count:], tuple(range(-count, 0)), tuple(range(len(shape) - count))
    grad, x, gamma = r.tensor(dtype, shape), r.tensor(dtype, shape), r.tensor(dtype, inner)
    keep = [*shape[:-count], *[1] * count]
    root = 1 / np.sqrt(np.mean(wide(x.data) ** 2, axis=where, keepdims=True) + 1e-3)
    rstd = given(root.reshape(r.pick([keep, keep[:-count] or [1]])), 'f32')
    root = wide(rstd.data).reshape(keep)
    g, flat = wide(grad.data) * wide(gamma.data), wide(x.data) * root
    slope = np.mean(g * flat, axis=where, keepdims=True)
    size = root * (np.abs(g) + np.abs(flat * slope))
    each = wide(grad.data) * flat
    outs = [Tensor(dtype, shape), Tensor('f32', inner)]
    return Case([grad, x, rstd, gamma, *outs], {
        4: Want(root * (g - flat * slope), size, loose=4),
        5: Want(np.sum(each, axis=lead), np.sum(np.abs(each), axis=lead) + 1, loose=4)})


@TABLE.case('GroupNormBackward')
def group_norm(r: Random, form) -> Case:
    dtype, group, n = r.pick(form.types['input']), r.int(1, 3), r.int(1, 3)
    c, inner = group * r.int(1, 3), r.full(0, 3, 5)
    area, shape = int(np.prod(inner, dtype=int)), (n, c, *inner)
    grad, x = r.tensor(dtype, shape), r.tensor(dtype, shape)
    parts = (n, group, c // group, area)
    g, data = wide(grad.data).reshape(parts), wide(x.data).reshape(parts)
    mean, rstd, m, s = statistics(data, (2, 3), dtype, (n, group))
    gamma = r.tensor(dtype, (c,)) if r.chance(0.7) else None
    weight = wide(gamma.data).reshape(1, group, -1, 1) if gamma else 1
    value, slope, size = norm_gradient(g, data, m, s, weight, (2, 3))
    sums, sizes = [v.sum((0, 3)).reshape(c) for v in (slope, np.abs(slope))]
    mask = mask_of(r)
    wants = {10: Want(value.reshape(shape), size.reshape(shape), loose=4), 11: Want(sums, sizes + 1, loose=4),
             12: Want(g.sum((0, 3)).reshape(c), 4.0 * n * area)}
    outs = [Tensor(dtype, shape), Tensor(dtype, (c,)), Tensor(dtype, (c,))]
    return masked(Case([grad, x, mean, rstd, gamma, n, c, area, group, mask, *outs], wants), 10, mask, r)


@TABLE.case('BatchNormBackward')
def batch_norm(r: Random, form) -> Case:
    dtype, c, training = r.pick(form.types['input']), r.int(1, 4), r.chance(0.7)
    shape = (r.int(2, 4), c, *r.full(0, 3, 5))
    where, column = (0, *range(2, len(shape))), (1, -1, *[1] * (len(shape) - 2))
    grad, x = r.tensor(dtype, shape), r.tensor(dtype, shape)
    mean, rstd, m, s = statistics(wide(x.data), where, r.pick([dtype, 'f32']), (c,))
    running = [r.tensor(dtype, (c,), -1, 1), r.tensor(dtype, (c,), 0.5, 2)]
    weight = r.tensor(dtype, (c,)) if r.chance(0.7) else None
    scale, g = wide(weight.data).reshape(column) if weight else 1, wide(grad.data)
    if training:
        value, slope, size = norm_gradient(g, wide(x.data), m, s, scale, where)
        running = running if r.chance() else [None, None]
    else:
        s = 1 / np.sqrt(wide(running[1].data).reshape(column) + 1e-5)
        value, slope = g * scale * s, g * (wide(x.data) - wide(running[0].data).reshape(column)) * s
        size = np.abs(value)
        mean, rstd = r.pick([(mean, rstd), (None, None), (Tensor('f32', (0,)), Tensor('f32', (0,)))])
    mask = mask_of(r)
    wants = {10: Want(value, size + 1e-3, loose=4),
             11: Want(slope.sum(where), np.abs(slope).sum(where) + 1, loose=4),
             12: Want(g.sum(where), np.abs(g).sum(where) + 1)}
    outs = [Tensor(dtype, shape), Tensor(dtype, (c,)), Tensor(dtype, (c,))]
    return masked(Case([grad, x, weight, *running, mean, rstd, training, 1e-5, mask, *outs], wants), 10, mask, r)


def weight_gradient(grad, x, shape, stride, padding, dilation, groups):
    """[n, out, ...] and [n, in, ...]: for each place of the kernel what it sees, times the gradient."""
    n, spatial = x.shape[0], x.ndim - 2
    x = np.pad(x, [(0, 0), (0, 0)] + [(p, p) for p in padding])
    g = grad.reshape(n, groups, -1, int(np.prod(grad.shape[2:])))
    result = np.zeros((groups, shape[0] // groups, *shape[1:]))
    for place in np.ndindex(*shape[2:]):
        cut = tuple(slice(p * d, p * d + (m - 1) * s + 1, s)
                    for p, d, m, s in zip(place, dilation, grad.shape[2:], stride))
        part = x[(slice(None), slice(None), *cut)].reshape(n, groups, -1, g.shape[-1])
        result[(..., *place)] = np.einsum('ngop,ngcp->goc', g, part)
    return result.reshape(shape)


@TABLE.case('ConvolutionBackward')
def convolution(r: Random, form) -> Case:
    spatial, dtype, back = r.int(1, 3), r.pick(form.types['input']), r.chance(0.4)
    format = (NCL, NCHW, NCDHW)[spatial - 1]
    groups, each, outs = r.int(1, 2), r.width(1, 3), r.int(1, 3)
    if spatial < 3 and r.chance(0.2):
        each, outs = r.int(10, 40), r.int(5, 20)
    kernel = [r.int(1, 3) for _ in range(spatial)]
    stride, dilation = [[r.int(1, 2) for _ in range(spatial)] for _ in range(2)]
    padding = [r.int(0, k // 2) for k in kernel]
    extra = [r.int(0, s - 1) if back else 0 for s in stride]
    size = [r.int(d * (k - 1) + 1, 60 if spatial == 1 else 9) for k, d in zip(kernel, dilation)]
    reach = [d * (k - 1) + 1 for k, d in zip(kernel, dilation)]
    if back:
        other = [(n - 1) * s - 2 * p + e + x for n, s, p, e, x in zip(size, stride, padding, reach, extra)]
        if min(other) < 1:
            return convolution(r, form)
    else:
        other = [(n + 2 * p - e) // s + 1 for n, s, p, e in zip(size, stride, padding, reach)]
    shape = (groups * each, outs, *kernel) if back else (groups * outs, each, *kernel)
    n = r.int(1, 2)
    x = r.tensor(dtype, (n, groups * each, *size), format=format)
    weight = r.tensor(dtype, shape, -1, 1, format)
    grad = r.tensor(dtype, (n, groups * outs, *other), format=format)

    def of(f):
        g, a, w = [f(t.data.astype(np.float64)) for t in (grad, x, weight)]
        if back:
            return (convolve(g, w, stride, padding, dilation, groups),
                    weight_gradient(a, g, shape, stride, padding, dilation, groups), g)
        left = [size[i] - ((other[i] - 1) * stride[i] + reach[i] - 2 * padding[i]) for i in range(spatial)]
        return (convolve_back(g, w, stride, padding, dilation, left, groups),
                weight_gradient(g, a, shape, stride, padding, dilation, groups), g)
    values, sizes = of(np.asarray), of(np.abs)
    where, mask = (0, *range(2, 2 + spatial)), mask_of(r)
    wants = {12: Want(values[0], sizes[0] + 1), 13: Want(values[1], sizes[1] + 1),
             14: Want(values[2].sum(where), sizes[2].sum(where) + 1)}
    results = [Tensor(dtype, x.shape, format=format), Tensor(dtype, shape, format=format), Tensor(dtype, (groups * outs,))]
    case = Case([grad, x, weight, [groups * outs] if r.chance() else None, stride, padding, dilation, back, extra, groups, mask, 0,
                 *results], wants)
    return masked(case, 12, mask, r)


def pool_mask(x: Tensor, value, places, kernel, stride, padding) -> np.ndarray:
    """Byte p of row k: whether place p of the result came from element k of its window."""
    rows, columns = value.shape[-2:]
    mask = np.zeros((*x.shape[:-2], kernel[0] * kernel[1], ((rows * columns + 15) // 16 + 1) * 32), np.int8)
    at_row, at_column = np.divmod(places, x.shape[-1])
    tap = ((at_row - (np.arange(rows) * stride[0] - padding[0])[:, None]) * kernel[1]
           + at_column - (np.arange(columns) * stride[1] - padding[1]))
    for index in np.ndindex(*tap.shape):
        mask[(*index[:-2], tap[index], index[-2] * columns + index[-1])] = 1
    return mask


def without_batch(r: Random, *arrays):
    return [a[0] for a in arrays] if arrays[0].shape[0] == 1 and r.chance() else list(arrays)


@TABLE.case('MaxPool2dWithMask MaxPool2dWithMaskBackward')
def pool(r: Random, form) -> Case:
    dtype = r.pick(form.types['self'])
    x = image(r, dtype)
    kernel, stride, padding, ceil = pool_parameters(r, x)
    value, places = max_pool_of(x, kernel, stride, [(p, p) for p in padding], ceil)
    mask = pool_mask(x, value, places, kernel, stride, padding)
    grad = r.array(dtype, value.shape)
    back = np.zeros((*x.shape[:2], x.shape[2] * x.shape[3]))
    for n, c in np.ndindex(*x.shape[:2]):
        np.add.at(back[n, c], places[n, c].reshape(-1), wide(grad[n, c]).reshape(-1))
    data, value, mask, grad, back = without_batch(r, x.data, value, mask, grad, back.reshape(x.shape))
    size = np.full(back.shape, 9.0)
    windows = [kernel, [] if stride == kernel and r.chance() else stride, padding, [1, 1], ceil]
    self = given(data, dtype, NCHW if data.ndim == 4 else NCL)
    if form.name == 'MaxPool2dWithMask':
        return Case([self, *windows, Tensor(dtype, value.shape, format=self.format), Tensor('i8', mask.shape)], {6: value, 7: mask})
    return Case([given(grad, dtype, self.format), self, given(mask, 'i8'), *windows, Tensor(dtype, data.shape, format=self.format)],
                {8: Want(back, size)})


@TABLE.case('DropoutDoMask')
def drop(r: Random, form) -> Case:
    dtype, shape = r.pick(form.types['self']), r.shape()
    count, prob = int(np.prod(shape, dtype=int)), r.pick([0.0, 0.25, 0.5, 1.0])
    x, mask = r.tensor(dtype, shape), r.tensor('u8', (-(-count // 128) * 16,), 0, 255)
    kept = np.unpackbits(mask.data, bitorder='little')[:count].reshape(shape)
    value = np.where(kept, wide(x.data) / (1 - prob) if prob < 1 else 0, 0)
    return Case([x, mask, prob, Tensor(dtype, shape)], {3: Want(value)})


PHILOX = (0xD2511F53, 0xCD9E8D57), (0x9E3779B9, 0xBB67AE85)


def philox(key: int, low: int, high: int) -> list[int]:
    """Four words of Philox 4x32-10."""
    (m0, m1), (w0, w1) = PHILOX
    x, k = [low & 0xffffffff, low >> 32, high & 0xffffffff, high >> 32], [key & 0xffffffff, key >> 32]
    for _ in range(10):
        p, q = m0 * x[0], m1 * x[2]
        x = [(q >> 32) ^ x[1] ^ k[0], q & 0xffffffff, (p >> 32) ^ x[3] ^ k[1], p & 0xffffffff]
        k = [(k[0] + w0) & 0xffffffff, (k[1] + w1) & 0xffffffff]
    return x


@TABLE.case('DropoutGenMaskV2')
def gen_mask(r: Random, form) -> Case:
    shape, prob = r.full(1, 3, 9), r.pick([0.0, 0.25, 0.5, 1.0, r.real(0, 1)])
    seed, offset = r.int(0, 2 ** 40), r.pick([0, 12, r.int(0, 2 ** 40)])
    size = -(-int(np.prod(shape)) // 128) * 16
    limit = int((1 - prob) * 2 ** 32)
    words = [word < limit for block in range(2 * size) for word in philox(seed, block, offset)]
    value = np.packbits(np.array(words, np.uint8), bitorder='little')
    return Case([list(shape), prob, seed, offset, r.pick(['f32', 'f16', 'bf16']), Tensor('u8', (size,))], {5: value})


@TABLE.case('SwiGluGrad')
def swi_glu(r: Random, form) -> Case:
    x, dim, (a, b) = halves(r, r.pick(form.types['x']))
    grad = r.tensor(x.dtype, a.shape)
    gate, g = sigmoid(a), wide(grad.data)
    value = np.concatenate([g * b * (gate + a * gate * (1 - gate)), g * a * gate], dim)
    return Case([grad, x, dim, Tensor(x.dtype, x.shape)], {3: Want(value, 16.0, loose=2)})
