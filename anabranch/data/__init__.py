"""Generators for the papers' workloads."""
