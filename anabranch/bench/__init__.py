"""Workloads, contestants and the papers' experiments."""
