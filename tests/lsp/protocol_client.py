"""A client of the language server: JSON-RPC over the pipes of a process, as an editor speaks it."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

PATIENCE = 30.0
COMMAND = (sys.executable, "-m", "relax_explorer", "lsp")
CAPABILITIES = {
    "textDocument": {"codeAction": {"resolveSupport": {"properties": ["edit"]}}},
    "workspace": {"inlayHint": {"refreshSupport": True}},
}


class Refused(Exception):
    """The server answered a request with an error."""


class Client:
    """One conversation. `notes` are the notifications that came, `asked` the requests of the server."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.notes: list[dict[str, Any]] = []
        self.asked: list[dict[str, Any]] = []
        self.news = asyncio.Event()
        self.versions: dict[str, int] = {}
        self._waiting: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._number = 0
        self.reader = asyncio.create_task(self._read())

    async def _read(self) -> None:
        stream = self.process.stdout
        assert stream is not None
        while header := await stream.readline():
            length = int(header.split(b":")[1])
            while (await stream.readline()).strip():
                pass
            message = json.loads(await stream.readexactly(length))
            if "method" not in message:
                self._waiting.pop(message["id"]).set_result(message)
            elif "id" in message:
                self.asked.append(message)
                self._send({"id": message["id"], "result": None})
            else:
                self.notes.append(message)
            self.news.set()
        for future in self._waiting.values():  # the server ended
            if not future.done():
                future.set_exception(EOFError("the server ended"))

    def _send(self, message: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)

    def tell(self, method: str, **params: Any) -> None:
        self._send({"method": method, "params": params})

    def start(self, method: str, **params: Any) -> tuple[int, asyncio.Future[dict[str, Any]]]:
        self._number += 1
        future = self._waiting[self._number] = asyncio.get_running_loop().create_future()
        self._send({"id": self._number, "method": method, "params": params})
        return self._number, future

    async def ask(self, method: str, **params: Any) -> Any:
        _, future = self.start(method, **params)
        message = await asyncio.wait_for(future, PATIENCE)
        if "error" in message:
            raise Refused(message["error"]["message"])
        return message["result"]

    # -- documents ------------------------------------------------------------------------------------------------

    def open(self, text: str, uri: str = "file:///folder/model.py") -> str:
        self.versions[uri] = 1
        self.tell(
            "textDocument/didOpen",
            textDocument={"uri": uri, "languageId": "python", "version": 1, "text": text},
        )
        return uri

    def change(self, uri: str, *changes: dict[str, Any]) -> None:
        self.versions[uri] += 1
        document = {"uri": uri, "version": self.versions[uri]}
        self.tell("textDocument/didChange", textDocument=document, contentChanges=list(changes))

    def published(self, uri: str) -> list[dict[str, Any]]:
        """All lists of problems that came for a document."""
        notes = [note["params"] for note in self.notes if note["method"] == "textDocument/publishDiagnostics"]
        return [note for note in notes if note["uri"] == uri]

    async def problems(self, uri: str) -> list[dict[str, Any]]:
        """The problems of the present text, as the check of the whole tells them."""
        await self.ask("textDocument/documentSymbol", textDocument={"uri": uri})  # waits for that check
        async with asyncio.timeout(PATIENCE):
            while not self.published(uri) or self.published(uri)[-1].get("version") != self.versions[uri]:
                self.news.clear()
                await self.news.wait()
        found: list[dict[str, Any]] = self.published(uri)[-1]["diagnostics"]
        return found

    async def at(self, method: str, uri: str, line: int, character: int, **more: Any) -> Any:
        """Ask about a position."""
        position = {"line": line, "character": character}
        return await self.ask(f"textDocument/{method}", textDocument={"uri": uri}, position=position, **more)


@asynccontextmanager
async def served(
    *options: str, capabilities: dict[str, Any] | None = None, **more: Any
) -> AsyncIterator[Client]:
    """A server that was initialized; at the end it is shut down, and must end by itself, without a word of an error."""
    process = await asyncio.create_subprocess_exec(
        *COMMAND, *options, stdin=-1, stdout=-1, stderr=-1, limit=1 << 26
    )
    client = Client(process)
    try:
        client.result = await client.ask(  # type: ignore[attr-defined]  # for the test of what a server offers
            "initialize",
            processId=None,
            rootUri=None,
            capabilities=CAPABILITIES if capabilities is None else capabilities,
            **more,
        )
        client.tell("initialized")
        yield client
        assert await client.ask("shutdown") is None
        client.tell("exit")
        assert await asyncio.wait_for(process.wait(), PATIENCE) == 0
        assert process.stderr is not None
        errors = (await process.stderr.read()).decode()
        # pygls says so of an answer to a question of its own that comes behind `shutdown`.
        assert errors.replace("Server shutting down. No more requests!\n", "") == "", errors
    finally:
        client.reader.cancel()
        if process.returncode is None:
            process.kill()
            await process.wait()


def span(line: int, start: int, end: int, last: int | None = None) -> dict[str, Any]:
    """A range of the protocol."""
    return {
        "start": {"line": line, "character": start},
        "end": {"line": line if last is None else last, "character": end},
    }
