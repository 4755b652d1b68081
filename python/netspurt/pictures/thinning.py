"""Chooses marks in pictures of long runs, because a picture has room only for some of them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

#: The maximum number of marks of a kind that are drawn one by one.
MOST = 20_000

#: The number of columns into which marks are merged if there are more than `MOST`. A picture is
#: narrower than this number of pixels.
COLUMNS = 4_000


def merged(bars: Floats) -> Floats:
    """Return bars; if there are too many, return one bar for each column of the picture.

    Parameters
    ----------
    bars
        Instants, lower and upper ends, shape (n, 3).

    Returns
    -------
    bars
        The same bars, or the first instant and the lowest and highest end of each column.

    Examples
    --------
    >>> bars = np.column_stack([np.arange(30_000.0), np.arange(30_000.0), np.arange(30_000.0) + 1])
    >>> merged(bars)[-1].tolist(), len(merged(bars)), len(merged(bars[:100]))
    ([29992.0, 29992.0, 30000.0], 4000, 100)
    """
    if len(bars) <= MOST:
        return bars
    bars = bars[np.argsort(bars[:, 0], kind="stable")]
    starts = np.flatnonzero(np.diff(_columns(bars[:, 0]), prepend=-1))
    low = np.minimum.reduceat(bars[:, 1], starts)
    high = np.maximum.reduceat(bars[:, 2], starts)
    return np.column_stack([bars[starts, 0], low, high])


def kept(t: Floats, y: Floats) -> NDArray[np.intp]:
    """Return the indices of the points to draw: all points, or one point in each cell of a grid.

    Parameters
    ----------
    t, y
        The points, shape (n,).
    """
    if len(t) <= MOST:
        return np.arange(len(t))
    cells = _columns(t) * COLUMNS + _columns(y)
    _, first = np.unique(cells, return_index=True)
    return np.sort(first)


def last_of_columns(t: Floats) -> NDArray[np.intp]:
    """Return the indices of a rising line's points to draw: all, or the last one of each column."""
    if len(t) <= MOST:
        return np.arange(len(t))
    return np.flatnonzero(np.diff(_columns(t), append=COLUMNS))


def _columns(values: Floats) -> NDArray[np.int64]:
    low, high = float(values.min()), float(values.max())
    scale = COLUMNS / (high - low) if high > low else 0.0
    places: NDArray[np.int64] = np.minimum((values - low) * scale, COLUMNS - 1).astype(np.int64)
    return places
