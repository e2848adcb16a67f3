"""TVM is asked about every program of the chapters: does it accept the same programs as the profile `tvm`?"""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

import pytest

import relax_explorer as rxe
from relax_explorer.core.syntax.parser import read as read_program
from tests.oracle.random_programs import compare
from tests.support.mdtest import Case, read
from tests.support.oracle import Oracle
from tests.support.roundtrip import SAMPLES

CASES = [
    case
    for path in sorted((Path(__file__).parent.parent / "spec").glob("*.md"))
    for case in read(path)
    if case.program
]
HEAD = "from tvm.script import ir as I, relax as R, tirx as T\n"

WE_ACCEPT = {
    "An If is unified from what both branches give outside": "TVM gives the result a length that only the branches have, and then misses it",
    "force_pure overrides what is inferred": "TVM 0.27 has relax.force_pure only; older programs leave the prefix out",
    "Passes rename the variable that holds a shape everywhere": "TVM wants the variable in scope after the block",
    "An operator of users is called by its name": "TVM prints it so, and reads it only where the operator is registered",
    "An annotation may be taken over from a variable": "TVM 0.27 has `ty` only",
    "A packed function is a member of a module": "TVM prints such a member, and calls none",
    "An unknown operator is an Object and a warning": "TVM has no way to read an operator that it does not know",
    "A misspelled operator": "as above; the warning names the operator that was meant",
    "An operator without inference gives Object": "as above",
    "A match_cast that can never succeed is a warning": "E-15: a warning by specification, an error in TVM",
    "A cast that always fails is a warning": "E-14: likewise",
    "A cast that always fails, or never": "E-15: likewise",
    "Conditions over lengths": "E-03: comparisons are part of our grammar of dimensions",
    "A handle is no element either": "TVM has no dtype of 0 lanes, and none of one lane that it writes so",
    "A match_cast need not be bound": "the grammar says so; TVM's reader wants a variable",
    "A derive function runs while the program is checked": "TVM's environment functions get another argument list",
    "A shape variable is no tensor": "TVM refuses at the operator; the profile knows the rule as a warning",
    "A failed check ends the program and says why": "as for a cast that always fails",
    "A result forgets what only the sequence knows": "TVM's names of shape variables end with the dataflow block",
    "A packed call is impure unless it says otherwise": "TVM has R.call_pure_packed, and no attribute `pure`",
    "A scalar is a number or a truth value": "TVM has no scalar that is a handle; ours is a warning in this profile",
    "The result of a call is said in one of several ways": "TVM 0.27 has out_ty only",
    "Lengths are passed as scalars, beside the tensors or apart": "TVM 0.27 has no tir_vars any more",
    "Lengths that may agree are compared when the kernel is called": "OPS-06: TVM refuses what may be right",
    "Scalars are computed with, also by another name": "a local function captures the scalars around it; TVM binds them anew",
    "`cast` checks a type": "E-32: TVM has match_cast only",
    "A cast to a tuple, a shape, a scalar and a function": "E-32: likewise",
    "A nested function captures the shape variables around it": "as for a local function that holds itself, below",
    "What a function binds is not what its caller calls so": "TVM's return annotations name no variable of their own as text",
    "Each function has shape variables of its own": "TVM calls a function of the module by the module's name only",
    "No recursion and no If in a dataflow block": "TVM's reader knows a local function in its body only as what is called there",
}
TVM_ACCEPTS = {
    "A function declared pure makes no impure call": "TVM looks at what the decorator says of purity, not at the attribute",
    "Only what is annotated can be taken over": "TVM derives while it reads",
    "A function has one decorator": "TVM ignores the others",
    "Element types are named in quotes": "TVM takes float99; nothing computes with it",
    "A plain annotation binds no shape variable": "E-13: TVM forgets the annotation, and with it the variable",
    "A scalar is a number or a truth value": "TVM takes R.Prim('void')",
    "Widths that exist": "TVM takes int12 and float128; nothing computes with them",
    "A wider annotation sticks": "E-13: TVM forgets the annotation",
    "A function returns what its body gives": "TVM replaces a return annotation by what the body gives",
    "Dimensions are int64": "TVM takes a bool for a dimension",
    "A tensor is no closure": "TVM takes any value for a function here, and fails when the program runs",
    "An If over two functions is as pure as the less pure of them": "TVM takes the left one's purity: unsound (E-18)",
}
OTHER_INFO = {
    "A cast that always fails, or never": "TVM gives a local function the result of its body, whatever its annotation says",
    "An If is unified from what both branches give outside": "TVM keeps a length that only the branches have",
    "A call says what the function that it returns takes": "TVM forgets lengths that the caller knows, and binds the callee's anew",
    "Lengths that a variable is known to hold are written": "TVM says the variable; the lengths say more",
    "Passes rename the variable that holds a shape everywhere": "TVM keeps a dataflow variable beyond its block",
    "Scalars are computed with, also by another name": "what a scalar is bound to is known by its value, in TVM by its name",
    "bool is the unsigned integer of one bit": "E-57: one type here, two in TVM",
    "A function from outside": "TVM says R.Callable of a packed function, and knows the derive function all the same",
    "Literals": "likewise",
    "A packed function derives its result from the call": "likewise",
    "What a call returns is said in one of three spellings": "TVM takes sinfo_args for an attribute",
    "`default_derive` takes the result from the call": "likewise",
    "A packed call is impure unless it says otherwise": "likewise",
    "A nested function captures the shape variables around it": "E-51: TVM binds them anew",
    "A value goes where a type above its own is expected": "E-13: TVM forgets the annotation",
    "A recursive function says what it returns": "E-49: nothing is known here of what it returns",
    "A narrower one needs a cast, an unrelated one is wrong": "E-13: TVM forgets the annotation",
    "An annotation is what the variable is known as": "E-13: likewise",
    "A doubt comes with an example": "E-13: likewise",
    "Inlining sharpens what is known": "TVM replaces a return annotation by what the body gives",
}


def as_module(text: str) -> str:
    """The program as TVM expects it: a class, and the imports."""
    if "@I.ir_module" in text:
        return HEAD + text
    return f"{HEAD}@I.ir_module\nclass Module:\n{textwrap.indent(text, '    ')}"


def accepted(text: str) -> bool:
    """True if the profile `tvm` finds no error."""
    module, report = read_program(text, "chapter.py")
    return module is not None and not report.errors and rxe.well_formed(module, profile="tvm")


@pytest.mark.parametrize("case", CASES, ids=lambda case: re.sub(r"\(.*?\)", "", case.name))
def test_the_verdict_is_tvms_or_there_is_a_reason(oracle: Oracle, case: Case) -> None:
    text = as_module(case.program)
    ours = accepted(text)
    answer = oracle.well_formed(text)
    theirs = answer.ok and answer.get().well_formed
    if ours is not theirs:
        reasons = WE_ACCEPT if ours else TVM_ACCEPTS
        heading = case.name.split(": ", 1)[1]
        assert any(heading.startswith(known) for known in reasons), f"{heading}: we say {ours}, TVM {theirs}"


@pytest.mark.parametrize("case", CASES, ids=lambda case: re.sub(r"\(.*?\)", "", case.name))
def test_the_struct_info_is_tvms_or_there_is_a_reason(oracle: Oracle, case: Case) -> None:
    kind, details = compare(oracle, as_module(case.program))
    heading = case.name.split(": ", 1)[1]
    if kind in ("another StructInfo", "other bindings"):
        assert any(heading.startswith(known) for known in OTHER_INFO), f"{kind}: {details}"


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_the_struct_info_of_the_samples_is_tvms(oracle: Oracle, path: Path) -> None:
    assert compare(oracle, path.read_text(encoding="utf-8")) == ("agree", "")
