"""The part of `netspurt compare` that says how each of the two runs ended."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from netspurt.cli.compared import ComparedDirection, titled
from netspurt.cli.output import columns, fitted
from netspurt.cli.replies import bounded, still_waiting
from netspurt.wording import number, octets, rate

if TYPE_CHECKING:
    from netspurt.analysis.outcomes import Outcome
    from netspurt.captures import Explained
    from netspurt.run import Run


def _outcomes_of(
    runs: Sequence[Run | Explained], directions: Sequence[ComparedDirection]
) -> list[Outcome | None]:
    """Return the outcome of the compared direction of each run."""
    from netspurt.analysis.outcomes import outcome_of

    return [
        outcome_of(run, way.flow, way.direction or "forward")
        for run, way in zip(runs, directions, strict=True)
    ]


def outcome_data(
    runs: Sequence[Run | Explained], directions: Sequence[ComparedDirection]
) -> list[dict[str, Any] | None]:
    """Return the outcomes of the compared direction of each run, for JSON.

    A time is `None` if its event did not happen.
    """
    return [None if one is None else _data(one) for one in _outcomes_of(runs, directions)]


def _data(one: Outcome) -> dict[str, Any]:
    replies = one.replies and [_finite(each) for each in one.replies.spans_s.tolist()]
    times = {"took_s": _finite(one.took_s), "goodput_bps": one.goodput_bps, "replies_s": replies}
    counts = ("acked_bytes", "sent", "retransmissions", "timeouts")
    return times | {name: getattr(one, name) for name in counts}


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def outcome_lines(
    runs: Sequence[Run | Explained], directions: Sequence[ComparedDirection], names: list[str]
) -> Iterator[str]:
    """Yield a line on which run finished first or is faster, and a table of both outcomes.

    If an outcome is not known, there are no lines.
    """
    from netspurt.analysis.outcomes import faster

    first, second = _outcomes_of(runs, directions)
    if first is None or second is None:
        return
    both = (first, second)
    yield from fitted([f"flow {titled(directions)}: {faster(names, both)}"])
    yield ""
    head = ["", "finished after", "goodput", "acknowledged", "sent", "retransmitted", "timeouts"]
    replies = [one.replies for one in both if one.replies is not None]
    replying = len(replies) == len(both)
    rows = [head + ["replies", "median reply"] * replying]
    rows += [_cells(name, one, replying) for name, one in zip(names, both, strict=True)]
    yield from columns(rows, right=range(1, len(rows[0])))
    if replying and any(own.quantile(0.5)[1] for own in replies):
        yield still_waiting(sum(own.waiting for own in replies))
    yield ""


def _cells(name: str, one: Outcome, replying: bool) -> list[str]:
    cells = [
        name,
        "-" if math.isinf(one.took_s) else f"{one.took_s:.3f} s",
        rate(one.goodput_bps),
        octets(one.acked_bytes),
        *(number(count) for count in (one.sent, one.retransmissions, one.timeouts)),
    ]
    if replying and one.replies is not None:
        complete = len(one.replies) - one.replies.waiting
        cells += [f"{complete} of {len(one.replies)}", bounded(*one.replies.quantile(0.5))]
    return cells
