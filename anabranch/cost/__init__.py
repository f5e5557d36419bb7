"""What an order costs."""

from anabranch.cost.order import conditional_drops, order_cost, survival

__all__ = ["conditional_drops", "order_cost", "survival"]
