"""Windowed n-way joins of streams: one stateful operator, cells of a hypercube as its groups."""
