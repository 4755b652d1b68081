"""Measures by their names: from runs and data to the value a claim is judged by.

A measure takes the bench and the claim's arguments by name. It returns a `Measured`: a value,
and rows of a table that show where it comes from. It knows no claim.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from netspurt.papers.data import PaperError, Value

#: From the lowest to the highest that a number may stand for.
Band = tuple[float, float]


@dataclass(frozen=True)
class Measured:
    """A value, and what it comes from.

    Attributes
    ----------
    value
        `None` where what is claimed does not show.
    table
        Rows behind it; the first is their heading.
    bands
        For each number of the value what it may be, where what it comes from is rounded or drawn.
    """

    value: Value | None
    table: Sequence[Sequence[str]] = ()
    bands: Sequence[Band] | None = None


Measure = Callable[..., Measured]

_MEASURES: dict[str, Measure] = {}


def measure(name: str) -> Measure:
    """Return the measure called `name`.

    Raises
    ------
    PaperError
        When there is none.
    """
    if name not in _MEASURES:
        raise PaperError(f"no measure {name!r}: there are {', '.join(sorted(_MEASURES))}")
    return _MEASURES[name]


def registered(function: Measure) -> Measure:
    """Make a function a measure, under its own name."""
    assert function.__name__ not in _MEASURES, f"two measures are called {function.__name__}"
    _MEASURES[function.__name__] = function
    return function
