"""`rxe lsp` as an editor speaks to it: each request over pipes, wrong ones, bursts of edits, and random edits that are undone again."""

from __future__ import annotations

import asyncio
import random
import sys
from pathlib import Path
from typing import Any

import pytest

from relax_explorer.ui.editor.document import Document, Range, TextEdit, units_of
from tests.cli.test_commands import rxe_cli
from tests.lsp.documents import FILES, PROGRAM, PYTHON, opened
from tests.lsp.protocol_client import COMMAND, Client, Refused, served, span
from tests.lsp.test_spot_check import edits, long_program

LINES = PROGRAM.split("\n")
PYTHON_LINES = PYTHON.split("\n")


def line_of(text: str, lines: list[str] = LINES) -> int:
    return next(number for number, line in enumerate(lines) if text in line)


Y = line_of("y = R.matmul")


async def test_what_the_server_offers() -> None:
    async with served() as client:
        offered = client.result["capabilities"]  # type: ignore[attr-defined]  # `served` sets it
        assert offered["positionEncoding"] == "utf-16"
        assert offered["textDocumentSync"]["change"] == 2
        names = "hover definition references documentHighlight documentSymbol foldingRange rename inlayHint codeLens codeAction"
        assert {f"{name}Provider" for name in names.split()} <= set(offered)
        assert {"completionProvider", "signatureHelpProvider", "semanticTokensProvider"} <= set(offered)
        assert sorted(offered["executeCommandProvider"]["commands"]) == [
            "rxe.applyPass",
            "rxe.command",
            "rxe.passes",
            "rxe.run",
        ]


async def test_problems_come_with_places_hints_and_other_places() -> None:
    async with served() as client:
        uri = client.open(PROGRAM.replace("R.matmul(x, w)", "R.matmul(x, ww)"))
        (problem,) = await client.problems(uri)
        assert problem["range"] == span(Y, 24, 26)
        assert (problem["code"], problem["severity"], problem["source"]) == ("RX0014", 1, "relax-explorer")
        assert "'ww' is not defined" in problem["message"]
        assert "hint: " in problem["message"]
        assert "codeDescription" not in problem
        client.change(uri, {"range": span(Y, 24, 26), "text": "w"})
        assert await client.problems(uri) == []
        client.change(uri, {"text": PROGRAM.replace("R.exp(lv)", "R.add(w, R.const([1, 2, 3]))")})
        (problem, *_) = await client.problems(uri)
        assert {item["location"]["uri"] for item in problem.get("relatedInformation", [])} <= {uri}
        client.tell("textDocument/didClose", textDocument={"uri": uri})
        await asyncio.sleep(0.2)
        assert client.published(uri)[-1]["diagnostics"] == []


async def test_names() -> None:
    async with served() as client:
        uri = client.open(PROGRAM)
        hover = await client.at("hover", uri, Y, 8)
        assert "**y** `(n, 8) f32`" in hover["contents"]["value"]
        assert hover["range"] == span(Y, 8, 9)
        use = Y + 1
        place = await client.at("definition", uri, use, 25)
        assert place == {"uri": uri, "range": span(Y, 8, 9)}
        with_it = await client.at("references", uri, use, 25, context={"includeDeclaration": True})
        without = await client.at("references", uri, use, 25, context={"includeDeclaration": False})
        assert (len(with_it), len(without)) == (3, 2)
        marks = await client.at("documentHighlight", uri, use, 25)
        assert sorted(item["kind"] for item in marks) == [2, 2, 3]
        assert (await client.at("prepareRename", uri, use, 25))["placeholder"] == "y"
        changes = (await client.at("rename", uri, use, 25, newName="hidden"))["changes"][uri]
        assert [item["newText"] for item in changes] == ["hidden"] * 3
        for name, reason in (
            ("x", "is a parameter here already"),
            ("for", "is a keyword"),
            ("", "is not a name"),
        ):
            with pytest.raises(Refused, match=reason):
                await client.at("rename", uri, use, 25, newName=name)
        with pytest.raises(Refused, match="no variable, function"):
            await client.at("prepareRename", uri, 0, 0)


async def test_what_is_shown_along_the_text() -> None:
    async with served() as client:
        uri = client.open(PROGRAM)
        document = {"uri": uri}
        hints = await client.ask("textDocument/inlayHint", textDocument=document, range=span(0, 0, 0, 99))
        assert [hint["label"] for hint in hints] == [": (n, 8) f32"] * 6
        assert hints[0]["position"] == {"line": Y, "character": 9}
        (module,) = await client.ask("textDocument/documentSymbol", textDocument=document)
        assert [child["name"] for child in module["children"]] == ["double", "main"]
        folds = await client.ask("textDocument/foldingRange", textDocument=document)
        assert {"startLine": line_of("if c:"), "endLine": line_of("r = R.add")} in folds
        lenses = await client.ask("textDocument/codeLens", textDocument=document)
        assert [lens["command"]["title"] for lens in lenses] == ["run", "debug", "graph", "passes"]
        whole = (await client.ask("textDocument/semanticTokens/full", textDocument=document))["data"]
        part = (
            await client.ask("textDocument/semanticTokens/range", textDocument=document, range=span(Y, 0, 99))
        )["data"]
        assert len(whole) % 5 == 0
        assert len(part) < len(whole)
        assert part[0] == Y
        assert [item["method"] for item in client.asked] == ["workspace/inlayHint/refresh"]


async def test_writing() -> None:
    async with served() as client:
        uri = client.open(PROGRAM)
        await client.problems(uri)
        client.change(uri, {"range": span(Y, 12, 26), "text": "R.nn.soft"})
        found = await client.at("completion", uri, Y, 21)
        item = next(item for item in found["items"] if item["label"] == "nn.softmax")
        assert item["textEdit"] == {"range": span(Y, 14, 21), "newText": "nn.softmax"}
        client.change(uri, {"range": span(Y, 12, 21), "text": "R.matmul(x, "})
        names = [item["label"] for item in (await client.at("completion", uri, Y, 24))["items"]]
        assert "w" in names
        assert "c" not in names
        shown = await client.at("signatureHelp", uri, Y, 24)
        assert (shown["signatures"][0]["label"], shown["activeParameter"]) == (
            "R.matmul(x1, x2, out_dtype=None)",
            1,
        )
        assert await client.at("signatureHelp", uri, 0, 0) is None
        assert (await client.at("completion", uri, 0, 3))["items"] == []


async def test_corrections() -> None:
    async with served() as client:
        uri = client.open(PROGRAM)
        where = {"textDocument": {"uri": uri}, "range": span(Y, 15, 15), "context": {"diagnostics": []}}
        found = {item["title"]: item for item in await client.ask("textDocument/codeAction", **where)}
        assert "Write the StructInfo of y" in found
        assert "edit" not in found["Replace R.matmul by kernels"]
        done = await client.ask("codeAction/resolve", **found["Replace R.matmul by kernels"])
        assert "def matmul(" in str(done["edit"]["changes"][uri])
        quick = await client.ask(
            "textDocument/codeAction", **{**where, "context": {"diagnostics": [], "only": ["quickfix"]}}
        )
        assert quick == []
        client.change(
            uri, {"text": PROGRAM.replace("y = R.matmul", 'y: R.Tensor((9, 8), "float32") = R.matmul')}
        )
        fixes = await client.ask("textDocument/codeAction", **{**where, "range": span(Y, 0, 90)})
        (fix,) = [item for item in fixes if item["kind"] == "quickfix"]
        assert fix["isPreferred"]
        assert fix["edit"]["changes"][uri]
        with pytest.raises(Refused, match="nothing would change"):
            await client.ask("codeAction/resolve", title="gone", data=[uri, 0, 0, 0, 0])
    async with served(capabilities={}) as client:  # such a client can't ask for the edits later
        uri = client.open(PROGRAM)
        found = {item["title"]: item for item in await client.ask("textDocument/codeAction", **where)}
        assert "def matmul(" in str(found["Replace R.matmul by kernels"]["edit"])


async def test_commands() -> None:
    async with served() as client:
        uri = client.open(PROGRAM, "file:///a%20folder/model.py")

        async def run(name: str, *arguments: Any) -> Any:
            return await client.ask("workspace/executeCommand", command=name, arguments=list(arguments))

        stages = await run("rxe.applyPass", uri, "LegalizeOps", Y)
        assert "R.matmul" in stages["before"]
        assert "R.matmul" not in stages["after"]
        assert "became calls of" in stages["sentence"]
        assert {"name", "doc"} <= set((await run("rxe.passes"))[0])
        assert await run("rxe.command", uri, "main", "debug") == "rxe debug '/a folder/model.py' --func main"
        assert await run("rxe.command", uri) == "rxe '/a folder/model.py'"
        assert client.notes[-1]["method"] == "window/showMessage"
        assert "values are shown" in await run("rxe.run", uri, "main")
        assert "last run: `(" in (await client.at("hover", uri, Y, 8))["contents"]["value"]
        client.change(uri, {"range": span(Y, 24, 25), "text": "w "})
        assert "last run" not in (await client.at("hover", uri, Y, 8))["contents"]["value"]  # of another text
        for name, arguments, reason in (
            ("rxe.applyPass", [uri, "Legalise", Y], "no pass 'Legalise'"),
            ("rxe.applyPass", [uri], "takes 2 to 2 texts"),
            ("rxe.applyPass", ["file:///none.py", "FuseOps"], "is not open"),
            ("rxe.run", [uri, "nobody"], "no program here has a function nobody"),
            ("rxe.run", [3], "takes 1 to 2 texts"),
            ("rxe.command", [uri, "main", "fly"], "no command fly"),
            ("rxe.none", [], "not defined"),
        ):
            with pytest.raises(Refused, match=reason):
                await run(name, *arguments)


async def test_a_client_with_a_terminal_is_not_told_command_lines() -> None:
    async with served(initializationOptions={"terminal": True}) as client:
        uri = client.open(PROGRAM)
        await client.ask("workspace/executeCommand", command="rxe.command", arguments=[uri, "main", "graph"])
        assert not [note for note in client.notes if note["method"] == "window/showMessage"]


@pytest.mark.parametrize("ends", ["\n", "\r\n", "\r"])
async def test_programs_in_a_python_file_with_wide_characters(ends: str) -> None:
    """Nothing is said of the Python around; columns count 16-bit units, and lines end as they like."""
    text = PYTHON.replace("y = R.matmul(x, w)", 'y = R.print(x, format="😀𝕏", w=ww)').replace("\n", ends)
    line = line_of("y = R.matmul", PYTHON_LINES)
    async with served() as client:
        uri = client.open(text, "untitled:Untitled-1")
        problems = await client.problems(uri)
        assert problems
        assert all(problem["range"]["start"]["line"] in range(9, 60) for problem in problems)
        start = PYTHON_LINES[line].index("y =")
        client.change(uri, {"range": span(line, start + 4, start + 35), "text": "R.matmul(x, w)"})
        assert await client.problems(uri) == []
        assert await client.at("hover", uri, line_of("np.zeros", PYTHON_LINES), 8) is None
        assert (await client.at("completion", uri, line_of("np.zeros", PYTHON_LINES), 8))["items"] == []


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32"])
async def test_a_client_chooses_its_units(encoding: Any) -> None:
    wide = PROGRAM.replace("y = R.matmul(x, w)", 'R.print(format="😀é"); y = R.matmul(x, ww)')
    column = wide.split("\n")[Y].index("ww")
    async with served(capabilities={"general": {"positionEncodings": [encoding]}}) as client:
        uri = client.open(wide)
        starts = [problem["range"]["start"] for problem in await client.problems(uri)]
        assert {"line": Y, "character": units_of(wide.split("\n")[Y], column, encoding)} in starts
        units = units_of(wide.split("\n")[Y], column, encoding)
        client.change(uri, {"range": span(Y, units, units + 2), "text": "w"})
        assert "RX0014" not in [problem["code"] for problem in await client.problems(uri)]


async def test_questions_about_what_is_not_there() -> None:
    async with served() as client:
        for method in ("hover", "definition", "completion", "prepareRename"):
            with pytest.raises(Refused, match="is not open"):
                await client.at(method, "file:///none.py", 0, 0)
        uri = client.open("")
        assert await client.problems(uri) == []
        assert await client.at("hover", uri, 99, 99) is None
        assert await client.at("definition", uri, 5, 0) is None
        assert await client.at("references", uri, 0, 0, context={"includeDeclaration": True}) == []
        assert await client.ask("textDocument/codeLens", textDocument={"uri": uri}) == []
        client.change(uri, {"range": span(7, 3, 9, 12), "text": PROGRAM})
        assert await client.problems(uri) == []


async def test_a_burst_of_edits_is_checked_once() -> None:
    async with served() as client:
        uri = client.open(long_program(3_000))
        assert await client.problems(uri) == []
        count, line = len(client.published(uri)), 1_500
        for character in "zz zzzz":
            client.change(uri, {"range": span(line, 34, 34), "text": character})
        (problem, *_) = await client.problems(uri)
        assert len(client.published(uri)) <= count + 2  # at once, and of the whole
        assert client.published(uri)[-1]["version"] == client.versions[uri]
        assert problem["range"]["start"]["line"] == line


async def test_problems_come_before_the_whole_is_checked() -> None:
    """A question that waits for the whole is answered after the problems of the edited line came, and may be cancelled."""
    async with served() as client:
        uri = client.open(long_program(8_000))
        assert await client.problems(uri) == []
        line = 4_001
        text = long_program(8_000).split("\n")[line]
        client.change(uri, {"range": span(line, len(text) - 1, len(text) - 1), "text": "zz"})
        number, waiting = client.start(
            "textDocument/inlayHint", textDocument={"uri": uri}, range=span(0, 0, 0, 3)
        )
        client.tell("$/cancelRequest", id=number)
        assert "error" in await asyncio.wait_for(waiting, 60)
        (problem,) = await client.problems(uri)
        assert problem["range"]["start"]["line"] == line
        published = client.published(uri)
        assert (
            published[-1]["diagnostics"] == published[-2]["diagnostics"]
        )  # at once what the whole told later


async def test_several_documents_do_not_wait_for_each_other() -> None:
    async with served() as client:
        uris = [
            client.open(PROGRAM.replace("R.exp(lv)", f"R.exp(lv{n})"), f"file:///{n}.py") for n in range(4)
        ]
        for number, uri in enumerate(uris):
            (problem,) = await client.problems(uri)
            assert f"'lv{number}' is not defined" in problem["message"]
        client.change(uris[2], {"text": PROGRAM})
        assert await client.problems(uris[2]) == []
        assert len(client.published(uris[3])[-1]["diagnostics"]) == 1


async def test_who_waits_for_a_document_that_is_closed_is_told() -> None:
    async with served() as client:
        uri = client.open(long_program(8_000))
        _, waiting = client.start("textDocument/documentSymbol", textDocument={"uri": uri})
        client.tell("textDocument/didClose", textDocument={"uri": uri})
        assert "was closed" in (await asyncio.wait_for(waiting, 30))["error"]["message"]
        assert await client.problems(client.open(PROGRAM)) == []


# -- random edits ----------------------------------------------------------------------------------------------------


def inverse(document: Document, edit: TextEdit) -> TextEdit:
    """The edit that undoes another."""
    after = document.edited(edit)
    first = document.offset(edit.range.start)
    end = first + len(edit.text)
    return TextEdit(Range(after.position(first), after.position(end)), document.part(edit.range))


def sent(document: Document, edit: TextEdit) -> dict[str, Any]:
    """An edit as a change of the protocol."""
    (start, end) = [
        {"line": place.line, "character": units_of(document.line(place.line), place.column, "utf-16")}
        for place in edit.range
    ]
    return {"range": {"start": start, "end": end}, "text": edit.text}


QUESTIONS = ("hover", "definition", "completion", "signatureHelp", "documentHighlight", "prepareRename")


async def asked(client: Client, uri: str, document: Document, chance: random.Random) -> None:
    """Ask something about a random place; that nothing to rename stands there is an answer, too."""
    line = chance.randrange(len(document.starts))
    _, answer = client.start(
        f"textDocument/{chance.choice(QUESTIONS)}", textDocument={"uri": uri},
        position={"line": line, "character": chance.randrange(len(document.line(line)) + 3)},
    )  # fmt: skip
    error = (await asyncio.wait_for(answer, 30)).get("error")
    assert error is None or error["code"] == -32803, error


@pytest.mark.parametrize("seed", range(4))
async def test_random_edits(seed: int) -> None:
    """The server answers whatever was typed, and when all edits are undone its problems are those of the start."""
    chance = random.Random(seed)
    files = [
        PROGRAM,
        PYTHON.replace("R.exp(lv)", "R.exp(lv)  # 😀"),
        *[Path(path).read_text(encoding="utf-8") for path in FILES[:14]],
    ]
    document = Document("model.py", files[seed] if seed < 2 else chance.choice(files[2:]))
    async with served() as client:
        uri = client.open(document.text)
        before = await client.problems(uri)
        undo = []
        for edit in edits(document, seed, 40):
            if edit.range.end > document.whole.end:
                continue
            undo.append(inverse(document, edit))
            client.change(uri, sent(document, edit))
            document = document.edited(edit)
            if chance.random() < 0.5:
                await asked(client, uri, document, chance)
            if chance.random() < 0.2:
                await asyncio.sleep(0.05)
        wanted = [
            (item.code.id, item.span.line - 1 if item.span else 0) for item in opened(document.text).problems
        ]
        found = [(item["code"], item["range"]["start"]["line"]) for item in await client.problems(uri)]
        assert found == wanted
        for edit in reversed(undo):
            client.change(uri, sent(document, edit))
            document = document.edited(edit)
        assert await client.problems(uri) == before


# -- command ---------------------------------------------------------------------------------------------------------


def test_without_pygls_it_tells_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "relax_explorer.ui.lsp.language_server", None)
    done = rxe_cli("lsp")
    assert (done.exit_code, "pip install 'pygls>=2.0,<3' '" in done.output) == (2, True)


async def test_it_ends_with_its_editor() -> None:
    """An editor that dies closes the pipe: the server ends, and says nothing of errors."""
    process = await asyncio.create_subprocess_exec(*COMMAND, stdin=-1, stdout=-1, stderr=-1)
    client = Client(process)
    await client.ask("initialize", processId=None, rootUri=None, capabilities={})
    client.open(long_program(2_000))
    assert process.stdin is not None
    process.stdin.close()
    assert await asyncio.wait_for(process.wait(), 20) is not None
    assert process.stderr is not None
    assert b"Traceback" not in await process.stderr.read()
    client.reader.cancel()


async def test_the_profile_of_tvm() -> None:
    text = PROGRAM.replace("R.exp(lv)", "R.exp(lv, 3)")
    async with served("--profile", "tvm", "--stdio") as client:
        assert await client.problems(client.open(text))
