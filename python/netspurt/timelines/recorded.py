"""Timelines that links follow, from recordings of delays."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from netspurt.delays import Delays
from netspurt.timelines.files import MOST_POINTS
from netspurt.timelines.written import plain, seconds

#: Lost probes in a row that are taken for an outage of the path, and not for single losses.
OUTAGE = 2


@dataclass(frozen=True)
class Outage:
    """A time in which no probe came back.

    Attributes
    ----------
    at_s
        When the first of its probes was sent, in seconds since the recording began.
    dead_s
        The seconds from then to the sending of the next probe that came back.
    """

    at_s: float
    dead_s: float


@dataclass(frozen=True)
class Moves:
    """What a link does so that probes over it see the delays of a recording.

    Attributes
    ----------
    name
        The name of the recording.
    at_s
        The instants, in seconds since the recording began, shape (n,).
    delay_s
        The delay of one direction from each instant on, in seconds, shape (n,).
    outages
        The times in which nothing came back.
    loss
        The probability with which either direction loses a packet outside of outages.
    """

    name: str
    at_s: NDArray[np.float64]
    delay_s: NDArray[np.float64]
    outages: list[Outage]
    loss: float

    def to_toml(self) -> str:
        """Return the file that a link of a scenario follows."""
        points = ", ".join(
            f'["{seconds(at)}", "{seconds(delay)}"]'
            for at, delay in zip(self.at_s, self.delay_s, strict=True)
        )
        lines = [
            f"# From {plain(self.name)}: {len(self.at_s)} delays, {len(self.outages)} outages.",
            "# Each direction has half of the measured round trip: a round trip does not tell how",
            "# much of it either direction took, nor which of them lost a probe.",
            f'delay = {{ timeline = [{points}], between = "step" }}',
        ]
        if self.loss > 0:
            lines.append(f"loss  = {{ probability = {self.loss:.6g} }}")
        for outage in self.outages:
            at, dead = seconds(outage.at_s), seconds(outage.dead_s)
            lines += [
                "[[handovers]]",
                f'at = "{at}"',
                f'dead = "{dead}"',
                'arrivals = "drop"',
                'in_flight = "drop"',
            ]
        return "\n".join(lines) + "\n"


def follow(recording: Delays, *, outage: int = OUTAGE) -> Moves:
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
    return Moves(recording.name, *_points(at[answered], delay[answered]), outages, float(loss))


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
            outages.append(Outage(float(at[first]), float(end - at[first])))
    return outages, inside


def _points(
    at: NDArray[np.float64], delay: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the points without those that repeat the delay before them."""
    changes = np.concatenate(([True], np.diff(delay) != 0))
    return at[changes], delay[changes]
