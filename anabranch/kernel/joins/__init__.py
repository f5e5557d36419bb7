"""Windowed n-way joins in one cell: state modules that are probed, in an order that is learned."""
