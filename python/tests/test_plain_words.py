"""Tests plain words: arguments of `netspurt explain` that are parsed without typer.

typer is the library that parses the arguments of all other commands. Without typer, `netspurt
explain` starts faster.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer

from netspurt.cli import explaining
from netspurt.cli.main import application
from netspurt.cli.plain_words import explain_words
from netspurt.cli.words import usage_error

from conftest import ROOT, Command

#: The default values of the options.
DEFAULTS = {
    "as_csv": None,
    "as_json": False,
    "parquet": None,
    "as_one": False,
    "connection": None,
}


def by_typer(words: list[str], monkeypatch: pytest.MonkeyPatch) -> dict[str, Any] | None:
    """Return the arguments with which typer calls `explain_files`, or `None` without a call."""
    passed: list[dict[str, Any]] = []

    def note(files: list[Path], **options: Any) -> int:
        passed.append({**options, "files": files})
        return 0

    monkeypatch.setattr(explaining, "explain_files", note)
    app = application(["explain"])
    try:
        app(["explain", *words], prog_name="netspurt", standalone_mode=False)
    except usage_error():
        return None
    return passed[0] if passed else None


#: Arguments that are plain words.
PLAIN = [
    "one.pcap",
    "one.pcap two.pcap -",
    "--csv one.pcap",
    "one.pcap --csv --as-one",
    "--csv=tcptrace one.pcap",
    "--csv= one.pcap",
    "--json one.pcap",
    "--parquet out.parquet one.pcap",
    "--parquet=out.parquet one.pcap",
    "--connection 3 one.pcap",
    "one.pcap --connection=0",
    "one.pcap --connection c3",
    "--connection 1 --connection 2 one.pcap",
    "--csv=a=b one.pcap",
    "--csv=tcptrace --csv one.pcap",
]

#: Arguments that only typer parses.
NOT_PLAIN = [
    "",
    "--help",
    "-h one.pcap",
    "--csv",
    "-- --json",
    "--json=yes one.pcap",
    "--connection -1 one.pcap",
    "--connection one one.pcap",
    "--connection c one.pcap",
    "--connection cc3 one.pcap",
    "--connection",
    "one.pcap --parquet",
    "--colour one.pcap",
    "-x one.pcap",
]


@pytest.mark.parametrize("line", PLAIN)
def test_plain_words_have_the_meaning_that_typer_gives_them(
    line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = line.split()
    read = explain_words(words)
    assert read is not None
    assert {**DEFAULTS, **read} == by_typer(words, monkeypatch)


@pytest.mark.parametrize("line", NOT_PLAIN)
def test_typer_parses_lines_that_have_the_option_help_or_double_dashes_or_possible_errors(
    line: str,
) -> None:
    assert explain_words(line.split()) is None


def test_plain_words_may_contain_every_option_of_the_command() -> None:
    group: Any = typer.main.get_command(application(["explain"]))
    command = group.commands["explain"]
    options = [
        name for parameter in command.params for name in parameter.opts if name.startswith("--")
    ]
    assert {"--csv", "--json", "--parquet", "--as-one", "--connection"} == set(options)
    for name in options:
        assert explain_words([name, "1", "one.pcap"]) is not None, name


#: A program that explains a capture and prints the names of the imported modules.
IMPORTS = """
import sys
from netspurt.cli import start

sys.argv = ["netspurt", "explain", "--csv", sys.argv[1]]
try:
    start()
finally:
    print("imported", *sys.modules)
"""


def test_netspurt_explain_prints_rows_as_csv_without_importing_typer_or_numpy() -> None:
    capture = next((ROOT / "data" / "captures").rglob("*.pcapng"))
    command = [sys.executable, "-c", IMPORTS, str(capture)]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    imported = result.stdout.splitlines()[-1].split()
    assert imported[0] == "imported"
    assert not {"typer", "pydantic", "numpy", "rich"} & set(imported)


def test_an_error_in_plain_words_ends_the_command_like_any_other_error(netspurt: Command) -> None:
    result = netspurt("explain", "--csv", "--json", "one.pcap")
    assert result.returncode == 2
    assert result.stderr.startswith("error: --csv and --json each say how to give results")
    result = netspurt("explain", "there-is-none.pcap")
    assert (result.returncode, result.stdout) == (2, "")
    assert "there-is-none.pcap" in result.stderr
