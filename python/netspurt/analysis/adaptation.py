"""Counts the samples that a timer needs to adapt to a change of the packets' length."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike


@dataclass(frozen=True)
class Adaptation:
    """A change of length, and the adaptation of a timer to it.

    Attributes
    ----------
    start
        The index of the first probe of the new length.
    octets
        The lengths of the probes before and after the change.
    samples
        The number of answered probes of the new length, up to the last probe whose delay was above
        the timer. The number is 0 if the timer was above all delays of the new length. It is `None`
        if the timer was below the last of these delays, or if no probe of the new length was
        answered.
    """

    start: int
    octets: tuple[int, int]
    samples: int | None


def adaptations(octets: ArrayLike, delay_s: ArrayLike, timer_s: ArrayLike) -> list[Adaptation]:
    """Return the adaptation of a timer to each change of length.

    Parameters
    ----------
    octets, delay_s, timer_s
        The length of each probe, its delay in seconds (NaN if lost), and the timer that was armed
        when the probe left, shape (n,).

    Raises
    ------
    ValueError
        If the shapes differ.

    Examples
    --------
    >>> octets = [40] * 3 + [256] * 4
    >>> timer = [2.0, 2.0, 2.0, 2.0, 2.5, 3.5, 3.8]
    >>> adaptations(octets, [1.0] * 3 + [3.0] * 4, timer)
    [Adaptation(start=3, octets=(40, 256), samples=2)]
    """
    lengths = np.asarray(octets)
    delay, timer = (np.asarray(values, dtype=float) for values in (delay_s, timer_s))
    if not lengths.shape == delay.shape == timer.shape:
        raise ValueError(
            f"the shapes of the arrays are {lengths.shape}, {delay.shape} and {timer.shape}: all "
            "must be equal, (n,)"
        )
    bounds = [*(int(place) + 1 for place in np.flatnonzero(np.diff(lengths))), len(lengths)]
    found = []
    for start, end in itertools.pairwise(bounds):
        answered = np.isfinite(delay[start:end])
        with np.errstate(invalid="ignore"):
            short = np.flatnonzero(timer[start:end] < delay[start:end])
        last = int(short[-1]) if len(short) else -1
        later = bool(answered[last + 1 :].any())
        samples = int(answered[: last + 1].sum()) if later else None
        pair = (int(lengths[start - 1]), int(lengths[start]))
        found.append(Adaptation(start, pair, samples))
    return found
