"""Gradients of functions, from that of their results."""
from __future__ import annotations

import numpy as np

from cases import Case, Table, Want
from normal import soften
from reduce import wide
from values import DTYPES, Random, Scalar, Tensor, given

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
    rows, classes, dtype = r.int(1, 40), r.int(2, 30), r.pick(form.types['self'])
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
    rows, classes, dtype = r.int(1, 40), r.int(2, 30), r.pick(form.types['self'])
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
    table = r.int(2, 12)
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
