"""Networks as exporters write them, small and with random weights: `all_models` gives (name, model, inputs)."""
import numpy as np
from onnx import TensorProto, helper, numpy_helper

FLOAT, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL


class Net:
    """A graph that grows node by node; every method gives the name of its result."""

    def __init__(self, opset=17, seed=0):
        self.opset, self.rng = opset, np.random.default_rng(seed)
        self.nodes, self.constants, self.ins, self.outs, self.feeds = [], [], [], [], {}

    def __getattr__(self, kind):  # net.Relu(x), net.Split(x, outputs=3, axis=1)
        if kind.startswith('_'):
            raise AttributeError(kind)

        def add(*inputs, outputs=1, **attributes):
            names = [f'{kind}_{len(self.nodes)}_{i}' for i in range(outputs)]
            given = [i if isinstance(i, str) else self.const(i) for i in inputs]
            self.nodes.append(helper.make_node(kind, given, names, **attributes))
            return names[0] if outputs == 1 else names
        return add

    def const(self, value):
        array = np.asarray(value)
        if array.dtype == np.float64:
            array = array.astype(np.float32)
        name = f'c{len(self.constants)}'
        self.constants.append(numpy_helper.from_array(array, name))
        return name

    def weight(self, *shape, scale=None):
        fan_in = int(np.prod(shape[1:])) or 1
        return self.const((self.rng.standard_normal(shape) * (scale or fan_in ** -0.5)).astype(np.float32))

    def input(self, name, shape, array):
        kind = helper.np_dtype_to_tensor_dtype(np.asarray(array).dtype)
        self.ins.append(helper.make_tensor_value_info(name, kind, shape))
        self.feeds[name] = np.asarray(array)
        return name

    def image(self, channels, height, width, batch='batch'):
        sizes = [1, channels, height, width]
        return self.input('x', [batch] + sizes[1:], self.rng.standard_normal(sizes).astype(np.float32))

    def output(self, name, kind=FLOAT):
        self.outs.append(helper.make_tensor_value_info(name, kind, None))

    def conv(self, x, cin, cout, kernel=3, stride=1, group=1, **attributes):
        if 'auto_pad' not in attributes:
            attributes.setdefault('pads', [kernel // 2] * 4)
        return self.Conv(x, self.weight(cout, cin // group, kernel, kernel), self.weight(cout, scale=0.1), group=group,
                         kernel_shape=[kernel] * 2, strides=[stride] * 2, **attributes)

    def norm(self, x, channels):
        statistics = [1 + 0.1 * self.rng.random(channels) for _ in range(4)]
        return self.BatchNormalization(x, *[s.astype(np.float32) for s in statistics])

    def linear(self, x, cin, cout):
        return self.Add(self.MatMul(x, self.weight(cin, cout, scale=cin ** -0.5)), self.weight(cout, scale=0.1))

    def layer_norm(self, x, width):  # in parts, as exporters write it below opset 17
        if self.opset >= 17:
            return self.LayerNormalization(x, np.ones(width), np.zeros(width), axis=-1)
        centred = self.Sub(x, self.ReduceMean(x, axes=[-1]))
        variance = self.ReduceMean(self.Pow(centred, np.float32(2)), axes=[-1])
        scaled = self.Div(centred, self.Sqrt(self.Add(variance, np.float32(1e-5))))
        return self.Add(self.Mul(scaled, np.ones(width)), np.zeros(width))

    def gelu(self, x):
        erf = self.Erf(self.Div(x, np.float32(2 ** 0.5)))
        return self.Mul(self.Mul(x, self.Add(erf, np.float32(1))), np.float32(0.5))

    def silu(self, x):
        return self.Mul(x, self.Sigmoid(x))

    def size(self, x, axis):
        return self.Gather(self.Shape(x), np.int64(axis), axis=0)

    def shape(self, *sizes):
        parts = [self.Unsqueeze(s, np.array([0])) if isinstance(s, str) else np.array([s], np.int64) for s in sizes]
        return self.Concat(*parts, axis=0)

    def attention(self, x, width, heads, mask=None):
        def split(y):
            apart = self.Reshape(y, self.shape(self.size(x, 0), self.size(x, 1), heads, width // heads))
            return self.Transpose(apart, perm=[0, 2, 1, 3])
        q, k, v = (split(self.linear(x, width, width)) for _ in range(3))
        scores = self.Div(self.MatMul(q, self.Transpose(k, perm=[0, 1, 3, 2])), np.float32((width // heads) ** 0.5))
        if mask:
            scores = self.Add(scores, mask)
        mixed = self.Transpose(self.MatMul(self.Softmax(scores, axis=-1), v), perm=[0, 2, 1, 3])
        together = self.Reshape(mixed, self.shape(self.size(x, 0), self.size(x, 1), width))
        return self.linear(together, width, width)

    def block(self, x, width, heads, mask=None):
        x = self.Add(x, self.attention(self.layer_norm(x, width), width, heads, mask))
        hidden = self.gelu(self.linear(self.layer_norm(x, width), width, 4 * width))
        return self.Add(x, self.linear(hidden, 4 * width, width))

    def model(self):
        graph = helper.make_graph(self.nodes, 'main', self.ins, self.outs, self.constants)
        domains = {'': self.opset} | {n.domain: 1 for n in self.nodes if n.domain}
        opsets = [helper.make_opsetid(domain, version) for domain, version in domains.items()]
        return helper.make_model(graph, opset_imports=opsets, ir_version=8)


def mobilenet_v2():
    net = Net(opset=11)
    x = net.Clip(net.conv(net.image(3, 64, 64), 3, 16, stride=2), np.float32(0), np.float32(6))
    for cin, cout, stride in [(16, 16, 1), (16, 24, 2), (24, 24, 1)]:
        y = net.Clip(net.norm(net.conv(x, cin, 4 * cin, 1), 4 * cin), np.float32(0), np.float32(6))
        y = net.conv(y, 4 * cin, 4 * cin, 3, stride, group=4 * cin)
        y = net.conv(net.Clip(y, np.float32(0), np.float32(6)), 4 * cin, cout, 1)
        x = net.Add(x, y) if stride == 1 and cin == cout else y
    pooled = net.Reshape(net.GlobalAveragePool(x), net.Concat(net.Unsqueeze(net.size(x, 0), axes=[0]), np.array([-1]), axis=0))
    net.output(net.Gemm(pooled, net.weight(10, 24), net.weight(10), transB=1))
    return net


def mobilenet_v3():
    net = Net(opset=14)
    x = net.HardSwish(net.norm(net.conv(net.image(3, 48, 48), 3, 16, stride=2), 16))
    y = net.HardSwish(net.conv(net.conv(x, 16, 16, 5, 2, group=16), 16, 32, 1))
    squeeze = net.Relu(net.conv(net.ReduceMean(y, axes=[2, 3], keepdims=1), 32, 8, 1))
    gate = net.HardSigmoid(net.conv(squeeze, 8, 32, 1), alpha=1 / 6, beta=0.5)
    y = net.Mul(y, gate)
    flat = net.Flatten(net.GlobalAveragePool(y), axis=1)
    net.output(net.Softmax(net.Gemm(net.HardSwish(flat), net.weight(12, 32), net.weight(12), transB=1), axis=1))
    return net


def efficientnet():  # from TensorFlow: asymmetric padding, channels last at the ends
    net = Net(opset=13)
    x = net.input('x', ['n', 40, 40, 3], net.rng.random((2, 40, 40, 3)).astype(np.float32))
    x = net.Transpose(x, perm=[0, 3, 1, 2])
    x = net.silu(net.norm(net.conv(x, 3, 8, 3, 2, pads=[0, 0, 1, 1]), 8))
    y = net.silu(net.conv(x, 8, 32, 1))
    y = net.silu(net.conv(y, 32, 32, 3, 2, group=32, auto_pad='SAME_UPPER'))
    y = net.Mul(y, net.Sigmoid(net.conv(net.silu(net.conv(net.GlobalAveragePool(y), 32, 4, 1)), 4, 32, 1)))
    y = net.conv(y, 32, 16, 1)
    pooled = net.Squeeze(net.ReduceMean(y, axes=[2, 3]), np.array([2, 3]))
    net.output(net.linear(pooled, 16, 7))
    return net


def vit():
    net, width = Net(opset=17), 48
    x = net.conv(net.image(3, 32, 32), 3, width, 8, 8, pads=[0] * 4)
    tokens = net.Transpose(net.Reshape(x, net.shape(net.size(x, 0), width, -1)), perm=[0, 2, 1])
    first = net.Expand(net.weight(1, 1, width), net.shape(net.size(x, 0), -1 + 2, width))
    x = net.Add(net.Concat(first, tokens, axis=1), net.weight(1, 17, width, scale=0.02))
    for _ in range(2):
        x = net.block(x, width, 4)
    head = net.Gather(net.layer_norm(x, width), np.int64(0), axis=1)
    net.output(net.Gemm(head, net.weight(10, width), net.weight(10), transB=1))
    return net


def yolo():  # a head with boxes in image coordinates, and the selection
    net, classes = Net(opset=16), 4
    x = net.silu(net.conv(net.image(3, 64, 64, 1), 3, 16, 3, 2))
    a, b = net.Split(net.silu(net.conv(x, 16, 32, 3, 2)), outputs=2, axis=1)
    deep = net.Concat(a, b, net.silu(net.conv(b, 16, 16)), axis=1)
    pool = net.MaxPool(deep, kernel_shape=[5, 5], pads=[2] * 4, strides=[1, 1])
    deep = net.silu(net.conv(net.Concat(deep, pool, axis=1), 96, 32, 1))
    up = net.Resize(deep, '', np.array([1, 1, 2, 2], np.float32), mode='nearest',
                    coordinate_transformation_mode='asymmetric', nearest_mode='floor')
    heads = []
    for level, (y, channels) in enumerate([(net.Concat(up, x, axis=1), 48), (deep, 32)]):
        y = net.conv(y, channels, 64 + classes, 1)
        heads.append(net.Reshape(y, np.array([1, 64 + classes, -1])))
    boxes, scores = net.Split(net.Concat(*heads, axis=2), np.array([64, classes]), outputs=2, axis=1)
    spread = net.Transpose(net.Reshape(boxes, np.array([1, 4, 16, -1])), perm=[0, 2, 1, 3])
    distance = net.Reshape(net.Conv(net.Softmax(spread, axis=1), np.arange(16, dtype=np.float32).reshape(1, 16, 1, 1)),
                           np.array([1, 4, -1]))
    cells = 32 * 32 + 16 * 16
    anchors, strides = net.rng.random((1, 2, cells)) * 32, np.full((1, cells), 2.0)
    low = net.Sub(anchors, net.Slice(distance, np.array([0]), np.array([2]), np.array([1])))
    high = net.Add(anchors, net.Slice(distance, np.array([2]), np.array([4]), np.array([1])))
    corners = net.Transpose(net.Mul(net.Concat(low, high, axis=1), strides), perm=[0, 2, 1])
    scores = net.Sigmoid(scores)
    chosen = net.NonMaxSuppression(corners, scores, np.array([50]), np.float32([0.5]), np.float32([0.6]))
    index = net.Squeeze(net.Slice(chosen, np.array([2]), np.array([3]), np.array([1])), np.array([1]))
    net.output(net.Gather(net.Squeeze(corners, np.array([0])), index, axis=0))
    net.output(scores)
    net.output(chosen, INT64)
    return net


def bert():
    net, width, words = Net(opset=14), 32, 9
    ids = net.input('input_ids', ['batch', 'sequence'], net.rng.integers(0, 50, (2, words)))
    mask = net.input('attention_mask', ['batch', 'sequence'], (np.arange(words) < [[9], [6]]).astype(np.int64))
    kinds = net.input('token_type_ids', ['batch', 'sequence'], np.zeros((2, words), np.int64))
    places = net.Slice(np.arange(64)[None], np.array([0]), net.shape(net.size(ids, 1)), np.array([1]))
    x = net.Add(net.Gather(net.weight(50, width), ids), net.Gather(net.weight(2, width), kinds))
    x = net.layer_norm(net.Add(x, net.Gather(net.weight(64, width), places)), width)
    wide = net.Cast(net.Unsqueeze(net.Unsqueeze(mask, np.array([1])), np.array([2])), to=FLOAT)
    added = net.Mul(net.Sub(np.float32(1), wide), np.float32(-3.4e38))
    for _ in range(2):
        x = net.block(x, width, 4, added)
    kept = net.Expand(net.Cast(net.Unsqueeze(mask, np.array([-1])), to=FLOAT), net.Shape(x))
    total = net.ReduceSum(net.Mul(x, kept), np.array([1]), keepdims=0)
    mean = net.Div(total, net.Clip(net.ReduceSum(kept, np.array([1]), keepdims=0), np.float32(1e-9)))
    norm = net.Clip(net.ReduceL2(mean, axes=[1], keepdims=1), np.float32(1e-12))
    net.output(net.Div(mean, net.Expand(norm, net.Shape(mean))))
    net.output(net.Tanh(net.Gemm(net.Gather(x, np.int64(0), axis=1), net.weight(width, width), net.weight(width), transB=1)))
    return net


def gpt2():  # with what it has seen before as input and output
    net, width, heads, past = Net(opset=13), 32, 4, 5
    ids = net.input('input_ids', ['batch', 'new'], net.rng.integers(0, 40, (1, 3)))
    seen = net.input('past', [2, 'batch', heads, 'past', width // heads],
                     net.rng.standard_normal((2, 1, heads, past, width // heads)).astype(np.float32))
    old, new = net.size(seen, 3), net.size(ids, 1)
    total = net.Add(old, new)
    places = net.Unsqueeze(net.Range(old, total, np.int64(1)), np.array([0]))
    x = net.Add(net.Gather(net.weight(40, width), ids), net.Gather(net.weight(64, width), places))
    mixed = net.linear(net.layer_norm(x, width), width, 3 * width)
    q, k, v = net.Split(mixed, np.array([width] * 3), outputs=3, axis=2)
    q, k, v = (net.Transpose(net.Reshape(y, np.array([0, 0, heads, width // heads])), perm=[0, 2, 1, 3]) for y in (q, k, v))
    old_k, old_v = (net.Squeeze(y, np.array([0])) for y in net.Split(seen, outputs=2, axis=0))
    k, v = net.Concat(old_k, k, axis=2), net.Concat(old_v, v, axis=2)
    net.output(net.Concat(net.Unsqueeze(k, np.array([0])), net.Unsqueeze(v, np.array([0])), axis=0))
    scores = net.Div(net.MatMul(q, net.Transpose(k, perm=[0, 1, 3, 2])), net.Sqrt(np.float32(width // heads)))
    triangle = np.tril(np.ones((1, 1, 64, 64), bool))
    rows = net.Slice(triangle, net.shape(old), net.shape(total), np.array([2]), np.array([1]))
    allowed = net.Slice(rows, np.array([0]), net.shape(total), np.array([3]), np.array([1]))
    weights = net.Softmax(net.Where(allowed, scores, np.float32(-1e4)), axis=-1)
    out = net.Reshape(net.Transpose(net.MatMul(weights, v), perm=[0, 2, 1, 3]), np.array([0, 0, width]))
    x = net.Add(x, net.linear(out, width, width))
    y = net.linear(net.layer_norm(x, width), width, 64)
    cube = net.Mul(net.Add(y, net.Mul(net.Pow(y, np.float32(3)), np.float32(0.044715))), np.float32(0.7978846))
    y = net.Mul(net.Mul(y, np.float32(0.5)), net.Add(net.Tanh(cube), np.float32(1)))
    x = net.layer_norm(net.Add(x, net.linear(y, 64, width)), width)
    net.output(net.MatMul(x, net.weight(width, 40)))
    return net


def llama():  # rotary positions, shared keys, a norm without centre
    net, width, heads, kv = Net(opset=17), 32, 4, 2
    size = width // heads
    ids = net.input('input_ids', ['batch', 'sequence'], net.rng.integers(0, 40, (2, 6)))
    x = net.Gather(net.weight(40, width), ids)

    def rms(y):
        mean = net.ReduceMean(net.Pow(y, np.float32(2)), axes=[-1])
        return net.Mul(np.ones(width), net.Mul(y, net.Reciprocal(net.Sqrt(net.Add(mean, np.float32(1e-6))))))

    def turned(y, cos, sin):
        first = net.Slice(y, np.array([0]), np.array([size // 2]), np.array([3]))
        second = net.Slice(y, np.array([size // 2]), np.array([2 ** 63 - 1]), np.array([3]))
        return net.Add(net.Mul(y, cos), net.Mul(net.Concat(net.Neg(second), first, axis=-1), sin))

    places = net.Cast(net.Unsqueeze(net.Range(np.int64(0), net.size(ids, 1), np.int64(1)), np.array([1])), to=FLOAT)
    angle = net.MatMul(places, (10000.0 ** -(np.arange(0, size, 2) / size))[None])
    angle = net.Concat(angle, angle, axis=-1)
    cos, sin = (net.Unsqueeze(f(angle), np.array([0, 1])) for f in (net.Cos, net.Sin))
    y, pieces = rms(x), []
    for count in (heads, kv, kv):
        z = net.Reshape(net.MatMul(y, net.weight(width, count * size)), np.array([0, 0, count, size]))
        pieces.append(net.Transpose(z, perm=[0, 2, 1, 3]))
    q, k, v = turned(pieces[0], cos, sin), turned(pieces[1], cos, sin), pieces[2]

    def repeated(z):
        wide = net.Expand(net.Unsqueeze(z, np.array([2])), net.shape(1, 1, heads // kv, 1, 1))
        return net.Reshape(wide, net.shape(net.size(ids, 0), heads, net.size(ids, 1), size))
    scores = net.Mul(net.MatMul(q, net.Transpose(repeated(k), perm=[0, 1, 3, 2])), np.float32(size ** -0.5))
    square = net.Expand(np.float32(-1e9), net.shape(net.size(ids, 1), net.size(ids, 1)))
    weights = net.Softmax(net.Add(scores, net.Trilu(square, np.int64(1), upper=1)), axis=-1)
    out = net.Reshape(net.Transpose(net.MatMul(weights, repeated(v)), perm=[0, 2, 1, 3]), np.array([0, 0, width]))
    x = net.Add(x, net.MatMul(out, net.weight(width, width)))
    y = rms(x)
    gated = net.Mul(net.silu(net.MatMul(y, net.weight(width, 64))), net.MatMul(y, net.weight(width, 64)))
    x = net.Add(x, net.MatMul(gated, net.weight(64, width)))
    net.output(net.Cast(net.ArgMax(net.MatMul(x, net.weight(width, 40)), axis=-1, keepdims=0), to=INT64), INT64)
    net.output(x)
    return net


def whisper():
    net, width = Net(opset=17), 32
    x = net.input('mel', ['batch', 20, 60], net.rng.standard_normal((1, 20, 60)).astype(np.float32))
    x = net.gelu(net.Conv(x, net.weight(width, 20, 3), net.weight(width), kernel_shape=[3], pads=[1, 1]))
    x = net.gelu(net.Conv(x, net.weight(width, width, 3), net.weight(width), kernel_shape=[3], pads=[1, 1], strides=[2]))
    x = net.Add(net.Transpose(x, perm=[0, 2, 1]), net.weight(30, width, scale=0.1))
    net.output(net.layer_norm(net.block(x, width, 4), width))
    return net


def tagger():  # both directions, sequences of several lengths, layers on each other
    net, width = Net(opset=14), 12
    ids = net.input('words', ['sequence', 'batch'], net.rng.integers(0, 30, (7, 3)))
    lengths = net.input('lengths', ['batch'], np.array([7, 5, 2], np.int32))
    x = net.Gather(net.weight(30, width), ids)
    state = net.Expand(np.float32(0), net.shape(2, net.size(ids, 1), width))
    y, hidden, cell = net.LSTM(x, net.weight(2, 4 * width, width, scale=0.3), net.weight(2, 4 * width, width, scale=0.3),
                               net.weight(2, 8 * width, scale=0.3), lengths, state, state, outputs=3, hidden_size=width,
                               direction='bidirectional')
    y = net.Reshape(net.Transpose(y, perm=[0, 2, 1, 3]), np.array([0, 0, -1]))
    y, last = net.GRU(y, net.weight(1, 3 * width, 2 * width, scale=0.3), net.weight(1, 3 * width, width, scale=0.3),
                      net.weight(1, 6 * width, scale=0.3), outputs=2, hidden_size=width, linear_before_reset=1)
    net.output(net.LogSoftmax(net.linear(net.Squeeze(y, np.array([1])), width, 5), axis=2))
    net.output(hidden), net.output(cell), net.output(last)
    return net


def detr():  # positions made of the mask, queries, and a decoder
    net, width = Net(opset=16), 32
    x = net.conv(net.image(3, 32, 48, 1), 3, width, 8, 8, pads=[0] * 4)
    mask = net.input('mask', [1, 4, 6], np.ones((1, 4, 6), bool))
    held = net.Cast(mask, to=FLOAT)
    places = []
    for axis in (1, 2):
        count = net.CumSum(held, np.int64(axis))
        last = net.Slice(count, np.array([-1]), np.array([2 ** 63 - 1]), np.array([axis]))
        scaled = net.Mul(net.Div(count, net.Add(last, np.float32(1e-6))), np.float32(2 * np.pi))
        angle = net.Div(net.Unsqueeze(scaled, np.array([-1])), 10000.0 ** (np.arange(16) // 2 / 8))
        even = net.Slice(angle, np.array([0]), np.array([2 ** 63 - 1]), np.array([3]), np.array([2]))
        odd = net.Slice(angle, np.array([1]), np.array([2 ** 63 - 1]), np.array([3]), np.array([2]))
        both = net.Concat(*[net.Unsqueeze(f, np.array([4])) for f in (net.Sin(even), net.Cos(odd))], axis=4)
        places.append(net.Reshape(both, np.array([0, 0, 0, -1])))
    place = net.Reshape(net.Concat(*places, axis=3), np.array([1, 24, width]))
    memory = net.Add(net.Transpose(net.Reshape(x, np.array([1, width, 24])), perm=[0, 2, 1]), place)
    memory = net.block(memory, width, 4)
    queries = net.weight(1, 5, width)
    scores = net.Einsum(queries, net.linear(memory, width, width), equation='bqd,bkd->bqk')
    ignored = net.Unsqueeze(net.Not(net.Reshape(mask, np.array([1, 24]))), np.array([1]))
    weights = net.Softmax(net.Where(ignored, np.float32(-np.inf), scores), axis=-1)
    y = net.layer_norm(net.Add(queries, net.MatMul(weights, memory)), width)
    net.output(net.linear(y, width, 6))
    net.output(net.Sigmoid(net.linear(net.Relu(net.linear(y, width, width)), width, 4)))
    return net


def sam():  # windows, and positions relative to rows and columns
    net, width, heads, side, window = Net(opset=17), 16, 2, 6, 4
    x = net.Transpose(net.conv(net.image(3, 24, 24, 1), 3, width, 4, 4, pads=[0] * 4), perm=[0, 2, 3, 1])
    padded = net.Pad(x, np.array([0, 0, 0, 0, 0, 2, 2, 0]), np.float32(0))
    y = net.Reshape(padded, np.array([1, 2, window, 2, window, width]))
    y = net.Reshape(net.Transpose(y, perm=[0, 1, 3, 2, 4, 5]), np.array([4, window * window, width]))
    mixed = net.Reshape(net.linear(y, width, 3 * width), np.array([4, window * window, 3, heads, -1]))
    mixed = net.Reshape(net.Transpose(mixed, perm=[2, 0, 3, 1, 4]), np.array([3, 4 * heads, window * window, -1]))
    q, k, v = (net.Squeeze(z, np.array([0])) for z in net.Split(mixed, outputs=3, axis=0))
    scores = net.MatMul(net.Mul(q, np.float32((width // heads) ** -0.5)), net.Transpose(k, perm=[0, 2, 1]))
    square = net.Reshape(q, np.array([4 * heads, window, window, width // heads]))
    by_row = net.Einsum(square, net.weight(window, window, width // heads), equation='bhwc,hkc->bhwk')
    by_column = net.Einsum(square, net.weight(window, window, width // heads), equation='bhwc,wkc->bhwk')
    scores = net.Reshape(scores, np.array([4 * heads, window, window, window, window]))
    scores = net.Add(net.Add(scores, net.Unsqueeze(by_row, np.array([4]))), net.Unsqueeze(by_column, np.array([3])))
    weights = net.Softmax(net.Reshape(scores, np.array([4 * heads, 16, 16])), axis=-1)
    z = net.Reshape(net.MatMul(weights, v), np.array([4, heads, window, window, -1]))
    z = net.Reshape(net.Transpose(z, perm=[0, 2, 3, 1, 4]), np.array([1, 2, 2, window, window, width]))
    z = net.Reshape(net.Transpose(z, perm=[0, 1, 3, 2, 4, 5]), np.array([1, 8, 8, width]))
    z = net.Slice(z, np.array([0, 0]), np.array([side, side]), np.array([1, 2]))
    x = net.Transpose(net.layer_norm(net.Add(x, z), width), perm=[0, 3, 1, 2])
    x = net.gelu(net.ConvTranspose(x, net.weight(width, 8, 2, 2), net.weight(8), kernel_shape=[2, 2], strides=[2, 2]))
    net.output(net.Resize(x, '', '', np.array([1, 8, 30, 30]), mode='linear', coordinate_transformation_mode='pytorch_half_pixel'))
    return net


def super_resolution():
    net = Net(opset=13)
    x = net.image(1, 20, 24)
    y = net.PRelu(net.conv(x, 1, 12, 5), net.weight(12, 1, 1, scale=0.2))
    y = net.Tanh(net.conv(y, 12, 12))
    y = net.DepthToSpace(net.conv(net.LeakyRelu(y, alpha=0.1), 12, 9), blocksize=3, mode='CRD')
    big = net.Resize(x, '', np.array([1, 1, 3, 3], np.float32), mode='cubic', cubic_coeff_a=-0.75,
                     coordinate_transformation_mode='half_pixel')
    net.output(net.Clip(net.Add(y, big), np.float32(-3), np.float32(3)))
    return net


def unet():
    net = Net(opset=13)
    first = net.Relu(net.norm(net.conv(net.image(2, 32, 40), 2, 8), 8))
    low = net.Relu(net.conv(net.MaxPool(first, kernel_shape=[2, 2], strides=[2, 2]), 8, 16, dilations=[2, 2], pads=[2] * 4))
    up = net.ConvTranspose(low, net.weight(16, 8, 3, 3), net.weight(8), kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4,
                           output_padding=[1, 1])
    wide = net.Resize(low, '', net.Concat(np.float32([1, 1]), np.float32([2, 2]), axis=0), mode='linear',
                      coordinate_transformation_mode='align_corners')
    y = net.conv(net.Concat(first, up, wide, axis=1), 32, 3)
    scaled = net.InstanceNormalization(y, np.ones(3), np.zeros(3), epsilon=1e-3)
    net.output(net.Softmax(scaled, axis=1))
    net.output(net.ArgMax(y, axis=1, keepdims=1), INT64)
    return net


def generator():  # control flow: a loop whose number of turns is data
    net = Net(opset=16)
    x = net.input('x', [1, 8], net.rng.standard_normal((1, 8)).astype(np.float32))
    turns = net.input('turns', [], np.int64(4))
    body = helper.make_graph(
        [helper.make_node('MatMul', ['state', 'w'], ['mixed']), helper.make_node('Tanh', ['mixed'], ['next']),
         helper.make_node('Identity', ['go'], ['go_on']), helper.make_node('ReduceSum', ['next'], ['seen'], keepdims=0)],
        'body', [helper.make_tensor_value_info('i', INT64, []), helper.make_tensor_value_info('go', BOOL, []),
                 helper.make_tensor_value_info('state', FLOAT, [1, 8])],
        [helper.make_tensor_value_info('go_on', BOOL, []), helper.make_tensor_value_info('next', FLOAT, [1, 8]),
         helper.make_tensor_value_info('seen', FLOAT, [])],
        [numpy_helper.from_array(net.rng.standard_normal((8, 8)).astype(np.float32), 'w')])
    last, each = net.Loop(turns, np.array(True), x, outputs=2, body=body)
    net.output(last), net.output(each)
    return net


def quantised():  # as onnxruntime's tools write it: in pairs around operators, and as operators of integers
    net, own = Net(opset=13), {'domain': 'com.microsoft'}
    steps = [np.float32(0.03), np.uint8(120)]
    x = net.DequantizeLinear(net.QuantizeLinear(net.image(3, 16, 20), *steps), *steps)
    weights = net.rng.integers(-100, 100, (8, 3, 3, 3)).astype(np.int8)
    scales, zeros = (0.001 + 0.002 * net.rng.random(8)).astype(np.float32), np.zeros(8, np.int8)
    y = net.Relu(net.Conv(x, net.DequantizeLinear(weights, scales, zeros, axis=0), net.weight(8), pads=[1] * 4))
    y = net.QuantizeLinear(y, *steps)
    weights = net.rng.integers(-100, 100, (8, 8, 1, 1)).astype(np.int8)
    z = net.QLinearConv(y, *steps, weights, np.float32(0.004), np.int8(0), *steps, net.rng.integers(-900, 900, 8).astype(np.int32))
    z = net.QLinearAdd(y, *steps, z, *steps, np.float32(0.041), np.uint8(100), **own)
    z = net.QLinearGlobalAveragePool(z, np.float32(0.041), np.uint8(100), *steps, channels_last=0, **own)
    z = net.QLinearMul(net.QLinearSigmoid(z, *steps, np.float32(1 / 255), np.uint8(0), **own), np.float32(1 / 255), np.uint8(0),
                       z, *steps, np.float32(0.02), np.uint8(128), **own)
    weights = net.rng.integers(-100, 100, (5, 8)).astype(np.int8)
    net.output(net.QGemm(net.Flatten(z), np.float32(0.02), np.uint8(128), weights, np.float32(0.01), np.int8(0),
                         net.rng.integers(-900, 900, 5).astype(np.int32), transB=1, **own))
    net.output(net.MatMulIntegerToFloat(net.Flatten(z), weights.T.copy(), np.float32(0.02), np.float32(0.01), np.uint8(128),
                                        np.int8(0), **own))
    return net


def detector():  # as torchvision's end: boxes of all levels and classes, moved apart by class, as many as there are
    net, count = Net(opset=11), 60
    corners = net.rng.random((count, 2)) * 60
    boxes = net.input('boxes', ['n', 4], np.concatenate([corners, corners + 5 + 20 * net.rng.random((count, 2))], 1).astype(np.float32))
    scores = net.input('scores', ['n'], net.rng.random(count).astype(np.float32))
    labels = net.input('labels', ['n'], net.rng.integers(0, 4, count))
    apart = net.Mul(net.Cast(labels, to=FLOAT), net.Add(net.ReduceMax(boxes, keepdims=0), np.float32(1)))
    moved = net.Add(boxes, net.Unsqueeze(apart, axes=[1]))
    chosen = net.NonMaxSuppression(net.Unsqueeze(moved, axes=[0]), net.Unsqueeze(net.Unsqueeze(scores, axes=[0]), axes=[0]),
                                   np.array([2 ** 63 - 1]), np.float32([0.5]))
    keep = net.Squeeze(net.Gather(chosen, np.array([2]), axis=1), axes=[1])
    keep = net.Slice(keep, np.array([0]), np.array([20]), np.array([0]))
    net.output(net.Gather(boxes, keep, axis=0))
    net.output(net.Gather(labels, keep, axis=0), INT64)
    return net


def quantised_to_16_bits():  # and bytes whose weights are known
    net, own = Net(opset=17), {'domain': 'com.microsoft'}
    steps, fine = [np.float32(0.03), np.uint8(120)], [np.float32(0.0001), np.uint16(33000)]
    image = net.image(3, 12, 14)
    x = net.DequantizeLinear(net.QuantizeLinear(image, *fine, **own), *fine, **own)
    net.output(net.conv(x, 3, 4))
    weights = net.rng.integers(-100, 100, (6, 3, 3, 3)).astype(np.int8)
    scales, zeros = (0.001 + 0.002 * net.rng.random(6)).astype(np.float32), np.zeros(6, np.int8)
    y = net.QLinearConv(net.QuantizeLinear(image, *steps), *steps, weights, scales, zeros, *steps,
                        net.rng.integers(-900, 900, 6).astype(np.int32), pads=[1] * 4)
    y = net.QLinearAveragePool(y, *steps, *steps, kernel_shape=[2, 2], strides=[2, 2], channels_last=0, **own)
    net.output(y, TensorProto.UINT8)
    weights = net.rng.integers(-100, 100, (4, 6, 1, 1)).astype(np.int8)
    net.output(net.ConvInteger(y, weights, np.uint8(120)), TensorProto.INT32)
    bright = net.Add(net.Abs(image), np.float32(2.5))  # large sums of many channels: other ways of convolving round them
    wide = net.Concat(*[net.QuantizeLinear(net.Mul(bright, np.float32(1 + 0.1 * i)), *steps) for i in range(12)], axis=1)
    weights = net.rng.integers(60, 127, (20, 36, 3, 3)).astype(np.int8)
    net.output(net.ConvInteger(wide, weights, pads=[1] * 4), TensorProto.INT32)
    return net


def quantised_dynamically():  # what quantize_dynamic makes of recurrent networks
    net, own, width, hidden = Net(opset=17), {'domain': 'com.microsoft'}, 12, 16
    y = net.input('x', ['steps', 'batch', width], net.rng.standard_normal((7, 1, width)).astype(np.float32))
    for kind, columns in ((np.int8, 4 * hidden), (np.uint8, 0)):
        # Of seven bits: onnxruntime's products of bytes saturate on processors without VNNI.
        low = -64 if kind == np.int8 else 1
        weights = [net.rng.integers(low, low + 128, (2, k, 4 * hidden)).astype(kind) for k in (width, hidden)]
        scale = (0.002 + 0.002 * net.rng.random((2, columns) if columns else 2)).astype(np.float32)
        zero = np.full(scale.shape, 0 if kind == np.int8 else 127, kind)
        y, *_ = net.DynamicQuantizeLSTM(y, *weights, net.weight(2, 8 * hidden, scale=0.1), '', '', '', '', scale, zero, scale, zero,
                                        outputs=3, direction='bidirectional', hidden_size=hidden, **own)
        y = net.Reshape(net.Transpose(y, perm=[0, 2, 1, 3]), np.array([0, 0, -1]))
        width = 2 * hidden
    y, scale, zero = net.DynamicQuantizeLinear(y, outputs=3)
    weights = net.rng.integers(-64, 64, (width, 9)).astype(np.int8)
    sums = net.Cast(net.MatMulInteger(y, weights, zero, np.zeros(9, np.int8)), to=FLOAT)
    net.output(net.Add(net.Mul(sums, net.Mul(scale, (0.01 * net.rng.random(9)).astype(np.float32))), net.weight(9)))
    return net


def spectrum():  # as torch writes it: the signal has no dimension for real and imaginary parts
    net = Net(opset=17)
    signal = net.input('x', [1, 'samples'], net.rng.standard_normal((1, 80)).astype(np.float32))
    window = np.hanning(16).astype(np.float32)
    net.output(net.STFT(signal, np.int64(4), window, np.int64(16), onesided=1))
    return net


def fused_by_tools():  # what onnxruntime.transformers.optimizer makes of encoders
    net, own = Net(opset=17), {'domain': 'com.microsoft'}
    width, heads, length = 16, 4, 6
    ids = net.input('ids', ['batch', 'length'], net.rng.integers(0, 20, (2, length)).astype(np.int32))
    kinds = net.input('kinds', ['batch', 'length'], net.rng.integers(0, 2, (2, length)).astype(np.int32))
    mask = net.input('mask', ['batch', 'length'], np.array([[1] * length, [1] * 4 + [0] * 2], np.int32))
    tables = [net.weight(rows, width, scale=1) for rows in (20, 12, 2)]
    x, lengths = net.EmbedLayerNormalization(ids, kinds, *tables, np.ones(width), np.zeros(width), mask, outputs=2, **own)
    for seen, extra in ((lengths, {}), (mask, {'unidirectional': 1, 'mask_filter_value': -3e38})):
        x = net.Attention(x, net.weight(width, 3 * width), net.weight(3 * width), seen, num_heads=heads, **own, **extra)
    query, key = net.linear(x, width, width), net.linear(x, width, width)
    places = net.Cast(net.CumSum(mask, np.int32(1)), to=INT64)
    angles = net.rng.random((12, width // heads // 2)) * 6
    query, key = (net.RotaryEmbedding(y, places, np.cos(angles), np.sin(angles), interleaved=turn, **own)
                  for turn, y in enumerate((query, key)))
    y = net.MultiHeadAttention(query, key, x, net.weight(3 * width), mask, num_heads=heads, **own)
    net.output(y)
    return net


def decoder_of_few_bits():  # as onnxruntime's builder of generative models writes a step of one token
    net, own = Net(opset=17), {'domain': 'com.microsoft'}
    size, heads, groups, before = 16, 4, 2, 5

    def product(x, k, n, bits=4, block=32):
        packed = net.rng.integers(0, 256, (n, k // block, block * bits // 8)).astype(np.uint8)
        zeros = net.rng.integers(0, 256, n * ((k // block * bits + 7) // 8)).astype(np.uint8)
        scales = (0.02 * net.rng.random(n * k // block)).astype(np.float32)
        return net.MatMulNBits(x, packed, scales, zeros, K=k, N=n, bits=bits, block_size=block, **own)
    x = net.input('x', ['batch', 'length', 64], net.rng.standard_normal((2, 1, 64)).astype(np.float32))
    pasts = [net.input(name, ['batch', groups, 'past', size], net.rng.standard_normal((2, groups, before, size)).astype(np.float32))
             for name in ('keys', 'values')]
    mask = net.input('mask', ['batch', before + 1], np.ones((2, before + 1), np.int64))
    last = net.Cast(net.Sub(net.ReduceSum(mask, np.array([1]), keepdims=0), np.int64(1)), to=TensorProto.INT32)
    angles = net.rng.random((12, size // 2)) * 6
    everything = net.GroupQueryAttention(
        product(x, 64, (heads + 2 * groups) * size), '', '', *pasts, last, np.int32(before + 1),
        np.cos(angles), np.sin(angles), num_heads=heads, kv_num_heads=groups, do_rotary=1, outputs=3, **own)
    for result in [product(everything[0], 64, 8, bits=8), *everything[1:]]:
        net.output(result)
    return net


def attention_of_opset_23():  # heads apart with a past, and heads together that share keys
    net = Net(opset=23)

    def some(*shape):
        return net.rng.standard_normal(shape).astype(np.float32)
    query = net.input('query', ['batch', 4, 'length', 16], some(2, 4, 3, 16))
    sides = [net.input(name, ['batch', 2, 'length', 16], some(2, 2, 3, 16)) for name in ('key', 'value')]
    pasts = [net.input(name, ['batch', 2, 'past', 16], some(2, 2, 5, 16)) for name in ('keys', 'values')]
    for result in net.Attention(query, *sides, '', *pasts, softcap=3.0, outputs=3):
        net.output(result)
    x = net.input('x', ['batch', 6, 32], some(2, 6, 32))
    mask = net.input('mask', [6, 6], np.tril(np.ones((6, 6), bool)))
    y = net.Attention(x, net.MatMul(x, net.weight(32, 16)), net.MatMul(x, net.weight(32, 16)), mask, q_num_heads=4, kv_num_heads=2)
    net.output(net.Attention(y, y, y, some(1, 1, 6, 6), q_num_heads=2, kv_num_heads=2, scale=0.3, is_causal=1))
    return net


FAMILIES = [mobilenet_v2, mobilenet_v3, efficientnet, vit, yolo, bert, gpt2, llama, whisper, tagger, detr, sam,
            super_resolution, unet, generator, detector, quantised, quantised_to_16_bits, quantised_dynamically, spectrum,
            fused_by_tools, decoder_of_few_bits, attention_of_opset_23]


def all_models():
    for build in FAMILIES:
        net = build()
        yield build.__name__, net.model(), net.feeds
