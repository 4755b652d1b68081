"""The lines of `netspurt explain` on what would have shortened the waits for timers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np

from netspurt.wording import counted

if TYPE_CHECKING:
    from netspurt.analysis.bootstrap import Interval
    from netspurt.analysis.remedies import FarAbove, Remedy
    from netspurt.table import Table

#: The number of remedies that are shown.
_REMEDIES = 3


def remedy_lines(tables: Mapping[str, Table]) -> Iterator[str]:
    """Yield the changes of the sender that would have saved the most time, with their costs.

    If none would have saved any, say why. `tables` has `waits` and `floors`.
    """
    from netspurt.analysis.remedies import far_above, remedies

    yield from _far_above(far_above(tables))
    found = remedies(tables)
    yield from map(_told, found[:_REMEDIES])
    if not found:
        yield _why_none(tables["waits"])
        return
    waits = tables["waits"].where(timer="retransmission")
    unknown = len(waits) - _known(waits)
    if unknown:
        yield f"At {unknown:,} of these waits no round trip is known, so no remedy is tried there."


def _known(waits: Table) -> int:
    """Return the number of waits before which a round trip was known."""
    return int((~np.ma.getmaskarray(np.ma.asarray(waits["srtt_ns"]))).sum())


def _told(one: Remedy) -> str:
    what = f"{one.name[0].upper()}{one.name[1:]}"
    waited = f"{one.waited_s:.3g} s that retransmission timers waited"
    share = one.saved_s.value / one.waited_s
    text = f"{what} would have saved {_with_interval(one.saved_s, ' s')}, {share:.0%} of the "
    text += f"{waited}, at {one.waits:,} of {counted(one.all_waits, 'wait')}"
    if one.spurious is not None:
        text += f", at the cost of {_with_interval(one.spurious)} spurious timeouts"
    return f"{text}."


def _with_interval(value: Interval, unit: str = "") -> str:
    told = f"{value.value:.3g}{unit}"
    if not (np.isfinite(value.low) and np.isfinite(value.high)):
        return told
    return f"{told} ({value.low:.3g} .. {value.high:.3g})"


def _far_above(far: FarAbove) -> Iterator[str]:
    """Yield a sentence if a sender's timer was far above the timer that RFC 6298 computes."""
    if not len(far.waited_s):
        return
    trips = far.waited_s / far.srtt_s
    times = f"{_range(trips, '')} round trips ({_range(far.waited_s, ' s')})"
    yield (
        f"At {counted(len(trips), 'wait')} the sender's timer was {times}, but RFC 6298 "
        f"computes {_range(far.computed_s, ' s')} with a minimum of 1 s. So the sender kept an "
        "earlier backoff, or has a coarse or fixed timer. A lower minimum would not have shortened "
        "these waits."
    )


def _range(values: np.ndarray[tuple[int], np.dtype[np.float64]], unit: str) -> str:
    low, high = (f"{end:.3g}" for end in (values.min(), values.max()))
    return f"{low}{unit}" if low == high else f"{low} to {high}{unit}"


def _why_none(waits: Table) -> str:
    """Return why no change of the sender's timers would have saved time."""
    of = waits.where(timer="retransmission")
    if len(waits) == 0:
        return "The capture shows no wait for a timer, so no remedy is tried."
    if len(of) == 0:
        timers = {"probe": "tail loss probes", "syn": "SYNs"}
        kinds = [words for name, words in timers.items() if len(waits.where(timer=name))]
        return (
            f"As far as the capture shows, connections waited only for timers of "
            f"{' and '.join(kinds)}. No remedy is tried for these."
        )
    if _known(of) == 0:
        return (
            "No round trip is known from before these waits, because no ACK of new data was "
            "captured. So it is unknown how much an earlier timer would have saved."
        )
    return (
        "No remedy would have saved time: these timers fired about as early as a shorter minimum, "
        "tail loss probes or RACK would have."
    )
