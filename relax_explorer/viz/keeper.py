"""Program of a child process: keeps a command from outliving its parent, and from computing or allocating forever.

Usage: python -I -S keeper.py PIPE SECONDS BYTES COMMAND…. The parent holds the other end of the pipe, which closes when the
parent ends for any reason. Then this process and its whole group are killed; if this process is killed, the kernel of Linux
kills the command. SECONDS is processor time and BYTES address space per process, 0 for no limit.
"""

import os
import resource
import signal
import sys
import threading

_SET_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG


def main() -> None:
    """Run the command with the standard streams of this process, and end with its exit status or signal."""
    pipe, seconds, memory, *command = sys.argv[1:]
    os.set_inheritable(int(pipe), False)
    keeper = os.getpid()
    child = os.fork()  # before there is a thread
    if child == 0:
        _become(command, keeper, int(seconds), int(memory))
    threading.Thread(target=_end_with_parent, args=(int(pipe),), daemon=True).start()
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    if code < 0:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if -code != signal.SIGKILL:
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code)


def _become(command: list[str], keeper: int, seconds: int, memory: int) -> None:
    """Replace this process by the command."""
    try:
        if sys.platform == "linux":
            _die_with(keeper)
        if seconds:
            _limit(resource.RLIMIT_CPU, seconds, 1)
        if memory:
            _limit(resource.RLIMIT_AS, memory, 0)
        os.execv(command[0], command)
    except OSError as error:
        sys.stderr.write(f"{command[0]} can't be started: {error.strerror}")
        sys.stderr.flush()
    os._exit(126)


def _die_with(keeper: int) -> None:
    """Be killed when the keeper ends, also if it ended before this was asked for."""
    import ctypes

    ctypes.CDLL(None).prctl(_SET_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != keeper:
        os._exit(126)


def _limit(what: int, most: int, more: int) -> None:
    """Lower a limit; one that is lower already stays."""
    _, hard = resource.getrlimit(what)
    if hard == resource.RLIM_INFINITY or hard > most + more:
        resource.setrlimit(what, (most, most + more))


def _end_with_parent(pipe: int) -> None:
    os.read(pipe, 1)  # nothing is ever written: it returns when the parent's end is closed
    os.killpg(os.getpgrp(), signal.SIGKILL)


if __name__ == "__main__":
    main()
