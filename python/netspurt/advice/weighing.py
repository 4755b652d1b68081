"""Computes the cost of timers on recorded delays: waits for losses, spurious retransmissions.

A replay applies timers to a recording of delays. The price is the waiting time that costs as much
as one spurious retransmission. The cost is per probe, at the recorded share of losses or at a given
share. Half a loss is added to the recorded losses (Jeffreys' prior for a share), because a path
without losses so far may still lose a packet. The wait for this half loss is the mean timer.
Intervals come from the block bootstrap. A second kind of limits comes from the counts of spurious
retransmissions: Garwood's limits, combined by the method of Zou and Donner (2008) for limits of a
sum. The intervals are widened so that they contain these limits. The intervals do not contain the
uncertainty of the share of losses, which is the same for all timers.

The interval of a timer's own cost comes from resamples of this timer alone, so other timers do not
change it. An interval that is symmetric about the cost may begin too low, because spurious
retransmissions cannot make a cost smaller. So the interval of the cost never begins below the
interval of the waits alone. The intervals of differences come from resamples of all timers
together.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from netspurt.analysis.bootstrap import (
    Floats,
    Interval,
    JointStatistic,
    Resamples,
    joint_interval,
)
from netspurt.analysis.replayed import (
    ReplaySums,
    is_spurious,
    learnt,
    poisson_interval,
)

if TYPE_CHECKING:
    from netspurt.advice.price import Price
    from netspurt.delays import Delays
    from netspurt.timers import Algorithm, Replay

#: The number of losses that is added to the recorded losses.
ADDED_LOSSES = 0.5


@dataclass(frozen=True)
class Terms:
    """The values with which timers are compared on a recording.

    Attributes
    ----------
    spurious_s
        The price of a spurious retransmission [s].
    loss
        The share of packets that are lost.
    probes
        The number of probes that were answered, or were lost after the first answer. It is the
        weight of the recording among several recordings.
    """

    spurious_s: float
    loss: float
    probes: float

    @classmethod
    def of(cls, replay: Replay, price: Price) -> Terms:
        """Return the terms of a recording."""
        return cls.on(replay.delays, replay.algorithms[0], price)

    @classmethod
    def on(cls, delays: Delays, algorithm: Algorithm, price: Price) -> Terms:
        """Return the terms of a recording, from any algorithm that was replayed on it."""
        lost = algorithm.lost - algorithm.lost_before
        probes = algorithm.answered + lost
        share = (
            (lost + ADDED_LOSSES) / (probes + ADDED_LOSSES) if price.loss is None else price.loss
        )
        return cls(price.of(delays), share, float(probes))


def cost(sums: Sequence[ReplaySums], terms: Sequence[Terms]) -> Floats:
    """Return the cost per probe [s] over all recordings, from the sums on each recording.

    Examples
    --------
    >>> sums = [np.asarray(float(sum_)) for sum_ in (100, 99, 1, 2, 20.0, 0.3)]
    >>> round(float(cost([ReplaySums(*sums)], [Terms(0.1, 0.01, 100)])[0]) * 100, 3)
    0.467
    """
    waits, spurious = parts(sums, terms)
    return waits + spurious


def cost_of(delays: Sequence[Delays], algorithms: Sequence[Algorithm], price: Price) -> float:
    """Return the cost per probe [s] of an algorithm on some recordings; NaN without answers."""
    sums, terms = [], []
    for path, algorithm in zip(delays, algorithms, strict=True):
        if algorithm.answered:
            sums.append(algorithm.sums())
            terms.append(Terms.on(path, algorithm, price))
    return float(cost(sums, terms)[0]) if sums else math.nan


def parts(sums: Sequence[ReplaySums], terms: Sequence[Terms]) -> tuple[Floats, Floats]:
    """Return both parts of the cost per probe [s]: waiting, and spurious retransmissions."""
    waits = spurious = np.zeros(1)
    for one, own, weight in zip(sums, terms, _weights(terms), strict=True):
        waited = one.waited + ADDED_LOSSES * one.timers / one.learnt
        wait = waited / (one.lost + ADDED_LOSSES)
        waits = waits + weight * own.loss * wait
        spurious = spurious + weight * _all_spurious(own) * one.spurious / one.answers
    return waits, spurious


def least_cost(terms: Sequence[Terms], shortest_s: Sequence[float]) -> float:
    """Return the cost per probe [s] if each loss waits for the shortest timer of its recording.

    Examples
    --------
    >>> round(least_cost([Terms(0.1, 0.01, 100)], [0.15]) * 100, 3)
    0.15
    """
    each = zip(terms, _weights(terms), shortest_s, strict=True)
    return sum(weight * own.loss * shortest for own, weight, shortest in each)


def squared_distances(sums: Sequence[ReplaySums], terms: Sequence[Terms]) -> Floats:
    """Return the squared distances from the cost to its lower limit and to its upper limit [s²].

    The limits follow from the counts of spurious retransmissions.
    """
    squares = np.zeros(2)
    for one, own, weight in zip(sums, terms, _weights(terms), strict=True):
        count = float(one.spurious)
        low, high = poisson_interval(int(count))
        distances = np.array([count - low, min(high, max(count, float(one.answers))) - count])
        squares += (distances * weight * _all_spurious(own) / float(one.answers)) ** 2
    return squares


def prudent(sums: Sequence[ReplaySums], terms: Sequence[Terms]) -> float:
    """Return the largest cost per probe [s] that the counts of spurious retransmissions allow."""
    return float(cost(sums, terms)[0] + np.sqrt(squared_distances(sums, terms)[1]))


def _all_spurious(terms: Terms) -> float:
    """Return the cost of spurious retransmissions per probe [s] if every answer came too late."""
    return (1 - terms.loss) * terms.spurious_s


def _weights(terms: Sequence[Terms]) -> list[float]:
    probes = sum(own.probes for own in terms)
    return [own.probes / probes for own in terms]


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
        The two parts of the cost per probe [s].
    count, answers
        The numbers of spurious retransmissions and of answers on all recordings.
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
        The price of a spurious retransmission, and the share of losses.

    Raises
    ------
    ValueError
        If the algorithms differ, or there is no replay.
    """

    def __init__(self, replays: Sequence[Replay], price: Price) -> None:
        names = [tuple(own.estimator for own in replay.algorithms) for replay in replays]
        if len(set(names)) != 1:
            raise ValueError(
                "there are no replays, or their estimators differ: "
                "replay the same estimators on each recording"
            )
        self.replays = replays
        self.price = price
        self.names = names[0]
        self.terms = [Terms.of(replay, price) for replay in replays]

    @cached_property
    def costs(self) -> list[Cost]:
        """The cost of each algorithm."""
        return [self._cost(place) for place in range(len(self.names))]

    @cached_property
    def least(self) -> int:
        """The index of the cheapest algorithm."""
        return min(range(len(self.names)), key=lambda place: self.costs[place].total.value)

    def alike(self, place: int) -> list[int]:
        """Return the indices of the algorithms that cannot be told apart from the one at `place`.

        The index `place` is also in the result.
        """
        others = range(len(self.names))
        return [n for n in others if n == place or self.difference(n, place).sign == 0]

    def sign(self, first: str, second: str) -> int:
        """Return 1 if the first algorithm costs measurably more, -1 if less, 0 if neither."""
        return self.difference(self.names.index(first), self.names.index(second)).sign

    def difference(self, first: int, second: int) -> Interval:
        """Return how much more the first algorithm costs than the second [s], per probe."""
        if all(np.array_equal(*self._waits(replay, first, second)) for replay in self.replays):
            return Interval(0.0, 0.0, 0.0, 0.95, 1)
        drawn = self._joint(
            lambda sums: self._cost_from(sums, first) - self._cost_from(sums, second)
        )
        squares = np.zeros(2)
        for place, replay in enumerate(self.replays):
            squares += self._distances(place, replay, first, second) ** 2
        return _no_narrower(drawn, squares)

    def _distances(self, place: int, replay: Replay, first: int, second: int) -> Floats:
        """Return the distances from the difference of the spurious costs to its two limits [s].

        The first distance is to the lower limit, and the second is to the upper limit.

        A probe counts only if exactly one of the two timers was too short for it. If a timer was
        never shorter than the other timer, it cannot be the only timer that was too short. So its
        count of such probes is certainly zero.
        """
        first_waits, second_waits = self._waits(replay, first, second)
        flags = [is_spurious(replay.delays, waits) for waits in (first_waits, second_waits)]
        squares = np.zeros(2)
        for sign, own, other, was_shorter in (
            (1, flags[0], flags[1], np.any(first_waits < second_waits)),
            (-1, flags[1], flags[0], np.any(second_waits < first_waits)),
        ):
            count = int(np.sum(own & ~other))
            low, high = poisson_interval(count) if was_shorter else (float(count), float(count))
            squares += np.array([count - low, high - count])[::sign] ** 2
        terms, answers = self.terms[place], replay.algorithms[0].answered
        cost_of_one = _weights(self.terms)[place] * _all_spurious(terms) / answers
        return np.sqrt(squares) * cost_of_one

    def _cost(self, place: int) -> Cost:
        algorithms = [replay.algorithms[place] for replay in self.replays]
        resamples = [one.resamples for one in algorithms if one.resamples is not None]
        own = [ReplaySums.of(one.sums, 0) for one in resamples]
        waiting, spurious = (float(part[0]) for part in parts(own, self.terms))
        drawn = joint_interval(resamples, lambda sums: self._cost_from(sums, 0))
        total = _no_narrower(drawn, squared_distances(own, self.terms))
        least = self._least(algorithms, resamples)
        total = total.bounded(least, math.inf)
        counts = (int(sum(float(getattr(one, name)) for one in own)) for name in _COUNTS)
        return Cost(self.names[place], total, waiting, spurious, *counts)

    def _least(self, algorithms: Sequence[Algorithm], resamples: Sequence[Resamples]) -> float:
        """Return the lower bound for the interval of an algorithm's cost per probe [s].

        The bound is the lower end of the interval of the waits for losses. It is not below the cost
        at which each loss waits for the shortest timer of its recording.
        """
        waiting = joint_interval(
            resamples, lambda sums: parts([ReplaySums.of(own, 0) for own in sums], self.terms)[0]
        )
        shortest = [
            float(one.waits[learnt(replay.delays, replay.order)].min())
            for one, replay in zip(algorithms, self.replays, strict=True)
        ]
        least = least_cost(self.terms, shortest)
        return max(waiting.low, least) if math.isfinite(waiting.low) else least

    def _joint(self, statistic: JointStatistic) -> Interval:
        return joint_interval([replay.resamples for replay in self.replays], statistic)

    def _cost_from(self, sums: Sequence[Floats], place: int) -> Floats:
        return cost([ReplaySums.of(own, place) for own in sums], self.terms)

    def _waits(self, replay: Replay, first: int, second: int) -> tuple[Floats, Floats]:
        return replay.algorithms[first].waits, replay.algorithms[second].waits


_COUNTS = ("spurious", "answers")


def _no_narrower(drawn: Interval, squares: Floats) -> Interval:
    """Return `drawn`, widened if necessary.

    The result reaches below and above its value by at least the square roots of `squares`.
    """
    below, above = np.sqrt(squares)
    low, high = drawn.value - float(below), drawn.value + float(above)
    if math.isfinite(drawn.low):
        low, high = min(low, drawn.low), max(high, drawn.high)
    return Interval(drawn.value, low, high, drawn.level, drawn.block)
