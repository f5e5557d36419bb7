"""What an order of operators costs, and what several routes do."""

from anabranch.cost.order import (
    best_order,
    conditional_drops,
    greedy_order,
    optimal_order,
    order_cost,
    order_costs,
    survival,
)
from anabranch.cost.routes import RouteSet, choose_routes, promoted, rank_orders, route_costs

__all__ = [
    "RouteSet",
    "best_order",
    "choose_routes",
    "conditional_drops",
    "greedy_order",
    "optimal_order",
    "order_cost",
    "order_costs",
    "promoted",
    "rank_orders",
    "route_costs",
    "survival",
]
