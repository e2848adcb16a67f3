"""The compiler. It does not depend on the terminal, graphviz or pygments."""
