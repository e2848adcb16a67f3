"""The command line: every command of the table, on files and pipes."""
