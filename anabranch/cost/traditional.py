"""What a plan costs by cardinalities, as optimisers for stored tables have it."""

from anabranch.cost.rate import JoinTree


def handled_bytes(tree: JoinTree) -> float:
    """Bytes that all joins of a plan read, if all rows were there from the start.

    >>> from anabranch.cost.rate import Source
    >>> a, b = Source("a", 1, rows=10, width=8), Source("b", 1, rows=20, width=4)
    >>> handled_bytes(JoinTree(a, b, 0.5))
    160
    """
    parts = [part for join in tree.joins() for part in (join.left, join.right)]
    return sum(part.total * part.width for part in parts)
