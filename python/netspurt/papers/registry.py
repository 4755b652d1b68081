"""Registers measures: functions that compute, from runs and data, the value that decides a claim.

A measure is called with the bench (the runs of the paper, `bench.py`), and with the claim's
arguments as keyword arguments. The measure gets nothing else of the claim. It returns a `Measured`:
a value, and rows of a table that show how the value was found.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from netspurt.papers.data import PaperError, Value
from netspurt.wording import unknown_name

T = TypeVar("T")

#: The range of a number: the limits set by rounding, or a confidence interval.
Band = tuple[float, float]


@dataclass(frozen=True)
class Measured:
    """The value of a measure, and how it was derived.

    Attributes
    ----------
    value
        The value. It is `None` if the claimed event does not occur.
    table
        Rows that show how the value was found; the first row is the heading.
    bands
        For each number in `value`, its range, if the number is computed from rounded or random
        data.
    """

    value: Value | None
    table: Sequence[Sequence[str]] = ()
    bands: Sequence[Band] | None = None


Measure = Callable[..., Measured]

#: The measures by name.
MEASURES: dict[str, Measure] = {}

#: The units of measures by name. A measure is not listed if its value is a count, a ratio or a
#: text, or if its arguments decide the unit.
UNITS: dict[str, str] = {}


def measure(name: str) -> Measure:
    """Return the measure called `name`.

    Raises
    ------
    PaperError
        If no measure has this name.
    """
    if name not in MEASURES:
        raise PaperError(unknown_name("measure", name, sorted(MEASURES)))
    return MEASURES[name]


def registered(function: Measure) -> Measure:
    """Register a function as a measure, under its own name."""
    assert function.__name__ not in MEASURES, f"two measures are called {function.__name__}"
    MEASURES[function.__name__] = function
    return function


def in_unit(unit: str) -> Callable[[Measure], Measure]:
    """Register the unit of a measure, or a unit for each number of its value (`bit/s, ms`)."""

    def mark(function: Measure) -> Measure:
        UNITS[function.__name__] = unit
        return function

    return mark


def words(text: str, count: int) -> list[str]:
    """Split the text of an argument at its commas, and return the parts.

    Raises
    ------
    PaperError
        If there are not `count` parts.
    """
    parts = text.split(",")
    if len(parts) != count:
        raise PaperError(f"`{text}`: write {count} parts, separated by commas")
    return parts


def only(found: Iterable[T], what: str) -> T:
    """Return the single element; `what` names such elements in words.

    Raises
    ------
    PaperError
        If there is not exactly one element.
    """
    every = [*found]
    if len(every) != 1:
        raise PaperError(f"the measure needs exactly one of the {what}, and there are {len(every)}")
    return every[0]


def bound(function: Callable[..., object], arguments: Mapping[str, object]) -> None:
    """Raise an error if a measure, or a function that draws a figure, cannot take the arguments.

    Raises
    ------
    PaperError
        If an argument is missing or unknown.
    """
    signature = inspect.signature(function)
    try:
        signature.bind(None, **arguments)
    except TypeError as error:
        names = ", ".join(list(signature.parameters)[1:]) or "none"
        raise PaperError(f"{error}; the arguments of {function.__name__}: {names}") from error
