"""Which attribute is an operator's classifier, and what that changes in the pairs."""

from collections.abc import Collection, Generator, Mapping
from dataclasses import dataclass
from statistics import median

import numpy as np

from anabranch.policies.base import Event
from anabranch.policies.knowledge import Knowledge
from anabranch.policies.pairs import Paired
from anabranch.policies.register import Found
from anabranch.stats import Selectivity

# Operators whose place hardly depends on the row (Section 4.4): cost relative to the median, and
# overall selectivity.
CHEAP, DEAR = 1 / 20, 20.0
SELECTIVE, IDLE = 0.02, 0.98


@dataclass
class Judge:
    """Judges attributes by the rows registered (content-based routing, Sections 4.1 and 4.4).

    `together` says whether two attributes are tried when no single one is a classifier, `besides`
    whether also when one is.
    """

    known: Knowledge
    threshold: float
    together: bool
    besides: bool = False

    def worth(self) -> list[int]:
        """Operators whose place may depend on the row: not cheap, dear, selective, or never so."""
        relative = self.known.costs / median(self.known.costs.tolist())
        share = self.known.passed
        fine = (relative >= CHEAP) & (relative <= DEAR) & (share >= SELECTIVE) & (share <= IDLE)
        return np.flatnonzero(fine).tolist()

    def search(self, operators: Collection[int]) -> dict[int, Found | None]:
        """The best classifier of each of these operators, if there are rows to judge it by."""
        steps = self.searching(operators)
        while True:
            try:
                next(steps)
            except StopIteration as end:
                found: dict[int, Found | None] = end.value
                return found

    def searching(
        self, operators: Collection[int]
    ) -> Generator[None, None, dict[int, Found | None]]:
        """The same in small steps."""
        register, worth = self.known.register, self.worth()
        judged = [o for o in operators if o in worth and register.can_judge(o)]
        found = {o: None for o in operators if o not in worth} | {
            o: register.best(o, self.threshold, pairs=False) for o in judged
        }
        for operator in judged:
            if found[operator] is None or self.besides:
                yield
                familiar = self._familiar(operator, found)
                best = register.best(operator, self.threshold, self.together, familiar)
                found[operator] = best
        return found

    def _familiar(self, operator: int, found: Mapping[int, Found | None]) -> set[tuple[str, ...]]:
        """What other operators are routed by, or may be."""
        used = {o: pair.partition for o, pair in self.known.pairs.known.items()}
        used |= {o: best.partition for o, best in found.items() if best is not None}
        return {partition.attributes for o, partition in used.items() if o != operator}

    def settle(self, found: Mapping[int, Found | None], row: int) -> tuple[list[Event], bool]:
        """New classifiers are noted, to be tried; lost ones are dropped. Was there any news?"""
        events, dropped = [], []
        pairs, overall = self.known.pairs, self.known.passed
        before = set(pairs.new)
        for operator, best in found.items():
            name, told = self.known.query.names[operator], str(best.partition) if best else ""
            ratio = best.ratio if best else 0.0
            events.append(Event("profile", row, operator=name, attribute=told, gain=ratio))
            old = pairs.in_use.get(operator)
            if best and old and old.partition.attributes == best.partition.attributes:
                if old.partition != best.partition:  # its values are no longer what they were
                    pairs.in_use[operator] = self._paired(best, overall[operator])
                continue
            pairs.new.pop(operator, None)
            if best is not None:
                pairs.note(operator, self._paired(best, overall[operator]), row)
            elif old is not None:
                del pairs.in_use[operator]
                dropped += pairs.tell("drop", {operator: old}, row)
        news = bool(dropped) or bool(set(pairs.new) - before)
        return [*events, *dropped], news

    def _paired(self, found: Found, prior: float) -> Paired:
        known = Selectivity.of(found.rows_in, found.rows_out, self.known.alpha, float(prior))
        return Paired(found.partition, known)
