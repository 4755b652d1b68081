"""Draws pictures of sweeps with matplotlib. A sweep has runs with many combinations of values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from matplotlib import rc_context

from netspurt.pictures.cases import KINDS, Figures, of_cases
from netspurt.plots.marks import draw_picture
from netspurt.plots.style import SETTINGS, Size, new_figure, set_title

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["KINDS", "draw_cases"]


def draw_cases(  # noqa: PLR0913 - callers choose all these
    kind: str,
    figures: Figures,
    names: Sequence[str],
    measure: str,
    title: str = "",
    *,
    ax: Axes | None = None,
    size: Size | None = None,
) -> Figure:
    """Return a figure of one kind.

    Parameters
    ----------
    kind, figures, names, measure
        As in `netspurt.pictures.cases.of_cases`.
    title
        The heading; by default the measure in words.
    ax
        Existing axes to draw into; its figure is returned.
    size
        The width and height of a new figure in inches.

    Raises
    ------
    ValueError
        If there is no such kind, if the kind cannot show this number of names or series, or if `ax`
        and `size` are both given.
    """
    shown = of_cases(kind, figures, names, measure)
    figure, axes = new_figure(ax, size)
    with rc_context(SETTINGS):
        draw_picture(axes, shown)
        label = shown.marks[0].label if kind == "heat-map" else shown.y.label
        label = shown.x.label if kind == "dot" else label
        set_title(axes, f"{title}: {label}" if title and kind == "heat-map" else title or label)
    return figure
