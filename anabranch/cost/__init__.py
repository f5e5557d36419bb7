"""What an order of operators costs, and what several routes do."""

from anabranch.cost.order import conditional_drops, order_cost, survival
from anabranch.cost.routes import RouteSet, choose_routes, promoted, rank_orders, route_costs

__all__ = [
    "RouteSet",
    "choose_routes",
    "conditional_drops",
    "order_cost",
    "promoted",
    "rank_orders",
    "route_costs",
    "survival",
]
