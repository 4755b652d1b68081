"""Scenarios that several tests change or run."""

from __future__ import annotations

#: A link and a flow without `stop`: four segments from `a` to `b`.
LONELY = """
[links.path]
between = ["a", "b"]
rate = "1 Mbit/s"
delay = "5 ms"
[flows.x]
from = "a"
to = "b"
send = "4 segments"
"""
