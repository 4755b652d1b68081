"""Which timer to take: what timers cost on recordings, how sure that is, and how to deploy one."""

from netspurt.advice.advising import Advice, advise
from netspurt.advice.price import Price

__all__ = ["Advice", "Price", "advise"]
