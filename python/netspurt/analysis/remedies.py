"""Changes that would have saved time on captured connections: lower floors, probes, RACK.

A change is judged by the waits in the capture. A timer that fired earlier would also have changed
what came later, but the capture cannot show how. So the results are estimates: the time that one
change alone saves or costs at each wait, summed. Intervals are those of the saved share of what was
waited, over the connections; where only one connection waited there is none.

A minimum explains a wait only if the sender's timer stood near it. Where it stood far above what
RFC 6298 computes from the round trips, no other minimum would have shortened the wait.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from netspurt.analysis.bootstrap import Interval, Resamples
from netspurt.analysis.replayed import bounded
from netspurt.table import Table

Floats = NDArray[np.float64]

#: The delay that a probe adds if one segment is outstanding (RFC 8985 §7.2).
_DELAYED_ACK_S = 0.2
#: The round trips that a tail loss probe waits (RFC 8985 §7.2).
_ROUND_TRIPS_BEFORE_PROBE = 2
#: RACK waits a quarter of the round trip for reordered segments (RFC 8985 §6.2).
_REORDERING = 0.25
#: The greatest minimum of a timer in use [s] (RFC 6298 §2.4).
_GREATEST_FLOOR_S = 1.0
#: A timer this many times longer than RFC 6298 computes it follows another rule.
_FAR = 2.0


@dataclass(frozen=True)
class Remedy:
    """A change of the sender, with the time it would have saved and its cost.

    Attributes
    ----------
    name
        The change, in words.
    saved_s
        Time saved, in seconds, over all connections.
    spurious
        Spurious retransmissions that it would have added; `None` if the capture does not show this.
    waits
        The number of waits that it would have shortened.
    waited_s
        The time waited for retransmission timers, in seconds, shortened or not.
    all_waits
        The number of these waits.
    """

    name: str
    saved_s: Interval
    spurious: Interval | None
    waits: int
    waited_s: float
    all_waits: int


@dataclass(frozen=True)
class FarAbove:
    """Waits for timers that stood far above what RFC 6298 computes from the round trips.

    Attributes
    ----------
    waited_s, computed_s
        The waits, and the timers that RFC 6298 computes there with a minimum of 1 s, in seconds,
        shape (n,) each.
    srtt_s
        The smoothed round trips there, in seconds, shape (n,).
    """

    waited_s: Floats
    computed_s: Floats
    srtt_s: Floats


def far_above(tables: Mapping[str, Table]) -> FarAbove:
    """Return the waits for timers that stood far above what RFC 6298 computes."""
    waits = tables["waits"].where(timer="retransmission")
    far = waits.select(_is_far(waits))
    return FarAbove(far.seconds("waited_ns"), _computed(far), _estimates(far, "srtt_ns"))


def remedies(tables: Mapping[str, Table]) -> list[Remedy]:
    """Return the time that each change would have saved, the greatest first.

    Parameters
    ----------
    tables
        The tables of an explained capture: `waits`, `floors`, `spent`.

    Returns
    -------
    list of Remedy
        The changes that would have saved time at one wait or more.

    References
    ----------
    RFC 6298 §2 (timer), RFC 8985 §6.2 and §7.2 (RACK and its probe).
    """
    waits = tables["waits"].where(timer="retransmission")
    far = _is_far(waits)
    found = [_probe(waits), _rack(waits), _as_computed(waits, far)]
    floors = tables["floors"]
    tried = np.unique(floors["floor_ns"]).tolist() if len(floors) else []
    found += [_floor(waits, far, floors.where(floor_ns=ns), ns / 1e9) for ns in tried]
    helpful = [one for one in found if one.waits]
    # Floors that save the same time are shown once, by the highest: it costs least.
    alike = {one.saved_s.value: one for one in helpful}
    return sorted(alike.values(), key=lambda one: -one.saved_s.value)


def _computed(waits: Table, floor_s: float = _GREATEST_FLOOR_S) -> Floats:
    """Return the timers that RFC 6298 computes at some waits, in seconds; NaN without samples."""
    timer = _estimates(waits, "srtt_ns") + 4 * _estimates(waits, "rttvar_ns")
    backed_off: Floats = np.maximum(timer, floor_s) * 2.0 ** np.minimum(waits["backoffs"], 30)
    return backed_off


def _is_far(waits: Table) -> NDArray[np.bool_]:
    """Return which waits were far longer than RFC 6298 computes, with any minimum in use."""
    far: NDArray[np.bool_] = waits.seconds("waited_ns") > _FAR * _computed(waits)
    return far


def _as_computed(waits: Table, far: NDArray[np.bool_]) -> Remedy:
    """Return what a timer by RFC 6298 would have saved where the sender's stood far above it."""
    saved = waits.seconds("waited_ns") - _computed(waits)
    name = f"a timer as RFC 6298 computes it (minimum {_GREATEST_FLOOR_S:g} s)"
    return _of(name, waits, np.where(far, saved, np.nan))


def _floor(waits: Table, far: NDArray[np.bool_], floors: Table, floor_s: float) -> Remedy:
    """Return what a lower minimum RTO would have saved, and its spurious timeouts."""
    saved = waits.seconds("waited_ns") - _computed(waits, floor_s)
    name = f"a minimum RTO of {1e3 * floor_s:g} ms"
    return _of(name, waits, np.where(far, np.nan, saved), _spurious(floors))


def _probe(waits: Table) -> Remedy:
    """Return what tail loss probes would have saved: they end the silence after a tail earlier."""
    probe = _ROUND_TRIPS_BEFORE_PROBE * _estimates(waits, "srtt_ns")
    probe = probe + np.where(waits["outstanding"] == 1, _DELAYED_ACK_S, 0.0)
    saved = waits.seconds("waited_ns") - probe
    tail = (waits["backoffs"] == 0) & ~waits["sacked"]
    return _of("tail loss probes (RFC 8985)", waits, np.where(tail, saved, np.nan))


def _rack(waits: Table) -> Remedy:
    """Return what RACK would have saved where later segments had arrived before the timeout."""
    saved = waits.seconds("waited_ns") - _REORDERING * _estimates(waits, "srtt_ns")
    known = (waits["backoffs"] == 0) & waits["sacked"]
    return _of("RACK (RFC 8985)", waits, np.where(known, saved, np.nan))


def _of(name: str, waits: Table, saved: Floats, spurious: Interval | None = None) -> Remedy:
    """Return a remedy from the time that it saves at each wait, NaN where it does not apply.

    A wait that would not end earlier counts as 0.
    """
    gained = np.maximum(np.nan_to_num(saved), 0.0)
    waited = waits.seconds("waited_ns")
    total = _share_of(waits["connection"], gained, waited)
    return Remedy(name, total, spurious, int(np.sum(gained > 0)), float(waited.sum()), len(waits))


def _estimates(waits: Table, name: str) -> Floats:
    """Return a column in seconds; NaN where there was no sample yet."""
    values = np.ma.asarray(waits[name], dtype=float) / 1e9
    filled: Floats = np.ma.filled(values, np.nan)
    return filled


def _share_of(of: NDArray[np.uint64], gained: Floats, waited: Floats) -> Interval:
    """Return the time saved, with the interval of its share of the time waited."""
    each = np.stack([_sum(of, gained), _sum(of, waited)])
    total, whole = each.sum(axis=1).tolist()
    if each.shape[1] < 2:
        return _alone(total)
    share = Resamples(each, length=1).interval(lambda sums: sums[0] / sums[1])
    return bounded(share.scaled(whole), 0.0, whole)


def _spurious(floors: Table) -> Interval:
    """Return the number of spurious timeouts, with its interval by resampling connections."""
    each = _sum(floors["connection"], floors["spurious"].astype(float))
    if np.count_nonzero(each) < 2:
        return _alone(float(each.sum()))
    resamples = Resamples(each, length=1)
    return bounded(
        resamples.interval(lambda sums: sums[0] / sums[-1]).scaled(len(each)), 0.0, np.inf
    )


def _sum(of: NDArray[np.uint64], values: Floats) -> Floats:
    """Return the sum of the values of each connection."""
    _, places = np.unique(of, return_inverse=True)
    return np.bincount(places, values, minlength=1).astype(float)


def _alone(value: float) -> Interval:
    """Return a figure without an interval."""
    return Interval(value, float("nan"), float("nan"), 0.95, 1)
