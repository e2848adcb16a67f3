"""`rxe serve`: only the address with its token reaches the explorer, Chromium shows it, and Ctrl+C ends everything."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import socket
import subprocess
import sys
import tomllib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from relax_explorer.ui.cli import token_server
from relax_explorer.ui.cli.token_server import Tab
from tests.cli.test_commands import rxe_cli
from tests.support.chromium import browsed
from tests.support.roundtrip import SAMPLES

COMMAND = (sys.executable, "-m", "relax_explorer")
BINARY = aiohttp.WSMsgType.BINARY
PROGRAM = str(next(path for path in SAMPLES if path.stem.startswith("12")))


@asynccontextmanager
async def served(*arguments: str) -> AsyncIterator[tuple[asyncio.subprocess.Process, str]]:
    """The process of `serve`, and its address."""
    command = [*COMMAND, "serve", "--port", "0", *arguments]
    process = await asyncio.create_subprocess_exec(*command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    try:
        yield process, (await asyncio.wait_for(process.stdout.readline(), 30)).decode().strip()
    finally:
        if process.returncode is None:  # a test may have killed it
            process.send_signal(signal.SIGTERM)
            assert await process.wait() == 0


async def text_until(frames: Any, wanted: str) -> str:
    """What arrived until a text did, without the sequences that steer a terminal."""
    got = ""
    async with asyncio.timeout(30):
        async for frame in frames:
            got += frame
            if wanted in (shown := re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", got)):
                return shown
    raise AssertionError(f"{wanted!r} did not arrive")


def children(process: int) -> list[int]:
    """The processes that a process started, and theirs."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:  # it has ended
            continue
        if int(fields[1]) == process:
            found += [int(path.parent.name), *children(int(path.parent.name))]
    return found


def listening_at(port: int) -> set[str]:
    """The addresses on which something listens to a port."""
    found = set()
    for line in (Path("/proc/net/tcp").read_text() + Path("/proc/net/tcp6").read_text()).splitlines():
        address, state = line.split()[1], line.split()[3]
        if state == "0A" and address.endswith(f":{port:04X}"):
            found.add({"0100007F": "127.0.0.1"}.get(address.split(":")[0], address))
    return found


def origin(address: str) -> str:
    """What a browser says of the page at an address."""
    return address.rsplit("/", 2)[0]


async def test_only_the_address_with_the_token_is_served() -> None:
    async with served(PROGRAM) as (process, address), aiohttp.ClientSession() as client:
        host, token = re.fullmatch(r"http://(127\.0\.0\.1:\d+)/([\w-]{32})/", address).groups()
        assert listening_at(int(host.split(":")[1])) == {"127.0.0.1"}
        near = token[:-1] + ("y" if token.endswith("x") else "x")
        guesses = [
            "",
            "ws",
            "static/js/textual.js",
            "x/",
            f"{near}/",
            f"{near}/ws",
            f"x{token}/",
            f"%00/{token}/",
            f"{token.upper()}/ws",
        ]
        for guess in guesses:
            async with client.get(f"http://{host}/{guess}") as answer:
                assert (guess, answer.status) == (guess, 403)
                assert token not in await answer.text()
        with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
            await client.ws_connect(f"ws://{host}/{token[:-1]}/ws")
        assert refused.value.status == 403
        async with client.get(address, headers={"Host": "rebound.example"}) as answer:
            assert answer.status == 403
        async with client.get(f"{address}static/../token_server.py") as answer:
            assert answer.status == 404
        async with client.get(address) as answer:
            assert (answer.status, answer.headers["Referrer-Policy"]) == (200, "no-referrer")
            assert "https://" not in await answer.text()
        async with client.ws_connect(
            f"ws://{host}/{token}/ws?width=100&height=30", origin=f"http://{host}"
        ) as terminal:
            frames = (
                frame.data.decode(errors="replace")
                async for frame in terminal
                if frame.type == aiohttp.WSMsgType.BINARY
            )
            await text_until(frames, "nn.layer_norm")
            assert len(children(process.pid)) >= 1
            process.send_signal(signal.SIGINT)
            async with asyncio.timeout(5):
                assert await process.wait() == 0
        assert process.stderr is not None
        assert (await process.stderr.read()).decode() == ""
        assert children(process.pid) == []


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 403), ({"Origin": "https://evil.example"}, 403), ({"Origin": "null"}, 403), ({"Origin": "HOST:1"}, 403),
        ({"Origin": "https://HOST"}, 403), ({"Origin": "http://localhost:PORT"}, 403), ({"Origin": "http://HOST"}, 101),
        ({"Origin": "http://localhost:PORT", "Host": "localhost:PORT"}, 101),
    ],
)  # fmt: skip
async def test_a_websocket_opens_for_our_page_only(
    headers: dict[str, str], status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = []

    async def started_instead(tab: Tab, *size: str) -> None:
        started.append(size)

    monkeypatch.setattr(Tab, "converse", started_instead)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = token_server.TokenServer(["true"], listener, "")
        runner = web.AppRunner(await server._make_app())
        await runner.setup()
        await web.SockSite(runner, listener).start()
        host = f"127.0.0.1:{listener.getsockname()[1]}"
        given = {
            name: value.replace("HOST", host).replace("PORT", host[10:]) for name, value in headers.items()
        }
        async with aiohttp.ClientSession() as client:
            try:
                async with client.ws_connect(f"{server.address}ws", headers=given):
                    got = 101
            except aiohttp.WSServerHandshakeError as refused:
                got = refused.status
            foreign = {"Origin": "https://evil.example"}
            for place in ("", "static/js/textual.js", "download/x"):
                async with client.get(f"{server.address}{place}", headers=foreign) as answer:
                    assert answer.status == 403
        await runner.cleanup()
    assert (got, len(started)) == (status, int(status == 101))


@pytest.mark.parametrize("ending", ["kill -9", "closed"])
async def test_an_explorer_that_does_not_answer_ends_with_its_server_and_with_its_tab(ending: str) -> None:
    async with (
        served(PROGRAM) as (process, address),
        aiohttp.ClientSession() as client,
        client.ws_connect(f"{address}ws", origin=origin(address)) as terminal,
    ):
        frames = (item.data.decode(errors="replace") async for item in terminal if item.type == BINARY)
        await text_until(frames, "nn.layer_norm")
        deaf = children(process.pid)
        assert len(deaf) >= 2, "the keeper, and the explorer under it"
        os.kill(max(deaf), signal.SIGSTOP)
        if ending == "closed":
            await terminal.close()
        else:
            process.kill()
            await process.wait()
        async with asyncio.timeout(15):
            while any(Path(f"/proc/{pid}").exists() and state(pid) != "Z" for pid in deaf):
                await asyncio.sleep(0.05)


def state(process: int) -> str:
    """The letter of a process's state; Z for one that is gone."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return "Z"


HUGE = 10**8
ODD_MESSAGES = (
    f'["resize", {{"width": {HUGE}, "height": {HUGE}}}]', '["resize", {"width": -5, "height": 0}]', '["resize", {"width": "x"}]',
    '["resize", [1]]', '["resize"]', "[]", "{}", "7", "nonsense", "[" * 100_000, '["stdin", 5]', '["stdin", "\\ud800"]', '["nothing", 1]',
    '["resize", {"width": 1e308, "height": null}]', '["resize", {"width": 1, "height": 1}]',
)  # fmt: skip


async def test_sizes_are_bounded_and_odd_messages_change_nothing() -> None:
    async with (
        served(PROGRAM) as (process, address),
        aiohttp.ClientSession() as client,
        client.ws_connect(f"{address}ws?width={HUGE}&height={HUGE}", origin=origin(address)) as terminal,
    ):
        for message in ODD_MESSAGES:
            await terminal.send_str(message)
        await terminal.send_str('["resize", {"width": 100, "height": 30}]')
        await terminal.send_str('["ping", 17]')
        frames = (item.data.decode(errors="replace") async for item in terminal if item.type == BINARY)
        await text_until(frames, "nn.layer_norm")
        most = max(int(Path(f"/proc/{pid}/statm").read_text().split()[1]) for pid in children(process.pid))
        assert most * os.sysconf("SC_PAGE_SIZE") < 1 << 30


async def test_nothing_in_the_current_folder_is_executed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("click", "relax_explorer", "textual", "numpy"):
        (tmp_path / f"{name}.py").write_text("open('executed', 'w').close()\n")
    script = tmp_path / "bin" / "rxe.py"  # as an installed command, whose folder is not the current one
    script.parent.mkdir()
    script.write_text(
        f"import sys\nsys.path.insert(0, {str(SAMPLES[0].parent.parent)!r})\nfrom relax_explorer.ui.cli.main import main\nmain()\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(f"{__name__}.COMMAND", (sys.executable, str(script)))
    async with (
        served(PROGRAM) as (_, address),
        aiohttp.ClientSession() as client,
        client.ws_connect(
            f"{address.replace('http', 'ws')}ws?width=100&height=30", origin=origin(address)
        ) as terminal,
    ):
        frames = (
            frame.data.decode(errors="replace")
            async for frame in terminal
            if frame.type == aiohttp.WSMsgType.BINARY
        )
        await text_until(frames, "nn.layer_norm")
    assert not (tmp_path / "executed").exists()


def test_what_is_wrong_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        done = rxe_cli("serve", PROGRAM, "--port", str(taken.getsockname()[1]))
    assert (done.exit_code, "is taken; --port 0 takes a free one" in done.output) == (2, True)
    assert "a number from 0 to 65535" in rxe_cli("serve", "--port", "65536").output
    assert "there is no such file" in rxe_cli("serve", str(tmp_path / "none.py")).output
    assert "each tab of the browser reads it again" in rxe_cli("serve", "-").output
    monkeypatch.setitem(sys.modules, "relax_explorer.ui.cli.token_server", None)
    done = rxe_cli("serve", PROGRAM)
    assert (done.exit_code, "pip install 'textual-serve>=1.1,<2'" in done.output) == (2, True)


def test_tokens_are_compared_in_constant_time(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    real = token_server.hmac.compare_digest
    monkeypatch.setattr(token_server.hmac, "compare_digest", lambda a, b: asked.append((a, b)) or real(a, b))
    with socket.create_server(("127.0.0.1", 0)) as listener:
        first, second = (token_server.TokenServer(["true"], listener, "") for _ in range(2))
    assert first.address != second.address

    async def ask() -> int:
        from aiohttp.test_utils import make_mocked_request

        request = make_mocked_request("GET", "/wrong/", headers={"Host": "127.0.0.1"})
        return (await first._guarded(request, first.page)).status

    assert asyncio.run(ask()) == 403
    assert asked == [(b"wrong", first.address.split("/")[3].encode())]


# -- in a browser ---------------------------------------------------------------------------------------------------


def test_the_command_of_a_hint_installs_what_the_extra_says() -> None:
    """An extra can't be named where a checkout is installed: the hint names the package itself."""
    from relax_explorer.ui.cli import comparing, editing, exploring

    extras = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"][
        "optional-dependencies"
    ]
    assert extras["serve"] == [exploring._SERVER]
    assert extras["lsp"] == [*editing._PACKAGES]
    assert extras["distributed"] == [comparing._SCHEDULER]


async def test_exports_are_downloads_of_the_browser(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is written where the server runs, unless the name has a folder."""
    served_from, downloads = tmp_path / "server", tmp_path / "downloads"
    served_from.mkdir()
    downloads.mkdir()
    monkeypatch.chdir(served_from)
    monkeypatch.setenv("PYTHONPATH", str(SAMPLES[0].parent.parent))
    async with served(PROGRAM) as (_, address), browsed(address, tmp_path / "profile") as page:
        await text_until(page.arrived(), "nn.layer_norm")
        await page.call("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(downloads))
        await page.press("3")
        await text_until(page.arrived(), "hjkl")
        await page.press("e")
        await text_until(page.arrived(), "downloads of the browser")
        async with asyncio.timeout(20):
            while not (found := [path for path in downloads.iterdir() if path.suffix == ".svg"]):
                await page.value("1")  # messages of the page are read meanwhile
                await asyncio.sleep(0.05)
        assert found[0].read_bytes().rstrip().endswith(b"</svg>")
        assert list(served_from.iterdir()) == []
        assert not await page.value("document.body.classList.contains('-closed')")  # the page is still there
        await page.press("4")
        await text_until(page.arrived(), "Problems of all stages")


async def test_chromium_shows_the_explorer_and_sends_its_keys(tmp_path: Path) -> None:
    async with served(PROGRAM) as (_, address), browsed(address, tmp_path / "profile") as page:
        shown = await text_until(page.arrived(), "nn.layer_norm")
        assert "12_transformer_layer.py" in shown
        assert await page.value("document.title") == "12_transformer_layer.py"
        assert await page.value("document.body.classList.contains('-first-byte')")
        assert await page.value("document.querySelector('#terminal canvas, #terminal .xterm-rows') !== null")
        await page.press("4")
        await text_until(page.arrived(), "Problems of all stages")
        assert not [line for line in page.console if "Content Security Policy" in line]


# -- the page --------------------------------------------------------------------------------------------------------


async def test_the_page_is_served_with_its_document_to_who_has_the_token() -> None:
    async with served("--web", PROGRAM) as (_, address), aiohttp.ClientSession() as client:
        async with client.get(address) as answer:
            text = await answer.text()
            assert answer.status == 200
            assert "connect-src 'self'" in text
            assert 'data-from="document"' in text
        async with client.get(f"{address}document") as answer:
            found = await answer.json()
            assert (found["rows"], found["run"], len(found["stages"][0]["by"]) > 0) == ([], None, True)
        live = f"live={found['live']}"
        count = len(found["stages"])
        while not found["is_complete"]:
            async with client.get(f"{address}part/more/{count}?{live}") as answer:
                found = await answer.json()
                count += len(found["stages"])
        for part, key in (("stage/1", "body"), ("run", "run"), ("cost/1", "cost"), ("checks/0", "check")):
            async with client.get(f"{address}part/{part}?{live}&rows=0") as answer:
                assert (part, answer.status, bool((await answer.json())[key])) == (part, 200, True)
        for part, status in (
            (f"stage/9999?{live}", 404),
            (f"nothing?{live}", 404),
            ("stage/0?live=7", 409),
            ("stage/0", 409),
        ):
            async with client.get(f"{address}part/{part}") as answer:
                assert (part, answer.status) == (part, status)
        async with client.get(f"{origin(address)}/x/part/stage/0?{live}") as answer:
            assert answer.status == 403
        async with client.get(f"{origin(address)}/x/document") as answer:
            assert answer.status == 403
        async with client.get(f"{address}document", headers={"Origin": "https://evil.example"}) as answer:
            assert answer.status == 403
        async with client.get(f"{address}static/js/textual.js") as answer:
            assert answer.status == 404


async def test_chromium_shows_the_served_page_and_a_changed_file(tmp_path: Path) -> None:
    path = tmp_path / "p.py"
    text = '@R.function\ndef main(x: R.Tensor(("n", 4), "float32")):\n    y = R.nn.relu(x)\n    return y\n'
    path.write_text(text)
    async with served("--web", str(path)) as (_, address), browsed(address, tmp_path / "profile") as page:
        shown = "document.getElementById('program').textContent"
        await page.until("document.body.dataset.ready === 'yes'")
        assert "nn.relu" in await page.value(shown)
        await page.press("]")
        await page.until("page.explorer.state.stage > 0")
        path.write_text(text.replace("relu", "gelu"))
        await page.open(f"{address}#stage=0")
        await page.call("Page.reload")
        await page.until(f"document.body.dataset.ready === 'yes' && {shown}.includes('nn.gelu')")
        path.write_text("nothing")
        await page.call("Page.reload")
        await page.until("document.body.dataset.ready === 'no'")
        assert "program" in await page.value("document.getElementById('static').textContent")
        path.write_text(text)
        await page.call("Page.reload")
        await page.until(f"document.body.dataset.ready === 'yes' && {shown}.includes('nn.relu')")
        assert [line for line in page.console if "500" not in line] == []


def test_a_page_needs_a_program() -> None:
    done = rxe_cli("serve", "--web")
    assert done.exit_code == 2
    assert "--web shows a program" in done.stderr


def _stages(folder: Path, count: int = 12) -> None:
    """Stages of a build, of which each writes another constant; the seventh is the same as the one before."""
    for number in range(count):
        text = '@R.function\ndef main(x: R.Tensor(("n", 4), "float32")):\n    y = R.nn.relu(x)\n'
        text += f'    z = R.add(y, R.const({number - (number == 7)}.0, "float32"))\n    return z\n'
        (folder / f"{number:02}_Pass{number}.py").write_text(text)


STATE = "page.explorer.state"


async def test_keys_that_come_before_their_stages_are_obeyed_in_their_order(tmp_path: Path) -> None:
    folder = tmp_path / "build"
    folder.mkdir()
    _stages(folder)
    async with (
        served("--web", str(folder)) as (_, address),
        browsed("about:blank", tmp_path / "profile") as page,
    ):
        await page.open(address)
        await page.until("document.body.dataset.ready === 'yes'")
        await page.value("window.asked = []; const own = page.explorer.store; const ask = own._ask.bind(own); "
                         "own._ask = async (part) => { asked.push(part); await new Promise((done) => setTimeout(done, 60)); "
                         "return ask(part) }")  # fmt: skip
        for key in ("]", "]", "]", "3"):
            await page.press(key)
        await page.until(f"{STATE}.view === 'graph'")
        assert await page.value(f"{STATE}.stage") == 3
        assert await page.value("document.querySelectorAll('#canvas .node').length") >= 3
        await page.press("1")
        await page.click("#slider")  # the middle of all stages
        await page.until("page.explorer.state.stage >= 5")
        await page.press("2")
        await page.until(
            "page.explorer.doc.run && document.querySelector('.scrubber .bars, .scrubber .numbers, .scrubber pre') !== null"
        )
        await page.press("alt+c")
        await page.until("document.querySelector('#content table') !== null")
        asked = await page.value("asked")
        assert len(asked) == len(set(asked)), "each part is asked for once"
        assert asked.index("run") > asked.index("graph/3/main")
        await page.open(f"{address}#stage=11&view=program&binding=z")
        await page.call("Page.reload")
        await page.until(f"document.body.dataset.ready === 'yes' && {STATE}.stage === 11")
        history = "document.querySelectorAll('.history li').length"
        await page.until(f"{history} >= 11", 30)  # the other stages come by themselves
        assert await page.value("document.querySelectorAll('#stages li').length") == 12 - 1 + 1
        assert [line for line in page.console if "favicon" not in line] == []


async def test_a_server_that_ended_and_a_file_that_changed_are_told(tmp_path: Path) -> None:
    folder = tmp_path / "build"
    folder.mkdir()
    _stages(folder, 40)
    async with (
        served("--web", str(folder)) as (process, address),
        browsed("about:blank", tmp_path / "profile") as page,
        aiohttp.ClientSession() as client,
    ):
        await page.open(address)
        await page.until("document.body.dataset.ready === 'yes'")
        await page.value(
            "page.renew = () => {}; page._askOn = async () => {}"
        )  # nothing is asked for by itself
        _stages(folder, 41)
        async with client.get(f"{address}document") as answer:
            assert answer.status == 200
        said = "document.getElementById('said').textContent"
        await page.value("page.explorer.goTo(page.explorer.stages.count - 1)")
        await page.until(f"{said}.includes('reload the page')")
        process.send_signal(signal.SIGINT)
        await process.wait()
        await page.press("]")
        await page.until(f"{said}.includes('has ended')")
