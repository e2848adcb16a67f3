"""Which stages of a recorded build are those of its module: helpers, kernels alone, pass managers and other builds stand aside."""

from __future__ import annotations

from pathlib import Path

import pytest

from relax_explorer.core.session.build_files import open_build
from relax_explorer.core.session.builds import Build
from relax_explorer.core.session.recorded import RecordedSession
from relax_explorer.ui.tui.app import Explorer
from tests.cli.test_commands import rxe_cli
from tests.ui.test_explorer import screen_text, wait
from tests.ui.test_screens import idle, press, typed

HEAD = "@I.ir_module\nclass Module:\n"
EMPTY = f"{HEAD}    pass\n"


def relax(name: str, *operators: str, lowered: bool = False) -> str:
    """A Relax function that applies operators in a row."""
    lines = [f"        {name}{n} = R.{op}({name}{n - 1 if n else ''})\n" for n, op in enumerate(operators)]
    storage = (
        '        s = R.builtin.alloc_tensor(R.shape([4]), dtype="float32", runtime_device_index=0)\n'
        * lowered
    )
    body = "".join(lines).replace(f"({name})", "(x)")
    result = f"{name}{len(operators) - 1}" if operators else "x"
    pure = "(pure=False)" if lowered else ""
    return f'    @R.function{pure}\n    def {name}(x: R.Tensor((4,), "float32")):\n{storage}{body}        return {result}\n\n'


def kernel(name: str, number: float) -> str:
    """A kernel that adds a number."""
    return (
        f'    @T.prim_func\n    def {name}(X: T.Buffer((4,), "float32"), Y: T.Buffer((4,), "float32")):\n'
        f'        for i in range(4):\n            with T.sblock("{name}"):\n                at = T.axis.spatial(4, i)\n'
        f"                Y[at] = X[at] + T.float32({number})\n\n"
    )


INPUT = HEAD + relax("main", "exp", "sqrt", "tanh")
KERNELS = kernel("one", 1) + kernel("two", 2) + kernel("three", 3)
LEGAL = HEAD + KERNELS + relax("main", "exp", "sqrt", "tanh")
LOWERED = HEAD + KERNELS + relax("main", "exp", "sqrt", "tanh", lowered=True)
ALONE = HEAD + KERNELS
HELPER = HEAD + relax("helper", "cos")
NAMESAKE = HEAD + relax("main", "cos").replace("x: R", "y: R").replace("(4,)", "(9, 9, 9)").replace(
    "main0", "lv"
)
CUT = LEGAL[: LEGAL.index("def three") + 30]
CUT_BETWEEN = HEAD + kernel("one", 1) + kernel("two", 2)
FOLDED = HEAD + kernel("tir_function", 1)


def build_of(tmp_path: Path, *stages: tuple[str, str]) -> Build:
    folder = tmp_path / "dumps"
    folder.mkdir()
    for number, (name, text) in enumerate(stages):
        (folder / f"{number:03}_{name}.py").write_text(text)
    return open_build(folder)


def told(build: Build) -> str:
    """The numbers of the main stages, and the groups beside them."""
    aside = [f"{item.kind} {item.numbers}{f' of {item.of}' if item.of else ''}" for item in build.asides]
    return " ".join([*[str(stage.number) for stage in build.stages], *[f"({text})" for text in aside]])


START = (("A", INPUT), ("B", INPUT), ("LegalizeOps", LEGAL))
CASES = {
    "no more": (START, "0 1 2"),
    "an empty helper": ((*START, ("N", EMPTY), ("C", LEGAL)), "0 1 2 4 (helper 3 of C)"),
    "a helper of another name": ((*START, ("N", HELPER), ("M", HELPER), ("C", LEGAL)), "0 1 2 5 (helper 3–4 of C)"),
    "a helper of the same name": ((*START, ("N", NAMESAKE), ("C", LEGAL)), "0 1 2 4 (helper 3 of C)"),
    "a helper of kernels": ((*START, ("tirx.B", FOLDED), ("tirx.C", FOLDED), ("FoldConstant", LEGAL)), "0 1 2 5 (helper 3–4 of FoldConstant)"),
    "two helpers": ((*START, ("N", EMPTY), ("C", LEGAL), ("N", HELPER), ("D", LOWERED)), "0 1 2 4 6 (helper 3 of C) (helper 5 of D)"),
    "a helper first": ((("N", EMPTY), *START), "1 2 3 (helper 0 of A)"),
    "kernels alone": ((*START, ("tirx.B", ALONE), ("tirx.C", ALONE)), "0 1 2 (kernels 3–4)"),
    "kernels alone with an empty part": ((*START, ("tirx.B", ALONE), ("tirx.Filter", EMPTY), ("tirx.C", ALONE)), "0 1 2 (kernels 3–5)"),
    "a part of the kernels alone": ((*START, ("tirx.B", CUT_BETWEEN), ("tirx.C", CUT_BETWEEN)), "0 1 2 (kernels 3–4)"),
    "a manager": ((*START, ("sequential", LEGAL), ("_pipeline", LEGAL), ("C", LOWERED)), "0 1 2 5 (manager 3–4)"),
    "a manager that holds something new": ((*START, ("sequential", LOWERED)), "0 1 2 3"),
    "managers of the tail": ((*START, ("sequential", LEGAL), ("tirx.B", ALONE), ("sequential", ALONE)), "0 1 2 (manager 3) (kernels 4–5)"),
    "a pass in small letters": ((*START, ("my_pass", LEGAL)), "0 1 2 3"),
    "another build": ((*START, ("C", LOWERED), ("tirx.B", ALONE), ("A", INPUT), ("LegalizeOps", LEGAL)), "0 1 2 3 (kernels 4) (other 5–6)"),
    "a pass that undoes another": ((("A", INPUT), ("B", LEGAL), ("C", INPUT)), "0 1 2"),
    "a pass that rewrites everything": ((("A", INPUT), ("B", HEAD + relax("main", "cos", "sin")), ("C", LOWERED)), "0 1 2"),
    "a renamed function": ((*START, ("C", LEGAL.replace("main", "renamed")), ("D", LEGAL.replace("main", "renamed"))), "0 1 2 3 4"),
    "a new function": ((*START, ("C", LEGAL + relax("other", "sin"))), "0 1 2 3"),
    "a stage that was cut off": ((*START, ("C", CUT), ("D", LOWERED), ("tirx.B", ALONE)), "0 1 2 3 4 (kernels 5)"),
    "a stage that ends between functions": ((*START, ("C", CUT_BETWEEN), ("D", LOWERED), ("tirx.B", ALONE)), "0 1 2 3 4 (kernels 5)"),
    "the last stage ends between functions": ((*START, ("C", CUT_BETWEEN), ("tirx.B", ALONE), ("tirx.C", ALONE)), "0 1 2 3 (kernels 4–5)"),
    "a build of kernels": ((("tirx.A", ALONE), ("tirx.B", ALONE), ("sequential", ALONE)), "0 1 (manager 2)"),
    "a stage without a text": ((*START, ("C", ""), ("D", LOWERED)), "0 1 2 3 4"),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_the_lineage_of_each_stage(name: str, tmp_path: Path) -> None:
    stages, wanted = CASES[name]
    assert told(build_of(tmp_path, *stages)) == wanted


def test_a_log_has_the_lineages_of_the_folder(tmp_path: Path) -> None:
    for number, name in enumerate(CASES):
        stages, wanted = CASES[name]
        if name in ("a stage that was cut off", "a stage without a text"):
            continue  # a log that goes on holds whole modules
        heading = 'After Running Pass: transform.PassInfo(opt_level=0, name="{}", required=(), traceable=False)\n{}\n'
        path = tmp_path / f"{number}.log"
        path.write_text("".join([heading.format(made_by, text) for made_by, text in stages]))
        assert told(open_build(path)) == wanted, name


RAW = (
    *START,
    ("N", EMPTY),
    ("C", LOWERED),
    ("sequential", LOWERED),
    ("tirx.B", ALONE),
    ("tirx.C", ALONE.replace("T.float32(2", "T.float32(8")),
)


def test_values_and_commands_follow_the_main_lineage(tmp_path: Path) -> None:
    build = build_of(tmp_path, *RAW)
    session = RecordedSession(build)
    session.run_all()
    assert [trace.label for trace in session.who("main1")] == [0, 1, 2, 4]
    assert [item.number for item in session.stages] == [0, 1, 2, 3]
    assert session.stage("6").made_by == session.stage("tirx.B").made_by == "tirx.B"
    with pytest.raises(KeyError):
        session.stage("9")
    folder = str(tmp_path / "dumps")
    for command in ("bisect", "validate", "check"):
        done = rxe_cli(command, folder)
        assert done.exit_code == 0, done.output
        assert (
            "aside: 1 of a helper of C (3), 1 of a pass manager (5), 2 with kernels alone (6–7)"
            in done.stderr
        )
    kernel_rows = rxe_cli("who", folder, "two").stdout.split("\n")
    assert [line.split()[:3] for line in kernel_rows if "made" in line or "changed:" in line] == [
        ["2", "+", "LegalizeOps"], ["7", "~", "tirx.C"]]  # fmt: skip
    assert "tirx.C" in rxe_cli("diff", folder, "--between", "6..7").stdout
    assert [stage.number for stage in open_build(f"{folder}@6..7").stages] == [6, 7]
    assert rxe_cli("show", f"{folder}@3").stdout.rstrip().endswith("pass")
    assert rxe_cli("show", f"{folder}@8..9").exit_code == 2


def test_passes_go_on_from_a_recorded_stage(tmp_path: Path) -> None:
    build_of(tmp_path, *RAW)
    folder = str(tmp_path / "dumps")
    assert "builtin.alloc_tensor" not in rxe_cli("opt", f"{folder}@0", "-p", "LegalizeOps").stdout
    done = rxe_cli("compare", f"{folder}@B", f"{folder}@4", "-p", "LegalizeOps")
    assert (done.exit_code, "equal" in done.stdout, f"{folder}@4 C" in done.stdout) == (0, True, True), (
        done.output
    )
    assert rxe_cli("bisect", f"{folder}@1", "-p", "LegalizeOps,FuseOps").exit_code == 0
    assert rxe_cli("validate", folder, "-p", "LegalizeOps").exit_code == 2
    assert rxe_cli("opt", f"{folder}@nothing", "-p", "LegalizeOps").exit_code == 2


async def test_the_explorer_shows_what_stands_aside(tmp_path: Path) -> None:
    build_of(tmp_path, *RAW)
    app = Explorer(str(tmp_path / "dumps"))
    async with app.run_test(size=(140, 40)) as pilot:
        await wait(pilot, lambda: app.state.stages == 4)
        await idle(pilot, app)
        shown = screen_text(app)
        for text in ("▸ 3 a helper module", "─ 5 sequential", "▸ 6–7 kernels alone (2)"):
            assert text in shown
        await press(pilot, app, "tab", "end", "enter")
        await wait(pilot, lambda: app.state.path.endswith("@6..7") and app.state.stages == 2)
        await idle(pilot, app)
        assert "▴ dumps/" in screen_text(app)
        await press(pilot, app, "home", "enter")
        await wait(pilot, lambda: app.state.path.endswith("dumps") and app.state.stages == 4)


async def test_the_explorer_goes_on_from_a_recorded_stage(tmp_path: Path) -> None:
    build_of(tmp_path, *RAW)
    app = Explorer(str(tmp_path / "dumps"))
    async with app.run_test(size=(140, 40)) as pilot:
        await wait(pilot, lambda: app.state.stages == 4)
        await idle(pilot, app)
        await typed(pilot, app, "stage 1")
        await typed(pilot, app, "passes LegalizeOps")
        await wait(pilot, lambda: app.state.path.endswith("dumps@1") and app.state.stages == 2)
        await idle(pilot, app)
        assert app.state.session.stages[1].made_by == "LegalizeOps"
        assert "▴ dumps/" in screen_text(app)
        await typed(pilot, app, f"open {tmp_path}/dumps")
        await wait(pilot, lambda: app.state.path.endswith("dumps") and app.state.stages == 4)
        await idle(pilot, app)
        await press(pilot, app, "E")
        await wait(pilot, lambda: app.state.path.endswith("dumps@0") and len(app.screen_stack) > 1)
        assert "no passes; a adds one" in screen_text(app)


async def test_the_explorer_offers_the_passes_of_a_script(tmp_path: Path) -> None:
    path = tmp_path / "build.py"
    path.write_text(f"import os\n{INPUT}\nmod = relax.transform.LegalizeOps()(Module)\n")
    app = Explorer(str(path), "")
    async with app.run_test(size=(140, 40)) as pilot:
        await wait(pilot, lambda: "its script applies LegalizeOps" in screen_text(app))
        await idle(pilot, app)
        await typed(pilot, app, "passes file")
        await wait(pilot, lambda: app.state.stages == 2)
        assert app.state.session.stages[1].made_by == "LegalizeOps"


def test_equal_kernels_of_a_build_are_read_once(tmp_path: Path) -> None:
    other = LEGAL.replace("R.exp", "R.sin").replace("T.float32(3)", "T.float32(4)")
    n = "n = TypeVar('n')\n"
    stages = [
        stage.module
        for stage in build_of(
            tmp_path, ("A", LEGAL), ("B", other), ("C", n + other.replace("(4,)", "(n,)"))
        ).stages
    ]
    first, second, third = [module.functions for module in stages]
    assert [first[name] is second[name] for name in ("one", "two", "three", "main")] == [
        True,
        True,
        False,
        False,
    ]
    assert second["one"] is not third["one"]
