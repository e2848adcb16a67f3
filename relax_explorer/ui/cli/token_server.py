"""A web server for the explorer. Each request has a random token as the first part of its path; all others get 403.

So neither other users of the machine nor pages of the web that guess the port reach the explorer.
"""

from __future__ import annotations

import asyncio
import hmac
import secrets
import socket
from collections.abc import Awaitable, Callable, Sequence
from html import escape
from importlib.resources import files
from pathlib import Path

import textual_serve
from aiohttp import web
from textual_serve.server import Server

from relax_explorer.ui.cli.tab import PATIENCE, Tab

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
        tab = Tab(self.words, channel, self.download_manager)
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
