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


@TABLE.case('RotaryPositionEmbeddingV2')
def rotary_2(r: Random, form) -> Case:
    case = rotary(r, form)
    x, cos, sin, mode, out = case.arguments
    if r.chance(0.3):
        return Case([x, cos, sin, mode, None, out], {5: case.wants[4]})
    rotate = r.tensor(x.dtype, (x.shape[-1], x.shape[-1]), -1, 1)
    data, c, s, matrix = (a.data.astype(np.float64) for a in (x, cos, sin, rotate))
    size = np.abs(data * c) + np.abs(data) @ np.abs(matrix) * np.abs(s)
    return Case([x, cos, sin, mode, rotate, out], {5: Want(data * c + data @ matrix * s, size)})


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
    if r.chance(r.empty):  # rows that see nothing
        q, nothing = r.tensor(dtype, (2, 3, 4, 8)), r.tensor(dtype, (2, 3, 0, 8))
        return Case([q, [nothing], [nothing], *[None] * 21, 3, 0.5, 65535, 65535, b'BNSD', 0, 0, 0, 0, 0, False, 0, 0,
                     Tensor(dtype, q.shape), None], {37: np.zeros(q.shape)})
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
    # Of the second versions: how the bias meets the scores, the places of the first rows, and slopes of heads.
    kind: int = 1
    starts: tuple = (None, None)
    slopes: np.ndarray | None = None
    # Of the third versions: a score of each head that all rows see, without a value.
    sink: Tensor | None = None

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

    def shifted(self, products: np.ndarray) -> np.ndarray:
        """What the softmax is of."""
        shift = self.shift.data.astype(np.float64) if self.shift and self.slopes is None else 0
        if self.kind == 1:
            return (products + shift) * self.scale
        if self.kind == 0:
            return products * self.scale + shift
        first, second = [start[0] if start else 0 for start in self.starts]
        away = np.abs(np.arange(self.shape[2])[:, None] + first - np.arange(self.shape[3]) - second).astype(np.float64)
        return products * self.scale - self.slopes[..., None, None] * (away if self.kind == 2 else np.sqrt(away))

    def run(self):
        """The largest score of each row, the sum of the powers, the weights, and the result."""
        self.wide = [np.repeat(x.astype(np.float64), g, 1) for x, g in
                     ((self.query, 1), (self.key, self.groups), (self.value, self.groups))]
        q, k, v = self.wide
        scores = np.where(self.allowed(), self.shifted(np.matmul(q, k.swapaxes(2, 3))), -np.inf)
        largest = scores.max(-1, keepdims=True, initial=-np.inf)
        if self.sink:
            sink = self.sink.data.astype(np.float64).reshape(1, -1, 1, 1)
            largest = np.maximum(largest, sink)
        blind = np.isinf(largest)
        power = np.where(self.allowed(), np.exp(scores - np.where(blind, 0, largest)), 0)
        total = power.sum(-1, keepdims=True)
        if self.sink:
            power_of_sink = np.exp(sink - largest)
            total = total + power_of_sink
            self.sink_weights = power_of_sink / total
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
        parts = list(zip(each(scores, lambda x: x), each(size, np.abs)))
        if self.kind == 0:  # the bias is added behind the scale
            parts[3] = tuple(x / self.scale for x in parts[3])
        return parts

    def sink_gradient(self, dy: np.ndarray, y: np.ndarray) -> Want:
        terms = -self.sink_weights * (dy * y)
        return Want(terms.sum((0, 2, 3)), np.abs(terms).sum((0, 2, 3)) + 0.05, loose=4)

    def tensor(self, x: np.ndarray) -> Tensor:
        return given(laid_out(x, self.layout), self.dtype)

    def attributes(self, second: bool) -> list:
        numbers = [self.scale, self.keep, *self.tokens, self.shape[1], self.layout.encode(), 0, self.sparse]
        return [self.prefix, *self.starts, *numbers, self.kind] if second else [self.prefix, *numbers]


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


def start(r: Random) -> list | None:
    return r.pick([None, [], [r.int(-9, 9)]])


def flash(r: Random, dtype: str, second: bool, third: bool = False) -> Flash:
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
    case.kind = r.int(0, 3) if second else 1
    if case.kind > 1:
        case.starts = start(r), start(r)
        case.shift = r.tensor('f32', r.pick([(heads,), (1, heads), (batch, heads)]), 0, 0.5)
        case.slopes = np.broadcast_to(case.shift.data.astype(np.float64), (batch, heads))
    elif r.chance(0.7 if second else 0.4):
        case.shift = r.tensor(dtype, r.pick([shape, (batch, heads, 1, columns), (1, *shape[1:])]), -1, 1)
    if case.keep < 1 or r.chance(0.3):
        case.drop = r.tensor('u8', (-(-int(np.prod(shape)) // 128) * 16 + r.pick([0, 32]),), 0, 255)
    case.mask = flash_mask(r, sparse, shape)
    if third and r.chance(0.8):
        case.sink = r.tensor('f32', (heads,), -2, 3)
    case.run()
    return case


@TABLE.case('FlashAttentionScore FlashAttentionScoreV2 FlashAttentionScoreV3')
def flash_attention(r: Random, form) -> Case:
    third = form.name.endswith('V3')
    second = third or form.name.endswith('V2')
    f = flash(r, r.pick(form.types['query']), second, third)
    reserved = r.pick([None, Tensor('f32', (0,)), Tensor('f16', (1,))]) if r.empty else None
    out = laid_out(f.out, f.layout)
    arguments = [f.tensor(f.query), f.tensor(f.key), f.tensor(f.value), f.shift, f.drop, None, f.mask,
                 *([f.sink] if third else []), *f.attributes(second)]
    at = len(arguments)
    arguments += [Tensor('f32', f.most.shape), Tensor('f32', f.total.shape), reserved, Tensor(f.dtype, out.shape)]
    return Case(arguments, {at: Want(f.most, 4.0), at + 1: Want(f.total, f.total, loose=2),
                            at + 3: Want(out, 1 / f.keep, loose=2)})


@TABLE.case('FlashAttentionScoreGrad FlashAttentionScoreGradV2 FlashAttentionScoreGradV3')
def flash_attention_gradient(r: Random, form) -> Case:
    third = form.name.endswith('V3')
    second = third or form.name.endswith('V2')
    f = flash(r, r.pick(form.types['query']), second, third)
    y = exact(f.out, f.dtype).astype(np.float64)
    dy = r.array(f.dtype, y.shape, -1, 1).astype(np.float64)
    *parts, scores = f.gradients(dy, y)
    loose = 4 if f.dtype == 'f32' else 1
    wants = [Want(laid_out(x, f.layout), laid_out(size, f.layout) + 0.05, loose=loose) for x, size in parts]
    arguments = [f.tensor(f.query), f.tensor(f.key), f.tensor(f.value), f.tensor(dy), f.shift, f.drop, None, f.mask,
                 given(f.most, 'f32'), given(f.total, 'f32'), None, f.tensor(y),
                 *([f.sink] if third else []), *f.attributes(second)]
    found = {len(arguments) + i: w for i, w in enumerate(wants)}
    dshift = Tensor(f.dtype, (0,)) if r.empty and r.chance() else None
    if f.shift and f.slopes is not None:
        dshift = r.pick([None, r.tensor('f32', f.shift.shape)])  # stays as it is
    elif f.shift and r.chance(0.8):
        axes = tuple(a for a in (0, 2) if f.shift.shape[a] != f.shape[a])
        dshift = Tensor(f.dtype, f.shift.shape)
        found[len(arguments) + 3] = Want(scores[0].sum(axes, keepdims=True), scores[1].sum(axes, keepdims=True) + 0.05, loose=4)
    results = [*[Tensor(f.dtype, w.value.shape) for w in wants], dshift]
    if third:
        wanted = f.sink and r.chance(0.8)
        if wanted:
            found[len(arguments) + len(results)] = f.sink_gradient(dy, y)
        results.append(Tensor('f32', f.sink.shape) if wanted else None)
    return Case([*arguments, *results], found)


def packed_drop(r: Random, sequences: list[Flash]) -> Tensor:
    """The bits of all sequences, which follow each other."""
    bits = [r.rng.integers(0, 2, int(np.prod(f.shape)), np.uint8) for f in sequences]
    for f, own in zip(sequences, bits):
        f.drop = given(np.packbits(own, bitorder='little'), 'u8')
    whole = np.packbits(np.concatenate(bits), bitorder='little')
    return given(np.concatenate([whole, np.zeros(r.pick([0, 7]), np.uint8)]), 'u8')


def packed_sequences(r: Random, dtype: str, second: bool, fifth: bool) -> tuple[list[Flash], list]:
    """Attentions of one sequence each, and the arguments: bias and dropout, the mask, and those from the sink on to pseType."""
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
    keep, kind, heads = r.pick([1.0, 1.0, 0.5]), r.int(0, 3) if second else 1, shared * groups
    slopes = r.tensor('f32', r.pick([(heads,), (1, heads), (len(lengths), heads)]), 0, 0.5) if kind > 1 else None
    starts = (start(r), start(r)) if second else (None, None)
    sink = r.tensor('f32', (heads,), -2, 3) if fifth and r.chance(0.8) else None
    sequences = []
    for i, (rows, columns) in enumerate(lengths):
        f = Flash(dtype, 'BSND', (1, heads, rows, columns), groups, scale, keep, sparse, tokens, prefix and prefix[i:i + 1])
        f.query, f.key, f.value = [r.array(dtype, (1, h, n, d), -1, 1) for h, n, d in
                                   ((heads, rows, size), (shared, columns, size), (shared, columns, wide))]
        if whole and mask:
            f.mask = given(mask.data.reshape(longest)[:rows, :columns], mask.dtype)
        f.kind, f.starts, f.sink = kind, starts, sink
        if slopes:
            f.slopes = np.broadcast_to(slopes.data.astype(np.float64), (len(lengths), heads))[i:i + 1]
        sequences.append(f)
    drop = packed_drop(r, sequences) if keep < 1 else None
    for f in sequences:
        f.run()
    ends = [[int(e) for e in np.cumsum(column)] for column in zip(*lengths)]
    numbers = [scale, keep, *tokens, heads, b'TND', 0, sparse]
    if not second:
        return sequences, [slopes, drop, mask, [prefix, *ends, *numbers]]
    return sequences, [slopes, drop, mask, [*([sink] if fifth else []), prefix, *ends, *starts, *numbers, kind]]


def rows_of(parts) -> np.ndarray:
    """[T, N, D] of [1, N, S, D] for each sequence."""
    return np.concatenate([x[0].swapaxes(0, 1) for x in parts])


def numbers_of(parts, straight: bool) -> np.ndarray:
    """[T, N, 8], or else [N, S, 8] of one sequence after the other, whatever the shape says."""
    if straight:
        return rows_of(parts)
    flat = np.concatenate([x.reshape(-1) for x in parts])
    return flat.reshape(-1, parts[0].shape[1], 8)


def rope_size(r: Random, query: np.ndarray, form) -> int | None:
    """How many of the last elements of a head come apart, 0: none; None where they cannot."""
    if not form.name.endswith(('V3', 'V5')):
        return None
    return r.int(1, query.shape[-1] - 1) if query.shape[-1] > 1 and query.size and r.chance() else 0


def with_ropes(arrays: list, dtype: str, rope: int | None, make) -> list:
    """Query, key and value with what aclnnFlashAttentionVarLenScoreV3 has between them: the last `rope` elements of each head."""
    made = []
    for array in arrays[:2]:
        if rope:
            made += [make(array[..., :-rope], dtype), make(array[..., -rope:], dtype)]
        else:
            made += [make(array, dtype), *([] if rope is None else [Tensor(dtype, (0,))])]
    return [*made, make(arrays[2], dtype)]


def result_like(array: np.ndarray, dtype: str) -> Tensor:
    return Tensor(dtype, array.shape)


def number_layout(r: Random, form) -> tuple[bool, list]:
    """Whether the numbers of rows lie as the query does, and the argument that says so where there is one."""
    if not form.name.endswith('V5'):
        return False, []
    straight = r.chance()
    return straight, [b'same_as_input' if straight else b'']


@TABLE.case('FlashAttentionVarLenScore FlashAttentionVarLenScoreV2 FlashAttentionVarLenScoreV3 FlashAttentionVarLenScoreV5')
def packed_attention(r: Random, form) -> Case:
    dtype, fifth = r.pick(form.types['query']), form.name.endswith('V5')
    fs, (slopes, drop, mask, attributes) = packed_sequences(r, dtype, form.name.endswith(('V2', 'V3', 'V5')), fifth)
    arrays = [rows_of([getattr(f, n) for f in fs]) for n in ('query', 'key', 'value')]
    tensors = with_ropes(arrays, dtype, rope_size(r, arrays[0], form), given)
    straight, layout = number_layout(r, form)
    most, total = [numbers_of([getattr(f, n) for f in fs], straight) for n in ('most', 'total')]
    out = rows_of([f.out for f in fs])
    arguments = [*tensors, slopes, drop, None, mask, *attributes, *layout]
    at = len(arguments)
    arguments += [Tensor('f32', most.shape), Tensor('f32', most.shape), None, Tensor(dtype, out.shape)]
    return Case(arguments, {at: Want(most, 4.0), at + 1: Want(total, total, loose=2), at + 3: Want(out, 1 / fs[0].keep, loose=2)})


@TABLE.case('FlashAttentionUnpaddingScoreGrad FlashAttentionUnpaddingScoreGradV2 FlashAttentionUnpaddingScoreGradV3'
            ' FlashAttentionUnpaddingScoreGradV5')
def packed_gradient(r: Random, form) -> Case:
    dtype, fifth = r.pick(form.types['query']), form.name.endswith('V5')
    fs, (slopes, drop, mask, attributes) = packed_sequences(r, dtype, form.name.endswith(('V2', 'V3', 'V5')), fifth)
    arrays = [rows_of([getattr(f, n) for f in fs]) for n in ('query', 'key', 'value')]
    rope = rope_size(r, arrays[0], form)
    tensors = with_ropes(arrays, dtype, rope, given)
    ys = [exact(f.out, dtype).astype(np.float64) for f in fs]
    dys = [r.array(dtype, y.shape, -1, 1).astype(np.float64) for y in ys]
    parts = [f.gradients(dy, y)[:3] for f, dy, y in zip(fs, dys, ys)]
    sums = [[rows_of([p[i][j] for p in parts]) for j in range(2)] for i in range(3)]
    straight, layout = number_layout(r, form)
    most, total = [given(numbers_of([getattr(f, n) for f in fs], straight), 'f32') for n in ('most', 'total')]
    arguments = [*tensors, given(rows_of(dys), dtype), slopes, drop, None, mask, most, total, None, given(rows_of(ys), dtype),
                 *attributes, *layout]
    unused = r.pick([None, Tensor(dtype, (0,))]) if r.empty else None
    dslopes = r.tensor('f32', slopes.shape) if slopes and r.chance() else unused  # they stay as they are
    loose = 4 if dtype == 'f32' else 1
    results = with_ropes(list(zip(*sums))[0], dtype, rope, result_like)
    found = {}
    values, scales = [with_ropes([s[j] for s in sums], dtype, rope, lambda array, _: array) for j in range(2)]
    for i, (value, scale) in enumerate(zip(values, scales)):
        if isinstance(value, np.ndarray):
            found[len(arguments) + i] = Want(value, scale + 0.05, loose=loose)
    arguments += [*results, dslopes]
    if fifth:
        sinks = [f.sink_gradient(dy, y) for f, dy, y in zip(fs, dys, ys)] if fs[0].sink and r.chance(0.8) else None
        if sinks:
            found[len(arguments)] = Want(sum(s.value for s in sinks), sum(s.scale for s in sinks), loose=4)
        arguments.append(Tensor('f32', fs[0].sink.shape) if sinks else None)
    return Case(arguments, found)


def ring_numbers(shape: tuple, r: Random) -> list[Tensor]:
    """The largest score of each row and the sum of its powers, repeated."""
    return [given(np.repeat(r.array('f32', shape, low, high)[..., None], 8, -1), 'f32') for low, high in ((-3, 3), (0.5, 9))]


@TABLE.case('RingAttentionUpdate RingAttentionUpdateV2')
def ring(r: Random, form) -> Case:
    dtype, layout, heads, size = r.pick(form.types['attnOutOut']), r.pick(['SBH', 'TND']), r.int(1, 3), r.int(1, 8)
    lengths = [r.size(0, 5) for _ in range(r.int(1, 3))]
    rows, batch = sum(lengths), r.int(1, 3)
    straight = layout == 'TND' and form.name.endswith('V2') and r.chance()
    shape, numbers = ((rows, batch, heads * size), (batch, heads, rows)) if layout == 'SBH' else ((rows, heads, size), (rows, heads))
    sides = [[r.tensor(dtype, shape), *ring_numbers(numbers, r)] for _ in range(2)]
    most, total = [[t.data[..., 0].astype(np.float64) for t in ts] for ts in ([s[1] for s in sides], [s[2] for s in sides])]
    largest = np.maximum(*most)
    powers = [t * np.exp(m - largest) for t, m in zip(total, most)]
    shares = [p / sum(powers) for p in powers]

    def of_rows(x):
        """[rows, batch, heads, 1] or [rows, heads, 1]"""
        if layout == 'SBH':
            return np.moveaxis(x, 2, 0)[..., None]
        if straight:
            return x[..., None]
        ends = np.cumsum([n * heads for n in lengths])[:-1]
        return np.concatenate([part.reshape(heads, -1).T for part in np.split(x.ravel(), ends)])[..., None]
    terms = [s[0].data.astype(np.float64).reshape(*shape[:-1], heads, size) if layout == 'SBH' else s[0].data.astype(np.float64)
             for s in sides]
    terms = [t * of_rows(share) for t, share in zip(terms, shares)]
    wide = [np.repeat(x[..., None], 8, -1) for x in (largest, sum(powers))]
    ends = [int(n) for n in np.cumsum(lengths)]
    given_ends = given(np.array([0] * r.int(0, 1) + ends), 'i64') if layout == 'TND' or r.chance(0.2) else None
    arguments = [*sides[0], *sides[1], given_ends, layout.encode() if layout == 'TND' else r.pick([b'SBH', b'', None])]
    if form.name.endswith('V2'):
        arguments.append(b'TND' if straight else r.pick([b'', b'SBH', None]))
    at = len(arguments)
    arguments += [Tensor(dtype, shape), *[Tensor('f32', x.shape) for x in wide]]
    size_of = sum(np.abs(t) for t in terms).reshape(shape)
    return Case(arguments, {at: Want(sum(terms).reshape(shape), size_of, loose=2), at + 1: wide[0], at + 2: Want(wide[1], wide[1])})


@dataclass
class Blocks:
    """Attention over some blocks of the scores of sequences."""
    packed: bool
    lengths: list  # rows and columns of each
    block: tuple
    mask: np.ndarray
    groups: int
    scale: float

    def each(self, q, k, v, padded: tuple):
        """For each sequence where its rows and columns are in packed or padded tensors, and its weights."""
        at = np.zeros(2, int)
        for i, (rows, columns) in enumerate(self.lengths):
            where = [(slice(at[0], at[0] + rows),), (slice(at[1], at[1] + columns),)] if self.packed else \
                [(i, slice(None), slice(0, rows)), (i, slice(None), slice(0, columns))]
            at += rows, columns
            a, b, c = [np.repeat(self.by_head(x[w]), g, 0) for x, w, g in
                       ((q, where[0], 1), (k, where[1], self.groups), (v, where[1], self.groups))]
            seen = np.kron(self.mask[i], np.ones(self.block, int))[:, :rows, :columns] != 0
            scores = np.where(seen, np.matmul(a, b.swapaxes(1, 2)) * self.scale, -np.inf)
            most = scores.max(-1, keepdims=True, initial=-np.inf)
            power = np.where(seen, np.exp(scores - np.where(np.isinf(most), 0, most)), 0)
            total = power.sum(-1, keepdims=True)
            with np.errstate(divide='ignore'):
                yield where, (a, b, c), power / np.where(total == 0, 1, total), most + np.log(total)

    def by_head(self, x):
        return x.swapaxes(0, 1) if self.packed else x


def blocks_of(r: Random) -> tuple[Blocks, list, list]:
    """The blocks, query, key and value, and the arguments from blockShape to numKeyValueHeads but for pages."""
    packed, shared, groups, size = r.chance(), r.int(1, 2), r.int(1, 3), r.int(1, 8)
    lengths = [(r.size(0, 20), r.size(0, 9) if r.chance() else r.int(120, 400)) for _ in range(r.int(1, 3))]
    same = not packed and r.chance()
    lengths = [lengths[0]] * len(lengths) if same else lengths
    longest = [max(column) for column in zip(*lengths)]
    block = r.pick([1, 5, 64]), 128
    heads = shared * groups
    sums = [sum(column) for column in zip(*lengths)]
    # Without lengths these are those of the tensors.
    full = longest if same or packed else [n + r.int(0, 3) for n in longest]
    mask = r.rng.integers(0, 2, (len(lengths), heads, -(-full[0] // block[0]), -(-full[1] // block[1])))
    shape = [(n, h, size) if packed else (len(lengths), h, full[i], size)
             for i, n, h in ((0, sums[0], heads), (1, sums[1], shared), (1, sums[1], shared))]
    b = Blocks(packed, lengths, block, mask, groups, r.real(0.1, 1))
    told = [list(column) for column in zip(*lengths)] if not same else [None, None]
    layout = b'TND' if packed else b'BNSD'
    return b, [r.array('f16', s, -1, 1) for s in shape], [[*block], *told, layout, layout, shared]


@TABLE.case('BlockSparseAttention', without='shape')
def block_sparse(r: Random, form) -> Case:
    dtype, (b, values, attributes) = r.pick(form.types['query']), blocks_of(r)
    q, k, v = tensors = [exact(x, dtype).astype(np.float64) for x in values]
    out, levels, flag = np.zeros(q.shape), np.zeros((*q.shape[:-1], 1)), r.int(0, 1)
    for where, (_, _, c), weights, level in b.each(q, k, v, q.shape):
        out[where[0]] = b.by_head(np.matmul(weights, c))
        levels[where[0]] = b.by_head(level)
    shape, rows, columns, *layouts, shared = attributes
    arguments = [*[given(x, dtype) for x in tensors], given(b.mask, 'i8'), None, shape, rows, columns, None, *layouts, shared, 0,
                 b.scale, r.int(0, 1), 0, EVERYTHING, EVERYTHING, flag, given(np.zeros(q.shape), dtype),
                 given(np.zeros(levels.shape), 'f32') if flag or r.chance() else None]
    wants = {19: Want(out, 1.0, loose=2)}
    if flag:
        wants[20] = Want(levels, 4.0)
    return Case(arguments, wants)


@TABLE.case('BlockSparseAttentionGrad', without='shape')
def block_sparse_gradient(r: Random, form) -> Case:
    dtype, (b, values, attributes) = r.pick(form.types['query']), blocks_of(r)
    q, k, v = tensors = [exact(x, dtype).astype(np.float64) for x in values]
    y, dy, levels = np.zeros(q.shape), r.array(dtype, q.shape, -1, 1).astype(np.float64), np.zeros((*q.shape[:-1], 1))
    grads, sizes = [np.zeros(x.shape) for x in tensors], [np.zeros(x.shape) for x in tensors]
    for where, (a, c, e), weights, level in b.each(q, k, v, q.shape):
        y[where[0]] = b.by_head(exact(np.matmul(weights, e), dtype))
        levels[where[0]] = b.by_head(level)
        mine, was = b.by_head(dy[where[0]]), b.by_head(y[where[0]])
        d, delta = np.matmul(mine, e.swapaxes(1, 2)), (mine * was).sum(-1, keepdims=True)
        scores, size = weights * (d - delta) * b.scale, weights * (np.abs(d) + np.abs(mine * was).sum(-1, keepdims=True)) * b.scale

        def grouped(x):
            return x.reshape(len(x) // b.groups, b.groups, *x.shape[1:]).sum(1)
        for to, s, of in ((grads, scores, lambda x: x), (sizes, size, np.abs)):
            to[0][where[0]] = b.by_head(np.matmul(s, of(c)))
            to[1][where[1]] = b.by_head(grouped(np.matmul(s.swapaxes(1, 2), of(a))))
            to[2][where[1]] = b.by_head(grouped(np.matmul(weights.swapaxes(1, 2), of(mine))))
    arguments = [given(dy, dtype), *[given(x, dtype) for x in tensors], given(y, dtype), given(levels, 'f32'), given(b.mask, 'i8'),
                 None, *attributes, 0, b.scale, EVERYTHING, EVERYTHING, *[given(np.zeros(x.shape), dtype) for x in tensors]]
    return Case(arguments, {len(arguments) - 3 + i: Want(g, s + 0.05) for i, (g, s) in enumerate(zip(grads, sizes))})


def delta_rule(case: dict, state: np.ndarray, tokens, leave) -> None:
    """A head's tokens one after another, from its state on."""
    for t in tokens:
        k, q = case['key'][t], case['query'][t]
        state = state * np.exp(case['g'][t] + case['gk'][t])
        state = state + np.outer(case['beta'][t] * (case['value'][t] - state @ k), k)
        leave(t, state, state @ q * case['scale'])


def delta_case(r: Random) -> tuple[dict, list, tuple]:
    shared, groups, size, wide = r.int(1, 2), r.int(1, 3), r.int(1, 8), r.int(1, 8)
    lengths = [r.size(0, 5) for _ in range(r.int(1, 3))]
    tokens, heads = sum(lengths), shared * groups
    case = {'query': r.tensor('bf16', (tokens, shared, size), -0.5, 0.5), 'key': r.tensor('bf16', (tokens, shared, size), -0.5, 0.5),
            'value': r.tensor('bf16', (tokens, heads, wide), -1, 1), 'beta': r.pick([None, r.tensor('bf16', (tokens, heads), 0, 1)]),
            'g': r.pick([None, r.tensor('f32', (tokens, heads), -1, 0)]), 'scale': r.real(0.1, 1)}
    return case, lengths, (tokens, heads, groups, size, wide)


def delta_head(case: dict, head: int, sizes: tuple) -> dict:
    """The arguments of a head as floats."""
    tokens, _, groups, size, _ = sizes

    def of(name, at, otherwise):
        return case[name].data.astype(np.float64)[:, at] if case.get(name) else otherwise
    zeros = np.zeros((tokens, size))
    return {'query': of('query', head // groups, None), 'key': of('key', head // groups, None), 'value': of('value', head, None),
            'beta': of('beta', head, np.ones(tokens)), 'g': of('g', head, np.zeros(tokens)), 'gk': of('gk', head, zeros),
            'scale': case['scale']}


@TABLE.case('RecurrentGatedDeltaRule', without='shape')
def recurrent_delta(r: Random, form) -> Case:
    case, lengths, sizes = delta_case(r)
    tokens, heads, _, size, wide = sizes
    case['gk'] = r.pick([None, r.tensor('f32', (tokens, heads, size), -1, 0)])
    states = tokens + r.int(1, 3)
    state, slots = r.tensor('bf16', (states, heads, wide, size), -1, 1), r.rng.permutation(states)[:tokens]
    accepted = r.pick([None, [r.int(1, max(n, 1)) for n in lengths]])
    out, after = np.zeros((tokens, heads, wide)), state.data.astype(np.float64).copy()
    for i, n in enumerate(lengths):
        first = sum(lengths[:i])
        for h in range(heads if n else 0):
            def leave(t, s, y, h=h):
                after[slots[t], h], out[t, h] = s, y
            begin = state.data[slots[first + (accepted[i] - 1 if accepted else 0)], h].astype(np.float64)
            delta_rule(delta_head(case, h, sizes), begin, range(first, first + n), leave)
    arguments = [case['query'], case['key'], case['value'], case['beta'], state, given(np.array(lengths), 'i32'), given(slots, 'i32'),
                 case['g'], case['gk'], given(np.array(accepted), 'i32') if accepted else None, case['scale'],
                 Tensor('bf16', out.shape)]
    return Case(arguments, {4: Want(after, 1.0), 11: Want(out, 1.0)})


@TABLE.case('ChunkGatedDeltaRule', without='shape')
def chunk_delta(r: Random, form) -> Case:
    case, lengths, sizes = delta_case(r)
    tokens, heads, _, size, wide = sizes
    state = r.tensor('bf16', (len(lengths), heads, wide, size), -1, 1)
    out, after = np.zeros((tokens, heads, wide)), state.data.astype(np.float64).copy()
    for i, n in enumerate(lengths):
        first = sum(lengths[:i])
        for h in range(heads):
            def leave(t, s, y, i=i, h=h):
                after[i, h], out[t, h] = s, y
            delta_rule(delta_head(case, h, sizes), after[i, h], range(first, first + n), leave)
    return Case([case['query'], case['key'], case['value'], case['beta'], state, given(np.array(lengths), 'i32'), case['scale'],
                 case['g'], Tensor('bf16', out.shape), Tensor('bf16', state.shape)], {8: Want(out, 1.0), 9: Want(after, 1.0)})


def compressed(r: Random, dtype: str) -> tuple:
    """The arguments of a compression, and where each block begins."""
    block, stride, heads, size = r.int(1, 5), r.int(1, 5), r.int(1, 3), r.size(1, 9)
    lengths = [r.size(0, 12) for _ in range(r.int(1, 3))]
    ends = [int(n) for n in np.cumsum(lengths)]
    starts = [end - n + at for end, n in zip(ends, lengths) for at in range(0, n - block + 1, stride)]
    ends = [0] * r.int(0, 1) + ends
    return r.tensor(dtype, (sum(lengths), heads, size), -1, 1), r.tensor(dtype, (block, heads), -1, 1), ends, block, stride, starts


@TABLE.case('NsaCompress')
def compress(r: Random, form) -> Case:
    x, weight, ends, block, stride, starts = compressed(r, r.pick(form.types['input']))
    wide, by = x.data.astype(np.float64), weight.data.astype(np.float64)[..., None]
    terms = np.array([wide[at:at + block] * by for at in starts]).reshape(-1, block, *x.shape[1:])
    want = Want(terms.sum(1), np.abs(terms).sum(1))
    return Case([x, weight, ends, b'TND', block, stride, 0, Tensor(x.dtype, want.value.shape)], {7: want})


@TABLE.case('NsaCompressGrad')
def compress_gradient(r: Random, form) -> Case:
    x, weight, ends, block, stride, starts = compressed(r, r.pick(form.types['input']))
    dy = r.tensor(x.dtype, (len(starts), *x.shape[1:]), -1, 1)
    wants = []
    for of in (lambda v: v, np.abs):
        wide, by, d = [of(t.data.astype(np.float64)) for t in (x, weight, dy)]
        dx, dw = np.zeros(x.shape), np.zeros(weight.shape)
        for c, at in enumerate(starts):
            dx[at:at + block] += d[c] * by[..., None]
            dw += (d[c] * wide[at:at + block]).sum(-1)
        wants.append((dx, dw))
    return Case([dy, x, weight, ends, block, stride, 0, b'TND', Tensor(x.dtype, x.shape), Tensor(x.dtype, weight.shape)],
                {8 + i: Want(value, size) for i, (value, size) in enumerate(zip(*wants))})


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
