"""Functions that scale along dimensions: softmax, normalisation, gated units, losses."""
from __future__ import annotations

import numpy as np

from cases import Case, Table, Want
from elementwise import gelu, gelu_tanh, sigmoid
from values import NCHW, ND, Random, Scalar, Tensor, given

TABLE = Table('normal')


def wide(tensor: Tensor) -> np.ndarray:
    return tensor.data.astype(np.float64)


def soften(x: np.ndarray, dim: int) -> np.ndarray:
    power = np.exp(x - np.max(x, axis=dim, keepdims=True, initial=-np.inf))
    return power / np.sum(power, axis=dim, keepdims=True)


@TABLE.case('Softmax LogSoftmax')
def softmax(r: Random, form) -> Case:
    x = r.tensor(r.pick(form.types['self']), r.shape(1))
    dim = r.dim(len(x.shape))
    with np.errstate(all='ignore'):
        value = soften(wide(x), dim)
        value = value if form.name == 'Softmax' else np.log(value)
    return Case([x, dim, Tensor(x.dtype, x.shape)], {2: Want(value, loose=2)})


def normalise(x, where, eps):
    """x with mean 0 and variance 1, the mean, and 1 by the deviation, by which rounding errors of x grow too."""
    mean = np.mean(x, axis=where, keepdims=True)
    rstd = 1 / np.sqrt(np.var(x, axis=where, keepdims=True) + eps)
    return (x - mean) * rstd, mean, rstd


@TABLE.case('LayerNorm FastLayerNorm')
def layer_norm(r: Random, form) -> Case:
    x = r.tensor(r.pick(form.types['input']), r.full(1, 4))
    count = r.int(1, len(x.shape))
    inner, where = list(x.shape[-count:]), tuple(range(-count, 0))
    weight, bias = [r.tensor(x.dtype, inner) if r.chance(0.7) else None for _ in range(2)]
    value, mean, rstd = normalise(wide(x), where, 1e-5)
    value = value * (wide(weight) if weight else 1) + (wide(bias) if bias else 0)
    stats = [Tensor(x.dtype, mean.shape), Tensor(x.dtype, mean.shape)] if r.chance() else [None, None]
    wants = {5: Want(value, 8 + rstd, loose=4)}
    if stats[0]:
        wants |= {6: Want(mean, 4.0), 7: Want(rstd, rstd, loose=4)}
    return Case([x, inner, weight, bias, 1e-5, Tensor(x.dtype, x.shape), *stats], wants)


@TABLE.case('RmsNorm AddRmsNorm')
def rms_norm(r: Random, form) -> Case:
    added = form.name == 'AddRmsNorm'
    first = r.tensor(r.pick([t for t in form.types['gamma'] if t != 'f64']), r.full(1, 4))
    inputs = [first] + [r.tensor(first.dtype, first.shape)] * added
    count = r.int(1, len(first.shape))
    gamma, where = r.tensor(first.dtype, first.shape[-count:]), tuple(range(-count, 0))
    total = sum(wide(x) for x in inputs)
    rstd = 1 / np.sqrt(np.mean(total ** 2, axis=where, keepdims=True) + 1e-6)
    outs = [Tensor(first.dtype, first.shape), Tensor('f32', rstd.shape)]
    wants = [Want(total * rstd * wide(gamma), 1.0, loose=4), Want(rstd, rstd, first.dtype)]
    if added:
        outs.append(Tensor(first.dtype, first.shape))
        wants.append(Want(total))
    arguments = [*inputs, gamma, 1e-6, *outs]
    return Case(arguments, {len(arguments) - len(outs) + i: w for i, w in enumerate(wants)})


@TABLE.case('InplaceAddRmsNorm')
def add_rms_norm_in_place(r: Random, form) -> Case:
    shape, dtype = r.full(1, 4), r.pick([t for t in form.types['gamma'] if t != 'f64'])
    x1, x2 = r.tensor(dtype, shape), r.tensor(dtype, shape)
    count = r.int(1, len(shape))
    gamma, where = r.tensor(dtype, shape[-count:]), tuple(range(-count, 0))
    total = wide(x1) + wide(x2)
    rstd = 1 / np.sqrt(np.mean(total ** 2, axis=where, keepdims=True) + 1e-6)
    return Case([x1, x2, gamma, 1e-6, Tensor('f32', rstd.shape)],
                {0: Want(total * rstd * wide(gamma), 1.0, loose=4), 1: Want(total), 4: Want(rstd, rstd, dtype)})


@TABLE.case('AddLayerNorm')
def add_layer_norm(r: Random, form) -> Case:
    shape, dtype = r.full(1, 4), r.pick(form.types['x1'])
    x1, x2 = r.tensor(dtype, shape), r.tensor(r.pick([dtype, dtype, *form.types['x2']]), shape)
    count = r.int(1, len(shape))
    gamma, beta = [r.tensor(r.pick([dtype, 'f32']), shape[-count:]) for _ in range(2)]
    bias = r.tensor(dtype, r.part(shape)) if r.chance() else None
    total = wide(x1) + wide(x2) + (wide(bias) if bias else 0)
    where = tuple(range(-count, 0))
    mean = total.mean(axis=where, keepdims=True)
    rstd = 1 / np.sqrt(((total - mean) ** 2).mean(axis=where, keepdims=True) + 1e-5)
    value, out = (total - mean) * rstd * wide(gamma) + wide(beta), dtype if x1.dtype == x2.dtype else 'f32'
    wants = {7: Want(value, 8 + np.max(rstd), loose=4), 8: Want(mean, 8.0, loose=2), 9: Want(rstd, rstd * (1 + rstd), loose=8)}
    more, last = r.chance(), Tensor(out, shape)
    if more:
        wants[10] = Want(total, 8.0)
    elif r.chance():
        last = None
    return Case([x1, x2, gamma, beta, bias, 1e-5, more, Tensor(out, shape), Tensor('f32', mean.shape),
                 Tensor('f32', mean.shape), last], wants)


@TABLE.case('GroupNormSilu')
def group_norm_silu(r: Random, form) -> Case:
    group, n = r.int(1, 3), r.int(1, 3)
    c, inner = group * r.int(1, 3), r.full(0, 3, 4)
    x = r.tensor(r.pick(form.types['self']), (n, c, *inner), format=ND)
    gamma, beta = [r.tensor(x.dtype, (c,)) if r.chance(0.7) else None for _ in range(2)]
    value, mean, rstd = normalise(wide(x).reshape(n, group, -1), 2, 1e-5)
    value, column = value.reshape(x.shape), (-1, *[1] * len(inner))
    value = value * (wide(gamma).reshape(column) if gamma else 1) + (wide(beta).reshape(column) if beta else 0)
    outs = [Tensor(x.dtype, x.shape)] + [Tensor(r.pick([x.dtype, 'f32']), (n, group)) for _ in range(2)]
    return Case([x, gamma, beta, group, 1e-5, *outs],
                {5: Want(value * sigmoid(value), 8 + np.max(rstd), loose=4), 6: Want(mean.reshape(n, group), 4.0, x.dtype),
                 7: Want(rstd.reshape(n, group), rstd.reshape(n, group), x.dtype, loose=4)})


@TABLE.case('GroupNorm')
def group_norm(r: Random, form) -> Case:
    group, n = r.int(1, 3), r.int(1, 3)
    c, inner = group * r.int(1, 3), r.full(0, 3, 4)
    x = r.tensor(r.pick(form.types['self']), (n, c, *inner), format=ND)
    gamma, beta = [r.tensor(x.dtype, (c,)) if r.chance(0.7) else None for _ in range(2)]
    value, mean, rstd = normalise(wide(x).reshape(n, group, -1), 2, 1e-5)
    value = value.reshape(x.shape)
    column = (-1, *[1] * len(inner))
    value = value * (wide(gamma).reshape(column) if gamma else 1) + (wide(beta).reshape(column) if beta else 0)
    area = int(np.prod(inner, dtype=int))
    outs = [Tensor(x.dtype, x.shape)] + [Tensor(x.dtype, (n, group)) for _ in range(2)]
    wants = {8: Want(value, 8 + np.max(rstd), loose=4), 9: Want(mean.reshape(n, group), 4.0),
             10: Want(rstd.reshape(n, group), rstd.reshape(n, group), loose=4)}
    if r.chance(0.2):
        outs[1:] = [None, None]
        del wants[9], wants[10]
    return Case([x, gamma, beta, n, c, area, group, 1e-5, *outs], wants)


@TABLE.case('BatchNorm')
def batch_norm(r: Random, form) -> Case:
    c, inner, training = r.int(1, 4), r.full(0, 3, 4), r.chance()
    x = r.tensor(r.pick([t for t in form.types['input'] if t != 'f64']), (r.int(2, 4), c, *inner),
                 format=NCHW if len(inner) == 2 else ND)
    weight, bias = [r.tensor(x.dtype, (c,)) if r.chance(0.7) else None for _ in range(2)]
    running = [r.tensor(x.dtype, (c,), -1, 1), r.tensor(x.dtype, (c,), 0.5, 2)]
    where, column = (0, *range(2, 2 + len(inner))), (-1, *[1] * len(inner))
    value, mean, rstd = normalise(wide(x), where, 1e-5)
    saved = [Tensor(x.dtype, (c,)), Tensor(x.dtype, (c,))]
    wants = {}
    if training:
        count = wide(x).size // c
        spread = np.var(wide(x), axis=where) * count / (count - 1)
        wants = {3: Want(0.9 * wide(running[0]) + 0.1 * mean.reshape(c), 4.0),
                 4: Want(0.9 * wide(running[1]) + 0.1 * spread, 4.0),
                 9: Want(mean.reshape(c), 4.0), 10: Want(rstd.reshape(c), rstd.reshape(c), loose=4)}
    else:
        value = (wide(x) - wide(running[0]).reshape(column)) / np.sqrt(wide(running[1]).reshape(column) + 1e-5)
        saved = [None, None]
    if training and r.chance(0.3):
        running = [None, None]
        del wants[3], wants[4]
    value = value * (wide(weight).reshape(column) if weight else 1) + (wide(bias).reshape(column) if bias else 0)
    wants[8] = Want(value, 16 + np.max(rstd), loose=4)
    out = Tensor(x.dtype, x.shape, format=x.format)
    return Case([x, weight, bias, *running, training, 0.1, 1e-5, out, *saved], wants)


@TABLE.case('SoftmaxCrossEntropyWithLogits')
def cross_entropy(r: Random, form) -> Case:
    dtype, shape = r.pick(form.types['features']), r.full(2, 2, 9)
    features, labels = r.tensor(dtype, shape), r.tensor(dtype, shape, 0, 1)
    soft = soften(wide(features), 1)
    loss = -np.sum(wide(labels) * np.log(soft), axis=1)
    back = soft - wide(labels)
    outs = [Tensor(dtype, shape[:1]), Tensor(dtype, shape)]
    return Case([features, labels, *outs], {2: Want(loss, 4.0), 3: Want(back, 4.0)})


def halves(r: Random, dtype: str):
    shape = list(r.full(1, 4))
    dim = r.dim(len(shape))
    shape[dim] *= 2
    x = r.tensor(dtype, shape)
    return x, dim, np.split(wide(x), 2, axis=dim)


@TABLE.case('Glu')
def glu(r: Random, form) -> Case:
    x, dim, (a, b) = halves(r, r.pick(form.types['self']))
    return Case([x, dim, Tensor(x.dtype, a.shape)], {2: Want(a * sigmoid(b), loose=2)})


@TABLE.case('SwiGlu')
def swi_glu(r: Random, form) -> Case:
    x, dim, (a, b) = halves(r, r.pick(form.types['x']))
    return Case([x, dim, Tensor(x.dtype, a.shape)], {2: Want(a * sigmoid(a) * b, loose=2)})


@TABLE.case('GeluMul')
def gelu_mul(r: Random, form) -> Case:
    shape = list(r.full(1, 4))
    shape[-1] *= 2
    x, name = r.tensor(r.pick(form.types['self']), shape), r.pick([None, b'none', b'tanh'])
    a, b = np.split(wide(x), 2, axis=-1)
    return Case([x, name, Tensor(x.dtype, a.shape)], {2: Want((gelu_tanh if name == b'tanh' else gelu)(a) * b, loose=4)})


@TABLE.case('GemmaRmsNorm')
def gemma_rms_norm(r: Random, form) -> Case:
    x = r.tensor(r.pick(form.types['x']), r.full(1, 4))
    count = r.int(1, len(x.shape))
    gamma, where = r.tensor(x.dtype, x.shape[-count:]), tuple(range(-count, 0))
    rstd = 1 / np.sqrt(np.mean(wide(x) ** 2, axis=where, keepdims=True) + 1e-6)
    return Case([x, gamma, 1e-6, Tensor(x.dtype, x.shape), Tensor('f32', rstd.shape)],
                {3: Want(wide(x) * rstd * (1 + wide(gamma)), 1.0, loose=4), 4: Want(rstd, rstd)})


@TABLE.case('MaskedSoftmaxWithRelPosBias')
def biased_softmax(r: Random, form) -> Case:
    dtype, shape = r.pick(form.types['x']), r.full(1, 5, 4)
    x, bias, scale = r.tensor(dtype, shape), r.tensor(dtype, r.part(shape)), r.pick([1.0, 0.25])
    mask = r.tensor(dtype, r.part(shape)) if r.chance() else None
    value = wide(x) * scale + wide(bias) + (wide(mask) if mask else 0)
    value = np.exp(value - value.max(-1, keepdims=True))
    return Case([x, mask, bias, scale, r.int(0, 1), Tensor(dtype, shape)],
                {5: Want(value / value.sum(-1, keepdims=True), loose=8)})


@TABLE.case('ClippedSwiglu')
def clipped_swi_glu(r: Random, form) -> Case:
    shape = list(r.full(2, 4)) if r.chance(0.8) else [r.int(2, 4), r.int(500, 1100)]
    dim, dtype = r.dim(len(shape)), r.pick(form.types['x'])
    shape[dim] *= 2
    x = r.tensor(dtype, shape)
    half = [n // 2 if d == dim % len(shape) else n for d, n in enumerate(shape)]
    rows = int(np.prod(shape[:dim % len(shape)], dtype=np.int64))
    flat, turns = wide(x).reshape(rows, -1), r.chance()
    width = flat.shape[1] // 2
    a, b = (flat[:, ::2], flat[:, 1::2]) if turns else (flat[:, :width], flat[:, width:])
    alpha, limit, bias = r.pick([1.0, 1.702]), r.pick([1.5, 7.0]), r.pick([0.0, 1.0])
    a, b = np.minimum(a, limit), np.clip(b, -limit, limit)
    value, before = a * sigmoid(alpha * a) * (b + bias), r.tensor(dtype, half)
    groups = given(r.rng.integers(0, 4, 3), 'i64') if r.chance() else None
    kept = min(int(groups.data.sum()), rows) if groups else rows
    value[kept:] = wide(before).reshape(rows, -1)[kept:]
    return Case([x, groups, dim, alpha, limit, bias, turns, before], {7: Want(value.reshape(half), loose=4)})


@TABLE.case('ScaledMaskedSoftmax')
def masked_softmax(r: Random, form) -> Case:
    dtype, shape = r.pick(form.types['x']), r.full(1, 4) if r.chance(0.8) else (2, r.int(500, 1100))
    x, mask, scale = r.tensor(dtype, shape), r.tensor('bool', r.part(shape)), r.pick([1.0, 0.25, -2.0])
    value = np.where(mask.data, -10000, wide(x) * scale)
    value = np.exp(value - value.max(-1, keepdims=True))
    return Case([x, mask, scale, False, Tensor(dtype, shape)], {4: Want(value / value.sum(-1, keepdims=True), loose=4)})


@TABLE.case('GeGluV3')
def ge_glu(r: Random, form) -> Case:
    x, dim, (a, b) = halves(r, r.pick(form.types['self']))
    approximate, left = r.int(0, 1), r.chance()
    active, other = (a, b) if left else (b, a)
    bent = (gelu_tanh if approximate else gelu)(active)
    outs = [Tensor(x.dtype, a.shape), Tensor(x.dtype, a.shape)]
    return Case([x, dim, approximate, left, *outs], {4: Want(bent * other, loose=4), 5: Want(bent, loose=2)})


def channels(r: Random, dtype: str):
    """An input, the dimensions that a channel has, and the shape of what there is one of for each channel."""
    x = r.tensor(dtype, (r.int(1, 4), r.int(1, 4), *r.full(0, 3, 5)))
    return x, (0, *range(2, len(x.shape))), (1, -1, *[1] * (len(x.shape) - 2))


@TABLE.case('GroupNormSwish')
def group_norm_swish(r: Random, form) -> Case:
    group, n = r.int(1, 3), r.int(1, 3)
    c, inner, kind = group * r.int(1, 3), r.full(0, 3, 4), r.pick(form.types['x'])
    x = r.tensor(kind, (n, c, *inner))
    own = r.pick([kind, 'f32'])
    gamma, beta = [r.tensor(own, (c,)) for _ in range(2)]
    value, mean, rstd = normalise(wide(x).reshape(n, group, -1), 2, 1e-5)
    column = (-1, *[1] * len(inner))
    value = value.reshape(x.shape) * wide(gamma).reshape(column) + wide(beta).reshape(column)
    swishes, scale = r.chance(), r.pick([1.0, 1.702, -0.5])
    value = value * sigmoid(scale * value) if swishes else value
    outs = [Tensor(kind, x.shape)] + [Tensor(own, (n, group)) for _ in range(2)]
    return Case([x, gamma, beta, group, r.pick([None, b'NCHW']), 1e-5, swishes, scale, *outs],
                {8: Want(value, 8 + np.max(rstd), loose=4), 9: Want(mean.reshape(n, group), 4.0, kind),
                 10: Want(rstd.reshape(n, group), rstd.reshape(n, group), kind, loose=4)})


@TABLE.case('GroupNormSwishGrad')
def group_norm_swish_grad(r: Random, form) -> Case:
    group, n = r.int(1, 3), r.int(1, 3)
    c, inner, kind = group * r.int(1, 3), r.full(0, 3, 4), r.pick(form.types['x'])
    shape, parts, own = (n, c, *inner), (n, group, c // group, int(np.prod(inner, dtype=int))), r.pick([kind, 'f32'])
    x, dy = r.tensor(kind, shape), r.tensor(kind, shape)
    gamma, beta = [r.tensor(own, (c,)) for _ in range(2)]
    data, where = wide(x).reshape(parts), (2, 3)
    mean, rstd = [given(v.reshape(n, group), own) for v in
                  (data.mean(where), 1 / np.sqrt(data.var(where) + 1e-3))]
    flat = (data - wide(mean).reshape(n, group, 1, 1)) * wide(rstd).reshape(n, group, 1, 1)
    weight, scale = wide(gamma).reshape(1, group, -1, 1), r.pick([1.0, 1.702, -0.5])
    z = flat * weight + wide(beta).reshape(1, group, -1, 1)
    gate = sigmoid(scale * z)
    g = wide(dy).reshape(parts) * (gate + scale * z * gate * (1 - gate))
    scaled = g * weight
    common, slope = [v.mean(where, keepdims=True) for v in (scaled, scaled * flat)]
    s = wide(rstd).reshape(n, group, 1, 1)
    value, size = s * (scaled - common - flat * slope), s * (np.abs(scaled) + np.abs(common) + np.abs(flat * slope) + 4)
    wanted, outs = [r.chance(0.8), r.chance(0.8)], [Tensor(own, (c,)), Tensor(own, (c,))]
    wants = {11: Want(value.reshape(shape), size.reshape(shape), loose=4)}
    for i, term in enumerate((g * flat, g)):
        if wanted[i]:
            wants[12 + i] = Want(term.sum((0, 3)).reshape(c), (np.abs(term) + 1).sum((0, 3)).reshape(c), kind, loose=4)
        else:
            outs[i] = None
    return Case([dy, mean, rstd, x, gamma, beta, group, r.pick([None, b'NCHW']), scale, *wanted, Tensor(kind, shape), *outs], wants)


@TABLE.case('BatchNormStats BatchNormReduce')
def device_statistics(r: Random, form) -> Case:
    x, where, _ = channels(r, r.pick(form.types['x' if 'Reduce' in form.name else 'input']))
    data, outs = wide(x), [Tensor('f32', (x.shape[1],)) for _ in range(2)]
    if form.name == 'BatchNormReduce':
        return Case([x, *outs], {1: Want(data.sum(where), np.abs(data).sum(where)), 2: Want((data ** 2).sum(where), 1.0)})
    spread = 1 / np.sqrt(data.var(where) + 1e-3)
    return Case([x, 1e-3, *outs], {2: Want(data.mean(where), 4.0), 3: Want(spread, spread ** 3, loose=4)})


@TABLE.case('BatchNormElemt')
def normalised_by_device_statistics(r: Random, form) -> Case:
    x, where, column = channels(r, r.pick(form.types['input']))
    own, c = r.pick([x.dtype, 'f32']), (x.shape[1],)
    mean, spread = r.tensor(own, c), r.tensor(own, c, 0.2, 4)
    weight, bias = [r.tensor(own, c) if r.chance(0.7) else None for _ in range(2)]
    value = (wide(x) - wide(mean).reshape(column)) * wide(spread).reshape(column)
    value = value * (wide(weight).reshape(column) if weight else 1) + (wide(bias).reshape(column) if bias else 0)
    return Case([x, weight, bias, mean, spread, 1e-5, Tensor(x.dtype, x.shape)], {6: Want(value, 64.0 if x.dtype == 'f32' else 0.1)})


@TABLE.case('BatchNormReduceBackward')
def device_gradient_sums(r: Random, form) -> Case:
    x, where, column = channels(r, r.pick(form.types['input']))
    own, c = r.pick([x.dtype, 'f32']), (x.shape[1],)
    grad, mean, spread = r.tensor(x.dtype, x.shape), r.tensor(own, c), r.tensor(own, c, 0.2, 4)
    away = wide(grad) * (wide(x) - wide(mean).reshape(column))
    sums, sizes = [[v.sum(where) for v in pair] for pair in ((wide(grad), away), (np.abs(wide(grad)), np.abs(away)))]
    asked = [r.chance(0.8) for _ in range(3)]
    flags, outs = [asked[0], asked[0], asked[1], asked[2]], [Tensor(own, c) for _ in range(4)]
    values = [(sums[0], sizes[0]), (sums[1], sizes[1]), (sums[1] * wide(spread), sizes[1] * 4), (sums[0], sizes[0])]
    wants = {8 + i: Want(value, size + 0.1) for i, ((value, size), wanted) in enumerate(zip(values, flags)) if wanted}
    outs = [out if wanted else None for out, wanted in zip(outs, flags)]
    return Case([grad, x, mean, spread, r.tensor(own, c) if r.chance() else None, *asked, *outs], wants)


@TABLE.case('BatchNormElemtBackward')
def device_gradient(r: Random, form) -> Case:
    x, where, column = channels(r, r.pick(form.types['input']))
    own, c = r.pick([x.dtype, 'f32']), (x.shape[1],)
    grad, mean, spread = r.tensor(x.dtype, x.shape), r.tensor(own, c), r.tensor(own, c, 0.2, 2)
    sums, products = r.tensor(own, c), r.tensor(own, c)
    weight, counts = r.tensor(own, c) if r.chance(0.7) else None, r.tensor(r.pick(form.types['counter']), (r.int(1, 4),), 1, 9)
    n = wide(counts).sum()
    m, s, a, b = [wide(t).reshape(column) for t in (mean, spread, sums, products)]
    w = wide(weight).reshape(column) if weight else 1
    slope = (wide(x) - m) * s ** 2 * b / n
    value, size = (wide(grad) - a / n - slope) * s * w, (np.abs(wide(grad)) + np.abs(a / n) + np.abs(slope)) * s * np.abs(w)
    want = Want(value, size if x.dtype == 'f32' else size / 100, loose=2)
    return Case([grad, x, mean, spread, weight, sums, products, counts, Tensor(x.dtype, x.shape)], {8: want})


@TABLE.case('BatchNormGatherStatsWithCounts')
def gathered_statistics(r: Random, form) -> Case:
    devices, c, kind = r.int(1, 4), r.int(1, 4), r.pick(form.types['mean'])
    means, spreads = r.tensor(kind, (devices, c)), r.tensor(kind, (devices, c), 0.5, 2)
    counts = given(r.rng.integers(2, 9, devices), r.pick(form.types['counts']))
    n, m = wide(counts)[:, None], wide(means)
    middle = (m * n).sum(0) / n.sum()
    squares = ((1 / wide(spreads) ** 2 - 1e-3 + (m - middle) ** 2) * n).sum(0)
    running = [r.tensor(kind, (c,)), r.tensor(kind, (c,), 0.5, 2)] if r.chance(0.8) else [None, None]
    wants = {8: middle, 9: 1 / np.sqrt(squares / n.sum() + 1e-3)}
    if running[0]:
        wants |= {3: 0.75 * wide(running[0]) + 0.25 * middle, 4: 0.75 * wide(running[1]) + 0.25 * squares / (n.sum() - 1)}
    outs = [Tensor(kind, (c,)), Tensor(kind, (c,))]
    return Case([r.tensor(kind, (2, c, 3)), means, spreads, *running, 0.25, 1e-3, counts, *outs], wants)


@TABLE.case('SyncBatchNormGatherStats')
def gathered_sums(r: Random, form) -> Case:
    devices, c, kind = r.int(1, 4), r.int(1, 4), r.pick(form.types['totalSum'])
    counts = given(r.rng.integers(2, 9, devices), r.pick(form.types['sampleCount']))
    n = wide(counts)[:, None]
    sums = given(r.rng.uniform(-2, 2, (devices, c)) * n, kind)
    squares = given(r.rng.uniform(5, 9, (devices, c)) * n, kind)
    middle = wide(sums).sum(0) / n.sum()
    spread = wide(squares).sum(0) / n.sum() - middle ** 2
    running = [r.tensor(kind, (c,)), r.tensor(kind, (c,), 0.5, 2)]
    wants = {3: 0.75 * wide(running[0]) + 0.25 * middle, 4: 0.75 * wide(running[1]) + 0.25 * spread * n.sum() / (n.sum() - 1),
             7: middle, 8: 1 / np.sqrt(spread + np.float64(np.float32(1e-3)))}
    return Case([sums, squares, counts, *running, 0.25, 1e-3, Tensor(kind, (c,)), Tensor(kind, (c,))], wants)


@TABLE.case('Renorm InplaceRenorm')
def renorm(r: Random, form) -> Case:
    x = r.tensor(r.pick(form.types['self']), r.shape(0, 4))
    dim, p, most = r.dim(len(x.shape)), r.pick([1.0, 2.0, 3.0, 0.5, float('inf')]), r.pick([0.0, 2.5, 6.0])
    data = wide(x)
    sizes = np.abs(data)
    others = tuple(d for d in range(len(x.shape)) if d != dim % len(x.shape)) if x.shape else ()
    if others:
        sizes = np.max(sizes, axis=others, keepdims=True, initial=0) if np.isinf(p) else np.sum(sizes ** p, axis=others, keepdims=True) ** (1 / p)
    value = data * np.where(sizes > most, most / (sizes + 1e-7), 1)
    scalars = [Scalar(p, 'f32'), dim, Scalar(most, 'f32')]
    want = Want(value, 0.1, loose=4)
    return Case([x, *scalars], {0: want}) if form.in_place else Case([x, *scalars, Tensor(x.dtype, x.shape)], {4: want})


def with_last(r: Random, shape) -> tuple[tuple, tuple, tuple, tuple]:
    """The sizes and the dimensions that are normalised, the others, and the shape of the statistics."""
    count = r.int(1, len(shape))
    return shape[-count:], tuple(range(-count, 0)), tuple(range(len(shape) - count)), (*shape[:-count], *[1] * count)


@TABLE.case('AddRmsNormCast')
def add_rms_norm_cast(r: Random, form) -> Case:
    dtype, shape = r.pick(form.types['x1']), r.full(1, 4)
    inner, where, _, rows = with_last(r, shape)
    x1, x2, gamma = r.tensor(dtype, shape), r.tensor(dtype, shape), r.tensor(dtype, inner)
    total = given(x1.data.astype(np.float64) + wide(x2), dtype)  # what is stored is what is normalised
    rstd = 1 / np.sqrt(np.mean(wide(total) ** 2, axis=where, keepdims=True) + 1e-6)
    value = wide(total) * rstd * wide(gamma)
    outs = [Tensor('f32', shape), Tensor(dtype, shape), Tensor('f32', rows), Tensor(dtype, shape)]
    return Case([x1, x2, gamma, 1e-6, *outs], {4: Want(value, 4.0, loose=4), 5: Want(value, 1.0), 6: Want(rstd.reshape(rows), rstd.reshape(rows), loose=4),
                                               7: Want(wide(total), 0)})


@TABLE.case('DeepNorm')
def deep_norm(r: Random, form) -> Case:
    dtype, shape, alpha = r.pick(form.types['x']), r.full(1, 4), r.pick([0.25, 1.0, -0.5])
    inner, where, _, rows = with_last(r, shape)
    x, gx, beta, gamma = [r.tensor(dtype, s) for s in (shape, shape, inner, inner)]
    value, mean, rstd = normalise(alpha * wide(x) + wide(gx), where, 1e-3)
    value = value * wide(gamma) + wide(beta)
    outs = [Tensor('f32', rows), Tensor('f32', rows), Tensor(dtype, shape)]
    return Case([x, gx, beta, gamma, alpha, 1e-3, *outs],
                {6: Want(mean, 8.0), 7: Want(rstd, rstd, loose=16), 8: Want(value, 8 + rstd, loose=4)})


@TABLE.case('DeepNormGrad')
def deep_norm_gradient(r: Random, form) -> Case:
    dtype, alpha = r.pick(form.types['x']), r.pick([0.25, 1.0, -0.5])
    shape = r.full(1, 4) if r.chance(0.8) else (r.int(100, 300), r.int(60, 90))
    inner, where, lead, rows = with_last(r, shape)
    dy, x, gx, gamma = [r.tensor(dtype, s) for s in (shape, shape, shape, inner)]
    total = alpha * wide(x) + wide(gx)
    mean = given(np.mean(total, axis=where, keepdims=True).reshape(rows), 'f32')
    rstd = given((1 / np.sqrt(np.var(total, axis=where, keepdims=True) + 1e-2)).reshape(rows), 'f32')
    flat, grad = (total - wide(mean)) * wide(rstd), wide(dy) * wide(gamma)
    slope, level = np.mean(grad * flat, axis=where, keepdims=True), np.mean(grad, axis=where, keepdims=True)
    value = wide(rstd) * (grad - level - flat * slope)
    size = wide(rstd) * (np.abs(grad) + np.mean(np.abs(grad), axis=where, keepdims=True) + np.abs(flat * slope))
    weight, bias = np.sum(wide(dy) * flat, axis=lead), np.sum(wide(dy), axis=lead)
    sizes = [np.sum(np.abs(wide(dy) * flat), axis=lead) + 1, np.sum(np.abs(wide(dy)), axis=lead) + 4]
    outs = [Tensor(dtype, shape), Tensor(dtype, shape), Tensor('f32', inner), Tensor('f32', inner)]
    return Case([dy, x, gx, gamma, mean, rstd, alpha, *outs],
                {7: Want(alpha * value, size + 4, loose=4), 8: Want(value, size + 4, loose=4), 9: Want(bias, sizes[1]),
                 10: Want(weight, sizes[0], loose=4)})
