"""The parts of the time of connections in a capture: what they waited for."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from netspurt.table import Table

#: The parts of the time in words.
WORDS = {
    "handshake": "the handshake",
    "application": "the applications (neither end had data to send)",
    "delivery": "the last data on its way (all data was sent)",
    "congestion_window": "data on its way (the congestion window or the pacing of the sender)",
    "receive_window": "the receive window",
    "repair": "repair",
    "timeout": "silence before a timer",
}

#: The parts in few words, for tables.
BRIEFLY = {
    "handshake": "handshake",
    "application": "applications",
    "delivery": "last data",
    "congestion_window": "data on its way",
    "receive_window": "receive window",
    "repair": "repair",
    "timeout": "timers",
}


def whole_s(spent: Table) -> NDArray[np.float64]:
    """Return the whole time of each connection [s], shape (n,), for rows of the table `spent`."""
    whole = np.zeros(len(spent))
    for name in WORDS:
        whole += spent.seconds(f"{name}_ns")
    return whole


def largest_parts(spent: Table) -> dict[int, tuple[str, float]]:
    """Return for each connection the largest part of its time, with its share.

    A connection whose whole time is zero is left out.

    Parameters
    ----------
    spent
        Rows of the table `spent` of an explained capture.
    """
    names = list(WORDS)
    each = np.stack([spent.seconds(f"{name}_ns") for name in names])
    whole, largest = whole_s(spent), each.argmax(axis=0)
    return {
        connection: (names[largest[row]], float(each[largest[row], row] / whole[row]))
        for row, connection in enumerate(spent["connection"].tolist())
        if whole[row] > 0
    }


def parts(spent: Table) -> tuple[list[tuple[str, float]], float]:
    """Return each part with its share of the time, the largest first, and the whole time [s].

    There are no parts if the time is zero or not known.

    Parameters
    ----------
    spent
        Rows of the table `spent` of an explained capture.
    """
    sums = {name: float(spent.seconds(f"{name}_ns").sum()) for name in WORDS}
    whole = sum(sums.values())
    if whole == 0:
        return [], 0.0
    largest = sorted(sums.items(), key=lambda one: -one[1])
    return [(name, seconds / whole) for name, seconds in largest], whole
