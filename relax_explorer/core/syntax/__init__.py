"""Text to IR and back: parser, printer, metadata, dialects. Nothing of a text is ever executed."""
