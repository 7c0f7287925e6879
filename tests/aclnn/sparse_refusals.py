"""What the functions of native sparse and latent attention and of sampling must refuse, in the form of refusals.py."""
from __future__ import annotations

import numpy as np

from calls import o, t
from values import given


def half(*shape):
    return t(*shape, dtype='f16')


def selected(query=half(3, 2, 4), key=half(5, 1, 4), value=half(5, 1, 3), indices=t(3, 1, 2, dtype='i32'), mask=None, ends=(1, 3), keys=(2, 5),
             heads=2, layout=b'TND', mode=0, block=2, count=2, most=o(3, 2, 8), out=o(3, 2, 3, dtype='f16')):
    return ('NsaSelectedAttention', query, key, value, indices, mask, list(ends), list(keys), 1.0, heads, layout, mode, block, count, most,
            o(3, 2, 8), out)


def compressed(mask=None, wanted=None, blocks=(3, 6), mode=1, sizes=(32, 16, 64), count=2, chosen=o(3, 1, 2, dtype='i32')):
    return ('NsaCompressAttention', half(3, 2, 4), half(5, 1, 4), half(5, 1, 3), mask, wanted, [1, 3], [2, 5], list(blocks), 1.0, 2, b'TND', mode,
            *sizes, count, o(3, 2, 8), o(3, 2, 8), o(3, 2, 3, dtype='f16'), chosen)


def in_pages(mask=None, table=t(2, 2, dtype='i32'), rows=None, keys=(3, 4), layout=b'BSH', heads=2, page=2, mode=0,
             query=half(2, 1, 8), key=half(4, 2, 4), indices=t(2, 1, 2, dtype='i32')):
    return ('NsaSelectedAttentionInfer', query, key, half(4, 2, 3), indices, mask, table, rows, list(keys), layout, heads, 1, 2, 2, page,
            1.0, mode, o(2, 1, 6, dtype='f16'))


def compressed_in_pages(wanted=None, blocks=None, sizes=(64, 2, 32, 16)):
    return ('NsaCompressAttentionInfer', half(2, 1, 8), half(4, 2, 4), half(4, 2, 3), None, t(2, 2, dtype='i32'), None, [3, 4], blocks, wanted, 2, 1,
            *sizes, 1.0, b'BSH', 2, 0, o(2, 1, 6, dtype='f16'), o(2, 1, 2, dtype='i32'))


def cached(kind=1, page=2, lengths=(3, 4), table=t(2, 2, dtype='i32'), stride=1):
    return ('NsaCompressWithCache', half(4, 2, 1, 3), half(2, 1), t(2, dtype='i32'), list(lengths), table, b'TND', 2, stride, kind, page,
            half(5, 1, 3))


def sampled(k=t(2, dtype='i32'), p=t(2), q=None, most=8, flags=(True, True), place=o(2, dtype='i64'), left=o(2, 4), places=o(2, 4, dtype='i64')):
    return ('TopKTopPSampleV2', t(2, 4), k, p, q, None, 1e-8, flags[0], 32, most, True, flags[1], place, left, places, o(2, 4))


B, S, N, D, C, R = 2, 3, 2, 4, 32, 32  # of latent attention; tokens have 6 numbers, queries 5 before they get heads


def prolog(third=False, weights='bf16', of_up='bf16', kv='bf16', kr='bf16', **changes):
    """aclnnMlaPrologV2WeightNz, or V3, of two batches of three tokens and six pages of two rows, but for these arguments."""
    b, n = 'bf16', N * (D + R)
    arguments = dict(
        x=t(B, S, 6, dtype=weights), down=t(6, 5, dtype=weights), up=t(5, n, dtype=of_up), absorb=t(N, D, C, dtype=b),
        down_latent=t(6, C + R, dtype=weights), gamma=t(5, dtype=b), gamma_latent=t(C, dtype=b), sin=t(B, S, R, dtype=b), cos=t(B, S, R, dtype=b),
        index=given(np.arange(6).reshape(B, S), 'i64'), kv_cache=t(6, 2, 1, C, dtype=kv), kr_cache=t(6, 2, 1, R, dtype=kr), by_x=None, by_down=None,
        by_up=None, by_latent=None, ckv=None, ckr=None, smooth=None, ends=None, alpha=None, eps=1e-5, eps_latent=1e-5, mode=None, modes=(0, 0, 0, 0, 0, 128),
        query_by=1.0, latent_by=1.0, query=o(B, S, N, C, dtype=b), rope=o(B, S, N, R, dtype=b), scale=None, norm=None, norm_scale=None)
    assert changes.keys() <= arguments.keys()
    arguments |= changes
    if third:  # the index behind the caches
        names = [name for name in arguments if name != 'index']
        names.insert(names.index('by_x'), 'index')
    else:
        names = [name for name in arguments if name not in ('ends', 'alpha', 'modes', 'query_by', 'latent_by', 'norm', 'norm_scale')]
    values = [value for name in names for value in (arguments[name] if name == 'modes' else [arguments[name]])]
    return (f'MlaPrologV{3 if third else 2}WeightNz', *values)


def up_of_bytes(**changes):
    return prolog(of_up='i8', **dict(by_up=t(1, N * (D + R))) | changes)


def prolog_of_bytes(third=False, **changes):
    """Everything of INT8 that may be."""
    arguments = dict(by_x=t(B * S, 1), by_down=t(1, 5), by_up=t(1, N * (D + R)), by_latent=t(1, C + R), kv='i8', ckv=t(1) if third else t(1, C),
                     query=o(B, S, N, C, dtype='i8'), scale=o(B * S, N, 1), modes=(2, 1, 1, 0, 0, 128))
    return prolog(third, weights='i8', of_up='i8', **arguments | changes)


def prolog_3(**changes):
    return prolog(True, **changes)


CALLS = [
    ('a cacheMode that is none', *prolog(mode=b'PA_BNSD')),
    ('a cacheMode of the third version', *prolog(mode=b'PA_BLK_BSND')),
    ('a cacheMode of other tokens', *prolog_3(mode=b'TND', index=None)),
    ('no index', *prolog_3(index=None)),
    ('an index that tokens have not', *prolog_3(mode=b'BSND', kv_cache=t(B, S, 1, C, dtype='bf16'), kr_cache=t(B, S, 1, R, dtype='bf16'))),
    ('an index of fewer tokens', *prolog(index=t(B, 2, dtype='i64'))),
    ('pages of fewer tokens', *prolog_3(mode=b'PA_BLK_BSND', index=t(B, 1, dtype='i64'))),
    ('lengths of what has a batch', *prolog_3(mode=b'PA_BLK_BSND', index=t(B, 2, dtype='i64'), ends=t(2, dtype='i32'))),
    ('lengths that rows do not need', *prolog_3(ends=t(2, dtype='i32'))),
    ('half a tile', *up_of_bytes(kr='i8', kv='i8', mode=b'PA_NZ', up=t(5, N * (D + 16), dtype='i8'), by_up=t(1, N * (D + 16)), ckv=t(1, C),
                                 ckr=t(1, 16), down_latent=t(6, C + 16, dtype='bf16'), cos=t(B, S, 16, dtype='bf16'),
                                 sin=t(B, S, 16, dtype='bf16'), kr_cache=t(6, 2, 1, 16, dtype='i8'), rope=o(B, S, N, 16, dtype='bf16'))),
    ('caches of other pages', *prolog(kr_cache=t(5, 2, 1, R, dtype='bf16'))),
    ('caches of two heads', *prolog(kv_cache=t(6, 1, 2, C, dtype='bf16'))),
    ('weights of another depth', *prolog(down=t(7, 5, dtype='bf16'))),
    ('weights of other heads', *prolog(up=t(5, D + R, dtype='bf16'))),
    ('no turned part', *prolog(down_latent=t(6, C, dtype='bf16'))),
    ('an odd turned part', *prolog(down_latent=t(6, C + 5, dtype='bf16'))),
    ('angles of all batches', *prolog(cos=t(1, S, R, dtype='bf16'))),
    ('a query without its heads', *prolog(query=o(B, S, C, dtype='bf16'))),
    ('tokens of INT8 alone', *prolog(x=t(B, S, 6, dtype='i8'))),
    ('caches of INT8 alone', *prolog(kv='i8', kr='i8', ckv=t(1, C), ckr=t(1, R))),
    ('one cache of INT8', *up_of_bytes(kv='i8', ckv=t(1, C))),
    ('weights of INT8 without scales', *up_of_bytes(by_up=None)),
    ('caches of INT8 without scales', *up_of_bytes(kv='i8', kr='i8', ckv=t(1, C))),
    ('scales of nothing', *prolog(by_up=t(1, N * (D + R)))),
    ('smooth scales of nothing', *prolog(smooth=t(1, 5))),
    ('scales of caches of BFLOAT16', *up_of_bytes(ckv=t(1, C))),
    ('smooth scales of other columns', *up_of_bytes(smooth=t(1, 6))),
    ('bytes without the scales of tokens', *prolog_of_bytes(by_x=None)),
    ('a query of BFLOAT16', *prolog_of_bytes(query=o(B, S, N, C, dtype='bf16'))),
    ('no place for the scales of queries', *prolog_of_bytes(scale=None)),
    ('one number for the scales of queries', *prolog_of_bytes(scale=o(1))),
    ('scales of columns', *prolog_of_bytes(True, ckv=t(1, C))),
    ('scales of queries that are not quantised', *prolog_3(scale=o(B * S, N, 1))),
    ('a norm of INT8', *prolog_3(norm=o(B, S, 5, dtype='i8'))),
    ('a norm without its scales', *prolog_of_bytes(True, norm=o(B, S, 5, dtype='i8'))),
    ('scales of no norm', *prolog_of_bytes(True, norm_scale=o(B * S, 1))),
    ('scales of groups', *prolog_3(modes=(1, 3, 0, 1, 1, 128))),
    ('caches in one', *prolog_3(modes=(0, 0, 0, 1, 0, 128))),
    ('scales beside the numbers', *prolog_3(modes=(0, 0, 0, 0, 1, 128))),
    ('a factor of groups', *prolog_3(alpha=t(1))),
    ('queries quantised alone', *prolog_3(modes=(0, 0, 1, 0, 0, 128))),
    ('floats of eight bits', *prolog_3(modes=(3, 0, 0, 0, 0, 128))),
    ('modes of other types', *prolog_3(modes=(1, 0, 0, 0, 0, 128))),
    ('a matrix of another size', 'RotaryPositionEmbeddingV2', t(1, 2, 4), t(1, 1, 4), t(1, 1, 4), 0, t(4, 3), o(1, 2, 4)),
    ('a matrix of another type', 'RotaryPositionEmbeddingV2', t(1, 2, 4), t(1, 1, 4), t(1, 1, 4), 0, t(4, 4, dtype='f16'), o(1, 2, 4)),
    ('a mode that is none', 'RotaryPositionEmbeddingV2', t(1, 2, 4), t(1, 1, 4), t(1, 1, 4), 4, t(4, 4), o(1, 2, 4)),
    ('a layout that is none', *selected(layout=b'BSND')),
    ('heads that are not those of query', *selected(heads=3)),
    ('heads that do not share', *selected(key=half(5, 3, 4), value=half(5, 3, 3))),
    ('another type of the key', *selected(key=t(5, 1, 4, dtype='bf16'))),
    ('another size of heads', *selected(key=half(5, 1, 3))),
    ('lengths that fall', *selected(ends=(3, 1))),
    ('lengths that leave a token', *selected(ends=(1, 2))),
    ('lengths of one side', *selected(keys=())),
    ('a sparseMode that is none', *selected(mode=1)),
    ('blocks of nothing', *selected(block=0)),
    ('no blocks', *selected(count=0)),
    ('chosen blocks of other heads', *selected(indices=t(3, 2, 2, dtype='i32'))),
    ('another mask', *selected(mask=t(2, 2, dtype='bool'))),
    ('a whole mask beside places', *selected(mode=2, mask=t(2, 3, dtype='bool'))),
    ('sums of another width', *selected(most=o(3, 2, 1))),
    ('results of other heads', *selected(out=o(3, 1, 3, dtype='f16'))),
    ('another mask', *compressed(mask=t(2, 2, dtype='bool'))),
    ('wanted blocks of other rows', *compressed(wanted=t(3, 3, dtype='bool'))),
    ('fewer blocks than are chosen', *compressed(blocks=(1, 6))),
    ('blocks of one sequence', *compressed(blocks=(6,))),
    ('a sparseMode that is none', *compressed(mode=2)),
    ('a stride beyond the block', *compressed(sizes=(16, 32, 64))),
    ('blocks between strides', *compressed(sizes=(40, 16, 64))),
    ('chosen blocks below the compressed ones', *compressed(sizes=(64, 16, 32))),
    ('no blocks', *compressed(count=0)),
    ('chosen blocks of other heads', *compressed(chosen=o(3, 2, 2, dtype='i32'))),
    ('a mask', *in_pages(mask=t(2, 4, dtype='bool'))),
    ('a sparseMode', *in_pages(mode=2)),
    ('no pages', *in_pages(table=None)),
    ('pages of another sequence', *in_pages(table=t(3, 2, dtype='i32'))),
    ('more keys than pages', *in_pages(keys=(3, 5))),
    ('lengths of one sequence', *in_pages(keys=(3,))),
    ('two tokens', *in_pages(rows=[1, 3])),
    ('two tokens', *in_pages(query=half(2, 2, 8))),
    ('a layout that is none', *in_pages(layout=b'BNSD')),
    ('heads in no groups', *in_pages(heads=3)),
    ('pages of another size', *in_pages(page=4)),
    ('chosen blocks of other heads', *in_pages(indices=t(2, 2, 2, dtype='i32'))),
    ('wanted blocks', *compressed_in_pages(wanted=t(1, 4, dtype='bool'))),
    ('lengths of blocks', *compressed_in_pages(blocks=[1, 1])),
    ('a stride beyond the block', *compressed_in_pages(sizes=(64, 2, 16, 32))),
    ('running sums', *cached(kind=0)),
    ('pages of another size', *cached(page=3)),
    ('more tokens than pages', *cached(lengths=(3, 5))),
    ('no pages', *cached(table=None)),
    ('blocks that stand still', *cached(stride=0)),
    ('topK of another row', *sampled(k=t(3, dtype='i32'))),
    ('topP of another type', *sampled(p=half(2))),
    ('noise of other columns', *sampled(q=t(2, 3))),
    ('at most none', *sampled(most=0)),
    ('places of other rows', *sampled(place=o(3, dtype='i64'))),
    ('logits that have no place', *sampled(left=o(1))),
    ('places that have no place', *sampled(places=o(1, dtype='i64'))),
]

def token_rows(**changes):
    """The same of six tokens that follow each other."""
    b = 'bf16'
    return prolog_3(**dict(x=t(6, 6, dtype=b), sin=t(6, R, dtype=b), cos=t(6, R, dtype=b), query=o(6, N, C, dtype=b), rope=o(6, N, R, dtype=b),
                           mode=b'PA_BLK_BSND', index=given(np.arange(4), 'i64'), ends=given(np.array([3, 6]), 'i32')) | changes)


TASKS = [
    ('a row beyond the pages', *prolog(index=given(np.array([[0, 1, 2], [3, 4, 12]]), 'i64'))),
    ('a row below 0', *prolog(index=given(np.array([[0, 1, 2], [3, 4, -1]]), 'i64'))),
    ('a page beyond the cache', *prolog_3(mode=b'PA_BLK_BSND', index=given(np.array([[0, 1], [2, 6]]), 'i64'))),
    ('a page below 0', *prolog_3(mode=b'PA_BLK_NZ', index=given(np.array([[0, 1], [2, -1]]), 'i64'))),
    ('sums that fall', *token_rows(ends=given(np.array([6, 3]), 'i32'))),
    ('sums beyond the tokens', *token_rows(ends=given(np.array([3, 7]), 'i32'))),
    ('tokens of no sequence', *token_rows(ends=given(np.array([3, 5]), 'i32'))),
    ('fewer pages than tokens need', *token_rows(index=given(np.arange(3), 'i64'))),
    ('a page beyond the keys', *in_pages(table=given(np.array([[0, 4], [1, 1]]), 'i32'), indices=given(np.array([[[0, 1]], [[0, 1]]]), 'i32'))),
    ('a place beyond the cache', 'NsaCompressWithCache', half(4, 2, 1, 3), half(2, 1), given(np.array([0, 5]), 'i32'), [3, 4],
     given(np.array([[0, 1], [2, 3]]), 'i32'), b'TND', 2, 1, 1, 2, half(5, 1, 3)),
    ('a place below 0', 'NsaCompressWithCache', half(4, 2, 1, 3), half(2, 1), given(np.array([0, -1]), 'i32'), [3, 4],
     given(np.array([[0, 1], [2, 3]]), 'i32'), b'TND', 2, 1, 1, 2, half(5, 1, 3)),
    ('a page below 0', 'NsaCompressWithCache', half(4, 2, 1, 3), half(2, 1), given(np.array([0, 1]), 'i32'), [3, 4],
     given(np.array([[0, 1], [2, -1]]), 'i32'), b'TND', 2, 1, 1, 2, half(5, 1, 3)),
]
