"""Tests the table *Rows of the papers* in VALIDATION.md: commands print what their rows say."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from pathlib import Path

import pytest

from conftest import ROOT, Command


@dataclass(frozen=True)
class Row:
    """A row: its commands, and either the texts that they print or the test that covers the row."""

    name: str
    commands: tuple[str, ...]
    shows: tuple[str, ...]
    kernel: bool


def rows() -> list[Row]:
    """Return the rows of the table in VALIDATION.md."""
    text = (ROOT / "VALIDATION.md").read_text()
    section = text.partition("## Rows of the papers")[2].partition("\n## ")[0]
    found = []
    for line in section.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        if re.fullmatch(r"[MTGSJ]\d+", cells[0]):
            name, _, commands, shows = cells
            run, shown = (tuple(re.findall(r"`([^`]+)`", cell)) for cell in (commands, shows))
            found.append(Row(name, run, shown, kernel=commands.endswith("(kernel)")))
    return found


#: All rows of the table.
ROWS = rows()


def numbered(letter: str, *numbers: int) -> set[str]:
    """Return the names of rows with this letter and these numbers."""
    return {f"{letter}{number}" for number in numbers}


def test_the_table_has_every_row_once() -> None:
    wanted = (
        numbered("M", *range(1, 34))
        | numbered("T", *range(1, 17))
        | numbered("G", *range(1, 27))
        | numbered("S", *range(1, 29))
        | numbered("J", *range(1, 14))
    )
    assert sorted(row.name for row in ROWS) == sorted(wanted)
    assert all(row.commands and row.shows for row in ROWS)


def plain(text: str) -> str:
    """Return a text with single spaces."""
    return " ".join(text.split())


@pytest.mark.parametrize("row", [row for row in ROWS if not row.kernel], ids=lambda row: row.name)
def test_the_commands_of_a_row_print_what_the_row_says(
    netspurt: Command, tmp_path: Path, row: Row
) -> None:
    for folder in ("crates", "data", "papers", "scenarios"):
        (tmp_path / folder).symlink_to(ROOT / folder)
    printed = ""
    for command in row.commands:
        program, *words = shlex.split(command)
        assert program == "netspurt"
        result = netspurt(*words)
        assert result.returncode == 0, f"$ {command}\n{result.stdout}{result.stderr}"
        printed += result.stdout + result.stderr
    for shown in row.shows:
        assert plain(shown) in plain(printed), f"{row.commands}\n{printed}"


@pytest.mark.parametrize("row", [row for row in ROWS if row.kernel], ids=lambda row: row.name)
def test_a_row_that_needs_the_kernel_names_an_existing_test_and_existing_options(
    netspurt: Command, row: Row
) -> None:
    file, test = row.shows
    folder = ROOT / ("python/tests" if file.endswith(".py") else "crates/netspurt-live/tests")
    assert re.search(rf"^(def|fn) {test}\(", (folder / file).read_text(), re.MULTILINE)
    for command in row.commands:
        program, *words = shlex.split(command)
        assert program == "netspurt"
        known = [word for word in words if re.fullmatch(r"[a-z]+", word)][
            : 1 + (words[0] == "live")
        ]
        assert netspurt(*known, "--help").returncode == 0
        options = [word for word in words if word.startswith("--") and word != "--"]
        told = netspurt(*known, "--help").stdout if known != ["papers"] else "--explain"
        assert [option for option in options if option not in told] == []
