"""Finds ties: instants with two events whose order in the simulator ns-2 depends on rounding."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from netspurt.run import Run

from ns2_cases import drive, scenario_of

__all__ = ["coincidences", "reach_ns"]

#: Instants at most this far apart count as equal (see `GRAIN` in the core's `link/drop_tail.rs`).
GRAIN_NS = 2

#: Instants [ns].
Times = NDArray[np.int64]


def coincidences(case: dict[str, object]) -> Times:
    """Return the instants of our own run at which the order of two events may matter.

    There are two kinds of such instants. At an instant of the first kind, a packet leaves a queue,
    and another packet takes the last place in this queue or finds it full. At an instant of the
    second kind, a packet reaches the receiver, and a hold that began at an earlier packet would
    end. (A hold is the wait of a delayed ACK.)
    """
    settings: dict[str, Any] = {**drive.CASE, **case}
    last = f"n{len(settings['links'].split())}"
    tables = ["segments", "drops", "queue", "rtt"]
    record = {"spy": ["n0", last], "tables": tables, "capture": False}
    run = scenario_of(case).replace({"record": record}).run()
    limit = min(int(link.split(",")[2]) for link in settings["links"].split())
    ties = _at_a_full_queue(run, limit)
    if settings["delayed_ack"]:
        ties = np.concatenate((ties, _at_the_end_of_a_hold(run, last, settings["delayed_ack"])))
    return np.sort(ties)


def reach_ns(case: dict[str, object]) -> int:
    """Return the longest time [ns] from a tie to the sender's first event that the tie changes."""
    settings: dict[str, Any] = {**drive.CASE, **case}
    links = [link.split(",") for link in settings["links"].split()]
    steps = [float(step.split(",")[3]) for step in settings["delays"].split()]
    delay: float = sum(float(delay) for _, delay, _ in links) + max(steps, default=0.0)
    rate, limit = min((float(rate), int(limit)) for rate, _, limit in links)
    waiting: float = (limit + 2) * settings["packet"] * 8 / rate
    hold = float(settings["delayed_ack"])
    return round((2 * delay + waiting + hold) * 1e9)


def _at_a_full_queue(run: Run, limit: int) -> Times:
    """Return the instants of the first kind that `coincidences` describes."""
    found: list[Times] = []
    queue, drops = run.queue, run.drops.select(run.drops["reason"] == "queue-full")
    for link in set(queue["link"].tolist()):
        for way in set(queue["direction"].tolist()):
            here = (queue["link"] == link) & (queue["direction"] == way)
            times, held = queue["t_ns"][here], queue["queue_packets"][here]
            rose = np.diff(held, prepend=0) > 0
            refused = drops["t_ns"][(drops["link"] == link) & (drops["direction"] == way)]
            arrived = np.concatenate((times[rose & (held >= limit)], refused))
            found.append(_near(arrived, times[~rose]))
    return np.concatenate(found)


def _at_the_end_of_a_hold(run: Run, node: str, wait: float) -> Times:
    """Return the instants of the second kind that `coincidences` describes."""
    seen = run.segments
    data = (seen["node"] == node) & (seen["len_bytes"] > 0)
    arrived = seen["t_ns"][data]
    return _near(arrived, arrived + round(wait * 1e9))


def _near(times: Times, others: Times) -> Times:
    """Return the instants in `times` that are at most `GRAIN_NS` from an instant in `others`."""
    others = np.sort(others)
    place = np.searchsorted(others, times - GRAIN_NS)
    there = place < len(others)
    close = np.zeros(len(times), dtype=bool)
    close[there] = others[place[there]] <= times[there] + GRAIN_NS
    return times[close]
