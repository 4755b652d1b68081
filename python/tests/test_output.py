"""Tests what netspurt prints: control characters, colours and errors.

Control characters are made visible, and colours are printed only in a terminal. Every error message
begins with `error: `.
"""

from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path

import pytest

from netspurt.cli.output import HarmlessStream, harmless, paint

from conftest import Command, refused

#: A text that clears the screen, sets the title, asks the terminal for its status, and reverses the
#: direction of writing.
HOSTILE = "\x1b[2J\x1b]0;mine\x07\x9b5n\u202e\r\x00"
#: What netspurt prints in place of `HOSTILE`.
VISIBLE = r"\x1b[2J\x1b]0;mine\x07\x9b5n\u202e\x0d\x00"


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def test_control_characters_are_made_visible() -> None:
    assert harmless(HOSTILE) == VISIBLE
    assert harmless("a\tb\n\u00e9 \u4e2d") == "a\tb\n\u00e9 \u4e2d"
    assert harmless("\ud800") == r"\ud800"


def test_styles_are_the_only_escape_sequences_that_are_printed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    for style in ("bold", "bold red", "dim", "green", "yellow", "blue"):
        shown = harmless(paint("x", style, Terminal()))
        assert shown.startswith("\x1b[")
        assert shown.endswith("x\x1b[0m")
        assert "\x1b" not in harmless(shown), "only a style that `paint` has just added is printed"
    for sequence in (
        "\x1b[31m",
        "\x1b[0m",
        "[31m",
        "\x1b[5m",
        "\x1b[8m",
        "\x1b[31;8m",
        "\x1b[31",
        "\x1b[1000m",
    ):
        assert "\x1b" not in harmless(sequence), sequence


def test_a_stream_writes_only_harmless_characters() -> None:
    stream = Terminal()
    assert HarmlessStream(stream).write(HOSTILE) == len(HOSTILE)
    assert stream.getvalue() == VISIBLE
    assert HarmlessStream(stream).isatty()


def test_colours_are_printed_only_in_a_terminal_and_only_if_the_variable_no_color_is_empty(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    assert paint("x", "bold red", Terminal()) == "x"
    monkeypatch.setenv("NO_COLOR", "")
    assert harmless(paint("x", "bold red", Terminal())) == "\x1b[1;31mx\x1b[0m"
    assert paint("x", "bold red", io.StringIO()) == "x"


def test_titles_and_errors_from_files_are_printed_without_control_characters(
    netspurt: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert netspurt("new", "mine.toml").returncode == 0
    text = (tmp_path / "mine.toml").read_text()
    lines = [line for line in text.splitlines() if not line.startswith("title")]
    title = 'title = "\\u001b[2Jtitle\\u001b[31m"'
    (tmp_path / "mine.toml").write_text("\n".join([title, *lines]) + "\n")
    # If the output is not a terminal, typer itself removes escape sequences.
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    result = netspurt("run", "mine.toml")
    assert result.returncode == 0, result.stderr
    assert r"\x1b[2Jtitle\x1b[31m" in result.stdout
    (tmp_path / "mine.toml").write_text('"\\u001b[2J" = 1\n')
    result = netspurt("run", "mine.toml")
    refused(result)
    assert "\x1b" not in result.stdout + result.stderr
    refused(netspurt("run", HOSTILE.replace("\x00", "")), VISIBLE.replace(r"\x00", ""))


@pytest.mark.parametrize(
    "words",
    [
        ("run",),
        ("run", "--nothing"),
        ("nothing",),
        ("run", "nothing.toml"),
        ("sweep", "status", "nothing"),
        ("replay", "nothing.csv"),
        ("delays", "nothing.csv"),
        ("plot", "nothing"),
        ("papers", "show", "nothing"),
    ],
)
def test_the_message_of_every_error_begins_with_the_word_error_and_a_colon(
    netspurt: Command, words: tuple[str, ...]
) -> None:
    result = netspurt(*words)
    refused(result)
    assert [line for line in result.stderr.splitlines() if line.startswith("error: ")], (
        result.stderr
    )


def test_the_help_explains_the_exit_statuses(netspurt: Command) -> None:
    result = netspurt("--help")
    assert result.returncode == 0
    assert "Exit status: 0: done. 1: a check failed" in result.stdout


def test_the_command_restores_standard_output_and_error(netspurt: Command) -> None:
    before = sys.stdout, sys.stderr
    netspurt("--version")
    assert (sys.stdout, sys.stderr) == before


@pytest.mark.parametrize(
    ("closed", "status", "told"),
    [
        (">&-", 2, "error: the standard output is closed: write >/dev/null for no output\n"),
        ("2>&-", 0, ""),
    ],
)
def test_only_a_closed_standard_output_is_an_error(closed: str, status: int, told: str) -> None:
    line = f'"{sys.executable}" -m netspurt scenarios --csv {closed}'
    result = subprocess.run(["sh", "-c", line], capture_output=True, text=True, check=False)
    assert (result.returncode, result.stderr) == (status, told)
    wrong = line.replace("scenarios", "nothing")
    result = subprocess.run(["sh", "-c", wrong], capture_output=True, text=True, check=False)
    assert (result.returncode, result.stdout) == (2, "")


@pytest.mark.parametrize("words", ["--version", "schema", "scenarios --csv"])
def test_an_output_that_cannot_be_written_is_named_in_the_error(words: str) -> None:
    with Path("/dev/full").open("wb") as full:
        command = [sys.executable, "-m", "netspurt", *words.split()]
        result = subprocess.run(
            command, stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert result.stderr == "error: the standard output: No space left on device\n"
    assert result.returncode == 2
