"""Checks the house rules for Python on the sources.

A room is a module or a package directly in `netspurt`. ARCHITECTURE.md gives each room a floor; a
room may import only rooms on lower floors.
"""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from conftest import ROOT

#: The folder of the package.
PACKAGE = ROOT / "python" / "netspurt"
#: The maximum number of lines of a function.
MAX_FUNCTION = 70
#: The maximum number of lines of a file.
MAX_FILE = 600
#: The maximum number of fields of a class.
MAX_FIELDS = 25
#: The maximum number of methods of a class.
MAX_METHODS = 60


def floors() -> dict[str, int]:
    """Return the floor of each room, from ARCHITECTURE.md."""
    text = (ROOT / "ARCHITECTURE.md").read_text()
    table = text.partition("```floors python\n")[2].partition("```")[0]
    found: dict[str, int] = {}
    for line in table.splitlines():
        floor, *rooms = line.split()
        found |= dict.fromkeys(rooms, int(floor))
    return found


def sources() -> list[Path]:
    """Return all modules of the package."""
    return sorted(PACKAGE.rglob("*.py"))


def room_of(file: Path) -> str:
    """Return the room of a module."""
    part = file.relative_to(PACKAGE).parts[0]
    return part.removesuffix(".py")


#: Stands for an import that cannot be followed.
HIDDEN = "something in a way that cannot be followed"


def typing_only(tree: ast.AST) -> set[ast.AST]:
    """Return the nodes that only type checkers read."""
    return {
        inner
        for node in ast.walk(tree)
        if isinstance(node, ast.If)
        and isinstance(node.test, ast.Name | ast.Attribute)
        and ast.unparse(node.test) in {"TYPE_CHECKING", "typing.TYPE_CHECKING"}
        for statement in node.body
        for inner in ast.walk(statement)
    }


def module_of(node: ast.ImportFrom, package: list[str]) -> list[str]:
    """Return the module from which a file of `package` imports."""
    above = package[: len(package) + 1 - node.level] if node.level else []
    return [*above, *node.module.split(".")] if node.module else above


def imported(tree: ast.AST, package: list[str]) -> Iterator[str]:
    """Yield the rooms that a module of `package` imports at run time."""
    skipped = typing_only(tree)
    for node in ast.walk(tree):
        if node in skipped:
            continue
        if isinstance(node, ast.ImportFrom):
            module = module_of(node, package)
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
    """Yield the rooms of these modules."""
    for first, *rest in modules:
        if first == "netspurt" and rest:
            yield HIDDEN if rest[0] == "*" else rest[0]
        elif first == "importlib" and rest[:1] not in (["resources"], ["metadata"], ["util"]):
            yield HIDDEN


def bad_imports(
    room: str, text: str, known: dict[str, int], package: list[str] | None = None
) -> list[str]:
    """Return the imports of a module that its floor does not allow."""
    if room not in known:
        return [f"the room {room} has no floor in ARCHITECTURE.md"]
    faults = []
    for found in imported(ast.parse(text), package or ["netspurt"]):
        if found == room:
            continue
        if found == HIDDEN:
            faults.append(f"{room} imports {HIDDEN}")
        elif found not in known:
            faults.append(f"{room} imports {found}, a room without a floor")
        elif known[found] >= known[room]:
            faults.append(f"{room} imports {found}, which is not below it")
    return faults


def fields_of(node: ast.ClassDef) -> set[str]:
    """Return the names that a class declares, and those that its methods set on `self`."""
    declared = {ast.unparse(one.target) for one in node.body if isinstance(one, ast.AnnAssign)}
    attributes = (one for one in ast.walk(node) if isinstance(one, ast.Attribute))
    return declared | {
        one.attr
        for one in attributes
        if isinstance(one.ctx, ast.Store) and ast.unparse(one.value) == "self"
    }


def large_classes(text: str) -> list[str]:
    """Return the classes of a module with too many fields or methods."""
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ClassDef):
            fields = len(fields_of(node))
            kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
            methods = sum(isinstance(one, kinds) for one in node.body)
            if fields > MAX_FIELDS or methods > MAX_METHODS:
                found.append(f"{node.name} has {fields} fields and {methods} methods")
    return found


def long_functions(text: str) -> list[str]:
    """Return the functions of a module with too many lines."""
    functions = (
        node
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    )
    lines = ((f.name, (f.end_lineno or 0) - f.lineno + 1) for f in functions)
    return [f"{name} has {n} lines" for name, n in lines if n > MAX_FUNCTION]


def claim_ids(text: str) -> list[str]:
    """Return the ids of claims of papers in a text."""
    keys = "|".join(path.name for path in (ROOT / "papers").iterdir())
    found = re.finditer(rf"\b({keys})\.(?!toml)[a-z]", text)
    return [f"a claim's id: {match[0]}" for match in found]


#: The syntax of modules, by their paths.
Modules = dict[tuple[str, ...], ast.AST]


def modules() -> Modules:
    """Return the syntax of each module of the package, by its path."""
    parts = {file: file.relative_to(PACKAGE.parent).with_suffix("").parts for file in sources()}
    named = {file: part[:-1] if part[-1] == "__init__" else part for file, part in parts.items()}
    return {part: ast.parse(file.read_text()) for file, part in named.items()}


@cache
def imports_of(tree: ast.AST) -> list[ast.ImportFrom]:
    """Return the statements `from ... import ...` of a module."""
    return [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]


def definer(module: tuple[str, ...], name: str, known: Modules) -> tuple[str, ...] | None:
    """Return the module that defines this name, even if `module` only re-exports the name."""
    if (*module, name) in known:
        return (*module, name)
    if module not in known:
        return None
    package = list(module) if _is_package(module, known) else list(module[:-1])
    for node in imports_of(known[module]):
        for alias in node.names:
            source = tuple(module_of(node, package))
            if (alias.asname or alias.name) == name and source != module:
                return definer(source, alias.name, known) or module
    return module


def _is_package(module: tuple[str, ...], known: Modules) -> bool:
    """Return whether a module is a package with other modules."""
    return any(other[:-1] == module for other in known)


def direct_imports(known: Modules) -> dict[tuple[str, ...], set[tuple[str, ...]]]:
    """Return the modules that each module imports at run time.

    A name counts as an import from the module that defines it. If a package only re-exports a
    name, the package does not count as importing it.
    """
    found: dict[tuple[str, ...], set[tuple[str, ...]]] = {}
    for module, tree in known.items():
        package = list(module) if _is_package(module, known) else list(module[:-1])
        used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        skipped, targets = typing_only(tree), found.setdefault(module, set())
        whole = (node for node in ast.walk(tree) if isinstance(node, ast.Import))
        names = (alias.name for node in whole if node not in skipped for alias in node.names)
        targets |= {tuple(name.split(".")) for name in names} & known.keys() - {module}
        for node in imports_of(tree):
            if node in skipped:
                continue
            for alias in node.names:
                is_re_export = _is_package(module, known) and alias.name not in used
                target = definer(tuple(module_of(node, package)), alias.name, known)
                if target and target != module and not is_re_export:
                    targets.add(target)
    return found


def import_cycles(known: Modules) -> list[str]:
    """Return the imports between modules that import each other, directly or indirectly."""
    direct = direct_imports(known)
    reached: dict[tuple[str, ...], set[tuple[str, ...]]] = {}
    for module in direct:
        reach, following = set[tuple[str, ...]](), [module]
        while following:
            new = direct.get(following.pop(), set()) - reach
            reach |= new
            following += new
        reached[module] = reach
    return [
        f"{'.'.join(module)} imports {'.'.join(other)}"
        for module, others in direct.items()
        for other in others
        if module in reached.get(other, set())
    ]


def shared_class_names(known: Modules) -> list[str]:
    """Return the class names that are defined in several modules, with these modules."""
    homes: dict[str, list[str]] = {}
    for module, tree in known.items():
        names = {node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}
        for name in names:
            homes.setdefault(name, []).append(".".join(module))
    return [
        f"{name} is defined in {' and '.join(sorted(places))}"
        for name, places in sorted(homes.items())
        if len(places) > 1
    ]


def test_each_class_name_is_defined_in_one_module() -> None:
    assert shared_class_names(modules()) == []


def test_a_class_name_that_two_modules_define_is_found() -> None:
    texts: dict[str, str] = {
        "netspurt.a": "class C: pass\nclass D: pass",
        "netspurt.a.b": "def f():\n    class C: pass",
        "netspurt.c": "from .a import D\nclass E:\n    class F: pass",
        "netspurt.d": "class G: pass\nclass G: pass",
    }
    known: Modules = {tuple(name.split(".")): ast.parse(text) for name, text in texts.items()}
    assert shared_class_names(known) == ["C is defined in netspurt.a and netspurt.a.b"]


def test_no_module_imports_a_module_that_imports_it() -> None:
    assert import_cycles(modules()) == []


@pytest.mark.parametrize(
    ("package_text", "b", "c", "count"),
    [
        ("", "from .c import g", "from .b import f", 2),
        ("", "from . import c", "from netspurt.a import b", 2),
        ("", "import netspurt.a.c", "import netspurt.a.b as b", 2),
        ("from .b import f", "from .c import g", "from . import f", 2),
        ("def g(): pass\nfrom .b import f\nf()", "from . import g", "", 2),
        ("from .b import f\nfrom .c import g", "from . import g", "", 0),
        ("", "from .c import g", "if TYPE_CHECKING:\n    from .b import f", 0),
    ],
)
def test_each_import_cycle_is_found(package_text: str, b: str, c: str, count: int) -> None:
    texts: dict[str, str] = {
        "netspurt": "",
        "netspurt.a": package_text,
        "netspurt.a.b": b + "\ndef f(): pass",
        "netspurt.a.c": c + "\ndef g(): pass",
    }
    known: Modules = {tuple(name.split(".")): ast.parse(text) for name, text in texts.items()}
    assert len(import_cycles(known)) == count


@pytest.mark.parametrize("file", sources(), ids=lambda f: str(f.relative_to(PACKAGE)))
def test_each_source_file_keeps_the_house_rules(file: Path) -> None:
    text = file.read_text()
    wrong = long_functions(text) + large_classes(text)
    if file != PACKAGE / "__init__.py":
        package = ["netspurt", *file.relative_to(PACKAGE).parent.parts]
        wrong += bad_imports(room_of(file), text, floors(), package)
    if len(text.splitlines()) > MAX_FILE:
        wrong.append(f"the file has {len(text.splitlines())} lines")
    assert not wrong + claim_ids(text)


def test_every_room_has_a_floor_and_every_room_with_a_floor_exists() -> None:
    existing = {room_of(file) for file in sources()} - {"__init__"} | {"_core"}
    assert existing == set(floors())


def test_each_rule_finds_a_file_that_breaks_it() -> None:
    known = {"top": 1, "side": 1, "ground": 0}
    assert bad_imports("top", "from netspurt.ground import x", known) == []
    assert bad_imports("top", "from netspurt import ground", known) == []
    assert bad_imports("ground", "import netspurt.top", known)
    assert bad_imports("top", "def f():\n    from netspurt.side.part import x", known)
    assert bad_imports("attic", "", known)
    typing = "if TYPE_CHECKING:\n    from netspurt.top import x"
    assert bad_imports("ground", typing, known) == []
    assert long_functions("def f():\n" + "    x = 1\n" * MAX_FUNCTION) == ["f has 71 lines"]
    for line, most, told in (
        ("    x{}: int\n", MAX_FIELDS, "C has 26 fields and 0 methods"),
        ("    def f{}(self): pass\n", MAX_METHODS, "C has 0 fields and 61 methods"),
    ):
        body = [line.format(n) for n in range(most + 1)]
        assert large_classes("class C:\n" + "".join(body[:-1])) == []
        assert large_classes("class C:\n" + "".join(body)) == [told]
    lines = "".join(f"        self.x{n} = n\n" for n in range(MAX_FIELDS + 1))
    text = f"class C:\n    x0: int\n    def __init__(self, n):\n{lines}"
    assert large_classes(text) == ["C has 26 fields and 1 methods"]


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
def test_imports_of_a_higher_room_and_imports_that_cannot_be_followed_are_found(text: str) -> None:
    assert bad_imports("ground", text, {"top": 1, "ground": 0})


def test_imports_within_a_room_are_allowed() -> None:
    known = {"top": 1, "ground": 0}
    package = ["netspurt", "ground"]
    for text in ("from . import part", "from .part import x", "from .. import ground"):
        assert bad_imports("ground", text, known, package) == []
    assert bad_imports("ground", "from ..top import x", known, package)
    assert bad_imports("ground", "from .. import top", known, package)
    assert bad_imports("top", "import importlib.metadata, importlib.resources", known) == []


def test_the_id_of_a_claim_is_found_in_a_text() -> None:
    key = next((ROOT / "papers").iterdir()).name
    assert claim_ids(f"the claim {key}.thing")
    assert claim_ids(f"not {key}.toml, nor {key}/thing.") == []


def test_the_crate_named_half_does_not_depend_on_zerocopy() -> None:
    """With zerocopy, the build of the extension would need two versions of the crate syn."""
    locked = tomllib.loads((ROOT / "Cargo.lock").read_text())["package"]
    (half,) = (package for package in locked if package["name"] == "half")
    assert "zerocopy" not in half["dependencies"], (
        "the crate half must not depend on zerocopy: run `cargo update -p half --precise 2.4.1`"
    )
