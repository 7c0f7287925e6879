"""What serving a language model calls besides: attention over pages, caches, rotary angles, quantisation, sampling."""
from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from cases import Case, Table, Want
from experts import quantised, wide
from linear import in_tiles, weight_quant, with_tiles
from quant import smooth
from values import DTYPES, Random, Tensor, exact, given

TABLE = Table('serving')

OUTS = {'BSH': ['BSH', 'BSH_BNSD', 'BSH_NBSD'], 'BSND': ['BSND', 'BSND_BNSD', 'BSND_NBSD'],
        'BNSD': ['BNSD', 'BNSD_BSND', 'BNSD_NBSD'], 'TND': ['TND', 'TND_NTD'], 'NTD': ['NTD', 'NTD_TND']}


def laid_out(x: np.ndarray, layout: str, lengths=None) -> np.ndarray:
    """[batch, heads, rows, size] in a layout; `lengths`: of sequences that follow each other."""
    if layout in ('TND', 'NTD'):
        rows = np.concatenate([x[b][:, :n].swapaxes(0, 1) for b, n in enumerate(lengths)])
        return rows if layout == 'TND' else rows.swapaxes(0, 1)
    if layout == 'NBSD':
        return x.swapaxes(0, 1)
    x = x if layout == 'BNSD' else x.swapaxes(1, 2)
    return x.reshape(*x.shape[:2], x.shape[2] * x.shape[3]) if layout == 'BSH' else x


@dataclass
class Infer:
    """Attention for inference: its arguments, and what numpy makes of them."""
    dtype: str
    layout: str
    batch: int
    heads: int
    shared: int
    rows: int
    columns: int
    size: int
    packed: bool
    sparse: int = 0
    tokens: tuple = (2**31 - 1, 2**31 - 1)
    scale: float = 0.5
    bytes: SmallKeys | None = None

    def begin(self, r: Random, rope: bool, paged: bool):
        self.query_lengths = [r.int(0, self.rows) for _ in range(self.batch)]
        self.key_lengths = [r.int(0, self.columns) for _ in range(self.batch)]
        if self.packed:
            self.query_lengths[0] = max(self.query_lengths[0], 1)  # one row at least
        self.lengths = self.given_key_lengths = None
        if not self.packed and r.chance(0.6):
            self.query_lengths = [self.rows] * self.batch
        elif not self.packed:
            self.lengths = self.query_lengths
        if not self.packed and not paged and r.chance(0.4):
            self.key_lengths = [self.columns] * self.batch
        else:
            self.given_key_lengths = self.key_lengths
        if self.packed:
            self.lengths = [int(n) for n in np.cumsum(self.query_lengths)]
            if not paged:
                self.given_key_lengths = [int(n) for n in np.cumsum(self.key_lengths)]
        elif self.given_key_lengths and len(set(self.key_lengths)) == 1 and r.chance():
            self.given_key_lengths = self.key_lengths[:1]
        make = lambda heads, rows, size: r.array(self.dtype, (self.batch, heads, rows, size), -1, 1)
        self.query, self.key = make(self.heads, self.rows, self.size), make(self.shared, self.columns, self.size)
        self.value = make(self.shared, self.columns, self.size)
        turned = r.int(1, 4)
        self.query_rope = make(self.heads, self.rows, turned) if rope else None
        self.key_rope = make(self.shared, self.columns, turned) if rope else None
        self.shift = self.mask = self.table = self.sink = None
        self.page_rows = 0
        if paged:
            self.page_rows, width = r.int(1, 4), 0
            width = -(-self.columns // self.page_rows) + r.int(0, 1)
            self.pages = self.batch * width + r.int(0, 2)
            self.table = r.rng.permutation(self.pages)[:self.batch * width].reshape(self.batch, width)
            self.tall = r.chance()  # [pages, heads, rows, size]
            self.tiled = self.size % 16 == 0 and not rope  # [pages, heads, size / tile, rows, tile]

    @property
    def one_row(self) -> bool:
        return not self.packed and self.rows == 1 and self.query_rope is None

    def allowed(self, b: int) -> np.ndarray:
        n, m = self.query_lengths[b], self.key_lengths[b]
        i, j = np.arange(n)[:, None], np.arange(m)
        seen, (before, after) = np.ones((n, m), bool), self.tokens
        if self.mask is not None and self.sparse < 2:
            seen &= self.whole_mask[b, 0][:n, :m] == 0
        if self.one_row:
            return seen
        corner = m - n
        if self.sparse == 0 and self.mask is not None:
            seen &= (j >= i - before) & (j <= i + after)
        if self.sparse == 2:
            seen &= j <= i
        if self.sparse == 3:
            seen &= j <= i + corner
        if self.sparse == 4:
            seen &= (j >= i + corner - before) & (j <= i + corner + after)
        return seen

    def run(self):
        groups = self.heads // self.shared
        out = np.zeros((self.batch, self.heads, self.rows, self.size))
        sums = np.full((self.batch, self.heads, self.rows, 1), -np.inf)
        for b in range(self.batch):
            n, m = self.query_lengths[b], self.key_lengths[b]
            each = lambda x, rows, g: np.repeat(x[b].astype(np.float64)[:, :rows], g, 0)
            scores = each(self.query, n, 1) @ each(self.key, m, groups).swapaxes(1, 2)
            if self.query_rope is not None:
                scores = scores + each(self.query_rope, n, 1) @ each(self.key_rope, m, groups).swapaxes(1, 2)
            scores = scores * self.scale
            if self.shift:
                scores = scores + self.shift.data.astype(np.float64)[b % len(self.shift.data), :, :n, :m]
            seen = np.broadcast_to(self.allowed(b), scores.shape)
            scores = np.where(seen, scores, -np.inf)
            sink = self.sink.data.astype(np.float64)[:, None, None] if self.sink else np.full((self.heads, 1, 1), -np.inf)
            most = np.maximum(scores.max(-1, keepdims=True, initial=-np.inf), sink)
            safe = np.where(np.isinf(most), 0, most)
            power = np.where(seen, np.exp(scores - safe), 0)
            total = power.sum(-1, keepdims=True) + np.exp(sink - safe)
            blind = total == 0
            out[b, :, :n] = (power / np.where(blind, 1, total)) @ each(self.value, m, groups)
            with np.errstate(divide='ignore'):
                sums[b, :, :n] = np.where(blind, -np.inf, safe + np.log(total))
        return out, sums

    def place(self, x: np.ndarray) -> Tensor:
        return given(laid_out(x, self.layout.split('_')[0], self.query_lengths), self.dtype)

    def place_key(self, r: Random, x: np.ndarray, dtype: str = '') -> Tensor:
        dtype = dtype or self.dtype
        if self.table is None:
            return given(laid_out(x, self.layout.split('_')[0], self.key_lengths), dtype)
        cache = r.array(dtype, (self.pages, self.page_rows, self.shared, x.shape[3])).copy()
        for b, n in enumerate(self.key_lengths):
            for j in range(n):
                cache[self.table[b, j // self.page_rows], j % self.page_rows] = x[b, :, j]
        if self.tiled:
            tiles = cache.reshape(*cache.shape[:3], -1, 32 // DTYPES[dtype].numpy().nbytes)
            return given(np.moveaxis(tiles, 1, 3), dtype)
        if self.tall:
            return given(cache.swapaxes(1, 2), dtype)
        return given(cache.reshape(*cache.shape[:2], -1), dtype)

    def outs(self, with_sums: bool):
        """The result and the sums, as wants."""
        out, sums = self.run()
        place = self.layout.split('_')[-1]
        out = laid_out(out, place, self.query_lengths)
        sums = laid_out(sums, 'TND', self.query_lengths) if self.packed else sums
        return Want(out, 1.0, loose=2), Want(sums, 4.0) if with_sums else None


def whole_mask(r: Random, f: Infer):
    """A mask of all scores in one of its shapes, and spread over them."""
    shape = (f.batch, 1, f.rows, f.columns + (f.table is not None and f.table.shape[1] * f.page_rows))
    full = r.rng.random((r.pick([1, f.batch]), *shape[1:])) < 0.3
    if r.chance(0.1):
        full[:] = True
    shapes = [full, full[:, 0]] if len(full) == f.batch or len(full) == 1 else []
    if len(full) == 1:
        shapes.append(full[0, 0])
    if f.one_row and len(full) == f.batch:
        shapes.append(full[:, 0, 0])
    f.whole_mask = np.broadcast_to(full, shape)
    f.mask = given(r.pick(shapes), r.pick(['bool', 'i8', 'u8']))


def infer(r: Random, dtype: str, most: str = 'packed pages rope sparse shift bytes modes', one_row: bool = False) -> Infer:
    shared, groups = r.int(1, 3), r.int(1, 3)
    packed = 'packed' in most and r.chance(0.3)
    layout = r.pick(OUTS[r.pick(['TND', 'NTD'] if packed else ['BSH', 'BSND', 'BNSD'])]) if 'packed' in most else r.pick(
        ['BSH', 'BSND', 'BNSD'])
    f = Infer(dtype, layout, r.int(1, 3), shared * groups, shared, 1 if one_row else r.pick([1, r.int(1, 7)]), r.int(1, 9),
              r.pick([r.int(1, 8), 32 if 'pages' in most else 3]), packed, scale=r.real(0.1, 1))
    if r.chance(0.1) and not one_row:  # more than one block
        f.batch, f.shared, f.heads, f.rows, f.columns = 1, 1, groups, r.int(60, 100), r.int(250, 600)
    f.begin(r, 'rope' in most and r.chance(0.3), 'pages' in most and r.chance(0.5))
    if 'bytes' in most and f.query_rope is None and r.chance(0.4):
        f.bytes = SmallKeys(r, f, 'modes' in most)
    f.sparse = r.int(0, 4) if 'sparse' in most else 0
    f.tokens = r.pick([(2**31 - 1, 2**31 - 1), (r.int(0, 5), r.int(0, 5))]) if 'sparse' in most else f.tokens
    if packed and f.sparse < 2:
        f.sparse = 0
    elif f.sparse == 1 or (f.sparse == 0 and r.chance()):
        whole_mask(r, f)
    if 'shift' in most and not packed and r.chance(0.3):
        shape = (r.pick([1, f.batch]), f.heads, f.rows, f.columns + r.int(0, 2))
        f.shift = r.tensor(dtype, shape, -1, 1)
    return f


class SmallKeys:
    """Keys and values of INT8, and what they become floats by."""

    def __init__(self, r: Random, f: Infer, all_modes: bool):
        self.r, self.f = r, f
        self.both = not all_modes or r.chance(0.3)
        in_rows = [] if f.packed and f.table is None else [1] if self.both else [1, 3]
        mode = r.pick([0] + (in_rows if all_modes else []) + ([] if self.both else [2] + ([] if f.table is None else [4, 5])))
        self.modes = [mode, 1 if mode == 0 and in_rows and not self.both and r.chance(0.3) else mode]
        shapes = [self.shape(mode) for mode in self.modes]
        if self.modes[0] == self.modes[1]:
            shapes[1] = shapes[0]
        symmetric = r.chance(0.4)
        scales = [self.numbers(mode, shape, 0.002, 0.01) for mode, shape in zip(self.modes, shapes)]
        offsets = [None if symmetric else self.numbers(mode, shape, -20, 20) for mode, shape in zip(self.modes, shapes)]
        self.places = [r.rng.integers(-127, 128, x.shape) for x in (f.key, f.value)]
        real = [(x + (0 if o is None else self.spread(m, wide(o)))) * self.spread(m, wide(s))
                for x, m, s, o in zip(self.places, self.modes, scales, offsets)]
        f.key, f.value = real
        self.factors = [scales[0], offsets[0], scales[1], offsets[1]]
        if self.both:
            join = lambda two: None if two[0] is None else given(np.stack([wide(t) for t in two]), two[0].dtype)
            self.factors = [join(scales), join(offsets)]

    def shape(self, mode: int) -> tuple:
        f, n, d, rows = self.f, self.f.shared, self.f.size, max(1, *self.f.key_lengths) + self.r.int(0, 2)
        if mode == 0:
            return self.r.pick([(), (1,), (n, d), (n, 1, d), (1, n, d), (1, n, 1, d), (n * d,), (1, n * d)])
        if mode == 1:
            return self.r.pick([(f.batch, rows), (1, f.batch, rows)])
        if mode < 4:
            return (n,) if mode == 2 else (f.batch, n, rows)
        return (f.pages, f.page_rows) if mode == 4 else (f.pages, n, f.page_rows)

    def numbers(self, mode: int, shape: tuple, low: float, high: float) -> Tensor:
        return self.r.tensor(self.f.dtype if mode in (0, 2) else 'f32', shape, low, high)

    def spread(self, mode: int, x: np.ndarray) -> np.ndarray:
        """To [batch, heads, rows, size]."""
        f = self.f
        if mode in (0, 2):
            return x if x.size == 1 else x.reshape(1, f.shared, 1, -1)
        full = np.zeros((f.batch, f.shared, f.columns, 1))
        for b, n in enumerate(f.key_lengths):
            for j in range(n):
                if mode >= 4:
                    page = x[f.table[b, j // f.page_rows]]
                    full[b, :, j, 0] = page[..., j % f.page_rows]
                else:
                    full[b, :, j, 0] = x.reshape(f.batch, -1, x.shape[-1])[b, :, j]
        return full

    def arguments(self):
        """Of both, of each, and the modes of both, key and value."""
        if self.both:
            return self.factors, [None] * 4, self.modes[0], 0, 0
        return [None] * 2, self.factors, 0, *self.modes


def factors_of(f: Infer):
    return f.bytes.arguments() if f.bytes else ([None] * 2, [None] * 4, 0, 0, 0)


def parts(r: Random, f: Infer):
    small = f.bytes.places if f.bytes else None
    key = f.place_key(r, small[0], 'i8') if small else f.place_key(r, f.key)
    value = f.place_key(r, small[1], 'i8') if small else f.place_key(r, f.value)
    rope = [f.place(f.query_rope), f.place_key(r, f.key_rope)] if f.query_rope is not None else [None, None]
    return f.place(f.query), key, value, rope, given(f.table, 'i32') if f.table is not None else None


@TABLE.case('FusedInferAttentionScoreV3')
def infer_attention(r: Random, form) -> Case:
    f = infer(r, r.pick(form.types['query']))
    query, key, value, rope, table = parts(r, f)
    out, sums = f.outs(r.chance())
    heads = f.shared if f.shared != f.heads or r.chance() else 0
    both, each, mode, *modes = factors_of(f)
    return Case([query, [key], [value], f.shift, f.mask, f.lengths, f.given_key_lengths, *[None] * 5, *both, table,
                 *[None] * 2, *each, *[None] * 2,
                 r.pick([None, []]), *rope, None, f.heads, f.scale, *f.tokens, f.layout.encode(), heads, f.sparse, 0,
                 r.pick([0, f.page_rows]) if table else 0, mode, sums is not None, *modes, Tensor(f.dtype, out.value.shape),
                 Tensor('f32', sums.value.shape) if sums else None], {40: out} | ({41: sums} if sums else {}))


@TABLE.case('FusedInferAttentionScoreV4')
def infer_attention_4(r: Random, form) -> Case:
    f = infer(r, r.pick(form.types['query']))
    query, key, value, rope, table = parts(r, f)
    f.sink = r.tensor(r.pick([f.dtype, 'f32']), (f.heads,), -2, 2) if r.chance(0.6) else None
    if f.sink:  # a row that sees nothing has the sink only
        f.query_lengths = f.query_lengths
    out, sums = f.outs(r.chance())
    both, each, mode, *modes = factors_of(f)
    return Case([query, [key], [value], f.shift, f.mask, f.lengths, f.given_key_lengths, *[None] * 5, *both, table,
                 *[None] * 2, *each, *[None] * 2,
                 None, *rope, None, None, f.sink, f.heads, f.scale, *f.tokens, f.layout.encode(), f.shared, f.sparse, 0,
                 f.page_rows, mode, sums is not None, *modes, 0, Tensor(f.dtype, out.value.shape),
                 Tensor('f32', sums.value.shape) if sums else None], {43: out} | ({44: sums} if sums else {}))


@TABLE.case('PromptFlashAttentionV3')
def prompt_attention(r: Random, form) -> Case:
    f = infer(r, r.pick(form.types['query']), 'sparse shift')
    query, key, value, _, _ = parts(r, f)
    out, _ = f.outs(False)
    return Case([query, key, value, f.shift, f.mask, f.lengths, f.given_key_lengths, *[None] * 5, f.heads, f.scale, *f.tokens,
                 f.layout.encode(), f.shared, f.sparse, 0, Tensor(f.dtype, out.value.shape)], {20: out})


@TABLE.case('IncreFlashAttentionV4')
def one_row_attention(r: Random, form) -> Case:
    f = infer(r, r.pick(form.types['query']), 'pages shift bytes', one_row=True)
    f.lengths, f.query_lengths = None, [1] * f.batch
    query, key, value, _, table = parts(r, f)
    out, _ = f.outs(False)
    both = factors_of(f)[0]
    return Case([query, [key], [value], f.shift, f.mask, f.given_key_lengths, *[None] * 5, *both, table, None, f.heads, f.scale,
                 f.layout.encode(), f.shared, f.page_rows, 0, Tensor(f.dtype, out.value.shape)], {21: out})


def cached(r: Random, dtype: str, tiles: bool):
    """Tokens, the cache, and for each element of a token its place in a row of the cache."""
    heads, size, rows, pages = r.int(1, 3), r.pick([2, 4, 6]), r.int(1, 4), r.int(1, 4)
    tile = r.pick([n for n in (1, 2, 3, 4, 6) if heads * size % n == 0])
    shape = (pages, heads * size // tile, rows, tile) if tiles else (pages, rows, heads, size)
    return heads, size, rows, pages, r.tensor(dtype, shape)


def rows_of_cache(cache: np.ndarray, tiles: bool) -> np.ndarray:
    """[pages * rows, width]"""
    rows = cache.swapaxes(1, 2) if tiles else cache
    return rows.reshape(rows.shape[0] * rows.shape[1], -1)


@TABLE.case('ScatterPaKvCache', without='shape')
def scatter_cache(r: Random, form) -> Case:
    dtype, tiles = r.pick(form.types['key']), r.chance(0.3)
    heads, size, rows, pages, cache = cached(r, dtype, tiles)
    tokens = r.int(0, pages * rows)
    slots = r.rng.permutation(pages * rows)[:tokens]
    slots = np.where(r.rng.random(tokens) < 0.2, -1, slots)
    key = r.tensor(dtype, (tokens, heads, size))
    value, value_cache = None, None
    if r.chance(0.7):
        value, value_cache = r.tensor(dtype, (tokens, heads, size)), r.tensor(dtype, cache.shape)

    def written(cache, x):
        new = cache.data.copy().swapaxes(1, 2) if tiles else cache.data.copy()
        flat = new.reshape(pages * rows, -1) if not tiles else np.ascontiguousarray(new).reshape(pages * rows, -1)
        flat[slots[slots >= 0]] = x.data.reshape(tokens, heads * size)[slots >= 0]
        return flat.reshape(new.shape).swapaxes(1, 2) if tiles else flat.reshape(new.shape)
    wants = {1: written(cache, key)}
    if value:
        wants[4] = written(value_cache, value)
    kind = 'i64' if dtype == 'i32' else r.pick(['i32', 'i64'])  # places that lie on a cache would be others
    return Case([key, cache, given(slots, kind), value, value_cache, None, None, None,
                 b'PA_NZ' if tiles else r.pick([None, b'Norm']), r.pick([None, b'None']), r.pick([None, [1, 1]]),
                 r.pick([None, [0, 0]])], wants)


@TABLE.case('GatherPaKvCache', without='shape')
def gather_cache(r: Random, form) -> Case:
    dtype, tiles = r.pick([t for t in form.types['keyCache'] if t != 'i32']), r.chance(0.3)  # that of the table
    heads, size, rows, pages, cache = cached(r, dtype, tiles)
    value_cache = r.tensor(dtype, cache.shape)
    batch, width = r.int(1, 3), r.int(1, 3)
    table = r.rng.integers(0, pages + 1, (batch, width))  # the last is no page
    lengths = r.rng.integers(0, width * rows + 2, batch)
    offsets = r.rng.integers(0, width * rows, batch) if r.chance(0.3) else None
    total, sums = int(lengths.sum()), r.chance()
    key, value = r.tensor(dtype, (total + r.int(0, 2), heads, size)), None
    value = r.tensor(dtype, key.shape)

    def read(cache, was):
        flat, new, token = rows_of_cache(cache.data, tiles), was.data.copy(), 0
        for b, n in enumerate(lengths):
            first = 0 if offsets is None else offsets[b] // rows
            for i in range(n):
                column = first + i // rows
                page = table[b, column] if column < width else pages
                new[token] = flat[page * rows + i % rows].reshape(heads, size) if page < pages else 0
                token += 1
        return new
    numbers = np.concatenate([[0], np.cumsum(lengths)]) if sums else lengths
    kind = r.pick(['i32', 'i64'])
    return Case([cache, value_cache, given(table, 'i32'), given(numbers, kind), key, value,
                 None if offsets is None else given(offsets, kind), b'PA_NZ' if tiles else b'Norm', sums],
                {4: read(cache, key), 5: read(value_cache, value)})


@TABLE.case('KvRmsNormRopeCache', without='shape')
def latent_cache(r: Random, form) -> Case:
    dtype = r.pick(form.types['kv'])
    mode = r.pick([None, b'Norm', b'PA', b'PA_BNSD', b'PA_NZ', b'PA_BLK_BNSD', b'PA_BLK_NZ'])
    norm, tiles, by_page = mode in (None, b'Norm'), mode in (b'PA_NZ', b'PA_BLK_NZ'), mode in (b'PA_BLK_BNSD', b'PA_BLK_NZ')
    batch, tokens, each = r.int(1, 3), r.int(1, 6), 16 if tiles else 1
    c, rope = each * r.int(1, 3) if tiles else r.pick([r.int(1, 40), r.int(500, 600)]), (16 if tiles else 2) * r.int(1, 4)
    rows = tokens + r.int(0, 2) if norm else r.int(1, 4)
    per = -(-tokens // rows)
    pages = batch if norm else batch * tokens + r.int(0, 2)
    if norm:
        index = np.stack([r.rng.permutation(rows)[:tokens] for _ in range(batch)])
    else:
        index = r.rng.permutation(pages)[:batch * per] * rows if by_page else r.rng.permutation(pages * rows)[:batch * tokens]
    index = np.where(r.rng.random(index.shape) < 0.2, -1, index)
    token = np.arange(tokens)
    if by_page:
        first = index.reshape(batch, per)[:, token // rows]
        slots = np.where(first < 0, -1, first + token % rows)
    else:
        slots = index.reshape(batch, tokens)
        slots = np.where(slots < 0, -1, slots + np.arange(batch)[:, None] * rows) if norm else slots
    kv, gamma, eps = r.tensor(dtype, (batch, 1, tokens, c + rope)), r.tensor(dtype, (c,)), r.pick([0.0, 1e-5, 0.5])
    cos, sin = (r.tensor(dtype, (batch, 1, tokens, rope), -1, 1) for _ in range(2))
    x = wide(kv)
    root = np.sqrt(np.mean(x[..., :c] ** 2, -1, keepdims=True) + eps)
    latent = x[..., :c] / root * wide(gamma)
    even, odd = x[..., c::2], x[..., c + 1::2]
    key = np.concatenate([even, odd], -1) * wide(cos) + np.concatenate([-odd, even], -1) * wide(sin)

    def written(values, width):
        shape = (batch, 1, rows, width) if norm else (pages, rows, 1, width)
        cache = r.tensor(dtype, shape)
        new = wide(cache).reshape(pages, rows, width)
        new = new.reshape(pages, width // 16, rows, 16).swapaxes(1, 2).reshape(pages * rows, width) if tiles else new.reshape(-1, width)
        new = new.copy()
        new[slots[slots >= 0]] = values.reshape(batch, tokens, width)[slots >= 0]
        new = new.reshape(pages, rows, width // 16, 16).swapaxes(1, 2) if tiles else new
        return cache, Want(new.reshape(shape), 4.0)
    (keys, key_want), (latents, latent_want) = written(key, rope), written(latent, c)
    outs, shown = [Tensor(dtype, (batch, 1, tokens, n)) for n in (rope, c)], not norm and r.chance()
    wants = {5: key_want, 6: latent_want} | ({14: Want(key, 4.0), 15: Want(latent, 4.0)} if shown else {})
    return Case([kv, gamma, cos, sin, given(index if norm else index.reshape(-1), 'i64'), keys, latents, None, None, None, None, eps,
                 mode, shown, *(outs if shown else [None, None])], wants)


def turned(x: np.ndarray, mode: int) -> np.ndarray:
    """What is multiplied by the sines: of halves, neighbours, quarters."""
    half = x.shape[-1] // 2
    if mode == 1:
        return np.stack([-x[..., 1::2], x[..., ::2]], -1).reshape(x.shape)
    if mode == 2:
        a, b, c, d = np.split(x, 4, -1)
        return np.concatenate([-b, a, -d, c], -1)
    return np.concatenate([-x[..., half:], x[..., :half]], -1)


def turn(x: Tensor, cos: Tensor, sin: Tensor, mode: int) -> Want:
    terms = wide(x) * wide(cos), turned(wide(x), mode) * wide(sin)
    return Want(sum(terms), sum(map(np.abs, terms)))


def both_turned(r: Random, form, mode: int):
    dtype, layout = r.pick(form.types['cos']), r.int(1, 4)
    outer, size, heads = r.full(2, 2, 4), 4 * r.int(1, 5), [r.int(1, 4), r.int(1, 4)]
    place = {1: lambda h: (*outer, h, size), 2: lambda h: (*outer, h, size), 3: lambda h: (outer[0], h, outer[1], size),
             4: lambda h: (outer[0], h, size)}[layout]
    query, key = [r.tensor(dtype, place(h)) for h in heads]
    cos, sin = r.tensor(dtype, place(1), -1, 1), r.tensor(dtype, place(1), -1, 1)
    return [query, key, cos, sin, layout], {0: turn(query, cos, sin, mode), 1: turn(key, cos, sin, mode)}


@TABLE.case('ApplyRotaryPosEmb')
def rotary_in_place(r: Random, form) -> Case:
    return Case(*both_turned(r, form, 0))


@TABLE.case('ApplyRotaryPosEmbV2')
def rotary_in_place_2(r: Random, form) -> Case:
    mode = r.int(0, 2)
    arguments, wants = both_turned(r, form, mode)
    return Case([*arguments, [b'half', b'interleave', b'quarter'][mode]], wants)


@TABLE.case('InterleaveRope')
def rotary_apart(r: Random, form) -> Case:
    dtype, (batch, heads, rows) = r.pick(form.types['x']), r.full(3, 3, 4)
    size = 2 * r.int(1, 9)
    x = r.tensor(dtype, (batch, heads, rows, size))
    cos, sin = [r.tensor(dtype, (batch, 1, r.pick([1, rows]), size), -1, 1) for _ in range(2)]
    apart = given(np.concatenate([x.data[..., ::2], x.data[..., 1::2]], -1), dtype)
    want = turn(apart, cos, sin, 0)
    return Case([x, cos, sin, Tensor(dtype, x.shape)], {3: want})


@TABLE.case('RopeWithSinCosCache RopeWithSinCosCacheV2')
def rotary_by_table(r: Random, form) -> Case:
    dtype, tokens, heads = r.pick(form.types['queryIn']), r.size(0, 6), (r.int(1, 3), r.int(1, 3))
    angles, neox = r.int(1, 5), r.chance()
    size, places = 2 * angles + r.pick([0, r.int(1, 4)]), r.int(2, 9)
    table = r.tensor(dtype, (places, 2 * angles), -1, 1)
    kinds = r.pick([0, 0, 3, 4])
    positions = r.tensor(r.pick(['i32', 'i64']), (kinds, tokens) if kinds else (tokens,), 0, places - 1)
    at = np.sort(r.rng.integers(0, angles + 1, max(kinds, 1) - 1))
    sections = [int(n) for n in np.diff([0, *at, angles])] if kinds else r.pick([None, [], [0, 0, 0]])
    kind = np.repeat(np.arange(kinds), sections) if kinds else np.zeros(angles, int)
    turns = form.name.endswith('V2') and kinds < 4 and r.chance()
    if turns and kinds:
        last = r.int(0, angles // 2)
        sections = [angles - 2 * last, last, last]
        kind = np.where(np.arange(angles) < 3 * last, np.arange(angles) % 3, 0)
    rows = wide(table)[positions.data.reshape(max(kinds, 1), tokens)]  # kind, token, angle
    cos = rows[kind, :, np.arange(angles)].T
    sin = rows[kind, :, angles + np.arange(angles)].T

    def value(x):
        y = wide(x).reshape(tokens, x.shape[1] // size, size).copy()
        a, b = (y[..., :angles], y[..., angles:2 * angles]) if neox else (y[..., :2 * angles:2], y[..., 1:2 * angles:2])
        c, s = cos[:, None], sin[:, None]
        first, second = a * c - b * s, b * c + a * s
        a[...], b[...] = first, second
        return Want(y.reshape(x.shape), 8.0)
    query, key = [r.tensor(dtype, (tokens, h * size)) for h in heads]
    arguments = [positions, query, key, table, sections, size, neox, *[int(turns)] * form.name.endswith('V2')]
    at = len(arguments)
    return Case([*arguments, Tensor(dtype, query.shape), Tensor(dtype, key.shape)], {at: value(query), at + 1: value(key)})


def added_and_normalised(r: Random, form):
    """The inputs, and the rows that come before quantisation."""
    dtype, shape = r.pick(form.types['x1']), (*r.shape(0, 3, 4), r.int(1, 9))
    x1, x2, gamma = r.tensor(dtype, shape), r.tensor(dtype, shape), r.tensor(dtype, shape[-1:])
    total = exact(x1.data.astype(np.float32) + x2.data.astype(np.float32), dtype).astype(np.float32)
    root = np.sqrt((total.astype(np.float64) ** 2).mean(-1, keepdims=True) + np.float32(1e-6))
    return x1, x2, gamma, total, total * (1 / root).astype(np.float32) * gamma.data.astype(np.float32)


@TABLE.case('AddRmsNormQuant', without='shape')
def norm_quant(r: Random, form) -> Case:
    x1, x2, gamma, total, normal = added_and_normalised(r, form)
    divides, kinds = r.chance(), (r.pick(['f32', 'bf16']), r.pick(['i32', 'bf16']))
    scales = [r.tensor(kinds[0], gamma.shape, 0.02, 0.1) for _ in range(r.int(1, 2))]
    zeros = [r.tensor(kinds[1], gamma.shape, -9, 9) if r.chance() else None for _ in scales]
    wants = {12: total}
    for i, (scale, zero) in enumerate(zip(scales, zeros)):
        by = scale.data.astype(np.float32)
        value = normal / by if divides else normal * by
        value = value + (zero.data.astype(np.float32) if zero else np.float32(0))
        wants[10 + i] = np.clip(np.rint(value), -128, 127)
    scales, zeros = [(*values, None)[:2] for values in (scales, zeros)]
    outs = [Tensor('i8', x1.shape), Tensor('i8', x1.shape), Tensor(x1.dtype, x1.shape)]
    return Case([x1, x2, gamma, *scales, *zeros, -1, 1e-6, divides, *outs], wants)


@TABLE.case('AddRmsNormDynamicQuantV2', without='shape')
def norm_dynamic_quant(r: Random, form) -> Case:
    x1, x2, gamma, total, normal = added_and_normalised(r, form)
    smooths, beta = [smooth(r, x1.dtype, gamma.shape[0]) for _ in range(2)], smooth(r, x1.dtype, gamma.shape[0])
    normal = normal + (beta.data.astype(np.float32) if beta else np.float32(0))
    mask = r.pick([None, [True, False], [False, True], [True, True]])
    asked = mask or [True, None not in smooths]
    outs, wants = [Tensor('i8', x1.shape) if a else r.tensor('i8', ()) for a in asked], {10: total}
    steps = [Tensor('f32', x1.shape[:-1]) if a else r.tensor('f32', ()) for a in asked]
    for i, by in enumerate(smooths):
        if asked[i]:
            values, step = quantised(normal * (by.data.astype(np.float32) if by else np.float32(1)))
            wants |= {8 + i: np.clip(values, -128, 127), 11 + i: Want(step)}
    return Case([x1, x2, gamma, *smooths, beta, 1e-6, mask, *outs, Tensor(x1.dtype, x1.shape), *steps], wants)


@TABLE.case('ApplyTopKTopP')
def top_k_top_p(r: Random, form) -> Case:
    dtype, rows, n = r.pick(form.types['logits']), r.size(0, 4), r.pick([r.int(1, 9), r.int(500, 900)])
    logits = given(r.rng.integers(-24, 24, (rows, n)) / 8, dtype)
    p = r.tensor(dtype, (rows,), 0.05, 1) if r.chance(0.7) else None
    k = r.tensor('i32', (rows,), 1, n) if r.chance(0.7) else None
    out = wide(logits).copy()
    for i, row in enumerate(out):
        if k:
            row[row < np.sort(row)[n - int(k.data[i])]] = -np.inf
        if p:
            order = np.argsort(row, kind='stable')
            power = np.exp(row[order] - row.max())
            gone = np.cumsum(power / power.sum()) <= 1 - float(p.data[i])
            gone[-1] = False
            row[order[gone]] = -np.inf
    return Case([logits, p, k, Tensor(dtype, (rows, n))], {3: Want(out)})


@TABLE.case('WeightQuantBatchMatmulNz')
def weight_quant_of_tiles(r: Random, form) -> Case:
    return with_tiles(r, weight_quant(r, form), 1)


@TABLE.case('WeightQuantBatchMatmulV3', without='shape')
def weight_quant_3(r: Random, form) -> Case:
    case = weight_quant(r, form)
    return Case([*case.arguments[:8], r.int(0, 1), case.arguments[8]], {9: case.wants[8]})


def packed_parameters(scale: np.ndarray, shift: np.ndarray | None) -> np.ndarray:
    """What aclnnTransQuantParamV2 makes: the upper 19 bits of a scale, bit 46, nine bits of an offset."""
    packed = scale.astype(np.float32).view(np.uint32).astype(np.uint64) & np.uint64(0xffffe000) | np.uint64(1 << 46)
    if shift is None:
        return packed
    held = np.clip(np.rint(shift.astype(np.float64)), -256, 255).astype(np.int64).astype(np.uint64)
    return packed | (held & np.uint64(0x1ff)) << np.uint64(37)


@TABLE.case('TransQuantParamV2')
def quant_parameters(r: Random, form) -> Case:
    n = r.int(1, 9)
    scale = r.tensor('f32', r.pick([(1,), (n,), (1, n)]), -2, 2)
    shift = r.tensor('f32', r.pick([(1,), scale.shape]), -300, 300) if r.chance() else None
    shape = np.broadcast_shapes(scale.shape, shift.shape) if shift else scale.shape
    value = packed_parameters(np.broadcast_to(scale.data, shape).copy(), np.broadcast_to(shift.data, shape) if shift else None)
    return Case([scale, shift, Tensor(r.pick(['u64', 'i64']), shape)], {2: value.astype(np.int64)})


@TABLE.case('QuantMatmulWeightNz', without='shape')
def quant_product_of_tiles(r: Random, form) -> Case:
    case = quant_product(r, form)
    if case.arguments[1].data.size == 0:
        return case
    case.arguments[1] = in_tiles(r, case.arguments[1])
    return case


@TABLE.case('QuantMatmulV5', without='shape')
def quant_product(r: Random, form) -> Case:
    m, k, n = r.size(0, 5), r.size(0, 40), r.int(1, 9)
    batch = r.pick([(), (), (r.int(1, 3),), (2, r.int(1, 2))])
    batches = r.pick([((), batch), (batch, ()), (batch, batch), (tuple(1 for _ in batch), batch)])
    turned = r.chance(), r.chance()
    a, b = r.array('i8', (*batches[0], m, k), -100, 100), r.array('i8', (*batches[1], k, n), -100, 100)
    kind, rows, columns = r.pick(form.types['out']), None, r.pick([(1,), (n,), (1, n)])
    values = np.matmul(a.astype(np.int64), b.astype(np.int64))
    to_bytes, to_sums, shift, bias = kind == 'i8', kind == 'i32', None, None
    if r.chance(0.4):
        bias = r.tensor('i32' if to_bytes or to_sums else r.pick(form.types.get('biasOptional') or form.types['bias']), (n,), -9, 9)
        if values.ndim == 3 and r.chance():
            bias = r.tensor(bias.dtype, (values.shape[0], 1, n), -9, 9)
    if bias and bias.dtype == 'i32':
        values = values + bias.data
    raw = r.array('f32', columns, 0.001, 0.01)
    if to_bytes and r.chance():
        shift = r.tensor('f32', r.pick([(1,), (n,)]), -9, 9)
    if r.chance():  # packed, with an offset that is not taken where x2Offset is given
        inner = r.array('f32', columns, -9, 9) if to_bytes and r.chance() else None
        scale = given(packed_parameters(raw, inner).astype(np.int64), r.pick(['u64', 'i64']))
        raw = (raw.view(np.uint32) & np.uint32(0xffffe000)).view(np.float32)
        plus = shift.data if shift else np.rint(inner) if inner is not None else np.float32(0)
    else:
        scale = given(raw, r.pick(['f32', 'bf16']))
        raw, plus = scale.data.astype(np.float32), shift.data if shift else np.float32(0)
    value = values.astype(np.float32) * raw.reshape(-1)
    if not to_bytes and not to_sums and r.chance():
        rows = r.tensor('f32', (m,), 0.5, 2)
        value = value * rows.data[:, None]
    if bias and bias.dtype != 'i32':
        value = value + bias.data.astype(np.float32)
    if to_bytes:
        value = np.clip(np.rint(value + np.asarray(plus, np.float32).reshape(-1)), -128, 127)
    left, right = given(np.swapaxes(a, -1, -2) if turned[0] else a, 'i8'), given(np.swapaxes(b, -1, -2) if turned[1] else b, 'i8')
    nothing = [r.pick([None, r.tensor('f16', (0,))]) for _ in range(2)]
    return Case([left, right, rows, scale, None, nothing[0], shift, nothing[1], bias, *turned, 0, Tensor(kind, value.shape)],
                {12: value if to_bytes else values if to_sums else Want(value, 20.0)})


FUNCTIONS = {b'relu': lambda x: np.maximum(x, 0), b'silu': lambda x: x / (1 + np.exp(-x)),
             b'fastgelu': lambda x: x / (1 + np.exp(-1.702 * x)),
             b'gelu': lambda x: x * (1 + np.vectorize(math.erf, otypes=[float])(x / math.sqrt(2))) / 2}


@dataclass
class Feed:
    """Two layers of one expert or of several, and what numpy makes of them."""
    kind: str
    dtype: str
    experts: int  # 0: none
    rows: list  # of each expert
    name: bytes
    sizes: tuple
    packed: str = ''  # the type that scales of sums come in

    def half(self, values: np.ndarray) -> np.ndarray:
        """What is rounded to FLOAT16 on the way where the sums are scaled by packed numbers."""
        return np.float16(np.clip(values, -65504, 65504)).astype(np.float32) if self.packed and self.dtype == 'f16' else values

    def columns(self, r: Random, dtype: str, n: int, low=-2.0, high=2.0) -> Tensor:
        return r.tensor(dtype, (self.experts, n) if self.experts else (n,), low, high)

    def draw(self, r: Random):
        width, inner, out = self.sizes
        small = 'i8' if self.kind != 'float' else self.dtype
        reach = 20 if small == 'i8' else 1
        front = (self.experts,) if self.experts else ()
        self.weights = [r.tensor(small, (*front, *shape), -reach, reach) for shape in ((width, inner), (inner, out))]
        bias = 'i32' if self.kind == 'bytes' else r.pick(['f32', 'f16', 'bf16'])
        self.biases = [r.pick([None, self.columns(r, bias, n)]) for n in (inner, out)]
        self.deq, self.scales, self.shifts = [None] * 2, [None] * 2, [None] * 2
        if self.kind == 'bytes':
            self.deq = [self.columns(r, 'f32', n, 0.005, 0.01) for n in (inner, out)]
            if r.chance():
                self.packed = r.pick(['u64', 'i64'])
                for t in self.deq:
                    t.data = (t.data.view(np.uint32) & np.uint32(0xffffe000)).view(np.float32)
        if self.kind == 'weights':
            self.scales = [self.columns(r, self.dtype, n, 0.01, 0.1) for n in (inner, out)]
            self.shifts = [r.pick([None, self.columns(r, self.dtype, n)]) for n in (inner, out)]

    def weight(self, layer: int, expert: int) -> np.ndarray:
        def of(t):
            return wide(t)[expert] if self.experts else wide(t)
        w = of(self.weights[layer])
        if self.kind != 'weights':
            return w
        step = (lambda x: np.float16(np.float32(x)).astype(np.float64)) if self.dtype == 'f16' else (lambda x: x)
        return step(step(w + (of(self.shifts[layer]) if self.shifts[layer] else 0)) * of(self.scales[layer]))

    def packed_deq(self) -> list:
        return [given(packed_parameters(t.data, None).astype(np.int64), self.packed) for t in self.deq] if self.packed else self.deq

    def layer(self, i: int, expert: int, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The result, and the size of its terms."""
        w = self.weight(i, expert)
        y, size = x @ w, np.abs(x) @ np.abs(w)
        for t, add in ((self.biases[i], True), (self.deq[i], False)):
            if t:
                of = wide(t)[expert] if self.experts else wide(t)
                y, size = (y + of, size + np.abs(of)) if add else (y * of, size * np.abs(of))
        return y, size


@TABLE.case('FFNV2')
def feed_forward(r: Random, form) -> Case:
    experts, kind = r.pick([0, 0, 1, 3]), r.pick(['float', 'weights', 'bytes'])
    rows = [r.size(0, 9) if r.chance(0.8) else r.int(100, 300) for _ in range(experts or 1)]
    f = Feed(kind, r.pick(['f16', 'bf16']), experts, rows, r.pick(list(FUNCTIONS)), tuple(r.int(1, 9) for _ in range(3)))
    f.draw(r)
    x = r.tensor('i8' if kind == 'bytes' else f.dtype, (sum(rows), f.sizes[0]), -9, 9)
    # Halves and quarters are not rounded one way by floats and another by doubles.
    scale = shift = None
    if kind == 'bytes':
        count = experts or 1
        scale = r.pick([r.tensor('f32', (count,), 0.5, 2), f.columns(r, 'f32', f.sizes[1], 0.5, 2)])
        shift = r.tensor('f32', (count,), -3, 3)
    parts, first = [], 0
    for e, n in enumerate(rows):
        y, size = f.layer(0, e, wide(x)[first:first + n])
        y = FUNCTIONS[f.name](f.half(y))
        if kind == 'bytes':
            by = wide(scale) if scale.shape == (experts or 1,) else wide(scale)[e] if experts else wide(scale)
            by = by[e] if scale.shape == (experts or 1,) else by
            y = f.half(f.half(f.half(y) * f.half(by)) + f.half(wide(shift)[e]))
            y = np.clip(np.rint(y), -128, 127)
            size = np.zeros(y.shape)
        value, terms = f.layer(1, e, y)
        parts.append((value, terms + np.abs(size) @ np.abs(f.weight(1, e))))
        first += n
    value, terms = [np.concatenate(p) for p in zip(*parts)]
    tokens = None if not experts else [int(n) for n in np.cumsum(rows)] if (index := r.chance()) else rows
    shape = (*r.pick([(), (1,)]), sum(rows))
    return Case([Tensor(x.dtype, (*shape, f.sizes[0]), x.data.reshape(*shape, f.sizes[0])), *f.weights, tokens, *f.biases, scale, shift,
                 *f.packed_deq(), *f.scales, *f.shifts, f.name, r.int(0, 1), bool(experts and index), Tensor(f.dtype, (*shape, f.sizes[2]))],
                {17: Want(value.reshape(*shape, f.sizes[2]), terms.reshape(*shape, f.sizes[2]) * 1e-2 + 0.1)})
