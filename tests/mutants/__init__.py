"""Rules of the checker and the passes, broken one at a time: what do the tests notice? `python -m tests.mutants`."""
