"""What latent attention does before it attends: queries, and what its caches keep."""
from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from cases import Case, Table, Want
from experts import wide
from linear import in_tiles
from values import Random, Tensor, exact, given

TABLE = Table('latent')

# What is quantised, of the weights and of the caches, and the types of tokens, of weightUqQr, and of both caches.
MODES = {(0, 0): 'bf16 bf16 bf16 bf16', (1, 0): 'bf16 i8 bf16 bf16', (1, 2): 'bf16 i8 i8 i8',
         (2, 0): 'i8 i8 bf16 bf16', (2, 1): 'i8 i8 i8 bf16'}


def apart(x: np.ndarray, cos: np.ndarray, sin: np.ndarray) -> np.ndarray:
    even, odd = x[..., ::2], x[..., 1::2]
    return np.concatenate([even, odd], -1) * cos + np.concatenate([-odd, even], -1) * sin


def normal(x: np.ndarray, gamma: Tensor, eps: float) -> np.ndarray:
    return x / np.sqrt(np.mean(x * x, -1, keepdims=True) + eps) * wide(gamma)


def whole(values: np.ndarray) -> Want:
    """As bytes; what lies between two may come as the other one."""
    near = np.rint(values)
    return Want(np.clip(near, -128, 127), other=np.clip(near + np.where(values < near, -1, 1), -128, 127))


def largest(rows: np.ndarray) -> np.ndarray:
    return np.abs(rows).max(-1, keepdims=True, initial=0) / 127


@dataclass
class Prolog:
    """The arguments of a call but for those of its caches, and what numpy makes of them."""
    r: Random
    third: bool
    tiles: bool
    merged: bool
    weights: int
    caches: int
    batch: int = 0
    rows: int = 0
    wants: dict = field(default_factory=dict)  # by the name of the result

    def __post_init__(self):
        r, each = self.r, 32 if self.tiles else 1
        if not self.batch:
            self.batch, self.rows = r.int(1, 3), r.size(0 if r.chance(0.05) else 1, 4)
        self.tokens = self.batch * self.rows
        self.lead = (self.tokens,) if self.merged else (self.batch, self.rows)
        self.deep, self.low = r.pick([r.int(1, 40), 300]), r.int(1, 40)
        self.heads, self.depth = r.int(1, 4), r.int(1, 20)
        self.latent, self.turned = each * r.int(1, 2 if self.tiles else 40), each * 2 * r.int(1, 2)
        self.query_by, self.latent_by = (r.pick([1.0, 10.0, 0.5]), r.pick([1.0, 10.0])) if self.third else (1.0, 1.0)
        self.eps = [r.pick([0.01, 1e-5]), r.pick([0.5, 1e-5])]
        self.tokens_type, self.up_type, self.kv, self.kr = MODES[self.weights, self.caches].split()
        self.draw()
        self.queries()

    def draw(self):
        r, n = self.r, self.heads * (self.depth + self.turned)
        small = lambda dtype, shape: r.tensor(dtype, shape, *((-100, 100) if dtype == 'i8' else (-2, 2)))
        self.x = small(self.tokens_type, (*self.lead, self.deep))
        self.down, self.down_latent = (small(self.tokens_type, (self.deep, m)) for m in (self.low, self.latent + self.turned))
        self.up = small(self.up_type, (self.low, n))
        self.absorb = r.tensor('bf16', (self.heads, self.depth, self.latent), -1, 1)
        self.gamma, self.gamma_latent = (r.tensor('bf16', (m,), 0.5, 2) for m in (self.low, self.latent))
        self.sin, self.cos = (r.tensor('bf16', (*self.lead, self.turned), -1, 1) for _ in range(2))
        scale = lambda wanted, *shape: r.tensor('f32', shape, 0.001, 0.02) if wanted else None
        everything, one = self.weights == 2, self.caches == 1
        self.by_x, self.by_down = scale(everything, self.tokens, 1), scale(everything, 1, self.low)
        self.by_up, self.by_latent = scale(self.weights > 0, 1, n), scale(everything, 1, self.latent + self.turned)
        shape = (1,) if one and self.third else (1, self.latent)
        self.ckv = r.tensor('f32', shape, 5, 60) if self.caches else None
        self.ckr = r.tensor('f32', (1, self.turned), 5, 60) if self.caches == 2 else None
        self.smooth = r.tensor('f32', (1, self.low), 0.5, 2) if self.weights and r.chance() else None

    def queries(self):
        """To `wants`, and of the latent parts what the caches hold."""
        self.c, tokens = None, self.tokens
        x = wide(self.x).reshape(tokens, self.deep)
        down = x @ wide(self.down)
        down = down * wide(self.by_x) * wide(self.by_down) if self.weights == 2 else exact(down, 'bf16').astype(np.float64)
        c = normal(down, self.gamma, self.eps[0]) * self.query_by
        if self.weights:
            c = c * (1 if self.smooth is None else wide(self.smooth))
            self.step = largest(c)
            self.norm = whole(c / np.where(self.step == 0, 1, self.step))
            c, factors = self.norm.value, self.step * wide(self.by_up)
        else:
            self.norm = Want(c, 2.0)
            c, factors = exact(c, 'bf16').astype(np.float64), 1
        shape = (tokens, self.heads, self.depth + self.turned)
        up = (c @ wide(self.up) * factors).reshape(shape)
        size = (np.abs(c) @ np.abs(wide(self.up)) * factors).reshape(shape)
        if not self.weights:
            up = exact(up, 'bf16').astype(np.float64)
        self.query_of(exact(up[..., :self.depth], 'bf16').astype(np.float64), size[..., :self.depth])
        self.rope_of(up[..., self.depth:], size[..., self.depth:])
        self.caches_of(x)

    def query_of(self, plain: np.ndarray, size: np.ndarray):
        query = np.einsum('tnd,ndc->tnc', plain, wide(self.absorb))
        scale = np.einsum('tnd,ndc->tnc', size, np.abs(wide(self.absorb)))
        shape = (*self.lead, self.heads, self.latent)
        if self.caches != 1:
            self.wants['query'] = Want(query.reshape(shape), scale.reshape(shape))
            return
        query = exact(query, 'bf16').astype(np.float64)
        self.each = largest(query)
        self.wants['query'] = whole((query / np.where(self.each == 0, 1, self.each)).reshape(shape))
        self.wants['query_scale'] = Want(self.each, scale.max(-1, keepdims=True, initial=0) / 127, 'bf16')

    def rope_of(self, x: np.ndarray, size: np.ndarray):
        cos, sin = (wide(a).reshape(self.tokens, 1, self.turned) for a in (self.cos, self.sin))
        rope, scale = apart(x, cos, sin), np.maximum(size[..., ::2], size[..., 1::2])
        scale = np.concatenate([scale, scale], -1) * 2
        if self.caches == 1:
            by = float(self.ckv.data.reshape(-1)[0]) / np.where(self.each == 0, np.inf, self.each)  # no case has a zero and an angle
            rope, scale = exact(rope, 'bf16') * by, scale * by
        shape = (*self.lead, self.heads, self.turned)
        self.wants['rope'] = Want(rope.reshape(shape), scale.reshape(shape))

    def caches_of(self, x: np.ndarray):
        latent = x @ wide(self.down_latent)
        size = np.abs(x) @ np.abs(wide(self.down_latent))
        if self.weights == 2:
            latent, size = (a * wide(self.by_x) * wide(self.by_latent) for a in (latent, size))
        root = np.sqrt(np.mean(latent[:, :self.latent] ** 2, -1, keepdims=True) + self.eps[1])
        cos, sin = (wide(a).reshape(self.tokens, self.turned) for a in (self.cos, self.sin))
        values = normal(latent[:, :self.latent], self.gamma_latent, self.eps[1]) * self.latent_by
        keys, scale = apart(latent[:, self.latent:], cos, sin), np.maximum(size[:, self.latent::2], size[:, self.latent + 1::2])
        by = None if self.ckv is None else wide(self.ckv).reshape(-1)[:1] if self.caches == 1 else wide(self.ckv)
        self.latents = (values if by is None else values * by, size[:, :self.latent] / root * np.abs(wide(self.gamma_latent)) * self.latent_by)
        self.keys = (keys if self.ckr is None else keys * wide(self.ckr), 2 * np.concatenate([scale, scale], -1))

    def cache(self, dtype: str, shape, slots: np.ndarray, values: np.ndarray, size: np.ndarray) -> tuple[Tensor, Want]:
        """[pages, rows, 1, width] before and after; `slots` of all rows."""
        cache = self.r.tensor(dtype, shape)
        width = shape[-1]
        rows = shape[1] if len(shape) == 4 else 1

        def written(fill, new):
            flat = fill.reshape(-1, rows, width)
            tile = 32 if dtype == 'i8' else 16
            if self.tiles:
                flat = flat.reshape(-1, width // tile, rows, tile).swapaxes(1, 2)
            flat = flat.reshape(-1, width).copy()
            flat[slots] = new
            if self.tiles:
                flat = flat.reshape(-1, rows, width // tile, tile).swapaxes(1, 2)
            return flat.reshape(shape)
        was = wide(cache)
        if dtype == 'i8':
            want = whole(values)
            return cache, Want(written(was, want.value), other=written(was, want.other))
        return cache, Want(written(was, values), written(np.abs(was), size))

    def weights_of(self) -> list:
        down, up, latent = (in_tiles(self.r, w) for w in (self.down, self.up, self.down_latent))
        return [self.x, down, up, self.absorb, latent, self.gamma, self.gamma_latent, self.sin, self.cos]

    def scales(self) -> list:
        return [self.by_x, self.by_down, self.by_up, self.by_latent, self.ckv, self.ckr, self.smooth]

    def results(self) -> list:
        query = Tensor('i8' if self.caches == 1 else 'bf16', (*self.lead, self.heads, self.latent))
        return [query, Tensor('bf16', (*self.lead, self.heads, self.turned))]


def in_pages(r: Random, p: Prolog) -> tuple[tuple[int, int], np.ndarray]:
    """Pages and rows of them, and the slots of the tokens."""
    rows = r.int(1, 5)
    pages = -(-p.tokens // rows) + r.int(0, 2) + (p.tokens == 0)
    return (pages, rows), r.rng.permutation(pages * rows)[:p.tokens]


@TABLE.case('MlaPrologV2WeightNz')
def prolog_2(r: Random, form) -> Case:
    mode = r.pick([None, b'PA_BSND', b'PA_NZ'])
    p = Prolog(r, False, mode == b'PA_NZ', r.chance(), *r.pick(list(MODES)))
    (pages, rows), slots = in_pages(r, p)
    kv, kv_want = p.cache(p.kv, (pages, rows, 1, p.latent), slots, *p.latents)
    kr, kr_want = p.cache(p.kr, (pages, rows, 1, p.turned), slots, *p.keys)
    scale = Tensor('f32', (p.tokens, p.heads, 1)) if p.caches == 1 else r.pick([None, Tensor('f32', (1,), np.ones(1, np.float32))])
    wants = {10: kv_want, 11: kr_want, 22: p.wants['query'], 23: p.wants['rope']}
    if p.caches == 1:
        wants[24] = p.wants['query_scale']
    return Case([*p.weights_of(), given(slots.reshape(p.lead), 'i64'), kv, kr, *p.scales(), *p.eps, mode, *p.results(), scale], wants)


def paged_by_sequence(r: Random, p: Prolog, lengths) -> tuple:
    """Pages and their rows, what names the pages, and the slots of the tokens."""
    rows = r.int(1, 5)
    needed = [-(-n // rows) for n in lengths]
    pages = sum(needed) + r.int(0, 2) + (p.tokens == 0)
    index = r.rng.permutation(pages)[:sum(needed)]
    starts = np.concatenate([[0], np.cumsum(needed)])
    slots = [index[starts[s] + i // rows] * rows + i % rows for s, n in enumerate(lengths) for i in range(n)]
    return (pages, rows), index, np.array(slots, np.int64)


@TABLE.case('MlaPrologV3WeightNz')
def prolog_3(r: Random, form) -> Case:
    mode, merged = r.pick([None, b'PA_BSND', b'PA_NZ', b'PA_BLK_BSND', b'PA_BLK_NZ', b'of tokens']), r.chance()
    by_page, ends, index = mode in (b'PA_BLK_BSND', b'PA_BLK_NZ'), None, None
    p = Prolog(r, True, mode in (b'PA_NZ', b'PA_BLK_NZ'), merged, *r.pick(list(MODES)))
    if mode == b'of tokens':
        mode, outer, slots = b'TND' if merged else b'BSND', p.lead, np.arange(p.tokens)
    elif by_page:
        cuts = np.sort(r.rng.integers(0, p.tokens + 1, r.int(0, 2)))
        sums = [*(int(n) for n in cuts), p.tokens]
        lengths = list(np.diff([0, *sums])) if merged else [p.rows] * p.batch
        outer, index, slots = paged_by_sequence(r, p, lengths)
        index = index if merged else index.reshape(p.batch, -(-p.rows // outer[1]))
        ends = given(np.array(sums), 'i32') if merged else None
    else:
        outer, slots = in_pages(r, p)
        index = slots.reshape(p.lead)
    kv, kv_want = p.cache(p.kv, (*outer, 1, p.latent), slots, *p.latents)
    kr, kr_want = p.cache(p.kr, (*outer, 1, p.turned), slots, *p.keys)
    wants = {9: kv_want, 10: kr_want, 32: p.wants['query'], 33: p.wants['rope']}
    scale, norm, norm_scale = None, None, None
    if p.caches == 1:
        scale, wants[34] = Tensor('f32', (p.tokens, p.heads, 1)), p.wants['query_scale']
    if r.chance(0.6):
        norm = Tensor('i8' if p.weights else 'bf16', (*p.lead, p.low))
        p.norm.value = p.norm.value.reshape(norm.shape)
        p.norm.other = None if p.norm.other is None else p.norm.other.reshape(norm.shape)
        wants[35] = p.norm
        if p.weights:
            norm_scale, wants[36] = Tensor('f32', (p.tokens, 1)), Want(p.step, 0.01, 'bf16')
    return Case([*p.weights_of(), kv, kr, None if index is None else given(index, 'i64'), *p.scales(), ends, None, *p.eps, mode,
                 p.weights, p.caches, int(p.caches == 1), 0, 0, 128, p.query_by, p.latent_by, *p.results(), scale, norm, norm_scale],
                wants)
