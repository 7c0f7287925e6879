"""Single operators whose inputs, results and attributes are changed at random, as mutations.py changes those of functions."""
from __future__ import annotations

import os
from pathlib import Path

import doors
import forms
import ops_model
from cases import Failure
from changes import MOST_CHANGES, MOST_ELEMENTS, Changes
from mutations import VALID_AFTER, watched
from values import Random, Tensor


class ChangedNode:
    """A node's parts: inputs, results, and attributes as (name, kind, value)."""

    def __init__(self, r: Random, inputs: list, outs: list, attributes: list):
        self.r, self.changes = r, Changes(r)
        self.inputs, self.outs, self.attributes = list(inputs), list(outs), list(attributes)
        self.words = '; '.join(self.change() for _ in range(r.int(1, MOST_CHANGES)))

    def change(self) -> str:
        how = self.r.pick(['input', 'input', 'result', 'attribute', 'attribute', 'fewer', 'more', 'everywhere'])
        if how == 'everywhere':
            both = self.inputs + self.outs
            what = self.changes.everywhere(both)
            self.inputs, self.outs = both[:len(self.inputs)], both[len(self.inputs):]
            return what
        if how == 'attribute':
            return self.other_attribute()
        tensors = self.outs if how == 'result' else self.inputs
        if not tensors:
            return 'as it was'
        place = self.r.int(0, len(tensors) - 1)
        if how == 'fewer':
            tensors.pop(place)
        elif how == 'more':
            tensors.append(tensors[place])
        else:
            changed, what = self.other_tensor(tensors[place])
            if how == 'result' and max(changed.shape, default=0) > MOST_ELEMENTS:
                return 'as it was'  # numpy reads none of such a shape
            tensors[place] = changed
            return f'{how} {place} {what}'
        return f'{how} inputs'

    def other_tensor(self, tensor: Tensor):
        done = self.r.pick([self.changes.other_type, self.changes.other_shape, self.changes.other_shape, self.changes.other_values])(tensor)
        return done if done else (tensor, 'as it was')

    def other_attribute(self) -> str:
        if not self.attributes or self.r.chance(0.1):
            self.attributes.append((self.r.pick(['axis', 'keep_dims', 'unknown', 'dtype']), 'int', self.changes.integer(None)[0]))
            return f'also {self.attributes[-1]}'
        place = self.r.int(0, len(self.attributes) - 1)
        name, kind, value = self.attributes[place]
        if self.r.chance(0.1):
            self.attributes.pop(place)
            return f'without {name}'
        kind = self.r.pick(['float', 'int', 'bool', 'string', 'ints']) if self.r.chance(0.1) else kind
        draw = {'float': self.changes.real, 'bool': self.changes.truth, 'ints': lambda _: self.changes.integers(value if isinstance(
            value, list) else None), 'string': lambda _: self.changes.word(b'none')}.get(kind, lambda _: self.changes.integer(None))
        self.attributes[place] = name, kind, draw(value)[0]
        return f'{self.attributes[place]}'


def takes(device, single: doors.SingleOperators, *node) -> bool:
    """Whether the node is taken; a refusal has a message, and nothing is written beside its memory."""
    taken = False
    with watched(device):
        single.run(*node)
        taken = True
    return taken


def attempt(door, drawn, device, r: Random, tell):
    single, (inputs, attributes, outs, _) = doors.SingleOperators(device), drawn
    node = ChangedNode(r, inputs, outs, attributes)
    shapes = [[f'{t.dtype}{list(t.shape)}' for t in tensors] for tensors in (node.inputs, node.outs)]
    tell(f'{door.type}({", ".join(shapes[0])}, {node.attributes}) -> {shapes[1]}\n    {node.words}')
    again = r.chance(VALID_AFTER)
    before = again and takes(device, single, door.type, inputs, outs, attributes)
    takes(device, single, door.type, node.inputs, node.outs, node.attributes)
    if again and before != takes(device, single, door.type, inputs, outs, attributes):
        raise Failure('what it was made of is taken before it and not after it, or after it only')


def bodies(tables: dict):
    """Each operator that a table has cases of, and what makes a changed call of it."""
    known = forms.read_forms()
    for op in ops_model.read_operators(Path(os.environ['BELAY_SPEC'])):
        for door in op.doors:
            form, row = doors.form_of(op, door, tables)

            def body(device, rng, tell, op=op, door=door, form=form, row=row):
                drawn = doors.draw(op, door, form, row, known, rng) if row else None
                if drawn is None and door.type in doors.FORMULAS:
                    drawn = doors.draw_formula(op, door, rng)
                if drawn:
                    attempt(door, drawn, device, Random(rng), tell)
            yield door.type, body
