"""The compiler: no terminal, no graphviz, no pygments."""
