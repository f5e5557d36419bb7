"""A mesh whose classifier is a decision tree, in place of one that lists cells."""

from dataclasses import replace

from anabranch.model import Cells, Mesh, RangePartition, Windowed
from anabranch.policies.query_mesh.induce import Column, induce
from anabranch.policies.query_mesh.optimise import Solution, Task, optimise
from anabranch.policies.query_mesh.repair import columns_of, expected, routes_of
from anabranch.stats import Reservoir

# A tree may be expected to cost this share more than the cells that it stands for.
NEARLY = 0.01


def solve(task: Task) -> Solution:
    """The best mesh that the search finds, as a tree if one can tell its cells apart."""
    solution = optimise(task)
    mesh = solution.mesh
    tree = treed(mesh, task.sample, task.settings.seed)
    now, then = (expected(m, task.sample, task.costs) for m in (mesh, tree))
    return replace(solution, mesh=tree) if then <= (1 + NEARLY) * now else solution


def treed(mesh: Mesh, sample: Reservoir, seed: int = 0) -> Mesh:
    """The mesh with the tree that tells the sampled rows their routes."""
    cells = mesh.classifier.inner if isinstance(mesh.classifier, Windowed) else mesh.classifier
    if not isinstance(cells, Cells):
        return mesh
    kinds = {attribute.name: attribute.kind for attribute in mesh.query.attributes}
    ranged = {
        p.attribute
        for whole in cells.partitions
        for p in whole.singles
        if isinstance(p, RangePartition)
    }
    values = columns_of(mesh.query, sample)
    columns = [
        Column(name, values(name), kinds[name] == "word" or name not in ranged)
        for name in cells.attributes
    ]
    tree = induce(columns, routes_of(replace(mesh, classifier=cells), sample), seed)
    used = sorted({leaf.route for leaf in tree.leaves})
    if len(used) == 1:
        return Mesh(mesh.query, (mesh.routes[used[0]],), mesh.figures)
    tree = tree.mapped(used.index)
    window = mesh.classifier.rows if isinstance(mesh.classifier, Windowed) else None
    classifier = tree if window is None else Windowed(tree, window)
    routes = tuple(mesh.routes[r] for r in used)
    return replace(mesh, routes=routes, classifier=classifier, reasons=())
