"""Draws of layers: pictures, pooling, products, convolutions, recurrent layers and transforms (drawn.py)."""
from __future__ import annotations

import math

import numpy as np

from cases import F32, I8, I64, U8
from dice import tag

LARGEST = 1 << 20  # elements of an image
PRODUCTS = 2e8     # of a convolution


def picture(d):
    return d.normal(d.pick(1, 2), d.pick(1, 3, 16, 64), d.pick(12, 31, 64, 100), d.pick(12, 33, 64, 90))


def resize(d):
    x = picture(d)
    scales = [d.pick(0.5, 0.75, 1.375, 2, 3, 4) for _ in range(2)]  # exact, so that all round the lengths alike
    if x.size * math.prod(scales) > LARGEST:
        scales = [0.5, 2]
    mode = d.pick('nearest', 'linear', 'cubic')
    options = {'nearest_mode': d.pick('floor', 'round_prefer_floor', 'ceil')} if mode == 'nearest' else {}
    coordinates = ['half_pixel', 'asymmetric', 'pytorch_half_pixel']
    if all(float(n * scale).is_integer() for n, scale in zip(x.shape[2:], scales)):
        coordinates.append('align_corners')  # else onnxruntime aligns the rounded length, ONNX's reference the one not rounded
    d.case('Resize', [x, None, np.array([1, 1, *scales], F32)], note=f'by {tag(scales)}', constants=[2], mode=mode,
           coordinate_transformation_mode=d.pick(*coordinates), tolerance=1e-2, **options)


def sample(d):
    x = picture(d)
    grid = d.rng.uniform(-1.1, 1.1, (len(x), d.pick(16, 50), d.pick(16, 50), 2)).astype(F32)
    d.case('GridSample', [x, grid], opset=16, mode=d.pick('bilinear', 'nearest', 'bicubic'),
           padding_mode=d.pick('zeros', 'border', 'reflection'), align_corners=d.pick(0, 1), tolerance=1e-2)


def affine_grid(d):
    sizes = picture(d).shape
    d.case('AffineGrid', [d.normal(sizes[0], 2, 3), sizes], constants=[1], opset=20, align_corners=d.pick(0, 1))


def regions(d):
    x, count = picture(d), d.pick(8, 64)
    corners = d.rng.random((count, 2)) * 10
    boxes = np.concatenate([corners, corners + d.rng.random((count, 2)) * 10 + 1], 1).astype(F32)
    if d.chance(0.5):
        d.case('RoiAlign', [x, boxes, np.zeros(count, I64)], opset=16, output_height=d.pick(7, 14), output_width=7,
               sampling_ratio=d.pick(0, 2), mode=d.pick('avg', 'max'), tolerance=1e-3)
    else:
        d.case('MaxRoiPool', [x, np.concatenate([np.zeros((count, 1), F32), np.floor(boxes)], 1)], pooled_shape=[7, 7])


def suppression(d):
    count, classes = d.pick(100, 1000), d.pick(1, 8)
    corners = d.rng.random((1, count, 2)) * 100
    boxes = np.concatenate([corners, corners + 20], -1).astype(F32)
    scores = d.rng.random((1, classes, count)).astype(F32)
    limits = [np.int64(d.pick(20, 100)), F32(d.pick(0.3, 0.7)), F32(0.1)]
    d.case('NonMaxSuppression', [boxes, scores, *limits], constants=[2, 3, 4])


def pooled(d):
    dims = d.pick(1, 2, 2, 2, 3)
    side = d.pick(*{1: (256, 2000), 2: (14, 28, 57), 3: (8, 16)}[dims])
    x = d.normal(d.pick(1, 1, 8), d.pick(3, 16, 64, 100), *[side] * dims)
    return x if x.size <= LARGEST else x[:1]


def pool_of_all(d):
    d.case(d.pick('GlobalAveragePool', 'GlobalMaxPool'), [pooled(d)])


def begins_inside(side, reach, stride, pad):
    """Whether the last window begins within the image where lengths are rounded up. Where it does not, the inference of shapes
    and the operators of onnxruntime disagree about the length."""
    return math.ceil((side + 2 * pad - reach) / stride) * stride < side + pad


def pool(d):
    kind = d.pick('MaxPool', 'MaxPool', 'AveragePool', 'LpPool')
    x = pooled(d)
    dims, side = x.ndim - 2, x.shape[-1]
    kernel = [d.pick(2, 3, 3, 5, 7) for _ in range(dims)]
    strides = [d.pick(1, 2, 2, 3) for _ in range(dims)]
    pads = [d.number(0, k // 2 + 1) for k in kernel]
    options, dilation = {}, 1
    if kind == 'AveragePool':
        options['count_include_pad'] = d.pick(0, 1)
    elif kind == 'MaxPool' and d.chance(0.2):
        dilation = 2
        options['dilations'] = [dilation] * dims
    elif kind == 'MaxPool':
        options['outputs'] = d.pick(1, 1, 2)
    reaches = [(k - 1) * dilation + 1 for k in kernel]
    if kind != 'LpPool' and all(map(begins_inside, [side] * dims, reaches, strides, pads)):
        options['ceil_mode'] = d.pick(0, 0, 1)
    d.case(kind, [x], kernel_shape=kernel, strides=strides, pads=pads * 2, tolerance=1e-3, **options)


def product(d):
    m, k, n = (d.power(0, 8.5) for _ in range(3))
    d.case('MatMul', [d.normal(m, k), d.normal(k, n)], constants=d.pick([], [1]), tolerance=1e-3)


def product_of_batches(d):
    batch = d.shape(d.pick(1, 2), low=2, high=10)
    m, k, n = (d.power(0, 6) for _ in range(3))
    other = batch if d.chance(0.6) else batch[1:]
    d.case('MatMul', [d.normal(*batch, m, k), d.normal(*other, k, n)], tolerance=1e-3)


def gemm(d):
    m, k, n = (d.power(0, 8.5) for _ in range(3))
    a, b = d.pick(0, 1), d.pick(0, 1)
    left = d.normal(k, m) if a else d.normal(m, k)
    right = d.normal(n, k) if b else d.normal(k, n)
    d.case('Gemm', [left, right, d.normal(n)], constants=[1, 2], transA=a, transB=b, alpha=d.pick(1.0, 0.5), tolerance=1e-3)


def einsum(d):
    equation = d.pick('abc,cd->abd', 'abc,abd->acd', 'abc,adc->abd', 'abc,bcd->ad', 'abcd->abd', 'abc->cab', 'ab,ac->abc',
                      'abc,ac->ab', 'abcd,ad->abc', 'abc,abc->c', 'ab,bc,cd->ad', 'abc,abc->ab')
    size = {letter: d.power(2, 5.5) for letter in 'abcd'}
    terms = equation.split('->')[0].split(',')
    d.case('Einsum', [d.normal(*(size[letter] for letter in term)) for term in terms], equation=equation, tolerance=1e-2)


def product_of_bytes(d):
    m, k, n = (d.power(0, 8.5) for _ in range(3))
    a = d.ints(0, 255, m, k, dtype=U8)
    if d.chance(0.5):
        d.case('MatMulInteger', [a, d.ints(-100, 100, k, n, dtype=I8)], constants=d.pick([], [1]))
        return
    b = d.ints(0, 255, k, n, dtype=U8)
    d.case('QLinearMatMul', [a, F32(0.02), U8(120), b, F32(0.01), U8(110), F32(0.5), U8(128)],
           constants=[1, 2, 3, 4, 5, 6, 7], tolerance=1e-2)


def convolution(d, channels, results, group):
    """Shapes of an image and of weights, and attributes, such that the work is bounded."""
    dims = d.pick(1, 2, 2, 2, 2, 3)
    side = d.pick(*{1: (100, 500, 3000), 2: (7, 14, 28, 56), 3: (6, 12)}[dims])
    kernel = [min(d.pick(1, 2, 3, 3, 5, 7), 3 if dims == 3 else 7) for _ in range(dims)]
    if d.chance(0.5):
        kernel = kernel[:1] * dims
    stride, dilation, batch = d.pick(1, 1, 2), d.pick(1, 1, 1, 2), d.pick(1, 1, 4, 16)
    pads = [d.number(0, (k - 1) * dilation // 2 + 1) for k in kernel]
    work = channels * results / group * math.prod(kernel) / stride ** dims
    while batch * side ** dims * work > PRODUCTS and (batch > 1 or side > 7):
        batch, side = max(1, batch // 2), max(7, side * 3 // 4)
    side = max(side, (max(kernel) - 1) * dilation + 1)
    attributes = {'strides': [stride] * dims, 'dilations': [dilation] * dims, 'pads': pads * 2, 'group': group}
    return (batch, channels, *[side] * dims), (results, channels // group, *kernel), attributes


def channels_of(d):
    return d.pick(1, 3, 8, 16, 32, 64, 128), d.pick(4, 16, 32, 48, 64, 96, 128)


def grouped_channels(d):
    """Of a convolution in groups, half of the time one a channel."""
    if d.chance(0.5):
        channels = d.pick(16, 32, 64, 96, 144)
        return channels, channels * d.pick(1, 1, 2), channels
    group = d.pick(2, 4, 8)
    return group * d.pick(2, 4, 8, 16), group * d.pick(2, 4, 8, 16), group


def weighed(d, channels, results, group):
    x, w, attributes = convolution(d, channels, results, group)
    weights = d.normal(*w) * F32(math.prod(w[1:]) ** -0.5)
    d.case('Conv', [d.normal(*x), weights, d.normal(results)], constants=[1, 2], tolerance=1e-3, **attributes)


def conv(d):
    weighed(d, *channels_of(d), 1)


def conv_in_groups(d):
    weighed(d, *grouped_channels(d))


def conv_transposed(d):
    channels, results = channels_of(d)
    x, w, attributes = convolution(d, channels, results, 1)
    group = attributes['group'] = d.pick(1, 1, 1, channels)
    weights = d.normal(channels, max(1, results // group), *w[2:]) * F32(0.1)
    inputs = [d.normal(*x), weights, d.normal(weights.shape[1] * group)]
    d.case('ConvTranspose', inputs, constants=[1, 2], tolerance=1e-3, **attributes)


def conv_of_bytes(d):
    x, w, attributes = convolution(d, *channels_of(d), 1)
    image = d.ints(0, 255, *x, dtype=U8)
    if d.chance(0.5):
        d.case('ConvInteger', [image, d.ints(0, 255, *w, dtype=U8)], constants=[1], **attributes)
        return
    weights = [d.ints(-100, 100, *w, dtype=I8), F32(0.01), I8(0)]
    d.case('QLinearConv', [image, F32(0.02), U8(120), *weights, F32(0.5), U8(128)], constants=[1, 2, 3, 4, 5, 6, 7],
           tolerance=1e-2, **attributes)


def deformed(d):
    channels, side = d.pick(8, 32), d.pick(14, 28)
    inputs = [d.normal(1, channels, side, side), d.normal(16, channels, 3, 3), d.normal(1, 18, side, side)]
    d.case('DeformConv', inputs, constants=[1], opset=19, pads=[1] * 4, kernel_shape=[3, 3], tolerance=1e-3)


def recurrent(d):
    kind, gates = d.pick(('LSTM', 4), ('GRU', 3), ('RNN', 1))
    steps, batch, width, hidden = d.pick(5, 20, 60), d.pick(1, 4, 16), d.pick(8, 40, 128), d.pick(16, 50, 128)
    ways = d.pick(1, 2)
    shapes = (ways, gates * hidden, width), (ways, gates * hidden, hidden), (ways, 2 * gates * hidden)
    weights = [d.normal(*shape) * F32(0.1) for shape in shapes]
    d.case(kind, [d.normal(steps, batch, width), *weights], constants=[1, 2, 3], hidden_size=hidden,
           direction=d.pick('forward', 'reverse') if ways == 1 else 'bidirectional', outputs=d.pick(1, 2), tolerance=1e-3)


def transform(d):
    if d.chance(0.5):
        x = d.normal(d.pick(4, 64), d.pick(64, 100, 243, 509, 1024), d.pick(1, 2))
        d.case('DFT', [x, None, np.int64(1)], constants=[2], opset=20, tolerance=1e-3)
    else:
        inputs = [d.normal(1, d.pick(4000, 16000), 1), np.int64(d.pick(64, 160)), d.normal(d.pick(256, 400))]
        d.case('STFT', inputs, constants=[1, 2], tolerance=1e-3)


def determinant(d):
    side = d.pick(3, 8)
    d.case('Det', [d.normal(d.pick(10, 1000), side, side)], tolerance=1e-2)


def shift(d):
    shape = d.shape()
    x, by = d.ints(0, 255, *shape, dtype=np.uint32), d.ints(0, 8, *shape, dtype=np.uint32)
    d.case('BitShift', [x, by], direction='RIGHT')


def numbers(d):
    d.case('Range', [F32(0), F32(d.power(10, 18)), F32(1)], constants=[0, 1, 2])


def quantised(d):
    kind = d.pick('QuantizeLinear', 'DequantizeLinear', 'DynamicQuantizeLinear')
    shape = d.shape(d.pick(2, 3, 4))
    if kind == 'DynamicQuantizeLinear':
        d.case(kind, [d.normal(*shape)], outputs=3)
        return
    axis = d.number(0, len(shape))
    scale, zero = F32(0.02), I8(0)
    if d.chance(0.5):  # one of each for every place along the axis
        scale, zero = np.abs(d.normal(shape[axis])) * F32(0.02) + F32(0.01), np.zeros(shape[axis], I8)
    x = d.normal(*shape) if kind == 'QuantizeLinear' else d.data(shape, I8)
    d.case(kind, [x, scale, zero], constants=[1, 2], axis=axis, tolerance=1e-2)
