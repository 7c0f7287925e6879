#!/usr/bin/env python3
"""The programs of the kept set that lose a wait, under belay explore: it finds an order that makes a difference, gives
it again by its seed, and finds none in the mended twins.

    explore.py [--runs N] [--repeat N] BELAY PROGRAM [NAME...]
"""
import argparse
import concurrent.futures
import os
import re
import subprocess
import sys
import tempfile

# Of which every order leaves the same, and why.
NO_DIFFERENCE = {
    "TheHostReadsBeforeTheCollectiveIsOver": "the other rank comes after the load",
    "WhatFollowsACollectiveInAGraphIsNotAwaited": "what follows it in a launch keeps its order here",
    "OneModelOnTwoStreams": "both launches write the same",
    "ALoadedModelOnTwoStreams": "its executions take turns here",
    "ALoadedModelByTwoCalls": "its executions take turns here",
    "TwoThreadsExecuteOneModel": "its executions take turns here",
    "TwoModelsShareWorkMemory": "one launch at a time",
    "TheWorkMemoryOfAModelIsFilled": "nothing of an execution is left there",
    "ARecordInAModelComesTooEarly": "a launch is one task",
    "ARecordInAModelTellsOfOneBuffer": "a launch is one task",
    "ARecordInAModelIsWaitedForBeforeItsLaunch": "both launches write the same",
    "TheHostReadsBehindARecordInAModel": "a launch is one task",
    "TheHostAsksForARecordInAModelAndGoesOn": "a launch is one task",
    "WeightsAreFilledUnderTwoModels": "a model keeps its weights elsewhere here",
    "ASlotOfInputsComesRoundTooEarly": "both uploads bring the same",
    "OneWorkspaceForTwoStreams": "the operator leaves its workspace alone here",
    "ABufferComesRoundTooEarly": "the last round writes over the result of the first",
    "LengthsAreTakenBeforeTheyAreThere": "nothing is done with them",
    "AScalarIsTakenBeforeItIsThere": "nothing is done with it",
    "NoWordTellsTheHost": "the copy brings what is there already",
    "ASmallUploadIsFilledAgain": "the last copy is waited for",
    "AnEventTellsTooLittle": "the last copy is waited for",
    "TheNextSizeIsChosenTooEarly": "an execution has its sizes from the call here",
}
# Whose own threads decide whether the wrong twin makes a difference, so that a run says nothing of orders.
THREADS_DECIDE = {"ATimeoutIsIgnored", "TheGateOpensBeforeTheStore", "TheGateOpensBeforeTheUpload",
                  "AThreadStoresForAFunctionThatGoesOn", "ASubscribedCallbackComesTooEarly",
                  "TheTimeoutOfAnEventIsIgnored", "ACallbackStoresInTheNextUpload",
                  "ACallbackTakesWhatTheNextDownloadReplaces", "ACallbackUploadsForTheNextOperator",
                  "ACallbackStoresALengthForTheNextUpload", "ACallbackOfOneStreamStoresForAnother"}
# Needs what belay check puts before the program.
UNDER_CHECK_ONLY = {"AHandlerOfTheProgramStays"}


class Kept:
    def __init__(self, asked, folder):
        self.asked = asked
        self.seeds = []  # that made a difference
        self.program = [sys.executable, asked.program] if asked.program.endswith(".py") else [asked.program]
        self.model = "none" if asked.program.endswith(".py") else self.output("compile", folder).strip()

    def output(self, *words):
        return subprocess.run([self.asked.belay, "run", "--", *self.program, *words], text=True,
                              stdout=subprocess.PIPE, check=True).stdout

    def names(self):
        lines = [line.split("\t") for line in self.output("list").splitlines()]
        names = [name for name, kind, _, _ in lines if "race" in kind.split()]
        return [name for name in names if name not in UNDER_CHECK_ONLY and name in (self.asked.names or names)]

    def explore(self, options, name, twin):
        return subprocess.run([self.asked.belay, "explore", *options, "--", *self.program, "once", name, twin,
                               self.model], text=True, capture_output=True, timeout=250,
                              env={**os.environ, "BELAY_DEVICES": "2", "PYTHONHASHSEED": "0"})

    def what_is_wrong(self, name):
        """Of the name; None: all is as it should be."""
        mended = self.explore(["--runs", str(max(1, self.asked.runs // 10))], name, "mended")
        if mended.returncode != 0:
            return f"the mended twin: {mended.stderr}"
        if name in THREADS_DECIDE:
            return None
        for _ in range(4):  # on a machine with no core for the program time decides, and no seed repeats
            wrong = self.explore(["--runs", str(self.asked.runs)], name, "wrong")
            if "did not do the same again" not in wrong.stderr or "time decided" not in wrong.stderr:
                break
        found = re.search(r"seed (\d+) differs", wrong.stderr)
        self.seeds.append(int(found[1]) if found else 0)
        if name in NO_DIFFERENCE:
            return f"differs after all: {wrong.stderr}" if found else None
        if not found:
            return f"is not found: {wrong.stderr}"
        if "did not do the same again" in wrong.stderr:
            return wrong.stderr
        results = {self.outcome(name, found[1]) for _ in range(self.asked.repeat)}
        return f"seed {found[1]} gives {results}" if len(results) > 1 else None

    def outcome(self, name, seed):
        done = self.explore(["--seed", seed], name, "wrong")
        return done.returncode, done.stdout


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--repeat", type=int, default=0, help="how often a seed that was found is run again")
    parser.add_argument("belay")
    parser.add_argument("program")
    parser.add_argument("names", nargs="*")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        kept = Kept(asked, folder)
        names = kept.names()
        failed = 0
        for name, wrong in zip(names, pool.map(kept.what_is_wrong, names)):
            if wrong:
                failed += 1
                print(f"{name}: {wrong}")
    differ = [name for name in names if name not in {*NO_DIFFERENCE, *THREADS_DECIDE}]
    same = [name for name in names if name in NO_DIFFERENCE]
    print(f"{len(differ)} lost waits, and {len(same)} that make no difference: "
          f"{f'{failed} FAILED' if failed else f'as they should be, by seed {max(kept.seeds, default=0)} at most'}")
    return 1 if failed or not names else 0


if __name__ == "__main__":
    sys.exit(main())
