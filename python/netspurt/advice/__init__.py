"""Advice on timers: their costs on recordings, how certain these are, and how to deploy one."""

from netspurt.advice.advising import Advice, advise
from netspurt.advice.price import Price

__all__ = ["Advice", "Price", "advise"]
