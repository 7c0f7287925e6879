"""What programs of several ranks have in common: each case named on the command line (all without names), on every rank."""

import os
import sys
import traceback

import torch
import torch.distributed as dist

RANK = int(os.environ["RANK"])
RANKS = int(os.environ["WORLD_SIZE"])


def run_cases(cases, backend, run):
    """`run` takes a case; its name is said once it has passed. The exit code."""
    unknown = set(sys.argv[1:]) - {case.__name__ for case in cases}
    if unknown:
        raise SystemExit(f"no such case: {' '.join(unknown)}")
    torch.npu.set_device(int(os.environ["LOCAL_RANK"]) % torch.npu.device_count())
    dist.init_process_group(backend)
    failed = False
    for case in cases:
        if len(sys.argv) > 1 and case.__name__ not in sys.argv[1:]:
            continue
        try:
            run(case)
            if RANK == 0:
                print(case.__name__, flush=True)
        except Exception:
            print(f"{case.__name__} on rank {RANK}:\n{traceback.format_exc()}", file=sys.stderr, flush=True)
            failed = True
    dist.destroy_process_group()
    return 1 if failed else 0
