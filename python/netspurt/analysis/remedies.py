"""Changes that would have saved time on captured connections: lower floors, probes, RACK.

A change is judged by the waits in the capture. A timer that fired earlier would also have changed
what came later, but the capture cannot show how. So the results are estimates: the time that one
change alone saves or costs at each wait, summed, with intervals over the connections.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from netspurt.analysis.bootstrap import Interval, Resamples
from netspurt.table import Table

Floats = NDArray[np.float64]

#: The delay that a probe adds if one segment is outstanding (RFC 8985 §7.2).
_DELAYED_ACK_S = 0.2
#: The round trips that a tail loss probe waits (RFC 8985 §7.2).
_ROUND_TRIPS_BEFORE_PROBE = 2
#: RACK waits a quarter of the round trip for reordered segments (RFC 8985 §6.2).
_REORDERING = 0.25


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
    """

    name: str
    saved_s: Interval
    spurious: Interval | None
    waits: int


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
    connections = tables["spent"]["connection"]
    found = [_probe(waits, connections), _rack(waits, connections)]
    floors = tables["floors"]
    tried = np.unique(floors["floor_ns"]).tolist() if len(floors) else []
    found += [_floor(waits, floors.where(floor_ns=ns), connections, ns / 1e9) for ns in tried]
    helpful = [one for one in found if one.waits]
    # Floors that save the same time are shown once, by the highest: it costs least.
    alike = {one.saved_s.value: one for one in helpful}
    return sorted(alike.values(), key=lambda one: -one.saved_s.value)


def _floor(waits: Table, floors: Table, connections: NDArray[np.uint64], floor_s: float) -> Remedy:
    """Return what a lower minimum RTO would have saved, and its spurious timeouts."""
    timer = np.maximum(_estimates(waits, "srtt_ns") + 4 * _estimates(waits, "rttvar_ns"), floor_s)
    saved = waits.seconds("waited_ns") - timer * 2.0 ** np.minimum(waits["backoffs"], 30)
    each = _by_connection(waits["connection"], saved, connections)
    spurious = _sum(floors["connection"], floors["spurious"].astype(float), connections)
    return Remedy(
        name=f"a minimum RTO of {1e3 * floor_s:g} ms",
        saved_s=_total(each),
        spurious=_total(spurious),
        waits=int(np.sum(np.nan_to_num(saved) > 0)),
    )


def _probe(waits: Table, connections: NDArray[np.uint64]) -> Remedy:
    """Return what tail loss probes would have saved: they end the silence after a tail earlier."""
    probe = _ROUND_TRIPS_BEFORE_PROBE * _estimates(waits, "srtt_ns")
    probe = probe + np.where(waits["outstanding"] == 1, _DELAYED_ACK_S, 0.0)
    saved = waits.seconds("waited_ns") - probe
    tail = (waits["backoffs"] == 0) & ~waits["sacked"]
    return _of("tail loss probes (RFC 8985)", waits, np.where(tail, saved, np.nan), connections)


def _rack(waits: Table, connections: NDArray[np.uint64]) -> Remedy:
    """Return what RACK would have saved where later segments had arrived before the timeout."""
    saved = waits.seconds("waited_ns") - _REORDERING * _estimates(waits, "srtt_ns")
    known = (waits["backoffs"] == 0) & waits["sacked"]
    return _of("RACK (RFC 8985)", waits, np.where(known, saved, np.nan), connections)


def _of(name: str, waits: Table, saved: Floats, connections: NDArray[np.uint64]) -> Remedy:
    each = _by_connection(waits["connection"], saved, connections)
    return Remedy(name, _total(each), None, int(np.sum(np.nan_to_num(saved) > 0)))


def _estimates(waits: Table, name: str) -> Floats:
    """Return a column in seconds; NaN where there was no sample yet."""
    values = np.ma.asarray(waits[name], dtype=float) / 1e9
    filled: Floats = np.ma.filled(values, np.nan)
    return filled


def _by_connection(of: NDArray[np.uint64], saved: Floats, all_of: NDArray[np.uint64]) -> Floats:
    """Return the time saved on each connection; a wait that would not end earlier counts as 0."""
    return _sum(of, np.maximum(np.nan_to_num(saved), 0.0), all_of)


def _sum(of: NDArray[np.uint64], values: Floats, all_of: NDArray[np.uint64]) -> Floats:
    """Return the sum of the values of each connection."""
    places = np.searchsorted(all_of, of)
    sums = np.zeros(len(all_of))
    np.add.at(sums, places, values)
    return sums


def _total(each: Floats) -> Interval:
    """Return a sum over connections with its interval, by resampling connections."""
    if len(each) < 2:
        total = float(each.sum())
        return Interval(total, float("nan"), float("nan"), 0.95, 1)
    resamples = Resamples(each, length=1)
    return resamples.interval(lambda sums: sums[0] / sums[-1]).scaled(len(each))
