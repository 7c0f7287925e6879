"""Calls functions of torch at random on the device and beside f64 on the CPU.

    python random_calls.py [NAME...] [--seed 1] [--seconds 20]     names: of calls or of their families, as --list has them
    python random_calls.py NAME --case 123                         the one call again that a line of a difference names

Each call draws types, shapes (empty ones, none, thin ones, primes, up to seven dimensions), strides, offsets and expanded
views of its arguments, and, where it has them, the form in place, that with `out=` and its gradients. What a write into a
view leaves beside it is looked at, too. A result may be as far from that of f64 as roundings of its type and the length of
its sums explain, or four times as far as what the CPU computes in the same type. What the device refuses is listed and
is no difference. Ends with 1 after a difference.
"""

import argparse
import collections
import os
import random
import sys
import time

os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "ERROR")  # of what the client leaves to the CPU
import boot  # noqa: F401
import torch

from random_draw import Draw

import random_llm
import random_networks
import random_tensors

FAMILIES = {"tensors": random_tensors.CALLS, "networks": random_networks.CALLS, "llm": random_llm.CALLS}
CALLS = {name: draw for calls in FAMILIES.values() for name, draw in calls.items()}
UNIT = {torch.float64: 2.0**-51, torch.float32: 2.0**-24, torch.float16: 2.0**-11, torch.bfloat16: 2.0**-8}
NOT_HERE = "the CPU has no such call"


def outputs(result) -> list:
    if torch.is_tensor(result):
        return [result]
    return [part for one in result for part in outputs(one)] if result is not None else []


def with_gradients(call, inputs, weights):
    """The results, and the gradients of the inputs under `weights`, which are drawn at the first time."""
    leaves = [t.detach().requires_grad_(t.is_floating_point()) for t in inputs]
    results = outputs(call(*leaves))
    ends = [t for t in results if t.requires_grad]
    if not ends:
        return results, []
    sources = [t for t in leaves if t.requires_grad]
    pulls = [weights(number, t) for number, t in enumerate(ends)]
    return results, torch.autograd.grad(ends, sources, pulls, allow_unused=True)


class Judge:
    """Runs a case in f64 and in its own type on the CPU, and on the device, and says what differs."""

    def __init__(self, case, seed):
        self.case = case
        self.seed = seed
        self.values = [layout.values(t) for t, layout in zip(case.inputs, case.layouts)]
        types = [t.dtype for t in case.inputs if t.is_floating_point()]
        self.unit = max((UNIT[t] for t in types), default=0.0)

    def weights(self, number, like):
        generator = torch.Generator().manual_seed(self.seed + number)
        drawn = torch.randn(like.shape, generator=generator)
        kind = next((t.dtype for t in self.case.inputs if t.is_floating_point()), torch.float32)
        return drawn.to(kind).to(like.dtype).to(like.device)

    def run(self, inputs):
        if self.case.gradients:
            results, gradients = with_gradients(self.case.call, inputs, self.weights)
            return results, list(gradients)
        return outputs(self.case.call(*inputs)), []

    def host(self, wide):
        def own(t):
            t = t.contiguous().clone()
            return t.double() if wide and t.is_floating_point() and not self.case.exact else t

        try:
            return self.run([own(t) for t in self.values])
        except (RuntimeError, IndexError, ValueError, NotImplementedError, TypeError):
            return None

    def device(self):
        placed = [layout.place(t) for t, layout in zip(self.case.inputs, self.case.layouts)]
        results, gradients = self.run([view for _, _, view in placed])
        torch.npu.synchronize()
        for number, ((before, after, _), layout) in enumerate(zip(placed, self.case.layouts)):
            changed = ~equal(after.cpu(), before)
            if changed.any() and not self.case.writes:
                return None, f"argument {number} was written to"
            if changed.any() and (changed & layout.gaps()).any():
                return None, f"elements between those of argument {number} were written to"
        return (results, gradients), ""

    def differs(self, wide, own, device) -> str:
        for part, bound in ((0, 1), (1, 3)):
            if len(wide[part]) != len(device[part]):
                return f"{len(device[part])} results beside {len(wide[part])}"
            for number, (a, b) in enumerate(zip(wide[part], device[part])):
                mine = own[part][number] if own else None
                if a is None or b is None:
                    continue
                said = self.one(a.detach(), b.detach().cpu(), None if mine is None else mine.detach(), bound)
                if said:
                    return f"{'gradient' if part else 'result'} {number}: {said}"
        return ""

    def one(self, wide, device, own, bound) -> str:
        if wide.shape != device.shape:
            return f"shape {tuple(device.shape)} beside {tuple(wide.shape)}"
        if own is not None and own.dtype != device.dtype:
            return f"type {device.dtype} beside {own.dtype}"
        if not device.numel():
            return ""
        if not device.is_floating_point() and not device.is_complex():
            off = (wide != device.to(wide.dtype)) if not wide.is_floating_point() else wide.double() != device.double()
            return told(off, wide, device)
        a, b = (t.to(torch.complex128 if t.is_complex() else torch.float64) for t in (wide, device))
        unit = max(self.unit, UNIT.get(device.dtype, UNIT[torch.float32]))
        finite = a.abs()[a.isfinite()]
        scale = finite.mean().item() if finite.numel() else 0.0
        room = bound * self.case.bound * unit * (a.abs() + scale + self.case.size)
        error = (a - b).abs()
        off = ~(error <= room)
        if own is not None and off.any():
            theirs = (a - own.to(a.dtype)).abs()
            theirs = theirs[theirs.isfinite()]
            off &= ~(error <= 4 * (theirs.max().item() if theirs.numel() else 0.0))
            off &= ~(own.isfinite().logical_not() & device.isfinite().logical_not())
        off &= ~equal(a, b)
        if device.is_floating_point():
            off &= ~((a.abs() > torch.finfo(device.dtype).max * 0.99) & device.isinf())
        return told(off, wide, device)


def equal(a, b):
    return (a == b) | ((a != a) & (b != b))


def told(off, wide, device) -> str:
    if not off.any():
        return ""
    first = [f"{b} beside {a}" for a, b in zip(wide[off][:3].tolist(), device[off][:3].tolist())]
    where = off.nonzero()[0].tolist()
    return f"{int(off.sum())} of {off.numel()}, from {where} on: {', '.join(first)}"


def once(name, seed) -> tuple:
    """(what kind of end it had, what to say of it)"""
    draw = Draw(seed, name)
    case = CALLS[name](draw)
    judge = Judge(case, seed)
    wide = judge.host(True)
    if wide is None:
        return NOT_HERE, case.says
    says = f"{case.says} of {', '.join(describe(t, at) for t, at in zip(case.inputs, case.layouts))}"
    try:
        device, said = judge.device()
    except RuntimeError as error:
        return "refused", f"{says}: {sentence(error)}"
    said = said or judge.differs(wide, judge.host(False), device)
    return ("differs", f"{says}: {said}") if said else ("same", says)


def describe(t, layout) -> str:
    return f"{str(t.dtype)[6:]}{list(t.shape)}{layout}"


def sentence(error) -> str:
    """What the device said, without the client's frame around it."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    told_by = [line for line in lines if "]:" in line or "EZ" in line or "Belay" in line]
    return (told_by or lines or [repr(error)])[0][:240]


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--calls", type=int, default=10**9, help="so many, however long they take")
    parser.add_argument("--case", type=int, help="the seed of the one call that is made")
    parser.add_argument("--each", type=int, default=3, help="lines for each name")
    parser.add_argument("--refusals", action="store_true", help="say what is refused, too")
    parser.add_argument("--list", action="store_true")
    return parser.parse_args()


def main() -> int:
    options = arguments()
    if options.list:
        for family, calls in FAMILIES.items():
            print(family + ":", *calls)
        return 0
    names = [n for name in options.names for n in FAMILIES.get(name, [name])] or list(CALLS)
    if options.case is not None:
        kind, said = once(names[0], options.case)
        print(kind, names[0], said)
        return kind == "differs"
    rounds, begin = random.Random(options.seed), time.monotonic()
    ends, lines = collections.Counter(), collections.Counter()
    while time.monotonic() - begin < options.seconds and sum(ends.values()) < options.calls:
        name, seed = rounds.choice(names), rounds.randrange(10**9)
        kind, said = once(name, seed)
        ends[kind] += 1
        key = (kind, name, said.rsplit(": ", 1)[-1][:80] if kind == "refused" else "")
        lines[key] += 1
        if kind == "differs" and lines[key] <= options.each or options.refusals and kind == "refused" and lines[key] == 1:
            print(f"{kind}: {name} --case {seed}   # {said}", flush=True)
    print(f"seed {options.seed}:", ", ".join(f"{count} {kind}" for kind, count in sorted(ends.items())))
    return 1 if ends["differs"] else 0


if __name__ == "__main__":
    sys.exit(main())
