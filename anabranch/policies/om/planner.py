"""OM round by round: estimate the statistics, look the plan up, note what it came to.

D. Kulkarni, C. Ravishankar: OM, a Tunable Framework for Optimizing Continuous Queries over Data
Streams, Sections 4.3 to 4.5.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from math import inf, isinf
from typing import Any

from anabranch.cost.chart import Chart, Walk
from anabranch.cost.utility import Conditions, Told, Utility, ideal
from anabranch.model import Query
from anabranch.policies.om.orders import STREAM, Order, as_plan, candidate_orders, order_chart
from anabranch.stats.decayed import Decayed

# Operators whose selectivities are axes, the first ones; those of others are taken as they are, and
# make another chart when they have moved so far.
MOST_VARIED, MOVED = 6, 0.1
# How far a chart goes beyond the lowest and the highest rate seen, as a factor; a rate beyond that
# makes another chart.
HEADROOM = 2.0
# The highest rate that a chart is for, as a multiple of the lowest.
WIDEST = 1e4
# Rounds whose figures are kept, the newest.
MOST_ROUNDS = 1_000
# Speeds that differ by this factor from those of the chart make another one.
FASTER = 2.0


@dataclass(frozen=True)
class OmRound:
    """A round: what was expected of its plan by its estimates, and what was measured.

    Rates are rows out per second, memory is in rows; utils are normalised, the fewer the better.
    """

    round: int
    arrival_rate: float
    plan: str
    expected_rate: float
    rate: float
    expected_memory: float
    memory: float
    expected_utils: float
    utils: float
    hit: bool

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass
class OmPlanner:
    """Chooses an order for every round by a chart.

    Examples
    --------
    >>> from anabranch.model import Operator
    >>> planner = OmPlanner(Query((Operator("slow"), Operator("fast"))), Utility())
    >>> shares = {"slow": 0.2, "fast": 0.3}
    >>> for arrived in (10, 900):
    ...     _ = planner.observe(arrived, 1.0, shares, [1 / 200, 1 / 2000])
    ...     print(arrived, planner.order)
    10 (0, 1)
    900 (1, 0)
    """

    query: Query
    utility: Utility
    partitions: int = 10
    history: int = 10
    decay: float = 1.0
    hysteresis: float = 0.1
    window: float = 1.0
    order: Order = field(init=False)
    chart: Chart | None = field(init=False, default=None)
    walk: Walk | None = field(init=False, default=None)
    rounds: list[OmRound] = field(init=False, default_factory=list)
    decisions: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        self.order = tuple(self.query.names.index(name) for name in self.query.written())
        self._rate = Decayed(self.history, self.decay)
        self._shares = {n: Decayed(self.history, self.decay) for n in self.query.names}
        self._speeds: list[float] = []
        self._lowest, self._highest = inf, 0.0
        self._orders: list[Order] = []
        self._frozen: dict[str, float] = {}  # selectivities that are no axes
        self._walked = (0, 0)  # moves and switches of a life before

    def observe(
        self,
        rows: float,
        seconds: float,
        shares: Mapping[str, float],
        costs: Sequence[float],
    ) -> bool:
        """Rows that came in so many seconds, shares that passed, seconds per row: a new order?

        Statistics of a round are those of the next one, as far as can be told (Algorithm 2).
        """
        arrival = rows / max(seconds, 1e-9)
        self._rate.update(arrival)
        for name, share in shares.items():
            self._shares[name].update(share)
        self._lowest, self._highest = min(self._lowest, arrival), max(self._highest, arrival)
        self._remap([1 / max(cost, 1e-9) for cost in costs])
        assert self.walk is not None
        point = self.point()
        assert point is not None
        before, self.order = self.order, self._orders[self.walk.go(point)]
        self.decisions += 1
        return self.order != before

    def point(self) -> dict[str, float] | None:
        """The estimated statistics, if there are any yet."""
        rate = self._rate.get()
        if rate is None:
            return None
        shares = {n: 0.5 if (s := told.get()) is None else s for n, told in self._shares.items()}
        return {STREAM: rate, **shares}

    def _remap(self, speeds: list[float]) -> None:
        """Make the chart, or one for rates or speeds that this one was not made for."""
        if self.chart is not None and self._fits(speeds):
            return
        point = self.point()
        assert point is not None
        self._speeds = speeds
        self._orders = candidate_orders(self.query, speeds)
        varied = self.query.names[:MOST_VARIED]
        self._frozen = {name: point[name] for name in self.query.names[MOST_VARIED:]}
        self.chart = order_chart(
            self.query,
            self._orders,
            speeds,
            self.utility,
            self._range(),
            self.partitions,
            self.window,
            varied,
            point,
        )
        path = self.walk.path if self.walk else []
        moves, switches = (self.walk.moves, self.walk.switches) if self.walk else self._walked
        self.walk = Walk(self.chart, self.hysteresis, moves=moves, switches=switches, path=path)
        self.walk.plan = self._orders.index(self.order) if self.order in self._orders else None

    def _range(self) -> tuple[float, float]:
        """Of rates; a round without rows is no reason for a chart that goes down to nothing."""
        highest = max(self._highest, 1e-6)
        return max(self._lowest, highest / WIDEST) / HEADROOM, HEADROOM * highest

    def _fits(self, speeds: Sequence[float]) -> bool:
        assert self.chart is not None
        pairs = zip(speeds, self._speeds, strict=True)
        alike = all(1 / FASTER <= new / old <= FASTER for new, old in pairs)
        now = self.point() or {}
        alike &= all(abs(now[name] - share) <= MOVED for name, share in self._frozen.items())
        rates, (low, high) = self.chart.axes[-1], self._range()
        return alike and rates.low <= HEADROOM * low and high <= HEADROOM * rates.high

    def to_dict(self) -> dict[str, Any]:
        """What it has seen, as plain data."""
        return {
            "rate": self._rate.values,
            "shares": {name: told.values for name, told in self._shares.items()},
            "rates": [0.0 if isinf(self._lowest) else self._lowest, self._highest],
            "speeds": self._speeds,
            "decisions": self.decisions,
            "rounds": [done.to_dict() for done in self.rounds],
            "walked": [self.walk.moves, self.walk.switches] if self.walk else [0, 0],
        }

    def restore(self, data: Mapping[str, Any]) -> None:
        """Go on from there; the chart is made again in the next round."""
        for value in data["rate"]:
            self._rate.update(value)
        for name, values in data["shares"].items():
            for value in values:
                self._shares[name].update(value)
        lowest, highest = map(float, data["rates"])
        if highest:
            self._lowest, self._highest = lowest, highest
        self._speeds = [float(speed) for speed in data["speeds"]]
        if self._speeds:
            self._orders = candidate_orders(self.query, self._speeds)
        self.decisions = int(data["decisions"])
        self.rounds = [OmRound(**told) for told in data["rounds"]]
        moves, switches = data["walked"]
        self._walked = (int(moves), int(switches))

    def expected(self, order: Order) -> tuple[Told, float] | None:
        """Rate and memory that the estimates let expect of an order, and its utils."""
        point = self.point()
        if point is None or not self._speeds:
            return None
        plan, under = as_plan(self.query, order, self._speeds), self._under(point)
        told = plan.told(under)
        return told, float(self.utility(plan, under))

    def _under(self, point: Mapping[str, float]) -> Conditions:
        shares = {name: point[name] for name in self.query.names}
        return Conditions({STREAM: point[STREAM]}, shares, self.window)

    def note(
        self,
        number: int,
        order: Order,
        expected: tuple[Told, float] | None,
        measured: Told,
        arrival: float,
        shares: Mapping[str, float],
    ) -> None:
        """What a round under an order came to, beside what was expected before it."""
        if expected is None or not self._speeds:
            return
        told, utils = expected
        under = Conditions({STREAM: arrival}, dict(shares), self.window)
        plan = as_plan(self.query, order, self._speeds)
        costs = [
            float(self.utility(as_plan(self.query, o, self._speeds), under)) for o in self._orders
        ]
        best = self._orders[costs.index(min(costs))]
        done = OmRound(
            number,
            arrival,
            ", ".join(self.query.names[i] for i in order),
            float(told.rate),
            float(measured.rate),
            float(told.memory),
            float(measured.memory),
            utils,
            float(self.utility.weights.normalised(measured, ideal(plan, plan.told(under), under))),
            best == order,
        )
        self.rounds = [*self.rounds, done][-MOST_ROUNDS:]
