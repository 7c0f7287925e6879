"""A model whose parameters and optimizer are divided among the ranks (fully_shard, FSDP2).

    belay launch -n 4 -- python main.py        (or: torchrun --nproc_per_node 4 main.py)

Each rank keeps its part of every parameter; before a layer runs its parameters are gathered, and gradients are
summed to whose part they are. Rank 0 also trains the model alone: the losses are the same.
"""

import os

import torch
import torch.distributed as dist
import torch_npu  # noqa: F401
from torch import nn
from torch.distributed.fsdp import fully_shard


def make_model():
    torch.manual_seed(0)
    layers = [nn.Sequential(nn.LayerNorm(32), nn.Linear(32, 32), nn.GELU()) for _ in range(4)]
    return nn.Sequential(*layers, nn.Linear(32, 1)).npu()


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
    torch.npu.set_device(int(os.environ["LOCAL_RANK"]) % torch.npu.device_count())
    dist.init_process_group("hccl")
    rank, ranks = dist.get_rank(), dist.get_world_size()

    torch.manual_seed(1)
    inputs = torch.randn(64, 32).npu()
    targets = inputs.sum(1, keepdim=True)

    model = make_model()
    for layer in model:
        fully_shard(layer)
    fully_shard(model)
    here = sum(p.to_local().numel() for p in model.parameters())
    losses = train(model, inputs.chunk(ranks)[rank], targets.chunk(ranks)[rank])
    dist.all_reduce(losses, op=dist.ReduceOp.AVG)
    if rank == 0:
        whole = make_model()
        print(f"{here} of {sum(p.numel() for p in whole.parameters())} parameters on this rank")
        alone = train(whole, inputs, targets)
        for together, one in zip(losses.tolist(), alone.tolist()):
            print(f"{ranks} ranks {together:.4f}, one {one:.4f}")
        assert torch.allclose(losses, alone, rtol=1e-4)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
