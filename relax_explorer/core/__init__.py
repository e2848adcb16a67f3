"""The compiler. It does not depend on the terminal or graphviz."""
