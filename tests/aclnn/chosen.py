"""Attention over chosen keys, and how they are chosen."""
from __future__ import annotations

import numpy as np

from cases import Case, Table, Want
from experts import divided
from linear import in_tiles
from values import Random, Tensor, exact, given

TABLE = Table('chosen')
ALL = 2 ** 63 - 1


class Sequences:
    """Tokens and keys of one head, in one of the layouts."""

    def __init__(self, r: Random):
        self.r, self.batch, self.packed, self.paged = r, r.int(1, 3), r.chance(), r.chance()
        self.most, self.most_keys = r.int(1, 4), r.int(1, 9)
        self.rows = [r.int(0, self.most) for _ in range(self.batch)] if self.packed or r.chance() else None
        self.columns = [r.int(0, self.most_keys) for _ in range(self.batch)] if self.packed or self.paged or r.chance() else None
        self.heads, self.sparse = r.int(1, 4), r.pick([0, 3])
        self.tokens = sum(self.rows) if self.packed else self.batch * self.most
        self.page_rows = r.int(1, 4)
        width = -(-self.most_keys // self.page_rows) + r.int(0, 1)
        self.pages = self.batch * width + r.int(0, 2)
        self.table = r.rng.permutation(self.pages)[:self.batch * width].reshape(self.batch, width)

    def lead(self) -> tuple:
        return (self.tokens,) if self.packed else (self.batch, self.most)

    def keys(self) -> tuple:
        if self.paged:
            return self.pages, self.page_rows, 1
        return (sum(self.columns), 1) if self.packed else (self.batch, self.most_keys, 1)

    def lengths(self) -> list:
        def told(counts, sums):
            return None if counts is None else given(np.array(np.cumsum(counts) if sums else counts), 'i32')
        return [told(self.rows, self.packed), told(self.columns, self.packed and not self.paged)]

    def layouts(self) -> list:
        name = b'TND' if self.packed else b'BSND'
        return [name, b'PA_BSND' if self.paged else name]

    def block_table(self):
        return given(self.table, 'i32') if self.paged else None

    def each(self):
        """token, the rows of its keys, how many of them it sees"""
        begin = key_begin = 0
        for b in range(self.batch):
            n = self.most if self.rows is None else self.rows[b]
            m = self.most_keys if self.columns is None else self.columns[b]
            j = np.arange(m)
            places = (self.table[b][j // self.page_rows] * self.page_rows + j % self.page_rows if self.paged else
                      j + (key_begin if self.packed else b * self.most_keys))
            for i in range(n):
                seen = m if self.sparse == 0 else min(max(m - n + i + 1, 0), m)
                yield (begin if self.packed else b * self.most) + i, places, seen
            begin, key_begin = begin + n, key_begin + m


@TABLE.case('LightningIndexer', without='shape')
def indexer(r: Random, form) -> Case:
    s, dtype, size, count = Sequences(r), r.pick(form.types['query']), r.int(1, 9), r.int(1, 7)

    def whole(shape, most, unit=1):
        return exact(r.rng.integers(-most, most + 1, shape) * unit, 'f32')
    q, k = whole((*s.lead(), s.heads, size), 2), whole((*s.keys(), size), 2)
    w = whole((*s.lead(), s.heads), 3, 0.25)
    flat_q, flat_k, flat_w = q.reshape(s.tokens, s.heads, size), k.reshape(-1, size), w.reshape(s.tokens, s.heads)
    indices, values = np.full((s.tokens, count), -1), np.full((s.tokens, count), -np.inf)
    for t, places, seen in s.each():
        scores = (np.maximum(flat_q[t] @ flat_k[places[:seen]].T, 0) * flat_w[t][:, None]).sum(0)
        best = np.argsort(-scores, kind='stable')[:count]
        indices[t, :len(best)], values[t, :len(best)] = best, scores[best]
    shape, returns = (*s.lead(), 1, count), r.chance()
    arguments = [given(q, dtype), given(k, dtype), given(w, r.pick([dtype, 'f32'])), *s.lengths(), s.block_table(), *s.layouts(), count,
                 s.sparse, ALL, ALL, returns, Tensor('i32', shape), Tensor(dtype, shape) if returns else None]
    wants = {13: indices.reshape(shape).astype(np.int32)}
    if returns:
        wants[14] = Want(values.reshape(shape), 0.1)
    return Case(arguments, wants)


@TABLE.case('SparseFlashAttention SparseFlashAttentionV2', without='shape')
def sparse_flash(r: Random, form) -> Case:
    s, dtype, size, turned, block, count = Sequences(r), r.pick(form.types['query']), r.int(1, 9), r.int(1, 5), r.int(1, 3), r.int(1, 6)

    def of(shape):
        return r.tensor(dtype, shape, -1, 1)
    lead, keys = (*s.lead(), s.heads), s.keys()
    q, k, v, qr, kr = of((*lead, size)), of((*keys, size)), of((*keys, size)), of((*lead, turned)), of((*keys, turned))
    sinks = r.tensor('f32', (s.heads,), -1, 1) if form.name.endswith('V2') and r.chance(0.8) else None
    scale, chosen = r.real(0.2, 1.5), np.full((s.tokens, count), -1)
    out = np.zeros((s.tokens, s.heads, size))
    most, total = np.full((s.tokens, s.heads), -np.inf), np.zeros((s.tokens, s.heads))
    if sinks:
        most[:], total[:] = sinks.data, 1
    flat = [np.concatenate([a.data.astype(np.float64), b.data.astype(np.float64)], -1) for a, b in ((q, qr), (k, kr))]
    flat_q, flat_k = flat[0].reshape(s.tokens, s.heads, size + turned), flat[1].reshape(-1, size + turned)
    flat_v = v.data.astype(np.float64).reshape(-1, size)
    for t in range(s.tokens):
        blocks = r.rng.permutation(-(-s.most_keys // block) + 1)[:r.int(0, count)]
        chosen[t, :len(blocks)] = blocks
    for t, places, seen in s.each():
        columns = [c for b in chosen[t] if b >= 0 for c in range(b * block, (b + 1) * block) if c < seen]
        if not columns:
            continue
        scores = flat_q[t] @ flat_k[places[columns]].T * scale
        joined = scores if sinks is None else np.concatenate([scores, sinks.data.astype(np.float64)[:, None]], 1)
        most[t] = joined.max(1)
        total[t] = np.exp(joined - most[t][:, None]).sum(1)
        out[t] = np.exp(scores - most[t][:, None]) @ flat_v[places[columns]] / total[t][:, None]
    returns = r.chance()
    sums = (1, s.tokens, s.heads) if s.packed else (s.batch, 1, s.most, s.heads)
    arguments = [q, k, v, given(chosen.reshape(*s.lead(), 1, count), 'i32'), s.block_table(), *s.lengths(), qr, kr,
                 *([sinks] if form.name.endswith('V2') else []), scale, block, *s.layouts(), s.sparse, ALL, ALL, 2, returns,
                 Tensor(dtype, (*lead, size)), *[Tensor('f32', sums) if returns else None for _ in range(2)]]
    at = len(arguments) - 3
    wants = {at: Want(out.reshape(*lead, size), 1.0)}
    if returns:
        wants |= {at + 1: Want(most.reshape(sums), 4.0, loose=4), at + 2: Want(total.reshape(sums), 4.0, loose=4)}
    return Case(arguments, wants)


@TABLE.case('TopKTopPSample TopKTopPSampleV2')
def sampled(r: Random, form) -> Case:
    while (case := sampled_once(r, form)) is None:
        pass
    return case


def sampled_once(r: Random, form) -> Case | None:
    """None: two are so close that rounding may tell which is the greater."""
    second, dtype, rows = form.name.endswith('V2'), r.pick(form.types['logits']), r.int(1, 4)
    n = r.pick([r.int(1, 9), r.int(500, 1500)])
    softens, most = (r.chance(), r.pick([r.int(1, 20), 1024, 5000])) if second else (True, 1024)
    logits = given(r.rng.permutation(rows * n).reshape(rows, n) % 509 / 64 if softens else r.rng.random((rows, n)), dtype)
    k, p = r.tensor('i32', (rows,), -1, n + 2), given(r.rng.choice([-0.5, 0, 0.3, 0.6, 0.9, 1, 1.5], rows), dtype)
    least = given(r.rng.choice([-1, 0, 0.05, 0.4, 1, 2], rows), dtype) if second and r.chance() else None
    q = r.tensor('f32', (rows, n), 0.1, 3) if r.chance() else None
    flags = [r.chance(), r.chance() if second else False]
    gone = -np.inf if softens else 0
    best, left = np.zeros(rows, np.int64), np.full((rows, n), gone, np.float32)
    places, weights = np.zeros((rows, n), np.int64), np.zeros((rows, n))
    for i in range(rows):
        row = logits.data[i].astype(np.float64)
        kept, part, floor = int(k.data[i]), float(p.data[i]), -1 if least is None else float(least.data[i])
        counted = 1 <= kept <= min(n, min(-(-most // 8) * 8, 1024))
        order = np.argsort(-row, kind='stable') if counted or part < 1 or floor >= 1 else np.arange(n)
        order = order[:kept] if counted else order
        by = np.exp(row[order] - row[order].max()) / np.exp(row[order] - row[order].max()).sum() if softens else row[order]
        if part < 1:
            before = np.cumsum(by) - by
            stays = before < part if part > 0 else np.arange(len(by)) == 0
            if np.any(np.abs(before - part) < 1e-5):
                return None
            by = np.where(part <= 0 and softens, 1, by)[stays]
            order = order[stays]
        if floor > 0:
            stays = by >= floor * by.max() if floor < 1 else np.arange(len(by)) == 0
            if floor < 1 and np.any(np.abs(by - floor * by.max()) < 1e-6):
                return None
            by, order = by[stays], order[stays]
        score = by if q is None else by / (np.abs(q.data[i, :len(by)].astype(np.float64)) + 1e-3)
        in_order = np.sort(score)[::-1]
        if q is not None and len(by) > 1 and in_order[1] > in_order[0] * (1 - 1e-5):
            return None
        best[i], left[i, order] = order[np.argmax(score)], row[order]
        places[i, :len(by)], weights[i, :len(by)] = order, by
    given_first = [logits, k, p, q, *([least] if second else []), 1e-3, flags[0], r.int(0, 40)]
    results = [Tensor('i64', (rows,)), Tensor('f32', (rows, n)) if flags[0] else r.tensor('f32', (1,))]
    if not second:
        return Case([*given_first, *results], {7: best} | ({8: Want(left)} if flags[0] else {}))
    sampled = [Tensor('i64', (rows, n)), Tensor('f32', (rows, n))] if flags[1] else [r.tensor('i64', (1,)), r.tensor('f32', (1,))]
    wants = {11: best} | ({12: Want(left)} if flags[0] else {}) | ({13: places, 14: Want(weights, 1.0)} if flags[1] else {})
    return Case([*given_first, most, softens, flags[1], *results, *sampled], wants)


@TABLE.case('GroupedMatmulFinalizeRoutingWeightNz', without='shape')
def added_rows(r: Random, form) -> Case:
    groups, m, k, n, tokens = r.int(1, 4), r.size(0, 9), r.int(1, 20), r.int(1, 40), r.int(1, 6)
    sizes, listed = divided(r, r.int(0, m), groups), r.int(0, 1)
    x, w = r.rng.integers(-128, 128, (m, k)), r.rng.integers(-128, 128, (groups, k, n))
    by, token = r.tensor('f32', (groups, n), -1e-2, 1e-2), r.pick([None, r.tensor('f32', (m,), -1, 1)])
    logit, to = r.pick([None, r.tensor('f32', (m,), -1, 1)]), r.rng.integers(0, tokens, (m,))
    rows = r.int(1, tokens)
    shared, first, weight = r.pick([None, r.tensor('bf16', (rows, n), -1, 1)]), r.int(0, tokens - rows), r.pick([1.0, 0.5])
    out, size = np.zeros((tokens, n)), np.full((tokens, n), 0.01)
    if shared:
        out[first:first + rows] = weight * shared.data.astype(np.float64)
    size += np.abs(out)
    for row, group in enumerate(np.repeat(np.arange(groups), sizes)):
        term = (x[row] @ w[group]) * by.data.astype(np.float64)[group]
        for factor in (token, logit):
            term = term * (1 if factor is None else float(factor.data[row]))
        out[to[row]] += term
        size[to[row]] += np.abs(term)
    numbers = given(np.array(sizes if listed else np.cumsum(sizes)), 'i64')
    turns = [r.chance(0.2), r.chance(0.2)]
    x, w = (given(a.swapaxes(-1, -2) if t else a, 'i8') for a, t in zip((x, w), turns))
    return Case([x, in_tiles(r, w), by, None, token, numbers, shared, logit, given(to, r.pick(['i32', 'i64'])), 0, weight, first, *turns,
                 listed, Tensor('f32', out.shape)], {15: Want(out, size, loose=6)})
