"""Draws of sequences, optional values and bodies, and of operators of com.microsoft (drawn.py)."""
from __future__ import annotations

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from cases import F32, F64, I8, I32, I64, U8

MICROSOFT = 'com.microsoft'
node = helper.make_node


def constant(name, value):
    return node('Constant', [], [name], value=numpy_helper.from_array(np.asarray(value)))


def value(name, kind=TensorProto.FLOAT, shape=None):
    return helper.make_tensor_value_info(name, kind, shape)


def sequences(d):
    shape = d.shape(d.number(1, 5), 8, 14)
    axis = d.number(0, len(shape))
    x = d.data(shape, d.pick(F32, I64, F64))
    kind = d.pick('split', 'stack', 'edit', 'at')
    if kind == 'split':
        nodes = [constant('n', np.int64(d.number(1, shape[axis] + 1))), node('SplitToSequence', ['x0', 'n'], ['s'], axis=axis),
                 node('SequenceLength', ['s'], ['y1']), node('ConcatFromSequence', ['s'], ['y0'], axis=axis)]
    elif kind == 'stack':
        nodes = [node('SplitToSequence', ['x0'], ['s'], axis=axis, keepdims=0),
                 node('ConcatFromSequence', ['s'], ['y0'], axis=d.number(-len(shape), len(shape)), new_axis=1), node('Size', ['x0'], ['y1'])]
    elif kind == 'edit':
        nodes = [constant('p', np.int64(d.pick(0, -1, 1))), node('SequenceConstruct', ['x0', 'x0', 'x0'], ['s']),
                 node('Abs', ['x0'], ['a']), node('SequenceInsert', ['s', 'a', 'p'], ['t']), node('SequenceErase', ['t'], ['u']),
                 node('ConcatFromSequence', ['u'], ['y0'], axis=axis), node('SequenceLength', ['u'], ['y1'])]
    else:
        nodes = [constant('p', np.int64(d.pick(0, -1))), node('SplitToSequence', ['x0'], ['s'], axis=axis),
                 node('SequenceAt', ['s', 'p'], ['y0']), node('SequenceLength', ['s'], ['y1'])]
    d.whole(f'sequence {kind}', [x], nodes, note=f'axis={axis}', outputs=2)


def loop(d):
    """So many times, or until a condition; what is carried and what is collected."""
    times, rows = d.pick(1, 5, 40), d.power(1, 9)
    limit = d.pick(2.0, 1e9)
    body = helper.make_graph(
        [node('Mul', ['h', 'x1'], ['m']), node('Tanh', ['m'], ['t']), node('Add', ['t', 'x0'], ['h_out']),
         node('ReduceSum', ['h_out'], ['sum'], keepdims=0), constant('limit', F32(limit * rows)), node('Less', ['sum', 'limit'], ['go_on']),
         node('Cast', ['i'], ['real'], to=1), node('Add', ['h_out', 'real'], ['each'])], 'body',
        [value('i', TensorProto.INT64, []), value('go', TensorProto.BOOL, []), value('h', shape=[rows])],
        [value('go_on', TensorProto.BOOL, []), value('h_out', shape=[rows]), value('each', shape=[rows])])
    d.whole('Loop', [d.normal(rows), d.normal(rows)], [constant('n', np.int64(times)), constant('yes', np.bool_(True)),
            node('Loop', ['n', 'yes', 'x0'], ['y0', 'y1'], body=body)], note=f'{times} times below {limit:g}', outputs=2, tolerance=1e-3)


def branch(d):
    rows = d.power(4, 12)
    sides = [helper.make_graph([node(kind, ['x0', 'x1'], [kind])], kind, [], [value(kind, shape=[rows])]) for kind in ('Mul', 'Sub')]
    d.whole('If', [d.normal(rows), d.normal(rows)],
            [node('ReduceSum', ['x0'], ['sum'], keepdims=0), constant('zero', F32(0)), node('Greater', ['sum', 'zero'], ['c']),
             node('If', ['c'], ['y0'], then_branch=sides[0], else_branch=sides[1])])


def scan(d):
    rows, width, ways = d.power(1, 6), d.power(1, 7), d.pick(0, 1)
    body = helper.make_graph([node('Add', ['s', 'e'], ['s_out']), node('Mul', ['s_out', 'e'], ['each'])], 'body',
                             [value('s', shape=[width]), value('e', shape=[width])],
                             [value('s_out', shape=[width]), value('each', shape=[width])])
    axis = d.pick(0, 1)
    x = d.normal(*((rows, width) if axis == 0 else (width, rows)))
    d.whole('Scan', [d.normal(width), x], [node('Scan', ['x0', 'x1'], ['y0', 'y1'], body=body, num_scan_inputs=1, scan_input_axes=[axis],
            scan_input_directions=[ways], scan_output_directions=[d.pick(0, 1)], scan_output_axes=[d.pick(0, 1)])],
            note=f'axis={axis} ways={ways}', outputs=2, tolerance=1e-3)


def map_of_sequence(d):
    shape = d.shape(d.number(1, 4), 6, 12)
    x = d.normal(*shape)
    body = helper.make_graph([node('Softmax', ['e'], ['r'], axis=0)], 'body', [value('e')], [value('r')])
    d.whole('SequenceMap', [x], [node('SequenceConstruct', ['x0', 'x0'], ['s']), node('SequenceMap', ['s'], ['t'], body=body),
            node('ConcatFromSequence', ['t'], ['y0'], axis=0)])


def optional(d):
    x = d.normal(*d.shape(d.number(1, 4), 6, 12))
    d.whole('Optional', [x], [node('Optional', ['x0'], ['o']), node('OptionalHasElement', ['o'], ['y1']),
            node('OptionalGetElement', ['o'], ['e']), node('Neg', ['e'], ['y0'])], outputs=2)


def shaped(d):
    """Shapes that come from data."""
    x = d.normal(*d.shape(d.number(1, 4), 6, 12))
    kind = d.pick('ConstantOfShape', 'NonZero', 'Compress')
    if kind == 'ConstantOfShape':
        filled = numpy_helper.from_array(np.array([3], d.pick(F32, I64, U8)))
        d.whole(kind, [x], [node('Shape', ['x0'], ['s']), node(kind, ['s'], ['y0'], value=filled)])
    else:
        nodes = [constant('z', F32(d.pick(0, 1.5))), node('Greater', ['x0', 'z'], ['c'])]
        more = [node('NonZero', ['c'], ['n']), node('Transpose', ['n'], ['t'], perm=[1, 0]), node('GatherND', ['x0', 't'], ['y0'])] \
            if kind == 'NonZero' else [constant('all', np.array([-1])), node('Reshape', ['c', 'all'], ['f']), node(kind, ['x0', 'f'], ['y0'])]
        d.whole(f'{kind} of a comparison', [x], nodes + more)


# --- com.microsoft

def fused(d):
    kind = d.pick('Gelu', 'FastGelu', 'QuickGelu', 'BiasGelu', 'FusedMatMul')
    if kind == 'FusedMatMul':
        m, k, n = (d.power(0, 7) for _ in range(3))
        a, b = d.pick(0, 1), d.pick(0, 1)
        batch = d.pick((), (3,))
        d.case(kind, [d.normal(*batch, *((k, m) if a else (m, k))), d.normal(*batch, *((n, k) if b else (k, n)))], transA=a, transB=b,
               alpha=d.pick(1.0, 0.3), domain=MICROSOFT, tolerance=1e-3)
        return
    shape = d.shape(d.number(1, 5), 8, 16)
    bias = [d.normal(shape[-1])] if kind == 'BiasGelu' or (kind == 'FastGelu' and d.chance(0.5)) else []
    d.case(kind, [d.normal(*shape), *bias], domain=MICROSOFT, tolerance=1e-3)


def skip_norm(d):
    kind = d.pick('SkipLayerNormalization', 'SkipSimplifiedLayerNormalization')
    shape = d.pick(1, 3), d.power(0, 6), d.power(2, 8)
    inputs = [d.normal(*shape), d.normal(*shape), d.normal(shape[-1])]
    inputs += [d.normal(shape[-1])] * (kind[4] == 'L') + ([d.normal(shape[-1])] if d.chance(0.5) else [])
    d.case(kind, inputs, domain=MICROSOFT, epsilon=1e-5, tolerance=1e-3)


def of_bytes(d):
    kind = d.pick('QLinearAdd', 'QLinearMul', 'QLinearSigmoid', 'QLinearLeakyRelu', 'QLinearConcat', 'QGemm',
                  'QLinearAveragePool', 'QLinearGlobalAveragePool', 'QLinearWhere')
    dtype = d.pick(U8, I8)
    scale, zero = (lambda: F32(d.rng.uniform(0.01, 0.05))), (lambda: dtype(d.number(0, 100)))
    options = {'domain': MICROSOFT, 'tolerance': 1e-2}

    def data(*shape, of=dtype):
        return d.ints(-100 if of == I8 else 0, 120, *shape, dtype=of)
    shape = d.shape(d.number(1, 5), 8, 16)
    if kind in ('QLinearAdd', 'QLinearMul'):
        other = d.narrowed(shape, 0.3)
        inputs = [data(*shape), scale(), zero(), data(*other), scale(), zero(), F32(0.07), zero()]
        d.case(kind, inputs, constants=d.pick([1, 2, 4, 5, 6, 7], [1, 2, 3, 4, 5, 6, 7]), **options)
    elif kind in ('QLinearSigmoid', 'QLinearLeakyRelu'):
        d.case(kind, [data(*shape), scale(), zero(), F32(0.03), zero()], constants=[1, 2, 3, 4], **options)
    elif kind == 'QLinearConcat':
        axis = d.number(0, len(shape))
        parts = [p for _ in range(d.number(1, 4)) for p in (data(*shape), scale(), zero())]
        d.case(kind, [F32(0.05), zero(), *parts], constants=[0, 1, *(i + 2 for i in range(len(parts)) if i % 3)], axis=axis, **options)
    elif kind == 'QGemm':
        m, k, n = (d.power(0, 7) for _ in range(3))
        a, b = d.pick(0, 1), d.pick(0, 1)
        each = () if d.chance(0.5) else (n,)
        scales = (np.abs(d.normal(*each)) * F32(0.01) + F32(0.01)).astype(F32)
        inputs = [data(*((k, m) if a else (m, k))), scale(), zero(), data(*((n, k) if b else (k, n)), of=I8), scales, np.zeros(each, I8),
                  d.ints(-500, 500, n, dtype=I32)] + ([F32(0.5), zero()] if d.chance(0.5) else [])
        d.case(kind, inputs, constants=range(1, 9), transA=a, transB=b, **options)
    elif kind == 'QLinearWhere':
        d.case(kind, [d.bits(*shape), data(*shape), scale(), zero(), data(*shape), scale(), zero(), F32(0.04), zero()],
               constants=[2, 3, 5, 6, 7, 8], **options)
    else:
        x = data(d.pick(1, 2), d.pick(3, 20), d.pick(7, 16), d.pick(9, 20))
        windows = {'kernel_shape': [3, 2], 'strides': [2, 1], 'count_include_pad': d.pick(0, 1)} if kind == 'QLinearAveragePool' else {}
        d.case(kind, [x, scale(), zero(), F32(0.03), zero()], constants=[1, 2, 3, 4], **windows, **options)


def products_of_bytes(d):
    kind = d.pick('MatMulIntegerToFloat', 'DynamicQuantizeMatMul', 'MatMulNBits')
    m, k, n = (d.power(0, 7) for _ in range(3))
    if kind == 'MatMulNBits':
        block, k = d.pick(16, 32), 16 * d.number(1, 9)
        blocks = -(-k // block)
        weights = d.ints(0, 256, n, blocks, block // 2, dtype=U8)
        inputs = [d.normal(m, k), weights, np.abs(d.normal(n * blocks)) * F32(0.1)]
        inputs += [d.ints(0, 256, n * (-(-blocks // 2)), dtype=U8)] if d.chance(0.5) else []
        d.case(kind, inputs, constants=[1, 2, 3], K=k, N=n, bits=4, block_size=block, domain=MICROSOFT, tolerance=1e-2)
        return
    of_b = d.pick(I8, U8)
    b = d.ints(-100 if of_b == I8 else 0, 100, k, n, dtype=of_b)
    each = () if d.chance(0.5) else (n,)
    scales, zeros = (np.abs(d.normal(*each)) * F32(0.01) + F32(0.01)).astype(F32), np.full(each, 3, of_b)
    bias = [d.normal(n)] if d.chance(0.5) else []
    if kind[0] == 'M':
        inputs = [d.ints(0, 250, m, k, dtype=U8), b, F32(0.02), scales, U8(7), zeros, *bias]
        d.case(kind, inputs, constants=[1, 2, 3, 4, 5, 6], domain=MICROSOFT, tolerance=1e-3)
    else:
        d.case(kind, [d.normal(m, k), b, scales, zeros, *bias], constants=[1, 2, 3, 4], domain=MICROSOFT, tolerance=1e-2)


def attention(d):
    heads, width, length = d.pick(1, 2, 4), d.pick(8, 16, 40), d.power(0, 6)
    kind = d.pick('Attention', 'MultiHeadAttention', 'Attention of ONNX', 'GroupQueryAttention')
    batch, hidden = d.pick(1, 2), heads * width
    if kind == 'Attention':
        x, w = d.normal(batch, length, hidden), d.normal(hidden, 3 * hidden) * F32(0.2)
        d.case(kind, [x, w, d.normal(3 * hidden)], constants=[1, 2], num_heads=heads, unidirectional=d.pick(0, 1), domain=MICROSOFT,
               tolerance=1e-3)
    elif kind == 'MultiHeadAttention':
        other = d.power(0, 6)
        d.case(kind, [d.normal(batch, length, hidden), d.normal(batch, other, hidden), d.normal(batch, other, hidden)], num_heads=heads,
               domain=MICROSOFT, tolerance=1e-3)
    elif kind == 'GroupQueryAttention':
        groups = d.pick(*[g for g in (1, 2, 4) if heads % g == 0])
        inputs = [d.normal(batch, length, hidden), d.normal(batch, length, groups * width), d.normal(batch, length, groups * width), None,
                  None, np.full(batch, length - 1, I32), np.array(length, I32)]
        d.case(kind, inputs, constants=[5, 6], num_heads=heads, kv_num_heads=groups, outputs=3, domain=MICROSOFT, tolerance=1e-3)
    else:
        groups, other = d.pick(*[g for g in (1, 2, 4) if heads % g == 0]), d.power(0, 6)
        inputs = [d.normal(batch, heads, length, width), d.normal(batch, groups, other, width), d.normal(batch, groups, other, width)]
        inputs += d.pick([], [d.normal(length, other)], [d.bits(batch, 1, length, other, share=0.8) | (np.arange(other) == 0)])
        d.case('Attention', inputs, is_causal=d.pick(0, 1) if len(inputs) == 3 else 0, softcap=d.pick(0.0, 3.0), opset=23, tolerance=1e-3)


def rotary(d):
    batch, heads, length, width = d.pick(1, 2), d.pick(1, 4), d.power(0, 6), d.pick(8, 32)
    turned, interleaved = d.pick(0, width // 2), d.pick(0, 1)
    half = (turned or width) // 2
    angles = d.rng.uniform(-3, 3, (64, half))
    caches = [np.cos(angles).astype(F32), np.sin(angles).astype(F32)]
    x, at = d.normal(batch, heads, length, width), d.ints(0, 64, batch, length)
    d.case('RotaryEmbedding', [x, *caches, at], opset=23, interleaved=interleaved, rotary_embedding_dim=turned, num_heads=heads)


CLASSES = {
    'bodies': (3, (sequences, sequences, loop, branch, scan, map_of_sequence, optional, shaped)),
    'fused': (4, (fused, skip_norm, of_bytes, of_bytes, of_bytes, products_of_bytes, attention, attention, rotary)),
}
