"""Tests what `netspurt sweep show` and `sweep compare` say about seeds, axes and measures."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import netspurt as ns
from netspurt.analysis.bootstrap import Interval
from netspurt.analysis.grouping import seeds_change_nothing
from netspurt.analysis.seeds import needed
from netspurt.cli.sweep_words import of_few_runs, why_unknown
from netspurt.pictures.cases import of_cases
from netspurt.pictures.marks import Bars
from netspurt.sweep import Sweep, run_sweep

from conftest import Command
from test_sweep import LOSSY

#: A sweep without random losses.
CERTAIN = LOSSY.replace("probability = 0.02", "probability = 0.0")


def swept(folder: Path, text: str, seeds: int = 4) -> Path:
    """Run the sweep of a text with this number of seeds; return its folder."""
    text = text.replace("seeds = 20", f"seeds = {seeds}")
    run_sweep(Sweep.of(ns.Scenario.parse(text, "x.toml")), folder)
    return folder


def test_runs_are_called_equal_only_if_all_seeds_agree(netspurt: Command, tmp_path: Path) -> None:
    certain = swept(tmp_path / "certain", CERTAIN)
    assert seeds_change_nothing(ns.open_sweep(certain).read(), ns.open_sweep(certain).labels)
    words = ("compare", certain, "--axis", "window", "-m", "goodput_bps")
    for command in (words, ("show", certain, "-m", "goodput_bps")):
        output = netspurt("sweep", *command).stdout
        assert "The 4 runs of each combination are equal" in output.replace("\n", " ")
        assert "all equal" in output
    lossy = swept(tmp_path / "lossy", LOSSY)
    assert not seeds_change_nothing(ns.open_sweep(lossy).read(), ns.open_sweep(lossy).labels)
    assert "are equal" not in netspurt("sweep", "show", lossy, "-m", "goodput_bps").stdout


def test_one_run_of_each_label_does_not_show_that_seeds_change_nothing(tmp_path: Path) -> None:
    folder = ns.open_sweep(swept(tmp_path / "s", CERTAIN, seeds=1))
    assert not seeds_change_nothing(folder.read(), folder.labels)


def test_the_output_without_an_interval_says_how_many_runs_an_interval_needs(
    netspurt: Command, tmp_path: Path
) -> None:
    folder = swept(tmp_path / "s", LOSSY, seeds=1)
    output = netspurt("sweep", "show", folder, "-m", "goodput_bps").stdout.replace("\n", " ")
    assert "An interval needs 2 runs of each combination, and there is only 1 run." in output


def flat(text: str) -> str:
    """Return a text in one line."""
    return " ".join(text.split())


def test_more_seeds_are_not_recommended_if_nothing_in_the_scenario_is_random(
    netspurt: Command, tmp_path: Path
) -> None:
    folder = swept(tmp_path / "s", CERTAIN, seeds=1)
    output = flat(netspurt("sweep", "show", folder, "-m", "goodput_bps").stdout)
    assert "Nothing in this scenario is random, so more seeds add no evidence." in output
    assert "sweep.seeds=20" not in output


def test_groups_of_one_run_get_no_verdict_and_no_advice(netspurt: Command, tmp_path: Path) -> None:
    folder = swept(tmp_path / "s", LOSSY, seeds=12)
    words = ("--axis", "window", "--by", "repeat", "-m", "goodput_bps")
    output = flat(netspurt("sweep", "compare", folder, *words, "--by", "rate").stdout)
    assert "A group with one run has no interval. Larger groups have one: see --by." in output
    assert "verdicts at 95 %" not in output
    assert "sweep.seeds=20" not in output


def test_the_output_says_how_many_cases_have_no_ratio_of_their_own(
    netspurt: Command, tmp_path: Path
) -> None:
    folder = swept(tmp_path / "s", CERTAIN, seeds=2)
    output = flat(netspurt("sweep", "show", folder, "-m", "dropped/lost").stdout)
    assert "`lost` is 0 in 12 cases: the median and the percentiles leave them out" in output
    assert "leave them out" not in netspurt("sweep", "show", folder, "-m", "dropped/sent").stdout


def test_runs_that_were_all_cut_are_not_called_equal(netspurt: Command, tmp_path: Path) -> None:
    folder = swept(tmp_path / "s", LOSSY.replace("seeds = 20", "seeds = 20\nevents = 5"))
    assert not seeds_change_nothing(ns.open_sweep(folder).read(), ns.open_sweep(folder).labels)
    output = netspurt("sweep", "show", folder, "-m", "goodput_bps").stdout
    assert "are equal" not in output


def test_equal_runs_of_a_random_scenario_have_no_interval_and_no_verdict(
    netspurt: Command, tmp_path: Path
) -> None:
    rare = swept(tmp_path / "s", LOSSY.replace("probability = 0.02", "probability = 1e-9"))
    shown = netspurt("sweep", "show", rare, "-m", "completion_ns_mean").stdout
    compared = netspurt("sweep", "compare", rare, "--axis", "window", "-m", "goodput_bps").stdout
    for output in (shown, compared):
        assert "no interval" in output
        assert "a rare event may be missing" in flat(output)
    assert "cannot tell" in compared
    assert "same" not in compared.replace("the same", "")


@pytest.mark.parametrize(
    ("difference", "seeds"),
    [
        (Interval(1.0, -1.0, 3.0, 0.95, 1), 40),
        (Interval(0.0, -1.0, 1.0, 0.95, 1), None),
        (Interval(1.0, 0.5, 1.5, 0.95, 1), None),
        (Interval(1e-9, -1.0, 1.0, 0.95, 1), None),
        (Interval(1.0, np.nan, np.nan, 0.95, 1), None),
    ],
)
def test_the_number_of_seeds_needed_follows_from_the_interval(
    difference: Interval, seeds: int | None
) -> None:
    assert needed(difference, 10) == seeds


def test_the_axis_must_be_named_only_if_there_are_several_axes(
    netspurt: Command, tmp_path: Path
) -> None:
    base = ns.new_scenario().replace({"stop": "5 s"})
    start = {"path": "flows.transfer.tcp.initial_window", "values": ["1 segment", "4 segments"]}
    one = Sweep.of(base.replace({"sweep": {"seeds": 2, "over": {"start": start}}}))
    run_sweep(one, tmp_path / "one")
    result = netspurt("sweep", "compare", tmp_path / "one", "-m", "sent", "--better", "less")
    assert "difference from start = 1 segment" in result.stdout
    several = swept(tmp_path / "several", LOSSY)
    refused = netspurt("sweep", "compare", several, "-m", "goodput_bps")
    assert refused.returncode == 2
    assert "error: --axis is missing: name one of window, rate" in refused.stderr
    refused = netspurt("sweep", "compare", several, "--axis", "rate")
    assert "error: --measure is missing: take one, such as -m completion_ns_mean" in refused.stderr


def test_a_bar_without_an_interval_has_no_caps() -> None:
    alone, known = Interval(2.0, 2.0, 2.0, 0.95, 1), Interval(2.0, 1.0, 3.0, 0.95, 1)
    none = Interval(2.0, np.nan, np.nan, 0.95, 1)
    figures: dict[tuple[str, ...], Interval] = {("a",): alone, ("b",): known, ("c",): none}
    (mark,) = (m for m in of_cases("bar", figures, ["x"], "sent").marks if isinstance(m, Bars))
    assert np.isnan(mark.low).tolist() == [True, False, True]
    assert (mark.low[1], mark.high[1]) == (1.0, 3.0)


def test_the_output_of_a_mean_time_says_how_many_requests_had_not_ended(
    netspurt: Command, tmp_path: Path
) -> None:
    """`netspurt sweep` and the page of `netspurt report` both have this number."""
    axis = {"path": "links.wire.delay", "values": ["20 ms", "40 ms"]}
    swept_over = {"sweep.seeds": 1, "sweep.over": {"delay": axis}}
    folder = tmp_path / "s"
    run_sweep(Sweep.of(ns.load("requests").replace({"stop": "1 s", **swept_over})), folder)
    cases = ns.open_sweep(folder).read()
    missing = int((cases["requests"] - cases["requests_complete"]).sum())
    assert missing > 0
    told = f"request_ns_mean leaves out {missing} of {int(cases['requests'].sum())} requests"
    for command in ("show", "compare"):
        words = ("sweep", command, folder, "-m", "request_ns_mean")
        assert told in netspurt(*words).stdout.replace("\n", " ")
        words = ("sweep", command, folder, "-m", "requests_complete")
        assert "leaves out" not in netspurt(*words).stdout
    page = netspurt("report", folder, "--out", "page.html")
    assert page.returncode == 0
    assert f"leaves out {missing} of" in (tmp_path / "page.html").read_text()


#: The connection is given up during the outage if a segment is retransmitted twice at most.
GIVEN_UP = """
stop = "60 s"
[record]
tables = []
[links.path]
between = ["a", "b"]
rate = "1 Mbit/s"
delay = "5 ms"
handovers = [{ at = "1 s", dead = "20 s" }]
[flows.x]
from = "a"
to = "b"
profile = "linux-6"
send = "300 segments"
[sweep]
seeds = 3
[sweep.over.retries]
path = "flows.x.tcp.retries"
values = [15, 2]
"""


def test_cases_with_a_failed_connection_are_counted(netspurt: Command, tmp_path: Path) -> None:
    folder = tmp_path / "s"
    run_sweep(Sweep.of(ns.Scenario.parse(GIVEN_UP, "given-up.toml")), folder)
    told = "In 3 of 6 cases a flow did not finish: its connection failed"
    for words in ((), ("-m", "timeouts"), ("-m", "timeouts", "--by", "retries")):
        shown = " ".join(netspurt("sweep", "show", folder, *words).stdout.split())
        assert told in shown
        assert "`netspurt run FILE --case 3`" in shown
    compared = netspurt("sweep", "compare", folder, "-m", "timeouts").stdout
    assert told in " ".join(compared.split())
    assert netspurt("report", folder, "--out", "page.html").returncode == 0
    assert told in (tmp_path / "page.html").read_text()


def test_a_case_that_is_left_out_of_two_comparisons_counts_once(
    netspurt: Command, tmp_path: Path
) -> None:
    folder = tmp_path / "s"
    text = GIVEN_UP.replace("values = [15, 2]", "values = [2, 15, 14]")
    run_sweep(Sweep.of(ns.Scenario.parse(text, "given-up.toml")), folder)
    result = netspurt("sweep", "compare", folder, "-m", "completion_ns_mean")
    assert "counterparts do not have the measure: 9\n" in result.stdout


@pytest.mark.parametrize(
    ("requests", "complete", "told"),
    [
        ([9, 9], [9, 0], ["the quantile is unknown in 2 cases with fewer than 10 requests"]),
        (
            [5, 70],
            [5, 62],
            [
                "the quantile is unknown in 1 case with fewer than 10 requests and in 1 case in "
                "which the request at the quantile's place had not ended"
            ],
        ),
        # The requests of all populations are counted, but the quantile is of the first population.
        ([70, 70], [63, 70], []),
    ],
)
def test_a_quantile_needs_enough_times_of_requests_that_have_ended(
    requests: list[int], complete: list[int], told: list[str]
) -> None:
    cases = {
        "status": np.array(["done", "done", "cut"]),
        "requests": np.ma.masked_less([*requests, -1], 0),
        "requests_complete": np.ma.masked_less([*complete, -1], 0),
        "request_ns_p90": np.ma.masked_less([-1, -1, -1], 0),
        "request_ns_mean": np.ma.masked_less([-1, -1, -1], 0),
    }
    assert list(why_unknown(cases, "request_ns_p90")) == told
    assert list(why_unknown(cases, "request_ns_mean")) == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("values = [15, 2]", "values = [15, 14]"),
        # The runs stop before all requests are sent.
        ('send = "300 segments"', 'send = "9 B"\napp = { reply = "20 kB", requests = 9999 }'),
        # A flow without end never finishes, so an unfinished flow shows no failure.
        ('send = "300 segments"', 'send = "unlimited"'),
        (
            'path = "flows.x.tcp.retries"\nvalues = [15, 2]',
            'path = "flows.x.send"\nvalues = ["unlimited", "9 segments"]',
        ),
    ],
)
def test_unfinished_flows_are_not_reported_if_the_scenario_may_be_the_reason(
    netspurt: Command, tmp_path: Path, old: str, new: str
) -> None:
    assert old in GIVEN_UP
    folder = tmp_path / "s"
    run_sweep(Sweep.of(ns.Scenario.parse(GIVEN_UP.replace(old, new), "ends.toml")), folder)
    assert "did not finish" not in netspurt("sweep", "show", folder, "-m", "timeouts").stdout


def test_only_intervals_of_skewed_values_are_called_too_narrow() -> None:
    told = Interval(2.0, 1.0, 3.0, 0.95, 1)
    (line,) = of_few_runs(["request_ns_mean"], [(told, 30), (told, 5)])
    assert line.startswith("With fewer than 20 runs in a group, intervals are too narrow if")
    assert not [*of_few_runs(["request_ns_mean"], [(told, 20)])]
    assert not [*of_few_runs(["timeouts"], [(told, 5)])]
    assert not [*of_few_runs(["request_ns_mean"], [(Interval.without(2.0), 1)])]
