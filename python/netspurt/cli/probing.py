"""`netspurt probe` sends echo probes on a real path; `netspurt serve` answers them."""

from __future__ import annotations

import math
import shlex
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import asdict
from functools import partial
from ipaddress import ip_address
from typing import TYPE_CHECKING, Annotated, Any

import typer

from netspurt.cli import probe_options as opt
from netspurt.cli.options import count as whole
from netspurt.cli.options import one_of, port_or_any, span_of
from netspurt.cli.options import port as port_number
from netspurt.cli.output import columns, fitted, named, paint, print_json, width, wrapped
from netspurt.cli.path_report import bars, burst_lines, delay_line, length_text, path_data, span
from netspurt.cli.screens import screen
from netspurt.wording import counted, duration, number, rate

if TYPE_CHECKING:
    from netspurt.probe import Hop, Plan, Watch
    from netspurt.probe_lines import EchoProbeLine, HeaderLine, Line


def probe(
    host: opt.Host = None,
    kind: opt.Kind = "icmp",
    port: opt.Port = None,
    four: opt.Four = False,
    six: opt.Six = False,
    count: opt.Count = None,
    for_: opt.For = None,
    length: opt.Length = "rfc889",
    pace: opt.Pace = "immediate",
    timeout: opt.Timeout = None,
    seed: opt.Seed = None,
    estimators: opt.Estimators = None,
    out: opt.Out = None,
    rotate: opt.Rotate = None,
    calibrate: opt.Calibrate = 500,
    hops: opt.Hops = False,
    line: opt.EmulatedLine = None,
    quiet: opt.Quiet = False,
    verbose: opt.Verbose = False,
    as_json: opt.AsJson = False,
) -> None:
    """Probe a path as in RFC 889, with at most one echo probe in flight."""
    from netspurt.probe import COUNT, Plan, ProbeLengths, stamp_name
    from netspurt.timers import USUAL

    if line:
        raise typer.Exit(_over_a_line(host, line, kind, port))
    if host is None:
        raise ValueError(
            "no host: give a host, or make an emulated line with --line '56 kbit/s, 20 ms'"
        )
    if four and six:
        raise ValueError("-4 and -6 exclude each other: leave out one of them")
    if verbose and (quiet or as_json or hops):
        other = "--quiet" if quiet else "--json" if as_json else "--hops"
        raise ValueError(
            f"--verbose prints a line for each echo probe, and {other} prints none: leave out one "
            "of these two options"
        )
    if hops:
        _check_survey(
            {"--for": for_, "--rotate": rotate, "-e": estimators}, count, pace=pace, length=length
        )
    usual = 5 if hops else (None if for_ is not None else COUNT)
    usual_wait = 2.0 if hops else 30.0
    name, gap = _pace(pace)
    echo_probes, span = _rotation(rotate)
    plan = Plan(
        host,
        kind=kind,
        port=port,
        family=4 if four else 6 if six else None,
        count=usual if count is None else count,
        span=for_,
        timeout=usual_wait if timeout is None else timeout,
        lengths=ProbeLengths.of(length),
        pace=name,
        gap=gap,
        seed=time.time_ns() // 1000 % 2**32 if seed is None else seed,
        calibrate=calibrate,
        out=out or stamp_name(host),
        rotate_echo_probes=echo_probes,
        rotate_span=span,
    )
    if hops:
        _survey(plan, quiet=quiet, as_json=as_json)
    else:
        each = list(estimators or USUAL)
        _echo_probes(plan, each, quiet=quiet, verbose=verbose, as_json=as_json)


def _check_survey(
    given: Mapping[str, object], count: int | None, *, pace: str, length: str
) -> None:
    """Check that `--hops` has echo probes, and comes without the options that it does not use."""
    from netspurt.probe import ProbeLengths

    if count == 0:
        raise ValueError("--hops -n 0: a hop needs at least one echo probe: write 1 or more")
    unused = [option for option, value in given.items() if value]
    if pace != "immediate":
        unused.append("--pace")
    if length != "rfc889" and ProbeLengths.of(length).rule != "fixed":
        unused.append(f"--length {length}")
    if unused:
        these = unused[0] if len(unused) == 1 else "these options"
        raise ValueError(f"--hops does not use {', '.join(unused)}: leave out {these} or --hops")


def _pace(text: str) -> tuple[str, float | None]:
    kind, _, rest = text.partition(":")
    if text == "immediate":
        return "immediate", None
    return ("poisson", span_of(rest)) if kind == "poisson" else ("every", span_of(text))


def _rotation(text: str | None) -> tuple[int | None, float | None]:
    if text is None:
        return None, None
    if text.isdecimal():
        if int(text) == 0:
            raise ValueError("--rotate 0: a file holds at least one echo probe: write 1 or more")
        return int(text), None
    return None, span_of(text)


def _over_a_line(host: str | None, line: list[str], kind: str, port: int | None) -> int:
    """Run this command again over an emulated line; return the exit status of that command."""
    from netspurt.line import FAR, over_line
    from netspurt.probe import PORTS

    if host is not None or len(line) > 2:
        raise ValueError("--line makes its own host: leave HOST out, and give --line once or twice")
    words, skip = [], False
    for word in sys.argv[2:]:
        if not skip and word != "--line" and not word.startswith("--line="):
            words.append(word)
        skip = word == "--line" and not skip
    command = [sys.executable, "-P", "-c", "from netspurt.cli import start; start()"]
    service = ["serve", "echo", "--port", str(port or PORTS["udp"]), "--address", FAR]
    far = [*command, *service] if kind == "udp" else []
    return over_line([*command, "probe", FAR, *words], far, forward=line[0], reverse=line[-1])


def _echo_probes(
    plan: Plan, estimators: list[str], *, quiet: bool, verbose: bool, as_json: bool
) -> None:
    from netspurt.probe import run

    with _shown(plan, quiet=quiet or as_json, verbose=verbose) as show:
        watch = run(plan, estimators, on_line=show)
    told = _told(watch, estimators)
    if as_json:
        print_json(told)
    else:
        for text in fitted(_summary(watch, told)):
            typer.echo(text)
    if watch.answered == 0:
        raise typer.Exit(1)


@contextmanager
def _shown(plan: Plan, *, quiet: bool, verbose: bool) -> Iterator[Callable[[Line, Watch], None]]:
    """Show the progress of probing: as a screen, as lines, or, if `quiet`, not at all.

    A terminal without `verbose` gets a screen. Otherwise the heading is printed, and with `verbose`
    also the lines of `_shown_line`, such as one for each echo probe.
    """
    if quiet:
        yield lambda _line, _watch: None
        return
    with nullcontext() if verbose else screen(sys.stdout) as draw:
        trace: deque[str] = deque(maxlen=_TRACED)

        def show(line: Line, watch: Watch) -> None:
            trace.extend(_shown_line(line))
            assert draw is not None
            lines = partial(screen_lines, plan, watch, list(trace))
            draw(lines, last=watch.end is not None)

        def tell(line: Line, watch: Watch) -> None:
            if line is watch.header and watch.header:
                texts = list(_heading(watch.header))
            else:
                texts = _shown_line(line) if verbose else []
            for text in texts:
                typer.echo(text)
            # A program that reads the output gets each line immediately.
            sys.stdout.flush()

        yield tell if draw is None else show


def _heading(about: HeaderLine) -> Iterator[str]:
    """Yield lines with the facts known before the first echo probe, such as the path."""
    from netspurt.probe_lines import Noise, NoNoise

    path = about.path
    where = about.host if about.host == about.address else f"{about.host} ({about.address})"
    port = f" port {about.port}" if about.port else ""
    how = " ".join(str(part) for part in about.lengths.values())
    yield f"{where}{port}: {about.socket}, lengths {how}, seed {about.seed}"
    by = f" by {path.device}" if path.device else ""
    over = f" over {path.gateway}" if path.gateway else ""
    yield f"from {path.source}{by}{over}, MTU {path.mtu}"
    match about.noise:
        case Noise(_, user, kernel):
            said = [
                f"by the {clock}'s timestamps {span(noise.p50_ns)} median, "
                f"{span(noise.p99_ns)} 99 %, {span(noise.max_ns)} longest"
                for clock, noise in (("kernel", kernel), ("program", user))
                if noise.count
            ]
            yield f"noise floor, the delay of this machine over loopback: {'; '.join(said)}"
        case NoNoise(failed):
            yield f"noise floor: not known, {failed}"
    if about.file is not None:
        yield about.file


def _shown_line(line: Line) -> list[str]:
    """Return the text to show for a line of the data file, or an empty list if there is none."""
    from netspurt import probe_lines as lines

    match line:
        case lines.EchoProbeLine():
            shown = _outcome(line)
        case lines.LateLine():
            shown = f"{line.late:>6}  {paint('late', 'yellow')}, after {span(line.rtt_ns)}"
        case lines.DuplicateLine():
            what = paint("duplicate", "yellow")
            shown = f"{line.duplicate:>6}  {what}, after {span(line.rtt_ns)}"
        case lines.ClockStepLine():
            shown = f"the machine's clock was set by {line.clock_step_ns / 1e9:+.6f} s"
        case lines.HeaderLine(file=str(file)):
            shown = file
        case _:
            return []
    return [shown]


def _outcome(line: EchoProbeLine) -> str:
    """Return the outcome of an echo probe in words."""
    head = f"{line.echo_probe:>6}  {line.octets:>5} B"
    if line.lost:
        return f"{head}  {paint('lost', 'red')}{', ' + line.why if line.why else ''}"
    host = line.user_rtt_ns - line.rtt_ns
    more = (
        f"  this host adds {span(host)}" if line.by == "kernel" else "  by the program's timestamps"
    )
    ttl = "" if line.ttl is None else f"  ttl {line.ttl}"
    return f"{head}  {span(line.rtt_ns):>9}{ttl}{more}"


#: On the screen, the last echo probes have at most `_TRACED` lines, and the histogram has at most
#: `_BARS` lines.
_TRACED, _BARS = 12, 14
#: If the screen has fewer than `_TALL` lines, it shows only the first line of the heading.
_TALL = 23


def screen_lines(
    plan: Plan, watch: Watch, trace: Sequence[str], across: int, down: int
) -> list[str]:
    """Return the lines of the screen: the histogram, the timers and the last echo probes.

    Parameters
    ----------
    plan, watch, trace
        The plan, the results so far, and the last echo probes as lines.
    across, down
        The characters of a line, and the number of lines.
    """
    about = list(_heading(watch.header)) if watch.header else []
    about = about if down >= _TALL else about[:1]
    head = [part for text in about for part in wrapped([[text]], [across])]
    done = f"{watch.echo_probes} of " if plan.count else ""
    told = counted(plan.count or watch.echo_probes, "echo probe")
    lost = watch.echo_probes - watch.answered - watch.late
    head.append(
        f"{done}{told}, {lost} lost, {watch.late} late, {counted(watch.duplicates, 'duplicate')}"
    )
    timers = list(columns(_shadow_rows(watch), right=(1, 2, 3)))
    # The last echo probes get at most a third of the remaining lines, but at least one line.
    left = max(0, down - len(head) - len(timers) - 3)
    probes = min(len(trace), _TRACED, max(1, left // 3))
    histogram = list(bars(watch.histogram, max(1, min(_BARS, left - probes)), across))
    return [*head, "", *histogram, "", *timers, "", *trace[len(trace) - probes :]][:down]


def _shadow_rows(watch: Watch) -> list[list[str]]:
    rows = [["timer", "now", "spurious", "efficiency"]]
    for one in watch.shadows:
        share = "-" if math.isnan(one.efficiency) else f"{one.efficiency:.3f}"
        rows.append([one.name, span(one.timer * 1e9), str(one.spurious), share])
    return rows


def _told(watch: Watch, estimators: list[str]) -> dict[str, Any]:
    """Return the results of the probing as data."""
    recording = watch.recording()
    told: dict[str, Any] = {
        "header": asdict(watch.header) if watch.header else None,
        "files": watch.files,
        "end": watch.end,
        "echo_probes": watch.echo_probes,
        "answered": watch.answered,
        "lost": watch.echo_probes - watch.answered - watch.late,
        "late": watch.late,
        "duplicates": watch.duplicates,
        "clock_steps": watch.clock_steps,
        "returned": watch.returned,
        "histogram": [],
        "delay": None,
        "line": None,
        "bursts": [],
        "estimators": [],
    }
    if recording is None:
        return told
    told |= path_data(recording)
    if watch.header and watch.header.kind == "tcp":
        # The answer to a SYN has a length of its own, so the delay has no line by length.
        told["line"] = None
    if recording.received:
        told["estimators"] = _algorithms(recording, estimators)
    return told


def _algorithms(recording: Any, estimators: list[str]) -> list[dict[str, Any]]:
    from netspurt.cli.replay_report import algorithm_data
    from netspurt.timers import replay

    return [
        {**algorithm_data(algorithm), "lost": algorithm.lost}
        for algorithm in replay(recording, estimators).algorithms
    ]


def _summary(watch: Watch, told: dict[str, Any]) -> Iterator[str]:
    """Yield the results of probing: counts, histogram, delay against length, timers."""
    yield ""
    share = f" ({100 * told['lost'] / told['echo_probes']:.2f} %)" if told["lost"] else ""
    text = f"{counted(told['echo_probes'], 'echo probe')}, {number(told['answered'])} answered, "
    text += f"{number(told['lost'])} lost{share}, {told['late']} late, "
    text += counted(told["duplicates"], "duplicate")
    yield text + ("" if told["end"] == "complete" else f" · {told['end'] or 'cut short'}")
    yield from _returned(watch)
    if told["clock_steps"]:
        yield f"the machine's clock was set {told['clock_steps']} times"
    delay = told["delay"]
    if delay is None:
        return
    yield from _meaning(watch, told["estimators"])
    yield delay_line(told, "round-trip")
    yield ""
    yield from bars(watch.histogram)
    yield ""
    if told["line"] is not None:
        yield length_text(told["line"], "round-trip")
    yield from burst_lines(told["bursts"], most=5)
    yield from _table(told["estimators"])
    yield from _next(watch)


def _returned(watch: Watch) -> Iterator[str]:
    """Yield what ICMP errors say of lost probes, and what to do if nothing listens at the port."""
    for why, count in watch.returned.items():
        yield f"{counted(count, 'lost probe')}: {why}"
    about = watch.header
    if about is None or about.kind != "udp" or watch.answered:
        return
    if any(why.startswith(_CLOSED) for why in watch.returned):
        yield (
            f"No program echoes at UDP port {about.port} of {about.address}. Start one there: "
            f"`netspurt serve echo --port {about.port} --address {about.address}`; --kind icmp "
            "needs no such program."
        )


def _meaning(watch: Watch, algorithms: list[dict[str, Any]]) -> Iterator[str]:
    """Yield what the results mean for a path, and what timers would have done."""
    about = watch.header
    if about is not None and ip_address(about.address).is_loopback:
        yield (
            f"{about.address} is this machine, so the delays show its own kernel and not a path: "
            "do not use them to choose a timer for a path."
        )
    if not algorithms:
        return
    early = [one for one in algorithms if one["spurious"]]
    calm = [str(one["estimator"]) for one in algorithms if not one["spurious"]]
    if not early:
        yield "No timer in the table would have retransmitted spuriously."
    else:
        told = ", ".join(f"{one['estimator']} {number(one['spurious'])}" for one in early)
        others = f"; {', '.join(calm)}: never" if calm else ""
        yield (
            "Timers that would have retransmitted although the reply came, and how often: "
            f"{told}{others}."
        )
    lost = [one for one in algorithms if one["lost"]]
    if not lost:
        yield "No probe was lost, so no timer had to wait for a loss."
        return
    waits = [(one["waited_s"] / one["lost"], str(one["estimator"])) for one in lost]
    (least, first), (most, last) = min(waits), max(waits)
    if len(waits) == 1:
        yield f"On average {first} would have waited {duration(least)} for a lost probe."
        return
    yield (
        f"On average {first} would have waited the shortest time for a lost probe, "
        f"{duration(least)}, and {last} the longest time, {duration(most)}."
    )


#: The first words of the reason why a probe is lost, if nothing listens at a UDP port.
_CLOSED = "port unreachable"


def _table(algorithms: list[dict[str, Any]]) -> Iterator[str]:
    """Yield a row for each timer, and the meanings of the columns, as `netspurt replay` does."""
    if not algorithms:
        return
    yield ""
    yield from columns([_COLUMNS, *map(_table_row, algorithms)], right=range(1, len(_COLUMNS)))
    yield from wrapped([[paint(_MEANINGS, "dim")]], [width(100)])


#: The columns of the table of timers, and their meanings.
_COLUMNS = ("timers", "spurious", "timer", "per loss", "efficiency")
_MEANINGS = (
    "spurious: answers that came after the timer; timer: its mean value; per loss: the mean wait "
    "for a lost probe; efficiency: delays / (delays + waits + delays of spurious probes), RFC 889"
)


def _table_row(algorithm: dict[str, Any]) -> list[str]:
    timer, per_loss = algorithm["mean_timer_s"]["value"], algorithm["waited_per_loss_s"]
    efficiency = algorithm["efficiency"]
    return [
        algorithm["estimator"],
        number(algorithm["spurious"]),
        *("-" if seconds is None else span(seconds * 1e9) for seconds in (timer, per_loss)),
        "-" if efficiency is None else f"{efficiency:.3f}",
    ]


def _next(watch: Watch) -> Iterator[str]:
    """Yield the command that recommends a timer from the data file."""
    if watch.files:
        files = shlex.join(named(file) for file in watch.files)
        yield (
            f"`netspurt replay {files}` recommends a timer; with --rfc889 it prints rows of RFC "
            "889's table. Their times are one-way: half of each round trip."
        )


def _survey(plan: Plan, *, quiet: bool, as_json: bool) -> None:
    from netspurt.probe import hops_of, survey

    def tell(line: Line, watch: Watch) -> None:
        if watch.header and line is watch.header and not quiet and not as_json:
            for text in _heading(watch.header):
                typer.echo(text)

    watch = survey(plan, echo_probes=5 if plan.count is None else plan.count, on_line=tell)
    found = hops_of(watch)
    if as_json:
        print_json(
            {
                "header": asdict(watch.header) if watch.header else None,
                "end": watch.end,
                "hops": [_hop_data(one) for one in found],
            }
        )
    else:
        for text in _hop_table(found):
            typer.echo(text)
    if not any(one.answered for one in found):
        raise typer.Exit(1)


def _hop_data(one: Hop) -> dict[str, Any]:
    def known(value: float) -> float | None:
        return value if math.isfinite(value) else None

    return {
        "hop": one.number,
        "names": list(one.names),
        "sent": one.sent,
        "answered": one.answered,
        "least_s": known(one.least),
        "median_s": known(one.median),
        "adds_s": known(one.adds),
    }


def _hop_table(found: list[Hop]) -> Iterator[str]:
    rows = [["hop", "router or host", "answered", "least delay", "median delay", "added delay"]]
    for one in found:
        spans = (
            [span(value * 1e9) for value in (one.least, one.median, max(one.adds, 0.0))]
            if one.answered
            else ["-"] * 3
        )
        who = ", ".join(one.names) or "no answer"
        rows.append([str(one.number), who, f"{one.answered}/{one.sent}", *spans])
    yield ""
    lines = columns(rows, right=(0, 2, 3, 4, 5))
    yield paint(next(lines), "dim")
    yield from lines
    known = [one for one in found if one.answered]
    if known and known[-1].least > 0:
        most = max(known, key=lambda one: one.adds)
        share = 100 * most.adds / known[-1].least
        text = f"hop {most.number} adds the largest part of the delay, {share:.0f} %"
        yield from wrapped([[text]], [width(100)])


def serve(
    what: Annotated[
        str,
        typer.Argument(
            parser=one_of(("echo", "sink")),
            metavar="WHAT",
            help="echo returns all data; sink discards it.",
        ),
    ],
    port: Annotated[
        int,
        typer.Option(
            parser=port_or_any, metavar="N", help="The UDP and TCP port; 0 for any free port."
        ),
    ] = 7,
    address: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
) -> None:
    """Echo or discard all data received by UDP and TCP, until interrupted."""
    from netspurt.probe import resolve
    from netspurt.probe_lines import ServingLine, read_as
    from netspurt.worker import ServeTask, worker

    at = resolve(address)
    if not ip_address(at).is_loopback:
        told = (
            f"warning: {at} is not a loopback address: anybody who reaches it can use this {what}, "
            "and sources of datagrams can be forged"
        )
        typer.echo(told, err=True)
    with worker(ServeTask(what, at, port)) as process:
        for text in process.stdout or ():
            typer.echo(f"{what} at {read_as(ServingLine, text).serving}, UDP and TCP")
            sys.stdout.flush()


def push(
    host: Annotated[str, typer.Argument(help="A name or an address.", show_default=False)],
    port: Annotated[int, typer.Option(parser=port_number, metavar="N", help="The TCP port.")] = 7,
    octets: Annotated[
        int,
        typer.Option(
            "--octets", "-n", parser=whole, metavar="N", help="The number of octets to send."
        ),
    ] = 1_000_000,
    as_json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> None:
    """Send octets by TCP to a host that echoes or discards them, and print their rate."""
    from netspurt.line import push as send
    from netspurt.probe import resolve

    try:
        told = send(resolve(host), port, octets)
    except OSError as error:
        raise ValueError(
            f"{host}, TCP port {port}: {error.strerror or error}: start a host that reads all "
            f"octets there, such as `netspurt serve sink --port {port}`"
        ) from None
    if as_json:
        print_json(told)
        return
    typer.echo(
        f"{number(told['sent'])} octets acknowledged in {told['acked_s']:.3f} s, "
        f"{rate(told['rate_bps'])}; {number(told['returned'])} came back; "
        f"the host closed the connection after {told['total_s']:.3f} s"
    )
