"""Tests the gains of senders, and their intervals, on sweeps with given durations.

The gain of a sender is the share by which its mean duration is shorter than that of the base
sender. A cell is one combination of the labels of a sweep. SFR is Super Fast Retransmit.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from netspurt.analysis.bootstrap import Interval
from netspurt.papers.data import PaperError
from netspurt.papers.registry import measure
from netspurt.papers.swept import Swept, _swept, interval_text
from netspurt.papers.web_traffic import MEAN, QUANTILES, _cases_of_base, _difference, _used

from made_up_papers import bench_with, made_run, table

#: The 0.975 quantile of Student's distribution with three degrees of freedom, from a table.
T_3 = 3.1824

#: The durations [ms] by load and sender, one for each of four seeds.
Durations = Mapping[tuple[str, str], Sequence[float]]

#: The durations of the base sender at low load [ms].
BASE = [100.0, 102.0, 98.0, 100.0]


def swept(durations: Durations, copies: Mapping[str, float] | None = None) -> Swept:
    """Return the cases of a sweep over load and sender.

    For each sender, `copies` has the number of retransmissions by SFR. Half of these
    retransmissions are spurious.
    """
    rows = [(*key, n, 1e6 * ms) for key, own in durations.items() for n, ms in enumerate(own)]
    loads, senders, repeats, times = (list(column) for column in zip(*rows, strict=True))
    columns: dict[str, Any] = {
        "case": np.arange(len(rows)),
        "repeat": np.array(repeats),
        "load": np.array(loads),
        "sender": np.array(senders),
    }
    columns |= {name: np.array(times) for name in (MEAN, *QUANTILES)}
    sent = np.array([(copies or {}).get(sender, 0.0) for sender in senders])
    columns |= {"retransmissions_sfr": sent, "spurious_sfr": sent / 2}
    order: dict[str, list[Any]] = {
        "load": list(dict.fromkeys(loads)),
        "sender": list(dict.fromkeys(senders)),
    }
    cases: Any = columns
    return Swept(cases, order)


def value(name: str, sweep: Swept, **arguments: str) -> Any:
    """Return the result of a measure on a sweep."""
    bench = bench_with({}, swept=lambda _: sweep)
    return measure(name)(bench, sweep="s", **arguments)


def shorter(*by_ms: float) -> list[float]:
    """Return the durations of the base sender, each shorter by the given time [ms]."""
    return [base - by for base, by in zip(BASE, by_ms, strict=True)]


def test_a_gain_is_relative_to_the_mean_of_the_base_sender() -> None:
    """The differences are 8, 12, 10 and 10 ms. Their standard deviation is 1.633 ms."""
    sweep = swept({("low", "reno"): BASE, ("low", "sfr"): shorter(8, 12, 10, 10)})
    (gain,) = sweep.gains(MEAN).values()
    half = T_3 * np.sqrt(8 / 3) / 2
    assert gain.value == pytest.approx(10)
    assert (gain.high - gain.value) == pytest.approx(half, rel=1e-4)
    assert (gain.value - gain.low) == pytest.approx(half, rel=1e-4)
    found = value("gain_of_sender", sweep, cell="low/sfr")
    assert found.value == gain.value
    assert found.bands == [(gain.low, gain.high)]


def test_a_slower_sender_has_a_negative_gain_with_ordered_interval_ends() -> None:
    gains = swept({("low", "reno"): BASE, ("low", "sfr"): shorter(-8, -12, -10, -10)}).gains(MEAN)
    gain = gains["low", "sfr"]
    assert gain.low < gain.value < gain.high < 0


def test_each_cell_is_compared_with_the_base_at_its_own_load() -> None:
    sweep = swept(
        {
            ("low", "reno"): BASE,
            ("low", "sfr"): shorter(5, 5, 5, 5),
            ("high", "reno"): [2 * ms for ms in BASE],
            ("high", "sfr"): [2 * ms - 50 for ms in BASE],
        },
        copies={"sfr": 8.0},
    )
    gains = {cell: gain.value for cell, gain in sweep.gains(MEAN).items()}
    assert gains == {("low", "sfr"): pytest.approx(5), ("high", "sfr"): pytest.approx(25)}
    assert sweep.cells == list(itertools.product(["low", "high"], ["reno", "sfr"]))
    assert value("least_gain_of_sender", sweep).value == pytest.approx(5)
    mean = value("mean_duration", sweep, cell="high/reno")
    assert mean.value == pytest.approx(200)
    assert mean.table[4][:2] == ("high, sfr", "150.0 ms (144.8 .. 155.2)")
    row = value("gain_of_sender", sweep, cell="low/sfr").table[1]
    assert (row[0], row[1], row[-1]) == ("low, sfr", "5.0 % (5.0 .. 5.0)", "8.0, 4.0")


def test_squared_half_widths_add_up_in_a_difference() -> None:
    step = _difference(Interval(9, 6, 12, 0.95, 1), Interval(4, 0, 8, 0.95, 1))
    assert (step.value, step.low, step.high) == (5, 0, 10)


#: Gains of 20, 10 and 2 %. Their intervals reach 1.3 percentage points to each side.
STEPS: Durations = {
    ("low", "reno"): BASE,
    ("low", "2"): shorter(19, 21, 20, 20),
    ("low", "3"): shorter(9, 11, 10, 10),
    ("low", "4"): shorter(1, 3, 2, 2),
}


@pytest.mark.parametrize(
    ("cells", "least"),
    [("low/2,low/3,low/4", 8), ("low/4,low/3", -8), ("low/2,low/3,low/3", None)],
)
def test_gains_are_called_in_order_only_if_no_difference_between_them_could_be_chance(
    cells: str, least: float | None
) -> None:
    found = value("gains_in_order", swept(STEPS), cells=cells)
    assert found.value == (None if least is None else pytest.approx(least))
    assert len({len(row) for row in found.table}) == 1


@pytest.mark.parametrize(
    ("change", "best", "falls"),
    [
        ({}, "2", 2.0),
        ({}, "3", None),
        ({("low", "3"): shorter(19, 20, 21, 19)}, "2", None),
        ({("low", "4"): shorter(12, 14, 13, 13)}, "2", None),
    ],
)
def test_gains_are_called_falling_only_if_no_difference_between_them_could_be_chance(
    change: Durations, best: str, falls: float | None
) -> None:
    found = value("falls_by_label", swept({**STEPS, **change}), best=best)
    assert found.value == falls


@pytest.mark.parametrize(
    ("change", "best"),
    [
        ({}, 2.0),
        # If another sender cannot be told apart from the best, no sender is the best. The base
        # does not count as another sender.
        ({("low", "3"): shorter(18, 21, 20, 20)}, None),
        ({("low", "reno"): shorter(18, 21, 20, 20)}, 2.0),
    ],
)
def test_a_sender_is_best_only_if_its_lead_over_every_other_sender_exceeds_chance(
    change: Durations, best: float | None
) -> None:
    assert value("best_sender", swept({**STEPS, **change})).value == best


def test_two_senders_are_compared_by_their_means_and_their_retransmissions() -> None:
    """The sweep has only one axis, so the name of a cell is the sender."""
    both = swept({("low", "2"): BASE, ("low", "3"): [1.25 * ms for ms in BASE]}, {"2": 3, "3": 12})
    only = Swept(both.cases, {"sender": both.order["sender"]})
    found = value("near_with_fewer", only, first="2", second="3")
    assert found.value == pytest.approx([20, 0.25])


# Cases and links.


def test_the_cases_of_the_base_in_a_cell_are_those_of_the_first_sender() -> None:
    loads, pages, senders, seeds = ["low", "high"], [1, 2, 3], ["reno", "sfr"], range(3)
    every = list(itertools.product(loads, pages, senders, seeds))
    labels = {"load": loads, "pages": pages, "sender": senders}
    sweep: Any = SimpleNamespace(labels=labels, seeds=len(seeds))
    for load, page in itertools.product(loads, pages):
        cases = _cases_of_base(sweep, (load, str(page)))
        assert [every[case] for case in cases] == [(load, page, "reno", n) for n in seeds]


def test_the_utilisation_of_a_link_is_that_of_its_busier_direction() -> None:
    links = table(link=["up", "up", "lan"], carried_bytes=[1000, 4000, 9000])
    run = made_run('stop = "8 s"', links=links)
    # The busier direction carried 32,000 bits in 8 s: 4 of the 16 kbit/s of the link.
    assert _used(run, "up", 16_000) == 0.25


@pytest.mark.parametrize(
    ("status", "says"),
    [
        (["done"] * 3, "s has 3 of 4 cases: run it"),
        (
            ["done", "cut", "done", "late"],
            r"s: 2 of 4 cases did not run to the end \(1 cut, 1 late\)",
        ),
    ],
)
def test_a_sweep_without_all_its_cases_is_refused(status: list[str], says: str) -> None:
    cases = table(status=status)
    folder: Any = SimpleNamespace(where="s", cases=4, read=lambda: cases, labels={"a": [1]})
    with pytest.raises(PaperError, match=says):
        _swept(folder, "run it")


@pytest.mark.parametrize(
    ("unit", "places", "text"),
    [
        ("%", 1, "1.2 % (-0.6 .. 12.0)"),
        ("", 2, "1.25 (-0.60 .. 12.00)"),
        ("ms", 0, "1 ms (-1 .. 12)"),
    ],
)
def test_a_value_is_printed_with_its_interval(unit: str, places: int, text: str) -> None:
    assert interval_text(Interval(1.25, -0.6, 12, 0.95, 1), unit, places) == text


def test_an_end_of_an_interval_has_no_sign_if_it_rounds_to_zero() -> None:
    assert interval_text(Interval(-0.01, -0.04, 0.02, 0.95, 1), "%", 1) == "0.0 % (0.0 .. 0.0)"
