"""Tests sweeps: interrupts, equal results on one thread and on two, summaries, comparisons.

A sweep runs many variants of a scenario, its cases. A chunk is a number of successive cases whose
results are in one file.
"""

from __future__ import annotations

import itertools
import json
import random
import re
import signal
import subprocess
import time
import uuid
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import netspurt as ns
from netspurt import _core
from netspurt.analysis.cases import compare, summarise
from netspurt.plots.cases import draw_cases
from netspurt.quantities import positions
from netspurt.sweep import (
    Cases,
    Sweep,
    SweepError,
    SweepFailedError,
    Threads,
    open_sweep,
    run_sweep,
)
from netspurt.sweep.driver import guess_chunk, seconds_per_case
from netspurt.sweep.folder import held
from netspurt.sweep.store import Folder, open_store

from conftest import NETSPURT, ROOT, Command, refused, rewrite_sweep

#: A sweep of 120 cases: two initial windows, three rates, 20 runs of each.
LOSSY = """
title = "Lossy"
stop = "20 s"
[links.path]
between = ["a", "b"]
rate = "1 Mbit/s"
delay = "20 ms"
queue = "10 packets"
loss = { probability = 0.02 }
[flows.x]
from = "a"
to = "b"
send = "100 segments"
tcp = { recovery = "sack" }
[sweep]
seeds = 20
[sweep.over]
window = { path = "flows.x.tcp.initial_window", values = ["1 segment", "4 segments"] }
rate = { path = "links.path.rate", from = "1 Mbit/s", to = "4 Mbit/s", count = 3 }
"""


def lossy(extra: str = "") -> Sweep:
    """Return the sweep `LOSSY`, with further keys of `[sweep]`."""
    return Sweep.of(
        ns.Scenario.parse(LOSSY.replace("seeds = 20", f"seeds = 20\n{extra}"), "x.toml")
    )


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Cases:
    """Return the cases of the finished sweep `LOSSY`."""
    folder, _ = run_sweep(lossy(), tmp_path_factory.mktemp("whole") / "s")
    return folder.read()


def test_one_thread_and_two_threads_make_the_same_files(tmp_path: Path) -> None:
    contents = []
    for threads in (1, 2):
        run_sweep(
            lossy(), tmp_path / str(threads), chunk=7, engine=partial(Threads, threads=threads)
        )
        files = sorted((tmp_path / str(threads)).glob("cases/*"))
        contents.append([(file.name, file.read_bytes()) for file in files])
    assert len(contents[0]) == 18
    assert contents[0] == contents[1]


def test_the_size_of_chunks_does_not_change_the_cases(tmp_path: Path, whole: Cases) -> None:
    folder, _ = run_sweep(lossy(), tmp_path / "s", chunk=11)
    assert folder.read().digest() == whole.digest()


def test_a_case_has_the_results_of_a_run_of_its_scenario(whole: Cases) -> None:
    sweep = lossy()
    for case in (0, 63, 119):
        run = sweep.scenario(case).run()
        for column in ("sent", "retransmissions", "timeouts", "acked_bytes"):
            assert int(whole[column][case]) == int(run.flows[column].sum())
        assert int(whole["dropped"][case]) == int(run.links["dropped"].sum())
        assert int(whole["seed"][case]) == run.seed


def test_an_unfinished_sweep_is_continued_and_a_finished_sweep_is_left_alone(
    tmp_path: Path, whole: Cases
) -> None:
    folder, _ = run_sweep(lossy(), tmp_path / "s", chunk=10)
    files = sorted((tmp_path / "s" / "cases").iterdir())
    for file in files[3:7]:
        file.unlink()
    before = {file: file.stat().st_mtime_ns for file in files[:3]}
    _, tally = run_sweep(lossy(), tmp_path / "s")
    assert tally.cases == 40
    assert {file: file.stat().st_mtime_ns for file in files[:3]} == before
    assert folder.read().digest() == whole.digest()
    assert run_sweep(lossy(), tmp_path / "s")[1].cases == 0


def test_a_scenario_given_in_place_of_a_sweep_is_refused_and_no_folder_is_made(
    tmp_path: Path,
) -> None:
    scenario: Any = ns.load("sites")
    with pytest.raises(TypeError, match=r"use `Sweep.of\(scenario\)`"):
        run_sweep(scenario, tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_the_folder_of_another_sweep_is_refused(tmp_path: Path) -> None:
    run_sweep(lossy(), tmp_path / "s")
    for changed in (lossy("paired = false"), lossy("events = 5")):
        with pytest.raises(SweepError, match="has another sweep"):
            run_sweep(changed, tmp_path / "s")
    (tmp_path / "t").mkdir()
    (tmp_path / "t" / "mine.txt").write_text("dear")
    with pytest.raises(SweepError, match="is not empty and has no sweep"):
        run_sweep(lossy(), tmp_path / "t")
    with pytest.raises(SweepError, match="has no sweep"):
        open_sweep(tmp_path / "nothing")


def test_a_sweep_begun_by_another_version_is_not_continued(tmp_path: Path) -> None:
    run_sweep(lossy(), tmp_path / "s")
    rewrite_sweep(tmp_path / "s", netspurt="0.0.1")
    with pytest.raises(SweepError, match=r"started by netspurt 0\.0\.1"):
        run_sweep(lossy(), tmp_path / "s")


def test_cases_may_be_made_by_python_code(tmp_path: Path) -> None:
    base = ns.Scenario.parse(LOSSY.partition("[sweep]")[0], "x.toml")
    cases = (
        ({"rate": rate, "window": window}, base.replace(values))
        for rate in (1, 2)
        for window in (1, 4)
        if (rate, window) != (2, 1)
        for values in [
            {
                "links.path.rate": f"{rate} Mbit/s",
                "flows.x.tcp.initial_window": f"{window} segments",
            }
        ]
    )
    folder, tally = run_sweep(Sweep.listed(cases, seeds=4), tmp_path / "s")
    assert (tally.done, folder.names) == (12, ["rate", "window"])
    rows = summarise(folder.read(), "sent", ["rate", "window"], folder.labels)
    assert [row.labels for row in rows] == [("1", "1"), ("1", "4"), ("2", "4")]


def test_listed_cases_must_have_the_same_names() -> None:
    base = ns.Scenario.parse(LOSSY.partition("[sweep]")[0], "x.toml")
    with pytest.raises(ValueError, match="one case has"):
        Sweep.listed([({"a": 1}, base), ({"b": 1}, base)])
    with pytest.raises(ValueError, match="every sweep has a column 'sent'"):
        Sweep.listed([({"sent": 1}, base)])
    with pytest.raises(ValueError, match="tables of results may have a column 'label'"):
        Sweep.listed([({"label": 1}, base)])
    with pytest.raises(ValueError, match="no cases"):
        Sweep.listed([])


def test_the_list_of_columns_of_all_sweeps_is_complete(whole: Cases) -> None:
    assert set(whole) - set(whole.about.names) == set(_core.SWEEP_COLUMNS)


def test_the_error_for_a_scenario_without_a_sweep_says_how_to_add_one() -> None:
    with pytest.raises(ValueError, match=r"has no \[sweep\]: add"):
        Sweep.of(ns.new_scenario())


#: A sweep in which half of the cases fail: their queue has no room for a packet.
FAILING = LOSSY.replace(
    "rate = {", 'queue = { path = "links.path.queue", values = ["500 B", "10 packets"] }\nrate = {'
)


def test_a_failed_case_is_recorded_unless_the_sweep_is_strict(tmp_path: Path) -> None:
    sweep = Sweep.of(ns.Scenario.parse(FAILING, "x.toml"))
    folder, tally = run_sweep(sweep, tmp_path / "s")
    assert (tally.done, tally.errors) == (120, 120)
    cases = folder.read()
    failed = cases["status"] == "error"
    assert failed.sum() == 120
    assert all("no room for a packet of 1000 B" in why for why in cases["why"][failed])
    assert np.ma.getmaskarray(cases["sent"])[failed].all()
    assert folder.tally() == tally
    with pytest.raises(SweepFailedError, match=r"case \d+ failed"):
        run_sweep(sweep, tmp_path / "t", strict=True)


def test_a_case_beyond_its_budget_is_recorded_as_cut(tmp_path: Path, whole: Cases) -> None:
    most = int(np.median(whole["events"]))
    folder, tally = run_sweep(lossy(f"events = {most}"), tmp_path / "s")
    beyond = whole["events"] > most
    assert tally.cut == beyond.sum() > 0
    assert ((folder.read()["status"] == "cut") == beyond).all()


def test_paired_runs_of_all_combinations_have_the_same_seeds(whole: Cases) -> None:
    seeds = whole["seed"].reshape(6, 20)
    assert (seeds == seeds[0]).all()
    assert len(set(seeds[0].tolist())) == 20


def test_an_object_store_can_hold_a_sweep(whole: Cases) -> None:
    pytest.importorskip("fsspec", reason="fsspec is not installed: no object store is tried")
    where = f"memory://sweeps/{uuid.uuid4().hex}"
    folder, _ = run_sweep(lossy(), where, chunk=50)
    assert folder.read().digest() == whole.digest()
    assert run_sweep(lossy(), where)[1].cases == 0


def test_the_error_names_a_damaged_file_and_the_fix(tmp_path: Path, whole: Cases) -> None:
    folder, _ = run_sweep(lossy(), tmp_path / "s", chunk=50)
    broken = tmp_path / "s" / "cases" / "000000050.parquet"
    broken.write_bytes(broken.read_bytes()[:100])
    with pytest.raises(SweepError, match=r"000000050.parquet is damaged: remove it"):
        folder.read()
    broken.unlink()
    run_sweep(lossy(), tmp_path / "s")
    assert folder.read().digest() == whole.digest()


def test_a_second_program_cannot_write_to_the_same_sweep(netspurt: Command, tmp_path: Path) -> None:
    (tmp_path / "x.toml").write_text(LOSSY)
    with held(tmp_path / "s"):
        second = netspurt("sweep", "x.toml", "--out", "s")
        assert second.returncode == 2
        assert "another netspurt is writing to s: wait" in second.stderr
    assert netspurt("sweep", "x.toml", "--out", "s").returncode == 0


def test_a_scenario_in_the_output_folder_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "scenario.toml").write_text("# dear\n" + LOSSY)
    with pytest.raises(SweepError, match="is not empty and has no sweep"):
        run_sweep(lossy(), tmp_path)
    assert (tmp_path / "scenario.toml").read_text().startswith("# dear")


def test_a_sweep_with_a_file_url_is_written_to_a_folder(tmp_path: Path) -> None:
    assert isinstance(open_store(f"file://{tmp_path}"), Folder)
    run_sweep(lossy(), f"file://{tmp_path}/s", chunk=50)
    assert open_sweep(tmp_path / "s").tally().done == 120


def test_a_file_that_cannot_grow_is_named_and_finished_cases_are_kept(tmp_path: Path) -> None:
    (tmp_path / "x.toml").write_text(LOSSY)
    words = f"ulimit -f 8; exec {NETSPURT} sweep x.toml --out s --chunk 60"
    full = subprocess.run(
        ["sh", "-c", words], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert full.returncode == 2
    assert re.search(r"s/cases/0000000\d0\.parquet: File too large", full.stderr)
    assert "run the command again to continue" in full.stderr
    assert not list((tmp_path / "s").glob(".*"))
    assert run_sweep(lossy(), tmp_path / "s")[1].done == 120


def test_a_strict_sweep_refuses_a_folder_with_a_failed_case(tmp_path: Path) -> None:
    sweep = Sweep.of(ns.Scenario.parse(FAILING, "x.toml"))
    run_sweep(sweep, tmp_path / "s")
    with pytest.raises(SweepFailedError, match=r"case \d+ failed"):
        run_sweep(sweep, tmp_path / "s", strict=True)


def test_an_endless_case_does_not_delay_the_guess_of_the_duration() -> None:
    text = LOSSY.replace('stop = "20 s"', 'stop = "900000000 s"')
    endless = text.replace('send = "100 segments"\n', "")
    began = time.process_time()
    assert seconds_per_case(Sweep.of(ns.Scenario.parse(endless, "x.toml"))) >= 0.9
    assert time.process_time() - began < 20


def test_default_chunks_depend_on_the_sweep_and_not_on_the_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def sweep(stop: str, seeds: int = 5000) -> Sweep:
        text = LOSSY.replace('stop = "20 s"', f'stop = "{stop}"')
        text = text.replace('send = "100 segments"\n', "").replace("seeds = 20", f"seeds = {seeds}")
        return Sweep.of(ns.Scenario.parse(text, "x.toml"))

    chunks = [guess_chunk(sweep(stop)) for stop in ("2 s", "20 s", "200 s", "900000000 s")]
    assert chunks == sorted(chunks, reverse=True)
    assert len(set(chunks)) == 4
    assert chunks[-1] >= 1
    ticks = itertools.count()
    monkeypatch.setattr(time, "monotonic", lambda: 1000.0 * next(ticks))
    assert [guess_chunk(sweep(stop)) for stop in ("2 s", "20 s")] == chunks[:2]
    folder, _ = run_sweep(sweep("2 s", 20), tmp_path / "s")
    assert folder.chunk == guess_chunk(sweep("2 s", 20)) == 4


def test_an_invalid_case_does_not_prevent_a_guess_of_the_chunk_size() -> None:
    assert guess_chunk(Sweep.of(ns.Scenario.parse(FAILING, "x.toml"))) >= 1


@pytest.mark.parametrize(
    ("path", "axis"),
    [
        ("links.path.rate", "rate"),
        ("flows.x.tcp.initial_window", "window"),
        ('links . "path" . rate', "rate"),
        ("stop", "which"),
        ("links.path.queue.codel.target", "which"),
    ],
)
def test_the_option_set_cannot_change_a_value_that_an_axis_varies(
    netspurt: Command, tmp_path: Path, path: str, axis: str
) -> None:
    sets = 'which = { sets = { a = { stop = "9 s" }, b = { "links.path.queue" = "9 packets" } } }'
    value = "1 ms" if "queue" in path else "1 Mbit/s" if "rate" in path else "3 segments"
    given = f"--set={path}={'1 s' if path == 'stop' else value}"
    (tmp_path / "x.toml").write_text(
        (LOSSY + sets + "\n").replace('queue = "10 packets"', "queue = { codel = {} }")
    )
    for words in (("run", "x.toml", "--case", 3), ("sweep", "x.toml", "--out", "s")):
        refused(netspurt(*words, given), f"the axis `{axis}` of the sweep replaces it")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["x.toml"]


def test_the_option_set_can_change_a_value_that_no_axis_varies(
    netspurt: Command, tmp_path: Path
) -> None:
    (tmp_path / "x.toml").write_text(LOSSY)
    beside = ("--set", "links.path.delay=500 ms", "--seed", 4)
    assert netspurt("run", "x.toml", "--case", 3, *beside, "--out", "r").returncode == 0
    text = ns.open_run(tmp_path / "r").scenario
    assert "500 ms" in text


# Summaries and comparisons.


def test_intervals_cover_the_mean_as_often_as_they_claim() -> None:
    rng = np.random.default_rng(3)
    held = 0
    for _ in range(100):
        columns = {
            "case": np.arange(40),
            "repeat": np.arange(40) + 1,
            "x": rng.exponential(1.0, 40),
        }
        (row,) = summarise(columns, "x", [], {})
        held += int(row.mean.low < 1.0 < row.mean.high)
    assert 84 <= held <= 99


def test_a_paired_comparison_finds_a_difference_that_an_unpaired_one_does_not_find() -> None:
    rng = np.random.default_rng(4)
    luck = rng.normal(100.0, 10.0, 30)
    columns = {
        "case": np.arange(60),
        "repeat": np.tile(np.arange(30) + 1, 2),
        "algorithm": np.repeat(["old", "new"], 30),
        "timeouts": np.concatenate([luck, luck - 1 + rng.normal(0, 0.5, 30)]),
    }
    order = {"algorithm": ["old", "new"]}
    (pairs,) = compare(columns, "timeouts", "algorithm", order, paired=True)
    (apart,) = compare(columns, "timeouts", "algorithm", order, paired=False)
    assert (pairs.verdict, apart.verdict) == ("better", "cannot tell")
    (reverse,) = compare(columns, "timeouts", "algorithm", order, paired=True, baseline="new")
    assert (reverse.label, reverse.verdict) == ("old", "worse")
    (more,) = compare(columns, "timeouts", "algorithm", order, paired=True, better="more")
    assert more.verdict == "worse"


def test_a_ratio_is_the_quotient_of_two_sums(whole: Cases) -> None:
    (row,) = summarise(whole, "retransmissions/sent", [], {})
    assert row.mean.value == pytest.approx(whole["retransmissions"].sum() / whole["sent"].sum())


def test_a_single_run_of_each_label_has_no_interval(tmp_path: Path) -> None:
    sweep = Sweep.of(ns.Scenario.parse(LOSSY.replace("seeds = 20", "seeds = 1"), "x.toml"))
    folder, _ = run_sweep(sweep, tmp_path / "s")
    cases = folder.read()
    assert np.isnan(summarise(cases, "sent", ["window"], folder.labels)[0].mean.low)
    rows = compare(cases, "retransmissions", "window", folder.labels, paired=True)
    assert {row.verdict for row in rows} == {"cannot tell"}


def test_runs_that_are_equal_pair_by_pair_are_called_the_same(tmp_path: Path) -> None:
    text = LOSSY.replace("probability = 0.02", "probability = 0.0").replace("10 pa", "500 pa")
    folder, _ = run_sweep(Sweep.of(ns.Scenario.parse(text)), tmp_path / "s")
    rows = compare(folder.read(), "retransmissions", "window", folder.labels, paired=True)
    assert {row.verdict for row in rows} == {"same"}
    rows = compare(folder.read(), "retransmissions", "window", folder.labels, paired=False)
    assert {row.verdict for row in rows} == {"cannot tell"}


def test_unknown_names_and_measures_are_errors(whole: Cases) -> None:
    labels = whole.about.labels
    with pytest.raises(
        ValueError, match=r"no measure is called 'sunk'; the measures are case, .*, and more"
    ):
        summarise(whole, "sunk", [], labels)
    with pytest.raises(ValueError, match=r"'completion_mean': did you mean.*_ns_mean"):
        summarise(whole, "completion_mean", [], labels)
    with pytest.raises(ValueError, match="there is no axis 'windwo'"):
        summarise(whole, "sent", ["windwo"], labels)
    with pytest.raises(ValueError, match="it is not known which values of 'sent' are better"):
        compare(whole, "sent", "window", labels, paired=True)
    with pytest.raises(ValueError, match="window has no value '3 segments'"):
        compare(whole, "retransmissions", "window", labels, paired=True, baseline="3 segments")


@pytest.mark.parametrize(("kind", "by"), [("bar", 1), ("bar", 2), ("line", 2), ("heat-map", 2)])
def test_every_kind_of_picture_shows_every_group(whole: Cases, kind: str, by: int) -> None:
    names = ["rate", "window"][:by]
    rows = summarise(whole, "retransmissions/sent", names, whole.about.labels)
    figure = draw_cases(kind, {row.labels: row.mean for row in rows}, names, "retransmissions/sent")
    axes = figure.axes[0]
    shown = {
        "bar": len(axes.patches),
        "line": sum(np.size(line.get_xdata()) for line in axes.lines),
        "heat-map": len(axes.texts),
    }
    assert shown[kind] == len(rows)


def test_quantities_are_placed_on_an_axis_by_their_values() -> None:
    assert positions(["1 kbit/s", "2 Mbit/s"]) == [1e3, 2e6]
    assert positions(["sack", "1 kbit/s"]) is None


def test_a_heat_map_of_one_name_is_an_error(whole: Cases) -> None:
    rows = summarise(whole, "sent", ["rate"], whole.about.labels)
    with pytest.raises(ValueError, match="two names"):
        draw_cases("heat-map", {row.labels: row.mean for row in rows}, ["rate"], "sent")


# As a command.


def test_the_command_runs_shows_and_compares_a_sweep(netspurt: Command, tmp_path: Path) -> None:
    (tmp_path / "x.toml").write_text(LOSSY)
    first = netspurt("sweep", "x.toml", "--out", "s", "--threads", "1")
    assert first.returncode == 0, first.stderr
    assert "120 cases run in" in first.stdout
    second = netspurt("sweep", "x.toml", "--out", "s")
    assert "s is finished: nothing is left to run" in second.stdout
    state = json.loads(netspurt("sweep", "status", "s", "--json").stdout)
    assert (state["done"], state["finished"]) == (120, True)
    assert "20 runs of each combination, paired" in netspurt("sweep", "status", "s").stdout
    result = netspurt("sweep", "show", "s", "-m", "completion_ns_mean", "--by", "rate")
    assert "completion_ns_mean, in s" in result.stdout
    listed = netspurt("sweep", "show", "s").stdout
    assert listed.startswith("differ between cases: events, sent, ")
    assert listed.endswith("Show one: netspurt sweep show s -m completion_ns_mean --by window\n")
    assert "95 % interval" in result.stdout
    words = ("sweep", "compare", "s", "--axis", "window", "-m", "completion_ns_mean")
    lines = netspurt(*words, "--baseline", "4 segments").stdout.splitlines()
    at = lines.index("completion_ns_mean, in s: difference from window = 4 segments")
    assert lines[at + 1].split()[:4] == ["rate", "window", "cases", "difference"]
    output = netspurt("sweep", "show", "s", "-m", "completion_ns_p90").stdout
    assert "120 cases do not have the measure and are left out\n" in output
    assert "the quantile is unknown in 120 cases with fewer than 10 flows\n" in output
    verdicts = {row["verdict"] for row in json.loads(netspurt(*words, "--json").stdout)}
    assert verdicts <= {"better", "worse", "cannot tell"}
    both = netspurt("sweep", "compare", "s", "--axis", "window", "-m", "sent,acked_bytes").stdout
    assert both == netspurt("sweep", "compare", "s", "--axis", "window", "-m", "sent", "-m",
                            "acked_bytes").stdout  # fmt: skip
    drawn = netspurt("sweep", "plot", "s", "-m", "retransmissions/sent", "--kind", "heat-map")
    assert drawn.returncode == 0, drawn.stderr
    assert (tmp_path / "s" / "retransmissions-per-sent.png").stat().st_size > 10_000


def test_a_misspelled_path_and_a_failed_case_of_a_strict_sweep_are_reported(
    netspurt: Command, tmp_path: Path
) -> None:
    (tmp_path / "x.toml").write_text(LOSSY.replace("links.path.rate", "links.paht.rate"))
    slip = netspurt("sweep", "x.toml", "--out", "s")
    assert slip.returncode == 2
    assert "no link `paht`" in slip.stderr
    assert "did you mean `path`?" in slip.stderr
    assert "x.toml:19:" in slip.stderr
    assert not (tmp_path / "s").exists()
    (tmp_path / "y.toml").write_text(FAILING)
    strict = netspurt("sweep", "y.toml", "--out", "t", "--strict")
    assert strict.returncode == 1
    # The worker that finishes first reports its failed case.
    assert re.search(r"case \d+ failed: links.path.queue", strict.stderr)


def test_a_case_of_a_sweep_is_run_by_its_number(netspurt: Command, tmp_path: Path) -> None:
    (tmp_path / "x.toml").write_text(LOSSY)
    one = json.loads(netspurt("run", "x.toml", "--case", "63", "--json").stdout)
    assert one["seed"] == lossy().scenario(63).seed


def test_an_interrupt_keeps_finished_cases_and_says_how_to_continue(tmp_path: Path) -> None:
    file = tmp_path / "x.toml"
    file.write_text(LOSSY.replace("seeds = 20", "seeds = 20000"))
    words = sweep_command(file, tmp_path / "s")
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as process:
        while not list((tmp_path / "s").glob("cases/*")):
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        _, output = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "run the command again to continue" in output
    assert 0 < open_sweep(tmp_path / "s").tally().done < 120_000


def sweep_command(file: Path, out: Path) -> list[str]:
    """Return the words of the command that runs a sweep in chunks of 20 cases."""
    return [str(NETSPURT), "sweep", str(file), "--out", str(out), "--chunk", "20"]


def test_killed_sweeps_that_are_continued_have_the_result_of_an_uninterrupted_sweep(
    tmp_path: Path,
) -> None:
    file = tmp_path / "x.toml"
    file.write_text(LOSSY.replace("seeds = 20", "seeds = 200"))
    subprocess.run(sweep_command(file, tmp_path / "whole"), check=True, capture_output=True)
    whole = open_sweep(tmp_path / "whole")
    chance = random.Random(20)
    unfinished, round_ = 0, 0
    folders = [tmp_path / "killed-0"]
    for _ in range(20):
        # Kill the sweep after some more chunks, at a random moment of the next chunk. On a busy
        # machine, a kill at a random time would often come before the first chunk is finished.
        begun = len(list(folders[-1].glob("cases/*")))
        until = begun + chance.randrange(len(list(whole.chunks())) - begun)
        with subprocess.Popen(
            sweep_command(file, folders[-1]), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        ) as process:
            while len(list(folders[-1].glob("cases/*"))) < until and process.poll() is None:
                time.sleep(0.001)
            time.sleep(chance.uniform(0, 0.02))
            process.send_signal(signal.SIGKILL)
        try:
            opened = open_sweep(folders[-1])
        except SweepError:
            continue
        finished = len(opened.there())
        if finished == len(list(opened.chunks())):
            round_ += 1
            folders.append(tmp_path / f"killed-{round_}")
        elif finished:
            unfinished += 1
    assert unfinished >= 5, "at least five kills must leave an unfinished sweep"
    wanted = whole.read().digest()
    for folder in folders:
        done = subprocess.run(sweep_command(file, folder), check=True, capture_output=True)
        assert done.returncode == 0
        assert open_sweep(folder).read().digest() == wanted
        assert not list(folder.glob(".*.partial"))


def test_the_sweeps_of_rfc2416_have_the_known_verdicts_within_a_minute(tmp_path: Path) -> None:
    began = time.process_time()
    for name in ("many-starts", "savings"):
        sweep = Sweep.of(ns.load(ROOT / "papers" / "rfc2416" / f"{name}.toml"))
        folder, tally = run_sweep(sweep, tmp_path / name)
        assert tally.done == tally.cases == len(sweep)
        if name == "many-starts":
            drops = compare(folder.read(), "dropped/sent", "window", folder.labels, paired=True)
            many = [row for row in drops if row.labels == ("50", "20 packets")]
            assert [row.verdict for row in many] == ["worse", "worse"]
        else:
            spans = folder.read()
            rows = compare(spans, "completion_ns_mean", "window", folder.labels, paired=True)
            four = [row for row in rows if row.label == "4 segments"]
            # A start with four packets saves at most two round trips of half a second. No short
            # transfer had a loss, so the differences of short transfers have no interval.
            known = [row for row in four if not np.isnan(row.difference.low)]
            assert len(known) == len(four) // 2
            assert all(row.verdict == "better" for row in known)
            assert all(row.difference.low > -1.1e9 for row in known)
            assert all(-1.1e9 < row.difference.value < -0.4e9 for row in four)
    assert time.process_time() - began < 60
