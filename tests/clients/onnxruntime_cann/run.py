#!/usr/bin/env python3
"""Runs onnxruntime-cann on Belay and compares what passes with what is expected to.

  run.py [--mode graph|subgraph|single_op] [--only TEXT] [--expected FILE] [--write] [--verbose]

The expected file lists the cases that do not pass, each with its reason: `name: reason`. A case that
fails and is not listed fails the run, and so does one that is listed and passes.
"""
import argparse
import collections
import multiprocessing
import os
import pathlib
import re
import sys
import tempfile

import cases

HERE = pathlib.Path(__file__).resolve().parent
OPTIONS = {
    'graph': {'dump_om_model': '0'},
    'subgraph': {'dump_om_model': '0', 'enable_cann_subgraph': '1'},
    'single_op': {'enable_cann_graph': '0'},
}


def session_of(model, providers, as_written):
    import onnxruntime as ort
    options = ort.SessionOptions()
    options.log_severity_level = 4
    if as_written:
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    return ort.InferenceSession(model, options, providers=providers)


def difference(got, want, tolerance):
    import numpy as np
    if got.shape != want.shape:
        return f'shape {got.shape}, wanted {want.shape}'
    if got.dtype != want.dtype:
        return f'type {got.dtype}, wanted {want.dtype}'
    if want.dtype.kind not in 'fc' and want.dtype.name != 'bfloat16':
        return '' if (got == want).all() else 'other values'
    rtol, atol = tolerance
    if want.dtype.itemsize == 2:
        rtol, atol = max(rtol, 1e-2), max(atol, 1e-3)
    if np.allclose(got.astype('f8'), want.astype('f8'), rtol, atol, equal_nan=True):
        return ''
    return f'differs by {np.nanmax(np.abs(got.astype("f8") - want.astype("f8"))):.3g}'


def run_case(mode, as_written, model, inputs, outputs, tolerance):
    """Empty when it passes. `as_written`: onnxruntime leaves the model as it is; else it does what it does for users."""
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)  # the provider looks for cached models here
        try:
            session = session_of(model, [('CANNExecutionProvider', OPTIONS[mode])], as_written)
            if session.get_providers()[0] != 'CANNExecutionProvider':
                return 'the provider was not loaded'
            got = session.run(None, inputs)
            if outputs is None:
                outputs = session_of(model, ['CPUExecutionProvider'], True).run(None, inputs)
        except Exception as error:  # noqa: BLE001: whatever goes wrong is the result of the case
            return re.sub(r'.*Status Message:', '', ' '.join(str(error).split()))[-200:] + heard()
        finally:
            os.chdir('/')
    for i, (one, want) in enumerate(zip(got, outputs)):
        text = difference(one, want, tolerance)
        if text:
            return f'output {i}: {text}'
    return ''


def heard():
    """What the toolkit's log said of the failure: the provider keeps it to itself."""
    folder = pathlib.Path(os.environ['ASCEND_PROCESS_LOG_PATH'])
    found = ''
    for path in folder.rglob('*.log'):
        text = path.read_text(errors='replace')
        match = re.search(r'failed: (.*?)(?:\n|$)', text)
        found = f' ({match[1][:200]})' if match else found
        path.unlink()
    return found


def work(connection, mode, verbose):
    os.environ.setdefault('ASCEND_PROCESS_LOG_PATH', tempfile.mkdtemp())
    if not verbose:  # the provider writes there what cases that are expected to fail do
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    while True:
        case = connection.recv()
        if case is None:
            return
        connection.send(run_case(mode, *case))


class Worker:
    """A process that runs cases and may die of one."""

    def __init__(self, mode, verbose):
        self.mode, self.verbose = mode, verbose
        self.process = None

    def run(self, case, limit=120):
        if self.process is None:
            context = multiprocessing.get_context('spawn')
            self.connection, other = context.Pipe()
            self.process = context.Process(target=work, args=(other, self.mode, self.verbose), daemon=True)
            self.process.start()
            other.close()  # so that its end is seen here
        result = 'it took too long'
        try:
            self.connection.send(case)
            if self.connection.poll(limit):
                return self.connection.recv()
        except (EOFError, OSError):
            self.process.join()
            result = f'the process died with {self.process.exitcode}'
        self.process.kill()
        self.process = None
        return result

    def close(self):
        if self.process is not None:
            self.connection.send(None)
            self.process.join(30)


def read_expected(path):
    if not path.exists():
        return {}
    lines = [line for line in path.read_text().splitlines() if line and not line.startswith('#')]
    return dict(line.split(': ', 1) for line in lines)


def report(results, expected, options):
    failed = {name: text for name, text in results.items() if text}
    if options.write:
        lines = [f'{name}: {expected.get(name, text[:160])}' for name, text in sorted(failed.items())]
        options.expected.write_text('# Cases that do not pass, and why.\n' + '\n'.join(lines) + '\n')
    families = collections.Counter(name.split(':')[0] if ':' in name else 'node' for name in results)
    good = collections.Counter(name.split(':')[0] if ':' in name else 'node' for name, t in results.items() if not t)
    for family, count in families.items():
        print(f'{options.mode} {family}: {good[family]} of {count} pass')
    unexpected = [f'{name}: {text}' for name, text in failed.items() if name not in expected]
    surprising = [f'{name}: passes, but is expected to fail' for name in expected if results.get(name) == '']
    for line in unexpected + surprising:
        print(line)
    return 1 if (unexpected or surprising) and not options.write else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--mode', choices=OPTIONS, default='graph')
    parser.add_argument('--only', default='')
    parser.add_argument('--expected', type=pathlib.Path)
    parser.add_argument('--write', action='store_true')
    parser.add_argument('--verbose', action='store_true')
    options = parser.parse_args()
    options.expected = options.expected or HERE / f'expected_{options.mode}.txt'
    worker, results = Worker(options.mode, options.verbose), {}
    for name, *case in cases.all_cases():
        if options.only not in name or name in results:
            continue
        results[name] = worker.run((':' not in name, *case))
        if options.verbose:
            print(name, results[name] or 'ok', flush=True)
    worker.close()
    expected = {n: t for n, t in read_expected(options.expected).items() if n in results}
    return report(results, expected, options)


if __name__ == '__main__':
    sys.exit(main())
