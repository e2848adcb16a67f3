"""The tokens of TVMScript and of the two notations: the rules as data, and the split of a line for highlighting.

`viz/pygmented.py` makes Pygments' lexers of the same rules. What is drawn at each key press takes `highlight`: Pygments needs 30 ms to
load, and 15 times as long for a line.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import NamedTuple

Piece = tuple[str, str]  # role, text


class Rule(NamedTuple):
    """A token: its role, its pattern, and the state behind it. Where no rule of a state fits, the first state goes on."""

    role: str
    pattern: str
    then: str = "root"


States = Mapping[str, tuple[Rule, ...]]

_NUMBER = Rule("number", r"\.?\d(?:[\w.]|(?<=e)[+-])*")
_STRING = Rule("string", r'"(?:[^"\\\n]|\\.)*"?|\'(?:[^\'\\\n]|\\.)*\'?')
_BLANK, _COMMENT = Rule("text", r"\s+"), Rule("comment", r"#.*")
_KEYWORD = Rule("keyword", rf"(?:{'|'.join(keyword.kwlist)})(?!\w)")


def _dotted(state: str, *names: Rule) -> tuple[Rule, ...]:
    """The rules behind `R`, `T`, `I` and `cls`, up to the end of the dotted name."""
    return (_NUMBER, Rule("punctuation", r"\.", state), _KEYWORD, *names)


TVMSCRIPT: States = {
    "root": (
        _BLANK,
        _COMMENT,
        Rule("decorator", r"@[\w.]+"),
        _STRING,
        _NUMBER,
        _KEYWORD,
        Rule("module", r"[RI](?!\w)", "operators"),
        Rule("module", r"T(?!\w)", "types"),
        Rule("module", r"cls(?!\w)", "functions"),
        Rule("name", r"\w+"),
        Rule("punctuation", r"\.|[^\w\s\"'#@.]+|@"),
    ),
    "operators": _dotted(
        "operators", Rule("type", r"[A-Z]\w*", "operators"), Rule("operator", r"\w+", "operators")
    ),
    "types": _dotted("types", Rule("type", r"\w+", "types")),
    "functions": _dotted("functions", Rule("function", r"\w+", "functions")),
}
NOTATION: States = {
    "root": (
        _BLANK,
        _COMMENT,
        _STRING,
        Rule("number", r"\d[\w.]*"),
        Rule("keyword", r"(?:def|fn|let|if|else|assert|true|false)(?!\w)"),
        Rule("function", r"@\w+"),
        Rule("name", r"%\w+"),
        Rule("type", r"(?:Tensor|Shape|Size|DType|Type|Constant|Tuple|(?:u?int|b?float)\d+|bool)(?!\w)"),
        Rule("operator", r"[a-z]\w*(?=\()"),
        Rule("name", r"\w+"),
        Rule("punctuation", r"[^\w\s\"'#@%]+|[@%]"),
    ),
}
"""Relay's types and the contracts on shapes, which share their tokens."""

LIMIT = 4000  # a longer line is shown without colours: they would slow down every key press


_Match = Callable[[str, int], re.Match[str] | None]


def _compiled(states: States) -> dict[str, tuple[_Match, tuple[tuple[str, str], ...]]]:
    """By state: all rules as one pattern, and the role and next state by the number of the group that matched."""
    return {
        name: (
            re.compile("|".join(f"({rule.pattern})" for rule in rules)).match,
            (("", ""), *[(rule.role, rule.then) for rule in rules]),
        )
        for name, rules in states.items()
    }


_STATES = _compiled(TVMSCRIPT)


@lru_cache(maxsize=4_000)
def highlight(line: str) -> tuple[Piece, ...]:
    """The pieces of one line, in order; joined, their texts are the line.

    Roles are comment, keyword, string, number, decorator, module (`R`), operator (`matmul` in `R.matmul`), type (`Tensor`),
    function (`add` in `cls.add`), punctuation, name and text.
    """
    if len(line) > LIMIT:
        return (("text", line),)
    match, after = root = _STATES["root"]
    pieces: list[Piece] = []
    at, end = 0, len(line)
    while at < end:
        token = match(line, at)
        if token is None:
            match, after = root  # whose rules fit everywhere
            continue
        role, then = after[token.lastindex or 0]
        pieces.append((role, token[0]))
        match, after = _STATES[then]
        at = token.end()
    return tuple(pieces)
