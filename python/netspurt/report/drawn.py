"""Pictures in the form that the page's script reads: descriptions, and columns in the payload.

The payload has all numbers of a page as one text. A mark is a part of a picture: a line, or a set
of points, bars or areas.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from netspurt.pictures import Picture
from netspurt.pictures.marks import Floats, Mark, Points, Polyline, Scale, reach
from netspurt.pictures.measures import ELAPSED
from netspurt.report.payload import Payload
from netspurt.report.thinning import thinned

#: The maximum number of points and bars on a page; the texts of the page call them marks. With more
#: of them, the page would open too slowly, and no screen could show all of them.
BUDGET = 1_000_000

#: Marks with at most this number of points are drawn whole, because thinning (leaving points out)
#: could change what they show. For example, a distribution without some of its bins looks like
#: another distribution.
_FEW = 500

#: The rank of a mark is its place in the drawing order. Marks of this rank and above show losses
#: and repairs. All of them are kept.
_KEPT_RANK = 2.5


def is_kept(mark: Mark) -> bool:
    """Return whether a mark is never thinned.

    Losses, repairs, marks with few points, and points that are not dots are never thinned.
    """
    if isinstance(mark, Points) and mark.shape != "dot":
        return True
    return mark.rank >= _KEPT_RANK or count(mark) <= _FEW


def count(mark: Mark) -> int:
    """Return the number of points or bars of a mark, or 0 for a mark of another type."""
    if isinstance(mark, Points):
        return int(np.count_nonzero(~np.isnan(mark.y)))
    return len(mark.x) if hasattr(mark, "x") and _heights(mark) else 0


def _heights(mark: Mark) -> tuple[Floats, Floats] | None:
    """Return the lowest and highest y at each x of a mark; `None` if it has no such heights."""
    if hasattr(mark, "y"):
        return mark.y, mark.y
    if hasattr(mark, "low") and hasattr(mark, "high"):
        return mark.low, mark.high
    return None


def numbers(pictures: Iterable[Picture]) -> int:
    """Return the number of points and bars in some pictures."""
    return sum(count(mark) for picture in pictures for mark in picture.marks)


def share_of(pictures: Iterable[Picture], room: int) -> float:
    """Return the share of points and bars to keep of each mark that may be thinned.

    If possible, all points and bars that are kept then fit into `room`.
    """
    marks = [mark for picture in pictures for mark in picture.marks]
    loose = sum(count(mark) for mark in marks if not is_kept(mark))
    tight = sum(count(mark) for mark in marks if is_kept(mark))
    return 1.0 if loose + tight <= room or not loose else max(0.0, (room - tight) / loose)


def kept_of(pictures: Iterable[Picture], share: float) -> int:
    """Return how many points and bars are kept if marks that may be thinned keep this share."""
    every = [(mark, _places(mark, share)) for picture in pictures for mark in picture.marks]
    return sum(count(mark) if kept is None else len(kept) for mark, kept in every)


def drawn(picture: Picture, payload: Payload, share: float = 1.0) -> dict[str, Any]:
    """Return a picture as data, with its numbers in the payload.

    Parameters
    ----------
    picture
        The picture.
    payload
        The payload, to which the columns are added.
    share
        The share of points and bars to keep of each mark that may be thinned.
    """
    (left, right), (low, high) = picture.ends
    right = _last(picture, left, right)
    return {
        "x": _scale(picture.x, left, right),
        "y": _scale(picture.y, low, high),
        "aside": picture.aside,
        "packet_bytes": picture.packet_bytes,
        "legend": picture.legend,
        "marks": [_mark(mark, payload, share) for mark in picture.marks],
    }


def _last(picture: Picture, left: float, right: float) -> float:
    """Return the right end of the x axis.

    An axis of time ends with the last mark, unless its scale has an upper end.
    """
    there = reach(picture.marks, 0)
    if picture.x.unit != ELAPSED or picture.x.high is not None or there is None:
        return right
    return there[1] if there[1] > left else right


def _scale(scale: Scale, low: float, high: float) -> dict[str, Any]:
    told = {one.name: getattr(scale, one.name) for one in fields(scale)}
    # When the reader zooms, a lower end that the scale fixes at 0 does not move.
    return {**told, "low": low, "high": high, "fixed": scale.low == 0.0}


def _mark(mark: Mark, payload: Payload, share: float) -> dict[str, Any]:
    kept = _places(mark, share)
    told: dict[str, Any] = {"type": type(mark).__name__}
    near: int | None = None
    for one in fields(mark):
        value = getattr(mark, one.name)
        if value is None:
            continue
        if not isinstance(value, np.ndarray):
            told[one.name] = value
            continue
        if value.ndim > 1:
            told["shape"], value = list(value.shape), value.reshape(-1)
        column = value if kept is None else value[kept]
        # The upper ends of bars are stored as differences from the lower ends, because these
        # differences are small.
        told[one.name] = payload.add(column, near if one.name == "high" else None)
        near = told[one.name] if one.name == "low" else near
    if hasattr(mark, "x"):
        x = np.asarray(mark.x)
        told["sorted"] = not isinstance(mark, Polyline) or bool((np.diff(x) >= 0).all())
    if kept is not None and len(kept) < count(mark):
        told["of"] = count(mark)
    return told


def _places(mark: Mark, share: float) -> NDArray[np.intp] | None:
    """Return the indices of the points to draw, sorted by x. `None` means all points."""
    heights = _heights(mark)
    if heights is None or not hasattr(mark, "x"):
        return None
    x = mark.x
    in_order = bool((np.diff(x) >= 0).all())
    if not in_order and isinstance(mark, Polyline):
        return None
    order = np.arange(len(x)) if in_order else np.argsort(x, kind="stable")
    if isinstance(mark, Points):
        # A point without a height is not drawn; in a line it is a gap.
        order = order[~np.isnan(mark.y[order])]
    if is_kept(mark) or share >= 1.0:
        return None if in_order and len(order) == len(x) else order
    low, high = (one[order] for one in heights)
    return order[thinned(x[order], low, high, max(4, int(share * len(order))))]
