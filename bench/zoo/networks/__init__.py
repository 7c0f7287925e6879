"""Whole networks with random weights, as their users export them: `all_networks` gives one after another.

A list gives a name, `class/what`, and a function without arguments that makes a module and what it is called with. Networks
are exported once, by both of torch's exporters in turn (their graphs differ a lot), and kept in a folder.
"""
from __future__ import annotations

import functools
import importlib
import io
import re
import warnings
import zlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np

LISTS = ('vision', 'detection', 'language', 'speech', 'tables', 'recurrent', 'graphs')


@dataclass
class Case:
    name: str
    feeds: dict
    model: bytes
    tolerance: float


def exporter_of(name):
    """By name, and not by place: what is added or left out changes no other network's graph."""
    return 'script' if zlib.crc32(name.encode()) % 2 else 'dynamo'


def exported(module, arguments, exporter):
    import torch
    module = module.eval().requires_grad_(False)
    keywords = arguments if isinstance(arguments, dict) else None
    arguments = () if keywords else tuple(arguments)
    tensors = [a for a in (keywords.values() if keywords else arguments) if isinstance(a, torch.Tensor)]
    names = list(keywords) if keywords else [f'x{i}' for i in range(len(tensors))]
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter('ignore')
        if exporter == 'dynamo':
            program = torch.onnx.export(module, arguments, kwargs=keywords, input_names=names, dynamo=True,
                                        opset_version=18, verbose=False)
            model = program.model_proto.SerializeToString()
        else:
            target = io.BytesIO()
            torch.onnx.export(module, arguments, target, kwargs=keywords, input_names=names, dynamo=False,
                              opset_version=17)
            model = target.getvalue()
    return model, {name: t.detach().numpy() for name, t in zip(names, tensors)}


def case_of(name, make, folder):
    """The network, from the folder if it was exported before."""
    kept = Path(folder) / (name.replace('/', '.') + '.onnx')
    feeds = kept.with_suffix('.npz')
    if not (kept.exists() and feeds.exists()):
        import onnx
        import torch
        torch.set_num_threads(1)
        torch.manual_seed(zlib.crc32(name.encode()))
        module, arguments = make()
        wanted, failures = exporter_of(name), []
        for exporter in (wanted, 'script' if wanted == 'dynamo' else 'dynamo'):
            try:
                model, arrays = exported(module, arguments, exporter)
                break
            except Exception as error:  # each exporter has networks that it cannot do
                failures.append(f'{exporter}: {str(error).splitlines()[0][:100]}')
        else:
            raise RuntimeError('not exported: ' + '; '.join(failures))
        read = {value.name for value in onnx.load_from_string(model).graph.input}
        np.savez(feeds, **{n: a for n, a in arrays.items() if n in read})
        kept.write_bytes(model)
    with np.load(feeds) as arrays:
        return Case(name, {n: arrays[n] for n in arrays.files}, kept.read_bytes(), 2e-3)


def all_networks(pattern, folder):
    """Names, and functions that give the case; to be called in a process of its own, as torch's threads and memory stay."""
    Path(folder).mkdir(parents=True, exist_ok=True)
    for part in LISTS:
        for name, make in importlib.import_module(f'networks.{part}').networks():
            if re.search(pattern, name):
                yield name, functools.partial(case_of, name, make, folder)
