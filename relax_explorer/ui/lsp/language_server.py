"""The language server on standard input and output: each request of the protocol asks `ui/editor` and sends its answer."""

from __future__ import annotations

import asyncio
import logging
import shlex
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import CancelledError
from typing import TypeVar

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException, JsonRpcInternalError
from pygls.lsp.server import LanguageServer
from pygls.uris import to_fs_path

from relax_explorer.core import passes
from relax_explorer.core.diagnostics import Diagnostic, Failure
from relax_explorer.ui.editor import corrections, offered, overview, renaming
from relax_explorer.ui.editor.applied_passes import applied
from relax_explorer.ui.editor.document import Document, TextEdit, Units
from relax_explorer.ui.editor.hover_text import hover
from relax_explorer.ui.editor.occurrences import Occurrence
from relax_explorer.ui.editor.regions import Checked, Region, Rules
from relax_explorer.ui.lsp.last_run import run_function
from relax_explorer.ui.lsp.open_texts import Closed, OpenText, OpenTexts
from relax_explorer.ui.lsp.wire_forms import LEGEND, Wire, to_signature
from relax_explorer.version import __version__
from relax_explorer.viz.visible import visible

TRIGGERS = [".", "(", ",", '"', " ", "="]
_SHELL = {
    "debug": "debug {file} --func {function}",
    "graph": "graph {file} --func {function}",
    "explore": "{file} --func {function}",
}
_UNITS: dict[str, Units] = {"utf-8": "utf-8", "utf-16": "utf-16", "utf-32": "utf-32"}
_A = TypeVar("_A")
Named = lsp.DefinitionParams | lsp.ReferenceParams | lsp.DocumentHighlightParams
"""What asks about a name."""


class RequestFailed(JsonRpcException):
    """A request has no answer; the message tells the user why. The protocol calls it RequestFailed."""

    CODE = -32803


class RelaxServer(LanguageServer):
    """A server with the documents that the editor has open."""

    def __init__(self, rules: Rules) -> None:
        super().__init__("relax-explorer", __version__)
        self.open_texts = OpenTexts(rules, self.tell)
        self.has_terminal = False  # the client opens terminals by itself

    # -- documents ------------------------------------------------------------------------------------------------

    def text(self, uri: str) -> OpenText:
        """An open document. Raises RequestFailed for one that is not."""
        found = self.open_texts.texts.get(uri)
        if found is None:
            raise RequestFailed(f"{visible(uri)} is not open")
        return found

    def wire(self, text: OpenText, document: Document | None = None) -> Wire:
        """The forms of the protocol for a document."""
        encoding = self.workspace.position_encoding
        units = _UNITS[str(getattr(encoding, "value", encoding) or "utf-16")]
        return Wire(text.uri, text.document if document is None else document, units)

    def tell(self, text: OpenText, problems: list[Diagnostic], is_whole: bool) -> None:
        """Send the problems of a document; behind those of the whole, types are shown anew."""
        wire = self.wire(text)
        found = [wire.to_diagnostic(problem) for problem in problems]
        self.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(text.uri, found, text.version))
        client = self.client_capabilities.workspace
        if (
            is_whole
            and client is not None
            and client.inlay_hint is not None
            and client.inlay_hint.refresh_support
        ):
            self.workspace_inlay_hint_refresh(None)

    def opened(self, params: lsp.DidOpenTextDocumentParams) -> None:
        """A document was opened."""
        item = params.text_document
        name = to_fs_path(item.uri) or item.uri
        self.open_texts.open(item.uri, Document(name, item.text), item.version)

    def changed(self, params: lsp.DidChangeTextDocumentParams) -> None:
        """A document was edited, in increments or as a whole."""
        text = self.text(params.text_document.uri)
        document = text.document
        for change in params.content_changes:
            if isinstance(change, lsp.TextDocumentContentChangePartial):
                place = self.wire(text, document).range(change.range)
                document = document.edited(TextEdit(place, change.text))
            else:
                document = Document(document.name, change.text)
        self.open_texts.change(text.uri, document, params.text_document.version)

    def closed(self, params: lsp.DidCloseTextDocumentParams) -> None:
        """A document was closed: its problems are taken back."""
        self.open_texts.close(params.text_document.uri)
        self.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(params.text_document.uri, []))

    async def checked(self, uri: str) -> tuple[OpenText, Checked, Wire]:
        """An open document with the check of its present text."""
        text = self.text(uri)
        try:
            checked = await self.open_texts.fresh(text)
        except Closed:
            raise RequestFailed(f"{visible(uri)} was closed") from None
        return text, checked, self.wire(text, checked.document)

    # -- names ----------------------------------------------------------------------------------------------------

    async def hover(self, params: lsp.HoverParams) -> lsp.Hover | None:
        """What is known of the name under the mouse."""
        text, checked, wire = await self.checked(params.text_document.uri)
        position = wire.place(params.position)
        region = checked.region_at(position.line)
        values = text.values if region is not None and text.ran == region.found.body else {}
        found = hover(region, position, values) if region is not None else None
        if found is None:
            return None
        return lsp.Hover(lsp.MarkupContent(lsp.MarkupKind.Markdown, found.text), wire.to_range(found.range))

    def named(self, params: Named) -> tuple[Wire, Region, Occurrence] | None:
        """The name at a position, with its program."""
        text = self.text(params.text_document.uri)
        wire = self.wire(text)
        position = wire.place(params.position)
        region = text.seen.region_at(position.line)
        item = region.names.at(position) if region is not None else None
        return None if region is None or item is None else (wire, region, item)

    def definition(self, params: lsp.DefinitionParams) -> lsp.Location | None:
        """Where a name is defined."""
        found = self.named(params)
        place = found[1].names.definition(found[2]) if found is not None else None
        return found[0].to_location(place.range) if found is not None and place is not None else None

    def references(self, params: lsp.ReferenceParams) -> list[lsp.Location]:
        """All places of a name."""
        found = self.named(params)
        if found is None:
            return []
        wire, region, item = found
        items = [
            other
            for other in region.names.of(item)
            if params.context.include_declaration or not other.is_definition
        ]
        return [wire.to_location(other.range) for other in items]

    def highlights(self, params: lsp.DocumentHighlightParams) -> list[lsp.DocumentHighlight]:
        """All places of a name, told apart by what they do."""
        found = self.named(params)
        if found is None:
            return []
        wire, region, item = found
        kinds = {True: lsp.DocumentHighlightKind.Write, False: lsp.DocumentHighlightKind.Read}
        return [
            lsp.DocumentHighlight(wire.to_range(other.range), kinds[other.is_definition])
            for other in region.names.of(item)
        ]

    def prepare_rename(self, params: lsp.PrepareRenameParams) -> lsp.PrepareRenamePlaceholder:
        """The name that would be changed."""
        text = self.text(params.text_document.uri)
        wire = self.wire(text)
        position = wire.place(params.position)
        item = _or_fail(lambda: renaming.renamable(text.seen.region_at(position.line), position))
        return lsp.PrepareRenamePlaceholder(wire.to_range(item.range), item.symbol.name)

    def rename(self, params: lsp.RenameParams) -> lsp.WorkspaceEdit:
        """The edits that rename what stands at a position."""
        text = self.text(params.text_document.uri)
        wire = self.wire(text)
        position = wire.place(params.position)
        region = text.seen.region_at(position.line)
        return wire.to_edit(_or_fail(lambda: renaming.renamed(region, position, params.new_name)))

    # -- along the text -------------------------------------------------------------------------------------------

    async def inlays(self, params: lsp.InlayHintParams) -> list[lsp.InlayHint]:
        """The types of bindings."""
        _, checked, wire = await self.checked(params.text_document.uri)
        lines = range(params.range.start.line, params.range.end.line + 1)
        return [wire.to_inlay(item) for region in checked.regions for item in overview.inlays(region, lines)]

    async def symbols(self, params: lsp.DocumentSymbolParams) -> list[lsp.DocumentSymbol]:
        """The outline."""
        _, checked, wire = await self.checked(params.text_document.uri)
        return [wire.to_symbol(entry) for region in checked.regions for entry in overview.outline(region)]

    def folds(self, params: lsp.FoldingRangeParams) -> list[lsp.FoldingRange]:
        """What can be folded."""
        regions = self.text(params.text_document.uri).seen.regions
        return [lsp.FoldingRange(first, last) for region in regions for first, last in overview.folds(region)]

    def tokens(self, params: lsp.SemanticTokensParams) -> lsp.SemanticTokens:
        """The coloured tokens of all programs."""
        text = self.text(params.text_document.uri)
        return self.wire(text).to_tokens(
            [item for region in text.seen.regions for item in overview.colored_tokens(region)]
        )

    def tokens_in(self, params: lsp.SemanticTokensRangeParams) -> lsp.SemanticTokens:
        """The coloured tokens of some lines."""
        text = self.text(params.text_document.uri)
        lines = range(params.range.start.line, params.range.end.line + 1)
        shown = [item for region in text.seen.regions for item in overview.colored_tokens(region, lines)]
        return self.wire(text).to_tokens(shown)

    def lenses(self, params: lsp.CodeLensParams) -> list[lsp.CodeLens]:
        """The commands above functions."""
        text = self.text(params.text_document.uri)
        wire = self.wire(text)
        return [wire.to_lens(lens) for region in text.seen.regions for lens in overview.lenses(region)]

    # -- writing --------------------------------------------------------------------------------------------------

    def around(self, text: OpenText, line: int) -> Region | None:
        """The program around a line as it was checked last; if that was elsewhere, with its names alone."""
        known = text.checked.region_at(line) if text.checked is not None else None
        return known if known is not None else text.seen.region_at(line)

    def completion(self, params: lsp.CompletionParams) -> lsp.CompletionList:
        """What can stand at the cursor."""
        text = self.text(params.text_document.uri)
        wire = self.wire(text)
        position = wire.place(params.position)
        region = self.around(text, position.line) if text.seen.region_at(position.line) is not None else None
        found = offered.offers(region, text.document, position) if region is not None else []
        return lsp.CompletionList(False, [wire.to_offer(item) for item in found])

    def signature(self, params: lsp.SignatureHelpParams) -> lsp.SignatureHelp | None:
        """The signature of the call around the cursor."""
        text = self.text(params.text_document.uri)
        position = self.wire(text).place(params.position)
        region = self.around(text, position.line)
        found = offered.signature_at(region, text.document, position) if region is not None else None
        return None if found is None else to_signature(found)

    async def actions(self, params: lsp.CodeActionParams) -> list[lsp.CodeAction]:
        """The changes that are offered at a place."""
        _, checked, wire = await self.checked(params.text_document.uri)
        place = wire.range(params.range)
        region = checked.region_at(place.start.line)
        found = corrections.actions(region, place) if region is not None else []
        wanted = params.context.only
        return [
            self.to_action(item, wire, params)
            for item in found
            if wanted is None or _is_wanted(item.kind, wanted)
        ]

    def to_action(self, item: corrections.Action, wire: Wire, params: lsp.CodeActionParams) -> lsp.CodeAction:
        """An action; the edits of one that takes work are asked for later, if the client can."""
        action = lsp.CodeAction(item.title, lsp.CodeActionKind(item.kind))
        if item.problem is not None:
            action.diagnostics = [wire.to_diagnostic(item.problem)]
            action.is_preferred = True
        if item.kind == corrections.QUICK or not self._resolves_actions():
            edits = corrections.edits_of(item)
            action.edit = wire.to_edit(edits) if isinstance(edits, list) else None
            if action.edit is None:
                action.disabled = lsp.CodeActionDisabled(
                    edits.message if isinstance(edits, Diagnostic) else "nothing would change"
                )
        else:
            start, end = params.range.start, params.range.end
            action.data = [wire.uri, start.line, start.character, end.line, end.character]
        return action

    def _resolves_actions(self) -> bool:
        client = self.client_capabilities.text_document
        actions = client.code_action if client is not None else None
        return (
            actions is not None
            and actions.resolve_support is not None
            and "edit" in actions.resolve_support.properties
        )

    async def resolve_action(self, action: lsp.CodeAction) -> lsp.CodeAction:
        """The edits of a chosen action."""
        if not isinstance(action.data, list) or len(action.data) != 5:
            return action
        uri, *numbers = action.data
        _, checked, wire = await self.checked(str(uri))
        start, end = (
            lsp.Position(int(numbers[0]), int(numbers[1])),
            lsp.Position(int(numbers[2]), int(numbers[3])),
        )
        place = wire.range(lsp.Range(start, end))
        region = checked.region_at(place.start.line)
        offered_now = corrections.actions(region, place) if region is not None else []
        found = next((item for item in offered_now if item.title == action.title), None)
        edits = corrections.edits_of(found) if found is not None else None
        if not isinstance(edits, list):
            raise RequestFailed(edits.message if isinstance(edits, Diagnostic) else "nothing would change")
        action.edit = wire.to_edit(edits)
        return action

    # -- commands -------------------------------------------------------------------------------------------------

    async def run_function(self, uri: str, function: str) -> str:
        """Run a function, and keep its values for the mouse."""
        text, checked, _ = await self.checked(uri)
        region = _region_of(checked, function)
        if any(item.is_error for item in region.problems):
            raise RequestFailed("the program has errors")
        ran = await asyncio.get_running_loop().run_in_executor(None, run_function, checked, region, function)
        text.values, text.ran = ran.values, region.found.body
        kind = lsp.MessageType.Info if ran.is_done else lsp.MessageType.Error
        self.window_show_message(lsp.ShowMessageParams(kind, ran.sentence))
        return ran.sentence

    def command_line(self, uri: str, function: str, command: str) -> str:
        """The command line that debugs, draws or opens a function; told to users whose editor has no terminal for it."""
        command = command or "explore"
        if command not in _SHELL:
            raise RequestFailed(f"no command {visible(command)}; there are {', '.join(_SHELL)}")
        file = shlex.quote(to_fs_path(uri) or uri)
        line = f"rxe {_SHELL[command]}".format(file=file, function=shlex.quote(function))
        line = line if function else line.removesuffix(" --func ''")
        if not self.has_terminal:
            self.window_show_message(lsp.ShowMessageParams(lsp.MessageType.Info, line))
        return line

    async def apply_pass(self, uri: str, pipeline: str, line: int) -> dict[str, object]:
        """The program around a line before and after passes: two texts for a comparison, the difference, and a sentence."""
        _, checked, _ = await self.checked(uri)
        region = checked.region_at(line) or _region_of(checked, "")
        try:
            work = asyncio.get_running_loop().run_in_executor(
                None, applied, region, pipeline, self.open_texts.rules.profile
            )
            stages = await work
        except Failure as failure:
            text = failure.diagnostics[0].message if failure.diagnostics else "the program has errors"
            raise RequestFailed(text) from None
        problems = [str(item) for item in stages.problems]
        return {
            "title": stages.title, "before": stages.before, "after": stages.after, "difference": stages.difference,
            "sentence": stages.sentence, "problems": problems,
        }  # fmt: skip

    def list_passes(self) -> list[dict[str, str]]:
        """The names and sentences of all passes and pipelines, for a choice."""
        named = [{"name": name, "doc": passes.get(name).doc.partition("\n")[0]} for name in passes.names()]
        return [*named, *[{"name": name, "doc": "a pipeline"} for name in passes.PIPELINES]]


def _region_of(checked: Checked, function: str) -> Region:
    """The program that has a function. Raises RequestFailed if there is none."""
    for region in checked.regions:
        if not function or any(fn.name == function for fn in region.names.functions):
            return region
    raise RequestFailed(
        f"no program here has a function {visible(function)}" if function else "there is no program here"
    )


def _is_wanted(kind: str, wanted: Sequence[lsp.CodeActionKind | str]) -> bool:
    names = [str(getattr(item, "value", item)) for item in wanted]
    return any(f"{kind}.".startswith(f"{name}.") or not name for name in names)


def _or_fail(answer: Callable[[], _A]) -> _A:
    """An answer; a refusal becomes the error of the request."""
    try:
        return answer()
    except renaming.NotRenamed as refusal:
        raise RequestFailed(str(refusal)) from None


def _is_unexpected(record: logging.LogRecord) -> bool:
    """False for the log of a request that is wrong or has no answer: its error tells the client."""
    error = record.exc_info[1] if record.exc_info else None
    is_answer = isinstance(error, (JsonRpcException, asyncio.CancelledError, CancelledError))
    return not is_answer or isinstance(error, JsonRpcInternalError)


def language_server(rules: Rules) -> RelaxServer:
    """The server with all that it answers."""
    logging.getLogger("pygls.protocol.json_rpc").addFilter(_is_unexpected)
    server = RelaxServer(rules)
    for method, (handler, options) in {**_plain(server), **_with_options(server)}.items():
        server.feature(method, options)(_function(handler))
    for name, command in _commands(server).items():
        server.command(name)(command)
    return server


Handler = Callable[..., object | Awaitable[object]]


def _function(handler: Handler) -> Handler:
    """A handler as a function of its own: pygls notes names at it, which methods do not take.

    It also passes the server to a first parameter of a type that the server has; a type variable is none.
    """

    async def later(params: _A) -> object:
        found = handler(params)
        return await found if isinstance(found, Awaitable) else found

    def at_once(params: _A) -> object:
        return handler(params)

    return later if asyncio.iscoroutinefunction(handler) else at_once


def _with_options(server: RelaxServer) -> dict[str, tuple[Handler, object]]:
    """The handlers with what the server tells of them."""
    kinds = [lsp.CodeActionKind.QuickFix, lsp.CodeActionKind.RefactorRewrite]
    return {
        lsp.TEXT_DOCUMENT_COMPLETION: (server.completion, lsp.CompletionOptions(trigger_characters=TRIGGERS)),
        lsp.TEXT_DOCUMENT_SIGNATURE_HELP: (server.signature, lsp.SignatureHelpOptions(["(", ","])),
        lsp.TEXT_DOCUMENT_CODE_ACTION: (server.actions, lsp.CodeActionOptions(kinds, resolve_provider=True)),
        lsp.TEXT_DOCUMENT_RENAME: (server.rename, lsp.RenameOptions(prepare_provider=True)),
        lsp.TEXT_DOCUMENT_SEMANTIC_TOKENS_FULL: (server.tokens, LEGEND),
        lsp.TEXT_DOCUMENT_SEMANTIC_TOKENS_RANGE: (server.tokens_in, LEGEND),
    }


def _commands(server: RelaxServer) -> dict[str, Handler]:
    """The commands. A client may send any arguments; pygls asks for a class as their type."""

    async def run(*words: str) -> str:
        uri, function = _texts(words, 1, 2)
        return await server.run_function(uri, function)

    def command(*words: str) -> str:
        return server.command_line(*_texts(words, 1, 3))

    async def apply(*words: str) -> dict[str, object]:
        uri, pipeline = _texts(words[:2], 2, 2)
        given: object = words[2] if len(words) > 2 else 0
        return await server.apply_pass(uri, pipeline, given if isinstance(given, int) else 0)

    def listed(*words: str) -> list[dict[str, str]]:
        return server.list_passes()

    return {"rxe.run": run, "rxe.command": command, "rxe.applyPass": apply, "rxe.passes": listed}


def _texts(words: tuple[object, ...], least: int, most: int) -> list[str]:
    """The arguments of a command, with empty texts for those that may be left out. Raises RequestFailed for wrong ones."""
    found = [word for word in words if isinstance(word, str)]
    if len(found) != len(words) or not least <= len(found) <= most:
        raise RequestFailed(
            f"the command takes {least} to {most} texts, the first one being the address of a document"
        )
    return [*found, *[""] * (most - len(found))]


def _plain(server: RelaxServer) -> dict[str, tuple[Handler, None]]:
    """The handlers without options."""
    return {method: (handler, None) for method, handler in _handlers(server).items()}


def _handlers(server: RelaxServer) -> dict[str, Handler]:

    def initialized(params: lsp.InitializeParams) -> None:
        given = params.initialization_options
        server.has_terminal = isinstance(given, dict) and given.get("terminal") is True

    def ended(_: object) -> None:
        server.open_texts.end()

    return {
        lsp.INITIALIZE: initialized,
        lsp.SHUTDOWN: ended,
        lsp.TEXT_DOCUMENT_DID_OPEN: server.opened,
        lsp.TEXT_DOCUMENT_DID_CHANGE: server.changed,
        lsp.TEXT_DOCUMENT_DID_CLOSE: server.closed,
        lsp.TEXT_DOCUMENT_HOVER: server.hover,
        lsp.TEXT_DOCUMENT_DEFINITION: server.definition,
        lsp.TEXT_DOCUMENT_REFERENCES: server.references,
        lsp.TEXT_DOCUMENT_DOCUMENT_HIGHLIGHT: server.highlights,
        lsp.TEXT_DOCUMENT_PREPARE_RENAME: server.prepare_rename,
        lsp.TEXT_DOCUMENT_INLAY_HINT: server.inlays,
        lsp.TEXT_DOCUMENT_DOCUMENT_SYMBOL: server.symbols,
        lsp.TEXT_DOCUMENT_FOLDING_RANGE: server.folds,
        lsp.TEXT_DOCUMENT_CODE_LENS: server.lenses,
        lsp.CODE_ACTION_RESOLVE: server.resolve_action,
    }
