"""Decides by the square-root formula whether losses limited the rate of connections.

The formula of Mathis et al. (1997) gives the rate that a sender reaches if each loss cuts its cwnd.
`loss_limits` states the formula.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import ceil, sqrt
from typing import Any

import numpy as np

from netspurt.analysis.constant_rate import constant_rates
from netspurt.analysis.directions import frequent, loss_events, lost_data
from netspurt.analysis.marked import marked_links
from netspurt.analysis.overflow import overflows
from netspurt.analysis.seen import receiver_of, round_trip, vantages_of, window_max
from netspurt.analysis.spent import whole_s
from netspurt.analysis.varied_delay import has_varied_delay
from netspurt.table import Table
from netspurt.wording import number, rate

#: The minimum number of cuts of cwnd. With fewer cuts, the formula is not reliable.
_CUTS_MIN = 5
#: Some of the parts into which `netspurt.analysis.spent` divides the time of a connection: those in
#: which the sender had data, and the receive window did not delay the data.
_SENDING = ("congestion_window", "repair", "timeout")
#: The part of the time in which the sender had data, and the receive window delayed the data.
_WINDOW = "receive_window"
#: The formula is used only if three conditions hold. The parts in `_SENDING` are at least
#: `_SHARE_MIN` of the connection's time. The direction has more than `_SHARE_MIN` of the
#: connection's data. Timeouts take less than `_SHARE_MIN` of the parts in `_SENDING`.
_SHARE_MIN = 0.5
#: The rate is about the formula's rate if the two rates differ by at most the factor
#: `_RATE_FACTOR_MAX`.
_RATE_FACTOR_MAX = 2.0
#: If the rate is more than `_MUCH_MORE` times the formula's rate, losses surely do not limit the
#: rate.
_MUCH_MORE = 4.0
#: Losses come in groups if at least `_GROUP_MIN` packets are lost for each cut of cwnd.
_GROUP_MIN = 3
#: If the octets that arrive in a round trip vary by at most `_VARIATION_MAX` of their mean, losses
#: do not limit the rate.
_VARIATION_MAX = 0.05


@dataclass(frozen=True)
class LossLimit:
    """The rate of a direction, and the rate that its losses allow.

    Attributes
    ----------
    connection, direction
        The number of the connection, and the direction of its data.
    cuts
        The number of cuts of cwnd. Losses within one round trip count once, because they cut cwnd
        once.
    packets
        The number of data packets.
    lost
        The number of retransmissions of lost data.
    rtt_s
        The mean round trip of data, in seconds. If `rtt_seen` is false, the round trip of the
        handshake.
    rtt_seen
        True if the capture shows the round trips of data. Then it is known that no long queue was
        full.
    formula_bps, had_bps
        The rate by the formula, and the rate of the connection while it had data to send, in bits
        per second.
    window_bytes
        The largest receive window. `None` if it is not known.
    is_delay_varied
        Whether round trips were long because the delay of the path varied.
    """

    connection: int
    direction: str
    cuts: int
    packets: int
    lost: int
    rtt_s: float
    rtt_seen: bool
    formula_bps: float
    had_bps: float
    window_bytes: int | None
    is_delay_varied: bool = False

    @property
    def is_near(self) -> bool:
        """Whether the rate is about the formula's rate."""
        factor = self.had_bps / self.formula_bps
        return 1 / _RATE_FACTOR_MAX <= factor <= _RATE_FACTOR_MAX

    @property
    def is_without_effect(self) -> bool:
        """Whether the rate is so much higher than the formula's that losses do not limit it."""
        return self.had_bps > _MUCH_MORE * self.formula_bps

    @property
    def window_bps(self) -> float | None:
        """The rate that the largest receive window allows in these round trips [bit/s]."""
        return None if self.window_bytes is None else 8 * self.window_bytes / self.rtt_s

    @property
    def is_window_near(self) -> bool:
        """Whether the receive window allows less than twice the rate."""
        return self.window_bps is not None and self.window_bps < 2 * self.had_bps

    def window_sentence(self) -> str:
        """Return a sentence on the rate that the window allows, if it is known and not high."""
        if self.window_bytes is None or self.window_bps is None or not self.is_window_near:
            return ""
        octets, allowed = number(self.window_bytes), rate(self.window_bps)
        return f"The receive window, {octets} octets at most, allows at most {allowed}."

    def policer_sentence(self) -> str:
        """Return a sentence on a policer, if losses came in groups and no queue was seen.

        Otherwise the result is empty. A policer drops all packets above its rate and delays none.
        """
        if not self.rtt_seen or self.is_delay_varied or self.lost < _GROUP_MIN * self.cuts:
            return ""
        return (
            f"{number(self.lost)} packets were lost, {self.lost / self.cuts:.0f} at a time on "
            "average, while round trips stayed short. A policer causes such losses: it drops the "
            "packets above its rate and delays none. If there is a policer, only its rate limits "
            "the connection. If there is none, a short queue overflowed, or the path lost packets "
            "in bursts."
        )

    def sentence(self, who: str) -> str:
        """Return the beginning of a sentence on the rate of the connection `who`."""
        may = "" if self.rtt_seen else "may have "
        return f"Losses {may}limited the rate of {who} to {rate(self.had_bps)}"


def loss_limits(tables: Mapping[str, Table]) -> list[LossLimit]:
    """Return the directions whose losses limited their rate, sorted by their data.

    The direction with the most data is first.

    The formula assumes that cwnd is halved at each cut and grows by one segment in each round trip:
    rate = segment / RTT * sqrt(3 / (2 p)), where p is the number of cuts per packet. Directions
    with another explanation are left out: a constant rate in all round trips, round trips that
    show a full link, a queue that overflowed, or marks.

    Parameters
    ----------
    tables
        The tables of an explained capture: `connections`, `delay_changes`, `habits`,
        `retransmissions`, `spent`, `steady`.

    References
    ----------
    Mathis, Semke, Mahdavi and Ott, "The Macroscopic Behavior of the TCP Congestion Avoidance
    Algorithm", 1997, equation 3.
    """
    other = _constant(tables) | overflows(tables).keys() | marked_links(tables).keys()
    other |= {one.key for one in constant_rates(tables) if one.has_queue or one.probes}
    return [one for one in _candidates(tables) if (one.connection, one.direction) not in other]


def losses_at_a_constant_rate(tables: Mapping[str, Table]) -> list[LossLimit]:
    """Return the directions with about the formula's rate, if it was constant in all round trips.

    Losses that limit a rate also make it vary. So something else limited these rates.

    Parameters
    ----------
    tables
        As for `loss_limits`.
    """
    constant = _constant(tables)
    if not constant:
        return []
    return [one for one in _candidates(tables) if (one.connection, one.direction) in constant]


def _constant(tables: Mapping[str, Table]) -> set[tuple[int, str]]:
    """Return the directions in which about equally many octets arrived in all round trips."""
    return {
        (row["connection"], row["direction"])
        for row in tables["steady"].each()
        if row["delivered_variation"] is not None and row["delivered_variation"] <= _VARIATION_MAX
    }


def _candidates(tables: Mapping[str, Table]) -> list[LossLimit]:
    """Return the directions whose rate is about the formula's rate."""
    return [one for one in _all(tables) if one.is_near]


def losses_above_formula(tables: Mapping[str, Table]) -> list[LossLimit]:
    """Return directions whose rate was much higher than the formula gives for their losses.

    Parameters
    ----------
    tables
        As for `loss_limits`.
    """
    return [one for one in _all(tables) if one.had_bps > _RATE_FACTOR_MAX * one.formula_bps]


def _all(tables: Mapping[str, Table]) -> list[LossLimit]:
    """Return the directions with enough losses for the formula."""
    often = [connection for connection, _ in frequent(tables["retransmissions"], _CUTS_MIN)]
    connections = tables["connections"]
    few = connections.select(np.isin(connections["connection"], often))
    few = few.select(few["data_packets"] > 0)
    few = few.take(np.argsort(-few["unique_bytes"].astype(np.int64), kind="stable"))
    where = vantages_of(few, tables).tolist()
    return [
        limit
        for row, vantage in zip(few.each(), where, strict=True)
        for limit in _limit(row, tables, vantage=vantage)
    ]


def _limit(
    row: Mapping[str, Any], tables: Mapping[str, Table], *, vantage: str
) -> Iterator[LossLimit]:
    connection = int(row["connection"])
    found = round_trip(row, tables["connections"], beside=vantage == "receiver")
    if found is None:
        return
    # A full queue may have caused the losses, unless the delay of the path varied by itself.
    if found.has_queue and not (
        vantage == "sender"
        and has_varied_delay(row, tables["connections"], tables["retransmissions"])
    ):
        return
    rtt_s = found.mean_s
    lost, cuts = _lost_and_cuts(tables["retransmissions"], row, rtt_s)
    both = tables["connections"].where(connection=connection)["unique_bytes"].sum()
    spent = tables["spent"].where(connection=connection)
    total = float(whole_s(spent)[0])
    sending, window_s = (
        sum(float(spent.seconds(f"{name}_ns")[0]) for name in names)
        for names in (_SENDING, [_WINDOW])
    )
    octets = row["unique_bytes"]
    if cuts < _CUTS_MIN or octets <= _SHARE_MIN * both or sending < max(_SHARE_MIN * total, 1e-9):
        return
    # The formula does not hold for timeouts.
    if float(spent.seconds("timeout_ns")[0]) >= _SHARE_MIN * sending:
        return
    packets, segment = _segments(row, tables["connections"])
    formula = 8 * segment / rtt_s * sqrt(1.5 * packets / cuts)
    # The octets were sent both in the parts `_SENDING` and in the part `_WINDOW`.
    actual = 8 * float(octets) / (sending + window_s)
    yield LossLimit(
        connection=connection,
        direction=row["direction"],
        cuts=cuts,
        packets=packets,
        lost=lost,
        rtt_s=rtt_s,
        rtt_seen=found.of_data,
        formula_bps=formula,
        had_bps=actual,
        window_bytes=window_max(row, tables["connections"]),
        is_delay_varied=found.has_queue,
    )


def _segments(row: Mapping[str, Any], connections: Table) -> tuple[int, int]:
    """Return the number of data packets of a direction, and the largest payload [octets].

    With segmentation offload, a captured packet may hold more than the receiver's MSS. Then the
    segments on the wire are computed from the MSS.
    """
    packets, segment = int(row["data_packets"]), int(row["segment_bytes_max"])
    back = receiver_of(row, connections)
    mss = int((back and back["mss_bytes"]) or segment)
    if segment <= mss:
        return packets, segment
    return max(packets, ceil(row["data_bytes"] / mss)), mss


def _lost_and_cuts(retransmissions: Table, row: Mapping[str, Any], rtt_s: float) -> tuple[int, int]:
    """Return the number of retransmissions of lost data, and the number of cuts of cwnd.

    Each loss event causes one cut.
    """
    own = retransmissions.where(connection=row["connection"], direction=row["direction"])
    # Like lost data, a lost SYN makes cwnd smaller.
    lost = lost_data(own, or_syns=True)
    return len(lost), len(loss_events(lost, rtt_s))
