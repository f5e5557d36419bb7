"""How long slices are: short at first, so that what is learned from one soon helps the next."""

# Rows of a slice at least.
LEAST_SLICE = 150
# A slice has at most this part of the rows seen so far, unless operators are so cheap that it would
# be over in less than so many times what comes with every slice.
SLICES, PATIENCE = 3, 10


def slice_rows(seen: int, row_cost: float, by_slice: float) -> int:
    """Rows of the next slice, when `seen` rows are behind and a slice costs `by_slice` by itself.

    At most as many as there were so far: the first calls of a new process are slow, which says
    nothing of later ones.

    >>> slice_rows(300, 1e-5, 5e-4), slice_rows(30_000, 1e-5, 5e-4), slice_rows(3_000, 1e-6, 1.0)
    (300, 10000, 3000)
    """
    worthwhile = min(PATIENCE * by_slice / row_cost, seen) if row_cost > 0 else 0
    return max(LEAST_SLICE, seen // SLICES, int(worthwhile))
