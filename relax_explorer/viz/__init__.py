"""Views of a program as text and pictures: readers of the core that no terminal is needed for."""
