"""Program of a child process: keeps a command from outliving its parent, and from computing forever.

Usage: python -I -S keeper.py PIPE SECONDS COMMAND…. The parent holds the other end of the pipe, which closes when the
parent ends for any reason. Then this process and its whole group are killed. SECONDS is processor time per process.
"""

import os
import resource
import signal
import sys
import threading


def main() -> None:
    """Run the command with the standard streams of this process, and end with its exit status or signal."""
    pipe, seconds, *command = sys.argv[1:]
    resource.setrlimit(resource.RLIMIT_CPU, (int(seconds), int(seconds) + 1))
    os.set_inheritable(int(pipe), False)
    threading.Thread(target=_end_with_parent, args=(int(pipe),), daemon=True).start()
    try:
        child = os.posix_spawn(command[0], command, os.environ)  # noqa: TID251  # passed on unchanged
    except OSError as error:
        sys.stderr.write(f"{command[0]} can't be started: {error.strerror}")
        sys.stderr.flush()
        os._exit(126)
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    if code < 0:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if -code != signal.SIGKILL:
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code)


def _end_with_parent(pipe: int) -> None:
    os.read(pipe, 1)  # nothing is ever written: it returns when the parent's end is closed
    os.killpg(os.getpgrp(), signal.SIGKILL)


if __name__ == "__main__":
    main()
