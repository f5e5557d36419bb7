"""All experiments, by paper."""

from collections.abc import Sequence

from anabranch.bench.reproduce.agreedy import AGREEDY
from anabranch.bench.reproduce.content import CONTENT
from anabranch.bench.reproduce.experiment import Experiment
from anabranch.bench.reproduce.mesh import MESH
from anabranch.bench.reproduce.om import OM
from anabranch.bench.reproduce.rate import RATE
from anabranch.model import InputError, closest

PAPERS = {
    "agreedy": "A-Greedy",
    "content": "Content-based routing",
    "mesh": "Query Mesh",
    "om": "OM",
    "rate": "Rate-based optimisation",
}
EXPERIMENTS: dict[str, Experiment] = {
    one.name: one for one in (*AGREEDY, *CONTENT, *MESH, *OM, *RATE)
}


def chosen(names: Sequence[str]) -> list[Experiment]:
    """Experiments by name or by paper; all if none is named.

    >>> [one.name for one in chosen(["rate/fig1"])]
    ['rate/fig1']
    >>> len(chosen(["rate"])), len(chosen([])) == len(EXPERIMENTS)
    (6, True)
    """
    known = [*EXPERIMENTS, *PAPERS]
    for name in names:
        if name not in known:
            raise InputError(f'unknown experiment "{name}"; {closest(name, known)}')
    wanted = set(names)
    return [
        one
        for name, one in EXPERIMENTS.items()
        if not names or name in wanted or name.split("/")[0] in wanted
    ]
