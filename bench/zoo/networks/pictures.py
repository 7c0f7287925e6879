"""Pictures to pictures (larger, cleaner, of another style, out of noise), and clips: the second half of `detection`."""
from __future__ import annotations

import functools
import math

import torch
import torch.nn.functional as F
from torch import nn

from .tables import Attention, Net, Residual, mlp


def picture(side, channels=3, batch=1):
    return torch.randn(batch, channels, side, side)


def conv(i, o, k=3, s=1, act=nn.SiLU, norm=nn.BatchNorm2d, g=1, d=1):
    """Drawn wide enough that a picture still shows after many of them."""
    layer = nn.Conv2d(i, o, k, s, k // 2 * d, d, g, bias=norm is None)
    nn.init.kaiming_normal_(layer.weight)
    return nn.Sequential(layer, *([norm(o)] if norm else []), *([act()] if act else []))


def resnet(upto=4):
    import torchvision
    whole = torchvision.models.resnet18(weights=None)
    return nn.Sequential(*list(whole.children())[:4 + upto])


def raised(widths, k=4):
    """Transposed convolutions, each twice the side."""
    return [layer for a, b in zip(widths, widths[1:])
            for layer in (nn.ConvTranspose2d(a, b, k, 2, 1, bias=False), nn.BatchNorm2d(b), nn.ReLU())]


def espcn(side=128, up=3):
    return nn.Sequential(conv(1, 64, 5, act=nn.Tanh, norm=None), conv(64, 32, act=nn.Tanh, norm=None),
                         nn.Conv2d(32, up * up, 3, padding=1), nn.PixelShuffle(up)), (picture(side, 1),)


def edsr(side=64, w=32, n=8, attention=False):
    """Residuals without norms; with attention to channels it is RCAN."""
    class Channels(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Conv2d(w, w // 8, 1), nn.ReLU(),
                                       nn.Conv2d(w // 8, w, 1), nn.Sigmoid())

        def forward(self, x):
            return x * self.inner(x)
    blocks = [Residual(conv(w, w, act=nn.ReLU, norm=None), nn.Conv2d(w, w, 3, padding=1),
                       *([Channels()] if attention else [])) for _ in range(n)]
    return nn.Sequential(nn.Conv2d(3, w, 3, padding=1), Residual(*blocks, nn.Conv2d(w, w, 3, padding=1)),
                         nn.Conv2d(w, 4 * w, 3, padding=1), nn.PixelShuffle(2), nn.Conv2d(w, 3, 3, padding=1)), (
            picture(side),)


def srgan(side=32, w=32, n=5):
    up = [layer for _ in range(2) for layer in (nn.Conv2d(w, 4 * w, 3, padding=1), nn.PixelShuffle(2), nn.PReLU())]
    blocks = [Residual(conv(w, w, act=nn.PReLU), conv(w, w, act=None)) for _ in range(n)]
    return nn.Sequential(conv(3, w, 9, act=nn.PReLU, norm=None), Residual(*blocks, conv(w, w, act=None)), *up,
                         nn.Conv2d(w, 3, 9, padding=4), nn.Tanh()), (picture(side),)


class Dense(nn.Module):
    """Each layer reads all before it; a fifth of the sum is added."""

    def __init__(self, w, grow=16):
        super().__init__()
        self.layers = nn.ModuleList([nn.Conv2d(w + i * grow, grow if i < 4 else w, 3, padding=1) for i in range(5)])

    def forward(self, x):
        kept = [x]
        for layer in self.layers[:-1]:
            kept.append(F.leaky_relu(layer(torch.cat(kept, 1)), 0.2))
        return self.layers[-1](torch.cat(kept, 1)) * 0.2 + x


class Scaled(nn.Sequential):
    def forward(self, x):
        return x + 0.2 * super().forward(x)


def esrgan(side=40, w=32):
    def run(m, x):
        x = m.first(x)
        x = x + m.trunk(x)
        for layer in m.up:
            x = F.leaky_relu(layer(F.interpolate(x, scale_factor=2, mode='nearest')), 0.2)
        return m.last(x)
    return Net(run, first=nn.Conv2d(3, w, 3, padding=1),
               trunk=Scaled(*[Scaled(*[Dense(w) for _ in range(3)]) for _ in range(2)]),
               up=[nn.Conv2d(w, w, 3, padding=1) for _ in range(2)],
               last=nn.Sequential(conv(w, w, act=nn.LeakyReLU, norm=None), nn.Conv2d(w, 3, 3, padding=1))), (
            picture(side),)


def dncnn(side=96, w=48, n=10):
    class Noise(nn.Sequential):
        def forward(self, x):
            return x - super().forward(x)
    return Noise(conv(1, w, act=nn.ReLU, norm=None), *[conv(w, w, act=nn.ReLU) for _ in range(n)],
                 nn.Conv2d(w, 1, 3, padding=1)), (picture(side, 1),)


def mirrored(i, o, k=3, s=1, act=nn.ReLU, transposed=False):
    norm = nn.InstanceNorm2d(o, affine=not transposed)
    if transposed:
        layers = [nn.ConvTranspose2d(i, o, 3, 2, 1, 1), norm]
    else:
        layers = [nn.ReflectionPad2d(k // 2), nn.Conv2d(i, o, k, s), norm]
    return nn.Sequential(*layers, *([act()] if act else []))


def style(side=128, w=16):
    """Fast style transfer; the way up is by nearest and a convolution."""
    up = [nn.Sequential(nn.Upsample(scale_factor=2, mode='nearest'), mirrored(2 * b, b)) for b in (2 * w, w)]
    return nn.Sequential(mirrored(3, w, 9), mirrored(w, 2 * w, 3, 2), mirrored(2 * w, 4 * w, 3, 2),
                         *[Residual(mirrored(4 * w, 4 * w), mirrored(4 * w, 4 * w, act=None)) for _ in range(5)], *up,
                         nn.ReflectionPad2d(4), nn.Conv2d(w, 3, 9)), (picture(side),)


def adain(side=96, w=32):
    """A picture's features with the mean and spread of another's."""
    def run(m, content, other):
        a, b = m.encoder(content), m.encoder(other)
        a = (a - a.mean((2, 3), keepdim=True)) / (a.std((2, 3), keepdim=True) + 1e-5)
        return m.decoder(a * b.std((2, 3), keepdim=True) + b.mean((2, 3), keepdim=True))
    down = nn.Sequential(conv(3, w, act=nn.ReLU, norm=None), nn.MaxPool2d(2, ceil_mode=True),
                         conv(w, 2 * w, act=nn.ReLU, norm=None), nn.MaxPool2d(2, ceil_mode=True),
                         conv(2 * w, 4 * w, act=nn.ReLU, norm=None))
    up = nn.Sequential(conv(4 * w, 2 * w, act=nn.ReLU, norm=None), nn.Upsample(scale_factor=2),
                       conv(2 * w, w, act=nn.ReLU, norm=None), nn.Upsample(scale_factor=2),
                       nn.Conv2d(w, 3, 3, padding=1))
    return Net(run, encoder=down, decoder=up), (picture(side), picture(side))


def cyclegan(side=96, w=24):
    return nn.Sequential(mirrored(3, w, 7), mirrored(w, 2 * w, 3, 2), mirrored(2 * w, 4 * w, 3, 2),
                         *[Residual(mirrored(4 * w, 4 * w), mirrored(4 * w, 4 * w, act=None)) for _ in range(6)],
                         mirrored(4 * w, 2 * w, transposed=True), mirrored(2 * w, w, transposed=True),
                         nn.ReflectionPad2d(3), nn.Conv2d(w, 3, 7), nn.Tanh()), (picture(side),)


def patch_discriminator(side=128):
    act = functools.partial(nn.LeakyReLU, 0.2)
    layers = [layer for a, b in ((32, 64), (64, 128), (128, 256))
              for layer in (nn.Conv2d(a, b, 4, 2, 1), nn.InstanceNorm2d(b), act())]
    net = nn.Sequential(nn.Conv2d(6, 32, 4, 2, 1), act(), *layers, nn.Conv2d(256, 1, 4, 1, 1))
    return Net(lambda m, a, b: m.net(torch.cat([a, b], 1)), net=net), (picture(side), picture(side))


def dcgan(batch=4, w=32):
    return nn.Sequential(nn.Unflatten(1, (100, 1, 1)), nn.ConvTranspose2d(100, 8 * w, 4), nn.BatchNorm2d(8 * w),
                         nn.ReLU(), *raised((8 * w, 4 * w, 2 * w, w)), nn.ConvTranspose2d(w, 3, 4, 2, 1), nn.Tanh()), (
            torch.randn(batch, 100),)


def stylegan(batch=1, w=64):
    """A style for each layer scales its input's channels, and the result is divided by its size; noise is given."""
    def run(m, z, noise):
        z = m.mapping(z * torch.rsqrt((z ** 2).mean(1, keepdim=True) + 1e-8))
        x, picture_ = m.start.expand(batch, -1, -1, -1), 0
        for layer, own, colour in zip(m.layers, m.styles, m.colours):
            x = F.interpolate(x, scale_factor=2, mode='bilinear', align_corners=False)
            scale = own(z)
            size = torch.rsqrt((scale ** 2) @ (layer.weight ** 2).sum((2, 3)).t() + 1e-8)
            x = layer(x * scale[:, :, None, None]) * size[:, :, None, None]
            x = F.leaky_relu(x + 0.1 * noise[:, :, :x.shape[2], :x.shape[3]], 0.2)
            if isinstance(picture_, torch.Tensor):
                picture_ = F.interpolate(picture_, scale_factor=2, mode='bilinear', align_corners=False)
            picture_ = picture_ + colour(x)
        return picture_
    return Net(run, mapping=mlp(128, 128, 128, 128, act=nn.LeakyReLU), start=nn.Parameter(torch.randn(1, w, 4, 4)),
               layers=[nn.Conv2d(w, w, 3, padding=1, bias=False) for _ in range(4)],
               styles=[nn.Linear(128, w) for _ in range(4)], colours=[nn.Conv2d(w, 3, 1) for _ in range(4)]), (
            torch.randn(batch, 128), picture(64, 1, batch))


def grouped(o):
    return nn.GroupNorm(8, o, eps=1e-6)


class Timed(nn.Module):
    """A residual of group norms, swish and convolutions, with the time's vector added between them."""

    def __init__(self, i, o, time=0):
        super().__init__()
        self.n1, self.c1, self.n2, self.c2 = grouped(i), nn.Conv2d(i, o, 3,
                                                                   padding=1), grouped(o), nn.Conv2d(o, o, 3, padding=1)
        self.time = nn.Linear(time, o) if time else None
        self.around = nn.Conv2d(i, o, 1) if i != o else nn.Identity()

    def forward(self, x, time=None):
        h = self.c1(F.silu(self.n1(x)))
        if self.time is not None:
            h = h + self.time(F.silu(time))[:, :, None, None]
        return self.around(x) + self.c2(F.silu(self.n2(h)))


class Looks(nn.Module):
    """Attention of places to one another and, where a context is given, to it; a gated layer after."""

    def __init__(self, w, context=0, heads=4):
        super().__init__()
        self.norm, self.own = grouped(w), Attention(w, heads)
        self.other = Attention(w, heads, of=context) if context else None
        if context:
            self.n1, self.n2 = nn.LayerNorm(w), nn.LayerNorm(w)
            self.gate, self.down = nn.Linear(w, 4 * w), nn.Linear(2 * w, w)

    def forward(self, x, context=None):
        h = self.norm(x).flatten(2).transpose(1, 2)
        h = h + self.own(h) if context is not None else self.own(h)
        if context is not None:
            h = h + self.other(self.n1(h), context)
            a, b = self.gate(self.n2(h)).chunk(2, -1)
            h = h + self.down(a * F.gelu(b))
        return x + h.transpose(1, 2).reshape(x.shape)


def vae_decoder(side=16, w=32):
    up = lambda a, b: nn.Sequential(Timed(a, b), nn.Upsample(scale_factor=2), nn.Conv2d(b, b, 3, padding=1))
    return nn.Sequential(nn.Conv2d(4, 4 * w, 3, padding=1), Timed(4 * w, 4 * w), Looks(4 * w, heads=1),
                         Timed(4 * w, 4 * w), up(4 * w, 4 * w), up(4 * w, 2 * w), up(2 * w, w), grouped(w), nn.SiLU(),
                         nn.Conv2d(w, 3, 3, padding=1)), (picture(side, 4),)


def vector_quantised(side=96, w=32, codes=512):
    """To the nearest of the codes and back."""
    def run(m, x):
        z = m.encoder(x)
        flat = z.permute(0, 2, 3, 1).reshape(-1, 2 * w)
        far = (flat ** 2).sum(1, keepdim=True) - 2 * flat @ m.codes.weight.t() + (m.codes.weight ** 2).sum(1)
        chosen = m.codes(far.argmin(1)).view(z.shape[0], *z.shape[2:], -1).permute(0, 3, 1, 2)
        return m.decoder(z + (chosen - z))
    encoder = nn.Sequential(nn.Conv2d(3, w, 4, 2, 1), nn.ReLU(), nn.Conv2d(w, 2 * w, 4, 2, 1), nn.ReLU(),
                            Timed(2 * w, 2 * w))
    decoder = nn.Sequential(Timed(2 * w, 2 * w), *raised((2 * w, w)), nn.ConvTranspose2d(w, 3, 4, 2, 1))
    return Net(run, encoder=encoder, decoder=decoder, codes=nn.Embedding(codes, 2 * w)), (picture(side),)


def diffusion(side=24, w=32, context=96, words=32):
    def run(m, x, step, context_):
        frequencies = torch.exp(-math.log(10000) * torch.arange(w // 2) / (w // 2))
        angles = step.float().unsqueeze(1) * frequencies
        time = m.time(torch.cat([angles.cos(), angles.sin()], 1))
        x = m.first(x)
        kept = [x]
        for block, look, lower in zip(m.down, m.down_looks, m.lower):
            x = look(block(x, time), context_)
            kept.append(x)
            x = lower(x)
        x = m.middle2(m.middle_look(m.middle1(x, time), context_), time)
        for block, look, higher in zip(m.up, m.up_looks, m.higher):
            x = look(block(torch.cat([higher(F.interpolate(x, scale_factor=2.0)), kept.pop()], 1), time), context_)
        return m.out(torch.cat([x, kept.pop()], 1))
    widths, t = [w, w, 2 * w, 4 * w], 4 * w
    pairs = list(zip(widths, widths[1:]))
    back = [(4 * w, 4 * w, 2 * w), (2 * w, 2 * w, w), (w, w, w)]
    return Net(run, time=mlp(w, t, t, act=nn.SiLU), first=nn.Conv2d(4, w, 3, padding=1),
               down=[Timed(a, b, t) for a, b in pairs], down_looks=[Looks(b, context) for _, b in pairs],
               lower=[nn.Conv2d(b, b, 3, 2, 1) for _, b in pairs], middle1=Timed(4 * w, 4 * w, t),
               middle_look=Looks(4 * w, context), middle2=Timed(4 * w, 4 * w, t),
               higher=[nn.Conv2d(a, a, 3, padding=1) for a, _, _ in back], up=[Timed(a + b, o, t) for a, b, o in back],
               up_looks=[Looks(o, context) for _, _, o in back],
               out=nn.Sequential(grouped(2 * w), nn.SiLU(), nn.Conv2d(2 * w, 4, 3, padding=1))), (
            picture(side, 4), torch.tensor([417]), torch.randn(1, words, context))


def dit(side=16, width=128, patch=2, depth=4):
    """A diffusion transformer: the time and a class scale, shift and gate each layer."""
    def run(m, x, step, label):
        angles = step.float().unsqueeze(1) * torch.exp(-math.log(10000) * torch.arange(32) / 32)
        c = F.silu(m.time(torch.cat([angles.cos(), angles.sin()], 1)) + m.labels(label))
        x = m.patch(x).flatten(2).transpose(1, 2) + m.places
        for attention, feed, change in zip(m.attention, m.feed, m.change):
            s1, b1, g1, s2, b2, g2 = change(c).unsqueeze(1).chunk(6, -1)
            x = x + g1 * attention(F.layer_norm(x, (width,)) * (1 + s1) + b1)
            x = x + g2 * feed(F.layer_norm(x, (width,)) * (1 + s2) + b2)
        x = m.out(x).view(-1, side // patch, side // patch, patch, patch, 4)
        return torch.einsum('nhwpqc->nchpwq', x).reshape(-1, 4, side, side)
    n = range(depth)
    return Net(run, time=mlp(64, width, width, act=nn.SiLU), labels=nn.Embedding(10, width),
               patch=nn.Conv2d(4, width, patch, patch), places=nn.Parameter(torch.randn((side // patch) ** 2, width)),
               attention=[Attention(width) for _ in n], feed=[mlp(width, 4 * width, width,
                                                                  act=functools.partial(nn.GELU, approximate='tanh'))
                                                              for _ in n],
               change=[nn.Linear(width, 6 * width) for _ in n], out=nn.Linear(width, patch * patch * 4)), (
            picture(side, 4, 2), torch.tensor([17, 905]), torch.tensor([3, 7]))


def simple_pose(side=128):
    return nn.Sequential(resnet(), *raised((512, 64, 64, 64)), nn.Conv2d(64, 17, 1)), (picture(side),)


def hourglass(side=128, w=48, soft=True):
    """Points as the mean place under a map that a softmax made."""
    def level(n):
        inner = level(n - 1) if n else Residual(conv(w, w))
        return Residual(nn.MaxPool2d(2), conv(w, w), inner, conv(w, w), nn.Upsample(scale_factor=2))

    def run(m, x):
        maps = m.out(m.glass(m.first(x)))
        p = maps.flatten(2).softmax(2).view(maps.shape)
        at = torch.linspace(-1, 1, maps.shape[3])
        return torch.stack([(p.sum(2) * at).sum(2), (p.sum(3) * at).sum(2)], 2), maps
    return Net(run, first=nn.Sequential(conv(3, w, 7, 2), nn.MaxPool2d(2), Residual(conv(w, w))), glass=level(2),
               out=nn.Conv2d(w, 16, 1)), (picture(side),)


def spatial_transformer(side=64, batch=8, what='affine'):
    def run(m, x):
        if what == 'affine':
            theta = m.where(x).view(-1, 2, 3) * 0.3 + torch.eye(2, 3)
            at = F.affine_grid(theta, list(x.shape), align_corners=False)
            y = F.grid_sample(x, at, align_corners=False)
        else:
            at = torch.stack(torch.meshgrid(*[torch.linspace(-1, 1, side)] * 2, indexing='xy'), -1)
            flow = F.interpolate(m.where(x).view(-1, 2, 8, 8), (side, side), mode='bicubic', align_corners=True)
            y = F.grid_sample(x, at + 0.2 * flow.permute(0, 2, 3, 1), mode='bilinear', padding_mode='border',
                              align_corners=True)
        return m.body(y), y
    flat = (side // 4) ** 2 * 10
    return Net(run, where=nn.Sequential(nn.Conv2d(3, 8, 7, padding=3), nn.MaxPool2d(2), nn.ReLU(),
                                        nn.Conv2d(8, 10, 5, padding=2), nn.MaxPool2d(2), nn.ReLU(), nn.Flatten(),
                                        mlp(flat, 32, 6 if what == 'affine' else 128)),
               body=nn.Sequential(conv(3, 32, 3, 2), conv(32, 64, 3, 2), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
                                  nn.Linear(64, 43))), (picture(side, 3, batch),)


def correlation(side=128, reach=4, w=32):
    """Optical flow by products of the one's features with the other's, moved by up to `reach` in both ways."""
    def run(m, a, b):
        a, b = m.body(a), m.body(b)
        h, w_ = a.shape[2:]
        b = F.pad(b, (reach,) * 4)
        volume = torch.stack([(a * b[:, :, i:i + h, j:j + w_]).mean(1) for i in range(2 * reach + 1)
                              for j in range(2 * reach + 1)], 1)
        flow = m.flow(torch.cat([F.leaky_relu(volume, 0.1), a], 1))
        return F.interpolate(flow, scale_factor=4.0, mode='bilinear', align_corners=False) * 4
    return Net(run, body=nn.Sequential(conv(3, w, 3, 2, norm=None), conv(w, w, norm=None), conv(w, w, 3, 2, norm=None)),
               flow=nn.Sequential(conv((2 * reach + 1) ** 2 + w, 64, norm=None), conv(64, 32, d=2, norm=None),
                                  nn.Conv2d(32, 2, 3, padding=1))), (picture(side), picture(side))


def stereo(h=64, w=96, most=16):
    """A volume of both pictures' features at each disparity, three-dimensional convolutions, and a mean."""
    def run(m, a, b):
        a, b = m.body(a), m.body(b)
        volume = torch.stack([torch.cat([a, F.pad(b, (d, 0))[..., :b.shape[3]]], 1) for d in range(most)], 2)
        cost = m.volume(volume).squeeze(1)
        return (F.softmin(cost, 1) * torch.arange(most).view(1, -1, 1, 1)).sum(1)
    return Net(run, body=nn.Sequential(conv(3, 16, 3, 2), conv(16, 8)),
               volume=nn.Sequential(nn.Conv3d(16, 16, 3, padding=1), nn.ReLU(), nn.Conv3d(16, 16, 3, 2, 1), nn.ReLU(),
                                    nn.ConvTranspose3d(16, 8, 4, 2, 1), nn.ReLU(), nn.Conv3d(8, 1, 3, padding=1))), (
            torch.randn(1, 3, h, w), torch.randn(1, 3, h, w))


def raft():
    from torchvision.models import optical_flow
    net = optical_flow.raft_small(weights=None)
    return Net(lambda m, a, b: m.net(a, b, num_flow_updates=2)[-1], net=net), (picture(128), picture(128))


def rife_like(side=96):
    """A frame between two: flows that move both, and a mask that joins them."""
    def run(m, a, b):
        x = m.net(torch.cat([a, b], 1))
        at = torch.stack(torch.meshgrid(*[torch.linspace(-1, 1, side)] * 2, indexing='xy'), -1)
        moved = [F.grid_sample(p, at + 0.1 * torch.tanh(f).permute(0, 2, 3, 1), padding_mode='border',
                               align_corners=True) for p, f in ((a, x[:, :2]), (b, x[:, 2:4]))]
        mask = torch.sigmoid(x[:, 4:5])
        return moved[0] * mask + moved[1] * (1 - mask)
    prelu = functools.partial(conv, act=nn.PReLU, norm=None)
    return Net(run, net=nn.Sequential(prelu(6, 32, 3, 2), prelu(32, 64, 3, 2),
                                      *[Residual(prelu(64, 64)) for _ in range(4)], nn.ConvTranspose2d(64, 20, 4, 2, 1),
                                      nn.PixelShuffle(2))), (picture(side), picture(side))


def clip(frames, side):
    return torch.randn(1, 3, frames, side, side)


def video(kind):
    from torchvision.models import video as models
    if kind == 's3d':
        net = models.s3d(weights=None)
        net.avgpool = nn.AdaptiveAvgPool3d(1)  # its own asks for pictures of 224
        return net, (clip(8, 64),)
    if kind == 'mvit':
        settings = [models.mvit.MSBlockConfig(num_heads=heads, input_channels=a, output_channels=b,
                                              kernel_q=[3, 3, 3] if s > 1 else [], kernel_kv=[3, 3, 3],
                                              stride_q=[1, s, s] if s > 1 else [], stride_kv=[1, kv, kv]) for heads, a,
                    b, s, kv in ((1, 48, 96, 1, 4), (2, 96, 192, 2, 2), (4, 192, 192, 2, 1), (4, 192, 192, 1, 1))]
        return models.MViT(spatial_size=(96, 96), temporal_size=8, block_setting=settings, residual_pool=False,
                           residual_with_cls_embed=False, rel_pos_embed=False, proj_after_attn=False, num_classes=50), (
                clip(8, 96),)
    if kind == 'swin3d':
        return models.SwinTransformer3d(patch_size=[2, 4, 4], embed_dim=48, depths=[2, 2, 2], num_heads=[3, 6, 12],
                                        window_size=[4, 7, 7], num_classes=50), (clip(8, 112),)
    net = getattr(models, kind)(weights=None)
    # The last stage holds three quarters of the weights and nothing that the others do not.
    net.layer4, net.fc = nn.Identity(), nn.Linear(256, 50)
    return net, (clip(8, 32),)


def shifted(frames=8, side=112):
    """Two-dimensional, with an eighth of the channels from the frame before and an eighth from the next."""
    def run(m, x):
        x = m.first(x)
        for stage in m.stages:
            c, y = x.shape[1] // 8, x
            before = torch.cat([y[1:, :c], torch.zeros_like(y[:1, :c])], 0)
            after = torch.cat([torch.zeros_like(y[:1, c:2 * c]), y[:-1, c:2 * c]], 0)
            x = stage(torch.cat([before, after, y[:, 2 * c:]], 1))
        return m.out(x.mean((2, 3))).mean(0, keepdim=True)
    widths = (24, 48, 96, 192)
    return Net(run, first=conv(3, 24, 3, 2), stages=[nn.Sequential(conv(a, b, 3, 2, act=nn.ReLU),
                                                                   Residual(conv(b, b, act=nn.ReLU))) for a,
                                                     b in zip(widths, widths[1:])], out=nn.Linear(192, 50)), (
            torch.randn(frames, 3, side, side),)


def neighbours(side=32, w=16):
    """How like its 25 neighbours in the other picture each pixel is."""
    def run(m, a, b):
        a, b = m.features(a), F.unfold(m.features(b), 5, padding=2).view(1, w, 25, side, side)
        return (a.unsqueeze(2) * b).mean(1).softmax(1)
    return Net(run, features=nn.Sequential(conv(3, w, act=nn.ReLU, norm=None), nn.Conv2d(w, w, 3, padding=1))), (
            picture(side), picture(side))


def x3d(w=24):
    """Wide in the middle, where each channel has a filter through time and space."""
    wide = w * 9 // 4
    return nn.Sequential(
        nn.Conv3d(3, w, (1, 5, 5), (1, 2, 2), (0, 2, 2)), nn.Hardswish(),
        nn.Conv3d(w, w, (5, 1, 1), padding=(2, 0, 0), groups=w), nn.ReLU(), nn.Conv3d(w, wide, 1), nn.SiLU(),
        nn.Conv3d(wide, wide, 3, (1, 2, 2), 1, groups=wide), nn.SiLU(), nn.Conv3d(wide, 2 * w, 1),
        nn.AdaptiveAvgPool3d(1), nn.Flatten(), nn.Linear(2 * w, 20)), (clip(8, 64),)


def eeg(batch=8, electrodes=22, samples=256):
    """Long filters in time, then one through all electrodes for each."""
    return nn.Sequential(
        nn.Conv2d(1, 8, (1, 64), padding=(0, 32)), nn.Conv2d(8, 16, (electrodes, 1), groups=8), nn.ELU(),
        nn.AvgPool2d((1, 4)), nn.Conv2d(16, 16, (1, 16), padding=(0, 8), groups=16), nn.Conv2d(16, 16, 1), nn.ELU(),
        nn.AvgPool2d((1, 8)), nn.Flatten(), nn.Linear(128, 4)), (torch.randn(batch, 1, electrodes, samples),)


def networks():
    makers = {'pictures/neighbours': neighbours, 'video/x3d': x3d, 'pictures/eeg': eeg, 'pictures/espcn': espcn, 'pictures/edsr': edsr,
              'pictures/rcan': functools.partial(edsr, 48, attention=True), 'pictures/srgan generator': srgan,
              'pictures/esrgan rrdb': esrgan, 'pictures/dncnn': dncnn, 'pictures/style transfer': style,
              'pictures/adain': adain, 'pictures/cyclegan generator': cyclegan,
              'pictures/patch discriminator': patch_discriminator, 'pictures/dcgan generator': dcgan,
              'pictures/stylegan generator': stylegan, 'pictures/vae decoder': vae_decoder,
              'pictures/vector quantised': vector_quantised, 'pictures/diffusion unet': diffusion,
              'pictures/diffusion transformer': dit, 'pictures/pose simple baseline': simple_pose,
              'pictures/pose hourglass': hourglass, 'pictures/spatial transformer': spatial_transformer,
              'pictures/deformed by flow': functools.partial(spatial_transformer, batch=4, what='flow'),
              'pictures/stereo volume': stereo, 'video/flow by correlation': correlation, 'video/raft small': raft,
              'video/frame between': rife_like, 'video/shifted channels': shifted}
    for kind in ('r3d_18', 'mc3_18', 'r2plus1d_18', 's3d', 'mvit', 'swin3d'):
        makers[f'video/{kind}'] = functools.partial(video, kind)
    yield from makers.items()
