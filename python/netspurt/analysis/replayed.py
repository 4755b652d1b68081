"""Computes sums over the probes of a replay, and resamples them for confidence intervals."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from netspurt.analysis.bootstrap import BINS, Floats, Interval, Resamples, block_length
from netspurt.delays import Delays

if TYPE_CHECKING:
    from netspurt._core import Replayed

#: With at least `SEEN` spurious retransmissions, the error of their rate is below a factor of two.
SEEN = 10


def is_spurious(delays: Delays, waits: Floats) -> NDArray[np.bool_]:
    """Return, for each probe, whether its answer came after its timer had fired, shape (n,)."""
    with np.errstate(invalid="ignore"):
        short: NDArray[np.bool_] = waits < delays.rtt_s
    return short


def resamples(delays: Delays, waits: list[Floats], order: str, seed: int) -> Resamples:
    """Return resamples of the sums that `_SHARED` and `_OWN` count.

    `waits` has the timers of each algorithm for all probes [s]. `order` has the same meaning as in
    `learnt`. The resamples of all algorithms use the same blocks of probes, and the length of a
    block depends on all algorithms. So an interval for one algorithm must come from resamples of
    this algorithm alone. Otherwise the other algorithms would change the interval.
    """
    rtt = delays.rtt_s
    flags = [is_spurious(delays, own) for own in waits]
    # The block length must be enough for the correlations of delays, of timers, and of spurious
    # retransmissions.
    series = chain([rtt], waits, (flag.astype(float) for flag in flags))
    length = max(1, min(max(map(block_length, series)), len(rtt) // 8))
    step = -(-len(rtt) // BINS)
    edges = np.arange(0, len(rtt), step)
    # Each column is summed as soon as it is made, because a long recording has large columns.
    columns = _columns(rtt, learnt(delays, order), waits, flags)
    binned = np.stack([np.add.reduceat(column.astype(float), edges) for column in columns])
    if binned.shape[1] == 1:
        binned = np.repeat(binned, 2, axis=1) / 2
    return Resamples(binned, length=max(1, round(length / step)), seed=seed, memory=True)


def _columns(
    rtt: Floats, has_delay: NDArray[np.bool_], waits: list[Floats], flags: list[NDArray[np.bool_]]
) -> Iterator[NDArray[Any]]:
    """Yield the values of all probes for each of the sums that `_SHARED` and `_OWN` count."""
    lost = np.isnan(rtt)
    good = np.where(lost, 0.0, rtt)
    counted = lost & has_delay
    yield from (has_delay, ~lost, good, counted)
    for own, flag in zip(waits, flags, strict=True):
        yield from (flag, has_delay * own, flag * good, counted * own)


def learnt(delays: Delays, order: str) -> NDArray[np.bool_]:
    """Return, for each probe, whether at least one delay was known when it left.

    If `order` is `sequence`, the answer to a probe is known when the next probe leaves. If it is
    `causal`, the answer is known on arrival. If no probe left after a delay was known, the result
    is true for all probes.
    """
    rtt = delays.rtt_s
    known = np.flatnonzero(~np.isnan(rtt))
    has_delay = np.ones(len(rtt), dtype=np.bool_)
    if not len(known):
        return has_delay
    if order == "sequence":
        has_delay[: known[0] + 1] = False
    else:
        has_delay = delays.sent_s >= np.min(delays.sent_s[known] + rtt[known])
    return has_delay if has_delay.any() else ~has_delay


def learnt_from(delays: Delays, order: str) -> int:
    """Return the number of the first probe that `learnt` counts. All later probes also count."""
    return int(np.argmax(learnt(delays, order)))


#: The number of sums that all algorithms share. Two sums are over the probes that left when a delay
#: was known: their number, and their losses. Two are over all probes: the answers, and the delays.
_SHARED = 4
#: The number of sums of each algorithm: spurious retransmissions, timers, delays of spurious
#: retransmissions, waits for the losses that `_SHARED` counts.
_OWN = 4


@dataclass(frozen=True)
class ReplaySums:
    """The sums of an algorithm over probes: numbers, or arrays with a number for each resample.

    Attributes
    ----------
    learnt, answers, lost
        `learnt` is the number of probes that left when a delay was known. `answers` is the number
        of answers. `lost` is the number of losses among the probes that `learnt` counts.
    spurious
        Spurious retransmissions.
    timers, waited
        The sum of the timers of the probes that `learnt` counts, and the sum of the timers of the
        probes that `lost` counts [s].
    """

    learnt: Floats
    answers: Floats
    lost: Floats
    spurious: Floats
    timers: Floats
    waited: Floats

    @classmethod
    def of(cls, sums: Floats, algorithm: int) -> ReplaySums:
        """Return the sums of one algorithm, from sums in the layout of `resamples`."""
        own = _SHARED + _OWN * algorithm
        return cls(sums[0], sums[1], sums[3], sums[own], sums[own + 1], sums[own + 3])

    @classmethod
    def between(cls, replayed: Replayed, learnt_from: int, first: int, end: int) -> ReplaySums:
        """Return the sums over the probes with the numbers `first` to `end - 1`.

        `learnt_from` is the number of the first probe that `learnt` counts.
        """
        *counts, timers_ns, waited_ns = replayed.part_sums(learnt_from, first, end)
        sums = (*counts, timers_ns / 1e9, waited_ns / 1e9)
        return cls(*(np.asarray(value, dtype=float) for value in sums))


def spurious_share(sums: Floats, algorithm: int) -> Floats:
    """Return the spurious retransmissions per answer."""
    share: Floats = sums[_SHARED + _OWN * algorithm] / sums[1]
    return share


def mean_timer(sums: Floats, algorithm: int) -> Floats:
    """Return the mean timer [s] of the probes that left after a delay was known."""
    mean: Floats = sums[_SHARED + _OWN * algorithm + 1] / sums[0]
    return mean


def efficiency(sums: Floats, algorithm: int) -> Floats:
    """Return RFC 889's efficiency: the share of delays in the sum of delays and wasted times.

    The wasted times are the waits for lost probes, and the delays of probes that were retransmitted
    spuriously.

    A lost probe that left before any delay was known does not count: its wait is the initial timer,
    which says nothing about the path.
    """
    spurious, waited = sums[_SHARED + _OWN * algorithm + 2], sums[_SHARED + _OWN * algorithm + 3]
    share: Floats = sums[2] / (sums[2] + spurious + waited)
    return share


def poisson_interval(count: int, level: float = 0.95) -> tuple[float, float]:
    """Return Garwood's interval for the mean of a Poisson count.

    Examples
    --------
    >>> [round(end, 3) for end in poisson_interval(0)], [round(e, 3) for e in poisson_interval(4)]
    ([0.0, 3.689], [1.09, 10.242])
    """
    from scipy.special import gammaincinv

    tail = (1 - level) / 2
    low = float(gammaincinv(count, tail)) if count else 0.0
    return low, float(gammaincinv(count + 1, 1 - tail))


def could_be_chance(one: int, other: int) -> bool:
    """Return whether chance explains the difference of two counts (McNemar's test at 5 %).

    The test tosses a fair coin for each counted probe. Chance explains the difference if such
    tosses give a difference at least as large with a probability above 5 %.
    """
    from scipy.special import bdtr

    # The two tails of the distribution are equal, because the coin is fair.
    return one == other or bool(2 * bdtr(min(one, other), one + other, 0.5) > 0.05)


def timer_interval(resamples: Resamples | None, waits: Floats) -> Interval:
    """Return the mean timer [s] and its interval, from resamples of the algorithm alone."""
    if resamples is None:
        return Interval.without(float(waits.mean()))
    mean = resamples.interval(lambda s: mean_timer(s, 0))
    return mean.bounded(float(waits.min()), float(waits.max()))


def share_interval(resamples: Resamples | None, spurious: int, answered: int) -> Interval:
    """Return the spurious retransmissions per answer and their interval.

    `resamples` are the resamples of the algorithm alone; `None` gives no interval. With at most one
    spurious retransmission, resamples underestimate the uncertainty. The interval is therefore at
    least as wide as Garwood's interval (1936) for a count.
    """
    if resamples is None:
        return Interval.without(spurious / answered if answered else math.nan)
    share = resamples.interval(lambda s: spurious_share(s, 0))
    if not answered:
        return Interval(share.value, math.nan, math.nan, share.level, share.block)
    low, high = (end / answered for end in poisson_interval(spurious))
    ends = (min(share.low, low), max(share.high, high)) if math.isfinite(share.low) else (low, high)
    return Interval(share.value, *ends, share.level, share.block).bounded(0.0, 1.0)


def waited_in_delays(delays: Delays, waits: Floats) -> float:
    """Return the mean ratio of the wait for a lost probe to the last delay before it.

    Only losses after an answer are used. The result is NaN if there is no such loss.
    """
    rtt = delays.rtt_s
    places = np.where(np.isnan(rtt), -1, np.arange(len(rtt)))
    last = np.maximum.accumulate(places)
    counted = np.isnan(rtt) & (last >= 0)
    last_delay = rtt[last[counted]]
    shares = waits[counted][last_delay > 0] / last_delay[last_delay > 0]
    return float(shares.mean()) if len(shares) else math.nan
