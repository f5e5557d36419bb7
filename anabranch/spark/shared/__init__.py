"""Several queries over one stream, in one pass."""
