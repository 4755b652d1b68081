"""Tests the help of every command, and the words that the shell completes."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

import netspurt as ns
from netspurt.cli.main import application
from netspurt.sweep import Sweep, run_sweep

from conftest import NETSPURT, Command, refused


def every_command(group: Any, name: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield the words of a command and of all its subcommands."""
    yield name
    for word, command in getattr(group, "commands", {}).items():
        yield from every_command(command, (*name, word))


#: The words of each command.
COMMANDS = list(every_command(typer.main.get_command(application())))


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_the_help_of_every_command_is_in_whole_sentences_and_plain_names(
    netspurt: Command, words: tuple[str, ...]
) -> None:
    result = netspurt(*words, "--help", columns=100)
    assert result.returncode == 0
    head, _, body = result.stdout.partition("\n")
    assert not re.search(r"<[a-zA-Z\[]|[{]", result.stdout), result.stdout
    assert "...\n" not in body.replace("-- COMMAND...\n", ""), "no sentence of the help may be cut"
    assert re.fullmatch(r"Usage: netspurt[a-z ]* \[OPTIONS\].*", head)
    summary = body.lstrip("\n").partition("\n\n")[0]
    assert summary.strip().endswith((".", "?")), summary


def test_every_option_and_argument_says_what_it_is() -> None:
    whole = typer.main.get_command(application())
    for words in COMMANDS:
        command: Any = whole
        for word in words:
            command = command.commands[word]
        for parameter in command.params:
            assert parameter.help, (words, parameter.name)
            assert parameter.help.rstrip().endswith("."), (words, parameter.name, parameter.help)


def test_the_help_is_grouped_by_task(netspurt: Command) -> None:
    text = netspurt("--help").stdout
    groups = re.findall(r"^([A-Z].*):$", text, re.MULTILINE)
    assert groups[1:] == [
        "Simulate and look",
        "Choose a timer for recorded delays",
        "Make links that move",
        "Explain captures",
        "Use real paths and the kernel's TCP",
        "Check",
    ]
    for words in COMMANDS:
        if len(words) == 1:
            assert len(re.findall(rf"^  {words[0]} +[A-Z]", text, re.MULTILINE)) == 1, words


@pytest.mark.parametrize("group", ["delays", "sweep"])
def test_the_help_of_a_group_lists_the_options_of_its_default_command(
    netspurt: Command, group: str
) -> None:
    output = netspurt(group, "--help").stdout
    own_help = netspurt(group, "x", "--help").stdout
    assert re.match(rf"Usage: netspurt {group} \[OPTIONS\] [A-Z]+", own_help)
    options = own_help[own_help.index("Arguments:") :]
    assert options in output
    assert "--json" in options


@pytest.mark.parametrize(
    ("words", "path"),
    [("delays x --interval 5x", "delays"), ("sweep show x --digits", "sweep show")],
)
def test_the_error_of_a_default_command_leads_to_the_help_of_its_group(
    netspurt: Command, words: str, path: str
) -> None:
    assert f"Try 'netspurt {path} -h' for help." in netspurt(*words.split()).stderr


#: A scenario with the kernel's TCP at both ends.
KERNELS = """
stop = "3 s"
links = { wire = { between = ["a", "b"], rate = "2 Mbit/s" } }
flows = { x = { from = "a", to = "b", endpoint = "kernel", profile = "reno-2005" } }
"""


@pytest.mark.parametrize("budget", ["-1", "1e300", "nan", "x"])
@pytest.mark.parametrize("words", [("run", "x.toml"), ("exec", "x.toml", "--", "true")])
def test_the_error_for_an_invalid_budget_names_the_option(
    netspurt: Command, words: tuple[str, ...], budget: str
) -> None:
    result = netspurt("live", words[0], "--budget", budget, *words[1:])
    refused(result, "'--budget'", f"'{budget}' is not a time from 0 to a million seconds")
    assert "order" not in result.stderr
    with pytest.raises(ns.LiveError, match="seconds from 0 to a million"):
        ns.run_live(ns.Scenario.parse(KERNELS), "r", budget=-1)


def completed(folder: Path, *words: str) -> list[str]:
    """Return the completions that bash gets for the last word."""
    environment = {
        **os.environ,
        "_NETSPURT_COMPLETE": "complete_bash",
        "COMP_WORDS": " ".join(["netspurt", *words]),
        "COMP_CWORD": str(len(words)),
    }
    result = subprocess.run(
        [NETSPURT], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert result.stderr == ""
    return result.stdout.split()


def test_the_shell_completes_estimators_tables_axes_and_labels(tmp_path: Path) -> None:
    window = {"path": "flows.transfer.tcp.initial_window", "values": ["1 segment", "4 segments"]}
    base = ns.new_scenario().replace({"stop": "2 s"})
    run_sweep(Sweep.of(base.replace({"sweep": {"over": {"window": window}}})), tmp_path / "s")
    base.run().save(tmp_path / "r")
    assert completed(tmp_path, "replay", "-e", "mi") == ["mills", "mills-single"]
    assert "linux" in completed(tmp_path, "probe", "-e", "l")
    assert completed(tmp_path, "table", "r", "s") == ["segments", "sack_blocks", "syns"]
    assert completed(tmp_path, "sweep", "show", "s", "--by", "w") == ["window"]
    assert completed(tmp_path, "sweep", "compare", "s", "--axis", "") == ["window"]
    (tmp_path / "s" / "sweep.json").write_text("[")
    assert completed(tmp_path, "sweep", "show", "s", "--by", "w") == []
    assert completed(tmp_path, "table", "nothing", "s") == []


def test_python_m_netspurt_runs_the_command(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "netspurt", "--version"]
    result = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert result.stdout == f"netspurt {ns.__version__}\n"


def test_thousands_are_separated_by_commas(netspurt: Command, tmp_path: Path) -> None:
    netspurt("new", "x.toml")
    assert re.search(r"\b1,\d{3} packet-hops", netspurt("run", "x.toml", "--out", "r").stdout)
    rtts = "\n".join(f"{n},{40 + n % 7}" for n in range(1500))
    (tmp_path / "d.csv").write_text("sent_s,rtt_ms\n" + rtts + "\n")
    for words in (("delays", "d.csv"), ("replay", "d.csv")):
        out = netspurt(*words).stdout
        assert "1,500" in out
        assert "1 500" not in out
