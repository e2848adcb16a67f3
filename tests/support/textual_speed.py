"""Textual's pilot and style sheets without what repeats in each test: long waits, and parsing the same styles again."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable
from functools import wraps

from textual import app
from textual.css import stylesheet
from textual.css.model import RuleSet
from textual.css.parse import parse
from textual.css.tokenizer import Token

WINDOW = 0.01  # seconds; Textual waits for 0.02, twice for each key. Both windows together are longer than a frame (1/60)
BUSY = 0.001  # seconds of work in a window after which the app is not idle


async def _rested(min_sleep: float = WINDOW, max_sleep: float = 1) -> None:
    """Wait until the process has nothing to do. Where others use its processor, it wakes up late, and waits again."""
    end = time.monotonic() + max_sleep
    while (start := time.monotonic()) < end:
        worked = time.process_time()
        await asyncio.sleep(WINDOW)
        if time.process_time() - worked < BUSY and time.monotonic() - start < 2 * WINDOW:
            return


def hasten() -> None:
    """Shorten the pauses around pressed keys, and parse each style sheet once in a process. Apps behave as before."""
    app.wait_for_idle = _rested  # type: ignore[attr-defined]  # the module imports this name, and calls it
    known: dict[object, list[RuleSet]] = {}

    @wraps(parse)
    def parsed(
        scope: str,
        css: str,
        read_from: tuple[str, str],
        variables: dict[str, str] | None = None,
        variable_tokens: dict[str, list[Token]] | None = None,
        is_default_rules: bool = False,
        tie_breaker: int = 0,
    ) -> Iterable[RuleSet]:
        values = [
            (name, *[token.value for token in tokens]) for name, tokens in (variable_tokens or {}).items()
        ]
        key = scope, css, read_from, tuple(values), is_default_rules, tie_breaker
        if variables is not None or key not in known:
            rules = list(
                parse(scope, css, read_from, variables, variable_tokens, is_default_rules, tie_breaker)
            )
            if variables is not None or any(rule.errors for rule in rules):
                return rules
            known[key] = rules
        return known[key]

    stylesheet.parse = parsed  # type: ignore[attr-defined]  # the module imports this name, and calls it
