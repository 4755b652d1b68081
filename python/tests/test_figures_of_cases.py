"""Compares statistics of the cases of a sweep with figures that are computed by hand.

A sweep runs a scenario with several values of its axes and several seeds. A case is one of these
runs. A measure is a column of the table of cases.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from netspurt.analysis.cases import (
    LESS,
    MORE,
    compare,
    direction,
    figure,
    summarise,
)
from netspurt.analysis.grouping import groups, label_text, measures

Columns = dict[str, NDArray[Any]]

#: The 0.975 quantiles of Student's distribution by degrees of freedom, from a table.
T = {1: 12.7062, 2: 4.3027, 3: 3.1824, 4: 2.7764, 7: 2.3646, 9: 2.2622}


def cases(values: Mapping[str, Sequence[float]]) -> tuple[Columns, dict[str, list[str]]]:
    """Return the table of cases of a sweep over one axis, and the axis with its labels.

    For each label of the axis, `values` has one number for each run.
    """
    labels = [label for label, runs in values.items() for _ in runs]
    repeats = [n + 1 for runs in values.values() for n in range(len(runs))]
    columns = {
        "case": np.arange(len(labels)),
        "repeat": np.array(repeats),
        "algorithm": np.array(labels),
        "timeouts": np.array([v for runs in values.values() for v in runs], dtype=float),
    }
    return columns, {"algorithm": list(values)}


def difference(values: Mapping[str, Sequence[float]], *, paired: bool) -> tuple[float, float, str]:
    """Return the difference of two labels, half the width of its interval, and the verdict.

    The difference is the mean of the second label minus the mean of the first label.
    """
    columns, order = cases(values)
    (row,) = compare(columns, "timeouts", "algorithm", order, paired=paired)
    reach = row.difference.high - row.difference.value
    assert row.difference.value - row.difference.low == pytest.approx(reach)
    return row.difference.value, reach, row.verdict


#: The numbers of five runs.
FIVE = [3.0, 5.0, 4.0, 8.0, 5.0]


def test_students_distribution_gives_the_interval_of_a_mean_of_five_runs() -> None:
    columns, order = cases({"a": FIVE})
    (row,) = summarise(columns, "timeouts", ["algorithm"], order, (0, 50, 100))
    assert (row.labels, row.cases, row.without) == (("a",), 5, 0)
    assert (row.mean.value, row.median) == (5.0, 5.0)
    assert row.percentiles == {0: 3.0, 50: 5.0, 100: 8.0}
    # The standard deviation is √3.5.
    span = T[4] * math.sqrt(3.5 / 5)
    assert row.mean.high - row.mean.value == pytest.approx(span, rel=1e-4)


def test_the_interval_for_pairs_is_computed_from_their_differences() -> None:
    shifted = [value + shift for value, shift in zip(FIVE, (1.0, 1.2, 0.8, 1.1, 0.9), strict=True)]
    value, reach, verdict = difference({"old": FIVE, "new": shifted}, paired=True)
    assert value == pytest.approx(1.0)
    assert reach == pytest.approx(T[4] * math.sqrt(0.025 / 5), rel=1e-4)
    assert verdict == "worse"


def test_welchs_method_gives_the_interval_of_the_difference_of_two_groups() -> None:
    """With variances of 1 and 4 in 5 runs each, there are (1 + 4)² / 17 · 4 degrees of freedom.

    This is about 5.88.
    """
    one = [9.0, 9.0, 10.0, 11.0, 11.0]
    other = [8.0 + 2 * (value - 10) for value in one]
    value, reach, _ = difference({"old": one, "new": other}, paired=False)
    assert value == pytest.approx(-2.0)
    # The quantile for 5.88 degrees lies between 2.5706 (for 5) and 2.4469 (for 6).
    assert 2.4469 < reach / math.sqrt((1 + 4) / 5) < 2.5706


@pytest.mark.parametrize("shift", [0.0, 100.0, -7.0])
@pytest.mark.parametrize("paired", [True, False])
def test_adding_a_constant_to_both_groups_does_not_change_their_difference(
    shift: float, paired: bool
) -> None:
    other = [5.0, 4.0, 6.0, 8.0, 3.0]
    plain = difference({"old": FIVE, "new": other}, paired=paired)
    moved = difference(
        {"old": [v + shift for v in FIVE], "new": [v + shift for v in other]}, paired=paired
    )
    assert moved == pytest.approx(plain)


@pytest.mark.parametrize("paired", [True, False])
def test_a_verdict_depends_on_the_baseline_and_on_the_better_direction(paired: bool) -> None:
    columns, order = cases({"few": [1.0, 2.0, 1.0, 2.0], "many": [51.0, 52.0, 50.0, 52.0]})
    comparisons = {
        (baseline, better): compare(
            columns,
            "timeouts",
            "algorithm",
            order,
            paired=paired,
            baseline=baseline,
            better=better,
        )[0]
        for baseline in ("few", "many")
        for better in ("less", "more")
    }
    assert {key: row.verdict for key, row in comparisons.items()} == {
        ("few", "less"): "worse",
        ("few", "more"): "better",
        ("many", "less"): "better",
        ("many", "more"): "worse",
    }
    to_few, to_many = comparisons["few", "less"].difference, comparisons["many", "less"].difference
    assert (to_many.value, to_many.low, to_many.high) == pytest.approx(
        (-to_few.value, -to_few.high, -to_few.low)
    )


def test_a_ratio_is_the_ratio_of_sums_even_with_zero_divisors() -> None:
    columns = {
        "case": np.arange(4),
        "repeat": np.arange(4) + 1,
        "dropped": np.array([1, 0, 3, 0]),
        "sent": np.array([10, 20, 30, 0]),
    }
    (row,) = summarise(columns, "dropped / sent", [], {})
    assert row.mean.value == pytest.approx(4 / 60)
    assert (row.cases, row.undefined) == (4, 1)
    assert row.median == pytest.approx(0.1), (
        "the median must be that of 0.1, 0 and 0.1, because the last case sent nothing"
    )
    top, bottom = figure(columns, "dropped/sent")
    assert (top.tolist(), bottom.tolist()) == ([1, 0, 3, 0], [10, 20, 30, 0])
    assert figure(columns, "sent")[1].tolist() == [1.0] * 4


def test_only_the_interval_of_a_share_always_ends_at_1_or_below() -> None:
    columns, order = cases({"old": [4, 4, 3, 4], "new": [0, 4, 0, 0]})
    columns |= {"finished": columns["timeouts"], "flows": np.full(8, 4)}
    ends = {
        measure: [row.mean.high for row in summarise(columns, measure, ["algorithm"], order)]
        for measure in ("finished/flows", "timeouts/flows")
    }
    assert ends["finished/flows"] == [1.0, 1.0]
    assert min(ends["timeouts/flows"]) > 1.0
    (row,) = compare(columns, "finished/flows", "algorithm", order, paired=False)
    assert (row.difference.low, row.verdict) == (-1.0, "cannot tell")


def test_cases_without_the_measure_are_counted_and_left_out() -> None:
    columns, order = cases({"a": FIVE, "b": FIVE})
    gone = np.array([False, True, False, False, False] + [True] * 5)
    columns["timeouts"] = np.ma.masked_array(columns["timeouts"], mask=gone)
    a, b = summarise(columns, "timeouts", ["algorithm"], order)
    assert (a.cases, a.without, a.mean.value) == (4, 1, 5.0)
    assert (b.cases, b.without) == (0, 5)
    assert math.isnan(b.mean.value)
    assert math.isnan(b.median)
    (row,) = compare(columns, "timeouts", "algorithm", order, paired=True)
    assert (row.pairs, row.without, row.verdict) == (0, 10, "cannot tell")


def test_groups_are_the_existing_combinations_in_the_order_of_the_labels() -> None:
    order: dict[str, list[str | int]] = {
        "rate": ["1 Mbit/s", "10 Mbit/s", "2 Mbit/s"],
        "window": [4, 1],
    }
    pairs = list(itertools.product(order["rate"], order["window"]))
    columns = {
        "case": np.arange(12),
        "repeat": np.tile([1, 2], 6),
        "rate": np.array([rate for rate, _ in pairs for _ in range(2)]),
        "window": np.array([window for _, window in pairs for _ in range(2)]),
    }
    found = groups(columns, ["rate", "window"], order)
    assert [labels for labels, _ in found] == [(str(rate), str(w)) for rate, w in pairs]
    assert [rows.tolist() for _, rows in found] == [[n, n + 1] for n in range(0, 12, 2)]
    by_window = groups(columns, ["window"], order)
    assert [labels for labels, _ in by_window] == [("4",), ("1",)]
    assert sorted(np.concatenate([rows for _, rows in by_window])) == list(range(12))
    ((labels, rows),) = groups(columns, [], order)
    assert (labels, rows.tolist()) == ((), list(range(12)))
    columns["timeouts"] = np.ma.masked_equal(np.array([7, 0, 0, 2] * 3), 7)
    told = {labels: len(rows) for labels, rows in groups(columns, ["timeouts"], order)}
    assert told == {("-",): 3, ("0",): 6, ("2",): 3}


@pytest.mark.parametrize(
    ("label", "text"),
    [
        (1, "1"),
        (1.0, "1"),
        (0.5, "0.5"),
        (1e-9, "0.000000001"),
        (1e21, "1000000000000000000000"),
        (-2.5, "-2.5"),
        ("1 Mbit/s", "1 Mbit/s"),
        (float("inf"), "inf"),
    ],
)
def test_a_label_is_written_for_people_and_read_back_unchanged(label: object, text: str) -> None:
    assert label_text(label) == text
    if isinstance(label, float):
        assert float(text) == label


def test_a_baseline_may_be_given_in_any_spelling_of_its_number() -> None:
    columns, _ = cases({"0.5": FIVE, "2": FIVE})
    columns["algorithm"] = columns["algorithm"].astype(float)
    order = {"algorithm": [0.5, 2.0]}
    for written in ("2", "2.0", "2e0"):
        (row,) = compare(columns, "timeouts", "algorithm", order, paired=True, baseline=written)
        assert (row.label, row.baseline) == ("0.5", "2")
    with pytest.raises(ValueError, match=r"algorithm has no value '3'; the values are 0\.5, 2"):
        compare(columns, "timeouts", "algorithm", order, paired=True, baseline="3")


def test_if_a_measure_has_no_better_direction_the_caller_must_name_one() -> None:
    assert {direction(name, None) for name in LESS} == {-1}
    assert {direction(name, None) for name in MORE} == {1}
    assert not set(LESS) & set(MORE)
    assert direction("dropped/sent", None) == -1
    assert direction("timeouts", "more") == 1
    with pytest.raises(ValueError, match="it is not known which values of 'sent' are better"):
        direction("sent", None)


def test_measures_must_be_numbers_and_unknown_measures_and_axes_are_refused() -> None:
    columns, order = cases({"a": FIVE})
    assert measures(columns) == ["case", "repeat", "timeouts"]
    with pytest.raises(ValueError, match="no measure is called 'timeout': did you mean timeouts"):
        summarise(columns, "timeout", [], order)
    with pytest.raises(
        ValueError, match="no measure is called 'algorithm'; the measures are case, repeat"
    ):
        summarise(columns, "algorithm", [], order)
    with pytest.raises(ValueError, match="there is no axis 'rate': the axes are algorithm"):
        summarise(columns, "timeouts", ["rate"], order)
    with pytest.raises(ValueError, match="there is no axis 'rate': the sweep has no axes"):
        compare(columns, "timeouts", "rate", {}, paired=True)
    with pytest.raises(ValueError, match="algorithm is the compared axis"):
        compare(columns, "timeouts", "algorithm", order, paired=True, by=["algorithm"])
