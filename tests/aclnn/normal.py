"""Functions that scale along dimensions: softmax, normalisation, gated units, losses."""
from __future__ import annotations

import numpy as np

from cases import Case, Table, Want
from elementwise import gelu, gelu_tanh, sigmoid
from values import NCHW, ND, Random, Tensor, given

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


@TABLE.case('LayerNorm')
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
