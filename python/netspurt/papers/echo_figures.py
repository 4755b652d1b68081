"""Figures of transfers through an echo gateway.

Data and ACKs both cross the line to the gateway, which sends them back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from netspurt.analysis.listings import Trace, send_ack
from netspurt.papers.bench import Bench
from netspurt.papers.crossing import LINE, Filled, filled, followed
from netspurt.pictures.series import Series, SeriesPanel

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def crossing(bench: Bench, *, echo: str, split: str, path: str, mss: int) -> Figure:
    """Draw the length of the queue against `fill`.

    `fill` is the time that the line needs for a window of data, as a part of the round trip. A grid
    has the transfers with all combinations of some values. In the transfers of the grid `echo`,
    ACKs wait in the same queue as data. In the transfers of the grid `split`, they take another
    path. The figure has the transfers with a given `path` and segment size (`mss`).
    """
    from netspurt.plots.series import draw_series

    def of(grid: str) -> list[Filled]:
        every = filled(bench, grid)
        own = [transfer for transfer in every if (transfer.path, transfer.mss) == (path, mss)]
        return sorted(own, key=lambda transfer: transfer.fill)

    pairs = {"data and ACKs in one queue": of(echo), "ACKs by another path": of(split)}

    def series(attribute: str) -> list[Series]:
        return [
            Series(
                name,
                np.array([transfer.fill for transfer in own]),
                np.array([float(getattr(transfer, attribute)) for transfer in own]),
                dashed=n == 1,
            )
            for n, (name, own) in enumerate(pairs.items())
        ]

    panels = [
        SeriesPanel(
            "longest queue [packets]",
            series("longest"),
            mark=0.5,
            mark_label="half of the round trip",
        ),
        SeriesPanel(
            "mean queue [packets]", series("mean"), mark=0.5, mark_label="half of the round trip"
        ),
    ]
    title = f"The queue before the line: {path}, mss {mss}"
    return draw_series(panels, title=title, beneath="part of the round trip that the window fills")


def density(bench: Bench, *, run: str, gain: float, end: float) -> Figure:
    """Draw the density of packets before a line, and the length of the line's queue.

    The density is the number of packets in a second, from the smoothed differences of timestamps.
    `gain` is the weight of each new difference. The figure ends at the instant `end` [s].
    """
    from netspurt.plots.series import draw_series

    finished = bench.run(run)
    at, rate, _ = followed(finished, gain)
    queue = finished.queue.where(link=LINE, direction="forward")
    t, length = queue.seconds(), queue["queue_packets"].astype(np.float64)
    early, shown = at <= end, t <= end
    name = f"mean with gain {gain:g}"
    panels = [
        SeriesPanel("packets a second", [Series(name, at[early], rate[early])]),
        SeriesPanel("queue [packets]", [Series("true length", t[shown], length[shown], "steps")]),
    ]
    title = "Density of packets from timestamps, and their queue"
    return draw_series(panels, title=title, beneath="time [s]")


def sent_and_acknowledged(bench: Bench, *, run: str, end: float) -> Figure:
    """Draw when each segment left and was first acknowledged (the listing `send-ack`)."""
    from netspurt.plots.series import draw_series

    finished = bench.run(run)
    listed = send_ack(Trace.of(finished.segments.where(node="source")))
    sent, kilo = listed.sent_ns / 1e9, listed.seq / 1e3
    acked = listed.acked_ns / 1e9
    new = ~listed.again & (sent <= end)
    retransmitted = listed.again & (sent <= end)
    known = (listed.acked_ns >= 0) & (acked <= end)
    series = [
        Series("sent", sent[new], kilo[new], "dots"),
        Series("retransmitted", sent[retransmitted], kilo[retransmitted], "dots"),
        Series("acknowledged", acked[known], kilo[known], "dots"),
    ]
    panel = SeriesPanel("first octet [kB]", series)
    return draw_series([panel], title=str(finished.title), beneath="time [s]")
