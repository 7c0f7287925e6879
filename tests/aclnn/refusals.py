"""Calls that one function alone must refuse, with 161002 or 161001 (NULLS): one line each, the arguments in C's order."""
from __future__ import annotations

import numpy as np

import errors
from binding import BAD_ARGUMENT, NULL_ARGUMENT
from cases import Case
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


def mask(*shape) -> Tensor:
    return t(*shape, dtype='bool')


ATTENTION = [
    ('packed sequences', attention(layout=b'TND')),
    ('a layout of packed sequences', attention(layout=b'TND', query=t(3, 2, 4), key=t(5, 1, 4), value=t(5, 1, 4))),
    ('three dimensions', attention(layout=b'BSH')),
    ('no heads', attention(heads=0)),
    ('other heads', attention(heads=1)),
    ('heads that do not share', attention(key=t(1, 3, 5, 4), value=t(1, 3, 5, 4))),
    ('another size of heads', attention(key=t(1, 1, 5, 3))),
    ('another length of the value', attention(value=t(1, 1, 4, 4))),
    ('another type of the key', attention(key=t(1, 1, 5, 4, dtype='f16'))),
    ('a mode of packed sequences', attention(sparse=7, mask=mask(2048, 2048))),
    ('a mode of packed sequences', attention(sparse=8, mask=mask(2048, 2048))),
    ('a mode that is none', attention(sparse=-1)),
    ('a mode that is none', attention(sparse=9)),
    ('no mask', attention(sparse=1)),
    ('no mask', attention(sparse=2)),
    ('a whole mask', attention(sparse=2, mask=mask(3, 5))),
    ('another mask', attention(mask=mask(3, 4))),
    ('a mask of other heads', attention(mask=mask(1, 3, 3, 5))),
    ('a mask of three dimensions', attention(mask=mask(1, 3, 5))),
    ('nothing between', attention(mask=mask(3, 5), before=1, after=-2)),
    ('no prefix', attention(sparse=5, mask=mask(3, 5))),
    ('a prefix too long', attention(sparse=5, mask=mask(3, 5), prefix=[6])),
    ('prefixes of two', attention(sparse=6, mask=mask(3072, 2048), prefix=[1, 1])),
    ('a bias of other rows', attention(shift=t(1, 2, 2, 5))),
    ('a bias of another type', attention(shift=t(1, 2, 3, 5, dtype='f16'))),
    ('the last rows of a bias', attention(query=t(1, 2, 1025, 4), shift=t(1, 2, 1024, 5), most=o(1, 2, 1025, 8),
                                          sum=o(1, 2, 1025, 8), out=o(1, 2, 1025, 4))),
    ('a padding mask', attention(padding=t(3, 5))),
    ('nothing kept', attention(keep=0.0, drop=t(16, dtype='u8'))),
    ('more than all kept', attention(keep=1.5)),
    ('dropout without a mask', attention(keep=0.5)),
    ('bits too few', attention(keep=0.5, drop=t(3, dtype='u8'))),
    ('another type of the result', attention(out=o(1, 2, 3, 4, dtype='f16'))),
    ('a sum of halves', attention(sum=o(1, 2, 3, 8, dtype='f16'))),
    ('one number for each row', attention(most=o(1, 2, 3, 1))),
    ('another layout', packed(layout=b'BSH')),
    ('no lengths', packed(queries=None, keys=None)),
    ('lengths that are not added up', packed(queries=[2, 3])),
    ('lengths that fall', packed(queries=[6, 5])),
    ('more sequences of keys', packed(keys=[2, 4, 7])),
    ('a mode without packed sequences', packed(sparse=5, mask=mask(3, 4), prefix=[1, 1])),
    ('a mode that is not there', packed(sparse=7, mask=mask(2048, 2048))),
    ('a mode that is not there', packed(sparse=8, mask=mask(2048, 2048))),
    ('a bias', packed(shift=t(1, 2, 5, 7))),
    ('dropout without a mask', packed(keep=0.5)),
    ('no prefix', packed(sparse=6, mask=mask(3072, 2048), prefix=[1])),
    ('a mask for all rows', packed(mask=mask(5, 7))),
    ('other heads', packed(heads=1, most=o(5, 1, 8), sum=o(5, 1, 8))),
    ('numbers of another shape', packed(most=o(2, 5, 8))),
]
CALLS = [
    ('gated products of other depths', *gated(weight=[t(2, 3, 6, dtype='i8')])),
    ('an odd number of columns', *gated(weight=[t(2, 4, 5, dtype='i8')], scale=[t(2, 5)])),
    ('two weights', *gated(weight=[t(2, 4, 6, dtype='i8')] * 2)),
    ('another number of groups', *gated(groups=t(3, dtype='i64'))),
    ('scales of other columns', *gated(scale=[t(2, 3)])),
    ('scales of other rows', *gated(token=t(4))),
    ('a matrix that assists', *gated(assist=[t(2, 6)])),
    ('a bias of gated products', *gated(bias=t(2, 6))),
    ('what smooths gated products', *gated(smooth=t(2, 3))),
    ('another mode of dequantisation', *gated(mode=1)),
    ('another type in between', *gated(type=1)),
    ('another mode of quantisation', *gated(quant=1)),
    ('lists of pairs', *gated(listed=2)),
    ('a gated result of other columns', *gated(out=o(5, 6, dtype='i8'))),
    ('steps of other rows', *gated(steps=o(4))),
    ('a bias of the first version', 'GroupedMatmulSwigluQuant', t(5, 4, dtype='i8'), t(2, 4, 6, dtype='i8'), t(2, 6, dtype='i32'),
     None, t(2, 6), t(5), t(2, dtype='i64'), o(5, 3, dtype='i8'), o(5), None),
    ('an offset of the first version', 'GroupedMatmulSwigluQuant', t(5, 4, dtype='i8'), t(2, 4, 6, dtype='i8'), None, t(2, 6),
     t(2, 6), t(5), t(2, dtype='i64'), o(5, 3, dtype='i8'), o(5), None),
    ('rows without halves', *dequantised(x=t(5, 5, dtype='i32'), by=t(5), out=o(5, 2, dtype='i8'))),
    ('sums without their scale', *dequantised(by=None)),
    ('a scale of the rows of floats', *dequantised(x=t(5, 6, dtype='f16'))),
    ('a scale of other columns', *dequantised(by=t(3))),
    ('a scale of other rows', *dequantised(token=t(5, 2))),
    ('a bias of sums', *dequantised(bias=t(6, dtype='i32'))),
    ('an offset of steps', *dequantised(offset=t(3))),
    ('given steps', *dequantised(mode=b'static')),
    ('no mode', *dequantised(mode=None)),
    ('four bits', *dequantised(dtype=29)),
    ('another rounding', *dequantised(rounding=b'floor')),
    ('another dimension', *dequantised(dim=0)),
    ('another form', *dequantised(form=3)),
    ('no limit', *dequantised(form=1, limit=0.0)),
    ('scales of other groups', *dequantised(groups=t(2, dtype='i64'), by=t(3, 6))),
    ('a scale of one group for two', *dequantised(groups=t(2, dtype='i64'))),
    ('a layout that is none', *served(layout=b'NSD')),
    ('heads that leave a rest', *served(heads=3, key_heads=2)),
    ('a key of other heads', *served(key_heads=2)),
    ('a head of another size', *served(key=[t(1, 1, 5, 3)])),
    ('a value of other rows', *served(value=[t(1, 1, 6, 4)])),
    ('a result of another layout', *served(layout=b'BNSD_BSND')),
    ('keys of bytes without scales', *served(key=[t(1, 1, 5, 4, dtype='i8')], value=[t(1, 1, 5, 4, dtype='i8')])),
    ('another type of key', *served(key=[t(1, 1, 5, 4, dtype='f16')])),
    ('a scale of small integers for floats', *served(i=t(4), k=t(4))),
    ('a quantised result', *served(d=t(1))),
    ('small keys and no small values', *served(**SMALL | dict(value=[t(1, 1, 5, 4)]))),
    ('a scale for the keys alone', *served(**SMALL | dict(k=None))),
    ('an offset for the values alone', *served(**SMALL, l=t(4))),
    ('scales of other numbers', *served(**SMALL | dict(i=t(3), k=t(3)))),
    ('a scale of both without its first dimension', *served(**SMALL | dict(i=None, k=None, f=t(4)))),
    ('a mode of scales that is none', *served(**SMALL, p=6, q=6)),
    ('other modes of scales', *served(**SMALL, p=1, q=0)),
    ('a scale of both by heads', *served(**SMALL | dict(i=None, k=None, f=t(2, 1)), anti=2)),
    ('scales of too few tokens', *served(**SMALL | dict(i=t(1, 4), k=t(1, 4)), p=1, q=1)),
    ('scales in pages without pages', *served(**SMALL | dict(i=t(1, 5), k=t(1, 5)), p=4, q=4)),
    ('scales of tokens of packed sequences', *served(**PACKED | SMALL_PACKED, p=1, q=1)),
    ('small keys with rope parts', *served(**SMALL, rope=t(1, 2, 3, 2), key_rope=t(1, 1, 5, 2))),
    ('a rope part of another type', *served(rope=t(1, 2, 3, 2, dtype='f16'), key_rope=t(1, 1, 5, 2))),
    ('padding', *served(padding=t(1, dtype='i64'))),
    ('a shared prefix', *served(prefix=t(1, 1, 5, 4))),
    ('its length', *served(prefix_length=[3])),
    ('two keys', *served(key=[t(1, 1, 5, 4)] * 2)),
    ('one rope part of two', *served(rope=t(1, 2, 3, 2))),
    ('rope parts of other sizes', *served(rope=t(1, 2, 3, 2), key_rope=t(1, 1, 5, 4))),
    ('a mode that is none', *served(sparse=5)),
    ('no mask for mode 1', *served(sparse=1)),
    ('a mask of other columns', *served(mask=t(3, 4, dtype='bool'))),
    ('a bias of other heads', *served(shift=t(1, 1, 3, 5))),
    ('more rows than there are', *served(lengths=[4])),
    ('more columns than there are', *served(keys=[6])),
    ('no place for the sums', *served(flag=True)),
    ('sums of another shape', *served(flag=True, sums=o(1, 2, 3))),
    ('pages in tiles of other widths', *served(**PAGES | dict(key=[t(4, 1, 2, 2, 2)], value=[t(4, 1, 2, 2, 2)]))),
    ('pages without lengths', *served(**PAGES | dict(keys=None))),
    ('longer than its pages', *served(**PAGES | dict(keys=[7]))),
    ('pages of other rows', *served(**PAGES, block=3)),
    ('no lengths for packed sequences', *served(**PACKED | dict(lengths=None))),
    ('running sums that fall', *served(**PACKED | dict(lengths=[5, 2]))),
    ('a whole mask for packed sequences', *served(**PACKED, mask=t(5, 7, dtype='bool'))),
    ('a cache mode that is none', 'ScatterPaKvCache', t(3, 1, 4), t(2, 2, 1, 4), t(3, dtype='i32'), None, None, None, None, None,
     b'PA', None, None, None),
    ('compressed sequences', 'ScatterPaKvCache', t(3, 1, 4), t(2, 2, 1, 4), t(3, dtype='i32'), None, None, t(1, dtype='i32'), None,
     None, None, None, None, None),
    ('a value without a cache', 'ScatterPaKvCache', t(3, 1, 4), t(2, 2, 1, 4), t(3, dtype='i32'), t(3, 1, 4), None, None, None, None,
     None, None, None, None),
    ('heads that differ', 'ScatterPaKvCache', t(3, 2, 4), t(2, 2, 1, 4), t(3, dtype='i32'), None, None, None, None, None, None, None,
     None, None),
    ('running sums without the first', 'GatherPaKvCache', t(2, 2, 1, 4), t(2, 2, 1, 4), t(1, 2, dtype='i32'), t(1, dtype='i32'),
     t(3, 1, 4), t(3, 1, 4), None, b'Norm', True),
    ('a layout that is none', 'ApplyRotaryPosEmb', t(1, 2, 3, 4), t(1, 2, 3, 4), t(1, 2, 1, 4), t(1, 2, 1, 4), 5),
    ('a mode that is none', 'ApplyRotaryPosEmbV2', t(1, 2, 3, 4), t(1, 2, 3, 4), t(1, 2, 1, 4), t(1, 2, 1, 4), 1, b'whole'),
    ('sections that leave a rest', 'RopeWithSinCosCache', t(3, 2, dtype='i64'), t(2, 4), t(2, 4), t(5, 4), [1, 1, 1], 4, True,
     o(2, 4), o(2, 4)),
    ('a head that is too small', 'RopeWithSinCosCache', t(2, dtype='i64'), t(2, 4), t(2, 4), t(5, 4), None, 2, True, o(2, 4), o(2, 4)),
    ('four bits', 'DynamicQuantV2', t(3, 4), None, None, 29, o(3, 4, dtype='i8'), o(3), None),
    ('groups without factors', 'DynamicQuantV2', t(3, 4), None, t(1, dtype='i32'), 2, o(3, 4, dtype='i8'), o(3), None),
    ('four bits of INT4', 'AscendQuantV3', t(3, 8), t(8), None, False, b'round', 29, -1, o(3, 8, dtype='i8')),
    ('four bits beside bytes', 'AscendQuantV3', t(3, 8), t(8), None, False, b'round', 3, -1, o(3, 8, dtype='i8')),
    ('four bits that fill no word', 'AscendQuantV3', t(3, 4), t(4), None, False, b'round', 3, -1, o(3, 1, dtype='i32')),
    ('an axis that is none', 'AscendQuantV3', t(3, 4), t(4), None, False, b'round', 2, 0, o(3, 4, dtype='i8')),
    ('the last but one of one', 'AscendQuantV3', t(4), t(4), None, False, b'round', 2, -2, o(4, dtype='i8')),
    ('a scale for another axis', 'AscendQuantV3', t(3, 4), t(4), None, False, b'round', 2, -2, o(3, 4, dtype='i8')),
    ('an offset of another shape', 'AscendQuantV3', t(3, 4), t(4), t(1), False, b'round', 2, -1, o(3, 4, dtype='i8')),
    ('four bits of rows that fill no word', 'DynamicQuant', t(3, 4), None, o(3, 1, dtype='i32'), o(3)),
    ('an axis beyond x', 'Quantize', t(3, 4), t(4), None, 'i8', 2, o(3, 4, dtype='i8')),
    ('a scale of another size', 'Quantize', t(3, 4), t(3), None, 'i8', 1, o(3, 4, dtype='i8')),
    ('zero points of another size', 'Quantize', t(3, 4), t(4), t(1, dtype='i32'), 'i8', 1, o(3, 4, dtype='i8')),
    ('another type than the result has', 'Quantize', t(3, 4), t(4), None, 'u8', 1, o(3, 4, dtype='i8')),
    ('steps that are given', 'SwiGluQuantV2', t(3, 4), t(1, 2), None, None, True, b'static', 0, 2, o(3, 2, dtype='i8'), o(3)),
    ('gated four bits', 'SwiGluQuantV2', t(3, 4), None, None, None, True, b'dynamic', 0, 29, o(3, 2, dtype='i8'), o(3)),
    ('a type of list that is none', 'SwiGluQuantV2', t(3, 4), None, None, None, True, b'dynamic', 2, 2, o(3, 2, dtype='i8'), o(3)),
    ('what smooths other groups', 'SwiGluQuantV2', t(3, 4), t(3, 2), None, t(2, dtype='i32'), True, b'dynamic', 0, 2, o(3, 2, dtype='i8'), o(3)),
    ('a rounding that is none', 'AscendQuant', t(3, 4), t(4), None, False, b'hybrid', 2, o(3, 4, dtype='i8')),
    ('a scale for each row', 'AscendQuant', t(3, 4), t(3), None, False, b'round', 2, o(3, 4, dtype='i8')),
    ('one k for all', 'ApplyTopKTopP', t(3, 4), None, t(1, dtype='i32'), o(3, 4)),
    ('a padded mode', 'MoeTokenPermute', t(3, 4), t(3, dtype='i64'), 0, True, o(3, 4), o(3, dtype='i32')),
    ('fewer tokens than indices', 'MoeTokenPermute', t(2, 4), t(3, dtype='i64'), 0, False, o(3, 4), o(3, dtype='i32')),
    ('copies without probabilities', 'MoeTokenUnpermuteGrad', t(6, 4), t(3, 4), t(6, dtype='i32'), None, False, None, o(6, 4), None),
    ('more experts than there are', *gating(k=5)),
    ('groups that leave a rest', *gating(groups=3)),
    ('more groups than there are', *gating(kept=3)),
    ('a normalisation that is not there', *gating(renorm=1)),
    ('no place for all', *gating(flag=True)),
    ('quantisation to 8-bit floats', *routing(mode=2)),
    ('a scale that is not there', *routing(mode=0, out=o(6, 4, dtype='i8'))),
    ('no place for the scales', *routing(mode=1, out=o(6, 4, dtype='i8'))),
    ('floats where bytes are wanted', *routing(mode=1, scales=o(6))),
    ('experts beyond the last', *routing(span=[2, 5])),
    ('a part of the experts with a capacity', *routing(drop=1, capacity=2, span=[0, 2], out=o(4, 2, 4), found=o(2, dtype='i64'))),
    ('a bias without experts', 'MoeFinalizeRoutingV2', t(6, 4), t(6, dtype='i32'), None, None, t(2, 4), t(3, 2), None, 0, o(3, 4)),
    ('sums of counts', 'MoeReRouting', t(3, 4), t(1, 3, dtype='i32'), None, 0, 0, o(3, 4), None, o(3, dtype='i32'), o(3, dtype='i32')),
    ('scales of small integers', *groups(scale=[t(2, 3)])),
    ('weights of bytes', *groups(weight=[t(2, 4, 3, dtype='i8')])),
    ('another type of weight', *groups(weight=[t(2, 4, 3, dtype='f16')])),
    ('bytes without a scale', *bytes_in_groups(scale=None)),
    ('sums with a scale', *bytes_in_groups(out=[o(5, 3, dtype='i32')])),
    ('floats of bytes', *bytes_in_groups(out=[o(5, 3)])),
    ('a packed scale for halves', *bytes_in_groups(scale=[t(2, 3, dtype='i64')])),
    ('floats as the scale of bytes', *bytes_in_groups(out=[o(5, 3, dtype='i8')])),
    ('tokens of bytes', *bytes_in_groups(out=[o(5, 3, dtype='i8')], scale=[t(2, 3, dtype='i64')], token=[t(5)])),
    ('tokens of other rows', *bytes_in_groups(token=[t(4)])),
    ('a scale of other columns', *bytes_in_groups(scale=[t(2, 4)])),
    ('a scale for all groups', *bytes_in_groups(scale=[t(3)])),
    ('an offset', *bytes_in_groups(offset=[t(2, 3)])),
    ('an activation without tokens', *bytes_in_groups(activation=1)),
    ('a weight scale for bytes', *bytes_in_groups(antiscale=[t(2, 3, dtype='f16')])),
    ('bytes times four bits', *bytes_in_groups(weight=[t(2, 4, 3, dtype='i32')])),
    ('bytes times halves', *bytes_in_groups(weight=[t(2, 4, 3, dtype='f16')])),
    ('sums divided of bytes', *bytes_in_groups(x=[t(4, 5, dtype='i8')], weight=[t(5, 3, dtype='i8')], scale=[t(3)], type=2,
                                               out=[o(2, 4, 3, dtype='f16')])),
    ('no scale for small weights', *small_weights(antiscale=None)),
    ('a scale of another type', *small_weights(antiscale=[t(2, 3, dtype='bf16')])),
    ('groups of rows of bytes', *small_weights(antiscale=[t(2, 2, 3, dtype='f16')])),
    ('offsets of another shape', *small_weights(antioffset=[t(2, 2, 3, dtype='f16')])),
    ('a scale of sums', *small_weights(scale=[t(2, 3)])),
    ('another type of result', *small_weights(out=[o(5, 3, dtype='bf16')])),
    ('floats times bytes', *small_weights(x=[t(5, 4)], out=[o(5, 3)])),
    ('no list for one x', *groups(list=None)),
    ('a list of another length', *groups(list=t(3, dtype='i64'))),
    ('a list without groups', *groups(x=[t(5, 4)], weight=[t(4, 3)], type=-1, split=0)),
    ('an activation that is none', *groups(activation=3)),
    ('a way to group that is none', *groups(type=1)),
    ('inner sizes that differ', *groups(x=[t(5, 3)])),
    ('a result of other rows', *groups(out=[o(6, 3)])),
    ('more tensors than groups', *groups(x=[t(2, 4), t(2, 4), t(1, 4)])),
    ('a bias of other columns', *groups(bias=[t(2, 4)])),
    ('a bias where sums are divided', *groups(x=[t(4, 5)], weight=[t(5, 3)], bias=[t(2, 3)], type=2, out=[o(2, 4, 3)])),
    ('running sums that fall', 'GroupedMatmul', [t(5, 4)], [t(4, 3), t(4, 3)], None, None, None, None, None, [3, 2], 3, [o(5, 3)]),
    ('a product that is not transposed', 'GroupedMatmulAdd', t(5, 4), t(5, 3), t(2, dtype='i64'), t(2, 4, 3), False, False, 2),
    *[(what, *call) for what, call in ATTENTION],
    ('angles of two shapes', 'RotaryPositionEmbeddingGrad', t(2, 3, 4), t(2, 1, 4), t(1, 3, 4), None, 0, o(2, 3, 4), None, None),
    ('a mode that is none', 'RotaryPositionEmbeddingGrad', t(2, 3, 4), t(2, 1, 4), t(2, 1, 4), None, 4, o(2, 3, 4), None, None),
    ('a gradient of no bias', 'FlashAttentionScoreGrad', *[t(1, 1, 3, 4)] * 4, None, None, None, None, t(1, 1, 3, 8), t(1, 1, 3, 8),
     None, t(1, 1, 3, 4), None, 1.0, 1.0, 9, 9, 1, b'BNSD', 0, 0, *[o(1, 1, 3, 4)] * 3, o(1, 1, 3, 3)),
    ('a mode that is none', 'DivMod', t(3), t(3), 5, o(3)),
    ('a matrix of indices', 'IndexSelect', t(3, 4), 0, t(2, 2, dtype='i64'), o(2, 2, 4)),
    ('a table of one dimension', 'Embedding', t(3), t(2, dtype='i64'), o(2)),
    ('a reduction that is none', 'Scatter', t(3, 5), 0, t(2, 2, dtype='i64'), t(2, 2), 7, o(3, 5)),
    ('more indices than sources', 'Scatter', t(3, 5), 0, t(2, 3, dtype='i64'), t(2, 2), 0, o(3, 5)),
    ('more than there are', 'Topk', t(3, 4), 5, 1, True, True, o(3, 5), o(3, 5, dtype='i64')),
    ('ranks that differ', 'Cat', [t(3, 4), t(3, 4, 1)], 0, o(6, 4)),
    ('sizes that differ', 'Cat', [t(3, 4), t(3, 5)], 0, o(6, 4)),
    ('shapes that differ', 'Stack', [t(3), t(4)], 0, o(2, 3)),
    ('pieces that leave a rest', 'SplitWithSize', t(3, 5), [1, 1], 0, [o(1, 5), o(1, 5)]),
    ('pieces that are too large', 'SplitWithSize', t(3, 5), [1, 3], 0, [o(1, 5), o(3, 5)]),
    ('a dimension twice', 'Permute', t(3, 4), [0, 0], o(3, 3)),
    ('a dimension left out', 'Permute', t(3, 4), [0], o(3)),
    ('a step of 0', 'Slice', t(3, 4), 0, 0, 3, 0, o(3, 4)),
    ('a step of 0', 'Arange', NONE, ONE, NONE, o(3)),
    ('a step away from the end', 'Arange', NONE, ONE, Scalar(-1, 'f32'), o(3)),
    ('a dimension twice', 'Flip', t(3, 4), [0, -2], o(3, 4)),
    ('places before the point of whole numbers', 'RoundDecimals', t(3, dtype='i32'), -1, o(3, dtype='i32')),
    ('more places than a float has', 'RoundDecimals', t(3), 39, o(3)),
    ('a product of vectors of other sizes', 'Dot', t(3), t(4), o()),
    ('a product of matrices', 'Dot', t(3, 3), t(3, 3), o()),
    ('the diagonal of a vector', 'Trace', t(3), o()),
    ('the diagonal of a vector', 'InplaceFillDiagonal', t(3), ONE, False),
    ('a diagonal across unequal sizes', 'InplaceFillDiagonal', t(3, 3, 2), ONE, False),
    ('no halves', 'Glu', t(3, 3), 1, o(3, 1)),
    ('a gradient of another shape', 'HardswishBackward', t(2), t(3), o(3)),
    ('a gradient of another shape', 'FastGeluBackward', t(2), t(3), o(3)),
    ('a gradient of another shape', 'LogitGrad', t(3), t(2), 0.0, o(3)),
    ('a formula that is none', 'GeluV2', t(3), 7, o(3)),
    ('room for other places', 'Nonzero', t(2, 3), o(3, 2, dtype='i64')),
    ('a row for each place', 'NonzeroV2', t(2, 3), o(6, 2, dtype='i64')),
    ('room for fewer elements', 'MaskedSelect', t(2, 3), t(2, 3, dtype='bool'), o(3)),
    ('a mask that does not broadcast', 'MaskedSelect', t(2, 3), t(2, dtype='bool'), o(6)),
    ('another type of result', 'MaskedSelect', t(3), t(3, dtype='bool'), o(3, dtype='f16')),
    ('room for fewer values', 'Unique2', t(2, 3), True, False, False, o(3), None, None),
    ('no room for the counts', 'Unique2', t(2, 3), True, False, True, o(6), None, o(3, dtype='i64')),
    ('more classes than there are', 'Multinomial', t(3), 4, False, 1, 0, o(4, dtype='i64')),
    ('weights in a cube', 'Multinomial', t(2, 2, 3), 1, True, 1, 0, o(2, 2, 1, dtype='i64')),
    ('no bins', 'Histc', t(3), 0, NONE, ONE, o(0)),
    ('bounds out of order', 'Histc', t(3), 2, ONE, NONE, o(2)),
    ('more indices than dimensions', 'Index', t(3), [t(2, dtype='i64'), t(2, dtype='i64')], o(2)),
    ('no index at all', 'Index', t(3), [t(0)], o(3)),
    ('indices that do not broadcast', 'Index', t(3, 3), [t(2, dtype='i64'), t(3, dtype='i64')], o(3)),
    ('a mask', 'Index', t(3), [t(3, dtype='bool')], o(3)),
    ('values that do not broadcast', 'IndexPutImpl', t(3), [t(2, dtype='i64')], t(3), False, False),
    ('two values', 'InplaceMaskedFillTensor', t(3), t(3, dtype='bool'), t(2)),
    ('products of matrices', 'Addr', t(3, 3), t(3, 3), t(3), ONE, ONE, o(3, 3)),
    ('an operand that does not broadcast', 'Addr', t(2), t(3), t(3), ONE, ONE, o(3, 3)),
    ('half of a whole number', 'Addr', t(3, 3, dtype='i32'), t(3, dtype='i32'), t(3, dtype='i32'), Scalar(0.5, 'f32'), ONE, o(3, 3, dtype='i32')),
    ('bounds out of order', 'InplaceUniform', t(3), 1.0, 0.0, 1, 0),
    ('a bound beyond the type', 'InplaceUniform', t(3, dtype='i8'), 0.0, 300.0, 1, 0),
    ('a width beyond the type', 'InplaceUniform', t(3), -3e38, 3e38, 1, 0),
    ('no number between the bounds', 'InplaceRandom', t(3), 5, 5, 1, 0),
    ('a number beyond the type', 'InplaceRandom', t(3, dtype='u8'), -1, 5, 1, 0),
    ('a number beyond the type', 'InplaceRandom', t(3, dtype='bool'), 0, 3, 1, 0),
    ('a negative deviation', 'InplaceNormal', t(3), 0.0, -1.0, 1, 0),
    ('a negative deviation', 'NormalTensorFloat', t(3), -1.0, 1, 0, o(3)),
    ('two seeds', 'InplaceNormalTensor', t(3), 0.0, 1.0, t(2, dtype='i64'), t(1, dtype='i64'), 0),
    ('a seed of 32 bits', 'InplaceUniformTensor', t(3), 0.0, 1.0, t(1, dtype='i32'), t(1, dtype='i64'), 0),
    ('a chance above 1', 'InplaceBernoulli', t(3), Scalar(1.5, 'f32'), 1, 0),
    ('fewer than none', 'Randperm', -1, 1, 0, o(0, dtype='i64')),
    ('other than n elements', 'Randperm', 4, 1, 0, o(3, dtype='i64')),
    ('numbers beyond the type', 'Randperm', 200, 1, 0, o(200, dtype='i8')),
    ('a reduction that is none', 'MseLoss', t(3), t(3), 3, o()),
    ('a reduction that is none', 'BinaryCrossEntropyBackward', t(), t(3), t(3), None, -1, o(3)),
    ('one result for each, which are not asked for', 'L1Loss', t(3), t(3), 1, o(3)),
    ('a square that ends below 0', 'SmoothL1Loss', t(3), t(3), 0, -1.0, o(3)),
    ('a square that ends below 0', 'SmoothL1LossBackward', t(3), t(3), t(3), 0, -1.0, o(3)),
    ('a target of another shape', 'BinaryCrossEntropy', t(3), t(1), None, 0, o(3)),
    ('a result whose sign says nothing', 'LeakyReluBackward', t(3), t(3), Scalar(-0.5, 'f32'), True, o(3)),
    ('a result whose sign says nothing', 'EluBackward', t(3), Scalar(-1, 'f32'), Scalar(1, 'f32'), Scalar(1, 'f32'), True,
     t(3), o(3)),
    ('a gradient of another shape', 'SigmoidBackward', t(1), t(3), o(3)),
    ('a gradient of another shape', 'HardshrinkBackward', t(1), t(3), Scalar(0.5, 'f32'), o(3)),
    ('fewer repeats than dimensions', 'Repeat', t(3, 5), [2], o(6, 5)),
    ('a negative repeat', 'Repeat', t(3, 5), [2, -1], o(6, 5)),
    ('more shifts than dimensions', 'Roll', t(3, 5), [1, 2], [0], o(3, 5)),
    ('a mirror image beyond the other end', 'ReflectionPad1d', t(3, 5), [5, 0], o(3, 10)),
    ('half a pair', 'ConstantPadNd', t(3, 5), [1], NONE, o(3, 6)),
    ('a size that is odd', 'SwiGlu', t(3, 5), 1, o(3, 2)),
    ('another shape than the end', 'LayerNorm', t(3, 5), [4], None, None, 1e-5, o(3, 5), None, None),
    ('no shape at all', 'LayerNorm', t(3, 5), [], None, None, 1e-5, o(3, 5), None, None),
    ('a dimension twice', 'ReduceSum', t(3, 5), [1, -1], False, 'f32', o(3)),
    ('a dimension twice', 'Amax', t(3, 5), [0, 0], False, o(5)),
    ('the largest of nothing', 'Max', t(0, 5), o()),
    ('the least of nothing', 'Min', t(0, 5), o()),
    ('an axis before the last', 'OneHot', t(3, dtype='i64'), 4, t(1), t(1), -2, o(4, 3)),
    ('a type that is not the result\'s', 'ReduceSum', t(3, 5), [0], False, 'f16', o(5)),
    ('a type that is not the result\'s', 'Cast', t(3), 'f16', o(3)),
    ('a mode that is none', *latent(mode=b'PA_TILES')),
    ('scales of bytes', *latent(key_scale=t(4), latent_scale=t(6))),
    ('a result of Norm', *latent(shown=True, key_out=o(2, 1, 3, 4, dtype='f16'), latent_out=o(2, 1, 3, 6, dtype='f16'))),
    ('a result that is not there', *latent(mode=b'PA', index=t(6, dtype='i64'), shown=True)),
    ('tokens of pages', *latent(mode=b'PA', index=t(2, 3, dtype='i64'))),
    ('pages of tokens', *latent(mode=b'PA_BLK_BNSD', index=t(5, dtype='i64'))),
    ('half a tile', *latent(mode=b'PA_NZ', index=t(6, dtype='i64'))),
    ('an odd key', *latent(gamma=t(5, dtype='f16'))),
    ('another width', *latent(keys=t(2, 1, 3, 6, dtype='f16'))),
    ('another type', *latent(latents=t(2, 1, 3, 6, dtype='bf16'))),
    ('fewer batches', *latent(keys=t(1, 1, 3, 4, dtype='f16'), latents=t(1, 1, 3, 6, dtype='f16'))),
    ('other rows', *latent(keys=t(2, 1, 5, 4, dtype='f16'))),
    ('a cosine for all', *latent(cos=t(1, 1, 3, 4, dtype='f16'))),
    ('plain twice', 'NpuFormatCast', t(17, 20, dtype='f16'), o(17, 20, dtype='f16')),
    ('tiles twice', 'NpuFormatCast', nz(17, 20), nz(17, 20)),
    ('another type', 'NpuFormatCast', t(17, 20, dtype='bf16'), nz(17, 20)),
    ('another matrix', 'NpuFormatCast', t(17, 21, dtype='f16'), nz(17, 20)),
    ('other tiles', 'NpuFormatCast', t(17, 33, dtype='f16'), nz(17, 20)),
    ('a row', 'NpuFormatCast', t(20, dtype='f16'), nz(1, 20)),
    ('transposed tiles', 'NpuFormatCast', t(17, 20, dtype='f16'), Tensor('f16', (17, 20), tiles=16, turned=True)),
    ('inner sizes that differ', 'MatmulWeightNz', t(3, 16, dtype='f16'), nz(17, 20), o(3, 20, dtype='f16'), 0),
    ('floats', 'MatmulWeightNz', t(3, 17), nz(17, 20, dtype='f32'), o(3, 20), 0),
    ('groups of sums', 'GroupedMatmulWeightNz', [t(5, 4, dtype='f16')], [nz(2, 4, 3)], *[None] * 6, t(2, dtype='i64'), *[None] * 3,
     3, 0, 0, 0, None, 8, [o(5, 3, dtype='f16')], None, None),
    ('groups of columns', 'GroupedMatmulWeightNz', [t(3, 5, dtype='f16')], [nz(5, 4)], *[None] * 6, t(2, dtype='i64'), *[None] * 3,
     3, 2, 0, 0, None, 0, [o(2, 3, 4, dtype='f16')], None, None),
    ('inner sizes that differ', 'Mm', t(3, 4), t(3, 4), o(3, 4), 0),
    ('a math type that is none', 'Mm', t(3, 4), t(4, 3), o(3, 3), 9),
    ('batches that differ', 'BatchMatMul', t(2, 3, 4), t(3, 4, 3), o(2, 3, 3), 0),
    ('a weight too few', 'Prelu', t(3, 5), t(4), o(3, 5)),
    ('automatic padding', 'MaxPool', t(1, 1, 4, 4), [2, 2], [2, 2], 1, [0] * 4, [1, 1], 0, o(1, 1, 2, 2)),
    ('channels that differ', 'Convolution', IMAGE, t(4, 2, 3, 3), None, [1, 1], [0, 0], [1, 1], False, [0, 0], 1,
     o(1, 4, 3, 3), 0),
    ('a stride of 0', 'Convolution', IMAGE, t(4, 3, 3, 3), None, [0, 1], [0, 0], [1, 1], False, [0, 0], 1,
     o(1, 4, 3, 3), 0),
    ('a size of 0', 'UpsampleNearest2d', t(1, 1, 3, 5), [0, 2], o(1, 1, 0, 2)),
    ('three dimensions', 'UpsampleBilinear2d', t(1, 3, 5), [2, 2], True, 0.0, 0.0, o(1, 2, 2)),
    ('a cube of cubics', 'GridSampler3D', t(1, 1, 2, 2, 2), t(1, 2, 2, 2, 3), 2, 0, True, o(1, 1, 2, 2, 2)),
    ('another batch', 'AffineGrid', t(2, 2, 3), [3, 1, 2, 2], True, o(3, 2, 2, 2)),
    ('a mask of two', 'LayerNormBackward', t(3, 5), t(3, 5), [5], t(3, 1), t(3, 1), None, None, [True, False], o(3, 5), None, None),
    ('no elements', 'LayerNormBackward', t(0, 5), t(0, 5), [5], t(0, 1), t(0, 1), None, None, [True] * 3, o(0, 5), o(5), o(5)),
    ('statistics of other rows', 'LayerNormBackward', t(3, 5), t(3, 5), [5], t(2, 1), t(3, 1), None, None, [True] * 3, o(3, 5),
     o(5), o(5)),
    ('groups that do not divide', 'GroupNormBackward', t(1, 3, 2), t(1, 3, 2), t(1, 2), t(1, 2), None, 1, 3, 2, 2, [True] * 3,
     o(1, 3, 2), o(3), o(3)),
    ('a gradient of another size', 'ConvolutionBackward', t(1, 4, 4, 4), IMAGE, t(4, 3, 3, 3), None, [1, 1], [0, 0], [1, 1], False,
     [0, 0], 1, [True] * 3, 0, o(1, 3, 5, 5), o(4, 3, 3, 3), o(4)),
    ('groups', 'QuantMatmulV5', t(3, 8, dtype='i8'), t(8, 4, dtype='i8'), None, t(4), None, None, None, None, None, False, False, 32, o(3, 4, dtype='f16')),
    ('an offset of halves', 'QuantMatmulV5', t(3, 8, dtype='i8'), t(8, 4, dtype='i8'), None, t(4), None, None, t(4), None, None, False, False, 0, o(3, 4, dtype='f16')),
    ('bytes by row', 'QuantMatmulV5', t(3, 8, dtype='i8'), t(8, 4, dtype='i8'), t(3), t(4), None, None, None, None, None, False, False, 0, o(3, 4, dtype='i8')),
    ('a bias of floats for bytes', 'QuantMatmulV5', t(3, 8, dtype='i8'), t(8, 4, dtype='i8'), None, t(4), None, None, None, None, t(4), False, False, 0, o(3, 4, dtype='i8')),
    ('a scale of the result', 'QuantMatmulV5', t(3, 8, dtype='i8'), t(8, 4, dtype='i8'), None, t(4), t(4), None, None, None, None, False, False, 0, o(3, 4, dtype='f16')),
    ('four bits beside bytes', 'QuantMatmulV5', t(3, 8, dtype='i8'), t(8, 1, dtype='i32'), None, t(8), None, None, None, None, None, False,
     False, 0, o(3, 8, dtype='f16')),
    ('INT32 results', 'QuantMatmulV5', t(3, 8, dtype='i8'), t(8, 4, dtype='i8'), None, t(4), None, None, None, None, None, False, False, 0, o(3, 4, dtype='i32')),
    ('other columns', 'QuantMatmulV5', t(3, 8, dtype='i8'), t(8, 4, dtype='i8'), None, t(4), None, None, None, None, None, False, False, 0, o(3, 5, dtype='f16')),
    ('a scale for another row', 'QuantMatmulV5', t(3, 8, dtype='i8'), t(8, 4, dtype='i8'), t(2), t(4), None, None, None, None, None, False, False, 0, o(3, 4, dtype='f16')),
    ('five scales', 'QuantMatmulV5', t(3, 8, dtype='i8'), t(8, 4, dtype='i8'), None, t(5), None, None, None, None, None, False, False, 0, o(3, 4, dtype='f16')),
    ('another axis', 'AddRmsNormQuant', t(2, 4, dtype='f16'), t(2, 4, dtype='f16'), t(4, dtype='f16'), t(4), None, None, None, 0, 1e-6, True, o(2, 4, dtype='i8'), o(2, 4, dtype='i8'), o(2, 4, dtype='f16')),
    ('zeros without scales', 'AddRmsNormQuant', t(2, 4, dtype='f16'), t(2, 4, dtype='f16'), t(4, dtype='f16'), t(4), None, None, t(4, dtype='i32'), -1, 1e-6, True, o(2, 4, dtype='i8'), o(2, 4, dtype='i8'), o(2, 4, dtype='f16')),
    ('a weight of two dimensions', 'AddRmsNormQuant', t(2, 4, dtype='f16'), t(2, 4, dtype='f16'), t(2, 4, dtype='f16'), t(4), None, None, None, -1, 1e-6, True, o(2, 4, dtype='i8'), o(2, 4, dtype='i8'), o(2, 4, dtype='f16')),
    ('a weight of another type', 'AddRmsNormQuant', t(2, 4, dtype='f16'), t(2, 4, dtype='f16'), t(4, dtype='bf16'), t(4), None, None, None, -1, 1e-6, True, o(2, 4, dtype='i8'), o(2, 4, dtype='i8'), o(2, 4, dtype='f16')),
    ('nothing asked for', 'AddRmsNormDynamicQuantV2', t(2, 4, dtype='f16'), t(2, 4, dtype='f16'), t(4, dtype='f16'), None, None, None, 1e-6, [False, False], o(2, 4, dtype='i8'), o(2, 4, dtype='i8'), o(2, 4, dtype='f16'), o(2), o(2)),
    ('no room for the second', 'AddRmsNormDynamicQuantV2', t(2, 4, dtype='f16'), t(2, 4, dtype='f16'), t(4, dtype='f16'), None, None, None, 1e-6, [False, True], o(2, 4, dtype='i8'),
     o(1, dtype='i8'), o(2, 4, dtype='f16'), o(2), o(2)),
    ('a dilation of 0', 'MaxPool2dWithMask', t(1, 1, 5, 5), [2, 2], [1, 1], [0, 0], [0, 1], False, o(1, 1, 3, 3), o(1, 1, 4, 64, dtype='i8')),
    ('a probability above 1', 'DropoutDoMask', t(3), t(16, dtype='u8'), 1.5, o(3)),
    ('a mask that is too short', 'DropoutDoMask', t(3), t(15, dtype='u8'), 0.5, o(3)),
    ('lists of other lengths', 'ForeachMulList', [t(3), t(3)], [t(3)], [o(3), o(3)]),
    ('other shapes', 'ForeachMulList', [t(3)], [t(1)], [o(3)]),
    ('another type', 'ForeachSqrt', [t(3)], [o(3, dtype='f16')]),
    ('a scalar that is not whole', 'ForeachAddScalarV2', [t(3, dtype='i32')], Scalar(0.5, 'f32'), [o(3, dtype='i32')]),
    ('a scalar too few', 'ForeachDivScalarList', [t(3), t(3)], [ONE], [o(3), o(3)]),
    ('two norms in one', 'ForeachNorm', [t(3)], ONE, [o(2)]),
    ('packed sequences', 'LSTM', t(2, 1, 3), STATES[:2], STATES[2:], t(2, dtype='i64'), False, 1, 0.0, True, False, False, o(2, 1, 1),
     o(1, 1, 1), o(1, 1, 1), *[[o(2, 1, 1)] for _ in range(7)]),
    ('dropout between layers', 'LSTM', t(2, 1, 3), STATES[:2], STATES[2:], None, False, 2, 0.5, True, False, False, o(2, 1, 1),
     o(1, 1, 1), o(1, 1, 1), *[[o(2, 1, 1)] for _ in range(7)]),
    ('a fixed triangle', 'ScaledMaskedSoftmax', t(3, 5), t(5, dtype='bool'), 1.0, True, o(3, 5)),
    ('a mask that does not broadcast', 'ScaledMaskedSoftmax', t(3, 5), t(2, 5, dtype='bool'), 1.0, False, o(3, 5)),
    ('a softmax of nothing', 'ScaledMaskedSoftmax', t(), t(dtype='bool'), 1.0, False, o()),
    ('a result of another shape', 'ScaledMaskedSoftmaxBackward', t(3, 5), t(3, 4), t(5, dtype='bool'), 1.0, False, o(3, 5)),
    ('a dimension twice', 'ConfusionTranspose', t(2, 3), [0, 0], [3, 2], True, o(3, 2)),
    ('another number of elements', 'ConfusionTranspose', t(2, 3), [1, 0], [3, 3], True, o(3, 3)),
    ('more of some parts', 'AttentionUpdate', [t(2), t(2)], [t(2, 8)], 0, o(2, 8), None),
    ('rows of 12 elements', 'AttentionUpdate', [t(2)], [t(2, 12)], 0, o(2, 12), None),
    ('an unknown kind', 'AttentionUpdate', [t(2)], [t(2, 8)], 2, o(2, 8), o(2)),
    ('the whole sum without a place', 'AttentionUpdate', [t(2)], [t(2, 8)], 1, o(2, 8), None),
    ('an odd dimension', 'ClippedSwiglu', t(2, 5), None, -1, 1.0, 7.0, 1.0, True, o(2, 2)),
    ('one dimension', 'ClippedSwiglu', t(4), None, -1, 1.0, 7.0, 1.0, True, o(2)),
    ('weights in another order', 'TransposeBatchMatMul', t(2, 3, 4), t(2, 4, 5), None, None, [0, 1, 2], [0, 2, 1], [1, 0, 2], 0, 1, o(3, 2, 5)),
    ('a bias', 'TransposeBatchMatMul', t(2, 3, 4), t(2, 4, 5), t(5), None, [0, 1, 2], [0, 1, 2], [1, 0, 2], 0, 1, o(3, 2, 5)),
    ('pieces that do not divide', 'TransposeBatchMatMul', t(2, 3, 4), t(2, 4, 5), None, None, [0, 1, 2], [0, 1, 2], [1, 0, 2], 0, 3, o(3, 3, 3)),
    ('other inner sizes', 'TransposeBatchMatMul', t(2, 3, 4), t(2, 3, 5), None, None, [0, 1, 2], [0, 1, 2], [1, 0, 2], 0, 1, o(3, 2, 5)),
    ('an unknown reduction', *class_loss(reduction=b'average')),
    ('a class to ignore that is none', *class_loss(ignored=5)),
    ('labels smoothed away', *class_loss(smoothing=1.0)),
    ('an auxiliary loss', *class_loss(scale=0.5)),
    ('an auxiliary result', *class_loss(returns=True)),
    ('other targets', *class_loss(target=t(4, dtype='i64'))),
    ('an unknown approximation', 'GeluBackwardV2', t(3), t(3), b'sigmoid', o(3)),
    ('an unknown approximation', 'GeGluV3Backward', t(2, 2), t(2, 4), t(2, 2), -1, 2, True, o(2, 4)),
    ('probabilities without a place', 'MoeTokenPermuteWithRoutingMap', t(2, 4), t(2, 3, dtype='bool'), t(2, 3), 6, False, o(6, 4), None, o(6, dtype='i32')),
    ('more copies than places', 'MoeTokenPermuteWithRoutingMap', t(2, 4), t(2, 3, dtype='bool'), None, 8, False, o(8, 4), None, o(8, dtype='i32')),
    ('a shape of other rows', 'MoeTokenUnpermuteWithRoutingMap', t(6, 4), t(6, dtype='i32'), t(2, 3, dtype='bool'), None, False, [2, 5], o(2, 4),
     o(6, dtype='i32'), o(6, dtype='i32'), None),
    ('no map', 'MoeTokenUnpermuteWithRoutingMap', t(6, 4), t(6, dtype='i32'), None, t(2, 3), False, [2, 4], o(2, 4), o(6, dtype='i32'),
     o(6, dtype='i32'), o(6)),
    ('copies that tokens do not share', 'MoeTokenUnpermuteWithRoutingMap', t(5, 4), t(5, dtype='i32'), t(2, 3, dtype='bool'), None, False, [2, 4],
     o(2, 4), o(5, dtype='i32'), o(5, dtype='i32'), None),
    ('a result of another type', 'AddLayerNorm', t(2, 4), t(2, 4, dtype='f16'), t(4), t(4), None, 1e-5, False, o(2, 4, dtype='f16'), o(2, 1), o(2, 1), None),
    ('weights of other sizes', 'AddLayerNormGrad', t(2, 4), t(2, 4), t(2, 4), t(2, 1), t(2, 1), t(3), None, o(2, 4), o(3), o(3)),
    ('times of another length', 'RepeatInterleaveWithDim', t(2, 4), t(3, dtype='i64'), 1, 4, o(2, 4)),
    ('an unknown approximation', 'GeluMul', t(2, 4), b'sigmoid', o(2, 2)),
    ('an odd dimension', 'GeluMul', t(2, 5), None, o(2, 2)),
    ('a bias that does not broadcast', 'MaskedSoftmaxWithRelPosBias', t(2, 4), None, t(2, 3), 1.0, 0, o(2, 4)),
    ('an unknown precision', 'MaskedSoftmaxWithRelPosBias', t(2, 4), None, t(2, 4), 1.0, 2, o(2, 4)),
    ('an unknown way to round', 'ForeachRoundOffNumberV2', [t(3)], Scalar(4, 'i32'), [o(3)]),
    ('scalars of another list', 'ForeachAddcmulScalarList', [t(3)], [t(3)], [t(3)], t(2), [o(3)]),
    ('a median of nothing', 'MedianDim', t(3, 0), 1, False, o(3), o(3, dtype='i64')),
    ('a median of nothing', 'NanMedian', t(0), o()),
    ('places of INT32', 'MedianDim', t(3, 2), 1, False, o(3), o(3, dtype='i32')),
    ('values of another type', 'Cummax', t(3), 0, o(3, dtype='f16'), o(3, dtype='i64')),
    ('extremes of nothing', 'AminmaxAll', t(0), o(), o()),
    ('largest ones of other types', 'AminmaxDim', t(3, 2), 1, False, o(3), o(3, dtype='f16')),
    ('largest ones of another shape', 'AminmaxDim', t(3, 2), 1, False, o(3), o(3, 1)),
    ('rows that differ', 'SearchSorted', t(2, 3), t(3, 3), False, False, None, o(3, 3, dtype='i64')),
    ('no row', 'SearchSorted', t(), t(3), False, False, None, o(3, dtype='i64')),
    ('two rows for one number', 'SearchSorteds', t(2, 3), Scalar(1, 'f32'), False, False, None, o(dtype='i64')),
    ('a sorter of another shape', 'SearchSorted', t(3), t(2), False, False, t(2, dtype='i64'), o(2, dtype='i64')),
    ('INT64 where INT32 is wanted', 'SearchSorted', t(3), t(2), True, False, None, o(2, dtype='i64')),
    ('INT32 where INT64 is wanted', 'SearchSorted', t(3), t(2), False, False, None, o(2, dtype='i32')),
    ('counts of a matrix', 'Bincount', t(2, 3, dtype='i64'), None, 0, o(3, dtype='i64')),
    ('too few counts', 'Bincount', t(3, dtype='i64'), None, 4, o(3, dtype='i64')),
    ('weights of another shape', 'Bincount', t(3, dtype='i64'), t(2), 0, o(3, dtype='i64')),
    ('a reduction that is none', 'ScatterReduce', t(3), 0, t(3, dtype='i64'), t(3), 6, True, o(3)),
    ('an index that is larger', 'ScatterReduce', t(3), 0, t(3, dtype='i64'), t(2), 5, True, o(3)),
    ('updates of another type', 'InplaceMaskedScatter', t(3), t(3, dtype='bool'), t(3, dtype='f16')),
    ('a mask that is larger', 'InplaceMaskedScatter', t(3), t(2, 3, dtype='bool'), t(6)),
    ('fewer elements than places', 'InplacePut', t(3), t(2, dtype='i64'), t(1), False),
    ('two values', 'InplaceFillTensor', t(3), t(2)),
    ('one value in two dimensions', 'InplaceFillTensor', t(3), t(1, 1)),
    ('a complex value', 'InplaceFillTensor', t(3), t(1, dtype='c64')),
    ('tensors of two types', 'MaxN', [t(3), t(3, dtype='f16')], o(3)),
    ('no tensors', 'MinN', [], o(3)),
    ('slices without elements', 'UniqueConsecutive', t(3, 0), False, False, 0, o(3, 0), None, None),
    ('no room for all', 'UniqueDim', t(3, 2), True, True, 0, o(2, 2), o(3, dtype='i64'), o(3, dtype='i64')),
    ('two sizes for three dimensions', 'AdaptiveAvgPool3d', t(1, 2, 4, 4, 4), [2, 2], o(1, 2, 2, 2, 2)),
    ('other channels', 'MaxUnpool2d', t(2, 3, 3), t(2, 3, 3, dtype='i64'), [4, 4], o(3, 4, 4)),
    ('places of another shape', 'MaxUnpool2d', t(2, 3, 3), t(2, 3, 2, dtype='i64'), [4, 4], o(2, 4, 4)),
    ('windows that stand still', 'MaxUnpool3d', t(2, 2, 2, 2), t(2, 2, 2, 2, dtype='i64'), [4, 4, 4], [2, 0, 2], [0] * 3, o(2, 4, 4, 4)),
    ('batches of other lengths', 'Addbmm', t(2, 3), t(4, 2, 5), t(3, 5, 3), Scalar(1, 'f32'), Scalar(1, 'f32'), o(2, 3), 0),
    ('vectors of four', 'LinalgCross', t(2, 4), t(2, 4), 1, o(2, 4)),
    ('rows of other lengths', 'Cdist', t(2, 4), t(2, 3), 2.0, 0, o(2, 2)),
    ('a negative order', 'Cdist', t(2, 4), t(2, 4), -1.0, 0, o(2, 2)),
    ('a negative order', 'Pdist', t(3, 4), -1.0, o(3)),
    ('no matrix', 'Pdist', t(3), 2.0, o(3)),
    ('a matrix that is wider than high', 'Inverse', t(2, 3), o(2, 3)),
    ('a matrix that is wider than high', 'Slogdet', t(2, 3), o(), o()),
    ('a matrix that is wider than high', 'LinalgCholesky', t(2, 3), False, o(2, 3)),
    ('an order of 0', 'Renorm', t(2, 3), Scalar(0, 'f32'), 0, Scalar(1, 'f32'), o(2, 3)),
    ('a negative norm', 'InplaceRenorm', t(2, 3), Scalar(2, 'f32'), 0, Scalar(-1, 'f32')),
    ('groups that do not divide the channels', 'ChannelShuffle', t(2, 6, 2), 4, o(2, 6, 2)),
    ('no dimension behind the channels', 'ChannelShuffle', t(2, 6), 3, o(2, 6)),
    ('slices that are too long', 'UnfoldGrad', t(1, 4), [3], 0, 4, 1, o(3)),
    ('slices that stand still', 'UnfoldGrad', t(2, 2), [3], 0, 2, 0, o(3)),
    ('rows that are no whole channels', 'Im2colBackward', t(5, 4), [3, 3], [2, 2], [1, 1], [0, 0], [1, 1], o(1, 3, 3)),
    ('columns of another image', 'Im2colBackward', t(4, 5), [3, 3], [2, 2], [1, 1], [0, 0], [1, 1], o(1, 3, 3)),
    ('complex numbers of other parts', 'Polar', t(3, dtype='f64'), t(3, dtype='f64'), o(3, dtype='c64')),
    ('as many steps as there is no room for', 'LogSpace', Scalar(0, 'f32'), Scalar(1, 'f32'), 5, 2.0, o(4)),
    ('no channels', 'BatchNormStats', t(3), 1e-5, o(3), o(3)),
    ('no channels', 'BatchNormReduce', t(3), o(3), o(3)),
    ('statistics of other channels', 'BatchNormElemt', t(2, 3), None, None, t(2), t(3), 1e-5, o(2, 3)),
    ('sums of other channels', 'BatchNormElemtBackward', t(2, 3), t(2, 3), t(3), t(3), None, t(2), t(3), t(1, dtype='i32'), o(2, 3)),
    ('statistics without devices', 'BatchNormGatherStatsWithCounts', t(2, 3), t(3), t(3), None, None, 0.1, 1e-5, t(1), o(3), o(3)),
    ('counts of other devices', 'SyncBatchNormGatherStats', t(2, 3), t(2, 3), t(3, dtype='i32'), t(3), t(3), 0.1, 1e-5, o(3), o(3)),
    ('a format of another order', 'GroupNormSwish', t(2, 4, 3), t(4), t(4), 2, b'NHWC', 1e-5, True, 1.0, o(2, 4, 3), o(2, 2), o(2, 2)),
    ('groups that do not divide the channels', 'GroupNormSwishGrad', t(2, 4, 3), t(2, 3), t(2, 3), t(2, 4, 3), t(4), t(4), 3, None, 1.0,
     True, True, o(2, 4, 3), o(4), o(4)),
    ('a loss of cubes', 'MultilabelMarginLoss', t(2, 2, 2), t(2, 2, 2, dtype='i64'), 0, o(2), o(2, 2, 2)),
    ('a reduction that is none', 'MultilabelMarginLoss', t(2, 2), t(2, 2, dtype='i64'), 3, o(), o(2, 2)),
    ('blocks larger than the cache', 'InplaceScatterUpdate', t(2, 3, 2), t(2, dtype='i64'), t(2, 4, 2), 1),
    ('blocks along the first dimension', 'InplaceScatterUpdate', t(2, 3, 2), t(2, dtype='i64'), t(2, 3, 2), 0),
    ('too few indices', 'InplaceScatterUpdate', t(2, 3, 2), t(1, dtype='i64'), t(2, 2, 2), 1),
    ('a bias that is none of four', *sloped(kind=4)),
    ('slopes that are not there', *sloped(shift=None)),
    ('slopes of half precision', *sloped(shift=t(2, dtype='f16'))),
    ('slopes of other heads', *sloped(shift=t(3))),
    ('two first rows', *sloped(rows=[1, 2])),
    ('a first row beyond 32 bits', *sloped(columns=[2**40])),
    ('a layout that is none', *ring(layout=b'BSH')),
    ('an order of rows that is none', *ring(numbers=b'NTD')),
    ('packed rows without ends', *ring(ends=None)),
    ('numbers of other rows', *ring(sum2=t(4, 2, 8))),
    ('heads that are no part', *ring(before=t(2, 1, 5), now=t(2, 1, 5), out=o(2, 1, 5), layout=b'SBH',
                                     **{k: t(1, 2, 2, 8) for k in ('most', 'sum', 'most2', 'sum2', 'largest', 'total')})),
    ('blocks of 64 columns', *blocks(shape=[1, 64])),
    ('half a block', *blocks(shape=[1])),
    ('fewer blocks', *blocks(mask=t(1, 2, 2, 1, dtype='i8'))),
    ('lengths that leave a row', *blocks(rows=[1], mask=t(1, 2, 1, 2, dtype='i8'))),
    ('lengths of one side', *blocks(columns=[])),
    ('a mask beside the blocks', *blocks(other=t(2, 200, dtype='bool'))),
    ('pages', *blocks(block=128)),
    ('sums without a place', *blocks(flag=1)),
    ('other heads of keys', *blocks(heads=2)),
    ('no lengths', *delta(lengths=None)),
    ('no states of tokens', *delta(slots=None)),
    ('states of fewer tokens', *delta(slots=t(2, dtype='i32'))),
    ('heads in no groups', *delta(query=t(3, 3, 4, dtype='bf16'), key=t(3, 3, 4, dtype='bf16'))),
    ('other states', 'ChunkGatedDeltaRule', *[t(3, 1, 4, dtype='bf16')] * 3, None, t(3, 1, 4, 4, dtype='bf16'), t(2, dtype='i32'), 1.0,
     None, o(3, 1, 4, dtype='bf16'), o(3, 1, 4, 4, dtype='bf16')),
    ('blocks that stand still', 'NsaCompress', t(4, 1, 2, dtype='f16'), t(2, 1, dtype='f16'), [4], b'TND', 2, 0, 0, o(3, 1, 2, dtype='f16')),
    ('ends before all tokens', 'NsaCompress', t(4, 1, 2, dtype='f16'), t(2, 1, dtype='f16'), [3], b'TND', 2, 1, 0, o(2, 1, 2, dtype='f16')),
    ('an activation of two halves', *layers(name=b'swiglu')),
    ('tokens that leave a row', *layers(tokens=[2, 2])),
    ('running sums that fall', *layers(tokens=[5, 3], index=True)),
    ('experts without tokens', *layers(tokens=None)),
    ('a scale of floats', *layers(scale=t(2), offset=t(2))),
    ('small weights without scales', *layers(one=t(2, 3, 4, dtype='i8'), two=t(2, 4, 3, dtype='i8'))),
    ('inner sizes that differ', *layers(two=t(2, 3, 3, dtype='f16'))),
    ('a renormalisation', 'MoeGatingTopKBackward', t(2, 4), t(2, 2), t(2, 2, dtype='i32'), 1, 1, 1.0, 0.0, o(2, 4)),
    ('a way to quantise that is none', 'MoeInitRoutingQuantV2', t(2, 4), t(2, 2, dtype='i32'), None, None, 0, 0, 3, 0, 0, False, 2,
     o(4, 4, dtype='i8'), o(4, dtype='i32'), None, None, o(4)),
    ('scales of unknown experts', 'MoeInitRoutingQuantV2', t(2, 4), t(2, 2, dtype='i32'), t(3, 4), None, 0, 0, 0, 0, 0, False, 1,
     o(4, 4, dtype='i8'), o(4, dtype='i32'), None, None, o(4)),
    ('sections by turns that differ', 'RopeWithSinCosCacheV2', t(3, 2, dtype='i64'), t(2, 8), t(2, 8), t(5, 8), [1, 1, 2], 8, True, 1,
     o(2, 8), o(2, 8)),
    ('an order of sections that is none', 'RopeWithSinCosCacheV2', t(2, dtype='i64'), t(2, 8), t(2, 8), t(5, 8), None, 8, True, 2,
     o(2, 8), o(2, 8)),
    ('an unknown end mode', 'ROIAlign', t(1, 2, 4, 4), t(3, 5), 1.0, 2, 2, 2, 2, o(3, 2, 2, 2)),
    ('a negative number of samples', 'ROIAlign', t(1, 2, 4, 4), t(3, 5), 1.0, 2, 2, -1, 0, o(3, 2, 2, 2)),
    ('regions without an image', 'ROIAlign', t(1, 2, 4, 4), t(3, 4), 1.0, 2, 2, 2, 0, o(3, 2, 2, 2)),
    ('no image for regions', 'ROIAlign', t(0, 2, 4, 4), t(3, 5), 1.0, 2, 2, 2, 0, o(3, 2, 2, 2)),
    ('regions without bins', 'ROIAlign', t(1, 2, 4, 4), t(3, 5), 1.0, 0, 2, 2, 0, o(3, 2, 0, 2)),
    ('a volume', 'ROIAlign', t(1, 2, 4, 4, 4), t(3, 5), 1.0, 2, 2, 2, 0, o(3, 2, 2, 2)),
    ('a gradient of other bins', 'ROIAlignBackward', t(3, 2, 2, 2), t(3, 5), [1, 2, 4, 4], 3, 2, 1.0, 2, 1, o(1, 2, 4, 4)),
    ('a shape of three numbers', 'ROIAlignBackward', t(3, 2, 2, 2), t(3, 5), [2, 4, 4], 2, 2, 1.0, 2, 1, o(1, 2, 4, 4)),
    ('no image for regions', 'ROIAlignBackward', t(3, 2, 2, 2), t(3, 5), [0, 2, 4, 4], 2, 2, 1.0, 2, 1, o(0, 2, 4, 4)),
    ('boxes of five numbers', 'Iou', t(3, 5), t(2, 4), b'iou', 0.0, False, o(3, 2)),
    ('an unknown mode', 'Iou', t(3, 4), t(2, 4), b'giou', 0.0, False, o(3, 2)),
    ('boxes with their own', 'Iou', t(3, 4), t(3, 4), b'iou', 0.0, True, o(3, 3)),
    ('the mode iof', 'CIoU', t(4, 3), t(4, 3), True, False, b'iof', o(1, 3), o(1, 3)),
    ('more boxes than others', 'CIoU', t(4, 3), t(4, 2), True, False, b'iou', o(1, 3), o(1, 3)),
    ('signs that make no whole rows', 'SignBitsPack', t(17), 2, o(2, 1, dtype='u8')),
    ('signs of a matrix', 'SignBitsPack', t(2, 8), 2, o(2, 1, dtype='u8')),
    ('no rows', 'SignBitsUnpack', t(2, dtype='u8'), 0, 'f32', o(0, 16)),
    ('signs of another type', 'SignBitsUnpack', t(2, dtype='u8'), 2, 'f16', o(2, 8)),
    ('two steps', 'ApplyAdamW', t(3), t(3), t(3), t(2), t(1), t(1), t(1), t(1), t(1), t(1), t(3), None, False, False),
    ('gates of other states', 'ThnnFusedLstmCell', t(2, 12), t(2, 12), t(2, 4), None, None, o(2, 4), o(2, 4), o(2, 12)),
    ('gates of two types', 'ThnnFusedLstmCell', t(2, 12), t(2, 12, dtype='f16'), t(2, 3), None, None, o(2, 3), o(2, 3), o(2, 12)),
    ('a bias of other gates', 'ThnnFusedLstmCell', t(2, 12), t(2, 12), t(2, 3), t(3), None, o(2, 3), o(2, 3), o(2, 12)),
    ('states that differ', 'ThnnFusedLstmCellBackward', t(2, 3), None, t(2, 3), t(2, 2), t(2, 12), False, o(2, 12), o(2, 3), None),
    ('weights of other sizes', 'DeepNorm', t(2, 4), t(2, 4), t(2), t(2), 0.5, 1e-5, o(2, 1), o(2, 1), o(2, 4)),
    ('shapes that differ', 'DeepNorm', t(2, 4), t(1, 4), t(4), t(4), 0.5, 1e-5, o(2, 1), o(2, 1), o(2, 4)),
    ('two types', 'DeepNorm', t(2, 4), t(2, 4, dtype='f16'), t(4), t(4), 0.5, 1e-5, o(2, 1), o(2, 1), o(2, 4)),
    ('no elements', 'DeepNormGrad', t(0, 4), t(0, 4), t(0, 4), t(4), t(0, 1), t(0, 1), 0.5, o(0, 4), o(0, 4), o(4), o(4)),
    ('statistics of other rows', 'DeepNormGrad', t(2, 4), t(2, 4), t(2, 4), t(4), t(3), t(3), 0.5, o(2, 4), o(2, 4), o(4), o(4)),
    ('weights of other sizes', 'AddRmsNormCast', t(2, 4, dtype='f16'), t(2, 4, dtype='f16'), t(2, dtype='f16'), 1e-5, o(2, 4),
     o(2, 4, dtype='f16'), o(2, 1), o(2, 4, dtype='f16')),
    ('two types', 'AddRmsNormCast', t(2, 4, dtype='f16'), t(2, 4, dtype='f16'), t(4, dtype='bf16'), 1e-5, o(2, 4),
     o(2, 4, dtype='f16'), o(2, 1), o(2, 4, dtype='f16')),
    ('more classes than there are', 'FusedLinearOnlineMaxSum', HALF, HALF, t(3, dtype='i32'), 2, 5, o(3), o(3), o(3), o(1, dtype='u8'),
     o(3, dtype='i32'), None),
    ('a first class behind the last', 'FusedLinearOnlineMaxSum', HALF, HALF, t(3, dtype='i32'), 2, 1, o(3), o(3), o(3), o(1, dtype='u8'),
     o(3, dtype='i32'), None),
    ('targets of another type', 'FusedLinearOnlineMaxSum', HALF, HALF, t(3, dtype='i32'), 0, 1, o(3), o(3), o(3), o(1, dtype='u8'),
     o(3, dtype='i64'), None),
    ('rows of other lengths', 'FusedLinearOnlineMaxSum', HALF, t(3, 5, dtype='f16'), t(3, dtype='i32'), 0, 1, o(3), o(3), o(3),
     o(1, dtype='u8'), o(3, dtype='i32'), None),
    ('a smoothed loss', 'FusedCrossEntropyLossWithMaxSum', t(3), t(3), t(3), 0.5, None, None, None, o(3), None),
    ('an input', 'FusedCrossEntropyLossWithMaxSum', t(3), t(3), t(3), 0.0, t(3, 4), None, None, o(3), None),
    ('logits of other rows', 'FusedCrossEntropyLossWithMaxSum', t(3), t(3), t(3), 0.0, None, None, t(2, 4), o(3), o(2, 4)),
    ('a smoothed loss', 'FusedLinearCrossEntropyLossGrad', t(3), HALF, HALF, t(1, dtype='u8'), t(3, dtype='i32'), 0.5, None, None, t(3, 3),
     o(3, 4, dtype='f16'), o(3, 4, dtype='f16')),
    ('a softmax of other classes', 'FusedLinearCrossEntropyLossGrad', t(3), HALF, HALF, t(1, dtype='u8'), t(3, dtype='i32'), 0.0, None, None,
     t(3, 4), o(3, 4, dtype='f16'), o(3, 4, dtype='f16')),
    ('a mask of other rows', 'FusedLinearCrossEntropyLossGrad', t(3), HALF, HALF, t(2, dtype='u8'), t(3, dtype='i32'), 0.0, None, None,
     t(3, 3), o(3, 4, dtype='f16'), o(3, 4, dtype='f16')),
    ('a scale of other columns', 'GroupQuant', t(3, 4), t(2, 3), t(2, dtype='i32'), None, 2, o(3, 4, dtype='i8')),
    ('other groups than scales', 'GroupQuant', t(3, 4), t(2, 4), t(3, dtype='i32'), None, 2, o(3, 4, dtype='i8')),
    ('an offset of another type', 'GroupQuant', t(3, 4), t(2, 4), t(2, dtype='i32'), t(1, dtype='f16'), 2, o(3, 4, dtype='i8')),
    ('another type than asked for', 'GroupQuant', t(3, 4), t(2, 4), t(2, dtype='i32'), None, 3, o(3, 4, dtype='i8')),
    ('another type than asked for', 'AscendAntiQuant', t(3, 4, dtype='i8'), t(4), None, 27, False, o(3, 4, dtype='f16')),
    ('a scale of other columns', 'AscendAntiQuant', t(3, 4, dtype='i8'), t(3), None, 1, False, o(3, 4, dtype='f16')),
    ('a matrix of scales', 'AscendAntiQuant', t(3, 4, dtype='i8'), t(1, 4), None, 1, False, o(3, 4, dtype='f16')),
    ('an offset of another type', 'AscendAntiQuant', t(3, 4, dtype='i8'), t(4), t(4, dtype='bf16'), 1, False, o(3, 4, dtype='f16')),
    ('another type than asked for', 'DequantBias', t(3, 4, dtype='i32'), t(4), None, None, 27, o(3, 4, dtype='f16')),
    ('a scale of other columns', 'DequantBias', t(3, 4, dtype='i32'), t(3), None, None, 1, o(3, 4, dtype='f16')),
    ('scales of other rows', 'DequantBias', t(3, 4, dtype='i32'), t(4), t(4), None, 1, o(3, 4, dtype='f16')),
    ('a bias of other columns', 'DequantBias', t(3, 4, dtype='i32'), t(4), None, t(3), 1, o(3, 4, dtype='f16')),
    ('a formula that is none', 'GeluQuant', t(3, 4), t(4), None, b'erf', b'static', b'rint', 2, o(3, 4, dtype='i8'), None),
    ('a mode that is none', 'GeluQuant', t(3, 4), t(4), None, b'none', b'pertoken', b'rint', 2, o(3, 4, dtype='i8'), None),
    ('rounding down', 'GeluQuant', t(3, 4), t(4), None, b'none', b'static', b'floor', 2, o(3, 4, dtype='i8'), None),
    ('8-bit floats', 'GeluQuant', t(3, 4), t(4), None, b'none', b'static', b'rint', 36, o(3, 4, dtype='i8'), None),
    ('a scale of other columns', 'GeluQuant', t(3, 4), t(3), None, b'none', b'static', b'rint', 2, o(3, 4, dtype='i8'), None),
    ('no tensors', 'FusedSgd', [], [], [], None, 0.0, 0.5, 0.5, 0.0, False, False, False),
    ('lists of other lengths', 'FusedSgd', [t(3)], [t(3)], [t(3), t(3)], None, 0.0, 0.5, 0.5, 0.0, False, False, False),
    ('a gradient of another shape', 'FusedSgd', [t(3)], [t(2)], [t(3)], None, 0.0, 0.5, 0.5, 0.0, False, False, False),
    ('two scales', 'FusedSgd', [t(3)], [t(3)], [t(3)], t(2), 0.0, 0.5, 0.5, 0.0, False, False, False),
    *[(what, 'AddLora', t(2, 9, dtype='f16'), t(2, 4, dtype='f16'), t(3, 2, 5, 2, dtype='f16'), t(2, dtype='i32'), a, layer, 1.0, first, n,
       o(2, 9, dtype='f16')) for what, a, layer, first, n in [
           ('no such layer', LORA, 2, 0, 5), ('columns beyond the last', LORA, 0, 5, 5), ('other columns', LORA, 0, 0, 4),
           ('a negative column', LORA, 0, -1, 5), ('rows of other lengths', None, 0, 0, 5), ('another depth', t(3, 2, 3, 4, dtype='f16'), 0, 0, 5)]],
    ('a size that is not out\'s', 'AdaptiveMaxPool3d', t(1, 2, 4, 4, 4), [2, 2, 3], o(1, 2, 2, 2, 2), o(1, 2, 2, 2, 2, dtype='i32')),
    ('two sizes', 'AdaptiveMaxPool3d', t(1, 2, 4, 4, 4), [2, 2], o(1, 2, 2, 2, 2), o(1, 2, 2, 2, 2, dtype='i32')),
    ('places of another shape', 'AdaptiveMaxPool3dBackward', t(2, 2, 2, 2), t(2, 4, 4, 4), t(2, 2, 2, 1, dtype='i32'), o(2, 4, 4, 4)),
    ('other channels', 'MaxPool2dWithIndicesBackward', t(3, 2, 2), t(2, 4, 4), t(3, 2, 2, dtype='i32'), [2, 2], [2, 2], [0, 0], [1, 1], False,
     o(2, 4, 4)),
    ('other channels', 'MaxUnpool2dBackward', t(3, 4, 4), t(2, 2, 2), t(2, 2, 2, dtype='i64'), [4, 4], o(2, 2, 2)),
    ('an image without a batch beside one with it', 'MaxUnpool2dBackward', t(1, 2, 4, 4), t(2, 2, 2), t(2, 2, 2, dtype='i64'), [4, 4], o(2, 2, 2)),
    ('another size', 'MaxUnpool2dBackward', t(2, 4, 4), t(2, 2, 2), t(2, 2, 2, dtype='i64'), [4, 5], o(2, 2, 2)),
    ('a step of 0', 'MaxUnpool3dBackward', t(2, 4, 4, 4), t(2, 2, 2, 2), t(2, 2, 2, 2, dtype='i64'), [4] * 3, [2, 0, 2], [0] * 3, o(2, 2, 2, 2)),
    ('three dimensions', 'UpsampleBilinear2dAA', t(2, 4, 4), [2, 2], False, 0.0, 0.0, o(2, 2, 2)),
    ('one size', 'UpsampleBicubic2dAA', t(1, 2, 4, 4), [2], False, 0.0, 0.0, o(1, 2, 2, 2)),
    ('a size of 0', 'UpsampleBilinear2dAABackward', t(1, 2, 2, 2), [2, 2], [1, 2, 0, 4], False, 0.0, 0.0, o(1, 2, 0, 4)),
    ('a gradient of another size', 'UpsampleBicubic2dAAGrad', t(1, 2, 2, 3), [2, 2], [1, 2, 4, 4], False, 0.0, 0.0, o(1, 2, 4, 4)),
    ('a negative order', 'CdistBackward', t(2, 3), t(2, 4), t(3, 4), t(2, 3), -2.0, o(2, 4)),
    ('rows of other lengths', 'CdistBackward', t(2, 3), t(2, 4), t(3, 5), t(2, 3), 2.0, o(2, 4)),
    ('other batches', 'CdistBackward', t(2, 2, 3), t(2, 2, 4), t(1, 3, 4), t(2, 2, 3), 2.0, o(2, 2, 4)),
    ('distances of other rows', 'CdistBackward', t(2, 3), t(2, 4), t(3, 4), t(2, 2), 2.0, o(2, 4)),
    ('two dimensions', 'ConvTbc', t(5, 2), t(1, 2, 2), t(2), 0, o(5, 1, 2), 0),
    ('weights of other channels', 'ConvTbc', t(5, 1, 3), t(1, 2, 2), t(2), 0, o(5, 1, 2), 0),
    ('a bias of other channels', 'ConvTbcBackward', t(5, 1, 2), t(5, 1, 2), t(1, 2, 2), t(3), 0, 0, o(5, 1, 2), o(1, 2, 2), o(2)),
    ('formula 0', 'GeGluBackward', t(2, 2), t(2, 4), t(2, 2), 1, 0, o(2, 4)),
    ('a mode that is none', 'IndexAddV2', t(3), 0, t(1, dtype='i64'), t(1), Scalar(1, 'f32'), 1, o(3)),
    ('a vector', 'EmbeddingRenorm', t(3), t(1, dtype='i64'), 1.0, 2.0),
    ('a negative order', 'EmbeddingRenorm', t(3, 2), t(1, dtype='i64'), 1.0, -2.0),
    ('a negative norm', 'EmbeddingRenorm', t(3, 2), t(1, dtype='i64'), -1.0, 2.0),
    ('an addition', 'InplaceQuantScatter', t(1, 1, 4, dtype='i8'), t(1, dtype='i32'), t(1, 1, 4, dtype='f16'), t(4), None, -2, -1, 2),
    ('the first dimension', 'InplaceQuantScatter', t(1, 1, 4, dtype='i8'), t(1, dtype='i32'), t(1, 1, 4, dtype='f16'), t(4), None, 0, -1, 1),
    ('scales of another dimension', 'InplaceQuantScatter', t(1, 1, 4, dtype='i8'), t(1, dtype='i32'), t(1, 1, 4, dtype='f16'), t(4), None, 1, 1, 1),
    ('more updates than batches', 'InplaceQuantScatter', t(1, 1, 4, dtype='i8'), t(2, dtype='i32'), t(2, 1, 4, dtype='f16'), t(4), None, 1, 2, 1),
    ('three numbers for a place', 'InplaceQuantScatter', t(1, 1, 4, dtype='i8'), t(1, 3, dtype='i32'), t(1, 1, 4, dtype='f16'), t(4), None, 1, 2, 1),
    ('too few scales', 'InplaceQuantScatter', t(1, 1, 4, dtype='i8'), t(1, dtype='i32'), t(1, 1, 4, dtype='f16'), t(3), None, 1, 2, 1),
    ('too few repeats', 'RepeatInterleaveGrad', t(4, 2), t(2, dtype='i64'), 0, o(3, 2)),
    ('no chunks', 'ChunkCat', [t(4)], 0, 0, o(1, 4)),
    ('tensors of other first sizes', 'ChunkCat', [t(2, 4), t(3, 4)], 1, 2, o(2, 2, 4)),
    ('heads that do not divide the columns', 'TransformBiasRescaleQkv', t(2, 3, 12), t(12), 3, *[o(2, 3, 3, 2)] * 3),
    ('another bias', 'TransformBiasRescaleQkv', t(2, 3, 12), t(6), 2, *[o(2, 2, 3, 2)] * 3),
    ('a matrix of bounds', 'Bucketize', t(3), t(2, 2), False, False, o(3, dtype='i64')),
    ('INT64 where INT32 is wanted', 'Bucketize', t(3), t(2), True, False, o(3, dtype='i64')),
    ('a mask of another shape', 'MaskedScale', t(3), t(2, dtype='u8'), 2.0, o(3)),
    ('bounds out of order', 'RReluWithNoise', t(3), t(3), Scalar(1, 'f32'), Scalar(0, 'f32'), True, 1, 0, o(3)),
    ('a rate of 0', 'SimThreadExponential', t(3), 3, 0.0, 1, 0),
    ('a count of others', 'SimThreadExponential', t(3), 2, 1.0, 1, 0),
    ('noise of another shape', 'RReluWithNoise', t(3), t(2), Scalar(0, 'f32'), Scalar(1, 'f32'), True, 1, 0, o(3)),
    ('more classes than there are', 'MultinomialTensor', t(3), 4, False, t(dtype='i64'), t(dtype='i64'), 0, o(4, dtype='i64')),
    ('two seeds', 'MultinomialTensor', t(3), 2, False, t(2, dtype='i64'), t(dtype='i64'), 0, o(2, dtype='i64')),
]

NULLS = [
    ('a sum that is asked for', 'AddLayerNorm', t(2, 4), t(2, 4), t(4), t(4), None, 1e-5, True, o(2, 4), o(2, 1), o(2, 1), None),
    ('no largest squares', 'ApplyAdamW', t(3), t(3), t(3), t(1), t(1), t(1), t(1), t(1), t(1), t(1), t(3), None, True, False),
    ('a result that the mask asks for', 'LayerNormBackward', t(3, 5), t(3, 5), [5], t(3, 1), t(3, 1), None, None, [False, True, False],
     None, None, None),
    ('a sum that is asked for', 'BatchNormReduceBackward', t(2, 3), t(2, 3), t(3), t(3), None, True, False, False, None, o(3), None, None),
    ('a gradient that is asked for', 'GroupNormSwishGrad', t(2, 4, 3), t(2, 2), t(2, 2), t(2, 4, 3), t(4), t(4), 2, None, 1.0, True, False,
     o(2, 4, 3), None, None),
    ('no statistics', 'BatchNormBackward', t(3, 5), t(3, 5), None, None, None, t(5), t(5), False, 1e-5, [True] * 3, o(3, 5), o(5), o(5)),
    ('places that are asked for', 'Unique2', t(2, 3), True, True, False, o(6), None, None),
    ('counts that are asked for', 'UniqueConsecutive', t(2, 3), False, True, 1000, o(6), None, None),
    ('places that are asked for', 'UniqueDim', t(2, 3), True, True, 0, o(2, 3), None, o(2, dtype='i64')),
    ('counts that are asked for', 'Unique2', t(2, 3), True, False, True, o(6), None, None),
    ('no largest squares', 'ApplyAdamWV2', t(3), t(3), t(3), None, t(3), t(1), 0.1, 0.9, 0.9, 0.0, 1e-8, True, False),
    ('a bias that is asked for', 'ThnnFusedLstmCellBackward', t(2, 3), None, t(2, 3), t(2, 3), t(2, 12), True, o(2, 12), o(2, 3), None),
    ('a softmax without its place', 'FusedCrossEntropyLossWithMaxSum', t(3), t(3), t(3), 0.0, None, None, t(3, 4), o(3), None),
    ('no sums', 'FusedLinearCrossEntropyLossGrad', t(3), HALF, HALF, t(1, dtype='u8'), t(3, dtype='i32'), 0.0, t(3), None, None,
     o(3, 4, dtype='f16'), o(3, 4, dtype='f16')),
    ('no scale', 'GeluQuant', t(3, 4), None, None, b'none', b'static', b'rint', 2, o(3, 4, dtype='i8'), None),
    ('no place for the steps', 'GeluQuant', t(3, 4), None, None, b'none', b'dynamic', b'rint', 2, o(3, 4, dtype='i8'), None),
]


def check(device, rng) -> list[str]:
    failures = []
    for calls, code in ((CALLS, BAD_ARGUMENT), (NULLS, NULL_ARGUMENT)):
        for what, name, *arguments in calls:
            failures += [f'{name}: {f}' for f in errors.expect(device, name, Case(arguments, {}), rng, code, what)]
    return failures
