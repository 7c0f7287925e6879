"""Rows of tables and histories of users to scores: recommenders, tabular networks and forecasts.

`Net`, `mlp` and `Attention` also serve the other lists of networks that are written out by hand.
"""
from __future__ import annotations

import functools

import torch
import torch.nn.functional as F
from torch import nn


class Net(nn.Module):
    """A function of named parts: `how(self, *arguments)`. Tensors become buffers and lists become lists of modules."""

    def __init__(self, how, **parts):
        super().__init__()
        self.how = how
        for name, part in parts.items():
            if isinstance(part, torch.Tensor) and not isinstance(part, nn.Parameter):
                self.register_buffer(name, part)
            elif isinstance(part, list) and isinstance(part[0], nn.Module):
                setattr(self, name, nn.ModuleList(part))
            else:
                setattr(self, name, part)

    def forward(self, *arguments):
        return self.how(self, *arguments)


class Residual(nn.Module):
    def __init__(self, *parts):
        super().__init__()
        self.inner = nn.Sequential(*parts)

    def forward(self, x):
        return x + self.inner(x)


class Attention(nn.Module):
    """Of `heads` heads, to itself or to `context`, written with products and a softmax."""

    def __init__(self, width, heads=4, of=None, causal=False):
        super().__init__()
        self.heads, self.causal = heads, causal
        self.q, self.out = nn.Linear(width, width), nn.Linear(width, width)
        self.k, self.v = (nn.Linear(of or width, width) for _ in range(2))

    def forward(self, x, context=None, mask=None):
        context = x if context is None else context
        q, k, v = (t.unflatten(-1, (self.heads, -1)).transpose(1, 2)
                   for t in (self.q(x), self.k(context), self.v(context)))
        scores = q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5
        if self.causal:
            mask = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).tril()
        if mask is not None:
            scores = scores.masked_fill(~mask, -1e9)
        return self.out((scores.softmax(-1) @ v).transpose(1, 2).flatten(2))


def mlp(*sizes, act=nn.ReLU, last=None, norm=None):
    layers = []
    for i, (a, b) in enumerate(zip(sizes, sizes[1:])):
        layers.append(nn.Linear(a, b))
        if i < len(sizes) - 2:
            layers += ([norm(b)] if norm else []) + [act()]
    return nn.Sequential(*layers, *([last()] if last else []))


def block(width, heads=4, causal=False, act=nn.GELU):
    """A layer of a transformer, norms first."""
    return nn.Sequential(Residual(nn.LayerNorm(width), Attention(width, heads, causal=causal)),
                         Residual(nn.LayerNorm(width), mlp(width, 4 * width, width, act=act)))


class Fields(nn.Module):
    """Categories of several columns to vectors: one table, each column with its own part of it."""

    def __init__(self, columns, rows, width):
        super().__init__()
        self.table = nn.Embedding(columns * rows, width)
        self.register_buffer('start', torch.arange(columns) * rows)

    def forward(self, ids):
        return self.table(ids + self.start)


def ids(high, *shape):
    return torch.randint(0, high, shape)


def dlrm(batch, bags):
    width, tables, hot = 32, 26, 4

    def run(m, dense, sparse):
        dense = m.bottom(dense)
        if bags:
            offsets = torch.arange(batch) * hot
            vectors = [t(sparse[:, i].reshape(-1), offsets) for i, t in enumerate(m.tables)]
        else:
            vectors = [t(sparse[:, i, 0]) for i, t in enumerate(m.tables)]
        x = torch.stack([dense] + vectors, 1)
        products = (x @ x.transpose(1, 2))[:, m.rows, m.columns]
        return torch.sigmoid(m.top(torch.cat([dense, products], 1)))
    kind = functools.partial(nn.EmbeddingBag, mode='sum') if bags else nn.Embedding
    rows, columns = torch.tril_indices(tables + 1, tables + 1, -1)
    net = Net(run, bottom=mlp(13, 512, 256, width, last=nn.ReLU), tables=[kind(4000, width) for _ in range(tables)],
              top=mlp(width + tables * (tables + 1) // 2, 512, 256, 1), rows=rows, columns=columns)
    return net, (torch.randn(batch, 13), ids(4000, batch, tables, hot))


def wide_and_deep(batch):
    def run(m, dense, sparse):
        deep = m.deep(torch.cat([m.fields(sparse).flatten(1), dense], 1))
        return torch.sigmoid(deep + m.wide(sparse).sum(1) + m.crosses(sparse[:, :8] * 31 + sparse[:, 8:16]).sum(1))
    net = Net(run, fields=Fields(16, 1000, 16), wide=Fields(16, 1000, 1), crosses=Fields(8, 32000, 1),
              deep=mlp(16 * 16 + 10, 1024, 512, 256, 1))
    return net, (torch.randn(batch, 10), ids(1000, batch, 16))


def deep_fm(batch):
    def run(m, sparse):
        x = m.fields(sparse)
        second = 0.5 * (x.sum(1) ** 2 - (x ** 2).sum(1)).sum(1, keepdim=True)
        return torch.sigmoid(m.first(sparse).sum(1) + second + m.deep(x.flatten(1)))
    net = Net(run, fields=Fields(39, 1500, 16), first=Fields(39, 1500, 1),
              deep=mlp(39 * 16, 400, 400, 400, 1, norm=nn.BatchNorm1d))
    return net, (ids(1500, batch, 39),)


def dcn(batch, experts=0):
    """Deep and cross, the second version: a cross is a full matrix, or a mixture of products of low rank."""
    width, rank = 26 * 16 + 13, 64

    def run(m, dense, sparse):
        x0 = x = torch.cat([m.fields(sparse).flatten(1), dense], 1)
        for cross, gate in zip(m.crosses, m.gates):
            if experts:
                parts = torch.stack([x0 * part(x) for part in cross], 2)
                x = (parts @ gate(x).softmax(1).unsqueeze(2)).squeeze(2) + x
            else:
                x = x0 * cross(x) + x
        return torch.sigmoid(m.out(torch.cat([x, m.deep(x0)], 1)))

    def low():
        return mlp(width, rank, rank, width, act=nn.Tanh)
    net = Net(run, fields=Fields(26, 1000, 16), deep=mlp(width, 512, 256, 128, last=nn.ReLU),
              out=nn.Linear(width + 128, 1), crosses=[nn.ModuleList([low() for _ in range(experts)]) if experts
                                                      else nn.Linear(width, width) for _ in range(3)],
              gates=[nn.Linear(width, max(experts, 1)) for _ in range(3)])
    return net, (torch.randn(batch, 13), ids(1000, batch, 26))


def xdeep_fm(batch):
    """Compressed interactions: outer products of fields, then a convolution of width 1 over them."""
    fields, maps = 24, (64, 64, 32)

    def run(m, sparse):
        x0 = x = m.fields(sparse)
        sums = []
        for layer in m.layers:
            x = torch.relu(layer((x.unsqueeze(2) * x0.unsqueeze(1)).flatten(1, 2)))
            sums.append(x.sum(2))
        return torch.sigmoid(m.out(torch.cat(sums, 1)) + m.deep(x0.flatten(1)))
    layers = [nn.Conv1d(a * fields, b, 1) for a, b in zip((fields,) + maps, maps)]
    return Net(run, fields=Fields(fields, 1000, 16), layers=layers, out=nn.Linear(sum(maps), 1),
               deep=mlp(fields * 16, 256, 128, 1)), (ids(1000, batch, fields),)


def din(batch, length=50, width=32):
    """Attention of the candidate over the history by a small network of both, their difference and product."""
    def run(m, history, candidate, lengths):
        h, c = m.items(history), m.items(candidate).unsqueeze(1).expand(-1, length, -1)
        weights = m.attention(torch.cat([h, c, h - c, h * c], 2)).squeeze(2)
        mask = torch.arange(length) < lengths.unsqueeze(1)
        weights = torch.where(mask, weights, torch.full_like(weights, -1e9)).softmax(1)
        user = (weights.unsqueeze(1) @ h).squeeze(1)
        return torch.sigmoid(m.out(torch.cat([user, c[:, 0], user * c[:, 0]], 1)))
    net = Net(run, items=nn.Embedding(50000, width), attention=mlp(4 * width, 80, 40, 1, act=nn.Sigmoid),
              out=mlp(3 * width, 200, 80, 1, act=nn.PReLU))
    return net, (ids(50000, batch, length), ids(50000, batch), torch.randint(1, length + 1, (batch,)))


def dien(batch, length=30, width=32):
    """Interests that evolve: a recurrent layer, then a cell whose update gate is scaled by attention."""
    def run(m, history, candidate):
        h, _ = m.gru(m.items(history))
        c = m.items(candidate)
        weights = (m.match(h) @ c.unsqueeze(2)).softmax(1)
        state = torch.zeros(batch, width)
        for t in range(length):
            both = torch.cat([h[:, t], state], 1)
            update = torch.sigmoid(m.update(both)) * weights[:, t]
            new = torch.tanh(m.new(torch.cat([h[:, t], torch.sigmoid(m.reset(both)) * state], 1)))
            state = (1 - update) * state + update * new
        return torch.sigmoid(m.out(torch.cat([state, c], 1)))
    net = Net(run, items=nn.Embedding(20000, width), gru=nn.GRU(width, width, batch_first=True),
              match=nn.Linear(width, width), out=mlp(2 * width, 128, 1),
              **{k: nn.Linear(2 * width, width) for k in ('update', 'reset', 'new')})
    return net, (ids(20000, batch, length), ids(20000, batch))


def bst(batch, length=20, width=64):
    def run(m, history, others):
        x = m.layers(m.items(history) + m.places)
        return torch.sigmoid(m.out(torch.cat([x.flatten(1), others], 1)))
    net = Net(run, items=nn.Embedding(20000, width), places=nn.Parameter(torch.randn(length, width)),
              layers=block(width, 8), out=mlp(length * width + 40, 1024, 512, 256, 1, act=nn.LeakyReLU))
    return net, (ids(20000, batch, length), torch.randn(batch, 40))


def sasrec(batch, length=50, width=64):
    """The last state against all items."""
    def run(m, history):
        x = m.layers(m.items(history) * width ** 0.5 + m.places)
        return m.norm(x[:, -1]) @ m.items.weight.t()
    net = Net(run, items=nn.Embedding(12000, width), places=nn.Parameter(torch.randn(length, width)),
              norm=nn.LayerNorm(width), layers=nn.Sequential(*[block(width, 2, causal=True,
                                                                     act=nn.ReLU) for _ in range(2)]))
    return net, (ids(12000, batch, length),)


def bert4rec(batch, length=40, width=64):
    """Padding is hidden by a mask that the history itself gives."""
    def run(m, history):
        mask = (history != 0)[:, None, None, :]
        x = m.items(history) + m.places
        for attention, feed, n1, n2 in zip(m.attention, m.feed, m.n1, m.n2):
            x = n1(x + attention(x, mask=mask))
            x = n2(x + feed(x))
        return torch.topk(m.head(x[:, -1]), 10)[0]
    net = Net(run, items=nn.Embedding(8000, width, padding_idx=0), places=nn.Parameter(torch.randn(length, width)),
              attention=[Attention(width, 4) for _ in range(2)], n1=[nn.LayerNorm(width) for _ in range(2)],
              feed=[mlp(width, 256, width, act=nn.GELU) for _ in range(2)], n2=[nn.LayerNorm(width) for _ in range(2)],
              head=nn.Linear(width, 8000))
    history = ids(8000, batch, length)
    history[:, :length // 3] = 0
    return net, (history,)


def two_towers(batch, items=1000):
    def run(m, user, features, item):
        u = m.user(torch.cat([m.users(user), features], 1))
        v = m.item(m.items(item).flatten(1))
        return F.normalize(u, dim=1) @ F.normalize(v, dim=1).t() / 0.05
    net = Net(run, users=nn.Embedding(20000, 32), items=nn.Embedding(20000, 16), user=mlp(32 + 20, 256, 128, 64),
              item=mlp(64, 256, 128, 64))
    return net, (ids(20000, batch), torch.randn(batch, 20), ids(20000, items, 4))


def ncf(batch):
    def run(m, user, item):
        product = m.user_product(user) * m.item_product(item)
        deep = m.deep(torch.cat([m.user_deep(user), m.item_deep(item)], 1))
        return torch.sigmoid(m.out(torch.cat([product, deep], 1))).squeeze(1)
    tables = {f'{a}_{b}': nn.Embedding(10000, 64) for a in ('user', 'item') for b in ('product', 'deep')}
    return Net(run, deep=mlp(128, 256, 128, 64, last=nn.ReLU), out=nn.Linear(128, 1), **tables), (
        ids(10000, batch), ids(10000, batch))


def auto_int(batch):
    """Attention among fields, with a product on the way around and a relu after the sum."""
    def run(m, sparse):
        x = m.fields(sparse)
        for attention, around in zip(m.layers, m.around):
            x = torch.relu(attention(x) + around(x))
        return torch.sigmoid(m.out(x.flatten(1)))
    return Net(run, fields=Fields(30, 1000, 32), layers=[Attention(32, 2) for _ in range(3)],
               around=[nn.Linear(32, 32) for _ in range(3)], out=nn.Linear(30 * 32, 1)), (ids(1000, batch, 30),)


def mmoe(batch, experts=8, tasks=3, width=256):
    def run(m, x):
        outs = torch.stack([expert(x) for expert in m.experts], 1)
        scores = []
        for gate, tower in zip(m.gates, m.towers):
            scores.append(torch.sigmoid(tower((gate(x).softmax(1).unsqueeze(2) * outs).sum(1))))
        return tuple(scores)
    return Net(run, experts=[mlp(width, 256, 128, last=nn.ReLU) for _ in range(experts)],
               gates=[nn.Linear(width, experts) for _ in range(tasks)],
               towers=[mlp(128, 64, 1) for _ in range(tasks)]), (torch.randn(batch, width),)


def tab_transformer(batch):
    def run(m, dense, sparse):
        x = m.layers(m.fields(sparse))
        return m.out(torch.cat([x.flatten(1), m.norm(dense)], 1))
    return Net(run, fields=Fields(12, 200, 32), layers=nn.Sequential(*[block(32, 8) for _ in range(3)]),
               norm=nn.LayerNorm(9), out=mlp(12 * 32 + 9, 1024, 256, 2, act=nn.SELU)), (
                   torch.randn(batch, 9), ids(200, batch, 12))


def ft_transformer(batch, numbers=18, width=64):
    """Each number is a vector times it, a token leads, and the feed forward part is gated."""
    def run(m, dense, sparse):
        x = torch.cat([m.token.expand(batch, 1, width), dense.unsqueeze(2) * m.scale + m.shift, m.fields(sparse)], 1)
        for attention, up, down, n1, n2 in zip(m.attention, m.up, m.down, m.n1, m.n2):
            x = x + attention(n1(x))
            a, b = up(n2(x)).chunk(2, -1)
            x = x + down(a * torch.relu(b))
        return m.out(torch.relu(m.norm(x[:, 0])))
    depth = range(3)
    return Net(run, token=nn.Parameter(torch.randn(1, 1, width)), scale=nn.Parameter(torch.randn(numbers, width)),
               shift=nn.Parameter(torch.randn(numbers, width)), fields=Fields(8, 100, width),
               attention=[Attention(width, 8) for _ in depth], up=[nn.Linear(width, 256) for _ in depth],
               down=[nn.Linear(128, width) for _ in depth], n1=[nn.LayerNorm(width) for _ in depth],
               n2=[nn.LayerNorm(width) for _ in depth], norm=nn.LayerNorm(width),
               out=nn.Linear(width, 5)), (torch.randn(batch, numbers), ids(100, batch, 8))


def sparsemax(x):
    """The projection to the simplex, by sorting."""
    ordered = x.sort(-1, descending=True)[0]
    places = torch.arange(1, x.shape[-1] + 1, dtype=x.dtype)
    sums = ordered.cumsum(-1)
    support = (1 + places * ordered > sums).sum(-1, keepdim=True)
    return torch.relu(x - (sums.gather(-1, support - 1) - 1) / support)


def tab_net(batch, width=54, n=32, steps=4):
    """Steps of gated layers; which columns a step reads is a sparse mask, and what was read counts less later."""
    def run(m, x):
        x = m.norm(x)
        prior, total, masks = torch.ones_like(x), 0, 0
        attended = m.shared[0](x)[:, n:2 * n]
        for pick, own in zip(m.pick, m.own):
            mask = sparsemax(pick(attended) * prior)
            prior, masks = prior * (1.3 - mask), masks + mask
            h = F.glu(m.shared[0](mask * x), 1)
            for layer in (m.shared[1], own):
                h = (h + F.glu(layer(h), 1)) * 0.5 ** 0.5
            total, attended = total + torch.relu(h[:, :n]), h[:, n:]
        return m.out(total), masks

    def layer(a):
        return nn.Sequential(nn.Linear(a, 4 * n), nn.BatchNorm1d(4 * n))
    return Net(run, norm=nn.BatchNorm1d(width), shared=[layer(width), layer(2 * n)],
               own=[layer(2 * n) for _ in range(steps)], pick=[nn.Sequential(nn.Linear(n, width), nn.BatchNorm1d(width))
                                                               for _ in range(steps)], out=nn.Linear(n, 7)), (
            torch.randn(batch, width),)


def node_forest(batch, trees=128, depth=5, width=64):
    """Oblivious trees that can be learned: soft choices of columns and outer products of soft splits."""
    def run(m, x):
        values = torch.einsum('bf,ftd->btd', x, m.choice.softmax(0))
        split = torch.sigmoid((values - m.threshold) * torch.exp(m.scale))
        leaves = torch.ones(batch, trees, 1)
        for d in range(depth):
            s = split[:, :, d:d + 1]
            leaves = torch.cat([leaves * s, leaves * (1 - s)], 2)
        return torch.einsum('btl,tlc->bc', leaves, m.leaves) / trees
    return Net(run, choice=nn.Parameter(torch.randn(width, trees, depth)),
               leaves=nn.Parameter(torch.randn(trees, 2 ** depth, 3)),
               threshold=nn.Parameter(torch.randn(trees, depth)), scale=nn.Parameter(torch.randn(trees, depth))), (
            torch.randn(batch, width),)


def variational(batch):
    """An encoder's mean and spread with noise that is given, back to the row, and the error of each row."""
    def run(m, x, noise):
        mean, spread = m.encoder(x).chunk(2, 1)
        back = m.decoder(mean + torch.exp(0.5 * spread) * noise)
        return back, ((back - x) ** 2).mean(1)
    return Net(run, encoder=mlp(784, 512, 256, 64, act=nn.ELU),
               decoder=mlp(32, 256, 512, 784, act=nn.ELU, last=nn.Sigmoid)), (
            torch.rand(batch, 784), torch.randn(batch, 32))


def n_beats(batch, back=96, ahead=24, blocks=6):
    def run(m, x):
        total = 0
        for stack, b, f in zip(m.stacks, m.back, m.ahead):
            h = stack(x)
            x, total = x - b(h), total + f(h)
        return total
    return Net(run, stacks=[mlp(back, 512, 512, 512, 512, last=nn.ReLU) for _ in range(blocks)],
               back=[mlp(512, 8, back) for _ in range(blocks)], ahead=[mlp(512, 8, ahead) for _ in range(blocks)]), (
                   torch.randn(batch, back),)


def patch_tst(batch, series=7, length=336, patch=16, stride=8, width=64):
    """Each series alone, in patches that overlap; scaled by its own mean and spread and back."""
    def run(m, x):
        mean, spread = x.mean(1, keepdim=True), torch.sqrt(x.var(1, keepdim=True, unbiased=False) + 1e-5)
        x = F.pad(((x - mean) / spread).transpose(1, 2), (0, stride), mode='replicate')
        x = m.layers(m.patch(x.unfold(2, patch, stride)).flatten(0, 1) + m.places)
        return m.head(x.flatten(1)).view(batch, series, 96).transpose(1, 2) * spread + mean
    count = (length + stride - patch) // stride + 1
    return Net(run, patch=nn.Linear(patch, width), places=nn.Parameter(torch.randn(count, width)),
               layers=nn.Sequential(*[block(width) for _ in range(2)]), head=nn.Linear(count * width, 96)), (
                   torch.randn(batch, length, series),)


def decomposed(batch, length=336, ahead=96, series=21):
    """DLinear: a moving average and what is left, a product over time for each."""
    def run(m, x):
        x = x.transpose(1, 2)
        trend = F.avg_pool1d(F.pad(x, (12, 12), mode='replicate'), 25, 1)
        return (m.trend(trend) + m.rest(x - trend)).transpose(1, 2)
    return Net(run, trend=nn.Linear(length, ahead), rest=nn.Linear(length, ahead)), (
            torch.randn(batch, length, series),)


def tcn(batch, length=200, width=48, levels=6):
    """Causal convolutions of growing dilation, with residuals."""
    def run(m, x):
        x = m.first(x)
        for i, (a, b) in enumerate(zip(m.a, m.b)):
            pad = (2 * 2 ** i, 0)
            x = torch.relu(x + torch.relu(b(F.pad(torch.relu(a(F.pad(x, pad))), pad))))
        return m.out(x[:, :, -1])
    a, b = ([nn.Conv1d(width, width, 3, dilation=2 ** i) for i in range(levels)] for _ in range(2))
    return Net(run, first=nn.Conv1d(5, width, 1), a=a, b=b, out=nn.Linear(width, 12)), (torch.randn(batch, 5, length),)


def plain(batch, *sizes, **keywords):
    return mlp(*sizes, **keywords), (torch.randn(batch, sizes[0]),)


def networks():
    makers = {'dlrm': functools.partial(dlrm, bags=False), 'dlrm bags': functools.partial(dlrm, bags=True),
              'wide and deep': wide_and_deep, 'deepfm': deep_fm, 'dcn v2': dcn,
              'dcn v2 mixture': functools.partial(dcn, experts=4), 'xdeepfm': xdeep_fm, 'din': din, 'dien': dien,
              'bst': bst, 'sasrec': sasrec, 'bert4rec': bert4rec, 'two towers': two_towers, 'ncf': ncf,
              'autoint': auto_int, 'mmoe': mmoe, 'tabtransformer': tab_transformer, 'ft transformer': ft_transformer,
              'tabnet': tab_net, 'node forest': node_forest, 'autoencoder': variational, 'n-beats': n_beats,
              'patchtst': patch_tst, 'dlinear': decomposed, 'tcn': tcn,
              'mlp 13-100-50-1': lambda batch: plain(batch, 13, 100, 50, 1),
              'mlp 30-257-129-65-2': lambda batch: plain(batch, 30, 257, 129, 65, 2, act=nn.Tanh, last=nn.LogSoftmax),
              'mlp 411-2001-1999-7': lambda batch: plain(batch, 411, 2001, 1999, 7, act=nn.LeakyReLU,
                                                         norm=nn.LayerNorm)}
    batches = {'dlrm': (256,), 'dlrm bags': (64,), 'wide and deep': (64,), 'deepfm': (256,), 'dcn v2': (256,),
               'dcn v2 mixture': (64,), 'xdeepfm': (64,), 'din': (64, 256), 'dien': (64,), 'bst': (1, 64),
               'sasrec': (1, 64), 'bert4rec': (1, 64), 'two towers': (256,), 'ncf': (256,), 'autoint': (64,),
               'mmoe': (256,), 'tabtransformer': (64,), 'ft transformer': (1, 64), 'tabnet': (256,),
               'node forest': (256,), 'autoencoder': (64, 256), 'n-beats': (1, 64), 'patchtst': (1, 8),
               'dlinear': (64,), 'tcn': (1, 8), 'mlp 13-100-50-1': (4096,), 'mlp 30-257-129-65-2': (1024,),
               'mlp 411-2001-1999-7': (1, 64)}
    for name, make in makers.items():
        for batch in batches[name]:
            yield f'tables/{name} batch {batch}', functools.partial(make, batch)
