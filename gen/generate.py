#!/usr/bin/env python3
"""Turns spec/ into code.

  generate.py --spec spec --out build/gen       sources of the build
  generate.py --spec spec --headers include     committed outputs: include/ and docs/status.md
  generate.py --spec spec --headers include --check    fails when the committed outputs are old
  generate.py --spec spec --count               functions by status
"""
from __future__ import annotations

import argparse
import importlib
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import emit_ge  # noqa: E402
import emit_graph  # noqa: E402
import graph_model  # noqa: E402
import read  # noqa: E402
from model import Spec  # noqa: E402

BUILD_OUTPUTS = ('emit_functions', 'emit_handlers', 'emit_entries', 'emit_thunks', 'emit_names',
                 'emit_abi', 'emit_calls', 'emit_limits', 'emit_codes',
                 'emit_watched')


def load(root: Path):
    """The whole model, with the operators' functions when gen/ can read spec/ops."""
    spec = read.read(root)
    operators = None
    if (Path(__file__).parent / 'emit_ops.py').exists():
        operators = importlib.import_module('emit_ops')
        operators.extend(spec, root)
    return read.finish(spec), operators


def graph_operators(operators, root: Path) -> list:
    return graph_model.read_graph_ops(root, operators.doors() if operators else [])


def build_files(spec: Spec, operators, root: Path) -> dict[str, str]:
    files = {}
    for name in BUILD_OUTPUTS:
        files |= importlib.import_module(name).emit(spec)
    if operators:
        files |= operators.emit(spec)
    graph_ops = graph_operators(operators, root)
    files |= emit_graph.emit(graph_ops) | emit_ge.emit(graph_ops)
    return files


def committed_files(spec: Spec, operators, headers: Path, root: Path) -> dict[Path, str]:
    emit_headers = importlib.import_module('emit_headers')
    emit_status = importlib.import_module('emit_status')
    files = {headers / path: text for path, text in emit_headers.emit(spec).items()}
    for path, text in emit_status.emit(spec, graph_operators(operators, root)).items():
        files[headers.parent / 'docs' / path] = text
    return files


def write_if_changed(path: Path, text: str) -> None:
    if path.exists() and path.read_text(encoding='utf-8') == text:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding='utf-8')


def write_build(out: Path, files: dict[str, str]) -> None:
    for folder in {Path(name).parent for name in files}:
        wanted = {Path(name).name for name in files if Path(name).parent == folder}
        for old in (out / folder).glob('*'):
            if old.is_file() and old.name not in wanted:
                old.unlink()
    for name, text in files.items():
        write_if_changed(out / name, text)


def check(files: dict[Path, str]) -> int:
    old = [p for p, text in files.items() if not p.exists() or p.read_text(encoding='utf-8') != text]
    for path in old:
        print(f'{path} is not what spec/ says; run gen/generate.py --spec spec --headers include')
    return 1 if old else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--spec', type=Path, required=True)
    parser.add_argument('--out', type=Path)
    parser.add_argument('--headers', type=Path)
    parser.add_argument('--check', action='store_true')
    parser.add_argument('--count', action='store_true')
    options = parser.parse_args()
    try:
        spec, operators = load(options.spec)
    except (read.SpecError, ValueError) as error:
        print(f'spec: {error}', file=sys.stderr)
        return 1
    if options.count:
        print(importlib.import_module('emit_status').counts(spec.functions))
    if options.out:
        write_build(options.out, build_files(spec, operators, options.spec))
    if options.headers:
        files = committed_files(spec, operators, options.headers, options.spec)
        if options.check:
            return check(files)
        for path, text in files.items():
            write_if_changed(path, text)
    return 0


if __name__ == '__main__':
    sys.exit(main())
