"""Advice on timers: their costs on recorded delays, how certain the costs are, and deployment."""

from netspurt.advice.advising import Advice, advise
from netspurt.advice.price import Price

__all__ = ["Advice", "Price", "advise"]
