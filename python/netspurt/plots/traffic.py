"""What the packets at one point tell of a direction: outstanding data, throughput, density."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from netspurt.plots.measures import fitting_unit
from netspurt.plots.moving import shade_links
from netspurt.plots.style import (
    BLUE,
    DIRECTIONS,
    GREEN,
    GREY,
    RED,
    View,
    bytes_axis,
    legend,
    pick,
    steps,
)
from netspurt.table import Table

if TYPE_CHECKING:
    from netspurt.plots import Tables

#: Over how many packets densities and rates are smoothed, and into how many parts a time is cut.
_SMOOTHED = 10
_PARTS = 100

#: The bits of an ACK, and those of an ACK and a SYN.
_ACK = 16
_ACK_NOT_SYN = 18


def draw_outstanding(axes: Axes, run: Tables, view: View) -> None:
    """Draw the octets that were sent and not acknowledged, as they were at one point of the path.

    Octets that SACK blocks report count as outstanding: they wait for the gap before them.
    """
    data, acks = both_directions(run, view)
    t, octets = outstanding(data, acks)
    steps(axes, t, octets, color=BLUE, linewidth=1.2, label="outstanding")
    mean = np.full(2, _mean_over_time(t, octets))
    ends = np.array([t.min(), t.max()])
    axes.plot(ends, mean, color=GREY, linewidth=1.0, linestyle="--", label="mean over time")
    axes.set_ylim(bottom=0)
    bytes_axis(axes, "outstanding data", max(float(octets.max()), 1.0))
    shade_links(axes, run)
    _name(axes, data, view)


def outstanding(data: Table, acks: Table) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return instants [s] and the octets outstanding from each of them on."""
    t = np.concatenate([data.seconds(), acks.seconds()])
    order = np.argsort(t, kind="stable")
    sent = np.concatenate([data["seq"] + data["len_bytes"], np.zeros(len(acks), dtype=np.int64)])
    acked = np.concatenate([np.full(len(data), int(data["seq"].min())), acks["ack"]])
    highest = np.maximum.accumulate(sent[order])
    una = np.maximum.accumulate(acked[order])
    return t[order], np.maximum(highest - una, 0).astype(np.float64)


def draw_throughput(axes: Axes, run: Tables, view: View) -> None:
    """Draw the rate of payload: sent, and of it what was not sent before, in equal parts of time.

    A line is the mean from the start on.
    """
    data, _acks = both_directions(run, view)
    t, size = data.seconds(), data["len_bytes"].astype(np.float64)
    first, last = float(t.min()), float(t.max())
    if last <= first:
        raise ValueError("all data was sent at one instant: there is no rate to draw")
    parts = min(_PARTS, max(len(t) // _SMOOTHED, 1))
    edges = np.linspace(first, last, parts + 1)
    width = edges[1] - edges[0]
    end = np.maximum.accumulate(data["seq"] + data["len_bytes"])
    fresh = np.diff(end, prepend=int(data["seq"].min())).astype(np.float64)
    for what, octets, color in (("sent", size, RED), ("sent for the first time", fresh, BLUE)):
        rate = 8 * np.histogram(t, edges, weights=octets)[0] / width
        steps(axes, edges, np.append(rate, rate[-1]), color=color, linewidth=1.2, label=what)
    later = t > first
    mean = 8 * np.cumsum(fresh)[later] / (t[later] - first)
    settled = t[later] >= edges[1]
    axes.plot(t[later][settled], mean[settled], color=GREEN, linewidth=1.0, label="mean so far")
    _rate_axis(axes, "throughput")
    shade_links(axes, run)
    _name(axes, data, view)


def draw_density(axes: Axes, run: Tables, view: View) -> None:
    """Draw packets in a second, from the smoothed differences of the instants of packets.

    As Jacobson's mail of 1988 has it: the first differences of time stamps, smoothed, inverted.
    """
    data, acks = both_directions(run, view)
    for what, own, color in (("data", data, BLUE), ("ACKs", acks, GREEN)):
        if len(own) <= _SMOOTHED:
            continue
        t = own.seconds()
        gaps = np.convolve(np.diff(t), np.ones(_SMOOTHED) / _SMOOTHED, mode="valid")
        with np.errstate(divide="ignore"):
            density = np.where(gaps > 0, 1 / gaps, np.nan)
        middle = t[_SMOOTHED // 2 : _SMOOTHED // 2 + len(gaps)]
        axes.plot(middle, density, color=color, linewidth=1.0, label=what)
    axes.set_ylim(bottom=0)
    axes.set_ylabel("packets in a second")
    shade_links(axes, run)
    _name(axes, data, view)


def both_directions(run: Tables, view: View) -> tuple[Table, Table]:
    """Return the data of a direction and the acknowledgements of it, at one point."""
    segments = run.table("segments")
    flow = pick(segments, "flow", view.flow, "flow")
    both = segments.where(flow=flow)
    node = pick(both.where(direction=view.sends), "node", view.node, "spied node")
    both = view.clip(both.where(node=node))
    own = both.where(direction=view.sends)
    data = own.select(own["len_bytes"] > 0)
    if len(data) == 0:
        raise ValueError(f"no data of flow {view.titled(flow)} was seen at {node} in that time")
    other = next(direction for direction in DIRECTIONS if direction != view.sends)
    answers = both.where(direction=other)
    return data, answers.select((answers["flags"] & _ACK_NOT_SYN) == _ACK)


def _name(axes: Axes, data: Table, view: View) -> None:
    """Say which flow is drawn, and where it was seen."""
    flow, node = str(data["flow"][0]), str(data["node"][0])
    axes.set_title(f"{view.titled(flow)} at {node}", loc="right", fontsize=9)
    legend(axes)


def _mean_over_time(t: NDArray[np.float64], values: NDArray[np.float64]) -> float:
    """Return the mean of a value that holds until the next one."""
    spans = np.diff(t)
    whole = float(spans.sum())
    return float((values[:-1] * spans).sum() / whole) if whole > 0 else float(values[-1])


def _rate_axis(axes: Axes, what: str) -> None:
    """Label the y axis, whose values are bit/s, in a unit that suits the largest."""
    axes.set_ylim(bottom=0)
    scale, unit = fitting_unit("bit/s", axes.get_ylim()[1])
    style: Any = axes.yaxis
    style.set_major_formatter(lambda value, _place: f"{value / scale:g}")
    axes.set_ylabel(f"{what} [{unit}]")
