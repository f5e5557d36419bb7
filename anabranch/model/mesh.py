"""A mesh: the plan that travels, is saved and is reloaded."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from anabranch.model.attribute import KINDS, Attribute
from anabranch.model.classifier import Celled, Cells, Classifier
from anabranch.model.errors import InputError, PlanError
from anabranch.model.operator import Operator
from anabranch.model.query import Query
from anabranch.model.reading import classifier_from
from anabranch.model.route import Route
from anabranch.model.telling import Telling
from anabranch.model.tree import Tree
from anabranch.model.windowed import Windowed

FORMAT = "anabranch-plan/2"
# What reading a plan that is none of ours may raise.
DAMAGES = (KeyError, TypeError, ValueError, AttributeError, OverflowError, RecursionError)


@dataclass(frozen=True)
class Reason:
    """Why rows of a class have a route of their own, by the sample that the plan was learned from.

    `share` of the rows take it, at `cost` seconds per row; on the best route for all rows they
    would take `alone`. `passed` is the share of them that each operator passes.
    """

    share: float
    cost: float
    alone: float
    passed: Mapping[str, float]

    def to_dict(self) -> dict[str, Any]:
        return {
            "share": self.share,
            "cost": self.cost,
            "alone": self.alone,
            "passed": dict(self.passed),
        }

    @classmethod
    def from_dict(cls, query: Query, data: Mapping[str, Any]) -> "Reason":
        passed = {str(name): float(share) for name, share in data["passed"].items()}
        for name, share in passed.items():
            if not 0 <= share <= 1:
                raise ValueError(f"{name} passes a share of {share}")
        if set(passed) != set(query.names):
            raise ValueError("a reason tells what every operator passes")
        return cls(float(data["share"]), float(data["cost"]), float(data["alone"]), passed)


@dataclass(frozen=True)
class Mesh:
    """Routes of a query, with the figures that they were chosen by.

    With one route there is nothing to classify; with several a classifier says which row takes
    which. `figures` maps an operator's name to what was measured of it (`cost`: seconds per row,
    `passed`: share of rows that passed where it stands). Where Python predicates are routed, the
    plans for native ones `before` and `behind` them come along.

    Examples
    --------
    >>> mesh = Mesh.single(Query((Operator("a"), Operator("b"))), ("b", "a"))
    >>> print(mesh)
    1: b, a
    >>> Mesh.from_dict(mesh.to_dict()) == mesh
    True
    """

    query: Query
    routes: tuple[Route, ...]
    figures: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    classifier: Classifier | None = None
    # Attribute -> number -> the word that it stands for, of words that the classifier asks for.
    words: Mapping[str, Mapping[float, str]] = field(default_factory=dict)
    reasons: tuple[Reason, ...] = ()  # one per route, where they are known
    before: "Mesh | None" = None
    behind: "Mesh | None" = None

    def __post_init__(self) -> None:
        if self.classifier is not None:
            self.classifier.check_routes(len(self.routes))
        elif len(self.routes) != 1:
            raise InputError(f"a mesh without a classifier has one route, got {len(self.routes)}")
        if self.reasons and len(self.reasons) != len(self.routes):
            raise ValueError("a plan has a reason for each of its routes, or none")

    @classmethod
    def single(
        cls,
        query: Query,
        order: tuple[str, ...],
        figures: Mapping[str, Mapping[str, float]] | None = None,
    ) -> "Mesh":
        """The mesh with one route for all rows."""
        return cls(query, (Route(query, tuple(order)),), figures or {})

    def __str__(self) -> str:
        return "\n".join(f"{i}: {route}" for i, route in enumerate(self.routes, start=1))

    def to_dict(self) -> dict[str, Any]:
        """As plain data, ready for JSON."""
        needed = self.classifier.attributes if self.classifier else ()
        return {
            "format": FORMAT,
            "operators": [operator.identity() for operator in self.query.operators],
            "attributes": {a.name: a.kind for a in self.query.attributes if a.name in needed},
            "routes": [route.to_list() for route in self.routes],
            "figures": {name: dict(values) for name, values in self.figures.items()},
            "classifier": self.classifier.to_dict() if self.classifier else None,
            "reasons": [reason.to_dict() for reason in self.reasons],
            "words": {name: [[n, w] for n, w in known.items()] for name, known in self._used()},
            "before": self.before.to_dict() if self.before else None,
            "behind": self.behind.to_dict() if self.behind else None,
        }

    def _used(self) -> list[tuple[str, dict[float, str]]]:
        """The words that the classifier asks for; a plan holds no other values of rows."""
        asked = self.classifier.values if self.classifier else {}
        told = [
            (name, {v: w for v, w in self.words.get(name, {}).items() if v in asked[name]})
            for name in asked
        ]
        return [(name, known) for name, known in told if known]

    def routed_by(self) -> dict[str, str]:
        """Operator -> the attributes that its place on a row's route depends on, if it does."""
        cells = self.celled.each_row if self.celled else None
        if isinstance(cells, Cells) and cells.pairings:
            return {p.operator: str(cells.partitions[p.partition]) for p in cells.pairings}
        if self.celled is None or len(self.routes) < 2:  # on one route, rows are only counted
            return {}
        return dict.fromkeys(self.query.names, ", ".join(self.celled.attributes))

    @property
    def celled(self) -> Celled | None:
        """The classifier, if rows are told apart by what is in them and not by lot."""
        return self.classifier if isinstance(self.classifier, Celled) else None

    def alike(self, window: int | None) -> "Mesh":
        """The plan where the first row of a window speaks for all; None: each for itself."""
        told = self.celled.each_row if self.celled else None
        if not isinstance(told, Celled):
            return self
        return replace(self, classifier=told if window is None else Windowed(told, window))

    def worded(self, words: Mapping[str, Mapping[float, str]]) -> "Mesh":
        """The plan with what numbers stand for, where that is known."""
        mesh = replace(self, words=words)
        return replace(mesh, words=dict(mesh._used()))

    def explained(
        self, figures: Mapping[str, Mapping[str, float]], words: Mapping[str, Mapping[float, str]]
    ) -> "Mesh":
        """The plan with what was measured, and with what numbers stand for."""
        return replace(self, figures=figures).worded(words)

    def rules(self) -> list[str]:
        """Which rows take which route, one line each, where a tree says so."""
        tree = self.classifier.each_row if self.classifier else None
        if not isinstance(tree, Tree):
            return []
        return tree.rules([str(route) for route in self.routes], self.tell)

    @property
    def tell(self) -> Telling:
        """How values of attributes are written."""
        return Telling(self.words, {a.name: a.kind for a in self.query.attributes})

    @classmethod
    def from_dict(cls, data: Any) -> "Mesh":
        """Read back what `to_dict` made; anything else is a `PlanError`."""
        if not isinstance(data, dict) or data.get("format") != FORMAT:
            raise PlanError(f'not an Anabranch plan: the "format" must be "{FORMAT}"')
        try:
            operators = tuple(
                Operator(str(o["name"]), tuple(map(str, o["columns"])), tuple(map(str, o["after"])))
                for o in data["operators"]
            )
            query = Query(operators, tuple(map(_attribute, data.get("attributes", {}).items())))
            routes = tuple(Route.from_list(query, steps) for steps in data["routes"])
            told = data.get("classifier")
            classifier = classifier_from(told) if told is not None else None
            for pairing in classifier.pairings if isinstance(classifier, Cells) else ():
                query.index(pairing.operator)
            words = {
                str(name): {float(number): str(word) for number, word in known}
                for name, known in data.get("words", {}).items()
            }
            figures = _figures(query, data["figures"])
            reasons = tuple(Reason.from_dict(query, told) for told in data.get("reasons", ()))
            before, behind = (
                cls.from_dict(data[stage]) if data.get(stage) is not None else None
                for stage in ("before", "behind")
            )
            return cls(query, routes, figures, classifier, words, reasons, before, behind)
        except DAMAGES as error:
            raise PlanError(f"damaged plan: {type(error).__name__}: {error}") from error

    def save(self, path: str | Path) -> None:
        """Write the plan as JSON."""
        Path(path).write_text(json.dumps(self.to_dict(), indent=2) + "\n", encoding="utf-8")

    def check(self, query: Query) -> "Mesh":
        """This plan bound to `query`, or a `PlanError` that lists the differences."""
        if lines := [*_operators_differ(self.query, query), *self._attributes_differ(query)]:
            raise PlanError("this plan belongs to another query: " + "; ".join(lines))
        routes = tuple(Route(query, route.order, route.uncertain) for route in self.routes)
        return replace(self, query=query, routes=routes)

    def _attributes_differ(self, query: Query) -> list[str]:
        known = {attribute.name: attribute.kind for attribute in query.attributes}
        kinds = {attribute.name: attribute.kind for attribute in self.query.attributes}
        needed = self.classifier.attributes if self.classifier else ()
        missing = [name for name in needed if name not in known]
        lines = [
            f"the plan tells rows apart by {name}, a {kinds[name]} there and a {known[name]} here"
            for name in needed
            if name in known and kinds.get(name, known[name]) != known[name]
        ]
        if missing:
            lines.append(
                f"the plan tells rows apart by {', '.join(missing)}, which this run does not have; "
                f"pass attributes= with them (now: {', '.join(known) or 'none'}) and a policy that "
                "uses attributes"
            )
        return lines


def _operators_differ(plan: Query, query: Query) -> list[str]:
    mine = {o.name: o.identity() for o in plan.operators}
    theirs = {o.name: o.identity() for o in query.operators}
    lines = [f'"{name}" is only in the plan' for name in mine if name not in theirs]
    lines += [f'"{name}" is only in the query' for name in theirs if name not in mine]
    lines += [
        f'"{name}" has {key} {mine[name][key]} in the plan and {theirs[name][key]} in the query'
        for name in mine
        if name in theirs
        for key in ("columns", "after")
        if mine[name][key] != theirs[name][key]
    ]
    return lines


def _attribute(told: tuple[str, Any]) -> Attribute:
    name, kind = told
    if kind not in KINDS:
        raise ValueError(f"{name} is of a kind {kind!r} that is not known")
    return Attribute(name, kind)


def _figures(query: Query, data: Any) -> dict[str, dict[str, float]]:
    figures = {}
    for name, values in data.items():
        query.index(str(name))
        cost, passed = float(values["cost"]), float(values["passed"])
        if not 0 < cost < float("inf") or not 0 <= passed <= 1:
            raise ValueError(f"cost {cost} and passed {passed} of {name} cannot be")
        figures[str(name)] = {"cost": cost, "passed": passed}
    return figures


def load(path: str | Path) -> Mesh:
    """Read a plan that `Mesh.save` wrote.

    A plan file is data; a damaged one is a `PlanError`.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise PlanError(f"cannot read the plan {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise PlanError(f"damaged plan {path}: not UTF-8 text") from error
    try:
        data = json.loads(text)
    except (json.JSONDecodeError, RecursionError) as error:
        raise PlanError(f"damaged plan {path}: {error}") from error
    return Mesh.from_dict(data)
