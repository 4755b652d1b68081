"""Chooses the points and bars (marks) that a page keeps if it has no room for all."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def thinned(x: Floats, low: Floats, high: Floats, room: int) -> NDArray[np.intp]:
    """Return the indices of the marks to keep, in order.

    The x axis is cut into columns of equal width. Each column keeps its first mark, its last mark,
    the lowest and the highest, so that no extreme is hidden.

    Parameters
    ----------
    x, low, high
        The marks in the order of x, shape (n,).
    room
        The approximate number of marks to keep. If it is below 8, all marks form one column.

    Examples
    --------
    >>> x = np.arange(1000.0)
    >>> y = np.where(x == 777, 50.0, x % 3)
    >>> kept = thinned(x, y, y, 40)
    >>> len(kept) <= 40, 777 in kept.tolist(), kept[[0, -1]].tolist()
    (True, True, [0, 999])
    """
    if len(x) <= room:
        return np.arange(len(x))
    count = max(1, room // 4)
    width = float(x[-1] - x[0]) / count
    column = np.zeros(len(x), dtype=np.int64)
    if width > 0:
        column = np.minimum(((x - x[0]) / width).astype(np.int64), count - 1)
    first = np.flatnonzero(np.diff(column, prepend=-1))
    last = np.append(first[1:] - 1, len(x) - 1)
    lowest = np.lexsort((np.where(np.isnan(low), np.inf, low), column))[first]
    highest = np.lexsort((np.where(np.isnan(high), -np.inf, high), column))[last]
    return np.unique(np.concatenate([first, last, lowest, highest]))
