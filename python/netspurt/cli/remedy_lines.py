"""The lines of `netspurt explain` on changes that would have shortened waits for timers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np

from netspurt.analysis.spent import whole_s
from netspurt.wording import counted

if TYPE_CHECKING:
    from netspurt.analysis.bootstrap import Interval
    from netspurt.analysis.remedies import FarAbove, Remedy, Silences
    from netspurt.table import Table

#: The number of remedies that are shown.
_REMEDIES = 3


def remedy_lines(tables: Mapping[str, Table]) -> Iterator[str]:
    """Yield the changes of the sender that would have saved the most time, with their costs.

    If no change would have saved time, the line says why. Changes that would have saved little of
    the time of the transfers are left out, and a line says so. `tables` has `waits`, `floors`,
    `habits` and `spent`.
    """
    from netspurt.analysis.remedies import far_above, judged, remedies, silences

    yield from _far_above(far_above(tables))
    found = remedies(tables)
    least_s = _LITTLE * _transferring_s(tables["spent"])
    helpful = [one for one in found if one.saved_s.value >= least_s]
    yield from map(_told, helpful[:_REMEDIES])
    waits = judged(tables)
    if not found:
        yield _why_none(tables["waits"], waits)
        return
    if not helpful:
        yield (
            f"No remedy for waits for timers would have saved more than {_LITTLE:.0%} of the time "
            "of the transfers, so none is listed."
        )
        return
    yield from _of_silences(silences(waits))
    unknown = len(waits) - _known(waits)
    if unknown:
        yield f"At {unknown:,} of these waits no round trip is known, so no remedy is tried there."
    beside = len(tables["waits"].where(timer="retransmission")) - len(waits)
    if beside:
        yield f"At {counted(beside, 'further wait')} {_BESIDE}"


#: Remedies that would have saved a smaller share of the time of the transfers are left out.
_LITTLE = 0.01


def _transferring_s(spent: Table) -> float:
    """Return the time of connections in which an application had data to send [s]."""
    return float((whole_s(spent) - spent.seconds("application_ns")).sum())


_BESIDE = (
    "the capture was taken beside the receiver, where the sender's round trips are not seen, so no "
    "remedy is tried there."
)


def _known(waits: Table) -> int:
    """Return the number of waits that began after the first known round trip."""
    return int((~np.ma.getmaskarray(np.ma.asarray(waits["srtt_ns"]))).sum())


def _told(one: Remedy) -> str:
    what = f"{one.name[0].upper()}{one.name[1:]}"
    waited = f"{one.waited_s:.3g} s that retransmission timers waited"
    share = one.saved_s.value / one.waited_s
    text = f"{what} would have saved {_with_interval(one.saved_s, ' s')}, {share:.0%} of the "
    text += f"{waited}, in {one.silences:,} of {counted(one.all_silences, 'silence')}"
    if one.spurious is not None:
        text += f", at the cost of {_with_interval(one.spurious)} further spurious timeouts"
    return f"{text}."


def _of_silences(of: Silences) -> Iterator[str]:
    """Yield the assumptions on silences with several timeouts, and on silences without an end."""
    several = int((of.timeouts > 1).sum())
    if several:
        yield (
            f"{_these(several)} several timeouts in a row. A copy sent before the last unanswered "
            "one also counts as lost."
        )
    open_ended = int((~of.answered).sum())
    if open_ended:
        yield (
            f"In {counted(open_ended, 'silence')} no retransmission was answered, so nothing is "
            "saved there."
        )


def _these(count: int) -> str:
    return "One silence contains" if count == 1 else f"{count:,} silences contain"


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


def _why_none(waits: Table, of: Table) -> str:
    """Return why no change of the sender's timers would have saved time.

    `of` has the waits that could be judged.
    """
    if len(waits) == 0:
        return (
            "No retransmission waited for a timer, so a shorter timer or tail loss probes would "
            "not help."
        )
    if len(of) == 0 and len(waits.where(timer="retransmission")):
        return f"At {counted(len(waits.where(timer='retransmission')), 'wait')} {_BESIDE}"
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
    from netspurt.analysis.remedies import silences

    if not silences(of).answered.any():
        return (
            "After these timeouts no retransmission was answered, so no remedy would have saved "
            "time: the connection had no path or no peer."
        )
    return (
        "No remedy would have saved time: these timers fired about as early as a shorter minimum, "
        "tail loss probes or RACK would have."
    )
