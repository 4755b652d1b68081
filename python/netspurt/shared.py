"""Connections that several captures hold, and which capture shows each of them best."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from netspurt import _core

#: The columns of the table `connections` that this module reads.
COLUMNS = (
    *("connection", "source", "source_port", "destination", "destination_port"),
    *("t_ns", "duration_ns", "packets", "initial_seq", "unique_bytes", "rtt_ns_min"),
    "retransmissions",
)

#: An end of a connection: its address and port.
_End = tuple[str, int]


@dataclass(frozen=True)
class SharedConnection:
    """A connection that several captures hold.

    Attributes
    ----------
    best
        The file and the number of the connection in the capture that is nearest to `sender`. If
        `certain` is false, there are only two captures, and this is the first of them.
    others
        The file and the number of the connection in each other capture.
    certain
        True if the captures certainly hold the same connection. Otherwise they hold connections
        between the same ends at the same time, which may be different connections.
    sender
        The address and the port of the end that decides which capture is the best one. This is the
        end that retransmitted most. If both ends retransmitted equally often, it is the end that
        sent the most data. `None` if `certain` is false.
    """

    best: tuple[str, int]
    others: Sequence[tuple[str, int]]
    certain: bool = True
    sender: tuple[str, int] | None = None


@dataclass
class _Seen:
    """A connection as one capture shows it.

    `ends` has the row of each end that sent, and `between` has both ends. If an address translator
    (NAT) lies between two captures, the ends are those of the first capture.
    """

    file: str
    number: int
    ends: dict[_End, Mapping[str, Any]]
    between: frozenset[_End]

    @property
    def span(self) -> tuple[int, int]:
        row = next(iter(self.ends.values()))
        return row["t_ns"], row["t_ns"] + row["duration_ns"]

    @property
    def packets(self) -> int:
        return sum(row["packets"] for row in self.ends.values())


def shared_connections(
    rows: Iterable[tuple[str, int, Mapping[str, Any]]],
) -> list[SharedConnection]:
    """Return the connections that several captures hold.

    Two captures certainly hold the same connection if the addresses, ports and initial sequence
    numbers are equal in both captures. Behind an address translator (NAT), the addresses and ports
    differ; then the initial sequence numbers of both ends must be known and equal. If a file has
    several connections between the two ends, the times must also overlap. For two captures of one
    run, equal addresses and ports and overlapping times are enough.

    Every simulated run uses the same addresses, numbers and times. So these values do not prove
    that two simulated captures hold the same connection. Captures of different runs have no
    connection in common. For a simulated capture outside of its run's folder, it is not known
    whether another capture holds the same connection.

    Parameters
    ----------
    rows
        For each row of the tables `connections`: the file, the number of the connection, and the
        row with the columns `COLUMNS`.
    """
    found: dict[tuple[str, int], _Seen] = {}
    for file, number, row in rows:
        ends = tuple((row[end], row[f"{end}_port"]) for end in ("source", "destination"))
        one = found.setdefault((file, number), _Seen(file, number, {}, frozenset(ends)))
        one.ends[ends[0]] = row
    _undo_translations(found.values())
    alike: dict[frozenset[_End], list[_Seen]] = {}
    for one in found.values():
        alike.setdefault(one.between, []).append(one)
    runs = {file: _run_of(file) for file in {file for file, _ in found}}
    return [one for seen in alike.values() for one in _shared(seen, runs)]


def _undo_translations(seen: Iterable[_Seen]) -> None:
    """Give connections the ends of the first capture that shows them.

    An address translator changes addresses and ports, but not sequence numbers. Real ends choose
    random initial numbers, so equal numbers of both ends show the same connection. The ends of a
    simulated connection begin with the same number.
    """
    firsts: dict[frozenset[int], _Seen] = {}
    for one in seen:
        numbers = {row["initial_seq"]: row for row in one.ends.values()}
        if len(numbers) < 2 or None in numbers:
            continue
        first = firsts.setdefault(frozenset(numbers), one)
        if first.file != one.file and first.between != one.between:
            ends = {row["initial_seq"]: end for end, row in first.ends.items()}
            one.ends = {ends[number]: row for number, row in numbers.items()}
            one.between = first.between


def _shared(seen: Sequence[_Seen], runs: Mapping[str, Path | None]) -> Iterator[SharedConnection]:
    """Yield the connections between two ends that several captures hold.

    If a file has several connections between the two ends, only connections that overlap in time
    can be the same. So only overlapping connections are compared.
    """
    files = {one.file for one in seen}
    if len(files) < 2:
        return
    alone = len(files) == len(seen)
    earlier = _overlapping(seen)
    groups: dict[int, list[_Seen]] = {}
    for place, one in enumerate(seen):
        firsts = [*groups] if alone else [first for first in earlier[place] if first in groups]
        others = (groups[n] for n in firsts if all(member.file != one.file for member in groups[n]))
        match = next((g for g in others if _same(g[0], one, runs, alone=alone)), None)
        if match is None:
            groups[place] = [one]
        else:
            match.append(one)
    yield from (_chosen(group) for group in groups.values() if len(group) > 1)
    pairs = [(first, second) for second in groups for first in earlier[second] if first in groups]
    for first, second in ((seen[n], seen[m]) for n, m in sorted(pairs)):
        if first.file != second.file and _may_be_same(first, second, runs):
            other = (second.file, second.number)
            yield SharedConnection((first.file, first.number), [other], certain=False)


def _overlapping(seen: Sequence[_Seen]) -> list[list[int]]:
    """Return a list for each connection: the indices of connections that overlap it in time.

    The indices are those of `seen`. A list holds only indices below the connection's own index. The
    work grows with the number of connections and of overlapping pairs.
    """
    spans = [one.span for one in seen]
    found: list[list[int]] = [[] for _ in seen]
    active: list[int] = []
    for place in sorted(range(len(seen)), key=spans.__getitem__):
        active = [other for other in active if spans[other][1] >= spans[place][0]]
        for other in active:
            found[max(place, other)].append(min(place, other))
        active.append(place)
    for places in found:
        places.sort()
    return found


def _run_of(file: str) -> Path | None:
    """Return the run's folder that holds a capture, or `None` if no such folder holds it."""
    folder = Path(file).resolve().parent
    return folder if (folder / _core.RUN_SCENARIO).is_file() else None


def _same(one: _Seen, other: _Seen, runs: Mapping[str, Path | None], *, alone: bool) -> bool:
    """Return whether two captures certainly show the same connection between the same ends.

    `alone` says that no file holds several connections between these ends.
    """
    if not _may_be_same(one, other, runs, at_the_same_time=False):
        return False
    if runs[one.file] is not None and runs[one.file] == runs[other.file]:
        return _overlap(one, other)
    numbers = [first for first, second in _numbers(one, other) if None not in (first, second)]
    # The two ends of a simulated connection begin with the same sequence number. Real ends choose
    # random numbers.
    simulated = len(numbers) > 1 and len(set(numbers)) == 1
    return bool(numbers) and not simulated and (alone or _overlap(one, other))


def _may_be_same(
    one: _Seen,
    other: _Seen,
    runs: Mapping[str, Path | None],
    *,
    at_the_same_time: bool = True,
) -> bool:
    """Return whether connections between the same ends may be the same connection.

    If `at_the_same_time` is true, connections whose times do not overlap are different.
    """
    own, others = runs[one.file], runs[other.file]
    if own is not None and others is not None and own != others:
        return False
    if any(None not in pair and pair[0] != pair[1] for pair in _numbers(one, other)):
        return False
    return not at_the_same_time or _overlap(one, other)


def _numbers(one: _Seen, other: _Seen) -> list[tuple[int | None, int | None]]:
    """Return, for each end that both captures show, its initial sequence number in each capture."""
    both = one.ends.keys() & other.ends.keys()
    return [(one.ends[end]["initial_seq"], other.ends[end]["initial_seq"]) for end in both]


def _overlap(one: _Seen, other: _Seen) -> bool:
    (began, ended), (began_too, ended_too) = one.span, other.span
    return bool(began <= ended_too and began_too <= ended)


#: The nearest capture to a sender shows the longest minimum round trip. Another capture counts as
#: equally near if its minimum round trip is at least `_EQUALLY_NEAR_SHARE` times the longest.
_EQUALLY_NEAR_SHARE = 0.9


def _chosen(group: Sequence[_Seen]) -> SharedConnection:
    """Choose the capture that is nearest to the end that retransmitted most.

    If both ends retransmitted equally often, the end that sent the most data decides. Only a
    capture near this end shows all retransmissions of this end. A capture far from this end lacks
    originals that were lost before they reached the capture. A capture nearer to the sender shows
    a longer minimum round trip. If several captures are equally near, choose the capture with the
    most packets.
    """
    sent: dict[_End, tuple[int, int]] = {}
    for one in group:
        for end, row in one.ends.items():
            own = (row["retransmissions"], row["unique_bytes"])
            sent[end] = max(sent.get(end, (0, 0)), own)
    sender = max(sent, key=sent.__getitem__)
    trips = [one.ends.get(sender, {}).get("rtt_ns_min") or 0 for one in group]
    near = [
        one
        for one, trip in zip(group, trips, strict=True)
        if trip >= _EQUALLY_NEAR_SHARE * max(trips)
    ]
    best = max(near, key=lambda one: one.packets)
    others = [(one.file, one.number) for one in group if one is not best]
    if sender in best.ends:
        row = best.ends[sender]
        sender = row["source"], row["source_port"]
    return SharedConnection((best.file, best.number), others, sender=sender)
