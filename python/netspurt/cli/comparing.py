"""`netspurt compare` compares two runs of a flow, segment by segment.

An event is a packet that a node sends, receives or forwards. A population is many connections of
one kind.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from netspurt.causes import in_words
from netspurt.cli.compared import (
    ComparedDirection,
    compared_directions,
    flow_of_each,
    sender_of,
    titled,
)
from netspurt.cli.ended import outcome_data, outcome_lines
from netspurt.cli.opening import is_explained, is_run, open_tables
from netspurt.cli.options import Direction, span_of
from netspurt.cli.output import columns, fitted, hint_at_direction, named
from netspurt.cli.paired import as_data, paired
from netspurt.cli.paired import lines as pair_lines
from netspurt.cli.programs import AsCsv, AsJson, Form
from netspurt.wording import counted

if TYPE_CHECKING:
    from netspurt.analysis.compare import RunComparison, Seen
    from netspurt.analysis.paired import Pairs
    from netspurt.analysis.settings import Difference
    from netspurt.captures import Explained
    from netspurt.plots import View
    from netspurt.run import Run

#: The number of events that are shown from the first difference on. The two events before the
#: difference are also shown.
_AROUND = 4


def compare(
    first: Annotated[Path, typer.Argument(help="A run folder or a capture.", show_default=False)],
    second: Annotated[Path, typer.Argument(help="Another run or capture.", show_default=False)],
    flow: Annotated[
        str | None,
        typer.Option(
            help="The flow. By default the only common flow; in a capture the connection with the "
            "most data. A,B compares flow A of the first run with flow B of the second."
        ),
    ] = None,
    direction: Direction = None,
    node: Annotated[
        str | None,
        typer.Option(help="The observing node of a run; by default the direction's sender."),
    ] = None,
    span: Annotated[
        float | None,
        typer.Option(
            parser=span_of,
            metavar="TIME",
            help="Compare only the first TIME: 12.5 or 200ms; by default until one run ends.",
        ),
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Draw both time-sequence plots side by side: .png, .svg or .pdf.",
        ),
    ] = None,
    as_csv: AsCsv = False,
    as_json: AsJson = False,
) -> None:
    """Say which of two runs or captures was faster, and show their first difference.

    Runs are aligned segment by segment, and populations connection by connection. For two captures
    that hold the same connection, the text says what the path did between the capture points.

    CSV has a row for each event, with its times in both runs, or a row for each population. JSON
    also has these rows.
    """
    from netspurt.analysis.compare import compare as align

    form = Form(as_json, as_csv)
    flows = flow_of_each((first, second), flow)
    runs = [open_tables(path, name) for path, name in zip((first, second), flows, strict=True)]
    if flow is None and (pairs := paired(runs)) is not None:
        _tell_pairs(runs, pairs, form)
        return
    directions = compared_directions(runs, flows, direction, node)
    found = _events_of(runs, directions, span)
    seen, aligned = found.compared, align(*found.compared)
    changed = _scenario_differences(runs)
    if plot is not None:
        _draw(plot, aligned, (runs, seen), [way.view() for way in directions])
    if not form.for_people:
        document = _as_json(aligned, directions[0]) | _details(aligned, seen, changed)
        document["spurious"] = list(aligned.spurious) if all(map(is_run, runs)) else None
        document |= {"span_s": found.span_s, "outcomes": outcome_data(runs, directions)}
        document["two_points"] = _at_two_points(runs, directions, _names(runs))
        form.print(document, document["events"])
        return
    names = _names(runs)
    lines = _at_two_points(runs, directions, names) or _all_lines(
        found, aligned, changed, (runs, directions)
    )
    drawn = [] if plot is None else [str(plot)]
    typer.echo("\n".join(fitted([*_chosen(runs, flows, directions, names), *lines, *drawn])))
    if direction is None and is_run(runs[0]):
        hint_at_direction(runs[0], directions[0].flow, directions[0].direction)


def _chosen(
    runs: list[Run | Explained],
    flows: list[str | None],
    directions: list[ComparedDirection],
    names: list[str],
) -> list[str]:
    """Return lines on connections that the command chose because the user named none."""
    lines = []
    for run, flow, way, name in zip(runs, flows, directions, names, strict=True):
        connections = set(run.flows["flow"]) if is_explained(run) else set()
        if len(connections) > 1 and flow not in connections:
            lines.append(
                f"{name}: {way.flow} is compared, because it has the most data of "
                f"{counted(len(connections), 'connection')}; --flow chooses another"
            )
    return lines


def _at_two_points(
    runs: list[Run | Explained], directions: list[ComparedDirection], names: list[str]
) -> list[str]:
    """Return lines on the connection that two captures share, or no lines if they share none."""
    from netspurt.pictures.view import connection_of
    from netspurt.report.two_points import sentences

    captures = [run for run in runs if is_explained(run)]
    if len(captures) < len(runs):
        return []
    return sentences(captures, [connection_of(way.flow) for way in directions], names)


def _all_lines(
    found: _Events,
    aligned: RunComparison,
    changed: list[Difference] | None,
    compared: tuple[list[Run | Explained], list[ComparedDirection]],
) -> list[str]:
    """Return the lines on two runs: how each ended, where they begin to differ, and why."""
    from netspurt.analysis.compare import compare as align

    runs, directions = compared
    names, seen = _names(runs), found.compared
    parts = [
        outcome_lines(runs, directions, names),
        [*_shared_span(found.ends_s, names), *_lines(aligned, seen, names, directions)],
        _retransmission_lines(align(*found.counted), names, directions, all(map(is_run, runs))),
        _differences(found.counted, names),
        settings_lines(changed, names),
        _early_acks(runs, directions, seen, names),
    ]
    return list(itertools.chain.from_iterable(parts))


def _scenario_differences(runs: list[Run | Explained]) -> list[Difference] | None:
    """Return the differences of the scenarios of two runs, or `None` if one is a capture."""
    from netspurt.analysis.settings import differences

    scenarios = [run.scenario for run in runs if is_run(run)]
    return differences(*scenarios) if len(scenarios) == len(runs) else None


def _tell_pairs(runs: list[Run | Explained], pairs: list[Pairs], form: Form) -> None:
    """Print the comparison of the populations of both runs, and of the runs' scenarios."""
    changed = _scenario_differences(runs)
    data = as_data(pairs)
    if not form.for_people:
        document = {
            "populations": data,
            "scenarios": [vars(difference) for difference in changed or ()],
        }
        form.print(document, data)
        return
    names = _names(runs)
    for line in (*pair_lines(runs, pairs, names), *settings_lines(changed, names)):
        typer.echo(line)


def _early_acks(
    runs: list[Run | Explained],
    directions: list[ComparedDirection],
    seen: list[list[Seen]],
    names: list[str],
) -> Iterator[str]:
    """Yield a line for each run in which the ACK of the handshake may compete with the data.

    This ACK may take a place in a queue that the data needs.
    """
    from netspurt.analysis.compare import opening

    for run, way, own, name in zip(runs, directions, seen, names, strict=True):
        if not is_run(run):
            continue
        gap = opening(run.segments, way.flow, way.node)
        opens = way.node == sender_of(run, way.flow)
        if opens and gap is not None and gap < _first_round_trip(own):
            yield (
                f"in {name} the ACK of the handshake left {1e3 * gap:.1f} ms before the first data "
                "segment, so this ACK may take a place in a queue that the data needs"
            )


@dataclass(frozen=True)
class _Events:
    """The events of a flow at a node in both runs.

    Attributes
    ----------
    compared
        The events within the span.
    counted
        The events whose causes are counted. If no span is given, these are all events, as in the
        table of outcomes. Otherwise they are the events of `compared`.
    span_s
        The compared time, from the first data on [s].
    ends_s
        For each run, the time from its first data to its end [s]. The list is empty if a span is
        given.
    """

    compared: list[list[Seen]]
    counted: list[list[Seen]]
    span_s: float
    ends_s: list[float]


def _events_of(
    runs: list[Run | Explained], directions: list[ComparedDirection], span: float | None
) -> _Events:
    """Return the events of both runs. Without `span`, the span ends when one of the runs ends."""
    every = [way.events(run) for run, way in zip(runs, directions, strict=True)]
    if any(is_explained(run) for run in runs):
        every = [[_as_captured(event) for event in own] for own in every]
    ends = [run.stop_ns / 1e9 - own[0].at_s for run, own in zip(runs, every, strict=True)]
    until = min(ends) if span is None else span
    seen = [[event for event in own if event.t_s <= until] for own in every]
    return _Events(seen, every, until, ends) if span is None else _Events(seen, seen, until, [])


#: If the duration of one run is more than `_LONGER` times the duration of the other run, a line
#: says which time is compared.
_LONGER = 1.01


def _shared_span(ends: list[float], names: list[str]) -> list[str]:
    """Return a line on the compared time, if one run lasts longer. Ends are in seconds."""
    if not ends or max(ends) <= _LONGER * min(ends):
        return []
    longer = ends.index(max(ends))
    line = (
        f"events are compared for the first {min(ends):.3f} s, until one of the runs is over "
        f"({names[longer]} lasts {max(ends):.3f} s). But retransmissions and causes of sending are "
        "counted to the end of each run"
    )
    return [line]


#: Causes of retransmissions that a capture cannot tell apart. It cannot tell `fast` from them,
#: either, but `fast` keeps its name.
_SAME_IN_CAPTURES = ("sack-recovery", "rack")


def _as_captured(event: Seen) -> Seen:
    """Return an event with one name for the causes in `_SAME_IN_CAPTURES`."""
    return (
        replace(event, cause=" or ".join(_SAME_IN_CAPTURES))
        if event.cause in _SAME_IN_CAPTURES
        else event
    )


def _details(
    comparison: RunComparison, seen: list[list[Seen]], changed: list[Difference] | None
) -> dict[str, Any]:
    from netspurt.analysis.compare import mechanisms, why

    return {
        "why": why(comparison, seen[0], seen[1]),
        "mechanisms": [mechanisms(own) for own in seen],
        "events": _events(seen),
        "scenarios": [vars(difference) for difference in changed or ()],
    }


#: At most `_KEYS_MAX` keys of scenarios are shown. A shown value has at most `_VALUE_MAX`
#: characters.
_KEYS_MAX, _VALUE_MAX = 12, 40


def settings_lines(changed: list[Difference] | None, names: list[str]) -> list[str]:
    """Return lines on the keys with different values in the scenarios of the two runs.

    There are no lines if one of the files is a capture.
    """
    if changed is None:
        return []
    if not changed:
        return ["the scenarios are the same"]
    # A flow's key `endpoint` chooses the simulator's TCP (the model's) or the kernel's TCP. If
    # `endpoint` differs, only one of the runs has the keys of the simulator's TCP.
    ends = tuple(
        f"{difference.key.removesuffix('endpoint')}tcp."
        for difference in changed
        if difference.key.endswith(".endpoint")
    )
    modelled = [
        difference
        for difference in changed
        if difference.key.startswith(ends) and None in (difference.first, difference.second)
    ]
    shown = [difference for difference in changed if difference not in modelled]
    rows = [("key", *names)]
    rows += [(own.key, _value(own.first), _value(own.second)) for own in shown[:_KEYS_MAX]]
    lines = ["the scenarios differ:", *(f"  {line}" for line in columns(rows))]
    if len(shown) > _KEYS_MAX:
        lines.append(f"  ... {len(shown) - _KEYS_MAX} more keys; --json has all")
    if modelled:
        keys = counted(len(modelled), "key")
        lines.append(f"  ... and {keys} of the model's TCP, which the kernel's TCP does not have")
    return lines


def _value(value: Any) -> str:
    """Return a value in the notation of scenarios. A long value is cut."""
    if value is None:
        return "-"
    text = value if isinstance(value, str) else json.dumps(value, default=str)
    return text if len(text) <= _VALUE_MAX else f"{text[: _VALUE_MAX - 1]}…"


def _differences(seen: list[list[Seen]], names: list[str]) -> list[str]:
    """Return lines on the causes of sending that are more frequent in one run than in the other.

    The cause of sending says why a packet left.
    """
    from netspurt.analysis.compare import mechanisms

    both = [mechanisms(own) for own in seen]
    rows: list[tuple[str, ...]] = []
    for mechanism in dict.fromkeys([*both[0], *both[1]]):
        times = [own.get(mechanism, []) for own in both]
        if len(times[0]) != len(times[1]):
            counts = [str(len(own)) for own in times]
            rows.append((f"{min(times[0] + times[1]):.4f} s", mechanism, *counts))
    if not rows:
        return []
    rows.sort(key=lambda row: float(row[0].split()[0]))
    heading = ("first at", "cause of sending", *names)
    return ["differences:", *(f"  {line}" for line in columns([heading, *rows]))]


def _first_round_trip(seen: list[Seen]) -> float:
    """Return when the first data was acknowledged [s], or infinity if it never was."""
    return next((event.t_s for event in seen if event.key[:2] == ("in", "ack")), float("inf"))


def _draw(
    file: Path,
    comparison: RunComparison,
    both: tuple[list[Run | Explained], list[list[Seen]]],
    views: list[View],
) -> None:
    """Draw the two runs side by side, up to the last of the compared events."""
    from netspurt.plots import save
    from netspurt.plots.beside import ComparedRun, draw_beside

    runs, seen = both
    names = _names(runs)
    starts = [own[0].at_s for own in seen]
    sides = [ComparedRun(*each) for each in zip(runs, names, starts, views, strict=True)]
    parted = [event.t_s for event in comparison.parted if event is not None]
    span = max(own[-1].t_s for own in seen)
    figure = draw_beside((sides[0], sides[1]), span, min(parted, default=None))
    save(figure, [file])


def _events(seen: list[list[Seen]]) -> list[dict[str, Any]]:
    """Return every event of both runs, with both times and their difference."""
    times = [{event.key: event for event in run} for run in seen]
    rows: list[dict[str, Any]] = []
    for key, event in {**times[1], **times[0]}.items():
        first, second = (run[key].t_s if key in run else None for run in times)
        difference = None if first is None or second is None else second - first
        row = {"what": str(event), "first_s": first, "second_s": second, "difference_s": difference}
        rows.append(row)
    return sorted(rows, key=_time_of_row)


def _time_of_row(row: dict[str, Any]) -> float:
    first = row["first_s"]
    return float(row["second_s"] if first is None else first)


def _name_of(run: Run | Explained) -> str:
    return f"{run.folder.name if run.folder else run.title}"


def _names(runs: list[Run | Explained]) -> list[str]:
    """Return two different names for the runs.

    By default, they are the names of the files or folders. If these names are equal, the paths are
    used. If the paths are equal, too, `(first)` and `(second)` are added to them.
    """
    names = [_name_of(run) for run in runs]
    if names[0] == names[1]:
        names = [str(run.folder or run.title) for run in runs]
    if names[0] == names[1]:
        names = [f"{names[0]} (first)", f"{names[1]} (second)"]
    return [named(name) for name in names]


def _lines(
    comparison: RunComparison,
    seen: list[list[Seen]],
    names: list[str],
    directions: list[ComparedDirection],
) -> list[str]:
    from netspurt.analysis.compare import why

    lines = [f"flow {titled(directions)} at {directions[0].node}, from its first data segment on"]
    equal = seen[0][: comparison.same]
    if equal:
        data = sum(event.key[1] == "data" for event in equal)
        largest = 1e3 * float(abs(comparison.differences_s).max())
        lines.append(
            f"same events for {equal[-1].t_s:.3f} s: "
            f"{counted(data, 'segment')}, {counted(len(equal) - data, 'ACK')}; "
            f"their times differ by at most {largest:.3f} ms"
        )
    if comparison.parted == (None, None):
        lines.append("the runs never differ")
    else:
        named = why(comparison, seen[0], seen[1])
        lines.append(f"first divergence{': ' if named else ''}{named}")
        lines += _side_by_side(comparison.same, seen, names)
    if comparison.matched < _COMMON_SHARE_MIN * (comparison.matched + min(comparison.only)):
        return [
            *lines[:1],
            *_nothing_in_common(comparison, seen, names),
            *lines[1:],
        ]
    missing = [f"{n} only in {name}" for name, n in zip(names, comparison.only, strict=True)]
    typical, most = _later(_median(comparison)), _later(_most(comparison))
    matched = (
        f"{comparison.matched} of these events are in both runs, {' and '.join(missing)}; "
        f"the events in both runs come {typical} in {names[1]} (median), {most} at most"
    )
    return [*lines, matched]


#: Two runs have nothing in common, or almost nothing, if the run with fewer events shares less than
#: `_COMMON_SHARE_MIN` of its events with the other run.
_COMMON_SHARE_MIN = 0.05


def _nothing_in_common(
    comparison: RunComparison, seen: list[list[Seen]], names: list[str]
) -> list[str]:
    """Return the lines that replace the comparison of times if runs have little in common."""
    from netspurt.analysis.compare import usual_payload

    shared = (
        "no event" if comparison.matched == 0 else f"only {counted(comparison.matched, 'event')}"
    )
    each = ", ".join(f"{n} only in {name}" for name, n in zip(names, comparison.only, strict=True))
    payloads = [usual_payload(own) for own in seen]
    reason = "they do not carry the same data, or were seen from different ends"
    if None not in payloads and payloads[0] != payloads[1]:
        told = [f"{octets} B in {name}" for octets, name in zip(payloads, names, strict=True)]
        reason = f"most data segments have {' and '.join(told)}"
    nothing = "nothing" if comparison.matched == 0 else "almost nothing"
    return [f"{nothing} in common: {shared} in both, {each}; {reason}, so times cannot be compared"]


#: What a node does with retransmissions that other nodes send, in words.
_OF_OTHERS = {"in": "received by", "through": "forwarded by"}


def _retransmission_lines(
    comparison: RunComparison,
    names: list[str],
    directions: list[ComparedDirection],
    judged: bool,
) -> list[str]:
    """Return lines on retransmissions.

    The first lines are on the retransmissions that the nodes send. The other lines are on
    retransmissions that the nodes receive or forward. If `judged` is true, the tables of both runs
    say which retransmissions are spurious. The tables of captures do not always say so.
    """
    both = comparison.retransmissions
    told = list(zip(names, directions, both, strict=True))
    lines = []
    if any("out" in counts for counts in both) or not any(both):
        lines += [f"retransmissions in {name}: {_tally(own, 'out')}" for name, _, own in told]
        counts = zip(names, comparison.spurious, strict=True)
        if judged and any("out" in own for own in both):
            lines += [f"spurious retransmissions in {name}: {count}" for name, count in counts]
    for way, words in _OF_OTHERS.items():
        if any(way in counts for counts in both):
            lines += [
                f"retransmissions in {name}, {words} {at.node}: {_tally(own, way)}"
                for name, at, own in told
            ]
    return lines


def _tally(counts: dict[str, dict[str, int]], way: str) -> str:
    told = [f"{in_words(cause)} {n}" for cause, n in counts.get(way, {}).items()]
    return ", ".join(told) or "none"


def _later(seconds: float) -> str:
    """Return a difference of times in words: how much later, or how much earlier."""
    word, size = "later" if seconds >= 0 else "earlier", abs(seconds)
    return f"{size:.3f} s {word}" if size >= 1 else f"{1e3 * size:.3f} ms {word}"


def _median(comparison: RunComparison) -> float:
    import numpy as np

    return float(np.median(comparison.all_differences_s)) if comparison.matched else 0.0


def _most(comparison: RunComparison) -> float:
    """Return the difference farthest from zero, in seconds."""
    if not comparison.matched:
        return 0.0
    return float(max(comparison.all_differences_s, key=abs))


def _side_by_side(same: int, seen: list[list[Seen]], names: list[str]) -> list[str]:
    rows: list[tuple[str, ...]] = [("", names[0], "", names[1])]
    for n in range(max(0, same - 2), same + _AROUND):
        cells: list[str] = []
        for run in seen:
            cells += [f"{run[n].t_s:.4f} s", str(run[n])] if n < len(run) else ["-", "-"]
        rows.append(tuple(cells))
    return [f"  {line}" for line in columns(rows)]


def _as_json(comparison: RunComparison, way: ComparedDirection) -> dict[str, Any]:
    def event(seen: Seen | None) -> dict[str, Any] | None:
        return None if seen is None else {"t_s": seen.t_s, "what": str(seen)}

    return {
        "flow": way.flow,
        "node": way.node,
        "same": comparison.same,
        "parted": [event(seen) for seen in comparison.parted],
        "difference_s_max": float(abs(comparison.differences_s).max()) if comparison.same else None,
        "matched": comparison.matched,
        "difference_s_median": _median(comparison) if comparison.matched else None,
        "difference_s_largest": _most(comparison) if comparison.matched else None,
        "only": list(comparison.only),
        "retransmissions": [counts.get("out", {}) for counts in comparison.retransmissions],
        "retransmissions_of_others": [
            {way: causes for way, causes in counts.items() if way != "out"}
            for counts in comparison.retransmissions
        ],
    }
