"""Program of a child process: lays out DOT text from standard input with the Graphviz inside pygraphviz.

Usage: python -P graphviz_child.py FORMAT. It is a process of its own, because C code can crash or hang and has no
time limit.
"""

import sys


def main() -> None:
    """Read DOT, write the picture; the exit status is 3 when pygraphviz can't be imported."""
    try:
        import pygraphviz
    except ImportError as problem:
        sys.stderr.write(str(problem))
        sys.exit(3)
    graph = pygraphviz.AGraph(string=sys.stdin.buffer.read().decode("utf-8"))
    sys.stdout.buffer.write(graph.draw(format=sys.argv[1], prog="dot"))


if __name__ == "__main__":
    main()
