"""The same distributed programs on devices over `hccl` and on the CPU over `gloo`: what they give is compared.

    source TOOLKIT/set_env.sh
    belay launch -n 4 -- python tests/clients/torch_npu/beside_gloo.py [NAME...]

Python needs torch and torch_npu; 2, 4 or 8 ranks. Each NAME is a case below; without names all run. A case is called with
"npu" and with "cpu", and notes tensors. `parallel.py` compares trainings with one process instead.
"""

import shutil
import sys
import tempfile
import warnings

import boot  # noqa: F401
import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.distributed.device_mesh import init_device_mesh
from torch.nn.parallel import DistributedDataParallel
from ranks import RANK, RANKS, run_cases

warnings.filterwarnings("ignore")

WIDTH = 18  # which 4 ranks do not share evenly
NOTED = []


def note(name, value, tolerance=1e-4):
    value = value.full_tensor() if hasattr(value, "full_tensor") else torch.as_tensor(value)
    NOTED.append((name, value.detach().cpu().clone(), tolerance))


def note_parameters(model, name, tolerance=1e-4):
    for key, value in model.named_parameters():
        note(f"{name} {key}", value, tolerance)


class Net(nn.Module):
    def __init__(self, spare=False):
        super().__init__()
        torch.manual_seed(0)
        self.layers = nn.ModuleList(nn.Linear(WIDTH, WIDTH) for _ in range(3))
        self.head = nn.Linear(WIDTH, 4)
        self.spare = nn.Linear(WIDTH, WIDTH) if spare else None

    def forward(self, x, use_spare=False):
        for layer in self.layers:
            x = x + F.gelu(layer(x))
        return self.head(x + self.spare(x) if use_spare else x)


def loss_of(model, step, device, **kwargs):
    generator = torch.Generator().manual_seed(100 * step + RANK)
    x, y = torch.randn(8, WIDTH, generator=generator), torch.randint(0, 4, (8,), generator=generator)
    return F.cross_entropy(model(x.to(device), **kwargs).float(), y.to(device))


def train(model, device, name, optimizer=None, steps=3, tolerance=1e-4, **kwargs):
    optimizer = optimizer or torch.optim.AdamW(model.parameters(), lr=1e-2, foreach=False)
    for step in range(steps):
        optimizer.zero_grad()
        loss = loss_of(model, step, device, **{key: choose(step) for key, choose in kwargs.items()})
        loss.backward()
        optimizer.step()
        note(f"{name} loss {step}", loss, tolerance)
    note_parameters(model, name, tolerance)
    return optimizer


def in_data_parallel(model, device, **kwargs):
    ids = [torch.npu.current_device()] if device == "npu" else None
    return DistributedDataParallel(model.to(device), device_ids=ids, **kwargs)


def sharded(device, mesh=None, **kwargs):
    from torch.distributed.fsdp import fully_shard
    model, mesh = Net().to(device), mesh or init_device_mesh(device, (RANKS,))
    for layer in model.layers:
        fully_shard(layer, mesh=mesh, **kwargs)
    return fully_shard(model, mesh=mesh, **kwargs)


# --- data parallel


def ddp(device):
    train(in_data_parallel(Net(spare=True), device, find_unused_parameters=True), device, "unused",
          use_spare=lambda step: (step + RANK) % 2 == 0)
    for view in (True, False):
        model = in_data_parallel(Net(), device, gradient_as_bucket_view=view, bucket_cap_mb=0.001)
        train(model, device, f"views {view}")
    train(in_data_parallel(Net(), device, static_graph=True), device, "static")


def ddp_without_sync(device):
    model = in_data_parallel(Net(), device)
    with model.no_sync():
        loss_of(model, 0, device).backward()
    note("own gradient", model.module.head.weight.grad)
    loss_of(model, 1, device).backward()
    note("summed gradient", model.module.head.weight.grad)


def ddp_hooks(device):
    from torch.distributed.algorithms.ddp_comm_hooks import default_hooks, powerSGD_hook
    for hook in (default_hooks.bf16_compress_hook, default_hooks.fp16_compress_hook):
        model = in_data_parallel(Net(), device)
        model.register_comm_hook(None, hook)
        train(model, device, hook.__name__, tolerance=2e-2)
    model = in_data_parallel(Net(), device)
    state = powerSGD_hook.PowerSGDState(None, start_powerSGD_iter=2, min_compression_rate=0.5)
    model.register_comm_hook(state, powerSGD_hook.powerSGD_hook)
    train(model, device, "power SGD", steps=4)


def uneven_inputs(device):
    from torch.distributed.algorithms.join import Join
    from torch.distributed.optim import ZeroRedundancyOptimizer
    model = in_data_parallel(Net(), device)
    optimizer = ZeroRedundancyOptimizer(model.parameters(), torch.optim.Adam, lr=1e-2, foreach=False)
    with Join([model, optimizer]):
        for step in range(2 + RANK):
            optimizer.zero_grad()
            loss_of(model, step, device).backward()
            optimizer.step()
    note_parameters(model, "joined")
    optimizer.consolidate_state_dict(0)
    if RANK == 0:
        note("state", optimizer.state_dict()["state"][0]["exp_avg"])


# --- sharded


def fsdp2(device):
    from torch.distributed.fsdp import MixedPrecisionPolicy
    bf16 = torch.bfloat16
    train(sharded(device), device, "plain")
    train(sharded(device, reshard_after_forward=RANKS // 2), device, "half")
    train(sharded(device, mp_policy=MixedPrecisionPolicy(bf16, torch.float32)), device, "bf16", tolerance=2e-2)
    train(sharded(device, mp_policy=MixedPrecisionPolicy(bf16)), device, "bf16 gradients", tolerance=2e-2)
    model = sharded(device)
    for step in range(4):
        model.set_requires_gradient_sync(step % 2 == 1)
        loss_of(model, step, device).backward()
    note("norm", nn.utils.clip_grad_norm_(model.parameters(), 0.5))
    note("clipped", model.head.weight.grad)


def hsdp(device):
    if RANKS >= 4:
        train(sharded(device, init_device_mesh(device, (2, RANKS // 2), mesh_dim_names=("copies", "parts"))), device, "hsdp")


def checkpoint(device):
    import torch.distributed.checkpoint as dcp
    from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
    folder = [tempfile.mkdtemp() if RANK == 0 else None]
    dist.broadcast_object_list(folder, 0)
    model = sharded(device)
    model_state, state = get_state_dict(model, train(model, device, "before"))
    dcp.save({"model": model_state, "optimizer": state}, checkpoint_id=folder[0] + "/plain")
    dcp.async_save({"model": model_state}, checkpoint_id=folder[0] + "/async").result()
    again = sharded(device)
    optimizer = torch.optim.AdamW(again.parameters(), lr=1e-2, foreach=False)
    model_state, state = get_state_dict(again, optimizer)
    loaded = {"model": model_state, "optimizer": state}
    dcp.load(loaded, checkpoint_id=folder[0] + "/plain")
    set_state_dict(again, optimizer, model_state_dict=loaded["model"], optim_state_dict=loaded["optimizer"])
    note_parameters(again, "loaded")
    train(again, device, "after", optimizer)
    dist.barrier()
    if RANK == 0:
        shutil.rmtree(folder[0])


# --- tensors and stages


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm(16), nn.Linear(16, 32), nn.Linear(32, 16)

    def forward(self, x):
        return x + self.down(F.gelu(self.up(self.norm(x))))


def sequence_parallel(device):
    from torch.distributed.tensor import Replicate, Shard
    from torch.distributed.tensor.parallel import (ColwiseParallel, RowwiseParallel, SequenceParallel, loss_parallel,
                                                   parallelize_module)
    torch.manual_seed(7)
    model = nn.Sequential(nn.Embedding(24, 16), Block(), Block(), nn.LayerNorm(16), nn.Linear(16, 24)).to(device)
    plan = {"0": RowwiseParallel(input_layouts=Replicate(), output_layouts=Shard(1)), "3": SequenceParallel(),
            "4": ColwiseParallel(input_layouts=Shard(1), output_layouts=Shard(-1), use_local_output=False)}
    for i in (1, 2):
        plan |= {f"{i}.norm": SequenceParallel(), f"{i}.up": ColwiseParallel(input_layouts=Shard(1)),
                 f"{i}.down": RowwiseParallel(output_layouts=Shard(1))}
    parallelize_module(model, init_device_mesh(device, (RANKS,)), plan)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2, foreach=False)
    for step in range(3):
        x, y = torch.randint(0, 24, (2, 4, 8), generator=torch.Generator().manual_seed(step)).to(device)
        optimizer.zero_grad()
        with loss_parallel():
            loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten())
            loss.backward()
        optimizer.step()
        note(f"loss {step}", loss)
    note_parameters(model, "sequence parallel")


def tensors(device):
    """Shards of different size, and some without elements."""
    from torch.distributed.tensor import DTensor, Partial, Replicate, Shard, distribute_tensor
    mesh, places = init_device_mesh(device, (RANKS,)), (Shard(0), Shard(1), Replicate())
    torch.manual_seed(2)
    rows = max(7, 2 * RANKS - 1)  # each rank has one, of which amax makes something
    a, b = torch.randn(rows, 12).to(device), torch.randn(12, 5).to(device)
    for of_a in places:
        for of_b in places:
            note(f"{of_a} @ {of_b}", distribute_tensor(a, mesh, [of_a]) @ distribute_tensor(b, mesh, [of_b]))
    x = distribute_tensor(a, mesh, [Shard(0)])
    for name in ("sum", "amax", "norm"):
        note(name, getattr(x, name)())
    note("softmax", x.softmax(-1))
    note("columns", x.redistribute(mesh, [Shard(1)]).to_local())
    for kind in ("sum", "avg", "max"):
        part = DTensor.from_local(torch.full((4, 4), RANK + 1.0).to(device), mesh, [Partial(kind)])
        note(kind, part.redistribute(mesh, [Shard(0)]).to_local())


class Stage(nn.Module):
    def __init__(self, stage, stages):
        super().__init__()
        torch.manual_seed(50 + stage)
        self.layers = nn.Sequential(nn.Linear(16, 16), nn.GELU(), nn.Linear(16, 16))
        self.head = nn.Linear(16, 4) if stage == stages - 1 else nn.Identity()

    def forward(self, x):
        return self.head(x + self.layers(x))


def pipelines(device):
    from torch.distributed import pipelining
    from torch.distributed.pipelining.schedules import ScheduleInterleavedZeroBubble, ScheduleZBVZeroBubble
    kinds = [pipelining.ScheduleGPipe, pipelining.Schedule1F1B]
    several = [pipelining.ScheduleInterleaved1F1B, pipelining.ScheduleLoopedBFS, ScheduleInterleavedZeroBubble,
               ScheduleZBVZeroBubble]
    here = torch.device("npu", torch.npu.current_device()) if device == "npu" else torch.device("cpu")
    for kind in kinds + several:
        stages = RANKS * (2 if kind in several else 1)
        mine = sorted({RANK, stages - 1 - RANK if kind is ScheduleZBVZeroBubble else RANK + stages - RANKS})
        modules = [Stage(i, stages).to(device) for i in mine]
        parts = [pipelining.PipelineStage(m, i, stages, here) for m, i in zip(modules, mine)]
        run = kind(parts if kind in several else parts[0], n_microbatches=2 * RANKS, loss_fn=F.cross_entropy)
        generator = torch.Generator().manual_seed(1)
        x, y = torch.randn(4 * RANKS, 16, generator=generator), torch.randint(0, 4, (4 * RANKS,), generator=generator)
        losses = []
        last = {"target": y.to(device), "losses": losses} if stages - 1 in mine else {}
        run.step(*([x.to(device)] if 0 in mine else []), **last)
        for loss in losses:
            note(kind.__name__, loss)
        for module in modules:
            note(f"gradient of {kind.__name__}", module.layers[0].weight.grad)


# --- operations


def experts(device):
    import torch.distributed._functional_collectives as functional
    out, into = ([(a * RANK + b * i) % 4 for i in range(RANKS)] for a, b in ((2, 1), (1, 2)))
    for dtype in (torch.float32, torch.bfloat16, torch.int64, torch.int8, torch.uint8, torch.bool, torch.float64):
        x = (torch.arange(sum(out) * 3).view(-1, 3) % 50 + RANK).to(dtype).to(device)
        got = torch.empty(sum(into), 3, dtype=dtype, device=device)
        dist.all_to_all_single(got, x, into, out)
        note(f"all_to_all_single {dtype}", got)
    x = torch.randn(sum(out), 3, generator=torch.Generator().manual_seed(RANK)).to(device).requires_grad_()
    functional.all_to_all_single_autograd(x, into, out, dist.group.WORLD).pow(2).sum().backward()
    note("gradient of all_to_all_single", x.grad)


def rings(device):
    right, left = (RANK + 1) % RANKS, (RANK - 1) % RANKS
    for dtype, size in ((torch.float32, 5), (torch.bfloat16, 70001), (torch.int64, 300000), (torch.bool, 9), (torch.int8, 0)):
        mine = (torch.arange(size) % 7 + RANK).to(dtype).to(device)
        for turn in range(RANKS - 1):
            got = torch.empty_like(mine)
            pair = [dist.P2POp(dist.isend, mine, right), dist.P2POp(dist.irecv, got, left)]
            for work in dist.batch_isend_irecv(pair[::-1] if turn % 2 else pair):
                work.wait()
            mine = got
        note(f"ring of {dtype}", mine)


def functional(device):
    import torch.distributed._functional_collectives as fc
    rows, group = max(4, RANKS), dist.group.WORLD  # of which each rank gets as many
    x = (torch.arange(3.0 * rows).view(rows, 3) + RANK).to(device)
    for op in ("sum", "avg", "max", "min", "product"):
        if (device, op) != ("cpu", "avg"):
            note(op, fc.all_reduce(x, op, group))
        else:  # which gloo does not have
            note(op, fc.all_reduce(x, "sum", group) / RANKS)
    note("broadcast", fc.broadcast(x, 1, group))
    for name, value in (("all_reduce", fc.all_reduce_coalesced([x, 2 * x], "sum", group)),
                        ("all_gather", fc.all_gather_into_tensor_coalesced([x, 2 * x], group)),
                        ("reduce_scatter", fc.reduce_scatter_tensor_coalesced([x, 2 * x], "sum", [0, 0], group))):
        for part in value:
            note(f"{name}, coalesced", part)
    x.requires_grad_()
    (fc.all_gather_tensor_autograd(x, 0, group) * (RANK + 1)).sum().backward()
    note("gradient of all_gather", x.grad)


def groups_at_once(device):
    pairs = [(i, j) for i in range(RANKS) for j in range(i + 1, RANKS)]
    made = [dist.new_group(pair) for pair in pairs]
    under_way = []
    for turn in range(3):
        for pair, group in zip(pairs, made):
            if RANK in pair:
                t = torch.full((1000 * (turn + 1),), float(RANK + 1 + turn), device=device)
                under_way.append((t, dist.all_reduce(t, group=group, async_op=True)))
    for t, work in under_way:
        work.wait()
        note("all_reduce of a pair", t)
    for pair, group in zip(pairs, made):
        if RANK in pair:
            dist.destroy_process_group(group)


def nothing(device):
    def empty(*shape):
        return torch.empty(*shape, device=device)
    dist.all_reduce(empty(0))
    dist.broadcast(empty(0, 3), 0)
    dist.all_gather([empty(0) for _ in range(RANKS)], empty(0))
    dist.all_gather_into_tensor(empty(0), empty(0))
    dist.reduce_scatter_tensor(empty(0), empty(0))
    dist.all_to_all_single(empty(0, 2), empty(0, 2), [0] * RANKS, [0] * RANKS)
    got = empty(2)  # from rank 0 only
    dist.all_to_all_single(got, torch.arange(2.0 * RANKS, device=device)[:2 * RANKS if RANK == 0 else 0],
                           [2] + [0] * (RANKS - 1), [2 if RANK == 0 else 0] * RANKS)
    note("all_to_all_single from one", got)


CASES = [ddp, ddp_without_sync, ddp_hooks, uneven_inputs, fsdp2, hsdp, checkpoint, sequence_parallel, tensors, pipelines,
         experts, rings, functional, groups_at_once, nothing]


def noted_by(case, device):
    NOTED.clear()
    case(device)
    return list(NOTED)


def compare(case):
    got, wanted = noted_by(case, "npu"), noted_by(case, "cpu")
    if [n for n, _, _ in got] != [n for n, _, _ in wanted]:
        raise AssertionError(f"noted over hccl: {[n for n, _, _ in got]}, over gloo: {[n for n, _, _ in wanted]}")
    for (name, x, tolerance), (_, y, _) in zip(got, wanted):
        torch.testing.assert_close(x, y, rtol=tolerance, atol=tolerance, msg=lambda text: f"{name}, over hccl and gloo: {text}")


if __name__ == "__main__":
    sys.exit(run_cases(CASES, "cpu:gloo,npu:hccl", compare))
