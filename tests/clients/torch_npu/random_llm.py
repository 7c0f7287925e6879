"""Functions of torch_npu that programs with language models call, beside plain formulas, for random_calls.py."""

import torch
import torch.nn.functional as F
import torch_npu

from random_draw import FLOATS

CALLS = {}
FEW = [1, 2, 3, 7, 8, 17, 33, 64, 100, 257]
WIDTHS = [1, 2, 8, 16, 33, 64, 100, 128, 513, 1000, 2048]


def call(name):
    def keep(draw_case):
        CALLS[name] = draw_case
        return draw_case
    return keep


def either(there, here):
    """The function of torch_npu for tensors of the device, the plain formula for those of the CPU."""
    return lambda *t: there(*t) if t[0].device.type == "npu" else here(*t)


def rms(x, g, eps):
    r = torch.rsqrt(x.square().mean(tuple(range(x.dim() - g.dim(), x.dim())), keepdim=True) + eps)
    return x * r * g, r


@call("npu_rms_norm")
def rms_norm(draw):
    kind, shape = draw.choice(FLOATS), [*draw.shape(1, 3, 300), draw.choice(WIDTHS)]
    shape = [n or 1 for n in shape]
    x, y = draw.normal(shape, dtype=kind), draw.normal(shape, dtype=kind)
    g, eps = draw.normal(shape[-draw.randint(1, len(shape)):], dtype=kind), draw.choice([1e-6, 1e-2])
    if draw.chance(0.5):
        return draw.case(f"npu_rms_norm {eps}", [x, g], gradients=draw.chance(0.6), bound=64, size=0.1,
                         call=either(lambda x, g: torch_npu.npu_rms_norm(x, g, eps)[0], lambda x, g: rms(x, g, eps)[0]))
    return draw.case(f"npu_add_rms_norm {eps}", [x, y, g], bound=64, size=1,
                     call=either(lambda x, y, g: [torch_npu.npu_add_rms_norm(x, y, g, eps)[i] for i in (0, 2)],
                                 lambda x, y, g: [rms(x + y, g, eps)[0], x + y]))


@call("npu_gates")
def gates(draw):
    kind, shape = draw.choice(FLOATS), [n or 1 for n in draw.shape(1, 4)]
    d = draw.randrange(len(shape))
    shape[d] *= 2
    x = draw.normal(shape, dtype=kind, scale=2)
    swiglu = either(lambda x: torch_npu.npu_swiglu(x, d), lambda x: F.silu(x.chunk(2, d)[0]) * x.chunk(2, d)[1])
    tanh, left = draw.chance(0.5), draw.chance(0.5)
    approximate = "tanh" if tanh else "none"
    geglu = either(lambda x: torch_npu.npu_geglu(x, d, int(tanh), left)[0],
                   lambda x: (lambda a, b: a * F.gelu(b, approximate=approximate))(*x.chunk(2, d)[::-1 if left else 1]))
    gelu = either(lambda x: torch_npu.npu_gelu(x, approximate=approximate), lambda x: F.gelu(x, approximate=approximate))
    fast = either(torch_npu.npu_fast_gelu, lambda x: x / (1 + torch.exp(-1.702 * x.abs())) * torch.exp(0.851 * (x - x.abs())))
    name, function = draw.choice([("swiglu", swiglu), ("swiglu", swiglu), ("geglu", geglu), ("gelu", gelu), ("fast_gelu", fast)])
    return draw.case(f"npu_{name} {d} {tanh} {left}", [x], function, gradients=name in ("swiglu", "gelu"), bound=64, size=0.5)


def turned(x, mode):
    if mode == "half":
        a, b = x.chunk(2, -1)
        return torch.cat([-b, a], -1)
    return torch.stack([-x[..., 1::2], x[..., ::2]], -1).flatten(-2)


@call("npu_rotary_mul")
def rotary_mul(draw):
    kind, mode = draw.choice(FLOATS), draw.choice(["half", "interleave"])
    b, s, n, d = draw.randint(1, 3), draw.choice(FEW), draw.choice([1, 2, 5, 8]), draw.choice([2, 8, 32, 64, 80, 128, 256])
    order = draw.choice(["BSND", "BNSD", "SBND"])
    sizes = {"B": b, "S": s, "N": n, "D": d}
    x = draw.normal([sizes[c] for c in order], dtype=kind)
    angles = [sizes[c] if c in "SD" else 1 for c in order]
    r1, r2 = draw.normal(angles, dtype=kind), draw.normal(angles, dtype=kind)
    function = either(lambda x, a, b: torch_npu.npu_rotary_mul(x, a, b, mode), lambda x, a, b: x * a + turned(x, mode) * b)
    return draw.case(f"npu_rotary_mul {mode} {order}", [x, r1, r2], function, gradients=draw.chance(0.6), bound=64, size=1)


@call("npu_apply_rotary_pos_emb")
def rotary_pair(draw):
    kind, b, s = draw.choice(FLOATS), draw.randint(1, 3), draw.choice(FEW)
    d = 128 if draw.chance(0.5) else 64
    q, k = (draw.normal([b, s, draw.choice([1, 2, 8]), d], dtype=kind) for _ in range(2))
    cos, sin = (draw.normal([b, s, 1, d], dtype=kind) for _ in range(2))
    return draw.case("npu_apply_rotary_pos_emb", [q, k, cos, sin], bound=64, size=1,
                     call=either(lambda q, k, c, s: torch_npu.npu_apply_rotary_pos_emb(q.clone(), k.clone(), c, s),
                                 lambda q, k, c, s: [x * c + turned(x, "half") * s for x in (q, k)]))


def attend(q, k, v, scale, hidden=None, bias=None):
    """Of [N, S, D]; hidden is where nothing is looked at."""
    k, v = (t.repeat_interleave(q.shape[-3] // t.shape[-3], -3) for t in (k, v))
    scores = (q @ k.mT if bias is None else q @ k.mT + bias) * scale
    if hidden is not None:
        scores = scores.masked_fill(hidden, float("-inf"))
    return scores.softmax(-1) @ v


def hidden_by(mode, q, k, before, after):
    """What a sparse mode hides of q times k places."""
    i, j = torch.arange(q)[:, None], torch.arange(k)
    corner = 0 if mode == 2 else k - q
    if mode in (2, 3):
        return j > i + corner
    return (j > i + corner + after) | (j < i + corner - before)


def laid(t, layout):
    """[B, N, S, D] as the layout has it."""
    b, n, s, d = t.shape
    return {"BNSD": t, "BSND": t.transpose(1, 2), "BSH": t.transpose(1, 2).reshape(b, s, n * d),
            "SBH": t.permute(2, 0, 1, 3).reshape(s, b, n * d)}[layout]


def from_layout(t, layout, n):
    if layout == "BNSD":
        return t
    if layout == "BSND":
        return t.transpose(1, 2)
    if layout == "BSH":
        return t.reshape(*t.shape[:2], n, -1).transpose(1, 2)
    return t.reshape(*t.shape[:2], n, -1).permute(1, 2, 0, 3)


def heads(draw):
    shared = draw.choice([1, 1, 2, 4])
    return draw.choice([1, 2, 3]) * shared, shared, draw.choice([8, 16, 32, 64, 72, 80, 96, 128, 192, 256])


@call("npu_fusion_attention")
def fusion_attention(draw):
    n, shared, d = heads(draw)
    b, kind, layout = draw.randint(1, 3), draw.choice(FLOATS), draw.choice(["BSH", "SBH", "BSND", "BNSD"])
    mode, q, k = draw.choice([0, 0, 1, 2, 3, 4]), draw.choice(FEW + [130]), draw.choice(FEW + [130])
    k = max(q, k) if mode > 2 else k
    before, after, scale = draw.randint(0, 40), draw.randint(0, 20), draw.choice([d ** -0.5, 0.3])
    kv = n // shared
    inputs = [laid(draw.normal([b, heads_of, s, d], dtype=kind), layout).contiguous()
              for heads_of, s in ((n, q), (kv, k), (kv, k))]
    mask, more, hidden = None, dict(sparse_mode=mode), None
    if mode in (2, 3, 4):
        mask = torch.ones(2048, 2048, dtype=torch.bool).triu(1)
        hidden = hidden_by(mode, q, k, before, after)
        if mode == 4:
            more.update(pre_tockens=before, next_tockens=after)
    elif mode == 1 or draw.chance(0.6):
        mask = (torch.rand(draw.choice([(q, k), (b, 1, q, k), (b, n, q, k)]), generator=draw.generator) > 0.6) & (torch.arange(k) > 0)
        hidden = mask
    bias = draw.normal([*draw.choice([(b, n), (1, n)]), q, k], dtype=kind) if mode < 2 and draw.chance(0.3) else None
    inputs += [mask] if mask is not None else []
    inputs += [bias] if bias is not None else []

    def there(q, k, v, *rest):
        rest = list(rest)
        m = rest.pop(0) if mask is not None else None
        p = rest.pop(0).detach() if bias is not None else None
        return torch_npu.npu_fusion_attention(q, k, v, n, layout, pse=p, atten_mask=m, scale=scale, **more)[0]

    def here(q, k, v, *rest):
        q, k, v = from_layout(q, layout, n), from_layout(k, layout, kv), from_layout(v, layout, kv)
        return laid(attend(q, k, v, scale, hidden, rest[-1].detach() if bias is not None else None), layout)

    return draw.case(f"npu_fusion_attention {layout} {n}/{kv} {d} sparse {mode} {before} {after} {scale}", inputs, either(there, here),
                     gradients=True, bound=64, size=3, plain=range(3, 9))


@call("npu_fusion_attention of packed rows")
def packed_attention(draw):
    n, shared, d = heads(draw)
    kind, mode, scale, kv = draw.choice(FLOATS), draw.choice([0, 2, 3, 4]), d ** -0.5, n // shared
    count = draw.randint(1, 4)
    qs, before, after = [draw.choice(FEW[:8]) for _ in range(count)], draw.randint(0, 40), draw.randint(0, 20)
    ks = qs if mode in (0, 2) and draw.chance(0.5) else [s + draw.randint(0, 30) for s in qs]
    ends = [torch.tensor(s).cumsum(0).tolist() for s in (qs, ks)]
    inputs = [draw.normal([sum(s), heads_of, d], dtype=kind) for s, heads_of in ((qs, n), (ks, kv), (ks, kv))]
    more = dict(pre_tockens=before, next_tockens=after) if mode == 4 else {}
    inputs += [torch.ones(2048, 2048, dtype=torch.bool).triu(1)] if mode else []

    def there(q, k, v, mask=None):
        return torch_npu.npu_fusion_attention(q, k, v, n, "TND", atten_mask=mask, scale=scale, sparse_mode=mode, actual_seq_qlen=ends[0],
                                              actual_seq_kvlen=ends[1], **more)[0]

    def here(q, k, v, mask=None):
        rows = []
        for q, k, v in zip(q.split(qs), k.split(ks), v.split(ks)):
            hidden = hidden_by(mode, len(q), len(k), before, after) if mode else None
            rows.append(attend(q.transpose(0, 1), k.transpose(0, 1), v.transpose(0, 1), scale, hidden).transpose(0, 1))
        return torch.cat(rows)

    return draw.case(f"npu_fusion_attention TND {qs} {ks} {n}/{kv} {d} sparse {mode} {before} {after}", inputs, either(there, here),
                     gradients=True, bound=64, size=3, plain=[3])


@call("npu_fused_infer_attention_score")
def infer_attention(draw):
    n, shared, d = heads(draw)
    d = draw.choice([16, 32, 64, 128])
    b, kind, layout = draw.randint(1, 4), draw.choice([torch.float16, torch.bfloat16]), draw.choice(["BSH", "BSND", "BNSD"])
    q, mode, kv = draw.choice([1, 1, 2, 17, 64, 100]), draw.choice([0, 2, 3]), n // shared
    k = q + draw.choice([0, 1, 7, 64, 200]) if q > 1 else draw.choice(FEW)
    mode = 0 if q == 1 else mode
    lengths = [draw.randint(q, k) for _ in range(b)] if draw.chance(0.5) else None
    inputs = [laid(draw.normal([b, heads_of, s, d], dtype=kind), layout).contiguous()
              for heads_of, s in ((n, q), (kv, k), (kv, k))]
    inputs += [torch.ones(2048, 2048, dtype=torch.bool).triu(1)] if mode else []
    scale, wants = draw.choice([d ** -0.5, 0.3]), draw.chance(0.3)

    def there(q, k, v, mask=None):
        result, lse = torch_npu.npu_fused_infer_attention_score(
            q, k, v, atten_mask=mask, num_heads=n, num_key_value_heads=kv, scale=scale, input_layout=layout, sparse_mode=mode,
            actual_seq_lengths_kv=lengths, softmax_lse_flag=wants)
        return result

    def here(q, k, v, mask=None):
        q, k, v = from_layout(q, layout, n), from_layout(k, layout, kv), from_layout(v, layout, kv)
        rows = []
        for i in range(len(q)):
            to = lengths[i] if lengths else k.shape[2]
            hidden = hidden_by(mode, q.shape[2], to, 0, 0) if mode else None
            rows.append(attend(q[i], k[i, :, :to], v[i, :, :to], scale, hidden))
        return laid(torch.stack(rows), layout)

    return draw.case(f"npu_fused_infer_attention_score {layout} {n}/{kv} sparse {mode} {lengths} {scale} {wants}", inputs,
                     either(there, here), bound=64, size=3, plain=[3])


@call("npu_fused_infer_attention_score of pages")
def paged_attention(draw):
    n, shared, _ = heads(draw)
    d, b, kind, kv = draw.choice([64, 128]), draw.randint(1, 4), draw.choice([torch.float16, torch.bfloat16]), n // shared
    page, lengths = draw.choice([16, 32, 128]), [draw.choice([1, 5, 16, 17, 100, 129, 300]) for _ in range(b)]
    each = max((s + page - 1) // page for s in lengths)
    pages = each * b + draw.randint(0, 3)
    table = torch.randperm(pages, generator=draw.generator)[:each * b].reshape(b, each).int()
    q = draw.normal([b, 1, n * d], dtype=kind)
    k, v = (draw.normal([pages, page, kv * d], dtype=kind) for _ in range(2))

    def there(q, k, v, table):
        return torch_npu.npu_fused_infer_attention_score(q, k, v, num_heads=n, num_key_value_heads=kv, scale=d ** -0.5, block_size=page,
                                                         input_layout="BSH", block_table=table, actual_seq_lengths_kv=lengths)[0]

    def here(q, k, v, table):
        rows = []
        for i, length in enumerate(lengths):
            keys, values = (t[table[i].long()].reshape(-1, kv, d)[:length].transpose(0, 1) for t in (k, v))
            rows.append(attend(q[i].reshape(1, n, d).transpose(0, 1), keys, values, d ** -0.5).transpose(0, 1).reshape(1, -1))
        return torch.stack(rows)

    return draw.case(f"npu_fused_infer_attention_score pages of {page} {n}/{kv} {lengths}", [q, k, v, table], either(there, here),
                     bound=64, size=3, plain=[1, 2])


@call("npu_grouped_matmul")
def grouped_matmul(draw):
    kind, groups = draw.choice(FLOATS), draw.choice([1, 2, 5, 8, 33])
    k, n = draw.choice(WIDTHS[:8]), draw.choice(WIDTHS[:8])
    counts = [draw.choice([0, 1, 1, 3, 16, 20]) for _ in range(groups)]
    rows, listed = max(sum(counts), 1), draw.choice([0, 1])
    counts[-1] += rows - sum(counts)
    x = draw.normal([rows, k], dtype=kind)
    w, transposed = draw.normal([groups, k, n], dtype=kind), draw.chance(0.3)
    w = w.mT.contiguous() if transposed else w
    groups_list = torch.tensor(counts) if listed else torch.tensor(counts).cumsum(0)

    def there(x, w, where):
        w = w.mT if transposed else w
        return torch_npu.npu_grouped_matmul([x], [w], group_list=where, split_item=3, group_type=0, group_list_type=listed)[0]

    def here(x, w, where):
        w = w.mT if transposed else w
        return torch.cat([rows @ one for rows, one in zip(x.split(counts), w)])

    return draw.case(f"npu_grouped_matmul {counts} {k} {n} {listed} {transposed}", [x, w, groups_list], either(there, here), bound=32,
                     size=k ** 0.5, plain=[2], gradients=draw.chance(0.3) and listed == 0)


@call("npu_moe_token_permute")
def moe_permute(draw):
    kind, tokens, experts = draw.choice(FLOATS), draw.choice(FEW), draw.choice([1, 2, 8, 64])
    k = draw.randint(1, min(experts, 4))
    choices = torch.rand(tokens, experts, generator=draw.generator).argsort(-1)[:, :k].to(draw.choice([torch.int64, torch.int32]))
    x, share = draw.normal([tokens, draw.choice(WIDTHS)], dtype=kind), draw.uniform([tokens, k], dtype=kind)

    def there(x, share, choices):
        rows, places = torch_npu.npu_moe_token_permute(x, choices)
        return [rows, torch_npu.npu_moe_token_unpermute(rows * 2, places, share)]

    def here(x, share, choices):
        order = choices.flatten().argsort(stable=True)
        rows = x[order // k]
        return [rows, (rows[order.argsort()].reshape(tokens, k, -1) * 2 * share[..., None]).sum(1)]

    return draw.case(f"npu_moe_token_permute and back {experts} {k}", [x, share, choices], either(there, here), gradients=True,
                     bound=64, size=1)


@call("npu_moe_gating")
def moe_gating(draw):
    kind, rows, experts = draw.choice(FLOATS), draw.choice(FEW), draw.choice([2, 7, 8, 60, 64, 128, 256])
    k = draw.randint(1, min(experts, 8))
    x = torch.rand(rows, experts, generator=draw.generator).argsort(-1).float() * 0.01  # all differ in each row
    x = x if experts > 200 and kind == torch.bfloat16 else x.to(kind)
    here = lambda x: (lambda p: [p[0], p[1].int()])(x.softmax(-1).topk(k, -1))
    return draw.case(f"npu_moe_gating_top_k_softmax {k}", [x], bound=64, size=0.01, plain=[0],
                     call=either(lambda x: torch_npu.npu_moe_gating_top_k_softmax(x, None, k)[:2], here))


@call("npu_moe_routing")
def moe_routing(draw):
    kind, tokens, experts = draw.choice(FLOATS), draw.choice(FEW), draw.choice([1, 2, 8, 64])
    k = draw.randint(1, min(experts, 4))
    choices = torch.rand(tokens, experts, generator=draw.generator).argsort(-1)[:, :k].int()
    x, share = draw.normal([tokens, draw.choice(WIDTHS)], dtype=kind), draw.uniform([tokens, k], dtype=kind)

    def there(x, share, choices):
        rows, places, counts, _ = torch_npu.npu_moe_init_routing_v2(
            x, choices, active_num=tokens * k, expert_num=experts, drop_pad_mode=0, expert_tokens_num_type=1,
            expert_tokens_num_flag=True, quant_mode=-1, active_expert_range=[0, experts], row_idx_type=0)
        return [rows, counts, torch_npu.npu_moe_finalize_routing(rows, None, None, None, share, places, None, drop_pad_mode=2)]

    def here(x, share, choices):
        order = choices.flatten().argsort(stable=True)
        rows = x[order // k]
        return [rows, torch.bincount(choices.flatten(), minlength=experts),
                (rows[order.argsort()].reshape(tokens, k, -1) * share[..., None]).sum(1)]

    return draw.case(f"npu_moe_init_routing_v2 and npu_moe_finalize_routing {experts} {k}", [x, share, choices], either(there, here),
                     bound=64, size=1)


@call("npu_quant")
def quant(draw):
    kind, m, k, n = draw.choice([torch.float16, torch.bfloat16]), draw.choice(FEW), draw.choice(WIDTHS), draw.choice(WIDTHS)
    if draw.chance(0.4):
        def dynamic(x):
            numbers, scales = torch_npu.npu_dynamic_quant(x)
            return [numbers.float() * scales[..., None], scales]

        def plain(x):
            return [x.float(), (x.abs().amax(-1) / 127).float()]

        x = draw.normal([m, k], dtype=kind)
        return draw.case("npu_dynamic_quant", [x], either(dynamic, plain), bound=64, size=draw.choice([0.3]))
    a, b = draw.whole(-128, 128, [m, k], torch.int8), draw.whole(-128, 128, [k, n], torch.int8)
    scale, rows = draw.uniform([n], low=0.001, high=0.01), draw.uniform([m], low=0.001, high=0.01)
    return draw.case(f"npu_quant_matmul {kind}", [a, b, scale, rows], plain=[1, 2, 3],
                     call=either(lambda a, b, s, r: torch_npu.npu_quant_matmul(a, b, s, pertoken_scale=r, output_dtype=kind),
                                 lambda a, b, s, r: (a.double() @ b.double() * s * r[:, None]).to(kind)))


@call("npu_others")
def others(draw):
    kind, rows, width = draw.choice(FLOATS), [n or 1 for n in draw.shape(1, 3, 300)], draw.choice(WIDTHS)
    x, y, g, b = (draw.normal(s, dtype=kind) for s in ([*rows, width], [*rows, width], [width], [width]))
    add_norm = either(lambda x, y, g, b: torch_npu.npu_add_layer_norm(x, y, g, b, 1e-2, True)[::3],
                      lambda x, y, g, b: [F.layer_norm(x + y, [width], g, b, 1e-2), x + y])
    deep = either(lambda x, y, g, b: torch_npu.npu_deep_norm(x, y, b, g, 0.3, 1e-2)[2],
                  lambda x, y, g, b: F.layer_norm(x * 0.3 + y, [width], g, b, 1e-2))
    c = draw.choice([4, 8, 12])
    image, w, v = draw.normal([2, c, 5, draw.randint(1, 9)], dtype=kind), draw.normal([c], dtype=kind), draw.normal([c], dtype=kind)
    group = either(lambda x, w, v: torch_npu.npu_group_norm_silu(x, w, v, 4, 1e-2)[0],
                   lambda x, w, v: F.silu(F.group_norm(x, 4, w, v, 1e-2)))
    shape, picks = [draw.choice(FEW), draw.choice(FEW)], draw.randint(1, 9)
    at = torch.randperm(shape[0], generator=draw.generator)[:picks].reshape(-1, 1)
    update = draw.normal([len(at), shape[1]], dtype=kind)
    scatter = either(lambda x, at, u: torch_npu.npu_scatter_nd_update(x, at, u), lambda x, at, u: x.index_put((at[:, 0],), u))
    mask = (torch.rand(2, 1, 32, 64, generator=draw.generator) > 0.5) & (torch.arange(64) > 0)
    masked = either(lambda x, m: torch_npu.npu_scaled_masked_softmax(x, m, 0.5, False),
                    lambda x, m: (x * 0.5).masked_fill(m, -10000.0).softmax(-1))
    cases = {"npu_add_layer_norm": ([x, y, g, b], add_norm), "npu_deep_norm": ([x, y, g, b], deep),
             "npu_group_norm_silu": ([image, w, v], group),
             "npu_scatter_nd_update": ([draw.normal(shape, dtype=kind), at, update], scatter),
             "npu_scaled_masked_softmax": ([draw.normal([2, 3, 32, 64], dtype=kind), mask], masked)}
    name = draw.choice(sorted(cases))
    return draw.case(name, *cases[name], bound=64, size=1)
