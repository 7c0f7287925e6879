"""Steps of optimisers over lists of tensors."""
from __future__ import annotations

import numpy as np

from cases import Case, Table, Want
from foreach import drawn, shapes
from reduce import wide
from values import Random

TABLE = Table('optimiser')


@TABLE.case('FusedSgd')
def descent(r: Random, form) -> Case:
    dtype, sizes = r.pick(form.types['params']), shapes(r)
    params, grads, buffers = [drawn(r, dtype, sizes) for _ in range(3)]
    scale = r.tensor('f32', r.pick([(), (1,)]), 1, 4) if r.chance() else None
    decay, momentum, rate, damping = r.pick([0.0, 0.25]), r.pick([0.0, 0.5]), r.pick([0.125, 0.5]), r.pick([0.0, 0.25])
    nesterov, maximize, first = r.chance(), r.chance(), r.chance()
    moved, kept = [], []
    for p, g, b in zip(params, grads, buffers):
        step = wide(g.data) / (wide(scale.data).reshape(()) if scale else 1)
        step = (-step if maximize else step) + decay * wide(p.data)
        buffer = wide(b.data)
        if momentum:
            buffer = step if first else momentum * buffer + (1 - damping) * step
            step = step + momentum * buffer if nesterov else buffer
        moved.append(Want(wide(p.data) - rate * step, 8.0))
        kept.append(Want(buffer, 8.0))
    wants = {0: moved, 2: kept} if momentum else {0: moved}
    return Case([params, grads, buffers, scale, decay, momentum, rate, damping, nesterov, maximize, first], wants)
