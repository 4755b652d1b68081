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

#: The numbers in `lost_direction`. A probe that was lost forward has `FORWARD`, and a probe that
#: was lost in reverse has `REVERSE`. A lost probe has 0 if the direction of its loss is not known.
FORWARD, REVERSE = 1, 2

#: The comment in a file that is made from round trips.
_HALVES = (
    "Each direction has half of the measured round trip, at the instants at which a probe crosses",
    "it. A round trip shows neither the delay of each direction nor which direction lost a probe.",
)

#: The comment in a file that is made from delays that two clocks measured.
_MEASURED = ("Each direction has its own delay, measured by the clocks of both ends.",)


@dataclass(frozen=True)
class Directions:
    """The delays of each direction and the direction of each loss. All arrays have shape (n,).

    `forward` and `reverse` have the delays of each direction in seconds, and NaN for lost probes.
    `reverse` is `None` if the recording has only one direction. `lost_direction` has `FORWARD`,
    `REVERSE` or 0 for each probe. `measured` is true if each direction has its own measured delay,
    and not half of the round trip. `remarks` are comments for the file of the timeline; `notes` are
    printed for the user.
    """

    forward: Floats
    reverse: Floats | None
    lost_direction: NDArray[np.uint8]
    measured: bool = False
    remarks: Sequence[str] = ()
    notes: Sequence[str] = ()

    def losses(self, outside: Places) -> tuple[float, float]:
        """Return each direction's probability of loss. `outside` selects probes outside outages."""
        if not outside.any():
            return 0.0, 0.0
        lost = np.isnan(self.forward[outside])
        directions = self.lost_direction[outside]
        share = float(lost.mean())
        if self.reverse is None:
            return share, 0.0
        if np.any(lost & (directions == 0)):
            # For some lost probes, the direction is not known.
            each = per_direction(share, 2)
            return each, each
        forward = float(np.mean(directions == FORWARD))
        # Only probes that crossed the path forward can be lost in reverse.
        return forward, float(np.mean(directions == REVERSE)) / max(1 - forward, 1e-9)

    def all_lost(self, run: tuple[int, int], direction: int) -> bool:
        """Return whether a direction lost all probes of a series.

        `run` has the index of the first probe of the series and the index after its last probe.
        """
        return bool(np.all(self.lost_direction[slice(*run)] == direction))


def per_direction(share: float, directions: int) -> float:
    """Return an event's probability per direction, from the share of probes that had the event."""
    return float(1 - math.pow(1 - min(share, 1.0), 1 / directions))


def split(recording: Delays) -> Directions:
    """Divide the delays of a recording: each direction gets its own delay, or half a round trip.

    A recording of one-way delays has only one direction.
    """
    rtt = recording.rtt_s
    lost_direction = recording.lost_direction
    if recording.measure != "round-trip":
        return Directions(rtt, None, lost_direction)
    forward = np.where(np.isnan(rtt), np.nan, recording.forward_s)
    reverse = rtt - forward
    answered = ~np.isnan(rtt)
    if np.isnan(forward[answered]).any():
        return Directions(rtt / 2, rtt / 2, lost_direction, remarks=_HALVES)
    minima = float(np.min(forward[answered])), float(np.min(reverse[answered]))
    if min(minima) > 0:
        note = (
            "each direction has the delay that the clocks of both ends show, at least "
            f"{1e3 * minima[0]:.3g} ms forward and {1e3 * minima[1]:.3g} ms in reverse; if these "
            "clocks differ, one delay is too long and the other is too short by the same time"
        )
        return Directions(forward, reverse, lost_direction, True, _MEASURED, [note])
    shift = (minima[1] - minima[0]) / 2
    if min(np.min(forward[answered]) + shift, np.min(reverse[answered]) - shift) <= 0:
        note = (
            "the difference between the clocks of both ends changes, so the delays of the "
            "directions are not known: each direction has half of the round trip"
        )
        return Directions(rtt / 2, rtt / 2, lost_direction, False, _HALVES, [note])
    note = (
        f"the clocks of both ends differ by about {1e3 * abs(shift):.3g} ms: the file assumes that "
        "the minimum delays of both directions are equal, but on the path they may differ"
    )
    return Directions(forward + shift, reverse - shift, lost_direction, True, _MEASURED, [note])
