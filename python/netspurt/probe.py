"""Sends echo probes over a real path, as RFC 889 did, with the kernel's timestamps.

A separate process sends the probes, with at most one in flight. A plan says which probes it sends.
If the plan names a data file, the separate process stores each probe in it. The separate process
ends when the process that started it ends. docs/probe.md describes the probe.
"""

from __future__ import annotations

import contextlib
import math
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from netspurt import _core
from netspurt.analysis.glitches import Glitch, find_glitches
from netspurt.analysis.lengths import Line as LengthLine
from netspurt.analysis.lengths import fit_lengths
from netspurt.delays import Delays
from netspurt.estimators import estimator as make_estimator
from netspurt.probe_lines import (
    ClockStepLine,
    DuplicateLine,
    EchoProbeLine,
    EndLine,
    HeaderLine,
    HopLine,
    LateLine,
    Line,
    read_line,
)
from netspurt.worker import EchoProbesTask, HopsTask, ProbeError, Target, Task, worker

#: How long RFC 889 waits for the answer to an echo probe (the give-up time), in seconds.
TIMEOUT = 30.0
#: The number of echo probes in one of RFC 889's experiments.
COUNT = 512
#: The ports of the echo service (RFC 862) and of web servers.
PORTS = {"icmp": 0, "udp": 7, "tcp": 80}


@dataclass(frozen=True)
class ProbeLengths:
    """The lengths of probes, in octets of the IP datagram.

    Attributes
    ----------
    rule
        ``rfc889`` (drawn from 0 to 256; lengths below the minimum become the minimum),
        ``uniform``, ``fixed`` or ``bursts``. The minimum is 40 octets with IPv4 and 60 with IPv6.
    values
        For ``uniform``, the minimum and the maximum. For ``fixed``, the length. For ``bursts``, a
        number n: n probes of the minimum length, then n probes of 256 octets, and so on.
    """

    rule: str
    values: tuple[int, ...] = ()

    @classmethod
    def of(cls, text: str) -> ProbeLengths:
        """Read the rule from its text form.

        Raises
        ------
        ValueError
            If the text is not a rule.

        Examples
        --------
        >>> ProbeLengths.of("64"), ProbeLengths.of("uniform:40-256").values
        (ProbeLengths(rule='fixed', values=(64,)), (40, 256))
        >>> ProbeLengths.of("bursts:8").order()
        {'rule': 'bursts', 'each': 8}
        """
        name, _, argument = text.strip().partition(":")
        try:
            if name.isdecimal() and not argument:
                return cls("fixed", (_octets(name),))
            if name == "rfc889" and not argument:
                return cls(name)
            if name == "uniform":
                low, _, high = (argument or "40-256").partition("-")
                if _octets(low) <= _octets(high):
                    return cls(name, (_octets(low), _octets(high)))
            if name == "bursts" and int(argument or 8) > 0:
                return cls(name, (int(argument or 8),))
        except ValueError:
            pass
        raise ValueError(
            f"{text!r} is not a rule of lengths: write rfc889, uniform:40-256, bursts:8, or a "
            "number of octets from 28 (a probe needs 40, or 60 with IPv6) to 65000"
        )

    def order(self) -> dict[str, Any]:
        """Return the rule in the form that the probing process reads."""
        names = {"uniform": ("low", "high"), "fixed": ("octets",), "bursts": ("each",)}
        return {"rule": self.rule, **dict(zip(names.get(self.rule, ()), self.values, strict=True))}


def _octets(text: str) -> int:
    octets = int(text)
    if not 28 <= octets <= 65_000:
        raise ValueError
    return octets


@dataclass(frozen=True)
class Plan:
    """The plan of a series of probes. Times are in seconds.

    Attributes
    ----------
    host
        A name or an address.
    kind
        ``icmp``, ``udp`` (to a host that echoes) or ``tcp`` (a SYN, which a SYN-ACK or an RST
        answers).
    port
        The port; `None` for 7 with ``udp``, and 80 with ``tcp``.
    family
        The version of IP, 4 or 6; `None` for the first address of the name.
    count, span
        The number of echo probes, and the duration; `None` for no limit.
    timeout
        The give-up time. An answer after this time counts as late.
    lengths
        The lengths of the probes.
    pace, gap
        When the next probe is due. ``immediate``: when the last probe is answered or given up.
        ``every``: at fixed gaps of `gap`. ``poisson``: at random gaps with the mean `gap`.
    seed
        The seed of lengths and pace.
    calibrate
        The number of echo probes over loopback before the start.
    out
        The data file; `None` for none.
    rotate_echo_probes, rotate_span
        A new file begins after this number of echo probes, or after this time.
    """

    host: str
    kind: str = "icmp"
    port: int | None = None
    family: int | None = None
    count: int | None = COUNT
    span: float | None = None
    timeout: float = TIMEOUT
    lengths: ProbeLengths = field(default_factory=lambda: ProbeLengths("rfc889"))
    pace: str = "immediate"
    gap: float | None = None
    seed: int = 1
    calibrate: int = 500
    out: Path | None = None
    rotate_echo_probes: int | None = None
    rotate_span: float | None = None

    def task(self) -> EchoProbesTask:
        """Return the task of the probing process for this plan.

        Raises
        ------
        ProbeError
            If the host has no address, if the probes are too short, or if the data file exists or
            has no folder.
        """
        pace: dict[str, Any] = {"rule": self.pace}
        if self.gap is not None:
            pace["gap_ns"] = round(self.gap * 1e9)
        return EchoProbesTask(
            target=self._target(),
            count=self.count,
            span_ns=_nanos(self.span),
            timeout_ns=round(self.timeout * 1e9),
            lengths=self.lengths.order(),
            pace=pace,
            seed=self.seed,
            calibrate=self.calibrate,
            out=self._out(rotated=bool(self.rotate_echo_probes or self.rotate_span)),
            rotate_echo_probes=self.rotate_echo_probes,
            rotate_ns=_nanos(self.rotate_span),
        )

    def survey_task(self, most: int, echo_probes: int) -> HopsTask:
        """Return the task of the probing process for a survey of the hops to the host.

        Raises
        ------
        ProbeError
            If the host has no address, if the probes are too short, or if the data file exists or
            has no folder.
        """
        return HopsTask(
            target=self._target(),
            most=most,
            count=echo_probes,
            octets=self.lengths.values[0] if self.lengths.rule == "fixed" else 60,
            timeout_ns=round(self.timeout * 1e9),
            seed=self.seed,
            calibrate=self.calibrate,
            out=self._out(rotated=False),
        )

    def _target(self) -> Target:
        address = resolve(self.host, self.family)
        port = PORTS[self.kind] if self.port is None else self.port
        min_octets = 60 if ":" in address else 40
        if self.lengths.rule == "fixed" and self.lengths.values[0] < min_octets:
            raise ProbeError(
                f"{self.lengths.values[0]} octets are too few for a probe of IPv"
                f"{6 if min_octets == 60 else 4}: headers and identification take {min_octets}"
            )
        return Target(self.host, address, port, self.kind)

    def _out(self, *, rotated: bool) -> str | None:
        """Return the path of the data file, after a check that the first file can be made."""
        if self.out is None:
            return None
        out = self.out
        first = out.with_name(f"{out.stem}-001{out.suffix}") if rotated else out
        if first.exists():
            raise ProbeError(f"{first} is there already: name another file with --out")
        if not first.parent.is_dir():
            raise ProbeError(
                f"there is no folder {first.parent}: make it, or name another file with --out"
            )
        return str(out)


def _nanos(seconds: float | None) -> int | None:
    return None if seconds is None else round(seconds * 1e9)


def resolve(host: str, family: int | None = None) -> str:
    """Return the IP address of `host`, which is a name or an IP address.

    Raises
    ------
    ProbeError
        If the host has no address, or the address is link-local.

    Examples
    --------
    >>> resolve("127.0.0.1"), resolve("::1", 6)
    ('127.0.0.1', '::1')
    """
    wanted = {4: socket.AF_INET, 6: socket.AF_INET6, None: socket.AF_UNSPEC}[family]
    try:
        found = socket.getaddrinfo(host, None, wanted, socket.SOCK_DGRAM)
    except OSError as error:
        raise ProbeError(f"{host}: {error.strerror or error}") from None
    address = str(found[0][4][0])
    if "%" in address:
        raise ProbeError(f"{host}: link-local addresses are not supported: use a global address")
    return address


#: The number of bins of the histogram for each factor of ten.
PER_DECADE = 200


@dataclass
class Histogram:
    """A histogram of delays with logarithmic bins. The sum of its counts is the number of delays.

    Examples
    --------
    >>> histogram = Histogram()
    >>> for rtt in (0.010, 0.0101, 0.1):
    ...     histogram.add(rtt)
    >>> sum(histogram.bins.values()), [round(low * 1000, 3) for low, _, _ in histogram.spans()][0]
    (3, 10.0)
    """

    bins: dict[int, int] = field(default_factory=dict)

    def add(self, rtt: float) -> None:
        """Count a delay of `rtt` seconds."""
        place = math.floor(math.log10(max(rtt, 1e-9)) * PER_DECADE + 1e-9)
        self.bins[place] = self.bins.get(place, 0) + 1

    def spans(self) -> list[tuple[float, float, int]]:
        """Return each bin from the minimum to the maximum delay: its two ends [s] and its count."""
        if not self.bins:
            return []
        places = range(min(self.bins), max(self.bins) + 1)
        return [
            (10 ** (p / PER_DECADE), 10 ** ((p + 1) / PER_DECADE), self.bins.get(p, 0))
            for p in places
        ]


class Shadow:
    """The algorithm of a timer that runs beside the echo probes, and its results so far.

    Attributes
    ----------
    name
        The algorithm.
    timer
        Its current timer, in seconds.
    spurious
        The number of answers that came after the timer had fired.
    lost
        The number of lost echo probes. An echo probe with a late answer counts only as lost.
    good
        The sum of the delays of all answered probes [s].
    waited
        The sum of the waits for lost probes [s].
    spurious_time
        The sum of the delays of answered probes that the timer would have retransmitted [s].
    """

    def __init__(self, text: str) -> None:
        made = make_estimator(text)
        self.name = str(made) if isinstance(made, _core.Estimator) else text
        self._algorithm = made
        self.timer = made.rto()
        self.spurious = self.lost = 0
        self.good = self.waited = self.spurious_time = 0.0

    def add(self, rtt: float | None, sent: float, octets: int) -> None:
        """Add an echo probe sent at `sent`: its delay in seconds, or `None` if it was lost."""
        if rtt is None:
            self.lost += 1
            self.waited += self.timer
            return
        self.good += rtt
        if rtt > self.timer:
            self.spurious += 1
            self.spurious_time += rtt
        self._algorithm.on_sample(_core.Sample(rtt, at=sent + rtt, sent=sent, wire_bytes=octets))
        self.timer = self._algorithm.rto()

    @property
    def efficiency(self) -> float:
        """RFC 889's efficiency: `good` divided by the total of the three sums."""
        total = self.good + self.waited + self.spurious_time
        return self.good / total if total else math.nan


@dataclass
class Watch:
    """The state of a series of echo probes, during the series or after it.

    `returned` has the number of lost probes for each known reason, such as an ICMP error. Its keys
    are the reasons in words. `end` is `complete` or `interrupted`, or `None` before the end. `kept`
    has all lines if the plan has no data file.
    """

    shadows: list[Shadow]
    header: HeaderLine | None = None
    files: list[str] = field(default_factory=list)
    histogram: Histogram = field(default_factory=Histogram)
    echo_probes: int = 0
    answered: int = 0
    late: int = 0
    duplicates: int = 0
    clock_steps: int = 0
    returned: dict[str, int] = field(default_factory=dict)
    end: str | None = None
    kept: list[str] = field(default_factory=list)
    hops: dict[int, list[HopLine]] = field(default_factory=dict)

    def take(self, line: Line) -> None:
        """Update the state with a line of the data file."""
        match line:
            case HeaderLine():
                self.header = self.header or line
                self.files += [line.file] if line.file is not None else []
            case EndLine():
                self.end = None if line.end == "continued" else line.end
            case HopLine():
                self.hops.setdefault(line.hop, []).append(line)
            case EchoProbeLine():
                self._echo_probe(line)
            case LateLine():
                self.late += 1
                self.histogram.add(line.rtt_ns / 1e9)
            case DuplicateLine():
                self.duplicates += 1
            case ClockStepLine():
                self.clock_steps += 1

    def _echo_probe(self, line: EchoProbeLine) -> None:
        self.echo_probes += 1
        rtt = None if line.lost else line.rtt_ns / 1e9
        if line.lost and line.why is not None:
            self.returned[line.why] = self.returned.get(line.why, 0) + 1
        if rtt is not None:
            self.answered += 1
            self.histogram.add(rtt)
        for shadow in self.shadows:
            shadow.add(rtt, line.raw_ns / 1e9, line.octets)

    def recording(self) -> Delays | None:
        """Return the delays of the run with all files joined, or `None` without echo probes."""
        parts = [Path(name).read_bytes() for name in self.files]
        content = b"".join(parts) if parts else "".join(self.kept).encode()
        name = self.files[0] if self.files else self.header.host if self.header else "probe"
        if self.echo_probes == 0:
            return None
        found, _ = _core.read_delays(name, content, format="probe", interval_ns=None, columns=None)
        return Delays(found[0])


def run(
    plan: Plan,
    estimators: Sequence[str] = (),
    *,
    on_line: Callable[[Line, Watch], None] | None = None,
) -> Watch:
    """Carry out a plan of echo probes.

    Parameters
    ----------
    plan
        The plan.
    estimators
        The names of estimators that run beside the echo probes.
    on_line
        A function that is called with each line of the data file and the state of the run.

    Returns
    -------
    Watch
        The results. After an interrupt, these are the results so far.

    Raises
    ------
    ProbeError
        If the machine does not allow the probes or has no route to the host, if the host has no
        address, if the probes are too short, or if the data file exists or has no folder.
    """
    return _follow(plan.task(), estimators, keep=plan.out is None, on_line=on_line)


def survey(
    plan: Plan,
    *,
    most: int = 30,
    echo_probes: int = 5,
    on_line: Callable[[Line, Watch], None] | None = None,
) -> Watch:
    """Probe each hop: echo probes with a hop limit of 1, then 2, up to the host.

    Parameters
    ----------
    plan
        The plan. Its count, span, pace and rotation are not used. Of its lengths, only a fixed
        length is used; with another rule, probes have 60 octets.
    most
        The maximum number of hops.
    echo_probes
        The number of echo probes for each hop.
    on_line
        A function that is called with each line of the data file and the state of the survey.

    Raises
    ------
    ProbeError
        If the machine does not allow the probes or has no route to the host, if the host has no
        address, if the probes are too short, or if the data file exists or has no folder.
    """
    task = plan.survey_task(most, echo_probes)
    return _follow(task, (), keep=plan.out is None, on_line=on_line)


def _follow(
    task: Task,
    estimators: Sequence[str],
    *,
    keep: bool,
    on_line: Callable[[Line, Watch], None] | None,
) -> Watch:
    watch = Watch([Shadow(text) for text in estimators])
    with worker(task) as process, _interrupts_close(process):
        for text in process.stdout or ():
            line = read_line(text)
            watch.take(line)
            if keep:
                watch.kept.append(text)
            if on_line is not None:
                on_line(line, watch)
    return watch


@contextlib.contextmanager
def _interrupts_close(process: subprocess.Popen[str]) -> Iterator[None]:
    """Let the first keyboard interrupt close a process's input, so that the file is completed."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def close(_signal: int, _frame: object) -> None:
        signal.signal(signal.SIGINT, before)
        with contextlib.suppress(BrokenPipeError):
            process.stdin.close()  # type: ignore[union-attr]

    before = signal.signal(signal.SIGINT, close)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@dataclass(frozen=True)
class Hop:
    """The results of a survey for a hop. Times are in seconds.

    Attributes
    ----------
    number
        The hop's number, from 1.
    names
        The addresses that answered.
    sent, answered
        The numbers of echo probes sent and answered.
    least, median
        The minimum and the median of the round trips, or NaN if no echo probe was answered.
    adds
        The minimum round trip, minus the minimum round trip of the last earlier hop that answered.
    """

    number: int
    names: tuple[str, ...]
    sent: int
    answered: int
    least: float
    median: float
    adds: float


def hops_of(watch: Watch) -> list[Hop]:
    """Return the results of a survey, hop by hop."""
    hops, before = [], 0.0
    for number, found in sorted(watch.hops.items()):
        rtts = [line.rtt_ns / 1e9 for line in found if not line.lost]
        names = tuple(dict.fromkeys(line.from_ for line in found if line.from_))
        least = min(rtts, default=math.nan)
        median = float(np.median(rtts)) if rtts else math.nan
        hops.append(Hop(number, names, len(found), len(rtts), least, median, least - before))
        before = least if rtts else before
    return hops


#: A delay is long if it exceeds the typical delay by the factor `USUAL_TIMES`. The typical delay is
#: the median of the delays around it.
USUAL_TIMES = 3.0


def length_line(recording: Delays) -> LengthLine | None:
    """Return the straight line of delay against probe length that fits the recording best.

    The result is `None` if there are too few probes or lengths.
    """
    octets = recording.wire_bytes.astype(float)
    rtt = np.where(recording.late_replies, np.nan, recording.rtt_s)
    try:
        return fit_lengths(octets, rtt, break_at=None).lines[0]
    except ValueError:
        return None


def bursts(
    recording: Delays, line: LengthLine | None, *, times: float = USUAL_TIMES
) -> list[Glitch]:
    """Return bursts of long delays.

    A delay is long if it exceeds the typical delay (the median of the delays around it) by the
    factor `times`. If `line` rises with the length of probes, and is above zero for all probes, the
    delays are first corrected for the lengths.
    """
    rtt = recording.rtt_s
    if line is not None and line.slope_s > 0:
        expected = line.intercept_s + line.slope_s * recording.wire_bytes
        if np.all(expected > 0):
            rtt = rtt / expected * float(np.median(expected))
    return find_glitches(rtt, times=times)


def stamp_name(host: str) -> Path:
    """Return the name of the data file of a run that begins now."""
    safe = "".join(c if c.isalnum() or c in ".-" else "_" for c in host)
    name = f"probe-{safe}-{time.strftime('%Y%m%d-%H%M%S')}"
    # Another run may have begun in the same second. Then the name gets a number.
    names = (Path(f"{name}{again}.jsonl") for again in ("", *(f"-{n}" for n in range(2, 100))))
    return next((file for file in names if not file.exists()), Path(f"{name}.jsonl"))
