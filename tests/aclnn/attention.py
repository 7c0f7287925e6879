"""What transformers are made of."""
from __future__ import annotations

import numpy as np

from cases import Case, Table, Want
from values import Random, Tensor

TABLE = Table('attention')


def turned(x: np.ndarray, mode: int) -> tuple[np.ndarray, np.ndarray]:
    """x in the order in which it is turned, and what is multiplied by the sines."""
    even, odd, half = x[..., ::2], x[..., 1::2], x.shape[-1] // 2
    if mode == 1:
        return x, np.stack([-odd, even], -1).reshape(x.shape)
    if mode == 2:
        a, b, c, d = np.split(x, 4, -1)
        return x, np.concatenate([-b, a, -d, c], -1)
    if mode == 3:
        return np.concatenate([even, odd], -1), np.concatenate([-odd, even], -1)
    return x, np.concatenate([-x[..., half:], x[..., :half]], -1)


@TABLE.case('RotaryPositionEmbedding')
def rotary(r: Random, form) -> Case:
    dtype, mode = r.pick(form.types['x']), r.int(0, 3)
    shape = (*r.full(3, 3, 4), 4 * r.int(1, 5))
    angles = tuple(1 if r.chance(0.4) else n for n in shape[:3]) + shape[3:]
    x, cos, sin = r.tensor(dtype, shape), r.tensor(dtype, angles, -1, 1), r.tensor(dtype, angles, -1, 1)
    straight, other = turned(x.data.astype(np.float64), mode)
    terms = straight * cos.data.astype(np.float64), other * sin.data.astype(np.float64)
    want = Want(sum(terms), sum(map(np.abs, terms)))
    return Case([x, cos, sin, mode, Tensor(dtype, shape)], {4: want})


def heads_of(x: np.ndarray, layout: str, heads: int) -> np.ndarray:
    """[batch, heads, rows, size]"""
    if layout == 'BSH':
        x = x.reshape(*x.shape[:2], heads, -1)
    return x if layout == 'BNSD' else x.swapaxes(1, 2)


def laid_out(x: np.ndarray, layout: str) -> np.ndarray:
    x = x if layout == 'BNSD' else x.swapaxes(1, 2)
    return x.reshape(*x.shape[:2], -1) if layout == 'BSH' else x


def forbidden(sparse: int, mask, lengths, scores: tuple) -> np.ndarray:
    rows, columns = scores[2:]
    bad = np.zeros(scores, bool)
    if sparse in (2, 3):
        bad |= np.arange(columns) > np.arange(rows)[:, None] + (columns - rows if sparse == 3 else 0)
    elif mask is not None:
        bad |= mask != 0
    if lengths:
        bad |= np.arange(columns) >= np.broadcast_to(lengths, scores[0]).reshape(-1, 1, 1, 1)
    return bad


@TABLE.case('FusedInferAttentionScoreV2')
def infer_attention(r: Random, form) -> Case:
    dtype, layout = r.pick(form.types['query']), r.pick(['BSH', 'BSND', 'BNSD'])
    batch, shared, groups, size = r.int(1, 2), r.int(1, 3), r.int(1, 3), r.int(1, 8)
    rows = r.size(1, 9)
    columns, heads = rows + r.size(0, 9), shared * groups
    q, k, v = [r.array(dtype, (batch, h, n, size), -1, 1) for h, n in ((heads, rows), (shared, columns), (shared, columns))]
    scores = (batch, heads, rows, columns)
    shift = r.tensor(dtype, (r.pick([1, batch]), heads, rows, columns), -1, 1) if r.chance() else None
    sparse = r.int(0, 3)
    shape = r.pick([(rows, columns), (batch, rows, columns), (batch, 1, rows, columns)])
    mask = r.tensor('bool', shape) if r.chance() and sparse < 2 else None
    lengths = r.pick([None, [columns], [r.int(1, columns) for _ in range(batch)]])
    wide = np.matmul(q.astype(np.float64), np.repeat(k.astype(np.float64), groups, 1).swapaxes(2, 3)) * 0.5
    wide = wide + (shift.data.astype(np.float64) if shift else 0)
    seen = mask.data.reshape(batch, 1, rows, columns) if mask and len(shape) == 3 else mask.data if mask else None
    wide = np.where(forbidden(sparse, seen, lengths, scores), -1e30, wide)
    power = np.exp(wide - wide.max(-1, keepdims=True))
    value = np.matmul(power / power.sum(-1, keepdims=True), np.repeat(v.astype(np.float64), groups, 1))
    tensors = [Tensor(dtype, t.shape, t) for t in (laid_out(x, layout) for x in (q, k, v))]
    value = laid_out(value, layout)
    arguments = [tensors[0], [tensors[1]], [tensors[2]], shift, mask, None, lengths, *[None] * 16, None, heads, 0.5,
                 65535, 65535, layout.encode(), shared if r.chance() or groups > 1 else 0, sparse, r.pick([0, 1, 2]), 0, 0,
                 False, 0, 0, Tensor(dtype, value.shape), None]
    return Case(arguments, {37: Want(value, 1.0, loose=2)})
