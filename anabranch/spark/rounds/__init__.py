"""Rounds: a stream in micro-batches, with one brain on the driver."""
