"""Element types, tensors with their places in memory, and what a random case is made of."""
from __future__ import annotations

import ctypes
import math
from dataclasses import dataclass

import numpy as np

import binding

ND, NCHW, NHWC, NCDHW, NDHWC, NCL, NZ = 2, 0, 1, 30, 27, 47, 29


@dataclass(frozen=True)
class DType:
    name: str
    code: int  # aclDataType
    numpy: type  # how its elements lie in memory
    eps: float = 0  # what a result of this type may be off, relative to its size

    @property
    def is_float(self) -> bool:
        return self.eps > 0 and self.name[0] != 'c'

    @property
    def logical(self):
        """The numpy type with the values: BFLOAT16 and COMPLEX32 have none of their own."""
        return {'bf16': np.float32, 'c32': np.complex64}.get(self.name, self.numpy)


DTYPES = {d.name: d for d in (
    DType('f32', 0, np.float32, 4e-6), DType('f16', 1, np.float16, 1.2e-3), DType('bf16', 27, np.uint16, 9e-3),
    DType('f64', 11, np.float64, 1e-11), DType('i8', 2, np.int8), DType('i16', 6, np.int16),
    DType('i32', 3, np.int32), DType('i64', 9, np.int64), DType('u8', 4, np.uint8),
    DType('u16', 7, np.uint16), DType('u32', 8, np.uint32), DType('u64', 10, np.uint64),
    DType('bool', 12, np.bool_), DType('c32', 33, np.uint32, 1.2e-3), DType('c64', 16, np.complex64, 4e-6),
    DType('c128', 17, np.complex128, 1e-11))}


def to_memory(array: np.ndarray, dtype: str) -> np.ndarray:
    if dtype == 'c32':
        parts = np.stack([array.real, np.zeros_like(array) if array.dtype.kind != 'c' else array.imag], -1)
        return parts.astype(np.float16).view(np.uint32)[..., 0]
    if dtype != 'bf16':
        return array.astype(DTYPES[dtype].numpy)
    bits = np.atleast_1d(array.astype(np.float32)).view(np.uint32).astype(np.int64)
    rounded = ((bits + 0x7fff + (bits >> 16 & 1)) >> 16).astype(np.uint16)
    return np.where(np.isnan(array), np.uint16(0x7fc0), rounded.reshape(array.shape))


def from_memory(array: np.ndarray, dtype: str) -> np.ndarray:
    if dtype == 'c32':
        parts = np.ascontiguousarray(array)[..., None].view(np.float16).astype(np.float32)
        return (parts[..., 0] + 1j * parts[..., 1]).reshape(array.shape).astype(np.complex64)
    if dtype != 'bf16':
        return array
    wide = np.left_shift(np.atleast_1d(array).astype(np.uint32), 16, dtype=np.uint32)
    return wide.view(np.float32).reshape(array.shape)


def exact(array: np.ndarray, dtype: str) -> np.ndarray:
    """The values once they have been stored as dtype."""
    with np.errstate(all='ignore'):
        return from_memory(to_memory(np.asarray(array), dtype), dtype)


@dataclass
class Tensor:
    """A tensor argument. `data` are its values before the call, or None where only the shape counts."""
    dtype: str
    shape: tuple[int, ...]
    data: np.ndarray | None = None
    format: int = ND
    tiles: int = 0  # columns of a tile, for the matrices of NZ
    turned: bool = False  # they are the transposed ones of those that were tiled
    dense: bool = False  # it has no gaps: its elements hold several numbers each

    @property
    def base(self) -> tuple[int, ...]:
        """The shape of what was tiled."""
        return (*self.shape[:-2], self.shape[-1], self.shape[-2]) if self.turned else self.shape


@dataclass
class Scalar:
    value: float
    dtype: str


def given(array, dtype: str, format: int = ND) -> Tensor:
    array = exact(array, dtype)
    return Tensor(dtype, array.shape, array, format)


@dataclass
class Layout:
    strides: list[int]
    offset: int
    length: int  # of the storage, in elements


def packed(shape) -> list[int]:
    strides, step = [], 1
    for size in reversed(shape):
        strides.insert(0, step)
        step *= max(size, 1)
    return strides


def tiled_shape(shape, width: int) -> tuple[int, ...]:
    return (*shape[:-2], -(-shape[-1] // width), -(-shape[-2] // 16), 16, width)


def to_tiles(matrix: np.ndarray, width: int, edge: np.ndarray) -> np.ndarray:
    """[.., m, n] as [.., n / width, m / 16, 16, width] over what the edges hold, which has that shape."""
    *batch, m, n = matrix.shape
    *_, columns, rows, _, _ = edge.shape
    whole = np.moveaxis(edge, -4, -2).reshape(*batch, rows * 16, columns * width).copy()
    whole[..., :m, :n] = matrix
    return np.ascontiguousarray(np.moveaxis(whole.reshape(*batch, rows, 16, columns, width), -2, -4))


def from_tiles(tiles: np.ndarray, shape) -> np.ndarray:
    *batch, columns, rows, _, width = tiles.shape
    whole = np.moveaxis(tiles, -4, -2).reshape(*batch, rows * 16, columns * width)
    return np.ascontiguousarray(whole[..., :shape[-2], :shape[-1]])


LAYOUTS = ('packed', 'packed', 'offset', 'transposed', 'step', 'repeated')


def choose_layout(rng, tensor: Tensor, written: bool) -> Layout:
    shape = tensor.shape
    kind = LAYOUTS[int(rng.integers(len(LAYOUTS)))]
    strides, offset, tail = packed(shape), 0, 0
    if kind in ('offset', 'step'):
        offset, tail = int(rng.integers(1, 9)), int(rng.integers(0, 4))
    if kind == 'transposed':
        order = rng.permutation(len(shape))
        for axis, stride in zip(order, packed([shape[a] for a in order])):
            strides[axis] = stride
    if kind == 'step':
        strides = [s * 3 for s in packed([n + 1 for n in shape])]
    if kind == 'repeated' and not written and 0 not in shape:
        strides = repeat_strides(tensor.data)
    last = sum((n - 1) * s for n, s in zip(shape, strides)) if 0 not in shape else -1
    return Layout(strides, offset, offset + last + 1 + tail)


def repeat_strides(data: np.ndarray) -> list[int]:
    """Strides of 0 along the axes on which the values do not change."""
    still = [n > 1 and bool(np.all(data == data.take([0], axis))) for axis, n in enumerate(data.shape)]
    return [0 if s else p for s, p in zip(still, packed([1 if s else n for s, n in zip(still, data.shape)]))]


RUBBISH = np.random.default_rng(7).integers(0, 100, 1 << 16, np.uint8)  # which no type takes for a huge number


def rubbish(size: int, dtype: str) -> np.ndarray:
    """Bytes that every element of the type may hold."""
    some = RUBBISH[:size] if size <= RUBBISH.size else np.resize(RUBBISH, size)
    return some & 1 if dtype == 'bool' else some.copy()


class Bound:
    """A tensor on the device: storage filled with rubbish, and the values in their places."""

    def __init__(self, device: binding.Device, tensor: Tensor, layout: Layout):
        if tensor.tiles:
            strides = packed(tensor.base)
            strides[-2:] = strides[-2:][::-1] if tensor.turned else strides[-2:]
            layout = Layout(strides, 0, math.prod(tiled_shape(tensor.base, tensor.tiles)))
        self.device, self.tensor, self.layout = device, tensor, layout
        memory = DTYPES[tensor.dtype].numpy
        size = np.dtype(memory).itemsize
        self.storage = rubbish(layout.length * size, tensor.dtype).view(memory)
        if tensor.data is not None and tensor.tiles:
            data = to_memory(tensor.data, tensor.dtype)
            data = np.swapaxes(data, -1, -2) if tensor.turned else data
            edge = self.storage.reshape(tiled_shape(tensor.base, tensor.tiles))
            self.storage = to_tiles(data, tensor.tiles, edge).reshape(-1)
        elif tensor.data is not None and tensor.data.size:
            self.view(self.storage)[...] = to_memory(tensor.data, tensor.dtype)
        self.address = device.malloc(self.storage.nbytes)
        device.copy(self.address, self.storage.ctypes.data, self.storage.nbytes, binding.HOST_TO_DEVICE)
        self.handle = self.create()

    def view(self, storage: np.ndarray) -> np.ndarray:
        """The elements, which are those of the storage where they lie plainly."""
        size = storage.itemsize
        return np.lib.stride_tricks.as_strided(storage[self.layout.offset:], self.tensor.shape,
                                               [s * size for s in self.layout.strides])

    def create(self) -> int:
        rank = len(self.tensor.shape)
        ints = ctypes.c_int64 * rank
        format, storage = self.tensor.format, (self.layout.length,)
        if self.tensor.tiles:
            format, storage = NZ, tiled_shape(self.tensor.base, self.tensor.tiles)
        return self.device.create(
            'Tensor', ints(*self.tensor.shape), ctypes.c_uint64(rank), DTYPES[self.tensor.dtype].code,
            ints(*self.layout.strides), ctypes.c_int64(self.layout.offset), format,
            (ctypes.c_int64 * len(storage))(*storage), ctypes.c_uint64(len(storage)), ctypes.c_void_p(self.address))

    def read(self) -> tuple[np.ndarray, bool]:
        """The values now, and whether the storage around them is as it was."""
        now = np.empty_like(self.storage)
        self.device.copy(now.ctypes.data, self.address, now.nbytes, binding.DEVICE_TO_HOST)
        if 0 in self.tensor.shape:
            return np.zeros(self.tensor.shape, DTYPES[self.tensor.dtype].logical), True
        if self.tensor.tiles:
            return self.read_tiles(now)
        values = self.view(now).copy()
        self.view(self.storage)[...] = values
        intact = now.tobytes() == self.storage.tobytes()
        return from_memory(values, self.tensor.dtype), intact

    def read_tiles(self, now: np.ndarray) -> tuple[np.ndarray, bool]:
        """The same of tiles; at the edges of those that were written are zeros."""
        tensor, before = self.tensor, self.storage
        tiles = now.reshape(tiled_shape(tensor.base, tensor.tiles))
        values = from_tiles(tiles, tensor.base)
        if tensor.data is None:
            before = to_tiles(values, tensor.tiles, np.zeros_like(tiles))
        values = np.swapaxes(values, -1, -2) if tensor.turned else values
        return from_memory(values, tensor.dtype), now.tobytes() == before.tobytes()

    def destroy(self, with_handle: bool = True):
        if with_handle:
            self.device.destroy('Tensor', self.handle)
        self.device.free(self.address)


@dataclass
class Random:
    """Draws the parts of a case."""
    rng: np.random.Generator
    empty: float = 0.05  # how often a shape may have a dimension of 0

    def int(self, low: int, high: int) -> int:
        return int(self.rng.integers(low, high + 1))

    def width(self, low: int, high: int) -> int:
        """Channels or features."""
        return self.int(low, high)

    def size(self, low: int, high: int) -> int:
        """Of a dimension."""
        return self.int(low, high)

    def real(self, low: float, high: float) -> float:
        return float(np.float32(self.rng.uniform(low, high)))

    def chance(self, p: float = 0.5) -> bool:
        return bool(self.rng.random() < p)

    def pick(self, items):
        return items[int(self.rng.integers(len(items)))]

    def shape(self, low: int = 0, high: int = 5, size: int = 6) -> tuple[int, ...]:
        shape = self.unusual() if low <= 1 and high == 5 and self.chance(0.1) else list(self.full(low, high, size))
        if shape and self.chance(self.empty):
            shape[self.int(0, len(shape) - 1)] = 0
        return tuple(shape)

    def unusual(self) -> list[int]:
        """As many dimensions as there may be, or so many elements that loops are split and unrolled, in long rows or many."""
        if self.chance():
            return [self.int(1, 3) for _ in range(self.int(6, 8))]
        return [self.int(1, 3), self.int(1000, 9000)] if self.chance() else [self.int(200, 1200), self.int(2, 9)]

    def full(self, low: int = 1, high: int = 5, size: int = 6) -> tuple[int, ...]:
        """A shape without a 0."""
        return tuple(self.int(1, size) for _ in range(self.int(low, high)))

    def part(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """A shape that broadcasts onto this one."""
        short = shape[self.int(0, len(shape)):] if self.chance(0.3) else shape
        return tuple(1 if self.chance(0.2) else n for n in short)

    def dim(self, rank: int) -> int:
        return self.int(-rank, rank - 1) if rank else self.int(-1, 0)

    def dims(self, rank: int) -> list[int]:
        """Some dimensions, from either end, none twice."""
        chosen = self.rng.permutation(rank)[:self.int(0, rank)]
        return [int(d) - (rank if self.chance(0.3) else 0) for d in chosen]

    def array(self, dtype: str, shape, low: float = -4, high: float = 4) -> np.ndarray:
        kind = DTYPES[dtype]
        if dtype == 'bool':
            values = self.rng.integers(0, 2, shape)
        elif dtype[0] == 'c':
            values = self.rng.uniform(low, high, shape) + 1j * self.rng.uniform(low, high, shape)
        elif kind.is_float:
            values = self.rng.uniform(low, high, shape)
        else:
            low = max(low, 0) if dtype[0] == 'u' else low
            values = self.rng.integers(math.ceil(low), math.floor(high) + 1, shape)
        values = np.asarray(values)
        if values.ndim and values.size and self.chance(0.15):  # so that a stride of 0 can be chosen
            axis = self.int(0, values.ndim - 1)
            values = np.broadcast_to(values.take([0], axis), shape)
        return exact(values, dtype)

    def tensor(self, dtype: str, shape, low: float = -4, high: float = 4, format: int = ND) -> Tensor:
        return given(self.array(dtype, shape, low, high), dtype, format)
