"""What random_calls.py draws: shapes, types, values, and how they lie in memory."""

import dataclasses
import random
import typing

import torch

FLOATS = [torch.float32, torch.float32, torch.float16, torch.bfloat16]
WHOLE = [torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8]
EVERY = FLOATS + [torch.float64] + WHOLE + [torch.bool]
SIZES = [1, 2, 3, 4, 5, 7, 8, 9, 11, 13, 15, 16, 17, 31, 32, 33, 63, 64, 65, 97, 100, 127, 128, 129, 191, 255, 256, 257,
         300, 437, 511, 512, 513, 700, 769, 1000, 1023, 1024, 1025, 1500, 2047, 2049, 3000, 4097, 10007, 20011]


class Layout:
    """Where the elements of a tensor lie: strides from an offset in a buffer, of which some may be 0."""

    def __init__(self, shape, strides, offset, expanded):
        self.shape, self.strides, self.offset, self.expanded = list(shape), strides, offset, expanded
        reach = sum((n - 1) * s for n, s in zip(shape, strides)) if all(shape) else -1
        self.length = offset + reach + 1 + offset

    def values(self, t):
        """The tensor's elements as the view has them: along an expanded dimension all are the first."""
        for d in self.expanded:
            t = t.narrow(d, 0, 1).expand(t.shape)
        return t.clone(memory_format=torch.contiguous_format)

    def place(self, t):
        """(the buffer as it is at first, on the host; the buffer, and the view in it, on the device)"""
        base = torch.full([self.length], 3).to(t.dtype)
        once = [1 if d in self.expanded else n for d, n in enumerate(self.shape)]
        base.as_strided(once, self.strides, self.offset).copy_(t[tuple(slice(n) for n in once)])
        there = base.npu()
        return base, there, there.as_strided(self.shape, self.strides, self.offset)

    def gaps(self):
        free = torch.ones(self.length, dtype=torch.bool)
        once = [1 if d in self.expanded else n for d, n in enumerate(self.shape)]
        free.as_strided(once, self.strides, self.offset).fill_(False)
        return free

    def __str__(self):
        plain = torch.empty(self.shape, device="meta").stride()
        return "" if list(plain) == self.strides and not self.offset else f"/{self.strides}+{self.offset}"


@dataclasses.dataclass
class Case:
    says: str
    inputs: list
    call: typing.Callable
    gradients: bool = False
    exact: bool = False  # the reference is of the same type: casts, bits
    writes: bool = False  # the call changes its arguments
    bound: float = 16  # roundings that are allowed
    size: float = 0  # how large the numbers are that the call adds up, beside its results
    layouts: list = None


class Draw(random.Random):
    def __init__(self, seed, name):
        super().__init__(f"{seed} {name}")
        self.generator = torch.Generator().manual_seed(self.getrandbits(40))

    def chance(self, share) -> bool:
        return self.random() < share

    def shape(self, least=0, most=7, elements=30000) -> list:
        """Of few dimensions mostly; now and then without elements, or as long and thin as it gets."""
        if self.chance(0.04) and least < 2:
            return self.choice([[], [0], [3, 0], [0, 5], [2, 0, 3]][(0 if least == 0 else 1):])
        rank = max(least, min(most, self.choice([1, 2, 2, 2, 3, 3, 4, 5, 6, 7])))
        sizes, count = [], 1
        for _ in range(rank):
            fit = [n for n in SIZES if n * count <= elements]
            sizes.append(self.choice(fit if self.chance(0.4) else [n for n in fit if n < 20]))
            count *= sizes[-1]
        self.shuffle(sizes)
        return sizes

    def dim(self, t) -> int:
        return self.randrange(-t.dim(), t.dim())

    def dims(self, t) -> list:
        return self.sample(range(t.dim()), self.randint(1, t.dim()))

    def normal(self, shape, dtype=torch.float32, scale=1.0):
        return (torch.randn(shape, generator=self.generator) * scale).to(dtype)

    def uniform(self, shape, low=0.0, high=1.0, dtype=torch.float32):
        return (torch.rand(shape, generator=self.generator) * (high - low) + low).to(dtype)

    def whole(self, low, high, shape, dtype=torch.int64):
        """From low to high, which is not among them."""
        return torch.randint(low, high, tuple(shape), generator=self.generator).to(dtype)

    def tensor(self, shape, dtype, scale=2.0):
        if dtype == torch.bool:
            return torch.rand(shape, generator=self.generator) > 0.5
        if dtype.is_floating_point:
            if self.chance(0.15):  # many equal ones
                return self.whole(-3, 4, shape).to(dtype)
            return self.normal(shape, dtype, scale)
        return self.whole(0 if dtype == torch.uint8 else -50, 50, shape, dtype)

    def layout(self, t, expand=True) -> Layout:
        strides = list(torch.empty(t.shape, device="meta").stride())
        if self.chance(0.35):
            return Layout(t.shape, strides, self.choice([0, 0, 0, 1, 3]), [])
        order = list(range(t.dim()))
        if self.chance(0.5):
            self.shuffle(order)
        step = self.choice([1, 1, 1, 2, 3])
        room = 4 * t.numel() + 100
        for d in reversed(order):
            strides[d] = step
            step *= t.shape[d] + (self.choice([0, 0, 0, 1, 2]) if step * t.shape[d] < room / (t.shape[d] + 2) else 0)
        expanded = [d for d in range(t.dim()) if expand and t.shape[d] and self.chance(0.1)]
        for d in expanded:
            strides[d] = 0
        return Layout(t.shape, strides, self.choice([0, 0, 1, 2, 5]), expanded)

    def case(self, says, inputs, call, plain=(), **more) -> Case:
        """`plain` are the arguments that lie as they are."""
        writes = more.get("writes", False)
        layouts = [Layout(t.shape, list(torch.empty(t.shape, device="meta").stride()), 0, []) if i in plain
                   else self.layout(t, not writes) for i, t in enumerate(inputs)]
        return Case(says, list(inputs), call, layouts=layouts, **more)
