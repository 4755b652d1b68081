"""Measures by name: functions that compute, from runs and data, the value that decides a claim.

A measure takes the bench and the claim's arguments by name. It returns a `Measured`, which is a
value, and rows of a table that show how the value was found. A measure does not know the claim.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from netspurt.papers.data import PaperError, Value

#: The range of a number: its minimum and its maximum possible value.
Band = tuple[float, float]


@dataclass(frozen=True)
class Measured:
    """The value of a measure, and how it was derived.

    Attributes
    ----------
    value
        `None` if the claimed event does not occur.
    table
        Rows that show how the value was found; the first row is the heading.
    bands
        The range of each number of the value, if its source is rounded or random.
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
        If nothing has this name.
    """
    if name not in MEASURES:
        raise PaperError(f"no measure {name!r}: there are {', '.join(sorted(MEASURES))}")
    return MEASURES[name]


def registered(function: Measure) -> Measure:
    """Register a function as a measure, under its own name."""
    assert function.__name__ not in MEASURES, f"two measures are called {function.__name__}"
    MEASURES[function.__name__] = function
    return function
