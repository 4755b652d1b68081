"""Turns cases of the network simulator ns-2 into scenarios, and compares our runs with ns-2's runs.

A run is compared as a list of rows. Each row is one event at the sender, or one drop.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import netspurt as ns
from netspurt.run import Run

#: The folder of the programs that run ns-2, and of the results that ns-2 gave.
AUTHORITY = Path(__file__).parents[2] / "authorities" / "ns2"
sys.path.insert(0, str(AUTHORITY))

import cases  # noqa: E402
import drive  # noqa: E402
import table  # noqa: E402
import ties  # noqa: E402

__all__ = [
    "AUTHORITY",
    "Difference",
    "Row",
    "cases",
    "drive",
    "first_difference",
    "rows_of",
    "scenario_of",
    "table",
    "ties",
]

#: One event at the sender, or one drop.
Row = drive.Row

#: Times may differ by this many microseconds. ns-2 computes in floating point and prints whole
#: microseconds.
TOLERANCE_US = 5


class Difference(NamedTuple):
    """Holds the first difference between two lists of rows.

    The field `place` is the index of the difference among all rows that are not drops. If these
    rows agree, `place` is the index of the difference among the drops.
    """

    place: int
    ours: Row | None
    theirs: Row | None


def scenario_of(case: dict[str, object]) -> ns.Scenario:
    """Return a case of ns-2 as a scenario. `drive.CASE` has the defaults of a case."""
    settings: dict[str, Any] = {**drive.CASE, **case}
    links = [_link(text) for text in settings["links"].split()]
    for drop in settings["drops"].split():
        source, target, nth = (int(word) for word in drop.split(","))
        way = _way(links, source, target)
        way.setdefault("loss", {"nth": [], "at": "entry"})["nth"].append(nth)
    for step in settings["delays"].split():
        time, source, target, delay = step.split(",")
        way = _way(links, int(source), int(target))
        way.setdefault("steps", []).append((_ns(float(time)), _ns(float(delay))))
    nodes = [f"n{i}" for i in range(len(links) + 1)]
    sent = f"{settings['packets']} segments" if settings["packets"] else "unlimited"
    tcp = {
        "recovery": settings["recovery"],
        "initial_window": f"{settings['initial_window']} segments",
        "receive_window": f"{settings['window']} segments",
        "packet_size": f"{settings['packet']} B",
        "limited_transmit": bool(settings["limited_transmit"]),
        "bugfix": bool(settings["bugfix"]),
        "clock": {"tick": _ns(settings["tick"])},
        "rto": {"min": _ns(settings["minrto"]), "max": _ns(settings["maxrto"])},
    }
    if settings["delayed_ack"]:
        tcp["acks"] = {"delayed": _ns(settings["delayed_ack"])}
    flow = {"from": nodes[0], "to": nodes[-1], "send": sent, "tcp": tcp}
    record = {"spy": [nodes[0]], "tables": ["segments", "drops", "rtt"], "capture": False}
    base = ns.Scenario.parse(
        'stop = "1 s"\n[path]\nnodes = ["n0", "n1"]\nlinks = [{ rate = "1 bit/s" }]\n'
        '[flows.x]\nfrom = "n0"\nto = "n1"\n'
    )
    path = {"nodes": nodes, "links": [_both_ways(*pair) for pair in links]}
    return base.replace(
        {"stop": _ns(settings["stop"]), "path": path, "flows.x": flow, "record": record}
    )


def _ns(seconds: float) -> str:
    """Return a time as a scenario writes it, such as `5 ns`."""
    return f"{round(seconds * 1e9)} ns"


def _link(text: str) -> list[dict[str, Any]]:
    """Return the two directions of a link that ns-2's case describes as a text."""
    rate, delay, limit = text.split(",")
    way = {
        "rate": f"{round(float(rate))} bit/s",
        "delay": _ns(float(delay)),
        "queue": f"{limit} packets",
    }
    return [dict(way), dict(way)]


def _way(links: list[list[dict[str, Any]]], source: int, target: int) -> dict[str, Any]:
    """Return the direction from the node `source` to the node `target`."""
    return links[min(source, target)][0 if source < target else 1]


def _both_ways(*ways: dict[str, Any]) -> dict[str, Any]:
    """Return a link of a scenario from its two directions."""
    finished = []
    for way in ways:
        steps = way.pop("steps", None)
        way = {"loss": "none", "order": "fifo", **way}  # noqa: PLW2901
        if steps:
            way["delay"] = {"timeline": [["0 ns", way["delay"]], *sorted(steps, key=_instant)]}
            way["order"] = "overtaking"
        finished.append(way)
    return {key: [finished[0][key], finished[1][key]] for key in finished[0]}


def _instant(step: tuple[str, str]) -> int:
    """Return the instant of a step of the delay [ns]."""
    return int(step[0].split()[0])


def rows_of(run: Run) -> list[Row]:
    """Return the events at a run's sender, and the drops of data.

    The events are transmissions, arrivals of ACKs, and timeouts. The rows have the same form as the
    rows of ns-2, which `drive.run` returns.
    """
    seen = run.segments
    kinds = {"data": "send", "retransmission": "retransmission", "ack": "ack", "dupack": "dupack"}
    events = [
        (t, kinds.get(kind, "dupack"), packet)
        for t, kind, packet in zip(
            seen["t_ns"].tolist(), seen["kind"].tolist(), seen["packet"].tolist(), strict=True
        )
    ]
    acked = {t for t, kind, _ in events if kind in ("ack", "dupack")}
    sends = {t for t, kind, _ in events if kind in ("send", "retransmission")}
    events += [(t, "timeout", 0) for t in sends if t > 0 and t not in acked]
    data = run.drops.select(run.drops["kind"] != "ack")
    events += [
        (t, "drop", n) for t, n in zip(data["t_ns"].tolist(), data["packet"].tolist(), strict=True)
    ]
    rank = {"timeout": 0, "ack": 1, "dupack": 1, "send": 2, "retransmission": 2, "drop": 3}
    ordered = sorted(enumerate(events), key=lambda e: (e[1][0], rank[e[1][1]], e[0]))
    at, readings = run.rtt["t_ns"], run.rtt["rtt_ns"]
    tick = _tick(run)
    rows = []
    for _, (t, event, packet) in ordered:
        place = int(np.searchsorted(at, t, side="right"))
        ticks = int(readings[place - 1]) // tick if place else 0
        rows.append(Row(round(t / 1000), event, packet, ticks))
    return rows


def _tick(run: Run) -> int:
    """Return the tick of the clocks of a run [ns]."""
    line = next(line for line in run.scenario.splitlines() if line.startswith("tick = "))
    number, unit = line.split('"')[1].split()
    return round(float(number) * {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}[unit])


def first_difference(own_rows: list[Row], ns2_rows: list[Row]) -> Difference | None:
    """Return the first difference between our sender and ns-2's, or `None` if they agree.

    The events of both senders must have the same order. The drops, which are compared last, must
    have the same order, too. Times must agree within `TOLERANCE_US`. At each event, the last
    measured round trips of both senders must be equal.
    """
    for kind in (False, True):
        a = [row for row in own_rows if (row.event == "drop") is kind]
        b = [row for row in ns2_rows if (row.event == "drop") is kind]
        for index in range(max(len(a), len(b))):
            x = a[index] if index < len(a) else None
            y = b[index] if index < len(b) else None
            if x is None or y is None or not _agree(x, y, readings=not kind):
                return Difference(index, x, y)
    return None


def _agree(a: Row, b: Row, *, readings: bool) -> bool:
    """Return whether two rows agree. If `readings` is true, the round trips must also be equal."""
    same = (a.event, a.packet) == (b.event, b.packet)
    return (
        same and abs(a.us - b.us) <= TOLERANCE_US and (not readings or a.rtt_ticks == b.rtt_ticks)
    )
