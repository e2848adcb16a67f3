"""A tour in eight keys through a broken build. Each step waits for its key; the explorer works as always meanwhile."""

from __future__ import annotations

from dataclasses import dataclass

from relax_explorer.ui import directories
from relax_explorer.ui.tui.host import Host
from relax_explorer.ui.tui.keys import keys_of
from relax_explorer.ui.tui.stage_control import StageControl

BUILD = "broken_build"  # the sample


@dataclass(frozen=True, slots=True)
class Lesson:
    """One step: the action that ends it, the screen where it counts, and two lines of text; `{key}` is the key of the action."""

    action: str
    screen: str
    text: str


LESSONS: tuple[Lesson, ...] = (
    Lesson(
        "stage(1, True)",
        "passes",
        "A build of a Llama, stage by stage. Its results are wrong; which pass did it?\n"
        "{key}  shows the next stage that changed the program; [ goes back.",
    ),
    Lesson(
        "change(1)",
        "passes",
        "LegalizeOps replaced operators by kernels. At the left: + new, ~ changed.\n"
        "{key}  goes to the next change, C to the one before.",
    ),
    Lesson(
        "show('debug')",
        "passes",
        "Digits switch screens; what is selected stays selected.\n{key}  runs the program, one binding at a time.",
    ),
    Lesson(
        "run('step')",
        "debug",
        "At the left is the next binding. Inputs are made up; I changes them.\n"
        "{key}  steps: each value appears below with its range and distribution.",
    ),
    Lesson(
        "run('reverse-step')",
        "debug",
        "Lower-case keys go forward, upper-case keys back, here and everywhere.\n{key}  steps back.",
    ),
    Lesson(
        "show('passes')",
        "debug",
        "Stepping through every stage would find the mistake, but slowly.\n{key}  goes back to Passes.",
    ),
    Lesson(
        "bisect",
        "passes",
        "Bisecting runs stages on equal inputs and compares all values.\n"
        "{key}  finds the first wrong stage; Enter in its list goes to the value.",
    ),
    Lesson(
        "enter",
        "passes",
        "FuseTIRInner it was: softmax is the first value that differs.\n"
        "{key}  opens its kernel, and c there leads to the lines that changed.",
    ),
)
_END = "That was the tour. ? lists all keys, : takes commands, 0 shows your files.\nEsc  ends it."
_BISECTING = "Stage after stage runs on equal inputs, until the first wrong one is found.\nA list of them opens in a moment."


class Tutorial:
    """Where the tour is."""

    def __init__(self, app: Host, stages: StageControl) -> None:
        self.app, self.stages = app, stages
        self.at = -1  # the present lesson; len(LESSONS) behind the last one, -1 without a tour

    def start(self) -> None:
        """Open the build, and show the first lesson."""
        build = next((path for path in directories.samples() if path.name == BUILD), None)
        if build is None:
            self.app.say("the samples are not installed")
            return
        self.at = 0
        self.stages.open(str(build))
        self.app.show_screen("passes")

    @property
    def is_on(self) -> bool:
        """True during the tour."""
        return self.at >= 0

    def acted(self, action: str, screen: str) -> None:
        """Take an action that a key called on a screen."""
        if action == "cancel":
            self.at = -1
        elif self.at < len(LESSONS) and (action, screen) == (
            LESSONS[self.at].action,
            LESSONS[self.at].screen,
        ):
            self.at += 1
        self.app.draw_bars()

    @property
    def is_bisecting(self) -> bool:
        """True while the work of a key goes on that the next lesson tells the result of."""
        last = LESSONS[self.at - 1] if self.at > 0 else None
        return last is not None and last.action == "bisect" and self.app.jobs.is_working("compare")

    @property
    def title(self) -> str:
        """`Tour 2 of 8`."""
        number = self.at if self.is_bisecting else self.at + 1
        return f"Tour {number} of {len(LESSONS)}" if self.at < len(LESSONS) else "Tour"

    @property
    def text(self) -> str:
        """The present lesson; empty without a tour."""
        if not self.is_on:
            return ""
        if self.at == len(LESSONS):
            return _END
        if self.is_bisecting:
            return _BISECTING
        lesson = LESSONS[self.at]
        found = keys_of(lesson.screen, self.app.keymap)
        return lesson.text.replace("{key}", next(key.label for key in found if key.action == lesson.action))
