"""Plots as files for xplot, in the colours of tcptrace.

A file begins with the kinds of the axes, the title and the labels. Drawing commands follow, with
points in units of the data. The last line is `go` (T. Shepard, MIT/LCS/TR-494, 1991, and xplot's
manual page).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from netspurt.captures import Explained, end_of
from netspurt.pictures import settled
from netspurt.pictures.traffic import both_directions, outstanding
from netspurt.pictures.view import Tables, View, pick
from netspurt.stored import replacing
from netspurt.wording import plain

#: The kinds of plots that can be written as xplot files.
XPLOT_KINDS = ("time-sequence", "rto", "outstanding")


def write_xplot(file: Path, run: Tables, kind: str, view: View) -> None:
    """Write a plot for xplot.

    Raises
    ------
    ValueError
        If this kind has no xplot files, or there is nothing to show.
    """
    if kind not in XPLOT_KINDS:
        raise ValueError(f"there are xplot files of {', '.join(XPLOT_KINDS)}, but not of {kind}")
    what, label, drawn = {
        "time-sequence": ("time sequence graph", "sequence number", _time_sequence),
        "rto": ("round trips", "ms", _round_trips),
        "outstanding": ("outstanding data", "octets", _outstanding),
    }[kind]
    view = settled(run, kind, view)
    lines = list(drawn(run, view))
    flow = pick(run.table("segments"), "flow", view.flow, "flow")
    title = f"{_ends(run, flow, view.sends)} ({what} of {view.titled(flow)}, {run.title})"
    # Line breaks in names are removed, because each would begin a drawing command.
    head = ["double double", "title", " ".join(plain(title).splitlines())]
    head += ["xlabel", "time", "ylabel", label]
    with replacing(file) as partial:
        partial.write_text("\n".join([*head, *lines, "go", ""]), encoding="utf-8")


def _ends(run: Tables, flow: str, direction: str) -> str:
    """Return the ends of a direction, in the form of tcptrace's titles."""
    if isinstance(run, Explained):
        rows = run.table("connections").where(direction=direction).records()
        row = next(row for row in rows if f"c{row['connection']}" == flow)
        return "_==>_".join(end_of(row, which) for which in ("source", "destination"))
    sums = run.table("flows").where(flow=flow, direction=direction)
    # A population (many connections of one kind) has no rows in this table. So its ends are not
    # known, and the name is used.
    if not len(sums):
        return flow
    return "_==>_".join(str(sums[name][0]) for name in ("from", "to"))


def _time_sequence(run: Tables, view: View) -> Iterator[str]:
    """Yield the commands for segments as bars between arrows, a line of ACKs, and SACK blocks.

    Diamonds mark spurious retransmissions, and ticks mark duplicate ACKs.
    """
    data, acks = both_directions(run, view)
    first, end = data["seq"], data["seq"] + data["len_bytes"]
    again = data["kind"] == "retransmission"
    for color, rows in (("white", ~again), ("red", again)):
        own = data.seconds()[rows]
        if not len(own):
            continue
        yield color
        yield from _commands("line", own, first[rows], own, end[rows])
        yield from _commands("darrow", own, end[rows])
        yield from _commands("uarrow", own, first[rows])
    spurious = data["spurious"]
    if spurious.any():
        yield "magenta"
        yield from _commands("diamond", data.seconds()[spurious], first[spurious])
    if len(acks):
        yield "green"
        yield from _steps(acks.seconds(), np.maximum.accumulate(acks["ack"]))
        same = acks["kind"] == "dupack"
        yield from _commands("dtick", acks.seconds()[same], acks["ack"][same])
    node, flow = str(data["node"][0]), str(data["flow"][0])
    blocks = view.clip(run.table("sack_blocks").where(flow=flow, direction=view.answers, node=node))
    if len(blocks):
        yield "purple"
        t = blocks.seconds()
        yield from _commands("line", t, blocks["left"], t, blocks["right"])


def _round_trips(run: Tables, view: View) -> Iterator[str]:
    """Yield the commands for round-trip samples as points."""
    samples = run.table("rtt")
    flow = pick(samples, "flow", view.flow, "flow")
    own = view.clip(samples.where(flow=flow, direction=view.sends))
    if len(own) == 0:
        raise ValueError(f"flow {view.titled(flow)} has no round trips{view.in_words}")
    yield "red"
    yield from _commands("dot", own.seconds(), own["rtt_ns"] / 1e6)


def _outstanding(run: Tables, view: View) -> Iterator[str]:
    """Yield the commands for the outstanding octets as a line."""
    t, octets = outstanding(run, view)
    yield "red"
    yield from _steps(t, octets)


def _steps(t: NDArray[np.float64], y: NDArray[Any]) -> Iterator[str]:
    """Yield the lines of a step function: each value holds until the next value."""
    yield from _commands("line", t[:-1], y[:-1], t[1:], y[:-1])
    yield from _commands("line", t[1:], y[:-1], t[1:], y[1:])


def _commands(name: str, *columns: NDArray[Any]) -> list[str]:
    """Return a drawing command for each row: its name, and the numbers of the columns."""
    if len(columns[0]) == 0:
        return []
    texts = np.full(len(columns[0]), name)
    for place, column in enumerate(columns):
        form = " %.9f" if place % 2 == 0 else " %.15g"
        texts = np.char.add(texts, np.char.mod(form, column.astype(np.float64)))
    commands: list[str] = texts.tolist()
    return commands
