"""Draws delay against datagram length with matplotlib."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from netspurt.pictures.lengths import LengthLine, RecordingWithLengths, against_length
from netspurt.plots.marks import draw_picture
from netspurt.plots.style import SETTINGS, Size, new_figure, set_title


def draw_lengths(
    recording: RecordingWithLengths,
    lines: Sequence[LengthLine],
    *,
    what: str,
    ax: Axes | None = None,
    size: Size | None = None,
) -> Figure:
    """Return a figure with a point for each answered probe of known length, and the lines.

    Parameters
    ----------
    recording, lines, what
        As in `netspurt.pictures.lengths.against_length`.
    ax
        The axes to draw into; by default the axes of a new figure.
    size
        The width and the height of a new figure, in inches.
    """
    figure, axes = new_figure(ax, size)
    with rc_context(SETTINGS):
        draw_picture(axes, against_length(recording, lines, what=what))
        set_title(axes, Path(recording.name).name)
    return figure
