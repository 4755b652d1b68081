"""Draws figures of papers from our own runs. `[[pictures]]` in a `paper.toml` names the figures.

A contact is the time in which a spacecraft can communicate over relay satellites. Its scenario has
a link whose delay changes during the contact.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from netspurt.analysis.crossings import crossings
from netspurt.papers.bench import Bench
from netspurt.papers.contacts import Contact, Curve, contacts, stored
from netspurt.papers.data import PaperError
from netspurt.papers.echo_figures import crossing, density, sent_and_acknowledged
from netspurt.papers.over_contacts import as_delays
from netspurt.papers.over_starts import single_relay, throughputs
from netspurt.papers.traces import at_sender
from netspurt.papers.web_figures import FIGURES as OF_WEB
from netspurt.pictures.ranges import FitPanel, Range
from netspurt.wording import unknown_name

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Floats = NDArray[np.float64]

#: The number of instants of a contact that a figure shows.
_POINTS = 600


def figure(name: str) -> Callable[..., Figure]:
    """Return the function that draws a figure from a bench (the paper's runs, `bench.py`).

    Raises
    ------
    PaperError
        If no figure has this name.
    """
    if name not in _FIGURES:
        raise PaperError(unknown_name("figure", name, _FIGURES))
    return _FIGURES[name]


def _unloaded(bench: Bench, contact: Contact, delays: Floats) -> Floats:
    """Return round trips without queues [ms] from the delays of the link that changes [s]."""
    return 2e3 * (delays + bench.of_study.fixed_delay(contact))


def _times(curve: Curve) -> Floats:
    """Return instants over a whole contact [s]. Each step has two: just before it, and at it."""
    sides = [(t - 1e-9, t) for t, _ in curve.jumps()]
    even = np.linspace(0.0, curve.lasts, _POINTS)
    return np.sort(np.concatenate([even, np.array(sides).ravel()]))


def round_trips(bench: Bench, *, contact: str = "") -> Figure:
    """Draw the round trips without queues of one contact, or of all contacts with one relay.

    If all contacts are drawn, a polynomial is fitted to each curve and drawn with the curve.
    """
    from netspurt.plots.ranges import draw_panels

    panels = []
    for name in [contact] if contact else single_relay(bench):
        this_contact = contacts(bench.paper)[name]
        curve = stored(bench.paper, this_contact)
        t = _times(curve)
        fit = None
        if not contact:
            coefficients = np.array(as_delays(curve).fit(within=0.01).coefficients)
            fit = _unloaded(bench, this_contact, np.polynomial.polynomial.polyval(t, coefficients))
        trips = _unloaded(bench, this_contact, curve.at(t))
        panels.append(FitPanel(f"{name}  {this_contact.satellite}", t / 60, trips, fit))
    title = f"{contact}: unloaded round trip" if contact else "Unloaded round trips"
    return draw_panels(panels, title=title, label="round trip [ms]", beneath="time [min]")


def _ranges(bench: Bench, names: list[str], size: int, clock: str) -> list[Range]:
    return [Range.of(throughputs(bench, name, size, clock) / 1e6) for name in names]


def by_size(bench: Bench, *, clock: str) -> Figure:
    """Draw the range of throughput over the starts of transfers, by contact and size."""
    from netspurt.plots.ranges import draw_ranges

    names = single_relay(bench)
    sizes = bench.of_study.sizes
    series = {f"{size:,} segments": _ranges(bench, names, size, clock) for size in sizes}
    title = f"Throughput by contact and size, clock of {clock}"
    return _draw_over_starts(draw_ranges, bench, names, series, title)


def by_clock(bench: Bench, *, size: int) -> Figure:
    """Draw the range of throughput over the starts of transfers, by contact and clock."""
    from netspurt.plots.ranges import draw_ranges

    names = single_relay(bench)
    clocks = bench.of_study.clocks
    series = {f"clock of {clock}": _ranges(bench, names, size, clock) for clock in clocks}
    return _draw_over_starts(
        draw_ranges, bench, names, series, f"Throughput of {size:,} segments by clock"
    )


def _draw_over_starts(
    draw: Callable[..., Figure], bench: Bench, names: list[str], series: Any, title: str
) -> Figure:
    starts = "all starts" if bench.study is not None else f"about {bench.of_study.quick} starts"
    label = "throughput [Mbit/s]"
    beneath = f"contact; marks from the minimum to the maximum of {starts}"
    return draw(names, series, title=title, label=label, beneath=beneath)


def one_by_size(bench: Bench, *, contact: str) -> Figure:
    """Draw the range of throughput of a contact over the starts of transfers, by size and clock."""
    from netspurt.plots.ranges import draw_ranges

    study = bench.of_study
    groups = [f"{size:,} segments" for size in study.sizes]
    series = {
        f"clock of {clock}": [_ranges(bench, [contact], size, clock)[0] for size in study.sizes]
        for clock in study.clocks
    }
    starts = "all starts" if bench.study is not None else f"about {study.quick} starts"
    return draw_ranges(
        groups,
        series,
        title=f"{contact}: throughput by size",
        label="throughput [Mbit/s]",
        beneath=f"size; marks from the minimum to the maximum of {starts}",
    )


def timer(bench: Bench, *, run: str, before: float, after: float) -> Figure:
    """Draw round trips and the timer around the first round trip that exceeded the timer."""
    from netspurt.plots import View, draw
    from netspurt.plots.style import BLACK, legend

    finished = bench.run(run)
    sent = at_sender(finished).where(way="out", kind="retransmission")
    crossed = crossings(finished.rto, finished.rtt, sent)
    if not crossed:
        raise PaperError(f"{run}: no round trip exceeds the timer")
    at = crossed[0].t
    figure_of_rto = draw(finished, "rto", View(start=at - before, end=at + after))
    (axes,) = figure_of_rto.axes
    axes.axvline(at, color=BLACK, linewidth=1, linestyle=":", label=f"RTT > RTO\nat {at:.2f} s")
    legend(axes)
    return figure_of_rto


_FIGURES: dict[str, Callable[..., Figure]] = {
    "round-trips": round_trips,
    "by-size": by_size,
    "by-clock": by_clock,
    "one-by-size": one_by_size,
    "timer": timer,
    "crossing": crossing,
    "density": density,
    "send-ack": sent_and_acknowledged,
    **OF_WEB,
}
