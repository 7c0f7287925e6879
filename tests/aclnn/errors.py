"""The documented errors in their general form: what every function must refuse, tried on a good case.

161001: a handle that may not be null is, or the place for the size or for the executor. 161002: an
element type that no list has, a shape that does not fit, a dimension that is not there. A row names the
groups that its function cannot have.
"""
from __future__ import annotations

from dataclasses import replace

import binding
from cases import Call, Case, Row
from forms import Form
from values import DTYPES, DType, Scalar, Tensor

DTYPES.setdefault('e5m2', DType('e5m2', 35, DTYPES['u8'].numpy))  # FLOAT8_E5M2, which no function takes


def expect(device, name: str, case: Case, rng, wanted: int, what: str, without: str = '') -> list[str]:
    call = Call(device, name, case, rng, plain=True)
    try:
        code, _, executor = device.plan(name, call.values, without)
    finally:
        call.destroy()
    message = device.message()
    if code == wanted and message and not executor:
        return []
    return [f'{what}: gives {code}, wanted {wanted}; message: {message}']


def changed(case: Case, place: int, value) -> Case:
    arguments = list(case.arguments)
    arguments[place] = value
    return Case(arguments, {})


def nulls(form: Form, signature, case: Case):
    for place, (argument, name) in enumerate(zip(signature, form.arguments)):
        if argument.handle and name not in form.optional:
            yield changed(case, place, None), f'{name} is null'


def types(form: Form, case: Case):
    for place, value in enumerate(case.arguments):
        if isinstance(value, Tensor):
            bad = replace(value, dtype='e5m2', data=None)
            yield changed(case, place, bad), f'{form.arguments[place]} is FLOAT8_E5M2'


def outputs(form: Form, case: Case):
    """An output of another shape; what is written in place is an input too, whose shape is free.

    What is empty may be a result that is not asked for, and be the whole result with one element more: it gets many."""
    for place, value in enumerate(case.arguments):
        name = form.arguments[place]
        if isinstance(value, Tensor) and name in form.outs and value.data is None:
            bad = tuple(n + 1 if n else 97 for n in value.shape) + ((2,) if not value.shape else ())
            yield changed(case, place, replace(value, shape=bad)), f'{name} has the shape {list(bad)}'


def operands(form: Form, case: Case):
    """An operand that does not broadcast."""
    tensors = [place for place, value in enumerate(case.arguments)
               if isinstance(value, Tensor) and value.data is not None]
    for place in tensors[1:]:
        bad = replace(case.arguments[place], shape=(97,), data=None)
        yield changed(case, place, bad), f'{form.arguments[place]} has the shape [97]'


def dims(form: Form, case: Case):
    for place, value in enumerate(case.arguments):
        if form.arguments[place] in ('dim', 'dims', 'axis') and value is not None:
            bad = [99] if isinstance(value, list) else Scalar(99, 'i64') if isinstance(value, Scalar) else 99
            yield changed(case, place, bad), f'{form.arguments[place]} is 99'


def tiles(form: Form, case: Case):
    """A tensor in the tiles of a card, where the function does not read them."""
    def tiled(tensor: Tensor) -> Tensor:
        shape = (1,) * max(2 - len(tensor.shape), 0) + tensor.shape
        return replace(tensor, shape=shape, data=None, tiles=16)
    for place, value in enumerate(case.arguments):
        name = form.arguments[place]
        if name in form.tiled:
            continue
        if isinstance(value, Tensor):
            yield changed(case, place, tiled(value)), f'{name} lies in tiles'
        elif isinstance(value, list) and value and isinstance(value[-1], Tensor):
            yield changed(case, place, [*value[:-1], tiled(value[-1])]), f'the last of {name} lies in tiles'


def check(device, row: Row, form: Form, case: Case, rng) -> list[str]:
    signature, failures = device.signatures[row.name], []
    for place in ('size', 'executor'):
        failures += expect(device, row.name, case, rng, binding.NULL_ARGUMENT, f'no place for the {place}', place)
    groups = [('null', binding.NULL_ARGUMENT, nulls(form, signature, case)),
              ('type', binding.BAD_ARGUMENT, types(form, case)),
              ('shape', binding.BAD_ARGUMENT, outputs(form, case)),
              ('dim', binding.BAD_ARGUMENT, dims(form, case)),
              ('tiles', binding.BAD_ARGUMENT, tiles(form, case))]
    if row.broadcasts:
        groups.append(('broadcast', binding.BAD_ARGUMENT, operands(form, case)))
    for group, wanted, tries in groups:
        if group in row.errors:
            continue
        for bad, what in tries:
            failures += expect(device, row.name, bad, rng, wanted, what)
    return failures
