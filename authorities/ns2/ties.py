"""Tests whether a case has a tie: whether a tiny change of the case changes what ns-2 does.

A packet that an ACK caused often reaches a queue at the instant at which another packet leaves it.
ns-2 computes its times as sums of doubles. At such a tie, the last bit of a double may decide
whether the packet is dropped, and so change the rest of the run.
"""

import drive

Case = dict[str, object]
Order = tuple[list[tuple[str, int]], list[tuple[str, int]]]


def order(rows: list[drive.Row]) -> Order:
    """Return the events at the sender and the drops, each in order and without times."""
    beside = [(row.event, row.packet) for row in rows if row.event != "drop"]
    return beside, [(row.event, row.packet) for row in rows if row.event == "drop"]


def kind(case: Case, rows: list[drive.Row]) -> str:
    """Return the kind of tiny change that changes the order of ns-2's `rows`.

    If no change does this, return "". The kind `delay` changes the bottleneck's delay by 1 ns. The
    kind `rate` changes the bottleneck's rate by 1e-8 of its value, or makes the delay of ACKs
    longer or shorter by 1 ns. The changes of `rate` are tried only if the changes of `delay` have
    no effect. The changes of `rate` find ties in which a departure and an arrival coincide whatever
    the delay is.
    """
    for name, nudged in (
        ("delay", [with_delay(case, 1), with_delay(case, -1)]),
        ("rate", [*(with_rate(case, part) for part in (1e-8, -1e-8)), *with_wait(case)]),
    ):
        if any(order(drive.run(other)) != order(rows) for other in nudged):
            return name
    return ""


def with_delay(case: Case, nanoseconds: int) -> Case:
    """Return `case` with `nanoseconds` more delay at the bottleneck, before and after each step."""
    rate, delay, limit = _bottleneck(case)
    steps = []
    for step in str(case["delays"]).split():
        *when, to = step.split(",")
        steps.append(",".join([*when, _longer(to, nanoseconds)]))
    return _with_bottleneck(case, (rate, _longer(delay, nanoseconds), limit)) | {
        "delays": " ".join(steps)
    }


def with_rate(case: Case, part: float) -> Case:
    """Return `case` with the bottleneck's rate multiplied by 1 + `part`."""
    rate, delay, limit = _bottleneck(case)
    return _with_bottleneck(case, (repr(float(rate) * (1 + part)), delay, limit))


def with_wait(case: Case) -> list[Case]:
    """Return two cases: ACKs are delayed 1 ns longer, or 1 ns shorter.

    If `case` does not delay ACKs, return no cases.
    """
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
