"""Gradients of functions, from that of their results."""
from __future__ import annotations

import itertools

import numpy as np

from cases import Case, Table, Want
from linear import convolve, convolve_back
from normal import halves, soften
from pixel import (adaptive_bounds, chosen, cubic_weights, image, linear_weights, max_pool_of, nearest_places, out_of, resize_scales,
                   pool_parameters, windows)
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
    return Case([grad, x, Tensor(dtype, shape)], {2: Want(wide(grad.data) * gelu_slope(wide(x.data), tanh=False), 2.0)})


@TABLE.case('ThresholdBackward', broadcasts=True)
def threshold(r: Random, form) -> Case:
    dtype, shape = r.pick(form.types['self']), r.shape()
    grad, x = r.tensor(dtype, r.part(shape)), r.tensor(dtype, shape)
    limit = Scalar(r.int(-3, 6) / 2, 'f32')
    value = np.where(wide(x.data) > limit.value, wide(grad.data), 0)
    return Case([grad, x, limit, Tensor(dtype, shape)], {3: value.astype(DTYPES[dtype].logical)})


@TABLE.case('SigmoidBackward')
def sigmoid_of_result(r: Random, form) -> Case:
    dtype, shape = r.pick(form.types['output']), r.shape()
    grad, y = r.tensor(dtype, shape), r.tensor(dtype, shape, 0, 1)
    value = wide(grad.data) * wide(y.data) * (1 - wide(y.data))
    return Case([grad, y, Tensor(dtype, shape)], {2: Want(value, 1.0)})


@TABLE.case('TanhBackward', broadcasts=True)
def tanh_of_result(r: Random, form) -> Case:
    dtype, shape = r.pick(form.types['output']), r.shape()
    grad, y = r.tensor(dtype, r.part(shape)), r.tensor(dtype, shape, -1, 1)
    value = wide(grad.data) * (1 - wide(y.data) ** 2)
    return Case([grad, y, Tensor(dtype, shape)], {2: Want(value, 4.0)})


@TABLE.case('LeakyReluBackward', broadcasts=True)
def leaky_relu(r: Random, form) -> Case:
    dtype, shape, of_result = r.pick(form.types['self']), r.shape(), r.chance()
    grad, x = r.tensor(dtype, r.part(shape)), r.tensor(dtype, shape)
    slope = r.pick([0.0, 0.01, 0.5] if of_result else [0.0, 0.01, 0.5, -0.25])
    value = np.where(wide(x.data) > 0, 1, slope) * wide(grad.data)
    return Case([grad, x, Scalar(slope, 'f64'), of_result, Tensor(dtype, shape)], {4: Want(value, 1.0)})


@TABLE.case('EluBackward')
def elu(r: Random, form) -> Case:
    dtype, shape, of_result = r.pick(form.types['selfOrResult']), r.shape(), r.chance()
    alpha, scale, inner = r.pick([0.5, 1.0, 1.75]), r.pick([1.0, 1.25]), r.pick([1.0, 0.5])
    grad, x = r.tensor(dtype, shape), r.tensor(dtype, shape, -4, 4)
    a = wide(x.data)
    fallen = scale * alpha * np.exp(np.minimum(a, 0) * inner)  # of the operand, where it is not positive
    value = np.where(a > 0, scale, inner * (a + scale * alpha if of_result else fallen)) * wide(grad.data)
    scalars = [Scalar(number, 'f32') for number in (alpha, scale, inner)]
    return Case([grad, *scalars, of_result, x, Tensor(dtype, shape)], {6: Want(value, 8.0)})


@TABLE.case('HardsigmoidBackward')
def hardsigmoid(r: Random, form) -> Case:
    dtype, shape = r.pick(form.types['self']), r.shape()
    grad, x = r.tensor(dtype, shape), given(r.array('f32', shape, -10, 10) / 2, dtype)
    return Case([grad, x, Tensor(dtype, shape)],
                {2: Want(np.where(np.abs(wide(x.data)) < 3, wide(grad.data) / 6, 0), 1.0)})


@TABLE.case('HardswishBackward HardswishBackwardV2')
def hardswish(r: Random, form) -> Case:
    dtype, shape = r.pick(form.types['self']), r.shape()
    grad, x = r.tensor(dtype, shape), given(r.array('f32', shape, -10, 10) / 2, dtype)
    a = wide(x.data)
    slope = np.where(a <= -3, 0, np.where(a >= 3, 1, a / 3 + 0.5))
    return Case([grad, x, Tensor(dtype, shape)], {2: Want(wide(grad.data) * slope, 4.0)})


def gelu_slope(a: np.ndarray, tanh: bool) -> np.ndarray:
    if not tanh:
        return 0.5 * (1 + erf(a / np.sqrt(2))) + a * np.exp(-a * a / 2) / np.sqrt(2 * np.pi)
    inner = np.tanh(np.sqrt(2 / np.pi) * (a + 0.044715 * a ** 3))
    return 0.5 * (1 + inner) + 0.5 * a * (1 - inner ** 2) * np.sqrt(2 / np.pi) * (1 + 3 * 0.044715 * a * a)


@TABLE.case('GeluBackwardV2', broadcasts=True)
def gelu_of_either(r: Random, form) -> Case:
    dtype, shape, name = r.pick(form.types['self']), r.shape(), r.pick([b'none', b'tanh'])
    grad, x = r.tensor(dtype, r.part(shape)), r.tensor(dtype, shape, -6, 6)
    value = wide(grad.data) * gelu_slope(wide(x.data), name == b'tanh')
    return Case([grad, x, name, Tensor(dtype, shape)], {3: Want(value, 4.0)})


@TABLE.case('GeGluV3Backward GeGluBackward')
def ge_glu(r: Random, form) -> Case:
    x, dim, (a, b) = halves(r, r.pick(form.types['self']))
    approximate, left = (r.int(0, 1), r.chance()) if 'V3' in form.name else (1, False)
    grad, bent = r.tensor(x.dtype, a.shape), r.tensor(x.dtype, a.shape)
    active, gate = (a, b) if left else (b, a)
    parts = [wide(grad.data) * gate * gelu_slope(active, bool(approximate)), wide(grad.data) * wide(bent.data)]
    value = np.concatenate(parts if left else parts[::-1], dim)
    arguments = [grad, x, bent, dim, approximate, *[left] * ('V3' in form.name), Tensor(x.dtype, x.shape)]
    return Case(arguments, {len(arguments) - 1: Want(value, 16.0, loose=2)})


@TABLE.case('ScaledMaskedSoftmaxBackward')
def masked_softmax(r: Random, form) -> Case:
    dtype, shape = r.pick(form.types['y']), r.full(1, 4) if r.chance(0.8) else (2, r.int(500, 1100))
    grad, y = r.tensor(dtype, shape), r.tensor(dtype, shape, 0, 1)
    mask, scale = r.tensor('bool', r.part(shape)), r.pick([1.0, 0.25, -2.0])
    g, p = wide(grad.data), wide(y.data)
    value = np.where(mask.data, 0, scale * p * (g - (g * p).sum(-1, keepdims=True)))
    return Case([grad, y, mask, scale, False, Tensor(dtype, shape)], {5: Want(value, 4.0 * shape[-1], loose=2)})


@TABLE.case('FastGeluBackward')
def fast_gelu(r: Random, form) -> Case:
    dtype, shape = r.pick(form.types['self']), r.shape()
    grad, x = r.tensor(dtype, shape), r.tensor(dtype, shape, -8, 8)
    a, gate = wide(x.data), sigmoid(1.702 * wide(x.data))
    return Case([grad, x, Tensor(dtype, shape)],
                {2: Want(wide(grad.data) * (gate + 1.702 * a * gate * (1 - gate)), 4.0)})


@TABLE.case('LogitGrad')
def log_odds(r: Random, form) -> Case:
    dtype, shape, eps = r.pick(form.types['x']), r.shape(), r.pick([-1.0, 0.0, 0.125])
    x, grad = r.tensor(dtype, shape, -0.25, 1.25), r.tensor(dtype, shape)
    a, least = wide(x.data), max(eps, 0)
    with np.errstate(divide='ignore', invalid='ignore'):
        slope = np.where((a < least) | (a > 1 - least), np.nan if eps < 0 else 0, 1 / (a * (1 - a)))
        value = slope * wide(grad.data)
    return Case([x, grad, eps, Tensor(dtype, shape)], {3: Want(value, 1 + np.abs(value))})


@TABLE.case('HardtanhBackward')
def hardtanh(r: Random, form) -> Case:
    dtype, shape = r.pick(form.types['self']), r.shape()
    grad, x = r.tensor(dtype, shape), r.tensor(dtype, shape)
    low, high = r.pick([-2, -1, 0]), r.pick([1, 2.5])
    a = wide(x.data)
    return Case([grad, x, Scalar(low, 'i64'), Scalar(high, 'f32'), Tensor(dtype, shape)],
                {4: Want(np.where((a > low) & (a < high), wide(grad.data), 0), 1.0)})


@TABLE.case('MishBackward')
def mish(r: Random, form) -> Case:
    dtype, shape = r.pick(form.types['self']), r.shape()
    grad, x = r.tensor(dtype, shape), r.tensor(dtype, shape, -8, 8)
    a = wide(x.data)
    bent = np.tanh(np.log1p(np.exp(a)))
    value = wide(grad.data) * (bent + a * (1 - bent * bent) * sigmoid(a))
    return Case([grad, x, Tensor(dtype, shape)], {2: Want(value, 4.0)})


@TABLE.case('HardshrinkBackward SoftshrinkBackward')
def shrink(r: Random, form) -> Case:
    dtype, shape = r.pick(form.types['self']), r.shape()
    grad, x = r.tensor(dtype, shape), r.tensor(dtype, shape)
    limit = r.pick([0.5, 0.0, 1.0] + [-0.5] * (form.name == 'HardshrinkBackward'))
    value = np.where(np.abs(wide(x.data)) <= limit, 0, wide(grad.data))
    return Case([grad, x, Scalar(limit, 'f64'), Tensor(dtype, shape)], {3: Want(value, 1.0)})


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
    if rows and ignored >= 0:
        chosen[0] = (ignored + 1) % classes  # one that counts
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


@TABLE.case('AddLayerNormGrad')
def add_layer_norm(r: Random, form) -> Case:
    dtype, shape = r.pick(form.types['x1']), r.full(1, 4) if r.chance(0.8) else (r.int(100, 300), r.int(60, 90))
    count = r.int(1, len(shape))
    inner, where = shape[-count:], tuple(range(-count, 0))
    grad, x1, x2 = [r.tensor(dtype, shape) for _ in range(3)]
    total = wide(x1.data) + wide(x2.data)
    mean, rstd, m, s = statistics(total, where, 'f32', [*shape[:-count], *[1] * count])
    gamma, more = r.tensor(dtype, inner), r.tensor(dtype, shape) if r.chance() else None
    value, slope, size = norm_gradient(wide(grad.data), total, m, s, wide(gamma.data), where)
    lead = tuple(range(len(shape) - count))
    value, slope_size = value + (wide(more.data) if more else 0), np.sum(np.abs(slope), axis=lead)
    outs = [Tensor(dtype, shape), Tensor('f32', inner), Tensor('f32', inner)]
    return Case([grad, x1, x2, rstd, mean, gamma, more, *outs],
                {7: Want(value, size + 4, loose=4), 8: Want(np.sum(slope, axis=lead), slope_size + 1, loose=4),
                 9: Want(np.sum(wide(grad.data), axis=lead), slope_size + 4)})


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
    if r.chance(0.2):  # only how many there are matters
        grad = given(grad.data.reshape(-1), dtype)
    return masked(Case([grad, x, mean, rstd, gamma, n, c, area, group, mask, *outs], wants), 10, mask, r)


@TABLE.case('BatchNormBackward')
def batch_norm(r: Random, form) -> Case:
    dtype, training = r.pick(form.types['input']), r.chance(0.7)
    c = r.int(15, 40) if r.chance(0.2) else r.int(1, 4)  # more than are read together
    shape = (r.int(2, 4), c, *([r.int(500, 1100)] if r.chance(0.1) else r.full(0, 3, 5)))
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
    groups, each, outs = r.pick([1, 2, r.int(3, 20)]), r.width(1, 3), r.int(1, 3)
    if spatial < 3 and r.chance(0.2):
        groups, each, outs = r.int(1, 2), r.int(10, 40), r.int(5, 20)
    kernel = [r.int(1, 3) for _ in range(spatial)]
    stride, dilation = [[r.int(1, most) for _ in range(spatial)] for most in (2, 3)]
    padding = [r.int(0, k // 2) for k in kernel]
    if r.chance(0.2):
        stride, dilation, padding = kernel, [1] * spatial, [0] * spatial  # patches
    extra = [r.int(0, max(s, d) - 1) if back else 0 for s, d in zip(stride, dilation)]
    longest = r.pick([60, 1500]) if spatial == 1 else 9
    size = [r.int(d * (k - 1) + 1, longest) for k, d in zip(kernel, dilation)]
    if r.chance(0.3):
        size = [n // s * s if n >= s * (k + d) else n for n, s, k, d in zip(size, stride, kernel, dilation)]
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
            # Windows that begin in the padding behind the result belong to no element of the input.
            return (convolve(g, w, stride, padding, dilation, groups)[(..., *map(slice, size))],
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


def dilated_max_pool_of(x: Tensor, kernel, stride, padding, dilation):
    sizes = [(n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, s, p, d in zip(x.shape[-2:], kernel, stride, padding, dilation)]
    values, places = [np.zeros((*x.shape[:2], *sizes), t) for t in (x.data.dtype, np.int64)]
    for i, j in np.ndindex(*sizes):
        rows, columns = [[a for a in range(at * s - p, at * s - p + d * k, d) if 0 <= a < n] for at, n, k, s, p, d in zip(
            (i, j), x.shape[-2:], kernel, stride, padding, dilation)]
        at = (np.array(rows)[:, None] * x.shape[-1] + columns).reshape(-1)
        places[..., i, j] = at[x.data.reshape(*x.shape[:2], -1)[..., at].argmax(-1)]
        values[..., i, j] = np.take_along_axis(x.data.reshape(*x.shape[:2], -1), places[..., i, j][..., None], -1)[..., 0]
    return values, places


def pool_mask(x: Tensor, value, places, kernel, stride, padding, dilation) -> np.ndarray:
    """Byte p of row k: whether place p of the result came from element k of its window."""
    rows, columns = value.shape[-2:]
    mask = np.zeros((*x.shape[:-2], kernel[0] * kernel[1], ((rows * columns + 15) // 16 + 1) * 32), np.int8)
    at_row, at_column = np.divmod(places, x.shape[-1])
    tap = ((at_row - (np.arange(rows) * stride[0] - padding[0])[:, None]) // dilation[0] * kernel[1]
           + (at_column - (np.arange(columns) * stride[1] - padding[1])) // dilation[1])
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
    dilation = [r.int(1, 3), r.int(1, 3)] if r.chance(0.3) else [1, 1]
    unseen = any(n + 2 * p <= d * (k - 1) or d > n for n, k, p, d in zip(x.shape[-2:], kernel, padding, dilation))
    if unseen or dilation == [1, 1]:  # a window could lie in the padding alone
        dilation = [1, 1]
        value, places = max_pool_of(x, kernel, stride, [(p, p) for p in padding], ceil)
    else:
        ceil = False
        value, places = dilated_max_pool_of(x, kernel, stride, padding, dilation)
    mask = pool_mask(x, value, places, kernel, stride, padding, dilation)
    grad = r.array(dtype, value.shape)
    back = np.zeros((*x.shape[:2], x.shape[2] * x.shape[3]))
    for n, c in np.ndindex(*x.shape[:2]):
        np.add.at(back[n, c], places[n, c].reshape(-1), wide(grad[n, c]).reshape(-1))
    data, value, mask, grad, back = without_batch(r, x.data, value, mask, grad, back.reshape(x.shape))
    size = np.full(back.shape, 9.0)
    windows = [kernel, [] if stride == kernel and r.chance() else stride, padding, dilation, ceil]
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


@TABLE.case('SwiGluGrad')
def swi_glu(r: Random, form) -> Case:
    x, dim, (a, b) = halves(r, r.pick(form.types['x']))
    grad = r.tensor(x.dtype, a.shape)
    gate, g = sigmoid(a), wide(grad.data)
    value = np.concatenate([g * b * (gate + a * gate * (1 - gate)), g * a * gate], dim)
    return Case([grad, x, dim, Tensor(x.dtype, x.shape)], {3: Want(value, 16.0, loose=2)})


def turned(grad: Tensor, maps: list[np.ndarray]) -> Want:
    """The gradient of what each of the last dimensions was multiplied by."""
    value = grad.data if DTYPES[grad.dtype].logical in (np.complex64, np.complex128) else wide(grad.data)
    size = np.abs(value)
    for axis, matrix in zip(range(value.ndim - len(maps), value.ndim), maps):
        value, size = [np.moveaxis(np.tensordot(m, v, (0, axis)), 0, axis) for m, v in ((matrix, value), (np.abs(matrix), size))]
    return Want(value, size + 1, loose=2)


def picks(places, n: int) -> np.ndarray:
    return np.eye(n)[places]


RESIZES = {'Nearest1d': 1, 'Nearest2d': 2, 'Nearest3d': 3, 'NearestExact1d': 1, 'NearestExact2d': 2, 'NearestExact3d': 3,
           'Linear1d': 1, 'Bilinear2d': 2, 'Bicubic2d': 2, 'Trilinear3d': 3}


@TABLE.case('UpsampleBilinear2dBackwardV2 ' + ' '.join(f'Upsample{kind}Backward' for kind in RESIZES))
def resized(r: Random, form) -> Case:
    kind = form.name.removeprefix('Upsample').removesuffix('V2').removesuffix('Backward')
    spatial, dtype, corners = RESIZES[kind], r.pick(form.types['gradOutput']), r.chance()
    sizes, lead = [(r.size(1, 6), r.size(1, 8)) for _ in range(spatial)], (r.int(1, 2), r.int(1, 3))
    scales = resize_scales(r, sizes)
    if kind.startswith('Nearest'):
        maps, corner = [picks(nearest_places(n, m, s, 'Exact' in kind), n) for (n, m), s in zip(sizes, scales)], []
    else:
        weights = cubic_weights if kind == 'Bicubic2d' else linear_weights
        maps, corner = [weights(n, m, corners, s) for (n, m), s in zip(sizes, scales)], [corners]
    grad = r.tensor(dtype, (*lead, *[m for _, m in sizes]))
    shape = (*lead, *[n for n, _ in sizes])
    arguments = [grad, [m for _, m in sizes], list(shape), *corner, *scales, Tensor(dtype, shape)]
    return Case(arguments, {len(arguments) - 1: turned(grad, maps)})


@TABLE.case(' '.join(f'{kind}Pad{n}dBackward' for kind in ('Reflection', 'Replication') for n in (1, 2, 3)))
def padded(r: Random, form) -> Case:
    spatial, reflects, dtype = int(form.name[-10]), form.name.startswith('Reflection'), r.pick(form.types['self'])
    shape = tuple(r.int(1, 3) for _ in range(r.int(1, 2))) + tuple(r.size(2, 5) for _ in range(spatial))
    pads = [(r.int(0, n - 1 if reflects else 4), r.int(0, n - 1 if reflects else 4)) for n in shape[-spatial:]]
    maps = [picks(np.pad(np.arange(n), pad, 'reflect' if reflects else 'edge'), n) for n, pad in zip(shape[-spatial:], pads)]
    grad = r.tensor(dtype, (*shape[:-spatial], *[len(m) for m in maps]))
    padding = [p for pair in pads[::-1] for p in pair]
    return Case([grad, r.tensor(dtype, shape), padding, Tensor(dtype, shape)], {3: turned(grad, maps)})


def means(n: int, kernel: int, stride: int, padding: int, ceil: bool, counts_padding: bool, override: bool) -> np.ndarray:
    rows = []
    span = n + 2 * padding - kernel
    count = (-(-span // stride) if ceil else span // stride) + 1
    count -= ceil and (count - 1) * stride >= n + padding
    for i in range(count):
        low = i * stride - padding
        high = min(low + kernel, n + padding)
        row = np.zeros(n)
        row[max(low, 0):min(high, n)] = 1
        rows.append(row / (1 if override else high - low if counts_padding else max(row.sum(), 1)))
    return np.array(rows)


@TABLE.case('AvgPool2dBackward AvgPool3dBackward')
def mean_pool(r: Random, form) -> Case:
    spatial, dtype = int(form.name[7]), r.pick(form.types['self'])
    sizes = [r.size(2, 7) for _ in range(spatial)]
    kernel, stride = [r.int(1, min(3, n)) for n in sizes], [r.int(1, 3) for _ in sizes]
    padding, ceil, counts, divisor = [r.int(0, k // 2) for k in kernel], r.chance(), r.chance(), r.pick([0, 0, 3])
    maps = [means(*numbers, ceil, counts, divisor != 0) for numbers in zip(sizes, kernel, stride, padding)]
    maps[0] = maps[0] / (divisor or 1)
    lead = tuple(r.int(1, 3) for _ in range(r.int(1, 2)))
    grad = r.tensor(dtype, (*lead, *[len(m) for m in maps]))
    stride = [] if stride == kernel and r.chance() else stride
    rest = [0] if spatial == 2 else []
    arguments = [grad, r.tensor(dtype, (*lead, *sizes)), kernel, stride, padding, ceil, counts, divisor, *rest, Tensor(dtype, (*lead, *sizes))]
    return Case(arguments, {len(arguments) - 1: turned(grad, maps)})


@TABLE.case('AdaptiveAvgPool2dBackward AdaptiveAvgPool3dBackward')
def adaptive_mean(r: Random, form) -> Case:
    dtype, lead = r.pick(form.types['self']), tuple(r.int(1, 3) for _ in range(r.int(1, 2)))
    sizes, maps = [(r.size(1, 7), r.size(1, 5)) for _ in range(int(form.name[-10]))], []
    for n, m in sizes:
        rows = np.zeros((m, n))
        for i in range(m):
            low, high = i * n // m, -(-(i + 1) * n // m)
            rows[i, low:high] = 1 / (high - low)
        maps.append(rows)
    grad = r.tensor(dtype, (*lead, *[m for _, m in sizes]))
    shape = (*lead, *[n for n, _ in sizes])
    return Case([grad, r.tensor(dtype, shape), Tensor(dtype, shape)], {2: turned(grad, maps)})


@TABLE.case('MaxPool3dWithArgmaxBackward AdaptiveMaxPool2dBackward MaxPool2dWithIndicesBackward AdaptiveMaxPool3dBackward')
def by_places(r: Random, form) -> Case:
    spatial, dtype = 3 if '3d' in form.name else 2, r.pick(form.types['self'])
    lead = tuple(r.int(1, 3) for _ in range(r.int(1, 2)))
    shape, size = [tuple(r.int(1, 5) for _ in range(spatial)) for _ in range(2)]
    count = int(np.prod(shape))
    where = given(r.rng.integers(0, count, (*lead, *size)), r.pick(form.types['indices']))
    grad, x = r.tensor(dtype, where.shape), r.tensor(dtype, (*lead, *shape))
    value, sizes = np.zeros((2, int(np.prod(lead)), count))
    for i, (places, parts) in enumerate(zip(where.data.reshape(len(value), -1), wide(grad.data).reshape(len(value), -1))):
        np.add.at(value[i], places, parts)
        np.add.at(sizes[i], places, np.abs(parts))
    windows = [] if form.name.startswith('Adaptive') else [[2] * spatial, [1] * spatial, [0] * spatial, [1] * spatial, False]
    arguments = [grad, x, where, *windows, Tensor(dtype, x.shape)]
    return Case(arguments, {len(arguments) - 1: Want(value.reshape(x.shape), sizes.reshape(x.shape) + 1)})


@TABLE.case('SoftplusBackward')
def softplus(r: Random, form) -> Case:
    dtype, shape = r.pick(form.types['self']), r.shape()
    grad, x = r.tensor(dtype, shape), r.tensor(dtype, shape, -8, 8)
    beta, threshold = r.pick([0.5, 1.0, 2.0]), r.pick([3.5, 20.0])
    a = wide(x.data) * beta
    value = np.where(a > threshold, 1, sigmoid(a)) * wide(grad.data)
    return Case([grad, x, Scalar(beta, 'f32'), Scalar(threshold, 'f32'), Tensor(dtype, shape)], {4: Want(value, 1.0)})


@TABLE.case('LogSigmoidBackward')
def log_sigmoid(r: Random, form) -> Case:
    dtype, shape = r.pick(form.types['self']), r.shape()
    grad, x = r.tensor(dtype, shape), r.tensor(dtype, shape, -8, 8)
    value = wide(grad.data) * sigmoid(-wide(x.data))
    return Case([grad, x, r.tensor(dtype, (0,)), Tensor(dtype, shape)], {3: Want(value, 1.0)})


@TABLE.case('GluBackward')
def glu(r: Random, form) -> Case:
    x, dim, (a, b) = halves(r, r.pick(form.types['self']))
    grad = r.tensor(x.dtype, a.shape)
    gate, g = sigmoid(b), wide(grad.data)
    value = np.concatenate([g * gate, g * a * gate * (1 - gate)], dim)
    return Case([grad, x, dim, Tensor(x.dtype, x.shape)], {3: Want(value, 16.0, loose=2)})


@TABLE.case('KlDivBackward', broadcasts=True)
def divergence(r: Random, form) -> Case:
    dtype, shape, reduction, logarithm = r.pick(form.types['self']), r.shape(), r.int(0, 2), r.chance()
    x = r.tensor(dtype, shape)
    grad = r.tensor(dtype, shape if reduction == 0 else ())
    target = r.tensor(dtype, shape, -3, 2)
    t = wide(target.data)
    value = -wide(grad.data) * (np.exp(t) if logarithm else np.maximum(t, 0))
    value = value / max(x.data.size, 1) if reduction == 1 else value
    value = np.broadcast_to(value, shape)
    return Case([grad, x, target, reduction, logarithm, Tensor(dtype, shape)], {5: Want(value, 9.0)})


@TABLE.case('NLLLoss2d NLLLoss2dBackward')
def nll_of_images(r: Random, form) -> Case:
    dtype, (n, h, w), classes = r.pick(form.types['self']), r.full(3, 3, 4), r.int(2, 5)
    x, weight = r.tensor(dtype, (n, classes, h, w)), r.tensor(dtype, (classes,), 0.5, 2)
    flat, ignored = classes_of(r, form, n * h * w, classes)
    target = given(flat.data.reshape(n, h, w), flat.dtype)
    places, reduction = target.data.astype(np.int64), r.int(0, 2)
    share, at = share_of(wide(weight.data), places, ignored), np.expand_dims(np.clip(places, 0, classes - 1), 1)
    shape = (n, h, w) if reduction == 0 else ()
    if form.name == 'NLLLoss2d':
        each = -share * np.take_along_axis(wide(x.data), at, 1)[:, 0]
        value = [each, np.sum(each) / max(np.sum(share), 1e-9), np.sum(each)][reduction]
        return Case([x, target, weight, reduction, ignored, Tensor(dtype, shape), Tensor(dtype, ())],
                    {5: Want(np.asarray(value), 8.0 * share.size), 6: Want(np.asarray(np.sum(share)), float(share.size))})
    grad, total = r.tensor(dtype, shape), r.tensor(dtype, (), 1, 9)
    value = np.zeros(x.shape)
    np.put_along_axis(value, at, np.expand_dims(-share * wide(grad.data) / (wide(total.data) if reduction == 1 else 1), 1), 1)
    return Case([grad, x, target, weight, reduction, ignored, total, Tensor(dtype, x.shape)], {7: Want(value, 8.0)})


def reduced(value: np.ndarray, reduction: int) -> np.ndarray:
    return value / value.size if reduction == 1 else value


@TABLE.case('BinaryCrossEntropyWithLogitsBackward')
def cross_entropy_with_logits(r: Random, form) -> Case:
    dtype, shape, reduction = r.pick(form.types['self']), r.full(1, 3, 6), r.int(0, 2)
    x, target = r.tensor(dtype, shape, -4, 4), r.tensor(dtype, shape, 0, 1)
    grad = r.tensor(dtype, shape if reduction == 0 else (), -2, 2)
    weight, positive = [r.tensor(dtype, r.part(shape), 0.2, 3) if r.chance() else None for _ in range(2)]
    w, p = [wide(t.data) if t else 1.0 for t in (weight, positive)]
    t = wide(target.data)
    s = 1 / (1 + np.exp(-wide(x.data)))
    value = np.broadcast_to(wide(grad.data) * w * ((p * t + 1 - t) * s - p * t), shape)
    scale = np.broadcast_to(np.abs(wide(grad.data)) * w * (p * t + 1), shape)
    out = Tensor(dtype, shape)
    return Case([grad, x, target, weight, positive, reduction, out], {6: Want(reduced(value, reduction), reduced(scale, reduction), loose=4)})


@TABLE.case('KlDivTargetBackward')
def divergence_by_target(r: Random, form) -> Case:
    dtype, shape, reduction, log = r.pick(form.types['self']), r.full(1, 3, 6), r.int(0, 2), r.chance()
    x, target = r.tensor(dtype, shape, -4, 0), r.tensor(dtype, shape, -3 if log else 0, 0 if log else 1)
    if not log:
        target = given(np.where(r.rng.random(shape) < 0.2, 0, target.data), dtype)
    grad = r.tensor(dtype, shape if reduction == 0 else (), -2, 2)
    g, a, t = [wide(v.data) for v in (grad, x, target)]
    with np.errstate(divide='ignore', invalid='ignore'):
        value = g * np.exp(t) * (t + 1 - a) if log else np.where(t == 0, 0, g * (np.log(t) + 1 - a))
    value = reduced(np.broadcast_to(value, shape), reduction)
    return Case([grad, x, target, reduction, log, Tensor(dtype, shape)], {5: Want(value, np.abs(value) + 2.0 / (value.size if reduction == 1 else 1), loose=4)})


@TABLE.case('PreluBackward')
def learnt_slope(r: Random, form) -> Case:
    dtype, shape = r.pick(form.types['self']), r.full(1, 4, 5)
    channels = shape[1] if len(shape) > 1 else 1
    x, grad = r.tensor(dtype, shape), r.tensor(dtype, shape)
    weight = r.tensor(dtype, (r.pick([1, channels]),), -2, 2)
    a, g = wide(x.data), wide(grad.data)
    column = wide(weight.data).reshape([-1 if d == 1 else 1 for d in range(len(shape))] if weight.shape[0] > 1 else ())
    value = np.where(a > 0, g, column * g)
    terms = np.where(a > 0, 0, a * g)
    where = tuple(d for d in range(len(shape)) if d != 1) if weight.shape[0] > 1 else None
    total = [np.sum(t, axis=where).reshape(weight.shape) for t in (terms, np.abs(terms))]
    outs = [Tensor(dtype, shape), Tensor(dtype, weight.shape)]
    return Case([grad, x, weight, *outs], {3: Want(value, np.abs(value)), 4: Want(total[0], total[1] + 1)})


def alignments(logs: np.ndarray, labels: list, blank: int) -> tuple[float, np.ndarray]:
    """Of one sequence [steps, classes]: the probability of the labels, and how much of it goes through each class at each step."""
    steps, classes = logs.shape
    total, through = 0.0, np.zeros(logs.shape)
    for path in itertools.product(range(classes), repeat=steps):
        said = [c for c, before in zip(path, (None, *path)) if c != before]
        if [c for c in said if c != blank] == labels:
            chance = np.exp(sum(logs[t, c] for t, c in enumerate(path)))
            total += chance
            for t, c in enumerate(path):
                through[t, c] += chance
    return total, through


@TABLE.case('CtcLoss CtcLossBackward')
def classification(r: Random, form) -> Case:
    steps, n, classes, blank = r.int(1, 4), r.int(1, 3), r.int(2, 4), r.int(0, 1)
    dtype = r.pick(form.types['logProbs'])
    logs = r.array(dtype, (steps, n, classes), -2, 2).astype(np.float64)
    logs = given(logs - np.log(np.sum(np.exp(logs), axis=2, keepdims=True)), dtype)
    inputs, lengths = [r.int(1, steps) for _ in range(n)], [r.int(0, 2) for _ in range(n)]
    others = [c for c in range(classes) if c != blank]
    labels = [[r.pick(others) for _ in range(length)] for length in lengths]
    longest, kind = max(lengths), r.pick(form.types['targets'])
    rows = np.array([row + [others[0]] * (longest - len(row)) for row in labels]).reshape(n, longest)
    targets = given(rows, kind) if r.chance() or not sum(lengths) else given(np.concatenate(labels), kind)
    wide_ = 2 * longest + 1 + r.pick([0, 3])
    zero, grad = r.chance(), r.tensor(dtype, (n,), -2, 2)
    losses, slopes = np.zeros(n), np.zeros(logs.shape)
    for i in range(n):
        own = logs.data.astype(np.float64)[:inputs[i], i]
        total, through = alignments(own, labels[i], blank)
        losses[i] = -np.log(total) if total else 0 if zero else np.inf
        if total:
            slopes[:inputs[i], i] = (np.exp(own) - through / total) * grad.data[i]
        elif not zero:
            return classification(r, form)  # what a gradient of that would be is not said
    if form.name == 'CtcLoss':
        outs = [Tensor(dtype, (n,)), Tensor(dtype, (n, steps, wide_))]
        return Case([logs, targets, inputs, lengths, blank, zero, *outs], {6: Want(losses, 8.0)})
    kept = [given(losses, dtype), given(np.zeros((n, steps, wide_)), dtype)]
    return Case([grad, logs, targets, inputs, lengths, *kept, blank, zero, Tensor(dtype, logs.shape)], {9: Want(slopes, 8.0)})
