"""Fields, flows and layers out of the ordinary: the second half of `graphs`."""
from __future__ import annotations

import functools
import math

import torch
import torch.nn.functional as F
from torch import nn

from .tables import Attention, Net, block, mlp


def neural_ode(batch=128, width=64, steps=20, runge=False):
    def run(m, x):
        h, dt = m.first(x), 1 / steps
        def slope(h, t):
            return m.field(torch.cat([h, torch.full((batch, 1), t)], 1))
        for i in range(steps):
            k = slope(h, i * dt)
            if runge:
                k2 = slope(h + dt / 2 * k, (i + 0.5) * dt)
                k3 = slope(h + dt / 2 * k2, (i + 0.5) * dt)
                k = (k + 2 * k2 + 2 * k3 + slope(h + dt * k3, (i + 1) * dt)) / 6
            h = h + dt * k
        return m.out(h)
    return Net(run, first=nn.Linear(10, width), field=mlp(width + 1, 128, width, act=nn.Tanh),
               out=nn.Linear(width, 4)), (torch.randn(batch, 10),)


def nerf(rays=32, samples=32, width=96):
    """Waves of places, a network with a skip, and colours joined along a ray by what is left of the light."""
    def waves(x, n):
        x = (x.unsqueeze(-1) * 2.0 ** torch.arange(n) * math.pi).flatten(-2)
        return torch.cat([x.sin(), x.cos()], -1)

    def run(m, origin, way):
        t = torch.linspace(0.5, 4, samples)
        at = waves(origin.unsqueeze(1) + way.unsqueeze(1) * t.view(1, -1, 1), 10)
        h = m.second(torch.cat([m.first(at), at], -1))
        density = torch.relu(m.density(h)).squeeze(-1)
        look = waves(F.normalize(way, dim=1), 4).unsqueeze(1).expand(-1, samples, -1)
        colour = torch.sigmoid(m.colour(torch.cat([m.feature(h), look], -1)))
        thick = density * (t[1] - t[0]) * 10
        weights = (1 - torch.exp(-thick)) * torch.exp(thick - thick.cumsum(1))
        return (weights.unsqueeze(2) * colour).sum(1), (weights * t).sum(1)
    return Net(run, first=mlp(60, width, width, width, width, last=nn.ReLU),
               second=mlp(width + 60, width, width, last=nn.ReLU), density=nn.Linear(width, 1),
               feature=nn.Linear(width, width), colour=mlp(width + 24, 48, 3)), (
            torch.randn(rays, 3), torch.randn(rays, 3))


class Sine(nn.Module):
    def forward(self, x):
        return torch.sin(30 * x)


def siren(points=2048, width=96):
    net = mlp(2, width, width, width, 3, act=Sine)
    for layer in list(net)[2::2]:
        layer.weight.data.uniform_(-(6 / width) ** 0.5 / 30, (6 / width) ** 0.5 / 30)
    return net, (torch.rand(points, 2) * 2 - 1,)


def hash_grid(points=1024, levels=6, rows=2 ** 12, width=4):
    """Features of the corners around a point in grids of growing size, found by a hash of whole numbers."""
    def run(m, x):
        kept = []
        for i, table in enumerate(m.tables):
            y = x * int(16 * 1.5 ** i)
            low = y.floor()
            part, low = y - low, low.long()
            total = 0
            for dx in (0, 1):
                for dy in (0, 1):
                    a, b = low[:, 0] + dx, (low[:, 1] + dy) * 2654435
                    weight = (part[:, 0] if dx else 1 - part[:, 0]) * (part[:, 1] if dy else 1 - part[:, 1])
                    total = total + table(torch.remainder(a * 73856 + b, rows)) * weight.unsqueeze(1)
            kept.append(total)
        return m.net(torch.cat(kept, 1))
    return Net(run, tables=[nn.Embedding(rows, width) for _ in range(levels)],
               net=mlp(levels * width, 64, 64, 3, last=nn.Sigmoid)), (torch.rand(points, 2),)


def splines(batch=64, sizes=(32, 64, 10), pieces=5, order=3):
    """KAN: each edge has a curve of its own; the bases come by the recursion over orders."""
    knots = torch.arange(-order, pieces + order + 1).float() * 2 / pieces - 1

    def run(m, x):
        for base, curve in zip(m.base, m.curves):
            u, k = torch.tanh(x).unsqueeze(2), m.knots
            b = ((u >= k[:-1]) & (u < k[1:])).float()
            for p in range(1, order + 1):
                rise = (u - k[:-(p + 1)]) / (k[p:-1] - k[:-(p + 1)])
                b = rise * b[..., :-1] + (k[p + 1:] - u) / (k[p + 1:] - k[1:-p]) * b[..., 1:]
            x = base(F.silu(x)) + curve(b.flatten(1))
        return x
    return Net(run, knots=knots, base=[nn.Linear(a, b) for a, b in zip(sizes, sizes[1:])],
               curves=[nn.Linear(a * (pieces + order), b) for a, b in zip(sizes, sizes[1:])]), (
            torch.randn(batch, sizes[0]),)


def hyper(batch=64, width=24):
    """A network that makes another's weights from a code: matrices of a batch, and kernels of a convolution."""
    def run(m, code, x, picture):
        w1, w2, kernel = m.make(code).split((8 * width, width * 4, 27 * 8), 1)
        y = torch.tanh(torch.bmm(x, w1.view(batch, 8, width)))
        y = torch.bmm(y, w2.view(batch, width, 4))
        z = F.conv2d(picture.flatten(0, 1).unsqueeze(0), kernel.reshape(batch * 8, 3, 3, 3), padding=1, groups=batch)
        return y, z.view(batch, 8, *picture.shape[2:])
    return Net(run, make=mlp(32, 128, 12 * width + 216)), (torch.randn(batch, 32), torch.randn(batch, 100, 8),
                                                           torch.randn(batch, 3, 24, 24))


def mixture(batch=128, width=96, experts=8, best=2, gathered=False):
    """The best two of eight experts: all are run and joined by one-hot weights, or the chosen weights are gathered."""
    def run(m, x):
        top, at = (m.gate(x) * 5).topk(best, 1)
        top = top.softmax(1)
        if gathered:
            h = F.gelu(torch.einsum('bi,bkio->bko', x, m.up[at]))
            return x + (torch.einsum('bko,bkoi->bki', h, m.down[at]) * top.unsqueeze(2)).sum(1)
        weights = (F.one_hot(at, experts).float() * top.unsqueeze(2)).sum(1)
        h = F.gelu(torch.einsum('bi,eio->ebo', x, m.up))
        return x + torch.einsum('ebi,be->bi', torch.bmm(h, m.down), weights), weights.mean(0)
    return Net(run, gate=nn.Linear(width, experts), up=nn.Parameter(torch.randn(experts, width, 2 * width) / 10),
               down=nn.Parameter(torch.randn(experts, 2 * width, width) / 14)), (torch.randn(batch, width),)


def fourier_operator(side=48, width=20, modes=8, matrices=False):
    """Products of the low waves: by torch's transforms, or with the waves as matrices, where there are none."""
    def run(m, x):
        x = m.first(x)
        for real, imaginary, around in zip(m.real, m.imaginary, m.around):
            if matrices:
                t = torch.arange(side).unsqueeze(1) * torch.arange(modes) * (2 * math.pi / side)
                c, s = t.cos(), t.sin()
                a, b = x @ c, -(x @ s)
                r, i = a.transpose(2, 3) @ c + b.transpose(2, 3) @ s, b.transpose(2, 3) @ c - a.transpose(2, 3) @ s
            else:
                waves = torch.view_as_real(torch.fft.rfft2(x))[:, :, :modes, :modes]
                r, i = waves[..., 0], waves[..., 1]
            mix = functools.partial(torch.einsum, 'bixy,ioxy->boxy')
            r, i = mix(r, real) - mix(i, imaginary), mix(r, imaginary) + mix(i, real)
            if matrices:
                p, q = r @ c.t() - i @ s.t(), r @ s.t() + i @ c.t()
                y = (p.transpose(2, 3) @ c.t() - q.transpose(2, 3) @ s.t()) / side ** 2
            else:
                spread = F.pad(torch.stack([r, i], 4), (0, 0, 0, side // 2 + 1 - modes, 0, side - modes))
                y = torch.fft.irfft2(torch.view_as_complex(spread.contiguous()), s=(side, side))
            x = F.gelu(y + around(x))
        return m.out(x)
    def drawn():
        return nn.ParameterList([torch.randn(width, width, modes, modes) / width for _ in range(2)])
    return Net(run, first=nn.Conv2d(3, width, 1), real=drawn(), imaginary=drawn(),
               around=[nn.Conv2d(width, width, 1) for _ in range(2)],
               out=nn.Sequential(nn.Conv2d(width, 64, 1), nn.GELU(), nn.Conv2d(64, 1, 1))), (
            torch.randn(1, 3, side, side),)


def deep_o_net(batch=16, sensors=100, points=400):
    def run(m, f, at):
        return m.branch(f) @ m.trunk(at).t() + m.bias
    return Net(run, branch=mlp(sensors, 256, 256, 128), trunk=mlp(2, 256, 256, 128, act=nn.Tanh, last=nn.Tanh),
               bias=nn.Parameter(torch.randn(1))), (torch.randn(batch, sensors), torch.rand(points, 2))


def capsules(batch=4, routes=3):
    def squash(x):
        size = (x ** 2).sum(-1, keepdim=True)
        return x * size / ((1 + size) * torch.sqrt(size + 1e-8))

    def run(m, x):
        x = squash(m.primary(torch.relu(m.first(x))).view(batch, -1, 8))
        votes = torch.einsum('bni,nkio->bkno', x, m.votes)
        logits = torch.zeros(batch, 10, x.shape[1])
        for i in range(routes):
            y = squash((logits.softmax(1).unsqueeze(3) * votes).sum(2))
            if i < routes - 1:
                logits = logits + (votes @ y.unsqueeze(3)).squeeze(3)
        return (y ** 2).sum(2).sqrt(), y
    return Net(run, first=nn.Conv2d(1, 32, 9), primary=nn.Conv2d(32, 64, 9, 2),
               votes=nn.Parameter(torch.randn(288, 10, 8, 16) * 0.2)), (torch.randn(batch, 1, 28, 28),)


def flow_steps(batch=1024, width=16, steps=6):
    """Real NVP: halves that scale and move one another, and the logarithm of the change of volume."""
    def run(m, x):
        total = 0
        for i, (scale, move, norm) in enumerate(zip(m.scale, m.move, m.shift)):
            a, b = x.chunk(2, 1) if i % 2 else x.chunk(2, 1)[::-1]
            s = torch.tanh(scale(a))
            x, total = torch.cat([a, b * torch.exp(s) + move(a)], 1) + norm, total + s.sum(1)
        return x, total - 0.5 * (x ** 2 + math.log(2 * math.pi)).sum(1)
    return Net(run, scale=[mlp(width // 2, 128, width // 2) for _ in range(steps)],
               move=[mlp(width // 2, 128, width // 2) for _ in range(steps)], shift=torch.randn(steps, width)), (
            torch.randn(batch, width),)


def equilibrium(batch=128, width=96, steps=15):
    """One layer again and again with momentum, to where it stays."""
    def run(m, x):
        x, z, old = m.first(x), torch.zeros(batch, width), torch.zeros(batch, width)
        for _ in range(steps):
            new = m.norm(torch.tanh(m.layer(z) + x)) * 0.5
            z, old = new + 0.3 * (new - old), new
        return m.out(z), (z - old).norm(dim=1)
    return Net(run, first=nn.Linear(32, width), layer=nn.Linear(width, width), norm=nn.LayerNorm(width),
               out=nn.Linear(width, 5)), (torch.randn(batch, 32),)


def perceiver(batch=1, inputs=1200, width=64, few=32):
    """A few learned vectors read a long input, think, and are asked at places."""
    def run(m, x, asked):
        z = m.few.expand(batch, -1, -1)
        z = m.think(z + m.read(m.norm(z), x))
        return m.out(m.answer(m.ask(asked), z))
    return Net(run, few=nn.Parameter(torch.randn(1, few, width)), norm=nn.LayerNorm(width),
               read=Attention(width, of=40), think=nn.Sequential(*[block(width) for _ in range(3)]),
               ask=nn.Linear(20, width), answer=Attention(width), out=nn.Linear(width, 6)), (
            torch.randn(batch, inputs, 40), torch.randn(batch, 100, 20))


def distance(points=4096, width=64):
    """Of points from a surface, by soft layers."""
    def run(m, x):
        h = x
        for i, layer in enumerate(m.layers):
            h = F.softplus(layer(torch.cat([h, x], -1) if i == 2 else h), beta=100)
        return torch.tanh(m.out(h))
    sizes = (3, width, width + 3, width)
    return Net(run, layers=[nn.Linear(a, width) for a in sizes], out=nn.Linear(width, 1)), (torch.randn(points, 3),)


def spectral_mixer(batch=2, length=64, width=64):
    """A filter for each channel, applied to half of the spectrum."""
    def run(m, x):
        y = torch.fft.irfft(torch.fft.rfft(x, dim=1) * torch.view_as_complex(m.filters), n=length, dim=1)
        return m.out(x + y)
    return Net(run, filters=torch.randn(length // 2 + 1, width, 2) * 0.3, out=mlp(width, 2 * width, width, act=nn.GELU)), (
            torch.randn(batch, length, width),)


def networks():
    makers = {'signed distance': distance, 'spectral mixer': spectral_mixer, 'neural ode euler': neural_ode,
              'neural ode runge-kutta': functools.partial(neural_ode, steps=8, runge=True), 'nerf': nerf,
              'siren': siren, 'hash grid': hash_grid, 'splines': splines, 'hypernetwork': hyper,
              'mixture of experts': mixture,
              'mixture of experts gathered': functools.partial(mixture, 32, gathered=True),
              'fourier operator': fourier_operator,
              'fourier operator by matrices': functools.partial(fourier_operator, matrices=True),
              'deeponet': deep_o_net, 'capsules': capsules, 'real nvp': flow_steps, 'equilibrium': equilibrium,
              'perceiver': perceiver}
    for name, make in makers.items():
        yield f'graphs/{name}', make
