"""Tests that commands find the scenarios that come with netspurt by their names."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

import netspurt as ns
from netspurt import shipped
from netspurt.cli import completing
from netspurt.scenario import followed_names

from conftest import Command, refused


def test_every_shipped_scenario_is_listed_once_with_its_command(netspurt: Command) -> None:
    listed = netspurt("scenarios").stdout.splitlines()[1:]
    rows = json.loads(netspurt("scenarios", "--json").stdout)
    assert [line.split()[0] for line in listed] == [row["name"] for row in rows]
    assert [row["name"] for row in rows] == shipped.names()
    commands = {row["name"]: row["command"] for row in rows}
    assert commands["rfc2416"] == "run"
    assert commands["live/rfc2416"] == "live run"
    assert commands["live/page"] == "live exec"
    for row in rows:
        assert row["title"], row
        text = shipped.file_of(row["name"]).read_text("utf-8")
        assert (row["cases"] is None) == ("sweep" not in tomllib.loads(text)), row


def test_a_scenario_that_comes_with_netspurt_is_run_by_its_name(netspurt: Command) -> None:
    words = ("--set", "stop=10 s", "--json", "--out")
    named = netspurt("run", "rfc2416", *words, "named")
    by_path = netspurt("run", shipped.SHELF / "rfc2416.toml", *words, "path")
    assert json.loads(named.stdout)["digest"] == json.loads(by_path.stdout)["digest"]


def test_a_file_is_preferred_to_a_shipped_scenario_of_the_same_name(netspurt: Command) -> None:
    mine = ns.load("rfc2416").replace({"title": "mine", "stop": "1 s"})
    Path("rfc2416").write_text(mine.resolved())
    assert json.loads(netspurt("run", "rfc2416", "--json").stdout)["title"] == "mine"


def test_a_folder_of_the_same_name_does_not_hide_the_scenario(netspurt: Command) -> None:
    Path("rfc2416").mkdir()
    assert netspurt("run", "rfc2416", "--set", "stop=1 s", "--out", "x").returncode == 0


def test_live_commands_take_a_name_without_its_prefix_live() -> None:
    assert shipped.resolve("rfc2416", live=True) == shipped.SHELF / "live" / "rfc2416.toml"
    assert shipped.resolve("requests", live=True) == shipped.SHELF / "requests.toml"
    assert shipped.resolve("live/page") == shipped.SHELF / "live" / "page.toml"


@pytest.mark.parametrize("words", [("run",), ("live", "run"), ("sweep", "--out", "x")])
def test_the_error_for_an_unknown_name_suggests_the_nearest_name(
    netspurt: Command, words: tuple[str, ...]
) -> None:
    expected = (
        "there is no file rfc2461, and no scenario `rfc2461` comes with netspurt: did you mean "
    )
    refused(netspurt(*words, "rfc2461"), expected + "rfc2416?")


def test_a_written_scenario_comes_with_the_files_that_its_links_follow(
    netspurt: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (shipped.SHELF / "rfc2416.toml").read_text()
    assert netspurt("scenarios", "rfc2416").stdout == text
    shelf = tmp_path / "shelf"
    shelf.mkdir()
    moving = netspurt("new").stdout.replace('delay   = "25 ms"', 'follows = "pass.toml"')
    assert followed_names(moving) == ["pass.toml"]
    (shelf / "moving.toml").write_text(moving)
    (shelf / "pass.toml").write_text('delay = "3 ms"\n')
    monkeypatch.setattr(shipped, "SHELF", shelf)
    assert shipped.names() == ["moving"]
    printed = netspurt("scenarios", "moving")
    assert printed.stdout == moving
    assert "pass.toml" in printed.stderr
    assert netspurt("scenarios", "moving", "--out", "copy/mine.toml").returncode == 0
    assert ns.load("copy/mine.toml").resolved() == ns.load("moving").resolved()
    refused(netspurt("scenarios", "moving", "--out", "copy/mine.toml"), "copy/mine.toml exists")


def test_the_shell_completes_names_files_and_folders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert completing.scenarios("rfc") == ["rfc2416"]
    assert completing.shipped("live/r") == ["live/rfc2416", "live/rough"]
    (tmp_path / "rfc-mine.toml").touch()
    (tmp_path / "rfc.txt").touch()
    (tmp_path / "rfcs").mkdir()
    (tmp_path / "rfcs" / "a.toml").touch()
    assert completing.scenarios("rfc") == ["rfc-mine.toml", "rfcs/", "rfc2416"]
    assert completing.scenarios("rfcs/") == ["rfcs/a.toml"]
    assert completing.scenarios("nowhere/") == []
