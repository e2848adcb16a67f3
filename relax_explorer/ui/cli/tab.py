"""The explorer of one tab of a browser: a child process, and what its page may send to it."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Sequence

from aiohttp import WSMsgType, web
from textual_serve.app_service import AppService
from textual_serve.download_manager import DownloadManager
from textual_serve.server import to_int

from relax_explorer.viz.child import MOST_MEMORY, Limits, conversation_of_loop, kill_group

PATIENCE = 3.0  # seconds for an explorer to end
LARGEST = 1000  # columns and rows; a screen has a cell for each pair
SIZE = (80, 24)


class Tab(AppService):
    """Starts an explorer under its keeper, so that it ends with the server, however that ends."""

    def __init__(
        self, words: Sequence[str], socket: web.WebSocketResponse, downloads: DownloadManager
    ) -> None:
        super().__init__(
            "",
            write_bytes=socket.send_bytes,
            write_str=socket.send_str,
            close=socket.close,  # type: ignore[arg-type]  # nobody reads its result
            download_manager=downloads,
        )
        self.words, self.socket, self._pipe = words, socket, -1

    async def _open_app_process(self, width: int = 80, height: int = 24) -> asyncio.subprocess.Process:
        more = self._build_environment(width=width, height=height)
        own = {name: value for name, value in more.items() if os.environ.get(name) != value}
        self._process, self._pipe = await conversation_of_loop(
            self.words, Limits(memory=max(MOST_MEMORY, _memory())), own
        )
        assert self._process.stdin is not None  # it is a pipe
        self._stdin = self._process.stdin
        return self._process

    async def converse(self, width: str, height: str) -> None:
        """Pass on what the page sends, until one side ends."""
        await self.start(*_size(to_int(width, SIZE[0]), to_int(height, SIZE[1])))
        async for message in self.socket:
            if message.type == WSMsgType.TEXT:
                try:
                    envelope = json.loads(message.data)
                except (ValueError, RecursionError):
                    continue
                if isinstance(envelope, list) and envelope:
                    await self._obey(envelope[0], envelope[1] if len(envelope) > 1 else None)

    async def _obey(self, kind: object, data: object) -> None:
        """Do what a message asks for; one in another form asks for nothing."""
        if kind == "stdin" and isinstance(data, str):
            await self.send_bytes(data.encode("utf-8", "replace"))
        elif kind == "resize" and isinstance(data, dict):
            await self.set_terminal_size(*_size(data.get("width"), data.get("height")))
        elif kind == "ping":
            await self.socket.send_json(["pong", data])
        elif kind == "blur":
            await self.blur()
        elif kind == "focus":
            await self.focus()

    async def end(self) -> None:
        """Ask the explorer to quit; kill it if it does not in time. Nothing of it is left."""
        try:
            await asyncio.wait_for(self.stop(), PATIENCE)
        except (TimeoutError, OSError):
            pass  # it does not answer
        finally:
            self._kill()
        if self._process is not None:
            await self._process.wait()

    def _kill(self) -> None:
        pipe, self._pipe = self._pipe, -1
        if self._process is not None and pipe >= 0:
            kill_group(self._process.pid)
        if pipe >= 0:
            os.close(pipe)


def _size(width: object, height: object) -> tuple[int, int]:
    """Columns and rows as a terminal may have them."""
    given = (width, height)
    bounded = [
        max(1, min(int(item), LARGEST)) if isinstance(item, int) else usual
        for item, usual in zip(given, SIZE, strict=True)
    ]
    return bounded[0], bounded[1]


def _memory() -> int:
    """The bytes of memory of this machine; 0 if it does not tell."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return 0
