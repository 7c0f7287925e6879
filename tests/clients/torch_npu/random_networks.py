"""Parts of networks that random_calls.py draws: products, convolutions, pools, norms, losses, attention, optimisers."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from random_draw import FLOATS

CALLS = {}
ROWS = [1, 2, 3, 5, 7, 8, 13, 15, 16, 17, 31, 33, 64, 65, 128, 130, 257, 511, 1000]


def call(name):
    def keep(draw_case):
        CALLS[name] = draw_case
        return draw_case
    return keep


@call("products")
def products(draw):
    m, k, n = (draw.choice(ROWS) for _ in range(3))
    lead, kind = [draw.randint(1, 4) for _ in range(draw.randint(0, 2))], draw.choice(FLOATS)
    if m * k + k * n + m * n > 200000:
        lead, n = [], 3

    def of(*shape):
        return draw.normal(shape, dtype=kind)

    a, b, bias = of(*lead, m, k), of(k, n), of(*draw.choice([(n,), (m, n), (1, n), (m, 1)]))
    cases = {
        "linear": ([a, of(n, k), of(n)], F.linear), "linear without bias": ([a, of(n, k)], F.linear),
        "@": ([a, b], torch.matmul), "@ of transposed": ([a, of(n, k)], lambda a, b: a @ b.t()),
        "matmul of stacks": ([a, of(*[1 if draw.chance(0.3) else v for v in lead], k, n)], torch.matmul),
        "vector": ([of(m, k), of(k)], torch.matmul), "dot": ([of(k), of(k)], torch.dot),
        "vector first": ([of(k), of(k, n)], torch.matmul), "outer": ([of(m), of(n)], torch.outer),
        "addmm": ([bias, of(m, k), b], lambda c, a, b: torch.addmm(c, a, b, beta=0.5, alpha=2)),
        "addmv": ([of(m), of(m, k), of(k)], lambda c, a, b: torch.addmv(c, a, b, beta=0.5)),
        "addr": ([of(m, n), of(m), of(n)], lambda c, a, b: torch.addr(c, a, b, alpha=0.5)),
        "baddbmm": ([of(3, m, n), of(3, m, k), of(3, k, n)], lambda c, a, b: torch.baddbmm(c, a, b, beta=0.5)),
        "addbmm": ([of(m, n), of(3, m, k), of(3, k, n)], lambda c, a, b: torch.addbmm(c, a, b)),
        "einsum": ([of(2, m, 3, 8), of(2, 5, 3, 8)], lambda a, b: torch.einsum("bihd,bjhd->bhij", a, b)),
        "bilinear": ([of(4, 9), of(4, 7), of(5, 9, 7)], F.bilinear), "cdist": ([of(m, 9), of(17, 9)], torch.cdist)}
    name = draw.choice(sorted(cases))
    inputs, function = cases[name]
    return draw.case(f"{name} {lead} {m} {k} {n}", inputs, function, gradients=name != "cdist", size=k ** 0.5, bound=32)


def sides(draw, nd, least, most):
    return [max(low, draw.choice([draw.randint(2, most), 8, 16, 17, 1])) for low in (least if least else [1] * nd)]


@call("convolution")
def convolution(draw):
    nd = draw.choice([1, 2, 2, 3])
    groups, most = draw.choice([1, 1, 1, 2, 3]), {1: 120, 2: 30, 3: 9}[nd]
    into, out = groups * draw.randint(1, 9), groups * draw.choice([1, 2, 3, 5, 8, 16, 17])
    if draw.chance(0.15):
        groups, out = into, into * draw.randint(1, 2)
    kernel = [draw.randint(1, {1: 7, 2: 5, 3: 3}[nd]) for _ in range(nd)]
    step, wide = [draw.randint(1, 3) for _ in range(nd)], [draw.choice([1, 1, 2, 3]) for _ in range(nd)]
    pad = [draw.randint(0, 3) for _ in range(nd)]
    size = sides(draw, nd, [max(1, d * (k - 1) + 1 - 2 * p) for k, d, p in zip(kernel, wide, pad)], most)
    kind, function = draw.choice(FLOATS), getattr(F, f"conv{nd}d")
    inputs = [draw.normal([draw.randint(1, 4), into, *size], dtype=kind),
              draw.normal([out, into // groups, *kernel], dtype=kind, scale=0.3)]
    inputs += [draw.normal([out], dtype=kind)] if draw.chance(0.5) else []
    if draw.chance(0.1) and max(step) == 1:
        pad = "same"
    return draw.case(f"conv{nd}d {step} {pad} {wide} {groups}", inputs, gradients=True, bound=32, size=2,
                     call=lambda x, w, b=None: function(x, w, b, step, pad, wide, groups))


@call("transposed convolution")
def transposed_convolution(draw):
    nd = draw.choice([1, 2, 2, 3])
    groups = draw.choice([1, 1, 2, 3])
    into, out = groups * draw.randint(1, 6), groups * draw.randint(1, 6)
    kernel = [draw.randint(1, {1: 5, 2: 4, 3: 3}[nd]) for _ in range(nd)]
    step, wide = [draw.randint(1, 3) for _ in range(nd)], [draw.choice([1, 1, 2]) for _ in range(nd)]
    pad = [draw.randint(0, d * (k - 1) // 2) for k, d in zip(kernel, wide)]
    more = [draw.randint(0, max(s, d) - 1) for s, d in zip(step, wide)]
    size, kind = sides(draw, nd, None, {1: 60, 2: 17, 3: 7}[nd]), draw.choice(FLOATS)
    function = getattr(F, f"conv_transpose{nd}d")
    inputs = [draw.normal([draw.randint(1, 3), into, *size], dtype=kind),
              draw.normal([into, out // groups, *kernel], dtype=kind, scale=0.3)]
    inputs += [draw.normal([out], dtype=kind)] if draw.chance(0.5) else []
    return draw.case(f"conv_transpose{nd}d {step} {pad} {more} {groups} {wide}", inputs, gradients=True, bound=32, size=2,
                     call=lambda x, w, b=None: function(x, w, b, step, pad, more, groups, wide))


@call("pool")
def pool(draw):
    nd, kind = draw.choice([1, 2, 2, 3]), draw.choice(FLOATS)
    size = sides(draw, nd, [4] * nd, {1: 99, 2: 33, 3: 11}[nd])
    x = draw.normal([draw.randint(1, 3), draw.randint(1, 17), *size], dtype=kind)
    kernel, step = [draw.randint(1, 4) for _ in range(nd)], [draw.randint(1, 4) for _ in range(nd)]
    pad, ceil, counts = [draw.randint(0, k // 2) for k in kernel], draw.chance(0.5), draw.chance(0.5)
    out = [draw.randint(1, 9) for _ in range(nd)]
    if draw.chance(0.1):
        x, kernel = x[0], [min(n, 4) for n in size]
    cases = {"max": lambda x: getattr(F, f"max_pool{nd}d")(x, kernel, step, pad, ceil_mode=ceil),
             "avg": lambda x: getattr(F, f"avg_pool{nd}d")(x, kernel, step, pad, ceil, counts),
             "adaptive avg": lambda x: getattr(F, f"adaptive_avg_pool{nd}d")(x, out if nd > 1 else out[0]),
             "adaptive max": lambda x: getattr(F, f"adaptive_max_pool{nd}d")(x, out if nd > 1 else out[0]),
             "lp": lambda x: F.lp_pool2d(x, 2, kernel[0])}
    name = draw.choice(sorted(cases) if nd == 2 else ["max", "avg", "adaptive avg", "adaptive max"])
    return draw.case(f"{name} {nd}d {kernel} {step} {pad} {ceil} {counts} {out}", [x], cases[name], gradients=True, size=1)


@call("resize")
def resize(draw):
    mode = draw.choice(["nearest", "bilinear", "bicubic", "linear", "trilinear", "area", "nearest-exact"])
    nd = {"linear": 1, "trilinear": 3, "bilinear": 2, "bicubic": 2}.get(mode) or draw.randint(1, 3)
    size = sides(draw, nd, None, 20 if nd < 3 else 8)
    out = [draw.randint(1, 25 if nd < 3 else 9) for _ in range(nd)]
    corners = draw.chance(0.5) if "linear" in mode or "cubic" in mode else None
    by = {"size": out} if draw.chance(0.6) else {"scale_factor": draw.choice([0.5, 1.5, 2, 1.3, 3])}
    if "scale_factor" in by and "nearest" in mode:  # torch's own ways differ about a size that stays
        size = [max(n, 4) for n in size]
    x = draw.normal([draw.randint(1, 3), draw.randint(1, 9), *size], dtype=draw.choice(FLOATS))
    return draw.case(f"interpolate {mode} {by} {corners}", [x], gradients=True, bound=64, size=1,
                     call=lambda x: F.interpolate(x, mode=mode, align_corners=corners, **by))


@call("images")
def images(draw):
    name = draw.choice(["grid_sample", "affine_grid", "pixel_shuffle", "pixel_unshuffle", "fold", "unfold", "pad"])
    n, c, h, w = draw.randint(1, 3), draw.randint(1, 5), draw.randint(2, 12), draw.randint(2, 12)
    kind = draw.choice(FLOATS)
    if name == "grid_sample":
        mode, pad = draw.choice(["bilinear", "nearest"]), draw.choice(["zeros", "border", "reflection"])
        corners = draw.chance(0.5)
        grid = draw.uniform([n, h, 7, 2], low=-1.2, high=1.2)
        return draw.case(f"{name} {mode} {pad} {corners}", [draw.normal([n, c, h, w]), grid], bound=512, gradients=False, size=1,
                         call=lambda x, g: F.grid_sample(x, g, mode, pad, align_corners=corners))
    if name == "affine_grid":
        return draw.case(name, [draw.normal([n, 2, 3])], lambda t: F.affine_grid(t, [n, c, h, w], False), size=1)
    if name == "fold":
        x = draw.normal([n, c * 4, (h + 1) * (w + 1)], dtype=kind)
        return draw.case(name, [x], lambda x: F.fold(x, [h, w], 2, padding=1), gradients=True, size=1)
    if name == "pad":
        mode, x = draw.choice(["reflect", "replicate", "circular"]), draw.normal([n, c, h, w], dtype=kind)
        by = [draw.randint(0, 1), 1, 1, draw.randint(0, 1)]
        return draw.case(f"pad {mode} {by}", [x], lambda x: F.pad(x, by, mode), gradients=True, size=1)
    if name == "unfold":
        x, by, step = draw.normal([n, c, h + 2, w + 2], dtype=kind), draw.randint(1, 3), draw.randint(1, 2)
        return draw.case(f"unfold {by} {step}", [x], lambda x: F.unfold(x, by, 1, 1, step), gradients=True, size=1)
    x = draw.normal([n, c * 4, h * 2, w * 2], dtype=kind)
    return draw.case(name, [x], lambda x: getattr(F, name)(x, 2), gradients=True)


@call("norm")
def norm(draw):
    kind, c = draw.choice(FLOATS), draw.choice([1, 2, 3, 4, 6, 8, 12, 16, 17, 32, 64, 130, 1000])
    name = draw.choice(["batch", "batch for inference", "group", "layer", "instance", "rms", "local"])
    size = draw.shape(1 if name in ("instance", "local") else 0, 3, max(2, 20000 // (4 * c)))
    size = [n or 2 for n in size]
    x = draw.normal([draw.randint(2, 5), c, *size], dtype=kind, scale=2) + draw.choice([0, 1, 5])
    w, b = draw.normal([c], dtype=kind), draw.normal([c], dtype=kind)
    if name.startswith("batch"):
        trains, mean, var = name == "batch", draw.normal([c]), draw.uniform([c], low=0.5, high=2)
        return draw.case(name, [x, w, b, mean, var], gradients=True, bound=64, size=1, plain=(3, 4),
                         call=lambda x, w, b, m, v: F.batch_norm(x, m.detach().clone(), v.detach().clone(), w, b, trains, 0.1))
    if name == "group":
        groups = draw.choice([g for g in range(1, c + 1) if c % g == 0])
        return draw.case(f"group_norm {groups}", [x, w, b], lambda x, w, b: F.group_norm(x, groups, w, b, 1e-2),
                         gradients=True, bound=64, size=1)
    if name == "instance":
        return draw.case(name, [x, w, b], lambda x, w, b: F.instance_norm(x, None, None, w, b, eps=1e-2), gradients=True,
                         bound=64, size=1)
    if name == "local":
        return draw.case(name, [x], lambda x: F.local_response_norm(x, 3), size=1)
    shape = list(x.shape[-draw.randint(1, x.dim()):])
    w, b = draw.normal(shape, dtype=kind), draw.normal(shape, dtype=kind)
    if name == "rms":
        return draw.case(f"rms_norm {shape}", [x, w], lambda x, w: F.rms_norm(x, shape, w, 1e-2), gradients=True, bound=64, size=1)
    if draw.chance(0.2):
        return draw.case(f"layer_norm {shape}", [x], lambda x: F.layer_norm(x, shape, eps=1e-2), gradients=True, bound=64, size=1)
    return draw.case(f"layer_norm {shape}", [x, w, b], lambda x, w, b: F.layer_norm(x, shape, w, b, 1e-2), gradients=True,
                     bound=64, size=1)


@call("attention")
def attention(draw):
    b, h, d = draw.randint(1, 3), draw.choice([1, 2, 4, 8]), draw.choice([8, 16, 32, 40, 64, 72, 80, 96, 128, 192, 256])
    q, k = (draw.choice([1, 3, 8, 17, 33, 64, 100, 130, 257]) for _ in range(2))
    kind, causal = draw.choice(FLOATS), draw.chance(0.3)
    k = q if causal else k
    shared = draw.choice([g for g in (1, 2, 4) if h % g == 0]) if draw.chance(0.3) else 1
    inputs = [draw.normal([b, h, q, d], dtype=kind), *(draw.normal([b, h // shared, k, d], dtype=kind) for _ in range(2))]
    scale = draw.choice([None, None, 0.3])
    form = draw.choice(["none", "bias", "mask"]) if not causal else "none"
    if form == "bias":
        inputs.append(draw.normal([*draw.choice([(q, k), (1, 1, q, k), (b, h, q, k), (b, 1, 1, k)])], dtype=kind))
    if form == "mask":
        lead = draw.choice([(q, k), (b, 1, q, k), (b, h, q, k), (1, 1, 1, k)])
        inputs.append((torch.rand(lead, generator=draw.generator) > 0.4) | (torch.arange(k) == 0))

    def run(q, k, v, m=None):
        m = m.detach() if m is not None else m
        return F.scaled_dot_product_attention(q, k, v, m, is_causal=causal, scale=scale, enable_gqa=shared > 1)

    return draw.case(f"sdpa causal {causal} {form} gqa {shared} {scale}", inputs, run, gradients=True, bound=64, size=3)


@call("recurrent")
def recurrent(draw):
    kind = draw.choice([nn.LSTM, nn.GRU, nn.RNN])
    into, hidden, layers = draw.randint(1, 20), draw.randint(1, 33), draw.randint(1, 2)
    both, first, bias = draw.chance(0.4), draw.chance(0.5), draw.chance(0.8)
    torch.manual_seed(draw.getrandbits(30))
    net = kind(into, hidden, layers, bidirectional=both, batch_first=first, bias=bias)
    names = [name for name, _ in net.named_parameters()]
    x = draw.normal([draw.randint(1, 7), draw.randint(1, 5), into])

    def run(x, *weights):
        if x.device.type == "cpu":
            net.to(x.dtype)
            return torch.func.functional_call(net, dict(zip(names, weights)), (x,))
        there = kind(into, hidden, layers, bidirectional=both, batch_first=first, bias=bias).npu()
        return torch.func.functional_call(there, dict(zip(names, weights)), (x,))

    return draw.case(f"{kind.__name__} {into} {hidden} {layers} {both} {first} {bias}", [x, *(p.detach() for p in net.parameters())],
                     run, gradients=True, plain=range(1, 99), bound=256, size=0.2)


@call("loss")
def loss(draw):
    n, c, how = draw.randint(1, 70), draw.choice([2, 3, 10, 97, 300, 1025]), draw.choice(["mean", "sum", "none"])
    kind = draw.choice(FLOATS)
    x, z, y = draw.normal([n, c], dtype=kind, scale=2), draw.normal([n, c], dtype=kind), draw.whole(0, c, [n])
    share, sign = draw.uniform([n, c], dtype=kind), draw.whole(0, 2, [n]) * 2 - 1
    weight, smooth = draw.uniform([c], low=0.2, high=2, dtype=kind), draw.choice([0, 0, 0.2])
    cases = {
        "cross_entropy": ([x, y], lambda x, y: F.cross_entropy(x, y, ignore_index=0, label_smoothing=smooth, reduction=how)),
        "cross_entropy weights": ([x, y, weight], lambda x, y, w: F.cross_entropy(x, y, w.detach(), reduction=how)),
        "cross_entropy shares": ([x, share], lambda x, s: F.cross_entropy(x, s.detach(), reduction=how)),
        "nll": ([x, y], lambda x, y: F.nll_loss(x.log_softmax(1), y, reduction=how)),
        "mse": ([x, z], lambda x, z: F.mse_loss(x, z, reduction=how)), "l1": ([x, z], lambda x, z: F.l1_loss(x, z, reduction=how)),
        "smooth_l1": ([x, z], lambda x, z: F.smooth_l1_loss(x, z, reduction=how, beta=0.7)),
        "huber": ([x, z], lambda x, z: F.huber_loss(x, z, reduction=how, delta=0.7)),
        "bce with logits": ([x, share, weight], lambda x, s, w: F.binary_cross_entropy_with_logits(x, s.detach(), reduction=how,
                                                                                                pos_weight=w.detach())),
        "bce": ([share * 0.9 + 0.05, share], lambda x, s: F.binary_cross_entropy(x, s.detach(), reduction=how)),
        "kl_div": ([x, z], lambda x, z: F.kl_div(x.log_softmax(-1), z.softmax(-1), reduction=how)),
        "soft margin": ([x, sign[:, None].expand(n, c).to(kind)], lambda x, s: F.soft_margin_loss(x, s.detach(), reduction=how)),
        "hinge": ([x.abs(), sign[:, None].expand(n, c).to(kind)], lambda x, s: F.hinge_embedding_loss(x, s.detach(), reduction=how)),
        "margin ranking": ([x, z], lambda x, z: F.margin_ranking_loss(x[:, 0], z[:, 0], torch.ones_like(x[:, 0]), 0.3, reduction=how)),
        "cosine": ([x, z, sign], lambda x, z, s: F.cosine_embedding_loss(x, z, s, reduction=how)),
        "triplet": ([x, z, share], lambda x, z, s: F.triplet_margin_loss(x, z, s, reduction=how)),
        "poisson": ([x * 0.3, share], lambda x, s: F.poisson_nll_loss(x, s.detach(), reduction=how)),
        "gaussian": ([x, z, share + 0.3], lambda x, z, v: F.gaussian_nll_loss(x, z, v, reduction=how)),
        "multi margin": ([x.float(), y], lambda x, y: F.multi_margin_loss(x, y, reduction=how)),
        "multilabel": ([x, (share > 0.5).to(kind)], lambda x, s: F.multilabel_soft_margin_loss(x, s.detach(), reduction=how))}
    name = draw.choice(sorted(cases))
    inputs, function = cases[name]
    return draw.case(f"{name} {how} {smooth}", inputs, function, gradients=True, bound=64, size=2)


@call("embedding")
def embedding(draw):
    rows, width, kind = draw.choice([1, 5, 100, 3000]), draw.choice([1, 3, 8, 40, 129]), draw.choice(FLOATS)
    w, index = draw.normal([rows, width], dtype=kind), draw.whole(0, rows, draw.shape(1, 3, 400), draw.choice([torch.int64, torch.int32]))
    name = draw.choice(["embedding", "bag", "bags with offsets", "one_hot"])
    if name == "embedding":
        pad = draw.choice([None, 0])
        return draw.case(f"embedding {pad}", [w, index], lambda w, i: F.embedding(i, w, pad), gradients=True, size=3)
    if name == "one_hot":
        return draw.case(name, [index.long()], lambda i: F.one_hot(i, rows))
    mode = draw.choice(["sum", "mean", "max"])
    if name == "bag":
        bags = draw.whole(0, rows, [draw.randint(1, 9), draw.randint(1, 20)])
        return draw.case(f"bag {mode}", [w, bags], lambda w, i: F.embedding_bag(i, w, mode=mode), gradients=True, size=3)
    flat = draw.whole(0, rows, [draw.randint(10, 60)])
    offsets = torch.tensor([0, *sorted(draw.sample(range(1, 10), draw.randint(1, 5)))])
    return draw.case(f"bags {mode}", [w, flat, offsets], lambda w, i, o: F.embedding_bag(i, w, o, mode=mode), gradients=True, size=3)


@call("linalg")
def linalg(draw):
    n, m, lead = draw.randint(1, 24), draw.randint(1, 17), [draw.randint(1, 3) for _ in range(draw.randint(0, 2))]
    a = draw.normal([*lead, n, n]) * 0.2 + torch.eye(n) * (2 + torch.arange(n) * 0.3)
    b, spd, wide = draw.normal([*lead, n, m]), a @ a.mT, draw.normal([*lead, n, m])
    cases = {"inv": ([a], torch.linalg.inv), "solve": ([a, b], torch.linalg.solve), "det": ([a], torch.linalg.det),
             "slogdet": ([a], lambda a: tuple(torch.linalg.slogdet(a))), "cholesky": ([spd], torch.linalg.cholesky),
             "triangular": ([a, b], lambda a, b: torch.linalg.solve_triangular(a.triu(), b, upper=True)),
             "svdvals": ([wide], torch.linalg.svdvals), "eigvalsh": ([spd], torch.linalg.eigvalsh),
             "qr": ([wide], lambda a: (lambda q, r: (q @ r, q.mT @ q))(*torch.linalg.qr(a))),
             "power": ([a * 0.3], lambda a: torch.linalg.matrix_power(a, 3)),
             "trace": ([a], lambda a: a.diagonal(0, -2, -1).sum(-1)),
             "norm": ([wide], lambda a: torch.linalg.matrix_norm(a)),
             "cross": ([draw.normal([*lead, n, 3]), draw.normal([n, 3])], torch.linalg.cross),
             "kron": ([draw.normal([3, 2]), wide], torch.kron), "lstsq": ([a, b], lambda a, b: torch.linalg.lstsq(a, b).solution)}
    name = draw.choice(sorted(cases))
    inputs, function = cases[name]
    return draw.case(f"{name} {lead} {n} {m}", inputs, function, bound=4096, size=1)


@call("fft")
def fft(draw):
    shape = draw.shape(1, 3, 4000)
    x, d, n = draw.normal([s or 1 for s in shape]), -1, draw.choice([None, 1, 8, 13])
    how = draw.choice([None, "ortho", "forward"])
    cases = {"rfft": lambda x: torch.view_as_real(torch.fft.rfft(x, n, d, how)),
             "fft": lambda x: torch.view_as_real(torch.fft.fft(torch.complex(x, x * 0.5), n, d, how)),
             "ifft": lambda x: torch.view_as_real(torch.fft.ifft(torch.complex(x, x.flip(-1)), n, d, how)),
             "irfft": lambda x: torch.fft.irfft(torch.fft.rfft(x, norm=how), x.shape[-1], norm=how),
             "fft2": lambda x: torch.view_as_real(torch.fft.fft2(torch.complex(x, x)) if x.dim() > 1 else torch.fft.fft(x)),
             "shift": lambda x: torch.fft.fftshift(x)}
    name = draw.choice(sorted(cases))
    return draw.case(f"{name} {n} {how}", [x], cases[name], bound=256, size=len(x.flatten()) ** 0.5 * 0.1)


@call("optimizer")
def optimizer(draw):
    """Three steps."""
    make = {"SGD": dict(lr=0.1, momentum=0.9), "SGD nesterov": dict(lr=0.1, momentum=0.9, nesterov=True, weight_decay=0.1),
            "Adam": dict(lr=0.05), "AdamW": dict(lr=0.05, weight_decay=0.1), "Adagrad": dict(lr=0.1), "RMSprop": dict(lr=0.02),
            "NAdam": dict(lr=0.02), "RAdam": dict(lr=0.02), "Adamax": dict(lr=0.02), "Adadelta": dict(lr=0.5), "Rprop": dict(),
            "Adam amsgrad": dict(lr=0.05, amsgrad=True), "Adam maximize": dict(lr=0.05, maximize=True)}
    name, form = draw.choice(sorted(make)), draw.choice(["foreach", "loop", "fused"])
    xs = [draw.normal(draw.shape(0, 4, 3000)) for _ in range(draw.randint(1, 4))]
    gs = [draw.normal(x.shape) for x in xs]
    count, base = len(xs), getattr(torch.optim, name.split()[0])
    more = dict(make[name], foreach=form == "foreach")
    if form == "fused" and base in (torch.optim.Adam, torch.optim.AdamW):
        more = dict(make[name], fused=True)

    def run(*t):
        def own(x):  # the fused forms take both as they lie, on the CPU, too
            return x.detach().clone(memory_format=torch.contiguous_format)

        ps = [nn.Parameter(own(p)) for p in t[:count]]
        by = base(ps, **more)
        for turn in range(3):
            for p, g in zip(ps, t[count:]):
                p.grad = own(g) * (1 - 0.7 * turn)
            by.step()
        return [p.detach() for p in ps]

    return draw.case(f"{name} {form}", xs + gs, run, bound=512, size=1)
