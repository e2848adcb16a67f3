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
    "A scalar parameter may state its value": "TVM 0.27 has no R.Prim(value=…)",
    "An If unifies the StructInfo of both branches": "TVM gives the result a length of a branch, and then reports it as undefined",
    "force_pure overrides what is inferred": "TVM 0.27 has relax.force_pure only; older programs omit the prefix",
    "Passes rename a variable that holds a shape in all StructInfo": "TVM requires the variable in scope after the block",
    "A user-defined operator is called by its name, as TVM prints it": "TVM prints it so, and reads it only if the operator is registered",
    "An annotation may be copied from a variable": "TVM 0.27 has `ty` only",
    "A packed function is a member of a module": "TVM prints such a member, but can't call it",
    "An unknown operator gives an Object and a warning": "TVM can't read an unknown operator",
    "A misspelled operator": "as above; the warning names the closest operator",
    "An operator without inference gives Object": "as above",
    "A match_cast that can never succeed is a warning": "E-15: a warning by specification, an error in TVM",
    "A cast that always fails is a warning": "E-14: likewise",
    "A cast that always fails, or never": "E-15: likewise",
    "Conditions over lengths": "E-03: comparisons are part of our grammar of dimensions",
    "Elements are not handles, except the one that means unknown": "TVM has no dtype of 0 lanes, and writes no dtype of one lane so",
    "A match_cast need not be bound": "the grammar allows it; TVM's parser requires a variable",
    "A derive function runs during checking, never during a run": "TVM's derive functions have another argument list",
    "A shape variable is not a tensor": "TVM refuses it at the operator; in the profile the rule is a warning",
    "A failed check ends the program with a reason": "as for a cast that always fails",
    "The result of a sequence drops its local variables": "TVM's names of shape variables end with the dataflow block",
    "A packed call is impure unless declared pure": "TVM has R.call_pure_packed, and no attribute `pure`",
    "A scalar is a number or a Boolean": "TVM has no scalar handle; ours is a warning in this profile",
    "The result type of a call has several spellings": "TVM 0.27 has out_ty only",
    "Lengths are passed as scalars, among the tensors or separately": "TVM 0.27 has dropped tir_vars",
    "Lengths that may agree are compared when the kernel is called": "OPS-06: TVM refuses lengths that may be right",
    "Scalars can be computed with, also through an alias": "a local function captures the scalars around it; TVM binds new ones",
    "`cast` checks a type": "E-32: TVM has match_cast only",
    "A cast to a tuple, a shape, a scalar and a function": "E-32: likewise",
    "A nested function captures the shape variables around it": "E-51: TVM binds new variables",
    "Shape variables of a function are not its caller's": "TVM does not read return annotations with variables of their own",
    "Each function has its own shape variables, whatever their names": "TVM can call a function of the module only through the module's name",
    "match_shape": "TVM has match_cast, to which it is lowered",
    "No recursion and no If in a dataflow block": "in the body of a local function, TVM's parser accepts its name only as a callee",
}
WE_ACCEPT |= dict.fromkeys(
    (
        "Operators keep what is known", "Copies have the length of their value", "Calls, branches and nested functions pass",
        "A cast states what is known", "LowerWildcards gives each wildcard a name",
    ),
    "TVM has no wildcards; LowerWildcards writes them as shape variables",
)  # fmt: skip
TVM_ACCEPTS = {
    "A module is held to the phase that it claims": "TVM has no phases",
    "A condition over lengths is known in its branch only": "E-46: shape variables are no expressions here",
    "Closure calls come from LambdaLift": "TVM has no phases; its build stops at the call",
    "Code generation names the pass that lowers an operator": "TVM has no phases; its build stops at the operator",
    "A function declared pure makes no impure call": "TVM checks the purity in the decorator, not the attribute",
    "Only existing annotations can be copied": "TVM infers during parsing",
    "A function has one decorator": "TVM ignores the others",
    "Element types are named in quotes": "TVM accepts float99; nothing computes with it",
    "A plain annotation binds no shape variable": "E-13: TVM drops the annotation, and with it the variable",
    "A scalar is a number or a Boolean": "TVM accepts R.Prim('void')",
    "Widths that exist": "TVM accepts int12 and float128; nothing computes with them",
    "A wider annotation sticks": "E-13: TVM drops the annotation",
    "A function returns the StructInfo of its body, unless its annotation is wider": "TVM replaces a return annotation by the result of the body",
    "Dimensions are int64": "TVM accepts a bool as a dimension",
    "A tensor is not a closure": "TVM accepts any value as a function here, and fails at run time",
    "An If over two functions is as pure as the less pure of them": "TVM uses the left one's purity: unsound (E-18)",
}
OTHER_INFO = {
    "Functions that a packed function receives": "an R.ExternFunc inside a tuple or a call gets a variable here; in TVM it stays where it stands",
    "`R.ExternFunc` is looked up": "an R.ExternFunc inside a tuple or a call gets a variable here; in TVM it stays where it stands",
    "Arguments, tuples, closures and other functions are looked at": "TVM gives a local function the result of its body, and ignores its annotation",
    "A cast that always fails, or never": "TVM gives a local function the result of its body, and ignores its annotation",
    "An If unifies the StructInfo of both branches, outside their scopes": "TVM keeps a length known only in the branches",
    "A returned function takes the lengths of the call's arguments": "TVM drops lengths known to the caller, and binds the callee's variables again",
    "Known lengths of a shape variable are written out": "TVM prints the variable; the lengths are more precise",
    "Passes rename a variable that holds a shape in all StructInfo": "TVM keeps a dataflow variable beyond its block",
    "Scalars can be computed with, also through an alias": "dimensions use the value of a scalar, in TVM its name",
    "bool is the unsigned integer of one bit": "E-57: one type here, two in TVM",
    "An external function": "TVM prints R.Callable for a packed function, although it knows the derive function",
    "Literals": "likewise",
    "A packed function derives its result from the call": "likewise",
    "The result type of a call has three spellings": "TVM reads sinfo_args as an attribute",
    "`default_derive` takes the result from the call": "likewise",
    "A packed call is impure unless declared pure": "likewise",
    "A nested function captures the shape variables around it": "E-51: TVM binds new ones",
    "A nested function compares lengths of the outer one": "TVM gives a local function the result of its body, and ignores its annotation",
    "A value is accepted where a wider type is expected, without a cast or a check": "E-13: TVM drops the annotation",
    "A recursive function has a return annotation": "E-49: its result is unknown here",
    "A narrower one needs a cast, an unrelated one is wrong": "E-13: TVM drops the annotation",
    "A variable has the StructInfo of its annotation": "E-13: likewise",
    "A doubt comes with an example": "E-13: likewise",
    "Values of the same name are different values": "TVM gives each value another name first",
    "Inlining makes StructInfo more precise": "TVM replaces a return annotation by the result of the body",
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


@pytest.mark.parametrize(
    "case", [case for case in CASES if ": match_shape" in case.name], ids=lambda case: case.name
)
def test_a_lowered_match_shape_is_well_formed_in_tvm(oracle: Oracle, case: Case) -> None:
    text = rxe.normalize(rxe.parse(case.program)).script()
    assert "match_shape" not in text
    answer = oracle.well_formed(text)
    if "RX0217" in case.program:
        assert not answer.ok, "in TVM, a match_cast that never succeeds is an error (E-15)"
    else:
        assert answer.get().well_formed


MAY_FAIL = (
    'R.match_cast(y, R.Tensor((2, R.any_dim), "float32"))',
    'R.match_cast(y, R.Tensor((R.any_dim, 4), "float32"))',
)


@pytest.mark.parametrize(
    "case",
    [case for case in CASES if case.name.startswith("22_wildcards") and "error:" not in case.program],
    ids=lambda case: case.name,
)
def test_lowered_wildcards_are_well_formed_in_tvm(oracle: Oracle, case: Case) -> None:
    program = case.program
    for cast in MAY_FAIL:  # E-15: in TVM, a match_cast that never succeeds is an error
        program = program.replace(cast, "y")
    lowered = rxe.apply_pass(rxe.normalize(rxe.parse(program)), "LowerWildcards")
    assert oracle.well_formed(lowered.script()).get().well_formed


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_the_struct_info_of_the_samples_is_tvms(oracle: Oracle, path: Path) -> None:
    assert compare(oracle, path.read_text(encoding="utf-8")) == ("agree", "")
