"""Quantities in text form. The Rust core reads them by the rules of scenarios."""

from __future__ import annotations

import math
from collections.abc import Sequence

from netspurt import _core


def quantity(text: str) -> tuple[str, float]:
    """Return the unit and the value of a text.

    Parameters
    ----------
    text
        A number and its unit, such as ``"25 ms"``, ``"9600 bit/s"``, ``"1500 B"``, ``"3 packets"``.

    Returns
    -------
    unit
        ``"s"``, ``"bit/s"``, ``"B"``, ``"packets"`` or ``"segments"``.
    value
        The value in this unit.

    Raises
    ------
    ValueError
        If the text is not such a quantity.

    Examples
    --------
    >>> quantity("25 ms"), quantity("9.6kbit/s")
    (('s', 0.025), ('bit/s', 9600.0))
    """
    unit, count = _core.quantity(text)
    return ("s", count / 1e9) if unit == "ns" else (unit, float(count))


def positions(labels: Sequence[str]) -> list[float] | None:
    """Return labels as numbers if all are numbers, or quantities of one kind (such as times).

    Otherwise the result is `None`.

    Examples
    --------
    >>> positions(["10 ms", "1 s"])
    [0.01, 1.0]
    >>> positions(["old", "new"]) is None
    True
    """
    try:
        found = [_number(label) for label in labels]
    except ValueError:
        return None
    return [value for _, value in found] if len({unit for unit, _ in found}) <= 1 else None


def _number(label: str) -> tuple[str, float]:
    try:
        value = float(label)
    except ValueError:
        return quantity(label)
    if not math.isfinite(value):
        raise ValueError(f"{label!r} is not a number or quantity")
    return "", value


def seconds(text: str) -> float:
    """Return a time in seconds. A number without a unit is in seconds.

    Raises
    ------
    ValueError
        If the text is not a time above zero.

    Examples
    --------
    >>> seconds("200ms"), seconds("2 h"), seconds("0.5")
    (0.2, 7200.0, 0.5)
    """
    try:
        value, unit = float(text), "s"
    except ValueError:
        unit, value = quantity(text.strip().replace("µ", "u"))
    if unit != "s" or not (0 < value < math.inf):
        raise ValueError(f"{text!r} is not a time above zero")
    return value


def exactly(ns: int, unit: str = "s") -> str:
    """Return a time as an exact text with a unit.

    Parameters
    ----------
    ns
        The time [ns].
    unit
        The unit of the text: `s`, `ms`, `us` or `ns`.

    Examples
    --------
    >>> exactly(15_000_000_000), exactly(119_369_357, "ms")
    ('15 s', '119.369357 ms')
    """
    digits = {"s": 9, "ms": 6, "us": 3, "ns": 0}[unit]
    whole, remainder = divmod(ns, 10**digits)
    fraction = f"{remainder:0{digits}d}".rstrip("0") if remainder else ""
    return f"{whole}.{fraction} {unit}" if fraction else f"{whole} {unit}"


def known(value: float) -> float | None:
    """Return a value, or `None` for NaN and infinity, which JSON does not have."""
    return float(value) if math.isfinite(value) else None
