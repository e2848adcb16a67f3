"""Text to IR and back: parser, printer, metadata, dialects. No text is ever executed."""
