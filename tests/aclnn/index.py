"""Functions that pick and place elements by index, and that put them in order."""
from __future__ import annotations

import numpy as np

from cases import Case, Table, Want
from values import DTYPES, Random, Scalar, Tensor, given

TABLE = Table('index')


def indices(r: Random, form, name: str, shape, size: int, low: int = 0) -> Tensor:
    return r.tensor(r.pick(form.types[name]), shape, low, size - 1)


@TABLE.case('GatherV2 IndexSelect')
def gather_axis(r: Random, form) -> Case:
    x = r.tensor(r.pick(form.types['self']), r.full(1, 4))
    dim = r.dim(len(x.shape))
    shape = r.shape(1, 1) if form.name == 'IndexSelect' else r.shape(0, 2)
    index = indices(r, form, 'index', shape, x.shape[dim])
    value = np.take(x.data, index.data, axis=dim)
    return Case([x, dim, index, Tensor(x.dtype, value.shape)], {3: value})


@TABLE.case('GatherV3')
def gather_v3(r: Random, form) -> Case:
    batch = r.full(0, 2, 3)
    x = r.tensor(r.pick(form.types['self']), batch + r.full(1, 2))
    dim = r.int(len(batch), len(x.shape) - 1)
    index = indices(r, form, 'index', batch + r.full(0, 2), x.shape[dim])
    count = len(batch)
    flat = [np.take(a, i, axis=dim - count) for a, i in zip(
        x.data.reshape((-1, *x.shape[count:])), index.data.reshape((-1, *index.shape[count:])))]
    value = np.stack(flat).reshape((*batch, *flat[0].shape))
    return Case([x, dim, index, count, 0, Tensor(x.dtype, value.shape)], {5: value})


@TABLE.case('Embedding')
def embedding(r: Random, form) -> Case:
    weight = r.tensor(r.pick(form.types['weight']), r.full(2, 2, 9))
    index = indices(r, form, 'indices', r.shape(0, 3), weight.shape[0])
    value = weight.data[index.data]
    return Case([weight, index, Tensor(weight.dtype, value.shape)], {2: value})


def smaller(r: Random, shape) -> tuple[int, ...]:
    return tuple(r.int(1, n) for n in shape)


@TABLE.case('Gather')
def gather(r: Random, form) -> Case:
    x = r.tensor(r.pick(form.types['self']), r.full(1, 4))
    dim = r.dim(len(x.shape))
    shape = list(smaller(r, x.shape))
    shape[dim] = r.int(1, 6)
    index = indices(r, form, 'index', shape, x.shape[dim])
    places = list(np.indices(shape))
    places[dim] = index.data
    return Case([x, dim, index, Tensor(x.dtype, index.shape)], {3: x.data[tuple(places)]})


@TABLE.case('GatherNd')
def gather_nd(r: Random, form) -> Case:
    x, negative = r.tensor(r.pick(form.types['self']), r.full(1, 4)), r.chance()
    depth = r.int(1, len(x.shape))
    rows = r.full(1, 2)
    index = given(np.stack([r.array('i64', rows, -n if negative else 0, n - 1) for n in x.shape[:depth]], -1),
                  r.pick(form.types['indices']))
    value = x.data[tuple(np.moveaxis(index.data, -1, 0))]
    return Case([x, index, negative, Tensor(x.dtype, value.shape)], {3: value})


def scattered(values, index, dim, source, reduction):
    """Element by element, in the order in which they lie."""
    result = values.astype(np.float64) if values.dtype.kind == 'f' else values.astype(np.complex128) if values.dtype.kind == 'c' else values.copy()
    for place in np.ndindex(index.shape):
        at = list(place)
        at[dim] = index[place]
        at = tuple(at)
        item = source[place]
        result[at] = (item if reduction == 0 else result[at] + item if reduction == 1 else result[at] * item)
    return result


def scatter_parts(r: Random, form, unique: bool):
    dtype = r.pick([t for t in form.types['src'] if t != 'bool'])
    x = r.tensor(dtype, r.full(1, 4))
    dim = r.dim(len(x.shape))
    shape = smaller(r, x.shape)
    source = r.tensor(dtype, tuple(n + r.int(0, 1) for n in shape))
    index = indices(r, form, 'index', shape, x.shape[dim])
    if unique:  # which of several writes stays is not documented
        order = np.argsort(r.rng.random(shape[:dim % len(shape)] + (x.shape[dim],) + shape[dim % len(shape) + 1:]),
                           axis=dim)
        index = given(order.take(range(shape[dim]), axis=dim), index.dtype)
    return x, dim, index, source


@TABLE.case('Scatter InplaceScatter')
def scatter(r: Random, form) -> Case:
    reduction = r.int(0, 2)
    x, dim, index, source = scatter_parts(r, form, reduction == 0)
    with np.errstate(all='ignore'):
        want = Want(scattered(x.data, index.data, dim, source.data, reduction), 16.0, loose=6)
    if form.in_place:
        return Case([x, dim, index, source, reduction], {0: want})
    return Case([x, dim, index, source, reduction, Tensor(x.dtype, x.shape)], {5: want})


@TABLE.case('ScatterAdd')
def scatter_add(r: Random, form) -> Case:
    x, dim, index, source = scatter_parts(r, form, False)
    want = Want(scattered(x.data, index.data, dim, source.data, 1), 16.0, loose=6)
    return Case([x, dim, index, source, Tensor(x.dtype, x.shape)], {4: want})


@TABLE.case('ScatterNd')
def scatter_nd(r: Random, form) -> Case:
    x = r.tensor(r.pick(form.types['data']), r.full(1, 4))
    depth = r.int(1, len(x.shape))
    every = r.rng.permutation(int(np.prod(x.shape[:depth])))[:r.int(1, 6)]
    index = given(np.stack(np.unravel_index(every, x.shape[:depth]), -1), r.pick(form.types['indices']))
    updates = r.tensor(x.dtype, (len(every), *x.shape[depth:]))
    value = x.data.copy()
    value[tuple(np.moveaxis(index.data, -1, 0))] = updates.data
    return Case([x, index, updates, Tensor(x.dtype, x.shape)], {3: value})


def along(dim: int, index) -> tuple:
    return (*[slice(None)] * dim, index)


def copied_onto_one(r: Random, form, x: Tensor) -> Case:
    """A tensor without dimensions is a vector of one element."""
    source, index = r.tensor(x.dtype, r.pick([(), (1,)])), given(np.zeros(r.pick([(), (1,)])), r.pick(form.types['index']))
    new = source.data.reshape(())
    if form.name == 'IndexAdd':
        value = np.float64(x.data) + np.float64(new) * 2 if DTYPES[x.dtype].is_float else x.data + new * x.data.dtype.type(2)
        return Case([x, 0, index, source, Scalar(2, 'i64'), Tensor(x.dtype, ())], {5: Want(np.asarray(value), 16.0)})
    return Case([x, r.int(-1, 0), index, source], {0: new}) if form.in_place else Case(
        [x, r.int(-1, 0), index, source, Tensor(x.dtype, ())], {4: new})


@TABLE.case('IndexCopy InplaceIndexCopy IndexAdd')
def index_copy(r: Random, form) -> Case:
    adds = form.name == 'IndexAdd'
    x = r.tensor(r.pick([t for t in form.types['source'] if not adds or t != 'bool']), r.full(1, 4))
    if r.chance(0.1):
        return copied_onto_one(r, form, r.tensor(x.dtype, ()))
    dim = r.dim(len(x.shape))
    axis, count = dim % len(x.shape), r.int(1, x.shape[dim])
    order = r.rng.integers(0, x.shape[dim], count) if adds else r.rng.permutation(x.shape[dim])[:count]
    index = given(order, r.pick(form.types['index']))
    source = r.tensor(x.dtype, (*x.shape[:axis], count, *x.shape[axis + 1:]))
    value = x.data.astype(np.float64) if adds and DTYPES[x.dtype].is_float else x.data.copy()
    if adds:
        alpha = r.int(1, 3)
        for i, at in enumerate(order):
            value[along(axis, at)] += (alpha * source.data[along(axis, i)]).astype(value.dtype)
        scalar = Scalar(alpha, r.pick(['f32', 'i64']))
        return Case([x, dim, index, source, scalar, Tensor(x.dtype, x.shape)], {5: Want(value, 16.0, loose=4)})
    value[along(axis, order)] = source.data
    if form.in_place:
        return Case([x, dim, index, source], {0: value})
    return Case([x, dim, index, source, Tensor(x.dtype, x.shape)], {4: value})


@TABLE.case('IndexFillTensor InplaceIndexFillTensor')
def index_fill(r: Random, form) -> Case:
    x = r.tensor(r.pick(form.types['self']), r.full(1, 4))
    dim, number = r.dim(len(x.shape)), r.int(0, 1 if x.dtype == 'bool' else 9)
    index = [r.int(0, x.shape[dim] - 1) for _ in range(r.int(1, 4))]
    value = x.data.copy()
    value[along(dim % len(x.shape), index)] = number
    arguments = [x, dim, index, Scalar(number, r.pick(['f32', 'i64']))]
    if x.dtype == 'c64' and r.chance():
        value[along(dim % len(x.shape), index)] = number + 2j
        arguments[3] = Scalar(number + 2j, r.pick(['c64', 'c128']))
    if form.in_place:
        return Case(arguments, {0: value})
    return Case([*arguments, Tensor(x.dtype, x.shape)], {4: value})


@TABLE.case('OneHot')
def one_hot(r: Random, form) -> Case:
    dtype, depth = r.pick(form.types['out']), r.int(1, 5)
    x = r.tensor(r.pick(form.types['self']), r.shape(0, 3), 0, depth)
    on, off = r.tensor(dtype, (1,)), r.tensor(dtype, (1,))
    axis = r.int(-1, len(x.shape))
    hot = np.expand_dims(x.data, axis if axis >= 0 else x.data.ndim)
    counter = np.arange(depth).reshape([depth if i == (axis if axis >= 0 else x.data.ndim) else 1
                                        for i in range(x.data.ndim + 1)])
    value = np.where(hot == counter, on.data[0], off.data[0])
    return Case([x, depth, on, off, axis, Tensor(dtype, value.shape)], {5: value})


def ordered(values: np.ndarray, dim: int, descending: bool) -> np.ndarray:
    """Where the elements stand that come in order; equal ones keep theirs. NaN is the largest."""
    if values.ndim == 0:
        return np.zeros((), np.int64)
    if values.dtype.kind == 'f':
        values = np.where(np.isnan(values), np.inf, values)  # no other value is infinite
    key = values.astype(np.float64) if values.dtype.kind in 'fb' else values.astype(object)
    return np.argsort(-key if descending else key, axis=dim, kind='stable').astype(np.int64)


@TABLE.case('Argsort Sort')
def sort(r: Random, form) -> Case:
    x = r.tensor(r.pick(form.types['self']), r.shape(0, 4))
    if DTYPES[x.dtype].is_float and r.chance(0.3):
        x = given(np.where(r.rng.random(x.shape) < 0.2, np.nan, x.data), x.dtype)
    dim, descending = r.dim(len(x.shape)), r.chance()
    where = ordered(x.data, dim, descending)
    if form.name == 'Argsort':
        return Case([x, dim, descending, Tensor(r.pick(form.types['out']), where.shape)], {3: where})
    value = np.take_along_axis(x.data, where, dim) if x.data.ndim else x.data
    outs = [Tensor(x.dtype, value.shape), Tensor(r.pick(form.types['indices']), where.shape)]
    return Case([x, r.chance(), dim, descending, *outs], {4: value, 5: where})


@TABLE.case('Topk')
def topk(r: Random, form) -> Case:
    shape = r.full(1, 4)
    dtype = r.pick([t for t in form.types['self'] if t != 'bool'])
    x = given(r.rng.permutation(int(np.prod(shape))).reshape(shape) % 120, dtype)
    dim, largest = r.dim(len(shape)), r.chance()
    k = r.int(1, shape[dim])
    where = ordered(x.data, dim, largest).take(range(k), axis=dim)
    value = np.take_along_axis(x.data, where, dim)
    outs = [Tensor(x.dtype, value.shape), Tensor(r.pick(form.types['indices']), value.shape)]
    wants = {5: value}
    if len(np.unique(x.data)) == x.data.size:  # which of equal ones are taken is not documented
        wants[6] = where
    return Case([x, k, dim, largest, True, *outs], wants)


@TABLE.case('Kthvalue')
def kth(r: Random, form) -> Case:
    x = r.tensor(r.pick(form.types['self']), r.full(0, 4))
    if DTYPES[x.dtype].is_float and r.chance(0.3):
        x = given(np.where(r.rng.random(x.shape) < 0.2, np.nan, x.data), x.dtype)
    dim, keep = r.dim(len(x.shape)), r.chance()
    k = r.int(1, x.shape[dim] if x.shape else 1)
    where = ordered(x.data, dim, False)
    where = where.take([k - 1], axis=dim) if x.shape else where
    value = np.take_along_axis(x.data, where, dim) if x.shape else x.data
    if x.shape and not keep:
        where, value = where.squeeze(dim), value.squeeze(dim)
    outs = [Tensor(x.dtype, value.shape), Tensor(r.pick(form.types['indices']), where.shape)]
    return Case([x, k, dim, keep, *outs], {4: value, 5: where})


@TABLE.case('EmbeddingBag')
def embedding_bag(r: Random, form) -> Case:
    weight, kind = r.tensor(r.pick(form.types['weight']), (r.int(2, 6), r.int(1, 5)), -2, 2), r.pick(form.types['indices'])
    mode, last, padding, count, bags = r.int(0, 2), r.chance(), r.int(-1, 2), r.int(1, 9), r.int(1, 4)
    index = r.tensor(kind, (count,), 0, weight.shape[0] - 1)
    begin = np.sort(np.array([0, *[r.int(0, count) for _ in range(bags - 1)]]))
    offsets = given(np.append(begin, count) if last else begin, kind)
    factors = r.tensor(weight.dtype, (count,), -2, 2) if mode == 0 and r.chance() else None
    rows = weight.data.astype(np.float64)[index.data] * (factors.data.astype(np.float64)[:, None] if factors else 1)
    value, sizes = np.zeros((bags, weight.shape[1])), np.zeros(bags, np.int64)
    bag_of, where = np.zeros(count, np.int64), np.zeros((bags, weight.shape[1]) if mode == 2 else bags, np.int64)
    for b, (first, end) in enumerate(zip(begin, [*begin[1:], count])):
        bag_of[first:end] = b
        kept = np.arange(first, end)[index.data[first:end] != padding]
        sizes[b] = len(kept)
        if len(kept) and mode == 2:
            value[b], where[b] = rows[kept].max(0), index.data[kept][rows[kept].argmax(0)]
        elif len(kept):
            value[b] = rows[kept].sum(0) / (len(kept) if mode == 1 else 1)
    own = r.pick(form.types['bagSize'])
    outs = [Tensor(weight.dtype, value.shape), Tensor(own, (count,) if mode or r.chance() else (0,)), Tensor(own, (bags,)), Tensor(own, where.shape)]
    wants = {9: Want(value, 20.0, loose=2), 11: sizes, 12: where}
    if outs[1].shape[0]:
        wants[10] = bag_of
    return Case([weight, index, offsets, r.chance(), mode, False, factors, last, padding, *outs], wants)
