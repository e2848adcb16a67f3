"""What the marks at the left of lines mean, screen by screen."""

from __future__ import annotations

from collections.abc import Mapping

Marks = tuple[tuple[str, str], ...]

MARKS: Mapping[str, Marks] = {
    "passes": (
        ("+", "added by the stage"),
        ("-", "removed by it: the line of the stage before"),
        ("~", "changed: the old piece, then the new one"),
        ("~›", "at the right: more changed there, l scrolls to it"),
        ("⊞", "several values became this one"),
        ("⊟", "this value became several bindings"),
        ("t", "only its StructInfo changed"),
        ("k", "only its kind changed: DataflowVar or Var"),
        (">", "moved"),
    ),
    "debug": (
        ("▶", "the next binding"),
        ("✓", "done in this call"),
        ("·", "not done yet"),
        ("●", "breakpoint"),
        ("◆", "breakpoint with a condition"),
        ("○", "breakpoint that is turned off"),
    ),
    "compare": (
        ("=", "equal values"),
        ("≠", "values that differ"),
        ("a", "a value that only A has"),
        ("b", "a value that only B has"),
        ("?", "a value that was not kept"),
    ),
    "checks": (
        ("✓", "proved"),
        ("·", "left to the run"),
        ("✗", "fails in every run"),
    ),
}
