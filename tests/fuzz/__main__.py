"""`python -m tests.fuzz --runs 100000 --seed 1`: many trials; each new fault is saved as a file."""

from __future__ import annotations

import argparse
import gc
import resource
import sys
import tempfile
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

from tests.fuzz.call_files import CallFiles
from tests.fuzz.doors import Doors
from tests.fuzz.json_mutations import JsonMutator, documents
from tests.fuzz.mutations import Mutator, programs
from tests.fuzz.trial import Finding, trial
from tests.fuzz.weight_files import KINDS, WeightFiles

MOST_BYTES = 1 << 30
COLLECTED_EACH = 200


def main() -> int:
    """Run the trials; 1 if a fault was found."""
    arguments = _arguments()
    resource.setrlimit(resource.RLIMIT_DATA, (MOST_BYTES, MOST_BYTES))
    mutator = (
        JsonMutator(arguments.seed, documents()) if arguments.json else Mutator(arguments.seed, programs())
    )
    folder = tempfile.TemporaryDirectory()
    files, calls = WeightFiles(arguments.seed, Path(folder.name)), CallFiles(arguments.seed)
    doors = Doors(arguments.seed)
    counts: Counter[str] = Counter()
    found: Counter[str] = Counter()
    start = time.monotonic()
    gc.disable()  # a collection would be charged to the current text
    for run in range(1, arguments.runs + 1):
        outcome = trial(mutator.text(), long=run % arguments.long_each == 0)
        damaged = files.trial(KINDS[run % len(KINDS)]) or calls.trial() or doors.trial()
        if damaged is not None:
            outcome = replace(outcome, finding=damaged)
        counts.update(parsed=outcome.parsed, clean=outcome.clean, long=outcome.long)
        if outcome.finding is not None:
            found[outcome.finding.what] += 1
            if found[outcome.finding.what] <= arguments.keep:
                _keep(arguments.out, outcome.finding, arguments.seed, run)
        if run % COLLECTED_EACH == 0:
            gc.collect()
            gc.freeze()  # the remaining objects belong to tables of the process
        if run % 5000 == 0 or run == arguments.runs:
            _progress(run, counts, found, time.monotonic() - start)
        if arguments.seconds and time.monotonic() - start > arguments.seconds:
            _progress(run, counts, found, time.monotonic() - start)
            break
    for what, count in found.most_common():
        print(f"{count:>6}  {what}")
    return int(bool(found))


def _progress(run: int, counts: Counter[str], found: Counter[str], seconds: float) -> None:
    kilobytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(
        f"{run} runs, {run / seconds:.0f} a second: {counts['parsed']} read, {counts['clean']} without errors, "
        f"{counts['long']} the long way, "
        f"{sum(found.values())} faults of {len(found)} kinds; {kilobytes // 1024} MB",
        flush=True,
    )


def _keep(out: Path, finding: Finding, seed: int, run: int) -> None:
    out.mkdir(parents=True, exist_ok=True)
    name = "".join(c if c.isalnum() else "-" for c in finding.what)[:60]
    path = out / f"{name}-{seed}-{run}"
    path.with_suffix(".py").write_text(finding.text, encoding="utf-8", errors="surrogatepass")
    path.with_suffix(".txt").write_text(finding.details, encoding="utf-8", errors="surrogatepass")
    print(f"new: {finding.what}  {path}.py", file=sys.stderr, flush=True)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true", help="damage TVM's JSON instead of texts")
    parser.add_argument("--seconds", type=float, default=0, help="stop after this time")
    parser.add_argument("--long-each", type=int, default=1, help="1 of so many goes through passes and views")
    parser.add_argument("--keep", type=int, default=3, help="how many texts to keep of each kind of fault")
    parser.add_argument("--out", type=Path, default=Path("fuzz-findings"), help="where to keep them")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
