"""Mixtures of experts."""
from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cases import Case, Table, Want
from linear import in_tiles
from values import Random, Tensor, exact, given

TABLE = Table('experts')


def wide(t: Tensor | np.ndarray) -> np.ndarray:
    return (t.data if isinstance(t, Tensor) else t).astype(np.float64)


def steps(r: Random, dtype: str, shape) -> Tensor:
    """Numbers whose order no rounding changes; some are equal."""
    return given(r.rng.integers(-24, 24, shape) / 8, dtype)


def copies_in_order(chosen: np.ndarray) -> np.ndarray:
    """Where each copy goes, by the expert that it is sent to."""
    return np.argsort(np.argsort(chosen.reshape(-1), kind='stable'), kind='stable')


def tokens_of(r: Random, low: int = 0) -> tuple[int, int, int]:
    """Tokens, copies of each, and their size: sometimes more than one block of it."""
    width = r.int(500, 1100) if r.chance(0.15) else r.int(1, 9)
    return r.size(low, 9) if r.chance(r.empty * 2) else r.int(1, 9), r.int(1, 4), width


@TABLE.case('MoeTokenPermute')
def permute(r: Random, form) -> Case:
    dtype, (tokens, top_k, width) = r.pick(form.types['tokens']), tokens_of(r)
    x = r.tensor(dtype, (tokens, width))
    chosen = r.tensor(r.pick(form.types['indices']), (tokens, top_k), 0, 5)
    if top_k == 1 and r.chance():
        chosen = given(chosen.data[:, 0], chosen.dtype)
    places = copies_in_order(chosen.data)
    count = places.size
    number = r.pick([0, count, count + 3, r.int(0, count), -r.int(0, count)])
    kept = count + number if number <= 0 else min(number, count)
    rows = np.zeros((count, width))
    rows[places] = np.repeat(wide(x), top_k, 0)
    return Case([x, chosen, number, False, Tensor(dtype, (kept, width)), Tensor('i32', (count,))],
                {4: rows[:kept], 5: places.astype(np.int32)})


@TABLE.case('MoeTokenPermuteGrad')
def permute_gradient(r: Random, form) -> Case:
    dtype, (tokens, top_k, width) = r.pick(form.types['out']), tokens_of(r)
    count = tokens * top_k
    kept = r.int(0, count) if r.chance(0.4) else count
    grad, places = r.tensor(dtype, (kept, width)), r.rng.permutation(count)
    rows = np.concatenate([wide(grad), np.zeros((count - kept, width))])[places].reshape(tokens, top_k, width)
    return Case([grad, given(places, 'i32'), top_k, False, Tensor(dtype, (tokens, width))],
                {4: Want(rows.sum(1), np.abs(rows).sum(1))})


@TABLE.case('MoeTokenUnpermute')
def unpermute(r: Random, form) -> Case:
    dtype, (tokens, top_k, width) = r.pick(form.types['out']), tokens_of(r)
    top_k = top_k if r.chance(0.8) else 1
    count = tokens * top_k
    kept = r.int(0, count) if r.chance(0.3) else count
    x, places = r.tensor(dtype, (kept, width)), r.rng.permutation(count)
    probs = r.tensor(r.pick([dtype, 'f32']), (tokens, top_k), 0, 1) if top_k > 1 or r.chance() else None
    rows = np.concatenate([wide(x), np.zeros((count - kept, width))])[places].reshape(tokens, top_k, width)
    terms = rows * (wide(probs)[..., None] if probs else 1)
    return Case([x, given(places, 'i32'), probs, False, r.pick([None, [1]]), Tensor(dtype, (tokens, width))],
                {5: Want(terms.sum(1), np.abs(terms).sum(1))})


@TABLE.case('MoeTokenUnpermuteGrad')
def unpermute_gradient(r: Random, form) -> Case:
    dtype, (tokens, top_k, width) = r.pick(form.types['permutedTokens']), tokens_of(r)
    top_k = top_k if r.chance(0.8) else 1
    count = tokens * top_k
    kept = r.int(0, count) if r.chance(0.3) else count
    x, places = r.tensor(dtype, (kept, width)), r.rng.permutation(count)
    grad = r.tensor(dtype, (tokens, width))
    probs = r.tensor(r.pick([dtype, 'f32']), (tokens, top_k), 0, 1) if top_k > 1 or r.chance() else None
    share = wide(probs) if probs else np.ones((tokens, top_k))
    back = np.zeros((count, width))
    back[places] = (share[..., None] * wide(grad)[:, None]).reshape(count, width)
    rows = np.concatenate([wide(x), np.zeros((count - kept, width))])[places].reshape(tokens, top_k, width)
    terms = rows * wide(grad)[:, None]
    wants = {6: Want(back[:kept], np.abs(back[:kept]))}
    if probs:
        wants[7] = Want(terms.sum(-1), np.abs(terms).sum(-1))
    x = x if probs or r.chance() else None
    return Case([x, grad, given(places, 'i32'), probs, False, r.pick([None, [1]]), Tensor(dtype, (kept, width)),
                 Tensor(probs.dtype, probs.shape) if probs else r.pick([None, Tensor(dtype, (0,))])], wants)


def softmax(x: np.ndarray) -> np.ndarray:
    power = np.exp(x - x.max(-1, keepdims=True))
    return power / power.sum(-1, keepdims=True)


def best(scores: np.ndarray, k: int) -> np.ndarray:
    return np.argsort(-scores, -1, kind='stable')[..., :k]


def gated(r: Random, form):
    """x, whether rows are finished, and how many experts each takes."""
    experts = r.int(300, 600) if r.chance(0.1) else r.int(1, 12)
    shape = tuple(r.size(1, 5) for _ in range(r.int(1, 2)))
    if r.chance(r.empty):
        shape = (0, *shape[1:])
    x = steps(r, r.pick(form.types['x']), (*shape, experts))
    return x, r.tensor('bool', shape) if r.chance(0.4) else None, r.int(1, min(experts, 8))


@TABLE.case('MoeGatingTopKSoftmax')
def gate(r: Random, form) -> Case:
    x, finished, k = gated(r, form)
    share, shape = softmax(wide(x)), (*x.shape[:-1], k)
    places = best(wide(x), k)
    experts = np.where(finished.data[..., None], x.shape[-1], places) if finished else places
    rows = int(np.prod(shape[:-1]))
    copies = (np.arange(k) * rows + np.arange(rows)[:, None]).reshape(shape)
    return Case([x, finished, k, Tensor(x.dtype, shape), Tensor('i32', shape), Tensor('i32', shape)],
                {3: Want(np.take_along_axis(share, places, -1)), 4: experts.astype(np.int32), 5: copies.astype(np.int32)})


@TABLE.case('MoeGatingTopKSoftmaxV2')
def gate_2(r: Random, form) -> Case:
    x, finished, k = gated(r, form)
    renorm, with_all = r.int(0, 1), r.chance()
    places = best(wide(x), k)
    chosen = np.take_along_axis(wide(x) if renorm else softmax(wide(x)), places, -1)
    experts = np.where(finished.data[..., None], x.shape[-1], places) if finished else places
    wants = {5: Want(softmax(chosen) if renorm else chosen), 6: experts.astype(np.int32)}
    if with_all and not renorm:
        wants[7] = Want(softmax(wide(x)))
    shape = (*x.shape[:-1], k)
    return Case([x, finished, k, renorm, with_all, Tensor(x.dtype, shape), Tensor('i32', shape),
                 Tensor('f32', x.shape) if 7 in wants else None], wants)


@TABLE.case('MoeGatingTopK')
def gate_by_groups(r: Random, form) -> Case:
    dtype, groups, each = r.pick(form.types['x']), r.pick([1, 1, 2, 4, 8]), r.int(2, 6)
    kept, rows, experts = r.int(1, groups), 0 if r.chance(r.empty) else r.int(1, 5), groups * each
    k, by_two, sigmoid, whole = r.int(1, min(8, kept * each)), r.chance(), r.chance(), r.chance()
    x, bias = steps(r, dtype, (rows, experts)), r.tensor(dtype, (experts,), -1, 1) if r.chance() else None
    factor, eps = r.real(0.5, 3), r.pick([0.0, 1e-20, 0.01])
    share = 1 / (1 + np.exp(-wide(x))) if sigmoid else softmax(wide(x)) if rows else wide(x)
    # Sums of two scores may be near to others; those of floats are what the function ranks.
    scores = (share + wide(bias) if bias else share).astype(np.float32)
    group = np.sort(scores.reshape(rows, groups, each), -1)[..., -2:] if by_two else scores.reshape(rows, groups, each).max(-1)[..., None]
    ranked = best(group.sum(-1), kept)
    seen = np.zeros((rows, groups), bool)
    np.put_along_axis(seen, ranked, True, -1)
    places = best(np.where(np.repeat(seen, each, -1), scores, -np.inf), k)
    y = np.take_along_axis(share, places, -1)
    y = (y / (y.sum(-1, keepdims=True) + eps) if sigmoid else y) * factor
    wants = {11: Want(y), 12: places.astype(np.int32)}
    if whole:
        wants[13] = Want(share)
    return Case([x, bias, k, kept, groups, int(by_two), 0, int(sigmoid), whole, factor, eps, Tensor(dtype, (rows, k)),
                 Tensor('i32', (rows, k)), Tensor('f32', (rows, experts)) if whole or r.chance() else None], wants)


@TABLE.case('MoeGatingTopKBackward')
def gate_gradient(r: Random, form) -> Case:
    rows, experts, sigmoid = r.size(0, 5), r.int(1, 9), r.chance()
    k, factor, eps = r.int(1, experts), r.real(0.5, 3), r.pick([1e-20, 0.01])
    logits = r.array('f32', (rows, experts)).astype(np.float64)
    share = given(1 / (1 + np.exp(-logits)) if sigmoid else softmax(logits) if rows else logits, 'f32')
    dtype = r.pick(form.types['gradY'])
    dy, chosen = r.tensor(dtype, (rows, k)), np.array([r.rng.permutation(experts)[:k] for _ in range(rows)], int).reshape(rows, k)
    p, d = wide(share), wide(dy)
    mine = np.take_along_axis(p, chosen, 1)
    total, met = mine.sum(1, keepdims=True) + eps, (mine * d).sum(1, keepdims=True)
    parts = factor * mine * ((d - met / total) / total * (1 - mine) if sigmoid else d)
    want = np.zeros((rows, experts)) if sigmoid else -factor * met * p
    for row in range(rows):
        want[row, chosen[row]] += parts[row]
    return Case([share, dy, given(chosen, 'i32'), 0, int(sigmoid), factor, eps, Tensor(dtype, (rows, experts))],
                {7: Want(want, 10.0 * factor)})


def routed(r: Random, dtype: str):
    """x, the experts of its copies, and how many experts there are."""
    tokens, top_k, width = tokens_of(r, low=1)
    number = r.int(1, 6)
    return r.tensor(dtype, (tokens, width)), r.tensor('i32', (tokens, top_k), 0, number - 1), number


@TABLE.case('MoeInitRouting')
def init_routing(r: Random, form) -> Case:
    x, experts, _ = routed(r, r.pick(form.types['x']))
    (tokens, top_k), count = experts.shape, experts.data.size
    active = r.pick([0, tokens, tokens + 2, r.int(0, tokens)])
    numbers = np.arange(count).reshape(top_k, tokens).T
    order = np.argsort(experts.data.reshape(-1), kind='stable')
    copies = numbers.reshape(-1)[order]
    places = np.empty(count, np.int32)
    places[copies] = np.arange(count)
    rows = min(active, tokens) * top_k
    return Case([x, given(numbers, 'i32'), experts, active, Tensor(x.dtype, (rows, x.shape[1])), Tensor('i32', (count,)),
                 Tensor('i32', (count,))],
                {4: wide(x)[copies[:rows] % tokens], 5: places, 6: experts.data.reshape(-1)[order]})


def with_capacity(experts: np.ndarray, number: int, capacity: int) -> tuple[np.ndarray, np.ndarray]:
    """The copy in each row of each expert, or -1, and the row of each copy."""
    rows, places, found = np.full(number * capacity, -1), np.full(experts.size, -1), [0] * number
    for copy, expert in enumerate(experts.reshape(-1)):
        if found[expert] < capacity:
            places[copy] = expert * capacity + found[expert]
            rows[places[copy]] = copy
        found[expert] += 1
    return rows, places


@TABLE.case('MoeInitRoutingV2')
def init_routing_2(r: Random, form) -> Case:
    x, experts, number = routed(r, r.pick(form.types['x']))
    (tokens, top_k), count = experts.shape, experts.data.size
    drop, flag, before, capacity = r.chance(0.4), r.int(0, 2), r.chance(), r.int(1, tokens)
    active = 0 if drop else r.pick([0, count + 1, r.int(1, count)])
    found = np.bincount(experts.data.reshape(-1), minlength=number)
    kind = r.pick(form.types['expertTokensCountOrCumsumOut'])
    if drop:
        rows, places = with_capacity(experts.data, number, capacity)
        moved = np.where(rows[:, None] < 0, 0, wide(x)[rows // top_k]).reshape(number, capacity, -1)
    else:
        order = np.argsort(experts.data.reshape(-1), kind='stable')
        places = copies_in_order(experts.data)
        moved = wide(x)[order // top_k][:min(active, count) if active else count]
    wants = {8: moved, 9: places.astype(np.int32)}
    if flag and not drop:
        wants[10] = np.cumsum(found) if flag == 1 else found
    if before and drop:
        wants[11] = found
    known = number if drop or flag or r.chance() else 0
    return Case([x, experts, active, capacity if drop else 0, known, int(drop), flag, before, Tensor(x.dtype, moved.shape),
                 Tensor('i32', (count,)), Tensor(kind, (number,)) if 10 in wants else None,
                 Tensor(kind, (number,)) if 11 in wants else None], wants)


def quantised(rows: np.ndarray, top: int = 127) -> tuple[np.ndarray, np.ndarray]:
    """As floats do it, so that halves are rounded alike."""
    rows = rows.astype(np.float32)
    step = np.abs(rows).max(-1, keepdims=True, initial=0) / np.float32(top)
    return np.rint(rows / np.where(step == 0, np.float32(1), step)), step[..., 0]


@TABLE.case('MoeInitRoutingQuantV2')
def init_routing_quantised(r: Random, form) -> Case:
    x, experts, number = routed(r, r.pick(form.types['x']))
    (tokens, top_k), count, flat = experts.shape, experts.data.size, experts.data.reshape(-1)
    drop, flag, before, mode, capacity = r.chance(0.4), r.int(0, 2), r.chance(), r.int(0, 1), r.int(1, tokens)
    found = np.bincount(flat, minlength=number)
    if drop:
        rows, places = with_capacity(experts.data, number, capacity)
    else:
        rows, places = np.argsort(flat, kind='stable'), copies_in_order(experts.data)
    values, empty, scale, shift = wide(x)[np.maximum(rows, 0) // top_k].astype(np.float32), rows < 0, None, None
    if mode == 0:
        scale, shift = r.tensor('f32', (1,), -2, 2), r.tensor('f32', (1,), -3, 3)
        values = np.clip(np.rint(values * scale.data + shift.data), -128, 127)
    else:
        scale = r.pick([None, r.tensor('f32', (1, x.shape[1]), 0.5, 2), r.tensor('f32', (number, x.shape[1]), 0.5, 2)])
        if scale:
            values = values * scale.data[np.zeros_like(rows) if len(scale.data) == 1 else flat[np.maximum(rows, 0)]]
        values, step = quantised(values)
    values = np.where(empty[:, None], 0, values).reshape(*((number, capacity) if drop else (count,)), -1)
    wants = {11: values, 12: places.astype(np.int32)}
    if flag and not drop:
        wants[13] = np.cumsum(found) if flag == 1 else found
    if before and drop:
        wants[14] = found
    if mode == 1:
        wants[15] = Want(np.where(empty, 0, step))
    told = number if drop or flag or scale and len(scale.data) > 1 else r.pick([number, 2**40])  # experts that nobody counts
    return Case([x, experts, scale, shift, 0, capacity if drop else 0, told, int(drop), flag, before, mode,
                 Tensor('i8', values.shape), Tensor('i32', (count,)), Tensor('i32', (number,)) if 13 in wants else None,
                 Tensor('i32', (number,)) if 14 in wants else None, Tensor('f32', rows.shape) if mode else None], wants)


@TABLE.case('MoeInitRoutingV3')
def init_routing_3(r: Random, form) -> Case:
    mode = r.int(-1, 1)
    if r.chance(r.empty):  # no tokens
        return Case([r.tensor('f32', (0, 3)), r.tensor('i32', (0, 2), 0, 1), None, None, 0, -1, 2, 0, 1, True, 1, None, 0,
                     Tensor('i8', (0, 3)), Tensor('i32', (0,)), Tensor('i64', (2,)), Tensor('f32', (0,))], {15: np.zeros(2)})
    x, experts, number = routed(r, r.pick([t for t in form.types['x'] if mode < 0 or t != 'i8']))
    (tokens, top_k), count, width = experts.shape, experts.data.size, x.shape[1]
    drop, flag, counted, scatter = r.chance(0.3), r.chance(), r.int(0, 2), r.int(0, 1)
    first = 0 if drop or r.chance() else r.int(0, number - 1)
    last = number if drop or r.chance() else r.int(first, number)
    span = None if (first, last) == (0, number) and r.chance() else [first, last]
    flat = experts.data.reshape(-1)
    chosen = np.where(flat < first, 99, flat)
    order = np.argsort(chosen, kind='stable')
    active = int(((flat >= first) & (flat < last)).sum())
    if drop:
        rows, places = with_capacity(experts.data, number, capacity := r.int(1, tokens))
        scatter, limit = 0, 0
    else:
        limit, capacity, places = r.pick([0, -1, active]), -1, np.full(count, -1)
        rows = order.copy()
        if active < count:  # rows that nobody writes are not compared
            limit = active
            if active == 0:
                limit, span, first, last, active, chosen = 0, None, 0, number, count, flat
                order = np.argsort(flat, kind='stable')
                rows = order.copy()
        rows = rows[:active]
        places[order[:active]] = np.arange(active)
    kept, empty = np.maximum(rows, 0), rows < 0
    scale, shift = None, None
    values, wants = wide(x)[kept // top_k], {}
    if mode == 0:
        scale, shift = r.tensor('f32', (1,), -2, 2), r.tensor('f32', (1,), -3, 3)
        values = np.rint(values.astype(np.float32) * scale.data + shift.data)
        values = np.clip(values, -128, 127)
    if mode == 1:
        scale = r.pick([None, r.tensor('f32', (1, width), 0.5, 2), r.tensor('f32', (last - first, width), 0.5, 2)])
        if scale:
            smooth = scale.data[np.zeros_like(kept) if len(scale.data) == 1 else flat[kept] - first]
            values = values.astype(np.float32) * smooth
        values, steps_of = quantised(values)
        wants[16] = Want(np.where(empty, 0, steps_of))
    if mode == -1 and r.chance():
        scale = r.tensor('f32', (tokens,))
        wants[16] = Want(np.where(empty, 0, wide(scale)[kept // top_k]))
    values = np.where(empty[:, None], 0, values)
    wants[13] = values.reshape(number, capacity, width) if drop else values
    wants[14] = (order if scatter else places).astype(np.int32)
    found = np.bincount(flat, minlength=number)[first:last]
    if flag and counted == 2:
        pairs = [(first + i, n) for i, n in enumerate(found) if n]
        wants[15] = np.array(pairs + [(0, 0)] * (number - len(pairs)))
    elif flag:
        wants[15] = np.cumsum(found) if counted == 0 else found
    out = 'i8' if mode >= 0 else x.dtype
    return Case([x, experts, scale, shift, limit, capacity, number, int(drop), counted, flag, mode, span, scatter,
                 Tensor(out, wants[13].shape), Tensor('i32', (count,)),
                 Tensor(r.pick(['i32', 'i64']), wants[15].shape) if flag else None,
                 Tensor('f32', wants[16].value.shape) if 16 in wants else None], wants)


def finalized(r: Random, dtype: str, mode: int, whole: bool):
    """The parts of the sum, and the sum with the size of its terms; `whole`: none is left out."""
    tokens, top_k, width = tokens_of(r, low=1)
    number, capacity = r.int(1, 5), r.int(1, 5)
    scales = r.tensor(dtype, (tokens, top_k), 0, 1) if whole or r.chance(0.7) else None
    top_k = top_k if scales else 1
    drops, count = mode % 2 == 1, tokens * top_k
    rows = r.tensor(dtype, (number, capacity, width) if drops else (count, width))
    flat = wide(rows).reshape(-1, width)
    places = r.rng.integers(-1 if drops else 0, len(flat), count)
    bias = r.tensor(dtype, (number, width)) if whole or r.chance() else None
    experts = r.tensor('i32', (tokens, top_k), 0, number - 1) if bias or r.chance() else None
    skips = [r.tensor(dtype, (tokens, width)) if whole or r.chance(0.7) else None]
    skips.append(r.tensor(dtype, (tokens, width)) if skips[0] and r.chance() else None)
    at = places.reshape(top_k, tokens).T if mode < 2 else places.reshape(tokens, top_k)
    terms = np.where(at[..., None] < 0, 0, flat[at])
    if bias:
        terms = terms + wide(bias)[experts.data]
    terms = terms * (wide(scales)[..., None] if scales else 1)
    added = [wide(s) for s in skips if s]
    want = Want(terms.sum(1) + sum(added), np.abs(terms).sum(1) + sum(map(np.abs, added)) + 1, loose=2)
    return rows, given(places, 'i32'), skips, bias, scales, experts, want


@TABLE.case('MoeFinalizeRouting')
def finalize(r: Random, form) -> Case:
    dtype = r.pick(form.types['out'])
    rows, places, skips, bias, scales, experts, want = finalized(r, dtype, 0, True)
    return Case([rows, *skips, bias, scales, places, experts, Tensor(dtype, want.value.shape)], {7: want})


@TABLE.case('MoeFinalizeRoutingV2')
def finalize_2(r: Random, form) -> Case:
    dtype, mode = r.pick(form.types['out']), r.int(0, 3)
    rows, places, skips, bias, scales, experts, want = finalized(r, dtype, mode, False)
    return Case([rows, places, *skips, bias, scales, experts, mode, Tensor(dtype, want.value.shape)], {8: want})


@TABLE.case('MoeComputeExpertTokens')
def expert_tokens(r: Random, form) -> Case:
    number = r.int(1, 9)
    experts = np.sort(r.rng.integers(0, number, r.size(0, 20)))
    return Case([given(experts, 'i32'), number, Tensor('i32', (number,))],
                {2: np.searchsorted(experts, np.arange(number), 'right').astype(np.int32)})


@TABLE.case('MoeReRouting')
def re_routing(r: Random, form) -> Case:
    dtype, ranks, experts, width = r.pick(form.types['tokens']), r.int(1, 4), r.int(1, 4), r.int(1, 9)
    counts = r.rng.integers(0, 4, (ranks, experts))
    total = int(counts.sum())
    whose = np.repeat(np.tile(np.arange(experts), ranks), counts.reshape(-1))
    order = np.argsort(whose, kind='stable')
    tokens, scales = r.tensor(dtype, (total, width)), r.tensor('f32', (total,)) if r.chance() else None
    kind = r.pick(['i32', 'i64'])
    wants = {5: wide(tokens)[order], 7: order.astype(np.int32), 8: counts.sum(0)}
    if scales:
        wants[6] = Want(wide(scales)[order])
    return Case([tokens, given(counts, kind), scales, 1, 0, Tensor(dtype, (total, width)),
                 Tensor('f32', (total,)) if scales else None, Tensor('i32', (total,)), Tensor(kind, (experts,))], wants)


ACTIVATIONS = {0: lambda x: x, 1: lambda x: np.maximum(x, 0),
               2: lambda x: 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x ** 3))),
               4: lambda x: x / (1 + np.exp(-1.702 * x)), 5: lambda x: x / (1 + np.exp(-x))}


def divided(r: Random, total: int, groups: int) -> list[int]:
    """Sizes of groups that make up a total."""
    ends = sorted(int(n) for n in r.rng.integers(0, total + 1, groups - 1))
    return [int(n) for n in np.diff([0, *ends, total])]


@dataclass
class Groups:
    """Lists of tensors for a grouped product, and what comes out."""
    x: list
    weight: list
    bias: list
    outs: list  # Want
    sizes: list
    dtype: str


def product_of(x, weight, bias, act: int) -> Want:
    value = wide(x) @ wide(weight) + (wide(bias) if bias is not None else 0)
    size = np.abs(wide(x)) @ np.abs(wide(weight)) + 1
    return Want(ACTIVATIONS[act](value), size, loose=2)


def joined(wants: list) -> Want:
    return Want(np.concatenate([w.value for w in wants]), np.concatenate([w.scale for w in wants]), loose=2)


def grouped(r: Random, dtype: str, kind: int, act: int, many: bool, single_weight: bool) -> Groups:
    """kind -1: pairs; 0: groups of rows. many: as many results as groups."""
    groups, depth, n = r.int(1, 4), r.int(1, 9), r.int(1, 9)
    if r.chance(0.1):  # more than one block
        groups, depth, n = r.int(1, 2), r.int(100, 200), r.int(250, 600)
    sizes = [r.size(1, 6) for _ in range(groups)] if kind < 0 else divided(r, r.size(1, 300 if n > 9 else 12), groups)
    shape = (groups, depth, n)
    weights = r.array(dtype, shape, -1, 1)
    bias = r.array('f32' if dtype == 'bf16' else dtype, (groups, n), -1, 1) if r.chance() else None
    rows = [r.array(dtype, (s, depth), -1, 1) for s in sizes]
    wants = [product_of(rows[i], weights[i], None if bias is None else bias[i], act) for i in range(groups)]
    bias_type = 'f32' if dtype == 'bf16' else dtype
    whole = single_weight and kind == 0
    return Groups([given(x, dtype) for x in rows],
                  [given(weights, dtype)] if whole else [given(w, dtype) for w in weights],
                  [] if bias is None else [given(bias, bias_type)] if whole else [given(b, bias_type) for b in bias],
                  wants if many else [joined(wants)], sizes, dtype)


def whole_x(g: Groups) -> list:
    return [given(np.concatenate([x.data for x in g.x]), g.dtype)]


@TABLE.case('GroupedMatmul', without='null')  # what may not be null may be left out by an empty list
def grouped_product(r: Random, form) -> Case:
    dtype, kind, many = r.pick(form.types['x']), r.pick([-1, 0]), r.chance()
    g = grouped(r, dtype, kind, 0, many or kind < 0, False)
    ends = [int(n) for n in np.cumsum(g.sizes)] if kind == 0 else None
    x = whole_x(g) if kind == 0 else g.x
    return Case([x, g.weight, g.bias or r.pick([None, []]), *[r.pick([None, []]) for _ in range(4)], ends,
                 0 if many or kind < 0 else r.pick([2, 3]), [Tensor(dtype, w.value.shape) for w in g.outs]], {9: g.outs})


def of_bytes(r: Random, x, weight, bias, scale, token, act: int, kind: str) -> Want:
    """(x weight + whole bias) * scale * token + any other bias, as floats in this order."""
    sums = wide(x).astype(np.int64) @ wide(weight).astype(np.int64)
    whole = bias is not None and bias.dtype == np.int32
    if whole:
        sums = sums + bias
    if kind == 'i32':
        return Want(sums)
    value = sums.astype(np.float32) * scale * (1 if token is None else token[:, None])
    if kind == 'i8':
        return Want(np.clip(np.rint(value), -128, 127))
    return Want(ACTIVATIONS[act](value.astype(np.float64) + (0 if bias is None or whole else wide(bias))), 20.0)


def small_arguments(r: Random, form, kinds) -> tuple[list, list, str]:
    """Those of products of INT8, and of floats with weights of INT8."""
    kind, listed, whole = r.pick(kinds), r.int(0, 1), r.chance()
    groups, depth, n = r.int(1, 4), r.int(1, 40), r.int(1, 20)
    if r.chance(0.1):  # more than one block, and than is summed at once
        groups, depth, n = r.int(1, 2), r.int(1000, 2100), r.int(250, 300)
    sizes = [r.size(1, 6) for _ in range(groups)] if kind < 0 else divided(r, r.size(1, 12), groups)
    bytes_ = r.chance(0.6)
    dtype = 'i8' if bytes_ else r.pick(form.both('x', 'antiquantScaleOptional'))
    result = r.pick([t for t in form.types['results'] if t != 'f32']) if bytes_ else dtype
    rows = [given(r.array(dtype, (s, depth), *((-100, 100) if bytes_ else (-1, 1))), dtype) for s in sizes]
    weight = r.array('i8', (groups, depth, n), -100, 100)
    bias = scale = token = shift = None
    act, halves = 0, result in ('f16', 'bf16')
    bias_type = r.pick(['i32', 'f32', result] if bytes_ and halves else ['i32']) if bytes_ else {'f16': 'f16'}.get(dtype, 'f32')
    if r.chance():
        bias = exact(r.array(bias_type, (groups, n), -9, 9), bias_type)
    raw = r.array('f32', (groups, n), 0.5, 1) / np.float32(depth * 100)
    if not bytes_:
        scale = given(raw * 100, dtype)
        shift = given(r.array(dtype, (groups, n), -3, 3), dtype) if r.chance() else None
        spread = [(wide(weight[i]) + (wide(shift.data[i]) if shift else 0)) * wide(scale.data[i]) for i in range(groups)]
        outs = [Want(wide(x.data) @ w + (wide(bias[i]) if bias is not None else 0), np.abs(wide(x.data)) @ np.abs(w) + 1, loose=2)
                for i, (x, w) in enumerate(zip(rows, spread))]
    else:
        if result == 'i8':
            packed = raw.view(np.uint32) & np.uint32(0xffffe000)
            scale = given((packed.astype(np.uint64) | np.uint64(1 << 46)).astype(np.int64), r.pick(['u64', 'i64']))
            raw = packed.view(np.float32)
        elif halves:
            scale = given(raw, r.pick(['f32', 'bf16']))
            raw = scale.data.astype(np.float32)
            token = [r.array('f32', (s,), 0.5, 2) for s in sizes] if r.chance(0.7) else None
            act = r.pick([0, 1, 2, 4, 5]) if token else 0
        outs = [of_bytes(r, x.data, weight[i], None if bias is None else bias[i], raw[i], token[i] if token else None, act, result)
                for i, x in enumerate(rows)]
    single = whole and kind == 0

    def listed_as(values, dtype):
        return None if values is None else [given(values, dtype)] if single else [given(v, dtype) for v in values]
    scales = listed_as(None if scale is None else scale.data, scale and scale.dtype)
    x, tokens = rows, None if token is None else [given(t, 'f32') for t in token]
    if kind == 0 and r.chance(0.8):
        x = [given(np.concatenate([t.data for t in rows]), dtype)]
        tokens = None if token is None else [given(np.concatenate(token), 'f32')]
    numbers = np.cumsum(sizes) if listed == 0 else np.array(sizes)
    if len(x) == 1 and kind == 0 and r.chance(0.2):
        listed, numbers = 2, np.stack([np.arange(groups), sizes], 1)
    outs = outs if kind < 0 else [Want(np.concatenate([w.value for w in outs]), 20.0 if bytes_ else np.concatenate([w.scale for w in outs]),
                                       loose=2)]
    return [x, listed_as(weight, 'i8'), listed_as(bias, bias_type), scales if bytes_ else None, None, None if bytes_ else scales,
            listed_as(None if shift is None else shift.data, dtype), tokens, None if kind < 0 else given(numbers, 'i64'), None, None,
            None, 0 if kind < 0 else 3, kind, listed, act], outs, result


def grouped_arguments(r: Random, form, kinds=(-1, 0, 0, 2)) -> tuple[list, dict]:
    """Those of the fourth version."""
    if r.chance(0.4):
        return small_arguments(r, form, [k for k in kinds if k != 2])
    floats = [t for t in form.types['x'] if t != 'i8']
    dtype, kind, many, listed = r.pick(floats), r.pick(kinds), r.chance(), r.int(0, 1)
    act = r.pick([0, 0, 1, 2, 4, 5])
    if kind == 2:
        groups, m, n = r.int(1, 4), r.int(1, 9), r.int(1, 9)
        sizes = divided(r, r.size(1, 20), groups)
        x, weight = r.tensor(dtype, (m, sum(sizes)), -1, 1), r.tensor(dtype, (sum(sizes), n), -1, 1)
        at = np.cumsum([0, *sizes])
        wants = [product_of(x.data[:, a:b], weight.data[a:b], None, act) for a, b in zip(at, at[1:])]
        g = Groups([x], [weight], [], wants, sizes, dtype)
        if not many:
            g.outs = [Want(np.stack([w.value for w in wants]), np.stack([w.scale for w in wants]), loose=2)]
        inputs = g.x
    else:
        g = grouped(r, dtype, kind, act, many or kind < 0, r.chance())
        inputs = g.x if kind < 0 or (0 not in g.sizes and r.chance(0.2)) else whole_x(g)
    numbers = np.cumsum(g.sizes) if listed == 0 else np.array(g.sizes)
    if kind == 0 and not many and len(inputs) == 1 and r.chance(0.2):  # pairs, in any order
        listed, numbers = 2, np.stack([np.arange(len(g.sizes)), g.sizes], 1)
    known = None if kind < 0 or (len(inputs) > 1 and r.chance()) else given(numbers, 'i64')
    lists = [r.pick([None, []]) for _ in range(10)]
    return [inputs, g.weight, g.bias or lists[0], *lists[1:6], known, *lists[6:9],
            r.int(0, 1) if many or kind < 0 else r.int(2, 3), kind, listed, act], g.outs, dtype


@TABLE.case('GroupedMatmulV4', without='null')
def grouped_product_4(r: Random, form) -> Case:
    arguments, outs, dtype = grouped_arguments(r, form)
    return Case([*arguments, [Tensor(dtype, w.value.shape) for w in outs], r.pick([None, []]), r.pick([None, []])], {16: outs})


@TABLE.case('GroupedMatmulV5', without='null')
def grouped_product_5(r: Random, form) -> Case:
    arguments, outs, dtype = grouped_arguments(r, form)
    return Case([*arguments, r.pick([None, [4]]), [Tensor(dtype, w.value.shape) for w in outs], r.pick([None, []]),
                 r.pick([None, []])], {17: outs})


@TABLE.case('GroupedMatmulWeightNz', without='null')
def grouped_product_of_tiles(r: Random, form) -> Case:
    arguments, outs, dtype = grouped_arguments(r, form, (-1, 0, 0))
    arguments[1] = [in_tiles(r, weight) for weight in arguments[1]]
    return Case([*arguments, r.pick([None, [4]]), 0, [Tensor(dtype, w.value.shape) for w in outs], r.pick([None, []]),
                 r.pick([None, []])], {18: outs})


def swiglu(rows: np.ndarray, left: bool = True, mode: int = 0, limit: float = 7, alpha: float = 1, plus: float = 0) -> np.ndarray:
    """Rows whose one part, by its sigmoid, lets the other through."""
    half = rows.shape[-1] // 2
    a, b = (rows[..., ::2], rows[..., 1::2]) if mode == 1 else (rows[..., :half], rows[..., half:])
    if mode != 1 and not left:
        a, b = b, a
    if mode != 0:
        a, b = np.minimum(a, limit), np.clip(b, -limit, limit) + plus
    return a / (1 + np.exp(-(alpha if mode else 1) * a)) * b


def in_steps(rows: np.ndarray, was: np.ndarray, was_steps: np.ndarray) -> tuple[Want, Want]:
    """The first rows in steps of the largest of each, the others as they were. What lies between two may be either."""
    step = np.abs(rows).max(-1, keepdims=True, initial=0) / 127
    exactly = rows / np.where(step == 0, 1, step)
    near, low = np.rint(exactly), np.floor(exactly)
    other = np.where(np.abs(exactly - low - 0.5) < 1e-3, 2 * low + 1 - near, near)
    n = len(rows)
    steps = np.concatenate([step[..., 0], was_steps[n:]])
    return (Want(np.concatenate([near, was[n:]]), other=np.concatenate([other, was[n:]])), Want(steps, 0, loose=8))


def gated_products(r: Random, form, counted: bool):
    """x, weight, weightScale, xScale, groupList, the results before and after."""
    groups, depth, half = r.int(1, 4), r.int(1, 40), r.int(1, 9)
    if r.chance(0.1):  # more than one block
        groups, depth, half = r.int(1, 2), r.int(1000, 1200), r.int(130, 200)
    sizes = divided(r, r.size(1, 12), groups)
    total, rest = sum(sizes), r.int(0, 2)
    x, weight = r.tensor('i8', (total + rest, depth), -128, 127), r.tensor('i8', (groups, depth, 2 * half), -128, 127)
    by = r.tensor(r.pick([t for t in form.types['weightScale']]), (groups, 2 * half), 0.0005, 0.002)
    token = r.tensor('f32', (total + rest,), 0.0005, 0.02)
    at, rows = np.cumsum([0, *sizes]), np.zeros((total, 2 * half))
    for i, (a, b) in enumerate(zip(at, at[1:])):
        rows[a:b] = wide(x)[a:b] @ wide(weight)[i] * wide(by)[i] * wide(token)[a:b, None]
    listed = r.int(0, 1) if counted else 0
    was = r.tensor('i8', (total + rest, half)), r.tensor('f32', (total + rest,))
    outs = in_steps(swiglu(rows), was[0].data, was[1].data)
    return x, weight, by, token, given(sizes if listed else at[1:], 'i64'), listed, was, outs


@TABLE.case('GroupedMatmulSwigluQuant', without='shape')  # outputOffset may have any
def gated_product(r: Random, form) -> Case:
    x, weight, by, token, groups, _, was, outs = gated_products(r, form, False)
    offset = r.pick([None, Tensor('f32', (1,))])
    return Case([x, weight, None, None, by, token, groups, *was, offset], {7: outs[0], 8: outs[1]})


@TABLE.case('GroupedMatmulSwigluQuantWeightNZ', without='shape')  # outputOffset may have any
def gated_product_of_tiles(r: Random, form) -> Case:
    case = gated_product(r, form)
    return Case([in_tiles(r, a) if i == 1 else a for i, a in enumerate(case.arguments)], case.wants)


@TABLE.case('GroupedMatmulSwigluQuantV2')
def gated_product_2(r: Random, form) -> Case:
    x, weight, by, token, groups, listed, was, outs = gated_products(r, form, True)
    return Case([x, [weight], [by], r.pick([None, []]), None, token, None, groups, 0, 0, 0, listed, r.pick([None, [4]]), *was],
                {13: outs[0], 14: outs[1]})


@TABLE.case('GroupedMatmulSwigluQuantWeightNzV2')
def gated_product_of_tiles_2(r: Random, form) -> Case:
    case = gated_product_2(r, form)
    return Case([[in_tiles(r, w) for w in a] if i == 1 else a for i, a in enumerate(case.arguments)], case.wants)


@TABLE.case('GroupedMatmulAdd')
def grouped_sum(r: Random, form) -> Case:
    dtype, groups, m, n = r.pick(form.types['x']), r.int(1, 4), r.int(1, 9), r.int(1, 9)
    sizes = divided(r, r.size(1, 20), groups)
    x, weight = r.tensor(dtype, (sum(sizes), m), -1, 1), r.tensor(dtype, (sum(sizes), n), -1, 1)
    y, at = r.tensor('f32', (groups, m, n), -1, 1), np.cumsum([0, *sizes])
    wants = [product_of(x.data[a:b].T, weight.data[a:b], was, 0) for was, a, b in zip(y.data, at, at[1:])]
    value, size = np.stack([w.value for w in wants]), np.stack([w.scale for w in wants])
    if r.chance(0.4):
        y = given(y.data.reshape(groups * m, n), 'f32')
    want = Want(value.reshape(y.shape), size.reshape(y.shape), loose=2)
    return Case([x, weight, given(at[1:], 'i64'), y, True, False, 2], {3: want})


def sent(r: Random, tokens: int, experts: int, top_k: int) -> np.ndarray:
    """Who is sent where: top_k experts for each token."""
    return np.argsort(r.rng.random((tokens, experts)), axis=1) < top_k


def rows_of(chosen: np.ndarray, capacity: int) -> tuple[np.ndarray, np.ndarray]:
    """The token and the expert of each row."""
    pairs = []
    for expert in range(chosen.shape[1]):
        first, others = np.flatnonzero(chosen[:, expert]), np.flatnonzero(~chosen[:, expert])
        pairs += [(t, expert) for t in (np.concatenate([first, others])[:capacity] if capacity else first)]
    return np.array(pairs, np.int64).reshape(-1, 2).T


def mapped(r: Random, form, name: str):
    dtype, (tokens, top_k, width) = r.pick(form.types[name]), tokens_of(r, 1)
    experts = r.int(top_k, 6)
    chosen, capacity = sent(r, tokens, experts, top_k), r.int(1, tokens) if r.chance() else 0
    owner, expert = rows_of(chosen, capacity)
    by_token = np.argsort(owner, kind='stable')
    numbers = given(owner if capacity else by_token, 'i32')
    return dtype, width, chosen, capacity, owner, expert, by_token, numbers


@TABLE.case('MoeTokenPermuteWithRoutingMap')
def permute_by_map(r: Random, form) -> Case:
    dtype, width, chosen, capacity, owner, expert, _, numbers = mapped(r, form, 'tokens')
    x, count = r.tensor(dtype, (chosen.shape[0], width)), owner.size
    probs = r.tensor(r.pick(form.types['probs']), chosen.shape, 0, 1) if r.chance() else None
    wants = {5: x.data[owner], 7: numbers.data}
    if probs:
        wants[6] = probs.data[owner, expert]
    more = r.int(0, (chosen.shape[1] if capacity else chosen.shape[0]) - 1)  # is not enough for one row more each
    return Case([x, given(chosen, r.pick(form.types['routingMap'])), probs, count + more, capacity > 0,
                 Tensor(dtype, (count, width)), Tensor(probs.dtype, (count,)) if probs else None,
                 Tensor('i32', (count,))], wants)


@TABLE.case('MoeTokenPermuteWithRoutingMapGrad')
def permute_by_map_back(r: Random, form) -> Case:
    dtype, width, chosen, capacity, owner, expert, _, numbers = mapped(r, form, 'tokensGradOut')
    grad = r.tensor(dtype, (owner.size, width))
    probs = r.tensor(r.pick(form.types['probsGradOut']), (owner.size,)) if r.chance() else None
    value, size = np.zeros((chosen.shape[0], width)), np.zeros((chosen.shape[0], width))
    np.add.at(value, owner, wide(grad))
    np.add.at(size, owner, np.abs(wide(grad)))
    wants = {7: Want(value, size)}
    if probs:
        spread = np.zeros(chosen.shape)
        spread[owner, expert] = wide(probs)
        wants[8] = spread
    return Case([grad, probs, numbers, given(chosen, r.pick(form.types['routingMap'])), chosen.shape[1], chosen.shape[0],
                 capacity > 0, Tensor(dtype, value.shape), Tensor(probs.dtype, chosen.shape) if probs else None], wants)


@TABLE.case('MoeTokenUnpermuteWithRoutingMap')
def unpermute_by_map(r: Random, form) -> Case:
    dtype, width, chosen, capacity, owner, expert, by_token, numbers = mapped(r, form, 'unpermutedTokens')
    x = r.tensor(dtype, (owner.size, width))
    probs = r.tensor(r.pick([dtype, 'f32']), chosen.shape, 0, 1) if r.chance() else None
    factor = wide(probs)[owner, expert] if probs else np.ones(owner.size)
    value, size = np.zeros((chosen.shape[0], width)), np.zeros((chosen.shape[0], width))
    np.add.at(value, owner, wide(x) * factor[:, None])
    np.add.at(size, owner, np.abs(wide(x) * factor[:, None]))
    wants = {6: Want(value, size), 7: by_token, 8: owner[by_token]}
    if probs:
        wants[9] = factor if capacity else wide(probs)[chosen]
    needed = probs or capacity or r.chance()
    return Case([x, numbers, given(chosen, r.pick(form.types['routingMap'])) if needed else None, probs, capacity > 0,
                 list(value.shape), Tensor(dtype, value.shape), Tensor('i32', owner.shape), Tensor('i32', owner.shape),
                 Tensor(probs.dtype, owner.shape) if probs else None], wants)


@TABLE.case('MoeTokenUnpermuteWithRoutingMapGrad')
def unpermute_by_map_back(r: Random, form) -> Case:
    dtype, width, chosen, capacity, owner, expert, by_token, _ = mapped(r, form, 'unpermutedTokensGrad')
    if not capacity:  # the copies of a token may have changed places
        by_token = r.rng.permutation(by_token)
        owner, expert = owner.copy(), expert.copy()
        owner[by_token], expert[by_token] = np.nonzero(chosen)
    grad, x = r.tensor(dtype, (chosen.shape[0], width)), r.tensor(dtype, (owner.size, width))
    probs = r.tensor(r.pick([dtype, 'f32']), chosen.shape, 0, 1) if r.chance() else None
    value = wide(grad)[owner] * (wide(probs)[owner, expert][:, None] if probs else 1)
    wants = {8: Want(value, np.abs(value))}
    if probs:
        spread, size = np.zeros(chosen.shape), np.ones(chosen.shape)
        spread[owner, expert] = (wide(grad)[owner] * wide(x)).sum(1)
        size[owner, expert] = np.abs(wide(grad)[owner] * wide(x)).sum(1)
        wants[9] = Want(spread, size)
    needed = probs or capacity or r.chance()
    return Case([grad, given(by_token, 'i32'), given(owner[by_token], 'i32'),
                 given(chosen, r.pick(form.types['routingMap'])) if needed else None, x if probs or r.chance() else None, probs,
                 capacity > 0, list(grad.shape), Tensor(dtype, value.shape),
                 Tensor(probs.dtype, chosen.shape) if probs else None], wants)
