"""What transformers are made of."""
from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cases import Case, Table, Want
from values import Random, Tensor, exact, given

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


@TABLE.case('RotaryPositionEmbeddingGrad')
def rotary_gradient(r: Random, form) -> Case:
    dtype, mode = r.pick(form.types['dy']), r.int(0, 3)
    shape = (*r.full(3, 3, 4), 4 * r.int(1, 5))
    if r.chance(0.1):  # more than one piece
        shape = (1, r.int(200, 300), r.int(20, 30), 20)
    if r.chance(r.empty):
        shape = (*shape[:2], 0, shape[3])
    angles = tuple(1 if r.chance(0.4) else n for n in shape[:3]) + shape[3:]
    axes = tuple(a for a in range(3) if angles[a] != shape[a])
    x, dy = r.tensor(dtype, shape), r.tensor(dtype, shape)
    cos, sin = r.tensor(dtype, angles, -1, 1), r.tensor(dtype, angles, -1, 1)
    straight, other = turned(x.data.astype(np.float64), mode)
    d, wide = dy.data.astype(np.float64), [np.broadcast_to(a.data.astype(np.float64), shape) for a in (cos, sin)]
    places = turned(np.arange(1, shape[3] + 1), mode)  # from 1 on, so that each has a sign
    dx, size = np.zeros(shape), np.zeros(shape)
    for place, factor in zip(places, wide):
        for i, at in enumerate(place):
            dx[..., abs(at) - 1] += np.sign(at) * d[..., i] * factor[..., i]
            size[..., abs(at) - 1] += np.abs(d[..., i] * factor[..., i])
    wants, outs = {5: Want(dx, size)}, [Tensor(dtype, shape), None, None]
    given_x = r.chance(0.8)
    for i, term in enumerate((straight, other)):
        if given_x and r.chance(0.9):
            wants[6 + i] = Want((d * term).sum(axes, keepdims=True), np.abs(d * term).sum(axes, keepdims=True))
            outs[1 + i] = Tensor(dtype, angles)
    return Case([dy, cos, sin, x if given_x else None, mode, *outs], wants)


def heads_of(x: np.ndarray, layout: str, heads: int) -> np.ndarray:
    """[batch, heads, rows, size]"""
    if layout == 'BSH':
        x = x.reshape(*x.shape[:2], heads, -1)
    return x if layout == 'BNSD' else x.swapaxes(1, 2)


def laid_out(x: np.ndarray, layout: str) -> np.ndarray:
    x = x if layout == 'BNSD' else x.swapaxes(1, 2)
    x = x.reshape(*x.shape[:2], x.shape[2] * x.shape[3]) if layout in ('BSH', 'SBH') else x
    return x.swapaxes(0, 1) if layout == 'SBH' else x


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


EVERYTHING = 2**31 - 1


@dataclass
class Flash:
    """Attention for training: its arguments but for the query's gradient, and what numpy makes of them in f64."""
    dtype: str
    layout: str
    shape: tuple  # of the scores
    groups: int  # heads that share one of the key
    scale: float
    keep: float
    sparse: int
    tokens: tuple  # preTokens, nextTokens
    prefix: list | None
    query: np.ndarray = None
    key: np.ndarray = None
    value: np.ndarray = None
    shift: Tensor | None = None
    drop: Tensor | None = None
    mask: Tensor | None = None

    def allowed(self) -> np.ndarray:
        batch, _, rows, columns = self.shape
        i, j, corner = np.arange(rows)[:, None], np.arange(columns), columns - rows
        seen, (before, after) = np.ones(self.shape, bool), self.tokens
        if self.sparse in (0, 1, 5) and self.mask:
            seen &= self.mask.data == 0
        if self.sparse == 0 and self.mask:
            seen &= (j >= i - before) & (j <= i + after)
        if self.sparse == 2:
            seen &= j <= i
        if self.sparse == 3:
            seen &= j <= i + corner
        if self.sparse == 4:
            seen &= (j >= i + corner - before) & (j <= i + corner + after)
        if self.sparse in (5, 6):
            seen &= (j <= i + corner) | (j < np.reshape(self.prefix, (batch, 1, 1, 1)))
        return seen

    def dropped(self) -> np.ndarray:
        if not self.drop:
            return np.ones(self.shape)
        count = int(np.prod(self.shape))
        return np.unpackbits(self.drop.data, bitorder='little')[:count].reshape(self.shape) / self.keep

    def run(self):
        """The largest score of each row, the sum of the powers, the weights, and the result."""
        self.wide = [np.repeat(x.astype(np.float64), g, 1) for x, g in
                     ((self.query, 1), (self.key, self.groups), (self.value, self.groups))]
        q, k, v = self.wide
        scores = np.matmul(q, k.swapaxes(2, 3)) + (self.shift.data.astype(np.float64) if self.shift else 0)
        scores = np.where(self.allowed(), scores * self.scale, -np.inf)
        largest = scores.max(-1, keepdims=True, initial=-np.inf)
        blind = np.isinf(largest)
        power = np.where(self.allowed(), np.exp(scores - np.where(blind, 0, largest)), 0)
        total = power.sum(-1, keepdims=True)
        self.weights = power / np.where(total == 0, 1, total)
        self.most = np.repeat(np.where(blind, np.finfo(np.float32).min, largest), 8, -1)
        self.total = np.repeat(total, 8, -1)
        self.out = np.matmul(self.weights * self.dropped(), v)

    def gradients(self, dy: np.ndarray, y: np.ndarray) -> list:
        """Those of query, key, value and scores, and the size of the terms of each."""
        q, k, v = self.wide
        batch, heads = self.shape[:2]
        dropped, delta = self.dropped(), dy * y
        d = np.matmul(dy, v.swapaxes(2, 3)) * dropped
        scores = self.weights * (d - delta.sum(-1, keepdims=True)) * self.scale
        size = self.weights * (np.abs(d) + np.abs(delta).sum(-1, keepdims=True)) * self.scale

        def grouped(x):
            return x.reshape(batch, heads // self.groups, self.groups, *x.shape[2:]).sum(2)

        def each(s, of):
            return [np.matmul(s, of(k)), grouped(np.matmul(s.swapaxes(2, 3), of(q))),
                    grouped(np.matmul((self.weights * dropped).swapaxes(2, 3), of(dy))), s]
        return list(zip(each(scores, lambda x: x), each(size, np.abs)))

    def tensor(self, x: np.ndarray) -> Tensor:
        return given(laid_out(x, self.layout), self.dtype)

    def attributes(self) -> list:
        return [self.prefix, self.scale, self.keep, *self.tokens, self.shape[1], self.layout.encode(), 0, self.sparse]


def flash_mask(r: Random, sparse: int, shape: tuple) -> Tensor | None:
    dtype = r.pick(['bool', 'u8'])
    if sparse == 6:  # what a card reads parts of
        return given(np.concatenate([np.triu(np.ones((2048, 2048)), 1), np.tile(np.arange(2048) >= 1024, (1024, 1))]), dtype)
    if sparse in (2, 3, 4):
        return given(np.triu(np.ones((2048, 2048)), 1), dtype)
    if sparse == 0 and r.chance(0.3):
        return None
    batch, heads, *last = shape
    return given(r.rng.random(r.pick([(*last,), (1, 1, *last), (batch, 1, *last), (batch, heads, *last)])) < 0.3, dtype)


def flash(r: Random, dtype: str) -> Flash:
    batch, shared, groups, size, wide = r.int(1, 2), r.int(1, 3), r.int(1, 3), r.int(1, 8), r.int(1, 8)
    rows, columns, heads = r.size(1, 9), r.size(1, 9), shared * groups
    if r.chance(0.15):  # more than one block
        batch, shared, rows, columns = 1, 1, r.int(60, 140), r.int(500, 1100)
        heads = groups
    if r.chance(r.empty):
        rows, columns, batch = r.pick([(0, columns, batch), (rows, 0, batch), (rows, columns, 0)])
    shape = (batch, heads, rows, columns)
    # Large masks for the large test only.
    sparse = r.int(0, 6) if r.empty else r.pick([0, 1, 5])
    before = r.int(0, 7)
    tokens = r.pick([(EVERYTHING, EVERYTHING), (EVERYTHING, 0), (before, r.int(-before, 7)), (-2, 5)])
    prefix = [r.int(0, columns) for _ in range(batch)] if sparse in (5, 6) else r.pick([None, []])
    case = Flash(dtype, r.pick(['BSH', 'SBH', 'BSND', 'BNSD']), shape, groups, r.real(0.1, 1), r.pick([1.0, 0.5, 0.8]),
                 sparse, tokens, prefix)
    case.query, case.key, case.value = [r.array(dtype, (batch, h, n, d), -1, 1) for h, n, d in
                                        ((heads, rows, size), (shared, columns, size), (shared, columns, wide))]
    if r.chance(0.4):
        case.shift = r.tensor(dtype, r.pick([shape, (batch, heads, 1, columns), (1, *shape[1:])]), -1, 1)
    if case.keep < 1 or r.chance(0.3):
        case.drop = r.tensor('u8', (-(-int(np.prod(shape)) // 128) * 16 + r.pick([0, 32]),), 0, 255)
    case.mask = flash_mask(r, sparse, shape)
    case.run()
    return case


@TABLE.case('FlashAttentionScore')
def flash_attention(r: Random, form) -> Case:
    f = flash(r, r.pick(form.types['query']))
    reserved = r.pick([None, Tensor('f32', (0,)), Tensor('f16', (1,))]) if r.empty else None
    out = laid_out(f.out, f.layout)
    arguments = [f.tensor(f.query), f.tensor(f.key), f.tensor(f.value), f.shift, f.drop, None, f.mask, *f.attributes(),
                 Tensor('f32', f.most.shape), Tensor('f32', f.total.shape), reserved, Tensor(f.dtype, out.shape)]
    return Case(arguments, {16: Want(f.most, 4.0), 17: Want(f.total, f.total, loose=2), 19: Want(out, 1 / f.keep, loose=2)})


@TABLE.case('FlashAttentionScoreGrad')
def flash_attention_gradient(r: Random, form) -> Case:
    f = flash(r, r.pick(form.types['query']))
    y = exact(f.out, f.dtype).astype(np.float64)
    dy = r.array(f.dtype, y.shape, -1, 1).astype(np.float64)
    *parts, scores = f.gradients(dy, y)
    loose = 4 if f.dtype == 'f32' else 1
    wants = [Want(laid_out(x, f.layout), laid_out(size, f.layout) + 0.05, loose=loose) for x, size in parts]
    found = {21 + i: w for i, w in enumerate(wants)}
    dshift = Tensor(f.dtype, (0,)) if r.empty and r.chance() else None
    if f.shift and r.chance(0.8):
        axes = tuple(a for a in (0, 2) if f.shift.shape[a] != f.shape[a])
        dshift = Tensor(f.dtype, f.shift.shape)
        found[24] = Want(scores[0].sum(axes, keepdims=True), scores[1].sum(axes, keepdims=True) + 0.05, loose=4)
    arguments = [f.tensor(f.query), f.tensor(f.key), f.tensor(f.value), f.tensor(dy), f.shift, f.drop, None, f.mask,
                 given(f.most, 'f32'), given(f.total, 'f32'), None, f.tensor(y), *f.attributes(),
                 *[Tensor(f.dtype, w.value.shape) for w in wants], dshift]
    return Case(arguments, found)


def packed_sequences(r: Random, dtype: str) -> tuple[list[Flash], list]:
    """Attentions of one sequence each, and the arguments from attenMask to sparseMode."""
    shared, groups, size, wide = r.int(1, 3), r.int(1, 3), r.int(1, 8), r.int(1, 8)
    lengths = [(r.size(0, 6), r.size(0, 6)) for _ in range(r.int(1, 3))]
    if not r.empty:
        lengths[0] = r.size(2, 6), r.size(2, 6)
    sparse = r.pick([0, 1, 2, 3, 4, 6]) if r.empty else r.pick([0, 1])
    before = r.int(0, 7)
    tokens = r.pick([(EVERYTHING, EVERYTHING), (before, r.int(-before, 7))])
    longest = tuple(max(column) for column in zip(*lengths))
    whole = sparse in (0, 1)
    mask = flash_mask(r, sparse, (1, 1, *longest))
    if whole and mask and 0 in longest:
        mask = None
    elif whole and mask:
        mask = given(mask.data.reshape(r.pick([longest, (1, 1, *longest)])), mask.dtype)
    scale, prefix = r.real(0.1, 1), [r.int(0, n) for _, n in lengths] if sparse == 6 else None
    sequences = []
    for i, (rows, columns) in enumerate(lengths):
        f = Flash(dtype, 'BSND', (1, shared * groups, rows, columns), groups, scale, 1.0, sparse, tokens,
                  prefix and prefix[i:i + 1])
        f.query, f.key, f.value = [r.array(dtype, (1, h, n, d), -1, 1) for h, n, d in
                                   ((shared * groups, rows, size), (shared, columns, size), (shared, columns, wide))]
        if whole and mask:
            f.mask = given(mask.data.reshape(longest)[:rows, :columns], mask.dtype)
        f.run()
        sequences.append(f)
    ends = [[int(e) for e in np.cumsum(column)] for column in zip(*lengths)]
    return sequences, [mask, [prefix, *ends, scale, 1.0, *tokens, shared * groups, b'TND', 0, sparse]]


def rows_of(parts) -> np.ndarray:
    """[T, N, D] of [1, N, S, D] for each sequence."""
    return np.concatenate([x[0].swapaxes(0, 1) for x in parts])


def numbers_of(parts) -> np.ndarray:
    """As the functions have them: [N, S, 8] of one sequence after the other, whatever the shape says."""
    flat = np.concatenate([x.reshape(-1) for x in parts])
    return flat.reshape(-1, parts[0].shape[1], 8)


@TABLE.case('FlashAttentionVarLenScore')
def packed_attention(r: Random, form) -> Case:
    dtype = r.pick(form.types['query'])
    fs, (mask, attributes) = packed_sequences(r, dtype)
    tensors = [given(rows_of([getattr(f, n) for f in fs]), dtype) for n in ('query', 'key', 'value')]
    most, total, out = numbers_of([f.most for f in fs]), numbers_of([f.total for f in fs]), rows_of([f.out for f in fs])
    arguments = [*tensors, None, None, None, mask, *attributes, Tensor('f32', most.shape), Tensor('f32', most.shape), None,
                 Tensor(dtype, out.shape)]
    return Case(arguments, {18: Want(most, 4.0), 19: Want(total, total, loose=2), 21: Want(out, 1.0, loose=2)})


@TABLE.case('FlashAttentionUnpaddingScoreGrad')
def packed_gradient(r: Random, form) -> Case:
    dtype = r.pick(form.types['query'])
    fs, (mask, attributes) = packed_sequences(r, dtype)
    tensors = [given(rows_of([getattr(f, n) for f in fs]), dtype) for n in ('query', 'key', 'value')]
    ys = [exact(f.out, dtype).astype(np.float64) for f in fs]
    dys = [r.array(dtype, y.shape, -1, 1).astype(np.float64) for y in ys]
    parts = [f.gradients(dy, y)[:3] for f, dy, y in zip(fs, dys, ys)]
    wants = [Want(rows_of([p[i][0] for p in parts]), rows_of([p[i][1] for p in parts]) + 0.05,
                  loose=4 if dtype == 'f32' else 1) for i in range(3)]
    arguments = [*tensors, given(rows_of(dys), dtype), None, None, None, mask, given(numbers_of([f.most for f in fs]), 'f32'),
                 given(numbers_of([f.total for f in fs]), 'f32'), None, given(rows_of(ys), dtype), *attributes,
                 *[Tensor(dtype, w.value.shape) for w in wants], r.pick([None, Tensor(dtype, (0,))]) if r.empty else None]
    return Case(arguments, {23 + i: w for i, w in enumerate(wants)})


@TABLE.case('AttentionUpdate')
def merged(r: Random, form) -> Case:
    dtype, count, rows, width = r.pick(form.types['out']), r.int(1, 16), r.size(1, 9), 8 * r.int(1, 64)
    levels = [r.tensor('f32', (rows,)) for _ in range(count)]
    parts = [r.tensor(dtype, (rows, width)) for _ in range(count)]
    lse = np.array([t.data for t in levels], np.float64)
    most = lse.max(0)
    level = most + np.log(np.exp(lse - most).sum(0))
    terms = np.array([t.data for t in parts], np.float64) * np.exp(lse - level)[..., None]
    kind = r.int(0, 1)
    wants = {3: Want(terms.sum(0), np.abs(terms).sum(0), loose=4)}
    if kind == 1:
        wants[4] = Want(level, 1.0, loose=4)
    return Case([levels, parts, kind, Tensor(dtype, (rows, width)), Tensor('f32', (rows,)) if kind else None], wants)
