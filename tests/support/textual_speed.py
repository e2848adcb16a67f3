"""Textual's pilot and style sheets without what repeats in each test: long waits, and parsing the same styles again."""

from __future__ import annotations

from collections.abc import Iterable
from functools import wraps

from textual import _wait
from textual.css import stylesheet
from textual.css.model import RuleSet
from textual.css.parse import parse
from textual.css.tokenizer import Token

WINDOW = 0.005  # seconds without work after which an app counts as idle; Textual waits for 0.02, several times for each key
IDLE = 0.0005  # seconds of work in an idle window


def hasten() -> None:
    """Shorten the pauses of the pilot, and parse each style sheet once in a process. Apps behave as before."""
    _wait.SLEEP_GRANULARITY, _wait.SLEEP_IDLE = WINDOW, IDLE
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
