"""Try each payload alone, at every place, in every output: `python -m tests.cli.injection`."""

from __future__ import annotations

import asyncio
import sys
import tempfile
from pathlib import Path

from relax_explorer.ui.tui.themes import SAFE
from tests.cli.test_injection import SINKS, into, reached
from tests.support.injection import PAYLOADS, PLACES, program, unsafe
from tests.ui.test_injection import seen


def main() -> int:
    """Print the payloads that get through; their number is the exit status."""
    tried = failed = 0
    with tempfile.TemporaryDirectory() as folder:
        SAFE.enabled = False  # the panes themselves are tested
        file, other = Path(folder, "p.py"), Path(folder, "other.py")
        other.write_bytes(program("comment", ""))
        for place in PLACES:
            for payload in PAYLOADS:
                file.write_bytes(program(place, f"a{payload}b"))
                for sink in SINKS:
                    found = reached(into(sink, file, other))
                    tried += 1
                    if found:
                        failed += 1
                        sys.stdout.write(f"{place}, U+{ord(payload):04X}, {sink}: {found[:200]}\n")
        for place in PLACES:
            for number in range(0, len(PAYLOADS), 10):
                file.write_bytes(program(place, "".join(PAYLOADS[number : number + 10])))
                screens, details = asyncio.run(seen(file))
                tried += 1
                if found := unsafe(screens + details):
                    failed += 1
                    sys.stdout.write(f"{place}, explorer: {found}\n")
    sys.stdout.write(f"{tried} tried, {failed} got through\n")
    return min(failed, 1)


if __name__ == "__main__":
    sys.exit(main())
