"""Timelines that links follow, from recordings of delays."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from netspurt.delays import Delays
from netspurt.timelines.timeline import MOST_POINTS, Outage, Timeline

#: What a file says of round trips.
_HALVES = (
    "Each direction has half of the measured round trip: a round trip does not tell how much of it",
    "either direction took, nor which of them lost a probe.",
)

#: Lost probes in a row that are taken for an outage of the path, and not for single losses.
OUTAGE = 2


def follow(recording: Delays, *, outage: int = OUTAGE) -> Timeline:
    """Return what a link does so that probes over it see a recording again.

    The delay of a direction is half of the round trip, and holds from the sending of its probe to
    that of the next one that came back. `outage` or more lost probes in a row are an outage, in
    which the link drops everything; other losses are a probability of loss, the same in both
    directions, so that a probe is lost as often as in the recording. A late reply is a delay, and
    no loss.

    Parameters
    ----------
    recording
        A recording of round trips whose probes have times.
    outage
        Lost probes in a row that make an outage; at least 1.

    Raises
    ------
    ValueError
        If times or replies are missing, or there are too many points.
    """
    if outage < 1:
        raise ValueError(f"outage={outage}: an outage has 1 lost probe at least")
    if recording.send_times == "unknown":
        raise ValueError(
            f"{recording.name} does not say when its probes left: give their interval, such as "
            "`--interval 1s`"
        )
    if recording.measure == "smoothed":
        raise ValueError(f"{recording.name} has smoothed delays, which no packet had")
    half = 2.0 if recording.measure == "round-trip" else 1.0
    at, delay = recording.sent_s, recording.rtt_s / half
    answered = ~np.isnan(delay)
    if not answered.any():
        raise ValueError(f"{recording.name} has no delay: no probe of it came back")
    if answered.sum() > MOST_POINTS:
        raise ValueError(
            f"{recording.name} has {answered.sum()} delays, and a timeline {MOST_POINTS} points at "
            "most: cut the recording"
        )
    outages, inside = _outages(at, answered, outage)
    outside = ~inside
    share = 1 - answered[outside].mean() if outside.any() else 0.0
    ways = half  # A round trip passes two directions, a one-way delay one.
    loss = 1 - math.pow(1 - share, 1 / ways)
    points = _points(at[answered], delay[answered])
    found = f"{len(points)} delays, {len(outages)} outages."
    remarks = [found, *_HALVES] if half > 1 else [found]
    return Timeline(
        recording.name, delay=points, loss=float(loss), outages=outages, remarks=remarks
    )


def _outages(
    at: NDArray[np.float64], answered: NDArray[np.bool_], least: int
) -> tuple[list[Outage], NDArray[np.bool_]]:
    """Return the outages, and which probes lie in them."""
    inside = np.zeros(len(at), dtype=bool)
    edges = np.diff(np.concatenate(([False], ~answered, [False])).astype(np.int8))
    outages = []
    for first, behind in zip(np.flatnonzero(edges == 1), np.flatnonzero(edges == -1), strict=True):
        if behind - first < least:
            continue
        inside[first:behind] = True
        # Behind the last probe the recording does not say when the path was back.
        end = at[behind] if behind < len(at) else at[-1]
        if end > at[first]:
            outages.append(Outage(_ns(at[first]), _ns(end) - _ns(at[first])))
    return outages, inside


def _points(at: NDArray[np.float64], delay: NDArray[np.float64]) -> list[tuple[int, int]]:
    """Return the points [ns] without those that repeat the delay before them."""
    changes = np.concatenate(([True], np.diff(delay) != 0))
    return [(_ns(t), _ns(of)) for t, of in zip(at[changes], delay[changes], strict=True)]


def _ns(seconds: float) -> int:
    return round(float(seconds) * 1e9)
