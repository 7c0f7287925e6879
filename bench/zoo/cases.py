"""Operators that nobody tuned for: `all_cases` gives one ONNX model of one node (or a few) after another.

A case is named class/what; the classes are those that users meet: reductions, positions, pointwise functions,
broadcasts, moves of data, pooling, products, convolutions. Sizes are such that most take 50 us to 2 ms.
"""
from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from onnx import TensorProto, helper, numpy_helper

F32, F64, F16 = np.float32, np.float64, np.float16
I8, U8, I32, I64, BOOL = np.int8, np.uint8, np.int32, np.int64, np.bool_


@dataclass
class Case:
    name: str
    feeds: dict
    model: bytes
    tolerance: float = 1e-4
    exact: bool = field(default=False)


class Zoo:
    """Collects cases; `op` adds a model of one node."""

    def __init__(self):
        self.cases, self.rng, self.group = [], np.random.default_rng(7), ''

    def normal(self, *shape, dtype=F32):
        return self.rng.standard_normal(shape).astype(dtype)

    def ints(self, low, high, *shape, dtype=I64):
        return self.rng.integers(low, high, shape).astype(dtype)

    def bits(self, *shape, share=0.5):
        return self.rng.random(shape) < share

    def op(self, name, kind, inputs, *, constants=(), outputs=1, opset=18, tolerance=1e-4, **attributes):
        """Inputs in order: an array, or None where the operator may do without. `constants`: which are in the model."""
        names, feeds, kept = [], {}, []
        for i, array in enumerate(inputs):
            names.append('' if array is None else f'x{i}')
            if array is None:
                continue
            if i in constants:
                kept.append(numpy_helper.from_array(np.asarray(array), names[-1]))
            else:
                feeds[names[-1]] = np.asarray(array)
        results = [f'y{i}' for i in range(outputs)]
        self.model(name, feeds, [helper.make_node(kind, names, results, **attributes)], results, kept, opset, tolerance)

    def model(self, name, feeds, nodes, results, constants, opset, tolerance):
        values = [helper.make_tensor_value_info(k, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape) for k, x in feeds.items()]
        graph = helper.make_graph(nodes, 'zoo', values, [helper.make_empty_tensor_value_info(r) for r in results], constants)
        opsets = [helper.make_opsetid('', opset), helper.make_opsetid('com.microsoft', 1)]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=10 if opset > 20 else 8)
        self.cases.append(Case(f'{self.group}/{name}', feeds, model.SerializeToString(), tolerance))


def reductions(z):
    z.group = 'reduce'
    for last in (2, 3, 4, 8, 16, 32, 64):
        z.op(f'ReduceSum f32 last {last}', 'ReduceSum', [z.normal(1 << 18 - last.bit_length(), last), [1]], constants=[1])
    x = z.normal(65536, 4)
    for kind in ('ReduceMax', 'ReduceMean', 'ReduceL2', 'ReduceProd', 'ReduceLogSumExp', 'ReduceL1', 'ReduceSumSquare'):
        z.op(f'{kind} f32 last 4', kind, [x, [1]], constants=[1])
    for kind in ('ReduceSum', 'ReduceMax', 'ReduceMean', 'ReduceL2', 'ReduceProd', 'ReduceLogSumExp', 'ReduceLogSum'):
        y = np.abs(z.normal(512, 512)) * 0.01 + 0.99
        z.op(f'{kind} f32 all', kind, [y], tolerance=1e-3)
        z.op(f'{kind} f32 rows of 512', kind, [y, [1]], constants=[1], tolerance=1e-3)
        z.op(f'{kind} f32 columns', kind, [y, [0]], constants=[1], tolerance=1e-3)
        z.op(f'{kind} f32 middle', kind, [y.reshape(64, 64, 64), [1]], constants=[1])
        z.op(f'{kind} f32 outer and last', kind, [y.reshape(64, 64, 64), [0, 2]], constants=[1], tolerance=1e-3)
    for dtype in (I32, I64):
        x = z.ints(-1000, 1000, 512, 512, dtype=dtype)
        for kind in ('ReduceSum', 'ReduceMax', 'ReduceMin'):
            z.op(f'{kind} {dtype.__name__} rows', kind, [x, [1]], constants=[1])
            z.op(f'{kind} {dtype.__name__} all', kind, [x])
            z.op(f'{kind} {dtype.__name__} last 8', kind, [x.reshape(-1, 8), [1]], constants=[1])
            z.op(f'{kind} {dtype.__name__} columns', kind, [x, [0]], constants=[1])
    for dtype in (I8, U8):
        x = z.ints(0, 100, 512, 512, dtype=dtype)
        z.op(f'ReduceMax {dtype.__name__} rows', 'ReduceMax', [x, [1]], constants=[1])
        z.op(f'ReduceMin {dtype.__name__} all', 'ReduceMin', [x])
    z.op('ReduceSum f64 rows', 'ReduceSum', [z.normal(512, 512, dtype=F64), [1]], constants=[1])
    z.op('GlobalAveragePool 7x7', 'GlobalAveragePool', [z.normal(4, 1280, 7, 7)])
    z.op('GlobalAveragePool 56x56', 'GlobalAveragePool', [z.normal(1, 64, 56, 56)])
    z.op('GlobalMaxPool 14x14', 'GlobalMaxPool', [z.normal(4, 256, 14, 14)])


def positions(z):
    z.group = 'positions'
    x = z.normal(512, 512)
    for k in (1, 5, 50):
        z.op(f'TopK {k} of 512', 'TopK', [x, [k]], constants=[1], outputs=2)
    z.op('TopK 5 of 100000', 'TopK', [z.normal(1, 100000), [5]], constants=[1], outputs=2)
    z.op('TopK 100 of 50000', 'TopK', [z.normal(1, 50000), [100]], constants=[1], outputs=2)
    z.op('TopK 2 of 8', 'TopK', [z.normal(8192, 8), [2]], constants=[1], outputs=2)
    z.op('TopK 3 of axis 0', 'TopK', [z.normal(64, 1024), [3]], constants=[1], outputs=2, axis=0)
    z.op('TopK all of 256', 'TopK', [z.normal(256, 256), [256]], constants=[1], outputs=2)
    z.op('TopK 5 int64', 'TopK', [z.ints(0, 10 ** 6, 256, 512), [5]], constants=[1], outputs=2)
    for kind in ('ArgMax', 'ArgMin'):
        z.op(f'{kind} rows of 512', kind, [x], axis=1)
        z.op(f'{kind} rows of 8', kind, [x.reshape(-1, 8)], axis=1)
        z.op(f'{kind} columns', kind, [x], axis=0)
        z.op(f'{kind} channels', kind, [z.normal(1, 21, 128, 128)], axis=1)
        z.op(f'{kind} of 250000', kind, [z.normal(250000)], axis=0)
        z.op(f'{kind} int32 rows', kind, [z.ints(-1000, 1000, 512, 512, dtype=I32)], axis=1)
    for reverse in (0, 1):
        z.op(f'CumSum rows reverse={reverse}', 'CumSum', [x, np.int64(1)], constants=[1], reverse=reverse, tolerance=1e-3)
    z.op('CumSum columns', 'CumSum', [x, np.int64(0)], constants=[1], tolerance=1e-3)
    z.op('CumSum int64 rows', 'CumSum', [z.ints(0, 9, 512, 512), np.int64(1)], constants=[1])
    z.op('CumSum int32 rows of 16', 'CumSum', [z.ints(0, 9, 16384, 16, dtype=I32), np.int64(1)], constants=[1])
    z.op('CumSum of 250000', 'CumSum', [z.normal(250000), np.int64(0)], constants=[1], tolerance=1e-2)
    z.op('Hardmax', 'Hardmax', [x])
    z.op('Hardmax axis 1 of 3', 'Hardmax', [z.normal(16, 21, 1024)], axis=1)
    z.op('OneHot f32', 'OneHot', [z.ints(0, 64, 4096), np.int64(64), z.normal(2)], constants=[1])
    z.op('OneHot int64 axis 0', 'OneHot', [z.ints(0, 64, 4096), np.int64(64), np.array([0, 1])], constants=[1], axis=0)
    z.op('NonZero f32 half', 'NonZero', [(z.normal(256, 256) > 0).astype(F32)])
    z.op('NonZero bool few', 'NonZero', [z.bits(512, 512, share=0.02)])
    z.op('NonZero bool 3d', 'NonZero', [z.bits(16, 64, 64)])
    z.op('Unique int64 sorted', 'Unique', [z.ints(0, 1000, 20000)], outputs=1, sorted=1)
    z.op('Unique f32 with counts', 'Unique', [z.ints(0, 1000, 20000).astype(F32)], outputs=4)
    z.op('Trilu', 'Trilu', [z.normal(8, 256, 256)], upper=1)
    z.op('Trilu lower', 'Trilu', [z.normal(8, 256, 256), np.int64(-1)], constants=[1], upper=0)
    for kind in ('Softmax', 'LogSoftmax'):
        z.op(f'{kind} rows of 512', kind, [x])
        z.op(f'{kind} rows of 8', kind, [x.reshape(-1, 8)])
        z.op(f'{kind} columns', kind, [x], axis=0)
        z.op(f'{kind} inner 21', kind, [z.normal(1, 21, 128, 128)], axis=1)


def pointwise(z):
    z.group = 'pointwise'
    x, y = z.normal(256, 1024), z.normal(256, 1024)
    inside = np.tanh(x)
    for kind in ('Sin', 'Cos', 'Tan', 'Atan', 'Sinh', 'Cosh', 'Asinh', 'Exp', 'Tanh', 'Erf', 'Sigmoid', 'Softplus', 'Softsign',
                 'Elu', 'Selu', 'Celu', 'HardSwish', 'HardSigmoid', 'Mish', 'LeakyRelu', 'ThresholdedRelu', 'Abs', 'Neg', 'Relu',
                 'Floor', 'Ceil', 'Round', 'Sign', 'Reciprocal', 'IsNaN', 'IsInf', 'Shrink'):
        z.op(f'{kind} f32', kind, [x])
    z.op('Gelu f32', 'Gelu', [x], opset=20)
    z.op('Gelu tanh f32', 'Gelu', [x], opset=20, approximate='tanh')
    for kind in ('Asin', 'Acos', 'Atanh'):
        z.op(f'{kind} f32', kind, [inside])
    z.op('Acosh f32', 'Acosh', [1 + np.abs(x)])
    z.op('Log f32', 'Log', [np.abs(x)])
    z.op('Sqrt f32', 'Sqrt', [np.abs(x)])
    z.op('Sin f32 far', 'Sin', [x * 1000], tolerance=1e-3)
    for power in (2.0, 3.0, 0.5, -1.0, 4.0, 1.7):
        z.op(f'Pow {power} f32', 'Pow', [np.abs(x) + 0.1, F32(power)], constants=[1])
    z.op('Pow f32 tensor', 'Pow', [np.abs(x), y], tolerance=1e-3)
    z.op('Pow int64 2', 'Pow', [z.ints(-9, 9, 256, 1024), np.int64(2)], constants=[1])
    z.op('Pow int32 3', 'Pow', [z.ints(-9, 9, 256, 1024, dtype=I32), I32(3)], constants=[1])
    z.op('Mod f32', 'Mod', [x, np.abs(y) + 0.1], fmod=1)
    z.op('Clip f32', 'Clip', [x, F32(-1), F32(1)], constants=[1, 2])
    z.op('Exp f64', 'Exp', [x.astype(F64)])
    z.op('Exp f16', 'Exp', [x.astype(F16)], tolerance=1e-2)
    z.op('Tanh f16', 'Tanh', [x.astype(F16)], tolerance=1e-2)
    z.op('Add f16', 'Add', [x.astype(F16), y.astype(F16)], tolerance=1e-2)
    for kind in ('Add', 'Mul', 'Div', 'Max', 'PRelu'):
        z.op(f'{kind} f32', kind, [x, y])


def integers(z):
    z.group = 'integers'
    for dtype in (I32, I64):
        a, b = z.ints(-1000, 1000, 256, 1024, dtype=dtype), z.ints(1, 50, 256, 1024, dtype=dtype)
        for kind in ('Add', 'Mul', 'Sub', 'Div', 'Mod', 'Max', 'Min'):
            z.op(f'{kind} {dtype.__name__}', kind, [a, b])
        z.op(f'Div {dtype.__name__} by 7', 'Div', [a, dtype(7)], constants=[1])
        z.op(f'Mod {dtype.__name__} by 16', 'Mod', [a, dtype(16)], constants=[1])
        z.op(f'Abs {dtype.__name__}', 'Abs', [a])
        z.op(f'Neg {dtype.__name__}', 'Neg', [a])
        for kind in ('Equal', 'Less', 'GreaterOrEqual'):
            z.op(f'{kind} {dtype.__name__}', kind, [a, b])
    a, b = z.ints(0, 200, 256, 1024, dtype=U8), z.ints(1, 50, 256, 1024, dtype=U8)
    for kind in ('Add', 'Mul', 'Div', 'Max', 'BitwiseAnd'):
        z.op(f'{kind} uint8', kind, [a, b])
    z.op('BitShift uint8', 'BitShift', [a, b % 8], direction='LEFT')
    z.op('Add int8', 'Add', [a.astype(I8), b.astype(I8)], opset=14)
    p, q = z.bits(256, 1024), z.bits(256, 1024)
    for kind in ('And', 'Or', 'Xor', 'Equal'):
        z.op(f'{kind} bool', kind, [p, q])
    z.op('Not bool', 'Not', [p])
    z.op('Where f32', 'Where', [p, z.normal(256, 1024), z.normal(256, 1024)])
    z.op('Where int64', 'Where', [p, z.ints(0, 9, 256, 1024), z.ints(0, 9, 256, 1024)])
    z.op('Where f32 scalar', 'Where', [p, z.normal(256, 1024), F32(-1e9)], constants=[2])
    for kind in ('Greater', 'Equal', 'LessOrEqual'):
        z.op(f'{kind} f32', kind, [z.normal(256, 1024), z.normal(256, 1024)])
    kinds = {'float32': TensorProto.FLOAT, 'int64': TensorProto.INT64, 'int32': TensorProto.INT32, 'bool': TensorProto.BOOL,
             'uint8': TensorProto.UINT8, 'int8': TensorProto.INT8, 'float64': TensorProto.DOUBLE, 'float16': TensorProto.FLOAT16}
    for source, to in (('float32', 'int64'), ('float32', 'int32'), ('float32', 'bool'), ('float32', 'uint8'),
                       ('float32', 'float16'), ('float16', 'float32'), ('float32', 'float64'), ('int64', 'float32'),
                       ('int64', 'int32'), ('int32', 'int64'), ('int32', 'float32'), ('int64', 'bool'), ('bool', 'float32'),
                       ('bool', 'int64'), ('uint8', 'float32'), ('int8', 'float32'), ('uint8', 'int32'), ('int64', 'float64')):
        z.op(f'Cast {source} to {to}', 'Cast', [z.ints(0, 100, 256, 1024).astype(source)], to=kinds[to])


def broadcasts(z):
    z.group = 'broadcast'
    x = z.normal(512, 512)
    column, row = z.normal(512, 1), z.normal(1, 512)
    for kind in ('Add', 'Mul', 'Div'):
        z.op(f'{kind} column', kind, [x, column])
        z.op(f'{kind} row', kind, [x, row])
        z.op(f'{kind} outer', kind, [column, row])
        z.op(f'{kind} scalar', kind, [x, F32(1.7)], constants=[1])
    z.op('Add channel', 'Add', [z.normal(1, 64, 56, 56), z.normal(64, 1, 1)])
    z.op('Mul channel short', 'Mul', [z.normal(4, 512, 7, 7), z.normal(4, 512, 1, 1)])
    z.op('Add last 4', 'Add', [z.normal(32768, 4), z.normal(4)])
    z.op('Mul column of 4', 'Mul', [z.normal(32768, 4), z.normal(32768, 1)])
    z.op('Add middle', 'Add', [z.normal(16, 64, 128), z.normal(16, 1, 128)])
    z.op('Sub pairs', 'Sub', [z.normal(1, 256, 1, 3), z.normal(1, 1, 256, 3)])
    z.op('Equal pairs int64', 'Equal', [z.ints(0, 9, 512, 1), z.ints(0, 9, 1, 512)])
    z.op('Less outer int64', 'Less', [z.ints(0, 512, 1, 512), z.ints(0, 512, 512, 1)])
    z.op('And mask bool', 'And', [z.bits(4, 1, 256, 256), z.bits(4, 1, 1, 256)])
    z.op('Where mask', 'Where', [z.bits(1, 1, 256, 256), z.normal(4, 8, 256, 256)[:1], F32(-1e9)], constants=[2])
    z.op('Expand column', 'Expand', [column, [512, 512]], constants=[1])
    z.op('Expand row', 'Expand', [row, [512, 512]], constants=[1])
    z.op('Expand heads', 'Expand', [z.normal(1, 8, 1, 128, 64), [1, 8, 4, 128, 64]], constants=[1])
    z.op('Expand last 4', 'Expand', [z.normal(65536, 1), [65536, 4]], constants=[1])
    z.op('Expand bool', 'Expand', [z.bits(1, 1, 1, 512), [1, 1, 512, 512]], constants=[1])
    z.op('Tile rows', 'Tile', [z.normal(64, 64), [8, 8]], constants=[1])
    z.op('Tile last', 'Tile', [z.normal(4096, 3), [1, 16]], constants=[1])
    z.op('Range', 'Range', [np.int64(0), np.int64(200000), np.int64(1)], constants=[0, 1, 2])
    z.op('Sum of 4', 'Sum', [x, x + 1, row, column])
    z.op('Mean of 3', 'Mean', [x, x + 1, x + 2])
    z.op('Max of 3', 'Max', [x, x + 1, row])


def moves(z):
    z.group = 'moves'
    for shape, order in (((512, 512), (1, 0)), ((1, 64, 64, 64), (0, 2, 3, 1)), ((1, 64, 64, 64), (0, 3, 1, 2)),
                         ((8, 128, 12, 64), (0, 2, 1, 3)), ((4, 49, 3, 4, 32), (2, 0, 3, 1, 4)), ((64, 64, 64), (2, 1, 0)),
                         ((64, 64, 64), (1, 0, 2)), ((32, 8, 32, 8, 4), (0, 2, 1, 3, 4)), ((8, 16, 8, 16, 16), (4, 2, 0, 3, 1)),
                         ((2, 8, 64, 8, 32), (0, 3, 2, 1, 4)), ((65536, 3), (1, 0)), ((3, 65536), (1, 0)),
                         ((16, 16, 16, 16, 4), (3, 1, 4, 0, 2)), ((1, 3, 256, 256), (0, 2, 3, 1)), ((8, 8, 64, 64), (1, 0, 3, 2))):
        name = 'x'.join(map(str, shape))
        z.op(f'Transpose {name} {"".join(map(str, order))}', 'Transpose', [z.normal(*shape)], perm=order)
    z.op('Transpose int64', 'Transpose', [z.ints(0, 9, 64, 64, 64)], perm=(0, 2, 1))
    z.op('Transpose uint8 NHWC', 'Transpose', [z.ints(0, 255, 256, 256, 3, dtype=U8)], perm=(2, 0, 1))
    z.op('Transpose f16', 'Transpose', [z.normal(8, 64, 512).astype(F16)], perm=(0, 2, 1))
    for mode in ('DCR', 'CRD'):
        z.op(f'DepthToSpace {mode}', 'DepthToSpace', [z.normal(1, 64, 64, 64)], blocksize=2, mode=mode)
    z.op('SpaceToDepth', 'SpaceToDepth', [z.normal(1, 16, 128, 128)], blocksize=2)
    z.op('Concat rows', 'Concat', [z.normal(128, 512) for _ in range(4)], axis=0)
    z.op('Concat last 4', 'Concat', [z.normal(16384, 4) for _ in range(4)], axis=1)
    z.op('Concat last 1', 'Concat', [z.normal(65536, 1) for _ in range(3)], axis=1)
    z.op('Concat middle', 'Concat', [z.normal(64, 16, 64), z.normal(64, 48, 64)], axis=1)
    z.op('Concat last 64', 'Concat', [z.normal(2048, 64), z.normal(2048, 64)], axis=1)
    z.op('Concat of 100 rows', 'Concat', [z.normal(1, 256) for _ in range(100)], axis=0)
    z.op('Concat of 26 tables', 'Concat', [z.normal(256, 16) for _ in range(26)], axis=1)
    z.op('Split last 3', 'Split', [z.normal(4096, 48)], axis=1, outputs=3, num_outputs=3)
    z.op('Split rows', 'Split', [z.normal(512, 512)], axis=0, outputs=4, num_outputs=4)
    x = z.normal(512, 512)
    z.op('Slice columns', 'Slice', [x, [128], [384], [1]], constants=[1, 2, 3])
    z.op('Slice step 2', 'Slice', [x, [0], [512], [1], [2]], constants=[1, 2, 3, 4])
    z.op('Slice reversed', 'Slice', [x, [511], [-600], [1], [-1]], constants=[1, 2, 3, 4])
    z.op('Slice last 2 of 4', 'Slice', [z.normal(65536, 4), [0], [2], [1]], constants=[1, 2, 3])
    z.op('Pad image', 'Pad', [z.normal(1, 32, 64, 64), [0, 0, 1, 1, 0, 0, 1, 1]], constants=[1])
    z.op('Pad reflect', 'Pad', [z.normal(1, 32, 64, 64), [0, 0, 3, 3, 0, 0, 3, 3]], constants=[1], mode='reflect')
    z.op('Gather rows', 'Gather', [z.normal(10000, 64), z.ints(0, 10000, 4096)])
    z.op('Gather rows of 8', 'Gather', [z.normal(10000, 8), z.ints(0, 10000, 16384)])
    z.op('Gather last', 'Gather', [x, z.ints(0, 512, 256)], axis=1)
    z.op('Gather one of last', 'Gather', [z.normal(65536, 4), np.int64(2)], constants=[1], axis=1)
    z.op('GatherElements last', 'GatherElements', [x, z.ints(0, 512, 512, 256)], axis=1)
    z.op('GatherElements axis 0', 'GatherElements', [x, z.ints(0, 512, 256, 512)], axis=0)
    z.op('GatherND rows', 'GatherND', [z.normal(128, 128, 16), z.ints(0, 128, 4096, 2)])
    z.op('GatherND elements', 'GatherND', [x, z.ints(0, 512, 65536, 2)])
    z.op('ScatterElements', 'ScatterElements', [x, np.argsort(z.normal(512, 512), 1)[:, :256], z.normal(512, 256)], axis=1)
    z.op('ScatterElements add', 'ScatterElements', [x, z.ints(0, 512, 512, 256), z.normal(512, 256)], axis=1, reduction='add',
         tolerance=1e-3)
    places = z.rng.permutation(4096)[:2048].reshape(-1, 1)
    z.op('ScatterND rows', 'ScatterND', [z.normal(4096, 64), places, z.normal(2048, 64)])
    z.op('ScatterND elements', 'ScatterND', [z.normal(65536), z.rng.permutation(65536)[:32768].reshape(-1, 1), z.normal(32768)])
    z.op('Compress', 'Compress', [x, z.bits(512)], axis=0)
    z.op('Col2Im', 'Col2Im', [z.normal(1, 32 * 9, 30 * 30), [32, 32], [3, 3]], constants=[1, 2])


def resizes(z):
    z.group = 'resize'
    x = z.normal(1, 16, 64, 64)
    for mode in ('nearest', 'linear', 'cubic'):
        for name, scales in (('up 2', [1, 1, 2, 2]), ('down 2', [1, 1, 0.5, 0.5]), ('up 1.5', [1, 1, 1.5, 1.5])):
            z.op(f'{mode} {name}', 'Resize', [x, None, np.array(scales, F32)], constants=[2], mode=mode, tolerance=1e-3,
                 **({'nearest_mode': 'floor', 'coordinate_transformation_mode': 'asymmetric'} if mode == 'nearest' else {}))
    z.op('linear align_corners', 'Resize', [x, None, None, [1, 16, 100, 100]], constants=[3], mode='linear',
         coordinate_transformation_mode='align_corners', tolerance=1e-3)
    z.op('nearest up 3 int', 'Resize', [z.ints(0, 255, 1, 3, 64, 64, dtype=U8), None, np.array([1, 1, 3, 3], F32)],
         constants=[2], mode='nearest', nearest_mode='floor', coordinate_transformation_mode='asymmetric')
    grid = np.stack(np.meshgrid(np.linspace(-1, 1, 64), np.linspace(-1, 1, 64)), -1)[None].astype(F32) * 0.9
    z.op('GridSample', 'GridSample', [x, grid], opset=16, tolerance=1e-3)
    boxes = np.array([[0, 0, 30, 30], [5, 9, 50, 60]] * 16, F32)
    z.op('RoiAlign', 'RoiAlign', [x, boxes, np.zeros(32, I64)], opset=16, output_height=7, output_width=7, sampling_ratio=2,
         spatial_scale=1.0, tolerance=1e-3)
    scored = np.concatenate([c := z.rng.random((1, 500, 2)) * 100, c + 20], -1).astype(F32)
    z.op('NonMaxSuppression', 'NonMaxSuppression', [scored, z.rng.random((1, 4, 500)).astype(F32), np.int64(50), F32(0.5),
                                                    F32(0.1)], constants=[2, 3, 4])


def pools(z):
    z.group = 'pool'
    x = z.normal(1, 64, 56, 56)
    for kind in ('MaxPool', 'AveragePool'):
        z.op(f'{kind} 2x2', kind, [x], kernel_shape=[2, 2], strides=[2, 2])
        z.op(f'{kind} 3x3 stride 1', kind, [x], kernel_shape=[3, 3], pads=[1] * 4)
        z.op(f'{kind} 3x3 stride 2', kind, [x], kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
        z.op(f'{kind} 7x7', kind, [x[:, :16]], kernel_shape=[7, 7], pads=[3] * 4)
        z.op(f'{kind} 13x13', kind, [x[:, :16, :20, :20]], kernel_shape=[13, 13], pads=[6] * 4)
        z.op(f'{kind} 1d', kind, [z.normal(1, 64, 4096)], kernel_shape=[3], strides=[2])
        z.op(f'{kind} 3d', kind, [z.normal(1, 16, 16, 28, 28)], kernel_shape=[2, 2, 2], strides=[2, 2, 2])
        z.op(f'{kind} batch', kind, [z.normal(16, 16, 28, 28)], kernel_shape=[2, 2], strides=[2, 2])
        z.op(f'{kind} ceil', kind, [x[:, :, :55, :55]], kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1)
    z.op('MaxPool dilated', 'MaxPool', [x], kernel_shape=[3, 3], dilations=[2, 2])
    z.op('MaxPool with indices', 'MaxPool', [x], kernel_shape=[2, 2], strides=[2, 2], outputs=2)
    z.op('MaxPool uint8', 'MaxPool', [z.ints(0, 255, 1, 64, 56, 56, dtype=U8)], kernel_shape=[2, 2], strides=[2, 2])
    z.op('LpPool', 'LpPool', [x[:, :16]], kernel_shape=[3, 3], p=2)
    z.op('LRN', 'LRN', [x], size=5)


def products(z):
    z.group = 'product'
    for batch, m, k, n in ((4096, 3, 3, 3), (4096, 4, 4, 4), (1024, 8, 8, 8), (256, 16, 16, 16), (64, 32, 32, 32),
                           (4096, 1, 16, 16), (4096, 16, 16, 1), (12, 128, 64, 128), (12, 128, 128, 64)):
        z.op(f'MatMul {batch}x {m}x{k}x{n}', 'MatMul', [z.normal(batch, m, k), z.normal(batch, k, n)])
    z.op('MatMul batch with one matrix', 'MatMul', [z.normal(1024, 4, 16), z.normal(16, 32)])
    z.op('MatMul 3x3 by points', 'MatMul', [z.normal(65536, 3), z.normal(3, 3)])
    z.op('MatMul vector', 'MatMul', [z.normal(1, 1024), z.normal(1024, 512)])
    z.op('MatMul tall', 'MatMul', [z.normal(4096, 8), z.normal(8, 64)])
    z.op('MatMul 256', 'MatMul', [z.normal(256, 256), z.normal(256, 256)])
    for dtype in (I32, I64):
        z.op(f'MatMul {dtype.__name__}', 'MatMul', [z.ints(-9, 9, 128, 128, dtype=dtype), z.ints(-9, 9, 128, 128, dtype=dtype)])
    z.op('MatMul f64', 'MatMul', [z.normal(128, 128, dtype=F64), z.normal(128, 128, dtype=F64)])
    z.op('MatMulInteger', 'MatMulInteger', [z.ints(0, 255, 128, 256, dtype=U8), z.ints(-100, 100, 256, 128, dtype=I8)])
    z.op('Gemm transposed', 'Gemm', [z.normal(128, 256), z.normal(128, 256), z.normal(128)], transB=1, constants=[1, 2])
    a, b = z.normal(16, 64, 64), z.normal(16, 64, 64)
    for equation in ('bij,bjk->bik', 'bij,bij->b', 'bij,bij->bij', 'bij,bik->bjk'):
        z.op(f'Einsum {equation}', 'Einsum', [a, b], equation=equation, tolerance=1e-3)
    for equation in ('bij->bji', 'bij->b', 'bii->bi', 'bij->j'):
        z.op(f'Einsum {equation}', 'Einsum', [a], equation=equation, tolerance=1e-3)
    z.op('Einsum i,j->ij', 'Einsum', [z.normal(512), z.normal(512)], equation='i,j->ij')
    z.op('DynamicQuantizeLinear', 'DynamicQuantizeLinear', [z.normal(256, 1024)], outputs=3)
    z.op('QuantizeLinear', 'QuantizeLinear', [z.normal(256, 1024), F32(0.02), U8(128)], constants=[1, 2])
    z.op('DequantizeLinear', 'DequantizeLinear', [z.ints(0, 255, 256, 1024, dtype=U8), F32(0.02), U8(128)], constants=[1, 2])
    z.op('LayerNormalization', 'LayerNormalization', [z.normal(512, 512), z.normal(512), z.normal(512)], constants=[1, 2])
    z.op('LayerNormalization of 32', 'LayerNormalization', [z.normal(8192, 32), z.normal(32), z.normal(32)], constants=[1, 2])
    z.op('InstanceNormalization', 'InstanceNormalization', [z.normal(4, 64, 32, 32), z.normal(64), z.normal(64)],
         constants=[1, 2])
    z.op('BatchNormalization', 'BatchNormalization', [z.normal(1, 64, 56, 56), *(np.abs(z.normal(64)) for _ in range(4))],
         constants=[1, 2, 3, 4])
    z.op('MeanVarianceNormalization', 'MeanVarianceNormalization', [z.normal(4, 64, 32, 32)])


def convolutions(z):
    z.group = 'conv'

    def conv(name, x, weight, kind='Conv', **attributes):
        w = z.normal(*weight) * F32(np.prod(weight[1:]) ** -0.5)
        z.op(name, kind, [z.normal(*x), w, z.normal(weight[0] if kind == 'Conv' else weight[1] * attributes.get('group', 1))],
             constants=[1, 2], tolerance=1e-3, **attributes)
    for kernel in (3, 5, 7):
        conv(f'depthwise {kernel}x{kernel}', (1, 64, 56, 56), (64, 1, kernel, kernel), group=64, pads=[kernel // 2] * 4)
        conv(f'depthwise {kernel}x{kernel} stride 2', (1, 64, 56, 56), (64, 1, kernel, kernel), group=64,
             pads=[kernel // 2] * 4, strides=[2, 2])
    conv('depthwise 11x1', (1, 64, 56, 56), (64, 1, 11, 1), group=64, pads=[5, 0, 5, 0])
    conv('depthwise 1x11', (1, 64, 56, 56), (64, 1, 1, 11), group=64, pads=[0, 5, 0, 5])
    conv('depthwise 3x3 dilated', (1, 64, 56, 56), (64, 1, 3, 3), group=64, pads=[2] * 4, dilations=[2, 2])
    conv('depthwise multiplied', (1, 32, 56, 56), (64, 1, 3, 3), group=32, pads=[1] * 4)
    conv('depthwise 1d', (1, 256, 512), (256, 1, 7), group=256, pads=[3, 3])
    conv('1d 3', (1, 64, 1024), (64, 64, 3), pads=[1, 1])
    conv('1d first layer', (1, 1, 16000), (64, 1, 10), strides=[5])
    conv('1d pointwise', (1, 128, 1024), (128, 128, 1))
    conv('2d of height 1', (1, 64, 1, 1024), (64, 64, 1, 3), pads=[0, 1, 0, 1])
    conv('2d of width 1', (1, 64, 1024, 1), (64, 64, 3, 1), pads=[1, 0, 1, 0])
    conv('first layer 7x7', (1, 3, 112, 112), (64, 3, 7, 7), pads=[3] * 4, strides=[2, 2])
    conv('patches 16x16', (1, 3, 224, 224), (192, 3, 16, 16), strides=[16, 16])
    conv('grouped 1x1', (1, 128, 28, 28), (128, 32, 1, 1), group=4)
    conv('grouped 3x3', (1, 128, 28, 28), (128, 4, 3, 3), group=32, pads=[1] * 4)
    conv('3d 1x1x1', (1, 64, 8, 28, 28), (64, 64, 1, 1, 1))
    conv('transposed 2x2', (1, 64, 28, 28), (64, 32, 2, 2), 'ConvTranspose', strides=[2, 2])
    conv('transposed 4x4', (1, 64, 28, 28), (64, 32, 4, 4), 'ConvTranspose', strides=[2, 2], pads=[1] * 4)
    conv('transposed depthwise', (1, 64, 28, 28), (64, 1, 4, 4), 'ConvTranspose', group=64, strides=[2, 2], pads=[1] * 4)
    conv('batch of 32', (32, 16, 14, 14), (32, 16, 3, 3), pads=[1] * 4)


def all_cases():
    z = Zoo()
    for group in (reductions, positions, pointwise, integers, broadcasts, moves, resizes, pools, products, convolutions):
        group(z)
    return z.cases
