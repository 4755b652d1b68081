"""Finds connections whose constant rate a capture does not explain."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from netspurt.analysis.constant_rate import ConstantRate, constant_rates
from netspurt.analysis.full_link import full_links
from netspurt.analysis.loss_rate import LossLimit, loss_limits, losses_above_formula
from netspurt.analysis.seen import QUEUE_RATIO, is_window_unknown
from netspurt.analysis.stopped import all_stopped
from netspurt.table import Table
from netspurt.wording import counted, duration, number, rate


@dataclass(frozen=True)
class Paced:
    """A direction, captured beside its sender, whose constant rate the capture does not explain.

    Attributes
    ----------
    connection
        The number of the connection.
    rate_bps, lasted_s
        The rate, in bits per second, and how long it was constant, in seconds.
    rtt_s, rtt_s_min
        The mean round trip in this time, and the shortest round trip of all, in seconds.
    is_uneven
        True if data arrived much less evenly than it was sent.
    fills_queue
        True if round trips became longer because the sender filled a queue, or if it is not known
        why they became longer.
    was_idle
        True if the slowest link at times had nothing to send.
    window_unknown
        True if the capture does not show the scale of windows, so that the receive window may have
        limited the rate.
    losses
        The losses, if the rate was higher than the rate that the formula of Mathis et al. (1997)
        gives for them. Otherwise `None`.
    """

    connection: int
    rate_bps: float
    lasted_s: float
    rtt_s: float
    rtt_s_min: float
    is_uneven: bool
    fills_queue: bool
    was_idle: bool
    window_unknown: bool
    losses: LossLimit | None

    def sentence(self, who: str) -> str:
        """Return sentences on what may have limited the connection `who`."""
        told = (
            f"The rate of {who} stayed at {rate(self.rate_bps)} (within a tenth) for "
            f"{duration(self.lasted_s)}{self._queues()}: round trips took "
            f"{duration(self.rtt_s)} on average; the shortest took {duration(self.rtt_s_min)}. "
            f"{self._open()} was held back by its application, its pacing, its congestion window "
            f"or its send buffer.{self._window()}"
        )
        return " ".join(filter(None, [told, *self._losses()]))

    def _losses(self) -> Iterator[str]:
        """Yield sentences on the losses."""
        lost = self.losses
        if lost is None:
            return
        often = f"{counted(lost.cuts, 'time')} in {counted(lost.packets, 'data packet')}"
        formula = "the formula of Mathis et al. (1997) gives"
        if lost.is_without_effect:
            yield (
                f"Losses do not explain the rate: data was lost {often}, but the rate was "
                f"{number(round(lost.had_bps / lost.formula_bps))} times the rate that {formula} "
                "for such losses. So the sender has congestion control, such as BBR, that does not "
                "slow down at each loss."
            )
        else:
            yield (
                f"Losses may have kept the congestion window small: data was lost {often}, and "
                f"{formula} {rate(lost.formula_bps)} for such losses."
            )
        yield lost.policer_sentence()

    def _window(self) -> str:
        """Return a sentence on a receive window whose scale is not known."""
        if not self.window_unknown:
            return ""
        return (
            " The receive window may be the reason, too: the capture lacks the options of a SYN, "
            "which show the scale of windows."
        )

    def _open(self) -> str:
        """Return the beginning of the sentence on what limited the rate."""
        if self.was_idle and not self.is_uneven:
            return "So the slowest link was not full all the time: the sender itself"
        return (
            "The capture does not show whether the slowest link was full, or whether the sender "
            "itself"
        )

    def _queues(self) -> str:
        """Return what the round trips show about queues."""
        if self.is_uneven:
            return (
                ". Data arrived much less evenly than it was sent, so the delay of the path varied "
                "by itself"
            )
        if self.was_idle:
            return ", and queues were empty again and again"
        if not self.fills_queue and self.rtt_s >= QUEUE_RATIO * self.rtt_s_min:
            return (
                ". Round trips changed although the sender did not send more, so the delay of the "
                "path changed by itself"
            )
        return ", and queues were short"


def paced(tables: Mapping[str, Table]) -> list[Paced]:
    """Return directions with a constant rate that nothing in the capture explains.

    The direction whose rate was constant for the longest time comes first.

    Parameters
    ----------
    tables
        The tables of an explained capture: `connections`, `delay_changes`, `habits`,
        `retransmissions`, `spent`, `steady`.
    """
    constant = [one for one in constant_rates(tables) if one.is_long and one.vantage == "sender"]
    if not constant:
        return []
    known = {one.connection for one in full_links(tables)}
    known |= {one.connection for one in loss_limits(tables)}
    known |= {one.connection for one in all_stopped(tables)}
    losses = {(one.connection, one.direction): one for one in losses_above_formula(tables)}
    connections = tables["connections"]
    found = [
        _paced(one, losses.get(one.key), connections) for one in constant if one.key[0] not in known
    ]
    return sorted(found, key=lambda one: -one.lasted_s)


def _paced(one: ConstantRate, losses: LossLimit | None, connections: Table) -> Paced:
    row = next(connections.where(connection=one.key[0], direction=one.key[1]).each())
    is_unknown = is_window_unknown(row, connections)
    return Paced(
        one.key[0],
        one.rate_bps,
        one.lasted_s,
        one.rtt_s,
        one.rtt_s_min,
        one.is_uneven,
        one.fills_queue,
        one.was_idle,
        is_unknown,
        losses,
    )
