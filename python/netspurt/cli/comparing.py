"""`netspurt compare`: two runs of one flow, segment by segment."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from netspurt.cli.opening import busiest, is_explained, is_run, open_tables
from netspurt.cli.options import Direction, span_of
from netspurt.cli.output import columns, hint_at_replies, print_json

if TYPE_CHECKING:
    from netspurt.analysis.compare import Comparison, Seen
    from netspurt.captures import Explained
    from netspurt.plots import View
    from netspurt.run import Run

#: Segments shown on either side of the first difference.
_AROUND = 4


def compare(
    first: Annotated[Path, typer.Argument(help="A run folder or a capture.", show_default=False)],
    second: Annotated[Path, typer.Argument(help="Another one.", show_default=False)],
    flow: Annotated[
        str | None,
        typer.Option(
            help="The flow; by default the only one that both have, and in a capture the "
            "connection with most data; A,B names one for each."
        ),
    ] = None,
    direction: Direction = None,
    node: Annotated[
        str | None, typer.Option(help="The observing node; by default the direction's sender.")
    ] = None,
    span: Annotated[
        float | None,
        typer.Option(
            parser=span_of,
            metavar="TIME",
            help="For so long, 12.5 or 200ms; by default as long as both runs go on.",
        ),
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Draw both time-sequence plots side by side: .png, .svg or .pdf.",
        ),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print as JSON, with every event's times.")
    ] = False,
) -> None:
    """Align two runs, or a run and a capture, by segment and show their first difference."""
    from netspurt.analysis.compare import compare as align
    from netspurt.analysis.compare import mechanisms, why
    from netspurt.plots import View

    given = flow is not None or direction is not None
    names_of = _two(flow)
    runs = [open_tables(path, name) for path, name in zip((first, second), names_of, strict=True)]
    ways = _ways(runs, names_of, direction, node)
    seen = [way.events(run) for run, way in zip(runs, ways, strict=True)]
    ends = [run.stop_ns / 1e9 - own[0].at_s for run, own in zip(runs, seen, strict=True)]
    span = min(ends) if span is None else span
    seen = [[event for event in own if event.t_s <= span] for own in seen]
    told = align(seen[0], seen[1])
    if plot is not None:
        views = [View(flow=way.flow, direction=way.direction, node=way.node) for way in ways]
        _draw(plot, told, (runs, seen), views)
    if as_json:
        more = {"why": why(told, seen[0], seen[1]), "span_s": span, "events": _events(seen)}
        more["mechanisms"] = [mechanisms(own) for own in seen]
        print_json(_as_json(told, ways[0].flow, ways[0].node) | more)
        return
    names = [_called(run) for run in runs]
    for line in _lines(told, seen, names, (ways[0].titled, ways[0].node)):
        typer.echo(line)
    for line in _differences(seen, names):
        typer.echo(line)
    for line in _openings(runs, ways, seen, names):
        typer.echo(line)
    if plot is not None:
        typer.echo(plot)
    if not given and is_run(runs[0]):
        hint_at_replies(runs[0])


def _openings(
    runs: list[Run | Explained], ways: list[_Way], seen: list[list[Seen]], names: list[str]
) -> Iterator[str]:
    """Yield a line for each run in which the handshake's ACK left shortly before the data."""
    from netspurt.analysis.compare import opening

    for run, way, own, name in zip(runs, ways, seen, names, strict=True):
        if not is_run(run):
            continue
        gap = opening(run.segments, way.flow, way.node)
        opens = way.node == _sender(run, way.flow)
        if opens and gap is not None and gap < _first_round_trip(own):
            yield (
                f"in {name} the ACK of the handshake left {1e3 * gap:.1f} ms before the first data "
                "segment, so it may take a place in a queue that the data needs"
            )


@dataclass(frozen=True)
class _Way:
    """What is compared of a run: a flow, one of its directions, and the node that observed it."""

    flow: str
    direction: str | None
    node: str

    @property
    def titled(self) -> str:
        """The flow and the direction in words."""
        return self.flow if self.direction in (None, "forward") else f"{self.flow} (reverse)"

    def events(self, run: Run | Explained) -> list[Seen]:
        """Return what was observed, as the sender of the direction has it."""
        from netspurt.analysis.compare import events

        seen = events(run.segments, self.flow, self.node)
        if not is_explained(run) or self.direction in (None, "forward"):
            return seen
        # A capture has the initiator's view of both directions.
        other = {"out": "in", "in": "out"}
        return [replace(one, key=(other[one.key[0]], *one.key[1:])) for one in seen]


def _two(flow: str | None) -> list[str | None]:
    """Return the flow of each run: one name is that of both, and `A,B` names two."""
    first, comma, second = (flow or "").partition(",")
    return [first or None, (second if comma else first) or None]


def _ways(
    runs: list[Run | Explained],
    flows: list[str | None],
    direction: str | None,
    node: str | None,
) -> list[_Way]:
    """Return what is compared of each run."""
    if not any(is_explained(run) for run in runs):
        common = flows[0] or _common_flow(runs)
        flows = [flows[0] or common, flows[1] or common]
    ways: list[_Way] = []
    for run, given in zip(runs, flows, strict=True):
        named = None if given is None else (given, direction)
        if is_explained(run):
            known = given if given in run.flows["flow"] else None
            chosen = (known, direction) if known else busiest(run)
            if chosen is None:
                raise ValueError(f"{run.path} has no data to compare")
            ways.append(_Way(chosen[0] or "", direction or chosen[1], "capture"))
        elif is_run(run):
            name, way = named or (_first_flow(run), direction)
            ways.append(_Way(name, way, node or _sender(run, name, way)))
    return ways


def _first_flow(run: Run) -> str:
    """Return the only flow of a run."""
    names = list(dict.fromkeys(str(flow) for flow in run.flows["flow"]))
    if len(names) != 1:
        raise ValueError(f"the run has the flows {', '.join(names)}: name one with --flow")
    return names[0]


def _differences(seen: list[list[Seen]], names: list[str]) -> list[str]:
    """Return lines on the causes of sending that are more frequent in one run than in the other."""
    from netspurt.analysis.compare import mechanisms

    both = [mechanisms(own) for own in seen]
    rows: list[tuple[str, ...]] = []
    for what in dict.fromkeys([*both[0], *both[1]]):
        times = [own.get(what, []) for own in both]
        if len(times[0]) != len(times[1]):
            counts = [str(len(own)) for own in times]
            rows.append((f"{min(times[0] + times[1]):.4f} s", what, *counts))
    if not rows:
        return []
    rows.sort(key=lambda row: float(row[0].split()[0]))
    heading = ("first at", "cause of sending", *names)
    return ["differences:", *(f"  {line}" for line in columns([heading, *rows]))]


def _first_round_trip(seen: list[Seen]) -> float:
    """Return when the first data was acknowledged, in seconds; infinite if it never was."""
    return next((event.t_s for event in seen if event.key[:2] == ("in", "ack")), float("inf"))


def _draw(
    file: Path,
    told: Comparison,
    both: tuple[list[Run | Explained], list[list[Seen]]],
    views: list[View],
) -> None:
    """Draw the two runs side by side, until neither has anything more to show."""
    from netspurt.plots import save
    from netspurt.plots.beside import Side, draw_beside

    runs, seen = both
    names = [_called(run) for run in runs]
    if names[0] == names[1]:
        names = [str(run.folder) for run in runs]
    starts = [own[0].at_s for own in seen]
    sides = [Side(*each) for each in zip(runs, names, starts, views, strict=True)]
    parted = [event.t_s for event in told.parted if event is not None]
    span = max(own[-1].t_s for own in seen)
    figure = draw_beside((sides[0], sides[1]), span, min(parted, default=None))
    save(figure, [file])


def _events(seen: list[list[Seen]]) -> list[dict[str, Any]]:
    """Return every event of both runs: its times, and the second's less the first's."""
    times = [{event.key: event for event in run} for run in seen]
    rows: list[dict[str, Any]] = []
    for key, event in {**times[1], **times[0]}.items():
        first, second = (run[key].t_s if key in run else None for run in times)
        off = None if first is None or second is None else second - first
        told = {"what": str(event), "first_s": first, "second_s": second, "difference_s": off}
        rows.append(told)
    return sorted(rows, key=_moment)


def _moment(row: dict[str, Any]) -> float:
    first = row["first_s"]
    return float(row["second_s"] if first is None else first)


def _common_flow(runs: list[Run | Explained]) -> str:
    own, other = (dict.fromkeys(str(flow) for flow in run.flows["flow"]) for run in runs)
    both = [flow for flow in own if flow in other]
    if len(both) != 1:
        count = ", ".join(both) if both else "none"
        raise ValueError(f"flows that both runs have: {count}; name one with --flow")
    return both[0]


def _sender(run: Run, flow: str, direction: str | None = None) -> str:
    """Return the node that sends in a direction of a flow, by default forward."""
    rows = run.flows.where(flow=flow, direction="forward")
    if len(rows) == 0:
        there = ", ".join(list(dict.fromkeys(run.flows["flow"].tolist()))[:8])
        raise ValueError(f"the run has no flow {flow}: there are {there}")
    return str(rows["to" if direction == "reverse" else "from"][0])


def _called(run: Run | Explained) -> str:
    return f"{run.folder.name if run.folder else run.title}"


def _lines(
    told: Comparison, seen: list[list[Seen]], names: list[str], where: tuple[str, str]
) -> list[str]:
    from netspurt.analysis.compare import why

    flow, node = where
    lines = [f"flow {flow} at {node}, from its first data segment on", ""]
    alike = seen[0][: told.same]
    if alike:
        data = sum(event.key[1] == "data" for event in alike)
        most = 1e3 * float(abs(told.differences_s).max())
        lines.append(
            f"same for {alike[-1].t_s:.3f} s: {data} segments, {len(alike) - data} ACKs; "
            f"times differ by {most:.3f} ms at most"
        )
    if told.parted == (None, None):
        lines.append("the runs never differ")
    else:
        named = why(told, seen[0], seen[1])
        lines.append(f"first divergence{': ' if named else ''}{named}")
        lines += _beside(told.same, seen, names)
    missing = [f"only in {name}: {n}" for name, n in zip(names, told.only, strict=True)]
    median, most = 1e3 * float(_median(told)), 1e3 * _most(told)
    lines.append(
        f"of all: {told.matched} in both, {', '.join(missing)}; "
        f"{names[1]} less {names[0]}: median {median:+.3f} ms, largest {most:+.3f} ms"
    )
    for name, causes in zip(names, told.retransmissions, strict=True):
        what = ", ".join(f"{cause} {n}" for cause, n in causes.items()) or "none"
        lines.append(f"retransmissions in {name}: {what}")
    return lines


def _median(told: Comparison) -> float:
    import numpy as np

    return float(np.median(told.all_differences_s)) if told.matched else 0.0


def _most(told: Comparison) -> float:
    """Return the difference farthest from zero, in seconds."""
    if not told.matched:
        return 0.0
    return float(max(told.all_differences_s, key=abs))


def _beside(same: int, seen: list[list[Seen]], names: list[str]) -> list[str]:
    rows: list[tuple[str, ...]] = [("", names[0], "", names[1])]
    for n in range(max(0, same - 2), same + _AROUND):
        cells: list[str] = []
        for run in seen:
            cells += [f"{run[n].t_s:.4f} s", str(run[n])] if n < len(run) else ["-", "-"]
        rows.append(tuple(cells))
    return [f"  {line}" for line in columns(rows)]


def _as_json(told: Comparison, flow: str, node: str) -> dict[str, Any]:
    def event(seen: Seen | None) -> dict[str, Any] | None:
        return None if seen is None else {"t_s": seen.t_s, "what": str(seen)}

    return {
        "flow": flow,
        "node": node,
        "same": told.same,
        "parted": [event(seen) for seen in told.parted],
        "difference_s_max": float(abs(told.differences_s).max()) if told.same else None,
        "matched": told.matched,
        "difference_s_median": _median(told) if told.matched else None,
        "difference_s_largest": _most(told) if told.matched else None,
        "only": list(told.only),
        "retransmissions": list(told.retransmissions),
    }
