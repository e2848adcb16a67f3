"""Sessions for all front ends: stages, diffs, history and runs, and the table of commands."""
