"""How many rows a slice has while there is news to expect."""

# At most this part of the rows since the start, at least so many rows; and, where nothing has to
# be mended soon, as many as take so many seconds: every slice calls all operators.
SLICES, LEAST_SLICE, SHORTEST_SLICE = 2, 150, 0.02


def slice_rows(seen: int, row: float, patient: bool, thinks: bool) -> int:
    """Rows of the next slice, so many rows after the start or an alarm.

    A row takes `row` seconds; `thinks` says whether a search goes on after the slice.

    >>> slice_rows(400, 1e-4, patient=True, thinks=False)
    200
    >>> slice_rows(400, 1e-5, patient=False, thinks=False), slice_rows(400, 1e-5, True, True)
    (200, 150)
    """
    if thinks:
        return LEAST_SLICE
    rows = max(LEAST_SLICE, seen // SLICES)
    return max(rows, int(SHORTEST_SLICE / max(row, 1e-9))) if patient else rows
