"""Tensors of ones, and calls of functions with many arguments that are right but for what is changed."""
from __future__ import annotations

import numpy as np

from values import Scalar, Tensor, given


def t(*shape, dtype: str = 'f32') -> Tensor:
    """An input of ones."""
    return given(np.ones(shape), dtype)


def o(*shape, dtype: str = 'f32') -> Tensor:
    return Tensor(dtype, shape)


def nz(*shape, dtype: str = 'f16', tiles: int = 16) -> Tensor:
    return Tensor(dtype, shape, tiles=tiles)


def groups(**changes) -> tuple:
    """aclnnGroupedMatmulV4 of two groups of rows of x [5, 4] and weights [2, 4, 3], but for these arguments."""
    arguments = dict(x=[t(5, 4)], weight=[t(2, 4, 3)], bias=None, scale=None, offset=None, antiscale=None, antioffset=None,
                     token=None, list=t(2, dtype='i64'), active=None, active_scale=None, active_offset=None, split=3, type=0,
                     list_type=0, activation=0, out=[o(5, 3)], feature=None, dynamic=None)
    assert changes.keys() <= arguments.keys()
    return ('GroupedMatmulV4', *(arguments | changes).values())


def class_loss(**changes) -> tuple:
    """aclnnCrossEntropyLoss of three rows and five classes, but for these arguments."""
    arguments = dict(input=t(3, 5), target=t(3, dtype='i64'), weight=None, reduction=b'mean', ignored=-100, smoothing=0.0, scale=0.0,
                     returns=False, loss=o(1), log_prob=o(3, 5), zloss=None, lse=None)
    assert changes.keys() <= arguments.keys()
    return ('CrossEntropyLoss', *(arguments | changes).values())


def bytes_in_groups(**changes) -> tuple:
    """The same of INT8 with scales of columns, and results of FLOAT16."""
    return groups(**dict(x=[t(5, 4, dtype='i8')], weight=[t(2, 4, 3, dtype='i8')], scale=[t(2, 3)], out=[o(5, 3, dtype='f16')]) | changes)


def small_weights(**changes) -> tuple:
    """The same of FLOAT16 with weights of INT8."""
    return groups(**dict(x=[t(5, 4, dtype='f16')], weight=[t(2, 4, 3, dtype='i8')], antiscale=[t(2, 3, dtype='f16')],
                         out=[o(5, 3, dtype='f16')]) | changes)


def latent(**changes) -> tuple:
    """aclnnKvRmsNormRopeCache of two batches of three tokens, 6 + 4 wide, but for these arguments. Pages are of one row."""
    h = 'f16'
    pages = changes.get('mode') is not None
    shape = (6, 1, 1) if pages else (2, 1, 3)
    arguments = dict(kv=t(2, 1, 3, 10, dtype=h), gamma=t(6, dtype=h), cos=t(2, 1, 3, 4, dtype=h), sin=t(2, 1, 3, 4, dtype=h),
                     index=t(2, 3, dtype='i64'), keys=t(*shape, 4, dtype=h), latents=t(*shape, 6, dtype=h), key_scale=None,
                     latent_scale=None, key_offset=None, latent_offset=None, eps=1e-5, mode=None, shown=False, key_out=None,
                     latent_out=None)
    assert changes.keys() <= arguments.keys()
    return ('KvRmsNormRopeCache', *(arguments | changes).values())


def routing(**changes) -> tuple:
    """aclnnMoeInitRoutingV3 of three tokens for two of four experts, but for these arguments."""
    arguments = dict(x=t(3, 4), experts=t(3, 2, dtype='i32'), scale=None, offset=None, active=0, capacity=-1, number=4, drop=0,
                     counted=1, counts=True, mode=-1, span=None, kind=0, out=o(6, 4), rows=o(6, dtype='i32'),
                     found=o(4, dtype='i64'), scales=None)
    assert changes.keys() <= arguments.keys()
    return ('MoeInitRoutingV3', *(arguments | changes).values())


def gating(**changes) -> tuple:
    """aclnnMoeGatingTopK of three tokens and eight experts in two groups, but for these arguments."""
    arguments = dict(x=t(3, 8), bias=None, k=2, kept=1, groups=2, select=1, renorm=0, norm=1, flag=False, factor=1.0, eps=0.0,
                     y=o(3, 2), experts=o(3, 2, dtype='i32'), out=None)
    assert changes.keys() <= arguments.keys()
    return ('MoeGatingTopK', *(arguments | changes).values())


def gated(**changes) -> tuple:
    """aclnnGroupedMatmulSwigluQuantV2 of two groups of rows of x [5, 4] and weights [2, 4, 6], but for these arguments."""
    arguments = dict(x=t(5, 4, dtype='i8'), weight=[t(2, 4, 6, dtype='i8')], scale=[t(2, 6)], assist=None, bias=None, token=t(5),
                     smooth=None, groups=t(2, dtype='i64'), mode=0, type=0, quant=0, listed=0, tuning=None,
                     out=o(5, 3, dtype='i8'), steps=o(5))
    assert changes.keys() <= arguments.keys()
    return ('GroupedMatmulSwigluQuantV2', *(arguments | changes).values())


def dequantised(**changes) -> tuple:
    """aclnnDequantSwigluQuantV2 of x [5, 6], but for these arguments."""
    arguments = dict(x=t(5, 6, dtype='i32'), by=t(6), token=t(5), bias=None, smooth=None, offset=None, groups=None, left=True,
                     mode=b'dynamic', dtype=2, rounding=b'rint', dim=-1, form=0, limit=7.0, alpha=1.0, plus=0.0,
                     out=o(5, 3, dtype='i8'), steps=o(5))
    assert changes.keys() <= arguments.keys()
    return ('DequantSwigluQuantV2', *(arguments | changes).values())


def served(**changes) -> tuple:
    """aclnnFusedInferAttentionScoreV3 of a query [1, 2, 3, 4] and a key [1, 1, 5, 4], but for these arguments."""
    arguments = dict(query=t(1, 2, 3, 4), key=[t(1, 1, 5, 4)], value=[t(1, 1, 5, 4)], shift=None, mask=None, lengths=None,
                     keys=None, a=None, b=None, c=None, d=None, e=None, f=None, g=None, pages=None, padding=None, h=None, i=None,
                     j=None, k=None, l=None, prefix=None, m=None, prefix_length=None, rope=None, key_rope=None, n=None, heads=2,
                     scale=1.0, before=9, after=9, layout=b'BNSD', key_heads=1, sparse=0, inner=0, block=0, anti=0, flag=False,
                     p=0, q=0, out=o(1, 2, 3, 4), sums=None)
    assert changes.keys() <= arguments.keys()
    return ('FusedInferAttentionScoreV3', *(arguments | changes).values())


PAGES = dict(key=[t(4, 2, 4)], value=[t(4, 2, 4)], pages=t(1, 3, dtype='i32'), keys=[5])
SMALL = dict(key=[t(1, 1, 5, 4, dtype='i8')], value=[t(1, 1, 5, 4, dtype='i8')], i=t(4), k=t(4))
SMALL_PACKED = dict(key=[t(7, 1, 4, dtype='i8')], value=[t(7, 1, 4, dtype='i8')], i=t(2, 7), k=t(2, 7))
PACKED = dict(query=t(5, 2, 4), key=[t(7, 1, 4)], value=[t(7, 1, 4)], layout=b'TND', lengths=[2, 5], keys=[3, 7], out=o(5, 2, 4))


ONE, NONE = Scalar(1, 'f32'), Scalar(0, 'f32')
IMAGE = t(1, 3, 5, 5)
HALF = t(3, 4, dtype='f16')
LORA = t(3, 2, 2, 4, dtype='f16')
STATES = [t(4, 3), t(4, 1), t(1, 1, 1), t(1, 1, 1)]  # parameters and first states of an LSTM


def attention(**changes) -> tuple:
    """aclnnFlashAttentionScore of a query [1, 2, 3, 4] and a key [1, 1, 5, 4], but for these arguments."""
    arguments = dict(query=t(1, 2, 3, 4), key=t(1, 1, 5, 4), value=t(1, 1, 5, 4), shift=None, drop=None, padding=None, mask=None,
                     prefix=None, scale=1.0, keep=1.0, before=9, after=9, heads=2, layout=b'BNSD', inner=0, sparse=0,
                     most=o(1, 2, 3, 8), sum=o(1, 2, 3, 8), unused=None, out=o(1, 2, 3, 4))
    assert changes.keys() <= arguments.keys()
    return ('FlashAttentionScore', *(arguments | changes).values())


def sloped(**changes) -> tuple:
    """aclnnFlashAttentionScoreV2 of the same with slopes of the heads, but for these arguments."""
    arguments = dict(query=t(1, 2, 3, 4), key=t(1, 1, 5, 4), value=t(1, 1, 5, 4), shift=t(2), drop=None, padding=None, mask=None,
                     prefix=None, rows=None, columns=None, scale=1.0, keep=1.0, before=9, after=9, heads=2, layout=b'BNSD', inner=0,
                     sparse=0, kind=2, most=o(1, 2, 3, 8), sum=o(1, 2, 3, 8), unused=None, out=o(1, 2, 3, 4))
    assert changes.keys() <= arguments.keys()
    return ('FlashAttentionScoreV2', *(arguments | changes).values())


def ring(**changes) -> tuple:
    """aclnnRingAttentionUpdateV2 of five packed rows of two heads, but for these arguments."""
    arguments = dict(before=t(5, 2, 4), most=t(5, 2, 8), sum=t(5, 2, 8), now=t(5, 2, 4), most2=t(5, 2, 8), sum2=t(5, 2, 8),
                     ends=t(2, dtype='i64'), layout=b'TND', numbers=b'', out=o(5, 2, 4), largest=o(5, 2, 8), total=o(5, 2, 8))
    assert changes.keys() <= arguments.keys()
    return ('RingAttentionUpdateV2', *(arguments | changes).values())


def blocks(**changes) -> tuple:
    """aclnnBlockSparseAttention of two rows and 200 columns in blocks of 1 x 128, but for these arguments."""
    arguments = dict(query=t(2, 2, 4, dtype='f16'), key=t(200, 1, 4, dtype='f16'), value=t(200, 1, 4, dtype='f16'),
                     mask=t(1, 2, 2, 2, dtype='i8'), other=None, shape=[1, 128], rows=[2], columns=[200], pages=None, layout=b'TND',
                     key_layout=b'TND', heads=1, kind=0, scale=1.0, inner=0, block=0, before=2**31 - 1, after=2**31 - 1, flag=0,
                     out=o(2, 2, 4, dtype='f16'), levels=None)
    assert changes.keys() <= arguments.keys()
    return ('BlockSparseAttention', *(arguments | changes).values())


def delta(**changes) -> tuple:
    """aclnnRecurrentGatedDeltaRule of three tokens in five states, but for these arguments."""
    of = dict(dtype='bf16')
    arguments = dict(query=t(3, 1, 4, **of), key=t(3, 1, 4, **of), value=t(3, 2, 2, **of), beta=None, state=t(5, 2, 2, 4, **of),
                     lengths=t(2, dtype='i32'), slots=t(3, dtype='i32'), g=None, gk=None, accepted=None, scale=1.0,
                     out=o(3, 2, 2, **of))
    assert changes.keys() <= arguments.keys()
    return ('RecurrentGatedDeltaRule', *(arguments | changes).values())


def layers(**changes) -> tuple:
    """aclnnFFNV2 of five rows and two experts, but for these arguments."""
    half = dict(dtype='f16')
    arguments = dict(x=t(5, 3, **half), one=t(2, 3, 4, **half), two=t(2, 4, 3, **half), tokens=[2, 3], bias1=None, bias2=None,
                     scale=None, offset=None, deq1=None, deq2=None, by1=None, by2=None, plus1=None, plus2=None, name=b'silu', inner=0,
                     index=False, y=o(5, 3, **half))
    assert changes.keys() <= arguments.keys()
    return ('FFNV2', *(arguments | changes).values())


def packed(**changes) -> tuple:
    """aclnnFlashAttentionVarLenScore of queries [2 + 3, 2, 4] and keys [4 + 3, 1, 4], but for these arguments."""
    arguments = dict(query=t(5, 2, 4), key=t(7, 1, 4), value=t(7, 1, 4), shift=None, drop=None, padding=None, mask=None,
                     prefix=None, queries=[2, 5], keys=[4, 7], scale=1.0, keep=1.0, before=9, after=9, heads=2, layout=b'TND',
                     inner=0, sparse=0, most=o(5, 2, 8), sum=o(5, 2, 8), unused=None, out=o(5, 2, 4))
    assert changes.keys() <= arguments.keys()
    return ('FlashAttentionVarLenScore', *(arguments | changes).values())


def packed_with_sinks(**changes) -> tuple:
    """aclnnFlashAttentionVarLenScoreV5 of the same, but for these arguments."""
    arguments = dict(query=t(5, 2, 4), query_rope=None, key=t(7, 1, 4), key_rope=None, value=t(7, 1, 4), shift=None, drop=None, padding=None,
                     mask=None, sink=t(2), prefix=None, queries=[2, 5], keys=[4, 7], query_start=None, key_start=None, scale=1.0, keep=1.0,
                     before=9, after=9, heads=2, layout=b'TND', inner=0, sparse=0, kind=1, numbers=b'', most=o(5, 2, 8), sum=o(5, 2, 8),
                     unused=None, out=o(5, 2, 4))
    assert changes.keys() <= arguments.keys()
    return ('FlashAttentionVarLenScoreV5', *(arguments | changes).values())


def mask(*shape) -> Tensor:
    return t(*shape, dtype='bool')


def added(bias=None, dtype=0, to=t(3, dtype='i32'), first=0, listed=1):
    return ('GroupedMatmulFinalizeRoutingWeightNz', t(3, 8, dtype='i8'), t(1, 8, 4, dtype='i8'), t(1, 4), bias, None, t(1, dtype='i64'),
            t(1, 4, dtype='bf16'), None, to, dtype, 1.0, first, False, False, listed, o(2, 4))


def looked_up(query=t(2, 2, 1, 4, dtype='f16'), key=t(2, 3, 1, 4, dtype='f16'), layouts=(b'BSND', b'BSND'), sparse=3,
              tokens=(2 ** 63 - 1, 2 ** 63 - 1), pages=None, values=o(2, 2, 1, 2, dtype='f16')):
    return ('LightningIndexer', query, key, t(2, 2, 1, dtype='f16'), None, None, pages, *layouts, 2, sparse, *tokens, True,
            o(2, 2, 1, 2, dtype='i32'), values)


def sparse_flash(value=t(2, 3, 1, 4, dtype='f16'), chosen=t(2, 2, 1, 2, dtype='i32'), rope=t(2, 2, 1, 2, dtype='f16'), mode=2, sums=False):
    return ('SparseFlashAttention', t(2, 2, 1, 4, dtype='f16'), t(2, 3, 1, 4, dtype='f16'), value, chosen, None, None, None, rope,
            t(2, 3, 1, 2, dtype='f16'), 1.0, 1, b'BSND', b'BSND', 3, 2 ** 63 - 1, 2 ** 63 - 1, mode, sums, o(2, 2, 1, 4, dtype='f16'), None,
            None)
