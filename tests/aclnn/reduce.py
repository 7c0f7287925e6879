"""Functions that fold dimensions away, or run along one."""
from __future__ import annotations

import numpy as np

from cases import Case, Table, Want
from values import DTYPES, Random, Scalar, Tensor, exact, given

TABLE = Table('reduce')


def wide(array: np.ndarray) -> np.ndarray:
    """DOUBLE for floats, INT64 for integers, which a narrower result wraps around."""
    return array.astype(np.float64) if array.dtype.kind == 'f' else array.astype(np.int64)


def axes(dims: list[int], rank: int) -> tuple[int, ...]:
    """No dims stand for all of them."""
    return tuple(d % rank for d in dims) if dims else tuple(range(rank))


def input_of(r: Random, form, filled: bool = False):
    dtype = r.pick([t for t in form.types['self'] if t[0] != 'c'])
    shape = tuple(r.unusual()) if filled and r.chance(0.15) else r.full(0) if filled else r.shape()
    return r.tensor(dtype, shape), r.dims(len(shape)), r.chance()


def with_nan(r: Random, x: Tensor) -> Tensor:
    """Sometimes a NaN among the floats: the largest and the least of them are NaN then."""
    if DTYPES[x.dtype].is_float and r.chance(0.3):
        return given(np.where(r.rng.random(x.shape) < 0.1, np.nan, x.data), x.dtype)
    return x


def folding(names: str, of, types=lambda r, form, x: x.dtype, filled: bool = True, scale=None):
    """name(self, dims, keep, [dtype,] out), with of(values, axes, keepdims) as the expectation."""
    @TABLE.case(names)
    def case(r: Random, form) -> Case:
        x, dims, keep = input_of(r, form, filled)
        x = with_nan(r, x) if names in ('Amax', 'Amin', 'Any', 'All') else x
        dtype = types(r, form, x)
        values = exact(x.data, dtype) if 'dtype' in form.arguments else x.data
        values = wide(values) if values.dtype != bool or dtype != 'bool' else values
        where = axes(dims, len(x.shape))
        value = np.asarray(of(values, axis=where, keepdims=keep))
        value = whole(r, value) if names == 'ReduceSum' and value.ndim == 0 else value
        size = scale(np.abs(values), axis=where, keepdims=keep) if scale else 0.1
        arguments = [x, dims, keep] + [dtype] * ('dtype' in form.arguments) + [Tensor(dtype, value.shape)]
        return Case(arguments, {len(arguments) - 1: Want(value, size, x.dtype if DTYPES[x.dtype].is_float else '')})


def converted(r: Random, form, x: Tensor) -> str:
    """The dtype argument: self's own, or one that holds more."""
    own = [x.dtype] if x.dtype in form.types['out'] else []
    return r.pick(own * 2 + (['f32', 'f64'] if x.dtype != 'f64' else ['f64']))


def truths(r: Random, form, x: Tensor) -> str:
    return r.pick([t for t in ('bool', 'bool', 'u8') if t in form.types['out']])


def mean(values, **how):
    return np.mean(values.astype(np.float64), **how)


def floats(r: Random, form, x: Tensor) -> str:
    return x.dtype if DTYPES[x.dtype].is_float else r.pick(['f32', 'f64'])


def log_sum_exp(values, **how):
    return np.log(np.sum(np.exp(values), **how))


folding('ReduceSum', lambda v, **how: np.any(v, **how) if v.dtype == bool else np.sum(v, **how), converted,
        filled=False, scale=np.sum)
folding('Mean', mean, lambda r, form, x: x.dtype if DTYPES[x.dtype].is_float else r.pick(['f32', 'f64']),
        scale=mean)
folding('Amax', np.max)
folding('Amin', np.min)
folding('All', np.all, truths, filled=False)
folding('Any', np.any, truths, filled=False)
folding('LogSumExp', log_sum_exp, floats)


def whole(r: Random, value) -> np.ndarray:
    """The result of folding everything: without dimensions, or of the shape [1] that the pages name."""
    return np.asarray(value).reshape(r.pick([(), (1,)]))


@TABLE.case('Trace')
def trace(r: Random, form) -> Case:
    dtype = r.pick([t for t in form.types['self'] if t[0] != 'c'])
    x = r.tensor(dtype, r.full(2, 2, 20))
    to, values = dtype if DTYPES[dtype].is_float else 'i64', wide(x.data)
    return Case([x, Tensor(to, ())], {1: Want(np.asarray(np.trace(values)), np.trace(np.abs(values)))})


@TABLE.case('Max Min')
def extreme(r: Random, form) -> Case:
    x = with_nan(r, input_of(r, form, filled=True)[0])
    value = whole(r, (np.max if form.name == 'Max' else np.min)(x.data))
    return Case([x, Tensor(x.dtype, value.shape)], {1: value})


@TABLE.case('Prod')
def prod(r: Random, form) -> Case:
    x = r.tensor(r.pick([t for t in form.types['self'] if t[0] != 'c']), r.full(0, 3, 3), -2, 2)
    dtype = converted(r, form, x)
    value = whole(r, np.prod(wide(exact(x.data, dtype))))
    return Case([x, dtype, Tensor(dtype, value.shape)], {2: Want(value, computed=dtype, loose=4)})


@TABLE.case('ProdDim')
def prod_dim(r: Random, form) -> Case:
    x = r.tensor(r.pick([t for t in form.types['self'] if t[0] != 'c']), r.full(1), -2, 2)
    dtype, dim, keep = converted(r, form, x), r.dim(len(x.shape)), r.chance()
    value = np.prod(wide(exact(x.data, dtype)), axis=dim, keepdims=keep)
    return Case([x, dim, keep, dtype, Tensor(dtype, value.shape)], {4: Want(value, computed=dtype, loose=4)})


def norm_of(values: np.ndarray, p: float, where, keep: bool) -> np.ndarray:
    size = np.abs(values.astype(np.float64))
    if np.isinf(p):
        return (np.max if p > 0 else np.min)(size, axis=where, keepdims=keep)
    if p == 0:
        return np.sum(size != 0, axis=where, keepdims=keep)
    return np.sum(size ** p, axis=where, keepdims=keep) ** (1 / p)


@TABLE.case('Norm')
def norm(r: Random, form) -> Case:
    x, dims, keep = input_of(r, form, filled=True)
    p = r.pick([None, 0, 1, 2, 3, np.inf, -np.inf])
    value = norm_of(x.data, 2 if p is None else p, axes(dims, len(x.shape)), keep)
    scalar = None if p is None else Scalar(p, 'f32')
    return Case([x, scalar, dims, keep, Tensor(x.dtype, value.shape)], {4: Want(value, loose=2)})


@TABLE.case('LinalgVectorNorm')
def vector_norm(r: Random, form) -> Case:
    x, dims, keep = input_of(r, form, filled=True)
    p, dtype = r.pick([0, 1, 2, 3]), r.pick([x.dtype, 'f32']) if x.dtype in ('f16', 'bf16') else x.dtype
    value = norm_of(x.data, p, axes(dims, len(x.shape)), keep)
    dims = dims if dims or r.chance() else None
    return Case([x, Scalar(p, 'f32'), dims, keep, dtype, Tensor(dtype, value.shape)], {5: Want(value, loose=2)})


@TABLE.case('VarCorrection Std')
def variance(r: Random, form) -> Case:
    x, dims, keep = input_of(r, form, filled=True)
    correction, where = r.int(0, 1), axes(dims, len(x.shape))
    dims = dims if dims or r.chance() else None
    with np.errstate(all='ignore'):
        count = int(np.prod([x.shape[a] for a in where], dtype=int)) - correction
        middle = np.mean(x.data.astype(np.float64), axis=where, keepdims=True)
        value = np.sum((x.data - middle) ** 2, axis=where, keepdims=keep) / np.float64(max(count, 0))
        value = np.sqrt(value) if form.name.startswith('Std') else value
    return Case([x, dims, correction, keep, Tensor(x.dtype, value.shape)], {4: Want(value, loose=2)})


def sums_of_complex(r: Random, form) -> Case:
    x = r.tensor(r.pick(['c64', 'c128']), r.full(1, 4, 5))
    data = x.data.astype(np.complex128)
    if form.name == 'Cumsum':
        dim = r.dim(len(x.shape))
        return Case([x, dim, x.dtype, Tensor(x.dtype, x.shape)], {3: Want(np.cumsum(data, axis=dim), 40.0)})
    dims, keep = r.dims(len(x.shape)), r.chance()
    value = np.asarray((np.sum if form.name == 'ReduceSum' else np.mean)(data, axis=axes(dims, len(x.shape)), keepdims=keep))
    return Case([x, dims, keep, x.dtype, Tensor(x.dtype, value.shape)], {4: Want(value, 4.0 * data.size)})


@TABLE.case('VarMean StdMeanCorrection')
def variance_and_mean(r: Random, form) -> Case:
    case = variance(r, form)
    x, dims, correction, keep, out = case.arguments
    mean = np.mean(wide(x.data), axis=axes(dims, len(x.shape)), keepdims=keep)
    return Case([*case.arguments, Tensor(x.dtype, out.shape)], {4: case.wants[4], 5: Want(mean, 4.0)})


@TABLE.case('Aminmax')
def both_extremes(r: Random, form) -> Case:
    x, dims, keep = input_of(r, form, filled=True)
    x = with_nan(r, x)
    least, largest = [np.asarray(of(x.data, axis=axes(dims, len(x.shape)), keepdims=keep)) for of in (np.min, np.max)]
    dims = dims if dims or r.chance() else None
    outs = [Tensor(x.dtype, least.shape), Tensor(x.dtype, least.shape)]
    return Case([x, dims, keep, *outs], {3: least, 4: largest})


@TABLE.case('AminmaxDim')
def both_extremes_along(r: Random, form) -> Case:
    x, dim, keep = with_nan(r, r.tensor(r.pick(form.types['self']), r.full(0))), 0, r.chance()
    dim = r.dim(len(x.shape))
    least, largest = [np.asarray(of(x.data, axis=dim, keepdims=keep)) if x.shape else x.data for of in (np.min, np.max)]
    return Case([x, dim, keep, Tensor(x.dtype, least.shape), Tensor(x.dtype, least.shape)], {3: least, 4: largest})


@TABLE.case('AminmaxAll')
def both_extremes_of_all(r: Random, form) -> Case:
    x = with_nan(r, input_of(r, form, filled=True)[0])
    least, largest = whole(r, np.min(x.data)), whole(r, np.max(x.data))
    return Case([x, Tensor(x.dtype, least.shape), Tensor(x.dtype, largest.shape)], {1: least, 2: largest})


@TABLE.case('Bincount', without='shape')  # there may be more counts than are needed
def bincount(r: Random, form) -> Case:
    n, most = r.int(0, 12), r.int(0, 6)
    x = r.tensor(r.pick(form.types['self']), (n,), 0, most)
    weights = r.tensor(r.pick(form.types['weights']), (n,)) if r.chance() else None
    length = r.int(0, 8)
    size = max(length, int(x.data.astype(np.int64).max(initial=-1)) + 1) + r.int(0, 2)
    of_each = np.ones(n) if weights is None else weights.data.astype(np.float64)
    value, scale = [np.bincount(x.data.astype(np.int64), w, size) for w in (of_each, np.abs(of_each))]
    return Case([x, weights, length, Tensor(r.pick(form.types['out']), (size,))], {3: Want(value, scale)})


@TABLE.case('IsInScalarTensor IsInTensorScalar')
def is_in(r: Random, form) -> Case:
    inside = 'testElements' if form.name == 'IsInScalarTensor' else 'element'
    x = r.tensor(r.pick(form.types[inside]), r.shape(), -2, 2)
    x = given(np.round(x.data), x.dtype)
    number, invert = r.int(0, 2), r.chance()
    same = x.data == number
    flags, scalar = [r.chance(), invert], Scalar(number, r.pick(['f32', 'f64', 'i32', 'i64']))
    if form.name == 'IsInTensorScalar':
        return Case([x, scalar, *flags, Tensor('bool', x.shape)], {4: same != invert})
    value = whole(r, same.any() != invert)
    return Case([scalar, x, *flags, Tensor('bool', value.shape)], {4: value})


@TABLE.case('Cummax Cummin')
def running_extreme(r: Random, form) -> Case:
    x = with_nan(r, r.tensor(r.pick(form.types['self']), r.shape(), -2, 2))
    if r.chance():  # so that some are equal
        x = given(np.round(x.data), x.dtype)
    dim = r.dim(len(x.shape))
    lines = np.moveaxis(x.data, dim, 0) if x.shape else x.data.reshape(1)
    value, where = np.array(lines), np.zeros(lines.shape, np.int64)
    for k in range(1, len(lines)):
        best, new = value[k - 1], lines[k]
        better = np.isnan(new) | (~np.isnan(best) & (new >= best if form.name == 'Cummax' else new <= best))
        value[k], where[k] = np.where(better, new, best), np.where(better, k, where[k - 1])
    value, where = [np.moveaxis(a, 0, dim) if x.shape else a.reshape(()) for a in (value, where)]
    outs = [Tensor(x.dtype, x.shape), Tensor(r.pick(form.types['indicesOut']), x.shape)]
    return Case([x, dim, *outs], {2: value, 3: where})


@TABLE.case('InplaceCumprod')
def cumulative_in_place(r: Random, form) -> Case:
    x = r.tensor(r.pick(form.types['input']), r.shape(1, 4, 5), -3, 3)
    dim = r.dim(len(x.shape))
    values = x.data.astype(np.complex128) if x.dtype == 'c64' else wide(x.data)
    return Case([x, Scalar(dim, 'i64')], {0: Want(np.cumprod(values, axis=dim), loose=8)})


@TABLE.case('ReduceNansum')
def sum_of_numbers(r: Random, form) -> Case:
    x, dims, keep = input_of(r, form)
    x = with_nan(r, x)
    dtype = converted(r, form, x)
    values = wide(exact(x.data, dtype))
    value, size = [np.asarray(np.nansum(v, axis=axes(dims, len(x.shape)), keepdims=keep)) for v in (values, np.abs(values))]
    value = np.asarray(value != 0) if dtype == 'bool' else value
    return Case([x, dims, keep, dtype, Tensor(dtype, value.shape)], {4: Want(value, size, x.dtype if DTYPES[x.dtype].is_float else '')})


@TABLE.case('ArgMax ArgMin MaxDim MinDim')
def extreme_along(r: Random, form) -> Case:
    x = with_nan(r, r.tensor(r.pick(form.types['self']), r.full(1)))
    dim, keep = r.dim(len(x.shape)), r.chance()
    largest = 'Max' in form.name
    where = np.expand_dims((np.argmax if largest else np.argmin)(x.data, axis=dim), dim)
    value = np.take_along_axis(x.data, where, dim)
    where, value = (where, value) if keep else (where.squeeze(dim), value.squeeze(dim))
    if form.name.startswith('Arg'):
        return Case([x, dim, keep, Tensor(r.pick(form.types['out']), where.shape)], {3: where})
    outs = [Tensor(x.dtype, value.shape), Tensor(r.pick(form.types['indices']), where.shape)]
    return Case([x, dim, keep, *outs], {3: value, 4: where})


@TABLE.case('Cumsum Cumprod')
def cumulative(r: Random, form) -> Case:
    first = 'input' if form.name == 'Cumprod' else 'self'
    x = r.tensor(r.pick([t for t in form.types[first] if t != 'bool' and t[0] != 'c']), r.shape(1, 4, 5), -3, 3)
    dtype, dim = converted(r, form, x), r.dim(len(x.shape))
    values = wide(exact(x.data, dtype))
    if form.name == 'Cumsum':
        want = Want(np.cumsum(values, axis=dim), np.cumsum(np.abs(values), axis=dim), loose=2)
        return Case([x, dim, dtype, Tensor(dtype, x.shape)], {3: want})
    want = Want(np.cumprod(values, axis=dim), computed=dtype, loose=8)
    return Case([x, Scalar(dim, 'i64'), dtype, Tensor(dtype, x.shape)], {3: want})


def products_of_complex(r: Random, form) -> Case:
    x = r.tensor('c64', r.full(1, 4, 4), -2, 2)
    data, dim, keep = x.data.astype(np.complex128), r.dim(len(x.shape)), r.chance()
    if form.name == 'Cumprod':
        value = np.cumprod(data, axis=dim)
        return Case([x, Scalar(dim, 'i64'), 'c64', Tensor('c64', x.shape)], {3: Want(value, np.abs(value), loose=4)})
    value = whole(r, np.prod(data)) if form.name == 'Prod' else np.asarray(np.prod(data, axis=dim, keepdims=keep))
    arguments = [x] + [dim, keep] * (form.name == 'ProdDim') + ['c64', Tensor('c64', value.shape)]
    return Case(arguments, {len(arguments) - 1: Want(value, np.abs(value), loose=4)})


def sizes_of_complex(r: Random, form) -> Case:
    x, keep = r.tensor('c64', r.full(0)), r.chance()
    x = given(np.where(r.rng.random(x.shape) < 0.2, 0, x.data), 'c64')
    dims = r.dims(len(x.shape))
    where = axes(dims, len(x.shape))
    if form.name in ('All', 'Any'):
        value = np.asarray((np.all if form.name == 'All' else np.any)(x.data != 0, axis=where, keepdims=keep))
        return Case([x, dims, keep, Tensor('bool', value.shape)], {3: value})
    p = r.pick([0, 1, 2, 3])
    value = np.asarray(norm_of(np.abs(x.data.astype(np.complex128)), p, where, keep))
    dtype = ['f32'] * (form.name == 'LinalgVectorNorm')
    arguments = [x, Scalar(p, 'f32'), dims, keep, *dtype, Tensor('f32', value.shape)]
    return Case(arguments, {len(arguments) - 1: Want(value, loose=4)})


def log_sums_of_complex(r: Random, form) -> Case:
    x, keep = r.tensor('c64', r.full(1, 4, 5), -3, 3), r.chance()
    shift = r.pick([0, 0, 200, -200])  # so that the powers alone overflow
    x, dims = given(x.data + shift, 'c64'), r.dims(len(x.shape))
    value = np.log(np.asarray(np.sum(np.exp(x.data.astype(np.complex128) - shift), axis=axes(dims, len(x.shape)), keepdims=keep)))
    return Case([x, dims, keep, Tensor('c64', value.shape)], {3: Want(value + shift, 200.0, loose=2)})


for _name, _complex in [('LogSumExp', log_sums_of_complex)] + [(n, sums_of_complex) for n in ('ReduceSum', 'Mean', 'Cumsum')] + [
        (n, products_of_complex) for n in ('Prod', 'ProdDim', 'Cumprod')] + [
        (n, sizes_of_complex) for n in ('All', 'Any', 'Norm', 'LinalgVectorNorm')]:
    def _either(r: Random, form, real=TABLE.rows[_name].make, complex=_complex) -> Case:
        return complex(r, form) if r.chance(0.15) else real(r, form)
    TABLE.rows[_name].make = _either


@TABLE.case('Histc')
def histogram(r: Random, form) -> Case:
    dtype, bins = r.pick(form.types['self']), r.int(1, 8)
    x = r.tensor(dtype, r.full(1, 2, 10), 0 if dtype[0] == 'u' else -8, 8)
    low, high = r.pick([(0, 0), (0, 4), (-2, 6)])
    least, most = (low, high) if low != high else (x.data.min(), x.data.max())
    least, most = (least - 1, most + 1) if least == most else (least, most)
    value, _ = np.histogram(wide(x.data), bins, (float(least), float(most)))
    # A number on the border of two bins may fall to either by rounding.
    edges = np.linspace(float(least), float(most), bins + 1)
    if np.min(np.abs(np.subtract.outer(wide(x.data).ravel(), edges[1:-1])), initial=1) < 1e-6 and bins not in (1, 2, 4, 8):
        return histogram(r, form)
    scalar = 'i64' if not DTYPES[dtype].is_float else 'f32'
    return Case([x, bins, Scalar(low, scalar), Scalar(high, scalar), Tensor(dtype, (bins,))], {4: value.astype(DTYPES[dtype].logical)})
