"""Traces of the link emulator Mahimahi: the milliseconds at which a link delivers 1500 octets.

Such a millisecond is called an *opportunity*. Each line of a trace has one opportunity, as an
integer. The lines are in ascending order. After its last line, the trace repeats (Netravali and
others 2015, and mm-link's manual page).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from netspurt.timelines.timeline import POINTS_MAX, Timeline, Way

#: The octets that a link delivers at an opportunity.
OPPORTUNITY_BYTES = 1500

_NS_IN_MS = 1_000_000

Floats = NDArray[np.float64]


def mahimahi(way: Way, length_ns: int | None = None) -> list[int]:
    """Return the lines of a trace, in milliseconds.

    Opportunities are rounded up to whole milliseconds. A rate gives an opportunity whenever it has
    offered another 1500 octets. An outage has no opportunities. If the trace ends with an outage, a
    last line at the end of the outage is added. Without this line, the trace would repeat too
    early. A trace has neither delays nor losses.

    Parameters
    ----------
    way
        The values of a direction of a link.
    length_ns
        For a rate: the length of the trace [ns]. After this time, the trace begins again. A series
        of opportunities has its own length, so it needs no `length_ns`.

    Raises
    ------
    ValueError
        If the direction has neither a rate nor opportunities, or has opportunities and outages.
        Also if a rate comes without `length_ns`, if less than 1500 octets are delivered, or if the
        trace would be too long.
    """
    if way.opportunities:
        if way.outages:
            raise ValueError(
                "a link with opportunities and outages cannot become a trace of Mahimahi, because "
                "a trace repeats and outages do not"
            )
        return [-(-at // _NS_IN_MS) for at in way.opportunities]
    if not way.rate:
        raise ValueError("there is no rate, and a trace of Mahimahi cannot be made from delays")
    if length_ns is None:
        raise ValueError("add --for TIME: a rate has no end, and a trace repeats after that time")
    t, bits = _offered(way, length_ns)
    count = int(bits[-1] / (8 * OPPORTUNITY_BYTES) * (1 + 1e-12))
    if count == 0:
        raise ValueError(
            f"less than {OPPORTUNITY_BYTES} octets are delivered in {length_ns / 1e9:g} s: set a "
            "longer --for"
        )
    if count > POINTS_MAX:
        raise ValueError(
            f"the trace has {count:,} lines, and at most {POINTS_MAX:,} are allowed: shorten --for"
        )
    wanted_bits = 8.0 * OPPORTUNITY_BYTES * np.arange(1, count + 1) * (1 - 1e-12)
    after = np.searchsorted(bits, wanted_bits)
    fraction = (wanted_bits - bits[after - 1]) / (bits[after] - bits[after - 1])
    at = t[after - 1] + fraction * (t[after] - t[after - 1])
    lines: list[int] = np.ceil(at / _NS_IN_MS - 1e-6).astype(np.int64).tolist()
    if silence_at_end(way, length_ns):
        lines.append(-(-length_ns // _NS_IN_MS))
    return lines


def silence_at_end(way: Way, length_ns: int) -> int:
    """Return the length of the outage at the end of a trace [ns], or 0 without such an outage."""
    t, bits = _offered(way, length_ns)
    return int(t[-1] - t[np.searchsorted(bits, bits[-1])])


def _offered(way: Way, length_ns: int) -> tuple[Floats, Floats]:
    """Return instants [ns], and the bits that a rate has offered up to each of them."""
    starts, rates = (np.array(column, dtype=np.float64) for column in zip(*way.rate, strict=True))
    edges = [0.0, float(length_ns), *starts]
    for outage in way.outages:
        edges += [outage.at_ns, outage.at_ns + outage.dead_ns]
    t = np.unique(np.clip(edges, 0, length_ns))
    begin = t[:-1]
    rate = rates[np.maximum(np.searchsorted(starts, begin, side="right") - 1, 0)]
    for outage in way.outages:
        rate[(begin >= outage.at_ns) & (begin < outage.at_ns + outage.dead_ns)] = 0
    bits = np.concatenate([[0.0], np.cumsum(rate * np.diff(t) / 1e9)])
    return t, bits


def delivered(name: str, t_ns: ArrayLike, octets: ArrayLike) -> Timeline:
    """Return a timeline of the opportunities at which a link delivered the given packets.

    The timeline begins at the first packet. An opportunity is the instant at which another 1500
    octets have passed. If the link waited for packets, it had more opportunities than they show.

    Parameters
    ----------
    name
        The capture or place in which the packets were seen.
    t_ns, octets
        When the packets passed [ns], ascending, and their octets on the wire, shape (n,).

    Raises
    ------
    ValueError
        If fewer than 1500 octets passed after the first packet, or if there would be too many
        opportunities.
    """
    t, sizes = np.asarray(t_ns, dtype=np.int64), np.asarray(octets, dtype=np.int64)
    passed = np.cumsum(sizes[1:])
    count = int(passed[-1]) // OPPORTUNITY_BYTES if len(passed) else 0
    if count == 0:
        raise ValueError(
            f"{name}: less than {OPPORTUNITY_BYTES} octets passed after the first packet"
        )
    if count > POINTS_MAX:
        raise ValueError(
            f"{name} has {count:,} opportunities, and at most {POINTS_MAX:,} are allowed"
        )
    at = t[1:][np.searchsorted(passed, OPPORTUNITY_BYTES * np.arange(1, count + 1))] - t[0]
    note = "the file assumes that the link could not deliver more than the packets that passed"
    return Timeline(name, Way(opportunities=at.tolist()), notes=[note])
