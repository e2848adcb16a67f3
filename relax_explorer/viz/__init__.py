"""Views of a program as text and pictures: readers of the core that need no terminal."""
