"""Holds a scenario that several tests change or run."""

from __future__ import annotations

#: A scenario without the key `stop`. Its flow sends four segments over one link, from `a` to `b`.
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
