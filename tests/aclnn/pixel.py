"""Functions that look at images: pooling, resizing, sampling."""
from __future__ import annotations

import itertools
import math

import numpy as np

from cases import Case, Table, Want
from values import NCDHW, NCHW, NCL, Random, Tensor, given

TABLE = Table('pixel')
FORMATS = {1: NCL, 2: NCHW, 3: NCDHW}


def image(r: Random, dtype: str, spatial: int = 2, least: int = 1, most: int = 8, low: float = -4) -> Tensor:
    shape = (r.int(1, 2), r.int(1, 3), *[r.size(least, most) for _ in range(spatial)])
    return r.tensor(dtype, shape, low, format=FORMATS[spatial])


def out_of(x: Tensor, value: np.ndarray, dtype: str = '') -> Tensor:
    return Tensor(dtype or x.dtype, value.shape, format=x.format)


def pooled_size(size: int, kernel: int, stride: int, pads: tuple[int, int], ceil: bool) -> int:
    span = size + sum(pads) - kernel
    count = (-(-span // stride) if ceil else span // stride) + 1
    # A window must begin inside of the image or of what is before it.
    return count - 1 if ceil and (count - 1) * stride >= size + pads[0] else count


def windows(x: np.ndarray, kernel, stride, pads, ceil):
    """For each place of the result: where it is, and the bounds of its window before cutting."""
    sizes = [pooled_size(n, k, s, p, ceil) for n, k, s, p in zip(x.shape[-2:], kernel, stride, pads)]
    for place in np.ndindex(*sizes):
        yield sizes, place, [(i * s - p[0], i * s - p[0] + k) for i, s, p, k in zip(place, stride, pads, kernel)]


def cut(x: np.ndarray, bounds) -> np.ndarray:
    (a, b), (c, d) = bounds
    return x[..., max(a, 0):max(b, 0), max(c, 0):max(d, 0)]


def pool_parameters(r: Random, x: Tensor):
    kernel = [r.int(1, min(3, n)) for n in x.shape[-2:]]
    return kernel, [r.int(1, 3), r.int(1, 3)], [r.int(0, k // 2) for k in kernel], r.chance()


@TABLE.case('AvgPool2d')
def avg_pool(r: Random, form) -> Case:
    x = image(r, r.pick(form.types['self']))
    kernel, stride, padding, ceil = pool_parameters(r, x)
    counts_padding, divisor = r.chance(), r.pick([0, 0, 3])
    pads = [(p, p) for p in padding]
    data, value = x.data.astype(np.float64), None
    for sizes, place, bounds in windows(data, kernel, stride, pads, ceil):
        value = np.zeros((*x.shape[:2], *sizes)) if value is None else value
        part = cut(data, bounds)
        area = [min(b, n + p) - a for (a, b), n, p in zip(bounds, x.shape[-2:], padding)]
        count = divisor or (area[0] * area[1] if counts_padding else part.shape[-1] * part.shape[-2])
        value[(..., *place)] = part.sum((-1, -2)) / count
    out = out_of(x, value)
    return Case([x, kernel, stride, padding, ceil, counts_padding, divisor, 0, out], {8: Want(value, 4.0)})


def max_pool_of(x: Tensor, kernel, stride, pads, ceil):
    values = places = None
    for sizes, place, bounds in windows(x.data, kernel, stride, pads, ceil):
        if values is None:
            values, places = [np.zeros((*x.shape[:2], *sizes), t) for t in (x.data.dtype, np.int64)]
        part = cut(x.data, bounds)
        flat = part.reshape(*x.shape[:2], -1)
        best = flat.argmax(-1)
        row, column = np.divmod(best, part.shape[-1])
        values[(..., *place)] = flat.max(-1)
        top, left = [max(a, 0) for a, _ in bounds]
        places[(..., *place)] = (row + top) * x.shape[-1] + column + left
    return values, places


@TABLE.case('MaxPool')
def max_pool(r: Random, form) -> Case:
    x = image(r, r.pick(form.types['self']))
    kernel, stride, padding, ceil = pool_parameters(r, x)
    value, _ = max_pool_of(x, kernel, stride, [(p, p) for p in padding], ceil)
    return Case([x, kernel, stride, 0, padding * 2, [1, 1], int(ceil), out_of(x, value)], {7: value})


@TABLE.case('MaxPool2dWithIndices')
def max_pool_indices(r: Random, form) -> Case:
    x = image(r, r.pick(form.types['self']))
    kernel, stride, padding, ceil = pool_parameters(r, x)
    value, where = max_pool_of(x, kernel, stride, [(p, p) for p in padding], ceil)
    outs = [out_of(x, value), out_of(x, where, r.pick(form.types['indices']))]
    return Case([x, kernel, stride, padding, [1, 1], ceil, *outs], {6: value, 7: where})


def chosen(x: Tensor, bounds_of) -> tuple[np.ndarray, np.ndarray]:
    """The largest of windows, given by the bounds for each place of the result, and where in the plane they are."""
    spatial, value, where = x.shape[2:], None, None
    numbers = np.arange(int(np.prod(spatial))).reshape(spatial)
    for sizes, place, bounds in bounds_of:
        if value is None:
            value, where = np.zeros((*x.shape[:2], *sizes), x.data.dtype), np.zeros((*x.shape[:2], *sizes), np.int64)
        cuts = tuple(slice(max(a, 0), min(b, n), step) for (a, b, step), n in zip(bounds, spatial))
        part = x.data[(slice(None), slice(None), *cuts)].reshape(*x.shape[:2], -1)
        value[(..., *place)] = part.max(-1)
        where[(..., *place)] = numbers[cuts].reshape(-1)[part.argmax(-1)]
    return value, where


def adaptive_bounds(spatial, sizes):
    for place in np.ndindex(*sizes):
        yield sizes, place, [(i * n // m, -(-(i + 1) * n // m), 1) for i, n, m in zip(place, spatial, sizes)]


def cube_bounds(spatial, kernel, stride, dilation, ceil):
    spans = [d * (k - 1) + 1 for k, d in zip(kernel, dilation)]
    sizes = [pooled_size(n, k, s, (0, 0), ceil) for n, k, s in zip(spatial, spans, stride)]
    for place in np.ndindex(*sizes):
        yield sizes, place, [(i * s, i * s + k, d) for i, s, k, d in zip(place, stride, spans, dilation)]


@TABLE.case('MaxPool3dWithArgmax')
def max_pool_3d(r: Random, form) -> Case:
    x = image(r, r.pick(form.types['self']), 3, least=3, most=5)
    kernel, stride, ceil = [r.int(1, 2) for _ in range(3)], [r.int(1, 3) for _ in range(3)], r.chance()
    dilation = [r.int(1, 2) for _ in range(3)]
    value, where = chosen(x, cube_bounds(x.shape[2:], kernel, stride, dilation, ceil))
    outs = [out_of(x, value), out_of(x, where, r.pick(form.types['indices']))]
    return Case([x, kernel, stride, [0, 0, 0], dilation, ceil, *outs], {6: value, 7: where})


@TABLE.case('AdaptiveMaxPool2d AdaptiveMaxPool3d')
def adaptive_max_pool(r: Random, form) -> Case:
    spatial = int(form.name[-2])
    x, size = image(r, r.pick(form.types['self']), spatial, most=6), [r.int(1, 5) for _ in range(spatial)]
    value, where = chosen(x, adaptive_bounds(x.shape[2:], size))
    return Case([x, size, out_of(x, value), out_of(x, where, r.pick(form.types['indices']))], {2: value, 3: where})


def as_one(r: Random, x: Tensor, value: np.ndarray) -> tuple[Tensor, np.ndarray]:
    """The same without the dimension of the batch, where there is one image, now and then."""
    if x.shape[0] != 1 or r.chance():
        return x, value
    return Tensor(x.dtype, x.shape[1:], x.data[0], x.format), value[0]


@TABLE.case('AdaptiveAvgPool2d AdaptiveAvgPool3d')
def adaptive_avg_pool(r: Random, form) -> Case:
    spatial = int(form.name[-2])
    x, size = image(r, r.pick(form.types['self']), spatial, most=6), [r.int(1, 5) for _ in range(spatial)]
    value = np.zeros((*x.shape[:2], *size))
    for _, place, bounds in adaptive_bounds(x.shape[2:], size):
        value[(..., *place)] = x.data.astype(np.float64)[(..., *[slice(*b) for b in bounds])].mean(tuple(range(2, 2 + spatial)))
    x, value = as_one(r, x, value)
    return Case([x, size, out_of(x, value)], {2: Want(value, 4.0)})


@TABLE.case('AvgPool3d')
def avg_pool_3d(r: Random, form) -> Case:
    x = image(r, r.pick(form.types['self']), 3, least=2, most=5)
    kernel, stride = [r.int(1, min(3, n)) for n in x.shape[2:]], [r.int(1, 3) for _ in range(3)]
    padding, ceil, counts, divisor = [r.int(0, k // 2) for k in kernel], r.chance(), r.chance(), r.pick([0, 0, 3])
    if r.chance(0.3):
        stride = kernel
    sizes = [pooled_size(n, k, s, (p, p), ceil) for n, k, s, p in zip(x.shape[2:], kernel, stride, padding)]
    value = np.zeros((*x.shape[:2], *sizes))
    for place in np.ndindex(*sizes):
        bounds = [(i * s - p, min(i * s - p + k, n + p)) for i, n, k, s, p in zip(place, x.shape[2:], kernel, stride, padding)]
        part = x.data.astype(np.float64)[(..., *[slice(max(a, 0), max(b, 0)) for a, b in bounds])]
        area = int(np.prod([b - a for a, b in bounds])) if counts else int(np.prod(part.shape[2:]))
        value[(..., *place)] = part.sum((2, 3, 4)) / (divisor or area)
    x, value = as_one(r, x, value)
    given_stride = [] if stride == kernel and r.chance() else stride
    return Case([x, kernel, given_stride, padding, ceil, counts, divisor, out_of(x, value)], {7: Want(value, 4.0)})


@TABLE.case('MaxUnpool2d MaxUnpool3d')
def max_unpool(r: Random, form) -> Case:
    spatial = int(form.name[-2])
    x = image(r, r.pick(form.types['self']), spatial, most=4)
    size = [n + r.int(0, 4) for n in x.shape[2:]]
    count, few = int(np.prod(size)), int(np.prod(x.shape[2:]))
    planes = [r.rng.permutation(count)[:few] for _ in range(x.shape[0] * x.shape[1])]
    if few > 1 and r.chance(0.3):
        planes[0][0] = planes[0][-1]  # the last one counts
    value = np.zeros((len(planes), count), x.data.dtype)
    for row, places, elements in zip(value, planes, x.data.reshape(len(planes), few)):
        for place, element in zip(places, elements):
            row[place] = element
    where = given(np.array(planes).reshape(x.shape), r.pick(form.types['indices']), x.format)
    x, value = as_one(r, x, value.reshape(*x.shape[:2], *size))
    where = Tensor(where.dtype, x.shape, where.data.reshape(x.shape), x.format)
    windows = [[2] * 3, [0] * 3] if spatial == 3 else []
    return Case([x, where, size, *windows, out_of(x, value)], {3 + len(windows): value})


@TABLE.case('MaxUnpool2dBackward MaxUnpool3dBackward')
def max_unpool_gradient(r: Random, form) -> Case:
    spatial, dtype = int(form.name[-10]), r.pick(form.types['self'])
    lead = tuple(r.int(1, 3) for _ in range(r.int(1, 2)))
    shape, size = [tuple(r.int(1, 5) for _ in range(spatial)) for _ in range(2)]
    grad, x = r.tensor(dtype, (*lead, *size)), r.tensor(dtype, (*lead, *shape))
    where = given(r.rng.integers(0, int(np.prod(size)), x.shape), r.pick(form.types['indices']))
    value = np.take_along_axis(grad.data.reshape(*lead, -1), where.data.reshape(*lead, -1).astype(np.int64), -1).reshape(x.shape)
    steps = [[2] * 3, [0] * 3] if spatial == 3 else []
    return Case([grad, x, where, list(size), *steps, Tensor(dtype, x.shape)], {4 + len(steps): value})


def nearest_places(n: int, m: int, scale: float = 0, exact: bool = False) -> list[int]:
    step = np.float32(1 / np.float64(scale) if scale > 0 else n / m)
    if exact:
        return [min(int(np.floor(np.float32((i + 0.5) * np.float64(step)))), n - 1) for i in range(m)]
    return [min(int(np.floor(np.float32(i) * step)), n - 1) for i in range(m)]


@TABLE.case('UpsampleNearest1d UpsampleNearest1dV2 UpsampleNearest2d UpsampleNearest2dV2 UpsampleNearest3d '
            'UpsampleNearestExact1d UpsampleNearestExact2d UpsampleNearestExact3d')
def nearest(r: Random, form) -> Case:
    spatial, exact = int(form.name.removesuffix('V2')[-2]), 'Exact' in form.name
    x = image(r, r.pick(form.types['self']), spatial)
    size = [r.size(1, 12) for _ in range(spatial)]
    value = x.data
    scales = [r.pick([0.0, -1.0, m / n, m / n * 1.1]) for n, m in zip(x.shape[2:], size)]
    scales = [] if form.name in ('UpsampleNearest1d', 'UpsampleNearest2d') else scales
    for axis, (n, m) in enumerate(zip(x.shape[2:], size), 2):
        scale = scales[axis - 2] if scales else 0
        value = value.take(nearest_places(n, m, np.float32(scale) if form.name.endswith('V2') else scale, exact), axis)
    return Case([x, size, *scales, out_of(x, value)], {2 + len(scales): value})


def resize_scales(r: Random, sizes) -> list[float]:
    """For each size and what becomes of it: none, or one that is near."""
    return [r.pick([0.0, -1.0, m / n, (m + 0.4) / n]) for n, m in sizes]


def linear_weights(n: int, m: int, corners: bool, scale: float = 0) -> np.ndarray:
    weights, step = np.zeros((m, n)), 1.0 if n == m else 1 / scale if scale > 0 else n / m
    for i in range(m):
        at = i * (n - 1) / (m - 1) if corners and m > 1 else 0.0 if corners else max((i + 0.5) * step - 0.5, 0)
        low = min(int(at), n - 1)
        weights[i, low] += 1 - (at - low)
        weights[i, min(low + 1, n - 1)] += at - low
    return weights


def cubic(distance: float, a: float = -0.75) -> float:
    d = abs(distance)
    return ((a + 2) * d - (a + 3)) * d * d + 1 if d <= 1 else ((d - 5) * d + 8) * d * a - 4 * a if d < 2 else 0


def cubic_weights(n: int, m: int, corners: bool, scale: float = 0) -> np.ndarray:
    weights, step = np.zeros((m, n)), 1 / scale if scale > 0 else n / m
    for i in range(m):
        at = i * (n - 1) / (m - 1) if corners and m > 1 else 0.0 if corners else (i + 0.5) * step - 0.5
        for j in range(math.floor(at) - 1, math.floor(at) + 3):
            weights[i, min(max(j, 0), n - 1)] += cubic(at - j)
    return weights


@TABLE.case('UpsampleLinear1d UpsampleBilinear2d UpsampleBicubic2d UpsampleTrilinear3d')
def interpolated(r: Random, form) -> Case:
    spatial, corners = int(form.name[-2]), r.chance()
    weights = cubic_weights if 'cubic' in form.name else linear_weights
    x = image(r, r.pick([t for t in form.types['self'] if t != 'u8']), spatial, most=6)
    size, value = [r.size(1, 9) for _ in range(spatial)], x.data.astype(np.float64)
    scales = resize_scales(r, zip(x.shape[2:], size))
    for axis, (m, scale) in enumerate(zip(size, scales), 2):
        value = np.moveaxis(np.tensordot(weights(value.shape[axis], m, corners, scale), value, (1, axis)), 0, axis)
    return Case([x, size, corners, *scales, out_of(x, value)], {3 + spatial: Want(value, 4.0, loose=4)})


def wide_weights(n: int, m: int, corners: bool, scale: float, is_cubic: bool) -> np.ndarray:
    """A filter as wide as the step from one element of the result to the next, as torch has it."""
    step = 1.0 if n == m else (n - 1) / (m - 1) if corners and m > 1 else 0.0 if corners else 1 / scale if scale > 0 else n / m
    reach, weights = max(step, 1.0), np.zeros((m, n))
    for i in range(m):
        for j in range(n):
            at = (j + 0.5 - step * (i + 0.5)) / reach
            weights[i, j] = cubic(at, -0.5) if is_cubic else max(1 - abs(at), 0)
        weights[i] /= weights[i].sum() or 1
    return weights


@TABLE.case('UpsampleBilinear2dAA UpsampleBicubic2dAA UpsampleBilinear2dAABackward UpsampleBicubic2dAAGrad')
def antialiased(r: Random, form) -> Case:
    back, corners = form.name.endswith(('Backward', 'Grad')), r.chance()
    dtype = r.pick(form.types['gradOutput' if back else form.arguments[0]])
    shape, size = (r.int(1, 2), r.int(1, 3), r.size(1, 9), r.size(1, 9)), [r.size(1, 6), r.size(1, 6)]
    scales = [r.pick([0.0, m / n, (m + 0.4) / n]) for n, m in zip(shape[2:], size)]
    maps = [wide_weights(n, m, corners, s, 'cubic' in form.name) for n, m, s in zip(shape[2:], size, scales)]
    x = r.tensor(dtype, (*shape[:2], *size) if back else shape, format=NCHW)
    value = np.einsum('ij,kl,ncik->ncjl' if back else 'ij,kl,ncjl->ncik', *maps, x.data.astype(np.float64))
    sizes = [size, list(shape)] if back else [size]
    arguments = [x, *sizes, corners, *scales, out_of(x, value)]
    return Case(arguments, {len(arguments) - 1: Want(value, 8.0, loose=4)})


def unnormalise(at, size: int, corners: bool):
    return (at + 1) / 2 * (size - 1) if corners else ((at + 1) * size - 1) / 2


def reflect(at, size: int, corners: bool):
    low, span = (0, size - 1) if corners else (-0.5, size)
    if span == 0:
        return np.zeros_like(at)
    folded = np.abs(at - low) % (2 * span)
    return np.where(folded > span, 2 * span - folded, folded) + low


def sample(plane: np.ndarray, places: list[np.ndarray], mode: int, padding: int, corners: bool) -> np.ndarray:
    """plane is [c, spatial...]; places hold one array for each spatial dimension."""
    sizes = plane.shape[1:]
    if padding == 2:
        places = [reflect(p, n, corners) for p, n in zip(places, sizes)]
    if padding:
        places = [np.clip(p, 0, n - 1) for p, n in zip(places, sizes)]
    if mode == 1:
        return pick(plane, [np.rint(p).astype(np.int64) for p in places])
    low = [np.floor(p).astype(np.int64) for p in places]
    value = np.zeros((plane.shape[0], *places[0].shape))
    for corner in itertools.product((0, 1), repeat=len(sizes)):
        weight = np.prod([(p - l) if c else 1 - (p - l) for p, l, c in zip(places, low, corner)], axis=0)
        value += weight * pick(plane, [l + c for l, c in zip(low, corner)])
    return value


def sample_cubic(plane: np.ndarray, places: list[np.ndarray], padding: int, corners: bool) -> np.ndarray:
    """Here each of the 16 neighbours is put back inside, not the place itself."""
    value = np.zeros((plane.shape[0], *places[0].shape))
    for step in itertools.product(range(-1, 3), repeat=2):
        at = [np.floor(p) + s for p, s in zip(places, step)]
        weight = np.prod([[cubic(d) for d in (p - a).flat] for p, a in zip(places, at)], axis=0)
        if padding == 2:
            at = [reflect(a, n, corners) for a, n in zip(at, plane.shape[1:])]
        if padding:
            at = [np.clip(a, 0, n - 1) for a, n in zip(at, plane.shape[1:])]
        value += weight.reshape(at[0].shape) * pick(plane, [np.rint(a).astype(np.int64) for a in at])
    return value


def pick(plane: np.ndarray, at: list[np.ndarray]) -> np.ndarray:
    inside = np.all([(a >= 0) & (a < n) for a, n in zip(at, plane.shape[1:])], axis=0)
    return plane[(slice(None), *[np.clip(a, 0, n - 1) for a, n in zip(at, plane.shape[1:])])] * inside


@TABLE.case('GridSampler2D GridSampler3D')
def grid_sampler(r: Random, form) -> Case:
    spatial = int(form.name[-2])
    dtype = r.pick([t for t in form.types['input'] if t in ('f32', 'f64')])
    x = image(r, dtype, spatial, most=5)
    mode, padding, corners = r.int(0, 4 - spatial), r.int(0, 2), r.chance()
    grid = r.tensor(dtype, (x.shape[0], *[r.size(1, 4) for _ in range(spatial)], spatial), -1.4, 1.4)
    planes = []
    for plane, where in zip(x.data.astype(np.float64), grid.data.astype(np.float64)):
        places = [unnormalise(where[..., spatial - 1 - i], n, corners) for i, n in enumerate(x.shape[2:])]
        planes.append(sample_cubic(plane, places, padding, corners) if mode == 2 else
                      sample(plane, places, mode, padding, corners))
    value = np.stack(planes)
    return Case([x, grid, mode, padding, corners, out_of(x, value)], {5: Want(value, 8.0, loose=4)})


@TABLE.case('AffineGrid')
def affine_grid(r: Random, form) -> Case:
    spatial, corners = r.int(2, 3), r.chance()
    size = [r.int(1, 3), r.int(1, 3), *[r.size(1, 5) for _ in range(spatial)]]
    theta = r.tensor(r.pick(form.types['theta']), (size[0], spatial, spatial + 1), -2, 2)
    lines = [np.linspace(-1, 1, n) * (1 if corners else (n - 1) / n) if n > 1 else np.zeros(1) for n in size[2:]]
    base = np.stack([*np.meshgrid(*lines, indexing='ij')[::-1], np.ones(size[2:])], axis=-1)
    value = np.einsum('...k,njk->n...j', base, theta.data.astype(np.float64))
    return Case([theta, size, corners, Tensor(theta.dtype, value.shape)], {3: Want(value, 8.0, loose=2)})


@TABLE.case('GridSampler2DBackward GridSampler3DBackward')
def grid_sampler_gradient(r: Random, form) -> Case:
    """By differences: the result is linear in the image, and places keep away from where its slope jumps."""
    spatial = 3 if '3D' in form.name else 2
    dtype = r.pick(form.types['input'])
    x = r.tensor(dtype, (r.int(1, 2), r.int(1, 2), *[r.int(1, 4) for _ in range(spatial)]), -2, 2)
    mode, padding, corners = r.int(0, 4 - spatial), r.int(0, 2), r.chance()
    places = r.array(dtype, (x.shape[0], *[r.int(1, 3) for _ in range(spatial)], spatial), -1.4, 1.4)
    for _ in range(20):
        where = np.stack([unnormalise(places[..., spatial - 1 - i], n, corners) for i, n in enumerate(x.shape[2:])][::-1], -1)
        near = np.abs(where * 2 - np.round(where * 2)) < 0.03
        places = given(np.where(near, places + 0.0171, places), dtype).data.astype(np.float64)
    grid, image_ = given(places, dtype), x.data.astype(np.float64)
    grad = r.tensor(dtype, (*x.shape[:2], *places.shape[1:-1]), -2, 2)

    def loss(image_, places):
        total = 0.0
        for plane, at, g in zip(image_, places, grad.data.astype(np.float64)):
            at = [unnormalise(at[..., spatial - 1 - i], n, corners) for i, n in enumerate(x.shape[2:])]
            total += np.sum(g * (sample_cubic(plane, at, padding, corners) if mode == 2 else sample(plane, at, mode, padding, corners)))
        return total

    def slopes(of, values, step):
        result = np.zeros(values.shape)
        for index in np.ndindex(values.shape):
            up, down = values.copy(), values.copy()
            up[index] += step
            down[index] -= step
            result[index] = (of(up) - of(down)) / (2 * step)
        return result
    mask = [r.chance(0.8), r.chance(0.8)]
    wants = {7: Want(slopes(lambda v: loss(v, places), image_, 1.0), 20.0, loose=4),
             8: Want(slopes(lambda v: loss(image_, v), places, 1e-6), 60.0, loose=8)}
    outs = [Tensor(dtype, x.shape), Tensor(dtype, places.shape)]
    for i, wanted in enumerate(mask):
        if not wanted:
            wants.pop(7 + i)
            outs[i] = None
    return Case([grad, x, grid, mode, padding, corners, mask, *outs], wants)


@TABLE.case('ConvTbc ConvTbcBackward')
def over_time(r: Random, form) -> Case:
    dtype, (batch, channels, outs) = r.pick(form.types['weight']), [r.int(1, 4) for _ in range(3)]
    taps, pad = r.int(1, 3), r.int(0, 2)
    time = r.int(taps, 9)
    x, weight = r.tensor(dtype, (time, batch, channels)), r.tensor(dtype, (taps, channels, outs), -1, 1)
    bias, grad = r.tensor(dtype, (outs,)), r.tensor(dtype, (time + 2 * pad - taps + 1, batch, outs))

    def of(f):
        a, w, b, g = [f(t.data.astype(np.float64)) for t in (x, weight, bias, grad)]
        a = np.pad(a, ((pad, pad), (0, 0), (0, 0)))
        value, to_a, to_w = b + np.zeros(grad.shape), np.zeros(a.shape), np.zeros(w.shape)
        for k in range(taps):
            part = slice(k, k + grad.shape[0])
            value = value + a[part] @ w[k]
            to_a[part] += g @ w[k].T
            to_w[k] = np.einsum('tbi,tbo->io', a[part], g)
        return value, to_a[pad:pad + time], to_w, g.sum((0, 1))
    values, sizes = of(np.asarray), of(np.abs)
    if form.name == 'ConvTbc':
        return Case([x, weight, bias, pad, Tensor(dtype, grad.shape), r.int(0, 1)], {4: Want(values[0], sizes[0] + 1)})
    outs_ = [Tensor(dtype, t.shape) for t in (x, weight, bias)]
    return Case([grad, x, weight, bias, pad, r.int(0, 1), *outs_], {6 + i: Want(v, s + 1) for i, (v, s) in enumerate(zip(values[1:], sizes[1:]))})
def taps(y: float, x: float, height: int, width: int) -> list[tuple[int, int, float]]:
    """The pixels around a place and their weights; none beyond a pixel's distance from the plane."""
    if y < -1 or y > height or x < -1 or x > width:
        return []
    parts = []
    for at, size in ((max(y, 0), height), (max(x, 0), width)):
        low = min(int(at), size - 1)
        share = at - low if low < size - 1 else 0
        parts.append([(low, 1 - share), (min(low + 1, size - 1), share)])
    return [(i, j, a * b) for i, a in parts[0] for j, b in parts[1]]


def region_samples(roi, plane, bins, scale: float, samples: int, mode: int):
    """For each bin: where its samples lie. None where rounding would decide about one."""
    shift = 0.5 if mode == 3 else 0
    low = [roi[2] * scale - shift, roi[1] * scale - shift]
    sides = [(roi[i] + (mode == 1)) * scale - shift - a for i, a in zip((4, 3), low)]
    if mode == 0:
        sides = [max(side, 1) for side in sides]
    steps = [side / n for side, n in zip(sides, bins)]
    counts = [samples or max(math.ceil(step), 0) for step in steps]
    doubtful = [abs(step - round(step)) for step in steps] if samples == 0 else [1]
    places = {}
    for place in np.ndindex(*bins):
        axes = [[a + (i + (k + 0.5) / n) * step for k in range(n)] for a, i, step, n in zip(low, place, steps, counts)]
        doubtful += [abs(at - end) for axis, size in zip(axes, plane) for at in axis for end in (-1, size)]
        places[place] = list(itertools.product(*axes))
    return places if min(doubtful) > 1e-3 else None


def regions(r: Random, dtype: str, plane, images: int):
    """Regions, their parameters, and the samples of their bins."""
    while True:
        count, bins, scale = r.int(1, 3), [r.int(1, 3), r.int(1, 3)], r.pick([0.25, 0.5, 1.0])
        samples, mode = r.int(0, 2), r.pick([0, 1, 3])
        corners = r.rng.uniform(-3, max(plane) / scale + 3, (count, 2, 2))
        if r.chance(0.8):
            corners.sort(1)
        rois = given(np.concatenate([r.rng.integers(0, images, (count, 1)), corners.reshape(count, 4)], 1), dtype)
        data = rois.data.astype(np.float64)
        places = [region_samples(roi, plane, bins, scale, samples, mode) for roi in data]
        if None not in places:
            return rois, bins, scale, samples, mode, places


@TABLE.case('ROIAlign')
def roi_align(r: Random, form) -> Case:
    dtype = r.pick(form.types['self'])
    x = image(r, dtype, 2, least=2)
    rois, bins, scale, samples, mode, places = regions(r, dtype, x.shape[2:], x.shape[0])
    value = np.zeros((rois.shape[0], x.shape[1], *bins))
    for n, of_bins in enumerate(places):
        plane = x.data[int(rois.data[n, 0])].astype(np.float64)
        for place, samples_of in of_bins.items():
            for at in samples_of:
                for i, j, weight in taps(*at, *x.shape[2:]):
                    value[(n, slice(None), *place)] += weight * plane[:, i, j] / len(samples_of)
    return Case([x, rois, scale, *bins, samples, mode, Tensor(dtype, value.shape)], {7: Want(value, 4.0)})


@TABLE.case('ROIAlignBackward')
def roi_align_backward(r: Random, form) -> Case:
    dtype, shape = r.pick(form.types['self']), (r.int(1, 2), r.int(1, 3), r.int(2, 6), r.int(2, 6))
    rois, bins, scale, samples, mode, places = regions(r, dtype, shape[2:], shape[0])
    grad = r.tensor(dtype, (rois.shape[0], shape[1], *bins))
    value = np.zeros(shape)
    for n, of_bins in enumerate(places):
        for place, samples_of in of_bins.items():
            for at in samples_of:
                for i, j, weight in taps(*at, *shape[2:]):
                    value[int(rois.data[n, 0]), :, i, j] += weight * grad.data[(n, slice(None), *place)] / len(samples_of)
    return Case([grad, rois, list(shape), *bins[::-1], scale, samples, mode, Tensor(dtype, shape)], {8: Want(value, 4.0)})


def boxes(r: Random, dtype: str, count: int, centred: bool) -> Tensor:
    """[4, count]"""
    low, sides = r.rng.uniform(-4, 4, (2, count)), r.rng.uniform(0.5, 5, (2, count))
    return given(np.concatenate([low, sides if centred else low + sides]), dtype)


def corners_of(box: np.ndarray, centred: bool):
    box = box.astype(np.float64)
    low, high = (box[:2] - box[2:] / 2, box[:2] + box[2:] / 2) if centred else (box[:2], box[2:])
    return low, high


@TABLE.case('CIoU')
def complete_overlap(r: Random, form) -> Case:
    dtype, centred, cross, count = r.pick(form.types['self']), r.chance(), r.chance(), r.int(1, 6)
    a, b = boxes(r, dtype, count, centred), boxes(r, dtype, r.int(1, 6) if cross else count, centred)
    shape = (b.shape[1], count) if cross else (1, count)
    (low_a, high_a), (low_b, high_b) = corners_of(a.data, centred), corners_of(b.data, centred)
    if cross:
        low_b, high_b = low_b[:, :, None], high_b[:, :, None]
        low_a, high_a = low_a[:, None], high_a[:, None]
    common = np.maximum(np.minimum(high_a, high_b) - np.maximum(low_a, low_b), 0).prod(0)
    sides_a, sides_b = high_a - low_a, high_b - low_b
    overlap = common / (sides_a.prod(0) + sides_b.prod(0) - common)
    away = ((low_a + high_a - low_b - high_b) ** 2).sum(0) / 4
    away = away / ((np.maximum(high_a, high_b) - np.minimum(low_a, low_b)) ** 2).sum(0)
    angles = np.arctan(sides_b[0] / sides_b[1]) - np.arctan(sides_a[0] / sides_a[1])
    apart = 4 / math.pi ** 2 * angles ** 2
    value = overlap - away - apart * apart / (1 + 1e-9 - overlap + apart)
    outs = [Tensor(dtype, shape), Tensor(dtype, shape)]
    return Case([a, b, centred, cross, b'iou', *outs], {5: Want(value.reshape(shape), 1.0), 6: Want(angles.reshape(shape), 1.0)})


@TABLE.case('Iou')
def plain_overlap(r: Random, form) -> Case:
    dtype, mode, more = r.pick(form.types['bboxes']), r.pick(['iou', 'iof']), r.pick([0.0, 0.5, 1.0])
    a, b = boxes(r, dtype, r.int(1, 6), False), boxes(r, dtype, r.int(1, 6), False)
    (low_a, high_a), (low_b, high_b) = corners_of(a.data, False), corners_of(b.data, False)
    low_a, high_a, low_b, high_b = low_a[:, :, None], high_a[:, :, None], low_b[:, None], high_b[:, None]
    common = np.maximum(np.minimum(high_a, high_b) - np.maximum(low_a, low_b) + more, 0).prod(0)
    area_a, area_b = (high_a - low_a + more).prod(0), (high_b - low_b + more).prod(0)
    value = common / (area_b if mode == 'iof' else area_a + area_b - common)
    rows = [Tensor(dtype, t.shape[::-1], np.ascontiguousarray(t.data.T)) for t in (a, b)]
    return Case([*rows, mode.encode(), more, False, Tensor(dtype, value.shape)], {5: Want(value, 1.0)})
