"""Random changes to the arguments of a call: other types, shapes, places, numbers, words, lists and contents."""
from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from cases import Case
from values import DTYPES, ND, DType, Layout, Random, Scalar, Tensor, exact, packed

DTYPES.setdefault('e5m2', DType('e5m2', 35, np.uint8))
DTYPES.setdefault('undefined', DType('undefined', 28, np.uint8))
DTYPES.setdefault('type 99', DType('type 99', 99, np.uint8))

INTEGERS = (-1, 0, 1, 2, 3, 4, 8, 97, 1 << 16, 2**31 - 1, 2**31, -2**31, 1 << 32, 1 << 40, 2**63 - 1, -2**63)
REALS = (0.0, -0.0, 1.0, -1.0, 0.5, 1e-45, 3e38, -3e38, 1e308, float('nan'), float('inf'), -float('inf'))
SIZES = (0, 0, 1, 1, 2, 3, 4, 8, 17, 97, 260)
MOST_ELEMENTS = 1 << 15  # so that a call is over in moments, whatever it does with its tensors
WORDS = (b'', b'none', b'mean', b'BSH', b'BNSD', b'TND', b'BSND', b'%s%n', b'{}', b'x' * 9000, b'\xff\xfe')
MOST_CHANGES = 3
BEYOND = 1 << 9  # elements that do not lie in the margins of the memory either


@dataclass
class Placed(Tensor):
    """A tensor with a place of its own choice; where it is `claimed`, its memory ends before it."""
    layout: Layout | None = None
    claimed: bool = False


def shaped(tensor: Tensor, shape) -> Tensor:
    """The same with this shape; its values are repeated as often as it takes."""
    data = tensor.data
    if data is not None:
        data = np.zeros([0], data.dtype) if 0 in shape else np.resize(data, shape) if data.size else np.zeros(shape, data.dtype)
    return Tensor(tensor.dtype, tuple(shape), data, tensor.format, tensor.tiles if len(shape) >= 2 and 0 not in shape else 0)


def typed(tensor: Tensor, dtype: str) -> Tensor:
    return replace(tensor, dtype=dtype, data=None if tensor.data is None else exact(tensor.data, dtype))


def tensors_in(value) -> list[Tensor]:
    return [t for t in (value if isinstance(value, list) else [value]) if isinstance(t, Tensor)]


def in_each(value, change):
    """The argument with this done to each of its tensors."""
    if isinstance(value, list):
        return [change(t) if isinstance(t, Tensor) else t for t in value]
    return change(value) if isinstance(value, Tensor) else value


@dataclass
class Changes:
    """Draws changes; each says in a few words what it was."""
    r: Random

    def case(self, case: Case, signature) -> tuple[Case, str, bool]:
        """The changed case, what was done, and whether its results are still those that the case expects."""
        arguments, words, same = list(case.arguments), [], True
        for _ in range(self.r.int(1, MOST_CHANGES)):
            if self.r.chance(0.25):
                words.append(self.everywhere(arguments))
                same = False
                continue
            place = self.r.int(0, len(arguments) - 1)
            arguments[place], what = self.argument(signature[place], arguments[place])
            words.append(f'{signature[place].name}: {what}')
            same &= what == 'as it was'
        return Case(arguments, case.wants if same else {}), '; '.join(words), same

    def everywhere(self, arguments: list) -> str:
        """One size or one type becomes another in every tensor, and in the numbers that say it."""
        tensors = [t for a in arguments for t in tensors_in(a)]
        if not tensors:
            return 'no tensors'
        if self.r.chance(0.4):
            old, new = self.r.pick(tensors).dtype, self.r.pick(list(DTYPES))
            change = lambda t: typed(t, new) if t.dtype == old else t
            arguments[:] = [new if a == old else in_each(a, change) for a in arguments]
            return f'every {old} is {new}'
        sizes = [n for t in tensors for n in t.shape]
        old, new = self.r.pick(sizes or [1]), self.r.pick(SIZES)
        numbers = self.r.chance()
        change = lambda t: self.bounded(t, [new if n == old else n for n in t.shape])
        for place, value in enumerate(arguments):
            if numbers and value is not True and value is not False and isinstance(value, int) and value == old:
                arguments[place] = new
            elif numbers and isinstance(value, list) and value and not tensors_in(value):
                arguments[place] = [new if v == old and type(v) is int else v for v in value]
            else:
                arguments[place] = in_each(value, change)
        return f'every size {old} is {new}'

    def bounded(self, tensor: Tensor, shape) -> Tensor:
        return shaped(tensor, shape) if np.prod(shape, dtype=np.float64) <= MOST_ELEMENTS else tensor

    def argument(self, argument, value):
        if argument.handle and value is not None and self.r.chance(0.1):
            return None, 'null'
        by_type = {'aclTensor': self.tensor, 'aclScalar': self.scalar, 'aclTensorList': self.tensors, 'aclScalarList': self.scalars,
                   'aclIntArray': self.integers, 'aclFloatArray': self.reals, 'aclBoolArray': self.truths, 'aclDataType': self.type_name,
                   'char': self.word, 'bool': self.truth, 'float': self.real, 'double': self.real}
        return by_type.get(argument.type, self.integer)(value)

    def tensor(self, value: Tensor | None):
        if value is None:
            value = self.r.tensor(self.r.pick(['f32', 'f16', 'i32', 'i64', 'bool']), self.r.shape(0, 4, 4))
            return value, f'{value.dtype}{list(value.shape)} for null'
        done = self.r.pick([self.other_type, self.other_shape, self.other_shape, self.other_shape, self.other_place, self.other_place,
                            self.other_values, self.other_values, self.other_format])(value)
        return done if done else (value, 'as it was')

    def other_type(self, tensor: Tensor):
        dtype = self.r.pick(list(DTYPES))
        return typed(tensor, dtype), f'of {dtype}'

    def other_shape(self, tensor: Tensor):
        shape = list(tensor.shape)
        place = self.r.int(0, len(shape)) if shape else 0
        how = self.r.pick(['more', 'less', 'size', 'size', 'one more', 'turned', 'far'])
        if how == 'more' or not shape:
            shape.insert(place, self.r.pick(SIZES))
        elif how == 'less':
            shape.pop(place - 1)
        elif how == 'turned':
            shape = [shape[a] for a in self.r.rng.permutation(len(shape))]
        elif how == 'far':  # without elements, so that its sizes may be anything
            shape = [self.r.pick([0, 1 << 20, 1 << 31, 1 << 40]) if self.r.chance() else n for n in shape] + [0]
            shape = shape[-8:]
            data = None if tensor.data is None else np.zeros([0], tensor.data.dtype)
            return Tensor(tensor.dtype, tuple(shape), data, tensor.format), f'of shape {shape}'
        else:
            shape[place - 1] = shape[place - 1] + 1 if how == 'one more' else self.r.pick(SIZES)
        changed = self.bounded(tensor, shape[:9])
        return changed, f'of shape {list(changed.shape)}'

    def other_place(self, tensor: Tensor):
        """Elements that lie on each other, or a view that goes beyond its memory."""
        if tensor.tiles or not tensor.shape or 0 in tensor.shape:
            return None
        strides = [self.r.pick([0, 0, 1, 1, 2, 3, 7]) if self.r.chance(0.7) else s for s in packed(tensor.shape)]
        offset, claimed = self.r.int(0, 5), self.r.chance(0.2)
        if claimed and self.r.chance():
            offset = self.r.pick([600, 1 << 20, 1 << 31, 1 << 40, 2**62, 2**63 - 1, -1])
        elif claimed:
            strides[self.r.int(0, len(strides) - 1)] = self.r.pick([1 << 10, 1 << 31, 1 << 40, 2**62, 2**63 - 1, -1, -7])
        end = offset + 1 + sum((n - 1) * s for n, s in zip(tensor.shape, strides))
        claimed = claimed and not 0 <= end - int(np.prod(tensor.shape)) <= BEYOND
        if not claimed and (min(offset, *strides) < 0 or max(strides) > 1 << 10 or end > 16 * MOST_ELEMENTS):
            return None
        placed = Placed(tensor.dtype, tensor.shape, tensor.data, tensor.format, layout=Layout(strides, offset, end), claimed=claimed)
        return placed, f'strides {strides}+{offset}' + (' of less memory' if claimed else '')

    def other_values(self, tensor: Tensor):
        if tensor.data is None or not tensor.data.size:
            return None
        data = tensor.data.copy()
        numbers = REALS if data.dtype.kind in 'fc' else (*INTEGERS, *tensor.shape, data.size, data.size + 1, -data.size)
        chosen = [self.r.int(0, data.size - 1) for _ in range(self.r.int(1, 3))]
        values = [self.r.pick(numbers) for _ in chosen]
        if self.r.chance(0.1):
            chosen = range(data.size)
            values = [values[0]] * data.size
        with np.errstate(all='ignore'):
            data.reshape(-1)[list(chosen)] = np.array([v % 256 if data.dtype.kind in 'ub' else v for v in values]).astype(data.dtype)
        return replace(tensor, data=exact(data, tensor.dtype)), f'holds {values[:3]} at {list(chosen)[:3]}'

    def other_format(self, tensor: Tensor):
        if len(tensor.shape) >= 2 and 0 not in tensor.shape and self.r.chance(0.3):
            return Tensor(tensor.dtype, tensor.shape, tensor.data, tiles=self.r.pick([16, 32])), 'in tiles'
        format = self.r.pick([ND, 0, 1, 3, 4, 27, 30, 47, 99, -1])
        return replace(tensor, format=format), f'of format {format}'

    def tensors(self, value):
        value = list(value or [])
        how = self.r.pick(['none', 'more', 'less', 'one', 'one', 'one', 'many'])
        if how == 'none' or not value:
            return ([], 'empty') if value else ([self.tensor(None)[0]], 'one tensor')
        place = self.r.int(0, len(value) - 1)
        if how == 'less':
            return value[:place] + value[place + 1:], f'without [{place}]'
        if how in ('more', 'many'):
            return value + [value[place]] * (1 if how == 'more' else 70), f'with more of [{place}]'
        value[place], what = self.tensor(value[place])
        return value, what if what == 'as it was' else f'[{place}] {what}'

    def scalar(self, value: Scalar | None):
        if value is not None and self.r.chance(0.4):
            dtype = self.r.pick(list(DTYPES))
            return Scalar(value.value, dtype), f'of {dtype}'
        number = self.r.pick(REALS + INTEGERS)
        return Scalar(number, value.dtype if value else self.r.pick(['f32', 'i64', 'f64'])), f'{number}'

    def scalars(self, value):
        value = list(value or [])
        if self.r.chance(0.3) or not value:
            value = [] if value and self.r.chance() else value + [Scalar(1, 'f32')]
            return value, f'of {len(value)}'
        place = self.r.int(0, len(value) - 1)
        value[place], what = self.scalar(value[place])
        return value, f'[{place}] {what}'

    def listed(self, value, draw):
        value = list(value or [])
        how = self.r.pick(['none', 'more', 'less', 'one', 'one', 'one', 'many'])
        if how in ('none', 'less') and value:
            value = [] if how == 'none' else value[:-1]
        elif how in ('more', 'many') or not value:
            value += [draw() for _ in range(1 if how == 'more' else self.r.pick([1, 9, 300]))]
        else:
            value[self.r.int(0, len(value) - 1)] = draw()
        return value, f'{value[:12]} of {len(value)}'

    def integers(self, value):
        return self.listed(value, lambda: self.r.pick(INTEGERS))

    def reals(self, value):
        return self.listed(value, lambda: self.r.pick(REALS))

    def truths(self, value):
        return self.listed(value, self.r.chance)

    def type_name(self, _):
        name = self.r.pick(list(DTYPES))
        return name, name

    def word(self, value: bytes | None):
        if value is not None and self.r.chance(0.15):
            return None, 'null'
        known = value or b'x'
        word = self.r.pick([*WORDS, known[:-1], known + b'x', known.lower(), known[::-1]])
        return word, repr(word[:20])

    def truth(self, value):
        return not value, str(not value)

    def real(self, value):
        number = self.r.pick(REALS)
        return number, str(number)

    def integer(self, value):
        near = (value - 1, value + 1) if isinstance(value, int) else ()
        number = self.r.pick(INTEGERS + near)
        return number, str(number)
