"""`netspurt run`, `new` and `schema`: run a scenario, write a first scenario, print the schema."""

from __future__ import annotations

import itertools
import json
import math
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from netspurt import _core
from netspurt.cli.options import ScenarioFile, Unset, count, loaded
from netspurt.cli.output import columns, paint, print_json, progress
from netspurt.cli.replies import bounded, still_waiting
from netspurt.stored import write_new
from netspurt.wording import counted, number, rate

if TYPE_CHECKING:
    from netspurt.run import Run
    from netspurt.scenario import Scenario

RUNS = Path("runs")

Case = Annotated[
    int | None,
    typer.Option(
        parser=count, metavar="N", help="The number of a case of the [sweep], counted from 0."
    ),
]


def run(
    scenario: ScenarioFile,
    out: Annotated[
        Path | None,
        typer.Option(help="The run folder to make; by default a new folder under runs/."),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(parser=count, metavar="N", help="The seed of the random draws."),
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="PATH=VALUE",
            help="Set a value, as in --set links.modem.rate='2400 bit/s'. May be repeated.",
        ),
    ] = None,
    unset: Unset = None,
    case: Case = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON.")] = False,
) -> None:
    """Run a scenario and save the results."""
    from netspurt.stored import check_free

    chosen = one_case(scenario, set_, seed, case, unset)
    folder = check_free(out or next_free(RUNS, scenario.stem))
    with progress(f"running {scenario.name}") as update:
        result = chosen.run(update)
    result.save(folder)
    if as_json:
        print_json(summary(result, folder))
    else:
        describe(result, chosen, folder)
    tell_notes(chosen)
    if case is None:
        tell_sweep(scenario)


def tell_notes(scenario: Scenario) -> None:
    """Print the notes on a run of a scenario."""
    for note in scenario.notes():
        typer.echo(f"{paint('note:', 'yellow', sys.stderr)} {note}", err=True)


def one_case(
    file: Path,
    values: Sequence[str] | None,
    seed: int | None,
    case: int | None,
    unset: Sequence[str] | None = None,
) -> Scenario:
    """Return the scenario of a file, or the requested case of the file's sweep.

    `values` and `unset` have the texts of `--set` and `--unset`. `case` is the number of the case,
    which is one combination of the sweep's values, with one seed.

    Raises
    ------
    ValueError
        If the file is not a scenario, if a setting is wrong, or if the sweep has no case `case`.
    OSError
        If the file cannot be read.
    """
    if case is None:
        return loaded(file, values, seed, unset=unset, alone=True)
    from netspurt.sweep import Sweep

    sweep = Sweep.of(loaded(file, values, seed, unset=unset))
    if case >= len(sweep):
        raise ValueError(
            f"there is no case {case}: {file} is a sweep of {len(sweep)} cases, counted from 0"
        )
    return sweep.scenario(case)


def tell_sweep(file: Path) -> None:
    """Print the command that runs the sweep of a scenario, if the scenario has a sweep."""
    from netspurt.scenario import load
    from netspurt.sweep import Sweep

    whole = load(file)
    if _core.Sweep.of(whole._core) is not None:
        typer.echo(
            f"{file} has a sweep of {number(len(Sweep.of(whole)))} cases, too: "
            f"`netspurt sweep {file} --out DIR` runs them",
            err=True,
        )


def new(
    file: Annotated[
        Path | None, typer.Argument(help="The file to write; by default it is printed.")
    ] = None,
) -> None:
    """Write a commented scenario to start from."""
    if file is None:
        typer.echo(_core.STARTING_POINT, nl=False)
        return
    write_new(file, _core.STARTING_POINT)
    typer.echo(f"wrote {file}: edit it, then: netspurt run {file}")


def schema() -> None:
    """Print the JSON Schema of scenario files."""
    print_json(json.loads(_core.schema()))


def next_free(folder: Path, name: str) -> Path:
    """Return the first unused name in the folder."""
    names = itertools.chain([name], (f"{name}-{n}" for n in itertools.count(2)))
    return next(path for n in names if not (path := folder / n).exists())


def summary(result: Run, folder: Path) -> dict[str, Any]:
    """Return the results of a run as data."""
    return {
        "folder": str(folder),
        "title": result.title,
        "seed": result.seed,
        "stop_s": result.stop_ns / 1e9,
        "digest": result.digest,
        "flows_digest": result.flows_digest,
        "packet_hops": int(result.links["carried"].sum()),
        "flows": _rows(result, "flows"),
        "links": _rows(result, "links"),
        **{
            name: _rows(result, name)
            for name in ("echo_probes", "requests", "populations")
            if name in result.tables
        },
    }


def _rows(result: Run, name: str) -> list[dict[str, Any]]:
    table = result.table(name)
    listed = {column: table[column].tolist() for column in table}
    return [dict(zip(listed, row, strict=True)) for row in zip(*listed.values(), strict=True)]


#: The maximum number of flows or links that are listed individually.
_LISTED = 12


def describe(result: Run, scenario: Scenario, folder: Path) -> None:
    """Print the results of a run."""
    typer.echo(paint(result.title or scenario.name, "bold"))
    typer.echo("")
    lines_of = (_flow_lines, _request_lines, _population_lines, _echo_probe_lines, _link_lines)
    parts = [f(result) for f in lines_of]
    typer.echo("\n\n".join("\n".join(lines) for part in parts if (lines := list(part))))
    hops = int(result.links["carried"].sum())
    typer.echo(f"\n{result.lasted()}, {number(hops)} packet-hops")
    typer.echo(f"kept in {folder}   digest {result.digest[:16]}")


def lines_beside_flows(result: Run) -> Iterator[str]:
    """Yield lines on requests, populations (many connections of one kind) and echo probes."""
    for lines_of in (_request_lines, _population_lines, _echo_probe_lines):
        yield from lines_of(result)


def _flow_lines(result: Run) -> Iterator[str]:
    from netspurt.analysis.failures import failed_flows

    flows = result.flows
    if not len(flows) and {"echo_probes", "populations"} & result.tables.keys():
        return
    head = ("flow", "from", "to", "sent", "retransmitted", "timeouts", "goodput", "finished")
    rows = [_flow_cells(result, n) for n in range(min(len(flows), _LISTED))]
    yield from columns([head, *rows], right=(3, 4, 5, 6, 7))
    if len(flows) > _LISTED:
        sent, retransmitted, timeouts = (
            number(flows[c].sum()) for c in ("sent", "retransmissions", "timeouts")
        )
        finished = int(flows["finished_ns"].count())  # type: ignore[attr-defined]
        yield (
            f"... {len(flows)} flows, {finished} finished; together {sent} sent, "
            f"{retransmitted} retransmitted, {timeouts} timeouts"
        )
    yield from failed_flows(flows)


def _echo_probe_lines(result: Run) -> Iterator[str]:
    """Yield a line for each flow of echo probes: counts and the mean round trip."""
    if "echo_probes" not in result.tables:
        return
    table = result.echo_probes
    rows = []
    for name in dict.fromkeys(str(flow) for flow in table["flow"]):
        own = table.where(flow=name)
        rtts = [float(rtt) for rtt in own.seconds("rtt_ns") if not math.isnan(rtt)]
        mean = f"{1e3 * sum(rtts) / len(rtts):.3f} ms" if rtts else "-"
        late = int(own["late_ns"].count())  # type: ignore[attr-defined]
        cells = (len(own), int(own["lost"].sum()), late, int(own["duplicates"].sum()))
        rows.append((name, *map(number, cells), mean))
    head = ("echo_probes", "sent", "lost", "late", "duplicates", "mean rtt")
    yield from columns([head, *rows], right=(1, 2, 3, 4, 5))


def _request_lines(result: Run) -> Iterator[str]:
    """Yield a line for each flow of requests: counts and times to the complete reply.

    A request without a complete reply at the end counts with its time so far. A `>` before a time
    means that the true time may be longer.
    """
    if "requests" not in result.tables:
        return
    import numpy as np

    from netspurt.analysis.replies import Replies

    table = result.table("requests")
    rows = []
    waits = 0
    for name in list(dict.fromkeys(str(flow) for flow in table["flow"]))[:_LISTED]:
        replies = Replies.of(table.where(flow=name), result.stop_ns)
        waits += replies.waiting
        cells = [bounded(*replies.quantile(share)) for share in (0.5, 0.95, 1.0)]
        complete = number(len(replies) - replies.waiting)
        rows.append((name, number(len(replies)), complete, *cells))
    head = ("requests", "asked", "complete", "median", "95 %", "longest")
    yield from columns([head, *rows], right=(1, 2, 3, 4, 5))
    if waits:
        yield still_waiting(waits)
    if (flows := len(np.unique(table["flow"]))) > _LISTED:
        yield f"... {flows} flows with requests, {number(len(table))} asked"


def _population_lines(result: Run) -> Iterator[str]:
    """Yield a line for each population, and lines that explain the durations."""
    if "populations" not in result.tables:
        return
    table = result.populations
    counts = ("connections", "complete", "retransmissions", "spurious", "timeouts")
    spans = ("duration_ns_p50", "duration_ns_p90", "duration_ns_p99")
    rows = []
    for n in range(len(table)):
        found = [float(table.seconds(column)[n]) for column in spans]
        cells = ["-" if math.isnan(span) else f"{1e3 * span:.1f} ms" for span in found]
        rows.append((str(table["population"][n]), *(number(table[c][n]) for c in counts), *cells))
    shown = ("connections", "complete", "retransmitted", "spurious", "timeouts")
    head = ("population", *shown, "median", "90 %", "99 %")
    yield from columns([head, *rows], right=range(1, 9))
    yield "durations: from the first SYN to the last acknowledgment of data"
    open_ones = int((table["connections"] - table["complete"]).sum())
    if open_ones:
        incomplete = counted(open_ones, "connection is", "connections are")
        yield f"{incomplete} not complete, and counted as longer than all others"


def _flow_cells(result: Run, n: int) -> tuple[str, ...]:
    flows = result.flows
    start, end = (float(flows.seconds(c)[n]) for c in ("start_ns", "finished_ns"))
    done = not math.isnan(end)
    busy = (end if done else result.stop_ns / 1e9) - start
    acked = float(flows["acked_bytes"][n])
    return (
        *(str(flows[c][n]) for c in ("flow", "from", "to")),
        *(number(flows[c][n]) for c in ("sent", "retransmissions", "timeouts")),
        rate(8 * acked / busy) if busy > 0 else "-",
        f"{end:.3f} s" if done else "-",
    )


def _link_lines(result: Run) -> Iterator[str]:
    links = result.links
    counts = ["dropped", "lost", *(["overtook"] if links["overtook"].any() else [])]
    head = ("link", "direction", "carried", "mean rate", *counts, "longest queue")
    used = [n for n in range(len(links)) if links["carried"][n] or links["dropped"][n]]
    rows = [_link_cells(result, n, counts) for n in used[:_LISTED]]
    yield from columns([head, *rows], right=range(2, len(head)))
    if len(used) > _LISTED:
        yield f"... {counted(len(used) - _LISTED, 'more direction')} of links"


def _link_cells(result: Run, n: int, counts: list[str]) -> tuple[str, ...]:
    links = result.links
    return (
        str(links["link"][n]),
        str(links["direction"][n]),
        number(links["carried"][n]),
        rate(8e9 * float(links["carried_bytes"][n]) / result.stop_ns),
        *(number(links[c][n]) for c in (*counts, "queue_packets_max")),
    )
