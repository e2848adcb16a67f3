"""Program of a child process: runs command lines one after the other, and prints how each ended, as JSON.

Standard input holds the lines as JSON. The audit log gets each line before what it does. A line that takes too long is interrupted and told.
"""

from __future__ import annotations

import json
import signal
import sys

from click.testing import CliRunner

from relax_explorer.ui.cli.main import group

MOST = 20  # seconds; a loaded machine takes one for the slowest line


class TooLong(BaseException):
    """A command line did not end."""


def late(*_: object) -> None:
    raise TooLong


def main() -> None:
    ended = []
    signal.signal(signal.SIGALRM, late)
    for words in json.load(sys.stdin):
        sys.audit("rxe.words", json.dumps(words))
        signal.alarm(MOST)
        try:
            done = CliRunner().invoke(group, words, input="quit\n", prog_name="relax-explorer")
        except TooLong:
            ended.append([-1, "it did not end"])
            continue
        finally:
            signal.alarm(0)
        wrong = done.exception if not isinstance(done.exception, SystemExit) else None
        ended.append([done.exit_code, done.output + (f"Traceback {wrong!r}" if wrong else "")])
    sys.stdout.write(json.dumps(ended))


main()
