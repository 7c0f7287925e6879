"""Functions of tensors that random_calls.py draws: pointwise ones, reductions, orders, indices, moves."""

import torch
import torch.nn.functional as F

from random_draw import EVERY, FLOATS, WHOLE

CALLS = {}
WIDE = FLOATS + [torch.float64]
SORTED = FLOATS + [torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8]


def call(name):
    def keep(draw_case):
        CALLS[name] = draw_case
        return draw_case
    return keep


def in_some_form(draw, name, inputs, more=None, **case):
    """torch.NAME of the inputs: as a function, in place in the first, or into `out=`."""
    more = more or {}
    function = getattr(torch, name)
    form = draw.choice(["", "", "in place", "out="])
    if form == "in place" and hasattr(torch.Tensor, name + "_"):
        case.update(writes=True)
        return draw.case(name + "_", inputs, lambda x, *y: getattr(x, name + "_")(*y, **more), **case)
    if form == "out=":
        result = function(*[t.double() if t.is_floating_point() else t for t in inputs], **more)
        kind = function(*[t.flatten()[:1] for t in inputs], **more).dtype
        out = torch.zeros(result.shape).to(kind)
        case.update(writes=True)
        return draw.case(name + "(out=)", [*inputs, out], lambda *t: function(*t[:-1], **more, out=t[-1]), **case)
    case.setdefault("gradients", all(t.is_floating_point() for t in inputs))
    return draw.case(name, inputs, lambda *t: function(*t, **more), **case)


UNARY = {  # name: from, to
    "abs": (-9, 9), "exp": (-9, 5), "exp2": (-9, 5), "expm1": (-3, 3), "log": (0.1, 50), "log2": (0.1, 50), "log10": (0.1, 50),
    "log1p": (-0.9, 9), "sqrt": (0.01, 90), "rsqrt": (0.1, 90), "sin": (-30, 30), "cos": (-30, 30), "tan": (-1.2, 1.2),
    "asin": (-0.95, 0.95), "acos": (-0.95, 0.95), "atan": (-9, 9), "sinh": (-4, 4), "cosh": (-4, 4), "tanh": (-5, 5),
    "asinh": (-9, 9), "acosh": (1.1, 9), "atanh": (-0.9, 0.9), "sigmoid": (-9, 9), "erf": (-3, 3), "erfc": (-3, 3),
    "erfinv": (-0.95, 0.95), "reciprocal": (0.3, 9), "square": (-9, 9), "neg": (-9, 9), "relu": (-9, 9), "sinc": (-3, 3),
    "lgamma": (0.5, 9), "digamma": (0.5, 9), "logit": (0.1, 0.9), "frac": (0.1, 0.9)}
STEPS = ["floor", "ceil", "round", "trunc", "sign", "isnan", "isfinite", "signbit", "logical_not"]
ACTIVATIONS = ["gelu", "silu", "mish", "softplus", "softsign", "hardtanh", "elu", "selu", "celu", "leaky_relu", "logsigmoid",
               "hardswish", "hardsigmoid", "relu6", "softshrink", "hardshrink", "tanhshrink"]


@call("unary")
def unary(draw):
    name = draw.choice(sorted(UNARY))
    low, high = UNARY[name]
    x = draw.uniform(draw.shape(), low=low, high=high, dtype=draw.choice(WIDE))
    return in_some_form(draw, name, [x], bound=32)


@call("steps")
def steps(draw):
    name = draw.choice(STEPS)
    kinds = WIDE + (EVERY if name in ("sign", "logical_not") else [])
    x = draw.tensor(draw.shape(), draw.choice(kinds), 5.0)
    form = draw.choice([lambda x: getattr(torch, name)(x), lambda x: getattr(torch, name)(x * 1)])
    return draw.case(name, [x], form)


@call("activation")
def activation(draw):
    name = draw.choice(ACTIVATIONS)
    x = draw.normal(draw.shape(), dtype=draw.choice(FLOATS), scale=3.0)
    return draw.case(name, [x], lambda x: getattr(F, name)(x), gradients="hard" not in name, bound=32)


def beside(draw, shape):
    """A shape that broadcasts to the other."""
    other = [n if draw.chance(0.7) else 1 for n in shape]
    return other[draw.randrange(len(other) + 1):] if draw.chance(0.3) else other


def pair(draw, kinds, mixed=0.2):
    shape, kind = draw.shape(), draw.choice(kinds)
    second = draw.choice(kinds) if draw.chance(mixed) else kind
    x, y = draw.tensor(shape, kind), draw.tensor(beside(draw, shape), second)
    return x, y


@call("binary")
def binary(draw):
    name = draw.choice(["add", "sub", "mul", "maximum", "minimum", "add", "mul"])
    x, y = pair(draw, EVERY if name in ("add", "mul") else EVERY[:-1])
    if name in ("maximum", "minimum"):
        y = y.to(x.dtype)
    if y.is_floating_point() > x.is_floating_point() or (x.dtype == torch.bool and y.dtype != torch.bool):
        return draw.case(name, [x, y], lambda x, y: getattr(torch, name)(x, y))
    return in_some_form(draw, name, [x, y], size=2)


@call("alpha")
def alpha(draw):
    x, y = pair(draw, FLOATS + [torch.int64, torch.int32], 0)
    factor = draw.choice([2, -3, 1]) if not x.is_floating_point() else draw.choice([0.5, -1.25, 3])
    return in_some_form(draw, draw.choice(["add", "sub"]), [x, y], {"alpha": factor}, size=6)


@call("number")
def number(draw):
    """A tensor and a number of Python, either way round."""
    x = draw.tensor(draw.shape(), draw.choice(EVERY[:-1]))
    n = draw.choice([2, 3, -1, 0.5, 1.75, True] if x.is_floating_point() else [2, 3, 5])
    low = 1 if x.dtype == torch.uint8 else -2
    forms = {"+": lambda x: x + n, "n-": lambda x: n - x, "*": lambda x: x * n, "/": lambda x: x / n, "<": lambda x: x < n,
             "==": lambda x: x == n, "clamp": lambda x: x.clamp(low, n + 1), "where": lambda x: torch.where(x > 1, x, n),
             "//": lambda x: x // n, "%": lambda x: x % n, "**": lambda x: x ** 2, "n**": lambda x: 2 ** x.clamp(0, 5)}
    name = draw.choice(sorted(forms) if not x.is_floating_point() else [k for k in sorted(forms) if k not in ("//", "%")])
    return draw.case(f"{name} {n}", [x], forms[name], size=3)


@call("quotients")
def quotients(draw):
    name = draw.choice(["remainder", "fmod", "floor_divide"])
    x = draw.tensor(draw.shape(), draw.choice([torch.int64, torch.int32, torch.int16, torch.int8]))
    y = draw.whole(1, 9, beside(draw, x.shape)).to(x.dtype) * draw.choice([1, -1])
    return in_some_form(draw, name, [x, y])


@call("division")
def division(draw):
    x = draw.tensor(draw.shape(), draw.choice(WIDE))
    y = draw.uniform(beside(draw, x.shape), low=0.5, high=4, dtype=x.dtype)
    name = draw.choice(["div", "atan2", "pow", "div", "hypot"])
    x = x.abs() + 0.5 if name == "pow" else x
    return in_some_form(draw, name, [x, y], bound=64, size=1)


@call("compare")
def compare(draw):
    x, y = pair(draw, EVERY)
    if torch.uint8 in (x.dtype, y.dtype):  # into which torch wraps a number below 0 that has no dimensions
        x, y = (t if t.dtype == torch.bool else t.abs() for t in (x, y))
    if not x.dim() or not y.dim():  # torch rounds it to the other's type, the client compares both in the wider one
        y = y.to(x.dtype)
    name = draw.choice(["eq", "ne", "lt", "le", "gt", "ge"])
    return draw.case(name, [x, y], lambda x, y: getattr(torch, name)(x, y), exact=x.dtype != y.dtype)


@call("bits")
def bits(draw):
    name = draw.choice(["bitwise_and", "bitwise_or", "bitwise_xor", "logical_and", "logical_or", "logical_xor"])
    kinds = WHOLE + [torch.bool] + (FLOATS if name[0] == "l" else [])
    shape, kind = draw.shape(), draw.choice(kinds)
    inputs = [draw.tensor(shape, kind), draw.tensor(beside(draw, shape), kind)]
    return draw.case(name, inputs, lambda x, y: getattr(torch, name)(x, y))


@call("three")
def three(draw):
    shape, kind = draw.shape(), draw.choice(FLOATS)
    x, y, z = (draw.tensor(s, kind) for s in (shape, beside(draw, shape), beside(draw, shape)))
    name, n = draw.choice(["addcmul", "addcdiv", "lerp", "where", "clamp"]), draw.choice([1, 0.5, -2])
    if name == "where":
        return draw.case(name, [y > 0, x, z], torch.where, gradients=True)
    if name == "clamp":
        return draw.case(name, [x, -y.abs(), z.abs()], torch.clamp)
    if name == "lerp":
        return in_some_form(draw, name, [x, y, z], size=8)
    z = z.abs() + 0.5 if name == "addcdiv" else z
    return in_some_form(draw, name, [x, y, z], {"value": n}, size=8)


@call("cast")
def cast(draw):
    x, kind = draw.tensor(draw.shape(), draw.choice(EVERY), 9.0), draw.choice(EVERY)
    if kind == torch.uint8 and x.dtype != torch.bool:
        x = x.abs()
    forms = [lambda x: torch.empty_like(x, dtype=kind).copy_(x)]
    if kind != torch.float64:  # of which the client makes float32
        forms.append(lambda x: x.to(kind))
    form = draw.choice(forms)
    return draw.case(f"to {kind}", [x], form, exact=True)


def reduction(draw, kinds, function, says, **more):
    x = draw.tensor(draw.shape(1), draw.choice(kinds))
    d, keep = draw.dims(x), draw.chance(0.3)
    return draw.case(f"{says} over {d}", [x], lambda x: function(x, d, keep), **more)


@call("sum")
def sums(draw):
    forms = {"sum": lambda x, d, k: x.sum(d, k), "mean": lambda x, d, k: x.mean(d, k),
             "nansum": lambda x, d, k: torch.nansum(x, d, k), "logsumexp": lambda x, d, k: x.logsumexp(d, k),
             "var": lambda x, d, k: x.var(d, correction=0, keepdim=k),
             "std": lambda x, d, k: x.std(d, correction=0, keepdim=k),
             "var_mean": lambda x, d, k: torch.var_mean(x, d, correction=0, keepdim=k)}
    name = draw.choice(sorted(forms))
    gradients = draw.chance(0.3) and name != "std"
    return reduction(draw, EVERY if name == "sum" else FLOATS, forms[name], name, size=20, bound=64, gradients=gradients)


@call("extremes")
def extremes(draw):
    forms = {"amax": lambda x, d, k: x.amax(d, k), "amin": lambda x, d, k: x.amin(d, k),
             "aminmax": lambda x, d, k: tuple(torch.aminmax(x, dim=d[0], keepdim=k)),
             "max": lambda x, d, k: tuple(x.max(d[0], k)), "min": lambda x, d, k: tuple(x.min(d[0], k)),
             "argmax": lambda x, d, k: x.argmax(d[0], k), "argmin": lambda x, d, k: x.argmin(d[0], k),
             "any": lambda x, d, k: (x > 1).any(d[0], k), "all": lambda x, d, k: (x < 3).all(d[0], k),
             "count_nonzero": lambda x, d, k: torch.count_nonzero(x, d), "max of all": lambda x, d, k: x.max(),
             "min of all": lambda x, d, k: x.min(), "argmax of all": lambda x, d, k: x.argmax()}
    name = draw.choice(sorted(forms))
    return reduction(draw, EVERY, forms[name], name)


@call("norms")
def norms(draw):
    p = draw.choice([0, 1, 2, 3, 2.5, -1, float("inf"), -float("inf")])
    return reduction(draw, WIDE, lambda x, d, k: torch.linalg.vector_norm(x, p, d, k), f"norm {p}", bound=512, size=2)


@call("running")
def running(draw):
    forms = {"cumsum": lambda x, d: x.cumsum(d), "cummax": lambda x, d: tuple(x.cummax(d)), "logcumsumexp": None,
             "cummin": lambda x, d: tuple(x.cummin(d)), "cumprod": lambda x, d: (1 + x * 0.01).cumprod(d),
             "diff": lambda x, d: x.diff(dim=d)}
    forms["logcumsumexp"] = lambda x, d: x.logcumsumexp(d)
    name = draw.choice(sorted(forms))
    kinds = {"cumprod": [torch.float32, torch.float64], "logcumsumexp": [torch.float32]}.get(name, EVERY[:-1])
    x = draw.tensor(draw.shape(1), draw.choice(kinds))
    d = draw.dim(x)
    return draw.case(f"{name} along {d}", [x], lambda x: forms[name](x, d), bound=64, size=20)


@call("prod")
def prod(draw):
    x = draw.uniform(draw.shape(1), low=0.9, high=1.1, dtype=draw.choice(WIDE))
    d = draw.dim(x)
    return draw.case(f"prod along {d}", [x], lambda x: x.prod(d), bound=1024)


@call("shares")
def shares(draw):
    forms = {"softmax": F.softmax, "log_softmax": F.log_softmax, "softmin": F.softmin,
             "normalize": lambda x, d: F.normalize(x, dim=d), "glu": lambda x, d: F.glu(torch.cat([x, x * 2], d), d)}
    name = draw.choice(sorted(forms))
    x = draw.tensor(draw.shape(1), draw.choice(FLOATS), 3.0)
    d = draw.dim(x)
    return draw.case(f"{name} along {d}", [x], lambda x: forms[name](x, d), gradients=True, bound=64)


@call("orders")
def orders(draw):
    forms = {"sort": lambda x, d, down: tuple(torch.sort(x, dim=d, descending=down, stable=True)),
             "argsort": lambda x, d, down: torch.argsort(x, dim=d, descending=down, stable=True),
             "topk": lambda x, d, down: x.topk(k, d, largest=down)[0], "kthvalue": lambda x, d, down: x.kthvalue(k, d)[0],
             "topk's places": lambda x, d, down: x.gather(d, x.topk(k, d, largest=down)[1]),
             "median": lambda x, d, down: x.median(d)[0], "sort unstable": lambda x, d, down: x.sort(d, down)[0],
             "msort": lambda x, d, down: torch.msort(x), "median of all": lambda x, d, down: x.median()}
    name = draw.choice(sorted(forms))
    x = draw.tensor(draw.shape(1), draw.choice(SORTED))
    d, down = draw.dim(x), draw.chance(0.5)
    k = draw.randint(1, max(1, min(x.shape[d], draw.choice([1, 5, 40, 3000]))))
    return draw.case(f"{name} {k} along {d}, {down}", [x], lambda x: forms[name](x, d, down), exact=True)


@call("distinct")
def distinct(draw):
    x = draw.tensor(draw.shape(1), draw.choice(SORTED + [torch.bool]))
    d = draw.dim(x)
    forms = {"unique": lambda x: torch.unique(x, return_inverse=True, return_counts=True), "values": torch.unique,
             "consecutive": lambda x: torch.unique_consecutive(x, return_inverse=True, return_counts=True),
             "along": lambda x: torch.unique(x, dim=d), "nonzero": torch.nonzero, "mask": lambda x: x[x > 1],
             "masked_select": lambda x: torch.masked_select(x, x > 0),
             "isin": lambda x: torch.isin(x, x.flatten()[::3])}
    name = draw.choice(sorted(forms))
    return draw.case(f"{name} {d}", [x], forms[name], exact=True)


@call("places")
def places(draw):
    """searchsorted, bucketize, histc, bincount"""
    name = draw.choice(["searchsorted", "bucketize", "bincount", "histc", "rows"])
    right, kind = draw.chance(0.5), draw.choice([torch.float32, torch.int64, torch.int32, torch.float16, torch.bfloat16])
    if name in ("searchsorted", "bucketize"):
        edges = draw.tensor([draw.choice([1, 7, 64, 1000])], kind).sort()[0]
        form = {"searchsorted": lambda e, x: torch.searchsorted(e, x, right=right),
                "bucketize": lambda e, x: torch.bucketize(x, e, right=right)}[name]
        return draw.case(f"{name} {right}", [edges, draw.tensor(draw.shape(), kind)], form, exact=True)
    if name == "rows":
        lead = draw.shape(1, 3, 400)
        edges = draw.tensor([*lead, draw.choice([1, 9, 70])], kind).sort(-1)[0]
        x = draw.tensor([*lead, draw.choice([1, 3, 33])], kind)
        return draw.case(f"rows {right}", [edges, x], lambda e, x: torch.searchsorted(e, x, right=right), exact=True)
    if name == "bincount":
        x = draw.whole(0, draw.choice([2, 50, 3000]), [draw.choice([1, 100, 5000])])
        weights = draw.normal(x.shape)
        return draw.case(name, [x, weights], lambda x, w: (torch.bincount(x), torch.bincount(x, w)), size=9)
    x, bins = draw.whole(-9, 9, draw.shape(1)).float(), draw.choice([3, 10, 100])
    return draw.case(f"histc {bins}", [x], lambda x: torch.histc(x, bins, -9.5, 9.5))


def places_of(draw, t, d, count, dtype=torch.int64, negative=False):
    """Indices along a dimension of a tensor, in the shape of `t` with `count` places there."""
    shape = list(t.shape)
    shape[d] = count
    low = -t.shape[d] if negative else 0
    return draw.whole(low, max(t.shape[d], 1), shape, dtype)


@call("gather")
def gather(draw):
    x = draw.tensor(draw.shape(1), draw.choice(EVERY))
    d, count = draw.dim(x), draw.choice([1, 3, 17, 130])
    if not x.numel():
        return draw.case("gather of nothing", [x], lambda x: x.flip(d))
    index, row = places_of(draw, x, d, count), draw.whole(0, x.shape[d], [count], draw.choice([torch.int64, torch.int32]))
    flat = draw.whole(0, x.numel(), [count])
    name = draw.choice(["gather", "take_along_dim", "index_select", "take", "rows"])
    gradients = x.is_floating_point() and draw.chance(0.4)
    if name in ("gather", "take_along_dim"):
        form = (lambda x, i: x.gather(d, i)) if name == "gather" else (lambda x, i: torch.take_along_dim(x, i, d))
        return draw.case(f"{name} {d}", [x, index], form, gradients=gradients)
    if name == "index_select":
        return draw.case(f"{name} {d}", [x, row], lambda x, i: x.index_select(d, i), gradients=gradients)
    if name == "take":
        return draw.case(name, [x, flat], torch.take, gradients=gradients)
    return draw.case("x[i]", [x, draw.whole(-x.shape[0], x.shape[0], draw.shape(0, 3, 200))], lambda x, i: x[i],
                     gradients=gradients)


ADDED = FLOATS + [torch.float64, torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8]


@call("scatter")
def scatter(draw):
    x = draw.tensor(draw.shape(1), draw.choice(EVERY))
    d = draw.dim(x)
    if not x.numel():
        return draw.case("nothing", [x], lambda x: x.roll(1, d))
    count = draw.randint(1, x.shape[d])
    order = torch.rand(list(x.shape), generator=draw.generator).argsort(d).narrow(d, 0, count)
    source = draw.tensor(list(order.shape), x.dtype)
    if draw.chance(0.3):
        return draw.case(f"scatter of a number {d}", [x, order], lambda x, i: x.scatter(d, i, 3))
    if draw.chance(0.3):
        return draw.case(f"scatter_ {d}", [x, order, source], lambda x, i, s: x.scatter_(d, i, s), writes=True)
    gradients = x.is_floating_point() and draw.chance(0.4)
    return draw.case(f"scatter {d}", [x, order, source], lambda x, i, s: x.scatter(d, i, s), gradients=gradients)


@call("scatter_add")
def scatter_add(draw):
    x = draw.tensor([n or 1 for n in draw.shape(1)], draw.choice(ADDED))
    d = draw.dim(x)
    index = places_of(draw, x, d, draw.choice([1, 2, 17, 300]) if x.numel() < 5000 else 2)
    source = draw.tensor(list(index.shape), x.dtype)
    how = draw.choice(["add", "add", "sum", "amax", "amin", "mean", "prod"])
    itself = draw.chance(0.7)
    if how == "add":
        gradients = x.is_floating_point() and draw.chance(0.4)
        return draw.case(f"scatter_add {d}", [x, index, source], lambda x, i, s: x.scatter_add(d, i, s), size=30,
                         gradients=gradients)
    if how in ("prod", "mean") and not x.is_floating_point():
        how = "sum"
    if how == "prod":
        source = draw.uniform(list(index.shape), low=0.8, high=1.2, dtype=x.dtype)
    return draw.case(f"scatter_reduce {d} {how} {itself}", [x, index, source], size=30, bound=64,
                     call=lambda x, i, s: x.scatter_reduce(d, i, s, how, include_self=itself))


@call("index_add")
def index_add(draw):
    x = draw.tensor([n or 1 for n in draw.shape(1)], draw.choice(ADDED))
    d, kind = draw.dim(x), draw.choice([torch.int64, torch.int32])
    name = draw.choice(["add", "add", "copy", "fill"])
    count = draw.choice([1, 2, 30]) if name == "add" else draw.randint(1, x.shape[d])
    row = draw.whole(0, x.shape[d], [count], kind)
    if name != "add":
        row = torch.randperm(x.shape[d], generator=draw.generator)[:count]
    shape = list(x.shape)
    shape[d] = count
    source, n = draw.tensor(shape, x.dtype), draw.choice([1, 1, 2])
    forms = {"add": lambda x, i, s: x.index_add(d, i, s, alpha=n), "copy": lambda x, i, s: x.index_copy(d, i, s),
             "fill": lambda x, i, s: x.index_fill(d, i, 3)}
    return draw.case(f"index_{name} {d} {n}", [x, row, source], forms[name], size=30)


@call("index_put")
def index_put(draw):
    x = draw.tensor([n or 1 for n in draw.shape(1, 5)], draw.choice(ADDED))
    among = sorted(draw.sample(range(x.dim()), draw.randint(1, min(3, x.dim()))))
    lead = [n or 1 for n in draw.shape(1, 2, 300)]  # an empty index is to the client what stands for none
    adds = draw.chance(0.7)
    index = [draw.whole(-x.shape[d], x.shape[d], beside(draw, lead) if adds else [1]) for d in among]

    def put(x, v, *index):
        where = [slice(None)] * x.dim()
        for d, i in zip(among, index):
            where[d] = i
        return torch.ops.aten.index_put(x, [i if torch.is_tensor(i) else None for i in where], v, adds)

    zeros = torch.zeros([1 if n else 0 for n in x.shape])
    where = [slice(None)] * x.dim()
    for d, i in zip(among, index):
        where[d] = i * 0
    result = zeros.expand(x.shape)[tuple(where)].shape
    v = draw.tensor([], x.dtype) if draw.chance(0.2) else draw.tensor(beside(draw, list(result)), x.dtype)
    return draw.case(f"index_put {among} {adds}", [x, v, *index], put, size=30)


@call("masked")
def masked(draw):
    x = draw.tensor(draw.shape(), draw.choice(EVERY))
    mask = draw.tensor(beside(draw, x.shape), torch.bool)
    name = draw.choice(["fill", "fill_", "scatter", "where", "put"])
    full = draw.tensor(x.shape, torch.bool)
    if name == "scatter":
        source = draw.tensor([x.numel() + 1], x.dtype)
        return draw.case("masked_scatter", [x, full, source], lambda x, m, s: x.masked_scatter(m, s))
    if name == "fill_":
        return draw.case("masked_fill_", [x, mask], lambda x, m: x.masked_fill_(m, 2), writes=True)
    if name == "put":
        def put(x, m):
            x[m] = 1
            return x
        return draw.case("x[m] =", [x, full], put, writes=True)
    if name == "where":
        return draw.case("where", [mask, x], lambda m, x: torch.where(m, x, x.flip(-1) if x.dim() else x))
    return draw.case("masked_fill", [x, mask], lambda x, m: x.masked_fill(m, 2), gradients=x.is_floating_point())


@call("moves")
def moves(draw):
    x = draw.tensor(draw.shape(1), draw.choice(EVERY))
    d, e, n = draw.dim(x), draw.dim(x), draw.randint(1, 5)
    order = draw.sample(range(x.dim()), x.dim())
    forms = {"roll": lambda x: x.roll(n, d), "flip": lambda x: x.flip([d]), "cat": lambda x: torch.cat([x, x.flip(d)], d),
             "repeat_interleave": lambda x: x.repeat_interleave(n, d), "stack": lambda x: torch.stack([x, x], d),
             "unbind": lambda x: torch.stack(x.unbind(d)[:5], -1), "permute": lambda x: x.permute(order).contiguous(),
             "pad": lambda x: F.pad(x, (n, 1)), "pad all": lambda x: F.pad(x, [n % 3, 1] * x.dim(), value=2),
             "repeat": lambda x: x.repeat([1 + (i == d % x.dim()) for i in range(x.dim())]), "tril": lambda x: x.tril(n - 3),
             "triu": lambda x: x.triu(2 - n), "split": lambda x: torch.cat([p * 1 for p in x.split(n, d)][::-1], d),
             "chunk": lambda x: x.chunk(n, d)[-1].clone(), "swap": lambda x: x.transpose(d, e).contiguous(),
             "reshape": lambda x: x.transpose(d, e).reshape(-1), "steps": lambda x: x[..., ::n].clone(),
             "narrow": lambda x: x.narrow(d, x.shape[d] // 3, (x.shape[d] + 1) // 2).contiguous(),
             "diagonal": lambda x: x.diagonal(n - 3, d, e).contiguous(), "diag_embed": lambda x: torch.diag_embed(x[..., :9]),
             "unfold": lambda x: x.unfold(d, min(n, x.shape[d]), 2).contiguous(), "rot90": lambda x: x.rot90(n, [d, e]),
             "expand": lambda x: x.unsqueeze(d).expand(*x.shape[:d % (x.dim() + 1)], n, *x.shape[d % (x.dim() + 1):]) * 1}
    name = draw.choice(sorted(forms))
    return draw.case(f"{name} {d} {e} {n} {order}", [x], forms[name], gradients=x.is_floating_point() and draw.chance(0.3))


@call("writes")
def writes(draw):
    """Into a view of a view."""
    x = draw.tensor(draw.shape(1), draw.choice(EVERY))
    d = draw.dim(x)
    part = x[..., ::2].transpose(-1, d) if draw.chance(0.5) else x.narrow(d, x.shape[d] // 2, x.shape[d] - x.shape[d] // 2)
    strided = part.shape != x.narrow(d, x.shape[d] // 2, x.shape[d] - x.shape[d] // 2).shape
    y = draw.tensor(beside(draw, list(part.shape)), draw.choice([x.dtype, x.dtype, torch.float32, torch.int32]))
    if not y.is_floating_point() and x.dtype == torch.uint8 or x.dtype == torch.uint8:
        y = y.abs()

    def write(x, y):
        view = x[..., ::2].transpose(-1, d) if strided else x.narrow(d, x.shape[d] // 2, x.shape[d] - x.shape[d] // 2)
        view.copy_(y)
        return x

    return draw.case(f"copy_ into {'x[..., ::2]' if strided else 'its half'} {d}", [x, y], write, writes=True, exact=True)


@call("foreach")
def foreach(draw):
    kind = draw.choice(FLOATS)
    xs = [draw.tensor(draw.shape(0, 4, 5000), kind) for _ in range(draw.randint(1, 6))]
    ys = [draw.tensor(x.shape, kind).abs() + 0.5 for x in xs]
    name = draw.choice(["add", "sub", "mul", "div", "maximum", "minimum", "addcmul", "addcdiv", "lerp", "norm", "sqrt",
                        "neg", "abs", "exp", "add number", "mul number", "pow number"])
    n, count = draw.choice([0.5, 2.0, -1.0]), len(xs)
    base = name.split()[0]
    function = getattr(torch, "_foreach_" + base)
    if name in ("sqrt", "neg", "abs", "exp"):
        xs = [x.abs() for x in xs]
        return draw.case("foreach " + name, xs, lambda *t: function(t), bound=32)
    if name == "norm":
        return draw.case("foreach norm", xs, lambda *t: function(t), bound=64)
    if name.endswith("number"):
        return draw.case(f"foreach {name} {n}", [x.abs() + 0.5 for x in xs], lambda *t: function(t, n), bound=32)
    if name in ("addcmul", "addcdiv"):
        return draw.case("foreach " + name, xs + ys, size=5,
                         call=lambda *t: function(t[:count], t[count:], t[count:], value=n))
    if name == "lerp":
        return draw.case("foreach lerp", xs + ys, lambda *t: function(t[:count], t[count:], 0.3), size=3)
    return draw.case("foreach " + name, xs + ys, lambda *t: function(t[:count], t[count:]), size=3)
