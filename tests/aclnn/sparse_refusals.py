"""What the functions of native sparse attention and of sampling must refuse, in the form of refusals.py."""
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


CALLS = [
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

TASKS = [
    ('a page beyond the keys', *in_pages(table=given(np.array([[0, 4], [1, 1]]), 'i32'), indices=given(np.array([[[0, 1]], [[0, 1]]]), 'i32'))),
    ('a place beyond the cache', 'NsaCompressWithCache', half(4, 2, 1, 3), half(2, 1), given(np.array([0, 5]), 'i32'), [3, 4],
     given(np.array([[0, 1], [2, 3]]), 'i32'), b'TND', 2, 1, 1, 2, half(5, 1, 3)),
    ('a place below 0', 'NsaCompressWithCache', half(4, 2, 1, 3), half(2, 1), given(np.array([0, -1]), 'i32'), [3, 4],
     given(np.array([[0, 1], [2, 3]]), 'i32'), b'TND', 2, 1, 1, 2, half(5, 1, 3)),
    ('a page below 0', 'NsaCompressWithCache', half(4, 2, 1, 3), half(2, 1), given(np.array([0, 1]), 'i32'), [3, 4],
     given(np.array([[0, 1], [2, -1]]), 'i32'), b'TND', 2, 1, 1, 2, half(5, 1, 3)),
]
