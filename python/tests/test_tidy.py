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


#: What stands for an import that cannot be followed.
HIDDEN = "something in a way that cannot be followed"


def imported(tree: ast.AST, package: list[str]) -> Iterator[str]:
    """Yield the rooms that a module of `package` imports at run time."""
    typing_only = {
        inner
        for node in ast.walk(tree)
        if isinstance(node, ast.If)
        and ast.unparse(node.test) in {"TYPE_CHECKING", "typing.TYPE_CHECKING"}
        for statement in node.body
        for inner in ast.walk(statement)
    }
    for node in ast.walk(tree):
        if node in typing_only:
            continue
        if isinstance(node, ast.ImportFrom):
            above = package[: len(package) + 1 - node.level] if node.level else []
            module = [*above, *(node.module or "").split(".")] if node.module else above
            names = (alias.name for alias in node.names)
            yield from _rooms(*([*module, name] for name in names))
        elif isinstance(node, ast.Import):
            for alias in node.names:
                yield from _rooms(alias.name.split("."))
                if alias.name == "netspurt":
                    yield HIDDEN
        elif isinstance(node, ast.Attribute) and ast.unparse(node.value) == "netspurt":
            yield node.attr
        elif {getattr(node, "attr", ""), getattr(node, "id", "")} & {"import_module", "__import__"}:
            yield HIDDEN


def _rooms(*modules: list[str]) -> Iterator[str]:
    for first, *rest in modules:
        if first == "netspurt" and rest:
            yield HIDDEN if rest[0] == "*" else rest[0]
        elif first == "importlib" and rest[:1] not in (["resources"], ["metadata"], ["util"]):
            yield HIDDEN


def bad_imports(
    room: str, text: str, known: dict[str, int], package: list[str] | None = None
) -> list[str]:
    if room not in known:
        return [f"the room {room} has no floor in ARCHITECTURE.md"]
    wrong = []
    for other in imported(ast.parse(text), package or ["netspurt"]):
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


def claim_ids(text: str) -> list[str]:
    keys = "|".join(path.name for path in (ROOT / "papers").iterdir())
    found = re.finditer(rf"\b({keys})\.(?!toml)[a-z]", text)
    return [f"a claim's id: {match[0]}" for match in found]


@pytest.mark.parametrize("file", sources(), ids=lambda f: str(f.relative_to(PACKAGE)))
def test_a_source_keeps_the_house_rules(file: Path) -> None:
    text = file.read_text()
    wrong = long_functions(text)
    if file != PACKAGE / "__init__.py":
        package = ["netspurt", *file.relative_to(PACKAGE).parent.parts]
        wrong += bad_imports(room_of(file), text, floors(), package)
    if len(text.splitlines()) > MAX_FILE:
        wrong.append(f"{len(text.splitlines())} lines")
    assert not wrong + claim_ids(text)


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


@pytest.mark.parametrize(
    "text",
    [
        "from .top import x",
        "from . import top",
        "import netspurt\nnetspurt.top.x()",
        "import netspurt as n",
        "import netspurt.ground\nnetspurt.top.x()",
        "from netspurt import *",
        "import importlib",
        "from importlib import import_module",
        "import importlib.util\nimportlib.import_module('netspurt.top')",
        "__import__('netspurt.top')",
        "if TYPE_CHECKING:\n    pass\nelse:\n    from netspurt.top import x",
        "try:\n    from netspurt import top\nexcept ImportError:\n    pass",
    ],
)
def test_each_way_to_a_room_above_is_found(text: str) -> None:
    assert bad_imports("ground", text, {"top": 1, "ground": 0})


def test_imports_within_a_room_are_its_own() -> None:
    known = {"top": 1, "ground": 0}
    package = ["netspurt", "ground"]
    for text in ("from . import part", "from .part import x", "from .. import ground"):
        assert bad_imports("ground", text, known, package) == []
    assert bad_imports("ground", "from ..top import x", known, package)
    assert bad_imports("ground", "from .. import top", known, package)
    assert bad_imports("top", "import importlib.metadata, importlib.resources", known) == []


def test_a_claims_id_is_found() -> None:
    key = next((ROOT / "papers").iterdir()).name
    assert claim_ids(f"the claim {key}.thing")
    assert claim_ids(f"not {key}.toml, nor {key}/thing.") == []
