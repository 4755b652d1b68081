"""Delay against length: a point for each answered probe, and the fitted lines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from netspurt.plots.style import (
    BLUE,
    GREY,
    ORANGE,
    RED,
    Size,
    legend,
    new_figure,
)

Floats = NDArray[np.float64]


class Recording(Protocol):
    """A recording of probes with their lengths."""

    @property
    def name(self) -> str:
        """Its name."""

    @property
    def wire_bytes(self) -> NDArray[np.uint32]:
        """Octets of each probe; zero where unknown."""

    @property
    def rtt_s(self) -> Floats:
        """The delays in seconds; NaN if lost."""

    @property
    def late_replies(self) -> NDArray[np.bool_]:
        """Which replies came after the give-up time."""


class LengthLine(Protocol):
    """A line of delay on length for a class of lengths."""

    @property
    def shortest(self) -> int:
        """The first length of its class."""

    @property
    def longest(self) -> int:
        """The last length of its class."""

    def at(self, octets: float) -> float:
        """Return the delay at a length, in seconds."""


def draw_lengths(
    recording: Recording,
    lines: Sequence[LengthLine],
    *,
    what: str,
    ax: Axes | None = None,
    size: Size | None = None,
) -> Figure:
    """Return a figure with a point for each answered probe of known length, and the lines.

    Parameters
    ----------
    recording
        The probes.
    lines
        The fitted lines, whose delays are those of `recording`.
    what
        The words for the delay at its axis.
    ax
        The axes to draw into; by default those of a new figure.
    size
        The width and the height of a new figure, in inches.
    """
    known = ~np.isnan(recording.rtt_s) & (recording.wire_bytes > 0)
    late = known & recording.late_replies
    figure, axes = new_figure(ax, size)
    most = float(np.max(recording.rtt_s[known], initial=0.0))
    scale, unit = (1.0, "s") if most >= 2 else (1e-3, "ms")

    def drawn(delays: Floats) -> Floats:
        return delays / scale

    in_time = known & ~late
    for shown, colour, label in ((in_time, GREY, "probes"), (late, ORANGE, "late answers")):
        if shown.any():
            dots: Any = {"linestyle": "none", "marker": ".", "markersize": 4, "color": colour}
            count = f"{shown.sum():,}"
            axes.plot(
                recording.wire_bytes[shown],
                drawn(recording.rtt_s[shown]),
                label=f"{count} {label}",
                gid="points",
                rasterized=True,
                **dots,
            )
    for line, colour in zip(lines, (BLUE, RED), strict=False):
        ends = np.array([line.shortest, line.longest], dtype=float)
        delays = drawn(np.array([line.at(end) for end in ends]))
        label = f"{line.shortest} to {line.longest} B"
        axes.plot(ends, delays, color=colour, linewidth=1.2, label=label, gid="line")
    axes.set_ylim(bottom=0)
    axes.set_xlabel("length of the datagram [B]")
    axes.set_ylabel(f"{what} [{unit}]")
    axes.set_title(recording.name, loc="left")
    legend(axes)
    return figure
