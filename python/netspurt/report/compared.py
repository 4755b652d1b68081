"""The section that compares two runs, two captures, or a run and a capture."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from netspurt.analysis.compare import RunComparison, Seen, compare, events, parting, why
from netspurt.analysis.outcomes import faster, outcome_of
from netspurt.captures import Explained
from netspurt.pictures.view import connection_of
from netspurt.report.captures import capture_part
from netspurt.report.drawn import BUDGET
from netspurt.report.flows import FlowDirection, Found, Room, directions_with_data
from netspurt.report.parts import Flow, Group, Part, Parting, Rows, Section, Side
from netspurt.report.runs import run_part
from netspurt.report.two_points import sentences
from netspurt.run import Run
from netspurt.table import optional
from netspurt.wording import counted


@dataclass(frozen=True)
class Subject:
    """A run or a capture of a comparison.

    Attributes
    ----------
    run
        The run or the capture.
    name
        Its name on the page.
    lines
        Of a run, the lines that `netspurt run` prints of its requests, populations and echo probes.
        Of a capture, the lines that `netspurt explain` prints.
    """

    run: Run | Explained
    name: str
    lines: Sequence[str] = ()


def compared_section(subjects: Sequence[Subject], room: int = BUDGET) -> Section:
    """Return the section of two runs or captures, drawn on the same axes.

    The times of each direction count from its first data. If both are runs, the directions with
    equal names are compared segment by segment. If a capture is compared, or if no names are equal,
    one direction of each is compared: the direction with the most data. If these directions of two
    captures belong to the same connection, they are not compared. Then the section says what both
    captures together show of this connection.
    """
    told = [_part(one, side, Room(room // 2)) for side, one in enumerate(subjects)]
    sides = [
        Side(
            one.name,
            [_from_first_data(one.run, flow) for flow in found.flows],
            "not seen in this capture" if isinstance(one.run, Explained) else "not recorded",
        )
        for one, (_part_of, found) in zip(subjects, told, strict=True)
    ]
    same = _shared_connection(subjects)
    words, parting = (same[_ANSWER_SENTENCES:], None) if same else _divergence(subjects)
    answers = same[:_ANSWER_SENTENCES] or list(_outcomes(subjects))
    titles = [one.name for one in subjects]
    groups = (Group(sides, parting=parting),) if all(side.flows for side in sides) else ()
    what = "capture" if isinstance(subjects[0].run, Explained) else "run"
    parts = [replace(part, tables=part.tables[1:]) for part, _ in told]
    tables = _directions([part.tables[0] for part, _ in told], titles, what)
    return Section(" and ".join(titles), parts, answers, words, tables, groups)


def _directions(both: Sequence[Rows], names: Sequence[str], what: str) -> list[Rows]:
    """Return the tables of the directions of two subjects. They take the full width of the page.

    If both tables have the same columns, they become one table. In this table, rows with equal
    names are neighbours, and one more column names the subject. The heading of this column is
    `what`.
    """
    first, second = both
    if first.head != second.head:
        return [
            replace(rows, caption=f"{name}: {rows.caption}")
            for rows, name in zip(both, names, strict=True)
        ]
    rows = [
        (place, side, (*row[:2], name, *row[2:]))
        for side, (name, table) in enumerate(zip(names, both, strict=True))
        for row in table.rows
        for place in [_place(row, first)]
    ]
    rows.sort(key=lambda one: one[:2])
    head = (*first.head[:2], what, *first.head[2:])
    right = [column + 1 for column in first.right]
    every = [row for _, _, row in rows]
    more = first.more + second.more
    return [Rows(first.caption, head, every, right, more=more, elsewhere=first.elsewhere)]


def _place(row: Sequence[str], table: Rows) -> int:
    """Return the index of the first row of a table that has the names of `row`.

    If no row has these names, return the number of rows. The names are the first two cells.
    """
    names = [tuple(own[:2]) for own in table.rows]
    return names.index(tuple(row[:2])) if tuple(row[:2]) in names else len(names)


def _part(one: Subject, side: int, room: Room) -> tuple[Part, Found]:
    if isinstance(one.run, Explained):
        return capture_part(one.run, one.name, one.lines, room, side)
    return run_part(one.run, one.name, one.lines, room, side)


def _from_first_data(run: Run | Explained, flow: Flow) -> Flow:
    """Return a flow with times that count from its first data."""
    segments = optional(run, "segments")
    direction = next((one for one in directions_with_data(run) if one.name == flow.name), None)
    if segments is None or direction is None:
        return flow
    own = segments.where(flow=direction.flow, direction=direction.direction)
    data = own.select(own["len_bytes"] > 0)
    return replace(flow, zero_s=float(data.seconds().min())) if len(data) else flow


#: If two captures hold the same connection, the first sentences answer two questions: which
#: connection it is, and what was lost. This is the number of these sentences.
_ANSWER_SENTENCES = 2


def _shared_connection(subjects: Sequence[Subject]) -> list[str]:
    """Return sentences on the connection that both captures hold, or none if they share none."""
    captures = [one.run for one in subjects if isinstance(one.run, Explained)]
    if len(captures) < len(subjects):
        return []
    try:
        ((first, second), *_) = _pairs(*captures)
    except ValueError:
        return []
    numbers = [connection_of(direction.flow) for direction in (first, second)]
    return sentences(captures, numbers, [one.name for one in subjects])


#: The maximum number of directions with a sentence that says which run was faster.
_MOST_ANSWERED = 3


def _outcomes(subjects: Sequence[Subject]) -> Iterator[str]:
    """Yield a sentence for each compared direction: which of the two runs or captures was faster.

    The directions with the most data come first. If there are more than `_MOST_ANSWERED`
    directions, the last sentence counts the other directions.
    """
    first, second = subjects
    try:
        pairs = _pairs(first.run, second.run)
    except ValueError:
        return
    told: list[tuple[int, str]] = []
    for one, other in pairs:
        both = (
            outcome_of(first.run, one.flow, one.direction),
            outcome_of(second.run, other.flow, other.direction),
        )
        if both[0] is None or both[1] is None:
            continue
        known = (both[0], both[1])
        sentence = f"{one.name}: {faster((first.name, second.name), known)}."
        told.append((sum(each.acked_bytes for each in known), sentence))
    told.sort(key=lambda one: -one[0])
    yield from (sentence for _, sentence in told[:_MOST_ANSWERED])
    if len(told) > _MOST_ANSWERED:
        yield f"... {counted(len(told) - _MOST_ANSWERED, 'more direction')}"


#: The maximum number of directions of two runs that are compared.
_MOST_COMPARED = 50

#: The words on the instant from which the times of a comparison count.
_FROM_FIRST = ", with times counted from the first data of each"


def _divergence(subjects: Sequence[Subject]) -> tuple[list[str], Parting | None]:
    """Compare two runs or captures; return sentences, and the earliest difference, if any."""
    first, second = subjects
    try:
        pairs = _pairs(first.run, second.run)
    except ValueError as error:
        return [f"The runs or captures are not compared segment by segment: {error}."], None
    blind = [one.name for one in subjects if optional(one.run, "segments") is None]
    if blind:
        return [
            f"The runs are not compared segment by segment: {' and '.join(blind)} recorded no "
            "segments. Add `segments` to `tables` under [record]."
        ], None
    found, unseen = [], []
    for pair in pairs:
        try:
            seen = [
                _seen(one.run, direction) for one, direction in zip(subjects, pair, strict=True)
            ]
        except ValueError:
            unseen.append(pair[0].name)
            continue
        found.append(_of_pair(pair, seen))
    left_out = [
        f"{one} is not compared segment by segment: no segment was recorded at its sender. Add the "
        "sender to `spy` under [record]."
        for one in unseen
    ]
    if not found:
        return left_out, None
    pairs = [pair for pair in pairs if pair[0].name not in unseen]
    count = sum(one.at_s < math.inf for one in found)
    earliest = min(found, key=lambda one: one.at_s)
    words = [*_named(pairs, subjects), *left_out]
    if len(pairs) > 1 and count:
        words.append(
            f"{count} of {len(pairs)} directions with data differ{_FROM_FIRST}; the first to "
            f"differ is {earliest.names[0]}."
        )
    if len(pairs) == 1 or count:
        words += earliest.words
    if not count:
        which = f"The {len(pairs)} directions with data" if len(pairs) > 1 else "The two directions"
        return [*words, f"{which} never differ{_FROM_FIRST}."], None
    sentence = earliest.sentence(subjects)
    return [*words, sentence], Parting(earliest.at_s, sentence, earliest.names)


def _pairs(
    first: Run | Explained, second: Run | Explained
) -> list[tuple[FlowDirection, FlowDirection]]:
    """Return the directions to compare.

    If both are runs, these are the directions with equal names. If a capture is compared, or if no
    names are equal, one direction of each is compared: the direction with the most data.

    Raises
    ------
    ValueError
        If one of the runs or captures has no direction with data.
    """
    every = [directions_with_data(one) for one in (first, second)]
    for one, found in zip((first, second), every, strict=True):
        if not found:
            raise ValueError(f"{one.title} has no flow with data")
    if isinstance(first, Run) and isinstance(second, Run):
        there = {direction.name for direction in every[1]}
        shared = [(direction, direction) for direction in every[0] if direction.name in there]
        if shared:
            return shared[:_MOST_COMPARED]
    return [(every[0][0], every[1][0])]


def _named(
    pairs: Sequence[tuple[FlowDirection, FlowDirection]], subjects: Sequence[Subject]
) -> Iterator[str]:
    """Yield which direction is compared with which other direction, if their names differ."""
    first, second = subjects
    for one, other in pairs:
        if one.name != other.name:
            yield f"{one.name} of {first.name} is compared with {other.name} of {second.name}."


@dataclass(frozen=True)
class _Compared:
    """The comparison of a direction in two runs or captures.

    Attributes
    ----------
    names
        The name of the direction in each of the two runs or captures.
    words
        Sentences on the events that are equal in both runs or captures.
    told
        The result of the comparison.
    cause
        Why the two runs or captures differ. The text is empty if the reason is not known, or if
        they do not differ.
    at_s
        When the two runs or captures first differ [s]. It is infinite if they never differ.
    """

    names: tuple[str, str]
    words: Sequence[str]
    told: RunComparison
    cause: str
    at_s: float

    def sentence(self, subjects: Sequence[Subject]) -> str:
        """Say when the two runs or captures first differ, and what each does then."""
        both = zip(subjects, parting(self.told), strict=True)
        doing = "; ".join(f"{one.name} {told}" for one, told in both)
        cause = f": {self.cause}" if self.cause else ""
        return f"First divergence at {self.at_s:.4f} s{cause}. {doing}."


def _of_pair(pair: tuple[FlowDirection, FlowDirection], seen: Sequence[list[Seen]]) -> _Compared:
    first, second = seen
    told = compare(first, second)
    parted = [event.t_s for event in told.parted if event is not None]
    cause = why(told, first, second) if parted else ""
    names = (pair[0].name, pair[1].name)
    words = list(_alike(told, first))
    return _Compared(names, words, told, cause, min(parted, default=math.inf))


def _alike(told: RunComparison, first: list[Seen]) -> Iterator[str]:
    alike = first[: told.same]
    if not alike:
        return
    data = sum(event.key[1] == "data" for event in alike)
    most = 1e3 * float(np.abs(told.differences_s).max())
    yield (
        f"Both show the same events for {alike[-1].t_s:.3f} s: {counted(data, 'segment')}, "
        f"{counted(len(alike) - data, 'ACK')}; their times differ by at most {most:.3f} ms."
    )


def _seen(run: Run | Explained, direction: FlowDirection) -> list[Seen]:
    """Return the events of a direction, as seen at its sender."""
    segments = run.table("segments")
    seen = events(segments, direction.flow, _node(run, direction))
    if not isinstance(run, Explained) or direction.direction == "forward":
        return seen
    # In a capture, `out` and `in` are from the initiator's view in both directions. Here they must
    # be from the sender's view.
    other = {"out": "in", "in": "out"}
    return [replace(one, key=(other[one.key[0]], *one.key[1:])) for one in seen]


def _node(run: Run | Explained, direction: FlowDirection) -> str:
    """Return the node that sends in a direction."""
    sums = run.table("flows").where(flow=direction.flow, direction=direction.direction)
    return str(sums["from"][0])
