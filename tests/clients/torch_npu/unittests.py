"""Runs files of unittest on `npu`, such as those of the op-plugin project (BSD-3), each in a process of its own that has
torch and torch_npu already:

    python unittests.py [--workers 2] [--seconds 120] [--logs FOLDER] FILE...

A line for each file: whether all of its tests that ran have passed, how many ran and were skipped, and the first that did not
pass. The exit status is 1 when one did not."""
import argparse
import importlib.util
import json
import os
import pathlib
import signal
import sys
import tempfile
import traceback
import unittest

import boot  # noqa: F401
import torch_npu.testing.common_utils  # noqa: F401
import torch_npu.testing.testcase  # noqa: F401


def results_of(path: pathlib.Path) -> dict:
    sys.argv = [str(path)]
    sys.path.insert(0, str(path.parent))
    os.chdir(path.parent)
    try:
        spec = importlib.util.spec_from_file_location(path.stem, path)
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module
        spec.loader.exec_module(module)
        result = unittest.TextTestRunner(verbosity=2).run(unittest.defaultTestLoader.loadTestsFromModule(module))
    except BaseException as error:  # also what ends a program
        traceback.print_exc()
        return {'ran': 0, 'skipped': 0, 'bad': [f'the file: {error!r}']}
    bad = [f'{test.id().split(".")[-1]}: {text.strip().splitlines()[-1].strip()}'
           for test, text in result.failures + result.errors]
    return {'ran': result.testsRun, 'skipped': len(result.skipped), 'bad': bad}


def start(path: pathlib.Path, log: pathlib.Path, seconds: int) -> tuple[int, int]:
    """The process and where it tells what came of the file."""
    told, tell = os.pipe()
    child = os.fork()
    if child != 0:
        os.close(tell)
        return child, told
    os.close(told)
    output = os.open(log, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o644)
    os.dup2(output, 1)
    os.dup2(output, 2)
    signal.alarm(seconds)
    os.write(tell, json.dumps(results_of(path)).encode())
    sys.stdout.flush()
    os._exit(0)


def finish(told: int, status: int) -> dict:
    with os.fdopen(told, 'rb') as pipe:
        text = pipe.read()
    if text:
        return json.loads(text)
    how = f'signal {os.WTERMSIG(status)}' if os.WIFSIGNALED(status) else f'status {os.WEXITSTATUS(status)}'
    return {'ran': 0, 'skipped': 0, 'bad': [f'the process: {how}']}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('files', nargs='+', type=lambda name: pathlib.Path(name).resolve())
    parser.add_argument('--workers', type=int, default=2)
    parser.add_argument('--seconds', type=int, default=120, help='a file may take')
    parser.add_argument('--logs', type=pathlib.Path, help='what the files print; a temporary folder otherwise')
    options = parser.parse_args()
    logs = (options.logs or pathlib.Path(tempfile.mkdtemp())).resolve()
    logs.mkdir(parents=True, exist_ok=True)
    todo, running, failed = list(options.files), {}, 0
    while todo or running:
        while todo and len(running) < options.workers:
            path = todo.pop(0)
            child, told = start(path, logs / f'{path.parent.name}-{path.stem}.log', options.seconds)
            running[child] = (path, told)
        child, status = os.wait()
        path, told = running.pop(child)
        result = finish(told, status)
        failed += bool(result['bad'])
        print('failed' if result['bad'] else 'passed', f'{path.parent.name}/{path.name}', f'ran {result["ran"]},',
              f'skipped {result["skipped"]}', *(f'| {line}' for line in result['bad'][:1]), flush=True)
    print(f'{len(options.files) - failed} of {len(options.files)} files pass; logs in {logs}')
    return failed != 0


if __name__ == '__main__':
    sys.exit(main())
