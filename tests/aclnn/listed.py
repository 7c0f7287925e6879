"""Element types that the newest pages list for Atlas A2: each is taken, and a drawn case of it is right. ACL_COMPLEX128 where it
is more than copied stands in docs/fidelity.md."""
from __future__ import annotations

from dataclasses import replace

import cases
from values import Random

_FLOATS = 'f32 f16 bf16'
_DOUBLES = _FLOATS + ' f64'
_NUMBERS = _DOUBLES + ' i8 i16 i32 i64 u8'
_ALL = _NUMBERS + ' bool'
_PADDED = _DOUBLES + ' c64 c128'
# function -> an argument, the types that its page lists for it
LISTED = {
    'Add': ('self', _ALL), 'Index': ('self', _ALL), 'IndexPutImpl': ('self', _ALL), 'InplacePut': ('self', _ALL + ' c64 c128'),
    'Cast': ('self', _ALL + ' u16 u32 u64 c64 c128'), 'ReduceSum': ('self', _ALL + ' c64 c128'),
    'Softmax': ('self', _DOUBLES), 'RmsNorm': ('x', _FLOATS), 'AddRmsNorm': ('x1', _FLOATS), 'DynamicQuant': ('x', 'f16 bf16'),
    'OneHot': ('self', 'i32 i64'), 'MaxN': ('tensors', _FLOATS + ' i8 i32 i64'), 'RotaryPositionEmbedding': ('x', _FLOATS),
    'Unique': ('self', _ALL + ' u16 u32 u64'), 'Unique2': ('self', _ALL + ' u16 u32 u64'),
    'Frac': ('self', _FLOATS + ' i8 i16 i32 i64 u8'), 'InplaceUniform': ('self', _NUMBERS),
    'AdaptiveMaxPool2d': ('self', 'f32 f16 f64'), 'ForeachSign': ('x', _FLOATS + ' i8 i32 i64'),
    'AscendQuant': ('x', _FLOATS), 'AscendQuantV3': ('x', _FLOATS),
    'Inverse': ('self', 'f32 f16 f64 c64 c128'), 'Embedding': ('weight', _ALL + ' c64 c128'), 'Clamp': ('self', _NUMBERS),
    'GroupNorm': ('self', _FLOATS), 'GroupNormBackward': ('gradOut', _FLOATS),
    'CtcLoss': ('logProbs', 'f32 f64'), 'CtcLossBackward': ('logProbs', 'f32 f64'),
    'UpsampleNearest1dBackward': ('gradOutput', _DOUBLES), 'UpsampleNearest2dBackward': ('gradOutput', _FLOATS),
    'UpsampleNearest3dBackward': ('gradOutput', _DOUBLES), 'UpsampleTrilinear3dBackward': ('gradOutput', _DOUBLES),
    'UpsampleNearest2d': ('self', _DOUBLES + ' u8'),
    'UpsampleBilinear2dBackward': ('gradOutput', 'f32 f16'), 'GluBackward': ('self', _DOUBLES),
    'GridSampler2DBackward': ('input', _DOUBLES), 'GridSampler3DBackward': ('input', _DOUBLES),
    **{f'{kind}Pad{n}dBackward': ('self', _PADDED) for kind in ('Reflection', 'Replication') for n in (1, 2, 3)},
}


def check(device, row, form, generator) -> list[str]:
    name, listed = LISTED[row.name]
    missing = [t for t in listed.split() if t not in form.types[name]]
    failures = [f'{name} is not taken in {t}, which its page lists' for t in missing]
    for number, dtype in enumerate(t for t in listed.split() if t not in missing and t[0] != 'c'):  # tables draw those apart
        rng = generator(number)
        try:
            cases.check(device, row.name, row.make(Random(rng), replace(form, types=form.types | {name: (dtype,)})), rng)
        except cases.Failure as failure:
            failures.append(f'{name} of {dtype}: {failure}')
    return failures
