"""Tests whether a hold (the wait of a delayed ACK) ends before or after a packet arrives.

Each run is compared with a slower run, whose instants are exact. At 1.5 Mbit/s an octet takes
5333 1/3 ns. If the link is three times as slow and all times are three times as long, an octet
takes 16000 ns. Then every instant is a whole number of nanoseconds, and nothing is rounded.
"""

from __future__ import annotations

from typing import Any

from ns2_cases import Row, cases, drive, first_difference, rows_of, scenario_of

#: The factor by which the exact run is slower.
SLOWER = 3

#: Rates that replace the cases' rates. At a third of each rate, an octet takes a whole number of
#: nanoseconds.
FAST = {"10e6": 15_000_000, "100e6": 60_000_000, "1e9": 600_000_000}

#: The rate that replaces all other rates [bit/s].
SLOW = 1_500_000

#: The time from the clock's last tick to the start of the run, in ticks. With this time, no sample
#: ends at a tick.
PHASE = 0.555880716


def held(case: dict[str, Any]) -> dict[str, Any]:
    """Return a case with holds of 0.2 s, and with the rates of `FAST` or `SLOW`."""
    links = [link.split(",") for link in case["links"].split()]
    links = [[str(FAST.get(rate, SLOW)), *rest] for rate, *rest in links]
    return {**drive.CASE, **case, "links": _joined(links), "delayed_ack": 0.2}


def slower(case: dict[str, Any], times: int) -> dict[str, Any]:
    """Return a case in which everything takes longer by the factor `times`."""
    links = [link.split(",") for link in case["links"].split()]
    links = [
        [str(int(rate) // times), repr(float(delay) * times), limit] for rate, delay, limit in links
    ]
    steps = [step.split(",") for step in case["delays"].split()]
    steps = [
        [f"{float(at) * times:.9f}", a, b, f"{float(to) * times:.9f}"] for at, a, b, to in steps
    ]
    spans = ("tick", "minrto", "maxrto", "delayed_ack", "stop")
    longer = {name: case[name] * times for name in spans}
    return {**case, **longer, "links": _joined(links), "delays": _joined(steps)}


def rows(case: dict[str, Any], times: int) -> list[Row]:
    """Run the case slower by the factor `times`. Divide the instants of its events by `times`."""
    tick_ns = round(case["tick"] * 1e9)
    scenario = scenario_of(slower(case, times)).replace(
        {
            "flows.x.tcp.rto.initial": f"{3 * times} s",
            "flows.x.tcp.clock.phase": f"{round(PHASE * tick_ns) * times} ns",
        }
    )
    return [row._replace(us=round(row.us / times)) for row in rows_of(scenario.run())]


def _joined(parts: list[list[str]]) -> str:
    """Return lists of words as the text of a setting."""
    return " ".join(",".join(part) for part in parts)


def test_a_hold_ends_before_or_after_an_arrival_as_in_exact_arithmetic() -> None:
    for number, case in enumerate(map(held, cases.draw(11, 64))):
        difference = first_difference(rows(case, 1), rows(case, SLOWER))
        assert difference is None, (number, case, difference)
