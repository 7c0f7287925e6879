"""What random operators are drawn with (drawn.py): `Draw` gives numbers, shapes and data, and a case the name that tells them."""
from __future__ import annotations

import numpy as np

from cases import BOOL, F16, F32, F64, Zoo

UNTOLD = ('constants', 'opset', 'tolerance', 'to', 'domain')  # what a case's name leaves out
SHORT = 12                                          # elements of a constant that are told


def tag(shape):
    return 'x'.join(map(str, shape)) or 'one'


def described(array, constant):
    """An input in a name: its shape, its type unless that is float32, and the values of a short constant."""
    array = np.asarray(array)
    if constant and array.size <= SHORT and (array.ndim == 0 or array.ndim == 1 and array.dtype.kind == 'i'):
        return f'{array.item():g}' if array.ndim == 0 else str(array.tolist()).replace(' ', '')
    return f'{"constant " if constant else ""}{"" if array.dtype == F32 else f"{array.dtype} "}{tag(array.shape)}'


class Draw(Zoo):
    """A zoo whose cases come from dice."""

    def __init__(self, group, *seed):
        super().__init__()
        self.group, self.rng = group, np.random.default_rng(seed)

    def pick(self, *options):
        return options[self.number(0, len(options))]

    def number(self, low, end):
        return int(self.rng.integers(low, end))

    def chance(self, share):
        return self.rng.random() < share

    def power(self, low, high):
        """A number between powers of two, as likely in each octave."""
        return int(2 ** self.rng.uniform(low, high))

    def shape(self, rank=None, low=13, high=19):
        """About 2 ** low to 2 ** high elements, shared out among the dimensions at random."""
        rank = rank or self.number(1, 6)
        bits = self.rng.uniform(low, high) * self.rng.dirichlet(np.full(rank, 1.5))
        return tuple(max(1, round(2.0 ** b)) for b in bits)

    def narrowed(self, shape, share):
        """A shape that is one in some dimensions."""
        return tuple(1 if self.chance(share) else n for n in shape)

    def data(self, shape, dtype=F32):
        if dtype == BOOL:
            return self.bits(*shape)
        if np.dtype(dtype).kind == 'u':
            return self.ints(0, 100, *shape, dtype=dtype)
        return self.normal(*shape, dtype=dtype) if dtype in (F16, F32, F64) else self.ints(-100, 100, *shape, dtype=dtype)

    def case(self, kind, inputs, note='', **options):
        """`op`, under a name that tells its inputs and attributes."""
        constants = options.get('constants', ())
        told = [described(x, i in constants) for i, x in enumerate(inputs) if x is not None]
        settings = [f'{name}={value}'.replace(' ', '') for name, value in options.items() if name not in UNTOLD]
        self.op(' '.join([kind, ', '.join(told), *filter(None, [note]), *settings]), kind, inputs, **options)

    def whole(self, kind, inputs, nodes, note='', outputs=1, tolerance=1e-4):
        """A model of several nodes, that read x0, x1, ... and give y0, y1, ..."""
        told = [described(x, False) for x in inputs]
        name = ' '.join([kind, ', '.join(told), *filter(None, [note])])
        self.model(name, dict(zip(('x0', 'x1', 'x2'), inputs)), nodes, [f'y{i}' for i in range(outputs)], [], 18, tolerance)
