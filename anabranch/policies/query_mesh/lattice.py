"""The search space: all partitions of the training tuples, joined by split and merge.

Query Mesh, Section 4.3. A configuration says which training tuples share a route. Two are
neighbours if one comes from the other by splitting a subset in two, or by merging two subsets.
"""

from collections.abc import Iterator, Sequence
from math import comb

import numpy as np

Subset = frozenset[int]
Configuration = frozenset[Subset]


def bell(n: int) -> int:
    """How many configurations n training tuples have (Equation 1).

    >>> [bell(n) for n in range(6)], bell(9)
    ([1, 1, 2, 5, 15, 52], 21147)
    """
    numbers = [1]
    for size in range(n):
        numbers.append(sum(comb(size, k) * numbers[k] for k in range(size + 1)))
    return numbers[n]


def configuration(subsets: Sequence[Sequence[int]]) -> Configuration:
    """From plain lists.

    >>> show(configuration([[1, 0, 2], [3]]))
    '012/3'
    """
    return frozenset(frozenset(subset) for subset in subsets)


def show(config: Configuration) -> str:
    """As the paper writes it."""
    return "/".join("".join(map(str, subset)) for subset in sorted(map(sorted, config)))


def everything(n: int) -> Iterator[Configuration]:
    """All configurations of n tuples, each once.

    >>> [show(config) for config in everything(3)]
    ['012', '01/2', '02/1', '0/12', '0/1/2']
    """
    # A restricted growth string names the subset of each tuple; a new subset takes the next number.
    growth = [0] * n
    while True:
        subsets: dict[int, list[int]] = {}
        for member, place in enumerate(growth):
            subsets.setdefault(place, []).append(member)
        yield configuration(list(subsets.values()))
        for i in range(n - 1, 0, -1):
            if growth[i] <= max(growth[:i]):
                growth[i] += 1
                growth[i + 1 :] = [0] * (n - i - 1)
                break
        else:
            return


def merges(config: Configuration) -> Iterator[Configuration]:
    """The neighbours with one subset less."""
    subsets = sorted(config, key=min)
    for i, one in enumerate(subsets):
        for two in subsets[i + 1 :]:
            yield config - {one, two} | {one | two}


def splits(config: Configuration) -> Iterator[Configuration]:
    """The neighbours with one subset more.

    >>> [show(config) for config in splits(configuration([[0, 1, 2], [3]]))]
    ['02/1/3', '01/2/3', '0/12/3']
    """
    for subset in sorted(config, key=min):
        first, *others = sorted(subset)
        for chosen in range(1, 1 << len(others)):
            gone = frozenset(m for i, m in enumerate(others) if not chosen >> i & 1)
            left = frozenset({first}) | gone
            right = subset - left
            if right:
                yield config - {subset} | {left, right}


def random_neighbour(config: Configuration, random: np.random.Generator) -> Configuration | None:
    """A split or a merge, each as likely where both are possible; None for a single tuple."""
    subsets = sorted(config, key=min)
    divisible = [subset for subset in subsets if len(subset) > 1]
    if len(subsets) > 1 and (not divisible or random.random() < 0.5):
        one = subsets.pop(random.integers(len(subsets)))
        two = subsets[random.integers(len(subsets))]
        return config - {one, two} | {one | two}
    if not divisible:
        return None
    subset = divisible[random.integers(len(divisible))]
    members = random.permutation(sorted(subset))
    # Any size of the parts is as likely: small parts must be reachable from a large subset.
    cut = int(random.integers(1, len(members)))
    parts = frozenset(members[:cut].tolist()), frozenset(members[cut:].tolist())
    return config - {subset} | set(parts)


def random_configuration(n: int, random: np.random.Generator) -> Configuration:
    """Each tuple in one of a random number of subsets."""
    places = random.integers(0, int(random.integers(1, n + 1)), n)
    return configuration([np.flatnonzero(places == p).tolist() for p in np.unique(places)])
