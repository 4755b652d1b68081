"""Computes the share of lost probes, with an interval that counts loss events and not packets.

Losses occur in bursts. One failure of the path may cause 100 lost probes that are close together,
or a single lost probe. Each failure is one loss event. The interval assumes that loss events are
independent and rare. The number of probes lost in an event is the event's weight (Fay and Feuer
1997). If no two losses are near each other, the interval equals Garwood's interval (1936). The
share in a recording says nothing about hours that were not recorded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from netspurt.analysis.bootstrap import block_length
from netspurt.delays import Delays
from netspurt.quantities import known

#: With fewer than `FEW` loss events, the expected number of events may be half or twice the counted
#: number. `FEW` is also the minimum number of losses in an outage and in a large loss event. The
#: correlation of losses is estimated only from at least `FEW` losses.
FEW = 10


@dataclass(frozen=True)
class LossShare:
    """The share of lost probes.

    Attributes
    ----------
    value
        The number of lost probes divided by the number of probes.
    low, high
        The ends of the confidence interval.
    events
        The number of lost probes in each loss event, shape (k,). Two successive losses belong to
        one event if their distance is at most the distance over which losses are correlated.
    apart_max
        The distance over which losses are correlated, in probes; 1 means consecutive probes. For
        several recordings, the largest distance.
    outages
        The number of probes in each series of at least `FEW` consecutive losses, shape (j,).
    """

    value: float
    low: float
    high: float
    events: NDArray[np.int64]
    apart_max: int = 1
    outages: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))

    @property
    def lost(self) -> int:
        """The number of lost probes."""
        return int(self.events.sum())

    @property
    def largest(self) -> int:
        """The number of lost probes in the largest loss event."""
        return int(self.events.max(initial=0))

    @property
    def is_uncertain(self) -> bool:
        """True if there were few loss events, or if one event has more than half of the losses."""
        return len(self.events) < FEW or 2 * self.largest > self.lost

    @property
    def has_large_event(self) -> bool:
        """True if a loss event was so large that retransmissions would also be lost in it."""
        return self.largest >= FEW

    @property
    def in_outages(self) -> int:
        """The number of losses in outages."""
        return int(self.outages.sum())

    @property
    def is_mostly_outages(self) -> bool:
        """True if more than half of the losses are in outages."""
        return 2 * self.in_outages > self.lost

    @property
    def without_outages(self) -> float:
        """The share without the losses in outages, with half a loss added if no loss remains."""
        return self.without(self.in_outages, 0.5 * (self.in_outages == self.lost))

    @property
    def without_largest(self) -> float:
        """The share without the largest loss event."""
        return self.without(self.largest)

    def without(self, lost: int, added: float = 0.0) -> float:
        """Return the share if fewer or more probes had been lost.

        `lost` is the number of lost probes to remove, and `added` the number of lost probes to add.
        """
        probes = self.lost / self.value if self.lost else 1.0
        return (self.lost - lost + added) / (probes - lost + added)

    @property
    def others(self) -> list[float]:
        """Other possible shares: the interval's ends, and the shares without large losses.

        A share without large losses is `without_largest` if there is a large event, and
        `without_outages` if most losses are in outages. A share of zero is left out.
        """
        shares = [self.low, self.high]
        shares += [self.without_largest] if self.has_large_event else []
        shares += [self.without_outages] if self.is_mostly_outages else []
        return [share for share in dict.fromkeys(shares) if share > 0]

    def data(self) -> dict[str, float | int | None]:
        """Return the figures as a dictionary, for example for JSON."""
        return {
            "value": known(self.value),
            "low": known(self.low),
            "high": known(self.high),
            "events": len(self.events),
            "largest_event": self.largest,
            "in_outages": self.in_outages,
        }


#: If the losses of a recording are not known, its notes contain one of these texts. The second text
#: is about the numbered replies of a recording in which other replies have no numbers.
_WITHOUT_LOSSES = ("losses are not recorded", "losses between them cannot be seen")


def losses_recorded(delays: Delays) -> bool:
    """Return whether a recording shows losses. Captures of TCP and logs of QUIC show none.

    Examples
    --------
    >>> losses_recorded(Delays.of([0.1, 0.2]))
    True
    """
    told = " ".join(delays.notes)
    return delays.lost > 0 or not any(words in told for words in _WITHOUT_LOSSES)


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
    >>> share.value, [round(end, 4) for end in (share.low, share.high)], share.events.tolist()
    (0.1, [0.0025, 0.5572], [100])
    """
    from scipy.special import gammaincinv

    probes = sum(len(lost) for lost in recordings)
    none = np.zeros(0, np.int64)
    apart = [_apart_max(lost) for lost in recordings]
    each = zip(recordings, apart, strict=True)
    events = np.concatenate([none, *(_runs(lost, distance) for lost, distance in each)])
    runs = np.concatenate([none, *(_runs(lost, 1) for lost in recordings)])
    apart_max, outages = max(apart, default=1), runs[runs >= FEW]
    if probes == 0:
        unknown = float("nan")
        return LossShare(unknown, unknown, unknown, events, apart_max, outages)
    tail = (1 - level) / 2
    total, squares = float(events.sum()), float(np.sum(events.astype(float) ** 2))
    largest = float(events.max(initial=1))
    low = squares / total * float(gammaincinv(total**2 / squares, tail)) if total else 0.0
    # The upper end allows for another loss event that is as large as the largest.
    total, squares = total + largest, squares + largest**2
    high = squares / total * float(gammaincinv(total**2 / squares, 1 - tail))
    value, low, high = float(events.sum()) / probes, low / probes, min(high / probes, 1.0)
    return LossShare(value, low, high, events, apart_max, outages)


def _apart_max(lost: NDArray[np.bool_]) -> int:
    """Return the largest distance of two successive losses of one loss event, in probes."""
    # The correlation of a few losses cannot be estimated.
    return block_length(lost.astype(float)) if np.count_nonzero(lost) >= FEW else 1


def _runs(lost: NDArray[np.bool_], apart_max: int) -> NDArray[np.int64]:
    """Return the number of losses in each series of losses.

    Successive losses of a series are at most `apart_max` probes apart.
    """
    places = np.flatnonzero(lost)
    if not len(places):
        return np.zeros(0, np.int64)
    ends = np.flatnonzero(np.diff(places) > apart_max)
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
    """Return a share in percent, with two digits; with three if it is nearly 100 %.

    Examples
    --------
    >>> percent(0.0123), percent(1.0)
    ('1.2 %', '100 %')
    """
    return f"{100 * share:.{2 if share < 0.995 else 3}g} %"


def share_words(delays: Delays) -> list[str]:
    """Return a sentence on the share of lost probes, or no sentence if no probe was lost.

    Examples
    --------
    >>> (told,) = share_words(Delays.of([0.1] * 40 + [None] * 20 + [0.1] * 40))
    >>> told.partition(" (losses")[0]
    'share of losses: 0.51 to 100 % (95 %), counting one loss event'
    """
    losses = loss_share([np.isnan(delays.rtt_s)])
    if not losses.lost:
        return []
    sentence = f"share of losses: {percents(losses)} (95 %)"
    if losses.largest > 1:
        number = len(losses.events)
        events = "one loss event" if number == 1 else f"{number:,} loss events"
        apart = losses.apart_max
        near = f"losses at most {apart:,} probes apart" if apart > 1 else "consecutive losses"
        sentence += f", counting {events} ({near} are one event) and not {losses.lost:,} losses"
    return [sentence]
