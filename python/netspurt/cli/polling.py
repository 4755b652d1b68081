"""`netspurt poll`, `capture` and `match`: fetch pages, capture packets, match two captures."""

from __future__ import annotations

import math
import shlex
import statistics
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from netspurt.cli.options import count as whole
from netspurt.cli.options import port_or_any, span_of
from netspurt.cli.output import columns, named, paint, warn_of_cut
from netspurt.cli.programs import AsCsv, AsJson, Form
from netspurt.quantities import known
from netspurt.wording import counted, number

if TYPE_CHECKING:
    from netspurt.matched import MatchedConnection


def poll(
    catalogue: Annotated[Path, typer.Argument(help="A catalogue of sites.", show_default=False)],
    out: Annotated[
        Path | None, typer.Option(help="The folder to make; by default poll-TIME.")
    ] = None,
    rounds: Annotated[
        int | None,
        typer.Option(
            "--rounds",
            "-n",
            parser=whole,
            metavar="N",
            help="The number of fetches of each site. By default fetches go on until Ctrl-C.",
        ),
    ] = None,
    every: Annotated[
        float | None,
        typer.Option(
            parser=span_of,
            metavar="TIME",
            help="The time between two fetches of a site; by default the catalogue's `every`.",
        ),
    ] = None,
    captures: Annotated[
        bool, typer.Option("--captures/--no-captures", help="Capture each fetch.")
    ] = True,
    as_csv: AsCsv = False,
    as_json: AsJson = False,
) -> None:
    """Fetch a page of each site at fixed intervals, each time with a capture and ICMP echoes."""
    from dataclasses import replace

    from netspurt.poll import poll as run
    from netspurt.poll import read_catalogue

    form = Form(as_json, as_csv)
    sites = read_catalogue(catalogue)
    if every is not None:
        sites = replace(sites, every=every)
    folder = out or Path(f"poll-{time.strftime('%Y%m%d-%H%M%S')}")
    rows: list[dict[str, Any]] = []

    def told(row: dict[str, Any]) -> None:
        rows.append(row)
        if form.for_people:
            typer.echo(_line(row))
            sys.stdout.flush()

    try:
        run(sites, folder, rounds=rounds, captures=captures, on_row=told)
    except KeyboardInterrupt:
        if not rows:
            raise
    if not form.for_people:
        form.print({"folder": str(folder), "fetches": rows}, rows)
    else:
        for text in _summary(rows):
            typer.echo(text)
        typer.echo(str(folder))
    if all("failed" in row for row in rows):
        raise typer.Exit(1)


def _line(row: dict[str, Any]) -> str:
    head = f"{row['site']:<12} {row['number']:>5}"
    if "failed" in row:
        return f"{head}  {paint('failed', 'red')}: {row['failed']}"
    parts = [f"{row['status']}", f"{number(row['octets'])} B", f"{_span(row['total_s'])}"]
    parts.append(f"TCP {_span(row['tcp_rtt_s'])}")
    if "ping_rtt_s" in row:
        parts.append(f"ping {_span(row['ping_rtt_s'])}")
    if "ratio" in row:
        parts.append(f"ratio {row['ratio']:.3f}")
    elif "ping_failed" in row:
        parts.append(f"no ping: {row['ping_failed']}")
    return "  ".join([head, *parts])


def _summary(rows: list[dict[str, Any]]) -> list[str]:
    import numpy as np

    lines = [["site", "fetches", "failed", "TCP", "ping", "ratio"]]
    for site in dict.fromkeys(row["site"] for row in rows):
        own = [row for row in rows if row["site"] == site]

        def middle(key: str, own: list[dict[str, Any]] = own) -> float:
            known = [row[key] for row in own if row.get(key)]
            return float(np.median(known)) if known else math.nan

        ratio = middle("ratio")
        lines.append(
            [
                site,
                str(len(own)),
                str(sum("failed" in row for row in own)),
                _span(middle("tcp_rtt_s")),
                _span(middle("ping_rtt_s")),
                "-" if math.isnan(ratio) else f"{ratio:.3f}",
            ]
        )
    return ["", *columns(lines, right=(1, 2, 3, 4, 5))]


def capture(
    peer: Annotated[str, typer.Argument(help="A name or an address.", show_default=False)],
    out: Annotated[Path, typer.Option(help="The capture file to make.", show_default=False)],
    port: Annotated[
        int,
        typer.Option(parser=port_or_any, metavar="N", help="The peer's TCP port; 0 for all ports."),
    ] = 0,
) -> None:
    """Capture the packets to and from a host until interrupted."""
    from netspurt.poll import capturing
    from netspurt.probe import resolve

    with capturing(resolve(peer), port, out) as caught, suppress(KeyboardInterrupt):
        typer.echo(f"capturing into {out}")
        sys.stdout.flush()
        caught.wait()
    typer.echo(f"{number(caught.packets)} packets")


def match(
    first: Annotated[Path, typer.Argument(help="A capture.", show_default=False)],
    second: Annotated[
        Path,
        typer.Argument(help="A capture of the same traffic at another point.", show_default=False),
    ],
    as_csv: AsCsv = False,
    as_json: AsJson = False,
) -> None:
    """Match the connections of two captures, segment by segment.

    Exit with 1 if none match, or if a capture was not read to its end.
    """
    from netspurt.matched import MatchedConnection as Row
    from netspurt.matched import cut_off
    from netspurt.matched import match as run

    form = Form(as_json, as_csv)
    found = run(first, second)
    for file in (first, second):
        cut = cut_off(file)
        if cut is not None:
            warn_of_cut(
                f"{file} ends in the middle of a record: it has {number(cut.octets)} of this "
                f"record's {number(cut.of)} octets, after {number(cut.records)} complete "
                "records. So later packets count as seen only at the other capture point"
            )
    if not form.for_people:
        data = [
            {**vars(one), "out_s": known(one.out_s), "back_s": known(one.back_s)} for one in found
        ]
        form.print(data, data, [*Row.__dataclass_fields__])
    else:
        told = [*_matches(found, _names(first, second)), *_unequal(found), *_translated(found)]
        told += _copied(found, _names(first, second))
        told += [] if found else ["no connection in either capture"]
        for text in [*told, *(_swapped(found, first, second) or _clocks(found))]:
            typer.echo(text)
    if not any(one.paired for one in found):
        raise typer.Exit(1)


def _names(first: Path, second: Path) -> list[str]:
    """Return a name for each capture: the file's name, or the path if both names are equal."""
    files = (first, second)
    equal = first.name == second.name
    return [named(str(file) if equal else file.name) for file in files]


def _matches(found: list[MatchedConnection], names: list[str]) -> list[str]:
    alone = [f"only in {name}" for name in names]
    lines = [["client", "server", "segments", "at both", *alone, "out", "back", "out + back"]]
    lines += [
        [
            one.client,
            one.server,
            *(number(n) for n in (one.segments, one.paired, one.only_first, one.only_second)),
            _span(one.out_s),
            _span(one.back_s),
            _span(one.out_s + one.back_s),
        ]
        for one in found
    ]
    return list(columns(lines, right=range(2, 9)))


def _unequal(found: list[MatchedConnection]) -> list[str]:
    """Return a line if the segments of connections have different lengths in the two captures."""
    count = sum(one.lengths_differ for one in found)
    if not count:
        return []
    where = f"In {count} of {len(found)} connections, for most" if len(found) > 1 else "For most"
    return [
        f"{where} segments with data the other capture has no segment with the same octets, "
        "probably because segmentation offload changed the lengths. So these numbers do not show "
        "losses. To capture single segments, switch offload off first: ethtool -K DEVICE tso off "
        "gso off gro off"
    ]


def _translated(found: list[MatchedConnection]) -> list[str]:
    """Return a line on each connection with other ends in the second capture."""
    return [
        f"{one.client} and {one.server} are {one.second_client} and {one.second_server} at the "
        "second point, so an address translator (NAT) lies between the two points."
        for one in found
        if one.is_translated
    ]


def _copied(found: list[MatchedConnection], names: list[str]) -> list[str]:
    """Return a line on each capture that holds segments more than once."""
    copies = [sum(one.first_copies for one in found), sum(one.second_copies for one in found)]
    return [
        f"{name} has {counted(count, 'copy', 'copies')} of segments, as from several points of the "
        "path, or from a network that copies packets. Of these segments the first copy counts."
        for name, count in zip(names, copies, strict=True)
        if count
    ]


def _swapped(found: list[MatchedConnection], first: Path, second: Path) -> list[str]:
    """Return a line if the second capture seems to be nearer to all clients than the first.

    `out_s` is the time of a client's segments from the first capture point to the second. `back_s`
    is the time of the server's segments from the second capture point to the first. Each of the two
    times depends on the difference of the captures' clocks, but their sum does not.
    """
    both = [[s for s in (one.out_s, one.back_s) if math.isfinite(s)] for one in found]
    sums = [sum(known) for known in both if known]
    if not sums or max(sums) >= 0:
        return []
    files = " ".join(named(shlex.quote(str(file))) for file in (second, first))
    alone = any(len(known) == 1 for known in both)
    return [
        f"The times are negative, because segments of clients passed {named(str(second))} before "
        f"{named(str(first))}{', or because the clocks differ' * alone}. Swap the captures: "
        f"netspurt match {files}"
    ]


def _clocks(found: list[MatchedConnection]) -> list[str]:
    """Return a line on the difference of the clocks, if a time below zero shows a difference."""
    ways = [(one.out_s, one.back_s) for one in found if math.isfinite(one.out_s + one.back_s)]
    if not any(min(way) < 0 for way in ways):
        return []
    ahead = statistics.median((out - back) / 2 for out, back in ways)
    which = "second" if ahead > 0 else "first"
    return [
        f"A time is negative, so the clocks of the captures differ: the {which} clock is ahead by "
        f"about {_span(abs(ahead))}, if both ways take equally long. Only out + back does not "
        "depend on this difference"
    ]


def _span(seconds: float | None) -> str:
    if seconds is None or not math.isfinite(seconds):
        return "-"
    for scale, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if abs(seconds) >= scale:
            return f"{seconds / scale:.4g} {unit}"
    return f"{seconds * 1e9:.0f} ns"
