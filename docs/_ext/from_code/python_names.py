"""Lists the public names of the Python package, for Sphinx's autodoc."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from from_code.markdown import code, heading

#: The modules whose `__all__` is public, and what they are for.
MODULES = {
    "netspurt": "Scenarios, runs, recordings, timers, sweeps",
    "netspurt.estimators": "Timers, and the contract of those written in Python",
    "netspurt.congestion": "Congestion control, and the contract of algorithms written in Python",
    "netspurt.sweep": "Sweeps, the folders that they fill, and the engines that run them",
    "netspurt.timelines": "Timelines that links follow",
    "netspurt.analysis": "Statistics of recordings, of connections and of cases",
}

#: Types of values that functions return, and errors that functions raise. Users need not import
#: them.
RETURNED = (
    "netspurt.advice.learning.Judged",
    "netspurt.advice.weighing.Cost",
    "netspurt.advice.weighing.Weighing",
    "netspurt.algorithms.PlaceError",
    "netspurt.delays.Recordings",
    "netspurt.live_report.LiveReport",
    "netspurt.orbit.Pass",
    "netspurt.orbit.PathDelays",
    "netspurt.plots.RunPlots",
    "netspurt.plots.replay.ReplayPlots",
    "netspurt.run.Origin",
    "netspurt.shipped.UnknownScenarioError",
    "netspurt.timers.Algorithm",
    "netspurt.timers.Versus",
)


def python_names() -> str:
    """Return a section for each public module, with each of its names."""
    parts = []
    for module, about in MODULES.items():
        parts += [heading(2, code(module), "python-" + module.replace(".", "-")), about + ".\n"]
        own = [name for name, home in names() if home == module]
        parts += [_directive(module, name) for name in own]
    returned = [_directive(*place.rsplit(".", 1)) for place in RETURNED]
    return "\n".join([*parts, heading(2, "Return types and errors", "python-returned"), *returned])


def names() -> Iterator[tuple[str, str]]:
    """Yield each public name with the first module that offers it."""
    seen: set[int] = set()
    for module in MODULES:
        for name in import_module(module).__all__:
            value = getattr(import_module(module), name)
            if name != "__version__" and id(value) not in seen:
                seen.add(id(value))
                yield name, module
    yield from ((name, module) for module, name in (place.rsplit(".", 1) for place in RETURNED))


def undocumented() -> list[str]:
    """Return the public names and members of classes that have no documentation of their own."""
    missing = []
    for name, module in names():
        value = getattr(import_module(module), name)
        if not _is_code(value):
            missing += [] if comment_of(module, name) else [f"{module}.{name}"]
            continue
        if not _own_docstring(value):
            missing.append(f"{module}.{name}")
        if inspect.isclass(value):
            members = [*_undocumented_members(value), *_undocumented_fields(value)]
            missing += [f"{module}.{name}.{member}" for member in members]
    return missing


def comment_of(module: str, name: str) -> str:
    """Return the comment above a value, in any file of its package."""
    folder = Path(str(import_module(module).__file__)).parent
    for file in sorted(folder.glob("*.py")):
        comment = re.search(rf"^((?:#: .*\n)+){name}\b", file.read_text(), re.MULTILINE)
        if comment:
            return " ".join(comment[1].replace("#: ", "").split())
    return ""


def _is_code(value: Any) -> bool:
    return inspect.isclass(value) or inspect.isroutine(value)


def _own_docstring(value: Any) -> str:
    """Return the docstring of a class or function, but not the docstring of a parent class.

    If a data class has no docstring, Python uses the signature in its place. In that case
    the result is "".
    """
    is_class = inspect.isclass(value)
    docstring = vars(value).get("__doc__") if is_class else inspect.getdoc(value)
    text = str(docstring or "")
    return "" if text.startswith(f"{value.__name__}(") else text.strip()


def _undocumented_members(one: type) -> Iterator[str]:
    for name, member in vars(one).items():
        is_code = inspect.isroutine(member) or isinstance(member, property | classmethod)
        descriptor = type(member).__name__ == "getset_descriptor"
        if not name.startswith("_") and (is_code or descriptor) and not inspect.getdoc(member):
            yield name


def _undocumented_fields(one: type) -> Iterator[str]:
    """Yield the public fields of a data class that its docstring does not name."""
    for field in fields(one) if is_dataclass(one) else ():
        named = re.search(rf"\b{field.name}\b", one.__doc__ or "")
        if not field.name.startswith("_") and not named:
            yield field.name


def _directive(module: str, name: str) -> str:
    one = getattr(import_module(module), name)
    if inspect.isclass(one):
        error = issubclass(one, BaseException)
        kind, options = "autoexception" if error else "autoclass", "" if error else ":members:"
    elif inspect.isroutine(one):
        kind, options = "autofunction", ""
    else:
        return f"`{module}.{name}`\n: {comment_of(module, name)}\n"
    lines = ["```{eval-rst}", f".. {kind}:: {module}.{name}"]
    return "\n".join([*lines, *([f"   {options}"] if options else []), "```\n"])
