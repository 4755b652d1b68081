"""Values that measures read from the tables of a run with one flow."""

from __future__ import annotations

import tomllib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from netspurt.quantities import quantity
from netspurt.run import Run
from netspurt.table import Table


def configuration(run: Run) -> dict[str, Any]:
    """Return the resolved scenario of a run: the scenario with all defaults filled in."""
    return tomllib.loads(run.scenario)


def at_sender(run: Run) -> Table:
    """Return the segments observed beside the sender."""
    return run.segments.where(node=str(run.flows["from"][0]))


def ack_times(run: Run) -> NDArray[np.float64]:
    """Return when each packet was first acknowledged [s]. Packet n has the index n - 1."""
    acks = at_sender(run).where(kind="ack")
    highest = acks["packet"]
    if len(highest) == 0:
        return np.empty(0)
    first = np.searchsorted(highest, np.arange(1, int(highest[-1]) + 1))
    times: NDArray[np.float64] = acks.seconds()[first]
    return times


def first_retransmission(run: Run) -> float:
    """Return when the sender retransmitted first [s], or infinity if it never retransmitted."""
    times = at_sender(run).where(kind="retransmission").seconds()
    return float(times[0]) if len(times) else float("inf")


def busy_time(run: Run, link: str, until: float) -> float:
    """Return how long a link had packets to transmit forward before the instant `until` [s]."""
    queue = run.queue.where(link=link, direction="forward")
    times = np.append(np.minimum(queue.seconds(), until), until)
    return float(np.sum(np.diff(times)[queue["queue_packets"] > 0]))


def packet_time(run: Run, link: str) -> float:
    """Return how long a link takes to transmit a full packet [s]."""
    settings = configuration(run)
    size = quantity(next(iter(settings["flows"].values()))["tcp"]["packet_size"])[1]
    return 8 * size / quantity(settings["links"][link]["rate"])[1]
