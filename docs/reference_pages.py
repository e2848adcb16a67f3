"""The pages of the reference, made from the tables that the program itself uses. MkDocs calls `on_files`; nothing is written into docs/."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

import relax_explorer as rxe
from relax_explorer.core import ops, passes
from relax_explorer.core.codes import CODES
from relax_explorer.core.ops.kit import page
from relax_explorer.core.session.command import Argument, Command
from relax_explorer.core.session.debug_commands import DEBUG_COMMANDS
from relax_explorer.core.session.lockstep import LOCKSTEP_COMMANDS
from relax_explorer.core.syntax import dialects
from relax_explorer.ui import config
from relax_explorer.ui.cli.schemas import FOLDER
from relax_explorer.ui.commands import COMMANDS, EVERYWHERE
from relax_explorer.ui.schema_names import SCHEMAS
from relax_explorer.ui.tui.keys import KEYS, PRESETS, SCREENS, help_lines, named_keys
from relax_explorer.ui.tui.typed import TYPED
from relax_explorer.viz import explanations
from relax_explorer.viz.page_parts import Code, Columns, Facts, Items, Page, Part, Prose
from relax_explorer.viz.words import WORDS

ROOT = Path(__file__).parents[1]
REST = "relax_explorer/core"


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages to those of the folder."""
    for path, text in pages():
        files.append(File.generated(config, path, content=text))
    return files


def pages() -> Iterator[tuple[str, str]]:
    """Every page of the reference: its path in the site, and its Markdown."""
    yield "reference/index.md", _overview()
    yield "reference/words.md", _words()
    yield from _operators()
    yield from _passes()
    yield "reference/codes.md", _codes()
    yield "reference/commands.md", _commands()
    yield "reference/keys.md", _keys()
    yield "reference/settings.md", _settings()
    yield "reference/api.md", _api()
    yield "reference/dialects.md", _dialects()
    yield from _schemas()
    for name, path in FOREIGN.items():
        yield f"reference/{name}.md", _without_outer_links((ROOT / path).read_text(encoding="utf-8"))


FOREIGN = {
    "grammar": f"{REST}/ir/README.md",
    "patterns": f"{REST}/patterns/README.md",
    "changes": "CHANGELOG.md",
}
"""Pages that stand beside the code."""


def _without_outer_links(text: str) -> str:
    """A page without links to files that the site lacks."""
    return re.sub(r"\[([^]]+)\]\((?!https?://|#)[^)]+\)", r"\1", text)


# -- Markdown ---------------------------------------------------------------------------------------------------------


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table. Its cells are Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(map(_cell, line))} |" for line in lines)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def code(text: str) -> str:
    """A word of a program in a line."""
    return f"`{text}`" if text else ""


def fence(text: str, language: str = "") -> str:
    """Lines of a program."""
    return f"```{language}\n{text.rstrip()}\n```"


def prose(text: str) -> str:
    """A text with the marks of Markdown as they are, but no tag."""
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(
        part if part.startswith("`") else part.replace("<", "&lt;").replace("*", "\\*") for part in parts
    )


def of_part(part: Part) -> str:
    """A part of an explained page as Markdown."""
    match part:
        case Prose(text):
            return prose(text)
        case Columns(title, _):
            rows = [[code(first), *map(prose, rest)] for first, *rest in part.filled]
            return table([title, *[""] * (len(rows[0]) - 1)], rows)
        case Items(title, lines, remark):
            is_code = title == "Examples"
            listed = (
                fence("\n".join(lines), "text")
                if is_code
                else "\n".join(f"- {prose(line)}" for line in lines)
            )
            return "\n\n".join([f"**{title}**", listed, *([f"*{prose(remark)}*"] if remark else [])])
        case Facts(lines):
            return "\n".join(f"- {prose(line)}" for line in lines)
        case Code(title, text):
            return f"**{title}**\n\n{fence(text, 'tvmscript')}"


def of_page(found: Page, heading: str, level: int = 2) -> str:
    """An explained page under a heading; its title stands below it if it says more."""
    first = [] if found.title == heading else [fence(found.title, "python")] if "(" in found.title else []
    return "\n\n".join([f"{'#' * level} {heading}", *first, *map(of_part, found.parts)])


def slug(heading: str) -> str:
    """The anchor of a heading."""
    return re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", heading).strip().lower())


# -- operators, passes, words, codes ----------------------------------------------------------------------------------

PAGES: dict[str, str] = {
    "words.md": "the words of the language",
    "operators/index.md": "every operator: operands, attributes, results, examples, lowering",
    "passes/index.md": "every pass with its contract and an example, and the pipelines",
    "../phases.md": "what each phase guarantees, and the order of passes",
    "codes.md": "every kind of problem, with what to do",
    "commands.md": "the commands of the shell, of the `:` line and of the debugger",
    "keys.md": "the keys of every screen, and the presets",
    "settings.md": "what settings files and environment variables may set",
    "api.md": "the names of `import relax_explorer`",
    "schemas.md": "the schemas of JSON documents",
    "dialects.md": "the spellings of TVMScript since 2022",
    "grammar.md": "the grammar of Relax",
    "patterns.md": "the text of dataflow patterns",
    "../relations-notation.md": "type relations in Relay's notation",
    "../contracts-notation.md": "shape contracts",
}


def _overview() -> str:
    rows = [
        [f"[{path.removeprefix('../').removesuffix('/index.md').removesuffix('.md')}]({path})", text]
        for path, text in PAGES.items()
    ]
    return (
        "# Reference\n\nThese pages are made from the tables that the program itself uses. `rxe explain NAME` prints the same page in a terminal: "
        f"of an operator, a pass, a code, a word, a pipeline, a phase or a property.\n\n{table(['Page', 'Contents'], rows)}\n"
    )


def _words() -> str:
    parts = [of_page(explanations.of_word(word), word.name) for word in WORDS]
    return "\n\n".join(["# Words of the language", "`rxe explain WORD` prints each of these.", *parts])


def _operators() -> Iterator[tuple[str, str]]:
    families: dict[str, list[type[ops.Op]]] = {}
    for op in ops.table().values():
        families.setdefault(op.__module__.removeprefix("relax_explorer.core.ops."), []).append(op)
    rows = []
    for family, members in families.items():
        file = f"{family.replace('.', '-')}.md"
        for op in members:
            name = _short(op)
            rows.append([f"[{code(name)}]({file}#{slug(name)})", family, prose(page.sentence(op))])
        parts = [of_page(explanations.of_operator(op), _short(op)) for op in members]
        yield f"reference/operators/{file}", "\n\n".join([f"# Operators: {family}", *parts])
    head = f"# Operators\n\n{len(rows)} operators in {len(families)} families. `rxe ops` lists them in a terminal."
    yield "reference/operators/index.md", f"{head}\n\n{table(['Operator', 'Family', 'What it is'], rows)}\n"


def _short(op: type[ops.Op]) -> str:
    return op.name.removeprefix("relax.")


def _passes() -> Iterator[tuple[str, str]]:
    rows = []
    for name, of in passes.table().items():
        rows.append([f"[{code(name)}]({name}.md)", prose(of.doc.splitlines()[0])])
        yield f"reference/passes/{name}.md", of_page(explanations.of_pass(of), name, 1)
    pipelines = [[code(name), ", ".join(map(code, parts))] for name, parts in passes.PIPELINES.items()]
    every, orders = table(["Pass", "What it does"], rows), table(["Name", "Passes"], pipelines)
    yield "reference/passes/index.md", f"# Passes\n\n{every}\n\n## Pipelines\n\n{orders}\n"


def _codes() -> str:
    parts = [
        of_page(explanations.of_code(found), f"{found.id} {prose(found.title)}") for found in CODES.values()
    ]
    return "\n\n".join(["# Codes of problems", "`rxe explain RX0203` prints one of them.", *parts])


# -- commands, keys, settings -----------------------------------------------------------------------------------------


def _commands() -> str:
    parts = [
        "# Commands",
        "`rxe` is short for `relax-explorer`. [Exit statuses](../ci.md) mean the same for all commands.",
        "## The shell",
    ]
    for command in COMMANDS:
        rows = [[code(_option(item)), prose(_sentence(item))] for item in command.arguments]
        parts += [f"### rxe {command.name}", prose(command.doc)]
        parts += [table(["Argument", ""], rows)] if rows else []
        parts += (
            [fence("\n".join(command.examples).replace("relax-explorer", "rxe"), "sh")]
            if command.examples
            else []
        )
    parts += [
        "## Every command",
        table(["Option", ""], [[code(item.name), prose(item.doc)] for item in EVERYWHERE]),
    ]
    parts += ["## Behind `:` in the explorer", _prompt(TYPED), "## In the debugger", _prompt(DEBUG_COMMANDS)]
    return "\n\n".join([*parts, "## In lock-step (`compare --step`)", _prompt(LOCKSTEP_COMMANDS)])


def _prompt(commands: Iterable[Command[object]]) -> str:
    rows = [[code(item.usage), ", ".join(map(code, item.short)), prose(item.doc)] for item in commands]
    return table(["Command", "Short", ""], rows)


def _option(item: Argument) -> str:
    names = ", ".join(filter(None, (item.short, item.name)))
    return (item.metavar or item.name.upper()) if item.positional else f"{names} {item.metavar}".strip()


def _sentence(item: Argument) -> str:
    choices = f": {', '.join(item.choices)}" if item.choices else ""
    default = (
        f" (default: {item.default})"
        if item.default not in (None, False, ()) and "default" not in item.doc
        else ""
    )
    return f"{item.doc}{choices}{default}"


def _keys() -> str:
    parts = [
        "# Keys",
        "Lower-case keys go forward, their upper-case twins back. `?` shows the keys of a screen, ctrl+p searches them all.",
    ]
    for screen in SCREENS:
        rows = [(key, text) for key, text in help_lines(screen) if key or text]
        parts += [
            f"## {screen.capitalize()}",
            table(["Key", ""], [[code(key), prose(text)] for key, text in rows]),
        ]
    parts += ["## Presets", '`rxe tui --keys vim`, or `preset = "vim"` in the settings.', _presets()]
    names = [[code(name), code(keys), prose(doc)] for name, keys, doc in named_keys(KEYS)]
    return "\n\n".join([*parts, "## Names of actions", table(["Name in settings", "Keys", ""], names)])


def _presets() -> str:
    rows = [
        [code(preset), code(name), code(keys)]
        for preset, changed in PRESETS.items()
        for name, keys in changed.items()
    ]
    return table(["Preset", "Action", "Keys"], rows)


def _settings() -> str:
    options: dict[str, tuple[Argument, list[str]]] = {}
    for command in COMMANDS:
        for item in (*command.arguments, *EVERYWHERE):
            if not item.positional and not item.is_typed:
                options.setdefault(f"{item.key} {item.kind}", (item, []))[1].append(command.name)
    rows = [
        [
            code(item.key.replace("_", "-")),
            prose(_sentence(item)),
            "every command" if len(of) == len(COMMANDS) else ", ".join(of),
            "no" if item.is_personal else "yes",
        ]
        for item, of in sorted(options.values(), key=lambda pair: pair[0].key)
    ]
    text = inspect.getdoc(config) or ""
    before, _, example = text.partition("\n\n")
    body, _, rest = example.partition("\n\n")
    return "\n\n".join(
        [
            "# Settings",
            before,
            fence(inspect.cleandoc(body), "toml"),
            rest.replace("\n", " "),
            "Options that choose code to execute are typed, never set.",
            table(["Setting", "", "Commands", "In a project's file"], rows),
        ]
    )


# -- the library, dialects --------------------------------------------------------------------------------------------


def _api() -> str:
    parts = ["# API", "`import relax_explorer as rxe`. [The library](../library.md) tells what they are for."]
    for name in rxe.__all__:
        value = getattr(rxe, name)
        doc = "" if isinstance(value, str) else inspect.getdoc(value) or ""
        parts += [
            f"## {name}",
            *([fence(f"{name}{_signature(value)}", "python")] if callable(value) else []),
            *_documented(doc),
        ]
    return "\n\n".join(parts)


def _signature(value: Callable[..., object]) -> str:
    try:
        text = str(inspect.signature(value)).replace("relax_explorer.core.", "")
    except ValueError:
        return "(…)"
    return re.sub(r"(: |-> )'([^']*)'", r"\1\2", text)  # annotations are texts here


def _documented(doc: str) -> list[str]:
    """A docstring: its paragraphs, and its examples as they are."""
    return [fence(part, "pycon") if part.startswith(">>>") else prose(part) for part in doc.split("\n\n")]


def _schemas() -> Iterator[tuple[str, str]]:
    rows = []
    for name, printed in SCHEMAS.items():
        text = (FOLDER / f"{name}.json").read_text(encoding="utf-8")
        always = json.loads(text)["required"]
        rows.append([f"[rxe.{name}/1](schemas/{name}.json)", code(printed), ", ".join(map(code, always[3:]))])
        yield f"reference/schemas/{name}.json", text
    told = (
        "# Schemas of JSON documents\n\nEach document that `--format json` prints names its schema (`rxe.bisect/1`). "
        "`rxe schema NAME` prints it, and here it is a file. A later "
        "version may add fields; if one went or changed its meaning, the number behind the name would change."
    )
    yield "reference/schemas.md", f"{told}\n\n{table(['Schema', 'Printed by', 'Always there'], rows)}\n"


def _dialects() -> str:
    text = inspect.getdoc(dialects) or ""
    return f"# Dialects\n\n{text}\n\n`rxe show FILE --dialect NAME` prints a program in one of them, `rxe check --dialect NAME` reads it as one.\n"
