"""Says when each direction of a flow finished and how fast it was, for runs and for captures."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from netspurt.analysis.replies import Replies
from netspurt.table import HasTables, Table, optional
from netspurt.wording import octets, rate

#: The maximum difference of two times or rates that count as the same, as a share of the larger
#: value.
_DIFFERENCE_MAX = 5e-4


class Ended(HasTables, Protocol):
    """A run or a capture, with its end."""

    @property
    def stop_ns(self) -> int:
        """The end of the run or the capture [ns]."""


@dataclass(frozen=True)
class Outcome:
    """The outcome of a direction of a flow.

    Attributes
    ----------
    took_s
        The time from the direction's start until all its data was acknowledged [s]. Infinite if not
        all data was acknowledged.
    watched_s
        The time from the direction's start to the end of the run or of the capture [s].
    acked_bytes
        The octets that were acknowledged.
    sent, retransmissions, timeouts
        The numbers of segments with payload, of retransmissions, and of timeouts. In a capture,
        `timeouts` counts the retransmissions that a timeout explains.
    replies
        The durations of the replies. `None` if there are no requests.
    """

    took_s: float
    watched_s: float
    acked_bytes: int
    sent: int
    retransmissions: int
    timeouts: int
    replies: Replies | None = None

    @property
    def goodput_bps(self) -> float:
        """The rate at which data was acknowledged [bit/s]."""
        busy = min(self.took_s, self.watched_s)
        return 8 * self.acked_bytes / busy if busy > 0 else 0.0


def outcome_of(run: Ended, flow: str, direction: str) -> Outcome | None:
    """Return the outcome of a direction of a flow, or `None` if the table `flows` lacks it.

    In a capture, the time of the direction `forward` starts at the first packet of the connection.
    The time of the direction `reverse` starts at the first data of this direction. If the
    connection was closed or reset, the time ends when all data of the direction was acknowledged.

    The result is also `None` if the start of the direction is not known.
    """
    sums = run.table("flows").where(flow=flow, direction=direction)
    if len(sums) == 0:
        return None
    start, end = (float(sums.seconds(name)[0]) for name in ("start_ns", "finished_ns"))
    if math.isnan(start):
        start = starts_of_programs(run).get((flow, direction), math.nan)
    if math.isnan(start):
        return None
    connections = optional(run, "connections")
    timeouts = int(sums["timeouts"][0])
    # A capture's table `connections` has the column `ending`. A run's table of the same name does
    # not have this column, and contains the connections of populations or of programs.
    if connections is not None and "ending" in connections:
        own = connections.where(connection=int(flow.removeprefix("c")))
        segments = run.table("segments").where(flow=flow)
        if direction == "forward" and len(segments):
            start = float(segments.seconds().min())
        end = _all_acknowledged(segments, direction) if np.any(own["ending"] != "open") else end
        retransmissions = run.table("retransmissions").where(
            connection=int(flow.removeprefix("c")), direction=direction
        )
        timeouts = int((retransmissions["cause"] == "rto").sum())
    return Outcome(
        took_s=math.inf if math.isnan(end) else end - start,
        watched_s=run.stop_ns / 1e9 - start,
        acked_bytes=int(sums["acked_bytes"][0]),
        sent=int(sums["sent"][0]),
        retransmissions=int(sums["retransmissions"][0]),
        timeouts=timeouts,
        replies=_replies(run, flow),
    )


def starts_of_programs(run: HasTables) -> dict[tuple[str, str], float]:
    """Return when each direction of the connections of `netspurt live exec` began [s].

    The side that opened a connection begins with its SYN, and the other side begins with its first
    data. The table `flows` has no such instants, because netspurt does not see when a program
    writes. The result is empty for a run without programs.
    """
    table = optional(run, "connections")
    if table is None or "opened_by_to" not in table:
        return {}
    found = {}
    syn, began = table.seconds("syn_ns"), table.seconds("began_ns")
    for n, flow in enumerate(table["flow"].tolist()):
        opened_by_to = bool(table["opened_by_to"][n])
        found[flow, "reverse" if opened_by_to else "forward"] = float(syn[n])
        found[flow, "forward" if opened_by_to else "reverse"] = float(began[n])
    return found


def _all_acknowledged(segments: Table, direction: str) -> float:
    """Return when the last data of a direction was acknowledged [s], or NaN if it never was."""
    data = segments.where(direction=direction)
    data = data.select(data["len_bytes"] > 0)
    answers = segments.select(segments["direction"] != direction)
    if len(data) == 0 or len(answers) == 0:
        return math.nan
    done = np.flatnonzero(answers["ack"] >= int((data["seq"] + data["len_bytes"]).max()))
    return float(answers.seconds()[done[0]]) if len(done) else math.nan


def _replies(run: Ended, flow: str) -> Replies | None:
    requests = optional(run, "requests")
    own = None if requests is None else requests.where(flow=flow)
    return Replies.of(own, run.stop_ns) if own is not None and len(own) else None


def faster(names: Sequence[str], both: Sequence[Outcome]) -> str:
    """Return a sentence that says which of two outcomes is better, and by how much.

    Examples
    --------
    >>> def of(took_s, octets=10_000):
    ...     return Outcome(took_s, 20.0, octets, 10, 0, 0)
    >>> faster(("a", "b"), (of(4.0), of(5.0)))
    'a finishes first, after 4.000 s; b finishes after 5.000 s (25 % longer)'
    >>> faster(("a", "b"), (of(0.0601), of(0.0602)))
    'both finish after 0.060 s'
    >>> faster(("a", "b"), (of(math.inf), of(5.0)))
    'b finishes after 5.000 s; a does not finish within its 20 s'
    >>> faster(("a", "b"), (of(math.inf), of(math.inf, 11_000)))
    'neither finishes within 20 s; b is 10 % faster: 4.4 kbit/s; a has 4 kbit/s'
    """
    order = sorted((0, 1), key=lambda n: both[n].took_s)
    (fast, slow), (first, second) = ((both[n] for n in order), (names[n] for n in order))
    if math.isinf(fast.took_s):
        return _unfinished(names, both)
    if math.isinf(slow.took_s):
        within = f"within its {slow.watched_s:.4g} s"
        return f"{first} finishes after {fast.took_s:.3f} s; {second} does not finish {within}"
    fastest, slowest = (f"{one.took_s:.3f} s" for one in (fast, slow))
    if fastest == slowest or slow.took_s - fast.took_s <= _DIFFERENCE_MAX * slow.took_s:
        return f"both finish after {fastest}{_different_amounts(both)}"
    longer = f" ({_more(slow.took_s / fast.took_s, 'longer', 'long')})" if fast.took_s else ""
    times = f"after {fastest}; {second} finishes after {slowest}"
    return f"{first} finishes first, {times}{longer}{_different_amounts(both)}"


def _unfinished(names: Sequence[str], both: Sequence[Outcome]) -> str:
    """Return a sentence on the rates, or the octets, of two flows that did not finish."""
    shortest, longest = sorted(outcome.watched_s for outcome in both)
    if longest - shortest > _DIFFERENCE_MAX * longest:
        amounts = (
            f"{name} had {octets(outcome.acked_bytes)} acknowledged in {outcome.watched_s:.4g} s"
            for name, outcome in zip(names, both, strict=True)
        )
        return f"neither finishes: {', '.join(amounts)}"
    within = f"neither finishes within {longest:.4g} s"
    order = sorted((0, 1), key=lambda n: -both[n].goodput_bps)
    (high, low), (first, second) = (
        (both[n].goodput_bps for n in order),
        (names[n] for n in order),
    )
    if high - low <= _DIFFERENCE_MAX * high:
        return f"{within}; both have {rate(high)}"
    more = _more(high / low, "faster", "fast") if low else "faster"
    return f"{within}; {first} is {more}: {rate(high)}; {second} has {rate(low)}"


def _more(ratio: float, comparative: str, plain: str) -> str:
    """Return by how much a ratio exceeds 1.

    Examples
    --------
    >>> _more(1.25, "longer", "long"), _more(12.5, "longer", "long")
    ('25 % longer', '12.5 times as long')
    """
    if ratio >= 2:
        return f"{ratio:.3g} times as {plain}"
    return f"{100 * (ratio - 1):.2g} % {comparative}"


def _different_amounts(both: Sequence[Outcome]) -> str:
    """Return a remark if the two flows transferred different amounts of data."""
    first, second = (each.acked_bytes for each in both)
    # In a capture, the count may include a FIN.
    if abs(first - second) <= 1:
        return ""
    return f"; they transferred different amounts: {octets(first)} and {octets(second)}"
