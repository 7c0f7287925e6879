"""Random numbers: the words of Philox 4x32-10 by a seed and an offset, and what is made of them."""
from __future__ import annotations

import math

import numpy as np

from cases import Case, Table, Want
from reduce import wide
from values import DTYPES, Random, Scalar, Tensor, exact, given

TABLE = Table('draws')
FACTORS, STEPS, LOW = (0xD2511F53, 0xCD9E8D57), (0x9E3779B9, 0xBB67AE85), np.uint64(0xffffffff)
HALF = np.uint64(32)


def words(seed: int, offset: int, blocks: int) -> np.ndarray:
    """Four words for each block, as a matrix; the offset is the high half of the counter."""
    at, high = np.arange(blocks, dtype=np.uint64), np.full(blocks, offset, np.uint64)
    x = [at & LOW, at >> HALF, high & LOW, high >> HALF]
    keys = [np.uint64(seed) & LOW, np.uint64(seed) >> HALF]
    for _ in range(10):
        p, q = (x[i] * np.uint64(f) for i, f in zip((0, 2), FACTORS))
        x = [(q >> HALF) ^ x[1] ^ keys[0], q & LOW, (p >> HALF) ^ x[3] ^ keys[1], p & LOW]
        keys = [(k + np.uint64(s)) & LOW for k, s in zip(keys, STEPS)]
    return np.stack(x, axis=1)


def fractions(dtype: str, seed: int, offset: int, count: int, normal: bool = False) -> np.ndarray:
    """In [0, 1): of as many bits of a word as the type holds, of 53 of two words for DOUBLE and whole numbers."""
    if dtype not in ('f32', 'f16', 'bf16'):
        return (pairs(seed, offset, count) >> np.uint64(11)).astype(np.float64) * 2.0 ** -53
    bits = 24 if normal or dtype == 'f32' else {'f16': 11, 'bf16': 8}[dtype]
    drawn = words(seed, offset, -(-count // 4)).ravel()[:count]
    return (drawn >> np.uint64(32 - bits)).astype(np.float64) * 2.0 ** -bits


def pairs(seed: int, offset: int, count: int) -> np.ndarray:
    drawn = words(seed, offset, -(-count // 2)).reshape(-1, 2)[:count]
    return drawn[:, 1] << HALF | drawn[:, 0]


def normals(dtype: str, seed: int, offset: int, count: int) -> np.ndarray:
    u = fractions(dtype, seed, offset, count + count % 2, normal=True).reshape(-1, 2)
    length, angle = np.sqrt(-2 * np.log1p(-u[:, 0])), 2 * math.pi * u[:, 1]
    return np.stack([length * np.cos(angle), length * np.sin(angle)], axis=1).ravel()[:count]


def seeds(r: Random) -> tuple[int, int]:
    return r.int(0, 2 ** 62), r.pick([0, 12, r.int(0, 2 ** 62)])


def counted(r: Random) -> tuple[tuple[int, ...], int]:
    """A shape, sometimes of more numbers than are drawn at a time."""
    shape = r.pick([r.shape(), (r.int(500, 3000),), (3, r.int(200, 700))])
    return shape, int(np.prod(shape, dtype=np.int64))


def in_memory(r: Random, seed: int, offset: int) -> list:
    """The seed and the offset as tensors, and what is added to the latter."""
    further = r.pick([0, min(offset, 4)])
    return [given(np.full(r.pick([(), (1,)]), n, np.int64), 'i64') for n in (seed, offset - further)] + [further]


def as_type(value: np.ndarray, dtype: str) -> np.ndarray:
    """Whole numbers lose the fraction."""
    if dtype == 'bool':
        return value != 0
    return value if DTYPES[dtype].is_float else np.trunc(value).astype(DTYPES[dtype].numpy)


@TABLE.case('InplaceUniform InplaceUniformTensor')
def uniform(r: Random, form) -> Case:
    dtype, (shape, count), (seed, offset) = r.pick(form.types['self']), counted(r), seeds(r)
    low = 0 if dtype[0] == 'u' else r.pick([0, -100, -1.5])
    high = low + r.pick([0, 1, 0.5, 100])
    value = low + fractions(dtype, seed, offset, count).reshape(shape) * (high - low)
    source = in_memory(r, seed, offset) if form.name.endswith('Tensor') else [seed, offset]
    # One rounding of the product and one of the sum.
    want = Want(as_type(value, dtype), abs(low) + abs(high), loose=2) if DTYPES[dtype].is_float else as_type(value, dtype)
    return Case([Tensor(dtype, shape, np.zeros(shape, DTYPES[dtype].logical)), low, high, *source], {0: want})


@TABLE.case('InplaceNormal InplaceNormalTensor')
def normal(r: Random, form) -> Case:
    dtype, (shape, count), (seed, offset) = r.pick(form.types['self']), counted(r), seeds(r)
    mean, deviation = r.pick([0, 50, 0.5]), r.pick([0, 1, 2.5])
    if dtype == 'c64':
        parts = normals('f32', seed, offset, 2 * count).reshape(*shape, 2) * deviation / math.sqrt(2)
        value = mean + parts[..., 0] + 1j * parts[..., 1]
    else:
        value = mean + normals(dtype, seed, offset, count).reshape(shape) * deviation
    if dtype == 'u8':
        value = np.maximum(value, 0)
    source = in_memory(r, seed, offset) if form.name.endswith('Tensor') else [seed, offset]
    exact_ = dtype != 'c64' and not DTYPES[dtype].is_float
    want = as_type(value, dtype) if exact_ else Want(value, mean + 6 * deviation)
    return Case([Tensor(dtype, shape, np.zeros(shape, DTYPES[dtype].logical)), mean, deviation, *source], {0: want})


@TABLE.case('NormalTensorTensor NormalTensorFloat NormalFloatTensor', broadcasts=True)
def normal_out(r: Random, form) -> Case:
    dtype, (shape, count), (seed, offset) = r.pick(form.types['out']), counted(r), seeds(r)
    kinds = form.name.removeprefix('Normal').replace('Tensor', 'T').replace('Float', 'F')
    mean = r.tensor(dtype, shape) if kinds[0] == 'T' else r.pick([0, -3, 0.5])
    part = r.part(shape) if kinds == 'TT' else shape
    deviation = r.tensor(dtype, part, 0, 3) if kinds[1] == 'T' else r.pick([0, 1, 2.5])
    middle, spread = (wide(p.data) if isinstance(p, Tensor) else p for p in (mean, deviation))
    drawn = normals('f64' if dtype == 'f64' else 'f32', seed, offset, count).reshape(shape)
    value = np.broadcast_to(middle + drawn * spread, shape)
    return Case([mean, deviation, seed, offset, Tensor(dtype, shape)], {4: Want(value, np.abs(middle) + 6 * np.abs(spread))})


TABLE.add('NormalFloatFloat', normal_out, 'shape')


@TABLE.case('InplaceRandom InplaceRandomTensor')
def whole(r: Random, form) -> Case:
    dtype, (shape, count), (seed, offset) = r.pick(form.types['self']), counted(r), seeds(r)
    low = 0 if dtype in ('bool', 'u8') else r.pick([0, -128, -3])
    high = low + (r.int(1, 2) if dtype == 'bool' else r.pick([1, 7, 100, 128]))
    if dtype == 'i64' and r.chance(0.3):
        low, high = -2 ** 63, 2 ** 63 - 1
    drawn = [low + (int(word) * (high - low) >> 64) for word in pairs(seed, offset, count)]
    value = np.array(drawn, np.int64).reshape(shape)
    source = in_memory(r, seed, offset) if form.name.endswith('Tensor') else [seed, offset]
    value = exact(value, dtype) if DTYPES[dtype].is_float else value.astype(DTYPES[dtype].numpy)
    return Case([Tensor(dtype, shape, np.zeros(shape, DTYPES[dtype].logical)), low, high, *source], {0: value})


def chosen(r: Random, form, value: np.ndarray, chance, seed: int, offset: int) -> Case:
    """Zeros and ones of any type, in place or not."""
    own = r.pick(form.types['self'])
    x = r.tensor(own, value.shape, 0, 1)
    if form.in_place:
        return Case([x, chance, seed, offset], {0: value.astype(DTYPES[own].logical)})
    dtype = r.pick(form.types['out'])
    return Case([x, chance, seed, offset, Tensor(dtype, value.shape)], {4: value.astype(DTYPES[dtype].logical)})


@TABLE.case('Bernoulli InplaceBernoulli')
def bernoulli(r: Random, form) -> Case:
    (shape, count), (seed, offset) = counted(r), seeds(r)
    chance = r.pick([0.0, 0.25, 0.5, 1.0, r.real(0, 1)])
    drawn = words(seed, offset, -(-count // 4)).ravel()[:count].reshape(shape)
    return chosen(r, form, drawn < np.uint64(chance * 2 ** 32), Scalar(chance, 'f64'), seed, offset)


@TABLE.case('BernoulliTensor InplaceBernoulliTensor', broadcasts=True)
def bernoulli_of(r: Random, form) -> Case:
    (shape, count), (seed, offset) = counted(r), seeds(r)
    chance = r.tensor(r.pick(form.types['prob']), r.part(shape), 0, 1)
    drawn = fractions('f32', seed, offset, count).reshape(shape)
    return chosen(r, form, drawn < wide(chance.data), chance, seed, offset)


@TABLE.case('Multinomial MultinomialTensor')
def multinomial(r: Random, form) -> Case:
    dtype, classes, (seed, offset) = r.pick(form.types['self']), r.int(1, 9), seeds(r)
    rows, again = r.pick([None, 1, 3]), r.chance()
    samples = r.int(1, 40 if again else classes)
    weights = r.tensor(dtype, (classes,) if rows is None else (rows, classes), 1, 5)
    most, drawn = max(classes, samples), []
    u = fractions('f64', seed, offset, (rows or 1) * most).reshape(-1, most)
    for row, v in zip(wide(weights.data).reshape(-1, classes), u):
        if again:
            sums = np.cumsum(row)
            drawn.append(np.searchsorted(sums, v[:samples] * sums[-1], side='right'))
        else:
            drawn.append(np.argsort(-np.log(1 - v[:classes]) / row, kind='stable')[:samples])
    shape = (samples,) if rows is None else (rows, samples)
    source = in_memory(r, seed, offset) if form.name.endswith('Tensor') else [seed, offset]
    arguments = [weights, samples, again, *source, Tensor('i64', shape)]
    return Case(arguments, {len(arguments) - 1: np.array(drawn).reshape(shape)})


@TABLE.case('MaskedScale')
def masked_scale(r: Random, form) -> Case:
    x = r.tensor(r.pick(form.types['self']), r.shape())
    mask, scale = r.tensor(r.pick(form.types['mask']), x.shape, 0, 1), r.pick([0.0, 1.25, 2.0, -3.0])
    return Case([x, mask, scale, Tensor(x.dtype, x.shape)], {3: Want(wide(x.data) * mask.data * scale, 0.0)})


@TABLE.case('SimThreadExponential')
def exponential(r: Random, form) -> Case:
    dtype, (shape, count), (seed, offset), rate = r.pick(form.types['self']), counted(r), seeds(r), r.pick([0.25, 1.0, 3.0])
    u = np.maximum(fractions('f32', seed, offset, count), 2.0 ** -25).reshape(shape)
    return Case([r.tensor(dtype, shape), count, rate, seed, offset], {0: Want(-np.log1p(-u) / rate, 0.1)})


@TABLE.case('RReluWithNoise InplaceRReluWithNoise')
def noisy_relu(r: Random, form) -> Case:
    dtype, (shape, count), (seed, offset) = r.pick(form.types['noise']), counted(r), seeds(r)
    x, training = r.tensor(dtype, shape), r.chance(0.7)
    low = r.pick([0.0, 0.125, -0.5])
    high = low + r.pick([0.0, 0.25, 1.0])
    drawn = exact(low + fractions(dtype, seed, offset, count).reshape(shape) * (high - low), dtype).astype(np.float64)
    slopes = np.where(wide(x.data) <= 0, drawn if training else (low + high) / 2, 1.0)
    noise = r.tensor(dtype, shape)
    wants = {1: Want(slopes, 1.0) if training else noise.data}
    value = Want(wide(x.data) * slopes, 4.0, loose=2)
    arguments = [x, noise, Scalar(low, 'f32'), Scalar(high, 'f64'), training, seed, offset]
    if form.in_place:
        return Case(arguments, {0: value, **wants})
    return Case([*arguments, Tensor(dtype, shape)], {7: value, **wants})


@TABLE.case('Randperm')
def permutation(r: Random, form) -> Case:
    dtype, n, (seed, offset) = r.pick(form.types['out']), r.pick([0, 1, 5, 100]), seeds(r)
    numbers = np.arange(n)
    u = fractions('f64', seed, offset, n)
    for i in range(n, 1, -1):
        place = int(u[i - 1] * i)
        numbers[[i - 1, place]] = numbers[[place, i - 1]]
    return Case([n, seed, offset, Tensor(dtype, (n,))], {3: exact(numbers, dtype)})


@TABLE.case('DropoutGenMask DropoutGenMaskV2 DropoutGenMaskV2Tensor')
def gen_mask(r: Random, form) -> Case:
    shape, prob, (seed, offset) = r.full(1, 3, 9), r.pick([0.0, 0.25, 0.5, 1.0, r.real(0, 1)]), seeds(r)
    size = -(-int(np.prod(shape)) // 128) * 16
    kept = words(seed, offset, 2 * size).ravel() < np.uint64(int((1 - prob) * 2 ** 32))
    value = np.packbits(kept, bitorder='little')
    kind = [] if form.name == 'DropoutGenMask' else [r.pick(['f32', 'f16', 'bf16'])]
    source = in_memory(r, seed, offset) if form.name.endswith('Tensor') else [seed, offset]
    arguments = [list(shape), prob, *source, *kind, Tensor('u8', (size,))]
    return Case(arguments, {len(arguments) - 1: value})
