"""Programs with effects, aliases and errors: no pass changes the observable behaviour of a run (PURE-14)."""
