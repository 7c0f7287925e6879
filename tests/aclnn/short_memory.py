"""The host's memory, which is short or watched while a function's task runs (short_memory.cc is preloaded).

Every function is called with each of its allocations failing, one at a time and all from one on: the codes say so or
the result is right, and the next call is right. And a task keeps no memory that grows with its tensors beside them and
the workspace.
"""
from __future__ import annotations

import ctypes
from dataclasses import dataclass

import numpy as np

import binding
from cases import Call, Case, Failure, check, check_tensor, describe
from values import DTYPES, Random, Tensor

MEMORY_CODES = (200000, 207001, 561001)
LARGE_TIMES = 3  # cases of each function
MOST_FAILING = 60  # allocations that are made to fail one by one
EVERY = 1 << 62
LONG = 6000  # the longest dimension of a large tensor
SIDE = 90  # two dimensions of one that may not have such a dimension
# Functions with matrices that are square, or whose result has the long dimensions of two operands.
SQUARE = ('TriangularSolve', 'GatherV2', 'IndexSelect', 'Matmul')
NEVER_LARGE = ('GatherV3',)  # GatherV2's kernel, of operands whose sizes all multiply

# Bytes that a task may hold beside its tensors and its workspace, whatever their size.
KEPT = 8 << 10
# Functions that may hold more, and why.
KEPT_MORE = {
    'Softmax': (4 << 20, 'at most 2 MiB for each core, whatever its rows'),
}
KEPT_BY_ONEDNN = 1 << 20  # it packs operands in blocks, and makes code; and is loaded when it is first needed


class Seen(ctypes.Structure):
    _fields_ = [('allocations', ctypes.c_int64), ('most_bytes', ctypes.c_int64),
                ('most_of_others', ctypes.c_int64), ('second', ctypes.c_int),
                ('synchronise', ctypes.c_int)]


@dataclass
class Large(Random):
    """Draws cases whose tensors are larger."""
    square: bool = False  # a dimension of a matrix may be both of its dimensions

    def full(self, low: int = 1, high: int = 5, size: int = 6) -> tuple[int, ...]:
        shape = list(super().full(low, high, min(size, 2)))
        for axis in self.rng.permutation(len(shape))[:2 if self.square else 1]:
            shape[axis] = SIDE if self.square else LONG
        return tuple(shape)

    def shape(self, low: int = 0, high: int = 5, size: int = 6) -> tuple[int, ...]:
        return self.full(max(low, 1) if high else 0, high, size)

    def size(self, low: int, high: int) -> int:
        return super().size(low, high) + SIDE // 4

    def width(self, low: int, high: int) -> int:
        return super().width(low, high) + 3 * SIDE


def run(device: binding.Device, name: str, call: Call, first: int = EVERY, last: int = 0) -> tuple[Seen, str]:
    code, size, executor = device.plan(name, call.values)
    if code != binding.OK:
        raise Failure(f'stage one gives {code}: {device.message()}')
    workspace, seen = device.malloc(size) if size else None, Seen()
    device.watcher(device.second(name), device.synchronise, ctypes.c_void_p(workspace), ctypes.c_uint64(size),
                   ctypes.c_void_p(executor), device.stream, ctypes.c_int64(first), ctypes.c_int64(last),
                   ctypes.byref(seen))
    message = device.message()
    if workspace:
        device.free(workspace)
    return seen, message


def check_wants(device, name: str, case: Case, call: Call):
    for place in case.wants:
        for i, bound in enumerate(call.bound(place)):
            check_tensor(device, bound, case, place, i, device.signatures[name][place].name)


def with_failing(device, name: str, case: Case, rng_for, first: int, last: int) -> int:
    """How many allocations there were."""
    call = Call(device, name, case, rng_for())
    try:
        seen, message = run(device, name, call, first, last)
        bad = [code for code in (seen.second, seen.synchronise) if code not in (0, *MEMORY_CODES)]
        if bad:
            raise Failure(f'gives {seen.second} and {seen.synchronise}: {message}')
        if seen.second == 0 and seen.synchronise == 0:
            check_wants(device, name, case, call)
        return seen.allocations
    except (Failure, RuntimeError, AssertionError) as failure:
        which = f'allocation {first}' + ('' if last == first else ' and all that follow')
        raise Failure(f'{describe(name, case, call)}\n    with {which} failing: {failure}') from None
    finally:
        call.destroy()


def check_failing(device, name: str, case: Case, rng_for):
    for number in range(1, MOST_FAILING):
        counts = [with_failing(device, name, case, rng_for, number, last) for last in (number, EVERY)]
        if max(counts) < number:
            break
    check(device, name, case, rng_for())


def bytes_of(case: Case) -> int:
    tensors = [t for a in case.arguments for t in (a if isinstance(a, list) else [a]) if isinstance(t, Tensor)]
    return sum(np.dtype(DTYPES[t.dtype].numpy).itemsize * int(np.prod(t.shape, dtype=np.int64)) for t in tensors)


def check_kept(device, name: str, case: Case, rng):
    call = Call(device, name, case, rng)
    try:
        seen, message = run(device, name, call)
        if seen.second or seen.synchronise:
            raise Failure(f'gives {seen.second} and {seen.synchronise}: {message}')
        most, _ = KEPT_MORE.get(name, (KEPT, ''))
        if seen.most_bytes > most:
            raise Failure(f'its task holds {seen.most_bytes} bytes beside {bytes_of(case)} of tensors; {most} may be')
        if seen.most_of_others > KEPT_BY_ONEDNN:
            raise Failure(f'oneDNN and its loading hold {seen.most_of_others} bytes beside {bytes_of(case)} of tensors')
    except (Failure, RuntimeError) as failure:
        raise Failure(f'{describe(name, case, call)}\n    {failure}') from None
    finally:
        call.destroy()


def check_function(device, row, form, generator, times: int) -> list[str]:
    failures = []
    for number in range(times):
        try:
            check_failing(device, row.name, row.make(Random(generator(number), empty=0), form),
                          lambda number=number: generator(number + times))
        except Failure as failure:
            failures.append(f'case {number}: {failure}')
    for number in range(0 if row.name in NEVER_LARGE else LARGE_TIMES):
        try:
            rng = generator(number)
            check_kept(device, row.name, row.make(Large(rng, 0, row.name in SQUARE), form), rng)
        except Failure as failure:
            failures.append(f'large case {number}: {failure}')
        except Exception as fault:  # so that a mistake in one row does not hide what others find
            failures.append(f'large case {number}: the table itself: {type(fault).__name__}: {fault}')
    return failures
