"""Times what PyTorch programs do through torch_npu beside torch on the CPU, in turns in one process.

    python speed.py [training captured attention products steps numbers pointwise] [--threads 2] [--types float32,bfloat16]

A row says the best time of each, the ratio of these (above 1: the device is faster), and that of the medians. BELAY_WORKERS
is the number of the device's own threads; give --threads the same. Where others are at work on the machine --processor
times what the process spends, on one core (`taskset -c 1`, --threads 1, BELAY_WORKERS=1). Where a processor has no
instructions for BFLOAT16 torch's own products of that type take minutes.
"""

import argparse
import importlib.util
import os
import time

os.environ.setdefault("TASK_QUEUE_ENABLE", "1")  # as programs have it
import boot  # noqa: F401
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch_npu


clock = time.perf_counter


def timed(work) -> float:
    begin = clock()
    work()
    torch.npu.synchronize()
    return (clock() - begin) * 1e3


def calm():
    """The client's thread that releases looks what there is to do every few microseconds. With a real-time priority (chrt) the
    kernel is that exact, and the thread takes a core of its own."""
    for task in os.listdir("/proc/self/task"):
        with open(f"/proc/self/task/{task}/comm") as comm:
            if comm.read().strip() == "release_thread":
                os.sched_setscheduler(int(task), os.SCHED_OTHER, os.sched_param(0))


def row(name: str, make, rounds: int = 9):
    """make(device) gives what is timed there."""
    try:
        both = make("cpu"), make("npu")
        for work in both:
            timed(work)
        calm()
        times = [sorted(t) for t in zip(*[[timed(work) for work in both] for _ in range(rounds)])]
    except RuntimeError as error:
        print(f"{name:40} {str(error).splitlines()[0]}", flush=True)
        return
    (cpu, npu), (cpu_middle, npu_middle) = [t[0] for t in times], [t[rounds // 2] for t in times]
    print(f"{name:40} cpu {cpu:9.2f} ms, npu {npu:9.2f} ms: {cpu / npu:5.2f} x, medians {cpu_middle / npu_middle:5.2f} x", flush=True)


class Block(nn.Module):
    def __init__(self, size: int, heads: int):
        super().__init__()
        self.heads, self.before, self.behind = heads, nn.LayerNorm(size), nn.LayerNorm(size)
        self.qkv, self.out = nn.Linear(size, 3 * size), nn.Linear(size, size)
        self.up, self.down = nn.Linear(size, 4 * size), nn.Linear(4 * size, size)

    def forward(self, x):
        batch, tokens, size = x.shape
        q, k, v = self.qkv(self.before(x)).view(batch, tokens, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        seen = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(seen.transpose(1, 2).reshape(batch, tokens, size))
        return x + self.down(F.gelu(self.up(self.behind(x))))


class Gpt(nn.Module):
    def __init__(self, words: int = 5000, size: int = 512, layers: int = 4, tokens: int = 128):
        super().__init__()
        self.words, self.places = nn.Embedding(words, size), nn.Parameter(torch.randn(tokens, size) * 0.02)
        self.blocks = nn.Sequential(*[Block(size, 8) for _ in range(layers)], nn.LayerNorm(size), nn.Linear(size, words))

    def forward(self, x):
        return self.blocks(self.words(x) + self.places).flatten(0, 1).float()


class Residual(nn.Module):
    def __init__(self, channels: int, out: int, stride: int):
        super().__init__()
        self.first = nn.Sequential(nn.Conv2d(channels, out, 3, stride, 1, bias=False), nn.BatchNorm2d(out), nn.ReLU())
        self.second = nn.Sequential(nn.Conv2d(out, out, 3, 1, 1, bias=False), nn.BatchNorm2d(out))
        self.beside = nn.Conv2d(channels, out, 1, stride, bias=False) if stride > 1 else nn.Identity()

    def forward(self, x):
        return F.relu(self.beside(x) + self.second(self.first(x)))


def cnn():
    return nn.Sequential(nn.Conv2d(3, 32, 3, 1, 1), nn.BatchNorm2d(32), nn.ReLU(), Residual(32, 32, 1), Residual(32, 64, 2),
                         Residual(64, 128, 2), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(128, 10))


def t5():
    from transformers import T5Config, T5ForConditionalGeneration
    return T5ForConditionalGeneration(T5Config(vocab_size=5000, d_model=512, d_ff=2048, num_layers=3, dropout_rate=0.0,
                                               decoder_start_token_id=0))


def words(rows: int, columns: int):
    return lambda: (torch.randint(5000, (rows, columns)), torch.randint(5000, (rows, columns)))


def of_classes(model, x, y):
    return F.cross_entropy(model(x).float(), y.flatten())


def of_labels(model, x, y):
    return model(input_ids=x, labels=y).loss


def replay_of(step):
    """The step, captured on the device after a few that make what it keeps."""
    with torch.npu.stream(torch.npu.Stream()):
        for _ in range(3):
            step()
    torch.npu.synchronize()
    graph = torch.npu.NPUGraph()
    with torch.npu.graph(graph):
        step()

    def replay():
        graph.replay()
    replay.of = step  # lives as long: the graph reads what the step holds
    return replay


def step_of(model, data, loss_of, device: str, half: bool, captured: bool = False):
    torch.manual_seed(0)
    model = model().to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, capturable=captured)
    x, y = [t.to(device) for t in data()]

    def step():
        optimizer.zero_grad(set_to_none=not captured)
        with torch.autocast(device, torch.bfloat16, enabled=half):
            loss = loss_of(model, x, y)
        loss.backward()
        optimizer.step()
    return replay_of(step) if captured else step


MODELS = {"GPT, 4 layers of 512, 4 x 128 tokens": (Gpt, words(4, 128), of_classes),
          "CNN, 32 images of 32 x 32": (cnn, lambda: (torch.randn(32, 3, 32, 32), torch.randint(10, (32,))), of_classes)}
T5 = {"T5, 3 + 3 layers of 512, 4 x 64 tokens": (t5, words(4, 64), of_labels)}


def training(types):
    has_t5 = importlib.util.find_spec("transformers") is not None
    for name, model in {**MODELS, **(T5 if has_t5 else {})}.items():
        for dtype in types:
            row(f"{name}, {str(dtype)[6:]}", lambda device: step_of(*model, device, dtype == torch.bfloat16), 5)
    if not has_t5:
        print("T5 needs the package transformers")


def captured(types):
    """Steps that NPUGraph replays, beside eager ones on the CPU."""
    for name, model in MODELS.items():
        for dtype in types:
            row(f"{name}, {str(dtype)[6:]}, captured",
                lambda device: step_of(*model, device, dtype == torch.bfloat16, device == "npu"), 5)


def attended(device: str, dtype, tokens: int, causal: bool, backward: bool):
    torch.manual_seed(0)
    q, k, v = [torch.randn(1, 8, tokens, 64).to(device, dtype).requires_grad_(backward) for _ in range(3)]
    dy = torch.randn(1, 8, tokens, 64).to(device, dtype)

    def work():
        with torch.set_grad_enabled(backward):
            y = F.scaled_dot_product_attention(q, k, v, is_causal=causal)
            if backward:
                torch.autograd.grad(y, (q, k, v), dy)
    return work


def attention(types):
    for dtype in types:
        for tokens in (512, 2048, 8192):
            for causal in (False, True):
                name = f"attention, {tokens} tokens{', causal' * causal}, {str(dtype)[6:]}"
                row(name, lambda device: attended(device, dtype, tokens, causal, False), 5)
                row(name + ", gradients", lambda device: attended(device, dtype, tokens, causal, True), 5)


def grouped(device: str, dtype, experts: int):
    torch.manual_seed(0)
    x, w = torch.randn(1024, 512).to(device, dtype), torch.randn(experts, 512, 1024).to(device, dtype)
    rows = 1024 // experts
    if device == "cpu":
        return lambda: [x[i * rows:(i + 1) * rows] @ w[i] for i in range(experts)]
    ends = (torch.arange(1, experts + 1) * rows).to(device)
    return lambda: torch_npu.npu_grouped_matmul([x], [w], group_list=ends, split_item=3, group_type=0)


def product(device: str, dtype, m: int, k: int, n: int):
    x, y = torch.randn(m, k).to(device, dtype), torch.randn(k, n).to(device, dtype)
    return lambda: x @ y


def products(types):
    for dtype in types:
        for experts in (8, 64):
            row(f"grouped products, {experts} experts, {str(dtype)[6:]}", lambda device: grouped(device, dtype, experts))
        for m, k, n in ((128, 512, 1024), (512, 1024, 1024), (2048, 2048, 2048)):
            row(f"product {m} x {k} x {n}, {str(dtype)[6:]}", lambda device: product(device, dtype, m, k, n))


def adam(device: str, fused: bool):
    parameters = [torch.randn(512, 1024).to(device).requires_grad_() for _ in range(8)]
    for p in parameters:
        p.grad = torch.randn(512, 1024).to(device)
    return torch.optim.AdamW(parameters, lr=1e-4, fused=fused, foreach=not fused).step


def steps(_):
    for fused in (False, True):
        row(f"AdamW, 8 x 2 MiB, {'fused' if fused else 'foreach'}", lambda device: adam(device, fused))
    pair = {device: [torch.randn(8 << 20).to(device) for _ in range(2)] for device in ("cpu", "npu")}
    row("copy of 32 MiB", lambda device: lambda: pair[device][0].copy_(pair[device][1]))


def each(names: dict, x, dtypes):
    for name, work in names.items():
        for dtype in dtypes:
            given = {device: x.to(device, dtype) for device in ("cpu", "npu")}
            row(f"{name}, {str(dtype)[6:]}", lambda device: lambda: work(given[device]))


def numbers(_):
    x = torch.rand(4 << 20)
    each({"normal": lambda t: t.normal_(), "uniform": lambda t: t.uniform_(), "bernoulli": lambda t: t.bernoulli_(0.5),
          "dropout": lambda t: F.dropout(t, 0.1), "nonzero": lambda t: t.nonzero(), "t[t > 0.5]": lambda t: t[t > 0.5]},
         x, [torch.float32])
    each({"unique": torch.unique}, (x * 1000).long(), [torch.int64])


def pointwise(types):
    each({"exp": torch.exp, "gelu": F.gelu, "silu": F.silu, "t + t": lambda t: t + t, "softmax": lambda t: torch.softmax(t, -1),
          "layer_norm": lambda t: F.layer_norm(t, (1024,)), "sum": torch.sum, "sum(0)": lambda t: t.sum(0),
          "max(1)": lambda t: t.max(1), "cumsum": lambda t: t.cumsum(-1), "sort": lambda t: t.sort(-1),
          "topk": lambda t: t.topk(8), "t.t()": lambda t: t.t().contiguous()}, torch.randn(4096, 1024), types)


PARTS = {f.__name__: f for f in (training, captured, attention, products, steps, numbers, pointwise)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", default=list(PARTS), metavar="part", help=", ".join(PARTS))
    parser.add_argument("--threads", type=int, default=2, help="of torch on the CPU")
    parser.add_argument("--types", default="float32")
    parser.add_argument("--processor", action="store_true", help="time the process, not the clock")
    arguments = parser.parse_args()
    if arguments.processor:
        global clock
        clock = time.process_time
    torch.set_num_threads(arguments.threads)
    for part in arguments.parts:
        if part not in PARTS:
            parser.error(f"{part} is none of {', '.join(PARTS)}")
        PARTS[part]([getattr(torch, name) for name in arguments.types.split(",")])


if __name__ == "__main__":
    main()
