"""Products of matrices, and convolutions."""
from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np

from cases import Case, Table, Want
from values import DTYPES, NCDHW, NCHW, NCL, Random, Scalar, Tensor, given

TABLE = Table('linear')


def exact(t: Tensor) -> np.ndarray:
    return t.data.astype({'c64': np.complex128, 'i32': np.int64, 'i64': np.int64}.get(t.dtype, np.float64))


def product(r: Random, form, a: Tensor, b: Tensor) -> Case:
    """name(self, mat2, out, cubeMathType); with 2 FLOAT inputs count as FLOAT16."""
    math = r.pick([0, 1, 2]) if a.dtype == 'f32' else 0
    left, right = exact(a), exact(b)
    value, scale = np.matmul(left, right), np.matmul(np.abs(left), np.abs(right))
    want = Want(value, scale, 'f16' if math == 2 else '')
    return Case([a, b, Tensor(a.dtype, value.shape), math], {2: want})


@TABLE.case('Mm')
def mm(r: Random, form) -> Case:
    dtype, (m, k, n) = r.pick(form.types['self']), r.full(3, 3, 20)
    return product(r, form, r.tensor(dtype, (m, k)), r.tensor(dtype, (k, n)))


@TABLE.case('BatchMatMul')
def batch_matmul(r: Random, form) -> Case:
    dtype, (batch, m, k, n) = r.pick(form.types['self']), r.full(4, 4, 9)
    first, second = r.pick([(batch, batch), (1, batch), (batch, 1)])
    return product(r, form, r.tensor(dtype, (first, m, k)), r.tensor(dtype, (second, k, n)))


@TABLE.case('TransposeBatchMatMul')
def product_beside_product(r: Random, form) -> Case:
    dtype, (batch, m, k, n) = r.pick(form.types['x1']), r.full(4, 4, 9)
    x, weight = r.tensor(dtype, (batch, m, k)), r.tensor(dtype, (batch, k, n))
    order = r.pick([[0, 1, 2], [1, 0, 2]])
    first = x if order[0] == 0 else given(x.data.transpose(1, 0, 2), dtype)
    value = np.matmul(exact(x), exact(weight)).transpose(1, 0, 2)
    size = np.matmul(np.abs(exact(x)), np.abs(exact(weight))).transpose(1, 0, 2)
    arguments = [first, weight, None, None, order, [0, 1, 2], [1, 0, 2], 0]
    if r.chance(0.3):
        scale = r.pick([0.5, 1.0, 2.0])
        packed = np.full(batch * n, np.array(scale, np.float32).view(np.uint32), np.uint64) | np.uint64(1 << 46)
        arguments[3] = given(packed, r.pick(form.types['scale']))
        least, most = [np.clip(np.rint((value + way * 1e-5 * (1 + size)) * scale), -128, 127) for way in (-1, 1)]
        return Case([*arguments, 1, Tensor('i8', (m, 1, batch * n))],
                    {9: Want(least.reshape(m, 1, -1), other=most.reshape(m, 1, -1))})
    pieces = r.pick([p for p in range(1, batch * n + 1) if batch * n % p == 0]) if r.chance() else 1
    if pieces > 1:
        value, size = [a.reshape(m, pieces, -1).transpose(1, 0, 2) for a in (value, size)]
    return Case([*arguments, pieces, Tensor(dtype, value.shape)], {9: Want(value, size)})


@TABLE.case('Matmul')
def matmul(r: Random, form) -> Case:
    dtype, (m, k, n), batch = r.pick(form.types['self']), r.full(3, 3, 9), r.full(0, 3, 3)
    a = (k,) if r.chance(0.2) else r.part(batch) + (m, k)
    b = (k,) if r.chance(0.2) else r.part(batch) + (k, n)
    return product(r, form, r.tensor(dtype, a), r.tensor(dtype, b))


@TABLE.case('Mv')
def mv(r: Random, form) -> Case:
    dtype, (m, k) = r.pick(form.types['self']), r.full(2, 2, 20)
    return product(r, form, r.tensor(dtype, (m, k)), r.tensor(dtype, (k,)))


@TABLE.case('Dot')
def dot(r: Random, form) -> Case:
    dtype, n = r.pick(form.types['self']), r.int(0, 40)
    a, b = r.tensor(dtype, (n,)), r.tensor(dtype, (n,))
    left, right = (t.data.astype(np.complex128 if dtype == 'c64' else np.float64 if DTYPES[dtype].is_float else np.int64)
                   for t in (a, b))
    value = np.asarray(np.dot(left, right)).astype(DTYPES[dtype].logical)
    return Case([a, b, Tensor(dtype, ())], {2: Want(value, np.dot(np.abs(left), np.abs(right)))})


@TABLE.case('Addr InplaceAddr', without='shape')
def add_outer(r: Random, form) -> Case:
    dtype, (m, n) = r.pick(form.types['vec1']), r.full(2, 2, 9)
    x = r.tensor(dtype, (m, n) if form.in_place else r.part((m, n)), 0, 3)
    a, b = r.tensor(dtype, (m,), 0, 3), r.tensor(dtype, (n,), 0, 3)
    beta, alpha = r.pick([0, 1, 2]), r.pick([1, 3])
    wide = np.complex128 if dtype == 'c64' else np.float64 if DTYPES[dtype].is_float else np.int64
    old, outer = x.data.astype(wide), np.multiply.outer(a.data.astype(wide), b.data.astype(wide))
    value = np.broadcast_to(beta * old + alpha * outer, (m, n))
    want = Want(value.astype(DTYPES[dtype].logical), 32.0, loose=2)
    scalars = [Scalar(f, r.pick(['f32', 'i64'])) for f in (beta, alpha)]
    if form.in_place:
        return Case([x, a, b, *scalars], {0: want})
    return Case([x, a, b, *scalars, Tensor(dtype, (m, n))], {5: want})


@TABLE.case('Ger')
def outer(r: Random, form) -> Case:
    dtype, (m, n) = r.pick(form.types['self']), r.full(2, 2, 9)
    a, b = r.tensor(dtype, (m,)), r.tensor(dtype, (n,))
    return Case([a, b, Tensor(dtype, (m, n))], {2: np.multiply.outer(a.data, b.data)})


@TABLE.case('TransMatmulWeight')
def arranged(r: Random, form) -> Case:
    """The bytes stay: what reads the matrix as FRACTAL_NZ reads them as they are."""
    weight = r.tensor(r.pick(form.types['mmWeight']), r.full(2, 4, 20))
    return Case([weight], {0: weight.data})


def in_tiles(r: Random, tensor: Tensor) -> Tensor:
    """The same matrices, tiled as they are or transposed; now and then as aclnnTransMatmulWeight leaves them."""
    if r.chance(0.1):
        return tensor
    width = 32 // np.dtype(DTYPES[tensor.dtype].numpy).itemsize
    return replace(tensor, tiles=width, turned=r.chance())


def with_tiles(r: Random, case: Case, place: int) -> Case:
    return Case([in_tiles(r, a) if i == place else a for i, a in enumerate(case.arguments)], case.wants)


@TABLE.case('NpuFormatCast')
def format_cast(r: Random, form) -> Case:
    dtype = r.pick(form.types['srcTensor'])
    shape = (*r.full(0, r.pick([0, 1, 4]), 3), r.int(1, 40), r.int(1, 70))
    width, plain = r.pick([8, 16, 32]), r.tensor(dtype, shape)
    if r.chance():
        return Case([plain, Tensor(dtype, shape, tiles=width)], {1: plain.data})
    return Case([replace(plain, tiles=width), Tensor(dtype, shape)], {1: plain.data})


@TABLE.case('MatmulWeightNz')
def matmul_of_tiles(r: Random, form) -> Case:
    dtype, (m, k, n) = r.pick(form.types['self']), r.full(3, 3, 40)
    return with_tiles(r, product(r, form, r.tensor(dtype, (m, k)), r.tensor(dtype, (k, n))), 1)


@TABLE.case('BatchMatMulWeightNz')
def batch_matmul_of_tiles(r: Random, form) -> Case:
    return with_tiles(r, batch_matmul(r, form), 1)


@TABLE.case('AddmmWeightNz')
def addmm_of_tiles(r: Random, form) -> Case:
    dtype, (m, k, n) = r.pick(form.types['mat2']), r.full(3, 3, 40)
    tensors = [r.tensor(dtype, s) for s in (r.part((m, n)), (m, k), (k, n))]
    beta, alpha = scalars(r, dtype)
    return with_tiles(r, added(form, tensors, beta, alpha, [beta, alpha]), 2)


def eights(r: Random, small: np.ndarray) -> Tensor:
    """Eight integers of four bits in each INT32."""
    nibbles = (small.astype(np.int64) & 15).reshape(*small.shape[:-1], -1, 8)
    return replace(given((nibbles << np.arange(0, 32, 4)).sum(-1).astype(np.uint32).view(np.int32), 'i32'), dense=True)


def weight_quant(r: Random, form) -> Case:
    dtype, (m, k, n) = r.pick(form.types['x']), r.full(3, 3, 12)
    group = r.pick([0, 0, r.int(1, k)])
    groups = -(-k // group) if group else 1
    packed = 'i32' in form.types['weight'] and r.chance(0.3)
    if packed:
        n *= 8
    x, weight = r.tensor(dtype, (m, k), -1, 1), r.tensor('i8', (k, n), *((-8, 7) if packed else (-100, 100)))
    shape = (groups, n) if group else r.pick([(1,), (n,), (1, n)])
    scale = r.tensor(dtype, shape, 0.01, 0.02)
    shift = r.tensor(dtype, shape, -3, 3) if r.chance() else None
    bias = r.tensor(dtype, (n,)) if r.chance() else None

    def spread(values):
        values = np.broadcast_to(values.data.astype(np.float64), (groups, n) if group else np.broadcast_shapes(shape, (1, n)))
        return np.repeat(values, group or k, axis=0)[:k]
    wide = (weight.data.astype(np.float64) + (spread(shift) if shift else 0)) * spread(scale)
    a = x.data.astype(np.float64)
    value = a @ wide + (bias.data.astype(np.float64) if bias else 0)
    want = Want(value, np.abs(a) @ np.abs(wide) + 1)
    weight = eights(r, weight.data) if packed else weight
    return Case([x, weight, scale, shift, None, None, bias, group, Tensor(dtype, (m, n))], {8: want})


@TABLE.case('WeightQuantBatchMatmulV2', without='shape')
def weight_quant_2(r: Random, form) -> Case:
    case = weight_quant(r, form)
    return with_tiles(r, case, 1) if case.arguments[1].dtype == 'i8' and r.chance(0.3) else case


@TABLE.case('TriangularSolve')
def triangular(r: Random, form) -> Case:
    dtype, (batch, n, k) = r.pick(form.types['self']), r.full(3, 3, 6)
    upper, transpose, unit = r.chance(), r.chance(), r.chance()
    shapes = r.pick([((batch, n, k), (batch, n, n)), ((batch, n, k), (n, n)), ((n, k), (1, n, n))])
    b, full = r.tensor(dtype, shapes[0]), r.array(dtype, shapes[1], -1, 1)
    full = full + np.eye(n) * 3 * np.where(np.diagonal(full, 0, -2, -1)[..., None] < 0, -1, 1)
    a = given(full, dtype)
    matrix = (np.triu if upper else np.tril)(a.data.astype(np.float64))
    if unit:
        matrix = matrix * (1 - np.eye(n)) + np.eye(n)
    matrix = np.swapaxes(matrix, -1, -2) if transpose else matrix
    value = np.linalg.solve(matrix, np.broadcast_to(b.data.astype(np.float64), np.broadcast_shapes(
        b.shape[:-2], a.shape[:-2]) + (n, k)))
    outs = [Tensor(dtype, value.shape), Tensor(dtype, a.shape)]
    return Case([b, a, upper, transpose, unit, *outs], {5: Want(value, np.max(np.abs(value)) * 30 + 1), 6: a.data})


@TABLE.case('Svd', without='null')
def singular_values(r: Random, form) -> Case:
    """Alone: the signs of the vectors are free. src/ops/linalg/decompose_test.cc multiplies them."""
    x = r.tensor(r.pick(form.types['A']), (*r.full(0, 2, 3), r.int(1, 6), r.int(1, 6)))
    value = np.linalg.svd(x.data.astype(np.float64), compute_uv=False)
    empty = [r.tensor(x.dtype, (0,)) for _ in range(2)]
    return Case([x, r.chance(), False, Tensor(x.dtype, value.shape), *empty], {3: Want(value, 20.0)})


@TABLE.case('LinalgQr')
def orthogonal(r: Random, form) -> Case:
    shape = (*r.full(0, 2, 3), r.int(1, 6), r.int(1, 6))
    x = given(r.rng.uniform(-4, 4, shape), r.pick(form.types['self']))  # of full rank, so that there is one answer
    mode = r.int(0, 1)
    q, t = np.linalg.qr(x.data.astype(np.float64), ['reduced', 'complete'][mode])
    return Case([x, mode, Tensor(x.dtype, q.shape), Tensor(x.dtype, t.shape)], {2: Want(q, 20.0, loose=8), 3: Want(t, 40.0, loose=8)})


def scalars(r: Random, dtype: str) -> tuple[Scalar, Scalar]:
    if dtype == 'c64':
        return Scalar(r.pick([0, 1, 1j - 0.5]), 'c64'), Scalar(r.pick([1, 0.25 - 2j]), 'c64')
    if dtype in ('i32', 'i64'):
        return Scalar(r.pick([0, 1, -2]), 'i64'), Scalar(r.pick([1, 3]), 'i64')
    return Scalar(r.pick([0.0, 1.0, -0.5, 2.0]), 'f32'), Scalar(r.pick([1.0, 0.25, -2.0]), 'f32')


def added(form, tensors: list, beta: Scalar, alpha: Scalar, order: list) -> Case:
    """beta * self + alpha * (a x b), in place or into out."""
    own, left, right = [exact(t) for t in tensors]
    value = beta.value * own + alpha.value * np.matmul(left, right)
    scale = abs(beta.value) * np.abs(own) + abs(alpha.value) * np.matmul(np.abs(left), np.abs(right))
    want = Want(value, np.broadcast_to(scale, value.shape))
    if form.in_place:
        return Case([*tensors, *order, 0], {0: want})
    return Case([*tensors, *order, Tensor(tensors[0].dtype, value.shape), 0], {5: want})


@TABLE.case('Addbmm InplaceAddbmm')
def add_batches(r: Random, form) -> Case:
    dtype, (batch, m, k, n) = r.pick(form.types['self']), r.full(4, 4, 9)
    result = (m, n)
    own = r.tensor(dtype, result if form.in_place else r.part(result))
    a, b = r.tensor(dtype, (batch, m, k)), r.tensor(dtype, (batch, k, n))
    beta, alpha = scalars(r, dtype)
    value = beta.value * exact(own) + alpha.value * np.matmul(exact(a), exact(b)).sum(0)
    size = abs(beta.value) * np.abs(exact(own)) + abs(alpha.value) * np.matmul(np.abs(exact(a)), np.abs(exact(b))).sum(0)
    math = r.pick([0, 1, 2]) if dtype == 'f32' else 0
    want = Want(np.broadcast_to(value, result), np.broadcast_to(size, result), 'f16' if math == 2 else '')
    if form.in_place:
        return Case([own, a, b, beta, alpha, math], {0: want})
    return Case([own, a, b, beta, alpha, Tensor(dtype, result), math], {5: want})


@TABLE.case('LinalgCross', broadcasts=True)
def cross(r: Random, form) -> Case:
    dtype, shape = r.pick(form.types['self']), list(r.full(1, 4, 4))
    dim = r.dim(len(shape))
    shape[dim] = 3
    other = r.part(tuple(shape))
    a, b = r.tensor(dtype, shape), r.tensor(dtype, other)
    wide = np.complex128 if dtype == 'c64' else np.float64 if DTYPES[dtype].is_float else np.int64
    x, y = [np.moveaxis(np.broadcast_to(t.data, shape).astype(wide), dim, -1) for t in (a, b)]
    value = np.moveaxis(np.cross(x, y), -1, dim).astype(DTYPES[dtype].logical if not DTYPES[dtype].is_float else wide)
    want = Want(value, 64.0 if dtype in ('f32', 'f64', 'c64') else 0.5)
    return Case([a, b, dim, Tensor(dtype, tuple(shape))], {3: want})


def distances(a: np.ndarray, b: np.ndarray, p: float) -> np.ndarray:
    """Of the last dimension."""
    gaps = np.abs(a - b)
    if gaps.shape[-1] == 0:
        return np.zeros(gaps.shape[:-1])
    if p == 0:
        return (gaps != 0).sum(-1)
    return gaps.max(-1) if np.isinf(p) else (gaps ** p).sum(-1) ** (1 / p)


@TABLE.case('Cdist')
def all_distances(r: Random, form) -> Case:
    dtype, batch, width = r.pick(form.types['x1']), r.full(0, 2, 3), r.int(0, 5)
    p = r.pick([0.0, 1.0, 2.0, 3.0, 0.5, float('inf')])
    a, b = r.tensor(dtype, (*r.part(batch), r.size(1, 6), width)), r.tensor(dtype, (*batch, r.size(1, 6), width))
    x, y = a.data.astype(np.float64), b.data.astype(np.float64)
    value = distances(x[..., :, None, :], y[..., None, :, :], p)
    value = np.broadcast_to(value, (*np.broadcast_shapes(x.shape[:-2], y.shape[:-2]), x.shape[-2], y.shape[-2]))
    return Case([a, b, p, r.pick([0, 1, 2]), Tensor(dtype, value.shape)], {4: value})


@TABLE.case('CdistBackward')
def distance_gradient(r: Random, form) -> Case:
    dtype, batch, width = r.pick(form.types['x1']), r.full(0, 2, 3), r.int(1, 5)
    p = r.pick([0.0, 1.0, 2.0, 3.0, 0.5, 1.5, -1.0])
    a, b = [r.tensor(dtype, (*batch, r.size(1, 6), width)) for _ in range(2)]
    # Rows that are one have no slope.
    if r.chance(0.3):
        rows = min(a.shape[-2], b.shape[-2])
        same = b.data.copy()
        same[..., :rows, :] = a.data[..., :rows, :]
        b = given(same, dtype)
    x, y = a.data.astype(np.float32), b.data.astype(np.float32)
    gaps = (x[..., :, None, :] - y[..., None, :, :]).astype(np.float64)
    far = given(distances(gaps, np.zeros(1), np.inf if p < 0 else p), dtype)
    grad, d = r.tensor(dtype, far.shape), far.data.astype(np.float64)[..., None]
    size, sign = np.abs(gaps), np.sign(gaps)
    with np.errstate(all='ignore'):
        slope = {0.0: 0 * gaps, 1.0: sign, -1.0: sign * (size >= d)}.get(p, np.where((d == 0) | (size == 0), 0, sign * (size / d) ** (p - 1)))
    value = (grad.data.astype(np.float64)[..., None] * slope).sum(-2)
    scale = (np.abs(grad.data.astype(np.float64)[..., None]) * np.abs(slope)).sum(-2)
    return Case([grad, a, b, far, p, Tensor(dtype, a.shape)], {5: Want(value, scale + 0.1, loose=4)})


@TABLE.case('Pdist')
def pair_distances(r: Random, form) -> Case:
    dtype, p = r.pick(form.types['self']), r.pick([0.0, 1.0, 2.0, 3.0, 0.5, float('inf')])
    x = r.tensor(dtype, (r.size(1, 7), r.int(1, 5)))
    first, second = np.triu_indices(x.shape[0], 1)
    data = x.data.astype(np.float64)
    value = distances(data[first], data[second], p)
    return Case([x, p, Tensor(dtype, value.shape)], {2: value})


def regular(r: Random, dtype: str, batch: tuple[int, ...] = ()) -> Tensor:
    """Matrices far from singular."""
    m = r.int(1, 6)
    return given(r.rng.uniform(-1, 1, (*batch, m, m)) + 6 * np.eye(m)[r.rng.permutation(m)], dtype)


@TABLE.case('Inverse')
def inverse(r: Random, form) -> Case:
    dtype = r.pick(form.types['self'])
    x = regular(r, 'f64' if dtype[0] == 'c' else dtype, r.shape(0, 2, 3))
    if dtype[0] == 'c':
        x = given(x.data + 1j * r.array('f64', x.shape, -1, 1), dtype)
    out = r.pick([t for t in form.types['out'] if t[0] == 'c'] if dtype[0] == 'c' else form.types['out'])
    return Case([x, Tensor(out, x.shape)], {1: Want(np.linalg.inv(x.data.astype(np.complex128 if out[0] == 'c' else np.float64)), 1.0, computed=dtype)})


@TABLE.case('Slogdet')
def log_determinant(r: Random, form) -> Case:
    x = regular(r, r.pick(form.types['self']), r.shape(0, 2, 3))
    if r.chance(0.2):
        x = given(np.where(np.arange(x.shape[-1]) == 0, 0, x.data), x.dtype)  # a column of zeros
    sign, size = np.linalg.slogdet(x.data.astype(np.float64))
    outs = [Tensor(x.dtype, x.shape[:-2]), Tensor(x.dtype, x.shape[:-2])]
    return Case([x, *outs], {1: np.asarray(sign), 2: Want(np.asarray(size), 1.0)})


@TABLE.case('LinalgCholesky')
def cholesky(r: Random, form) -> Case:
    """The other triangle is not read."""
    dtype, upper, base = r.pick(form.types['self']), r.chance(), regular(r, 'f64', r.shape(0, 2, 3)).data
    if dtype == 'c64':
        base = base + 1j * r.array('f64', base.shape, -1, 1)
    product = base @ np.conj(np.swapaxes(base, -1, -2)) + (np.eye(base.shape[-1]) if dtype == 'c64' else 0)
    x = product.astype(np.complex64).astype(np.complex128) if dtype == 'c64' else exact(given(product, dtype))
    lower = np.linalg.cholesky(x)
    rubbish = np.triu(np.full(x.shape[-2:], 7.5), 1)
    x = np.triu(x) + rubbish.T if upper else np.tril(x) + rubbish
    value = np.conj(np.swapaxes(lower, -1, -2)) if upper else lower
    return Case([given(x, dtype), upper, Tensor(dtype, x.shape)], {2: Want(value, 8.0, loose=4)})


@TABLE.case('Addmm InplaceAddmm Baddbmm InplaceBaddbmm Addmv')
def addmm(r: Random, form) -> Case:
    dtype, (batch, m, k, n) = r.pick(form.types['self']), r.full(4, 4, 9)
    lead = (batch,) if 'bmm' in form.name else ()
    tail = () if form.name == 'Addmv' else (n,)
    result = (*lead, m, *tail)
    own = result if form.in_place else r.part(result)
    tensors = [r.tensor(dtype, s) for s in (own, (*lead, m, k), (*lead, k, *tail))]
    beta, alpha = scalars(r, dtype)
    return added(form, tensors, beta, alpha, [alpha, beta] if form.name == 'Addmv' else [beta, alpha])


def convolve(x, weight, stride, padding, dilation, groups):
    """[n, c, ...] with [out, c / groups, ...]: one product for each place of the kernel."""
    spatial = x.ndim - 2
    x = np.pad(x, [(0, 0), (0, 0)] + [(p, p) for p in padding])
    sizes = [(x.shape[2 + i] - dilation[i] * (weight.shape[2 + i] - 1) - 1) // stride[i] + 1 for i in range(spatial)]
    n, outs = x.shape[0], weight.shape[0]
    result = np.zeros((n, groups, outs // groups, *sizes))
    grouped = weight.reshape(groups, outs // groups, *weight.shape[1:])
    for place in itertools.product(*map(range, weight.shape[2:])):
        cut = tuple(slice(p * d, p * d + (m - 1) * s + 1, s) for p, d, m, s in zip(place, dilation, sizes, stride))
        part = x[(slice(None), slice(None), *cut)].reshape(n, groups, -1, *sizes)
        result += np.einsum('ngc...,goc->ngo...', part, grouped[(..., *place)])
    return result.reshape(n, outs, *sizes)


def convolve_back(x, weight, stride, padding, dilation, extra, groups):
    """The transpose of that: every element of x spreads a kernel over the result."""
    spatial, n = x.ndim - 2, x.shape[0]
    outs = weight.shape[1] * groups
    full = [(x.shape[2 + i] - 1) * stride[i] + dilation[i] * (weight.shape[2 + i] - 1) + 1 + extra[i]
            for i in range(spatial)]
    result = np.zeros((n, groups, weight.shape[1], *full))
    parts = x.reshape(n, groups, -1, *x.shape[2:])
    grouped = weight.reshape(groups, -1, *weight.shape[1:])
    for place in itertools.product(*map(range, weight.shape[2:])):
        cut = tuple(slice(p * d, p * d + (m - 1) * s + 1, s)
                    for p, d, m, s in zip(place, dilation, x.shape[2:], stride))
        result[(..., *cut)] += np.einsum('ngc...,gco->ngo...', parts, grouped[(..., *place)])
    result = result.reshape(n, outs, *full)
    return result[(..., *(slice(p, f - p) for p, f in zip(padding, full)))]


@TABLE.case('Convolution')
def convolution(r: Random, form) -> Case:
    spatial, dtype = r.int(1, 3), r.pick(form.types['input'])
    format = (NCL, NCHW, NCDHW)[spatial - 1]
    groups, each, outs, back = r.int(1, 2), r.int(1, 3), r.width(1, 3), r.chance(0.4)
    kernel = [r.int(1, 3) for _ in range(spatial)]
    stride, dilation = [[r.int(1, most) for _ in range(spatial)] for most in (2, 3)]
    padding = [r.int(0, k // 2) for k in kernel]
    extra = [r.int(0, max(s, d) - 1) if back else 0 for s, d in zip(stride, dilation)]
    size = [r.size(d * (k - 1) + 1, 9) for k, d in zip(kernel, dilation)]
    x = r.tensor(dtype, (r.int(1, 2), groups * each, *size), format=format)
    shape = (groups * each, outs, *kernel) if back else (groups * outs, each, *kernel)
    weight = r.tensor(dtype, shape, -1, 1, format)
    bias = r.tensor(dtype, (groups * outs,)) if r.chance() else None

    def of(a, b):
        return (convolve_back(a, b, stride, padding, dilation, extra, groups) if back
                else convolve(a, b, stride, padding, dilation, groups))
    a, b = x.data.astype(np.float64), weight.data.astype(np.float64)
    shift = bias.data.astype(np.float64).reshape(-1, *[1] * spatial) if bias else 0
    want = Want(of(a, b) + shift, of(np.abs(a), np.abs(b)) + 1)
    out = Tensor(dtype, want.value.shape, format=format)
    if spatial == 2 and not back and r.chance(0.3):
        padding = [padding[0], padding[0], padding[1], padding[1]]
    return Case([x, weight, bias, stride, padding, dilation, back, extra, groups, out, 0], {9: want})


@TABLE.case('ConvDepthwise2d')
def depthwise(r: Random, form) -> Case:
    dtype, channels, times = r.pick(form.types['self']), r.int(1, 4), r.int(1, 2)
    kernel, stride, dilation = [[r.int(1, 3), r.int(1, 3)] for _ in range(3)]
    padding = [r.int(0, 1), r.int(0, 1)]
    size = [r.size(d * (k - 1) + 1, 9) for k, d in zip(kernel, dilation)]
    x = r.tensor(dtype, (r.int(1, 2), channels, *size), format=NCHW)
    weight = r.tensor(dtype, (channels * times, 1, *kernel), format=NCHW)
    bias = r.tensor(dtype, (channels * times,)) if r.chance() else None
    value, scale = [convolve(f(x.data.astype(np.float64)), f(weight.data.astype(np.float64)), stride, padding,
                             dilation, channels) for f in (np.asarray, np.abs)]
    value = value + (bias.data.astype(np.float64).reshape(-1, 1, 1) if bias else 0)
    out = Tensor(dtype, value.shape, format=NCHW)
    return Case([x, weight, kernel, bias, stride, padding, dilation, out, 0], {7: Want(value, scale + 1)})


@TABLE.case('AddLora')
def chosen_products(r: Random, form) -> Case:
    rows, wide_, inputs, depth, columns = r.size(1, 6), r.int(1, 9), r.int(1, 9), r.int(1, 4), r.int(1, 9)
    weights, layers, factor = r.int(1, 3), r.int(1, 3), r.pick([1.0, 0.5, -2.0])
    offset, layer = r.int(0, wide_), r.int(0, layers - 1)
    y = r.tensor('f16', (rows, offset + columns + wide_ - 1))
    down = r.tensor('f16', (weights, layers, depth, inputs), -1, 1) if r.chance(0.7) else None
    up = r.tensor('f16', (weights, layers, columns, depth if down else inputs), -1, 1)
    x, which = r.tensor('f16', (rows, inputs)), r.tensor('i32', (rows,), -1, weights)
    value = exact(y)
    for row, i in enumerate(which.data):
        if 0 <= i < weights:
            small = exact(down)[i, layer] @ exact(x)[row] if down else exact(x)[row]
            value[row, offset:offset + columns] += factor * (exact(up)[i, layer] @ small)
    return Case([y, x, up, which, down, layer, factor, offset, columns, Tensor('f16', y.shape)], {9: Want(value, 8.0)})


@TABLE.case('Stft', without='shape')
def spectra(r: Random, form) -> Case:
    dtype, length, hop = r.pick(form.types['self']), r.int(1, 24), r.int(1, 9)
    wide, batch, size = r.int(1, length), r.pick([None, r.int(1, 3)]), length + r.int(0, 20)
    x = r.tensor(dtype, (size,) if batch is None else (batch, size), -1, 1)
    window = r.pick([None, r.tensor(dtype, (wide,), -1, 1)])
    complex_ = dtype in ('c64', 'c128')
    normal, onesided, whole = r.chance(), not complex_ and r.chance(), r.chance()
    by, first = np.zeros(length, np.complex128), (length - wide) // 2
    by[first:first + wide] = window.data if window else 1
    rows = np.stack([x.data.reshape(-1, size)[:, at:at + length] * by for at in range(0, size - length + 1, hop)], -1)
    turns = np.exp(-2j * np.pi * np.outer(np.arange(length // 2 + 1 if onesided else length), np.arange(length)) / length)
    out = np.einsum('fn,bnt->bft', turns, rows) / (np.sqrt(length) if normal else 1)
    out = out if batch else out[0]
    wide_type = dtype in ('f64', 'c128')
    result = ('c128' if wide_type else 'c64') if whole else ('f64' if wide_type else 'f32')
    out = out if whole else np.stack([out.real, out.imag], -1)
    return Case([x, window, Tensor(result, out.shape), length, hop, wide, normal, onesided, whole], {2: Want(out, float(length), loose=4)})
