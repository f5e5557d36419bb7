"""What an order of operators costs, and what several routes do."""

from anabranch.cost.best_orders import BestOrders
from anabranch.cost.order import (
    conditional_drops,
    greedy_order,
    greedy_orders,
    merit_order,
    optimal_order,
    order_cost,
    pattern_costs,
    survival,
    uncertain_parts,
)
from anabranch.cost.routes import RouteSet, choose_routes, promoted, rank_orders, route_costs

__all__ = [
    "BestOrders",
    "RouteSet",
    "choose_routes",
    "conditional_drops",
    "greedy_order",
    "greedy_orders",
    "merit_order",
    "optimal_order",
    "order_cost",
    "pattern_costs",
    "promoted",
    "rank_orders",
    "route_costs",
    "survival",
    "uncertain_parts",
]
