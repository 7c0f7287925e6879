"""Trainings over several processes through torch_npu's `hccl` backend, each against one process on the CPU.

    source TOOLKIT/set_env.sh
    belay launch -n 4 -- python tests/clients/torch_npu/parallel.py [NAME...]

Python needs torch and torch_npu; 2 or 4 ranks. `torchrun --nproc_per_node 4` starts it too. Each NAME is a case below;
without names all run.
"""

import copy
import datetime
import sys

import boot  # noqa: F401
import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from ranks import RANK, RANKS, run_cases

STEPS = 3


def here(*values):
    return [v.npu() for v in values]


def equal(got, want, what, tolerance=1e-5):
    if isinstance(got, list):
        got, want = torch.tensor(got), torch.tensor(want)
    got, want = got.detach().cpu(), want.detach().cpu()
    if got.shape != want.shape or not torch.allclose(got, want, rtol=tolerance, atol=tolerance):
        raise AssertionError(f"{what}: {got.tolist()}, on one process {want.tolist()}")


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.query, self.key, self.value = (nn.Linear(width, width) for _ in range(3))
        self.out = nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.width_of_head = width // heads

    def forward(self, x):
        batch, length, _ = x.shape
        y = self.first(x)
        q, k, v = (f(y).view(batch, length, -1, self.width_of_head).transpose(1, 2)
                   for f in (self.query, self.key, self.value))
        scores = q @ k.transpose(-1, -2) / self.width_of_head**0.5
        later = torch.ones(length, length, dtype=torch.bool, device=x.device).triu(1)
        y = F.softmax(scores.masked_fill(later, float("-inf")), -1) @ v
        x = x + self.out(y.transpose(1, 2).reshape(batch, length, -1))
        return x + self.down(F.gelu(self.up(self.second(x))))


class Gpt(nn.Module):
    def __init__(self, words=32, width=32, heads=4, layers=4, length=8):
        super().__init__()
        torch.manual_seed(0)
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(length, width)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, words)

    def forward(self, x):
        y = self.words(x) + self.places(torch.arange(x.shape[1], device=x.device))
        for block in self.blocks:
            y = block(y)
        return self.head(self.norm(y))


def batch():
    text = torch.randint(0, 32, (8, 9), generator=torch.Generator().manual_seed(1))
    return text[:, :-1].contiguous(), text[:, 1:].contiguous()


def my_part(x):
    return x.chunk(RANKS)[RANK]


def loss_of(model, x, y):
    return F.cross_entropy(model(x).flatten(0, 1).float(), y.flatten())


def train(model, x, y, optimizer=None):
    optimizer = optimizer or torch.optim.AdamW(model.parameters(), lr=1e-2, foreach=False)
    losses = []
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss = loss_of(model, x, y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


_alone = []


def alone():
    if not _alone:
        _alone.append(train(Gpt(), *batch()))
    return _alone[0]


def mean_over_ranks(losses):
    t = torch.tensor(losses, device="npu")
    dist.all_reduce(t, op=dist.ReduceOp.AVG)
    return t.tolist()


# --- operations


def operations():
    n, r = RANKS, RANK
    for dtype in (torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.int8):
        t = torch.full((5,), r + 1, device="npu", dtype=dtype)
        dist.all_reduce(t)
        equal(t.float(), torch.full((5,), n * (n + 1) / 2), f"all_reduce {dtype}")
    for op, want in ((dist.ReduceOp.MAX, n), (dist.ReduceOp.MIN, 1), (dist.ReduceOp.AVG, (n + 1) / 2)):
        t = torch.full((5,), float(r + 1), device="npu")
        dist.all_reduce(t, op=op)
        equal(t, torch.full((5,), float(want)), f"all_reduce {op}")
    t = torch.full((3,), r, device="npu")
    dist.broadcast(t, n - 1)
    equal(t, torch.full((3,), n - 1), "broadcast")
    parts = [torch.zeros(3, device="npu") for _ in range(n)]
    dist.all_gather(parts, torch.full((3,), float(r), device="npu"))
    equal(torch.stack(parts), torch.arange(float(n)).repeat_interleave(3).view(n, 3), "all_gather")
    parts = [torch.zeros(i + 1, device="npu") for i in range(n)]
    dist.all_gather(parts, torch.full((r + 1,), float(r), device="npu"))
    equal(torch.cat(parts), torch.cat([torch.full((i + 1,), float(i)) for i in range(n)]), "all_gather, uneven")
    whole = torch.zeros(n * 2, device="npu")
    dist.all_gather_into_tensor(whole, torch.full((2,), float(r), device="npu"))
    equal(whole, torch.arange(float(n)).repeat_interleave(2), "all_gather_into_tensor")
    t = torch.zeros(2, device="npu")
    dist.reduce_scatter_tensor(t, torch.arange(2.0 * n, device="npu"))
    equal(t, n * torch.arange(2.0 * n)[2 * r:2 * r + 2], "reduce_scatter_tensor")
    dist.reduce_scatter(t, [torch.full((2,), float(i), device="npu") for i in range(n)])
    equal(t, torch.full((2,), float(n * r)), "reduce_scatter")
    t = torch.full((2,), float(r), device="npu")
    dist.reduce(t, 0)
    if r == 0:
        equal(t, torch.full((2,), n * (n - 1) / 2), "reduce")
    t = torch.zeros(2, device="npu")
    dist.scatter(t, [torch.full((2,), float(i), device="npu") for i in range(n)] if r == 1 else None, src=1)
    equal(t, torch.full((2,), float(r)), "scatter")
    got = [torch.zeros(2, device="npu") for _ in range(n)] if r == 0 else None
    dist.gather(torch.full((2,), float(r), device="npu"), got, dst=0)
    if r == 0:
        equal(torch.stack(got), torch.arange(float(n)).repeat_interleave(2).view(n, 2), "gather")
    t = torch.zeros(n, device="npu")
    dist.all_to_all_single(t, torch.arange(float(n), device="npu") + 10 * r)
    equal(t, torch.arange(n) * 10.0 + r, "all_to_all_single")
    sizes = [(r + i) % 3 for i in range(n)]
    t = torch.zeros(sum(sizes), device="npu")
    dist.all_to_all_single(t, torch.full((sum(sizes),), float(r), device="npu"), sizes, sizes)
    equal(t, torch.cat([torch.full((s,), float(i)) for i, s in enumerate(sizes)]), "all_to_all_single, uneven")
    parts = [torch.zeros(i + 1, device="npu") for i in range(n)]
    dist.all_to_all(parts, [torch.full((r + 1,), float(r), device="npu") for _ in range(n)])
    equal(torch.cat(parts), torch.cat([torch.full((i + 1,), float(i)) for i in range(n)]), "all_to_all")
    dist.barrier()


def later_work():
    t = torch.ones(1000, device="npu")
    work = dist.all_reduce(t, async_op=True)
    work.wait()
    equal(t, torch.full((1000,), float(RANKS)), "async all_reduce")
    assert work.is_completed() or work.wait()
    with dist._coalescing_manager(device=torch.device("npu", torch.npu.current_device()), async_ops=True) as several:
        parts = [torch.full((4,), float(i), device="npu") for i in range(3)]
        for p in parts:
            dist.all_reduce(p)
    several.wait()
    equal(torch.stack(parts), RANKS * torch.arange(3.0).repeat_interleave(4).view(3, 4), "coalesced")


def messages():
    n, r = RANKS, RANK
    right, left = (r + 1) % n, (r - 1) % n
    t = torch.full((3,), float(r), device="npu")
    if r == 0:
        dist.send(t, 1)
    elif r == 1:
        got = torch.zeros(3, device="npu")
        dist.recv(got, 0)
        equal(got, torch.zeros(3), "recv")
    got = torch.zeros(70000, device="npu")
    works = dist.batch_isend_irecv([dist.P2POp(dist.isend, torch.full((70000,), float(r), device="npu"), right),
                                    dist.P2POp(dist.irecv, got, left)])
    for work in works:
        work.wait()
    equal(got, torch.full((70000,), float(left)), "batch_isend_irecv")


def objects():
    got = [None] * RANKS
    dist.all_gather_object(got, {"rank": RANK, "more": list(range(RANK))})
    assert got == [{"rank": i, "more": list(range(i))} for i in range(RANKS)], got
    one = ["said by 0", 7] if RANK == 0 else [None, None]
    dist.broadcast_object_list(one, 0)
    assert one == ["said by 0", 7], one
    mine = [None]
    dist.scatter_object_list(mine, [f"for {i}" for i in range(RANKS)] if RANK == 0 else None, 0)
    assert mine == [f"for {RANK}"], mine
    got = [None] * RANKS if RANK == 0 else None
    dist.gather_object(RANK * 2, got, 0)
    if RANK == 0:
        assert got == [2 * i for i in range(RANKS)], got


def groups():
    half = RANKS // 2 or 1
    low = dist.new_group(list(range(half)))
    high = dist.new_group(list(range(half, RANKS)))
    mine, members = (low, half) if RANK < half else (high, RANKS - half)
    t = torch.ones(4, device="npu")
    dist.all_reduce(t, group=mine)
    equal(t, torch.full((4,), float(members)), "all_reduce of a part")
    dist.destroy_process_group(mine)
    t = torch.ones(4, device="npu")
    dist.all_reduce(t)
    equal(t, torch.full((4,), float(RANKS)), "all_reduce of all")


def mesh():
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import Replicate, Shard, distribute_tensor
    both = init_device_mesh("npu", (2, RANKS // 2), mesh_dim_names=("outer", "inner"))
    t = torch.tensor([float(RANK)], device="npu")
    dist.all_reduce(t, group=both.get_group("inner"))
    first = RANK // (RANKS // 2) * (RANKS // 2)
    equal(t, torch.tensor([float(sum(range(first, first + RANKS // 2)))]), "all_reduce over a dimension")
    line = init_device_mesh("npu", (RANKS,))
    a, b = torch.randn(8, 12, generator=torch.Generator().manual_seed(3)), torch.arange(96.0).view(12, 8)
    x = distribute_tensor(a.npu(), line, [Shard(1)])
    y = distribute_tensor(b.npu(), line, [Shard(0)])
    equal((x @ y).full_tensor(), a @ b, "matmul of sharded tensors", 1e-4)
    equal(x.redistribute(line, [Shard(0)]).to_local(), a.chunk(RANKS)[RANK], "redistribute")
    equal(x.redistribute(line, [Replicate()]).to_local(), a, "redistribute")


# --- trainings


def ddp():
    from torch.nn.parallel import DistributedDataParallel
    model = DistributedDataParallel(Gpt().npu(), device_ids=[torch.npu.current_device()], bucket_cap_mb=0.05)
    x, y = batch()
    equal(mean_over_ranks(train(model, *here(my_part(x), my_part(y)))), alone(), "ddp", 1e-4)


def fsdp2():
    from torch.distributed.fsdp import fully_shard
    for after_forward in (True, False):
        model = Gpt().npu()
        for block in model.blocks:
            fully_shard(block, reshard_after_forward=after_forward)
        fully_shard(model, reshard_after_forward=after_forward)
        x, y = batch()
        equal(mean_over_ranks(train(model, *here(my_part(x), my_part(y)))), alone(), "fsdp2", 1e-4)


def fsdp2_mixed():
    from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
    model = Gpt().npu()
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    for block in model.blocks:
        fully_shard(block, mp_policy=policy)
    fully_shard(model, mp_policy=policy)
    x, y = batch()
    equal(mean_over_ranks(train(model, *here(my_part(x), my_part(y)))), alone(), "fsdp2 with bf16", 3e-2)


def fsdp1():
    from torch.distributed.fsdp import FullyShardedDataParallel
    model = FullyShardedDataParallel(Gpt().npu(), device_id=torch.npu.current_device(), use_orig_params=True)
    x, y = batch()
    equal(mean_over_ranks(train(model, *here(my_part(x), my_part(y)))), alone(), "fsdp", 1e-4)


def zero():
    from torch.distributed.optim import ZeroRedundancyOptimizer
    from torch.nn.parallel import DistributedDataParallel
    model = DistributedDataParallel(Gpt().npu(), device_ids=[torch.npu.current_device()])
    optimizer = ZeroRedundancyOptimizer(model.parameters(), torch.optim.AdamW, lr=1e-2, foreach=False)
    x, y = batch()
    equal(mean_over_ranks(train(model, *here(my_part(x), my_part(y)), optimizer)), alone(), "zero", 1e-4)


def tensor_parallel():
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
    line = init_device_mesh("npu", (RANKS,))
    model = Gpt().npu()
    for block in model.blocks:
        parallelize_module(block, line, {"query": ColwiseParallel(), "key": ColwiseParallel(),
                                         "value": ColwiseParallel(), "out": RowwiseParallel(),
                                         "up": ColwiseParallel(), "down": RowwiseParallel()})
    equal(train(model, *here(*batch())), alone(), "tensor parallel", 1e-4)


def tensor_and_data_parallel():
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard
    from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
    both = init_device_mesh("npu", (RANKS // 2, 2), mesh_dim_names=("data", "tensor"))
    model = Gpt().npu()
    for block in model.blocks:
        parallelize_module(block, both["tensor"], {"query": ColwiseParallel(), "key": ColwiseParallel(),
                                                   "value": ColwiseParallel(), "out": RowwiseParallel(),
                                                   "up": ColwiseParallel(), "down": RowwiseParallel()})
        fully_shard(block, mesh=both["data"])
    fully_shard(model, mesh=both["data"])
    x, y = (t.chunk(RANKS // 2)[RANK // 2] for t in batch())
    equal(mean_over_ranks(train(model, *here(x, y))), alone(), "tensor and data parallel", 1e-4)


class Stage(nn.Module):
    def __init__(self, whole, stage, stages):
        super().__init__()
        each = len(whole.blocks) // stages
        self.blocks = whole.blocks[stage * each:(stage + 1) * each]
        self.words, self.places = (whole.words, whole.places) if stage == 0 else (None, None)
        self.norm, self.head = (whole.norm, whole.head) if stage == stages - 1 else (None, None)

    def forward(self, x):
        if self.words is not None:
            x = self.words(x) + self.places(torch.arange(x.shape[1], device=x.device))
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x)) if self.head is not None else x


def pipeline_by_hand():
    stage = Stage(Gpt(), RANK, RANKS).npu()
    optimizer = torch.optim.AdamW(stage.parameters(), lr=1e-2, foreach=False)
    x, y = here(*batch())
    losses = torch.zeros(STEPS, device="npu")
    for step in range(STEPS):
        optimizer.zero_grad()
        given = x
        if RANK > 0:
            given = torch.empty(8, 8, 32, device="npu")
            dist.recv(given, RANK - 1)
            given.requires_grad_()
        out = stage(given)
        if RANK == RANKS - 1:
            loss = F.cross_entropy(out.flatten(0, 1), y.flatten())
            losses[step] = loss.detach()
            loss.backward()
        else:
            dist.send(out.detach(), RANK + 1)
            gradient = torch.empty_like(out)
            dist.recv(gradient, RANK + 1)
            out.backward(gradient)
        if RANK > 0:
            dist.send(given.grad, RANK - 1)
        optimizer.step()
    dist.broadcast(losses, RANKS - 1)
    equal(losses.tolist(), alone(), "pipeline by hand", 1e-4)


def pipeline():
    from torch.distributed.pipelining import PipelineStage, Schedule1F1B, ScheduleGPipe
    for schedule in (ScheduleGPipe, Schedule1F1B):
        stage = Stage(Gpt(), RANK, RANKS).npu()
        optimizer = torch.optim.AdamW(stage.parameters(), lr=1e-2, foreach=False)
        run = schedule(PipelineStage(stage, RANK, RANKS, torch.device("npu", torch.npu.current_device())),
                       n_microbatches=4, loss_fn=lambda o, t: F.cross_entropy(o.flatten(0, 1), t.flatten()))
        x, y = here(*batch())
        losses = torch.zeros(STEPS, device="npu")
        for step in range(STEPS):
            optimizer.zero_grad()
            parts = []
            if RANK == 0:
                run.step(x)
            elif RANK == RANKS - 1:
                run.step(target=y, losses=parts)
                losses[step] = torch.stack(parts).mean().detach()
            else:
                run.step()
            optimizer.step()
        dist.broadcast(losses, RANKS - 1)
        equal(losses.tolist(), alone(), schedule.__name__, 1e-4)


def experts():
    import torch.distributed.nn.functional as dnf
    torch.manual_seed(5)
    gate, every = nn.Linear(16, RANKS), [nn.Linear(16, 16) for _ in range(RANKS)]
    x = torch.randn(16, 16)
    want_choice = gate(x).argmax(-1)
    want = torch.stack([every[e](t) for t, e in zip(x, want_choice)])
    mine, expert, gate = my_part(x).npu(), copy.deepcopy(every[RANK]).npu(), copy.deepcopy(gate).npu()
    choice = gate(mine).argmax(-1)
    order = torch.argsort(choice, stable=True)
    out = torch.bincount(choice.cpu(), minlength=RANKS).npu()
    into = torch.empty_like(out)
    dist.all_to_all_single(into, out)
    out, into = out.tolist(), into.tolist()
    got = torch.empty(sum(into), 16, device="npu")
    dist.all_to_all_single(got, mine[order], into, out)
    done = expert(got)
    back = torch.empty_like(mine)
    back = dnf.all_to_all_single(back, done, out, into)
    restored = torch.empty_like(back)
    restored[order] = back
    equal(restored, my_part(want), "experts")
    restored.square().sum().backward()
    want.square().sum().backward()
    equal(expert.weight.grad, every[RANK].weight.grad, "gradient of an expert", 1e-4)


def experts_fused():
    import torch_npu
    if not hasattr(torch_npu, "npu_moe_distribute_dispatch"):
        return
    torch.manual_seed(6)
    count, k, width = 2 * RANKS, 2, 32
    every = torch.randn(count, width, width).bfloat16() / 4
    x = torch.randn(RANKS, 6, width).bfloat16()
    chosen = torch.stack([torch.randperm(count)[:k] for _ in range(RANKS * 6)]).view(RANKS, 6, k).int()
    weights = torch.rand(RANKS, 6, k)
    want = torch.stack([sum(w * (t @ every[e]).float() for w, e in zip(ws, es))
                        for t, ws, es in zip(x[RANK], weights[RANK], chosen[RANK])])
    name = dist.group.WORLD._get_backend(torch.device("npu")).get_hccl_comm_name(RANK)
    group = dict(group_ep=name, ep_world_size=RANKS, ep_rank_id=RANK, moe_expert_num=count)
    mine, ids, scales = here(x[RANK], chosen[RANK], weights[RANK])
    for version in ("", "_v2"):
        dispatch = getattr(torch_npu, "npu_moe_distribute_dispatch" + version)
        combine = getattr(torch_npu, "npu_moe_distribute_combine" + version)
        for quantised in (False, True):
            rows, steps, idx, nums, counts, tp_counts, _ = dispatch(
                x=mine, expert_ids=ids, quant_mode=2 if quantised else 0, **group)
            if quantised:
                rows = (rows.float() * steps[:, None]).bfloat16()
            end = 0
            for local, n in enumerate(nums.tolist()):
                expert = every[RANK * 2 + local].npu()
                rows[end:end + n] = rows[end:end + n] @ expert
                end += n
            named = dict(assist_info_for_combine=idx) if version else dict(expand_idx=idx)
            got = combine(expand_x=rows, expert_ids=ids, ep_send_counts=counts, tp_send_counts=tp_counts,
                          expert_scales=scales, **named, **group)
            equal(got.float(), want, "fused experts" + version, 6e-2 if quantised else 2e-2)


def products():
    """A product and a collective as one operator, against the two."""
    import torch_npu

    name = dist.group.WORLD._get_backend(torch.device("npu")).get_hccl_comm_name(RANK)
    torch.manual_seed(RANK)
    for dtype in (torch.bfloat16, torch.float16):
        x = torch.randint(-3, 4, (4 * RANKS, 16)).to(dtype)
        weight = torch.randint(-2, 3, (8, 16)).to(dtype)  # as of a linear layer
        bias = torch.randint(-2, 3, (8,)).to(dtype)
        more = torch.randint(-2, 3, (4 * RANKS, 8)).to(dtype)
        all_x, all_weights, all_bias, all_more = ([torch.empty_like(t.npu()) for _ in range(RANKS)] for t in (x, weight, bias, more))
        for everywhere, own in ((all_x, x), (all_weights, weight), (all_bias, bias), (all_more, more)):
            dist.all_gather(everywhere, own.npu())
        parts = [a.cpu().float() @ w.cpu().float().T for a, w in zip(all_x, all_weights)]
        summed = sum(parts)
        with_all = summed + sum(b.cpu().float() for b in all_bias) + sum(m.cpu().float() for m in all_more)
        x, weight, bias, more = here(x, weight, bias, more)
        equal(torch_npu.npu_mm_all_reduce_base(x, weight.t(), name, reduce_op="sum").float(), summed, "all-reduce")
        equal(torch_npu.npu_mm_all_reduce_base(x, weight.t(), name, reduce_op="sum", bias=bias, x3=more).float(), with_all,
              "all-reduce with bias and x3")
        if RANKS == 1:
            continue
        scattered = torch_npu.npu_mm_reduce_scatter_base(x, weight.t(), name, RANKS, reduce_op="sum")
        equal(scattered.float(), summed[4 * RANK:4 * RANK + 4], "reduce-scatter")
        for wanted in (True, False):
            product, gathered = torch_npu.npu_all_gather_base_mm(x, weight.t(), name, RANKS, gather_output=wanted)
            whole = torch.cat([a.cpu().float() for a in all_x])
            equal(product.float(), whole @ weight.cpu().float().T, "gathered")
            if wanted:
                equal(gathered.float(), whole, "what was gathered")


def captured():
    x = torch.ones(256, device="npu")
    dist.all_reduce(x.clone())
    torch.npu.synchronize()
    graph = torch.npu.NPUGraph()
    with torch.npu.graph(graph):
        y = x * (RANK + 1)
        dist.all_reduce(y)
        z = y + 1
    for value in (1.0, 2.0, 5.0):
        x.fill_(value)
        graph.replay()
        equal(z, torch.full((256,), value * RANKS * (RANKS + 1) / 2 + 1), "replayed all_reduce")
    dist.barrier()


CASES = [operations, later_work, messages, objects, groups, mesh, ddp, fsdp2, fsdp2_mixed, fsdp1, zero,
         tensor_parallel, tensor_and_data_parallel, pipeline_by_hand, pipeline, experts, experts_fused,
         products, captured]


if __name__ == "__main__":
    sys.exit(run_cases(CASES, "hccl", lambda case: case()))
