"""What an editor shows of TVMScript: documents, the programs in them, problems, names, types, completions and fixes, as data. No protocol."""
