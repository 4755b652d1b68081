"""Lines of `netspurt explain` on connections in several captures, and on captures without TCP."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from netspurt.cli.output import named
from netspurt.wording import counted, number

if TYPE_CHECKING:
    from netspurt.captures import Explained
    from netspurt.shared import SharedConnection

#: The lines name at most this number of files, and at most this number of pairs of files.
_NAMED = 3


def of_files(found: Explained) -> Iterator[str]:
    """Yield lines on files without connections, and on connections in several files."""
    if not found.files:
        return
    certain = [one for one in found.shared if one.certain]
    elsewhere = Counter(path for one in certain for path, _ in one.others)
    counts = _connections(found)
    bare = [path for path in counts if not counts[path] and not elsewhere[path]]
    if bare:
        yield f"Without packets of TCP: {_few(bare)}."
    yield from _in_pairs(certain, _counted_once)
    yield from _in_pairs([one for one in found.shared if not one.certain], _perhaps_twice)


def _in_pairs(
    shared: Sequence[SharedConnection], told: Callable[[Mapping[str, int]], str]
) -> Iterator[str]:
    """Yield a sentence on each of the first pairs of captures that share connections.

    The function `told` makes the sentence. Its argument has, for each of the two captures, the
    number of shared connections that this capture shows better than the other. A last sentence
    counts the other pairs.
    """
    pairs = Counter((one.best[0], path) for one in shared for path, _ in one.others)
    files = list(dict.fromkeys(tuple(sorted(pair)) for pair, _ in pairs.most_common()))
    for one, other in files[:_NAMED]:
        yield told({one: pairs[one, other], other: pairs[other, one]})
    if len(files) > _NAMED:
        yield f"The same holds for {counted(len(files) - _NAMED, 'other pair')} of captures."


def _counted_once(shown_by: Mapping[str, int]) -> str:
    many = sum(shown_by.values())
    there = {path: count for path, count in shown_by.items() if count}
    where = ", ".join(
        f"in {named(path)}" if len(there) == 1 else f"{number(count)} in {named(path)}"
        for path, count in there.items()
    )
    return (
        f"{' and '.join(map(named, shown_by))} have {counted(many, 'connection')} in common. "
        f"{'It counts' if many == 1 else 'Each counts'} once, in the capture nearest to the end "
        "that retransmitted more. If both ends retransmitted equally often, the end that sent "
        f"more data decides. Here {'it was' if many == 1 else 'they were'} counted"
        f"{':' * (len(there) > 1)} {where}. See netspurt match."
    )


def _perhaps_twice(shown_by: Mapping[str, int]) -> str:
    many = sum(shown_by.values())
    return (
        f"{' and '.join(map(named, shown_by))} have {counted(many, 'connection')} between the same "
        f"ends at the same time. If both captures show the same "
        f"{'connection, it counts' if many == 1 else 'connections, they count'} twice here: see "
        "netspurt match."
    )


def _connections(found: Explained) -> dict[str, int]:
    """Return, for each file, the number of connections that are counted for it.

    A connection that several files certainly share is counted for one of them.
    """
    paths, firsts = [path for path, _ in found.files], [first for _, first in found.files]
    numbers = np.unique(found.table("connections")["connection"])
    files = np.searchsorted(firsts, numbers, side="right") - 1
    return dict(zip(paths, np.bincount(files, minlength=len(paths)).tolist(), strict=True))


def _few(paths: Sequence[str]) -> str:
    shown = ", ".join(map(named, paths[:_NAMED]))
    more = len(paths) - _NAMED
    return f"{shown} and {number(more)} more" if more > 0 else shown
