"""Recurrent networks."""
from __future__ import annotations

import numpy as np

from cases import Case, Table, Want
from reduce import wide
from values import NCL, Random, Tensor, given

TABLE = Table('recurrent')


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


class Lstm:
    """[steps, sequences, features] through all layers, and back."""

    def __init__(self, x, params, h0, c0, layers, directions, biased, sizes=None):
        self.sizes = [x.shape[1]] * len(x) if sizes is None else sizes  # how many sequences have each step
        self.params, self.h0, self.c0, self.directions, self.each = params, h0, c0, directions, 4 if biased else 2
        self.inputs, self.kept = [], []
        for layer in range(layers):
            self.inputs.append(x)
            x = np.concatenate([self.run(x, layer * directions + d, d) for d in range(directions)], axis=2)
        self.output = x

    def of(self, k: int):
        w, u, *biases = self.params[k * self.each:(k + 1) * self.each]
        return w, u, sum(biases)

    def run(self, x, k, d):
        w, u, bias = self.of(k)
        h, c = self.h0[k], self.c0[k]
        kept = {name: np.zeros((*x.shape[:2], h.shape[-1])) for name in 'ijfohct'}
        output = np.zeros_like(kept['h'])
        for step in range(len(x))[::-1 if d else 1]:
            before, has = (h, c), np.arange(x.shape[1])[:, None] < self.sizes[step]
            i, f, j, o = np.split(x[step] @ w.T + h @ u.T + bias, 4, axis=1)
            i, f, j, o = sigmoid(i), sigmoid(f), np.tanh(j), sigmoid(o)
            c = f * c + i * j
            h = o * np.tanh(c)
            kept['t'][step] = np.where(has, np.tanh(c), 0)
            output[step] = np.where(has, h, 0)
            h, c = [np.where(has, new, old) for new, old in zip((h, c), before)]
            for name, value in zip('ijfohc', (i, j, f, o, h, c)):
                kept[name][step] = value if name in 'hc' else np.where(has, value, 0)
        self.kept.append(kept)
        return output

    def last(self, name: str):
        at = [0 if k % self.directions else -1 for k in range(len(self.kept))]
        return np.stack([kept[name][a] for kept, a in zip(self.kept, at)])

    def back(self, dy, dh, dc):
        count = len(self.kept)
        dh_prev, dc_prev, dparams = np.array(dh), np.array(dc), [None] * len(self.params)
        for layer in reversed(range(count // self.directions)):
            below = 0
            for d, part in enumerate(np.split(dy, self.directions, axis=2)):
                k = layer * self.directions + d
                gates, before = self.steps(k, d, part, dh_prev, dc_prev)
                w, _, _ = self.of(k)
                below = below + gates @ w
                grads = [np.einsum('tng,tni->gi', gates, v) for v in (self.inputs[layer], before)]
                dparams[k * self.each:(k + 1) * self.each] = (grads + [gates.sum((0, 1))] * 2)[:self.each]
            dy = below
        return dy, dh_prev, dc_prev, dparams

    def steps(self, k, d, dy, dh, dc):
        i, j, f, o, h, c, t = [self.kept[k][name] for name in 'ijfohct']
        order = list(range(len(i)))[::-1 if d else 1]
        gates, before = np.zeros((*i.shape[:2], 4 * i.shape[2])), np.zeros_like(h)
        for place in reversed(range(len(order))):
            s = order[place]
            h_before = h[order[place - 1]] if place else self.h0[k]
            c_before = c[order[place - 1]] if place else self.c0[k]
            up = dh[k] + dy[s]
            state = dc[k] + up * o[s] * (1 - t[s] ** 2)
            has = np.arange(len(dh[k]))[:, None] < self.sizes[s]
            gates[s] = has * np.concatenate([state * j[s] * i[s] * (1 - i[s]), state * c_before * f[s] * (1 - f[s]),
                                       state * i[s] * (1 - j[s] ** 2), up * t[s] * o[s] * (1 - o[s])], axis=1)
            dc[k], dh[k] = np.where(has, state * f[s], dc[k]), np.where(has, gates[s] @ self.of(k)[1], dh[k])
            before[s] = h_before
        return gates, before


class Drawn:
    def __init__(self, r: Random, dtype: str, packed: bool = False):
        self.dtype, self.steps, self.n, self.into, self.h = dtype, r.int(1, 5), r.int(1, 3), r.int(1, 6), r.width(1, 6)
        self.layers, self.both, self.biased, self.batch_first = r.int(1, 3), r.chance(0.4), r.chance(0.7), r.chance()
        self.sizes = None
        if packed:
            self.batch_first, rest = False, sorted((r.int(1, self.n) for _ in range(self.steps - 1)), reverse=True)
            self.sizes = r.tensor('i64', (self.steps,))
            self.sizes.data[...] = [self.n, *rest]
        self.directions = 2 if self.both else 1
        each = self.layers * self.directions
        widths = [self.into] * self.directions + [self.directions * self.h] * (each - self.directions)
        self.x = r.tensor(dtype, (self.steps, self.n, self.into), -1, 1, NCL)
        self.params = []
        for width in widths:
            shapes = [(4 * self.h, width), (4 * self.h, self.h)] + [(4 * self.h,)] * (2 * self.biased)
            self.params += [r.tensor(dtype, shape, -0.5, 0.5) for shape in shapes]
        self.state = (each, self.n, self.h)
        self.hx = [r.tensor(dtype, self.state, -1, 1, NCL) for _ in range(2)]
        self.lstm = Lstm(wide(self.x.data), [wide(p.data) for p in self.params], *[wide(t.data) for t in self.hx],
                         self.layers, self.directions, self.biased, None if self.sizes is None else self.sizes.data)

    def turned(self, array):
        return np.swapaxes(array, 0, 1) if self.batch_first else array

    def input(self) -> Tensor:
        if self.sizes is not None:
            return given(self.x.data.reshape(-1, self.into), self.dtype)
        return given(self.turned(self.x.data), self.dtype, NCL)

    def flags(self, train: bool) -> list:
        return [self.biased, self.layers, 0.0, train, self.both, self.batch_first]


@TABLE.case('LSTM')
def lstm(r: Random, form) -> Case:
    d, train = Drawn(r, r.pick(form.types['input']), r.chance(0.3)), r.chance(0.7)
    output = d.turned(d.lstm.output)
    wants = {10: Want(output, 1.0, loose=4), 11: Want(d.lstm.last('h'), 1.0, loose=4), 12: Want(d.lstm.last('c'), 1.0, loose=4)}
    outs = [Tensor(d.dtype, v.value.shape, format=NCL) for v in wants.values()]
    lists, numbers = [], r.chance()  # torch-npu passes lists of numbers where nothing is trained
    for place, name in enumerate('ijfohct', 13):
        if not train and name in 'hc' and numbers:
            lists.append([Tensor(d.dtype, ()) for _ in d.lstm.kept])
            continue
        lists.append([Tensor(d.dtype, k[name].shape, format=NCL) for k in d.lstm.kept] if train or name in 'hc' else None)
        if lists[-1]:
            wants[place] = [Want(k[name], 1.0, loose=4) for k in d.lstm.kept]
    return Case([d.input(), d.params, d.hx, d.sizes, *d.flags(train), *outs, *lists], wants)


@TABLE.case('LstmBackward')
def lstm_backward(r: Random, form) -> Case:
    d = Drawn(r, r.pick(form.types['input']), r.chance(0.3))
    dy = r.tensor(d.dtype, d.lstm.output.shape, -1, 1)
    dh, dc = [r.tensor(d.dtype, d.state, -1, 1, NCL) if r.chance(0.6) else None for _ in range(2)]
    kept = [[given(k[name], d.dtype, NCL) for k in d.lstm.kept] for name in 'ijfohct']
    for number, lists in enumerate(zip(*kept)):  # what is stored is what counts
        d.lstm.kept[number] = {name: wide(t.data) for name, t in zip('ijfohct', lists)}
    for layer in range(1, d.layers):
        d.lstm.inputs[layer] = np.concatenate([d.lstm.kept[(layer - 1) * d.directions + k]['h'] for k in range(d.directions)], 2)
    zero = np.zeros(d.state)
    dx, dh_prev, dc_prev, dparams = d.lstm.back(wide(dy.data), *[wide(t.data) if t else zero for t in (dh, dc)])
    values = [d.turned(dx) if d.sizes is None else dx.reshape(-1, d.into), dh_prev, dc_prev]
    outs = [Tensor(d.dtype, v.shape, format=NCL) for v in values]
    wants = {21 + i: Want(v, 4.0, loose=4) for i, v in enumerate(values)}
    wants[24] = [Want(v, 4.0 + np.abs(v).max(), loose=8) for v in dparams]
    return Case([d.input(), d.hx, d.params, given(d.turned(dy.data), d.dtype, NCL), dh, dc, *kept, d.sizes, *d.flags(True), None,
                 *outs, [Tensor(d.dtype, p.shape) for p in d.params]], wants)


@TABLE.case('ThnnFusedLstmCell')
def cell(r: Random, form) -> Case:
    dtype, n, h = r.pick(form.types['cx']), r.size(0, 6) if r.chance(0.9) else 300, r.width(1, 9)
    gates = [r.tensor(dtype, (n, 4 * h), -2, 2) for _ in range(2)]
    c = r.tensor(dtype, (n, h))
    biases = [r.tensor(dtype, (4 * h,), -1, 1) if r.chance(0.6) else None for _ in range(2)]
    i, f, g, o = np.split(sum(wide(t.data) for t in (*gates, *biases) if t), 4, axis=1)
    i, f, g, o = sigmoid(i), sigmoid(f), np.tanh(g), sigmoid(o)
    memory = f * wide(c.data) + i * g
    values = [o * np.tanh(memory), memory, np.concatenate([i, f, g, o], 1)]
    return Case([*gates, c, *biases, *[Tensor(dtype, v.shape) for v in values]],
                {5 + k: Want(v, 1.0, loose=4) for k, v in enumerate(values)})


@TABLE.case('ThnnFusedLstmCellBackward')
def cell_backward(r: Random, form) -> Case:
    dtype, n, h = r.pick(form.types['cx']), r.size(0, 6) if r.chance(0.9) else 300, r.width(1, 9)
    dh, dc = [r.tensor(dtype, (n, h), -2, 2) if r.chance(0.8) else None for _ in range(2)]
    before, after = r.tensor(dtype, (n, h), -2, 2), r.tensor(dtype, (n, h), -2, 2)
    kept = r.tensor(dtype, (n, 4 * h), -1, 1)
    i, f, g, o = np.split(wide(kept.data), 4, axis=1)
    up, state, bent = [wide(t.data) if t else np.zeros((n, h)) for t in (dh, dc)] + [np.tanh(wide(after.data))]
    state = state + up * o * (1 - bent ** 2)
    gates = np.concatenate([state * g * i * (1 - i), state * wide(before.data) * f * (1 - f), state * i * (1 - g ** 2),
                            up * bent * o * (1 - o)], 1)
    biased, wants = r.chance(0.7), {6: Want(gates, 8.0, loose=4), 7: Want(state * f, 8.0, loose=4)}
    bias = r.tensor(dtype, (4 * h,)) if biased or r.chance() else None
    if biased:
        wants[8] = Want(gates.sum(0), 8.0 + np.abs(gates).sum(0), loose=4)
    return Case([dh, dc, before, after, kept, biased, Tensor(dtype, gates.shape), Tensor(dtype, (n, h)), bias], wants)
