"""Turns columns of tables into columns of JSON texts, without a loop over rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

#: An array of texts of any length, shape (n,), dtype `StringDType`.
Texts = NDArray[Any]

TEXT: Any = np.dtypes.StringDType()

_NS_IN_MS = 1_000_000


def texts(values: NDArray[Any]) -> Texts:
    """Return whole numbers or truth values as JSON, and texts unchanged, without quotes."""
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
    """Return texts in quotes. They may contain only characters that JSON need not escape."""
    return np.strings.add(np.strings.add('"', texts(values)), '"')


def member(name: str, values: Texts, there: NDArray[np.bool_] | None = None) -> Texts:
    """Return `"name":value` for each value, or an empty text where `there` is false."""
    made = np.strings.add(f'"{name}":', values)
    return made if there is None else np.where(there, made, np.array("", dtype=TEXT))


def pairs(first: NDArray[Any], second: NDArray[Any]) -> Texts:
    """Return arrays of two numbers."""
    begun = np.strings.add(np.strings.add("[", texts(first)), ",")
    return np.strings.add(np.strings.add(begun, texts(second)), "]")


def of(*members: Texts) -> Texts:
    """Return JSON objects from columns of members. Empty members are left out."""
    joined = members[0]
    for one in members[1:]:
        both = (joined != "") & (one != "")
        comma = np.where(both, np.array(",", dtype=TEXT), np.array("", dtype=TEXT))
        joined = np.strings.add(np.strings.add(joined, comma), one)
    return np.strings.add(np.strings.add("{", joined), "}")


def grouped(values: Texts, groups: NDArray[np.intp], count: int) -> Texts:
    """Return a JSON array of each group's texts in order. A group without texts has an empty array.

    Parameters
    ----------
    values
        The texts. The texts of a group are in order.
    groups
        The number of each text's group.
    count
        The number of groups.
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
