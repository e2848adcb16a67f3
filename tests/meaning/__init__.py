"""Programs with effects, aliases and errors: no pass changes what a run shows (PURE-14)."""
