"""Queue lengths over time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from netspurt.plots.style import (
    BLACK,
    BLUE,
    GREEN,
    ORANGE,
    PURPLE,
    RED,
    SKY,
    View,
    legend,
    pick,
    steps,
)
from netspurt.table import Table

if TYPE_CHECKING:
    from netspurt.plots import Tables

_COLOURS = [BLUE, ORANGE, GREEN, PURPLE, SKY, BLACK]


def draw_queue(axes: Axes, run: Tables, view: View) -> None:
    """Draw how many packets each queue held, the one in transmission included, and drops.

    Without a link named these are the directions whose queue ever held a packet more than the
    one in transmission.
    """
    everything = run.table("queue")
    link = None if view.link is None else pick(everything, "link", view.link, "link")
    shown = view.clip(everything.where(link=link))
    drops = view.clip(run.table("drops").where(link=link))
    drops = drops.select(drops["reason"] != "loss")
    directions = _directions(shown, busy_only=link is None)
    if not directions:
        raise ValueError("no queue held more than the packet in transmission")
    labelled = False
    # The fullest comes first, and is drawn last, above the others.
    for n, (name, way) in reversed(list(enumerate(directions))):
        own = shown.where(link=name, way=way)
        colour = _COLOURS[n % len(_COLOURS)]
        t, packets = own.seconds(), own["queue_packets"]
        steps(axes, t, packets, color=colour, linewidth=1.2, label=f"{name} {way}")
        lost = drops.where(link=name, way=way).seconds()
        if len(lost):
            place = np.clip(np.searchsorted(t, lost, side="right") - 1, 0, len(t) - 1)
            axes.plot(
                lost,
                packets[place],
                linestyle="none",
                marker="x",
                markersize=6,
                markeredgewidth=1.5,
                color=RED,
                label=None if labelled else "dropped",
            )
            labelled = True
    axes.set_ylim(bottom=0)
    axes.yaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_ylabel("queued or in transmission [packets]")
    legend(axes)


def _directions(queue: Table, *, busy_only: bool) -> list[tuple[str, str]]:
    """Return the directions of links to draw, that with the longest mean queue first."""
    means: dict[tuple[str, str], float] = {}
    for name in dict.fromkeys(queue["link"].tolist()):
        for way in ("there", "back"):
            own = queue.where(link=name, way=way)
            packets = own["queue_packets"]
            if len(packets) and (not busy_only or packets.max() > 1):
                means[name, way] = float(np.sum(packets[:-1] * np.diff(own.seconds())))
    return sorted(means, key=lambda direction: -means[direction])[: len(_COLOURS)]
