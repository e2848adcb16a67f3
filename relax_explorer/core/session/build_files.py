"""Opens what people have of a build: a folder of stages, a log, a script, a notebook, one program; `PATH@STAGE` is a stage of it."""

from __future__ import annotations

import dataclasses
import os
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from relax_explorer.core.codes import syntax as codes
from relax_explorer.core.diagnostics import Diagnostic, Failure, Label, ParseError
from relax_explorer.core.expected import expect
from relax_explorer.core.notations import CONTRACTS, RELATIONS
from relax_explorer.core.session.builds import Build, pipeline_of
from relax_explorer.core.session.folders import (
    address,
    executable_beside,
    is_container,
    nested,
    numbered_files,
    outer,
)
from relax_explorer.core.session.stages import (
    Aside,
    BuildTexts,
    Contents,
    Kind,
    Recorded,
    Stage,
    StageText,
    is_long,
    kinds,
    programs_in,
)
from relax_explorer.core.source import Source
from relax_explorer.core.syntax.beginnings import is_executable
from relax_explorer.core.syntax.finder import Found, is_whole, programs, without_escapes
from relax_explorer.core.syntax.load import cells, found_in, is_notebook, read_text
from relax_explorer.core.syntax.surroundings import written_passes

if TYPE_CHECKING:
    from relax_explorer.core.passes.pipeline import Step
    from relax_explorer.core.session.containers import Container
    from relax_explorer.core.session.session import Session

_MAYBE_PROGRAM = re.compile(r"^@|^[ \t]*(?:def|class) [@\w]|\A\s*\{", re.MULTILINE)
_SMALL = 1 << 20  # characters of a text that may be a program with a mistake in its decorators
_RANGE = re.compile(r"([0-9]{1,9})\.\.([0-9]{1,9})")


def open_build(path: str | Path) -> Build:
    """The build at a path: a folder of stages, a file with one program or several, or `PATH@STAGE` for one of their stages.

    `PATH@20..78` are the stages with these numbers. Raises Failure for what can't be read.
    """
    place, name = address(str(path))
    if os.path.isdir(place):
        build = _folder(place)
    elif is_container(place):
        build = _recording(place)
    else:
        build = _long(place) if is_long(place) else build_of_text(read_text(place), place)
    return build if name is None else part(build, name)


def open_session(
    path: str | Path, pipeline: str | Sequence[str | Step] = "default", cache: Path | None = None
) -> Session:
    """A session on what a path holds, with all stages: those of a recorded build, or of a program after a pipeline.

    One stage of a build, `PATH@STAGE`, goes through the pipeline, too. `cache` is the folder of compiled kernels. Raises Failure.

    >>> session = rxe.open_session("samples/broken_build")
    >>> session
    <RecordedSession samples/broken_build: 6 stages>
    """
    expect(path, (str, Path), "open_session takes the path of a file or folder", "`Session` takes a module")
    from relax_explorer.core.session.recorded import RecordedSession
    from relax_explorer.core.session.session import Session

    build = open_build(path)
    if build.is_recorded:
        session: Session = RecordedSession(build, cache, "tvm")
    else:
        steps = pipeline_of(build, pipeline) if isinstance(pipeline, str) else pipeline
        session = Session(build.stages[0].module, steps, build.path, cache)
    session.run_all()
    return session


def part(build: Build, name: str) -> Build:
    """One stage of a build, or those of a range `20..78`, as a build. Raises Failure."""
    path = f"{build.path}@{name}"
    span = _RANGE.fullmatch(name)
    if span is None:
        try:
            return Build((build.stage(name),), path, outer=build.path)
        except KeyError as error:
            text, has = str(error.args[0]).partition("; ")[::2]
            raise Failure(Diagnostic(codes.UNREADABLE, f"{build.path}: {text}", help=has)) from None
    chosen = [stage for stage in build.every if int(span[1]) <= stage.number <= int(span[2])]
    if not chosen:
        text = f"{build.path} has no stages {span[1]} to {span[2]}"
        raise Failure(
            Diagnostic(codes.UNREADABLE, text, help=f"it has {build.every[0]} to {build.every[-1]}")
        )
    inner = with_lineages(chosen, path) if build.asides else Build(tuple(chosen), path)
    return dataclasses.replace(inner, outer=build.path, is_folder=True)


def _recording(path: str) -> Build:
    """The passes of a recording, or the program of a session of the explorer."""
    from relax_explorer.core.session.containers import open_container  # few builds are recorded
    from relax_explorer.core.session.recorded_builds import remarks_on, stages_of

    container = open_container(path)
    if container.session is not None:
        return _of_session(container)
    build = with_lineages(stages_of(container), path)
    is_model = container.weights is not None  # one program, which passes may start from
    return dataclasses.replace(build, is_folder=not is_model, remarks=tuple(remarks_on(container)))


def _of_session(container: Container) -> Build:
    """The program of a session of the explorer, or the stages of its build. Raises Failure."""
    from relax_explorer.core.session.containers import damaged, open_container
    from relax_explorer.core.session.saved import saved_of

    saved = saved_of(container)
    assert saved is not None  # the caller saw it
    if saved.text:
        build = build_of_text(saved.text, container.path)
        return build if saved.plan is None else dataclasses.replace(build, written=saved.plan.text)
    if not (os.path.isfile(saved.path) or os.path.isdir(saved.path)):
        raise damaged(container.path, f"the build of this session is not there: {saved.path}")
    if is_container(saved.path) and open_container(saved.path).session is not None:
        raise damaged(container.path, f"the build of this session is a session: {saved.path}")
    return open_build(saved.path)


def _folder(path: str) -> Build:
    """The numbered files of a folder. Equal texts are read once."""
    found = numbered_files(Path(path))
    if not found:
        text = f"{path} has no files such as 00_input.py and 01_LegalizeOps.py"
        inner = ", ".join([item.path for item in nested(path)][:5])
        help = (
            f"open one of its folders: {inner}" if inner else "name a folder of numbered stages, or one file"
        )
        raise Failure(Diagnostic(codes.UNREADABLE, text, help=help))
    known = BuildTexts()
    stages = []
    for hit, name in found:
        given = _program(str(name))
        stages.append(Stage(int(hit[1]), hit[2] or hit[1], given.shared(known), str(name)))
    build = with_lineages(stages, path)
    last = build.stages[-1].number
    folders = [
        Aside(None, (), _behind(item.number, last), item.path, count=item.count) for item in nested(path)
    ]
    return dataclasses.replace(
        build,
        asides=(*build.asides, *folders),
        outer=outer(path),
        is_folder=True,
        executable=executable_beside(path),
    )


def _behind(number: int | None, last: int) -> int | None:
    """The number of the first stage behind a folder that belongs to the stage `number`."""
    return number + 1 if number is not None and number < last else None


def _program(file: str) -> StageText:
    """The program in the file of one stage: the first one, or the whole text if it holds none or nothing else.

    A file that can't be read is a stage, too: the others are opened.
    """
    try:
        text = without_escapes(read_text(file))
    except ParseError as failure:
        return StageText("", file, failure=failure)
    found = programs(text)
    return StageText(text, file) if not found or is_whole(text, found) else StageText("", file, found[0])


def build_of_text(text: str, name: str) -> Build:
    """The programs in a text as the stages of a build, named by the headings above them, or by their classes.

    A text without any is one stage, so that its parser tells what is wrong. Raises ParseError for a damaged notebook.
    """
    if is_notebook(text):
        inside = [(f"{name}:{cell.place}", found) for cell, found in found_in(cells(text, name))]
        return _of_found(inside, name) if inside else _nothing(name, "the notebook")
    plain = without_escapes(text)
    found = programs(plain)
    if not found and not _may_be_program(plain):
        return _nothing(name, "the text")
    if not found or is_whole(plain, found):
        made_by = (found[0].heading or "input") if found else "input"
        return Build((Stage(0, made_by, StageText(plain, name), name),), name)
    build = _of_found([(name, item) for item in found], name)
    if any(item.heading for item in found):  # a log applies no passes
        return build
    calls = written_passes(plain, [(item.first, item.last) for item in found])
    if not calls:
        return build
    from relax_explorer.core.session.build_passes import proposed  # most texts call no pass

    written, remarks = proposed(calls)
    return dataclasses.replace(build, written=written, remarks=remarks)


def _may_be_program(text: str) -> bool:
    """True if a text without programs is an executable, or may be a program with a mistake, which its parser tells."""
    return is_executable(text) or (len(text) <= _SMALL and _MAYBE_PROGRAM.search(text) is not None)


def _of_found(found: Sequence[tuple[str, Found]], name: str) -> Build:
    """The programs that were found in a text, each with the name of the file or part that holds it."""
    known = BuildTexts()
    stages = []
    programs_alone = [item for _, item in found]
    for number, ((file, item), made_by) in enumerate(zip(found, _names(programs_alone), strict=True)):
        given = StageText("", file, item)
        stages.append(Stage(number, made_by, given.shared(known), file))
    is_log = any(item.heading for item in programs_alone)
    return with_lineages(stages, name) if is_log else Build(tuple(stages), name)


def _long(path: str) -> Build:
    """The programs of a long log. Their texts are read once, and do not stay in memory."""
    stages: list[Stage] = []
    contents: dict[object, Contents] = {}
    known = BuildTexts()
    heads = []
    for place, found in programs_in(path):
        given = StageText("", path, place, place.above).shared(known)
        if given.key not in contents:
            contents[given.key] = Contents(found.body)
            contents[given.key].forget_text()
        heads.append(dataclasses.replace(found, body=""))
        stages.append(Stage(len(stages), "", given, path))
    if not stages:
        return _nothing(path, "the text")
    for stage, name in zip(stages, _names(heads), strict=True):
        stage.made_by = name
    is_log = any(item.heading for item in heads)
    return with_lineages(stages, path, contents) if is_log else Build(tuple(stages), path)


def _nothing(name: str, what: str) -> Build:
    """The build of a text without a program, whose one stage tells that."""
    text = f"{what} has no module: no @I.ir_module, @R.function or @T.prim_func stands before a class or function"
    problem = Diagnostic(
        codes.EMPTY, text, (Label(Source("", name).span(1, 0), "", True),), help=codes.EMPTY.fix
    )
    return Build((Stage(0, "input", StageText("", name, failure=ParseError(problem)), name),), name)


def _names(found: Sequence[Found]) -> list[str]:
    """A name for each program of a text: the pass of its heading, else its class or its title, with a number where one repeats."""
    if any(item.heading is not None for item in found):
        return [
            item.heading or ("input" if number == 0 and item.heading is None else f"part {number}")
            for number, item in enumerate(found)
        ]
    if len(found) == 1:
        return ["input"]
    classes = Counter(item.name for item in found)
    names = [
        item.name
        if item.name and classes[item.name] == 1 and item.name != "Module"
        else item.title or item.name or "functions"
        for item in found
    ]
    seen: Counter[str] = Counter()
    unique = []
    for name in names:
        seen[name] += 1
        unique.append(name if seen[name] == 1 else f"{name} {seen[name]}")
    return unique


def with_lineages(
    stages: Sequence[Stage], path: str, contents: dict[object, Contents] | None = None
) -> Build:
    """A build of all stages that were recorded: those of the main lineage, the others beside it.

    `contents` are those of texts that were looked at already, by their keys.
    """
    found = _exact_kinds(stages) or _derived_kinds(stages, {} if contents is None else contents)
    told = list(zip(stages, found, strict=True))
    told = [(_cut(stage), Kind.MAIN) if kind is Kind.CUT else (stage, kind) for stage, kind in told]
    main = tuple([stage for stage, kind in told if kind is Kind.MAIN])
    if not main:
        return Build(tuple(stages), path)
    return Build(main, path, asides=tuple(_asides(told, path)))


def _exact_kinds(stages: Sequence[Stage]) -> list[Kind]:
    """The lineages that a recorder saw; nothing if the stages are of no recording."""
    told = [stage.recorded for stage in stages if stage.recorded is not None]
    if len(told) < len(stages) or not told:
        return []
    from relax_explorer.core.session.recorded_builds import kinds_as_recorded  # few builds are recorded

    return kinds_as_recorded(stages, told)


def _derived_kinds(stages: Sequence[Stage], contents: dict[object, Contents]) -> list[Kind]:
    noted = []
    for stage in stages:
        text = stage.origin
        key = stage.text if text is None else text.key
        if key not in contents:
            contents[key] = Contents(stage.text)
        noted.append(Recorded(stage.made_by, contents[key], key))
    return kinds(noted)


def _cut(stage: Stage) -> Stage:
    """A stage whose text ends between two functions, as one that can't be read."""
    text = "the text ends before the functions that the stages around it have"
    place = Label(Source(stage.text, stage.file).at(stage.text.count("\n") + 1, 0), "", True)
    failure = ParseError(Diagnostic(codes.TRUNCATED, text, (place,), help=codes.TRUNCATED.fix))
    return Stage(stage.number, stage.made_by, StageText(stage.text, stage.file, failure=failure), stage.file)


def _asides(told: Sequence[tuple[Stage, Kind]], path: str) -> Iterable[Aside]:
    """The stages beside the main lineage, in groups that stand together."""
    place = 0
    for kind, items in groupby(told, lambda item: item[1]):
        group = [stage for stage, _ in items]
        place += len(group)
        if kind is Kind.MAIN:
            continue
        following = next((stage for stage, other in told[place:] if other is Kind.MAIN), None)
        address = f"{path}@{group[0].number}..{group[-1].number}"
        of = following.made_by if kind is Kind.HELPER and following is not None else ""
        yield Aside(
            kind, tuple(group), None if following is None else following.number, address, of, len(group)
        )


# -- notation files --------------------------------------------------------------------------------------------------
# Files in the notations of type relations and of shape contracts as Relax programs, so that they run and are
# debugged.
# Each binding keeps its place in the notation.


def open_notation(path: str) -> Build | None:
    """The build of a file in one of the notations; None for any other file. Raises Failure for what is wrong, or has no form in Relax."""
    suffix = Path(path).suffix
    if suffix not in (CONTRACTS, RELATIONS):
        return None
    from relax_explorer.core.session.foreign_notations import (  # few files are written so
        of_contracts,
        of_relations,
    )

    text = read_text(path)
    module = of_contracts(text, path) if suffix == CONTRACTS else of_relations(text, path)
    return Build((Stage(0, "", module, path),), path)
