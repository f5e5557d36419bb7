"""The search space of Query Mesh (Example 2, Figure 4, Equation 1)."""

from anabranch.bench.figure import Figure
from anabranch.bench.size import Size
from anabranch.policies.query_mesh.lattice import bell, everything, merges


def lattice(size: Size) -> Figure:
    """Configurations one by one, beside Equation 1, and the moves between them."""
    rows = []
    for tuples in range(1, 9):
        found = list(everything(tuples))
        moves = sum(len(list(merges(config))) for config in found)
        rows.append((tuples, bell(tuples), len(set(found)), moves))
        size.tick()
    axis = [row[0] for row in rows]
    return Figure(
        "fig4",
        "configurations by the number of training tuples",
        "15 for 4 tuples",
        ", ".join(f"{row[0]}: {row[2]:,}" for row in rows),
        ("training tuples", "Equation 1", "one by one", "moves between them"),
        rows,
        {"configurations": (axis, [row[2] for row in rows])},
        ("training tuples", "configurations"),
    )
