"""Pictures from the packets at one point: outstanding data, throughput and packet density."""

from __future__ import annotations

from bisect import bisect_left, bisect_right

import numpy as np
from numpy.typing import NDArray

from netspurt.pictures.marks import Floats, Ink, Mark, Picture, Polyline, Scale
from netspurt.pictures.steps import steps
from netspurt.pictures.vantage import BESIDE, BesideReceiverError, vantage
from netspurt.pictures.view import Tables, View, are_acknowledgments, of_flows, pick
from netspurt.table import Table

Ints = NDArray[np.int64]

#: The number of packets over which densities are smoothed, and the maximum number of time steps of
#: the throughput.
_SMOOTHED = 10
_STEPS_MAX = 100


def outstanding_data(run: Tables, view: View) -> Picture:
    """Show the octets that were sent and not yet acknowledged, as seen at one point of the path.

    Octets that SACK blocks report count as outstanding, because the gap before them is open. If the
    amount changes too often, the picture shows a band from the least to the greatest amount, and
    the mean.

    Raises
    ------
    ValueError
        If there is no data, or if a capture was taken beside the receiver: there the amount depends
        on the receiver's ACKs and on missing octets, and not on the sender's cwnd.
    """
    data, _acks = both_directions(run, view)
    if vantage(run, str(data["flow"][0]), view) == "receiver":
        raise BesideReceiverError(
            f"{BESIDE} of {view.titled(str(data['flow'][0]))}, where data that the sender has "
            "outstanding is not seen"
        )
    t, octets = outstanding(run, view)
    ends, mean = np.array([t.min(), t.max()]), np.full(2, _mean_over_time(t, octets))
    marks = (
        *steps("outstanding", "blue", (t, octets), whole=view.whole),
        Polyline(label="mean over time", ink="grey", x=ends, y=mean, dashed=True, width=1.0),
    )
    return Picture(marks, Scale("outstanding data", "B", low=0.0), aside=_named(data, view))


def outstanding(run: Tables, view: View) -> tuple[Floats, Floats]:
    """Return instants [s], and the outstanding octets from each instant on.

    Packets with equal instants count in their order in the table: data that an ACK releases leaves
    after this ACK.
    """
    packets = _at_one_point(run, view)
    end = packets["seq"] + packets["len_bytes"]
    is_data = (packets["direction"] == view.sends) & (packets["len_bytes"] > 0)
    is_ack = (packets["direction"] == view.answers) & are_acknowledgments(packets)
    lowest = int(packets["seq"][is_data].min())
    highest = np.maximum.accumulate(np.where(is_data, end, lowest))
    una = np.maximum.accumulate(np.where(is_ack, packets["ack"], lowest))
    known = is_data | is_ack
    octets = np.maximum(highest - una, 0)[known].astype(np.float64)
    return packets.seconds()[known], octets


def throughput(run: Tables, view: View) -> Picture:
    """Show the rate of payload sent, and of payload sent for the first time, in equal time steps.

    A third line shows the mean rate since the start. It counts repeated payload once.
    """
    data, _acks = both_directions(run, view)
    t, size = data.seconds(), data["len_bytes"].astype(np.float64)
    first, last = float(t.min()), float(t.max())
    if last <= first:
        raise ValueError("all data was sent at one instant: there is no rate to draw")
    count = min(_STEPS_MAX, max(len(t) // _SMOOTHED, 1))
    edges = np.linspace(first, last, count + 1)
    width = edges[1] - edges[0]
    fresh = not_seen_before(data["seq"], data["len_bytes"]).astype(np.float64)
    marks: list[Mark] = []
    drawn: tuple[tuple[str, Floats, Ink], ...] = (
        ("sent", size, "red"),
        ("sent for the first time", fresh, "blue"),
    )
    for label, octets, ink in drawn:
        rate = 8 * np.histogram(t, edges, weights=octets)[0] / width
        marks.append(
            Polyline(label=label, ink=ink, x=edges, y=np.append(rate, rate[-1]), steps=True)
        )
    later = t > first
    mean = 8 * np.cumsum(fresh)[later] / (t[later] - first)
    settled = t[later] >= edges[1]
    x, y = t[later][settled], mean[settled]
    marks.append(Polyline(label="mean so far", ink="green", x=x, y=y, width=1.0))
    return Picture(tuple(marks), Scale("throughput", "bit/s", low=0.0), aside=_named(data, view))


def not_seen_before(seq: Ints, length: Ints) -> Ints:
    """Return how many octets of each segment were in no earlier segment, shape (n,).

    Away from the sender, a retransmission may bring octets that were not seen before.
    """
    # `gaps` has the ranges below the octet `end` that no segment has filled so far, in order.
    right = seq + length
    end = np.concatenate([seq[:1], np.maximum.accumulate(right)[:-1]])
    fresh: Ints = np.maximum(right - np.maximum(seq, end), 0)
    gaps = [(int(seq.min()), int(seq[0]))] if seq.min() < seq[0] else []
    for place in np.flatnonzero(seq != end).tolist():
        own, known = (int(seq[place]), int(right[place])), int(end[place])
        if own[0] > known:
            gaps.append((known, own[0]))
            continue
        first = bisect_right(gaps, own[0], key=lambda gap: gap[1])
        last = bisect_left(gaps, own[1], lo=first, key=lambda gap: gap[0])
        cut = gaps[first:last]
        filled = sum(min(own[1], gap[1]) - max(own[0], gap[0]) for gap in cut)
        rest = [(gap[0], min(gap[1], own[0])) for gap in cut]
        rest += [(max(gap[0], own[1]), gap[1]) for gap in cut]
        gaps[first:last] = sorted({gap for gap in rest if gap[0] < gap[1]})
        fresh[place] += filled
    return fresh


def density(run: Tables, view: View) -> Picture:
    """Show packets per second, from the smoothed differences of the instants of packets.

    The method is from Jacobson's mail of 1988: take the first differences of timestamps, smooth
    them, and invert them.

    Raises
    ------
    ValueError
        If there is no data, or if there are too few packets to smooth.
    """
    data, acks = both_directions(run, view)
    marks: list[Mark] = []
    # The wider line of the data is visible beneath the ACKs if both densities are equal.
    drawn: tuple[tuple[str, Table, Ink, float], ...] = (
        ("data", data, "blue", 1.8),
        ("ACKs", acks, "green", 0.9),
    )
    for label, own, ink, width in drawn:
        if len(own) <= _SMOOTHED:
            continue
        t = own.seconds()
        gaps = np.convolve(np.diff(t), np.ones(_SMOOTHED) / _SMOOTHED, mode="valid")
        with np.errstate(divide="ignore"):
            packets = np.where(gaps > 0, 1 / gaps, np.nan)
        middle = t[_SMOOTHED // 2 : _SMOOTHED // 2 + len(gaps)]
        marks.append(Polyline(label=label, ink=ink, x=middle, y=packets, width=width))
    if not marks:
        raise ValueError(
            f"too few packets of {_named(data, view)} for a density: it needs more than {_SMOOTHED}"
        )
    return Picture(tuple(marks), Scale("packets in a second", low=0.0), aside=_named(data, view))


def both_directions(run: Tables, view: View) -> tuple[Table, Table]:
    """Return the data of a direction and its acknowledgments, at one point."""
    both = _at_one_point(run, view)
    own = both.where(direction=view.sends)
    answers = both.where(direction=view.answers)
    return own.select(own["len_bytes"] > 0), answers.select(are_acknowledgments(answers))


def _at_one_point(run: Tables, view: View) -> Table:
    """Return the packets of a flow at one point, in the order of time.

    Raises
    ------
    ValueError
        If no data was seen.
    """
    segments = of_flows(run)
    flow = pick(segments, "flow", view.flow, "flow")
    both = segments.where(flow=flow)
    node = pick(both.where(direction=view.sends), "node", view.node, "spied node")
    both = view.clip(both.where(node=node))
    if not (both.where(direction=view.sends)["len_bytes"] > 0).any():
        raise ValueError(f"no data of flow {view.titled(flow)} was seen at {node}{view.in_words}")
    return both.take(np.argsort(both["t_ns"], kind="stable"))


def _named(data: Table, view: View) -> str:
    """Return in words the flow that is shown, and the node that observed it."""
    return f"{view.titled(str(data['flow'][0]))} at {data['node'][0]}"


def _mean_over_time(t: Floats, values: Floats) -> float:
    """Return the mean over time of values that each last until the next value."""
    spans = np.diff(t)
    total = float(spans.sum())
    return float((values[:-1] * spans).sum() / total) if total > 0 else float(values[-1])
