"""Sound to frames, words or sound: those of transformers with small random configurations, and others by hand."""
from __future__ import annotations

import functools

import torch
from torch import nn
from torch.nn import functional as F

from .language import build, library, main_result, wrapped

RATE = 16000
WAVE = dict(vocab_size=64, hidden_size=256, num_hidden_layers=2, num_attention_heads=4, intermediate_size=768,
            conv_dim=(128,) * 7, num_conv_pos_embeddings=32, num_conv_pos_embedding_groups=8, initializer_range=0.06)
NARROW = dict(WAVE, conv_dim=(64, 128, 128, 128, 128, 128, 128, 128, 128, 256, 256, 256, 256), squeeze_factor=2)
WHISPER = dict(vocab_size=3000, num_mel_bins=80, d_model=256, encoder_layers=2, decoder_layers=2,
               max_source_positions=200, encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=1024,
               decoder_ffn_dim=1024, max_target_positions=128, pad_token_id=0, bos_token_id=1, eos_token_id=2,
               decoder_start_token_id=1, init_std=0.06, use_cache=False)
# Of transformers, from one second of sound: class, how the attention is done, configuration.
WAVES = {
    'data2vec-audio': ('Data2VecAudioModel', 'eager', dict(WAVE, num_conv_pos_embeddings=5, conv_pos_kernel_size=9)),
    'hubert': ('HubertForCTC', 'sdpa', WAVE),
    'sew': ('SEWForCTC', 'eager', NARROW),
    'sew-d': ('SEWDModel', 'eager', dict(NARROW, position_buckets=64, share_att_key=True, relative_attention=True,
                                         pos_att_type=('p2c', 'c2p'))),
    'unispeech': ('UniSpeechForCTC', 'sdpa', dict(WAVE, num_ctc_classes=64)),
    'unispeech-sat': ('UniSpeechSatModel', 'eager', WAVE),
    'wav2vec2': ('Wav2Vec2ForCTC', 'sdpa', WAVE),
    'wav2vec2-large': ('Wav2Vec2Model', 'eager', dict(WAVE, do_stable_layer_norm=True, feat_extract_norm='layer',
                                                      conv_bias=True)),
    'wav2vec2-conformer': ('Wav2Vec2ConformerForCTC', 'eager', WAVE),
    'wav2vec2-rotary': ('Wav2Vec2ConformerModel', 'eager', dict(WAVE, position_embeddings_type='rotary')),
    'wav2vec2-speakers': ('Wav2Vec2ForXVector', 'eager', dict(WAVE, tdnn_dim=(128, 128, 128, 128, 256),
                                                             xvector_output_dim=128)),
    'wavlm': ('WavLMModel', 'eager', dict(WAVE, num_buckets=64, max_bucket_distance=200)),
}


def settled(module):
    """Convolutions keep the size of values, and norms have statistics, so that depth does not fade the signal."""
    for part in module.modules():
        if isinstance(part, (nn.Conv1d, nn.Conv2d, nn.Linear)):
            nn.init.kaiming_uniform_(part.weight, nonlinearity='relu')
        elif isinstance(part, (nn.BatchNorm1d, nn.BatchNorm2d)):
            nn.init.uniform_(part.running_var, 0.7, 1.3)
            nn.init.normal_(part.running_mean, 0, 0.1)
            nn.init.uniform_(part.weight, 0.5, 1.0)
            nn.init.normal_(part.bias, 0, 0.1)
    return module.eval()


def freed(module, spread=None):
    """Without the parametrization of weights, as vocoders are exported; `spread` is the weights' gain over what keeps
    the size of values."""
    for part in module.modules():
        if nn.utils.parametrize.is_parametrized(part, 'weight'):
            nn.utils.parametrize.remove_parametrizations(part, 'weight')
        if spread and isinstance(part, (nn.Conv1d, nn.ConvTranspose1d)):
            fan = part.weight[0].numel() if isinstance(part, nn.Conv1d) else (
                part.weight.shape[0] * max(1, part.kernel_size[0] // part.stride[0]))
            nn.init.normal_(part.weight, 0, spread * fan ** -0.5)
    return module.eval()


class Conformer(nn.Module):
    def __init__(self, bins=80, width=192, layers=3, heads=4, classes=200):
        super().__init__()
        self.front = nn.Sequential(nn.Conv2d(1, 48, 3, 2), nn.ReLU(), nn.Conv2d(48, 48, 3, 2), nn.ReLU())
        self.enter = nn.Linear(48 * 19, width)
        self.blocks = nn.ModuleList(nn.ModuleDict(dict(
            first=self.feed(width), last=self.feed(width), before=nn.LayerNorm(width),
            attention=nn.MultiheadAttention(width, heads, batch_first=True), norm=nn.LayerNorm(width),
            gates=nn.Conv1d(width, 2 * width, 1), deep=nn.Conv1d(width, width, 15, padding=7, groups=width),
            statistics=nn.BatchNorm1d(width), out=nn.Conv1d(width, width, 1), end=nn.LayerNorm(width)))
            for _ in range(layers))
        self.head = nn.Linear(width, classes)

    @staticmethod
    def feed(width):
        return nn.Sequential(nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.SiLU(), nn.Linear(4 * width, width))

    def forward(self, x):
        x = self.front(x[:, None])
        x = self.enter(x.transpose(1, 2).flatten(2))
        for b in self.blocks:
            x = x + 0.5 * b['first'](x)
            y = b['before'](x)
            x = x + b['attention'](y, y, y, need_weights=False)[0]
            y = F.glu(b['gates'](b['norm'](x).transpose(1, 2)), 1)
            x = x + b['out'](F.silu(b['statistics'](b['deep'](y)))).transpose(1, 2)
            x = b['end'](x + 0.5 * b['last'](x))
        return F.log_softmax(self.head(x), -1)


class Separator(nn.Module):
    """Conv-TasNet: masks of a learned transform, from dilated depthwise convolutions."""

    def __init__(self, filters=128, narrow=64, wide=128, repeats=2, depth=6, speakers=2):
        super().__init__()
        self.encode, self.decode = nn.Conv1d(1, filters, 16, 8), nn.ConvTranspose1d(filters, 1, 16, 8)
        self.norm, self.enter = nn.GroupNorm(1, filters), nn.Conv1d(filters, narrow, 1)
        self.blocks = nn.ModuleList(nn.Sequential(
            nn.Conv1d(narrow, wide, 1), nn.PReLU(), nn.GroupNorm(1, wide),
            nn.Conv1d(wide, wide, 3, padding=2 ** i, dilation=2 ** i, groups=wide), nn.PReLU(), nn.GroupNorm(1, wide),
            nn.Conv1d(wide, 2 * narrow, 1)) for _ in range(repeats) for i in range(depth))
        self.masks, self.speakers = nn.Sequential(nn.PReLU(), nn.Conv1d(narrow, speakers * filters, 1)), speakers

    def forward(self, x):
        coded = F.relu(self.encode(x))
        y, total = self.enter(self.norm(coded)), 0
        for block in self.blocks:
            rest, skip = block(y).chunk(2, 1)
            y, total = y + rest, total + skip
        masks = torch.sigmoid(self.masks(total)).unflatten(1, (self.speakers, -1))
        parts = (masks * coded[:, None]).flatten(0, 1)
        return self.decode(parts).unflatten(0, (-1, self.speakers)).squeeze(2)


class KeywordCNN(nn.Module):
    """DS-CNN, of a second's 49 frames."""

    def __init__(self, width=172, layers=5, words=12):
        super().__init__()
        parts = [nn.Conv2d(1, width, (10, 4), 2, (5, 1)), nn.BatchNorm2d(width), nn.ReLU()]
        for _ in range(layers):
            parts += [nn.Conv2d(width, width, 3, padding=1, groups=width), nn.BatchNorm2d(width), nn.ReLU(),
                      nn.Conv2d(width, width, 1), nn.BatchNorm2d(width), nn.ReLU()]
        self.parts = nn.Sequential(*parts, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(width, words))

    def forward(self, x):
        return F.softmax(self.parts(x), -1)


class MatchboxNet(nn.Module):
    """Time-channel separable 1-D convolutions with residuals."""

    def __init__(self, bins=64, width=128, words=35):
        super().__init__()
        self.first, self.last = self.block(bins, width, 11, 1), self.block(width, width, 29, 2)
        self.blocks = nn.ModuleList(self.block(width, width, k, 1) for k in (13, 15, 17, 19, 21))
        self.head = nn.Conv1d(width, words, 1)

    @staticmethod
    def block(inputs, width, kernel, dilation):
        return nn.Sequential(nn.Conv1d(inputs, inputs, kernel, padding=dilation * (kernel // 2), dilation=dilation,
                                       groups=inputs), nn.Conv1d(inputs, width, 1), nn.BatchNorm1d(width))

    def forward(self, x):
        x = F.relu(self.first(x))
        for block in self.blocks:
            x = F.relu(x + block(x))
        return self.head(F.relu(self.last(x))).mean(-1)


class DeepSpeech(nn.Module):
    def __init__(self, cell=nn.GRU, bins=161, width=160, layers=2, letters=29):
        super().__init__()
        self.front = nn.Sequential(nn.Conv2d(1, 16, (41, 11), (2, 2), (20, 5)), nn.BatchNorm2d(16), nn.Hardtanh(0, 20),
                                   nn.Conv2d(16, 16, (21, 11), (2, 1), (10, 5)), nn.BatchNorm2d(16), nn.Hardtanh(0, 20))
        self.cells = cell(16 * 41, width, layers, batch_first=True, bidirectional=True)
        self.head = nn.Linear(2 * width, letters)

    def forward(self, x):
        x = self.front(x).flatten(1, 2).transpose(1, 2)
        return F.log_softmax(self.head(self.cells(x)[0]), -1)


class CRNN(nn.Module):
    """A VGG of the picture of sound (or of a line of text), columns to two LSTMs, and a head for CTC."""

    def __init__(self, width=128, classes=96):
        super().__init__()
        parts, before = [], 1
        for channels, pool in ((32, (2, 2)), (64, (2, 2)), (128, (2, 1)), (128, (2, 1)), (256, (4, 1))):
            parts += [nn.Conv2d(before, channels, 3, padding=1), nn.BatchNorm2d(channels), nn.ReLU(),
                      nn.MaxPool2d(pool)]
            before = channels
        self.front, self.head = nn.Sequential(*parts), nn.Linear(2 * width, classes)
        self.cells = nn.LSTM(before, width, 2, bidirectional=True)

    def forward(self, x):
        x = self.front(x).squeeze(2).permute(2, 0, 1)
        return F.log_softmax(self.head(self.cells(x)[0]), -1)


class Denoiser(nn.Module):
    """A U-Net of the wave itself, with an LSTM in its middle (as Demucs) or none (as Wave-U-Net)."""

    def __init__(self, width=32, depth=4, recurrent=True):
        super().__init__()
        self.down, self.up, before = nn.ModuleList(), nn.ModuleList(), 1
        for level in range(depth):
            channels = width << level
            self.down.append(nn.Sequential(nn.Conv1d(before, channels, 8, 4, 2), nn.ReLU(),
                                           nn.Conv1d(channels, 2 * channels, 1), nn.GLU(1)))
            self.up.insert(0, nn.Sequential(nn.Conv1d(channels, 2 * channels, 1), nn.GLU(1),
                                            nn.ConvTranspose1d(channels, before, 8, 4, 2),
                                            nn.ReLU() if level else nn.Identity()))
            before = channels
        self.cells = nn.LSTM(before, before, 1, batch_first=True) if recurrent else None

    def forward(self, x):
        kept = []
        for part in self.down:
            x = part(x)
            kept.append(x)
        if self.cells is not None:
            x = self.cells(x.transpose(1, 2))[0].transpose(1, 2)
        for part in self.up:
            x = part(x + kept.pop())
        return x


class WaveUNet(nn.Module):
    """Decimation by 2 down, linear interpolation up, and concatenated skips."""

    def __init__(self, width=24, depth=6):
        super().__init__()
        sizes = [width * (i + 1) for i in range(depth)]
        self.down = nn.ModuleList(nn.Conv1d(a, b, 15, padding=7) for a, b in zip([1] + sizes, sizes))
        self.middle = nn.Conv1d(sizes[-1], sizes[-1], 15, padding=7)
        self.up = nn.ModuleList(nn.Conv1d(b + (sizes[i + 1] if i + 1 < depth else b), b, 5, padding=2)
                                for i, b in reversed(list(enumerate(sizes))))
        self.head = nn.Conv1d(width + 1, 1, 1)

    def forward(self, x):
        wave, kept = x, []
        for part in self.down:
            x = F.leaky_relu(part(x), 0.2)
            kept.append(x)
            x = x[:, :, ::2]
        x = F.leaky_relu(self.middle(x), 0.2)
        for part in self.up:
            x = F.interpolate(x, scale_factor=2, mode='linear', align_corners=True)
            x = F.leaky_relu(part(torch.cat([x, kept.pop()], 1)), 0.2)
        return torch.tanh(self.head(torch.cat([x, wave], 1)))


class Suppressor(nn.Module):
    """As RNNoise: three GRUs of bands, beside each other, to a gain per band and speech or not."""

    def __init__(self, bands=22, features=42):
        super().__init__()
        self.enter, self.voice = nn.Linear(features, 24), nn.GRU(24, 24, batch_first=True)
        self.noise = nn.GRU(24 + 24 + features, 48, batch_first=True)
        self.clean = nn.GRU(24 + 48 + features, 96, batch_first=True)
        self.gains, self.speech = nn.Linear(96, bands), nn.Linear(24, 1)

    def forward(self, x):
        y = torch.tanh(self.enter(x))
        voice = self.voice(y)[0]
        noise = F.relu(self.noise(torch.cat([y, voice, x], -1))[0])
        clean = F.relu(self.clean(torch.cat([voice, noise, x], -1))[0])
        return torch.sigmoid(self.gains(clean)), torch.sigmoid(self.speech(voice))


class Detector(nn.Module):
    """Speech or not, a chunk at a time: a spectrum by convolution, and an LSTM whose state is given and returned."""

    def __init__(self, size=256, hop=64):
        super().__init__()
        angle = torch.arange(size)[None] * torch.arange(size // 2 + 1)[:, None] * (2 * torch.pi / size)
        window = torch.hann_window(size)
        self.register_buffer('basis', torch.cat([angle.cos() * window, angle.sin() * window])[:, None])
        self.hop = hop
        parts = []
        for a, b, stride in ((size // 2 + 1, 128, 1), (128, 64, 2), (64, 64, 2), (64, 128, 1)):
            parts += [nn.Conv1d(a, b, 3, stride, 1), nn.ReLU()]
        self.parts, self.cell, self.head = nn.Sequential(*parts), nn.LSTM(128, 128), nn.Conv1d(128, 1, 1)

    def forward(self, x, hidden, cell):
        real, imaginary = F.conv1d(F.pad(x[:, None], (64, 64), mode='reflect'), self.basis, stride=self.hop).chunk(2, 1)
        x = self.parts((real ** 2 + imaginary ** 2).sqrt())
        x, (hidden, cell) = self.cell(x.permute(2, 0, 1), (hidden, cell))
        return torch.sigmoid(self.head(F.relu(x.permute(1, 2, 0)))).mean(-1), hidden, cell


class WaveNet(nn.Module):
    def __init__(self, width=48, skips=96, repeats=2, depth=7, levels=256):
        super().__init__()
        self.enter = nn.Conv1d(levels, width, 1)
        self.layers = nn.ModuleList(nn.ModuleList([nn.Conv1d(width, 2 * width, 2, dilation=2 ** i),
                                                   nn.Conv1d(width, width + skips, 1)])
                                    for _ in range(repeats) for i in range(depth))
        self.head, self.levels = nn.Sequential(nn.ReLU(), nn.Conv1d(skips, skips, 1), nn.ReLU(),
                                               nn.Conv1d(skips, levels, 1)), levels

    def forward(self, x):
        x, total = self.enter(F.one_hot(x, self.levels).transpose(1, 2).float()), 0
        for wide, narrow in self.layers:
            left, right = wide(F.pad(x, (wide.dilation[0], 0))).chunk(2, 1)
            y = narrow(torch.tanh(left) * torch.sigmoid(right))
            x, total = x + y[:, :x.shape[1]], total + y[:, x.shape[1]:]
        return self.head(total)


class ECAPA(nn.Module):
    """Who speaks: Res2Net blocks with squeeze and excitation, and a mean and deviation under attention."""

    def __init__(self, bins=80, width=256, scale=8, size=192):
        super().__init__()
        self.first = nn.Sequential(nn.Conv1d(bins, width, 5, padding=2), nn.ReLU(), nn.BatchNorm1d(width))
        part = width // scale
        self.blocks = nn.ModuleList(nn.ModuleDict(dict(
            enter=self.unit(width, width), leave=self.unit(width, width),
            parts=nn.ModuleList(nn.Sequential(nn.Conv1d(part, part, 3, padding=d, dilation=d), nn.ReLU(),
                                              nn.BatchNorm1d(part)) for _ in range(scale - 1)),
            squeeze=nn.Conv1d(width, 64, 1), excite=nn.Conv1d(64, width, 1))) for d in (2, 3, 4))
        self.join = nn.Conv1d(3 * width, 3 * width, 1)
        self.attention = nn.Sequential(nn.Conv1d(9 * width, 64, 1), nn.ReLU(), nn.BatchNorm1d(64), nn.Tanh(),
                                       nn.Conv1d(64, 3 * width, 1))
        self.norm, self.head, self.scale = nn.BatchNorm1d(6 * width), nn.Linear(6 * width, size), scale

    @staticmethod
    def unit(inputs, width):
        return nn.Sequential(nn.Conv1d(inputs, width, 1), nn.ReLU(), nn.BatchNorm1d(width))

    def forward(self, x):
        x, kept = self.first(x), []
        for block in self.blocks:
            pieces = list(block['enter'](x).chunk(self.scale, 1))
            done, last = [pieces[0]], None
            for piece, part in zip(pieces[1:], block['parts']):
                last = part(piece if last is None else piece + last)
                done.append(last)
            y = block['leave'](torch.cat(done, 1))
            gate = torch.sigmoid(block['excite'](F.relu(block['squeeze'](y.mean(-1, keepdim=True)))))
            x = x + y * gate
            kept.append(x)
        x = F.relu(self.join(torch.cat(kept, 1)))
        about = torch.cat([x.mean(-1, keepdim=True).expand_as(x),
                           x.var(-1, keepdim=True, correction=0).clamp(min=1e-6).sqrt().expand_as(x)], 1)
        weights = F.softmax(self.attention(torch.cat([x, about], 1)), -1)
        mean = (x * weights).sum(-1)
        deviation = ((x ** 2 * weights).sum(-1) - mean ** 2).clamp(min=1e-6).sqrt()
        return self.head(self.norm(torch.cat([mean, deviation], 1)))


class Transducer(nn.Module):
    """A step of RNN-T: the letter's LSTM, and its meeting with all frames."""

    def __init__(self, letters=500, width=256):
        super().__init__()
        self.letters, self.cells = nn.Embedding(letters, width), nn.LSTM(width, width, 2, batch_first=True)
        self.left, self.right, self.head = nn.Linear(192, width), nn.Linear(width, width), nn.Linear(width, letters)

    def forward(self, frames, letters, hidden, cell):
        y, (hidden, cell) = self.cells(self.letters(letters), (hidden, cell))
        return self.head(torch.tanh(self.left(frames)[:, :, None] + self.right(y)[:, None])), hidden, cell


class Tacotron(nn.Module):
    """Tacotron 2's encoder and its net after the decoder."""

    def __init__(self, letters=80, width=256, bins=80):
        super().__init__()
        self.letters, self.cells = nn.Embedding(letters, width), nn.LSTM(width, width // 2, 1, batch_first=True,
                                                                        bidirectional=True)
        self.front = nn.Sequential(*[part for _ in range(3) for part in (
            nn.Conv1d(width, width, 5, padding=2), nn.BatchNorm1d(width), nn.ReLU())])
        sizes = [bins, width, width, width, bins]
        self.after = nn.Sequential(*[part for a, b in zip(sizes, sizes[1:]) for part in (
            nn.Conv1d(a, b, 5, padding=2), nn.BatchNorm1d(b), nn.Tanh())])

    def forward(self, letters, frames):
        x = self.front(self.letters(letters).transpose(1, 2)).transpose(1, 2)
        return self.cells(x)[0], frames + self.after(frames)


class BroadcastResNet(nn.Module):
    """BC-ResNet: frequencies as a picture, their mean as a line, and the line spread over the picture again."""

    def __init__(self, width=24, words=12):
        super().__init__()
        self.enter = nn.Sequential(nn.Conv2d(1, 2 * width, 5, (2, 1), 2), nn.BatchNorm2d(2 * width), nn.ReLU())
        sizes = [2 * width, width, width, 2 * width, 2 * width, 3 * width, 3 * width]
        self.blocks = nn.ModuleList(nn.ModuleDict(dict(
            change=nn.Sequential(nn.Conv2d(a, b, 1), nn.BatchNorm2d(b), nn.ReLU()),
            frequencies=nn.Sequential(nn.Conv2d(b, b, (3, 1), (stride, 1), (1, 0), groups=b), nn.BatchNorm2d(b)),
            times=nn.Sequential(nn.Conv2d(b, b, (1, 3), padding=(0, dilation), dilation=(1, dilation), groups=b),
                                nn.BatchNorm2d(b), nn.SiLU(), nn.Conv2d(b, b, 1)))) for a, b, stride, dilation in zip(
            sizes, sizes[1:], (1, 1, 2, 1, 2, 1), (1, 1, 2, 2, 4, 4)))
        self.head = nn.Conv2d(3 * width, words, 1)

    def forward(self, x):
        x = self.enter(x)
        for block in self.blocks:
            y = block['frequencies'](block['change'](x))
            line = block['times'](y.mean(2, keepdim=True))
            x = F.relu(y + line + x) if x.shape == y.shape else F.relu(y + line)
        return self.head(x.mean((2, 3), keepdim=True)).flatten(1)


def _wave(kind, how, config):
    model = build(kind, how, config)
    return wrapped(lambda m, x: main_result(m(input_values=x)), model), (torch.randn(1, RATE),)


def _whisper(what):
    if what == 'step':
        types = library()
        model = build('WhisperForConditionalGeneration', 'sdpa', dict(
            WHISPER, d_model=384, encoder_attention_heads=6, decoder_attention_heads=6, vocab_size=5000,
            use_cache=True))

        def call(model, token, sound, *states):
            own, cross = types.DynamicCache(), types.DynamicCache()
            for layer in range(2):
                own.update(states[4 * layer], states[4 * layer + 1], layer)
                cross.update(states[4 * layer + 2], states[4 * layer + 3], layer)
            result = model(encoder_outputs=(sound,), decoder_input_ids=token, use_cache=True,
                           past_key_values=types.EncoderDecoderCache(own, cross))
            return result.logits, *[state for layer in own.layers for state in (layer.keys, layer.values)]
        states = [torch.randn(1, 6, length, 64) for _ in range(2) for length in (24, 24, 200, 200)]
        return wrapped(call, model), (torch.randint(5, 2999, (1, 1)), torch.randn(1, 200, 384), *states)
    model = build('WhisperForConditionalGeneration', 'sdpa' if what == 'encoder' else 'eager', WHISPER)
    if what == 'encoder':
        return wrapped(lambda m, x: m.model.encoder(x).last_hidden_state, model), (torch.randn(1, 80, 400),)
    if what == 'decoder':
        return wrapped(lambda m, ids, x: m(encoder_outputs=(x,), decoder_input_ids=ids).logits, model), (
            torch.randint(5, 2999, (1, 48)), torch.randn(1, 200, 256))
    model = build('WhisperForAudioClassification', 'sdpa', dict(WHISPER, num_labels=12))
    return wrapped(lambda m, x: m(x).logits, model), (torch.randn(1, 80, 400),)


def _codec(kind, what):
    if kind == 'encodec':
        model = freed(build('EncodecModel', '', dict(num_filters=16, hidden_size=64, upsampling_ratios=[8, 5, 4, 2],
                                                     codebook_size=256, codebook_dim=64, num_lstm_layers=1,
                                                     sampling_rate=RATE)), 1.2)
        if what == 'encoder':
            return wrapped(lambda m, x: m.encoder(x), model), (torch.randn(1, 1, RATE),)
        return wrapped(lambda m, x: m.decoder(x), model), (torch.randn(1, 64, 50),)
    model = freed(build('DacModel', '', dict(encoder_hidden_size=16, decoder_hidden_size=256, n_codebooks=4,
                                             codebook_size=256, downsampling_ratios=[2, 4, 8, 8])), 0.6)
    if what == 'encoder':
        return wrapped(lambda m, x: m.encoder(x), model), (torch.randn(1, 1, RATE // 2),)
    return wrapped(lambda m, x: m.decoder(x), model), (torch.randn(1, 256, 16),)


def _vocoder(what):
    if what == 'hifigan':
        model = build('SpeechT5HifiGan', '', dict(upsample_initial_channel=96, resblock_kernel_sizes=[3, 7],
                                                  resblock_dilation_sizes=[[1, 3, 5], [1, 3, 5]]))
        return freed(model, 1.0), (torch.randn(1, 32, 80),)
    if what == 'univnet':
        model = build('UnivNetModel', '', dict(model_in_channels=16, model_hidden_channels=8,
                                               kernel_predictor_hidden_channels=16, num_mel_bins=80))
        return wrapped(lambda m, x, noise: main_result(m(x, noise)), freed(model, 1.0)), (
            torch.randn(1, 12, 80), torch.randn(1, 12, 16))
    model = freed(build('VitsModel', '', dict(
        hidden_size=128, num_hidden_layers=3, ffn_dim=512, flow_size=128, upsample_initial_channel=96,
        resblock_kernel_sizes=[3, 5], resblock_dilation_sizes=[[1, 3], [1, 3]], initializer_range=0.06)))
    if what == 'vits-text':
        return wrapped(lambda m, ids, mask: main_result(m.text_encoder(input_ids=ids, padding_mask=mask)), model), (
            torch.randint(1, 38, (1, 120)), torch.ones(1, 120, 1))
    if what == 'vits-flow':
        return wrapped(lambda m, x, mask: m.flow(x, mask, reverse=True), model), (
            torch.randn(1, 128, 100), torch.ones(1, 1, 100))
    return wrapped(lambda m, x: m.decoder(x), model), (torch.randn(1, 128, 24),)


def _other(what):
    mel = torch.randn(1, 200, 80)
    if what == 'ast':
        model = build('ASTForAudioClassification', 'sdpa', dict(
            hidden_size=192, num_hidden_layers=3, num_attention_heads=4, intermediate_size=768, max_length=256,
            num_mel_bins=128, num_labels=50, initializer_range=0.06))
        return wrapped(lambda m, x: m(x).logits, model), (torch.randn(1, 256, 128),)
    if what == 'clap':
        model = build('ClapAudioModelWithProjection', 'eager', dict(
            spec_size=128, num_mel_bins=32, depths=[1, 1, 2, 1], num_attention_heads=[2, 4, 8, 16], hidden_size=384,
            patch_embeds_hidden_size=48, window_size=4, projection_dim=128, num_classes=50))
        return wrapped(lambda m, x: m(input_features=x).audio_embeds, model), (torch.randn(1, 1, 512, 32),)
    if what == 'speech2text':
        model = build('Speech2TextForConditionalGeneration', 'eager', dict(
            vocab_size=2000, encoder_layers=2, decoder_layers=2, encoder_ffn_dim=1024, decoder_ffn_dim=1024,
            d_model=256, conv_channels=256, init_std=0.06, use_cache=False))
        return wrapped(lambda m, x, ids: m(input_features=x, decoder_input_ids=ids).logits, model), (
            mel, torch.randint(5, 1999, (1, 32)))
    if what == 'wav2vec2-bert':
        model = build('Wav2Vec2BertForCTC', 'eager', dict(
            vocab_size=64, hidden_size=256, num_hidden_layers=2, num_attention_heads=4, intermediate_size=768,
            feature_projection_input_dim=160, initializer_range=0.06))
        return wrapped(lambda m, x: m(input_features=x).logits, model), (torch.randn(1, 100, 160),)
    if what == 'parakeet':
        model = build('ParakeetForCTC', 'eager', dict(vocab_size=129, pad_token_id=128, encoder_config=dict(
            hidden_size=256, num_hidden_layers=3, num_attention_heads=4, intermediate_size=768, num_mel_bins=80,
            subsampling_conv_channels=64, initializer_range=0.06)))
        return wrapped(lambda m, x: m(input_features=x).logits, model), (mel,)
    if what == 'moonshine':
        model = build('MoonshineForConditionalGeneration', 'sdpa', dict(
            vocab_size=2000, encoder_num_hidden_layers=2, decoder_num_hidden_layers=2, hidden_size=256,
            intermediate_size=768, encoder_num_attention_heads=4, decoder_num_attention_heads=4, use_cache=False,
            initializer_range=0.06))
        return wrapped(lambda m, x, ids: m(input_values=x, decoder_input_ids=ids, use_cache=False).logits, model), (
            torch.randn(1, RATE), torch.randint(5, 1999, (1, 24)))
    if what == 'speecht5-postnet':
        model = build('SpeechT5ForTextToSpeech', 'eager', dict(
            hidden_size=256, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4,
            encoder_ffn_dim=768, decoder_ffn_dim=768))
        return wrapped(lambda m, x: m.speech_decoder_postnet.postnet(x), model), (mel,)
    if what == 'speecht5-encoder':
        model = build('SpeechT5ForTextToSpeech', 'eager', dict(
            hidden_size=256, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4,
            encoder_ffn_dim=768, decoder_ffn_dim=768, initializer_range=0.06))
        return wrapped(lambda m, ids: main_result(m.speecht5.encoder(ids)), model), (torch.randint(5, 80, (1, 120)),)
    raise ValueError(what)


def _by_hand(make, *shapes):
    return settled(make()), tuple(torch.randn(*shape) for shape in shapes)


BY_HAND = {
    'bc-resnet': (functools.partial(BroadcastResNet, width=32), (4, 1, 40, 101)),
    'conformer': (Conformer, (1, 240, 80)),
    'conformer-batch4': (functools.partial(Conformer, width=128, layers=2), (4, 96, 80)),
    'conv-tasnet': (Separator, (1, 1, RATE // 2)),
    'crnn': (CRNN, (1, 1, 64, 160)),
    'deepspeech-gru': (DeepSpeech, (1, 1, 161, 120)),
    'deepspeech-lstm': (functools.partial(DeepSpeech, nn.LSTM, width=128), (1, 1, 161, 96)),
    'deepspeech-rnn': (functools.partial(DeepSpeech, nn.RNN, width=192), (1, 1, 161, 96)),
    'demucs': (Denoiser, (1, 1, 16384)),
    'denoiser': (functools.partial(Denoiser, width=48, recurrent=False), (1, 1, 16384)),
    'ecapa': (ECAPA, (1, 80, 200)),
    'kws-ds-cnn': (functools.partial(KeywordCNN, width=276), (1, 1, 98, 10)),
    'kws-ds-cnn-batch8': (functools.partial(KeywordCNN, layers=4), (8, 1, 49, 10)),
    'matchboxnet': (MatchboxNet, (4, 64, 128)),
    'noise-gains': (Suppressor, (1, 300, 42)),
    'vad': (Detector, (1, 16384), (1, 1, 128), (1, 1, 128)),
    'wave-u-net': (WaveUNet, (1, 1, 4096)),
}


def networks():
    for name, row in WAVES.items():
        yield f'speech/{name}', functools.partial(_wave, *row)
    for what in ('encoder', 'decoder', 'step', 'classes'):
        yield f'speech/whisper-{what}', functools.partial(_whisper, what)
    for kind, what in (('encodec', 'encoder'), ('encodec', 'decoder'), ('dac', 'encoder'), ('dac', 'decoder')):
        yield f'speech/{kind}-{what}', functools.partial(_codec, kind, what)
    for what in ('hifigan', 'univnet', 'vits-text', 'vits-flow', 'vits-decoder'):
        yield f'speech/{what}', functools.partial(_vocoder, what)
    for what in ('ast', 'clap', 'speech2text', 'wav2vec2-bert', 'parakeet', 'moonshine', 'speecht5-postnet',
                 'speecht5-encoder'):
        yield f'speech/{what}', functools.partial(_other, what)
    for name, row in BY_HAND.items():
        yield f'speech/{name}', functools.partial(_by_hand, *row)
    yield 'speech/wavenet', lambda: (settled(WaveNet()), (torch.randint(0, 256, (1, 1024)),))
    yield 'speech/transducer-step', lambda: (settled(Transducer()), (
        torch.randn(1, 64, 192), torch.randint(0, 500, (1, 4)), torch.randn(2, 1, 256), torch.randn(2, 1, 256)))
    yield 'speech/tacotron', lambda: (settled(Tacotron()), (torch.randint(0, 80, (1, 100)), torch.randn(1, 80, 120)))
