"""Sums over the probes of a replay, resampled for intervals."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from netspurt.analysis.bootstrap import BINS, Floats, Resamples, block_length
from netspurt.delays import Delays


def is_spurious(delays: Delays, waits: Floats) -> NDArray[np.bool_]:
    """Return which probes were answered after their timers, shape (n,)."""
    with np.errstate(invalid="ignore"):
        short: NDArray[np.bool_] = waits < delays.rtt_s
    return short


def resamples(delays: Delays, waits: list[Floats], order: str, seed: int) -> tuple[Resamples, int]:
    """Return resampled sums of the values in `_SHARED` and `_OWN`, and the block length."""
    rtt = delays.rtt_s
    flags = [is_spurious(delays, one) for one in waits]
    # The block length follows from the correlation of delays, of timers, and of the excess of
    # delays over timers.
    series = [rtt, *waits, *(flag.astype(float) for flag in flags)]
    length = max(1, min(max(map(block_length, series)), len(rtt) // 8))
    step = -(-len(rtt) // BINS)
    lost = np.isnan(rtt)
    good = np.where(lost, 0.0, rtt)
    learnt = _learnt(delays, order)
    columns = [learnt, ~lost, good]
    for one, flag in zip(waits, flags, strict=True):
        columns += [flag, learnt * one, flag * good, lost * one]
    edges = np.arange(0, len(rtt), step)
    binned = np.stack([np.add.reduceat(column.astype(float), edges) for column in columns])
    if binned.shape[1] == 1:
        binned = np.repeat(binned, 2, axis=1) / 2
    drawn = Resamples(binned, length=max(1, round(length / step)), seed=seed, memory=True)
    return drawn, length


def _learnt(delays: Delays, order: str) -> NDArray[np.bool_]:
    """Return which probes left when at least one delay was known; all, if none ever was."""
    rtt = delays.rtt_s
    known = np.flatnonzero(~np.isnan(rtt))
    learnt = np.ones(len(rtt), dtype=np.bool_)
    if not len(known):
        return learnt
    if order == "sequence":
        learnt[: known[0] + 1] = False
    else:
        learnt = delays.sent_s >= np.min(delays.sent_s[known] + rtt[known])
    return learnt if learnt.any() else ~learnt


#: Sums that all algorithms share: probes that left with a delay known, answers, delays.
_SHARED = 3
#: Sums of each algorithm: spurious retransmissions, timers, delays of spurious retransmissions,
#: waits for lost probes.
_OWN = 4


def spurious_share(sums: Floats, algorithm: int) -> Floats:
    """Return the spurious retransmissions per answer."""
    share: Floats = sums[_SHARED + _OWN * algorithm] / sums[1]
    return share


def mean_timer(sums: Floats, algorithm: int) -> Floats:
    """Return the mean timer [s] of the probes that left after a delay was known."""
    mean: Floats = sums[_SHARED + _OWN * algorithm + 1] / sums[0]
    return mean


def efficiency(sums: Floats, algorithm: int) -> Floats:
    """Return RFC 889's efficiency: delays over the sum of delays, waits and spurious delays."""
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
    """Whether a fair coin would divide these probes so unevenly in one case of twenty (McNemar)."""
    from scipy.special import bdtr

    # Both tails of the coin's distribution are equal.
    return one == other or bool(2 * bdtr(min(one, other), one + other, 0.5) > 0.05)
