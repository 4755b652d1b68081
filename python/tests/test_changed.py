"""Tests the sentence that says how the scenario of a run differs from the scenario's file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from made_up_scenarios import LONELY

import netspurt as ns
from netspurt.changed import changed_line

from conftest import Command

#: A sweep over the delay of the link, as the end of a scenario.
SWEPT = """profile = "linux-6"
[sweep.over.delay]
path = "links.path.delay"
values = ["5 ms", "50 ms"]
"""
#: The contents of the scenario's file.
SHORT = 'stop = "3 s"\nrecord = { tables = ["rto"] }' + LONELY + SWEPT

#: The beginning of the sentence.
HEAD = "This run differs from short.toml (values of the file in parentheses): "


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ([], ""),
        (["--set", "stop=2500 ms"], "stop = 2.5 s (3 s)"),
        (["--set", "links.path.delay=5000 us"], ""),
        (["--seed", 7, "--set", "stop=2 s"], "stop = 2 s (3 s), seed = 7 (1)"),
        (["--unset", "flows.x.profile"], "flows.x.profile = ns-2 (linux-6)"),
        # A case has its own seed. The sentence names this seed before the delay.
        (["--case", 1], "links.path.delay = 50 ms (5 ms)"),
        # The keys of TCP that only the profile changes are left out.
        (["--set", "flows.x.profile=reno-2005"], "flows.x.profile = reno-2005 (linux-6)"),
    ],
)
def test_the_report_and_the_list_of_tables_say_what_the_command_changed(
    netspurt: Command, tmp_path: Path, words: list[str], told: str
) -> None:
    (tmp_path / "short.toml").write_text(SHORT)
    assert netspurt("run", "short.toml", *words, "--out", "r").returncode == 0
    listed = " ".join(netspurt("table", "r").stdout.split())
    assert netspurt("report", "r").returncode == 0
    page = (tmp_path / "r" / "report.html").read_text()
    for where in (listed, page):
        assert (HEAD in where) == bool(told)
        assert not told or f"{told}." in where


def test_unreadable_files_and_runs_of_other_versions_get_no_sentence(
    tmp_path: Path,
) -> None:
    file = tmp_path / "short.toml"
    file.write_text(SHORT)
    run = ns.load(file).replace({"stop": "2 s"}).alone().run()
    assert changed_line(run).endswith(": stop = 2 s (3 s)")
    assert changed_line(replace(run, version="0.0.1")) == ""
    file.write_text(SHORT.replace('"3 s"', '"3"'))
    assert changed_line(run) == ""
    file.unlink()
    assert changed_line(run) == ""


def test_a_scenarios_file_that_names_code_gets_no_sentence_and_the_code_is_not_run(
    tmp_path: Path,
) -> None:
    file = tmp_path / "short.toml"
    file.write_text(SHORT)
    run = ns.load(file).replace({"stop": "2 s"}).alone().run()
    mark = tmp_path / "was-run"
    (tmp_path / "own.py").write_text(f"open({str(mark)!r}, 'w').close()\n")
    file.write_text(SHORT.replace("[sweep", 'tcp.rto.estimator = "own.py:Own"\n[sweep'))
    assert changed_line(run) == ""
    assert not mark.exists()


def test_a_shipped_scenario_is_found_even_if_netspurt_was_moved() -> None:
    run = ns.load("early-timeout").replace({"stop": "2 s"}).run()
    moved = replace(run, source="/gone/netspurt/shelf/scenarios/early-timeout.toml")
    assert "early-timeout.toml" in changed_line(moved)
    assert changed_line(moved) == changed_line(run)
