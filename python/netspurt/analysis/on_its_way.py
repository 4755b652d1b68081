"""Says what the data on its way waited for, as far as the capture shows this."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from netspurt.analysis.ceiling import ceilings
from netspurt.analysis.full_link import full_links
from netspurt.analysis.held import held_segments
from netspurt.analysis.long_trips import long_trips
from netspurt.analysis.loss_rate import loss_limits
from netspurt.analysis.nagle import short_segments
from netspurt.analysis.paced import paced
from netspurt.analysis.seen import busiest_rows, is_beside, with_both_directions
from netspurt.analysis.spent import WORDS
from netspurt.analysis.stopped import all_stopped
from netspurt.table import Table

#: The name of the part of the time in which data was on its way (`netspurt.analysis.spent`).
_PART = "congestion_window"
#: Words for the part of the time in which data was on its way: a text for each of six reasons, and
#: a text for an unknown reason.
_LOSSES = "data on its way (the congestion window, which losses kept small)"
_LINK = "data on its way (most likely the slowest link was full)"
_SENDER = (
    "data on its way (the application, the pacing, the congestion window or the send buffer of the "
    "sender)"
)
_OWN = (
    "data on its way (a limit of the sender: its send buffer, congestion window, pacing or "
    "application)"
)
_SHORT = "data on its way (short segments waited for the ACK of the segment before)"
_LONG = "data on its way (round trips were long: a queue, or a delay that varied)"
_HIDDEN = "data on its way (only a capture beside the sender shows what it waited for)"


def words(tables: Mapping[str, Table], connection: int | None = None) -> dict[str, str]:
    """Return words for each part of the time of connections.

    One part is the time in which data was on its way. The words for this part name a reason if more
    than half of this time is from connections with this reason.

    Parameters
    ----------
    tables
        The tables of an explained capture.
    connection
        The number of the connection. `None` means all connections.
    """
    spent = with_both_directions(tables)
    spent = spent if connection is None else spent.where(connection=connection)
    part = spent.seconds(f"{_PART}_ns")
    for limited, told in _reasons(tables):
        own = np.isin(spent["connection"], limited)
        if limited and 2 * float(part[own].sum()) > float(part.sum()):
            return {**WORDS, _PART: told}
    own = np.isin(spent["connection"], _beside_senders(tables))
    if 2 * float(part[own].sum()) < float(part.sum()):
        return {**WORDS, _PART: _HIDDEN}
    return dict(WORDS)


def _reasons(tables: Mapping[str, Table]) -> Iterator[tuple[list[int], str]]:
    """Yield the connections with each reason, and the words for it: the surest reason first."""
    short = [one.connection for one in short_segments(tables)]
    yield [*short, *(one.connection for one in held_segments(tables))], _SHORT
    yield [one.connection for one in full_links(tables)], _LINK
    # Beside a receiver, it is not certain that losses limited the rate.
    yield [one.connection for one in loss_limits(tables) if one.rtt_seen], _LOSSES
    stopped = all_stopped(tables)
    at_sender = [one.connection for one in stopped if not one.for_buffer]
    yield [*at_sender, *(one.connection for one in paced(tables))], _SENDER
    own_limit = [one.connection for one in stopped if one.for_buffer]
    yield [*own_limit, *(one.connection for one in ceilings(tables))], _OWN
    yield [one.connection for one in long_trips(tables)], _LONG


def _beside_senders(tables: Mapping[str, Table]) -> NDArray[np.uint64]:
    """Return the connections that were captured beside the sender of most of their data."""
    most = busiest_rows(tables["connections"])
    found: NDArray[np.uint64] = most["connection"][is_beside("sender", most, tables)]
    return found
