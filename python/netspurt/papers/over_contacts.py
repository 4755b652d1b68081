"""Measures of contacts: their orbits, and the delay over time.

A contact is the time in which a spacecraft can communicate over relay satellites. A pass is a time
in which the path of a contact has a line of sight. A measure is a function that returns the value
that decides a claim of a paper (`registry.py`).
"""

from __future__ import annotations

from collections import Counter

import numpy as np
from numpy.typing import NDArray

from netspurt.orbit import SHORTEST_S, OrbitPath, PathDelays
from netspurt.papers.bench import Bench
from netspurt.papers.contacts import (
    EARTH_KM,
    SYNCHRONOUS_KM,
    Contact,
    Curve,
    contacts,
    day_of_passes,
    elements,
    stations,
    stored,
)
from netspurt.papers.registry import Measured, in_unit, registered
from netspurt.run import Run

Floats = NDArray[np.float64]

#: The speed of light [km/s].
LIGHT_KM_S = 299792.458
#: A distance may be outside the bounds by at most this tolerance [km], because a real orbit is not
#: exactly elliptic.
_TOLERANCE_KM = 20.0


def _curves(bench: Bench, *, handoffs: bool = False) -> dict[str, tuple[Contact, Curve]]:
    """Return contacts with their stored delays; `handoffs` includes contacts with handoffs.

    At a handoff, the path changes to another relay satellite.
    """
    return {
        name: (contact, stored(bench.paper, contact))
        for name, contact in contacts(bench.paper).items()
        if handoffs or contact.variability != "handoff"
    }


def bounds_km(apogee: float, perigee: float) -> tuple[float, float]:
    """Return the minimum and the maximum distance [km] of a satellite from a synchronous relay.

    At the minimum distance, the satellite and the relay are in line with the Earth's centre. At the
    maximum distance, the line between them touches the Earth.
    """
    high, low = EARTH_KM + apogee, EARTH_KM + perigee
    if low <= EARTH_KM:
        raise ValueError(f"a perigee of {perigee:g} km: write a perigee above 0 km")
    to_horizon = [np.sqrt(radius**2 - EARTH_KM**2) for radius in (SYNCHRONOUS_KM, high)]
    return SYNCHRONOUS_KM - high, float(sum(to_horizon))


@registered
@in_unit("km")
def heights(bench: Bench, *, contact: str) -> Measured:
    """Return a contact's apogee and perigee [km].

    The value is `None` if the stored delays are not possible with these heights.
    """
    this_contact, curve = _curves(bench)[contact]
    orbit = elements(bench.paper, this_contact.satellite)
    min_km, max_km = bounds_km(orbit["apogee"], orbit["perigee"])
    distances = [end * LIGHT_KM_S / 1e9 for end in (curve.delay_ns.min(), curve.delay_ns.max())]
    possible = min_km - _TOLERANCE_KM <= distances[0] and distances[1] <= max_km + _TOLERANCE_KM
    rows = [
        ("", "least", "most"),
        ("possible", f"{min_km:,.0f} km", f"{max_km:,.0f} km"),
        ("this contact", f"{distances[0]:,.0f} km", f"{distances[1]:,.0f} km"),
        ("swing of round trips", "", f"{2e3 * (distances[1] - distances[0]) / LIGHT_KM_S:.1f} ms"),
    ]
    return Measured([orbit["apogee"], orbit["perigee"]] if possible else None, rows)


@registered
def in_their_bands(bench: Bench, *, leo: str, meo: str) -> Measured:
    """Return the number of contacts whose heights are in the band of their orbit (LEO or MEO).

    The heights are the heights that the paper prints.
    """
    bands = {"LEO": leo, "MEO": meo}
    rows = [("contact", "heights", "band", "in the band")]
    count = 0
    for name, (contact, _) in _curves(bench).items():
        assert contact.printed_km is not None
        low, high = (float(end) for end in bands[contact.band].split(","))
        inside = all(low <= height <= high for height in contact.printed_km)
        count += inside
        shown = ", ".join(f"{height:g} km" for height in contact.printed_km)
        rows.append(
            (name, shown, f"{contact.band} {low:g} to {high:g} km", "yes" if inside else "no")
        )
    return Measured(count, rows)


@registered
def number_of_contacts(bench: Bench) -> Measured:
    """Return the number of contacts without handoffs, and the number of all contacts."""
    return Measured([float(len(_curves(bench))), float(len(_curves(bench, handoffs=True)))])


@registered
def contacts_of_a_day(bench: Bench) -> Measured:
    """Return the maximum and the minimum number of contacts of a satellite on the paper's day."""
    counts = {}
    for contact, _ in _curves(bench).values():
        if contact.satellite not in counts:
            counts[contact.satellite] = len(day_of_passes(bench.paper, contact))
    rows = [("satellite", "contacts"), *((name, str(n)) for name, n in counts.items())]
    return Measured([float(max(counts.values())), float(min(counts.values()))], rows)


@registered
def chosen_contacts(bench: Bench) -> Measured:
    """Return the numbers of contacts chosen per satellite, if each contact is an extreme pass.

    The first number counts the contacts of a satellite with several passes. The second number
    counts the contacts of a satellite with one pass. A satellite's extreme passes are the pass with
    the least and the pass with the most variable delay.
    """
    per_satellite = Counter(contact.satellite for contact, _ in _curves(bench).values())
    rows = [("contact", "whole passes", "swings of the passes", "swing of the contact")]
    several: set[int] = set()
    single: set[int] = set()
    all_agree = True
    for name, (contact, curve) in _curves(bench).items():
        passes = day_of_passes(bench.paper, contact)
        whole_passes = [p for p in passes if p.whole and p.duration >= SHORTEST_S] or passes
        swings = [1e3 * p.swing for p in whole_passes]
        swing = float(np.ptp(curve.delay_ns)) / 1e6
        wanted = {"least": min(swings), "most": max(swings), "only": swings[0]}[contact.variability]
        # The stored points are some seconds apart, so they may miss the exact minimum delay. So a
        # difference of 1 % is allowed.
        all_agree = all_agree and abs(swing - wanted) < 0.01 * wanted
        (several if len(passes) > 1 else single).add(per_satellite[contact.satellite])
        shown = f"{min(swings):.2f} to {max(swings):.2f} ms"
        rows.append((name, str(len(whole_passes)), shown, f"{swing:.2f} ms"))
    counts = [float(n) for n in (*several, *single)]
    return Measured(counts if all_agree and len(counts) == 2 else None, rows)


@registered
@in_unit("km/s")
def speed_of_signals(bench: Bench, *, contact: str) -> Measured:
    """Return the length of a contact's path divided by the path's delay [km/s]."""
    this_contact = contacts(bench.paper)[contact]
    texts = stations(bench.paper)
    path = OrbitPath([texts[name] for name in this_contact.paths[0]])
    first = day_of_passes(bench.paper, this_contact)[0]
    delays = path.delays(first.rise_ns, first.set_ns, 60.0)
    speeds = delays.km / (delays.delay_ns / 1e9)
    rows = [("instants", str(len(speeds))), ("least", f"{speeds.min():.3f} km/s")]
    rows.append(("most", f"{speeds.max():.3f} km/s"))
    return Measured(round(float(np.median(speeds)), 3), rows)


@registered
def fit_residual(bench: Bench, *, within: str) -> Measured:
    """Return the largest residual of fitted polynomials of time, as a share of the delay."""
    rows = [("contact", "degree", "off by at most", "share of the delay")]
    worst = 0.0
    for name, (_, curve) in _curves(bench).items():
        fitted = as_delays(curve).fit(within=float(within))
        worst = max(worst, fitted.share)
        rows.append(
            (name, str(fitted.degree), f"{1e3 * fitted.residual:.3f} ms", f"{fitted.share:.3%}")
        )
    return Measured(worst, rows)


def as_delays(curve: Curve) -> PathDelays:
    """Return a stored delay as `PathDelays`, to which a polynomial can be fitted."""
    delay = curve.delay_ns.astype(np.uint64)
    return PathDelays(curve.t_ns, np.asarray(delay * (LIGHT_KM_S / 1e9)), delay)


@registered
@in_unit("s")
def step_at(bench: Bench, *, contact: str, way: str) -> Measured:
    """Return the instant at which the delay of a contact steps up or down [s]."""
    _, curve = _curves(bench, handoffs=True)[contact]
    rows = [("at", "round trip changes by")]
    rows += [(f"{t:.1f} s", f"{2e3 * by:+.1f} ms") for t, by in curve.jumps()]
    instants = [t for t, by in curve.jumps() if (by > 0) == (way == "up")]
    return Measured(instants[0] if len(instants) == 1 else None, rows)


@registered
def levels(bench: Bench, *, contact: str) -> Measured:
    """Return the round trip over a double hop, divided by the round trip before the double hop.

    A double hop is a path over two relay satellites.
    """
    _, curve = _curves(bench, handoffs=True)[contact]
    up, down = (t for t, _ in curve.jumps())
    before, between = (
        2 * float(np.mean(curve.at(np.linspace(start, end, 100))))
        for start, end in ((0.0, up - 1), (up + 1, down - 1))
    )
    rows = [("before", f"{before:.3f} s"), ("double hop", f"{between:.3f} s")]
    return Measured(between / before, rows)


@registered
def perfect_handoffs(bench: Bench, *, run: str, link: str) -> Measured:
    """Return packets lost, packets duplicated and dead time [s] at a run's handoffs.

    The run must be stop-and-wait without retransmissions, so that no packet waits in a queue, and
    only the link makes duplicates. Each packet takes some time beyond the delay of the path. The
    longest of these times is the dead time. A dead time that meets no packet is not seen.
    """
    finished = bench.run(run)
    _, curve = _curves(bench, handoffs=True)[bench.paper.runs[run]["contact"]]
    lost = float(finished.links.where(link=link)["lost"].sum())
    drops = finished.drops["reason"].tolist()
    lost += drops.count("handover") + drops.count("loss")
    ends = [str(finished.flows[end][0]) for end in ("from", "to")]
    arrivals = finished.segments.where(node=ends[1], way="in", kind="data")
    duplicates = float(len(arrivals) - len(set(arrivals["packet"].tolist())))
    beyond = [_beyond_delay(finished, curve, *own) for own in (ends, ends[::-1])]
    rows: list[tuple[str, ...]] = [("packets", "beyond the delay, median", "at most")]
    for name, own in zip(("data", "ACKs"), beyond, strict=True):
        rows.append((name, *(f"{1e3 * value:.2f} ms" for value in (np.median(own), own.max()))))
    dead = max(float(own.max() - np.median(own)) for own in beyond)
    return Measured([lost, duplicates, round(dead, 3)], rows)


def _beyond_delay(run: Run, curve: Curve, start: str, end: str) -> Floats:
    """Return how much longer each packet took from one node to another than the path's delay [s].

    If the delay steps while a packet is on its way, the larger of both delays counts.
    """
    left = run.segments.where(node=start, way="out")
    came = run.segments.where(node=end, way="in")
    departure = dict(zip(left["id"].tolist(), left.seconds().tolist(), strict=True))
    departures = np.array([departure[packet] for packet in came["id"].tolist()])
    delays = np.maximum(curve.at(departures), curve.at(came.seconds()))
    beyond: Floats = came.seconds() - departures - delays
    return beyond
