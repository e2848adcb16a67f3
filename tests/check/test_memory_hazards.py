"""Planned memory: each write that destroys a value which is read later is found, and no other one is blamed."""

from __future__ import annotations

import re

import pytest

import relax_explorer as rxe
from relax_explorer.core.session.bisect import WellFormed
from relax_explorer.core.session.stages import Stage
from tests.support.oracle import Oracle
from tests.support.random_plans import verdicts

CODE = "RX0157"
KERNELS = """@I.ir_module
class Module:
    @T.prim_func(private=True)
    def up(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        for i in range(4):
            B[i] = A[i] + T.float32(1)
    @T.prim_func(private=True)
    def add(A: T.Buffer((4,), "float32"), C: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        for i in range(4):
            B[i] = A[i] + C[i]
    @T.prim_func(private=True)
    def ones(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        for i in range(4):
            B[i] = T.float32(1)
    @T.prim_func(private=True)
    def again(A: T.Buffer((4,), "float32")):
        for i in range(4):
            A[i] = A[i] + T.float32(1)
    @T.prim_func(private=True)
    def two(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32"), C: T.Buffer((4,), "float32")):
        for i in range(4):
            B[i] = A[i]
            C[i] = A[i]
    @T.prim_func(private=True)
    def total(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        for i, k in T.grid(4, 4):
            with T.sblock("sum"):
                v, w = T.axis.remap("SR", [i, k])
                with T.init():
                    B[v] = T.float32(0)
                B[v] = B[v] + A[w]
    @T.prim_func(private=True)
    def copy(a: T.handle, b: T.handle):
        n = T.int64()
        A = T.match_buffer(a, (n,), "float32")
        B = T.match_buffer(b, (n,), "float32")
        for i in range(n):
            B[i] = A[i]
    @T.prim_func(private=True)
    def pair(A: T.Buffer((2,), "float32"), B: T.Buffer((2,), "float32")):
        for i in range(2):
            B[i] = A[i]
"""
SIGNATURE = 'x: R.Tensor((4,), "float32"), c: R.Tensor((), "bool"), d: R.Tensor((), "bool"), v: R.Tensor(("n",), "float32")'
_PLACED = re.compile(r"(\w+) @ (\w+)(?:\[(.*?)\])?(?: of (.*))?$")


def program(body: str, more: str = "", lines: str = "") -> str:
    """A module whose main is `body`. `a @ s[8] of 4` places a tensor in a storage, `new s` allocates one, `k(…)` calls a kernel."""
    written = [f"        {line}" for line in (lines + body).strip("\n").splitlines()]
    return (
        f"{KERNELS}{more}    @R.function(pure=False)\n    def main({SIGNATURE}):\n        n = T.int64()\n        cls = Module\n"
        + ("\n".join(map(_line, written)) + "\n")
    )


def _line(line: str) -> str:
    text, indent = line.strip(), line[: len(line) - len(line.lstrip())]
    placed = _PLACED.match(text)
    if placed:
        name, storage, offset, size = placed.groups()
        return (
            f"{indent}{name} = R.memory.alloc_tensor({storage}, R.prim_value({offset or 0}), R.shape([{size or 4}]), "
            'R.dtype("float32"))'
        )
    if text.startswith("new "):
        size = "64" if " of " not in text else text.split(" of ")[1]
        return (
            f"{indent}{text.split()[1]} = R.memory.alloc_storage(R.shape([{size}]), R.prim_value(0), "
            'R.str("global"), R.dtype("uint8"))'
        )
    return re.sub(r"^(\s*)(up|add|ones|again|two|total|copy|pair)\(", r"\1_ = cls.\2(", line)


def found(text: str) -> list[rxe.Diagnostic]:
    """The problems of planned memory in a program without other errors."""
    items = rxe.check(rxe.parse(text))
    assert [str(item.code) for item in items if item.is_error and item.code.id != CODE] == []
    return [item for item in items if item.code.id == CODE]


# A value `al` that shows the tensor `a` is read after a write to `b` in its bytes.
ALIASES = {
    "a variable": "al = a",
    "a cast": 'al = R.match_cast(a, R.Tensor((4,), "float32"))',
    "a reshape": "al = R.reshape(R.reshape(a, R.shape([2, 2])), R.shape([4]))",
    "a lowered reshape": 'al = R.call_packed("vm.builtin.reshape", a, R.shape([4]), sinfo_args=R.Tensor((4,), "float32"))',
    "a view": 'al = R.memory.view(a, R.shape([4]), R.dtype("float32"), R.prim_value(0))',
    "no offset": "al = R.memory.ensure_zero_offset(a)",
    "a field": "t = (x, a)\nal = t[1]",
    "a field of a field": "t = ((x, a), x)\nu = t[0]\nal = u[1]",
    "a lowered tuple": 't = R.call_packed("vm.builtin.make_tuple", x, a, sinfo_args=R.Tuple(R.Tensor((4,), "float32"), '
    'R.Tensor((4,), "float32")))\nal = R.call_packed("vm.builtin.tuple_getitem", t, R.prim_value(1), sinfo_args=R.Tensor((4,), "float32"))',
    "the first branch": "if c:\n    al = a\nelse:\n    al = x",
    "the second branch": "if c:\n    al = x\nelse:\n    al = R.reshape(a, R.shape([4]))",
    "a tuple of branches": "if c:\n    t = (x, a)\nelse:\n    t = (x, x)\nal = t[1]",
    "a branch of a branch": "if c:\n    if d:\n        al = a\n    else:\n        al = x\nelse:\n    al = x",
    "a function": "al = cls.same(x, a)",
    "a function of a function": "al = cls.outer(a)",
    "a recursive function": "al = cls.loop(a, c)",
}
FUNCTIONS = """    @R.function(private=True)
    def same(p: R.Tensor((4,), "float32"), q: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        return q
    @R.function(private=True)
    def outer(p: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        cls = Module
        r: R.Tensor((4,), "float32") = cls.same(p, p)
        return r
    @R.function(private=True)
    def loop(p: R.Tensor((4,), "float32"), c: R.Tensor((), "bool")) -> R.Tensor((4,), "float32"):
        cls = Module
        if c:
            r: R.Tensor((4,), "float32") = cls.loop(p, c)
        else:
            r: R.Tensor((4,), "float32") = p
        return r
"""


@pytest.mark.parametrize("alias", ALIASES.values(), ids=ALIASES)
def test_a_value_is_destroyed_under_each_name(alias: str) -> None:
    body = (
        f"new s\nnew t2\na @ s\nup(x, a)\n{alias}\nb @ STORAGE\nup(x, b)\no @ t2[16]\nadd(al, b, o)\nreturn o"
    )
    (item,) = found(program(body.replace("STORAGE", "s"), FUNCTIONS))
    assert re.findall(r"'(\w+)'", item.message)[:2] == ["b", "a"]
    assert found(program(body.replace("STORAGE", "t2"), FUNCTIONS)) == []
    assert found(program(body.replace("STORAGE", "s[16]"), FUNCTIONS)) == []
    assert len(found(program(body.replace("STORAGE", "s[12]"), FUNCTIONS))) == 1


HALF = 'w = R.memory.view(x, R.shape([2]), R.dtype("float32"), R.prim_value(0))\n'

WRONG = {
    "the result": "a @ s\nup(x, a)\nb @ s\nup(x, b)\nreturn (a, b)",
    "input and output of one call": "a @ s\nup(x, a)\nb @ s\nup(a, b)\nreturn b",
    "two results of one call": "a @ s\nb @ s[8]\ntwo(x, a, b)\nreturn (a, b)",
    "a reduction into it": "a @ s\nup(x, a)\nb @ s\ntotal(x, b)\nreturn (a, b)",
    "a packed function writes": 'a @ s\nup(x, a)\nb @ s\n_ = R.call_packed("fill", x, b, sinfo_args=R.Tuple())\nreturn (a, b)',
    "a packed function reads": 'a @ s\nup(x, a)\nb @ s\nup(x, b)\nr = R.call_packed("g", a, x, sinfo_args=R.Object)\nreturn r',
    "an operator reads": "a @ s\nup(x, a)\nb @ s\nup(x, b)\nr = R.add(a, b)\nreturn r",
    "call_tir reads": 'a @ s\nup(x, a)\nb @ s\nup(x, b)\nr = R.call_tir(cls.up, (a,), out_sinfo=R.Tensor((4,), "float32"))\nreturn r',
    "a condition": 'a = R.memory.alloc_tensor(s, R.prim_value(0), R.shape([]), R.dtype("bool"))\n'
    '_ = R.call_packed("fill", a, sinfo_args=R.Tuple())\nb @ s\nup(x, b)\nif a:\n    r = x\nelse:\n    r = x\nreturn (r, b)',
    "a write in a branch": "a @ s\nup(x, a)\nif c:\n    b @ s\n    up(x, b)\n    r = R.add(b, x)\nelse:\n    r = x\nreturn (a, r)",
    "a write in the other branch": "a @ s\nup(x, a)\nif c:\n    r = x\nelse:\n    b @ s\n    up(x, b)\n    r = R.add(b, x)\nreturn (a, r)",
    "a write and a read in one branch": "a @ s\nup(x, a)\nif c:\n    b @ s\n    up(x, b)\n    r = R.add(b, a)\nelse:\n    r = x\nreturn r",
    "in place": "a @ s\nup(x, a)\nb @ s\nup(x, b)\nagain(a)\nreturn (a, b)",
    "a constant tensor over one behind a symbolic one": "a @ s[n * 4]\nup(x, a)\nb @ s[n * 4]\nup(x, b)\nreturn (a, b)",
    "a part of it under a branch": "a @ s\nup(x, a)\nif c:\n    b @ s of 2\n    pair(w, b)\n    r = R.add(b, w)\n"
    "else:\n    r = w\nq @ s[8] of 2\npair(w, q)\nif c:\n    r2 = x\nelse:\n    r2 = a\nreturn (r, r2, q)",
    "a symbolic tensor": "a @ s of n\ncopy(v, a)\nb @ s of n\ncopy(v, b)\nreturn (a, b)",
    "a symbolic offset": "a @ s[n * 4]\nup(x, a)\nb @ s[n * 4 + 12]\nup(x, b)\nreturn (a, b)",
    "a symbolic tensor over a constant one": "a @ s\nup(x, a)\nb @ s of n\ncopy(v, b)\nreturn (a, b)",
    "after a repair": "a @ s\nup(x, a)\nb @ s\nup(x, b)\nup(x, a)\nreturn (a, b)",
    "a nested call": "a @ s\nup(x, a)\nr = cls.over(s, x)\nreturn (a, r)",
    "read behind a write": "a @ s\nup(x, a)\nr = cls.late(s, a)\nreturn r",
    "in each round of a loop": "a @ s\nup(x, a)\nr = cls.rounds(s, a, c)\nreturn r",
    "in both branches": "a @ s\nup(x, a)\nif c:\n    b @ s\n    up(x, b)\n    r = R.add(b, x)\nelse:\n    q @ s\n"
    "    up(x, q)\n    r = R.add(a, q)\nreturn r",
    "repaired in one branch": "a @ s\nup(x, a)\nb @ s\nup(x, b)\nif c:\n    up(x, a)\n    r = R.add(a, x)\nelse:\n    r = a\nreturn r",
    "a storage of a tuple": "t = (s, x)\nu = t[0]\na @ u\nup(x, a)\nb @ s\nup(x, b)\nreturn (a, b)",
    "a storage of a packed function": 'g = R.call_packed("storages", sinfo_args=R.Tuple(R.Object, R.Object))\nu = g[0]\nw = g[0]\n'
    "a @ u\nup(x, a)\nb @ w\nup(x, b)\nreturn (a, b)",
    "a part": 'a @ s\nup(x, a)\nh = R.memory.view(a, R.shape([2]), R.dtype("float32"), R.prim_value(8))\nb @ s[8] of 2\n'
    'w = R.memory.view(x, R.shape([2]), R.dtype("float32"), R.prim_value(0))\npair(w, b)\nreturn (h, b)',
}  # fmt: skip
RIGHT = {
    "read before": "a @ s\nup(x, a)\nr = R.add(a, x)\nb @ s\nup(x, b)\nreturn (r, b)",
    "unread": "a @ s\nup(x, a)\nb @ s\nup(x, b)\nreturn b",
    "asked for its shape": "a @ s\nup(x, a)\nb @ s\nup(x, b)\nr = R.shape_of(a)\nreturn (r, b)",
    "killed": "a @ s\nup(x, a)\nb @ s\nup(x, b)\n_ = R.memory.kill_tensor(a)\n_ = R.memory.kill_storage(s)\nreturn b",
    "an operand that is not loaded": "a @ s\nup(x, a)\nb @ s\nones(a, b)\nreturn b",
    "in place": "a @ s\nup(x, a)\nagain(a)\nreturn a",
    "in place, under another name": "a @ s\nup(x, a)\nal = R.reshape(a, R.shape([4]))\nup(al, a)\nreturn a",
    "call_tir_inplace": "a @ s\nup(x, a)\nr = R.call_tir_inplace(cls.again, (a,), out_sinfo=R.Tensor((4,), "
    "\"float32\"), inplace_indices=[0])\nreturn (r, a)",
    "written again": "a @ s\nup(x, a)\nb @ s\nup(x, b)\nr = R.add(b, x)\nup(x, a)\nreturn (a, r)",
    "a reduction": "a @ s\nup(x, a)\nr = R.add(a, x)\nb @ s\ntotal(r, b)\nreturn b",
    "two results": "a @ s\nb @ s[16]\ntwo(x, a, b)\nreturn (a, b)",
    "a write in a branch, a read in the other": "a @ s\nup(x, a)\nif c:\n    b @ s\n    up(x, b)\n    r = b\nelse:\n    r = a\nreturn r",
    "branches of one condition": "a @ s\nup(x, a)\nb @ s\nif c:\n    up(x, b)\n    q = x\nelse:\n    q = x\n"
    "if c:\n    r = R.add(b, q)\nelse:\n    r = R.add(a, q)\nreturn r",
    "a branch that no run takes": "a @ s\nup(x, a)\nif c:\n    if c:\n        q = x\n    else:\n        b @ s\n"
    "        up(x, b)\n        q = x\n    r = a\nelse:\n    r = x\nreturn r",
    "repaired in the branch that reads": "a @ s\nup(x, a)\nb @ s\nup(x, b)\nif c:\n    up(x, a)\n    r = R.add(a, x)\nelse:\n    r = x\nreturn r",
    "a reduction after a loss": "b @ s\ntotal(x, b)\nr = R.add(b, x)\na @ s\nup(x, a)\nq = R.add(a, x)\ntotal(x, b)\nreturn (b, r, q)",
    "an argument that comes back unread": "a @ s\nup(x, a)\nb @ s\nup(x, b)\nr = cls.same(x, a)\nreturn b",
    "an argument that returns through functions": "a @ s\nup(x, a)\nb @ s\nup(x, b)\nr = cls.outer(a)\nreturn b",
    "behind a branch that no run takes": "a @ s\nup(x, a)\nif c:\n    if c:\n        q = x\n    else:\n"
    "        b @ s\n        up(x, b)\n        q = x\n    r = q\nelse:\n    r = x\nreturn (a, r)",
    "behind each other": "a @ s of n\ncopy(v, a)\nb @ s[n * 4] of n\ncopy(v, b)\nreturn (a, b)",
    "perhaps behind each other": "a @ s of n\ncopy(v, a)\nb @ s[16]\nup(x, b)\nreturn (a, b)",
    "empty": "a @ s of 0\ncopy(v, a)\nb @ s\nup(x, b)\nreturn (a, b)",
    "a call with a storage of its own": "a @ s\nup(x, a)\nr = cls.own(x)\nreturn (a, r)",
    "read before a write": "a @ s\nup(x, a)\nr = cls.early(s, a)\nreturn r",
    "a parameter that a call ignores": "a @ s\nup(x, a)\nb @ s\nup(x, b)\nr = cls.same(a, b)\nreturn r",
    "another part": 'a @ s\nup(x, a)\nh = R.memory.view(a, R.shape([2]), R.dtype("float32"), R.prim_value(0))\nb @ s[8] of 2\n'
    'w = R.memory.view(x, R.shape([2]), R.dtype("float32"), R.prim_value(0))\npair(w, b)\nreturn (h, b)',
    "two objects of a packed function": 'g = R.call_packed("storages", sinfo_args=R.Tuple(R.Object, R.Object))\nu = g[0]\nw = g[1]\n'
    "a @ u\nup(x, a)\nb @ w\nup(x, b)\nreturn (a, b)",
    "a write in a branch of a branch, a read in the other": "a @ s\nup(x, a)\nif c:\n    if d:\n        b @ s\n        up(x, b)\n"
    "        q = R.add(b, x)\n    else:\n        q = x\n    r = q\nelse:\n    r = a\nreturn r",
    "a write to what one branch shows": "b @ s\nup(x, b)\na @ s\nif c:\n    al = a\nelse:\n    al = x\nup(x, al)\n"
    "if c:\n    r = x\nelse:\n    r = b\nreturn r",
    "filled again by a packed function": "a @ s\nup(x, a)\nb @ s\nup(x, b)\nr = R.add(b, x)\n"
    '_ = R.call_packed("fill", x, a, sinfo_args=R.Tuple())\nreturn (a, r)',
    "filled again by a function that reads it then": "a @ s\nup(x, a)\nb @ s\nup(x, b)\nr = R.add(b, x)\nq = cls.filled(x, a)\nreturn (q, r)",
}  # fmt: skip
WITH_STORAGE = """    @R.function(private=True, pure=False)
    def over(s: R.Object, p: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        cls = Module
        b = R.memory.alloc_tensor(s, R.prim_value(0), R.shape([4]), R.dtype("float32"))
        _ = cls.up(p, b)
        return p
    @R.function(private=True, pure=False)
    def late(s: R.Object, p: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        cls = Module
        b = R.memory.alloc_tensor(s, R.prim_value(0), R.shape([4]), R.dtype("float32"))
        _ = cls.ones(b, b)
        r = R.add(p, b)
        return r
    @R.function(private=True, pure=False)
    def early(s: R.Object, p: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        cls = Module
        r = R.add(p, p)
        b = R.memory.alloc_tensor(s, R.prim_value(0), R.shape([4]), R.dtype("float32"))
        _ = cls.up(r, b)
        return b
    @R.function(private=True, pure=False)
    def own(p: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        cls = Module
        s = R.memory.alloc_storage(R.shape([16]), R.prim_value(0), R.str("global"), R.dtype("uint8"))
        b = R.memory.alloc_tensor(s, R.prim_value(0), R.shape([4]), R.dtype("float32"))
        _ = cls.up(p, b)
        return b
    @R.function(private=True, pure=False)
    def filled(p: R.Tensor((4,), "float32"), q: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        cls = Module
        _ = cls.up(p, q)
        r = R.add(q, q)
        return r
"""
ROUNDS = """    @R.function(private=True, pure=False)
    def rounds(s: R.Object, p: R.Tensor((4,), "float32"), c: R.Tensor((), "bool")) -> R.Tensor((4,), "float32"):
        cls = Module
        b = R.memory.alloc_tensor(s, R.prim_value(0), R.shape([4]), R.dtype("float32"))
        _ = cls.up(p, b)
        if c:
            r: R.Tensor((4,), "float32") = cls.rounds(s, b, c)
        else:
            r: R.Tensor((4,), "float32") = b
        return r
"""


@pytest.mark.parametrize("body", WRONG.values(), ids=WRONG)
def test_a_write_that_destroys_is_found(body: str) -> None:
    more = ROUNDS if "rounds" in body else ""  # it destroys its own argument
    assert found(program(body, FUNCTIONS + WITH_STORAGE + more, f"new s\n{HALF}"))


@pytest.mark.parametrize("body", RIGHT.values(), ids=RIGHT)
def test_a_write_that_destroys_nothing_is_not_blamed(body: str) -> None:
    assert found(program(body, FUNCTIONS + WITH_STORAGE, "new s\n")) == []


PLAN = "new s\na @ s\nup(x, a)\nal = R.reshape(a, R.shape([4]))\nb @ s[8] of 2\npair(w, b)\nreturn (al, b)"


def test_the_write_both_lives_and_the_plan_are_told() -> None:
    (item,) = found(program(PLAN, lines=HALF))
    source = program(PLAN, lines=HALF).splitlines()
    told = [source[label.span.line - 1].strip() for label in item.labels if label.span is not None]
    assert told == ["_ = cls.pair(w, b)", "_ = cls.up(x, a)", "return (al, b)"]
    assert all(part in item.notes[0] for part in ("bytes 0 to 15", "bytes 8 to 15", "64 bytes"))


def test_a_plan_fails_the_test_of_bisect_under_both_profiles() -> None:
    wrong, right = (
        rxe.parse(program(PLAN.replace("s[8]", place), lines=HALF)) for place in ("s[8]", "s[16]")
    )
    for profile in ("spec", "tvm"):
        test = WellFormed(profile)
        assert CODE in test(Stage(0, "a", wrong))
        assert test(Stage(0, "a", right)) == ""
    assert not [item for item in rxe.check(wrong, "tvm") if item.is_error]  # TVM accepts it


LOWERING = ("LowerAllocTensor", "KillAfterLastUse", "LowerRuntimeBuiltin", "VMShapeLower")
SYMBOLIC = "new s of n * 16\na @ s of n\ncopy(v, a)\nal = R.reshape(a, R.shape([n, 1]))\nb @ STORAGE of n\ncopy(v, b)\nreturn (al, b)"


@pytest.mark.parametrize(
    "body", [PLAN.replace("b @ s[8]", "b @ STORAGE[8]"), SYMBOLIC], ids=["numbers", "symbolic"]
)
def test_lowering_hides_no_destroyed_value(body: str) -> None:
    for storage, count in (("s", 1), ("t", 0)):
        text = program(body.replace("STORAGE", storage), lines=f"new t\n{HALF}")
        module = rxe.run_pipeline(rxe.parse(text), "RemovePurityChecking")
        for name in LOWERING:
            module = rxe.apply_pass(module, name)
            codes = [item.code.id for item in rxe.check(rxe.parse(module.script()))]
            assert codes.count(CODE) == count, (name, storage)


@pytest.mark.parametrize("seed", range(1510, 1522))
def test_random_plans_are_judged_as_by_brute_force(seed: int) -> None:
    for plan, is_wrong, said in verdicts(seed, 3):
        assert bool(said) == is_wrong, f"{said}\n{plan}"


def test_random_plans_are_of_both_kinds() -> None:
    kinds = {is_wrong for seed in range(1512, 1518) for _, is_wrong, _ in verdicts(seed, 2)}
    assert kinds == {True, False}


ALLOCATION = 'R.builtin.alloc_tensor(R.shape([4]), R.dtype("float32"), R.prim_value(0), R.str("global"))'
TVM_PLANS = {
    # TVM takes the result of a packed function for new memory, but it may show that of an argument.
    "a packed tuple": (
        't = R.call_packed("vm.builtin.make_tuple", a, x, ty_args=(R.Tuple(R.Tensor((4,), "float32"), R.Tensor((4,), "float32")),))\n'
        "al = t[0]",
        CODE,
    ),
    "a cast": ('al = R.match_cast(a, R.Tensor((4,), "float32"))', ""),
    "a tuple": ("t = ((a, x), x)\nu = t[0]\nal = u[0]", ""),
    "a reshape": ("al = R.reshape(R.reshape(a, R.shape([2, 2])), R.shape([4]))", ""),
    "a branch": ("if c:\n    al = a\nelse:\n    al = x", ""),
    # TVM allocates a storage in one branch, and lets a tensor behind the If use it, which has no storage if the other one ran.
    "a storage of a branch": (
        f"if c:\n    q = {ALLOCATION}\n    up(x, q)\n    z = {ALLOCATION}\n    up(q, z)\n    al = z\nelse:\n    al = a",
        "RX0010",
    ),
}


@pytest.mark.parametrize(("alias", "code"), TVM_PLANS.values(), ids=TVM_PLANS)
def test_what_tvm_plans_wrong_is_found_in_its_output(oracle: Oracle, alias: str, code: str) -> None:
    body = f"a = {ALLOCATION}\nup(x, a)\n{alias}\nb = {ALLOCATION}\nup(x, b)\no = {ALLOCATION}\nadd(al, b, o)\nreturn o"
    text = oracle.apply(program(body), ["StaticPlanBlockMemory"]).get().text
    try:
        items = rxe.check(rxe.parse(text))
    except rxe.ParseError as failure:
        items = list(failure.diagnostics)
    assert {item.code.id for item in items if item.is_error} == ({code} if code else set())
    own = rxe.apply_pass(rxe.parse(program(body)), "StaticPlanBlockMemory")
    assert not [item for item in rxe.check(own) if item.is_error]
