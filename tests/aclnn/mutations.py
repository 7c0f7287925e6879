"""Calls that are almost right: one to three arguments of a valid case are changed at random (changes.py).

Whatever comes of it is right but a crash, a hang, a refusal without a message, memory written that is no result's, memory kept,
more than 1 GiB taken, or a valid call that fails afterwards. The calls are made in a child, and what ends it is told; the next one
goes on behind it.
"""
from __future__ import annotations

import contextlib
import ctypes
import mmap
import os
import resource
import signal
import warnings

import numpy as np

import binding
import cases
from cases import Call, Case, Failure, describe
from changes import Changes, Placed
from values import Bound, Layout, Random, packed

SECONDS = 300  # for one call, which takes a moment: only what hangs takes so long
MOST_MEMORY = 1 << 30
VALID_AFTER = 0.1  # how often a valid call follows
MARGIN, FILL = 256, 0xa5  # bytes on either side of what is allocated
REFUSALS = 12  # the same refusal again, where memory that it keeps is looked for


class GuardedDevice(binding.Device):
    """Memory with margins, which are poisoned where AddressSanitizer is loaded."""

    def __init__(self, lib64):
        super().__init__(lib64)
        self._live: dict[int, int] = {}
        self._fill = (ctypes.c_uint8 * MARGIN)(*[FILL] * MARGIN)
        self.damaged = False

    def malloc(self, size: int) -> int:
        address = super().malloc(size + 2 * MARGIN) + MARGIN
        self._live[address] = size
        for margin in self._margins(address):
            self.copy(margin, ctypes.addressof(self._fill), MARGIN, binding.HOST_TO_DEVICE)
            self._poison('poison', margin)
        return address

    def free(self, address: int):
        now = (ctypes.c_uint8 * MARGIN)()
        for margin in self._margins(address):
            self._poison('unpoison', margin)
            self.copy(ctypes.addressof(now), margin, MARGIN, binding.DEVICE_TO_HOST)
            self.damaged |= bytes(now) != bytes(self._fill)
        del self._live[address]
        super().free(address - MARGIN)

    def free_all(self):
        """What calls that were broken off have left."""
        for address in list(self._live):
            self.free(address)

    def _margins(self, address: int) -> tuple[int, int]:
        return address - MARGIN, address + self._live[address]

    def _poison(self, how: str, address: int):
        function = sanitizer(f'__asan_{how}_memory_region')
        if function:
            function(ctypes.c_void_p(address), ctypes.c_size_t(MARGIN))


def sanitizer(name: str):
    """A function of AddressSanitizer's, where it is loaded."""
    function = getattr(ctypes.CDLL(None), name, None)
    if function:
        function.restype = ctypes.c_size_t
    return function


class MutatedCall(Call):
    def bind(self, tensor, place: int) -> Bound:
        if not isinstance(tensor, Placed):
            return super().bind(tensor, place)
        if not tensor.claimed:
            return Bound(self.device, tensor, tensor.layout)
        count = int(np.prod(tensor.shape, dtype=np.int64))
        bound = Bound(self.device, tensor, Layout(packed(tensor.shape), 0, count))
        real, bound.layout = bound.layout, tensor.layout
        try:
            self.device.destroy('Tensor', bound.handle)
            bound.handle = bound.create()
        finally:
            bound.layout = real
        return bound


class Attempt:
    """One call with changed arguments, and what must hold whatever it gives."""

    def __init__(self, device: GuardedDevice, row, form, case: Case, rng):
        self.device, self.name, self.form, self.case = device, row.name, form, case
        self.call = MutatedCall(device, row.name, case, rng)
        self.bounds = [(place, b) for place in (*self.call.tensors, *self.call.lists) for b in self.call.bound(place)]

    def run(self, written: set[int], same: bool):
        code, size, executor = self.device.plan(self.name, self.call.values)
        if code != binding.OK:
            self.check_message(code)
            self.check_memory(set())
            return self.check_kept(code)
        if size > MOST_MEMORY:
            raise Failure(f'wants a workspace of {size} bytes')
        code = self.device.try_execute(self.name, size, executor)
        if code != binding.OK:
            self.check_message(code)
        self.check_memory(written)
        if same:
            if code != binding.OK:
                raise Failure(f'a valid call gives {code}')
            for place in self.case.wants:
                for item, bound in enumerate(self.call.bound(place)):
                    cases.check_tensor(self.device, bound, self.case, place, item, self.form.arguments[place])

    def check_message(self, code: int):
        if not self.device.message():
            raise Failure(f'gives {code} without a message')

    def check_memory(self, written: set[int]):
        for place, bound in self.bounds:
            now = np.empty_like(bound.storage)
            self.device.copy(now.ctypes.data, bound.address, now.nbytes, binding.DEVICE_TO_HOST)
            if now.tobytes() == bound.storage.tobytes():
                continue
            name = self.form.arguments[place]
            if place not in written:
                raise Failure(f'{name} was written')
            around = np.ones(now.shape, bool)
            if bound.tensor.tiles:
                around[:] = False
            elif 0 not in bound.tensor.shape:
                bound.view(around)[...] = False
            if now[around].tobytes() != bound.storage[around].tobytes():
                raise Failure(f'memory around {name} was written')

    def check_kept(self, code: int):
        """A refusal keeps no memory; only AddressSanitizer tells how much there is."""
        count = sanitizer('__sanitizer_get_current_allocated_bytes')
        if not count:
            return
        self.again(code, REFUSALS)
        if min(self.again(code, REFUSALS) for _ in range(3)) >= REFUSALS * 8:
            raise Failure('its refusal keeps memory')

    def again(self, code: int, times: int) -> int:
        count = sanitizer('__sanitizer_get_current_allocated_bytes')
        before = count()
        for _ in range(times):
            if self.device.plan(self.name, self.call.values)[0] != code:
                raise Failure('is refused once and not again')
            self.device.message()
        return count() - before


def function(row, form):
    return lambda device, rng, tell: attempt(device, row, form, rng, tell)


@contextlib.contextmanager
def watched(device: GuardedDevice):
    """What is tried here may be refused, with a message; nothing is written beside the device's memory, all of which is freed."""
    device.damaged = False
    try:
        yield
    except RuntimeError as refusal:
        if str(refusal).endswith('None'):
            raise Failure(f'{refusal}') from None
    finally:
        device.free_all()
    if device.damaged:
        raise Failure('memory beside an allocation was written')


def attempt(device: GuardedDevice, row, form, rng, tell):
    """A changed call, and now and then a valid one after it."""
    r = Random(rng)
    valid = row.make(r, form)
    case, words, same = Changes(r).case(valid, device.signatures[row.name])
    tell(f'{describe(row.name, case, None)}\n    {words}')
    written = {place for place, name in enumerate(form.arguments) if name in form.outs} | set(valid.wants)
    with watched(device):  # a tensor may be refused, too
        tried = Attempt(device, row, form, case, rng)
        tell(f'{describe(row.name, case, tried.call)}\n    {words}')
        try:
            tried.run(written, same)
        finally:
            tried.call.destroy()
    if r.chance(VALID_AFTER):
        tell(f'aclnn{row.name}: a valid call after {words}')
        cases.check(device, row.name, valid, rng)


class Progress:
    """Where a child is, what it does there, and how many calls have failed, where its parent can read it."""

    def __init__(self):
        self._memory = mmap.mmap(-1, 1 << 16)
        self._numbers = np.frombuffer(self._memory, np.int64, 3)
        self._numbers[:] = 0

    def tell(self, position: int, words: str):
        text = words.encode(errors='replace')[:(1 << 16) - 24]
        self._numbers[0], self._numbers[2] = position, len(text)
        self._memory[24:24 + len(text)] = text

    def fail(self, number: int, what: str):
        self._numbers[1] += 1
        text = self._memory[24:24 + int(self._numbers[2])].decode(errors='replace')
        print(f'{text}\n    case {number}: {what}', flush=True)

    @property
    def position(self) -> int:
        return int(self._numbers[0])

    @property
    def failed(self) -> int:
        return int(self._numbers[1])


def peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10


def one(device, body, rng, tell) -> str | None:
    before = peak()
    signal.alarm(SECONDS)
    try:
        body(device, rng, tell)
        if peak() - before > MOST_MEMORY:
            return f'takes {peak() - before} bytes'
    except Failure as failure:
        return str(failure)
    except Exception as fault:  # so that a mistake in one row does not hide what others find
        return f'the table itself: {type(fault).__name__}: {fault}'
    finally:
        signal.alarm(0)
    return None


def run_child(work: list, first: int, progress: Progress, open_device, generator):
    """Each body is called as body(device, generator of random numbers, tell)."""
    warnings.simplefilter('ignore')  # of numpy: numbers that do not fit are what this is about
    device = open_device(GuardedDevice)
    for position in range(first, len(work)):
        name, number, body = work[position]
        failure = one(device, body, generator(name, number), lambda words, at=position: progress.tell(at, words))
        if failure:
            progress.fail(number, failure)
    device.close()


def ending(status: int) -> str:
    if not os.WIFSIGNALED(status):
        return f'ends the process with {os.WEXITSTATUS(status)}'
    number = os.WTERMSIG(status)
    return 'hangs' if number == signal.SIGALRM else f'ends the process with {signal.Signals(number).name}'


def check(work: list, open_device, generator) -> int:
    """How many of these calls, of (name, number, body), were not as they should be."""
    progress, first = Progress(), 0
    while first < len(work):
        progress.tell(first, 'the beginning')
        child = os.fork()
        if child == 0:
            run_child(work, first, progress, open_device, generator)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        if status == 0:
            break
        progress.fail(work[progress.position][1], ending(status))
        first = progress.position + 1
    return progress.failed
