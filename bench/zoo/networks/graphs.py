"""Graphs and clouds of points: gathers, scatters, choices of neighbours and small products."""
from __future__ import annotations

import functools
import math

import torch
import torch.nn.functional as F
from torch import nn

from . import fields
from .tables import Attention, Net, Residual, mlp


def edges(nodes, count):
    return torch.randint(0, nodes, (2, count))


def summed(values, at, nodes, how='index_add'):
    """What edges bring, added at the nodes that they lead to."""
    empty = torch.zeros((nodes,) + tuple(values.shape[1:]))
    if how == 'index_add':
        return empty.index_add(0, at, values)
    return empty.scatter_add(0, at.view(-1, *[1] * (values.dim() - 1)).expand_as(values), values)


def most(values, at, nodes):
    empty = torch.full((nodes,) + tuple(values.shape[1:]), -1e9)
    return empty.scatter_reduce(0, at.view(-1, *[1] * (values.dim() - 1)).expand_as(values), values, 'amax',
                                include_self=True)


def gcn_dense(nodes=700, width=64, layers=3):
    def run(m, x, links):
        links = links + torch.eye(nodes)
        scale = links.sum(1).rsqrt()
        links = scale.unsqueeze(1) * links * scale
        for layer in m.layers[:-1]:
            x = torch.relu(links @ layer(x))
        return (links @ m.layers[-1](x)).log_softmax(1)
    links = (torch.rand(nodes, nodes) < 0.02).float()
    sizes = [128] + [width] * (layers - 1) + [7]
    return Net(run, layers=[nn.Linear(a, b) for a, b in zip(sizes, sizes[1:])]), (torch.randn(nodes, 128), (
            (links + links.t()) > 0).float())


def gcn(nodes=1500, count=8000, width=64):
    def run(m, x, e):
        start, end = e[0], e[1]
        scale = (summed(torch.ones(count), end, nodes) + 1).rsqrt()
        for i, layer in enumerate(m.layers):
            x = layer(x)
            x = summed(x[start] * (scale[start] * scale[end]).unsqueeze(1), end, nodes) + x * (scale ** 2).unsqueeze(1)
            x = torch.relu(x) if i < 2 else x
        return x
    return Net(run, layers=[nn.Linear(a, b) for a, b in ((96, width), (width, width), (width, 10))]), (
            torch.randn(nodes, 96), edges(nodes, count))


def sage(nodes=1500, count=8000, width=64, how='mean'):
    def run(m, x, e):
        start, end = e[0], e[1]
        count_ = summed(torch.ones(count, 1), end, nodes, 'scatter_add').clamp(min=1)
        for own, other in zip(m.own, m.other):
            near = x.index_select(0, start)
            if how == 'mean':
                near = summed(near, end, nodes, 'scatter_add') / count_
            else:
                near = most(near, end, nodes).clamp(min=-10)
            x = F.normalize(torch.relu(own(x) + other(near)), dim=1)
        return m.out(x)
    return Net(run, own=[nn.Linear(64, width), nn.Linear(width, width)],
               other=[nn.Linear(64, width), nn.Linear(width, width)], out=nn.Linear(width, 12)), (
            torch.randn(nodes, 64), edges(nodes, count))


def gat(nodes=800, count=5000, heads=4, width=16, second=False):
    """Attention over the edges into a node: a softmax by scattered maxima and sums (`second`: GATv2's scores)."""
    def run(m, x, e):
        start, end = e[0], e[1]
        for layer, a, b in zip(m.layers, m.a, m.b):
            h = layer(x).view(nodes, heads, width)
            if second:
                scores = (F.leaky_relu(h[start] + (h * b)[end], 0.2) * a).sum(2)
            else:
                scores = F.leaky_relu((h * a).sum(2)[start] + (h * b).sum(2)[end], 0.2)
            scores = torch.exp(scores - most(scores, end, nodes)[end])
            weights = scores / (summed(scores, end, nodes, 'scatter_add')[end] + 1e-9)
            x = F.elu(summed(h[start] * weights.unsqueeze(2), end, nodes, 'scatter_add').flatten(1))
        return m.out(x)
    drawn = {k: nn.ParameterList([torch.randn(heads, width) for _ in range(2)]) for k in 'ab'}
    return Net(run, layers=[nn.Linear(a, heads * width) for a in (48, heads * width)], out=nn.Linear(heads * width, 6),
               **drawn), (torch.randn(nodes, 48), edges(nodes, count))


def gin(graphs=32, each=25, count=2500, width=64):
    """Whole graphs in one batch: sums over nodes of a graph after every layer."""
    def run(m, x, e, owner):
        total = 0
        for layer, out, eps in zip(m.layers, m.outs, m.eps):
            x = layer((1 + eps) * x + summed(x[e[0]], e[1], graphs * each))
            total = total + out(summed(x, owner, graphs))
        return total
    start = torch.randint(0, graphs, (1, count)) * each + torch.randint(0, each, (2, count))
    return Net(run, layers=[mlp(a, width, width, norm=nn.BatchNorm1d, last=nn.ReLU) for a in (16, width, width)],
               outs=[nn.Linear(width, 2) for _ in range(3)], eps=torch.randn(3) * 0.1), (
                   torch.randn(graphs * each, 16), start, torch.arange(graphs).repeat_interleave(each))


def message_passing(nodes=120, count=500, width=32, rounds=3):
    """Molecules: a matrix for each edge from its features, a recurrent cell at the nodes, gated sums at the end."""
    def run(m, x, e, features, owner):
        h = torch.relu(m.first(x))
        matrices = m.edge(features).view(count, width, width)
        for _ in range(rounds):
            messages = torch.bmm(h[e[0]].unsqueeze(1), matrices).squeeze(1)
            h = m.cell(summed(messages, e[1], nodes), h)
        return m.out(summed(torch.sigmoid(m.gate(torch.cat([h, x], 1))) * m.value(h), owner, 8))
    return Net(run, first=nn.Linear(20, width), edge=mlp(6, 64, width * width), cell=nn.GRUCell(width, width),
               gate=nn.Linear(width + 20, width), value=nn.Linear(width, width), out=mlp(width, 64, 1)), (
                   torch.randn(nodes, 20), edges(nodes, count), torch.randn(count, 6), torch.randint(0, 8, (nodes,)))


def relational(nodes=800, count=4000, kinds=8, width=48, bases=4):
    """A matrix for each kind of edge, from a few that all share."""
    def run(m, x, e, kind):
        for bases_, share, own in zip(m.bases, m.shares, m.own):
            parts = torch.einsum('ni,bio->nbo', x, bases_)
            messages = (parts[e[0]] * share[kind].unsqueeze(2)).sum(1)
            x = torch.relu(own(x) + summed(messages, e[1], nodes) / 5)
        return m.subject(x)[e[0, :500]].mul(x[e[1, :500]]).sum(1).sigmoid()
    return Net(run, bases=nn.ParameterList([torch.randn(bases, width, width) / width ** 0.5 for _ in range(2)]),
               shares=nn.ParameterList([torch.randn(kinds, bases) for _ in range(2)]), subject=nn.Linear(width, width),
               own=[nn.Linear(width, width) for _ in range(2)]), (torch.randn(nodes, width), edges(nodes, count),
                                                                  torch.randint(0, kinds, (count,)))


def graph_transformer(nodes=128, width=64, layers=3, heads=4):
    """Attention with a bias for the length of the shortest path and vectors for degrees (Graphormer)."""
    def run(m, x, degree, path):
        x = m.first(x) + m.degrees(degree)
        bias = m.paths(path).permute(0, 3, 1, 2)
        for qkv, out, feed, n1, n2 in zip(m.qkv, m.outs, m.feed, m.n1, m.n2):
            q, k, v = (t.unflatten(2, (heads, -1)).transpose(1, 2) for t in qkv(n1(x)).chunk(3, 2))
            weights = (q @ k.transpose(2, 3) / (width // heads) ** 0.5 + bias).softmax(3)
            x = x + out((weights @ v).transpose(1, 2).flatten(2))
            x = x + feed(n2(x))
        return m.head(x[:, 0])
    n = range(layers)
    return Net(run, first=nn.Linear(16, width), degrees=nn.Embedding(20, width), paths=nn.Embedding(10, heads),
               head=nn.Linear(width, 3), qkv=[nn.Linear(width, 3 * width) for _ in n],
               outs=[nn.Linear(width, width) for _ in n], feed=[mlp(width, 128, width, act=nn.GELU) for _ in n],
               n1=[nn.LayerNorm(width) for _ in n], n2=[nn.LayerNorm(width) for _ in n]), (
            torch.randn(2, nodes, 16), torch.randint(0, 20, (2, nodes)), torch.randint(0, 10, (2, nodes, nodes)))


def space_time(nodes=100, steps=12, width=32):
    """Traffic: gated convolutions over time, products with powers of an adjacency that is learned, over places."""
    def run(m, x):
        links = torch.relu(m.left @ m.right).softmax(1)
        x, total = m.first(x), 0
        for filters, gates, mix, skip in zip(m.filters, m.gates, m.mix, m.skips):
            kept = x
            x = torch.tanh(filters(x)) * torch.sigmoid(gates(x))
            total = skip(x)[..., -1:] + total
            once = torch.einsum('bcnt,nm->bcmt', x, links)
            x = mix(torch.cat([x, once, torch.einsum('bcnt,nm->bcmt', once, links)], 1)) + kept[..., -x.shape[3]:]
        return m.out(torch.relu(total)).squeeze(3)
    n, drawn = (1, 2, 4), lambda i, o, k=1, d=1: nn.Conv2d(i, o, (1, k), dilation=(1, d))
    return Net(run, first=drawn(2, width), left=nn.Parameter(torch.randn(nodes, 10)),
               right=nn.Parameter(torch.randn(10, nodes)), filters=[drawn(width, width, 2, d) for d in n],
               gates=[drawn(width, width, 2, d) for d in n], mix=[drawn(3 * width, width) for _ in n],
               skips=[drawn(width, 64) for _ in n], out=drawn(64, 12)), (torch.randn(4, 2, nodes, steps),)


def shared(*sizes):
    """The same layers at every point: convolutions of width 1."""
    return nn.Sequential(*[layer for a, b in zip(sizes, sizes[1:])
                           for layer in (nn.Conv1d(a, b, 1), nn.BatchNorm1d(b), nn.ReLU())])


def point_net(points=512, batch=1):
    def run(m, x):
        move = m.move(m.look(x).max(2)[0]).view(-1, 3, 3) + torch.eye(3)
        low = m.low(move @ x)
        whole = m.high(low).max(2, keepdim=True)[0]
        return m.out(whole.squeeze(2)), m.parts(torch.cat([low, whole.expand(-1, -1, points)], 1))
    return Net(run, look=shared(3, 32, 64, 256), move=mlp(256, 128, 9), low=shared(3, 64, 64),
               high=shared(64, 128, 512), out=mlp(512, 256, 40),
               parts=nn.Sequential(shared(576, 128, 64), nn.Conv1d(64, 12, 1))), (torch.randn(batch, 3, points),)


def distances(a, b):
    return (a ** 2).sum(2).unsqueeze(2) - 2 * a @ b.transpose(1, 2) + (b ** 2).sum(2).unsqueeze(1)


def taken(x, at):
    """Rows of each cloud: x [b, n, c] at [b, ...] gives [b, ..., c]."""
    return x.gather(1, at.flatten(1).unsqueeze(2).expand(-1, -1, x.shape[2])).unflatten(1, at.shape[1:])


def point_net_2(points=256, batch=1):
    """Centers by the farthest point, one after another; neighbours by the nearest that lie within a ball."""
    def farthest(xyz, count):
        chosen = torch.zeros(batch, 1, dtype=torch.int64)
        least, kept = torch.full((batch, xyz.shape[1]), 1e10), [chosen]
        for _ in range(count - 1):
            least = torch.minimum(least, ((xyz - taken(xyz, chosen)) ** 2).sum(2))
            chosen = least.argmax(1, keepdim=True)
            kept.append(chosen)
        return torch.cat(kept, 1)

    def run(m, xyz):
        features = xyz
        for layer, count, radius, near in zip(m.layers, (32, 12), (0.8, 1.6), (16, 8)):
            middle = taken(xyz, farthest(xyz, count))
            far, at = distances(middle, xyz).topk(near, 2, largest=False)
            at = torch.where(far > radius ** 2, at[:, :, :1].expand_as(at), at)
            group = torch.cat([taken(xyz, at) - middle.unsqueeze(2), taken(features, at)], 3)
            xyz, features = middle, layer(group.flatten(0, 1).transpose(1, 2)).max(2)[0].unflatten(0, (batch, count))
        return m.out(m.last(features.transpose(1, 2)).max(2)[0])
    return Net(run, layers=[shared(6, 32, 32, 64), shared(67, 64, 64, 128)], last=shared(128, 256),
               out=mlp(256, 128, 40)), (torch.randn(batch, points, 3),)


def dynamic_edges(points=256, near=16, batch=1):
    """DGCNN: neighbours are found anew in each layer's features."""
    def run(m, x):
        kept = []
        for layer in m.layers:
            at = (-distances(x, x)).topk(near, 2)[1]
            other, own = taken(x, at), x.unsqueeze(2)
            pairs = torch.cat([other - own, own.expand_as(other)], 3).permute(0, 3, 1, 2)
            x = layer(pairs).max(3)[0].transpose(1, 2)
            kept.append(x)
        x = F.leaky_relu(m.join(torch.cat(kept, 2)), 0.2)
        return m.out(torch.cat([x.max(1)[0], x.mean(1)], 1))
    layers = [nn.Sequential(nn.Conv2d(2 * a, b, 1), nn.BatchNorm2d(b), nn.LeakyReLU(0.2)) for a,
              b in ((3, 32), (32, 32), (32, 64))]
    return Net(run, layers=layers, join=nn.Linear(128, 256), out=mlp(512, 128, 40)), (torch.randn(batch, points, 3),)


def point_transformer(points=256, near=12, width=48, batch=1):
    """Attention among neighbours with a vector of weights for each, and their places in both."""
    def run(m, xyz, x):
        at = distances(xyz, xyz).topk(near, 2, largest=False)[1]
        place = m.place(xyz.unsqueeze(2) - taken(xyz, at))
        for enter, q, k, v, weigh, leave in zip(m.enter, m.q, m.k, m.v, m.weigh, m.leave):
            y = enter(x)
            weights = weigh(q(y).unsqueeze(2) - taken(k(y), at) + place).softmax(2)
            x = x + leave((weights * (taken(v(y), at) + place)).sum(2))
        return m.out(x)
    def many():
        return [nn.Linear(width, width) for _ in range(2)]
    return Net(run, place=mlp(3, width, width), enter=many(), q=many(), k=many(), v=many(), leave=many(),
               weigh=[mlp(width, width, width) for _ in range(2)], out=nn.Linear(width, 13)), (
                   torch.randn(batch, points, 3), torch.randn(batch, points, width))


def pillars(cells=32, count=600, each=8, width=32):
    """Points in pillars to a picture by a scatter, then convolutions (PointPillars)."""
    def run(m, x, filled, at):
        mask = (torch.arange(each) < filled.unsqueeze(1)).unsqueeze(2).float()
        mean = (x[..., :3] * mask).sum(1, keepdim=True) / filled.view(-1, 1, 1)
        x = (torch.relu(m.point(torch.cat([x, x[..., :3] - mean], 2) * mask))).max(1)[0]
        picture = torch.zeros(cells * cells, width).scatter(0, at.unsqueeze(1).expand(-1, width), x)
        a = m.a(picture.t().reshape(1, width, cells, cells))
        b = m.b(a)
        return m.out(torch.cat([a, m.rise(b)], 1))
    def conv(i, o, s):
        return nn.Sequential(nn.Conv2d(i, o, 3, s, 1, bias=False), nn.BatchNorm2d(o), nn.ReLU())
    return Net(run, point=nn.Linear(7, width), a=nn.Sequential(conv(width, 32, 1), conv(32, 32, 1)),
               b=nn.Sequential(conv(32, 64, 2), conv(64, 64, 1)), rise=nn.ConvTranspose2d(64, 32, 2, 2),
               out=nn.Conv2d(64, 18, 1)), (torch.randn(count, each, 4), torch.randint(1, each + 1, (count,)),
                                           torch.randperm(cells * cells)[:count])


def sch_net(atoms=60, width=64, bases=50, layers=3):
    """Continuous filters: radial functions of the distance to weights, within a soft reach."""
    def run(m, kinds, xyz):
        x = m.kinds(kinds)
        far = torch.sqrt(((xyz.unsqueeze(1) - xyz.unsqueeze(0)) ** 2).sum(2) + 1e-6)
        radial = torch.exp(-10 * (far.unsqueeze(2) - m.middles) ** 2)
        reach = 0.5 * (torch.cos(far * math.pi / 5) + 1) * (far < 5) * (1 - torch.eye(atoms))
        for filters, enter, leave in zip(m.filters, m.enter, m.leave):
            weights = filters(radial) * reach.unsqueeze(2)
            x = x + leave((weights * enter(x).unsqueeze(0)).sum(1))
        return m.out(x).sum(0)
    n = range(layers)
    soft = functools.partial(mlp, act=nn.Softplus)
    return Net(run, kinds=nn.Embedding(20, width), middles=torch.linspace(0, 5, bases),
               filters=[soft(bases, width, width) for _ in n], enter=[nn.Linear(width, width) for _ in n],
               leave=[soft(width, width, width) for _ in n], out=soft(width, 32, 1)), (
            torch.randint(0, 20, (atoms,)), torch.randn(atoms, 3) * 2)


def egnn(nodes=100, count=1200, width=48, layers=3):
    """Places move along the edges, by what their distances say."""
    def run(m, h, xyz, e):
        start, end = e[0], e[1]
        for edge, move, node in zip(m.edge, m.move, m.node):
            along = xyz[start] - xyz[end]
            far = (along ** 2).sum(1, keepdim=True)
            messages = edge(torch.cat([h[start], h[end], far], 1))
            xyz = xyz + summed(along / (far.sqrt() + 1) * torch.tanh(move(messages)), end, nodes) / 12
            h = h + node(torch.cat([h, summed(messages, end, nodes)], 1))
        return h, xyz
    n, silu = range(layers), functools.partial(mlp, act=nn.SiLU)
    return Net(run, edge=[silu(2 * width + 1, width, width, last=nn.SiLU) for _ in n],
               move=[silu(width, width, 1) for _ in n], node=[silu(2 * width, width, width) for _ in n]), (
            torch.randn(nodes, width), torch.randn(nodes, 3), edges(nodes, count))


def set_transformer(batch=4, points=200, width=64, inner=16):
    """Attention by way of a few points that are learned, and a pooling by one more."""
    def run(m, x):
        x = m.first(x)
        for points_, a, b, f1, f2 in zip(m.points, m.a, m.b, m.f1, m.f2):
            few = points_.expand(batch, -1, -1)
            h = f1(few + a(few, x))
            x = f2(x + b(x, h))
        seed = m.seed.expand(batch, -1, -1)
        return m.out((seed + m.pool(seed, x)).flatten(1))
    n = range(2)
    return Net(run, first=nn.Linear(3, width), points=nn.ParameterList([torch.randn(1, inner, width) for _ in n]),
               a=[Attention(width) for _ in n], b=[Attention(width) for _ in n], pool=Attention(width),
               f1=[Residual(mlp(width, width, width)) for _ in n], f2=[Residual(mlp(width, width, width)) for _ in n],
               seed=nn.Parameter(torch.randn(1, 4, width)), out=nn.Linear(4 * width, 10)), (
            torch.randn(batch, points, 3),)


def networks():
    makers = {'gcn dense': gcn_dense, 'gcn': gcn, 'graphsage mean': sage,
              'graphsage max': functools.partial(sage, how='max'), 'gat': gat,
              'gatv2 dynamic': functools.partial(gat, 600, 4000, second=True), 'gin': gin,
              'message passing': message_passing, 'relational gcn': relational, 'graph transformer': graph_transformer,
              'space and time': space_time, 'pointnet': point_net,
              'pointnet batch 8': functools.partial(point_net, 256, 8), 'pointnet++': point_net_2,
              'dgcnn': dynamic_edges, 'point transformer': point_transformer, 'pillars': pillars, 'schnet': sch_net,
              'egnn': egnn, 'set transformer': set_transformer}
    for name, make in makers.items():
        yield f'graphs/{name}', make
    yield from fields.networks()
