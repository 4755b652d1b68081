"""The cost of timers on recordings: waiting for losses, and spurious retransmissions at a price.

The cost is per probe, at the share of losses that was recorded, or at a given one. Half a loss is
added to those recorded (Jeffreys' prior for a share), with the mean timer as its wait: a path that
lost nothing so far may still lose. Intervals come from the block bootstrap and are no narrower than
the counts of spurious retransmissions allow: Garwood's limits, combined as Zou and Donner (2008)
combine limits of a sum. They do not contain the uncertainty of the share of losses, which is the
same for all timers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from netspurt.analysis.bootstrap import Floats, Interval, JointStatistic, joint_interval
from netspurt.analysis.replayed import Tally, bounded, is_spurious, poisson_interval

if TYPE_CHECKING:
    from netspurt.advice.price import Price
    from netspurt.delays import Delays
    from netspurt.timers import Algorithm, Replay

#: The losses added to those recorded.
HALF = 0.5


@dataclass(frozen=True)
class Terms:
    """The terms on which timers are weighed on a recording.

    Attributes
    ----------
    spurious_s
        The price of a spurious retransmission [s].
    loss
        The share of packets that are lost.
    probes
        The recording's probes: its weight among several.
    """

    spurious_s: float
    loss: float
    probes: float

    @classmethod
    def of(cls, replay: Replay, price: Price) -> Terms:
        """Return the terms of a recording."""
        return cls.on(replay.delays, replay.algorithms[0], price)

    @classmethod
    def on(cls, delays: Delays, one: Algorithm, price: Price) -> Terms:
        """Return the terms of a recording on which any algorithm was replayed."""
        lost = one.lost - one.lost_before
        probes = one.answered + lost
        share = (lost + HALF) / (probes + HALF) if price.loss is None else price.loss
        return cls(price.of(delays), share, float(probes))


def cost(tallies: Sequence[Tally], terms: Sequence[Terms]) -> Floats:
    """Return the cost per probe [s] over all recordings, from the sums on each.

    Examples
    --------
    >>> sums = [np.asarray(float(sum_)) for sum_ in (100, 99, 1, 2, 20.0, 0.3)]
    >>> round(float(cost([Tally(*sums)], [Terms(0.1, 0.01, 100)])[0]) * 100, 3)
    0.467
    """
    waits, spurious = parts(tallies, terms)
    return waits + spurious


def cost_of(delays: Sequence[Delays], algorithms: Sequence[Algorithm], price: Price) -> float:
    """Return the cost per probe [s] of an algorithm on some recordings; NaN without answers."""
    tallies, terms = [], []
    for path, one in zip(delays, algorithms, strict=True):
        if one.answered:
            tallies.append(Tally.between(path, one.waits, one.order, 0, len(path)))
            terms.append(Terms.on(path, one, price))
    return float(cost(tallies, terms)[0]) if tallies else math.nan


def parts(tallies: Sequence[Tally], terms: Sequence[Terms]) -> tuple[Floats, Floats]:
    """Return both parts of the cost per probe [s]: waiting, and spurious retransmissions."""
    waits = spurious = np.zeros(1)
    for one, on, weight in zip(tallies, terms, _weights(terms), strict=True):
        wait = (one.waited + HALF * one.timers / one.learnt) / (one.lost + HALF)
        waits = waits + weight * on.loss * wait
        spurious = spurious + weight * _unit(on) * one.spurious / one.answers
    return waits, spurious


def reach(tallies: Sequence[Tally], terms: Sequence[Terms]) -> Floats:
    """Return the squares of the distances to the cost's lower and upper limits by counts [s²]."""
    squares = np.zeros(2)
    for one, on, weight in zip(tallies, terms, _weights(terms), strict=True):
        count = float(one.spurious)
        low, high = poisson_interval(int(count))
        ends = np.array([count - low, min(high, max(count, float(one.answers))) - count])
        squares += (ends * weight * _unit(on) / float(one.answers)) ** 2
    return squares


def prudent(tallies: Sequence[Tally], terms: Sequence[Terms]) -> float:
    """Return the upper limit of the cost per probe [s] that the counts alone allow."""
    return float(cost(tallies, terms)[0] + np.sqrt(reach(tallies, terms)[1]))


def _unit(terms: Terms) -> float:
    """Return the cost per probe [s] if every answer came too late."""
    return (1 - terms.loss) * terms.spurious_s


def _weights(terms: Sequence[Terms]) -> list[float]:
    probes = sum(one.probes for one in terms)
    return [one.probes / probes for one in terms]


@dataclass(frozen=True)
class Cost:
    """The cost of an algorithm.

    Attributes
    ----------
    estimator
        The algorithm.
    total
        The cost per probe [s], with its interval.
    waiting, spurious
        Its two parts [s].
    count, answers
        Spurious retransmissions and answers on all recordings.
    """

    estimator: str
    total: Interval
    waiting: float
    spurious: float
    count: int
    answers: int


class Weighing:
    """The costs of the same algorithms on some recordings.

    Parameters
    ----------
    replays
        Replays of the same algorithms, in the same order.
    price
        The price.

    Raises
    ------
    ValueError
        If the algorithms differ, or there is no replay.
    """

    def __init__(self, replays: Sequence[Replay], price: Price) -> None:
        names = [tuple(one.estimator for one in of.algorithms) for of in replays]
        if len(set(names)) != 1:
            raise ValueError("the replays have different estimators: they cannot be weighed")
        self.replays = replays
        self.price = price
        self.names = names[0]
        self.terms = [Terms.of(of, price) for of in replays]

    @cached_property
    def costs(self) -> list[Cost]:
        """The cost of each algorithm."""
        return [self._cost(place) for place in range(len(self.names))]

    @cached_property
    def least(self) -> int:
        """The place of the algorithm that costs least."""
        return min(range(len(self.names)), key=lambda place: self.costs[place].total.value)

    def alike(self, place: int) -> list[int]:
        """Return the places of the algorithms that cannot be told apart from one, with its own."""
        others = range(len(self.names))
        return [n for n in others if n == place or self.difference(n, place).sign == 0]

    def difference(self, first: int, second: int) -> Interval:
        """Return by how much the first costs more per probe [s]; both had the same probes."""
        if all(np.array_equal(*self._waits(of, first, second)) for of in self.replays):
            return Interval(0.0, 0.0, 0.0, 0.95, 1)
        drawn = self._joint(lambda sums: self._of(sums, first) - self._of(sums, second))
        squares = np.zeros(2)
        for place, of in enumerate(self.replays):
            squares += self._events(place, of, first, second) ** 2
        return _no_narrower(drawn, squares)

    def _events(self, place: int, of: Replay, first: int, second: int) -> Floats:
        """Return how far below and above its value the difference of the spurious costs may be [s].

        Only probes count for which one timer was too short and the other was not. A timer that was
        never shorter than the other cannot have been too short alone.
        """
        ones, others = self._waits(of, first, second)
        flags = [is_spurious(of.delays, waits) for waits in (ones, others)]
        beyond = np.zeros(2)
        for sign, mine, other, shorter in (
            (1, flags[0], flags[1], np.any(ones < others)),
            (-1, flags[1], flags[0], np.any(others < ones)),
        ):
            count = int(np.sum(mine & ~other))
            low, high = poisson_interval(count) if shorter else (float(count), float(count))
            beyond += np.array([count - low, high - count])[::sign] ** 2
        on, answers = self.terms[place], of.algorithms[0].answered
        unit = _weights(self.terms)[place] * _unit(on) / answers
        return np.sqrt(beyond) * unit

    def _cost(self, place: int) -> Cost:
        tallies = self._tallies(place)
        waiting, spurious = (float(part[0]) for part in parts(tallies, self.terms))
        squares = reach(tallies, self.terms)
        total = _no_narrower(self._joint(lambda sums: self._of(sums, place)), squares)
        counts = (int(sum(float(getattr(t, what)) for t in tallies)) for what in _COUNTS)
        return Cost(self.names[place], bounded(total, 0.0, math.inf), waiting, spurious, *counts)

    def _joint(self, statistic: JointStatistic) -> Interval:
        return joint_interval([of.resamples for of in self.replays], statistic)

    def _of(self, sums: Sequence[Floats], place: int) -> Floats:
        return cost([Tally.of(one, place) for one in sums], self.terms)

    def _tallies(self, place: int) -> list[Tally]:
        return [Tally.of(of.resamples.sums, place) for of in self.replays]

    def _waits(self, of: Replay, first: int, second: int) -> tuple[Floats, Floats]:
        return of.algorithms[first].waits, of.algorithms[second].waits


_COUNTS = ("spurious", "answers")


def _no_narrower(drawn: Interval, squares: Floats) -> Interval:
    """Return an interval that is widened, if needed, to these squared distances."""
    below, above = np.sqrt(squares)
    low, high = drawn.value - float(below), drawn.value + float(above)
    if math.isfinite(drawn.low):
        low, high = min(low, drawn.low), max(high, drawn.high)
    return Interval(drawn.value, low, high, drawn.level, drawn.block)
