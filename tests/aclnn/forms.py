"""The element types that the rows of spec/ops list for each argument, and which arguments may be null."""
from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, os.environ['BELAY_GENERATOR'])
import ops_model  # noqa: E402


@dataclass(frozen=True)
class Form:
    name: str
    arguments: tuple[str, ...]  # names in C without the Ref of what is written in place
    types: dict[str, tuple[str, ...]]
    optional: frozenset[str]
    outs: frozenset[str]
    tiled: frozenset[str] = frozenset()  # may lie in the tiles of a card
    images: frozenset[str] = frozenset()  # may have their channels last

    @property
    def in_place(self) -> bool:
        return self.name.startswith('Inplace')

    def both(self, *names: str) -> list[str]:
        """The types that all of these arguments may have."""
        first, *others = [self.types[n] for n in names]
        return [t for t in first if all(t in o for o in others)]


def read_forms() -> dict[str, Form]:
    forms = {}
    for op in ops_model.read_operators(Path(os.environ['BELAY_SPEC'])):
        for form in op.forms:
            names = tuple(p.name.removesuffix('Ref') for p in form.params)
            types = {}
            for name, param in zip(names, form.params):
                allowed = [op.params[i].types for i in param.indices]
                types[name] = tuple(t for t in allowed[0] if all(t in a for a in allowed))
            forms[form.name] = Form(
                form.name, names, types,
                frozenset(n for n, p in zip(names, form.params) if p.optional),
                frozenset(n for n, p in zip(names, form.params) if p.is_out),
                frozenset(n for n, p in zip(names, form.params) if any(op.params[i].reads_tiles for i in p.indices)),
                frozenset(n for n, p in zip(names, form.params) if any(op.params[i].is_image for i in p.indices)))
    return forms
