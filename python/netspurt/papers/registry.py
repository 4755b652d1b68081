"""Registers measures: functions that compute, from runs and data, the value that decides a claim.

A measure is called with the bench (the runs of the paper, `bench.py`), and with the claim's
arguments as keyword arguments. The measure gets nothing else of the claim. It returns a `Measured`:
a value, and rows of a table that show how the value was found.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from netspurt.papers.data import PaperError, Value
from netspurt.wording import unknown_name

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
