"""`python -m tests.fuzz.campaign`: every fuzzer for a while, from a fresh seed. Each new fault is kept in `found/` and played again.

The seed is printed; `--seed S --only KIND --trials N` does the same trials again, and `--replay FILE` one of `found/`. With
`--until FILE` the fuzzers go on in turns until the file is there, or until each had its time.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import random
import re
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from textual.pilot import WaitForScreenTimeout

import relax_explorer as rxe
from relax_explorer.core.diagnostics import ParseError
from relax_explorer.core.syntax.executable import read_executable
from relax_explorer.ui.tui import key_recording
from tests.fuzz.build_recordings import BuildRecordings
from tests.fuzz.call_files import CallFiles
from tests.fuzz.doors import Doors
from tests.fuzz.json_mutations import JsonMutator, documents
from tests.fuzz.mutations import Mutator, programs
from tests.fuzz.trial import Finding, trial
from tests.fuzz.weight_files import KINDS, WeightFiles
from tests.meaning.programs import MATERIALS
from tests.meaning.trial import register
from tests.meaning.trial import trial as meaning

FOUND = Path(__file__).with_name("found")
EXECUTABLES = Path(__file__).parents[1] / "data" / "executables"
SLICE = 5.0  # seconds of one turn
COLLECTED_EACH = 200
EVENTS = 150  # of one session in the explorer
Trial = Callable[[int], Finding | None]
"""A trial of a fuzzer, by its number."""


def texts(seed: int, _: Path) -> Trial:
    mutator = Mutator(seed, programs())
    return lambda number: trial(mutator.text(), long=True).finding


def json_texts(seed: int, _: Path) -> Trial:
    mutator = JsonMutator(seed, documents())
    return lambda number: trial(mutator.text()).finding


def executables(seed: int, _: Path) -> Trial:
    mutator = Mutator(seed, [path.read_text(encoding="utf-8") for path in sorted(EXECUTABLES.glob("*.txt"))])
    return lambda number: executable(mutator.text())


def executable(text: str) -> Finding | None:
    """Read the text of an executable: it must give one, or diagnostics."""
    try:
        read_executable(text)
    except ParseError:
        pass
    except Exception as error:  # noqa: BLE001  # finding those is what this is for
        return Finding(f"{type(error).__name__} in an executable", text, traceback.format_exc())
    return None


def recordings(seed: int, _: Path) -> Trial:
    samples = [
        'size 80 24\nkey ] j enter\ntype /softmax\nclick 12 4\ndrag 1 2 3 4\nscroll up 3 4\nnow key escape\npaste "a\\nb"\n# x\n'
    ]
    mutator = Mutator(seed, samples)
    return lambda number: recording(mutator.text())


def recording(text: str) -> Finding | None:
    """Read a recording: it must give events, which read as they were written, or a reason."""
    try:
        found = key_recording.read(text)
        again = key_recording.read("\n".join(item.text for item in found))
        if [(item.kind, item.words) for item in found] != [(item.kind, item.words) for item in again]:
            return Finding("a recording reads as something else", text)
        _ = [item.numbers for item in found]
    except key_recording.BadRecording:
        pass
    except Exception as error:  # noqa: BLE001  # finding those is what this is for
        return Finding(f"{type(error).__name__} in a recording", text, traceback.format_exc())
    return None


def weights(seed: int, folder: Path) -> Trial:
    files = WeightFiles(seed, folder)
    return lambda number: files.trial(KINDS[number % len(KINDS)])


def calls(seed: int, _: Path) -> Trial:
    made = CallFiles(seed)
    return lambda number: made.trial()


def doors(seed: int, _: Path) -> Trial:
    made = Doors(seed)
    return lambda number: made.trial()


def builds(seed: int, folder: Path) -> Trial:
    files = BuildRecordings(seed, folder)
    return lambda number: files.trial()


def meanings(seed: int, _: Path) -> Trial:
    """Random programs, among them some in which many names share memory: every pass, and some orders of two, keep the results."""
    register()
    names, materials = rxe.passes.names(), list(MATERIALS.values())

    def tried(number: int) -> Finding | None:
        own = random.Random(f"{seed} {number}").randrange(1 << 40)
        chosen = random.Random(own)
        orders = [*[(name,) for name in names], *[tuple(chosen.choices(names, k=2)) for _ in range(20)]]
        _, found = meaning(own, orders, materials[number % len(materials)])
        return (
            Finding(f"another result after {', '.join(found[0].passes)}", f"seed {own}", str(found[0]))
            if found
            else None
        )

    return tried


def events(seed: int, folder: Path) -> Trial:
    """Sessions of random keys, clicks and sizes in the explorer."""
    from tests.ui.random_events import MORE_PROGRAMS, own_folder, session

    def tried(number: int) -> Finding | None:
        own = (seed + number) % (1 << 32)
        with own_folder() as place:
            start, waited = time.monotonic(), _waited()
            try:
                asyncio.run(session(MORE_PROGRAMS[own % len(MORE_PROGRAMS)], EVENTS, own, place))
            except Exception as error:  # noqa: BLE001  # finding those is what this is for
                if (
                    isinstance(error, WaitForScreenTimeout)
                    and _waited() - waited > (time.monotonic() - start) / 2
                ):
                    return None  # no answer in time because others had the processor
                return Finding(
                    f"{type(error).__name__} in the explorer", f"seed {own}", traceback.format_exc()
                )
        return None

    return tried


def _waited() -> float:
    """The seconds that this process was ready to run and another one ran; 0 where the system does not tell."""
    told = Path("/proc/self/schedstat")
    return int(told.read_text().split()[1]) / 1e9 if told.exists() else 0.0


FUZZERS: dict[str, Callable[[int, Path], Trial]] = {
    "texts": texts, "json": json_texts, "executables": executables, "recordings": recordings, "weights": weights, "calls": calls, "doors": doors,
    "builds": builds, "meanings": meanings, "events": events,
}  # fmt: skip
BY_TEXT: dict[str, Callable[[str], Finding | None]] = {
    "texts": lambda text: trial(text, long=True).finding,
    "json": lambda text: trial(text).finding,
    "executables": executable,
    "recordings": recording,
    "doors": lambda text: Doors(0).opened(text),
}
"""Those whose faults are played again by their text; the others by their seed."""


@dataclass
class Turn:
    """A fuzzer with what it did so far."""

    kind: str
    tried: Trial
    trials: int = 0
    spent: float = 0.0
    faults: int = 0


def replay(path: Path) -> Finding | None:
    """Play a fault of `found/` again; None if it is mended."""
    told = json.loads(path.read_text(encoding="utf-8"))
    if told["kind"] in BY_TEXT:
        return BY_TEXT[told["kind"]](told["text"])
    with tempfile.TemporaryDirectory() as folder:
        tried = FUZZERS[told["kind"]](told["seed"], Path(folder))
        if told["kind"] in ("meanings", "events"):  # each of their trials has a seed of its own
            return tried(told["trial"])
        found = None
        for number in range(told["trial"] + 1):
            found = tried(number)
        return found


def main() -> int:
    """Run the fuzzers in turns; 1 if a fault was found."""
    given = _arguments()
    if given.replay is not None:
        finding = replay(given.replay)
        print(f"{finding.what}\n{finding.details}" if finding else "no fault")
        return int(finding is not None)
    seed = random.SystemRandom().randrange(1 << 32) if given.seed is None else given.seed
    kinds = given.only or list(FUZZERS)
    print(f"seed {seed}: python -m tests.fuzz.campaign --seed {seed}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        turns = [Turn(kind, FUZZERS[kind](seed, Path(folder))) for kind in kinds]
        while any(_has_time(turn, given) for turn in turns):
            for turn in turns:
                if _has_time(turn, given):
                    _take(turn, given, seed)
    for turn in turns:
        print(f"{turn.kind:<12} {turn.trials:>7} trials in {turn.spent:>5.0f} s, {turn.faults} faults")
    return int(any(turn.faults for turn in turns))


def _has_time(turn: Turn, given: argparse.Namespace) -> bool:
    if given.trials:
        return turn.trials < given.trials
    is_over = given.until is not None and given.until.exists() and turn.trials > 0
    return turn.spent < given.seconds and not is_over


def _take(turn: Turn, given: argparse.Namespace, seed: int) -> None:
    """One turn of a fuzzer."""
    start = time.monotonic()
    end = start + min(SLICE, given.seconds - turn.spent)
    gc.disable()  # a collection would be charged to the current text
    while time.monotonic() < end or given.trials:
        finding = turn.tried(turn.trials)
        if finding is not None:
            turn.faults += 1
            if turn.faults <= given.keep:
                _keep(turn, finding, seed, given.out)
        turn.trials += 1
        if turn.trials % COLLECTED_EACH == 0 or turn.kind in ("events", "meanings"):
            gc.collect()
        if given.trials and turn.trials >= given.trials:
            break
    gc.enable()
    turn.spent += time.monotonic() - start


def _keep(turn: Turn, finding: Finding, seed: int, out: Path) -> None:
    """Write a fault to a file, and print it, since the machine of CI keeps no file."""
    out.mkdir(parents=True, exist_ok=True)
    told = {
        "kind": turn.kind,
        "seed": seed,
        "trial": turn.trials,
        "what": finding.what,
        "text": finding.text,
        "details": re.sub(r'File "[^"]*?((?:relax_explorer|tests|lib)/)', r'File "\1', finding.details)[
            -4000:
        ],
    }
    path = out / f"{turn.kind}-{seed}-{turn.trials}.json"
    path.write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")
    print(
        f"FAULT {finding.what}: python -m tests.fuzz.campaign --replay {path}\n{path.read_text(encoding='utf-8')}",
        flush=True,
    )


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.campaign", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60, help="for each fuzzer")
    parser.add_argument("--seed", type=int, help="a seed of before; otherwise a fresh one")
    parser.add_argument("--only", choices=[*FUZZERS], action="append", help="this fuzzer; may be repeated")
    parser.add_argument("--trials", type=int, default=0, help="so many trials of each instead of a time")
    parser.add_argument("--until", type=Path, help="stop after the turn in which this file appears")
    parser.add_argument("--keep", type=int, default=3, help="how many faults to keep of each fuzzer")
    parser.add_argument("--out", type=Path, default=FOUND, help="where to keep them")
    parser.add_argument("--replay", type=Path, help="play one file again")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
