"""A model trained by several ranks with DistributedDataParallel, each on its part of every batch.

    belay launch -n 4 -- python main.py        (or: torchrun --nproc_per_node 4 main.py)

Rank 0 also trains it alone, on whole batches: the losses are the same.
"""

import os

import torch
import torch.distributed as dist
import torch_npu  # noqa: F401
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def make_model():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(16, 64), nn.GELU(), nn.Linear(64, 1)).npu()


def train(model, inputs, targets, steps=5):
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(inputs), targets)
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    return torch.stack(losses)


def main():
    device = int(os.environ["LOCAL_RANK"]) % torch.npu.device_count()
    torch.npu.set_device(device)
    dist.init_process_group("hccl")
    rank, ranks = dist.get_rank(), dist.get_world_size()

    torch.manual_seed(1)
    inputs = torch.randn(64, 16).npu()
    targets = inputs.sum(1, keepdim=True)

    model = DistributedDataParallel(make_model(), device_ids=[device])
    losses = train(model, inputs.chunk(ranks)[rank], targets.chunk(ranks)[rank])
    dist.all_reduce(losses, op=dist.ReduceOp.AVG)
    if rank == 0:
        alone = train(make_model(), inputs, targets)
        for together, one in zip(losses.tolist(), alone.tolist()):
            print(f"{ranks} ranks {together:.4f}, one {one:.4f}")
        assert torch.allclose(losses, alone, rtol=1e-4)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
