"""The front ends: the command line and the terminal interface."""
