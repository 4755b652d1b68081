"""Contracts of algorithms: the rules for all algorithms of a kind, and the results of a check."""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

A = TypeVar("A")


class CheckError(AssertionError):
    """An algorithm breaks a rule of its contract."""


@dataclass
class Check:
    """The results of a check.

    Attributes
    ----------
    name
        The name of the algorithm that was checked.
    passed
        The rules that it keeps.
    failed
        The rules that it breaks, and how.
    """

    name: str
    passed: list[str] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        """True if the algorithm keeps every rule."""
        return not self.failed

    def note(self, rule: str, why: str | None) -> None:
        """Store a rule as kept if the reason `why` is `None`, else as broken for this reason."""
        if why is None:
            self.passed.append(rule)
        else:
            self.failed[rule] = why

    def raise_if_failed(self) -> Check:
        """Raise `CheckError` with the broken rules, or return the check if there are none."""
        if self.failed:
            raise CheckError(str(self))
        return self

    def __str__(self) -> str:
        lines = [f"{self.name}: {len(self.passed)} rules hold, {len(self.failed)} do not"]
        lines += [f"  ok      {rule}" for rule in self.passed]
        lines += [f"  FAILED  {rule}\n          {why}" for rule, why in self.failed.items()]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return str(self)


def check(
    subject: str | Callable[[], A],
    make: Callable[[], A],
    rules: Mapping[str, Callable[[Callable[[], A]], str | None]],
) -> Check:
    """Check whether an algorithm keeps some rules.

    Parameters
    ----------
    subject
        The text that names an algorithm, or the class of the algorithm. For a class, there is one
        more rule: it can be imported by its module and name.
    make
        A function that returns a new instance.
    rules
        Rules as sentences, each with a function that takes `make` and returns why the rule is
        broken, or `None` if the rule is kept.
    """
    name = subject if isinstance(subject, str) else getattr(subject, "__qualname__", repr(subject))
    found = Check(name)
    for rule, holds in rules.items():
        try:
            why = holds(make)
        except Exception as error:
            notes = "; ".join(getattr(error, "__notes__", []))
            why = f"{type(error).__name__}: {error}" + (f" ({notes})" if notes else "")
        found.note(rule, why)
    if not isinstance(subject, str):
        found.note("its class can be imported by its module and name", _not_importable(subject))
    return found


def _not_importable(made: object) -> str | None:
    module, name = getattr(made, "__module__", None), getattr(made, "__qualname__", "")
    try:
        found = pkgutil.resolve_name(f"{module}:{name}")
    except (ImportError, AttributeError, ValueError):
        found = None
    if found is made:
        return None
    return f"`{module}:{name}` is not this class: define it at the top level of a module"
