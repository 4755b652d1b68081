"""Sentences and a table on the programs of `netspurt live exec`, and on their connections."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

import numpy as np

from netspurt.live_report import ProgramsReport
from netspurt.report.parts import MOST_ROWS, Rows
from netspurt.report.repairs import ALL
from netspurt.report.words import span
from netspurt.run import Run
from netspurt.table import Table, optional
from netspurt.wording import number


def _programs(run: Run) -> ProgramsReport | None:
    """Return the report on the programs of a run; `None` for a run without programs."""
    return None if run.live is None else run.live.programs


def _connections(run: Run) -> Table | None:
    """Return the connections of the programs; `None` without them."""
    table = None if _programs(run) is None else optional(run, "connections")
    return table if table is not None and len(table) else None


def told_programs(run: Run) -> Iterator[str]:
    """Yield sentences on the programs of a run; none for a run without programs."""
    programs = _programs(run)
    if programs is None:
        return
    ended = "was ended by the scenario's `stop`" if programs.stopped else "ended"
    yield f"The command `{shlex.join(programs.command)}` {ended} with status {programs.status}."
    if programs.server:
        yield f"The other end ran `{programs.server}`."
    if programs.other_packets:
        belong = "packet belongs" if programs.other_packets == 1 else "packets belong"
        yield f"{number(programs.other_packets)} {belong} to no connection of TCP."
    if not programs.kernel_told:
        yield "The kernels reported no states of the connections, so timers are not known."


def connections(run: Run) -> Rows | None:
    """Return the table of the programs' connections; `None` if there are none."""
    table = _connections(run)
    if table is None:
        return None
    start = table.seconds("syn_ns")
    columns = [table.seconds(name) - start for name in ("asked_ns", "answered_ns", "complete_ns")]
    rows = [
        (
            str(table["flow"][n]),
            "-" if np.isnan(start[n]) else f"{start[n]:,.3f} s",
            *("-" if np.isnan(one[n]) else span(float(one[n])) for one in columns),
            *(number(table[name][n]) for name in _received(bool(table["opened_by_to"][n]))),
        )
        for n in range(min(len(table), MOST_ROWS))
    ]
    head = (
        *("connection", "last SYN at", "request begins after", "reply begins after"),
        *("reply ends after", "octets of the request", "octets of the reply"),
    )
    more = len(table) - len(rows)
    caption = "Connections of the programs"
    return Rows(caption, head, rows, tuple(range(1, len(head))), more=more, elsewhere=ALL)


def _received(opened_by_to: bool) -> tuple[str, str]:
    """Return the names of two columns of received octets.

    The initiator is the end that opened the connection and sent the request. The first column has
    the octets that the other end received. The second column has the octets that the initiator
    received.
    """
    return ("from_bytes", "to_bytes") if opened_by_to else ("to_bytes", "from_bytes")
