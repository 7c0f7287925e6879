"""Native sparse attention: over compressed keys, and over the blocks of keys that these say matter."""
from __future__ import annotations

import numpy as np

from cases import Case, Table, Want
from values import Random, Tensor, given

TABLE = Table('native_sparse')


class Heads:
    """Packed sequences whose heads share keys; `wide`: query, key, value in f64."""

    def __init__(self, r: Random, dtype: str):
        self.dtype, self.shared, self.group = dtype, r.int(1, 3), r.int(1, 3)
        self.heads, self.deep, self.size = self.shared * self.group, r.int(1, 9), r.int(1, 9)
        self.rows = [r.int(0, 4) for _ in range(r.int(1, 3))] + [r.int(1, 4)]
        self.keys = [r.pick([r.int(1, 9), r.int(250, 300)]) if r.chance(0.1) else r.int(1, 9) for _ in self.rows]
        self.tokens, self.scale = sum(self.rows), r.real(0.2, 1.5)

    def tensors(self, r: Random):
        shapes = [(self.tokens, self.heads, self.deep), (sum(self.keys), self.shared, self.deep), (sum(self.keys), self.shared, self.size)]
        return [r.tensor(self.dtype, shape, -1, 1) for shape in shapes]

    def each(self):
        """token, its place in its sequence, the sequence, the rows of its keys"""
        token = first = 0
        for s, (n, m) in enumerate(zip(self.rows, self.keys)):
            for i in range(n):
                yield token + i, i, s, np.arange(first, first + m)
            token, first = token + n, first + m

    def ends(self):
        return [[int(v) for v in np.cumsum(counts)] for counts in (self.rows, self.keys)]

    def sums(self):
        return (self.tokens, self.heads, 8)


def softmax(scores):
    """Its values, the greatest score, the sum of the powers; of rows without columns zeros."""
    if scores.shape[1] == 0 or np.all(scores.max(1) == -np.inf):
        return np.zeros(scores.shape), np.full(len(scores), -np.inf), np.zeros(len(scores))
    most = scores.max(1)
    power = np.exp(scores - most[:, None])
    return power / power.sum(1)[:, None], most, power.sum(1)


def of_heads(s: Heads, head: int) -> slice:
    return slice(head * s.group, (head + 1) * s.group)


class Selected:
    """The selected attention, and what it was given."""

    def __init__(self, r: Random, dtype: str):
        s = self.s = Heads(r, dtype)
        self.block, self.count, self.mode = r.int(1, 4), r.int(1, 5), r.pick([0, 2])
        self.query, self.key, self.value = s.tensors(r)
        self.mask = None
        if r.chance(0.5 if self.mode == 0 else 0.3):
            shape = (max(s.rows), max(s.keys)) if self.mode == 0 else (2048, 2048)
            self.mask = given(r.rng.integers(0, 2, shape), r.pick(['bool', 'u8']))
        self.chosen = np.full((s.tokens, s.shared, self.count), -1)
        for t, _, b, _ in s.each():
            for h in range(s.shared):
                blocks = r.rng.permutation(-(-s.keys[b] // self.block) + 1)[:r.int(0, self.count)]
                self.chosen[t, h, :len(blocks)] = blocks

    def columns(self, token: int, place: int, sequence: int, head: int) -> np.ndarray:
        causal = self.mode == 2 and self.mask
        seen = min(self.s.keys[sequence], place + 1) if causal else self.s.keys[sequence]
        blocks = [b for b in self.chosen[token, head] if b >= 0]
        found = [c for b in blocks for c in range(b * self.block, (b + 1) * self.block) if c < seen]
        return np.array([c for c in found if self.mask is None or causal or not self.mask.data[place, c]], int)

    def forward(self):
        s, out = self.s, np.zeros((self.s.tokens, self.s.heads, self.s.size))
        most, total, self.parts = np.full(s.sums(), -np.inf), np.zeros(s.sums()), []
        q, k, v = [t.data.astype(np.float64) for t in (self.query, self.key, self.value)]
        for t, place, b, keys in s.each():
            for h in range(s.shared):
                rows, heads = keys[self.columns(t, place, b, h)], of_heads(s, h)
                p, greatest, sums = softmax(q[t, heads] @ k[rows, h].T * s.scale)
                out[t, heads] = p @ v[rows, h]
                most[t, heads], total[t, heads] = greatest[:, None], sums[:, None]
                self.parts.append((t, h, rows, heads, p))
        return out, most, total

    def lists(self):
        return [*self.s.ends()]

    def indices(self):
        return given(self.chosen, 'i32')


@TABLE.case('NsaSelectedAttention', without='shape')
def selected(r: Random, form) -> Case:
    a = Selected(r, r.pick(form.types['query']))
    out, most, total = a.forward()
    results = [Tensor('f32', a.s.sums()), Tensor('f32', a.s.sums()), Tensor(a.s.dtype, out.shape)]
    return Case([a.query, a.key, a.value, a.indices(), a.mask, *a.lists(), a.s.scale, a.s.heads, b'TND', a.mode, a.block, a.count, *results],
                {13: Want(most, 4.0, loose=4), 14: Want(total, 4.0, loose=4), 15: Want(out, 1.0)})


@TABLE.case('NsaSelectedAttentionGrad', without='shape')
def selected_gradient(r: Random, form) -> Case:
    a = Selected(r, r.pick(form.types['query']))
    s = a.s
    out, most, total = a.forward()
    out, dy = given(out, s.dtype), r.tensor(s.dtype, out.shape, -1, 1)
    q, k, v, o, d = [t.data.astype(np.float64) for t in (a.query, a.key, a.value, out, dy)]
    grads = [np.zeros(x.shape) for x in (q, k, v)]
    for t, h, rows, heads, p in a.parts:
        along = (d[t, heads] * o[t, heads]).sum(1)[:, None]
        ds = p * (d[t, heads] @ v[rows, h].T - along) * s.scale
        grads[0][t, heads] += ds @ k[rows, h]
        np.add.at(grads[1], (rows, h), ds.T @ q[t, heads])
        np.add.at(grads[2], (rows, h), p.T @ d[t, heads])
    sums = [given(x, 'f32') for x in (most, total)]
    wants = {17 + i: Want(x, 3.0, loose=2) for i, x in enumerate(grads)}
    return Case([a.query, a.key, a.value, out, dy, *sums, a.indices(), *a.lists(), a.mask, s.scale, a.block, a.count, s.heads, b'TND', a.mode,
                 *[Tensor(s.dtype, x.shape) for x in grads]], wants)


class Pages:
    """One token for each sequence, and its keys in pages."""

    def __init__(self, r: Random, dtype: str):
        self.s = s = Heads(r, dtype)
        s.rows = [1] * len(s.keys)
        s.tokens = len(s.rows)
        self.r, self.page, self.layout = r, r.int(1, 4), r.pick(['TND', 'BSND', 'BSH'])
        self.wide = -(-max(s.keys) // self.page) + r.int(0, 1)
        count = s.tokens * self.wide + r.int(0, 2)
        self.table = r.rng.permutation(count)[:s.tokens * self.wide].reshape(s.tokens, self.wide)
        self.query = r.tensor(dtype, self.of_token(s.deep), -1, 1)
        split = r.chance()
        self.key, self.value = [r.tensor(dtype, (count, self.page, s.shared, n) if split else (count, self.page, s.shared * n), -1, 1)
                                for n in (s.deep, s.size)]

    def of_token(self, size: int) -> tuple:
        s = self.s
        return {'TND': (s.tokens, s.heads, size), 'BSND': (s.tokens, 1, s.heads, size), 'BSH': (s.tokens, 1, s.heads * size)}[self.layout]

    def of_keys(self, sequence: int, columns: np.ndarray):
        """query, keys and values in f64, heads first"""
        s = self.s
        rows = self.table[sequence][columns // self.page] * self.page + columns % self.page
        q = self.query.data.astype(np.float64).reshape(s.tokens, s.shared, s.group, s.deep)[sequence]
        k, v = [t.data.astype(np.float64).reshape(-1, s.shared, n)[rows].swapaxes(0, 1) for t, n in ((self.key, s.deep), (self.value, s.size))]
        return q, k, v

    def lengths(self):
        ones = self.r.pick([None, [1] * self.s.tokens, list(range(1, self.s.tokens + 1))])
        return [ones, [int(n) for n in self.s.keys]]

    def of_blocks(self, count: int) -> tuple:
        return (self.s.tokens, 1, self.s.shared, count) if self.layout == 'BSND' and self.r.chance() else (self.s.tokens, self.s.shared, count)


@TABLE.case('NsaSelectedAttentionInfer', without='shape')
def selected_in_pages(r: Random, form) -> Case:
    a = Pages(r, r.pick(form.types['query']))
    s, block, count = a.s, r.int(1, 4), r.int(1, 5)
    chosen, out = np.full((s.tokens, s.shared, count), -1), np.zeros((s.tokens, s.shared, s.group, s.size))
    for b, n in enumerate(s.keys):
        for h in range(s.shared):
            blocks = r.rng.permutation(-(-n // block))[:r.int(0, count)]
            chosen[b, h, :len(blocks)] = blocks
            columns = np.array([c for x in blocks for c in range(x * block, (x + 1) * block) if c < n], int)
            q, k, v = a.of_keys(b, columns)
            out[b, h] = softmax(q[h] @ k[h].T * s.scale)[0] @ v[h]
    return Case([a.query, a.key, a.value, given(chosen.reshape(a.of_blocks(count)), 'i32'), None, given(a.table, 'i32'), *a.lengths(),
                 a.layout.encode(), s.heads, s.shared, block, count, a.page, s.scale, 0, Tensor(s.dtype, a.of_token(s.size))],
                {16: Want(out.reshape(a.of_token(s.size)), 1.0)})


def weights_of_blocks(p: np.ndarray, blocks: int, selected: int, block: int) -> np.ndarray:
    """The sum of the compressed keys' probabilities in each block, sizes in strides."""
    sums = np.zeros(blocks)
    for j in range(blocks):
        for m in range(selected):
            for n in range(block):
                at = selected * (j + 1) - m - n
                if 0 <= at < len(p):
                    sums[j] += p[at]
    return sums


def chosen_blocks(weights: np.ndarray, wanted: np.ndarray, count: int) -> np.ndarray:
    """The heaviest in order, those that are wanted first; behind them -1. None: two are too close to be told apart."""
    weights = np.where(wanted, np.inf, weights)
    order = np.argsort(-weights, kind='stable')
    with np.errstate(invalid='ignore'):
        gaps = -np.diff(weights[order][:count + 1])
    if np.any((gaps > 0) & (gaps < 1e-4)):
        return None
    return np.concatenate([order, np.full(count, -1)])[:count] if len(order) < count else order[:count]


def sizes(r: Random):
    """compressStride, compressBlockSize, selectBlockSize"""
    stride = 16 * r.int(1, 2)
    block = stride * r.int(1, 2)
    return stride, block, block * r.int(1, 2)


@TABLE.case('NsaCompressAttention', without='shape')
def compressed_attention(r: Random, form) -> Case:
    while (case := compressed_attention_once(r, form)) is None:
        pass
    return case


def compressed_attention_once(r: Random, form) -> Case | None:
    s = Heads(r, r.pick(form.types['query']))
    query, key, value = s.tensors(r)
    q, k, v = [t.data.astype(np.float64) for t in (query, key, value)]
    (stride, block, selected), count = sizes(r), r.int(1, 4)
    blocks = [r.int(count, 7) for _ in s.keys]
    mask = given(r.rng.integers(0, 4, (max(s.rows), max(s.keys))) == 0, 'bool') if r.chance() else None
    wanted = given(r.rng.integers(0, 4, (max(s.rows), max(blocks))) == 0, 'bool') if r.chance() else None
    out, most, total = np.zeros((s.tokens, s.heads, s.size)), np.full(s.sums(), -np.inf), np.zeros(s.sums())
    chosen = np.zeros((s.tokens, s.shared, count), np.int32)
    for t, place, b, keys in s.each():
        for h in range(s.shared):
            heads = of_heads(s, h)
            scores = q[t, heads] @ k[keys, h].T * s.scale
            if mask:
                scores = np.where(mask.data[place, :len(keys)], -np.inf, scores)
            p, greatest, sums = softmax(scores)
            out[t, heads], most[t, heads], total[t, heads] = p @ v[keys, h], greatest[:, None], sums[:, None]
            first = wanted.data[place, :blocks[b]].astype(bool) if wanted else np.zeros(blocks[b], bool)
            best = chosen_blocks(weights_of_blocks(p.sum(0), blocks[b], selected // stride, block // stride), first, count)
            if best is None:
                return None
            chosen[t, h] = best
    results = [Tensor('f32', s.sums()), Tensor('f32', s.sums()), Tensor(s.dtype, out.shape), Tensor('i32', chosen.shape)]
    return Case([query, key, value, mask, wanted, *s.ends(), [int(n) for n in np.cumsum(blocks)], s.scale, s.heads, b'TND', r.pick([0, 1]), block,
                 stride, selected, count, *results],
                {16: Want(most, 4.0, loose=4), 17: Want(total, 4.0, loose=4), 18: Want(out, 1.0), 19: chosen})


@TABLE.case('NsaCompressAttentionInfer', without='shape')
def compressed_in_pages(r: Random, form) -> Case:
    while (case := compressed_in_pages_once(r, form)) is None:
        pass
    return case


def compressed_in_pages_once(r: Random, form) -> Case | None:
    a = Pages(r, r.pick(form.types['query']))
    s, (stride, block, selected), count = a.s, sizes(r), r.int(1, 5)
    out, chosen = np.zeros((s.tokens, s.shared, s.group, s.size)), np.zeros((s.tokens, s.shared, count), np.int32)
    for b, n in enumerate(s.keys):
        blocks = -(-((n - 1) * stride + block) // selected)
        ends = np.isin(np.arange(blocks), [0, blocks - 2, blocks - 1])
        q, k, v = a.of_keys(b, np.arange(n))
        for h in range(s.shared):
            p = softmax(q[h] @ k[h].T * s.scale)[0]
            out[b, h] = p @ v[h]
            best = chosen_blocks(weights_of_blocks(p.sum(0), blocks, selected // stride, block // stride), ends, count)
            if best is None:
                return None
            chosen[b, h] = best
    shape = a.of_blocks(count)
    return Case([a.query, a.key, a.value, None, given(a.table, 'i32'), *a.lengths(), None, None, s.heads, s.shared, selected, count, block, stride,
                 s.scale, a.layout.encode(), a.page, 0, Tensor(s.dtype, a.of_token(s.size)), Tensor('i32', shape)],
                {19: Want(out.reshape(a.of_token(s.size)), 1.0), 20: chosen.reshape(shape)})


@TABLE.case('NsaCompressWithCache', without='shape')
def compressed_cache(r: Random, form) -> Case:
    dtype, heads, size, page = r.pick(form.types['input']), r.int(1, 3), r.pick([r.int(1, 9), r.int(500, 600)]), r.int(1, 9)
    block, stride, batch = r.int(1, 6), r.int(1, 3), r.int(1, 4)
    lengths = [r.int(0, 20) for _ in range(batch)]
    each = -(-max(*lengths, 1) // page) + r.int(0, 1)
    pages, places = batch * each + r.int(0, 2), batch + r.int(0, 3)
    table = r.rng.permutation(pages)[:batch * each].reshape(batch, each)
    x, weight = r.tensor(dtype, (pages, page, heads, size), -1, 1), r.tensor(dtype, (block, heads), -1, 1)
    slots, cache = r.rng.permutation(places)[:batch], r.tensor(dtype, (places, heads, size), -1, 1)
    want, scale = cache.data.astype(np.float64).copy(), np.full(cache.shape, 0.1)
    tokens = x.data.astype(np.float64).reshape(pages * page, heads, size)
    for b, n in enumerate(lengths):
        if n < block or (n - block) % stride:
            continue
        at = np.arange(n - block, n)
        terms = tokens[table[b][at // page] * page + at % page] * weight.data.astype(np.float64)[..., None]
        want[slots[b]], scale[slots[b]] = terms.sum(0), np.abs(terms).sum(0)
    return Case([x, weight, given(slots, 'i32'), lengths, given(table, 'i32'), b'TND', block, stride, 1, page, cache], {10: Want(want, scale)})
