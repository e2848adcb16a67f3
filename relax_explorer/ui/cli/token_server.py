"""A web server for the explorer: in a terminal, with a process for each tab of a browser, or as the page of a report."""

from __future__ import annotations

import asyncio
import hmac
import json
import os
import secrets
import socket
from collections.abc import Awaitable, Callable, Mapping, Sequence
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

import textual_serve
from aiohttp import WSMsgType, web
from textual_serve.app_service import AppService
from textual_serve.download_manager import DownloadManager
from textual_serve.server import Server, to_int

from relax_explorer.core.diagnostics import Failure
from relax_explorer.viz.child import MOST_MEMORY, Limits, conversation_of_loop, kill_group

if TYPE_CHECKING:
    from relax_explorer.viz.live_page import LivePage  # the terminal needs no page

PATIENCE = 3.0  # seconds for an explorer to end
LARGEST = 1000  # columns and rows; a screen has a cell for each pair
SIZE = (80, 24)


class Tab(AppService):
    """Starts an explorer under its keeper, so that it ends with the server, however that ends."""

    def __init__(
        self, words: Sequence[str], socket: web.WebSocketResponse, downloads: DownloadManager, address: str
    ) -> None:
        super().__init__(
            "",
            write_bytes=socket.send_bytes,
            write_str=self._send,
            close=socket.close,  # type: ignore[arg-type]  # nobody reads its result
            download_manager=downloads,
        )
        self.words, self.socket, self._pipe, self._address = words, socket, -1, address

    async def _send(self, text: str) -> None:
        """Send a message to the page. Of a file, the script of textual-serve would ask at an address without the token."""
        kind, data = json.loads(text)
        if kind == "deliver_file_start":
            url = f"{self._address}download/{data}"
            text = json.dumps(["open_url", {"url": url, "new_tab": False}])  # an attachment: the page stays
        await self.socket.send_str(text)

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


# -- token server ----------------------------------------------------------------------------------------------------
# A web server for the explorer. Each request has a random token as the first part of its path; all others get 403.


_ASSETS = frozenset({"js/textual.js", "css/xterm.css", "fonts/RobotoMono-VariableFont_wght.ttf"})
_Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class TokenServer(Server):
    """Serves the command of an explorer on a socket that listens already. Each tab of a browser has an explorer of its own."""

    def __init__(self, words: Sequence[str], listener: socket.socket, title: str) -> None:
        host, port = listener.getsockname()[:2]
        super().__init__("", host, port, title)
        self.words = words
        self._listener = listener
        self._token = secrets.token_urlsafe(24)
        self._hosts = {f"{host}:{port}", f"localhost:{port}"}
        self._sessions: set[asyncio.Task[object]] = set()

    @property
    def address(self) -> str:
        """The address with the token."""
        return f"{self.public_url}/{self._token}/"

    def run(self) -> None:
        """Serve until SIGINT or SIGTERM."""
        web.run_app(self._make_app(), sock=self._listener, print=None, shutdown_timeout=PATIENCE)

    async def _make_app(self) -> web.Application:
        app = web.Application(middlewares=[self._guarded])
        app.add_routes(
            [
                web.get("/{token}/", self.page),
                web.get("/{token}/focus.js", self.script),
                web.get("/{token}/ws", self.handle_websocket),
                web.get("/{token}/download/{key}", self.handle_download),
                web.get("/{token}/static/{name:.+}", self.asset),
            ]
        )
        app.on_shutdown.append(self.on_shutdown)
        return app

    @web.middleware
    async def _guarded(self, request: web.Request, handler: _Handler) -> web.StreamResponse:
        """Refuse a request without the token, and one that a name of the web led here."""
        given = request.path.split("/")[1].encode("utf-8", "surrogateescape")
        is_known = hmac.compare_digest(
            given, self._token.encode()
        )  # takes as long for a close guess as for any
        if not is_known or request.host not in self._hosts or not self._is_own(request):
            return web.Response(status=403, text="The token of the address is wrong.\n")
        response = await handler(request)
        return response

    def _is_own(self, request: web.Request) -> bool:
        """True for a request of our page. Browsers name the page that opens a websocket, so one without a name is refused."""
        origin = request.headers.get("Origin")
        return origin == f"http://{request.host}" or (origin is None and not request.path.endswith("/ws"))

    async def page(self, request: web.Request) -> web.Response:
        """The page with the terminal. It loads nothing from the network."""
        text = (files("relax_explorer.ui.cli") / "serve.html").read_text(encoding="utf-8")
        socket_url = f"ws://{request.host}/{self._token}/ws"
        text = text.replace("{{title}}", escape(self.title)).replace("{{socket}}", socket_url)
        headers = {
            "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; font-src 'self'; "
            f"img-src data: blob:; connect-src ws://{request.host}; frame-ancestors 'none'",
            "Referrer-Policy": "no-referrer",  # the path holds the token
            "Cache-Control": "no-store",
        }
        return web.Response(text=text, content_type="text/html", headers=headers)

    async def script(self, request: web.Request) -> web.Response:
        """The script that gives the terminal the focus."""
        text = (files("relax_explorer.ui.cli") / "focus.js").read_text(encoding="utf-8")
        return web.Response(text=text, content_type="text/javascript")

    async def asset(self, request: web.Request) -> web.FileResponse:
        """A file of textual-serve that the page needs."""
        name = request.match_info["name"]
        if name not in _ASSETS:
            raise web.HTTPNotFound
        return web.FileResponse(Path(textual_serve.__file__).parent / "static" / name)

    async def handle_websocket(self, request: web.Request) -> web.WebSocketResponse:
        """Run an explorer for one tab."""
        task: asyncio.Task[object] | None = asyncio.current_task()
        assert task is not None  # aiohttp handles a request in a task
        channel = web.WebSocketResponse(heartbeat=15, timeout=1)
        await channel.prepare(request)
        tab = Tab(self.words, channel, self.download_manager, f"http://{request.host}/{self._token}/")
        self._sessions.add(task)
        try:
            await tab.converse(request.query.get("width", ""), request.query.get("height", ""))
        finally:
            await tab.end()
            await channel.close()
            self._sessions.discard(task)
        return channel

    async def on_shutdown(self, app: web.Application) -> None:
        """End the explorers of all tabs."""
        for task in self._sessions:
            task.cancel()
        if self._sessions:
            await asyncio.wait(self._sessions, timeout=2 * PATIENCE)


# -- page server -----------------------------------------------------------------------------------------------------
# The page of a report, which asks its server for the document.


class PageServer(TokenServer):
    """Serves the page of a report, whose parts are made when they are looked at.

    `make` opens the session: at the start, and again after the file at `path` has changed. One thread at a time works on it.
    """

    def __init__(self, make: Callable[[], LivePage], path: Path, listener: socket.socket, title: str) -> None:
        super().__init__((), listener, title)
        self._make, self._path = make, path
        self._stamp, self._live = _stamp(path), make()
        self._number = 1  # of the program, which a page names in its requests
        self._lock = asyncio.Lock()
        self._reading: asyncio.Task[None] | None = None
        self._grown = asyncio.Condition()

    async def _make_app(self) -> web.Application:
        app = web.Application(middlewares=[self._guarded])
        app.add_routes(
            [
                web.get("/{token}/", self.page),
                web.get("/{token}/document", self.document),
                web.get("/{token}/part/{path:.+}", self.part),
            ]
        )
        app.on_startup.append(self._read_on)
        app.on_shutdown.append(self._read_no_more)
        return app

    async def _read_on(self, _: web.Application) -> None:
        """Read the stages behind the first one, one after the other. Requests come between them."""
        if self._reading is not None:
            self._reading.cancel()
        self._reading = asyncio.create_task(self._advance(self._live))

    async def _read_no_more(self, _: web.Application) -> None:
        if self._reading is not None:
            self._reading.cancel()

    async def _advance(self, live: LivePage) -> None:
        while not live.is_complete:
            async with self._lock:
                await asyncio.to_thread(live.advance)
            async with self._grown:
                self._grown.notify_all()
            await asyncio.sleep(0)

    async def page(self, request: web.Request) -> web.Response:
        """The page without its document."""
        from relax_explorer.viz.report import page_html  # the terminal needs no page

        headers = {
            "Content-Security-Policy": "frame-ancestors 'none'",  # the page has the rest
            "Referrer-Policy": "no-referrer",
            "Cache-Control": "no-store",
        }
        text = page_html(self.title, None, source="document")
        return web.Response(text=text, content_type="text/html", headers=headers)

    async def document(self, request: web.Request) -> web.Response:
        """The document without its parts; the sentence of a problem with status 500 if the file has no program any more."""
        stamp = _stamp(self._path)
        if stamp != self._stamp:
            async with self._lock:
                try:
                    self._live = await asyncio.to_thread(self._make)
                except Failure as failure:
                    return web.Response(status=500, text=failure.diagnostics[0].message)
                self._stamp = stamp
                self._number += 1
            await self._read_on(request.app)
        async with self._lock:
            found = await asyncio.to_thread(self._live.document)
            return _as_json({**found, "live": self._number})

    async def part(self, request: web.Request) -> web.Response:
        """A part of the document; 409 for a page whose program is another one by now."""
        live, path = self._live, request.match_info["path"]
        known = {
            name: int(text) for name, text in request.query.items() if text.isdecimal() and len(text) < 12
        }
        if path.startswith(_LATE):
            async with self._grown:
                await self._grown.wait_for(lambda: live is not self._live or _is_there(live, path))
        if live is not self._live or known.get("live", 0) != self._number:
            return web.Response(status=409, text="The file has changed: reload the page.\n")
        async with self._lock:
            found = await asyncio.to_thread(live.part, path, known)
        return web.Response(status=404, text="There is no such part.\n") if found is None else _as_json(found)


_LATE = ("more/", "cost/", "run")  # parts that tell about all stages, or about stages to come


def _is_there(live: LivePage, path: str) -> bool:
    """True if a part that waits for stages can be made."""
    start = path.removeprefix("more/")
    return live.is_complete or (start.isdecimal() and len(live.session.stages) > int(start[:9]))


def _as_json(found: Mapping[str, object]) -> web.Response:
    from relax_explorer.viz.report import json_html

    response = web.Response(text=json_html(found), content_type="application/json")
    response.headers["Cache-Control"] = "no-store"
    response.enable_compression()
    return response


def _stamp(path: Path) -> tuple[tuple[str, int, int], ...]:
    """What tells that a file, or one of a folder, has changed: names, times and sizes."""
    files = sorted(path.iterdir()) if path.is_dir() else [path]
    found = []
    for file in files:
        try:
            told = file.stat()
        except OSError:  # it is gone
            continue
        found.append((file.name, told.st_mtime_ns, told.st_size))
    return tuple(found)
