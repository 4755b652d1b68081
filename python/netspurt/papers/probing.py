"""Measures of echo probes on simulated paths.

A measure is a function that returns the value that decides a claim of a paper (`registry.py`). The
bench makes the runs that the measure needs.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from netspurt.analysis import fit_lengths
from netspurt.papers.bench import Bench
from netspurt.papers.registry import Measured, in_unit, registered
from netspurt.table import Table


def one_way(echo_probes: Table) -> NDArray[np.float64]:
    """Return half of the round trip of each probe, in seconds. Without an answer, it is NaN."""
    trips: Any = np.ma.asarray(echo_probes["rtt_ns"], dtype=float)
    return np.asarray(np.ma.filled(trips, np.nan)) / 2e9


@registered
@in_unit("B")
def break_of(bench: Bench, *, run: str) -> Measured:
    """Fit two lines to the delays. Return the length at which the second line begins [octets]."""
    echo_probes = bench.run(run).echo_probes
    fit = fit_lengths(echo_probes["size_bytes"], one_way(echo_probes), break_at="find")
    shown = [("octets", "probes", "rate")]
    shown += [
        (f"{line.shortest} to {line.longest}", str(line.probes), f"{line.rate_bps:.0f} bit/s")
        for line in fit.lines
    ]
    return Measured(fit.break_octets, shown)


@registered
@in_unit("B")
def longest_probe(bench: Bench, *, run: str) -> Measured:
    """Return the length of the longest probe [octets], if probes and answers were never fragmented.

    Otherwise the value is `None`. It is also `None` if a probe was not answered. Without fragments,
    each link carried one packet for each probe, and one for each answer.
    """
    finished = bench.run(run)
    echo_probes = finished.echo_probes
    answered = np.isfinite(one_way(echo_probes)).all()
    whole = (finished.links["carried"] == len(echo_probes)).all()
    return Measured(int(echo_probes["size_bytes"].max()) if answered and whole else None)


@registered
def most_outstanding(bench: Bench, *, run: str) -> Measured:
    """Return the maximum number of probes that waited for an answer at the same time."""
    echo_probes = bench.run(run).echo_probes
    sent = echo_probes["t_ns"].astype(np.int64)
    trips = np.ma.asarray(echo_probes["rtt_ns"])
    # A probe without an answer counts as outstanding for 30 s.
    waits = np.ma.filled(trips, 30_000_000_000).astype(np.int64)
    ends = np.sort(sent + waits)
    # If an answer and the next probe share an instant, the answer came first.
    ended = np.searchsorted(ends, sent, side="right")
    return Measured(int((np.arange(1, len(sent) + 1) - ended).max()))


@registered
@in_unit("s")
def given_up_after(bench: Bench, *, run: str, lost: str) -> Measured:
    """Return the time from a lost probe to the next probe [s].

    The value is `None` if the number of lost probes differs from the argument `lost`, or if this
    time is not equal for all lost probes.
    """
    echo_probes = bench.run(run).echo_probes
    sent = echo_probes["t_ns"].astype(np.int64)
    lost_places = np.flatnonzero(echo_probes["lost"])
    shown = [("probe", "next probe left after")]
    waits = [
        (int(sent[place + 1]) - int(sent[place])) / 1e9
        for place in lost_places
        if place + 1 < len(sent)
    ]
    shown += [
        (str(place + 1), f"{wait:.3f} s") for place, wait in zip(lost_places, waits, strict=False)
    ]
    agrees = len(lost_places) == int(lost) and len(set(waits)) == 1
    return Measured(waits[0] if agrees else None, shown)
