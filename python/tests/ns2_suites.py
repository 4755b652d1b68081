"""Turns cases of the test suites of the simulator ns-2 into scenarios, and lists our events.

`first_difference` compares these events with the events of ns-2.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import netspurt as ns
from netspurt.run import Run

from ns2_cases import AUTHORITY, TOLERANCE_US

sys.path.insert(0, str(AUTHORITY / "suites"))

import suites

__all__ = ["first_difference", "rows_of", "scenario_of", "suites"]

#: In cases with late packets, this node is the sender, and its link to the node `s1` makes the
#: packets late.
BEFORE = "s0"

#: The first outputs of the random number generator MRG32k3a with seed 1. ns-2 uses them as the
#: phases of its clocks, in ticks.
DRAWS = (0.000339577, 0.555880716, 0.014204660, 0.088122671, 0.441173382, 0.799155454)


def scenario_of(case: suites.Case) -> ns.Scenario:
    """Return a case of a test suite as a scenario."""
    base = ns.Scenario.parse(
        'stop = "1 s"\n[links.x]\nbetween = ["s1", "k1"]\nrate = "1 bit/s"\n'
        '[flows.x]\nfrom = "s1"\nto = "k1"\n'
    )
    links = {f"{link.source}-{link.target}": _link(case, link) for link in case.links}
    if case.late:
        late = {"nth": case.late, "by": _ns(suites.LATE)}
        links[BEFORE] = {
            "between": [BEFORE, "s1"],
            "rate": "unlimited",
            "order": ["overtaking", "fifo"],
            "reorder": [late, "none"],
        }
    flows = {f"f{flow.number}": _flow(case, flow) for flow in case.flows}
    spies = sorted({flow.source for flow in case.flows})
    record = {"spy": spies, "tables": ["segments", "drops", "rtt"], "capture": False}
    return base.replace({"stop": _ns(case.stop), "links": links, "flows": flows, "record": record})


def _ns(seconds: float) -> str:
    """Return a time as the text of a scenario."""
    return f"{round(seconds * 1e9)} ns"


def _link(case: suites.Case, link: suites.Link) -> dict[str, Any]:
    """Return a link of a case as a link of a scenario."""
    # The limit of ns-2's RED does not count the packet in transmission.
    room = link.limit + (case.red and link.target == "k1")
    table: dict[str, Any] = {
        "between": [link.source, link.target],
        "rate": f"{round(link.rate)} bit/s",
        "delay": _ns(link.delay),
        "queue": f"{room} packets",
    }
    if (link.source, link.target) == ("r1", "k1"):
        ways = (case.lost, case.lost_acks)
        table["loss"] = [{"nth": way, "at": "entry"} if way else "none" for way in ways]
    if case.blocked and link.source == "s1":
        # When ns-2 blocks a link, the link first finishes the packet that it sends. Our link would
        # stop at once, so it is blocked after this packet has left.
        start, end = case.busy_until, case.blocked[1]
        dead = {"at": _ns(start), "dead": _ns(end - start), "direction": "forward"}
        table["handovers"] = [dead]
    return table


def _flow(case: suites.Case, flow: suites.Flow) -> dict[str, Any]:
    """Return a flow of a case as a flow of a scenario."""
    tcp: dict[str, Any] = {"recovery": flow.recovery}
    for key, value in flow.switches.items():
        table, _, leaf = key.rpartition(".")
        (tcp.setdefault(table, {}) if table else tcp)[leaf] = value
    tick = suites.seconds(tcp["clock"]["tick"])
    tcp["clock"]["phase"] = _ns(tick * DRAWS[flow.phase - 1])
    return {
        "from": BEFORE if case.late else flow.source,
        "to": "k1",
        "start": _ns(flow.start),
        "send": f"{flow.packets} segments" if flow.packets else "unlimited",
        "tcp": tcp,
    }


def rows_of(case: suites.Case, run: Run) -> list[suites.Row]:
    """Return the events of the senders in a run of netspurt, and the drops.

    The rows have the same form as the rows of ns-2, which `suites.run` returns.
    """
    rows = []
    for flow in case.flows:
        name = f"f{flow.number}"
        shift = 0 if flow.switches["handshake"] else -1
        rtt = run.rtt.select(run.rtt["flow"] == name)
        tick = round(suites.seconds(flow.switches["clock.tick"]) * 1e9)
        readings = [
            (t / 1e9, ns // tick)
            for t, ns in zip(rtt["t_ns"].tolist(), rtt["rtt_ns"].tolist(), strict=True)
        ]
        events = list(_events(run, name, shift))
        rows += suites.rows_of(flow.number, events, readings, case.stop)
    return rows


def _events(run: Run, flow: str, shift: int) -> Iterator[tuple[float, str, int]]:
    """Yield the time [s], the kind and the packet of each event.

    `shift` is added to the number of each packet.
    """
    seen = run.segments.select(run.segments["flow"] == flow)
    columns = (seen[name].tolist() for name in ("t_ns", "direction", "packet"))
    for t, direction, packet in zip(*columns, strict=True):
        yield t / 1e9, "send" if direction == "forward" else "ack", packet + shift
    drops = run.drops.select(run.drops["flow"] == flow)
    columns = (drops[name].tolist() for name in ("t_ns", "direction", "packet"))
    for t, direction, packet in zip(*columns, strict=True):
        yield t / 1e9, "drop" if direction == "forward" else "lost-ack", packet + shift


def first_difference(
    own_rows: list[suites.Row], ns2_rows: list[suites.Row]
) -> tuple[int, suites.Row | None, suites.Row | None] | None:
    """Return the index and both rows of the first difference, or `None` if all rows agree.

    Times may differ by `TOLERANCE_US`. A row is `None` if its list ends earlier.
    """
    for place in range(max(len(own_rows), len(ns2_rows))):
        a = own_rows[place] if place < len(own_rows) else None
        b = ns2_rows[place] if place < len(ns2_rows) else None
        if a is None or b is None:
            return place, a, b
        if a._replace(us=b.us) != b or abs(a.us - b.us) > TOLERANCE_US:
            return place, a, b
    return None
