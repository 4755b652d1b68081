"""Tests sweeps in which each run draws its path at random.

All runs of a sender are one row of the results, with an interval.
"""

from __future__ import annotations

import json
import math
import pickle
import re
from pathlib import Path

import numpy as np
import pytest

import netspurt as ns
from netspurt.report.sweeps import sweep_section
from netspurt.sweep import Sweep, open_sweep, run_sweep

from conftest import Command, refused

#: A sweep over two senders. Each run draws a delay and a number of flows.
PATHS = """
title = "Random paths"
stop = "60 s"
[links.path]
between = ["a", "b"]
rate = "2 Mbit/s"
loss = { probability = 0.01 }
[flows.x]
from = "a"
to = "b"
send = "40 segments"
profile = "linux-6"
[sweep]
seeds = 60
[sweep.over]
delay = { path = "links.path.delay", from = "5 ms", to = "80 ms", draw = true }
n = { path = "flows.x.count", values = [1, 2, 3], draw = true }
sender = { path = "flows.x.profile", values = ["linux-6", "rfc-2026"] }
"""


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Run the sweep; return its folder."""
    folder = tmp_path_factory.mktemp("random") / "swept"
    run_sweep(Sweep.of(ns.Scenario.parse(PATHS)), folder)
    return folder


def test_each_run_draws_a_path_that_both_senders_share(swept: Path) -> None:
    cases = open_sweep(swept).read()
    linux, rfc = (cases["sender"] == name for name in ("linux-6", "rfc-2026"))
    for drawn in ("delay", "n", "seed"):
        assert (cases[drawn][linux] == cases[drawn][rfc]).all()
    assert len(set(cases["delay"].tolist())) == 60
    assert set(cases["n"].tolist()) == {1, 2, 3}
    assert (cases["flows"] == cases["n"]).all()


def test_random_paths_give_one_row_with_an_interval_for_each_sender(
    swept: Path, netspurt: Command
) -> None:
    result = netspurt("sweep", "show", swept, "-m", "completion_ns_mean", "--json")
    rows = json.loads(result.stdout)
    assert "draw = true" not in netspurt("sweep", "show", swept, "-m", "completion_ns_mean").stdout
    assert [row["group"] for row in rows] == [{"sender": "linux-6"}, {"sender": "rfc-2026"}]
    for row in rows:
        assert row["cases"] == 60
        assert 0 < row["high"] - row["low"] < row["value"]


def test_cases_can_be_grouped_by_drawn_values_in_the_order_of_their_size(
    netspurt: Command, tmp_path: Path
) -> None:
    drawn = """
over.p = { path = "links.path.loss.probability", from = 0, to = 0.1, draw = true }
over.delay = { path = "links.path.delay", from = "5 ms", to = "80 ms", draw = true }
"""
    text = f"{PATHS.partition('[sweep]')[0]}[sweep]\nseeds = 30\n{drawn}"
    run_sweep(Sweep.of(ns.Scenario.parse(text)), tmp_path / "own")
    for axis, value in (("p", float), ("delay", lambda label: float(label.split()[0]))):
        shown = netspurt("sweep", "show", "own", "-m", "sent", "--by", axis, "--json")
        labels = [value(row["group"][axis]) for row in json.loads(shown.stdout)]
        assert len(labels) == 30
        assert labels == sorted(labels)
    assert "30 cases: 30 runs of each combination, paired; each run draws p, delay" in (
        netspurt("sweep", "status", "own").stdout
    )
    (part,) = sweep_section(open_sweep(tmp_path / "own"), "own").parts
    varied = "30 runs of each combination, paired; each run draws p, delay"
    assert f"30 cases: {varied}." in part.words
    assert "Only drawn values vary, so there are no groups to compare." in part.notes


def test_an_axis_with_a_comma_or_a_space_in_its_name_forms_groups(
    netspurt: Command, tmp_path: Path
) -> None:
    (tmp_path / "x.toml").write_text(PATHS.replace("sender =", '"sender, old or new " ='))
    netspurt("sweep", "x.toml", "--out", "s")
    assert "--by 'sender, old or new '" in netspurt("sweep", "show", "s").stdout
    for words in ([], ["--by", "sender, old or new "]):
        shown = netspurt("sweep", "show", "s", "-m", "sent", "--json", *words)
        groups = [row["group"] for row in json.loads(shown.stdout)]
        assert groups == [{"sender, old or new ": name} for name in ("linux-6", "rfc-2026")]


def test_the_output_with_a_row_for_each_path_says_how_to_get_one_row(
    netspurt: Command, tmp_path: Path
) -> None:
    paths = ", ".join(f'"{ms} ms"' for ms in range(10, 22))
    axis = f'over.path = {{ path = "links.path.delay", values = [{paths}] }}'
    text = f"{PATHS.partition('[sweep]')[0]}[sweep]\n{axis}\n"
    run_sweep(Sweep.of(ns.Scenario.parse(text)), tmp_path / "rows")
    output = netspurt("sweep", "show", "rows", "-m", "sent").stdout
    assert "12 groups of one run each have no interval" in output
    assert "`draw = true` and the sweep `seeds = 12`" in output


def test_a_random_case_sends_as_much_as_the_run_of_its_scenario(swept: Path) -> None:
    sweep = Sweep.of(ns.Scenario.parse(PATHS))
    cases = open_sweep(swept).read()
    run = sweep.scenario(17).run()
    assert run.flows["sent"].sum() == cases["sent"][17]
    assert sweep.drawn == ["delay", "n"]
    assert "draws delay, n" in sweep._repr_html_()


def test_scenarios_with_the_same_labels_are_repeats_with_seeds_of_their_own(
    tmp_path: Path,
) -> None:
    base = ns.Scenario.parse(PATHS.partition("[sweep]")[0])
    paths = [f"{delay} ms" for delay in range(5, 45)]
    sweep = Sweep.listed(
        ({"sender": sender}, base.replace({"links.path.delay": d, "flows.x.profile": sender}))
        for d in paths
        for sender in ("linux-6", "rfc-2026")
    )
    folder, _ = run_sweep(sweep, tmp_path / "listed")
    cases = folder.read()
    assert len(set(cases["seed"].tolist())) == len(paths)
    for sender in ("linux-6", "rfc-2026"):
        own = cases["sender"] == sender
        assert cases["repeat"][own].tolist() == list(range(1, len(paths) + 1))
    from netspurt.analysis.cases import compare, summarise

    rows = summarise(cases, "completion_ns_mean", folder.names, folder.labels)
    assert [row.labels for row in rows] == [("linux-6",), ("rfc-2026",)]
    assert all(math.isfinite(row.mean.low) and row.cases == len(paths) for row in rows)
    (comparison,) = compare(cases, "completion_ns_mean", "sender", folder.labels, paired=True)
    assert comparison.pairs == len(paths)


def quantile(values: list[int], share: float) -> int:
    """Return the smallest value v such that at least this share of all values is at most v."""
    return min(v for v in values if sum(w <= v for w in values) >= share * len(values) - 1e-9)


def test_the_percentiles_of_a_case_are_computed_from_every_request_of_its_run(
    tmp_path: Path,
) -> None:
    scenario = ns.load("requests").replace({"flows.web.app.requests": 120, "stop": "120 s"})
    assert np.ma.count(scenario.run().table("requests")["complete_ns"]) == 120
    sweep = Sweep.listed([({}, scenario)])
    case = run_sweep(sweep, tmp_path / "s")[0].read()
    spans = sweep.scenario(0).run().table("requests")["complete_ns"].tolist()
    for name, share in (("p50", 0.5), ("p90", 0.9), ("p99", 0.99)):
        assert case[f"request_ns_{name}"][0] == quantile(spans, share), name
    # 120 requests are too few for the 99.9th percentile, and one flow is too few for any
    # percentile.
    assert np.ma.getmaskarray(case["request_ns_p999"]).all()
    assert np.ma.getmaskarray(case["completion_ns_p50"]).all()


def test_the_percentiles_of_completion_times_are_those_of_all_flows(tmp_path: Path) -> None:
    base = ns.Scenario.parse(PATHS.partition("[sweep]")[0])
    sweep = Sweep.listed([({}, base.replace({"flows.x.count": 12, "links.path.delay": "9 ms"}))])
    case = run_sweep(sweep, tmp_path / "s")[0].read()
    flows = sweep.scenario(0).run().flows
    spans = (flows["finished_ns"] - flows["start_ns"]).tolist()
    assert case["completion_ns_p50"][0] == quantile(spans, 0.5)
    assert case["completion_ns_p90"][0] == quantile(spans, 0.9)
    assert np.ma.getmaskarray(case["completion_ns_p99"]).all()


def test_a_run_counts_the_packets_that_overtook_other_packets(
    netspurt: Command, tmp_path: Path
) -> None:
    text = PATHS.partition("[sweep]")[0].replace("loss =", "# ")
    moved = 'order = "overtaking"\nreorder = { probability = 0.1, by = "30 ms" }\n[flows.x]'
    file = tmp_path / "over.toml"
    file.write_text(text.replace("[flows.x]", moved))
    result = netspurt("run", file, "--out", "run")
    links = ns.open_run(tmp_path / "run").links
    overtook = int(np.asarray(links["overtook"])[0])
    assert overtook > 0
    head, row = (
        re.split("  +", line)
        for line in result.stdout.splitlines()
        if line.startswith("link ") or "forward" in line
    )
    assert row[head.index("overtook")] == str(overtook)
    file.write_text(text)
    assert "overtook" not in netspurt("run", file, "--out", "plain").stdout


def test_each_run_may_draw_one_of_several_files_that_a_link_follows(tmp_path: Path) -> None:
    for ms in (5, 40, 80):
        (tmp_path / f"p{ms}.toml").write_text(f'delay = "{ms} ms"\n')
    text = PATHS.partition("delay =")[0].replace("loss =", "# ").replace("= 60", "= 8")
    files = '["p5.toml", "p40.toml", "p80.toml"]'
    over = f'path = {{ path = "links.path.follows", values = {files}, draw = true }}\n'
    (tmp_path / "drawn.toml").write_text(text + over)
    cases = run_sweep(Sweep.of(ns.load(tmp_path / "drawn.toml")), tmp_path / "s")[0].read()
    times = {
        path: set(cases["completion_ns_mean"][cases["path"] == path]) for path in cases["path"]
    }
    assert len(times) > 1
    assert all(len(alike) == 1 for alike in times.values())
    assert len(set.union(*times.values())) == len(times)


def test_a_pickled_sweep_carries_the_files_that_links_follow(
    tmp_path: Path,
) -> None:
    for ms in (5, 40, 80):
        (tmp_path / f"p{ms}.toml").write_text(f'delay = "{ms} ms"\n')
    text = PATHS.partition("[sweep]")[0].replace("loss =", 'follows = "p5.toml" # ')
    over = 'path = { path = "links.path.follows", values = ["p5.toml", "p40.toml", "p80.toml"] }\n'
    (tmp_path / "listed.toml").write_text(f"{text}[sweep]\nseeds = 2\n[sweep.over]\n{over}")
    scenario = ns.load(tmp_path / "listed.toml").replace({"flows.x.start": "100 ms"})
    sweep = Sweep.of(scenario)
    for path in tmp_path.glob("p*.toml"):
        path.unlink()
    sent = pickle.loads(pickle.dumps(sweep))
    assert sent.fingerprint == sweep.fingerprint
    assert sent.run_chunk(0, 6)[:6] == sweep.run_chunk(0, 6)[:6]
    assert sent.run_chunk(0, 6)[1] == 6


def test_an_axis_that_every_run_draws_has_no_labels_to_compare(
    swept: Path, netspurt: Command
) -> None:
    result = netspurt("sweep", "compare", swept, "-m", "timeouts", "--axis", "delay")
    refused(result, "--axis delay: each run draws its own value of delay", "or compare sender")


def test_every_command_reads_scenarios_with_line_breaks_in_braces(
    netspurt: Command, tmp_path: Path
) -> None:
    """TOML 1.1 allows a line break in a table between braces; TOML 1.0 does not."""
    (tmp_path / "own.toml").write_text('delay = "9 ms"\n')
    text = PATHS.replace("seeds = 60", "seeds = 3").replace(" }\nsender = { ", ",\n}\nsender = {\n")
    text = text.replace('rate = "2 Mbit/s"', 'rate = "2 Mbit/s"\nfollows = "own.toml"')
    text = re.sub(r"delay = .*\n", "", text).replace('"Random', r'"\x52andom')
    (tmp_path / "mine.toml").write_text(text)
    assert netspurt("sweep", "mine.toml", "--out", "swept").returncode == 0
    for words in ("status swept", "show swept -m timeouts", "compare swept -m timeouts"):
        result = netspurt("sweep", *words.split())
        assert (result.returncode, result.stderr) == (0, "")
    assert open_sweep(tmp_path / "swept").drawn == ["n"]
    assert netspurt("report", "swept").returncode == 0
    assert netspurt("timeline", "own.toml", "--plot", "own.png").returncode == 0
