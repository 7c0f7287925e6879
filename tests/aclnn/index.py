"""Functions that pick and place elements by index, and that put them in order."""
from __future__ import annotations

import numpy as np

from cases import Case, Table, Want
from values import DTYPES, Random, Scalar, Tensor, exact, given

TABLE = Table('index')


def indices(r: Random, form, name: str, shape, size: int, low: int = 0) -> Tensor:
    return r.tensor(r.pick(form.types[name]), shape, low, size - 1)


@TABLE.case('GatherV2 IndexSelect')
def gather_axis(r: Random, form) -> Case:
    x = r.tensor(r.pick(form.types['self']), r.full(1, 4))
    dim = r.dim(len(x.shape))
    shape = r.shape(1, 1) if form.name == 'IndexSelect' else r.shape(0, 2)
    if form.name == 'IndexSelect' and r.chance(0.1):
        shape = ()  # leaves a dimension of one element
    index = indices(r, form, 'index', shape, x.shape[dim])
    value = np.take(x.data, index.data if shape or form.name != 'IndexSelect' else index.data.reshape(1), axis=dim)
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
    dtype = r.pick([t for t in form.types.get('src', form.types['self']) if t != 'bool'])
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


@TABLE.case('ScatterValue InplaceScatterValue')
def scatter_value(r: Random, form) -> Case:
    reduction = r.int(0, 2)
    x, dim, index, _ = scatter_parts(r, form, reduction == 0)
    number = r.int(0, 1 if x.dtype == 'bool' else 3)
    source = np.full(index.shape, number).astype(x.data.dtype)
    with np.errstate(all='ignore'):
        want = Want(scattered(x.data, index.data, dim, source, reduction), 16.0, loose=6)
    value = Scalar(number, r.pick(['f32', 'i64']))
    if form.in_place:
        return Case([x, dim, index, value, reduction], {0: want})
    return Case([x, dim, index, value, reduction, Tensor(x.dtype, x.shape)], {5: want})


@TABLE.case('Take')
def take(r: Random, form) -> Case:
    x = r.tensor(r.pick(form.types['self']), r.full(0, 4))
    index = indices(r, form, 'index', r.shape(), x.data.size, -x.data.size)
    value = np.take(x.data, index.data)
    return Case([x, index, Tensor(x.dtype, value.shape)], {2: value})


def advanced(r: Random, form, different: bool = False) -> tuple[Tensor, list[Tensor], tuple]:
    """A tensor, the list of its indices with stand-ins for dimensions without one, and numpy's index."""
    x, whole = r.tensor(r.pick(form.types['self']), r.full(1, 4)), r.full(0, 2)
    count = r.int(1, len(x.shape))
    named = [d < count and (d == count - 1 or r.chance()) for d in range(count)]
    index_type = r.pick(['i32', 'i64'])
    # A mask that selects nothing, beside others that broadcast to it; writing cannot tell it from stand-ins that are whole
    # numbers, too.
    none = r.chance(0.3) and (DTYPES[x.dtype].is_float or not different)
    given_, plain = [], []
    for d, has_index in enumerate(named):
        if has_index:
            shape = whole if different else r.part(whole)
            if none:
                shape = (0,) if d == count - 1 else r.pick([(1,), (0,)])
            low = 0 if different else -x.shape[d]
            given_.append(r.tensor(index_type, shape, low, x.shape[d] - 1))
            plain.append(given_[-1].data)
        else:
            given_.append(Tensor(x.dtype, (0,), np.zeros(0, DTYPES[x.dtype].logical)))
            plain.append(slice(None))
    return x, given_, tuple(plain)


@TABLE.case('Index', without='shape')
def index_of(r: Random, form) -> Case:
    x, given_, plain = advanced(r, form)
    value = x.data[plain]
    return Case([x, given_, Tensor(x.dtype, value.shape)], {2: value})


@TABLE.case('IndexPutImpl')
def index_put(r: Random, form) -> Case:
    add = r.chance()
    x, given_, plain = advanced(r, form, different=True)
    if x.dtype == 'bool':
        add = False
    value, picked = x.data.copy(), x.data[plain].shape
    if not add:  # which of two that go to one place is last is not said
        places = np.arange(value.size).reshape(value.shape)[plain]
        if len(np.unique(places)) != places.size:
            return index_put(r, form)
    updates = r.tensor(x.dtype, r.part(picked), 0, 2)
    with np.errstate(all='ignore'):
        if add:
            wide_ = value.astype(np.float64) if DTYPES[x.dtype].is_float else value
            np.add.at(wide_, plain, updates.data)
            return Case([x, given_, updates, True, r.chance()], {0: Want(wide_, 16.0, loose=6)})
        value[plain] = updates.data
    return Case([x, given_, updates, False, r.chance()], {0: value})


@TABLE.case('ScatterAdd')
def scatter_add(r: Random, form) -> Case:
    x, dim, index, source = scatter_parts(r, form, False)
    want = Want(scattered(x.data, index.data, dim, source.data, 1), 16.0, loose=6)
    return Case([x, dim, index, source, Tensor(x.dtype, x.shape)], {4: want})


def reduced(values, index, dim, source, reduction: int, with_self: bool):
    """scattered() where the first that comes to a place replaces what is there, unless that counts too."""
    result = values.astype(np.float64) if values.dtype.kind == 'f' else values.astype(np.int64)
    seen = np.full(values.shape, int(with_self))
    combine = {0: lambda a, b: b, 1: np.add, 2: np.multiply, 3: np.maximum, 4: np.minimum, 5: np.add}[reduction]
    for place in np.ndindex(index.shape):
        at = tuple(index[place] if d == dim % index.ndim else n for d, n in enumerate(place))
        item = result.dtype.type(source[place])
        result[at] = combine(result[at], item) if seen[at] else item
        seen[at] += 1
    if reduction == 5:
        result = (np.floor_divide if result.dtype.kind == 'i' else np.divide)(result, np.maximum(seen, 1))
    return result


@TABLE.case('ScatterReduce InplaceScatterReduce')
def scatter_reduce(r: Random, form) -> Case:
    reduction, with_self = r.int(0, 5), r.chance()
    x, dim, index, source = scatter_parts(r, form, reduction == 0)
    with np.errstate(all='ignore'):
        want = Want(reduced(x.data, index.data, dim, source.data, reduction, with_self), 16.0, loose=6)
    if form.in_place:
        return Case([x, dim, index, source, reduction, with_self], {0: want})
    return Case([x, dim, index, source, reduction, with_self, Tensor(x.dtype, x.shape)], {6: want})


@TABLE.case('InplaceMaskedScatter')
def masked_scatter(r: Random, form) -> Case:
    shape = r.shape()
    x, mask = r.tensor(r.pick(form.types['self']), shape), r.tensor(r.pick(form.types['mask']), r.part(shape), 0, 1)
    chosen = np.broadcast_to(mask.data, shape) != 0
    source = r.tensor(x.dtype, (int(chosen.sum()) + r.int(0, 3),))
    if source.shape[0] % 2 == 0 and r.chance():
        source = given(source.data.reshape(2, -1), x.dtype)
    value = x.data.copy()
    value[chosen] = source.data.ravel()[:chosen.sum()]
    return Case([x, mask, source], {0: value})


@TABLE.case('InplaceScatterUpdate')
def scatter_update(r: Random, form) -> Case:
    x = r.tensor(r.pick(form.types['self']), r.full(2, 4))
    axis, members = r.int(1, len(x.shape) - 1), r.int(0, x.shape[0])
    size = x.shape[axis]
    length = r.int(0, size)
    source = r.tensor(x.dtype, tuple(members if d == 0 else length if d == axis else n for d, n in enumerate(x.shape)))
    places, value = r.rng.integers(0, size - length + 1, members), x.data.copy()
    for i, place in enumerate(places):
        np.moveaxis(value[i], axis - 1, 0)[place:place + length] = np.moveaxis(source.data[i], axis - 1, 0)
    return Case([x, given(places, r.pick(form.types['indices'])), source, axis - r.pick([0, len(x.shape)])], {0: value})


@TABLE.case('InplacePut')
def put(r: Random, form) -> Case:
    x, add = r.tensor(r.pick(form.types['self']), r.full(0, 4)), r.chance()
    count = r.int(0, x.data.size)
    places = r.rng.integers(0, x.data.size, count) if add else r.rng.permutation(x.data.size)[:count]
    places = np.where(r.rng.random(count) < 0.3, places - x.data.size, places)
    index = given(places.reshape(r.pick([(count,), (1, count)])), r.pick(form.types['index']))
    source = r.tensor(x.dtype, r.pick([(count,), (count, 1)]))
    flat = x.data.ravel().astype(np.float64 if add and DTYPES[x.dtype].is_float else x.data.dtype)
    if add:
        np.add.at(flat, places, source.data.ravel())
        return Case([x, index, source, True], {0: Want(flat.reshape(x.shape), 16.0, loose=6)})
    flat[places] = source.data.ravel()
    return Case([x, index, source, False], {0: flat.reshape(x.shape)})


@TABLE.case('ScatterNd')
def scatter_nd(r: Random, form) -> Case:
    return scatter_nd_of(r, form, form.types['data'])


def scatter_nd_of(r: Random, form, types) -> Case:
    x = r.tensor(r.pick(types), r.full(1, 4))
    depth = r.int(1, len(x.shape))
    every = r.rng.permutation(int(np.prod(x.shape[:depth])))[:r.int(1, 6)]
    index = given(np.stack(np.unravel_index(every, x.shape[:depth]), -1), r.pick(form.types['indices']))
    updates = r.tensor(x.dtype, (len(every), *x.shape[depth:]))
    value = x.data.copy()
    value[tuple(np.moveaxis(index.data, -1, 0))] = updates.data
    return Case([x, index, updates, Tensor(x.dtype, x.shape)], {3: value})


@TABLE.case('Nonzero NonzeroV2')
def nonzero(r: Random, form) -> Case:
    x = r.tensor(r.pick(form.types['self']), r.shape(), 0, r.pick([1, 9]))
    if x.data.size and r.chance():
        x = given(np.where(r.rng.random(x.shape) < 0.8, 0, x.data), x.dtype)
    places = np.argwhere(x.data).reshape(np.count_nonzero(x.data), len(x.shape))
    largest = (x.data.size, len(x.shape))
    if form.name == 'NonzeroV2':
        places, largest = places.T, largest[::-1]
    return Case([x, Tensor('i64', largest)], {1: Want(places, told=True)})


@TABLE.case('MaskedSelect', broadcasts=True)
def masked_select(r: Random, form) -> Case:
    shape = r.shape()
    x, mask = r.tensor(r.pick(form.types['self']), r.part(shape)), r.tensor(r.pick(form.types['mask']), r.part(shape), 0, 1)
    whole = np.broadcast_shapes(x.shape, mask.shape)
    value = np.broadcast_to(x.data, whole)[np.broadcast_to(mask.data, whole) != 0]
    return Case([x, mask, Tensor(x.dtype, (int(np.prod(whole, dtype=np.int64)),))], {2: Want(value, told=True)})


@TABLE.case('Unique Unique2', without='shape')  # those of what is not asked for do not matter
def unique(r: Random, form) -> Case:
    dtype, inverse, counts = r.pick(form.types['self']), r.chance(), r.chance()
    x = r.tensor(dtype, r.shape(), 0, r.pick([2, 30]))
    if DTYPES[dtype].is_float and x.data.size and r.chance(0.3):
        x = given(np.where(r.rng.random(x.shape) < 0.2, np.nan, x.data), dtype)
    flat, n = x.data.ravel(), x.data.size
    order = np.argsort(flat, kind='stable')
    fresh = np.ones(n, bool)
    fresh[1:] = flat[order][1:] != flat[order][:-1]  # each NaN, too
    value, group = flat[order][fresh], np.zeros(n, np.int64)
    group[order] = np.cumsum(fresh) - 1
    times = np.bincount(group, minlength=len(value))
    outs = [Tensor(dtype, (n,)), Tensor('i64', x.shape if inverse else (0,))]
    wants = [Want(value, told=True), np.reshape(group, x.shape) if inverse else np.zeros(0, np.int64)]
    flags = [r.chance(), inverse]
    if form.name == 'Unique2':
        outs.append(Tensor('i64', (n if counts else 0,)))
        wants.append(Want(times, told=True) if counts else np.zeros(0, np.int64))
        flags.append(counts)
    if inverse:  # which must lie packed
        wants[1] = Want(wants[1], told=True)
    first = 1 + len(flags)
    return Case([x, *flags, *outs], {first + i: w for i, w in enumerate(wants)})


@TABLE.case('UniqueDim UniqueConsecutive', without='shape')  # those of what is not asked for do not matter
def unique_slices(r: Random, form) -> Case:
    dtype, inverse, counts, flat = r.pick(form.types['self']), r.chance(), r.chance(), False
    x = r.tensor(dtype, r.shape(0, 4, 4), 0, r.pick([1, 2]))
    x = given(np.round(x.data), dtype)
    if DTYPES[dtype].is_float and x.data.size and r.chance(0.3):
        x = given(np.where(r.rng.random(x.shape) < 0.1, np.nan, x.data), dtype)
    if dtype == 'u64':  # half of them larger than every INT64
        x = given(np.where(r.rng.random(x.shape) < 0.5, x.data, x.data + np.uint64(1 << 63)), dtype)
    dim = r.dim(len(x.shape))
    if form.name == 'UniqueConsecutive' and r.chance():
        dim = 1000
    flat = dim == 1000 or not x.shape
    whole = x.data.reshape(-1) if flat else x.data
    axis = 0 if flat else dim
    n = whole.shape[axis]
    if n and not whole.size:  # slices without elements are refused
        return unique_slices(r, form)
    rows = np.moveaxis(whole, axis, 0).reshape(n, -1 if n else 0)
    order = np.arange(n)
    if form.name == 'UniqueDim' and n:
        keys = np.where(np.isnan(rows), np.inf, rows) if rows.dtype.kind == 'f' else rows
        order = np.lexsort(keys.T[::-1])  # the last key is the first one to look at
    fresh = np.ones(n, bool)
    fresh[1:] = (rows[order][1:] != rows[order][:-1]).any(1)
    value, group = np.take(whole, order[fresh], axis), np.zeros(n, np.int64)
    group[order] = np.cumsum(fresh) - 1
    times = np.bincount(group, minlength=int(fresh.sum()))
    group = group.reshape(x.shape) if dim == 1000 else group
    outs = [Tensor(dtype, whole.shape), Tensor('i64', group.shape if inverse else (0,))]
    wants = [Want(value, told=True), Want(group, told=True) if inverse else np.zeros(0, np.int64)]
    if form.name == 'UniqueDim':
        outs.append(Tensor('i64', (n,)))
        wants.append(Want(times, told=True))
        flags = [True, inverse, dim]
    else:
        outs.append(Tensor('i64', (n if counts else 0,)))
        wants.append(Want(times, told=True) if counts else np.zeros(0, np.int64))
        flags = [inverse, counts, dim]
    return Case([x, *flags, *outs], {4 + i: w for i, w in enumerate(wants)})


@TABLE.case('ScatterNdUpdate')
def scatter_nd_update(r: Random, form) -> Case:
    case = scatter_nd_of(r, form, form.types['self' if 'self' in form.types else 'var'])
    return Case(case.arguments[:3], {0: case.wants[3]})


def along(dim: int, index) -> tuple:
    return (*[slice(None)] * dim, index)


def added(form, arguments: list, want: Want) -> Case:
    arguments = [*arguments, *[0] * form.name.endswith('V2'), Tensor(arguments[0].dtype, arguments[0].shape)]
    return Case(arguments, {len(arguments) - 1: want})


def copied_onto_one(r: Random, form, x: Tensor) -> Case:
    """A tensor without dimensions is a vector of one element."""
    source, index = r.tensor(x.dtype, r.pick([(), (1,)])), given(np.zeros(r.pick([(), (1,)])), r.pick(form.types['index']))
    new = source.data.reshape(())
    if form.name.startswith('IndexAdd'):
        value = np.float64(x.data) + np.float64(new) * 2 if DTYPES[x.dtype].is_float else x.data + new * x.data.dtype.type(2)
        return added(form, [x, 0, index, source, Scalar(2, 'i64')], Want(np.asarray(value), 16.0))
    return Case([x, r.int(-1, 0), index, source], {0: new}) if form.in_place else Case(
        [x, r.int(-1, 0), index, source, Tensor(x.dtype, ())], {4: new})


@TABLE.case('IndexCopy InplaceIndexCopy IndexAdd IndexAddV2')
def index_copy(r: Random, form) -> Case:
    adds = form.name.startswith('IndexAdd')
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
        if form.name.endswith('V2') and count % 2 == 0 and r.chance():  # an index of two dimensions
            index = given(index.data.reshape(2, -1), index.dtype)
            source = given(source.data.reshape(*x.shape[:axis], 2, -1, *x.shape[axis + 1:]), x.dtype)
        return added(form, [x, dim, index, source, scalar], Want(value, 16.0, loose=4))
    value[along(axis, order)] = source.data
    if form.in_place:
        return Case([x, dim, index, source], {0: value})
    return Case([x, dim, index, source, Tensor(x.dtype, x.shape)], {4: value})


@TABLE.case('IndexFill InplaceIndexFill')
def index_fill_at(r: Random, form) -> Case:
    x = r.tensor(r.pick(form.types['self']), r.full(1, 4))
    dim, number = r.dim(len(x.shape)), r.int(0, 1 if x.dtype == 'bool' else 9)
    index = indices(r, form, 'index', (r.int(1, 4),), x.shape[dim])
    value = x.data.copy()
    value[along(dim % len(x.shape), index.data)] = number
    arguments = [x, dim, index, Scalar(number, r.pick(['f32', 'i64']))]
    if form.in_place:
        return Case(arguments, {0: value})
    return Case([*arguments, Tensor(x.dtype, x.shape)], {4: value})


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


@TABLE.case('Median NanMedian MedianDim NanMedianDim')
def median(r: Random, form) -> Case:
    x, of_all = r.tensor(r.pick(form.types['self']), r.full(0, 4), -3, 3), not form.name.endswith('Dim')
    if DTYPES[x.dtype].is_float and r.chance():
        x = given(np.where(r.rng.random(x.shape) < r.pick([0.1, 0.5, 1]), np.nan, x.data), x.dtype)
    dim, keep = r.dim(len(x.shape)), r.chance()
    rows = x.data.reshape(1, -1) if of_all or not x.shape else np.moveaxis(x.data, dim, -1)
    places = np.zeros(rows.shape[:-1], np.int64)
    for at in np.ndindex(places.shape):
        none = np.isnan(rows[at])
        if none.any() and (none.all() or not form.name.startswith('Nan')):
            places[at] = np.argmax(none)
        else:  # of equal ones whichever comes there in a stable order
            places[at] = ordered(rows[at], 0, False)[(np.count_nonzero(~none) - 1) // 2]
    value = np.take_along_axis(rows, places[..., None], -1)
    if of_all:
        value = value.reshape(r.pick([(), (1,)]))
        return Case([x, Tensor(x.dtype, value.shape)], {1: value})
    places = places[..., None]
    places, value = [a.reshape(()) if not x.shape else np.moveaxis(a, -1, dim) if keep else a.squeeze(-1) for a in (places, value)]
    return Case([x, dim, keep, Tensor(x.dtype, value.shape), Tensor('i64', value.shape)], {3: value, 4: places})


@TABLE.case('SearchSorted SearchSorteds')
def search_sorted(r: Random, form) -> Case:
    one = form.name == 'SearchSorteds'
    rows = r.full(1, 1 if one else 3) if r.chance(0.9) else (0,)
    dtype = r.pick(form.types['sortedSequence'])
    sequence = r.tensor(dtype, rows, -3, 3)
    sequence = given(np.round(sequence.data), dtype) if r.chance() else sequence
    if DTYPES[dtype].is_float and r.chance(0.2):
        sequence = given(np.where(r.rng.random(rows) < 0.2, np.nan, sequence.data), dtype)
    sorter = given(np.argsort(sequence.data, -1, kind='stable'), 'i64') if r.chance(0.3) else None
    in_order = np.sort(sequence.data, -1)
    sequence = sequence if sorter else given(in_order, dtype)
    short, right = r.chance(), r.chance()
    if one:
        number = r.pick([r.int(0, 3), 0.1, float(in_order.flat[0]) if in_order.size else 0.0])
        # Beside a tensor of floats a number is of their type.
        keys = exact(np.array([number]), dtype) if DTYPES[dtype].is_float else np.array([number])
        values, shape = Scalar(number, 'i64' if isinstance(number, int) and r.chance() else 'f64'), r.pick([(), (1,)])
    else:
        shape = r.shape() if len(rows) == 1 else (*rows[:-1], r.int(0, 5))
        values = r.tensor(r.pick([dtype, r.pick(form.types['self'])]), shape, -4, 4)
        values = given(np.round(values.data), values.dtype) if values.dtype != dtype or r.chance() else values
        keys = values.data
    wide_ = [a.astype(np.float64) for a in (in_order, keys)]
    side = 'right' if right else 'left'
    if len(rows) == 1:
        value = np.searchsorted(wide_[0], wide_[1], side)
    else:
        value = np.array([np.searchsorted(a, b, side) for a, b in zip(
            wide_[0].reshape(-1, rows[-1]), wide_[1].reshape(-1, shape[-1] or 0))], np.int64) if 0 not in shape else np.zeros(shape)
    value = np.reshape(value, shape)
    return Case([sequence, values, short, right, sorter, Tensor('i32' if short else 'i64', shape)], {5: value})


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


@TABLE.case('Bucketize')
def bucketize(r: Random, form) -> Case:
    dtype, short, right = r.pick(form.types['boundaries']), r.chance(), r.chance()
    edges = given(np.sort(np.round(r.array(dtype, (r.int(0, 6),), -3, 3))), dtype)
    x = r.tensor(r.pick([dtype, r.pick(form.types['self'])]), r.shape())
    x = given(np.round(x.data), x.dtype) if r.chance() or x.dtype != dtype else x
    value = np.searchsorted(edges.data.astype(np.float64), x.data.astype(np.float64), 'right' if right else 'left')
    return Case([x, edges, short, right, Tensor('i32' if short else 'i64', x.shape)], {4: np.asarray(value)})


@TABLE.case('EmbeddingRenorm')
def embedding_renorm(r: Random, form) -> Case:
    x = r.tensor(r.pick(form.types['self']), (r.int(1, 6), r.int(0 if r.chance(0.1) else 1, 5)))
    index = indices(r, form, 'indices', r.shape(0, 2, 9), x.shape[0])
    most, order = r.pick([0.0, 0.5, 2.0, 100.0]), r.pick([0.0, 0.5, 1.0, 2.0, 3.0, float('inf')])
    value = x.data.astype(np.float64)
    for row in set((index.data.ravel() % x.shape[0]).tolist()):
        size = np.abs(value[row])
        norm = np.count_nonzero(size) if order == 0 else size.max(initial=0) if np.isinf(order) else (size ** order).sum() ** (1 / order)
        value[row] *= most / (norm + 1e-7) if norm > most else 1
    return Case([x, index, most, order], {0: Want(value, 1.0)})


@TABLE.case('InplaceQuantScatter')
def quant_scatter(r: Random, form) -> Case:
    rank = r.int(3, 5)
    shape = [r.int(1, 4) for _ in range(rank)]
    axis, count = r.int(1, rank - 2), r.int(1, shape[0])
    part = [count, *shape[1:]]
    part[axis] = r.int(1, shape[axis])
    cache, updates = r.tensor('i8', shape, -100, 100), r.tensor(r.pick(form.types['updates']), part, -300, 300)
    scales = given(2.0 ** r.rng.integers(-1, 3, shape[-1]), r.pick(form.types['quantScales']))
    points = r.tensor(r.pick(form.types['quantZeroPoints']), (shape[-1],), -5, 5) if r.chance() else None
    points = points and given(np.round(points.data), points.dtype)
    starts = r.rng.integers(0, shape[axis] - part[axis] + 1, count)
    batches = r.rng.permutation(shape[0])[:count] if r.chance() else None
    index = given(starts if batches is None else np.stack([batches, starts], 1), r.pick(form.types['indices']))
    value, scaled = cache.data.copy(), updates.data.astype(np.float64) / scales.data + (points.data if points else 0)
    for i, start in enumerate(starts):
        place = [slice(None)] * (rank - 1)
        place[axis - 1] = slice(start, start + part[axis])
        value[(i if batches is None else batches[i], *place)] = np.clip(np.rint(scaled[i]), -128, 127)
    axis, last = [d - (rank if r.chance() else 0) for d in (axis, rank - 1)]
    return Case([cache, index, updates, scales, points, axis, last, 1], {0: value})
