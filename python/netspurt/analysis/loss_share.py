"""The share of lost probes, with an interval that counts outages and not packets.

Losses occur in bursts. An outage of 100 probes is one failure of the path, and so is one lost
probe. So the interval counts outages as the rare events, and the number of probes lost in an outage
is its weight (Fay and Feuer 1997). If no two losses are near each other, the interval equals
Garwood's (1936). The share in a recording says nothing about hours that were not recorded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from netspurt.analysis.bootstrap import block_length
from netspurt.delays import Delays
from netspurt.quantities import known

#: With fewer outages than this, the expected number of outages may be half or twice as large.
FEW = 10


@dataclass(frozen=True)
class LossShare:
    """The share of lost probes.

    Attributes
    ----------
    value
        The lost probes per probe.
    low, high
        The ends of the interval of 95 %.
    outages
        The number of lost probes in each outage, shape (k,). Losses belong to one outage if their
        distance is at most the distance over which losses of this recording are correlated.
    """

    value: float
    low: float
    high: float
    outages: NDArray[np.int64]

    @property
    def lost(self) -> int:
        """The number of lost probes."""
        return int(self.outages.sum())

    @property
    def longest(self) -> int:
        """The number of lost probes in the longest outage."""
        return int(self.outages.max(initial=0))

    @property
    def is_uncertain(self) -> bool:
        """True if there were few outages, or one outage has more than half of the losses."""
        return len(self.outages) < FEW or 2 * self.longest > self.lost

    @property
    def has_long_outage(self) -> bool:
        """True if an outage was so long that retransmissions would also be lost in it."""
        return self.longest >= FEW

    @property
    def without_longest(self) -> float:
        """The share without the longest outage."""
        probes = self.lost / self.value if self.lost else 1.0
        return (self.lost - self.longest) / (probes - self.longest)

    @property
    def others(self) -> list[float]:
        """Other possible shares: the ends above zero, and the share without the longest outage."""
        shares = [self.low, self.high, *([self.without_longest] if self.has_long_outage else [])]
        return [share for share in shares if share > 0]

    def data(self) -> dict[str, float | int | None]:
        """Return the figures for programs."""
        return {
            "value": known(self.value),
            "low": known(self.low),
            "high": known(self.high),
            "outages": len(self.outages),
            "longest_outage": self.longest,
        }


def loss_share(recordings: Sequence[NDArray[np.bool_]], level: float = 0.95) -> LossShare:
    """Return the share of lost probes in several recordings together.

    Parameters
    ----------
    recordings
        For each recording, true for each lost probe, in the order of sending, shape (n,).
    level
        The probability that the interval contains the true share.

    References
    ----------
    Fay and Feuer, "Confidence intervals for directly standardized rates: a method based on the
    gamma distribution", Statistics in Medicine 16 (1997), eq. 2 and 4.

    Examples
    --------
    >>> lost = np.zeros(1000, bool)
    >>> lost[500:600] = True
    >>> share = loss_share([lost])
    >>> share.value, [round(end, 4) for end in (share.low, share.high)], share.outages.tolist()
    (0.1, [0.0025, 0.5572], [100])
    """
    from scipy.special import gammaincinv

    probes = sum(len(lost) for lost in recordings)
    outages = np.concatenate([np.zeros(0, np.int64), *(_outages(lost) for lost in recordings)])
    if probes == 0:
        return LossShare(float("nan"), float("nan"), float("nan"), outages)
    tail = (1 - level) / 2
    total, squares = float(outages.sum()), float(np.sum(outages.astype(float) ** 2))
    longest = float(outages.max(initial=1))
    low = squares / total * float(gammaincinv(total**2 / squares, tail)) if total else 0.0
    # The upper end allows for another outage that is as long as the longest.
    total, squares = total + longest, squares + longest**2
    high = squares / total * float(gammaincinv(total**2 / squares, 1 - tail))
    return LossShare(float(outages.sum()) / probes, low / probes, min(high / probes, 1.0), outages)


def _outages(lost: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the number of lost probes in each outage of a recording."""
    places = np.flatnonzero(lost)
    if not len(places):
        return np.zeros(0, np.int64)
    # The correlation of a few losses cannot be estimated.
    distance_max = block_length(lost.astype(float)) if len(places) >= FEW else 1
    ends = np.flatnonzero(np.diff(places) > distance_max)
    edges = np.concatenate([[-1], ends, [len(places) - 1]])
    return np.diff(edges).astype(np.int64)


def percents(losses: LossShare) -> str:
    """Return the interval in words.

    Examples
    --------
    >>> percents(loss_share([np.zeros(1000, bool)]))
    'up to 0.37 %'
    """
    high = percent(losses.high)
    return f"{percent(losses.low)[:-2]} to {high}" if losses.low else f"up to {high}"


def percent(share: float) -> str:
    """Return a share with two digits.

    Examples
    --------
    >>> percent(0.0123), percent(1.0)
    ('1.2 %', '100 %')
    """
    return f"{100 * share:.{2 if share < 0.995 else 3}g} %"


def share_words(delays: Delays) -> list[str]:
    """Return a sentence on the share of lost probes, or no sentence if none was lost.

    Examples
    --------
    >>> (told,) = share_words(Delays.of([0.1] * 40 + [None] * 20 + [0.1] * 40))
    >>> told.partition(" (groups")[0]
    'share of losses: 0.51 to 100 % (95 %), counting one outage'
    """
    losses = loss_share([np.isnan(delays.rtt_s)])
    if not losses.lost:
        return []
    sentence = f"share of losses: {percents(losses)} (95 %)"
    if losses.longest > 1:
        number = len(losses.outages)
        outages = "one outage" if number == 1 else f"{number:,} outages"
        sentence += (
            f", counting {outages} (groups of losses that are close together count as one) and not "
            f"{losses.lost:,} losses"
        )
    return [sentence]
