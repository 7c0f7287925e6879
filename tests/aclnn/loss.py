"""Losses of elements: each, their mean or their sum."""
from __future__ import annotations

import numpy as np

from cases import Case, Table, Want
from gradient import classes_of, reduced, sigmoid
from reduce import wide
from values import Random, Tensor, given

TABLE = Table('loss')


def folded(each: np.ndarray, reduction: int, dtype: str) -> tuple[Tensor, Want]:
    """The result and what it must hold; the numbers are added up in any order."""
    if reduction == 0:
        return Tensor(dtype, each.shape), Want(each, 1 + np.abs(each), loose=4)
    sizes = np.sum(np.abs(each) + 1)
    if reduction == 2:
        return Tensor(dtype, ()), Want(np.asarray(np.sum(each)), sizes, loose=4)
    with np.errstate(invalid='ignore', divide='ignore'):
        return Tensor(dtype, ()), Want(np.asarray(np.sum(each) / np.float64(each.size)), sizes / max(each.size, 1), loose=4)


def pair(r: Random, form, low: float = -4, high: float = 4) -> tuple[Tensor, Tensor]:
    dtype, shape = r.pick(form.types['self']), r.shape()
    return r.tensor(dtype, shape, low, high), r.tensor(dtype, r.part(shape), low, high)


def smooth(d: np.ndarray, sigma: float) -> np.ndarray:
    return np.where(np.abs(d) < sigma, d * d / (2 * sigma or 1), np.abs(d) - sigma / 2)


LOSSES = {
    'MseLoss': lambda a, t: (a - t) ** 2,
    'L1Loss': lambda a, t: np.abs(a - t),
    'SoftMarginLoss': lambda a, t: np.logaddexp(0, -a * t),
}
SLOPES = {
    'MseLossBackward': lambda a, t: 2 * (a - t),
    'L1LossBackward': lambda a, t: np.sign(a - t),
    'SoftMarginLossBackward': lambda a, t: -t * sigmoid(-a * t),
}


@TABLE.case(' '.join(LOSSES), broadcasts=True)
def plain(r: Random, form) -> Case:
    (x, target), reduction = pair(r, form), r.int(0, 2)
    out, want = folded(LOSSES[form.name](wide(x.data), wide(target.data)), reduction, x.dtype)
    return Case([x, target, reduction, out], {3: want})


@TABLE.case('MultilabelMarginLoss')
def multilabel_margin(r: Random, form) -> Case:
    classes = r.int(1, 6)
    shape, reduction = r.pick([(classes,), (r.int(1, 4), classes)]), r.int(0, 2)
    x = r.tensor(r.pick(form.types['self']), shape, -2, 2)
    target = r.rng.integers(-1 if r.chance() else 0, classes, shape)
    mark, each = np.zeros(shape), np.zeros(shape[:-1])
    for at in np.ndindex(shape[:-1]):
        named = target[at][:np.argmax(np.append(target[at], -1) < 0)]
        mark[at][named] = 1
        gaps = 1 - wide(x.data)[at][named][:, None] + wide(x.data)[at][mark[at] == 0]
        each[at] = np.sum(np.maximum(gaps, 0)) / classes
    value = each if reduction == 0 else np.mean(each) if reduction == 1 else np.sum(each)
    value = np.asarray(value)
    marked = Tensor(r.pick(form.types['isTarget']), shape)
    return Case([x, given(target, r.pick(form.types['target'])), reduction, Tensor(x.dtype, value.shape), marked],
                {3: Want(value, 8.0, loose=2), 4: Want(mark, 0.0)})


@TABLE.case(' '.join(SLOPES), broadcasts=True)
def plain_back(r: Random, form) -> Case:
    (x, target), reduction = pair(r, form), r.int(0, 2)
    grad = r.tensor(x.dtype, x.shape if reduction == 0 else ())
    value = np.broadcast_to(wide(grad.data) * SLOPES[form.name](wide(x.data), wide(target.data)), x.shape)
    value = reduced(value, reduction) if value.size else value
    return Case([grad, x, target, reduction, Tensor(x.dtype, x.shape)], {4: Want(value, 1 + np.abs(value), loose=4)})


@TABLE.case('SmoothL1Loss', broadcasts=True)
def smooth_loss(r: Random, form) -> Case:
    (x, target), reduction, sigma = pair(r, form), r.int(0, 2), r.pick([0.0, 0.5, 1.0, 3.0])
    out, want = folded(smooth(wide(x.data) - wide(target.data), sigma), reduction, x.dtype)
    return Case([x, target, reduction, sigma, out], {4: want})


@TABLE.case('SmoothL1LossBackward', broadcasts=True)
def smooth_back(r: Random, form) -> Case:
    (x, target), reduction, sigma = pair(r, form), r.int(0, 2), r.pick([0.0, 0.5, 1.0, 3.0])
    grad = r.tensor(x.dtype, x.shape if reduction == 0 else ())
    d = wide(x.data) - wide(target.data)
    slope = np.where(np.abs(d) < sigma, d / (sigma or 1), np.sign(d))
    value = np.broadcast_to(wide(grad.data) * slope, x.shape)
    value = reduced(value, reduction) if value.size else value
    return Case([grad, x, target, reduction, sigma, Tensor(x.dtype, x.shape)], {5: Want(value, 1 + np.abs(value), loose=4)})


@TABLE.case('KlDiv', broadcasts=True)
def divergence(r: Random, form) -> Case:
    (x, target), reduction, log = pair(r, form, -3, 1), r.int(0, 2), r.chance()
    a, t = wide(x.data), wide(target.data)
    with np.errstate(divide='ignore', invalid='ignore'):
        each = np.exp(t) * (t - a) if log else np.where(t > 0, t * (np.log(t) - a), 0)
    out, want = folded(each, reduction, x.dtype)
    return Case([x, target, reduction, log, out], {4: want})


def weights(r: Random, dtype: str, shape) -> tuple[Tensor | None, np.ndarray | float]:
    weight = r.tensor(dtype, r.part(shape), 0.2, 3) if r.chance() else None
    return weight, wide(weight.data) if weight else 1.0


@TABLE.case('BinaryCrossEntropy')
def cross_entropy(r: Random, form) -> Case:
    dtype, shape, reduction = r.pick(form.types['self']), r.shape(), r.int(0, 2)
    x, target = r.tensor(dtype, shape, 0.1, 0.9), r.tensor(dtype, shape, 0, 1)
    if r.chance():
        x = given(np.where(r.rng.random(shape) < 0.2, np.round(x.data.astype(np.float64)), x.data), dtype)
    weight, w = weights(r, dtype, shape)
    a, t = wide(x.data), wide(target.data)
    with np.errstate(divide='ignore'):
        each = -w * (t * np.maximum(np.log(a), -100) + (1 - t) * np.maximum(np.log1p(-a), -100))
    out, want = folded(np.broadcast_to(each, shape), reduction, dtype)
    return Case([x, target, weight, reduction, out], {4: want})


@TABLE.case('BinaryCrossEntropyBackward')
def cross_entropy_back(r: Random, form) -> Case:
    dtype, shape, reduction = r.pick(form.types['self']), r.shape(), r.int(0, 2)
    x, target = r.tensor(dtype, shape, 0.1, 0.9), r.tensor(dtype, shape, 0, 1)
    grad, (weight, w) = r.tensor(dtype, shape if reduction == 0 else ()), weights(r, dtype, shape)
    a, t = wide(x.data), wide(target.data)
    value = np.broadcast_to(wide(grad.data) * w * (a - t) / (a * (1 - a)), shape)
    value = reduced(value, reduction) if value.size else value
    return Case([grad, x, target, weight, reduction, Tensor(dtype, shape)], {5: Want(value, 1 + np.abs(value), loose=8)})


@TABLE.case('BinaryCrossEntropyWithLogits')
def cross_entropy_with_logits(r: Random, form) -> Case:
    dtype, shape, reduction = r.pick(form.types['self']), r.shape(), r.int(0, 2)
    x, target = r.tensor(dtype, shape, -6, 6), r.tensor(dtype, shape, 0, 1)
    (weight, w), (positive, p) = weights(r, dtype, shape), weights(r, dtype, shape)
    a, t = wide(x.data), wide(target.data)
    each = w * ((1 - t) * a + (1 + (p - 1) * t) * np.logaddexp(0, -a))
    out, want = folded(np.broadcast_to(each, shape), reduction, dtype)
    return Case([x, target, weight, positive, reduction, out], {5: want})


def log_softmax(x: np.ndarray) -> np.ndarray:
    below = x - x.max(-1, keepdims=True)
    return below - np.log(np.exp(below).sum(-1, keepdims=True))


@TABLE.case('CrossEntropyLoss')
def classes_loss(r: Random, form) -> Case:
    rows, classes, dtype = r.int(1, 9), r.int(2, 30) if r.chance(0.8) else r.int(500, 1100), r.pick(form.types['input'])
    rows = 0 if r.chance(r.empty) else rows
    x = r.tensor(dtype, (rows, classes))
    target, ignored = classes_of(r, form, rows, classes)
    weight = r.tensor('f32', (classes,), 0.5, 1) if r.chance() else None
    name, smoothing = r.pick(['none', 'mean', 'sum']), r.pick([0.0, 0.25])
    share, chosen, logs = wide(weight.data) if weight else np.ones(classes), target.data.astype(np.int64), log_softmax(wide(x.data))
    counts = chosen != ignored
    each = (1 - smoothing) * -share[chosen] * logs[np.arange(rows), chosen] - smoothing / classes * (share * logs).sum(-1)
    each = each * counts
    with np.errstate(invalid='ignore'):  # the mean of no rows
        value = {'none': each, 'sum': each.sum()[None], 'mean': (each.sum() / (share[chosen] * counts).sum())[None]}[name]
    empty = r.pick([None, Tensor(dtype, (0,))])
    return Case([x, target, weight, name.encode(), ignored, smoothing, 0.0, False, Tensor(dtype, value.shape),
                 Tensor(dtype, x.shape), empty, empty], {8: Want(value, 8.0 * rows), 9: Want(logs, 8.0)})


@TABLE.case('CrossEntropyLossGrad')
def classes_back(r: Random, form) -> Case:
    rows, classes, dtype = r.int(1, 9), r.int(2, 30) if r.chance(0.8) else r.int(500, 1100), r.pick(form.types['logProb'])
    x = r.tensor(dtype, (rows, classes))
    logs = given(log_softmax(wide(x.data)), dtype)
    target, ignored = classes_of(r, form, rows, classes)
    weight = r.tensor('f32', (classes,), 0.5, 1) if r.chance() else None
    name, smoothing = r.pick(['none', 'mean', 'sum']), r.pick([0.0, 0.25])
    grad = r.tensor(dtype, (rows,) if name == 'none' else (1,))
    share, chosen = wide(weight.data) if weight else np.ones(classes), target.data.astype(np.int64)
    counted = np.where(chosen == ignored, 0, share[chosen])
    of_target = (1 - smoothing) * share[chosen]
    value = np.exp(wide(logs.data)) * (of_target + smoothing / classes * share.sum())[:, None] - smoothing / classes * share
    value[np.arange(rows), chosen] -= of_target
    g = wide(grad.data) / (counted.sum() if name == 'mean' else 1)
    value = value * (g * (chosen != ignored))[:, None]
    return Case([grad, logs, target, weight, None, None, name.encode(), ignored, smoothing, 0.0, Tensor(dtype, x.shape)],
                {10: Want(value, 8.0, loose=2)})


def row_bits(outside: np.ndarray) -> np.ndarray:
    """The first row in the highest bit; behind the last one they are set."""
    return np.packbits(np.concatenate([outside, np.ones(-len(outside) % 8, bool)]))


@TABLE.case('FusedLinearOnlineMaxSum')
def vocabulary_part(r: Random, form) -> Case:
    dtype, rows, depth, classes = r.pick(form.types['input']), r.size(0, 20), r.int(1, 9), r.int(1, 12) if r.chance(0.8) else 700
    x, weight = r.tensor(dtype, (rows, depth), -1, 1), r.tensor(dtype, (classes, depth), -1, 1)
    first = r.int(0, 9)
    last = first + r.int(0, classes - 1)
    target = r.tensor(r.pick(form.types['target']), (rows,), 0, first + classes + 5)
    logits = wide(x.data) @ wide(weight.data).T
    most = logits.max(-1)
    to = target.data.astype(np.int64)
    outside = (to < first) | (to > last)
    masked = np.where(outside, 0, to - first)
    own = np.where(outside, 0, logits[np.arange(rows), masked] - most)
    sums = np.exp(logits - most[:, None]).sum(-1)
    kept = Tensor(dtype, logits.shape) if r.chance() else None
    wants = {5: Want(most, 8.0, loose=4), 6: Want(sums, 8.0 * classes, loose=4), 7: Want(own, 8.0, loose=4), 8: row_bits(outside), 9: masked}
    if kept:
        wants[10] = Want(logits, 1.0)
    outs = [*[Tensor('f32', (rows,)) for _ in range(3)], Tensor('u8', ((rows + 7) // 8,)), Tensor(target.dtype, (rows,)), kept]
    return Case([x, weight, target, first, last, *outs], wants)


@TABLE.case('FusedCrossEntropyLossWithMaxSum')
def vocabulary_loss(r: Random, form) -> Case:
    rows, classes = r.size(0, 20), r.int(1, 12) if r.chance(0.8) else 700
    most, sums, own = r.tensor('f32', (rows,), 0, 4), r.tensor('f32', (rows,), 1, 9), r.tensor('f32', (rows,), -4, 0)
    wants = {7: Want(np.log(wide(sums.data)) - wide(own.data), 8.0)}
    logits = r.tensor(r.pick(form.types['vocabParallelLogitsOptional']), (rows, classes), -4, 1) if r.chance(0.7) else None
    shares = r.pick([None, r.tensor('f32', (2,))])
    if logits:
        shares = Tensor('f32', logits.shape)
        wants[8] = Want(np.exp(wide(logits.data) - wide(most.data)[:, None]) / wide(sums.data)[:, None], 1.0, loose=4)
    return Case([most, sums, own, 0.0, None, None, logits, Tensor('f32', (rows,)), shares], wants)


@TABLE.case('FusedLinearCrossEntropyLossGrad')
def vocabulary_gradient(r: Random, form) -> Case:
    dtype, rows, depth, classes = r.pick(form.types['input']), r.size(0, 20), r.int(1, 9), r.int(1, 12) if r.chance(0.8) else 700
    x, weight, grad = r.tensor(dtype, (rows, depth), -1, 1), r.tensor(dtype, (classes, depth), -1, 1), r.tensor('f32', (rows,), -2, 2)
    target, outside = r.tensor(r.pick(form.types['maskedTarget']), (rows,), 0, classes - 1), r.rng.random(rows) < 0.3
    most, sums, shares = None, None, None
    if r.chance():
        shares = r.tensor('f32', (rows, classes), 0, 1)
        part = wide(shares.data)
    else:
        logits = wide(x.data) @ wide(weight.data).T
        most, sums = given(logits.max(-1), 'f32'), r.tensor('f32', (rows,), 1, 9)
        part = np.exp(logits - wide(most.data)[:, None]) / wide(sums.data)[:, None]
    part = np.array(part)
    part[np.arange(rows), target.data.astype(np.int64)] -= ~outside
    part = part * wide(grad.data)[:, None]
    values = [part @ wide(weight.data), part.T @ wide(x.data)]
    sizes = [np.abs(part).sum(1, keepdims=True) + 1, np.abs(part).sum(0)[:, None] + 1]
    return Case([grad, x, weight, given(row_bits(outside), 'u8'), target, 0.0, most, sums, shares, *[Tensor(dtype, v.shape) for v in values]],
                {9 + i: Want(v, s) for i, (v, s) in enumerate(zip(values, sizes))})
