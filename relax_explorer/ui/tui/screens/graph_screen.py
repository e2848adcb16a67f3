"""The graph screen: the dataflow graph of the selected function. It follows the stage, the selection and the run."""

from __future__ import annotations

from dataclasses import replace

from rich.text import Text
from textual.app import ComposeResult
from textual.containers import Horizontal

from relax_explorer.core.exec.interrupt import Interrupt
from relax_explorer.core.exec.one_run import BindingTimes
from relax_explorer.core.ir import expr as e
from relax_explorer.ui.tui import keys, rows
from relax_explorer.ui.tui.debug_rows import RunView
from relax_explorer.ui.tui.empty import no_graph, no_program
from relax_explorer.ui.tui.jobs import Job
from relax_explorer.ui.tui.line_words import COUNTED, MEASURES, STORAGES
from relax_explorer.ui.tui.pictures import (
    GraphPicture,
    graph_picture,
    graphed_function,
    measured,
    taken_there,
)
from relax_explorer.ui.tui.screens.screen_frame import Frame
from relax_explorer.ui.tui.state import Selection, State
from relax_explorer.ui.tui.widgets.framed import CursorMoved, FixedText
from relax_explorer.ui.tui.widgets.graph_canvas import GraphCanvas, MapView, Panned
from relax_explorer.viz.cells import Direction, neighbour, paged
from relax_explorer.viz.folding import frame_of
from relax_explorer.viz.graph import Graph, Mark, Node
from relax_explorer.viz.marked_graph import COUNTED_WORDS, RARE
from relax_explorer.viz.storage_view import NOTHING
from relax_explorer.viz.tables import apart
from relax_explorer.viz.value_graph import handles_memory
from relax_explorer.viz.visible import columns, fit, visible

RunKey = tuple[int, str, str]
PAN = (8, 4)  # columns and rows of one step
_BACK: dict[Direction, Direction] = {"up": "down", "down": "up", "left": "right", "right": "left"}


class GraphScreen(Frame):
    """The cursor is the selected node; `~` marks what the stage changed, `>` the next binding of the run, `✓` those before."""

    BINDINGS = keys.bindings("graph")
    name_ = "graph"
    panes = ("graph",)

    def compose_body(self) -> ComposeResult:
        """The drawing, its map, and the node under the cursor."""
        with Horizontal():
            yield GraphCanvas("graph")
            yield MapView("map")
        yield FixedText(id="node")

    def prepare(self) -> None:
        """Begin without a drawing."""
        self._asked: tuple[object, ...] | None = None  # what the drawing shows, or will show
        self._picture: GraphPicture | None = None
        self._legend = ""  # where the frame has no edge for it
        self._marked: tuple[GraphPicture, RunView | None, int] | None = None  # what the marks show
        self._step: tuple[int, int, Direction] | None = None  # the last move of the cursor
        self._wanted = "time"  # what the run in progress is for
        self._times: dict[RunKey, BindingTimes] = {}  # of the functions that were measured
        self._machine: dict[str, BindingTimes] = {}  # what their calls took in the compiled program

    @property
    def canvas(self) -> GraphCanvas:
        """The drawing."""
        return self.query_one("#graph", GraphCanvas)

    # -- drawing --------------------------------------------------------------------------------------------------

    def draw(self, state: State, old: State) -> None:
        """Lay the graph out if another one is to be shown; else move the cursor and the marks."""
        if state.session is None:
            self.canvas.show_text("\n".join(no_program(state, self.explorer.asked, False)))
            return
        if state.stage is not None and not state.stage.module.relax_functions:
            self._asked = ()
            self.explorer.jobs.drop("graph")
            self.canvas.show_text("\n".join(no_graph(state.stage)))
            self.canvas.border_title = self.canvas.border_subtitle = ""
            return
        options, selection = state.options, state.selection
        if state.session is not old.session:
            self._times.clear()
            self._machine.clear()
        times = self._heat_times()
        # all functions look the same whichever one is selected
        at = (
            (None, None)
            if options.calls and not options.radius
            else (selection.function, selection.binding if options.radius else None)
        )
        asked = (state.session, selection.stage, *at, options.calls, options.layers, options.shows_memory, options.shows_removed,
                 options.inside, options.heat, options.lengths, times, options.radius)  # fmt: skip
        if asked != self._asked:
            self._asked = asked
            self._start(state, times)
        else:
            self._follow(state)

    def _start(self, state: State, times: BindingTimes | None) -> None:
        last = self._picture

        def work(job: Job) -> GraphPicture:
            return graph_picture(state, times, last)

        self.explorer.jobs.start("graph", "drawing the graph", work, self._show)

    def _show(self, found: GraphPicture) -> None:
        self._picture, self._step = found, None
        state = self.explorer.state
        cursor = self._heir(found, self._selected(state))
        stays = found.history is not None and self.canvas.box is not None
        self.canvas.show_graph(found.graph, found.picture, found.rows, cursor, stays)
        if found.history is not None and found.history.story:
            self.explorer.say(found.history.story)
        notes = [*found.graph.notes]
        if found.picture.untraced:
            notes.append(f"{found.picture.untraced} long lines are not drawn")
        text = "  ".join(visible(note) for note in (found.graph.title, *notes))
        self.canvas.border_title = text.replace("[", "\\[")
        changes = _legend_of_marks(found.graph, state.options.shows_removed)
        is_coloured = bool(found.graph.legend) and any(
            node.heat >= 0 or node.tint for node in found.graph.nodes
        )
        marks = f"{changes} · > next in the run · ✓ done"
        self.canvas.border_subtitle = self.canvas.legend(found.graph.legend) if is_coloured else marks
        colours = " ".join(visible(words, 40) for _, words in found.graph.legend)
        self._legend = colours if is_coloured else changes if _has_marks(found.graph) else ""
        self._mark(state)
        self._draw_place()
        self.call_after_refresh(self._draw_map)  # the map may have got its size by then

    def _heir(self, found: GraphPicture, selected: int | None) -> int:
        """The node for the cursor: the selected one, else what the one under it became."""
        nodes, here = self.canvas.graph.nodes, self.canvas.cursor
        if selected is not None or here >= len(nodes):
            return selected or 0
        old = nodes[here].id
        if found.history is None:
            return found.graph.number.get(old, 0)
        before = found.history.before
        heirs = (number for number, node in enumerate(found.graph.nodes) if old in before.get(node.id, ()))
        return next(heirs, 0)

    def _selected(self, state: State) -> int | None:
        """The node of the selected binding, by identity, else by name; None if it has none."""
        binding, picture = state.selection.binding, self._picture
        if picture is not None and state.options.calls:
            nodes, name = picture.graph.nodes, state.selection.function
            groups = (number for number, node in enumerate(nodes) if name in node.sources)
            return picture.graph.number.get(name, next(groups, None))
        if binding is None or picture is None:
            return None
        nodes, here = picture.graph.nodes, self.canvas.cursor
        if here < len(nodes) and any(source is binding for source in nodes[here].sources):
            return here  # a function that is opened twice has two nodes for each binding
        found = picture.number.get(id(binding))
        names = (n for n, node in enumerate(picture.graph.nodes) if node.id == state.selection.variable)
        return found if found is not None else next(names, None)

    def _follow(self, state: State) -> None:
        number = self._selected(state)
        if number is not None and number != self.canvas.cursor:
            self.canvas.move(number, tell=False)
            self._step = None
        self._mark(state)
        self._draw_place()

    def _mark(self, state: State) -> None:
        """Mark what the stage changed and how far the run is."""
        picture, run = self._picture, state.run
        if picture is None or self._marked == (picture, run, state.selection.stage):
            return
        self._marked = (picture, run, state.selection.stage)
        is_here = run is not None and run.stage == state.selection.stage
        done = run.lines.marks if run is not None and is_here else {}
        running = self.explorer.running
        marks: dict[int, tuple[Mark, ...]] = {}
        for number, node in enumerate(picture.graph.nodes):
            held: list[Mark] = [
                mark for mark in node.marks_in_order if mark not in (Mark.CURRENT, Mark.SELECTED)
            ]
            is_next = state.options.calls and is_here and run is not None and node.id == run.function
            if is_next or (running is not None and any(source is running for source in node.sources)):
                held.append(Mark.CURRENT)
            elif done and any(done.get(id(source)) == "✓" for source in node.sources):
                held.append(Mark.DONE)
            if held:
                marks[number] = tuple(held)
        self.canvas.mark(marks)

    def _draw_place(self) -> None:
        """The map, and the node under the cursor."""
        text = Text("\n".join(self._node_lines()), no_wrap=True)
        self.query_one("#node", FixedText).show(text)
        self._draw_map()

    def _node_lines(self) -> list[str]:
        canvas, width = self.canvas, self.app.size.width - 1
        row, box = canvas.row, canvas.box
        if row is None or box is None:
            return ["", ""]
        graph, number = canvas.graph, canvas.cursor
        node, radius = graph.nodes[number], self.explorer.state.options.radius
        inputs, readers = len(graph.incoming[number]), len(graph.outgoing[number])
        last = max(item.row for item in canvas.picture.boxes)
        calls = self.explorer.state.options.calls
        parts = [
            str(node.kind) if calls else visible(graph.title),
            f"called by {inputs}, calls {readers}" if calls else f"{inputs} in, {readers} out",
            f"row {box.row + 1} of {last + 1}",
            *["output of its dataflow block"] * node.is_output,
            *(visible(text, 120) for look, text in graph.legend if node.tint and look == node.tint),
            *(visible(line) for line in node.lines if line not in (node.id, node.shape_text)),
            *([f"within {radius} edges, a shows all"] if radius else []),
        ]
        told, legend = f" {' · '.join(parts)}", self._legend if self.is_narrow else ""
        if legend:  # a narrow frame has no lower edge for it
            legend = fit(legend, width // 2)
            told = apart(fit(told, width - columns(legend) - 2), legend, width, 2)
        return [fit(f" {row.text}", width), fit(told, width)]

    def _draw_map(self) -> None:
        """The map, if the drawing is larger than the view would be without it."""
        canvas, view = self.canvas, self.query_one("#map", MapView)
        is_cut = canvas.exceeds(view.outer_size.width if view.display else 0)
        view.display = self._shows_map and is_cut and self._picture is not None
        if view.display:
            view.show(canvas)

    @property
    def _shows_map(self) -> bool:
        """True if the map was asked for, or nothing was and it has room: in a narrow terminal the scrollbar is the map."""
        asked = self.explorer.state.options.shows_map
        return not self.is_narrow if asked is None else asked

    # -- moving ---------------------------------------------------------------------------------------------------

    def on_panned(self, message: Panned) -> None:
        """Draw the map again."""
        self._draw_map()

    def on_cursor_moved(self, message: CursorMoved) -> None:
        """Select what the cursor is on."""
        row, selection, stage = self.canvas.row, self.explorer.state.selection, self.explorer.state.stage
        if row is None or stage is None:
            return
        if self.explorer.state.options.calls:
            if row.function in stage.module.functions and row.function != selection.function:
                self.explorer.select(Selection(selection.stage, row.function))
            self._draw_place()
            return
        number = self._selected(self.explorer.state)
        if number == self.canvas.cursor:  # a node may stand for several bindings
            self._draw_place()
            return
        self.explorer.select(replace(selection, binding=row.binding))
        self._draw_place()

    def action_node(self, way: Direction) -> None:
        canvas, last = self.canvas, self._step
        if not canvas.picture.boxes:
            return
        here = canvas.cursor
        back = last is not None and last[1] == here and last[2] == _BACK[way]
        to = last[0] if back and last is not None else neighbour(canvas.graph, canvas.picture, here, way)
        if to is not None:
            self._step = (here, to, way)
            canvas.move(to)

    def action_pan(self, columns: int, rows: int) -> None:
        self.canvas.pan(columns * PAN[0], rows * PAN[1])

    def action_page(self, pages: int) -> None:
        canvas = self.canvas
        if canvas.picture.boxes:
            canvas.move(paged(canvas.picture, canvas.cursor, pages * max(4, canvas.lines_shown - 4)))

    def action_enter(self) -> None:
        """Go to the binding where it can be read; from a function to its graph, from a PrimFunc to its text."""
        state, row = self.explorer.state, self.canvas.row
        if state.options.calls:
            self._open_function("" if row is None else row.function)
            return
        if self.explorer.state.selection.binding is None:
            self.explorer.say("this node is no binding")
            return
        self.explorer.show_screen("debug" if self.explorer.running is not None else "passes")

    def _open_function(self, name: str) -> None:
        stage = self.explorer.state.stage
        group = self.canvas.graph.nodes[self.canvas.cursor].sources if self.canvas.picture.boxes else ()
        if group:
            self.explorer.say(f"it stands for {visible(', '.join(map(str, group)), 200)}")
        elif stage is None or name not in stage.module.functions:
            self.explorer.say("the module does not define this function")
        elif name in stage.module.relax_functions:
            self.explorer.show_with(calls=False)
        else:
            self.explorer.show_screen("passes")

    # -- what is shown --------------------------------------------------------------------------------------------

    def action_calls(self) -> None:
        calls = not self.explorer.state.options.calls
        self.explorer.show_with(calls=calls, radius=0)
        self.explorer.say("which function calls which; Enter opens one" if calls else "one function")

    def action_layers(self) -> None:
        if self._shows_calls():
            return
        picture = self._picture
        if self.explorer.state.options.layers == "each":
            self.explorer.show_with(layers="once")
        elif picture is not None and any(len(node.sources) > 1 for node in picture.graph.nodes):
            self.explorer.show_with(layers="each")
        else:
            self.explorer.say("no layers of this function are equal")

    def action_memory(self) -> None:
        if self._shows_calls():
            return
        state = self.explorer.state
        fn = None if state.stage is None else state.stage.module.functions.get(graphed_function(state))
        if not isinstance(fn, e.Function) or not handles_memory(fn):
            self.explorer.say("no kernel writes into memory here: CallTIRRewrite makes them do so")
            return
        self.explorer.show_with(shows_memory=not state.options.shows_memory)

    def action_open(self) -> None:
        """Show what the called function computes, or hide it again."""
        if self._shows_calls():
            return
        stage, row = self.explorer.state.stage, self.canvas.row
        if stage is None or row is None:
            return
        state = self.explorer.state
        call: e.Binding | None = row.node if isinstance(row.node, e.VarBinding) else None
        node = self.canvas.graph.nodes[self.canvas.cursor]
        if rows.callee(call) not in stage.module.relax_functions:
            call = self._call_around(node)
        name = rows.callee(call)
        if name not in stage.module.relax_functions:
            self.explorer.say("this node calls no Relax function")
            return
        self.explorer.select(replace(state.selection, binding=call))
        self.explorer.show_with(inside=state.options.inside ^ {name})

    def _shows_calls(self) -> bool:
        """True if all functions are drawn, where the keys for the graph of one have no meaning; then it says so."""
        calls = self.explorer.state.options.calls
        if calls:
            self.explorer.say("this is for the graph of one function; f shows it")
        return calls

    def _call_around(self, node: Node) -> e.Binding | None:
        """The call in whose inside a node stands."""
        graph = self.canvas.graph
        for item in reversed(graph.cluster_path(node.cluster)):
            for other in graph.nodes:
                if frame_of(other.id) == item and isinstance(other.sources[0], e.VarBinding):
                    return other.sources[0]
        return None

    def action_map(self) -> None:
        self.explorer.show_with(shows_map=not self._shows_map)

    def action_radius(self, step: int) -> None:
        if not self.explorer.state.selection.variable and not self.explorer.state.options.calls:
            self.explorer.say("select a binding first")
            return
        radius = self.explorer.state.options.radius
        self.explorer.show_with(radius=max(1, radius + step) if radius else 2)

    def action_whole(self) -> None:
        self.explorer.show_with(radius=0)

    def action_removed(self) -> None:
        if self._shows_calls():
            return
        stage = self.explorer.state.stage
        if stage is None or not stage.number or not stage.changed:
            self.explorer.say("this stage changed nothing")
            return
        self.explorer.show_with(shows_removed=not self.explorer.state.options.shows_removed)

    def _run_key(self, state: State) -> RunKey:
        """What a run depends on: stage, function and inputs."""
        name = graphed_function(state)
        return (state.selection.stage, name, repr(self.explorer.run_control.given(name)))

    def action_heat(self) -> None:
        """By class, by time, by bytes. The first time for a function, it is run."""
        if self._shows_calls():
            return
        state, app = self.explorer.state, self.explorer
        session, stage = state.session, state.stage
        if session is None or stage is None:
            return
        key = self._run_key(state)
        if key in self._times:
            order = ["", "time", "bytes", *(["machine"] if self._has_machine(key[1]) else [])]
            here = order.index(state.options.heat) if state.options.heat in order else 0
            app.show_with(heat=order[(here + 1) % len(order)])
            return
        name, interrupt = key[1], Interrupt()
        given = app.run_control.given(name)
        app.verdicts.interrupt = interrupt  # Esc cancels it

        def work(job: Job) -> tuple[BindingTimes | None, BindingTimes | None]:
            there = taken_there(session, name) if stage is session.stages[-1] else None
            return measured(session, stage, name, given, interrupt), there

        def done(found: tuple[BindingTimes | None, BindingTimes | None]) -> None:
            times, there = found
            if times is None:
                app.say("cancelled")
                return
            self._times[key] = times
            if there is not None:
                self._machine[name] = there
            app.show_with(heat=self._wanted)
            self._wanted = "time"
            self._draw()
            app.say("medians of warm runs of each binding; c shows bytes, then classes")

        app.jobs.start("heat", f"running {name}", work, done)

    def action_run_heat(self, measure: str) -> None:
        """By a measure of a run, which is made if there was none."""
        key = self._run_key(self.explorer.state)
        if measure == "machine" and not self._has_machine(key[1]):
            measure = "time"
        if key in self._times:
            self.explorer.show_with(heat=measure)
        else:
            self._wanted = measure
            self.action_heat()

    def action_counted_heat(self) -> None:
        """By FLOPs, by bytes moved, by memory held; then by class again. No run is needed."""
        if self._shows_calls():
            return
        order = ["", *COUNTED]
        heat = self.explorer.state.options.heat
        chosen = order[(order.index(heat) + 1) % len(order) if heat in order else 1]
        self.explorer.show_with(heat=chosen)
        self.explorer.say(
            f"{COUNTED_WORDS[COUNTED[chosen]]}; :heat takes lengths" if chosen else "classes of operations"
        )

    def action_storages(self) -> None:
        if self._shows_calls():
            return
        state = self.explorer.state
        if state.options.heat != STORAGES and not any(node.place for node in self.canvas.graph.nodes):
            self.explorer.say(NOTHING)
            return
        self.explorer.show_with(heat="" if state.options.heat == STORAGES else STORAGES)

    def action_export(self) -> None:
        self.explorer.exports.graph(self._heat_times())

    def action_image(self) -> None:
        self.explorer.pictures.image(self._heat_times())

    def _heat_times(self) -> BindingTimes | None:
        state = self.explorer.state
        if state.options.heat == "machine":
            return (
                self._machine.get(graphed_function(state))
                if self._has_machine(graphed_function(state))
                else None
            )
        return self._times.get(self._run_key(state)) if state.options.heat in MEASURES else None

    def _has_machine(self, name: str) -> bool:
        """True for a function of the last stage that the compiled program ran."""
        session, stage = self.explorer.state.session, self.explorer.state.stage
        return session is not None and stage is session.stages[-1] and name in self._machine

    def action_debug_here(self) -> None:
        self.explorer.show_screen("debug")


def _has_marks(graph: Graph) -> bool:
    """True if the stage changed something of a graph."""
    return any(set(node.marks) - {Mark.CURRENT, Mark.SELECTED, Mark.DONE} for node in graph.nodes)


def _legend_of_marks(graph: Graph, shows_removed: bool) -> str:
    """The signs of what the stage changed; the rarer ones if a node has them."""
    signs = [Mark.ADDED, Mark.REMOVED, Mark.CHANGED] if shows_removed else []
    rare = [mark for mark in RARE if any(mark in node.marks for node in graph.nodes)]
    shown = [f"{mark.glyph} {mark}" for mark in (*signs, *rare)]
    return " ".join(shown if shows_removed else [*shown, "~ changed here"])
