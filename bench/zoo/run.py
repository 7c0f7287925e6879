"""The zoo's runner: each case through aclmdlExecute and through onnxruntime, in turn, on one core.

    run.py [PATTERN] [--json FILE] [--against FILE] [--rounds N]

Times are seconds of the processor (of all threads of the process), the least of several rounds in which the two
take turns: other work on the machine hardly shows. Results are compared. The board is sorted by ratio.
"""
from __future__ import annotations

import argparse
import ctypes
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path

import numpy as np

import cases

ROUND = 1.5e-3  # seconds of processor time that a round takes at least


class Belay:
    """Device 0, with the libraries of the environment's toolkit or of a build folder."""

    def __init__(self, lib64, atc):
        self.lib, self.atc = ctypes.CDLL(str(lib64 / 'libascendcl.so'), ctypes.RTLD_GLOBAL), atc
        for name in ('aclGetRecentErrMsg',):
            getattr(self.lib, name).restype = ctypes.c_char_p
        for name in ('aclmdlCreateDesc', 'aclmdlCreateDataset', 'aclCreateDataBuffer', 'aclmdlGetDatasetBuffer'):
            getattr(self.lib, name).restype = ctypes.c_void_p
        for name in ('aclmdlGetInputSizeByIndex', 'aclmdlGetOutputSizeByIndex', 'aclmdlGetNumInputs', 'aclmdlGetNumOutputs'):
            getattr(self.lib, name).restype = ctypes.c_size_t
        self.check(self.lib.aclInit(None))
        self.check(self.lib.aclrtSetDevice(0))

    def check(self, code):
        if code:
            raise RuntimeError((self.lib.aclGetRecentErrMsg() or str(code).encode()).decode())

    def compiled(self, onnx_bytes, folder):
        source, target = Path(folder) / 'case.onnx', Path(folder) / 'case'
        source.write_bytes(onnx_bytes)
        done = subprocess.run([self.atc, '--framework=5', f'--model={source}', f'--output={target}',
                               '--soc_version=Ascend910B3'], capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError((done.stderr or done.stdout).strip())
        return target.with_suffix('.om').read_bytes()


class Network:
    """A loaded model with memory for what it reads and writes."""

    def __init__(self, belay, om, results):
        self.belay, self.lib, self.id = belay, belay.lib, ctypes.c_uint32()
        belay.check(self.lib.aclmdlLoadFromMem(om, ctypes.c_size_t(len(om)), ctypes.byref(self.id)))
        self.desc = ctypes.c_void_p(self.lib.aclmdlCreateDesc())
        belay.check(self.lib.aclmdlGetDesc(self.desc, self.id))
        self.blocks = []
        sizes = [self.lib.aclmdlGetInputSizeByIndex(self.desc, ctypes.c_size_t(i))
                 for i in range(self.lib.aclmdlGetNumInputs(self.desc))]
        self.inputs = self.dataset(sizes)
        # A size that the model does not know is 0; what the peer gave fits.
        sizes = [self.lib.aclmdlGetOutputSizeByIndex(self.desc, ctypes.c_size_t(i)) or r.nbytes
                 for i, r in enumerate(results)]
        self.outputs = self.dataset(sizes)

    def dataset(self, sizes):
        data = ctypes.c_void_p(self.lib.aclmdlCreateDataset())
        for bytes_of in sizes:
            at = ctypes.c_void_p()
            self.belay.check(self.lib.aclrtMalloc(ctypes.byref(at), ctypes.c_size_t(max(bytes_of, 1)), 0))
            buffer = ctypes.c_void_p(self.lib.aclCreateDataBuffer(at, ctypes.c_size_t(bytes_of)))
            self.belay.check(self.lib.aclmdlAddDatasetBuffer(data, buffer))
            self.blocks.append((at, bytes_of))
        return data

    def feed(self, feeds):
        """Inputs lie in memory of the device, which is the host's: what is copied is the array."""
        for name, array in feeds.items():
            at = ctypes.c_size_t()
            self.belay.check(self.lib.aclmdlGetInputIndexByName(self.desc, name.encode(), ctypes.byref(at)))
            block, size = self.blocks[at.value]
            array = np.ascontiguousarray(array)
            assert array.nbytes == size, (name, array.nbytes, size)
            self.belay.check(self.lib.aclrtMemcpy(block, ctypes.c_size_t(size), array.ctypes.data_as(ctypes.c_void_p),
                                                  ctypes.c_size_t(size), 1))

    def run(self):
        self.belay.check(self.lib.aclmdlExecute(self.id, self.inputs, self.outputs))

    def result(self, i, like):
        block, size = self.blocks[len(self.blocks) - self.lib.aclmdlGetNumOutputs(self.desc) + i]
        if size < like.nbytes:
            raise RuntimeError(f'result {i} has {size} bytes instead of {like.nbytes}')
        array = np.empty(like.shape, like.dtype)
        self.belay.check(self.lib.aclrtMemcpy(array.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(array.nbytes), block,
                                              ctypes.c_size_t(array.nbytes), 2))
        return array

    def close(self):
        self.lib.aclmdlUnload(self.id)
        for block, _ in self.blocks:
            self.lib.aclrtFree(block)


def peer_of(case):
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(case.model, options, providers=['CPUExecutionProvider'])
    results = session.run(None, case.feeds)
    binding = session.io_binding()
    for name, array in case.feeds.items():
        binding.bind_ortvalue_input(name, onnxruntime.OrtValue.ortvalue_from_numpy(np.ascontiguousarray(array)))
    for output, array in zip(session.get_outputs(), results):
        binding.bind_ortvalue_output(output.name, onnxruntime.OrtValue.ortvalue_from_numpy(np.ascontiguousarray(array)))
    return results, lambda: session.run_with_iobinding(binding)


def seconds(run, times):
    begin = time.process_time()
    for _ in range(times):
        run()
    return (time.process_time() - begin) / times


def repeats(run):
    run()
    once = max(seconds(run, 2), 1e-6)
    return max(1, min(2000, int(ROUND / once)))


def difference(mine, theirs):
    """Of the largest size of a result; NaN and infinities stand where the peer has them."""
    if theirs.dtype.kind not in 'fc':
        return float(np.mean(mine != theirs)) if theirs.size else 0.0
    mine, theirs = mine.astype(np.float64), theirs.astype(np.float64)
    if not np.array_equal(np.isfinite(mine), np.isfinite(theirs)):
        return float('inf')
    finite = np.isfinite(theirs)
    if not finite.any():
        return 0.0
    return float(np.max(np.abs(mine[finite] - theirs[finite])) / max(np.max(np.abs(theirs[finite])), 1e-30))


def measure(belay, case, folder, rounds):
    results, peer = peer_of(case)
    network = Network(belay, belay.compiled(case.model, folder), results)
    try:
        network.feed(case.feeds)
        network.run()
        worst = max(difference(network.result(i, r), r) for i, r in enumerate(results))
        mine_times, peer_times = repeats(network.run), repeats(peer)
        mine, theirs = [], []
        for _ in range(rounds):
            mine.append(seconds(network.run, mine_times))
            theirs.append(seconds(peer, peer_times))
        return {'us': min(mine) * 1e6, 'peer_us': min(theirs) * 1e6, 'difference': worst,
                'wrong': bool(worst > case.tolerance)}
    finally:
        network.close()


def mean_of(ratios):
    return float(np.exp(np.mean(np.log(ratios)))) if ratios else float('nan')


def board(rows, before):
    classes = defaultdict(list)
    print(f'{"ratio":>8} {"before":>8} {"us":>9} {"peer us":>9} {"differs":>8}  case')
    for name, row in sorted(rows.items(), key=lambda item: -item[1].get('ratio', 0)):
        if 'ratio' not in row:
            continue
        classes[name.split('/')[0]].append((row['ratio'], before.get(name, {}).get('ratio')))
        old = before.get(name, {}).get('ratio')
        print(f'{row["ratio"]:8.2f} {"" if old is None else f"{old:.2f}":>8} {row["us"]:9.1f} {row["peer_us"]:9.1f} '
              f'{row["difference"]:8.0e}  {name}{"  WRONG" if row["wrong"] else ""}')
    for name, row in rows.items():
        if 'error' in row:
            print(f'not run: {name}: {row["error"].splitlines()[0][:150]}')
    print(f'\n{"class":12} {"cases":>6} {"x onnxruntime":>14} {"before":>8} {"above 1.15":>11} {"worst":>7}')
    everything = [r for rs in classes.values() for r in rs]
    for name, ratios in [*classes.items(), ('all', everything)]:
        now, old = [r for r, _ in ratios], [o for _, o in ratios if o is not None]
        print(f'{name:12} {len(now):6} {mean_of(now):14.2f} {mean_of(old):8.2f} {sum(r > 1.15 for r in now):11} {max(now):7.1f}')


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('pattern', nargs='?', default='')
    parser.add_argument('--json', help='where to keep the rows; rows of the file stay where the pattern leaves them out')
    parser.add_argument('--against', help='rows of an earlier run, shown beside')
    parser.add_argument('--rounds', type=int, default=5)
    parser.add_argument('--build', default='', help='a build folder instead of the toolkit of set_env.sh')
    options = parser.parse_args()
    os.environ['BELAY_WORKERS'] = '1'
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})  # also of the threads that are made later
    home = Path(options.build or os.environ['ASCEND_TOOLKIT_HOME'])
    atc = home / 'bin' / 'atc'
    belay = Belay(home / 'lib64', atc)
    rows = json.loads(Path(options.json).read_text()) if options.json and Path(options.json).exists() else {}
    with tempfile.TemporaryDirectory() as folder:
        for case in cases.all_cases():
            if not re.search(options.pattern, case.name):
                continue
            try:
                row = measure(belay, case, folder, options.rounds)
                row['ratio'] = row['us'] / row['peer_us']
            except Exception as error:  # the board goes on: what is not there is a line of it
                row = {'error': f'{type(error).__name__}: {error}'}
            rows[case.name] = row
            print(case.name, json.dumps(row)[:200], file=sys.stderr)
    if options.json:
        Path(options.json).write_text(json.dumps(rows, indent=1))
    before = json.loads(Path(options.against).read_text()) if options.against else {}
    board({n: r for n, r in rows.items() if re.search(options.pattern, n)}, before)
    sys.exit(any(r.get('wrong') for r in rows.values()))


if __name__ == '__main__':
    main()
