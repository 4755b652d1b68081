"""Finds connections that filled the slowest link of their path, as far as a capture shows this.

A connection fills a link if its rate does not grow although it sends more: the additional data only
waits in the queue before the link. So a connection counts if its rate was about constant for a long
time, and if the capture also shows one of three facts:

* The round trips of this time were longer than the shortest round trip, so there was a queue. A
  full link sends its packets evenly. If data arrived much less evenly than it was sent, the delay
  of the path varied by itself, and longer round trips do not prove a queue. They also do not prove
  a queue if the delay of the path grew while the sender did not send more.
* The sender sent faster in some round trips, but the data did not arrive faster. Senders that keep
  queues short, such as BBR, probe the path in this way.
* The connection lost data again and again, but its data arrived at the same rate in all round
  trips. Losses that limit a rate also make it vary. This rate did not vary, so the queue of the
  link dropped the data.

One other case looks like a full link: the sender paces its data, and other traffic fills a queue on
the path.

A link may also be full although losses make the rate vary. The round trips before the losses then
show that the queue was full. If a queue marks the data as congested, the link is also full, whether
the rate is constant or not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from netspurt.analysis.constant_rate import ConstantRate, constant_rates
from netspurt.analysis.loss_rate import LossLimit, losses_at_a_constant_rate
from netspurt.analysis.marked import ADVICE, MarkedLink, marked_links
from netspurt.analysis.overflow import Overflow, overflows
from netspurt.table import Table
from netspurt.wording import counted, duration, rate


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
        The mean round trip in this time, and the shortest round trip of all, in seconds. Each ACK
        gives the round trip of the newest segment that it covers. Both are `None` if the losses
        show that the link was full.
    sent_variation, delivered_variation
        The variation of the octets that were sent in a round trip, and the variation of the octets
        that arrived in a round trip. A variation is a standard deviation as a share of the mean.
        `None` if other facts show that the link was full.
    losses
        How often data was lost; losses within one round trip count once. `None` if other facts show
        that the link was full.
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
                f"{stayed}. The octets sent in a round trip varied by {self.sent_variation:.0%}, "
                f"but the octets that arrived varied by only {self.delivered_variation:.0%}: data "
                "that was sent faster did not arrive faster. So most likely the slowest link of "
                f"the path was full. {ADVICE}"
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


def _by_round_trips(one: ConstantRate) -> FullLink | None:
    """Return a direction that filled a link, if its round trips show this."""
    full = FullLink(one.key[0], one.rate_bps, one.lasted_s, one.rtt_s, one.rtt_s_min)
    if one.has_queue:
        return full
    sent, arrived = one.variations
    return replace(full, sent_variation=sent, delivered_variation=arrived) if one.probes else None


def _by_losses(one: ConstantRate, losses: LossLimit | None) -> FullLink | None:
    """Return a direction that filled a link, if it lost data and its rate was constant."""
    if losses is None:
        return None
    return FullLink(one.key[0], one.rate_bps, one.lasted_s, losses=losses.cuts)
