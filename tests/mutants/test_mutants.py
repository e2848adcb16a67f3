"""A small run of `python -m tests.mutants`: a known mutant is noticed, and the lists are up to date."""

from __future__ import annotations

import ast
import subprocess
import sys

from tests.mutants import stateful
from tests.mutants.__main__ import ROOMS, SELF_TEST, chosen, outdated, reasons
from tests.mutants.sites import ROOT, tree
from tests.support.spec_coverage import bites, requirements, without_mutants

# Rules that an audit once broke without a failing test.
AUDITED = (
    ("FunctionNormalizer.cast", "without `self.dims.update"),
    ("_Scopes._binding", "without `self.dims.update"),
    ("_Scopes._nested", "without `self.group =` frozenset()"),
    ("purity.py:module", "without `'force_pure'`"),
)


def test_mutants_differ_and_compile() -> None:
    rooms = ("relations",)
    every = chosen(rooms, 0)
    assert len({mutant.key for mutant in every}) == len(every) > 500
    stateful_ones = [mutant for mutant in every if mutant.is_stateful]
    for mutant in (*every[::50], *stateful_ones[::10]):
        compile(tree(mutant), mutant.path, "exec")
    some = chosen(rooms, 150)
    assert len(some) == 150
    assert set(some) < set(every)


TEXT = """
def f(self, a, b, x):
    dims = dict(self.dims)
    if a is None:
        raise ValueError
    self.seen[a] = b
    key = a, b
    for branch in x:
        with self.scope():
            self.walk(branch.true_branch)
    return join(a, b), x[0], known | {a: b}, fits(a, b) is YES, UNKNOWN not in (a, b)
"""


def test_what_concerns_state_and_twins_is_broken() -> None:
    (function,) = ast.parse(TEXT).body
    assert isinstance(function, ast.FunctionDef)
    texts = [text for _, text, _ in stateful.in_function(function)]
    for start in (
        "share `dict(self.dims)`", "`self.seen[a] = b` before `if a is None", "without `b` in `key key`", "one `with self.scope()` for all",
        "false_branch for", "the first for both in `join(a, b)`", "the second for both in `join(a, b)`", "[-1] for [0]",
        "without `{a: b}` in `known | {a: b}`", "unknown is the other answer", "without `a` in `UNKNOWN not in (a, b)`",
    ):  # fmt: skip
        assert [text for text in texts if text.startswith(start)], (start, texts)


def test_every_reason_is_for_a_mutant_and_says_something() -> None:
    assert outdated(reasons()) == []
    assert all(len(reason.split()) >= 4 for reason in reasons().values())


def test_the_record_of_the_chapters_names_requirements() -> None:
    assert bites()
    assert set(bites()) | set(without_mutants()) <= set(requirements())


def test_the_rules_of_the_audit_are_held() -> None:
    every = chosen(ROOMS, 0)
    for place, text in AUDITED:
        assert [m for m in every if f"{place}\t" in m.key and text in m.text], (place, text)


def test_broken_rules_are_noticed() -> None:
    command = (sys.executable, "-m", "tests.mutants", "--self-test")
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=240)
    count = len(SELF_TEST)
    assert f"{count} mutants: {{'killed': {count}}}" in done.stdout, done.stdout + done.stderr


SILENT = """
def f(self, x, y):
    found = []
    for part in y:
        if part is None:
            return None
        found.append(part)
    keys, size = y, len(x)
    if len(x) == 1 and x[0]:
        return call.sinfo_args[0]
    if len(x) > 1:
        return tuple[int, int] | None
    if x[0]:
        return found
"""


def test_what_nothing_can_tell_is_left_out() -> None:
    for old, new in (
        ("", ""), ("len(x) > 1", "len(x) > 2"), ("if x[0]", "if y[0]"), ("== 1 and", "== 2 and"),
        ("found = []", "found = self.found"), ("append(part)", "append(part.value)"), ("return None", "return found"), ("keys, size", "keys"),
    ):  # fmt: skip
        (function,) = ast.parse(SILENT.replace(old, new)).body
        assert isinstance(function, ast.FunctionDef)
        texts = [text for _, text, _ in stateful.in_function(function)]
        assert bool(texts) == (old != new), (old, texts)
