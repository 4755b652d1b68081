"""Parts that several sentences of advice need: times, lists, and the replays of one-way delays.

A replay applies retransmission timers to a recording, which has the measured delays of probes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from netspurt.timers import Replay

#: Texts give the cost of a timer for this number of probes.
THOUSAND = 1000


def ms(seconds: float) -> str:
    """Return a time as text, rounded to two or more significant digits.

    Examples
    --------
    >>> ms(0.0042), ms(0.129), ms(7.58), ms(20.8), ms(0.000155)
    ('4.2 ms', '129 ms', '7.6 s', '20.8 s', '155 µs')
    """
    if not math.isfinite(seconds):
        return "-"
    if seconds >= 10:
        return f"{seconds:,.0f} s" if seconds >= 100 else f"{seconds:.1f} s"
    if seconds >= 1:
        return f"{seconds:.2g} s"
    if seconds >= 0.001 or seconds == 0:
        return f"{seconds * 1e3:.0f} ms" if seconds >= 0.01 else f"{seconds * 1e3:.2g} ms"
    return f"{seconds * 1e6:.0f} µs" if seconds >= 1e-5 else f"{seconds * 1e6:.2g} µs"


def listed(names: Sequence[str], last: str = "and") -> str:
    """Return names as a list in words.

    Examples
    --------
    >>> listed(["linux"]), listed(["linux", "quic", "mills"])
    ('linux', 'linux, quic and mills')
    """
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} {last} {names[-1]}"


def one_way_of(replays: Iterable[Replay]) -> list[Replay]:
    """Return the replays of recordings of one-way delays."""
    return [replay for replay in replays if replay.delays.measure == "one-way"]
