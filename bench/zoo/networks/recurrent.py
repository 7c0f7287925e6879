"""Sequences, one step after another: cells of torch, cells by hand in loops of fixed length, and scans."""
from __future__ import annotations

import functools

import torch
import torch.nn.functional as F
from torch import nn

from .tables import Net, ids


def stack(kind, batch, length, inputs=32, width=128, layers=2, both=False, **keywords):
    """Layers of torch's own; the sequence's results and what the last step leaves."""
    net = getattr(nn, kind)(inputs, width, layers, batch_first=True, bidirectional=both, **keywords)

    def run(m, x):
        y, last = m.net(x)
        return m.out(y), last[0] if isinstance(last, tuple) else last
    return Net(run, net=net, out=nn.Linear(width * (1 + both), 10)), (
            torch.randn(batch, length, inputs),)


def carried(batch=8, length=40, width=96):
    """States come in and go out, as in a stream."""
    def run(m, x, h, c):
        y, (h, c) = m.net(x, (h, c))
        return m.out(y[-1]), h, c
    return Net(run, net=nn.LSTM(40, width, 2), out=nn.Linear(width, 30)), (
        torch.randn(length, batch, 40), torch.randn(2, batch, width), torch.randn(2, batch, width))


def text_classifier(batch, length=60, width=64, pool='last'):
    def run(m, words):
        y, h = m.gru(m.words(words))
        if pool == 'last':
            return m.out(torch.cat([h[-2], h[-1]], 1)).log_softmax(1)
        mask = (words != 0).unsqueeze(2)
        if pool == 'attention':
            weights = m.score(torch.tanh(m.inner(y))).masked_fill(~mask, -1e4).softmax(1)
            return m.out((weights * y).sum(1)), weights.squeeze(2)
        most = y.masked_fill(~mask, -1e4).max(1)[0]
        return m.out((y * mask).sum(1) / mask.sum(1) + most)
    words = ids(5000, batch, length)
    words[:, -length // 3:] = 0
    return Net(run, words=nn.Embedding(5000, width, padding_idx=0),
               gru=nn.GRU(width, width, batch_first=True, bidirectional=True), inner=nn.Linear(2 * width, 64),
               score=nn.Linear(64, 1), out=nn.Linear(2 * width, 6)), (words,)


def language_model(batch, length=35, width=128, words=4000):
    """The table of words is read at both ends."""
    def run(m, x):
        y, _ = m.lstm(m.words(x))
        return (y @ m.words.weight.t() + m.bias).log_softmax(2)
    return Net(run, words=nn.Embedding(words, width), lstm=nn.LSTM(width, width, 2, batch_first=True),
               bias=nn.Parameter(torch.randn(words))), (ids(words, batch, length),)


def translator(batch, kind, source=20, target=12, width=96, words=2000):
    """An encoder, and a decoder that looks at its states and reads its own best word."""
    def run(m, x):
        states, h = m.encoder(m.source(x))
        keys, h = m.keys(states), torch.tanh(m.bridge(torch.cat([h[0], h[1]], 1)))
        word, scores = m.target(torch.zeros(batch, dtype=torch.int64)), []
        context = torch.zeros(batch, 2 * width)
        for _ in range(target):
            if kind == 'bahdanau':
                weights = m.score(torch.tanh(keys + m.query(h).unsqueeze(1))).softmax(1)
                context = (weights * states).sum(1)
            h = m.cell(torch.cat([word, context], 1), h)
            if kind == 'luong':
                weights = (keys @ h.unsqueeze(2)).softmax(1)
                context = (weights.transpose(1, 2) @ states).squeeze(1)
            step = m.out(torch.tanh(m.join(torch.cat([h, context], 1))))
            scores.append(step)
            word = m.target(step.argmax(1))
        return torch.stack(scores, 1)
    out = nn.Linear(width, words)
    out.weight.data *= 10  # words apart enough that any arithmetic picks the same
    return Net(run, source=nn.Embedding(words, width), encoder=nn.GRU(width, width, batch_first=True,
                                                                      bidirectional=True),
               keys=nn.Linear(2 * width, width), bridge=nn.Linear(2 * width, width), target=nn.Embedding(words, width),
               query=nn.Linear(width, width), score=nn.Linear(width, 1), cell=nn.GRUCell(3 * width, width),
               join=nn.Linear(3 * width, width), out=out), (ids(words, batch, source),)


def pointer(batch=32, cities=12, width=64):
    """A pointer network: what was picked is masked for the steps after."""
    def run(m, x):
        states, (h, c) = m.encoder(m.first(x))
        h, c, keys = h[0], c[0], m.keys(states)
        seen, read, picked = torch.zeros(batch, cities), states.mean(1), []
        for _ in range(cities):
            h, c = m.cell(read, (h, c))
            scores = (m.v(torch.tanh(keys + m.query(h).unsqueeze(1))).squeeze(2) * 5 - seen * 1e4).log_softmax(1)
            chosen = F.one_hot(scores.argmax(1), cities).float()
            seen, read = seen + chosen, (chosen.unsqueeze(1) @ states).squeeze(1)
            picked.append((scores * chosen).sum(1))
        return torch.stack(picked, 1)
    return Net(run, first=nn.Linear(2, width), encoder=nn.LSTM(width, width, batch_first=True),
               keys=nn.Linear(width, width), query=nn.Linear(width, width), v=nn.Linear(width, 1),
               cell=nn.LSTMCell(width, width)), (torch.rand(batch, cities, 2),)


def normed_gru(batch, length=20, width=96):
    def run(m, x):
        h, kept = torch.zeros(batch, width), []
        for t in range(length):
            a, b = m.n1(m.inputs(x[:, t])).chunk(3, 1), m.n2(m.states(h)).chunk(3, 1)
            r, z = torch.sigmoid(a[0] + b[0]), torch.sigmoid(a[1] + b[1])
            h = (1 - z) * torch.tanh(a[2] + r * b[2]) + z * h
            kept.append(h)
        return torch.stack(kept, 1)
    return Net(run, inputs=nn.Linear(48, 3 * width), states=nn.Linear(width, 3 * width), n1=nn.LayerNorm(3 * width),
               n2=nn.LayerNorm(3 * width)), (torch.randn(batch, length, 48),)


def peephole_lstm(batch=32, length=24, width=96):
    def run(m, x):
        h = c = torch.zeros(batch, width)
        inputs = m.inputs(x)
        for t in range(length):
            i, f, g, o = (inputs[:, t] + m.states(h)).split(width, 1)
            i, f = torch.sigmoid(i + m.pi * c), torch.sigmoid(f + m.pf * c + 1)
            c = f * c + i * torch.tanh(g)
            h = torch.sigmoid(o + m.po * c) * torch.tanh(c)
        return h, c
    peep = {k: nn.Parameter(torch.randn(width)) for k in ('pi', 'pf', 'po')}
    return Net(run, inputs=nn.Linear(40, 4 * width), states=nn.Linear(width, 4 * width, bias=False), **peep), (
        torch.randn(batch, length, 40),)


def conv_lstm(frames=8, side=32, w=24):
    def run(m, x):
        h = c = torch.zeros(1, w, side, side)
        for t in range(frames):
            i, f, o, g = m.gates(torch.cat([x[:, t], h], 1)).chunk(4, 1)
            c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
            h = torch.sigmoid(o) * torch.tanh(c)
        return torch.sigmoid(m.out(h))
    return Net(run, gates=nn.Conv2d(1 + w, 4 * w, 3, padding=1), out=nn.Conv2d(w, 1, 1)), (
            torch.randn(1, frames, 1, side, side),)


def conv_gru(frames=6, w=32):
    """Frames through a small network, then gates of convolutions."""
    def run(m, x):
        x = m.body(x.flatten(0, 1)).unflatten(0, (1, frames))
        h = torch.zeros_like(x[:, 0])
        for t in range(frames):
            z, r = torch.sigmoid(m.gates(torch.cat([x[:, t], h], 1))).chunk(2, 1)
            h = (1 - z) * h + z * torch.tanh(m.new(torch.cat([x[:, t], r * h], 1)))
        return m.out(h.mean((2, 3)))
    body = nn.Sequential(nn.Conv2d(3, w, 5, 2, 2), nn.ReLU(), nn.Conv2d(w, w, 3, 2, 1), nn.ReLU())
    return Net(run, body=body, gates=nn.Conv2d(2 * w, 2 * w, 3, padding=1), new=nn.Conv2d(2 * w, w, 3, padding=1),
               out=nn.Linear(w, 12)), (torch.randn(1, frames, 3, 96, 96),)


def qrnn(batch=8, length=60, width=128):
    """Gates by convolutions over time; only products and sums are left to the steps."""
    def run(m, x):
        x = x.transpose(1, 2)
        for layer in m.layers:
            z, f, o = layer(F.pad(x, (1, 0))).chunk(3, 1)
            z, f, o = torch.tanh(z), torch.sigmoid(f), torch.sigmoid(o)
            c, kept = torch.zeros_like(z[..., 0]), []
            for t in range(length):
                c = f[..., t] * c + (1 - f[..., t]) * z[..., t]
                kept.append(c)
            x = o * torch.stack(kept, 2)
        return m.out(x[..., -1])
    return Net(run, layers=[nn.Conv1d(64, 3 * width, 2), nn.Conv1d(width, 3 * width, 2)], out=nn.Linear(width, 5)), (
        torch.randn(batch, length, 64),)


def sru(batch=32, length=40, width=96):
    """Forgetting reads the state only by a product per channel, with a way around."""
    def run(m, x):
        for layer, vf, vr in zip(m.layers, m.vf, m.vr):
            u, f, r = layer(x).chunk(3, 2)
            c, kept = torch.zeros_like(u[:, 0]), []
            for t in range(length):
                forget = torch.sigmoid(f[:, t] + vf * c)
                reset = torch.sigmoid(r[:, t] + vr * c)
                c = forget * c + (1 - forget) * u[:, t]
                kept.append(reset * c + (1 - reset) * x[:, t])
            x = torch.stack(kept, 1)
        return x
    return Net(run, layers=[nn.Linear(width, 3 * width) for _ in range(2)],
               **{k: nn.ParameterList([torch.randn(width) for _ in range(2)]) for k in ('vf', 'vr')}), (
                   torch.randn(batch, length, width),)


def echo_state(batch=8, length=60, width=300):
    def run(m, x):
        h, kept = torch.zeros(batch, width), []
        x = x @ m.inputs
        for t in range(length):
            h = 0.7 * h + 0.3 * torch.tanh(x[:, t] + h @ m.states)
            kept.append(h)
        return m.out(torch.stack(kept, 1))
    states = torch.randn(width, width) * (torch.rand(width, width) < 0.1)
    return Net(run, inputs=torch.randn(4, width), states=0.9 * states / (0.1 * width) ** 0.5,
               out=nn.Linear(width, 3)), (torch.randn(batch, length, 4),)


def tagger(batch=8, length=20, letters=12, width=64):
    """Words with their letters' convolution, layers in both ways, and the scores of a best path's forward pass."""
    def run(m, words, spelled):
        x = m.letters(spelled.flatten(0, 1)).transpose(1, 2)
        x = torch.relu(m.conv(x)).max(2)[0].unflatten(0, (batch, length))
        y, _ = m.lstm(torch.cat([m.words(words), x], 2))
        scores = m.out(y)
        best, back = scores[:, 0], []
        for t in range(1, length):
            top, at = (best.unsqueeze(2) + m.moves).max(1)
            best = top + scores[:, t]
            back.append(at)
        tag = best.argmax(1, keepdim=True)
        path = [tag]
        for at in back[::-1]:
            tag = at.gather(1, tag)
            path.append(tag)
        return best, torch.cat(path[::-1], 1)
    out = nn.Linear(2 * width, 9)
    out.weight.data *= 10
    return Net(run, words=nn.Embedding(4000, width), letters=nn.Embedding(80, 24), conv=nn.Conv1d(24, 32, 3, padding=1),
               lstm=nn.LSTM(width + 32, width, batch_first=True, bidirectional=True), out=out,
               moves=torch.randn(9, 9)), (ids(4000, batch, length), ids(80, batch, length, letters))


def mamba(batch=1, length=48, width=64, states=8, scan='steps'):
    """Selective state spaces: the step, what is read and what is written depend on the input."""
    inner, rank = 2 * width, 4

    def run(m, x):
        for norm, enter, conv, select, step, a, d, leave in zip(m.norms, m.enter, m.convs, m.select, m.steps, m.a, m.d,
                                                                m.leave):
            u, gate = enter(norm(x)).chunk(2, 2)
            u = F.silu(conv(F.pad(u.transpose(1, 2), (3, 0))).transpose(1, 2))
            low, b, c = select(u).split((rank, states, states), 2)
            delta = F.softplus(step(low))
            decay = delta.unsqueeze(3) * -torch.exp(a)
            new = (delta * u).unsqueeze(3) * b.unsqueeze(2)
            if scan == 'sums':
                # The state is a sum of what came, each decayed since: a cumulative sum in units of the decay so far.
                sums = decay.cumsum(1).clamp(min=-25)
                h = torch.exp(sums) * (new * torch.exp(-sums)).cumsum(1)
                y = (h * c.unsqueeze(2)).sum(3)
            else:
                decay, h, kept = torch.exp(decay), torch.zeros_like(new[:, 0]), []
                for t in range(length):
                    h = decay[:, t] * h + new[:, t]
                    kept.append((h @ c[:, t].unsqueeze(2)).squeeze(2))
                y = torch.stack(kept, 1)
            x = x + leave((y + d * u) * F.silu(gate))
        return m.out(x)
    n = range(2)
    return Net(run, norms=[nn.LayerNorm(width) for _ in n], enter=[nn.Linear(width, 2 * inner) for _ in n],
               convs=[nn.Conv1d(inner, inner, 4, groups=inner) for _ in n],
               select=[nn.Linear(inner, rank + 2 * states) for _ in n], steps=[nn.Linear(rank, inner) for _ in n],
               a=nn.ParameterList([torch.arange(1, states + 1).float().log().expand(inner, -1).clone() for _ in n]),
               d=nn.ParameterList([torch.ones(inner) for _ in n]), leave=[nn.Linear(inner, width) for _ in n],
               out=nn.Linear(width, 50)), (torch.randn(batch, length, width),)


def s4d(batch=4, length=128, width=64, states=16, way='direct'):
    """A diagonal state space as one long convolution; its kernel comes from powers, written in real numbers."""
    def run(m, x):
        x = m.first(x).transpose(1, 2)
        for a, w, c, s, d, mix in zip(m.a, m.w, m.c, m.s, m.d, m.mix):
            t = torch.arange(length).float()
            size = torch.exp(-torch.exp(a).unsqueeze(2) * t)
            kernel = (size * (c.unsqueeze(2) * torch.cos(w.unsqueeze(2) * t) + s.unsqueeze(2)
                              * torch.sin(w.unsqueeze(2) * t))).sum(1)
            if way == 'fft':
                y = torch.fft.irfft(torch.fft.rfft(x, n=2 * length) * torch.fft.rfft(kernel, n=2 * length),
                                    n=2 * length)[..., :length]
            else:
                y = F.conv1d(F.pad(x, (length - 1, 0)), kernel.flip(1).unsqueeze(1), groups=width)
            x = x + F.glu(mix(F.gelu(y + d.unsqueeze(1) * x)), 1)
        return m.out(x.mean(2))
    n, drawn = range(2), lambda f: nn.ParameterList([f(torch.randn(width, states)) for _ in range(2)])
    return Net(run, first=nn.Linear(1, width), a=drawn(lambda r: r - 3), w=drawn(lambda r: r.abs()),
               c=drawn(lambda r: r / states), s=drawn(lambda r: r / states),
               d=nn.ParameterList([torch.ones(width) for _ in n]), mix=[nn.Conv1d(width, 2 * width, 1) for _ in n],
               out=nn.Linear(width, 10)), (torch.randn(batch, length, 1),)


def rwkv(batch=1, length=48, width=96):
    """Weighted sums of the past that decay per channel, kept in safe exponents."""
    def run(m, x):
        for n1, n2, k, v, r, o, up, down, decay, first in zip(m.n1, m.n2, m.k, m.v, m.r, m.o, m.up, m.down, m.decay,
                                                              m.first):
            y = n1(x)
            y = 0.5 * (y + F.pad(y, (0, 0, 1, 0))[:, :-1])
            keys, values, gate = k(y), v(y), torch.sigmoid(r(y))
            a = b = torch.zeros_like(keys[:, 0])
            top, kept = torch.full_like(a, -1e30), []
            for t in range(length):
                now = torch.maximum(top, first + keys[:, t])
                e1, e2 = torch.exp(top - now), torch.exp(first + keys[:, t] - now)
                kept.append((e1 * a + e2 * values[:, t]) / (e1 * b + e2))
                new = torch.maximum(top - torch.exp(decay), keys[:, t])
                e1, e2 = torch.exp(top - torch.exp(decay) - new), torch.exp(keys[:, t] - new)
                a, b, top = e1 * a + e2 * values[:, t], e1 * b + e2, new
            x = x + o(gate * torch.stack(kept, 1))
            x = x + down(torch.relu(up(n2(x))) ** 2)
        return x
    def many(make):
        return [make() for _ in range(2)]
    square = functools.partial(nn.Linear, width, width, bias=False)
    return Net(run, n1=many(lambda: nn.LayerNorm(width)), n2=many(lambda: nn.LayerNorm(width)), k=many(square),
               v=many(square), r=many(square), o=many(square), up=many(lambda: nn.Linear(width, 4 * width)),
               down=many(lambda: nn.Linear(4 * width, width)), decay=nn.ParameterList(many(lambda: torch.randn(width))),
               first=nn.ParameterList(many(lambda: torch.randn(width)))), (torch.randn(batch, length, width),)


def retention(batch=4, length=64, width=128, heads=4):
    """Linear attention with decay in its parallel form, and a norm for each head."""
    def run(m, x):
        t = torch.arange(length).float()
        far = t.unsqueeze(1) - t
        decay = torch.where(far >= 0, m.gamma.view(-1, 1, 1) ** far.clamp(min=0), torch.zeros(()))
        for norm, qkv, gate, out in zip(m.norms, m.qkv, m.gates, m.outs):
            y = norm(x)
            q, k, v = (z.unflatten(2, (heads, -1)).transpose(1, 2) for z in qkv(y).chunk(3, 2))
            z = ((q @ k.transpose(2, 3)) * decay / (width // heads) ** 0.5) @ v
            z = m.heads(z.transpose(1, 2).flatten(0, 1).flatten(1)).view(x.shape)
            x = x + out(F.silu(gate(y)) * z)
        return x
    n = range(2)
    return Net(run, gamma=1 - 2.0 ** (-5 - torch.arange(heads)), heads=nn.GroupNorm(heads, width),
               norms=[nn.LayerNorm(width) for _ in n], qkv=[nn.Linear(width, 3 * width) for _ in n],
               gates=[nn.Linear(width, width) for _ in n], outs=[nn.Linear(width, width) for _ in n]), (
            torch.randn(batch, length, width),)


def crnn(width=96):
    """A line of text: columns of a convolution's picture are the steps."""
    def run(m, x):
        x = m.body(x).mean(2).transpose(1, 2)
        y, _ = m.lstm(x)
        return m.out(y).log_softmax(2)
    layers = [layer for a, b in ((1, 32), (32, 64), (64, 96)) for layer in (
        nn.Conv2d(a, b, 3, padding=1), nn.BatchNorm2d(b), nn.ReLU(), nn.MaxPool2d((2, 2 if b < 96 else 1)))]
    return Net(run, body=nn.Sequential(*layers), lstm=nn.LSTM(96, width, 2, batch_first=True, bidirectional=True),
               out=nn.Linear(2 * width, 40)), (torch.randn(1, 1, 32, 160),)


def frames(batch=2, length=10, side=40):
    """A few cells of each frame, then an LSTM over them."""
    def run(m, x):
        y, _ = m.lstm(m.body(x.flatten(0, 1)).view(batch, length, -1))
        return m.out(y[:, -1])
    body = nn.Sequential(nn.Conv2d(1, 8, 5, 2), nn.ReLU(), nn.Conv2d(8, 16, 3, 2), nn.ReLU(), nn.AdaptiveAvgPool2d(3),
                         nn.Flatten())
    return Net(run, body=body, lstm=nn.LSTM(144, 64, 2, batch_first=True), out=nn.Linear(64, 5)), (
            torch.randn(batch, length, 1, side, side),)


def dilated_highway(batch=8, length=64, width=64):
    """A clockwork: slow cells move only at every second, fourth and eighth step."""
    def run(m, x):
        states = [torch.zeros(batch, width) for _ in range(4)]
        for t in range(length):
            read = x[:, t]
            for i, cell in enumerate(m.cells):
                if t % 2 ** i == 0:
                    states[i] = cell(read, states[i])
                read = states[i]
        return m.out(torch.cat(states, 1))
    return Net(run, cells=[nn.GRUCell(width, width) for _ in range(4)], out=nn.Linear(4 * width, 7)), (
            torch.randn(batch, length, width),)


def networks():
    makers = {'lstm states carried': carried, 'pointer network': pointer,
              'gru with norms batch 1': functools.partial(normed_gru, 1, width=256),
              'gru with norms batch 32': functools.partial(normed_gru, 32), 'lstm with peepholes': peephole_lstm,
              'conv lstm': conv_lstm, 'conv gru of frames': conv_gru, 'qrnn': qrnn, 'sru': sru,
              'echo state': echo_state, 'tagger with letters': tagger, 'mamba by steps': mamba,
              'mamba by sums': functools.partial(mamba, 1, 64, scan='sums'), 's4d direct': s4d,
              's4d fourier': functools.partial(s4d, way='fft'), 'rwkv': rwkv, 'retention': retention,
              'crnn line of text': crnn, 'frames then lstm': frames, 'clockwork': dilated_highway,
              'language model batch 1': functools.partial(language_model, 1),
              'language model batch 8': functools.partial(language_model, 8, 20),
              'seq2seq bahdanau': functools.partial(translator, 8, 'bahdanau'),
              'seq2seq luong': functools.partial(translator, 8, 'luong')}
    for kind, batch, length, keywords in (('LSTM', 1, 100, {}), ('LSTM', 8, 50, {'both': True}),
                                          ('LSTM', 64, 20, {'layers': 1}), ('LSTM', 32, 30, {'layers': 3}),
                                          ('GRU', 1, 100, {'both': True}), ('GRU', 32, 30, {}),
                                          ('GRU', 64, 20, {'layers': 1, 'width': 96}), ('RNN', 8, 80, {'both': True}),
                                          ('RNN', 32, 80, {'nonlinearity': 'relu'})):
        more = ' '.join(f'{k} {v}' for k, v in keywords.items())
        name = f'{kind.lower()} batch {batch} steps {length} {more}'.strip()
        makers[name] = functools.partial(stack, kind, batch, length, **keywords)
    for pool, batch in (('last', 1), ('attention', 32), ('mean and max', 8)):
        makers[f'text classifier {pool} batch {batch}'] = functools.partial(text_classifier, batch, pool=pool)
    for name, make in makers.items():
        yield f'recurrent/{name}', make
