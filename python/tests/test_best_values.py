"""Tests which value of a sweep's axis is called best.

A sweep runs a scenario with several values of each of its axes, for example with several timers and
several queues. A case is a run with one combination of values and one seed. Each test chooses the
figures of the cases, for example their completion times.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netspurt.pictures.measures import Shown
from netspurt.report.best import Best, ComparedAxis, best_of, chance, figure
from netspurt.wording import few

#: The compared figure is a completion time. It is shown in ms, and a lower value is better.
TIME, MS = "completion_ns_mean", Shown("completion time", "ms", 1e-6)


def swept(
    values: Mapping[tuple[str, str], Sequence[float]],
    *,
    measure: str = TIME,
    shown: Shown = MS,
    exact: bool = False,
) -> ComparedAxis:
    """Return the axis `timer` of a sweep over `timer` and `queue`, paired by seeds.

    Each key of `values` is a timer and a queue. Its value has a figure for each seed, in order. NaN
    is the figure of a case that was stopped before its end. If `exact` is true, nothing in the
    cases is random.
    """
    rows = [(*key, n, value) for key, runs in values.items() for n, value in enumerate(runs)]
    timers, queues, repeats, figures = (list(column) for column in zip(*rows, strict=True))
    numbers = np.array(figures, dtype=float)
    cases: dict[str, Any] = {
        "case": np.arange(len(rows)),
        "repeat": np.array(repeats),
        "timer": np.array(timers),
        "queue": np.array(queues),
        measure: np.ma.masked_invalid(numbers) if np.isnan(numbers).any() else numbers,
    }
    labels = {"timer": list(dict.fromkeys(timers)), "queue": list(dict.fromkeys(queues))}
    folder: Any = SimpleNamespace(names=list(labels), labels=labels, paired=True)
    return ComparedAxis(cases, folder, "timer", measure, shown, exact)


def of_one(values: Mapping[str, Sequence[float]], **how: Any) -> Best:
    """Return the best of these timers, swept over one queue. Times are in ms."""
    factor = 1e6 if how.get("measure", TIME) == TIME else 1
    scaled = {(timer, "9"): [factor * v for v in runs] for timer, runs in values.items()}
    found = best_of(swept(scaled, **how))
    assert found is not None
    return found


def test_the_best_value_is_named_with_its_mean_and_interval() -> None:
    found = of_one({"a": [30, 31, 29, 30], "b": [20, 21, 19, 20]}, exact=True)
    # The standard deviation of the four runs is 0.8165 ms. So Student's interval is
    # 20 +- 3.1824 * 0.8165 / 2.
    assert found.words == (
        "By completion time, timer = b is best: 20 ms (95 %: 18.7 .. 21.3). a is worse."
    )
    assert (found.decided, found.compared) == (True, 0)


def test_a_higher_rate_is_better() -> None:
    rate = Shown("goodput", "kbit/s", 1e-3)
    runs = {"a": [3e4] * 3, "b": [2e4] * 3}
    found = of_one(runs, measure="goodput_bps", shown=rate, exact=True)
    assert found.words == "By goodput, timer = a is best: 30 kbit/s. b is worse."


def test_equal_runs_of_a_random_scenario_show_no_best_value() -> None:
    runs = {"a": [5, 5, 5], "b": [7, 7, 7]}
    told = of_one(runs)
    assert not told.decided
    assert "no value of timer can be told apart from timer = a" in told.words
    certain = of_one(runs, exact=True)
    assert certain.words == "By completion time, timer = a is best: 5 ms. b is worse."


@pytest.mark.parametrize(
    ("values", "decided", "words"),
    [
        (
            {"a": [5, 6, 7], "b": [5, 6, 7]},
            False,
            "All values of timer are equal by completion time: 6 ms (95 %: 3.516 .. 8.484).",
        ),
        (
            {"a": [5, 5, 5], "b": [4, 6, 6]},
            False,
            "By completion time, no value of timer can be told apart from timer = a, which has the "
            "best mean: 5 ms (no interval: runs with different seeds are equal, so an event that "
            "is rare may be missing).",
        ),
        (
            {"a": [5, 6, 7], "b": [7, 8, 9], "c": [9, 10, 11]},
            True,
            "By completion time, timer = a is best: 6 ms (95 %: 3.516 .. 8.484). All other values "
            "are worse.",
        ),
        (
            {"a": [5, 6, 7], "b": [7, 8, 9], "c": [5, 6, 7], "d": [4, 6, 8]},
            True,
            "By completion time, timer = a is best: 6 ms (95 %: 3.516 .. 8.484). Equal to timer = "
            "a in every case: c. Cannot be told apart from timer = a: d. Worse: b.",
        ),
        (
            {"a": [5], "b": [7]},
            False,
            "By completion time, no value of timer can be told apart from timer = a, which has the "
            "best mean: 5 ms (too few runs for an interval).",
        ),
    ],
)
def test_values_other_than_the_best_are_worse_equal_or_undecided(
    values: dict[str, list[float]], decided: bool, words: str
) -> None:
    found = of_one(values)
    assert (found.words, found.decided) == (words, decided)


def test_an_axis_with_figures_for_only_one_value_has_no_best_value() -> None:
    nan = float("nan")
    assert best_of(swept({("a", "9"): [1, 2], ("b", "9"): [nan, nan]})) is None
    assert best_of(swept({("a", "9"): [1, 2]})) is None


def test_a_value_does_not_become_best_if_its_slow_cases_were_cut() -> None:
    """The timer `a` lacks two slow runs. In the three runs that both timers have, `b` is faster."""
    nan, ms = float("nan"), 1e6
    a, b = [11 * ms, 12 * ms, 13 * ms, nan, nan], [10 * ms, 11 * ms, 12 * ms, 60 * ms, 60 * ms]
    found = best_of(swept({("a", "9"): a, ("b", "9"): b}))
    assert found is not None
    assert found.words.startswith("By completion time, timer = b is best: 30.6 ms")
    assert found.words.endswith("a is worse.")


def test_values_that_beat_each_other_in_turn_have_no_best_value() -> None:
    """In the runs that two timers share, `a` beats `b`, `b` beats `c`, and `c` beats `a`."""
    none = [float("nan")] * 3
    a, b, c = [1, 2, 3, *none, 8, 9, 9], [2, 3, 4, 1, 2, 3, *none], [*none, 2, 3, 4, 7, 8, 8]
    assert best_of(swept({("a", "9"): a, ("b", "9"): b, ("c", "9"): c})) is None


# Other axes.


def over_queues(of_b: Mapping[str, float]) -> Best:
    """Return the better of the timers `a` and `b`.

    Over each queue, the timer `a` needs 10 ms, and the timer `b` needs the time in `of_b` [ms].
    Nothing in the cases is random.
    """
    values = {("a", queue): [10e6] * 3 for queue in of_b}
    values |= {("b", queue): [ms * 1e6] * 3 for queue, ms in of_b.items()}
    found = best_of(swept(values, exact=True))
    assert found is not None
    return found


def test_if_another_value_is_better_in_one_combination_this_combination_is_named() -> None:
    found = over_queues({"3": 30, "6": 9.5, "9": 40})
    assert found.words == (
        "By completion time, timer = a is best: 10 ms. b is worse. But with queue = 6, b is "
        "better: 9.5 ms against 10 ms."
    )
    assert (found.decided, found.compared) == (True, 3)


def test_if_several_combinations_have_a_better_value_the_first_is_the_example() -> None:
    found = over_queues({"3": 9, "6": 8, "9": 400, "12": 400})
    assert found.words.endswith(
        "But in 2 of 4 combinations another value is better. For example, with queue = 3, b is "
        "better: 9 ms against 10 ms."
    )


def test_a_queue_with_equal_times_is_not_named_as_an_exception() -> None:
    assert "But" not in over_queues({"3": 30, "6": 10, "9": 40}).words


@pytest.mark.parametrize(("better", "told"), [(1, False), (2, True)])
def test_combinations_that_chance_may_explain_are_not_named(better: int, told: bool) -> None:
    """By chance, one of 20 comparisons of random cases at 95 % is wrong on average."""
    values: dict[tuple[str, str], list[float]] = {}
    for n in range(20):
        values["a", str(n)] = [10e6, 11e6, 12e6]
        own = -1e6 if n < better else 9e6
        values["b", str(n)] = [10e6 + own, 11e6 + own, 12e6 + own]
    found = best_of(swept(values))
    assert found is not None
    assert found.decided
    assert found.compared == 20
    assert ("But in 2 of 20 combinations" in found.words) == told == ("But" in found.words)


@pytest.mark.parametrize(("queues", "compared"), [(300, 300), (301, 0)])
def test_more_than_300_combinations_are_not_compared_one_by_one(queues: int, compared: int) -> None:
    found = over_queues({str(n): 9 if n == 0 else 400 for n in range(queues)})
    assert found.compared == compared
    assert ("But with queue = 0" in found.words) == (compared > 0)


@settings(deadline=None, max_examples=25)
@given(
    st.dictionaries(
        st.sampled_from("abcdef"), st.lists(st.integers(1, 9), min_size=3, max_size=3), min_size=2
    )
)
def test_the_value_called_best_has_the_lowest_mean(
    values: dict[str, list[int]],
) -> None:
    words = of_one(values).words
    lowest = min(sum(runs) for runs in values.values())
    best = [timer for timer, runs in values.items() if sum(runs) == lowest]
    if words.startswith("All values"):
        assert len({tuple(runs) for runs in values.values()}) == 1
        return
    named = words.partition("timer = ")[2][0]
    assert named in best
    equal = [t for t, runs in values.items() if t != named and runs == values[named]]
    assert ("in every case" in words) <= bool(equal)
    lists = re.findall(r"(case|timer = [a-f]|Worse): ([a-f](?:, [a-f])*)\.", words)
    for kind, names in lists:
        assert (names.split(", ") == equal) == (kind == "case")
    listed = [name for _, names in lists for name in names.split(", ")]
    assert sorted(listed) == sorted(set(values) - {named}) or not lists


# Figures and lists.


@pytest.mark.parametrize(
    ("value", "text"),
    [(12345.6, "12,350"), (0.0012344, "0.001234"), (float("nan"), "-"), (float("inf"), "-")],
)
def test_a_figure_has_four_digits(value: float, text: str) -> None:
    assert figure(value) == text


@pytest.mark.parametrize(
    ("comparisons", "words"),
    [
        (9, ""),
        (10, "Of 10 comparisons at 95 %, chance alone would call about 0.5 better or worse."),
        (1200, "Of 1,200 comparisons at 95 %, chance alone would call about 60 better or worse."),
    ],
)
def test_many_comparisons_have_a_sentence_on_chance(comparisons: int, words: str) -> None:
    assert chance(comparisons) == words


def test_a_long_list_of_names_ends_with_the_number_of_omitted_names() -> None:
    names = [f"n{place}" for place in range(1, 2001)]
    assert few(names[:8]) == "n1, n2, n3, n4, n5, n6, n7, n8"
    assert few(names[:9]) == "n1, n2, n3, n4, n5, n6, n7, n8 and 1 more"
    assert few(names).endswith("n8 and 1,992 more")
