"""The section of a run: words, tables of directions and links, pictures of its flows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from netspurt._core import __version__
from netspurt.analysis.failures import failed_flows
from netspurt.analysis.outcomes import starts_of_programs
from netspurt.causes import in_words
from netspurt.changed import changed_line
from netspurt.report.flows import (
    ROOM,
    FlowDirection,
    Found,
    Room,
    directions_with_data,
    flows_of,
)
from netspurt.report.parts import MOST_ROWS, Group, Link, Part, Rows, Section, Side
from netspurt.report.programs import connections, told_programs
from netspurt.report.repairs import (
    ALL,
    Drawn,
    missed_rows,
    spurious_rows,
    unrecorded,
    unseen_senders,
)
from netspurt.report.words import is_long, span
from netspurt.run import Run
from netspurt.table import optional
from netspurt.wording import counted, few, number, plain, rate

#: The kinds of pictures of a run.
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
        The limits of the pictures.
    """
    part, found = run_part(run, name, lines, room)
    groups = (Group([Side(name, found.flows)]),) if found.flows else ()
    return Section(plain(run.title or run.source), [part], groups=groups)


def run_part(
    run: Run, name: str, lines: Sequence[str], room: Room, side: int = 0
) -> tuple[Part, Found]:
    """Return the part for a run, and the flows. `side` is the index of the run in a comparison."""
    found = flows_of(run, _KINDS, room) if len(run.flows) else Found((), ())
    every = directions_with_data(run) if len(run.flows) else []
    drawn = Drawn({flow.name for flow in found.flows}, side)
    missed = missed_rows(run, every, drawn)
    places: list[Rows] = []
    if optional(run, "segments") is not None and every:
        places = [spurious_rows(run, every, drawn), *([missed] if missed else [])]
    part = Part(
        name=name,
        answer=_answer(run),
        words=list(_words(run)),
        lines=[plain(line) for line in lines],
        tables=[
            _directions(run),
            *(table for table in [connections(run)] if table is not None),
            *(table for table in [_links(run)] if table.rows),
        ],
        places=places,
        notes=[*found.notes, *_not_recorded(run), *_unseen(run, every)],
        links=list(_files(run)),
        foot=[*_version(run), _length(run), f"seed {run.seed}", f"digest {run.digest}"],
    )
    return part, found


def _version(run: Run) -> list[str]:
    """Return the version that made the run, if another version makes the page."""
    return [] if run.version == __version__ else [f"run by netspurt {run.version}"]


def _length(run: Run) -> str:
    return f"{run.stop_ns / 1e9:,.12g} s {'simulated' if run.live is None else 'live'}"


def _answer(run: Run) -> str:
    """Return which flows failed, when the other flows finished, and the time of silence and repair.

    Silence is the time without packets before timeouts.

    The text is empty without flows. If only one direction has data, the text also has its goodput.
    """
    flows = run.flows
    if len(flows) == 0:
        return ""
    ends = flows.seconds("finished_ns")
    done = int(np.count_nonzero(~np.isnan(ends)))
    if len(flows) == 1:
        when = (
            f"Finished after {_to_the_ms(_took(run, 0))}"
            if done
            else f"Not finished in {_length(run)}"
        )
        carried = int(flows["acked_bytes"][0]) > 0
        told = (
            f"{when}, at {_goodput(run, 0)}." if carried else f"{when}: no data was acknowledged."
        )
    else:
        told = _ended(run, ends)
    failed = [f"{failure}." for failure in failed_flows(flows)]
    return " ".join([*failed, told, *_costs(run)])


def _ended(run: Run, ends: NDArray[np.float64]) -> str:
    """Return a sentence on when several directions ended.

    `ends` has the end of each direction [s]; NaN if the direction did not end.
    """
    done = int(np.count_nonzero(~np.isnan(ends)))
    if done:
        last = _to_the_ms(float(np.nanmax(ends)))
        return f"{done} of {len(ends)} directions with data finished, the last at {last}."
    what = (
        "the requests ended"
        if optional(run, "requests") is not None
        else f"any of its {len(ends)} directions with data finished"
    )
    return f"The run stopped after {span(run.stop_ns / 1e9)}, before {what}."


def _to_the_ms(seconds: float) -> str:
    """Return a time rounded to milliseconds. A long time is repeated in hours and minutes."""
    told = f"{seconds:,.3f} s"
    return f"{told} ({span(seconds)})" if is_long(seconds) else told


def _costs(run: Run) -> Iterator[str]:
    """Yield a sentence on the times of silence before timeouts and of repair, if they are known."""
    flows = run.flows
    if not flows["retransmissions"].any():
        yield "Nothing was retransmitted."
        return
    spent = []
    for name, what in (("waited_ns", "in silence before timeouts"), ("repairing_ns", "in repair")):
        times = flows.seconds(name)
        if not np.isnan(times).all():
            total = float(np.nansum(times))
            spent.append(f"{span(total) if total else 'no time'} {what}")
    if spent:
        who = "The sender" if len(flows) == 1 else "The senders, all together,"
        yield f"{who} spent {' and '.join(spent)}."


def _words(run: Run) -> Iterator[str]:
    """Yield the counts of the run, and sentences on its programs and its retransmissions."""
    yield from told_programs(run)
    # The first line of the run as text is its title. The second line has the length, the seed and
    # the digest, which the page shows below the pictures.
    lines = str(run).splitlines()[2:]
    yield from (line for line in lines if not line.startswith("tables:"))
    flows = run.flows
    again, spurious = int(flows["retransmissions"].sum()), int(flows["spurious"].sum())
    if again:
        were = "was" if spurious == 1 else "were"
        yield f"{number(spurious)} of {counted(again, 'retransmission')} {were} spurious."
    if changed := changed_line(run):
        yield f"{changed}."
    if run.live is not None and not run.live.valid:
        yield f"This live run is not valid: {run.live.why_not()}."


def _not_recorded(run: Run) -> Iterator[str]:
    """Yield sentences on tables that the scenario did not record, and what they would show."""
    if len(run.flows) == 0 and "populations" in run.tables:
        yield (
            "Connections of populations are not drawn. `netspurt table` shows the table "
            "`populations`, and the table `connections` if it is in `tables` under [record]."
        )
    elif len(run.flows) and int(run.flows["timeouts"].sum()) and optional(run, "drops") is None:
        yield (
            "Losses that were repaired after a timeout are not listed: the run recorded no drops. "
            "Add `drops` to `tables` under [record]."
        )


def _unseen(run: Run, every: list[FlowDirection]) -> Iterator[str]:
    """Yield sentences on the facts that are unknown because senders' packets were not recorded."""
    unseen = unseen_senders(run, every)
    if unseen:
        names = ", ".join(unseen[:6]) + (", ..." if len(unseen) > 6 else "")
        yield (
            f"The packets of {names} were recorded at another node. Packets that were lost on the "
            "way to this node are missing from the tables of retransmissions, and so are losses "
            f"that were repaired after a timeout. Add {names} to `spy` under [record] to see all."
        )
    blind = unrecorded(run, every) if optional(run, "segments") is not None else []
    if blind:
        yield (
            f"No segments of {few([one.name for one in blind])} were recorded. So there is no "
            "picture of time and sequence, and no row in the tables of retransmissions. Add their "
            "senders to `spy` under [record]."
        )


def _took(run: Run, n: int) -> float:
    """Return the time from the start of a direction to its end, or to the end of the run [s]."""
    flows = run.flows
    start, end = (float(flows.seconds(c)[n]) for c in ("start_ns", "finished_ns"))
    if np.isnan(start):
        start = starts_of_programs(run).get(
            (str(flows["flow"][n]), str(flows["direction"][n])), np.nan
        )
    return (run.stop_ns / 1e9 if np.isnan(end) else end) - start


def _goodput(run: Run, n: int) -> str:
    took = _took(run, n)
    return rate(8 * float(run.flows["acked_bytes"][n]) / took) if took > 0 else "-"


def _directions(run: Run) -> Rows:
    """Return the table of directions: when they finished, packets, causes of retransmissions."""
    flows = run.flows
    causes = _causes(run)
    rows = []
    for n in range(min(len(flows), MOST_ROWS)):
        flow, way = str(flows["flow"][n]), str(flows["direction"][n])
        end, *spent = (
            float(flows.seconds(c)[n]) for c in ("finished_ns", "waited_ns", "repairing_ns")
        )
        counts = ("sent", "retransmissions", "spurious", "timeouts")
        rows.append(
            (
                *(flow, way, "-" if np.isnan(end) else f"{end:,.3f} s", _goodput(run, n)),
                *("not known" if np.isnan(one) else span(one) if one else "-" for one in spent),
                *(number(flows[c][n]) for c in counts),
                *(causes.get((flow, way), "-"), f"{flows['from'][n]} to {flows['to'][n]}"),
            )
        )
    head = (
        *("flow", "direction", "finished", "goodput", "silence", "repair"),
        *("sent", "retransmitted", "spurious", "timeouts", "causes (spurious)", "from, to"),
    )
    more = len(flows) - len(rows)
    right = (2, 3, 4, 5, 6, 7, 8, 9)
    return Rows("Directions with data", head, rows, right, more=more, elsewhere=ALL)


def _causes(run: Run) -> dict[tuple[str, str], str]:
    """Return the numbers of retransmissions by cause as text, for each flow and direction."""
    table = optional(run, "retransmissions")
    if table is None:
        return {}
    found: dict[tuple[str, str], list[str]] = {}
    names = ("flow", "direction", "cause", "sent", "spurious")
    for flow, way, cause, sent, spurious in zip(*(table[c].tolist() for c in names), strict=True):
        wrong = f" ({spurious:,})" if spurious else ""
        found.setdefault((flow, way), []).append(f"{in_words(cause)} {sent:,}{wrong}")
    return {key: ", ".join(told) for key, told in found.items()}


def _links(run: Run) -> Rows:
    """Return the table of the links that carried or dropped packets."""
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
    """Yield the run's folder, the files of its tables, its captures, and its scenario."""
    if run.folder is None:
        return
    yield Link("the run's folder", str(run.folder))
    for file in sorted(Path(run.folder).iterdir()):
        if file.suffix in (".parquet", ".pcapng") or file.name == "scenario.toml":
            yield Link(file.name, str(file))
