"""The history of a kernel: through the stages of its module, and through the host build that goes on with the kernels alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from relax_explorer.core.session.align import FunctionDiff, diff_kernels
from relax_explorer.core.session.session import Session
from relax_explorer.core.session.snapshot import Snapshot
from relax_explorer.core.tir.stmt import PrimFunc


@dataclass(frozen=True, slots=True)
class KernelTrace:
    """What a stage did with a kernel: `made`, `changed`, `unchanged`, `removed`; empty if it has none. `diff` is that of a change."""

    stage: Snapshot
    change: str
    diff: FunctionDiff | None = None


def kernel_history(session: Session, name: str) -> Iterator[KernelTrace]:
    """What each stage did with the kernel `name`, in order, those of the host build included."""
    before: PrimFunc | None = None
    for stage in (*session.stages, *session.kernels_alone()):
        if stage.recorded_as is not None and not stage.module.functions:
            continue  # the part of the host build that is for another device
        found = stage.module.functions.get(name)
        kernel = found if type(found) is PrimFunc else None
        if kernel is None:
            yield KernelTrace(stage, "removed" if before is not None else "")
        elif before is None:
            yield KernelTrace(stage, "made")
        else:
            diff = None if kernel is before else diff_kernels(name, before, kernel)
            is_same = diff is None or diff.status == "same"
            yield KernelTrace(stage, "unchanged") if is_same else KernelTrace(stage, "changed", diff)
        before = kernel


def has_kernel(session: Session, name: str) -> bool:
    """True if a stage of the module has a kernel of this name."""
    return any(type(stage.module.functions.get(name)) is PrimFunc for stage in session.stages)
