"""Paths and transfers on which the kernel's TCP is compared with the profile `linux-6`.

Each case has its own link and flow, and two nodes that no other case uses. So a group of cases is
one scenario and one run. A case uses the keys and values of scenario files. If a case does not
give a key, the value in `LINK` or `FLOW` is used.
"""

from __future__ import annotations

from typing import Any

#: The usual link and flow of a case. An effect such as `loss` is a list of two values: one for
#: the direction of the data, then one for the direction of the ACKs.
LINK: dict[str, Any] = {"rate": "5 Mbit/s", "delay": "10 ms", "queue": "60 packets"}
FLOW: dict[str, Any] = {"send": "207 segments", "pause": "200 ms"}

Case = tuple[dict[str, Any], dict[str, Any]]


def case(congestion: str = "reno", send: str = FLOW["send"], **link: Any) -> Case:
    """Return a case whose receiver acknowledges each segment and has a buffer for all data."""
    tcp = {"congestion": congestion, "acks": "every segment", "receive_buffer": "2 MB"}
    return LINK | link, FLOW | {"send": send, "tcp": tcp}


def lossy(congestion: str, probability: float, **more: Any) -> Case:
    """Return a case in which each data packet is lost with this probability."""
    return case(congestion, loss=[{"probability": probability}, "none"], **more)


def listed(congestion: str, *packets: int, **more: Any) -> Case:
    """Return a case in which the link loses the data packets with these numbers.

    If a number occurs twice, the packet's retransmission is also lost.
    """
    return case(congestion, loss=[{"packets": list(packets)}, "none"], **more)


def _random() -> dict[str, Case]:
    algorithms = ("reno", "cubic")
    rates = (0.005, 0.01, 0.02, 0.03, 0.05)
    cases = {
        f"{algorithm}-{p * 1000:.0f}": lossy(algorithm, p)
        for algorithm in algorithms
        for p in rates
    }
    cases["slow"] = lossy("reno", 0.02, rate="1 Mbit/s", delay="60 ms", send="200 kB")
    cases["fast"] = lossy("cubic", 0.01, rate="20 Mbit/s", delay="15 ms", send="1 MB")
    cases["far"] = lossy("cubic", 0.01, delay="120 ms", send="300 kB")
    cases["short"] = lossy("reno", 0.08, send="20 kB")
    return cases


def _bursts() -> dict[str, Case]:
    def bursty(algorithm: str, to_bad: float, to_good: float, **more: Any) -> Case:
        return case(
            algorithm, loss=[{"bursts": {"to_bad": to_bad, "to_good": to_good}}, "none"], **more
        )

    return {
        "reno-pairs": bursty("reno", 0.01, 0.5),
        "cubic-pairs": bursty("cubic", 0.01, 0.5),
        "reno-fours": bursty("reno", 0.01, 0.25),
        "cubic-fours": bursty("cubic", 0.01, 0.25),
        "slow-fours": bursty("reno", 0.02, 0.25, rate="2 Mbit/s", delay="40 ms"),
        "ten-in-a-row": listed("reno", *range(40, 50)),
        "half-a-window": listed("cubic", *range(30, 50, 2)),
    }


def _lists() -> dict[str, Case]:
    return {
        "first": listed("reno", 1, send="42 segments"),
        "second": listed("cubic", 2, send="42 segments"),
        "one": listed("reno", 30),
        "one-cubic": listed("cubic", 30),
        "two-apart": listed("reno", 30, 40),
        "tail": listed("reno", 42, send="42 segments"),
        "tail-two": listed("reno", 41, 42, send="42 segments"),
        "tail-five": listed("cubic", *range(38, 43), send="42 segments"),
        "tail-and-probe": listed("reno", 42, 42, send="42 segments"),
        "whole-window": listed("reno", *range(1, 11), send="28 segments"),
        "retransmission": listed("reno", 30, 30),
        "retransmission-cubic": listed("cubic", 30, 30),
        "retransmission-twice": listed("reno", 30, 30, 30),
        "lone": listed("reno", 1, send="1 segments"),
        "lone-twice": listed("cubic", 1, 1, send="1 segments"),
    }


def _delays() -> dict[str, Case]:
    def moving(
        algorithm: str, *points: tuple[str, str], between: str = "step", **more: Any
    ) -> Case:
        delay = {"timeline": [list(point) for point in points], "between": between}
        return case(algorithm, delay=delay, **more)

    return {
        "up": moving("reno", ("0 s", "10 ms"), ("500 ms", "60 ms")),
        "up-far": moving("reno", ("0 s", "10 ms"), ("500 ms", "260 ms")),
        "up-farther": moving("cubic", ("0 s", "20 ms"), ("500 ms", "600 ms")),
        "down": moving("cubic", ("0 s", "80 ms"), ("900 ms", "10 ms"), send="600 kB"),
        "ramp": moving("reno", ("0 s", "10 ms"), ("900 ms", "150 ms"), between="linear"),
        "up-and-loss": moving(
            "reno", ("0 s", "10 ms"), ("500 ms", "60 ms"), loss=[{"probability": 0.02}, "none"]
        ),
    }


def _disorder() -> dict[str, Case]:
    def late(algorithm: str, p: float, by: str, **more: Any) -> Case:
        return case(
            algorithm, order="overtaking", reorder=[{"probability": p, "by": by}, "none"], **more
        )

    def twice(algorithm: str, p: float, **more: Any) -> Case:
        return case(algorithm, duplicate=[{"probability": p, "after": "3 ms"}, "none"], **more)

    return {
        "late-little": late("reno", 0.02, "4 ms"),
        "late-more": late("cubic", 0.02, "15 ms"),
        "late-much": late("reno", 0.01, "60 ms"),
        "late-and-loss": late("reno", 0.02, "8 ms", loss=[{"probability": 0.01}, "none"]),
        "twice": twice("reno", 0.02),
        "twice-and-loss": twice("cubic", 0.02, loss=[{"probability": 0.02}, "none"]),
        "acks-late": case(
            order="overtaking", reorder=["none", {"probability": 0.05, "by": "8 ms"}]
        ),
        "acks-twice": case(
            "cubic",
            duplicate=["none", {"probability": 0.05, "after": "2 ms"}],
            loss=[{"probability": 0.01}, "none"],
        ),
    }


def _acks_and_queues() -> dict[str, Case]:
    def losing_acks(algorithm: str, p: float, **more: Any) -> Case:
        return case(algorithm, loss=["none", {"probability": p}], **more)

    return {
        "acks-lost": losing_acks("reno", 0.1),
        "acks-lost-cubic": losing_acks("cubic", 0.3),
        "acks-half-lost": losing_acks("reno", 0.5, send="100 kB"),
        "both-lost": case("reno", loss=[{"probability": 0.02}, {"probability": 0.1}]),
        "last-acks-lost": case(
            "reno", loss=["none", {"nth": [24, 25, 26, 27, 28]}], send="28 segments"
        ),
        "queue-of-8": case("reno", queue="8 packets"),
        "queue-of-8-cubic": case("cubic", queue="8 packets"),
        "queue-of-20": case("cubic", queue="20 packets", send="600 kB"),
        "queue-of-20-far": case("reno", queue="20 packets", delay="40 ms", send="600 kB"),
        "queue-of-4-slow": case(
            "reno", queue="4 packets", rate="500 kbit/s", delay="30 ms", send="100 kB"
        ),
    }


#: The cases by group and name.
CASES: dict[str, dict[str, Case]] = {
    "random": _random(),
    "bursts": _bursts(),
    "lists": _lists(),
    "delays": _delays(),
    "disorder": _disorder(),
    "acks": _acks_and_queues(),
}


def scenario(group: str, endpoint: str, seed: int = 1) -> dict[str, Any]:
    """Return the scenario of a group. All flows have this `endpoint`: `kernel` or `model`."""
    links, flows = {}, {}
    for name, (link, flow) in CASES[group].items():
        ends = [f"{name}-a", f"{name}-b"]
        links[name] = {"between": ends, **link}
        flows[name] = {"from": ends[0], "to": ends[1], "profile": "linux-6", **flow}
        flows[name] |= {"endpoint": endpoint}
    record = {"tables": ["segments", "rto", "cwnd", "drops"], "capture": False}
    return {"stop": "6 s", "seed": seed, "links": links, "flows": flows, "record": record}
