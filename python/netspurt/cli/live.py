"""`netspurt live`: scenarios in real time, with the kernel's TCP or with programs at their ends.

The lateness of a packet is the time from the instant at which it is due until its delivery.
"""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Annotated, Any

import typer

from netspurt.cli.options import ScenarioFile, Unset, count, lateness, settings
from netspurt.cli.output import complain, paint, print_json, width
from netspurt.cli.running import RUNS, Case, describe, next_free, one_case, summary, tell_notes
from netspurt.cli.screens import live_screen
from netspurt.cli.words import App
from netspurt.wording import number

if TYPE_CHECKING:
    from netspurt.live_report import EndReport, LiveReport
    from netspurt.run import Run
    from netspurt.scenario import Scenario

_SYSCTLS = Path("/proc/sys")

app = App(help="Run the kernel's TCP over emulated links, in network namespaces.")


class Wire(StrEnum):
    """The network devices of the hosts."""

    VETH = "veth"
    TUN = "tun"


Out = Annotated[
    Path | None, typer.Option(help="The run folder to make; by default a new folder under runs/.")
]
Values = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="PATH=VALUE",
        help="Set a value, as in --set flows.transfer.endpoint=kernel. May be repeated.",
    ),
]
Budget = Annotated[
    float,
    typer.Option(
        parser=lateness,
        metavar="TIME",
        help="The maximum lateness of a valid run: 20ms, 0.02; by default 5ms.",
        show_default=False,
    ),
]
Wires = Annotated[Wire, typer.Option(help="The devices of the hosts; tun needs /dev/net/tun.")]
Offload = Annotated[
    bool,
    typer.Option(
        "--offload", help="Let TCP send many segments as one large packet, as to a network card."
    ),
]


@app.callback()
def _root() -> None:
    """Do nothing. With this function typer makes a group even of a single command."""


@app.command()
def run(
    scenario: ScenarioFile,
    out: Out = None,
    seed: Annotated[
        int | None,
        typer.Option(parser=count, metavar="N", help="The seed of the random draws."),
    ] = None,
    set_: Values = None,
    unset: Unset = None,
    case: Case = None,
    shadow: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TIMER",
            help="A timer to compute beside the kernel's; its values are in the table `shadows`. "
            "May be repeated.",
        ),
    ] = None,
    budget: Budget = 0.005,
    wire: Wires = Wire.VETH,
    offload: Offload = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON.")] = False,
) -> None:
    """Run a scenario in real time. Exit with 1 if the run is not valid."""
    from netspurt.live import run_live
    from netspurt.shipped import resolve

    scenario = resolve(scenario, live=True)
    chosen = one_case(scenario, set_, seed, case, unset)
    if shadow:
        chosen = chosen.replace({"record.shadows": shadow})
    folder = out or next_free(RUNS, f"{scenario.stem}-live")
    with live_screen(scenario.stem, chosen.stop) as watch:
        result = run_live(
            chosen, folder, budget=budget, wire=wire.value, offload=offload, watch=watch
        )
    live = result.live
    assert live is not None
    if as_json:
        print_json({**summary(result, folder), "live": live.as_json()})
    else:
        describe(result, chosen, folder)
        for line in [*_early(result, chosen.stop), *verdict(live)]:
            typer.echo(line)
    tell_notes(chosen)
    if not live.valid:
        raise typer.Exit(1)


Server = Annotated[
    str | None,
    typer.Option(
        metavar="LINE",
        help="A shell command for the other node. COMMAND starts when a socket listens there.",
    ),
]
Side = Annotated[
    str | None,
    typer.Option(
        metavar="NODE",
        help="The node on which COMMAND runs. By default the flow's first node, or the end of the "
        "path that comes first in the file.",
    ),
]
Peer = Annotated[
    str | None,
    typer.Option(
        metavar="NODE",
        help="The other node. By default the flow's second node, or the other end of the path.",
    ),
]
Shim = Annotated[
    str | None,
    typer.Option(
        metavar="TIMER",
        help="A retransmission timer between each host's TCP and the path: linux:rto_min=50ms or "
        "sfr:factor=3.",
    ),
]


@app.command(name="exec")
def exec_(
    scenario: ScenarioFile,
    command: Annotated[
        list[str],
        typer.Argument(metavar="-- COMMAND...", help="The program and its arguments."),
    ],
    server: Server = None,
    side: Side = None,
    peer: Peer = None,
    shim: Shim = None,
    out: Out = None,
    set_: Values = None,
    unset: Unset = None,
    budget: Budget = 0.005,
    wire: Wires = Wire.VETH,
    offload: Offload = False,
) -> None:
    """Run programs over a scenario's links. Exit with the status of COMMAND.

    The status is 125 to 127 if COMMAND did not run. The scenario need not have a flow. The report
    on the run goes to standard error.
    """
    from netspurt.live import LiveError, NotRunError, run_programs
    from netspurt.shipped import resolve

    scenario = resolve(scenario, live=True)
    changes: dict[str, Any] = {"unset": unset or (), "side": side, "peer": peer}
    chosen = _for_programs(scenario, settings(set_, unset), shim, changes)
    folder = out or next_free(RUNS, f"{scenario.stem}-exec")
    wires: dict[str, Any] = {"wire": wire.value, "offload": offload}
    try:
        result = run_programs(chosen, folder, command, server=server, budget=budget, **wires)
    except LiveError as error:
        complain(error)
        raise typer.Exit(error.status if isinstance(error, NotRunError) else 125) from None
    live = result.live
    assert live is not None
    assert live.programs is not None
    if live.programs.stopped:
        stop = f"{result.stop_ns / 1e9:g} s"
        typer.echo(f"netspurt: the scenario's stop, {stop}, ended the command", err=True)
    typer.echo(f"netspurt: {folder}", err=True)
    for line in verdict(live, ends=False):
        typer.echo(f"netspurt: {line}", err=True)
    raise typer.Exit(live.programs.status)


def _for_programs(
    file: Path, values: dict[str, str], shim: str | None, changes: dict[str, Any]
) -> Scenario:
    """Read a scenario for programs, with the settings of the options."""
    from netspurt.scenario import Scenario, read_text

    values = dict(values)
    text = read_text(file)
    chosen = Scenario.for_programs(text, str(file), values=values, folder=file.parent, **changes)
    if shim is not None:
        values[f"flows.{chosen.programs_flow}.shim"] = json.dumps(shim)
        chosen = Scenario.for_programs(
            text, str(file), values=values, folder=file.parent, **changes
        )
    return chosen


def _early(run: Run, stop_s: float) -> list[str]:
    """Return a line if the run ended before `stop` because its flows had ended."""
    ended_s = run.stop_ns / 1e9
    if ended_s >= stop_s:
        return []
    return [
        f"the run ended at {ended_s:.3g} s, because all flows had ended; `stop` is {stop_s:g} s"
    ]


def verdict(live: LiveReport, *, ends: bool = True) -> list[str]:
    """Return lines on the validity of a live run.

    If `ends` is true, there are also lines on the settings of its ends.
    """
    late = live.lateness
    spans = {"p50": late.p50_ns, "p99": late.p99_ns, "p99.9": late.p999_ns, "max": late.max_ns}
    told = ", ".join(f"{name} {_span(nanos)}" for name, nanos in spans.items())
    again, packets = live.replayed, live.packets.in_words()
    lines = [
        f"lateness: {told}, budget {_span(live.budget_ns)}",
        f"drops: {number(again.drops)}; a simulation of the same arrivals has "
        + ("the same" if again.same else f"other drops ({number(again.drops_again)})"),
    ]
    lines += [", ".join(packets)] if packets else []
    lines += [f"flow {one.flow}: {one.failure}" for one in live.failures]
    lines += _given(live.ends) if ends else []
    lines += _unlike_machine(live.ends)
    if late.deliveries == 0:
        lines.append("No packet crossed the emulated path, so the run shows nothing about it.")
    good = paint("valid", "green") if live.valid else f"{paint('INVALID', 'red')}: {live.why_not()}"
    lines.append(f"Linux {live.kernel}, {live.back_end}: {good}")
    return lines


def _given(ends: list[EndReport]) -> list[str]:
    """Return lines with the settings of ends. Ends with equal settings share a line."""
    seen: dict[str, list[str]] = {}
    for end in ends:
        text = ", ".join(f"{name}={value}" for name, value in end.values().items())
        seen.setdefault(f"{end.profile}: {text}", []).append(f"{end.flow}.{end.side}")
    return [
        fill(
            f"{' and '.join(who)}, {text}",
            width(110),
            subsequent_indent="  ",
            break_on_hyphens=False,
        )
        for text, who in seen.items()
    ]


#: The profile (named set of settings) that users may mistake for the machine's own settings.
_DEFAULT = "linux-default"


def _unlike_machine(ends: list[EndReport]) -> list[str]:
    """Return lines on ends that have `linux-default`, but other settings than this machine."""
    seen: dict[str, list[str]] = {}
    for end in ends:
        # Programs have sockets of their own, so the route sets their congestion control.
        control = end.socket.get("TCP_CONGESTION") or end.route.get("congctl")
        own = {**end.sysctls, "net.ipv4.tcp_congestion_control": control}
        here = {name: _of_machine(name) for name in own}
        parts = [
            f"{name}={value} (here {here[name]})"
            for name, value in own.items()
            if None not in (value, here[name]) and value != here[name]
        ]
        if end.profile == _DEFAULT and parts:
            seen.setdefault(", ".join(parts), []).append(f"{end.flow}.{end.side}")
    return [
        fill(
            f"{', '.join(who)}: {_DEFAULT} differs from this machine's settings: {text}",
            width(110),
            subsequent_indent="  ",
            break_on_hyphens=False,
        )
        for text, who in seen.items()
    ]


def _of_machine(sysctl: str) -> str | None:
    """Return the value of a sysctl outside the run's namespaces, or `None` if there is none."""
    try:
        text = (_SYSCTLS / sysctl.replace(".", "/")).read_text()
    except OSError:
        return None
    return " ".join(text.split())


def _span(nanos: int) -> str:
    if nanos >= 1e9:
        return f"{nanos / 1e9:.3g} s"
    return f"{nanos / 1e3:.0f} µs" if nanos < 1e6 else f"{nanos / 1e6:.3g} ms"
