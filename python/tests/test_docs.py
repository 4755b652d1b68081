"""Tests that commands and code in README.md and in `docs/` do what these documents show."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from netspurt import _core

from conftest import NETSPURT, ROOT, Command
from lateness import TimelessError, real_time

#: The documents whose code is run.
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def blocks(path: Path, language: str) -> list[str]:
    """Return the code blocks of a document that are marked with this language."""
    return re.findall(rf"^```{language}\n(.*?)^```", path.read_text(), re.DOTALL | re.MULTILINE)


def steps(block: str) -> Iterator[tuple[str, str]]:
    """Yield the commands of a console block, each with the output that the block shows."""
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        command, _, output = part.partition("\n")
        yield command, output


def matches(expected: str, printed: str) -> bool:
    """Return True if the printed text is the expected one, in which `...` stands for any text."""
    pattern = re.sub(r"(?:\\\.){3,}", ".*", re.escape(expected.strip()))
    return re.fullmatch(pattern, printed.strip(), re.DOTALL) is not None


#: Commands that run in the process of the tests, because they start no other program.
ALONE = {
    "compare",
    "delays",
    "fragments",
    "new",
    "plot",
    "qlog",
    "replay",
    "report",
    "run",
    "scenarios",
    "script",
    "sites",
    "sweep",
    "table",
    "timeline",
}


def printed(command: str, netspurt: Command, folder: Path) -> str:
    """Return everything that a command line prints."""
    program, *words = shlex.split(command)
    if program == "netspurt" and words[0] in ALONE and not set(command) & set("|<>;&\\"):
        result = netspurt(*words, columns=100)
        return result.stderr + result.stdout
    return subprocess.run(
        ["sh", "-c", f'PATH="{NETSPURT.parent}:$PATH"; {command}'],
        cwd=folder,
        env={**os.environ, "COLUMNS": "100"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=300,
    ).stdout


#: Commands that send packets in real time: through the kernel's TCP, or as echo probes.
IN_REAL_TIME = ("live", "probe")

#: Documents with commands in real time.
LIVE = [
    path
    for path in DOCUMENTS
    if any(f"$ netspurt {name} " in "".join(blocks(path, "console")) for name in IN_REAL_TIME)
]


@pytest.mark.parametrize(
    "path", [p for p in DOCUMENTS if p not in LIVE], ids=lambda p: str(p.relative_to(ROOT))
)
def test_commands_in_documents_print_what_the_documents_show(
    path: Path, netspurt: Command, tmp_path: Path
) -> None:
    check_consoles(path, netspurt, tmp_path)


@pytest.mark.parametrize("path", LIVE, ids=lambda p: str(p.relative_to(ROOT)))
@real_time
def test_commands_in_real_time_print_what_the_documents_show(
    path: Path, netspurt: Command, tmp_path: Path
) -> None:
    capabilities = {name: (available, why) for name, available, why, _ in _core.capabilities()}
    available, why = capabilities["user and network namespaces"]
    if not available:
        pytest.skip(f"no live runs: {why}")
    check_consoles(path, netspurt, tmp_path)


def check_consoles(path: Path, netspurt: Command, tmp_path: Path) -> None:
    """Check that the commands of a document print what the document shows.

    On a late machine (`lateness.py`), a command in real time may print something else. A command
    that reads its results may then print something else, too. If any other command prints something
    else, the test fails even on a late machine.
    """
    (tmp_path / "data").symlink_to(ROOT / "data")
    for block in [part for kind in ("python", "toml", "csv") for part in blocks(path, kind)]:
        if named := re.match(r"# ([\w/]+\.(py|toml|csv))\n", block):
            file = tmp_path / named[1]
            file.parent.mkdir(exist_ok=True)
            # CSV has no comments, so the line with the file's name is left out.
            file.write_text(block.partition("\n")[2] if named[2] == "csv" else block)
    live: set[str] = set()
    for block in blocks(path, "console"):
        for command, expected in steps(block):
            output = printed(command, netspurt, tmp_path)
            words = shlex.split(command)
            sends = words[0] == "netspurt" and not {*IN_REAL_TIME}.isdisjoint(words[1:2])
            if sends or live & set(words):
                live.update(word for option, word in pairwise(words) if option == "--out")
                assert matches(expected, output), f"$ {command}\n{output}"
            elif not matches(expected, output):
                raise TimelessError(f"$ {command}\n{output}")


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda p: str(p.relative_to(ROOT)))
def test_the_python_code_in_documents_runs(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").symlink_to(ROOT / "data")
    for block in blocks(path, "python"):
        exec(compile(block, str(path), "exec"), {})


@real_time
def test_the_table_in_the_readme_is_the_one_that_the_command_prints(tmp_path: Path) -> None:
    """The table has 36 reproduced claims. Six of them are measured in runs of the kernel's TCP."""
    capabilities = {name: (available, why) for name, available, why, _ in _core.capabilities()}
    available, why = capabilities["user and network namespaces"]
    if not available:
        pytest.skip(f"the kernel's rows are not run: {why}")
    words = [str(NETSPURT), "papers", "check", "rfc2416"]
    printed = subprocess.run(
        words,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "COLUMNS": "100"},
    ).stdout
    if "not run: " in printed:
        pytest.skip(f"the kernel's rows are not run: {printed.partition('not run: ')[2][:80]}")
    (shown,) = [b for b in blocks(ROOT / "README.md", "") if b.startswith("RFC 2416")]
    shown = shown.replace("\n  ...\n", "...\n")
    if not matches(shown[: shown.rindex("...")] + "...", printed):
        raise TimelessError(f"the rows of the simulation differ from the README:\n{printed}")
    assert matches(shown, printed.split("\n  pictures")[0])


def keys_of(schema: object) -> Iterator[str]:
    """Yield the keys of all tables in a JSON Schema, at any depth."""
    if isinstance(schema, list):
        for part in schema:
            yield from keys_of(part)
    if isinstance(schema, dict):
        properties = schema.get("properties", {})
        yield from properties
        for part in [*properties.values(), *(v for k, v in schema.items() if k != "properties")]:
            yield from keys_of(part)


def test_every_key_of_a_scenario_is_documented() -> None:
    import json

    from netspurt import _core

    page = (ROOT / "docs" / "scenarios.md").read_text()
    schema = json.loads(_core.schema())
    keys = set(keys_of(schema))
    assert len(keys) > 100
    assert {key for key in keys if key not in page} == set()
