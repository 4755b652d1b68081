"""Whether ns-2 itself decides a case by less than a nanosecond.

Packets that follow their own ACKs reach a queue in the very instant in which another leaves.
ns-2 adds doubles; at such a coincidence the last bit may decide, and with it the whole run.
"""

import drive

Case = dict[str, object]
Order = tuple[list[tuple[str, int]], list[tuple[str, int]]]


def order(rows: list[drive.Row]) -> Order:
    """Return what the sender did and what was dropped, without times."""
    beside = [(row.event, row.packet) for row in rows if row.event != "drop"]
    return beside, [(row.event, row.packet) for row in rows if row.event == "drop"]


def kind(case: Case, rows: list[drive.Row]) -> str:
    """Return which nudge changes the order of ns-2's `rows`, "" where none does.

    `delay`: the bottleneck's delay by 1 ns either way. `rate`: its rate by 1e-8 of it, or the
    wait of a delayed ACK by 1 ns, where the delay changes nothing: then departures and arrivals
    coincide whatever the delay is.
    """
    for name, nudged in (
        ("delay", [with_delay(case, 1), with_delay(case, -1)]),
        ("rate", [*(with_rate(case, part) for part in (1e-8, -1e-8)), *with_wait(case)]),
    ):
        if any(order(drive.run(other)) != order(rows) for other in nudged):
            return name
    return ""


def with_delay(case: Case, nanoseconds: int) -> Case:
    """Return `case` with the bottleneck's delay longer by so much, its steps included."""
    rate, delay, limit = _bottleneck(case)
    steps = []
    for step in str(case["delays"]).split():
        *when, to = step.split(",")
        steps.append(",".join([*when, _longer(to, nanoseconds)]))
    return _with_bottleneck(case, (rate, _longer(delay, nanoseconds), limit)) | {
        "delays": " ".join(steps)
    }


def with_rate(case: Case, part: float) -> Case:
    """Return `case` with a bottleneck faster by `part` of its rate."""
    rate, delay, limit = _bottleneck(case)
    return _with_bottleneck(case, (repr(float(rate) * (1 + part)), delay, limit))


def with_wait(case: Case) -> list[Case]:
    """Return `case` with delayed ACKs held a nanosecond longer and shorter, if it holds any."""
    wait = float(str(case["delayed_ack"]))
    return [{**case, "delayed_ack": f"{wait + by:.9f}"} for by in (1e-9, -1e-9) if wait]


def _bottleneck(case: Case) -> tuple[str, str, str]:
    links = [link.split(",") for link in str(case["links"]).split()]
    rate, delay, limit = min(links, key=lambda link: float(link[0]))
    return rate, delay, limit


def _with_bottleneck(case: Case, new: tuple[str, str, str]) -> Case:
    old = ",".join(_bottleneck(case))
    links = [",".join(new) if link == old else link for link in str(case["links"]).split()]
    return {**case, "links": " ".join(links)}


def _longer(seconds: str, nanoseconds: int) -> str:
    return f"{float(seconds) + nanoseconds * 1e-9:.9f}"
