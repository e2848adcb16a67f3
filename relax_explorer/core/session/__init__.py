"""What every front end reads: stages, differences, history, runs; and the commands that it offers."""
