"""Tests what commands print for other programs, with the options `--json` and `--csv`."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import typer
from test_help import COMMANDS

import netspurt as ns
from netspurt.cli.main import application
from netspurt.sweep import Sweep, run_sweep

from conftest import ROOT, Command, refused

#: Commands without `--json`. Each makes a picture, a file or a stream, or it runs a program, or it
#: always prints JSON.
NO_TABLE = {
    ("new",),
    ("plot",),
    ("qlog",),
    ("report",),
    ("timeline",),
    ("serve",),
    ("capture",),
    ("schema",),
    ("sweep", "plot"),
    ("live", "exec"),
    ("papers", "path"),
    ("papers", "study"),
}
#: Commands that print a document and not one table, so they have no `--csv`. The command
#: `netspurt table` prints the tables of runs.
NO_ROWS = {
    ("run",),
    ("live", "run"),
    ("probe",),
    ("push",),
    ("sweep", "run"),
    ("sweep", "status"),
    ("delays", "report"),
    ("delays", "surrogate"),
    ("delays", "constancy"),
    ("fragments",),
    ("sites",),
    ("truth", "check"),
    ("truth", "make"),
}


@cache
def whole_command() -> Any:
    """Return the command `netspurt` with all its subcommands."""
    return typer.main.get_command(application())


def options(words: tuple[str, ...]) -> set[str]:
    """Return the options of a command, for example of `("papers", "list")`."""
    command = whole_command()
    for word in words:
        command = command.commands[word]
    return {name for parameter in command.params for name in parameter.opts}


def test_every_command_that_prints_a_table_has_json_and_csv() -> None:
    leaves = [w for w in COMMANDS if not any(o[:-1] == w for o in COMMANDS)]
    assert {w for w in leaves if "--json" not in options(w)} == NO_TABLE
    assert {w for w in leaves if "--csv" not in options(w)} == NO_TABLE | NO_ROWS


def test_csv_and_json_together_are_refused(netspurt: Command) -> None:
    for words in COMMANDS:
        if words in {("doctor",), ("scenarios",), ("papers", "list")}:
            refused(netspurt(*words, "--json", "--csv"), "--csv and --json both say how to print")


Read = Callable[..., tuple[Any, list[dict[str, str]]]]


@pytest.fixture
def both(netspurt: Command) -> Read:
    """Return a function that runs a command and returns its JSON document and its rows of CSV."""

    def read(*words: object) -> tuple[Any, list[dict[str, str]]]:
        documents, table = (netspurt(*words, how) for how in ("--json", "--csv"))
        assert documents.stderr == table.stderr == ""
        return json.loads(documents.stdout), list(csv.DictReader(io.StringIO(table.stdout)))

    return read


def same(rows: list[dict[str, Any]], cells: list[dict[str, str]]) -> None:
    """Check that the cells of a CSV table have the values of the rows in JSON."""
    assert len(rows) == len(cells) > 0
    for row, texts in zip(rows, cells, strict=True):
        assert set(texts) >= {name for name, value in row.items() if not isinstance(value, dict)}
        for name, value in row.items():
            if isinstance(value, dict | list):
                continue
            text = str(value).lower() if isinstance(value, bool) else str(value)
            assert texts[name] == ("" if value is None else text), name


@pytest.mark.parametrize("words", ["doctor", "scenarios", "papers list"])
def test_the_lists_of_doctor_scenarios_and_papers_are_rows_of_csv(both: Read, words: str) -> None:
    rows, cells = both(*words.split())
    same(rows, cells)


@pytest.mark.usefixtures("no_kernel")
def test_claims_and_their_verdicts_are_rows_of_csv(both: Read) -> None:
    data, cells = both("papers", "show", "rfc2416")
    same(data["claims"], cells)
    rows, cells = both("papers", "check", "rfc2416")
    same(rows, cells)
    assert len(data["claims"]) == len(rows)


def test_tables_of_runs_are_rows_of_csv(both: Read, saved_run: Path) -> None:
    run = ns.open_run(saved_run)
    rows, cells = both("table", saved_run, "segments", "--limit", "50")
    same(rows, cells)
    assert rows == run.segments.records()[:50]
    flows, _ = both("table", saved_run, "flows")
    assert flows[0]["finished_ns"] is None, (
        "a flow that has not finished must have no time of its finish"
    )
    names, cells = both("table", saved_run)
    same(names, cells)
    assert [name["table"] for name in names] == list(run.tables)


def test_crossings_of_a_run_are_rows_of_csv(both: Read, tmp_path: Path) -> None:
    run = ns.load("early-timeout").run()
    run.save(tmp_path / "r")
    rows, cells = both("table", "r", "crossings")
    same(rows, cells)
    crossings = run.crossings()
    assert [round(crossing.t * 1e9) for crossing in crossings] == [row["t_ns"] for row in rows]
    assert run.crossings(start=crossings[0].t + 1e-3) == crossings[1:]
    with pytest.raises(ns.RunError, match=r"run\.crossings\(\)"):
        run.table("crossings")


def test_events_of_compared_runs_are_rows_of_csv(both: Read, tmp_path: Path) -> None:
    base = ns.new_scenario().replace({"stop": "20 s"})
    base.run().save(tmp_path / "a")
    base.replace({"links.modem.queue": "10 packets"}).run().save(tmp_path / "b")
    data, cells = both("compare", "a", "b", "--flow", "transfer")
    same(data["events"], cells)


def test_recordings_are_rows_of_csv(both: Read) -> None:
    data, cells = both("delays", ROOT / "data" / "ping.txt", ROOT / "data" / "irtt.json")
    assert [entry["file"] for entry in data] == [row["file"] for row in cells]
    same([entry["recordings"][0] for entry in data], cells)


def test_a_file_that_is_no_recording_gives_an_error_and_no_row(
    netspurt: Command, tmp_path: Path
) -> None:
    (tmp_path / "x.txt").write_text("nothing of the kind\n")
    result = netspurt("delays", ROOT / "data" / "ping.txt", "x.txt", "--csv")
    assert result.returncode == 2
    assert result.stdout.count("\n") == 2
    assert result.stderr.startswith("error: ")


def test_fitted_lines_and_bursts_of_long_delays_are_rows_of_csv(both: Read, tmp_path: Path) -> None:
    file = ROOT / "data" / "probe.jsonl"
    (data,), cells = both("delays", "lengths", file)
    same(data["lines"], cells)
    assert cells[0]["recording"] == data["name"]
    long = [0.050] * 40 + [0.400, 0.300] + [0.050] * 40 + [0.500] + [0.050] * 40
    ns.Delays.of(long, every=1.0).save(tmp_path / "bursts.csv")
    (data,), cells = both("delays", "bursts", "bursts.csv")
    assert len(data["bursts"]) == 2
    same(data["bursts"], cells)


def test_timers_are_rows_of_csv_with_the_ends_of_intervals_as_columns(both: Read) -> None:
    words = ("replay", ROOT / "data" / "ping.txt", "-e", "linux", "-e", "mills")
    (data,), cells = both(*words)
    asked = [row for row in cells if row["estimator"] in ("linux", "mills")]
    same(data["estimators"], asked)
    assert float(cells[0]["mean_timer_s.low"]) == data["estimators"][0]["mean_timer_s"]["low"]
    costs = {one["estimator"]: one["cost_s"] for one in data["advice"]["costs"]}
    for row in cells:
        for end in ("value", "low", "high"):
            assert float(row[f"cost_s.{end}"]) == costs[row["estimator"]][end]
    assert data["advice"]["linux"] in [row["estimator"] for row in cells]
    data, cells = both(*words, "--pool")
    same(data["advice"]["costs"], cells)
    (data,), cells = both(*words, "--versus", "linux")
    same(data["versus"], cells)
    data, cells = both("replay", ROOT / "data" / "ping.txt", "-e", "mills:g=1..2/3", "--all")
    assert [entry["cost_s"] for entry in data] == [float(row["cost_s"]) for row in cells]


def test_groups_of_a_sweep_are_rows_of_csv_and_its_axes_are_columns(
    both: Read, tmp_path: Path
) -> None:
    window = {"path": "flows.transfer.tcp.initial_window", "values": ["1 segment", "4 segments"]}
    base = ns.new_scenario().replace({"stop": "20 s"})
    scenario = base.replace({"sweep": {"seeds": 3, "over": {"window": window}}})
    run_sweep(Sweep.of(scenario), tmp_path / "s")
    rows, cells = both("sweep", "show", "s", "-m", "sent")
    same(rows, cells)
    assert [row["window"] for row in cells] == window["values"]
    rows, cells = both("sweep", "compare", "s", "--axis", "window", "-m", "retransmissions")
    same(rows, cells)
    names, cells = both("sweep", "show", "s")
    assert names == [row["measure"] for row in cells]


def test_scripts_are_rows_of_csv(both: Read) -> None:
    folder = ROOT / "crates" / "netspurt" / "scripts" / "rto"
    data, cells = both("script", folder)
    assert [entry["file"] for entry in data] == [row["file"] for row in cells]
    assert {row["verdict"] for row in cells} == {"ok"}
