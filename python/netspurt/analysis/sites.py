"""Computes statistics of many connections to web sites: distributions, idle times, handshakes.

They answer the questions of a study of nine web sites: Tarr and Ghita 2005, here `sfr2005`.
Most functions take `Connections`. A value that a source does not have is NaN. Functions leave out
the connections without a value that they need.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import ArrayLike, NDArray

from netspurt.analysis.bootstrap import Interval, Resamples
from netspurt.analysis.ranks import rank_sum_chance, ranks
from netspurt.wording import unknown_name

Floats = NDArray[np.float64]

#: A silence of more than `TIMEOUT_S` seconds is taken for a timeout (sfr2005 §4.2).
TIMEOUT_S = 0.5
#: The quantile of the normal distribution at 97.5 %.
_NORMAL_95 = 1.959964
#: The minimum number of pairs for a rank correlation.
_FEWEST = 8


@dataclass(frozen=True)
class Connections:
    """Connections, as arrays of shape (n,). Values that are not known are NaN.

    The far end of a connection is the site. The near end is the host that fetches pages from it.

    Attributes
    ----------
    site
        The name of the far end.
    began_s
        When each connection began, in seconds from an instant that is the same for all of them.
    throughput_bps
        The octets of data that the connection carried to the near end, divided by the time from its
        first packet to its last, in bit/s.
    packets, retransmissions
        The number of packets with data that the far end sent, and how many of them were
        retransmissions.
    handshake_s, rtt_mean_s, rtt_max_s
        The round trip of the handshake, and the mean and the longest of the later round trips.
    ping_s
        The round trip of a ping at the same time.
    idle_s, idle_for
        The longest silence of the far end, and its cause as in `idle.IN_WORDS`. The cause is empty
        if it is not known.
    timeouts
        The number of timeouts of the far end. It is known only for simulations, whose senders count
        timeouts.
    """

    site: NDArray[np.str_]
    began_s: Floats
    throughput_bps: Floats
    packets: Floats
    retransmissions: Floats
    handshake_s: Floats
    rtt_mean_s: Floats
    rtt_max_s: Floats
    ping_s: Floats
    idle_s: Floats
    idle_for: NDArray[np.str_]
    timeouts: Floats

    def __post_init__(self) -> None:
        shapes = {getattr(self, one.name).shape for one in fields(self)}
        if shapes != {(len(self.site),)}:
            raise ValueError(f"the columns have the shapes {sorted(shapes)}: all must be (n,)")

    @classmethod
    def of(cls, site: ArrayLike, **columns: ArrayLike) -> Connections:
        """Return connections from some columns. The values of all other columns are not known.

        Raises
        ------
        ValueError
            If a column has an unknown name, or if the lengths of the columns differ.

        Examples
        --------
        >>> two = Connections.of(["a", "b"], handshake_s=[0.02, 0.03])
        >>> two.sites, two.ping_s.tolist()
        (['a', 'b'], [nan, nan])
        """
        names = [one.name for one in fields(cls)][1:]
        for name in columns:
            if name not in names:
                raise ValueError(unknown_name("column", name, names))
        sites = np.asarray(site, dtype=np.str_)
        texts = np.full(len(sites), "", dtype=np.str_)
        given = {
            name: np.asarray(columns.get(name, texts), dtype=np.str_)
            if name == "idle_for"
            else np.asarray(columns.get(name, np.full(len(sites), np.nan)), dtype=float)
            for name in names
        }
        return cls(sites, **given)  # type: ignore[arg-type]

    def __len__(self) -> int:
        """Return the number of connections."""
        return len(self.site)

    @property
    def sites(self) -> list[str]:
        """The names of the sites, in the order in which they occur."""
        return list(dict.fromkeys(self.site.tolist()))

    def select(self, keep: NDArray[np.bool_]) -> Connections:
        """Return the connections for which the array `keep` is true.

        The array has one value for each connection.
        """
        return Connections(*(getattr(self, one.name)[keep] for one in fields(self)))

    def at(self, site: str) -> Connections:
        """Return the connections of a site."""
        return self.select(self.site == site)

    def without(self, sites: Collection[str]) -> Connections:
        """Return the connections to all sites except these.

        Raises
        ------
        ValueError
            If there is no connection to one of these sites.
        """
        for site in sites:
            if site not in self.sites:
                raise ValueError(unknown_name("site", site, self.sites))
        return self.select(~np.isin(self.site, list(sites)))

    def in_order(self) -> Connections:
        """Return the connections in the order in which they began."""
        order = np.argsort(self.began_s, kind="stable")
        return Connections(*(getattr(self, one.name)[order] for one in fields(self)))


def joined(parts: Sequence[Connections]) -> Connections:
    """Return the connections of several sources, one after the other."""
    names = [one.name for one in fields(Connections)]
    return Connections(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))


@dataclass(frozen=True)
class Cdf:
    """An empirical distribution.

    Attributes
    ----------
    value
        The values in order, shape (n,).
    share
        For each value, its number in the order, from 1, divided by the number of values. The last
        share is 1.
    """

    value: Floats
    share: Floats

    @classmethod
    def of(cls, values: ArrayLike) -> Cdf:
        """Return the distribution of values; NaN counts as no value.

        Examples
        --------
        >>> told = Cdf.of([3.0, 1.0, np.nan, 2.0, 2.0])
        >>> told.value.tolist(), told.share.tolist()
        ([1.0, 2.0, 2.0, 3.0], [0.25, 0.5, 0.75, 1.0])
        """
        known = np.asarray(values, dtype=float)
        known = np.sort(known[np.isfinite(known)])
        return cls(known, np.arange(1, len(known) + 1) / max(len(known), 1))

    def quantile(self, share: float) -> float:
        """Return the smallest value that is at least as large as `share` of all values."""
        if not len(self.value):
            return np.nan
        place = int(np.ceil(share * len(self.value) - 1e-9)) - 1
        return float(self.value[max(place, 0)])


@dataclass(frozen=True)
class Share:
    """A share of some cases, with its interval at 95 % (Wilson 1927).

    Attributes
    ----------
    hits, count
        The number of cases that belong to the share, and the number of all cases.
    """

    hits: int
    count: int

    @property
    def value(self) -> float:
        """The share, or NaN if there are no cases."""
        return self.hits / self.count if self.count else np.nan

    @property
    def between(self) -> tuple[float, float]:
        """The ends of the interval. The interval assumes that the cases are independent."""
        if not self.count:
            return np.nan, np.nan
        weight = _NORMAL_95**2 / self.count
        middle = (self.value + weight / 2) / (1 + weight)
        reach = np.sqrt(weight * self.value * (1 - self.value) + weight**2 / 4) / (1 + weight)
        return max(middle - float(reach), 0.0), min(middle + float(reach), 1.0)

    @classmethod
    def of(cls, holds: NDArray[np.bool_]) -> Share:
        """Return the share of the values that are true."""
        return cls(int(np.sum(holds)), len(holds))


@dataclass(frozen=True)
class HandshakeRatio:
    """How well the handshake's round trip predicts the later round trips (sfr2005 §4.3).

    Attributes
    ----------
    mean, longest
        The mean and the longest later round trip, divided by the round trip of the handshake, shape
        (n,) each. Connections without a handshake or without later round trips are left out.
    near
        The share of connections whose mean round trip differs from the handshake's by at most a
        tenth (by default).
    below
        The share of connections whose longest round trip is at most three times the handshake's
        (by default).
    """

    mean: Floats
    longest: Floats
    near: Share
    below: Share


def handshake_ratio(
    told: Connections, *, within: float = 0.1, times: float = 3.0
) -> HandshakeRatio:
    """Return the ratios of connections' later round trips to their handshakes' round trips.

    A mean counts as near if its ratio differs from 1 by at most the share `within`. A longest round
    trip counts as below if its ratio is at most the number `times`.

    Examples
    --------
    >>> three = Connections.of(
    ...     ["a"] * 3, handshake_s=[0.02] * 3, rtt_mean_s=[0.021, 0.022, 0.05],
    ...     rtt_max_s=[0.03, 0.06, 0.08],
    ... )
    >>> ratio = handshake_ratio(three)
    >>> ratio.near.hits, ratio.below.hits
    (2, 2)
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        mean, longest = told.rtt_mean_s / told.handshake_s, told.rtt_max_s / told.handshake_s
    known = np.isfinite(mean) & np.isfinite(longest)
    mean, longest = mean[known], longest[known]
    # Ratios are not exact in binary. With the tolerance, a ratio that equals the bound counts.
    near = np.abs(mean - 1) <= within + 1e-9
    return HandshakeRatio(mean, longest, Share.of(near), Share.of(longest <= times + 1e-9))


@dataclass(frozen=True)
class PingRatio:
    """The ratio of TCP's round trip to ping's (sfr2005 §3).

    Attributes
    ----------
    ratio
        The ratio for each connection that has both round trips, shape (n,).
    between
        The share of ratios from 1.0 to 1.1.
    """

    ratio: Floats
    between: Share

    @property
    def median(self) -> float:
        """The median ratio, or NaN if there is no ratio."""
        return float(np.median(self.ratio)) if len(self.ratio) else np.nan


def ping_ratio(told: Connections) -> PingRatio:
    """Return the ratio of the handshake's round trip to a ping's round trip at the same time."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = told.handshake_s / told.ping_s
    ratio = ratio[np.isfinite(ratio)]
    return PingRatio(ratio, Share.of((ratio >= 1.0) & (ratio <= 1.1)))


def rank_correlation(x: ArrayLike, y: ArrayLike, *, seed: int = 1) -> Interval:
    """Return Spearman's correlation of ranks with its interval at 95 %.

    The interval comes from the block bootstrap, because neighbours in time may be correlated. The
    pairs must be in the order of time.

    Parameters
    ----------
    x, y
        Values, shape (n,) each. A pair with a NaN is left out.
    seed
        The seed of the resamples. The same seed gives the same interval.

    Raises
    ------
    ValueError
        If there are fewer than eight pairs.

    Examples
    --------
    >>> told = rank_correlation(np.arange(50), -np.arange(50) ** 3)
    >>> round(told.value, 6), told.high <= -0.9
    (-1.0, True)
    """
    a, b = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    known = np.isfinite(a) & np.isfinite(b)
    if known.sum() < _FEWEST:
        raise ValueError(f"a correlation of ranks needs {_FEWEST} pairs, not {known.sum()}")
    a, b = (ranks(one[known]) - (known.sum() + 1) / 2 for one in (a, b))

    def correlation(sums: Floats) -> Floats:
        one, two, ones, twos, both, n = sums
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(
                (n * both - one * two) / np.sqrt((n * ones - one**2) * (n * twos - two**2))
            )

    found = Resamples(np.stack([a, b, a * a, b * b, a * b]), seed=seed).interval(correlation)
    low, high = max(found.low, -1.0), min(found.high, 1.0)
    return Interval(found.value, low, high, found.level, found.block)


@dataclass(frozen=True)
class TimeoutLabels:
    """Silences that were labelled as timeouts, compared with the sender's own count.

    Attributes
    ----------
    both, neither
        The number of connections with a timeout and a label, and the number with neither.
    missed, invented
        The number of connections with a timeout but no label, and the number with a label but no
        timeout.
    """

    both: int
    neither: int
    missed: int
    invented: int

    @property
    def right(self) -> Share:
        """The share of connections with the right label."""
        hits = self.both + self.neither
        return Share(hits, hits + self.missed + self.invented)


def label_timeouts(told: Connections, *, threshold_s: float = TIMEOUT_S) -> TimeoutLabels:
    """Label a timeout in each connection whose longest silence exceeds a threshold.

    A silence gets no label if the far end worked on a request. It also gets no label if the far end
    waited for the near end, for the receive window or for a round trip. A silence in which the far
    end seemed to have nothing to send may get a label. The reason is that the loss of the last
    packets looks the same beside the receiver.
    """
    known = np.isfinite(told.idle_s) & np.isfinite(told.timeouts)
    loss = np.isin(told.idle_for, ["", "loss", "application"])
    labelled = ((told.idle_s > threshold_s) & loss)[known]
    had = (told.timeouts > 0)[known]
    pairs = ((labelled, had), (~labelled, ~had), (~labelled, had), (labelled, ~had))
    return TimeoutLabels(*(int(np.sum(one & other)) for one, other in pairs))


@dataclass(frozen=True)
class ConnectionRanges:
    """Some connections of a site: how many, and the range of their packets and throughput.

    Attributes
    ----------
    count
        The number of connections.
    packets
        The least, the median and the greatest number of packets.
    throughput_bps
        The 5th, 50th and 95th percentiles of their throughput.
    """

    count: int
    packets: tuple[float, float, float]
    throughput_bps: tuple[float, float, float]

    @classmethod
    def of(cls, told: Connections) -> ConnectionRanges:
        """Return the number and the ranges of some connections."""
        packets, rates = (one[np.isfinite(one)] for one in (told.packets, told.throughput_bps))
        none = (np.nan,) * 3
        return cls(
            len(told),
            tuple(np.quantile(packets, (0, 0.5, 1)).tolist()) if len(packets) else none,
            tuple(np.quantile(rates, (0.05, 0.5, 0.95)).tolist()) if len(rates) else none,
        )


@dataclass(frozen=True)
class Split:
    """Connections with retransmissions and without (sfr2005 §4.2).

    Attributes
    ----------
    clean, repaired
        The connections without and with retransmissions. The range of packets of `clean` shows the
        size of the page. In `repaired`, the packets that were sent again also count.
    chance
        The probability that two groups with the same distribution of throughputs differ at least as
        much as these two groups (Mann and Whitney 1947). It is NaN if one of the groups is empty.
    """

    clean: ConnectionRanges
    repaired: ConnectionRanges
    chance: float


def split_by_retransmissions(told: Connections) -> Split:
    """Return connections without and with retransmissions.

    Connections whose number of retransmissions is not known are left out.
    """
    clean, repaired = told.select(told.retransmissions == 0), told.select(told.retransmissions > 0)
    one, two = (part.throughput_bps for part in (clean, repaired))
    one, two = one[np.isfinite(one)], two[np.isfinite(two)]
    return Split(
        ConnectionRanges.of(clean), ConnectionRanges.of(repaired), rank_sum_chance(one, two)
    )
