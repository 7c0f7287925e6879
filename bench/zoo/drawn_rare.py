"""Draws of operators and forms that fewer models have: pictures, windows, losses, quantised and recurrent layers (drawn.py)."""
from __future__ import annotations

import math

import numpy as np

from cases import F32, F64, I8, I32, I64, U8
from dice import tag

I16, U16 = np.int16, np.uint16


def sides(d, count, most=1 << 15):
    """Lengths of a picture's dimensions."""
    each = most ** (1 / count)
    return [max(2, int(each * d.rng.uniform(0.3, 1.2))) for _ in range(count)]


def resize(d):
    """Lines, pictures and volumes; lengths asked for in both ways, and the rarer attributes."""
    count = d.pick(1, 2, 2, 2, 3)
    x = d.data((d.pick(1, 2), d.pick(1, 3, 8), *sides(d, count, 1 << 12)), F32)
    mode = d.pick('nearest', 'linear', 'linear', 'cubic') if count == 2 else d.pick('nearest', 'linear')
    options = {'mode': mode, 'tolerance': 1e-2}
    if mode == 'nearest':
        options['nearest_mode'] = d.pick('floor', 'round_prefer_floor', 'round_prefer_ceil', 'ceil')
        x = x if d.chance(0.6) else d.data(x.shape, d.pick(U8, I8, I32))
    elif d.chance(0.3) and count == 2:
        options['antialias'] = 1
    if mode == 'cubic':
        options |= {'cubic_coeff_a': d.pick(-0.75, -0.5), 'exclude_outside': d.pick(0, 1)}
    coordinates = ['half_pixel', 'asymmetric', 'pytorch_half_pixel', 'half_pixel_symmetric']
    scales = [d.pick(0.5, 0.75, 1.5, 2, 3) for _ in range(count)]
    if d.chance(0.5):
        options['coordinate_transformation_mode'] = d.pick(*coordinates)
        d.case('Resize', [x, None, np.array([1, 1, *scales], F32)], note=f'by {tag(scales)}', constants=[2], opset=19, **options)
        return
    options['coordinate_transformation_mode'] = d.pick(*coordinates, 'align_corners')
    asked = [max(1, int(n * s)) for n, s in zip(x.shape[2:], scales)]
    if d.chance(0.5):
        options['axes'] = list(range(2, 2 + count))
        if d.chance(0.4):
            options['keep_aspect_ratio_policy'] = d.pick('not_larger', 'not_smaller')
    else:
        asked = [*x.shape[:2], *asked]
    d.case('Resize', [x, None, None, asked], constants=[3], opset=19, **options)


def resize_before(d):
    """As older models have it, or cut out of the picture."""
    x = d.normal(1, d.pick(1, 3), *sides(d, 2, 1 << 12))
    scales = np.array([1, 1, d.pick(1, 2, 3), d.pick(1, 2, 4)], F32)
    kind = d.pick('Upsample', 'Resize', 'crop')
    if kind == 'crop':
        roi = np.array([0, 0, 0.1, 0.2, 1, 1, d.pick(0.8, 1.2), 0.9], F32)
        d.case('Resize', [x, roi, None, [*x.shape[:2], *sides(d, 2, 1 << 11)]], constants=[1, 3], mode=d.pick('linear', 'nearest'),
               coordinate_transformation_mode='tf_crop_and_resize', extrapolation_value=d.pick(0.0, 2.5), opset=13, tolerance=1e-2)
    else:
        d.case(kind, [x, scales], constants=[1], mode=d.pick('nearest', 'linear'), opset=9 if kind == 'Upsample' else 10)


def sample_of_volume(d):
    x = d.normal(d.pick(1, 2), d.pick(1, 3), *sides(d, 3, 1 << 11))
    grid = d.rng.uniform(-1.2, 1.2, (len(x), *sides(d, 3, 1 << 10), 3)).astype(F32)
    d.case('GridSample', [x, grid], opset=20, mode=d.pick('linear', 'nearest'), padding_mode=d.pick('zeros', 'border', 'reflection'),
           align_corners=d.pick(0, 1), tolerance=1e-3)


def grid_of_volume(d):
    d.case('AffineGrid', [d.normal(2, 3, 4), [2, 3, *sides(d, 3, 1 << 12)]], constants=[1], opset=20, align_corners=d.pick(0, 1))


def regions(d):
    dtype, batch, count = d.pick(F32, F64), d.pick(1, 3), d.pick(1, 20)
    x = d.normal(batch, d.pick(1, 8), 30, 40, dtype=dtype)
    corners = d.rng.random((count, 2)) * 50 - 5
    boxes = np.concatenate([corners, corners + d.rng.random((count, 2)) * 30], 1).astype(dtype)
    d.case('RoiAlign', [x, boxes, d.ints(0, batch, count)], opset=16, output_height=d.pick(1, 5), output_width=d.pick(3, 7),
           sampling_ratio=d.pick(0, 3), spatial_scale=d.pick(1.0, 0.5), mode=d.pick('avg', 'max'), tolerance=1e-3,
           coordinate_transformation_mode=d.pick('half_pixel', 'output_half_pixel'))


def suppression(d):
    batch, classes, count = d.pick(1, 3), d.pick(1, 5), d.pick(6, 80, 400)
    boxes = d.rng.random((batch, count, 4)).astype(F32) * 60
    centered = d.pick(0, 1)
    if centered:
        boxes[..., 2:] += 5
    limits = [np.int64(d.pick(3, 1000)), F32(d.pick(0.0, 0.3, 0.7)), *d.pick([], [F32(0.4)])]
    d.case('NonMaxSuppression', [boxes, d.rng.random((batch, classes, count)).astype(F32), *limits], constants=[2, 3, 4],
           center_point_box=centered)


def pool(d):
    """Windows that pads by name, uneven pads, places by columns, norms of one, and images of bytes."""
    count = d.pick(1, 2, 2, 3)
    kind = d.pick('MaxPool', 'MaxPool', 'AveragePool', 'LpPool')
    dtype = d.pick(F32, F64, I8, U8) if kind == 'MaxPool' else F32
    x = d.data((d.pick(1, 2), d.pick(1, 3, 20), *[n + 8 for n in sides(d, count, 1 << 11)]), dtype)
    kernel = [d.number(1, 5) for _ in range(count)]
    strides = [min(d.number(1, 4), k) for k in kernel]  # what lies between windows, onnxruntime pads by less than nothing
    options = {'strides': strides, 'kernel_shape': kernel, 'tolerance': 1e-3, 'opset': 19}
    if d.chance(0.5):
        options['auto_pad'] = d.pick('SAME_UPPER', 'SAME_LOWER', 'VALID')
    else:
        options['pads'] = [d.number(0, k) for k in kernel * 2]
        if d.chance(0.3):
            options['dilations'] = [d.number(1, 3) for _ in range(count)]
    if kind == 'AveragePool':
        options['count_include_pad'] = d.pick(0, 1)
    elif kind == 'LpPool':
        options['p'] = d.pick(1, 2, 3)
    elif dtype in (F32, F64):
        options |= {'outputs': d.pick(1, 2), 'storage_order': d.pick(0, 0, 1)}
    d.case(kind, [x], **options)


def pool_of_all(d):
    count = d.pick(1, 2, 3)
    kind = d.pick('GlobalLpPool', 'GlobalAveragePool', 'GlobalMaxPool')
    x = d.normal(d.pick(1, 3), d.pick(1, 20), *sides(d, count, 1 << 12))
    d.case(kind, [x], tolerance=1e-3, **({'p': d.pick(1, 2, 3)} if kind == 'GlobalLpPool' else {}))


def unpool(d):
    shape = d.pick(1, 2), d.pick(1, 8), d.pick(4, 16), d.pick(6, 20)
    batch, channels, height, width = shape
    corners = (2 * np.arange(height)[:, None] * 2 * width + 2 * np.arange(width)).astype(I64)
    plane = 4 * height * width
    base = (np.arange(batch * channels) * plane).reshape(batch, channels, 1, 1)
    at = corners + base + d.pick(0, 1) + 2 * width * d.pick(0, 1)
    d.case('MaxUnpool', [d.normal(*shape), at], kernel_shape=[2, 2], strides=[2, 2])


def windows_of(d, count, most):
    kernel = [d.number(1, 5) for _ in range(count)]
    options = {'strides': [d.number(1, 3) for _ in range(count)], 'kernel_shape': kernel}
    if d.chance(0.4):
        options['auto_pad'] = d.pick('SAME_UPPER', 'SAME_LOWER', 'VALID')
    else:
        options |= {'pads': [d.number(0, k) for k in kernel * 2], 'dilations': [d.number(1, 3) for _ in range(count)]}
    return [n + 8 for n in sides(d, count, most)], kernel, options


def conv(d):
    """Uneven pads and pads by name, with and without a bias, weights that the model is given."""
    group, count = d.pick(1, 1, 2, 3), d.pick(1, 2, 2, 3)
    lengths, kernel, options = windows_of(d, count, 1 << 10)
    channels, results = group * d.number(1, 9), group * d.number(1, 9)
    inputs = [d.normal(d.pick(1, 3), channels, *lengths), d.normal(results, channels // group, *kernel) * F32(0.3)]
    inputs += [d.normal(results)] if d.chance(0.6) else []
    d.case('Conv', inputs, constants=d.pick([1, 2], []), group=group, tolerance=1e-3, **options)


def conv_transposed(d):
    group, count = d.pick(1, 1, 2, 3), d.pick(1, 2, 2, 3)
    kernel = [d.number(1, 5) for _ in range(count)]
    options = {'strides': [d.number(1, 4) for _ in range(count)], 'kernel_shape': kernel, 'group': group}
    if d.chance(0.3):
        options |= {'auto_pad': d.pick('SAME_UPPER', 'SAME_LOWER', 'VALID'), 'strides': [min(map(min, zip(kernel, options['strides'])))] * count}
    else:
        options |= {'pads': [d.number(0, k) for k in kernel * 2]}
        options['output_padding'] = [d.number(0, s) for s in options['strides']]
    channels, results = group * d.number(1, 9), d.number(1, 9)
    inputs = [d.normal(d.pick(1, 3), channels, *[n + 4 for n in sides(d, count, 1 << 9)]),
              d.normal(channels, results, *kernel) * F32(0.3)]
    inputs += [d.normal(results * group)] if d.chance(0.6) else []
    d.case('ConvTranspose', inputs, constants=d.pick([1, 2], []), tolerance=1e-3, **options)


def conv_of_bytes(d):
    """Scales and zeros of each channel, a bias, groups."""
    group, count = d.pick(1, 1, 2), d.pick(1, 2, 2)
    lengths, kernel, options = windows_of(d, count, 1 << 10)
    channels, results = group * d.number(1, 20), group * d.number(1, 20)
    kind = d.pick(U8, I8)
    image = d.ints(-100 if kind == I8 else 0, 120, d.pick(1, 2), channels, *lengths, dtype=kind)
    of_weights = d.pick(I8, U8) if kind == U8 else I8
    weights = d.ints(-100 if of_weights == I8 else 0, 120, results, channels // group, *kernel, dtype=of_weights)
    zero = kind(d.pick(0, 3, 90))
    each = results if d.chance(0.6) else ()
    shape = (each,) if each else ()
    if d.chance(0.3):
        inputs = [image, weights, zero] if d.chance(0.6) else [image, weights]
        if len(inputs) == 3 and d.chance(0.6):
            inputs.append(of_weights(5))
        d.case('ConvInteger', inputs, constants=[1, 2, 3], group=group, **options)
        return
    scales = (np.abs(d.normal(*shape)) * F32(0.002) + F32(0.003)).astype(F32)
    zeros = np.zeros(shape, of_weights) if of_weights == I8 else np.full(shape, 7, of_weights)
    inputs = [image, F32(0.02), zero, weights, scales, zeros, F32(d.pick(0.05, 0.5)), kind(d.pick(0, 9, 100))]
    inputs += [d.ints(-2000, 2000, results, dtype=I32)] if d.chance(0.6) else []
    d.case('QLinearConv', inputs, constants=[1, 2, 3, 4, 5, 6, 7, 8], group=group, tolerance=1e-2, **options)


def product_of_bytes(d):
    """Zeros of rows and columns, batches, both kinds of bytes."""
    m, k, n = (d.power(0, 7) for _ in range(3))
    batch = d.pick((), (), (3,), (2, 3))
    first, second = d.pick((U8, I8), (U8, U8), (I8, I8))
    a = d.ints(-100 if first == I8 else 0, 120, *batch, m, k, dtype=first)
    b = d.ints(-100 if second == I8 else 0, 120, *d.pick(batch, ()), k, n, dtype=second)
    if d.chance(0.5):
        zeros = d.pick([], [first(9)], [first(9), second(7)])
        if len(zeros) == 2 and b.ndim == 2 and d.chance(0.6):
            zeros[1] = d.ints(0, 20, n, dtype=second)
        d.case('MatMulInteger', [a, b, *zeros], constants=d.pick([], [1, 2, 3]))
        return
    shape = (n,) if d.chance(0.5) and b.ndim == 2 else ()
    scales, zeros = (np.abs(d.normal(*shape)) * F32(0.01) + F32(0.01)).astype(F32), np.full(shape, 5, second)
    result = first
    d.case('QLinearMatMul', [a, F32(0.02), first(9), b, scales, zeros, F32(d.pick(0.1, 0.9)), result(d.pick(0, 60))],
           constants=[1, 2, 4, 5, 6, 7] + d.pick([], [3]), tolerance=1e-2)


def quantised(d):
    """In 8 and 16 bits, by tensor, axis and block; sums of 32 bits too."""
    kind, form = d.pick('QuantizeLinear', 'DequantizeLinear'), d.pick('tensor', 'axis', 'block')
    dtype = d.pick(I8, U8, I16, U16) if kind == 'QuantizeLinear' or d.chance(0.8) else I32
    shape = list(d.shape(d.number(1, 5), 8, 15))
    axis = d.number(0, len(shape))
    block = d.pick(2, 3, 16)
    if form == 'block':
        shape[axis] = max(1, shape[axis] // block) * block
    scales = {'tensor': (), 'axis': (shape[axis],), 'block': (*shape[:axis], shape[axis] // block, *shape[axis + 1:])}[form]
    scale = (np.abs(d.normal(*scales)) * F32(0.02) + F32(0.01)).astype(F32)
    zero = d.ints(0, 9, *scales, dtype=dtype) if dtype != I32 else None
    x = d.normal(*shape) if kind == 'QuantizeLinear' else d.data(shape, dtype)
    options = {'axis': d.pick(axis, axis - len(shape))} | ({'block_size': block} if form == 'block' else {})
    if kind == 'QuantizeLinear' and dtype == U8 and d.chance(0.5):
        zero = None
    d.case(kind, [x, scale, zero] if zero is not None else [x, scale], constants=d.pick([], [1, 2]), opset=21, tolerance=1e-2, **options)


def recurrent(d):
    """With lengths, states at the beginning, peepholes, other functions and both forms of GRU."""
    kind, gates = d.pick(('LSTM', 4), ('GRU', 3), ('RNN', 1))
    steps, batch, width, hidden, ways = d.pick(1, 4, 9), d.pick(1, 3), d.pick(3, 20), d.pick(5, 16), d.pick(1, 2)
    inputs = [d.normal(steps, batch, width), d.normal(ways, gates * hidden, width) * F32(0.3),
              d.normal(ways, gates * hidden, hidden) * F32(0.3), d.normal(ways, 2 * gates * hidden) if d.chance(0.7) else None]
    inputs.append(d.ints(1, steps + 1, batch, dtype=I32) if d.chance(0.4) else None)
    inputs.append(d.normal(ways, batch, hidden) if d.chance(0.5) else None)
    options = {'hidden_size': hidden, 'tolerance': 1e-3, 'outputs': 3 if kind == 'LSTM' else 2,
               'direction': d.pick('forward', 'reverse') if ways == 1 else 'bidirectional'}
    if kind == 'LSTM':
        inputs += [d.normal(ways, batch, hidden) if d.chance(0.5) else None, d.normal(ways, 3 * hidden) if d.chance(0.3) else None]
    elif kind == 'GRU':
        options['linear_before_reset'] = d.pick(0, 1)
    else:
        options['activations'] = [d.pick('Relu', 'Tanh', 'Sigmoid')] * ways
    if d.chance(0.3):
        options['clip'] = 0.7
    while inputs[-1] is None:
        inputs.pop()
    d.case(kind, inputs, constants=d.pick([1, 2, 3], []), **options)


def transform(d):
    """Along any axis, back, halves, and of other lengths than there are."""
    rank = d.number(2, 5)
    shape = [max(2, n) for n in d.shape(rank - 1, 6, 12)]
    axis, length = d.number(0, rank - 1), d.pick(None, None, np.int64(d.pick(7, 32, 60)))
    back, parts = d.pick(0, 1), d.pick(1, 2)
    options = {'inverse': back, 'tolerance': 1e-3}
    if parts == 1 and not back:
        options['onesided'] = d.pick(0, 1)
    x = d.normal(*shape, parts, dtype=d.pick(F32, F64))
    if d.chance(0.3):
        d.case('DFT', [x, length], constants=[1], opset=17, axis=axis, **options)
    else:
        d.case('DFT', [x, length, np.int64(axis)], constants=[1, 2], opset=20, **options)


def short_transforms(d):
    dtype = d.pick(F32, F64)
    frame, step = d.pick(16, 60, 128), d.pick(5, 16, 40)
    x = d.normal(d.pick(1, 3), d.pick(200, 1000), 1, dtype=dtype)
    window = d.pick(None, d.normal(frame, dtype=dtype))
    length = np.int64(frame) if window is None or d.chance(0.5) else None
    d.case('STFT', [x, np.int64(step), window] + ([length] if length is not None else []), constants=[1, 3], opset=17,
           onesided=d.pick(0, 1), tolerance=1e-3)


def window(d):
    kind = d.pick('HannWindow', 'HammingWindow', 'BlackmanWindow', 'MelWeightMatrix')
    if kind == 'MelWeightMatrix':
        d.case(kind, [np.int64(d.pick(8, 40)), np.int64(d.pick(64, 400)), np.int64(16000), F32(d.pick(0, 60)), F32(7600)],
               constants=d.pick([], [0, 1, 2, 3, 4]), opset=17)
    else:
        d.case(kind, [np.int64(d.power(1, 13))], opset=17, periodic=d.pick(0, 1), output_datatype=d.pick(1, 11))


def norm(d):
    kind = d.pick('BatchNormalization', 'InstanceNormalization', 'GroupNormalization', 'LayerNormalization', 'LpNormalization',
                  'MeanVarianceNormalization', 'LRN')
    dtype = d.pick(F32, F32, F64) if kind in ('BatchNormalization', 'LayerNormalization', 'LpNormalization') else F32
    shape = d.shape(d.number(2 if kind != 'InstanceNormalization' else 3, 6), 8, 15)
    x = d.normal(*shape, dtype=dtype)
    if kind == 'LpNormalization':
        d.case(kind, [x], p=d.pick(1, 2), axis=d.number(-x.ndim, x.ndim), tolerance=1e-3)
    elif kind == 'MeanVarianceNormalization':
        d.case(kind, [x], axes=sorted({d.number(0, x.ndim) for _ in range(2)}), tolerance=1e-2)
    elif kind == 'LRN':
        d.case(kind, [d.normal(2, d.pick(3, 20), 9, 11)], size=d.pick(1, 3, 5, 7), alpha=d.pick(1e-4, 0.1), beta=d.pick(0.75, 0.5), bias=2.0)
    elif kind == 'LayerNormalization':
        axis = d.number(-x.ndim, 0)
        like = x.shape[axis:]
        bias = [d.normal(*like, dtype=dtype)] if d.chance(0.5) else []
        d.case(kind, [x, d.normal(*like, dtype=dtype), *bias], axis=axis, outputs=d.pick(1, 3) if dtype == F32 else 1, epsilon=1e-3,
               tolerance=1e-3)
    elif kind == 'GroupNormalization':
        groups = d.pick(1, 2, 3)
        x = d.normal(2, groups * d.number(1, 5), *shape[2:])
        opset = d.pick(18, 21)
        each = groups if opset == 18 else x.shape[1]
        d.case(kind, [x, d.normal(each), d.normal(each)], num_groups=groups, opset=opset, epsilon=1e-3, tolerance=1e-3)
    else:
        weights = [np.abs(d.normal(shape[1], dtype=dtype)) + dtype(0.1) for _ in range(4 if kind == 'BatchNormalization' else 2)]
        d.case(kind, [x, *weights], constants=d.pick([], [1, 2, 3, 4]), epsilon=1e-3, tolerance=1e-2)


def loss(d):
    kind = d.pick('SoftmaxCrossEntropyLoss', 'NegativeLogLikelihoodLoss')
    classes, rest = d.pick(3, 40), d.shape(d.number(1, 3), 2, 8)
    x, labels = d.normal(rest[0], classes, *rest[1:]), d.ints(0, classes, *rest, dtype=d.pick(I64, I32))
    options = {'reduction': d.pick('mean', 'sum', 'none')}
    if d.chance(0.4):
        options['ignore_index'] = d.pick(0, -1)
        if options['ignore_index'] < 0:
            labels[d.bits(*rest, share=0.2)] = -1
    weights = [np.abs(d.normal(classes))] if d.chance(0.5) else []
    if kind[0] == 'S':
        options['outputs'] = d.pick(1, 2)
    d.case(kind, [x, labels, *weights], opset=13, tolerance=1e-3, **options)


EQUATIONS = ('ii->i', 'ijj->i', 'iij->ji', '...ij->...ji', '...ij,...jk->...ik', 'bij,bjk', 'ij,jk,kl->il', 'i,j->ij', 'i,i->', 'ij->',
             'bhid,bhjd->bhij', 'bhij,bhjd->bhid', 'bi,bj,bk->bijk', '...a,ab->...b', 'abc,cb->ac', 'ab,b->a', 'ij,kl->ikjl', 'iij,jk->ik',
             'abcd,cd->ab', 'ba,bc->ac', 'ab,ab->b', 'abcde->edcba', 'a...b->b...a', 'ab...,b->a...', 'ij', 'ba', 'abi,abj,ij->ab')


def einsum(d):
    equation, dtype = d.pick(*EQUATIONS), d.pick(F32, F32, F64, I32, I64)
    size = {letter: d.power(1, 4) for letter in 'abcdehijkl'}
    dots = d.shape(d.pick(1, 2), 1, 4)
    terms = equation.split('->')[0].split(',')
    shapes = []
    for term in terms:
        head, found, tail = term.partition('...')
        shapes.append((*(size[c] for c in head), *(dots if found else ()), *(size[c] for c in tail)))
    d.case('Einsum', [d.data(shape, dtype) for shape in shapes], equation=equation, tolerance=1e-3)


def gemm(d):
    """All shapes that a bias broadcasts from, and doubles."""
    dtype = d.pick(F32, F32, F64)
    m, k, n = (d.power(0, 7) for _ in range(3))
    a, b = d.pick(0, 1), d.pick(0, 1)
    inputs = [d.normal(*((k, m) if a else (m, k)), dtype=dtype), d.normal(*((n, k) if b else (k, n)), dtype=dtype)]
    bias = d.pick(None, (), (1,), (n,), (1, n), (m, 1), (m, n))
    inputs += [d.normal(*bias, dtype=dtype)] if bias is not None else []
    d.case('Gemm', inputs, transA=a, transB=b, alpha=d.pick(1.0, 0.3), beta=d.pick(1.0, 2.5, 0.0), constants=d.pick([], [1], [2]),
           tolerance=1e-3)


def product(d):
    """Vectors, batches of many dimensions that broadcast, integers."""
    dtype = d.pick(F32, F32, F64, I32, I64)
    batch = d.shape(d.number(1, 5), 0, 6)
    m, k, n = (d.power(0, 5.5) for _ in range(3))
    left = d.pick((k,), (m, k), (*batch, m, k), (*d.narrowed(batch, 0.4), m, k))
    right = d.pick((k,), (k, n), (*batch, k, n), (*d.narrowed(batch, 0.4), k, n))
    d.case('MatMul', [d.data(left, dtype), d.data(right, dtype)], tolerance=1e-3)


def blocks(d):
    size, dtype = d.pick(1, 2, 3), d.pick(F32, F64, U8)
    batch, channels, height, width = d.pick(1, 3), d.pick(1, 5), d.pick(1, 9), d.pick(3, 10)
    if d.chance(0.5):
        d.case('DepthToSpace', [d.data((batch, channels * size * size, height, width), dtype)], blocksize=size, mode=d.pick('DCR', 'CRD'))
    else:
        d.case('SpaceToDepth', [d.data((batch, channels, height * size, width * size), dtype)], blocksize=size)


def columns_to_image(d):
    count = d.pick(1, 2, 2, 3)
    kernel = [d.number(1, 4) for _ in range(count)]
    strides = [d.number(1, 4) for _ in kernel]
    dilations = [d.number(1, 3) if count == 2 else 1 for _ in kernel]  # onnxruntime takes others wrongly
    pads = [d.number(0, 2) for _ in kernel * 2]
    image = [d.number(6, 20) for _ in kernel]
    number = math.prod((n + a + b - dil * (k - 1) - 1) // s + 1
                       for n, a, b, k, dil, s in zip(image, pads, pads[count:], kernel, dilations, strides))
    x = d.normal(d.pick(1, 2), d.pick(1, 5) * math.prod(kernel), number)
    d.case('Col2Im', [x, image, kernel], constants=[1, 2], dilations=dilations, strides=strides, pads=pads)


def deformed(d):
    group, of_offsets = d.pick(1, 2), d.pick(1, 2)
    channels, results, kernel, stride = 4 * d.pick(1, 2), 4, d.pick(1, 2, 3), d.pick(1, 2)
    pads = [d.number(0, 2) for _ in range(4)]
    height, width = 11, 14
    out = [(n + pads[i] + pads[i + 2] - kernel) // stride + 1 for i, n in enumerate((height, width))]
    inputs = [d.normal(2, channels, height, width), d.normal(results, channels // group, kernel, kernel),
              d.normal(2, of_offsets * 2 * kernel * kernel, *out), d.normal(results) if d.chance(0.5) else None,
              np.abs(d.normal(2, of_offsets * kernel * kernel, *out)) if d.chance(0.5) else None]
    while inputs[-1] is None:
        inputs.pop()
    d.case('DeformConv', inputs, opset=19, pads=pads, strides=[stride] * 2, group=group, offset_group=of_offsets,
           kernel_shape=[kernel] * 2, tolerance=1e-3)


CLASSES = {
    'pictures': (4, (resize, resize, resize, resize_before, sample_of_volume, grid_of_volume, regions, suppression, pool, pool, pool,
                     pool_of_all, unpool)),
    'weighed': (4, (conv, conv, conv_transposed, conv_of_bytes, conv_of_bytes, product_of_bytes, product_of_bytes, quantised, quantised,
                    deformed)),
    'sums': (4, (recurrent, recurrent, einsum, einsum, gemm, product, norm, norm, loss)),
    'signals': (2, (transform, transform, short_transforms, window, blocks, columns_to_image)),
}
