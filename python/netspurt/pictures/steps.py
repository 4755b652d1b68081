"""Draws a step function as a line, or as a band and a mean if its values change too often."""

from __future__ import annotations

import numpy as np

from netspurt.pictures.marks import Band, Floats, Ink, Mark, Polyline

#: A line with more than this number of changes is drawn as a band and a mean over spans of time.
_CHANGES = 400
#: The mean number of changes in a span, and the maximum number of spans. If there would be more
#: spans, each span has more changes.
_CHANGES_PER_SPAN = 4
_SPANS = 250


def steps(label: str, ink: Ink, changes: tuple[Floats, Floats], *, whole: bool) -> list[Mark]:
    """Return a line of values, or a band of their ranges and their mean if they change too often.

    Parameters
    ----------
    label, ink
        The name in the legend, and the colour.
    changes
        Instants in order, and the value that holds from each instant on, shape (n,) each.
    whole
        True if all changes are shown, because the reader can zoom.
    """
    t, values = changes
    if whole or len(t) <= _CHANGES:
        return [Polyline(label=label, ink=ink, x=t, y=values, steps=True)]
    spans = min(_SPANS, len(t) // _CHANGES_PER_SPAN)
    edges = np.linspace(t[0], t[-1], spans + 1)
    least, mean, most = (np.append(one, one[-1]) for one in _spans(t, values, edges))
    band = Band(label="", ink=ink, x=edges, low=least, high=most, alpha=0.3)
    return [band, Polyline(label=f"{label}, mean and range", ink=ink, x=edges, y=mean, steps=True)]


def _spans(t: Floats, values: Floats, edges: Floats) -> tuple[Floats, ...]:
    """Return the minimum, the mean and the maximum between each edge and the next edge."""
    # The value at each edge counts as a change at the edge.
    place = np.searchsorted(t, edges, side="right") - 1
    instants = np.concatenate([t, edges])
    every = np.concatenate([values, values[place]])
    order = np.argsort(instants, kind="stable")
    instants, every = instants[order], every[order]
    first = np.searchsorted(instants, edges[:-1], side="left")
    held = every * np.diff(instants, append=instants[-1])
    mean = np.add.reduceat(held, first) / np.diff(edges)
    return np.minimum.reduceat(every, first), mean, np.maximum.reduceat(every, first)
