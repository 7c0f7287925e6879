"""Numbers to small integers: by what is in their rows, by given scales, and behind gates."""
from __future__ import annotations

import numpy as np

from cases import Case, Table, Want
from elementwise import gelu, gelu_tanh
from experts import divided, in_steps, quantised, swiglu, wide
from values import Random, Tensor, given

TABLE = Table('quant')


def smooth(r: Random, dtype: str, width: int) -> Tensor | None:
    return r.pick([None, r.tensor(dtype, (width,), 0.5, 2)])


def sums_to_steps(r: Random, form, mode: int) -> tuple[list, list]:
    """The first eight arguments and the results of aclnnDequantSwigluQuant."""
    dtype, half = r.pick(form.types['x']), r.int(1, 9)
    grouped = r.chance()
    before = (r.size(1, 9),) if grouped else r.full(1, 2, 5)
    groups, rows = r.int(1, 4) if grouped else 1, int(np.prod(before))
    sizes = divided(r, max(rows - r.int(0, 2), 0), groups) if grouped else [rows]
    shape = (*before, 2 * half)
    x = r.tensor(dtype, shape, -500, 500) if dtype == 'i32' else r.tensor(dtype, shape, -4, 4)
    factors = lambda kind, n, low, high: r.tensor(kind, (groups, n) if grouped or r.chance() else (n,), low, high)
    by = factors('f32', 2 * half, 0.001, 0.02) if dtype == 'i32' or r.chance(0.3) else None
    token = r.tensor('f32', r.pick([before, (*before, 1)]), 0.1, 1) if dtype == 'i32' and r.chance(0.8) else None
    smooth_by = factors(r.pick(form.types['quantScaleOptional']), half, 0.5, 2) if r.chance() else None
    left, of = r.chance(), np.repeat(np.arange(groups), sizes)
    each = lambda t, n: wide(t).reshape(-1, n)[of if grouped else np.zeros(rows, int)]
    values = wide(x).reshape(rows, -1)[:sum(sizes)]
    values = values * (each(by, 2 * half) if by else 1)
    values = values * (wide(token).reshape(-1, 1)[:sum(sizes)] if token else 1)
    limit, alpha, plus = r.real(0.5, 4), r.real(0.5, 2), r.real(0, 1)
    values = swiglu(values, left, mode, limit, alpha, plus) * (each(smooth_by, half) if smooth_by else 1)
    was = r.tensor('i8', (*before, half)), r.tensor('f32', before)
    outs = in_steps(values, was[0].data.reshape(rows, half), was[1].data.reshape(rows))
    for want, like in zip(outs, was):
        want.value = want.value.reshape(like.shape)
        want.other = None if want.other is None else want.other.reshape(like.shape)
    return [x, by, token, None, smooth_by, None, given(sizes, 'i64') if grouped else None, left, b'dynamic'], [
        limit, alpha, plus], was, outs


@TABLE.case('DequantSwigluQuant')
def dequant_swiglu_quant(r: Random, form) -> Case:
    arguments, _, was, outs = sums_to_steps(r, form, 0)
    return Case([*arguments, *was], {9: outs[0], 10: outs[1]})


@TABLE.case('DequantSwigluQuantV2')
def dequant_swiglu_quant_2(r: Random, form) -> Case:
    mode = r.int(0, 2)
    arguments, numbers, was, outs = sums_to_steps(r, form, mode)
    last = r.pick([-1, len(arguments[0].shape) - 1])
    return Case([*arguments, 2, r.pick([None, b'rint']), last, mode, *numbers, *was], {16: outs[0], 17: outs[1]})


def small_numbers(values: np.ndarray, top: int) -> tuple[Tensor, np.ndarray]:
    """The result that takes whole numbers up to `top`, and what lies there: bytes, or eight in each INT32."""
    values = np.clip(values, -top - 1, top)
    if top == 127:
        return Tensor('i8', values.shape), values
    bits = values.astype(np.int64).reshape(*values.shape[:-1], values.shape[-1] // 8, 8) & 15
    words = (bits << 4 * np.arange(8)).sum(-1).astype(np.uint32).view(np.int32)
    return Tensor('i32', words.shape), words


@TABLE.case('DynamicQuant')
def dynamic_quant(r: Random, form) -> Case:
    top = r.pick([127, 127, 7])
    x = r.tensor(r.pick(form.types['x']), r.shape(1, 4, 6) if top == 127 else (*r.shape(0, 2, 4), 8 * r.int(1, 3)))
    by = smooth(r, x.dtype, x.shape[-1])
    values, step = quantised(x.data.astype(np.float32) * (by.data.astype(np.float32) if by else np.float32(1)), top)
    y, values = small_numbers(values, top)
    return Case([x, by, y, Tensor('f32', x.shape[:-1])], {2: values, 3: Want(step)})


@TABLE.case('DynamicQuantV2')
def dynamic_quant_2(r: Random, form) -> Case:
    top = r.pick([127, 127, 7])
    shape = (*r.full(1, 2, 5), r.int(1, 9) if top == 127 else 8 * r.int(1, 3))
    x = r.tensor(r.pick(form.types['x']), shape)
    by, ends, rows = smooth(r, x.dtype, shape[-1]), None, int(np.prod(shape[:-1]))
    factors = np.broadcast_to(by.data if by else 1, (rows, shape[-1]))
    if r.chance(0.4):
        groups = r.int(1, 3)
        at = sorted(int(n) for n in r.rng.integers(0, rows + 1, groups - 1)) + [rows]
        by, ends = r.tensor(x.dtype, (groups, shape[-1]), 0.5, 2), given(at, r.pick(['i32', 'i64']))
        factors = by.data[np.searchsorted(at, np.arange(rows), 'right')]
    values = x.data.astype(np.float32) * factors.astype(np.float32).reshape(shape)
    wants = {}
    if shifted := r.chance():
        most, least = values.max(-1), values.min(-1)
        step = (most - least) / np.float32(2 * top + 1)
        plus = np.where(step == 0, np.float32(0), np.float32(top) - most / np.where(step == 0, np.float32(1), step))
        safe = np.where(step == 0, np.float32(1), step)[..., None]
        values = np.where(step[..., None] == 0, 0, np.rint(values / safe + plus[..., None]))
        wants[6] = Want(plus, 255.0)
    else:
        values, step = quantised(values, top)
    y, values = small_numbers(values, top)
    wants |= {4: values, 5: Want(step)}
    return Case([x, by, ends, 2 if top == 127 else 3, y, Tensor('f32', shape[:-1]),
                 Tensor('f32', shape[:-1]) if shifted else None], wants)


def by_scales(r: Random, form, axes) -> tuple[list, int, int, np.ndarray]:
    """Arguments up to the rounding, the axis, the greatest number and the results before they are cut off."""
    top = r.pick([127, 127, 7])
    x = r.tensor(r.pick(form.types['x']), r.shape(2, 4, 6) if top == 127 else (*r.full(1, 2, 4), 8 * r.int(1, 3)))
    squared, mode, axis = r.chance(0.3), r.int(0, 3), r.pick(axes)
    size = x.shape[axis]
    kind, shape = r.pick(form.types['scale']), r.pick([(1,), (size,), tuple(size if i == len(x.shape) + axis else 1 for i in range(len(x.shape)))])
    scale = r.tensor(kind, shape, 0.5, 20)
    shift = r.tensor(kind, shape, -9, 9) if r.chance() else None
    wide_by = lambda t: t.data.astype(np.float32).reshape([-1 if i == len(x.shape) + axis else 1 for i in range(len(x.shape))])
    by = wide_by(scale)
    values = x.data.astype(np.float32) * (by * by if squared else by)
    values = values + (wide_by(shift) if shift else np.float32(0))
    values = [np.rint, np.floor, np.ceil, np.trunc][mode](values)
    name = [r.pick([b'round', b'', None]), b'floor', b'ceil', b'trunc'][mode]
    return [x, scale, shift, squared, name, 2 if top == 127 else 3], axis, top, values


@TABLE.case('AscendQuant')
def static_quant(r: Random, form) -> Case:
    arguments, _, top, values = by_scales(r, form, [-1])
    y, values = small_numbers(values, top)
    return Case([*arguments, y], {6: values})


@TABLE.case('AscendQuantV3')
def static_quant_3(r: Random, form) -> Case:
    arguments, axis, top, values = by_scales(r, form, [-1, -2])
    y, values = small_numbers(values, top)
    named = axis + len(arguments[0].shape) if r.chance(0.3) else axis
    return Case([*arguments, named, y], {7: values})


@TABLE.case('Quantize')
def quantize(r: Random, form) -> Case:
    x, kind = r.tensor(r.pick(form.types['x']), r.shape(1, 4, 6) if r.chance() else r.full(3, 4, 5)), r.pick(form.types['out'])
    axis = r.int(-len(x.shape), len(x.shape) - 1)
    shape = r.pick([(1,), *[(x.shape[axis],)] * 3])
    scale = r.tensor(r.pick(form.types['scales']), shape, 0.01, 0.1)
    zero = r.tensor(r.pick([k for k in form.types['zeroPoints'] if k[0] != 'f']), shape, 0, 9) if r.chance(0.7) else None
    if zero:
        zero = given(np.rint(zero.data), zero.dtype)
    spread = lambda t: t.data.astype(np.float32).reshape([-1 if i == axis % len(x.shape) else 1 for i in range(len(x.shape))])
    values = np.rint(x.data.astype(np.float32) / spread(scale) + (spread(zero) if zero else np.float32(0)))
    low, high = {'i8': (-128, 127), 'u8': (0, 255), 'i32': (-2**31, 2**31 - 1)}[kind]
    return Case([x, scale, zero, kind, axis, Tensor(kind, x.shape)], {5: np.clip(values.astype(np.int64), low, high)})


def faked(x: Tensor, scale: np.ndarray, zero: np.ndarray, whole: bool, low: int, high: int) -> tuple[Tensor, np.ndarray]:
    """What comes back from the steps, and which of them are within [low, high]."""
    steps = x.data.astype(np.float32) / scale
    steps = np.rint(steps) + zero if whole else np.rint(steps + zero)
    return (np.clip(steps, low, high) - zero) * scale, (steps >= low) & (steps <= high)


@TABLE.case('FakeQuantPerTensorAffineCachemask')
def fake_quant(r: Random, form) -> Case:
    x, low, high = r.tensor(r.pick(form.types['self']), r.shape(0, 4, 6)), -r.int(0, 20), r.int(0, 20)
    scale, zero = r.tensor(r.pick(form.types['scale']), r.pick([(1,), ()]), 0.05, 0.2), r.int(-9, 9)
    on = r.pick([1.0, 1.0, 0.0])
    values, inside = faked(x, scale.data.astype(np.float32).reshape(()), np.float32(zero), True, low, high)
    if not on:
        values, inside = x.data, np.ones(x.shape, bool)
    outs = Tensor(r.pick(form.types['out']), x.shape), Tensor('bool', x.shape)
    return Case([x, scale, given(np.full(scale.shape, zero), 'i32'), on, low, high, *outs], {6: values, 7: inside})


@TABLE.case('FakeQuantPerChannelAffineCachemask')
def fake_quant_by_channel(r: Random, form) -> Case:
    x, low, high = r.tensor(r.pick(form.types['self']), r.shape(1, 4, 6)), -r.int(0, 20), r.int(0, 20)
    axis = r.int(-len(x.shape), len(x.shape) - 1)
    scale = r.tensor(r.pick(form.types['scale']), (x.shape[axis],), 0.05, 0.2)
    zero = r.tensor(r.pick(form.types['zeroPoint']), scale.shape, -9, 9)
    spread = lambda t: t.data.astype(np.float32).reshape([-1 if i == axis % len(x.shape) else 1 for i in range(len(x.shape))])
    values, inside = faked(x, spread(scale), spread(zero), zero.dtype == 'i32', low, high)
    outs = Tensor(r.pick(form.types['out']), x.shape), Tensor('bool', x.shape)
    return Case([x, scale, zero, axis, low, high, *outs], {6: values, 7: inside})


@TABLE.case('SwiGluQuantV2')
def swiglu_quant(r: Random, form) -> Case:
    half, grouped, listed = r.int(1, 9), r.chance(), r.int(0, 1)
    before = r.pick([(r.size(1, 9),), r.full(2, 2, 4)])
    rows, groups = int(np.prod(before)), r.int(1, 4) if grouped else 1
    sizes = divided(r, max(rows - r.int(0, 2), 0), groups) if grouped else [rows]
    x = r.tensor(r.pick(form.types['x']), (*before, 2 * half), -3, 3)
    by = r.tensor('f32', r.pick([(groups, half), (groups,)]), 0.5, 2) if r.chance(0.7) else None
    left, of = r.chance(), np.repeat(np.arange(groups), sizes)
    values = swiglu(wide(x).reshape(rows, -1)[:sum(sizes)], left)
    if by:
        values = values * wide(by).reshape(groups, -1)[of]
    was = r.tensor('i8', (*before, half)), r.tensor('f32', before)
    outs = in_steps(values, was[0].data.reshape(rows, half), was[1].data.reshape(rows))
    with np.errstate(divide='ignore'):  # the factors, not the steps
        outs[1].value[:len(values)] = 127 / np.abs(values).max(-1, initial=0)
    for want, like in zip(outs, was):
        want.value = want.value.reshape(like.shape)
        want.other = None if want.other is None else want.other.reshape(like.shape)
    kind = r.pick(form.types['groupIndexOptional'])
    index = given(sizes if listed else np.cumsum(sizes), kind) if grouped else None
    return Case([x, by, r.pick([None, by]), index, left, b'dynamic', listed, 2, *was], {8: outs[0], 9: outs[1]})


@TABLE.case('GroupQuant')
def group_quant(r: Random, form) -> Case:
    top, groups, kind = r.pick([127, 127, 7]), r.int(1, 4), r.pick(form.types['scale'])
    x = r.tensor(r.pick(form.types['x']), (r.size(0, 9), r.int(1, 9) if top == 127 else 8 * r.int(1, 3)))
    rows, by = x.shape[0], r.tensor(kind, (groups, x.shape[1]), 0.5, 20)
    ends = sorted(int(n) for n in r.rng.integers(0, rows + 1, groups - 1)) + [rows]
    shift = r.tensor(kind, (1,), -9, 9) if r.chance() else None
    of = np.searchsorted(ends, np.arange(rows), 'right')
    values = x.data.astype(np.float32) * by.data.astype(np.float32)[of] + (shift.data.astype(np.float32)[0] if shift else np.float32(0))
    y, values = small_numbers(np.rint(values), top)
    return Case([x, by, given(ends, r.pick(form.types['groupIndex'])), shift, 2 if top == 127 else 3, y], {5: values})


@TABLE.case('AscendAntiQuant')
def anti_quant(r: Random, form) -> Case:
    words, dtype, kind, squared = r.chance(0.4), r.pick(form.types['y']), r.pick(form.types['scale']), r.chance(0.3)
    if words:
        numbers = r.array('i8', (*r.full(0, 2, 4), 8 * r.int(1, 3)), -8, 7)
        _, packed = small_numbers(numbers, 7)
        x = given(packed, 'i32')
    else:
        x = r.tensor('i8', r.shape(1, 4, 6), -128, 127)
        numbers = x.data
    shape = r.pick([(1,), (numbers.shape[-1],)])
    by, shift = r.tensor(kind, shape, 0.5, 2), r.tensor(kind, shape, -9, 9) if r.chance() else None
    value = (numbers.astype(np.float64) + (wide(shift) if shift else 0)) * wide(by) ** (2 if squared else 1)
    return Case([x, by, shift, {'f16': 1, 'bf16': 27}[dtype], squared, Tensor(dtype, value.shape)], {5: Want(value)})


@TABLE.case('DequantBias')
def dequant_bias(r: Random, form) -> Case:
    m, n, dtype = r.size(0, 9), r.int(1, 9), r.pick(form.types['out'])
    large = r.pick([500, 2 ** 30])
    x, by = r.tensor('i32', (m, n), -large, large), r.tensor(r.pick(form.types['weightScale']), (n,), 0.5 / large, 4 / large)
    token = r.tensor('f32', (m,), 0.1, 2) if r.chance(0.7) else None
    kind = r.pick([None, *form.types['biasOptional']])
    bias = r.tensor(kind, (n,), *((-large, large) if kind == 'i32' else (-4, 4))) if kind else None
    value = wide(x) + (wide(bias) if kind == 'i32' else 0)
    value = value * wide(by) * (wide(token)[:, None] if token else 1)
    value = value + (wide(bias) if bias and kind != 'i32' else 0)
    return Case([x, by, token, bias, {'f16': 1, 'bf16': 27}[dtype], Tensor(dtype, (m, n))], {5: Want(value, 1.0)})


@TABLE.case('GeluQuant')
def gelu_quant(r: Random, form) -> Case:
    x, tanh, dynamic = r.tensor(r.pick(form.types['self']), r.shape(1, 4, 6)), r.chance(), r.chance()
    value = (gelu_tanh if tanh else gelu)(wide(x))
    kind, n = r.pick(form.types['inputScaleOptional']), x.shape[-1]
    names = [b'tanh' if tanh else r.pick([b'none', None]), b'dynamic' if dynamic else b'static', r.pick([b'rint', None])]
    if dynamic:
        by = r.tensor(kind, (n,), 0.5, 2) if r.chance() else None
        shift = r.tensor(kind, (n,)) if by and r.chance() else None  # is not read
        rows = int(np.prod(x.shape[:-1]))
        y, step = in_steps((value * (wide(by) if by else 1)).reshape(rows, n), np.zeros((rows, n)), np.zeros(rows))
        step = Want(step.value.reshape(x.shape[:-1]), 1e-3, loose=8)
        y.value, y.other = y.value.reshape(x.shape), y.other.reshape(x.shape)
        return Case([x, by, shift, *names, 2, Tensor('i8', x.shape), Tensor('f32', x.shape[:-1])], {7: y, 8: step})
    shape = r.pick([(1,), (n,)])
    by, shift = r.tensor(kind, shape, 0.5, 20), r.tensor(kind, shape, -9, 9) if r.chance() else None
    exactly = value * wide(by) + (wide(shift) if shift else 0)
    near, low = np.rint(exactly), np.floor(exactly)
    other = np.where(np.abs(exactly - low - 0.5) < 1e-3, 2 * low + 1 - near, near)
    y = Want(np.clip(near, -128, 127), other=np.clip(other, -128, 127))
    return Case([x, by, shift, *names, 2, Tensor('i8', x.shape), None], {7: y})
