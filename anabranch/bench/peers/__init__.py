"""`anabranch bench peers`: the same predicates and data through what a user would pick instead.

A file under `systems/` is a peer, a file under `workloads/` a workload; both register themselves.
"""
