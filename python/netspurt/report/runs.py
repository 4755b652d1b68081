"""The section of a run: words, tables of directions and links, pictures of its flows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from netspurt.pictures.view import optional
from netspurt.report.drawn import BUDGET
from netspurt.report.flows import Found, flows_of, ways
from netspurt.report.parts import Group, Link, Part, Rows, Section, Side
from netspurt.report.repairs import missed_rows, spurious_rows
from netspurt.report.words import counted, number, plain, rate, span
from netspurt.run import Run

#: The pictures of a run.
_KINDS = ("time-sequence", "rto", "cwnd", "queue", "throughput")

#: The most rows of a table of flows or links.
_LISTED = 60


def run_section(run: Run, name: str, room: int = BUDGET) -> Section:
    """Return the section of a run.

    Parameters
    ----------
    run
        The run.
    name
        What it is called on the page.
    room
        The most marks to draw.
    """
    part, found = run_part(run, name, room)
    groups = (Group([Side(name, found.flows)]),) if found.flows else ()
    return Section(plain(run.title or run.source), [part], groups=groups)


def run_part(run: Run, name: str, room: int, side: int = 0) -> tuple[Part, Found]:
    """Return what is told of a run, and its flows; `side` is its place in a comparison."""
    found = flows_of(run, _KINDS, room) if len(run.flows) else Found((), ())
    shown = [way for way in ways(run) if way.name in {flow.name for flow in found.flows}]
    missed = missed_rows(run, shown, side)
    places: list[Rows] = []
    if optional(run, "segments") is not None and shown:
        places = [spurious_rows(run, shown, side), *([missed] if missed else [])]
    part = Part(
        name=name,
        words=list(_words(run)),
        tables=[table for table in (_directions(run), _links(run)) if table.rows],
        places=places,
        notes=list(found.notes),
        links=list(_files(run)),
        foot=[f"netspurt {run.version}", f"seed {run.seed}", f"digest {run.digest}"],
    )
    return part, found


def _words(run: Run) -> Iterator[str]:
    """Yield the summary that the run itself prints, and what became of its retransmissions."""
    lines = str(run).splitlines()[1:]
    yield from (line for line in lines if not line.startswith("tables:"))
    flows = run.flows
    again, spurious = int(flows["retransmissions"].sum()), int(flows["spurious"].sum())
    if again:
        yield f"{number(spurious)} of {counted(again, 'retransmission')} were spurious."
    waited = int(flows["waited_ns"].sum()) / 1e9
    if waited:
        yield f"The flows waited {span(waited)} for timeouts."
    if run.live is not None and not run.live.valid:
        yield f"This live run does not count: {run.live.why_not()}."


def _directions(run: Run) -> Rows:
    """Return the table of directions: what was sent, sent again and why, and how fast."""
    flows = run.flows
    causes = _causes(run)
    rows = []
    for n in range(min(len(flows), _LISTED)):
        flow, way = str(flows["flow"][n]), str(flows["direction"][n])
        start, end = (float(flows.seconds(c)[n]) for c in ("start_ns", "finished_ns"))
        busy = (run.stop_ns / 1e9 if np.isnan(end) else end) - start
        acked = float(flows["acked_bytes"][n])
        counts = ("sent", "retransmissions", "spurious", "timeouts")
        rows.append(
            (
                *(flow, way, f"{flows['from'][n]} to {flows['to'][n]}"),
                *(number(flows[c][n]) for c in counts),
                causes.get((flow, way), "-"),
                rate(8 * acked / busy) if busy > 0 else "-",
                "-" if np.isnan(end) else f"{end:.3f} s",
            )
        )
    head = (
        *("flow", "direction", "from, to", "sent", "retransmitted", "spurious", "timeouts"),
        *("by cause (spurious)", "throughput", "finished"),
    )
    more = len(flows) - len(rows)
    return Rows("Directions with data", head, rows, (3, 4, 5, 6, 8, 9), more=more)


def _causes(run: Run) -> dict[tuple[str, str], str]:
    """Return the retransmissions of each direction by cause, in words."""
    table = optional(run, "retransmissions")
    if table is None:
        return {}
    found: dict[tuple[str, str], list[str]] = {}
    names = ("flow", "direction", "cause", "sent", "spurious")
    for flow, way, cause, sent, spurious in zip(*(table[c].tolist() for c in names), strict=True):
        wrong = f" ({spurious:,})" if spurious else ""
        found.setdefault((flow, way), []).append(f"{cause} {sent:,}{wrong}")
    return {key: ", ".join(told) for key, told in found.items()}


def _links(run: Run) -> Rows:
    """Return the table of the links that carried anything."""
    links = run.links
    used = np.flatnonzero((links["carried"] > 0) | (links["dropped"] > 0)).tolist()
    counts = ("dropped", "lost", "queue_packets_max")
    rows = [
        (
            *(str(links["link"][n]), str(links["direction"][n]), number(links["carried"][n])),
            rate(8e9 * float(links["carried_bytes"][n]) / run.stop_ns) if run.stop_ns else "-",
            *(number(links[c][n]) for c in counts),
        )
        for n in used[:_LISTED]
    ]
    head = ("link", "direction", "carried", "mean rate", "dropped", "lost", "longest queue")
    more = len(used) - len(rows)
    return Rows("Links", head, rows, (2, 3, 4, 5, 6), more=more)


def _files(run: Run) -> Iterator[Link]:
    """Yield the run's folder and the files of its tables."""
    if run.folder is None:
        return
    yield Link("the run's folder", str(run.folder))
    for file in sorted(Path(run.folder).iterdir()):
        if file.suffix in (".parquet", ".pcapng") or file.name == "scenario.toml":
            yield Link(file.name, str(file))
