"""Results that lie where operands or other results lie: as if every operand had been read before anything was written, and
each result had memory of its own.

Each output of each function is put on each operand in each of PLACINGS, each operand of a function in place on
what it writes, and each output on each other output.
"""
from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

import binding
from cases import Call, Case, Failure, Row, Want, as_told, compare, describe
from forms import Form
from values import DTYPES, Bound, Layout, Random, Tensor, from_memory, packed, to_memory

PLACINGS = ('same', 'above', 'below', 'transposed')
MARGIN = 128  # bytes around the two that overlap
LARGEST = 1 << 16  # bytes
MOST_PAIRS = 16  # of a result and an operand, of a case


def size_of(tensor: Tensor) -> int:
    return np.dtype(DTYPES[tensor.dtype].numpy).itemsize


def bytes_of(tensor: Tensor) -> int:
    return size_of(tensor) * math.prod(tensor.shape)


def transposed(shape) -> list[int]:
    return packed(shape[::-1])[::-1]


class Member(Bound):
    """A tensor somewhere in a block that others share."""

    def __init__(self, device: binding.Device, block: Block, tensor: Tensor, strides: list[int], offset: int):
        self.device, self.tensor, self.block = device, tensor, block
        size = size_of(tensor)
        self.layout = Layout(strides, offset // size, (block.memory.nbytes - offset % size) // size)
        self.address = block.address + offset % size
        self.start = offset
        self.handle = self.create()

    def place(self, memory: np.ndarray) -> np.ndarray:
        """The elements in a copy of the block."""
        size = size_of(self.tensor)
        elements = memory[self.start:self.start + (memory.nbytes - self.start) // size * size]
        elements = elements.view(DTYPES[self.tensor.dtype].numpy)
        return np.lib.stride_tricks.as_strided(elements, self.tensor.shape, [s * size for s in self.layout.strides])

    def read(self) -> tuple[np.ndarray, bool]:
        now = self.block.read()
        values = self.place(now).copy()
        self.place(self.block.memory)[...] = values
        return from_memory(values, self.tensor.dtype), now.tobytes() == self.block.memory.tobytes()

    def destroy(self, with_handle: bool = True):
        if with_handle:
            self.device.destroy('Tensor', self.handle)


class Block:
    """Memory in which two tensors overlap."""

    def __init__(self, device: binding.Device, rng, size: int):
        self.device = device
        self.memory = rng.integers(0, 2, size, np.uint8)  # which every type may hold
        self.address = device.malloc(size)

    def write(self):
        self.device.copy(self.address, self.memory.ctypes.data, self.memory.nbytes, binding.HOST_TO_DEVICE)

    def read(self) -> np.ndarray:
        now = np.empty_like(self.memory)
        self.device.copy(now.ctypes.data, self.address, now.nbytes, binding.DEVICE_TO_HOST)
        return now


class OverlappingCall(Call):
    """A call in which the tensors at two places share memory."""

    def __init__(self, device, name, case, rng, first, second, placing: str):
        self.first, self.second, self.placing = first, second, placing
        self.block, self.shared = None, {}
        self.seen: dict[int, int] = {}
        tensors = [tensor_at(case, place) for place in (first, second)]
        self.sizes = [bytes_of(t) for t in tensors]
        self.shift = max(size_of(t) for t in tensors) * int(rng.integers(1, 4))
        self.block = Block(device, rng, MARGIN * 2 + max(self.sizes) + self.shift)
        super().__init__(device, name, case, rng)
        self.block.write()

    def bind(self, tensor: Tensor, place: int) -> Bound:
        item = self.seen.get(place, 0)
        self.seen[place] = item + 1
        if (place, item) not in (self.first, self.second):
            return super().bind(tensor, place)
        strides, offset = packed(tensor.shape), MARGIN
        if (place, item) == self.first:
            offset += self.shift if self.placing == 'below' else 0
        else:
            offset += self.shift if self.placing == 'above' else 0
            strides = transposed(tensor.shape) if self.placing == 'transposed' else strides
        member = self.shared[place, item] = Member(self.device, self.block, tensor, strides, offset)
        if tensor.data is not None:
            member.place(self.block.memory)[...] = to_memory(tensor.data, tensor.dtype)
        return member

    def destroy(self):
        super().destroy()
        self.device.free(self.block.address)


def tensor_at(case: Case, where) -> Tensor:
    value = case.arguments[where[0]]
    return value[where[1]] if isinstance(value, list) else value


def places(case: Case):
    """The places of all tensors that have elements."""
    for place, value in enumerate(case.arguments):
        items = [value] if isinstance(value, Tensor) else value if isinstance(value, list) else []
        for item, tensor in enumerate(items):
            if isinstance(tensor, Tensor) and 0 < bytes_of(tensor) <= LARGEST and not tensor.tiles:
                yield place, item


def want_at(case: Case, where) -> Want:
    want = case.wants[where[0]]
    want = want[where[1]] if isinstance(want, list) else want
    return want if isinstance(want, Want) else Want(np.asarray(want))


def run(device, name: str, call: Call) -> tuple[int, str | None]:
    """Both stages: the code of the first that fails, and the message."""
    code, size, executor = device.plan(name, call.values)
    if code == binding.OK:
        code = device.try_execute(name, size, executor)
    return code, device.message()


def check_result(device, name: str, case: Case, call: OverlappingCall, where):
    got, intact = call.shared[where].read()
    argument = device.signatures[name][where[0]].name
    try:
        want = want_at(case, where)
        compare(as_told(device, call.shared[where], got, want), want, tensor_at(case, where).dtype)
    except Failure as failure:
        raise Failure(f'{argument}: {failure}') from None
    if not intact:
        raise Failure(f'{argument}: memory around the tensor was written')


def overlapped(device, name, case, rng, first, second, placing: str, body):
    call = OverlappingCall(device, name, case, rng, first, second, placing)
    try:
        body(call)
    except (Failure, RuntimeError, AssertionError) as failure:
        names = [device.signatures[name][place[0]].name for place in (first, second)]
        raise Failure(f'{describe(name, case, call)}\n    {names[1]} on {names[0]}, {placing}: {failure}') from None
    finally:
        call.destroy()


def check_out_on_operand(device, name, case, rng, operand, out, placing: str):
    """An output that is only written: the table knows what must be in it."""
    def body(call):
        code, message = run(device, name, call)
        if code != binding.OK:
            raise Failure(f'gives {code}: {message}')
        check_result(device, name, case, call, out)
    overlapped(device, name, case, rng, operand, out, placing, body)


def check_in_place(device, name, case, rng, written, operand, placing: str):
    """What is written in place is read as well, so both hold other values than the table's: those of a call with the
    same values in memory of their own are right."""
    def body(call):
        values = {where: from_memory(m.place(call.block.memory).copy(), m.tensor.dtype)
                  for where, m in call.shared.items()}
        if written_before(case, call, values, written):
            return
        apart = with_values(case, values)
        other = Call(device, name, apart, rng, plain=True)
        try:
            wanted, _ = run(device, name, other)
            expected = other.bound(written[0])[written[1]].read()[0] if wanted == binding.OK else None
        finally:
            other.destroy()
        code, message = run(device, name, call)
        if code != wanted:
            raise Failure(f'gives {code}, and {wanted} with memory of their own: {message}')
        if code == binding.OK:
            got, intact = call.shared[written].read()
            compare(got, Want(expected), tensor_at(apart, written).dtype)
            if not intact:
                raise Failure('memory around the tensor was written')
    overlapped(device, name, case, rng, written, operand, placing, body)


def written_before(case: Case, call, values, written) -> bool:
    """Whether the overlap makes indices of what were none."""
    return any(tensor_at(case, where).dtype != tensor_at(case, written).dtype for where in values)


def with_values(case: Case, values) -> Case:
    arguments = list(case.arguments)
    for (place, item), value in values.items():
        old = tensor_at(case, (place, item))
        new = replace(old, data=value)
        if isinstance(arguments[place], list):
            arguments[place] = [new if i == item else t for i, t in enumerate(arguments[place])]
        else:
            arguments[place] = new
    return Case(arguments, case.wants)


def own_elements(tensor: Tensor, count: int, offset: int, other: tuple[int, int]) -> np.ndarray:
    """Which of a tensor's elements, from a byte on, share none with the bytes of another one."""
    size = bytes_of(tensor)
    begin = offset + np.arange(count) * size // count
    end = offset + -(-np.arange(1, count + 1) * size // count)
    return (end <= other[0]) | (begin >= other[1])


def check_outs(device, name, case, rng, first, second):
    """Two results in one place: what they do not share is as with memory of their own."""
    def body(call):
        values = {where: from_memory(m.place(call.block.memory).copy(), m.tensor.dtype)
                  for where, m in call.shared.items() if m.tensor.data is not None}
        apart = with_values(case, values)
        other = Call(device, name, apart, rng, plain=True)
        try:
            wanted, _ = run(device, name, other)
            expected = [np.ravel(other.bound(where[0])[where[1]].read()[0]) for where in (first, second)]
        finally:
            other.destroy()
        code, message = run(device, name, call)
        if code != wanted:
            raise Failure(f'gives {code}, and {wanted} with memory of their own: {message}')
        if code != binding.OK or any(want_at(case, where).told for where in (first, second) if where[0] in case.wants):
            return
        spans = [(MARGIN, MARGIN + call.sizes[0]), (MARGIN + call.shift, MARGIN + call.shift + call.sizes[1])]
        for i, where in enumerate((first, second)):
            got, tensor = np.ravel(call.shared[where].read()[0]), tensor_at(case, where)
            own = own_elements(tensor, got.size, spans[i][0], spans[1 - i])
            compare(got[own], Want(expected[i][own]), tensor.dtype)
    overlapped(device, name, case, rng, first, second, 'above', body)


def check_case(device, name: str, form: Form, case: Case, rng_for):
    """`rng_for` gives the same choices each time."""
    everywhere = list(places(case))
    written = [w for w in everywhere if form.arguments[w[0]] in form.outs]
    pairs = [(out, operand) for out in written if out[0] in case.wants for operand in everywhere if operand not in written]
    if len(pairs) > MOST_PAIRS:  # lists
        pairs = [pairs[i] for i in sorted(rng_for().choice(len(pairs), MOST_PAIRS, replace=False))]
    for out, operand in pairs:
        in_place = tensor_at(case, out).data is not None
        for placing in PLACINGS:
            if placing == 'transposed' and want_at(case, out).told:
                continue  # refused wherever it lies
            if in_place:
                check_in_place(device, name, case, rng_for(), out, operand, placing)
            else:
                check_out_on_operand(device, name, case, rng_for(), operand, out, placing)
    for first, second in list(zip(written, written[1:]))[:MOST_PAIRS]:
        if bytes_of(tensor_at(case, first)) > 32:
            check_outs(device, name, case, rng_for(), first, second)


def check(device, row: Row, form: Form, generator, times: int) -> list[str]:
    failures = []
    for number in range(times):
        try:
            case = row.make(Random(generator(number), empty=0), form)
            check_case(device, row.name, form, case, lambda number=number: generator(number + times))
        except Failure as failure:
            failures.append(f'case {number}: {failure}')
        except Exception as fault:  # so that a mistake in one row does not hide what others find
            failures.append(f'case {number}: the table itself: {type(fault).__name__}: {fault}')
    return failures
