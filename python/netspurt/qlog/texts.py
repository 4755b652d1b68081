"""Columns of tables as columns of JSON, without a loop over rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

#: Texts, shape (n,), of numpy's type of texts of any length.
Texts = NDArray[Any]

TEXT: Any = np.dtypes.StringDType()

_NS_IN_MS = 1_000_000


def texts(values: NDArray[Any]) -> Texts:
    """Return whole numbers, texts or truth values as they stand in JSON, texts without quotes."""
    given = np.asarray(np.ma.getdata(values))
    if given.dtype == np.bool_:
        return np.where(given, "true", "false").astype(TEXT)
    return given.astype(TEXT)


def milliseconds(nanos: NDArray[Any]) -> Texts:
    """Return nanoseconds as milliseconds with all six decimals, so that nothing is rounded."""
    given = np.asarray(np.ma.getdata(nanos)).astype(np.int64)
    whole, rest = np.divmod(given, _NS_IN_MS)
    return np.strings.add(
        np.strings.add(whole.astype(TEXT), "."), np.strings.zfill(rest.astype(TEXT), 6)
    )


def quoted(values: Texts) -> Texts:
    """Return texts of letters, digits and hyphens in quotes."""
    return np.strings.add(np.strings.add('"', texts(values)), '"')


def member(name: str, values: Texts, there: NDArray[np.bool_] | None = None) -> Texts:
    """Return a member of objects, empty where it is not there."""
    made = np.strings.add(f'"{name}":', values)
    return made if there is None else np.where(there, made, np.array("", dtype=TEXT))


def of(*members: Texts) -> Texts:
    """Return objects of members; empty ones are left out."""
    joined = members[0]
    for one in members[1:]:
        both = (joined != "") & (one != "")
        comma = np.where(both, np.array(",", dtype=TEXT), np.array("", dtype=TEXT))
        joined = np.strings.add(np.strings.add(joined, comma), one)
    return np.strings.add(np.strings.add("{", joined), "}")


def grouped(values: Texts, groups: NDArray[np.intp], count: int) -> Texts:
    """Return texts joined by commas in arrays, one for each group; empty without any.

    Parameters
    ----------
    values
        The texts, those of a group in their order.
    groups
        The number of each one's group.
    count
        How many groups there are.
    """
    order = np.argsort(groups, kind="stable")
    sorted_, own = groups[order], values[order]
    place = np.arange(len(sorted_)) - np.searchsorted(sorted_, sorted_)
    joined = np.full(count, "", dtype=TEXT)
    for nth in range(int(place.max(initial=-1)) + 1):
        here = place == nth
        at = sorted_[here]
        joined[at] = np.strings.add(joined[at], np.strings.add("," if nth else "[", own[here]))
    joined[sorted_] = np.strings.add(joined[sorted_], "]") if len(sorted_) else joined[sorted_]
    return joined
