"""Several pictures in one figure, beside or below each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from netspurt.plots.marks import draw_picture

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from netspurt.pictures import Picture


def draw_each(all_axes: Sequence[Axes], pictures: Sequence[Picture]) -> None:
    """Draw each picture into an axes of its own, with a grid behind it."""
    for axes, picture in zip(all_axes, pictures, strict=True):
        draw_picture(axes, picture)
        axes.grid(visible=True, color="#ececec", linewidth=0.8)
        axes.set_axisbelow(True)


def one_legend(
    figure: Figure,
    all_axes: Sequence[Axes],
    loc: Literal["outside lower center", "lower right"],
) -> None:
    """Replace the legends of all axes by one legend at a given place of the figure."""
    known: dict[str, Artist] = {}
    for axes in all_axes:
        handles, labels = axes.get_legend_handles_labels()
        known |= dict(zip(labels, handles, strict=True))
        if own := axes.get_legend():
            own.remove()
    across = _across(figure, list(known)) if loc.startswith("outside") else 1
    figure.legend(
        known.values(), known.keys(), loc=loc, ncols=across, frameon=loc.startswith("outside")
    )


#: Two widths in inches: of a character of a legend, and of a legend's sample line with the space
#: beside it.
_CHARACTER_IN, _SAMPLE_IN = 0.075, 0.6


def _across(figure: Figure, labels: Sequence[str]) -> int:
    """Return how many labels of equal width fit side by side into a figure."""
    widest = _CHARACTER_IN * max(map(len, labels), default=0) + _SAMPLE_IN
    return max(1, min(len(labels), int(figure.get_figwidth() / widest)))
