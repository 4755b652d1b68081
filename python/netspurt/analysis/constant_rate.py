"""Finds connections with a constant rate, and what round trips show about the slowest link."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from netspurt.analysis.own_queue import fills_queue
from netspurt.analysis.receive_window import window_limits
from netspurt.analysis.seen import QUEUE_RATIO, mostly_on_its_way, vantages_of
from netspurt.analysis.stopped import stopped_share
from netspurt.table import Table

#: The minimum ratio of the mean round trip to the shortest round trip, for a sender that probes the
#: path. Such a sender sends faster in some round trips, but the data does not arrive faster.
_RTT_RATIO_MIN_OF_PROBES = 1.02
#: Bounds for a sender that probes the path. `_PROBES_MIN` is the minimum variation of the octets
#: that are sent in a round trip. `_ARRIVES_MAX` is the maximum variation of the octets that arrive
#: in a round trip. `_SMOOTHER` is the maximum ratio of the variation of arriving octets to the
#: variation of sent octets.
_PROBES_MIN, _ARRIVES_MAX, _SMOOTHER = 0.05, 0.05, 0.5
#: If the delay varies by itself, the octets that arrive in a round trip vary by at least
#: `_UNEVEN_MIN`. They also vary by at least `_UNEVEN_RATIO` times the variation of the octets that
#: are sent.
_UNEVEN_MIN, _UNEVEN_RATIO = 0.1, 2.0
#: The minimum of outstanding data, in segments. With fewer segments, two things make round trips
#: longer: delayed ACKs, and the time that the link takes for a segment.
_SEGMENTS_MIN = 5
#: The largest payload of a packet on most links [octets]. With segmentation offload, a captured
#: segment may be several packets on the link.
SEGMENT_MAX = 1460
#: The excess of a round trip is the round trip minus the shortest round trip of all. The time is
#: divided into parts, and each part has a shortest round trip. A queue was empty again and again if
#: the median excess of these shortest round trips is at most `_EMPTY_MAX` times the mean excess of
#: all round trips.
_EMPTY_MAX = 0.25
#: A sender stops again and again if it stops for at least `_STOPPED_MIN` of the connection's time.
_STOPPED_MIN = 0.05
#: The minimum number of segments in a round trip. With fewer segments, a few segments more or less
#: are a large variation.
_ARRIVING_MIN = 20
#: The minimum time with a constant rate, in round trips.
_TRIPS_MIN = 8
#: If the capture point is not known, a round trip shorter than `_RTT_S_MIN` [s] may be the round
#: trip inside the receiver's own host.
_RTT_S_MIN = 1e-3


@dataclass(frozen=True)
class ConstantRate:
    """A direction whose rate was constant while its data was on its way.

    Attributes
    ----------
    key
        The number of the connection, and the direction.
    vantage
        Where the direction was captured: `sender`, `receiver`, `middle` or `unknown`.
    rate_bps, lasted_s
        The rate, in bits per second, and how long it was constant, in seconds.
    rtt_s, rtt_s_min
        The mean round trip while the rate was constant, and the shortest round trip at any time,
        in seconds.
    variations
        The variation of the octets that were sent in a round trip, and the variation of the octets
        that arrived in a round trip. A variation is a standard deviation as a share of the mean. It
        is `None` if it is not known.
    fills_queue
        True if round trips became longer because the sender filled a queue, or if it is not known
        why they became longer.
    is_long
        True if three conditions hold. The round trips were measured over the path and not inside
        the receiver's own host. The rate was constant for many round trips. Enough data was
        outstanding.
    was_idle
        True if the queue was empty again and again, and if, in addition, the sender stopped again
        and again or data arrived unevenly. Then the link at times had nothing to send.
    """

    key: tuple[int, str]
    vantage: str
    rate_bps: float
    lasted_s: float
    rtt_s: float
    rtt_s_min: float
    variations: tuple[float | None, float | None]
    fills_queue: bool
    is_long: bool
    was_idle: bool

    @property
    def is_uneven(self) -> bool:
        """Whether data arrived much less evenly than it was sent, because the delay varied."""
        sent, arrived = self.variations
        if sent is None or arrived is None:
            return False
        return arrived >= max(_UNEVEN_MIN, _UNEVEN_RATIO * sent)

    @property
    def has_queue(self) -> bool:
        """Whether longer round trips show that the sender filled the queue of a link."""
        is_longer = self.is_long and self.rtt_s >= QUEUE_RATIO * self.rtt_s_min
        return is_longer and not self.is_uneven and self.fills_queue and not self.was_idle

    @property
    def probes(self) -> bool:
        """Whether the sender sent faster in some round trips, but data did not arrive faster."""
        sent, arrived = self.variations
        if sent is None or arrived is None or not self.is_long:
            return False
        is_even = arrived <= min(_ARRIVES_MAX, _SMOOTHER * sent)
        has_queue = self.rtt_s >= _RTT_RATIO_MIN_OF_PROBES * self.rtt_s_min
        return sent >= _PROBES_MIN and is_even and has_queue


def constant_rates(tables: Mapping[str, Table]) -> list[ConstantRate]:
    """Return the directions whose rate was constant.

    A connection counts only if its data was on its way for at least half of its time, and if no
    receive window held it back.

    Parameters
    ----------
    tables
        The tables of an explained capture: `connections`, `delay_changes`, `habits`, `spent`,
        `steady`.
    """
    if not len(tables["steady"]):
        return []
    on_its_way = set(mostly_on_its_way(tables))
    on_its_way -= {one.connection for one in window_limits(tables)}
    steady = tables["steady"]
    steady = steady.select(np.isin(steady["connection"], list(on_its_way)))
    if not len(steady):
        return []
    connections = tables["connections"]
    own = connections.select(np.isin(connections["connection"], steady["connection"]))
    rows = {(row["connection"], row["direction"]): row for row in own.each()}
    keys = zip(steady["connection"].tolist(), steady["direction"].tolist(), strict=True)
    where = vantages_of(steady, tables).tolist()
    return [
        _constant_rate(one, rows[key], vantage, tables["delay_changes"])
        for key, one, vantage in zip(keys, steady.each(), where, strict=True)
    ]


def _constant_rate(
    steady: Mapping[str, Any], row: Mapping[str, Any], vantage: str, changes: Table
) -> ConstantRate:
    """Return the constant rate of a direction from its rows of `steady` and of `connections`."""
    rtt_s, least_s = (steady["rtt_ns_mean"] or 0) / 1e9, (row["rtt_ns_min"] or 0) / 1e9
    lasted_s = steady["span_ns"] / 1e9
    segment = min(row["segment_bytes_max"] or SEGMENT_MAX, SEGMENT_MAX)
    key, rate_bps = (int(steady["connection"]), steady["direction"]), steady["rate_bps"]
    outstanding = rate_bps * rtt_s / 8
    arrives_unevenly = rate_bps * least_s / 8 >= _ARRIVING_MIN * segment and (
        (steady["delivered_variation"] or 0) >= _UNEVEN_MIN
    )
    low_s, stops = steady["rtt_ns_low"] / 1e9, stopped_share(row) >= _STOPPED_MIN
    seen = vantage != "receiver" and least_s > (_RTT_S_MIN if vantage == "unknown" else 0)
    enough = outstanding >= _SEGMENTS_MIN * segment
    return ConstantRate(
        key=key,
        vantage=vantage,
        rate_bps=rate_bps,
        lasted_s=lasted_s,
        rtt_s=rtt_s,
        rtt_s_min=least_s,
        variations=(steady["sent_variation"], steady["delivered_variation"]),
        fills_queue=fills_queue(changes, key, rate_bps=rate_bps, outstanding=outstanding / segment),
        is_long=seen and enough and lasted_s >= _TRIPS_MIN * rtt_s,
        was_idle=(stops or arrives_unevenly) and low_s - least_s <= _EMPTY_MAX * (rtt_s - least_s),
    )
