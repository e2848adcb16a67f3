"""`python -m tests.spec`: run the chapters, each program again where state would show, and count what applied and what did not."""

from __future__ import annotations

import sys

import pytest


class _Counts:
    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the counts."""
        from tests.support import again  # behind the conftest, which prepares the package

        for way, count in sorted(again.APPLIED.items()):
            terminalreporter.write_line(f"{count:>6} {way}")


if __name__ == "__main__":
    sys.exit(pytest.main(["-n0", "-q", "tests/spec"], plugins=[_Counts()]))
