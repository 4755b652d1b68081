"""Tests the measures that are computed from printed accounts.

A measure computes the value that a claim of a paper is compared with. An account is a row of RFC
889's table of runs. It has the total time of the probes to a host, and the times of losses and of
spurious retransmissions. The accounts in these tests are made up, except the account of the host
FACC.
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from netspurt.papers.data import Paper, PaperError

from made_up_papers import host, measured, paper_with, run

#: RFC 889's row of the host FACC. The good time is the total time without the times of losses and
#: of spurious retransmissions: 368 - 222.1 - 9.2 = 136.7 s.
FACC = run(
    "FACC",
    total_s=368,
    lost=196,
    lost_s=222.1,
    spurious=6,
    spurious_s=9.2,
    mean_ms=267,
    cov=1.1,
    efficiency=0.37,
)


def accounts(folder: Path, *rows: dict[str, object]) -> Paper:
    """Return a paper with these accounts."""
    return paper_with(folder, accounts=rows)


def cut_off(value: float, unit: float) -> float:
    """Return the value without the digits below this unit, as the paper prints it."""
    return math.floor(value / unit + 1e-9) * unit


def true_rows(probes: int, count: int = 12) -> list[dict[str, object]]:
    """Return accounts of random true times. Each number is cut off as in the paper."""
    rows = []
    random = np.random.default_rng(889)
    for n in range(count):
        mean, lost, spurious = random.uniform(0.02, 2), int(random.integers(9)), n % 4
        good, lost_s, spurious_s = mean * probes, 2.1 * lost, 1.3 * spurious
        total = good + lost_s + spurious_s
        values = {
            "total_s": cut_off(total, 1),
            "lost": lost,
            "lost_s": round(cut_off(lost_s, 0.1), 1),
            "spurious": spurious,
            "spurious_s": round(cut_off(spurious_s, 0.1), 1),
            "mean_ms": cut_off(1000 * mean, 1),
            "efficiency": round(cut_off(good / total, 0.01), 2),
        }
        rows.append(run(f"RUN{n}", **values))
    return rows


# The equations of an account.


@pytest.mark.parametrize("probes", [300, 512, 900])
def test_the_number_of_probes_that_all_rows_agree_with_is_found(
    tmp_path: Path, probes: int
) -> None:
    paper = accounts(tmp_path, *true_rows(probes))
    found = measured(paper, "fitting_probes", table="accounts.csv")
    assert found.value == probes
    shown = dict(found.table[1:])
    assert shown[str(probes)] == "12"
    assert int(shown["1000"]) < 12


@pytest.mark.parametrize("rule", ["total", "mean", "efficiency"])
def test_accounts_of_true_times_satisfy_every_equation(tmp_path: Path, rule: str) -> None:
    paper = accounts(tmp_path, *true_rows(512))
    found = measured(paper, "agreeing_rows", table="accounts.csv", rule=rule, probes="512")
    assert (found.value, found.table) == (12, [])


@pytest.mark.parametrize(
    ("change", "broken"),
    [
        ({"efficiency": 0.38}, {"efficiency"}),
        ({"efficiency": 0.36}, {"efficiency"}),
        # A total below 369 s allows a good time up to 369 - 222.1 - 9.2 = 137.7 s. This is the
        # time of 512 probes of almost 269 ms.
        ({"mean_ms": 268}, set()),
        ({"mean_ms": 270}, {"total", "mean"}),
        ({"lost_s": 232.1}, {"total", "mean", "efficiency"}),
    ],
)
def test_a_row_with_a_wrong_number_breaks_the_equations_with_that_number(
    tmp_path: Path, change: dict[str, float], broken: set[str]
) -> None:
    paper = accounts(tmp_path, FACC | change, run())
    failed = set()
    for rule in ("total", "mean", "efficiency"):
        found = measured(paper, "agreeing_rows", table="accounts.csv", rule=rule, probes="512")
        assert found.value in (1, 2)
        if found.value == 1:
            assert str(found.table[1][0]).startswith("FACC: ")
            failed.add(rule)
    assert failed == broken


def test_a_misspelt_rule_is_refused(tmp_path: Path) -> None:
    paper = accounts(tmp_path, run())
    with pytest.raises(PaperError, match="no rule is called 'totals'; the rules are total, mean"):
        measured(paper, "agreeing_rows", table="accounts.csv", rule="totals", probes="512")


def test_the_mean_and_the_efficiency_follow_from_the_times_of_a_row(tmp_path: Path) -> None:
    paper = accounts(tmp_path, run(), FACC)
    found = measured(paper, "account", table="accounts.csv", row="FACC", probes="512")
    assert found.value == [267.0, 0.3715]
    # The paper cuts off digits: each part may be up to 0.1 s longer, and the total up to 1 s.
    assert found.bands == [
        (math.floor(1000 * 136.5 / 512), pytest.approx(1000 * 137.7 / 512)),
        (0.37, 0.37),
    ]
    assert ("good", "136.7 s") in found.table


def test_the_times_of_losses_and_of_spurious_retransmissions_are_zero_if_there_are_none(
    tmp_path: Path,
) -> None:
    paper = accounts(tmp_path, run(total_s=102), run("BUSY *", total_s=204, efficiency=1))
    found = measured(paper, "account", table="accounts.csv", row="BUSY_*", probes="512")
    assert found.bands is not None
    assert found.bands[0] == (math.floor(1000 * 204 / 512), 1000 * 205 / 512)
    assert ("mean", "398.4 ms, from 398.4 to 400.4; 200 is printed") in found.table
    assert [row[0] for row in found.table[6:]] == ["total", "mean"]


@pytest.mark.parametrize(("lost_s", "efficiency"), [(0.4, 0.99), (71.0, 0.29), (0.0, 1.0)])
def test_the_efficiency_of_a_row_is_cut_off_and_not_rounded(
    tmp_path: Path, lost_s: float, efficiency: float
) -> None:
    paper = accounts(tmp_path, run("A", total_s=100, lost=1, lost_s=lost_s))
    found = measured(paper, "account", table="accounts.csv", row="A", probes="512")
    assert found.bands is not None
    assert found.bands[1] == (efficiency, efficiency)


@pytest.mark.parametrize(
    # A printed total of 10 s may be any time from 10 s to just below 11 s. Without the 0.5 s of the
    # lost probe, 10.5 s of 11 s are good: a share of 0.9545.
    ("efficiency", "agrees"),
    [(0.93, 0), (0.94, 1), (0.95, 1), (0.96, 0)],
)
def test_the_efficiency_may_follow_from_any_total_that_is_cut_off_to_the_printed_total(
    tmp_path: Path, efficiency: float, agrees: int
) -> None:
    row = run("A", total_s=10, lost=1, lost_s=0.5, mean_ms=19, efficiency=efficiency)
    found = measured(
        accounts(tmp_path, row),
        "agreeing_rows",
        table="accounts.csv",
        rule="efficiency",
        probes="512",
    )
    assert found.value == agrees


# Columns.


def test_extremes_and_ranks_and_values_below_a_bound_are_found_in_a_column(tmp_path: Path) -> None:
    means = {"A": 30, "B": 10, "C": 20, "D": 10, "E": 40}
    paper = accounts(tmp_path, *(run(name, mean_ms=mean) for name, mean in means.items()))
    of = {"table": "accounts.csv", "column": "mean_ms"}
    ends = measured(paper, "extremes", **of)
    assert (ends.value, [row[0] for row in ends.table[1:]]) == ([10, 40], ["B", "E"])
    # Two of five rows are below 20, and none is below 10.
    assert measured(paper, "rank", row="C", **of).value == pytest.approx(2 / 5)
    assert measured(paper, "rank", row="B", **of).value == 0
    assert measured(paper, "rank", row="E", **of).value == pytest.approx(4 / 5)
    assert measured(paper, "rows_below", bound="30", **of).value == "B, D, C"
    assert measured(paper, "rows_below", bound="10", **of).value == ""
    assert measured(paper, "cells", rows="E,A", **of).value == [40, 30]


def test_rows_with_events_and_rows_without_events_are_counted(tmp_path: Path) -> None:
    paper = accounts(tmp_path, *(run(f"R{n}", spurious=n % 3) for n in range(5)))
    found = measured(paper, "with_and_without", table="accounts.csv", column="spurious")
    assert found.value == [3, 2]


def test_the_losses_of_a_run_are_shown_with_those_of_all_runs_of_its_host(tmp_path: Path) -> None:
    paper = accounts(tmp_path, run("A", lost=4), run("A-1", lost=2), run("B", lost=9))
    found = measured(paper, "losses_of", table="accounts.csv", row="A", probes="512")
    assert found.value == [4, 512]
    assert list(found.table[1:]) == [("A", "4"), ("A-1", "2")]


def test_the_highest_loss_rates_are_in_percent_of_the_probes(tmp_path: Path) -> None:
    rows = [run("A", lost=5), run("B", "NTA", lost=50), run("C", lost=1)]
    found = measured(
        accounts(tmp_path, *rows), "loss_rates", table="accounts.csv", probes="500", most="2"
    )
    assert found.value == [10, 1]
    assert list(found.table[1:]) == [("NTA:B", "10.00 %"), ("A", "1.00 %")]


def test_a_correlation_of_pearson_is_shown_with_and_without_its_extreme_row(tmp_path: Path) -> None:
    lost, efficiency = [1, 2, 3, 4, 90], [0.9, 0.8, 0.95, 0.7, 0.2]
    rows = [
        run(f"R{n}", lost=a, efficiency=b)
        for n, (a, b) in enumerate(zip(lost, efficiency, strict=True))
    ]
    paper = accounts(tmp_path, *rows)
    found = measured(paper, "correlation", table="accounts.csv", columns="lost,efficiency")
    assert found.value == pytest.approx(np.corrcoef(lost, efficiency)[0, 1])
    without = np.corrcoef(lost[:-1], efficiency[:-1])[0, 1]
    assert found.table[1] == ("without R4", f"{without:.3f}")


# Waits.


def test_waits_for_losses_are_relative_to_the_mean_answered_delay(tmp_path: Path) -> None:
    """The printed mean is the sum of the delays divided by the number of all 512 probes.

    If 100 of them are lost, the mean delay of the other 412 is 512/412 of the printed mean.
    """
    times = {"A": (100, 150.0), "B": (1, 4.0), "C": (2, 2.0), "D": (4, 3.2), "NONE": (0, 0.0)}
    rows = [run(name, lost=n, lost_s=s, mean_ms=500) for name, (n, s) in times.items()]
    found = measured(
        accounts(tmp_path, *rows), "wait_ratios", table="accounts.csv", probes="512", aside="B"
    )
    a, c, d = (s / n / (0.5 * 512 / (512 - n)) for n, s in (times[x] for x in "ACD"))
    assert found.value == [pytest.approx(value) for value in sorted((a, c, d))]
    assert [row[0] for row in found.table[1:]] == ["D", "C", "A", "B"]


def test_the_longest_waits_are_means_over_the_events_of_a_run(tmp_path: Path) -> None:
    rows = [
        run("A", lost=2, lost_s=9, spurious=10, spurious_s=5),
        run("B", lost=9, lost_s=10, spurious=2, spurious_s=3),
        run("C"),
    ]
    found = measured(accounts(tmp_path, *rows), "longest_waits", table="accounts.csv")
    assert found.value == [4.5, 1.5]
    assert list(found.table[1:]) == [("A", "4.50"), ("B", "1.50")]


@pytest.mark.parametrize(
    # 512 delays have a mean of 1 s. Their printed deviation of 0.5 s is cut off: it may be almost
    # 0.51 s. Then the squared deviations sum to 512 * 0.51^2 = 133.17. Eight delays that exceed the
    # mean by 4.08 s make up this whole sum.
    ("each_s", "possible"),
    [(5.07, 1), (5.09, 0), (0.3, 1)],
)
def test_the_deviation_of_delays_limits_the_possible_spurious_time(
    tmp_path: Path, each_s: float, possible: int
) -> None:
    row = run("A", mean_ms=1000, cov=0.5, spurious=8, spurious_s=8 * each_s)
    found = measured(
        accounts(tmp_path, row, run("B")), "charged_delays", table="accounts.csv", probes="512"
    )
    assert found.value == possible
    share = 8 * (each_s - 1) ** 2 / (512 * 0.51**2)
    assert list(found.table[1:]) == ([("A", f"{share:.2f}")] if each_s > 1 else [])


def test_a_spurious_time_of_delays_below_the_mean_is_always_possible(tmp_path: Path) -> None:
    row = run("A", mean_ms=1000, cov=0.5, spurious=500, spurious_s=10)
    paper = accounts(tmp_path, row)
    assert measured(paper, "charged_delays", table="accounts.csv", probes="512").value == 1


def test_lost_probes_do_not_count_in_the_deviation_of_the_delays(tmp_path: Path) -> None:
    """If half of the 512 probes are lost, the 256 answered probes have twice the printed mean."""
    values = {"lost": 256, "mean_ms": 500, "cov": 0.5, "spurious": 8}
    for each_s, possible in ((1 + 0.51 * 32**0.5 - 0.01, 1), (1 + 0.51 * 32**0.5 + 0.01, 0)):
        row = run("A", **values, spurious_s=8 * each_s)
        paper = accounts(tmp_path, row)
        found = measured(paper, "charged_delays", table="accounts.csv", probes="512")
        assert found.value == possible


# Names of runs.

#: Runs to the host A. A suffix says how they differ: -1 has probes of 40 octets, -2 has probes of
#: 256 octets, and * was in a busy period.
NAMED = [
    run("A", mean_ms=20),
    run("A-1", mean_ms=10),
    run("A-2", mean_ms=30),
    run("A *", mean_ms=21, efficiency=0.9),
]


@pytest.mark.parametrize(
    ("changes", "value"),
    [
        ({}, "*, -1, -2, none"),
        ({"A-1": {"mean_ms": 20}}, None),
        ({"A-2": {"mean_ms": 20}}, None),
        ({"A *": {"mean_ms": 20}}, None),
    ],
)
def test_the_kinds_of_runs_are_found_if_delays_rise_with_length_and_load(
    tmp_path: Path, changes: dict[str, dict[str, float]], value: str | None
) -> None:
    rows = [row | changes.get(str(row["name"]), {}) for row in NAMED]
    paper = paper_with(tmp_path, accounts=rows, hosts=[host("A")])
    found = measured(paper, "suffixes", table="accounts.csv", hosts="hosts.csv")
    assert found.value == value
    (means,) = found.table[1:]
    assert means[0] == "A"


def test_the_unknown_host_of_a_run_is_named(tmp_path: Path) -> None:
    paper = paper_with(tmp_path, accounts=[*NAMED, run("X-1")], hosts=[host("A")])
    found = measured(paper, "suffixes", table="accounts.csv", hosts="hosts.csv")
    assert (found.value, found.table) == (None, [("not catalogued", "X")])


def test_runs_from_another_host_are_not_compared_with_those_from_the_usual_host(
    tmp_path: Path,
) -> None:
    rows = [*NAMED[:2], NAMED[2] | {"from": "NTA", "mean_ms": 1}, NAMED[3]]
    paper = paper_with(tmp_path, accounts=rows, hosts=[host("A")])
    found = measured(paper, "suffixes", table="accounts.csv", hosts="hosts.csv")
    assert found.value == "*, -1, -2, none"
    assert len(found.table) == 1, "a host without three lengths must not be in the table"


@pytest.mark.parametrize(("efficiency", "value"), [(0.9, [21, 20]), (1, None)])
def test_mean_delays_of_busy_and_quiet_runs_are_given_only_if_busy_runs_are_less_efficient(
    tmp_path: Path, efficiency: float, value: list[float] | None
) -> None:
    rows = [*NAMED[:3], NAMED[3] | {"efficiency": efficiency}]
    found = measured(accounts(tmp_path, *rows), "busy_and_quiet", table="accounts.csv")
    assert found.value == value
    assert found.table[1][:3] == ("A *", "A", "21 and 20 ms")
