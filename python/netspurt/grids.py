"""Grids: one text that describes many estimators (algorithms of retransmission timers)."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from netspurt import _core

#: A range: `1.5..3/16` is sixteen values from 1.5 to 3. If a unit follows the last value, it may
#: also follow the first value. An end may be a fraction.
_END = r"([\d.]+?(?:/\d+)?)\s*([a-zµ]*)"
_RANGE = re.compile(rf"^\s*{_END}\s*\.\.\s*{_END}\s*/\s*(\d+)\s*$")

#: The number of decimals of a range's values, by their unit. With these numbers, times are whole
#: nanoseconds. Values in seconds and values without a unit have `_MOST_DECIMALS`.
_DECIMALS = {"ms": 6, "us": 3, "µs": 3, "ns": 0}
_MOST_DECIMALS = 9
#: The maximum number of digits of a ratio. If the ratio is a fraction, this is the maximum for its
#: numerator and for its denominator.
_DIGITS = 9


@dataclass(frozen=True)
class GridAxis:
    """The values of one constant. A value is computed when it is needed.

    Attributes
    ----------
    key, unit
        The texts before and after each value.
    low, high
        The first and the last value.
    steps
        The number of steps from the first value to the last.
    kind
        The form of the values: `whole` numbers, `ratio` (a fraction if decimals do not
        suffice) or `decimal`.
    """

    key: str
    unit: str
    low: Fraction
    high: Fraction
    steps: int
    kind: str = "decimal"

    def __len__(self) -> int:
        """Return the number of values."""
        return self.steps + 1

    def __getitem__(self, place: int) -> str:
        """Return the value at `place`, as text with its key."""
        value = self.low + (self.high - self.low) * place / max(self.steps, 1)
        if self.kind == "ratio":
            return f"{self.key}={ratio(value)}"
        decimals = 0 if self.kind == "whole" else _DECIMALS.get(self.unit, _MOST_DECIMALS)
        return f"{self.key}={number(value, decimals)}{self.unit}"


def expand(text: str) -> Iterator[str]:
    """Yield the estimators that a text describes.

    A value may be a range, `FROM..TO/COUNT`, with both ends included. Several ranges give all
    combinations. Ratios between the ends are written as fractions if decimals do not suffice. Times
    are rounded to the nanosecond, and counts to whole numbers.

    Raises
    ------
    ValueError
        If a range does not have two numbers as ends and a count of at least two. Also if the units
        of the ends differ, or if the steps are too small.

    Examples
    --------
    >>> list(expand("mills:g=1.5..2.5/3"))
    ['mills:g=1.5', 'mills:g=2', 'mills:g=2.5']
    >>> list(expand("rfc6298:min=0..200ms/3"))
    ['rfc6298:min=0ms', 'rfc6298:min=100ms', 'rfc6298:min=200ms']
    >>> list(expand("mills:g=1..3/4"))
    ['mills:g=1', 'mills:g=5/3', 'mills:g=7/3', 'mills:g=3']
    """
    if not is_grid(text):
        yield text
        return
    name, axes = _axes(text)
    for place in range(math.prod(len(axis) for axis in axes)):
        settings = []
        for axis in reversed(axes):
            place, at = divmod(place, len(axis))  # noqa: PLW2901 - the last axis varies fastest
            settings.append(axis[at])
        yield f"{name}:{','.join(reversed(settings))}"


def size(text: str) -> int:
    """Return the number of estimators that a text describes.

    Examples
    --------
    >>> size("mills:g=1..2/1000,falling=0..1/2000"), size("linux")
    (2000000, 1)
    """
    return math.prod(len(axis) for axis in _axes(text)[1]) if is_grid(text) else 1


def is_grid(text: str) -> bool:
    """Return whether a text describes more than one estimator."""
    return ".." in text.partition(":")[2]


def two_gain_axes(text: str) -> dict[str, list[float]] | None:
    """Return the values of `falling`, `rising` and `g` if a text of `mills` sets no other constant.

    `mills` is the timer of RFC 889. A constant that the text does not set has its default. The
    result is `None` if the text names another algorithm, sets another constant, or sets a constant
    twice. It is also `None` if a value is no number, or if a range has more than `_MOST_OF_AN_AXIS`
    values.

    Examples
    --------
    >>> two_gain_axes("mills:g=1..2/3,falling=7/8")
    {'falling': [0.875], 'rising': [0.75], 'g': [1.0, 1.5, 2.0]}
    >>> two_gain_axes("mills:g=1..2/3,max=1s") is None
    True
    """
    name, found = _axes(text)
    axes = {"falling": [15 / 16], "rising": [0.75], "g": [2.0]}
    keys = [axis[0].partition("=")[0].strip() for axis in found]
    if name != "mills" or len(set(keys)) < len(keys):
        return None
    for key, axis in zip(keys, found, strict=True):
        if key not in axes or len(axis) > _MOST_OF_AN_AXIS:
            return None
        values = (axis[place].partition("=")[2].strip() for place in range(len(axis)))
        try:
            axes[key] = [float(Fraction(value)) for value in values]
        except (ValueError, ZeroDivisionError):
            return None
    return axes


#: The maximum number of values of a constant that are kept in memory.
_MOST_OF_AN_AXIS = 100_000


@dataclass(frozen=True)
class _One:
    """A constant with one value, in the form in which it was written."""

    setting: str

    def __len__(self) -> int:
        return 1

    def __getitem__(self, place: int) -> str:
        return self.setting


def _axes(text: str) -> tuple[str, list[GridAxis | _One]]:
    """Return the name of the algorithm and the values of its constants."""
    name, _, settings = text.partition(":")
    return name, [_axis(setting, text) for setting in settings.split(",")]


def _axis(setting: str, text: str) -> GridAxis | _One:
    key, _, value = setting.partition("=")
    if ".." not in value:
        return _One(setting)
    name = text.partition(":")[0]
    found = _RANGE.match(value)
    if found is None or int(found[5]) < 2:
        example = _example(name, key.strip())
        raise ValueError(
            f"{text}: {value!r} is not a range: write FROM..TO/COUNT, such as {key}={example}"
        )
    first, unit, last, last_unit, count = found.groups()
    if unit and not last_unit:
        raise ValueError(
            f"{text}: {value!r} has a unit only after its first number: use one unit, after the "
            "last number or after both"
        )
    if unit and unit != last_unit:
        raise ValueError(f"{text}: {value!r} goes from {unit} to {last_unit}: use one unit")
    try:
        low, high = Fraction(first), Fraction(last)
    except (ValueError, ZeroDivisionError):
        raise ValueError(f"{text}: {value!r} has an end that is not a number") from None
    if low == high:
        raise ValueError(f"{text}: {value!r} ends where it begins: write two different ends")
    steps, kind = int(count) - 1, _kind(name, key.strip(), last_unit)
    decimals = 0 if kind == "whole" else _DECIMALS.get(last_unit, _MOST_DECIMALS)
    finest = Fraction(1, 10**decimals)
    if abs(high - low) < steps * finest:
        raise ValueError(
            f"{text}: {value!r} has steps below {float(finest):g}{last_unit}: take fewer values"
        )
    return GridAxis(key, last_unit, low, high, steps, kind)


def _example(name: str, key: str) -> str:
    """Return a range of values that the constant `key` may have."""
    if is_of_core(name):
        try:
            _core.Estimator(f"{name}:{key}=1")
        except _core.EstimatorError as error:
            if "has no unit" in str(error):
                return "0.5..3s/6"
    return "1..4/4" if _kind(name, key, "") == "whole" else "1.5..3/16"


def is_of_core(text: str) -> bool:
    """Return whether a text names an algorithm of the Rust core, by its name or an alias.

    Examples
    --------
    >>> is_of_core("linux:rto_min=50ms"), is_of_core("mills-single"), is_of_core("mine.py:Timer")
    (True, True, False)
    """
    return text.partition(":")[0].strip() in (*_core.ALGORITHMS, *_core.ALIASES)


def _kind(name: str, key: str, unit: str) -> str:
    """Return the form in which the core reads the values of a constant.

    Values with a unit, constants of estimators in Python, and keys that do not exist have the form
    `decimal`.
    """
    if unit or not is_of_core(name):
        return "decimal"
    if key not in dict(_core.Estimator(name).settings):
        return "decimal"
    try:
        _core.Estimator(f"{name}:{key}=3/2")
    except _core.EstimatorError as error:
        if "whole number" in str(error):
            return "whole"
    return "ratio"


def ratio(value: Fraction | float) -> str:
    """Return a ratio as text that the core reads as the same value, or as the nearest one.

    Examples
    --------
    >>> ratio(1.5), ratio(Fraction(5, 3)), ratio(5 / 3), ratio(0.875), ratio(1234.56789012)
    ('1.5', '5/3', '5/3', '0.875', '1234.56789')
    """
    exact = Fraction(value)
    near = exact.limit_denominator(10 ** (_DIGITS - 3))
    if isinstance(value, float) and float(near) == value:
        exact = near
    digits_before_point = len(str(int(exact))) if exact >= 1 else 0
    short = number(exact, max(_DIGITS - digits_before_point, 0))
    if Fraction(short) == exact or max(exact.numerator, exact.denominator) >= 10**_DIGITS:
        return short
    return f"{exact.numerator}/{exact.denominator}"


def number(value: Fraction | float, decimals: int = _MOST_DECIMALS) -> str:
    """Return a number as text, with at most `decimals` decimals.

    Examples
    --------
    >>> number(2.0), number(Fraction(1, 3))
    ('2', '0.333333333')
    """
    scaled = round(Fraction(value) * 10**decimals)
    text = f"{Decimal(scaled).scaleb(-decimals):f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
