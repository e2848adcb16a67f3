"""A small run of `python -m tests.mutants`: a known mutant is noticed, and the lists are up to date."""

from __future__ import annotations

import subprocess
import sys

from tests.mutants.__main__ import ROOMS, chosen, outdated, reasons
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
    every = chosen(ROOMS, 0)
    assert len({mutant.key for mutant in every}) == len(every) > 2000
    for mutant in chosen(ROOMS, 40):
        compile(tree(mutant), mutant.path, "exec")
    assert chosen(ROOMS, 150) == chosen(ROOMS, 150)


def test_every_reason_is_for_a_mutant_and_says_something() -> None:
    assert outdated(reasons()) == []
    assert all(len(reason.split()) >= 4 for reason in reasons().values())


def test_the_record_of_the_chapters_names_requirements() -> None:
    assert bites()
    assert set(bites()) | set(without_mutants()) <= set(requirements())


def test_the_rules_of_the_audit_are_held() -> None:
    for place, text in AUDITED:
        assert [m for m in chosen(ROOMS, 0) if f"{place}\t" in m.key and text in m.text], (place, text)


def test_a_broken_rule_is_noticed() -> None:
    command = (sys.executable, "-m", "tests.mutants", "--self-test")
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=240)
    assert "1 mutants: {'killed': 1}" in done.stdout, done.stdout + done.stderr
