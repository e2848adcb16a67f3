"""The debugger's command language: one table for scripts, the prompt, and the `:` line of the explorer.

Commands, their short forms and unique beginnings of their names are known. Lower case goes forward; a short form in UPPER CASE
runs the reverse: `s` is step, `S` is reverse-step.
"""

from __future__ import annotations

from relax_explorer.core.exec.debugger import Debugger
from relax_explorer.core.session import debug_inspection as inspection
from relax_explorer.core.session import debug_kernels as kernels
from relax_explorer.core.session import debug_motions as motions
from relax_explorer.core.session.command import Command, word
from relax_explorer.core.session.debug_session import (
    Answer,
    DebugSession,
    execute_from,
    help_on,
)


def _help(session: DebugSession, text: str) -> Answer:
    return help_on(DEBUG_COMMANDS, text)


def _quit(session: DebugSession, text: str) -> Answer:
    session.is_over = True
    return Answer("quit")


_BREAK = (
    "Stop at a place: y, main.y, op:matmul, fn:f, kernel:k, line:12, model.py:12, nan, inf; without one, at the next binding, or "
    "wherever a step makes the condition true."
)
_STEP = "Evaluate the next binding, or enter the function it calls; inside a PrimFunc, do one store."
_BACK_INTO = "Undo one step; if it called a PrimFunc, stop there after its last store."
_INTO = "Go into the PrimFunc that the next binding calls; inside it, do one store. Elsewhere it is step."
_UNTIL = "Run to a place; without one, to the next binding of this function, or out of the innermost loop of a PrimFunc."
_WATCH = "Show a value at every stop, marked with * if it changed; without one, list them."
_BLAME = "Tell which step made the NaN or infinity in a variable; without one, in the last value."
TIMES, NUMBERS = (word("[N]", "int"),), (word("[N…]", "int"),)
VALUE, MAYBE_VALUE = (word("EXPR", "variable"),), (word("[EXPR]", "variable"),)
MAYBE_NAME, LINE = (word("[NAME]", "variable"),), (word("[LINE|FUNCTION]", "function"),)
POSITION = (word("N|+N|-N|start|end", choices=("start", "end")),)
PLACE = (word("[PLACE]", "variable"), word("[if CONDITION]", "variable"))
POINT = word("N", "int")
CONDITION = (POINT, word("[CONDITION]", "variable"))
TOPIC = (word("[TOPIC]", choices=tuple(inspection.TOPICS)),)
COMMAND = (word("[COMMAND]", "command"),)
DEBUG_COMMANDS: tuple[Command[Answer], ...] = (
    Command("run", "Go to the start, and run to the first breakpoint or the end.", motions.run, short=("r",)),
    Command("step", _STEP, motions.step, TIMES, short=("s",)),
    Command("reverse-step", "Undo one step.", motions.times(kernels.back), TIMES, short=("rs", "S")),
    Command("into", _INTO, motions.into, TIMES, short=("si", "stepi", "in")),
    Command("reverse-into", _BACK_INTO, motions.times(kernels.back_into), TIMES, short=("rsi", "SI")),
    Command("next", "Evaluate the next binding, and run its calls to the end.", motions.times(kernels.next_), TIMES, short=("n",)),
    Command("reverse-next", "Undo the last binding of this function with its calls.", motions.times(kernels.back_next), TIMES, short=("rn", "N")),
    Command("finish", "Run until the function returns.", motions.once(kernels.finish), short=("fin", "o")),
    Command("reverse-finish", "Go back to before the function was entered.", motions.once(kernels.back_finish), short=("FIN", "O")),
    Command("until", _UNTIL, motions.until, PLACE, short=("u",)),
    Command("reverse-until", "Go back to a place.", motions.back_until, PLACE, short=("ru", "U")),
    Command("continue", "Run to a breakpoint or the end.", motions.once(Debugger.continue_), short=("c",)),
    Command("reverse-continue", "Go back to a breakpoint or the start.", motions.once(Debugger.back_continue), short=("rc", "C")),
    Command("goto", "Go to the position after N steps, forward or back.", motions.goto, POSITION, short=("g",)),
    Command("next-call", "Go to the next call of a file of calls.", motions.next_call, TIMES, short=(")",)),
    Command("previous-call", "Go back to the start of this call, or to the call before.", motions.previous_call, TIMES, short=("(",)),
    Command("last-change", "Go back to the step that changed a value.", motions.last_change, VALUE, short=("lc",)),
    Command("next-change", "Run to the next step that changes a value.", motions.next_change, VALUE, short=("nc",)),
    Command("break", _BREAK, inspection.set_point(False), PLACE, short=("b",)),
    Command("tbreak", "Stop at a place once.", inspection.set_point(True), PLACE, short=("tb",)),
    Command("condition", "Change the condition of breakpoint N, or remove it.", inspection.condition_, CONDITION, short=("cond",)),
    Command("ignore", "Pass over the next COUNT hits of breakpoint N.", inspection.ignore, (POINT, word("COUNT", "int"))),
    Command("delete", "Delete breakpoints; without numbers, all.", inspection.delete, NUMBERS, short=("d",)),
    Command("enable", "Enable breakpoints; without numbers, all.", inspection.switch(True), NUMBERS),
    Command("disable", "Disable breakpoints; without numbers, all. Their hits are still counted.", inspection.switch(False), NUMBERS),
    Command("watch", _WATCH, inspection.watch, MAYBE_VALUE, short=("w",)),
    Command("unwatch", "Remove watches; without numbers, all.", inspection.unwatch, NUMBERS),
    Command("print", "Show a value: y, y[0, 1], y.shape, max(abs(x - y)), n * 2.", inspection.print_, VALUE, short=("p",)),
    Command("blame", _BLAME, inspection.blame_, MAYBE_NAME),
    Command("info", "Show breakpoints, watches, locals, dims, shapes, frames or checks.", inspection.info, TOPIC, short=("i",)),
    Command("where", "Show the open calls, innermost first.", inspection.where, short=("bt", "backtrace")),
    Command("up", "Select the caller's frame.", inspection.up, TIMES),
    Command("down", "Select the called frame.", inspection.down, TIMES),
    Command("frame", "Select frame N; 0 is the innermost one.", inspection.frame, TIMES, short=("f",)),
    Command("list", "Show the program around a line; without one, around the next binding.", inspection.list_, LINE, short=("l",)),
    Command("output", "Show the output of R.print up to here.", inspection.output),
    Command("help", "List the commands, or explain one.", _help, COMMAND, short=("h", "?")),
    Command("quit", "End the session.", _quit, short=("q",)),
)  # fmt: skip


def execute(session: DebugSession, line: str) -> Answer:
    """Run one command line. A wrong command is answered with its problem, and changes nothing."""
    return execute_from(DEBUG_COMMANDS, session, line)
