"""The parts of the time of connections in a capture: what they waited for."""

from __future__ import annotations

from netspurt.table import Table

#: The parts of the time in words.
WORDS = {
    "handshake": "the handshake",
    "application": "the applications (neither end had data to send)",
    "delivery": "the path (all data was sent)",
    "congestion_window": "data on its way (the congestion window, or no more to send)",
    "receive_window": "the receive window",
    "repair": "repair",
    "timeout": "silence before a timer",
}

#: The parts in few words, for tables.
BRIEFLY = {
    "handshake": "handshake",
    "application": "applications",
    "delivery": "last ACKs",
    "congestion_window": "in flight",
    "receive_window": "rwnd",
    "repair": "repair",
    "timeout": "timers",
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
