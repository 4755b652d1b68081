"""Connections that filled the slowest link of their path, as far as a capture shows this.

A connection fills a link if its rate does not grow although it sends more: the additional data only
waits in the queue before the link. So the rate must have been about constant for a long time. The
capture must also show one of three facts:

* The round trips of this time were longer than the shortest round trip, so there was a queue. A
  full link sends its packets evenly. If data arrived much less evenly than it was sent, the delay
  of the path varied by itself, and longer round trips do not prove a queue. They also do not prove
  a queue if the delay of the path grew while the sender did not send more.
* The sender sent faster in some round trips, but the data did not arrive faster. Senders that keep
  queues short, such as BBR, probe the path in this way.
* The connection lost data again and again, but its data arrived at the same rate in all round
  trips. Losses that limit a rate make it vary, so the queue of the link dropped the data.

A connection whose sender paces itself looks the same in a capture if other traffic fills a queue on
its path.

A link may also be full although losses make the rate vary. The round trips before the losses then
show that the queue was full. If a queue marks the data as congested, the link is also full, whether
the rate is constant or not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from netspurt.analysis.loss_rate import LossLimit, losses_at_a_constant_rate
from netspurt.analysis.marked import ADVICE, MarkedLink, marked_links
from netspurt.analysis.overflow import Overflow, overflows
from netspurt.analysis.own_queue import fills_queue
from netspurt.analysis.receive_window import window_limits
from netspurt.analysis.seen import QUEUE_RATIO, mostly_on_its_way, vantages
from netspurt.table import Table
from netspurt.wording import counted, duration, rate

#: The minimum ratio of the mean round trip to the shortest round trip, if the sender sent faster in
#: some round trips and the data did not arrive faster.
_RTT_RATIO_MIN_OF_PROBES = 1.02
#: Bounds for a sender that probes the path. `_PROBES_MIN` is the minimum variation of the octets
#: that are sent in a round trip. `_ARRIVES_MAX` is the maximum variation of the octets that arrive
#: in a round trip. `_SMOOTHER` is the maximum ratio of the second variation to the first.
_PROBES_MIN, _ARRIVES_MAX, _SMOOTHER = 0.05, 0.05, 0.5
#: If the delay varies by itself, the octets that arrive in a round trip vary by at least the first
#: number, and by at least the second number times the variation of the octets that are sent.
_UNEVEN_MIN, _UNEVEN_RATIO = 0.1, 2.0
#: The minimum of outstanding data, in segments: with fewer segments, delayed ACKs make round trips
#: longer, and so does the time that the link takes for a segment.
_SEGMENTS_MIN = 5
#: The largest payload of a packet on most links [octets]. A captured segment may hold several
#: packets.
_SEGMENT_MAX = 1460
#: The minimum time with a constant rate, in round trips.
_TRIPS_MIN = 8
#: If the capture point is not known, a round trip shorter than this [s] may be the round trip
#: inside the receiver's own host.
_RTT_S_MIN = 1e-3


@dataclass(frozen=True)
class FullLink:
    """A direction that filled a link; its rate was constant.

    Attributes
    ----------
    connection
        The number of the connection.
    rate_bps
        The rate at which data arrived, in bits per second.
    lasted_s
        How long the rate was constant, in seconds.
    rtt_s, rtt_s_min
        The mean round trip in this time, without the receiver's delays of ACKs, and the shortest
        round trip of all, in seconds. `None` if the losses show that the link was full.
    sent_variation, delivered_variation
        How much the octets that were sent in a round trip, and the octets that arrived, differ from
        their means, as a share of the mean. `None` if other facts show that the link was full.
    losses
        How often data was lost. `None` if other facts show that the link was full.
    """

    connection: int
    rate_bps: float
    lasted_s: float
    rtt_s: float | None = None
    rtt_s_min: float | None = None
    sent_variation: float | None = None
    delivered_variation: float | None = None
    losses: int | None = None

    def sentence(self, who: str) -> str:
        """Return sentences on what limited the connection `who`, and what helps."""
        stayed = (
            f"The rate of {who} stayed at {rate(self.rate_bps)} (within a tenth) for "
            f"{duration(self.lasted_s)}"
        )
        if self.losses is not None:
            return (
                f"{stayed}, although data was lost {counted(self.losses, 'time')}. Losses that "
                "limit a rate make it vary. So most likely the slowest link of the path was full, "
                f"and its queue dropped the data. {ADVICE}"
            )
        if self.sent_variation is not None and self.delivered_variation is not None:
            return (
                f"{stayed}. What was sent in a round trip varied by {self.sent_variation:.0%}, "
                f"what arrived only by {self.delivered_variation:.0%}: data that was sent faster "
                "did not arrive faster. So most likely the slowest link of the path was full. "
                f"{ADVICE}"
            )
        return (
            f"{stayed}, while round trips took {duration(self.rtt_s or 0)} on average; "
            f"the shortest took {duration(self.rtt_s_min or 0)}. So data waited in a queue, and "
            f"most likely the slowest link of the path was full. {ADVICE}"
        )


def full_links(tables: Mapping[str, Table]) -> list[FullLink | MarkedLink | Overflow]:
    """Return the directions that filled a link. The longest `lasted_s` comes first.

    Parameters
    ----------
    tables
        The tables of an explained capture: `connections`, `delay_changes`, `habits`,
        `retransmissions`, `spent`, `steady`.
    """
    found: dict[tuple[int, str], FullLink | MarkedLink | Overflow] = {
        **marked_links(tables),
        **overflows(tables),
    }
    if constant := constant_rates(tables):
        lost = {(one.connection, one.direction): one for one in losses_at_a_constant_rate(tables)}
        each = {
            one.key: _by_round_trips(one) or _by_losses(one, lost.get(one.key)) for one in constant
        }
        found |= {key: full for key, full in each.items() if full}
    return sorted(found.values(), key=lambda one: -one.lasted_s)


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
        The mean round trip in this time, and the shortest round trip of all, in seconds.
    variations
        How much the octets that were sent in a round trip, and the octets that arrived, differ from
        their means, as a share of the mean. A number is `None` if it is not known.
    fills_queue
        True if the sender sent more when round trips became longer, or if this is not known.
    is_long
        True if three facts are known: the round trips were measured over the path and not inside
        the receiver's own host, the rate was constant for many round trips, and enough data was
        outstanding.
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

    @property
    def is_uneven(self) -> bool:
        """Whether data arrived much less evenly than it was sent, because the delay varied."""
        sent, arrived = self.variations
        if sent is None or arrived is None:
            return False
        return arrived >= max(_UNEVEN_MIN, _UNEVEN_RATIO * sent)


def constant_rates(tables: Mapping[str, Table]) -> list[ConstantRate]:
    """Return the directions whose rate was constant, if no receive window held the connection back.

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
    connections, where = tables["connections"], vantages(tables)
    own = connections.select(np.isin(connections["connection"], steady["connection"]))
    rows = {(row["connection"], row["direction"]): row for row in own.records()}
    keys = zip(steady["connection"].tolist(), steady["direction"].tolist(), strict=True)
    return [
        _constant_rate(one, rows[key], where.get(key, "unknown"), tables["delay_changes"])
        for key, one in zip(keys, steady.records(), strict=True)
    ]


def _constant_rate(
    steady: dict[str, Any], row: dict[str, Any], vantage: str, changes: Table
) -> ConstantRate:
    """Return the constant rate of a row of `steady`, with its `row` of `connections`."""
    rtt_s, least_s = (steady["rtt_ns_mean"] or 0) / 1e9, (row["rtt_ns_min"] or 0) / 1e9
    lasted_s = steady["span_ns"] / 1e9
    segment = min(row["segment_bytes_max"] or _SEGMENT_MAX, _SEGMENT_MAX)
    key, rate_bps = (int(steady["connection"]), steady["direction"]), steady["rate_bps"]
    outstanding = rate_bps * rtt_s / 8
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
    )


def _by_round_trips(one: ConstantRate) -> FullLink | None:
    """Return a direction that filled a link, if its round trips show this."""
    if not one.is_long:
        return None
    full = FullLink(one.key[0], one.rate_bps, one.lasted_s, one.rtt_s, one.rtt_s_min)
    ratio, (sent, arrived) = one.rtt_s / one.rtt_s_min, one.variations
    if ratio >= QUEUE_RATIO and not one.is_uneven and one.fills_queue:
        return full
    if sent is None or arrived is None:
        return None
    probed = sent >= _PROBES_MIN and arrived <= min(_ARRIVES_MAX, _SMOOTHER * sent)
    if probed and ratio >= _RTT_RATIO_MIN_OF_PROBES:
        return replace(full, sent_variation=sent, delivered_variation=arrived)
    return None


def _by_losses(one: ConstantRate, losses: LossLimit | None) -> FullLink | None:
    """Return a direction that filled a link, if it lost data and its rate was constant."""
    if losses is None:
        return None
    return FullLink(one.key[0], one.rate_bps, one.lasted_s, losses=losses.cuts)
