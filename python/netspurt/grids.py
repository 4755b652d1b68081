"""Grids: one text that stands for many estimators."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator
from fractions import Fraction

#: A range: `1.5..3/16` is sixteen values from 1.5 to 3; units stay behind the numbers.
_RANGE = re.compile(r"^\s*([\d.]+?)\s*([a-zµ]*)\s*\.\.\s*([\d.]+?)\s*([a-zµ]*)\s*/\s*(\d+)\s*$")

#: The most estimators that one text may stand for.
MOST = 100_000


def expand(texts: Iterable[str]) -> list[str]:
    """Return the estimators that texts stand for, each once.

    A value may be a range, `FROM..TO/COUNT`, both ends included; several make all combinations.

    Raises
    ------
    ValueError
        When a range has no two ends and a count of two or more, or too much comes out.

    Examples
    --------
    >>> expand(["linux", "mills:g=1.5..2.5/3"])
    ['linux', 'mills:g=1.5', 'mills:g=2', 'mills:g=2.5']
    >>> expand(["rfc6298:min=0..200ms/3"])
    ['rfc6298:min=0ms', 'rfc6298:min=100ms', 'rfc6298:min=200ms']
    """
    return list(dict.fromkeys(one for text in texts for one in _expanded(text)))


def is_grid(text: str) -> bool:
    """Whether a text stands for more than one estimator."""
    return ".." in text.partition(":")[2]


def two_gain_axes(text: str) -> dict[str, list[float]] | None:
    """Return the values of `falling`, `rising` and `g` where a grid is of RFC 889's filter alone.

    Examples
    --------
    >>> two_gain_axes("mills:g=1..2/3,falling=7/8")
    {'falling': [0.875], 'rising': [0.75], 'g': [1.0, 1.5, 2.0]}
    >>> two_gain_axes("mills:g=1..2/3,max=1s") is None
    True
    """
    name, _, settings = text.partition(":")
    axes = {"falling": [15 / 16], "rising": [0.75], "g": [2.0]}
    for setting in settings.split(","):
        key, _, _ = setting.partition("=")
        if name != "mills" or key.strip() not in axes:
            return None
        values = [value.partition("=")[2] for value in _values(setting, text)]
        try:
            axes[key.strip()] = [float(Fraction(value.strip())) for value in values]
        except (ValueError, ZeroDivisionError):
            return None
    return axes


def _expanded(text: str) -> Iterator[str]:
    name, colon, settings = text.partition(":")
    if not colon or ".." not in settings:
        yield text
        return
    axes = [_values(setting, text) for setting in settings.split(",")]
    count = 1
    for axis in axes:
        count *= len(axis)
    if count > MOST:
        raise ValueError(f"{text}: {count} estimators, and {MOST} are the most: take fewer values")
    for setting in itertools.product(*axes):
        yield f"{name}:{','.join(setting)}"


def _values(setting: str, text: str) -> list[str]:
    key, _, value = setting.partition("=")
    if ".." not in value:
        return [setting]
    found = _RANGE.match(value)
    if found is None or int(found[5]) < 2:
        raise ValueError(
            f"{text}: {value!r} is no range: FROM..TO/COUNT, as in {key}=1.5..3/16 or 0..1s/5"
        )
    first, unit, last, last_unit, count = found.groups()
    if unit and unit != last_unit:
        raise ValueError(f"{text}: {value!r} goes from {unit} to {last_unit}: use one unit")
    low, high = Fraction(first), Fraction(last)
    steps = int(count) - 1
    return [f"{key}={_number(low + (high - low) * n / steps)}{last_unit}" for n in range(steps + 1)]


def _number(value: Fraction) -> str:
    return f"{float(value):.4f}".rstrip("0").rstrip(".")
