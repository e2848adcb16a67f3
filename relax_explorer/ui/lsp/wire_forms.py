"""Answers about documents in the forms of the protocol. A client counts columns in units of its own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from lsprotocol import types as lsp

from relax_explorer.core.codes.style import UNUSED_BINDING
from relax_explorer.core.diagnostics import Diagnostic, Severity
from relax_explorer.ui.editor.document import (
    Document,
    Position,
    Range,
    TextEdit,
    Units,
    column_of,
    range_of,
    units_of,
)
from relax_explorer.ui.editor.offered import Offer, Signature
from relax_explorer.ui.editor.overview import TOKEN_MODIFIERS, TOKEN_TYPES, Colored, Inlay, Lens, Outline

SOURCE = "relax-explorer"
_SEVERITIES = {
    Severity.ERROR: lsp.DiagnosticSeverity.Error, Severity.WARNING: lsp.DiagnosticSeverity.Warning,
    Severity.NOTE: lsp.DiagnosticSeverity.Information,
}  # fmt: skip
_SYMBOLS = {
    "module": lsp.SymbolKind.Class, "function": lsp.SymbolKind.Function, "kernel": lsp.SymbolKind.Function,
    "shape variable": lsp.SymbolKind.TypeParameter,
}  # fmt: skip
_OFFERS = {
    "operator": lsp.CompletionItemKind.Function, "attribute": lsp.CompletionItemKind.Property,
    "variable": lsp.CompletionItemKind.Variable, "function": lsp.CompletionItemKind.Method,
    "type": lsp.CompletionItemKind.Class, "value": lsp.CompletionItemKind.Value,
}  # fmt: skip
LEGEND = lsp.SemanticTokensLegend(list(TOKEN_TYPES), list(TOKEN_MODIFIERS))


@dataclass(frozen=True, slots=True)
class Wire:
    """Turns places of one document into those of a client, and back."""

    uri: str
    document: Document
    units: Units = "utf-16"

    # -- places ---------------------------------------------------------------------------------------------------

    def place(self, place: lsp.Position) -> Position:
        """A position that a client sent; one outside of the text means the nearest inside."""
        if place.line >= len(self.document.starts):
            return self.document.whole.end
        return Position(place.line, column_of(self.document.line(place.line), place.character, self.units))

    def range(self, place: lsp.Range) -> Range:
        """A range that a client sent."""
        return Range(self.place(place.start), self.place(place.end))

    def to_place(self, position: Position) -> lsp.Position:
        """A position of the document. One outside of the text means the nearest inside."""
        if position.line >= len(self.document.starts):
            position = self.document.whole.end
        return lsp.Position(
            position.line, units_of(self.document.line(position.line), position.column, self.units)
        )

    def to_range(self, place: Range) -> lsp.Range:
        """A range of the document."""
        return lsp.Range(self.to_place(place.start), self.to_place(place.end))

    def to_location(self, place: Range) -> lsp.Location:
        """A range with the address of the document."""
        return lsp.Location(self.uri, self.to_range(place))

    # -- answers --------------------------------------------------------------------------------------------------

    def to_diagnostic(self, problem: Diagnostic) -> lsp.Diagnostic:
        """A problem: its sentence, remarks and hint in one text, its other places beside it."""
        place = (
            lsp.Range(lsp.Position(0, 0), lsp.Position(0, 0))
            if problem.span is None
            else self._wide(range_of(problem.span))
        )
        primary = problem.primary
        parts = [problem.message, *([primary.text] if primary is not None and primary.text else [])]
        parts += [f"note: {remark}" for remark in problem.remarks] + (
            [f"hint: {problem.help}"] if problem.help else []
        )
        others = [
            lsp.DiagnosticRelatedInformation(self.to_location(range_of(label.span)), label.text)
            for label in problem.labels
            if label is not primary and label.span is not None and label.text
        ]
        tags = [lsp.DiagnosticTag.Unnecessary] if problem.code is UNUSED_BINDING else None
        return lsp.Diagnostic(
            place,
            "\n".join(parts),
            _SEVERITIES[problem.level],
            problem.code.id,
            None,
            SOURCE,
            tags,
            others or None,
        )

    def _wide(self, place: Range) -> lsp.Range:
        """A range that is seen: at least one character, up to the end of its line."""
        found = self.to_range(place)
        if (
            found.start == found.end
            and place.start.column > 0
            and not self.document.line(place.start.line)[place.start.column :]
        ):
            found.start = self.to_place(Position(place.start.line, place.start.column - 1))
        return found

    def to_edit(self, edits: Iterable[TextEdit]) -> lsp.WorkspaceEdit:
        """Changes of the document."""
        return lsp.WorkspaceEdit(
            {self.uri: [lsp.TextEdit(self.to_range(edit.range), edit.text) for edit in edits]}
        )

    def to_inlay(self, inlay: Inlay) -> lsp.InlayHint:
        """A type behind the name of a binding."""
        return lsp.InlayHint(
            self.to_place(inlay.position), inlay.text, lsp.InlayHintKind.Type, None, inlay.full
        )

    def to_symbol(self, entry: Outline) -> lsp.DocumentSymbol:
        """An entry of the outline with those inside."""
        kind = _SYMBOLS.get(entry.kind, lsp.SymbolKind.Variable)
        inside = [self.to_symbol(item) for item in entry.inside]
        whole, place = self.to_range(entry.range), self.to_range(entry.place)
        return lsp.DocumentSymbol(entry.name, kind, whole, place, entry.detail or None, None, None, inside)

    def to_offer(self, offer: Offer) -> lsp.CompletionItem:
        """A completion."""
        edit = lsp.TextEdit(self.to_range(offer.range), offer.text)
        found = lsp.CompletionItem(offer.text, kind=_OFFERS[offer.kind], detail=offer.detail, text_edit=edit)
        found.sort_text = f"{offer.rank}{offer.text.lower()}"
        found.filter_text = offer.text
        found.documentation = offer.page or None
        return found

    def to_lens(self, lens: Lens) -> lsp.CodeLens:
        """A command above a function."""
        name = "rxe.run" if lens.command == "run" else "rxe.command"
        words = [self.uri, lens.function, *([] if lens.command == "run" else [lens.command])]
        return lsp.CodeLens(self.to_range(lens.range), lsp.Command(lens.title, name, arguments=words))

    def to_tokens(self, tokens: Sequence[Colored]) -> lsp.SemanticTokens:
        """Coloured tokens as differences from the one before."""
        data: list[int] = []
        before = lsp.Position(0, 0)
        for token in tokens:
            place = self.to_range(token.range)
            down = place.start.line - before.line
            along = place.start.character - (0 if down else before.character)
            data += [down, along, place.end.character - place.start.character, token.type, token.modifiers]
            before = place.start
        return lsp.SemanticTokens(data)


def to_signature(found: Signature) -> lsp.SignatureHelp:
    """The signature of an open call."""
    parameters = [lsp.ParameterInformation(label, doc or None) for label, doc in found.parameters]
    # a number behind the last parameter means that none is active
    active = len(parameters) if found.active is None else found.active
    shown = lsp.SignatureInformation(found.text, found.doc or None, parameters)
    return lsp.SignatureHelp([shown], 0, active)
