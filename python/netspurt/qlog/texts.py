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
    array = np.asarray(np.ma.getdata(values))
    if array.dtype == np.bool_:
        return np.where(array, "true", "false").astype(TEXT)
    return array.astype(TEXT)


def milliseconds(nanos: NDArray[Any]) -> Texts:
    """Return nanoseconds as milliseconds with all six decimals, so that nothing is rounded."""
    array = np.asarray(np.ma.getdata(nanos)).astype(np.int64)
    whole, remainder = np.divmod(array, _NS_IN_MS)
    return np.strings.add(
        np.strings.add(whole.astype(TEXT), "."), np.strings.zfill(remainder.astype(TEXT), 6)
    )


def quoted(values: Texts) -> Texts:
    """Return texts in quotes. The texts may contain only characters that JSON need not escape."""
    return np.strings.add(np.strings.add('"', texts(values)), '"')


def member(name: str, values: Texts, present: NDArray[np.bool_] | None = None) -> Texts:
    """Return `"name":value` for each value, or an empty text where `present` is false."""
    members = np.strings.add(f'"{name}":', values)
    return members if present is None else np.where(present, members, np.array("", dtype=TEXT))


def pairs(first: NDArray[Any], second: NDArray[Any]) -> Texts:
    """Return JSON arrays of two numbers each."""
    with_first = np.strings.add(np.strings.add("[", texts(first)), ",")
    return np.strings.add(np.strings.add(with_first, texts(second)), "]")


def of(*members: Texts) -> Texts:
    """Return JSON objects from columns of members. Empty members are left out."""
    joined = members[0]
    for column in members[1:]:
        both = (joined != "") & (column != "")
        comma = np.where(both, np.array(",", dtype=TEXT), np.array("", dtype=TEXT))
        joined = np.strings.add(np.strings.add(joined, comma), column)
    return np.strings.add(np.strings.add("{", joined), "}")


def grouped(values: Texts, groups: NDArray[np.intp], count: int) -> Texts:
    """Return each group's texts as a JSON array, in order, or an empty text for an empty group.

    Parameters
    ----------
    values
        The texts. The texts of a group keep their order.
    groups
        The number of each text's group.
    count
        The number of groups.
    """
    order = np.argsort(groups, kind="stable")
    sorted_groups, sorted_values = groups[order], values[order]
    place = np.arange(len(sorted_groups)) - np.searchsorted(sorted_groups, sorted_groups)
    joined = np.full(count, "", dtype=TEXT)
    for nth in range(int(place.max(initial=-1)) + 1):
        is_nth = place == nth
        at = sorted_groups[is_nth]
        joined[at] = np.strings.add(
            joined[at], np.strings.add("," if nth else "[", sorted_values[is_nth])
        )
    joined[sorted_groups] = (
        np.strings.add(joined[sorted_groups], "]") if len(sorted_groups) else joined[sorted_groups]
    )
    return joined
