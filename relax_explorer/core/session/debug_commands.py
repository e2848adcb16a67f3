"""The debugger's command language: one table for scripts, the prompt, and the `:` line of the explorer.

Commands, their short forms and unique beginnings of their names are known. Lower case goes forward; a short form in UPPER CASE
runs the reverse: `s` is step, `S` is reverse-step.
"""

from __future__ import annotations

from relax_explorer.core.session import debug_inspection as inspection
from relax_explorer.core.session import debug_inspection as points
from relax_explorer.core.session import debug_motions as motions
from relax_explorer.core.session.debug_session import (
    Answer,
    DebugCommand,
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
_INTO = "Go into the PrimFunc that the next binding calls; inside it, do one store. Elsewhere it is step."
_UNTIL = "Run to a place; without one, to the next binding of this function, or out of the innermost loop of a PrimFunc."
_PLACE = "[PLACE] [if CONDITION]"
DEBUG_COMMANDS: tuple[DebugCommand[DebugSession], ...] = (
    DebugCommand("run", "", "Go to the start, and run to the first breakpoint or the end.", motions.run, ("r",)),
    DebugCommand("step", "[N]", "Evaluate the next binding, or enter the function it calls; inside a PrimFunc, do one store.", motions.step, ("s",)),
    DebugCommand("reverse-step", "[N]", "Undo one step.", motions.back_step, ("rs", "S")),
    DebugCommand("into", "[N]", _INTO, motions.into, ("si", "stepi", "in")),
    DebugCommand("reverse-into", "[N]", "Undo one step; if it called a PrimFunc, stop there after its last store.", motions.back_into, ("rsi", "SI")),
    DebugCommand("next", "[N]", "Evaluate the next binding, and run its calls to the end.", motions.next_, ("n",)),
    DebugCommand("reverse-next", "[N]", "Undo the last binding of this function with its calls.", motions.back_next, ("rn", "N")),
    DebugCommand("finish", "", "Run until the function returns.", motions.finish, ("fin", "o")),
    DebugCommand("reverse-finish", "", "Go back to before the function was entered.", motions.back_finish, ("FIN", "O")),
    DebugCommand("until", "[PLACE] [if CONDITION]", _UNTIL, motions.until, ("u",)),
    DebugCommand("reverse-until", "[PLACE] [if CONDITION]", "Go back to a place.", motions.back_until, ("ru", "U")),
    DebugCommand("continue", "", "Run to a breakpoint or the end.", motions.continue_, ("c",)),
    DebugCommand("reverse-continue", "", "Go back to a breakpoint or the start.", motions.back_continue, ("rc", "C")),
    DebugCommand("goto", "N|+N|-N|start|end", "Go to the position after N steps, forward or back.", motions.goto, ("g",)),
    DebugCommand("next-call", "[N]", "Go to the next call of a file of calls.", motions.next_call, (")",)),
    DebugCommand("previous-call", "[N]", "Go back to the start of this call, or to the call before.", motions.previous_call, ("(",)),
    DebugCommand("last-change", "EXPR", "Go back to the step that changed a value.", motions.last_change, ("lc",)),
    DebugCommand("next-change", "EXPR", "Run to the next step that changes a value.", motions.next_change, ("nc",)),
    DebugCommand("break", _PLACE, _BREAK, points.break_, ("b",)),
    DebugCommand("tbreak", _PLACE, "Stop at a place once.", points.tbreak, ("tb",)),
    DebugCommand("condition", "N [CONDITION]", "Change the condition of breakpoint N, or remove it.", points.condition_, ("cond",)),
    DebugCommand("ignore", "N COUNT", "Pass over the next COUNT hits of breakpoint N.", points.ignore, ()),
    DebugCommand("delete", "[N…]", "Delete breakpoints; without numbers, all.", points.delete, ("d",)),
    DebugCommand("enable", "[N…]", "Enable breakpoints; without numbers, all.", points.enable, ()),
    DebugCommand("disable", "[N…]", "Disable breakpoints; without numbers, all. Their hits are still counted.", points.disable, ()),
    DebugCommand("watch", "[EXPR]", "Show a value at every stop, marked with * if it changed; without one, list them.", points.watch, ("w",)),
    DebugCommand("unwatch", "[N…]", "Remove watches; without numbers, all.", points.unwatch, ()),
    DebugCommand("print", "EXPR", "Show a value: y, y[0, 1], y.shape, max(abs(x - y)), n * 2.", inspection.print_, ("p",)),
    DebugCommand("blame", "[NAME]", "Tell which step made the NaN or infinity in a variable; without one, in the last value.", inspection.blame_, ()),
    DebugCommand("info", "[TOPIC]", "Show breakpoints, watches, locals, dims, shapes, frames or checks.", inspection.info, ("i",)),
    DebugCommand("where", "", "Show the open calls, innermost first.", inspection.where, ("bt", "backtrace")),
    DebugCommand("up", "[N]", "Select the caller's frame.", inspection.up, ()),
    DebugCommand("down", "[N]", "Select the called frame.", inspection.down, ()),
    DebugCommand("frame", "[N]", "Select frame N; 0 is the innermost one.", inspection.frame, ("f",)),
    DebugCommand("list", "[LINE|FUNCTION]", "Show the program around a line; without one, around the next binding.", inspection.list_, ("l",)),
    DebugCommand("output", "", "Show the output of R.print up to here.", inspection.output, ()),
    DebugCommand("help", "[COMMAND]", "List the commands, or explain one.", _help, ("h", "?")),
    DebugCommand("quit", "", "End the session.", _quit, ("q",)),
)  # fmt: skip


def execute(session: DebugSession, line: str) -> Answer:
    """Run one command line. A wrong command is answered with its problem, and changes nothing."""
    return execute_from(DEBUG_COMMANDS, session, line)
