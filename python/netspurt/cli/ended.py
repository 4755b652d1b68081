"""The part of `netspurt compare` that says how each of the two runs ended."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from netspurt.cli.compared import ComparedWay, titled
from netspurt.cli.output import columns, fitted
from netspurt.cli.replies import bounded, still_waiting
from netspurt.wording import number, octets, rate

if TYPE_CHECKING:
    from netspurt.analysis.outcomes import Outcome
    from netspurt.captures import Explained
    from netspurt.run import Run


def _outcomes_of(
    runs: Sequence[Run | Explained], ways: Sequence[ComparedWay]
) -> list[Outcome | None]:
    """Return the outcome of the compared direction of each run."""
    from netspurt.analysis.outcomes import outcome_of

    return [
        outcome_of(run, way.flow, way.direction or "forward")
        for run, way in zip(runs, ways, strict=True)
    ]


def outcome_data(
    runs: Sequence[Run | Explained], ways: Sequence[ComparedWay]
) -> list[dict[str, Any] | None]:
    """Return the outcomes of the compared direction of each run, for JSON.

    A time that does not exist is None.
    """
    return [None if one is None else _data(one) for one in _outcomes_of(runs, ways)]


def _data(one: Outcome) -> dict[str, Any]:
    replies = None if one.replies_s is None else [_finite(each) for each in one.replies_s.tolist()]
    times = {"took_s": _finite(one.took_s), "goodput_bps": one.goodput_bps, "replies_s": replies}
    counts = ("acked_bytes", "sent", "retransmissions", "timeouts")
    return times | {name: getattr(one, name) for name in counts}


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def outcome_lines(
    runs: Sequence[Run | Explained], ways: Sequence[ComparedWay], names: list[str]
) -> Iterator[str]:
    """Yield a line that names the run that finished first, and a table of both outcomes."""
    import numpy as np

    from netspurt.analysis.outcomes import faster

    first, second = _outcomes_of(runs, ways)
    if first is None or second is None:
        return
    both = (first, second)
    yield from fitted([f"flow {titled(ways)}: {faster(names, both)}"])
    yield ""
    head = ["", "finished after", "goodput", "acknowledged", "sent", "retransmitted", "timeouts"]
    replying = all(one.replies_s is not None for one in both)
    rows = [head + ["replies", "median reply"] * replying]
    rows += [_cells(name, one, replying) for name, one in zip(names, both, strict=True)]
    yield from columns(rows, right=range(1, len(rows[0])))
    if replying and any(one.median_reply is not None and one.median_reply[1] for one in both):
        waits = (0 if one.replies_s is None else int(np.isinf(one.replies_s).sum()) for one in both)
        yield still_waiting(sum(waits))
    yield ""


def _cells(name: str, one: Outcome, replying: bool) -> list[str]:
    import numpy as np

    cells = [
        name,
        "-" if math.isinf(one.took_s) else f"{one.took_s:.3f} s",
        rate(one.goodput_bps),
        octets(one.acked_bytes),
        *(number(count) for count in (one.sent, one.retransmissions, one.timeouts)),
    ]
    if replying and one.replies_s is not None and one.median_reply is not None:
        complete = int(np.isfinite(one.replies_s).sum())
        cells += [f"{complete} of {len(one.replies_s)}", bounded(*one.median_reply)]
    return cells
