"""Tests that the commands in our texts exist, and have the options that the texts give them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from netspurt.cli.main import application

from conftest import ROOT

#: The folders whose texts are checked. They hold documents, scenarios and sources. The sources have
#: error messages, help texts and comments.
FOLDERS = ("authorities", "bench", "crates", "docs", "papers", "python/netspurt", "scenarios")
SUFFIXES = {".md", ".py", ".rs", ".toml"}

#: The command `netspurt` with all its subcommands.
PROGRAM: Any = typer.main.get_command(application())
#: The class of errors about words of a command line.
USAGE_ERROR: Any = typer.BadParameter.__base__
#: Options that act as soon as a program reads them, so the tests leave them out.
AT_ONCE = {"-h", "--help", "--version", "--install-completion", "--show-completion"}
#: Texts that look like commands but are not commands: placeholders, and a line of output.
NO_COMMANDS = {"COMMAND --help", "{name} {word}", "refuses: …"}


def files_with_texts(folder: str) -> Iterator[Path]:
    """Yield the files of a folder of the project that may name commands, without tests.

    For the folder `.`, yield only the documents that lie directly in it.
    """
    if folder == ".":
        yield from ROOT.glob("*.md")
        return
    for file in (ROOT / folder).rglob("*"):
        if file.suffix in SUFFIXES and "tests" not in file.parts and file.name != "tests.rs":
            yield file


def named(text: str) -> list[str]:
    """Return the commands between backticks in a text, without the word `netspurt`.

    In a comment or in a string of Python, a command may go on in the next line.
    """
    joined = re.sub(r"\n[ \t]*(?:///|//!|//|#:|#)?[ \t]*", " ", text)
    joined = re.sub(r'" f?"', "", joined)
    return re.findall(r"`netspurt ([^`]{1,200})`", joined)


def fault(line: str) -> str | None:
    """Return what is wrong with a command line, or `None`.

    `line` has the words after `netspurt`. Arguments may be missing from it, and placeholders may
    stand for values.
    """
    line = re.split(r" [|<>&] |;| …| \.\.\.", re.sub(r"\{[^{}]*\}", "VALUE", line))[0]
    words = [one for one in shlex.split(line.replace("\\", "")) if one not in AT_ONCE]
    command, name = PROGRAM, "netspurt"
    try:
        while hasattr(command, "commands") and words:
            context = command.make_context(name, words)
            rest = [*getattr(context, "_protected_args", []), *context.args]
            name, command, words = command.resolve_command(context, rest)
        command.make_context(name, words)
    except typer.Exit:
        return None
    except USAGE_ERROR as error:
        message: str = error.format_message()
        return message if message.startswith("No such") else None
    return None


@pytest.mark.parametrize("folder", [".", *FOLDERS])
def test_every_command_in_our_texts_exists(folder: str) -> None:
    files = sorted(files_with_texts(folder))
    assert files
    lines = [(file, line) for file in files for line in named(file.read_text())]
    faults = [(file, line, fault(line)) for file, line in lines if line not in NO_COMMANDS]
    assert [one for one in faults if one[2] is not None] == []


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("explian x.pcap", "No such command 'explian'"),
        ("live exce SCENARIO", "No such command 'exce'"),
        ("explain --colour x.pcap", "No such option: --colour"),
        ("sweep FILE --lve", "No such option: --lve"),
        ("run x.toml -z 3", "No such option: -z"),
        ("sweep FILE --live", None),
        ("live exec SCENARIO -- program --any", None),
        ("explain --help", None),
        ("papers", None),
        ("plot {run} --kind path | less", None),
    ],
)
def test_a_wrong_word_of_a_command_is_found(line: str, why: str | None) -> None:
    found = fault(line)
    assert found is None if why is None else str(found).startswith(why)


def test_a_command_may_go_on_in_the_next_line() -> None:
    assert named("/// a `netspurt run\n    /// FILE`, b") == ["run FILE"]
    assert named('("a `netspurt "\n    f"run {file}`")') == ["run {file}"]
    assert named("a `netspurt` and `other run`") == []
