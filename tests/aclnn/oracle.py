#!/usr/bin/env python3
"""Runs the tables of functions against what is installed, and says what differs from numpy.

  oracle.py FAMILY...    the cases and the documented errors of these families (or `all`)
  oracle.py refusals     calls that one function alone must refuse
  oracle.py listed       the element types that pages list
  oracle.py aliases      every function with results on its operands
  oracle.py doors        the operators of graphs that are those of the functions under other names
  oracle.py mutations [FAMILY...]   calls that are almost right: whatever comes of them, nothing breaks; `doors` is a family, too
  oracle.py memory       every function while memory is short (short_memory.cc is preloaded)
  oracle.py coverage     every function of include/aclnnop is in a table or in EXCEPTIONS

BELAY_SEED chooses other cases, BELAY_TIMES how many times as many (0.5: half of them), BELAY_ONLY the functions, BELAY_CASE one mutation
of each.
"""
import os
import sys
import zlib

try:
    import numpy as np
except ImportError:
    print('skipped: numpy is not installed (python3-numpy)')
    sys.exit(77)

import aliases
import attention
import binding
import cases
import chosen
import doors
import draws
import elementwise
import errors
import experts
import foreach
import forms
import gradient
import index
import latent
import layout
import linear
import listed
import loss
import mutated_doors
import mutations
import native_sparse
import normal
import optimiser
import pixel
import quant
import recurrent
import reduce
import refusals
import serving
import short_memory
from values import Random

FAMILIES = {m.TABLE.family: m.TABLE for m in (elementwise, reduce, linear, attention, normal, index, layout, pixel,
                                   gradient, loss, draws, foreach, recurrent, experts, quant, serving, optimiser, chosen,
                                   native_sparse, latent)}

TIMES = 24  # cases for each function
ALIASED_TIMES = 3  # those that are called in every placing
SHORT_TIMES = 1  # those that are called with every allocation failing
DOOR_TIMES = 4
MUTATED_TIMES = 3

# Functions that no table can hold, and why.
_RANKS = 'need a group of ranks: tests/conformance/hccl/fused_test.cc'
_EXPERTS = 'need a group of ranks: tests/conformance/hccl/experts_test.cc'
EXCEPTIONS: dict[str, str] = {
    'MatmulAllReduce': _RANKS, 'MatmulAllReduceV2': _RANKS, 'MatmulReduceScatter': _RANKS, 'AllGatherMatmul': _RANKS,
    'MoeDistributeDispatch': _EXPERTS, 'MoeDistributeDispatchV2': _EXPERTS, 'MoeDistributeCombine': _EXPERTS, 'MoeDistributeCombineV2': _EXPERTS}


def generator(seed: int, name: str, number: int) -> np.random.Generator:
    """Depends on nothing but these, so that one case can be run again alone."""
    return np.random.default_rng([seed, zlib.crc32(name.encode()), number])


def open_device(kind: type = binding.Device) -> binding.Device:
    device = binding.open_device(kind)
    elementwise.KINDS.update({n: [a.type for a in s] for n, s in device.signatures.items()})
    return device


def run_function(device, row, form, seed: int, times: int) -> list[str]:
    failures = []
    for number in range(times):
        rng = generator(seed, row.name, number)
        try:
            case = row.make(Random(rng), form)
            if form.images and rng.random() < 0.4:
                case = cases.with_channels_last(case, form)
            cases.check(device, row.name, case, rng)
        except cases.Failure as failure:
            failures.append(f'case {number}: {failure}')
        except Exception as fault:  # so that a mistake in one row does not hide what others find
            failures.append(f'case {number}: the table itself: {type(fault).__name__}: {fault}')
    rng = generator(seed, row.name, times)
    try:
        return failures + errors.check(device, row, form, row.make(Random(rng, empty=0), form), rng)
    except Exception as fault:
        return failures + [f'errors: the table itself: {type(fault).__name__}: {fault}']


def run_aliases(device, row, form, seed: int, times: int) -> list[str]:
    return aliases.check(device, row, form, lambda number: generator(seed, row.name, number), times)


def run_short(device, row, form, seed: int, times: int) -> list[str]:
    return short_memory.check_function(device, row, form, lambda number: generator(seed, row.name, number), times)


def run_listed(device, row, form, seed: int, times: int) -> list[str]:
    return listed.check(device, row, form, lambda number: generator(seed, row.name, number)) if row.name in listed.LISTED else []


def run_families(names: list[str], run=run_function, times: int = TIMES) -> int:
    seed = int(os.environ.get('BELAY_SEED', '20260101'))
    times = max(1, round(times * float(os.environ.get('BELAY_TIMES', '1'))))
    only = os.environ.get('BELAY_ONLY', '').split()
    known = forms.read_forms()
    device = open_device()
    failed, calls = 0, 0
    for row in (row for name in names for row in FAMILIES[name].rows.values()):
        if only and row.name not in only:
            continue
        failures = run(device, row, known[row.name], seed, times)
        calls += times
        failed += bool(failures)
        for failure in failures[:3]:
            print(f'{row.name}: {failure}')
        if len(failures) > 3:
            print(f'{row.name}: {len(failures) - 3} more')
    device.close()
    print(f'{calls} calls, {failed} functions failed; BELAY_SEED={seed}')
    return int(failed > 0)


def run_refusals() -> int:
    device = binding.open_device()
    failures = refusals.check(device, np.random.default_rng(1))
    device.close()
    for failure in failures:
        print(failure)
    print(f'{len(refusals.CALLS + refusals.NULLS + refusals.TASKS)} calls, {len(failures)} were not refused as they should be')
    return int(bool(failures))


def run_doors() -> int:
    seed = int(os.environ.get('BELAY_SEED', '20260101'))
    tables = {name: row for table in FAMILIES.values() for name, row in table.rows.items()}
    device = open_device()
    failures, ran, without = doors.check(device, tables, lambda name, number: generator(seed, name, number), DOOR_TIMES)
    device.close()
    for failure in failures[:40]:
        print(failure)
    print(f'{ran} nodes, {len(failures)} failed; BELAY_SEED={seed}; no case for: {", ".join(without) or "none"}')
    return int(bool(failures) or bool(without))


def run_mutations(names: list[str]) -> int:
    seed, only, known = int(os.environ.get('BELAY_SEED', '20260101')), os.environ.get('BELAY_ONLY', '').split(), forms.read_forms()
    numbers = range(MUTATED_TIMES * int(os.environ.get('BELAY_TIMES', '1')))
    if 'BELAY_CASE' in os.environ:
        numbers = [int(os.environ['BELAY_CASE'])]
    rows = [row for name in names if name != 'doors' for row in FAMILIES[name].rows.values() if not only or row.name in only]
    work = [(row.name, number, mutations.function(row, known[row.name])) for row in rows for number in numbers]
    if 'doors' in names:
        tables = {name: row for table in FAMILIES.values() for name, row in table.rows.items()}
        work += [(kind, number, body) for kind, body in mutated_doors.bodies(tables) for number in numbers if not only or kind in only]
    failed = mutations.check(work, open_device, lambda name, number: generator(seed, name, number))
    print(f'{len(work)} calls, {failed} failed; BELAY_SEED={seed}')
    return int(failed > 0)


def check_coverage() -> int:
    declared = set(binding.read_signatures(binding.headers()))
    held = {name for table in FAMILIES.values() for name in table.rows}
    for name in sorted(declared - held - set(EXCEPTIONS)):
        print(f'aclnn{name} is in no table of tests/aclnn and not in EXCEPTIONS')
    for name in sorted((held | set(EXCEPTIONS)) - declared):
        print(f'aclnn{name} is in tests/aclnn, but include/aclnnop does not declare it')
    for name in sorted(held & set(EXCEPTIONS)):
        print(f'aclnn{name} is in a table and in EXCEPTIONS')
    print(f'{len(held)} of {len(declared)} functions are in a table')
    return int(held | set(EXCEPTIONS) != declared or bool(held & set(EXCEPTIONS)))


if __name__ == '__main__':
    if sys.argv[1:] == ['coverage']:
        sys.exit(check_coverage())
    if sys.argv[1:] == ['doors']:
        sys.exit(run_doors())
    if sys.argv[1:] == ['refusals']:
        sys.exit(run_refusals())
    if sys.argv[1:2] == ['mutations']:
        sys.exit(run_mutations(sys.argv[2:] or [*FAMILIES, 'doors']))
    if sys.argv[1:] == ['memory']:
        sys.exit(run_families(list(FAMILIES), run_short, SHORT_TIMES))
    if sys.argv[1:] == ['listed']:
        sys.exit(run_families(list(FAMILIES), run_listed, 1))
    if sys.argv[1:] == ['aliases']:
        sys.exit(run_families(list(FAMILIES), run_aliases, ALIASED_TIMES))
    sys.exit(run_families(list(FAMILIES) if sys.argv[1:] == ['all'] else sys.argv[1:]))
