"""`rxe serve`: only the address with its token reaches the explorer, Chromium shows it, and Ctrl+C ends everything."""

from __future__ import annotations

import asyncio
import base64
import json
import re
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from relax_explorer.ui.cli import token_server
from tests.cli.test_commands import rxe_cli
from tests.support.roundtrip import SAMPLES
from tests.viz.test_report import CHROMIUM, QUIET

COMMAND = (sys.executable, "-m", "relax_explorer")
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
        if process.returncode is None:
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
        async with client.ws_connect(f"ws://{host}/{token}/ws?width=100&height=30") as terminal:
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
        client.ws_connect(f"{address.replace('http', 'ws')}ws?width=100&height=30") as terminal,
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
    assert (done.exit_code, "pip install 'relax-explorer[serve]'" in done.output) == (2, True)


def test_tokens_are_compared_in_constant_time(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    real = token_server.hmac.compare_digest
    monkeypatch.setattr(token_server.hmac, "compare_digest", lambda a, b: asked.append((a, b)) or real(a, b))
    with socket.create_server(("127.0.0.1", 0)) as listener:
        first, second = (token_server.TokenServer("true", listener, "") for _ in range(2))
    assert first.address != second.address

    async def ask() -> int:
        from aiohttp.test_utils import make_mocked_request

        request = make_mocked_request("GET", "/wrong/", headers={"Host": "127.0.0.1"})
        return (await first._guarded(request, first.page)).status

    assert asyncio.run(ask()) == 403
    assert asked == [(b"wrong", first.address.split("/")[3].encode())]


# -- in a browser ---------------------------------------------------------------------------------------------------


class Page:
    """A page of Chromium, by its DevTools protocol."""

    def __init__(self, channel: aiohttp.ClientWebSocketResponse) -> None:
        self.channel, self.number, self.console, self.frames = channel, 0, [], []
        self.received = asyncio.Event()

    async def call(self, method: str, **params: Any) -> dict[str, Any]:
        self.number += 1
        await self.channel.send_json({"id": self.number, "method": method, "params": params})
        while (message := await self.channel.receive_json()).get("id") != self.number:
            self._note(message)
        return message.get("result", {})

    def _note(self, message: dict[str, Any]) -> None:
        if message["method"] in ("Runtime.exceptionThrown", "Log.entryAdded"):
            self.console.append(json.dumps(message["params"]))
        elif message["method"] == "Network.webSocketFrameReceived":
            response = message["params"]["response"]
            if response["opcode"] == 2:
                self.frames.append(base64.b64decode(response["payloadData"]).decode(errors="replace"))

    async def arrived(self) -> AsyncIterator[str]:
        """The frames of the terminal, as they come."""
        while True:
            while self.frames:
                yield self.frames.pop(0)
            self._note(await self.channel.receive_json())

    async def press(self, key: str) -> None:
        await self.call("Input.dispatchKeyEvent", type="keyDown", key=key, text=key)

    async def value(self, expression: str) -> Any:
        found = await self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        return found["result"].get("value")


@asynccontextmanager
async def browsed(address: str, profile: Path) -> AsyncIterator[Page]:
    """Chromium with an open page."""
    if CHROMIUM is None:
        pytest.skip("chromium is not installed")
    options = [item for item in QUIET if not item.startswith(("--virtual-time", "--enable-logging"))]
    command = [
        CHROMIUM,
        *options,
        "--remote-debugging-port=0",
        "--window-size=1000,600",
        f"--user-data-dir={profile}",
        "about:blank",
    ]
    process = await asyncio.create_subprocess_exec(
        *command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        async with aiohttp.ClientSession() as client:
            async with asyncio.timeout(30):
                while not (profile / "DevToolsActivePort").exists():
                    await asyncio.sleep(0.05)
                port = (profile / "DevToolsActivePort").read_text().split()[0]
                async with client.get(f"http://127.0.0.1:{port}/json") as answer:
                    target = next(item for item in await answer.json() if item["type"] == "page")
            async with client.ws_connect(target["webSocketDebuggerUrl"], max_msg_size=0) as channel:
                page = Page(channel)
                for domain in ("Network", "Runtime", "Log", "Page"):
                    await page.call(f"{domain}.enable")
                await page.call("Page.navigate", url=address)
                yield page
    finally:
        process.kill()
        await process.wait()


async def test_chromium_shows_the_explorer_and_sends_its_keys(tmp_path: Path) -> None:
    async with served(PROGRAM) as (_, address), browsed(address, tmp_path / "profile") as page:
        shown = await text_until(page.arrived(), "nn.layer_norm")
        assert "12_transformer_layer.py" in shown
        assert await page.value("document.title") == "12_transformer_layer.py"
        assert await page.value("document.body.classList.contains('-first-byte')")
        assert await page.value("document.querySelector('#terminal canvas, #terminal .xterm-rows') !== null")
        await page.value("document.querySelector('textarea').focus()")
        await page.press("4")
        await text_until(page.arrived(), "Problems of all stages")
        assert not [line for line in page.console if "Content Security Policy" in line]
