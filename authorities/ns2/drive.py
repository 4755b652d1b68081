"""Runs ns-2.35 with one flow over a chain of links, and returns the events of the flow.

A case is a dictionary of the settings in `CASE`. A row is (microseconds, event, packet, rtt in
ticks). Packets are numbered from 1. The events are:

- beside the sender: `send` and `retransmission` of a packet, and `ack` and `dupack` with the
  highest packet acknowledged;
- `timeout`: the sender sent something at an instant at which no ACK arrived. After the start, a
  timeout is the only possible cause;
- `drop` of a data packet, at the link that lost or dropped it.
"""

import bisect
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent

#: The default settings, which are RFC 2416's experiment. Times are in seconds, rates in bit/s. Each
#: of the `links` is `rate,delay,limit of the queue in packets`.
CASE: dict[str, object] = {
    "recovery": "tahoe",
    "initial_window": 1,
    "limited_transmit": 0,
    "window": 20,
    "packet": 1000,
    "tick": 0.01,
    "minrto": 0.2,
    "maxrto": 60,
    "bugfix": 1,
    "delayed_ack": 0,
    "packets": 0,
    "links": "100e6,0,100 1.544e6,0.025,100 9600,0.150,3",
    "drops": "",
    "delays": "",
    "stop": 240,
}


class Row(NamedTuple):
    """One event beside the sender, or one drop on a link. `packet` is 0 for a timeout.

    `rtt_ticks` is the last round trip that the sender measured, up to this instant.
    """

    us: int
    event: str
    packet: int
    rtt_ticks: int


class Raw(NamedTuple):
    """One line of ns-2's queue trace."""

    kind: str
    time: float
    link: tuple[int, int]
    flow: str
    packet: int
    uid: str


def available() -> bool:
    """Return whether ns-2 is installed."""
    return shutil.which("ns") is not None


def run(case: dict[str, object]) -> list[Row]:
    """Return the events of `case` in ns-2. `CASE` gives the settings that `case` lacks."""
    settings = {**CASE, **case}
    packets, variables = _traces(settings)
    hops = len(str(settings["links"]).split())
    rtts = list(_rtts(variables, float(str(settings["tick"]))))
    return _rows(list(_events(packets, hops)), rtts)


def trace(case: dict[str, object]) -> str:
    """Run `case` in ns-2, and return ns-2's own trace of the packets at every link."""
    return _traces({**CASE, **case})[0]


def _traces(settings: dict[str, object]) -> tuple[str, str]:
    """Run ns-2; return its traces of the packets at every link and of the sender's variables."""
    unknown = set(settings) - set(CASE)
    if unknown:
        raise ValueError(f"no such settings: {sorted(unknown)}")
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out"
        words = [f"{name}={value}" for name, value in settings.items()]
        command = ["ns", str(HERE / "driver.tcl"), *words, f"out={out}"]
        subprocess.run(command, check=True, capture_output=True, timeout=120)
        return out.with_suffix(".q").read_text(), out.with_suffix(".v").read_text()


def _raw(packets: str) -> Iterator[Raw]:
    for line in packets.splitlines():
        f = line.split()
        yield Raw(f[0], float(f[1]), (int(f[2]), int(f[3])), f[4], int(f[10]) + 1, f[11])


def _events(packets: str, hops: int) -> Iterator[tuple[float, str, int]]:
    """Yield each event, unsorted: its time [s], its kind (`send`, `ack`, `drop`), its packet."""
    arrived: list[dict[str, tuple[float, int]]] = [{} for _ in range(hops)]
    entered: list[set[str]] = [set() for _ in range(hops)]
    end = 0.0
    for raw in _raw(packets):
        end = max(end, raw.time)
        if raw.flow == "ack":
            if raw.kind == "r" and raw.link == (1, 0):
                yield raw.time, "ack", raw.packet
            continue
        hop = raw.link[0]
        if raw.kind == "+" and hop == 0:
            yield raw.time, "send", raw.packet
        if raw.kind == "d":
            yield raw.time, "drop", raw.packet
        if raw.kind in "+d":
            entered[hop].add(raw.uid)
        if raw.kind == "r" and raw.link[1] < hops:
            arrived[raw.link[1]][raw.uid] = (raw.time, raw.packet)
    # The loss model lies between a node and its next queue. A packet that reached the node but did
    # not enter the queue was lost in the loss model.
    for hop in range(1, hops):
        for uid, (time, packet) in arrived[hop].items():
            if uid not in entered[hop] and time < end - 1e-3:
                yield time, "drop", packet


def _rtts(variables: str, tick: float) -> Iterator[tuple[float, int]]:
    for line in variables.splitlines():
        f = line.split()
        if f[5] == "rtt_":
            yield float(f[0]), round(float(f[6]) / tick)


def _rows(events: list[tuple[float, str, int]], rtts: list[tuple[float, int]]) -> list[Row]:
    acks = sorted(time for time, event, _ in events if event == "ack")
    for time in {time for time, event, _ in events if event == "send" and time > 0}:
        place = bisect.bisect_left(acks, time - 2e-6)
        if place == len(acks) or acks[place] > time + 2e-6:
            events.append((time, "timeout", 0))
    rank = {"timeout": 0, "ack": 1, "send": 2, "drop": 3}
    ordered = sorted(enumerate(events), key=lambda e: (round(e[1][0], 5), rank[e[1][1]], e[0]))
    rows: list[Row] = []
    sent = acked = reading = 0
    times = [time for time, _ in rtts]
    for _, (time, event, packet) in ordered:
        place = bisect.bisect_right(times, time + 6e-6)
        reading = rtts[place - 1][1] if place else 0
        name = event
        if event == "send":
            name = "retransmission" if packet <= sent else "send"
            sent = max(sent, packet)
        elif event == "ack":
            name = "dupack" if packet <= acked else "ack"
            acked = max(acked, packet)
        rows.append(Row(round(time * 1e6), name, packet, reading))
    return rows
