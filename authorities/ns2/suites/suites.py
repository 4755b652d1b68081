"""Reads the cases of ns-2's own test suites, runs them in ns-2.35, and stores the answers.

Each row of the stored answers is an event of a flow. There are four kinds of events beside the
sender. `send` and `retransmission` mean that a packet enters its first queue. `ack` and `dupack`
have the highest packet acknowledged. There are two kinds of events on links: the `drop`
of a data packet, and a `lost-ack`. Packets have ns-2's numbers, which count from 0 and include the
SYN.
"""

import csv
import gzip
import io
import shutil
import subprocess
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).parent
CASES = HERE / "cases.toml"
EVENTS = HERE / "events.csv.gz"

#: How long the packets that a case lists as `late` are held back, in seconds.
LATE = 0.05

#: The switches of senders in the table, and the variables of ns-2 that each one sets.
SENDER: dict[str, tuple[str, ...]] = {
    "packet_size": ("packetSize_",),
    "headers_on_top": ("useHeaders_",),
    "receive_window": ("window_",),
    "initial_window": ("windowInit_",),
    "initial_window_by_size": ("windowInitOption_",),
    "handshake": ("syn_",),
    "delay_growth": ("delay_growth_",),
    "limited_transmit": ("singledup_",),
    "bugfix": ("bugFix_",),
    "bugfix_ss": ("bugfix_ss_",),
    "precise_cut": ("precisionReduce_",),
    "frto": ("frto_enabled_", "sfrto_enabled_"),
    "timestamps": ("timestamps_",),
    "clock.tick": ("tcpTick_",),
    "rto.initial": ("rtxcur_init_",),
    "rto.min": ("minrto_",),
}
NEWRENO: dict[str, tuple[str, ...]] = {
    "newreno.impatient": ("newreno_changes1_",),
    "newreno.deflates": ("partial_window_deflation_",),
    "newreno.exit_fix": ("exit_recovery_fix_",),
    "newreno.less_careful": ("lessCareful_",),
    "newreno.bugfix_ack": ("bugFix_ack_",),
    "newreno.bugfix_ts": ("bugFix_ts_",),
}
SACK: dict[str, tuple[str, ...]] = {"partial_ack_sends": ("partial_ack_",)}
SINK: dict[str, tuple[str, ...]] = {
    "sink.gaps_at_once": ("RFC2581_immediate_ack_",),
    "sink.first_at_once": ("SYN_immediate_ack_",),
    "sink.echoes_next": ("ts_echo_rfc1323_",),
}

#: ns-2's defaults. They hold in each case unless the table gives another value.
DEFAULTS: dict[str, Any] = {
    "packet_size": "1000 B",
    "headers_on_top": False,
    "receive_window": "20 segments",
    "initial_window": "2 segments",
    "initial_window_by_size": False,
    "handshake": False,
    "delay_growth": False,
    "limited_transmit": True,
    "bugfix": True,
    "bugfix_ss": True,
    "precise_cut": True,
    "frto": False,
    "timestamps": False,
    "newreno.impatient": True,
    "newreno.deflates": True,
    "newreno.exit_fix": False,
    "newreno.less_careful": False,
    "newreno.bugfix_ack": False,
    "newreno.bugfix_ts": False,
    "partial_ack_sends": False,
    "sink.gaps_at_once": True,
    "sink.first_at_once": True,
    "sink.echoes_next": False,
    "clock.tick": "10 ms",
    "rto.initial": "3 s",
    "rto.min": "200 ms",
    "acks": "every segment",
}


class Row(NamedTuple):
    """One event of a flow. `rtt_ticks` is the last round trip that the sender measured."""

    flow: int
    us: int
    event: str
    packet: int
    rtt_ticks: int


class Link(NamedTuple):
    """A link: its nodes, its rate [bit/s], its delay [s], and its queue's limit [packets]."""

    source: str
    target: str
    rate: float
    delay: float
    limit: int


class Flow(NamedTuple):
    """A flow. `switches` has the value of every switch.

    An output of ns-2's random generator sets the phase of the flow's clock. `phase` is the number
    of this output, counted from 1. `packets` is 0 if the flow sends without end.
    """

    number: int
    source: str
    recovery: str
    start: float
    packets: int
    phase: int
    switches: dict[str, Any]


class Case(NamedTuple):
    """A case of a suite. Times are in seconds.

    `lost`, `lost_acks` and `late` have numbers of packets of flow 1, counted from 1. The link from
    r1 to k1 loses the packets in `lost`, and the link from k1 to r1 the ACKs in `lost_acks`. Each
    packet in `late` is delayed by `LATE` before it enters the queue from s1 to r1. The link from s1
    to r1 starts no packet between the two instants in `blocked`. At the first of these instants the
    link is still transmitting a packet. This transmission ends at `busy_until`.
    """

    suite: str
    name: str
    stop: float
    links: list[Link]
    blocked: list[float]
    busy_until: float
    red: bool
    ns1_compat: bool
    lost: list[int]
    lost_acks: list[int]
    late: list[int]
    flows: list[Flow]

    @property
    def title(self) -> str:
        """Return `suite/name`."""
        return f"{self.suite}/{self.name}"


def available() -> bool:
    """Return whether ns-2 is installed."""
    return shutil.which("ns") is not None


def read_cases() -> list[Case]:
    """Return the table's cases."""
    table = tomllib.loads(CASES.read_text())
    return [_case(table, entry) for entry in table["cases"]]


def _case(table: dict[str, Any], entry: dict[str, Any]) -> Case:
    path = table["paths"][entry["path"]]
    common = {**DEFAULTS, **table["switches"][entry["suite"]]}
    flows = []
    for number, flow in enumerate(entry["flows"], 1):
        switches = {**common, **flow.get("switches", {})}
        unknown = set(switches) - set(DEFAULTS)
        if unknown:
            raise ValueError(f"{entry['name']}: no such switches: {sorted(unknown)}")
        start, packets = flow.get("start", 0), flow.get("packets", 0)
        phase = flow.get("phase", 2)
        flows.append(Flow(number, flow["from"], flow["recovery"], start, packets, phase, switches))
    return Case(
        entry["suite"],
        entry["name"],
        entry["stop"],
        [Link(*link) for link in path["links"]],
        path.get("blocked", []),
        path.get("busy_until", 0),
        path.get("red", False),
        path.get("ns1_compat", False),
        entry.get("lost", []),
        entry.get("lost_acks", []),
        entry.get("late", []),
        flows,
    )


def run(case: Case) -> list[Row]:
    """Return the events of ns-2's senders in `case`."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out"
        command = ["ns", str(HERE / "driver.tcl"), *_words(case), f"out={out}"]
        subprocess.run(command, check=True, capture_output=True, timeout=120)
        rows = []
        trace = out.with_suffix(".q").read_text()
        for flow in case.flows:
            tick = seconds(flow.switches["clock.tick"])
            rtts = list(_rtts(out.with_suffix(f".{flow.number}"), tick))
            rows += rows_of(flow.number, _events(trace, flow), rtts, case.stop)
    return rows


def _words(case: Case) -> Iterator[str]:
    yield "nodes=s1 s2 r1 k1"
    yield f"stop={case.stop}"
    yield f"ns1_compat={int(case.ns1_compat)}"
    for link in case.links:
        kind = "RED" if case.red and link.target == "k1" else "DropTail"
        yield "link=" + " ".join(map(str, [*link, kind]))
    if case.blocked:
        yield "blocked=s1 r1 " + " ".join(map(str, case.blocked))
    for numbers, way in ((case.lost, "r1 k1"), (case.lost_acks, "k1 r1")):
        if numbers:
            yield f"lost={way} {{{' '.join(map(str, numbers))}}}"
    if case.late:
        yield f"late=s1 r1 {{{' '.join(map(str, case.late))}}} {LATE}"
    # ns-2 draws a random number when it makes an agent. So the flow with the lowest `phase`, which
    # is the number of its draw, comes first.
    for flow in sorted(case.flows, key=lambda flow: flow.phase):
        yield "flow=" + _flow_words(flow)


def _flow_words(flow: Flow) -> str:
    switches = flow.switches
    sender = dict(SENDER)
    sender |= {"newreno": NEWRENO, "sack": SACK}.get(flow.recovery, {})
    hold = seconds(switches["acks"]["delayed"]) if isinstance(switches["acks"], dict) else 0
    first = [flow.number, flow.source, "k1", flow.recovery, flow.packets, flow.start, hold]
    sink = dict(SINK) if hold else {"sink.echoes_next": SINK["sink.echoes_next"]}
    return " ".join([*map(str, first), _set(sender, switches), _set(sink, switches)])


def _set(variables: dict[str, tuple[str, ...]], switches: dict[str, Any]) -> str:
    words = [f"{v} {_value(key, switches[key])}" for key, vs in variables.items() for v in vs]
    return "{" + " ".join(words) + "}"


def _value(key: str, value: object) -> object:
    if key == "initial_window_by_size":
        return 2 if value else 1
    if isinstance(value, bool):
        return int(value)
    number, unit = str(value).split()
    return seconds(str(value)) if unit in {"ms", "s"} else number


def seconds(text: str) -> float:
    """Return a time such as `10 ms` in seconds."""
    number, unit = text.split()
    return float(number) * {"ms": 1e-3, "s": 1}[unit]


NODES = {"s1": "0", "s2": "1", "r1": "2", "k1": "3"}


def _events(trace: str, flow: Flow) -> list[tuple[float, str, int]]:
    """Return a flow's events: the time [s], the kind and the packet of each.

    The kinds are `send`, `ack`, `drop` and `lost-ack`.
    """
    source = NODES[flow.source]
    found = []
    for line in trace.splitlines():
        kind, time, a, b, what, _, _, number, _, _, packet, _ = line.split()[:12]
        if number != str(flow.number):
            continue
        if kind == "d":
            found.append((float(time), "drop" if what == "tcp" else "lost-ack", int(packet)))
        elif kind == "+" and a == source and what == "tcp":
            found.append((float(time), "send", int(packet)))
        elif kind == "r" and b == source and what == "ack":
            found.append((float(time), "ack", int(packet)))
    return found


def _rtts(path: Path, tick: float) -> Iterator[tuple[float, int]]:
    for line in path.read_text().splitlines():
        f = line.split()
        yield float(f[0]), round(float(f[6]) / tick)


def rows_of(
    flow: int, events: list[tuple[float, str, int]], rtts: list[tuple[float, int]], stop: float
) -> list[Row]:
    """Return a flow's events before `stop` in order, as rows.

    A `send` of a packet that was sent before becomes a `retransmission`, and an `ack` that
    acknowledges nothing new becomes a `dupack`. Each of the `rtts` is
    (seconds, measured round trip in ticks).
    If events have the same instant, ACKs come first, because they cause the sends.
    """
    rank = {"ack": 0, "send": 1, "drop": 2, "lost-ack": 3}
    kept = [(place, event) for place, event in enumerate(events) if event[0] < stop - 1e-5]
    ordered = sorted(kept, key=lambda e: (round(e[1][0], 5), rank[e[1][1]], e[0]))
    rows: list[Row] = []
    sent = acked = -1
    place = reading = 0
    for _, (time, event, packet) in ordered:
        while place < len(rtts) and rtts[place][0] <= time + 6e-6:
            reading = rtts[place][1]
            place += 1
        name = event
        if event == "send":
            name = "retransmission" if packet <= sent else "send"
            sent = max(sent, packet)
        elif event == "ack":
            name = "dupack" if packet <= acked else "ack"
            acked = max(acked, packet)
        rows.append(Row(flow, round(time * 1e6), name, packet, reading))
    return rows


def write(answers: dict[str, list[Row]]) -> None:
    """Write all answers; the same answers give the same bytes."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("case", *Row._fields))
    for title, rows in answers.items():
        writer.writerows((title, *row) for row in rows)
    EVENTS.write_bytes(gzip.compress(text.getvalue().encode(), 9, mtime=0))


def read() -> dict[str, list[Row]]:
    """Return the answers that `write` stored, by the titles of the cases."""
    answers: dict[str, list[Row]] = {}
    with gzip.open(EVENTS, "rt", newline="") as file:
        for title, flow, us, event, packet, ticks in list(csv.reader(file))[1:]:
            row = Row(int(flow), int(us), event, int(packet), int(ticks))
            answers.setdefault(title, []).append(row)
    return answers
