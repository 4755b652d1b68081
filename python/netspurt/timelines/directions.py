"""The delays and losses of a recording, divided between the two directions of the path."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from netspurt.delays import Delays

Floats = NDArray[np.float64]
Places = NDArray[np.bool_]

#: The numbers of the direction that lost a probe.
FORWARD, REVERSE = 1, 2

#: The comment in a file that is made from round trips.
_HALVES = (
    "Each direction has half of the measured round trip, at the instants at which a probe crosses",
    "it: a round trip does not tell how much of it either direction took, nor which of them lost a",
    "probe.",
)

#: The comment in a file that is made from delays by two clocks.
_MEASURED = ("Each direction has its own delay, as the clocks of both ends tell it.",)


@dataclass(frozen=True)
class Directions:
    """The delays of both directions [s], shape (n,) each, NaN if lost, and each loss's direction.

    `reverse` is missing if the recording is of one direction. `measured` says whether the recording
    has the delay of each direction.
    """

    forward: Floats
    reverse: Floats | None
    lost_way: NDArray[np.uint8]
    measured: bool = False
    remarks: Sequence[str] = ()
    notes: Sequence[str] = ()

    def losses(self, outside: Places) -> tuple[float, float]:
        """Return each direction's probability of loss, from the probes `outside` of outages."""
        if not outside.any():
            return 0.0, 0.0
        lost = np.isnan(self.forward[outside])
        ways = self.lost_way[outside]
        share = float(lost.mean())
        if self.reverse is None:
            return share, 0.0
        if np.any(lost & (ways == 0)):
            # For some lost probes the direction is not known.
            each = each_way(share, 2)
            return each, each
        ahead = float(np.mean(ways == FORWARD))
        return ahead, float(np.mean(ways == REVERSE)) / max(1 - ahead, 1e-9)

    def all_lost(self, run: tuple[int, int], way: int) -> bool:
        """Return whether the direction `way` lost all probes of a run that begins at a place."""
        return bool(np.all(self.lost_way[slice(*run)] == way))


def each_way(share: float, ways: int) -> float:
    """Return the probability of an event in each direction, from the share of probes with it."""
    return float(1 - math.pow(1 - min(share, 1.0), 1 / ways))


def split(recording: Delays) -> Directions:
    """Return the directions of a recording: their own delays, or half of the round trip each."""
    rtt = recording.rtt_s
    ways = recording.lost_way
    if recording.measure != "round-trip":
        return Directions(rtt, None, ways)
    forward = np.where(np.isnan(rtt), np.nan, recording.forward_s)
    reverse = rtt - forward
    answered = ~np.isnan(rtt)
    if np.isnan(forward[answered]).any():
        return Directions(rtt / 2, rtt / 2, ways, remarks=_HALVES)
    least = float(np.min(forward[answered])), float(np.min(reverse[answered]))
    if min(least) > 0:
        told = (
            f"each direction has its delay by the clocks of both ends, {1e3 * least[0]:.3g} ms "
            f"forward and {1e3 * least[1]:.3g} ms in reverse at least; where these clocks differ, "
            "one has as much too much as the other has too little"
        )
        return Directions(forward, reverse, ways, True, _MEASURED, [told])
    shift = (least[1] - least[0]) / 2
    if min(np.min(forward[answered]) + shift, np.min(reverse[answered]) - shift) <= 0:
        told = (
            "the clocks of both ends run apart, so that the delays of the directions are not "
            "known: each has half of the round trip"
        )
        return Directions(rtt / 2, rtt / 2, ways, False, _HALVES, [told])
    told = (
        f"the clocks of both ends differ by {1e3 * abs(shift):.3g} ms or so: set right so that the "
        "least delays of both directions are equal, which the path's need not be"
    )
    return Directions(forward + shift, reverse - shift, ways, True, _MEASURED, [told])
