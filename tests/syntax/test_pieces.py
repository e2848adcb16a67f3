"""A long text is parsed in pieces; only the memory shows it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import relax_explorer as rxe
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir.walk import bindings, operands
from relax_explorer.core.syntax import python_tree
from relax_explorer.core.syntax.context import Kernels
from relax_explorer.core.syntax.parser import read
from tests.perf.generate import transformer
from tests.support.corpus import CORPUS

STAGES = sorted(CORPUS.glob("*/*.py"))[::9]
BODY = "\n".join(f"    v{i + 1} = R.add(v{i}, v{i})" for i in range(40))
PROGRAM = f'@R.function\ndef f(v0: R.Tensor((2,), "float32")):\n{BODY}\n    return v40\n'


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small pieces of everything."""
    monkeypatch.setattr(python_tree, "LARGE", 0)
    monkeypatch.setattr(python_tree, "_SHORTEST", 2)
    monkeypatch.setattr(python_tree, "MOST_AT_ONCE", 7)


def whole(text: str) -> str:
    """The result of parsing a text: the program with its spans, and the problems."""
    module, report = read(text, "x.py")
    problems = [(str(item), [label.text for label in item.labels]) for item in report.sorted()]
    if module is None:
        return str(problems)
    places = [
        (str(b.span), parts(b.value), b.var.span.end_column if b.var and b.var.span else 0)
        for fn in module.relax_functions.values()
        for b in bindings(fn)
    ]
    return f"{module.script()}\n{places}\n{problems}"


def parts(value: e.Expr) -> list[str]:
    """The values in a value that are written there, each with the text of its place."""
    if isinstance(value, (e.Var, e.If, e.Function)):
        return [type(value).__name__]
    own = "" if value.span is None else f"{value.span} {value.span.text}"
    return [own, *[item for operand in operands(value) for item in parts(operand)]]


def in_pieces(text: str, monkeypatch: pytest.MonkeyPatch) -> tuple[str, str]:
    """The results of parsing a text as a whole, and in pieces."""
    with monkeypatch.context() as patch:
        patch.setattr(python_tree, "LARGE", 10**9)
        one = whole(text)
    return one, whole(text)


@pytest.mark.parametrize("path", STAGES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_a_model_reads_alike(path: Path, small: None, monkeypatch: pytest.MonkeyPatch) -> None:
    one, many = in_pieces(path.read_text(encoding="utf-8"), monkeypatch)
    assert one == many


TRICKY = {
    "plain": PROGRAM,
    "unknown name": PROGRAM.replace("R.add(v7, v7)", "R.add(v7, nobody)"),
    "two errors": PROGRAM.replace("R.add(v7, v7)", "R.add(v7)").replace("R.add(v30, v30)", "R.add(oops)"),
    "broken line": PROGRAM.replace("R.add(v7, v7)", "R.add(v7, v7))"),
    "string closes nothing": PROGRAM.replace("R.add(v7, v7)", 'R.str("(")'),
    "string hides a bracket": PROGRAM.replace("R.add(v7, v7)", 'R.add(R.str(")"'),
    "comment": PROGRAM.replace("R.add(v7, v7)", "R.add(v7, v7)  # v8 = R.add(x)"),
    "continued": PROGRAM.replace("R.add(v7, v7)", "\\\n        R.add(v7, v7)"),
    "two statements": PROGRAM.replace("R.add(v7, v7)", "R.add(v7, v7); w = v7"),
    "inside a call": PROGRAM.replace("    v8 =", "    foo(\n    v8 =").replace(
        "    v11 =", "    )\n    v11 ="
    ),
    "inside a string": 'x = """\n' + BODY + '\n"""\n' + PROGRAM,
    "other letters": PROGRAM.replace("v9", "é9"),
    "tabs": PROGRAM.replace("    ", "\t"),
    "dataflow": '@R.function\ndef f(v0: R.Tensor((2,), "float32")):\n    with R.dataflow():\n'
    + BODY.replace("    v", "        v")
    + "\n        R.output(v3, v40)\n    return v40\n",
    "branches": '@R.function\ndef f(v0: R.Tensor((2,), "float32"), c: R.Tensor((), "bool")):\n    if c:\n'
    + "        a = R.exp(v0)\n        b = R.sin(a)\n        z = R.cos(b)\n    else:\n"
    + "        a = R.exp(v0)\n        b = R.sin(a)\n        z = R.cos(b)\n    return z\n",
}


_LAYER = """    a{n} = R.add({x}, {x})
    b{n} = R.multiply({x}, a{n})
    c{n} = R.multiply(b{n}, b{n})
    d{n}: R.Tensor(("n", 2), "float32") = R.reshape(c{n}, R.shape([n, 2]))
    e{n} = (d{n}, b{n})
    f{n} = e{n}[{n}]
    g{n} = R.full((n, 2), R.const(1, "float32"), "float32")
"""
_ONE = "@R.function\ndef f({x}: R.Tensor(('n', 2), 'float32')):\n"
REPEATED = {
    "layers": "".join(_LAYER.format(n=n, x=f"d{n - 1}" if n else "v0") for n in range(6)),
    "a word is a variable later": "".join(
        [_LAYER.format(n=n, x="v0") for n in range(3)]
        + ["    R = v0\n    shape = v0\n    float32 = v0\n"]
        + [_LAYER.format(n=n, x="v0") for n in range(3, 6)]
    ),
    "a name of a variable in quotes": "".join(
        f'    global{n} = R.str("v{n}")\n    v{n + 1} = R.astype(v{n}, "float32")\n' for n in range(6)
    ),
    "a name of a variable as a keyword": "".join(
        f"    axis{n} = R.sum(v{n}, axis=[0])\n    v{n + 1} = R.add(v{n}, axis{n})\n    axis = axis{n}\n" for n in range(6)
    ),
    "scalars": "".join(
        f"    k{n}: R.Prim('int64') = R.prim_value({n})\n    v{n + 1} = R.add(v{n}, v{n})\n    s{n} = R.shape([k{n}, 2])\n"
        for n in range(6)
    ),
    "a scalar is bound again": "".join(
        f"    k: R.Prim('int64') = R.prim_value({n})\n    v{n + 1} = R.add(v{n}, v{n})\n    s{n} = R.add(k, k)\n    w{n} = R.shape([k, 2])\n"
        for n in range(6)
    ),
    "a variable has the name of an argument": "".join(
        f"    {name} = v{n}\n    v{n + 1} = R.sum(v{n}, {name}={value}\n    w{n} = R.exp(v{n})\n"
        for n, (name, value) in enumerate([("axis", "[0])"), ("keepdims", "True)"), ("dtype", "True)"), ("axis", "[1])")])
    ),
    "a field as an operand": "".join(f"    t{n} = (v0, v0)\n    u{n} = v0 + t{n}[{n % 2}]\n    w{n} = R.add(t{n}[1], t{n}[0])\n" for n in range(6)),
    "scalars without annotations": "".join(f"    k{n} = R.prim_value({n})\n    w{n} = R.shape([k{n}, 2])\n" for n in range(6)),
    "the same mistake again": "".join(f"    u{n} = R.add(v0, nobody)\n    w{n} = R.add(v0)\n" for n in range(4)),
    "a shape in a variable": "".join(
        f"    s{n} = R.shape([n, {n}])\n    t{n} = R.call_packed('f', v0, sinfo_args=R.Tensor(s{n}, 'float32'))\n" for n in range(6)
    ),
    "the same name again": "".join("    v0 = R.add(v0, v0)\n    w = R.exp(v0)\n    v0 = R.add(w, v0)\n" for _ in range(6)),
    "unknown names": "".join(f"    v{n + 1} = R.add(v{n}, v{n})\n    u{n} = R.add(v{n}, nobody{n})\n" for n in range(6)),
    "calls that stand alone": "".join(
        f"    a{n} = R.vm.alloc_storage(R.shape([8]), 0, R.dtype('uint8'))\n"
        f"    R.vm.kill_object(a{n})\n    cls.other(a{n}, v0)\n" for n in range(6)
    ),
    "matches": "".join(f"    m{n} = R.match_cast(v0, R.Tensor((q{n}, 2), 'float32'))\n    h{n} = R.zeros((q{n}, 2), 'float32')\n" for n in range(6)),
}  # fmt: skip


@pytest.mark.parametrize("name", REPEATED)
@pytest.mark.parametrize("in_block", [False, True])
def test_repeated_lines_read_alike(
    name: str, in_block: bool, small: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = REPEATED[name].replace("'", '"')
    if in_block:
        lines = body.replace("\n    ", "\n        ")
        body = f"    with R.dataflow():\n    {lines.rstrip()}\n        R.output()\n"
    text = _ONE.format(x="v0").replace("'", '"') + body + "    return v0\n"
    one, many = in_pieces(text, monkeypatch)
    assert one == many


def test_lines_of_one_form_are_parsed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    text = transformer(4000)
    made = python_tree.python_tree
    parsed: list[str] = []
    monkeypatch.setattr(python_tree, "python_tree", lambda text: parsed.append(text) or made(text))
    module = rxe.parse(text)
    assert len(list(bindings(module["main"]))) >= 4000
    assert sum(map(len, parsed)) < len(text) / 10


@pytest.mark.parametrize("name", TRICKY)
def test_tricky_text_reads_alike(name: str, small: None, monkeypatch: pytest.MonkeyPatch) -> None:
    one, many = in_pieces(TRICKY[name], monkeypatch)
    assert one == many


def test_runs_are_cut_out_of_a_long_text() -> None:
    text = transformer(4000)
    skeleton, runs = python_tree.cut(text)
    assert len(skeleton) < len(text) / 4
    assert sum(len(run.lines) for run in runs.values()) > 3000
    assert len(list(bindings(rxe.parse(text)["main"]))) >= 4000


MEASURE = """
import resource, sys
import relax_explorer as rxe
rxe.parse("@R.function\\ndef f():\\n    return R.tuple()\\n")
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
module = rxe.load(sys.argv[1])
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no resource module")
def test_memory_of_a_long_text_is_bounded(tmp_path: Path) -> None:
    """Reading 30,000 bindings takes at most 4 KB for each."""
    path = tmp_path / "long.py"
    path.write_text(transformer(30_000), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, str(path)], capture_output=True, text=True, check=True
    )
    unit = 1 if sys.platform == "darwin" else 1024
    assert int(done.stdout) * unit < 4096 * 30_000


# -- functions that were read before ---------------------------------------------------------------------------------


KERNEL = """    @T.prim_func
    def k(a: T.Buffer((4,), "float32")):
        for i in range(4):
            a[i] = T.float32(1)
"""
MODULE = "{above}@I.ir_module\nclass Module:\n{kernel}{more}\n    @R.function\n    def main(x: R.Tensor((2,))):\n        return x\n"


@pytest.mark.parametrize(
    ("above", "before", "more", "is_parsed"),
    [
        ("", "", "", False),
        ("", "", "\n\n", False),
        ("", "", "        a[0] = T.float32(2)\n", True),  # the function goes on
        ("", "    @other\n", "", True),
        ("n = T.int64()\ni = T.int32()\n", "", "", True),  # a name in it is declared here
        ("", "", KERNEL, True),  # defined twice
        (f'"""\n{KERNEL}"""\n', "", "", True),  # a text, not a function
    ],
)
def test_a_kernel_of_another_stage_is_not_parsed_again(
    above: str, before: str, more: str, is_parsed: bool, small: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernels: Kernels = {}
    read(MODULE.format(above="", kernel=KERNEL, more=""), kernels=kernels)
    text = MODULE.format(above=above, kernel=before + KERNEL, more=more)
    first, problems = read(text, "x.py")
    parsed: list[str] = []
    made = python_tree.python_tree
    monkeypatch.setattr(python_tree, "python_tree", lambda text: parsed.append(text) or made(text))
    second, again = read(text, "x.py", kernels=kernels)
    assert any("for i in" in item for item in parsed) is is_parsed
    assert list(map(str, again.sorted())) == list(map(str, problems.sorted()))
    assert first is not None
    assert second is not None
    assert second.script() == first.script()
