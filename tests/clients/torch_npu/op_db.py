"""torch's own table of operators (op_db), each entry on `npu` against the CPU.

    source TOOLKIT/set_env.sh
    python tests/clients/torch_npu/op_db.py [--dtype f32 | f16 | bf16 | i64 | bool | c64] [--gradients]
        [--workers N] [--only PATTERN] [--board FILE] [--accept]

Python needs torch, torch_npu, numpy and expecttest. An entry runs with its first three samples, in a process that is
started anew after a crash. What does not pass stands with a reason in op_db_expected.txt; an entry that fails without
standing there, or passes though it stands there, fails the run. --accept writes the file anew (reasons stay).
"""

import argparse
import fnmatch
import itertools
import json
import os
import pathlib
import re
import select
import signal
import subprocess
import sys
import time

SAMPLES = 3
SECONDS = 60
SECONDS_FOR_MORE = 600  # samples than these
DTYPES = {"f32": "float32", "f16": "float16", "bf16": "bfloat16", "i64": "int64", "bool": "bool", "c64": "complex64"}
TOLERANCE = {"float32": (2e-4, 1e-5), "float16": (5e-3, 5e-3), "bfloat16": (2e-2, 2e-2), "complex64": (2e-4, 1e-5),
             "float64": (1e-4, 1e-6), "complex128": (1e-4, 1e-6)}
EXPECTED = pathlib.Path(__file__).with_name("op_db_expected.txt")

# Random numbers are Philox's on npu: only type, shape and that they are numbers is compared. Nothing says what an
# empty tensor holds.
# Which argument is the dimension of what returns places.
PLACES = {"sort": 0, "argsort": 0, "topk": 1, "kthvalue": 1}
RANDOM = ["bernoulli", "cauchy", "exponential", "geometric", "log_normal", "multinomial", "normal", "normal.*", "rand*",
          "uniform", "nn.functional.*dropout*", "nn.functional.rrelu", "nn.functional.fractional_max_pool*"]
# Arguments that torch wants on the host whatever the device is.
ON_HOST = ["tensor_split"]
# Results that are FLOAT on devices where FLOAT16 and BFLOAT16 are computed so: means and deviations.
STATISTICS = {"native_layer_norm": (1, 2)}
EMPTY = ["empty*", "new_empty*", "empty_*"]


def matches(name, patterns):
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)


# The worker: a process that runs entries by index and writes a line of JSON for each.


class TimeOut(Exception):
    pass


class Wrong(Exception):
    pass


def seconds_for(samples):
    return SECONDS if samples <= SAMPLES else SECONDS_FOR_MORE


class Worker:
    def __init__(self, dtype, gradients, samples):
        import boot  # noqa: F401
        import torch
        from torch.testing._internal.common_methods_invocations import op_db
        from torch.utils._pytree import tree_flatten, tree_map

        self.torch, self.flatten, self.map = torch, tree_flatten, tree_map
        self.dtype, self.gradients, self.samples = getattr(torch, DTYPES[dtype]), gradients, samples
        self.entries, self.names = op_db, []
        for entry in op_db:
            name = entry.name + ("." + entry.variant_test_name if entry.variant_test_name else "")
            same = sum(other.split("#")[0] == name for other in self.names)
            self.names.append(f"{name}#{same + 1}" if same else name)

    def name(self, index):
        entry = self.entries[index]
        return self.names[index]

    def supported(self, entry):
        if self.gradients:
            return entry.supports_autograd and self.dtype in entry.supported_backward_dtypes("cpu")
        return self.dtype in entry.supported_dtypes("cpu")

    def moved(self, tree):
        torch = self.torch

        def move(value):
            if isinstance(value, torch.Tensor):
                there = value.detach().to("npu")
                if value.layout == torch.strided and there.stride() != value.stride() and value.numel() > 0:
                    there = self.strided(value)
                return there.requires_grad_(value.requires_grad)
            if isinstance(value, torch.device):
                return torch.device("npu")
            return "npu" if isinstance(value, str) and value == "cpu" else value

        return self.map(move, tree)

    def strided(self, value):
        if any(stride == 0 for stride in value.stride()):
            return value.detach().to("npu").contiguous()
        there = self.torch.empty_strided(value.size(), value.stride(), dtype=value.dtype, device="npu")
        return there.copy_(value.detach())

    def close(self, ours, theirs, loosely):
        torch = self.torch
        if isinstance(theirs, torch.Tensor):
            if theirs.layout == torch.strided and ours.device.type != "npu" and theirs.device.type == "cpu":
                pass  # What torch keeps on the host is on the host for both.
            ours = ours.detach().cpu()
            if ours.shape != theirs.shape or ours.dtype != theirs.dtype:
                raise Wrong(f"{tuple(ours.shape)} {ours.dtype}, not {tuple(theirs.shape)} {theirs.dtype}")
            if loosely:
                return
            rtol, atol = TOLERANCE.get(str(theirs.dtype).removeprefix("torch."), (0, 0))
            # Sums of many small values differ by what the largest of them are worth.
            if rtol and theirs.numel() and theirs.layout == torch.strided:
                finite = theirs.detach()[torch.isfinite(theirs)].abs()
                atol = max(atol, float(finite.max()) * rtol / 20) if finite.numel() else atol
            try:
                torch.testing.assert_close(ours, theirs.detach(), rtol=rtol, atol=atol, equal_nan=True,
                                           check_stride=False, check_layout=False)
            except AssertionError as error:
                raise Wrong(" ".join(str(error).split())[:200]) from None
        elif isinstance(theirs, (int, float, complex, bool)) and not loosely:
            if not (ours == theirs or abs(ours - theirs) <= 1e-4 * abs(theirs) or (ours != ours and theirs != theirs)):
                raise Wrong(f"{ours}, not {theirs}")

    def outputs(self, tree):
        torch = self.torch
        return [value for value in self.flatten(tree)[0] if isinstance(value, (torch.Tensor, int, float, complex, bool))]

    def gradient(self, outputs, inputs, seed):
        torch = self.torch
        outputs = [value for value in outputs if isinstance(value, torch.Tensor) and value.requires_grad]
        inputs = [value for value in self.flatten(inputs)[0]
                  if isinstance(value, torch.Tensor) and value.requires_grad]
        if not outputs or not inputs:
            return []
        generator = torch.Generator().manual_seed(seed)
        cotangents = []
        for value in outputs:
            made = torch.randn(value.shape, generator=generator, dtype=value.dtype if value.dtype.is_complex
                               else torch.float32).to(value.dtype)
            cotangents.append(made.to(value.device))
        found = torch.autograd.grad(outputs, inputs, cotangents, allow_unused=True)
        return [value for value in found if value is not None]

    def call(self, entry, sample, seed):
        self.torch.manual_seed(seed)
        result = entry.op(sample[0], *sample[1], **sample[2])
        results = self.outputs(result)
        return results + (self.gradient(results, list(sample), seed) if self.gradients else [])

    def one(self, entry, sample, seed, loosely):
        """None, or what came out and a sentence."""
        here = (sample.input, sample.args, sample.kwargs)
        there = self.moved(here) if entry.name not in ON_HOST else (self.moved(sample.input), *here[1:])
        try:
            wanted = self.call(entry, self.map(self.copied, here), seed)
        except TimeOut:
            raise
        except Exception as error:  # noqa: BLE001: what torch's CPU refuses is no case.
            return "unsupported", str(error)[:120]
        try:
            got = self.call(entry, there, seed)
            self.torch.npu.synchronize()
        except TimeOut:
            raise
        except Exception as error:  # noqa: BLE001
            return "refused", self.refusal(error)
        try:
            self.all_close(entry, sample, got, wanted, loosely)
        except Wrong as error:
            if self.as_float_rounded_once(entry, sample, here, got, wanted, seed):
                return None
            again = self.with_other_numbers(entry, self.map(self.copied, here), seed)
            try:
                self.all_close(entry, sample, again, wanted, False)
            except Wrong:  # the CPU's differ from each other too: the sample is random
                loosely = True
            try:
                self.all_close(entry, sample, got, wanted, loosely)
            except Wrong:
                return "wrong", str(error)
        return None

    def as_float_rounded_once(self, entry, sample, here, got, wanted, seed):
        """Whether it is what the CPU computes of the same numbers in FLOAT: in 16 bits it rounds, or overflows, on the way."""
        torch = self.torch
        if self.gradients or self.dtype not in (torch.float16, torch.bfloat16):
            return False

        def wide(value):
            return value.float() if isinstance(value, torch.Tensor) and value.dtype == self.dtype else self.copied(value)

        try:
            exact = self.call(entry, self.map(wide, here), seed)
            exact = [value.to(other.dtype) if isinstance(value, torch.Tensor) else value
                     for value, other in zip(exact, wanted, strict=True)]
            self.all_close(entry, sample, got, exact, False)
        except Exception:  # noqa: BLE001: then the first comparison holds.
            return False
        return True

    def with_other_numbers(self, entry, sample, seed):
        """The same with another seed, whatever seed the entry sets itself."""
        set_seed = self.torch.manual_seed
        set_seed(seed + 1)
        self.torch.manual_seed = lambda _: None
        try:
            return self.call(entry, sample, seed)
        finally:
            self.torch.manual_seed = set_seed

    def all_close(self, entry, sample, got, wanted, loosely):
        if len(got) != len(wanted):
            raise Wrong(f"{len(got)} results, not {len(wanted)}")
        for place, (ours, theirs) in enumerate(zip(got, wanted)):
            if place in STATISTICS.get(entry.name, ()) and ours.dtype == self.torch.float32:
                ours = ours.to(theirs.dtype)
            if entry.name in PLACES and place == len(wanted) - 1 and theirs.dtype == self.torch.int64 and ours.shape == theirs.shape:
                # Equal elements stand in any order: what stands at the places is compared.
                dim = self.dimension(sample, PLACES[entry.name])
                ours, theirs = self.at(sample.input, ours, dim), self.at(sample.input, theirs, dim)
            self.close(ours, theirs, loosely)

    @staticmethod
    def dimension(sample, place):
        if "dim" in sample.kwargs:
            return sample.kwargs["dim"]
        return sample.args[place] if len(sample.args) > place else -1

    @staticmethod
    def at(values, places, dim):
        if values.dim() == 0:
            return places
        places = places.detach().cpu()
        if places.dim() < values.dim():
            places = places.unsqueeze(dim)
        return values.detach().gather(dim, places)

    def copied(self, value):
        if not isinstance(value, self.torch.Tensor):
            return value
        return value.detach().clone().requires_grad_(value.requires_grad)

    @staticmethod
    def refusal(error):
        text = " ".join(str(error).split())
        name = re.search(r"call (aclnn\w+?)(GetWorkspaceSize)? failed|(aclnn\w+?)(GetWorkspaceSize)? (or|not)", text)
        said = re.search(r"\[PID: \d+\] \S+ (.*)", text)
        head = next((group for group in name.groups() if group), "") if name else ""
        return f"{head} | {type(error).__name__}: " + (said.group(1) if said else text)[:300]

    def works(self):
        """Whether the device takes more: a stream on which a task failed takes none."""
        try:
            return bool((self.torch.ones(2, device="npu") + 1).cpu().sum() == 4)
        except Exception:  # noqa: BLE001
            return False

    def run(self, index):
        entry = self.entries[index]
        if not self.supported(entry):
            return {"outcome": "unsupported", "note": "torch's CPU"}
        name = self.name(index)
        loosely = matches(name, RANDOM) or matches(name, EMPTY)
        self.torch.manual_seed(index)
        ran, note = 0, ""
        samples = entry.sample_inputs("cpu", self.dtype, requires_grad=self.gradients)
        for number, sample in enumerate(itertools.islice(samples, self.samples)):
            found = self.one(entry, sample, index, loosely)
            if found is None:
                ran += 1
            elif found[0] != "unsupported":
                return {"outcome": found[0], "note": found[1], "sample": number}
            else:
                note = found[1]
        return {"outcome": "passes"} if ran else {"outcome": "unsupported", "note": note or "no sample"}

    def serve(self, answers):
        def alarm(*_):
            raise TimeOut

        signal.signal(signal.SIGALRM, alarm)
        print(json.dumps(self.names), file=answers, flush=True)
        for line in sys.stdin:
            index = int(line)
            seconds = seconds_for(self.samples)
            signal.alarm(seconds)
            try:
                answer = self.run(index)
            except TimeOut:
                answer = {"outcome": "crash", "note": f"not done after {seconds} s"}
            except BaseException as error:  # noqa: BLE001
                answer = {"outcome": "refused", "note": "harness: " + self.refusal(error)}
            signal.alarm(0)
            if answer["outcome"] == "refused" and not self.works():
                answer["last"] = True
            print(json.dumps(answer), file=answers, flush=True)


# The driver.


class Process:
    def __init__(self, options):
        command = [sys.executable, __file__, "--worker", "--dtype", options.dtype]
        command += ["--samples", str(options.samples)] + ["--gradients"] * options.gradients
        self.seconds = seconds_for(options.samples) + 30
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, cwd=pathlib.Path(__file__).parent)
        self.index = None
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit("the worker did not start: " + " ".join(command))
        self.names = json.loads(line)

    def ask(self, index):
        self.index, self.until = index, time.monotonic() + self.seconds
        self.process.stdin.write(f"{index}\n".encode())
        self.process.stdin.flush()

    def answer(self):
        line = self.process.stdout.readline()
        if line:
            return json.loads(line)
        code = self.process.wait()
        return {"outcome": "crash", "note": signal.Signals(-code).name if code < 0 else f"exit code {code}"}

    def end(self):
        self.process.kill()
        self.process.wait()


def run(options):
    workers = [Process(options)]
    names = workers[0].names
    waiting = [index for index in range(len(names)) if matches(names[index], options.only)]
    workers += [Process(options) for _ in range(min(options.workers, len(waiting)) - 1)]
    results, again = {}, set()
    while waiting or any(worker.index is not None for worker in workers):
        for worker in workers:
            if worker.index is None and waiting:
                worker.ask(waiting.pop(0))
        busy = {worker.process.stdout: worker for worker in workers if worker.index is not None}
        ready, _, _ = select.select(list(busy), [], [], 1)
        for worker in list(busy.values()):
            if worker.process.stdout in ready:
                answer = worker.answer()
            elif time.monotonic() > worker.until:
                answer = {"outcome": "crash", "note": "hangs"}
            else:
                continue
            # What failed only because an entry before it had broken the stream is tried once more.
            stale = "takes no more work" in answer.get("note", "") and worker.index not in again
            if stale:
                again.add(worker.index)
                waiting.insert(0, worker.index)
            results[names[worker.index]] = answer
            worker.index = None
            if answer["outcome"] == "crash" or answer.pop("last", False) or stale:
                worker.end()
                workers[workers.index(worker)] = Process(options)
    for worker in workers:
        worker.end()
    return results


def read_expected():
    found = {}
    for line in EXPECTED.read_text().splitlines() if EXPECTED.exists() else []:
        if line and not line.startswith("#"):
            column, name, outcome, reason = (line.split(None, 3) + [""])[:4]
            found[column, name] = (outcome, reason)
    return found


# What is said of an entry that did not stand in the file, by what its message holds.
REASONS = [
    (r"(\w+) or \1GetWorkspaceSize not in", r"\1 is missing"),
    (r"there is no operator '(\w+)'", r"the single operator \1 is missing"),
    (r"(aclnn\w+?)(?:GetWorkspaceSize)? failed: (\w+) is (ACL_\w+); this operator takes", r"\1 does not take \3"),
    (r"'(\w+)' \(\w+\): (.*?)(?:\); destroy it|\. Error code)", r"\1: \2"),
    (r"from the '(SparseCsr)npu' backend", r"torch_npu has no kernel for \1"),
    (r"failed: (.*?)\. Error code", r"\1"),
    (r"RuntimeError: (.*?) \[ERROR\]", r"torch_npu: \1"),
]


def reason_of(answer):
    note = answer.get("note", "").strip(" |")
    for pattern, reason in REASONS:
        found = re.search(pattern, note)
        if found:
            return found.expand(reason)[:140]
    return note[:140]


HEAD = """# What does not pass of torch's op_db on npu (op_db.py): column, entry, outcome, reason. Columns are types; +g, with
# gradients.
"""


def write_expected(expected):
    lines = [" ".join((*key, *value)).rstrip() for key, value in sorted(expected.items())]
    EXPECTED.write_text(HEAD + "\n".join(lines) + "\n")


def judge(options, results):
    column = options.dtype + ("+g" if options.gradients else "")
    expected = read_expected()
    bad = 0
    for name, answer in sorted(results.items()):
        outcome = answer["outcome"]
        was = expected.get((column, name), ("passes", ""))
        if outcome == "unsupported" or outcome == was[0]:
            continue
        bad += 1
        print(f"{column} {name}: {outcome}, not {was[0]}: {answer.get('note', '')}")
        if options.accept and outcome == "passes":
            del expected[column, name]
        elif options.accept:
            expected[column, name] = (outcome, reason_of(answer))
    if options.accept:
        write_expected(expected)
    count = {kind: sum(answer["outcome"] == kind for answer in results.values())
             for kind in ("passes", "wrong", "refused", "crash", "unsupported")}
    supported = len(results) - count["unsupported"]
    print(f"{column}: {count['passes']} of {supported} pass; " + ", ".join(f"{n} {k}" for k, n in count.items()))
    return bad == 0 or options.accept


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dtype", default="f32", choices=DTYPES)
    parser.add_argument("--gradients", action="store_true")
    parser.add_argument("--samples", type=int, default=SAMPLES, help="of each entry; op_db_expected.txt is for %(default)s")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--only", nargs="*", default=["*"])
    parser.add_argument("--board")
    parser.add_argument("--accept", action="store_true")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        # Libraries write where they like: answers have a pipe of their own.
        answers = os.fdopen(os.dup(1), "w")
        os.dup2(2, 1)
        Worker(options.dtype, options.gradients, options.samples).serve(answers)
        return 0
    results = run(options)
    if options.board:
        with open(options.board, "w") as board:
            for name, answer in sorted(results.items()):
                board.write(json.dumps({"entry": name, **answer}) + "\n")
    return 0 if judge(options, results) else 1


if __name__ == "__main__":
    sys.exit(main())
