"""Chromium, driven by its DevTools protocol: keys, clicks, sizes, pictures, and what its console says."""

from __future__ import annotations

import asyncio
import base64
import json
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
QUIET = ("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-sync",
         "--disable-component-update", "--disable-quic", "--disable-features=IsolateSandboxedIframes")  # fmt: skip
DUMPING = (*QUIET, "--virtual-time-budget=3000", "--enable-logging=stderr")
"""For `--dump-dom`, which writes the document after its scripts ran, with the console beside it."""
CODES = {"]": "BracketRight", "[": "BracketLeft", "Enter": "Enter", "Escape": "Escape"}
ALT = 1


class Page:
    """A page of Chromium."""

    def __init__(self, channel: aiohttp.ClientWebSocketResponse) -> None:
        self.channel, self.number = channel, 0
        self.console: list[str] = []
        self.frames: list[str] = []
        self.contexts: dict[int, str] = {}  # where scripts run, with the address of its document

    async def call(self, method: str, **params: Any) -> dict[str, Any]:
        self.number += 1
        await self.channel.send_json({"id": self.number, "method": method, "params": params})
        while (message := await self.channel.receive_json()).get("id") != self.number:
            self._note(message)
        result: dict[str, Any] = message.get("result", {})
        return result

    def _note(self, message: dict[str, Any]) -> None:
        method, params = message["method"], message["params"]
        if method in ("Runtime.exceptionThrown", "Log.entryAdded") or (
            method == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning", "assert")
        ):
            self.console.append(json.dumps(params))
        elif method == "Runtime.executionContextCreated":
            self.contexts[params["context"]["id"]] = params["context"]["origin"]
        elif method == "Runtime.executionContextDestroyed":
            self.contexts.pop(params["executionContextId"], None)
        elif method == "Network.webSocketFrameReceived" and params["response"]["opcode"] == 2:
            self.frames.append(base64.b64decode(params["response"]["payloadData"]).decode(errors="replace"))

    async def arrived(self) -> AsyncIterator[str]:
        """The frames of a websocket, as they come."""
        while True:
            while self.frames:
                yield self.frames.pop(0)
            self._note(await self.channel.receive_json())

    async def open(self, address: str) -> None:
        """Go to an address, and wait until the page has loaded."""
        await self.call("Page.navigate", url=address)
        await self.until("document.readyState === 'complete' && location.href !== 'about:blank'")

    async def press(self, key: str) -> None:
        """Press a key, as `a`, `]`, `Enter` or `alt+c`."""
        modifiers = ALT if key.startswith("alt+") else 0
        name = key.removeprefix("alt+")
        code = CODES.get(name, f"Key{name.upper()}" if name.isalpha() and len(name) == 1 else name)
        text = {} if len(name) > 1 or modifiers else {"text": name}
        event = {"key": name, "code": code, "modifiers": modifiers}
        await self.call("Input.dispatchKeyEvent", type="keyDown", **event, **text)
        await self.call("Input.dispatchKeyEvent", type="keyUp", **event)

    async def click(self, selector: str) -> None:
        """Click the middle of an element."""
        await self.value(
            f"document.querySelector({json.dumps(selector)}).scrollIntoView({{block: 'nearest'}})"
        )
        box = await self.value(f"(() => {{ const b = document.querySelector({json.dumps(selector)}).getBoundingClientRect(); "
                               "return [b.left + b.width / 2, b.top + b.height / 2] })()")  # fmt: skip
        for kind in ("mousePressed", "mouseReleased"):
            await self.call(
                "Input.dispatchMouseEvent", type=kind, x=box[0], y=box[1], button="left", clickCount=1
            )

    async def drag(self, start: tuple[float, float], end: tuple[float, float]) -> None:
        """Press the mouse, move it, and release it."""
        for kind, (x, y) in (("mousePressed", start), ("mouseMoved", end), ("mouseReleased", end)):
            await self.call(
                "Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", buttons=1, clickCount=1
            )

    async def size(self, width: int, height: int, dark: bool = False) -> None:
        """The size of the window, and the theme of the system."""
        await self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        await self.call("Emulation.setEmulatedMedia", features=[scheme])

    async def picture(self, path: Path) -> None:
        """Write what is seen as PNG."""
        found = await self.call("Page.captureScreenshot", format="png")
        path.write_bytes(base64.b64decode(found["data"]))

    async def value(self, expression: str) -> Any:
        """The value of an expression of the page."""
        found = await self.call(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        return found["result"].get("value")

    async def value_in_frame(self, expression: str) -> Any:
        """The value of an expression in the frame that the page shows in a sandbox: its document has no origin."""
        await self.until("document.querySelector('iframe') !== null")
        inner = [context for context, origin in self.contexts.items() if origin in ("", "null", "://")]
        if not inner:
            return None
        found = await self.call(
            "Runtime.evaluate", expression=expression, contextId=inner[-1], returnByValue=True
        )
        return found.get("result", {}).get("value")

    async def until(self, expression: str, seconds: float = 20.0) -> None:
        """Wait until an expression is true."""
        async with asyncio.timeout(seconds):
            while not await self.value(expression):
                await asyncio.sleep(0.02)


@asynccontextmanager
async def browsed(address: str, profile: Path, size: tuple[int, int] = (1000, 600)) -> AsyncIterator[Page]:
    """Chromium with an open page."""
    if CHROMIUM is None:
        pytest.skip("chromium is not installed")
    command = [
        CHROMIUM,
        *QUIET,
        "--remote-debugging-port=0",
        f"--window-size={size[0]},{size[1]}",
        f"--user-data-dir={profile}",
        "about:blank",
    ]
    process = await asyncio.create_subprocess_exec(
        *command, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL
    )
    try:
        async with aiohttp.ClientSession() as client:
            async with asyncio.timeout(30):
                told = profile / "DevToolsActivePort"
                while not (told.exists() and told.read_text().strip()):
                    await asyncio.sleep(0.05)
                port = told.read_text().split()[0]
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
