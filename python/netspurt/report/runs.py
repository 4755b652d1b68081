"""The section of a run: words, tables of directions and links, pictures of its flows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from netspurt.report.flows import ROOM, Found, Room, Way, flows_of, ways
from netspurt.report.parts import MOST_ROWS, Group, Link, Part, Rows, Section, Side
from netspurt.report.repairs import ALL, Drawn, missed_rows, spurious_rows, unseen_senders
from netspurt.report.words import span
from netspurt.run import Run
from netspurt.table import optional
from netspurt.wording import counted, number, plain, rate

#: The pictures of a run.
_KINDS = ("time-sequence", "rto", "cwnd", "queue", "throughput")


def run_section(run: Run, name: str, lines: Sequence[str] = (), room: Room = ROOM) -> Section:
    """Return the section of a run.

    Parameters
    ----------
    run
        The run.
    name
        The name of the run on the page.
    lines
        The lines that `netspurt run` prints of its requests, populations and echo probes.
    room
        What the pictures may take.
    """
    part, found = run_part(run, name, lines, room)
    groups = (Group([Side(name, found.flows)]),) if found.flows else ()
    return Section(plain(run.title or run.source), [part], groups=groups)


def run_part(
    run: Run, name: str, lines: Sequence[str], room: Room, side: int = 0
) -> tuple[Part, Found]:
    """Return the part for a run, and its flows. `side` is its place in a comparison."""
    found = flows_of(run, _KINDS, room) if len(run.flows) else Found((), ())
    every = ways(run) if len(run.flows) else []
    drawn = Drawn({flow.name for flow in found.flows}, side)
    missed = missed_rows(run, every, drawn)
    places: list[Rows] = []
    if optional(run, "segments") is not None and every:
        places = [spurious_rows(run, every, drawn), *([missed] if missed else [])]
    part = Part(
        name=name,
        words=list(_words(run)),
        lines=[plain(line) for line in lines],
        tables=[table for table in (_directions(run), _links(run)) if table.rows],
        places=places,
        notes=[*found.notes, *_not_recorded(run), *_unseen(run, every)],
        links=list(_files(run)),
        foot=[f"netspurt {run.version}", f"seed {run.seed}", f"digest {run.digest}"],
    )
    return part, found


def _words(run: Run) -> Iterator[str]:
    """Yield the summary of the run, and sentences on its retransmissions."""
    lines = str(run).splitlines()[1:]
    yield from (line for line in lines if not line.startswith("tables:"))
    flows = run.flows
    again, spurious = int(flows["retransmissions"].sum()), int(flows["spurious"].sum())
    if again:
        yield f"{number(spurious)} of {counted(again, 'retransmission')} were spurious."
    waited = int(flows["waited_ns"].sum()) / 1e9
    if waited:
        whose = "The flow" if len(set(flows["flow"].tolist())) == 1 else "All flows together"
        yield f"{whose} waited {span(waited)} for timeouts."
    if run.live is not None and not run.live.valid:
        yield f"This live run does not count: {run.live.why_not()}."


def _not_recorded(run: Run) -> Iterator[str]:
    """Yield sentences on tables that the scenario did not record, and what they would show."""
    if len(run.flows) == 0 and "populations" in run.tables:
        yield (
            "Connections of populations are not drawn. `netspurt table` shows the table "
            "`populations`, and the table `connections` if it is in `tables` under [record]."
        )
    elif len(run.flows) and int(run.flows["timeouts"].sum()) and optional(run, "drops") is None:
        yield (
            "Losses that waited for a timeout are not listed: the run recorded no drops. Add "
            "`drops` to `tables` under [record]."
        )


def _unseen(run: Run, every: list[Way]) -> Iterator[str]:
    """Yield a sentence on what is not known if senders were not spied."""
    unseen = unseen_senders(run, every)
    if unseen:
        names = ", ".join(unseen[:6]) + (", ..." if len(unseen) > 6 else "")
        yield (
            f"The packets of {names} were recorded at another node. Packets that were lost on the "
            "way to it are missing from the tables of retransmissions, and losses that waited for "
            f"a timeout are not shown. Add {names} to `spy` under [record] to see all."
        )


def _directions(run: Run) -> Rows:
    """Return the table of directions: segments sent, retransmissions by cause, and rates."""
    flows = run.flows
    causes = _causes(run)
    rows = []
    for n in range(min(len(flows), MOST_ROWS)):
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
    return Rows("Directions with data", head, rows, (3, 4, 5, 6, 8, 9), more=more, elsewhere=ALL)


def _causes(run: Run) -> dict[tuple[str, str], str]:
    """Return the numbers of retransmissions by cause as text, for each flow and direction."""
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
    """Return the table of the links that carried packets."""
    links = run.links
    used = np.flatnonzero((links["carried"] > 0) | (links["dropped"] > 0)).tolist()
    counts = ("dropped", "lost", "queue_packets_max")
    rows = [
        (
            *(str(links["link"][n]), str(links["direction"][n]), number(links["carried"][n])),
            rate(8e9 * float(links["carried_bytes"][n]) / run.stop_ns) if run.stop_ns else "-",
            *(number(links[c][n]) for c in counts),
        )
        for n in used[:MOST_ROWS]
    ]
    head = ("link", "direction", "carried", "mean rate", "dropped", "lost", "longest queue")
    more = len(used) - len(rows)
    return Rows("Links", head, rows, (2, 3, 4, 5, 6), more=more, elsewhere=ALL)


def _files(run: Run) -> Iterator[Link]:
    """Yield the run's folder and the files of its tables."""
    if run.folder is None:
        return
    yield Link("the run's folder", str(run.folder))
    for file in sorted(Path(run.folder).iterdir()):
        if file.suffix in (".parquet", ".pcapng") or file.name == "scenario.toml":
            yield Link(file.name, str(file))
