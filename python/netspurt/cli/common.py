"""Finds connections that captures of a folder share, and captures without connections."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any

from netspurt.cli.output import named
from netspurt.wording import counted, number

if TYPE_CHECKING:
    from netspurt.captures import Explained

#: The most files, and the most pairs of files, that are named.
_NAMED = 3


def of_files(found: Explained) -> Iterator[str]:
    """Yield lines on files without connections, and on connections in several files."""
    firsts = [first for _, first in found.files]
    ends = [*firsts[1:], len(set(found.table("connections")["connection"].tolist()))]
    bare = [path for (path, first), end in zip(found.files, ends, strict=False) if first == end]
    if bare:
        yield f"Without packets of TCP: {_few(bare)}."
    pairs = Counter(_twice(found))
    for (one, other), count in pairs.most_common(_NAMED):
        have = f"{named(one)} and {named(other)} have {counted(count, 'connection')} in common"
        yield f"{have}, counted twice: see netspurt match."
    if len(pairs) > _NAMED:
        yield f"So have {counted(len(pairs) - _NAMED, 'other pair')} of captures."


def _twice(found: Explained) -> Iterator[tuple[str, str]]:
    """Yield the two files of each connection that two files have.

    These are connections with the same addresses and ports at the same time.
    """
    if len(found.files) < 2:
        return
    spans: dict[frozenset[tuple[str, int]], list[tuple[str, int, int]]] = {}
    for row in _forward(found):
        ends = frozenset((row[end], row[f"{end}_port"]) for end in ("source", "destination"))
        path, _ = found.place_of(row["connection"])
        first = row["t_ns"]
        spans.setdefault(ends, []).append((path, first, first + row["duration_ns"]))
    for same in spans.values():
        for one, other in combinations(same, 2):
            if one[0] != other[0] and one[1] <= other[2] and other[1] <= one[2]:
                yield one[0], other[0]


def _forward(found: Explained) -> Iterator[dict[str, Any]]:
    """Yield a row for each connection: its ends, its beginning and its duration."""
    table = found.table("connections").where(direction="forward")
    names = ("connection", "source", "source_port", "destination", "destination_port", "t_ns")
    columns = [table[name].tolist() for name in (*names, "duration_ns")]
    for values in zip(*columns, strict=True):
        yield dict(zip((*names, "duration_ns"), values, strict=True))


def _few(paths: Sequence[str]) -> str:
    shown = ", ".join(map(named, paths[:_NAMED]))
    more = len(paths) - _NAMED
    return f"{shown} and {number(more)} more" if more > 0 else shown
