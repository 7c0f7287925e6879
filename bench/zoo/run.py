"""The zoo's runner: each model through aclmdlExecute, onnxruntime and OpenVINO in turn, on one core or two.

    run.py [PATTERN] [--networks FOLDER] [--drawn N] [--seed S] [--cores N] [--half] [--json FILE] [--against FILE] [--rounds N]

Without --networks the models are single operators, those of cases.py or with --drawn such as nobody chose (drawn.py), with it
whole networks (networks/). On one core, times are seconds of the processor (of all threads of the process), on several those of
the clock, where an engine's turn begins when the threads of the one before sleep; the least of several rounds in which the
engines take turns, so that other work on the machine hardly shows. Results are compared with onnxruntime's. Each model has
a process of its own. The board is sorted by ratio; for a network that is slower than a peer it names the node that takes most.
"""
from __future__ import annotations

import argparse
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
import drawn
import engines
import networks
from networks import half

ROUND = 1.5e-3  # seconds of processor time that a round takes at least
MIXED = 0.1     # how far results may differ, of the largest element, where products are of bf16
HALF = 0.05     # the same where values are FLOAT16, which the peers compute as FLOAT throughout
SLOW = 1.15     # times a peer's time
QUIET = 0.06    # seconds after which the threads of a pool that has nothing to do have stopped looking for work
WARM = 8e-3     # seconds after which a core that slept is as fast as it gets


def seconds(run, times, clock):
    begin = clock()
    for _ in range(times):
        run()
    return (clock() - begin) / times


def turn(run, times, clock, cores):
    """Seconds of a run, in a turn of its own: the peers' threads go on looking for work for a while, on cores that it needs."""
    if cores > 1:
        time.sleep(QUIET)
        warm = time.perf_counter() + WARM
        while time.perf_counter() < warm:
            run()
    return seconds(run, times, clock)


def repeats(run, clock):
    run()
    once = max(seconds(run, 2, clock), 1e-6)
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


def measure(home, case, options):
    """One model's row."""
    clock = time.process_time if options.cores == 1 else time.perf_counter
    if options.half:
        case.model, case.feeds = half.half_of(case.model, case.feeds)
    results, onnxruntime = engines.onnxruntime_of(case, options.cores)
    runs = {'us': None, 'onnxruntime': onnxruntime}
    row = {}
    if options.openvino:
        try:
            runs['openvino'] = engines.openvino_of(case, options.cores, 'bf16' if options.mixed else 'f32')
        except RuntimeError as error:  # a peer may lack what the others have
            row['openvino_error'] = str(error).strip().splitlines()[-1][:200]
    belay = engines.Belay(home / 'lib64', home / 'bin' / 'atc')
    with tempfile.TemporaryDirectory() as folder:
        om = belay.compiled(case.model, folder, 'allow_mix_precision' if options.mixed else 'must_keep_origin_dtype')
        network = engines.Network(belay, om, results)
        network.feed(case.feeds)
        network.run()
        worst = max(difference(network.result(i, r), r) for i, r in enumerate(results))
        runs['us'] = network.run
        times = {name: repeats(run, clock) for name, run in runs.items()}
        taken = defaultdict(list)
        for _ in range(options.rounds):
            for name, run in runs.items():
                taken[name].append(turn(run, times[name], clock, options.cores))
        network.close()
        row |= {name: min(values) * 1e6 for name, values in taken.items()}
        row |= {'difference': worst, 'wrong': bool(worst > (MIXED if options.mixed else HALF if options.half else case.tolerance))}
        row['ratio'] = row['us'] / row['onnxruntime']
        if 'openvino' in row:
            row['ratio_openvino'] = row['us'] / row['openvino']
        if options.networks and max(row['ratio'], row.get('ratio_openvino', 0)) > SLOW:
            row['blame'] = blame(home, Path(folder) / 'case.om')
    return row


def blame(home, om):
    """The kind of node that takes most of the time, with its share."""
    shares, tool = defaultdict(float), home / 'libexec' / 'belay-graph'
    tool = tool if tool.exists() else home / 'bin' / 'belay-graph'
    done = subprocess.run([tool, '--run', '--runs', '3', om], capture_output=True, text=True)
    for line in done.stdout.splitlines():
        columns = re.split(r'\s{2,}', line.strip())
        share = next((c for c in columns if re.fullmatch(r'\d+\.\d %', c)), None)
        if columns[0].isdigit() and share:
            kind = columns[2] if re.match(r'^\d+( \d+)*$', columns[1]) else columns[1]
            shares[kind] += float(share.rstrip(' %'))
    return ', '.join(f'{kind} {share:.0f} %' for kind, share in sorted(shares.items(), key=lambda s: -s[1])[:3])


def in_a_process(function):
    """What a function gives in a child, so that a model that ends its process ends nothing else."""
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        os.close(reader)
        try:
            row = function()
        except Exception as error:  # the board goes on: what is not there is a line of it
            row = {'error': f'{type(error).__name__}: {error}'}
        with os.fdopen(writer, 'w') as pipe:
            json.dump(row, pipe)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        text = pipe.read()
    _, status = os.waitpid(child, 0)
    return json.loads(text) if text else {'error': f'ended by {os.waitstatus_to_exitcode(status)}'}


def mean_of(ratios):
    return float(np.exp(np.mean(np.log(ratios)))) if ratios else float('nan')


def board(rows, before):
    classes = defaultdict(list)
    print(f'{"x onnxr.":>8} {"before":>7} {"x openv.":>8} {"us":>9} {"onnxruntime":>11} {"differs":>8}  case')
    for name, row in sorted(rows.items(), key=lambda item: -item[1].get('ratio', 0)):
        if 'ratio' not in row:
            continue
        old, openvino = before.get(name, {}).get('ratio'), row.get('ratio_openvino')
        classes[name.split('/')[0]].append((row['ratio'], old, openvino))
        print(f'{row["ratio"]:8.2f} {"" if old is None else f"{old:.2f}":>7} {"" if openvino is None else f"{openvino:.2f}":>8} '
              f'{row["us"]:9.1f} {row["onnxruntime"]:11.1f} {row["difference"]:8.0e}  {name}'
              f'{"  WRONG" if row["wrong"] else ""}{"  " + row["blame"] if "blame" in row else ""}')
    for name, row in rows.items():
        if 'error' in row:
            print(f'not run: {name}: {(row["error"].splitlines() or [""])[-1][:150]}')
    print(f'\n{"class":14} {"cases":>6} {"x onnxruntime":>14} {"before":>8} {"above 1.15":>11} {"worst":>7} {"x OpenVINO":>11} '
          f'{"above 1.3":>10}')
    everything = [r for rs in classes.values() for r in rs]
    for name, ratios in [*classes.items(), ('all', everything)]:
        now, old, openvino = ([r[i] for r in ratios if r[i] is not None] for i in range(3))
        if now:
            print(f'{name:14} {len(now):6} {mean_of(now):14.2f} {mean_of(old):8.2f} {sum(r > SLOW for r in now):11} '
                  f'{max(now):7.1f} {mean_of(openvino):11.2f} {sum(r > 1.3 for r in openvino):10}')


def models_of(options):
    """Names, each with a function that gives the model."""
    if options.networks:
        return networks.all_networks(options.pattern, options.networks)
    operators = drawn.drawn_cases(options.seed, options.drawn) if options.drawn else cases.all_cases()
    return ((c.name, lambda c=c: c) for c in operators if re.search(options.pattern, c.name))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('pattern', nargs='?', default='')
    parser.add_argument('--networks', metavar='FOLDER', help='whole networks, exported into this folder once')
    parser.add_argument('--drawn', type=int, default=0, metavar='N', help='operators at random, N rounds over their classes')
    parser.add_argument('--seed', type=int, default=1, help='which ones; the same seed draws the same')
    parser.add_argument('--cores', type=int, default=1)
    parser.add_argument('--mixed', action='store_true', help='precision_mode=allow_mix_precision, beside OpenVINO in bf16')
    parser.add_argument('--half', action='store_true', help='models stored as FLOAT16, inputs and results too')
    parser.add_argument('--openvino', action='store_true', help='OpenVINO beside')
    parser.add_argument('--json', help='where to keep the rows; rows of the file stay where the pattern leaves them out')
    parser.add_argument('--against', help='rows of an earlier run, shown beside')
    parser.add_argument('--rounds', type=int, default=5)
    parser.add_argument('--build', default='', help='a build folder instead of the toolkit of set_env.sh')
    options = parser.parse_args()
    os.environ['BELAY_WORKERS'] = str(options.cores)
    os.sched_setaffinity(0, set(sorted(os.sched_getaffinity(0))[:options.cores]))  # also of threads that are made later
    home = Path(options.build or os.environ['ASCEND_TOOLKIT_HOME'])
    rows = json.loads(Path(options.json).read_text()) if options.json and Path(options.json).exists() else {}
    for name, model in models_of(options):
        rows[name] = in_a_process(lambda: measure(home, model(), options))
        print(name, json.dumps(rows[name])[:200], file=sys.stderr)
        if options.json:
            Path(options.json).write_text(json.dumps(rows, indent=1))
    before = json.loads(Path(options.against).read_text()) if options.against else {}
    board({n: r for n, r in rows.items() if re.search(options.pattern, n)}, before)
    sys.exit(any(r.get('wrong') for r in rows.values()))


if __name__ == '__main__':
    main()
