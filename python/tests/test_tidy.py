"""The house rules for Python, proved on the sources."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import ROOT

PACKAGE = ROOT / "python" / "netspurt"
MAX_FUNCTION = 70
MAX_FILE = 600


def floors() -> dict[str, int]:
    text = (ROOT / "ARCHITECTURE.md").read_text()
    table = text.partition("```floors python\n")[2].partition("```")[0]
    found: dict[str, int] = {}
    for line in table.splitlines():
        floor, *rooms = line.split()
        found |= dict.fromkeys(rooms, int(floor))
    return found


def sources() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def room_of(file: Path) -> str:
    part = file.relative_to(PACKAGE).parts[0]
    return part.removesuffix(".py")


def imported(tree: ast.AST) -> Iterator[str]:
    """Yield the rooms of the package that a module imports at run time."""
    typing_only = {
        inner
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if node in typing_only:
            continue
        if isinstance(node, ast.ImportFrom) and node.module == "netspurt":
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("netspurt."):
            yield str(node.module).split(".")[1]
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.startswith("netspurt."):
                    yield alias.name.split(".")[1]


def bad_imports(room: str, text: str, known: dict[str, int]) -> list[str]:
    if room not in known:
        return [f"the room {room} has no floor in ARCHITECTURE.md"]
    wrong = []
    for other in imported(ast.parse(text)):
        if other == room:
            continue
        if other not in known:
            wrong.append(f"{room} imports {other}, a room without a floor")
        elif known[other] >= known[room]:
            wrong.append(f"{room} imports {other}, which is not below it")
    return wrong


def long_functions(text: str) -> list[str]:
    functions = (
        node
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    )
    lines = ((f.name, (f.end_lineno or 0) - f.lineno + 1) for f in functions)
    return [f"{name} has {n} lines" for name, n in lines if n > MAX_FUNCTION]


@pytest.mark.parametrize("file", sources(), ids=lambda f: str(f.relative_to(PACKAGE)))
def test_a_source_keeps_the_house_rules(file: Path) -> None:
    text = file.read_text()
    wrong = long_functions(text)
    if file != PACKAGE / "__init__.py":
        wrong += bad_imports(room_of(file), text, floors())
    if len(text.splitlines()) > MAX_FILE:
        wrong.append(f"{len(text.splitlines())} lines")
    keys = "|".join(path.name for path in (ROOT / "papers").iterdir())
    wrong += [f"a claim's id: {m[0]}" for m in re.finditer(rf"\b({keys})\.[a-z](?!oml)", text)]
    assert not wrong


def test_every_room_has_a_floor_and_every_floor_its_rooms() -> None:
    there = {room_of(file) for file in sources()} - {"__init__"} | {"_core"}
    assert there == set(floors())


def test_each_rule_finds_its_offender() -> None:
    known = {"top": 1, "side": 1, "ground": 0}
    assert bad_imports("top", "from netspurt.ground import x", known) == []
    assert bad_imports("top", "from netspurt import ground", known) == []
    assert bad_imports("ground", "import netspurt.top", known)
    assert bad_imports("top", "def f():\n    from netspurt.side.part import x", known)
    assert bad_imports("attic", "", known)
    typing = "if TYPE_CHECKING:\n    from netspurt.top import x"
    assert bad_imports("ground", typing, known) == []
    assert long_functions("def f():\n" + "    x = 1\n" * MAX_FUNCTION) == ["f has 71 lines"]
