"""A mesh whose classifier is a decision tree, in place of one that lists cells."""

from dataclasses import replace

from anabranch.model import Cells, Mesh, RangePartition
from anabranch.policies.base import Floats
from anabranch.policies.query_mesh.induce import Column, induce
from anabranch.policies.query_mesh.optimise import Solution, Task, optimise
from anabranch.policies.query_mesh.repair import columns_of, expected, routes_of
from anabranch.stats import Reservoir

# A tree may be expected to cost this share more than the cells that it stands for.
NEARLY = 0.01


def solve(task: Task) -> Solution:
    """The best mesh that the search finds, as a tree if one can tell its cells apart."""
    solution = optimise(task)
    mesh = readable(solution.mesh, task.sample, task.costs, task.settings.seed)
    return replace(solution, mesh=mesh)


def readable(mesh: Mesh, sample: Reservoir, costs: Floats, seed: int) -> Mesh:
    """The mesh with a tree, if that is expected to cost hardly more; else as it is."""
    tree = treed(mesh, sample, seed)
    now, then = (expected(plan, sample, costs) for plan in (mesh, tree))
    return tree if then <= (1 + NEARLY) * now else mesh


def treed(mesh: Mesh, sample: Reservoir, seed: int = 0) -> Mesh:
    """The mesh with the tree that tells the sampled rows their routes."""
    cells = mesh.classifier.each_row if mesh.classifier else None
    if not isinstance(cells, Cells):
        return mesh
    kinds = {attribute.name: attribute.kind for attribute in mesh.query.attributes}
    singles = [single for whole in cells.partitions for single in whole.singles]
    ranged = {single.attribute for single in singles if isinstance(single, RangePartition)}
    values = columns_of(mesh.query, sample)
    columns = [
        Column(name, values(name), kinds[name] == "word" or name not in ranged)
        for name in cells.attributes
    ]
    tree = induce(columns, routes_of(mesh, sample), seed)
    used = sorted({leaf.route for leaf in tree.leaves})
    if len(used) == 1:
        return Mesh(mesh.query, (mesh.routes[used[0]],), mesh.figures)
    routes = tuple(mesh.routes[r] for r in used)
    return replace(mesh, routes=routes, classifier=tree.mapped(used.index), reasons=())
